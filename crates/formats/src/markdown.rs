//! Markdown: a table with a header, fields escaped as in TabSeparated.

use std::sync::Arc;

use squall_types::text::{TextStyle, append_escaped};
use squall_types::{Block, Result, Schema};

use crate::field::Fields;
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::pretty::is_right_aligned;

/// The output format.
#[derive(Debug)]
pub(crate) struct MarkdownOutput {
    schema: Arc<Schema>,
    fields: Fields,
}

impl MarkdownOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self { schema: schema.clone(), fields: Fields::new(TextStyle::Escaped, options) }
    }
}

impl OutputFormat for MarkdownOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        for name in self.schema.names() {
            out.extend_from_slice(b"| ");
            append_escaped(out, name.as_bytes());
            out.push(b' ');
        }
        out.extend_from_slice(b"|\n");
        for data_type in self.schema.types() {
            out.extend_from_slice(if is_right_aligned(data_type) { b"|-:" } else { b"|:-" });
        }
        out.extend_from_slice(b"|\n");
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        for row in 0..block.rows() {
            for field in &mut fields {
                out.extend_from_slice(b"| ");
                field.write(row, out);
                out.push(b' ');
            }
            out.extend_from_slice(b"|\n");
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
