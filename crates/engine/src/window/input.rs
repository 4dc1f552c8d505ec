//! The rows of a window in their order: blocks in memory or on disk, and where partitions begin in them. Units of work take blocks by
//! their numbers, as often as they like, until they let go of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use squall_planner::SortKey;
use squall_types::{Block, Error, Result, Schema};

use crate::pipeline::Sequence;
use crate::sort::row_keys::{Key, RowKeys};
use crate::spill::{Frame, SpillFile, decode_frame};

/// A block of the input as it was collected.
pub(super) struct Collected {
    pub(super) sequence: Sequence,
    /// The block's number among those of its worker.
    pub(super) number: u64,
    pub(super) rows: usize,
    pub(super) data: Data,
    /// Rows, but for the first, that differ from the row before in the partition's keys.
    pub(super) starts: Option<Starts>,
    /// The partition's keys in the first and in the last row.
    pub(super) first: Key,
    pub(super) last: Key,
}

/// Where a block's rows are.
pub(super) enum Data {
    Memory(Block),
    Disk(Frame),
}

/// Rows of a block in which partitions begin: one at least.
#[derive(Clone)]
pub(super) struct Starts {
    pub(super) first: u32,
    pub(super) last: u32,
    /// All of them; `None` where there are too many to keep.
    pub(super) all: Option<Arc<[u32]>>,
}

impl Starts {
    pub(super) fn of(all: Vec<u32>) -> Option<Self> {
        let (first, last) = (*all.first()?, *all.last()?);
        Some(Self { first, last, all: Some(all.into()) })
    }

    /// One more, in the first row.
    fn with_first(starts: Option<Self>) -> Self {
        match starts {
            None => Self { first: 0, last: 0, all: Some([0].into()) },
            Some(starts) => {
                let all = starts.all.map(|all| std::iter::once(0).chain(all.iter().copied()).collect());
                Self { first: 0, last: starts.last, all }
            }
        }
    }
}

/// The rows whose keys differ from those of the row before.
pub(super) fn starts_within(keys: &[SortKey], block: &Block) -> Result<Vec<u32>> {
    Ok(RowKeys::of(keys, block)?.changes(block.rows()))
}

/// All rows.
pub(crate) struct Input {
    blocks: Vec<Stored>,
    /// The first row of each block, and the end of all.
    firsts: Vec<u64>,
    file: Option<Arc<SpillFile>>,
    /// What one unit of work computes.
    units: Vec<Range<u64>>,
    begins_anywhere: bool,
}

struct Stored {
    data: Mutex<Option<Data>>,
    starts: Option<Starts>,
    /// Where the partition of its first row begins.
    partition_begin: u64,
    /// The first beginning of a partition in it or in a later block; the end of all rows where there is none.
    next_start: u64,
    /// Units that have not let go of it.
    users: AtomicUsize,
}

impl Input {
    /// Blocks in any order; units of so many rows at least, which begin with partitions or with any block.
    pub(super) fn new(
        mut collected: Vec<Collected>,
        file: Option<Arc<SpillFile>>,
        unit_rows: u64,
        begins_anywhere: bool,
    ) -> Self {
        // Blocks of one morsel are one worker's, in the order in which they came.
        collected.sort_unstable_by_key(|block| (block.sequence, block.number));
        let (mut firsts, mut rows) = (Vec::with_capacity(collected.len() + 1), 0);
        let mut before: Option<Key> = None;
        let mut last_start = 0;
        let blocks = collected.into_iter().map(|block| {
            let first = rows;
            firsts.push(first);
            rows += block.rows as u64;
            let begins = before.replace(block.last).is_none_or(|before| before != block.first);
            let starts = if begins { Some(Starts::with_first(block.starts)) } else { block.starts };
            let partition_begin = if begins { first } else { last_start };
            last_start = starts.as_ref().map_or(last_start, |starts| first + u64::from(starts.last));
            let data = Mutex::new(Some(block.data));
            Stored { data, starts, partition_begin, next_start: 0, users: AtomicUsize::new(0) }
        });
        let mut blocks: Vec<Stored> = blocks.collect();
        firsts.push(rows);
        let mut next_start = rows;
        for (block, first) in blocks.iter_mut().zip(&firsts[..]).rev() {
            next_start = block.starts.as_ref().map_or(next_start, |starts| first + u64::from(starts.first));
            block.next_start = next_start;
        }
        let mut input = Self { blocks, firsts, file, units: Vec::new(), begins_anywhere };
        input.cut(unit_rows);
        input
    }

