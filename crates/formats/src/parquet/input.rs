//! The input. A file ends with its table of contents, so it is held until it is whole; then it is read row group by row group, block by
//! block, as they are asked for.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Field, Fields, TimeUnit};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema_by_columns};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use squall_types::integer::{I256, Integer};
use squall_types::match_integer;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, TupleElement};

use super::dictionaries::{Dictionaries, with_codes};
use super::file::{ParquetFile, ParquetRowGroup, ReadAt};
use super::ranges::Ranges;
use super::{corrupted, map, parquet_error};
use crate::input::{InputBlock, TableInput};
use crate::options::FormatOptions;
use crate::whole_input::WholeFormat;

/// The input format.
pub(crate) struct ParquetInput {
    schema: Arc<Schema>,
    options: FormatOptions,
}

/// A file, and how far it was read.
pub(crate) struct Opened {
    source: Arc<dyn ReadAt>,
    file: ParquetFile,
    next_row_group: usize,
    group: Option<ParquetRowGroup>,
}

/// What is in a file, and which of its columns are read.
#[derive(Debug)]
pub(super) struct Contents {
    pub metadata: Arc<ParquetMetaData>,
    schema: SchemaDescriptor,
    pub levels: FieldLevels,
    /// The columns of the file that are read: nested ones are several.
    pub leaves: Vec<usize>,
}

impl Contents {
    /// Reads what `footer` has looked at.
    pub fn read(file: &Ranges) -> Result<Self> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(file, options).map_err(|error| parquet_error(&error))?;
        let schema = metadata.parquet_schema().root_schema_ptr();
        let schema = SchemaDescriptor::new(strings_as_bytes(&schema).map_err(|error| parquet_error(&error))?);
        let leaves = (0..schema.num_columns()).collect();
        Self::new(metadata.metadata().clone(), schema, leaves)
    }

    fn new(metadata: Arc<ParquetMetaData>, schema: SchemaDescriptor, leaves: Vec<usize>) -> Result<Self> {
        let levels = levels_of(&schema, &leaves, None)?;
        Ok(Self { metadata, schema, levels, leaves })
    }

    /// The same with the strings of these leaves as codes, where they are columns of their own.
    pub fn with_codes(mut self, coded: &[usize]) -> Result<Self> {
        let names: Vec<&str> = coded
            .iter()
            .filter(|leaf| self.schema.get_column_root(**leaf).is_primitive())
            .map(|leaf| self.schema.get_column_root(*leaf).name())
            .collect();
        if !names.is_empty() {
            let fields = with_codes(&self.arrow_fields()?, &names);
            self.levels = levels_of(&self.schema, &self.leaves, Some(&fields))?;
        }
        Ok(self)
    }

    /// The same with those columns alone that a table has, whatever the case of their letters.
    pub fn project(&self, table: &Schema) -> Result<Self> {
        let is_wanted = |leaf: &usize| {
            let name = self.schema.get_column_root(*leaf).name();
            table.names().any(|known| known.eq_ignore_ascii_case(name) || is_of_structure(known, name))
        };
        let leaves = self.leaves.iter().copied().filter(is_wanted).collect();
        Self::new(self.metadata.clone(), self.schema.clone(), leaves)
    }

    /// Looks whether a table has these columns.
    ///
    /// # Errors
    /// `INCORRECT_DATA` where it has not, and unknown columns are not to be skipped.
    pub fn check_names(&self, table: &TableInput) -> Result<()> {
        for column in self.schema.root_schema().get_fields() {
            let name = column.name();
            if !table.schema.names().any(|known| is_of_structure(known, name)) {
                table.position(name)?;
            }
        }
        Ok(())
    }

    /// The columns as the library gives them.
    pub fn arrow_fields(&self) -> Result<Fields> {
        let schema = parquet_to_arrow_schema_by_columns(&self.schema, ProjectionMask::all(), None);
        Ok(schema.map_err(|error| parquet_error(&error))?.fields)
    }
}

fn levels_of(schema: &SchemaDescriptor, leaves: &[usize], wanted: Option<&Fields>) -> Result<FieldLevels> {
    let mask = ProjectionMask::leaves(schema, leaves.iter().copied());
    parquet_to_arrow_field_levels(schema, mask, wanted).map_err(|error| parquet_error(&error))
}

impl ParquetInput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self { schema: schema.clone(), options: options.clone() }
    }
}

/// Whether a column is one of a nested structure: `n.a` of `n`.
fn is_of_structure(column: &str, structure: &str) -> bool {
    column.split_once('.').is_some_and(|(own, _)| own.eq_ignore_ascii_case(structure))
}

