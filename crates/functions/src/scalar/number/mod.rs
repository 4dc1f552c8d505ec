//! More of numbers: primes, quotients that are NULL where there is none, buckets, colours, and cash flows.

mod color;
mod digits;
mod finance;
mod or_null;
mod prime;
mod sample;

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result, least_supertype, match_integer};

use super::arithmetic::wide::column_of;
use super::sides::wrapped;
use super::simple::{Call, Function, floats, integers, primitive_column};
use crate::function::{Argument, BoundFunction, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("colorOKLABToSRGB", color::resolve),
    &Function::new("colorOKLCHToSRGB", color::resolve),
    &Function::new("colorSRGBToOKLAB", color::resolve),
    &Function::new("colorSRGBToOKLCH", color::resolve),
    &Function::new("countDigits", count_digits).never_throws(),
    &Function::new("digits", digits::resolve_digits),
    &Function::new("isDecimalOverflow", digits::resolve_overflow).never_throws(),
    &Function::new("toDecimalString", digits::resolve_text),
    &Function::new("minSampleSizeContinuous", sample::resolve_size).never_throws(),
    &Function::new("minSampleSizeConversion", sample::resolve_size).never_throws(),
    &Function::new("proportionsZTest", sample::resolve_proportions).never_throws(),
    &Function::new("divideOrNull", or_null::resolve).never_throws(),
    &Function::new("financialInternalRateOfReturn", finance::resolve_rate),
    &Function::new("financialInternalRateOfReturnExtended", finance::resolve_dated_rate),
    &Function::new("financialNetPresentValue", finance::resolve_value),
    &Function::new("financialNetPresentValueExtended", finance::resolve_dated_value),
    &Function::new("intDivOrNull", or_null::resolve),
    &Function::new("isPrime", prime::resolve).never_throws(),
    &Function::new("isProbablePrime", prime::resolve).never_throws(),
    &Function::new("avg2", midpoint).never_throws(),
    &Function::new("midpoint", midpoint).never_throws(),
    &Function::new("moduloOrNull", or_null::resolve).never_throws(),
    &Function::new("positiveModuloOrNull", or_null::resolve).never_throws(),
    &Function::new("sigmoid", sigmoid).never_throws(),
    &Function::new("sqr", square),
    &Function::new("widthBucket", width_bucket),
];

fn sigmoid(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.each([0], DataType::is_number)?;
    call.bind(DataType::Float64, |arguments, rows| {
        let values = floats(arguments, 0, rows)?.into_iter().map(|value| 1.0 / (1.0 + (-value).exp()));
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values.collect()))
    })
}

/// `sqr(x)`: `x * x`, in a type that holds it.
fn square(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let own = Argument::of(call.type_of(0).clone());
    let multiply = resolve_scalar("multiply", &[own.clone(), own], call.context)?;
    call.bind(multiply.return_type().clone(), move |arguments, rows| {
        let [own] = arguments else { return Err(Error::logical("sqr has one argument")) };
        multiply.execute(&[own.clone(), own.clone()], rows)
    })
}

fn count_digits(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if !call.type_of(0).is_integer() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "A value of illegal type was provided as 1st argument 'x' to function 'countDigits'. Expected: (U)Int* \
                 or Decimal, got: {}",
                call.type_of(0)
            ),
        ));
    }
    let is_unsigned = call.type_of(0).is_unsigned_integer();
    call.bind(DataType::UInt8, move |arguments, rows| {
        let digits = |number: u64| number.checked_ilog10().unwrap_or(0) as u8 + 1;
        if is_unsigned {
            let arguments = super::kernel::as_type(arguments, &DataType::UInt64)?;
            let numbers = super::simple::Numbers::<UInt64Type>::of(&arguments, 0)?;
            return Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| digits(numbers.get(row))));
        }
        let numbers = integers(arguments, 0, rows)?;
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| digits(numbers[row].unsigned_abs())))
    })
}

