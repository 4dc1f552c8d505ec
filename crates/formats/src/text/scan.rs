//! Finds where rows and values of nested text end, without reading them: brackets are counted, strings passed over. So readers of values
//! see whole rows only, whatever pieces the input comes in.

use squall_types::{Error, ErrorCode};

use crate::wire::{Cursor, Stop};

/// The deepest nesting of brackets in text.
const DEPTH_MAX: usize = 1000;

/// For each byte whether it is a bracket, a quote, a backslash or a comma.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"()[]{}'\"`\\,:";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// Bytes of a word that are zero, by their highest bits: right up to the first of them.
const fn zero_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    word.wrapping_sub(ONES) & !word & ONES << 7
}

/// The first place of one of three bytes. Fields of text are mostly so short that calling [`memchr::memchr3`] takes longer than looking.
#[inline]
pub(crate) fn find_field_end(ends: [u8; 3], text: &[u8]) -> Option<usize> {
    const WORDS_LOOKED_AT: usize = 2;
    let (words, _) = text.as_chunks::<8>();
    let mut at = 0;
    for word in words.iter().take(WORDS_LOOKED_AT) {
        let word = u64::from_le_bytes(*word);
        let found = ends.map(|end| zero_bytes(word ^ u64::from_le_bytes([end; 8])));
        // Each is right up to its first place, so the first of all is.
        let first = found.map(|found| found & found.wrapping_neg()).into_iter().fold(0, |all, first| all | first);
        if first != 0 {
            return Some(at + first.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let [first, second, third] = ends;
    memchr::memchr3(first, second, third, text.get(at..)?).map(|found| at + found)
}

/// What ends a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    /// The bracket that closes the one at the start.
    Close,
    /// A comma or a closing bracket outside all brackets that open on the way; it is not part of what is scanned.
    Separator,
}

/// The length of the text at the cursor up to its end; strings are in the quotes given.
///
/// # Errors
/// `Incomplete` where the end is not there; `TOO_DEEP_RECURSION`.
pub(crate) fn scan(input: &Cursor<'_>, until: Until, quotes: &[u8]) -> Result<usize, Stop> {
    let text = input.rest();
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.iter().position(|byte| SPECIAL[*byte as usize])) {
        at += found;
        match text.get(at).copied().unwrap_or_default() {
            b'(' | b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(Stop::Bad(Error::new(
                        ErrorCode::TOO_DEEP_RECURSION,
                        "Too deep nesting of brackets in the input",
                    )));
                }
            }
            b')' | b']' | b'}' => {
                match until {
                    Until::Separator if depth == 0 => return Ok(at),
                    Until::Close if depth <= 1 => return Ok(at + 1),
                    _ => {}
                }
                depth = depth.saturating_sub(1);
            }
            b',' if depth == 0 && until == Until::Separator => return Ok(at),
            quote if quotes.contains(&quote) => {
                at += 1;
                loop {
                    let Some(end) = text.get(at..).and_then(|rest| memchr::memchr2(quote, b'\\', rest)) else {
                        return end_of_text(input, until, text.len());
                    };
                    at += end;
                    if text.get(at) == Some(&quote) {
                        break;
                    }
                    // A backslash and the byte after it.
                    at += 2;
                }
            }
            _ => {}
        }
        at += 1;
    }
    end_of_text(input, until, text.len())
}

fn end_of_text(input: &Cursor<'_>, until: Until, length: usize) -> Result<usize, Stop> {
    if input.is_last() && until == Until::Separator { Ok(length) } else { Err(Stop::Incomplete) }
}

/// Moves past white space.
pub(crate) fn skip_spaces(input: &mut Cursor<'_>) {
    let rest = input.rest();
    input.advance(rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len()));
}
