//! The CSV formats.

use std::borrow::Cow;
use std::sync::Arc;

use squall_types::text::{TextStyle, ValueReader, append_csv, append_quoted};
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema};

use crate::display::tabular::Header;
use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::split::RowEnds;
use crate::text::field::Fields;
use crate::text::scan::find_field_end;
use crate::text::tab_separated::{enum_name, skip_empty_end};
use crate::wire::{Cursor, Stop};

/// The byte between fields.
fn delimiter(options: &FormatOptions) -> u8 {
    options.settings.format_csv_delimiter.as_bytes().first().copied().unwrap_or(b',')
}

/// The output formats.
#[derive(Clone, Debug)]
pub(crate) struct CsvOutput {
    schema: Arc<Schema>,
    header: Header,
    fields: Fields,
    /// Whether the header names the elements of tuples rather than the tuples.
    names_elements: bool,
    delimiter: u8,
    end_of_line: &'static [u8],
}

impl CsvOutput {
    pub fn new(header: Header, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self {
            schema: schema.clone(),
            header,
            fields: Fields::new(TextStyle::Csv, options),
            names_elements: options.settings.output_format_csv_serialize_tuple_into_separate_columns
                && options.settings.output_format_csv_header_serialize_tuple_into_separate_columns,
            delimiter: delimiter(options),
            end_of_line: if options.settings.output_format_csv_crlf_end_of_line { b"\r\n" } else { b"\n" },
        }
    }

    fn header_row(&self, fields: &[String], out: &mut Vec<u8>) {
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                out.push(self.delimiter);
            }
            append_csv(out, field.as_bytes());
        }
        out.extend_from_slice(self.end_of_line);
    }
}

/// The fields of a column: a tuple has one for each of its elements, named `column.element`.
fn flatten(name: &str, data_type: &DataType, names: &mut Vec<String>, types: &mut Vec<String>) {
    match data_type {
        DataType::Tuple(elements) if !elements.is_empty() => {
            for (at, element) in elements.iter().enumerate() {
                let name = match &element.name {
                    Some(element) => format!("{name}.{element}"),
                    None => format!("{name}.{}", at + 1),
                };
                flatten(&name, &element.data_type, names, types);
            }
        }
        other => {
            names.push(name.to_owned());
            types.push(other.to_string());
        }
    }
}

