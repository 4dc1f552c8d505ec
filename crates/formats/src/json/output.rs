//! JSON, JSONCompact, JSONStrings and JSONCompactStrings: one document with the columns, the rows and what is known about them.
//! JSONEachRow, JSONCompactEachRow and their kin: a line per row.

use std::sync::Arc;

use squall_types::text::{TextOptions, TextStyle, append_float64, append_integer, append_json};
use squall_types::{Block, Result, Schema};

use crate::display::tabular::Header;
use crate::nested::{Indent, Nested};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics, append_after};
use crate::text::field::{Field, Fields};
use crate::text::utf8;

const CONTENT_TYPE: &str = "application/json; charset=UTF-8";

/// How a row looks in a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// Objects.
    Objects,
    /// Arrays.
    Arrays,
}

/// A document.
#[derive(Clone, Debug)]
pub(crate) struct JsonOutput {
    schema: Arc<Schema>,
    shape: Shape,
    /// Values as strings.
    is_strings: bool,
    fields: Fields,
    text: TextOptions,
    /// Each column's name as a key.
    keys: Vec<Vec<u8>>,
    rows: u64,
    is_data_closed: bool,
    writes_statistics: bool,
    /// Whether values that nest are written over several lines.
    is_pretty: bool,
}

/// Each column's name in JSON.
pub(crate) fn keys(schema: &Schema, text: &TextOptions) -> Vec<Vec<u8>> {
    let names = schema.names().map(|name| {
        let mut key = Vec::new();
        append_json(&mut key, name.as_bytes(), text.json_escape_forward_slashes);
        utf8::make_valid(&mut key, 0);
        key
    });
    names.collect()
}

/// A row's field, as a JSON string where asked for.
fn write_field(
    field: &mut Field,
    row: usize,
    is_strings: bool,
    text: &TextOptions,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    if is_strings {
        scratch.clear();
        field.write(row, scratch);
        append_json(out, scratch, text.json_escape_forward_slashes);
    } else {
        field.write(row, out);
    }
}

fn style(is_strings: bool) -> TextStyle {
    if is_strings { TextStyle::Plain } else { TextStyle::Json }
}

impl JsonOutput {
    pub fn new(shape: Shape, is_strings: bool, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let text = options.text();
        Self {
            schema: schema.clone(),
            shape,
            is_strings,
            fields: Fields::new(style(is_strings), options),
            keys: keys(schema, &text),
            text,
            rows: 0,
            is_data_closed: false,
            writes_statistics: options.settings.output_format_write_statistics,
            is_pretty: options.settings.output_format_json_pretty_print,
        }
    }

    /// Writes the rows of a block, each after what `before_row` writes; objects end on a line indented by `depth`, and values inside of
    /// values are laid out over lines, too, where they are `pretty`.
    fn write_rows(
        &self,
        block: &Block,
        (depth, is_pretty): (usize, bool),
        out: &mut Vec<u8>,
        mut before_row: impl FnMut(usize, &mut Vec<u8>),
    ) -> Result<()> {
        let from = out.len();
        let mut scratch = Vec::new();
        match self.shape {
            Shape::Arrays => {
                let mut fields = self.fields.of(block)?;
                for row in 0..block.rows() {
                    before_row(row, out);
                    out.push(b'[');
                    for (at, field) in fields.iter_mut().enumerate() {
                        if at > 0 {
                            out.extend_from_slice(b", ");
                        }
                        write_field(field, row, self.is_strings, &self.text, &mut scratch, out);
                    }
                    out.push(b']');
                }
            }
            Shape::Objects if self.is_strings || !is_pretty => {
                let mut fields = self.fields.of(block)?;
                for row in 0..block.rows() {
                    before_row(row, out);
                    self.write_object(depth, out, |at, out| {
                        if let Some(field) = fields.get_mut(at) {
                            write_field(field, row, self.is_strings, &self.text, &mut scratch, out);
                        }
                    });
                }
            }
            Shape::Objects => {
                let mut values =
                    block.columns().iter().map(|column| Nested::new(column, &self.text)).collect::<Result<Vec<_>>>()?;
                for row in 0..block.rows() {
                    before_row(row, out);
                    self.write_object(depth, out, |at, out| {
                        if let Some(value) = values.get_mut(at) {
                            value.write_json(row, Indent("\t"), depth + 1, &self.text, out);
                        }
                    });
                }
            }
        }
        utf8::make_valid(out, from);
        Ok(())
    }

