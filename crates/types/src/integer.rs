//! Integers of any width as columns hold them: up to 64 bits in Arrow's primitive arrays, 128 and 256 bits as little-endian bytes
//! in arrays of fixed-size binaries. What adds, compares or converts numbers of every width is written once over [`Integer`].

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::{Buffer, NullBuffer};
pub use ethnum::{I256, U256};

use crate::error::{Error, Result};
use crate::memory::reserve;

/// An integer of a column.
pub trait Integer:
    Copy
    + Default
    + Ord
    + Hash
    + Debug
    + Display
    + FromStr
    + Send
    + Sync
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + 'static
{
    /// Its width.
    const BYTES: usize;
    /// Whether it has a sign.
    const IS_SIGNED: bool;
    /// The least value.
    const LEAST: Self;
    /// The greatest value.
    const MOST: Self;
    /// One.
    const ONE: Self;

    /// Reads it from its bytes, least first; zero where there are too few.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Appends its bytes, least first.
    fn append_bytes(self, out: &mut Vec<u8>);
    /// The low bits of a number.
    fn wrap(value: i128) -> Self;
    /// The low bits of a number.
    fn wrap_large(value: I256) -> Self;
    /// The number where it is one of the type's.
    fn fit(value: i128) -> Option<Self>;
    /// The number where it is one of the type's.
    fn fit_large(value: I256) -> Option<Self>;
    /// The number where 128 bits with a sign hold it.
    fn small(self) -> Option<i128>;
    /// The number; one past the greatest `I256` wraps.
    fn large(self) -> I256;
    /// The nearest float.
    fn as_float(self) -> f64;
    /// The sum, modulo the width.
    fn wrapping_plus(self, other: Self) -> Self;
    /// The difference, modulo the width.
    fn wrapping_minus(self, other: Self) -> Self;
    /// The product, modulo the width.
    fn wrapping_times(self, other: Self) -> Self;
    /// The sum, unless it overflows.
    fn plus(self, other: Self) -> Option<Self>;
    /// The difference, unless it overflows.
    fn minus(self, other: Self) -> Option<Self>;
    /// The product, unless it overflows.
    fn times(self, other: Self) -> Option<Self>;
    /// The quotient, cut to an integer; `None` by zero, and where it overflows.
    fn over(self, other: Self) -> Option<Self>;
    /// The rest, with the sign of `self`; `None` by zero, and where the quotient overflows.
    fn rest(self, other: Self) -> Option<Self>;
    /// The power of ten, where the type has it.
    fn power_of_ten(exponent: u32) -> Option<Self>;
    /// Bits that are set.
    fn ones(self) -> u32;
    /// The values of an array of the type's layout.
    fn values(array: &dyn Array) -> Cow<'_, [Self]>;
    /// The array of values.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where the rows of values and validity differ.
    fn array(values: Vec<Self>, nulls: Option<NullBuffer>) -> Result<ArrayRef>;
}

