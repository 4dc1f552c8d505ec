//! Lets a range of rows through, by position in the stream.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_planner::SortKey;
use squall_types::{Block, Result};

use super::Operator;
use crate::sort::keys::{KeyRows, encode_keys};

/// Rows `offset..offset + limit` of the stream, and with ties those that follow and equal the last.
pub struct Limit {
    offset: u64,
    /// The end of the range, exclusive.
    end: u64,
    /// Rows that have come so far.
    seen: AtomicU64,
    /// Whether rows must come in order for the result to be right.
    needs_order: bool,
    /// Whether all rows are to come, though no more of them pass.
    reads_on: bool,
    ties: Option<Ties>,
}

struct Ties {
    keys: Vec<SortKey>,
    /// The encoded key of the last row within the limit, once it has passed.
    last: Mutex<TieState>,
}

#[derive(Default)]
struct TieState {
    key: Option<Vec<u8>>,
    is_over: bool,
}

impl Limit {
    /// A limit; `needs_order` where the order of the stream below decides which rows pass.
    pub fn new(offset: u64, limit: Option<u64>, ties: Option<Vec<SortKey>>, needs_order: bool) -> Self {
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        let ties = ties.map(|keys| Ties { keys, last: Mutex::default() });
        Self { offset, end, seen: AtomicU64::new(0), needs_order: needs_order || ties.is_some(), reads_on: false, ties }
    }

    /// The same limit where, if so asked, the rows after its last one are read, too: somebody counts them.
    #[must_use]
    pub fn reading_on(self, reads_on: bool) -> Self {
        Self { reads_on, ..self }
    }
}

impl Operator for Limit {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let rows = block.rows() as u64;
        let begin = self.seen.fetch_add(rows, Ordering::SeqCst);
        let first = self.offset.clamp(begin, begin + rows) - begin;
        let mut last = self.end.clamp(begin, begin + rows) - begin;
        if let Some(ties) = &self.ties {
            last = ties.extend(&block, last, begin + rows >= self.end)?;
        }
        Ok((first < last).then(|| block.slice(first as usize, (last - first) as usize)))
    }

    fn is_done(&self) -> bool {
        !self.reads_on
            && self.seen.load(Ordering::SeqCst) >= self.end
            && self.ties.as_ref().is_none_or(|ties| ties.last.lock().is_over)
    }

    fn needs_order(&self) -> bool {
        self.needs_order
    }

    fn name(&self) -> &'static str {
        "Limit"
    }
}

impl Ties {
    /// The end of the rows to let through when the first `end` are within the limit and the rest equal the last one or not.
    fn extend(&self, block: &Block, end: u64, is_limit_reached: bool) -> Result<u64> {
        let mut state = self.last.lock();
        if !is_limit_reached || state.is_over {
            return Ok(end);
        }
        let KeyRows { bytes, offsets } = encode_keys(&self.keys, block)?;
        let key = |row: usize| &bytes[offsets[row]..offsets[row + 1]];
        if state.key.is_none() {
            match end.checked_sub(1) {
                Some(last) => state.key = Some(key(last as usize).to_vec()),
                // LIMIT 0 has no last row to equal.
                None => {
                    state.is_over = true;
                    return Ok(end);
                }
            }
        }
        let mut end = end as usize;
        while end < block.rows() && state.key.as_deref() == Some(key(end)) {
            end += 1;
        }
        state.is_over = end < block.rows();
        Ok(end as u64)
    }
}
