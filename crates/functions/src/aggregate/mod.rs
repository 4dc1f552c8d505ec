//! Aggregate functions: resolved by name, with combinators, against parameters and argument types.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

/// Own names of all aggregate functions, without combinators.
pub(crate) const NAMES: &[&str] = &[];

/// The aggregate function `name` for these parameters and arguments.
pub(crate) fn resolve(name: &str, _parameters: &[Value], _arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    Err(Error::new(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, format!("Unknown aggregate function {name}")))
}

/// Whether there is an aggregate function of this name, an alias of one, or one with combinators.
pub(crate) fn exists(name: &str) -> bool {
    NAMES.contains(&crate::registry::own_name(name))
}
