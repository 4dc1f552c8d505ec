//! Avro: files of records, whose head says their schema. The library goes between them and Arrow's columns; here is which of Avro's types a
//! column has, as ClickHouse chooses them.

use std::collections::HashMap;
use std::io::{Cursor, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
};
use arrow_avro::compression::CompressionCodec;
use arrow_avro::reader::{Reader, ReaderBuilder};
use arrow_avro::schema::AVRO_ENUM_SYMBOLS_METADATA_KEY;
use arrow_avro::writer::format::AvroOcfFormat;
use arrow_avro::writer::{Writer, WriterBuilder};
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema as ArrowSchema, TimeUnit};
use parking_lot::Mutex;
use squall_types::{Block, DataType, EnumValues, Error, ErrorCode, Result, Schema};

use crate::arrow::{known, known_field, to_arrow};
use crate::input::{InputBlock, TableInput};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::parquet::{Dictionaries, block_of, type_of, without_panic};
use crate::whole_input::{WholeFormat, read_whole};

/// Rows that are read at once.
const BATCH_ROWS: usize = 8192;

fn incorrect(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("Avro: {what}"))
}

fn reader(bytes: Vec<u8>) -> Result<Reader<Cursor<Vec<u8>>>> {
    let open = || ReaderBuilder::new().with_batch_size(BATCH_ROWS).build(Cursor::new(bytes)).map_err(incorrect);
    without_panic(open)
}

/// The input format. A file is held until it is whole; then it is read batch by batch.
pub(crate) struct AvroInput {
    table: TableInput,
}

impl AvroInput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self { table: TableInput::new(schema, options) }
    }
}

impl WholeFormat for AvroInput {
    const WHAT: &'static str = "An Avro file";
    type Opened = Reader<Cursor<Vec<u8>>>;

    fn open(&self, bytes: Vec<u8>) -> Result<Self::Opened> {
        reader(bytes)
    }

    fn next_block(&self, reader: &mut Self::Opened) -> Result<Option<InputBlock>> {
        match without_panic(|| reader.next().transpose().map_err(incorrect))? {
            Some(batch) => block_of(&self.table, &known(&batch)?, &mut Dictionaries::default()).map(Some),
            None => Ok(None),
        }
    }
}

/// The columns of a file.
///
/// # Errors
/// What is wrong with its head.
pub(crate) fn infer(input: &mut dyn std::io::Read, options: &FormatOptions) -> Result<Schema> {
    let bytes = read_whole::<AvroInput>(input, options)?;
    let schema = reader(bytes)?.schema();
    let field = |field: &Arc<Field>| {
        let data_type = type_of(&known_field(field))?;
        let data_type = if field.is_nullable() { data_type.to_nullable() } else { data_type };
        Ok((Arc::from(field.name().as_str()), data_type))
    };
    Ok(Schema { fields: schema.fields().iter().map(field).collect::<Result<_>>()? })
}

