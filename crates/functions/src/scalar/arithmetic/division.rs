//! Division and remainder. Integer operands are brought to one of four widths; zeros and the one overflow of signed division are
//! looked for before the loop, so that the loop has no branch.

use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use super::number::{as_result, magnitudes};
use super::{Shape, illegal_pair, monotonic};
use crate::function::BoundFunction;
use crate::properties::Monotonic;
use crate::scalar::conditional::select;
use crate::scalar::kernel::{as_type, binary, map2};
use crate::scalar::simple::{Call, Numbers};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn divide(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    if Shape::of_any(call.type_of(0)).is_none() || Shape::of_any(call.type_of(1)).is_none() {
        return Err(illegal_pair(call));
    }
    let call = call.monotonic_as(monotonic::of(call, monotonic::Operation::Divide, &DataType::Float64));
    call.bind(DataType::Float64, |arguments, rows| {
        let arguments = as_type(arguments, &DataType::Float64)?;
        binary::<Float64Type, Float64Type, Float64Type>(&DataType::Float64, &arguments, rows, |left, right| {
            left / right
        })
    })
}

/// What a division by zero makes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByZero {
    Error,
    Zero,
}

pub(super) fn int_div(call: &Call<'_>) -> Bound {
    quotient(call, ByZero::Error)
}

pub(super) fn int_div_or_zero(call: &Call<'_>) -> Bound {
    quotient(call, ByZero::Zero)
}

/// The call, which never throws where integers are divided by a constant that divides them all.
fn by_constant<'a>(call: &Call<'a>, left: Shape, right: Shape) -> Call<'a> {
    let divides_all = |value: &Value| value.as_i64().is_some_and(|divisor| !matches!(divisor, 0 | -1));
    match call.constant(1) {
        Some(divisor) if !left.is_float && !right.is_float && divides_all(divisor) => call.never_throws(),
        _ => *call,
    }
}

/// Whether a greater dividend never has a lesser quotient: where one side is signed the other one is taken as signed, and may wrap.
fn quotient_grows(call: &Call<'_>, left: Shape, right: Shape) -> bool {
    let divisor = call.constant(1).and_then(Value::as_i64);
    !left.is_float
        && !right.is_float
        && (left.is_signed || !right.is_signed)
        && divisor.is_some_and(|divisor| divisor > 0 && divisor <= 1_i64 << (8 * left.bytes - 2))
}

fn quotient(call: &Call<'_>, by_zero: ByZero) -> Bound {
    let (left, right) = Shape::pair(call)?;
    let call =
        &by_constant(call, left, right).monotonic_as(quotient_grows(call, left, right).then_some(Monotonic::GROWS));
    let is_signed = left.is_signed || right.is_signed;
    if left.is_float || right.is_float {
        // The quotient of floats, cut to an integer of the left side's width.
        let result = Shape { is_signed, is_float: false, bytes: left.bytes }.data_type();
        // The least of the result's type is -limit, its greatest limit - 1.
        let limit = 2f64.powi(8 * i32::try_from(left.bytes).unwrap_or(8) - 1);
        return call.bind(result.clone(), move |arguments, rows| {
            let arguments = as_type(arguments, &DataType::Float64)?;
            if by_zero == ByZero::Error {
                refuse_zero(&Numbers::<Float64Type>::of(&arguments, 1)?, 0.0)?;
            }
            let divide = |left: f64, right: f64| match () {
                () if right == 0.0 => 0.0,
                () if !left.is_finite() || !right.is_finite() => f64::NAN,
                () => left / right,
            };
            let column = binary::<Float64Type, Float64Type, Float64Type>(&DataType::Float64, &arguments, rows, divide)?;
            // Either end is refused as well: whether the quotient of floats is the end or beyond cannot be told at 64 bits.
            if column
                .as_primitive::<Float64Type>()?
                .values()
                .iter()
                .any(|value| !(-limit..limit - 1.0).contains(value) || *value == -limit)
            {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_DIVISION,
                    "Cannot perform integer division, because it will produce infinite or too large number",
                ));
            }
            cast(&column, &result, &CastOptions::default())
        });
    }
    // Where one side is signed both are taken as signed, the left one of its own width, the right one of the wider; they may wrap.
    let dividend = Shape { is_signed, ..left };
    let divisor = Shape { is_signed, bytes: left.bytes.max(right.bytes), ..right };
    let (result, divisor_type) = (dividend.data_type(), divisor.data_type());
    let operand = operand_type(dividend, divisor);
    call.bind(result.clone(), move |arguments, rows| {
        let overflows = overflows(arguments, left, right, rows)?;
        if overflows.is_some() && by_zero == ByZero::Error {
            return Err(overflow());
        }
        let dividends = as_type(&as_type(arguments.get(..1).unwrap_or_default(), &result)?, &operand)?;
        let divisors = as_type(&as_type(arguments.get(1..).unwrap_or_default(), &divisor_type)?, &operand)?;
        let sides: Vec<Column> = dividends.into_iter().chain(divisors).collect();
        let column = integers_of(&operand, &sides, rows, by_zero, Operation::Quotient)?;
        let column = as_result(&column, &result)?;
        match overflows {
            Some(overflows) => select(&overflows, &Column::default_values(result.clone(), rows)?, &column),
            None => Ok(column),
        }
    })
}

