//! How each type is written: with the physical and logical type that ClickHouse gives it.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, ListArray, StructArray};
use arrow_schema::{DataType as ArrowType, Field, Fields, TimeUnit};
use parquet::basic::{LogicalType, Repetition, TimeUnit as ParquetTimeUnit, Type as PhysicalType};
use parquet::schema::types::{Type, TypePtr};
use squall_types::{DataType, EnumValues, Error, ErrorCode, Result};

use super::{big_endian, map, parquet_error};

fn unsupported(data_type: &DataType) -> Error {
    let message = format!("Type {data_type} is not supported for conversion into Parquet data format");
    Error::new(ErrorCode::UNKNOWN_TYPE, message)
}

/// How a type of ours is written.
pub(super) struct Layout {
    pub(super) parquet: TypePtr,
    pub(super) arrow: Field,
}

fn group(name: &str, repetition: Repetition, logical: Option<LogicalType>, fields: Vec<TypePtr>) -> Result<TypePtr> {
    let builder =
        Type::group_type_builder(name).with_repetition(repetition).with_logical_type(logical).with_fields(fields);
    Ok(Arc::new(builder.build().map_err(|error| parquet_error(&error))?))
}

impl Layout {
    pub(super) fn new(name: &str, data_type: &DataType, is_nullable: bool) -> Result<Self> {
        let repetition = if is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let integer = |bit_width: i8, is_signed: bool| Some(LogicalType::integer(bit_width, is_signed));
        let timestamp = |unit: ParquetTimeUnit| Some(LogicalType::timestamp(true, unit));
        let utc = |unit: TimeUnit| ArrowType::Timestamp(unit, Some("UTC".into()));
        let (physical, length, logical, arrow) = match data_type {
            DataType::Nullable(inner) => return Self::new(name, inner, true),
            DataType::LowCardinality(inner) => return Self::new(name, inner, is_nullable),
            DataType::SimpleAggregateFunction(simple) => return Self::new(name, simple.values(), is_nullable),
            DataType::Named(named) => return Self::new(name, named.values(), is_nullable),
            DataType::Bool => (PhysicalType::BOOLEAN, 0, None, ArrowType::Boolean),
            DataType::UInt8 => (PhysicalType::INT32, 0, integer(8, false), ArrowType::UInt8),
            DataType::UInt16 => (PhysicalType::INT32, 0, integer(16, false), ArrowType::UInt16),
            DataType::UInt32 | DataType::IPv4 => (PhysicalType::INT32, 0, integer(32, false), ArrowType::UInt32),
            DataType::UInt64 => (PhysicalType::INT64, 0, integer(64, false), ArrowType::UInt64),
            DataType::Int8 => (PhysicalType::INT32, 0, integer(8, true), ArrowType::Int8),
            DataType::Int16 => (PhysicalType::INT32, 0, integer(16, true), ArrowType::Int16),
            DataType::Int32 => (PhysicalType::INT32, 0, None, ArrowType::Int32),
            DataType::Int64 => (PhysicalType::INT64, 0, None, ArrowType::Int64),
            DataType::BFloat16 | DataType::Float32 => (PhysicalType::FLOAT, 0, None, ArrowType::Float32),
            DataType::Float64 => (PhysicalType::DOUBLE, 0, None, ArrowType::Float64),
            // Values of several types are written as their texts.
            DataType::String
            | DataType::Variant(_)
            | DataType::Dynamic(_)
            | DataType::Json(_)
            | DataType::AggregateFunction(_) => {
                (PhysicalType::BYTE_ARRAY, 0, Some(LogicalType::String), ArrowType::Binary)
            }
            DataType::Enum8(_) | DataType::Enum16(_) => {
                (PhysicalType::BYTE_ARRAY, 0, Some(LogicalType::Enum), ArrowType::Binary)
            }
            DataType::FixedString(width) => {
                let width = i32::try_from(*width).unwrap_or(i32::MAX);
                (PhysicalType::FIXED_LEN_BYTE_ARRAY, width, None, ArrowType::FixedSizeBinary(width))
            }
            DataType::UUID => {
                (PhysicalType::FIXED_LEN_BYTE_ARRAY, 16, Some(LogicalType::Uuid), ArrowType::FixedSizeBinary(16))
            }
            DataType::IPv6 => (PhysicalType::FIXED_LEN_BYTE_ARRAY, 16, None, ArrowType::FixedSizeBinary(16)),
            DataType::UInt128 | DataType::Int128 => {
                (PhysicalType::FIXED_LEN_BYTE_ARRAY, 16, None, ArrowType::FixedSizeBinary(16))
            }
            DataType::UInt256 | DataType::Int256 => {
                (PhysicalType::FIXED_LEN_BYTE_ARRAY, 32, None, ArrowType::FixedSizeBinary(32))
            }
            DataType::Decimal(precision, scale) => {
                let logical = Some(LogicalType::decimal((*scale).into(), (*precision).into()));
                match data_type.arrow_type() {
                    ArrowType::Int32 => (PhysicalType::INT32, 0, logical, ArrowType::Int32),
                    ArrowType::Int64 => (PhysicalType::INT64, 0, logical, ArrowType::Int64),
                    ArrowType::FixedSizeBinary(width) => {
                        (PhysicalType::FIXED_LEN_BYTE_ARRAY, width, logical, ArrowType::FixedSizeBinary(width))
                    }
                    _ => return Err(unsupported(data_type)),
                }
            }
            DataType::Time => (PhysicalType::INT32, 0, None, ArrowType::Int32),
            DataType::Time64(_) => {
                let logical = Some(LogicalType::time(false, ParquetTimeUnit::NANOS));
                (PhysicalType::INT64, 0, logical, ArrowType::Time64(TimeUnit::Nanosecond))
            }
            DataType::Date | DataType::Date32 => (PhysicalType::INT32, 0, Some(LogicalType::Date), ArrowType::Date32),
            DataType::DateTime(_) | DataType::DateTime64(0..=3, _) => {
                (PhysicalType::INT64, 0, timestamp(ParquetTimeUnit::MILLIS), utc(TimeUnit::Millisecond))
            }
            DataType::DateTime64(4..=6, _) => {
                (PhysicalType::INT64, 0, timestamp(ParquetTimeUnit::MICROS), utc(TimeUnit::Microsecond))
            }
            DataType::DateTime64(..) => {
                (PhysicalType::INT64, 0, timestamp(ParquetTimeUnit::NANOS), utc(TimeUnit::Nanosecond))
            }
            DataType::Array(item) => {
                let item = Self::new("element", item, false)?;
                let list = group("list", Repetition::REPEATED, None, vec![item.parquet])?;
                return Ok(Self {
                    parquet: group(name, repetition, Some(LogicalType::List), vec![list])?,
                    arrow: Field::new(name, ArrowType::List(Arc::new(item.arrow)), is_nullable),
                });
            }
            DataType::Map(key, value) => {
                let (key, value) = (Self::new("key", key, false)?, Self::new("value", value, false)?);
                let entries = group("key_value", Repetition::REPEATED, None, vec![key.parquet, value.parquet])?;
                let entry = ArrowType::Struct(Fields::from(vec![key.arrow, value.arrow]));
                return Ok(Self {
                    parquet: group(name, repetition, Some(LogicalType::Map), vec![entries])?,
                    arrow: Field::new(
                        name,
                        ArrowType::List(Arc::new(Field::new("key_value", entry, false))),
                        is_nullable,
                    ),
                });
            }
            DataType::Tuple(elements) if elements.is_empty() => {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Parquet doesn't support empty tuples"));
            }
            DataType::Tuple(elements) => {
                let (mut parquet, mut arrow) = (Vec::new(), Vec::new());
                for (at, element) in elements.iter().enumerate() {
                    let name = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
                    let layout = Self::new(&name, &element.data_type, false)?;
                    parquet.push(layout.parquet);
                    arrow.push(layout.arrow);
                }
                return Ok(Self {
                    parquet: group(name, repetition, None, parquet)?,
                    arrow: Field::new(name, ArrowType::Struct(arrow.into()), is_nullable),
                });
            }
            DataType::Nothing | DataType::Interval(_) => return Err(unsupported(data_type)),
        };
        let builder = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_precision(if data_type.is_decimal() { data_type.precision().into() } else { -1 })
            .with_scale(if data_type.is_decimal() { data_type.scale().into() } else { -1 })
            .with_logical_type(logical)
            .with_length(if length > 0 { length } else { -1 });
        Ok(Self {
            parquet: Arc::new(builder.build().map_err(|error| parquet_error(&error))?),
            arrow: Field::new(name, arrow, is_nullable),
        })
    }
}

