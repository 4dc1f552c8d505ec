//! Escaping of strings: backslashes for TabSeparated and quoted literals, doubled quotes for CSV, JSON's strings.

use std::borrow::Cow;

use crate::error::{Error, ErrorCode, Result};

/// For each byte the letter after the backslash that escapes it in TabSeparated and in quoted strings; 0 for bytes that stand for
/// themselves.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    table[0x08] = b'b';
    table[0x0C] = b'f';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\t' as usize] = b't';
    table[0] = b'0';
    table[b'\'' as usize] = b'\'';
    table[b'\\' as usize] = b'\\';
    table
};

/// The first byte of the separators of lines and paragraphs, and of many other letters.
const SEPARATOR: u8 = 0xE2;

/// The same for JSON; `u` stands for `\u00XX`.
const JSON_ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = b'u';
        control += 1;
    }
    table[0x08] = b'b';
    table[0x0C] = b'f';
    table[b'\n' as usize] = b'n';
    table[b'\r' as usize] = b'r';
    table[b'\t' as usize] = b't';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table
};

/// The position of the first byte that is special. `may_be` is true for all special bytes and few others, in comparisons alone: the compiler
/// makes vector instructions of them, and most texts hold nothing special for 16 bytes and more.
#[inline]
fn first_special(bytes: &[u8], may_be: impl Fn(u8) -> bool, is: impl Fn(u8) -> bool) -> Option<usize> {
    let (chunks, rest) = bytes.as_chunks::<16>();
    for (number, chunk) in chunks.iter().enumerate() {
        if chunk.iter().fold(0, |any, byte| any | u8::from(may_be(*byte))) != 0
            && let Some(at) = chunk.iter().position(|byte| is(*byte))
        {
            return Some(number * 16 + at);
        }
    }
    rest.iter().position(|byte| is(*byte)).map(|at| bytes.len() - rest.len() + at)
}

/// Appends `bytes` with backslash escapes, without quotes: a field of TabSeparated.
#[inline]
pub fn append_escaped(out: &mut Vec<u8>, mut bytes: &[u8]) {
    let may_be = |byte: u8| (byte < 0x0E) | (byte == b'\'') | (byte == b'\\');
    while let Some(at) = first_special(bytes, may_be, |byte| ESCAPES[byte as usize] != 0) {
        let (before, rest) = bytes.split_at(at);
        out.extend_from_slice(before);
        if let Some((special, rest)) = rest.split_first() {
            out.extend_from_slice(&[b'\\', ESCAPES[*special as usize]]);
            bytes = rest;
        }
    }
    out.extend_from_slice(bytes);
}

/// Appends `bytes` as a literal in single quotes.
#[inline]
pub fn append_quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'\'');
    append_escaped(out, bytes);
    out.push(b'\'');
}

/// Appends `bytes` in double quotes with double quotes doubled: a field of CSV.
#[inline]
pub fn append_csv(out: &mut Vec<u8>, mut bytes: &[u8]) {
    out.push(b'"');
    let is_quote = |byte: u8| byte == b'"';
    while let Some(at) = first_special(bytes, is_quote, is_quote) {
        let (before, rest) = bytes.split_at(at + 1);
        out.extend_from_slice(before);
        out.push(b'"');
        bytes = rest;
    }
    out.extend_from_slice(bytes);
    out.push(b'"');
}

/// Appends `bytes` as a JSON string. Slashes are escaped as ClickHouse does by default; bytes that are not UTF-8 are passed on.
#[inline]
pub fn append_json(out: &mut Vec<u8>, mut bytes: &[u8], escape_slashes: bool) {
    out.push(b'"');
    let slash = if escape_slashes { b'/' } else { b'"' };
    let may_be = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\') | (byte == slash) | (byte == SEPARATOR);
    let is = |byte: u8| byte == SEPARATOR || JSON_ESCAPES[byte as usize] != 0 && (byte != b'/' || escape_slashes);
    while let Some(at) = first_special(bytes, may_be, is) {
        let (before, rest) = bytes.split_at(at);
        out.extend_from_slice(before);
        if let Some((special, mut rest)) = rest.split_first() {
            match JSON_ESCAPES[*special as usize] {
                b'u' => {
                    const HEX: &[u8; 16] = b"0123456789ABCDEF";
                    out.extend_from_slice(b"\\u00");
                    out.extend_from_slice(&[HEX[(special >> 4) as usize], HEX[(special & 15) as usize]]);
                }
                0 => match rest {
                    // U+2028 and U+2029 end a line of JavaScript.
                    [0x80, last @ (0xA8 | 0xA9), after @ ..] => {
                        out.extend_from_slice(if *last == 0xA8 { b"\\u2028" } else { b"\\u2029" });
                        rest = after;
                    }
                    _ => out.push(*special),
                },
                letter => out.extend_from_slice(&[b'\\', letter]),
            }
            bytes = rest;
        }
    }
    out.extend_from_slice(bytes);
    out.push(b'"');
}

