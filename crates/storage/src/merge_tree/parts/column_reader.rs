//! Reads a column of a row group, batch by batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType as ArrowType, Schema as ArrowSchema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection};
use parquet::errors::ParquetError;
use parquet::schema::types::SchemaDescriptor;

use super::chunk_bytes::ChunkBytes;
use super::code_reader::CodeReader;
use super::string_reader::StringReader;

/// What is read of a column.
pub(in crate::merge_tree) struct RowsWanted {
    pub row_group: usize,
    /// The column's leaves among those of the file.
    pub leaves: Range<usize>,
    /// The rows, in ascending ranges; all where there is nothing.
    pub rows: Option<Vec<Range<usize>>>,
    /// All rows that the row group has.
    pub rows_of_group: usize,
    /// Rows of a batch at most.
    pub batch_rows: usize,
    /// Whether strings that are keys of a dictionary in the file are so in memory, too.
    pub as_codes: bool,
}

/// The rows that are wanted of a column, as arrays of [`batch_rows`](RowsWanted::batch_rows) each.
pub(in crate::merge_tree) enum ColumnReader {
    /// The `parquet` crate's.
    Any(ParquetRecordBatchReader),
    /// Strings without a dictionary and without NULLs, which it takes twice as long for.
    Strings(Box<StringReader>),
    /// Keys of a dictionary of strings, without NULLs: it would read the dictionary once for each reader.
    Codes(Box<CodeReader>),
}

impl ColumnReader {
    /// Begins to read a column.
    ///
    /// # Errors
    /// Those of the `parquet` crate.
    pub fn new(bytes: ChunkBytes, schema: &SchemaDescriptor, wanted: RowsWanted) -> Result<Self, ParquetError> {
        let contents = bytes.contents().clone();
        let group = contents.reading.metadata().row_groups().get(wanted.row_group);
        let first = group
            .and_then(|group| group.columns().get(wanted.leaves.start))
            .ok_or_else(|| ParquetError::General("a column that the footer does not have".to_owned()))?;
        let is_flat = wanted.leaves.len() == 1 && first.column_descr().max_rep_level() == 0;
        let has_dictionary = first.dictionary_page_offset().is_some();
        let name = first.column_descr().path().parts().first();
        let type_in = |schema: &ArrowSchema| Some(schema.field_with_name(name?).ok()?.data_type().clone());
        let is_binary = type_in(contents.reading.schema()) == Some(ArrowType::Binary);
        let is_text = type_in(contents.coding.schema()).is_some_and(|known| matches!(known, ArrowType::Dictionary(..)));
        if is_flat
            && is_binary
            && first.column_descr().max_def_level() == 0
            && (!has_dictionary || wanted.as_codes && is_text)
        {
            let rows = wanted.rows.unwrap_or_else(|| std::iter::once(0..wanted.rows_of_group).collect());
            let (all, batch_rows) = (wanted.rows_of_group, wanted.batch_rows);
            return Ok(match has_dictionary {
                false => Self::Strings(Box::new(StringReader::new(bytes, first, rows, all, batch_rows)?)),
                true => Self::Codes(Box::new(CodeReader::new(bytes, first, rows, all, batch_rows)?)),
            });
        }
        let metadata = if wanted.as_codes && is_flat && has_dictionary { &contents.coding } else { &contents.reading };
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata.clone())
            .with_row_groups(vec![wanted.row_group])
            .with_projection(ProjectionMask::leaves(schema, wanted.leaves))
            .with_batch_size(wanted.batch_rows);
        if let Some(rows) = wanted.rows {
            let rows = RowSelection::from_consecutive_ranges(rows.into_iter(), wanted.rows_of_group);
            builder = builder.with_row_selection(rows);
        }
        builder.build().map(Self::Any)
    }
}

impl Iterator for ColumnReader {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Any(reader) => reader.next().map(|batch| {
                let no_column = || ArrowError::ParquetError("no column".to_owned());
                batch?.columns().first().cloned().ok_or_else(no_column)
            }),
            Self::Codes(reader) => reader.next().map(|batch| batch.map_err(ArrowError::from)),
            Self::Strings(reader) => {
                reader.next().map(|batch| batch.map(|strings| Arc::new(strings) as ArrayRef).map_err(ArrowError::from))
            }
        }
    }
}
