//! Samples of time series: how functions of them take their arguments (a time and a value, an array of each, or an array of pairs), and
//! those functions that keep samples as they are: `timeSeriesGroupArray`, `timeSeriesLastTwoSamples`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, convert_value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::plain::plain;
use crate::aggregate::results::value_column;
use crate::aggregate::values::number::floats;
use crate::aggregate::values::row_hash::number_bits;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

/// The types of times and values, whatever form the arguments have.
pub(in crate::aggregate) fn argument_types(call: &Call<'_>) -> Result<(DataType, DataType)> {
    let (time, value) = match call.arguments {
        [DataType::Array(time), DataType::Array(value)] => ((**time).clone(), (**value).clone()),
        [time, value] => (time.clone(), value.clone()),
        [DataType::Array(pair)] => match &**pair {
            DataType::Tuple(elements) if elements.len() == 2 => {
                (elements[0].data_type.clone(), elements[1].data_type.clone())
            }
            other => return Err(call.illegal_type(other)),
        },
        _ => return Err(call.wrong_arguments("two arguments, or an array of tuples")),
    };
    let is_time = time.is_integer() || matches!(time, DataType::DateTime(_) | DataType::DateTime64(..));
    let illegal = if !is_time { Some(&time) } else { Some(&value).filter(|value| !value.is_float()) };
    match illegal {
        None => Ok((time, value)),
        Some(illegal) => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Illegal type {illegal} of argument for aggregate function {}", call.name),
        )),
    }
}

/// Ticks of a second in this type of times.
pub(in crate::aggregate) fn ticks_per_second(time: &DataType) -> f64 {
    match time {
        DataType::DateTime64(digits, _) => 10_f64.powi((*digits).into()),
        _ => 1.0,
    }
}

/// A parameter as a time in ticks.
pub(in crate::aggregate) fn moment(call: &Call<'_>, parameter: &Value, time: &DataType) -> Result<i64> {
    let ticks = ticks_per_second(time);
    match parameter {
        Value::Decimal(number, scale) => {
            let float = number.as_i128() as f64 / 10_f64.powi((*scale).into());
            Ok((float * ticks).round() as i64)
        }
        Value::String(_) => {
            if let Some(number) = parameter.as_str().and_then(|text| text.parse::<f64>().ok()) {
                return Ok((number * ticks).round() as i64);
            }
            convert_value(parameter, time)?.as_i64().ok_or_else(|| call.bad_arguments("a time cannot be read"))
        }
        number => {
            let seconds = number.as_f64().ok_or_else(|| call.bad_arguments("parameters must be numbers"))?;
            match number.as_i64() {
                Some(whole) if ticks == 1.0 => Ok(whole),
                _ => Ok((seconds * ticks).round() as i64),
            }
        }
    }
}

/// A parameter as a number of ticks: seconds, or a text such as `15s` or `1m`.
pub(in crate::aggregate) fn span(call: &Call<'_>, parameter: &Value, ticks: f64) -> Result<i64> {
    if let Some(text) = parameter.as_str() {
        let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let scale = match unit {
            "" | "s" => 1.0,
            "ms" => 0.001,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            "w" => 604_800.0,
            _ => return Err(call.bad_arguments("a duration cannot be read")),
        };
        let number: f64 = number.parse().map_err(|_| call.bad_arguments("a duration cannot be read"))?;
        return Ok((number * scale * ticks).round() as i64);
    }
    match parameter {
        Value::Float64(seconds) => Ok((seconds * ticks).round() as i64),
        Value::Decimal(number, scale) => {
            Ok((number.as_i128() as f64 / 10_f64.powi((*scale).into()) * ticks).round() as i64)
        }
        _ => moment(call, parameter, &DataType::UInt32).map(|whole| (whole as f64 * ticks) as i64),
    }
}

/// Adds a sample; of several at one time the greatest counts, NaN only if there is nothing else.
pub(in crate::aggregate) fn insert(samples: &mut BTreeMap<i64, f64>, time: i64, value: f64) {
    let known = samples.entry(time).or_insert(value);
    if known.is_nan() || value > *known {
        *known = value;
    }
}

/// Adds the samples of another state.
///
/// # Errors
/// Where the query is to end.
pub(in crate::aggregate) fn merge_samples(into: &mut BTreeMap<i64, f64>, from: BTreeMap<i64, f64>) -> Result<()> {
    checkpoint(from.len() * 50)?;
    from.into_iter().for_each(|(time, value)| insert(into, time, value));
    Ok(())
}

/// Writes samples as a state.
pub(in crate::aggregate) fn write_samples(samples: &BTreeMap<i64, f64>, out: &mut Vec<u8>) {
    put_varint(samples.len() as u64, out);
    for (time, value) in samples {
        time.put(out);
        value.put(out);
    }
}