/// Appends what the escape sequence after a backslash stands for; `rest` begins after the backslash. Returns the bytes read.
fn append_unescaped(out: &mut Vec<u8>, rest: &[u8]) -> Result<usize> {
    let Some(letter) = rest.first() else {
        return Err(Error::new(
            ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE,
            "Cannot parse escape sequence: end of string after '\\'",
        ));
    };
    let byte = match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'e' => 0x1B,
        b'f' => 0x0C,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0B,
        b'0' => 0,
        b'N' => return Ok(1),
        b'x' => {
            let digits = rest.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(|| {
                Error::new(
                    ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE,
                    "Cannot parse escape sequence: two hexadecimal digits must follow \\x",
                )
            })?;
            out.push(byte);
            return Ok(3);
        }
        other => {
            // A backslash before anything else that need not be escaped stands for itself: regular expressions survive. Before a
            // control character it is how some clients write one.
            if !matches!(other, b'\\' | b'`' | b'"' | b'\'' | b'/' | ..0x20) {
                out.push(b'\\');
            }
            *other
        }
    };
    out.push(byte);
    Ok(1)
}

/// The bytes of a field of TabSeparated, borrowed where nothing is escaped.
///
/// # Errors
/// `CANNOT_PARSE_ESCAPE_SEQUENCE`.
pub fn unescape(field: &[u8]) -> Result<Cow<'_, [u8]>> {
    let Some(first) = memchr::memchr(b'\\', field) else { return Ok(Cow::Borrowed(field)) };
    let mut out = Vec::with_capacity(field.len());
    let (before, mut rest) = field.split_at(first);
    out.extend_from_slice(before);
    while let Some((first, after)) = rest.split_first() {
        if *first == b'\\' {
            let read = append_unescaped(&mut out, after)?;
            rest = after.get(read..).unwrap_or_default();
        } else {
            out.push(*first);
            rest = after;
        }
    }
    Ok(Cow::Owned(out))
}

/// Appends the contents of a literal in single quotes at the front of `input`; returns the bytes read, quotes included. A doubled
/// quote is a quote.
///
/// # Errors
/// `CANNOT_PARSE_QUOTED_STRING`, `CANNOT_PARSE_ESCAPE_SEQUENCE`.
pub fn read_quoted(out: &mut Vec<u8>, input: &[u8]) -> Result<usize> {
    if input.first() != Some(&b'\'') {
        let found = input.first().map_or_else(|| "end of input".to_owned(), |byte| format!("'{}'", char::from(*byte)));
        return Err(Error::new(
            ErrorCode::CANNOT_PARSE_QUOTED_STRING,
            format!("Cannot parse quoted string: expected opening quote ''', got {found}"),
        ));
    }
    let mut at = 1;
    loop {
        let rest = input.get(at..).unwrap_or_default();
        let Some(special) = rest.iter().position(|byte| matches!(byte, b'\'' | b'\\')) else {
            return Err(Error::new(
                ErrorCode::CANNOT_PARSE_QUOTED_STRING,
                "Cannot parse quoted string: expected closing quote",
            ));
        };
        let (before, rest) = rest.split_at(special);
        out.extend_from_slice(before);
        at += special + 1;
        match rest {
            [b'\'', b'\'', ..] => {
                out.push(b'\'');
                at += 1;
            }
            [b'\'', ..] => return Ok(at),
            _ => at += append_unescaped(out, rest.get(1..).unwrap_or_default())?,
        }
    }
}

/// Appends the contents of a JSON string at the front of `input`; returns the bytes read, quotes included.
///
/// # Errors
/// `CANNOT_PARSE_QUOTED_STRING`, `CANNOT_PARSE_ESCAPE_SEQUENCE`.
pub fn read_json_string(out: &mut Vec<u8>, input: &[u8]) -> Result<usize> {
    if input.first() != Some(&b'"') {
        return Err(Error::new(
            ErrorCode::CANNOT_PARSE_QUOTED_STRING,
            "Cannot parse JSON string: expected opening quote",
        ));
    }
    let mut at = 1;
    loop {
        let rest = input.get(at..).unwrap_or_default();
        let Some(special) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            return Err(Error::new(
                ErrorCode::CANNOT_PARSE_QUOTED_STRING,
                "Cannot parse JSON string: expected closing quote",
            ));
        };
        let (before, rest) = rest.split_at(special);
        out.extend_from_slice(before);
        at += special + 1;
        match rest {
            [b'"', ..] => return Ok(at),
            [_, b'u', digits @ ..] => {
                at += 1 + append_utf16(out, digits)?;
            }
            _ => at += append_unescaped(out, rest.get(1..).unwrap_or_default())?,
        }
    }
}

