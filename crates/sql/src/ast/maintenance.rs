//! OPTIMIZE, CHECK, BACKUP and RESTORE.

use super::{Expression, Function, Identifier, OnCluster, Output, PartitionSelector, Setting, TableName};

/// `OPTIMIZE TABLE name …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Optimize {
    /// The table.
    pub table: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `PARTITION`.
    pub partition: Option<PartitionSelector>,
    /// `FINAL` (or `FORCE`).
    pub with_final: bool,
    /// `DRY RUN PARTS 'a', 'b'`.
    pub dry_run_parts: Option<Vec<String>>,
    /// `DEDUPLICATE [BY …]`.
    pub deduplicate: Option<Vec<Expression>>,
    /// `CLEANUP`.
    pub cleanup: bool,
    /// `SETTINGS`, `FORMAT`.
    pub output: Output,
}

/// `CHECK TABLE name …`, `CHECK ALL TABLES`, `CHECK DATABASE`, `CHECK GRANT`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    /// What is checked.
    pub target: CheckTarget,
    /// Output clauses.
    pub output: Output,
}

/// What is checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CheckTarget {
    /// One table.
    Table {
        /// The table.
        table: TableName,
        /// `PARTITION` or `PART`.
        partition: Option<PartitionSelector>,
    },
    /// `ALL TABLES`.
    AllTables,
    /// `DATABASE name`.
    Database(Identifier),
    /// `GRANT …`: whether the current user has these privileges.
    Grant(Vec<super::PrivilegeGrant>),
}

/// `BACKUP | RESTORE elements [ON CLUSTER c] TO | FROM destination [SETTINGS …] [ASYNC | SYNC]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backup {
    /// `RESTORE` instead of `BACKUP`.
    pub restore: bool,
    /// What is saved or restored.
    pub elements: Vec<BackupElement>,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `TO` or `FROM`: `Disk('d', 'path')`, `S3(…)`, `File(…)`.
    pub location: Function,
    /// `SETTINGS`; `base_backup` is a function among them.
    pub settings: Vec<Setting>,
    /// `ASYNC` or `SYNC`, when written.
    pub asynchronous: Option<bool>,
    /// Output clauses.
    pub output: Output,
}

/// One element of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BackupElement {
    /// What it is.
    pub kind: BackupElementKind,
    /// `AS new_name`.
    pub new_name: Option<TableName>,
    /// `PARTITIONS …`.
    pub partitions: Vec<Expression>,
    /// `EXCEPT TABLES …`.
    pub except_tables: Vec<TableName>,
    /// `EXCEPT DATABASES …`.
    pub except_databases: Vec<Identifier>,
}

/// Kinds of backup element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BackupElementKind {
    /// `TABLE name`, also a view or a dictionary.
    Table(TableName),
    /// `TEMPORARY TABLE name`.
    TemporaryTable(Identifier),
    /// `DATABASE name`.
    Database(Identifier),
    /// `ALL`.
    All,
}

/// `EXECUTE AS user [statement]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExecuteAs {
    /// The user.
    pub user: String,
    /// What to run; none changes the whole session.
    pub statement: Option<Box<super::Statement>>,
}
