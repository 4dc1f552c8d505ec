//! What a unit reads: blocks of the input with what is computed from them, kept while they are used.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use squall_planner::{SortKey, Window, evaluate};
use squall_types::{Block, Column, Result};

use super::frame::{RangeKey, key_column};
use super::input::Input;

/// A block that is in memory.
pub(super) struct Loaded {
    pub(super) number: usize,
    /// Its first row.
    pub(super) first: u64,
    pub(super) block: Block,
    /// The rows of the block in which partitions begin.
    pub(super) starts: Arc<[u32]>,
    /// The arguments of each call.
    arguments: Vec<OnceLock<Vec<Column>>>,
    keys: OnceLock<Vec<RangeKey>>,
}

impl Loaded {
    pub(super) fn end(&self) -> u64 {
        self.first + self.block.rows() as u64
    }

    pub(super) fn contains(&self, row: u64) -> bool {
        (self.first..self.end()).contains(&row)
    }

    /// The arguments of a call, with a value for each row.
    pub(super) fn arguments(&self, call: usize, window: &Window) -> Result<&[Column]> {
        let known = &self.arguments[call];
        if let Some(arguments) = known.get() {
            return Ok(arguments);
        }
        let expressions = window.calls[call].arguments.iter();
        let arguments = expressions.map(|argument| evaluate(argument, &self.block)).collect::<Result<_>>()?;
        Ok(known.get_or_init(|| arguments))
    }

    /// The values of the window's only key, for a frame by values.
    pub(super) fn keys(&self, key: &SortKey) -> Result<&[RangeKey]> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let column = key_column(&evaluate(&key.expression, &self.block)?)?;
        Ok(self.keys.get_or_init(|| RangeKey::of_column(&column, key.descending)))
    }
}

/// The blocks that a unit has read.
pub(super) struct Reader<'a> {
    pub(super) window: &'a Window,
    pub(super) input: &'a Input,
    partition_by: Vec<SortKey>,
    /// By number, with when it was used last.
    recent: BTreeMap<usize, (u64, Arc<Loaded>)>,
    uses: u64,
    bytes: usize,
    /// More than this is not kept beyond a few blocks.
    bytes_max: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(window: &'a Window, input: &'a Input, bytes_max: usize) -> Self {
        let partition_by = super::partition_keys(window);
        Self { window, input, partition_by, recent: BTreeMap::new(), uses: 0, bytes: 0, bytes_max }
    }

    /// The block of a row.
    pub(super) async fn block_of(&mut self, row: u64) -> Result<Arc<Loaded>> {
        self.block(self.input.block_of(row)).await
    }

    /// A block by its number.
    pub(super) async fn block(&mut self, number: usize) -> Result<Arc<Loaded>> {
        self.uses += 1;
        if let Some((used, loaded)) = self.recent.get_mut(&number) {
            *used = self.uses;
            return Ok(loaded.clone());
        }
        let block = self.input.load(number, self.window.input.schema()).await?;
        let starts = self.input.starts(number, &block, &self.partition_by)?;
        let arguments = self.window.calls.iter().map(|_| OnceLock::new()).collect();
        let first = self.input.rows_of(number).start;
        self.make_room(block.value_bytes());
        let loaded = Arc::new(Loaded { number, first, block, starts, arguments, keys: OnceLock::new() });
        self.recent.insert(number, (self.uses, loaded.clone()));
        Ok(loaded)
    }

    /// Forgets the blocks that were not used for the longest time.
    fn make_room(&mut self, bytes: usize) {
        /// So many blocks are kept whatever they hold.
        const FEW: usize = 3;
        self.bytes += bytes;
        while self.recent.len() > FEW && self.bytes > self.bytes_max {
            let oldest = self.recent.iter().min_by_key(|(_, (used, _))| *used).map(|(number, _)| *number);
            let Some((_, loaded)) = oldest.and_then(|number| self.recent.remove(&number)) else { return };
            self.bytes -= loaded.block.value_bytes().min(self.bytes);
        }
    }

    /// Forgets the blocks before this one.
    pub(super) fn forget_before(&mut self, number: usize) {
        while let Some(first) = self.recent.first_entry().filter(|first| *first.key() < number) {
            let (_, loaded) = first.remove();
            self.bytes -= loaded.block.value_bytes().min(self.bytes);
        }
    }
}