fn overflow() -> Error {
    Error::new(ErrorCode::ILLEGAL_DIVISION, "Division of minimal signed number by minus one")
}

/// For each row whether the least number of its type is divided by -1; `None` where none is.
fn overflows(arguments: &[Column], left: Shape, right: Shape, rows: usize) -> Result<Option<Vec<u8>>> {
    let [dividends, divisors] = arguments else { return Ok(None) };
    if !left.is_signed || !right.is_signed {
        return Ok(None);
    }
    let divisors = as_type(std::slice::from_ref(divisors), &DataType::Int64)?;
    let divisors = Numbers::<Int64Type>::of(&divisors, 0)?;
    let has_minus_one = match divisors {
        Numbers::Varying(values) => values.contains(&-1),
        Numbers::Constant(value) => value == -1,
    };
    if !has_minus_one {
        return Ok(None);
    }
    let dividends = as_type(std::slice::from_ref(dividends), &DataType::Int64)?;
    let dividends = Numbers::<Int64Type>::of(&dividends, 0)?;
    let least = i64::MIN >> (64 - 8 * left.bytes);
    let overflows: Vec<u8> =
        (0..rows).map(|row| u8::from(divisors.get(row) == -1 && dividends.get(row) == least)).collect();
    Ok(overflows.contains(&1).then_some(overflows))
}

pub(super) fn modulo(call: &Call<'_>) -> Bound {
    remainder(call, ByZero::Error, false)
}

/// `moduloLegacy`: the remainder as wide as the divisor, into which it need not fit.
pub(super) fn modulo_legacy(call: &Call<'_>) -> Bound {
    let modulo = modulo(call)?;
    let (Some(left), Some(right)) = (Shape::of(call.type_of(0)), Shape::of(call.type_of(1))) else { return Ok(modulo) };
    if left.is_float || right.is_float {
        return Ok(modulo);
    }
    let result =
        Shape { is_signed: left.is_signed || right.is_signed, is_float: false, bytes: right.bytes }.data_type();
    call.bind(result.clone(), move |arguments, rows| {
        cast(&modulo.execute(arguments, rows)?, &result, &CastOptions::default())
    })
}

pub(super) fn modulo_or_zero(call: &Call<'_>) -> Bound {
    remainder(call, ByZero::Zero, false)
}

pub(super) fn positive_modulo(call: &Call<'_>) -> Bound {
    remainder(call, ByZero::Error, true)
}

