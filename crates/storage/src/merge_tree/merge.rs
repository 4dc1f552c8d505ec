//! Taking parts out of a table, and rewriting several small ones as one. Which parts, and when, is the caller's decision.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use squall_types::{Block, Error, ErrorCode, Result};

use super::insertion::{concat, new_part};
use super::part::Part;
use super::part_name::PartName;
use super::part_writer::{UnwrittenPart, write_part};
use super::{MergeTree, PartSet, mapped_scan, pruning};
use crate::catalog::PartExchange;
use crate::table::{InsertWriter, Insertion, PartMerge, PartWork, ScanRequest, TableScan};
use squall_runtime::current_metrics::MetricGuard;
use squall_runtime::profile_events::count;
use squall_runtime::{CurrentMetric, Pieces, ProfileEvent};

impl MergeTree {
    /// Takes parts out of the table. Scans under way keep them; their files go after that.
    ///
    /// # Errors
    /// `NO_SUCH_DATA_PART`, `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn drop_parts(&self, names: &[Arc<str>]) -> Result<()> {
        let parts = self.parts_named(names)?;
        self.replace_parts(&parts, &[], &[])
    }

    /// Begins to rewrite parts of one partition as one.
    ///
    /// # Errors
    /// `NO_SUCH_DATA_PART`, `PART_IS_TEMPORARILY_LOCKED` for parts that are being merged, `BAD_ARGUMENTS` for parts of several
    /// partitions, and where parts cannot be read.
    pub(crate) fn merge_parts(self: &Arc<Self>, names: &[Arc<str>]) -> Result<PartMerge> {
        let lock = Arc::new(MergeLock::new(self, names)?);
        let mut parts = self.parts_named(names)?;
        // Of rows with equal keys those of later inserts come later.
        parts.sort_by_key(|part| PartName::parse(&part.file.name).map(|name| name.first_block));
        let parsed: Option<Vec<PartName>> = parts.iter().map(|part| PartName::parse(&part.file.name)).collect();
        let name = parsed.as_deref().and_then(PartName::merged).ok_or_else(|| {
            Error::new(ErrorCode::BAD_ARGUMENTS, "Parts of several partitions cannot be merged into one")
        })?;
        let scan = self.scan_parts(&parts)?;
        let id = format!("{}::{name}", self.identity.uuid);
        count(ProfileEvent::Merge, 1);
        count(ProfileEvent::MergeSourceParts, parts.len() as u64);
        let began = Instant::now();
        let insertion = Replacement { table: self.clone(), name, old: parts, new: Arc::default(), began, lock };
        Ok(PartMerge { scan, insertion: Arc::new(insertion), id })
    }

    pub(super) fn parts_named(&self, names: &[Arc<str>]) -> Result<Vec<Arc<Part>>> {
        let current = self.parts.load();
        let find =
            |name: &Arc<str>| {
                current.parts.iter().find(|part| part.file.name == *name).cloned().ok_or_else(|| {
                    Error::new(ErrorCode::NO_SUCH_DATA_PART, format!("No part {name} in committed state"))
                })
            };
        names.iter().map(find).collect()
    }

    /// Commits the exchange, then shows it. `needless` are further files that nobody needs after it.
    pub(super) fn replace_parts(&self, old: &[Arc<Part>], new: &[Arc<Part>], needless: &[String]) -> Result<()> {
        let recorded: Vec<_> = new.iter().map(|part| new_part(part)).collect();
        let names: Vec<Arc<str>> = old.iter().map(|part| part.file.name.clone()).collect();
        let publish = || {
            new.iter().for_each(|part| part.settle());
            self.parts.rcu(|set| {
                let stays = |part: &&Arc<Part>| !old.iter().any(|old| Arc::ptr_eq(old, part));
                let parts = set.parts.iter().filter(stays).chain(new).cloned().collect();
                PartSet::new(parts, &self.identity)
            });
            old.iter().for_each(|part| part.retire());
        };
        let exchange = PartExchange { old: &names, new: &recorded, needless_files: needless };
        self.catalog.exchange_parts(self.table_id, &exchange, publish)
    }

    /// All rows of some parts.
    fn scan_parts(self: &Arc<Self>, parts: &[Arc<Part>]) -> Result<Arc<dyn TableScan>> {
        if let Some(failure) = parts.iter().find_map(|part| part.failure()) {
            return Err(failure.clone());
        }
        let segments = pruning::select(self, parts, None)?;
        let positions = self.identity.stored_positions.iter().enumerate();
        let columns: Vec<usize> = positions.filter_map(|(at, stored)| stored.map(|_| at)).collect();
        let schema = self.identity.stored.clone();
        let request = ScanRequest { columns: columns.clone(), schema, predicate: None, limit: None };
        mapped_scan::scan(self, segments, &columns, &request)
    }
}

