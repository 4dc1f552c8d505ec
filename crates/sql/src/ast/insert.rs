//! INSERT, and the lightweight DELETE and UPDATE.

use super::{
    Assignment, Expression, Function, Identifier, OnCluster, PartitionSelector, Query, Setting, TableName, Written,
};

/// `INSERT INTO …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Insert {
    /// Into what.
    pub target: InsertTarget,
    /// The columns in parentheses; expressions, because `* EXCEPT(a)` and `COLUMNS(…)` may stand there. None when not written.
    pub columns: Option<Vec<Expression>>,
    /// `PARTITION BY`, of a table function.
    pub partition_by: Option<Expression>,
    /// `SETTINGS`.
    pub settings: Vec<Setting>,
    /// Where the rows come from.
    pub source: InsertSource,
}

/// Into what rows go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InsertTarget {
    /// `INTO [TABLE] name`.
    Table(TableName),
    /// `INTO [TABLE] FUNCTION f(…)`.
    Function(Function),
}

/// Where the rows come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InsertSource {
    /// `SELECT …`, `WITH …`, or a query before the INSERT.
    Query(Box<Query>),
    /// `SELECT … FROM input('…') FORMAT name`: the query's function `input` reads data that follow in the text, or come from the client.
    Input {
        /// The query.
        query: Box<Query>,
        /// The format of the data.
        format: Identifier,
        /// As of `Data`.
        offset: Written<Option<usize>>,
    },
    /// `VALUES` or `FORMAT name`: the data follow in the text, or come from the client.
    Data {
        /// The format; `Values` for `VALUES`.
        format: Identifier,
        /// Offset of the first byte of inline data in the text; none when nothing
        /// follows the format's name.
        offset: Written<Option<usize>>,
    },
    /// `FROM INFILE 'path' [COMPRESSION '…'] [FORMAT name]`.
    Infile {
        /// The path, which may have wildcards.
        path: String,
        /// The compression.
        compression: Option<String>,
        /// The format; told by the path's extension when not written.
        format: Option<Identifier>,
    },
    /// `WATCH …`.
    Watch(Box<super::Watch>),
}

/// `DELETE FROM table [ON CLUSTER c] [IN PARTITION p] WHERE …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delete {
    /// The table.
    pub table: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `IN PARTITION`.
    pub partition: Option<PartitionSelector>,
    /// Which rows.
    pub filter: Expression,
    /// `SETTINGS`.
    pub settings: Vec<Setting>,
}

/// `UPDATE table [ON CLUSTER c] SET a = 1 [IN PARTITION p] WHERE …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// The table.
    pub table: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// What changes.
    pub assignments: Vec<Assignment>,
    /// `IN PARTITION`.
    pub partition: Option<PartitionSelector>,
    /// Which rows.
    pub filter: Expression,
    /// `SETTINGS`.
    pub settings: Vec<Setting>,
}
