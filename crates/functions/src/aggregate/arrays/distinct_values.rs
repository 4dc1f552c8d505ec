//! Distinct values of a group with their keys: one set in the order in which they came while they are few, parts without an order where
//! they are many. A number is its key, so that a part of a large set of numbers is no more than keys.

use squall_types::Result;

use crate::aggregate::distinct::hash_set::{HashSet, SetKey};
use crate::aggregate::distinct::key_bag::KeyBag;
use crate::aggregate::distinct::parted::{Part, Whole, part_of};

/// So few values are looked through one by one, and have no set of keys.
const FEW: usize = 32;

/// A value that is told apart by a key.
pub(in crate::aggregate) trait Keyed<K>: Clone + Send + Sized + 'static {
    /// Many of them.
    type Cut: CutValues<K, Self> + Send + 'static;
}

/// A part of a large set of values.
pub(in crate::aggregate) trait CutValues<K, V>: Part {
    /// Adds a value.
    fn add(&mut self, key: K, value: impl FnOnce() -> V);

    /// Has memory brought near that adding a value with this key will read.
    fn bring_near(&self, key: K);

    /// Calls `take` with every value once.
    fn give(self, take: &mut impl FnMut(V));

    /// Calls `look` with every value once.
    fn visit(&self, look: &mut impl FnMut(&V));
}

/// Distinct values with their keys.
#[derive(Clone)]
pub(in crate::aggregate) struct Values<K, V> {
    /// Empty while there are few.
    keys: HashSet<K>,
    values: Vec<(K, V)>,
}

impl<K: Default, V> Default for Values<K, V> {
    fn default() -> Self {
        Self { keys: HashSet::default(), values: Vec::new() }
    }
}

impl<K: SetKey, V> Values<K, V> {
    /// Adds a value unless it is there, or there are `limit` already.
    #[inline]
    pub fn add(&mut self, key: K, limit: usize, value: impl FnOnce() -> V) {
        if self.values.len() >= limit {
            return;
        }
        let is_new = if self.values.len() < FEW {
            self.values.iter().all(|(known, _)| *known != key)
        } else {
            if self.keys.len() == 0 {
                self.values.iter().for_each(|(known, _)| {
                    self.keys.insert(*known);
                });
            }
            self.keys.insert(key)
        };
        if is_new {
            self.values.push((key, value()));
        }
    }

    /// As [`HashSet::make_room`].
    pub fn make_room(&self, keys: usize) -> Result<()> {
        self.keys.make_room(keys)
    }

    /// As [`HashSet::bring_near`].
    #[inline]
    pub fn bring_near(&self, key: K) {
        self.keys.bring_near(key);
    }

    /// The values in their order.
    pub fn iter(&self) -> impl Iterator<Item = &V> {
        self.values.iter().map(|(_, value)| value)
    }
}

impl<K, V> IntoIterator for Values<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<K: SetKey, V: Clone> Part for Values<K, V> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if self.values.is_empty() {
            *self = other;
            return Ok(());
        }
        squall_types::checkpoint(16 * other.len())?;
        other.values.into_iter().for_each(|(key, value)| self.add(key, usize::MAX, || value));
        Ok(())
    }

    /// Without what the values hold outside of themselves.
    fn memory_bytes(&self) -> usize {
        self.keys.memory_bytes() + self.values.capacity() * size_of::<(K, V)>()
    }
}

impl<K: SetKey, V: Keyed<K>> Whole for Values<K, V> {
    type Cut = V::Cut;

    fn scatter(self, parts: &mut [V::Cut]) {
        for (key, value) in self.values {
            parts[part_of(key.hash())].add(key, || value);
        }
    }
}

impl<K: SetKey, V: Clone> CutValues<K, V> for Values<K, V> {
    #[inline]
    fn add(&mut self, key: K, value: impl FnOnce() -> V) {
        Self::add(self, key, usize::MAX, value);
    }

    #[inline]
    fn bring_near(&self, key: K) {
        Self::bring_near(self, key);
    }

    fn give(self, take: &mut impl FnMut(V)) {
        self.values.into_iter().for_each(|(_, value)| take(value));
    }

    fn visit(&self, look: &mut impl FnMut(&V)) {
        self.iter().for_each(look);
    }
}

/// Values of any type have a hash as their key.
impl<V: Clone + Send + 'static> Keyed<u128> for V {
    type Cut = Values<u128, V>;
}

/// Numbers as wide as their keys, or narrower.
macro_rules! numbers {
    ($($key:ty: $($value:ty, |$bits:ident| $back:expr);*,)*) => {
        $($(
            impl Keyed<$key> for $value {
                type Cut = KeyBag<$key>;
            }

            impl CutValues<$key, $value> for KeyBag<$key> {
                #[inline]
                fn add(&mut self, key: $key, _: impl FnOnce() -> $value) {
                    self.push(key);
                }

                fn bring_near(&self, _: $key) {}

                fn give(self, take: &mut impl FnMut($value)) {
                    self.into_table().iter().for_each(|$bits| take($back));
                }

                fn visit(&self, look: &mut impl FnMut(&$value)) {
                    self.clone().into_table().iter().for_each(|$bits| look(&$back));
                }
            }
        )*)*
    };
}

numbers!(
    u16: u8, |key| key as u8; u16, |key| key; i8, |key| key as i8; i16, |key| key as i16,
    u32: u32, |key| key; i32, |key| key as i32; f32, |key| f32::from_bits(key),
    u64: u64, |key| key; i64, |key| key as i64; f64, |key| f64::from_bits(key),
);