/// An array of tuples as the arrays of its elements, where the table has columns of a nested structure of this name in its place.
fn structure_columns(table: &TableInput, name: &str, column: &Column) -> Option<Vec<(Arc<str>, Column)>> {
    let schema = &table.schema;
    let is_own = |known: &str| known.eq_ignore_ascii_case(name);
    if schema.names().any(is_own) || !schema.names().any(|known| is_of_structure(known, name)) {
        return None;
    }
    let DataType::Array(item) = column.data_type() else { return None };
    let DataType::Tuple(elements) = item.inner() else { return None };
    let list = column.array().as_list_opt::<i32>()?;
    let values = list.values().as_struct_opt()?;
    let parts = elements.iter().zip(values.columns()).filter_map(|(element, values)| {
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let array = ListArray::try_new(field, list.offsets().clone(), values.clone(), list.nulls().cloned()).ok()?;
        let part = Column::new(DataType::array(element.data_type.clone()), Arc::new(array));
        Some((format!("{name}.{}", element.name.as_deref()?).into(), part))
    });
    Some(parts.collect())
}

/// The block of a batch of the library's, with the table's columns. `dictionaries` are those of the batches before.
pub(crate) fn block_of(
    table: &TableInput,
    batch: &arrow_array::RecordBatch,
    dictionaries: &mut Dictionaries,
) -> Result<InputBlock> {
    let schema = batch.schema();
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (at, (field, array)) in schema.fields().iter().zip(batch.columns()).enumerate() {
        let column = match array.as_dictionary_opt::<UInt32Type>() {
            Some(coded) => dictionaries.column(at, coded)?,
            None => {
                let (data_type, array) = from_parquet(field, array)?;
                Column::new(data_type, array)
            }
        };
        let parts = structure_columns(table, field.name(), &column);
        for (name, column) in parts.unwrap_or_else(|| vec![(Arc::from(field.name().as_str()), column)]) {
            let wanted = table.position(&name)?.and_then(|at| table.schema.fields.get(at));
            let column = relabel(column, wanted.map(|(_, data_type)| data_type));
            fields.push((name, column.data_type().clone()));
            columns.push(column);
        }
    }
    let block = Block::new(Arc::new(Schema { fields }), columns, batch.num_rows());
    table.match_block(&block)
}

impl WholeFormat for ParquetInput {
    const WHAT: &'static str = "A Parquet file";
    type Opened = Opened;

    fn open(&self, bytes: Vec<u8>) -> Result<Opened> {
        self.open_at(Arc::new(Bytes::from(bytes)))
    }

    fn open_at(&self, source: Arc<dyn ReadAt>) -> Result<Opened> {
        let file = ParquetFile::open(&*source)?;
        file.check_names(&TableInput::new(&self.schema, &self.options))?;
        Ok(Opened { source, file, next_row_group: 0, group: None })
    }

    fn next_block(&self, opened: &mut Opened) -> Result<Option<InputBlock>> {
        loop {
            if let Some(group) = &mut opened.group {
                match group.next_block()? {
                    Some(block) => return Ok(Some(block)),
                    None => opened.group = None,
                }
            }
            if opened.next_row_group == opened.file.row_groups() {
                return Ok(None);
            }
            let group = opened.file.fetch(opened.next_row_group, &self.schema, &*opened.source, &self.options)?;
            opened.next_row_group += 1;
            opened.group = Some(group);
        }
    }
}

/// The library asserts here and there what a broken file does not hold.
pub(crate) fn without_panic<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(corrupted("the file is broken in a way that stopped its reader")))
}

