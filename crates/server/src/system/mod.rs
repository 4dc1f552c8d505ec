//! The database `system`: what the server is and does, as tables. Tables of numbers (`one`, `numbers`, `zeros`) are storage's.

mod access_tables;
mod asynchronous_inserts;
mod backups;
mod catalog_tables;
mod clusters;
mod columns_statistics;
mod condition_cache;
mod constant;
mod create_statement;
mod dashboards;
mod databases;
mod detached;
mod dictionaries;
mod disks;
mod errors;
mod functions;
mod information_schema;
mod licenses;
mod measures;
mod merges;
mod mutations;
mod named_collections;
mod parts;
mod parts_columns;
mod processes;
mod projections;
mod quota_tables;
mod scheduler;
mod server_settings;
mod settings;
mod stack_trace;
mod table;
mod user_processes;
pub(crate) mod value;
mod view_refreshes;
mod viewer;

use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::{Error, Result};

use crate::access::Names;
use crate::server::Server;
use crate::session::Session;
pub(crate) use clusters::{cluster, is_own};
pub use create_statement::{create_table_query, default_expression, default_kind, quote};
pub use errors::ErrorCounts;
pub use information_schema::is_information_schema;
use settings::settings_of;
pub use table::SystemTable;
use viewer::Viewer;

/// Every system table of a server. Some are others in each session: [`of_session`]; here they are those of nobody.
pub fn tables(server: &Arc<Server>) -> Vec<Arc<dyn Table>> {
    let server = Arc::downgrade(server);
    let nobody = Names::default();
    let mut tables = vec![
        databases::databases(&server, Viewer::default()),
        dictionaries::dictionaries(&server, Viewer::default()),
        catalog_tables::tables(&server, Viewer::default()),
        catalog_tables::columns(&server, Viewer::default()),
        catalog_tables::constraints(&server, Viewer::default()),
        catalog_tables::data_skipping_indices(&server, Viewer::default()),
        functions::functions(&server),
        named_collections::named_collections(&server),
        processes::processes(&server, Viewer::default()),
        user_processes::user_processes(&server, Viewer::default()),
        measures::metrics(),
        measures::events(false),
        measures::histogram_metrics(),
        measures::asynchronous_metrics(&server),
        scheduler::scheduler(&server),
        scheduler::scheduler_steps(&server),
        server_settings::server_settings(&server),
        access_tables::users(&server),
        access_tables::roles(&server),
        access_tables::grants(&server),
        access_tables::role_grants(&server),
        access_tables::row_policies(&server),
        access_tables::settings_profiles(&server),
        access_tables::settings_profile_elements(&server),
        access_tables::privileges(),
        access_tables::user_directories(&server),
        access_tables::enabled_roles(None, &nobody),
        access_tables::current_roles(None, &nobody),
        quota_tables::quotas(&server),
        quota_tables::quota_limits(&server),
        quota_tables::quota_usage(None),
        quota_tables::quotas_usage(&server, None),
        dashboards::dashboards(),
        disks::disks(&server),
        disks::storage_policies(),
        errors::errors(&server),
        clusters::clusters(&server),
        clusters::macros(&server),
        parts::parts(&server, Viewer::default()),
        parts_columns::parts_columns(&server, Viewer::default()),
        columns_statistics::columns_statistics(&server, Viewer::default()),
        projections::projections(&server, Viewer::default()),
        projections::projection_parts(&server, Viewer::default()),
        merges::merges(&server, Viewer::default()),
        asynchronous_inserts::asynchronous_inserts(&server, Viewer::default()),
        mutations::mutations(&server, Viewer::default()),
        view_refreshes::view_refreshes(&server, Viewer::default()),
        backups::backups(&server),
        condition_cache::query_condition_cache(),
        detached::detached_parts(&server, Viewer::default()),
        detached::detached_tables(&server, Viewer::default()),
        stack_trace::stack_trace(),
        settings::settings_of_nobody(),
        settings::merge_tree_settings(),
    ];
    tables.extend(constant::tables());
    match information_schema::tables() {
        Ok(views) => tables.extend(views),
        Err(error) => tracing::error!(%error, "information_schema is not there"),
    }
    tables
}

/// A table of `system` that shows a session what is its own, or what it may see; none where everybody sees the same.
pub fn of_session(session: &Session, table: &str) -> Option<Arc<dyn Table>> {
    let access = &session.access;
    let server = || Arc::downgrade(&session.server);
    let own_roles = || match session.entities().user(&access.name) {
        Some((_, user)) => user.default_roles.clone(),
        None => Names::default(),
    };
    // Who has no quota, or no key for it, has used nothing of it.
    let usage = || session.quota(0).ok().flatten();
    match table {
        "settings" => return Some(settings_of(session)),
        "events" => return session.settings.system_events_show_zero_values.then(|| measures::events(true)),
        "enabled_roles" => return Some(access_tables::enabled_roles(Some(access), &own_roles())),
        "current_roles" => return Some(access_tables::current_roles(Some(access), &own_roles())),
        "quota_usage" => return Some(quota_tables::quota_usage(usage())),
        "quotas_usage" => return Some(quota_tables::quotas_usage(&server(), usage())),
        "tables" | "columns" if session.temporary_tables.may_be_any() => {}
        _ if access.sees_everything() => return None,
        _ => {}
    }
    let viewer = || Viewer::of(session);
    Some(match table {
        "databases" => databases::databases(&server(), viewer()),
        "tables" => catalog_tables::tables(&server(), viewer()),
        "columns" => catalog_tables::columns(&server(), viewer()),
        "constraints" => catalog_tables::constraints(&server(), viewer()),
        "data_skipping_indices" => catalog_tables::data_skipping_indices(&server(), viewer()),
        "dictionaries" => dictionaries::dictionaries(&server(), viewer()),
        "processes" => processes::processes(&server(), viewer()),
        "user_processes" => user_processes::user_processes(&server(), viewer()),
        "parts" => parts::parts(&server(), viewer()),
        "merges" => merges::merges(&server(), viewer()),
        "asynchronous_inserts" => asynchronous_inserts::asynchronous_inserts(&server(), viewer()),
        "mutations" => mutations::mutations(&server(), viewer()),
        "view_refreshes" => view_refreshes::view_refreshes(&server(), viewer()),
        "parts_columns" => parts_columns::parts_columns(&server(), viewer()),
        "columns_statistics" => columns_statistics::columns_statistics(&server(), viewer()),
        "projections" => projections::projections(&server(), viewer()),
        "projection_parts" => projections::projection_parts(&server(), viewer()),
        "detached_parts" => detached::detached_parts(&server(), viewer()),
        "detached_tables" => detached::detached_tables(&server(), viewer()),
        _ => return None,
    })
}

/// The server that a table belongs to; it is there as long as anybody can ask.
fn upgrade(server: &Weak<Server>) -> Result<Arc<Server>> {
    server.upgrade().ok_or_else(|| Error::logical("the server has stopped"))
}
