//! Lets a range of rows through of each group of equal keys.

use std::collections::HashMap;

use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_planner::{Expression, SortKey};
use squall_types::{Block, Result};

use super::Operator;
use crate::sort::keys::encode_keys;

/// Rows `offset..offset + limit` of each group.
pub struct LimitBy {
    offset: u64,
    end: u64,
    keys: Vec<SortKey>,
    /// Rows that have come of each group, by encoded key.
    seen: Mutex<HashMap<Vec<u8>, u64>>,
}

impl LimitBy {
    /// A limit by the values of `keys`.
    pub fn new(offset: u64, limit: u64, keys: &[Expression]) -> Self {
        let keys = keys
            .iter()
            .map(|expression| SortKey { expression: expression.clone(), descending: false, nulls_first: false })
            .collect();
        Self { offset, end: offset.saturating_add(limit), keys, seen: Mutex::default() }
    }
}

impl Operator for LimitBy {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let rows = encode_keys(&self.keys, &block)?;
        let mut seen = self.seen.lock();
        let positions: Vec<u32> = (0..block.rows())
            .filter(|row| {
                let key = rows.key(*row);
                let count = match seen.get_mut(key) {
                    Some(count) => count,
                    None => seen.entry(key.to_vec()).or_insert(0),
                };
                *count += 1;
                (self.offset..self.end).contains(&(*count - 1))
            })
            .map(|row| row as u32)
            .collect();
        drop(seen);
        match positions.len() {
            0 => Ok(None),
            all if all == block.rows() => Ok(Some(block)),
            _ => block.take(&UInt32Array::from(positions)).map(Some),
        }
    }

    fn needs_order(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "LimitByTransform"
    }
}
