//! PrettyJSONEachRow: an object for each row, over several lines.

use std::sync::Arc;

use squall_types::text::TextOptions;
use squall_types::{Block, Result, Schema};

use crate::json::output::keys;
use crate::nested::{Indent, Nested};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::utf8;

const INDENT: Indent = Indent("    ");

/// The output format.
#[derive(Debug)]
pub(crate) struct PrettyJsonOutput {
    keys: Vec<Vec<u8>>,
    text: TextOptions,
    validates: bool,
    /// One array around all rows.
    is_array: bool,
    has_rows: bool,
}

impl PrettyJsonOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let text = options.text();
        Self {
            keys: keys(schema, &text),
            text,
            validates: options.settings.output_format_json_validate_utf8,
            is_array: options.settings.output_format_json_array_of_rows,
            has_rows: false,
        }
    }
}

impl OutputFormat for PrettyJsonOutput {
    fn content_type(&self) -> &'static str {
        if self.is_array { "application/json; charset=UTF-8" } else { "application/x-ndjson; charset=UTF-8" }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.is_array {
            out.extend_from_slice(b"[\n");
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let from = out.len();
        let values = block.columns().iter().map(|column| Nested::new(column, &self.text));
        let mut values = values.collect::<Result<Vec<_>>>()?;
        for row in 0..block.rows() {
            if std::mem::replace(&mut self.has_rows, true) && self.is_array {
                out.extend_from_slice(b",\n");
            }
            out.push(b'{');
            for (at, (key, value)) in self.keys.iter().zip(&mut values).enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                INDENT.new_line(1, out);
                out.extend_from_slice(key);
                out.extend_from_slice(b": ");
                value.write_json(row, INDENT, 1, &self.text, out);
            }
            out.extend_from_slice(b"\n}");
            if !self.is_array {
                out.push(b'\n');
            }
        }
        if self.validates {
            utf8::make_valid(out, from);
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        if self.is_array {
            out.extend_from_slice(b"\n]\n");
        }
        Ok(())
    }
}
