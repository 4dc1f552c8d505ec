//! Reads the JSON formats: documents with their rows under `data`, and rows one after the other, as objects or as arrays.

use squall_types::text::{JsonRules, ValueReader, json_value_length, read_json_string};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::display::pretty::NULL_TEXT;
use crate::display::tabular::Header;
use crate::input::{RowReader, Rows};
use crate::json::output::Shape;
use crate::options::FormatOptions;
use crate::split::RowEnds;
use crate::text::scan::{Until, scan, skip_spaces};
use crate::wire::{Cursor, Stop};

/// What stands around the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// Nothing, or one array.
    Rows,
    /// A document that has them under `data`.
    Document,
    /// An object that has each under a key.
    Keys,
}

/// Reads rows.
#[derive(Clone, Debug)]
pub(crate) struct JsonReader {
    frame: Frame,
    shape: Shape,
    /// Values are strings that hold the text of values.
    is_strings: bool,
    header: Header,
    /// The table's column of each field, for arrays; of the field that an object is likely to have at this place, for objects.
    columns: Vec<Option<usize>>,
    is_ended: bool,
    /// Whether rows can be read before it is known where they end: the table's types bound how deep that goes.
    reads_at_once: bool,
    /// Whether a row may have fewer or more values than there are columns.
    variable_columns: bool,
    /// Whether an object under a key `n` has values of the columns `n.a`, `n.b`, ….
    imports_nested: bool,
    /// Whether a string takes a value of any kind as its text.
    all_as_strings: bool,
    /// The column that the rows' keys go to.
    key_column: String,
    scratch: Vec<u8>,
}

impl JsonReader {
    pub fn new(frame: Frame, shape: Shape, is_strings: bool, header: Header, options: &FormatOptions) -> Self {
        Self {
            frame,
            shape,
            is_strings,
            header,
            columns: Vec::new(),
            is_ended: false,
            reads_at_once: false,
            variable_columns: options.settings.input_format_json_compact_allow_variable_number_of_columns,
            imports_nested: options.settings.input_format_import_nested_json,
            all_as_strings: JsonRules::of(&options.settings).all_as_strings(),
            key_column: options.settings.format_json_object_each_row_column_for_object_name.clone(),
            scratch: Vec::new(),
        }
    }

    /// The string at the cursor.
    fn string(&mut self, input: &mut Cursor<'_>) -> Result<String> {
        self.scratch.clear();
        let read = read_json_string(&mut self.scratch, input.rest())?;
        input.advance(read);
        Ok(String::from_utf8_lossy(&self.scratch).into_owned())
    }

    /// An array of strings.
    fn strings(&mut self, input: &mut Cursor<'_>) -> Result<Vec<String>, Stop> {
        let length = scan(input, Until::Close, b"\"")?;
        let mut items = Cursor::complete(input.rest().get(..length).unwrap_or_default());
        expect(&mut items, b'[')?;
        let mut strings = Vec::new();
        skip_spaces(&mut items);
        while !items.eat(b']')? {
            strings.push(self.string(&mut items)?);
            skip_spaces(&mut items);
            if !items.eat(b',')? {
                expect(&mut items, b']')?;
                break;
            }
            skip_spaces(&mut items);
        }
        input.advance(length);
        Ok(strings)
    }

    /// Reads a key and the colon after it.
    fn key_and_colon(&mut self, input: &mut Cursor<'_>) -> Result<String, Stop> {
        // It must be there as a whole before it is read.
        let length = scan(input, Until::Separator, b"\"")?;
        let mut name = Cursor::complete(input.rest().get(..length).unwrap_or_default());
        let key = self.string(&mut name)?;
        input.advance(name.position());
        skip_spaces(input);
        expect(input, b':')?;
        skip_spaces(input);
        Ok(key)
    }

