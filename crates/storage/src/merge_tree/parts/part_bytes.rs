//! The bytes of a part's file while it is made: in segments, so that nothing is copied when there are more of them.

use std::hash::Hasher;
use std::io::{Result, Write};
use std::ops::Range;

use twox_hash::XxHash3_64;

/// Bytes of a segment; few in tests, so that files of few rows have several.
pub(super) const SEGMENT_BYTES: usize = if cfg!(test) { 1 << 6 } else { 1 << 20 };

/// A file in memory, or the end of one whose beginning is on disk.
#[derive(Default)]
pub(in crate::merge_tree) struct PartBytes {
    /// How many segments are on disk, or on their way there.
    taken: usize,
    /// Those after them. All but the last are full.
    segments: Vec<Vec<u8>>,
}

impl PartBytes {
    /// The file's length.
    pub(in crate::merge_tree) fn len(&self) -> u64 {
        let last = self.segments.last().map_or(0, |last| last.len() as u64);
        (self.taken + self.segments.len().saturating_sub(1)) as u64 * SEGMENT_BYTES as u64 + last
    }

    /// Takes the full segments out, if they have so many bytes together.
    pub(in crate::merge_tree) fn take_full(&mut self, least: usize) -> Vec<Vec<u8>> {
        let full = self.segments.len().saturating_sub(1);
        if full * SEGMENT_BYTES < least {
            return Vec::new();
        }
        self.taken += full;
        self.segments.drain(..full).collect()
    }

    /// All bytes that are in memory, segment by segment.
    pub(in crate::merge_tree) fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().map(Vec::as_slice)
    }

    /// The parts of a range, in their order; `None` where it goes beyond the end, or is in memory no more.
    fn slices(&self, range: Range<u64>) -> Option<impl Iterator<Item = &[u8]>> {
        let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
        if start > end || range.end > self.len() || start < self.taken * SEGMENT_BYTES {
            return None;
        }
        Some((start / SEGMENT_BYTES..end.div_ceil(SEGMENT_BYTES)).filter_map(move |number| {
            let first = number * SEGMENT_BYTES;
            let segment = self.segments.get(number - self.taken)?;
            segment.get(start.saturating_sub(first)..segment.len().min(end - first))
        }))
    }

    /// The checksum of a range; `None` where it goes beyond the end, or is in memory no more.
    pub(in crate::merge_tree) fn checksum(&self, range: Range<u64>) -> Option<u64> {
        let mut hasher = XxHash3_64::new();
        self.slices(range)?.for_each(|slice| hasher.write(slice));
        Some(hasher.finish())
    }

    /// The last bytes, at most so many.
    pub(in crate::merge_tree) fn last(&self, bytes: u64) -> Vec<u8> {
        let range = self.len().saturating_sub(bytes)..self.len();
        self.slices(range).map(|slices| slices.flatten().copied().collect()).unwrap_or_default()
    }

    /// All bytes, one after the other, of a file that is in memory.
    pub(in crate::merge_tree) fn into_vec(self) -> Vec<u8> {
        debug_assert_eq!(self.taken, 0);
        let mut bytes = Vec::with_capacity(self.len() as usize);
        for segment in self.segments {
            bytes.extend_from_slice(&segment);
        }
        bytes
    }
}

impl Write for PartBytes {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.segments.last().is_none_or(|last| last.len() == SEGMENT_BYTES) {
                self.segments.push(Vec::with_capacity(SEGMENT_BYTES));
            }
            if let Some(last) = self.segments.last_mut() {
                let (now, later) = bytes.split_at(bytes.len().min(SEGMENT_BYTES - last.len()));
                last.extend_from_slice(now);
                bytes = later;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_one_file() {
        let written: Vec<u8> = (0..5 * SEGMENT_BYTES / 2).map(|at| (at * 7 % 251) as u8).collect();
        let mut bytes = PartBytes::default();
        written.chunks(SEGMENT_BYTES / 3 + 5).for_each(|some| bytes.write_all(some).unwrap());
        assert_eq!(bytes.len(), written.len() as u64);
        for range in
            [0..0, 0..9, SEGMENT_BYTES - 1..SEGMENT_BYTES + 1, 5..written.len(), SEGMENT_BYTES..2 * SEGMENT_BYTES]
        {
            let found = bytes.checksum(range.start as u64..range.end as u64);
            assert_eq!(found, Some(XxHash3_64::oneshot(&written[range])));
        }
        assert_eq!(bytes.checksum(1..bytes.len() + 1), None);
        assert_eq!(bytes.last(3), written[written.len() - 3..]);
        // The beginning goes to disk; what is behind it is where it was.
        assert!(bytes.take_full(3 * SEGMENT_BYTES).is_empty());
        let mut whole = bytes.take_full(SEGMENT_BYTES).concat();
        assert_eq!(whole, written[..2 * SEGMENT_BYTES]);
        assert_eq!(bytes.len(), written.len() as u64);
        assert_eq!(bytes.checksum(9..10), None);
        bytes.write_all(&written[..SEGMENT_BYTES]).unwrap();
        let range = 2 * SEGMENT_BYTES + 5..3 * SEGMENT_BYTES;
        let expected: Vec<u8> = written.iter().chain(&written[..SEGMENT_BYTES]).copied().collect();
        let found = bytes.checksum(range.start as u64..range.end as u64);
        assert_eq!(found, Some(XxHash3_64::oneshot(&expected[range])));
        bytes.segments().for_each(|segment| whole.extend_from_slice(segment));
        assert_eq!(whole, expected);
    }

    #[test]
    fn a_file_in_memory_is_one_vector() {
        let written: Vec<u8> = (0..SEGMENT_BYTES + 7).map(|at| (at % 251) as u8).collect();
        let mut bytes = PartBytes::default();
        bytes.write_all(&written).unwrap();
        assert_eq!(bytes.into_vec(), written);
    }
}
