//! Queries: SELECT, set operations, and the clauses that only they have. `WITH` belongs to the SELECT that it precedes, and so
//! do `ORDER BY` and `LIMIT`, as in ClickHouse: in a union they belong to their own SELECT.

use super::{Expression, Function, Identifier, Literal, Span, TableName, WindowDefinition};

/// A query with its output clauses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Query {
    /// What is computed.
    pub body: QueryBody,
    /// `INTO OUTFILE`, `FORMAT` and the `SETTINGS` after them.
    pub output: Output,
    /// `SETTINGS` of its SELECTs and of the queries in them, inner ones before those around them.
    pub settings_within: Vec<Setting>,
    /// Where it stands.
    pub span: Span,
}

impl Query {
    /// A query without output clauses.
    pub fn of(body: QueryBody, span: Span) -> Self {
        Self { body, output: Output::default(), settings_within: Vec::new(), span }
    }
}

/// A SELECT, or several combined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QueryBody {
    /// One SELECT.
    Select(Box<Select>),
    /// `UNION`, `EXCEPT` or `INTERSECT` of two or more.
    SetOperation(Box<SetOperation>),
}

impl QueryBody {
    /// The `SETTINGS` of its only or last SELECT: some of them are about the whole of it.
    pub fn settings(&self) -> &[Setting] {
        match self {
            Self::Select(select) => &select.settings,
            Self::SetOperation(operation) => operation.operands.last().map(Self::settings).unwrap_or_default(),
        }
    }
}

/// Operands combined from left to right by one operator. `INTERSECT` binds tighter than the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SetOperation {
    /// Which operation.
    pub operator: SetOperator,
    /// `ALL`, `DISTINCT`, or neither: then `union_default_mode` and its like decide.
    pub quantifier: SetQuantifier,
    /// Two or more operands.
    pub operands: Vec<QueryBody>,
    /// Where it stands.
    pub span: Span,
}

/// The set operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetOperator {
    /// `UNION`.
    Union,
    /// `EXCEPT`.
    Except,
    /// `INTERSECT`.
    Intersect,
}

/// Whether duplicates stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetQuantifier {
    /// Not written.
    Default,
    /// `ALL`.
    All,
    /// `DISTINCT`.
    Distinct,
}

/// One SELECT.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Select {
    /// `WITH` items, in the order written.
    pub with: Vec<WithItem>,
    /// `WITH RECURSIVE`.
    pub recursive: bool,
    /// `DISTINCT`. `DISTINCT ON (a)` is `LIMIT 1 BY a`.
    pub distinct: bool,
    /// The selected expressions; never empty after parsing.
    pub projection: Vec<Expression>,
    /// `FROM` with its joins, and `ARRAY JOIN` (which may stand without a table).
    pub from: Option<From>,
    /// `PREWHERE`.
    pub prewhere: Option<Expression>,
    /// `WHERE`.
    pub filter: Option<Expression>,
    /// `GROUP BY`.
    pub group_by: Option<GroupBy>,
    /// `WITH TOTALS`, which may stand without `GROUP BY`.
    pub with_totals: bool,
    /// `HAVING`.
    pub having: Option<Expression>,
    /// `WINDOW name AS (…)`.
    pub windows: Vec<NamedWindow>,
    /// `QUALIFY`.
    pub qualify: Option<Expression>,
    /// `ORDER BY`.
    pub order_by: Option<OrderBy>,
    /// `LIMIT n BY …`.
    pub limit_by: Option<LimitBy>,
    /// `LIMIT`, `TOP`, `OFFSET`, `FETCH`.
    pub limit: Option<Limit>,
    /// `SETTINGS` of this SELECT.
    pub settings: Vec<Setting>,
    /// Where it stands.
    pub span: Span,
}

/// One item of `WITH`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WithItem {
    /// `WITH expression AS name`; the name is the expression's alias.
    Expression(Expression),
    /// `WITH name AS [MATERIALIZED] (SELECT …)`.
    Table {
        /// The name of the common table expression.
        name: Identifier,
        /// `name (a, b) AS …`: the names of its columns.
        columns: Vec<Identifier>,
        /// `AS MATERIALIZED`.
        materialized: bool,
        /// What it stands for.
        query: Box<Query>,
    },
}

