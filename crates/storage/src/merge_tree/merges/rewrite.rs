//! Rewriting parts: what a query makes of each part's rows stands in its place afterwards, for all parts at once. Which rows those are
//! is the caller's decision; inserts go on meanwhile and are not touched.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use squall_planner::{ColumnDescription, TableMetadata, named_like};
use squall_types::{Error, ErrorCode, Result};

use super::merge_control::MergeLock;
use super::replacement_writer::ReplacementWriter;
use crate::identity::TableName;
use crate::merge_tree::changes::deleted_rows::{DeletedRows, Deletions};
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_writer::{PartExtras, UnwrittenPart};
use crate::merge_tree::settings::ProjectionMode;
use crate::merge_tree::{MergeTree, MergeTreeTable, PartSelection, PartSet};
use crate::mutation::{MutationFence, MutationStep};
use crate::part_event::PartEventKind;
use crate::table::{InsertWriter, Insertion, ScanRequest, Table, TableScan};

/// Rows that are left between two that are deleted, on average, where these are many.
const CRUMB_ROWS: u64 = 256;
/// So many runs of deleted rows do not matter.
const RUNS_ALWAYS: u64 = 256;

/// Which parts a mutation is about; any where there is none.
type Fence<'a> = Option<&'a MutationFence>;

/// For each part that a query was run over, the new one; nothing where no row is left of it.
type Written = Vec<(Arc<Part>, Option<UnwrittenPart>)>;

/// Parts that are being rewritten. Dropped without a commit, nothing has changed.
pub(crate) struct PartRewriting {
    table: Arc<MergeTree>,
    parts: Vec<Arc<Part>>,
    done: Arc<Mutex<Written>>,
    /// What new parts get beside their rows.
    extras: PartExtras,
    /// Rows of parts that stay.
    deleted: Vec<(Arc<Part>, DeletedRows)>,
    /// What was deleted of the parts before.
    seen: Arc<Deletions>,
    lock: Arc<MergeLock>,
}

impl MergeTree {
    /// Begins to rewrite the parts that a clause names.
    ///
    /// # Errors
    /// `PART_IS_TEMPORARILY_LOCKED` where one of them is being merged or rewritten, and where one cannot be read.
    pub(crate) fn rewrite(self: &Arc<Self>, selection: &PartSelection, fence: Fence<'_>) -> Result<PartRewriting> {
        let names = self.selected(selection)?;
        self.rewrite_parts(&names, fence)
    }

