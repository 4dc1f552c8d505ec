//! `extractTextFromHTML(html)`: the text between tags, white space made one space, without comments, scripts and styles. Entities stay.

use std::sync::Arc;

use squall_types::{DataType, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| *data_type == DataType::String)?;
    call.bind(DataType::String, |arguments, rows| {
        let pages = Strings::of(arguments, 0)?;
        string_column(rows, pages.bytes(rows), |out, row| {
            let page = pages.get(row);
            checkpoint(4 * page.len())?;
            squall_types::reserve(page.len())?;
            append_text(out, page);
            Ok(())
        })
    })
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)
}

/// The place of a byte from a place on, or the end.
fn find(page: &[u8], from: usize, wanted: u8) -> usize {
    let rest = page.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| *byte == wanted).unwrap_or(rest.len())
}

/// Whether more than these bytes stand at a place.
fn begins(page: &[u8], at: usize, with: &[u8]) -> bool {
    page.get(at..).is_some_and(|rest| rest.len() > with.len() && rest.starts_with(with))
}

/// The place after the first `>` that these bytes precede, from a place on; the end where there is none.
fn after_end(page: &[u8], from: usize, closing: &[u8]) -> usize {
    let mut end = find(page, from, b'>');
    while end < page.len() {
        if page.get(from..end).is_some_and(|inside| inside.ends_with(closing)) {
            return end + 1;
        }
        end = find(page, end + 1, b'>');
    }
    page.len()
}

/// The place after a comment; without an end it reaches to the last `>`.
fn after_comment(page: &[u8], mut from: usize) -> usize {
    loop {
        let end = find(page, from, b'>');
        if end >= page.len() {
            return from;
        }
        let closes = end > from + 2 && page.get(..end).is_some_and(|before| before.ends_with(b"--"));
        from = end + 1;
        if closes {
            return from;
        }
    }
}

const CDATA: &[u8] = b"<![CDATA[";

fn append_text(out: &mut Vec<u8>, page: &[u8]) {
    let begin = out.len();
    let mut at = 0;
    while at < page.len() {
        let needs_space = out.len() > begin && out.last() != Some(&b' ');
        at = append_words(out, page, at, needs_space);
        if at >= page.len() {
            break;
        }
        at = if begins(page, at, b"<!--") {
            after_comment(page, at + 4)
        } else if begins(page, at, CDATA) {
            let from = at + CDATA.len();
            let end = after_end(page, from, b"]]");
            let inside = page.get(from..end).unwrap_or_default();
            match inside.strip_suffix(b"]]>") {
                Some(inside) => out.extend_from_slice(inside),
                None => {
                    // Without an end it is text.
                    at = from;
                    continue;
                }
            }
            end
        } else if let Some(end) = after_element(page, at, b"script").or_else(|| after_element(page, at, b"style")) {
            end
        } else {
            (find(page, at, b'>') + 1).min(page.len())
        };
    }
}

/// Appends the words before the next tag, and returns the tag's place.
fn append_words(out: &mut Vec<u8>, page: &[u8], from: usize, needs_space: bool) -> usize {
    let end = find(page, from, b'<');
    let mut is_first = true;
    let text = page.get(from..end).unwrap_or_default();
    let has_words = text.iter().any(|byte| !is_space(*byte));
    if needs_space && has_words {
        out.push(b' ');
    }
    for word in text.split(|byte| is_space(*byte)).filter(|word| !word.is_empty()) {
        if !is_first {
            out.push(b' ');
        }
        is_first = false;
        out.extend_from_slice(word);
    }
    end
}

/// The place after an element of this name with all its content, where one begins.
fn after_element(page: &[u8], at: usize, name: &[u8]) -> Option<usize> {
    if !begins(page, at + 1, name) {
        return None;
    }
    let after_name = at + 1 + name.len();
    page.get(after_name).filter(|byte| is_space(**byte) || **byte == b'>')?;
    let mut place = find(page, after_name, b'>') + 1;
    loop {
        place = find(page, place, b'<');
        if place + 1 >= page.len() {
            return Some(page.len());
        }
        if begins(page, place, CDATA) {
            place = after_end(page, place + CDATA.len(), b"]]");
            continue;
        }
        place += 1;
        if page.get(place) == Some(&b'/') && begins(page, place + 1, name) {
            place += 1 + name.len();
            place += page.get(place..)?.iter().take_while(|byte| is_space(**byte)).count();
            match page.get(place) {
                None => return Some(page.len()),
                Some(b'>') => return Some(place + 1),
                Some(_) => {}
            }
        }
    }
}
