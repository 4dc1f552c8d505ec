//! A scan from the disk that reads [in steps](super::prewhere_steps): the columns of a condition, then further ones of the rows that meet
//! it. Of a row group without such rows they are not even fetched, and of others pages without them stay packed. A step that lets most rows
//! through is soon taken together with the next one, so that nobody waits twice for the disk.
//!
//! Rows of a row group are cut into pieces. A claim hands out a piece as a morsel: first to test it, then to hand out what is left of it.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use parking_lot::Mutex;
use squall_runtime::cpu::logical_cpus;
use squall_types::{Block, Column, Error, Result, Schema};

use super::chunk_rows::{ChunkPlace, ChunkRows};
use super::cold_scan::{BYTES_AHEAD_PER_CPU_MAX, BYTES_IN_FLIGHT_MAX, GROUPS_AHEAD_PER_CPU, Waiters, direct_rows};
use super::hot_scan::row_numbers;
use super::prewhere_piece::{Piece, pages};
use super::prewhere_steps::{Step, steps};
use super::pruning::{Segment, by_row_group, rows_from, selection};
use super::retention::Missing;
use crate::column_cache::{ChunkLoad, ColumnCache};
use crate::merge_tree::conditions::TestedGranules;
use crate::merge_tree::parts::part::Part;
use crate::table::{Claim, Morsel, RowNumbers, ScanRequest, ScanSelection, TableScan};

/// Pages that tell whether a step leaves out enough to be a step of its own.
const PAGES_TO_KNOW: u64 = 64;
/// Bits of a morsel's first row that count the pieces of a row group; those above are the row group.
const PIECE_BITS: u32 = 20;

/// A scan whose rows are tested before most of their columns are read.
pub(in crate::merge_tree) struct PrewhereScan {
    schema: Arc<Schema>,
    columns: Vec<usize>,
    row_numbers: RowNumbers,
    rows: u64,
    selection: ScanSelection,
    steps: Vec<Step>,
    /// What each step has left out so far.
    outcomes: Vec<Outcome>,
    /// Rows left out since somebody asked.
    left_out: AtomicU64,
    /// Where the condition is to be remembered: which granules hold a match.
    granules: Option<TestedGranules>,
    state: Mutex<State>,
    waiters: Arc<Waiters>,
    this: Weak<Self>,
}

/// How many pages a step has tested, and how many of them had rows that passed.
#[derive(Default)]
struct Outcome {
    tested: AtomicU64,
    passed: AtomicU64,
}

impl Outcome {
    /// Whether it is worth to wait for the step's end before more is fetched.
    fn is_useful(&self) -> bool {
        let (tested, passed) = (self.tested.load(Ordering::Relaxed), self.passed.load(Ordering::Relaxed));
        tested < PAGES_TO_KNOW || passed <= tested / 2
    }
}

struct State {
    groups: Vec<Group>,
    /// All pieces of the groups before this one were handed out.
    first_open: usize,
}

/// The segments of one row group.
struct Group {
    part: Arc<Part>,
    row_group: usize,
    segments: Vec<Segment>,
    rows: usize,
    /// The steps that are taken now, together; none before the first ones.
    stage: Range<usize>,
    /// The chunks of all columns of this stage and those before.
    chunks: Vec<Option<Chunk>>,
    /// The pieces of this stage; nothing in the place of one that was claimed and read.
    pieces: Vec<Option<Piece>>,
    claimed: usize,
    done: usize,
    /// What is left of pieces that were tested, with their places.
    passed: Vec<(usize, Piece)>,
    is_over: bool,
}

#[derive(Clone)]
enum Chunk {
    Loading(Arc<ChunkLoad>),
    Ready(ChunkRows),
}

impl Group {
    /// Takes note of chunks that have come. Whether those of this stage are all there, or have failed.
    fn is_ready(&mut self) -> bool {
        let mut is_ready = true;
        for chunk in self.chunks.iter_mut().flatten() {
            if let Chunk::Loading(load) = chunk {
                match load.bytes() {
                    Some(bytes) => *chunk = Chunk::Ready(ChunkRows::encoded(bytes)),
                    None => is_ready &= load.has_failed(),
                }
            }
        }
        is_ready
    }

    fn is_fetching(&self) -> bool {
        let is_fetching = |chunk: &Chunk| matches!(chunk, Chunk::Loading(load) if load.is_fetching());
        self.chunks.iter().flatten().any(is_fetching)
    }

