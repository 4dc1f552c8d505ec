//! A scan some of whose chunks are on disk. Row groups ahead are fetched by threads that may wait. A claim hands out rows in their
//! order, once their row group is there. Of chunks that the cache [keeps](Missing::are_kept) that is when they are decoded; until then a
//! claim hands out chunks to decode, as morsels without rows, and different workers decode different chunks. Of others the bytes
//! suffice: a worker decodes the rows of its morsel, and no more.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use parking_lot::Mutex;
use squall_runtime::cpu::logical_cpus;
use squall_types::{Block, Column, Error, Result, Schema};

use super::chunk_decoder::BATCH_ROWS;
use super::chunk_rows::{ChunkPlace, ChunkRows};
use super::hot_scan::row_numbers;
use super::pruning::{Segment, by_row_group, rows_from, selection};
use super::retention::Missing;
use crate::column_cache::{ChunkLoad, ChunkSlot, ColumnCache};
use crate::merge_tree::parts::part::Part;
use crate::table::{Claim, Morsel, RowNumbers, ScanRequest, ScanSelection, TableScan};

/// Row groups that are fetched before they are claimed: two a core, so that every core has one to decode.
pub(super) const GROUPS_AHEAD_PER_CPU: usize = 2;
/// Bytes on disk of the row groups that are fetched ahead, per core; one group is fetched however large it is.
pub(super) const BYTES_AHEAD_PER_CPU_MAX: u64 = 64 << 20;
/// Bytes that are being fetched before the next row group is begun: a disk that answers in 1.6 ms gives 10 GB a second of so many at once.
/// More would have the first row group come with the others, and nothing to decode meanwhile.
pub(super) const BYTES_IN_FLIGHT_MAX: u64 = 16 << 20;

/// Rows of a morsel of chunks that are decoded as they are read, at most: pages of numbers have as many or fewer, and morsels that end where
/// pages do decode none twice.
const DIRECT_ROWS: u64 = 65_536;
/// Bytes of such a morsel, as estimated.
const DIRECT_BYTES: u64 = 8 << 20;

/// Rows of a morsel of a row group of so many rows and bytes.
pub(super) fn direct_rows(rows: u64, bytes: u64) -> u64 {
    let rows_of_bytes = DIRECT_BYTES.saturating_mul(rows) / bytes.max(1);
    DIRECT_ROWS.min(rows_of_bytes.max(1).next_power_of_two()).max(BATCH_ROWS as u64)
}

/// What a scan gives.
#[derive(Clone)]
struct Reading {
    schema: Arc<Schema>,
    columns: Vec<usize>,
    row_numbers: RowNumbers,
    rows: u64,
    selection: ScanSelection,
    cache_bytes: u64,
}

/// A scan over chunks that are read as it goes.
pub(in crate::merge_tree) struct ColdScan {
    reading: Reading,
    /// What all chunks that are not in the cache take decoded, as estimated.
    missing_bytes: u64,
    state: Mutex<State>,
    waiters: Arc<Waiters>,
    this: Weak<Self>,
}

#[derive(Default)]
struct State {
    groups: Vec<Group>,
    /// Groups before this one are claimed to their ends.
    first_open: usize,
    /// Rows that may still be handed out: the limit's rest.
    rows_left: u64,
}

/// The segments of one row group.
struct Group {
    part: Arc<Part>,
    row_group: usize,
    segments: Vec<Segment>,
    /// The first row in the scan's numbering.
    first: u64,
    rows: u64,
    claimed: u64,
    read: u64,
    /// Rows of a morsel, where rows are decoded as they are read.
    direct_rows: Option<u64>,
    chunks: Chunks,
}

/// Where the chunks of a group are.
enum Chunks {
    OnDisk,
    /// On their way, or there; one per column of the scan.
    Loading(Vec<Chunk>),
    Ready(Arc<[ChunkRows]>),
    /// All rows were read.
    Done,
}

enum Chunk {
    Ready(ChunkRows),
    Loading {
        load: Arc<ChunkLoad>,
        /// A worker of this scan was sent to decode it.
        is_claimed: bool,
    },
}

impl Group {
    /// Of the segments of one row group, after so many rows.
    fn new(segments: Vec<Segment>, first: u64) -> Option<Self> {
        let of = segments.first()?;
        Some(Self {
            part: of.part.clone(),
            row_group: of.row_group,
            rows: segments.iter().map(|segment| segment.rows as u64).sum(),
            segments,
            first,
            claimed: 0,
            read: 0,
            direct_rows: None,
            chunks: Chunks::OnDisk,
        })
    }

