//! Where rows are in a table's parts: what a scan tells of each row, and single rows found again by it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use squall_types::{Error, Result};

use super::indexed_scan::segments_of;
use super::pruning::Segment;
use crate::merge_tree::parts::part::Part;
use crate::table::RowNumbers;

/// The low bits of a place are the row's number within its part, those above the part's number.
const ROW_BITS: u32 = 40;

/// The number of each part of a table at one moment, by the part's address; the table fills it in.
#[derive(Clone, Debug, Default)]
pub struct PartNumbers(Arc<HashMap<usize, u64>>);

impl PartNumbers {
    pub(in crate::merge_tree) fn new(parts: &[Arc<Part>]) -> Self {
        let address = |part: &Arc<Part>| Arc::as_ptr(part) as usize;
        Self(Arc::new(parts.iter().map(address).zip(0..).collect()))
    }

    /// The place of a part's first row.
    fn place(&self, part: &Arc<Part>) -> u64 {
        let number = self.0.get(&(Arc::as_ptr(part) as usize));
        debug_assert!(number.is_some(), "a part that the table does not have");
        number.copied().unwrap_or(u64::from(u32::MAX)) << ROW_BITS
    }
}

impl RowNumbers {
    /// Whether there is such a column.
    pub(in crate::merge_tree) fn are_wanted(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// What it tells of the first row of a row group.
    pub(in crate::merge_tree) fn first(&self, part: &Arc<Part>, row_group: usize) -> Option<u64> {
        let first_row =
            || -> u64 { part.description.row_groups.iter().take(row_group).map(|group| group.rows as u64).sum() };
        match self {
            Self::None => None,
            Self::WithinPart => Some(first_row()),
            Self::Place(parts) => Some(parts.place(part) + first_row()),
        }
    }
}

/// The rows at places, which ascend.
pub(in crate::merge_tree) fn segments_at(parts: &[Arc<Part>], places: &[u64]) -> Result<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut left = places;
    while let Some(first) = left.first() {
        let number = first >> ROW_BITS;
        let (own, others) = left.split_at(left.partition_point(|place| place >> ROW_BITS <= number));
        left = others;
        let part = usize::try_from(number).ok().and_then(|number| parts.get(number));
        let part = part.ok_or_else(|| Error::logical("a row of a part that is not there"))?;
        let mut rows: Vec<Range<usize>> = Vec::new();
        for place in own {
            let row = (place & ((1 << ROW_BITS) - 1)) as usize;
            match rows.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                Some(last) if last.end > row => return Err(Error::logical("places that do not ascend")),
                _ => rows.push(row..row + 1),
            }
        }
        let found = segments_of(part, &rows);
        if found.iter().map(|segment| segment.rows).sum::<usize>() != own.len() {
            return Err(Error::logical("a row that its part does not have"));
        }
        segments.extend(found);
    }
    Ok(segments)
}
