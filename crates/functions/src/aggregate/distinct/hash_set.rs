//! A set of keys with open addressing, made for one set a group: empty sets hold no memory, up to eight keys are a list, more are
//! a table that is about half full at most. The zero key marks free slots and is kept apart. A large set is cut: `parted`.

use squall_types::{Result, checkpoint, prefetch};

use super::key_bag::KeyBag;
use super::parted::{Part, Parted, Whole, part_of};

/// A key: its zero is `Default`, and [`SetKey::hash`] spreads its bits.
pub(in crate::aggregate) trait SetKey: Copy + Eq + Default {
    /// Some keys in about 24 bytes.
    type Few: AsRef<[Self]> + AsMut<[Self]> + Copy + Default + std::fmt::Debug + Send;

    /// 64 bits, of which the lowest choose the slot, and the highest the part of a large set.
    fn hash(self) -> u64;
}

/// Multiplies to 128 bits and folds: every bit of the key reaches the low bits.
#[inline]
fn fold_multiply(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93_u128;
    (product >> 64) as u64 ^ product as u64
}

/// There are so few keys of 16 bits that in a table for all of them each has a slot of its own.
impl SetKey for u16 {
    type Few = [Self; 12];

    #[inline]
    fn hash(self) -> u64 {
        // Without collisions a table may be as full as any.
        u64::from(self.wrapping_mul(0x9E37)) | FULLEST
    }
}

impl SetKey for u32 {
    type Few = [Self; 7];

    #[inline]
    fn hash(self) -> u64 {
        fold_multiply(u64::from(self))
    }
}

impl SetKey for u64 {
    type Few = [Self; 3];

    #[inline]
    fn hash(self) -> u64 {
        fold_multiply(self)
    }
}

/// A key of 128 bits is a hash already.
impl SetKey for u128 {
    type Few = [Self; 2];

    #[inline]
    fn hash(self) -> u64 {
        self as u64
    }
}

/// Up to this many keys are a list.
const LIST_MAX: usize = 8;

/// The smallest table; tables below `FAST_GROWTH_MAX` slots grow fourfold.
const TABLE_MIN: usize = 32;
const FAST_GROWTH_MAX: usize = 1 << 13;

/// Keys that are added to a table between two looks at whether it has to grow.
const TOGETHER: usize = 16;

/// A table of so many bytes is near enough.
const CACHED_BYTES_MAX: usize = 256 << 10;

/// A set of keys.
#[derive(Clone, Debug, Default)]
pub(in crate::aggregate) struct HashSet<K> {
    /// The keys of a list (as many as `used`), or the slots of a table, a power of two of at least [`TABLE_MIN`].
    slots: Vec<K>,
    /// Keys in the slots.
    used: u32,
    /// A table with more keys grows.
    used_max: u32,
    has_zero: bool,
}

/// A hash by which a table becomes as full as any before it grows.
const FULLEST: u64 = 12 << 32;

/// Keys at which a table of so many slots grows: not the same number for all tables, since the parts of a large set, whose keys are
/// alike many, would all grow within few rows.
fn keys_max(slots: usize, hash: u64) -> u32 {
    let sixty_fourths = 28 + (hash >> 32) as usize % 13;
    u32::try_from(slots / 64 * sixty_fourths + slots % 64 / 2).unwrap_or(u32::MAX)
}

/// Puts a key, but for the zero one, into the slots of a table, of which some are free. Whether it is new.
#[inline]
fn put<K: SetKey>(slots: &mut [K], key: K) -> bool {
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
            return true;
        }
        at += 1;
    }
}