/// `FROM table join join …`: each step applies to the result of all before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct From {
    /// The first table; none when `ARRAY JOIN` stands alone.
    pub table: Option<TableExpression>,
    /// The joins from left to right.
    pub steps: Vec<FromStep>,
}

/// What comes after the first table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FromStep {
    /// A join with another table.
    Join(Box<Join>),
    /// `[LEFT] ARRAY JOIN`.
    ArrayJoin(ArrayJoin),
}

/// A table with what is attached to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableExpression {
    /// What is read.
    pub source: TableSource,
    /// `AS alias`.
    pub alias: Option<Identifier>,
    /// `AS alias (a, b)`: the names given to the columns.
    pub column_aliases: Vec<Identifier>,
    /// `FINAL`.
    pub with_final: bool,
    /// `SAMPLE`.
    pub sample: Option<Sample>,
    /// Where it stands.
    pub span: Span,
}

/// What a table expression reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TableSource {
    /// A table by name.
    Table(TableName),
    /// A table function.
    Function(Box<Function>),
    /// `(SELECT …)`. What ClickHouse rewrites to a subquery is one: `(t1 JOIN t2 …)` is `(SELECT * FROM t1 JOIN t2 …)`,
    /// `(EXPLAIN …)` is `(SELECT * FROM viewExplain(…))`, `(VALUES …)` is `(SELECT * FROM SQLStandardValues(…))`.
    Subquery(Box<Query>),
}

/// `SAMPLE ratio [OFFSET ratio]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// How much to read.
    pub size: Ratio,
    /// Where to begin.
    pub offset: Option<Ratio>,
}

/// `0.1`, `1/10` or a number of rows, as an exact fraction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    /// The numerator.
    pub numerator: u128,
    /// The denominator; 1 when not written.
    pub denominator: u128,
}

/// A join with another table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Join {
    /// `GLOBAL` or `LOCAL`.
    pub locality: JoinLocality,
    /// Which rows of either side stay without a partner.
    pub kind: JoinKind,
    /// How many partners a row gets.
    pub strictness: JoinStrictness,
    /// The table on the right.
    pub table: TableExpression,
    /// `ON`, `USING`, or neither.
    pub constraint: JoinConstraint,
    /// Where it stands.
    pub span: Span,
}

/// Where a distributed join takes its right side from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinLocality {
    /// Not written.
    Unspecified,
    /// `LOCAL`.
    Local,
    /// `GLOBAL`.
    Global,
}

/// Kinds of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// `INNER`.
    Inner,
    /// `LEFT`.
    Left,
    /// `RIGHT`.
    Right,
    /// `FULL`.
    Full,
    /// `CROSS`.
    Cross,
    /// A comma between two tables.
    Comma,
    /// `PASTE`: row by row.
    Paste,
}

/// How many partners a row gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinStrictness {
    /// Not written.
    Unspecified,
    /// `ALL`.
    All,
    /// `ANY`.
    Any,
    /// `ASOF`.
    Asof,
    /// `SEMI`.
    Semi,
    /// `ANTI`.
    Anti,
}

/// What makes two rows partners.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JoinConstraint {
    /// Nothing: `CROSS`, comma, `PASTE`.
    None,
    /// `ON expression`.
    On(Expression),
    /// `USING (a, b)`, or `USING a, b`.
    Using(Vec<Expression>),
    /// `NATURAL JOIN`.
    Natural,
}

/// `[LEFT] ARRAY JOIN a AS b, …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayJoin {
    /// `LEFT`: rows with empty arrays stay.
    pub left: bool,
    /// The arrays, with their aliases.
    pub expressions: Vec<Expression>,
    /// Where it stands.
    pub span: Span,
}