    /// Reads up to the array of rows of a document, and what it tells of the columns.
    fn open_document(&mut self, input: &mut Cursor<'_>, rows: &Rows<ValueReader>) -> Result<(), Stop> {
        skip_spaces(input);
        expect(input, b'{')?;
        loop {
            skip_spaces(input);
            let key = self.key_and_colon(input)?;
            match key.as_str() {
                "data" => return expect(input, b'['),
                "meta" => {
                    let length = scan(input, Until::Close, b"\"")?;
                    let meta = input.rest().get(..length).unwrap_or_default();
                    let names = column_names(meta)?;
                    if self.shape == Shape::Arrays {
                        self.columns = rows.table.positions(&names)?;
                    }
                    input.advance(length);
                }
                _ => {
                    let length = scan(input, Until::Separator, b"\"")?;
                    input.advance(length);
                }
            }
            skip_spaces(input);
            expect(input, b',')?;
        }
    }

    /// Reads a row, of which nothing is missing, and notes where it stands.
    fn read_row(
        &mut self,
        row: &mut Cursor<'_>,
        rows: &mut Rows<ValueReader>,
        position_of: &mut usize,
    ) -> Result<(), Stop> {
        match self.shape {
            Shape::Objects => self.read_object(row, rows, position_of),
            Shape::Arrays => self.read_array(row, rows, position_of),
        }
    }

    fn read_object(
        &mut self,
        input: &mut Cursor<'_>,
        rows: &mut Rows<ValueReader>,
        position_of: &mut usize,
    ) -> Result<(), Stop> {
        expect(input, b'{')?;
        skip_spaces(input);
        if input.eat(b'}')? {
            return Ok(());
        }
        let mut at = 0;
        loop {
            skip_spaces(input);
            *position_of = input.position();
            let key = self.key(at, input, rows)?;
            at += 1;
            skip_spaces(input);
            expect(input, b':')?;
            skip_spaces(input);
            *position_of = input.position();
            match key {
                Key::Column(position) => self.read_value(position, input, rows)?,
                Key::Nested(name) => self.read_nested(&name, input, rows, position_of)?,
            }
            skip_spaces(input);
            *position_of = input.position();
            if !input.eat(b',')? {
                expect(input, b'}')?;
                return Ok(());
            }
        }
    }

    /// Reads an object whose members are columns that have its key before their names.
    fn read_nested(
        &mut self,
        name: &str,
        input: &mut Cursor<'_>,
        rows: &mut Rows<ValueReader>,
        position_of: &mut usize,
    ) -> Result<(), Stop> {
        expect(input, b'{')?;
        skip_spaces(input);
        if input.eat(b'}')? {
            return Ok(());
        }
        loop {
            skip_spaces(input);
            *position_of = input.position();
            let position = rows.table.position(&format!("{name}.{}", self.string(input)?))?;
            skip_spaces(input);
            expect(input, b':')?;
            skip_spaces(input);
            *position_of = input.position();
            self.read_value(position, input, rows)?;
            skip_spaces(input);
            if !input.eat(b',')? {
                return expect(input, b'}');
            }
        }
    }

    /// Reads a key and finds its column; rows mostly have the keys of the row before, in the same order.
    fn key(&mut self, at: usize, input: &mut Cursor<'_>, rows: &Rows<ValueReader>) -> Result<Key, Stop> {
        if let Some(Some(position)) = self.columns.get(at)
            && let Some((name, _)) = rows.table.schema.fields.get(*position)
            && let Some(rest) = input.rest().strip_prefix(b"\"").and_then(|rest| rest.strip_prefix(name.as_bytes()))
            && rest.starts_with(b"\"")
        {
            input.advance(name.len() + 2);
            return Ok(Key::Column(Some(*position)));
        }
        let name = self.string(input)?;
        if self.imports_nested {
            let is_part = |column: &str| column.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'));
            let names = || rows.table.schema.fields.iter().map(|(column, _)| &**column);
            if !names().any(|column| column == name) && names().any(is_part) {
                return Ok(Key::Nested(name));
            }
        }
        let position = rows.table.position(&name)?;
        if self.columns.len() <= at {
            self.columns.resize(at + 1, None);
        }
        if let Some(guess) = self.columns.get_mut(at) {
            *guess = position;
        }
        if position.is_some_and(|position| rows.is_filled(position)) {
            let message = format!("Duplicate field found while parsing JSONEachRow format: {name}");
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        }
        Ok(Key::Column(position))
    }

