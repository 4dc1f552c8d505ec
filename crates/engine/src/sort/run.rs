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
}

/// The first eight bytes of a key, as a number of the same order.
fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

impl Run {
    /// Adds a block and its keys.
    pub(crate) fn push(&mut self, block: Block, keys: KeyRows) {
        let number = self.blocks.len() as u32;
        let entry = |row: usize| Entry { prefix: prefix(keys.key(row)), block: number, row: row as u32 };
        self.entries.extend((0..block.rows()).map(entry));
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
        entry.prefix.cmp(&other_entry.prefix).then_with(|| self.key(entry).cmp(other.key(other_entry)))
    }

    /// Puts the entries in order; rows with equal keys keep the order in which they came.
    pub(crate) fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|left, right| {
            self.compare(left, self, right).then_with(|| (left.block, left.row).cmp(&(right.block, right.row)))
        });
        self.entries = entries;
    }

    /// Keeps the first `rows` rows of a sorted run, and copies them together so that the rest is freed.
    pub(crate) fn truncate(&mut self, rows: usize, schema: &Arc<Schema>) -> Result<()> {
        self.entries.truncate(rows);
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
