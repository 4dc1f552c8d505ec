//! Which rows of which parts a scan has to look at: parts and row groups by their smallest and largest values, granules by the
//! primary index and by what is known of the rows of chunks in memory, and rows by the first column of the key itself where that is
//! decoded. So a lookup by key reads the rows that it finds, whatever the granularity.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use squall_planner::{Expression, KeyExpression};
use squall_runtime::profile_events::{Timed, count};
use squall_runtime::{CurrentMetric, ProfileEvent};
use squall_types::{DataType, Error, ErrorCode, Result, Rows, Settings, Value};

use super::key_search::{is_searchable, rows_within};
use super::zone_map::ZoneMap;
use crate::key_condition::{Field, Interval, KeyCondition, ValueRange};
use crate::merge_tree::changes::deleted_rows::Deletions;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::partition;
use crate::merge_tree::{MergeTree, PartSet};
use crate::table::{ColumnBounds, ScanSelection};

/// Rows of one row group that a scan reads, one after the other.
#[derive(Clone, Debug)]
pub(in crate::merge_tree) struct Segment {
    pub(in crate::merge_tree) part: Arc<Part>,
    pub(in crate::merge_tree) row_group: usize,
    /// The first row within the row group.
    pub(in crate::merge_tree) offset: usize,
    pub(in crate::merge_tree) rows: usize,
}

impl Segment {
    /// Whether it is of the same row group.
    pub(in crate::merge_tree) fn is_of_group_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.part, &other.part) && self.row_group == other.row_group
    }
}

/// The segments of each row group, in their order.
pub(super) fn by_row_group(segments: Vec<Segment>) -> Vec<Vec<Segment>> {
    let mut groups: Vec<Vec<Segment>> = Vec::new();
    for segment in segments {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| last.is_of_group_of(&segment)) => group.push(segment),
            _ => groups.push(vec![segment]),
        }
    }
    groups
}

/// The rows of a row group that some of the rows of its segments are: so many from the `first` on.
pub(super) fn rows_from(segments: &[Segment], first: usize, rows: usize) -> Vec<Range<usize>> {
    let (mut skip, mut left) = (first, rows);
    let mut ranges = Vec::new();
    for segment in segments {
        let rows = segment.rows.saturating_sub(skip).min(left);
        if rows > 0 {
            let start = segment.offset + skip;
            ranges.push(start..start + rows);
            left -= rows;
            skip = 0;
        } else {
            skip -= segment.rows;
        }
        if left == 0 {
            break;
        }
    }
    ranges
}

/// What a predicate over the table's columns and bounds of some of them say of the rows; `None` where that is nothing.
pub(in crate::merge_tree) fn condition(
    table: &MergeTree,
    predicate: Option<&Expression>,
    bounds: &[ColumnBounds],
) -> Option<KeyCondition> {
    let of_predicate = predicate.map(|predicate| KeyCondition::new(predicate, &table.pruning_keys));
    let of_bounds = bounds.iter().map(|bounds| KeyCondition::between(Field::Column(bounds.column), &bounds.ends));
    of_predicate.into_iter().chain(of_bounds).filter(|condition| !condition.is_unknown()).reduce(KeyCondition::and)
}

/// The rows for which a condition can hold.
pub(in crate::merge_tree) fn select(
    table: &MergeTree,
    set: &PartSet,
    condition: Option<&KeyCondition>,
) -> Vec<Segment> {
    let segments = select_of(table, &set.parts, condition);
    if set.deletions.is_empty() { segments } else { not_deleted(segments, &set.deletions) }
}

/// The same of parts as they were written.
pub(in crate::merge_tree) fn select_of(
    table: &MergeTree,
    parts: &[Arc<Part>],
    condition: Option<&KeyCondition>,
) -> Vec<Segment> {
    let leading = condition.and_then(|condition| LeadingKey::of(table, condition));
    let _filtering = condition.map(|_| {
        count(ProfileEvent::IndexAnalysisRounds, 1);
        (
            Timed::new(ProfileEvent::FilteringMarksWithPrimaryKeyMicroseconds),
            CurrentMetric::FilteringMarksWithPrimaryKey.hold(1),
        )
    });
    let mut segments = Vec::new();
    for part in parts {
        match condition {
            None => {
                let whole =
                    |(row_group, group): (usize, &crate::merge_tree::parts::part_description::RowGroupDescription)| {
                        Segment { part: part.clone(), row_group, offset: 0, rows: group.rows }
                    };
                segments.extend(part.description.row_groups.iter().enumerate().map(whole));
            }
            Some(condition) => {
                let partition = partition_values(table, part);
                Pruning { table, part, condition, partition, segments: &mut segments }.run(leading.as_ref());
            }
        }
    }
    segments.retain(|segment| segment.rows > 0);
    segments
}

