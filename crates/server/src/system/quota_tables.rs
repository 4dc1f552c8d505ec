//! Tables of quotas: what may be used, and what was.

use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::Value;

use super::access_tables::names_columns;
use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, number, text, uuid};
use crate::access::{Definition, Entity, Quota, QuotaInterval, Resource, Usage, UsageRow, now_seconds};
use crate::server::Server;

const KEYS: &str = "Array(Enum8('user_name' = 1, 'ip_address' = 2, 'forwarded_ip_address' = 3, 'client_key' = 4, \
    'normalized_query_hash' = 7))";

/// A quota with its definition.
struct Row {
    entity: Arc<Entity>,
    quota: Quota,
}

fn all(server: &Weak<Server>) -> squall_types::Result<Vec<Row>> {
    let snapshot = upgrade(server)?.access.load_full();
    let quotas = snapshot.entities.all().filter_map(|entity| match &entity.definition {
        Definition::Quota(quota) => Some(Row { entity: entity.clone(), quota: quota.clone() }),
        _ => None,
    });
    Ok(quotas.collect())
}

pub(super) fn quotas(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let bits = |bits: Option<u8>| bits.map_or(Value::Null, number);
    let table = SystemTable::new("quotas", move || all(&server))
        .column("name", "String", |row: &Row| text(&row.entity.name))
        .column("id", "UUID", |row| uuid(row.entity.id))
        .column("storage", "String", |row| text(row.entity.storage.name()))
        .column("keys", KEYS, |row| Value::Array(row.quota.keys.iter().map(|key| Value::Int64(*key as i64)).collect()))
        .column("durations", "Array(UInt32)", |row| {
            Value::Array(row.quota.intervals.iter().map(|interval| number(interval.seconds)).collect())
        });
    let table = names_columns(table, ["apply_to_all", "apply_to_list", "apply_to_except"], |row| &row.quota.to);
    let table = table
        .column("ipv4_prefix_bits", "Nullable(UInt8)", move |row| bits(row.quota.ipv4_prefix_bits))
        .column("ipv6_prefix_bits", "Nullable(UInt8)", move |row| bits(row.quota.ipv6_prefix_bits));
    Arc::new(table)
}

/// An amount as the table's type has it.
fn amount(resource: Resource, amount: Option<u64>) -> Value {
    match amount {
        None => Value::Null,
        Some(amount) if resource == Resource::ExecutionTime => Value::Float64(amount as f64 / 1e9),
        Some(amount) => Value::UInt64(amount),
    }
}

fn type_of(resource: Resource) -> &'static str {
    if resource == Resource::ExecutionTime { "Nullable(Float64)" } else { "Nullable(UInt64)" }
}

pub(super) fn quota_limits(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let of_quota = |row: Row| {
            let name = row.entity.name.clone();
            row.quota.intervals.into_iter().map(move |interval| (name.clone(), interval))
        };
        Ok(all(&server)?.into_iter().flat_map(of_quota).collect())
    };
    let mut table = SystemTable::new("quota_limits", gather)
        .column("quota_name", "String", |(name, _): &(Arc<str>, QuotaInterval)| text(name))
        .column("duration", "UInt32", |(_, interval)| number(interval.seconds))
        .column("is_randomized_interval", "UInt8", |(_, interval)| flag(interval.is_randomized));
    for resource in Resource::EVERY {
        table = table.column(&format!("max_{}", resource.name()), type_of(resource), move |(_, interval)| {
            amount(resource, interval.max.get(&resource).copied())
        });
    }
    Arc::new(table)
}

/// The columns of an interval of use.
fn usage_columns(mut table: SystemTable<(UsageRow, bool)>) -> Arc<dyn Table> {
    type Row = (UsageRow, bool);
    let time = |seconds: i64| number(seconds.max(0));
    table = table
        .column("start_time", "Nullable(DateTime)", move |(row, _): &Row| {
            time(row.end.saturating_sub(i64::try_from(row.interval.seconds).unwrap_or(0)))
        })
        .column("end_time", "Nullable(DateTime)", move |(row, _)| time(row.end))
        .column("duration", "Nullable(UInt32)", |(row, _)| number(row.interval.seconds));
    for resource in Resource::EVERY {
        table = table
            .column(resource.name(), type_of(resource), move |(row, _)| {
                amount(resource, row.used.get(resource as usize).copied())
            })
            .column(&format!("max_{}", resource.name()), type_of(resource), move |(row, _)| {
                amount(resource, row.interval.max.get(&resource).copied())
            });
    }
    Arc::new(table)
}

/// `quota_usage`: what a session's user has used; nothing of nobody.
pub(super) fn quota_usage(usage: Option<Arc<Usage>>) -> Arc<dyn Table> {
    let gather = move || {
        let rows = usage.as_ref().map(|usage| usage.rows(now_seconds())).unwrap_or_default();
        Ok(rows.into_iter().map(|row| (row, true)).collect())
    };
    let table = SystemTable::new("quota_usage", gather)
        .column("quota_name", "String", |(row, _): &(UsageRow, bool)| text(&row.quota))
        .column("quota_key", "String", |(row, _)| text(&row.key));
    usage_columns(table)
}

/// `quotas_usage`: what everybody has used; `own` is the session's.
pub(super) fn quotas_usage(server: &Weak<Server>, own: Option<Arc<Usage>>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let rows = upgrade(&server)?.access.quotas.all().into_iter().flat_map(|usage| {
            let is_current = own.as_ref().is_some_and(|own| Arc::ptr_eq(own, &usage));
            usage.rows(now_seconds()).into_iter().map(move |row| (row, is_current))
        });
        Ok(rows.collect())
    };
    let table = SystemTable::new("quotas_usage", gather)
        .column("quota_name", "String", |(row, _): &(UsageRow, bool)| text(&row.quota))
        .column("quota_key", "String", |(row, _)| text(&row.key))
        .column("is_current", "UInt8", |(_, is_current)| flag(*is_current));
    usage_columns(table)
}
