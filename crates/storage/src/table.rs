//! A table as the engine sees it: something that hands out morsels of rows and takes blocks in. Every kind of table implements
//! [`Table`]: parts on disk, blocks in memory, generated numbers, the server's system tables.

use std::any::Any;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use squall_planner::{
    ColumnDescription, ColumnStatistics, Constraint, Expression, JoinKind, JoinStrictness, LoadedByQuery,
    MaterializedView, Projected, Projection, Subcolumn, TableMetadata,
};
use squall_sql::ast;
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, Settings, Value};

use crate::catalog::RefreshNote;
use crate::identity::TableName;
use crate::index_analysis::IndexAnalysis;
use crate::insert_id::InsertId;
use crate::join_table::JoinTable;
use crate::merge_tree::conditions::ConditionKey;
use crate::merge_tree::{MergeProgress, MergeType, PartNumbers, PreparedParts, WantedColumns};

/// A table at one moment. What a query found when it was planned stays as it was until the query's end, whatever is inserted,
/// merged or dropped meanwhile.
pub trait Table: TableMetadata {
    /// Begins to read. Cheap: prunes parts and granules by the predicate, reads no data.
    ///
    /// # Errors
    /// Where the table cannot be read.
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>>;

    /// Begins to read single rows. `places` are what a scan of the same table gave for them ([`RowNumbers::Place`]), in ascending order, as the rows
    /// come. The request's columns are read; nothing else of it counts.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where there are no such rows.
    fn rows_at(&self, _request: &ScanRequest, _places: &[u64]) -> Result<Arc<dyn TableScan>> {
        Err(Error::logical("rows of a table that does not tell where they are"))
    }

    /// Checks that a scan will look only where its condition can be true, as `force_primary_key` and `force_index_by_date` ask.
    ///
    /// # Errors
    /// `INDEX_NOT_USED`.
    fn check_index_is_used(&self, _request: &ScanRequest, _settings: &Settings) -> Result<()> {
        Ok(())
    }

    /// What each index leaves of the parts for a scan, for EXPLAIN; nothing of tables without parts. May wait for the disk.
    ///
    /// # Errors
    /// Where an index cannot be read.
    fn index_analysis(&self, _request: &ScanRequest) -> Result<Option<IndexAnalysis>> {
        Ok(None)
    }

    /// Begins an INSERT.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for tables that take no rows.
    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        Err(Error::new(
            ErrorCode::NOT_IMPLEMENTED,
            format!("Method write is not supported by storage {}", self.engine()),
        ))
    }

    /// Begins an INSERT that makes parts by these limits. Tables without parts know none.
    ///
    /// # Errors
    /// As [`Table::insert`].
    fn insert_within(&self, _limits: InsertLimits) -> Result<Arc<dyn Insertion>> {
        self.insert()
    }

    /// How many INSERTs the table remembers, so that one of them that comes again changes nothing; 0 where it remembers none.
    fn deduplication_window(&self) -> u64 {
        0
    }

    /// How long an INSERT waits before it begins, as the table has too many parts; `None` where it does not.
    fn insert_delay(&self) -> Option<Duration> {
        None
    }

    /// The table as if its parts were merged (FINAL); nothing for tables whose rows are never merged into others.
    fn final_rows(&self) -> Option<Arc<dyn Table>> {
        None
    }

    /// The table of the engine `Join` that this is.
    fn as_join(&self) -> Option<&JoinTable> {
        None
    }

    /// The parts that hold the rows, for `system.parts`.
    fn parts(&self) -> Vec<PartInfo> {
        Vec::new()
    }

    /// The same with their columns.
    fn columns_of_parts(&self) -> Vec<(PartInfo, Vec<PartColumn>)> {
        Vec::new()
    }

    /// What each of the table's columns takes in the parts, for `system.columns`; nothing of tables without parts.
    fn column_sizes(&self) -> Vec<ColumnSize> {
        Vec::new()
    }

    /// What the parts have of projections, for `system.projection_parts`.
    fn projection_parts(&self) -> Vec<ProjectionPart> {
        Vec::new()
    }

    /// What skip indexes take in the parts.
    fn skip_index_sizes(&self) -> Vec<SkipIndexSize> {
        Vec::new()
    }

    /// Bytes that the rows take where they are kept, on disk or in memory (`total_bytes`); `None` where there are none to count.
    fn bytes(&self) -> Option<u64> {
        None
    }
}

