//! Scalar, aggregate and table functions with ClickHouse's names and typing rules, in one registry. Knows types and blocks; knows
//! neither plans nor tables.

pub mod accumulator;
mod aggregate;
mod defaults;
pub mod function;
mod names;
pub mod registry;
mod scalar;

pub use accumulator::{Accumulator, AggregateFunction, GroupIds};
pub use function::{Argument, BoundFunction, Defaults, FunctionContext, ScalarFunction};
pub use registry::{
    FunctionDescription, aggregate_exists, all_functions, canonical_name, edit_distance, resolve_aggregate,
    resolve_scalar, scalar_exists, unknown_function,
};
pub use scalar::set::in_set;
