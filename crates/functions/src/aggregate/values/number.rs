//! Numbers as `sum` and `avg` see them: the wider type in which each is added up, and fast totals of slices.

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use squall_types::{Column, Error, Result, vectorized};

use super::state_bytes::Raw;

/// A type of numbers that can be added up.
pub(in crate::aggregate) trait Number:
    ArrowPrimitiveType<Native: Raw> + std::fmt::Debug + Send + Sync
{
    /// `UInt64Type`, `Int64Type` or `Float64Type`: ClickHouse's type of the sum.
    type Total: ArrowPrimitiveType<Native: Raw>;

    /// Whether a total is the same whatever the order of its values: that of integers is.
    const IS_EXACT: bool;

    /// Adds a value to a total; integers wrap.
    fn add(total: &mut <Self::Total as ArrowPrimitiveType>::Native, value: Self::Native);

    /// Adds two totals; integers wrap.
    fn add_total(
        total: &mut <Self::Total as ArrowPrimitiveType>::Native,
        other: <Self::Total as ArrowPrimitiveType>::Native,
    );

    /// The total of a slice, vectorised.
    fn total(values: &[Self::Native]) -> <Self::Total as ArrowPrimitiveType>::Native;

    /// The total of a value so many times.
    fn times(value: Self::Native, times: usize) -> <Self::Total as ArrowPrimitiveType>::Native;

    /// The total as a float.
    fn as_f64(total: <Self::Total as ArrowPrimitiveType>::Native) -> f64;

    /// A value as a float.
    fn to_f64(value: Self::Native) -> f64;

    /// What stands for no value: NaN, 0 where there is none.
    fn without_values() -> Self::Native;
}

macro_rules! integer {
    ($number:ty, $native:ty, $total:ty, $wide:ty, |$values:ident| $sum:expr) => {
        impl Number for $number {
            type Total = $total;

            const IS_EXACT: bool = true;

            #[inline]
            fn add(total: &mut $wide, value: $native) {
                *total = total.wrapping_add(<$wide>::from(value));
            }

            #[inline]
            fn add_total(total: &mut $wide, other: $wide) {
                *total = total.wrapping_add(other);
            }

            fn total($values: &[$native]) -> $wide {
                vectorized(|| $sum)
            }

            fn times(value: $native, times: usize) -> $wide {
                <$wide>::from(value).wrapping_mul(times as $wide)
            }

            fn as_f64(total: $wide) -> f64 {
                total as f64
            }

            #[inline]
            fn to_f64(value: $native) -> f64 {
                value as f64
            }

            fn without_values() -> $native {
                0
            }
        }
    };
}

/// How many sums of floats run side by side.
const FLOAT_SUMS: usize = 16;

/// Values of a chunk of narrow integers add up in 32 bits without overflow: 4,096 × 65,535 < 2^32.
const NARROW_CHUNK: usize = 4096;

macro_rules! narrow {
    ($number:ty, $native:ty, $middle:ty, $total:ty, $wide:ty) => {
        integer!($number, $native, $total, $wide, |values| values
            .chunks(NARROW_CHUNK)
            .map(|chunk| <$wide>::from(chunk.iter().map(|&value| <$middle>::from(value)).sum::<$middle>()))
            .fold(<$wide>::default(), <$wide>::wrapping_add));
    };
}

narrow!(UInt8Type, u8, u32, UInt64Type, u64);
narrow!(UInt16Type, u16, u32, UInt64Type, u64);
narrow!(Int8Type, i8, i32, Int64Type, i64);
narrow!(Int16Type, i16, i32, Int64Type, i64);

macro_rules! wide {
    ($number:ty, $native:ty, $total:ty, $wide:ty) => {
        integer!($number, $native, $total, $wide, |values| values
            .iter()
            .fold(<$wide>::default(), |total, &value| total.wrapping_add(<$wide>::from(value))));
    };
}

wide!(UInt32Type, u32, UInt64Type, u64);
wide!(Int32Type, i32, Int64Type, i64);
wide!(UInt64Type, u64, UInt64Type, u64);
wide!(Int64Type, i64, Int64Type, i64);

