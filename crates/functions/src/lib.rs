//! Scalar, aggregate and table functions with ClickHouse's names and typing rules, in one registry. Knows types and blocks; knows
//! neither plans nor tables.

pub mod accumulator;
pub mod function;

pub use accumulator::{Accumulator, AggregateFunction, GroupIds};
pub use function::{Argument, BoundFunction, Defaults, FunctionContext, ScalarFunction};
