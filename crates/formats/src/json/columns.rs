//! JSONColumns, JSONCompactColumns and JSONColumnsWithMetadata: the values of each column in one array, so the whole result is held
//! before the first of it is written. JSONObjectEachRow: an object with a key for each row.

use std::sync::Arc;

use squall_types::text::{TextOptions, TextStyle, append_json};
use squall_types::{Block, Error, ErrorCode, Result, Schema, grow};

use crate::display::tabular::Header;
use crate::json::output::{JsonEachRowOutput, JsonOutput, Shape, keys};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::field::{Field, Fields};
use crate::text::utf8;

/// What is around the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Around {
    /// `JSONColumns`: an object with the columns' names.
    Names,
    /// `JSONCompactColumns`: an array.
    Nothing,
    /// `JSONColumnsWithMetadata`: the document of `JSON`.
    Document,
}

/// The columns.
#[derive(Debug)]
pub(crate) struct JsonColumnsOutput {
    around: Around,
    fields: Fields,
    keys: Vec<Vec<u8>>,
    /// Each column's values so far.
    columns: Vec<Vec<u8>>,
    rows: u64,
    is_written: bool,
    document: JsonOutput,
}

impl JsonColumnsOutput {
    pub fn new(around: Around, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self {
            around,
            fields: Fields::new(TextStyle::Json, options),
            keys: keys(schema, &options.text()),
            columns: vec![Vec::new(); schema.len()],
            rows: 0,
            is_written: false,
            document: JsonOutput::new(Shape::Objects, false, schema, options),
        }
    }

    /// Writes the columns, unless that is done.
    fn write(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_written, true) {
            return;
        }
        let (depth, open, close) = match self.around {
            Around::Names => (0, b'{', b'}'),
            Around::Nothing => (0, b'[', b']'),
            Around::Document => (1, b'{', b'}'),
        };
        let indent = |depth: usize, out: &mut Vec<u8>| out.resize(out.len() + depth, b'\t');
        if self.around == Around::Document {
            self.document.meta(out);
            out.extend_from_slice(b",\n\n\t\"data\":\n");
        }
        let from = out.len();
        indent(depth, out);
        out.extend_from_slice(&[open, b'\n']);
        // Without rows only the columns that have names of their own are there.
        let is_listed = self.rows > 0 || self.around == Around::Names;
        for (at, (key, values)) in self.keys.iter().zip(&self.columns).enumerate().filter(|_| is_listed) {
            if at > 0 {
                out.extend_from_slice(b",\n");
            }
            indent(depth + 1, out);
            if self.around != Around::Nothing {
                out.extend_from_slice(key);
                out.extend_from_slice(b": ");
            }
            out.push(b'[');
            out.extend_from_slice(values);
            out.push(b']');
        }
        utf8::make_valid(out, from);
        out.push(b'\n');
        indent(depth, out);
        out.push(close);
    }
}

impl OutputFormat for JsonColumnsOutput {
    fn content_type(&self) -> &'static str {
        self.document.content_type()
    }

    fn block(&mut self, block: &Block, _: &mut Vec<u8>) -> Result<()> {
        let fields = self.fields.of(block)?;
        for (mut field, values) in fields.into_iter().zip(&mut self.columns) {
            let before = values.len();
            for row in 0..block.rows() {
                if !values.is_empty() {
                    values.extend_from_slice(b", ");
                }
                field.write(row, values);
            }
            let written = values.len() - before;
            grow(values, written)?;
        }
        self.rows += block.rows() as u64;
        Ok(())
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.write(out);
        if self.around == Around::Document { self.document.totals_after(block, out) } else { Ok(()) }
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.write(out);
        if self.around == Around::Document { self.document.extremes_after(block, out) } else { Ok(()) }
    }

    fn end(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.write(out);
        if self.around == Around::Document {
            return self.document.end_of(self.rows, statistics, out);
        }
        out.push(b'\n');
        Ok(())
    }

    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        self.write(out);
        if self.around == Around::Document {
            self.document.exception_after(self.rows, message, out);
        }
    }
}

/// `JSONObjectEachRow`.
#[derive(Debug)]
pub(crate) struct JsonObjectEachRowOutput {
    text: TextOptions,
    rows: JsonEachRowOutput,
    /// The column whose values are the rows' keys.
    key: Option<usize>,
    keys: Fields,
    count: u64,
}

impl JsonObjectEachRowOutput {
    /// # Errors
    /// `BAD_ARGUMENTS` where the column of the keys is not there.
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let name = &options.settings.format_json_object_each_row_column_for_object_name;
        let key = schema.position(name).filter(|_| !name.is_empty());
        if key.is_none() && !name.is_empty() {
            let message = format!(
                "Column name '{name}' from setting format_json_object_each_row_column_for_object_name doesn't exists in header."
            );
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let fields = schema.fields.iter().enumerate().filter(|(at, _)| key != Some(*at));
        let others = Arc::new(Schema { fields: fields.map(|(_, field)| field.clone()).collect() });
        let rows = JsonEachRowOutput::new(Shape::Objects, false, Header::Absent, &others, options).with_lines();
        Ok(Self { text: options.text(), rows, key, keys: Fields::new(TextStyle::Plain, options), count: 0 })
    }

    /// The block without the column of the keys, and the keys.
    fn split(&self, block: &Block) -> Result<(Block, Option<Field>)> {
        let Some(key) = self.key else { return Ok((block.clone(), None)) };
        let mut columns = block.columns().to_vec();
        let mut fields = block.schema().fields.to_vec();
        let schema = Arc::new(Schema { fields: vec![fields.remove(key)].into_iter().collect() });
        let keys = Block::new(schema, vec![columns.remove(key)], block.rows());
        let others = Arc::new(Schema { fields: fields.into_iter().collect() });
        Ok((Block::new(others, columns, block.rows()), self.keys.of(&keys)?.pop()))
    }
}

impl OutputFormat for JsonObjectEachRowOutput {
    fn content_type(&self) -> &'static str {
        "application/json; charset=UTF-8"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\n");
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut lines = Vec::new();
        let (block, mut keys) = self.split(block)?;
        self.rows.block(&block, &mut lines)?;
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        for (row, line) in lines.enumerate() {
            self.count += 1;
            if self.count > 1 {
                out.extend_from_slice(b",\n");
            }
            out.push(b'\t');
            let mut key = Vec::new();
            match &mut keys {
                Some(keys) => keys.write(row, &mut key),
                None => key.extend_from_slice(format!("row_{}", self.count).as_bytes()),
            }
            append_json(out, &key, self.text.json_escape_forward_slashes);
            out.extend_from_slice(b": ");
            out.extend_from_slice(line);
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(b"\n}\n");
        Ok(())
    }

    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.count > 0 { b",\n\t\"exception\": " } else { b"\t\"exception\": " });
        append_json(out, message.as_bytes(), self.text.json_escape_forward_slashes);
        out.extend_from_slice(b"\n}\n");
    }
}
