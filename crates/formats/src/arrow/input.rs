//! The input. Arrow's types that Parquet does not have become ones that it has; from there on both are read alike.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema as ArrowSchema, TimeUnit};
use squall_types::{Error, ErrorCode, Result, Schema, grow};

use super::messages::Messages;
use super::{Container, arrow_error, incorrect};
use crate::input::{InputBlock, InputFormat, TableInput};
use crate::options::FormatOptions;
use crate::parquet::{Dictionaries, block_of, type_of, without_panic};

/// The input format.
pub(crate) struct ArrowInput {
    table: TableInput,
    messages: Messages,
}

impl ArrowInput {
    pub fn new(container: Container, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self { table: TableInput::new(schema, options), messages: Messages::new(container, options.pending_bytes_max) }
    }
}

impl InputFormat for ArrowInput {
    fn feed(&mut self, chunk: &[u8], blocks: &mut Vec<InputBlock>) -> Result<()> {
        self.messages.push(chunk)?;
        while let Some(batch) = without_panic(|| self.messages.next_batch())? {
            if batch.num_rows() > 0 {
                blocks.push(block_of(&self.table, &known(&batch)?, &mut Dictionaries::default())?);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<InputBlock>) -> Result<()> {
        if self.messages.is_whole() { Ok(()) } else { Err(incorrect("the data end within a message")) }
    }
}

/// The columns of data.
///
/// # Errors
/// What is wrong with the data; `CANNOT_EXTRACT_TABLE_STRUCTURE` where there are none.
pub(crate) fn infer(container: Container, input: &mut dyn std::io::Read, options: &FormatOptions) -> Result<Schema> {
    let mut messages = Messages::new(container, options.pending_bytes_max);
    let mut chunk = Vec::new();
    grow(&mut chunk, 1 << 16)?;
    chunk.resize(1 << 16, 0);
    while !without_panic(|| messages.reach_schema())? {
        let bytes = input.read(&mut chunk).map_err(|error| crate::schema::read_error(&error))?;
        if bytes == 0 {
            return Err(Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, "The data are empty"));
        }
        messages.push(chunk.get(..bytes).unwrap_or_default())?;
    }
    let Some(schema) = messages.schema() else { return Err(Error::logical("messages without a schema")) };
    let mut fields = Vec::new();
    for field in schema.fields() {
        let data_type = type_of(&known_field(field))?;
        let data_type = if field.is_nullable() { data_type.to_nullable() } else { data_type };
        fields.push((Arc::from(field.name().as_str()), data_type));
    }
    Ok(Schema { fields })
}

/// The batch with types that Parquet has.
pub(crate) fn known(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema();
    let fields: Vec<Field> = schema.fields().iter().map(|field| known_field(field).with_nullable(true)).collect();
    let columns = batch.columns().iter().zip(&fields).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(column.clone());
        }
        let options = arrow_cast::CastOptions { safe: false, ..Default::default() };
        arrow_cast::cast_with_options(column, field.data_type(), &options).map_err(|error| arrow_error(&error))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    if columns.is_empty() {
        return Ok(batch.clone());
    }
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).map_err(|error| arrow_error(&error))
}

/// The field with a type of Parquet's.
pub(crate) fn known_field(field: &Field) -> Field {
    field.clone().with_data_type(known_type(field.data_type()))
}

/// The type of Parquet's that one of Arrow's is read as.
fn known_type(data_type: &ArrowType) -> ArrowType {
    let item = |field: &Arc<Field>| Arc::new(known_field(field));
    match data_type {
        ArrowType::Dictionary(_, values) => known_type(values),
        ArrowType::RunEndEncoded(_, values) => known_type(values.data_type()),
        ArrowType::LargeBinary | ArrowType::BinaryView => ArrowType::Binary,
        ArrowType::LargeUtf8 | ArrowType::Utf8View => ArrowType::Utf8,
        ArrowType::Float16 => ArrowType::Float32,
        ArrowType::Date64 => ArrowType::Timestamp(TimeUnit::Millisecond, None),
        ArrowType::Timestamp(TimeUnit::Second, zone) => ArrowType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        ArrowType::Time32(_) => ArrowType::Int32,
        ArrowType::Time64(_) | ArrowType::Duration(_) => ArrowType::Int64,
        ArrowType::List(field)
        | ArrowType::LargeList(field)
        | ArrowType::ListView(field)
        | ArrowType::LargeListView(field)
        | ArrowType::FixedSizeList(field, _) => ArrowType::List(item(field)),
        ArrowType::Map(entries, is_sorted) => ArrowType::Map(item(entries), *is_sorted),
        ArrowType::Struct(fields) => {
            ArrowType::Struct(fields.iter().map(|field| known_field(field)).collect::<Fields>())
        }
        other => other.clone(),
    }
}
