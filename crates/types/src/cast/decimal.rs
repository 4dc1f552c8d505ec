//! Conversion from and to decimals and integers past 64 bits. A column becomes integers of 128 bits (or 256 where those do not hold
//! it, of 64 where these do) or floats first, and the target's numbers are made of these, so that there is one loop for each kind and
//! not for each pair.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt8Type};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::NullBuffer;
use std::borrow::Cow;
use std::sync::Arc;

use super::{CastMode, CastOptions, cast_array, no_conversion, refuse_not_finite, unsafe_value};
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::integer::{I256, Integer, U256, integer_of_float, is_exact_integer};
use crate::{checkpoint, match_integer, reserve};

/// Whether a pair of types is converted here.
pub(super) fn concerns(from: &DataType, to: &DataType) -> bool {
    let is_wide = |data_type: &DataType| data_type.is_wide_integer() || data_type.is_decimal();
    is_wide(from) || is_wide(to)
}

/// Numbers on their way between two types.
enum Numbers<'a> {
    Narrow(Cow<'a, [i64]>),
    Small(Vec<i128>),
    /// Modulo 2^256.
    Large(Vec<I256>),
    /// Of `UInt256`, which may be past the greatest `I256`.
    Unsigned(Vec<U256>),
    Floats(Vec<f64>),
}

fn read<'a>(from: &DataType, array: &'a ArrayRef) -> Result<Numbers<'a>> {
    reserve(array.len().saturating_mul(16))?;
    Ok(match from {
        DataType::Float32 => Numbers::Floats(
            array.as_primitive::<Float32Type>().values().iter().map(|value| f64::from(*value)).collect(),
        ),
        DataType::Float64 => Numbers::Floats(array.as_primitive::<Float64Type>().values().to_vec()),
        DataType::UInt256 => Numbers::Unsigned(U256::values(array).into_owned()),
        _ => match_integer!(from, T => {
            if T::BYTES == 8 && T::IS_SIGNED {
                Numbers::Narrow(i64::values(array))
            } else if T::BYTES < 8 {
                let values = T::values(array);
                Numbers::Narrow(values.iter().map(|value| value.small().unwrap_or_default() as i64).collect())
            } else if T::BYTES < 16 || T::BYTES == 16 && T::IS_SIGNED {
                Numbers::Small(T::values(array).iter().map(|value| value.small().unwrap_or_default()).collect())
            } else {
                Numbers::Large(T::values(array).iter().map(|value| value.large()).collect())
            }
        }, _ => return Err(no_conversion(from, &DataType::Int128))),
    })
}

/// Converts a column of numbers where one of the types is wide or a decimal.
pub(super) fn convert(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    match (from, to) {
        (DataType::Decimal(_, left), DataType::DateTime64(right, _))
            if left == right && from.physical() == to.physical() =>
        {
            return Ok(array.clone());
        }
        (_, DataType::DateTime64(digits, _)) if from.is_decimal() => {
            return convert(from, array, &DataType::Decimal(18, *digits), options);
        }
        (DataType::DateTime64(digits, _), _) if to.is_decimal() => {
            return convert(&DataType::Decimal(18, *digits), array, to, options);
        }
        (DataType::DateTime64(..), _) => {
            let seconds = super::ticks_to_number(array, from.time_digits(), &DataType::Int64, options)?;
            return convert(&DataType::Int64, &seconds, to, options);
        }
        (_, DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..)) => {
            if from.is_decimal() {
                return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, format!("Illegal column {from} of {to}")));
            }
            let numbers = convert(from, array, &DataType::Int64, options)?;
            return cast_array(&DataType::Int64, &numbers, to, options);
        }
        (DataType::Date | DataType::Date32 | DataType::DateTime(_), DataType::Decimal(..)) => {
            return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, format!("Illegal column {from} of {to}")));
        }
        (DataType::Enum8(_) | DataType::Enum16(_), DataType::Decimal(..))
        | (_, DataType::Enum8(_) | DataType::Enum16(_)) => {
            return Err(Error::new(
                ErrorCode::CANNOT_CONVERT_TYPE,
                format!("Conversion from {from} to {to} is not supported"),
            ));
        }
        (DataType::IPv6, DataType::UInt128) | (DataType::UInt128, DataType::IPv6) => return reversed(array),
        (DataType::UUID, DataType::UInt128) => {
            let bytes = array.as_fixed_size_binary();
            let numbers =
                (0..bytes.len()).map(|row| u128::from_be_bytes(bytes.value(row).try_into().unwrap_or_default()));
            return Integer::array(numbers.collect::<Vec<u128>>(), None);
        }
        (DataType::UUID | DataType::IPv4 | DataType::IPv6, _)
        | (_, DataType::UUID | DataType::IPv4 | DataType::IPv6 | DataType::FixedString(_)) => {
            return Err(no_conversion(from, to));
        }
        _ => {}
    }
    checkpoint(8 * array.len())?;
    if let DataType::Bool = to {
        let truths: Vec<u8> = match read(from, array)? {
            Numbers::Narrow(values) => values.iter().map(|value| u8::from(*value != 0)).collect(),
            Numbers::Small(values) => values.iter().map(|value| u8::from(*value != 0)).collect(),
            Numbers::Large(values) => values.iter().map(|value| u8::from(*value != I256::ZERO)).collect(),
            Numbers::Unsigned(values) => values.iter().map(|value| u8::from(*value != U256::ZERO)).collect(),
            Numbers::Floats(values) => values.iter().map(|value| u8::from(*value != 0.0)).collect(),
        };
        return Ok(Arc::new(PrimitiveArray::<UInt8Type>::new(truths.into(), None)));
    }
    let conversion = Conversion { from, to, array, options };
    match read(from, array)? {
        Numbers::Floats(values) => conversion.of_floats(&values),
        numbers if to.is_float() => conversion.to_floats(&numbers),
        Numbers::Narrow(values) => conversion.of_narrow(&values),
        Numbers::Small(values) => conversion.of_small(&values),
        Numbers::Large(values) => conversion.of_large(&values),
        Numbers::Unsigned(values) => conversion.of_unsigned(&values),
    }
}

