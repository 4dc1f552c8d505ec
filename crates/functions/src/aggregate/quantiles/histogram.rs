//! `histogram(bins)`: bins whose bounds follow the values: the nearest two become one while there are too many (Ben-Haim, Tom-Tov, *A
//! Streaming Parallel Decision Tree Algorithm*, 2010).

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::{float_values, value_column};
use crate::aggregate::values::number::floats;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count, take_floats};

/// The most bins.
const BINS_MAX: u64 = 250;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let bad = |code, what: &str| Err(Error::new(code, what));
    let [bins] = call.parameters else {
        return bad(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function histogram requires single parameter: bins count",
        );
    };
    let bins = match bins.as_u64() {
        Some(0) => return bad(ErrorCode::BAD_ARGUMENTS, "Bin count should be positive"),
        Some(bins) if bins <= BINS_MAX => bins as usize,
        Some(_) => return bad(ErrorCode::BAD_ARGUMENTS, "Too many bins (maximum is 250)"),
        None => return bad(ErrorCode::UNSUPPORTED_PARAMETER, "Bins count must be an unsigned integer"),
    };
    call.numbers(1)?;
    let bin = DataType::tuple([DataType::Float64, DataType::Float64, DataType::Float64]);
    Ok(grouped::function(Histogram { return_type: DataType::array(bin), bins }))
}

#[derive(Debug)]
struct Histogram {
    return_type: DataType,
    bins: usize,
}

/// A mean of values and how many it stands for.
#[derive(Clone, Copy)]
pub(in crate::aggregate) struct Bin {
    mean: f64,
    weight: f64,
}

/// Bins, more than are asked for until there are too many, and the ends of all values.
#[derive(Clone)]
pub(in crate::aggregate) struct Bins {
    bins: Vec<Bin>,
    least: f64,
    greatest: f64,
}

impl Histogram {
    /// Bins that wait before the nearest are merged.
    fn waiting_max(&self) -> usize {
        self.bins * 2
    }

    fn push(&self, state: &mut Bins, bin: Bin) {
        state.bins.push(bin);
        state.least = state.least.min(bin.mean);
        state.greatest = state.greatest.max(bin.mean);
        if state.bins.len() >= self.waiting_max() {
            Self::compress(state, self.bins);
        }
    }

    /// Merges the nearest bins until there are so many.
    fn compress(state: &mut Bins, bins_max: usize) {
        state.bins.sort_by(|left, right| left.mean.total_cmp(&right.mean));
        // Equal ones first.
        let mut merged: Vec<Bin> = Vec::with_capacity(state.bins.len());
        for bin in state.bins.drain(..) {
            match merged.last_mut() {
                Some(last) if last.mean == bin.mean => last.weight += bin.weight,
                _ => merged.push(bin),
            }
        }
        while merged.len() > bins_max {
            let distances = merged.windows(2).map(|pair| pair[1].mean - pair[0].mean);
            let nearest = distances
                .enumerate()
                .fold((0, f64::INFINITY), |best, (at, distance)| if distance < best.1 { (at, distance) } else { best })
                .0;
            let right = merged.remove(nearest + 1);
            let left = &mut merged[nearest];
            let weight = left.weight + right.weight;
            left.mean = (left.mean * left.weight + right.mean * right.weight) / weight;
            left.weight = weight;
        }
        state.bins = merged;
    }

    fn result(&self, mut state: Bins) -> Value {
        Self::compress(&mut state, self.bins);
        let mut low = state.least;
        let bin = |at: usize| {
            let Bin { mean, weight } = state.bins[at];
            let (before, next) = (at.checked_sub(1).map(|before| &state.bins[before]), state.bins.get(at + 1));
            let high = next.map_or(state.greatest, |next| (mean + next.mean) / 2.0);
            // Between two means the density is taken to be linear, so a bin's share depends on its neighbours'.
            let beside = |other: Option<&Bin>| other.map_or(weight, |other| (other.weight + weight * 3.0) / 4.0);
            let share = (beside(before) + beside(next)) / 2.0;
            float_values(&[std::mem::replace(&mut low, high), high, share])
        };
        Value::Array((0..state.bins.len()).map(bin).collect())
    }
}

impl StateFunction for Histogram {
    type State = Bins;
    type Rows<'a> = Vec<f64>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Bins {
        Bins { bins: Vec::new(), least: f64::MAX, greatest: f64::MIN }
    }

    fn rows(&self, arguments: &[Column]) -> Result<Vec<f64>> {
        let [column] = arguments else { return Err(Error::logical("histogram takes one argument")) };
        let values = floats(column)?;
        if values.iter().all(|value| value.is_finite()) {
            return Ok(values);
        }
        let message = "Invalid value (inf or nan) for aggregation by 'histogram' function";
        Err(Error::new(ErrorCode::INCORRECT_DATA, message))
    }

    fn add(&self, state: &mut Bins, rows: &Vec<f64>, row: usize) {
        self.push(state, Bin { mean: rows[row], weight: 1.0 });
    }

    fn merge(&self, into: &mut Bins, from: Bins) -> Result<()> {
        into.least = into.least.min(from.least);
        into.greatest = into.greatest.max(from.greatest);
        from.bins.into_iter().for_each(|bin| self.push(into, bin));
        Ok(())
    }

    fn write(&self, state: &Bins, out: &mut Vec<u8>) -> Result<()> {
        let mut state = state.clone();
        Self::compress(&mut state, self.bins);
        state.least.put(out);
        state.greatest.put(out);
        put_varint(state.bins.len() as u64, out);
        for bin in &state.bins {
            bin.mean.put(out);
            bin.weight.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Bins> {
        let [least, greatest] = take_floats(bytes)?;
        let count = take_count(bytes)?;
        if count > self.waiting_max() {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "A state of histogram with too many bins"));
        }
        let bin = |bytes: &mut &[u8]| take_floats(bytes).map(|[mean, weight]| Bin { mean, weight });
        let bins = (0..count).map(|_| bin(bytes)).collect::<Result<_>>()?;
        Ok(Bins { bins, least, greatest })
    }

    fn finish(&self, states: Vec<Bins>) -> Result<Column> {
        value_column(&self.return_type, states.into_iter().map(|state| self.result(state)))
    }

    fn heap_bytes(&self, state: &Bins) -> usize {
        state.bins.capacity() * size_of::<Bin>()
    }
}
