//! Runtime filters: rows of a probe side that will find no partner are left out long before they get to their join, by the keys that
//! its build side holds. A filter that lets most rows through is left untested for some blocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::BooleanArray;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use squall_planner::Expression;
use squall_storage::key_index::KeyIndex;
use squall_types::{Block, Result};

use super::build::JoinTable;
use super::matching::Matching;
use crate::operator::{Operator, passed};

/// One filter: which rows have keys that the build side of a join has.
pub(crate) struct KeyFilter {
    matching: Arc<Matching>,
    table: Arc<JoinTable>,
    /// Over the filters' input.
    keys: Vec<Expression>,
    /// Blocks that are still to go through untested.
    untested: AtomicU64,
}

impl KeyFilter {
    pub(crate) fn new(matching: Arc<Matching>, table: Arc<JoinTable>, keys: Vec<Expression>) -> Self {
        Self { matching, table, keys, untested: AtomicU64::new(0) }
    }

    /// The keys that are asked for, unless this block goes through untested.
    fn index(&self) -> Option<&KeyIndex> {
        let is_let_through = || {
            self.untested.load(Ordering::Relaxed) > 0
                && self.untested.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
        };
        // What went to disk holds no keys.
        self.table.index().filter(|_| !is_let_through())
    }

    /// The rows of a block that pass. Only the columns of the keys are read.
    fn test(&self, index: &KeyIndex, block: &Block) -> Result<BooleanBuffer> {
        let columns = self.matching.key_columns(&self.keys, block)?;
        let bits = match index.contains_numbers(&columns)? {
            Some(bits) => bits,
            None => index.contains(&self.matching.keys_of(&columns, block.rows())?)?,
        };
        let settings = &self.matching.context.settings;
        let most = block.rows() as f64 * settings.join_runtime_filter_pass_ratio_threshold_for_disabling;
        if bits.count_set_bits() as f64 > most {
            self.untested.store(settings.join_runtime_filter_blocks_to_skip_before_reenabling, Ordering::Relaxed);
        }
        Ok(bits)
    }

    /// By position: whether the keys read the column.
    fn reads(&self, columns: usize) -> Vec<bool> {
        let mut reads = vec![false; columns];
        let mut note = |position: usize| {
            if let Some(reads) = reads.get_mut(position) {
                *reads = true;
            }
        };
        self.keys.iter().for_each(|key| key.visit_columns(&mut note));
        reads
    }
}

/// Lets those rows through that pass all of some filters. Each tests what those before it left, and the rows are copied once.
pub(crate) struct KeyFilters {
    filters: Vec<KeyFilter>,
    /// By position: whether a later step reads the column.
    is_needed: Vec<bool>,
}

impl KeyFilters {
    pub(crate) fn new(filters: Vec<KeyFilter>, is_needed: Vec<bool>) -> Self {
        Self { filters, is_needed }
    }
}

impl Operator for KeyFilters {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        // The rows that are left, and how many.
        let mut left: Option<(BooleanArray, usize)> = None;
        for filter in &self.filters {
            let Some(index) = filter.index() else { continue };
            let (bits, tested) = match &left {
                None => (filter.test(index, &block)?, block.rows()),
                Some((mask, rows)) => {
                    let some = passed(&block, mask, *rows, &filter.reads(block.columns().len()))?;
                    (filter.test(index, &some)?, *rows)
                }
            };
            let rows = bits.count_set_bits();
            if rows == 0 {
                return Ok(None);
            }
            if rows < tested {
                let bits = match &left {
                    None => bits,
                    Some((mask, _)) => of_left(mask.values(), &bits),
                };
                left = Some((BooleanArray::new(bits, None), rows));
            }
        }
        match left {
            None => Ok(Some(block)),
            Some((mask, rows)) => passed(&block, &mask, rows, &self.is_needed).map(Some),
        }
    }

    fn name(&self) -> &'static str {
        "RuntimeFilter"
    }
}

/// The rows of a mask for which a bit is set; there is one for each row of it.
fn of_left(mask: &BooleanBuffer, bits: &BooleanBuffer) -> BooleanBuffer {
    let mut rows = BooleanBufferBuilder::new(mask.len());
    rows.append_n(mask.len(), false);
    for (row, is_left) in mask.set_indices().zip(bits) {
        if is_left {
            rows.set_bit(row, true);
        }
    }
    rows.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_of_a_mask_is_of_all_rows() {
        let mask = BooleanBuffer::from(vec![false, true, true, false, true, true]);
        let bits = BooleanBuffer::from(vec![true, false, false, true]);
        assert_eq!(of_left(&mask, &bits), BooleanBuffer::from(vec![false, true, false, false, false, true]));
    }
}
