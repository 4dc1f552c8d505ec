//! Text that must be UTF-8 whatever the strings in it are, and how wide text is on a terminal.

/// Replaces what is not UTF-8 in `out` from a position on: each run of bad bytes becomes one U+FFFD.
pub(crate) fn make_valid(out: &mut Vec<u8>, from: usize) {
    let Some(written) = out.get(from..).filter(|written| std::str::from_utf8(written).is_err()) else { return };
    let mut valid = Vec::with_capacity(written.len() + 16);
    let mut is_replaced = false;
    for chunk in written.utf8_chunks() {
        is_replaced &= chunk.valid().is_empty();
        valid.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() && !std::mem::replace(&mut is_replaced, true) {
            valid.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
    out.truncate(from);
    out.extend_from_slice(&valid);
}

/// The columns that text takes on a terminal when it starts at column `start`: tabs go to the next multiple of 8, control
/// characters, escape sequences of colours and bytes that are no characters take none.
pub(crate) fn width(text: &[u8], start: usize) -> usize {
    if text.iter().all(|byte| (0x20..0x7F).contains(byte)) {
        return text.len();
    }
    let mut at = start;
    let mut in_escape = false;
    for character in text.utf8_chunks().flat_map(|chunk| chunk.valid().chars()) {
        match character {
            '\x1b' => in_escape = true,
            _ if in_escape => in_escape = !character.is_ascii_alphabetic(),
            '\t' => at = (at / 8 + 1) * 8,
            _ => at += unicode_width::UnicodeWidthChar::width(character).unwrap_or(0),
        }
    }
    at - start
}

/// The longest front of text that takes no more than `columns` columns.
pub(crate) fn front(text: &[u8], columns: usize) -> &[u8] {
    let mut end = 0;
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            let next = end + character.len_utf8();
            if width(text.get(..next).unwrap_or_default(), 0) > columns {
                return text.get(..end).unwrap_or_default();
            }
            end = next;
        }
        end += chunk.invalid().len();
    }
    text
}
