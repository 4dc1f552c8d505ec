//! How each format's rows tell types: the fields of a row with what they suggest, and what stands before the first row.

use squall_types::{DataType, Error, ErrorCode, Result};

use super::guess::{Guess, Mixing};
use super::json::JsonValues;
use super::text::{GuessOptions, Literals};
use crate::display::tabular::Header;
use crate::json::output::Shape;
use crate::json::rows::Frame;
use crate::text::csv::CsvReader;
use crate::text::scan::{Until, scan, skip_spaces};
use crate::text::tab_separated::TabSeparatedReader;
use crate::wire::{Cursor, Stop};

/// One value of a row.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Its column, where rows say that.
    pub name: Option<String>,
    /// Its text, where it may be a column's name.
    pub text: Option<String>,
    pub guess: Guess,
}

/// What stands before the first row.
#[derive(Default)]
pub(crate) struct Heading {
    pub names: Option<Vec<String>>,
    pub types: Option<Vec<DataType>>,
}

/// Reads rows for their types alone.
pub(crate) trait GuessRows {
    /// What stands before the first row.
    fn heading(&mut self, _input: &mut Cursor<'_>) -> Result<Heading, Stop> {
        Ok(Heading::default())
    }

    /// The next row; `None` at the end. After `Incomplete` it is read again from its start.
    fn row(&mut self, input: &mut Cursor<'_>) -> Result<Option<Vec<Cell>>, Stop>;

    /// Which values of different kinds one of its columns holds.
    fn mixing(&self) -> Mixing;

    /// Whether rows may have other numbers of values than the first.
    fn has_variable_columns(&self) -> bool {
        false
    }

    /// Whether a first row of nothing but strings may be the columns' names.
    fn may_have_header(&self) -> bool {
        false
    }
}

fn parse_types(types: &[String]) -> Result<Vec<DataType>> {
    types.iter().map(|text| DataType::parse(text)).collect()
}

fn expect(input: &mut Cursor<'_>, byte: u8) -> Result<(), Stop> {
    if input.eat(byte)? {
        return Ok(());
    }
    let message = format!("Cannot parse input: expected '{}'", char::from(byte));
    Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)))
}

fn skip_mark(input: &mut Cursor<'_>) {
    if input.rest().starts_with(b"\xEF\xBB\xBF") {
        input.advance(3);
    }
}

/// Fields between delimiters: CSV and TSV.
pub(crate) struct FieldRows {
    pub reader: Fields,
    pub header: Header,
    pub detects_header: bool,
    pub options: GuessOptions,
}

/// The readers of such fields.
pub(crate) enum Fields {
    Csv(CsvReader),
    TabSeparated(TabSeparatedReader),
}

impl FieldRows {
    fn names(&mut self, input: &mut Cursor<'_>) -> Result<Vec<String>, Stop> {
        match &mut self.reader {
            Fields::Csv(reader) => reader.header_row(input),
            Fields::TabSeparated(reader) => reader.header_row(input),
        }
    }
}

impl GuessRows for FieldRows {
    fn heading(&mut self, input: &mut Cursor<'_>) -> Result<Heading, Stop> {
        skip_mark(input);
        match &mut self.reader {
            Fields::Csv(reader) => reader.skip_first_lines(input)?,
            Fields::TabSeparated(reader) => reader.skip_first_lines(input)?,
        }
        let mut heading = Heading::default();
        if input.peek()?.is_none() {
            return Ok(heading);
        }
        if self.header.has_names() {
            heading.names = Some(self.names(input)?);
        }
        if self.header.has_types() {
            heading.types = Some(parse_types(&self.names(input)?)?);
        }
        Ok(heading)
    }

