//! What was used of quotas: counters for each quota and key, that begin anew with each interval. Time is passed in.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};

use super::entity::{Definition, Entity, Quota, QuotaInterval, QuotaKey, Resource};
use crate::session::ClientInfo;

/// Counters of so many keys are kept; beyond it those go whose intervals are over.
const KEYS_MAX: usize = 100_000;

/// Who uses a quota.
#[derive(Clone, Copy, Debug)]
pub struct Consumer<'a> {
    /// The user's name.
    pub user: &'a str,
    /// From where it comes.
    pub client: &'a ClientInfo,
    /// The form of its query.
    pub query_hash: u64,
}

/// What one key has used of a quota.
#[derive(Debug)]
pub struct Usage {
    /// The quota's name.
    pub quota: Arc<str>,
    /// The key.
    pub key: String,
    definition: Quota,
    intervals: Vec<IntervalUsage>,
}

#[derive(Debug)]
struct IntervalUsage {
    /// Seconds since 1970 at which it ends.
    end: AtomicI64,
    used: [AtomicU64; Resource::EVERY.len()],
    /// Queries by their form, where their number is limited.
    by_form: Mutex<HashMap<u64, u64>>,
}

/// One interval of a key, for system tables.
#[derive(Clone, Debug)]
pub struct UsageRow {
    /// The quota's name.
    pub quota: Arc<str>,
    /// The key.
    pub key: String,
    /// The interval's definition.
    pub interval: QuotaInterval,
    /// Seconds since 1970 at which it ends.
    pub end: i64,
    /// What was used, in the order of [`Resource::EVERY`].
    pub used: Vec<u64>,
}

impl Usage {
    fn new(quota: Arc<str>, key: String, definition: &Quota, now: i64) -> Self {
        let interval = |interval: &QuotaInterval| {
            let seconds = i64::try_from(interval.seconds).unwrap_or(i64::MAX).max(1);
            let offset = if interval.is_randomized { rand::random_range(0..seconds) } else { 0 };
            // Intervals begin where their length divides the time, so that a restart does not move them.
            let end = now.saturating_sub((now - offset).rem_euclid(seconds)).saturating_add(seconds);
            IntervalUsage { end: AtomicI64::new(end), used: Default::default(), by_form: Mutex::default() }
        };
        Self {
            quota,
            key,
            definition: definition.clone(),
            intervals: definition.intervals.iter().map(interval).collect(),
        }
    }

    /// Begins the intervals anew that are over.
    fn roll(&self, now: i64) {
        for (usage, interval) in self.intervals.iter().zip(&self.definition.intervals) {
            let end = usage.end.load(Ordering::Acquire);
            if now < end {
                continue;
            }
            let seconds = i64::try_from(interval.seconds).unwrap_or(i64::MAX).max(1);
            let next = end.saturating_add(((now - end) / seconds + 1).saturating_mul(seconds));
            // Who moves the end clears what was used.
            if usage.end.compare_exchange(end, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                usage.used.iter().for_each(|used| used.store(0, Ordering::Release));
                usage.by_form.lock().clear();
            }
        }
    }

    /// Counts something that was used.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED` where that is more than may be.
    pub fn add(&self, resource: Resource, amount: u64, now: i64) -> Result<()> {
        self.roll(now);
        self.intervals.iter().for_each(|usage| _ = usage.used[resource as usize].fetch_add(amount, Ordering::AcqRel));
        self.check(resource, now)
    }

    /// Forgets what was used of a resource: failures in a row are over with the first success.
    pub fn reset(&self, resource: Resource) {
        self.intervals.iter().for_each(|usage| usage.used[resource as usize].store(0, Ordering::Release));
    }

