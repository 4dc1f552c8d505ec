//! The mutations of tables in the catalog. That a command of one is done is recorded in the transaction of the parts that it has made, so
//! that none is ever carried out twice.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior, params};
use squall_types::{Error, ErrorCode, Result};

use super::change::commit;
use super::parts::table_is_dropped;
use super::{Catalog, catalog_error};
use crate::mutation::{MutationFence, MutationStep, StoredMutation};

/// How many that are done are remembered of a table: ClickHouse's `finished_mutations_to_keep`.
const DONE_KEPT: usize = 100;

impl Catalog {
    /// Records a mutation of a table: on return it will be carried out, whatever happens to the server.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn add_mutation(&self, table_id: i64, mutation: &StoredMutation) -> Result<()> {
        let order = serde_json::to_string(&mutation.order)
            .map_err(|error| Error::logical(format!("a mutation that is no text: {error}")))?;
        let excluded = serde_json::json!(mutation.fence.excluded).to_string();
        self.change_mutations(table_id, |connection| {
            connection.execute(
                "INSERT INTO squall_mutation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    table_id,
                    mutation.fence.version as i64,
                    excluded,
                    order,
                    mutation.commands_done as i64,
                    mutation.created as i64,
                    mutation.finished.map(|at| at as i64)
                ],
            )?;
            Ok(true)
        })
        .map(drop)
    }

    /// Forgets a mutation that is not done. `false` where there is none.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn remove_mutation(&self, table_id: i64, version: u64) -> Result<bool> {
        self.change_mutations(table_id, |connection| {
            let sql = "DELETE FROM squall_mutation WHERE table_id = ?1 AND version = ?2 AND finished IS NULL";
            Ok(connection.execute(sql, params![table_id, version as i64])? > 0)
        })
    }

    /// Records a step that has nothing else to record.
    ///
    /// # Errors
    /// `QUERY_WAS_CANCELLED` where the mutation was killed, `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn note_mutation_step(&self, table_id: i64, step: MutationStep) -> Result<()> {
        match self.change_mutations(table_id, |connection| advance(connection, table_id, step))? {
            true => Ok(()),
            false => Err(was_killed()),
        }
    }

    /// The mutations of all tables, by the tables' numbers.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub(crate) fn mutations(&self) -> Result<HashMap<i64, Vec<StoredMutation>>> {
        load(&self.state.lock().connection).map_err(|error| catalog_error(&error))
    }

    fn change_mutations(&self, table_id: i64, work: impl Fn(&Connection) -> rusqlite::Result<bool>) -> Result<bool> {
        let mut state = self.state.lock();
        if !state.tables.contains_key(&table_id) {
            return Err(table_is_dropped());
        }
        let changed = state.with_reserve(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let found = work(&transaction)?;
            commit(transaction, &*self.disk)?;
            Ok(found)
        });
        changed.map_err(|error| catalog_error(&error))
    }
}

/// Somebody has killed the mutation whose step it is.
pub(super) fn was_killed() -> Error {
    Error::new(ErrorCode::QUERY_WAS_CANCELLED, "The mutation was killed")
}

/// Records a step, and forgets the oldest mutations that are done. `false` where the mutation is not there.
pub(super) fn advance(connection: &Connection, table_id: i64, step: MutationStep) -> rusqlite::Result<bool> {
    let (version, finished) = (step.version as i64, step.finished.map(|at| at as i64));
    let advanced = connection
        .prepare_cached(
            "UPDATE squall_mutation SET commands_done = commands_done + 1, finished = ?3
             WHERE table_id = ?1 AND version = ?2 AND finished IS NULL",
        )?
        .execute(params![table_id, version, finished])?;
    if finished.is_some() {
        connection
            .prepare_cached(
                "DELETE FROM squall_mutation WHERE table_id = ?1 AND finished IS NOT NULL AND version <=
                 (SELECT version FROM squall_mutation WHERE table_id = ?1 AND finished IS NOT NULL
                  ORDER BY version DESC LIMIT 1 OFFSET ?2)",
            )?
            .execute(params![table_id, DONE_KEPT as i64])?;
    }
    Ok(advanced > 0)
}

/// Those of all tables, in the order in which they were ordered.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<HashMap<i64, Vec<StoredMutation>>> {
    let mut found: HashMap<i64, Vec<StoredMutation>> = HashMap::new();
    let mut query = connection.prepare(
        "SELECT table_id, version, excluded, command_order, commands_done, created, finished FROM squall_mutation
         ORDER BY table_id, version",
    )?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (excluded, order): (String, String) = (row.get(2)?, row.get(3)?);
        let broken = |at, error| rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, error);
        let fence = MutationFence {
            version: row.get::<_, i64>(1)? as u64,
            excluded: serde_json::from_str(&excluded).map_err(|error| broken(2, Box::new(error)))?,
        };
        let mutation = StoredMutation {
            order: serde_json::from_str(&order).map_err(|error| broken(3, Box::new(error)))?,
            fence: Arc::new(fence),
            commands_done: row.get::<_, i64>(4)? as usize,
            created: row.get::<_, i64>(5)? as u64,
            finished: row.get::<_, Option<i64>>(6)?.map(|at| at as u64),
        };
        found.entry(row.get(0)?).or_default().push(mutation);
    }
    Ok(found)
}
