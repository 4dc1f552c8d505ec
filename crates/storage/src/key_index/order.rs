//! Numbers, dates and times as integers of the same order, so that ranges and nearest values are found by comparing integers.

use arrow_array::Array as _;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as Arrow;
use squall_types::{Column, Physical, Rank};

/// The values of a column as integers of the same order.
#[derive(Clone, Debug)]
pub struct OrderKeys<V = u64> {
    /// One for each row; where a row has no value, anything.
    pub values: Vec<V>,
    /// The rows that have a value; all of them where this is missing. NaN is none.
    pub valid: Option<NullBuffer>,
}

const SIGN: u64 = 1 << 63;

impl OrderKeys {
    /// The keys of a column that is no constant; `None` where its type has no order of numbers.
    pub fn of(column: &Column) -> Option<Self> {
        let array = column.array();
        macro_rules! unsigned {
            ($of:ty) => {
                array.as_primitive::<$of>().values().iter().map(|value| u64::from(*value)).collect()
            };
        }
        macro_rules! signed {
            ($of:ty) => {
                array.as_primitive::<$of>().values().iter().map(|value| i64::from(*value) as u64 ^ SIGN).collect()
            };
        }
        let mut valid = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let values: Vec<u64> = match array.data_type() {
            Arrow::UInt8 => unsigned!(UInt8Type),
            Arrow::UInt16 => unsigned!(UInt16Type),
            Arrow::UInt32 => unsigned!(UInt32Type),
            Arrow::UInt64 => unsigned!(UInt64Type),
            Arrow::Int8 => signed!(Int8Type),
            Arrow::Int16 => signed!(Int16Type),
            Arrow::Int32 => signed!(Int32Type),
            Arrow::Int64 => signed!(Int64Type),
            Arrow::Float32 | Arrow::Float64 => {
                let floats: Vec<f64> = match array.data_type() {
                    Arrow::Float32 => {
                        array.as_primitive::<Float32Type>().values().iter().map(|value| f64::from(*value)).collect()
                    }
                    _ => array.as_primitive::<Float64Type>().values().to_vec(),
                };
                if floats.iter().any(|value| value.is_nan()) {
                    let numbers: NullBuffer = floats.iter().map(|value| !value.is_nan()).collect::<Vec<_>>().into();
                    valid = NullBuffer::union(valid.as_ref(), Some(&numbers));
                }
                floats.into_iter().map(of_float).collect()
            }
            _ => return None,
        };
        Some(Self { values, valid })
    }
}

impl OrderKeys<Rank> {
    /// The keys of a column of numbers of 128 or 256 bits that is no constant; `None` of other types.
    pub fn wide(column: &Column) -> Option<Self> {
        let physical = column.data_type().physical();
        let (Physical::Int128 | Physical::Int256 | Physical::UInt128 | Physical::UInt256) = physical else {
            return None;
        };
        let (rank, array) = (physical.rank()?, column.array());
        let bytes = array.as_fixed_size_binary_opt()?;
        let values = (0..bytes.len()).map(|row| rank(bytes.value(row))).collect();
        Some(Self { values, valid: array.logical_nulls().filter(|nulls| nulls.null_count() > 0) })
    }
}

impl<V: Copy> OrderKeys<V> {
    /// The key of a row, where it has one.
    #[inline]
    pub fn get(&self, row: usize) -> Option<V> {
        if self.valid.as_ref().is_some_and(|valid| valid.is_null(row)) {
            return None;
        }
        self.values.get(row).copied()
    }
}

/// Of two floats the smaller has the smaller key; both zeros have one.
fn of_float(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

#[cfg(test)]
mod tests {
    use squall_types::{ColumnBuilder, DataType, Value};

    use super::*;

    #[test]
    fn keys_have_the_order_of_the_values() {
        let column = |data_type: &str, values: &[Value]| {
            let mut builder = ColumnBuilder::new(DataType::parse(data_type).unwrap());
            values.iter().for_each(|value| builder.append(value).unwrap());
            builder.finish().unwrap()
        };
        let signed: Vec<Value> = [i64::MIN, -2, -1, 0, 1, i64::MAX].map(Value::Int64).to_vec();
        let floats: Vec<Value> =
            [f64::NEG_INFINITY, -1e300, -0.5, 0.0, 1e-300, 7.0, f64::INFINITY].map(Value::Float64).to_vec();
        for (data_type, values) in [
            ("Int64", &signed[..]),
            ("Nullable(Int8)", &signed[1..5]),
            ("Float64", &floats),
            ("Float32", &floats[2..4]),
        ] {
            let keys = OrderKeys::of(&column(data_type, values)).unwrap();
            assert!(keys.values.is_sorted_by(|left, right| left < right), "{data_type}: {:?}", keys.values);
        }
        let keys = OrderKeys::of(&column("Float64", &[-0.0, 0.0, f64::NAN].map(Value::Float64))).unwrap();
        assert_eq!(keys.get(0), keys.get(1));
        assert_eq!(keys.get(2), None);
        let keys = OrderKeys::of(&column("Nullable(UInt8)", &[Value::Null, Value::UInt64(3)])).unwrap();
        assert_eq!((keys.get(0), keys.get(1)), (None, Some(3)));
        assert!(OrderKeys::of(&column("String", &[Value::string("a")])).is_none());
        for data_type in ["Int128", "Decimal(50, 3)"] {
            let signed = column(data_type, &[-7, -1, 0, 5].map(Value::Int64));
            let keys = OrderKeys::wide(&signed).unwrap();
            assert!(keys.values.is_sorted_by(|left, right| left < right), "{data_type}: {:?}", keys.values);
        }
    }
}
