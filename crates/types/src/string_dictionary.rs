//! Different strings, each with a code: its number in the order of appearance.

use std::hash::BuildHasher;

use arrow_array::BinaryArray;
use arrow_buffer::{Buffer, OffsetBuffer};
use hashbrown::{DefaultHashBuilder, HashTable};
use squall_runtime::Pieces;

use crate::error::Result;
use crate::packed_hash::hash_packed;
use crate::{grow, reserve};

/// Bytes of strings that lie together until all are there: to have them all in one place while they grow would copy them again and again.
const SEGMENT_BYTES: usize = 1 << 20;

/// The strings that came so far.
#[derive(Debug, Default)]
pub struct StringDictionary {
    hasher: DefaultHashBuilder,
    /// The codes by the hashes of their strings, and the hashes: they spare looks at strings that are others.
    codes: HashTable<(u32, u32)>,
    strings: Strings,
    /// The code of the string that came last: the next one is often the same.
    last: u32,
    longest: usize,
}

/// Strings by their codes.
#[derive(Debug, Default)]
struct Strings {
    segments: Vec<Vec<u8>>,
    places: Vec<Place>,
    bytes: usize,
}

/// Where a string lies.
#[derive(Clone, Copy, Debug)]
struct Place {
    segment: u32,
    start: u32,
    end: u32,
}

impl Strings {
    fn get(&self, code: u32) -> &[u8] {
        let Place { segment, start, end } = self.places[code as usize];
        &self.segments[segment as usize][start as usize..end as usize]
    }

    fn push(&mut self, string: &[u8]) -> Result<()> {
        let room = self.segments.last().map_or(0, |segment| segment.capacity() - segment.len());
        if self.segments.is_empty() || room < string.len() {
            // Few strings take little.
            let bytes = (2 * self.bytes).clamp(1 << 10, SEGMENT_BYTES).max(string.len());
            reserve(bytes)?;
            self.segments.push(Vec::with_capacity(bytes));
        }
        let (mut start, mut end) = (0, 0);
        if let Some(segment) = self.segments.last_mut() {
            start = segment.len() as u32;
            segment.extend_from_slice(string);
            end = segment.len() as u32;
        }
        if self.places.len() == self.places.capacity() {
            let more = self.places.len().max(64);
            grow(&mut self.places, more)?;
        }
        self.places.push(Place { segment: self.segments.len() as u32 - 1, start, end });
        self.bytes += string.len();
        Ok(())
    }
}

impl StringDictionary {
    /// The code of a string, which is added where it is not there.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn code(&mut self, string: &[u8]) -> Result<u32> {
        let Self { hasher, codes, strings, last, longest } = self;
        if !codes.is_empty() && strings.get(*last) == string {
            return Ok(*last);
        }
        let hash = hasher.hash_one(string) as u32;
        let found =
            codes.find(hash_packed(hash.into()), |(code, known)| *known == hash && strings.get(*code) == string);
        *last = match found {
            Some((code, _)) => *code,
            None => {
                let code = codes.len() as u32;
                strings.push(string)?;
                codes.insert_unique(hash_packed(hash.into()), (code, hash), |(_, hash)| hash_packed((*hash).into()));
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
        self.strings.bytes
    }

    /// Bytes of the longest.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The strings by their codes.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub fn finish(self) -> Result<BinaryArray> {
        let mut together = Together::new(&self.strings);
        self.strings.segments.into_iter().for_each(|segment| together.push(&segment));
        together.array()
    }

    /// The same in pieces.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub async fn finish_in_pieces(self, pieces: &mut Pieces) -> Result<BinaryArray> {
        let mut together = Together::new(&self.strings);
        for segment in self.strings.segments {
            together.push(&segment);
            pieces.pause().await;
        }
        together.array()
    }
}

/// The bytes of strings on their way to one array.
struct Together {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Together {
    fn new(strings: &Strings) -> Self {
        let mut end = 0;
        let mut ends = Vec::with_capacity(strings.places.len() + 1);
        ends.push(0);
        ends.extend(strings.places.iter().map(|place| {
            end += (place.end - place.start) as i32;
            end
        }));
        Self { ends, bytes: Vec::with_capacity(strings.bytes) }
    }

    fn push(&mut self, segment: &[u8]) {
        self.bytes.extend_from_slice(segment);
    }

    fn array(self) -> Result<BinaryArray> {
        Ok(BinaryArray::try_new(OffsetBuffer::new(self.ends.into()), Buffer::from_vec(self.bytes), None)?)
    }
}

#[cfg(test)]
mod tests {
    use squall_runtime::block_on;

    use super::*;

    #[test]
    fn strings_of_several_segments_come_together() {
        let string = |number: usize| vec![number as u8; number * 37 % 4_001];
        let mut dictionary = StringDictionary::default();
        for number in (0..3_000).chain(0..3_000) {
            let code = dictionary.code(&string(number)).unwrap() as usize;
            assert!(code <= number && dictionary.strings.get(code as u32) == string(number));
        }
        // One that is longer than a segment.
        let long = vec![b'x'; 2 * SEGMENT_BYTES];
        let code = dictionary.code(&long).unwrap() as usize;
        assert!(dictionary.strings.segments.len() > 4);
        assert_eq!((dictionary.len(), dictionary.longest()), (code + 1, long.len()));
        let expected: Vec<Vec<u8>> =
            (0..dictionary.len()).map(|code| dictionary.strings.get(code as u32).to_vec()).collect();
        let bytes = dictionary.bytes();
        let array = block_on(dictionary.finish_in_pieces(&mut Pieces::begin())).unwrap();
        assert_eq!(array.value_data().len(), bytes);
        assert!(array.iter().map(Option::unwrap).eq(expected.iter().map(Vec::as_slice)));
        assert_eq!(StringDictionary::default().finish().unwrap().value_offsets(), [0]);
    }
}
