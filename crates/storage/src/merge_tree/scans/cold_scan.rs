//! A scan some of whose chunks are on disk. Row groups ahead are fetched by threads that may wait. A claim hands out rows in their
//! order, once their row group is decoded; until then it hands out chunks to decode, as morsels without rows. Different workers
//! decode different chunks.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use parking_lot::Mutex;
use squall_runtime::cpu::logical_cpus;
use squall_types::{Block, Error, Result, Rows, Schema};

use super::hot_scan::slice;
use super::pruning::{Segment, selection};
use crate::column_cache::ChunkLoad;
use crate::merge_tree::parts::part::Part;
use crate::table::{Claim, Morsel, RowNumbers, ScanRequest, ScanSelection, TableScan};

/// Row groups that are fetched before they are claimed: two a core, so that every core has one to decode.
const GROUPS_AHEAD_PER_CPU: usize = 2;
/// Bytes on disk of the row groups that are fetched ahead, per core; one group is fetched however large it is.
const BYTES_AHEAD_PER_CPU_MAX: u64 = 64 << 20;

/// A scan over chunks that are read as it goes.
pub(in crate::merge_tree) struct ColdScan {
    schema: Arc<Schema>,
    columns: Vec<usize>,
    row_numbers: RowNumbers,
    rows: u64,
    selection: ScanSelection,
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
    chunks: Chunks,
}

/// Where the chunks of a group are.
enum Chunks {
    OnDisk,
    /// On their way, or decoded; one per column of the scan.
    Loading(Vec<Chunk>),
    Ready(Arc<[Rows]>),
    /// All rows were read.
    Done,
}

enum Chunk {
    Ready(Rows),
    Loading {
        load: Arc<ChunkLoad>,
        /// A worker of this scan was sent to decode it.
        is_claimed: bool,
    },
}

