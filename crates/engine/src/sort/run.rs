//! A run: blocks and the order of their rows by encoded keys.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::Array;
use squall_types::{Block, Column, Result, Schema};

use super::keys::KeyRows;

/// A row of a run: where it is, and the first bytes of its key, by which most comparisons are decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    prefix: u64,
    pub(crate) block: u32,
    pub(crate) row: u32,
}

/// Blocks with their keys and the order of all rows.
#[derive(Default)]
pub(crate) struct Run {
    blocks: Vec<Block>,
    keys: Vec<KeyRows>,
    pub(crate) entries: Vec<Entry>,
    /// Some key is longer than an entry's prefix. No key is the beginning of another, so otherwise prefixes decide alone.
    has_long_keys: bool,
}

/// Bytes of a key that an entry holds.
const PREFIX_BYTES: usize = 8;

/// The first eight bytes of a key, as a number of the same order.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; PREFIX_BYTES];
    let length = key.len().min(PREFIX_BYTES);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

impl Run {
    /// Adds a block and its keys.
    pub(crate) fn push(&mut self, block: Block, keys: KeyRows) {
        let number = self.blocks.len() as u32;
        let mut longest = 0;
        let entry = |row: usize| {
            let key = keys.key(row);
            longest = longest.max(key.len());
            Entry { prefix: prefix(key), block: number, row: row as u32 }
        };
        self.entries.extend((0..block.rows()).map(entry));
        self.has_long_keys |= longest > PREFIX_BYTES;
        self.blocks.push(block);
        self.keys.push(keys);
    }

    pub(crate) fn rows(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn key(&self, entry: &Entry) -> &[u8] {
        self.keys[entry.block as usize].key(entry.row as usize)
    }

    /// The order of two rows of two runs.
    pub(crate) fn compare(&self, entry: &Entry, other: &Self, other_entry: &Entry) -> Ordering {
        let by_prefix = entry.prefix.cmp(&other_entry.prefix);
        match by_prefix {
            Ordering::Equal if self.has_long_keys || other.has_long_keys => self.key(entry).cmp(other.key(other_entry)),
            _ => by_prefix,
        }
    }

    /// Puts the entries in order, and with a limit drops those behind the first `limit`; rows with equal keys keep the order in
    /// which they came.
    pub(crate) fn sort(&mut self, limit: Option<usize>) {
        let mut entries = std::mem::take(&mut self.entries);
        let order = |left: &Entry, right: &Entry| {
            self.compare(left, self, right).then_with(|| (left.block, left.row).cmp(&(right.block, right.row)))
        };
        // Finding the first few is linear; only they are then sorted.
        if let Some(limit) = limit.filter(|limit| *limit < entries.len()) {
            if limit > 0 {
                entries.select_nth_unstable_by(limit - 1, order);
            }
            entries.truncate(limit);
        }
        entries.sort_unstable_by(order);
        self.entries = entries;
    }

    /// Copies the rows of a sorted run together, so that those that were dropped are freed.
    pub(crate) fn compact(&mut self, schema: &Arc<Schema>) -> Result<()> {
        let this = &*self;
        let block = gather(schema, &this.entries.iter().map(|entry| (this, *entry)).collect::<Vec<_>>())?;
        let mut keys = KeyRows { bytes: Vec::new(), offsets: vec![0] };
        for entry in &self.entries {
            keys.bytes.extend_from_slice(self.key(entry));
            keys.offsets.push(keys.bytes.len());
        }
        let entries = self.entries.iter().enumerate();
        self.entries = entries.map(|(row, entry)| Entry { block: 0, row: row as u32, ..*entry }).collect();
        self.blocks = vec![block];
        self.keys = vec![keys];
        Ok(())
    }
}

/// The rows of these entries, in their order, as one block.
pub(crate) fn gather(schema: &Arc<Schema>, entries: &[(&Run, Entry)]) -> Result<Block> {
    // Blocks of all runs under one numbering, as Arrow's interleave wants them.
    let mut runs: Vec<(*const Run, usize)> = Vec::new();
    let mut blocks: Vec<&Block> = Vec::new();
    let mut positions = Vec::with_capacity(entries.len());
    for (run, entry) in entries {
        let at: *const Run = *run;
        let first = match runs.iter().find(|(known, _)| std::ptr::eq(*known, at)) {
            Some((_, first)) => *first,
            None => {
                runs.push((at, blocks.len()));
                blocks.extend(&run.blocks);
                blocks.len() - run.blocks.len()
            }
        };
        positions.push((first + entry.block as usize, entry.row as usize));
    }
    let columns = (0..schema.len()).map(|at| {
        let data_type = schema.fields[at].1.clone();
        if positions.is_empty() {
            return Ok(Column::empty(data_type));
        }
        let arrays = blocks.iter().map(|block| block.column(at).to_array()).collect::<Result<Vec<_>>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
        Ok(Column::new(data_type, arrow_select::interleave::interleave(&arrays, &positions)?))
    });
    Ok(Block::new(schema.clone(), columns.collect::<Result<_>>()?, entries.len()))
}
