//! Bits turned round, counted where they differ, and cut out of strings.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use super::kernel::as_type;
use super::simple::{Call, Function, Numbers, Strings, argument, integers, primitive_column, string_column};
use super::string::check_first;
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("bitHammingDistance", hamming_distance),
    &Function::new("bitRotateLeft", |call| rotate(call, true)).never_throws(),
    &Function::new("bitRotateRight", |call| rotate(call, false)).never_throws(),
    &Function::new("bitSlice", slice),
];

fn width(call: &Call<'_>, at: usize) -> Result<usize> {
    let data_type = call.type_of(at);
    data_type.fixed_width_bytes().filter(|width| data_type.is_integer() && *width <= 8).ok_or_else(|| call.illegal(at))
}

/// How many bits differ: of two integers, or of two strings of one length.
fn hamming_distance(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    if call.type_of(0).is_string_or_fixed_string() {
        call.strings([0, 1])?;
        return call.bind(DataType::UInt64, |arguments, rows| {
            let (lefts, rights) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
            let distance = |row| {
                let (left, right) = (lefts.get(row), rights.get(row));
                if left.len() != right.len() {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        "Function bitHammingDistance requires strings of the same length",
                    ));
                }
                checkpoint(left.len())?;
                Ok(left.iter().zip(right).map(|(left, right)| u64::from((left ^ right).count_ones())).sum())
            };
            let distances = (0..rows).map(distance).collect::<Result<_>>()?;
            Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, distances))
        });
    }
    width(call, 0)?;
    width(call, 1)?;
    // Signs are extended to 64 bits.
    call.bind(DataType::UInt8, |arguments, rows| {
        let arguments = as_type(arguments, &DataType::UInt64)?;
        let (lefts, rights) = (Numbers::<UInt64Type>::of(&arguments, 0)?, Numbers::<UInt64Type>::of(&arguments, 1)?);
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| {
            (lefts.get(row) ^ rights.get(row)).count_ones() as u8
        }))
    })
}

fn rotate(call: &Call<'_>, to_left: bool) -> Bound {
    call.arguments(2..=2)?;
    let bits = 8 * width(call, 0)? as u32;
    call.integers([1])?;
    let result = call.type_of(0).clone();
    call.bind(result.clone(), move |arguments, rows| {
        let amounts = integers(arguments, 1, rows)?;
        let values = as_type(std::slice::from_ref(argument(arguments, 0)?), &DataType::UInt64)?;
        let values = Numbers::<UInt64Type>::of(&values, 0)?;
        let mask = u64::MAX >> (64 - bits);
        let rotated = (0..rows).map(|row| {
            let value = values.get(row) & mask;
            let by = amounts[row].rem_euclid(bits.into()) as u32;
            let by = if to_left || by == 0 { by } else { bits - by };
            if by == 0 { value } else { (value << by | value >> (bits - by)) & mask }
        });
        let rotated = Column::from_primitive::<UInt64Type>(DataType::UInt64, rotated.collect());
        cast(&rotated, &result, &CastOptions::default())
    })
}

/// `bitSlice(string, offset[, length])`: bits from a position, counted from 1 or from the end; zeros fill up the last byte.
fn slice(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    call.strings([0])?;
    call.integers(1..call.arguments.len())?;
    check_first(call)?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let offsets = integers(arguments, 1, rows)?;
        let lengths = if arguments.len() > 2 { Some(integers(arguments, 2, rows)?) } else { None };
        string_column(rows, strings.bytes(rows), |out, row| {
            let bytes = strings.get(row);
            checkpoint(4 * bytes.len())?;
            let all = 8 * bytes.len() as i64;
            let start = match offsets[row] {
                0 => return Ok(()),
                offset @ 1.. => offset - 1,
                offset => all.saturating_add(offset),
            };
            let end = match lengths.as_ref().map(|lengths| lengths[row]) {
                None => all,
                Some(length @ 0..) => start.saturating_add(length).min(all),
                Some(length) => all.saturating_add(length),
            };
            let start = start.max(0);
            let count = (end - start).max(0) as usize;
            let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
            let start = start as usize;
            for from in (0..count).step_by(8) {
                let places = (from..from + 8).map(|at| at < count && bit(start + at));
                out.push(places.fold(0, |byte, is_one| byte << 1 | u8::from(is_one)));
            }
            Ok(())
        })
    })
}
