//! Rounding: to places before or after the decimal point, to powers of two, and to the steps of reports.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt8Type, UInt16Type, UInt64Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use super::decimal::{Nearest, PLACES_MAX, bind_rounding};
use super::kernel::{argument_as, unary};
use super::simple::{Call, Function, Numbers, argument};
use crate::function::{BoundFunction, ScalarFunction};
use crate::properties::Monotonic;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("round", |call| places(call, Rounding::HalfAwayOrEven)).never_throws(),
    &Function::new("roundBankers", |call| places(call, Rounding::HalfEven)).never_throws(),
    &Function::new("floor", |call| places(call, Rounding::Floor)).never_throws(),
    &Function::new("ceil", |call| places(call, Rounding::Ceil)).never_throws(),
    &Function::new("trunc", |call| places(call, Rounding::Truncate)).never_throws(),
    &Function::new("roundToExp2", round_to_exp2).never_throws(),
    &Function::new("roundDuration", |call| steps(call, &DURATIONS, DataType::UInt16)).never_throws(),
    &Function::new("roundAge", |call| steps(call, &AGES, DataType::UInt8)).never_throws(),
    &Function::new("roundDown", round_down),
];

/// Which neighbour is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// The nearest; from the middle away from zero for integers, to the even one for floats.
    HalfAwayOrEven,
    /// The nearest; from the middle to the even one.
    HalfEven,
    Floor,
    Ceil,
    Truncate,
}

/// 10 to the power of `exponent`, where it fits.
fn power_of_ten(exponent: i64) -> Option<i128> {
    10i128.checked_pow(u32::try_from(exponent).ok()?)
}

fn places(call: &Call<'_>, rounding: Rounding) -> Bound {
    let nearest = match rounding {
        Rounding::HalfAwayOrEven => Nearest::HalfAway,
        Rounding::HalfEven => Nearest::HalfEven,
        Rounding::Floor => Nearest::Floor,
        Rounding::Ceil => Nearest::Ceil,
        Rounding::Truncate => Nearest::Truncate,
    };
    if let Some(bound) = bind_rounding(call, nearest)? {
        return Ok(bound);
    }
    call.arguments(1..=2)?;
    let data_type = call.type_of(0);
    if !data_type.is_number() && *data_type != DataType::Bool {
        return Err(call.illegal(0));
    }
    if call.arguments.len() == 2 {
        call.integers([1])?;
    }
    let constant_places = match call.arguments.get(1) {
        None => Some(0),
        Some(argument) => argument.constant.as_ref().and_then(Value::as_i64),
    };
    let grows = constant_places.is_some_and(|places| places >= 0);
    let call = &call.monotonic_as(grows.then_some(Monotonic::GROWS));
    // Nothing lies behind the point of an integer.
    if !data_type.is_float() && constant_places.is_some_and(|places| places >= 0) {
        return call.bind(data_type.clone(), |arguments, _| Ok(argument(arguments, 0)?.clone()));
    }
    if constant_places.is_some_and(|places| places.abs() > PLACES_MAX) {
        return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale argument for rounding function is too large"));
    }
    let result = if *data_type == DataType::Bool { DataType::UInt8 } else { data_type.clone() };
    call.bind(result.clone(), move |arguments, rows| {
        let wide = argument_as(arguments, 1, &DataType::Int64).ok();
        let places = |row: usize| -> i64 {
            match (constant_places, &wide) {
                (Some(places), _) => places,
                (None, Some(column)) => {
                    Numbers::<Int64Type>::of(std::slice::from_ref(column), 0).map_or(0, |all| all.get(row))
                }
                (None, None) => 0,
            }
        };
        let value = argument(arguments, 0)?;
        match result {
            DataType::Float64 => {
                let values = Numbers::<Float64Type>::of(arguments, 0)?;
                if let (Some(places), Numbers::Varying(values)) = (constant_places, values) {
                    let scale = Scale::new(places);
                    let rounded = values.iter().map(|value| scale.round(*value, rounding)).collect();
                    return Ok(Column::from_primitive::<Float64Type>(result.clone(), rounded));
                }
                let rounded = (0..rows).map(|row| Scale::new(places(row)).round(values.get(row), rounding)).collect();
                Ok(Column::from_primitive::<Float64Type>(result.clone(), rounded))
            }
            DataType::Float32 => {
                let values = Numbers::<Float32Type>::of(arguments, 0)?;
                let rounded = (0..rows).map(|row| Scale::new(places(row)).round32(values.get(row), rounding)).collect();
                Ok(Column::from_primitive::<Float32Type>(result.clone(), rounded))
            }
            DataType::UInt64 => {
                let values = Numbers::<UInt64Type>::of(arguments, 0)?;
                let rounded =
                    (0..rows).map(|row| round_integer(values.get(row).into(), places(row), rounding) as u64).collect();
                Ok(Column::from_primitive::<UInt64Type>(result.clone(), rounded))
            }
            _ => {
                let wide = cast(value, &DataType::Int64, &CastOptions::default())?;
                let columns = [wide];
                let values = Numbers::<Int64Type>::of(&columns, 0)?;
                let rounded =
                    (0..rows).map(|row| round_integer(values.get(row).into(), places(row), rounding) as i64).collect();
                cast(&Column::from_primitive::<Int64Type>(DataType::Int64, rounded), &result, &CastOptions::default())
            }
        }
    })
}

