//! Markdown: a table with a header, fields escaped as in TabSeparated.

use std::sync::Arc;

use squall_types::text::{TextStyle, append_escaped};
use squall_types::{Block, Result, Schema};

use crate::display::pretty::is_right_aligned;
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::field::Fields;

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct MarkdownOutput {
    schema: Arc<Schema>,
    fields: Fields,
    /// Whether what Markdown takes for markup is escaped.
    escapes: bool,
}

impl MarkdownOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let escapes = options.settings.output_format_markdown_escape_special_characters;
        let fields = match escapes {
            true => Fields::new(TextStyle::Plain, options).with_null("\\N"),
            false => Fields::new(TextStyle::Escaped, options),
        };
        Self { schema: schema.clone(), fields, escapes }
    }
}

/// Appends text with a backslash before each character that may be markup.
fn append_without_markup(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        if byte.is_ascii_punctuation() && !matches!(byte, b'\'' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
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
            for (field, data_type) in fields.iter_mut().zip(block.schema().types()) {
                out.extend_from_slice(b"| ");
                if self.escapes && data_type.inner().is_string_or_fixed_string() && !field.is_null(row) {
                    let mut text = Vec::new();
                    field.write(row, &mut text);
                    append_without_markup(out, &text);
                } else {
                    field.write(row, out);
                }
                out.push(b' ');
            }
            out.extend_from_slice(b"|\n");
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(self.clone()))
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