    /// The same for DELETE FROM, where the table says what becomes of projections.
    ///
    /// # Errors
    /// As [`rewrite`](Self::rewrite); `SUPPORT_IS_DISABLED` where the table has projections and says nothing else.
    pub(crate) fn rewrite_for_delete(
        self: &Arc<Self>,
        selection: &PartSelection,
        fence: Fence<'_>,
    ) -> Result<PartRewriting> {
        let mode = self.settings.lightweight_mutation_projection_mode;
        if mode == ProjectionMode::Throw && !self.projections.is_empty() {
            let record = self.record.load();
            let message = format!(
                "DELETE query is not allowed for table {}.{} because as it has projections and setting \
                 lightweight_mutation_projection_mode is set to THROW. User should change \
                 lightweight_mutation_projection_mode OR drop all the projections manually before running the query",
                record.database, record.table
            );
            return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, message));
        }
        let mut rewriting = self.rewrite(selection, fence)?;
        if mode == ProjectionMode::Drop {
            rewriting.extras.projections.clear();
        }
        Ok(rewriting)
    }

    /// Begins to rewrite those of the parts that a clause names which have deleted rows.
    ///
    /// # Errors
    /// As [`rewrite`](Self::rewrite).
    pub(crate) fn rewrite_deleted(
        self: &Arc<Self>,
        selection: &PartSelection,
        fence: Fence<'_>,
    ) -> Result<PartRewriting> {
        let mut names = self.selected(selection)?;
        let deletions = self.parts.load().deletions.clone();
        names.retain(|name| deletions.of(name).is_some());
        self.rewrite_parts(&names, fence)
    }

    /// Begins to rewrite parts whose columns were of other types when they were written, in which readers of the lake do not find them.
    ///
    /// # Errors
    /// As [`rewrite`](Self::rewrite).
    pub(crate) fn rewrite_casts(self: &Arc<Self>) -> Result<PartRewriting> {
        let is_cast = |part: &&Arc<Part>| {
            let own = &part.schema.fields.ids;
            self.identity.fields.ids.iter().any(|ids| {
                let has = |id: &i64| own.iter().any(|own| own.id == *id);
                !has(&ids.id) && ids.formers.iter().any(has)
            })
        };
        let parts = self.parts.load();
        let names: Vec<Arc<str>> = parts.parts.iter().filter(is_cast).map(|part| part.file.name.clone()).collect();
        self.rewrite_parts(&names, None)
    }

    /// Begins to rewrite those of the parts that a clause names which lack a skip index, or which have one that they are to lose.
    ///
    /// # Errors
    /// As [`rewrite`](Self::rewrite); `BAD_ARGUMENTS` for an unknown index.
    pub(crate) fn rewrite_index(
        self: &Arc<Self>,
        selection: &PartSelection,
        name: &str,
        clears: bool,
        fence: Fence<'_>,
    ) -> Result<PartRewriting> {
        let Some(index) = self.indices.iter().find(|index| *index.name == *name) else {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown index: {name}")));
        };
        let selected = self.selected(selection)?;
        let has = |part: &Part| part.description.indices.iter().any(|known| known.identity == index.identity);
        let parts = self.parts_named(&selected)?;
        let names: Vec<Arc<str>> =
            parts.iter().filter(|part| has(part) == clears).map(|part| part.file.name.clone()).collect();
        let mut rewriting = self.rewrite_parts(&names, fence)?;
        if clears {
            rewriting.extras.indices.retain(|known| known.name != index.name);
        }
        Ok(rewriting)
    }

    /// Begins to rewrite those of the parts that a clause names which lack a projection, or which have one that they are to lose.
    ///
    /// # Errors
    /// As [`rewrite`](Self::rewrite); `NO_SUCH_PROJECTION_IN_TABLE`.
    pub(crate) fn rewrite_projection(
        self: &Arc<Self>,
        selection: &PartSelection,
        name: &str,
        clears: bool,
        fence: Fence<'_>,
    ) -> Result<PartRewriting> {
        let Some(projection) = self.projections.iter().find(|projection| *projection.bound.name == *name) else {
            let message = format!("There is no projection {name} in table");
            return Err(Error::new(ErrorCode::NO_SUCH_PROJECTION_IN_TABLE, message));
        };
        let parts = self.parts_named(&self.selected(selection)?)?;
        let has = |part: &Part| part.description.projections.iter().any(|known| known.identity == projection.identity);
        let names: Vec<Arc<str>> =
            parts.iter().filter(|part| has(part) == clears).map(|part| part.file.name.clone()).collect();
        let mut rewriting = self.rewrite_parts(&names, fence)?;
        if clears {
            rewriting.extras.projections.retain(|known| known.bound.name != projection.bound.name);
        }
        Ok(rewriting)
    }

    fn rewrite_parts(self: &Arc<Self>, names: &[Arc<str>], fence: Fence<'_>) -> Result<PartRewriting> {
        let is_meant = |name: &&Arc<str>| fence.is_none_or(|fence| fence.covers(name));
        let names: Vec<Arc<str>> = names.iter().filter(is_meant).cloned().collect();
        let lock = Arc::new(self.merging.lock(&names)?);
        let parts = self.parts_named(&names)?;
        let seen = self.parts.load().deletions.clone();
        self.check_known(&parts)?;
        if let Some(failure) = parts.iter().find_map(|part| part.failure()) {
            return Err(failure.clone());
        }
        Ok(PartRewriting {
            table: self.clone(),
            parts,
            done: Arc::default(),
            extras: self.extras(),
            deleted: Vec::new(),
            seen,
            lock,
        })
    }
}

impl PartRewriting {
    /// All parts as one table, to find the rows of it that are to be deleted.
    pub(crate) fn source(&self, name: &Arc<TableName>) -> Arc<dyn Table> {
        let parts = Arc::new(PartSet::new(self.parts.clone(), &self.table.identity, &self.seen));
        Arc::new(MergeTreeTable { name: name.clone(), live: self.table.clone(), parts, projection: None })
    }

    /// Has the commit delete rows of the part of a number, by their positions; `false` where these are so many, or so scattered, that the part is better
    /// written without them.
    pub(crate) fn delete(&mut self, part: usize, positions: Vec<u32>) -> bool {
        let Some(part) = self.parts.get(part) else { return false };
        let mut rows = DeletedRows::of_positions(positions);
        if let Some(before) = self.seen.of(&part.file.name) {
            rows = rows.with(&before.rows);
        }
        let is_sparse = may_stay(&rows, part.rows);
        if is_sparse {
            self.deleted.push((part.clone(), rows));
        }
        is_sparse
    }

