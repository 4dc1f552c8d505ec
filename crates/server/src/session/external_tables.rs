//! Tables that come with a query as data: of the native protocol or in a form. Only that query can name them.

use std::sync::Arc;

use squall_planner::TableMetadata;
use squall_runtime::MemoryTracker;
use squall_storage::ExternalTable;
use squall_types::{Block, Error, ErrorCode, Result, Schema, Settings};

/// The name of a table that has none.
pub const UNNAMED: &str = "_data";
/// Tables of one query.
const TABLES_MAX: usize = 1_000;

/// The tables of one query while they come.
#[derive(Debug)]
pub struct ExternalTablesInput {
    tables: Vec<ExternalTable>,
    memory: MemoryTracker,
}

/// The tables of one query.
#[derive(Debug)]
pub struct ExternalTables(Vec<Arc<ExternalTable>>);

impl ExternalTablesInput {
    /// None yet, for a query with these settings.
    pub fn new(settings: &Settings) -> Self {
        Self { tables: Vec::new(), memory: MemoryTracker::query(settings.max_memory_usage, None) }
    }

    /// Makes a table without rows.
    ///
    /// # Errors
    /// `TABLE_ALREADY_EXISTS`, `LIMIT_EXCEEDED` for too many, and those of [`ExternalTable::new`].
    pub fn create(&mut self, name: &str, schema: Arc<Schema>) -> Result<()> {
        if self.tables.iter().any(|table| table.name() == name) {
            let message = format!("Temporary table {name} already exists");
            return Err(Error::new(ErrorCode::TABLE_ALREADY_EXISTS, message));
        }
        if self.tables.len() == TABLES_MAX {
            let message = format!("More than {TABLES_MAX} external tables");
            return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, message));
        }
        self.tables.push(ExternalTable::new(name, schema)?);
        Ok(())
    }

    /// Adds rows to a table, which the first of them makes.
    ///
    /// # Errors
    /// As [`create`](Self::create); `INCOMPATIBLE_COLUMNS`; `MEMORY_LIMIT_EXCEEDED` where the tables are larger than the query may be, or the
    /// server is at its limit.
    pub fn add(&mut self, name: &str, block: Block) -> Result<()> {
        if !self.tables.iter().any(|table| table.name() == name) {
            self.create(name, block.schema().clone())?;
        }
        self.memory.add(i64::try_from(block.memory_bytes()).unwrap_or(i64::MAX));
        self.memory.check().map_err(|exceeded| {
            let message = format!("Memory limit exceeded by external tables: {exceeded}");
            Error::new(ErrorCode::MEMORY_LIMIT_EXCEEDED, message)
        })?;
        match self.tables.iter_mut().find(|table| table.name() == name) {
            Some(table) => table.add(block),
            None => Err(Error::logical("an external table that was made is not there")),
        }
    }

    /// The tables, all of whose rows have come; `None` where there are none.
    pub fn finish(self) -> Option<Arc<ExternalTables>> {
        if self.tables.is_empty() {
            return None;
        }
        Some(Arc::new(ExternalTables(self.tables.into_iter().map(Arc::new).collect())))
    }
}

impl ExternalTables {
    /// The table of a name.
    pub fn find(&self, name: &str) -> Option<&Arc<ExternalTable>> {
        self.0.iter().find(|table| table.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use squall_types::{ColumnBuilder, DataType, Value};

    use super::*;

    fn block(name: &str, values: &[u64]) -> Block {
        let mut builder = ColumnBuilder::new(DataType::UInt64);
        values.iter().for_each(|value| builder.append(&Value::UInt64(*value)).unwrap());
        let schema = Schema::new([(name, DataType::UInt64)]);
        Block::new(Arc::new(schema), vec![builder.finish().unwrap()], values.len())
    }

    #[test]
    fn blocks_of_a_name_are_a_table() {
        let mut input = ExternalTablesInput::new(&Settings::default());
        input.add("t", block("a", &[1, 2])).unwrap();
        input.add("t", block("a", &[3])).unwrap();
        assert_eq!(input.add("t", block("b", &[3])).unwrap_err().code, ErrorCode::INCOMPATIBLE_COLUMNS);
        let again = Schema::new([("a", DataType::UInt64)]).into();
        assert_eq!(input.create("t", again).unwrap_err().code, ErrorCode::TABLE_ALREADY_EXISTS);
        let twice = Schema::new([("a", DataType::UInt64), ("a", DataType::UInt64)]).into();
        assert_eq!(input.create("u", twice).unwrap_err().code, ErrorCode::DUPLICATE_COLUMN);
        let tables = input.finish().unwrap();
        assert!(tables.find("t").is_some() && tables.find("u").is_none());
        assert!(ExternalTablesInput::new(&Settings::default()).finish().is_none());
    }

    #[test]
    fn they_are_no_larger_than_their_query() {
        let mut settings = Settings::default();
        settings.set("max_memory_usage", "1000").unwrap();
        let mut input = ExternalTablesInput::new(&settings);
        let error = input.add("t", block("a", &[7; 1_000])).unwrap_err();
        assert_eq!(error.code, ErrorCode::MEMORY_LIMIT_EXCEEDED);
    }
}
