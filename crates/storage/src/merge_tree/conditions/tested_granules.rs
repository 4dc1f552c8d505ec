//! Which granules a scan has tested a condition on, and which of them hold a match.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use squall_functions::Selection;

use super::ConditionKey;
use super::condition_cache::remember;
use super::granules::Granules;
use super::known_granules::KnownGranules;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::scans::pruning::Segment;

/// The bit of a granule in which a row has met the condition; those below count rows that were tested.
const HAS_MATCH: u32 = 1 << 31;

/// Granules after which a scan gives up where most hold a match.
const GRANULES_TO_KNOW: u64 = 32;

/// The granules of a scan's parts. When it is dropped, the parts remember what was found.
#[derive(Debug)]
pub(in crate::merge_tree) struct TestedGranules {
    key: ConditionKey,
    parts: Vec<TestedPart>,
    /// Their places in `parts` by their addresses.
    places: HashMap<usize, usize>,
    /// Granules, each counted as often as some of its rows were tested, and how often there was a match.
    tested: AtomicU64,
    matched: AtomicU64,
    is_useless: AtomicBool,
}

#[derive(Debug)]
struct TestedPart {
    part: Arc<Part>,
    granules: Granules,
    states: Box<[AtomicU32]>,
}

impl TestedGranules {
    /// For a scan of these segments.
    pub(in crate::merge_tree) fn of(key: ConditionKey, segments: &[Segment]) -> Self {
        let parts = segments.chunk_by(|one, other| Arc::ptr_eq(&one.part, &other.part));
        let parts = parts.filter_map(|segments| {
            let part = segments.first()?.part.clone();
            let granules = Granules::of(&part);
            let states = (0..granules.len()).map(|_| AtomicU32::new(0)).collect();
            Some(TestedPart { part, granules, states })
        });
        let parts: Vec<TestedPart> = parts.collect();
        Self {
            key,
            places: parts.iter().enumerate().map(|(place, own)| (Arc::as_ptr(&own.part).addr(), place)).collect(),
            parts,
            tested: AtomicU64::new(0),
            matched: AtomicU64::new(0),
            is_useless: AtomicBool::new(false),
        }
    }

    /// Whether so many granules hold a match that it is not worth it to test more.
    pub(in crate::merge_tree) fn is_useless(&self) -> bool {
        self.is_useless.load(Ordering::Relaxed)
    }

    /// Takes note that rows of a row group were tested, each for the first and last time in this scan, and which of them, counted from the
    /// first of `rows` on, met the condition.
    pub(in crate::merge_tree) fn note(
        &self,
        part: &Arc<Part>,
        row_group: usize,
        rows: Range<usize>,
        found: &Selection,
    ) {
        let Some(own) = self.part(part) else { return };
        let (mut tested, mut matched) = (0, 0);
        for piece in own.granules.pieces(rows.clone()) {
            let has_match = match found {
                Selection::All => true,
                Selection::None => false,
                Selection::Some(mask) => {
                    mask.values().slice(piece.start - rows.start, piece.len()).set_indices().next().is_some()
                }
            };
            own.note(row_group, piece.start, piece.len(), has_match);
            tested += 1;
            matched += u64::from(has_match);
        }
        self.count(tested, matched);
    }

    /// The same of rows in several ranges, of which those of `left` may meet the condition.
    pub(in crate::merge_tree) fn note_ranges(
        &self,
        part: &Arc<Part>,
        row_group: usize,
        (tested, left): (&[Range<usize>], &[Range<usize>]),
    ) {
        let Some(own) = self.part(part) else { return };
        let pieces = |ranges: &[Range<usize>]| {
            ranges.iter().flat_map(|rows| own.granules.pieces(rows.clone())).collect::<Vec<_>>()
        };
        pieces(tested).iter().for_each(|piece| own.note(row_group, piece.start, piece.len(), false));
        pieces(left).iter().for_each(|piece| own.note(row_group, piece.start, 0, true));
    }

    fn part(&self, part: &Arc<Part>) -> Option<&TestedPart> {
        self.parts.get(*self.places.get(&Arc::as_ptr(part).addr())?)
    }

    fn count(&self, tested: u64, matched: u64) {
        let tested = self.tested.fetch_add(tested, Ordering::Relaxed) + tested;
        let matched = self.matched.fetch_add(matched, Ordering::Relaxed) + matched;
        if tested >= GRANULES_TO_KNOW && matched > tested / 2 {
            self.is_useless.store(true, Ordering::Relaxed);
        }
    }
}

impl TestedPart {
    fn note(&self, row_group: usize, row: usize, rows: usize, has_match: bool) {
        let Some(state) = self.states.get(self.granules.number(row_group, row)) else { return };
        state.fetch_add(rows as u32, Ordering::Relaxed);
        if has_match {
            state.fetch_or(HAS_MATCH, Ordering::Relaxed);
        }
    }

    /// What is known now: of granules that were tested whole.
    fn known(&self, is_useless: bool) -> KnownGranules {
        let mut rows_of = vec![0; self.states.len()];
        for (row_group, group) in self.part.description.row_groups.iter().enumerate() {
            for row in (0..group.rows).step_by(self.granules.rows()) {
                if let Some(rows) = rows_of.get_mut(self.granules.number(row_group, row)) {
                    *rows = self.granules.rows().min(group.rows - row);
                }
            }
        }
        let is_without = |granule: usize| {
            let state = self.states.get(granule).map_or(HAS_MATCH, |state| state.load(Ordering::Relaxed));
            state > 0 && rows_of.get(granule).is_some_and(|rows| state as usize == *rows)
        };
        KnownGranules::new(self.states.len(), is_without, is_useless)
    }
}

impl Drop for TestedGranules {
    fn drop(&mut self) {
        let is_useless = self.is_useless();
        for own in &self.parts {
            let known = own.known(is_useless);
            if known.has_any() || is_useless {
                remember(&own.part.conditions, self.key, known);
            }
        }
    }
}
