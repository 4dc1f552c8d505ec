//! `simpleJSON*`: the value behind `"name":` wherever that stands first in a text. Nothing is parsed: fast, and right for JSON that a
//! program wrote without spaces.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use memchr::memmem::Finder;
use squall_types::text::{read_float64, read_integer, read_json_string};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::kernel::bytes_column;
use crate::scalar::simple::{Call, Strings, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// What is searched for: a name in quotes and its colon.
fn finder(call: &Call<'_>) -> Result<Finder<'static>> {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let name = call.constant_bytes(1).map_err(|_| {
        Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument at index 1 for function {} must be constant", call.name),
        )
    })?;
    Ok(Finder::new(&[b"\"", name, b"\":"].concat()).into_owned())
}

/// What stands behind the name.
fn value<'a>(finder: &Finder<'_>, text: &'a [u8]) -> Result<Option<&'a [u8]>> {
    checkpoint(text.len())?;
    Ok(finder.find(text).and_then(|at| text.get(at + finder.needle().len()..)))
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").unwrap_or(value)
}

pub(super) fn resolve_has(call: &Call<'_>) -> Bound {
    let finder = finder(call)?;
    resolve_flag(call, move |text| Ok(value(&finder, text)?.is_some()))
}

pub(super) fn resolve_bool(call: &Call<'_>) -> Bound {
    let finder = finder(call)?;
    resolve_flag(call, move |text| Ok(value(&finder, text)?.is_some_and(|value| value.starts_with(b"true"))))
}

fn resolve_flag(call: &Call<'_>, holds: impl Fn(&[u8]) -> Result<bool> + Send + Sync + 'static) -> Bound {
    call.bind(DataType::UInt8, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        Ok(bytes_column((0..rows).map(|row| holds(texts.get(row)).map(u8::from)).collect::<Result<_>>()?))
    })
}

pub(super) fn resolve_int(call: &Call<'_>) -> Bound {
    let finder = finder(call)?;
    call.bind(DataType::Int64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let number = |row| {
            let value = value(&finder, texts.get(row))?.map(unquoted).unwrap_or_default();
            Ok(read_integer(value, true).map_or(0, |(number, _)| number as i64))
        };
        Ok(Column::from_primitive::<Int64Type>(DataType::Int64, (0..rows).map(number).collect::<Result<_>>()?))
    })
}

pub(super) fn resolve_uint(call: &Call<'_>) -> Bound {
    let finder = finder(call)?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let number = |row| {
            let value = value(&finder, texts.get(row))?.map(unquoted).unwrap_or_default();
            Ok(read_integer(value, false).map_or(0, |(number, _)| number))
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(number).collect::<Result<_>>()?))
    })
}

pub(super) fn resolve_float(call: &Call<'_>) -> Bound {
    let finder = finder(call)?;
    call.bind(DataType::Float64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let number = |row| {
            let value = value(&finder, texts.get(row))?.map(unquoted).unwrap_or_default();
            Ok(read_float64(value).map_or(0.0, |(number, _)| number))
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, (0..rows).map(number).collect::<Result<_>>()?))
    })
}

pub(super) fn resolve_string(call: &Call<'_>) -> Bound {
    let finder = finder(call)?;
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut string = Vec::new();
        string_column(rows, 0, |out, row| {
            string.clear();
            let value = value(&finder, texts.get(row))?.filter(|value| value.first() == Some(&b'"'));
            // What is no valid string counts as empty.
            if value.is_some_and(|value| read_json_string(&mut string, value).is_ok()) {
                out.extend_from_slice(&string);
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_raw(call: &Call<'_>) -> Bound {
    let finder = finder(call)?;
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        string_column(rows, 0, |out, row| {
            out.extend_from_slice(value(&finder, texts.get(row))?.map(raw).unwrap_or_default());
            Ok(())
        })
    })
}

/// The value at the front of a text: up to a comma or a closing brace outside of brackets and quotes; nothing where there is none.
fn raw(text: &[u8]) -> &[u8] {
    let mut ends = Vec::new();
    let mut bytes = text.iter().enumerate().peekable();
    while let Some((at, &byte)) = bytes.next() {
        if ends.last() == Some(&byte) {
            ends.pop();
            continue;
        }
        let is_in_quotes = ends.last() == Some(&b'"');
        match byte {
            // What brackets mean does not count in a string.
            _ if is_in_quotes && byte != b'\\' => {}
            b'[' => ends.push(b']'),
            b'{' => ends.push(b'}'),
            b'"' => ends.push(b'"'),
            b'\\' => {
                bytes.next_if(|(_, next)| **next == b'"');
            }
            b',' | b'}' if ends.is_empty() => return text.get(..at).unwrap_or_default(),
            _ => {}
        }
    }
    &[]
}
