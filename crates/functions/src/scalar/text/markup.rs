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
            if is_html {
                out.extend_from_slice(&htmlize::unescape_bytes_in(text, htmlize::Context::General));
            } else {
                decode_xml(text, out);
            }
            Ok(())
        })
    })
}

/// The longest entity, without its ampersand and semicolon.
const ENTITY_BYTES_MAX: usize = 12;

fn decode_xml(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr::memchr(b'&', text) {
        let (before, rest) = text.split_at(at);
        out.extend_from_slice(before);
        let length = rest.iter().take(ENTITY_BYTES_MAX + 2).position(|byte| *byte == b';');
        let character = length.and_then(|length| entity(rest.get(1..length)?));
        match (character, length) {
            (Some(character), Some(length)) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
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

fn entity(name: &[u8]) -> Option<char> {
    Some(match name {
        b"lt" => '<',
        b"gt" => '>',
        b"amp" => '&',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => {
            char::from_u32(u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?)?
        }
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    })
}
