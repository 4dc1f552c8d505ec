//! A scan of parts that skip indexes leave something out of. Before it hands out rows, pages of the indexes are read by threads that may
//! wait for the disk, and tested by workers, part by part; what is left is then read as any other rows.

use std::cell::Cell;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use arrow_buffer::Buffer;
use parking_lot::Mutex;
use squall_runtime::profile_events::{Timed, count};
use squall_runtime::{CurrentMetric, ProfileEvent};
use squall_types::{Block, Error, Result};

use super::cold_scan::Waiters;
use super::mapped_scan;
use super::pruning::{Segment, row_groups, selection};
use crate::merge_tree::MergeTree;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::skip_index::{IndexFilter, Sift, Wanted};
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, TableScan};

/// Parts whose pages are read, or wait to be tested, at once: so many pages are in memory, however large the table is.
const PARTS_AT_ONCE: usize = 16;
/// Pages that a worker tests before it gives way.
const PAGES_AT_ONCE: usize = 16;

/// Begins to read segments but for those rows that indexes leave out.
pub(in crate::merge_tree) fn scan(
    live: &Arc<MergeTree>,
    segments: Vec<Segment>,
    filters: &[Arc<IndexFilter>],
    request: &ScanRequest,
) -> Result<Arc<dyn TableScan>> {
    let rows = segments.iter().map(|segment| segment.rows as u64).sum();
    let parts = sifts(segments, filters).into_iter().map(|part| match part {
        Sifted::Known(segments) => PartState::Done(segments),
        Sifted::Sift(sift) => PartState::Waiting(sift),
    });
    let parts: Vec<PartState> = parts.collect();
    let left = parts.iter().filter(|part| !matches!(part, PartState::Done(_))).count();
    if left == 0 {
        return mapped_scan::scan(live, known(parts), &request.columns, request);
    }
    Ok(Arc::new_cyclic(|this| IndexedScan {
        live: live.clone(),
        request: request.clone(),
        rows: request.limited(rows),
        state: Mutex::new(State::Sifting(Sifting { parts, begun: 0, left })),
        waiters: Arc::default(),
        this: this.clone(),
    }))
}

/// Segments of one part, before its indexes are asked.
pub(in crate::merge_tree) enum Sifted {
    /// It has none of the indexes.
    Known(Vec<Segment>),
    Sift(Sift),
}

/// The segments part by part.
pub(in crate::merge_tree) fn sifts(segments: Vec<Segment>, filters: &[Arc<IndexFilter>]) -> Vec<Sifted> {
    let mut by_part: Vec<Vec<Segment>> = Vec::new();
    for segment in segments {
        match by_part.last_mut() {
            Some(own) if own.first().is_some_and(|first| Arc::ptr_eq(&first.part, &segment.part)) => own.push(segment),
            _ => by_part.push(vec![segment]),
        }
    }
    let sift = |segments: Vec<Segment>| {
        let part = segments.first().map(|segment| segment.part.clone());
        let sift = part.and_then(|part| Sift::new(&part, rows_of(&segments), filters));
        sift.map_or(Sifted::Known(segments), Sifted::Sift)
    };
    by_part.into_iter().map(sift).collect()
}

/// The rows of a part that segments of it are.
fn rows_of(segments: &[Segment]) -> Vec<Range<usize>> {
    let Some(part) = segments.first().map(|segment| &segment.part) else { return Vec::new() };
    let mut first_rows = vec![0];
    for group in &part.description.row_groups {
        first_rows.push(first_rows.last().copied().unwrap_or(0) + group.rows);
    }
    let mut rows: Vec<Range<usize>> = Vec::with_capacity(segments.len());
    for segment in segments {
        let start = first_rows.get(segment.row_group).copied().unwrap_or(0) + segment.offset;
        match rows.last_mut() {
            Some(last) if last.end == start => last.end += segment.rows,
            _ => rows.push(start..start + segment.rows),
        }
    }
    rows
}