/// How an INSERT makes parts: ClickHouse's settings of these names, and what becomes of the columns in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InsertLimits {
    /// A writer makes a part of this many rows.
    pub min_insert_block_size_rows: usize,
    /// A writer makes a part of this many bytes in memory.
    pub min_insert_block_size_bytes: usize,
    /// The most partitions that the rows of one part-making may fall into; 0 is unlimited.
    pub max_partitions_per_insert_block: usize,
    /// `optimize_on_insert`: whether rows of an INSERT with equal keys are merged as those of parts are.
    pub merges_rows: bool,
    /// Whether the column cache gets the new parts' columns, as suits rows that will soon be read.
    pub fills_cache: bool,
    /// `materialize_skip_indexes_on_insert`: whether the new parts get the table's skip indexes, rather than the first merge.
    pub builds_indices: bool,
}

impl InsertLimits {
    /// The limits that a query's settings set.
    pub fn new(settings: &Settings) -> Self {
        let size = |setting: u64| usize::try_from(setting).unwrap_or(usize::MAX);
        Self {
            min_insert_block_size_rows: size(settings.min_insert_block_size_rows),
            min_insert_block_size_bytes: size(settings.min_insert_block_size_bytes),
            max_partitions_per_insert_block: size(settings.max_partitions_per_insert_block),
            merges_rows: settings.optimize_on_insert,
            fills_cache: true,
            builds_indices: settings.materialize_skip_indexes_on_insert,
        }
    }
}

impl Default for InsertLimits {
    /// ClickHouse's defaults.
    fn default() -> Self {
        Self {
            min_insert_block_size_rows: 1_048_449,
            min_insert_block_size_bytes: 268_402_944,
            max_partitions_per_insert_block: 100,
            merges_rows: true,
            fills_cache: true,
            builds_indices: true,
        }
    }
}

/// The kind of an element of a table's TTL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartTtlKind {
    /// Rows go.
    Delete,
    /// Rows go that meet a condition.
    DeleteWhere,
    /// Rows become fewer.
    GroupBy,
    /// Files are compressed anew.
    Recompress,
    /// Rows move.
    Move,
}

/// What a part knows of an element of its table's TTL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartTtl {
    /// Its kind.
    pub kind: PartTtlKind,
    /// The moment in SQL.
    pub expression: Arc<str>,
    /// The first moment of the part's rows, in seconds since 1970; 0 where no row has any.
    pub min: u32,
    /// The last one.
    pub max: u32,
}

/// A part of a table, for `system.parts`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartInfo {
    /// `all_1_1_0`.
    pub name: Arc<str>,
    /// The partition's id, `all` where the table has no partition key.
    pub partition_id: Arc<str>,
    /// The values of the partition key as text; `tuple()` where the table has none.
    pub partition: Arc<str>,
    /// Its rows.
    pub rows: u64,
    /// The file's size.
    pub bytes_on_disk: u64,
    /// Bytes of its values before they were encoded; 0 where the part does not know, because a server before version 11 of the data wrote it.
    pub value_bytes: u64,
    /// What ClickHouse calls a part of so many rows and bytes under the table's settings: `Compact` or `Wide`. Every part is one file here.
    pub part_type: &'static str,
    /// Where granules begin, and where the last one ends unless all have one size.
    pub marks: u64,
    /// What its primary index takes in memory.
    pub primary_key_bytes: u64,
    /// The file.
    pub path: PathBuf,
    /// What it knows of its table's TTL.
    pub ttl: Vec<PartTtl>,
    /// What compresses columns that name no codec, where it is not the table's.
    pub codec: Option<Arc<str>>,
    /// The smallest and largest value, in seconds, of the first `DateTime` among the sorting key's columns.
    pub times: Option<(u32, u32)>,
    /// The smallest and largest value, in days, of the first `Date` that the partition key is of.
    pub partition_dates: Option<(u32, u32)>,
    /// The same of the first `DateTime`, in seconds.
    pub partition_times: Option<(u32, u32)>,
    /// How many of its rows are deleted and still in the file.
    pub deleted_rows: u64,
}

