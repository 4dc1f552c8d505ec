//! Which parts are merged next for the sake of their table's TTL. Pure: what parts know of their rows' moments and the time come in, a range
//! goes out.

use std::ops::Range;

use crate::merge_tree::merges::merge_selection::MergeLimits;

/// A part whose rows may expire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiring {
    /// On disk.
    pub bytes: u64,
    /// Those of its largest row group.
    pub group_bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// When there is next something to do with it, in seconds since 1970.
    pub due: Option<u32>,
    /// Whether all of its rows have expired.
    pub has_expired: bool,
}

/// The most parts that follow each other and have expired: they go without being read, whatever their size.
#[must_use]
pub fn select_expired(parts: &[Expiring], parts_max: usize) -> Option<Range<usize>> {
    let mut best: Option<Range<usize>> = None;
    let mut first = 0;
    while first < parts.len() {
        let run = parts.iter().skip(first).take(parts_max).take_while(|part| part.has_expired).count();
        if run > best.as_ref().map_or(0, Range::len) {
            best = Some(first..first + run);
        }
        first += run.max(1);
    }
    best
}

/// The part that has been due for longest, whatever its size, with as many of its neighbours as are due too, within limits.
#[must_use]
pub fn select_due(parts: &[Expiring], now: u32, limits: &MergeLimits) -> Option<Range<usize>> {
    let is_due = |part: &Expiring| part.due.is_some_and(|due| due <= now);
    let due = parts.iter().enumerate().filter(|(_, part)| is_due(part));
    let (at, part) = due.min_by_key(|(_, part)| part.due)?;
    let (mut range, mut used) = (at..at + 1, [part.bytes, part.group_bytes, part.rows]);
    let most = [limits.bytes, limits.group_bytes, limits.rows];
    let mut fits = |part: &Expiring, range: &Range<usize>| {
        let [bytes, group_bytes, rows] = used;
        let all = [
            bytes.saturating_add(part.bytes),
            group_bytes.saturating_add(part.group_bytes),
            rows.saturating_add(part.rows),
        ];
        let fits = is_due(part) && range.len() < limits.parts && all.iter().zip(most).all(|(all, most)| *all <= most);
        if fits {
            used = all;
        }
        fits
    };
    while let Some(before) = range.start.checked_sub(1).and_then(|at| parts.get(at)) {
        if !fits(before, &range) {
            break;
        }
        range.start -= 1;
    }
    while let Some(after) = parts.get(range.end) {
        if !fits(after, &range) {
            break;
        }
        range.end += 1;
    }
    Some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge_tree::merges::merge_selection::BASE;

    fn part(due: u32, bytes: u64) -> Expiring {
        Expiring { bytes, group_bytes: 1, rows: 5, due: (due > 0).then_some(due), has_expired: false }
    }

    #[test]
    fn the_longest_due_comes_first_with_its_neighbours() {
        let parts = [part(50, 10), part(40, 10), part(30, 10), part(90, 10), part(45, 1000), part(0, 1)];
        let limits = MergeLimits { bytes: 100, group_bytes: 10, rows: 100, parts: 10, base: BASE };
        assert_eq!(select_due(&parts, 60, &limits), Some(0..3));
        assert_eq!(select_due(&parts, 60, &MergeLimits { parts: 2, ..limits }), Some(1..3));
        assert_eq!(select_due(&parts, 60, &MergeLimits { bytes: 15, ..limits }), Some(2..3));
        assert_eq!(select_due(&parts, 60, &MergeLimits { group_bytes: 2, ..limits }), Some(1..3));
        assert_eq!(select_due(&parts, 60, &MergeLimits { rows: 10, ..limits }), Some(1..3));
        assert_eq!(select_due(&parts[3..], 60, &limits), Some(1..2));
        assert_eq!(select_due(&parts, 10, &MergeLimits { bytes: 5000, ..limits }), None);
    }

    #[test]
    fn what_has_expired_goes_at_once() {
        let gone = |has_expired| Expiring { bytes: u64::MAX, group_bytes: 1, rows: 5, due: Some(1), has_expired };
        let parts = [gone(true), gone(false), gone(true), gone(true), gone(true), gone(false)];
        assert_eq!(select_expired(&parts, 100), Some(2..5));
        assert_eq!(select_expired(&parts, 2), Some(2..4));
        assert_eq!(select_expired(&[gone(false)], 100), None);
    }
}
