//! Form: one row as the fields of a form of the web, `a=1&b=x%20y`. One: a row of 0, whatever the input is.

use percent_encoding::percent_decode;
use squall_types::text::ValueReader;
use squall_types::{Error, ErrorCode};

use crate::input::{RowReader, Rows};
use crate::wire::{Cursor, Stop};

/// Reads Form.
#[derive(Debug)]
pub(crate) struct FormReader;

/// The fields of a form as names and values.
pub(crate) fn fields(form: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    form.trim_ascii_end().split(|byte| *byte == b'&').filter(|field| !field.is_empty()).map(|field| {
        let at = memchr::memchr(b'=', field).unwrap_or(field.len());
        let decoded = |text: &[u8]| percent_decode(text).collect::<Vec<u8>>();
        let name = decoded(field.get(..at).unwrap_or_default());
        (String::from_utf8_lossy(&name).into_owned(), decoded(field.get(at + 1..).unwrap_or_default()))
    })
}

impl RowReader for FormReader {
    type Column = ValueReader;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        if !input.is_last() {
            return Err(Stop::Incomplete);
        }
        for (name, value) in fields(input.rest()) {
            let Some(position) = rows.table.position(&name)? else { continue };
            if rows.is_filled(position) {
                let message = format!("Duplicate field found while parsing Form format: {name}");
                return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
            }
            rows.column(position)?.read_whole(&value)?;
        }
        input.advance(input.rest().len());
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        input.advance(input.rest().len());
        Ok(())
    }
}

/// Reads One.
#[derive(Debug)]
pub(crate) struct OneReader;

impl RowReader for OneReader {
    type Column = ValueReader;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        if !input.is_last() {
            return Err(Stop::Incomplete);
        }
        input.advance(input.rest().len());
        for position in 0..rows.width() {
            rows.column(position)?.append_default();
        }
        Ok(true)
    }

    fn skip_row(&mut self, _: &mut Cursor<'_>) -> Result<(), Stop> {
        Ok(())
    }
}
