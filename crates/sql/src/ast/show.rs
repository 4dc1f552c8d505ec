//! SHOW, DESCRIBE, EXISTS and USE.

use super::{AccessEntityKind, Expression, Function, Identifier, Limit, Output, Query, Setting, TableName};

/// `SHOW …` with its output clauses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Show {
    /// What is shown.
    pub kind: ShowKind,
    /// `INTO OUTFILE`, `FORMAT`, `SETTINGS`.
    pub output: Output,
}

/// `[NOT] LIKE 'pattern'`, `[NOT] ILIKE 'pattern'`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LikeFilter {
    /// `NOT`.
    pub negated: bool,
    /// `ILIKE`.
    pub case_insensitive: bool,
    /// The pattern.
    pub pattern: String,
}

/// What restricts a SHOW.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ShowFilter {
    /// `LIKE`.
    Like(LikeFilter),
    /// `WHERE`.
    Where(Expression),
}

/// What is shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each field is named for the clause that it holds")]
pub enum ShowKind {
    /// `SHOW DATABASES`.
    Databases { filter: Option<ShowFilter>, limit: Option<Limit> },
    /// `SHOW [FULL] [TEMPORARY] TABLES [FROM db]`; `SHOW DICTIONARIES` when `dictionaries`.
    Tables {
        full: bool,
        temporary: bool,
        dictionaries: bool,
        database: Option<Identifier>,
        filter: Option<ShowFilter>,
        limit: Option<Limit>,
    },
    /// `SHOW [EXTENDED] [FULL] COLUMNS FROM table [FROM db]`.
    Columns {
        extended: bool,
        full: bool,
        table: Identifier,
        database: Option<Identifier>,
        filter: Option<ShowFilter>,
        limit: Option<Limit>,
    },
    /// `SHOW [EXTENDED] INDEX FROM table [FROM db] [WHERE …]`.
    Indexes { extended: bool, table: Identifier, database: Option<Identifier>, filter: Option<Expression> },
    /// `SHOW CLUSTERS`.
    Clusters { filter: Option<ShowFilter>, limit: Option<Limit> },
    /// `SHOW CLUSTER 'name'`.
    Cluster(String),
    /// `SHOW [CHANGED] SETTINGS LIKE 'pattern'`.
    Settings { changed: bool, filter: Option<LikeFilter> },
    /// `SHOW SETTING name`.
    Setting(String),
    /// `SHOW MERGES`.
    Merges { filter: Option<ShowFilter>, limit: Option<Limit> },
    /// `SHOW FILESYSTEM CACHES`.
    FilesystemCaches,
    /// `SHOW ENGINES`.
    Engines,
    /// `SHOW FUNCTIONS`.
    Functions { filter: Option<LikeFilter> },
    /// `SHOW PROCESSLIST`.
    Processlist,
    /// `SHOW PRIVILEGES`.
    Privileges,
    /// `SHOW CREATE [TEMPORARY] TABLE | VIEW | DICTIONARY | DATABASE name`.
    Create(ShowCreate),
    /// `SHOW CREATE USER | ROLE | …`.
    CreateAccess {
        kind: AccessEntityKind,
        /// The entities; empty means the current one, or with `all` all of them.
        names: Vec<super::AccessEntityName>,
        all: bool,
    },
    /// `SHOW ACCESS`.
    Access,
    /// `SHOW GRANTS [FOR …] [WITH IMPLICIT] [FINAL]`.
    Grants { grantees: Option<super::Grantees>, with_implicit: bool, with_final: bool },
    /// `SHOW USERS | ROLES | PROFILES | POLICIES | QUOTAS | MASKING POLICIES`.
    AccessEntities {
        kind: AccessEntityKind,
        /// `CURRENT ROLES`, `CURRENT QUOTA`.
        current: bool,
        /// `ENABLED ROLES`.
        enabled: bool,
        /// `ON table`, of row policies; `*` is a table named so.
        table: Option<TableName>,
        /// The short name of row policies.
        short_name: Option<String>,
    },
}

/// `SHOW CREATE …` of an object of a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShowCreate {
    /// What kind of object.
    pub kind: DescribedObject,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// Its name; a database's is in the place of the table's.
    pub name: TableName,
}

/// Objects that can be shown and asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DescribedObject {
    /// `TABLE`, also when no keyword is written.
    Table,
    /// `VIEW`.
    View,
    /// `DICTIONARY`.
    Dictionary,
    /// `DATABASE`.
    Database,
}

/// `EXISTS [TEMPORARY] [TABLE | VIEW | DICTIONARY | DATABASE] name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exists {
    /// What kind of object.
    pub kind: DescribedObject,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// Its name; a database's is in the place of the table's.
    pub name: TableName,
    /// Output clauses.
    pub output: Output,
}

/// `DESCRIBE [TABLE] …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Describe {
    /// What is described.
    pub target: DescribeTarget,
    /// Settings before the output clauses.
    pub settings: Vec<Setting>,
    /// Output clauses.
    pub output: Output,
}

/// What is described.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DescribeTarget {
    /// A table by name.
    Table(TableName),
    /// A table function.
    Function(Function),
    /// `(SELECT …)`.
    Query(Box<Query>),
    /// `FILESYSTEM CACHE 'name'`.
    FilesystemCache(String),
}

/// `USE [DATABASE] name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Use {
    /// The database.
    pub database: Identifier,
}
