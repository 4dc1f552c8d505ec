//! The slots of a hash table with open addressing: in one piece while they are few, and from a certain number on in many, of which each
//! grows by itself. So no growth takes long, or twice the memory of the whole table.

use squall_types::memory::reserve;
use squall_types::{Error, ErrorCode, Result, prefetch};

/// A slot; the default is a free one.
pub(super) trait Slot: Copy + Default {
    fn is_free(&self) -> bool;
}

/// Slots of a new table.
const SLOTS_MIN: usize = 1 << 10;
/// A table with as many slots in one piece is cut when it grows.
const WHOLE_MAX: usize = 1 << 16;
/// A table that is made for as many slots is in one piece: it need not grow.
const RESERVED_WHOLE_MAX: usize = 1 << 18;
/// Shards of a table that is cut.
const SHARDS: usize = 256;
/// Groups of a table: their numbers, plus one, have 32 bits.
const GROUPS_MAX: usize = 1 << 31;
/// Slots of so many bytes stay in the cache of a core.
const CACHED_BYTES_MAX: usize = 512 << 10;

/// The slots of a table: none, one shard, or [`SHARDS`].
pub(super) struct Slots<S> {
    shards: Vec<Shard<S>>,
}

struct Shard<S> {
    /// As many as a power of two.
    slots: Vec<S>,
    taken: usize,
    /// With as many it grows before another one is taken.
    taken_max: usize,
}

impl<S: Slot> Shard<S> {
    fn new(slots: usize, number: usize) -> Result<Self> {
        reserve(slots.saturating_mul(size_of::<S>()))?;
        // About a half, and not the same for all: shards, whose keys are alike many, would all grow within few rows.
        let taken_max = slots / 64 * (27 + number * 5 % 11);
        Ok(Self { slots: vec![S::default(); slots], taken: 0, taken_max })
    }

    /// Takes a free slot for what is not there yet.
    #[inline]
    fn put(&mut self, hash: u64, slot: S) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while !self.slots[at].is_free() {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
        self.taken += 1;
    }
}

/// All slots of a table that is in one piece, with room for a number of new ones: what most lookups need, and nothing to look at on the way.
pub(super) struct Whole<'a, S> {
    slots: &'a mut [S],
    taken: &'a mut usize,
}

impl<S: Slot> Whole<'_, S> {
    /// As [`Slots::find`].
    #[inline]
    pub(super) fn find(&self, hash: u64, is_key: impl Fn(&S) -> bool) -> std::result::Result<S, usize> {
        find(self.slots, hash, is_key)
    }

    /// As [`Slots::take`].
    #[inline]
    pub(super) fn take(&mut self, place: usize, slot: S) {
        self.slots[place] = slot;
        *self.taken += 1;
    }
}

/// The slot of a key among these, or where it is to be.
#[inline]
fn find<S: Slot>(slots: &[S], hash: u64, is_key: impl Fn(&S) -> bool) -> std::result::Result<S, usize> {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        let slot = &slots[at & mask];
        if slot.is_free() {
            return Err(at & mask);
        }
        if is_key(slot) {
            return Ok(*slot);
        }
        at += 1;
    }
}

/// The shard of a hash among several. Neither its low bits, which are the place in a shard, nor its high ones, which are the same within
/// a partition of groups.
#[inline]
fn shard_of(hash: u64, shards: usize) -> usize {
    (hash >> 40) as usize & (shards - 1)
}

impl<S: Slot> Slots<S> {
    pub(super) fn new() -> Self {
        Self { shards: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shards.is_empty()
    }

    /// The slot of a key that is there, or where its slot is to be. There is [room](Self::make_room) for it.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_key: impl Fn(&S) -> bool) -> std::result::Result<S, usize> {
        find(&self.shards[shard_of(hash, self.shards.len())].slots, hash, is_key)
    }

