//! Taking parts out of a table, and rewriting several small ones as one. Which parts, and when, is the caller's decision.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Wake, Waker};

use squall_types::{Block, Error, ErrorCode, Result};

use super::cold_scan::ColdScan;
use super::hot_scan::HotScan;
use super::insertion::new_part;
use super::part::Part;
use super::part_name::PartName;
use super::part_writer::write_part;
use super::{MergeTree, PartSet, pruning};
use crate::table::{Claim, ScanRequest, TableScan};

/// Rows that are read at a time.
const MORSEL_ROWS: u64 = 1 << 20;

impl MergeTree {
    /// Takes parts out of the table. Scans under way keep them; their files go after that.
    ///
    /// # Errors
    /// `NO_SUCH_DATA_PART`, `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub(crate) fn drop_parts(&self, names: &[Arc<str>]) -> Result<()> {
        let parts = self.parts_named(names)?;
        self.replace_parts(&parts, None)
    }

    /// Rewrites parts of one partition as one. Waits for the disk.
    ///
    /// # Errors
    /// `NO_SUCH_DATA_PART`, `BAD_ARGUMENTS` for parts of several partitions, and where parts cannot be read or written: then
    /// everything is as it was.
    pub(crate) fn merge_parts(self: &Arc<Self>, names: &[Arc<str>]) -> Result<()> {
        let parts = self.parts_named(names)?;
        let parsed: Option<Vec<PartName>> = parts.iter().map(|part| PartName::parse(&part.file.name)).collect();
        let name = parsed.as_deref().and_then(PartName::merged).ok_or_else(|| {
            Error::new(ErrorCode::BAD_ARGUMENTS, "Parts of several partitions cannot be merged into one")
        })?;
        let blocks = self.read(&parts)?;
        let block = Block::concat(self.identity.stored.clone(), &blocks)?;
        drop(blocks);
        let unwritten = write_part(self, &name, &block)?;
        unwritten.wait()?;
        self.replace_parts(&parts, Some(unwritten.part))
    }

    fn parts_named(&self, names: &[Arc<str>]) -> Result<Vec<Arc<Part>>> {
        let current = self.parts.load();
        let find =
            |name: &Arc<str>| {
                current.parts.iter().find(|part| part.file.name == *name).cloned().ok_or_else(|| {
                    Error::new(ErrorCode::NO_SUCH_DATA_PART, format!("No part {name} in committed state"))
                })
            };
        names.iter().map(find).collect()
    }

    /// Commits the exchange, then shows it.
    fn replace_parts(&self, old: &[Arc<Part>], new: Option<Arc<Part>>) -> Result<()> {
        let recorded = new.as_ref().map(|part| new_part(self, part));
        let names: Vec<Arc<str>> = old.iter().map(|part| part.file.name.clone()).collect();
        let publish = || {
            new.iter().for_each(|part| part.keep());
            self.parts.rcu(|set| {
                let stays = |part: &&Arc<Part>| !old.iter().any(|old| Arc::ptr_eq(old, part));
                let parts = set.parts.iter().filter(stays).chain(&new).cloned().collect();
                PartSet::new(parts, self.identity.stored.len())
            });
            old.iter().for_each(|part| part.retire());
        };
        self.catalog.replace_parts(self.table_id, &names, recorded, publish)
    }

    /// All rows of some parts.
    fn read(&self, parts: &[Arc<Part>]) -> Result<Vec<Block>> {
        if let Some(failure) = parts.iter().find_map(|part| part.failure()) {
            return Err(failure.clone());
        }
        let segments = pruning::select(self, parts, None)?;
        let columns: Vec<usize> = (0..self.identity.stored.len()).collect();
        let schema = self.identity.stored.clone();
        let request = ScanRequest { columns: columns.clone(), schema, predicate: None, limit: None };
        match HotScan::new(&self.cache, segments, &columns, &request) {
            Ok(scan) => read_all(&scan),
            Err(segments) => read_all(&*ColdScan::start(segments, &columns, &request)),
        }
    }
}

/// Everything that a scan has; the calling thread waits for the disk.
fn read_all(scan: &dyn TableScan) -> Result<Vec<Block>> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut blocks = Vec::new();
    loop {
        match scan.claim(MORSEL_ROWS, &waker) {
            Claim::Morsel(morsel) => scan.read(morsel, &mut |block| {
                blocks.push(block);
                Ok(ControlFlow::Continue(()))
            })?,
            Claim::Pending => std::thread::park(),
            Claim::Finished => return Ok(blocks),
        }
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