/// A part on its way that will stand for others.
struct Replacement {
    table: Arc<MergeTree>,
    name: PartName,
    old: Vec<Arc<Part>>,
    /// Set once the part is made. Dropped without a commit, it removes its file.
    new: Arc<OnceLock<UnwrittenPart>>,
    began: Instant,
    /// Dropped last.
    lock: Arc<MergeLock>,
}

/// Parts that are being merged, by one merge only: two of the same parts would make the same file. Whoever holds it drops it after that
/// file was committed or removed.
pub(super) struct MergeLock {
    table: Arc<MergeTree>,
    names: Vec<Arc<str>>,
    _metrics: [MetricGuard; 2],
}

impl MergeLock {
    pub(super) fn new(table: &Arc<MergeTree>, names: &[Arc<str>]) -> Result<Self> {
        let mut merging = table.merging.lock();
        if let Some(name) = names.iter().find(|name| merging.contains(*name)) {
            let message = format!("Part {name} is being merged");
            return Err(Error::new(ErrorCode::PART_IS_TEMPORARILY_LOCKED, message));
        }
        merging.extend(names.iter().cloned());
        let metrics = [CurrentMetric::Merge.hold(1), CurrentMetric::MergeParts.hold(names.len() as i64)];
        Ok(Self { table: table.clone(), names: names.to_vec(), _metrics: metrics })
    }
}

impl Drop for MergeLock {
    fn drop(&mut self) {
        let mut merging = self.table.merging.lock();
        self.names.iter().for_each(|name| {
            merging.remove(name);
        });
    }
}

impl Insertion for Replacement {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        let (table, name, new) = (self.table.clone(), self.name.clone(), self.new.clone());
        let lock = self.lock.clone();
        Ok(Box::new(ReplacementWriter::new(table, name, new, true, lock)))
    }

    fn commit(&self) -> Result<()> {
        // There is none where no row is left.
        let new: Vec<Arc<Part>> = self.new.get().map(|unwritten| unwritten.part.clone()).into_iter().collect();
        self.new.get().map_or(Ok(()), UnwrittenPart::wait)?;
        let began = Instant::now();
        self.table.replace_parts(&self.old, &new, &[])?;
        count(ProfileEvent::MergeCommitMilliseconds, began.elapsed().as_millis() as u64);
        count(ProfileEvent::MergeTotalMilliseconds, self.began.elapsed().as_millis() as u64);
        Ok(())
    }
}

/// Gathers all rows of the new part.
pub(super) struct ReplacementWriter {
    table: Arc<MergeTree>,
    name: PartName,
    new: Arc<OnceLock<UnwrittenPart>>,
    blocks: Vec<Block>,
    /// Whether rows with equal keys become one.
    merges_rows: bool,
    /// Dropped last.
    lock: Arc<MergeLock>,
}

impl ReplacementWriter {
    pub(super) fn new(
        table: Arc<MergeTree>,
        name: PartName,
        new: Arc<OnceLock<UnwrittenPart>>,
        merges_rows: bool,
        lock: Arc<MergeLock>,
    ) -> Self {
        Self { table, name, new, blocks: Vec::new(), merges_rows, lock }
    }
}

impl InsertWriter for ReplacementWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        if !block.is_empty() {
            self.blocks.push(block);
        }
        Ok(None)
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        let Self { table, name, new, blocks, merges_rows, lock } = *self;
        if blocks.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::pin(async move {
            let mut pieces = Pieces::begin();
            let block = concat(&table.identity.stored, blocks, &mut pieces).await?;
            count(ProfileEvent::MergedRows, block.rows() as u64);
            count(ProfileEvent::MergedUncompressedBytes, block.value_bytes() as u64);
            let Some(unwritten) = write_part(&table, &name, block, true, merges_rows, &mut pieces).await? else {
                return Ok(());
            };
            count(ProfileEvent::MergeWrittenRows, unwritten.part.rows);
            // Another merge of the same parts would write the same file.
            unwritten.part.hold(lock);
            new.set(unwritten).map_err(|_| Error::logical("a merge with several writers"))
        })))
    }
}
