//! The input formats.

use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result, Schema};

use crate::builder::Builder;
use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::protobuf::Framing;
use crate::protobuf::output::LIST_FIELD;
use crate::protobuf::plan::{Message, Purpose, plan};
use crate::protobuf::read::MessageReader;
use crate::protobuf::schema::message;
use crate::protobuf::wire::{Raw, corrupted, take_field};
use crate::wire::{Cursor, Stop};

/// The input formats.
#[derive(Debug)]
pub(crate) struct ProtobufReader {
    framing: Framing,
    plan: Arc<Message>,
    /// The columns of the table that the message has fields for.
    columns: Vec<usize>,
    reader: MessageReader,
    /// The bytes that are left of the message around a list's rows.
    list_bytes: u64,
}

impl ProtobufReader {
    /// # Errors
    /// What is wrong with the schema; where columns do not fit into it.
    pub fn new(framing: Framing, schema: &Schema, options: &FormatOptions) -> Result<Self> {
        let message = message(options, Some(schema), framing == Framing::List)?;
        let purpose = Purpose {
            is_output: false,
            unwraps: options.settings.input_format_protobuf_flatten_google_wrappers,
            has_presences: options.settings.input_format_protobuf_oneof_presence,
        };
        let columns = schema.fields.iter().map(|(name, data_type)| (&**name, data_type));
        let plan = plan(columns, &message, purpose)?;
        let columns = (0..schema.len()).filter(|column| !plan.missing.contains(column)).collect();
        let reader = MessageReader::new(options.time_zone.cursor());
        Ok(Self { framing, plan: Arc::new(plan), columns, reader, list_bytes: 0 })
    }

    fn message(&mut self, bytes: &[u8], rows: &mut Rows<Builder>) -> Result<()> {
        let row = rows.count();
        self.reader.row(&self.plan, rows.columns(), row, bytes)?;
        self.columns.iter().for_each(|column| rows.fill(*column));
        Ok(())
    }

    /// The bytes of the next message of a list; `None` for a field that is none.
    fn of_list<'a>(&mut self, input: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, Stop> {
        let is_new = self.list_bytes == 0;
        let list_bytes = if is_new { length(input)? } else { self.list_bytes };
        let start = input.position();
        if list_bytes == 0 {
            return Ok(None);
        }
        let rest = input.rest();
        let mut left = rest;
        let (number, raw) = match take_field(&mut left) {
            Ok(field) => field,
            // It may be that not all of it is here.
            Err(_) if !input.is_last() && (rest.len() as u64) < list_bytes => return Err(Stop::Incomplete),
            Err(_) if (rest.len() as u64) < list_bytes => return Err(Stop::Incomplete),
            Err(error) => return Err(Stop::Bad(error)),
        };
        input.take(rest.len() - left.len())?;
        let read = (input.position() - start) as u64;
        self.list_bytes = list_bytes.checked_sub(read).ok_or_else(corrupted)?;
        match raw {
            Raw::Bytes(bytes) if number == LIST_FIELD => Ok(Some(bytes)),
            _ => Ok(None),
        }
    }
}

/// The length of a message.
fn length(input: &mut Cursor<'_>) -> Result<u64, Stop> {
    input.varint().map_err(|stop| match stop {
        Stop::Incomplete => Stop::Incomplete,
        Stop::Bad(_) => Stop::Bad(corrupted()),
    })
}

/// The message at the cursor, behind its length.
fn behind_length<'a>(input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let length = length(input)?;
    input.take(usize::try_from(length).map_err(|_| Stop::Incomplete)?)
}

impl RowReader for ProtobufReader {
    type Column = Builder;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<bool, Stop> {
        let bytes = match self.framing {
            Framing::Lengths => behind_length(input)?,
            Framing::Single if input.is_last() => {
                let bytes = input.rest();
                input.advance(bytes.len());
                bytes
            }
            Framing::Single => return Err(Stop::Incomplete),
            Framing::List => match self.of_list(input)? {
                Some(bytes) => bytes,
                None => return Ok(false),
            },
        };
        self.message(bytes, rows)?;
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        match self.framing {
            Framing::Lengths => behind_length(input).map(drop),
            Framing::Single => {
                input.advance(input.rest().len());
                Ok(())
            }
            Framing::List => {
                let message = "A row of ProtobufList that cannot be read has no end";
                Err(Stop::Bad(Error::new(ErrorCode::UNKNOWN_PROTOBUF_FORMAT, message)))
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.list_bytes == 0
    }
}
