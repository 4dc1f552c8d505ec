//! ALTER TABLE, ALTER DATABASE and ALTER NAMED COLLECTION with all their commands.

use super::{
    Assignment, ColumnDeclaration, ConstraintDeclaration, Expression, Function, Identifier, IndexDeclaration,
    MoveDestination, NamedCollectionEntry, OnCluster, Output, ProjectionDeclaration, Query, RefreshStrategy, Setting,
    SortingKey, SqlSecurity, TableName, TtlElement,
};

/// `ALTER [TEMPORARY] TABLE name [ON CLUSTER c] command, …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterTable {
    /// `TEMPORARY`.
    pub temporary: bool,
    /// The table.
    pub table: TableName,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// The commands, in order.
    pub commands: Vec<AlterCommand>,
    /// `FORMAT`, `SETTINGS`.
    pub output: Output,
}

impl AlterTable {
    /// A statement that comes from no text.
    pub fn of(table: TableName, commands: Vec<AlterCommand>) -> Self {
        Self { temporary: false, table, cluster: None, commands, output: Output::default() }
    }
}

/// `ALTER DATABASE name [ON CLUSTER c] command, …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterDatabase {
    /// The database.
    pub database: Identifier,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// The commands: `MODIFY SETTING` and `MODIFY COMMENT`.
    pub commands: Vec<AlterCommand>,
}

/// `ALTER NAMED COLLECTION name SET a = 1 DELETE b`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AlterNamedCollection {
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// The collection.
    pub name: Identifier,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `SET`.
    pub set: Vec<NamedCollectionEntry>,
    /// `DELETE`.
    pub delete: Vec<String>,
}

/// Where an added element stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// At the end.
    Last,
    /// `FIRST`.
    First,
    /// `AFTER name`.
    After(Identifier),
}

/// Which parts of a table a command is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartitionSelector {
    /// `PARTITION expression`.
    Value(Expression),
    /// `PARTITION ID 'id'`.
    Id(Expression),
    /// `PARTITION ALL`.
    All,
    /// `PART 'name'`.
    Part(Expression),
}

/// A property that `MODIFY COLUMN … REMOVE` takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnProperty {
    /// `DEFAULT`.
    Default,
    /// `MATERIALIZED`.
    Materialized,
    /// `ALIAS`.
    Alias,
    /// `EPHEMERAL`.
    Ephemeral,
    /// `COMMENT`.
    Comment,
    /// `CODEC`.
    Codec,
    /// `TTL`.
    Ttl,
    /// `SETTINGS`.
    Settings,
}

