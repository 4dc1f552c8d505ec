//! Times at even distances, alone or with values.

use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_array::types::{Int64Type, UInt32Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, least_supertype};

use crate::function::BoundFunction;
use crate::scalar::array::{Lists, list_column};
use crate::scalar::simple::{Call, floats, integers};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Times that one row may give.
const TIMES_MAX: i64 = 1_000_000;

/// What the three arguments of a grid are: times of one type, and a distance.
#[derive(Clone)]
struct Grid {
    /// The type of times, with digits enough for the distance.
    time: DataType,
    /// Ticks in a second.
    ticks: i64,
    options: CastOptions,
}

impl Grid {
    fn of(call: &Call<'_>) -> Result<Self> {
        let is_time = |data_type: &DataType| {
            matches!(data_type, DataType::DateTime(_) | DataType::DateTime64(..) | DataType::UInt32)
        };
        call.each([0, 1], is_time)?;
        // A number is the seconds of a time beside one.
        let common = match (call.type_of(0), call.type_of(1)) {
            (DataType::UInt32, other) | (other, DataType::UInt32) => other.clone(),
            (start, end) => least_supertype(&[start.clone(), end.clone()]).map_err(|_| call.illegal(1))?,
        };
        let step = call.type_of(2);
        if !(step.is_integer() || step.is_decimal()) {
            return Err(call.illegal(2));
        }
        let time = match common {
            DataType::DateTime64(digits, zone) => DataType::DateTime64(digits.max(step.scale()), zone),
            DataType::DateTime(zone) if step.scale() > 0 => DataType::DateTime64(step.scale(), zone),
            DataType::UInt32 if step.scale() > 0 => DataType::DateTime64(step.scale(), None),
            other => other,
        };
        let ticks = 10_i64.pow(u32::from(time.time_digits()));
        Ok(Self { time, ticks, options: CastOptions::to_common(call.session_zone()?) })
    }

    /// The first and the last time of each row and the distance between times, in ticks.
    fn bounds(&self, arguments: &[Column], rows: usize) -> Result<Vec<(i64, i64, i64)>> {
        let ends = arguments.iter().take(2).map(|column| cast(column, &self.time, &self.options));
        let ends = ends.collect::<Result<Vec<_>>>()?;
        let (starts, ends) = (integers(&ends, 0, rows)?, integers(&ends, 1, rows)?);
        let steps = floats(arguments, 2, rows)?;
        let bound = |row: usize| {
            let step = (steps[row] * self.ticks as f64).round() as i64;
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
}

fn times(data_type: &DataType, values: Vec<i64>) -> Column {
    match data_type {
        DataType::DateTime64(..) => Column::from_primitive::<Int64Type>(data_type.clone(), values),
        _ => Column::from_primitive::<UInt32Type>(
            data_type.clone(),
            values.into_iter().map(|time| time as u32).collect(),
        ),
    }
}

/// `timeSeriesRange(start, end, step)`.
pub(super) fn resolve_range(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    let grid = Grid::of(call)?;
    let item = grid.time.clone();
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for (start, end, step) in grid.bounds(arguments, rows)? {
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
    let grid = Grid::of(call)?;
    let time = grid.time.clone();
    let value = match call.type_of(3) {
        DataType::Array(item) => item.remove_low_cardinality().remove_nullable(),
        _ => return Err(call.illegal(3)),
    };
    let pair = DataType::tuple([time.clone(), value.clone()]);
    call.bind(DataType::array(pair.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 3)?;
        let nulls = lists.items.nulls().cloned();
        let items = lists.items.without_nulls()?;
        let (mut moments, mut places, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        for (row, (start, end, step)) in grid.bounds(arguments, rows)?.into_iter().enumerate() {
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
                    places.push(at as u32);
                }
            }
            ends.push(places.len() as i32);
        }
        let count = places.len();
        let values = cast(&items.take(&UInt32Array::from(places))?, &value, &grid.options)?;
        let pairs = from_elements(&pair, &[times(&time, moments), values], count)?;
        list_column(&pair, ends, pairs.to_array()?)
    })
}
