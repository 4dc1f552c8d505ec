//! Rows that came with a query, as a table that this query alone can name.

use std::any::Any;
use std::sync::Arc;

use squall_planner::{ColumnDescription, TableMetadata};
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::memory::scan_blocks;
use crate::table::{ScanRequest, Table, TableScan};

/// The database that such tables say they are in, as in ClickHouse. Nobody can name it.
pub const TEMPORARY_DATABASE: &str = "_temporary_and_external_tables";

/// A table of blocks that are all there.
#[derive(Debug)]
pub struct ExternalTable {
    name: Arc<str>,
    columns: Vec<ColumnDescription>,
    schema: Arc<Schema>,
    blocks: Vec<Arc<Block>>,
}

impl ExternalTable {
    /// A table of these columns, still without rows.
    ///
    /// # Errors
    /// `EMPTY_LIST_OF_COLUMNS_PASSED`, `DUPLICATE_COLUMN`.
    pub fn new(name: impl Into<Arc<str>>, schema: Arc<Schema>) -> Result<Self> {
        let name = name.into();
        if schema.is_empty() {
            let message = format!("The external table {name} has no columns");
            return Err(Error::new(ErrorCode::EMPTY_LIST_OF_COLUMNS_PASSED, message));
        }
        let mut columns: Vec<ColumnDescription> = Vec::with_capacity(schema.len());
        for (column, data_type) in schema.names().zip(schema.types()) {
            if columns.iter().any(|known| *known.name == *column) {
                let message = format!("Column {column} of the external table {name} is there twice");
                return Err(Error::new(ErrorCode::DUPLICATE_COLUMN, message));
            }
            columns.push(ColumnDescription::new(column, data_type.clone()));
        }
        Ok(Self { name, columns, schema, blocks: Vec::new() })
    }

    /// The columns.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Adds rows: a block of the table's columns in their order.
    ///
    /// # Errors
    /// `INCOMPATIBLE_COLUMNS` for other columns.
    pub fn add(&mut self, block: Block) -> Result<()> {
        if block.schema() != &self.schema {
            let message = format!("A block of the external table {} has other columns than the first one", self.name);
            return Err(Error::new(ErrorCode::INCOMPATIBLE_COLUMNS, message));
        }
        if !block.is_empty() {
            self.blocks.push(Arc::new(block.materialize()?));
        }
        Ok(())
    }
}

impl TableMetadata for ExternalTable {
    fn database(&self) -> &str {
        TEMPORARY_DATABASE
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn engine(&self) -> &str {
        "Memory"
    }

    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.blocks.iter().map(|block| block.rows() as u64).sum())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for ExternalTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Ok(scan_blocks(self.blocks.clone(), request, request.columns.clone()))
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.blocks.iter().map(|block| block.memory_bytes() as u64).sum())
    }
}
