//! The cells of a cache dictionary: what the source said of a key, also that it has no such key, until the lifetime of that is over or
//! the cell is wanted for another key. When to ask the source is somebody else's business; so is the time, which is passed in.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_types::Block;

use crate::key_index::SmallKey;

/// A row that the source gave: the block that it came in, and its place there. `None`: there is no such key.
pub(super) type Answer = Option<(Arc<Block>, u32)>;

/// A bounded number of answers.
#[derive(Debug)]
pub(super) struct Cache {
    cells_max: usize,
    /// From when to when after it came an answer becomes too old; never where the last is 0.
    lifetime_seconds: (u64, u64),
    cells: HashMap<SmallKey, Cell, foldhash::fast::FixedState>,
    /// Keys in the order in which their answers came. A key that was asked again stands here twice; the cell knows which one counts.
    order: VecDeque<(u64, SmallKey)>,
    next: u64,
}

#[derive(Debug)]
struct Cell {
    number: u64,
    expires: Option<Instant>,
    answer: Answer,
}

impl Cache {
    pub fn new(cells_max: usize, lifetime_seconds: (u64, u64)) -> Self {
        Self { cells_max, lifetime_seconds, cells: HashMap::default(), order: VecDeque::new(), next: 0 }
    }

    /// What is known of a key now; `None` is nothing.
    pub fn get(&self, key: &SmallKey, now: Instant) -> Option<&Answer> {
        let cell = self.cells.get(key)?;
        if cell.expires.is_some_and(|expires| expires <= now) { None } else { Some(&cell.answer) }
    }

    /// Keeps an answer; the oldest gives way where there is no cell left.
    pub fn put(&mut self, key: SmallKey, answer: Answer, now: Instant) {
        let number = self.next;
        self.next += 1;
        let (least, most) = self.lifetime_seconds;
        // Spread, so that what was asked together is not asked together for ever.
        let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (most - least + 1);
        let seconds = (most > 0).then_some((least + spread).max(1));
        let expires = seconds.and_then(|seconds| now.checked_add(Duration::from_secs(seconds)));
        self.order.push_back((number, key.clone()));
        self.cells.insert(key, Cell { number, expires, answer });
        while self.cells.len() > self.cells_max || self.order.len() > 2 * self.cells_max {
            let Some((number, key)) = self.order.pop_front() else { return };
            if self.cells.get(&key).is_some_and(|cell| cell.number == number) {
                self.cells.remove(&key);
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.order.clear();
    }

    /// Cells that are taken.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The rows that are known and not too old, each once.
    pub fn rows(&self, now: Instant) -> Vec<(Arc<Block>, u32)> {
        let known = self.order.iter().filter_map(|(number, key)| {
            let cell = self.cells.get(key)?;
            let is_good = cell.number == *number && cell.expires.is_none_or(|expires| expires > now);
            if is_good { cell.answer.clone() } else { None }
        });
        known.collect()
    }

    /// The memory that the answers take, roughly: blocks of which several rows are known count once.
    pub fn memory_bytes(&self) -> usize {
        let mut blocks: Vec<&Arc<Block>> =
            self.cells.values().filter_map(|cell| cell.answer.as_ref().map(|(block, _)| block)).collect();
        blocks.sort_unstable_by_key(|block| Arc::as_ptr(block));
        blocks.dedup_by_key(|block| Arc::as_ptr(block));
        let cell_bytes = size_of::<(SmallKey, Cell)>() + size_of::<(u64, SmallKey)>();
        self.cells.capacity() * cell_bytes + blocks.iter().map(|block| block.memory_bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> SmallKey {
        SmallKey::from_slice(&number.to_le_bytes())
    }

    #[test]
    fn answers_expire_and_give_way() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut cache = Cache::new(3, (10, 20));
        (0..3).for_each(|number| cache.put(key(number), None, start));
        assert!((0..3).all(|number| cache.get(&key(number), at(9)).is_some()));
        assert!((0..3).all(|number| cache.get(&key(number), at(21)).is_none()));
        // Asked again, 0 is the newest, so that 1 gives way.
        cache.put(key(0), None, at(1));
        cache.put(key(3), None, at(2));
        let known: Vec<bool> = (0..4).map(|number| cache.get(&key(number), at(3)).is_some()).collect();
        assert_eq!(known, [true, false, true, true]);
        assert_eq!(cache.len(), 3);
        for number in 0..1000 {
            cache.put(key(number % 2), None, at(4));
            assert!(cache.len() <= 3 && cache.order.len() <= 6);
        }
        cache.clear();
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn a_lifetime_of_zero_never_ends() {
        let start = Instant::now();
        let mut cache = Cache::new(1, (0, 0));
        cache.put(key(1), None, start);
        assert!(cache.get(&key(1), start + Duration::from_secs(1 << 30)).is_some());
    }
}