/// The type with its strings as bytes: ours need not be UTF-8, and nobody shall check.
fn strings_as_bytes(parquet: &TypePtr) -> Result<TypePtr, ParquetError> {
    let info = parquet.get_basic_info();
    if parquet.is_primitive() {
        let is_text = match info.logical_type_ref() {
            Some(logical) => matches!(logical, LogicalType::String | LogicalType::Enum | LogicalType::Json),
            None => matches!(info.converted_type(), ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON),
        };
        if parquet.get_physical_type() != PhysicalType::BYTE_ARRAY || !is_text {
            return Ok(parquet.clone());
        }
        let builder = Type::primitive_type_builder(parquet.name(), PhysicalType::BYTE_ARRAY)
            .with_repetition(info.repetition())
            .with_id(info.has_id().then(|| info.id()));
        return Ok(Arc::new(builder.build()?));
    }
    let fields = parquet.get_fields().iter().map(strings_as_bytes).collect::<Result<_, _>>()?;
    let mut builder = Type::group_type_builder(parquet.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(fields);
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    Ok(Arc::new(builder.build()?))
}

/// The type of ours that a column's is nearest to, without Nullable.
///
/// # Errors
/// `UNKNOWN_TYPE`.
pub(crate) fn type_of(field: &Field) -> Result<DataType> {
    let (data_type, _) = from_parquet(field, &arrow_array::new_empty_array(field.data_type()))?;
    Ok(data_type)
}

/// The decimal of Arrow's digits.
///
/// # Errors
/// `ARGUMENT_OUT_OF_BOUND` for a negative scale.
fn decimal_type(precision: u8, scale: i8) -> Result<DataType> {
    squall_types::type_name::decimal(precision.into(), scale.into())
}

/// What is read as its own type and cast afterwards: the type of ours that an Arrow array is nearest to, and the array in its layout.
fn from_parquet(field: &Field, array: &ArrayRef) -> Result<(DataType, ArrayRef)> {
    let nullable = |data_type: DataType| if array.null_count() > 0 { data_type.to_nullable() } else { data_type };
    let times = |digits: u8, ticks: ArrayRef| Ok((nullable(DataType::DateTime64(digits, Some("UTC".into()))), ticks));
    let decimals = |precision: u8, scale: i8, numbers: &mut dyn Iterator<Item = i128>| {
        let (data_type, values) = decimals(array, precision, scale, numbers)?;
        Ok((nullable(data_type), values))
    };
    let plain = |data_type: DataType| Ok((nullable(data_type), array.clone()));
    match array.data_type() {
        ArrowType::Boolean => {
            let truths = array.as_boolean();
            let bytes: Vec<u8> = truths.values().iter().map(u8::from).collect();
            Ok((
                nullable(DataType::Bool),
                Arc::new(PrimitiveArray::<UInt8Type>::new(bytes.into(), truths.nulls().cloned())),
            ))
        }
        ArrowType::UInt8 => plain(DataType::UInt8),
        ArrowType::UInt16 => plain(DataType::UInt16),
        ArrowType::UInt32 => plain(DataType::UInt32),
        ArrowType::UInt64 => plain(DataType::UInt64),
        ArrowType::Int8 => plain(DataType::Int8),
        ArrowType::Int16 => plain(DataType::Int16),
        ArrowType::Int32 => plain(DataType::Int32),
        ArrowType::Int64 => plain(DataType::Int64),
        ArrowType::Float32 => plain(DataType::Float32),
        ArrowType::Float64 => plain(DataType::Float64),
        ArrowType::Binary => plain(DataType::String),
        ArrowType::Utf8 => {
            Ok((nullable(DataType::String), Arc::new(BinaryArray::from(array.as_string::<i32>().clone()))))
        }
        ArrowType::FixedSizeBinary(width) => plain(DataType::FixedString(usize::try_from(*width).unwrap_or(0))),
        ArrowType::Date32 => {
            Ok((nullable(DataType::Date32), Arc::new(map::<Date32Type, Int32Type>(array, |days| days))))
        }
        ArrowType::Timestamp(TimeUnit::Millisecond, _) => {
            times(3, Arc::new(map::<TimestampMillisecondType, Int64Type>(array, |ticks| ticks)))
        }
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            times(6, Arc::new(map::<TimestampMicrosecondType, Int64Type>(array, |ticks| ticks)))
        }
        ArrowType::Timestamp(TimeUnit::Nanosecond, _) => {
            times(9, Arc::new(map::<TimestampNanosecondType, Int64Type>(array, |ticks| ticks)))
        }
        ArrowType::Time32(TimeUnit::Millisecond) => {
            let ticks = map::<Time32MillisecondType, Int64Type>(array, i64::from);
            Ok((nullable(DataType::Time64(3)), Arc::new(ticks)))
        }
        ArrowType::Time64(TimeUnit::Microsecond) => {
            let ticks = map::<Time64MicrosecondType, Int64Type>(array, |ticks| ticks);
            Ok((nullable(DataType::Time64(6)), Arc::new(ticks)))
        }
        ArrowType::Time64(TimeUnit::Nanosecond) => {
            let ticks = map::<Time64NanosecondType, Int64Type>(array, |ticks| ticks);
            Ok((nullable(DataType::Time64(9)), Arc::new(ticks)))
        }
        ArrowType::Decimal32(precision, scale) => {
            let mut numbers = array.as_primitive::<Decimal32Type>().values().iter().map(|number| i128::from(*number));
            decimals(*precision, *scale, &mut numbers)
        }
        ArrowType::Decimal64(precision, scale) => {
            let mut numbers = array.as_primitive::<Decimal64Type>().values().iter().map(|number| i128::from(*number));
            decimals(*precision, *scale, &mut numbers)
        }
        ArrowType::Decimal128(precision, scale) => {
            decimals(*precision, *scale, &mut array.as_primitive::<Decimal128Type>().values().iter().copied())
        }
        ArrowType::Decimal256(precision, scale) => {
            let data_type = decimal_type(*precision, *scale)?;
            let numbers = array.as_primitive::<Decimal256Type>().values().iter();
            let numbers: Vec<I256> = numbers.map(|number| I256::from_bytes(&number.to_le_bytes())).collect();
            Ok((nullable(data_type), I256::array(numbers, array.nulls().cloned())?))
        }
        ArrowType::List(_) | ArrowType::Map(..) | ArrowType::Struct(_) => nested(field, array),
        other => Err(unsupported(field, other)),
    }
}

