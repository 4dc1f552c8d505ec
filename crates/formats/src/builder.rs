//! Columns under construction from values in binary: a typed growing vector per column, from which an unfinished row can be taken
//! back. Values in text are read by `types`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, ListArray, NullArray, PrimitiveArray,
    StructArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use squall_types::text::TextOptions;
use squall_types::{
    Column, ColumnBuilder, DataType, EnumValues, Error, ErrorCode, Physical, Result, Value, default_value,
};

use crate::input::GrowingColumn;

/// A growing column.
#[derive(Debug)]
pub(crate) struct Builder {
    pub data_type: DataType,
    pub values: Values,
}

/// The rows so far, by layout.
#[derive(Debug)]
pub(crate) enum Values {
    Nothing(usize),
    Bool(Vec<u8>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    BFloat16(Vec<f32>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Enum8(Vec<i8>, Arc<EnumValues>),
    Enum16(Vec<i16>, Arc<EnumValues>),
    String(Strings),
    FixedString {
        bytes: Vec<u8>,
        width: usize,
    },
    Uuid(Vec<[u8; 16]>),
    Nullable {
        valid: Vec<bool>,
        inner: Box<Builder>,
    },
    LowCardinality(Box<Dictionary>),
    Array {
        ends: Ends,
        items: Box<Builder>,
    },
    Map {
        ends: Ends,
        keys: Box<Builder>,
        values: Box<Builder>,
    },
    Tuple {
        elements: Vec<Builder>,
        rows: usize,
    },
    /// Values of several types.
    Mixed(Vec<Value>),
}

/// Bytes of all strings, and where each ends.
#[derive(Debug)]
pub(crate) struct Strings {
    pub bytes: Vec<u8>,
    /// One more than there are rows, from 0.
    offsets: Vec<i32>,
}

impl Strings {
    fn new() -> Self {
        Self { bytes: Vec::new(), offsets: vec![0] }
    }

    /// Ends the row at the end of `bytes`.
    #[inline]
    pub fn end_row(&mut self) -> Result<()> {
        match i32::try_from(self.bytes.len()) {
            Ok(end) => {
                self.offsets.push(end);
                Ok(())
            }
            Err(_) => Err(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block")),
        }
    }

    fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        self.bytes.truncate(self.offsets.last().map_or(0, |end| *end as usize));
    }
}

/// Where each array ends among the items, from 0.
#[derive(Debug)]
pub(crate) struct Ends(Vec<i32>);

impl Ends {
    fn new() -> Self {
        Self(vec![0])
    }

    fn rows(&self) -> usize {
        self.0.len() - 1
    }

    /// Ends the row after `items` items of all rows.
    #[inline]
    pub fn end_row(&mut self, items: usize) -> Result<()> {
        match i32::try_from(items) {
            Ok(end) => {
                self.0.push(end);
                Ok(())
            }
            Err(_) => Err(Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block")),
        }
    }

    /// Takes rows back and returns how many items are left.
    fn truncate(&mut self, rows: usize) -> usize {
        self.0.truncate(rows + 1);
        self.0.last().map_or(0, |end| *end as usize)
    }
}

/// A `LowCardinality` column: distinct values in order of appearance, rows as keys into them.
#[derive(Debug)]
pub(crate) struct Dictionary {
    values: Builder,
    by_value: HashMap<Box<[u8]>, u32>,
    scratch: Vec<u8>,
    keys: Vec<u32>,
    valid: Vec<bool>,
}

impl Dictionary {
    /// Appends the row that `append` appends to a builder of the values' type.
    pub fn append_with<E: From<Error>>(&mut self, append: impl FnOnce(&mut Builder) -> Result<(), E>) -> Result<(), E> {
        let position = self.values.rows();
        append(&mut self.values)?;
        self.scratch.clear();
        self.values.copy_bytes(position, &mut self.scratch);
        let key = match self.by_value.get(self.scratch.as_slice()) {
            Some(key) => {
                self.values.truncate(position);
                *key
            }
            None => {
                let key = u32::try_from(position).map_err(|_| {
                    Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^32 distinct values in one block")
                })?;
                self.by_value.insert(self.scratch.as_slice().into(), key);
                key
            }
        };
        self.keys.push(key);
        self.valid.push(true);
        Ok(())
    }

    /// Whether its values may be NULL is the column's type's business; the values' own type never is nullable.
    pub fn append_null(&mut self) {
        self.keys.push(0);
        self.valid.push(false);
    }
}

macro_rules! each_primitive {
    ($values:expr, $vector:ident => $action:expr, $($rest:tt)*) => {
        match $values {
            Values::Bool($vector) | Values::UInt8($vector) => $action,
            Values::UInt16($vector) => $action,
            Values::UInt32($vector) => $action,
            Values::UInt64($vector) => $action,
            Values::Int8($vector) | Values::Enum8($vector, _) => $action,
            Values::Int16($vector) | Values::Enum16($vector, _) => $action,
            Values::Int32($vector) => $action,
            Values::Int64($vector) => $action,
            Values::BFloat16($vector) | Values::Float32($vector) => $action,
            Values::Float64($vector) => $action,
            $($rest)*
        }
    };
}

impl Builder {
    /// An empty builder of a type.
    pub fn new(data_type: &DataType) -> Self {
        let boxed = |data_type: &DataType| Box::new(Self::new(data_type));
        let values = match data_type {
            DataType::Bool => Values::Bool(Vec::new()),
            DataType::Enum8(values) => Values::Enum8(Vec::new(), values.clone()),
            DataType::Enum16(values) => Values::Enum16(Vec::new(), values.clone()),
            DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => Values::Mixed(Vec::new()),
            DataType::SimpleAggregateFunction(simple) => Self::new(simple.values()).values,
            DataType::Named(named) => Self::new(named.values()).values,
            DataType::BFloat16 => Values::BFloat16(Vec::new()),
            DataType::Nullable(inner) => Values::Nullable { valid: Vec::new(), inner: boxed(inner) },
            DataType::LowCardinality(inner) => Values::LowCardinality(Box::new(Dictionary {
                values: Self::new(&inner.remove_nullable()),
                by_value: HashMap::new(),
                scratch: Vec::new(),
                keys: Vec::new(),
                valid: Vec::new(),
            })),
            DataType::Array(item) => Values::Array { ends: Ends::new(), items: boxed(item) },
            DataType::Map(key, value) => Values::Map { ends: Ends::new(), keys: boxed(key), values: boxed(value) },
            DataType::Tuple(elements) => Values::Tuple {
                elements: elements.iter().map(|element| Self::new(&element.data_type)).collect(),
                rows: 0,
            },
            other => match other.physical() {
                Physical::UInt8 => Values::UInt8(Vec::new()),
                Physical::UInt16 => Values::UInt16(Vec::new()),
                Physical::UInt32 => Values::UInt32(Vec::new()),
                Physical::UInt64 => Values::UInt64(Vec::new()),
                Physical::Int8 => Values::Int8(Vec::new()),
                Physical::Int16 => Values::Int16(Vec::new()),
                Physical::Int32 => Values::Int32(Vec::new()),
                Physical::Int64 => Values::Int64(Vec::new()),
                Physical::Float32 => Values::Float32(Vec::new()),
                Physical::Float64 => Values::Float64(Vec::new()),
                Physical::Bytes => Values::String(Strings::new()),
                Physical::Fixed(width) => Values::FixedString { bytes: Vec::new(), width },
                Physical::UInt128 | Physical::Int128 => Values::FixedString { bytes: Vec::new(), width: 16 },
                Physical::UInt256 | Physical::Int256 => Values::FixedString { bytes: Vec::new(), width: 32 },
                Physical::Uuid => Values::Uuid(Vec::new()),
                Physical::Nothing | Physical::Dictionary | Physical::List | Physical::Struct => Values::Nothing(0),
            },
        };
        Self { data_type: data_type.clone(), values }
    }

    /// The rows so far.
    pub fn rows(&self) -> usize {
        each_primitive!(&self.values, vector => vector.len(),
            Values::Nothing(rows) | Values::Tuple { rows, .. } => *rows,
            Values::String(strings) => strings.offsets.len() - 1,
            Values::FixedString { bytes, width } => bytes.len() / width,
            Values::Uuid(values) => values.len(),
            Values::Mixed(values) => values.len(),
            Values::Nullable { valid, .. } => valid.len(),
            Values::LowCardinality(dictionary) => dictionary.keys.len(),
            Values::Array { ends, .. } | Values::Map { ends, .. } => ends.rows(),
        )
    }

    /// Takes back everything after the first `rows` rows, also a value that was appended only in part.
    pub fn truncate(&mut self, rows: usize) {
        each_primitive!(&mut self.values, vector => vector.truncate(rows),
            Values::Nothing(count) => *count = rows.min(*count),
            Values::Tuple { elements, rows: count } => {
                elements.iter_mut().for_each(|element| element.truncate(rows));
                *count = rows.min(*count);
            }
            Values::String(strings) => strings.truncate(rows),
            Values::FixedString { bytes, width } => bytes.truncate(rows * *width),
            Values::Uuid(values) => values.truncate(rows),
            Values::Mixed(values) => values.truncate(rows),
            Values::Nullable { valid, inner } => {
                valid.truncate(rows);
                inner.truncate(rows);
            }
            Values::LowCardinality(dictionary) => {
                // Values that only a dropped row had stay in the dictionary; a value without its entry there was dropped half-way.
                dictionary.values.truncate(dictionary.by_value.len());
                dictionary.keys.truncate(rows);
                dictionary.valid.truncate(rows);
            }
            Values::Array { ends, items } => items.truncate(ends.truncate(rows)),
            Values::Map { ends, keys, values } => {
                let items = ends.truncate(rows);
                keys.truncate(items);
                values.truncate(items);
            }
        );
    }

    /// Appends the type's default value: 0, empty, NULL where nullable, the first value of an enum.
    pub fn append_default(&mut self) -> Result<()> {
        each_primitive!(&mut self.values, vector => vector.push(Default::default()),
            Values::Nothing(rows) => *rows += 1,
            Values::Tuple { elements, rows } => {
                elements.iter_mut().try_for_each(Self::append_default)?;
                *rows += 1;
            }
            Values::String(strings) => strings.end_row()?,
            Values::FixedString { bytes, width } => bytes.resize(bytes.len() + *width, 0),
            Values::Uuid(values) => values.push([0; 16]),
            Values::Mixed(values) => values.push(default_value(&self.data_type)),
            Values::Nullable { valid, inner } => {
                inner.append_default()?;
                valid.push(false);
            }
            Values::LowCardinality(dictionary) => {
                if self.data_type.is_nullable() {
                    dictionary.append_null();
                } else {
                    dictionary.append_with(Self::append_default)?;
                }
            }
            Values::Array { ends, items } => ends.end_row(items.rows())?,
            Values::Map { ends, keys, .. } => ends.end_row(keys.rows())?,
        );
        // The default of an enum is its first value, which need not be 0.
        let first = |values: &EnumValues| values.iter().next().map_or(0, |(_, number)| number);
        match &mut self.values {
            Values::Enum8(numbers, values) => {
                if let Some(last) = numbers.last_mut() {
                    *last = first(values) as i8;
                }
            }
            Values::Enum16(numbers, values) => {
                if let Some(last) = numbers.last_mut() {
                    *last = first(values);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Appends to `out` bytes that are equal for equal values of a row of a type that `LowCardinality` takes.
    fn copy_bytes(&self, row: usize, out: &mut Vec<u8>) {
        each_primitive!(&self.values, vector => {
                if let Some(value) = vector.get(row) {
                    out.extend_from_slice(&value.to_le_bytes());
                }
            },
            Values::String(strings) => {
                if let [start, end, ..] = strings.offsets.get(row..).unwrap_or_default() {
                    out.extend_from_slice(strings.bytes.get(*start as usize..*end as usize).unwrap_or_default());
                }
            }
            Values::FixedString { bytes, width } => {
                out.extend_from_slice(bytes.get(row * width..(row + 1) * width).unwrap_or_default());
            }
            Values::Uuid(values) => {
                out.extend_from_slice(values.get(row).map_or(&[], |value| value.as_slice()));
            }
            _ => {}
        );
    }

    fn finish_array(self, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
            Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
        }
        fn fixed(width: usize, bytes: Vec<u8>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
            Ok(Arc::new(FixedSizeBinaryArray::try_new(i32::try_from(width).unwrap_or(i32::MAX), bytes.into(), nulls)?))
        }
        Ok(match self.values {
            Values::Nothing(rows) => Arc::new(NullArray::new(rows)),
            Values::Bool(values) | Values::UInt8(values) => primitive::<UInt8Type>(values, nulls),
            Values::UInt16(values) => primitive::<UInt16Type>(values, nulls),
            Values::UInt32(values) => primitive::<UInt32Type>(values, nulls),
            Values::UInt64(values) => primitive::<UInt64Type>(values, nulls),
            Values::Int8(values) | Values::Enum8(values, _) => primitive::<Int8Type>(values, nulls),
            Values::Int16(values) | Values::Enum16(values, _) => primitive::<Int16Type>(values, nulls),
            Values::Int32(values) => primitive::<Int32Type>(values, nulls),
            Values::Int64(values) => primitive::<Int64Type>(values, nulls),
            Values::BFloat16(values) | Values::Float32(values) => primitive::<Float32Type>(values, nulls),
            Values::Float64(values) => primitive::<Float64Type>(values, nulls),
            Values::String(strings) => {
                Arc::new(BinaryArray::try_new(OffsetBuffer::new(strings.offsets.into()), strings.bytes.into(), nulls)?)
            }
            Values::FixedString { bytes, width } => fixed(width, bytes, nulls)?,
            Values::Uuid(values) => fixed(16, values.into_flattened(), nulls)?,
            Values::Mixed(values) => {
                let mut builder = ColumnBuilder::new(self.data_type.clone());
                values.iter().try_for_each(|value| builder.append(value))?;
                let column = builder.finish()?;
                let column = if nulls.is_some() { column.to_nullable(nulls)? } else { column };
                column.to_array()?
            }
            Values::Nullable { valid, inner } => {
                let nulls = NullBuffer::new(BooleanBuffer::from(valid));
                inner.finish_array(Some(nulls).filter(|nulls| nulls.null_count() > 0))?
            }
            Values::LowCardinality(dictionary) => {
                let Dictionary { mut values, keys, valid, .. } = *dictionary;
                let nulls = NullBuffer::new(BooleanBuffer::from(valid));
                let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
                if values.rows() == 0 && !keys.is_empty() {
                    // Only NULLs: their keys point at a value all the same.
                    values.append_default()?;
                }
                let keys = PrimitiveArray::<UInt32Type>::new(ScalarBuffer::from(keys), nulls);
                Arc::new(DictionaryArray::try_new(keys, values.finish_array(None)?)?)
            }
            Values::Array { ends, items } => {
                let field = items.data_type.arrow_list_item();
                Arc::new(ListArray::try_new(field, OffsetBuffer::new(ends.0.into()), items.finish_array(None)?, nulls)?)
            }
            Values::Map { ends, keys, values } => {
                let entry = self.data_type.map_entry_type();
                let rows = keys.rows();
                let columns = vec![keys.finish_array(None)?, values.finish_array(None)?];
                let entries = StructArray::try_new_with_length(entry.arrow_fields(), columns, None, rows)?;
                let ends = OffsetBuffer::new(ends.0.into());
                Arc::new(ListArray::try_new(entry.arrow_list_item(), ends, Arc::new(entries), nulls)?)
            }
            Values::Tuple { elements, rows } => {
                let fields = self.data_type.arrow_fields();
                let columns =
                    elements.into_iter().map(|element| element.finish_array(None)).collect::<Result<Vec<_>>>()?;
                debug_assert!(columns.iter().all(|column| column.len() == rows));
                Arc::new(StructArray::try_new_with_length(fields, columns, nulls, rows)?)
            }
        })
    }
}

impl GrowingColumn for Builder {
    fn empty(data_type: &DataType, _: &TextOptions) -> Result<Self> {
        Ok(Self::new(data_type))
    }

    fn append_default(&mut self) -> Result<()> {
        Self::append_default(self)
    }

    fn truncate(&mut self, rows: usize) {
        Self::truncate(self, rows);
    }

    fn finish(&mut self) -> Result<Column> {
        let next = Self::new(&self.data_type);
        let full = std::mem::replace(self, next);
        let data_type = full.data_type.clone();
        Ok(Column::new(data_type, full.finish_array(None)?))
    }
}
