//! Sort keys as bytes whose order is the rows' order: comparing two rows is one `memcmp`, whatever the columns are.
//!
//! Each key value is a class byte (value or NULL, in the order that NULLS FIRST or LAST asks for) where its type has more than one
//! class, then the value, zeros in the place of a number that is NULL: integers big-endian with the sign flipped, floats by their total order with NaN where NULL would be, strings with
//! `00` escaped as `00 FF` and ended by `00 00`. A descending key is the same with all bits of the value inverted. No key is the beginning
//! of another.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use squall_planner::{SortKey, evaluate};
use squall_types::memory::reserve;
use squall_types::physical::Rank;
use squall_types::{Alternatives, Block, Column, DataType, Physical, Result};

/// One byte string per row.
#[derive(Default)]
pub struct KeyRows {
    /// All rows' bytes.
    pub bytes: Vec<u8>,
    /// Where each row begins, and the end.
    pub offsets: Vec<usize>,
}

impl KeyRows {
    /// Appends a row's.
    pub(super) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.offsets.push(self.bytes.len());
    }

    /// Those of these rows.
    pub(super) fn take(&self, rows: &[u32]) -> Self {
        let mut taken = Self { bytes: Vec::new(), offsets: vec![0] };
        rows.iter().for_each(|row| taken.push(self.key(*row as usize)));
        taken
    }

    /// The bytes of a row.
    pub fn key(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row]..self.offsets[row + 1]]
    }
}

/// How a key's values are put in order.
#[derive(Clone, Copy)]
pub(super) struct Direction {
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

impl Direction {
    pub(super) fn of(key: &SortKey) -> Self {
        Self { descending: key.descending, nulls_first: key.nulls_first }
    }

    /// That of values inside of arrays and tuples, which the outermost inversion turns: NULL and NaN stand there on the same side.
    fn within(self) -> Self {
        Self { descending: false, nulls_first: self.nulls_first != self.descending }
    }

    pub(super) fn class_of_value(self) -> u8 {
        if self.nulls_first { 2 } else { 0 }
    }

    pub(super) fn class_of_null(self) -> u8 {
        if self.nulls_first { 0 } else { 2 }
    }

    /// The bits of a float in the order of floats, before a descending key inverts them. NaN is beyond both infinities, on the side of NULL.
    pub(super) fn bits_of_float(self, value: f64) -> u64 {
        if value.is_nan() {
            return if self.nulls_first == self.descending { u64::MAX } else { 0 };
        }
        // -0 equals 0.
        let bits = (value + 0.0).to_bits();
        if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
    }
}

/// The values of every key for a block's rows.
///
/// # Errors
/// The functions' own.
pub(super) fn key_columns(keys: &[SortKey], block: &Block) -> Result<Vec<(Column, Direction)>> {
    let column = |key: &SortKey| Ok((evaluate(&key.expression, block)?.materialize()?, Direction::of(key)));
    keys.iter().map(column).collect()
}

/// The keys of every row of a block.
///
/// # Errors
/// The functions' own.
pub fn encode_keys(keys: &[SortKey], block: &Block) -> Result<KeyRows> {
    encode_columns(&key_columns(keys, block)?, block.rows())
}

/// The keys of rows `0..count` of columns.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub(super) fn encode_columns(columns: &[(Column, Direction)], count: usize) -> Result<KeyRows> {
    let encoders: Vec<Encoder> = columns.iter().map(|(column, direction)| Encoder::new(column, *direction)).collect();
    let variable = |column: &Column| match column.data_type().fixed_width_bytes() {
        Some(_) => 0,
        None => column.value_bytes(),
    };
    let variable_bytes: usize = columns.iter().map(|(column, _)| variable(column)).sum();
    reserve(variable_bytes + count * (9 * columns.len() + size_of::<usize>()))?;
    let mut rows = KeyRows { bytes: Vec::with_capacity(count * 9 * columns.len()), offsets: vec![0] };
    rows.offsets.reserve(count);
    for row in 0..count {
        for encoder in &encoders {
            encoder.encode(row, &mut rows.bytes);
        }
        rows.offsets.push(rows.bytes.len());
    }
    Ok(rows)
}

/// One column's values, ready to be encoded row by row.
struct Encoder {
    array: ArrayRef,
    values: Values,
    direction: Direction,
    /// The type has no NULL.
    is_of_one_class: bool,
}

/// How the values of an array are encoded.
enum Values {
    Nothing,
    /// Already in unsigned order and big-endian by this many low bytes.
    Integers(Vec<u64>, usize),
    Floats(Vec<f64>),
    Strings,
    Fixed,
    /// In the order of their ranks, whose high half counts for wide ones only.
    Ranked(fn(&[u8]) -> Rank, bool),
    Dictionary(Box<Encoder>, Vec<u32>),
    List(Box<Encoder>, Vec<i32>),
    Tuple(Vec<Encoder>),
    /// Of several types: what orders each type, and its values; and where each row's value is.
    Mixed(Vec<(Vec<u8>, Encoder)>, Vec<Option<(u32, u32)>>),
}

