//! Different strings, each with a code: its number in the order of appearance.

use std::hash::BuildHasher;

use arrow_array::BinaryArray;
use arrow_array::builder::BinaryBuilder;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::Result;
use crate::reserve;

/// The strings that came so far.
#[derive(Debug, Default)]
pub struct StringDictionary {
    hasher: DefaultHashBuilder,
    /// The codes by the hashes of their strings.
    codes: HashTable<u32>,
    strings: BinaryBuilder,
    /// The code of the string that came last: the next one is often the same.
    last: u32,
    longest: usize,
}

impl StringDictionary {
    /// The code of a string, which is added where it is not there.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn code(&mut self, string: &[u8]) -> Result<u32> {
        let Self { hasher, codes, strings, last, longest } = self;
        if !codes.is_empty() && get(strings, *last) == string {
            return Ok(*last);
        }
        let hash = hasher.hash_one(string);
        *last = match codes.find(hash, |code| get(strings, *code) == string) {
            Some(code) => *code,
            None => {
                let code = codes.len() as u32;
                reserve(2 * string.len())?;
                codes.insert_unique(hash, code, |code| hasher.hash_one(get(strings, *code)));
                strings.append_value(string);
                *longest = string.len().max(*longest);
                code
            }
        };
        Ok(*last)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> usize {
        self.strings.values_slice().len()
    }

    /// Bytes of the longest.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The strings by their codes.
    pub fn finish(mut self) -> BinaryArray {
        self.strings.finish()
    }
}

fn get(strings: &BinaryBuilder, code: u32) -> &[u8] {
    let ends = &strings.offsets_slice()[code as usize..];
    &strings.values_slice()[ends[0] as usize..ends[1] as usize]
}