    fn row(&mut self, input: &mut Cursor<'_>) -> Result<Option<Vec<Cell>>, Stop> {
        if input.peek()?.is_none() {
            return Ok(None);
        }
        let options = &self.options;
        let mut cells = Vec::new();
        let mut see = |text: &[u8], guess: Guess| {
            let text = Some(String::from_utf8_lossy(text).into_owned());
            cells.push(Cell { name: None, text, guess });
        };
        match &mut self.reader {
            Fields::Csv(reader) => reader.each_field(input, &mut |text, is_quoted, is_null| {
                let guess = match is_quoted {
                    _ if is_null => Guess::null(),
                    true => options.quoted_field(text),
                    false if text.is_empty() => Guess::null(),
                    false => options.csv_field(text),
                };
                see(text, guess);
            })?,
            Fields::TabSeparated(reader) => reader.each_field(input, &mut |text, is_null| {
                see(text, if is_null { Guess::null() } else { options.escaped_field(text) });
            })?,
        }
        Ok(Some(cells))
    }

    fn mixing(&self) -> Mixing {
        Mixing::Text
    }

    fn has_variable_columns(&self) -> bool {
        match &self.reader {
            Fields::Csv(reader) => reader.variable_columns,
            Fields::TabSeparated(reader) => reader.variable_columns,
        }
    }

    fn may_have_header(&self) -> bool {
        self.detects_header && !self.header.has_names()
    }
}

/// Rows of TSKV.
pub(crate) struct TskvRows {
    pub reader: TabSeparatedReader,
    pub options: GuessOptions,
}

impl GuessRows for TskvRows {
    fn row(&mut self, input: &mut Cursor<'_>) -> Result<Option<Vec<Cell>>, Stop> {
        if input.peek()?.is_none() {
            return Ok(None);
        }
        let mut cells = Vec::new();
        self.reader.each_field(input, &mut |text, _| {
            if let Some(end) = memchr::memchr(b'=', text) {
                let (name, value) = text.split_at(end);
                let value = value.get(1..).unwrap_or_default();
                let guess = if value == b"\\N" { Guess::null() } else { self.options.escaped_field(value) };
                cells.push(Cell { name: Some(String::from_utf8_lossy(name).into_owned()), text: None, guess });
            }
        })?;
        Ok(Some(cells))
    }

    fn mixing(&self) -> Mixing {
        Mixing::Text
    }
}

/// Tuples of SQL literals.
pub(crate) struct ValuesRows {
    pub options: GuessOptions,
}

impl GuessRows for ValuesRows {
    fn row(&mut self, input: &mut Cursor<'_>) -> Result<Option<Vec<Cell>>, Stop> {
        skip_spaces(input);
        if input.peek()?.is_some() && input.eat(b',')? {
            skip_spaces(input);
        }
        if matches!(input.peek()?, None | Some(b';')) {
            return Ok(None);
        }
        let length = scan(input, Until::Close, b"'\"`")?;
        let text = input.rest().get(..length).unwrap_or_default();
        let mut literals = Literals { options: &self.options, text, at: 0, depth: 0 };
        let Some(items) = literals.row()? else {
            let message = format!("Cannot tell the types of the row {}", String::from_utf8_lossy(text));
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        };
        input.advance(length);
        Ok(Some(items.into_iter().map(|guess| Cell { name: None, text: None, guess }).collect()))
    }

    fn mixing(&self) -> Mixing {
        Mixing::Literals
    }
}

/// The JSON formats.
pub(crate) struct JsonRows {
    pub frame: Frame,
    pub shape: Shape,
    /// Values are strings that hold the text of values.
    pub is_strings: bool,
    pub header: Header,
    pub options: GuessOptions,
}

impl JsonRows {
    fn strings(&self, input: &mut Cursor<'_>) -> Result<Vec<String>, Stop> {
        skip_spaces(input);
        let length = scan(input, Until::Close, b"\"")?;
        let strings = JsonValues::new(&self.options, input.rest().get(..length).unwrap_or_default()).strings()?;
        input.advance(length);
        Ok(strings)
    }

