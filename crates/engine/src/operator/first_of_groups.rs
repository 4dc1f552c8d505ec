//! Leaves out rows that come late in their group, long before they are sorted: the best rows of each group so far tell which cannot be among
//! the first any more. Where most rows are let through, or groups take too much memory, it stops looking.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::UInt32Array;
use foldhash::quality::RandomState;
use parking_lot::Mutex;
use squall_planner::{GroupLimit, SortKey};
use squall_types::memory::reserve;
use squall_types::{Block, Result, prefetch};

use super::Operator;
use crate::sort::row_keys::RowKeys;

/// Bytes of the groups that one worker keeps in mind, at most.
const BYTES_MAX: usize = 32 << 20;
/// Rows after which it is asked whether it is worth it.
const TRIAL_ROWS: usize = 1 << 18;
/// More of the rows than this must be left out for it to go on.
const LEFT_OUT_MIN: f64 = 0.2;
/// After the first trial, in which nearly all rows may be among the first of their groups, groups have so many rows on average.
const ROWS_OF_GROUP_MIN: usize = 2;
/// Rows whose places are computed before they are looked at.
const AHEAD: usize = 16;

/// Lets rows through before which fewer than so many of their group have come in the order.
pub(crate) struct FirstOfGroups {
    groups: Vec<SortKey>,
    order: Vec<SortKey>,
    rows: usize,
    /// What workers know that are at no block now: each has its own.
    known: Mutex<Vec<Known>>,
    hashers: [RandomState; 2],
    is_off: AtomicBool,
}

impl FirstOfGroups {
    pub(crate) fn new(keys: &[SortKey], limit: GroupLimit) -> Self {
        let (groups, order) = keys.split_at(limit.keys.min(keys.len()));
        Self {
            groups: groups.to_vec(),
            order: order.to_vec(),
            rows: usize::try_from(limit.rows).unwrap_or(usize::MAX).max(1),
            known: Mutex::default(),
            hashers: [RandomState::default(), RandomState::default()],
            is_off: AtomicBool::new(false),
        }
    }

    /// What tells the groups of a block's rows apart: their keys, or 128 bits that hash them. Two of a million groups have the same
    /// hash with a chance of one in 10^26.
    fn numbers(&self, block: &Block) -> Result<Vec<u128>> {
        let keys = RowKeys::of(&self.groups, block)?;
        let number = |row| match keys.long(row) {
            [] => keys.prefix(row),
            key => {
                let [high, low] = [0, 1].map(|half| self.hashers[half].hash_one(key));
                u128::from(high) << 64 | u128::from(low)
            }
        };
        Ok((0..block.rows()).map(number).collect())
    }

    /// The rows that may be among the first of their groups.
    fn wanted(&self, known: &mut Known, block: &Block) -> Result<Vec<u32>> {
        let (groups, order) = (self.numbers(block)?, RowKeys::of(&self.order, block)?);
        let mut rows = Vec::with_capacity(block.rows());
        for (row, group) in groups.iter().enumerate() {
            if let Some(group) = groups.get(row + AHEAD) {
                known.bring_near(*group);
            }
            // Of a long key the beginning does: rows whose keys begin alike pass.
            if known.admits(*group, order.prefix(row))? {
                rows.push(row as u32);
            }
        }
        Ok(rows)
    }
}

