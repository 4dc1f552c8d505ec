//! Reading JSONColumns, JSONCompactColumns and JSONColumnsWithMetadata: documents of whole columns, each of which is a block. A document is
//! read once all of the input is there.

use std::sync::Arc;

use squall_types::text::{TextOptions, ValueReader, json_value_length, read_json_string};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, checkpoint};

use crate::input::{InputBlock, Omitted, TableInput};
use crate::json::columns::Around;
use crate::options::FormatOptions;
use crate::schema::{Guess, GuessOptions, Nullability, finished, guesses_of_array};
use crate::whole_input::{WholeFormat, read_whole};

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, message)
}

/// A place in the text of documents.
struct Document<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Document<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<u8> {
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.rest().first().copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) {
            return Ok(());
        }
        let message = format!("Cannot parse input: expected '{}'", char::from(byte));
        Err(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message))
    }

    fn key(&mut self) -> Result<String> {
        self.next();
        let mut key = Vec::new();
        self.at += read_json_string(&mut key, self.rest())?;
        self.expect(b':')?;
        Ok(String::from_utf8_lossy(&key).into_owned())
    }

    /// The text of the value at hand, which is stepped over.
    fn value(&mut self) -> Result<&'a [u8]> {
        self.next();
        let value = self.rest();
        let length = json_value_length(value)?;
        self.at += length;
        Ok(value.get(..length).unwrap_or_default())
    }

    /// Gives each member of the object at hand to `see`, which steps over its value.
    fn members(&mut self, mut see: impl FnMut(&mut Self, String) -> Result<()>) -> Result<()> {
        self.expect(b'{')?;
        let mut is_first = true;
        while !self.eat(b'}') {
            if !is_first {
                self.expect(b',')?;
            }
            is_first = false;
            let key = self.key()?;
            see(self, key)?;
        }
        Ok(())
    }

    /// Gives each column of the document at hand to `see`, which steps over its values: by its name, or by its number.
    fn columns(&mut self, around: Around, see: &mut dyn FnMut(&mut Self, Name) -> Result<()>) -> Result<()> {
        match around {
            Around::Names => self.members(|document, name| see(document, Name::Text(name))),
            Around::Nothing => {
                self.expect(b'[')?;
                let mut at = 0;
                while !self.eat(b']') {
                    if at > 0 {
                        self.expect(b',')?;
                    }
                    see(self, Name::Number(at))?;
                    at += 1;
                }
                Ok(())
            }
            Around::Document => self.members(|document, key| match key.as_str() {
                "data" => document.columns(Around::Names, see),
                _ => document.value().map(drop),
            }),
        }
    }

    /// Whether there is one more document.
    fn has_more(&mut self) -> bool {
        while self.eat(b',') {}
        self.next().is_some()
    }
}

/// What a column is called.
enum Name {
    Text(String),
    Number(usize),
}

/// The input format.
pub(crate) struct JsonColumnsInput {
    table: TableInput,
    around: Around,
    text: TextOptions,
    skips_unknown: bool,
}

impl JsonColumnsInput {
    pub fn new(around: Around, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self {
            table: TableInput::new(schema, options),
            around,
            text: options.text(),
            skips_unknown: options.settings.input_format_skip_unknown_fields,
        }
    }

    fn read(&self, document: &mut Document<'_>) -> Result<InputBlock> {
        let schema = &self.table.schema;
        let mut found: Vec<Option<Column>> = vec![None; schema.len()];
        let mut rows = None;
        document.columns(self.around, &mut |document, name| {
            let position = match name {
                Name::Text(name) => match self.table.schema.position(&name) {
                    None if !self.skips_unknown => {
                        return Err(bad(format!("Unknown column found in input data: {name}")));
                    }
                    position => position,
                },
                Name::Number(at) if at < schema.len() => Some(at),
                Name::Number(_) => {
                    let message = format!("Input data has too many columns, expected {} columns", schema.len());
                    return Err(bad(message));
                }
            };
            let Some((place, (_, data_type))) = position.and_then(|at| found.get_mut(at).zip(schema.fields.get(at)))
            else {
                return document.value().map(drop);
            };
            let column = self.column(data_type, document)?;
            let expected = *rows.get_or_insert(column.rows());
            if expected != column.rows() {
                let message = format!("Number of rows differs in different columns: {expected} != {}", column.rows());
                return Err(bad(message));
            }
            *place = Some(column);
            Ok(())
        })?;
        let rows = rows.unwrap_or(0);
        let (mut columns, mut omitted) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
        for (data_type, column) in schema.types().zip(found) {
            omitted.push(if column.is_some() { Omitted::None } else { Omitted::All });
            columns.push(match column {
                Some(column) => column,
                None => Column::default_values(data_type.clone(), rows)?.materialize()?,
            });
        }
        Ok(InputBlock { block: Block::new(schema.clone(), columns, rows), omitted })
    }

