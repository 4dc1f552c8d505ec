//! The output: each type as the one of Arrow's that ClickHouse writes it as.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, Decimal256Array, ListArray, MapArray, NullArray, RecordBatch,
    RecordBatchOptions, StructArray,
};
use arrow_buffer::i256;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{ArrowError, DataType as ArrowType, Field, Fields, Schema as ArrowSchema, TimeUnit};
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema};

use super::{Container, arrow_error};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};

/// Where the buffers of a message may begin.
const ALIGNMENT_BYTES: usize = 8;

/// What the columns are called in the schema, whose types their arrays have but for strings: the bytes of those are written as text
/// without a look at whether they are UTF-8, as ClickHouse does.
struct Layout {
    time_zone: Arc<str>,
    string: ArrowType,
}

impl Layout {
    fn field(&self, name: &str, data_type: &DataType) -> Result<Field> {
        let inner = match data_type {
            DataType::LowCardinality(inner) => inner,
            other => other,
        };
        let field = Field::new(name, self.arrow_type(inner.inner())?, inner.is_nullable());
        Ok(match inner.inner() {
            DataType::UUID => field.with_metadata(HashMap::from([
                ("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned()),
                ("ARROW:extension:metadata".to_owned(), String::new()),
            ])),
            DataType::Nothing => field.with_nullable(true),
            _ => field,
        })
    }

    fn arrow_type(&self, data_type: &DataType) -> Result<ArrowType> {
        let zone = |zone: &Option<Arc<str>>| Some(zone.clone().unwrap_or_else(|| self.time_zone.clone()));
        Ok(match data_type {
            DataType::Nullable(inner) | DataType::LowCardinality(inner) => return self.arrow_type(inner),
            DataType::SimpleAggregateFunction(simple) => return self.arrow_type(simple.values()),
            DataType::Named(named) => return self.arrow_type(named.values()),
            DataType::String | DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => self.string.clone(),
            DataType::Bool => ArrowType::Boolean,
            DataType::Date | DataType::Date32 => ArrowType::Date32,
            DataType::DateTime(_) | DataType::IPv4 => ArrowType::UInt32,
            DataType::DateTime64(digits, name) => ArrowType::Timestamp(unit(*digits), zone(name)),
            DataType::Array(item) => ArrowType::List(Arc::new(self.field("item", item)?)),
            DataType::Map(key, value) => {
                let (key, value) = (self.field("key", key)?.with_nullable(false), self.field("value", value)?);
                let entry = Field::new("entries", ArrowType::Struct(Fields::from(vec![key, value])), false);
                ArrowType::Map(Arc::new(entry), false)
            }
            DataType::Tuple(elements) => {
                let fields = elements.iter().enumerate().map(|(at, element)| {
                    let name = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
                    self.field(&name, &element.data_type)
                });
                ArrowType::Struct(fields.collect::<Result<Vec<_>>>()?.into())
            }
            DataType::Decimal(precision @ 0..=38, scale) => ArrowType::Decimal128(*precision, signed(*scale)),
            DataType::Decimal(precision, scale) => ArrowType::Decimal256(*precision, signed(*scale)),
            other => other.arrow_type(),
        })
    }
}

fn signed(scale: u8) -> i8 {
    i8::try_from(scale).unwrap_or(i8::MAX)
}

/// The numbers of a decimal type, whatever their width.
fn decimals(precision: u8, scale: u8, array: &ArrayRef) -> Result<ArrayRef> {
    let wide =
        |numbers: Decimal128Array| Ok(Arc::new(numbers.with_precision_and_scale(precision, signed(scale))?) as _);
    match array.data_type() {
        ArrowType::Int32 => wide(array.as_primitive::<Int32Type>().unary::<_, Decimal128Type>(i128::from)),
        ArrowType::Int64 => wide(array.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from)),
        _ => {
            let bytes = array.as_fixed_size_binary();
            let nulls = bytes.nulls().cloned();
            if precision <= 38 {
                let (numbers, _) = bytes.value_data().as_chunks();
                let numbers: Vec<i128> = numbers.iter().map(|number| i128::from_le_bytes(*number)).collect();
                return wide(Decimal128Array::try_new(numbers.into(), nulls)?);
            }
            let (numbers, _) = bytes.value_data().as_chunks();
            let numbers: Vec<i256> = numbers.iter().map(|number| i256::from_le_bytes(*number)).collect();
            let numbers = Decimal256Array::try_new(numbers.into(), nulls)?;
            Ok(Arc::new(numbers.with_precision_and_scale(precision, signed(scale))?))
        }
    }
}

