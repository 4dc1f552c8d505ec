//! How ClickHouse types lie in Parquet files: which Arrow type each is written as, and the way there and back. Dates, times,
//! strings and booleans become what other readers call by these names; DuckLake's column ids are the field ids.
//!
//! | ClickHouse | Parquet | DuckLake |
//! | --- | --- | --- |
//! | integers, floats (`BFloat16` as FLOAT) | the same | `int8`…`uint64`, `float32`, `float64` |
//! | `Bool` | BOOLEAN | `boolean` |
//! | `String` | BYTE_ARRAY (STRING) | `varchar` |
//! | `FixedString`, `IPv6`, 128-bit and 256-bit integers | FIXED_LEN_BYTE_ARRAY | `blob` |
//! | `Decimal` | its digits as the integer of its width | `int32`, `int64`, `blob` |
//! | `UUID` | FIXED_LEN_BYTE_ARRAY (UUID) | `uuid` |
//! | `Date`, `Date32` | INT32 (DATE) | `date` |
//! | `DateTime` | INT64 (TIMESTAMP, microseconds, UTC) | `timestamptz` |
//! | `DateTime64(3 or 6 or 9)` | INT64 (TIMESTAMP of that unit; UTC for 6) | `timestamp_ms`, `timestamptz`, `timestamp_ns` |
//! | other `DateTime64`, `Time64`, `Interval` | INT64 | `int64` |
//! | `Time` | INT32 | `int32` |
//! | `Enum8`, `Enum16`, `IPv4` | their numbers | `int8`, `int16`, `uint32` |
//! | `Array`, `Map`, `Tuple` | LIST, LIST of structs, group | `list`, `list` of `struct`, `struct` |
//! | `Nullable(T)`, `LowCardinality(T)` | T | T |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, ListArray, PrimitiveArray, StructArray,
    UInt8Array,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema as ArrowSchema, TimeUnit};
use parquet::arrow::{ArrowSchemaConverter, PARQUET_FIELD_ID_META_KEY};
use parquet::basic::{LogicalType, Type as PhysicalType};
use parquet::schema::types::{SchemaDescriptor, Type as ParquetType};
use squall_types::{DataType, Error, Physical, Result, Schema};

use crate::fields::FieldIds;

/// DuckLake's name for UUIDs.
pub(crate) const LAKE_UUID: &str = "uuid";

/// The layout of a table's files, and of what is read of them.
#[derive(Clone, Debug)]
pub(crate) struct ParquetLayout {
    types: Vec<DataType>,
    /// The types of the arrays that are written and read: strings are `Binary`, since any bytes may be in them.
    pub(crate) arrow_schema: Arc<ArrowSchema>,
    /// What the files say: strings are STRING, UUIDs are UUID.
    pub(crate) file_schema: Arc<SchemaDescriptor>,
    /// The same without that claim, so that reading does not look for UTF-8.
    pub(crate) read_schema: Arc<SchemaDescriptor>,
    /// Where each column's leaves begin among the files' leaf columns; one more at the end.
    pub(crate) first_leaves: Vec<usize>,
    /// `ratio_of_defaults_for_sparse_serialization`: chunks of which a larger share are defaults are held sparse in memory.
    ratio_of_defaults: f64,
}

/// A column as DuckLake's catalog lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LakeColumn {
    pub(crate) id: i64,
    pub(crate) parent: Option<i64>,
    pub(crate) name: String,
    pub(crate) lake_type: &'static str,
    pub(crate) is_nullable: bool,
}