    fn cut(&mut self, unit_rows: u64) {
        let mut begin = 0;
        for (number, block) in self.blocks.iter().enumerate() {
            let within = if self.begins_anywhere { Some(0) } else { block.starts.as_ref().map(|starts| starts.first) };
            let Some(cut) = within.map(|row| self.firsts[number] + u64::from(row)) else { continue };
            if cut - begin >= unit_rows {
                self.units.push(begin..cut);
                begin = cut;
            }
        }
        if begin < self.rows() {
            self.units.push(begin..self.rows());
        }
        // Of a large partition each of many units may need every block.
        let mut changes = vec![(0, 0); self.blocks.len() + 1];
        for unit in &self.units {
            let needs = self.needs(unit);
            changes[needs.start].0 += 1;
            changes[needs.end].1 += 1;
        }
        let mut users = 0;
        for (block, (more, fewer)) in self.blocks.iter_mut().zip(changes) {
            users = users + more - fewer;
            *block.users.get_mut() = users;
        }
    }

    /// The number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn units(&self) -> &[Range<u64>] {
        &self.units
    }

    pub(super) fn begins_anywhere(&self) -> bool {
        self.begins_anywhere
    }

    /// Whether some of it is on disk.
    pub(super) fn is_spilled(&self) -> bool {
        self.file.is_some()
    }

    pub(super) fn rows(&self) -> u64 {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// The block of a row.
    pub(super) fn block_of(&self, row: u64) -> usize {
        self.firsts.partition_point(|first| *first <= row).saturating_sub(1)
    }

    pub(super) fn rows_of(&self, number: usize) -> Range<u64> {
        self.firsts[number]..self.firsts[number + 1]
    }

    /// The blocks that a unit may ask for.
    pub(super) fn needs(&self, unit: &Range<u64>) -> Range<usize> {
        // Where it begins within a partition, functions may look back to that one's beginning, and forward to another's end.
        let begin = if self.begins_anywhere { self.partition_begin(unit.start) } else { unit.start };
        let last = self.block_of(unit.end - 1);
        let end = if self.begins_anywhere { self.next_start(last + 1) } else { unit.end };
        self.block_of(begin)..self.block_of(end - 1) + 1
    }

    /// Where the partition of a unit's first row begins.
    pub(super) fn partition_begin(&self, row: u64) -> u64 {
        let number = self.block_of(row);
        let offset = (row - self.firsts[number]) as u32;
        let own = self.blocks[number].starts.as_ref().filter(|starts| starts.first <= offset);
        if let Some(starts) = own {
            // A unit begins with a block or with the first partition in it.
            return self.firsts[number] + u64::from(if starts.last <= offset { starts.last } else { starts.first });
        }
        self.blocks[number].partition_begin
    }

    /// The first partition's beginning in this block or a later one; the end of all rows where there is none.
    pub(super) fn next_start(&self, number: usize) -> u64 {
        self.blocks.get(number).map_or(self.rows(), |block| block.next_start)
    }

    /// A block, read from disk where it is there.
    pub(crate) async fn load(&self, number: usize, schema: &Arc<Schema>) -> Result<Block> {
        let frame = match &*self.blocks[number].data.lock() {
            Some(Data::Memory(block)) => return Ok(block.clone()),
            Some(Data::Disk(frame)) => *frame,
            None => return Err(Error::logical("rows of a window are wanted again")),
        };
        let file = self.file.as_ref().ok_or_else(|| Error::logical("rows of a window without their file"))?;
        let buffers = file.read(&[frame])?.await?;
        decode_frame(buffers.first().map_or(&[], |buffer| buffer), schema)
    }

    /// The rows of a block in which partitions begin.
    pub(super) fn starts(&self, number: usize, block: &Block, partition_by: &[SortKey]) -> Result<Arc<[u32]>> {
        let Some(starts) = &self.blocks[number].starts else { return Ok([].into()) };
        if let Some(all) = &starts.all {
            return Ok(all.clone());
        }
        if starts.first == starts.last {
            return Ok([starts.first].into());
        }
        let within = starts_within(partition_by, block)?;
        let first = (starts.first == 0).then_some(0);
        Ok(first.into_iter().chain(within).collect())
    }

    /// A unit needs these blocks no more.
    pub(crate) fn let_go(&self, numbers: Range<usize>) {
        for block in &self.blocks[numbers] {
            if block.users.fetch_sub(1, Ordering::AcqRel) == 1 {
                *block.data.lock() = None;
            }
        }
    }
}