    /// Bytes on disk of columns of these places.
    fn bytes_on_disk(&self, columns: &[usize], places: &mut dyn Iterator<Item = usize>) -> u64 {
        let described = self.part.description.row_groups.get(self.row_group);
        let chunk = |place: usize| described?.chunks.get(*columns.get(place)?);
        places.filter_map(chunk).map(|chunk| chunk.at.length).sum()
    }

    /// What a column that is not in the cache takes decoded, as estimated.
    fn missing_bytes(&self, column: usize) -> u64 {
        let slot = self.part.slot(self.row_group, column);
        if slot.is_some_and(|slot| slot.is_decoded()) { 0 } else { self.part.decoded_bytes(self.row_group, column) }
    }

    /// Goes on with what is left of the stage's pieces; nothing where no row is.
    fn end_stage(&mut self) {
        self.passed.sort_unstable_by_key(|(at, _)| *at);
        self.pieces = self.passed.drain(..).map(|(_, piece)| Some(piece)).collect();
        (self.claimed, self.done) = (0, 0);
    }

    fn end(&mut self) {
        self.is_over = true;
        (self.chunks, self.pieces) = (Vec::new(), Vec::new());
    }
}

impl PrewhereScan {
    /// Begins the scan and its first fetches; gives the segments back where nothing is saved by it, or where the chunks are to be
    /// [kept](Missing::are_kept) in the cache. `request`'s condition is one over these columns.
    pub(in crate::merge_tree) fn start(
        cache: &ColumnCache,
        segments: Vec<Segment>,
        columns: &[usize],
        request: &ScanRequest,
    ) -> std::result::Result<Arc<Self>, Vec<Segment>> {
        let Some(predicate) = &request.predicate else { return Err(segments) };
        let group = |segments: &Vec<Segment>| {
            let first = segments.first()?;
            Some(Group {
                part: first.part.clone(),
                row_group: first.row_group,
                rows: segments.iter().map(|segment| segment.rows).sum(),
                segments: segments.clone(),
                stage: 0..0,
                chunks: vec![None; columns.len()],
                pieces: Vec::new(),
                claimed: 0,
                done: 0,
                passed: Vec::new(),
                is_over: false,
            })
        };
        let selection = selection(&segments);
        let groups: Vec<Group> = by_row_group(segments.clone()).iter().filter_map(group).collect();
        let bytes_of = |column: &usize| groups.iter().map(|group| group.missing_bytes(*column)).sum::<u64>();
        let bytes: Vec<u64> = columns.iter().map(bytes_of).collect();
        let Some(steps) = steps(predicate, &bytes) else { return Err(segments) };
        let tested =
            || steps.iter().rev().skip(1).flat_map(|step| &step.places).filter_map(|place| columns.get(*place));
        let was_read = |group: &Group| {
            let mut slots = tested().filter_map(|column| group.part.slot(group.row_group, *column));
            slots.all(|slot| slot.is_decoded() || slot.was_read())
        };
        let missing = Missing {
            rows: groups
                .iter()
                .filter_map(|group| group.part.description.row_groups.get(group.row_group))
                .map(|group| group.rows as u64)
                .sum(),
            rows_wanted: groups.iter().map(|group| group.rows as u64).sum(),
            bytes_of_scan: bytes.iter().sum(),
            were_read: groups.iter().all(was_read),
        };
        if missing.are_kept(cache.capacity() as u64) {
            return Err(segments);
        }
        let scan = Arc::new_cyclic(|this| Self {
            schema: request.schema.clone(),
            columns: columns.to_vec(),
            row_numbers: request.row_numbers.clone(),
            rows: missing.rows_wanted,
            selection,
            outcomes: steps.iter().map(|_| Outcome::default()).collect(),
            steps,
            left_out: AtomicU64::new(0),
            granules: request.condition_use.key.map(|key| TestedGranules::of(key, &segments)),
            state: Mutex::new(State { groups, first_open: 0 }),
            waiters: Arc::default(),
            this: this.clone(),
        });
        scan.fetch_ahead(&mut scan.state.lock());
        Ok(scan)
    }

    /// The steps from this one on that are taken together.
    fn stage(&self, first: usize) -> Range<usize> {
        let is_end = |step: &usize| self.outcomes.get(*step).is_none_or(Outcome::is_useful);
        let last = (first..self.steps.len().saturating_sub(1)).find(is_end);
        first..last.map_or(self.steps.len(), |last| last + 1)
    }

