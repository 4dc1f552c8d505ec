//! Addresses of IPv6 as the numbers of 128 bits that they are to functions of bits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, FixedSizeBinaryArray};
use squall_types::{Column, DataType, Result};

use super::simple::Call;
use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;

/// The same call over the numbers of addresses; `None` where no argument is one.
pub(super) fn bind(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    if call.arguments.iter().all(|argument| argument.data_type != DataType::IPv6) {
        return Ok(None);
    }
    if call.arguments.iter().any(|argument| argument.data_type == DataType::IPv4) {
        return Err(super::arithmetic::illegal_pair(call));
    }
    let described = call.arguments.iter().map(|argument| match argument.data_type {
        DataType::IPv6 => Argument::of(DataType::UInt128),
        _ => argument.clone(),
    });
    let function = resolve_scalar(call.name, &described.collect::<Vec<_>>(), call.context)?;
    let bound = call.bind(function.return_type().clone(), move |arguments, rows| {
        let numbers = arguments.iter().map(number).collect::<Result<Vec<_>>>()?;
        function.execute(&numbers, rows)
    })?;
    Ok(Some(bound))
}

/// The numbers of a column of addresses, whose first byte is the highest; another column as it is.
fn number(column: &Column) -> Result<Column> {
    if *column.data_type() != DataType::IPv6 {
        return Ok(column.clone());
    }
    let mut bytes: Vec<u8> = Vec::with_capacity(16 * column.array().len());
    for address in column.array().as_fixed_size_binary().iter() {
        bytes.extend(address.unwrap_or_default().iter().rev());
    }
    let numbers = Column::new(DataType::UInt128, Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?));
    Ok(if column.is_constant() { Column::repeat(&numbers, column.rows()) } else { numbers })
}