/// `widthBucket(value, low, high, count)`: 0 below the range, count + 1 from its end on.
fn width_bucket(call: &Call<'_>) -> Bound {
    call.arguments(4..=4)?;
    call.each(0..3, DataType::is_number)?;
    let result = match call.type_of(3) {
        DataType::UInt8 => DataType::UInt16,
        DataType::UInt16 => DataType::UInt32,
        DataType::UInt32 | DataType::UInt64 => DataType::UInt64,
        _ => return Err(call.illegal(3)),
    };
    call.bind(result.clone(), move |arguments, rows| {
        let (values, lows, highs) =
            (floats(arguments, 0, rows)?, floats(arguments, 1, rows)?, floats(arguments, 2, rows)?);
        let counts = integers(arguments, 3, rows)?;
        let bucket = |row: usize| {
            let (value, low, high, count) = (values[row], lows[row], highs[row], counts[row]);
            if count == 0 {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Zero is not a valid count for function widthBucket"));
            }
            if !low.is_finite() || !high.is_finite() || value.is_nan() {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "The operand must be a number and the bounds finite for function widthBucket",
                ));
            }
            Ok(if value < low || low >= high {
                0
            } else if value >= high {
                count as u64 + 1
            } else {
                ((value - low) * (count as f64 / (high - low)) + 1.0) as u64
            })
        };
        let buckets = (0..rows).map(bucket).collect::<Result<Vec<u64>>>()?;
        Ok(match result {
            DataType::UInt16 => {
                Column::from_primitive::<UInt16Type>(result.clone(), buckets.into_iter().map(|b| b as u16).collect())
            }
            DataType::UInt32 => {
                Column::from_primitive::<UInt32Type>(result.clone(), buckets.into_iter().map(|b| b as u32).collect())
            }
            _ => Column::from_primitive::<UInt64Type>(result.clone(), buckets),
        })
    })
}

/// The mean of decimals or of wide integers, whose digits are cut.
fn mean_of_wide(call: &Call<'_>, result: DataType) -> Bound {
    let options = CastOptions::to_common(call.session_zone()?);
    let count = call.arguments.len() as i128;
    call.bind(result.clone(), move |arguments, rows| {
        let columns = arguments.iter().map(|column| cast(column, &result, &options)).collect::<Result<Vec<_>>>()?;
        match_integer!(result, T => {
            let mut sums = vec![T::default(); rows];
            for at in 0..columns.len() {
                let values = wrapped::<T>(&columns, at)?;
                let repeated = if columns[at].is_constant() { rows } else { 1 };
                let values = values.values().iter().flat_map(|value| std::iter::repeat_n(*value, repeated));
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.wrapping_plus(value));
            }
            let means = sums.into_iter().map(|sum| sum.over(T::wrap(count)).unwrap_or_default());
            column_of(means.collect(), &result)
        }, _ => Err(call_of_no_number()))
    })
}

fn call_of_no_number() -> Error {
    Error::logical("a mean of what is no number")
}

/// `avg2(a, b)`, `midpoint(a, b, …)`: the mean, in the arguments' common type; integers are cut.
fn midpoint(call: &Call<'_>) -> Bound {
    call.arguments(if call.name == "avg2" { 2..=2 } else { 1..=usize::MAX })?;
    let types: Vec<DataType> = call.arguments.iter().map(|argument| argument.data_type.clone()).collect();
    let result = least_supertype(&types)?;
    let is_time = result.is_date_or_time() || matches!(result, DataType::Time | DataType::Time64(_));
    let is_narrow = result.fixed_width_bytes().is_some_and(|width| width <= 8);
    if !(is_time || result.is_any_number()) {
        return Err(call.illegal(0));
    }
    if result.is_decimal() || !is_narrow {
        return mean_of_wide(call, result);
    }
    let options = CastOptions::to_common(call.session_zone()?);
    let count = types.len();
    call.bind(result.clone(), move |arguments, rows| {
        let columns = arguments.iter().map(|column| cast(column, &result, &options)).collect::<Result<Vec<_>>>()?;
        if result.is_float() {
            let values = (0..count).map(|at| floats(&columns, at, rows)).collect::<Result<Vec<_>>>()?;
            let means = (0..rows).map(|row| values.iter().map(|values| values[row]).sum::<f64>() / count as f64);
            let means = Column::from_primitive::<Float64Type>(DataType::Float64, means.collect());
            return cast(&means, &result, &options);
        }
        let values = (0..count).map(|at| integers(&columns, at, rows)).collect::<Result<Vec<_>>>()?;
        let sum = |row: usize| values.iter().map(|values| i128::from(values[row])).sum::<i128>();
        let means: Vec<i64> = (0..rows).map(|row| (sum(row) / count as i128) as i64).collect();
        let means = Column::from_primitive::<Int64Type>(DataType::Int64, means);
        let held = match &result {
            DataType::Date => DataType::UInt16,
            DataType::Date32 | DataType::Time => DataType::Int32,
            DataType::DateTime(_) => DataType::UInt32,
            DataType::DateTime64(..) | DataType::Time64(_) => DataType::Int64,
            other => other.clone(),
        };
        Ok(cast(&means, &held, &options)?.with_type(result.clone()))
    })
}
