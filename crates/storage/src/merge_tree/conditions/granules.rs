//! The granules of a part.

use std::ops::Range;

use crate::merge_tree::parts::part::Part;

/// How the granules of a part are numbered: row group by row group, each of which begins with a new one.
#[derive(Clone, Debug)]
pub(super) struct Granules {
    rows: usize,
    /// The number of the first granule of each row group, and of all granules.
    firsts: Vec<usize>,
}

impl Granules {
    pub(super) fn of(part: &Part) -> Self {
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
