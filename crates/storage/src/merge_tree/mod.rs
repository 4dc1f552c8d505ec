//! The engine `MergeTree`: parts of rows sorted by the key, in Parquet files that the catalog lists. Parts are merged
//! where somebody asks for it; who and when is the caller's business.

mod changes;
mod chunks;
pub(crate) mod conditions;
mod expiry;
mod insertion;
mod merges;
mod opening;
mod order;
mod parts;
mod projections;
mod scans;
mod settings;
mod skip_index;
mod statistics;
mod subcolumns;
mod value_hashes;

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_planner::{
    ColumnDescription, ColumnStatistics, Constraint, Expression, KeyExpression, Projected,
    Projection as BoundProjection, Subcolumn, TableDefinition, TableMetadata, TableTtl,
};
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_types::{DataType, Error, ErrorCode, Result, Settings, Value};

use crate::catalog::Catalog;
use crate::column_cache::ColumnCache;
use crate::column_mapping::ColumnDefaults;
use crate::identity::{TableIdentity, TableName};
use crate::index_analysis::IndexAnalysis;
use crate::key_binding::KeyBinding;
use crate::part_event::{PartEvent, PartEventKind};
use crate::table::{
    ColumnSize, InsertLimits, Insertion, PartColumn, PartInfo, ProjectionPart, RowNumbers, ScanRequest, SkipIndexSize,
    Table, TableHandle, TableScan,
};
use crate::table_record::TableRecord;
use changes::deleted_rows::Deletions;
use chunks::packing::Packing;
use conditions::{ConditionKey, without_known};
use merges::merge_control::MergeControl;
pub(crate) use merges::merge_kind::is_merge_tree;
use merges::merge_rule::MergeRule;
use parts::part::Part;
use parts::part_columns::{column_sizes, part_columns};
use parts::part_description::{PartDescription, PrimaryIndex};
pub(crate) use parts::part_schema::PartSchema;
use parts::part_schema::PartSchemas;
use parts::part_writer::PartExtras;
use parts::table_directory::TableDirectory;
use projections::projection::{Parent, Projection};
use scans::final_scan::FinalTable;
use scans::origin::PartColumns;
use scans::pruning::Segment;
pub use scans::row_places::PartNumbers;
use settings::ProjectionMode;
use skip_index::SkipIndex;
use subcolumns::SubcolumnTable;
pub use subcolumns::WantedColumns;

pub use changes::backup::PartSource;
pub(crate) use changes::backup::{CopiedParts, PartsNow};
pub(crate) use changes::detached::{DETACHING, free_name};
pub use changes::detached::{DetachedPart, PartSelection};
pub use changes::foreign::ForeignRows;
pub(crate) use chunks::parquet_layout::{LAKE_UUID, LakeColumn, is_same_in_lake, lake_columns, lake_fields};
pub use expiry::ttl_selection::{Expiring, select_due, select_expired};
pub use insertion::PreparedParts;
pub use merges::merge_control::{BackgroundTurn, MergeHold};
pub use merges::merge_selection::{Candidate, MergeLimits, select};
pub(crate) use merges::merging::NextMerge;
pub use merges::merging::{MERGED_ROWS_MAX, MergeProgress, MergeRoom, MergeType, MergeablePart};
pub(crate) use merges::rewrite::PartRewriting;
pub(crate) use parts::part_footer::{PartFooter, part_of_file};
pub(crate) use parts::part_name::PartName;
pub(crate) use parts::part_writer::write_error;
pub(crate) use parts::table_directory::{DELETION, DETACHED, TEMPORARY};
pub(crate) use settings::MergeTreeSettings;
pub use settings::merge_tree_settings;
pub use skip_index::implicit_indices;

