//! Scalar functions, a module per family. Each has a list `FUNCTIONS` of what it holds; the registry joins them.

mod arithmetic;
mod array;
mod bitwise;
mod comparison;
mod conditional;
mod conversion;
mod date_time;
mod decimal;
mod extreme;
mod hash;
pub(crate) mod higher_order;
mod kernel;
mod logic;
mod lookup;
mod map;
mod math;
mod null;
mod order;
mod other;
mod random;
mod rounding;
pub(crate) mod set;
mod sides;
mod simple;
mod string;
mod tuple;
mod wide_bits;
mod wide_comparison;

use crate::function::ScalarFunction;

/// The lists of all modules.
pub(crate) const MODULES: &[&[&dyn ScalarFunction]] = &[
    arithmetic::FUNCTIONS,
    decimal::FUNCTIONS,
    array::EMPTY,
    array::FUNCTIONS,
    bitwise::FUNCTIONS,
    comparison::FUNCTIONS,
    conditional::FUNCTIONS,
    conversion::CONVERSIONS,
    conversion::FUNCTIONS,
    conversion::INTERVALS,
    conversion::REINTERPRETATIONS,
    date_time::FUNCTIONS,
    extreme::FUNCTIONS,
    hash::FUNCTIONS,
    logic::FUNCTIONS,
    lookup::FUNCTIONS,
    lookup::TYPED,
    map::FUNCTIONS,
    math::FUNCTIONS,
    math::UNARY,
    null::FUNCTIONS,
    other::FUNCTIONS,
    random::FUNCTIONS,
    rounding::FUNCTIONS,
    set::FUNCTIONS,
    string::FUNCTIONS,
    tuple::FUNCTIONS,
];
