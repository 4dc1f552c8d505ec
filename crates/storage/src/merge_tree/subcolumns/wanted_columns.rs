//! Which columns and subcolumns a scan gives, and the scan that computes subcolumns of each block of the columns that they are of.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_planner::{Expression, Subcolumn};
use squall_types::{Block, Error, Result, Schema};

use crate::evaluate::evaluate;
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, TableScan};

/// What blocks of a scan are to be made of.
#[derive(Debug)]
pub struct WantedColumns {
    /// In the blocks' order, but for rows' numbers.
    pub(super) columns: Vec<WantedColumn>,
    /// The blocks' columns.
    pub(super) schema: Arc<Schema>,
}

/// A column of a scan's blocks. Positions are those among the columns that the request names.
#[derive(Clone, Debug)]
pub(in crate::merge_tree) enum WantedColumn {
    /// One of them.
    Column(usize),
    /// What is within one of them.
    Subcolumn {
        /// The one.
        of: usize,
        /// The path.
        path: Arc<str>,
        /// How it is computed.
        expression: Expression,
    },
}

impl WantedColumns {
    /// What a request for columns and subcolumns, which come behind the `own` columns of a table with these names and types, asks the
    /// table for.
    pub(super) fn request(request: &ScanRequest, fields: &Schema, subcolumns: &[Subcolumn]) -> ScanRequest {
        let own = fields.len();
        let mut columns: Vec<usize> = request.columns.iter().copied().filter(|column| *column < own).collect();
        let mut place = |column: usize| {
            columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            })
        };
        let mut wanted = Vec::with_capacity(request.columns.len());
        let mut expressions = Vec::with_capacity(request.columns.len());
        for (column, data_type) in request.columns.iter().zip(request.schema.types()) {
            let Some(subcolumn) = column.checked_sub(own).and_then(|at| subcolumns.get(at)) else {
                let at = place(*column);
                wanted.push(WantedColumn::Column(at));
                expressions.push(Expression::column(at, data_type));
                continue;
            };
            let of = place(subcolumn.column);
            let expression = subcolumn.expression.map_columns(&|_| of);
            expressions.push(expression.clone());
            wanted.push(WantedColumn::Subcolumn { of, path: subcolumn.path.clone(), expression });
        }
        let numbers = request.schema.fields.get(wanted.len()..).unwrap_or_default();
        let of_table = columns.iter().filter_map(|column| fields.fields.get(*column));
        ScanRequest {
            schema: Arc::new(Schema { fields: of_table.chain(numbers).cloned().collect() }),
            columns,
            predicate: request.predicate.as_ref().map(|predicate| predicate.substitute(&expressions)),
            bounds: request.bounds.iter().filter(|bound| bound.column < own).cloned().collect(),
            subcolumns: Some(Arc::new(Self { columns: wanted, schema: request.schema.clone() })),
            ..request.clone()
        }
    }

    /// The wanted columns of a block of those that the request names.
    fn of(&self, block: &Block) -> Result<Block> {
        let positions: Vec<Option<usize>> = (0..block.columns().len()).map(Some).collect();
        let numbers = block.columns().len() + self.columns.len() - self.schema.len();
        let column = |wanted: &WantedColumn| match wanted {
            WantedColumn::Column(at) => {
                block.columns().get(*at).cloned().ok_or_else(|| Error::logical("a column that was not read"))
            }
            WantedColumn::Subcolumn { expression, .. } => evaluate(expression, block, &positions),
        };
        let mut columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        columns.extend(block.columns().iter().skip(numbers).cloned());
        Ok(Block::new(self.schema.clone(), columns, block.rows()))
    }
}

/// A scan that computes subcolumns.
pub(in crate::merge_tree) struct ComputedSubcolumns {
    pub(in crate::merge_tree) scan: Arc<dyn TableScan>,
    pub(in crate::merge_tree) wanted: Arc<WantedColumns>,
}

impl TableScan for ComputedSubcolumns {
    fn rows_total(&self) -> Option<u64> {
        self.scan.rows_total()
    }

    fn selection(&self) -> ScanSelection {
        self.scan.selection()
    }

    fn take_left_out(&self) -> u64 {
        self.scan.take_left_out()
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        self.scan.claim(rows, waker)
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        self.scan.read(morsel, &mut |block| consume(self.wanted.of(&block)?))
    }
}
