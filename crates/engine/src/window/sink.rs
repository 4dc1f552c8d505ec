//! The sink of a window: the input is collected in its order, block by block, and goes to disk where it does not fit into memory.

use std::sync::Arc;

use parking_lot::Mutex;
use squall_planner::{SortKey, Window};
use squall_runtime::Pieces;
use squall_types::{Block, Error, Result};

use super::input::{Collected, Data, Input, Starts};
use super::{BLOCK_ROWS, UNIT_ROWS, begins_anywhere, partition_keys};
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::query_context::QueryContext;
use crate::sort::row_keys::{Key, RowKeys};
use crate::spill::{SpillFile, SpillKind, SpillWriter, Threshold};
use crate::works::Works;

/// Bytes of a block at most, about.
const BLOCK_BYTES: usize = 512 << 10;

/// Collects the input in its order.
pub(crate) struct WindowSink {
    collecting: Arc<Collecting>,
}

/// What all workers collect, and how it gets onto the disk.
pub(crate) struct Collecting {
    partition_by: Vec<SortKey>,
    begins_anywhere: bool,
    context: Arc<QueryContext>,
    threshold: Threshold,
    /// Blocks that are being written.
    works: Arc<Works>,
    file: Mutex<Option<Arc<SpillFile>>>,
    collected: Mutex<Vec<Collected>>,
}

impl Collecting {
    /// What does not fit is written by `works`.
    pub(crate) fn new(window: &Window, works: Arc<Works>, context: Arc<QueryContext>) -> Arc<Self> {
        Self::cut(partition_keys(window), begins_anywhere(window), works, context)
    }

    /// Rows that are one unit.
    pub(crate) fn whole(works: Arc<Works>, context: Arc<QueryContext>) -> Arc<Self> {
        Self::cut(Vec::new(), false, works, context)
    }

    fn cut(
        partition_by: Vec<SortKey>,
        begins_anywhere: bool,
        works: Arc<Works>,
        context: Arc<QueryContext>,
    ) -> Arc<Self> {
        let settings = &context.settings;
        let threshold = Threshold::new(
            context.clone(),
            settings.max_bytes_before_external_sort,
            settings.max_bytes_ratio_before_external_sort,
        );
        Arc::new(Self {
            partition_by,
            begins_anywhere,
            context,
            threshold,
            works,
            file: Mutex::default(),
            collected: Mutex::default(),
        })
    }

    /// All rows, once they have come.
    pub(crate) fn input(&self) -> Input {
        let collected = std::mem::take(&mut *self.collected.lock());
        Input::new(collected, self.file.lock().clone(), UNIT_ROWS, self.begins_anywhere)
    }

    /// Bytes of blocks that a unit may keep beside those that it is at.
    pub(super) fn bytes_of_unit(&self) -> usize {
        const SHARES: u64 = 16;
        const BYTES_MAX: usize = 64 << 20;
        self.threshold.part(SHARES, BYTES_MAX)
    }

    pub(super) fn workers(&self) -> usize {
        self.context.peak_threads().max(1)
    }

    fn file(&self) -> Result<Arc<SpillFile>> {
        let mut file = self.file.lock();
        match &*file {
            Some(file) => Ok(file.clone()),
            None => Ok(file.insert(SpillFile::new(self.context.clone(), SpillKind::Sort)?).clone()),
        }
    }

    /// Has blocks written.
    fn spill(self: &Arc<Self>, blocks: Vec<Collected>) -> Result<()> {
        let (file, this) = (self.file()?, self.clone());
        self.works.add(Box::pin(async move {
            let written = write(blocks, file).await?;
            this.collected.lock().extend(written);
            Ok(())
        }));
        Ok(())
    }
}

async fn write(blocks: Vec<Collected>, file: Arc<SpillFile>) -> Result<Vec<Collected>> {
    let mut pieces = Pieces::begin();
    let mut writer = SpillWriter::new(file)?;
    let mut written = Vec::with_capacity(blocks.len());
    for Collected { data, starts, sequence, number, rows, first, last } in blocks {
        let Data::Memory(block) = data else { return Err(Error::logical("rows are written twice")) };
        writer.put(&block).await?;
        // Where each row is a partition, all of their beginnings would be as much as the rows.
        let starts = starts.map(|starts| Starts { all: None, ..starts });
        written.push((sequence, number, rows, starts, first, last));
        drop(block);
        pieces.pause().await;
    }
    let frames = writer.finish().await?;
    let written = written.into_iter().zip(frames).map(|((sequence, number, rows, starts, first, last), frame)| {
        Collected { sequence, number, rows, data: Data::Disk(frame), starts, first, last }
    });
    Ok(written.collect())
}

impl WindowSink {
    pub(crate) fn new(collecting: Arc<Collecting>) -> Self {
        Self { collecting }
    }
}

impl Sink for WindowSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(WindowLocal { collecting: self.collecting.clone(), blocks: Vec::new(), bytes: 0, pushed: 0 }))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let locals = locals.into_iter().map(downcast_local::<WindowLocal>).collect::<Result<Vec<_>>>()?;
        self.collecting.collected.lock().extend(locals.into_iter().flat_map(|local| local.blocks));
        self.collecting.works.end();
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.collecting.threshold.is_full(&self.collecting.works)
    }

    fn block_rows_max(&self) -> Option<usize> {
        Some(BLOCK_ROWS)
    }

    fn name(&self) -> &'static str {
        "WindowTransform"
    }
}

struct WindowLocal {
    collecting: Arc<Collecting>,
    blocks: Vec<Collected>,
    bytes: usize,
    /// Blocks that have come, those on disk too.
    pushed: u64,
}

impl LocalSink for WindowLocal {
    fn consume(&mut self, sequence: Sequence, block: Block) -> Result<()> {
        let bytes = block.value_bytes();
        let rows_max = (BLOCK_BYTES * block.rows()).checked_div(bytes).unwrap_or(BLOCK_ROWS).max(1);
        let mut offset = 0;
        while offset < block.rows() {
            let rows = rows_max.min(block.rows() - offset);
            self.push(sequence, block.slice(offset, rows))?;
            offset += rows;
        }
        self.bytes += bytes;
        /// The sort below may hold much of what the query may: then little of this step's own is worth being written.
        const SHARES: usize = 4;
        if self.collecting.threshold.is_passed(|| SHARES * self.bytes) {
            self.bytes = 0;
            self.collecting.spill(std::mem::take(&mut self.blocks))?;
        }
        Ok(())
    }
}

impl WindowLocal {
    fn push(&mut self, sequence: Sequence, block: Block) -> Result<()> {
        self.blocks.push(collect(&self.collecting.partition_by, sequence, self.pushed, block)?);
        self.pushed += 1;
        Ok(())
    }
}

/// A block, and where partitions begin in it.
pub(super) fn collect(partition_by: &[SortKey], sequence: Sequence, number: u64, block: Block) -> Result<Collected> {
    let rows = block.rows();
    let (mut starts, mut first, mut last) = (None, Key::default(), Key::default());
    if !partition_by.is_empty() && rows > 0 {
        let keys = RowKeys::of(partition_by, &block)?;
        starts = Starts::of(keys.changes(rows));
        (first, last) = (keys.key(0), keys.key(rows - 1));
    }
    Ok(Collected { sequence, number, rows, data: Data::Memory(block), starts, first, last })
}
