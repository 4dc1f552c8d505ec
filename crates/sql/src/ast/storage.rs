//! The clauses that say how a table is stored: engine, keys, TTL, settings.

use super::{Expression, Function, Setting, Span, TableName};

/// `ENGINE = … PARTITION BY … ORDER BY …`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Storage {
    /// `ENGINE = name(arguments)`.
    pub engine: Option<Function>,
    /// `PARTITION BY`.
    pub partition_by: Option<Expression>,
    /// `PRIMARY KEY`.
    pub primary_key: Option<Expression>,
    /// `ORDER BY`: an expression or a tuple of them.
    pub order_by: Option<SortingKey>,
    /// `SAMPLE BY`.
    pub sample_by: Option<Expression>,
    /// `TTL`.
    pub ttl: Vec<TtlElement>,
    /// `SETTINGS`.
    pub settings: Vec<Setting>,
}

/// The key of a table's `ORDER BY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortingKey {
    /// The key's expressions; empty for `tuple()`.
    pub items: Vec<SortingKeyItem>,
    /// Whether the items were in parentheses (or `tuple()`), rather than one bare expression.
    pub tuple: bool,
    /// Where it stands.
    pub span: Span,
}

/// One expression of a sorting key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SortingKeyItem {
    /// What rows are ordered by.
    pub expression: Expression,
    /// `DESC`.
    pub descending: bool,
}

/// One element of a table's TTL.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TtlElement {
    /// When rows expire.
    pub expression: Expression,
    /// What happens then.
    pub action: TtlAction,
    /// `WHERE`.
    pub filter: Option<Expression>,
}

/// What happens to expired rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TtlAction {
    /// `DELETE`, also when nothing is written.
    Delete,
    /// `TO DISK 'name'` or `TO VOLUME 'name'`.
    Move {
        /// A disk, a volume or a table.
        destination: MoveDestination,
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `GROUP BY key SET a = …`.
    GroupBy {
        /// A prefix of the primary key.
        key: Vec<Expression>,
        /// `SET`.
        assignments: Vec<Assignment>,
    },
    /// `RECOMPRESS CODEC(…)`.
    Recompress(Vec<Function>),
}

/// Where data moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MoveDestination {
    /// `DISK 'name'`.
    Disk(String),
    /// `VOLUME 'name'`.
    Volume(String),
    /// `TABLE name`.
    Table(TableName),
    /// `SHARD 'path'`.
    Shard(String),
}

/// `column = expression`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// The column, with the dots of a nested name.
    pub column: String,
    /// Its new value.
    pub expression: Expression,
}
