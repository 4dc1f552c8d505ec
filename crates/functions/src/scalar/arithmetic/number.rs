//! Sums, products, negation and the like. Integers wrap; a result is one width wider than its operands, so that it seldom does.

use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, least_supertype};

use super::monotonic::{self, Operation};
use super::{Shape, illegal_pair};
use crate::function::BoundFunction;
use crate::scalar::kernel::{as_type, binary, unary};
use crate::scalar::simple::{Call, Numbers};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Binds `$wrapping` for integers and `$float` for floats over operands of the result's type. Adding, subtracting and multiplying are
/// the same for signed and unsigned numbers, so one loop per width does.
macro_rules! bind_wrapping {
    ($call:expr, $result:expr, $wrapping:ident, $float:expr) => {{
        let result: DataType = $result;
        let bytes = result.fixed_width_bytes();
        let operand = match (result.is_float(), bytes) {
            (true, _) => DataType::Float64,
            (_, Some(1)) => DataType::UInt8,
            (_, Some(2)) => DataType::UInt16,
            (_, Some(4)) => DataType::UInt32,
            _ => DataType::UInt64,
        };
        let bound_type = result.clone();
        $call.bind(bound_type, move |arguments, rows| {
            let arguments = as_type(arguments, &operand)?;
            let column = match operand {
                DataType::Float64 => {
                    binary::<Float64Type, Float64Type, Float64Type>(&operand, &arguments, rows, $float)
                }
                DataType::UInt8 => {
                    binary::<UInt8Type, UInt8Type, UInt8Type>(&operand, &arguments, rows, |l, r| l.$wrapping(r))
                }
                DataType::UInt16 => {
                    binary::<UInt16Type, UInt16Type, UInt16Type>(&operand, &arguments, rows, |l, r| l.$wrapping(r))
                }
                DataType::UInt32 => {
                    binary::<UInt32Type, UInt32Type, UInt32Type>(&operand, &arguments, rows, |l, r| l.$wrapping(r))
                }
                _ => binary::<UInt64Type, UInt64Type, UInt64Type>(&operand, &arguments, rows, |l, r| l.$wrapping(r)),
            }?;
            as_result(&column, &result)
        })
    }};
}

/// A column of the result's width under the result's type: unsigned integers are taken as signed without a copy.
pub(crate) fn as_result(column: &Column, result: &DataType) -> Result<Column> {
    macro_rules! signed {
        ($from:ty, $to:ty) => {{
            let values = column.as_primitive::<$from>()?.values().inner().clone();
            let values = arrow_buffer::ScalarBuffer::<<$to as arrow_array::ArrowPrimitiveType>::Native>::from(values);
            Ok(Column::new(result.clone(), Arc::new(arrow_array::PrimitiveArray::<$to>::new(values, None))))
        }};
    }
    match (column.data_type(), result) {
        (from, to) if from == to => Ok(column.clone()),
        (DataType::UInt8, DataType::Int8) => signed!(UInt8Type, Int8Type),
        (DataType::UInt16, DataType::Int16) => signed!(UInt16Type, Int16Type),
        (DataType::UInt32, DataType::Int32) => signed!(UInt32Type, Int32Type),
        (DataType::UInt64, DataType::Int64) => signed!(UInt64Type, Int64Type),
        _ => cast(column, result, &CastOptions::default()),
    }
}

fn sum_type(left: Shape, right: Shape) -> Shape {
    left.join(right).next()
}

pub(super) fn plus(call: &Call<'_>) -> Bound {
    let (left, right) = Shape::pair(call)?;
    let result = sum_type(left, right).data_type();
    let call = call.monotonic_as(monotonic::of(call, Operation::Plus, &result));
    bind_wrapping!(call, result, wrapping_add, |l: f64, r: f64| l + r)
}

pub(super) fn minus(call: &Call<'_>) -> Bound {
    let (left, right) = Shape::pair(call)?;
    let result = Shape { is_signed: true, ..sum_type(left, right) }.data_type();
    let call = call.monotonic_as(monotonic::of(call, Operation::Minus, &result));
    bind_wrapping!(call, result, wrapping_sub, |l: f64, r: f64| l - r)
}