/// The segments but for rows that are deleted.
pub(in crate::merge_tree) fn not_deleted(segments: Vec<Segment>, deletions: &Deletions) -> Vec<Segment> {
    let mut left = Vec::with_capacity(segments.len());
    for segment in segments {
        let Some(deletion) = deletions.of(&segment.part.file.name) else {
            left.push(segment);
            continue;
        };
        let before = segment.part.description.row_groups.iter().take(segment.row_group);
        let first = before.map(|group| group.rows).sum::<usize>();
        let start = first + segment.offset;
        left.extend(deletion.rows.left(start..start + segment.rows).map(|rows| Segment {
            offset: rows.start - first,
            rows: rows.len(),
            ..segment.clone()
        }));
    }
    left
}

/// The values of the partition key in a part, where its id tells them.
pub(in crate::merge_tree) fn partition_values(table: &MergeTree, part: &Part) -> Option<Vec<Value>> {
    let key = &table.identity.definition.partition_key;
    let types = key.iter().map(|key| key.expression.data_type());
    if key.is_empty() { None } else { partition::values_of_id(&part.file.partition_id, types) }
}

/// What `force_primary_key` and `force_index_by_date` check: whether a scan with this predicate can leave anything out by the primary
/// key, and by the partition key or its columns.
pub(in crate::merge_tree) fn check_index_is_used(
    table: &MergeTree,
    predicate: Option<&Expression>,
    settings: &Settings,
) -> Result<()> {
    let useful = |keys: &[KeyExpression]| {
        let mut columns = Vec::new();
        keys.iter().for_each(|key| key.expression.visit_columns(&mut |column| columns.push(column)));
        predicate.is_some_and(|predicate| {
            KeyCondition::new(predicate, keys).is_useful(&|field| match field {
                Field::Column(column) => columns.contains(&column),
                Field::Key(_) => true,
            })
        })
    };
    let partition_key = &table.identity.definition.partition_key;
    if settings.force_index_by_date && !partition_key.is_empty() && !useful(partition_key) {
        let message = "Neither MinMax index by columns of the partition key nor the partition key itself is used and setting \
                       'force_index_by_date' is set";
        return Err(Error::new(ErrorCode::INDEX_NOT_USED, message));
    }
    if settings.force_primary_key && !table.primary_key.is_empty() && !useful(&table.primary_key) {
        let keys: Vec<&str> = table.primary_key.iter().map(|key| &*key.sql).collect();
        let message = format!("Primary key ({}) is not used and setting 'force_primary_key' is set", keys.join(", "));
        return Err(Error::new(ErrorCode::INDEX_NOT_USED, message));
    }
    Ok(())
}

/// How many stretches of rows that follow each other the segments are.
pub(in crate::merge_tree) fn ranges(segments: &[Segment]) -> u64 {
    let follows = |pair: &[Segment]| match pair {
        [left, right] if Arc::ptr_eq(&left.part, &right.part) => {
            let is_at_end = || {
                let group = left.part.description.row_groups.get(left.row_group);
                group.is_some_and(|group| left.offset + left.rows == group.rows)
            };
            left.row_group == right.row_group && left.offset + left.rows == right.offset
                || left.row_group + 1 == right.row_group && right.offset == 0 && is_at_end()
        }
        _ => false,
    };
    (segments.len() - segments.windows(2).filter(|pair| follows(pair)).count()) as u64
}

/// How many parts and granules the segments touch.
pub(in crate::merge_tree) fn selection(segments: &[Segment]) -> ScanSelection {
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

/// What a condition says of the first column of the key, by which a part's rows are in order.
pub(in crate::merge_tree) struct LeadingKey<'a> {
    /// Its position among the stored columns.
    stored: usize,
    /// The rows that can match have it in one of these.
    intervals: Cow<'a, [Interval]>,
    /// Whether the condition says nothing else.
    is_all: bool,
}

impl<'a> LeadingKey<'a> {
    pub(in crate::merge_tree) fn of(table: &MergeTree, condition: &'a KeyCondition) -> Option<Self> {
        let Expression::Column { position, data_type } = &table.primary_key.first()?.expression else { return None };
        let stored = table.identity.stored_positions.get(*position).copied().flatten()?;
        let field = Field::Column(*position);
        let intervals = condition.intervals(field).filter(|_| is_searchable(data_type.remove_low_cardinality()))?;
        Some(Self { stored, intervals, is_all: condition.is_only_of(field) })
    }
}

