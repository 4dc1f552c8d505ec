//! TabSeparated and its kin: TabSeparatedRaw and LineAsString, TSKV; and Null, which writes nothing.

use std::sync::Arc;

use squall_types::text::{TextStyle, ValueReader, append_escaped, unescape};
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema};

use crate::display::tabular::Header;
use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::split::RowEnds;
use crate::text::field::Fields;
use crate::text::scan::find_field_end;
use crate::wire::{Cursor, Stop};

const CONTENT_TYPE: &str = "text/tab-separated-values; charset=UTF-8";
pub(crate) const PLAIN_CONTENT_TYPE: &str = "text/plain; charset=UTF-8";

/// The fields of TabSeparatedRaw: bare, but for NULL.
fn raw_fields(options: &FormatOptions) -> Fields {
    Fields::new(TextStyle::Plain, options).with_null(&options.settings.format_tsv_null_representation)
}

/// TabSeparated and TabSeparatedRaw.
#[derive(Clone, Debug)]
pub(crate) struct TabSeparatedOutput {
    schema: Arc<Schema>,
    header: Header,
    is_raw: bool,
    fields: Fields,
    end_of_line: &'static [u8],
}

impl TabSeparatedOutput {
    pub fn new(header: Header, is_raw: bool, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let fields = if is_raw { raw_fields(options) } else { Fields::new(TextStyle::Escaped, options) };
        let end_of_line = if options.settings.output_format_tsv_crlf_end_of_line { &b"\r\n"[..] } else { b"\n" };
        Self { schema: schema.clone(), header, is_raw, fields, end_of_line }
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
        out.extend_from_slice(self.end_of_line);
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
            out.extend_from_slice(self.end_of_line);
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(self.clone()))
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(self.end_of_line);
        self.block(block, out)
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(self.end_of_line);
        self.block(block, out)
    }

    fn end(&mut self, _: &Statistics, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}

/// TSKV: `name=value` fields.
#[derive(Clone, Debug)]
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

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(self.clone()))
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

/// A field as it stands in the input.
#[derive(Clone, Copy)]
struct Field<'a> {
    text: &'a [u8],
    has_escapes: bool,
}

/// Reads TabSeparated and TabSeparatedRaw.
#[derive(Clone, Debug)]
pub(crate) struct TabSeparatedReader {
    header: Header,
    is_raw: bool,
    null: Vec<u8>,
    empty_as_default: bool,
    /// Whether lines may end in CR LF.
    crlf: bool,
    enum_as_number: bool,
    pub variable_columns: bool,
    skip_trailing_empty_lines: bool,
    skip_first_lines: u64,
    is_first_row: bool,
    /// The table's column of each field.
    columns: Vec<Option<usize>>,
}

impl TabSeparatedReader {
    pub fn new(header: Header, is_raw: bool, options: &FormatOptions) -> Self {
        let settings = &options.settings;
        Self {
            header,
            is_raw,
            null: settings.format_tsv_null_representation.as_bytes().to_vec(),
            empty_as_default: settings.input_format_tsv_empty_as_default,
            crlf: settings.input_format_tsv_crlf_end_of_line && !is_raw,
            enum_as_number: settings.input_format_tsv_enum_as_number,
            variable_columns: settings.input_format_tsv_allow_variable_number_of_columns,
            skip_trailing_empty_lines: settings.input_format_tsv_skip_trailing_empty_lines,
            skip_first_lines: settings.input_format_tsv_skip_first_lines,
            is_first_row: true,
            columns: Vec::new(),
        }
    }

