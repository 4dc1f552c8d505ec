//! Functions of decimals and of integers past 64 bits that are not arithmetic: rounding, and products and quotients whose scale the
//! caller chooses.

use std::sync::Arc;

use squall_types::integer::I256;
use squall_types::{DataType, Error, ErrorCode, Integer, Result, Value, match_integer};

use super::arithmetic::wide::column_of;
use super::sides::{Side, is_wide, scaled, try_both, wrapped};
use super::simple::{Call, Function};
use crate::function::{BoundFunction, ScalarFunction};

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("multiplyDecimal", |call| with_scale(call, false)),
    &Function::new("divideDecimal", |call| with_scale(call, true)),
];

/// Which neighbour is taken of a value between two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nearest {
    /// The nearest; from the middle away from zero.
    HalfAway,
    /// The nearest; from the middle to the even one.
    HalfEven,
    Floor,
    Ceil,
    Truncate,
}

/// Places that a number is rounded to at most, before its point and behind.
pub(super) const PLACES_MAX: i64 = 32_767;

/// Rounds a decimal or a wide integer to places behind its point, or before it where there are fewer than none; `None` for other types.
pub(super) fn bind_rounding(call: &Call<'_>, nearest: Nearest) -> Result<Option<Arc<dyn BoundFunction>>> {
    call.arguments(1..=2)?;
    let data_type = call.type_of(0);
    if !is_wide(data_type) {
        return Ok(None);
    }
    let places = match call.arguments.get(1) {
        None => 0,
        Some(argument) => match argument.constant.as_ref().and_then(Value::as_i64) {
            Some(places) => places,
            None => {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_COLUMN,
                    format!("The places of function {} must be a constant for {data_type}", call.name),
                ));
            }
        },
    };
    if places.abs() > PLACES_MAX {
        return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Scale argument for rounding function is too large"));
    }
    let dropped = i64::from(data_type.scale()).saturating_sub(places);
    let result = data_type.clone();
    call.bind(result.clone(), move |arguments, rows| {
        match_integer!(result, T => {
            let values = match wrapped::<T>(arguments, 0)? {
                Side::Varying(values) => values,
                Side::Constant(value) => vec![value; rows],
            };
            if dropped <= 0 {
                return column_of(values, &result);
            }
            let power = u32::try_from(dropped).ok().and_then(T::power_of_ten);
            let Some(power) = power else { return column_of(vec![T::default(); values.len()], &result) };
            column_of(values.into_iter().map(|value| rounded(value, power, nearest)).collect(), &result)
        }, _ => Err(Error::logical("not a column of integers")))
    })
    .map(Some)
}

/// The multiple of a power of ten that is nearest.
fn rounded<T: Integer>(value: T, power: T, nearest: Nearest) -> T {
    let zero = T::default();
    let rest = value.rest(power).unwrap_or_default();
    let low = value.wrapping_minus(rest);
    if rest == zero {
        return value;
    }
    let is_negative = value < zero;
    let away = if is_negative { low.wrapping_minus(power) } else { low.wrapping_plus(power) };
    // How far the value is from the neighbour nearer to zero, and from the other one.
    let near = if is_negative { zero.wrapping_minus(rest) } else { rest };
    let far = power.wrapping_minus(near);
    let is_odd = low.over(power).is_some_and(|multiple| multiple & T::ONE == T::ONE);
    let goes_away = match nearest {
        Nearest::HalfAway => near >= far,
        Nearest::HalfEven => near > far || near == far && is_odd,
        Nearest::Floor => is_negative,
        Nearest::Ceil => !is_negative,
        Nearest::Truncate => false,
    };
    if goes_away { away } else { low }
}

/// `multiplyDecimal(a, b[, scale])`, `divideDecimal(a, b[, scale])`: in 256 bits, cut to the scale, which is the greater one of the
/// arguments where none is given.
fn with_scale(call: &Call<'_>, divides: bool) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    let (left, right) = (call.type_of(0), call.type_of(1));
    for at in 0..2 {
        if !call.type_of(at).is_decimal() {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Arguments for {} function must be Decimal", call.name),
            ));
        }
    }
    let scale = match call.arguments.get(2) {
        None => left.scale().max(right.scale()),
        Some(argument) => {
            let scale = argument.constant.as_ref().and_then(Value::as_u64).ok_or_else(|| call.illegal(2))?;
            u8::try_from(scale).ok().filter(|scale| *scale <= 76).ok_or_else(|| {
                Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!(
                        "Illegal value of third argument of function {}: must be integer in range [0, 76]",
                        call.name
                    ),
                )
            })?
        }
    };
    let result = DataType::decimal_of_width(32, scale);
    let (left_scale, right_scale) = (i32::from(left.scale()), i32::from(right.scale()));
    // What the exact result is multiplied with to have the scale.
    let shift = i32::from(scale) - if divides { left_scale - right_scale } else { left_scale + right_scale };
    call.bind(result.clone(), move |arguments, rows| {
        let power = |shift: i32| I256::power_of_ten(u32::try_from(shift.max(0)).unwrap_or(0));
        let left = scaled::<I256>(arguments, 0, if divides { power(shift) } else { Some(I256::ONE) })?;
        let right = scaled::<I256>(arguments, 1, if divides { power(-shift) } else { Some(I256::ONE) })?;
        if divides && right.values().contains(&Some(I256::ZERO)) {
            return Err(Error::new(ErrorCode::ILLEGAL_DIVISION, "Division by zero"));
        }
        let of = |left: Option<I256>, right: Option<I256>| {
            let (left, right) = (left?, right?);
            if divides {
                return left.over(right);
            }
            let product = left.times(right)?;
            let scaled = if shift < 0 { product.over(power(-shift)?) } else { product.times(power(shift)?) };
            // No decimal has more digits.
            scaled.filter(|scaled| I256::power_of_ten(76).is_none_or(|end| -end < *scaled && *scaled < end))
        };
        let overflow = || Error::new(ErrorCode::DECIMAL_OVERFLOW, "Numeric overflow: result bigger that Decimal256");
        column_of(try_both(&left, &right, rows, of, overflow)?, &result)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_multiple_is_taken() {
        let all = |value: i64| {
            [Nearest::HalfAway, Nearest::HalfEven, Nearest::Floor, Nearest::Ceil, Nearest::Truncate]
                .map(|nearest| rounded(value, 10, nearest))
        };
        assert_eq!(all(25), [30, 20, 20, 30, 20]);
        assert_eq!(all(-25), [-30, -20, -30, -20, -20]);
        assert_eq!(all(26), [30, 30, 20, 30, 20]);
        assert_eq!(all(-20), [-20; 5]);
        assert_eq!(rounded(7u128, 10, Nearest::HalfAway), 10);
    }
}
