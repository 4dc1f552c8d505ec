//! `bitmaskToList`: the powers of two in an integer, as text.

use std::sync::Arc;

use arrow_buffer::ToByteSlice;
use squall_types::text::append_integer;
use squall_types::{DataType, Error, Result, match_primitive};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, string_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.integers([0])?;
    let width = call.type_of(0).fixed_width_bytes().unwrap_or(8) * 8;
    let signed = call.type_of(0).is_signed_integer();
    call.bind(DataType::String, move |arguments, rows| {
        let column = argument(arguments, 0)?.materialize()?;
        let bits: Vec<u64> = match_primitive!(column.array().data_type(), T => {
            let wide = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            column.as_primitive::<T>()?.values().iter().map(|value| wide(value.to_byte_slice())).collect()
        }, _ => return Err(Error::logical("a bitmask of something else than an integer")));
        string_column(rows, rows * 8, |out, row| {
            let set = (0..width).filter(|bit| bits[row] >> bit & 1 == 1);
            for (at, bit) in set.enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                // The highest bit of a signed type is a negative power.
                if signed && bit + 1 == width {
                    out.push(b'-');
                }
                append_integer(out, 1_u64 << bit);
            }
            Ok(())
        })
    })
}
