//! What the catalog keeps of refreshable views' refreshes, so that their schedules outlast the server.

use std::collections::HashMap;

use rusqlite::{Connection, TransactionBehavior, params};
use squall_types::Result;

use super::change::commit;
use super::parts::table_is_dropped;
use super::{Catalog, catalog_error};

/// The last refresh of a view. Times are seconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RefreshRecord {
    /// Up to when the view's schedule is done.
    pub completed: i64,
    /// When the last refresh that succeeded began.
    pub succeeded: Option<i64>,
    /// How long it took.
    pub duration_ms: Option<i64>,
}

/// The last refresh of a view, to be recorded with something else or alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RefreshNote {
    /// The view's number.
    pub(crate) view: i64,
    pub(crate) record: RefreshRecord,
}

impl RefreshNote {
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let RefreshRecord { completed, succeeded, duration_ms } = self.record;
        connection
            .prepare_cached("INSERT OR REPLACE INTO squall_refresh VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![self.view, completed, succeeded, duration_ms])
            .map(drop)
    }
}

impl Catalog {
    /// Records the last refresh of a view.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn note_refresh(&self, note: &RefreshNote) -> Result<()> {
        let mut state = self.state.lock();
        if !state.tables.contains_key(&note.view) {
            return Err(table_is_dropped());
        }
        let noted = state.with_reserve(|connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            note.write(&transaction)?;
            commit(transaction, &*self.disk)
        });
        noted.map_err(|error| catalog_error(&error))
    }

    /// The last refreshes of all views, by the views' numbers.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub(crate) fn refreshes(&self) -> Result<HashMap<i64, RefreshRecord>> {
        let state = self.state.lock();
        let load = || {
            let mut query =
                state.connection.prepare("SELECT table_id, completed, succeeded, duration_ms FROM squall_refresh")?;
            let record = |row: &rusqlite::Row<'_>| {
                let record = RefreshRecord { completed: row.get(1)?, succeeded: row.get(2)?, duration_ms: row.get(3)? };
                Ok((row.get(0)?, record))
            };
            query.query_map([], record)?.collect::<rusqlite::Result<_>>()
        };
        load().map_err(|error| catalog_error(&error))
    }
}
