//! Scalar functions, a module per family. Each has a list `FUNCTIONS` of what it holds; the registry joins them.

mod address_bits;
pub(crate) mod alternatives;
pub(crate) mod arithmetic;
mod array;
mod beginnings;
mod bit_strings;
mod bitmap;
mod bits;
mod bitwise;
mod choice;
#[cfg_attr(not(feature = "collation"), path = "no_collation.rs")]
pub(crate) mod collation;
mod comparison;
mod conditional;
pub(crate) mod conversion;
mod date_time;
mod decimal;
mod encoding;
mod encryption;
mod extreme;
mod geo;
pub(crate) mod hash;
pub(crate) mod higher_order;
pub(crate) mod json;
mod kernel;
mod kql;
mod logic;
mod lookup;
mod map;
mod math;
mod null;
mod number;
mod numeric_vector;
mod order;
pub(crate) mod other;
pub(crate) mod random;
mod rounding;
mod series;
pub(crate) mod set;
mod sides;
mod simple;
mod statement;
mod states;
mod string;
pub(crate) mod text;
mod tuple;
mod vector;
mod wide_bits;
mod wide_comparison;

use crate::function::ScalarFunction;

/// The lists of all modules.
pub(crate) const MODULES: &[&[&dyn ScalarFunction]] = &[
    alternatives::FUNCTIONS,
    arithmetic::FUNCTIONS,
    decimal::FUNCTIONS,
    array::EMPTY,
    array::FUNCTIONS,
    bitmap::FUNCTIONS,
    bits::FUNCTIONS,
    bitwise::FUNCTIONS,
    choice::FUNCTIONS,
    collation::FUNCTIONS,
    comparison::FUNCTIONS,
    conditional::FUNCTIONS,
    conversion::CONVERSIONS,
    conversion::FUNCTIONS,
    conversion::INTERVALS,
    conversion::REINTERPRETATIONS,
    date_time::FUNCTIONS,
    encoding::FUNCTIONS,
    encryption::FUNCTIONS,
    extreme::FUNCTIONS,
    geo::FUNCTIONS,
    geo::H3,
    hash::FUNCTIONS,
    json::EITHER_CASE,
    json::FUNCTIONS,
    kql::FUNCTIONS,
    logic::FUNCTIONS,
    lookup::FUNCTIONS,
    lookup::TYPED,
    map::FUNCTIONS,
    math::FUNCTIONS,
    math::UNARY,
    null::FUNCTIONS,
    number::FUNCTIONS,
    numeric_vector::FUNCTIONS,
    other::FUNCTIONS,
    random::FUNCTIONS,
    rounding::FUNCTIONS,
    series::FUNCTIONS,
    set::FUNCTIONS,
    statement::FUNCTIONS,
    states::FUNCTIONS,
    string::FUNCTIONS,
    text::FUNCTIONS,
    tuple::FUNCTIONS,
    vector::FUNCTIONS,
];
