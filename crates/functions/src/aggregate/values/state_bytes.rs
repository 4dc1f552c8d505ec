//! The bytes of serialised states: numbers as they lie in memory, lengths as varints, values as ClickHouse's binary formats have them.

use squall_types::Result;
pub(crate) use squall_types::binary::put_value;
use squall_types::binary::too_short;
pub(in crate::aggregate) use squall_types::binary::{
    put_string, put_varint, take_bytes, take_count, take_string, take_value, take_varint, turn_fixed,
};

/// A number of a fixed width, low byte first.
pub(in crate::aggregate) trait Raw: Copy {
    fn put(self, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Result<Self>;
}

macro_rules! raw {
    ($($number:ty),*) => {
        $(impl Raw for $number {
            #[inline]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn take(bytes: &mut &[u8]) -> Result<Self> {
                let (first, rest) = bytes.split_first_chunk().ok_or_else(too_short)?;
                *bytes = rest;
                Ok(Self::from_le_bytes(*first))
            }
        })*
    };
}

raw!(u8, u16, u32, u64, u128, i8, i16, i32, i64, f32, f64);

/// So many floats.
pub(in crate::aggregate) fn take_floats<const N: usize>(bytes: &mut &[u8]) -> Result<[f64; N]> {
    let mut floats = [0.0; N];
    for float in &mut floats {
        *float = Raw::take(bytes)?;
    }
    Ok(floats)
}

#[cfg(test)]
mod tests {
    use squall_types::{DataType, Value};

    use super::*;

    #[test]
    fn values_come_back() {
        let values: Vec<(&str, Value)> = vec![
            ("UInt8", Value::UInt64(200)),
            ("Int64", Value::Int64(-5)),
            ("Float32", Value::Float64(1.5)),
            ("String", Value::from("abc")),
            ("Nullable(String)", Value::Null),
            ("Array(Nullable(Int16))", Value::Array([Value::Int64(3), Value::Null].into())),
            ("Tuple(String, UInt8)", Value::Tuple([Value::from("x"), Value::UInt64(1)].into())),
        ];
        for (name, value) in values {
            let data_type = DataType::parse(name).unwrap();
            let mut bytes = Vec::new();
            put_value(&value, &data_type, &mut bytes).unwrap();
            let mut left = &bytes[..];
            assert_eq!(take_value(&mut left, &data_type).unwrap().to_string(), value.to_string(), "{name}");
            assert!(left.is_empty());
            for end in 0..bytes.len() {
                assert!(take_value(&mut &bytes[..end], &data_type).is_err(), "{name} cut at {end}");
            }
        }
    }

    #[test]
    fn varints_come_back() {
        for number in [0, 127, 128, 300, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(number, &mut bytes);
            assert_eq!(take_varint(&mut &bytes[..]).unwrap(), number);
        }
        assert!(take_varint(&mut &[0xFF; 11][..]).is_err());
    }
}
