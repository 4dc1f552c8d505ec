//! SQLInsert: statements that insert the result into a table of any SQL server.

use std::sync::Arc;

use squall_types::text::TextStyle;
use squall_types::{Block, Result, Schema, Settings};

use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::field::Fields;

fn append_backquoted(out: &mut Vec<u8>, name: &str) {
    out.push(b'`');
    for byte in name.bytes() {
        if matches!(byte, b'`' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'`');
}

/// The output format.
#[derive(Debug)]
pub(crate) struct SqlInsertOutput {
    schema: Arc<Schema>,
    settings: Arc<Settings>,
    fields: Fields,
    /// Rows of the statement at hand.
    rows: u64,
}

impl SqlInsertOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self {
            schema: schema.clone(),
            settings: options.settings.clone(),
            fields: Fields::new(TextStyle::Quoted, options),
            rows: 0,
        }
    }

    /// What stands before the rows of a statement.
    fn head(&self, out: &mut Vec<u8>) {
        let settings = &self.settings;
        let verb: &[u8] = if settings.output_format_sql_insert_use_replace { b"REPLACE" } else { b"INSERT" };
        out.extend_from_slice(verb);
        out.extend_from_slice(b" INTO ");
        out.extend_from_slice(settings.output_format_sql_insert_table_name.as_bytes());
        if settings.output_format_sql_insert_include_column_names {
            out.extend_from_slice(b" (");
            for (at, name) in self.schema.names().enumerate() {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                if settings.output_format_sql_insert_quote_names {
                    append_backquoted(out, name);
                } else {
                    out.extend_from_slice(name.as_bytes());
                }
            }
            out.push(b')');
        }
        out.extend_from_slice(b" VALUES ");
    }
}

impl OutputFormat for SqlInsertOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        let most = self.settings.output_format_sql_insert_max_batch_size.max(1);
        for row in 0..block.rows() {
            if self.rows == most {
                out.extend_from_slice(b";\n");
                self.rows = 0;
            }
            if self.rows == 0 {
                self.head(out);
            } else {
                out.extend_from_slice(b", ");
            }
            self.rows += 1;
            out.push(b'(');
            for (at, field) in fields.iter_mut().enumerate() {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                field.write(row, out);
            }
            out.push(b')');
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b";\n");
        Ok(())
    }
}
