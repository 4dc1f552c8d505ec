//! Operators over arrays: sums and differences item by item, and each item with a number.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::{Column, DataType, Result, checkpoint, reserve};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::array::{Lists, list_column};
use crate::scalar::simple::{Call, argument};

/// What a function does with arrays; `None` where no argument is one that it takes.
pub(super) fn bind(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    if call.arguments.len() != 2 {
        return Ok(None);
    }
    let is_number = |data_type: &DataType| data_type.is_any_number() || *data_type == DataType::Bool;
    let is_by_number =
        matches!(call.name, "multiply" | "divide" | "intDiv" | "intDivOrZero" | "modulo" | "positiveModulo");
    let (left, right) = match (call.type_of(0), call.type_of(1)) {
        (DataType::Array(left), DataType::Array(right)) if matches!(call.name, "plus" | "minus") => (&**left, &**right),
        (DataType::Array(item), number) if is_by_number && is_number(number) => (&**item, number),
        (number, DataType::Array(item)) if is_by_number && is_number(number) => (number, &**item),
        _ => return Ok(None),
    };
    // No function of items that are NULL, or that there are not.
    if [left, right].iter().any(|side| side.is_nullable() || **side == DataType::Nothing) {
        return Ok(None);
    }
    let of_items = resolve_scalar(call.name, &[Argument::of(left.clone()), Argument::of(right.clone())], call.context)?;
    let item = of_items.return_type().clone();
    let name = call.name;
    let bound = call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let sides = [Side::of(argument(arguments, 0)?)?, Side::of(argument(arguments, 1)?)?];
        if let [Side::Lists(left), Side::Lists(right)] = &sides {
            left.check_lengths(right, rows, || format!("Two arguments for function {name} must have equal sizes"))?;
        }
        let mut ends: Vec<i32> = Vec::with_capacity(rows + 1);
        ends.push(0);
        let mut count = 0;
        for row in 0..rows {
            count += sides.iter().find_map(|side| side.length(row)).unwrap_or_default();
            ends.push(i32::try_from(count).unwrap_or(i32::MAX));
        }
        let items = sides.iter().map(|side| side.items(&ends, count)).collect::<Result<Vec<Column>>>()?;
        list_column(&item, ends, of_items.execute(&items, count)?.to_array()?)
    })?;
    Ok(Some(bound))
}

/// An argument: arrays, or numbers that every item of a row's array meets.
enum Side {
    Lists(Lists),
    Numbers(Column),
}

impl Side {
    fn of(column: &Column) -> Result<Self> {
        match column.data_type() {
            DataType::Array(_) => Lists::of_column(column).map(Self::Lists),
            _ => Ok(Self::Numbers(column.clone())),
        }
    }

    /// The number of a row's items, where this side has them.
    fn length(&self, row: usize) -> Option<usize> {
        match self {
            Self::Lists(lists) => Some(lists.range(row).len()),
            Self::Numbers(_) => None,
        }
    }

    /// A value for each item of all rows, whose items end there.
    fn items(&self, ends: &[i32], count: usize) -> Result<Column> {
        if let Self::Numbers(number) = self
            && number.is_constant()
        {
            return Ok(Column::repeat(number, count));
        }
        checkpoint(2 * count)?;
        reserve(count * size_of::<u32>())?;
        let mut positions: Vec<u32> = Vec::with_capacity(count);
        for (row, pair) in ends.windows(2).enumerate() {
            match self {
                Self::Lists(lists) => positions.extend(lists.range(row).map(|at| at as u32)),
                Self::Numbers(_) => positions.extend((pair[0]..pair[1]).map(|_| row as u32)),
            }
        }
        let positions = UInt32Array::from(positions);
        match self {
            Self::Lists(lists) => lists.items.take(&positions),
            Self::Numbers(numbers) => numbers.take(&positions),
        }
    }
}
