//! `convertCharset`: strings in other encodings. Those of the WHATWG standard are `encoding_rs`'s; UTF-16, UTF-32, ASCII and true Latin-1,
//! of which the standard writes none, are written here.

use std::sync::Arc;

use encoding_rs::Encoding;
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

/// A way to write text as bytes.
#[derive(Clone, Copy)]
enum Charset {
    /// Code points up to this one, each a byte.
    Bytes(u32),
    /// Units of two bytes.
    Utf16 {
        is_big: bool,
        has_mark: bool,
    },
    /// Units of four bytes.
    Utf32 {
        is_big: bool,
        has_mark: bool,
    },
    Other(&'static Encoding),
}

/// What stands for a character that an encoding has no place for.
const SUBSTITUTE: u8 = 0x1A;

impl Charset {
    fn named(name: &[u8]) -> Result<Self> {
        let name = String::from_utf8_lossy(name);
        let plain: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
        let utf16 = |is_big, has_mark| Ok(Self::Utf16 { is_big, has_mark });
        let utf32 = |is_big, has_mark| Ok(Self::Utf32 { is_big, has_mark });
        match plain.as_str() {
            "utf16" => utf16(true, true),
            "utf16le" => utf16(false, false),
            "utf16be" => utf16(true, false),
            "utf32" => utf32(true, true),
            "utf32le" => utf32(false, false),
            "utf32be" => utf32(true, false),
            "ascii" | "usascii" => Ok(Self::Bytes(0x7F)),
            "latin1" | "iso88591" | "cp819" | "ibm819" => Ok(Self::Bytes(0xFF)),
            _ => {
                let code_page = plain.strip_prefix("cp").or_else(|| plain.strip_prefix("ibm"));
                let windows = code_page.map(|number| format!("windows-{number}"));
                let found = Encoding::for_label(name.as_bytes())
                    .or_else(|| Encoding::for_label(plain.as_bytes()))
                    .or_else(|| windows.and_then(|name| Encoding::for_label(name.as_bytes())));
                found.map(Self::Other).ok_or_else(|| {
                    Error::new(
                        ErrorCode::CANNOT_CREATE_CHARSET_CONVERTER,
                        format!("Cannot create UConverter with charset {name}, error: U_FILE_ACCESS_ERROR"),
                    )
                })
            }
        }
    }

    /// The text of bytes; what is none becomes U+FFFD.
    fn decode(self, bytes: &[u8]) -> String {
        const WRONG: char = char::REPLACEMENT_CHARACTER;
        match self {
            Self::Bytes(most) => {
                bytes.iter().map(|byte| if u32::from(*byte) <= most { char::from(*byte) } else { WRONG }).collect()
            }
            Self::Utf16 { is_big, has_mark } => {
                let (is_big, bytes) = match bytes {
                    [0xFF, 0xFE, rest @ ..] if has_mark => (false, rest),
                    [0xFE, 0xFF, rest @ ..] if has_mark => (true, rest),
                    _ => (is_big, bytes),
                };
                let (units, rest) = bytes.as_chunks::<2>();
                let units = units.iter().map(|unit| match is_big {
                    true => u16::from_be_bytes(*unit),
                    false => u16::from_le_bytes(*unit),
                });
                let mut text: String = char::decode_utf16(units).map(|unit| unit.unwrap_or(WRONG)).collect();
                text.extend((!rest.is_empty()).then_some(WRONG));
                text
            }
            Self::Utf32 { is_big, has_mark } => {
                let (is_big, bytes) = match bytes {
                    [0xFF, 0xFE, 0, 0, rest @ ..] if has_mark => (false, rest),
                    [0, 0, 0xFE, 0xFF, rest @ ..] if has_mark => (true, rest),
                    _ => (is_big, bytes),
                };
                let (units, rest) = bytes.as_chunks::<4>();
                let point = |unit: &[u8; 4]| match is_big {
                    true => u32::from_be_bytes(*unit),
                    false => u32::from_le_bytes(*unit),
                };
                let mut text: String = units.iter().map(|unit| char::from_u32(point(unit)).unwrap_or(WRONG)).collect();
                text.extend((!rest.is_empty()).then_some(WRONG));
                text
            }
            Self::Other(encoding) => encoding.decode_without_bom_handling(bytes).0.into_owned(),
        }
    }

    fn encode(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(most) => out.extend(text.chars().map(|letter| match u32::from(letter) {
                point if point <= most => point as u8,
                _ => SUBSTITUTE,
            })),
            Self::Utf16 { is_big, has_mark } => {
                let (is_big, mark) = if has_mark { (false, Some(0xFEFF)) } else { (is_big, None) };
                for unit in mark.into_iter().chain(text.encode_utf16()) {
                    out.extend_from_slice(&if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() });
                }
            }
            Self::Utf32 { is_big, has_mark } => {
                let (is_big, mark) = if has_mark { (false, Some('\u{FEFF}')) } else { (is_big, None) };
                for letter in mark.into_iter().chain(text.chars()) {
                    let point = u32::from(letter);
                    out.extend_from_slice(&if is_big { point.to_be_bytes() } else { point.to_le_bytes() });
                }
            }
            Self::Other(encoding) => {
                let (bytes, _, has_missing) = encoding.encode(text);
                if !has_missing {
                    out.extend_from_slice(&bytes);
                    return;
                }
                let mut buffer = [0; 4];
                for letter in text.chars() {
                    match encoding.encode(letter.encode_utf8(&mut buffer)) {
                        (_, _, true) => out.push(SUBSTITUTE),
                        (bytes, _, false) => out.extend_from_slice(&bytes),
                    }
                }
            }
        }
    }
}

/// `convertCharset(text, from, to)`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=3)?;
    call.strings([0, 1, 2])?;
    let from = Charset::named(call.constant_bytes(1)?)?;
    let to = Charset::named(call.constant_bytes(2)?)?;
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        string_column(rows, texts.bytes(rows), |out, row| {
            let text = texts.get(row);
            checkpoint(16 * text.len())?;
            squall_types::grow(out, 4 * text.len())?;
            to.encode(&from.decode(text), out);
            Ok(())
        })
    })
}
