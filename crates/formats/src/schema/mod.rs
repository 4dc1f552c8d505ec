//! Schema inference: the columns of data of which nobody has said what they are, by ClickHouse's rules. Formats that name their types are
//! believed; of the others some thousand rows are looked at.

mod guess;
mod json;
mod rows;
mod ruled;
mod text;

use std::io::Read;
use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Schema, checkpoint, grow};

pub(crate) use guess::{Guess, Nullability};
pub(crate) use json::guesses_of_array;
pub(crate) use rows::{Cell, FieldRows, Fields, GuessRows, JsonRows, TskvRows, ValuesRows};
pub(crate) use ruled::{CustomRows, RegexpRows};
pub(crate) use text::GuessOptions;

use crate::options::FormatOptions;
use crate::wire::{Cursor, Stop};

/// Bytes that are read at once, at least.
const READ_BYTES: usize = 64 << 10;
/// The most columns of an inferred schema.
const COLUMNS_MAX: usize = 100_000;

/// The error of inferring a schema; one that has nothing to do with the data stays as it is.
pub fn cannot_extract(format: &str, error: Error) -> Error {
    let is_of_query = [
        ErrorCode::QUERY_WAS_CANCELLED,
        ErrorCode::TIMEOUT_EXCEEDED,
        ErrorCode::MEMORY_LIMIT_EXCEEDED,
        ErrorCode::LOGICAL_ERROR,
    ]
    .contains(&error.code);
    if is_of_query {
        return error;
    }
    let message = format!(
        "The table structure cannot be extracted from a {format} format file. Error: {} ({}). You can specify the structure manually",
        error.message,
        error.code.name()
    );
    Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, message)
}

/// Bytes of which more are read as they are needed.
pub(crate) struct Feed<'a> {
    input: &'a mut dyn Read,
    bytes: Vec<u8>,
    at: usize,
    is_last: bool,
    bytes_max: usize,
}

impl<'a> Feed<'a> {
    pub fn new(input: &'a mut dyn Read, bytes_max: usize) -> Self {
        Self { input, bytes: Vec::new(), at: 0, is_last: false, bytes_max }
    }

    /// Reads something that may need more than is there.
    pub fn read<T>(&mut self, mut read: impl FnMut(&mut Cursor<'_>) -> Result<T, Stop>) -> Result<T> {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let mut cursor = if self.is_last { Cursor::complete(rest) } else { Cursor::new(rest) };
            match read(&mut cursor) {
                Ok(value) => {
                    checkpoint(cursor.position() * 4)?;
                    self.at += cursor.position();
                    return Ok(value);
                }
                Err(Stop::Incomplete) if !self.is_last => self.more()?,
                Err(stop) => return Err(stop.into_error()),
            }
        }
    }

    fn more(&mut self) -> Result<()> {
        self.bytes.drain(..self.at);
        self.at = 0;
        let wanted = self.bytes.len().max(READ_BYTES);
        if self.bytes.len() + wanted > self.bytes_max.max(READ_BYTES) {
            let message = format!("A row is longer than {} bytes", self.bytes_max);
            return Err(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
        }
        grow(&mut self.bytes, wanted)?;
        let mut limited = Read::take(&mut *self.input, wanted as u64);
        let read = limited.read_to_end(&mut self.bytes).map_err(|error| read_error(&error))?;
        self.is_last = read < wanted;
        Ok(())
    }
}

/// An error of reading, as the one that it carries.
pub(crate) fn read_error(error: &std::io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => error.clone(),
        None => Error::new(ErrorCode::CANNOT_READ_ALL_DATA, format!("Cannot read: {error}")),
    }
}

/// A column of which some values were seen.
struct Column {
    name: String,
    guess: Guess,
}