fn unit(digits: u8) -> TimeUnit {
    match digits {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

/// The array as Arrow's type for it has it.
pub(crate) fn to_arrow(data_type: &DataType, array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Nullable(inner) => to_arrow(inner, array)?,
        DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => {
            let column = squall_types::Column::new(data_type.clone(), array.clone());
            squall_types::cast(&column, &DataType::String, &squall_types::CastOptions::default())?.to_array()?
        }
        DataType::SimpleAggregateFunction(simple) => to_arrow(simple.values(), array)?,
        DataType::Named(named) => to_arrow(named.values(), array)?,
        DataType::LowCardinality(inner) => {
            let dictionary = array.as_dictionary::<UInt32Type>();
            to_arrow(inner, &arrow_select::take::take(&**dictionary.values(), dictionary.keys(), None)?)?
        }
        DataType::Nothing => Arc::new(NullArray::new(array.len())),
        DataType::Bool => {
            let truths = array.as_primitive::<UInt8Type>();
            let values = truths.values().iter().map(|truth| *truth != 0).collect();
            Arc::new(BooleanArray::new(values, truths.nulls().cloned()))
        }
        DataType::Date => Arc::new(array.as_primitive::<UInt16Type>().unary::<_, Date32Type>(i32::from)),
        DataType::Date32 => Arc::new(array.as_primitive::<Int32Type>().unary::<_, Date32Type>(|days| days)),
        DataType::DateTime64(digits, _) => {
            let ticks = array.as_primitive::<Int64Type>();
            let scaled = |unit_digits: u8| {
                let factor = 10i64.pow(u32::from(unit_digits - digits));
                move |ticks: i64| ticks.saturating_mul(factor)
            };
            match unit(*digits) {
                TimeUnit::Second => Arc::new(ticks.unary::<_, TimestampSecondType>(|ticks| ticks)),
                TimeUnit::Millisecond => Arc::new(ticks.unary::<_, TimestampMillisecondType>(scaled(3))),
                TimeUnit::Microsecond => Arc::new(ticks.unary::<_, TimestampMicrosecondType>(scaled(6))),
                TimeUnit::Nanosecond => Arc::new(ticks.unary::<_, TimestampNanosecondType>(scaled(9))),
            }
        }
        DataType::Array(item) => {
            let list = array.as_list::<i32>();
            let items = to_arrow(item, list.values())?;
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            Arc::new(ListArray::try_new(field, list.offsets().clone(), items, list.nulls().cloned())?)
        }
        DataType::Map(..) => {
            let list = array.as_list::<i32>();
            let entries = to_arrow(&data_type.map_entry_type(), list.values())?;
            let entries = entries.as_struct();
            let fields: Vec<Field> = ["key", "value"]
                .iter()
                .zip(entries.columns())
                .map(|(name, column)| Field::new(*name, column.data_type().clone(), *name == "value"))
                .collect();
            let entries = StructArray::try_new(fields.into(), entries.columns().to_vec(), None)?;
            let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
            Arc::new(MapArray::try_new(field, list.offsets().clone(), entries, list.nulls().cloned(), false)?)
        }
        DataType::Tuple(elements) => {
            let tuple = array.as_struct();
            let columns = elements.iter().zip(tuple.columns());
            let columns = columns.map(|(element, column)| to_arrow(&element.data_type, column));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let fields = columns.iter().map(|column| Field::new("", column.data_type().clone(), true));
            let fields = fields.collect::<Vec<_>>().into();
            Arc::new(StructArray::try_new_with_length(fields, columns, tuple.nulls().cloned(), tuple.len())?)
        }
        DataType::Decimal(precision, scale) => decimals(*precision, *scale, array)?,
        _ => array.clone(),
    })
}

