//! Quantiles over a sketch of the values, or over the values with weights: what a sketch is, and the function around it that reads levels,
//! parameters and weights.

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

use super::levels::{Levels, levels};
use super::{
    bfloat16, dd_sketch, deterministic, gk_summary, prometheus_histogram, t_digest, timing, weighted_values,
    wide_quantile,
};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::row_hash::number_bits;

/// What is kept of the values of a group. Values are given and returned as [`Numbers`] rank them.
pub(in crate::aggregate) trait Sketch: Debug + Send + Sync + 'static {
    /// What is kept.
    type State: Clone + Send + 'static;

    fn state(&self) -> Self::State;

    /// Adds a value, which is not NaN, so many times; or, of functions that take one, with a second number of its row.
    fn add(&self, state: &mut Self::State, value: u64, weight: u64);

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()>;

    /// Refuses a state that tells nothing of the values.
    fn check(&self, _state: &Self::State) -> Result<()> {
        Ok(())
    }

    /// The values at these levels, as ranks of the item's numbers.
    fn quantiles(&self, state: Self::State, levels: &[f64], item: Numbers) -> Vec<u64>;

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()>;

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State>;

    /// The values that merging and finishing a state goes through.
    fn items(&self, state: &Self::State) -> usize;

    fn heap_bytes(&self, state: &Self::State) -> usize;
}

/// Which numbers beside the value a row has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Second {
    None,
    /// An unsigned number of times.
    Weight,
    /// Any integer.
    Integer,
    /// A float, as its bits.
    Float,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let many = call.name.starts_with("quantiles");
    let kind = call.name.strip_prefix("quantiles").or_else(|| call.name.strip_prefix("quantile")).unwrap_or_default();
    let second = match kind {
        "Deterministic" => Second::Integer,
        "PrometheusHistogram" => Second::Float,
        "ExactWeighted" | "ExactWeightedInterpolated" | "InterpolatedWeighted" => Second::Weight,
        _ if kind.ends_with("Weighted") => Second::Weight,
        _ => Second::None,
    };
    let (own, level_parameters) = match kind {
        "GK" | "DD" => match call.parameters.split_first() {
            Some((own, levels)) => (Some(own), levels),
            None => return Err(call.wrong_parameters("at least one param")),
        },
        _ => (None, call.parameters),
    };
    let levels =
        if own.is_some() && level_parameters.is_empty() { [0.5].into() } else { levels(call, level_parameters, many)? };
    let argument = match second {
        Second::None => call.argument()?,
        _ => call.two_arguments()?.0,
    };
    if let (Second::Weight | Second::Integer, [_, weight]) = (second, call.arguments)
        && !weight.is_unsigned_integer()
    {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Second argument (weight) for function {} must be unsigned integer, but it has type {weight}",
                call.name
            ),
        ));
    }
    let is_time = argument.is_date_or_time();
    let rule = match kind {
        "ExactWeighted" => Some(weighted_values::Rule::Exact),
        "InterpolatedWeighted" => Some(weighted_values::Rule::Middles),
        "ExactWeightedInterpolated" => Some(weighted_values::Rule::Positions),
        _ => None,
    };
    if argument.is_wide_integer() && kind == "ExactWeightedInterpolated" {
        return crate::aggregate::sums::as_floats::resolve(call, resolve)?.ok_or_else(|| call.illegal_type(argument));
    }
    if let Some(rule) = rule.filter(|_| argument.is_decimal() || argument.is_wide_integer())
        && let Some(function) = wide_quantile::resolve(
            argument,
            wide_quantile::Rule::Weighted(rule),
            &Levels::new(levels.clone(), argument.clone(), many),
        )
    {
        return Ok(function);
    }
    let fits = match kind {
        "PrometheusHistogram" => call.arguments.iter().all(DataType::is_number) && argument.is_float(),
        "GK" => argument.is_number() || is_time || argument.is_decimal(),
        _ => argument.is_number() || is_time || rule.is_some() && argument.is_decimal(),
    };
    let numbers = Numbers::of(argument).filter(|_| fits).ok_or_else(|| call.illegal_type(argument))?;
    let item = match kind {
        "Timing" | "TimingWeighted" => DataType::Float32,
        _ if is_time || argument.is_decimal() => argument.clone(),
        "TDigest" | "TDigestWeighted" => DataType::Float32,
        "GK" | "ExactWeighted" | "InterpolatedWeighted" => argument.clone(),
        _ => DataType::Float64,
    };
    let levels = Levels::new(levels, item, many);
    let weighted = |rule| weighted_values::Weighted { numbers, rule };
    Ok(match kind {
        "TDigest" | "TDigestWeighted" => function(t_digest::TDigest { numbers }, levels, numbers, second),
        "Timing" | "TimingWeighted" => function(timing::Timing { numbers }, levels, numbers, second),
        "BFloat16" | "BFloat16Weighted" => function(bfloat16::BFloat16 { numbers }, levels, numbers, second),
        "Deterministic" => function(deterministic::Deterministic { numbers }, levels, numbers, second),
        "ExactWeighted" => function(weighted(weighted_values::Rule::Exact), levels, numbers, second),
        "InterpolatedWeighted" => function(weighted(weighted_values::Rule::Middles), levels, numbers, second),
        "ExactWeightedInterpolated" => function(weighted(weighted_values::Rule::Positions), levels, numbers, second),
        "PrometheusHistogram" => function(prometheus_histogram::Buckets { numbers }, levels, numbers, second),
        "GK" => {
            let accuracy = own.and_then(Value::as_u64).filter(|accuracy| *accuracy > 0).ok_or_else(|| {
                Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!("Aggregate function {} requires accuracy parameter with integer type", call.name),
                )
            })?;
            function(gk_summary::Summary { numbers, error: 1.0 / accuracy as f64 }, levels, numbers, second)
        }
        _ => {
            let wrong = |code, what: &str| {
                Error::new(
                    code,
                    format!("Aggregate function {} requires relative accuracy parameter {what}", call.name),
                )
            };
            let accuracy = match own {
                Some(Value::Float64(accuracy)) => *accuracy,
                _ => return Err(wrong(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "with Float64 type")),
            };
            if !(accuracy > 0.0 && accuracy < 1.0) {
                return Err(wrong(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, "with value between 0 and 1 but is not"));
            }
            function(dd_sketch::DdSketch::new(numbers, accuracy), levels, numbers, second)
        }
    })
}