/// Decimals of up to 128 bits.
fn decimals(
    array: &ArrayRef,
    precision: u8,
    scale: i8,
    numbers: &mut dyn Iterator<Item = i128>,
) -> Result<(DataType, ArrayRef)> {
    let data_type = decimal_type(precision, scale)?;
    let values = match_integer!(data_type, T => {
        T::array(numbers.map(T::wrap).collect(), array.nulls().cloned())?
    }, _ => array.clone());
    Ok((data_type, values))
}

/// Arrays, maps and tuples, of which each part is read as its own type.
fn nested(field: &Field, array: &ArrayRef) -> Result<(DataType, ArrayRef)> {
    match array.data_type() {
        ArrowType::List(item_field) => {
            let list = array.as_list::<i32>();
            let (item, items) = from_parquet(item_field, list.values())?;
            let list = ListArray::try_new(item.arrow_list_item(), list.offsets().clone(), items, None)?;
            Ok((DataType::array(item), Arc::new(list)))
        }
        ArrowType::Map(..) => {
            let list = array.as_map();
            let (key, keys) = from_parquet(field, list.keys())?;
            let (value, values) = from_parquet(field, list.values())?;
            let data_type = DataType::Map(Arc::new(key), Arc::new(value));
            let entry = data_type.map_entry_type();
            let entries = StructArray::try_new(entry.arrow_fields(), vec![keys, values], None)?;
            let list = ListArray::try_new(entry.arrow_list_item(), list.offsets().clone(), Arc::new(entries), None)?;
            Ok((data_type, Arc::new(list)))
        }
        ArrowType::Struct(fields) => {
            let tuple = array.as_struct();
            let mut elements = Vec::new();
            let mut columns = Vec::new();
            for (field, column) in fields.iter().zip(tuple.columns()) {
                let (data_type, column) = from_parquet(field, column)?;
                elements.push(TupleElement { name: Some(field.name().as_str().into()), data_type });
                columns.push(column);
            }
            let data_type = DataType::Tuple(elements.into());
            let tuple =
                StructArray::try_new_with_length(data_type.arrow_fields(), columns, None::<NullBuffer>, tuple.len())?;
            Ok((data_type, Arc::new(tuple)))
        }
        other => Err(unsupported(field, other)),
    }
}

/// The error of a type that is not read.
fn unsupported(field: &Field, found: &ArrowType) -> Error {
    let message = format!("Parquet type {found} of column '{}' is not supported", field.name());
    Error::new(ErrorCode::UNKNOWN_TYPE, message)
}

/// A column whose bytes are already those of the type that is wanted, though Parquet has no word for it.
fn relabel(column: Column, wanted: Option<&DataType>) -> Column {
    let Some(wanted) = wanted else { return column };
    let data_type = relabelled(column.data_type(), wanted);
    if data_type == *column.data_type() { column } else { column.with_type(data_type) }
}

/// The type that is found, with those parts of the type that is wanted that have the same bytes.
fn relabelled(found: &DataType, wanted: &DataType) -> DataType {
    match (found, wanted) {
        (DataType::Nullable(found), wanted) => relabelled(found, &wanted.inner().clone()).to_nullable(),
        (DataType::Array(found), DataType::Array(wanted)) => DataType::array(relabelled(found, wanted)),
        (DataType::Tuple(found), DataType::Tuple(wanted)) if found.len() == wanted.len() => {
            let elements = found.iter().zip(wanted.iter()).map(|(found, wanted)| TupleElement {
                name: found.name.clone(),
                data_type: relabelled(&found.data_type, &wanted.data_type),
            });
            DataType::Tuple(elements.collect())
        }
        (DataType::Map(key, value), DataType::Map(wanted_key, wanted_value)) => {
            DataType::Map(Arc::new(relabelled(key, wanted_key)), Arc::new(relabelled(value, wanted_value)))
        }
        (found, wanted) => match (found, wanted.inner()) {
            (
                DataType::FixedString(16),
                wanted @ (DataType::UUID | DataType::IPv6 | DataType::Int128 | DataType::UInt128),
            )
            | (DataType::FixedString(32), wanted @ (DataType::Int256 | DataType::UInt256))
            | (DataType::UInt32, wanted @ (DataType::IPv4 | DataType::DateTime(_)))
            | (DataType::UInt16, wanted @ DataType::Date) => wanted.clone(),
            _ => found.clone(),
        },
    }
}
