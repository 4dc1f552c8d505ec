//! Searching all strings of a column at once. The strings lie one after the other in one buffer, so a constant needle is looked for
//! in the buffer, and rows are found from where it matches: a row without a match costs nothing but its bytes.

use arrow_array::{Array, BinaryArray};
use arrow_buffer::OffsetBuffer;
use squall_types::{Result, reserve};

use super::utf8::count_characters;

/// Calls `found(row, at)` with the first match in each row that has one, ascending. `find(haystack, from)` gives the first match
/// at or after `from`, as its start and end; matches are never empty.
pub(super) fn first_matches(
    strings: &BinaryArray,
    mut find: impl FnMut(&[u8], usize) -> Option<(usize, usize)>,
    mut found: impl FnMut(usize, usize),
) {
    let offsets = strings.value_offsets();
    let rows = strings.len();
    let end = offsets[rows] as usize;
    let data = &strings.value_data()[..end];
    let mut from = offsets[0] as usize;
    let mut row = 0;
    while from < end
        && let Some((start, after)) = find(data, from)
    {
        while offsets[row + 1] as usize <= start {
            row += 1;
        }
        let row_end = offsets[row + 1] as usize;
        if after <= row_end {
            found(row, start - offsets[row] as usize);
            from = row_end;
        } else {
            // It runs into the next row. Another may begin inside it.
            from = start + 1;
        }
    }
}

/// The lower case of ASCII letters.
pub(in crate::scalar) fn fold_ascii(bytes: &[u8]) -> Vec<u8> {
    bytes.to_ascii_lowercase()
}

/// Strings with the lower case of ASCII letters.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub(super) fn fold_rows(strings: &BinaryArray) -> Result<BinaryArray> {
    let offsets = strings.value_offsets();
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let bytes = &strings.value_data()[first as usize..last as usize];
    reserve(bytes.len() + 4 * offsets.len())?;
    let offsets = OffsetBuffer::new(offsets.iter().map(|offset| offset - first).collect());
    Ok(BinaryArray::try_new(offsets, fold_ascii(bytes).into(), None)?)
}

/// The lower case of all letters, a character for a character, so that positions stay.
pub(in crate::scalar) fn fold_characters(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let lower = character.to_lowercase().next().unwrap_or(character);
            out.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}

/// What a position counts, and what letters are one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mode {
    pub any_case: bool,
    pub characters: bool,
}

impl Mode {
    /// The mode that a function's name says.
    pub fn of(name: &str) -> Self {
        Self { any_case: name.contains("CaseInsensitive"), characters: name.ends_with("UTF8") }
    }

    /// The string with its letters folded, where they are.
    pub fn fold<'a>(self, bytes: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
        match (self.any_case, self.characters) {
            (false, _) => bytes.into(),
            (true, false) => fold_ascii(bytes).into(),
            (true, true) => fold_characters(bytes).into(),
        }
    }

    /// An offset in bytes as an offset in what positions count.
    pub fn count(self, haystack: &[u8], offset: usize) -> usize {
        if self.characters { count_characters(&haystack[..offset]) } else { offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_do_not_cross_rows() {
        let strings = BinaryArray::from_iter_values(["ab", "ba", "", "aba", "xxab", "a", "b"]);
        let mut rows = Vec::new();
        let find =
            |data: &[u8], from: usize| memchr::memmem::find(&data[from..], b"ab").map(|at| (from + at, from + at + 2));
        first_matches(&strings, find, |row, at| rows.push((row, at)));
        assert_eq!(rows, [(0, 0), (3, 0), (4, 2)]);
        rows.clear();
        first_matches(&strings.slice(3, 2), find, |row, at| rows.push((row, at)));
        assert_eq!(rows, [(0, 0), (1, 2)]);
    }
}
