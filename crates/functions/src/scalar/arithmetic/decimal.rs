//! Arithmetic where an operand is a decimal. The result has the width of the wider decimal, and the scale that ClickHouse gives it;
//! what does not fit is an error. With a float both sides are floats.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type};
use squall_types::integer::I256;
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result, reserve};

use super::wide::{Operation, column_of};
use super::{Shape, illegal_pair};
use crate::function::BoundFunction;
use crate::scalar::kernel::{as_type, binary, map2};
use crate::scalar::sides::{narrow, scaled, try_both};
use crate::scalar::simple::{Call, argument};

/// How a result comes about.
#[derive(Clone, Debug)]
struct Plan {
    operation: Operation,
    /// Powers of ten that the sides are multiplied with first.
    left_power: u32,
    right_power: u32,
    result: DataType,
    /// Whether what does not fit is an error (`decimal_check_overflow`); else its lowest bits are the result.
    checks: bool,
}

/// Binds an operation of which an argument is a decimal.
pub(super) fn bind(call: &Call<'_>, operation: Operation) -> Result<Arc<dyn BoundFunction>> {
    let (left, right) = (call.type_of(0), call.type_of(1));
    if left.is_float() || right.is_float() {
        return floats(call, operation);
    }
    if [left, right].iter().any(|side| !side.is_decimal() && Shape::of_any(side).is_none_or(|shape| shape.is_float)) {
        return Err(illegal_pair(call));
    }
    let width = |side: &DataType| if side.is_decimal() { side.fixed_width_bytes().unwrap_or(0) } else { 0 };
    let bytes = width(left).max(width(right));
    let (left_scale, right_scale) = (left.scale(), right.scale());
    let are_both = left.is_decimal() && right.is_decimal();
    let (left_power, right_power, scale) = match operation {
        Operation::Plus | Operation::Minus => {
            let scale = left_scale.max(right_scale);
            (scale - left_scale, scale - right_scale, scale)
        }
        Operation::Multiply => (0, 0, left_scale.saturating_add(right_scale)),
        Operation::Divide | Operation::Modulo if are_both && left_scale < right_scale => {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "Decimal result's scale is less than argument's one",
            ));
        }
        // An integer is divided as the decimal of the other side's scale.
        Operation::Divide if !left.is_decimal() => (right_scale.saturating_mul(2), 0, right_scale),
        Operation::Divide => (right_scale, 0, left_scale),
        Operation::Modulo => (0, 0, left_scale.max(right_scale)),
        Operation::IntDiv | Operation::IntDivOrZero => {
            let scale = left_scale.max(right_scale);
            (scale - left_scale, scale - right_scale, 0)
        }
        _ => return Err(illegal_pair(call)),
    };
    let result = DataType::decimal_of_width(bytes, scale);
    if scale > result.precision() {
        return Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Scale {scale} is out of bounds (max scale: {})", result.precision()),
        ));
    }
    let result = match operation {
        Operation::IntDiv | Operation::IntDivOrZero => {
            let bytes = left.fixed_width_bytes().unwrap_or(8);
            Shape { is_signed: true, is_float: false, bytes }.data_type()
        }
        _ => result,
    };
    let is_large = bytes > 8
        || left_power > 18
        || right_power > 18
        || [left, right].iter().any(|side| side.fixed_width_bytes() > Some(8));
    let plan = Plan {
        operation,
        left_power: left_power.into(),
        right_power: right_power.into(),
        result: result.clone(),
        checks: call.context.settings.decimal_check_overflow,
    };
    call.bind(result, move |arguments, rows| match plan.compute_narrow(arguments, rows)? {
        Some(column) => Ok(column),
        None if is_large => plan.compute::<I256>(arguments, rows),
        None => plan.compute::<i128>(arguments, rows),
    })
}