    fn column(&self, data_type: &DataType, document: &mut Document<'_>) -> Result<Column> {
        let mut reader = ValueReader::new(data_type, &self.text)?;
        document.expect(b'[')?;
        while !document.eat(b']') {
            if reader.rows() > 0 {
                document.expect(b',')?;
            }
            document.next();
            let read = reader.read_json(document.rest())?;
            checkpoint(16 + read)?;
            document.at += read;
        }
        reader.finish()
    }
}

/// Documents, and where the next one begins.
pub(crate) struct Documents {
    text: Vec<u8>,
    at: usize,
}

impl WholeFormat for JsonColumnsInput {
    const WHAT: &'static str = "A document";
    type Opened = Documents;

    fn open(&self, bytes: Vec<u8>) -> Result<Documents> {
        Ok(Documents { text: bytes, at: 0 })
    }

    fn next_block(&self, documents: &mut Documents) -> Result<Option<InputBlock>> {
        let mut document = Document { text: &documents.text, at: documents.at };
        let block = if document.has_more() { Some(self.read(&mut document)?) } else { None };
        documents.at = document.at;
        Ok(block)
    }
}

/// The columns of the first document: by its metadata, or by the values.
///
/// # Errors
/// What is wrong with it; `TYPE_MISMATCH` where no type holds a column's values.
pub(crate) fn infer(around: Around, input: &mut dyn std::io::Read, options: &FormatOptions) -> Result<Schema> {
    let bytes = read_whole::<JsonColumnsInput>(input, options)?;
    let mut document = Document { text: &bytes, at: 0 };
    if !document.has_more() {
        return Err(Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, "The data are empty"));
    }
    if around == Around::Document {
        return finished(of_metadata(&mut document)?, options);
    }
    let guesses = GuessOptions::new(options);
    let nullability = Nullability::of_setting(&options.settings.schema_inference_make_columns_nullable);
    let mut columns = Vec::new();
    document.columns(around, &mut |document, name| {
        let name = match name {
            Name::Text(name) => name,
            Name::Number(at) => format!("c{}", at + 1),
        };
        let guess: Option<Guess> = guesses_of_array(document.value()?, &guesses)?;
        let guess = guess.ok_or_else(|| {
            let message = format!("The values of column '{name}' have no common type");
            Error::new(ErrorCode::TYPE_MISMATCH, message)
        })?;
        columns.push((name, guess.data_type(nullability)));
        Ok(())
    })?;
    finished(columns, options)
}

/// The names and types that a document tells.
fn of_metadata(document: &mut Document<'_>) -> Result<Vec<(String, DataType)>> {
    let mut columns = Vec::new();
    document.members(|document, key| {
        if key != "meta" {
            return document.value().map(drop);
        }
        document.expect(b'[')?;
        while !document.eat(b']') {
            if !columns.is_empty() {
                document.expect(b',')?;
            }
            let (mut name, mut data_type) = (String::new(), String::new());
            document.members(|document, key| {
                document.next();
                let mut text = Vec::new();
                document.at += read_json_string(&mut text, document.rest())?;
                let place = if key == "name" { &mut name } else { &mut data_type };
                *place = String::from_utf8_lossy(&text).into_owned();
                Ok(())
            })?;
            columns.push((name, DataType::parse(&data_type)?));
        }
        Ok(())
    })?;
    Ok(columns)
}