pub(super) fn multiply(call: &Call<'_>) -> Bound {
    let (left, right) = Shape::pair(call)?;
    let result = sum_type(left, right).data_type();
    let call = call.monotonic_as(monotonic::of(call, Operation::Multiply, &result));
    bind_wrapping!(call, result, wrapping_mul, |l: f64, r: f64| l * r)
}

pub(super) fn negate(call: &Call<'_>) -> Bound {
    if let Some(bound) = super::wide::bind_sign(call, false)? {
        return Ok(bound);
    }
    call.arguments(1..=1)?;
    if let DataType::Interval(_) = call.type_of(0) {
        let data_type = call.type_of(0).clone();
        return call.bind(data_type.clone(), move |arguments, rows| {
            unary::<Int64Type, Int64Type>(&data_type, arguments, rows, i64::wrapping_neg)
        });
    }
    let shape = Shape::of_number(call, 0)?;
    let result = match shape {
        Shape { is_float: true, .. } => shape,
        Shape { is_signed: true, .. } => shape,
        unsigned => Shape { is_signed: true, ..unsigned.next() },
    };
    let result = result.data_type();
    let call = call.monotonic_as(monotonic::of_negation(shape, &result));
    call.bind(result.clone(), move |arguments, rows| {
        let arguments = as_type(arguments, &result)?;
        match result {
            DataType::Int8 => unary::<Int8Type, Int8Type>(&result, &arguments, rows, i8::wrapping_neg),
            DataType::Int16 => unary::<Int16Type, Int16Type>(&result, &arguments, rows, i16::wrapping_neg),
            DataType::Int32 => unary::<Int32Type, Int32Type>(&result, &arguments, rows, i32::wrapping_neg),
            DataType::Int64 => unary::<Int64Type, Int64Type>(&result, &arguments, rows, i64::wrapping_neg),
            DataType::Float32 => unary::<Float32Type, Float32Type>(&result, &arguments, rows, |value| -value),
            _ => unary::<Float64Type, Float64Type>(&result, &arguments, rows, |value| -value),
        }
    })
}

pub(super) fn abs(call: &Call<'_>) -> Bound {
    if let Some(bound) = super::wide::bind_sign(call, true)? {
        return Ok(bound);
    }
    call.arguments(1..=1)?;
    let shape = Shape::of_number(call, 0)?;
    let result = Shape { is_signed: shape.is_float, ..shape }.data_type();
    let from = call.type_of(0).clone();
    call.bind(result.clone(), move |arguments, rows| match from {
        DataType::Int8 => unary::<Int8Type, UInt8Type>(&result, arguments, rows, i8::unsigned_abs),
        DataType::Int16 => unary::<Int16Type, UInt16Type>(&result, arguments, rows, i16::unsigned_abs),
        DataType::Int32 => unary::<Int32Type, UInt32Type>(&result, arguments, rows, i32::unsigned_abs),
        DataType::Int64 => unary::<Int64Type, UInt64Type>(&result, arguments, rows, i64::unsigned_abs),
        DataType::Float32 => unary::<Float32Type, Float32Type>(&result, arguments, rows, f32::abs),
        DataType::Float64 => unary::<Float64Type, Float64Type>(&result, arguments, rows, f64::abs),
        _ => Ok(crate::scalar::simple::argument(arguments, 0)?.clone().with_type(result.clone())),
    })
}

/// Both arguments' absolute values as `UInt64`.
pub(super) fn magnitudes(arguments: &[Column]) -> Result<Vec<Column>> {
    arguments
        .iter()
        .map(|column| {
            if column.data_type().is_signed_integer() {
                let wide = cast(column, &DataType::Int64, &CastOptions::default())?;
                let rows = wide.array().len();
                let one = wide.is_constant();
                let values = unary::<Int64Type, UInt64Type>(
                    &DataType::UInt64,
                    &[wide.slice(0, wide.rows())],
                    rows,
                    i64::unsigned_abs,
                )?;
                return Ok(if one { Column::repeat(&values.slice(0, 1), column.rows()) } else { values });
            }
            cast(column, &DataType::UInt64, &CastOptions::default())
        })
        .collect()
}