    /// The names of the parts, as [`pieces`](Self::pieces) has them.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.parts.iter().map(|part| part.file.name.clone()).collect()
    }

    /// The parts, each as a table to read and one to write what becomes of it.
    pub(crate) fn pieces(&self, name: &Arc<TableName>) -> Vec<(Arc<dyn Table>, Arc<dyn Table>)> {
        let piece = |part: &Arc<Part>| {
            let parts = Arc::new(PartSet::new(vec![part.clone()], &self.table.identity, &self.seen));
            let source: Arc<dyn Table> =
                Arc::new(MergeTreeTable { name: name.clone(), live: self.table.clone(), parts, projection: None });
            let target = Target {
                source: source.clone(),
                table: self.table.clone(),
                part: part.clone(),
                done: self.done.clone(),
                extras: self.extras.clone(),
                lock: self.lock.clone(),
            };
            (source, Arc::new(target) as Arc<dyn Table>)
        };
        self.parts.iter().map(piece).collect()
    }

    /// Puts what was written in the place of the parts that it was made of. Waits for the disk.
    ///
    /// # Errors
    /// `NO_SUCH_DATA_PART` where one of them was dropped meanwhile, `QUERY_WAS_CANCELLED` where the mutation whose step it is was killed, and
    /// where the catalog cannot be written.
    pub(crate) fn commit(self, step: Option<MutationStep>) -> Result<()> {
        let done = std::mem::take(&mut *self.done.lock());
        let Self { table, deleted, seen, lock: _lock, .. } = self;
        if done.is_empty() && deleted.is_empty() {
            return step.map_or(Ok(()), |step| table.note_mutation_step(step));
        }
        let written = |(part, rows): (Arc<Part>, DeletedRows)| {
            let deletion = table.directory.write_deletion(rows, &part.file.path)?;
            Ok((part, Arc::new(deletion)))
        };
        let deleted = deleted.into_iter().map(written).collect::<Result<Vec<_>>>()?;
        let (old, new): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        let new: Vec<Arc<Part>> = new.into_iter().flatten().map(|unwritten| unwritten.part).collect();
        table.replace_in_step((&old, &new), &[], &deleted, &seen, step)?;
        step.into_iter().for_each(|step| table.unfence_after(step));
        new.iter().for_each(|part| table.note_part(part, PartEventKind::MutatePart));
        Ok(())
    }
}

/// Whether a part of so many rows may stay as it is when these are deleted: the file is not mostly waste, and what is left are not crumbs,
/// each of which a scan reads by itself.
fn may_stay(deleted: &DeletedRows, rows: u64) -> bool {
    deleted.rows() * 2 <= rows && deleted.runs() as u64 <= (rows / CRUMB_ROWS).max(RUNS_ALWAYS)
}

/// Where the rows go that stand for a part's.
struct Target {
    source: Arc<dyn Table>,
    table: Arc<MergeTree>,
    part: Arc<Part>,
    done: Arc<Mutex<Written>>,
    extras: PartExtras,
    lock: Arc<MergeLock>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target").field("part", &self.part).finish_non_exhaustive()
    }
}

impl TableMetadata for Target {
    named_like!(source);

    fn columns(&self) -> &[ColumnDescription] {
        self.source.columns()
    }
}

impl Table for Target {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        self.source.scan(request)
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        let name = PartName::parse(&self.part.file.name).ok_or_else(|| Error::logical("a part without a name"))?;
        Ok(Arc::new(Rewritten {
            table: self.table.clone(),
            // It holds the same inserts, so that it stays in its place among the others.
            name: PartName { level: name.level + 1, ..name },
            part: self.part.clone(),
            done: self.done.clone(),
            new: Arc::default(),
            extras: self.extras.clone(),
            lock: self.lock.clone(),
        }))
    }
}

/// The rows of a part on their way into the one that will stand for it.
struct Rewritten {
    table: Arc<MergeTree>,
    name: PartName,
    part: Arc<Part>,
    done: Arc<Mutex<Written>>,
    new: Arc<OnceLock<UnwrittenPart>>,
    extras: PartExtras,
    lock: Arc<MergeLock>,
}

impl Insertion for Rewritten {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        let (table, name, new) = (self.table.clone(), self.name.clone(), self.new.clone());
        let (extras, lock, from_bytes) = (self.extras.clone(), self.lock.clone(), self.part.file.bytes);
        // Values that were cast since the part was written may have another order.
        let is_in_order = self.part.schema.is_like(&table.schema);
        Ok(Box::new(ReplacementWriter::new(table, name, new, extras, is_in_order, lock, from_bytes)))
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn commit(&self) -> Result<()> {
        let new = self.new.get().cloned();
        new.as_ref().map_or(Ok(()), UnwrittenPart::wait)?;
        self.done.lock().push((self.part.clone(), new));
        Ok(())
    }
}