/// A table through its whole life: what its parts are now, and where new ones go.
pub(crate) struct MergeTree {
    /// The table's number in the catalog.
    table_id: i64,
    identity: Arc<TableIdentity>,
    /// The table as its parts' footers name it: for the engine `Join` another than the parts' own definition.
    record: ArcSwap<TableRecord>,
    settings: MergeTreeSettings,
    /// That of new parts.
    schema: Arc<PartSchema>,
    /// Those of all parts.
    schemas: Arc<Mutex<PartSchemas>>,
    binding: Arc<KeyBinding>,
    defaults: Arc<ColumnDefaults>,
    /// How each stored column lies in new parts.
    packings: Vec<Packing>,
    primary_key: Vec<KeyExpression>,
    /// The primary key, and behind it the partition key: what parts and granules are left out by.
    pruning_keys: Vec<KeyExpression>,
    /// The skip indexes.
    indices: Vec<Arc<SkipIndex>>,
    projections: Vec<Arc<Projection>>,
    /// What becomes of rows with equal keys.
    rule: Option<MergeRule>,
    /// What expires.
    ttl: TableTtl,
    directory: Arc<TableDirectory>,
    catalog: Arc<Catalog>,
    cache: Arc<ColumnCache>,
    parts: Arc<ArcSwap<PartSet>>,
    /// What merges, mutations and inserts must know of each other.
    merging: Arc<MergeControl>,
}

/// The parts of a table at one moment.
#[derive(Debug, Default)]
struct PartSet {
    parts: Vec<Arc<Part>>,
    rows: u64,
    /// Whether the rows of all parts are counted: a part that cannot be read may not say how many it has.
    is_counted: bool,
    bytes: u64,
    /// The parts of the partition that has most.
    fullest: usize,
    /// Rows of them that are deleted.
    deletions: Arc<Deletions>,
    /// `column_range` of each column, once somebody asked.
    ranges: Vec<OnceLock<Option<(Value, Value)>>>,
    /// `column_statistics` of each column, once somebody asked.
    statistics: Vec<OnceLock<Option<Arc<ColumnStatistics>>>>,
    /// What `ranges` and `statistics` are counted by.
    identity: Option<Arc<TableIdentity>>,
}

impl PartSet {
    /// Of parts but for those of their rows that are deleted.
    fn new(parts: Vec<Arc<Part>>, identity: &Arc<TableIdentity>, deletions: &Arc<Deletions>) -> Self {
        let mut of_partitions: HashMap<&str, usize> = HashMap::new();
        parts.iter().for_each(|part| *of_partitions.entry(&part.file.partition_id).or_default() += 1);
        Self {
            fullest: of_partitions.into_values().max().unwrap_or(0),
            rows: live_rows(&parts, deletions),
            deletions: deletions.clone(),
            is_counted: parts.iter().all(|part| !part.description.row_groups.is_empty()),
            bytes: parts.iter().map(|part| part.file.bytes).sum(),
            ranges: (0..identity.stored.len()).map(|_| OnceLock::new()).collect(),
            statistics: (0..identity.stored.len()).map(|_| OnceLock::new()).collect(),
            identity: Some(identity.clone()),
            parts,
        }
    }

    /// The parts of the fullest partition, of those that INSERTs may be held back for: where the parts are large on average, merges do not lag
    /// behind.
    fn crowd(&self, settings: &MergeTreeSettings) -> usize {
        let limit = settings.parts_to_delay_insert.min(settings.parts_to_throw_insert);
        let large = settings.max_avg_part_size_for_too_many_parts;
        if self.fullest < limit || large == 0 {
            return self.fullest;
        }
        let mut of_partitions: HashMap<&str, (usize, u64)> = HashMap::new();
        for part in &self.parts {
            let (parts, bytes) = of_partitions.entry(&part.file.partition_id).or_default();
            *parts += 1;
            *bytes += part.file.bytes;
        }
        let crowds = of_partitions.into_values().filter(|(parts, bytes)| bytes / *parts as u64 <= large);
        crowds.map(|(parts, _)| parts).max().unwrap_or(0)
    }

    fn range(&self, column: usize) -> Option<(Value, Value)> {
        let find = || {
            if self.parts.iter().any(|part| self.deletions.of(&part.file.name).is_some()) {
                // The rows that the bounds are of may be deleted.
                return None;
            }
            let mut hull: Option<crate::key_condition::ValueRange> = None;
            for part in &self.parts {
                let (range, is_exact) = part.range(self.identity.as_ref()?, column);
                if !is_exact {
                    return None;
                }
                hull = Some(hull.map_or(range.clone(), |hull| hull.hull(&range)));
            }
            hull.and_then(|hull| hull.low.zip(hull.high))
        };
        self.ranges.get(column)?.get_or_init(find).clone()
    }

