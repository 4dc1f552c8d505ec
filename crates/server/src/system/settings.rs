//! `system.settings`, as one session sees it.

use std::sync::Arc;

use squall_storage::Table;
use squall_types::settings::{SettingDescription, SettingType};
use squall_types::{Settings, Value};

use super::table::SystemTable;
use super::value::{flag, no_items, text};
use crate::access::{Constraint, Constraints};
use crate::session::Session;

/// The table for a session.
pub fn settings_of(session: &Session) -> Arc<dyn Table> {
    settings(session.settings.clone(), Arc::new(session.constraints().clone()))
}

/// The table outside of sessions, for lists of tables and their columns.
pub(super) fn settings_of_nobody() -> Arc<dyn Table> {
    settings(Arc::new(Settings::default()), Arc::default())
}

fn settings(settings: Arc<Settings>, constraints: Arc<Constraints>) -> Arc<dyn Table> {
    let tier = "Enum8('Production' = 0, 'Obsolete' = 4, 'Experimental' = 8, 'Beta' = 12, 'PrivatePreview' = 16)";
    let bound = |constraints: &Arc<Constraints>, of: fn(&Constraint) -> Option<&String>| {
        let constraints = constraints.clone();
        move |row: &&'static SettingDescription| constraints.get(row.name).and_then(of).map_or(Value::Null, text)
    };
    let (values, changed) = (settings.clone(), settings.clone());
    let (min, max) = (bound(&constraints, |bound| bound.min.as_ref()), bound(&constraints, |bound| bound.max.as_ref()));
    let table = SystemTable::new("settings", || Ok(Settings::ALL.iter().collect()))
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
        .column("type", "String", |row| text(row.setting_type.name()))
        .column("default", "String", |row| text(row.default))
        .constant("alias_for", "String", text(""))
        .constant("is_obsolete", "UInt8", flag(false))
        .constant("tier", tier, Value::Int64(0));
    Arc::new(table)
}

/// A setting's value as ClickHouse shows it: the automatic number of threads is told.
fn shown_value(settings: &Settings, description: &SettingDescription) -> String {
    let value = settings.get(description.name).unwrap_or_default();
    match description.setting_type {
        SettingType::MaxThreads if value == "0" => format!("auto({})", squall_runtime::cpu::logical_cpus()),
        _ => value,
    }
}
