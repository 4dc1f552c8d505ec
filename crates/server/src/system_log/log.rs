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
use super::pace::{Haste, Work};
use super::queue::{Added, Queue};
use super::retention::upkeep;
use super::store::{DATABASE, LogStore};
use super::table::LogTable;
use crate::config::SystemLogConfig;

/// Parts of a table before they are merged whoever wants the CPUs.
const PARTS_UNMERGED_MAX: usize = 256;
/// Bytes of texts in one part, roughly: they lie in memory together, and beyond 2 GiB they could not.
const PART_TEXT_BYTES_MAX: usize = 64 << 20;

/// Rows of a part.
fn part_rows_max(haste: Haste) -> usize {
    match haste {
        Haste::Urgent => 1 << 18,
        Haste::Free => 1 << 16,
        Haste::Crowded => 1 << 14,
    }
}

/// What is logged.
pub(super) trait LogEntry: Send + Sized + 'static {
    /// What a row of the table is made of.
    type Row;
    /// Rows that an entry makes at most.
    const ROWS_MAX: usize;

    /// Makes rows of entries, taking them out.
    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self::Row>);

    /// The second since the epoch that a row is of.
    fn second(row: &Self::Row) -> u64;

    /// Bytes of a row's texts, where these may be long.
    fn text_bytes(_row: &Self::Row) -> usize {
        0
    }
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

    /// Whether there is room for an entry. One that need not be made, as there is none, is counted as dropped.
    pub(super) fn takes(&self) -> bool {
        let is_full = self.queue.is_full();
        if is_full {
            profile_events::GLOBAL.add(ProfileEvent::SystemLogEntriesDropped, 1);
        }
        !is_full
    }

    /// Adds an entry. Never waits; when too many wait to be written it is dropped and counted.
    pub(super) fn add(&self, entry: E, logs: &SystemLogs) {
        match self.queue.add(entry) {
            Added::Waits => {}
            Added::WaitsBehind => {
                if self.is_pressing() {
                    logs.hurry();
                }
            }
            Added::Dropped => profile_events::GLOBAL.add(ProfileEvent::SystemLogEntriesDropped, 1),
        }
    }

    /// Writes a part.
    fn write_part(&self, taken: &mut VecDeque<Vec<E>>, store: &LogStore, haste: Haste, work: &mut Work) -> Result<()> {
        let mut part = store.write(&self.config.table, work)?;
        let mut rows = Vec::new();
        let mut text_bytes = 0;
        while rows.len() < part_rows_max(haste)
            && text_bytes < PART_TEXT_BYTES_MAX
            && let Some(mut chunk) = taken.pop_front()
        {
            let before = rows.len();
            E::rows(&mut chunk, &mut rows);
            self.queue.recycle(chunk);
            text_bytes += rows.iter().skip(before).map(E::text_bytes).sum::<usize>();
        }
        // Mostly in order already, as few threads' chunks are each of them: the table then has nothing to sort.
        rows.sort_by_key(E::second);
        part.send(self.table.block(&rows)?)?;
        drop(rows);
        part.finish()
    }

    /// Takes out old parts, and makes one of many small ones.
    fn keep_up(&self, store: &LogStore, haste: Haste, work: &mut Work) -> Result<()> {
        let databases = &store.databases;
        let table = databases.table(DATABASE, &self.config.table)?;
        let parts = table.parts();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let upkeep = upkeep(&parts, &self.config.retention, u32::try_from(now).unwrap_or(u32::MAX));
        drop(table);
        if !upkeep.drop.is_empty() {
            databases.drop_parts(DATABASE, &self.config.table, &upkeep.drop)?;
        }
        // Parts become as many as flushes: with one merge for each, merging keeps up.
        // Where CPUs are wanted they wait, as long as parts are not all too many.
        let may_merge = haste != Haste::Crowded || parts.len() > PARTS_UNMERGED_MAX;
        if may_merge && let Some(parts) = upkeep.merge.first() {
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
            constraints: Vec::new(),
            indices: Vec::new(),
            projections: Vec::new(),
            ttl: Vec::new(),
            sorting_key: keys(&self.config.order_by)?,
            partition_key: keys(&self.config.partition_by)?,
            sampling_key: None,
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

    /// Whether so many entries wait that they should be written before the time comes.
    fn is_pressing(&self) -> bool;

    /// Writes everything that waits, or one part of it where nothing is urgent; whether that was all.
    ///
    /// # Errors
    /// Where rows cannot be written: they are lost, and the next ones are tried again.
    fn flush(&self, store: &LogStore, haste: Haste, work: &mut Work) -> Result<bool>;
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

    fn is_pressing(&self) -> bool {
        self.queue.waiting() * E::ROWS_MAX >= self.config.flush_threshold_rows
    }

    fn flush(&self, store: &LogStore, haste: Haste, work: &mut Work) -> Result<bool> {
        let mut taken = self.taken.lock();
        // What came before this call may be in a chunk that is taken already, or still in the queue.
        for _ in 0..2 {
            if taken.is_empty() {
                taken.extend(self.queue.take());
            }
            if !taken.is_empty() {
                // An operator may have dropped or changed the table.
                self.prepare(store)?;
            }
            while !taken.is_empty() {
                self.write_part(&mut taken, store, haste, work)?;
                if haste != Haste::Urgent {
                    break;
                }
            }
            if haste != Haste::Urgent {
                break;
            }
        }
        self.keep_up(store, haste, work)?;
        Ok(taken.is_empty())
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
