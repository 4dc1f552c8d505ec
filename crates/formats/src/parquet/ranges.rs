//! The parts of a file that are in memory, by where they are in it: all of a file that came as a stream, or the few columns that a query
//! reads of one on disk.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

/// Bytes of a file.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    /// The whole file's.
    length: u64,
    /// Where each begins, ascending.
    pieces: Arc<[(u64, Bytes)]>,
}

impl Ranges {
    /// All of a file.
    pub fn whole(file: Bytes) -> Self {
        Self { length: file.len() as u64, pieces: Arc::new([(0, file)]) }
    }

    /// Pieces of a file of this length.
    pub fn new(length: u64, mut pieces: Vec<(u64, Bytes)>) -> Self {
        pieces.sort_unstable_by_key(|(start, _)| *start);
        Self { length, pieces: pieces.into() }
    }

    /// What is there from a place on, within its piece.
    fn from(&self, start: u64) -> Option<Bytes> {
        let at = self.pieces.partition_point(|(first, _)| *first <= start).checked_sub(1)?;
        let (first, bytes) = self.pieces.get(at)?;
        let skipped = usize::try_from(start - first).ok().filter(|skipped| *skipped <= bytes.len())?;
        Some(bytes.slice(skipped..))
    }

    /// So many bytes from a place on; `None` where they are not there.
    pub fn slice(&self, start: u64, length: usize) -> Option<Bytes> {
        self.from(start).filter(|bytes| length <= bytes.len()).map(|bytes| bytes.slice(..length))
    }
}

impl Length for Ranges {
    fn len(&self) -> u64 {
        self.length
    }
}

fn outside() -> ParquetError {
    ParquetError::EOF("a part of the file is wanted that was not read".to_owned())
}

impl ChunkReader for Ranges {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.from(start).map(Buf::reader).ok_or_else(outside)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.slice(start, length).ok_or_else(outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_is_found_by_its_place() {
        let ranges = Ranges::new(100, vec![(50, Bytes::from_static(b"fifty")), (10, Bytes::from_static(b"ten"))]);
        assert_eq!(ranges.slice(11, 2).unwrap(), "en");
        assert_eq!(ranges.slice(50, 5).unwrap(), "fifty");
        for (start, length) in [(0, 1), (9, 2), (10, 4), (13, 1), (55, 1), (99, 1)] {
            assert!(ranges.slice(start, length).is_none(), "{start} {length}");
        }
        assert_eq!(Ranges::whole(Bytes::from_static(b"all")).slice(0, 3).unwrap(), "all");
    }
}
