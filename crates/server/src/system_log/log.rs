//! One log: entries that wait, the table that they go to, and how they get there.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use squall_functions::FunctionContext;
use squall_planner::{KeyExpression, TableDefinition, bind_expression};
use squall_runtime::{ProfileEvent, profile_events};
use squall_storage::{TableDescription, TableName};
use squall_types::{ErrorCode, Result};

use super::SystemLogs;
use super::pace::Work;
use super::queue::{Added, Queue};
use super::retention::upkeep;
use super::store::{DATABASE, LogStore};
use super::table::LogTable;
use crate::config::SystemLogConfig;

/// Rows of a part that is written at once.
const PART_ROWS_MAX: usize = 1 << 18;
/// Rows of a part that others wait for, if so many are there.
const PART_ROWS_MIN: usize = 1 << 14;

/// What is logged.
pub(super) trait LogEntry: Send + Sized + 'static {
    /// What a row of the table is made of.
    type Row;
    /// Rows that an entry makes at most.
    const ROWS_MAX: usize;

    /// Makes rows of entries, taking them out.
    fn rows(entries: &mut Vec<Self>) -> Vec<Self::Row>;
}

/// A log.
pub(super) struct SystemLog<E: LogEntry> {
    config: SystemLogConfig,
    table: LogTable<E::Row>,
    queue: Queue<E>,
    /// Chunks that were taken from the queue and are not written yet. Locked while they are written.
    taken: Mutex<VecDeque<Vec<E>>>,
}

impl<E: LogEntry> SystemLog<E> {
    /// A log that is kept as `config` says.
    pub(super) fn new(config: SystemLogConfig, table: LogTable<E::Row>) -> Self {
        let queue = Queue::new(config.max_size_rows.div_ceil(E::ROWS_MAX));
        Self { config, table, queue, taken: Mutex::default() }
    }

    /// Adds an entry. Never waits; when too many wait to be written it is dropped and counted.
    pub(super) fn add(&self, entry: E, logs: &SystemLogs) {
        match self.queue.add(entry) {
            Added::Waits => {}
            Added::WaitsBehind(entries) => {
                if entries * E::ROWS_MAX >= self.config.flush_threshold_rows {
                    logs.hurry();
                }
            }
            Added::Dropped => profile_events::GLOBAL.add(ProfileEvent::SystemLogEntriesDropped, 1),
        }
    }

    /// The rows of a part: as many as come, or as many as fit while the CPUs are free. Returns the rest to take after it.
    fn write_part(
        &self,
        taken: &mut VecDeque<Vec<E>>,
        store: &LogStore,
        work: &mut Work,
        is_urgent: bool,
    ) -> Result<Duration> {
        let mut part = store.write(&self.config.table, work)?;
        let mut rows = 0;
        while let Some(mut chunk) = taken.pop_front() {
            let entries = E::rows(&mut chunk);
            self.queue.recycle(chunk);
            rows += entries.len();
            part.send(self.table.block(&entries)?)?;
            if rows >= PART_ROWS_MAX || rows >= PART_ROWS_MIN && !is_urgent && !work.rest().is_zero() {
                break;
            }
        }
        part.finish()?;
        Ok(if is_urgent { Duration::ZERO } else { work.rest() })
    }

    /// Takes out old parts, and makes one of many small ones.
    fn keep_up(&self, store: &LogStore, work: &mut Work) -> Result<()> {
        let databases = &store.databases;
        let table = databases.table(DATABASE, &self.config.table)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let upkeep = upkeep(&table.parts(), &self.config.retention, u32::try_from(now).unwrap_or(u32::MAX));
        drop(table);
        if !upkeep.drop.is_empty() {
            databases.drop_parts(DATABASE, &self.config.table, &upkeep.drop)?;
        }
        // Parts become as many as flushes: with one merge for each, merging keeps up.
        if let Some(parts) = upkeep.merge.first() {
            store.merge(&self.config.table, parts, work)?;
        }
        Ok(())
    }

