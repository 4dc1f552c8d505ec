//! Leaves out rows that come late in their group, long before they are sorted: the best rows of each group so far tell which cannot be among
//! the first any more. Where groups are many, or most rows are let through, it stops looking.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::UInt32Array;
use parking_lot::{Mutex, RwLock};
use squall_planner::{GroupLimit, SortKey};
use squall_types::{Block, Result};

use super::Operator;
use crate::sort::keys::{KeyRows, encode_keys};

/// Rows that are kept in mind of all groups, at most.
const ROWS_MAX: usize = 1 << 14;
/// Blocks after which it is asked whether it is worth it.
const BLOCKS_OF_TRIAL: usize = 32;
/// More of the rows than this must be left out for it to go on.
const LEFT_OUT_MIN: f64 = 0.2;

/// Lets rows through before which fewer than so many of their group have come in the order.
pub(crate) struct FirstOfGroups {
    groups: Vec<SortKey>,
    order: Vec<SortKey>,
    rows: usize,
    /// The key that the last wanted row of a group has at most, of groups of which enough rows have come.
    bounds: RwLock<Arc<Bounds>>,
    state: Mutex<State>,
    is_off: AtomicBool,
}

/// By group.
type Bounds = HashMap<Box<[u8]>, Box<[u8]>>;

#[derive(Default)]
struct State {
    /// The keys of the first rows of each group, the last of them on top.
    first: HashMap<Box<[u8]>, BinaryHeap<Box<[u8]>>>,
    rows: usize,
    blocks: usize,
    rows_seen: usize,
    rows_passed: usize,
}

impl FirstOfGroups {
    pub(crate) fn new(keys: &[SortKey], limit: GroupLimit) -> Self {
        let (groups, order) = keys.split_at(limit.keys.min(keys.len()));
        Self {
            groups: groups.to_vec(),
            order: order.to_vec(),
            rows: usize::try_from(limit.rows).unwrap_or(usize::MAX).max(1),
            bounds: RwLock::default(),
            state: Mutex::default(),
            is_off: AtomicBool::new(false),
        }
    }

    /// Keeps the keys of rows in mind; whether any bound is new.
    fn learn(&self, state: &mut State, rows: &[u32], groups: &KeyRows, order: &KeyRows) -> bool {
        let mut is_new = false;
        for row in rows {
            let (group, key) = (groups.key(*row as usize), order.key(*row as usize));
            let first = match state.first.get_mut(group) {
                Some(first) => first,
                None => state.first.entry(group.into()).or_default(),
            };
            if first.len() < self.rows {
                first.push(key.into());
                state.rows += 1;
                is_new |= first.len() == self.rows;
            } else if let Some(mut last) = first.peek_mut()
                && *key < **last
            {
                *last = key.into();
                is_new = true;
            }
        }
        is_new
    }

    fn is_worth_it(&self, state: &State) -> bool {
        let left_out = (state.rows_seen - state.rows_passed) as f64;
        state.rows <= ROWS_MAX && (state.blocks < BLOCKS_OF_TRIAL || left_out >= LEFT_OUT_MIN * state.rows_seen as f64)
    }
}

impl Operator for FirstOfGroups {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        if self.is_off.load(Ordering::Relaxed) {
            return Ok(Some(block));
        }
        let (groups, order) = (encode_keys(&self.groups, &block)?, encode_keys(&self.order, &block)?);
        let bounds = self.bounds.read().clone();
        let passes = |row: &u32| {
            let bound = bounds.get(groups.key(*row as usize));
            bound.is_none_or(|bound| order.key(*row as usize) <= &**bound)
        };
        let rows: Vec<u32> = (0..block.rows() as u32).filter(passes).collect();
        {
            let mut state = self.state.lock();
            state.blocks += 1;
            state.rows_seen += block.rows();
            state.rows_passed += rows.len();
            if self.learn(&mut state, &rows, &groups, &order) {
                let full = state.first.iter().filter(|(_, first)| first.len() == self.rows);
                let bounds = full.filter_map(|(group, first)| Some((group.clone(), first.peek()?.clone())));
                *self.bounds.write() = Arc::new(bounds.collect());
            }
            if !self.is_worth_it(&state) {
                self.is_off.store(true, Ordering::Relaxed);
                *state = State::default();
                *self.bounds.write() = Arc::default();
            }
        }
        match rows.len() {
            0 => Ok(None),
            all if all == block.rows() => Ok(Some(block)),
            _ => block.take(&UInt32Array::from(rows)).map(Some),
        }
    }

    fn name(&self) -> &'static str {
        "FirstOfGroups"
    }
}