impl Values {
    /// The bytes of a number of up to eight.
    fn number_bytes(&self) -> usize {
        match self {
            Self::Integers(_, width) => *width,
            Self::Floats(_) => size_of::<f64>(),
            _ => 0,
        }
    }
}

impl Encoder {
    fn new(column: &Column, direction: Direction) -> Self {
        let data_type = column.data_type();
        let mut encoder = Self::of_array(data_type, column.array().clone(), direction);
        let has_classes = matches!(data_type.physical(), Physical::Nothing | Physical::Dictionary);
        encoder.is_of_one_class =
            !has_classes && !matches!(data_type, DataType::Nullable(_)) && !data_type.is_of_alternatives();
        encoder
    }

    fn of_array(data_type: &DataType, array: ArrayRef, direction: Direction) -> Self {
        let inner = direction.within();
        if let DataType::Nullable(nullable) = data_type {
            return Self::of_array(nullable, array, direction);
        }
        if data_type.is_of_alternatives()
            && let Ok(found) = Alternatives::of_array(data_type, &array)
        {
            return Self::mixed(data_type, found, array, direction);
        }
        let values = match data_type.physical() {
            Physical::Nothing => Values::Nothing,
            Physical::UInt8 => unsigned::<UInt8Type>(&array, 1),
            Physical::UInt16 => unsigned::<UInt16Type>(&array, 2),
            Physical::UInt32 => unsigned::<UInt32Type>(&array, 4),
            Physical::UInt64 => unsigned::<UInt64Type>(&array, 8),
            Physical::Int8 => signed::<Int8Type>(&array, 1),
            Physical::Int16 => signed::<Int16Type>(&array, 2),
            Physical::Int32 => signed::<Int32Type>(&array, 4),
            Physical::Int64 => signed::<Int64Type>(&array, 8),
            Physical::Float32 => Values::Floats(
                array.as_primitive::<Float32Type>().values().iter().map(|value| f64::from(*value)).collect(),
            ),
            Physical::Float64 => Values::Floats(array.as_primitive::<Float64Type>().values().to_vec()),
            Physical::Bytes => Values::Strings,
            physical @ (Physical::Fixed(_)
            | Physical::Uuid
            | Physical::UInt128
            | Physical::UInt256
            | Physical::Int128
            | Physical::Int256) => match physical.rank() {
                Some(rank) => Values::Ranked(rank, physical.fixed_width_bytes() > Some(16)),
                None => Values::Fixed,
            },
            Physical::Dictionary => {
                let dictionary = array.as_dictionary::<UInt32Type>();
                let entry = data_type.remove_low_cardinality();
                let encoder = Self::of_array(entry, dictionary.values().clone(), direction);
                Values::Dictionary(Box::new(encoder), dictionary.keys().values().to_vec())
            }
            Physical::List => {
                let list = array.as_list::<i32>();
                let encoder = Self::of_array(&data_type.list_item(), list.values().clone(), inner);
                Values::List(Box::new(encoder), list.value_offsets().to_vec())
            }
            Physical::Struct => {
                let columns = array.as_struct().columns();
                let types = data_type.struct_types();
                let encoders = types.iter().zip(columns);
                Values::Tuple(encoders.map(|(part, column)| Self::of_array(part, column.clone(), inner)).collect())
            }
        };
        Self { array, values, direction, is_of_one_class: false }
    }

    /// Values of several types: those of a `Variant` by the number of their alternative first, those of a `Dynamic` by their type's name.
    fn mixed(data_type: &DataType, found: Alternatives, array: ArrayRef, direction: Direction) -> Self {
        let inner = Direction { descending: false, nulls_first: false };
        let is_variant = matches!(data_type, DataType::Variant(_));
        let encoders = found.columns.into_iter().enumerate().map(|(at, column)| {
            let rank = match is_variant {
                true => vec![at as u8],
                false => [column.data_type().to_string().as_bytes(), &[0]].concat(),
            };
            (rank, Self::of_array(column.data_type(), column.array().clone(), inner))
        });
        Self { array, values: Values::Mixed(encoders.collect(), found.rows), direction, is_of_one_class: false }
    }