impl ParquetLayout {
    /// The layout of these stored columns.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where Parquet has no place for a type.
    pub(crate) fn new(schema: &Schema, ids: &[FieldIds], ratio_of_defaults: f64) -> Result<Self> {
        let fields = |strings: &ArrowType| -> Vec<Field> {
            let columns = schema.fields.iter().zip(ids);
            columns.map(|((name, data_type), ids)| field(name, data_type, strings, &mut (ids.id - 1))).collect()
        };
        let arrow_schema = Arc::new(ArrowSchema::new(fields(&ArrowType::Binary)));
        let as_text = ArrowSchema::new(fields(&ArrowType::Utf8));
        let convert = |schema: &ArrowSchema| ArrowSchemaConverter::new().convert(schema).map_err(parquet_bug);
        let uuids: HashSet<i32> = lake_columns(schema, ids)
            .iter()
            .filter(|column| column.lake_type == LAKE_UUID)
            .map(|column| column.id as i32)
            .collect();
        let file_schema = with_uuids(convert(&as_text)?.root_schema(), &uuids).map_err(parquet_bug)?;
        let file_schema = Arc::new(SchemaDescriptor::new(file_schema));
        let read_schema = Arc::new(convert(&arrow_schema)?);
        let mut first_leaves = vec![0];
        for field in arrow_schema.fields() {
            first_leaves.push(first_leaves.last().copied().unwrap_or(0) + leaves(field.data_type()));
        }
        let types = schema.types().cloned().collect();
        Ok(Self { types, arrow_schema, file_schema, read_schema, first_leaves, ratio_of_defaults })
    }

    /// The types of the arrays where strings are read as keys of dictionaries.
    pub(crate) fn coded_schema(&self) -> Arc<ArrowSchema> {
        let coded = |(field, data_type): (&Arc<Field>, &DataType)| match data_type.inner() {
            DataType::String if *field.data_type() == ArrowType::Binary => Arc::new(
                field
                    .as_ref()
                    .clone()
                    .with_data_type(ArrowType::Dictionary(Box::new(ArrowType::UInt32), Box::new(ArrowType::Binary))),
            ),
            _ => field.clone(),
        };
        Arc::new(ArrowSchema::new(self.arrow_schema.fields().iter().zip(&self.types).map(coded).collect::<Vec<_>>()))
    }

    /// The array of a column as it is written.
    pub(crate) fn to_file(&self, column: usize, array: &ArrayRef) -> Result<ArrayRef> {
        let data_type = self.types.get(column).ok_or_else(|| Error::logical("a column too many"))?;
        to_file(data_type, array, self.arrow_schema.field(column).data_type())
    }

    /// The same layout with another `ratio_of_defaults_for_sparse_serialization`.
    pub(crate) fn with_ratio_of_defaults(&self, ratio_of_defaults: f64) -> Self {
        Self { ratio_of_defaults, ..self.clone() }
    }

    /// The share of defaults above which a chunk of this column is held sparse. The default of a nullable one is NULL, which is not left
    /// out. Strings gain sooner than numbers: a condition `<> ''` lets the listed ones through as they lie.
    pub(crate) fn ratio_of_defaults(&self, column: usize) -> f64 {
        const OF_STRINGS: f64 = 0.75;
        match self.types.get(column) {
            Some(DataType::String) if self.ratio_of_defaults < 1.0 => self.ratio_of_defaults.min(OF_STRINGS),
            Some(data_type) if !data_type.is_nullable() => self.ratio_of_defaults,
            _ => 1.0,
        }
    }

    /// Whether a dictionary is made of a column when it is read, as its values are not strings.
    pub(crate) fn is_encoded_in_memory(&self, column: usize) -> bool {
        matches!(self.types.get(column), Some(DataType::LowCardinality(inner)) if !is_string(inner))
    }

    /// Whether a column's arrays are dictionaries.
    pub(crate) fn is_dictionary(&self, column: usize) -> bool {
        matches!(self.types.get(column), Some(DataType::LowCardinality(_)))
    }

    /// The array of a column from what was read.
    pub(crate) fn to_memory(&self, column: usize, array: &ArrayRef) -> Result<ArrayRef> {
        let data_type = self.types.get(column).ok_or_else(|| Error::logical("a column too many"))?;
        to_memory(data_type, array)
    }
}

