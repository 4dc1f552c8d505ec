//! JSONAsString and JSONAsObject: each object of the input is the value of the only column.

use squall_types::text::ValueReader;
use squall_types::{Error, ErrorCode};

use crate::input::{RowReader, Rows};
use crate::split::RowEnds;
use crate::text::scan::{Until, scan, skip_spaces};
use crate::wire::{Cursor, Stop};

/// Reads objects, one after the other or in an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonWholeReader {
    /// Whether the rows are the items of an array.
    is_array: bool,
}

impl JsonWholeReader {
    /// Passes over what separates objects; whether there is one more.
    fn is_at_object(&self, input: &mut Cursor<'_>) -> Result<bool, Stop> {
        skip_spaces(input);
        while input.peek()?.is_some_and(|byte| matches!(byte, b',' | b';') || byte == b']' && self.is_array) {
            input.advance(1);
            skip_spaces(input);
        }
        Ok(input.peek()?.is_some())
    }
}

impl RowReader for JsonWholeReader {
    type Column = ValueReader;

    fn fork(&self) -> Option<(RowEnds, Self)> {
        Some((RowEnds::Brackets(b'{', b'}'), self.clone()))
    }

    fn header(&mut self, input: &mut Cursor<'_>, _: &mut Rows<ValueReader>) -> Result<(), Stop> {
        skip_spaces(input);
        self.is_array = input.eat(b'[')?;
        Ok(())
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        if !self.is_at_object(input)? {
            return Ok(false);
        }
        if input.peek()? != Some(b'{') {
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, "JSON object must begin with '{'")));
        }
        let length = scan(input, Until::Close, b"\"")?;
        let object = input.take(length)?;
        rows.column(0)?.read_whole(object)?;
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        while input.peek()?.is_some_and(|byte| byte != b'{') {
            input.advance(1);
        }
        let length = scan(input, Until::Close, b"\"")?;
        input.advance(length);
        Ok(())
    }
}
