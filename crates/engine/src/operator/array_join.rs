//! One row per item of arrays that advance together.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray, UInt32Array};
use arrow_buffer::NullBuffer;
use squall_planner::Expression;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema};

use super::Operator;
use crate::evaluate::evaluate;

/// `ARRAY JOIN`: the input's columns repeated, then one column per array.
pub struct ArrayJoin {
    arrays: Vec<Expression>,
    is_left: bool,
    schema: Arc<Schema>,
}

impl ArrayJoin {
    /// A join of `arrays` to `schema`.
    pub fn new(arrays: Vec<Expression>, is_left: bool, schema: Arc<Schema>) -> Self {
        Self { arrays, is_left, schema }
    }
}

impl Operator for ArrayJoin {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let columns =
            self.arrays.iter().map(|array| evaluate(array, &block)?.materialize()).collect::<Result<Vec<_>>>()?;
        let lists = columns.iter().map(as_list).collect::<Result<Vec<_>>>()?;
        let Some(first) = lists.first() else { return Ok(Some(block)) };
        let mut repeated = Vec::new();
        // Positions of items within each list's values; a row that LEFT keeps without items has none.
        let mut items: Vec<Vec<Option<u32>>> = vec![Vec::new(); lists.len()];
        for row in 0..block.rows() {
            let length = first.value_length(row);
            if lists.iter().any(|list| list.value_length(row) != length) {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    "Sizes of ARRAY-JOIN-ed arrays do not match",
                ));
            }
            if length == 0 && self.is_left {
                repeated.push(row as u32);
                items.iter_mut().for_each(|items| items.push(None));
            }
            for (list, items) in lists.iter().zip(&mut items) {
                let start = list.value_offsets()[row] as u32;
                items.extend((0..length as u32).map(|at| Some(start + at)));
            }
            repeated.extend(std::iter::repeat_n(row as u32, length as usize));
        }
        let rows = repeated.len();
        let mut output = block.take(&UInt32Array::from(repeated))?.into_columns();
        for (at, (list, items)) in lists.iter().zip(items).enumerate() {
            let data_type = self.schema.fields[block.columns().len() + at].1.clone();
            let values = Column::new(data_type, list.values().clone());
            output.push(take_or_default(&values, &UInt32Array::from(items))?);
        }
        Ok(Some(Block::new(self.schema.clone(), output, rows)))
    }

    fn name(&self) -> &'static str {
        "ArrayJoinTransform"
    }
}

fn as_list(column: &Column) -> Result<&ListArray> {
    match column.data_type() {
        DataType::Array(_) | DataType::Map(..) => Ok(column.array().as_list::<i32>()),
        other => Err(Error::new(ErrorCode::TYPE_MISMATCH, format!("ARRAY JOIN requires array argument, not {other}"))),
    }
}

/// The values at positions, the type's default where there is no position.
fn take_or_default(values: &Column, positions: &UInt32Array) -> Result<Column> {
    let Some(missing) = positions.nulls().filter(|nulls| nulls.null_count() > 0) else { return values.take(positions) };
    let default = Column::default_values(values.data_type().clone(), 1)?;
    let all = Column::concat(&[values.clone(), default])?;
    let default_at = values.rows() as u32;
    let filled = positions.values().iter().enumerate();
    let filled: Vec<u32> =
        filled.map(|(row, position)| if is_valid(missing, row) { *position } else { default_at }).collect();
    all.take(&UInt32Array::from(filled))
}

fn is_valid(nulls: &NullBuffer, row: usize) -> bool {
    nulls.is_valid(row)
}
