//! `system.databases`.

use std::sync::{Arc, Weak};

use squall_storage::{DatabaseDescription, Table};

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, text, uuid};
use super::viewer::Viewer;
use crate::server::Server;

pub(super) fn databases(server: &Weak<Server>, viewer: Viewer) -> Arc<dyn Table> {
    let path = server.upgrade().map(|server| server.config.load().server.path.clone()).unwrap_or_default();
    let server = server.clone();
    let gather = move || {
        let mut databases = upgrade(&server)?.databases.databases();
        databases.retain(|database| viewer.sees_database(&database.name));
        Ok(databases)
    };
    let table = SystemTable::new("databases", gather)
        .column("name", "String", |row: &DatabaseDescription| text(&row.name))
        .column("engine", "String", |row| text(row.engine))
        .constant("data_path", "String", text(path))
        .constant("metadata_path", "String", text(""))
        .column("uuid", "UUID", |row| uuid(row.uuid))
        .column("engine_full", "String", |row| text(row.engine))
        .column("comment", "String", |row| text(&row.comment))
        .constant("is_external", "UInt8", flag(false))
        .alias("database", "String", "name");
    Arc::new(table)
}
