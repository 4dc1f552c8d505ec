//! `timeSeries…ToGrid(start, end, step, window)`: samples of a time series seen at evenly spaced times: at each, what PromQL's functions
//! make of those in the window before it (which ends with that time and begins behind `window` seconds earlier).

use std::collections::BTreeMap;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;

use super::time_series::{self, Samples};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;

/// The most times of a grid.
const TIMES_MAX: i64 = 1 << 20;

/// What is made of the samples of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Average,
    Changes,
    Count,
    Delta,
    Slope,
    Increase,
    InstantDelta,
    InstantRate,
    Last,
    Max,
    Min,
    Predict,
    Rate,
    Resets,
    Sum,
    TimeOfMax,
    TimeOfMin,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let kind = match call.name.trim_start_matches("timeSeries").trim_end_matches("ToGrid") {
        "Avg" => Kind::Average,
        "Changes" => Kind::Changes,
        "Count" => Kind::Count,
        "Delta" => Kind::Delta,
        "Deriv" => Kind::Slope,
        "Increase" => Kind::Increase,
        "InstantDelta" => Kind::InstantDelta,
        "InstantRate" => Kind::InstantRate,
        "Max" => Kind::Max,
        "Min" => Kind::Min,
        "PredictLinear" => Kind::Predict,
        "Rate" => Kind::Rate,
        "Resets" => Kind::Resets,
        "Sum" => Kind::Sum,
        "TimestampOfMax" => Kind::TimeOfMax,
        "TimestampOfMin" => Kind::TimeOfMin,
        _ => Kind::Last,
    };
    let wanted = if kind == Kind::Predict { 5 } else { 4 };
    if call.parameters.len() != wanted {
        return Err(call.wrong_parameters(if wanted == 5 {
            "5 parameters: start_timestamp, end_timestamp, step, window, predict_offset"
        } else {
            "4 parameters: start_timestamp, end_timestamp, step, window"
        }));
    }
    let (time, value) = time_series::argument_types(call)?;
    let ticks = time_series::ticks_per_second(&time);
    let moment = |at: usize| time_series::moment(call, &call.parameters[at], &time);
    let span = |at: usize| time_series::span(call, &call.parameters[at], ticks);
    let (start, end, step, window) = (moment(0)?, moment(1)?, span(2)?, span(3)?);
    let bad = |what: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("{what} in aggregate function {}", call.name));
    if end < start {
        return Err(bad("End timestamp is less than start timestamp"));
    }
    if step <= 0 && end != start {
        return Err(bad("Step should be greater than zero"));
    }
    if window < 0 {
        return Err(bad("Window should be non-negative"));
    }
    let count = if step <= 0 { 1 } else { (end - start) / step + 1 };
    if count > TIMES_MAX {
        return Err(bad("Too many grid points"));
    }
    let item = if matches!(kind, Kind::TimeOfMax | Kind::TimeOfMin) { DataType::Float64 } else { value };
    let offset = match call.parameters.get(4) {
        Some(_) => span(4)? as f64 / ticks,
        None => 0.0,
    };
    let return_type = DataType::array(item.to_nullable());
    Ok(grouped::function(Grid { kind, return_type, ticks, start, step, count, window, offset }))
}

#[derive(Debug)]
struct Grid {
    kind: Kind,
    return_type: DataType,
    /// Ticks of a second.
    ticks: f64,
    start: i64,
    step: i64,
    /// Times of the grid.
    count: i64,
    window: i64,
    /// Seconds ahead that are predicted.
    offset: f64,
}

