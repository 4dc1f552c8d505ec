//! Which rows of which parts a scan has to look at: parts and row groups by their smallest and largest values, granules by the
//! primary index.

use std::sync::Arc;

use squall_planner::Expression;
use squall_types::Result;

use super::MergeTree;
use super::part::Part;
use crate::key_condition::{Field, KeyCondition, ValueRange};
use crate::table::ScanSelection;

/// Rows of one row group that a scan reads, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) part: Arc<Part>,
    pub(super) row_group: usize,
    /// The first row within the row group.
    pub(super) offset: usize,
    pub(super) rows: usize,
}

/// The rows in which `predicate`, over the table's columns, can be true.
pub(super) fn select(table: &MergeTree, parts: &[Arc<Part>], predicate: Option<&Expression>) -> Result<Vec<Segment>> {
    let condition = predicate.map(|predicate| KeyCondition::new(predicate, &table.primary_key));
    let condition = condition.filter(|condition| !condition.is_unknown());
    let mut segments = Vec::new();
    for part in parts {
        match &condition {
            None => {
                let whole = |(row_group, group): (usize, &super::part_description::RowGroupDescription)| Segment {
                    part: part.clone(),
                    row_group,
                    offset: 0,
                    rows: group.rows,
                };
                segments.extend(part.description.row_groups.iter().enumerate().map(whole));
            }
            Some(condition) => Pruning { table, part, condition, segments: &mut segments }.run(),
        }
    }
    segments.retain(|segment| segment.rows > 0);
    Ok(segments)
}

/// How many parts and granules the segments touch.
pub(super) fn selection(segments: &[Segment]) -> ScanSelection {
    let mut selection = ScanSelection::default();
    let mut last: Option<&Arc<Part>> = None;
    for segment in segments {
        if !last.is_some_and(|last| Arc::ptr_eq(last, &segment.part)) {
            selection.parts += 1;
            last = Some(&segment.part);
        }
        selection.marks += segment.rows.div_ceil(segment.part.description.granularity) as u64;
    }
    selection
}

struct Pruning<'a> {
    table: &'a MergeTree,
    part: &'a Arc<Part>,
    condition: &'a KeyCondition,
    segments: &'a mut Vec<Segment>,
}

impl Pruning<'_> {
    fn run(&mut self) {
        let description = &self.part.description;
        let granules = description.primary_index.granules();
        let stored = |field| match field {
            Field::Column(column) => self.table.identity.stored_positions.get(column).copied().flatten(),
            Field::Key(_) => None,
        };
        let keyed = |field, from, to| {
            let key = self.key_position(field)?;
            Some(description.primary_index.range(key, from, to))
        };
        let in_part = |field| both(stored(field).map(|column| description.range(column).0), keyed(field, 0, granules));
        if !self.condition.can_match(&in_part) {
            return;
        }
        let mut first_row = 0;
        for (row_group, group) in description.row_groups.iter().enumerate() {
            let from = first_row / description.granularity;
            let to = (first_row + group.rows).div_ceil(description.granularity);
            let in_chunks =
                |field| stored(field).and_then(|column| group.chunks.get(column)).map(|chunk| chunk.range.clone());
            if granules == 0 {
                if self.condition.can_match(&in_chunks) {
                    self.add(row_group, first_row, first_row..first_row + group.rows);
                }
            } else {
                self.bisect(row_group, first_row, (from, to), &in_chunks);
            }
            first_row += group.rows;
        }
    }

    /// Looks at granules `from..to` as one, then at its halves where it can match.
    fn bisect(
        &mut self,
        row_group: usize,
        group_first: usize,
        (from, to): (usize, usize),
        in_chunks: &dyn Fn(Field) -> Option<ValueRange>,
    ) {
        let index = &self.part.description.primary_index;
        let in_granules =
            |field| both(in_chunks(field), self.key_position(field).map(|key| index.range(key, from, to)));
        if from >= to || !self.condition.can_match(&in_granules) {
            return;
        }
        if to - from == 1 {
            let granularity = self.part.description.granularity;
            let group_rows = self.part.description.row_groups.get(row_group).map_or(0, |group| group.rows);
            let end = (to * granularity).min(group_first + group_rows);
            self.add(row_group, group_first, from * granularity..end);
            return;
        }
        let middle = from + (to - from) / 2;
        self.bisect(row_group, group_first, (from, middle), in_chunks);
        self.bisect(row_group, group_first, (middle, to), in_chunks);
    }

    fn key_position(&self, field: Field) -> Option<usize> {
        match field {
            Field::Key(key) => Some(key),
            Field::Column(column) => self
                .table
                .primary_key
                .iter()
                .position(|key| matches!(key.expression, Expression::Column { position, .. } if position == column)),
        }
    }

    fn add(&mut self, row_group: usize, group_first: usize, rows: std::ops::Range<usize>) {
        let offset = rows.start - group_first;
        match self.segments.last_mut() {
            Some(last)
                if Arc::ptr_eq(&last.part, self.part)
                    && last.row_group == row_group
                    && last.offset + last.rows == offset =>
            {
                last.rows += rows.len();
            }
            _ => self.segments.push(Segment { part: self.part.clone(), row_group, offset, rows: rows.len() }),
        }
    }
}

fn both(left: Option<ValueRange>, right: Option<ValueRange>) -> Option<ValueRange> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.intersection(right)),
        (left, right) => left.or(right),
    }
}
