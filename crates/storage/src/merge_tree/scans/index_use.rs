//! What the indexes of a table leave of its parts, one after the other, for EXPLAIN. Scans do all at once.

use std::sync::Arc;

use arrow_buffer::Buffer;
use squall_planner::{Expression, KeyExpression};
use squall_types::{Error, ErrorCode, Result, Settings};

use super::indexed_scan::{Sifted, segments_of, sifts};
use super::pruning::{
    LeadingKey, Segment, condition, not_deleted, partition_values, place, ranges, select_of, selection,
};
use crate::index_analysis::{IndexAnalysis, IndexStep, IndexStepKind};
use crate::key_condition::{Field, KeyCondition, ValueRange};
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::skip_index::{IndexFilter, IndexPage, SkipIndex, Wanted};
use crate::merge_tree::{MergeTree, PartSet};
use crate::table::{SkipIndexSize, SkipIndexUse, names_of_indices};

/// The analysis of a scan of parts with this predicate over the table's columns.
pub(in crate::merge_tree) fn analyze(
    table: &MergeTree,
    set: &PartSet,
    predicate: Option<&Expression>,
    skip_indexes: &SkipIndexUse,
) -> Result<IndexAnalysis> {
    let parts = &set.parts;
    let condition = condition(table, predicate, &[]);
    let granules = |parts: &[Arc<Part>]| -> u64 { parts.iter().map(|part| granules_of(part)).sum() };
    let names = Names { table };
    let partition_key = &table.identity.definition.partition_key;
    let of_partition = columns_of(partition_key);
    let mut steps = Vec::new();
    let mut left = parts.to_vec();
    if !partition_key.is_empty() {
        let is_column = |field| matches!(field, Field::Column(column) if of_partition.contains(&column));
        if let Some(condition) = &condition {
            left.retain(|part| condition.can_match(&|field| range_of(table, part, field).filter(|_| is_column(field))));
        }
        steps.push(names.step(IndexStepKind::MinMax, condition.as_ref(), &is_column, &left, granules(&left)));
        let is_key = |field| matches!(field, Field::Key(key) if key >= table.primary_key.len());
        if let Some(condition) = &condition {
            left.retain(|part| {
                let values = partition_values(table, part);
                condition.can_match(&|field| {
                    let Field::Key(key) = field else { return None };
                    let value = values.as_ref()?.get(key.checked_sub(table.primary_key.len())?)?;
                    Some(ValueRange { low: Some(value.clone()), high: Some(value.clone()), incomparable: false })
                })
            });
        }
        steps.push(names.step(IndexStepKind::Partition, condition.as_ref(), &is_key, &left, granules(&left)));
    }
    let segments = not_deleted(select_of(table, &left, condition.as_ref()), &set.deletions);
    let found = selection(&segments);
    let of_primary = |field| match field {
        Field::Column(column) => table
            .primary_key
            .iter()
            .any(|key| matches!(key.expression, Expression::Column { position, .. } if position == column)),
        Field::Key(key) => key < table.primary_key.len(),
    };
    let mut step = names.step(IndexStepKind::PrimaryKey, condition.as_ref(), &of_primary, &[], found.marks);
    step.parts = found.parts;
    if !step.keys.is_empty() {
        let leading = condition.as_ref().and_then(|condition| LeadingKey::of(table, condition));
        step.search = Some(if leading.is_some() { "binary search" } else { "generic exclusion search" });
    }
    steps.push(step);
    let mut segments = segments;
    for filter in filters(table, predicate, skip_indexes) {
        segments = sifted(segments, &filter)?;
        let found = selection(&segments);
        let (name, description) = (filter.index.name.to_string(), filter.index.description.clone());
        steps.push(IndexStep {
            kind: IndexStepKind::Skip { name, description },
            keys: Vec::new(),
            condition: filter.text(&|column| names.name(Field::Column(column))),
            parts: found.parts,
            granules: found.marks,
            search: None,
        });
    }
    Ok(IndexAnalysis {
        parts: parts.len() as u64,
        granules: granules(parts),
        steps,
        ranges: ranges(&segments),
        rows: segments.iter().map(|segment: &Segment| segment.rows as u64).sum(),
    })
}

/// What a predicate asks of the skip indexes that may be asked, of each that it asks anything of.
pub(in crate::merge_tree) fn filters(
    table: &MergeTree,
    predicate: Option<&Expression>,
    skip_indexes: &SkipIndexUse,
) -> Vec<Arc<IndexFilter>> {
    let Some(predicate) = predicate else { return Vec::new() };
    let allowed = table.indices.iter().filter(|index| skip_indexes.allows(&index.name));
    allowed.filter_map(|index| IndexFilter::new(index, predicate)).map(Arc::new).collect()
}

