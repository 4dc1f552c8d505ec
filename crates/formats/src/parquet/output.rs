//! The output: row groups, whose columns several workers write at once where there are some.

use std::sync::Arc;

use arrow_schema::{Field, Schema as ArrowSchema};
use parking_lot::Mutex;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, Type};
use squall_runtime::{Pieces, block_on};
use squall_types::{Block, Column, Error, Result, Schema};

use super::layout::{Layout, to_parquet};
use super::parquet_error;
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Pending, Statistics, Workers};

/// Bytes of values that are kept until they are written: some milliseconds of work on each of several columns.
const KEPT_BYTES: usize = 8 << 20;

/// A column of the result, and what it is in the row group at hand.
struct ColumnEncoder {
    position: usize,
    field: Field,
    /// One for each column of the file that the column consists of.
    writers: Vec<ArrowColumnWriter>,
    /// What it has become, once the row group has ended.
    chunks: Vec<ArrowColumnChunk>,
}

impl ColumnEncoder {
    fn write(&mut self, column: &Column) -> Result<()> {
        let array = to_parquet(column.data_type(), &column.to_array()?, &self.field)?;
        let leaves = compute_leaves(&self.field, &array).map_err(|error| parquet_error(&error))?;
        for (writer, leaf) in self.writers.iter_mut().zip(&leaves) {
            writer.write(leaf).map_err(|error| parquet_error(&error))?;
        }
        Ok(())
    }

    /// Writes the column of some blocks, and ends the row group then if it `is_last`.
    async fn write_all(mut self, blocks: &[Block], is_last: bool) -> Result<Self> {
        let mut pieces = Pieces::begin();
        for block in blocks {
            let column = block.columns().get(self.position);
            self.write(column.ok_or_else(|| Error::logical("a block has too few columns"))?)?;
            pieces.pause().await;
        }
        if is_last {
            for writer in std::mem::take(&mut self.writers) {
                self.chunks.push(writer.close().map_err(|error| parquet_error(&error))?);
                pieces.pause().await;
            }
        }
        Ok(self)
    }
}

/// Rows of one row group that are kept.
#[derive(Default)]
struct Kept {
    blocks: Vec<Block>,
    /// Whether the row group ends with them.
    is_last: bool,
}

/// The output format.
pub(crate) struct ParquetOutput {
    /// `None` once the file has ended.
    file: Option<SerializedFileWriter<Vec<u8>>>,
    factory: ArrowRowGroupWriterFactory,
    fields: Vec<Field>,
    /// The columns of the row group at hand; none before its first row is written.
    columns: Vec<ColumnEncoder>,
    /// Rows and bytes of values of the row group that is kept last.
    group: (usize, usize),
    /// Of how many of either a row group ends.
    group_max: (usize, usize),
    /// Rows that are still to be written, by row group.
    kept: Vec<Kept>,
    kept_bytes: usize,
    /// Whether workers come for what is kept; else it is written at once.
    has_workers: bool,
}

