//! The engine `Null`: takes every row and keeps none.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_planner::{ColumnDescription, Constraint, TableDefinition, TableMetadata};
use squall_types::{Block, Result};
use uuid::Uuid;

use crate::identity::{TableIdentity, TableName};
use crate::table::{Claim, InsertWriter, Insertion, Morsel, PartWork, ScanRequest, Table, TableScan};

/// A `Null` table.
#[derive(Debug)]
pub(crate) struct NullTable {
    name: Arc<TableName>,
    identity: Arc<TableIdentity>,
}

impl NullTable {
    pub(crate) fn new(name: Arc<TableName>, identity: Arc<TableIdentity>) -> Self {
        Self { name, identity }
    }
}

/// The table function `null('structure')`: no rows, and a place for any.
///
/// # Errors
/// Where a type cannot be in a table.
pub fn null_table(columns: Vec<ColumnDescription>) -> Result<Arc<dyn Table>> {
    let definition = TableDefinition { columns, engine: "Null".into(), ..TableDefinition::default() };
    let identity = TableIdentity::new(Uuid::nil(), Arc::new(definition))?;
    Ok(Arc::new(NullTable::new(Arc::new(TableName::new("_table_function", "null")), Arc::new(identity))))
}

impl TableMetadata for NullTable {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        "Null"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.identity.definition.columns
    }
    fn rows(&self) -> Option<u64> {
        Some(0)
    }
    fn constraints(&self) -> &[Constraint] {
        &self.identity.definition.constraints
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for NullTable {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Ok(Arc::new(Nothing))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        Ok(Arc::new(Nothing))
    }
}

struct Nothing;

impl TableScan for Nothing {
    fn rows_total(&self) -> Option<u64> {
        Some(0)
    }
    fn claim(&self, _: u64, _: &Waker) -> Claim {
        Claim::Finished
    }
    fn read(&self, _: Morsel, _: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        Ok(())
    }
}

impl Insertion for Nothing {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(Self))
    }
    fn commit(&self) -> Result<()> {
        Ok(())
    }
}

impl InsertWriter for Nothing {
    fn write(&mut self, _: Block) -> Result<Option<PartWork>> {
        Ok(None)
    }
    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        Ok(None)
    }
}
