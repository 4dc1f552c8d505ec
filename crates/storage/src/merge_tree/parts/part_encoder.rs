//! A part's file as it grows: row groups of sorted rows are encoded one after the other, so that no more of a part's rows than one row
//! group need to be in memory. What the catalog and scans will know of the part is gathered on the way.

use std::io::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, RowGroupMetaData, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use squall_runtime::Pieces;
use squall_types::gather;
use squall_types::{Block, Column, DataType, Error, Result, Rows, Value};

use super::part_bytes::PartBytes;
use super::part_description::{
    ChunkDescription, FileRange, PartDescription, PrimaryIndex, ProjectionDescription, RowGroupDescription,
};
use super::part_footer;
use super::part_name::PartName;
use super::part_stream::PartStream;
use crate::evaluate::evaluate;
use crate::key_condition::ValueRange;
use crate::merge_tree::MergeTree;
use crate::merge_tree::chunks::dictionary_chunk::{append_dictionary, append_one_row, leaves_of, one_row};
use crate::merge_tree::chunks::packing::{LARGE_PART_BYTES, OF_SMALL_PARTS, Packing, chosen, of_large_parts, packings};
use crate::merge_tree::chunks::value_chunk::{Leaf, append_values};
use crate::merge_tree::expiry::ttl::TtlTurn;
use crate::merge_tree::expiry::ttl_range::TtlRanges;
use crate::merge_tree::order::sorting::plain_array;
use crate::merge_tree::projections::projection_builder::ProjectionBuilder;
use crate::merge_tree::skip_index::{EncodedIndex, IndexBuilders, IndexDescription, IndexPage, SkipIndex};
use crate::merge_tree::statistics::StatisticsBuilder;

/// Bytes of a page before compression.
const PAGE_BYTES: usize = 1 << 20;
/// Longer strings are cut in the bounds that files and catalog keep.
pub(in crate::merge_tree) const BOUND_BYTES_MAX: usize = 64;
/// Rows that the encoder takes at a time, where strings are of usual lengths.
const BATCH_ROWS: usize = 8192;

/// A part's file on its way.
pub(in crate::merge_tree) struct PartEncoder {
    table: Arc<MergeTree>,
    name: PartName,
    /// Begun with the first row group, which says how the columns are best encoded.
    file: Option<(SerializedFileWriter<PartBytes>, ArrowRowGroupWriterFactory)>,
    row_groups: Vec<RowGroupDescription>,
    /// The primary key at the first row of each granule, by row groups.
    marks: Vec<Vec<Column>>,
    /// The same at the last row so far.
    last: Vec<Column>,
    indices: IndexBuilders,
    /// How each stored column lies in the file.
    packings: Vec<Packing>,
    /// Whether the part has the codec of large parts.
    is_large: bool,
    ttl: TtlRanges,
    projections: Vec<ProjectionBuilder>,
    statistics: StatisticsBuilder,
}

/// What an encoder has made.
pub(in crate::merge_tree) struct EncodedPart {
    /// The file.
    pub(in crate::merge_tree) bytes: PartBytes,
    /// What is known of it.
    pub(in crate::merge_tree) description: PartDescription,
}

impl PartEncoder {
    /// Of a part of a table with these skip indexes and projections; `turn` is what its rows have been through. `from_bytes` are those of the
    /// parts that its rows come from, on disk.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for a codec that Parquet does not have.
    pub(in crate::merge_tree) fn new(
        table: &Arc<MergeTree>,
        name: &PartName,
        indices: &[Arc<SkipIndex>],
        projections: Vec<ProjectionBuilder>,
        turn: Option<TtlTurn>,
        from_bytes: u64,
    ) -> Result<Self> {
        let (table, name) = (table.clone(), name.clone());
        let recompression = turn.as_ref().and_then(|turn| turn.recompression);
        let is_large = recompression.is_none() && table.settings.codec.is_none() && from_bytes >= LARGE_PART_BYTES;
        let packings = match recompression {
            Some(codec) => {
                let default = table.settings.codec.unwrap_or(OF_SMALL_PARTS);
                packings(&table.identity, chosen(codec, default)?)?
            }
            None if is_large => packings(&table.identity, of_large_parts())?,
            None => table.packings.clone(),
        };
        let ttl = TtlRanges::new(&table, turn);
        let indices = IndexBuilders::new(indices, table.settings.index_granularity);
        let statistics = StatisticsBuilder::new(&table.identity.stored);
        Ok(Self {
            table,
            name,
            file: None,
            row_groups: Vec::new(),
            marks: Vec::new(),
            last: Vec::new(),
            indices,
            packings,
            is_large,
            ttl,
            projections,
            statistics,
        })
    }

