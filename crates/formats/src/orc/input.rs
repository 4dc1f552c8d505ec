//! The input. A file ends with what it says of itself, so it is held until it is whole; then it is read stripe by stripe, batch by batch.

use std::sync::Arc;

use arrow_array::{Array, ListArray, StructArray};
use squall_types::calendar::TimeZone;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Settings, TupleElement};

use super::column_reader::{ColumnReader, Reading};
use super::corrupted;
use super::tail::OrcFile;
use super::types::{Kind, OrcType};
use crate::input::{InputBlock, TableInput};
use crate::options::FormatOptions;
use crate::schema::finished;
use crate::whole_input::{WholeFormat, read_whole};

/// Rows that are read at once.
const BATCH_ROWS: usize = 8192;

/// The input format.
pub(crate) struct OrcInput {
    table: TableInput,
    settings: Arc<Settings>,
}

/// A file that is whole, and how far it was read.
pub(crate) struct Opened {
    file: OrcFile,
    reading: Reading,
    columns: Vec<Source>,
    next_stripe: usize,
    readers: Vec<(Source, ColumnReader)>,
    rows_left: usize,
}

/// A column of the file that fills some of the table's.
#[derive(Clone, Debug)]
struct Source {
    of: OrcType,
    target: Target,
}

#[derive(Clone, Debug)]
enum Target {
    /// The column of this name.
    Whole(Arc<str>, DataType),
    /// An array of tuples for the columns of a nested structure: the names of the elements with those of the columns.
    Nested(DataType, Vec<(Arc<str>, Arc<str>)>),
}

impl OrcInput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self { table: TableInput::new(schema, options), settings: options.settings.clone() }
    }
}

impl WholeFormat for OrcInput {
    const WHAT: &'static str = "An ORC file";
    type Opened = Opened;

    fn open(&self, bytes: Vec<u8>) -> Result<Opened> {
        let settings = &self.settings;
        let file = OrcFile::open(bytes.into())?;
        let reading = Reading {
            reader_zone: TimeZone::named(&settings.input_format_orc_reader_time_zone_name)?,
            null_as_default: settings.input_format_null_as_default,
            ignores_case: settings.input_format_orc_case_insensitive_column_matching,
        };
        let columns = sources(&file.root, &self.table.schema, &reading, settings)?;
        Ok(Opened { file, reading, columns, next_stripe: 0, readers: Vec::new(), rows_left: 0 })
    }

    fn next_block(&self, opened: &mut Opened) -> Result<Option<InputBlock>> {
        opened.next_block(&self.table)
    }
}

/// Where the columns of a table come from.
fn sources(root: &OrcType, table: &Schema, reading: &Reading, settings: &Settings) -> Result<Vec<Source>> {
    let find = |wanted: &str| {
        let exact = root.fields().find(|(name, _)| *name == wanted);
        exact.or_else(|| root.fields().find(|(name, _)| reading.is_name(name, wanted)))
    };
    let mut sources = Vec::new();
    let mut structures: Vec<&str> = Vec::new();
    for (name, data_type) in &table.fields {
        if let Some((_, of)) = find(name) {
            sources.push(Source { of: of.clone(), target: Target::Whole(name.clone(), data_type.clone()) });
            continue;
        }
        let structure = name.split_once('.').and_then(|(structure, element)| {
            let (_, of) = find(structure)?;
            let item = of.parts.first().filter(|_| of.kind == Kind::List)?;
            item.fields().find(|(found, _)| reading.is_name(found, element))?;
            Some((structure, of))
        });
        match structure {
            Some((structure, _)) if structures.contains(&structure) => {}
            Some((structure, of)) => {
                structures.push(structure);
                sources.push(Source { of: of.clone(), target: nested(structure, of, table, reading) });
            }
            None if settings.input_format_orc_allow_missing_columns => {}
            None => {
                let message = format!("Column '{name}' is not presented in input data");
                return Err(Error::new(ErrorCode::THERE_IS_NO_COLUMN, message));
            }
        }
    }
    Ok(sources)
}

/// The columns of a nested structure as the array of tuples that it is in the file; those that it has not are left out.
fn nested(structure: &str, of: &OrcType, table: &Schema, reading: &Reading) -> Target {
    let has = |element: &str| {
        let mut fields = of.parts.iter().flat_map(OrcType::fields);
        fields.any(|(found, _)| reading.is_name(found, element))
    };
    let mut elements = Vec::new();
    let mut names = Vec::new();
    for (name, data_type) in &table.fields {
        if let (Some((own, element)), DataType::Array(item)) = (name.split_once('.'), data_type)
            && own == structure
            && has(element)
        {
            let element: Arc<str> = element.into();
            elements.push(TupleElement { name: Some(element.clone()), data_type: (**item).clone() });
            names.push((element, name.clone()));
        }
    }
    Target::Nested(DataType::array(DataType::Tuple(elements.into())), names)
}