/// `GROUP BY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GroupBy {
    /// `GROUP BY a, b`.
    Expressions(Vec<Expression>),
    /// `GROUP BY ALL`.
    All,
    /// `ROLLUP(a, b)` or `a, b WITH ROLLUP`.
    Rollup(Vec<Expression>),
    /// `CUBE(a, b)` or `a, b WITH CUBE`.
    Cube(Vec<Expression>),
    /// `GROUPING SETS ((a), (a, b), ())`.
    GroupingSets(Vec<Vec<Expression>>),
}

/// `name AS (definition)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedWindow {
    /// The window's name.
    pub name: Identifier,
    /// What it is.
    pub definition: WindowDefinition,
}

/// `ORDER BY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderBy {
    /// The keys; for `ORDER BY ALL`, a single item whose expression is the identifier `all`.
    pub items: Vec<OrderByItem>,
    /// `ORDER BY ALL`.
    pub all: bool,
    /// `INTERPOLATE`; an empty list stands for all columns.
    pub interpolate: Option<Vec<InterpolateItem>>,
}

/// One key of `ORDER BY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderByItem {
    /// What to order by.
    pub expression: Expression,
    /// `DESC`.
    pub descending: bool,
    /// `NULLS FIRST` or `LAST`, when written.
    pub nulls_first: Option<bool>,
    /// `COLLATE 'locale'`.
    pub collation: Option<String>,
    /// `WITH FILL`.
    pub fill: Option<WithFill>,
}

/// `WITH FILL [FROM …] [TO …] [STEP …] [STALENESS …]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WithFill {
    /// `FROM`.
    pub from: Option<Expression>,
    /// `TO`.
    pub to: Option<Expression>,
    /// `STEP`.
    pub step: Option<Expression>,
    /// `STALENESS`.
    pub staleness: Option<Expression>,
}

/// One column of `INTERPOLATE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InterpolateItem {
    /// The column.
    pub column: Identifier,
    /// `AS expression`; the column itself when not written.
    pub expression: Expression,
}

/// `LIMIT count [OFFSET offset] BY …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LimitBy {
    /// Rows per group.
    pub count: Expression,
    /// Rows skipped in each group.
    pub offset: Option<Expression>,
    /// The group; empty for `BY ALL`.
    pub by: Vec<Expression>,
    /// `BY ALL`.
    pub all: bool,
}

/// `LIMIT count [OFFSET offset] [WITH TIES]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// How many rows; none when only `OFFSET` is written.
    pub count: Option<Expression>,
    /// Rows skipped.
    pub offset: Option<Expression>,
    /// `WITH TIES`.
    pub with_ties: bool,
}

/// `name = value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// The setting's name, with its dots.
    pub name: String,
    /// Its new value.
    pub value: SettingValue,
    /// Where it stands.
    pub span: Span,
}

impl Setting {
    /// Whether it says how many rows a result has.
    pub fn cuts_result(&self) -> bool {
        matches!(self.name.as_str(), "limit" | "offset")
    }
}

/// What a setting is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SettingValue {
    /// A constant; `1` when only the name is written.
    Literal(Literal),
    /// `DEFAULT`.
    Default,
    /// A function (`disk = disk(type = …)`), an identifier, or a query parameter.
    Expression(Box<Expression>),
}

/// Where a query's result goes and how it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Output {
    /// `INTO OUTFILE`.
    pub outfile: Option<IntoOutfile>,
    /// `FORMAT`.
    pub format: Option<Identifier>,
    /// `SETTINGS` after `FORMAT`.
    pub settings: Vec<Setting>,
}

/// `INTO OUTFILE 'file' [APPEND | TRUNCATE] [AND STDOUT] [COMPRESSION 'zstd' [LEVEL 3]]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IntoOutfile {
    /// The file.
    pub file: Expression,
    /// What to do with a file that exists.
    pub mode: OutfileMode,
    /// `AND STDOUT`.
    pub and_stdout: bool,
    /// `COMPRESSION`.
    pub compression: Option<Literal>,
    /// `LEVEL`.
    pub level: Option<Literal>,
}

/// What to do with a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutfileMode {
    /// Fail.
    Create,
    /// `APPEND`.
    Append,
    /// `TRUNCATE`.
    Truncate,
}
