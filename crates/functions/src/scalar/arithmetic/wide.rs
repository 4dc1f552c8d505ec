//! Arithmetic where an operand is an integer past 64 bits. Both sides are taken as the widest of them, signed where either is;
//! results wrap.

use std::sync::Arc;

use squall_types::integer::{I256, U256};
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result};

use super::{Shape, decimal, illegal_pair};
use crate::function::BoundFunction;
use crate::scalar::sides::{Side, both, is_wide, try_both, wrapped};
use crate::scalar::simple::Call;

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    Plus,
    Minus,
    Multiply,
    Divide,
    IntDiv,
    IntDivOrZero,
    Modulo,
    ModuloOrZero,
    PositiveModulo,
    Gcd,
    Lcm,
    And,
    Or,
    Xor,
}

/// Binds an operation where an argument is a wide integer or a decimal; `None` where neither is, or where both are to be floats.
pub(crate) fn bind(call: &Call<'_>, operation: Operation) -> Result<Option<Arc<dyn BoundFunction>>> {
    call.arguments(2..=2)?;
    let (left, right) = (call.type_of(0), call.type_of(1));
    if !is_wide(left) && !is_wide(right) {
        return Ok(None);
    }
    if left.is_decimal() || right.is_decimal() {
        return decimal::bind(call, operation).map(Some);
    }
    let (Some(left), Some(right)) = (Shape::of_any(left), Shape::of_any(right)) else { return Err(illegal_pair(call)) };
    if left.is_float || right.is_float {
        return match operation {
            Operation::Divide => Ok(None),
            _ => Err(illegal_pair(call)),
        };
    }
    let joined = left.join(right);
    let result = match operation {
        Operation::Divide => return Ok(None),
        Operation::Plus | Operation::Multiply | Operation::And | Operation::Or | Operation::Xor => joined,
        Operation::Gcd | Operation::Lcm => joined,
        Operation::Minus => Shape { is_signed: true, ..joined },
        Operation::IntDiv | Operation::IntDivOrZero => Shape { is_signed: joined.is_signed, ..left },
        // A rest has the sign of the left side and is less than the right one.
        Operation::Modulo | Operation::ModuloOrZero => {
            let divisor = Shape { is_signed: left.is_signed, ..right };
            if left.is_signed && !right.is_signed { divisor.next() } else { divisor }
        }
        Operation::PositiveModulo => Shape { is_signed: false, ..right },
    };
    let result = result.data_type();
    macro_rules! over {
        ($t:ty) => {
            call.bind(result.clone(), move |arguments, rows| compute::<$t>(arguments, rows, operation, &result))
                .map(Some)
        };
    }
    match (joined.bytes, joined.is_signed) {
        (..=16, true) => over!(i128),
        (..=16, false) => over!(u128),
        (_, true) => over!(I256),
        (_, false) => over!(U256),
    }
}

fn compute<T: Integer>(arguments: &[Column], rows: usize, operation: Operation, result: &DataType) -> Result<Column> {
    let (left, right) = (wrapped::<T>(arguments, 0)?, wrapped::<T>(arguments, 1)?);
    let zero = T::default();
    let or_zero = |left: Side<T>, operation: fn(T, T) -> Option<T>| {
        both(&left, &right, rows, |l, r| operation(l, r).unwrap_or_default())
    };
    let by_zero = || match right.values().contains(&zero) {
        true => Error::new(ErrorCode::ILLEGAL_DIVISION, "Division by zero"),
        false => Error::new(ErrorCode::ILLEGAL_DIVISION, "Division of minimal signed number by minus one"),
    };
    let values = match operation {
        Operation::Plus => both(&left, &right, rows, T::wrapping_plus),
        Operation::Minus => both(&left, &right, rows, T::wrapping_minus),
        Operation::Multiply => both(&left, &right, rows, T::wrapping_times),
        Operation::And => both(&left, &right, rows, |l, r| l & r),
        Operation::Or => both(&left, &right, rows, |l, r| l | r),
        Operation::Xor => both(&left, &right, rows, |l, r| l ^ r),
        Operation::IntDiv => try_both(&left, &right, rows, T::over, by_zero)?,
        Operation::Modulo => try_both(&left, &right, rows, T::rest, by_zero)?,
        Operation::PositiveModulo => try_both(&left, &right, rows, positive_rest, by_zero)?,
        Operation::IntDivOrZero => or_zero(left, T::over),
        Operation::ModuloOrZero => or_zero(left, T::rest),
        Operation::Gcd => both(&left, &right, rows, greatest_divisor),
        Operation::Lcm => both(&left, &right, rows, |l, r| match greatest_divisor(l, r) {
            divisor if divisor == zero => zero,
            divisor => magnitude(l.over(divisor).unwrap_or_default().wrapping_times(r)),
        }),
        Operation::Divide => return Err(Error::logical("division is of floats")),
    };
    column_of(values, result)
}

/// Integers under a type of integers, modulo its width.
pub(crate) fn column_of<T: Integer>(values: Vec<T>, result: &DataType) -> Result<Column> {
    squall_types::match_integer!(result, S => {
        let array = if size_of::<S>() == size_of::<T>() && S::IS_SIGNED == T::IS_SIGNED {
            T::array(values, None)?
        } else {
            S::array(values.iter().map(|value| S::wrap_large(value.large())).collect(), None)?
        };
        Ok(Column::new(result.clone(), array))
    }, _ => Err(Error::logical("not a type of integers")))
}

fn positive_rest<T: Integer>(left: T, right: T) -> Option<T> {
    let rest = left.rest(right)?;
    Some(if rest < T::default() { rest.wrapping_plus(magnitude(right)) } else { rest })
}

fn magnitude<T: Integer>(value: T) -> T {
    if value < T::default() { T::default().wrapping_minus(value) } else { value }
}

fn greatest_divisor<T: Integer>(left: T, right: T) -> T {
    let (mut left, mut right) = (magnitude(left), magnitude(right));
    while right != T::default() {
        (left, right) = (right, left.rest(right).unwrap_or_default());
    }
    left
}

/// `negate` and `abs` of wide integers and of decimals; `None` for other types.
pub(crate) fn bind_sign(call: &Call<'_>, is_abs: bool) -> Result<Option<Arc<dyn BoundFunction>>> {
    call.arguments(1..=1)?;
    let data_type = call.type_of(0);
    if !is_wide(data_type) {
        return Ok(None);
    }
    let result = match (data_type, is_abs) {
        (DataType::Int128, true) => DataType::UInt128,
        (DataType::Int256, true) => DataType::UInt256,
        (DataType::UInt128, false) => DataType::Int128,
        (DataType::UInt256, false) => DataType::Int256,
        (other, _) => other.clone(),
    };
    call.bind(result.clone(), move |arguments, rows| {
        let column = super::super::simple::argument(arguments, 0)?;
        squall_types::match_integer!(column.data_type(), T => {
            let values = match wrapped::<T>(arguments, 0)? {
                Side::Varying(values) => values,
                Side::Constant(value) => vec![value; rows],
            };
            let change = |value: T| if is_abs { magnitude(value) } else { T::default().wrapping_minus(value) };
            let values: Vec<T> = if T::IS_SIGNED || !is_abs { values.into_iter().map(change).collect() } else { values };
            column_of(values, &result)
        }, _ => Err(Error::logical("not a column of integers")))
    })
    .map(Some)
}
