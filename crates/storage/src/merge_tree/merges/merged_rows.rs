//! The rows of several parts in the order of the sorting key: each part is read a batch of rows at a time, so that a merge holds batches
//! and never parts. What becomes of rows with equal keys is the caller's business.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;
use parking_lot::Mutex;
use squall_planner::KeyExpression;
use squall_runtime::Pieces;
use squall_types::gather::{concat_blocks, take};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Rows, Schema};

use super::merge_rule::{MergeRule, taken};
use crate::column_mapping::Source;
use crate::evaluate::evaluate;
use crate::merge_tree::MergeTree;
use crate::merge_tree::changes::deleted_rows::{Deletion, Deletions};
use crate::merge_tree::order::sorting::{SortedKeys, sorted_positions};
use crate::merge_tree::parts::column_reader::ColumnReader;
use crate::merge_tree::parts::part::{Part, corrupted};
use crate::merge_tree::scans::mapped_scan::Mapping;

/// Rows of a part that are decoded at once.
const BATCH_ROWS: usize = 8192;

/// The rows of parts, merged.
pub(in crate::merge_tree) struct MergedRows {
    table: Arc<MergeTree>,
    /// In the order of their inserts: of rows with equal keys those of earlier ones come first.
    cursors: Vec<Cursor>,
}

/// Where a merge is in a part.
struct Cursor {
    rows: PartRows,
    /// Rows that were read, their keys, and how many of them are taken already.
    batch: Option<(Block, SortedKeys)>,
    taken: usize,
}

impl MergedRows {
    /// Those of some parts of a table, which are in the order of their inserts, but for rows that are deleted.
    ///
    /// # Errors
    /// Where a part's columns cannot become the table's.
    pub(in crate::merge_tree) fn new(
        table: &Arc<MergeTree>,
        parts: &[Arc<Part>],
        deletions: &Deletions,
    ) -> Result<Self> {
        let cursor = |part: &Arc<Part>| {
            let deletion = deletions.of(&part.file.name).cloned();
            Ok(Cursor { rows: PartRows::new(table, part, deletion)?, batch: None, taken: 0 })
        };
        Ok(Self { table: table.clone(), cursors: parts.iter().map(cursor).collect::<Result<_>>()? })
    }

    /// The next rows, with the table's stored columns; nothing after the last.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub(in crate::merge_tree) async fn next(&mut self, pieces: &mut Pieces) -> Result<Option<Block>> {
        // Without a key rows are in the order of their inserts.
        let is_sorted = !self.table.identity.definition.sorting_key.is_empty();
        let mut at = 0;
        while let Some(cursor) = self.cursors.get_mut(at) {
            if cursor.batch.is_none() && !cursor.read(&self.table, pieces).await? {
                self.cursors.remove(at);
                continue;
            }
            at += 1;
            if !is_sorted {
                break;
            }
        }
        // The batch that ends first: no row that is still to be read comes before its last one.
        let mut first: Option<(usize, &SortedKeys, usize)> = None;
        for (at, cursor) in self.cursors.iter().enumerate().take(if is_sorted { usize::MAX } else { 1 }) {
            let Some((block, keys)) = &cursor.batch else { continue };
            let last = block.rows() - 1;
            if first.is_none_or(|(_, others, other)| keys.compare(last, others, other).is_lt()) {
                first = Some((at, keys, last));
            }
        }
        let Some((end, end_keys, end_row)) = first else { return Ok(None) };
        let mut counts = Vec::with_capacity(self.cursors.len());
        for (at, cursor) in self.cursors.iter().enumerate().take(if is_sorted { usize::MAX } else { 1 }) {
            let Some((block, keys)) = &cursor.batch else { continue };
            counts.push(match at == end {
                true => block.rows() - cursor.taken,
                // Of rows with its key those of earlier parts come before it.
                false => keys.count_before(cursor.taken, end_keys, end_row, at < end),
            });
        }
        let mut taken = Vec::new();
        for (cursor, count) in self.cursors.iter_mut().zip(counts) {
            taken.extend(cursor.take(count));
        }
        let is_one = taken.len() == 1;
        let block = concat_blocks(&self.table.identity.stored, taken, pieces).await?;
        if is_one {
            return Ok(Some(block));
        }
        sorted(&self.table, block, pieces).await.map(Some)
    }
}

