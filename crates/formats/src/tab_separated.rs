//! TabSeparated and its kin: TabSeparatedRaw and LineAsString, TSKV, RawBLOB; and Null, which writes nothing.

use std::sync::Arc;

use squall_types::text::{TextStyle, ValueReader, append_escaped, unescape};
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::field::Fields;
use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::tabular::Header;
use crate::wire::{Cursor, Stop};

const CONTENT_TYPE: &str = "text/tab-separated-values; charset=UTF-8";
const PLAIN_CONTENT_TYPE: &str = "text/plain; charset=UTF-8";

/// The fields of TabSeparatedRaw: bare, but for NULL.
fn raw_fields(options: &FormatOptions) -> Fields {
    Fields::new(TextStyle::Plain, options).with_null(&options.settings.format_tsv_null_representation)
}

/// TabSeparated and TabSeparatedRaw.
#[derive(Debug)]
pub(crate) struct TabSeparatedOutput {
    schema: Arc<Schema>,
    header: Header,
    is_raw: bool,
    fields: Fields,
}

impl TabSeparatedOutput {
    pub fn new(header: Header, is_raw: bool, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let fields = if is_raw { raw_fields(options) } else { Fields::new(TextStyle::Escaped, options) };
        Self { schema: schema.clone(), header, is_raw, fields }
    }

    fn header_row(&self, fields: impl Iterator<Item = impl AsRef<[u8]>>, out: &mut Vec<u8>) {
        for (at, field) in fields.enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            if self.is_raw {
                out.extend_from_slice(field.as_ref());
            } else {
                append_escaped(out, field.as_ref());
            }
        }
        out.push(b'\n');
    }
}

impl OutputFormat for TabSeparatedOutput {
    fn content_type(&self) -> &'static str {
        CONTENT_TYPE
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.header.has_names() {
            self.header_row(self.schema.names(), out);
        }
        if self.header.has_types() {
            self.header_row(self.schema.types().map(ToString::to_string), out);
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        for row in 0..block.rows() {
            for (at, field) in fields.iter_mut().enumerate() {
                if at > 0 {
                    out.push(b'\t');
                }
                field.write(row, out);
            }
            out.push(b'\n');
        }
        Ok(())
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'\n');
        self.block(block, out)
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        out.push(b'\n');
        self.block(block, out)
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// TSKV: `name=value` fields.
#[derive(Debug)]
pub(crate) struct TskvOutput {
    /// Each column's name, escaped, with the `=` after it.
    names: Vec<Vec<u8>>,
    fields: Fields,
}

impl TskvOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let names = schema.names().map(|name| {
            let mut escaped = Vec::new();
            // Names escape what fields escape, but for quotes, and the sign that ends them.
            for (at, part) in name.split('\'').enumerate() {
                if at > 0 {
                    escaped.push(b'\'');
                }
                append_escaped(&mut escaped, part.as_bytes());
            }
            let mut name = Vec::with_capacity(escaped.len() + 1);
            for byte in escaped {
                if byte == b'=' {
                    name.push(b'\\');
                }
                name.push(byte);
            }
            name.push(b'=');
            name
        });
        Self { names: names.collect(), fields: Fields::new(TextStyle::Escaped, options) }
    }
}

