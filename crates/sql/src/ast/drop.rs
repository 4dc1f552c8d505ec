//! DROP, DETACH, TRUNCATE and UNDROP.

use super::{Identifier, OnCluster, Output, TableName};

/// `DROP | DETACH | TRUNCATE` of a database or of tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Drop {
    /// What to do with it.
    pub action: DropAction,
    /// To what.
    pub target: DropTarget,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// `IF EMPTY`.
    pub if_empty: bool,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `PERMANENTLY`, of DETACH.
    pub permanently: bool,
    /// `NO DELAY` or `SYNC`.
    pub sync: bool,
    /// `FORMAT`, `SETTINGS`.
    pub output: Output,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropAction {
    /// `DROP`.
    Drop,
    /// `DETACH`.
    Detach,
    /// `TRUNCATE`.
    Truncate,
}

/// To what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DropTarget {
    /// `DATABASE name`.
    Database(Identifier),
    /// `TABLE a, b`.
    Tables(Vec<TableName>),
    /// `VIEW name`.
    View(TableName),
    /// `DICTIONARY name`.
    Dictionary(TableName),
    /// `TRUNCATE [ALL] TABLES FROM database [[NOT] [I]LIKE 'pattern']`.
    AllTables {
        /// The database.
        database: Identifier,
        /// Which tables.
        like: Option<super::LikeFilter>,
    },
}

/// `DROP FUNCTION`, `INDEX`, `NAMED COLLECTION`, `WORKLOAD`, `RESOURCE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DropObject {
    /// What kind of object.
    pub kind: ObjectKind,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Its name.
    pub name: Identifier,
    /// `ON table`, of an index.
    pub table: Option<TableName>,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
}

/// Objects that are neither databases nor tables nor access entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// `FUNCTION`.
    Function,
    /// `INDEX`.
    Index,
    /// `NAMED COLLECTION`.
    NamedCollection,
    /// `WORKLOAD`.
    Workload,
    /// `RESOURCE`.
    Resource,
}

/// `UNDROP TABLE name [UUID '…'] [ON CLUSTER c]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Undrop {
    /// The table.
    pub table: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
}

/// `RENAME` and `EXCHANGE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rename {
    /// What kind of object.
    pub kind: RenameKind,
    /// `EXCHANGE a AND b` instead of `RENAME a TO b`.
    pub exchange: bool,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Pairs of names; a database's name is in the place of the table's.
    pub pairs: Vec<(TableName, TableName)>,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// Output clauses.
    pub output: Output,
}

/// What is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RenameKind {
    /// `TABLE`, also a view.
    Table,
    /// `DATABASE`.
    Database,
    /// `DICTIONARY`.
    Dictionary,
}