/// What a part has of a projection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectionPart {
    /// The projection's name.
    pub name: Arc<str>,
    /// The part's.
    pub parent: Arc<str>,
    /// Its rows.
    pub rows: u64,
    /// `Compact` or `Wide`, as of parts.
    pub part_type: &'static str,
    /// Its marks, as of parts.
    pub marks: u64,
    /// What it takes of the part's file.
    pub bytes_on_disk: u64,
    /// As of parts.
    pub value_bytes: u64,
}

/// What a skip index takes in all parts of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SkipIndexSize {
    /// The index's name.
    pub name: Arc<str>,
    /// On disk.
    pub compressed_bytes: u64,
    /// In memory.
    pub uncompressed_bytes: u64,
    /// Of the list of its pages.
    pub directory_bytes: u64,
}

/// What a column takes in all parts of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColumnSize {
    /// In the files.
    pub bytes_on_disk: u64,
    /// Its values before they were encoded, as of parts.
    pub value_bytes: u64,
}

/// A column of a part.
#[derive(Clone, Debug)]
pub struct PartColumn {
    /// Its place among the table's columns.
    pub position: usize,
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: DataType,
    /// What it takes in the file.
    pub bytes_on_disk: u64,
    /// Bytes of its values before they were encoded, as of parts.
    pub value_bytes: u64,
    /// Bounds of its values as text, as far as they are known and comparable.
    pub min: Option<String>,
    /// The same from above.
    pub max: Option<String>,
    /// About how many different values there are, where that is known.
    pub distinct: Option<u64>,
    /// How many of its values are NULL, where that is known.
    pub nulls: Option<u64>,
}

/// What a query wants of a table.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Positions of the table's columns, in the order of the blocks' columns. May be empty: blocks then only count rows.
    pub columns: Vec<usize>,
    /// Names and types of these columns.
    pub schema: Arc<Schema>,
    /// A condition over these columns. The scan may leave out parts and granules that cannot hold a match, and rows that it has read
    /// and found to be none; rows that it does hand out may or may not match.
    pub predicate: Option<Expression>,
    /// Bounds outside of which no row matters, whatever `predicate` says: as for it, rows that are handed out may lie outside of them.
    pub bounds: Vec<ColumnBounds>,
    /// So many first rows suffice (of any, after no filter).
    pub limit: Option<u64>,
    /// Which skip indexes are asked.
    pub skip_indexes: SkipIndexUse,
    /// Whether what is known of the condition counts.
    pub condition_use: ConditionUse,
    /// Whether blocks end with one more column, which the schema has too.
    pub row_numbers: RowNumbers,
    /// What blocks are made of instead, where they have subcolumns of these columns.
    pub subcolumns: Option<Arc<WantedColumns>>,
}

/// What the last column of a scan's blocks tells of each row, as `UInt64`.
#[derive(Clone, Debug, Default)]
pub enum RowNumbers {
    /// There is no such column.
    #[default]
    None,
    /// The row's number within its part.
    WithinPart,
    /// Where [`Table::rows_at`] finds the row, in the order of the scan. Of tables that [have](TableMetadata::has_row_places) such places.
    Place(PartNumbers),
}

/// Between which values rows that matter have a column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnBounds {
    /// The position of the column among the table's.
    pub column: usize,
    /// The smallest and the largest value; `None`: no row matters.
    pub ends: Option<(Value, Value)>,
}