    fn write_object(&self, depth: usize, out: &mut Vec<u8>, mut value: impl FnMut(usize, &mut Vec<u8>)) {
        let indent = Indent("\t");
        out.push(b'{');
        for (at, key) in self.keys.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            indent.new_line(depth + 1, out);
            out.extend_from_slice(key);
            out.extend_from_slice(b": ");
            value(at, out);
        }
        indent.new_line(depth, out);
        out.push(b'}');
    }

    fn title(&self, depth: usize, title: &str, out: &mut Vec<u8>) {
        (0..depth).for_each(|_| out.push(b'\t'));
        out.extend_from_slice(format!("\"{title}\":").as_bytes());
        match self.shape {
            Shape::Arrays => out.push(b' '),
            Shape::Objects => Indent("\t").new_line(depth, out),
        }
    }

    /// Writes the start of the document, with its columns.
    pub fn meta(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\n\t\"meta\":\n\t[");
        for (at, (key, data_type)) in self.keys.iter().zip(self.schema.types()).enumerate() {
            out.extend_from_slice(if at > 0 { b",\n\t\t{\n\t\t\t\"name\": " } else { b"\n\t\t{\n\t\t\t\"name\": " });
            out.extend_from_slice(key);
            out.extend_from_slice(b",\n\t\t\t\"type\": ");
            append_json(out, data_type.to_string().as_bytes(), self.text.json_escape_forward_slashes);
            out.extend_from_slice(b"\n\t\t}");
        }
        out.extend_from_slice(b"\n\t]");
    }

    /// The end of a document whose rows, so many, were written by another.
    pub fn end_of(&mut self, rows: u64, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        (self.rows, self.is_data_closed) = (rows, true);
        self.end(statistics, out)
    }

    /// The totals of such a document.
    pub fn totals_after(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.is_data_closed = true;
        self.totals(block, out)
    }

    /// The extremes of such a document.
    pub fn extremes_after(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.is_data_closed = true;
        self.extremes(block, out)
    }

    /// The end of such a document where the query failed.
    pub fn exception_after(&mut self, rows: u64, message: &str, out: &mut Vec<u8>) {
        (self.rows, self.is_data_closed) = (rows, true);
        self.exception(message, out);
    }

    /// Closes the rows, unless that is done.
    fn end_data(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_data_closed, true) {
            return;
        }
        if self.rows == 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(b"\n\t]");
    }

    fn rows(&self, statistics: &Statistics, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\n\n\t\"rows\": ");
        append_integer(out, self.rows);
        if let Some(rows) = statistics.rows_before_limit {
            out.extend_from_slice(b",\n\n\t\"rows_before_limit_at_least\": ");
            append_integer(out, rows);
        }
    }
}

impl OutputFormat for JsonOutput {
    fn content_type(&self) -> &'static str {
        CONTENT_TYPE
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        self.meta(out);
        out.extend_from_slice(b",\n\n\t\"data\":\n\t[");
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut rows = self.rows;
        self.write_rows(block, (2, self.is_pretty), out, |_, out| {
            out.extend_from_slice(if rows > 0 { b",\n\t\t" } else { b"\n\t\t" });
            rows += 1;
        })?;
        self.rows = rows;
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(Self { rows: 1, ..self.clone() }))
    }

    fn append(&mut self, rows: u64, written: &[u8], out: &mut Vec<u8>) {
        append_after(&mut self.rows, rows, b",", written, out);
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.end_data(out);
        out.extend_from_slice(b",\n\n");
        self.title(1, "totals", out);
        self.write_rows(block, (1, false), out, |_, _| {})?;
        Ok(())
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.end_data(out);
        out.extend_from_slice(b",\n\n\t\"extremes\":\n\t{\n");
        let mut minimum = Vec::new();
        let mut maximum = Vec::new();
        self.title(2, "min", &mut minimum);
        self.title(2, "max", &mut maximum);
        self.write_rows(block, (2, false), out, |row, out| {
            if row == 0 {
                out.extend_from_slice(&minimum);
            } else {
                out.extend_from_slice(b",\n");
                out.extend_from_slice(&maximum);
            }
        })?;
        out.extend_from_slice(b"\n\t}");
        Ok(())
    }

    fn end(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.end_data(out);
        self.rows(statistics, out);
        if self.writes_statistics {
            out.extend_from_slice(b",\n\n\t\"statistics\":\n\t{\n\t\t\"elapsed\": ");
            append_float64(out, statistics.elapsed.as_secs_f64());
            out.extend_from_slice(b",\n\t\t\"rows_read\": ");
            append_integer(out, statistics.rows_read);
            out.extend_from_slice(b",\n\t\t\"bytes_read\": ");
            append_integer(out, statistics.bytes_read);
            out.extend_from_slice(b"\n\t}");
        }
        out.extend_from_slice(b"\n}\n");
        Ok(())
    }

    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        self.end_data(out);
        self.rows(&Statistics::default(), out);
        out.extend_from_slice(b",\n\n\t\"exception\": ");
        append_json(out, message.as_bytes(), self.text.json_escape_forward_slashes);
        out.extend_from_slice(b"\n}\n");
    }
}

