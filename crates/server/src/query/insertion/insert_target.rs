//! The table that an INSERT writes, and who may write which of its columns.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{ColumnDescription, Used, insert_columns};
use squall_sql::ast;
use squall_storage::Table;
use squall_types::{Error, ErrorCode, Result};

use super::cascade::{session_of_view, target_of};
use crate::access::Privilege;
use crate::query::plan::catalog::TABLE_FUNCTION_DATABASE;
use crate::query::plan::planning;
use crate::query::source::{data_function, file_engine};
use crate::session::Session;

/// Tables that pass on what is inserted, of an INSERT.
const PASSED_MAX: usize = 16;

/// A table that is written to.
pub(in crate::query) struct Target {
    pub(in crate::query) table: Arc<dyn Table>,
    /// The columns of it that are written, where they are named.
    pub(in crate::query) columns: Option<Vec<ast::Expression>>,
    /// Who must be allowed to.
    pub(in crate::query) writer: Session,
}

/// The table that an INSERT writes: a table of the engine Buffer passes all on to its destination at once, a materialized view to its target.
pub(in crate::query) fn target(
    session: &Session,
    database: &str,
    table: &str,
    columns: Option<&[ast::Expression]>,
    context: &QueryContext,
) -> Result<Target> {
    let (mut database, mut name) = (database.to_owned(), table.to_owned());
    let mut columns = columns.map(<[ast::Expression]>::to_vec);
    let mut writer = session.clone();
    for _ in 0..PASSED_MAX {
        refuse_where_disabled(session, &database)?;
        let table = session.databases_of(&database).table(&database, &name)?;
        let view = table.materialized_view().cloned();
        let function = table.table_function().filter(|_| table.engine() == "Buffer");
        if view.is_none() && function.is_none() {
            let of_engine = match file_engine::target(session, &table)? {
                None => data_function::shown_target(&writer, &table)?,
                file => file,
            };
            return Ok(Target { table: of_engine.unwrap_or(table), columns, writer });
        }
        note_table(&*table, context);
        let handle = squall_storage::TableHandle(table.clone());
        let positions = planning::planner_now(session, context, |planner| {
            let positions = insert_columns(&handle, columns.as_deref(), planner)?;
            check_columns(&writer, &*table, &positions)?;
            Ok(positions)
        })?;
        let named = positions.iter().filter_map(|at| table.columns().get(*at));
        columns = Some(named.map(|column| ast::Expression::identifier(column.name.to_string())).collect());
        if let Some(view) = view {
            writer = session_of_view(session, &view)?;
            (database, name) = target_of(&*table, &view);
            continue;
        }
        let mut names = function
            .iter()
            .flat_map(|function| &function.arguments)
            .map(|argument| argument.as_literal().and_then(ast::Literal::as_str));
        let of_session = || session.database.to_string();
        let next = names.next().flatten().filter(|name| !name.is_empty()).map_or_else(of_session, str::to_owned);
        name = names.next().flatten().unwrap_or_default().to_owned();
        database = next;
    }
    Err(Error::new(ErrorCode::INFINITE_LOOP, format!("The table {table} passes its rows on to itself")))
}

/// Says that the query writes to a table.
pub(in crate::query) fn note_table(table: &dyn Table, context: &QueryContext) {
    context.note_uses(|uses| uses.note(Used::Table(table.database(), table.name())));
}

/// Checks that the session may write columns of a table.
pub(in crate::query) fn check_columns(session: &Session, table: &dyn Table, positions: &[usize]) -> Result<()> {
    let names: Vec<&str> =
        positions.iter().filter_map(|at| table.columns().get(*at)).map(|column| &*column.name).collect();
    // Who may write a function's table was asked before.
    if table.database() == TABLE_FUNCTION_DATABASE {
        return Ok(());
    }
    session.access.check_columns(Privilege::Insert, table.database(), table.name(), &names)
}

/// Says which of its columns it writes.
pub(in crate::query) fn note_columns(table: &dyn Table, positions: &[usize], context: &QueryContext) {
    let name = |column: &ColumnDescription| format!("{}.{}.{}", table.database(), table.name(), column.name);
    let columns = positions.iter().filter_map(|at| table.columns().get(*at)).map(name);
    context.note_uses(|uses| uses.columns.extend(columns));
}

/// `disable_insertion_and_mutation`, which leaves the server its own logs.
fn refuse_where_disabled(session: &Session, database: &str) -> Result<()> {
    if session.server.config.load().server.disable_insertion_and_mutation && database != "system" {
        return Err(Error::new(ErrorCode::QUERY_IS_PROHIBITED, "Insert queries are prohibited"));
    }
    Ok(())
}