    /// Appends rows, in the order of the sorting key, as a row group. All row groups but the last have whole granules. Gives the columns as
    /// the cache holds them where these are wanted.
    ///
    /// # Errors
    /// Where the rows cannot be encoded.
    pub(in crate::merge_tree) async fn append(
        &mut self,
        block: &Block,
        with_rows: bool,
        pieces: &mut Pieces,
    ) -> Result<Vec<Rows>> {
        let table = self.table.clone();
        let block = &with_codes(block, pieces).await?;
        let (layout, positions) = (&table.schema.layout, &table.identity.stored_positions);
        let keys = table.primary_key.iter().map(|key| evaluate(&key.expression, block, positions));
        let keys = keys.collect::<Result<Vec<Column>>>()?;
        let granules: UInt32Array =
            (0..block.rows()).step_by(table.settings.index_granularity).map(|row| row as u32).collect();
        self.marks.push(keys.iter().map(|key| mark(key, &granules)).collect::<Result<_>>()?);
        let last = UInt32Array::from_iter_values(block.rows().checked_sub(1).map(|row| row as u32));
        self.last = keys.iter().map(|key| mark(key, &last)).collect::<Result<_>>()?;
        drop(keys);
        pieces.pause().await;
        self.indices.append(block, positions, pieces).await?;
        self.ttl.add(&table, block, pieces).await?;
        self.statistics.append(block, pieces).await?;
        for projection in &mut self.projections {
            projection.append(&table, block, pieces).await?;
        }
        let at = self.row_groups.len();
        let (writer, factory) = match &mut self.file {
            Some(file) => file,
            none => {
                let file_type = layout.file_schema.root_schema_ptr();
                let properties = Arc::new(properties(&table, &self.packings, block));
                let writer =
                    SerializedFileWriter::new(PartBytes::default(), file_type, properties).map_err(parquet_bug)?;
                let factory = ArrowRowGroupWriterFactory::new(&writer, layout.arrow_schema.clone());
                none.insert((writer, factory))
            }
        };
        let mut encoders = factory.create_column_writers(at).map_err(parquet_bug)?.into_iter();
        let mut group = writer.next_row_group().map_err(parquet_bug)?;
        let mut rows = Vec::new();
        let mut value_bytes = Vec::with_capacity(block.columns().len());
        for column in 0..layout.arrow_schema.fields().len() {
            let values =
                block.columns().get(column).ok_or_else(|| Error::logical("a block without the table's columns"))?;
            let packing = self.packings.get(column).ok_or_else(|| Error::logical("a column without a packing"))?;
            value_bytes.push(values.value_bytes() as u64);
            append_column(&table, *packing, &mut group, &mut encoders, (column, values), pieces).await?;
            if with_rows {
                rows.push(match values.coded() {
                    Some(coded) => coded.unless_mostly_empty(layout.ratio_of_defaults(column))?,
                    None => Rows::Whole(values.to_array()?),
                });
            }
        }
        group.close().map_err(parquet_bug)?;
        pieces.pause().await;
        // What the writer still holds back of a row group is written before its bytes are looked at.
        writer.flush().map_err(|error| Error::logical(format!("Parquet: {error}")))?;
        for group in writer.flushed_row_groups().get(at..).unwrap_or_default() {
            let mut group = describe(&table, group, writer.inner(), pieces).await?;
            for ((chunk, bytes), packing) in group.chunks.iter_mut().zip(&value_bytes).zip(&self.packings) {
                chunk.value_bytes = *bytes;
                chunk.has_codec_of_large = self.is_large && !packing.is_asked_for;
            }
            self.row_groups.push(group);
        }
        Ok(rows)
    }

