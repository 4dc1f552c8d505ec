//! The bytes of a part's file while it is made: in segments, so that nothing is copied when there are more of them.

use std::hash::Hasher;
use std::io::{Result, Write};
use std::ops::Range;

use twox_hash::XxHash3_64;

/// Bytes of a segment.
const SEGMENT_BYTES: usize = 1 << 20;

/// A file in memory.
#[derive(Default)]
pub(in crate::merge_tree) struct PartBytes {
    /// All but the last are full.
    segments: Vec<Vec<u8>>,
}

impl PartBytes {
    pub(in crate::merge_tree) fn len(&self) -> u64 {
        let last = self.segments.last().map_or(0, |last| last.len() as u64);
        self.segments.len().saturating_sub(1) as u64 * SEGMENT_BYTES as u64 + last
    }

    /// All bytes, segment by segment.
    pub(in crate::merge_tree) fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().map(Vec::as_slice)
    }

    /// The parts of a range, in their order; `None` where it goes beyond the end.
    fn slices(&self, range: Range<u64>) -> Option<impl Iterator<Item = &[u8]>> {
        let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
        if start > end || range.end > self.len() {
            return None;
        }
        Some((start / SEGMENT_BYTES..end.div_ceil(SEGMENT_BYTES)).filter_map(move |number| {
            let first = number * SEGMENT_BYTES;
            let segment = self.segments.get(number)?;
            segment.get(start.saturating_sub(first)..segment.len().min(end - first))
        }))
    }

    /// The checksum of a range; `None` where it goes beyond the end.
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

    /// All bytes, one after the other.
    pub(in crate::merge_tree) fn into_vec(self) -> Vec<u8> {
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
        assert_eq!(bytes.into_vec(), written);
    }
}
