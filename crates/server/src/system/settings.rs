//! `system.settings`, as one session sees it.

use std::sync::Arc;

use squall_storage::Table;
use squall_types::settings::foreign::Effect;
use squall_types::settings::{SettingDescription, SettingType};
use squall_types::{Settings, Value};

use super::table::SystemTable;
use super::value::{flag, no_items, text};
use crate::access::{Constraint, Constraints};
use crate::session::Session;

/// The type of the columns `tier`.
const TIER: &str = "Enum8('Production' = 0, 'Obsolete' = 4, 'Experimental' = 8, 'Beta' = 12, 'PrivatePreview' = 16)";

/// The table for a session.
pub fn settings_of(session: &Session) -> Arc<dyn Table> {
    settings(session.settings.clone(), Arc::new(session.constraints().clone()))
}

/// The table outside of sessions, for lists of tables and their columns.
pub(super) fn settings_of_nobody() -> Arc<dyn Table> {
    settings(Arc::new(Settings::default()), Arc::default())
}

/// `system.merge_tree_settings`: what the settings of a MergeTree table are where its CREATE TABLE does not say.
pub(super) fn merge_tree_settings() -> Arc<dyn Table> {
    let table = SystemTable::new("merge_tree_settings", || Ok(squall_storage::merge_tree_settings().collect()))
        .column("name", "String", |row: &&'static SettingDescription| text(row.name))
        .column("value", "String", |row| text(row.default))
        .column("default", "String", |row| text(row.default))
        .constant("changed", "UInt8", flag(false))
        .column("description", "String", |row| text(row.description))
        .constant("min", "Nullable(String)", Value::Null)
        .constant("max", "Nullable(String)", Value::Null)
        .constant("disallowed_values", "Array(String)", no_items())
        .constant("readonly", "UInt8", flag(false))
        .column("type", "String", |row| text(row.type_name))
        .column("is_obsolete", "UInt8", |row| flag(row.effect == Effect::Obsolete))
        .column("tier", TIER, |row| Value::Int64(tier_number(row.tier)));
    Arc::new(table)
}

fn settings(settings: Arc<Settings>, constraints: Arc<Constraints>) -> Arc<dyn Table> {
    let bound = |constraints: &Arc<Constraints>, of: fn(&Constraint) -> Option<&String>| {
        let constraints = constraints.clone();
        move |row: &&'static SettingDescription| constraints.get(row.name).and_then(of).map_or(Value::Null, text)
    };
    let (values, changed) = (settings.clone(), settings.clone());
    let (min, max) = (bound(&constraints, |bound| bound.min.as_ref()), bound(&constraints, |bound| bound.max.as_ref()));
    let table = SystemTable::new("settings", || Ok(Settings::all().collect()))
        .column("name", "String", |row: &&'static SettingDescription| text(row.name))
        .column("value", "String", move |row| text(shown_value(&values, row)))
        .column("changed", "UInt8", move |row| flag(changed.is_changed(row.name)))
        .column("description", "String", |row| text(row.description))
        .column("min", "Nullable(String)", min)
        .column("max", "Nullable(String)", max)
        .constant("disallowed_values", "Array(String)", no_items())
        .column("readonly", "UInt8", move |row| {
            flag(settings.readonly == 1 || constraints.get(row.name).is_some_and(|bound| bound.is_const))
        })
        .column("type", "String", |row| text(row.type_name))
        .column("default", "String", |row| text(row.default))
        .constant("alias_for", "String", text(""))
        .column("is_obsolete", "UInt8", |row| flag(row.effect == Effect::Obsolete))
        .column("tier", TIER, |row| Value::Int64(tier_number(row.tier)));
    Arc::new(table)
}

/// The number of a tier in the table's Enum8.
fn tier_number(name: &str) -> i64 {
    match name {
        "Obsolete" => 4,
        "Experimental" => 8,
        "Beta" => 12,
        "PrivatePreview" => 16,
        _ => 0,
    }
}

/// A setting's value as ClickHouse shows it: the automatic number of threads is told.
fn shown_value(settings: &Settings, description: &SettingDescription) -> String {
    let value = settings.get(description.name).unwrap_or_default();
    match description.setting_type {
        SettingType::MaxThreads if value == "0" => format!("auto({})", squall_runtime::cpu::logical_cpus()),
        _ => value,
    }
}
