//! `format`: the texts of arguments put into the places of a constant pattern.

use std::sync::Arc;

use squall_types::text::{TextStyle, ValueWriter};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, string_column};

/// A piece of the pattern.
enum Piece {
    Text(Vec<u8>),
    /// The argument of this number, the first being 0.
    Argument(usize),
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=usize::MAX)?;
    let pieces = parse(call.constant_bytes(0)?, call.arguments.len() - 1)?;
    let options = call.text_options()?;
    call.bind(DataType::String, move |arguments, rows| {
        let values = arguments.get(1..).unwrap_or_default();
        let writer = |column| ValueWriter::new(column, TextStyle::Plain, &options);
        let mut writers = values.iter().map(writer).collect::<Result<Vec<_>>>()?;
        let bytes = values.iter().map(squall_types::Column::value_bytes).sum();
        string_column(rows, bytes, |out, row| {
            for piece in &pieces {
                match piece {
                    Piece::Text(text) => out.extend_from_slice(text),
                    Piece::Argument(at) => writers[*at].write(out, row),
                }
            }
            Ok(())
        })
    })
}

fn parse(pattern: &[u8], arguments: usize) -> Result<Vec<Piece>> {
    let bad = |message: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut next = 0;
    // Whether places have numbers, as soon as one is seen.
    let mut numbered = None;
    let mut at = 0;
    while let Some(&byte) = pattern.get(at) {
        let doubled = pattern.get(at + 1) == Some(&byte);
        match byte {
            b'{' | b'}' if doubled => {
                text.push(byte);
                at += 2;
            }
            b'}' => return bad(&format!("Closed curly brace without open one at position {at}")),
            b'{' => {
                let rest = pattern.get(at + 1..).unwrap_or_default();
                let Some(end) = rest.iter().position(|&byte| byte == b'}') else {
                    return bad("Last open curly brace is not closed");
                };
                let inside = rest.get(..end).unwrap_or_default();
                let is_numbered = !inside.is_empty();
                if numbered.is_some_and(|numbered| numbered != is_numbered) {
                    return bad(if is_numbered {
                        "Cannot switch from automatic field numbering to manual field specification"
                    } else {
                        "Cannot switch from manual field specification to automatic field numbering"
                    });
                }
                numbered = Some(is_numbered);
                let argument = if is_numbered {
                    match std::str::from_utf8(inside).ok().and_then(|number| number.parse().ok()) {
                        Some(number) if inside.iter().all(u8::is_ascii_digit) => number,
                        _ => return bad("Not a number in curly braces"),
                    }
                } else {
                    next += 1;
                    next - 1
                };
                if argument >= arguments {
                    return bad("Not enough arguments to fill the placeholders in the format string");
                }
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Argument(argument));
                at += end + 2;
            }
            other => {
                text.push(other);
                at += 1;
            }
        }
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}