fn function<S: Sketch>(sketch: S, levels: Levels, numbers: Numbers, second: Second) -> Arc<dyn AggregateFunction> {
    grouped::function(Sketched { sketch, levels, numbers, second })
}

#[derive(Debug)]
struct Sketched<S> {
    sketch: S,
    levels: Levels,
    /// How the argument's values are stored.
    numbers: Numbers,
    second: Second,
}

/// The values of a block, and what stands beside them.
pub(in crate::aggregate) struct Rows {
    values: Vec<u64>,
    seconds: Option<Vec<u64>>,
}

impl<S: Sketch> StateFunction for Sketched<S> {
    type State = S::State;
    type Rows<'a> = Rows;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.levels.return_type
    }

    fn state(&self) -> S::State {
        self.sketch.state()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Rows> {
        let [values, seconds @ ..] = arguments else { return Err(Error::logical("quantiles take an argument")) };
        let seconds = match (self.second, seconds) {
            (Second::Float, [column]) => {
                Some(crate::aggregate::values::number::floats(column)?.into_iter().map(f64::to_bits).collect())
            }
            (_, [column]) => Some(number_bits(column).ok_or_else(|| Error::logical("weights are numbers"))?),
            _ => None,
        };
        Ok(Rows { values: self.numbers.ranks(values)?, seconds })
    }

    #[inline]
    fn add(&self, state: &mut S::State, rows: &Rows, row: usize) {
        let value = rows.values[row];
        if !self.numbers.to_f64(value).is_nan() {
            self.sketch.add(state, value, rows.seconds.as_ref().map_or(1, |seconds| seconds[row]));
        }
    }

    fn merge(&self, into: &mut S::State, from: S::State) -> Result<()> {
        self.sketch.merge(into, from)
    }

    fn items(&self, state: &S::State) -> usize {
        self.sketch.items(state)
    }

    fn write(&self, state: &S::State, out: &mut Vec<u8>) -> Result<()> {
        self.sketch.check(state)?;
        self.sketch.write(state, out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<S::State> {
        self.sketch.read(bytes)
    }

    fn finish(&self, states: Vec<S::State>) -> Result<Column> {
        let groups = states.len();
        let item = Numbers::of(&self.levels.item).ok_or_else(|| Error::logical("quantiles are numbers"))?;
        let mut ranks = Vec::with_capacity(groups * self.levels.levels.len());
        for state in states {
            squall_types::checkpoint(self.sketch.items(&state) * 20)?;
            self.sketch.check(&state)?;
            ranks.extend(self.sketch.quantiles(state, &self.levels.levels, item));
        }
        self.levels.result(item.column(&self.levels.item, ranks.into_iter()), groups)
    }

    fn heap_bytes(&self, state: &S::State) -> usize {
        self.sketch.heap_bytes(state)
    }
}
