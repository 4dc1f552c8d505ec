//! Lets each distinct row through once, as it comes: for DISTINCT below a LIMIT, which may end the reading early. DISTINCT of a
//! whole input is an aggregation without aggregates.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_planner::{Expression, SortKey};
use squall_types::{Block, Result, Schema};

use super::Operator;
use crate::sort::keys::encode_keys;

/// The first of each distinct row.
pub struct Distinct {
    keys: Vec<SortKey>,
    seen: Mutex<HashSet<Vec<u8>>>,
}

impl Distinct {
    /// Distinct rows of a schema.
    pub fn new(schema: &Arc<Schema>) -> Self {
        let keys = schema
            .types()
            .enumerate()
            .map(|(position, data_type)| SortKey {
                expression: Expression::Column { position, data_type: data_type.clone() },
                descending: false,
                nulls_first: false,
            })
            .collect();
        Self { keys, seen: Mutex::default() }
    }
}

impl Operator for Distinct {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let rows = encode_keys(&self.keys, &block)?;
        let mut seen = self.seen.lock();
        let positions: Vec<u32> = (0..block.rows())
            .filter(|row| {
                let key = rows.key(*row);
                !seen.contains(key) && seen.insert(key.to_vec())
            })
            .map(|row| row as u32)
            .collect();
        drop(seen);
        if positions.is_empty() { Ok(None) } else { block.take(&UInt32Array::from(positions)).map(Some) }
    }

    fn name(&self) -> &'static str {
        "DistinctTransform"
    }
}