    fn statistics(&self, column: usize) -> Option<Arc<ColumnStatistics>> {
        let find = || statistics::of_parts(&self.parts, self.identity.as_ref()?, column).map(Arc::new);
        self.statistics.get(column)?.get_or_init(find).clone()
    }
}

/// The rows of parts that are not deleted.
fn live_rows(parts: &[Arc<Part>], deletions: &Deletions) -> u64 {
    parts.iter().map(|part| part.rows.saturating_sub(deletions.rows_of(&part.file.name))).sum()
}

impl std::fmt::Debug for MergeTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeTree")
            .field("table_id", &self.table_id)
            .field("directory", &self.directory.path())
            .finish_non_exhaustive()
    }
}

/// Refuses definitions that a MergeTree table cannot have, and writes out what it takes by default.
///
/// # Errors
/// ClickHouse's for keys, settings and arguments that do not suit.
pub(crate) fn check_definition(definition: TableDefinition) -> Result<TableDefinition> {
    let settings = MergeTreeSettings::new(&definition)?;
    MergeRule::of(&TableIdentity::new(uuid::Uuid::nil(), Arc::new(definition.clone()))?)?;
    for key in &definition.sorting_key {
        let mut columns = 0;
        key.expression.visit_columns(&mut |_| columns += 1);
        if columns == 0 && key.expression.is_deterministic() {
            return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "Sorting key cannot contain constants"));
        }
        let data_type = key.expression.data_type();
        if data_type.is_nullable() && !settings.allow_nullable_key {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                "Sorting key contains nullable columns, but merge tree setting `allow_nullable_key` is disabled",
            ));
        }
        key.check_comparable()?;
        if !order::sorting::is_sortable(data_type) {
            return Err(Error::not_implemented(format!("Sorting key of type {data_type}")));
        }
        check_deterministic(key, "Sorting key")?;
    }
    projections::projection::check_all(&definition, &settings)?;
    for key in &definition.partition_key {
        key.check_comparable()?;
        check_deterministic(key, "Partition key")?;
        if key.expression.data_type().inner().is_float() {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Floating point partition key is not supported: {}", key.sql),
            ));
        }
    }
    for (at, key) in definition.primary_key.iter().flatten().enumerate() {
        let sorting = definition.sorting_key.get(at);
        if !sorting.is_some_and(|sorting| sorting.expression.same(&key.expression)) {
            let found = sorting.map_or("nothing", |sorting| &sorting.sql);
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!(
                    "Primary key must be a prefix of the sorting key, but the column in the position {at} is {found}, not {}",
                    key.sql
                ),
            ));
        }
    }
    Ok(settings.written_out(definition))
}

fn check_deterministic(key: &KeyExpression, what: &str) -> Result<()> {
    if key.expression.is_deterministic() {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::BAD_ARGUMENTS,
        format!("Expression must be deterministic but it contains non-deterministic part `{}`: for {what}", key.sql),
    ))
}

/// What tables of a server share.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) cache: Arc<ColumnCache>,
    pub(crate) binding: Arc<KeyBinding>,
}

impl MergeTree {
    pub(crate) fn table_id(&self) -> i64 {
        self.table_id
    }

    pub(crate) fn identity(&self) -> &Arc<TableIdentity> {
        &self.identity
    }