impl Cursor {
    /// Reads the next batch; whether there is one.
    async fn read(&mut self, table: &MergeTree, pieces: &mut Pieces) -> Result<bool> {
        let Some(block) = self.rows.next(pieces).await? else { return Ok(false) };
        let keys = SortedKeys::new(&sorting_keys(table, &block)?, block.rows(), pieces).await?;
        if !keys.are_in_order(pieces).await {
            return Err(corrupted(&self.rows.part.file.path, "its rows are not in the order of the sorting key"));
        }
        self.taken = 0;
        self.batch = Some((block, keys));
        Ok(true)
    }

    /// Takes the next rows of the batch.
    fn take(&mut self, rows: usize) -> Option<Block> {
        let (block, _) = self.batch.as_ref()?;
        let taken = (rows > 0).then(|| block.slice(self.taken, rows));
        self.taken += rows;
        if self.taken >= block.rows() {
            self.batch = None;
        }
        taken
    }
}

/// What rows are sorted by: the sorting key, then what the table's rule sorts by.
pub(super) fn sorting_keys(table: &MergeTree, block: &Block) -> Result<Vec<Column>> {
    let positions = &table.identity.stored_positions;
    let value = |key: &KeyExpression| evaluate(&key.expression, block, positions);
    let mut keys = table.identity.definition.sorting_key.iter().map(value).collect::<Result<Vec<_>>>()?;
    keys.extend(table.rule.as_ref().and_then(MergeRule::sorted_by).and_then(|at| block.columns().get(at)).cloned());
    Ok(keys)
}

/// A block's rows in order, rows of equal keys as they came.
pub(in crate::merge_tree) async fn sorted(table: &MergeTree, block: Block, pieces: &mut Pieces) -> Result<Block> {
    let Some(order) = sorted_positions(&sorting_keys(table, &block)?, block.rows(), pieces).await? else {
        return Ok(block);
    };
    let mut columns = Vec::with_capacity(block.columns().len());
    for column in block.columns() {
        columns.push(take(column, &order, pieces).await?);
        pieces.pause().await;
    }
    Ok(Block::new(block.schema().clone(), columns, order.len()))
}

/// The rows of a part, batch by batch, as the table's stored columns.
struct PartRows {
    table: Arc<MergeTree>,
    part: Arc<Part>,
    /// How the table's columns come from the part's, where that is not as they are.
    mapping: Option<Mapping>,
    /// The part's columns that are read.
    columns: Vec<usize>,
    schema: Arc<Schema>,
    /// The next row group.
    row_group: usize,
    /// One per column, of the current row group.
    readers: Vec<ColumnReader>,
    left: usize,
    /// Whether the values that keys are computed of were cast since the part was written, which may have changed their order: then all of
    /// its rows are one batch.
    is_sorted_anew: bool,
    /// Rows that are deleted, and how many rows were read so far.
    deletion: Option<Arc<Deletion>>,
    read: usize,
}

impl PartRows {
    fn new(table: &Arc<MergeTree>, part: &Arc<Part>, deletion: Option<Arc<Deletion>>) -> Result<Self> {
        let identity = &table.identity;
        let mapping = match part.schema.is_like(&table.schema) {
            true => None,
            false => {
                let positions = identity.stored_positions.iter().enumerate();
                let wanted: Vec<usize> = positions.filter_map(|(at, stored)| stored.map(|_| at)).collect();
                Some(Mapping::new(table, &part.schema, &wanted)?)
            }
        };
        let mut is_sorted_anew = false;
        if mapping.is_some() {
            let mut look = |column: usize| {
                let stored = identity.stored_positions.get(column).copied().flatten();
                let ids = stored.and_then(|at| Some((identity.fields.ids.get(at)?, identity.stored.fields.get(at)?)));
                is_sorted_anew |= ids
                    .is_none_or(|(ids, (_, data_type))| !matches!(part.schema.source(ids, data_type), Source::Same(_)));
            };
            identity.definition.sorting_key.iter().for_each(|key| key.expression.visit_columns(&mut look));
        }
        let columns = match &mapping {
            Some(mapping) => mapping.columns.read.clone(),
            None => (0..identity.stored.len()).collect(),
        };
        let fields: Vec<(Arc<str>, DataType)> =
            columns.iter().filter_map(|at| part.schema.stored.fields.get(*at).cloned()).collect();
        Ok(Self {
            table: table.clone(),
            part: part.clone(),
            mapping,
            columns,
            schema: Arc::new(Schema::new(fields)),
            row_group: 0,
            readers: Vec::new(),
            left: 0,
            is_sorted_anew,
            deletion,
            read: 0,
        })
    }