impl Operator for FirstOfGroups {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        if self.is_off.load(Ordering::Relaxed) {
            return Ok(Some(block));
        }
        let known = self.known.lock().pop();
        let mut known = match known {
            Some(known) => known,
            None => Known::new(self.rows)?,
        };
        let rows = self.wanted(&mut known, &block)?;
        if known.is_worth_it(block.rows(), rows.len()) {
            self.known.lock().push(known);
        } else {
            self.is_off.store(true, Ordering::Relaxed);
            self.known.lock().clear();
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

/// The keys of the first rows of each group, in a table with open addressing.
struct Known {
    /// In each place a group and, ascending, the keys of as many of its rows as are wanted.
    places: Vec<u128>,
    /// Numbers of a place.
    width: usize,
    groups: usize,
    /// Rows that have come and that were let through: all, and since the last trial.
    rows: usize,
    rows_of_trial: usize,
    passed_of_trial: usize,
}

/// Where a group or a row's key might be. Of the few groups and keys that are this number themselves all rows pass.
const NONE: u128 = u128::MAX;

impl Known {
    fn new(rows_of_group: usize) -> Result<Self> {
        const PLACES: usize = 64;
        let width = rows_of_group + 1;
        let places = none(PLACES * width)?;
        Ok(Self { places, width, groups: 0, rows: 0, rows_of_trial: 0, passed_of_trial: 0 })
    }

    fn place_of(&self, group: u128) -> usize {
        let product =
            u128::from((group >> 64) as u64 ^ 0x9E37_79B9_7F4A_7C15) * u128::from(group as u64 ^ 0xD6E8_FEB8_6659_FD93);
        let hash = (product >> 64) as u64 ^ product as u64;
        // The places are a power of two.
        hash as usize & (self.places.len() / self.width - 1)
    }

    fn bring_near(&self, group: u128) {
        prefetch(&self.places, self.place_of(group) * self.width);
    }

    /// Whether a row may be among the first of its group; its key is kept in mind then.
    fn admits(&mut self, group: u128, key: u128) -> Result<bool> {
        if group == NONE {
            return Ok(true);
        }
        let places = self.places.len() / self.width;
        let mut at = self.place_of(group);
        loop {
            let place = &mut self.places[at * self.width..][..self.width];
            let [owner, first @ ..] = place else { return Ok(true) };
            if *owner == NONE {
                (*owner, first[0]) = (group, key);
                self.groups += 1;
                if self.groups > places / 2 {
                    self.grow()?;
                }
                return Ok(true);
            }
            if *owner == group {
                let last = first[first.len() - 1];
                if key < last {
                    let to = first.partition_point(|known| *known <= key);
                    first[to..].rotate_right(1);
                    first[to] = key;
                }
                return Ok(key <= last);
            }
            at = (at + 1) & (places - 1);
        }
    }

    fn grow(&mut self) -> Result<()> {
        let old = std::mem::take(&mut self.places);
        self.places = none(2 * old.len())?;
        let places = self.places.len() / self.width;
        for place in old.chunks_exact(self.width).filter(|place| place[0] != NONE) {
            let mut at = self.place_of(place[0]);
            while self.places[at * self.width] != NONE {
                at = (at + 1) & (places - 1);
            }
            self.places[at * self.width..][..self.width].copy_from_slice(place);
        }
        Ok(())
    }

    /// Whether it should go on after a block of which so many rows passed.
    fn is_worth_it(&mut self, rows: usize, passed: usize) -> bool {
        self.rows += rows;
        self.rows_of_trial += rows;
        self.passed_of_trial += passed;
        if size_of_val(&*self.places) > BYTES_MAX {
            return false;
        }
        if self.rows_of_trial < TRIAL_ROWS {
            return true;
        }
        let left_out = (self.rows_of_trial - self.passed_of_trial) as f64 / self.rows_of_trial as f64;
        let is_first = self.rows == self.rows_of_trial;
        (self.rows_of_trial, self.passed_of_trial) = (0, 0);
        left_out >= LEFT_OUT_MIN || is_first && self.groups * ROWS_OF_GROUP_MIN <= self.rows
    }
}

/// So many numbers that are none.
fn none(count: usize) -> Result<Vec<u128>> {
    reserve(count * size_of::<u128>())?;
    Ok(vec![NONE; count])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// No row is left out that is among the first of its group, whatever comes before and after it, and many others are.
    #[test]
    fn the_first_rows_of_each_group_pass() {
        let mut random = StdRng::seed_from_u64(9);
        for (groups, wanted) in [(1_u64, 1), (7, 3), (5_000, 2), (40, 100)] {
            let mut known = Known::new(wanted).unwrap();
            let rows: Vec<(u128, u128)> = (0..60_000)
                .map(|_| {
                    (u128::from(random.random_range(0..groups)) << 64, u128::from(random.random_range(0..90_000_u64)))
                })
                .collect();
            let (mut passed, mut all) = (HashMap::<u128, Vec<u128>>::new(), HashMap::<u128, Vec<u128>>::new());
            for (group, key) in rows {
                all.entry(group).or_default().push(key);
                if known.admits(group, key).unwrap() {
                    passed.entry(group).or_default().push(key);
                }
            }
            let count: usize = passed.values().map(Vec::len).sum();
            assert!(count < 45_000, "{count}");
            for (group, mut all) in all {
                let mut passed = passed.remove(&group).unwrap();
                all.sort_unstable();
                passed.sort_unstable();
                // Ties with the last wanted one pass too.
                let last = all[wanted.min(all.len()) - 1];
                all.retain(|key| *key <= last);
                passed.retain(|key| *key <= last);
                assert_eq!(passed, all);
            }
        }
    }
}