impl ParquetOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let layouts = schema
            .fields
            .iter()
            .map(|(name, data_type)| Layout::new(name, data_type, false))
            .collect::<Result<Vec<_>>>()?;
        let (parquet, fields): (Vec<_>, Vec<_>) =
            layouts.into_iter().map(|layout| (layout.parquet, layout.arrow)).unzip();
        let root =
            Type::group_type_builder("schema").with_fields(parquet).build().map_err(|error| parquet_error(&error))?;
        let settings = &options.settings;
        let at_least_1 = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).max(1);
        let level = ZstdLevel::try_new(3).map_err(|error| parquet_error(&error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(format!("Squall {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer_options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true)
            .with_parquet_schema(SchemaDescriptor::new(Arc::new(root)));
        let arrow = Arc::new(ArrowSchema::new(fields.clone()));
        let writer = ArrowWriter::try_new_with_options(Vec::new(), arrow, writer_options);
        let parts = writer.and_then(ArrowWriter::into_serialized_writer);
        let (file, factory) = parts.map_err(|error| parquet_error(&error))?;
        Ok(Self {
            file: Some(file),
            factory,
            fields,
            columns: Vec::new(),
            group: (0, 0),
            group_max: (
                at_least_1(settings.output_format_parquet_row_group_size),
                at_least_1(settings.output_format_parquet_row_group_size_bytes),
            ),
            kept: Vec::new(),
            kept_bytes: 0,
            has_workers: false,
        })
    }

    /// Keeps the rows of a block for the row groups that they belong to.
    fn keep(&mut self, block: &Block) {
        let bytes_a_row = block.value_bytes().div_ceil(block.rows().max(1)).max(1);
        let mut from = 0;
        while from < block.rows() {
            let (rows_left, bytes_left) = (self.group_max.0 - self.group.0, self.group_max.1 - self.group.1);
            let rows = rows_left.min(bytes_left.div_ceil(bytes_a_row)).min(block.rows() - from);
            if self.kept.last().is_none_or(|kept| kept.is_last) {
                self.kept.push(Kept::default());
            }
            if let Some(kept) = self.kept.last_mut() {
                kept.blocks.push(block.slice(from, rows));
                self.group = (self.group.0 + rows, (self.group.1 + rows * bytes_a_row).min(self.group_max.1));
                if self.group.0 == self.group_max.0 || self.group.1 == self.group_max.1 {
                    kept.is_last = true;
                    self.group = (0, 0);
                }
            }
            self.kept_bytes += rows * bytes_a_row;
            from += rows;
        }
    }

    /// Notes that the row group at hand ends, if it has rows.
    fn keep_end(&mut self) {
        if std::mem::take(&mut self.group).0 == 0 {
            return;
        }
        match self.kept.last_mut().filter(|kept| !kept.is_last) {
            Some(kept) => kept.is_last = true,
            None => self.kept.push(Kept { blocks: Vec::new(), is_last: true }),
        }
    }

    /// Writes what is kept: each column by another worker, where there are any.
    async fn write_all_kept(&mut self, workers: Option<&dyn Workers>, out: &mut Vec<u8>) -> Result<()> {
        self.kept_bytes = 0;
        for kept in std::mem::take(&mut self.kept) {
            if self.columns.is_empty() {
                self.columns = self.begin_row_group()?;
            }
            let columns = std::mem::take(&mut self.columns);
            self.columns = match workers {
                None => {
                    let mut written = Vec::with_capacity(columns.len());
                    for column in columns {
                        written.push(column.write_all(&kept.blocks, kept.is_last).await?);
                    }
                    written
                }
                Some(workers) => write_at_once(columns, kept.blocks, kept.is_last, workers).await?,
            };
            if kept.is_last {
                self.end_row_group(out)?;
            }
        }
        Ok(())
    }

    fn begin_row_group(&self) -> Result<Vec<ColumnEncoder>> {
        let row_group = self.file.as_ref().map_or(0, |file| file.flushed_row_groups().len());
        let writers = self.factory.create_column_writers(row_group).map_err(|error| parquet_error(&error))?;
        let schema = self.file.as_ref().map(SerializedFileWriter::schema_descr);
        let mut columns: Vec<ColumnEncoder> = self
            .fields
            .iter()
            .enumerate()
            .map(|(position, field)| ColumnEncoder {
                position,
                field: field.clone(),
                writers: Vec::new(),
                chunks: Vec::new(),
            })
            .collect();
        for (leaf, writer) in writers.into_iter().enumerate() {
            let column = schema.and_then(|schema| columns.get_mut(schema.get_column_root_idx(leaf)));
            column.ok_or_else(|| Error::logical("a column of a Parquet file belongs to none"))?.writers.push(writer);
        }
        Ok(columns)
    }

    /// Appends the row group, whose columns have ended.
    fn end_row_group(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let file = self.file.as_mut().ok_or_else(has_ended)?;
        let mut group = file.next_row_group().map_err(|error| parquet_error(&error))?;
        for chunk in std::mem::take(&mut self.columns).into_iter().flat_map(|column| column.chunks) {
            chunk.append_to_row_group(&mut group).map_err(|error| parquet_error(&error))?;
        }
        group.close().map_err(|error| parquet_error(&error))?;
        // The writer counts its bytes itself.
        out.append(file.inner_mut());
        Ok(())
    }
}

/// Writes columns by a worker each, and gives them back in their order.
async fn write_at_once(
    columns: Vec<ColumnEncoder>,
    blocks: Vec<Block>,
    is_last: bool,
    workers: &dyn Workers,
) -> Result<Vec<ColumnEncoder>> {
    let blocks = Arc::new(blocks);
    let under_way: Vec<_> = columns
        .into_iter()
        .map(|column| {
            let (written, blocks) = (Arc::new(Mutex::new(None)), blocks.clone());
            let place = written.clone();
            let done = workers.spawn(Box::pin(async move {
                let outcome = column.write_all(&blocks, is_last).await;
                *place.lock() = Some(outcome);
            }));
            (done, written)
        })
        .collect();
    let mut columns = Vec::with_capacity(under_way.len());
    for (done, written) in under_way {
        done.await?;
        let outcome = written.lock().take();
        columns.push(outcome.ok_or_else(|| Error::logical("a column was not written"))??);
    }
    Ok(columns)
}

fn has_ended() -> Error {
    Error::logical("rows after the end of a Parquet file")
}

impl OutputFormat for ParquetOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        if self.file.is_none() {
            return Err(has_ended());
        }
        self.keep(block);
        match self.has_workers {
            true => Ok(()),
            false => block_on(self.write_all_kept(None, out)),
        }
    }

    fn write_kept<'a>(&'a mut self, is_end: bool, workers: &'a dyn Workers, out: &'a mut Vec<u8>) -> Pending<'a> {
        Box::pin(async move {
            self.has_workers = true;
            if is_end {
                self.keep_end();
            }
            match is_end || self.kept_bytes >= KEPT_BYTES {
                true => self.write_all_kept(Some(workers), out).await,
                false => Ok(()),
            }
        })
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        self.keep_end();
        block_on(self.write_all_kept(None, out))?;
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.finish().map_err(|error| parquet_error(&error))?;
        out.append(file.inner_mut());
        Ok(())
    }
}
