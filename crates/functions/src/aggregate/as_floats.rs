//! Aggregate functions that compute with floats, over arguments of types whose values are not held as such: decimals and integers
//! past 64 bits. Their rows become floats on the way in.

use std::sync::Arc;

use squall_types::{CastOptions, Column, DataType, Result, cast};

use super::adapted::{Adapted, Adapter};
use super::family::Call;
use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};

/// Whether a type is turned into floats here.
fn is_wide(data_type: &DataType) -> bool {
    data_type.is_decimal() || data_type.is_wide_integer()
}

/// The function that `resolve` gives for floats in place of decimals and wide integers; `None` where there are none among the arguments.
pub(super) fn resolve(
    call: &Call<'_>,
    resolve: fn(&Call<'_>) -> Result<Arc<dyn AggregateFunction>>,
) -> Result<Option<Arc<dyn AggregateFunction>>> {
    if !call.arguments.iter().any(is_wide) {
        return Ok(None);
    }
    let float = |argument: &DataType| if is_wide(argument) { DataType::Float64 } else { argument.clone() };
    let arguments: Vec<DataType> = call.arguments.iter().map(float).collect();
    let function = resolve(&Call { arguments: &arguments, ..*call })?;
    Ok(Some(Arc::new(AsFloats { function })))
}

#[derive(Debug)]
struct AsFloats {
    function: Arc<dyn AggregateFunction>,
}

impl AggregateFunction for AsFloats {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Adapted::boxed(self.function.accumulator(), ToFloats)
    }
}

#[derive(Clone, Copy)]
struct ToFloats;

impl Adapter for ToFloats {
    fn update(
        &self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let options = CastOptions::default();
        let float = |column: &Column| match is_wide(column.data_type()) {
            true => cast(column, &DataType::Float64, &options),
            false => Ok(column.clone()),
        };
        let arguments = arguments.iter().map(float).collect::<Result<Vec<_>>>()?;
        nested.update(group_ids, groups, &arguments, rows)
    }
}