fn remainder(call: &Call<'_>, by_zero: ByZero, is_positive: bool) -> Bound {
    call.arguments(2..=2)?;
    // A date counts as its days, a time as its seconds.
    let left = match call.type_of(0) {
        DataType::Date => Shape::of(&DataType::UInt16),
        DataType::DateTime(_) => Shape::of(&DataType::UInt32),
        other => Shape::of(other),
    };
    let (Some(left), Some(right)) = (left, Shape::of(call.type_of(1))) else { return Err(illegal_pair(call)) };
    let call = &by_constant(call, left, right);
    if left.is_float || right.is_float {
        return call.bind(DataType::Float64, move |arguments, rows| {
            let arguments = as_type(arguments, &DataType::Float64)?;
            let remainder = |left: f64, right: f64| {
                // As ClickHouse computes it: the rest of a number by infinity is none.
                let remainder = left - (left / right).trunc() * right;
                if is_positive && remainder < 0.0 { remainder + right.abs() } else { remainder }
            };
            binary::<Float64Type, Float64Type, Float64Type>(&DataType::Float64, &arguments, rows, remainder)
        });
    }
    let bytes = if left.is_signed && !is_positive { right.next().bytes } else { right.bytes };
    // A date's remainder has the divisor's sign, a number's its own.
    let is_date = call.type_of(0).is_date_or_time();
    let is_signed = (left.is_signed || is_date && right.is_signed) && !is_positive;
    let result = Shape { is_signed, is_float: false, bytes }.data_type();
    let operation = if is_positive { Operation::PositiveRemainder } else { Operation::Remainder };
    // The divisor's sign does not matter; beside an unsigned side its absolute value is taken.
    let operand = match (left.is_signed, right.is_signed) {
        (false, true) => DataType::UInt64,
        _ => operand_type(left, right),
    };
    let takes_magnitude = !left.is_signed && right.is_signed;
    let is_beyond_signed = left.is_signed && !right.is_signed && right.bytes == 8;
    call.bind(result.clone(), move |arguments, rows| {
        if by_zero == ByZero::Error && overflows(arguments, left, right, rows)?.is_some() {
            return Err(overflow());
        }
        let mut sides = as_type(arguments.get(..1).unwrap_or_default(), &operand)?;
        let divisors = arguments.get(1..).unwrap_or_default();
        if takes_magnitude {
            sides.extend(magnitudes(divisors)?);
        } else if is_beyond_signed {
            sides.extend(as_type(divisors, &DataType::UInt64)?);
        } else {
            sides.extend(as_type(divisors, &operand)?);
        }
        if is_beyond_signed {
            return signed_by_unsigned(&result, &sides, rows, by_zero, is_positive);
        }
        let column = integers_of(&operand, &sides, rows, by_zero, operation)?;
        as_result(&column, &result)
    })
}

/// The remainder of signed numbers by divisors that only `UInt64` holds: of the absolute value, with the sign put back.
fn signed_by_unsigned(
    result: &DataType,
    sides: &[Column],
    rows: usize,
    by_zero: ByZero,
    is_positive: bool,
) -> Result<Column> {
    let divisors = Numbers::<UInt64Type>::of(sides, 1)?;
    if by_zero == ByZero::Error {
        refuse_zero(&divisors, 0)?;
    }
    let remainder = |dividend: i64, divisor: u64| {
        let remainder = dividend.unsigned_abs().remainder(divisor);
        match dividend < 0 && remainder != 0 {
            true if is_positive => divisor - remainder,
            true => remainder.wrapping_neg(),
            false => remainder,
        }
    };
    let values = map2(Numbers::<Int64Type>::of(sides, 0)?, divisors, rows, remainder);
    as_result(&Column::from_primitive::<UInt64Type>(DataType::UInt64, values), result)
}

