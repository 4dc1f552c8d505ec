//! Parts of strings replaced: `replaceOne`, `replaceAll`, `translate`. Regular expressions are in `regexp`.

use std::collections::HashMap;
use std::sync::Arc;

use memchr::memmem;
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint, grow};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=3)?;
    call.strings([0, 1, 2])?;
    let once = call.name == "replaceOne";
    let constant_needle =
        call.constant(1).and_then(|needle| needle.as_bytes()).map(|needle| memmem::Finder::new(needle).into_owned());
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let (needles, replacements) = (Strings::of(arguments, 1)?, Strings::of(arguments, 2)?);
        string_column(rows, strings.bytes(rows), |out, row| {
            let (mut rest, needle, replacement) = (strings.get(row), needles.get(row), replacements.get(row));
            checkpoint(rest.len() / 4)?;
            if needle.is_empty() {
                out.extend_from_slice(rest);
                return Ok(());
            }
            let next = |rest: &[u8]| match &constant_needle {
                Some(finder) => finder.find(rest),
                None => memmem::find(rest, needle),
            };
            while let Some(at) = next(rest) {
                checkpoint(16 + at)?;
                grow(out, at + replacement.len())?;
                out.extend_from_slice(&rest[..at]);
                out.extend_from_slice(replacement);
                if out.len() > i32::MAX as usize {
                    return Err(crate::scalar::simple::too_large());
                }
                rest = &rest[at + needle.len()..];
                if once {
                    break;
                }
            }
            out.extend_from_slice(rest);
            Ok(())
        })
    })
}

pub(super) fn resolve_translate(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=3)?;
    call.strings([0, 1, 2])?;
    let (from, to) = (call.constant_bytes(1)?, call.constant_bytes(2)?);
    let is_ascii = |bytes: &[u8]| bytes.is_ascii();
    if !is_ascii(from) || !is_ascii(to) || from.len() < to.len() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "Second and third arguments of function translate must be ASCII, the third not longer than the second",
        ));
    }
    // Characters past the end of `to` are deleted.
    let map: HashMap<u8, Option<u8>> =
        from.iter().enumerate().rev().map(|(at, &byte)| (byte, to.get(at).copied())).collect();
    let table: Vec<Option<u8>> = (0..=u8::MAX).map(|byte| map.get(&byte).copied().unwrap_or(Some(byte))).collect();
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            out.extend(strings.get(row).iter().filter_map(|&byte| table[usize::from(byte)]));
            Ok(())
        })
    })
}