/// The column of Arrow's that the library writes as the type of Avro's that ClickHouse gives the column.
fn field(name: &str, data_type: &DataType) -> Result<Field> {
    let whole = match data_type {
        DataType::LowCardinality(inner) => inner,
        other => other,
    };
    let unsupported = |data_type: &DataType| {
        let message = format!("Type {data_type} is not supported for Avro output");
        Error::new(ErrorCode::ILLEGAL_COLUMN, message)
    };
    let mut metadata = HashMap::new();
    let arrow_type = match whole.inner() {
        DataType::SimpleAggregateFunction(simple) => return field(name, simple.values()),
        DataType::Named(named) => return field(name, named.values()),
        DataType::Bool => ArrowType::Boolean,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16 | DataType::Int32 => ArrowType::Int32,
        DataType::UInt32 | DataType::DateTime(_) | DataType::IPv4 => ArrowType::Int32,
        DataType::Int64 | DataType::UInt64 => ArrowType::Int64,
        DataType::Float32 => ArrowType::Float32,
        DataType::Float64 => ArrowType::Float64,
        DataType::String => ArrowType::Utf8,
        DataType::Enum8(values) | DataType::Enum16(values) => {
            let names: Vec<&str> = values.iter().map(|(name, _)| name).collect();
            if names.iter().all(|name| is_name(name)) {
                let symbols = serde_json::to_string(&names).map_err(incorrect)?;
                metadata.insert(AVRO_ENUM_SYMBOLS_METADATA_KEY.to_owned(), symbols);
                ArrowType::Dictionary(Box::new(ArrowType::Int32), Box::new(ArrowType::Utf8))
            } else {
                ArrowType::Utf8
            }
        }
        DataType::FixedString(width) => ArrowType::FixedSizeBinary(i32::try_from(*width).map_err(incorrect)?),
        DataType::IPv6 => ArrowType::FixedSizeBinary(16),
        DataType::UUID => {
            metadata.insert("logicalType".to_owned(), "uuid".to_owned());
            ArrowType::FixedSizeBinary(16)
        }
        DataType::Date | DataType::Date32 => ArrowType::Date32,
        DataType::DateTime64(3, _) => ArrowType::Timestamp(TimeUnit::Millisecond, Some("+00:00".into())),
        DataType::DateTime64(6, _) => ArrowType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        DataType::Decimal(precision @ 0..=38, scale) => {
            ArrowType::Decimal128(*precision, i8::try_from(*scale).map_err(incorrect)?)
        }
        DataType::Array(item) => ArrowType::List(Arc::new(field("item", item)?)),
        DataType::Map(key, value) if *key.inner() == DataType::String => {
            let entry = vec![Field::new("key", ArrowType::Utf8, false), field("value", value)?];
            ArrowType::Map(Arc::new(Field::new("entries", ArrowType::Struct(entry.into()), false)), false)
        }
        DataType::Tuple(elements) => {
            let elements = elements.iter().enumerate().map(|(at, element)| {
                let name = element.name.as_deref().map_or_else(|| format!("_{}", at + 1), str::to_owned);
                field(&name, &element.data_type)
            });
            ArrowType::Struct(elements.collect::<Result<Fields>>()?)
        }
        other => return Err(unsupported(other)),
    };
    Ok(Field::new(name, arrow_type, whole.is_nullable()).with_metadata(metadata))
}

/// Whether Avro allows the name.
fn is_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_word) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// The names of an enum's numbers: places among its symbols, or texts where Avro does not allow the names as symbols.
fn symbols(values: &EnumValues, numbers: impl Iterator<Item = Option<i16>>, kind: &ArrowType) -> Result<ArrayRef> {
    if !matches!(kind, ArrowType::Dictionary(..)) {
        let names = numbers.map(|number| number.and_then(|number| values.name(number)));
        return Ok(Arc::new(names.collect::<StringArray>()));
    }
    let names = StringArray::from_iter_values(values.iter().map(|(name, _)| name));
    let place = |number: i16| values.iter().position(|(_, known)| known == number).map(|at| at as i32);
    let places: Int32Array = numbers.map(|number| number.and_then(place)).collect();
    Ok(Arc::new(DictionaryArray::try_new(places, Arc::new(names))?))
}

