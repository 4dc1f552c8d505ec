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