impl Opened {
    /// The next rows; `None` at the end.
    fn next_block(&mut self, table: &TableInput) -> Result<Option<InputBlock>> {
        while self.rows_left == 0 {
            if self.next_stripe == self.file.stripes() {
                return Ok(None);
            }
            let stripe = self.file.stripe(self.next_stripe)?;
            self.next_stripe += 1;
            self.rows_left = stripe.rows;
            let reading = &self.reading;
            let readers = self.columns.iter().map(|source| {
                let wanted = match &source.target {
                    Target::Whole(_, wanted) | Target::Nested(wanted, _) => wanted,
                };
                Ok((source.clone(), ColumnReader::new(&stripe, &source.of, Some(wanted), false, reading)?))
            });
            self.readers = readers.collect::<Result<_>>()?;
        }
        // Rows without columns are counted, not read.
        let rows = if table.schema.is_empty() { self.rows_left } else { self.rows_left.min(BATCH_ROWS) };
        self.rows_left -= rows;
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (source, reader) in &mut self.readers {
            let (data_type, array) = reader.read(rows, None).map_err(|error| match &source.target {
                Target::Whole(name, _) => error.context(format_args!("Column {name}")),
                Target::Nested(..) => error,
            })?;
            let column = Column::new(data_type, array);
            match &source.target {
                Target::Whole(name, _) => {
                    fields.push((name.clone(), column.data_type().clone()));
                    columns.push(column);
                }
                Target::Nested(_, names) => {
                    for (name, part) in parts(&column, names)? {
                        fields.push((name, part.data_type().clone()));
                        columns.push(part);
                    }
                }
            }
        }
        squall_types::checkpoint(rows)?;
        table.match_block(&Block::new(Arc::new(Schema { fields }), columns, rows)).map(Some)
    }
}

/// The elements of an array of tuples as arrays of their own.
fn parts(column: &Column, names: &[(Arc<str>, Arc<str>)]) -> Result<Vec<(Arc<str>, Column)>> {
    let broken = || Error::logical("a nested structure that is no array of tuples");
    let DataType::Array(item) = column.data_type() else { return Err(broken()) };
    let DataType::Tuple(elements) = item.inner() else { return Err(broken()) };
    let list = column.array().as_any().downcast_ref::<ListArray>().ok_or_else(broken)?;
    let tuple = list.values().as_any().downcast_ref::<StructArray>().ok_or_else(broken)?;
    let parts = elements.iter().zip(tuple.columns()).filter_map(|(element, values)| {
        let (_, name) = names.iter().find(|(own, _)| element.name.as_ref() == Some(own))?;
        let array =
            ListArray::try_new(element.data_type.arrow_list_item(), list.offsets().clone(), values.clone(), None);
        let part = |array| (name.clone(), Column::new(DataType::array(element.data_type.clone()), Arc::new(array)));
        Some(array.map(part).map_err(Error::from))
    });
    parts.collect()
}

/// The columns of a file.
///
/// # Errors
/// What is wrong with its end; `UNKNOWN_TYPE` for a column of a type that has no counterpart, unless such columns are left out.
pub(crate) fn infer(input: &mut dyn std::io::Read, options: &FormatOptions) -> Result<Schema> {
    let file = read_whole::<OrcInput>(input, options)?;
    let settings = &options.settings;
    let file = OrcFile::open(file.into())?;
    if !matches!(file.root.kind, Kind::Struct(_)) {
        return Err(corrupted("its root is no structure"));
    }
    let is_nullable = settings.schema_inference_make_columns_nullable != "0";
    // As ClickHouse does, the first stripe is asked for dictionaries.
    let stripe = settings.input_format_orc_dictionary_as_low_cardinality && file.stripes() > 0;
    let stripe = stripe.then(|| file.stripe(0)).transpose()?;
    let has_dictionary = |column: u32| {
        let encoding = stripe.as_ref().and_then(|stripe| stripe.encoding(column).ok());
        encoding.is_some_and(|encoding| encoding.dictionary.is_some())
    };
    let mut columns = Vec::new();
    for (name, of) in file.root.fields() {
        match of.data_type(is_nullable, &has_dictionary) {
            Ok(data_type) => columns.push((name.to_owned(), data_type)),
            Err(error)
                if error.code == ErrorCode::UNKNOWN_TYPE
                    && settings.input_format_orc_skip_columns_with_unsupported_types_in_schema_inference => {}
            Err(error) => return Err(error),
        }
    }
    finished(columns, options)
}
