//! The right side of a join: collected by all workers, then made a table in parallel.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_planner::JoinStrictness;
use squall_runtime::profile_events::count;
use squall_runtime::{Pieces, ProfileEvent};
use squall_storage::ValueEnds;
use squall_storage::key_index::{KeyIndex, KeyRun, Keys, NO_ROW};
use squall_types::{Block, Column, Error, ErrorCode, Result, SharedStrings};

use super::grace::Grace;
use super::matching::Matching;
use super::nearest::{NearValues, Nearby};
use crate::pipeline::{LocalSink, Sequence, Sink, downcast_local};
use crate::size_limit::{quantity, size};
use crate::source::Places;
use crate::units::{Rows, Units};
use squall_types::gather::concat;

/// The rows of the right side and where they are found.
pub(crate) struct JoinTable {
    matching: Arc<Matching>,
    /// There once all rows have come.
    held: OnceLock<Held>,
    rows: AtomicU64,
    bytes: AtomicU64,
    is_full: AtomicBool,
    /// How both sides get onto the disk, where they can.
    grace: Option<Arc<Grace>>,
}

/// The rows of the right side, while the table is filled and after.
pub(crate) struct Held {
    pub(super) index: Arc<KeyIndex>,
    /// The keys of each block with the number of its first row, until all partitions are filled.
    runs: Mutex<Arc<Vec<(u32, KeyRun)>>>,
    /// The pieces of each column, until they are put together.
    pieces: Places<Vec<Column>>,
    /// The held columns: the rows, and one more of defaults, which stands for a row that is missing.
    columns: Vec<OnceLock<Column>>,
    /// Those of strings, once rows were taken of them.
    strings: Vec<OnceLock<Option<SharedStrings>>>,
    pub(super) rows: usize,
    /// With ASOF, which rows are near to which values.
    pub(super) nearest: Option<Nearby>,
    /// Of each key, the smallest and the largest value, where a scan wants to know.
    key_ends: Vec<Option<ValueEnds>>,
    /// A bit for each row that was found.
    found: Vec<AtomicU64>,
    /// Partitions and columns that are still to be done.
    units_left: AtomicUsize,
}

impl Held {
    /// A held column.
    pub(super) fn column(&self, at: usize) -> Result<&Column> {
        let column = self.columns.get(at).and_then(OnceLock::get);
        column.ok_or_else(|| Error::logical("a join's table is read before it is filled"))
    }

    /// Rows of a held column; strings stay where they are.
    pub(super) fn take(&self, at: usize, positions: &UInt32Array) -> Result<Column> {
        let column = self.column(at)?;
        let is_plain = !column.is_constant() && column.coded().is_none() && column.sparse().is_none();
        let strings = self.strings.get(at).filter(|_| is_plain);
        match strings.map(|strings| strings.get_or_init(|| SharedStrings::of(column.array()))) {
            Some(Some(strings)) => Ok(Column::of_rows(column.data_type().clone(), strings.take(positions)?)),
            _ => column.take(positions),
        }
    }

    /// Notes that a row was found; whether it was before.
    #[inline]
    pub(super) fn find(&self, row: u32) -> bool {
        let (word, bit) = (row as usize / 64, 1 << (row % 64));
        let Some(word) = self.found.get(word) else { return false };
        // Most rows of a busy key are found already: then nobody's cache line is taken away.
        word.load(Ordering::Relaxed) & bit != 0 || word.fetch_or(bit, Ordering::Relaxed) & bit != 0
    }

    pub(super) fn is_found(&self, row: usize) -> bool {
        self.found.get(row / 64).is_some_and(|word| word.load(Ordering::Relaxed) & 1 << (row % 64) != 0)
    }

