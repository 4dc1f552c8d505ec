//! Makes a part of rows: sorts and encodes them, which is a worker's work in pieces, describes the result, and has an I/O thread write the
//! file durably. Which rows belong together, and making the part visible, is the insertion's business.

use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use squall_runtime::profile_events::count;
use squall_runtime::{Pieces, ProfileEvent};
use squall_types::{Block, Column, Error, ErrorCode, Result, Rows};

use super::part::{Part, PartFile};
use super::part_encoder::{EncodedPart, PartEncoder};
use super::part_name::PartName;
use super::part_stream::PartStream;
use super::unsorted_rows::UnsortedRows;
use super::written::Written;
use crate::column_cache::ChunkOrigin;
use crate::evaluate::evaluate;
use crate::merge_tree::MergeTree;
use crate::merge_tree::chunks::parquet_layout::compact_dictionary;
use crate::merge_tree::merges::merge_rule::{MergeFor, MergeRule};
use crate::merge_tree::projections::projection::Projection;
use crate::merge_tree::projections::projection_builder::ProjectionBuilder;
use crate::merge_tree::skip_index::SkipIndex;

/// What a new part gets beside its rows.
#[derive(Clone, Default)]
pub(in crate::merge_tree) struct PartExtras {
    pub(in crate::merge_tree) indices: Vec<Arc<SkipIndex>>,
    pub(in crate::merge_tree) projections: Vec<Arc<Projection>>,
}

/// A part whose file is being written.
#[derive(Clone)]
pub(in crate::merge_tree) struct UnwrittenPart {
    pub(in crate::merge_tree) part: Arc<Part>,
    written: Arc<Written>,
}

impl UnwrittenPart {
    /// Waits until the file is durable.
    ///
    /// # Errors
    /// `NOT_ENOUGH_SPACE` and other failures to write; then nothing is left of the file.
    pub(in crate::merge_tree) fn wait(&self) -> Result<()> {
        self.written.wait()
    }

    /// Whether the file is durable, as [`wait`](Self::wait) without waiting.
    pub(in crate::merge_tree) fn poll_written(&self, context: &mut Context) -> Poll<Result<()>> {
        self.written.poll(context)
    }
}

/// Sorts the rows of one partition and makes a part of them that is not committed yet; none where `merges_rows` leaves no row.
/// `is_remembered` puts its columns into the cache; `extras` are the skip indexes and projections that it gets.
///
/// # Errors
/// Where the rows cannot be encoded.
pub(in crate::merge_tree) async fn write_part(
    table: &Arc<MergeTree>,
    name: &PartName,
    rows: UnsortedRows,
    is_remembered: bool,
    merges_rows: bool,
    extras: &PartExtras,
    pieces: &mut Pieces,
) -> Result<Option<UnwrittenPart>> {
    let positions = &table.identity.stored_positions;
    let sorting_key = &table.identity.definition.sorting_key;
    let began = Instant::now();
    let mut keys = rows.keys(sorting_key, positions, pieces).await?;
    if let Some(at) = table.rule.as_ref().and_then(MergeRule::sorted_by) {
        keys.push(rows.column(at, pieces).await?);
    }
    let (mut block, is_sorted) = rows.sorted(keys, pieces).await?;
    if let Some(rule) = table.rule.as_ref().filter(|_| merges_rows) {
        let keys = sorting_key.iter().map(|key| evaluate(&key.expression, &block, positions));
        let sorting_key = keys.collect::<Result<Vec<Column>>>()?;
        let places: Vec<usize> = (0..block.columns().len()).collect();
        block = rule.apply(block, &places, &sorting_key, MergeFor::Part, pieces).await?;
        if block.is_empty() {
            return Ok(None);
        }
    }
    let sorting_us = began.elapsed().as_micros() as u64;
    let projections = ProjectionBuilder::all(&extras.projections, name);
    let encoded = encode_rows(table, name, &block, is_remembered, &extras.indices, projections, pieces).await?;
    let Some((encoded, row_groups)) = encoded else { return Ok(None) };
    if name.is_of_insert() {
        count(ProfileEvent::MergeTreeDataWriterBlocks, 1);
        count(ProfileEvent::MergeTreeDataWriterBlocksAlreadySorted, u64::from(is_sorted));
        count(ProfileEvent::MergeTreeDataWriterSortingBlocksMicroseconds, sorting_us);
        count(ProfileEvent::MergeTreeDataWriterRows, block.rows() as u64);
        count(ProfileEvent::MergeTreeDataWriterUncompressedBytes, block.value_bytes() as u64);
        count(ProfileEvent::MergeTreeDataWriterCompressedBytes, encoded.bytes.len());
    }
    let stream = PartStream::new(table, name, None);
    write_encoded(table, name, encoded, row_groups, stream, pieces).await.map(Some)
}