/// A power of ten to multiply or divide by.
#[derive(Clone, Copy)]
struct Scale {
    power: f64,
    is_behind_point: bool,
}

impl Scale {
    fn new(places: i64) -> Self {
        let exponent = places.unsigned_abs().min(400) as i32;
        Self { power: 10f64.powi(exponent), is_behind_point: places >= 0 }
    }

    fn round(self, value: f64, rounding: Rounding) -> f64 {
        let whole = |value: f64| match rounding {
            Rounding::HalfAwayOrEven | Rounding::HalfEven => value.round_ties_even(),
            Rounding::Floor => value.floor(),
            Rounding::Ceil => value.ceil(),
            Rounding::Truncate => value.trunc(),
        };
        if self.power == 1.0 {
            return whole(value);
        }
        let rounded = if self.is_behind_point {
            whole(value * self.power) / self.power
        } else {
            whole(value / self.power) * self.power
        };
        // Places far behind the point overflow; there is nothing there to round.
        if rounded.is_finite() || !value.is_finite() { rounded } else { value }
    }

    fn round32(self, value: f32, rounding: Rounding) -> f32 {
        let whole = |value: f32| match rounding {
            Rounding::HalfAwayOrEven | Rounding::HalfEven => value.round_ties_even(),
            Rounding::Floor => value.floor(),
            Rounding::Ceil => value.ceil(),
            Rounding::Truncate => value.trunc(),
        };
        let power = self.power as f32;
        let rounded = if self.is_behind_point { whole(value * power) / power } else { whole(value / power) * power };
        if rounded.is_finite() || !value.is_finite() { rounded } else { value }
    }
}

fn round_integer(value: i128, places: i64, rounding: Rounding) -> i128 {
    if places >= 0 {
        return value;
    }
    let Some(step) = power_of_ten(-places) else { return 0 };
    let below = value.div_euclid(step);
    let rest = value.rem_euclid(step);
    let up = match rounding {
        Rounding::Floor => false,
        Rounding::Ceil => rest > 0,
        Rounding::Truncate => value < 0 && rest > 0,
        Rounding::HalfAwayOrEven => 2 * rest > step || 2 * rest == step && value > 0,
        Rounding::HalfEven => 2 * rest > step || 2 * rest == step && below % 2 != 0,
    };
    (below + i128::from(up)) * step
}

