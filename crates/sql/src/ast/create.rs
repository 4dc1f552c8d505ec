//! CREATE and ATTACH of databases, tables, views, dictionaries and functions.

use super::{
    DataType, DictionaryDefinition, Expression, Function, Identifier, Literal, OnCluster, Output, Query, Setting,
    Storage, TableElements, TableName,
};

/// What CREATE does when the object is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CreateMode {
    /// `CREATE`: fail.
    #[default]
    Create,
    /// `CREATE … IF NOT EXISTS`: do nothing.
    IfNotExists,
    /// `CREATE OR REPLACE`.
    CreateOrReplace,
    /// `REPLACE`: fail when it is not there.
    Replace,
}

/// `CREATE | ATTACH DATABASE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateDatabase {
    /// `ATTACH`.
    pub attach: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The database.
    pub name: Identifier,
    /// `UUID '…'`.
    pub uuid: Option<String>,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `ENGINE` and its clauses.
    pub storage: Option<Storage>,
    /// `TABLE OVERRIDE`.
    pub overrides: Vec<TableOverride>,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// Output clauses.
    pub output: Output,
}

/// `TABLE OVERRIDE name (columns storage)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableOverride {
    /// The table.
    pub table: Identifier,
    /// What is overridden among its elements.
    pub elements: Option<TableElements>,
    /// What is overridden of its storage.
    pub storage: Option<Storage>,
}

/// `CREATE | ATTACH [TEMPORARY] TABLE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateTable {
    /// `ATTACH`.
    pub attach: bool,
    /// What to do when it is there already.
    pub mode: CreateMode,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// The table.
    pub name: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `ATTACH TABLE … FROM 'path'`.
    pub attach_from: Option<String>,
    /// `ATTACH TABLE … AS [NOT] REPLICATED`.
    pub attach_as_replicated: Option<bool>,
    /// The elements between the parentheses, when there are any.
    pub elements: Option<TableElements>,
    /// Engine and keys.
    pub storage: Option<Storage>,
    /// What columns or rows are taken from.
    pub source: Option<CreateSource>,
    /// `POPULATE` is of views; `EMPTY AS SELECT` of tables.
    pub empty: bool,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// Output clauses.
    pub output: Output,
}

/// `AS …` of CREATE TABLE.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CreateSource {
    /// `AS other`: the same columns.
    Table(TableName),
    /// `CLONE AS other`: the same columns and rows.
    Clone(TableName),
    /// `AS numbers(10)`.
    Function(Function),
    /// `AS SELECT …`.
    Query(Box<Query>),
}

/// `CREATE | ATTACH VIEW` of every kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateView {
    /// `ATTACH`.
    pub attach: bool,
    /// What to do when it is there already.
    pub mode: CreateMode,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// Plain, materialized, live, window.
    pub kind: ViewKind,
    /// The view.
    pub name: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `REFRESH …` of a refreshable materialized view.
    pub refresh: Option<RefreshStrategy>,
    /// `TO table`.
    pub to: Option<TableName>,
    /// `TO INNER UUID '…'`.
    pub to_inner_uuid: Option<String>,
    /// The elements between the parentheses, or the bare column names of `VIEW v (a, b)`, which have no types.
    pub elements: Option<TableElements>,
    /// The engine and keys of the inner table.
    pub storage: Option<Storage>,
    /// `INNER ENGINE …` of a window view.
    pub inner_storage: Option<Storage>,
    /// `WATERMARK = …` of a window view.
    pub watermark: Option<Watermark>,
    /// `ALLOWED_LATENESS = …` of a window view.
    pub allowed_lateness: Option<Expression>,
    /// `POPULATE`.
    pub populate: bool,
    /// `EMPTY`.
    pub empty: bool,
    /// `DEFINER = …`.
    pub definer: Option<Definer>,
    /// `SQL SECURITY …`.
    pub security: Option<SqlSecurity>,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// The query; a materialized or plain view always has one, except an attached one without a definition.
    pub query: Option<Box<Query>>,
    /// Output clauses.
    pub output: Output,
}

/// Kinds of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewKind {
    /// `VIEW`.
    Plain,
    /// `MATERIALIZED VIEW`.
    Materialized,
    /// `LIVE VIEW`.
    Live,
    /// `WINDOW VIEW`.
    Window,
}

/// The watermark of a window view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Watermark {
    /// `ASCENDING`.
    Ascending,
    /// `STRICTLY_ASCENDING`.
    StrictlyAscending,
    /// An interval.
    Bounded(Expression),
}

/// On whose behalf a view runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Definer {
    /// `CURRENT_USER`.
    CurrentUser,
    /// A user by name.
    User(String),
}

/// `SQL SECURITY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SqlSecurity {
    /// `INVOKER`.
    Invoker,
    /// `DEFINER`.
    Definer,
    /// `NONE`.
    None,
}

/// `REFRESH EVERY | AFTER interval …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RefreshStrategy {
    /// `AFTER` instead of `EVERY`.
    pub after: bool,
    /// The period: numbers and units, in the order written.
    pub period: Vec<TimeUnitAmount>,
    /// `OFFSET`.
    pub offset: Vec<TimeUnitAmount>,
    /// `RANDOMIZE FOR`.
    pub randomize: Vec<TimeUnitAmount>,
    /// `DEPENDS ON`.
    pub depends_on: Vec<TableName>,
    /// `SETTINGS`.
    pub settings: Vec<Setting>,
    /// `APPEND`.
    pub append: bool,
}