/// Writes the messages of either container.
enum Writer {
    Stream(StreamWriter<Vec<u8>>),
    File(FileWriter<Vec<u8>>),
}

impl Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        match self {
            Self::Stream(writer) => writer.write(batch),
            Self::File(writer) => writer.write(batch),
        }
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        match self {
            Self::Stream(writer) => writer.finish(),
            Self::File(writer) => writer.finish(),
        }
    }

    /// What is written; the writer counts its bytes itself.
    fn written(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Stream(writer) => writer.get_mut(),
            Self::File(writer) => writer.get_mut(),
        }
    }
}

/// The output format.
pub(crate) struct ArrowOutput {
    writer: Option<Writer>,
    /// What a stream is made with; its messages do not tell of each other, as those of a file do in its footer.
    stream: Option<(ArrowSchema, IpcWriteOptions)>,
}

impl ArrowOutput {
    pub fn new(container: Container, schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        let string = if settings.output_format_arrow_string_as_string { ArrowType::Utf8 } else { ArrowType::Binary };
        let layout = Layout { time_zone: options.time_zone.name().clone(), string };
        let fields = schema.fields.iter().map(|(name, data_type)| layout.field(name, data_type));
        let schema = ArrowSchema::new(fields.collect::<Result<Vec<_>>>()?);
        let compression = match settings.output_format_arrow_compression_method.as_str() {
            "none" => None,
            "zstd" => Some(CompressionType::ZSTD),
            "lz4_frame" => Some(CompressionType::LZ4_FRAME),
            other => {
                let message = format!("Unexpected value of output_format_arrow_compression_method: '{other}'");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        };
        // As far apart as ClickHouse has them.
        let options = IpcWriteOptions::try_new(ALIGNMENT_BYTES, false, MetadataVersion::V5);
        let options = options.and_then(|options| options.try_with_compression(compression));
        let options = options.map_err(|error| arrow_error(&error))?;
        let stream = (container == Container::Stream).then(|| (schema.clone(), options.clone()));
        let writer = match container {
            Container::Stream => StreamWriter::try_new_with_options(Vec::new(), &schema, options).map(Writer::Stream),
            Container::File => FileWriter::try_new_with_options(Vec::new(), &schema, options).map(Writer::File),
        };
        Ok(Self { writer: Some(writer.map_err(|error| arrow_error(&error))?), stream })
    }
}

impl OutputFormat for ArrowOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        // The schema: it was written when the writer was made.
        if let Some(writer) = &mut self.writer {
            out.append(writer.written());
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let Some(writer) = &mut self.writer else {
            return Err(Error::logical("a block after the end of Arrow's messages"));
        };
        if block.is_empty() {
            return Ok(());
        }
        let arrays = block.columns().iter().map(|column| to_arrow(column.data_type(), &column.to_array()?));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let fields: Vec<Field> = arrays.iter().map(|array| Field::new("", array.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(block.rows()));
        let batch = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options)?;
        writer.write(&batch).map_err(|error| arrow_error(&error))?;
        out.append(writer.written());
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        let (schema, options) = self.stream.as_ref()?;
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), schema, options.clone()).ok()?;
        // The first writer has written the schema.
        writer.get_mut().clear();
        Some(Box::new(Self { writer: Some(Writer::Stream(writer)), stream: None }))
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        writer.finish().map_err(|error| arrow_error(&error))?;
        out.append(writer.written());
        Ok(())
    }
}