fn enum_names<T: ArrowPrimitiveType<Native: Into<i16>>>(array: &ArrayRef, values: &EnumValues) -> ArrayRef {
    let numbers = array.as_primitive::<T>();
    Arc::new(
        numbers
            .iter()
            .map(|number| number.map(|number| values.name(number.into()).unwrap_or_default()))
            .collect::<BinaryArray>(),
    )
}

/// The texts of values of several types.
fn texts_of(data_type: &DataType, array: &ArrayRef) -> Result<ArrayRef> {
    let column = squall_types::Column::new(data_type.clone(), array.clone());
    squall_types::cast(&column, &DataType::String, &squall_types::CastOptions::default())?.to_array()
}

/// The array as the layout of its type has it.
pub(super) fn to_parquet(data_type: &DataType, array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let ticks = |digits: u8, unit_digits: u8| {
        let factor = 10i64.pow(u32::from(unit_digits - digits));
        move |ticks: i64| ticks.saturating_mul(factor)
    };
    Ok(match data_type {
        DataType::Nullable(inner) => to_parquet(inner, array, field)?,
        DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => texts_of(data_type, array)?,
        DataType::SimpleAggregateFunction(simple) => to_parquet(simple.values(), array, field)?,
        DataType::Named(named) => to_parquet(named.values(), array, field)?,
        DataType::LowCardinality(inner) => {
            let dictionary = array.as_dictionary::<UInt32Type>();
            let array = arrow_select::take::take(&**dictionary.values(), dictionary.keys(), None)?;
            to_parquet(inner, &array, field)?
        }
        DataType::Bool => {
            let truths = array.as_primitive::<UInt8Type>();
            Arc::new(BooleanArray::new(
                truths.values().iter().map(|truth| *truth != 0).collect(),
                truths.nulls().cloned(),
            ))
        }
        DataType::Date => Arc::new(map::<UInt16Type, Date32Type>(array, i32::from)),
        DataType::Date32 => Arc::new(map::<Int32Type, Date32Type>(array, |days| days)),
        DataType::DateTime(_) => {
            let times = map::<UInt32Type, TimestampMillisecondType>(array, |seconds| i64::from(seconds) * 1000);
            Arc::new(times.with_timezone("UTC"))
        }
        DataType::DateTime64(digits @ 0..=3, _) => {
            Arc::new(map::<Int64Type, TimestampMillisecondType>(array, ticks(*digits, 3)).with_timezone("UTC"))
        }
        DataType::DateTime64(digits @ 4..=6, _) => {
            Arc::new(map::<Int64Type, TimestampMicrosecondType>(array, ticks(*digits, 6)).with_timezone("UTC"))
        }
        DataType::DateTime64(digits, _) => {
            Arc::new(map::<Int64Type, TimestampNanosecondType>(array, ticks(*digits, 9)).with_timezone("UTC"))
        }
        DataType::Decimal(..) if array.as_fixed_size_binary_opt().is_some() => big_endian(array)?,
        DataType::Time64(digits) => Arc::new(map::<Int64Type, Time64NanosecondType>(array, ticks(*digits, 9))),
        DataType::Enum8(values) => enum_names::<Int8Type>(array, values),
        DataType::Enum16(values) => enum_names::<Int16Type>(array, values),
        DataType::Array(item) => {
            let list = array.as_list::<i32>();
            let ArrowType::List(item_field) = field.data_type() else { return Err(unsupported(data_type)) };
            let items = to_parquet(item, list.values(), item_field)?;
            Arc::new(ListArray::try_new(item_field.clone(), list.offsets().clone(), items, list.nulls().cloned())?)
        }
        DataType::Map(..) => {
            let list = array.as_list::<i32>();
            let ArrowType::List(entry_field) = field.data_type() else { return Err(unsupported(data_type)) };
            let entries = to_parquet(&data_type.map_entry_type(), list.values(), entry_field)?;
            Arc::new(ListArray::try_new(entry_field.clone(), list.offsets().clone(), entries, list.nulls().cloned())?)
        }
        DataType::Tuple(elements) => {
            let tuple = array.as_struct();
            let ArrowType::Struct(fields) = field.data_type() else { return Err(unsupported(data_type)) };
            let columns = elements
                .iter()
                .zip(tuple.columns())
                .zip(fields)
                .map(|((element, column), field)| to_parquet(&element.data_type, column, field))
                .collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, tuple.nulls().cloned())?)
        }
        _ => array.clone(),
    })
}
