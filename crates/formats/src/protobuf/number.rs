//! Numbers of columns and fields, each made of the other. As in ClickHouse, most numbers must fit, and those of 8 bits with a sign, of 128
//! and of 256 bits are cut to their low bits.

use squall_types::Integer;
use squall_types::integer::{I256, U256, integer_of_float};
use squall_types::text::{read_any_integer, read_float32, read_float64};

/// A number of a column.
pub(super) trait Number: Copy {
    /// Of a number of a field, where it fits.
    fn of_int(value: i64) -> Option<Self>;
    fn of_uint(value: u64) -> Option<Self>;
    fn of_float(value: f64) -> Option<Self>;
    /// Of text, as far as it is a number.
    fn of_text(text: &[u8]) -> Option<Self>;
    /// For a field, where it fits.
    fn int(self) -> Option<i64>;
    fn int32(self) -> Option<i32>;
    fn uint(self) -> Option<u64>;
    fn uint32(self) -> Option<u32>;
    fn float(self) -> Option<f32>;
    fn double(self) -> f64;
    /// 0 or 1, and nothing for others.
    fn boolean(self) -> Option<bool>;
}

/// A float cut to an integer, where it is between these two, which it may not reach; what is no number becomes what processors make of it.
fn cut(value: f64, least: f64, most: f64) -> Option<f64> {
    (value.is_nan() || (value > least && value < most)).then_some(value)
}

macro_rules! checked {
    ($($number:ident),*) => {$(
        impl Number for $number {
            #[inline(always)]
            fn of_int(value: i64) -> Option<Self> {
                Self::try_from(value).ok()
            }

            #[inline(always)]
            fn of_uint(value: u64) -> Option<Self> {
                Self::try_from(value).ok()
            }

            fn of_float(value: f64) -> Option<Self> {
                // A float that is no number is the least one of 32 and 64 bits.
                let of_nan = match Self::BITS {
                    64 => i64::MIN as Self,
                    32 if Self::MIN != 0 => Self::MIN,
                    _ => 0,
                };
                let value = cut(value, Self::MIN as f64 - 1.0, Self::MAX as f64 + 1.0)?;
                Some(if value.is_nan() { of_nan } else { value as Self })
            }

            fn of_text(text: &[u8]) -> Option<Self> {
                read_any_integer(text).ok().map(|(value, _)| value)
            }

            #[inline(always)]
            fn int(self) -> Option<i64> {
                i64::try_from(self).ok()
            }

            #[inline(always)]
            fn int32(self) -> Option<i32> {
                i32::try_from(self).ok()
            }

            #[inline(always)]
            fn uint(self) -> Option<u64> {
                u64::try_from(self).ok()
            }

            #[inline(always)]
            fn uint32(self) -> Option<u32> {
                u32::try_from(self).ok()
            }

            fn float(self) -> Option<f32> {
                Some(self as f32)
            }

            fn double(self) -> f64 {
                self as f64
            }

            fn boolean(self) -> Option<bool> {
                match self {
                    0 => Some(false),
                    1 => Some(true),
                    _ => None,
                }
            }
        }
    )*};
}

checked!(u8, u16, u32, u64, i16, i32, i64);

impl Number for i8 {
    fn of_int(value: i64) -> Option<Self> {
        Some(value as Self)
    }

    fn of_uint(value: u64) -> Option<Self> {
        Some(value as Self)
    }

    fn of_float(value: f64) -> Option<Self> {
        Some(if value.abs() < 2f64.powi(31) { value as i32 as Self } else { 0 })
    }

    fn of_text(text: &[u8]) -> Option<Self> {
        read_any_integer(text).ok().map(|(value, _)| value)
    }

    fn int(self) -> Option<i64> {
        Some(self.into())
    }

    fn int32(self) -> Option<i32> {
        Some(self.into())
    }

    fn uint(self) -> Option<u64> {
        Some(self as u64)
    }

    fn uint32(self) -> Option<u32> {
        Some(self as u32)
    }

    fn float(self) -> Option<f32> {
        Some(self.into())
    }

    fn double(self) -> f64 {
        self.into()
    }

    fn boolean(self) -> Option<bool> {
        i16::from(self).boolean()
    }
}