    async fn fill(&self, unit: usize, matching: &Matching) -> Result<()> {
        let partitions = self.index.partitions();
        let mut work = Pieces::begin();
        if unit < partitions {
            let runs = self.runs.lock().clone();
            self.index.fill_in_pieces(unit, &runs, &mut work).await?;
            if let Some(nearest) = &self.nearest {
                nearest.fill(unit, &self.index, &mut work).await?;
            }
        } else if let Some(pieces) = self.pieces.take(unit - partitions) {
            let _ = self.columns[unit - partitions].set(concat(pieces, &mut work).await?);
        }
        if self.units_left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return Ok(());
        }
        let runs = std::mem::take(&mut *self.runs.lock());
        // Nobody else has them any more: freeing them takes time too.
        for run in Arc::try_unwrap(runs).unwrap_or_default() {
            drop(run);
            work.pause().await;
        }
        if matching.strictness == JoinStrictness::RightAny && matching.kind.keeps_right() {
            // The first row stands for its key; the others are as if they were not there.
            for first in (0..self.rows).step_by(ROWS_AT_ONCE) {
                let rows = first as u32..self.rows.min(first + ROWS_AT_ONCE) as u32;
                rows.map(|row| self.index.next(row)).filter(|row| *row != NO_ROW).for_each(|row| {
                    self.find(row);
                });
                work.pause().await;
            }
        }
        Ok(())
    }
}

impl JoinTable {
    pub(crate) fn new(matching: Arc<Matching>, grace: Option<Arc<Grace>>) -> Self {
        Self {
            matching,
            held: OnceLock::new(),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            grace,
        }
    }

    /// The table of rows that are held by key already, with a row of defaults after them.
    pub(super) fn stored(matching: Arc<Matching>, index: Arc<KeyIndex>, columns: Vec<Column>, rows: usize) -> Self {
        let table = Self::new(matching, None);
        let words = if table.matching.notes_finds() { rows.div_ceil(64) } else { 0 };
        let held = Held {
            index,
            runs: Mutex::default(),
            pieces: Places::new([]),
            strings: columns.iter().map(|_| OnceLock::new()).collect(),
            columns: columns.into_iter().map(OnceLock::from).collect(),
            rows,
            nearest: None,
            key_ends: Vec::new(),
            found: std::iter::repeat_with(AtomicU64::default).take(words).collect(),
            units_left: AtomicUsize::new(0),
        };
        let _ = table.held.set(held);
        table
    }

    pub(crate) fn grace(&self) -> Option<&Arc<Grace>> {
        self.grace.as_ref()
    }

    /// The keys, once all rows have come and are in memory.
    pub(super) fn index(&self) -> Option<&KeyIndex> {
        self.held.get().map(|held| &*held.index)
    }

    /// The ends of a key's values, once all rows have come; `None` where they are not known.
    pub(super) fn key_ends(&self, key: usize) -> Option<ValueEnds> {
        let held = self.held.get()?;
        held.key_ends.get(key)?.clone()
    }

    /// The table, once all rows have come.
    pub(super) fn held(&self) -> Result<&Held> {
        self.held.get().ok_or_else(|| Error::logical("a join's table is read before its rows have come"))
    }

    /// Counts a block; whether it is still to be held.
    fn count(&self, rows: u64, bytes: u64) -> Result<bool> {
        if self.is_full.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let rows = self.rows.fetch_add(rows, Ordering::Relaxed) + rows;
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let settings = &self.matching.context.settings;
        let (rows_max, bytes_max) = match self.matching.is_grace() {
            // What is more goes to disk.
            true => (0, 0),
            false => (settings.max_rows_in_join, settings.max_bytes_in_join),
        };
        let message = if rows_max > 0 && rows > rows_max {
            format!(
                "Limit for JOIN exceeded, max rows: {}, current rows: {}: While executing FillingRightJoinSide",
                quantity(rows_max),
                quantity(rows)
            )
        } else if bytes_max > 0 && bytes > bytes_max {
            format!(
                "Limit for JOIN exceeded, max bytes: {}, current bytes: {}: While executing FillingRightJoinSide",
                size(bytes_max),
                size(bytes)
            )
        } else if rows >= u64::from(NO_ROW) - 1 {
            return Err(Error::new(
                ErrorCode::SET_SIZE_LIMIT_EXCEEDED,
                "More than 4 billion rows on the right of a JOIN",
            ));
        } else {
            return Ok(true);
        };
        if settings.join_overflow_mode == "break" {
            self.is_full.store(true, Ordering::Relaxed);
            return Ok(true);
        }
        Err(Error::new(ErrorCode::SET_SIZE_LIMIT_EXCEEDED, message))
    }
}

