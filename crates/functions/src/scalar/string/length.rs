//! `length`, `empty` and their kin, of strings, arrays and maps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::json::paths::OtherPaths;
use squall_types::{Column, DataType, Error, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument, primitive_column};

use super::utf8::count_characters;

pub(super) fn resolve_length(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| {
        data_type.is_string_or_fixed_string() || matches!(data_type, DataType::Array(_) | DataType::Map(..))
    })?;
    call.bind(DataType::UInt64, |arguments, rows| {
        let lengths = lengths(argument(arguments, 0)?, rows)?.map(|length| length as u64).collect();
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, lengths))
    })
}

/// The number of bytes or items of each row.
fn lengths(column: &Column, rows: usize) -> Result<Box<dyn Iterator<Item = usize> + '_>> {
    let array = column.array();
    let offsets = match (array.as_binary_opt::<i32>(), array.as_list_opt::<i32>(), array.as_fixed_size_binary_opt()) {
        (Some(strings), ..) => strings.offsets(),
        (_, Some(lists), _) => lists.offsets(),
        (.., Some(fixed)) => return Ok(Box::new(std::iter::repeat_n(fixed.value_length() as usize, rows))),
        _ => return Err(Error::logical("values without a length")),
    };
    let mut lengths = offsets.lengths();
    Ok(match column.is_constant() {
        true => Box::new(std::iter::repeat_n(lengths.next().unwrap_or(0), rows)),
        false => Box::new(lengths),
    })
}

pub(super) fn resolve_length_utf8(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::UInt64, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| count_characters(strings.get(row)) as u64))
    })
}

pub(super) fn resolve_empty(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.each([0], |data_type| {
        data_type.is_string_or_fixed_string()
            || matches!(
                data_type,
                DataType::Array(_)
                    | DataType::Map(..)
                    | DataType::UUID
                    | DataType::IPv6
                    | DataType::IPv4
                    | DataType::Json(_)
            )
    })?;
    let wanted = call.name == "empty";
    call.bind(DataType::UInt8, move |arguments, rows| {
        let column = argument(arguments, 0)?;
        if let DataType::FixedString(_) | DataType::UUID | DataType::IPv6 = column.data_type() {
            let strings = Strings::of(arguments, 0)?;
            let is_empty = |row| strings.get(row).iter().all(|&byte| byte == 0);
            return Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(is_empty(row) == wanted)));
        }
        if let DataType::Json(json) = column.data_type() {
            // A path with a type is always there.
            let array = column.to_array()?;
            let others = OtherPaths::of(&array)?;
            let is_empty = |row| json.typed.is_empty() && others.row(row).is_empty();
            return Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(is_empty(row) == wanted)));
        }
        if *column.data_type() == DataType::IPv4 {
            let numbers = crate::scalar::simple::Numbers::<arrow_array::types::UInt32Type>::of(arguments, 0)?;
            let is_empty = |row| numbers.get(row) == 0;
            return Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(is_empty(row) == wanted)));
        }
        let flags = lengths(column, rows)?.map(|length| u8::from((length == 0) == wanted)).collect();
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, flags))
    })
}
