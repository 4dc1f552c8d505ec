//! The database `system`: what the server is and does, as tables. Tables of numbers (`one`, `numbers`, `zeros`) are storage's.

mod backups;
mod catalog_tables;
mod clusters;
mod constant;
mod databases;
mod detached;
mod dictionaries;
mod errors;
mod functions;
mod measures;
mod parts;
mod processes;
mod scheduler;
mod server_settings;
mod settings;
mod stack_trace;
mod table;
mod users;
pub(crate) mod value;

use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::{Error, Result};

use crate::server::Server;
pub use catalog_tables::{create_table_query, default_expression, default_kind, quote};
pub(crate) use clusters::{check_address_is_local, check_cluster_is_local};
pub use errors::ErrorCounts;
pub use settings::settings_of;
pub use table::SystemTable;

/// Every system table of a server. `system.settings` is another in each session: [`settings_of`]; here it is the one of nobody.
pub fn tables(server: &Arc<Server>) -> Vec<Arc<dyn Table>> {
    let server = Arc::downgrade(server);
    let mut tables = vec![
        databases::databases(&server),
        dictionaries::dictionaries(&server),
        catalog_tables::tables(&server),
        catalog_tables::columns(&server),
        functions::functions(),
        processes::processes(&server),
        measures::metrics(),
        measures::events(),
        measures::histogram_metrics(),
        measures::asynchronous_metrics(&server),
        scheduler::scheduler(&server),
        server_settings::server_settings(&server),
        users::users(&server),
        users::settings_profiles(&server),
        users::quotas(&server),
        errors::errors(&server),
        clusters::clusters(&server),
        clusters::macros(&server),
        parts::parts(&server),
        backups::backups(&server),
        detached::detached_parts(&server),
        detached::detached_tables(&server),
        stack_trace::stack_trace(),
        settings::settings_of_nobody(),
    ];
    tables.extend(constant::tables());
    tables
}

/// The server that a table belongs to; it is there as long as anybody can ask.
fn upgrade(server: &Weak<Server>) -> Result<Arc<Server>> {
    server.upgrade().ok_or_else(|| Error::logical("the server has stopped"))
}
