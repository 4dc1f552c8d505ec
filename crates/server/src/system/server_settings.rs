//! `system.server_settings`.

use std::sync::{Arc, Weak};

use squall_storage::Table;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, signed, text};
use crate::config::ServerSetting;
use crate::server::Server;

pub(super) fn server_settings(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let changeable = "Enum8('No' = 0, 'IncreaseOnly' = 1, 'DecreaseOnly' = 2, 'Yes' = 3)";
    let table = SystemTable::new("server_settings", move || Ok(upgrade(&server)?.config.load().server.all()))
        .column("name", "String", |row: &ServerSetting| text(row.name))
        .column("value", "String", |row| text(&row.value))
        .column("default", "String", |row| text(row.default))
        .column("changed", "UInt8", |row| flag(row.changed))
        .column("description", "String", |row| text(row.description))
        .column("type", "String", |row| text(row.type_name))
        .column("changeable_without_restart", changeable, |row| signed(row.changeable as i8))
        .constant("is_obsolete", "UInt8", flag(false));
    Arc::new(table)
}