macro_rules! common {
    ($t:ident) => {
        const BYTES: usize = size_of::<Self>();
        const LEAST: Self = $t::MIN;
        const MOST: Self = $t::MAX;

        #[inline(always)]
        fn from_bytes(bytes: &[u8]) -> Self {
            bytes.try_into().map_or(Self::default(), Self::from_le_bytes)
        }

        #[inline(always)]
        fn append_bytes(self, out: &mut Vec<u8>) {
            out.extend_from_slice(&self.to_le_bytes());
        }

        #[inline(always)]
        fn wrapping_plus(self, other: Self) -> Self {
            self.wrapping_add(other)
        }

        #[inline(always)]
        fn wrapping_minus(self, other: Self) -> Self {
            self.wrapping_sub(other)
        }

        #[inline(always)]
        fn wrapping_times(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Option<Self> {
            self.checked_add(other)
        }

        #[inline(always)]
        fn minus(self, other: Self) -> Option<Self> {
            self.checked_sub(other)
        }

        #[inline(always)]
        fn times(self, other: Self) -> Option<Self> {
            self.checked_mul(other)
        }

        #[inline(always)]
        fn over(self, other: Self) -> Option<Self> {
            self.checked_div(other)
        }

        #[inline(always)]
        fn rest(self, other: Self) -> Option<Self> {
            self.checked_rem(other)
        }

        #[inline(always)]
        fn ones(self) -> u32 {
            self.count_ones()
        }
    };
}

macro_rules! native {
    ($($t:ident, $signed:literal);*) => {
        $(impl Integer for $t {
            common!($t);
            const IS_SIGNED: bool = $signed;
            const ONE: Self = 1;

            #[inline(always)]
            fn wrap(value: i128) -> Self {
                value as Self
            }

            #[inline(always)]
            fn wrap_large(value: I256) -> Self {
                value.as_i128() as Self
            }

            #[inline(always)]
            fn fit(value: i128) -> Option<Self> {
                value.try_into().ok()
            }

            #[inline(always)]
            fn fit_large(value: I256) -> Option<Self> {
                value.try_into().ok()
            }

            #[inline(always)]
            fn small(self) -> Option<i128> {
                self.try_into().ok()
            }

            #[inline(always)]
            fn large(self) -> I256 {
                I256::from(self)
            }

            #[inline(always)]
            fn as_float(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn power_of_ten(exponent: u32) -> Option<Self> {
                (10 as Self).checked_pow(exponent)
            }

            storage!($t);
        })*
    };
}

macro_rules! primitive_storage {
    ($($t:ident as $arrow:ident),*) => {
        /// How values of a width lie in an array.
        macro_rules! storage {
            $(($t) => {
                #[inline]
                fn values(array: &dyn Array) -> Cow<'_, [Self]> {
                    array.as_primitive_opt::<$arrow>().map_or(Cow::Borrowed(&[]), |array| Cow::Borrowed(&**array.values()))
                }

                fn array(values: Vec<Self>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
                    Ok(Arc::new(PrimitiveArray::<$arrow>::try_new(values.into(), nulls)?))
                }
            };)*
            (i128) => { shared_storage!(); };
            (u128) => { shared_storage!(); };
        }
    };
}

/// 128-bit numbers are read where they lie if that is at an even place.
macro_rules! shared_storage {
    () => {
        #[inline]
        fn values(array: &dyn Array) -> Cow<'_, [Self]> {
            let Some(array) = array.as_fixed_size_binary_opt() else { return Cow::Borrowed(&[]) };
            match bytemuck::try_cast_slice(wide_bytes(array)) {
                Ok(values) if cfg!(target_endian = "little") => Cow::Borrowed(values),
                _ => Cow::Owned(decode(array)),
            }
        }

        fn array(values: Vec<Self>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
            if cfg!(target_endian = "little") {
                return fixed(16, Buffer::from_vec(values), nulls);
            }
            encode(&values, nulls)
        }
    };
}

primitive_storage!(
    u8 as UInt8Type,
    u16 as UInt16Type,
    u32 as UInt32Type,
    u64 as UInt64Type,
    i8 as Int8Type,
    i16 as Int16Type,
    i32 as Int32Type,
    i64 as Int64Type
);

native!(u8, false; u16, false; u32, false; u64, false; u128, false;
    i8, true; i16, true; i32, true; i64, true; i128, true);

macro_rules! large {
    ($t:ident, $signed:literal, $wrap_large:expr, $large:expr, $fit:expr, $fit_large:expr, $small:expr) => {
        impl Integer for $t {
            common!($t);
            const IS_SIGNED: bool = $signed;
            const ONE: Self = $t::ONE;

            #[inline(always)]
            fn wrap(value: i128) -> Self {
                $wrap_large(I256::from(value))
            }

            #[inline(always)]
            fn wrap_large(value: I256) -> Self {
                $wrap_large(value)
            }

            #[inline(always)]
            fn fit(value: i128) -> Option<Self> {
                $fit(value)
            }

            #[inline(always)]
            fn fit_large(value: I256) -> Option<Self> {
                $fit_large(value)
            }

            #[inline(always)]
            fn small(self) -> Option<i128> {
                $small(self)
            }

            #[inline(always)]
            fn large(self) -> I256 {
                $large(self)
            }

            #[inline(always)]
            fn as_float(self) -> f64 {
                self.as_f64()
            }

            #[inline]
            fn power_of_ten(exponent: u32) -> Option<Self> {
                Self::new(10).checked_pow(exponent)
            }

            fn values(array: &dyn Array) -> Cow<'_, [Self]> {
                array.as_fixed_size_binary_opt().map_or(Cow::Borrowed(&[]), |array| Cow::Owned(decode(array)))
            }

            fn array(values: Vec<Self>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
                encode(&values, nulls)
            }
        }
    };
}

large!(
    I256,
    true,
    |value: I256| value,
    |value: I256| value,
    |value: i128| Some(I256::from(value)),
    Some,
    |value: I256| value.try_into().ok()
);
large!(
    U256,
    false,
    |value: I256| value.as_u256(),
    |value: U256| value.as_i256(),
    |value: i128| (value >= 0).then(|| U256::from(value.unsigned_abs())),
    |value: I256| (value >= I256::ZERO).then(|| value.as_u256()),
    |value: U256| value.try_into().ok()
);

