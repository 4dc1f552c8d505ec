//! A column made ready to be written row by row in binary: the type is matched once per column rather than once per value, and the
//! arrays' buffers lie open. Text has the same from `types`.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use squall_types::{Block, DataType, Error, Physical, Result};

/// The rows of a column.
pub(crate) enum Cells<'a> {
    Nothing,
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    BFloat16(&'a [f32]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    String {
        offsets: &'a [i32],
        bytes: &'a [u8],
    },
    /// States of an aggregate function, and that of no rows.
    States {
        states: &'a arrow_array::BinaryArray,
        fresh: Vec<u8>,
    },
    Fixed {
        bytes: &'a [u8],
        width: usize,
    },
    Uuid(&'a [u8]),
    Nullable {
        nulls: Option<&'a NullBuffer>,
        inner: Box<Cells<'a>>,
    },
    LowCardinality {
        keys: &'a [u32],
        nulls: Option<&'a NullBuffer>,
        is_nullable: bool,
        values: Box<Cells<'a>>,
    },
    Array {
        offsets: &'a [i32],
        items: Box<Cells<'a>>,
    },
    Map {
        offsets: &'a [i32],
        keys: Box<Cells<'a>>,
        values: Box<Cells<'a>>,
    },
    Tuple(Vec<Cells<'a>>),
    /// Values of several types, each of which is looked at on its own.
    Mixed(&'a DataType, &'a dyn Array),
}

/// A block's columns with constants written out, which the cells of all its columns borrow.
pub(crate) struct Arrays(Vec<(DataType, ArrayRef)>);

impl Arrays {
    pub fn new(block: &Block) -> Result<Self> {
        let columns = block.columns().iter();
        Ok(Self(columns.map(|column| Ok((column.data_type().clone(), column.to_array()?))).collect::<Result<_>>()?))
    }

    /// The cells of every column.
    pub fn cells(&self) -> Result<Vec<Cells<'_>>> {
        self.0.iter().map(|(data_type, array)| Cells::new(data_type, &**array)).collect()
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<&[T::Native]> {
    array.as_primitive_opt::<T>().map(|array| &**array.values()).ok_or_else(|| bad_array(array))
}

fn bad_array(array: &dyn Array) -> Error {
    Error::logical(format!("an array of {:?} under another type", array.data_type()))
}

fn fixed(array: &dyn Array) -> Result<&[u8]> {
    let array = array.as_fixed_size_binary_opt().ok_or_else(|| bad_array(array))?;
    Ok(array.value_data())
}

impl<'a> Cells<'a> {
    pub fn new(data_type: &'a DataType, array: &'a dyn Array) -> Result<Self> {
        let boxed = |data_type: &'a DataType, array: &'a dyn Array| Self::new(data_type, array).map(Box::new);
        Ok(match data_type {
            DataType::Nullable(inner) => Self::Nullable { nulls: array.nulls(), inner: boxed(inner, array)? },
            DataType::LowCardinality(inner) => {
                let dictionary = array.as_dictionary_opt::<UInt32Type>().ok_or_else(|| bad_array(array))?;
                let value_type = match &**inner {
                    DataType::Nullable(inner) => inner,
                    inner => inner,
                };
                Self::LowCardinality {
                    keys: dictionary.keys().values(),
                    nulls: dictionary.keys().nulls(),
                    is_nullable: inner.is_nullable(),
                    values: boxed(value_type, &**dictionary.values())?,
                }
            }
            DataType::Array(item) => {
                let list = array.as_list_opt::<i32>().ok_or_else(|| bad_array(array))?;
                Self::Array { offsets: list.value_offsets(), items: boxed(item, &**list.values())? }
            }
            DataType::Map(key, value) => {
                let list = array.as_list_opt::<i32>().ok_or_else(|| bad_array(array))?;
                let entries = list.values().as_struct_opt().ok_or_else(|| bad_array(array))?;
                Self::Map {
                    offsets: list.value_offsets(),
                    keys: boxed(key, &**entries.column(0))?,
                    values: boxed(value, &**entries.column(1))?,
                }
            }
            DataType::Tuple(elements) => {
                let columns = array.as_struct_opt().ok_or_else(|| bad_array(array))?.columns();
                let elements = elements.iter().zip(columns);
                Self::Tuple(
                    elements
                        .map(|(element, column)| Self::new(&element.data_type, &**column))
                        .collect::<Result<_>>()?,
                )
            }
            DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => Self::Mixed(data_type, array),
            DataType::SimpleAggregateFunction(simple) => return Self::new(simple.values(), array),
            DataType::Named(named) => return Self::new(named.values(), array),
            DataType::BFloat16 => Self::BFloat16(primitive::<Float32Type>(array)?),
            DataType::AggregateFunction(state) => {
                let states = array.as_binary_opt::<i32>().ok_or_else(|| bad_array(array))?;
                Self::States { states, fresh: crate::binary::states::fresh(state)? }
            }
            _ => Self::flat(data_type.physical(), array)?,
        })
    }

    /// Values that hold no others.
    fn flat(physical: Physical, array: &'a dyn Array) -> Result<Self> {
        Ok(match physical {
            Physical::Nothing => Self::Nothing,
            Physical::UInt8 => Self::UInt8(primitive::<UInt8Type>(array)?),
            Physical::UInt16 => Self::UInt16(primitive::<UInt16Type>(array)?),
            Physical::UInt32 => Self::UInt32(primitive::<UInt32Type>(array)?),
            Physical::UInt64 => Self::UInt64(primitive::<UInt64Type>(array)?),
            Physical::Int8 => Self::Int8(primitive::<Int8Type>(array)?),
            Physical::Int16 => Self::Int16(primitive::<Int16Type>(array)?),
            Physical::Int32 => Self::Int32(primitive::<Int32Type>(array)?),
            Physical::Int64 => Self::Int64(primitive::<Int64Type>(array)?),
            Physical::Float32 => Self::Float32(primitive::<Float32Type>(array)?),
            Physical::Float64 => Self::Float64(primitive::<Float64Type>(array)?),
            Physical::Bytes => {
                let strings = array.as_binary_opt::<i32>().ok_or_else(|| bad_array(array))?;
                Self::String { offsets: strings.value_offsets(), bytes: strings.value_data() }
            }
            Physical::Uuid => Self::Uuid(fixed(array)?),
            Physical::Fixed(width) => Self::Fixed { bytes: fixed(array)?, width },
            Physical::UInt128 | Physical::Int128 => Self::Fixed { bytes: fixed(array)?, width: 16 },
            Physical::UInt256 | Physical::Int256 => Self::Fixed { bytes: fixed(array)?, width: 32 },
            Physical::Dictionary | Physical::List | Physical::Struct => return Err(bad_array(array)),
        })
    }

    /// Whether a row is NULL.
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Nothing => true,
            Self::Nullable { inner, .. } if matches!(**inner, Self::Nothing) => true,
            Self::Nullable { nulls, .. } | Self::LowCardinality { nulls, .. } => {
                nulls.is_some_and(|nulls| nulls.is_null(row))
            }
            _ => false,
        }
    }
}

/// The items of a row of an array or a map, as positions.
#[inline]
pub(crate) fn items(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    offsets[row] as usize..offsets[row + 1] as usize
}

/// The bytes of a row of strings.
#[inline]
pub(crate) fn string<'a>(offsets: &[i32], bytes: &'a [u8], row: usize) -> &'a [u8] {
    &bytes[items(offsets, row)]
}