    fn is_last(&self, stage: &Range<usize>) -> bool {
        stage.end == self.steps.len()
    }

    /// The places of the columns that a stage reads.
    fn places(&self, stage: &Range<usize>) -> impl Iterator<Item = usize> {
        self.steps.get(stage.clone()).unwrap_or_default().iter().flat_map(|step| step.places.iter().copied())
    }

    /// Starts the first stage of the next groups.
    fn fetch_ahead(&self, state: &mut State) {
        let cpus = logical_cpus().max(2);
        let (mut bytes, mut in_flight) = (0, 0);
        let open = state.groups.iter_mut().skip(state.first_open).filter(|group| !group.is_over);
        for (at, group) in open.take(GROUPS_AHEAD_PER_CPU * cpus).enumerate() {
            let stage = if group.stage.is_empty() { self.stage(0) } else { group.stage.clone() };
            let stage_bytes = group.bytes_on_disk(&self.columns, &mut self.places(&stage));
            bytes += group.bytes_on_disk(&self.columns, &mut (0..self.columns.len()));
            if at > 0 && (bytes > BYTES_AHEAD_PER_CPU_MAX * cpus as u64 || in_flight > BYTES_IN_FLIGHT_MAX) {
                break;
            }
            if group.stage.is_empty() {
                let decoded = self.columns.iter().map(|column| group.missing_bytes(*column)).sum();
                let rows_of_group =
                    group.part.description.row_groups.get(group.row_group).map_or(0, |group| group.rows);
                let rows = direct_rows(rows_of_group as u64, decoded) as usize;
                let piece = |first: usize| {
                    let ranges = rows_from(&group.segments, first, rows.min(group.rows - first));
                    Piece { whole: ranges.clone(), ranges, held: vec![None; self.columns.len()] }
                };
                group.pieces = (0..group.rows).step_by(rows).map(|first| Some(piece(first))).collect();
                self.begin(group, stage);
            }
            if group.is_fetching() {
                in_flight += stage_bytes;
            }
        }
    }

    /// Begins a stage of a group: fetches its columns.
    fn begin(&self, group: &mut Group, stage: Range<usize>) {
        let waker = Waker::from(self.waiters.clone());
        let mut to_start = Vec::new();
        for place in self.places(&stage) {
            let Some(column) = self.columns.get(place) else { continue };
            let Some(slot) = group.part.slot(group.row_group, *column) else { continue };
            let chunk = match slot.get() {
                Some(rows) => Chunk::Ready(ChunkRows::Decoded(rows)),
                None => {
                    slot.note_read();
                    let load: Arc<ChunkLoad> = Arc::default();
                    load.when_changed(&waker);
                    to_start.push((*column, load.clone()));
                    Chunk::Loading(load)
                }
            };
            if let Some(place) = group.chunks.get_mut(place) {
                *place = Some(chunk);
            }
        }
        group.stage = stage;
        if !to_start.is_empty() {
            group.part.start_loads(group.row_group, to_start);
        }
    }

    fn try_claim(&self) -> Claim {
        let mut state = self.state.lock();
        let state = &mut *state;
        let is_handed_out =
            |group: &Group| group.is_over || self.is_last(&group.stage) && group.claimed == group.pieces.len();
        while state.groups.get(state.first_open).is_some_and(is_handed_out) {
            state.first_open += 1;
        }
        self.fetch_ahead(state);
        let first_open = state.first_open;
        let mut is_any_left = false;
        for (at, group) in state.groups.iter_mut().enumerate().skip(first_open) {
            if is_handed_out(group) {
                continue;
            }
            if group.stage.is_empty() {
                return Claim::Pending;
            }
            // Rows are handed out in their order; they are tested in any.
            let may_claim = !is_any_left || !self.is_last(&group.stage);
            is_any_left = true;
            if may_claim && group.claimed < group.pieces.len() && group.is_ready() {
                let piece = group.claimed;
                group.claimed += 1;
                let rows = group.pieces.get(piece).and_then(Option::as_ref).filter(|_| group.stage.start == 0);
                let rows = rows.map_or(0, |piece| piece.rows() as u64);
                return Claim::Morsel(Morsel { first: (at as u64) << PIECE_BITS | piece as u64, rows });
            }
        }
        if is_any_left { Claim::Pending } else { Claim::Finished }
    }