impl<K: SetKey> HashSet<K> {
    /// The number of keys.
    pub fn len(&self) -> usize {
        self.used as usize + usize::from(self.has_zero)
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
            if self.slots.len() < LIST_MAX {
                self.slots.push(key);
                self.used += 1;
                return true;
            }
            self.grow(TABLE_MIN, key.hash());
        }
        self.insert_in_table(key)
    }

    /// Has the slot brought near where a search for the key begins.
    #[inline]
    pub fn bring_near(&self, key: K) {
        if self.is_table() {
            prefetch(&self.slots, key.hash() as usize & (self.slots.len() - 1));
        }
    }

    /// Has all slots brought near: one after the other they come faster than where searches begin.
    pub fn bring_all_near(&self) {
        const LINE_BYTES: usize = 64;
        let each = (LINE_BYTES / size_of::<K>()).max(1);
        (0..self.slots.len()).step_by(each).for_each(|at| prefetch(&self.slots, at));
    }

    #[inline]
    fn insert_in_table(&mut self, key: K) -> bool {
        let is_new = put(&mut self.slots, key);
        if is_new {
            self.used += 1;
            if self.used > self.used_max {
                self.grow(self.larger(), key.hash());
            }
        }
        is_new
    }

    /// Reserves the memory of a table that so many keys more may need.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn make_room(&self, keys: usize) -> Result<()> {
        let slots = (self.used as usize).saturating_add(keys).saturating_mul(2);
        if slots <= self.slots.len() {
            return Ok(());
        }
        // As it grows: twice as many at a time, while there is room for many keys.
        let slots = self.slots.len().saturating_mul(2).max(slots.min(FAST_GROWTH_MAX));
        squall_types::reserve(slots.saturating_mul(size_of::<K>()))
    }

    /// Adds many keys. In a table larger than the cache the slots of several keys are brought near before any is looked at, so that these reads
    /// wait together.
    pub fn extend(&mut self, keys: &[K]) {
        for keys in keys.chunks(TOGETHER) {
            if !self.is_table() {
                keys.iter().for_each(|&key| {
                    self.insert(key);
                });
                continue;
            }
            if self.used as usize + TOGETHER > self.used_max as usize {
                let hash = keys.first().map_or(0, |key| key.hash());
                self.grow(self.larger(), hash);
            }
            if size_of_val(&self.slots[..]) > CACHED_BYTES_MAX {
                keys.iter().for_each(|&key| self.bring_near(key));
            }
            let slots = &mut self.slots[..];
            let mut new = 0;
            for &key in keys {
                if key == K::default() {
                    self.has_zero = true;
                    continue;
                }
                new += u32::from(put(slots, key));
            }
            self.used += new;
        }
    }

    /// The slots of the table after the next growth.
    fn larger(&self) -> usize {
        let slots = self.slots.len();
        slots * if slots <= FAST_GROWTH_MAX { 4 } else { 2 }
    }

    /// All keys.
    pub fn keys(&self) -> Vec<K> {
        let mut keys = vec![K::default(); self.used as usize + 1];
        let mut count = 0;
        // Without a branch: which slots are free cannot be guessed.
        for slot in &self.slots {
            keys[count] = *slot;
            count += usize::from(*slot != K::default());
        }
        // The zero key is there already, behind the others.
        keys.truncate(count + usize::from(self.has_zero));
        keys
    }

    #[cold]
    fn grow(&mut self, size: usize, hash: u64) {
        let old = std::mem::replace(&mut self.slots, vec![K::default(); size]);
        self.used_max = keys_max(size, hash);
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

    /// Makes a table for so many keys in all, where they are more than a list.
    pub fn reserve(&mut self, keys: usize) {
        let size = (keys * 2).next_power_of_two().max(TABLE_MIN);
        if keys > LIST_MAX && size > self.slots.len() {
            // With the highest bound, so that as many do fit.
            self.grow(size, FULLEST);
        }
    }

    fn contains(&self, key: K) -> bool {
        if key == K::default() {
            return self.has_zero;
        }
        if !self.is_table() {
            return self.slots.contains(&key);
        }
        let mask = self.slots.len() - 1;
        let mut at = key.hash() as usize & mask;
        loop {
            let slot = self.slots[at & mask];
            if slot == key || slot == K::default() {
                return slot == key;
            }
            at += 1;
        }
    }

    /// The number of keys in this set or in another.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub fn union_len(&self, other: &Self) -> Result<usize> {
        let (large, small) = if self.slots.len() < other.slots.len() { (other, self) } else { (self, other) };
        checkpoint(4 * small.slots.len())?;
        // The keys come in the order of their slots there, which is about that of their slots here.
        Ok(large.len() + small.iter().filter(|key| !large.contains(*key)).count())
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

impl<K: SetKey> Part for HashSet<K> {
    fn len(&self) -> usize {
        Self::len(self)
    }

    /// Adds the keys of another set; the larger one stays in place.
    fn merge(&mut self, mut other: Self) -> Result<()> {
        if other.slots.len() > self.slots.len() {
            std::mem::swap(self, &mut other);
        }
        self.has_zero |= other.has_zero;
        if other.used == 0 {
            return Ok(());
        }
        // The other's keys come in the order of their slots here: were the table to grow only when it must, the first of its slots
        // would be full long before.
        if self.is_table() && other.used > (self.used_max.saturating_sub(self.used)) / 4 {
            self.make_room(other.used as usize)?;
            self.reserve((self.used + other.used) as usize);
        }
        const KEYS: usize = 1024;
        if other.slots.len() <= TABLE_MIN {
            other.iter().for_each(|key| {
                self.insert(key);
            });
            return Ok(());
        }
        let mut keys = Vec::with_capacity(KEYS);
        for slots in other.slots.chunks(KEYS) {
            checkpoint(4 * KEYS)?;
            keys.clear();
            keys.extend(slots.iter().copied().filter(|key| *key != K::default()));
            self.extend(&keys);
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        Self::memory_bytes(self)
    }
}

impl<K: SetKey> Whole for HashSet<K> {
    type Cut = KeyBag<K>;

    fn scatter(self, parts: &mut [KeyBag<K>]) {
        // A quarter more than there will be on average.
        let expected = self.len() / parts.len();
        let mut keys: Vec<Vec<K>> = parts.iter().map(|_| Vec::with_capacity(expected + expected / 4)).collect();
        self.keys().into_iter().for_each(|key| keys[part_of(key.hash())].push(key));
        parts.iter_mut().zip(keys).for_each(|(part, keys)| *part = KeyBag::of_distinct(keys));
    }
}

impl<K: SetKey> Parted<HashSet<K>> {
    /// Adds a key.
    #[inline]
    pub fn insert(&mut self, key: K) {
        match self {
            Self::Whole(set) => {
                if set.insert(key) {
                    self.cut_if_large();
                }
            }
            Self::Parts(parts) => parts[part_of(key.hash())].push(key),
        }
    }

    /// As [`HashSet::bring_near`].
    #[inline]
    pub fn bring_near(&self, key: K) {
        match self {
            Self::Whole(set) => set.bring_near(key),
            Self::Parts(parts) => prefetch(parts, part_of(key.hash())),
        }
    }

    /// Adds many keys, as [`HashSet::extend`] does.
    pub fn extend(&mut self, mut keys: &[K]) {
        const PIECE: usize = 4096;
        while let Self::Whole(set) = self {
            let Some((now, later)) = keys.split_at_checked(PIECE) else {
                set.extend(keys);
                self.cut_if_large();
                return;
            };
            keys = later;
            set.extend(now);
            self.cut_if_large();
        }
        let Self::Parts(parts) = self else { return };
        keys.iter().for_each(|&key| parts[part_of(key.hash())].push(key));
    }

    /// Reserves the memory that so many keys more may need at once.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn make_room(&self, keys: usize) -> Result<()> {
        match self {
            Self::Whole(set) => set.make_room(keys),
            Self::Parts(parts) => squall_types::reserve(KeyBag::<K>::room_for(keys, parts.len())),
        }
    }

    /// Calls `visit` with every key once, in no order.
    pub fn for_each(&self, mut visit: impl FnMut(K)) {
        match self {
            Self::Whole(set) => set.iter().for_each(visit),
            Self::Parts(parts) => parts.iter().for_each(|part| part.clone().into_table().iter().for_each(&mut visit)),
        }
    }

    /// The number of keys, each counted once.
    pub fn count(&self) -> usize {
        match self {
            Self::Whole(set) => set.len(),
            Self::Parts(parts) => parts.iter().map(|part| part.clone().into_table().len()).sum(),
        }
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
            let union_len = set.union_len(&other).unwrap();
            assert_eq!(union_len, other.union_len(&set).unwrap());
            set.merge(other).unwrap();
            assert_eq!(union_len, set.len());
            let union: std::collections::HashSet<u32> = left.chain(right).collect();
            assert_eq!(set.iter().collect::<std::collections::HashSet<_>>(), union);
        }
    }
}
