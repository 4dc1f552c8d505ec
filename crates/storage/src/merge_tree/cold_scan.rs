//! A scan some of whose chunks are on disk. Row groups ahead are fetched by threads that may wait; a claim hands out only rows
//! whose bytes are in memory, and the worker that reads a row group first decodes it. Different workers decode different groups.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use arrow_array::ArrayRef;
use parking_lot::Mutex;
use squall_runtime::cpu::logical_cpus;
use squall_types::{Block, Error, Result, Schema};

use super::hot_scan::slice;
use super::part::Part;
use super::pruning::{Segment, selection};
use crate::column_cache::ChunkLoad;
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, TableScan};

/// Row groups that are fetched before they are claimed: two a core, so that every core has one to decode.
const GROUPS_AHEAD_PER_CPU: usize = 2;
/// Bytes on disk of the row groups that are fetched ahead, per core; one group is fetched however large it is.
const BYTES_AHEAD_PER_CPU_MAX: u64 = 64 << 20;

/// A scan over chunks that are read as it goes.
pub(super) struct ColdScan {
    schema: Arc<Schema>,
    columns: Vec<usize>,
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
    /// On their way, or fetched.
    Loading(Vec<Chunk>),
    /// A worker decodes them.
    Decoding,
    Ready(Arc<[ArrayRef]>),
    /// All rows were read, or none will be.
    Done,
}

#[derive(Clone)]
enum Chunk {
    Ready(ArrayRef),
    Loading(Arc<ChunkLoad>),
}

/// Who waits for a chunk of this scan. Woken all at once, when any chunk arrives or a group is decoded.
#[derive(Default)]
struct Waiters(Mutex<Vec<Waker>>);

impl Wake for Waiters {
    fn wake(self: Arc<Self>) {
        let woken = std::mem::take(&mut *self.0.lock());
        woken.into_iter().for_each(Waker::wake);
    }
}

impl ColdScan {
    /// Begins the scan and its first fetches.
    pub(super) fn start(segments: Vec<Segment>, columns: &[usize], request: &ScanRequest) -> Arc<Self> {
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
                    Some(array) => Chunk::Ready(array),
                    None => {
                        let (load, is_new) = slot.load();
                        if is_new {
                            to_start.push((*column, load.clone()));
                        }
                        load.when_fetched(&waker);
                        Chunk::Loading(load)
                    }
                });
            }
            if !to_start.is_empty() {
                group.part.start_loads(group.row_group, to_start);
            }
            group.chunks = Chunks::Loading(chunks);
        }
    }

    /// The arrays of a group, decoded now if this is the first to ask.
    fn arrays(&self, at: usize) -> Result<Arc<[ArrayRef]>> {
        let (part, row_group, chunks) = {
            let mut state = self.state.lock();
            let group = state.groups.get_mut(at).ok_or_else(|| Error::logical("a morsel of no row group"))?;
            match std::mem::replace(&mut group.chunks, Chunks::Decoding) {
                Chunks::Ready(arrays) => {
                    group.chunks = Chunks::Ready(arrays.clone());
                    return Ok(arrays);
                }
                Chunks::Loading(chunks) => (group.part.clone(), group.row_group, chunks),
                other => {
                    group.chunks = other;
                    return Err(Error::logical("a row group that is not there yet"));
                }
            }
        };
        let decode = |(column, chunk): (&usize, Chunk)| match chunk {
            Chunk::Ready(array) => Ok(array),
            Chunk::Loading(load) => load.array(|bytes| part.decode(row_group, *column, bytes)),
        };
        let arrays: Result<Arc<[ArrayRef]>> =
            self.columns.iter().zip(chunks).map(decode).collect::<Result<Vec<_>>>().map(Into::into);
        let mut state = self.state.lock();
        if let Some(group) = state.groups.get_mut(at) {
            group.chunks = match &arrays {
                Ok(arrays) => Chunks::Ready(arrays.clone()),
                // The error ends the query; nobody needs the rest of the group.
                Err(_) => Chunks::Done,
            };
            if arrays.is_err() {
                group.claimed = group.rows;
            }
        }
        drop(state);
        self.waiters.clone().wake();
        arrays
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
        let open = state.groups.iter_mut().skip(state.first_open).filter(|group| group.claimed < group.rows);
        for group in open {
            let is_ready = match &group.chunks {
                Chunks::Ready(_) => true,
                // One worker decodes the group; the others find other groups, or wait for it.
                Chunks::Loading(chunks) => {
                    let is_fetched = |chunk: &Chunk| match chunk {
                        Chunk::Ready(_) => true,
                        Chunk::Loading(load) => load.is_fetched(),
                    };
                    group.claimed == 0 && chunks.iter().all(is_fetched)
                }
                Chunks::OnDisk => break,
                Chunks::Decoding | Chunks::Done => false,
            };
            if is_ready {
                let rows = rows.max(1).min(group.rows - group.claimed).min(state.rows_left);
                let first = group.first + group.claimed;
                group.claimed += rows;
                state.rows_left -= rows;
                return Claim::Morsel(Morsel { first, rows });
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
                self.waiters.0.lock().push(waker.clone());
                self.try_claim(rows)
            }
            claim => claim,
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        // Keeps the scan while it calls out.
        let _this = self.this.upgrade();
        let (at, mut skip) = {
            let state = self.state.lock();
            let at = state.groups.partition_point(|group| group.first <= morsel.first).saturating_sub(1);
            let first = state.groups.get(at).map_or(0, |group| group.first);
            (at, morsel.first - first)
        };
        let arrays = self.arrays(at)?;
        let segments = self.state.lock().groups.get(at).map(|group| group.segments.clone()).unwrap_or_default();
        let mut left = morsel.rows;
        for segment in &segments {
            let rows = (segment.rows as u64).saturating_sub(skip).min(left);
            if rows > 0 {
                if consume(slice(&self.schema, &arrays, segment.offset + skip as usize, rows as usize)?)?.is_break() {
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
