//! What stands between the parentheses of CREATE TABLE: columns, indices, projections, constraints.

use super::{DataType, Expression, Function, GroupBy, Identifier, OrderBy, Setting, Span, WithItem};

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnDeclaration {
    /// The column's name; nested names (`n.a`) have several parts joined by dots.
    pub name: Identifier,
    /// Its type; may be left out when a default tells it, and in ALTER MODIFY.
    pub data_type: Option<DataType>,
    /// `NULL` or `NOT NULL`, when written.
    pub nullable: Option<bool>,
    /// `DEFAULT` and its kin.
    pub default: Option<ColumnDefault>,
    /// `COMMENT`.
    pub comment: Option<String>,
    /// `CODEC(…)`: the codecs in order.
    pub codec: Option<Vec<Function>>,
    /// `STATISTICS(…)`: the kinds.
    pub statistics: Option<Vec<Function>>,
    /// `TTL`.
    pub ttl: Option<Expression>,
    /// `COLLATE`.
    pub collation: Option<String>,
    /// `SETTINGS (…)`.
    pub settings: Vec<Setting>,
    /// `PRIMARY KEY` after the column, in ALTER; CREATE TABLE moves it to the storage.
    pub primary_key: bool,
    /// Where it stands.
    pub span: Span,
}

/// How a column that an INSERT leaves out gets its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnDefault {
    /// Which keyword.
    pub kind: ColumnDefaultKind,
    /// The value; none for a bare `EPHEMERAL` and `AUTO_INCREMENT`.
    pub expression: Option<Expression>,
}

/// The keyword before a default expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnDefaultKind {
    /// `DEFAULT`.
    Default,
    /// `MATERIALIZED`.
    Materialized,
    /// `ALIAS`.
    Alias,
    /// `EPHEMERAL`.
    Ephemeral,
    /// `AUTO_INCREMENT`.
    AutoIncrement,
}

/// `INDEX name expression [TYPE type] [GRANULARITY n]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexDeclaration {
    /// The index's name.
    pub name: Identifier,
    /// What is indexed.
    pub expression: Expression,
    /// `TYPE minmax`; none is an error in CREATE TABLE.
    pub index_type: Option<Function>,
    /// `GRANULARITY`, in granules; 1 when not written.
    pub granularity: u64,
    /// Where it stands.
    pub span: Span,
}

/// `PROJECTION name (SELECT … [GROUP BY …] [ORDER BY …])`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProjectionDeclaration {
    /// The projection's name.
    pub name: Identifier,
    /// What it holds.
    pub body: ProjectionBody,
    /// `WITH SETTINGS (…)`.
    pub settings: Vec<Setting>,
    /// Where it stands.
    pub span: Span,
}

/// What a projection holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProjectionBody {
    /// `(SELECT …)`.
    Select(Box<ProjectionSelect>),
    /// `INDEX expression TYPE type`.
    Index {
        /// What is indexed.
        expression: Expression,
        /// The type of index.
        index_type: Function,
    },
}

/// The restricted SELECT of a projection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProjectionSelect {
    /// `WITH`.
    pub with: Vec<WithItem>,
    /// The columns.
    pub projection: Vec<Expression>,
    /// `WHERE`.
    pub filter: Option<Expression>,
    /// `GROUP BY`.
    pub group_by: Option<GroupBy>,
    /// `ORDER BY`.
    pub order_by: Option<OrderBy>,
}

/// `CONSTRAINT name CHECK | ASSUME expression`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConstraintDeclaration {
    /// The constraint's name.
    pub name: Identifier,
    /// `ASSUME` instead of `CHECK`.
    pub assume: bool,
    /// What must hold.
    pub expression: Expression,
    /// Where it stands.
    pub span: Span,
}

/// Everything between the parentheses of CREATE TABLE. `FOREIGN KEY` is read and means nothing, as in ClickHouse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TableElements {
    /// The columns.
    pub columns: Vec<ColumnDeclaration>,
    /// `INDEX`.
    pub indices: Vec<IndexDeclaration>,
    /// `CONSTRAINT`.
    pub constraints: Vec<ConstraintDeclaration>,
    /// `PROJECTION`.
    pub projections: Vec<ProjectionDeclaration>,
    /// `PRIMARY KEY` among the elements, in table overrides; CREATE TABLE moves it to the storage.
    pub primary_key: Option<Expression>,
}