    /// Takes note of chunks that have been decoded, or fetched where that suffices. Whether all are there.
    fn is_ready(&mut self) -> bool {
        let Chunks::Loading(chunks) = &mut self.chunks else { return matches!(self.chunks, Chunks::Ready(_)) };
        let is_direct = self.direct_rows.is_some();
        let mut ready = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            if let Chunk::Loading { load, .. } = chunk {
                let rows = match is_direct {
                    true => load.bytes().map(ChunkRows::encoded),
                    false => load.decoded().map(ChunkRows::Decoded),
                };
                if let Some(rows) = rows {
                    *chunk = Chunk::Ready(rows);
                }
            }
            if let Chunk::Ready(rows) = chunk {
                ready.push(rows.clone());
            }
        }
        let is_ready = matches!(&self.chunks, Chunks::Loading(chunks) if chunks.len() == ready.len());
        if is_ready {
            self.chunks = Chunks::Ready(ready.into());
        }
        is_ready
    }

    /// Whether no chunk is being fetched any more.
    fn is_fetched(&self) -> bool {
        match &self.chunks {
            Chunks::OnDisk => false,
            Chunks::Loading(chunks) => chunks.iter().all(|chunk| match chunk {
                Chunk::Ready(_) => true,
                Chunk::Loading { load, .. } => !load.is_fetching(),
            }),
            Chunks::Ready(_) | Chunks::Done => true,
        }
    }

    /// The place among the scan's columns of a chunk that can be decoded now, or has failed.
    fn claim_chunk(&mut self) -> Option<usize> {
        let is_direct = self.direct_rows.is_some();
        let Chunks::Loading(chunks) = &mut self.chunks else { return None };
        chunks.iter_mut().position(|chunk| match chunk {
            Chunk::Loading { load, is_claimed }
                if !*is_claimed && if is_direct { load.has_failed() } else { load.is_fetched() } =>
            {
                *is_claimed = true;
                true
            }
            _ => false,
        })
    }

    /// What the chunks that are not in the cache take decoded, as estimated.
    fn missing_bytes(&self, columns: &[usize]) -> u64 {
        let is_missing = |column: &usize| self.slot(*column).is_some_and(|slot| !slot.is_decoded());
        let missing = columns.iter().filter(|column| is_missing(column));
        missing.map(|column| self.part.decoded_bytes(self.row_group, *column)).sum()
    }

    /// What a scan that misses so many bytes in all wants of this row group.
    fn missing(&self, columns: &[usize], bytes_of_scan: u64) -> Missing {
        let rows = self.part.description.row_groups.get(self.row_group).map_or(0, |group| group.rows as u64);
        let mut missing = columns.iter().filter_map(|column| self.slot(*column)).filter(|slot| !slot.is_decoded());
        Missing { rows, rows_wanted: self.rows, bytes_of_scan, were_read: missing.all(|slot| slot.was_read()) }
    }

    fn slot(&self, column: usize) -> Option<&Arc<ChunkSlot>> {
        self.part.slot(self.row_group, column)
    }

    /// How many of the next rows a morsel has, of about so many.
    fn morsel_rows(&self, rows: u64) -> u64 {
        let left = self.rows - self.claimed;
        let Some(direct) = self.direct_rows else { return rows.max(1).min(left) };
        let place = match &self.segments[..] {
            [one] => one.offset as u64 + self.claimed,
            _ => 0,
        };
        (direct - place % direct).min(left)
    }
}

/// Who waits for a chunk of this scan. Woken all at once, when any chunk arrives or is decoded.
#[derive(Default)]
pub(in crate::merge_tree) struct Waiters(Mutex<Vec<Waker>>);

impl Waiters {
    pub(in crate::merge_tree) fn add(&self, waker: &Waker) {
        let mut waiting = self.0.lock();
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        let woken = std::mem::take(&mut *self.0.lock());
        woken.into_iter().for_each(Waker::wake);
    }
}

impl ColdScan {
    /// Begins the scan and its first fetches.
    pub(in crate::merge_tree) fn start(
        cache: &ColumnCache,
        segments: Vec<Segment>,
        columns: &[usize],
        request: &ScanRequest,
    ) -> Arc<Self> {
        let scan = Reading {
            schema: request.schema.clone(),
            columns: columns.to_vec(),
            row_numbers: request.row_numbers.clone(),
            rows: request.limited(segments.iter().map(|segment| segment.rows as u64).sum()),
            selection: selection(&segments),
            cache_bytes: cache.capacity() as u64,
        };
        let scan = Self::of(scan, by_row_group(segments));
        scan.fetch_ahead(&mut scan.state.lock());
        scan
    }

