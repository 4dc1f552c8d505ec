//! `+ - * /` and their relatives over numbers, and over dates, times and intervals.

mod array;
mod clock;
mod decimal;
mod division;
mod monotonic;
mod number;
pub(crate) use number::as_result;
mod time;
mod tuple;
pub(crate) mod wide;

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result};

use super::simple::{Call, Function};
use crate::function::{BoundFunction, ScalarFunction};

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("plus", plus).with_halves(),
    &Function::new("minus", minus).with_halves(),
    &Function::new("multiply", |call| {
        call.arguments(2..=2)?;
        if let Some(bound) = super::states::bind_multiply(call)? {
            return Ok(bound);
        }
        wide_or(call, wide::Operation::Multiply, |call| number::multiply(&call.never_throws()))
    })
    .with_halves(),
    &Function::new("divide", |call| {
        wide_or(call, wide::Operation::Divide, |call| division::divide(&call.never_throws()))
    }),
    &Function::new("intDiv", |call| wide_or(call, wide::Operation::IntDiv, division::int_div)).with_halves(),
    &Function::new("intDivOrZero", |call| wide_or(call, wide::Operation::IntDivOrZero, division::int_div_or_zero)),
    &Function::new("modulo", |call| wide_or(call, wide::Operation::Modulo, division::modulo)),
    &Function::new("moduloLegacy", |call| wide_or(call, wide::Operation::Modulo, division::modulo_legacy)),
    &Function::new("moduloOrZero", |call| wide_or(call, wide::Operation::ModuloOrZero, division::modulo_or_zero))
        .never_throws(),
    &Function::new("positiveModulo", |call| wide_or(call, wide::Operation::PositiveModulo, division::positive_modulo)),
    &Function::new("negate", |call| match tuple::bind(call)? {
        Some(bound) => Ok(bound),
        None => number::negate(call),
    })
    .never_throws(),
    &Function::new("abs", number::abs).never_throws(),
    &Function::new("gcd", |call| wide_or(call, wide::Operation::Gcd, number::gcd)),
    &Function::new("lcm", |call| wide_or(call, wide::Operation::Lcm, number::lcm)),
    &Function::new("min2", number::min2).never_throws(),
    &Function::new("max2", number::max2).never_throws(),
];

/// The operation over wide integers or decimals where an argument is one, otherwise over numbers.
fn wide_or(
    call: &Call<'_>,
    operation: wide::Operation,
    of_numbers: fn(&Call<'_>) -> Result<Arc<dyn BoundFunction>>,
) -> Result<Arc<dyn BoundFunction>> {
    if let Some(bound) = of_parts(call)? {
        return Ok(bound);
    }
    match wide::bind(call, operation)? {
        Some(bound) => Ok(bound),
        None => of_numbers(call),
    }
}

/// The operation over tuples or arrays, where an argument is one.
fn of_parts(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    match tuple::bind(call)? {
        Some(bound) => Ok(Some(bound)),
        None => array::bind(call),
    }
}

fn plus(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    if let Some(bound) = super::states::bind_plus(call)? {
        return Ok(bound);
    }
    if let Some(bound) = clock::plus(call)? {
        return Ok(bound);
    }
    if let Some(bound) = of_parts(call)? {
        return Ok(bound);
    }
    if let Some(bound) = time::plus(call)? {
        return Ok(bound);
    }
    if let Some(bound) = wide::bind(call, wide::Operation::Plus)? {
        return Ok(bound);
    }
    number::plus(&call.never_throws())
}

fn minus(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    if let Some(bound) = clock::minus(call)? {
        return Ok(bound);
    }
    if let Some(bound) = of_parts(call)? {
        return Ok(bound);
    }
    if let Some(bound) = time::minus(call)? {
        return Ok(bound);
    }
    if let Some(bound) = wide::bind(call, wide::Operation::Minus)? {
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
        let is_number = data_type.is_number()
            || *data_type == DataType::BFloat16
            || matches!(data_type, DataType::Bool | DataType::IPv4);
        is_number.then_some(())?;
        let is_float = data_type.is_float() || *data_type == DataType::BFloat16;
        Some(Self {
            is_signed: data_type.is_signed_integer() || is_float,
            is_float,
            // A `BFloat16` has two bytes, though its column has those of `Float32`.
            bytes: if *data_type == DataType::BFloat16 { 2 } else { data_type.fixed_width_bytes()? },
        })
    }

    /// The shape of a number of any width that is no decimal; `Bool` is `UInt8`.
    pub fn of_any(data_type: &DataType) -> Option<Self> {
        if !data_type.is_wide_integer() {
            return Self::of(data_type);
        }
        let (is_signed, bytes) = (data_type.is_any_signed_integer(), data_type.fixed_width_bytes()?);
        Some(Self { is_signed, is_float: false, bytes })
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
            (_, false, 8) => DataType::UInt64,
            (_, false, 16) => DataType::UInt128,
            (_, false, _) => DataType::UInt256,
            (_, true, 1) => DataType::Int8,
            (_, true, 2) => DataType::Int16,
            (_, true, 4) => DataType::Int32,
            (_, true, 8) => DataType::Int64,
            (_, true, 16) => DataType::Int128,
            (_, true, _) => DataType::Int256,
        }
    }

    /// Twice the width, up to 64 bits.
    pub fn next(self) -> Self {
        Self { bytes: if self.bytes < 8 { self.bytes * 2 } else { self.bytes }, ..self }
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