    /// The table as it is to be.
    fn definition(&self, functions: &FunctionContext) -> Result<TableDefinition> {
        let columns = self.table.columns().to_vec();
        let keys = |sql: &str| {
            split_keys(sql)
                .map(|sql| {
                    Ok(KeyExpression { sql: sql.into(), expression: bind_expression(sql, &columns, functions)? })
                })
                .collect::<Result<Vec<_>>>()
        };
        Ok(TableDefinition {
            sorting_key: keys(&self.config.order_by)?,
            partition_key: keys(&self.config.partition_by)?,
            primary_key: None,
            engine: "MergeTree".into(),
            engine_arguments: Vec::new(),
            settings: Vec::new(),
            comment: "".into(),
            columns,
        })
    }

    /// Whether a table has this log's columns.
    fn fits(&self, found: &TableDescription) -> bool {
        let columns = found.table.columns();
        found.table.engine() == "MergeTree"
            && columns.len() == self.table.columns().len()
            && columns
                .iter()
                .zip(self.table.columns())
                .all(|(found, wanted)| found.name == wanted.name && found.data_type == wanted.data_type)
    }
}

/// How far a flush came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flushed {
    /// The time to stay away.
    pub(super) rest: Duration,
    /// Whether everything that waited is written.
    pub(super) is_all: bool,
}

/// What the flushing thread does with any log.
pub(super) trait Log: Send + Sync {
    /// The table's name.
    fn name(&self) -> &str;

    /// How often the log is flushed.
    fn flush_interval(&self) -> Duration;

    /// Makes the table where it is missing. One with other columns, of an older server, is kept under another name.
    ///
    /// # Errors
    /// Where keys do not suit or the catalog cannot be written.
    fn prepare(&self, store: &LogStore) -> Result<()>;

    /// Writes everything that waits. Whoever is not urgent stops where the CPUs are wanted by others.
    ///
    /// # Errors
    /// Where rows cannot be written: they are lost, and the next ones are tried again.
    fn flush(&self, store: &LogStore, is_urgent: bool) -> Result<Flushed>;
}

impl<E: LogEntry> Log for SystemLog<E> {
    fn name(&self) -> &str {
        &self.config.table
    }

    fn flush_interval(&self) -> Duration {
        self.config.flush_interval
    }

    fn prepare(&self, store: &LogStore) -> Result<()> {
        let databases = &store.databases;
        let name = &self.config.table;
        match databases.describe(DATABASE, name) {
            Ok(found) if self.fits(&found) => return Ok(()),
            Ok(_) => {
                let free = (0_u64..).map(|number| format!("{name}_{number}"));
                let free = free.into_iter().find(|free| !databases.has_table(DATABASE, free)).unwrap_or_default();
                databases
                    .rename_table(&TableName::new(DATABASE, name.as_str()), &TableName::new(DATABASE, free.as_str()))?;
                tracing::info!(target: "SystemLog", "Table system.{name} of other columns is system.{free} from now on");
            }
            Err(error) if error.code == ErrorCode::UNKNOWN_TABLE => {}
            Err(error) => return Err(error),
        }
        databases.create_table(DATABASE, name, self.definition(&store.functions)?, true)
    }

    fn flush(&self, store: &LogStore, is_urgent: bool) -> Result<Flushed> {
        let mut taken = self.taken.lock();
        let mut work = Work::begin();
        let mut rest = Duration::ZERO;
        // What came before this call may be in a chunk that is taken already, or still in the queue.
        for _ in 0..2 {
            if taken.is_empty() {
                taken.extend(self.queue.take());
            }
            if !taken.is_empty() {
                // An operator may have dropped or changed the table.
                self.prepare(store)?;
            }
            while !taken.is_empty() && rest.is_zero() {
                rest = self.write_part(&mut taken, store, &mut work, is_urgent)?;
            }
            if !is_urgent {
                break;
            }
        }
        self.keep_up(store, &mut work)?;
        let rest = if is_urgent { Duration::ZERO } else { rest.max(work.rest()) };
        Ok(Flushed { rest, is_all: taken.is_empty() })
    }
}

/// The expressions of a key: `(a, f(b, c))` and `a, f(b, c)` are two.
fn split_keys(sql: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let parts = sql.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_split_outside_of_parentheses() {
        assert_eq!(split_keys("a, f(b, c)").collect::<Vec<_>>(), ["a", "f(b, c)"]);
        assert_eq!(split_keys("").count(), 0);
    }
}