/// Rows of a part as segments.
pub(in crate::merge_tree) fn segments_of(part: &Arc<Part>, rows: &[Range<usize>]) -> Vec<Segment> {
    let of_range = |rows: &Range<usize>| {
        let groups = row_groups(part, rows.clone());
        let segment = |(row_group, first, rows): (usize, usize, Range<usize>)| Segment {
            part: part.clone(),
            row_group,
            offset: rows.start - first,
            rows: rows.len(),
        };
        groups.map(segment).collect::<Vec<_>>()
    };
    rows.iter().flat_map(of_range).collect()
}

struct IndexedScan {
    live: Arc<MergeTree>,
    request: ScanRequest,
    /// At most so many.
    rows: u64,
    state: Mutex<State>,
    waiters: Arc<Waiters>,
    this: Weak<Self>,
}

enum State {
    Sifting(Sifting),
    Scanning(Arc<dyn TableScan>),
    Failed(Error),
}

struct Sifting {
    parts: Vec<PartState>,
    /// Parts that are begun and not done.
    begun: usize,
    /// Parts that are not done.
    left: usize,
}

/// Pages that were read for a part.
type Pages = Vec<(Wanted, Buffer)>;

enum PartState {
    Waiting(Sift),
    /// A worker may go on with these pages.
    Ready(Sift, Pages),
    /// A worker is about to.
    Claimed(Sift, Pages),
    /// A worker is at it, or its pages are being read.
    Busy,
    Done(Vec<Segment>),
}

/// What parts have left that are done.
fn known(parts: Vec<PartState>) -> Vec<Segment> {
    let segments = |part| match part {
        PartState::Done(segments) => segments,
        PartState::Waiting(_) | PartState::Ready(..) | PartState::Claimed(..) | PartState::Busy => Vec::new(),
    };
    parts.into_iter().flat_map(segments).collect()
}

impl Sifting {
    /// The part that a worker may go on with.
    fn claim(&mut self) -> Option<usize> {
        let may_begin = self.begun < PARTS_AT_ONCE;
        let can_go_on = |part: &PartState| match part {
            PartState::Ready(..) => true,
            PartState::Waiting(_) => may_begin,
            PartState::Claimed(..) | PartState::Busy | PartState::Done(_) => false,
        };
        let at = self.parts.iter().position(can_go_on)?;
        let part = self.parts.get_mut(at)?;
        *part = match std::mem::replace(part, PartState::Busy) {
            PartState::Waiting(sift) => {
                self.begun += 1;
                PartState::Claimed(sift, Vec::new())
            }
            PartState::Ready(sift, pages) => PartState::Claimed(sift, pages),
            other => other,
        };
        Some(at)
    }

    /// What a worker has claimed.
    fn take(&mut self, at: usize) -> Option<(Sift, Pages)> {
        let part = self.parts.get_mut(at)?;
        match std::mem::replace(part, PartState::Busy) {
            PartState::Claimed(sift, pages) => Some((sift, pages)),
            other => {
                *part = other;
                None
            }
        }
    }

    fn put(&mut self, at: usize, state: PartState) {
        if let Some(part) = self.parts.get_mut(at) {
            *part = state;
        }
    }
}

impl IndexedScan {
    fn try_claim(&self, rows: u64, waker: &Waker) -> Claim {
        let mut state = self.state.lock();
        match &mut *state {
            State::Scanning(scan) => {
                let scan = scan.clone();
                drop(state);
                scan.claim(rows, waker)
            }
            // Whoever reads it finds the error.
            State::Failed(_) => Claim::Morsel(Morsel { first: 0, rows: 0 }),
            State::Sifting(sifting) => match sifting.claim() {
                Some(at) => Claim::Morsel(Morsel { first: at as u64, rows: 0 }),
                None => Claim::Pending,
            },
        }
    }

