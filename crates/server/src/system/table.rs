//! What every system table is made of: rows that are gathered when a query begins to read, and columns that say how each value is
//! had from a row. Only the columns that a query reads are computed, on the threads that read them.

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use squall_planner::{ColumnDefault, ColumnDescription, DefaultKind, TableMetadata};
use squall_storage::{Claim, Morsel, ScanRequest, Table, TableScan};
use squall_types::{Block, ColumnBuilder, DataType, Error, Result, Schema, Value};

/// Rows made at once.
const BLOCK_ROWS: u64 = 4096;

type RowValue<R> = Box<dyn Fn(&R) -> Value + Send + Sync>;
type Gather<R> = Box<dyn Fn() -> Result<Vec<R>> + Send + Sync>;

/// A system table over rows of type `R`.
pub struct SystemTable<R> {
    database: &'static str,
    name: &'static str,
    engine: String,
    descriptions: Vec<ColumnDescription>,
    values: Arc<Vec<RowValue<R>>>,
    /// So many of the last columns are read by name only.
    hidden: usize,
    gather: Gather<R>,
}

impl<R: Send + Sync + 'static> SystemTable<R> {
    /// A table of the database `system` without columns yet, whose rows `gather` makes.
    pub fn new(name: &'static str, gather: impl Fn() -> Result<Vec<R>> + Send + Sync + 'static) -> Self {
        let words = name.split('_').map(|word| {
            let mut letters = word.chars();
            letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
        });
        Self {
            database: "system",
            name,
            engine: format!("System{}", words.collect::<String>()),
            descriptions: Vec::new(),
            values: Arc::default(),
            hidden: 0,
            gather: Box::new(gather),
        }
    }

    /// Adds a column: its name, its type in ClickHouse's words, and how its value is had from a row.
    #[must_use]
    pub fn column(mut self, name: &str, data_type: &str, value: impl Fn(&R) -> Value + Send + Sync + 'static) -> Self {
        debug_assert!(DataType::parse(data_type).is_ok(), "{}.{name} {data_type}", self.name);
        let data_type = DataType::parse(data_type).unwrap_or(DataType::String);
        self.descriptions.push(ColumnDescription::new(name, data_type));
        if let Some(values) = Arc::get_mut(&mut self.values) {
            values.push(Box::new(value));
        }
        self
    }

    /// Adds a column that `*` does not stand for. Only such columns come behind it.
    #[must_use]
    pub fn hidden(self, name: &str, data_type: &str, value: impl Fn(&R) -> Value + Send + Sync + 'static) -> Self {
        let hidden = self.hidden + 1;
        Self { hidden, ..self.column(name, data_type, value) }
    }

    /// Adds an ALIAS: a name for an expression over the other columns.
    #[must_use]
    pub fn alias(self, name: &str, data_type: &str, expression: &str) -> Self {
        let mut table = self.column(name, data_type, |_| Value::Null);
        if let Some(description) = table.descriptions.last_mut() {
            description.default = Some(ColumnDefault { kind: DefaultKind::Alias, expression: expression.into() });
        }
        table
    }

    /// Adds a column whose value is the same in every row.
    #[must_use]
    pub fn constant(self, name: &str, data_type: &str, value: Value) -> Self {
        self.column(name, data_type, move |_| value.clone())
    }
}

impl<R> fmt::Debug for SystemTable<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.name)
    }
}

impl<R: Send + Sync + 'static> TableMetadata for SystemTable<R> {
    fn database(&self) -> &str {
        self.database
    }

    fn name(&self) -> &str {
        self.name
    }

    fn engine(&self) -> &str {
        &self.engine
    }

    fn columns(&self) -> &[ColumnDescription] {
        &self.descriptions
    }

    fn virtual_columns(&self) -> usize {
        self.hidden
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<R: Send + Sync + 'static> Table for SystemTable<R> {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Ok(Arc::new(Scan {
            rows: (self.gather)()?,
            values: self.values.clone(),
            columns: request.columns.clone(),
            schema: request.schema.clone(),
            next: AtomicU64::new(0),
        }))
    }
}

struct Scan<R> {
    rows: Vec<R>,
    values: Arc<Vec<RowValue<R>>>,
    columns: Vec<usize>,
    schema: Arc<Schema>,
    next: AtomicU64,
}

impl<R: Send + Sync> TableScan for Scan<R> {
    fn rows_total(&self) -> Option<u64> {
        Some(self.rows.len() as u64)
    }

    fn claim(&self, rows: u64, _: &Waker) -> Claim {
        let rows = rows.clamp(1, BLOCK_ROWS);
        let first = self.next.fetch_add(rows, Ordering::Relaxed);
        let total = self.rows.len() as u64;
        if first >= total {
            return Claim::Finished;
        }
        Claim::Morsel(Morsel { first, rows: rows.min(total - first) })
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let rows = usize::try_from(morsel.first)
            .ok()
            .and_then(|first| self.rows.get(first..first + morsel.rows as usize))
            .ok_or_else(|| Error::logical("a morsel beyond the rows of a system table"))?;
        let columns = self
            .columns
            .iter()
            .zip(self.schema.types())
            .map(|(at, data_type)| {
                let value = self.values.get(*at).ok_or_else(|| Error::logical("no such column of a system table"))?;
                let mut builder = ColumnBuilder::new(data_type.clone());
                rows.iter().try_for_each(|row| builder.append(&value(row)))?;
                builder.finish()
            })
            .collect::<Result<Vec<_>>>()?;
        consume(Block::new(self.schema.clone(), columns, rows.len())).map(|_| ())
    }
}
