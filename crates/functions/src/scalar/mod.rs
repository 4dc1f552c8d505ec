//! Scalar functions, a module per family. Each has a list `FUNCTIONS` of what it holds; the registry joins them.

mod arithmetic;
mod bitwise;
mod comparison;
mod conditional;
mod conversion;
mod kernel;
mod logic;
mod null;
mod order;
pub(crate) mod set;
mod date_time;
mod simple;
mod string;
mod tuple;

use crate::function::ScalarFunction;

/// The lists of all modules.
pub(crate) const MODULES: &[&[&dyn ScalarFunction]] = &[
    arithmetic::FUNCTIONS,
    bitwise::FUNCTIONS,
    comparison::FUNCTIONS,
    conditional::FUNCTIONS,
    conversion::CONVERSIONS,
    conversion::FUNCTIONS,
    conversion::INTERVALS,
    conversion::REINTERPRETATIONS,
    logic::FUNCTIONS,
    null::FUNCTIONS,
    set::FUNCTIONS,
    date_time::FUNCTIONS, string::FUNCTIONS,
    tuple::FUNCTIONS,
];
