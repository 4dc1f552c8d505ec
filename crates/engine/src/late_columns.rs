//! Columns that are read of few rows, once these are known: the last step of a late materialization. The rows come in the result's order; they
//! are read in the table's, and put into their order again.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use arrow_array::UInt32Array;
use arrow_array::types::UInt64Type;
use squall_runtime::Pieces;
use squall_storage::{Claim, Morsel, ScanRequest, Table, TableScan};
use squall_types::{Block, Column, Error, Result, Schema, gather};

use crate::units::{Rows, Units};
use crate::window::{Collecting, Input};

/// Reads the columns: a unit is a block of rows.
pub(crate) struct LateReading {
    collecting: Arc<Collecting>,
    input: OnceLock<Input>,
    /// Of what is collected: its last column tells where the rows are.
    input_schema: Arc<Schema>,
    table: Arc<dyn Table>,
    /// What is read of them.
    request: ScanRequest,
    /// The columns before the last one, then those that are read.
    schema: Arc<Schema>,
}

impl LateReading {
    pub(crate) fn new(
        collecting: Arc<Collecting>,
        input_schema: Arc<Schema>,
        table: Arc<dyn Table>,
        request: ScanRequest,
        schema: Arc<Schema>,
    ) -> Self {
        Self { collecting, input: OnceLock::new(), input_schema, table, request, schema }
    }

    fn input(&self) -> &Input {
        self.input.get_or_init(|| self.collecting.input())
    }

    /// The columns of rows at places, which ascend.
    async fn read(&self, places: &[u64], pieces: &mut Pieces) -> Result<Vec<Column>> {
        let scan = self.table.rows_at(&self.request, places)?;
        let mut columns: Vec<Vec<Column>> = vec![Vec::new(); self.request.schema.len()];
        while let Some(morsel) = claim(&*scan, places.len() as u64).await {
            scan.read(morsel, &mut |block| {
                columns.iter_mut().zip(block.columns()).for_each(|(all, column)| all.push(column.clone()));
                Ok(ControlFlow::Continue(()))
            })?;
            pieces.pause().await;
        }
        let mut all = Vec::with_capacity(columns.len());
        for column in columns {
            all.push(gather::concat(column, pieces).await?);
        }
        Ok(all)
    }
}

/// The next rows of a scan, or work that comes before them; `None` where there are no more.
async fn claim(scan: &dyn TableScan, rows: u64) -> Option<Morsel> {
    poll_fn(|task| match scan.claim(rows, task.waker()) {
        Claim::Morsel(morsel) => Poll::Ready(Some(morsel)),
        Claim::Finished => Poll::Ready(None),
        Claim::Pending => Poll::Pending,
    })
    .await
}

impl Units for LateReading {
    fn units(&self) -> usize {
        self.input().blocks()
    }

    async fn run(self: Arc<Self>, unit: usize, rows: Rows) -> Result<()> {
        let input = self.input();
        let block = input.load(unit, &self.input_schema).await?;
        input.let_go(unit..unit + 1);
        if block.is_empty() {
            return Ok(());
        }
        let mut pieces = Pieces::begin();
        let Some((places, early)) = block.columns().split_last() else {
            return Err(Error::logical("rows without their places"));
        };
        let places = places.clone().without_constant()?;
        let places = places.as_primitive::<UInt64Type>()?.values();
        let mut order: Vec<u32> = (0..block.rows() as u32).collect();
        order.sort_unstable_by_key(|row| places[*row as usize]);
        let sorted: Vec<u64> = order.iter().map(|row| places[*row as usize]).collect();
        let late = self.read(&sorted, &mut pieces).await?;
        let mut found = vec![0; order.len()];
        for (at, row) in (0..).zip(&order) {
            found[*row as usize] = at;
        }
        let found = UInt32Array::from(found);
        let mut columns = early.to_vec();
        for column in late {
            if column.rows() != found.len() {
                return Err(Error::logical("other rows than were looked for"));
            }
            columns.push(column.take(&found)?);
            pieces.pause().await;
        }
        rows.push(Block::new(self.schema.clone(), columns, found.len()));
        Ok(())
    }
}