/// The rows of a column as its field has them.
fn column(data_type: &DataType, array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    macro_rules! number {
        ($from:ty, $to:ty, $native:ty) => {
            Arc::new(array.as_primitive::<$from>().unary::<_, $to>(|number| number as $native)) as ArrayRef
        };
    }
    let text = |strings: StringArray| Arc::new(strings) as ArrayRef;
    Ok(match (data_type, field.data_type()) {
        (DataType::Nullable(inner), _) => column(inner, array, field)?,
        (DataType::SimpleAggregateFunction(simple), _) => column(simple.values(), array, field)?,
        (DataType::Named(named), _) => column(named.values(), array, field)?,
        (DataType::LowCardinality(inner), _) => {
            let dictionary = array.as_dictionary::<UInt32Type>();
            column(inner, &arrow_select::take::take(&**dictionary.values(), dictionary.keys(), None)?, field)?
        }
        (DataType::Int8, _) => number!(Int8Type, Int32Type, i32),
        (DataType::UInt8, _) => number!(UInt8Type, Int32Type, i32),
        (DataType::Int16, _) => number!(Int16Type, Int32Type, i32),
        (DataType::UInt16, _) => number!(UInt16Type, Int32Type, i32),
        (DataType::UInt32 | DataType::DateTime(_) | DataType::IPv4, _) => number!(UInt32Type, Int32Type, i32),
        (DataType::UInt64, _) => number!(UInt64Type, Int64Type, i64),
        (DataType::String, _) => text(
            StringArray::try_from_binary(array.as_binary::<i32>().clone())
                .map_err(|_| incorrect("a String that is not UTF-8 cannot be written as a string"))?,
        ),
        (DataType::Enum8(values), kind) => {
            symbols(values, array.as_primitive::<Int8Type>().iter().map(|number| number.map(i16::from)), kind)?
        }
        (DataType::Enum16(values), kind) => symbols(values, array.as_primitive::<Int16Type>().iter(), kind)?,
        (DataType::DateTime64(3, _), _) => {
            let ticks = array.as_primitive::<Int64Type>().unary::<_, TimestampMillisecondType>(|ticks| ticks);
            Arc::new(ticks.with_timezone("+00:00"))
        }
        (DataType::DateTime64(..), _) => {
            let ticks = array.as_primitive::<Int64Type>().unary::<_, TimestampMicrosecondType>(|ticks| ticks);
            Arc::new(ticks.with_timezone("+00:00"))
        }
        (DataType::Array(item), ArrowType::List(inner)) => {
            let list = array.as_list::<i32>();
            let items = column(item, list.values(), inner)?;
            Arc::new(ListArray::try_new(inner.clone(), list.offsets().clone(), items, list.nulls().cloned())?)
        }
        (DataType::Map(key, value), ArrowType::Map(entry, _)) => {
            let list = array.as_list::<i32>();
            let ArrowType::Struct(fields) = entry.data_type() else {
                return Err(Error::logical("a map without entries"));
            };
            let types = [key, value];
            let columns = list.values().as_struct().columns().iter().zip(types).zip(fields.iter());
            let columns = columns.map(|((array, data_type), field)| column(data_type, array, field));
            let entries = StructArray::try_new(fields.clone(), columns.collect::<Result<_>>()?, None)?;
            Arc::new(MapArray::try_new(entry.clone(), list.offsets().clone(), entries, list.nulls().cloned(), false)?)
        }
        (DataType::Tuple(elements), ArrowType::Struct(fields)) => {
            let tuple = array.as_struct();
            let columns = elements.iter().zip(tuple.columns()).zip(fields.iter());
            let columns = columns.map(|((element, array), field)| column(&element.data_type, array, field));
            let columns = columns.collect::<Result<_>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, tuple.nulls().cloned(), tuple.len())?)
        }
        _ => to_arrow(data_type, array)?,
    })
}

/// The output format.
pub(crate) struct AvroOutput {
    schema: Arc<ArrowSchema>,
    writer: Writer<Written, AvroOcfFormat>,
    written: Written,
}

/// What the library has written, for whoever takes it.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl AvroOutput {
    /// # Errors
    /// `ILLEGAL_COLUMN` for a type that the format has no place for.
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let fields = schema.fields.iter().map(|(name, data_type)| field(name, data_type));
        let schema = ArrowSchema::new(fields.collect::<Result<Fields>>()?);
        let codec = match options.settings.output_format_avro_codec.as_str() {
            "null" => None,
            "deflate" => Some(CompressionCodec::Deflate),
            "snappy" | "" => Some(CompressionCodec::Snappy),
            "zstd" => Some(CompressionCodec::ZStandard),
            other => {
                let message = format!("Avro codec {other} is not available");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        };
        let written = Written::default();
        let writer = WriterBuilder::new(schema.clone()).with_compression(codec);
        let writer = writer.build::<_, AvroOcfFormat>(written.clone()).map_err(incorrect)?;
        Ok(Self { schema: Arc::new(schema), writer, written })
    }
}

impl OutputFormat for AvroOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        squall_types::reserve(block.value_bytes())?;
        let columns = block.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(values, field)| column(values.data_type(), &values.to_array()?, field));
        let batch = RecordBatch::try_new(self.schema.clone(), columns.collect::<Result<_>>()?)?;
        self.writer.write(&batch).map_err(incorrect)?;
        out.append(&mut self.written.0.lock());
        Ok(())
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.writer.finish().map_err(incorrect)?;
        out.append(&mut self.written.0.lock());
        Ok(())
    }
}