    /// The same table with other settings and codecs: the same parts, and new ones that follow these. Whoever began with this one ends
    /// with it.
    ///
    /// # Errors
    /// Where they are none of a MergeTree's.
    pub(crate) fn altered(&self, identity: Arc<TableIdentity>, record: TableRecord) -> Result<Arc<Self>> {
        let settings = MergeTreeSettings::new(&identity.definition)?;
        // Parts of the same columns are told by having the same schema.
        let schema = if identity.fields == self.identity.fields && *identity.stored == *self.identity.stored {
            let layout = self.schema.layout.with_ratio_of_defaults(settings.ratio_of_defaults);
            Arc::new(PartSchema { layout, ..PartSchema::clone(&self.schema) })
        } else {
            Arc::new(PartSchema::of(&identity, settings.ratio_of_defaults)?)
        };
        let ttl = self.binding.ttl(&identity.definition)?;
        self.merging.forget_ttl_merges();
        self.schemas.lock().present(schema.clone());
        let definition = &identity.definition;
        let primary_key = definition.primary_key.clone().unwrap_or_else(|| definition.sorting_key.clone());
        let surroundings =
            Surroundings { catalog: self.catalog.clone(), cache: self.cache.clone(), binding: self.binding.clone() };
        let projections = Projection::all(&Parent {
            table_id: self.table_id,
            identity: &identity,
            settings: &settings,
            directory: &self.directory,
            surroundings: &surroundings,
        });
        Ok(Arc::new(Self {
            projections,
            table_id: self.table_id,
            packings: chunks::packing::packings(&identity, settings.codec.unwrap_or(chunks::packing::OF_SMALL_PARTS))?,
            indices: SkipIndex::all(&identity, &settings, &self.binding),
            record: ArcSwap::from_pointee(record),
            settings,
            schemas: self.schemas.clone(),
            schema,
            defaults: Arc::new(ColumnDefaults::new(&identity.definition, &self.binding)),
            binding: self.binding.clone(),
            pruning_keys: primary_key.iter().chain(&definition.partition_key).cloned().collect(),
            primary_key,
            directory: self.directory.clone(),
            catalog: self.catalog.clone(),
            cache: self.cache.clone(),
            parts: self.parts.clone(),
            merging: self.merging.clone(),
            rule: MergeRule::of(&identity)?,
            ttl,
            identity,
        }))
    }

    /// What new parts get beside their rows.
    fn extras(&self) -> PartExtras {
        PartExtras { indices: self.indices.clone(), projections: self.projections.clone() }
    }

    /// The same of parts that an INSERT makes.
    fn extras_of_insert(&self, builds_indices: bool) -> PartExtras {
        let mut extras = self.extras();
        if !builds_indices {
            extras.indices.clear();
        }
        if !self.settings.materialize_projections_on_insert {
            extras.projections.clear();
        }
        extras
    }

    /// The projections of parts that others become.
    fn merged_projections(&self) -> &[Arc<Projection>] {
        let loses = self.rule.is_some() && self.settings.deduplicate_merge_projection_mode == ProjectionMode::Drop;
        if loses { &[] } else { &self.projections }
    }

    /// The files beside the parts that name deleted rows.
    #[cfg(test)]
    pub(crate) fn deletion_files(&self) -> Vec<std::path::PathBuf> {
        self.parts.load().deletions.paths().cloned().collect()
    }

    /// The table has another name: parts that are made from now on tell it.
    pub(crate) fn rename(&self, name: &TableName) {
        self.record.rcu(|record| TableRecord {
            database: name.database.to_string(),
            table: name.table.to_string(),
            ..TableRecord::clone(record)
        });
    }

    /// The table at this moment, under a name.
    pub(crate) fn snapshot(self: &Arc<Self>, name: Arc<TableName>) -> MergeTreeTable {
        MergeTreeTable { name, live: self.clone(), parts: self.parts.load_full(), projection: None }
    }

    /// Lets go of all parts: TRUNCATE and DROP, after the catalog did. Their files go when no scan reads them any more.
    pub(crate) fn retire_parts(&self) {
        self.merging.cancel();
        let old = self.parts.swap(Arc::new(PartSet::new(Vec::new(), &self.identity, &Arc::default())));
        old.parts.iter().for_each(|part| part.retire());
        old.deletions.paths().for_each(|path| self.directory.remove(path));
    }

    /// DROP, after the catalog did, which refuses commits of inserts under way.
    pub(crate) fn mark_dropped(&self) {
        self.retire_parts();
        self.directory.retire();
        // Nobody can attach them any more.
        if let Err(error) = self.drop_detached(&PartSelection::All) {
            tracing::warn!(%error, "detached parts of a dropped table stay");
        }
        let _ = self.directory.disk().remove_folder(&self.directory.detached());
    }