    fn read_array(
        &mut self,
        input: &mut Cursor<'_>,
        rows: &mut Rows<ValueReader>,
        position_of: &mut usize,
    ) -> Result<(), Stop> {
        expect(input, b'[')?;
        for at in 0..self.columns.len() {
            skip_spaces(input);
            *position_of = input.position();
            if self.variable_columns && input.peek()? == Some(b']') {
                break;
            }
            if at > 0 {
                expect(input, b',')?;
                skip_spaces(input);
            }
            *position_of = input.position();
            self.read_value(self.columns.get(at).copied().flatten(), input, rows)?;
        }
        skip_spaces(input);
        while self.variable_columns && input.eat(b',')? {
            skip_spaces(input);
            self.read_value(None, input, rows)?;
            skip_spaces(input);
        }
        *position_of = input.position();
        expect(input, b']')
    }

    fn read_value(
        &mut self,
        position: Option<usize>,
        input: &mut Cursor<'_>,
        rows: &mut Rows<ValueReader>,
    ) -> Result<(), Stop> {
        let Some(position) = position else {
            input.advance(json_value_length(input.rest())?);
            return Ok(());
        };
        if rows.is_filled(position) {
            let message = "Duplicate field found in a row of JSON";
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        }
        let null_as_default = rows.table.null_as_default;
        let reader = rows.column(position)?;
        let rest = input.rest();
        if rest.starts_with(b"null") {
            input.advance(4);
            if reader.data_type().is_nullable() {
                reader.append_default();
            } else if null_as_default {
                rows.omit(position)?;
            } else if reader.data_type().is_number() {
                // To a number, null is a zero.
                reader.append_default();
            } else {
                let message = format!("Cannot insert NULL into a column of type {}", reader.data_type());
                return Err(Stop::Bad(Error::new(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, message)));
            }
            return Ok(());
        }
        if self.is_strings {
            self.scratch.clear();
            let read = read_json_string(&mut self.scratch, rest)?;
            input.advance(read);
            let is_null = self.scratch == NULL_TEXT.as_bytes() || self.scratch.eq_ignore_ascii_case(b"null");
            if is_null && reader.data_type().is_nullable() {
                reader.append_default();
            } else if is_null && null_as_default {
                rows.omit(position)?;
            } else {
                reader.read_whole(&self.scratch)?;
            }
            return Ok(());
        }
        if self.all_as_strings && !rest.starts_with(b"\"") && *reader.data_type().inner() == DataType::String {
            // Anything that is no string is taken as its own text.
            let length = scan(input, Until::Separator, b"\"")?;
            reader.read_whole(rest.get(..length).unwrap_or_default().trim_ascii_end())?;
            input.advance(length);
            return Ok(());
        }
        let read = reader.read_json(rest)?;
        input.advance(read);
        Ok(())
    }
}

/// What a key of an object is.
enum Key {
    /// A column; `None` for one that is passed over.
    Column(Option<usize>),
    /// What the names of several columns begin with.
    Nested(String),
}

/// The names of the columns under `meta`.
fn column_names(meta: &[u8]) -> Result<Vec<String>> {
    let incorrect =
        |message: String| Error::new(ErrorCode::INCORRECT_DATA, format!("Cannot parse JSON metadata: {message}"));
    let columns: Vec<serde_json::Value> = serde_json::from_slice(meta).map_err(|error| incorrect(error.to_string()))?;
    let names = columns.iter().map(|column| column.get("name").and_then(serde_json::Value::as_str).map(str::to_owned));
    names.map(|name| name.ok_or_else(|| incorrect("a column without a name".to_owned()))).collect()
}

