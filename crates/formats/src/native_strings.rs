//! Strings of the Native format: each with its length before it, so that where a column ends is only known when all lengths were read. A
//! column of megabytes arrives in many pieces; lengths that were read stay read.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use squall_types::{Error, ErrorCode};

use crate::wire::{Cursor, Stop};

/// Longer strings are refused.
const STRING_BYTES_MAX: u64 = i32::MAX as u64;

/// What is known of the strings of a column that has not arrived entirely.
#[derive(Debug, Default)]
pub(crate) struct StringLengths {
    /// Where each string ends among the bytes of all.
    ends: Vec<i32>,
    /// Bytes of the input that these strings take, lengths included.
    bytes: usize,
}

impl StringLengths {
    /// Reads `rows` strings. After `Incomplete` the call is repeated with the same bytes, and those that follow.
    ///
    /// # Errors
    /// `Incomplete`, `TOO_LARGE_STRING_SIZE`.
    pub(crate) fn read(
        &mut self,
        rows: usize,
        nulls: Option<NullBuffer>,
        input: &mut Cursor<'_>,
    ) -> Result<ArrayRef, Stop> {
        // Each takes a byte at least: nothing is reserved for rows that cannot be here.
        if input.rest().len() < rows {
            return Err(Stop::Incomplete);
        }
        let start = input.position();
        self.ends.reserve(rows + 1 - self.ends.len().min(rows));
        if self.ends.is_empty() {
            self.ends.push(0);
        }
        input.advance(self.bytes);
        let mut end = self.ends.last().copied().unwrap_or(0);
        while self.ends.len() <= rows {
            let length = input.string(STRING_BYTES_MAX)?.len();
            end = i32::try_from(length).ok().and_then(|length| end.checked_add(length)).ok_or_else(|| {
                Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block")
            })?;
            self.ends.push(end);
            self.bytes = input.position() - start;
        }
        input.seek(start);
        let mut bytes = Vec::with_capacity(end as usize);
        for _ in 0..rows {
            bytes.extend_from_slice(input.string(STRING_BYTES_MAX)?);
        }
        let ends = std::mem::take(self).ends;
        Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), nulls).map_err(Error::from)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::put_string;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    #[test]
    fn strings_come_back_whatever_the_pieces() {
        let strings: Vec<Vec<u8>> = (0..100).map(|row| vec![b'x'; row * row % 301]).collect();
        let mut bytes = vec![7];
        strings.iter().for_each(|string| put_string(&mut bytes, string));
        bytes.push(9);
        for piece in [1, 100, 5000, usize::MAX] {
            let mut lengths = StringLengths::default();
            let mut shown = 0;
            let found = loop {
                shown = bytes.len().min(piece.saturating_add(shown));
                let mut input = Cursor::new(&bytes[..shown]);
                input.advance(1);
                match lengths.read(strings.len(), None, &mut input) {
                    Ok(found) => {
                        assert_eq!(input.position(), bytes.len() - 1);
                        break found;
                    }
                    Err(Stop::Incomplete) => assert!(shown < bytes.len()),
                    Err(Stop::Bad(error)) => panic!("{error}"),
                }
            };
            let found: Vec<&[u8]> = found.as_binary::<i32>().iter().flatten().collect();
            assert_eq!(found, strings);
        }
        let nothing = StringLengths::default().read(0, None, &mut Cursor::new(&[])).unwrap();
        assert_eq!(nothing.len(), 0);
    }

    #[test]
    fn a_string_without_end_is_an_error() {
        let mut input = Cursor::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F]);
        let stop = StringLengths::default().read(1, None, &mut input).unwrap_err();
        assert_eq!(stop.into_error().code, ErrorCode::TOO_LARGE_STRING_SIZE);
    }
}