/// Appends the character of `\uXXXX` or a surrogate pair `\uXXXX\uXXXX`, read from after the first `u`; returns the bytes read. The second
/// half of a pair alone is three bytes as others are; the first half alone is refused.
fn append_utf16(out: &mut Vec<u8>, input: &[u8]) -> Result<usize> {
    let wrong = |what: &str| {
        Error::new(ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE, format!("Cannot parse escape sequence: {what}"))
    };
    let unit = |input: &[u8]| u16::from_str_radix(std::str::from_utf8(input.get(..4)?).ok()?, 16).ok();
    let first = unit(input).ok_or_else(|| wrong("less than four hexadecimal digits after \\u"))?;
    if let Some(character) = char::from_u32(first.into()) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        return Ok(4);
    }
    if first >= 0xDC00 {
        let bits = |shift: u16| (first >> shift & 0x3F) as u8;
        out.extend_from_slice(&[0xE0 | bits(12), 0x80 | bits(6), 0x80 | bits(0)]);
        return Ok(4);
    }
    let second = input
        .get(4..)
        .and_then(|rest| rest.strip_prefix(b"\\u"))
        .and_then(unit)
        .ok_or_else(|| wrong("missing second part of surrogate pair"))?;
    match char::decode_utf16([first, second]).next() {
        Some(Ok(character)) => {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            Ok(10)
        }
        _ => Err(wrong("incorrect surrogate pair")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        let mut escaped = Vec::new();
        append_escaped(&mut escaped, &all);
        assert_eq!(unescape(&escaped).unwrap(), all);
        let mut quoted = Vec::new();
        append_quoted(&mut quoted, &all);
        let mut read = Vec::new();
        assert_eq!(read_quoted(&mut read, &quoted).unwrap(), quoted.len());
        assert_eq!(read, all);
        let mut json = Vec::new();
        append_json(&mut json, &all, true);
        let mut read = Vec::new();
        assert_eq!(read_json_string(&mut read, &json).unwrap(), json.len());
        assert_eq!(read, all);
    }

    #[test]
    fn a_byte_is_escaped_wherever_it_stands() {
        type Append = fn(&mut Vec<u8>, &[u8]);
        let appends: [Append; 4] = [
            append_escaped,
            append_csv,
            |out, text| append_json(out, text, true),
            |out, text| append_json(out, text, false),
        ];
        for append in appends {
            let of = |text: &[u8]| {
                let mut out = Vec::new();
                append(&mut out, text);
                out
            };
            let quotes = of(b"").len() / 2;
            for byte in 0..=255 {
                let alone = of(&[byte]);
                let escaped = &alone[quotes..alone.len() - quotes];
                for (before, after) in (0..40).map(|before| (before, 39 - before)) {
                    let text = [&vec![b'x'; before][..], &[byte], &vec![b'y'; after]].concat();
                    let expected = [&vec![b'x'; before][..], escaped, &vec![b'y'; after]].concat();
                    let found = of(&text);
                    assert_eq!(&found[quotes..found.len() - quotes], expected, "{byte} after {before}");
                }
            }
        }
    }

    #[test]
    fn odd_sequences() {
        assert_eq!(&*unescape(b"a\\dz\\x41").unwrap(), b"a\\dzA");
        assert_eq!(&*unescape(b"a\\\tb\\\x01").unwrap(), b"a\tb\x01");
        assert_eq!(unescape(b"a\\").unwrap_err().code, ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE);
        let mut out = Vec::new();
        assert_eq!(read_quoted(&mut out, b"'it''s'x").unwrap(), 7);
        assert_eq!(out, b"it's");
        out.clear();
        read_json_string(&mut out, br#""\ud83d\ude00""#).unwrap();
        assert_eq!(out, "😀".as_bytes());
        assert_eq!(read_quoted(&mut out, b"'abc").unwrap_err().code, ErrorCode::CANNOT_PARSE_QUOTED_STRING);
    }
}