    /// The field at the cursor, up to the tab or the end of the line that ends it.
    #[inline]
    fn field<'a>(&self, input: &mut Cursor<'a>) -> Result<Field<'a>, Stop> {
        let rest = input.rest();
        // Raw fields end at the same bytes but for the backslash.
        let ends = [b'\t', b'\n', if self.is_raw { b'\n' } else { b'\\' }];
        let mut from = 0;
        let mut has_escapes = false;
        loop {
            let unread = rest.get(from..).unwrap_or_default();
            let found = find_field_end(ends, unread);
            match found.map(|at| (from + at, unread.get(at))) {
                // An escaped tab or end of line belongs to the field.
                Some((at, Some(b'\\'))) => {
                    if at + 1 >= rest.len() && !input.is_last() {
                        return Err(Stop::Incomplete);
                    }
                    from = at + 2;
                    has_escapes = true;
                }
                Some((at, byte)) => {
                    input.advance(at);
                    let text = rest.get(..at).unwrap_or_default();
                    let text = if byte == Some(&b'\n') { self.without_cr(text) } else { text };
                    return Ok(Field { text, has_escapes });
                }
                None if input.is_last() => {
                    input.advance(rest.len());
                    return Ok(Field { text: self.without_cr(rest), has_escapes });
                }
                None => return Err(Stop::Incomplete),
            }
        }
    }

    /// The last field of a line without the CR that belongs to the line's end.
    fn without_cr<'a>(&self, field: &'a [u8]) -> &'a [u8] {
        if self.crlf { field.strip_suffix(b"\r").unwrap_or(field) } else { field }
    }

    /// Moves past the lines that are to be skipped before all others.
    pub fn skip_first_lines(&self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        (0..self.skip_first_lines).try_for_each(|_| if input.is_empty() { Ok(()) } else { skip_line(input) })
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
            let field = self.field(input)?.text;
            let text = if self.is_raw { field.into() } else { unescape(field)? };
            see(&text, field == self.null);
            if !input.eat(b'\t')? {
                input.eat(b'\n')?;
                return Ok(());
            }
        }
    }

    fn read_field(&self, position: usize, field: Field<'_>, rows: &mut Rows<ValueReader>) -> Result<()> {
        let Field { text: field, has_escapes } = field;
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
        if self.enum_as_number
            && let Some(name) = enum_name(reader.data_type(), field)
        {
            return reader.read_whole(name?.as_bytes());
        }
        match has_escapes {
            true => reader.read_escaped(field),
            false if self.is_raw => reader.read_whole(field),
            false => reader.read_unescaped(field),
        }
    }
}

/// The name of the number that a field gives for a value of an enum; `None` for other types.
pub(crate) fn enum_name(data_type: &DataType, field: &[u8]) -> Option<Result<String>> {
    let (DataType::Enum8(names) | DataType::Enum16(names)) = data_type.inner() else { return None };
    let number = std::str::from_utf8(field).ok().and_then(|field| field.parse::<i16>().ok());
    Some(number.and_then(|number| names.name(number)).map(str::to_owned).ok_or_else(|| {
        let message = format!("Unexpected value {} in enum", String::from_utf8_lossy(field));
        Error::new(ErrorCode::UNKNOWN_ELEMENT_OF_ENUM, message)
    }))
}

/// Whether nothing but ends of lines comes any more, past which it moves then.
pub(crate) fn skip_empty_end(input: &mut Cursor<'_>) -> Result<bool, Stop> {
    let rest = input.rest();
    if !rest.iter().all(|byte| matches!(byte, b'\n' | b'\r')) {
        return Ok(false);
    }
    if !input.is_last() {
        return Err(Stop::Incomplete);
    }
    input.advance(rest.len());
    Ok(true)
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

    fn fork(&self) -> Option<(RowEnds, Self)> {
        Some((RowEnds::Lines, self.clone()))
    }

    fn header(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<(), Stop> {
        if input.rest().starts_with(b"\xEF\xBB\xBF") {
            input.advance(3);
        }
        self.skip_first_lines(input)?;
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
        if self.skip_trailing_empty_lines && skip_empty_end(input)? {
            return Ok(false);
        }
        for at in 0..self.columns.len() {
            let is_last = at + 1 == self.columns.len();
            let field = self.field(input)?;
            let ends_line = input.peek()? != Some(b'\t');
            if ends_line && self.is_first_row && !self.is_raw && field.text.ends_with(b"\r") {
                let message = "You have carriage return (\\r, 0x0D, ASCII 13) at end of first row. Lines of TabSeparated end in \\n alone, \
                               unless input_format_tsv_crlf_end_of_line is set";
                return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
            }
            if let Some(position) = self.columns[at] {
                if at == 0 && ends_line && field.text.is_empty() && self.variable_columns {
                    rows.omit(position)?;
                } else {
                    self.read_field(position, field, rows)?;
                }
            }
            if self.variable_columns && ends_line {
                // What is missing at the end has its default.
                break;
            }
            if self.variable_columns && is_last {
                while input.eat(b'\t')? {
                    self.field(input)?;
                }
            }
            if !is_last {
                expect(input, b'\t')?;
            }
        }
        if !self.columns.is_empty() {
            expect(input, b'\n')?;
        }
        self.is_first_row = false;
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        skip_line(input)
    }
}

/// Reads TSKV.
#[derive(Clone, Debug)]
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

    fn fork(&self) -> Option<(RowEnds, Self)> {
        Some((RowEnds::Lines, self.clone()))
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        loop {
            let Field { text: field, has_escapes } = self.fields.field(input)?;
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
                    let text = field.get(end + 1..).unwrap_or_default();
                    self.fields.read_field(position, Field { text, has_escapes }, rows)?;
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
#[derive(Clone, Debug)]
pub(crate) struct LineReader;

impl RowReader for LineReader {
    type Column = ValueReader;

    fn fork(&self) -> Option<(RowEnds, Self)> {
        Some((RowEnds::Lines, self.clone()))
    }

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