/// The bytes of each value turned round.
fn reversed(array: &ArrayRef) -> Result<ArrayRef> {
    let values = array.as_fixed_size_binary();
    let mut bytes: Vec<u8> = (0..values.len()).flat_map(|row| values.value(row).iter().copied()).collect();
    bytes.chunks_mut(16).for_each(<[u8]>::reverse);
    Ok(Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?))
}

/// How a value changes on its way: the integers that it may be multiplied with or divided by.
#[derive(Clone, Copy)]
enum Scaling<T> {
    Keep,
    Times(T),
    Over(T),
    /// By more than the type holds: only zero stays what it is, or all become zero.
    TimesTooMuch,
    OverTooMuch,
}

impl<T: Integer> Scaling<T> {
    fn new(from: u8, to: u8) -> Self {
        let power = T::power_of_ten(u32::from(from.abs_diff(to)));
        match (from.cmp(&to), power) {
            (std::cmp::Ordering::Equal, _) => Self::Keep,
            (std::cmp::Ordering::Less, Some(power)) => Self::Times(power),
            (std::cmp::Ordering::Less, None) => Self::TimesTooMuch,
            (std::cmp::Ordering::Greater, Some(power)) => Self::Over(power),
            (std::cmp::Ordering::Greater, None) => Self::OverTooMuch,
        }
    }

    #[inline(always)]
    fn apply(self, value: T) -> Option<T> {
        match self {
            Self::Keep => Some(value),
            Self::Times(power) => value.times(power),
            Self::Over(power) => value.over(power),
            Self::TimesTooMuch => (value == T::default()).then_some(value),
            Self::OverTooMuch => Some(T::default()),
        }
    }
}

struct Conversion<'a> {
    from: &'a DataType,
    to: &'a DataType,
    array: &'a ArrayRef,
    options: &'a CastOptions,
}