    /// A scan of these segments of each row group; nothing is fetched yet.
    fn of(reading: Reading, groups: Vec<Vec<Segment>>) -> Arc<Self> {
        let mut total = 0;
        let group = |segments: Vec<Segment>| {
            let group = Group::new(segments, total)?;
            total += group.rows;
            Some(group)
        };
        let groups: Vec<Group> = groups.into_iter().filter_map(group).collect();
        let missing_bytes = groups.iter().map(|group| group.missing_bytes(&reading.columns)).sum();
        let state = State { groups, first_open: 0, rows_left: reading.rows };
        Arc::new_cyclic(|this| Self {
            reading,
            missing_bytes,
            state: Mutex::new(state),
            waiters: Arc::default(),
            this: this.clone(),
        })
    }

    /// Starts fetching the next groups.
    fn fetch_ahead(&self, state: &mut State) {
        let columns = &self.reading.columns;
        let cpus = logical_cpus().max(2);
        let (mut bytes, mut in_flight) = (0, 0);
        let open = state.groups.iter_mut().skip(state.first_open).filter(|group| group.claimed < group.rows);
        for (at, group) in open.take(GROUPS_AHEAD_PER_CPU * cpus).enumerate() {
            let described = group.part.description.row_groups.get(group.row_group);
            let chunk_bytes = |column: &usize| {
                described.and_then(|group| group.chunks.get(*column)).map_or(0, |chunk| chunk.at.length)
            };
            let group_bytes = columns.iter().map(chunk_bytes).sum::<u64>();
            bytes += group_bytes;
            if at > 0 && (bytes > BYTES_AHEAD_PER_CPU_MAX * cpus as u64 || in_flight > BYTES_IN_FLIGHT_MAX) {
                break;
            }
            if !group.is_fetched() {
                in_flight += group_bytes;
            }
            if !matches!(group.chunks, Chunks::OnDisk) {
                continue;
            }
            let missing = group.missing(columns, self.missing_bytes);
            let is_kept = missing.are_kept(self.reading.cache_bytes);
            group.direct_rows = (!is_kept).then(|| direct_rows(missing.rows, group.missing_bytes(columns)));
            let mut chunks = Vec::with_capacity(columns.len());
            let mut to_start = Vec::new();
            let waker = Waker::from(self.waiters.clone());
            for column in columns {
                let Some(slot) = group.part.slot(group.row_group, *column) else { continue };
                chunks.push(match slot.get() {
                    Some(rows) => Chunk::Ready(ChunkRows::Decoded(rows)),
                    None => {
                        let (load, is_new) = match is_kept {
                            true => slot.load(),
                            // Whoever decodes a load that others share takes its bytes away.
                            false => {
                                slot.note_read();
                                (Arc::default(), true)
                            }
                        };
                        if is_new {
                            to_start.push((*column, load.clone()));
                        }
                        load.when_changed(&waker);
                        Chunk::Loading { load, is_claimed: false }
                    }
                });
            }
            if !to_start.is_empty() {
                group.part.start_loads(group.row_group, to_start);
            }
            group.chunks = Chunks::Loading(chunks);
        }
    }

    /// Decodes a piece of a chunk, unless a worker of another scan is at it, who wakes this one's afterwards.
    fn decode(&self, at: usize, place: usize) -> Result<()> {
        let (part, row_group, load) = {
            let state = self.state.lock();
            let group = state.groups.get(at).ok_or_else(|| Error::logical("a chunk of no row group"))?;
            let Chunks::Loading(chunks) = &group.chunks else { return Ok(()) };
            let Some(Chunk::Loading { load, .. }) = chunks.get(place) else { return Ok(()) };
            (group.part.clone(), group.row_group, load.clone())
        };
        let column = *self.reading.columns.get(place).ok_or_else(|| Error::logical("a chunk of no column"))?;
        // The chunk is the cache's, for all queries: none of them pays for it.
        let _shared = squall_runtime::memory::detach();
        load.decode(|bytes| part.decoder(row_group, column, bytes))?;
        if load.is_fetched() {
            // There is more to decode of it, for whoever comes first.
            let mut state = self.state.lock();
            if let Some(Group { chunks: Chunks::Loading(chunks), .. }) = state.groups.get_mut(at)
                && let Some(Chunk::Loading { is_claimed, .. }) = chunks.get_mut(place)
            {
                *is_claimed = false;
            }
            drop(state);
            self.waiters.clone().wake();
        }
        Ok(())
    }

