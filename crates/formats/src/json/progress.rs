//! JSONEachRowWithProgress and its kin: a line of JSON for each row, and for what else is known of the result: its columns, totals,
//! extremes, and how much was read.

use std::sync::Arc;

use squall_types::text::{TextOptions, append_json};
use squall_types::{Block, Result, Schema};

use crate::display::tabular::Header;
use crate::json::output::{JsonEachRowOutput, Shape};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct JsonProgressOutput {
    schema: Arc<Schema>,
    text: TextOptions,
    /// Writes the rows themselves.
    rows: JsonEachRowOutput,
}

impl JsonProgressOutput {
    pub fn new(shape: Shape, is_strings: bool, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let rows = JsonEachRowOutput::new(shape, is_strings, Header::Absent, schema, options).with_lines();
        Self { schema: schema.clone(), text: options.text(), rows }
    }

    /// Writes each row as the value of an object's only key; the last of the titles is that of all rows after it.
    fn wrapped(&mut self, titles: &[&str], block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut lines = Vec::new();
        self.rows.block(block, &mut lines)?;
        // No row has a line's end within it: JSON writes it as an escape.
        for (at, line) in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
            let title = titles.get(at).or(titles.last()).copied().unwrap_or_default();
            out.extend_from_slice(format!("{{\"{title}\":").as_bytes());
            out.extend_from_slice(line);
            out.extend_from_slice(b"}\n");
        }
        Ok(())
    }
}

impl OutputFormat for JsonProgressOutput {
    fn content_type(&self) -> &'static str {
        "application/x-ndjson; charset=UTF-8"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"meta\":[");
        for (at, (name, data_type)) in self.schema.fields.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b",{\"name\":" } else { b"{\"name\":" });
            append_json(out, name.as_bytes(), self.text.json_escape_forward_slashes);
            out.extend_from_slice(b",\"type\":");
            append_json(out, data_type.to_string().as_bytes(), self.text.json_escape_forward_slashes);
            out.push(b'}');
        }
        out.extend_from_slice(b"]}\n");
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.wrapped(&["row"], block, out)
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(self.clone()))
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.wrapped(&["totals"], block, out)
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.wrapped(&["min", "max"], block, out)
    }

    fn end(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        let (rows, bytes) = (statistics.rows_read, statistics.bytes_read);
        if rows > 0 {
            let elapsed = statistics.elapsed.as_nanos();
            let progress = format!(
                "{{\"progress\":{{\"read_rows\":\"{rows}\",\"read_bytes\":\"{bytes}\",\"total_rows_to_read\":\"{rows}\",\
                 \"elapsed_ns\":\"{elapsed}\"}}}}\n"
            );
            out.extend_from_slice(progress.as_bytes());
        }
        if let Some(rows) = statistics.rows_before_limit {
            out.extend_from_slice(format!("{{\"rows_before_limit_at_least\":{rows}}}\n").as_bytes());
        }
        Ok(())
    }

    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        self.rows.exception(message, out);
    }
}