/// A line per row: an object or an array.
#[derive(Clone, Debug)]
pub(crate) struct JsonEachRowOutput {
    schema: Arc<Schema>,
    shape: Shape,
    is_strings: bool,
    header: Header,
    /// One array around all rows.
    is_array: bool,
    fields: Fields,
    text: TextOptions,
    /// Each column's name as a key, with what stands before and after it.
    keys: Vec<Vec<u8>>,
    validates: bool,
    rows: u64,
}

impl JsonEachRowOutput {
    pub fn new(shape: Shape, is_strings: bool, header: Header, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let text = options.text();
        let keys = keys(schema, &text).into_iter().enumerate().map(|(at, key)| {
            let mut whole = if at > 0 { b",".to_vec() } else { Vec::new() };
            whole.extend_from_slice(&key);
            whole.push(b':');
            whole
        });
        Self {
            schema: schema.clone(),
            shape,
            is_strings,
            header,
            is_array: options.settings.output_format_json_array_of_rows && shape == Shape::Objects,
            fields: Fields::new(style(is_strings), options),
            keys: keys.collect(),
            text,
            validates: options.settings.output_format_json_validate_utf8,
            rows: 0,
        }
    }

    /// The same with lines in any case, also where a setting puts one array around them.
    pub fn with_lines(self) -> Self {
        Self { is_array: false, ..self }
    }

    fn header_row(&self, fields: impl Iterator<Item = impl AsRef<[u8]>>, out: &mut Vec<u8>) {
        out.push(b'[');
        for (at, field) in fields.enumerate() {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            append_json(out, field.as_ref(), self.text.json_escape_forward_slashes);
        }
        out.extend_from_slice(b"]\n");
    }
}

impl OutputFormat for JsonEachRowOutput {
    fn content_type(&self) -> &'static str {
        match self.shape {
            Shape::Objects if self.is_array => CONTENT_TYPE,
            Shape::Objects => "application/x-ndjson; charset=UTF-8",
            Shape::Arrays => "text/plain; charset=UTF-8",
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.header.has_names() {
            self.header_row(self.schema.names(), out);
        }
        if self.header.has_types() {
            self.header_row(self.schema.types().map(ToString::to_string), out);
        }
        if self.is_array {
            out.extend_from_slice(b"[\n");
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let from = out.len();
        let mut fields = self.fields.of(block)?;
        let mut scratch = Vec::new();
        for row in 0..block.rows() {
            if self.is_array && self.rows > 0 {
                out.extend_from_slice(b",\n");
            }
            self.rows += 1;
            out.push(if self.shape == Shape::Objects { b'{' } else { b'[' });
            for (at, field) in fields.iter_mut().enumerate() {
                match self.shape {
                    Shape::Objects => out.extend_from_slice(self.keys.get(at).map_or(&[], Vec::as_slice)),
                    Shape::Arrays if at > 0 => out.extend_from_slice(b", "),
                    Shape::Arrays => {}
                }
                write_field(field, row, self.is_strings, &self.text, &mut scratch, out);
            }
            out.push(if self.shape == Shape::Objects { b'}' } else { b']' });
            if !self.is_array {
                out.push(b'\n');
            }
        }
        if self.validates {
            utf8::make_valid(out, from);
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(Self { rows: 1, ..self.clone() }))
    }

    fn append(&mut self, rows: u64, written: &[u8], out: &mut Vec<u8>) {
        let between: &[u8] = if self.is_array { b",\n" } else { b"" };
        append_after(&mut self.rows, rows, between, written, out);
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        if self.is_array {
            out.extend_from_slice(if self.rows > 0 { b"\n]\n" } else { b"]\n" });
        }
        Ok(())
    }

    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        if self.is_array && self.rows > 0 {
            out.extend_from_slice(b",\n");
        }
        out.extend_from_slice(b"{\"exception\": ");
        append_json(out, message.as_bytes(), self.text.json_escape_forward_slashes);
        out.extend_from_slice(if self.is_array { b"}\n]\n" } else { b"}\n" });
    }
}