/// The absolute values of both sides of `gcd` and `lcm`. ClickHouse divides by either, so that neither may be zero nor overflow; where
/// the result is `Int64` the sides are as well, and must not be its least or greatest.
fn divisible(arguments: &[Column], result: &DataType, rows: usize) -> Result<Vec<Column>> {
    let types: Vec<DataType> = arguments.iter().map(|column| column.data_type().clone()).collect();
    let is_signed = *result == DataType::Int64;
    let sides = if is_signed { as_type(arguments, &DataType::Int64)? } else { arguments.to_vec() };
    let magnitudes = magnitudes(&sides)?;
    for column in &magnitudes {
        if column.as_primitive::<UInt64Type>()?.values().contains(&0) {
            return Err(Error::new(ErrorCode::ILLEGAL_DIVISION, "Division by zero"));
        }
    }
    if let [left, right] = &types[..]
        && left.is_signed_integer()
        && right.is_signed_integer()
    {
        let least = |data_type: &DataType| i64::MIN >> (64 - 8 * data_type.fixed_width_bytes().unwrap_or(8));
        let wide = as_type(arguments, &DataType::Int64)?;
        let (lefts, rights) = (Numbers::<Int64Type>::of(&wide, 0)?, Numbers::<Int64Type>::of(&wide, 1)?);
        let overflows = |row: usize| {
            let (l, r) = (lefts.get(row), rights.get(row));
            r == -1 && l == least(left) || l == -1 && r == least(right)
        };
        if (0..rows).any(overflows) {
            return Err(Error::new(ErrorCode::ILLEGAL_DIVISION, "Division of minimal signed number by minus one"));
        }
    }
    let ends = |column: &Column| {
        column
            .as_primitive::<Int64Type>()
            .is_ok_and(|array| array.values().iter().any(|value| matches!(*value, i64::MIN | i64::MAX)))
    };
    if is_signed && sides.iter().any(ends) {
        return Err(Error::new(
            ErrorCode::DECIMAL_OVERFLOW,
            format!("Intermediate result overflow (min = {}, max = {})", i64::MIN, i64::MAX),
        ));
    }
    Ok(magnitudes)
}

fn greatest_divisor(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

pub(super) fn gcd(call: &Call<'_>) -> Bound {
    let (left, right) = Shape::pair(call)?;
    if left.is_float || right.is_float {
        return Err(illegal_pair(call));
    }
    let result = sum_type(left, right).data_type();
    call.bind(result.clone(), move |arguments, rows| {
        let column = binary::<UInt64Type, UInt64Type, UInt64Type>(
            &DataType::UInt64,
            &divisible(arguments, &result, rows)?,
            rows,
            greatest_divisor,
        )?;
        as_result(&column, &result)
    })
}

pub(super) fn lcm(call: &Call<'_>) -> Bound {
    let (left, right) = Shape::pair(call)?;
    if left.is_float || right.is_float {
        return Err(illegal_pair(call));
    }
    let result = sum_type(left, right).data_type();
    call.bind(result.clone(), move |arguments, rows| {
        let least = |left: u64, right: u64| match greatest_divisor(left, right) {
            0 => 0,
            divisor => (left / divisor).wrapping_mul(right),
        };
        let column = binary::<UInt64Type, UInt64Type, UInt64Type>(
            &DataType::UInt64,
            &divisible(arguments, &result, rows)?,
            rows,
            least,
        )?;
        as_result(&column, &result)
    })
}

pub(super) fn min2(call: &Call<'_>) -> Bound {
    extreme2(call, |left, right| if left < right { left } else { right })
}

pub(super) fn max2(call: &Call<'_>) -> Bound {
    extreme2(call, |left, right| if left > right { left } else { right })
}

fn extreme2(call: &Call<'_>, choose: fn(f64, f64) -> f64) -> Bound {
    call.arguments(2..=2)?;
    let are_wide = (0..2).any(|at| crate::scalar::sides::is_wide(call.type_of(at)));
    if !are_wide {
        Shape::pair(call)?;
    }
    if least_supertype(&[call.type_of(0).clone(), call.type_of(1).clone()]).is_err()
        && !(call.type_of(0).is_any_number() && call.type_of(1).is_any_number())
    {
        return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "numbers expected"));
    }
    call.bind(DataType::Float64, move |arguments, rows| {
        let arguments = as_type(arguments, &DataType::Float64)?;
        binary::<Float64Type, Float64Type, Float64Type>(&DataType::Float64, &arguments, rows, choose)
    })
}
