//! A Parquet file that is read by place: its table of contents first, then the columns that are wanted of one row group at a time, each in
//! its own time and by whoever wants to.

use std::io::Read;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use squall_types::{Block, DataType, Result, Schema};

use super::dictionaries::Dictionaries;
use super::input::{Contents, ParquetInput, block_of, type_of, without_panic};
use super::pages::RowGroup;
use super::ranges::Ranges;
use super::{arrow_error, corrupted, footer, parquet_error};
use crate::input::{InputBlock, TableInput};
use crate::options::FormatOptions;
use crate::schema::{Nullability, finished};
use crate::whole_input::read_whole;

/// Bytes at the end of a file that are read at first: mostly all that says what is in it.
const TAIL_BYTES: u64 = 64 << 10;
/// Values that are decoded at once: about a millisecond's work.
const BATCH_VALUES: usize = 1 << 18;
/// Rows of a batch at least, however many columns there are.
const BATCH_ROWS_MIN: usize = 1_024;

/// Something whose bytes are read by their place.
pub trait ReadAt: Send + Sync {
    /// How many there are.
    fn length(&self) -> u64;

    /// `length` bytes from `offset` on.
    ///
    /// # Errors
    /// Where they cannot be read.
    fn read_at(&self, offset: u64, length: usize) -> Result<Bytes>;
}

impl ReadAt for Bytes {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, length: usize) -> Result<Bytes> {
        let from = usize::try_from(offset).ok().filter(|from| from.saturating_add(length) <= self.len());
        from.map(|from| self.slice(from..from + length)).ok_or_else(|| corrupted("a part of it lies outside of it"))
    }
}

/// What a file says of itself.
#[derive(Clone, Debug)]
pub struct ParquetFile {
    contents: Arc<Contents>,
    length: u64,
}

impl ParquetFile {
    /// Reads the table of contents.
    ///
    /// # Errors
    /// `INCORRECT_DATA` where it is no Parquet file; those of reading.
    pub fn open(source: &dyn ReadAt) -> Result<Self> {
        let length = source.length();
        let tail_length = length.min(TAIL_BYTES);
        let mut tail = source.read_at(length - tail_length, tail_length as usize)?;
        let wanted = footer::length(&tail)?;
        if wanted > length {
            return Err(corrupted("its metadata are longer than the file"));
        }
        if wanted > tail_length {
            let size = usize::try_from(wanted).map_err(|_| corrupted("its metadata are too long"))?;
            squall_types::reserve(size)?;
            tail = source.read_at(length - wanted, size)?;
        }
        footer::check(&tail)?;
        let ranges = Ranges::new(length, vec![(length - tail.len() as u64, tail)]);
        let contents = without_panic(|| Contents::read(&ranges))?;
        Ok(Self { contents: Arc::new(contents), length })
    }

    /// The columns, in ClickHouse's types.
    ///
    /// # Errors
    /// `UNKNOWN_TYPE` for a column of a type that has no counterpart.
    pub fn schema(&self, options: &FormatOptions) -> Result<Schema> {
        schema_of(&self.contents, options)
    }

    /// Looks whether a table has its columns.
    ///
    /// # Errors
    /// `INCORRECT_DATA` where it has not, and unknown columns are not to be skipped.
    pub(super) fn check_names(&self, table: &TableInput) -> Result<()> {
        self.contents.check_names(table)
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        (0..self.row_groups()).map(|at| self.rows_of(at)).sum()
    }

    /// The number of row groups.
    pub fn row_groups(&self) -> usize {
        self.contents.metadata.num_row_groups()
    }

    /// The rows of a row group.
    pub fn rows_of(&self, row_group: usize) -> u64 {
        u64::try_from(self.contents.metadata.row_group(row_group).num_rows()).unwrap_or(0)
    }

    /// Reads the bytes of a row group's columns that `schema` names. They are decoded afterwards.
    ///
    /// # Errors
    /// `INCORRECT_DATA` where the file is not what it says; those of reading; `MEMORY_LIMIT_EXCEEDED`.
    pub fn fetch(
        &self,
        row_group: usize,
        schema: &Arc<Schema>,
        source: &dyn ReadAt,
        options: &FormatOptions,
    ) -> Result<ParquetRowGroup> {
        let projected = without_panic(|| self.contents.project(schema))?;
        let group = self.contents.metadata.row_group(row_group);
        let mut pieces = Vec::with_capacity(projected.leaves.len());
        for leaf in &projected.leaves {
            let column = group.column(*leaf);
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let range = u64::try_from(start).ok().zip(usize::try_from(column.compressed_size()).ok());
            let range = range.filter(|(start, length)| start.saturating_add(*length as u64) <= self.length);
            let (start, length) = range.ok_or_else(|| corrupted("a column lies outside of the file"))?;
            squall_types::reserve(length)?;
            pieces.push((start, source.read_at(start, length)?));
        }
        let ranges = Ranges::new(self.length, pieces);
        let group = RowGroup::new(&ranges, &self.contents.metadata, row_group, projected.leaves.clone())?;
        let contents = without_panic(|| projected.with_codes(&group.coded_leaves()?))?;
        let (table, dictionaries) = (TableInput::new(schema, options), Dictionaries::default());
        let settings = &options.settings;
        // The default is that of another reader.
        let rows_max = match settings.is_changed("input_format_parquet_max_block_size") {
            true => usize::try_from(settings.input_format_parquet_max_block_size).unwrap_or(usize::MAX),
            false => usize::MAX,
        };
        Ok(ParquetRowGroup { group, contents, table, rows_max, reader: None, dictionaries })
    }
}

