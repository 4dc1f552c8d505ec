//! Aggregate functions over arguments of types that they take for others: decimals and integers past 64 bits for floats, truth
//! values for their numbers. Rows are cast on the way in.

use std::sync::Arc;

use squall_types::{CastOptions, Column, DataType, Result, cast};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};
use crate::aggregate::adapted::{Adapted, Adapter};
use crate::aggregate::family::Call;

/// What settles a function's types.
type Resolve = fn(&Call<'_>) -> Result<Arc<dyn AggregateFunction>>;

/// Whether a type is turned into floats here.
fn is_wide(data_type: &DataType) -> bool {
    data_type.is_decimal() || data_type.is_wide_integer()
}

/// The function that `resolve` gives for floats in place of decimals and wide integers; `None` where there are none among the arguments.
pub(in crate::aggregate) fn resolve(call: &Call<'_>, resolve: Resolve) -> Result<Option<Arc<dyn AggregateFunction>>> {
    resolve_as(call, resolve, |argument| is_wide(argument).then_some(DataType::Float64))
}

/// The function that `resolve` gives for `UInt8` in place of `Bool`; `None` where there is none among the arguments.
pub(in crate::aggregate) fn resolve_truths(
    call: &Call<'_>,
    resolve: Resolve,
) -> Result<Option<Arc<dyn AggregateFunction>>> {
    resolve_as(call, resolve, |argument| (*argument == DataType::Bool).then_some(DataType::UInt8))
}

fn resolve_as(
    call: &Call<'_>,
    resolve: Resolve,
    other: fn(&DataType) -> Option<DataType>,
) -> Result<Option<Arc<dyn AggregateFunction>>> {
    if call.arguments.iter().all(|argument| other(argument).is_none()) {
        return Ok(None);
    }
    let types: Arc<[DataType]> =
        call.arguments.iter().map(|argument| other(argument).unwrap_or_else(|| argument.clone())).collect();
    let function = resolve(&Call { arguments: &types, ..*call })?;
    Ok(Some(Arc::new(AsOthers { function, types })))
}

#[derive(Debug)]
struct AsOthers {
    function: Arc<dyn AggregateFunction>,
    /// What the arguments are cast to.
    types: Arc<[DataType]>,
}

impl AggregateFunction for AsOthers {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Adapted::boxed(self.function.accumulator(), ToTypes(self.types.clone()))
    }
}

#[derive(Clone)]
struct ToTypes(Arc<[DataType]>);

impl Adapter for ToTypes {
    fn update(
        &self,
        nested: &mut dyn Accumulator,
        group_ids: GroupIds<'_>,
        groups: usize,
        arguments: &[Column],
        rows: usize,
    ) -> Result<()> {
        let options = CastOptions::default();
        let arguments = arguments.iter().zip(self.0.iter()).map(|(column, to)| cast(column, to, &options));
        nested.update(group_ids, groups, &arguments.collect::<Result<Vec<_>>>()?, rows)
    }
}
