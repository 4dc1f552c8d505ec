//! Times at even distances, alone or with values.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::{Lists, list_column};
use crate::scalar::simple::{Call, floats, integers};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Times that one row may give.
const TIMES_MAX: i64 = 1_000_000;

/// The type of times and its ticks in a second.
fn time_type(call: &Call<'_>) -> Result<(DataType, i64)> {
    if call.type_of(0) != call.type_of(1) {
        return Err(call.illegal(1));
    }
    match call.type_of(0) {
        own @ DataType::DateTime(_) => Ok((own.clone(), 1)),
        own @ DataType::DateTime64(digits, _) => Ok((own.clone(), 10_i64.pow((*digits).into()))),
        _ => Err(call.illegal(0)),
    }
}

/// The first and the last time of each row and the distance between times, in ticks.
fn bounds(arguments: &[Column], rows: usize, ticks: i64) -> Result<Vec<(i64, i64, i64)>> {
    let (starts, ends) = (integers(arguments, 0, rows)?, integers(arguments, 1, rows)?);
    let steps = floats(arguments, 2, rows)?;
    let bound = |row: usize| {
        let step = (steps[row] * ticks as f64).round() as i64;
        let refused = |what: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, what.to_owned()));
        if starts[row] > ends[row] {
            return refused("End timestamp is less than start timestamp");
        }
        if step < 0 || step == 0 && starts[row] != ends[row] {
            return refused("Step should be greater than zero");
        }
        let step = step.max(1);
        if (ends[row] - starts[row]) / step >= TIMES_MAX {
            return refused("Too many steps between the timestamps");
        }
        Ok((starts[row], ends[row], step))
    };
    (0..rows).map(bound).collect()
}

fn times(data_type: &DataType, values: Vec<i64>) -> Column {
    match data_type {
        DataType::DateTime(_) => Column::from_primitive::<UInt32Type>(
            data_type.clone(),
            values.into_iter().map(|time| time as u32).collect(),
        ),
        _ => Column::from_primitive::<Int64Type>(data_type.clone(), values),
    }
}

/// `timeSeriesRange(start, end, step)`.
pub(super) fn resolve_range(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    let (item, ticks) = time_type(call)?;
    call.each([2], DataType::is_number)?;
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for (start, end, step) in bounds(arguments, rows, ticks)? {
            for at in 0..=(end - start) / step {
                checkpoint(4)?;
                values.push(start + at * step);
            }
            ends.push(values.len() as i32);
        }
        list_column(&item, ends, times(&item, values).array().clone())
    })
}

/// `timeSeriesFromGrid(start, end, step, values)`: pairs of times and values, without those that are NULL.
pub(super) fn resolve_from_grid(call: &Call<'_>) -> Bound {
    call.arguments(4..=4)?;
    let (time, ticks) = time_type(call)?;
    call.each([2], DataType::is_number)?;
    let value = match call.type_of(3) {
        DataType::Array(item) if item.remove_nullable().is_number() => item.remove_nullable(),
        _ => return Err(call.illegal(3)),
    };
    let value = if value == DataType::Float32 { DataType::Float32 } else { DataType::Float64 };
    let pair = DataType::tuple([time.clone(), value.clone()]);
    call.bind(DataType::array(pair.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 3)?;
        let nulls = lists.items.nulls().cloned();
        let plain = lists.items.without_nulls()?;
        let items = floats(std::slice::from_ref(&plain), 0, plain.rows())?;
        let (mut moments, mut values, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        for (row, (start, end, step)) in bounds(arguments, rows, ticks)?.into_iter().enumerate() {
            let range = lists.range(row);
            checkpoint(8 * range.len())?;
            if range.len() as i64 != (end - start) / step + 1 {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "The number of values doesn't match the number of timestamps in the grid",
                ));
            }
            for (index, at) in range.enumerate() {
                if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(at)) {
                    moments.push(start + index as i64 * step);
                    values.push(items[at]);
                }
            }
            ends.push(values.len() as i32);
        }
        let count = values.len();
        let values = Column::from_primitive::<Float64Type>(DataType::Float64, values);
        let values = cast(&values, &value, &CastOptions::default())?;
        let pairs = from_elements(&pair, &[times(&time, moments), values], count)?;
        list_column(&pair, ends, pairs.to_array()?)
    })
}
