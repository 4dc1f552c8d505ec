//! Quotas as SQL defines them, and back.

use std::collections::BTreeMap;

use squall_sql::ast::{IntervalUnit, Literal, QuotaDefinition, QuotaLimitKind, QuotaLimits, TimeUnitAmount};
use squall_types::Result;

use super::definition::{Maker, bad, literal_text};
use super::entity::{Names, Quota, QuotaInterval, QuotaKey, Resource};

/// Definitions of intervals in one quota.
const INTERVALS_MAX: usize = 100;

/// Does to a quota what CREATE and ALTER QUOTA say.
///
/// # Errors
/// `BAD_ARGUMENTS`.
pub(super) fn alter_quota(quota: &mut Quota, sql: &QuotaDefinition, maker: &Maker<'_>) -> Result<()> {
    if let Some(keys) = &sql.keys {
        let mut read = Vec::new();
        for name in keys {
            let alternatives: &[QuotaKey] = match name.as_str() {
                "client_key_or_user_name" => &[QuotaKey::ClientKey, QuotaKey::UserName],
                "client_key_or_ip_address" => &[QuotaKey::ClientKey, QuotaKey::IpAddress],
                name => QuotaKey::EVERY
                    .iter()
                    .find(|key| key.name() == name)
                    .map(std::slice::from_ref)
                    .ok_or_else(|| bad(format!("Unknown key of a quota: {name}")))?,
            };
            read.extend_from_slice(alternatives);
        }
        quota.keys = read;
    }
    let bits = |bits: Option<u64>, max: u64| match bits {
        Some(bits) if bits > max => Err(bad(format!("An address has no more than {max} bits"))),
        bits => Ok(bits.map(|bits| bits as u8)),
    };
    quota.ipv4_prefix_bits = bits(sql.ipv4_prefix_bits, 32)?.or(quota.ipv4_prefix_bits);
    quota.ipv6_prefix_bits = bits(sql.ipv6_prefix_bits, 128)?.or(quota.ipv6_prefix_bits);
    for limits in &sql.limits {
        let seconds = seconds_of(&limits.interval)?;
        quota.intervals.retain(|known| known.seconds != seconds);
        let max = match &limits.kind {
            QuotaLimitKind::NoLimits => continue,
            QuotaLimitKind::TrackingOnly => BTreeMap::new(),
            QuotaLimitKind::Max(limits) => limits.iter().map(read_limit).collect::<Result<_>>()?,
        };
        quota.intervals.push(QuotaInterval { seconds, is_randomized: limits.randomized, max });
    }
    if quota.intervals.len() > INTERVALS_MAX {
        return Err(bad(format!("More than {INTERVALS_MAX} intervals of a quota")));
    }
    quota.intervals.sort_by_key(|interval| interval.seconds);
    if let Some(to) = &sql.to {
        quota.to = Names::of_sql(to, maker.user);
    }
    Ok(())
}

fn read_limit((name, value): &(String, Literal)) -> Result<(Resource, u64)> {
    let resource = Resource::named(name).ok_or_else(|| bad(format!("Unknown limit of a quota: {name}")))?;
    Ok((resource, limit_value(resource, &literal_text(value)?)?))
}

/// A limit as SQL and configuration files have it.
///
/// # Errors
/// `BAD_ARGUMENTS` where it is no such number.
pub fn limit_value(resource: Resource, text: &str) -> Result<u64> {
    let not_one = || bad(format!("'{text}' is no limit of {}", resource.name()));
    if resource == Resource::ExecutionTime {
        let seconds: f64 = text.trim().parse().map_err(|_| not_one())?;
        if !(0.0..1e9).contains(&seconds) {
            return Err(not_one());
        }
        return Ok((seconds * 1e9) as u64);
    }
    // Bytes may have a suffix, as in settings.
    let mut settings = squall_types::Settings::default();
    settings.set("max_memory_usage", text).map_err(|_| not_one())?;
    Ok(settings.max_memory_usage)
}

fn seconds_of(interval: &TimeUnitAmount) -> Result<u64> {
    let unit = match interval.unit {
        IntervalUnit::Second => 1,
        IntervalUnit::Minute => 60,
        IntervalUnit::Hour => 3600,
        IntervalUnit::Day => 86_400,
        IntervalUnit::Week => 7 * 86_400,
        IntervalUnit::Month => 2_629_746,
        IntervalUnit::Quarter => 3 * 2_629_746,
        IntervalUnit::Year => 31_556_952,
        _ => return Err(bad("The interval of a quota is at least a second")),
    };
    interval
        .amount
        .checked_mul(unit)
        .filter(|seconds| *seconds > 0)
        .ok_or_else(|| bad("The interval of a quota is out of range"))
}

/// A quota as SHOW CREATE has it.
pub(super) fn quota_to_sql(quota: &Quota) -> QuotaDefinition {
    let limits = quota.intervals.iter().map(|interval| {
        let units = [
            (31_556_952, IntervalUnit::Year),
            (7_889_238, IntervalUnit::Quarter),
            (2_629_746, IntervalUnit::Month),
            (604_800, IntervalUnit::Week),
            (86_400, IntervalUnit::Day),
            (3600, IntervalUnit::Hour),
            (60, IntervalUnit::Minute),
        ];
        let unit = units.into_iter().find(|(seconds, _)| interval.seconds.is_multiple_of(*seconds));
        let (seconds, unit) = unit.unwrap_or((1, IntervalUnit::Second));
        let limit = |(resource, max): (&Resource, &u64)| {
            let max = match resource {
                Resource::ExecutionTime => Literal::float(*max as f64 / 1e9),
                _ => Literal::UInt64(*max),
            };
            (resource.name().to_owned(), max)
        };
        QuotaLimits {
            randomized: interval.is_randomized,
            interval: TimeUnitAmount { amount: interval.seconds / seconds, unit },
            kind: if interval.max.is_empty() {
                QuotaLimitKind::TrackingOnly
            } else {
                QuotaLimitKind::Max(interval.max.iter().map(limit).collect())
            },
        }
    });
    QuotaDefinition {
        keys: (!quota.keys.is_empty()).then(|| quota.keys.iter().map(|key| key.name().to_owned()).collect()),
        ipv4_prefix_bits: quota.ipv4_prefix_bits.map(u64::from),
        ipv6_prefix_bits: quota.ipv6_prefix_bits.map(u64::from),
        limits: limits.collect(),
        to: quota.to.to_sql_unless_none(),
    }
}