impl Grid {
    /// What PromQL's `delta`, `increase` and `rate` give: the difference, extended to the ends of the window.
    fn extrapolated(&self, samples: &[(i64, f64)], at: i64) -> Option<f64> {
        let ((first_time, first), (last_time, last)) = (*samples.first()?, *samples.last()?);
        if samples.len() < 2 {
            return None;
        }
        let is_counter = self.kind != Kind::Delta;
        let mut difference = last - first;
        if is_counter {
            difference += samples.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[0].1).sum::<f64>();
        }
        let seconds = |ticks: i64| ticks as f64 / self.ticks;
        let mut before = seconds(first_time - (at - self.window));
        let mut behind = seconds(at - last_time);
        let sampled = seconds(last_time - first_time);
        let average = sampled / (samples.len() - 1) as f64;
        let threshold = average * 1.1;
        if before >= threshold {
            before = average / 2.0;
        }
        if is_counter && difference > 0.0 && first >= 0.0 {
            // A counter does not begin below 0.
            before = before.min(sampled * (first / difference));
        }
        if behind >= threshold {
            behind = average / 2.0;
        }
        let mut factor = (sampled + before + behind) / sampled;
        if self.kind == Kind::Rate {
            factor /= seconds(self.window);
        }
        Some(difference * factor)
    }

    /// The line of least squares: its value at the time, and its slope by seconds.
    fn line(&self, samples: &[(i64, f64)], at: i64) -> Option<(f64, f64)> {
        if samples.len() < 2 {
            return None;
        }
        let count = samples.len() as f64;
        let (mut x, mut y, mut xy, mut xx) = (0.0, 0.0, 0.0, 0.0);
        for (time, value) in samples {
            let seconds = (time - at) as f64 / self.ticks;
            x += seconds;
            y += value;
            xy += seconds * value;
            xx += seconds * seconds;
        }
        let slope = (xy - x * y / count) / (xx - x * x / count);
        Some((y / count - slope * x / count, slope))
    }

    fn value(&self, samples: &[(i64, f64)], at: i64) -> Option<f64> {
        let last = samples.last()?;
        let values = || samples.iter().map(|(_, value)| *value);
        // Of equal values, the last.
        let extreme = |greatest: bool| {
            samples.iter().copied().reduce(|best, sample| {
                let replaces = if greatest { sample.1 >= best.1 } else { sample.1 <= best.1 };
                if replaces || best.1.is_nan() { sample } else { best }
            })
        };
        let pairs = |counts: fn(f64, f64) -> bool| {
            samples.windows(2).filter(|pair| counts(pair[0].1, pair[1].1)).count() as f64
        };
        match self.kind {
            Kind::Last => Some(last.1),
            Kind::Count => Some(samples.len() as f64),
            Kind::Sum => Some(values().sum()),
            Kind::Average => Some(values().sum::<f64>() / samples.len() as f64),
            Kind::Max => extreme(true).map(|(_, value)| value),
            Kind::Min => extreme(false).map(|(_, value)| value),
            Kind::TimeOfMax => extreme(true).map(|(time, _)| time as f64 / self.ticks),
            Kind::TimeOfMin => extreme(false).map(|(time, _)| time as f64 / self.ticks),
            Kind::Changes => Some(pairs(|left, right| left != right && !(left.is_nan() && right.is_nan()))),
            Kind::Resets => Some(pairs(|left, right| right < left)),
            Kind::Delta | Kind::Increase | Kind::Rate => self.extrapolated(samples, at),
            Kind::Slope => self.line(samples, at).map(|(_, slope)| slope),
            Kind::Predict => self.line(samples, at).map(|(value, slope)| value + slope * self.offset),
            Kind::InstantDelta | Kind::InstantRate => {
                let before = samples.get(samples.len().checked_sub(2)?)?;
                if self.kind == Kind::InstantDelta {
                    return Some(last.1 - before.1);
                }
                // A counter that fell began anew.
                let grown = if last.1 < before.1 { last.1 } else { last.1 - before.1 };
                Some(grown / ((last.0 - before.0) as f64 / self.ticks))
            }
        }
    }
}

impl StateFunction for Grid {
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
        rows.of_row(row).for_each(|(time, value)| time_series::insert(state, time, value));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        time_series::merge_samples(into, from)
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        time_series::write_samples(state, out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        time_series::read_samples(bytes)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let mut lists = Vec::with_capacity(states.len());
        for state in states {
            let samples: Vec<(i64, f64)> = state.into_iter().collect();
            let (mut first, mut end) = (0, 0);
            let mut values = Vec::with_capacity(self.count as usize);
            for at in (0..self.count).map(|step| self.start + step * self.step) {
                while samples.get(end).is_some_and(|(time, _)| *time <= at) {
                    end += 1;
                }
                while first < end && samples[first].0 <= at - self.window {
                    first += 1;
                }
                checkpoint(16 + end - first)?;
                values.push(self.value(&samples[first..end], at).map_or(Value::Null, Value::Float64));
            }
            lists.push(Value::Array(values.into()));
        }
        value_column(&self.return_type, lists)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.len() * 32
    }
}
