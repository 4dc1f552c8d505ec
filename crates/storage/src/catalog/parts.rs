//! Commits of parts: those of inserts, many of which may share one transaction, and exchanges of parts for others.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};

use super::change::Change;
use super::deletions::{NewDeletion, SeenDeletion, insert_deletion};
use super::insert_records::{forget_inserts, mark_insert};
use super::mutations::{advance, was_killed};
use super::part_records::{TableTotals, forget_files, insert_part, remove_part, schedule_deletion, write_totals};
use super::refreshes::RefreshNote;
use super::{Catalog, NewPart, State, catalog_error, commit_error};
use crate::disk::Disk;
use crate::mutation::MutationStep;

/// Files that are gone and still scheduled for deletion; then they are forgotten together.
const REMOVED_FILES_MAX: usize = if cfg!(test) { 2 } else { 64 };

/// An INSERT that waits for the next transaction.
pub(super) struct PartsToCommit {
    tables: Vec<InsertedParts>,
    /// The refresh of a view that this is.
    refresh: Option<RefreshNote>,
    outcome: Outcome,
}

/// The parts of an INSERT in one of the tables that it writes.
pub(crate) struct InsertedParts {
    /// The table's number.
    pub(crate) table_id: i64,
    /// The parts.
    pub(crate) parts: Vec<NewPart>,
    /// By what the INSERT is known if it comes again.
    pub(crate) mark: Option<InsertMark>,
    /// Runs once they are durable.
    pub(crate) publish: Publish,
}

/// Makes parts visible, but for those of these names, which are not recorded as an INSERT has brought them before.
pub(crate) type Publish = Box<dyn FnOnce(&[Arc<str>]) + Send>;

/// By what a table knows an INSERT again.
#[derive(Clone)]
pub(crate) struct InsertMark {
    /// Its id.
    pub(crate) id: String,
    /// How many INSERTs the table remembers.
    pub(crate) window: u64,
}

type Outcome = Arc<Mutex<Option<Result<()>>>>;

/// Parts of one table that come and go at once.
#[derive(Default)]
pub(crate) struct PartExchange<'a> {
    /// Names of parts that go; their files are scheduled for deletion.
    pub(crate) old: &'a [Arc<str>],
    /// For each of these what is known to be deleted of it.
    pub(crate) seen: &'a [SeenDeletion],
    /// Parts that come.
    pub(crate) new: &'a [NewPart],
    /// Rows of other parts that are deleted.
    pub(crate) deletions: &'a [NewDeletion],
    /// Further files, named from the folder of data on, that nobody needs after it.
    pub(crate) needless_files: &'a [String],
    /// The command of a mutation that does this.
    pub(crate) step: Option<MutationStep>,
}

impl Catalog {
    /// Records the parts of an INSERT, those of all its tables or none, but for what is there already; they are published in the order of commits. Whoever finds nobody
    /// committing commits for all who wait, so that many clients share one wait for the disk.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, `NOT_ENOUGH_SPACE`; `UNKNOWN_STATUS_OF_INSERT` where it may be durable or not.
    pub(crate) fn commit_parts(&self, tables: Vec<InsertedParts>, refresh: Option<RefreshNote>) -> Result<()> {
        let outcome = Outcome::default();
        self.queue.lock().push(PartsToCommit { tables, refresh, outcome: outcome.clone() });
        let mut state = self.state.lock();
        if let Some(outcome) = outcome.lock().take() {
            return outcome;
        }
        let waiting = std::mem::take(&mut *self.queue.lock());
        commit_group(&mut state, &*self.disk, waiting);
        drop(state);
        outcome.lock().take().unwrap_or_else(|| Err(Error::logical("an insert that nobody committed")))
    }