/// What `force_data_skipping_indices` checks: that each index of the list is asked.
///
/// # Errors
/// `INDEX_NOT_USED`.
pub(in crate::merge_tree) fn check_forced(
    table: &MergeTree,
    predicate: Option<&Expression>,
    skip_indexes: &SkipIndexUse,
    settings: &Settings,
) -> Result<()> {
    let forced = names_of_indices(&settings.force_data_skipping_indices);
    if forced.is_empty() || skip_indexes.is_off {
        return Ok(());
    }
    let asked = filters(table, predicate, skip_indexes);
    match forced.iter().find(|name| !asked.iter().any(|filter| *filter.index.name == ***name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("Index `{name}` is not used and setting 'force_data_skipping_indices' contains it");
            Err(Error::new(ErrorCode::INDEX_NOT_USED, message))
        }
    }
}

/// The segments but for what an index leaves out. Waits for the disk.
fn sifted(segments: Vec<Segment>, filter: &Arc<IndexFilter>) -> Result<Vec<Segment>> {
    let mut left = Vec::new();
    for part in sifts(segments, std::slice::from_ref(filter)) {
        match part {
            Sifted::Known(segments) => left.extend(segments),
            Sifted::Sift(mut sift) => {
                let part = sift.part().clone();
                let mut pages = Vec::new();
                loop {
                    let wanted = sift.advance(&|wanted| {
                        let at_hand = pages.iter().find(|(page, _): &&(Wanted, Buffer)| *page == wanted);
                        at_hand.map(|(_, bytes)| bytes.clone())
                    })?;
                    if wanted.is_empty() {
                        break;
                    }
                    pages = part.read_index_pages(&wanted)?;
                }
                left.extend(segments_of(&part, &sift.into_rows()));
            }
        }
    }
    Ok(left)
}

/// What the skip indexes of a table take in some parts.
pub(in crate::merge_tree) fn sizes(table: &MergeTree, parts: &[Arc<Part>]) -> Vec<SkipIndexSize> {
    let of = |index: &Arc<SkipIndex>| {
        let mut size = SkipIndexSize { name: index.name.clone(), ..SkipIndexSize::default() };
        let all = parts.iter().flat_map(|part| &part.description.indices);
        for known in all.filter(|known| known.identity == index.identity) {
            size.compressed_bytes += known.pages.iter().map(|page| page.at.length).sum::<u64>();
            size.uncompressed_bytes += known.bytes;
            size.directory_bytes += (known.pages.len() * size_of::<IndexPage>()) as u64;
        }
        size
    };
    table.indices.iter().map(of).collect()
}

fn granules_of(part: &Part) -> u64 {
    part.rows.div_ceil(part.description.granularity.max(1) as u64)
}

/// The columns that keys are made of.
fn columns_of(keys: &[KeyExpression]) -> Vec<usize> {
    let mut columns = Vec::new();
    keys.iter().for_each(|key| key.expression.visit_columns(&mut |column| columns.push(column)));
    columns
}

/// The bounds of a column over a whole part.
fn range_of(table: &MergeTree, part: &Part, field: Field) -> Option<ValueRange> {
    match field {
        Field::Column(column) => place(table, part, column).map(|place| part.description.range(place).0),
        Field::Key(_) => None,
    }
}

/// What the fields of a table's conditions are called.
struct Names<'a> {
    table: &'a MergeTree,
}

impl Names<'_> {
    fn name(&self, field: Field) -> Option<String> {
        match field {
            Field::Column(column) => {
                self.table.identity.definition.columns.get(column).map(|column| column.name.to_string())
            }
            Field::Key(key) => self.table.pruning_keys.get(key).map(|key| key.sql.to_string()),
        }
    }

    fn step(
        &self,
        kind: IndexStepKind,
        condition: Option<&KeyCondition>,
        is_of_index: &dyn Fn(Field) -> bool,
        parts: &[Arc<Part>],
        granules: u64,
    ) -> IndexStep {
        let name = |field| Some(field).filter(|field| is_of_index(*field)).and_then(|field| self.name(field));
        let text = condition.map_or_else(|| "true".to_owned(), |condition| condition.text(&name));
        let mut keys = Vec::new();
        if let Some(condition) = condition.filter(|_| text != "true") {
            condition.visit_fields(&mut |field| keys.extend(name(field).filter(|name| !keys.contains(name))));
        }
        IndexStep { kind, keys, condition: Some(text), parts: parts.len() as u64, granules, search: None }
    }
}