    /// Reads the columns of a stage of a piece, and leaves out rows that they tell of.
    fn test(
        &self,
        part: &Part,
        row_group: usize,
        stage: &Range<usize>,
        chunks: &[Option<Chunk>],
        piece: &mut Piece,
    ) -> Result<()> {
        for (at, step) in self.steps.iter().enumerate().take(stage.end).skip(stage.start) {
            if piece.ranges.is_empty() {
                break;
            }
            for place in &step.places {
                let missing = || Error::logical("a column that was not fetched");
                let column = *self.columns.get(*place).ok_or_else(missing)?;
                let data_type = self.schema.types().nth(*place).ok_or_else(missing)?;
                let rows = match chunks.get(*place).and_then(Option::as_ref).ok_or_else(missing)? {
                    Chunk::Ready(rows) => rows.clone(),
                    Chunk::Loading(load) => {
                        load.decode(|_| Err(missing()))?;
                        return Err(missing());
                    }
                };
                let read = rows.read(ChunkPlace { part, row_group, column }, data_type, &piece.ranges)?;
                if let Some(held) = piece.held.get_mut(*place) {
                    *held = Some(read);
                }
            }
            if step.conditions.is_empty() {
                continue;
            }
            let before = piece.rows();
            let selection = piece.meeting(step, &self.schema)?;
            if let Some(outcome) = self.outcomes.get(at) {
                let (tested, passed) = pages(&selection, before);
                outcome.tested.fetch_add(tested, Ordering::Relaxed);
                outcome.passed.fetch_add(passed, Ordering::Relaxed);
            }
            piece.narrow(&selection)?;
            self.left_out.fetch_add((before - piece.rows()) as u64, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A piece of a stage was read; what is left of it goes on to the next one, once all are done.
    fn finished(&self, at: usize, place: usize, left: Option<Piece>) {
        let mut state = self.state.lock();
        let Some(group) = state.groups.get_mut(at) else { return };
        group.passed.extend(left.map(|piece| (place, piece)));
        group.done += 1;
        if group.done < group.pieces.len() {
            return;
        }
        if self.is_last(&group.stage) || group.passed.is_empty() {
            group.end();
        } else {
            group.end_stage();
            let next = self.stage(group.stage.end);
            self.begin(group, next);
        }
        drop(state);
        self.waiters.clone().wake();
    }
}

impl TableScan for PrewhereScan {
    fn rows_total(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn selection(&self) -> ScanSelection {
        self.selection
    }

    fn take_left_out(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }

    fn claim(&self, _: u64, waker: &Waker) -> Claim {
        match self.try_claim() {
            Claim::Pending => {
                // What came before the waker was known wakes nobody, so look once more.
                self.waiters.add(waker);
                self.try_claim()
            }
            claim => claim,
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        // Keeps the scan while it calls out.
        let _this = self.this.upgrade();
        let (at, place) = ((morsel.first >> PIECE_BITS) as usize, (morsel.first & ((1 << PIECE_BITS) - 1)) as usize);
        let (part, row_group, stage, chunks, piece) = {
            let mut state = self.state.lock();
            let group = state.groups.get_mut(at).ok_or_else(|| Error::logical("rows of no row group"))?;
            let piece = group.pieces.get_mut(place).and_then(Option::take);
            (group.part.clone(), group.row_group, group.stage.clone(), group.chunks.clone(), piece)
        };
        let mut piece = piece.ok_or_else(|| Error::logical("a piece that is read twice"))?;
        self.test(&part, row_group, &stage, &chunks, &mut piece)?;
        let is_left = !piece.ranges.is_empty();
        if let Some(granules) = self.granules.as_ref().filter(|_| !is_left || self.is_last(&stage)) {
            granules.note_ranges(&part, row_group, (&piece.whole, &piece.ranges));
        }
        if !self.is_last(&stage) {
            self.finished(at, place, is_left.then_some(piece));
            return Ok(());
        }
        if is_left {
            let rows = piece.rows();
            let number = self.row_numbers.first(&part, row_group);
            let numbers = number.map(|first| row_numbers(first, &piece.ranges)).transpose()?;
            let columns: Vec<Column> = piece.held.into_iter().flatten().chain(numbers).collect();
            if columns.len() != self.schema.len() {
                return Err(Error::logical("a scan whose schema is not its columns"));
            }
            let _ = consume(Block::new(self.schema.clone(), columns, rows))?;
        }
        self.finished(at, place, None);
        Ok(())
    }
}