    /// Goes on with a part as far as its pages reach, and asks for the next ones.
    fn go_on(&self, at: usize, mut sift: Sift, pages: Pages) -> Result<()> {
        let _timed = Timed::new(ProfileEvent::FilteringMarksWithSecondaryKeysMicroseconds);
        let _held = CurrentMetric::FilteringMarksWithSecondaryKeys.hold(1);
        let part = sift.part().clone();
        let tested = Cell::new(0);
        let wanted = sift.advance(&|wanted| {
            let at_hand = pages.iter().find(|(page, _)| *page == wanted).map(|(_, bytes)| bytes.clone());
            if at_hand.is_none() && tested.replace(tested.get() + 1) >= PAGES_AT_ONCE {
                return None;
            }
            at_hand.or_else(|| part.index_page(wanted))
        })?;
        if wanted.is_empty() {
            return self.finish(at, segments_of(&part, &sift.into_rows()));
        }
        let in_memory: Option<Pages> = wanted.iter().map(|page| Some((*page, part.index_page(*page)?))).collect();
        if let Some(pages) = in_memory {
            self.resume(at, sift, pages);
            return Ok(());
        }
        let this = self.this.clone();
        part.load_index_pages(wanted, move |pages| {
            let Some(this) = this.upgrade() else { return };
            match pages {
                Ok(pages) => this.resume(at, sift, pages),
                Err(error) => this.fail(error),
            }
        })
    }

    /// A worker may go on with a part.
    fn resume(&self, at: usize, sift: Sift, pages: Pages) {
        if let State::Sifting(sifting) = &mut *self.state.lock() {
            sifting.put(at, PartState::Ready(sift, pages));
        }
        self.waiters.clone().wake();
    }

    fn fail(&self, error: Error) {
        *self.state.lock() = State::Failed(error);
        self.waiters.clone().wake();
    }

    /// A part is done. After the last one rows are read.
    fn finish(&self, at: usize, segments: Vec<Segment>) -> Result<()> {
        let mut state = self.state.lock();
        let State::Sifting(sifting) = &mut *state else { return Ok(()) };
        sifting.put(at, PartState::Done(segments));
        sifting.begun -= 1;
        sifting.left -= 1;
        if sifting.left == 0 {
            let segments = known(std::mem::take(&mut sifting.parts));
            let found = selection(&segments);
            count(ProfileEvent::SelectedParts, found.parts);
            count(ProfileEvent::SelectedMarks, found.marks);
            *state = State::Scanning(mapped_scan::scan(&self.live, segments, &self.request.columns, &self.request)?);
        }
        drop(state);
        self.waiters.clone().wake();
        Ok(())
    }
}

impl TableScan for IndexedScan {
    fn rows_total(&self) -> Option<u64> {
        match &*self.state.lock() {
            State::Scanning(scan) => scan.rows_total(),
            State::Sifting(_) | State::Failed(_) => Some(self.rows),
        }
    }

    fn selection(&self) -> ScanSelection {
        // It is counted once it is known.
        ScanSelection::default()
    }

    fn take_left_out(&self) -> u64 {
        match &*self.state.lock() {
            State::Scanning(scan) => scan.take_left_out(),
            State::Sifting(_) | State::Failed(_) => 0,
        }
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        match self.try_claim(rows, waker) {
            Claim::Pending => {
                // What came before the waker was known wakes nobody, so look once more.
                self.waiters.add(waker);
                self.try_claim(rows, waker)
            }
            claim => claim,
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut state = self.state.lock();
        let at = morsel.first as usize;
        match &mut *state {
            State::Scanning(scan) => {
                let scan = scan.clone();
                drop(state);
                scan.read(morsel, consume)
            }
            State::Failed(error) => Err(error.clone()),
            State::Sifting(sifting) => {
                let claimed = sifting.take(at);
                drop(state);
                let Some((sift, pages)) = claimed else { return Ok(()) };
                self.go_on(at, sift, pages).inspect_err(|error| self.fail(error.clone()))
            }
        }
    }
}