/// The bytes of all rows.
fn wide_bytes(array: &FixedSizeBinaryArray) -> &[u8] {
    let width = usize::try_from(array.value_length()).unwrap_or(0);
    array.value_data().get(..width * array.len()).unwrap_or_default()
}

fn decode<T: Integer>(array: &FixedSizeBinaryArray) -> Vec<T> {
    wide_bytes(array).chunks_exact(T::BYTES).map(T::from_bytes).collect()
}

fn encode<T: Integer>(values: &[T], nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut bytes = Vec::new();
    reserve(values.len().saturating_mul(T::BYTES))?;
    bytes.reserve(values.len() * T::BYTES);
    values.iter().for_each(|value| value.append_bytes(&mut bytes));
    fixed(T::BYTES, bytes.into(), nulls)
}

fn fixed(width: usize, bytes: Buffer, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let width = i32::try_from(width).map_err(|_| Error::logical("a width past 2^31"))?;
    Ok(Arc::new(FixedSizeBinaryArray::try_new(width, bytes, nulls)?))
}

/// A number made of a float as ClickHouse makes it: cut to an integer. From 2^64 on it multiplies floats of 64 digits, so that the last
/// digits are not the float's; what is out of range is its low bits.
pub fn integer_of_float(value: f64) -> I256 {
    let magnitude = cut_float(value.abs());
    let magnitude = match u64::try_from(magnitude) {
        Err(_) if value.abs() < 2f64.powi(256) => by_long_double(magnitude.as_u256()).as_i256(),
        _ => magnitude,
    };
    if value < 0.0 { magnitude.wrapping_neg() } else { magnitude }
}

/// Whether a float is an integer that [`integer_of_float`] makes the same number of.
pub fn is_exact_integer(value: f64) -> bool {
    value.trunc() == value && integer_of_float(value.abs()) == cut_float(value.abs())
}

/// 2^64 - 1: what ClickHouse takes a float apart by.
const DIGIT_MOST: U256 = U256::new(u64::MAX as u128);

/// An integer as the product and the sum that ClickHouse makes of it in x86's floats of 80 bits, whose mantissa has 64.
fn by_long_double(value: U256) -> U256 {
    let shift = if value.leading_zeros() >= 128 { 64 } else { 0 };
    let shifted = value << shift;
    let quotient = rounded(shifted / DIGIT_MOST, shifted % DIGIT_MOST != U256::ZERO, 64);
    let whole = quotient >> shift;
    let high = if quotient <= DIGIT_MOST << shift { whole } else { by_double(rounded(quotient, false, 53) >> shift) };
    let taken = rounded(whole.wrapping_mul(DIGIT_MOST), false, 64);
    high.wrapping_mul(DIGIT_MOST).wrapping_add(value.wrapping_sub(taken) & DIGIT_MOST)
}

/// The same in floats of 64 bits, for which 2^64 - 1 is 2^64.
fn by_double(value: U256) -> U256 {
    let whole = value >> 64u32;
    let high = if whole <= DIGIT_MOST { whole } else { by_double(whole) };
    high.wrapping_mul(DIGIT_MOST).wrapping_add(value & DIGIT_MOST)
}

/// The number of so many binary digits that is nearest; of two the even one. `is_cut` tells that a fraction has been cut off.
fn rounded(value: U256, is_cut: bool, bits: u32) -> U256 {
    let width = 256 - value.leading_zeros();
    let Some(unit) = width.checked_sub(bits).filter(|unit| *unit > 0) else { return value };
    let (kept, rest, half) = (value >> unit, value & ((U256::ONE << unit) - 1), U256::ONE << (unit - 1));
    let is_up = rest > half || rest == half && (is_cut || kept & 1 == U256::ONE);
    (kept + U256::from(is_up)) << unit
}

/// A float cut to an integer, the low bits where it is out of range.
fn cut_float(value: f64) -> I256 {
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i32 - 1075;
    let mantissa = I256::from((bits & ((1 << 52) - 1)) | (1 << 52));
    let magnitude = match exponent {
        ..-52 => I256::ZERO,
        -52..0 => mantissa >> exponent.unsigned_abs(),
        0..256 => mantissa.wrapping_shl(exponent.unsigned_abs()),
        _ => I256::ZERO,
    };
    if value < 0.0 { magnitude.wrapping_neg() } else { magnitude }
}

