//! `Time` and `Time64` plus and minus seconds and intervals, and differences of moments and times with a fraction, which are decimals.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type};
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::text::SECONDS_MAX;
use squall_types::{Column, DataType, Error, ErrorCode, IntervalKind, Result};

use super::illegal_pair;
use crate::function::BoundFunction;
use crate::scalar::kernel::{argument_as, binary};
use crate::scalar::simple::{Call, argument};

type Bound = Result<Option<Arc<dyn BoundFunction>>>;

fn is_clock(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Time | DataType::Time64(_))
}

/// `time + n`, `n + time`, `time + interval`, `interval + time` of a clock; `None` where neither side is one.
pub(super) fn plus(call: &Call<'_>) -> Bound {
    let is_date = |at: usize| matches!(call.type_of(at), DataType::Date | DataType::Date32);
    if is_clock(call.type_of(1)) && is_date(0) {
        return on_day(call, 0, 1);
    }
    if is_clock(call.type_of(0)) && is_date(1) {
        return on_day(call, 1, 0);
    }
    match (is_clock(call.type_of(0)), is_clock(call.type_of(1))) {
        (true, false) => shift(call, 0, 1, 1),
        (false, true) => shift(call, 1, 0, 1),
        (true, true) => Err(illegal_pair(call)),
        (false, false) => Ok(None),
    }
}

/// The moment at which a day's clock shows a time.
fn on_day(call: &Call<'_>, day: usize, time: usize) -> Bound {
    let digits = call.type_of(time).time_digits();
    let is_32 = *call.type_of(day) == DataType::Date && *call.type_of(time) == DataType::Time;
    let result = if is_32 { DataType::DateTime(None) } else { DataType::DateTime64(digits, None) };
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let midnight = cast(argument(arguments, day)?, &DataType::DateTime64(digits, None), &options)?;
        let clock = cast(argument(arguments, time)?, &DataType::Time64(digits), &options)?;
        let wide = DataType::DateTime64(digits, None);
        let moments = binary::<Int64Type, Int64Type, Int64Type>(&wide, &[midnight, clock], rows, i64::wrapping_add)?;
        cast(&moments, &result, &options)
    });
    bound.map(Some)
}

/// `time - n`, `time - interval` and `time - time` of a clock; `None` where neither side is one.
pub(super) fn minus(call: &Call<'_>) -> Bound {
    match (call.type_of(0), call.type_of(1)) {
        (DataType::Time, DataType::Time) => {
            let bound = call.bind(DataType::Int32, |arguments, rows| {
                let arguments: Vec<Column> =
                    arguments.iter().map(|column| column.clone().with_type(DataType::Int32)).collect();
                binary::<Int32Type, Int32Type, Int32Type>(&DataType::Int32, &arguments, rows, i32::wrapping_sub)
            });
            bound.map(Some)
        }
        (left, right) if is_clock(left) && is_clock(right) => {
            let digits = left.time_digits().max(right.time_digits());
            difference(call, DataType::Time64(digits)).map(Some)
        }
        (left, _) if is_clock(left) => shift(call, 0, 1, -1),
        (_, right) if is_clock(right) => Err(illegal_pair(call)),
        _ => Ok(None),
    }
}

/// The difference of two times as ticks of the type that both are brought to: a decimal of as many digits.
pub(super) fn difference(call: &Call<'_>, common: DataType) -> Result<Arc<dyn BoundFunction>> {
    let result = DataType::Decimal(18, common.time_digits());
    call.bind(result.clone(), move |arguments, rows| {
        let options = CastOptions::default();
        let sides = arguments.iter().map(|column| cast(column, &common, &options)).collect::<Result<Vec<_>>>()?;
        binary::<Int64Type, Int64Type, Int64Type>(&result, &sides, rows, i64::wrapping_sub)
    })
}

/// The ticks of a kind of interval that a clock counts with, and how many digits of a second it takes to count it.
fn ticks_of(kind: IntervalKind) -> Option<(i64, u8)> {
    match kind {
        IntervalKind::Nanosecond => Some((1, 9)),
        IntervalKind::Microsecond => Some((1, 6)),
        IntervalKind::Millisecond => Some((1, 3)),
        IntervalKind::Second => Some((1, 0)),
        IntervalKind::Minute => Some((60, 0)),
        IntervalKind::Hour => Some((3600, 0)),
        IntervalKind::Day | IntervalKind::Week | IntervalKind::Month | IntervalKind::Quarter | IntervalKind::Year => {
            None
        }
    }
}

/// The argument at `time` plus or minus the one at `amount`, within the hours that a clock has.
fn shift(call: &Call<'_>, time: usize, amount: usize, sign: i64) -> Bound {
    let (clock, other) = (call.type_of(time), call.type_of(amount));
    let (unit, digits) = match other {
        DataType::Interval(kind) => {
            ticks_of(*kind).filter(|(_, digits)| *digits == 0 || *clock != DataType::Time).ok_or_else(|| {
                Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("add{kind}s cannot be used with {clock}"))
            })?
        }
        number if number.is_number() || *number == DataType::Bool => (1, 0),
        _ => return Err(illegal_pair(call)),
    };
    let result = match clock {
        DataType::Time64(own) => DataType::Time64(digits.max(*own)),
        _ => DataType::Time,
    };
    let ticks = 10i64.pow((result.time_digits() - digits).into()) * unit * sign;
    let bound = call.bind(result.clone(), move |arguments, rows| {
        let wide = DataType::Time64(result.time_digits());
        let times = cast(argument(arguments, time)?, &wide, &CastOptions::default())?;
        let amounts = argument_as(arguments, amount, &DataType::Int64)?;
        let most = SECONDS_MAX * 10i64.pow(wide.time_digits().into());
        let shifted = binary::<Int64Type, Int64Type, Int64Type>(&wide, &[times, amounts], rows, |time, amount| {
            time.saturating_add(amount.saturating_mul(ticks)).clamp(-most, most)
        })?;
        if result == wide {
            return Ok(shifted);
        }
        let seconds = shifted.as_primitive::<Int64Type>()?.values().iter().map(|second| *second as i32).collect();
        Ok(Column::from_primitive::<Int32Type>(result.clone(), seconds))
    });
    bound.map(Some)
}
