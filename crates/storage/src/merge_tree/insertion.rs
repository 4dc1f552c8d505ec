//! An INSERT into a MergeTree table: each writer gathers rows into parts, the commit makes all of them durable and visible.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_planner::KeyExpression;
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema};

use super::MergeTree;
use super::part::Part;
use super::part_name::PartName;
use super::part_writer::{UnwrittenPart, write_part};
use super::partition::{self, PartitionRows};
use crate::catalog::{ColumnStatistics, NewPart};
use crate::evaluate::evaluate;
use crate::table::{InsertLimits, InsertWriter, Insertion};

/// Parts of one writer that may wait to be written.
const PARTS_IN_FLIGHT_MAX: usize = 4;

/// An INSERT under way.
pub(super) struct MergeTreeInsertion {
    table: Arc<MergeTree>,
    limits: InsertLimits,
    /// Parts that writers made. Dropped without a commit, they remove their files.
    parts: Arc<Mutex<Vec<UnwrittenPart>>>,
}

impl MergeTreeInsertion {
    pub(super) fn new(table: Arc<MergeTree>, limits: InsertLimits) -> Result<Self> {
        let parts = table.parts.load().parts.len();
        if parts >= table.settings.parts_to_throw_insert {
            return Err(Error::new(
                ErrorCode::TOO_MANY_PARTS,
                format!(
                    "Too many parts ({parts} with average size of {} bytes) in table '{}'. Merges are processing \
                     significantly slower than inserts",
                    table.parts.load().bytes / parts.max(1) as u64,
                    table.identity.uuid,
                ),
            ));
        }
        Ok(Self { table, limits, parts: Arc::default() })
    }
}

impl Insertion for MergeTreeInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(PartsWriter {
            table: self.table.clone(),
            limits: self.limits,
            parts: self.parts.clone(),
            schema: self.table.identity.stored.clone(),
            buffered: Vec::new(),
            in_flight: VecDeque::new(),
            rows: 0,
            bytes: 0,
        }))
    }

    fn commit(&self) -> Result<()> {
        let unwritten = std::mem::take(&mut *self.parts.lock());
        if unwritten.is_empty() {
            return Ok(());
        }
        unwritten.iter().try_for_each(UnwrittenPart::wait)?;
        let parts: Vec<Arc<Part>> = unwritten.into_iter().map(|unwritten| unwritten.part).collect();
        let new = parts.iter().map(|part| new_part(&self.table, part)).collect();
        let (table, visible) = (self.table.clone(), parts.clone());
        self.table.catalog.commit_parts(self.table.table_id, new, Box::new(move || table.publish(visible))).inspect_err(
            |error| {
                if error.code == ErrorCode::UNKNOWN_STATUS_OF_INSERT {
                    // The catalog may list them after all: the next start finds out.
                    parts.iter().for_each(|part| part.keep());
                }
            },
        )
    }
}

/// A part as the catalog records it.
pub(super) fn new_part(table: &MergeTree, part: &Part) -> NewPart {
    NewPart {
        name: part.file.name.clone(),
        partition_id: part.file.partition_id.clone(),
        path: part.file.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        rows: part.rows as i64,
        bytes: part.file.bytes as i64,
        footer_bytes: part.description.footer.length.saturating_sub(8) as i64,
        description: part.description.encode(),
        columns: column_statistics(table, part),
    }
}

/// A part's columns in numbers.
pub(super) fn column_statistics(table: &MergeTree, part: &Part) -> Vec<ColumnStatistics> {
    let description = &part.description;
    let statistics = table.identity.stored.fields.iter().enumerate().map(|(column, (_, data_type))| {
        let chunks = description.row_groups.iter().filter_map(|group| group.chunks.get(column));
        let (range, _) = description.range(column);
        ColumnStatistics {
            bytes: chunks.clone().map(|chunk| chunk.at.length as i64).sum(),
            values: part.rows as i64,
            nulls: chunks.map(|chunk| chunk.nulls as i64).sum(),
            may_have_nan: data_type.inner().is_float() && range.incomparable,
            low: range.low,
            high: range.high,
        }
    });
    statistics.collect()
}

/// One thread's share of an INSERT.
struct PartsWriter {
    table: Arc<MergeTree>,
    limits: InsertLimits,
    parts: Arc<Mutex<Vec<UnwrittenPart>>>,
    /// Parts of this writer whose files may not be written yet, oldest first.
    in_flight: VecDeque<UnwrittenPart>,
    schema: Arc<Schema>,
    buffered: Vec<Block>,
    rows: usize,
    bytes: usize,
}

impl PartsWriter {
    /// Makes parts of the buffered rows, one per partition.
    fn flush(&mut self) -> Result<()> {
        let blocks = std::mem::take(&mut self.buffered);
        (self.rows, self.bytes) = (0, 0);
        let block = Block::concat(self.schema.clone(), &blocks)?;
        drop(blocks);
        if block.is_empty() {
            return Ok(());
        }
        let positions = &self.table.identity.stored_positions;
        let value = |key: &KeyExpression| evaluate(&key.expression, &block, positions);
        let keys = self.table.identity.definition.partition_key.iter().map(value).collect::<Result<Vec<Column>>>()?;
        for PartitionRows { id, rows } in partition::split(&block, &keys, self.limits.max_partitions_per_insert_block)?
        {
            let unwritten = write_part(&self.table, &PartName::of_insert(&id, self.table.next_block_number()), &rows)?;
            self.in_flight.push_back(unwritten.clone());
            self.parts.lock().push(unwritten);
            // Encoded parts wait in memory for the disk: where it cannot keep up, the writer must.
            if self.in_flight.len() > PARTS_IN_FLIGHT_MAX
                && let Some(oldest) = self.in_flight.pop_front()
            {
                oldest.wait()?;
            }
        }
        Ok(())
    }
}

impl InsertWriter for PartsWriter {
    fn write(&mut self, block: Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let block = block.materialize()?.with_schema(self.schema.clone());
        let bytes = block.value_bytes();
        // Columns of one block hold less than 2 GiB of strings.
        if self.bytes + bytes > i32::MAX as usize && !self.buffered.is_empty() {
            self.flush()?;
        }
        self.rows += block.rows();
        self.bytes += bytes;
        self.buffered.push(block);
        if self.rows >= self.limits.min_insert_block_size_rows || self.bytes >= self.limits.min_insert_block_size_bytes
        {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush()
    }
}
