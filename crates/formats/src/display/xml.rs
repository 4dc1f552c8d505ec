//! XML: one document with the columns, the rows and what is known about them.

use std::sync::Arc;

use squall_types::text::{TextOptions, append_float64};
use squall_types::{Block, Result, Schema};

use crate::nested::{Nested, append_xml};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics, append_after};
use crate::text::utf8;

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct XmlOutput {
    schema: Arc<Schema>,
    text: TextOptions,
    /// Each column's name where it may be an element's, else `field`.
    tags: Vec<String>,
    is_data_closed: bool,
    rows: u64,
    writes_statistics: bool,
}

fn tag(name: &str) -> String {
    let is_start = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let is_tag = name.starts_with(is_start)
        && name.chars().all(|letter| is_start(letter) || letter.is_ascii_digit() || matches!(letter, '-' | '.'));
    if is_tag { name.to_owned() } else { "field".to_owned() }
}

impl XmlOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self {
            schema: schema.clone(),
            text: options.text(),
            tags: schema.names().map(tag).collect(),
            is_data_closed: false,
            rows: 0,
            writes_statistics: options.settings.output_format_write_statistics,
        }
    }

    /// Writes each row as an element of this name, indented by `depth`.
    fn write_rows(
        &self,
        block: &Block,
        depth: usize,
        row_tag: impl Fn(usize) -> &'static str,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let from = out.len();
        let mut values =
            block.columns().iter().map(|column| Nested::new(column, &self.text)).collect::<Result<Vec<_>>>()?;
        let indent = "\t".repeat(depth);
        // Each column's element begins with the end of the one before it.
        let mut edges = Vec::with_capacity(self.tags.len() + 1);
        let mut edge = String::new();
        for tag in &self.tags {
            edges.push(format!("{edge}{indent}\t<{tag}>"));
            edge = format!("</{tag}>\n");
        }
        for row in 0..block.rows() {
            let row_tag = row_tag(row);
            for part in [&indent, "<", row_tag, ">\n"] {
                out.extend_from_slice(part.as_bytes());
            }
            for (value, before) in values.iter_mut().zip(&edges) {
                out.extend_from_slice(before.as_bytes());
                value.write_xml(row, out);
            }
            for part in [&edge, &indent, "</", row_tag, ">\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        utf8::make_valid(out, from);
        Ok(())
    }

    fn end_data(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.is_data_closed, true) {
            out.extend_from_slice(b"\t</data>\n");
        }
    }
}

impl OutputFormat for XmlOutput {
    fn content_type(&self) -> &'static str {
        "application/xml; charset=UTF-8"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"<?xml version='1.0' encoding='UTF-8' ?>\n<result>\n\t<meta>\n\t\t<columns>\n");
        for (name, data_type) in &self.schema.fields {
            out.extend_from_slice(b"\t\t\t<column>\n\t\t\t\t<name>");
            append_xml(out, name.as_bytes());
            out.extend_from_slice(b"</name>\n\t\t\t\t<type>");
            append_xml(out, data_type.to_string().as_bytes());
            out.extend_from_slice(b"</type>\n\t\t\t</column>\n");
        }
        out.extend_from_slice(b"\t\t</columns>\n\t</meta>\n\t<data>\n");
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.rows += block.rows() as u64;
        self.write_rows(block, 2, |_| "row", out)
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(self.clone()))
    }

    fn append(&mut self, rows: u64, written: &[u8], out: &mut Vec<u8>) {
        append_after(&mut self.rows, rows, b"", written, out);
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.end_data(out);
        self.write_rows(block, 1, |_| "totals", out)
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.end_data(out);
        out.extend_from_slice(b"\t<extremes>\n");
        self.write_rows(block, 2, |row| if row == 0 { "min" } else { "max" }, out)?;
        out.extend_from_slice(b"\t</extremes>\n");
        Ok(())
    }

    fn end(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.end_data(out);
        out.extend_from_slice(format!("\t<rows>{}</rows>\n", self.rows).as_bytes());
        if let Some(rows) = statistics.rows_before_limit {
            out.extend_from_slice(
                format!("\t<rows_before_limit_at_least>{rows}</rows_before_limit_at_least>\n").as_bytes(),
            );
        }
        if self.writes_statistics {
            out.extend_from_slice(b"\t<statistics>\n\t\t<elapsed>");
            append_float64(out, statistics.elapsed.as_secs_f64());
            let Statistics { rows_read, bytes_read, .. } = statistics;
            out.extend_from_slice(
                format!(
                    "</elapsed>\n\t\t<rows_read>{rows_read}</rows_read>\n\t\t<bytes_read>{bytes_read}</bytes_read>\n\t</statistics>\n"
                )
                .as_bytes(),
            );
        }
        out.extend_from_slice(b"</result>\n");
        Ok(())
    }

    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        self.end_data(out);
        out.extend_from_slice(b"\t<exception>");
        append_xml(out, message.as_bytes());
        out.extend_from_slice(b"</exception>\n</result>\n");
    }
}