    /// Lets a stream have what is encoded already.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(in crate::merge_tree) async fn stream(&mut self, stream: &mut PartStream) -> Result<()> {
        match &mut self.file {
            Some((writer, _)) => stream.take(writer.inner_mut()).await,
            None => Ok(()),
        }
    }

    /// The rows so far.
    pub(in crate::merge_tree) fn rows(&self) -> usize {
        self.row_groups.iter().map(|group| group.rows).sum()
    }

    /// The bytes so far.
    pub(in crate::merge_tree) fn bytes(&self) -> u64 {
        self.file.as_ref().map_or(0, |(writer, _)| writer.inner().len())
    }

    /// The whole file; nothing where it has no row.
    ///
    /// # Errors
    /// Where the file cannot be encoded.
    pub(in crate::merge_tree) async fn finish(self, pieces: &mut Pieces) -> Result<Option<EncodedPart>> {
        let Some((mut writer, _)) = self.file else { return Ok(None) };
        let mut primary_index = PrimaryIndex { keys: Vec::with_capacity(self.last.len()) };
        for (at, last) in self.last.iter().enumerate() {
            let of_groups = self.marks.iter().filter_map(|marks| marks.get(at)).chain([last]).cloned().collect();
            primary_index.keys.push(gather::concat(of_groups, pieces).await?);
        }
        let indices = write_indices(&mut writer, self.indices.finish(pieces).await?, pieces).await?;
        let projections = write_projections(&mut writer, self.projections, pieces).await?;
        // What the catalog will know of the part stands in its footer too, but for the footer's own place.
        let mut description = PartDescription {
            granularity: self.table.settings.index_granularity,
            row_groups: self.row_groups,
            footer: FileRange::default(),
            primary_index,
            indices,
            ttl: self.ttl.finish(&self.table),
            projections,
            statistics: self.statistics.finish(),
        };
        for entry in part_footer::entries(&self.table.record.load(), &self.name, &description) {
            writer.append_key_value_metadata(entry);
        }
        let bytes = writer.into_inner().map_err(parquet_bug)?;
        description.footer = footer_of(&bytes)?;
        Ok(Some(EncodedPart { bytes, description }))
    }
}

/// The same rows, strings as codes where few of them are different: whatever looks at strings from here on looks at each of these once.
/// Only strings that some row has get a code, because a part's bounds and statistics are taken from these.
async fn with_codes(block: &Block, pieces: &mut Pieces) -> Result<Block> {
    let mut columns = Vec::with_capacity(block.columns().len());
    for column in block.columns() {
        let is_constant = column.is_constant();
        let coded = if is_constant { None } else { gather::codes(std::slice::from_ref(column), pieces).await? };
        columns.push(match coded {
            Some(coded) => Column::of_rows(column.data_type().clone(), Rows::Coded(coded)),
            // These are some rows of a column with more strings than they have.
            None if column.coded().is_some() => Column::new(column.data_type().clone(), column.to_array()?),
            None => column.clone(),
        });
    }
    Ok(Block::new(block.schema().clone(), columns, block.rows()))
}

/// Appends the pages of indexes to a file whose row groups are complete. Readers of Parquet look at what its footer names alone.
async fn write_indices(
    writer: &mut SerializedFileWriter<PartBytes>,
    encoded: Vec<EncodedIndex>,
    pieces: &mut Pieces,
) -> Result<Vec<IndexDescription>> {
    let failed = |error: &dyn std::fmt::Display| Error::logical(format!("Parquet: {error}"));
    let mut indices = Vec::with_capacity(encoded.len());
    for EncodedIndex { index, pages: encoded } in encoded {
        let mut pages = Vec::with_capacity(encoded.len());
        let mut bytes = 0;
        for page in encoded {
            writer.write_all(&page.bytes).and_then(|()| writer.flush()).map_err(|error| failed(&error))?;
            let end = writer.inner().len();
            let at = checked_range(writer.inner(), end - page.bytes.len() as u64..end)?;
            bytes += page.plain_bytes;
            pages.push(IndexPage { at, entries: page.entries });
            pieces.pause().await;
        }
        let (name, identity) = (index.name.to_string(), index.identity.clone());
        indices.push(IndexDescription { name, identity, bytes, pages });
    }
    Ok(indices)
}

/// Appends what a part has of projections to a file whose row groups are complete.
async fn write_projections(
    writer: &mut SerializedFileWriter<PartBytes>,
    builders: Vec<ProjectionBuilder>,
    pieces: &mut Pieces,
) -> Result<Vec<ProjectionDescription>> {
    let mut projections = Vec::with_capacity(builders.len());
    for builder in builders {
        let projection = builder.projection.clone();
        let Some(EncodedPart { bytes, description }) = builder.finish(pieces).await? else { continue };
        let length = bytes.len();
        for segment in bytes.segments() {
            writer.write_all(segment).map_err(|error| Error::logical(format!("Parquet: {error}")))?;
            pieces.pause().await;
        }
        writer.flush().map_err(|error| Error::logical(format!("Parquet: {error}")))?;
        let end = writer.inner().len();
        projections.push(ProjectionDescription {
            name: projection.bound.name.to_string(),
            identity: projection.identity.clone(),
            at: checked_range(writer.inner(), end - length..end)?,
            description: description.encode(),
        });
        pieces.pause().await;
    }
    Ok(projections)
}

