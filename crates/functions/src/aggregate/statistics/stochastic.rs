//! `stochasticLinearRegression` and `stochasticLogisticRegression`: weights of a model that rows teach in small batches, by gradients, in
//! one of four ways (`Adam`: Kingma and Ba, 2015; `Nesterov`, 1983; `Momentum`; `SGD`).

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::{float_array, value_column};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

/// What the weights say of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Model {
    /// A number.
    Linear,
    /// The probability of label 1, where the other is -1.
    Logistic,
}

impl Model {
    /// Of the function of a name.
    pub fn of(function: &str) -> Option<Self> {
        match function {
            "stochasticLinearRegression" => Some(Self::Linear),
            "stochasticLogisticRegression" => Some(Self::Logistic),
            _ => None,
        }
    }
}

/// How weights follow gradients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Sgd,
    Momentum,
    Nesterov,
    Adam,
}

const MOMENTUM: f64 = 0.1;
const NESTEROV_MOMENTUM: f64 = 0.9;
const ADAM_BETAS: [f64; 2] = [0.9, 0.999];
const ADAM_EPSILON: f64 = 0.000_001;

/// The function with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Regression {
    model: Model,
    features: usize,
    rate: f64,
    /// How much great weights cost.
    penalty: f64,
    batch: u64,
    method: Method,
    return_type: DataType,
}

/// What was learnt so far. Lists of weights end with that of the constant.
#[derive(Clone, Debug)]
pub(crate) struct Learnt {
    weights: Vec<f64>,
    steps: u64,
    /// The sum of the gradients of the rows since the last step, and how many there are.
    gradient: Vec<f64>,
    rows: u64,
    /// Means of gradients, and of their squares.
    memory: [Vec<f64>; 2],
    /// Powers of [`ADAM_BETAS`].
    powers: [f64; 2],
}

impl Regression {
    /// The function of a name with these parameters and types.
    pub fn new(name: &str, parameters: &[Value], arguments: &[DataType]) -> Result<Self> {
        if parameters.len() > 4 {
            return Err(Error::new(
                ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
                format!(
                    "Aggregate function {name} requires at most four parameters: learning_rate, l2_regularization_coef, mini-batch size and weights_updater method"
                ),
            ));
        }
        if arguments.len() < 2 {
            return Err(Error::new(
                ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                format!("Aggregate function {name} requires at least two arguments: target and model's parameters"),
            ));
        }
        if let Some((at, argument)) =
            arguments.iter().enumerate().find(|(_, argument)| !argument.is_number() && **argument != DataType::Bool)
        {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Argument {at} of type {argument} must be numeric for aggregate function {name}"),
            ));
        }
        let number = |at: usize, otherwise: f64| match parameters.get(at) {
            None => Ok(otherwise),
            Some(value) => value.as_f64().ok_or_else(|| {
                let message = format!("Cannot convert {} to double", value.literal_type());
                Error::new(ErrorCode::CANNOT_CONVERT_TYPE, message)
            }),
        };
        let method = match parameters.get(3).map(Value::as_str) {
            None | Some(Some("Adam")) => Method::Adam,
            Some(Some("SGD")) => Method::Sgd,
            Some(Some("Momentum")) => Method::Momentum,
            Some(Some("Nesterov")) => Method::Nesterov,
            Some(_) => {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "Invalid parameter for weights updater. The only supported are 'SGD', 'Momentum' and 'Nesterov'",
                ));
            }
        };
        let model = Model::of(name).ok_or_else(|| Error::logical("a regression of another name"))?;
        Ok(Self {
            model,
            features: arguments.len() - 1,
            rate: number(0, 1.0)?,
            penalty: number(1, 0.5)?,
            batch: number(2, 15.0)? as u64,
            method,
            return_type: DataType::array(DataType::Float64),
        })
    }

    /// How many numbers a row has beside its target.
    pub fn features(&self) -> usize {
        self.features
    }

    /// What a model that was serialised says of rows with these features.
    ///
    /// # Errors
    /// `CANNOT_READ_ALL_DATA` for bytes that are no state.
    pub fn learnt(&self, mut state: &[u8]) -> Result<Learnt> {
        if state.is_empty() { Ok(self.state()) } else { self.read(&mut state) }
    }

    /// What the model says of a row.
    pub fn predict(&self, learnt: &Learnt, features: impl Iterator<Item = f64>) -> f64 {
        let sum = sum(&learnt.weights, features);
        match self.model {
            Model::Linear => sum,
            Model::Logistic => 1.0 / (1.0 + (-sum).exp()),
        }
    }

    /// Adds the gradient of a row to that of its batch.
    fn learn(&self, learnt: &mut Learnt, target: f64, features: impl Iterator<Item = f64> + Clone) {
        let looked = match self.method {
            Method::Nesterov => {
                let pairs = learnt.weights.iter().zip(&learnt.memory[0]);
                &pairs.map(|(weight, memory)| weight + memory * NESTEROV_MOMENTUM).collect()
            }
            _ => &learnt.weights,
        };
        // As ClickHouse adds and multiplies, so that the last digits are the same.
        let pairs = || looked.iter().zip(features.clone());
        let constant = looked.last().copied().unwrap_or(0.0);
        let (slope, divisor) = match self.model {
            Model::Linear => {
                (2.0 * pairs().fold(target - constant, |rest, (weight, feature)| rest - weight * feature), 1.0)
            }
            Model::Logistic => {
                let sum = pairs().fold(constant, |sum, (weight, feature)| sum + weight * feature);
                (target, (sum * target).exp() + 1.0)
            }
        };
        if let Some(constant) = learnt.gradient.last_mut() {
            *constant += slope / divisor;
        }
        for ((gradient, weight), feature) in learnt.gradient.iter_mut().zip(looked).zip(features.clone()) {
            *gradient += slope * feature / divisor - 2.0 * self.penalty * weight;
        }
        learnt.rows += 1;
        if learnt.rows == self.batch {
            self.step(learnt);
        }
    }

    /// Changes the weights by the gradient of the batch.
    fn step(&self, learnt: &mut Learnt) {
        if learnt.rows == 0 {
            return;
        }
        let Learnt { weights, gradient, memory: [means, squares], powers, .. } = learnt;
        let rows = learnt.rows as f64;
        for (at, (weight, gradient)) in weights.iter_mut().zip(&*gradient).enumerate() {
            match self.method {
                Method::Sgd => *weight += self.rate * gradient / rows,
                Method::Momentum | Method::Nesterov => {
                    let kept = if self.method == Method::Momentum { MOMENTUM } else { NESTEROV_MOMENTUM };
                    means[at] = means[at] * kept + self.rate * gradient / rows;
                    *weight += means[at];
                }
                Method::Adam => {
                    let mean = gradient / rows;
                    means[at] = ADAM_BETAS[0] * means[at] + (1.0 - ADAM_BETAS[0]) * mean;
                    squares[at] = ADAM_BETAS[1] * squares[at] + (1.0 - ADAM_BETAS[1]) * mean * mean;
                    let spread = (squares[at] / (1.0 - powers[1])).sqrt() + ADAM_EPSILON;
                    *weight += self.rate * means[at] / ((1.0 - powers[0]) * spread);
                }
            }
        }
        powers.iter_mut().zip(ADAM_BETAS).for_each(|(power, beta)| *power *= beta);
        gradient.fill(0.0);
        learnt.rows = 0;
        learnt.steps += 1;
    }

    /// How many of the lists of means a method has.
    fn memories(&self) -> usize {
        match self.method {
            Method::Sgd => 0,
            Method::Momentum | Method::Nesterov => 1,
            Method::Adam => 2,
        }
    }
}