    fn encode(&self, row: usize, out: &mut Vec<u8>) {
        if !self.is_of_one_class {
            let is_null = match &self.values {
                Values::Nothing => true,
                Values::Mixed(_, rows) => rows[row].is_none(),
                _ => self.array.is_null(row),
            };
            if is_null {
                out.push(self.direction.class_of_null());
                // What comes behind is at the same place as behind a number: blocks of one sort may have their keys as numbers or as bytes.
                out.extend(std::iter::repeat_n(0, self.values.number_bytes()));
                return;
            }
            match &self.values {
                Values::Dictionary(encoder, keys) => return encoder.encode(keys[row] as usize, out),
                _ => out.push(self.direction.class_of_value()),
            }
        }
        let start = out.len();
        match &self.values {
            Values::Nothing | Values::Dictionary(..) => {}
            Values::Integers(values, width) => out.extend_from_slice(&values[row].to_be_bytes()[8 - width..]),
            Values::Floats(values) => out.extend_from_slice(&self.direction.bits_of_float(values[row]).to_be_bytes()),
            Values::Strings => {
                let bytes = self.array.as_binary::<i32>().value(row);
                let mut rest = bytes;
                while let Some(zero) = rest.iter().position(|byte| *byte == 0) {
                    out.extend_from_slice(&rest[..=zero]);
                    out.push(0xFF);
                    rest = &rest[zero + 1..];
                }
                out.extend_from_slice(rest);
                out.extend_from_slice(&[0, 0]);
            }
            Values::Fixed => out.extend_from_slice(self.array.as_fixed_size_binary().value(row)),
            Values::Ranked(rank, is_wide) => {
                let [high, low] = rank(self.array.as_fixed_size_binary().value(row));
                if *is_wide {
                    out.extend_from_slice(&high.to_be_bytes());
                }
                out.extend_from_slice(&low.to_be_bytes());
            }
            Values::List(encoder, offsets) => {
                for item in offsets[row]..offsets[row + 1] {
                    out.push(1);
                    encoder.encode(item as usize, out);
                }
                out.push(0);
            }
            Values::Mixed(encoders, rows) => {
                if let Some((at, position)) = rows[row] {
                    let (rank, encoder) = &encoders[at as usize];
                    out.extend_from_slice(rank);
                    encoder.encode(position as usize, out);
                }
            }
            Values::Tuple(encoders) => encoders.iter().for_each(|encoder| encoder.encode(row, out)),
        }
        if self.direction.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
}

fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(array: &ArrayRef, width: usize) -> Values {
    Values::Integers(array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect(), width)
}

fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, width: usize) -> Values {
    let sign = 1u64 << (width * 8 - 1);
    let values = array.as_primitive::<T>().values().iter();
    Values::Integers(values.map(|value| (*value).into() as u64 ^ sign).collect(), width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_planner::Expression;
    use squall_types::{ColumnBuilder, Value};

    fn order(type_name: &str, values: &[Value], descending: bool, nulls_first: bool) -> Vec<usize> {
        let mut builder = ColumnBuilder::new(DataType::parse(type_name).unwrap());
        values.iter().for_each(|value| builder.append(value).unwrap());
        let column = builder.finish().unwrap();
        let expression = Expression::Column { position: 0, data_type: column.data_type().clone() };
        let block = Block::from_columns([("x", column)]).unwrap();
        let rows = encode_keys(&[SortKey { expression, descending, nulls_first }], &block).unwrap();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|row| rows.key(*row).to_vec());
        order
    }

    #[test]
    fn bytes_have_the_order_of_values() {
        let numbers = [Value::Int64(-1), Value::Int64(5), Value::Null, Value::Int64(-200), Value::Int64(0)];
        assert_eq!(order("Nullable(Int16)", &numbers, false, false), [3, 0, 4, 1, 2]);
        assert_eq!(order("Nullable(Int16)", &numbers, true, false), [1, 4, 0, 3, 2]);
        assert_eq!(order("Nullable(Int16)", &numbers, false, true), [2, 3, 0, 4, 1]);
        let floats = [f64::NAN, 1.0, f64::NEG_INFINITY, -0.5, f64::INFINITY].map(Value::Float64);
        assert_eq!(order("Float64", &floats, false, false), [2, 3, 1, 4, 0]);
        assert_eq!(order("Float32", &floats, true, false), [4, 1, 3, 2, 0]);
        assert_eq!(order("Float64", &floats, false, true), [0, 2, 3, 1, 4]);
        assert_eq!(order("Nullable(Float64)", &[&floats[..], &[Value::Null]].concat(), true, true), [5, 0, 4, 1, 3, 2]);
        let strings = ["b", "", "a\0", "a", "ab"].map(Value::from);
        assert_eq!(order("String", &strings, false, false), [1, 3, 2, 4, 0]);
        assert_eq!(order("String", &strings, true, false), [0, 4, 2, 3, 1]);
        assert_eq!(order("LowCardinality(String)", &strings, false, false), [1, 3, 2, 4, 0]);
        let arrays = [vec![1, 2], vec![], vec![1], vec![0, 9]]
            .map(|items: Vec<u64>| Value::Array(items.into_iter().map(Value::UInt64).collect()));
        assert_eq!(order("Array(UInt8)", &arrays, false, false), [1, 3, 2, 0]);
        // NULL and NaN are last or first in arrays, too, whatever the direction.
        let arrays = |items: [Value; 3]| items.map(|item| Value::Array(vec![Value::Array(vec![item].into())].into()));
        let nan = arrays([Value::Float64(f64::NAN), Value::Float64(1.0), Value::Float64(2.0)]);
        let null = arrays([Value::Null, Value::UInt64(1), Value::UInt64(2)]);
        for (data_type, values) in [("Array(Array(Float64))", nan), ("Array(Array(Nullable(UInt8)))", null)] {
            assert_eq!(order(data_type, &values, false, false), [1, 2, 0]);
            assert_eq!(order(data_type, &values, true, false), [2, 1, 0]);
            assert_eq!(order(data_type, &values, false, true), [0, 1, 2]);
            assert_eq!(order(data_type, &values, true, true), [0, 2, 1]);
        }
    }
}
