//! `+ - * /` and their relatives over numbers, and over dates, times and intervals.

mod division;
mod number;
pub(crate) use number::as_result;
mod time;

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result};

use super::simple::{Call, Function};
use crate::function::{BoundFunction, ScalarFunction};

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("plus", plus),
    &Function::new("minus", minus),
    &Function::new("multiply", number::multiply).never_throws(),
    &Function::new("divide", division::divide).never_throws(),
    &Function::new("intDiv", division::int_div),
    &Function::new("intDivOrZero", division::int_div_or_zero),
    &Function::new("modulo", division::modulo),
    &Function::new("moduloOrZero", division::modulo_or_zero).never_throws(),
    &Function::new("positiveModulo", division::positive_modulo),
    &Function::new("negate", number::negate).never_throws(),
    &Function::new("abs", number::abs).never_throws(),
    &Function::new("gcd", number::gcd),
    &Function::new("lcm", number::lcm),
    &Function::new("min2", number::min2).never_throws(),
    &Function::new("max2", number::max2).never_throws(),
];

fn plus(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    if let Some(bound) = time::plus(call)? {
        return Ok(bound);
    }
    number::plus(&call.never_throws())
}

fn minus(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    if let Some(bound) = time::minus(call)? {
        return Ok(bound);
    }
    number::minus(&call.never_throws())
}

/// `ILLEGAL_TYPE_OF_ARGUMENT` for two arguments.
pub(super) fn illegal_pair(call: &Call<'_>) -> Error {
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!("Illegal types {} and {} of arguments of function {}", call.type_of(0), call.type_of(1), call.name),
    )
}

/// What the types of numeric results are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub is_signed: bool,
    pub is_float: bool,
    pub bytes: usize,
}

impl Shape {
    /// The shape of a number; `Bool` is `UInt8`, `IPv4` is `UInt32`.
    pub fn of(data_type: &DataType) -> Option<Self> {
        let is_number = data_type.is_number() || matches!(data_type, DataType::Bool | DataType::IPv4);
        is_number.then_some(())?;
        Some(Self {
            is_signed: data_type.is_signed_integer() || data_type.is_float(),
            is_float: data_type.is_float(),
            bytes: data_type.fixed_width_bytes()?,
        })
    }

    /// The shape of an argument that is a number by its name.
    pub fn of_number(call: &Call<'_>, at: usize) -> Result<Self> {
        let data_type = call.type_of(at);
        Self::of(data_type).filter(|_| *data_type != DataType::IPv4).ok_or_else(|| call.illegal(at))
    }

    /// The shapes of both arguments.
    pub fn pair(call: &Call<'_>) -> Result<(Self, Self)> {
        call.arguments(2..=2)?;
        match (Self::of(call.type_of(0)), Self::of(call.type_of(1))) {
            (Some(left), Some(right)) => Ok((left, right)),
            _ => Err(illegal_pair(call)),
        }
    }

    /// The type of this shape.
    pub fn data_type(self) -> DataType {
        match (self.is_float, self.is_signed, self.bytes) {
            (true, _, ..=4) => DataType::Float32,
            (true, ..) => DataType::Float64,
            (_, false, 1) => DataType::UInt8,
            (_, false, 2) => DataType::UInt16,
            (_, false, 4) => DataType::UInt32,
            (_, false, _) => DataType::UInt64,
            (_, true, 1) => DataType::Int8,
            (_, true, 2) => DataType::Int16,
            (_, true, 4) => DataType::Int32,
            (_, true, _) => DataType::Int64,
        }
    }

    /// Twice the width, as far as there is one.
    pub fn next(self) -> Self {
        Self { bytes: (self.bytes * 2).min(8), ..self }
    }

    /// The wider of two, signed or float where either is.
    pub fn join(self, other: Self) -> Self {
        Self {
            is_signed: self.is_signed || other.is_signed,
            is_float: self.is_float || other.is_float,
            bytes: self.bytes.max(other.bytes),
        }
    }
}