    fn try_claim(&self, rows: u64) -> Claim {
        let mut state = self.state.lock();
        let state = &mut *state;
        while state.groups.get(state.first_open).is_some_and(|group| group.claimed >= group.rows) {
            state.first_open += 1;
        }
        if state.rows_left == 0 || state.first_open >= state.groups.len() {
            return Claim::Finished;
        }
        self.fetch_ahead(state);
        if let Some(group) = state.groups.get_mut(state.first_open)
            && group.is_ready()
        {
            let rows = group.morsel_rows(rows).min(state.rows_left);
            let first = group.first + group.claimed;
            group.claimed += rows;
            state.rows_left -= rows;
            return Claim::Morsel(Morsel { first, rows });
        }
        let fetched = state.groups.iter_mut().enumerate().skip(state.first_open);
        for (at, group) in fetched.take_while(|(_, group)| !matches!(group.chunks, Chunks::OnDisk)) {
            if let Some(place) = group.claim_chunk() {
                return Claim::Morsel(Morsel { first: (at * self.reading.columns.len() + place) as u64, rows: 0 });
            }
        }
        Claim::Pending
    }

    fn finished(&self, at: usize, rows: u64) {
        let mut state = self.state.lock();
        if let Some(group) = state.groups.get_mut(at) {
            group.read += rows;
            if group.read >= group.rows {
                group.chunks = Chunks::Done;
            }
        }
    }
}

impl TableScan for ColdScan {
    fn rows_total(&self) -> Option<u64> {
        Some(self.reading.rows)
    }

    fn selection(&self) -> ScanSelection {
        self.reading.selection
    }

    fn again(&self) -> Option<Arc<dyn TableScan>> {
        let segments = self.state.lock().groups.iter().map(|group| group.segments.clone()).collect();
        Some(Self::of(self.reading.clone(), segments))
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        match self.try_claim(rows) {
            Claim::Pending => {
                // A chunk that arrived before the waker was known wakes nobody, so look once more.
                self.waiters.add(waker);
                self.try_claim(rows)
            }
            claim => claim,
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        // Keeps the scan while it calls out.
        let _this = self.this.upgrade();
        if morsel.rows == 0 {
            let (chunk, columns) = (morsel.first as usize, self.reading.columns.len().max(1));
            return self.decode(chunk / columns, chunk % columns);
        }
        let (at, part, row_group, chunks, is_direct, mut ranges) = {
            let state = self.state.lock();
            let at = state.groups.partition_point(|group| group.first <= morsel.first).saturating_sub(1);
            let group = state.groups.get(at).ok_or_else(|| Error::logical("rows of no row group"))?;
            let Chunks::Ready(chunks) = &group.chunks else {
                return Err(Error::logical("a row group that is not there yet"));
            };
            let ranges = rows_from(&group.segments, (morsel.first - group.first) as usize, morsel.rows as usize);
            (at, group.part.clone(), group.row_group, chunks.clone(), group.direct_rows.is_some(), ranges)
        };
        let number = self.reading.row_numbers.first(&part, row_group);
        while !ranges.is_empty() {
            // Chunks that are decoded are sliced; of others all rows are decoded at once.
            let some: Vec<Range<usize>> = ranges.drain(..if is_direct { ranges.len() } else { 1 }).collect();
            let mut columns: Vec<Column> = Vec::with_capacity(self.reading.schema.len());
            for ((column, chunk), data_type) in
                self.reading.columns.iter().zip(&*chunks).zip(self.reading.schema.types())
            {
                columns.push(chunk.read(ChunkPlace { part: &part, row_group, column: *column }, data_type, &some)?);
            }
            if let Some(first) = number {
                columns.push(row_numbers(first, &some)?);
            }
            let rows = some.iter().map(ExactSizeIterator::len).sum();
            if columns.len() != self.reading.schema.len() {
                return Err(Error::logical("a scan whose schema is not its columns"));
            }
            if consume(Block::new(self.reading.schema.clone(), columns, rows))?.is_break() {
                break;
            }
        }
        self.finished(at, morsel.rows);
        Ok(())
    }
}
