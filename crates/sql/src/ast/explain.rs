//! EXPLAIN of every kind.

use super::{Function, Output, Setting, Statement, TableOverride};

/// `EXPLAIN kind settings statement`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Explain {
    /// What is explained.
    pub kind: ExplainKind,
    /// The settings between the kind and the statement: `header = 1, indexes = 1`.
    pub settings: Vec<Setting>,
    /// The statement; none for `CURRENT TRANSACTION` and `TABLE OVERRIDE`.
    pub statement: Option<Box<Statement>>,
    /// The table function and the override of `TABLE OVERRIDE`.
    pub table_override: Option<(Function, Option<TableOverride>)>,
    /// Output clauses, where the statement has none of its own.
    pub output: Output,
}

/// Kinds of EXPLAIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExplainKind {
    /// `AST`.
    Ast,
    /// `SYNTAX`.
    Syntax,
    /// `QUERY TREE`.
    QueryTree,
    /// `PLAN`, also when nothing is written.
    Plan,
    /// `PIPELINE`.
    Pipeline,
    /// `ANALYZE`: the plan with what its steps did, after the query has run.
    Analyze,
    /// `ESTIMATE`.
    Estimate,
    /// `TABLE OVERRIDE`.
    TableOverride,
    /// `CURRENT TRANSACTION`.
    CurrentTransaction,
}