/// The order of two numbers, each given times ten to the power of its number of digits after the point, and that number.
pub fn compare_scaled(left: (I256, u8), right: (I256, u8)) -> Ordering {
    let grown = |(value, scale): (I256, u8), to: u8| {
        I256::power_of_ten(u32::from(to.saturating_sub(scale))).and_then(|power| value.times(power))
    };
    let scale = left.1.max(right.1);
    match (grown(left, scale), grown(right, scale)) {
        (Some(left), Some(right)) => left.cmp(&right),
        // What does not fit when it grows is the one further from zero.
        (None, _) => left.0.cmp(&I256::ZERO),
        (_, None) => I256::ZERO.cmp(&right.0),
    }
}

/// Runs `$body` with `$t` as the Rust type of the integers that columns of a type hold, where it holds integers: numbers, decimals, and
/// what is stored as numbers; `$other` for all other types.
#[macro_export]
macro_rules! match_integer {
    ($data_type:expr, $t:ident => $body:expr, _ => $other:expr) => {{
        use $crate::physical::Physical;
        match $data_type.physical() {
            Physical::UInt8 => {
                type $t = u8;
                $body
            }
            Physical::UInt16 => {
                type $t = u16;
                $body
            }
            Physical::UInt32 => {
                type $t = u32;
                $body
            }
            Physical::UInt64 => {
                type $t = u64;
                $body
            }
            Physical::UInt128 => {
                type $t = u128;
                $body
            }
            Physical::UInt256 => {
                type $t = $crate::integer::U256;
                $body
            }
            Physical::Int8 => {
                type $t = i8;
                $body
            }
            Physical::Int16 => {
                type $t = i16;
                $body
            }
            Physical::Int32 => {
                type $t = i32;
                $body
            }
            Physical::Int64 => {
                type $t = i64;
                $body
            }
            Physical::Int128 => {
                type $t = i128;
                $body
            }
            Physical::Int256 => {
                type $t = $crate::integer::I256;
                $body
            }
            Physical::Nothing
            | Physical::Float32
            | Physical::Float64
            | Physical::Bytes
            | Physical::Fixed(_)
            | Physical::Uuid
            | Physical::Dictionary
            | Physical::List
            | Physical::Struct => $other,
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Integer>(values: &[T]) {
        let array = T::array(values.to_vec(), None).unwrap();
        assert_eq!(&*T::values(&*array), values);
        let rest = array.slice(1, values.len() - 1);
        assert_eq!(&*T::values(&*rest), &values[1..]);
    }

    #[test]
    fn arrays_keep_their_values() {
        round_trip(&[1u8, 255]);
        round_trip(&[i64::MIN, 3]);
        round_trip(&[i128::MIN, -1, i128::MAX]);
        round_trip(&[u128::MAX, 0, 1]);
        round_trip(&[I256::MIN, I256::MINUS_ONE, I256::MAX]);
        round_trip(&[U256::MAX, U256::ZERO]);
    }

    #[test]
    fn floats_are_cut() {
        for value in [0.0, 0.9, -1.7, 1e15, -1e18, 1e30, 3e38, -1e60] {
            let cut = integer_of_float(value);
            assert_eq!(cut.as_f64(), f64::trunc(value) + 0.0, "{value}");
        }
        assert_eq!(i128::wrap_large(integer_of_float(2_251_799_813_685_249.5)), 2_251_799_813_685_249);
        // ClickHouse's digits.
        for (value, digits) in [
            (1e19, "10000000000000000000"),
            (1e30, "1000000000000000019899134206768"),
            (1e38, "99999999999999997752612184630461283328"),
            (-1e30, "-1000000000000000019899134206768"),
            (1e60, "999999999999999949224610183485039213368485755499985485430625"),
            (5.7e76, "57000000000000000423444475729274317842509116552921393879065000995386100352000"),
        ] {
            assert_eq!(integer_of_float(value).to_string(), digits);
        }
    }

    #[test]
    fn numbers_fit_or_not() {
        assert_eq!(u128::fit(-1), None);
        assert_eq!(U256::fit_large(I256::MINUS_ONE), None);
        assert_eq!(i8::fit_large(I256::from(200)), None);
        assert_eq!(U256::wrap(-1), U256::MAX);
        assert_eq!(u8::wrap_large(I256::from(257)), 1);
        assert_eq!(I256::power_of_ten(76).map(|power| power.to_string().len()), Some(77));
        assert_eq!(i128::power_of_ten(39), None);
    }
}
