//! What columns hold in rows for which an input gave no value: their DEFAULT.

use std::sync::Arc;

use arrow_array::{BooleanArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use squall_files::Defaults;
use squall_formats::{InputBlock, Omitted};
use squall_planner::{ColumnDescription, Expression, PlannerContext, evaluate, plan_defaults};
use squall_types::{Block, Column, Result, Schema};

/// The block with omitted values computed, for their rows alone. `defaults` are expressions over its columns, in an order in which each
/// finds the ones that it needs.
pub(in crate::query) fn filled(
    defaults: &[(usize, Expression)],
    input: InputBlock,
    schema: &Arc<Schema>,
) -> Result<Block> {
    let InputBlock { mut block, omitted } = input;
    for (at, expression) in defaults {
        let column = match omitted.get(*at) {
            None | Some(Omitted::None) => continue,
            Some(Omitted::All) => evaluate(expression, &block)?.materialize()?,
            Some(Omitted::Rows(rows)) => {
                let mask = BooleanArray::new(rows.clone(), None);
                let default = evaluate(expression, &block.filter(&mask)?)?.materialize()?;
                replaced(block.column(*at), rows, default)?
            }
        };
        let mut columns = block.columns().to_vec();
        if let Some(place) = columns.get_mut(*at) {
            *place = column;
        }
        block = Block::new(schema.clone(), columns, block.rows());
    }
    Ok(block)
}

/// The column with these values in the rows whose bit is set.
fn replaced(column: &Column, rows: &BooleanBuffer, values: Column) -> Result<Column> {
    let both = Column::concat(&[column.materialize()?, values])?;
    let mut next = column.rows() as u32;
    let positions = rows.iter().enumerate().map(|(row, is_replaced)| {
        next += u32::from(is_replaced);
        if is_replaced { next - 1 } else { row as u32 }
    });
    both.take(&UInt32Array::from_iter_values(positions))
}

/// The defaults of columns whose rows are in files.
#[derive(Debug)]
pub(in crate::query) struct TableDefaults {
    defaults: Vec<(usize, Expression)>,
    schema: Arc<Schema>,
}

impl TableDefaults {
    /// Those of declared columns; `None` where the types' defaults do.
    ///
    /// # Errors
    /// Those of the expressions.
    pub fn of(columns: &[ColumnDescription], planner: &PlannerContext<'_>) -> Result<Option<Arc<dyn Defaults>>> {
        let stored: Vec<usize> = (0..columns.len()).filter(|at| columns[*at].is_stored()).collect();
        let with_default = |at: &usize| columns[stored[*at]].default.is_some();
        let left_out: Vec<usize> = (0..stored.len()).filter(with_default).collect();
        if left_out.is_empty() {
            return Ok(None);
        }
        let defaults = plan_defaults(columns, &stored, &left_out, planner)?;
        let fields = stored.iter().map(|at| (columns[*at].name.clone(), columns[*at].data_type.clone()));
        Ok(Some(Arc::new(Self { defaults, schema: Arc::new(Schema::new(fields)) })))
    }
}

impl Defaults for TableDefaults {
    fn fill(&self, read: InputBlock) -> Result<Block> {
        filled(&self.defaults, read, &self.schema)
    }
}