    /// Counts a query of this form, of which there may be so many each.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`; `LIMIT_EXCEEDED` for too many forms.
    pub fn add_form(&self, query_hash: u64, now: i64) -> Result<()> {
        const RESOURCE: Resource = Resource::QueriesPerNormalizedHash;
        self.roll(now);
        for (usage, interval) in self.intervals.iter().zip(&self.definition.intervals) {
            let Some(max) = interval.max.get(&RESOURCE) else { continue };
            let mut by_form = usage.by_form.lock();
            if by_form.len() >= KEYS_MAX && !by_form.contains_key(&query_hash) {
                return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, format!("More than {KEYS_MAX} forms of queries")));
            }
            let used = by_form.entry(query_hash).or_default();
            *used += 1;
            usage.used[RESOURCE as usize].fetch_max(*used, Ordering::AcqRel);
            if *used > *max {
                let end = usage.end.load(Ordering::Acquire);
                return Err(self.exceeded(RESOURCE, *used, *max, interval.seconds, end));
            }
        }
        Ok(())
    }

    /// Checks that no more was used than may be.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`.
    pub fn check(&self, resource: Resource, now: i64) -> Result<()> {
        self.roll(now);
        for (usage, interval) in self.intervals.iter().zip(&self.definition.intervals) {
            let Some(max) = interval.max.get(&resource) else { continue };
            let used = usage.used[resource as usize].load(Ordering::Acquire);
            if used > *max {
                return Err(self.exceeded(resource, used, *max, interval.seconds, usage.end.load(Ordering::Acquire)));
            }
        }
        Ok(())
    }

    /// Checks everything that a new query may not begin beyond.
    ///
    /// # Errors
    /// `QUOTA_EXCEEDED`.
    pub fn check_all(&self, now: i64) -> Result<()> {
        // What is counted for each form of query says nothing of the others, and who has come in has come in.
        let is_of_queries = |resource: &Resource| {
            !matches!(resource, Resource::QueriesPerNormalizedHash | Resource::FailedSequentialAuthentications)
        };
        Resource::EVERY.into_iter().filter(is_of_queries).try_for_each(|resource| self.check(resource, now))
    }

    fn exceeded(&self, resource: Resource, used: u64, max: u64, seconds: u64, end: i64) -> Error {
        let shown = |amount: u64| match resource {
            Resource::ExecutionTime => format!("{}", amount as f64 / 1e9),
            _ => amount.to_string(),
        };
        let end = chrono::DateTime::from_timestamp(end, 0).map(|end| end.format("%Y-%m-%d %H:%M:%S UTC").to_string());
        let user = if self.key.is_empty() { String::new() } else { format!(" for key `{}`", self.key) };
        Error::new(
            ErrorCode::QUOTA_EXCEEDED,
            format!(
                "Quota{user} for {seconds}s has been exceeded: {} = {}/{}. Interval will end at {}. Name of quota template: `{}`",
                resource.name(),
                shown(used),
                shown(max),
                end.unwrap_or_default(),
                self.quota
            ),
        )
    }

    /// The intervals as they are.
    pub fn rows(&self, now: i64) -> Vec<UsageRow> {
        self.roll(now);
        let rows = self.intervals.iter().zip(&self.definition.intervals).map(|(usage, interval)| UsageRow {
            quota: self.quota.clone(),
            key: self.key.clone(),
            interval: interval.clone(),
            end: usage.end.load(Ordering::Acquire),
            used: usage.used.iter().map(|used| used.load(Ordering::Acquire)).collect(),
        });
        rows.collect()
    }
}

/// What was used of every quota.
#[derive(Debug, Default)]
pub struct QuotaUsages(Mutex<HashMap<(uuid::Uuid, String), Arc<Usage>>>);

impl QuotaUsages {
    /// The counters of a quota for who uses it.
    ///
    /// # Errors
    /// `QUOTA_REQUIRES_CLIENT_KEY`.
    pub fn of(&self, entity: &Entity, consumer: Consumer<'_>, now: i64) -> Result<Option<Arc<Usage>>> {
        let Definition::Quota(quota) = &entity.definition else { return Ok(None) };
        let key = (entity.id, key_of(quota, &entity.name, consumer)?);
        let mut usages = self.0.lock();
        match usages.get(&key) {
            Some(usage) if usage.definition == *quota => return Ok(Some(usage.clone())),
            _ => {}
        }
        if usages.len() >= KEYS_MAX {
            usages.retain(|_, usage| usage.intervals.iter().any(|interval| interval.end.load(Ordering::Acquire) > now));
        }
        if usages.len() >= KEYS_MAX {
            return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, format!("More than {KEYS_MAX} keys of quotas")));
        }
        let usage = Arc::new(Usage::new(entity.name.clone(), key.1.clone(), quota, now));
        // A definition that was changed keeps what was used of the intervals that stay.
        if let Some(old) = usages.get(&key) {
            for (new, interval) in usage.intervals.iter().zip(&quota.intervals) {
                let before = old.definition.intervals.iter().position(|known| known.seconds == interval.seconds);
                let Some(before) = before.and_then(|at| old.intervals.get(at)) else { continue };
                new.end.store(before.end.load(Ordering::Acquire), Ordering::Release);
                for (new, old) in new.used.iter().zip(&before.used) {
                    new.store(old.load(Ordering::Acquire), Ordering::Release);
                }
            }
        }
        usages.insert(key, usage.clone());
        Ok(Some(usage))
    }

    /// All counters.
    pub fn all(&self) -> Vec<Arc<Usage>> {
        self.0.lock().values().cloned().collect()
    }
}

