//! RawBLOB: the bytes of all values as they lie in memory, with nothing between them; read, all of the input is one string.

use squall_types::text::ValueReader;
use squall_types::{Block, DataType, Error, ErrorCode, Result};

use crate::display::cells::{Arrays, Cells, items, string};
use crate::input::{RowReader, Rows};
use crate::output::{OutputFormat, Statistics};
use crate::text::tab_separated::PLAIN_CONTENT_TYPE;
use crate::wire::{Cursor, Stop};

/// # Errors
/// `NOT_IMPLEMENTED` for types whose values do not lie in one place.
fn check_type(data_type: &DataType) -> Result<()> {
    let is_in_one_place = match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => return check_type(inner),
        DataType::Array(item) => item.fixed_width_bytes().is_some(),
        DataType::Tuple(_) | DataType::Map(..) => false,
        other => !other.has_alternatives(),
    };
    if is_in_one_place {
        return Ok(());
    }
    Err(Error::new(ErrorCode::NOT_IMPLEMENTED, format!("Method getDataAt is not supported for {data_type}")))
}

impl Cells<'_> {
    /// Appends the bytes of a row's value; NULL has none.
    fn write_raw(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::String { offsets, bytes } => out.extend_from_slice(string(offsets, bytes, row)),
            Self::Nullable { inner, .. } if !self.is_null(row) => inner.write_raw(row, out),
            Self::LowCardinality { keys, values, .. } if !self.is_null(row) => {
                values.write_raw(keys[row] as usize, out);
            }
            Self::Nullable { .. } | Self::LowCardinality { .. } => {}
            Self::Array { offsets, items: cells } => {
                items(offsets, row).for_each(|item| cells.write_binary(item, out));
            }
            plain => plain.write_binary(row, out),
        }
    }
}

/// The output format.
#[derive(Debug)]
pub(crate) struct RawBlobOutput;

impl OutputFormat for RawBlobOutput {
    fn content_type(&self) -> &'static str {
        PLAIN_CONTENT_TYPE
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        if block.rows() > 0 {
            block.columns().iter().try_for_each(|column| check_type(column.data_type()))?;
        }
        let arrays = Arrays::new(block)?;
        let cells = arrays.cells()?;
        for row in 0..block.rows() {
            cells.iter().for_each(|cells| cells.write_raw(row, out));
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// The input format.
#[derive(Debug)]
pub(crate) struct RawBlobReader;

impl RowReader for RawBlobReader {
    type Column = ValueReader;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        if !input.is_last() {
            return Err(Stop::Incomplete);
        }
        rows.column(0)?.read_whole(input.rest())?;
        input.advance(input.rest().len());
        Ok(true)
    }

    fn skip_row(&mut self, _: &mut Cursor<'_>) -> Result<(), Stop> {
        Ok(())
    }
}