/// The position of a column of the table among a part's, where the part has it as it is and its bounds are those of its order.
pub(in crate::merge_tree) fn place(table: &MergeTree, part: &Part, column: usize) -> Option<usize> {
    let identity = &table.identity;
    let stored = identity.stored_positions.get(column).copied().flatten()?;
    // The bounds of UUIDs are those of their bytes.
    let has_order = |data_type: &DataType| *data_type.inner() != DataType::UUID;
    identity.stored.fields.get(stored).filter(|(_, data_type)| has_order(data_type))?;
    part.schema.place(identity, stored)
}

struct Pruning<'a> {
    table: &'a MergeTree,
    part: &'a Arc<Part>,
    condition: &'a KeyCondition,
    /// What the partition key is in all rows of the part.
    partition: Option<Vec<Value>>,
    segments: &'a mut Vec<Segment>,
}

impl Pruning<'_> {
    fn run(&mut self, leading: Option<&LeadingKey<'_>>) {
        let description = &self.part.description;
        let granules = description.primary_index.granules();
        match leading.filter(|_| granules > 0) {
            Some(leading) if leading.is_all => self.run_along(leading),
            Some(leading) if self.can_match_at_all(granules) => self.run_along(leading),
            Some(_) => {}
            None if self.can_match_at_all(granules) => self.run_over(0..description.rows()),
            None => {}
        }
    }

    fn can_match_at_all(&self, granules: usize) -> bool {
        let description = &self.part.description;
        let keyed = |field, from, to| {
            let key = self.key_position(field)?;
            Some(description.primary_index.range(key, from, to))
        };
        self.condition.can_match(&|field| {
            let of_columns = self.place(field).map(|column| description.range(column).0);
            both(both(of_columns, self.of_partition(field)), keyed(field, 0, granules))
        })
    }

    /// What the partition says of a field.
    fn of_partition(&self, field: Field) -> Option<ValueRange> {
        let Field::Key(key) = field else { return None };
        let value = self.partition.as_ref()?.get(key.checked_sub(self.table.primary_key.len())?)?;
        Some(ValueRange { low: Some(value.clone()), high: Some(value.clone()), incomparable: false })
    }

    /// The position of a field among the part's columns, where it has it as it is.
    fn place(&self, field: Field) -> Option<usize> {
        match field {
            Field::Column(column) => place(self.table, self.part, column),
            Field::Key(_) => None,
        }
    }

    /// Looks where the leading key can be, interval by interval.
    fn run_along(&mut self, leading: &LeadingKey<'_>) {
        let description = &self.part.description;
        let granularity = description.granularity;
        let Some(index) = description.primary_index.keys.first() else { return };
        let (index, granules, rows) = (&**index.array(), description.primary_index.granules(), description.rows());
        let mut done = 0;
        for interval in &*leading.intervals {
            let up_from = Interval { low: interval.low.clone(), high: None };
            if rows_within(index, granules..granules + 1, &up_from).is_empty() {
                // The last row of all comes before it.
                break;
            }
            let marks = rows_within(index, 0..granules, interval);
            // The granule before the first one that begins within may end within. And where the key is not decoded, two intervals may
            // lie in one granule.
            let mut found =
                (marks.start.saturating_sub(1) * granularity).max(done)..(marks.end * granularity).min(rows);
            if let Some(first) = self.within_granule(leading, found.start, &found, interval) {
                found.start = first.start;
            }
            if let Some(last) = self.within_granule(leading, found.end.saturating_sub(1), &found, interval) {
                found.end = last.end;
            }
            if found.is_empty() {
                continue;
            }
            done = found.end;
            if leading.is_all || found.len() <= granularity {
                for (row_group, group_first, rows) in row_groups(self.part, found) {
                    self.add(row_group, group_first, rows);
                }
            } else {
                self.run_over(found);
            }
        }
    }

    /// The rows of an interval among those of `rows` that share a granule with `row`; `None` where the key is not decoded.
    fn within_granule(
        &self,
        leading: &LeadingKey<'_>,
        row: usize,
        rows: &Range<usize>,
        interval: &Interval,
    ) -> Option<Range<usize>> {
        let granularity = self.part.description.granularity;
        let start = row / granularity * granularity;
        let rows = start.max(rows.start)..(start + granularity).min(rows.end);
        let (row_group, first, rows) = row_groups(self.part, rows).next()?;
        let place = self.part.schema.place(&self.table.identity, leading.stored)?;
        let key = self.part.slot(row_group, place)?.get()?;
        if let Rows::Whole(key) = &key {
            let found = rows_within(&**key, rows.start - first..rows.end - first, interval);
            return Some(found.start + first..found.end + first);
        }
        // Of a sparse key the granule is written out, and no more.
        let key = key.slice(rows.start - first, rows.len());
        let found = rows_within(&**key.array(), 0..rows.len(), interval);
        Some(found.start + rows.start..found.end + rows.start)
    }

    /// Looks at some rows, granule by granule.
    fn run_over(&mut self, rows: Range<usize>) {
        let description = &self.part.description;
        let (granularity, has_index) = (description.granularity, description.primary_index.granules() > 0);
        for (row_group, group_first, rows) in row_groups(self.part, rows) {
            let chunks = description.row_groups.get(row_group).map(|group| &group.chunks);
            let of_chunks = |field| Some(chunks?.get(self.place(field)?)?.range.clone());
            let in_chunks = |field| both(of_chunks(field), self.of_partition(field));
            let zones = self.zones(row_group);
            let in_granules = |field, granules: Range<usize>| {
                let rows = (granules.start * granularity).max(rows.start)..(granules.end * granularity).min(rows.end);
                let zones = zones.iter().find(|(known, _)| *known == field).map(|(_, zones)| zones);
                both(in_chunks(field), zones.map(|zones| zones.range(rows.start - group_first..rows.end - group_first)))
            };
            let mut found = Vec::new();
            if has_index || !zones.is_empty() {
                self.bisect(rows.start / granularity..rows.end.div_ceil(granularity), &in_granules, &mut found);
            } else if self.condition.can_match(&in_chunks) {
                found.push(0..usize::MAX / granularity);
            }
            for granules in found {
                let start = (granules.start * granularity).max(rows.start);
                self.add(row_group, group_first, start..(granules.end * granularity).min(rows.end));
            }
        }
    }

    /// What is known of the rows of a row group by zones of them, of each field that the condition asks for.
    fn zones(&self, row_group: usize) -> Vec<(Field, &ZoneMap)> {
        let mut zones: Vec<(Field, &ZoneMap)> = Vec::new();
        self.condition.visit_fields(&mut |field| {
            let of_field = self.place(field).and_then(|place| self.part.zone_map(row_group, place));
            zones.extend(of_field.filter(|_| zones.iter().all(|(known, _)| *known != field)).map(|map| (field, map)));
        });
        zones
    }

    /// Looks at granules as one, then at their halves where they can match.
    fn bisect(
        &self,
        granules: Range<usize>,
        in_granules: &dyn Fn(Field, Range<usize>) -> Option<ValueRange>,
        found: &mut Vec<Range<usize>>,
    ) {
        let Range { start, end } = granules;
        let index = &self.part.description.primary_index;
        let in_index = |field| {
            let key = self.key_position(field).filter(|_| index.granules() > 0)?;
            Some(index.range(key, start, end))
        };
        let in_both = |field| both(in_granules(field, start..end), in_index(field));
        if start >= end || !self.condition.can_match(&in_both) {
            return;
        }
        if end - start == 1 {
            found.push(start..end);
            return;
        }
        let middle = start + (end - start) / 2;
        self.bisect(start..middle, in_granules, found);
        self.bisect(middle..end, in_granules, found);
    }

    fn key_position(&self, field: Field) -> Option<usize> {
        match field {
            Field::Key(key) => (key < self.table.primary_key.len()).then_some(key),
            Field::Column(column) => self
                .table
                .primary_key
                .iter()
                .position(|key| matches!(key.expression, Expression::Column { position, .. } if position == column)),
        }
    }

    fn add(&mut self, row_group: usize, group_first: usize, rows: Range<usize>) {
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

/// The row groups that hold some rows of a part: each with its first row and those of the rows that it holds.
pub(in crate::merge_tree) fn row_groups(
    part: &Part,
    rows: Range<usize>,
) -> impl Iterator<Item = (usize, usize, Range<usize>)> {
    let mut first = 0;
    part.description.row_groups.iter().enumerate().filter_map(move |(row_group, group)| {
        let group_first = first;
        first += group.rows;
        let held = rows.start.max(group_first)..rows.end.min(first);
        (!held.is_empty()).then_some((row_group, group_first, held))
    })
}

fn both(left: Option<ValueRange>, right: Option<ValueRange>) -> Option<ValueRange> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.intersection(right)),
        (left, right) => left.or(right),
    }
}