/// `3 DAY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnitAmount {
    /// How many.
    pub amount: u64,
    /// Of what.
    pub unit: IntervalUnit,
}

/// Units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    /// `NANOSECOND`.
    Nanosecond,
    /// `MICROSECOND`.
    Microsecond,
    /// `MILLISECOND`.
    Millisecond,
    /// `SECOND`.
    Second,
    /// `MINUTE`.
    Minute,
    /// `HOUR`.
    Hour,
    /// `DAY`.
    Day,
    /// `WEEK`.
    Week,
    /// `MONTH`.
    Month,
    /// `QUARTER`.
    Quarter,
    /// `YEAR`.
    Year,
}

impl IntervalUnit {
    /// The unit's name in ClickHouse's spelling of function names: `Day` as in `toIntervalDay`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanosecond => "Nanosecond",
            Self::Microsecond => "Microsecond",
            Self::Millisecond => "Millisecond",
            Self::Second => "Second",
            Self::Minute => "Minute",
            Self::Hour => "Hour",
            Self::Day => "Day",
            Self::Week => "Week",
            Self::Month => "Month",
            Self::Quarter => "Quarter",
            Self::Year => "Year",
        }
    }

    /// The unit's keyword.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Nanosecond => "NANOSECOND",
            Self::Microsecond => "MICROSECOND",
            Self::Millisecond => "MILLISECOND",
            Self::Second => "SECOND",
            Self::Minute => "MINUTE",
            Self::Hour => "HOUR",
            Self::Day => "DAY",
            Self::Week => "WEEK",
            Self::Month => "MONTH",
            Self::Quarter => "QUARTER",
            Self::Year => "YEAR",
        }
    }
}

/// `CREATE | ATTACH DICTIONARY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateDictionary {
    /// `ATTACH`.
    pub attach: bool,
    /// What to do when it is there already.
    pub mode: CreateMode,
    /// The dictionary.
    pub name: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// Attributes and clauses; none in a bare `ATTACH DICTIONARY name`.
    pub definition: Option<DictionaryDefinition>,
    /// `COMMENT`.
    pub comment: Option<String>,
}

/// `CREATE [OR REPLACE] FUNCTION name [ON CLUSTER c] AS (x) -> …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateFunction {
    /// What to do when it is there already.
    pub mode: CreateMode,
    /// The function.
    pub name: Identifier,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// A lambda, or for a driver function (`LANGUAGE …`) its source.
    pub body: FunctionBody,
}

/// What a user-defined function does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FunctionBody {
    /// `AS (x, y) -> …`.
    Lambda(Expression),
    /// `LANGUAGE WASM …`: typed arguments, a result and named options.
    External {
        /// The language.
        language: String,
        /// `ARGUMENTS (a UInt8)`.
        arguments: Vec<(Option<String>, DataType)>,
        /// `RETURNS type`.
        returns: Option<DataType>,
        /// `FROM 'module' :: 'function'`, `ABI x`, and other options as pairs, in the order written.
        options: Vec<(String, Literal)>,
        /// `SETTINGS`.
        settings: Vec<Setting>,
    },
}

/// `CREATE [OR REPLACE] INDEX name ON table …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateIndex {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// `UNIQUE`.
    pub unique: bool,
    /// The table.
    pub table: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// The index.
    pub index: super::IndexDeclaration,
}

/// `CREATE NAMED COLLECTION name AS a = 1 [NOT] OVERRIDABLE, …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateNamedCollection {
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The collection.
    pub name: Identifier,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// Its entries.
    pub entries: Vec<NamedCollectionEntry>,
}

/// `name = value [[NOT] OVERRIDABLE]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedCollectionEntry {
    /// Name and value.
    pub setting: Setting,
    /// Whether a query may override it; none when not written.
    pub overridable: Option<bool>,
}

/// `CREATE WORKLOAD name [IN parent] [SETTINGS …]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateWorkload {
    /// What to do when it is there already.
    pub mode: CreateMode,
    /// The workload.
    pub name: Identifier,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `IN parent`.
    pub parent: Option<Identifier>,
    /// `SETTINGS name = value [FOR resource]`.
    pub settings: Vec<(Setting, Option<Identifier>)>,
}

/// `CREATE RESOURCE name (READ DISK d, WRITE ANY DISK, MASTER THREAD, …)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CreateResource {
    /// What to do when it is there already.
    pub mode: CreateMode,
    /// The resource.
    pub name: Identifier,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// What it governs.
    pub operations: Vec<ResourceOperation>,
}

/// One operation that a resource governs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ResourceOperation {
    /// `READ DISK name`, or `READ ANY DISK` without a name.
    ReadDisk(Option<Identifier>),
    /// `WRITE DISK name`, or `WRITE ANY DISK` without a name.
    WriteDisk(Option<Identifier>),
    /// `MASTER THREAD`.
    MasterThread,
    /// `WORKER THREAD`.
    WorkerThread,
    /// `QUERY`.
    Query,
    /// `MEMORY RESERVATION`.
    MemoryReservation,
}