impl OutputFormat for CsvOutput {
    fn content_type(&self) -> &'static str {
        match self.header {
            Header::Absent => "text/csv; charset=UTF-8; header=absent",
            _ => "text/csv; charset=UTF-8; header=present",
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        let (mut names, mut types) = (Vec::new(), Vec::new());
        for (name, data_type) in &self.schema.fields {
            if self.names_elements {
                flatten(name, data_type, &mut names, &mut types);
            } else {
                names.push(name.to_string());
                types.push(data_type.to_string());
            }
        }
        if self.header.has_names() {
            self.header_row(&names, out);
        }
        if self.header.has_types() {
            self.header_row(&types, out);
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        for row in 0..block.rows() {
            for (at, field) in fields.iter_mut().enumerate() {
                if at > 0 {
                    out.push(self.delimiter);
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

/// Reads the CSV formats.
#[derive(Clone, Debug)]
pub(crate) struct CsvReader {
    header: Header,
    delimiter: u8,
    null: Vec<u8>,
    allow_single_quotes: bool,
    allow_double_quotes: bool,
    empty_as_default: bool,
    /// Whether a missing value of `Nullable(String)` is an empty string.
    missing_as_empty_string: bool,
    default_on_bad_values: bool,
    /// Whether a line may end in CR alone.
    allow_cr: bool,
    /// Whether spaces around fields do not belong to strings.
    trims: bool,
    /// Whether spaces before a field belong to it, since they may be delimiters.
    keeps_spaces: bool,
    enum_as_number: bool,
    /// Whether a tuple is as many fields as it has elements, rather than one.
    splits_tuples: bool,
    pub variable_columns: bool,
    skip_trailing_empty_lines: bool,
    skip_first_lines: u64,
    columns: Vec<CsvColumn>,
    /// A field's contents without its quotes, where quotes inside were doubled.
    scratch: Vec<u8>,
    /// A tuple put together from its fields.
    tuple: Vec<u8>,
}

/// What the next fields of a row belong to.
#[derive(Clone, Debug)]
enum CsvColumn {
    /// One field: a value of this column, or of none; whether spaces around it do not belong to it.
    Field(Option<usize>, bool),
    /// As many fields as the column's tuples have elements, at every level.
    Tuple(usize, DataType),
}

/// A field at hand.
struct CsvField<'a> {
    text: Cow<'a, [u8]>,
    is_quoted: bool,
}

impl CsvReader {
    /// # Errors
    /// `BAD_ARGUMENTS` for a delimiter that fields may begin with.
    pub fn new(header: Header, options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        let keeps_spaces = settings.input_format_csv_allow_whitespace_or_tab_as_delimiter;
        let delimiter = delimiter(options);
        let is_bad = match delimiter {
            b' ' | b'\t' => !keeps_spaces,
            b'"' | b'\'' | b'.' | b'U' | b'L' => true,
            _ => false,
        };
        if is_bad {
            let delimiter = char::from(delimiter).escape_debug();
            let message = format!("CSV format may not work correctly with delimiter '{delimiter}'");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(Self {
            header,
            delimiter,
            null: settings.format_csv_null_representation.as_bytes().to_vec(),
            allow_single_quotes: settings.format_csv_allow_single_quotes,
            allow_double_quotes: settings.format_csv_allow_double_quotes,
            empty_as_default: settings.input_format_csv_empty_as_default,
            missing_as_empty_string: settings.input_format_csv_missing_nullable_as_empty_string,
            default_on_bad_values: settings.input_format_csv_use_default_on_bad_values,
            allow_cr: settings.input_format_csv_allow_cr_end_of_line,
            trims: settings.input_format_csv_trim_whitespaces,
            keeps_spaces,
            enum_as_number: settings.input_format_csv_enum_as_number,
            splits_tuples: settings.input_format_csv_deserialize_separate_columns_into_tuple,
            variable_columns: settings.input_format_csv_allow_variable_number_of_columns,
            skip_trailing_empty_lines: settings.input_format_csv_skip_trailing_empty_lines,
            skip_first_lines: settings.input_format_csv_skip_first_lines,
            columns: Vec::new(),
            scratch: Vec::new(),
            tuple: Vec::new(),
        })
    }

    /// Moves past the lines that are to be skipped before all others.
    pub fn skip_first_lines(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        for _ in 0..self.skip_first_lines {
            if !(input.is_empty() && input.is_last()) {
                self.each_field(input, &mut |_, _, _| {})?;
            }
        }
        Ok(())
    }

    /// The field at the cursor; `trims`: without the spaces around it.
    fn field<'a>(&mut self, trims: bool, input: &mut Cursor<'a>) -> Result<CsvField<'a>, Stop> {
        let is_space = |byte: u8| matches!(byte, b' ' | b'\t') && byte != self.delimiter;
        while trims && !self.keeps_spaces && input.peek()?.is_some_and(is_space) {
            input.advance(1);
        }
        match input.peek()? {
            Some(quote @ b'"') if self.allow_double_quotes => self.quoted_field(quote, input),
            Some(quote @ b'\'') if self.allow_single_quotes => self.quoted_field(quote, input),
            _ => {
                let rest = input.rest();
                let end = match find_field_end([self.delimiter, b'\n', b'\r'], rest) {
                    Some(end) => end,
                    None if input.is_last() => rest.len(),
                    None => return Err(Stop::Incomplete),
                };
                input.advance(end);
                let mut text = rest.get(..end).unwrap_or_default();
                while let Some((last, before)) = text.split_last()
                    && trims
                    && is_space(*last)
                {
                    text = before;
                }
                Ok(CsvField { text: Cow::Borrowed(text), is_quoted: false })
            }
        }
    }

    fn quoted_field<'a>(&mut self, quote: u8, input: &mut Cursor<'a>) -> Result<CsvField<'a>, Stop> {
        input.advance(1);
        self.scratch.clear();
        let mut is_borrowed = true;
        loop {
            let rest = input.rest();
            let Some(end) = memchr::memchr(quote, rest) else {
                if !input.is_last() {
                    return Err(Stop::Incomplete);
                }
                let message = "Cannot parse CSV: expected closing quote";
                return Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message)));
            };
            let part = rest.get(..end).unwrap_or_default();
            input.advance(end + 1);
            if !input.eat(quote)? {
                while input.peek()?.is_some_and(|byte| matches!(byte, b' ' | b'\t') && byte != self.delimiter) {
                    input.advance(1);
                }
                if is_borrowed {
                    return Ok(CsvField { text: Cow::Borrowed(part), is_quoted: true });
                }
                self.scratch.extend_from_slice(part);
                return Ok(CsvField { text: Cow::Owned(self.scratch.clone()), is_quoted: true });
            }
            is_borrowed = false;
            self.scratch.extend_from_slice(part);
            self.scratch.push(quote);
        }
    }

    /// Moves past the end of a row; `false` where something else comes.
    fn end_of_line(&self, input: &mut Cursor<'_>) -> Result<bool, Stop> {
        if input.eat(b'\n')? || (input.is_empty() && input.is_last()) {
            return Ok(true);
        }
        if input.eat(b'\r')? {
            if self.allow_cr || input.eat(b'\n')? || (input.is_empty() && input.is_last()) {
                if self.allow_cr && !input.is_empty() {
                    input.eat(b'\n')?;
                }
                return Ok(true);
            }
            let message = "Cannot parse CSV: found \\r (CR) not followed by \\n (LF). Line must end by \\n (LF) or \\r\\n (CR LF)";
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        }
        Ok(false)
    }

    /// The fields of a line, with its end.
    pub fn header_row(&mut self, input: &mut Cursor<'_>) -> Result<Vec<String>, Stop> {
        let mut fields = Vec::new();
        self.each_field(input, &mut |text, _, _| fields.push(String::from_utf8_lossy(text).into_owned()))?;
        Ok(fields)
    }

    /// Gives the fields of a line to `see`, with whether each stands in quotes and whether it is NULL.
    pub fn each_field(&mut self, input: &mut Cursor<'_>, see: &mut dyn FnMut(&[u8], bool, bool)) -> Result<(), Stop> {
        loop {
            let field = self.field(self.trims, input)?;
            see(&field.text, field.is_quoted, self.is_null(&field));
            if self.end_of_line(input)? {
                return Ok(());
            }
            self.expect_delimiter(input)?;
        }
    }

    fn expect_delimiter(&self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        if input.eat(self.delimiter)? {
            return Ok(());
        }
        let message = format!("Cannot parse input: expected '{}'", char::from(self.delimiter).escape_debug());
        Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)))
    }

    fn is_null(&self, field: &CsvField<'_>) -> bool {
        !field.is_quoted && *field.text == *self.null
    }

    fn read_field(&self, position: usize, field: &CsvField<'_>, rows: &mut Rows<ValueReader>) -> Result<()> {
        let null_as_default = rows.table.null_as_default;
        let is_missing = field.text.is_empty() && !field.is_quoted;
        if is_missing && self.missing_as_empty_string {
            let reader = rows.column(position)?;
            if reader.data_type().is_nullable() && reader.data_type().inner().is_string_or_fixed_string() {
                return reader.read_whole(b"");
            }
        }
        if is_missing && self.empty_as_default {
            return rows.omit(position);
        }
        let reader = rows.column(position)?;
        if self.is_null(field) {
            if reader.data_type().is_nullable() {
                reader.append_default();
                return Ok(());
            }
            if null_as_default {
                return rows.omit(position);
            }
        }
        if self.enum_as_number {
            // In quotes there is no number.
            let text: &[u8] = if field.is_quoted { b"" } else { &field.text };
            if let Some(name) = enum_name(reader.data_type(), text) {
                return reader.read_whole(name?.as_bytes());
            }
        }
        let before = reader.rows();
        match reader.read_whole(&field.text) {
            Err(_) if self.default_on_bad_values => {
                reader.truncate(before);
                rows.omit(position)
            }
            outcome => outcome,
        }
    }

    /// A field of a column.
    fn one_field(&self, position: Option<usize>, rows: &Rows<ValueReader>) -> CsvColumn {
        let data_type = position.and_then(|position| rows.table.schema.fields.get(position)).map(|(_, found)| found);
        let is_string = data_type.is_some_and(|found| found.inner().is_string_or_fixed_string());
        CsvColumn::Field(position, self.trims || !is_string)
    }

    /// Whether the cursor is at a line's end.
    fn is_at_end_of_line(input: &Cursor<'_>) -> Result<bool, Stop> {
        Ok(matches!(input.peek()?, None | Some(b'\n' | b'\r')))
    }

    /// Puts the fields of a tuple's elements together as a literal.
    fn collect_tuple(&mut self, data_type: &DataType, is_last: bool, input: &mut Cursor<'_>) -> Result<(), Stop> {
        let DataType::Tuple(elements) = data_type else {
            let field = self.field(self.trims, input)?;
            if self.is_null(&field) || (field.text.is_empty() && !field.is_quoted && data_type.is_nullable()) {
                self.tuple.extend_from_slice(b"NULL");
            } else if matches!(data_type, DataType::Array(_) | DataType::Map(..)) {
                self.tuple.extend_from_slice(&field.text);
            } else if field.text.is_empty() && !field.is_quoted && data_type.is_number() {
                self.tuple.push(b'0');
            } else {
                append_quoted(&mut self.tuple, &field.text);
            }
            if !is_last {
                self.expect_delimiter(input)?;
            }
            return Ok(());
        };
        self.tuple.push(b'(');
        for (at, element) in elements.iter().enumerate() {
            if at > 0 {
                self.tuple.push(b',');
            }
            self.collect_tuple(&element.data_type, is_last && at + 1 == elements.len(), input)?;
        }
        self.tuple.push(b')');
        Ok(())
    }
}

