//! `nonNegativeDerivative`: how fast a counter grows.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, IntervalKind, Result, Value};

use super::{RowWalk, WindowFunction, WindowRows, WindowWalk, bad_arguments, wrong_count};
use crate::function::Argument;

/// `nonNegativeDerivative(metric, time[, INTERVAL n unit])`: the growth since the row before, by the interval or by a second; 0
/// where the metric fell or no time passed.
pub(super) fn non_negative_derivative(arguments: &[Argument]) -> Result<Arc<dyn WindowFunction>> {
    let (metric, time, interval) = match arguments {
        [metric, time] => (metric, time, None),
        [metric, time, interval] => (metric, time, Some(interval)),
        _ => return Err(wrong_count("Function nonNegativeDerivative takes 2 or 3 arguments")),
    };
    if !metric.data_type.is_number() {
        return Err(bad_arguments(format!("Argument 0 must be a number, '{}' given", metric.data_type)));
    }
    let ticks_per_second = match time.data_type {
        DataType::DateTime(_) => 1.0,
        DataType::DateTime64(digits, _) => 10f64.powi(digits.into()),
        _ => {
            return Err(bad_arguments(format!(
                "Argument 1 must be DateTime or DateTime64, '{}' given",
                time.data_type
            )));
        }
    };
    let interval_seconds = match interval.map(|interval| (&interval.data_type, &interval.constant)) {
        None => 1.0,
        Some((DataType::Interval(kind), Some(count))) => {
            let count = count.as_i64().unwrap_or(1);
            seconds(*kind).ok_or_else(|| bad_arguments(format!("Interval of unit {kind} has no fixed length")))?
                * count as f64
        }
        Some((other, _)) => return Err(bad_arguments(format!("Argument 2 must be an INTERVAL, '{other}' given"))),
    };
    Ok(Arc::new(Derivative { ticks_per_second, interval_seconds }))
}

fn seconds(kind: IntervalKind) -> Option<f64> {
    Some(match kind {
        IntervalKind::Nanosecond => 1e-9,
        IntervalKind::Microsecond => 1e-6,
        IntervalKind::Millisecond => 1e-3,
        IntervalKind::Second => 1.0,
        IntervalKind::Minute => 60.0,
        IntervalKind::Hour => 3600.0,
        IntervalKind::Day => 86_400.0,
        IntervalKind::Week => 604_800.0,
        IntervalKind::Month | IntervalKind::Quarter | IntervalKind::Year => return None,
    })
}

#[derive(Debug)]
struct Derivative {
    ticks_per_second: f64,
    interval_seconds: f64,
}

impl WindowFunction for Derivative {
    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn begins_anywhere(&self) -> bool {
        false
    }

    fn walk(&self) -> WindowWalk<'_> {
        WindowWalk::Rows(Box::new(DerivativeWalk { derivative: self, before: None }))
    }
}

struct DerivativeWalk<'a> {
    derivative: &'a Derivative,
    /// The metric and the ticks of the row before.
    before: Option<(f64, f64)>,
}

impl RowWalk for DerivativeWalk<'_> {
    fn walk(&mut self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Column> {
        let [metric, time, ..] = arguments else { return Err(Error::logical("nonNegativeDerivative without a time")) };
        let Derivative { ticks_per_second, interval_seconds } = self.derivative;
        let metric = cast(metric, &DataType::Float64, &CastOptions::default())?.materialize()?;
        let metric = metric.as_primitive::<Float64Type>()?.values();
        let ticks = |row: usize| match time.value(row) {
            Value::UInt64(seconds) => seconds as f64,
            Value::Int64(ticks) => ticks as f64,
            _ => 0.0,
        };
        let mut derivatives = vec![0.0; rows.rows()];
        for (row, place) in rows.places.iter().enumerate() {
            let own = (metric[row], ticks(row));
            if let Some(before) = self.before.replace(own).filter(|_| place.row > 0) {
                let seconds = (own.1 - before.1) / ticks_per_second;
                let growth = own.0 - before.0;
                if growth >= 0.0 && seconds > 0.0 {
                    derivatives[row] = growth / seconds * interval_seconds;
                }
            }
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, derivatives))
    }
}