/// Which skip indexes a scan asks: ClickHouse's settings of these names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SkipIndexUse {
    /// `use_skip_indexes` is off.
    pub is_off: bool,
    /// `ignore_data_skipping_indices`.
    pub ignored: Vec<String>,
}

impl SkipIndexUse {
    /// What a query's settings say.
    pub fn new(settings: &Settings) -> Self {
        Self { is_off: !settings.use_skip_indexes, ignored: names_of_indices(&settings.ignore_data_skipping_indices) }
    }

    /// Whether an index may be asked.
    pub fn allows(&self, name: &str) -> bool {
        !self.is_off && !self.ignored.iter().any(|ignored| ignored == name)
    }
}

/// Whether a scan leaves out granules that earlier ones with the same condition found to have no match, and remembers those that it finds:
/// ClickHouse's query condition cache.
#[derive(Clone, Debug, Default)]
pub struct ConditionUse {
    /// The query's settings, by which a condition may mean something else; nothing where the scan does neither.
    settings: Option<Arc<Settings>>,
    /// What the table remembers the condition by.
    pub(crate) key: Option<ConditionKey>,
}

impl ConditionUse {
    /// What a query's settings say.
    pub fn new(settings: &Arc<Settings>) -> Self {
        Self { settings: settings.use_query_condition_cache.then(|| settings.clone()), key: None }
    }

    /// The settings where the condition may be remembered.
    pub(crate) fn settings(&self) -> Option<&Settings> {
        self.settings.as_deref()
    }
}

/// The names of a list like that of `force_data_skipping_indices`: separated by commas, quoted or not.
pub(crate) fn names_of_indices(list: &str) -> Vec<String> {
    let names = list.split(',').map(|name| name.trim().trim_matches(['`', '"', '\'']).to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

impl ScanRequest {
    /// How many of `rows` rows the scan hands out: the limit counts rows that no predicate follows.
    pub fn limited(&self, rows: u64) -> u64 {
        match (self.limit, &self.predicate) {
            (Some(limit), None) => rows.min(limit),
            _ => rows,
        }
    }
}

/// What pruning left of a table, for `ProfileEvents`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScanSelection {
    /// `SelectedParts`.
    pub parts: u64,
    /// `SelectedMarks`: granules.
    pub marks: u64,
}

/// A read under way. Any number of threads claim and read at once.
pub trait TableScan: Send + Sync {
    /// Rows that the scan will hand out at most, where known: after pruning, for progress and for the number of threads.
    fn rows_total(&self) -> Option<u64>;

    /// What pruning left; nothing where the table has no parts.
    fn selection(&self) -> ScanSelection {
        ScanSelection::default()
    }

    /// How many rows were read and left out since this was last called, as they do not meet the request's condition.
    fn take_left_out(&self) -> u64 {
        0
    }

    /// The same rows once more, from the first on; `None` where that is not possible, or costs much as they are not in memory.
    fn again(&self) -> Option<Arc<dyn TableScan>> {
        None
    }

    /// Claims the next morsel of about `rows` rows, in the order of rows. A morsel without rows is work that must be done before rows
    /// can be handed out. Lock-free where the table allows. `Pending` where the next rows are being fetched from disk: nothing is
    /// claimed, and `waker` is woken once it is worth asking again.
    fn claim(&self, rows: u64, waker: &Waker) -> Claim;

    /// Reads a claimed morsel and gives its rows to `consume`, in blocks whose columns share the table's memory where they can.
    /// `Break` ends the reading early.
    ///
    /// # Errors
    /// Where data cannot be read (`CORRUPTED_DATA`, `CANNOT_READ_ALL_DATA`, …), and the errors of `consume`.
    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()>;
}

/// What a claim gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Rows to read.
    Morsel(Morsel),
    /// Nothing yet; the waker will be woken.
    Pending,
    /// Nothing any more.
    Finished,
}