impl RowReader for CsvReader {
    type Column = ValueReader;

    fn fork(&self) -> Option<(RowEnds, Self)> {
        Some((RowEnds::LinesOutsideQuotes, self.clone()))
    }

    fn header(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<(), Stop> {
        if input.rest().starts_with(b"\xEF\xBB\xBF") {
            input.advance(3);
        }
        self.skip_first_lines(input)?;
        let types = rows.table.schema.types().enumerate();
        self.columns = types
            .map(|(position, data_type)| match data_type {
                DataType::Tuple(elements) if self.splits_tuples && !elements.is_empty() => {
                    CsvColumn::Tuple(position, data_type.clone())
                }
                _ => self.one_field(Some(position), rows),
            })
            .collect();
        if input.is_empty() && input.is_last() {
            return Ok(());
        }
        let start = input.position();
        let names = self.header_row(input)?;
        let (mut flat_names, mut flat_types) = (Vec::new(), Vec::new());
        for (name, data_type) in &rows.table.schema.fields {
            flatten(name, data_type, &mut flat_names, &mut flat_types);
        }
        if !self.header.has_names() {
            // A first line of nothing but the table's names is a header that the format's name does not tell of.
            let is_header = rows.width() > 0 && names.iter().all(|name| rows.table.schema.position(name).is_some());
            if !is_header && names != flat_names {
                input.seek(start);
                return Ok(());
            }
        }
        if names != flat_names || rows.table.schema.len() == flat_names.len() {
            let positions = rows.table.positions(&names)?.into_iter();
            self.columns = positions.map(|position| self.one_field(position, rows)).collect();
        }
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
            if self.variable_columns && Self::is_at_end_of_line(input)? {
                // What is missing at the end has its default.
                self.end_of_line(input)?;
                break;
            }
            let is_last = at + 1 == self.columns.len();
            match self.columns[at].clone() {
                CsvColumn::Field(position, trims) => {
                    let field = self.field(trims, input)?;
                    if let Some(position) = position {
                        self.read_field(position, &field, rows)?;
                    }
                }
                CsvColumn::Tuple(position, data_type) => {
                    rows.column(position)?;
                    self.tuple.clear();
                    if input.rest().starts_with(b"\"(") {
                        let field = self.field(self.trims, input)?;
                        self.tuple.extend_from_slice(&field.text);
                    } else {
                        self.collect_tuple(&data_type, true, input)?;
                    }
                    rows.column(position)?.read_whole(&self.tuple)?;
                }
            }
            if self.variable_columns && !is_last && Self::is_at_end_of_line(input)? {
                continue;
            }
            if !is_last {
                self.expect_delimiter(input)?;
                continue;
            }
            while self.variable_columns && input.peek()? == Some(self.delimiter) {
                input.advance(1);
                self.field(self.trims, input)?;
            }
            if !self.end_of_line(input)? {
                return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, "Expected end of line")));
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        loop {
            let Some(at) = memchr::memchr2(b'"', b'\n', input.rest()) else {
                if !input.is_last() {
                    return Err(Stop::Incomplete);
                }
                input.advance(input.rest().len());
                return Ok(());
            };
            input.advance(at);
            if input.eat(b'\n')? {
                return Ok(());
            }
            self.quoted_field(b'"', input)?;
        }
    }
}
