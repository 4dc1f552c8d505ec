//! Entities of XML and HTML, written and read.

use std::sync::Arc;

use squall_types::{DataType, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn resolve_encode(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            for byte in strings.get(row) {
                match byte {
                    b'<' => out.extend_from_slice(b"&lt;"),
                    b'>' => out.extend_from_slice(b"&gt;"),
                    b'&' => out.extend_from_slice(b"&amp;"),
                    b'"' => out.extend_from_slice(b"&quot;"),
                    b'\'' => out.extend_from_slice(b"&apos;"),
                    other => out.push(*other),
                }
            }
            Ok(())
        })
    })
}

/// `decodeXMLComponent`, which knows five names, and `decodeHTMLComponent`, which knows HTML's; both read numbers.
pub(super) fn resolve_decode(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let is_html = call.name.contains("HTML");
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            let text = strings.get(row);
            checkpoint(4 * text.len())?;
            decode(text, out, if is_html { html_entity } else { xml_entity });
            Ok(())
        })
    })
}

/// The longest entity, without its ampersand and semicolon: `CounterClockwiseContourIntegral` of HTML.
const ENTITY_BYTES_MAX: usize = 31;

/// Appends a text with what its entities stand for. What is no whole entity, from `&` to `;`, stays as it is.
fn decode(mut text: &[u8], out: &mut Vec<u8>, named: fn(&[u8]) -> Option<Vec<u8>>) {
    while let Some(at) = memchr::memchr(b'&', text) {
        let (before, rest) = text.split_at(at);
        out.extend_from_slice(before);
        let length = rest.iter().take(ENTITY_BYTES_MAX + 2).position(|byte| *byte == b';');
        let decoded = length.and_then(|length| {
            let name = rest.get(1..length)?;
            numbered(name).or_else(|| named(name))
        });
        match (decoded, length) {
            (Some(decoded), Some(length)) => {
                out.extend_from_slice(&decoded);
                text = rest.get(length + 1..).unwrap_or_default();
            }
            _ => {
                out.push(b'&');
                text = rest.get(1..).unwrap_or_default();
            }
        }
    }
    out.extend_from_slice(text);
}

fn xml_entity(name: &[u8]) -> Option<Vec<u8>> {
    let character = match name {
        b"lt" => b'<',
        b"gt" => b'>',
        b"amp" => b'&',
        b"quot" => b'"',
        b"apos" => b'\'',
        _ => return None,
    };
    Some(vec![character])
}

fn html_entity(name: &[u8]) -> Option<Vec<u8>> {
    if !name.iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let entity = [b"&", name, b";"].concat();
    let decoded = htmlize::unescape_bytes_in(entity.as_slice(), htmlize::Context::General);
    // Some names also count without their semicolon, which then is left: those are another entity's beginning.
    let is_whole = !decoded.ends_with(b";") || name == b"semi";
    is_whole.then(|| decoded.into_owned())
}

/// The character of a number, `#65` or `#x41`. Half of a pair of UTF-16 has three bytes like others.
fn numbered(name: &[u8]) -> Option<Vec<u8>> {
    let number = match name {
        [b'#', b'x' | b'X', digits @ ..] => u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?,
        [b'#', digits @ ..] => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => return None,
    };
    match char::from_u32(number) {
        Some(character) => Some(character.encode_utf8(&mut [0; 4]).as_bytes().to_vec()),
        None if number <= 0xFFFF => {
            let bits = |shift: u32| (number >> shift & 0x3F) as u8;
            Some(vec![0xE0 | bits(12), 0x80 | bits(6), 0x80 | bits(0)])
        }
        None => None,
    }
}
