//! Integers that come one by one for very many groups: those of a large bitmap are put in together, in order. Each alone would have to find its
//! place in memory that the other groups have driven out of the cache.

use std::borrow::Cow;

use super::group_bitmap::Integers;

/// Integers that wait to be put in.
const WAITING_MAX: usize = 128;

/// The integers of a group to which others are added.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct GrowingIntegers {
    integers: Integers,
    waiting: Vec<u64>,
    /// Of the bitmap when something was last put in.
    bitmap_bytes: usize,
}

impl GrowingIntegers {
    pub fn insert(&mut self, integer: u64) {
        match &mut self.integers {
            list @ Integers::List(_) => list.insert(integer),
            Integers::Bitmap(_) => {
                self.waiting.push(integer);
                if self.waiting.len() >= WAITING_MAX {
                    self.put_in();
                }
            }
        }
    }

    fn put_in(&mut self) {
        self.waiting.sort_unstable();
        self.waiting.drain(..).for_each(|integer| self.integers.insert(integer));
        self.bitmap_bytes = self.integers.heap_bytes();
    }

    /// All of them.
    pub fn all(&self) -> Cow<'_, Integers> {
        if self.waiting.is_empty() { Cow::Borrowed(&self.integers) } else { Cow::Owned(self.clone().into()) }
    }

    pub fn heap_bytes(&self) -> usize {
        let integers = match &self.integers {
            list @ Integers::List(_) => list.heap_bytes(),
            Integers::Bitmap(_) => self.bitmap_bytes,
        };
        integers + self.waiting.capacity() * size_of::<u64>()
    }
}

impl From<Integers> for GrowingIntegers {
    fn from(integers: Integers) -> Self {
        Self { bitmap_bytes: integers.heap_bytes(), integers, waiting: Vec::new() }
    }
}

impl From<GrowingIntegers> for Integers {
    fn from(mut growing: GrowingIntegers) -> Self {
        growing.put_in();
        growing.integers
    }
}
