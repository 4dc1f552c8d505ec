//! Tables that are made `AS` a table function, as far as storage has them: a definition. The planner puts the function in their place.

use std::any::Any;
use std::sync::Arc;

use squall_planner::{ColumnDescription, TABLE_FUNCTION, TableMetadata};
use squall_sql::ast;
use squall_types::{Error, Result, Value};

use crate::identity::{TableIdentity, TableName};
use crate::table::{ScanRequest, Table, TableScan};

/// A table of a function's rows.
#[derive(Debug)]
pub(crate) struct FunctionTable {
    name: Arc<TableName>,
    identity: Arc<TableIdentity>,
    function: Arc<ast::Function>,
}

impl FunctionTable {
    pub(crate) fn new(name: Arc<TableName>, identity: Arc<TableIdentity>, function: Arc<ast::Function>) -> Self {
        Self { name, identity, function }
    }
}

impl TableMetadata for FunctionTable {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        let definition = &self.identity.definition;
        let shown = definition.engine_arguments.get(1).and_then(Value::as_str);
        shown.filter(|_| &*definition.engine == TABLE_FUNCTION).unwrap_or(&definition.engine)
    }
    fn supports_prewhere(&self) -> bool {
        matches!(self.engine(), "Merge" | "Buffer")
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.identity.definition.columns
    }
    fn table_function(&self) -> Option<&Arc<ast::Function>> {
        Some(&self.function)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for FunctionTable {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Err(Error::logical("a table function was not put in its table's place"))
    }
}
