//! Lets each distinct row through once, as it comes: for DISTINCT below a LIMIT, which may end the reading early. DISTINCT of a
//! whole input is an aggregation without aggregates, unless its rows are limited.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_planner::{Expression, SortKey};
use squall_types::{Block, ErrorCode, Result, Schema, Settings};

use super::Operator;
use crate::size_limit::SizeLimit;
use crate::sort::keys::encode_keys;

/// The first of each distinct row.
pub struct Distinct {
    keys: Vec<SortKey>,
    seen: Mutex<HashSet<Vec<u8>>>,
    size: SizeLimit,
}

impl Distinct {
    /// Whether settings limit how many distinct rows there may be.
    pub fn is_limited(settings: &Settings) -> bool {
        settings.max_rows_in_distinct > 0 || settings.max_bytes_in_distinct > 0
    }

    /// Distinct rows of a schema.
    pub fn new(schema: &Arc<Schema>, settings: &Settings) -> Self {
        let keys = schema
            .types()
            .enumerate()
            .map(|(position, data_type)| SortKey {
                expression: Expression::Column { position, data_type: data_type.clone() },
                descending: false,
                nulls_first: false,
            })
            .collect();
        let size = SizeLimit::new(
            "DISTINCT",
            ErrorCode::SET_SIZE_LIMIT_EXCEEDED,
            settings.max_rows_in_distinct,
            settings.max_bytes_in_distinct,
            &settings.distinct_overflow_mode,
        );
        Self { keys, seen: Mutex::default(), size }
    }
}

impl Operator for Distinct {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let rows = encode_keys(&self.keys, &block)?;
        let mut seen = self.seen.lock();
        // Under the lock, so that rows that come while the limit is passed are no more than those of one block.
        if self.size.is_full() {
            return Ok(None);
        }
        let mut bytes = 0;
        let positions: Vec<u32> = (0..block.rows())
            .filter(|row| {
                let key = rows.key(*row);
                let is_new = !seen.contains(key) && seen.insert(key.to_vec());
                bytes += if is_new { (key.len() + size_of::<Vec<u8>>()) as u64 } else { 0 };
                is_new
            })
            .map(|row| row as u32)
            .collect();
        self.size.count(positions.len() as u64, bytes)?;
        drop(seen);
        if positions.is_empty() { Ok(None) } else { block.take(&UInt32Array::from(positions)).map(Some) }
    }

    fn is_done(&self) -> bool {
        self.size.is_full()
    }

    fn name(&self) -> &'static str {
        "DistinctTransform"
    }
}