/// A row group whose bytes are in memory.
pub struct ParquetRowGroup {
    group: RowGroup,
    contents: Contents,
    table: TableInput,
    /// The most rows of a block.
    rows_max: usize,
    reader: Option<ParquetRecordBatchReader>,
    dictionaries: Dictionaries,
}

impl ParquetRowGroup {
    /// Decodes the next rows; `None` at the end.
    ///
    /// # Errors
    /// `INCORRECT_DATA`, `MEMORY_LIMIT_EXCEEDED`; those of casts to the wanted types.
    pub fn next_block(&mut self) -> Result<Option<InputBlock>> {
        loop {
            let batch = without_panic(|| {
                let reader = match &mut self.reader {
                    Some(reader) => reader,
                    none => {
                        let by_values = BATCH_VALUES / self.contents.leaves.len().max(1);
                        let rows = self.group.batch_rows()?.min(by_values.max(BATCH_ROWS_MIN)).min(self.rows_max);
                        none.insert(self.contents.reader(&self.group, rows)?)
                    }
                };
                reader.next().transpose().map_err(|error| arrow_error(&error))
            })?;
            match batch {
                None => return Ok(None),
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => return block_of(&self.table, &batch, &mut self.dictionaries).map(Some),
            }
        }
    }

    /// All rows at once where no column is wanted.
    pub fn counted(&self) -> Option<Block> {
        let is_empty = self.table.schema.is_empty();
        is_empty.then(|| Block::new(self.table.schema.clone(), Vec::new(), self.group.rows()))
    }
}

/// The columns of a file that comes as a stream, which is read whole.
pub(crate) fn infer(input: &mut dyn Read, options: &FormatOptions) -> Result<Schema> {
    let file = read_whole::<ParquetInput>(input, options)?;
    footer::check(&file)?;
    let ranges = Ranges::whole(file.into());
    schema_of(&without_panic(|| Contents::read(&ranges))?, options)
}

fn schema_of(contents: &Contents, options: &FormatOptions) -> Result<Schema> {
    let nullability = Nullability::of_setting(&options.settings.schema_inference_make_columns_nullable);
    let fields = contents.arrow_fields()?;
    let columns = fields.iter().map(|field| Ok((field.name().clone(), nullable_type_of(field, nullability)?)));
    finished(columns.collect::<Result<Vec<_>>>()?, options)
}

/// The type of a column, nullable as the file and the setting say.
fn nullable_type_of(field: &Field, nullability: Nullability) -> Result<DataType> {
    Ok(match field.data_type() {
        ArrowType::List(item) => DataType::array(nullable_type_of(item, nullability)?),
        ArrowType::Map(entries, _) => match entries.data_type() {
            ArrowType::Struct(fields) if fields.len() == 2 => {
                DataType::Map(Arc::new(type_of(&fields[0])?), Arc::new(nullable_type_of(&fields[1], nullability)?))
            }
            _ => type_of(field)?,
        },
        ArrowType::Struct(fields) => {
            let elements = fields.iter().map(|field| {
                Ok(squall_types::TupleElement {
                    name: Some(field.name().as_str().into()),
                    data_type: nullable_type_of(field, nullability)?,
                })
            });
            DataType::Tuple(elements.collect::<Result<_>>()?)
        }
        _ => {
            let data_type = type_of(field)?;
            match nullability {
                Nullability::AsFormatSays if !field.is_nullable() => data_type,
                nullability => nullability.apply(data_type, field.is_nullable()),
            }
        }
    })
}

impl Contents {
    /// A reader of a row group, so many rows at a time.
    pub fn reader(&self, group: &RowGroup, rows: usize) -> Result<ParquetRecordBatchReader> {
        let reader = ParquetRecordBatchReader::try_new_with_row_groups(&self.levels, group, rows, None);
        reader.map_err(|error| parquet_error(&error))
    }
}
