//! Functions that see how rows come in blocks: numbers of blocks and rows, differences of neighbours. Blocks are handed out to
//! workers, so numbers are unique within a query, and in the order of the rows only where one worker runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::types::{Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt64Type};
use squall_types::{Column, DataType, Result, Value};

use super::neighbour::refuse_deprecated;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, floats, integers, primitive_column};

pub(super) fn resolve_number(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    call.context.moment.note();
    let blocks = AtomicU64::new(0);
    call.bind(DataType::UInt64, move |_, rows| {
        Column::constant(DataType::UInt64, &Value::UInt64(blocks.fetch_add(1, Ordering::Relaxed)), rows)
    })
}

pub(super) fn resolve_size(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    call.bind(DataType::UInt64, |_, rows| Column::constant(DataType::UInt64, &Value::UInt64(rows as u64), rows))
}

pub(super) fn resolve_row(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    call.bind(DataType::UInt64, |_, rows| Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| row as u64)))
}

pub(super) fn resolve_row_in_all(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=0)?;
    call.context.moment.note();
    let seen = AtomicU64::new(0);
    call.bind(DataType::UInt64, move |_, rows| {
        let start = seen.fetch_add(rows as u64, Ordering::Relaxed);
        Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| start + row as u64))
    })
}

pub(super) fn resolve_is_constant(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let known = call.constant(0).is_some();
    // What becomes a constant only when the plan is simplified is one all the same.
    call.bind(DataType::UInt8, move |arguments, rows| {
        let is_constant = known || argument(arguments, 0)?.is_constant();
        Column::constant(DataType::UInt8, &Value::UInt64(is_constant.into()), rows)
    })
}

/// The difference to the row before within the block.
pub(super) fn resolve_difference(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    refuse_deprecated(call)?;
    let return_type = match call.type_of(0) {
        DataType::UInt8 | DataType::Int8 => DataType::Int16,
        DataType::UInt16 | DataType::Int16 | DataType::Date => DataType::Int32,
        DataType::UInt32
        | DataType::Int32
        | DataType::UInt64
        | DataType::Int64
        | DataType::Date32
        | DataType::DateTime(_) => DataType::Int64,
        DataType::Float32 | DataType::Float64 => DataType::Float64,
        _ => return Err(call.illegal(0)),
    };
    let keeps_first = call.name != "runningDifference";
    call.bind(return_type.clone(), move |arguments, rows| {
        if return_type == DataType::Float64 {
            let values = floats(arguments, 0, rows)?;
            let difference = |row: usize| match row.checked_sub(1) {
                Some(before) => values[row] - values[before],
                None => {
                    if keeps_first {
                        values[row]
                    } else {
                        0.0
                    }
                }
            };
            return Ok(primitive_column::<Float64Type>(return_type.clone(), rows, difference));
        }
        let values = integers(arguments, 0, rows)?;
        let difference = |row: usize| match row.checked_sub(1) {
            Some(before) => values[row].wrapping_sub(values[before]),
            None => {
                if keeps_first {
                    values[row]
                } else {
                    0
                }
            }
        };
        Ok(match return_type {
            DataType::Int16 => primitive_column::<Int16Type>(DataType::Int16, rows, |row| difference(row) as i16),
            DataType::Int32 => primitive_column::<Int32Type>(DataType::Int32, rows, |row| difference(row) as i32),
            _ => primitive_column::<Int64Type>(DataType::Int64, rows, difference),
        })
    })
}

/// A column of zeros of `UInt8`.
pub(super) fn zeros(rows: usize) -> Column {
    primitive_column::<UInt8Type>(DataType::UInt8, rows, |_| 0)
}
