//! The bits of integers as arrays: the powers of two that make a number, or the positions of its ones.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::kernel::as_type;
use crate::scalar::simple::{Call, Numbers};

type Bound = Result<Arc<dyn BoundFunction>>;

/// `bitmaskToArray(number)`: in the number's own type.
pub(super) fn resolve_powers(call: &Call<'_>) -> Bound {
    bind(call, call.type_of(0).clone(), |bit| 1 << bit)
}

/// `bitPositionsToArray(number)`.
pub(super) fn resolve_positions(call: &Call<'_>) -> Bound {
    bind(call, DataType::UInt64, |bit| bit)
}

fn bind(call: &Call<'_>, item: DataType, value: fn(u64) -> u64) -> Bound {
    call.arguments(1..=1)?;
    if !call.type_of(0).is_integer() && *call.type_of(0) != DataType::Bool {
        return Err(call.illegal(0));
    }
    let Some(width) = call.type_of(0).fixed_width_bytes().filter(|width| *width <= 8) else {
        return Err(call.illegal(0));
    };
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let arguments = as_type(arguments, &DataType::UInt64)?;
        let numbers = Numbers::<UInt64Type>::of(&arguments, 0)?;
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for row in 0..rows {
            let number = numbers.get(row);
            values.extend((0..8 * width as u64).filter(|bit| number >> bit & 1 == 1).map(value));
            ends.push(values.len() as i32);
        }
        let values = Column::from_primitive::<UInt64Type>(DataType::UInt64, values);
        let values = cast(&values, &item, &CastOptions::default())?;
        list_column(&item, ends, values.array().clone())
    })
}