    /// Takes parts out of tables, by their numbers, and puts others in, all at once; `publish` runs once that is durable. Nothing of the old
    /// parts stays in the catalog but that their files may be removed.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, `NO_SUCH_DATA_PART` where one of the parts is gone meanwhile, `QUERY_WAS_CANCELLED` where the mutation whose step
    /// it is was killed.
    pub(crate) fn exchange_parts(&self, exchanges: &[(i64, PartExchange<'_>)], publish: impl FnOnce()) -> Result<()> {
        let removed = self.take_removed_files();
        let mut state = self.state.lock();
        let state = &mut *state;
        let mut before: HashMap<i64, TableTotals> = HashMap::new();
        for (table_id, _) in exchanges {
            let Some(table) = state.tables.get(table_id) else { return Err(table_is_dropped()) };
            before.insert(*table_id, table.clone());
        }
        let replaced = state.with_reserve(|connection| {
            let mut totals = before.clone();
            let mut change = Change::begin(connection, &*self.disk)?;
            for (table_id, exchange) in exchanges {
                let Some(table) = totals.get_mut(table_id) else { continue };
                for (at, name) in exchange.old.iter().enumerate() {
                    let seen = exchange.seen.get(at).cloned().unwrap_or_default();
                    if !remove_part(&mut change, *table_id, table, name, &seen)? {
                        // The transaction is dropped, which undoes it.
                        return Ok(Err(no_such_part(name)));
                    }
                }
                if exchange.new.is_empty() && exchange.deletions.is_empty() {
                    // What brought these rows may bring them again.
                    forget_inserts(&change.transaction, *table_id, exchange.old)?;
                }
                if !exchange.deletions.is_empty() {
                    change.made.push(format!("deleted_from_table:{table_id}"));
                }
                let made = match (exchange.old.is_empty(), exchange.new.is_empty()) {
                    (true, true) => None,
                    (true, false) => Some("inserted_into_table"),
                    (false, true) => Some("deleted_from_table"),
                    (false, false) => Some("compacted_table"),
                };
                change.made.extend(made.map(|made| format!("{made}:{table_id}")));
                for deletion in exchange.deletions {
                    if !insert_deletion(&mut change, *table_id, deletion)? {
                        return Ok(Err(no_such_part(&deletion.part)));
                    }
                }
                for part in exchange.new {
                    insert_part(&mut change, *table_id, table, part)?;
                }
                for path in exchange.needless_files {
                    schedule_deletion(&change.transaction, -1, path)?;
                }
                write_totals(&change.transaction, *table_id, table)?;
                if let Some(step) = exchange.step
                    && !advance(&change.transaction, *table_id, step)?
                {
                    return Ok(Err(was_killed()));
                }
            }
            forget_files(&change.transaction, &removed)?;
            change.expire_snapshots()?;
            change.commit()?;
            Ok(Ok(totals))
        });
        match replaced.map_err(|error| commit_error(&error))? {
            Ok(totals) => {
                state.tables.extend(totals);
                publish();
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Files that were removed and are still scheduled for it, where they are many: their names are gone for good when this returns.
    fn take_removed_files(&self) -> Vec<String> {
        let mut removed = self.removed.lock();
        if removed.len() < REMOVED_FILES_MAX {
            return Vec::new();
        }
        let paths = std::mem::take(&mut *removed);
        drop(removed);
        let mut folders: HashSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
        // The folders of dropped tables are gone themselves.
        let of_all = folders.len();
        folders.retain(|folder| self.disk.bytes(folder).is_ok());
        if folders.len() < of_all {
            folders.insert(&self.data);
        }
        if folders.iter().any(|folder| self.disk.sync_folder(folder).is_err()) {
            return Vec::new();
        }
        paths.iter().filter_map(|path| self.relative(path)).collect()
    }
}

fn no_such_part(name: &str) -> Error {
    Error::new(ErrorCode::NO_SUCH_DATA_PART, format!("No part {name} in committed state"))
}

pub(super) fn table_is_dropped() -> Error {
    Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped")
}

/// Commits all waiting inserts as one snapshot and tells each how it went.
fn commit_group(state: &mut State, disk: &dyn Disk, waiting: Vec<PartsToCommit>) {
    // Totals change only if the commit does.
    let mut totals: HashMap<i64, TableTotals> = HashMap::new();
    let mut inserts = Vec::with_capacity(waiting.len());
    for insert in waiting {
        let mut written = insert.tables.iter().map(|table| table.table_id).chain(insert.refresh.map(|note| note.view));
        if written.any(|table_id| !state.tables.contains_key(&table_id)) {
            *insert.outcome.lock() = Some(Err(table_is_dropped()));
            continue;
        }
        for InsertedParts { table_id, .. } in &insert.tables {
            if let Some(table) = state.tables.get(table_id) {
                totals.entry(*table_id).or_insert_with(|| table.clone());
            }
        }
        inserts.push(insert);
    }
    if inserts.is_empty() {
        return;
    }
    // Whether it is durable is in doubt only where the commit itself failed.
    let mut is_committing = false;
    let result = (|| {
        let mut change = Change::begin(&mut state.connection, disk)?;
        let mut known = Vec::new();
        for InsertedParts { table_id, parts, mark, .. } in inserts.iter().flat_map(|insert| &insert.tables) {
            let known_parts = match mark {
                Some(mark) => mark_insert(&change.transaction, *table_id, mark, parts)?,
                None => Vec::new(),
            };
            if let Some(table) = totals.get_mut(table_id) {
                for part in parts.iter().filter(|part| !known_parts.contains(&part.name)) {
                    insert_part(&mut change, *table_id, table, part)?;
                }
            }
            known.push(known_parts);
        }
        inserts.iter().filter_map(|insert| insert.refresh).try_for_each(|note| note.write(&change.transaction))?;
        for (table_id, table) in &totals {
            change.made.push(format!("inserted_into_table:{table_id}"));
            write_totals(&change.transaction, *table_id, table)?;
        }
        is_committing = true;
        change.commit()?;
        Ok(known)
    })();
    match result {
        Ok(known) => {
            // There is room again, where there was none.
            state.reserve.keep();
            state.tables.extend(totals);
            let mut known = known.iter();
            for PartsToCommit { tables, outcome, .. } in inserts {
                for table in tables {
                    (table.publish)(known.next().map_or(&[], Vec::as_slice));
                }
                *outcome.lock() = Some(Ok(()));
            }
        }
        Err(error) => {
            let error = if is_committing { commit_error(&error) } else { catalog_error(&error) };
            for insert in inserts {
                *insert.outcome.lock() = Some(Err(error.clone()));
            }
        }
    }
}
