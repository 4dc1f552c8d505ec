//! The output formats.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_buffer::OffsetBuffer;
use squall_types::calendar::TimeZone;
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, grow};

use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::protobuf::Framing;
use crate::protobuf::plan::{Message, Purpose, plan};
use crate::protobuf::schema::message;
use crate::protobuf::wire::{Key, LENGTH};
use crate::protobuf::write::{Bound, MessageWriter, put_message};
use crate::wire::put_varint;

/// The number of the field that the rows of a list are.
pub(super) const LIST_FIELD: u32 = 1;

/// The output formats.
#[derive(Clone, Debug)]
pub(crate) struct ProtobufOutput {
    framing: Framing,
    plan: Arc<Message>,
    zone: TimeZone,
    rows: u64,
    /// The rows of a list, whose length stands before them.
    list: Vec<u8>,
    is_fork: bool,
}

impl ProtobufOutput {
    /// # Errors
    /// What is wrong with the schema; where columns do not fit into it.
    pub fn new(framing: Framing, schema: &Schema, options: &FormatOptions) -> Result<Self> {
        let message = message(options, Some(schema), framing == Framing::List)?;
        let purpose = Purpose {
            is_output: true,
            unwraps: options.settings.output_format_protobuf_nullables_with_google_wrappers,
            has_presences: false,
        };
        let columns = schema.fields.iter().map(|(name, data_type)| (&**name, data_type));
        let plan = Arc::new(plan(columns, &message, purpose)?);
        Ok(Self { framing, plan, zone: options.time_zone.clone(), rows: 0, list: Vec::new(), is_fork: false })
    }

    fn write(&self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let columns = block.columns().iter();
        let columns = columns.map(|column| Ok((column.data_type().clone(), based(column.to_array()?)?)));
        let columns = columns.collect::<Result<Vec<(DataType, ArrayRef)>>>()?;
        let bound: Vec<Bound<'_>> = columns.iter().map(|(data_type, array)| Bound { data_type, array }).collect();
        let mut writer = MessageWriter::new(&self.plan, &bound, &self.zone)?;
        let key = (self.framing == Framing::List).then(|| Key::new(LIST_FIELD, LENGTH));
        for row in 0..block.rows() {
            let before = out.len();
            match self.framing {
                Framing::Single => writer.write(row, out)?,
                Framing::Lengths | Framing::List => put_message(key, &mut writer, row, out)?,
            }
            // The next takes about as much.
            let written = out.len() - before;
            grow(out, written)?;
        }
        Ok(())
    }
}

/// Arrays whose items begin with the first one's, so that those of several columns can be told by the ends of one.
fn based(array: ArrayRef) -> Result<ArrayRef> {
    let Some(list) = array.as_list_opt::<i32>() else { return Ok(array) };
    let (offsets, values) = (list.value_offsets(), list.values());
    let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let items = based(values.slice(first as usize, (last - first) as usize))?;
    let field = match list.data_type() {
        arrow_schema::DataType::List(field) => field.clone(),
        _ => return Err(Error::logical("a list of another type")),
    };
    let offsets = OffsetBuffer::new(offsets.iter().map(|end| end - first).collect());
    Ok(Arc::new(ListArray::try_new(field, offsets, items, list.nulls().cloned())?))
}

impl OutputFormat for ProtobufOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.rows += block.rows() as u64;
        if self.framing == Framing::Single && self.rows > 1 {
            let message = "The ProtobufSingle format can't be used to write multiple rows because this format doesn't have any row \
                           delimiter";
            return Err(Error::new(ErrorCode::NO_ROW_DELIMITER, message));
        }
        if self.framing != Framing::List || self.is_fork {
            return self.write(block, out);
        }
        let mut list = std::mem::take(&mut self.list);
        let written = self.write(block, &mut list);
        self.list = list;
        written
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        let fork = Self { is_fork: true, list: Vec::new(), ..self.clone() };
        (self.framing != Framing::Single).then(|| Box::new(fork) as Box<dyn OutputFormat>)
    }

    fn append(&mut self, rows: u64, written: &[u8], out: &mut Vec<u8>) {
        self.rows += rows;
        let to = if self.framing == Framing::List { &mut self.list } else { out };
        to.extend_from_slice(written);
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        if self.framing == Framing::List && self.rows > 0 {
            put_varint(out, self.list.len() as u64);
            grow(out, self.list.len())?;
            out.append(&mut self.list);
        }
        Ok(())
    }
}