    /// The slots, where they are in one piece that has room for so many more.
    #[inline]
    pub(super) fn whole(&mut self, more: usize) -> Option<Whole<'_, S>> {
        match &mut self.shards[..] {
            [shard] if shard.taken + more <= shard.taken_max => {
                Some(Whole { slots: &mut shard.slots, taken: &mut shard.taken })
            }
            _ => None,
        }
    }

    /// Takes the slot that was not [found](Self::find).
    #[inline]
    pub(super) fn take(&mut self, hash: u64, place: usize, slot: S) {
        let shards = self.shards.len();
        let shard = &mut self.shards[shard_of(hash, shards)];
        shard.slots[place] = slot;
        shard.taken += 1;
    }

    /// Makes room for a slot of this hash. `hash_of` is the hash of a slot.
    ///
    /// # Errors
    /// `TOO_MANY_ROWS` where groups could not be numbered, `MEMORY_LIMIT_EXCEEDED`.
    #[inline]
    pub(super) fn make_room(&mut self, hash: u64, hash_of: impl Fn(&S) -> u64) -> Result<()> {
        match self.shards.len() {
            0 => self.reserve(1, std::iter::empty(), hash_of),
            shards => {
                let shard = &self.shards[shard_of(hash, shards)];
                if shard.taken < shard.taken_max { Ok(()) } else { self.grow(hash, &hash_of) }
            }
        }
    }

    #[cold]
    fn grow(&mut self, hash: u64, hash_of: &dyn Fn(&S) -> u64) -> Result<()> {
        check_groups(self.shards.iter().map(|shard| shard.taken).sum())?;
        let number = shard_of(hash, self.shards.len());
        let size = self.shards[number].slots.len();
        if self.shards.len() == 1 && size >= WHOLE_MAX {
            let fresh = (0..SHARDS).map(|number| Shard::new(size * 2 / SHARDS, number)).collect::<Result<_>>()?;
            let whole = std::mem::replace(&mut self.shards, fresh);
            for slot in whole.iter().flat_map(|shard| &shard.slots).filter(|slot| !slot.is_free()) {
                self.put(*slot, &hash_of)?;
            }
        } else {
            let fresh = Shard::new(size * 2, number)?;
            let shard = std::mem::replace(&mut self.shards[number], fresh);
            for slot in shard.slots.iter().filter(|slot| !slot.is_free()) {
                self.shards[number].put(hash_of(slot), *slot);
            }
        }
        Ok(())
    }

    /// Takes a free slot, which there may be none of where many hashes are alike.
    fn put(&mut self, slot: S, hash_of: &dyn Fn(&S) -> u64) -> Result<()> {
        let (hash, shards) = (hash_of(&slot), self.shards.len());
        let shard = shard_of(hash, shards);
        if self.shards[shard].taken >= self.shards[shard].taken_max {
            self.grow(hash, hash_of)?;
        }
        let shard = shard_of(hash, self.shards.len());
        self.shards[shard].put(hash, slot);
        Ok(())
    }

    /// Makes the slots anew: these, with room for so many.
    ///
    /// # Errors
    /// As those of [`make_room`](Self::make_room).
    pub(super) fn reserve(
        &mut self,
        groups: usize,
        mut slots: impl Iterator<Item = S>,
        hash_of: impl Fn(&S) -> u64,
    ) -> Result<()> {
        check_groups(groups)?;
        // At most about a third is taken; shards have not all the same number.
        let wanted = (groups * 5 / 2).next_power_of_two().max(SLOTS_MIN);
        // The old ones need not be there meanwhile.
        self.shards = Vec::new();
        let shards = if wanted > RESERVED_WHOLE_MAX { SHARDS } else { 1 };
        self.shards = (0..shards).map(|number| Shard::new(wanted / shards, number)).collect::<Result<_>>()?;
        slots.try_for_each(|slot| self.put(slot, &hash_of))
    }

    /// Whether there are slots for so many groups.
    pub(super) fn has_room(&self, groups: usize) -> bool {
        !self.is_empty() && groups <= self.shards.iter().map(|shard| shard.taken_max).sum()
    }

    /// Whether the slots are more than stay in a core's cache.
    #[inline]
    pub(super) fn are_far(&self) -> bool {
        self.shards.len() > 1
            || self.shards.first().is_some_and(|shard| size_of_val(&shard.slots[..]) > CACHED_BYTES_MAX)
    }

    /// The first slot that a lookup of this hash will see.
    #[inline]
    pub(super) fn first(&self, hash: u64) -> S {
        let slots = &self.shards[shard_of(hash, self.shards.len())].slots[..];
        slots[hash as usize & (slots.len() - 1)]
    }

    /// Has brought near the slot that a lookup of this hash will see first.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        let slots = &self.shards[shard_of(hash, self.shards.len())].slots[..];
        prefetch(slots, hash as usize & (slots.len() - 1));
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let slots: usize = self.shards.iter().map(|shard| shard.slots.capacity()).sum();
        slots * size_of::<S>() + self.shards.capacity() * size_of::<Shard<S>>()
    }
}

fn check_groups(groups: usize) -> Result<()> {
    if groups > GROUPS_MAX {
        return Err(Error::new(ErrorCode::TOO_MANY_ROWS, format!("More than {GROUPS_MAX} groups in one hash table")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key and its number plus one.
    impl Slot for (u64, u32) {
        fn is_free(&self) -> bool {
            self.1 == 0
        }
    }

    fn hash(key: &u64) -> u64 {
        key.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }

    #[test]
    fn keys_are_found_however_the_slots_have_grown() {
        const KEYS: u64 = 300_000;
        let mut slots = Slots::<(u64, u32)>::new();
        for key in 0..KEYS {
            let hash_of_key = hash(&key);
            slots.make_room(hash_of_key, |slot| hash(&slot.0)).unwrap();
            let place = slots.find(hash_of_key, |slot| slot.0 == key).unwrap_err();
            match slots.whole(1) {
                Some(mut whole) => {
                    assert_eq!(whole.find(hash_of_key, |slot| slot.0 == key), Err(place));
                    whole.take(place, (key, key as u32 + 1));
                }
                None => slots.take(hash_of_key, place, (key, key as u32 + 1)),
            }
        }
        assert!(slots.whole(0).is_none());
        assert_eq!(slots.shards.len(), SHARDS);
        assert!(slots.shards.iter().all(|shard| shard.taken <= shard.taken_max && shard.taken_max < shard.slots.len()));
        for key in (0..KEYS).step_by(7) {
            assert_eq!(slots.find(hash(&key), |slot| slot.0 == key), Ok((key, key as u32 + 1)));
        }
        for groups in [10, 60_000, 200_000] {
            slots.reserve(groups, (0..10).map(|key| (key, 1)), |slot| hash(&slot.0)).unwrap();
            assert!(slots.has_room(groups));
            assert!(slots.find(hash(&5), |slot| slot.0 == 5).is_ok());
            assert!(slots.find(hash(&11), |slot| slot.0 == 11).is_err());
        }
        // Hashes that are alike make one shard large.
        slots.reserve(200_000, (0..200_000).map(|key| (key, 1)), |slot| slot.0).unwrap();
        assert!(slots.find(199_999, |slot| slot.0 == 199_999).is_ok());
        assert_eq!(slots.reserve((1 << 31) + 1, std::iter::empty(), |_| 0).unwrap_err().code, ErrorCode::TOO_MANY_ROWS);
    }
}