/// The weighted sum of features, and the constant.
fn sum(weights: &[f64], features: impl Iterator<Item = f64>) -> f64 {
    let constant = weights.last().copied().unwrap_or(0.0);
    weights.iter().zip(features).fold(constant, |sum, (weight, feature)| sum + weight * feature)
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    Ok(grouped::function(Regression::new(call.name, call.parameters, call.arguments)?))
}

fn put_floats(values: &[f64], out: &mut Vec<u8>) {
    put_varint(values.len() as u64, out);
    values.iter().for_each(|value| value.put(out));
}

fn take_floats(count: usize, bytes: &mut &[u8]) -> Result<Vec<f64>> {
    if take_count(bytes)? != count {
        return Err(Error::new(ErrorCode::INCORRECT_DATA, "A model with another number of weights"));
    }
    (0..count).map(|_| f64::take(bytes)).collect()
}

impl StateFunction for Regression {
    type State = Learnt;
    type Rows<'a> = Vec<Vec<f64>>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        let zeros = || vec![0.0; self.features + 1];
        Learnt {
            weights: zeros(),
            steps: 0,
            gradient: zeros(),
            rows: 0,
            memory: [zeros(), zeros()],
            powers: ADAM_BETAS,
        }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        arguments.iter().map(floats).collect()
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        if let [target, features @ ..] = &rows[..] {
            self.learn(state, target[row], features.iter().map(|feature| feature[row]));
        }
    }

    fn merge(&self, into: &mut Self::State, mut from: Self::State) -> Result<()> {
        checkpoint(16 * self.features)?;
        if into.steps == 0 && into.rows == 0 {
            *into = from;
            return Ok(());
        }
        self.step(into);
        self.step(&mut from);
        let (own, other) = (into.steps as f64, from.steps as f64);
        if other == 0.0 {
            return Ok(());
        }
        // Who made more steps knows more; by squares, as a few steps know little.
        let share = own * own / (own * own + other * other);
        let mix = |into: &mut Vec<f64>, from: &[f64]| {
            into.iter_mut().zip(from).for_each(|(own, other)| *own = *own * share + other * (1.0 - share));
        };
        mix(&mut into.weights, &from.weights);
        into.memory.iter_mut().zip(&from.memory).for_each(|(own, other)| mix(own, other));
        into.powers.iter_mut().zip(from.powers).for_each(|(own, other)| *own *= other);
        into.steps += from.steps;
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let (constant, weights) =
            state.weights.split_last().ok_or_else(|| Error::logical("a model without weights"))?;
        constant.put(out);
        put_floats(weights, out);
        state.steps.put(out);
        put_floats(&state.gradient, out);
        state.rows.put(out);
        state.memory.iter().take(self.memories()).for_each(|memory| put_floats(memory, out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = self.state();
        let constant = f64::take(bytes)?;
        state.weights = take_floats(self.features, bytes)?;
        state.weights.push(constant);
        state.steps = u64::take(bytes)?;
        state.gradient = take_floats(self.features + 1, bytes)?;
        state.rows = u64::take(bytes)?;
        for memory in state.memory.iter_mut().take(self.memories()) {
            *memory = take_floats(self.features + 1, bytes)?;
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        value_column(&self.return_type, states.into_iter().map(|state| float_array(state.weights)))
    }

    fn heap_bytes(&self, _: &Self::State) -> usize {
        4 * (self.features + 1) * size_of::<f64>()
    }
}
