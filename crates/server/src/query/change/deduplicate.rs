//! OPTIMIZE … DEDUPLICATE: of rows that are the same one stays. A query is run over each part, and what it gives takes the part's place.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::{self, PartitionSelector};
use squall_storage::{PartSelection, RewriteOf};
use squall_types::{Error, ErrorCode, Result};

use super::alter::selection;
use super::mutated::{ROWS, quoted, stored_columns};
use super::mutation::{begin, write};
use crate::query::control::system_command::run_blocking;
use crate::query::definition::show;
use crate::query::plan::planning;
use crate::session::Session;

/// The columns that `DEDUPLICATE BY` names, asterisks among them; all columns of keys must be there.
///
/// # Errors
/// `NO_SUCH_COLUMN_IN_TABLE`; `THERE_IS_NO_COLUMN` where one of a key is missing.
pub(in crate::query) async fn columns_of(
    session: &Session,
    database: &str,
    table: &str,
    by: &[ast::Expression],
    context: &Arc<QueryContext>,
) -> Result<Vec<String>> {
    let named = by.iter().map(squall_sql::format_expression).collect::<Vec<_>>().join(", ");
    let query = show::query(&format!("SELECT {named} FROM {}.{}", quoted(database), quoted(table)))?;
    let plan = planning::with_planner(session, context, &query, squall_planner::plan_query).await;
    let plan = plan.map_err(|error| match error.code {
        ErrorCode::UNKNOWN_IDENTIFIER => Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, error.message),
        _ => error,
    })?;
    let columns: Vec<String> = plan.schema().names().map(str::to_owned).collect();
    let description = session.databases_of(database).describe(database, table)?;
    let stored = stored_columns(description.table.columns());
    if let Some(name) = columns.iter().find(|name| !stored.iter().any(|column| *column.name == ***name)) {
        let message = format!("There is no column with name `{name}` in table {database}.{table}");
        return Err(Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message));
    }
    let keys: Vec<String> = description.definition.iter().flat_map(|definition| definition.key_columns()).collect();
    let of_table = |key: &&String| description.table.columns().iter().any(|column| *column.name == ***key);
    if let Some(missing) = keys.iter().filter(of_table).find(|key| !columns.contains(key)) {
        let message = format!(
            "DEDUPLICATE BY expression must include all columns used in table's ORDER BY, PRIMARY KEY, or PARTITION BY but \
             '{missing}' is missing"
        );
        return Err(Error::new(ErrorCode::THERE_IS_NO_COLUMN, message));
    }
    Ok(columns)
}

/// `OPTIMIZE … DEDUPLICATE`: of rows that are the same in these columns, or in all, the first one stays in each part.
///
/// # Errors
/// Those of reading and writing parts.
pub(in crate::query) async fn deduplicate(
    session: &Session,
    database: &str,
    table: &str,
    by: &[String],
    partition: Option<&PartitionSelector>,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let columns = session.databases_of(database).table(database, table)?.columns().to_vec();
    let of = match partition {
        Some(partition) => selection(session, database, table, partition, context).await?,
        None => PartSelection::All,
    };
    let stored = stored_columns(&columns).iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ");
    let by = match by {
        [] => stored.clone(),
        by => by.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
    };
    let query = show::query(&format!("SELECT {stored} FROM {ROWS} LIMIT 1 BY {by}"))?;
    let rewrite = begin(session, database, table, &RewriteOf::Parts(of), None).await?;
    for (source, target) in rewrite.pieces(ROWS) {
        write(&session.with_stand_in(ROWS, source), &query, &*target, context).await?;
    }
    run_blocking(move || rewrite.commit(None)).await
}