    /// A document up to its rows, or up to what it says of its columns.
    fn document(&self, input: &mut Cursor<'_>) -> Result<Heading, Stop> {
        expect(input, b'{')?;
        loop {
            skip_spaces(input);
            let length = scan(input, Until::Separator, b"\"")?;
            let text = input.rest().get(..length).unwrap_or_default();
            let mut key = Vec::new();
            let read = squall_types::text::read_json_string(&mut key, text)?;
            input.advance(read);
            skip_spaces(input);
            expect(input, b':')?;
            skip_spaces(input);
            match key.as_slice() {
                b"data" => {
                    expect(input, b'[')?;
                    return Ok(Heading::default());
                }
                b"meta" => {
                    let length = scan(input, Until::Close, b"\"")?;
                    return Ok(of_metadata(input.rest().get(..length).unwrap_or_default())?);
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
}

/// The columns that a document describes.
fn of_metadata(text: &[u8]) -> Result<Heading> {
    let wrong = || Error::new(ErrorCode::INCORRECT_DATA, "Cannot parse JSON metadata");
    let columns: Vec<serde_json::Value> = serde_json::from_slice(text).map_err(|_| wrong())?;
    let all = |what: &str| -> Result<Vec<String>> {
        let texts = columns.iter().map(|column| column.get(what).and_then(serde_json::Value::as_str));
        texts.map(|text| text.map(str::to_owned).ok_or_else(wrong)).collect()
    };
    Ok(Heading { names: Some(all("name")?), types: Some(parse_types(&all("type")?)?) })
}

impl GuessRows for JsonRows {
    fn heading(&mut self, input: &mut Cursor<'_>) -> Result<Heading, Stop> {
        skip_mark(input);
        skip_spaces(input);
        let mut heading = Heading::default();
        if input.peek()?.is_none() {
            return Ok(heading);
        }
        match self.frame {
            Frame::Document => return self.document(input),
            Frame::Keys => {
                expect(input, b'{')?;
                return Ok(heading);
            }
            Frame::Rows => {}
        }
        if self.header.has_names() {
            heading.names = Some(self.strings(input)?);
            if self.header.has_types() {
                heading.types = Some(parse_types(&self.strings(input)?)?);
            }
        } else if self.shape == Shape::Objects {
            input.eat(b'[')?;
        }
        Ok(heading)
    }

    fn row(&mut self, input: &mut Cursor<'_>) -> Result<Option<Vec<Cell>>, Stop> {
        skip_spaces(input);
        while input.peek()?.is_some_and(|byte| matches!(byte, b',' | b';')) {
            input.advance(1);
            skip_spaces(input);
        }
        if matches!(input.peek()?, None | Some(b']' | b'}')) {
            return Ok(None);
        }
        if self.frame == Frame::Keys {
            // The key must be there as a whole before it is read.
            let length = scan(input, Until::Separator, b"\"")?;
            let mut key = Vec::new();
            let read = squall_types::text::read_json_string(&mut key, input.rest().get(..length).unwrap_or_default())?;
            input.advance(read);
            skip_spaces(input);
            expect(input, b':')?;
            skip_spaces(input);
        }
        let length = scan(input, Until::Close, b"\"")?;
        let mut values = JsonValues::new(&self.options, input.rest().get(..length).unwrap_or_default());
        let cell = |name: Option<String>, guess: Guess| Cell { name, text: None, guess };
        let cells = match (self.shape, self.is_strings) {
            (Shape::Objects, _) => values.object()?.into_iter().map(|(name, guess)| cell(Some(name), guess)).collect(),
            (Shape::Arrays, false) => values.array()?.into_iter().map(|guess| cell(None, guess)).collect(),
            (Shape::Arrays, true) => {
                values.strings()?.iter().map(|text| cell(None, self.options.field(text.as_bytes()))).collect()
            }
        };
        input.advance(length);
        Ok(Some(cells))
    }

    fn mixing(&self) -> Mixing {
        self.options.json_mixing
    }

    fn has_variable_columns(&self) -> bool {
        self.options.json_variable_columns
    }
}
