//! Tests of means: Student's, Welch's, the one of a single sample, the z-test of known variances. Each keeps the numbers of values of
//! the samples, their sums, and their sums of squares.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

use super::distributions::{normal_quantile, normal_tail, student_quantile, student_tails};
use crate::aggregate::family::Call;
use crate::aggregate::results::{float_tuple, float_values};
use crate::aggregate::sums::float_sums::{self, FloatSums};

/// Names of the results, with the interval where its confidence is given.
fn return_type(statistic: &str, has_interval: bool) -> DataType {
    let names = [statistic, "p_value", "confidence_interval_low", "confidence_interval_high"];
    float_tuple(if has_interval { &names } else { &names[..2] })
}

/// The confidence that is asked for.
fn confidence(call: &Call<'_>, at: usize) -> Result<f64> {
    let wrong = |what: &str| {
        Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Confidence level parameter must be {what} in aggregate function {}.", call.name),
        )
    };
    let level = call.parameters.get(at).and_then(Value::as_f64).ok_or_else(|| wrong("a number"))?;
    if level > 0.0 && level < 1.0 { Ok(level) } else { Err(wrong("between 0 and 1")) }
}

pub(in crate::aggregate) fn resolve_t(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.numbers(2)?;
    let level = match call.parameters.len() {
        0 => None,
        1 => Some(confidence(call, 0)?),
        _ => return Err(call.wrong_parameters("zero or one parameter")),
    };
    let return_type = return_type("t_statistic", level.is_some());
    Ok(match call.name {
        "studentTTestOneSample" => float_sums::function(OneSample { return_type, level }),
        name => float_sums::function(TwoSamples { return_type, level, same_variance: name == "studentTTest" }),
    })
}

pub(in crate::aggregate) fn resolve_z(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.numbers(2)?;
    if call.parameters.len() != 3 {
        return Err(call.wrong_parameters("three parameter."));
    }
    let variances = [call.float_parameter(0)?, call.float_parameter(1)?];
    if variances.iter().any(|variance| *variance < 0.0) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Population variance parameters must be larger than zero in aggregate function {}.", call.name),
        ));
    }
    let return_type = return_type("z_statistic", true);
    Ok(float_sums::function(KnownVariances { return_type, variances, level: confidence(call, 2)? }))
}

/// Adds a value to the sample of the row: the first one where the index is 0.
fn add_to_sample(sums: &mut [f64], arguments: &[Vec<f64>], row: usize) {
    let (value, sample) = (arguments[0][row], usize::from(arguments[1][row] != 0.0));
    sums[sample] += 1.0;
    sums[2 + sample] += value;
    if let Some(squares) = sums.get_mut(4 + sample) {
        *squares += value * value;
    }
}

#[derive(Debug)]
struct TwoSamples {
    return_type: DataType,
    level: Option<f64>,
    /// Whether both samples are taken to have one variance.
    same_variance: bool,
}

impl FloatSums<6> for TwoSamples {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn add(&self, sums: &mut [f64; 6], arguments: &[Vec<f64>], row: usize) {
        add_to_sample(sums, arguments, row);
    }

    fn result(&self, [nx, ny, x, y, xx, yy]: &[f64; 6]) -> Result<Value> {
        let none = || Ok(float_values(&[f64::NAN; 4][..if self.level.is_some() { 4 } else { 2 }]));
        if self.same_variance && (*nx == 0.0 || *ny == 0.0 || nx + ny <= 2.0)
            || !self.same_variance && (*nx < 2.0 || *ny < 2.0)
        {
            return none();
        }
        let (mean_x, mean_y) = (x / nx, y / ny);
        let squares_x = xx + nx * mean_x * mean_x - 2.0 * mean_x * x;
        let squares_y = yy + ny * mean_y * mean_y - 2.0 * mean_y * y;
        let (squared_error, degrees) = if self.same_variance {
            let degrees = nx + ny - 2.0;
            ((squares_x + squares_y) / degrees * (1.0 / nx + 1.0 / ny), degrees)
        } else {
            let (x, y) = (squares_x / (nx - 1.0) / nx, squares_y / (ny - 1.0) / ny);
            let numerator = (x + y) * (x + y);
            (x + y, numerator / (x * x / (nx - 1.0) + y * y / (ny - 1.0)))
        };
        let (difference, error) = (mean_x - mean_y, squared_error.sqrt());
        let statistic = difference / error;
        if statistic.is_nan() || error == 0.0 {
            return none();
        }
        let p = student_tails(statistic.abs(), degrees);
        Ok(match self.level {
            None => float_values(&[statistic, p]),
            Some(level) => {
                // The interval is of the difference whose variances are not taken to be one.
                let (x, y) = (squares_x / (nx - 1.0) / nx, squares_y / (ny - 1.0) / ny);
                let half = student_quantile(1.0 - level, degrees) * (x + y).sqrt();
                float_values(&[statistic, p, difference - half, difference + half])
            }
        })
    }
}

#[derive(Debug)]
struct OneSample {
    return_type: DataType,
    level: Option<f64>,
}

impl FloatSums<4> for OneSample {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn add(&self, [count, sum, squares, mean]: &mut [f64; 4], arguments: &[Vec<f64>], row: usize) {
        let value = arguments[0][row];
        *count += 1.0;
        *sum += value;
        *squares += value * value;
        *mean = arguments[1][row];
    }

    fn merge(&self, into: &mut [f64; 4], from: &[f64; 4]) {
        if from[0] > 0.0 {
            into.iter_mut().zip(from).take(3).for_each(|(sum, other)| *sum += other);
            into[3] = from[3];
        }
    }

    fn result(&self, [count, sum, squares, expected]: &[f64; 4]) -> Result<Value> {
        let none = || Ok(float_values(&[f64::NAN; 4][..if self.level.is_some() { 4 } else { 2 }]));
        if *count < 2.0 {
            return none();
        }
        let mean = sum / count;
        let variance = (squares - count * mean * mean) / (count - 1.0);
        let error = (variance / count).sqrt();
        let statistic = (mean - expected) / error;
        if !statistic.is_finite() {
            return none();
        }
        let degrees = count - 1.0;
        let p = student_tails(statistic.abs(), degrees);
        Ok(match self.level {
            None => float_values(&[statistic, p]),
            Some(level) => {
                let half = student_quantile(1.0 - level, degrees) * error;
                float_values(&[statistic, p, mean - half, mean + half])
            }
        })
    }
}

#[derive(Debug)]
struct KnownVariances {
    return_type: DataType,
    variances: [f64; 2],
    level: f64,
}

impl FloatSums<4> for KnownVariances {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn add(&self, sums: &mut [f64; 4], arguments: &[Vec<f64>], row: usize) {
        add_to_sample(sums, arguments, row);
    }

    fn result(&self, [nx, ny, x, y]: &[f64; 4]) -> Result<Value> {
        let difference = x / nx - y / ny;
        let error = (self.variances[0] / nx + self.variances[1] / ny).sqrt();
        let statistic = difference / error;
        if !statistic.is_finite() {
            return Ok(float_values(&[f64::NAN; 4]));
        }
        let half = normal_quantile((1.0 - self.level) / 2.0) * error;
        let p = 2.0 * normal_tail(statistic.abs());
        Ok(float_values(&[statistic, p, difference - half, difference + half]))
    }
}