/// The narrowest of the four operand types that holds both sides; `UInt64` beside signed numbers is taken as `Int64`.
fn operand_type(left: Shape, right: Shape) -> DataType {
    let fits_signed32 = |shape: Shape| shape.bytes < 4 || shape.bytes == 4 && shape.is_signed;
    match left.is_signed || right.is_signed {
        true if fits_signed32(left) && fits_signed32(right) => DataType::Int32,
        true => DataType::Int64,
        false if left.bytes.max(right.bytes) <= 4 => DataType::UInt32,
        false => DataType::UInt64,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Quotient,
    Remainder,
    PositiveRemainder,
}

fn integers_of(
    operand: &DataType,
    arguments: &[Column],
    rows: usize,
    by_zero: ByZero,
    operation: Operation,
) -> Result<Column> {
    match operand {
        DataType::Int32 => integers::<Int32Type>(operand, arguments, rows, by_zero, operation),
        DataType::Int64 => integers::<Int64Type>(operand, arguments, rows, by_zero, operation),
        DataType::UInt32 => integers::<UInt32Type>(operand, arguments, rows, by_zero, operation),
        _ => integers64(operand, arguments, rows, by_zero, operation),
    }
}

/// Integers that are divided.
trait Divide: Copy + PartialEq {
    const ZERO: Self;
    /// The only divisor that can overflow, and the dividend with which it does.
    const OVERFLOW: Option<(Self, Self)>;
    /// The quotient; 0 for a zero divisor.
    fn quotient(self, divisor: Self) -> Self;
    /// The remainder with the dividend's sign; 0 for a zero divisor.
    fn remainder(self, divisor: Self) -> Self;
    /// The remainder from 0 up.
    fn positive_remainder(self, divisor: Self) -> Self;
}

macro_rules! divide {
    ($($t:ty, $overflow:expr);*) => {
        $(impl Divide for $t {
            const ZERO: Self = 0;
            const OVERFLOW: Option<(Self, Self)> = $overflow;

            #[inline(always)]
            fn quotient(self, divisor: Self) -> Self {
                if divisor == 0 { 0 } else { self.wrapping_div(divisor) }
            }

            #[inline(always)]
            fn remainder(self, divisor: Self) -> Self {
                if divisor == 0 { 0 } else { self.wrapping_rem(divisor) }
            }

            #[inline(always)]
            fn positive_remainder(self, divisor: Self) -> Self {
                if divisor == 0 { 0 } else { self.wrapping_rem_euclid(divisor) }
            }
        })*
    };
}

divide!(u32, None; u64, None; i32, Some((-1, i32::MIN)); i64, Some((-1, i64::MIN)));

fn refuse_zero<T: ArrowPrimitiveType>(divisors: &Numbers<'_, T>, zero: T::Native) -> Result<()> {
    let has_zero = match divisors {
        Numbers::Varying(values) => values.contains(&zero),
        Numbers::Constant(value) => *value == zero,
    };
    if has_zero { Err(Error::new(ErrorCode::ILLEGAL_DIVISION, "Division by zero")) } else { Ok(()) }
}

fn integers<T: ArrowPrimitiveType<Native: Divide>>(
    data_type: &DataType,
    arguments: &[Column],
    rows: usize,
    by_zero: ByZero,
    operation: Operation,
) -> Result<Column> {
    let (dividends, divisors) = (Numbers::<T>::of(arguments, 0)?, Numbers::<T>::of(arguments, 1)?);
    if by_zero == ByZero::Error {
        refuse_zero(&divisors, T::Native::ZERO)?;
    }
    if let Some((divisor, dividend)) = T::Native::OVERFLOW
        && operation == Operation::Quotient
        && by_zero == ByZero::Error
        && (0..rows).any(|row| dividends.get(row) == dividend && divisors.get(row) == divisor)
    {
        return Err(overflow());
    }
    let values = match operation {
        Operation::Quotient => map2(dividends, divisors, rows, T::Native::quotient),
        Operation::Remainder => map2(dividends, divisors, rows, T::Native::remainder),
        Operation::PositiveRemainder => map2(dividends, divisors, rows, T::Native::positive_remainder),
    };
    Ok(Column::from_primitive::<T>(data_type.clone(), values))
}

/// `UInt64` by a constant is the usual case (`number % 10`), and 64-bit division is slow: where all dividends fit in 32 bits, a
/// multiplication by the divisor's reciprocal does (Lemire, Kaser, Kurz, *Faster Remainder by Direct Computation*, 2019).
fn integers64(
    data_type: &DataType,
    arguments: &[Column],
    rows: usize,
    by_zero: ByZero,
    operation: Operation,
) -> Result<Column> {
    let (dividends, divisors) = (Numbers::<UInt64Type>::of(arguments, 0)?, Numbers::<UInt64Type>::of(arguments, 1)?);
    let narrow = |value: u64| u32::try_from(value).is_ok();
    if let (Numbers::Varying(dividends), Numbers::Constant(divisor)) = (dividends, divisors)
        && divisor > 1
        && narrow(divisor)
        && narrow(dividends.iter().fold(0, |all, value| all | value))
    {
        let reciprocal = u64::MAX / divisor + 1;
        let values: Vec<u64> = if operation == Operation::Quotient {
            dividends.iter().map(|value| high(reciprocal, *value)).collect()
        } else {
            dividends.iter().map(|value| high(reciprocal.wrapping_mul(*value), divisor)).collect()
        };
        return Ok(Column::from_primitive::<UInt64Type>(data_type.clone(), values));
    }
    integers::<UInt64Type>(data_type, arguments, rows, by_zero, operation)
}

/// The upper half of a product.
#[inline(always)]
fn high(left: u64, right: u64) -> u64 {
    ((u128::from(left) * u128::from(right)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::high;

    #[test]
    fn reciprocals_divide_32_bit_numbers() {
        for divisor in [2u64, 3, 7, 10, 1000, 65_537, u64::from(u32::MAX)] {
            let reciprocal = u64::MAX / divisor + 1;
            for value in [0u64, 1, 2, 9, 10, 999, 1000, 1 << 31, u64::from(u32::MAX) - 1, u64::from(u32::MAX)] {
                assert_eq!(high(reciprocal, value), value / divisor, "{value} / {divisor}");
                assert_eq!(high(reciprocal.wrapping_mul(value), divisor), value % divisor, "{value} % {divisor}");
            }
        }
    }
}