/// The schema of rows.
pub(crate) fn of_rows(rows: &mut dyn GuessRows, input: &mut dyn Read, options: &FormatOptions) -> Result<Schema> {
    let settings = &options.settings;
    let size = |setting: u64| usize::try_from(setting).unwrap_or(usize::MAX);
    let mut feed = Feed::new(input, options.pending_bytes_max);
    let heading = feed.read(|input| rows.heading(input))?;
    if let (Some(names), Some(types)) = (&heading.names, heading.types) {
        if names.len() != types.len() {
            let message = format!("The header has {} names and {} types", names.len(), types.len());
            return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
        }
        return finished(names.iter().cloned().zip(types), options);
    }
    let has_names = heading.names.is_some();
    let mut is_named = has_names;
    let mut columns: Vec<Column> = Vec::new();
    let unknown = |name: String| Column { name, guess: guess::Kind::Unknown.into() };
    columns.extend(heading.names.into_iter().flatten().map(unknown));
    let mut first: Option<Vec<Cell>> = None;
    let (mut rows_read, mut bytes_read) = (0u64, 0usize);
    let bytes_max = size(settings.input_format_max_bytes_to_read_for_schema_inference);
    while rows_read < settings.input_format_max_rows_to_read_for_schema_inference.max(1) && bytes_read < bytes_max {
        let mut taken = 0;
        let row = feed.read(|input| {
            let row = rows.row(input)?;
            taken = input.position();
            Ok(row)
        })?;
        let Some(cells) = row else { break };
        rows_read += 1;
        bytes_read += taken;
        let is_of_strings = || cells.iter().all(|cell| cell.guess.kind == guess::Kind::String);
        if rows_read == 1 && rows.may_have_header() && !cells.is_empty() && is_of_strings() {
            first = Some(cells);
            continue;
        }
        is_named |= cells.iter().any(|cell| cell.name.is_some());
        check_length(&columns, &cells, rows, rows_read)?;
        add_row(&mut columns, cells, has_names, rows.mixing(), rows_read)?;
    }
    if let Some(first) = first {
        let is_other = |column: &Column| !matches!(column.guess.kind, guess::Kind::String | guess::Kind::Unknown);
        if columns.len() == first.len() && columns.iter().any(is_other) {
            is_named = true;
            for (column, cell) in columns.iter_mut().zip(first) {
                column.name = cell.text.unwrap_or_default();
            }
        } else {
            check_length(&columns, &first, rows, 1)?;
            add_row(&mut columns, first, has_names, rows.mixing(), 1)?;
        }
    }
    if rows_read == 0 && columns.is_empty() {
        return Err(Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, "The data are empty"));
    }
    let is_unknown = |column: &&Column| !column.guess.is_known();
    if rows.mixing() == guess::Mixing::Literals
        && let Some(column) = columns.iter().find(is_unknown)
    {
        let message = format!(
            "Cannot determine type for column '{}' by first {rows_read} rows of data, most likely this column contains only Nulls or empty Arrays/Maps",
            column.name
        );
        return Err(Error::new(ErrorCode::ONLY_NULLS_WHILE_READING_SCHEMA, message));
    }
    if !is_named {
        let names = settings.column_names_for_schema_inference.split(',').map(str::trim);
        for (column, name) in columns.iter_mut().zip(names.filter(|name| !name.is_empty())) {
            column.name = name.to_owned();
        }
    }
    let nullability = Nullability::of_setting(&settings.schema_inference_make_columns_nullable);
    let mixing = rows.mixing();
    let typed = columns.into_iter().map(|column| {
        // An array of nothing but empty arrays is a text like any other.
        let is_text = mixing == guess::Mixing::Text && !column.guess.is_known();
        let guess = if is_text { Guess { kind: guess::Kind::String, ..column.guess } } else { column.guess };
        (column.name, guess.data_type(nullability))
    });
    finished(typed, options)
}

/// Checks that a row has as many values as there are columns, each with a name of its own.
fn check_length(columns: &[Column], cells: &[Cell], rows: &dyn GuessRows, row: u64) -> Result<()> {
    let is_positional = cells.first().is_some_and(|cell| cell.name.is_none());
    let may_vary = columns.is_empty() || rows.has_variable_columns();
    if is_positional && !may_vary && cells.len() != columns.len() {
        let message =
            format!("Rows have different amount of values: {} and, in row {row}, {}", columns.len(), cells.len());
        return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
    }
    let mut names = std::collections::HashSet::new();
    match cells.iter().filter_map(|cell| cell.name.as_ref()).find(|name| !names.insert(*name)) {
        Some(name) => {
            let message = format!("Duplicate column name found while schema inference: \"{name}\"");
            Err(Error::new(ErrorCode::INCORRECT_DATA, message))
        }
        None => Ok(()),
    }
}

/// Takes a row into account.
fn add_row(
    columns: &mut Vec<Column>,
    cells: Vec<Cell>,
    has_names: bool,
    mixing: guess::Mixing,
    row: u64,
) -> Result<()> {
    let before = columns.len();
    for (at, cell) in cells.into_iter().enumerate() {
        let place = match &cell.name {
            // Rows mostly have the columns of the row before, in the same order.
            Some(name) if columns.get(at).is_some_and(|column| column.name == *name) => Some(at),
            Some(name) => columns.iter().position(|column| column.name == *name),
            // What stands behind the last column of a header belongs to none.
            None if has_names && at >= before => continue,
            None => (at < before).then_some(at),
        };
        let Some(column) = place.and_then(|place| columns.get_mut(place)) else {
            if columns.len() >= COLUMNS_MAX {
                let message = format!("More than {COLUMNS_MAX} columns");
                return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
            }
            let name = cell.name.unwrap_or_else(|| format!("c{}", at + 1));
            columns.push(Column { name, guess: cell.guess });
            continue;
        };
        let known = column.guess.clone();
        column.guess = known.clone().join(cell.guess.clone(), mixing).ok_or_else(|| {
            let name = &column.name;
            let message = format!(
                "Automatically defined type {} for column '{name}' in row {row} differs from type defined by previous rows: {}. \
                 You can specify the type for this column using setting schema_inference_hints",
                cell.guess.data_type(Nullability::Never),
                known.data_type(Nullability::Never),
            );
            Error::new(ErrorCode::TYPE_MISMATCH, message)
        })?;
    }
    Ok(())
}

/// The schema of these columns, with those of `schema_inference_hints` as the hints have them.
pub(crate) fn finished(
    columns: impl IntoIterator<Item = (String, DataType)>,
    options: &FormatOptions,
) -> Result<Schema> {
    let mut schema = Schema::new(columns.into_iter().map(|(name, data_type)| (Arc::from(name), data_type)));
    let hints = options.settings.schema_inference_hints.trim();
    if !hints.is_empty() {
        for (name, data_type) in Schema::parse(hints)?.fields {
            if let Some((_, place)) = schema.fields.iter_mut().find(|(known, _)| *known == name) {
                *place = data_type;
            }
        }
    }
    let mut names: Vec<&str> = schema.names().collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        let message = format!("Duplicate column name found while schema inference: \"{}\"", twice[0]);
        return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
    }
    Ok(schema)
}