macro_rules! float {
    ($number:ty, $native:ty) => {
        impl Number for $number {
            type Total = Float64Type;

            const IS_EXACT: bool = false;

            #[inline]
            fn add(total: &mut f64, value: $native) {
                *total += f64::from(value);
            }

            #[inline]
            fn add_total(total: &mut f64, other: f64) {
                *total += other;
            }

            fn total(values: &[$native]) -> f64 {
                // Floats do not associate, so the compiler keeps the order that is written, which is ClickHouse's: sums side by side.
                let (chunks, rest) = values.as_chunks::<FLOAT_SUMS>();
                let mut sums = [0.0; FLOAT_SUMS];
                vectorized(|| {
                    for chunk in chunks {
                        for (sum, &value) in sums.iter_mut().zip(chunk) {
                            *sum += f64::from(value);
                        }
                    }
                });
                rest.iter().fold(sums.iter().sum::<f64>(), |sum, &value| sum + f64::from(value))
            }

            fn times(value: $native, times: usize) -> f64 {
                // As the values would add up one by one: all sums side by side are the same.
                let value = f64::from(value);
                let sum = (0..times / FLOAT_SUMS).fold(0.0, |sum, _| sum + value);
                let sums = if times < FLOAT_SUMS { 0.0 } else { (0..FLOAT_SUMS).fold(0.0, |all, _| all + sum) };
                (0..times % FLOAT_SUMS).fold(sums, |all, _| all + value)
            }

            fn as_f64(total: f64) -> f64 {
                total
            }

            #[inline]
            fn to_f64(value: $native) -> f64 {
                f64::from(value)
            }

            fn without_values() -> $native {
                <$native>::NAN
            }
        }
    };
}

float!(Float32Type, f32);
float!(Float64Type, f64);

/// Evaluates an expression with `$number` as the [`Number`] that stores a data type, or `$otherwise` for types that are not stored
/// as numbers. Whether the type may be added up is the caller's question.
macro_rules! with_number {
    ($data_type:expr, $number:ident => $result:expr, otherwise $otherwise:expr) => {{
        use arrow_array::types as arrow_types;
        use arrow_schema::DataType as ArrowType;
        let data_type: &squall_types::DataType = $data_type;
        macro_rules! go {
            ($kind:ty) => {{
                type $number = $kind;
                $result
            }};
        }
        match data_type.arrow_type() {
            ArrowType::UInt8 => go!(arrow_types::UInt8Type),
            ArrowType::UInt16 => go!(arrow_types::UInt16Type),
            ArrowType::UInt32 => go!(arrow_types::UInt32Type),
            ArrowType::UInt64 => go!(arrow_types::UInt64Type),
            ArrowType::Int8 => go!(arrow_types::Int8Type),
            ArrowType::Int16 => go!(arrow_types::Int16Type),
            ArrowType::Int32 => go!(arrow_types::Int32Type),
            ArrowType::Int64 => go!(arrow_types::Int64Type),
            ArrowType::Float32 => go!(arrow_types::Float32Type),
            ArrowType::Float64 => go!(arrow_types::Float64Type),
            _ => $otherwise,
        }
    }};
}
pub(in crate::aggregate) use with_number;

/// The values of a numeric column as floats.
pub(in crate::aggregate) fn floats(column: &Column) -> Result<Vec<f64>> {
    with_number!(column.data_type(), T => {
        Ok(column.as_primitive::<T>()?.values().iter().map(|&value| T::to_f64(value)).collect())
    }, otherwise Err(Error::logical("a number was expected")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_narrow_integers_do_not_overflow() {
        assert_eq!(UInt16Type::total(&vec![u16::MAX; 1_000_003]), 1_000_003 * u64::from(u16::MAX));
        assert_eq!(Int16Type::total(&vec![i16::MIN; 1_000_003]), 1_000_003 * i64::from(i16::MIN));
        assert_eq!(UInt64Type::total(&[u64::MAX, 2]), 1);
        assert_eq!(Float64Type::total(&[0.5; 19]), 9.5);
    }
}
