//! `timeSeriesTopKMasks`, `timeSeriesBottomKMasks`, `timeSeriesLimitKMasks`: which series are among the first at each step of a grid. Of
//! each step a heap keeps the best so far, the worst of them on top.

use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, TupleElement, Value, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

/// The first byte of a state.
const VERSION: u8 = 1;

/// What is best.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Greatest,
    Least,
    /// The least sampling key, whatever the value is.
    Sampled,
}

impl Rule {
    /// How late in the order a value or a sampling key is, by its bits.
    fn lateness(self, bits: u64) -> u64 {
        const SIGN: u64 = 1 << 63;
        let value = f64::from_bits(bits);
        // Both zeros are one number.
        let bits = if value == 0.0 { 0 } else { bits };
        let ascending = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        match self {
            Self::Sampled => bits,
            // What is no number comes last.
            _ if value.is_nan() => u64::MAX,
            Self::Greatest => !ascending,
            Self::Least => ascending,
        }
    }
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (rule, wanted) = match call.name {
        "timeSeriesTopKMasks" => (Rule::Greatest, "k, key, values"),
        "timeSeriesBottomKMasks" => (Rule::Least, "k, key, values"),
        _ => (Rule::Sampled, "k, key, sampling_key, values"),
    };
    let count = wanted.split(',').count();
    if call.arguments.len() != count {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Aggregate function {0} requires {count} arguments: {0}({wanted})", call.name),
        ));
    }
    let illegal = |at: usize, name: &str, expected: &str| {
        let place = ["1st", "2nd", "3rd", "4th"].get(at).copied().unwrap_or_default();
        Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {} of {place} argument ({name}) for aggregate function {}, expected {expected}",
                call.arguments[at], call.name
            ),
        ))
    };
    let is_count = |data_type: &DataType| data_type.is_unsigned_integer();
    match &call.arguments[0] {
        DataType::Array(item) if is_count(item) => {}
        one if is_count(one) => {}
        _ => return illegal(0, "k", "an unsigned integer or an array of unsigned integers"),
    }
    for (at, name) in [(1, "key"), (2, "sampling_key")].into_iter().take(count - 2) {
        if call.arguments[at] != DataType::UInt64 {
            return illegal(at, name, "UInt64");
        }
    }
    match &call.arguments[count - 1] {
        DataType::Array(item) if item.inner().is_float() => {}
        _ => {
            let expected = "an array of Float32, Float64, Nullable(Float32) or Nullable(Float64)";
            return illegal(count - 1, "values", expected);
        }
    }
    let element = |name: &str, data_type| TupleElement { name: Some(name.into()), data_type };
    let series = DataType::Tuple(
        [element("key", DataType::UInt64), element("steps_mask", DataType::array(DataType::UInt8))].into(),
    );
    Ok(grouped::function(Masks { name: call.name, rule, return_type: DataType::array(series) }))
}

#[derive(Debug)]
struct Masks {
    name: &'static str,
    rule: Rule,
    return_type: DataType,
}

/// A series at a step; the greater the later in the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    lateness: u64,
    key: u64,
    /// What `lateness` was made of.
    bits: u64,
}

/// The best of each step.
#[derive(Clone, Debug)]
struct Step {
    wanted: u64,
    best: BinaryHeap<Entry>,
}

impl Step {
    fn add(&mut self, entry: Entry) {
        if (self.best.len() as u64) < self.wanted {
            self.best.push(entry);
        } else if let Some(mut worst) = self.best.peek_mut()
            && entry < *worst
        {
            *worst = entry;
        }
    }
}

/// Nothing until the first row.
#[derive(Clone, Debug, Default)]
struct State {
    steps: Option<Vec<Step>>,
    /// What rows do not have in common, which is told with the result.
    differs: Option<Box<str>>,
}

impl State {
    /// The steps, if they are as wanted.
    fn steps(&mut self, wanted: impl ExactSizeIterator<Item = u64> + Clone) -> Option<&mut Vec<Step>> {
        let fresh = |wanted| Step { wanted, best: BinaryHeap::new() };
        let steps = self.steps.get_or_insert_with(|| wanted.clone().map(fresh).collect());
        if steps.len() != wanted.len() {
            let message =
                format!("all `values` arrays to have the same size, got {} and {}", wanted.len(), steps.len());
            self.differs.get_or_insert(message.into());
            return None;
        }
        if let Some((step, wanted)) = steps.iter().zip(wanted).find(|(step, wanted)| step.wanted != *wanted) {
            let message = format!("the same `k` for all rows, got {wanted} and {}", step.wanted);
            self.differs.get_or_insert(message.into());
            return None;
        }
        Some(steps)
    }

