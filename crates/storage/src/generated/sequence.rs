//! Numbers in even steps: `system.numbers`, `numbers(…)`, `generateSeries(…)`. Rows are made while they are read; a predicate
//! over the number cuts the sequence, so that `WHERE number < 100000` ends even over the endless table.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use arrow_array::types::UInt64Type;
use squall_planner::{ColumnDescription, TableMetadata};
use squall_types::{Block, Column, DataType, Result, Schema, Value};

use crate::key_condition::{Field, KeyCondition};
use crate::row_claims::RowClaims;
use crate::table::{Claim, Morsel, ScanRequest, Table, TableScan};

/// Rows of one block: a block of numbers stays in the second-level cache.
const BLOCK_ROWS: u64 = 65_536;

/// The numbers `first`, `first + step`, …, `rows` of them, wrapping at 2^64.
#[derive(Debug)]
pub(super) struct Sequence {
    database: &'static str,
    name: Arc<str>,
    columns: [ColumnDescription; 1],
    first: u64,
    step: u64,
    /// `None`: endless.
    rows: Option<u64>,
}

impl Sequence {
    /// The natural numbers, endlessly.
    pub(super) fn unbounded(database: &'static str, name: &str) -> Self {
        Self { database, rows: None, ..Self::new(name, "number", 0, 1, 0) }
    }

    /// `rows` numbers from `first` in steps of `step`, in a column of this name.
    pub(super) fn new(name: &str, column: &str, first: u64, step: u64, rows: u64) -> Self {
        let column = ColumnDescription::new(column, DataType::UInt64);
        Self { database: "_table_function", name: name.into(), columns: [column], first, step, rows: Some(rows) }
    }

    /// The value of the last row, where the sequence ends and does not wrap.
    fn last(&self) -> Option<u64> {
        self.rows?.checked_sub(1)?.checked_mul(self.step)?.checked_add(self.first)
    }

    /// The rows `from..to` outside of which no number lies in `low..=high`.
    fn rows_within(&self, low: Option<Value>, high: Option<Value>) -> (u64, u64) {
        let rows = self.rows.unwrap_or(u64::MAX);
        // A sequence that wraps is not ascending.
        let last = rows.saturating_sub(1).checked_mul(self.step).and_then(|span| span.checked_add(self.first));
        if last.is_none() && self.rows.is_some() {
            return (0, rows);
        }
        let from = match low {
            Some(low) if low.compare(&Value::UInt64(u64::MAX)).is_gt() => rows,
            Some(low) => ceiling(&low).saturating_sub(self.first).div_ceil(self.step),
            None => 0,
        };
        let to = match high {
            Some(high) if high.compare(&Value::UInt64(self.first)).is_lt() => 0,
            Some(high) => (floor(&high).saturating_sub(self.first) / self.step).saturating_add(1),
            None => rows,
        };
        let to = to.min(rows);
        (from.min(to), to)
    }
}

fn ceiling(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_f64().map_or(0, |number| number.max(0.0).ceil() as u64))
}

fn floor(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_f64().map_or(u64::MAX, |number| number.floor() as u64))
}

impl TableMetadata for Sequence {
    fn database(&self) -> &str {
        self.database
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn engine(&self) -> &str {
        "SystemNumbers"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn rows(&self) -> Option<u64> {
        self.rows
    }
    fn column_range(&self, column: usize) -> Option<(Value, Value)> {
        let last = self.last().filter(|_| column == 0)?;
        Some((Value::UInt64(self.first), Value::UInt64(last)))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for Sequence {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let (from, to) = match &request.predicate {
            Some(predicate) => {
                let predicate = predicate.map_columns(&|column| request.columns.get(column).copied().unwrap_or(0));
                let (low, high) = KeyCondition::new(&predicate, &[]).bounds(Field::Column(0));
                self.rows_within(low, high)
            }
            None => (0, self.rows.unwrap_or(u64::MAX)),
        };
        let rows = to - from;
        Ok(Arc::new(SequenceScan {
            schema: request.schema.clone(),
            first: self.first.wrapping_add(from.wrapping_mul(self.step)),
            step: self.step,
            claims: RowClaims::new(request.limited(rows)),
            is_endless: self.rows.is_none() && to == u64::MAX && request.limit.is_none(),
        }))
    }
}

struct SequenceScan {
    schema: Arc<Schema>,
    first: u64,
    step: u64,
    claims: RowClaims,
    is_endless: bool,
}

impl TableScan for SequenceScan {
    fn rows_total(&self) -> Option<u64> {
        (!self.is_endless).then_some(self.claims.total())
    }

    fn claim(&self, rows: u64, _: &Waker) -> Claim {
        self.claims.claim(rows)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let end = morsel.first.saturating_add(morsel.rows).min(self.claims.total());
        let mut at = morsel.first;
        while at < end {
            let rows = (end - at).min(BLOCK_ROWS);
            let first = self.first.wrapping_add(at.wrapping_mul(self.step));
            let columns = match self.schema.len() {
                0 => Vec::new(),
                columns => {
                    let numbers = (0..rows).map(|row| first.wrapping_add(row.wrapping_mul(self.step))).collect();
                    vec![Column::from_primitive::<UInt64Type>(DataType::UInt64, numbers); columns]
                }
            };
            if consume(Block::new(self.schema.clone(), columns, rows as usize))?.is_break() {
                return Ok(());
            }
            at += rows;
        }
        Ok(())
    }
}