/// The columns of a table in DuckLake's catalog, nested ones after their parents; ids are those of the files' fields.
pub(crate) fn lake_columns(schema: &Schema, ids: &[FieldIds]) -> Vec<LakeColumn> {
    let mut columns = Vec::new();
    for ((name, data_type), ids) in schema.fields.iter().zip(ids) {
        list_lake_columns(name, data_type, None, &mut (ids.id - 1), &mut columns);
    }
    columns
}

/// How many ids a column of a type takes: its own, and those of nested fields.
pub(crate) fn lake_fields(data_type: &DataType) -> i64 {
    let mut columns = Vec::new();
    list_lake_columns("", data_type, None, &mut 0, &mut columns);
    columns.len() as i64
}

/// Whether files that have a column as one type are right for readers of the lake who were told of the other: nothing else than its
/// names and its wrappers differ, or it has become wider as DuckLake lets it.
pub(crate) fn is_same_in_lake(from: &DataType, to: &DataType) -> bool {
    let list = |data_type: &DataType| {
        let mut columns = Vec::new();
        list_lake_columns("", data_type, None, &mut 0, &mut columns);
        columns
    };
    let (from, to) = (list(from), list(to));
    let is_promoted = |from: &str, to: &str| {
        let family = |name: &str| {
            ["int8", "int16", "int32", "int64"].iter().position(|known| *known == name).map(|at| (0, at)).or_else(
                || ["uint8", "uint16", "uint32", "uint64"].iter().position(|known| *known == name).map(|at| (1, at)),
            )
        };
        from == to
            || matches!((from, to), ("float32", "float64"))
            || matches!((family(from), family(to)), (Some((left, small)), Some((right, large))) if left == right && small < large)
    };
    from.len() == to.len()
        && from.iter().zip(&to).all(|(from, to)| {
            from.parent == to.parent
                && from.name == to.name
                && is_promoted(from.lake_type, to.lake_type)
                && (to.is_nullable || !from.is_nullable)
        })
}

fn list_lake_columns(name: &str, data_type: &DataType, parent: Option<i64>, ids: &mut i64, out: &mut Vec<LakeColumn>) {
    *ids += 1;
    let id = *ids;
    let lake_type = lake_type(data_type);
    out.push(LakeColumn { id, parent, name: name.to_owned(), lake_type, is_nullable: data_type.is_nullable() });
    match data_type.inner() {
        DataType::Array(item) => list_lake_columns("element", item, Some(id), ids, out),
        DataType::Map(..) => list_lake_columns("element", &data_type.inner().map_entry_type(), Some(id), ids, out),
        other => {
            for (name, part) in other.struct_parts() {
                list_lake_columns(&name, &part, Some(id), ids, out);
            }
        }
    }
}

/// DuckLake's name of the type that a column has in the files.
pub(crate) fn lake_type(data_type: &DataType) -> &'static str {
    match data_type.inner() {
        DataType::Bool => "boolean",
        DataType::UInt8 => "uint8",
        DataType::UInt16 => "uint16",
        DataType::UInt32 | DataType::IPv4 => "uint32",
        DataType::UInt64 => "uint64",
        DataType::Int8 | DataType::Enum8(_) => "int8",
        DataType::Int16 | DataType::Enum16(_) => "int16",
        DataType::Int32 | DataType::Time => "int32",
        DataType::BFloat16 | DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::String => "varchar",
        DataType::AggregateFunction(_)
        | DataType::Dynamic(_)
        | DataType::FixedString(_)
        | DataType::IPv6
        | DataType::UInt128
        | DataType::UInt256
        | DataType::Int128
        | DataType::Int256 => "blob",
        DataType::Decimal(..) => match data_type.inner().physical() {
            Physical::Int32 => "int32",
            Physical::Int64 => "int64",
            _ => "blob",
        },
        DataType::UUID => LAKE_UUID,
        DataType::Date | DataType::Date32 => "date",
        DataType::DateTime(_) | DataType::DateTime64(6, _) => "timestamptz",
        DataType::DateTime64(3, _) => "timestamp_ms",
        DataType::DateTime64(9, _) => "timestamp_ns",
        DataType::Array(_) | DataType::Map(..) => "list",
        DataType::Tuple(_) | DataType::Variant(_) | DataType::Json(_) => "struct",
        // Without wrappers, and never of nothing.
        DataType::Int64
        | DataType::DateTime64(..)
        | DataType::Time64(_)
        | DataType::Interval(_)
        | DataType::Nothing
        | DataType::Nullable(_)
        | DataType::SimpleAggregateFunction(_)
        | DataType::Named(_)
        | DataType::LowCardinality(_) => "int64",
    }
}

