//! By what an INSERT is known if it comes again: what settings say of that, and which tables want to know.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::{self, QueryBody};
use squall_storage::{IdentifiedInsertion, InsertId, InsertLimits, Insertion, Table};
use squall_types::{Error, ErrorCode, Result, Settings};

use super::cascade::{DEPTH_MAX, target_of};
use crate::session::Session;

/// The id of an INSERT of data; `None` where it is not to be recognised.
pub(in crate::query) fn of_data(settings: &Settings) -> Option<Arc<InsertId>> {
    is_on(settings).then(|| InsertId::new(&settings.insert_deduplication_token))
}

fn is_on(settings: &Settings) -> bool {
    match settings.deduplicate_insert.as_str() {
        "disable" => false,
        "backward_compatible_choice" if settings.async_insert => settings.async_insert_deduplicate,
        "backward_compatible_choice" => settings.insert_deduplicate,
        _ => true,
    }
}

/// The id of an INSERT of a query's rows. They make one where they come alike each time.
///
/// # Errors
/// `DEDUPLICATION_IS_NOT_POSSIBLE` where the settings insist and they do not.
pub(in crate::query) fn of_select(settings: &Settings, query: &ast::Query) -> Result<Option<Arc<InsertId>>> {
    let token = &settings.insert_deduplication_token;
    let is_stable = !token.is_empty() || is_ordered(query);
    let is_wanted = match settings.deduplicate_insert_select.as_str() {
        "disable" => false,
        "force_enable" if !is_stable => {
            let message = "Deduplication for INSERT SELECT with non-stable SELECT is not possible: its rows may come otherwise each time. \
                           Add ORDER BY ALL or an insert_deduplication_token, or change deduplicate_insert_select";
            return Err(Error::new(ErrorCode::DEDUPLICATION_IS_NOT_POSSIBLE, message));
        }
        "force_enable" => true,
        "enable_even_for_bad_queries" => is_on(settings),
        _ => is_stable && is_on(settings),
    };
    Ok(is_wanted.then(|| InsertId::new(token)))
}

/// Whether a query's rows are put in an order that leaves no choice.
fn is_ordered(query: &ast::Query) -> bool {
    match &query.body {
        QueryBody::Select(select) => select.order_by.as_ref().is_some_and(|order| order.all),
        _ => false,
    }
}

/// An INSERT into a table alone, which is known by its id where the table wants that.
///
/// # Errors
/// Where the table takes no rows.
pub(in crate::query) fn insertion(
    table: &dyn Table,
    context: &Arc<QueryContext>,
    id: Option<Arc<InsertId>>,
) -> Result<Arc<dyn Insertion>> {
    let insertion = context.begin_insert(table, InsertLimits::new(&context.settings))?;
    match id.filter(|_| table.deduplication_window() > 0) {
        Some(id) => {
            insertion.identify(&id, None);
            Ok(IdentifiedInsertion::of(insertion, id))
        }
        None => Ok(insertion),
    }
}

/// Whether a table, or one that a materialized view writes to from its rows, remembers INSERTs.
///
/// # Errors
/// Where the target of a view is gone.
pub(in crate::query) fn is_remembered(session: &Session, table: &dyn Table) -> Result<bool> {
    fn look(session: &Session, table: &dyn Table, depth: usize) -> Result<bool> {
        if table.deduplication_window() > 0 {
            return Ok(true);
        }
        if depth >= DEPTH_MAX {
            return Ok(false);
        }
        let databases = &session.server.databases;
        for (name, view) in databases.views_of(table.database(), table.name()) {
            let stored = databases.table(&name.database, &name.table)?;
            let (database, target) = target_of(&*stored, &view);
            if look(session, &*databases.table(&database, &target)?, depth + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    look(session, table, 0)
}