/// A piece of a scan: `rows` rows from `first`. What `first` counts is the scan's own business.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Morsel {
    /// The first row, in the scan's own numbering.
    pub first: u64,
    /// The number of rows.
    pub rows: u64,
}

/// An INSERT under way: any number of writers on any threads, then one commit for all, once the work that they gave is done.
pub trait Insertion: Send + Sync {
    /// A writer for one thread.
    ///
    /// # Errors
    /// Where the table can take no more rows.
    fn writer(&self) -> Result<Box<dyn InsertWriter>>;

    /// Whether the rows are to come in their order: then there is one writer.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Makes the rows of all writers' parts visible and durable at once; waits for the disk. Without a commit nothing of the INSERT remains.
    ///
    /// # Errors
    /// Where the commit is not known to be durable (`NOT_ENOUGH_SPACE`, `UNKNOWN_STATUS_OF_INSERT`, …): then it is not acknowledged.
    fn commit(&self) -> Result<()>;

    /// Says by what the INSERT is known if it comes again. Of the rows that a view makes of one, `view` is the view's name. Only tables that
    /// remember INSERTs care.
    fn identify(&self, _id: &Arc<InsertId>, _view: Option<&TableName>) {}

    /// Does all of a commit that can fail but its transaction, and gives what that is to hold; `None` where rows are in no parts.
    ///
    /// # Errors
    /// Where the parts cannot be written.
    fn prepare(&self) -> Result<Option<PreparedParts>> {
        Ok(None)
    }
}

/// Commits INSERTs: those into tables of parts all at once or not at all, and with them the refresh of a view that they are; then the others.
///
/// # Errors
/// As of [`Insertion::commit`].
pub fn commit_together(insertions: &[Arc<dyn Insertion>], refresh: Option<RefreshNote>) -> Result<()> {
    let (mut prepared, mut others) = (Vec::new(), Vec::new());
    for insertion in insertions {
        match insertion.prepare()? {
            Some(parts) => prepared.push(parts),
            None => others.push(insertion),
        }
    }
    PreparedParts::commit(prepared, refresh)?;
    others.into_iter().try_for_each(|insertion| insertion.commit())
}

/// Rows on their way into parts: sorting and encoding, which is CPU work for a worker, in pieces of about a millisecond. Between two
/// pieces it answers `Pending` and has woken its waker already; where the disk cannot keep up it waits, as any future does. Ends in
/// an error where the rows cannot be stored.
pub type PartWork = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// A place among the rows of an INSERT: first by the number of the input, then by that of the morsel in it.
pub type InsertPlace = (usize, u64);

/// Takes the rows of an INSERT on one thread. Columns are all of the table's stored columns, in order.
pub trait InsertWriter: Send {
    /// Says where the rows of the blocks that come next stand among all rows of the INSERT. Several writers may be at one INSERT; what they
    /// put together in the end is in this order.
    fn set_place(&mut self, _place: InsertPlace) {}

    /// Takes a block. When enough rows have come it gives the work that makes parts of them.
    ///
    /// # Errors
    /// Where the rows cannot be stored.
    fn write(&mut self, block: Block) -> Result<Option<PartWork>>;

    /// Takes no more blocks: gives the work that makes parts of what is left.
    ///
    /// # Errors
    /// Where the rows cannot be stored.
    fn finish(self: Box<Self>) -> Result<Option<PartWork>>;
}

/// Several parts of a table that are to become one: the rows of `scan` go through `insertion`, in its order and through a single
/// writer. The commit exchanges the parts; without it everything is as it was.
pub struct PartMerge {
    /// What it is for.
    pub merge_type: MergeType,
    /// What is read.
    pub scan: Arc<dyn TableScan>,
    /// Where it goes.
    pub insertion: Arc<dyn Insertion>,
    /// The table's UUID and the new part's name, as ClickHouse identifies a merge: `uuid::all_1_16_1`.
    pub id: String,
    /// The new part's name.
    pub result: Arc<str>,
    /// Where its file will be.
    pub result_path: PathBuf,
    /// Its partition.
    pub partition_id: Arc<str>,
    /// The parts that become one.
    pub parts: Vec<Arc<str>>,
    /// Where their files are.
    pub part_paths: Vec<PathBuf>,
    /// Their rows.
    pub rows: u64,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Bytes of their values before encoding, as far as they know.
    pub value_bytes: u64,
    /// How far it is.
    pub progress: Arc<MergeProgress>,
}

