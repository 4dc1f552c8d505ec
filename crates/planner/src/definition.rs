//! A table as `CREATE TABLE` defines it, typed: what the planner makes of the statement and `storage` keeps.

use std::sync::Arc;

use squall_types::Value;

use crate::catalog::ColumnDescription;
use crate::expression::Expression;

/// What stands for an engine in tables that are made `AS` a table function; its arguments are the call, and the engine that is shown.
pub const TABLE_FUNCTION: &str = "TableFunction";

/// A table's definition.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// The columns, in order.
    pub columns: Vec<ColumnDescription>,
    /// The engine's name, `MergeTree` or `Memory`; `storage` refuses what it does not have (`UNKNOWN_STORAGE`).
    pub engine: Arc<str>,
    /// The engine's arguments.
    pub engine_arguments: Vec<Value>,
    /// `ORDER BY`: one entry per key, over the table's columns by position.
    pub sorting_key: Vec<KeyExpression>,
    /// `PRIMARY KEY` where it is given: a prefix of the sorting key.
    pub primary_key: Option<Vec<KeyExpression>>,
    /// `PARTITION BY`.
    pub partition_key: Vec<KeyExpression>,
    /// `SETTINGS`, as text.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
    /// `COMMENT`.
    pub comment: Arc<str>,
}

impl TableDefinition {
    /// The table function whose rows the table has.
    pub fn table_function(&self) -> Option<&str> {
        let text = self.engine_arguments.first().and_then(Value::as_str)?;
        (&*self.engine == TABLE_FUNCTION).then_some(text)
    }

    /// The statement of a dictionary. A table with `ENGINE = Dictionary(name)` has that name in its place, and this is none.
    pub fn dictionary_statement(&self) -> Option<&str> {
        let text = self.engine_arguments.first().and_then(Value::as_str)?;
        (&*self.engine == "Dictionary" && text.starts_with("CREATE DICTIONARY ")).then_some(text)
    }
}

/// One expression of a key: its text to keep and show, and what it computes.
#[derive(Clone, Debug)]
pub struct KeyExpression {
    /// The expression in SQL.
    pub sql: Arc<str>,
    /// The same over the table's columns by position.
    pub expression: Expression,
}