    /// The next rows; nothing after the last.
    async fn next(&mut self, pieces: &mut Pieces) -> Result<Option<Block>> {
        if !self.is_sorted_anew {
            return self.next_batch(pieces).await;
        }
        let mut all = Vec::new();
        while let Some(block) = self.next_batch(pieces).await? {
            all.push(block);
        }
        if all.is_empty() {
            return Ok(None);
        }
        let block = concat_blocks(&self.table.identity.stored, all, pieces).await?;
        sorted(&self.table, block, pieces).await.map(Some)
    }

    async fn next_batch(&mut self, pieces: &mut Pieces) -> Result<Option<Block>> {
        loop {
            let Some(block) = self.next_read(pieces).await? else { return Ok(None) };
            let (first, rows) = (self.read, block.rows());
            self.read += rows;
            let Some(deletion) = &self.deletion else { return Ok(Some(block)) };
            let left = deletion.rows.left(first..first + rows).flatten().map(|row| (row - first) as u32);
            let block = taken(&block, left.collect(), pieces).await?;
            if !block.is_empty() {
                return Ok(Some(block));
            }
        }
    }

    /// The next rows, those that are deleted among them.
    async fn next_read(&mut self, pieces: &mut Pieces) -> Result<Option<Block>> {
        while self.left == 0 {
            let Some(group) = self.part.description.row_groups.get(self.row_group) else { return Ok(None) };
            let rows = group.rows;
            let mut readers = Vec::with_capacity(self.columns.len());
            let fetched = self.fetch().await?;
            for (column, bytes) in self.columns.iter().zip(fetched) {
                readers.push(self.part.reader(self.row_group, *column, bytes, BATCH_ROWS, true)?.0);
            }
            (self.readers, self.left) = (readers, rows);
            self.row_group += 1;
        }
        let rows = self.left.min(BATCH_ROWS);
        let mut columns = Vec::with_capacity(self.columns.len());
        let fields = self.columns.iter().zip(&self.schema.fields);
        for ((column, (_, data_type)), reader) in fields.zip(&mut self.readers) {
            let bad = |why: &dyn std::fmt::Display| corrupted(&self.part.file.path, why);
            let array = loop {
                let array = reader.next().ok_or_else(|| bad(&"a chunk has too few rows"))?;
                match array.map_err(|error| bad(&error))? {
                    none if none.is_empty() => pieces.pause().await,
                    array => break array,
                }
            };
            if array.len() != rows {
                return Err(bad(&format!("a batch has {} rows, expected {rows}", array.len())));
            }
            let values = self.part.rows_as_read(*column, self.part.to_memory(*column, &array)?)?;
            // Each part has a dictionary of its own, and rows of several come together.
            let values = Rows::Whole(Column::of_rows(data_type.clone(), values).to_array()?);
            columns.push(Column::of_rows(data_type.clone(), values));
            pieces.pause().await;
        }
        self.left -= rows;
        if self.left == 0 {
            self.readers.clear();
        }
        let block = Block::new(self.schema.clone(), columns, rows);
        Ok(Some(match &self.mapping {
            Some(mapping) => mapping.columns.map(&block, &self.table.identity.stored)?,
            None => block.with_schema(self.table.identity.stored.clone()),
        }))
    }

    /// The bytes of the next row group's columns, which a thread that may wait for the disk reads.
    async fn fetch(&mut self) -> Result<Vec<Bytes>> {
        let fetched = Arc::new(Mutex::new(Fetched::default()));
        let job = {
            let (part, fetched) = (self.part.clone(), fetched.clone());
            let (row_group, columns) = (self.row_group, self.columns.clone());
            move || {
                let bytes = part.fetch_columns(row_group, &columns);
                let mut fetched = fetched.lock();
                fetched.bytes = Some(bytes);
                let waker = fetched.waker.take();
                drop(fetched);
                waker.into_iter().for_each(Waker::wake);
            }
        };
        if !self.table.cache.on_io_thread(job) {
            return Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, "No thread to read a part with"));
        }
        poll_fn(|context| {
            let mut fetched = fetched.lock();
            match fetched.bytes.take() {
                Some(bytes) => Poll::Ready(bytes),
                None => {
                    fetched.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// What is read of a row group, once it is.
#[derive(Default)]
struct Fetched {
    bytes: Option<Result<Vec<Bytes>>>,
    waker: Option<Waker>,
}