fn key_of(quota: &Quota, name: &str, consumer: Consumer<'_>) -> Result<String> {
    let mut parts = Vec::new();
    for key in &quota.keys {
        parts.push(match key {
            QuotaKey::UserName => consumer.user.to_owned(),
            QuotaKey::IpAddress => masked(consumer.client.address.ip(), quota),
            QuotaKey::ForwardedIpAddress => {
                // The last address is the one that the nearest proxy saw.
                let forwarded = consumer.client.forwarded_for.rsplit(',').next().map(str::trim).unwrap_or_default();
                match forwarded.parse::<IpAddr>() {
                    Ok(address) => masked(address, quota),
                    Err(_) => masked(consumer.client.address.ip(), quota),
                }
            }
            QuotaKey::ClientKey if consumer.client.quota_key.is_empty() => {
                if quota.keys.len() > 1 {
                    continue;
                }
                return Err(Error::new(
                    ErrorCode::QUOTA_REQUIRES_CLIENT_KEY,
                    format!("Quota {name} (for user {}) requires a client supplied key.", consumer.user),
                ));
            }
            QuotaKey::ClientKey => return Ok(consumer.client.quota_key.to_string()),
            QuotaKey::NormalizedQueryHash => consumer.query_hash.to_string(),
        });
    }
    Ok(parts.join("_"))
}

/// An address of which only some bits count.
fn masked(address: IpAddr, quota: &Quota) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let bits = u32::from(quota.ipv4_prefix_bits.unwrap_or(32));
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or(0);
            std::net::Ipv4Addr::from(u32::from(address) & mask).to_string()
        }
        IpAddr::V6(address) => {
            let bits = u32::from(quota.ipv6_prefix_bits.unwrap_or(128));
            let mask = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or(0);
            std::net::Ipv6Addr::from(u128::from(address) & mask).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entity::Storage;
    use super::*;

    fn entity(quota: Quota) -> Entity {
        let definition = Definition::Quota(quota);
        Entity { id: uuid::Uuid::nil(), name: "q".into(), storage: Storage::LocalDirectory, definition }
    }

    #[test]
    fn intervals_begin_anew() {
        let interval = QuotaInterval { seconds: 60, is_randomized: false, max: [(Resource::Queries, 2)].into() };
        let quota = entity(Quota { keys: vec![QuotaKey::UserName], intervals: vec![interval], ..Quota::default() });
        let (usages, client) = (QuotaUsages::default(), ClientInfo::default());
        let of =
            |user, now| usages.of(&quota, Consumer { user, client: &client, query_hash: 0 }, now).unwrap().unwrap();
        for _ in 0..2 {
            of("a", 1000).add(Resource::Queries, 1, 1000).unwrap();
        }
        let error = of("a", 1000).add(Resource::Queries, 1, 1000).unwrap_err();
        assert_eq!(error.code, ErrorCode::QUOTA_EXCEEDED);
        assert!(error.message.contains("queries = 3/2"), "{error}");
        of("b", 1000).add(Resource::Queries, 1, 1000).unwrap();
        assert!(of("a", 1019).check_all(1019).is_err());
        // 1020 is a multiple of 60.
        of("a", 1020).add(Resource::Queries, 1, 1020).unwrap();
        assert_eq!(of("a", 1020).rows(1020)[0].used[Resource::Queries as usize], 1);
        assert_eq!(of("a", 5000).rows(5000)[0].end, 5040);
    }

    #[test]
    fn forms_of_queries_are_counted_each() {
        let max = [(Resource::QueriesPerNormalizedHash, 2)].into();
        let interval = QuotaInterval { seconds: 60, is_randomized: false, max };
        let quota = entity(Quota { intervals: vec![interval], ..Quota::default() });
        let (usages, client) = (QuotaUsages::default(), ClientInfo::default());
        let usage = usages.of(&quota, Consumer { user: "u", client: &client, query_hash: 0 }, 1000).unwrap().unwrap();
        usage.add_form(7, 1000).unwrap();
        usage.add_form(7, 1000).unwrap();
        assert_eq!(usage.add_form(7, 1000).unwrap_err().code, ErrorCode::QUOTA_EXCEEDED);
        usage.check_all(1000).unwrap();
        usage.add_form(8, 1000).unwrap();
        usage.add_form(7, 1020).unwrap();
    }

    #[test]
    fn keys_are_of_those_who_ask() {
        let mut client = ClientInfo { address: ([10, 1, 2, 3], 9000).into(), ..ClientInfo::default() };
        client.forwarded_for = "1.1.1.1, 192.168.7.9".into();
        let consumer = Consumer { user: "u", client: &client, query_hash: 7 };
        let key = |keys: &[QuotaKey]| {
            key_of(&Quota { keys: keys.to_vec(), ipv4_prefix_bits: Some(16), ..Quota::default() }, "q", consumer)
        };
        assert_eq!(key(&[]).unwrap(), "");
        assert_eq!(key(&[QuotaKey::UserName, QuotaKey::IpAddress]).unwrap(), "u_10.1.0.0");
        assert_eq!(key(&[QuotaKey::ForwardedIpAddress]).unwrap(), "192.168.0.0");
        assert_eq!(key(&[QuotaKey::NormalizedQueryHash]).unwrap(), "7");
        assert_eq!(key(&[QuotaKey::ClientKey]).unwrap_err().code, ErrorCode::QUOTA_REQUIRES_CLIENT_KEY);
        assert_eq!(key(&[QuotaKey::ClientKey, QuotaKey::UserName]).unwrap(), "u");
    }
}
