//! Random numbers: uniform bits, and a few distributions.

use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt8Type, UInt32Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

use super::generator::Generator;

/// The argument of `rand(x)` only keeps calls apart.
pub(super) fn resolve32(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=1)?;
    call.bind(DataType::UInt32, |_, rows| {
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, Generator::of_thread().halves(rows)))
    })
}

pub(super) fn resolve64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=1)?;
    call.bind(DataType::UInt64, |_, rows| {
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, Generator::of_thread().numbers(rows)))
    })
}

/// One number through a whole query.
pub(super) fn resolve_constant(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=1)?;
    call.context.moment.note();
    let value = Value::UInt64(Generator::of_thread().next() >> 32);
    call.bind(DataType::UInt32, move |_, rows| Column::constant(DataType::UInt32, &value, rows))
}

pub(super) fn resolve_canonical(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=1)?;
    call.bind(DataType::Float64, |_, rows| {
        let mut generator = Generator::of_thread();
        let values = (0..rows).map(|_| generator.canonical()).collect();
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
    })
}

/// A sample of the standard normal distribution (Box and Muller, 1958).
fn normal(generator: &mut Generator) -> f64 {
    let radius = (-2.0 * (1.0 - generator.canonical()).ln()).sqrt();
    radius * (std::f64::consts::TAU * generator.canonical()).cos()
}

pub(super) fn resolve_distribution(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let parameters = if matches!(call.name, "randExponential" | "randBernoulli") { 1 } else { 2 };
    // One more argument only keeps calls apart.
    call.arguments(parameters..=parameters + 1)?;
    let parameter = |at: usize| {
        if !call.type_of(at).is_number() {
            return Err(call.illegal(at));
        }
        call.constant(at).and_then(Value::as_f64).ok_or_else(|| {
            Error::new(ErrorCode::ILLEGAL_COLUMN, format!("Parameters of function {} must be constant", call.name))
        })
    };
    let first = parameter(0)?;
    let second = if parameters > 1 { parameter(1)? } else { 0.0 };
    let bad = |what: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("{what} of function {}", call.name)));
    type Sample = fn(&mut Generator, f64, f64) -> f64;
    let sample: Sample = match call.name {
        "randUniform" if first >= second => return bad("The lower bound must be below the upper bound"),
        "randUniform" => |generator, low, high| low + (high - low) * generator.canonical(),
        "randExponential" if first <= 0.0 => return bad("The rate must be positive"),
        "randExponential" => |generator, rate, _| -(1.0 - generator.canonical()).ln() / rate,
        "randBernoulli" if !(0.0..=1.0).contains(&first) => return bad("The probability must be from 0 to 1"),
        "randBernoulli" => |generator, probability, _| f64::from(u8::from(generator.canonical() < probability)),
        _ if second <= 0.0 => return bad("The deviation must be positive"),
        "randNormal" => |generator, mean, deviation| mean + deviation * normal(generator),
        _ => |generator, mean, deviation| (mean + deviation * normal(generator)).exp(),
    };
    let return_type = if call.name == "randBernoulli" { DataType::UInt8 } else { DataType::Float64 };
    call.bind(return_type.clone(), move |_, rows| {
        let mut generator = Generator::of_thread();
        let values = (0..rows).map(|_| sample(&mut generator, first, second));
        Ok(match return_type {
            DataType::UInt8 => {
                Column::from_primitive::<UInt8Type>(DataType::UInt8, values.map(|value| value as u8).collect())
            }
            _ => Column::from_primitive::<Float64Type>(DataType::Float64, values.collect()),
        })
    })
}
