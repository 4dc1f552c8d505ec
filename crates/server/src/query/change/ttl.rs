//! `MATERIALIZE TTL`: parts that do not know of their table's TTL, or in which something has expired, are written anew.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::PartitionSelector;
use squall_types::{Error, ErrorCode, Result};

use super::alter::selection;
use super::optimize::merge_each;
use crate::session::Session;

/// Applies a table's TTL to its parts, or to those of a partition.
///
/// # Errors
/// `INCORRECT_QUERY` where there is no TTL, and where parts cannot be read or written.
pub(in crate::query) async fn materialize(
    session: &Session,
    database: &str,
    table: &str,
    partition: Option<&PartitionSelector>,
    context: &Arc<QueryContext>,
) -> Result<()> {
    check(session, database, table)?;
    let selected = match partition {
        Some(partition) => Some(selection(session, database, table, partition, context).await?),
        None => None,
    };
    merge_each(session, (database, table), context, |runs| {
        let parts = runs.into_iter().flatten();
        let is_wanted = parts.filter(|part| {
            !part.is_ttl_settled
                && selected.as_ref().is_none_or(|selected| selected.has(&part.name, &part.partition_id))
        });
        is_wanted.map(|part| vec![part.name]).collect()
    })
    .await
    .map(drop)
}

/// Refuses what has no TTL to apply.
///
/// # Errors
/// `INCORRECT_QUERY`.
pub(in crate::query) fn check(session: &Session, database: &str, table: &str) -> Result<()> {
    let description = session.databases_of(database).describe(database, table)?;
    if description.definition.is_some_and(|definition| definition.has_ttl()) {
        return Ok(());
    }
    let message = format!("Cannot MATERIALIZE TTL as there is no TTL set for table {database}.{table}");
    Err(Error::new(ErrorCode::INCORRECT_QUERY, message))
}
