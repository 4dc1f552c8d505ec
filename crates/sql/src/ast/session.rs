//! Statements about the session and about what is running: SET, transactions, KILL, WATCH.

use super::{AccessEntityName, Expression, Output, RoleSet, Setting, TableName};

/// `SET a = 1, b = 2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Set {
    /// The settings; those named `param_x` set query parameters.
    pub settings: Vec<Setting>,
}

/// `SET ROLE …` and `SET DEFAULT ROLE … TO …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SetRole {
    /// `SET ROLE DEFAULT`.
    Default,
    /// `SET ROLE a, b`, `NONE`, `ALL`, `ALL EXCEPT a`.
    Roles(RoleSet),
    /// `SET DEFAULT ROLE a TO user`.
    DefaultFor {
        /// The roles.
        roles: RoleSet,
        /// The users.
        users: Vec<AccessEntityName>,
        /// `CURRENT_USER` is among the users.
        current_user: bool,
    },
}

/// Transaction control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transaction {
    /// `BEGIN [TRANSACTION]`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`.
    Rollback,
    /// `SET TRANSACTION SNAPSHOT n`.
    SetSnapshot(u64),
}

/// `KILL QUERY | MUTATION | … WHERE … [SYNC | ASYNC | TEST]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Kill {
    /// What is killed.
    pub kind: KillKind,
    /// `ON CLUSTER`.
    pub cluster: super::OnCluster,
    /// Which.
    pub filter: Expression,
    /// How.
    pub mode: KillMode,
    /// Output clauses.
    pub output: Output,
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillKind {
    /// `QUERY`.
    Query,
    /// `MUTATION`.
    Mutation,
    /// `PART_MOVE_TO_SHARD`.
    PartMoveToShard,
    /// `TRANSACTION`.
    Transaction,
}

/// How KILL waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KillMode {
    /// `ASYNC`, also when nothing is written.
    Async,
    /// `SYNC`.
    Sync,
    /// `TEST`.
    Test,
}

/// `WATCH table [EVENTS] [LIMIT n]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watch {
    /// The view.
    pub table: TableName,
    /// `EVENTS`.
    pub events: bool,
    /// `LIMIT`.
    pub limit: Option<u64>,
    /// Output clauses.
    pub output: Output,
}