/// One command of ALTER.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each field is named for the clause that it holds")]
pub enum AlterCommand {
    /// `ADD COLUMN`.
    AddColumn { if_not_exists: bool, column: ColumnDeclaration, placement: Placement },
    /// `DROP COLUMN`.
    DropColumn { if_exists: bool, column: Identifier },
    /// `CLEAR COLUMN`.
    ClearColumn { if_exists: bool, column: Identifier, partition: Option<PartitionSelector> },
    /// `MATERIALIZE COLUMN`.
    MaterializeColumn { column: Identifier, partition: Option<PartitionSelector> },
    /// `MODIFY COLUMN` or `ALTER COLUMN`, with the new declaration.
    ModifyColumn { if_exists: bool, column: ColumnDeclaration, placement: Option<Placement> },
    /// `MODIFY COLUMN c REMOVE property`.
    RemoveColumnProperty { if_exists: bool, column: Identifier, property: ColumnProperty },
    /// `MODIFY COLUMN c MODIFY SETTING …`.
    ModifyColumnSetting { if_exists: bool, column: Identifier, settings: Vec<Setting> },
    /// `MODIFY COLUMN c RESET SETTING …`.
    ResetColumnSetting { if_exists: bool, column: Identifier, settings: Vec<String> },
    /// `RENAME COLUMN`.
    RenameColumn { if_exists: bool, column: Identifier, to: Identifier },
    /// `COMMENT COLUMN`.
    CommentColumn { if_exists: bool, column: Identifier, comment: String },
    /// `MODIFY COMMENT`.
    ModifyComment(String),
    /// `MODIFY ORDER BY`.
    ModifyOrderBy(SortingKey),
    /// `MODIFY SAMPLE BY`.
    ModifySampleBy(Expression),
    /// `REMOVE SAMPLE BY`.
    RemoveSampleBy,
    /// `MODIFY TTL`.
    ModifyTtl(Vec<TtlElement>),
    /// `REMOVE TTL`.
    RemoveTtl,
    /// `MATERIALIZE TTL`.
    MaterializeTtl { partition: Option<PartitionSelector> },
    /// `REWRITE PARTS`.
    RewriteParts { partition: Option<PartitionSelector> },
    /// `MODIFY SETTING`.
    ModifySetting(Vec<Setting>),
    /// `RESET SETTING`.
    ResetSetting(Vec<String>),
    /// `MODIFY QUERY`.
    ModifyQuery(Box<Query>),
    /// `MODIFY REFRESH`.
    ModifyRefresh(RefreshStrategy),
    /// `MODIFY [DEFINER = …] SQL SECURITY …`.
    ModifySqlSecurity { definer: Option<super::Definer>, security: Option<SqlSecurity> },
    /// `ADD INDEX`.
    AddIndex { if_not_exists: bool, index: IndexDeclaration, placement: Placement },
    /// `DROP INDEX`.
    DropIndex { if_exists: bool, index: Identifier },
    /// `CLEAR INDEX`.
    ClearIndex { if_exists: bool, index: Identifier, partition: Option<PartitionSelector> },
    /// `MATERIALIZE INDEX`.
    MaterializeIndex { if_exists: bool, index: Identifier, partition: Option<PartitionSelector> },
    /// `ADD STATISTICS`.
    AddStatistics { if_not_exists: bool, columns: Vec<Identifier>, kinds: Vec<Function> },
    /// `MODIFY STATISTICS`.
    ModifyStatistics { columns: Vec<Identifier>, kinds: Vec<Function> },
    /// `DROP STATISTICS`; no columns means all.
    DropStatistics { if_exists: bool, columns: Vec<Identifier> },
    /// `CLEAR STATISTICS`.
    ClearStatistics { if_exists: bool, columns: Vec<Identifier> },
    /// `MATERIALIZE STATISTICS`; no columns means all.
    MaterializeStatistics { if_exists: bool, columns: Vec<Identifier> },
    /// `ADD PROJECTION`.
    AddProjection { if_not_exists: bool, projection: ProjectionDeclaration, placement: Placement },
    /// `DROP PROJECTION`.
    DropProjection { if_exists: bool, projection: Identifier },
    /// `CLEAR PROJECTION`.
    ClearProjection { if_exists: bool, projection: Identifier, partition: Option<PartitionSelector> },
    /// `MATERIALIZE PROJECTION`.
    MaterializeProjection { if_exists: bool, projection: Identifier, partition: Option<PartitionSelector> },
    /// `ADD CONSTRAINT`.
    AddConstraint { if_not_exists: bool, constraint: ConstraintDeclaration },
    /// `DROP CONSTRAINT`.
    DropConstraint { if_exists: bool, constraint: Identifier },
    /// `DROP PARTITION`, `DROP PART`; `DETACH …` when `detach`.
    DropPartition { detach: bool, partition: PartitionSelector },
    /// `DROP DETACHED PARTITION`.
    DropDetachedPartition(PartitionSelector),
    /// `FORGET PARTITION`.
    ForgetPartition(PartitionSelector),
    /// `ATTACH PARTITION`; with a table, `ATTACH PARTITION … FROM table`.
    AttachPartition { partition: PartitionSelector, from: Option<TableName> },
    /// `REPLACE PARTITION … FROM table`.
    ReplacePartition { partition: PartitionSelector, from: TableName },
    /// `MOVE PARTITION … TO …`.
    MovePartition { partition: PartitionSelector, to: MoveDestination },
    /// `FETCH PARTITION … FROM 'path'`.
    FetchPartition { partition: PartitionSelector, from: String },
    /// `FREEZE [PARTITION …] [WITH NAME 'n']`.
    Freeze { partition: Option<PartitionSelector>, name: Option<String> },
    /// `UNFREEZE [PARTITION …] [WITH NAME 'n']`.
    Unfreeze { partition: Option<PartitionSelector>, name: Option<String> },
    /// `EXPORT PART … TO TABLE …`, `EXPORT PARTITION …`.
    ExportPartition { partition: PartitionSelector, to: TableName },
    /// `DELETE [IN PARTITION …] WHERE …`.
    Delete { partition: Option<PartitionSelector>, filter: Expression },
    /// `UPDATE a = 1 [IN PARTITION …] WHERE …`.
    Update { assignments: Vec<Assignment>, partition: Option<PartitionSelector>, filter: Expression },
    /// `APPLY DELETED MASK [IN PARTITION …]`.
    ApplyDeletedMask { partition: Option<PartitionSelector> },
    /// `APPLY PATCHES [IN PARTITION …]`.
    ApplyPatches { partition: Option<PartitionSelector> },
}