impl Group {
    /// Takes note of chunks that have been decoded. Whether all are.
    fn is_decoded(&mut self) -> bool {
        let Chunks::Loading(chunks) = &mut self.chunks else { return matches!(self.chunks, Chunks::Ready(_)) };
        let mut decoded = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            if let Chunk::Loading { load, .. } = chunk
                && let Some(rows) = load.decoded()
            {
                *chunk = Chunk::Ready(rows);
            }
            if let Chunk::Ready(rows) = chunk {
                decoded.push(rows.clone());
            }
        }
        let is_decoded = matches!(&self.chunks, Chunks::Loading(chunks) if chunks.len() == decoded.len());
        if is_decoded {
            self.chunks = Chunks::Ready(decoded.into());
        }
        is_decoded
    }

    /// The place among the scan's columns of a chunk that can be decoded now, or has failed.
    fn claim_chunk(&mut self) -> Option<usize> {
        let Chunks::Loading(chunks) = &mut self.chunks else { return None };
        chunks.iter_mut().position(|chunk| match chunk {
            Chunk::Loading { load, is_claimed } if !*is_claimed && load.is_fetched() => {
                *is_claimed = true;
                true
            }
            _ => false,
        })
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
    pub(in crate::merge_tree) fn start(segments: Vec<Segment>, columns: &[usize], request: &ScanRequest) -> Arc<Self> {
        let selection = selection(&segments);
        let mut groups: Vec<Group> = Vec::new();
        let mut total = 0;
        for segment in segments {
            let rows = segment.rows as u64;
            match groups.last_mut() {
                Some(group) if Arc::ptr_eq(&group.part, &segment.part) && group.row_group == segment.row_group => {
                    group.rows += rows;
                    group.segments.push(segment);
                }
                _ => groups.push(Group {
                    part: segment.part.clone(),
                    row_group: segment.row_group,
                    segments: vec![segment],
                    first: total,
                    rows,
                    claimed: 0,
                    read: 0,
                    chunks: Chunks::OnDisk,
                }),
            }
            total += rows;
        }
        let rows = request.limited(total);
        let scan = Arc::new_cyclic(|this| Self {
            schema: request.schema.clone(),
            columns: columns.to_vec(),
            row_numbers: request.row_numbers.clone(),
            rows,
            selection,
            state: Mutex::new(State { groups, first_open: 0, rows_left: rows }),
            waiters: Arc::default(),
            this: this.clone(),
        });
        scan.fetch_ahead(&mut scan.state.lock());
        scan
    }

    /// Starts fetching the next groups.
    fn fetch_ahead(&self, state: &mut State) {
        let columns = &self.columns;
        let cpus = logical_cpus().max(2);
        let mut bytes = 0;
        let open = state.groups.iter_mut().skip(state.first_open).filter(|group| group.claimed < group.rows);
        for (at, group) in open.take(GROUPS_AHEAD_PER_CPU * cpus).enumerate() {
            let described = group.part.description.row_groups.get(group.row_group);
            let chunk_bytes = |column: &usize| {
                described.and_then(|group| group.chunks.get(*column)).map_or(0, |chunk| chunk.at.length)
            };
            bytes += columns.iter().map(chunk_bytes).sum::<u64>();
            if at > 0 && bytes > BYTES_AHEAD_PER_CPU_MAX * cpus as u64 {
                break;
            }
            if !matches!(group.chunks, Chunks::OnDisk) {
                continue;
            }
            let mut chunks = Vec::with_capacity(columns.len());
            let mut to_start = Vec::new();
            let waker = Waker::from(self.waiters.clone());
            for column in columns {
                let Some(slot) = group.part.slot(group.row_group, *column) else { continue };
                chunks.push(match slot.get() {
                    Some(rows) => Chunk::Ready(rows),
                    None => {
                        let (load, is_new) = slot.load();
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
        let column = *self.columns.get(place).ok_or_else(|| Error::logical("a chunk of no column"))?;
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
            && group.is_decoded()
        {
            let rows = rows.max(1).min(group.rows - group.claimed).min(state.rows_left);
            let first = group.first + group.claimed;
            group.claimed += rows;
            state.rows_left -= rows;
            return Claim::Morsel(Morsel { first, rows });
        }
        let fetched = state.groups.iter_mut().enumerate().skip(state.first_open);
        for (at, group) in fetched.take_while(|(_, group)| !matches!(group.chunks, Chunks::OnDisk)) {
            if let Some(place) = group.claim_chunk() {
                return Claim::Morsel(Morsel { first: (at * self.columns.len() + place) as u64, rows: 0 });
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
        Some(self.rows)
    }

    fn selection(&self) -> ScanSelection {
        self.selection
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
            let (chunk, columns) = (morsel.first as usize, self.columns.len().max(1));
            return self.decode(chunk / columns, chunk % columns);
        }
        let (at, mut skip, arrays, segments, number) = {
            let state = self.state.lock();
            let at = state.groups.partition_point(|group| group.first <= morsel.first).saturating_sub(1);
            match state.groups.get(at) {
                Some(Group { part, row_group, first, segments, chunks: Chunks::Ready(arrays), .. }) => {
                    let number = self.row_numbers.first(part, *row_group);
                    (at, morsel.first - first, arrays.clone(), segments.clone(), number)
                }
                _ => return Err(Error::logical("a row group that is not decoded yet")),
            }
        };
        let mut left = morsel.rows;
        for segment in &segments {
            let rows = (segment.rows as u64).saturating_sub(skip).min(left);
            if rows > 0 {
                let offset = segment.offset + skip as usize;
                if consume(slice(&self.schema, &arrays, offset, rows as usize, number)?)?.is_break() {
                    break;
                }
                left -= rows;
                skip = 0;
            } else {
                skip -= segment.rows as u64;
            }
            if left == 0 {
                break;
            }
        }
        self.finished(at, morsel.rows);
        Ok(())
    }
}