/// A table inside a plan: the planner sees [`TableMetadata`], the engine finds the [`Table`] again by downcasting to this.
#[derive(Clone, Debug)]
pub struct TableHandle(pub Arc<dyn Table>);

impl TableHandle {
    /// The table of a plan's scan.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where the metadata is not storage's.
    pub fn of(metadata: &dyn TableMetadata) -> Result<&Self> {
        metadata.as_any().downcast_ref().ok_or_else(|| Error::logical("a table that storage does not know"))
    }
}

impl TableMetadata for TableHandle {
    fn database(&self) -> &str {
        self.0.database()
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn engine(&self) -> &str {
        self.0.engine()
    }
    fn supports_prewhere(&self) -> bool {
        self.0.supports_prewhere()
    }
    fn rows_identity(&self) -> [usize; 2] {
        self.0.rows_identity()
    }
    fn columns(&self) -> &[ColumnDescription] {
        self.0.columns()
    }
    fn sorting_key(&self) -> &[usize] {
        self.0.sorting_key()
    }
    fn rows(&self) -> Option<u64> {
        self.0.rows()
    }
    fn column_range(&self, column: usize) -> Option<(Value, Value)> {
        self.0.column_range(column)
    }
    fn column_statistics(&self, column: usize) -> Option<Arc<ColumnStatistics>> {
        self.0.column_statistics(column)
    }
    fn loaded_by_query(&self) -> Option<Arc<dyn LoadedByQuery>> {
        self.0.loaded_by_query()
    }
    fn table_function(&self) -> Option<&Arc<ast::Function>> {
        self.0.table_function()
    }
    fn view_query(&self) -> Option<&Arc<ast::Query>> {
        self.0.view_query()
    }
    fn materialized_view(&self) -> Option<&Arc<MaterializedView>> {
        self.0.materialized_view()
    }
    fn check_join(&self, kind: JoinKind, strictness: JoinStrictness, use_nulls: bool) -> Result<()> {
        self.0.check_join(kind, strictness, use_nulls)
    }
    fn constraints(&self) -> &[Constraint] {
        self.0.constraints()
    }
    fn virtual_columns(&self) -> usize {
        self.0.virtual_columns()
    }
    fn has_row_places(&self) -> bool {
        self.0.has_row_places()
    }
    fn sampling_key(&self) -> Option<&Arc<str>> {
        self.0.sampling_key()
    }
    fn tokenizer(&self, expression: &Expression) -> Option<String> {
        self.0.tokenizer(expression)
    }
    fn with_part_columns(&self) -> Option<Arc<dyn TableMetadata>> {
        self.0.with_part_columns()
    }
    fn with_subcolumn(&self, wanted: &Subcolumn) -> Option<Arc<dyn TableMetadata>> {
        self.0.with_subcolumn(wanted)
    }
    fn projections(&self) -> Vec<Arc<Projection>> {
        self.0.projections()
    }
    fn projected(&self, projection: &Projection) -> Option<Projected> {
        self.0.projected(projection)
    }
    fn of_projection(&self) -> Option<&str> {
        self.0.of_projection()
    }
    fn marks_selected(&self, condition: Option<&Expression>) -> Result<Option<u64>> {
        self.0.marks_selected(condition)
    }
    fn merged(&self) -> Option<Arc<dyn TableMetadata>> {
        self.0.final_rows().map(|table| Arc::new(Self(table)) as Arc<dyn TableMetadata>)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
