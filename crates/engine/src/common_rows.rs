//! Rows that are computed once and read several times: collected in their order, on disk where they do not fit into memory, and given
//! block by block to each reader. The last reader of a block lets go of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use squall_types::{Result, Schema};

use crate::operator::{Operator, Project};
use crate::units::{Rows, Units};
use crate::window::{Collecting, Input};

/// The rows of a common subplan.
pub(crate) struct CollectedRows {
    collecting: Arc<Collecting>,
    schema: Arc<Schema>,
    /// Readers, all of which are known before the first one reads.
    readers: AtomicUsize,
    blocks: OnceLock<Blocks>,
}

struct Blocks {
    input: Input,
    /// The readers that have not read each block.
    readers_left: Vec<AtomicUsize>,
}

impl CollectedRows {
    /// What is being collected.
    pub(crate) fn new(collecting: Arc<Collecting>, schema: Arc<Schema>) -> Self {
        Self { collecting, schema, readers: AtomicUsize::new(0), blocks: OnceLock::new() }
    }

    fn blocks(&self) -> &Blocks {
        self.blocks.get_or_init(|| {
            let input = self.collecting.input();
            let readers = self.readers.load(Ordering::Relaxed);
            let readers_left = (0..input.blocks()).map(|_| AtomicUsize::new(readers)).collect();
            Blocks { input, readers_left }
        })
    }
}

/// One reader.
pub(crate) struct Reading {
    rows: Arc<CollectedRows>,
    columns: Project,
}

impl Reading {
    /// A reader of some columns.
    pub(crate) fn new(rows: Arc<CollectedRows>, columns: Project) -> Self {
        rows.readers.fetch_add(1, Ordering::Relaxed);
        Self { rows, columns }
    }
}

impl Units for Reading {
    fn units(&self) -> usize {
        self.rows.blocks().readers_left.len()
    }

    async fn run(self: Arc<Self>, unit: usize, out: Rows) -> Result<()> {
        let blocks = self.rows.blocks();
        let block = blocks.input.load(unit, &self.rows.schema).await?;
        let readers_left = blocks.readers_left.get(unit);
        if readers_left.is_some_and(|readers| readers.fetch_sub(1, Ordering::AcqRel) == 1) {
            blocks.input.let_go(unit..unit + 1);
        }
        if let Some(block) = self.columns.execute(block)? {
            out.push(block);
        }
        Ok(())
    }
}