/// Rows that are looked at between two looks at the clock.
const ROWS_AT_ONCE: usize = 65_536;

/// Bytes that a row's key takes, about: itself, and its place in the table.
const KEY_BYTES: usize = 32;

/// Collects the right side.
pub(crate) struct JoinSink {
    table: Arc<JoinTable>,
}

impl JoinSink {
    pub(crate) fn new(table: Arc<JoinTable>) -> Self {
        Self { table }
    }
}

impl Sink for JoinSink {
    fn local(&self) -> Result<Box<dyn LocalSink>> {
        Ok(Box::new(JoinLocal::new(self.table.clone())))
    }

    fn finish(&self, locals: Vec<Box<dyn LocalSink>>) -> Result<()> {
        let locals = locals.into_iter().map(downcast_local::<JoinLocal>).collect::<Result<Vec<_>>>()?;
        if let Some(grace) = &self.table.grace {
            if grace.is_on() || grace.is_near(locals.iter().map(|local| local.bytes).sum()) {
                locals.into_iter().try_for_each(|local| local.spill(grace))?;
                grace.end_right();
                return Ok(());
            }
            grace.end_right();
        }
        let matching = &self.table.matching;
        let mut key_ends = matching.no_ends();
        let mut blocks = Vec::new();
        for local in locals {
            widen(&mut key_ends, local.key_ends);
            blocks.extend(local.blocks);
        }
        // In the order of the rows, whoever collected them: what ANY takes does not depend on chance.
        blocks.sort_by_key(|block: &CollectedBlock| block.sequence);
        let mut runs = Vec::with_capacity(blocks.len());
        let mut columns: Vec<Vec<Column>> = matching.held_types.iter().map(|_| Vec::new()).collect();
        let mut rows = 0;
        let mut values = Vec::new();
        for CollectedBlock { columns: own, run, values: own_values, rows: own_rows, .. } in blocks {
            runs.push((rows as u32, run));
            rows += own_rows;
            values.extend(own_values);
            for (all, column) in columns.iter_mut().zip(own) {
                all.push(column);
            }
        }
        for (all, data_type) in columns.iter_mut().zip(&matching.held_types) {
            all.push(Column::default_values(data_type.clone(), 1)?);
        }
        let is_paste = matching.strictness == JoinStrictness::Paste;
        if is_paste {
            // Rows are found by their numbers.
            runs.clear();
        }
        let keeps_last = matching.keeps_last_of_key();
        let index = match matching.nearest {
            // ASOF goes through the keys of a partition, which only hashed tables keep together.
            Some(_) => KeyIndex::new(rows, keeps_last),
            None => KeyIndex::of_runs(if is_paste { 0 } else { rows }, keeps_last, &runs)?,
        };
        let nearest = match &matching.nearest {
            Some(nearest) => Some(Nearby::new(nearest, values, index.partitions())?),
            None => None,
        };
        let words = if matching.notes_finds() { rows.div_ceil(64) } else { 0 };
        let held = Held {
            units_left: AtomicUsize::new(index.partitions() + columns.len()),
            index: Arc::new(index),
            runs: Mutex::new(Arc::new(runs)),
            strings: columns.iter().map(|_| OnceLock::new()).collect(),
            columns: columns.iter().map(|_| OnceLock::new()).collect(),
            pieces: Places::new(columns),
            rows,
            nearest,
            key_ends,
            found: std::iter::repeat_with(AtomicU64::default).take(words).collect(),
        };
        let _ = self.table.held.set(held);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.table.is_full.load(Ordering::Relaxed)
    }

