//! Granules of a part, and which of them hold no row that meets a condition.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;

use super::ConditionKey;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::scans::pruning::Segment;

/// How the granules of a part are numbered: row group by row group, each of which begins with a new one.
#[derive(Clone, Debug)]
pub(in crate::merge_tree) struct Granules {
    rows: usize,
    /// The number of the first granule of each row group, and of all granules.
    firsts: Vec<usize>,
}

impl Granules {
    pub(in crate::merge_tree) fn of(part: &Part) -> Self {
        let rows = part.description.granularity.max(1);
        let mut firsts = vec![0];
        for group in &part.description.row_groups {
            firsts.push(firsts.last().copied().unwrap_or(0) + group.rows.div_ceil(rows));
        }
        Self { rows, firsts }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// Rows of a granule; the last of a row group may have fewer.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of a row group, cut where a granule ends.
    pub(super) fn pieces(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let (each, mut row) = (self.rows, rows.start);
        std::iter::from_fn(move || {
            let start = row;
            row = (row / each + 1).saturating_mul(each).min(rows.end);
            (start < rows.end).then_some(start..row)
        })
    }

    /// The number of the granule of a row of a row group.
    pub(super) fn number(&self, row_group: usize, row: usize) -> usize {
        self.firsts.get(row_group).map_or(usize::MAX, |first| first + row / self.rows)
    }
}

/// What a part knows of a condition.
#[derive(Debug, Default)]
pub(super) struct KnownGranules {
    /// A bit is set where no row of the granule meets it.
    without: Vec<u64>,
    granules: usize,
    /// Whether so many granules hold a match that nobody need find out more.
    pub is_useless: bool,
    /// Whether somebody asked since it was last passed over.
    pub was_used: AtomicBool,
}

impl KnownGranules {
    /// What a scan has found: granules for which `is_without` holds have no match.
    pub(super) fn new(granules: usize, is_without: impl Fn(usize) -> bool, is_useless: bool) -> Self {
        let mut without = vec![0; granules.div_ceil(64)];
        for granule in (0..granules).filter(|granule| is_without(*granule)) {
            without[granule / 64] |= 1 << (granule % 64);
        }
        Self { without, granules, is_useless, was_used: AtomicBool::new(false) }
    }

    /// What both know.
    pub(super) fn and(&self, other: &Self) -> Self {
        let is_useless = self.is_useless && other.is_useless;
        Self::new(self.granules, |granule| self.is_without(granule) || other.is_without(granule), is_useless)
    }

    /// Whether no row of a granule meets the condition.
    pub(super) fn is_without(&self, granule: usize) -> bool {
        self.without.get(granule / 64).is_some_and(|bits| bits >> (granule % 64) & 1 == 1)
    }

    /// Whether there is such a granule.
    pub(super) fn has_any(&self) -> bool {
        self.without.iter().any(|bits| *bits != 0)
    }

    /// A `1` for each granule that may hold a match, and a `0` for each that does not.
    pub(super) fn marks(&self) -> String {
        (0..self.granules).map(|granule| if self.is_without(granule) { '0' } else { '1' }).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.without.capacity() * size_of::<u64>()
    }
}

/// The rows of segments but for those of granules that are known to hold no match.
pub(in crate::merge_tree) fn unless_known(segments: Vec<Segment>, key: ConditionKey) -> Vec<Segment> {
    let mut left = Vec::with_capacity(segments.len());
    for of_part in segments.chunk_by(|one, other| Arc::ptr_eq(&one.part, &other.part)) {
        let Some(part) = of_part.first().map(|segment| &segment.part) else { continue };
        let Some(known) = part.conditions.get(key) else {
            count(ProfileEvent::QueryConditionCacheMisses, 1);
            left.extend_from_slice(of_part);
            continue;
        };
        count(ProfileEvent::QueryConditionCacheHits, 1);
        known.was_used.store(true, Ordering::Relaxed);
        let granules = Granules::of(part);
        for segment in of_part {
            let mut last: Option<Segment> = None;
            for piece in granules.pieces(segment.offset..segment.offset + segment.rows) {
                if known.is_without(granules.number(segment.row_group, piece.start)) {
                    left.extend(last.take());
                    continue;
                }
                match &mut last {
                    Some(last) => last.rows += piece.len(),
                    None => last = Some(Segment { offset: piece.start, rows: piece.len(), ..segment.clone() }),
                }
            }
            left.extend(last);
        }
    }
    left
}
