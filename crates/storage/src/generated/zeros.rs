//! Rows that are all zero: `system.one`, `system.zeros`, `zeros(N)`.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_planner::{ColumnDescription, TableMetadata};
use squall_types::{Block, Column, DataType, Result, Schema, Value};

use crate::row_claims::RowClaims;
use crate::table::{Claim, Morsel, ScanRequest, Table, TableScan};

/// Rows of one block: they cost nothing, but the operators above work in the cache.
const BLOCK_ROWS: u64 = 65_536;

/// `rows` rows of one `UInt8` column that is 0.
#[derive(Debug)]
pub(super) struct Zeros {
    database: &'static str,
    name: Arc<str>,
    engine: &'static str,
    columns: [ColumnDescription; 1],
    /// `None`: endless.
    rows: Option<u64>,
}

impl Zeros {
    pub(super) fn new(
        database: &'static str,
        name: &str,
        engine: &'static str,
        column: &str,
        rows: Option<u64>,
    ) -> Self {
        let column = ColumnDescription::new(column, DataType::UInt8);
        Self { database, name: name.into(), engine, columns: [column], rows }
    }
}

impl TableMetadata for Zeros {
    fn database(&self) -> &str {
        self.database
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn engine(&self) -> &str {
        self.engine
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn rows(&self) -> Option<u64> {
        self.rows
    }
    fn column_range(&self, column: usize) -> Option<(Value, Value)> {
        (column == 0 && self.rows != Some(0)).then_some((Value::UInt64(0), Value::UInt64(0)))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for Zeros {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let rows = self.rows.unwrap_or(u64::MAX);
        Ok(Arc::new(ZerosScan {
            schema: request.schema.clone(),
            claims: RowClaims::new(request.limited(rows)),
            is_endless: self.rows.is_none() && request.limit.is_none(),
        }))
    }
}

struct ZerosScan {
    schema: Arc<Schema>,
    claims: RowClaims,
    is_endless: bool,
}

impl TableScan for ZerosScan {
    fn rows_total(&self) -> Option<u64> {
        (!self.is_endless).then_some(self.claims.total())
    }

    fn claim(&self, rows: u64, _: &Waker) -> Claim {
        self.claims.claim(rows)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut left = morsel.rows;
        while left > 0 {
            let rows = left.min(BLOCK_ROWS) as usize;
            let column = |data_type: &DataType| Column::constant(data_type.clone(), &Value::UInt64(0), rows);
            let columns = self.schema.types().map(column).collect::<Result<Vec<_>>>()?;
            if consume(Block::new(self.schema.clone(), columns, rows))?.is_break() {
                break;
            }
            left -= rows as u64;
        }
        Ok(())
    }
}