impl OutputFormat for TskvOutput {
    fn content_type(&self) -> &'static str {
        CONTENT_TYPE
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        for row in 0..block.rows() {
            for (at, (field, name)) in fields.iter_mut().zip(&self.names).enumerate() {
                if at > 0 {
                    out.push(b'\t');
                }
                out.extend_from_slice(name);
                field.write(row, out);
            }
            out.push(b'\n');
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// RawBLOB: the bytes of all values, with nothing between them.
#[derive(Debug)]
pub(crate) struct RawBlobOutput {
    fields: Fields,
}

impl RawBlobOutput {
    pub fn new(options: &FormatOptions) -> Self {
        Self { fields: raw_fields(options) }
    }
}

impl OutputFormat for RawBlobOutput {
    fn content_type(&self) -> &'static str {
        PLAIN_CONTENT_TYPE
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        for row in 0..block.rows() {
            fields.iter_mut().for_each(|field| field.write(row, out));
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// Null: nothing at all.
#[derive(Debug)]
pub(crate) struct NullOutput;

impl OutputFormat for NullOutput {
    fn content_type(&self) -> &'static str {
        PLAIN_CONTENT_TYPE
    }

    fn block(&mut self, _: &Block, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// Reads TabSeparated and TabSeparatedRaw.
#[derive(Debug)]
pub(crate) struct TabSeparatedReader {
    header: Header,
    is_raw: bool,
    null: Vec<u8>,
    empty_as_default: bool,
    /// The table's column of each field.
    columns: Vec<Option<usize>>,
}

impl TabSeparatedReader {
    pub fn new(header: Header, is_raw: bool, options: &FormatOptions) -> Self {
        Self {
            header,
            is_raw,
            null: options.settings.format_tsv_null_representation.as_bytes().to_vec(),
            empty_as_default: options.settings.input_format_tsv_empty_as_default,
            columns: Vec::new(),
        }
    }

    /// The field at the cursor, up to the tab or the end of the line that ends it.
    #[inline]
    fn field<'a>(&self, input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
        let rest = input.rest();
        let mut from = 0;
        loop {
            let unread = rest.get(from..).unwrap_or_default();
            let found = if self.is_raw {
                memchr::memchr2(b'\t', b'\n', unread)
            } else {
                memchr::memchr3(b'\t', b'\n', b'\\', unread)
            };
            match found.map(|at| (from + at, unread.get(at))) {
                // An escaped tab or end of line belongs to the field.
                Some((at, Some(b'\\'))) => {
                    if at + 1 >= rest.len() && !input.is_last() {
                        return Err(Stop::Incomplete);
                    }
                    from = at + 2;
                }
                Some((at, _)) => {
                    input.advance(at);
                    return Ok(rest.get(..at).unwrap_or_default());
                }
                None if input.is_last() => {
                    input.advance(rest.len());
                    return Ok(rest);
                }
                None => return Err(Stop::Incomplete),
            }
        }
    }

    /// All fields of a line, with its end.
    pub fn header_row(&self, input: &mut Cursor<'_>) -> Result<Vec<String>, Stop> {
        let mut fields = Vec::new();
        self.each_field(input, &mut |text, _| fields.push(String::from_utf8_lossy(text).into_owned()))?;
        Ok(fields)
    }

    /// Gives the fields of a line to `see`, with whether each is NULL.
    pub fn each_field(&self, input: &mut Cursor<'_>, see: &mut dyn FnMut(&[u8], bool)) -> Result<(), Stop> {
        loop {
            let field = self.field(input)?;
            let text = if self.is_raw { field.into() } else { unescape(field)? };
            see(&text, field == self.null);
            if !input.eat(b'\t')? {
                input.eat(b'\n')?;
                return Ok(());
            }
        }
    }

    fn read_field(&self, position: usize, field: &[u8], rows: &mut Rows<ValueReader>) -> Result<()> {
        if field.is_empty() && self.empty_as_default {
            return rows.omit(position);
        }
        let null_as_default = rows.table.null_as_default;
        let reader = rows.column(position)?;
        if field == self.null {
            if reader.data_type().is_nullable() {
                reader.append_default();
                return Ok(());
            }
            if null_as_default {
                return rows.omit(position);
            }
        }
        if self.is_raw { reader.read_whole(field) } else { reader.read_escaped(field) }
    }
}

/// Moves past the end of the line at the cursor.
fn skip_line(input: &mut Cursor<'_>) -> Result<(), Stop> {
    match memchr::memchr(b'\n', input.rest()) {
        Some(at) => input.advance(at + 1),
        None if input.is_last() => input.advance(input.rest().len()),
        None => return Err(Stop::Incomplete),
    }
    Ok(())
}

/// Wants the separator between two fields, or the end of the last.
fn expect(input: &mut Cursor<'_>, byte: u8) -> Result<(), Stop> {
    if input.eat(byte)? || (byte == b'\n' && input.is_empty()) {
        return Ok(());
    }
    let expected = char::from(byte).escape_debug();
    let message = format!("Cannot parse input: expected '{expected}'");
    Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)))
}

impl RowReader for TabSeparatedReader {
    type Column = ValueReader;

    fn header(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<(), Stop> {
        if input.rest().starts_with(b"\xEF\xBB\xBF") {
            input.advance(3);
        }
        self.columns = (0..rows.width()).map(Some).collect();
        if input.is_empty() && input.is_last() {
            return Ok(());
        }
        let start = input.position();
        let names = self.header_row(input)?;
        if !self.header.has_names() {
            // A first line of nothing but the table's names is a header that the format's name does not tell of.
            if rows.width() == 0 || !names.iter().all(|name| rows.table.schema.position(name).is_some()) {
                input.seek(start);
                return Ok(());
            }
        }
        self.columns = rows.table.positions(&names)?;
        if self.header.has_types() {
            let types = self.header_row(input)?;
            rows.table.check_types(&names, &types)?;
        }
        Ok(())
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        for at in 0..self.columns.len() {
            let field = self.field(input)?;
            if let Some(position) = self.columns[at] {
                self.read_field(position, field, rows)?;
            }
            expect(input, if at + 1 < self.columns.len() { b'\t' } else { b'\n' })?;
        }
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        skip_line(input)
    }
}

/// Reads TSKV.
#[derive(Debug)]
pub(crate) struct TskvReader {
    fields: TabSeparatedReader,
}

impl TskvReader {
    pub fn new(options: &FormatOptions) -> Self {
        Self { fields: TabSeparatedReader::new(Header::Absent, false, options) }
    }
}

impl RowReader for TskvReader {
    type Column = ValueReader;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        loop {
            let field = self.fields.field(input)?;
            let mut equals = memchr::memchr_iter(b'=', field);
            let end = equals.find(|at| field.get(at.wrapping_sub(1)) != Some(&b'\\'));
            if let Some(end) = end {
                let name = unescape(field.get(..end).unwrap_or_default())?;
                let name = String::from_utf8_lossy(&name).replace("\\=", "=");
                if let Some(position) = rows.table.position(&name)? {
                    if rows.is_filled(position) {
                        let message = format!("Duplicate field found while parsing TSKV format: {name}");
                        return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
                    }
                    self.fields.read_field(position, field.get(end + 1..).unwrap_or_default(), rows)?;
                }
            } else if !field.is_empty() && field != b"tskv" {
                let message =
                    format!("Found field without value while parsing TSKV format: {}", String::from_utf8_lossy(field));
                return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
            }
            if !input.eat(b'\t')? {
                expect(input, b'\n')?;
                return Ok(true);
            }
        }
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        skip_line(input)
    }
}

/// Reads LineAsString: every line is one string.
#[derive(Debug)]
pub(crate) struct LineReader;

impl RowReader for LineReader {
    type Column = ValueReader;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        let rest = input.rest();
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) => end,
            None if input.is_last() => rest.len(),
            None => return Err(Stop::Incomplete),
        };
        rows.column(0)?.read_whole(rest.get(..end).unwrap_or_default())?;
        input.advance(end + 1);
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        skip_line(input)
    }
}

/// Reads RawBLOB: all of the input is one string.
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
