//! A set of keys with open addressing, made for one set a group: empty sets hold no memory, up to eight keys are a list, more are
//! a table that is at most half full. The zero key marks free slots and is kept apart.

use squall_types::Result;

/// A key: its zero is `Default`, and [`SetKey::hash`] spreads its bits.
pub(super) trait SetKey: Copy + Eq + Default {
    /// 64 bits, of which the lowest choose the slot.
    fn hash(self) -> u64;
}

/// Multiplies to 128 bits and folds: every bit of the key reaches the low bits.
#[inline]
fn fold_multiply(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93_u128;
    (product >> 64) as u64 ^ product as u64
}

impl SetKey for u32 {
    #[inline]
    fn hash(self) -> u64 {
        fold_multiply(u64::from(self))
    }
}

impl SetKey for u64 {
    #[inline]
    fn hash(self) -> u64 {
        fold_multiply(self)
    }
}

/// A key of 128 bits is a hash already.
impl SetKey for u128 {
    #[inline]
    fn hash(self) -> u64 {
        self as u64
    }
}

/// Up to this many keys are a list.
const LIST_MAX: usize = 8;

/// The smallest table; tables up to `FAST_GROWTH_MAX` slots grow fourfold.
const TABLE_MIN: usize = 32;
const FAST_GROWTH_MAX: usize = 1 << 16;

/// A set of keys.
#[derive(Clone, Debug, Default)]
pub(super) struct HashSet<K> {
    /// The keys of a list (as many as `used`), or the slots of a table, a power of two of at least [`TABLE_MIN`].
    slots: Vec<K>,
    /// Keys in the slots.
    used: usize,
    has_zero: bool,
}

impl<K: SetKey> HashSet<K> {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.used + usize::from(self.has_zero)
    }

    fn is_table(&self) -> bool {
        self.slots.len() >= TABLE_MIN
    }

    /// Adds a key; whether it is new.
    #[inline]
    pub fn insert(&mut self, key: K) -> bool {
        if key == K::default() {
            return !std::mem::replace(&mut self.has_zero, true);
        }
        if !self.is_table() {
            if self.slots.contains(&key) {
                return false;
            }
            if self.used < LIST_MAX {
                self.slots.push(key);
                self.used += 1;
                return true;
            }
            self.grow(TABLE_MIN);
        }
        self.insert_in_table(key)
    }

    #[inline]
    fn insert_in_table(&mut self, key: K) -> bool {
        let slots = &mut self.slots[..];
        let mask = slots.len() - 1;
        let mut at = key.hash() as usize & mask;
        loop {
            // `at & mask` is below the power of two that is the length: no check is left of the indexing.
            let slot = &mut slots[at & mask];
            if *slot == key {
                return false;
            }
            if *slot == K::default() {
                *slot = key;
                self.used += 1;
                if self.used * 2 > mask + 1 {
                    self.grow((mask + 1) * if mask < FAST_GROWTH_MAX { 4 } else { 2 });
                }
                return true;
            }
            at += 1;
        }
    }

    /// Reserves the memory of a table that so many keys more may need.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn make_room(&self, keys: usize) -> Result<()> {
        let slots = self.used.saturating_add(keys).saturating_mul(2);
        if slots <= self.slots.len() {
            return Ok(());
        }
        // As it grows: twice as many at a time, while there is room for many keys.
        let slots = self.slots.len().saturating_mul(2).max(slots.min(FAST_GROWTH_MAX));
        squall_types::reserve(slots.saturating_mul(size_of::<K>()))
    }

    /// Adds many keys. The first slots of several keys are read before any of them is decided on: in a table larger than the cache
    /// these reads wait together, and most keys of a long column are found right there.
    pub fn extend(&mut self, keys: &[K]) {
        const TOGETHER: usize = 16;
        let (chunks, rest) = keys.as_chunks::<TOGETHER>();
        for chunk in chunks {
            if !self.is_table() {
                chunk.iter().for_each(|&key| {
                    self.insert(key);
                });
                continue;
            }
            let mask = self.slots.len() - 1;
            let slots = &self.slots[..];
            let found: [K; TOGETHER] = std::array::from_fn(|at| slots[chunk[at].hash() as usize & mask]);
            for (&key, found) in chunk.iter().zip(found) {
                if found != key || key == K::default() {
                    self.insert(key);
                }
            }
        }
        rest.iter().for_each(|&key| {
            self.insert(key);
        });
    }

    #[cold]
    fn grow(&mut self, size: usize) {
        let old = std::mem::replace(&mut self.slots, vec![K::default(); size]);
        let mask = size - 1;
        for key in old {
            if key == K::default() {
                continue;
            }
            let mut at = key.hash() as usize & mask;
            while self.slots[at] != K::default() {
                at = (at + 1) & mask;
            }
            self.slots[at] = key;
        }
    }

    /// Adds the keys of another set; the larger one stays in place.
    pub fn merge(&mut self, mut other: Self) {
        if other.slots.len() > self.slots.len() {
            std::mem::swap(self, &mut other);
        }
        self.has_zero |= other.has_zero;
        let mut keys = other.slots;
        keys.retain(|key| *key != K::default());
        self.extend(&keys);
    }

    /// Every key, in no order.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        let zero = self.has_zero.then(K::default);
        zero.into_iter().chain(self.slots.iter().copied().filter(|key| *key != K::default()))
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<K>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_once() {
        let mut set = HashSet::<u64>::default();
        let mut model = std::collections::HashSet::new();
        let mut key = 1_u64;
        for step in 0..200_000_u64 {
            key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step);
            let key = (key >> 40) % 70_000;
            assert_eq!(set.insert(key), model.insert(key));
        }
        assert_eq!(set.len(), model.len());
        assert_eq!(set.iter().collect::<std::collections::HashSet<_>>(), model);
    }

    #[test]
    fn merging_is_union() {
        for (left, right) in [(0..0_u32, 0..5), (0..5, 3..9), (0..1000, 500..600), (0..10, 5..100_000)] {
            let mut set = HashSet::default();
            set.extend(&left.clone().collect::<Vec<_>>());
            let mut other = HashSet::default();
            other.extend(&right.clone().collect::<Vec<_>>());
            set.merge(other);
            let union: std::collections::HashSet<u32> = left.chain(right).collect();
            assert_eq!(set.iter().collect::<std::collections::HashSet<_>>(), union);
        }
    }
}
