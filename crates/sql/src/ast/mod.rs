//! The syntax tree: what a statement says, before any name or type is known. One noun a file. Every node that an error can
//! blame carries a [`Span`], which equality ignores.

mod access;
mod alter;
mod clauses;
mod column;
mod create;
mod data_type;
mod dictionary;
mod drop;
mod explain;
mod expression;
mod insert;
mod literal;
mod maintenance;
mod name;
mod select;
mod session;
mod show;
mod span;
mod storage;
mod system;
mod walk;

pub use access::*;
pub use alter::*;
pub use column::*;
pub use create::*;
pub use data_type::*;
pub use dictionary::*;
pub use drop::*;
pub use explain::*;
pub use expression::*;
pub use insert::*;
pub use literal::*;
pub use maintenance::*;
pub use name::*;
pub use select::*;
pub use session::*;
pub use show::*;
pub use span::*;
pub use storage::*;
pub use system::*;
pub use walk::Visitor;

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// `SELECT`, with its set operations and output clauses.
    Query(Box<Query>),
    /// `INSERT`.
    Insert(Box<Insert>),
    /// `DELETE FROM`.
    Delete(Box<Delete>),
    /// `UPDATE … SET`.
    Update(Box<Update>),
    /// `CREATE DATABASE`, `ATTACH DATABASE`.
    CreateDatabase(Box<CreateDatabase>),
    /// `CREATE TABLE`, `ATTACH TABLE`.
    CreateTable(Box<CreateTable>),
    /// `CREATE VIEW` of every kind.
    CreateView(Box<CreateView>),
    /// `CREATE DICTIONARY`.
    CreateDictionary(Box<CreateDictionary>),
    /// `CREATE FUNCTION`.
    CreateFunction(Box<CreateFunction>),
    /// `CREATE INDEX`.
    CreateIndex(Box<CreateIndex>),
    /// `CREATE NAMED COLLECTION`.
    CreateNamedCollection(Box<CreateNamedCollection>),
    /// `CREATE WORKLOAD`.
    CreateWorkload(Box<CreateWorkload>),
    /// `CREATE RESOURCE`.
    CreateResource(Box<CreateResource>),
    /// `ALTER TABLE`.
    AlterTable(Box<AlterTable>),
    /// `ALTER DATABASE`.
    AlterDatabase(Box<AlterDatabase>),
    /// `ALTER NAMED COLLECTION`.
    AlterNamedCollection(Box<AlterNamedCollection>),
    /// `DROP`, `DETACH`, `TRUNCATE` of databases and tables.
    Drop(Box<Drop>),
    /// `DROP FUNCTION`, `INDEX`, `NAMED COLLECTION`, `WORKLOAD`, `RESOURCE`.
    DropObject(Box<DropObject>),
    /// `UNDROP TABLE`.
    Undrop(Box<Undrop>),
    /// `RENAME`, `EXCHANGE`.
    Rename(Box<Rename>),
    /// `CREATE` and `ALTER` of users, roles, quotas, policies and profiles.
    AccessEntity(Box<AccessEntity>),
    /// `DROP USER` and its like.
    DropAccessEntity(Box<DropAccessEntity>),
    /// `MOVE USER … TO storage`.
    MoveAccessEntity(Box<MoveAccessEntity>),
    /// `GRANT`, `REVOKE`.
    Grant(Box<Grant>),
    /// `SET`.
    Set(Box<Set>),
    /// `SET ROLE`, `SET DEFAULT ROLE`.
    SetRole(Box<SetRole>),
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, `SET TRANSACTION SNAPSHOT`.
    Transaction(Transaction),
    /// `USE`.
    Use(Box<Use>),
    /// `SHOW`.
    Show(Box<Show>),
    /// `EXISTS`.
    Exists(Box<Exists>),
    /// `DESCRIBE`.
    Describe(Box<Describe>),
    /// `EXPLAIN`.
    Explain(Box<Explain>),
    /// `KILL`.
    Kill(Box<Kill>),
    /// `SYSTEM`.
    System(Box<System>),
    /// `OPTIMIZE TABLE`.
    Optimize(Box<Optimize>),
    /// `CHECK`.
    Check(Box<Check>),
    /// `BACKUP`, `RESTORE`.
    Backup(Box<Backup>),
    /// `WATCH`.
    Watch(Box<Watch>),
    /// `EXECUTE AS`.
    ExecuteAs(Box<ExecuteAs>),
    /// `… PARALLEL WITH …`: two or more.
    Parallel(Vec<Statement>),
}