/// Reads samples that were a state.
///
/// # Errors
/// Bytes that end too early.
pub(in crate::aggregate) fn read_samples(bytes: &mut &[u8]) -> Result<BTreeMap<i64, f64>> {
    (0..take_count(bytes)?).map(|_| Ok((Raw::take(bytes)?, Raw::take(bytes)?))).collect()
}

/// The samples of a block.
pub(in crate::aggregate) struct Samples {
    /// Where each row's samples begin, where a row has several.
    offsets: Option<Vec<i32>>,
    times: Vec<i64>,
    values: Vec<f64>,
}

impl Samples {
    /// The samples that arguments of any of the three forms have.
    pub fn new(arguments: &[Column]) -> Result<Self> {
        let wrong = || Error::logical("samples of a time series were expected");
        let numbers = |column: &Column| {
            let bits = number_bits(&plain(column)?).ok_or_else(wrong)?;
            // Bits carry the sign where the type has one.
            Ok::<_, Error>(bits.into_iter().map(|bits| bits as i64).collect::<Vec<i64>>())
        };
        let list = |column: &Column| {
            let DataType::Array(item) = column.data_type() else { return Err(wrong()) };
            let list = column.array().as_list_opt::<i32>().ok_or_else(wrong)?;
            Ok((list.value_offsets().to_vec(), Column::new((**item).clone(), list.values().clone())))
        };
        match arguments {
            [pairs] => {
                let (offsets, items) = list(pairs)?;
                let DataType::Tuple(elements) = items.data_type() else { return Err(wrong()) };
                let columns = items.array().as_struct_opt().ok_or_else(wrong)?.columns();
                let ([time, value], [times, values]) = (&**elements, columns) else { return Err(wrong()) };
                let times = numbers(&Column::new(time.data_type.clone(), times.clone()))?;
                let values = floats(&plain(&Column::new(value.data_type.clone(), values.clone()))?)?;
                Ok(Self { offsets: Some(offsets), times, values })
            }
            [times, values] if matches!(times.data_type(), DataType::Array(_)) => {
                let ((offsets, times), (other, values)) = (list(times)?, list(values)?);
                if offsets != other {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        "Timestamp and value arrays of a time series must have the same size",
                    ));
                }
                Ok(Self { offsets: Some(offsets), times: numbers(&times)?, values: floats(&plain(&values)?)? })
            }
            [times, values] => Ok(Self { offsets: None, times: numbers(times)?, values: floats(values)? }),
            _ => Err(wrong()),
        }
    }

    /// The samples of a row.
    pub fn of_row(&self, row: usize) -> impl Iterator<Item = (i64, f64)> {
        let range = match &self.offsets {
            None => row..row + 1,
            Some(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
        };
        range.map(|at| (self.times[at], self.values[at]))
    }
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (time, value) = argument_types(call)?;
    let keeps_two = call.name == "timeSeriesLastTwoSamples";
    let return_type = DataType::array(DataType::tuple([time.clone(), value]));
    let is_signed = time.is_signed_integer() || matches!(time, DataType::DateTime64(..));
    Ok(grouped::function(Kept { return_type, keeps_two, is_signed }))
}

#[derive(Debug)]
struct Kept {
    return_type: DataType,
    /// Whether only the last two samples are kept.
    keeps_two: bool,
    /// Whether times have a sign.
    is_signed: bool,
}

impl Kept {
    fn insert(&self, state: &mut BTreeMap<i64, f64>, time: i64, value: f64) {
        insert(state, time, value);
        if self.keeps_two && state.len() > 2 {
            state.pop_first();
        }
    }
}

impl StateFunction for Kept {
    type State = BTreeMap<i64, f64>;
    type Rows<'a> = Samples;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        BTreeMap::new()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Samples> {
        Samples::new(arguments)
    }

    fn add(&self, state: &mut Self::State, rows: &Samples, row: usize) {
        rows.of_row(row).for_each(|(time, value)| self.insert(state, time, value));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(from.len() * 50)?;
        from.into_iter().for_each(|(time, value)| self.insert(into, time, value));
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        write_samples(state, out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        read_samples(bytes)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let time = |time: i64| if self.is_signed { Value::Int64(time) } else { Value::UInt64(time as u64) };
        let value = |state: Self::State| {
            let pair = |(at, value): (i64, f64)| Value::Tuple([time(at), Value::Float64(value)].into());
            // Of the last two the latest first.
            let mut pairs: Vec<Value> = state.into_iter().map(pair).collect();
            if self.keeps_two {
                pairs.reverse();
            }
            Value::Array(pairs.into())
        };
        value_column(&self.return_type, states.into_iter().map(value))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.len() * 32
    }
}
