//! `trimLeft`, `trimRight`, `trimBoth`: spaces, or any of some characters, taken off the ends.

use std::sync::Arc;

use squall_types::{DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.strings([0])?;
    call.each([1], |data_type| *data_type == DataType::String)?;
    let mut trimmed = [false; 256];
    let bytes = if call.arguments.len() > 1 { call.constant_bytes(1)? } else { b" " };
    bytes.iter().for_each(|&byte| trimmed[usize::from(byte)] = true);
    let (left, right) = (call.name != "trimRight", call.name != "trimLeft");
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            let mut string = strings.get(row);
            while let [first, rest @ ..] = string
                && left
                && trimmed[usize::from(*first)]
            {
                string = rest;
            }
            while let [rest @ .., last] = string
                && right
                && trimmed[usize::from(*last)]
            {
                string = rest;
            }
            out.extend_from_slice(string);
            Ok(())
        })
    })
}
