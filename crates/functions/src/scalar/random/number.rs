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

/// `randBinomial`, `randChiSquared`, `randFisherF`, `randNegativeBinomial`, `randPoisson`, `randStudentT`: `rand_distr` draws.
pub(super) fn resolve_drawn(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    use rand_distr::{Binomial, ChiSquared, Distribution, FisherF, Gamma, Poisson, StudentT};
    let parameters = if matches!(call.name, "randChiSquared" | "randStudentT" | "randPoisson") { 1 } else { 2 };
    call.arguments(parameters..=parameters + 1)?;
    call.each(0..parameters, DataType::is_number)?;
    let parameter = |at: usize| {
        call.constant(at).and_then(Value::as_f64).ok_or_else(|| {
            Error::new(ErrorCode::ILLEGAL_COLUMN, format!("Parameters of function {} must be constant", call.name))
        })
    };
    let first = parameter(0)?;
    let second = if parameters > 1 { parameter(1)? } else { 0.0 };
    let bad = || Error::new(ErrorCode::BAD_ARGUMENTS, format!("Parameters of function {} are out of range", call.name));
    type Draw = Box<dyn Fn(&mut rand::rngs::ThreadRng) -> f64 + Send + Sync>;
    let draw: Draw = match call.name {
        "randBinomial" => {
            let drawn = Binomial::new(first.max(0.0) as u64, second).map_err(|_| bad())?;
            Box::new(move |random| drawn.sample(random) as f64)
        }
        "randNegativeBinomial" => {
            // A Poisson distribution whose rate is of a gamma distribution.
            if !(second > 0.0 && second <= 1.0) {
                return Err(bad());
            }
            let rates = Gamma::new(first, (1.0 - second) / second).map_err(|_| bad())?;
            Box::new(move |random| {
                let rate: f64 = rates.sample(random);
                Poisson::new(rate.max(f64::MIN_POSITIVE)).map_or(0.0, |drawn| drawn.sample(random))
            })
        }
        "randPoisson" => {
            let drawn = Poisson::new(first).map_err(|_| bad())?;
            Box::new(move |random| drawn.sample(random))
        }
        "randChiSquared" => {
            let drawn = ChiSquared::new(first).map_err(|_| bad())?;
            Box::new(move |random| drawn.sample(random))
        }
        "randStudentT" => {
            let drawn = StudentT::new(first).map_err(|_| bad())?;
            Box::new(move |random| drawn.sample(random))
        }
        _ => {
            let drawn = FisherF::new(first, second).map_err(|_| bad())?;
            Box::new(move |random| drawn.sample(random))
        }
    };
    let is_count = matches!(call.name, "randBinomial" | "randNegativeBinomial" | "randPoisson");
    let return_type = if is_count { DataType::UInt64 } else { DataType::Float64 };
    call.bind(return_type.clone(), move |_, rows| {
        squall_types::checkpoint(64 * rows)?;
        let mut random = rand::rng();
        let values = (0..rows).map(|_| draw(&mut random));
        Ok(match return_type {
            DataType::UInt64 => {
                Column::from_primitive::<UInt64Type>(return_type.clone(), values.map(|v| v as u64).collect())
            }
            _ => Column::from_primitive::<Float64Type>(return_type.clone(), values.collect()),
        })
    })
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