/// Encodes rows that are in the order of the sorting key; nothing where there is none. With it come the columns as the cache holds
/// them, by row groups, where these are wanted.
///
/// # Errors
/// Where the rows cannot be encoded.
pub(in crate::merge_tree) async fn encode_rows(
    table: &Arc<MergeTree>,
    name: &PartName,
    block: &Block,
    with_rows: bool,
    indices: &[Arc<SkipIndex>],
    projections: Vec<ProjectionBuilder>,
    pieces: &mut Pieces,
) -> Result<Option<(EncodedPart, Vec<Vec<Rows>>)>> {
    let mut encoder = PartEncoder::new(table, name, indices, projections, None, 0)?;
    let group_rows = table.settings.row_group_rows();
    let mut all = Vec::new();
    for first in (0..block.rows()).step_by(group_rows) {
        let rows = group_rows.min(block.rows() - first);
        let group = if rows < block.rows() { own_rows(block, first, rows)? } else { block.clone() };
        all.push(encoder.append(&group, with_rows, pieces).await?);
    }
    let encoded = encoder.finish(pieces).await?;
    Ok(encoded.map(|encoded| (encoded, all)))
}

/// Some rows of a block, with dictionaries of what they hold alone.
pub(in crate::merge_tree) fn own_rows(block: &Block, first: usize, rows: usize) -> Result<Block> {
    let own = |column: &Column| {
        let values = column.slice(first, rows);
        if values.is_constant() || values.coded().is_some() {
            return Ok(values);
        }
        Ok(Column::new(values.data_type().clone(), compact_dictionary(values.array())?))
    };
    let columns = block.columns().iter().map(own).collect::<Result<_>>()?;
    Ok(Block::new(block.schema().clone(), columns, rows))
}

/// Has an I/O thread write the file of a part, or what `stream` has not written of it. The columns of `row_groups` go into the cache, as far as
/// they are there.
///
/// # Errors
/// `CANNOT_SCHEDULE_TASK`.
pub(in crate::merge_tree) async fn write_encoded(
    table: &MergeTree,
    name: &PartName,
    encoded: EncodedPart,
    row_groups: Vec<Vec<Rows>>,
    mut stream: PartStream,
    pieces: &mut Pieces,
) -> Result<UnwrittenPart> {
    let EncodedPart { bytes, description } = encoded;
    stream.settle().await?;
    let path = stream.path().to_path_buf();
    let partition_id = name.partition_id.clone();
    let file = PartFile { name: name.to_string().into(), partition_id, path, bytes: bytes.len() };
    let part = Arc::new(Part::new_uncommitted(
        file,
        description,
        table.schema.clone(),
        table.cache.clone(),
        table.directory.clone(),
    ));
    for (row_group, columns) in row_groups.into_iter().enumerate() {
        for (column, rows) in columns.into_iter().enumerate() {
            part.remember(row_group, column, rows, ChunkOrigin::Written);
            pieces.pause().await;
        }
    }
    let written = Arc::new(Written::default());
    let job = {
        // The part keeps its temporary file until then.
        let (part, written) = (part.clone(), written.clone());
        move || {
            let result = stream.finish(&bytes);
            drop(part);
            written.set(result);
        }
    };
    if !table.cache.on_io_thread(job) {
        return Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, "No thread to write a part with"));
    }
    Ok(UnwrittenPart { part, written })
}

/// ClickHouse's code for a failure to write.
pub(crate) fn write_error(path: &Path, error: &std::io::Error) -> Error {
    let code = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorCode::NOT_ENOUGH_SPACE,
        _ => ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR,
    };
    Error::new(code, format!("Cannot write file {}: {error}", path.display()))
}
