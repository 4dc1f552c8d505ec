//! Functions of real numbers; they compute and answer in `Float64`.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int8Type, Int64Type, UInt8Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::kernel::{argument_as, as_type, binary, bytes_column, unary};
use super::simple::{Call, Function, argument};
use crate::function::{Argument, BoundFunction, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

macro_rules! math {
    ($($name:literal => $function:expr),* $(,)?) => {
        &[$(&Function::new($name, |call| bind_unary(call, $function)).never_throws()),*]
    };
}

/// Functions of one number.
pub(crate) const UNARY: &[&dyn ScalarFunction] = math!(
    "sqrt" => f64::sqrt,
    "cbrt" => f64::cbrt,
    "exp" => f64::exp,
    "exp2" => f64::exp2,
    "exp10" => libm::exp10,
    "log" => f64::ln,
    "log2" => f64::log2,
    "log10" => f64::log10,
    "log1p" => f64::ln_1p,
    "sin" => f64::sin,
    "cos" => f64::cos,
    "tan" => f64::tan,
    "asin" => f64::asin,
    "acos" => f64::acos,
    "atan" => f64::atan,
    "sinh" => f64::sinh,
    "cosh" => f64::cosh,
    "tanh" => f64::tanh,
    "asinh" => libm::asinh,
    "acosh" => libm::acosh,
    "atanh" => libm::atanh,
    "erf" => libm::erf,
    "erfc" => libm::erfc,
    "lgamma" => log_gamma,
    "tgamma" => libm::tgamma,
    "degrees" => f64::to_degrees,
    "radians" => f64::to_radians,
);

/// The others.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("pow", |call| bind_binary(call, f64::powf)).never_throws(),
    &Function::new("atan2", |call| bind_binary(call, f64::atan2)).never_throws(),
    &Function::new("hypot", |call| bind_binary(call, f64::hypot)).never_throws(),
    &Function::new("pi", |call| constant(call, std::f64::consts::PI)).never_throws(),
    &Function::new("e", |call| constant(call, std::f64::consts::E)).never_throws(),
    &Function::new("sign", sign).never_throws(),
    &Function::new("factorial", factorial),
    &Function::new("intExp2", |call| int_power(call, |exponent| 1u64.checked_shl(exponent))),
    &Function::new("intExp10", |call| int_power(call, |exponent| 10u64.checked_pow(exponent))),
    &Function::new("isNaN", |call| classify(call, f64::is_nan, false)).never_throws(),
    &Function::new("isFinite", |call| classify(call, f64::is_finite, true)).never_throws(),
    &Function::new("isInfinite", |call| classify(call, f64::is_infinite, false)).never_throws(),
    &Function::new("ifNotFinite", if_not_finite).with_nulls().never_throws(),
];

/// The logarithm of the gamma function, which has no value at the negative integers.
fn log_gamma(x: f64) -> f64 {
    if x < 0.0 && (x.is_infinite() || x.fract() == 0.0) { f64::NAN } else { libm::lgamma(x) }
}

fn check_number(call: &Call<'_>, at: usize) -> Result<()> {
    let data_type = call.type_of(at);
    if data_type.is_any_number() || *data_type == DataType::Bool { Ok(()) } else { Err(call.illegal(at)) }
}

fn bind_unary(call: &Call<'_>, function: fn(f64) -> f64) -> Bound {
    call.arguments(1..=1)?;
    check_number(call, 0)?;
    call.bind(DataType::Float64, move |arguments, rows| {
        unary::<Float64Type, Float64Type>(&DataType::Float64, &as_type(arguments, &DataType::Float64)?, rows, function)
    })
}

fn bind_binary(call: &Call<'_>, function: fn(f64, f64) -> f64) -> Bound {
    call.arguments(2..=2)?;
    check_number(call, 0)?;
    check_number(call, 1)?;
    for at in 0..2 {
        if call.type_of(at).is_wide_integer() {
            return Err(call.illegal(at));
        }
    }
    call.bind(DataType::Float64, move |arguments, rows| {
        let arguments = as_type(arguments, &DataType::Float64)?;
        binary::<Float64Type, Float64Type, Float64Type>(&DataType::Float64, &arguments, rows, function)
    })
}

fn constant(call: &Call<'_>, value: f64) -> Bound {
    call.arguments(0..=0)?;
    call.bind(DataType::Float64, move |_, rows| {
        Column::constant(DataType::Float64, &squall_types::Value::Float64(value), rows)
    })
}

fn sign(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    check_number(call, 0)?;
    call.bind(DataType::Int8, |arguments, rows| {
        let values = as_type(arguments, &DataType::Float64)?;
        unary::<Float64Type, Int8Type>(&DataType::Int8, &values, rows, |value| match value {
            0.0 => 0,
            _ if value < 0.0 => -1,
            // NaN as well.
            _ => 1,
        })
    })
}

fn factorial(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.integers([0])?;
    const LARGEST: i64 = 20;
    call.bind(DataType::UInt64, |arguments, rows| {
        let is_unsigned = argument(arguments, 0)?.data_type() == &DataType::UInt64;
        let values = [argument_as(arguments, 0, &DataType::Int64)?];
        let too_large = |value: i64| value > LARGEST || is_unsigned && value < 0;
        if values.iter().any(|column| {
            column.as_primitive::<Int64Type>().is_ok_and(|values| values.values().iter().any(|value| too_large(*value)))
        }) {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "The maximum argument's value for factorial is 20"));
        }
        unary::<Int64Type, UInt64Type>(&DataType::UInt64, &values, rows, |value| (1..=value.max(0) as u64).product())
    })
}

/// A power with a whole exponent, 0 below it and the greatest number past it.
fn int_power(call: &Call<'_>, power: fn(u32) -> Option<u64>) -> Bound {
    call.arguments(1..=1)?;
    check_number(call, 0)?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let values = as_type(arguments, &DataType::Float64)?;
        if values.iter().any(|column| {
            column.as_primitive::<Float64Type>().is_ok_and(|values| values.values().iter().any(|value| value.is_nan()))
        }) {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "An integer power must not be NaN"));
        }
        unary::<Float64Type, UInt64Type>(&DataType::UInt64, &values, rows, |value| {
            if value < 0.0 { 0 } else { power(value as u32).unwrap_or(u64::MAX) }
        })
    })
}

fn classify(call: &Call<'_>, test: fn(f64) -> bool, of_integers: bool) -> Bound {
    call.arguments(1..=1)?;
    check_number(call, 0)?;
    if super::sides::is_wide(call.type_of(0)) {
        return Err(call.illegal(0));
    }
    let is_float = call.type_of(0).is_float();
    call.bind(DataType::UInt8, move |arguments, rows| {
        if !is_float {
            return Ok(bytes_column(vec![u8::from(of_integers); rows]));
        }
        let values = as_type(arguments, &DataType::Float64)?;
        unary::<Float64Type, UInt8Type>(&DataType::UInt8, &values, rows, |value| u8::from(test(value)))
    })
}

/// `if(isFinite(x), x, other)`: a NULL is not finite.
fn if_not_finite(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let finite = resolve_scalar("isFinite", &call.arguments[..1], call.context)?;
    let mut arguments = vec![Argument::of(finite.return_type().clone())];
    arguments.extend(call.arguments.iter().map(|argument| Argument::of(argument.data_type.clone())));
    let choice = resolve_scalar("if", &arguments, call.context)?;
    call.bind(choice.return_type().clone(), move |arguments, rows| {
        let finite = finite.execute(&arguments[..1], rows)?;
        choice.execute(&[&[finite], arguments].concat(), rows)
    })
}