fn round_to_exp2(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let result = match call.type_of(0) {
        DataType::Bool => DataType::UInt8,
        number if number.is_number() => number.clone(),
        _ => return Err(call.illegal(0)),
    };
    call.bind(result.clone(), move |arguments, rows| match result {
        // A float without its fraction bits is a power of two.
        DataType::Float64 => unary::<Float64Type, Float64Type>(&result, arguments, rows, |value| {
            f64::from_bits(value.to_bits() & !((1 << 52) - 1))
        }),
        DataType::Float32 => unary::<Float32Type, Float32Type>(&result, arguments, rows, |value| {
            f32::from_bits(value.to_bits() & !((1 << 23) - 1))
        }),
        DataType::UInt64 => unary::<UInt64Type, UInt64Type>(&result, arguments, rows, |value| {
            value.checked_ilog2().map_or(0, |exponent| 1 << exponent)
        }),
        _ => {
            let wide = [argument_as(arguments, 0, &DataType::Int64)?];
            let rounded = unary::<Int64Type, Int64Type>(&DataType::Int64, &wide, rows, |value| {
                value.checked_ilog2().map_or(0, |exponent| 1 << exponent)
            })?;
            cast(&rounded, &result, &CastOptions::default())
        }
    })
}

/// Where `roundDuration` has its steps, in seconds.
const DURATIONS: [u16; 15] = [0, 1, 10, 30, 60, 120, 180, 240, 300, 600, 1200, 1800, 3600, 7200, 18_000];
/// The last step, ten hours, past which nothing is.
const DURATION_MAX: u16 = 36_000;
/// The results of `roundAge`.
const AGES: [u16; 7] = [0, 17, 18, 25, 35, 45, 55];

fn steps(call: &Call<'_>, steps: &'static [u16], result: DataType) -> Bound {
    call.arguments(1..=1)?;
    if !call.type_of(0).is_number() && *call.type_of(0) != DataType::Bool {
        return Err(call.illegal(0));
    }
    let is_age = result == DataType::UInt8;
    call.bind(result.clone(), move |arguments, rows| {
        let values = [argument_as(arguments, 0, &DataType::Float64)?];
        let step = |value: f64| -> u16 {
            if is_age {
                return match value {
                    _ if value.is_nan() => 55,
                    _ if value < 1.0 => 0,
                    _ if value < 18.0 => 17,
                    _ => steps.iter().skip(2).rev().find(|step| value >= f64::from(**step)).copied().unwrap_or(18),
                };
            }
            // NaN is past every step.
            if value.is_nan() || value >= f64::from(DURATION_MAX) {
                return DURATION_MAX;
            }
            steps.iter().rev().find(|step| value >= f64::from(**step)).copied().unwrap_or(0)
        };
        if is_age {
            return unary::<Float64Type, UInt8Type>(&result, &values, rows, |value| step(value) as u8);
        }
        unary::<Float64Type, UInt16Type>(&result, &values, rows, step)
    })
}

/// `roundDown(number, [steps])`: the greatest step that is not greater, or the least.
fn round_down(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let DataType::Array(item) = call.type_of(1) else { return Err(call.illegal(1)) };
    if !item.is_number() && !item.is_decimal() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Elements of array of second argument of function {} must be numeric type", call.name),
        ));
    }
    let result = squall_types::least_supertype(&[call.type_of(0).clone(), (**item).clone()])?;
    let Some(Value::Array(steps)) = call.constant(1) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument 2 of function {} must be a constant array", call.name),
        ));
    };
    let mut steps: Vec<f64> = steps.iter().filter_map(Value::as_f64).collect();
    if steps.is_empty() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Empty array is illegal for boundaries in {} function", call.name),
        ));
    }
    steps.sort_by(f64::total_cmp);
    call.bind(result.clone(), move |arguments, rows| {
        let values = [argument_as(arguments, 0, &DataType::Float64)?];
        let least = steps.first().copied().unwrap_or(0.0);
        let down = |value: f64| {
            steps.get(steps.partition_point(|step| *step <= value).wrapping_sub(1)).copied().unwrap_or(least)
        };
        let rounded = unary::<Float64Type, Float64Type>(&DataType::Float64, &values, rows, down)?;
        debug_assert!(rounded.array().as_primitive_opt::<Float64Type>().is_some());
        cast(&rounded, &result, &CastOptions::default())
    })
}