/// Some rows of a column of the primary key, without dictionary.
fn mark(key: &Column, rows: &UInt32Array) -> Result<Column> {
    Ok(Column::new(PrimaryIndex::column_type(key.data_type()), plain_array(&key.take(rows)?)?))
}

/// The key at the first row of each granule and at the last row.
pub(in crate::merge_tree) fn primary_index(keys: &[Column], rows: usize, granularity: usize) -> Result<PrimaryIndex> {
    let marks: UInt32Array = (0..rows).step_by(granularity).chain(rows.checked_sub(1)).map(|row| row as u32).collect();
    Ok(PrimaryIndex { keys: keys.iter().map(|key| mark(key, &marks)).collect::<Result<_>>()? })
}

/// Encodes the leaves of one column, each with the next of `encoders` or without it.
async fn append_column<W: Write + Send>(
    table: &MergeTree,
    packing: Packing,
    group: &mut SerializedRowGroupWriter<'_, W>,
    encoders: &mut std::vec::IntoIter<ArrowColumnWriter>,
    (column, values): (usize, &Column),
    pieces: &mut Pieces,
) -> Result<()> {
    let layout = &table.schema.layout;
    let leaves = layout.first_leaves.get(column).zip(layout.first_leaves.get(column + 1));
    let leaves = leaves.and_then(|(first, end)| layout.file_schema.columns().get(*first..*end)).unwrap_or_default();
    let row = match values.coded() {
        Some(coded) if coded.values().len() == 1 && values.nulls().is_none() => Some(coded.values().clone()),
        Some(_) => None,
        None if values.is_constant() => Some(values.array().clone()),
        None => one_row(values.array()),
    };
    let one = match row {
        Some(row) => leaves_of(&layout.to_file(column, &row)?).filter(|one| one.len() == leaves.len()),
        None => None,
    };
    if let Some(one) = one {
        for (leaf, of_row) in leaves.iter().zip(&one) {
            encoders.next();
            append_one_row(group, leaf, of_row, values.rows(), pieces).await.map_err(parquet_bug)?;
        }
        pieces.pause().await;
        return Ok(());
    }
    let field = layout.arrow_schema.field(column);
    let mut leaf_encoders: Vec<ArrowColumnWriter> = encoders.by_ref().take(leaves.len()).collect();
    if let ([leaf], None) = (leaves, packing.encoding) {
        let (codec, is_asked_for) = (packing.codec, packing.is_asked_for);
        if values.coded().is_none() && append_dictionary(group, leaf, &values.to_array()?, codec, pieces).await? {
            pieces.pause().await;
            return Ok(());
        }
        let to_file = |array: &ArrayRef| layout.to_file(column, array);
        let leaf = Leaf { description: leaf, field, to_file, codec, is_asked_for };
        if let Some(encoder) = leaf_encoders.pop() {
            match append_values(group, &leaf, encoder, values, pieces).await? {
                Some(encoder) => leaf_encoders.push(encoder),
                None => return Ok(()),
            }
        }
    }
    let in_file = layout.to_file(column, &values.to_array()?)?;
    for at in (0..in_file.len()).step_by(BATCH_ROWS) {
        let batch = in_file.slice(at, BATCH_ROWS.min(in_file.len() - at));
        for (at, leaf) in compute_leaves(field, &batch).map_err(parquet_bug)?.iter().enumerate() {
            let encoder = leaf_encoders.get_mut(at).ok_or_else(|| Error::logical("a leaf too many"))?;
            encoder.write(leaf).map_err(parquet_bug)?;
        }
        pieces.pause().await;
    }
    for encoder in leaf_encoders {
        let chunk = encoder.close().map_err(parquet_bug)?;
        chunk.append_to_row_group(group).map_err(parquet_bug)?;
        pieces.pause().await;
    }
    Ok(())
}

/// The stored columns as the entry `squall.columns` of a footer has them.
pub(in crate::merge_tree) fn columns_entry(table: &MergeTree) -> String {
    let types = table.identity.stored.fields.iter().map(|(name, data_type)| format!("{name} {data_type}"));
    types.collect::<Vec<String>>().join(", ")
}