impl Conversion<'_> {
    /// What a value that does not fit is.
    fn overflow(&self) -> Error {
        match (self.from.is_decimal(), self.to.is_decimal()) {
            (_, true) => Error::new(ErrorCode::DECIMAL_OVERFLOW, "Decimal convert overflow"),
            (true, false) => Error::new(ErrorCode::DECIMAL_OVERFLOW, "Convert overflow"),
            (false, false) => unsafe_value(self.from, self.to),
        }
    }

    /// Whether numbers that do not fit wrap: integers do among each other.
    fn wraps(&self) -> bool {
        self.options.mode == CastMode::Plain && !self.from.is_decimal() && !self.to.is_decimal()
    }

    fn collect<T: Integer, S: Copy>(&self, values: &[S], convert: impl Fn(S) -> Option<T>) -> Result<ArrayRef> {
        let mut out = Vec::with_capacity(values.len());
        let mut refused: Vec<usize> = Vec::new();
        for (row, value) in values.iter().enumerate() {
            let converted = convert(*value);
            if converted.is_none() && self.array.is_valid(row) {
                if self.options.mode != CastMode::OrNull {
                    return Err(self.overflow());
                }
                refused.push(row);
            }
            out.push(converted.unwrap_or_default());
        }
        let nulls = (!refused.is_empty()).then(|| {
            let mut valid = vec![true; values.len()];
            refused.iter().for_each(|row| valid[*row] = false);
            NullBuffer::from(valid)
        });
        T::array(out, nulls)
    }

    fn of_narrow(&self, values: &[i64]) -> Result<ArrayRef> {
        let scaling = Scaling::<i64>::new(self.from.scale(), self.to.scale());
        match_integer!(self.to, T => {
            if T::BYTES > 8 {
                // What grows past 64 bits may still fit.
                return self.of_small(&values.iter().map(|value| i128::from(*value)).collect::<Vec<_>>());
            }
            if self.wraps() {
                return T::array(values.iter().map(|value| T::wrap(i128::from(*value))).collect(), None);
            }
            self.collect::<T, i64>(values, |value| scaling.apply(value).and_then(|value| T::fit(i128::from(value))))
        }, _ => Err(no_conversion(self.from, self.to)))
    }

    fn of_small(&self, values: &[i128]) -> Result<ArrayRef> {
        let scaling = Scaling::<i128>::new(self.from.scale(), self.to.scale());
        match_integer!(self.to, T => {
            if self.wraps() {
                return T::array(values.iter().map(|value| T::wrap(*value)).collect(), None);
            }
            if T::BYTES == 32 && self.to.scale() > self.from.scale() {
                // What grows past 128 bits may still fit.
                let scaling = Scaling::<I256>::new(self.from.scale(), self.to.scale());
                return self.collect::<T, i128>(values, |value| scaling.apply(I256::from(value)).and_then(T::fit_large));
            }
            self.collect::<T, i128>(values, |value| scaling.apply(value).and_then(T::fit))
        }, _ => Err(no_conversion(self.from, self.to)))
    }

    fn of_large(&self, values: &[I256]) -> Result<ArrayRef> {
        let scaling = Scaling::<I256>::new(self.from.scale(), self.to.scale());
        match_integer!(self.to, T => {
            if self.wraps() {
                return T::array(values.iter().map(|value| T::wrap_large(*value)).collect(), None);
            }
            self.collect::<T, I256>(values, |value| scaling.apply(value).and_then(T::fit_large))
        }, _ => Err(no_conversion(self.from, self.to)))
    }

    fn of_unsigned(&self, values: &[U256]) -> Result<ArrayRef> {
        let scaling = Scaling::<I256>::new(0, self.to.scale());
        match_integer!(self.to, T => {
            if self.wraps() {
                return T::array(values.iter().map(|value| T::wrap_large(value.as_i256())).collect(), None);
            }
            self.collect::<T, U256>(values, |value| scaling.apply(I256::try_from(value).ok()?).and_then(T::fit_large))
        }, _ => Err(no_conversion(self.from, self.to)))
    }

    fn of_floats(&self, values: &[f64]) -> Result<ArrayRef> {
        if let DataType::Decimal(_, scale) = self.to {
            let power = 10f64.powi((*scale).into());
            let is_narrow = *self.from == DataType::Float32;
            let product = |value: f64| if is_narrow { f64::from(value as f32 * power as f32) } else { value * power };
            return match_integer!(self.to, T => {
                let (least, most) = (T::LEAST.as_float(), T::MOST.as_float());
                let fits = |value: f64| product(value) > least && product(value) < most;
                let refused = values.iter().enumerate().find(|(row, value)| !fits(**value) && self.array.is_valid(*row));
                if let (Some((_, value)), false) = (refused, self.options.mode == CastMode::OrNull) {
                    let what = if value.is_finite() {
                        "Float is out of Decimal range"
                    } else {
                        "Cannot convert infinity or NaN to decimal"
                    };
                    return Err(Error::new(
                        ErrorCode::DECIMAL_OVERFLOW,
                        format!("Decimal convert overflow. {what}"),
                    ));
                }
                self.collect::<T, f64>(values, |value| {
                    fits(value).then(|| T::wrap_large(integer_of_float(product(value))))
                })
            }, _ => Err(no_conversion(self.from, self.to)));
        }
        let is_plain = self.options.mode == CastMode::Plain;
        if is_plain {
            refuse_not_finite(self.array)?;
        }
        match_integer!(self.to, T => {
            if is_plain {
                return T::array(values.iter().map(|value| T::wrap_large(integer_of_float(*value))).collect(), None);
            }
            self.collect::<T, f64>(values, |value| {
                let is_exact = value.abs() < 5e76 && is_exact_integer(value);
                is_exact.then(|| integer_of_float(value)).and_then(T::fit_large)
            })
        }, _ => Err(no_conversion(self.from, self.to)))
    }

    fn to_floats(&self, numbers: &Numbers<'_>) -> Result<ArrayRef> {
        let divisor = 10f64.powi(self.from.scale().into());
        let scaled = |value: f64| if self.from.is_decimal() { value / divisor } else { value };
        let values: Vec<f64> = match numbers {
            Numbers::Narrow(values) => values.iter().map(|value| scaled(*value as f64)).collect(),
            Numbers::Small(values) => values.iter().map(|value| scaled(*value as f64)).collect(),
            Numbers::Large(values) => values.iter().map(|value| scaled(value.as_float())).collect(),
            Numbers::Unsigned(values) => values.iter().map(|value| value.as_float()).collect(),
            Numbers::Floats(values) => values.clone(),
        };
        if *self.to == DataType::Float32 {
            let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            return Ok(Arc::new(PrimitiveArray::<Float32Type>::new(values.into(), None)));
        }
        Ok(Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), None)))
    }
}
