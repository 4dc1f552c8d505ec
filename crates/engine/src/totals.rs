//! The row of WITH TOTALS on its way to the client: it comes from an aggregation and passes what computes columns (projections, ARRAY JOIN,
//! windows, joins); what chooses or orders rows leaves it alone, and another aggregation ends its way.

use std::sync::Arc;

use parking_lot::Mutex;
use squall_planner::{Expression, Join, Plan, Window};
use squall_types::{Block, Column, ColumnBuilder, Result, Schema, Value, default_value};

use crate::operator::Operator;
use crate::window::compute_rows;

/// Where an aggregation leaves its totals when all its rows have come.
#[derive(Default)]
pub(crate) struct TotalsRow(Mutex<Option<Block>>);

impl TotalsRow {
    pub(crate) fn set(&self, row: Block) {
        *self.0.lock() = Some(row);
    }
}

/// How a plan's totals come about.
pub(crate) enum Totals {
    /// They are an aggregation's.
    Of(Arc<TotalsRow>),
    /// They go through an operator that computes columns.
    Through(Box<Self>, Arc<dyn Operator>),
    /// Functions of a window are computed over the one row.
    Windowed(Box<Self>, Arc<Window>),
    /// The row of either side of a join; a side without totals gives defaults, and what is constant.
    Joined { left: Option<Box<Self>>, right: Option<Box<Self>>, columns: Arc<JoinedColumns> },
}

/// Which columns of either side a join's row has.
pub(crate) struct JoinedColumns {
    left: Vec<JoinedColumn>,
    right: Vec<JoinedColumn>,
    schema: Arc<Schema>,
}

/// A column of one side: its position there, and the value that it has in every row, where there is one.
type JoinedColumn = (usize, Option<Value>);

impl Totals {
    /// The totals of a join whose sides have these.
    pub(crate) fn of_join(left: Option<Self>, right: Option<Self>, join: &Join) -> Option<Self> {
        if left.is_none() && right.is_none() {
            return None;
        }
        let of_side = |plan: &Plan, columns: &[usize]| -> Vec<JoinedColumn> {
            columns.iter().map(|column| (*column, constant_of(plan, *column))).collect()
        };
        let columns = JoinedColumns {
            left: of_side(&join.left, &join.left_columns),
            right: of_side(&join.right, &join.right_columns),
            schema: join.schema.clone(),
        };
        Some(Self::Joined { left: left.map(Box::new), right: right.map(Box::new), columns: Arc::new(columns) })
    }

    /// The row; `None` where the aggregation has not come to its end, and where nothing is left of the row.
    ///
    /// # Errors
    /// The functions' own.
    pub(crate) fn row(&self) -> Result<Option<Block>> {
        match self {
            Self::Of(row) => Ok(row.0.lock().clone()),
            Self::Through(below, operator) => match below.row()? {
                Some(row) => Ok(operator.execute(row)?.filter(|rows| !rows.is_empty()).map(|rows| rows.slice(0, 1))),
                None => Ok(None),
            },
            Self::Windowed(below, window) => match below.row()? {
                Some(row) => compute_rows(window, row).map(Some),
                None => Ok(None),
            },
            Self::Joined { left, right, columns } => {
                let row_of = |side: &Option<Box<Self>>| match side {
                    Some(totals) => totals.row(),
                    None => Ok(None),
                };
                let (left, right) = (row_of(left)?, row_of(right)?);
                if left.is_none() && right.is_none() {
                    return Ok(None);
                }
                columns.row(left.as_ref(), right.as_ref()).map(Some)
            }
        }
    }
}

impl JoinedColumns {
    fn row(&self, left: Option<&Block>, right: Option<&Block>) -> Result<Block> {
        let of_left = self.left.iter().map(|column| (left, column));
        let of_right = self.right.iter().map(|column| (right, column));
        let columns =
            of_left.chain(of_right).zip(self.schema.types()).map(|((side, (column, constant)), data_type)| {
                let value = match (side, constant) {
                    (Some(row), _) => row.column(*column).value(0),
                    (None, Some(constant)) => constant.clone(),
                    (None, None) => default_value(data_type),
                };
                let mut builder = ColumnBuilder::new(data_type.clone());
                builder.append(&value)?;
                builder.finish()
            });
        Ok(Block::new(self.schema.clone(), columns.collect::<Result<Vec<Column>>>()?, 1))
    }
}

/// The value of a plan's column, where it is one constant.
fn constant_of(plan: &Plan, column: usize) -> Option<Value> {
    match plan {
        Plan::Values { blocks, .. } => match &blocks[..] {
            [block] if block.rows() == 1 => block.columns().get(column).map(|column| column.value(0)),
            _ => None,
        },
        Plan::Project { input, expressions, .. } => match expressions.get(column)? {
            Expression::Constant { value, .. } => Some(value.clone()),
            Expression::Column { position, .. } => constant_of(input, *position),
            _ => None,
        },
        Plan::Filter { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => constant_of(input, column),
        _ => None,
    }
}