    fn is_full(&self) -> bool {
        self.table.grace.as_ref().is_some_and(|grace| grace.is_right_full())
    }

    fn block_rows_max(&self) -> Option<usize> {
        let rows = self.table.matching.context.settings.max_block_size;
        usize::try_from(rows).ok().filter(|rows| *rows > 0)
    }

    fn name(&self) -> &'static str {
        "JoinBuild"
    }
}

struct JoinLocal {
    table: Arc<JoinTable>,
    blocks: Vec<CollectedBlock>,
    /// As those of [`Held`].
    key_ends: Vec<Option<ValueEnds>>,
    bytes: usize,
}

/// Makes ends those of more keys.
fn widen(ends: &mut [Option<ValueEnds>], more: Vec<Option<ValueEnds>>) {
    for (known, more) in ends.iter_mut().zip(more) {
        *known = known.take().zip(more).map(|(known, more)| known.and(more));
    }
}

impl JoinLocal {
    fn new(table: Arc<JoinTable>) -> Self {
        let key_ends = table.matching.no_ends();
        Self { table, blocks: Vec::new(), key_ends, bytes: 0 }
    }

    /// Has the rows put on disk.
    fn spill(self, grace: &Arc<Grace>) -> Result<()> {
        grace.put_right(self.blocks.into_iter().filter_map(|block| block.input).collect())
    }
}

/// A block of the right side.
struct CollectedBlock {
    sequence: Sequence,
    columns: Vec<Column>,
    run: KeyRun,
    /// The block itself, where it may still go to disk.
    input: Option<Block>,
    /// With ASOF, what is compared.
    values: Option<NearValues>,
    rows: usize,
}

impl LocalSink for JoinLocal {
    fn consume(&mut self, sequence: Sequence, block: Block) -> Result<()> {
        let matching = &self.table.matching;
        let key_columns = matching.key_columns(&matching.right_keys, &block)?;
        if !self.key_ends.is_empty() {
            widen(&mut self.key_ends, key_columns.iter().map(ValueEnds::of).collect());
        }
        let mut keys = Keys::new(matching.form, &key_columns, block.rows())?;
        let mut values = None;
        if let Some(nearest) = &matching.nearest {
            let own = NearValues::new(&nearest.right, &block)?;
            // What has no value is near to none.
            keys = keys.of_valid(own.valid());
            values = Some(own);
        }
        let held = matching.held_columns.iter().zip(&matching.held_types).map(|(column, data_type)| {
            // A type differs at most by its Nullable, whose arrays are the same.
            Ok(block.column(*column).clone().without_constant()?.with_type(data_type.clone()))
        });
        let held = held.collect::<Result<Vec<Column>>>()?;
        let bytes: usize = held.iter().map(Column::value_bytes).sum();
        count(ProfileEvent::JoinBuildTableRowCount, block.rows() as u64);
        if self.table.count(block.rows() as u64, bytes as u64)? {
            let run = KeyRun::new(keys);
            let rows = block.rows();
            let input = self.table.grace.is_some().then_some(block);
            self.bytes += bytes + rows * KEY_BYTES;
            self.blocks.push(CollectedBlock { sequence, columns: held, run, input, values, rows });
        }
        let grace = self.table.grace.as_ref().filter(|grace| grace.is_passed(self.bytes)).cloned();
        if let Some(grace) = grace {
            let table = self.table.clone();
            std::mem::replace(self, Self::new(table)).spill(&grace)?;
        }
        Ok(())
    }
}

/// Makes the table: a unit fills a partition of the keys, or puts the pieces of a column together.
pub(crate) struct Filling(pub(crate) Arc<JoinTable>);

impl Units for Filling {
    fn units(&self) -> usize {
        self.0.held.get().map_or(0, |held| held.index.partitions() + held.columns.len())
    }

    async fn run(self: Arc<Self>, unit: usize, _: Rows) -> Result<()> {
        self.0.held()?.fill(unit, &self.0.matching).await
    }
}