/// The type with the fields of these ids said to be UUIDs, which Arrow has no word for.
fn with_uuids(parquet: &ParquetType, uuids: &HashSet<i32>) -> parquet::errors::Result<Arc<ParquetType>> {
    let info = parquet.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let built = match parquet {
        ParquetType::PrimitiveType { .. } if id.is_some_and(|id| uuids.contains(&id)) => {
            ParquetType::primitive_type_builder(info.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
                .with_length(16)
                .with_repetition(info.repetition())
                .with_logical_type(Some(LogicalType::Uuid))
                .with_id(id)
                .build()?
        }
        ParquetType::PrimitiveType { .. } => parquet.clone(),
        ParquetType::GroupType { fields, .. } => {
            let fields = fields.iter().map(|field| with_uuids(field, uuids)).collect::<Result<_, _>>()?;
            let mut builder = ParquetType::group_type_builder(info.name())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_fields(fields)
                .with_id(id);
            if info.has_repetition() {
                builder = builder.with_repetition(info.repetition());
            }
            builder.build()?
        }
    };
    Ok(Arc::new(built))
}

/// Leaf columns of a type.
pub(in crate::merge_tree) fn leaves(arrow_type: &ArrowType) -> usize {
    match arrow_type {
        ArrowType::List(item) => leaves(item.data_type()),
        ArrowType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        _ => 1,
    }
}

fn field(name: &str, data_type: &DataType, strings: &ArrowType, ids: &mut i64) -> Field {
    *ids += 1;
    let metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), ids.to_string())]);
    Field::new(name, file_type(data_type, strings, ids), data_type.is_nullable()).with_metadata(metadata)
}

fn file_type(data_type: &DataType, strings: &ArrowType, ids: &mut i64) -> ArrowType {
    match data_type {
        DataType::String => strings.clone(),
        DataType::Bool => ArrowType::Boolean,
        DataType::Date | DataType::Date32 => ArrowType::Date32,
        DataType::DateTime(_) | DataType::DateTime64(6, _) => {
            ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
        }
        DataType::DateTime64(3, _) => ArrowType::Timestamp(TimeUnit::Millisecond, None),
        DataType::DateTime64(9, _) => ArrowType::Timestamp(TimeUnit::Nanosecond, None),
        DataType::Nullable(inner) => file_type(inner, strings, ids),
        DataType::SimpleAggregateFunction(simple) => file_type(simple.values(), strings, ids),
        DataType::Named(named) => file_type(named.values(), strings, ids),
        DataType::LowCardinality(inner) if is_string(inner) => {
            ArrowType::Dictionary(Box::new(ArrowType::UInt32), Box::new(strings.clone()))
        }
        DataType::LowCardinality(inner) => file_type(inner, strings, ids),
        DataType::Array(item) => ArrowType::List(Arc::new(field("element", item, strings, ids))),
        DataType::Map(..) => ArrowType::List(Arc::new(field("element", &data_type.map_entry_type(), strings, ids))),
        DataType::Tuple(_) | DataType::Variant(_) | DataType::Json(_) => {
            let parts = data_type.struct_parts();
            ArrowType::Struct(parts.iter().map(|(name, part)| field(name, part, strings, ids)).collect())
        }
        other => other.arrow_type(),
    }
}