fn expect(input: &mut Cursor<'_>, byte: u8) -> Result<(), Stop> {
    if input.eat(byte)? {
        return Ok(());
    }
    let message = format!("Cannot parse input: expected '{}'", char::from(byte));
    Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)))
}

impl RowReader for JsonReader {
    type Column = ValueReader;

    fn fork(&self) -> Option<(RowEnds, Self)> {
        let ends = match self.shape {
            Shape::Objects => RowEnds::Brackets(b'{', b'}'),
            Shape::Arrays => RowEnds::Brackets(b'[', b']'),
        };
        Some((ends, self.clone()))
    }

    fn is_open(&self) -> bool {
        !self.is_ended
    }

    fn header(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<(), Stop> {
        self.columns = (0..rows.width()).map(Some).collect();
        // With a key before a row, its column has a value already.
        self.reads_at_once = self.frame != Frame::Keys && !rows.table.schema.types().any(DataType::has_alternatives);
        if input.rest().starts_with(b"\xEF\xBB\xBF") {
            input.advance(3);
        }
        skip_spaces(input);
        if input.peek()?.is_none() {
            return Ok(());
        }
        match self.frame {
            Frame::Document => return self.open_document(input, rows),
            Frame::Keys => return expect(input, b'{'),
            Frame::Rows => {}
        }
        if self.header.has_names() {
            let names = self.strings(input)?;
            self.columns = rows.table.positions(&names)?;
            skip_spaces(input);
            if self.header.has_types() {
                let types = self.strings(input)?;
                rows.table.check_types(&names, &types)?;
            }
        } else if self.shape == Shape::Objects {
            input.eat(b'[')?;
        }
        Ok(())
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        if self.is_ended {
            input.advance(input.rest().len());
            return Ok(false);
        }
        skip_spaces(input);
        while input.peek()?.is_some_and(|byte| matches!(byte, b',' | b';')) {
            input.advance(1);
            skip_spaces(input);
        }
        let key = if self.frame == Frame::Keys && input.peek()? == Some(b'"') {
            Some(self.key_and_colon(input)?)
        } else {
            None
        };
        let open = if self.shape == Shape::Objects { b'{' } else { b'[' };
        match input.peek()? {
            None => return Ok(false),
            Some(b']' | b'}') => {
                self.is_ended = true;
                input.advance(1);
                return Ok(false);
            }
            Some(byte) if byte == open => {}
            Some(_) => expect(input, open)?,
        }
        let start = input.position();
        if let Some(key) = key {
            let position = rows.table.schema.position(&self.key_column).filter(|_| !self.key_column.is_empty());
            if let Some(position) = position {
                rows.column(position)?.read_whole(key.as_bytes())?;
            }
        }
        let mut position = 0;
        if self.reads_at_once {
            let mut row = Cursor::complete(input.rest());
            if self.read_row(&mut row, rows, &mut position).is_ok() {
                input.seek(start + row.position());
                return Ok(true);
            }
            // It may be that more has to come.
            rows.take_back_row();
        }
        let length = scan(input, Until::Close, b"\"")?;
        let mut row = Cursor::complete(input.rest().get(..length).unwrap_or_default());
        match self.read_row(&mut row, rows, &mut position) {
            Ok(()) => {
                input.seek(start + length);
                Ok(true)
            }
            Err(stop) => {
                // The row is complete, so what is missing in it does not come later.
                input.seek(start + position);
                Err(Stop::Bad(stop.into_error()))
            }
        }
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        skip_spaces(input);
        while input.peek()?.is_some_and(|byte| !matches!(byte, b'{' | b'[')) {
            input.advance(1);
        }
        let length = scan(input, Until::Close, b"\"")?;
        input.advance(length);
        Ok(())
    }
}