    /// Tells what has happened to a part.
    fn note_part(&self, part: &Part, kind: PartEventKind) {
        self.catalog.note_part(|| self.part_event(part, kind));
    }

    fn part_event(&self, part: &Part, kind: PartEventKind) -> PartEvent {
        let record = self.record.load();
        PartEvent {
            kind,
            at: SystemTime::now(),
            duration: Duration::ZERO,
            database: record.database.as_str().into(),
            table: record.table.as_str().into(),
            uuid: self.identity.uuid,
            part: part.file.name.clone(),
            partition_id: part.file.partition_id.clone(),
            path: part.file.path.to_string_lossy().into(),
            rows: part.rows,
            bytes: part.file.bytes,
            value_bytes: part.description.all_value_bytes(),
            merged_from: Vec::new(),
            read_rows: 0,
            read_bytes: 0,
        }
    }

    /// Makes committed parts visible. Called in the order of commits.
    fn publish(&self, new: Vec<Arc<Part>>) {
        new.iter().for_each(|part| part.settle());
        self.parts.rcu(|set| {
            let parts = set.parts.iter().chain(&new).cloned().collect();
            PartSet::new(parts, &self.identity, &set.deletions)
        });
        // Only now: until a block is visible no merge may reach over it.
        new.iter().for_each(|part| part.let_go());
        new.iter().for_each(|part| self.note_part(part, PartEventKind::NewPart));
        self.merging.note_change();
    }
}

fn key_types(primary_key: &[KeyExpression]) -> Vec<DataType> {
    primary_key.iter().map(|key| PrimaryIndex::column_type(key.expression.data_type())).collect()
}

/// A MergeTree table at one moment.
#[derive(Debug)]
pub(crate) struct MergeTreeTable {
    name: Arc<TableName>,
    live: Arc<MergeTree>,
    parts: Arc<PartSet>,
    /// The projection whose table it is.
    projection: Option<Arc<str>>,
}

impl MergeTreeTable {
    /// The same again.
    fn whole(&self) -> Self {
        Self {
            name: self.name.clone(),
            live: self.live.clone(),
            parts: self.parts.clone(),
            projection: self.projection.clone(),
        }
    }

    /// The rows of one part.
    fn of_part(&self, part: &Arc<Part>) -> Self {
        let parts = PartSet::new(vec![part.clone()], &self.live.identity, &self.parts.deletions);
        Self { parts: Arc::new(parts), ..self.whole() }
    }
}

