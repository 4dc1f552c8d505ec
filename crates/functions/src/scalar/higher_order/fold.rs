//! `arrayFold`: the lambda takes what it gave for the item before. All rows go through their items in step: first the first items
//! of all rows, then the second ones.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::flat::Flat;
use super::item_types;
use crate::function::{Argument, FunctionContext};
use crate::higher_order::{BoundHigherOrder, HigherOrderFunction, Lambda};

pub(super) struct ArrayFold;

impl HigherOrderFunction for ArrayFold {
    fn name(&self) -> &'static str {
        "arrayFold"
    }

    fn parameters(&self, count: usize, arguments: &[Argument]) -> Result<Vec<DataType>> {
        let [arrays @ .., first] = arguments else { return Err(too_few()) };
        if arrays.is_empty() {
            return Err(too_few());
        }
        let mut types = vec![first.data_type.clone()];
        types.extend(item_types(self.name(), arrays)?);
        if count != types.len() {
            let found = vec!["?"; count].join(", ");
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "First argument of function arrayFold must be a lambda function with {} arguments, found \
                     Function({found} -> ?) instead",
                    types.len()
                ),
            ));
        }
        Ok(types)
    }

    fn resolve(
        &self,
        result: &DataType,
        arguments: &[Argument],
        _: &FunctionContext,
    ) -> Result<Arc<dyn BoundHigherOrder>> {
        let first = arguments.last().ok_or_else(too_few)?;
        if *result != first.data_type {
            return Err(Error::new(
                ErrorCode::TYPE_MISMATCH,
                format!(
                    "Return type of lambda function must be the same as the accumulator type, inferred return type of \
                     lambda: {result}, inferred type of accumulator: {}",
                    first.data_type
                ),
            ));
        }
        Ok(Arc::new(Bound(first.data_type.clone())))
    }
}

/// For a call without a lambda as well.
fn too_few() -> Error {
    Error::new(
        ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Function arrayFold requires as arguments a lambda function, at least one array and an accumulator",
    )
}

#[derive(Debug)]
struct Bound(DataType);

impl BoundHigherOrder for Bound {
    fn return_type(&self) -> &DataType {
        &self.0
    }

    fn may_throw(&self) -> bool {
        false
    }

    fn execute(&self, lambda: &dyn Lambda, arguments: &[Column], rows: usize) -> Result<Column> {
        let [arrays @ .., first] = arguments else { return Err(too_few()) };
        let (flat, items) = Flat::of("arrayFold", arrays, rows)?;
        // Rows with many items first: those that still have one are then always the first so many.
        let mut order: Vec<u32> = (0..rows as u32).collect();
        order.sort_by_key(|row| std::cmp::Reverse(flat.range(*row as usize).len()));
        let length = |row: &u32| flat.range(*row as usize).len();
        let mut values = first.materialize()?.take(&UInt32Array::from(order.clone()))?;
        // What rows that have no more items came to, the ones with the fewest first.
        let mut ended: Vec<Column> = Vec::new();
        let mut left = rows;
        for step in 0.. {
            let still = order[..left].partition_point(|row| length(row) > step);
            if still < left {
                ended.push(values.slice(still, left - still).materialize()?);
                left = still;
            }
            if left == 0 {
                break;
            }
            let positions: UInt32Array =
                order[..left].iter().map(|row| Some((flat.range(*row as usize).start + step) as u32)).collect();
            let mut inputs = vec![values.slice(0, left)];
            for items in &items {
                inputs.push(items.take(&positions)?);
            }
            values = lambda.call(&inputs, left, &|| UInt32Array::from(order[..left].to_vec()))?.materialize()?;
        }
        if rows == 0 {
            return Ok(Column::empty(self.0.clone()));
        }
        ended.reverse();
        let values = Column::concat(&ended)?;
        let mut place = vec![0u32; rows];
        order.iter().enumerate().for_each(|(at, row)| place[*row as usize] = at as u32);
        values.take(&UInt32Array::from(place))
    }
}