fn is_string(data_type: &DataType) -> bool {
    *data_type.inner() == DataType::String
}

/// `array` as `arrow_type`, the layout's type for `data_type`.
fn to_file(data_type: &DataType, array: &ArrayRef, arrow_type: &ArrowType) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Nullable(inner) => to_file(inner, array, arrow_type)?,
        DataType::SimpleAggregateFunction(simple) => to_file(simple.values(), array, arrow_type)?,
        DataType::Named(named) => to_file(named.values(), array, arrow_type)?,
        DataType::Bool => {
            let flags = array.as_primitive::<UInt8Type>();
            let values =
                BooleanBuffer::collect_bool(flags.len(), |at| flags.values().get(at).is_some_and(|flag| *flag != 0));
            Arc::new(BooleanArray::new(values, flags.nulls().cloned()))
        }
        DataType::Date => map::<UInt16Type, Date32Type>(array, i32::from),
        DataType::Date32 => Arc::new(array.as_primitive::<Int32Type>().reinterpret_cast::<Date32Type>()),
        DataType::DateTime(_) => {
            let micros: PrimitiveArray<TimestampMicrosecondType> =
                array.as_primitive::<UInt32Type>().unary(|seconds| i64::from(seconds) * 1_000_000);
            Arc::new(micros.with_timezone("UTC"))
        }
        DataType::DateTime64(3, _) => {
            Arc::new(array.as_primitive::<Int64Type>().reinterpret_cast::<TimestampMillisecondType>())
        }
        DataType::DateTime64(6, _) => {
            let micros = array.as_primitive::<Int64Type>().reinterpret_cast::<TimestampMicrosecondType>();
            Arc::new(micros.with_timezone("UTC"))
        }
        DataType::DateTime64(9, _) => {
            Arc::new(array.as_primitive::<Int64Type>().reinterpret_cast::<TimestampNanosecondType>())
        }
        DataType::LowCardinality(inner) if is_string(inner) => array.clone(),
        DataType::LowCardinality(inner) => {
            let dictionary = array.as_dictionary::<UInt32Type>();
            to_file(inner, &arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?, arrow_type)?
        }
        DataType::Array(item) => list_to_file(item, array, arrow_type)?,
        DataType::Map(..) => list_to_file(&data_type.map_entry_type(), array, arrow_type)?,
        DataType::Tuple(_) | DataType::Variant(_) | DataType::Json(_) => {
            let tuple = array.as_struct();
            let ArrowType::Struct(fields) = arrow_type else { return Err(Error::logical("a tuple that is no struct")) };
            let types = data_type.struct_types();
            let columns = types.iter().zip(tuple.columns()).zip(fields);
            let columns = columns.map(|((part, column), field)| to_file(part, column, field.data_type()));
            struct_of(fields.clone(), columns.collect::<Result<_>>()?, tuple.len())?
        }
        _ => array.clone(),
    })
}