fn properties(table: &MergeTree, packings: &[Packing], block: &Block) -> WriterProperties {
    let mut longest_string = 0;
    let mut builder = WriterProperties::builder()
        .set_compression(table.settings.codec.unwrap_or(OF_SMALL_PARTS).in_parquet())
        .set_created_by(concat!("Squall ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_statistics_truncate_length(Some(BOUND_BYTES_MAX))
        .set_offset_index_disabled(true)
        .set_data_page_size_limit(PAGE_BYTES)
        .set_data_page_row_count_limit(1 << 17)
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(vec![KeyValue::new("squall.columns".to_owned(), columns_entry(table))]));
    for (column, data_type, leaf) in leaves(table) {
        let packing = packings.get(column);
        if let Some(packing) = packing {
            builder = builder.set_column_compression(leaf.path().clone(), packing.codec.in_parquet());
        }
        if let Some(encoding) = packing.and_then(|packing| packing.encoding) {
            builder = builder.set_column_encoding(leaf.path().clone(), encoding);
        } else if is_text(data_type) && block.columns().get(column).is_none_or(may_repeat) {
            builder = builder.set_column_dictionary_enabled(leaf.path().clone(), true);
        }
    }
    for column in block.columns() {
        if column.coded().is_none()
            && let Some(strings) = column.array().as_binary_opt::<i32>()
            && strings.value_data().len() > 64 << 20
        {
            let lengths = strings.value_offsets().windows(2).map(|pair| match pair {
                [from, to] => (to - from) as usize,
                _ => 0,
            });
            longest_string = longest_string.max(lengths.max().unwrap_or(0));
        }
    }
    // Pages are cut between batches: a batch of long strings must stay far below Parquet's 2 GiB.
    let batch_rows = (256 << 20) / longest_string.max(1);
    builder = builder.set_write_batch_size(batch_rows.clamp(1, BATCH_ROWS));
    let sorting: Vec<SortingColumn> = table
        .identity
        .sorting_columns
        .iter()
        .filter_map(|column| {
            let stored = table.identity.stored_positions.get(*column).copied().flatten()?;
            let leaf = *table.schema.layout.first_leaves.get(stored)?;
            Some(SortingColumn { column_idx: leaf as i32, descending: false, nulls_first: false })
        })
        .collect();
    builder.set_sorting_columns((!sorting.is_empty()).then_some(sorting)).build()
}

/// Whether strings are not all different, as far as some of them tell: a dictionary of ids costs time and saves nothing.
fn may_repeat(column: &Column) -> bool {
    const LOOKED_AT: usize = 1024;
    if column.coded().is_some() {
        return true;
    }
    let Some(strings) = column.array().as_binary_opt::<i32>().filter(|strings| strings.len() >= LOOKED_AT) else {
        return true;
    };
    let step = strings.len() / LOOKED_AT;
    let mut seen: Vec<&[u8]> = (0..LOOKED_AT).map(|at| strings.value(at * step)).collect();
    seen.sort_unstable();
    seen.windows(2).filter(|pair| pair.first() == pair.last()).count() > LOOKED_AT / 16
}

/// Each leaf column of the files with the stored column that it belongs to, by its position and type.
fn leaves(table: &MergeTree) -> impl Iterator<Item = (usize, &DataType, &parquet::schema::types::ColumnDescPtr)> {
    let layout = &table.schema.layout;
    layout.file_schema.columns().iter().enumerate().filter_map(|(leaf, description)| {
        let column = layout.first_leaves.partition_point(|first| *first <= leaf).checked_sub(1)?;
        Some((column, &table.identity.stored.fields.get(column)?.1, description))
    })
}

/// Whether a dictionary is worth a try.
fn is_text(data_type: &DataType) -> bool {
    match data_type.inner() {
        DataType::String | DataType::FixedString(_) => true,
        DataType::Array(item) => is_text(item),
        nested if nested.is_nested() => true,
        _ => matches!(data_type, DataType::LowCardinality(_)),
    }
}

/// Where a file's footer lies.
pub(in crate::merge_tree) fn footer_of(bytes: &PartBytes) -> Result<FileRange> {
    let length = bytes.last(8).first_chunk().copied().map_or(0, u32::from_le_bytes);
    checked_range(bytes, bytes.len().saturating_sub(8 + u64::from(length))..bytes.len())
}

/// What is known of the chunks of a row group.
pub(in crate::merge_tree) async fn describe(
    table: &MergeTree,
    group: &RowGroupMetaData,
    bytes: &PartBytes,
    pieces: &mut Pieces,
) -> Result<RowGroupDescription> {
    let mut chunks = Vec::new();
    for (column, (_, data_type)) in table.identity.stored.fields.iter().enumerate() {
        let leaves = table.schema.layout.first_leaves.get(column).zip(table.schema.layout.first_leaves.get(column + 1));
        let leaves = leaves.and_then(|(first, end)| group.columns().get(*first..*end)).unwrap_or_default();
        let (Some(first), Some(last)) = (leaves.first(), leaves.last()) else {
            return Err(Error::logical("a column without leaves"));
        };
        let end = last.byte_range().0 + last.byte_range().1;
        let at = checked_range(bytes, first.byte_range().0..end)?;
        let (range, is_exact, nulls) = match leaves {
            [leaf] if data_type.inner().arrow_type().is_primitive() || is_plain(data_type.inner()) => {
                bounds(data_type, leaf)
            }
            _ => (ValueRange { incomparable: true, ..ValueRange::default() }, false, 0),
        };
        chunks.push(ChunkDescription { at, range, is_exact, nulls, value_bytes: 0, has_codec_of_large: false });
        pieces.pause().await;
    }
    Ok(RowGroupDescription { rows: group.num_rows() as usize, chunks })
}

fn is_plain(data_type: &DataType) -> bool {
    !data_type.is_nested()
}

fn checked_range(bytes: &PartBytes, range: std::ops::Range<u64>) -> Result<FileRange> {
    let (offset, length) = (range.start, range.end.saturating_sub(range.start));
    let checksum = bytes.checksum(range).ok_or_else(|| Error::logical("a chunk outside of its file"))?;
    Ok(FileRange { offset, length, checksum })
}

/// A leaf's smallest and largest value in ClickHouse's terms, whether they are values of it, and its NULLs.
fn bounds(data_type: &DataType, leaf: &ColumnChunkMetaData) -> (ValueRange, bool, u64) {
    let Some(statistics) = leaf.statistics() else {
        return (ValueRange { incomparable: true, ..ValueRange::default() }, false, 0);
    };
    let nulls = statistics.null_count_opt().unwrap_or(0);
    let is_float = data_type.inner().is_float();
    let incomparable = nulls > 0
        || statistics.null_count_opt().is_none() && data_type.is_nullable()
        || is_float && statistics.nan_count_opt() != Some(0);
    let bound = |bytes: Option<&[u8]>| bytes.and_then(|bytes| bound(data_type.inner(), statistics, bytes));
    let range =
        ValueRange { low: bound(statistics.min_bytes_opt()), high: bound(statistics.max_bytes_opt()), incomparable };
    let is_exact =
        range.low.is_some() && range.high.is_some() && statistics.min_is_exact() && statistics.max_is_exact();
    (range, is_exact, nulls)
}

fn bound(data_type: &DataType, statistics: &Statistics, bytes: &[u8]) -> Option<Value> {
    let number = match statistics {
        Statistics::Boolean(_) => return bytes.first().map(|byte| Value::Bool(*byte != 0)),
        Statistics::Int32(_) => i64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        Statistics::Int64(_) => i64::from_le_bytes(bytes.try_into().ok()?),
        Statistics::Float(_) => return Some(Value::Float64(f32::from_le_bytes(bytes.try_into().ok()?).into())),
        Statistics::Double(_) => return Some(Value::Float64(f64::from_le_bytes(bytes.try_into().ok()?))),
        // The order of their bytes is not that of these numbers.
        Statistics::FixedLenByteArray(_) if data_type.physical().rank().is_some() && *data_type != DataType::UUID => {
            return None;
        }
        Statistics::ByteArray(_) | Statistics::FixedLenByteArray(_) => return Some(Value::string(bytes)),
        Statistics::Int96(_) => return None,
    };
    Some(match data_type {
        DataType::UInt64 => Value::UInt64(number as u64),
        DataType::UInt32 | DataType::IPv4 => Value::UInt64(u64::from(number as u32)),
        DataType::UInt8 | DataType::UInt16 | DataType::Date => Value::UInt64(number as u64),
        DataType::DateTime(_) => Value::UInt64((number / 1_000_000) as u64),
        DataType::Decimal(_, scale) => Value::Decimal(Box::new(number.into()), *scale),
        _ => Value::Int64(number),
    })
}

pub(in crate::merge_tree) fn parquet_bug(error: parquet::errors::ParquetError) -> Error {
    Error::logical(format!("Parquet: {error}"))
}