impl Plan {
    /// The results where 64 bits hold all values on the way; `None` where they do not, and where a division by zero may be an error.
    fn compute_narrow(&self, arguments: &[Column], rows: usize) -> Result<Option<Column>> {
        let (Some(left_factor), Some(right_factor)) =
            (i64::power_of_ten(self.left_power), i64::power_of_ten(self.right_power))
        else {
            return Ok(None);
        };
        let Some(left) = narrow(argument(arguments, 0)?, left_factor)? else { return Ok(None) };
        let Some(right) = narrow(argument(arguments, 1)?, right_factor)? else { return Ok(None) };
        reserve(rows * size_of::<i64>())?;
        let (left, right) = (left.numbers(), right.numbers());
        let mut overflows = false;
        let mut kept = |(value, overflow): (i64, bool)| {
            overflows |= overflow;
            value
        };
        let values = match self.operation {
            Operation::Plus => {
                map2::<Int64Type, Int64Type, _>(left, right, rows, |left, right| kept(left.overflowing_add(right)))
            }
            Operation::Minus => {
                map2::<Int64Type, Int64Type, _>(left, right, rows, |left, right| kept(left.overflowing_sub(right)))
            }
            Operation::Multiply => {
                map2::<Int64Type, Int64Type, _>(left, right, rows, |left, right| kept(left.overflowing_mul(right)))
            }
            Operation::Divide => map2::<Int64Type, Int64Type, _>(left, right, rows, |left, right| match right {
                0 => kept((0, true)),
                _ => kept(left.overflowing_div(right)),
            }),
            _ => return Ok(None),
        };
        if overflows {
            return Ok(None);
        }
        match self.result.fixed_width_bytes() {
            Some(8) => column_of(values, &self.result).map(Some),
            Some(4) => {
                let values: Option<Vec<i32>> = values.iter().map(|value| i32::try_from(*value).ok()).collect();
                values.map(|values| column_of(values, &self.result)).transpose()
            }
            _ => Ok(None),
        }
    }

    fn compute<T: Integer>(&self, arguments: &[Column], rows: usize) -> Result<Column> {
        let left = scaled::<T>(arguments, 0, T::power_of_ten(self.left_power))?;
        let right = scaled::<T>(arguments, 1, T::power_of_ten(self.right_power))?;
        let divides = matches!(self.operation, Operation::Divide | Operation::Modulo | Operation::IntDiv);
        if divides && right.values().contains(&Some(T::default())) {
            return Err(Error::new(ErrorCode::ILLEGAL_DIVISION, "Division by zero"));
        }
        let of: fn(T, T) -> Option<T> = match self.operation {
            Operation::Plus if !self.checks => |left: T, right: T| Some(left.wrapping_plus(right)),
            Operation::Minus if !self.checks => |left: T, right: T| Some(left.wrapping_minus(right)),
            Operation::Multiply if !self.checks => |left: T, right: T| Some(left.wrapping_times(right)),
            Operation::Plus => T::plus,
            Operation::Minus => T::minus,
            Operation::Multiply => T::times,
            Operation::Modulo => T::rest,
            Operation::IntDivOrZero => |left: T, right: T| Some(left.over(right).unwrap_or_default()),
            _ => T::over,
        };
        let overflow = || Error::new(ErrorCode::DECIMAL_OVERFLOW, "Decimal math overflow");
        squall_types::match_integer!(self.result, R => {
            let fits = |value: T| {
                if !self.checks {
                    return Some(R::wrap_large(value.large()));
                }
                if T::BYTES <= 16 { value.small().and_then(R::fit) } else { R::fit_large(value.large()) }
            };
            let values = try_both(&left, &right, rows, |left, right| fits(of(left?, right?)?), overflow)?;
            column_of(values, &self.result)
        }, _ => Err(Error::logical("a decimal that is not held as an integer")))
    }
}

/// Both sides as floats.
fn floats(call: &Call<'_>, operation: Operation) -> Result<Arc<dyn BoundFunction>> {
    let of: fn(f64, f64) -> f64 = match operation {
        Operation::Plus => |l, r| l + r,
        Operation::Minus => |l, r| l - r,
        Operation::Multiply => |l, r| l * r,
        Operation::Divide => |l, r| l / r,
        Operation::Modulo => |l, r| l % r,
        _ => return Err(illegal_pair(call)),
    };
    call.bind(DataType::Float64, move |arguments, rows| {
        let arguments = as_type(arguments, &DataType::Float64)?;
        binary::<Float64Type, Float64Type, Float64Type>(&DataType::Float64, &arguments, rows, of)
    })
}
