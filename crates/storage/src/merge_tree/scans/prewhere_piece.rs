//! Rows of a row group that a scan tests and hands out together, and what tests leave of them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use squall_functions::Selection;
use squall_types::{Block, Column, Result, Schema};

use super::prewhere_steps::Step;
use crate::evaluate::select;

/// Rows of about a page of strings: where one of them is wanted, all are unpacked.
const PAGE_ROWS: usize = 8192;
/// So few rows between two that are wanted are read with them.
const GAP_ROWS: usize = 16;
/// Rows of a row group that are tested and handed out together.
pub(super) struct Piece {
    /// The rows before any was tested, in the row group.
    pub whole: Vec<Range<usize>>,
    /// Those that passed so far.
    pub ranges: Vec<Range<usize>>,
    /// Their columns that were read, by place.
    pub held: Vec<Option<Column>>,
}

impl Piece {
    pub fn rows(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }

    /// The rows that meet conditions over columns that are held.
    pub fn meeting(&self, step: &Step, schema: &Schema) -> Result<Selection> {
        let rows = self.rows();
        let mut positions = vec![None; self.held.len()];
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for ((position, column), field) in positions.iter_mut().zip(&self.held).zip(&schema.fields) {
            if let Some(column) = column {
                *position = Some(columns.len());
                columns.push(column.clone());
                fields.push(field.clone());
            }
        }
        let block = Block::new(Arc::new(Schema { fields }), columns, rows);
        select(&step.conditions, &block, &positions)
    }

    /// Leaves out rows that were not selected, unless they are few or lie between others.
    pub fn narrow(&mut self, selection: &Selection) -> Result<()> {
        let mask = match selection {
            Selection::All => return Ok(()),
            Selection::None => {
                self.ranges.clear();
                self.held.iter_mut().for_each(|column| *column = None);
                return Ok(());
            }
            Selection::Some(mask) => mask,
        };
        let runs = runs(mask.values());
        let left: usize = runs.iter().map(ExactSizeIterator::len).sum();
        if left > self.rows() / 4 * 3 {
            return Ok(());
        }
        let mask = BooleanArray::new(bits(&runs, mask.len()), None);
        for column in self.held.iter_mut().flatten() {
            *column = column.filter(&mask, left)?;
        }
        self.ranges = within(&self.ranges, &runs);
        Ok(())
    }
}

/// The runs of bits that are set, those with little between them put together.
fn runs(bits: &BooleanBuffer) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (start, end) in bits.set_slices() {
        match runs.last_mut() {
            Some(last) if start - last.end <= GAP_ROWS => last.end = end,
            _ => runs.push(start..end),
        }
    }
    runs
}

/// The bits of runs.
fn bits(runs: &[Range<usize>], rows: usize) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(rows);
    for run in runs {
        bits.append_n(run.start - bits.len(), false);
        bits.append_n(run.len(), true);
    }
    bits.append_n(rows - bits.len(), false);
    bits.finish()
}

/// The runs of rows of ranges, which count from the first row of the first range on, as ranges.
fn within(ranges: &[Range<usize>], runs: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::with_capacity(runs.len());
    let (mut ranges, mut before) = (ranges.iter().peekable(), 0);
    for run in runs {
        let mut start = run.start;
        while start < run.end
            && let Some(range) = ranges.peek()
        {
            let end_of_range = before + range.len();
            if start >= end_of_range {
                before = end_of_range;
                ranges.next();
                continue;
            }
            let end = run.end.min(end_of_range);
            found.push(range.start + (start - before)..range.start + (end - before));
            start = end;
        }
    }
    found
}

/// How many pages rows have, and how many of them have a row that was selected.
pub(super) fn pages(selection: &Selection, rows: usize) -> (u64, u64) {
    let tested = rows.div_ceil(PAGE_ROWS) as u64;
    let passed = match selection {
        Selection::All => tested,
        Selection::None => 0,
        Selection::Some(mask) => {
            let pages =
                (0..rows).step_by(PAGE_ROWS).map(|first| mask.values().slice(first, PAGE_ROWS.min(rows - first)));
            pages.filter(|page| page.set_indices().next().is_some()).count() as u64
        }
    };
    (tested, passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[usize], rows: usize) -> BooleanBuffer {
        BooleanBuffer::collect_bool(rows, |row| set.contains(&row))
    }

    #[test]
    fn runs_are_put_together_and_found_in_ranges() {
        let found = runs(&of(&[0, 1, 3, 40, 41 + GAP_ROWS, 90], 100));
        assert_eq!(found, [0..4, 40..42 + GAP_ROWS, 90..91]);
        assert_eq!(bits(&found, 100).set_slices().map(|(start, end)| start..end).collect::<Vec<_>>(), found);
        // Row 60 of these ranges is row 1000, row 70 is row 1020.
        let ranges = [500..560, 1000..1010, 1020..1100];
        assert_eq!(within(&ranges, &found), [500..504, 540..542 + GAP_ROWS, 1040..1041]);
        assert_eq!(within(&ranges, &[50..80, 90..91]), [550..560, 1000..1010, 1020..1030, 1040..1041]);
        assert!(within(&ranges, &[]).is_empty());
    }

    #[test]
    fn pages_with_rows_are_counted() {
        let rows = 3 * PAGE_ROWS + 1;
        assert_eq!(pages(&Selection::All, rows), (4, 4));
        assert_eq!(pages(&Selection::None, rows), (4, 0));
        let mask = of(&[5, PAGE_ROWS - 1, 3 * PAGE_ROWS], rows);
        assert_eq!(pages(&Selection::Some(BooleanArray::new(mask, None)), rows), (4, 2));
    }
}