impl TableMetadata for MergeTreeTable {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        &self.live.identity.definition.engine
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.live.identity.definition.columns
    }
    fn sorting_key(&self) -> &[usize] {
        let is_plain = self.live.identity.sorting_columns.len() == self.live.identity.definition.sorting_key.len();
        if is_plain { &self.live.identity.sorting_columns } else { &[] }
    }
    fn rows_identity(&self) -> [usize; 2] {
        let of_projection = self.projection.as_ref().map(|name| name.as_ptr() as usize);
        [Arc::as_ptr(&self.parts) as usize, of_projection.unwrap_or(0)]
    }
    fn rows(&self) -> Option<u64> {
        self.parts.is_counted.then_some(self.parts.rows)
    }
    fn column_range(&self, column: usize) -> Option<(Value, Value)> {
        let own = self.parts.identity.as_ref().is_some_and(|identity| Arc::ptr_eq(identity, &self.live.identity));
        // Just after ALTER the parts are those of before.
        own.then(|| self.parts.range(self.live.identity.stored_positions.get(column).copied().flatten()?))?
    }
    fn column_statistics(&self, column: usize) -> Option<Arc<ColumnStatistics>> {
        let own = self.parts.identity.as_ref().is_some_and(|identity| Arc::ptr_eq(identity, &self.live.identity));
        own.then(|| self.parts.statistics(self.live.identity.stored_positions.get(column).copied().flatten()?))?
    }
    fn constraints(&self) -> &[Constraint] {
        &self.live.identity.definition.constraints
    }
    fn sampling_key(&self) -> Option<&Arc<str>> {
        self.live.identity.definition.sampling_key.as_ref().map(|key| &key.sql)
    }
    fn tokenizer(&self, expression: &Expression) -> Option<String> {
        self.live.indices.iter().find_map(|index| index.tokenizer(expression)).map(ToString::to_string)
    }
    fn supports_prewhere(&self) -> bool {
        true
    }
    fn has_row_places(&self) -> bool {
        self.projection.is_none()
    }
    fn projections(&self) -> Vec<Arc<BoundProjection>> {
        self.live.projections.iter().map(|projection| projection.bound.clone()).collect()
    }
    fn projected(&self, projection: &BoundProjection) -> Option<Projected> {
        self.split_by(projection)
    }
    fn of_projection(&self) -> Option<&str> {
        self.projection.as_deref()
    }
    fn marks_selected(&self, condition: Option<&Expression>) -> Result<Option<u64>> {
        self.granules_selected(condition).map(Some)
    }
    fn with_subcolumn(&self, wanted: &Subcolumn) -> Option<Arc<dyn TableMetadata>> {
        // A projection is a table of its own, whose columns have other places.
        let is_plain = self.projection.is_none() && self.live.projections.is_empty();
        is_plain.then(|| {
            Arc::new(TableHandle(Arc::new(SubcolumnTable::new(self, vec![wanted.clone()])))) as Arc<dyn TableMetadata>
        })
    }
    fn with_part_columns(&self) -> Option<Arc<dyn TableMetadata>> {
        Some(Arc::new(TableHandle(Arc::new(PartColumns::new(self)))))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl MergeTreeTable {
    /// What the parts remember a condition by. Nothing for a scan of few rows, which takes no longer than asking.
    fn condition_key(
        &self,
        predicate: &Expression,
        request: &ScanRequest,
        segments: &[Segment],
    ) -> Option<ConditionKey> {
        const ROWS_MIN: usize = 1 << 17;
        let settings = request.condition_use.settings()?;
        if segments.iter().map(|segment| segment.rows).sum::<usize>() < ROWS_MIN {
            return None;
        }
        let TableIdentity { definition, fields, stored_positions, .. } = &*self.live.identity;
        let column = |at: usize| {
            let ids = fields.ids.get(stored_positions.get(at).copied().flatten()?)?;
            let ColumnDescription { name, data_type, default, .. } = definition.columns.get(at)?;
            // Parts without the column have its default, which may be over other columns.
            Some(format!("{} {ids:?} {name:?} {data_type} {default:?}", fields.number))
        };
        ConditionKey::of(predicate, &column, settings)
    }

    /// The table with its parts by partitions, and within one in the order of their inserts.
    fn in_order_of_inserts(&self) -> Self {
        let mut parts = self.parts.parts.clone();
        let first_block = |part: &Part| PartName::parse(&part.file.name).map(|name| name.first_block);
        parts.sort_by(|left, right| {
            let by_partition = left.file.partition_id.cmp(&right.file.partition_id);
            by_partition.then_with(|| first_block(left).cmp(&first_block(right)))
        });
        let parts = Arc::new(PartSet::new(parts, &self.live.identity, &self.parts.deletions));
        Self { parts, ..self.whole() }
    }

    /// What of the parts a scan may read.
    fn selected(&self, request: &ScanRequest) -> Result<Selected> {
        let predicate = request.predicate.as_ref().map(|predicate| in_table(predicate, &request.columns));
        if !self.parts.is_counted
            && let Some(failure) = self.parts.parts.iter().filter(|part| part.rows == 0).find_map(|part| part.failure())
        {
            // What is not described cannot be left out.
            return Err(failure.clone());
        }
        let condition = scans::pruning::condition(&self.live, predicate.as_ref(), &request.bounds);
        let mut segments = scans::pruning::select(&self.live, &self.parts, condition.as_ref());
        let mut request = Cow::Borrowed(request);
        let key = predicate.as_ref().and_then(|predicate| self.condition_key(predicate, &request, &segments));
        if let Some(key) = key {
            segments = without_known(segments, key);
            request.to_mut().condition_use.key = Some(key);
        }
        let granularity = self.live.settings.index_granularity as u64;
        count(ProfileEvent::SelectedPartsTotal, self.parts.parts.len() as u64);
        let marks = self.parts.parts.iter().map(|part| part.rows.div_ceil(granularity)).sum();
        count(ProfileEvent::SelectedMarksTotal, marks);
        count(ProfileEvent::SelectedRanges, scans::pruning::ranges(&segments));
        for segment in &segments {
            if let Some(failure) = segment.part.failure() {
                return Err(failure.clone());
            }
        }
        let mut filters = scans::index_use::filters(&self.live, predicate.as_ref(), &request.skip_indexes);
        filters.retain(|filter| filter.is_useful());
        if let RowNumbers::Place(_) = request.row_numbers {
            request.to_mut().row_numbers = RowNumbers::Place(PartNumbers::new(&self.parts.parts));
        }
        Ok(Selected { segments, filters, request: request.into_owned() })
    }
}

/// Rows that a scan may read, and how it reads them.
struct Selected {
    segments: Vec<Segment>,
    /// The skip indexes that are asked for more that can be left out.
    filters: Vec<Arc<skip_index::IndexFilter>>,
    request: ScanRequest,
}

impl Table for MergeTreeTable {
    fn final_rows(&self) -> Option<Arc<dyn Table>> {
        let rule = self.live.rule.clone()?;
        Some(Arc::new(FinalTable { table: self.whole(), rule }))
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let Selected { segments, filters, request } = self.selected(request)?;
        scans::indexed_scan::scan(&self.live, segments, &filters, &request)
    }

    fn rows_at(&self, request: &ScanRequest, places: &[u64]) -> Result<Arc<dyn TableScan>> {
        let segments = scans::row_places::segments_at(&self.parts.parts, places)?;
        scans::mapped_scan::scan(&self.live, segments, &request.columns, request)
    }

    fn index_analysis(&self, request: &ScanRequest) -> Result<Option<IndexAnalysis>> {
        let predicate = request.predicate.as_ref().map(|predicate| in_table(predicate, &request.columns));
        scans::index_use::analyze(&self.live, &self.parts, predicate.as_ref(), &request.skip_indexes).map(Some)
    }

    fn check_index_is_used(&self, request: &ScanRequest, settings: &Settings) -> Result<()> {
        let predicate = request.predicate.as_ref().map(|predicate| in_table(predicate, &request.columns));
        scans::pruning::check_index_is_used(&self.live, predicate.as_ref(), settings)?;
        scans::index_use::check_forced(&self.live, predicate.as_ref(), &request.skip_indexes, settings)
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        self.insert_within(InsertLimits::default())
    }

    fn insert_delay(&self) -> Option<Duration> {
        self.live.settings.insert_delay(self.parts.crowd(&self.live.settings))
    }

    fn insert_within(&self, limits: InsertLimits) -> Result<Arc<dyn Insertion>> {
        Ok(Arc::new(insertion::MergeTreeInsertion::new(self.live.clone(), limits)?))
    }

    fn deduplication_window(&self) -> u64 {
        self.live.settings.deduplication_window
    }

    fn skip_index_sizes(&self) -> Vec<SkipIndexSize> {
        scans::index_use::sizes(&self.live, &self.parts.parts)
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.parts.bytes)
    }

    fn parts(&self) -> Vec<PartInfo> {
        parts::part_info::of_parts(self)
    }

    fn projection_parts(&self) -> Vec<ProjectionPart> {
        self.parts_of_projections()
    }

    fn column_sizes(&self) -> Vec<ColumnSize> {
        column_sizes(&self.live.identity, &self.parts.parts)
    }

    fn columns_of_parts(&self) -> Vec<(PartInfo, Vec<PartColumn>)> {
        let columns = |part: &Arc<Part>| part_columns(&self.live.identity, part);
        self.parts().into_iter().zip(self.parts.parts.iter().map(columns)).collect()
    }
}

/// A predicate over a scan's columns as one over the table's.
fn in_table(predicate: &Expression, columns: &[usize]) -> Expression {
    predicate.map_columns(&|column| columns.get(column).copied().unwrap_or(usize::MAX))
}
