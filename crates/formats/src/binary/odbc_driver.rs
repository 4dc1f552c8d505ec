//! ODBCDriver2: what ClickHouse's ODBC driver reads. Each row is its values as text, after their lengths; before all rows stand the names of
//! the columns and those of their types.

use std::sync::Arc;

use squall_types::text::TextStyle;
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::field::Fields;

/// The length of NULL.
const NULL: i32 = -1;

/// The output format.
#[derive(Debug)]
pub(crate) struct OdbcDriverOutput {
    schema: Arc<Schema>,
    fields: Fields,
}

impl OdbcDriverOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self { schema: schema.clone(), fields: Fields::new(TextStyle::Plain, options) }
    }
}

fn put_text(text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let too_long = |_| Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "A string of more than 2 GiB for ODBC");
    out.extend_from_slice(&i32::try_from(text.len()).map_err(too_long)?.to_le_bytes());
    out.extend_from_slice(text);
    Ok(())
}

impl OutputFormat for OdbcDriverOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        let columns = self.schema.len() as i32 + 1;
        let types: Vec<String> =
            self.schema.types().map(|data_type| data_type.remove_low_cardinality().to_string()).collect();
        let names: Vec<&str> = self.schema.names().collect();
        out.extend_from_slice(&2_i32.to_le_bytes());
        for (title, row) in [("name", names), ("type", types.iter().map(String::as_str).collect())] {
            out.extend_from_slice(&columns.to_le_bytes());
            for text in std::iter::once(title).chain(row) {
                // Names are never so long.
                let _ = put_text(text.as_bytes(), out);
            }
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        let nulls: Vec<_> = block.columns().iter().map(crate::text::field::Nulls::new).collect();
        let mut text = Vec::new();
        for row in 0..block.rows() {
            for (field, nulls) in fields.iter_mut().zip(&nulls) {
                if nulls.is_null(row) {
                    out.extend_from_slice(&NULL.to_le_bytes());
                    continue;
                }
                text.clear();
                field.write(row, &mut text);
                put_text(&text, out)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