fn to_memory(data_type: &DataType, array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Nullable(inner) => to_memory(inner, array)?,
        DataType::SimpleAggregateFunction(simple) => to_memory(simple.values(), array)?,
        DataType::Named(named) => to_memory(named.values(), array)?,
        DataType::Bool => {
            let flags = array.as_boolean();
            let values: Vec<u8> = flags.values().iter().map(u8::from).collect();
            Arc::new(UInt8Array::new(values.into(), flags.nulls().cloned()))
        }
        DataType::Date => map::<Date32Type, UInt16Type>(array, |days| days as u16),
        DataType::Date32 => Arc::new(array.as_primitive::<Date32Type>().reinterpret_cast::<Int32Type>()),
        DataType::DateTime(_) => {
            map::<TimestampMicrosecondType, UInt32Type>(array, |micros| (micros / 1_000_000) as u32)
        }
        DataType::DateTime64(3, _) => {
            Arc::new(array.as_primitive::<TimestampMillisecondType>().reinterpret_cast::<Int64Type>())
        }
        DataType::DateTime64(6, _) => {
            Arc::new(array.as_primitive::<TimestampMicrosecondType>().reinterpret_cast::<Int64Type>())
        }
        DataType::DateTime64(9, _) => {
            Arc::new(array.as_primitive::<TimestampNanosecondType>().reinterpret_cast::<Int64Type>())
        }
        DataType::LowCardinality(inner) if is_string(inner) => array.clone(),
        DataType::LowCardinality(inner) => encode_dictionary(inner, &to_memory(inner, array)?)?,
        DataType::Array(item) => {
            let list = array.as_list::<i32>();
            let items = to_memory(item, list.values())?;
            Arc::new(ListArray::try_new(item.arrow_list_item(), list.offsets().clone(), items, None)?)
        }
        DataType::Map(..) => {
            let (list, entry) = (array.as_list::<i32>(), data_type.map_entry_type());
            let items = to_memory(&entry, list.values())?;
            Arc::new(ListArray::try_new(entry.arrow_list_item(), list.offsets().clone(), items, None)?)
        }
        DataType::Tuple(_) | DataType::Variant(_) | DataType::Json(_) => {
            let tuple = array.as_struct();
            let types = data_type.struct_types();
            let columns = types.iter().zip(tuple.columns()).map(|(part, column)| to_memory(part, column));
            struct_of(data_type.arrow_fields(), columns.collect::<Result<_>>()?, tuple.len())?
        }
        _ => array.clone(),
    })
}

fn map<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    array: &ArrayRef,
    convert: impl Fn(From::Native) -> To::Native,
) -> ArrayRef {
    Arc::new(array.as_primitive::<From>().unary::<_, To>(convert))
}

fn list_to_file(item: &DataType, array: &ArrayRef, arrow_type: &ArrowType) -> Result<ArrayRef> {
    let ArrowType::List(field) = arrow_type else { return Err(Error::logical("an array that is no list")) };
    let list = array.as_list::<i32>();
    let items = to_file(item, list.values(), field.data_type())?;
    Ok(Arc::new(ListArray::try_new(field.clone(), list.offsets().clone(), items, None)?))
}

fn struct_of(fields: Fields, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, None, rows)?))
}

/// A `LowCardinality` array of values that are not strings, values in order of first appearance.
fn encode_dictionary(inner: &DataType, values: &ArrayRef) -> Result<ArrayRef> {
    let column = squall_types::Column::new(inner.remove_nullable(), values.clone());
    let mut builder = squall_types::ColumnBuilder::new(DataType::LowCardinality(Arc::new(inner.clone())));
    for row in 0..column.rows() {
        builder.append(&column.value(row))?;
    }
    Ok(builder.finish()?.array().clone())
}

/// A dictionary array without the values that none of its keys uses, so that slices of a large one are stored small.
pub(crate) fn compact_dictionary(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>() else { return Ok(array.clone()) };
    if dictionary.values().len() <= dictionary.len().max(16) {
        return Ok(array.clone());
    }
    let mut places = vec![u32::MAX; dictionary.values().len()];
    let mut used = Vec::new();
    let keys = dictionary.keys();
    let compacted: PrimitiveArray<UInt32Type> = keys
        .iter()
        .map(|key| {
            let place = places.get_mut(key? as usize)?;
            if *place == u32::MAX {
                *place = used.len() as u32;
                used.push(key?);
            }
            Some(*place)
        })
        .collect();
    let used = PrimitiveArray::<UInt32Type>::from(used);
    let values = arrow_select::take::take(dictionary.values(), &used, None)?;
    Ok(Arc::new(DictionaryArray::try_new(compacted, values)?))
}

fn parquet_bug(error: parquet::errors::ParquetError) -> Error {
    Error::logical(format!("Parquet: {error}"))
}