    fn check(&self, name: &str) -> Result<()> {
        match &self.differs {
            Some(what) => {
                Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Aggregate function {name} requires {what}")))
            }
            None => Ok(()),
        }
    }
}

impl StateFunction for Masks {
    type State = State;
    type Rows<'a> = &'a [Column];

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        State::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        Ok(arguments)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let [wanted, key, between @ .., values] = rows else { return };
        let number = |column: &Column| column.value(row).as_u64().unwrap_or(0);
        let (Value::Array(values), key) = (values.value(row), number(key)) else { return };
        let wanted: Vec<u64> = match wanted.value(row) {
            Value::Array(each) if each.len() != values.len() => {
                let message = format!(
                    "the `k` array to have the same size as the `values` array, got {} and {}",
                    each.len(),
                    values.len()
                );
                state.differs.get_or_insert(message.into());
                return;
            }
            Value::Array(each) => each.iter().map(|wanted| wanted.as_u64().unwrap_or(0)).collect(),
            one => vec![one.as_u64().unwrap_or(0); values.len()],
        };
        let sampling = between.first().map(number);
        let Some(steps) = state.steps(wanted.into_iter()) else { return };
        for (step, value) in steps.iter_mut().zip(values.iter()) {
            let Some(value) = value.as_f64() else { continue };
            let bits = sampling.unwrap_or(value.to_bits());
            step.add(Entry { lateness: self.rule.lateness(bits), key, bits });
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        from.check(self.name)?;
        let Some(from) = from.steps else { return Ok(()) };
        let wanted: Vec<u64> = from.iter().map(|step| step.wanted).collect();
        if let Some(steps) = into.steps(wanted.into_iter()) {
            for (step, from) in steps.iter_mut().zip(from) {
                from.best.into_iter().for_each(|entry| step.add(entry));
            }
        }
        into.check(self.name)
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.check(self.name)?;
        out.extend([VERSION, u8::from(state.steps.is_some())]);
        let Some(steps) = &state.steps else { return Ok(()) };
        put_varint(steps.len() as u64, out);
        steps.iter().for_each(|step| step.wanted.put(out));
        for step in steps {
            put_varint(step.best.len() as u64, out);
            for entry in &step.best {
                entry.bits.put(out);
                entry.key.put(out);
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let version = u8::take(bytes)?;
        if version != VERSION {
            return Err(Error::new(
                ErrorCode::INCORRECT_DATA,
                format!("A state of {} of version {version}", self.name),
            ));
        }
        if u8::take(bytes)? == 0 {
            return Ok(State::default());
        }
        let count = take_count(bytes)?;
        let mut steps = Vec::new();
        grow(&mut steps, count)?;
        for _ in 0..count {
            steps.push(Step { wanted: u64::take(bytes)?, best: BinaryHeap::new() });
        }
        for step in &mut steps {
            for _ in 0..take_count(bytes)? {
                let (bits, key) = (u64::take(bytes)?, u64::take(bytes)?);
                step.add(Entry { lateness: self.rule.lateness(bits), key, bits });
            }
        }
        Ok(State { steps: Some(steps), differs: None })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        states.iter().try_for_each(|state| state.check(self.name))?;
        let masks = |state: State| {
            let steps = state.steps.unwrap_or_default();
            let mut series: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
            for (at, step) in steps.iter().enumerate() {
                for entry in &step.best {
                    let mask = series.entry(entry.key).or_insert_with(|| vec![Value::UInt64(0); steps.len()]);
                    mask[at] = Value::UInt64(1);
                }
            }
            let one =
                |(key, mask): (u64, Vec<Value>)| Value::Tuple([Value::UInt64(key), Value::Array(mask.into())].into());
            Value::Array(series.into_iter().map(one).collect())
        };
        value_column(&self.return_type, states.into_iter().map(masks))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        let steps = state.steps.as_deref().unwrap_or_default();
        steps.iter().map(|step| size_of::<Step>() + step.best.capacity() * size_of::<Entry>()).sum()
    }
}