macro_rules! wide {
    ($($number:ident: $float:expr),*) => {$(
        impl Number for $number {
            fn of_int(value: i64) -> Option<Self> {
                Some(<Self as Integer>::wrap(value.into()))
            }

            fn of_uint(value: u64) -> Option<Self> {
                Some(<Self as Integer>::wrap(value.into()))
            }

            fn of_float(value: f64) -> Option<Self> {
                let is_number = value.is_finite();
                Some(if is_number { <Self as Integer>::wrap_large(integer_of_float(value)) } else { Self::default() })
            }

            fn of_text(text: &[u8]) -> Option<Self> {
                read_any_integer(text).ok().map(|(value, _)| value)
            }

            fn int(self) -> Option<i64> {
                Some(<i64 as Integer>::wrap_large(self.large()))
            }

            fn int32(self) -> Option<i32> {
                Some(<i32 as Integer>::wrap_large(self.large()))
            }

            fn uint(self) -> Option<u64> {
                Some(<u64 as Integer>::wrap_large(self.large()))
            }

            fn uint32(self) -> Option<u32> {
                Some(<u32 as Integer>::wrap_large(self.large()))
            }

            fn float(self) -> Option<f32> {
                let float: fn(Self) -> f32 = $float;
                Some(float(self))
            }

            fn double(self) -> f64 {
                self.as_float()
            }

            fn boolean(self) -> Option<bool> {
                if self == Self::default() {
                    return Some(false);
                }
                (self == Self::ONE).then_some(true)
            }
        }
    )*};
}

wide!(
    i128: |value| value as f32,
    u128: |value| value as f32,
    I256: |value| value.as_float() as f32,
    U256: |value| value.as_float() as f32
);

macro_rules! floats {
    ($($number:ident, $read:ident, $float:expr);*) => {$(
        impl Number for $number {
            fn of_int(value: i64) -> Option<Self> {
                Some(value as Self)
            }

            fn of_uint(value: u64) -> Option<Self> {
                Some(value as Self)
            }

            #[inline(always)]
            fn of_float(value: f64) -> Option<Self> {
                let narrow = value as Self;
                // The widest is the one that has it all; of the others, those that are too large have none.
                let is_lost = narrow.is_infinite() && Self::MANTISSA_DIGITS < f64::MANTISSA_DIGITS;
                (!is_lost).then_some(narrow)
            }

            fn of_text(text: &[u8]) -> Option<Self> {
                $read(text).map(|(value, _)| value)
            }

            fn int(self) -> Option<i64> {
                i64::of_float(self.into())
            }

            fn int32(self) -> Option<i32> {
                i32::of_float(self.into())
            }

            fn uint(self) -> Option<u64> {
                u64::of_float(self.into())
            }

            fn uint32(self) -> Option<u32> {
                u32::of_float(self.into())
            }

            #[inline(always)]
            fn float(self) -> Option<f32> {
                let float: fn(Self) -> Option<f32> = $float;
                float(self)
            }

            #[inline(always)]
            fn double(self) -> f64 {
                self.into()
            }

            fn boolean(self) -> Option<bool> {
                if self == 0.0 {
                    return Some(false);
                }
                (self == 1.0).then_some(true)
            }
        }
    )*};
}

floats!(f32, read_float32, Some; f64, read_float64, f32::of_float);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_or_are_cut() {
        assert_eq!((u8::of_int(300), u8::of_int(-1), u8::of_uint(255)), (None, None, Some(255)));
        assert_eq!((i8::of_int(300), i8::of_uint(u64::MAX), (-1i8).uint()), (Some(44), Some(-1), Some(u64::MAX)));
        assert_eq!(((-1i16).uint(), u64::MAX.int(), 5u64.int32()), (None, None, Some(5)));
        assert_eq!(((-1.5f64).int(), (-1.5f64).uint(), (-0.5f64).uint()), (Some(-1), None, Some(0)));
        assert_eq!((1e30f64.int(), f64::NAN.int(), f64::NAN.uint()), (None, Some(i64::MIN), Some(1 << 63)));
        assert_eq!((1e300f64.float(), f64::INFINITY.float(), f32::INFINITY.float()), (None, None, Some(f32::INFINITY)));
        assert_eq!(
            (i128::MAX.int(), (-1i128).uint32(), u128::MAX.float()),
            (Some(-1), Some(u32::MAX), Some(f32::INFINITY))
        );
        assert_eq!(
            (i32::of_text(b"5x"), i32::of_text(b""), u32::of_text(b"-5"), i32::of_text(b"x")),
            (Some(5), None, None, Some(0))
        );
        assert_eq!(i32::of_text(b"99999999999"), Some(1_215_752_191));
        assert_eq!((2u8.boolean(), 1.0f32.boolean(), I256::ONE.boolean()), (None, Some(true), Some(true)));
    }
}
