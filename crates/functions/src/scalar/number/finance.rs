//! Cash flows: their net present value at a rate, and the rate at which it is 0; by periods or by days.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::Lists;
use crate::scalar::kernel::truth;
use crate::scalar::simple::{Call, argument, floats};

type Bound = Result<Arc<dyn BoundFunction>>;

fn cash_flow(call: &Call<'_>, at: usize) -> Result<()> {
    let fits = match call.type_of(at) {
        DataType::Array(item) => item.is_float() || item.is_signed_integer(),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let ordinal = if at == 0 { "1st" } else { "2nd" };
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "A value of illegal type was provided as {ordinal} argument 'cashflow' to function '{}'. Expected: \
             Array[Float64|Float32|Int64|Int32|Int16|Int8], got: {}",
            call.name,
            call.type_of(at)
        ),
    ))
}

fn dates(call: &Call<'_>, at: usize) -> Result<()> {
    match call.type_of(at) {
        DataType::Array(item) if matches!(**item, DataType::Date | DataType::Date32) => Ok(()),
        _ => Err(call.illegal(at)),
    }
}

fn float_lists(arguments: &[Column], at: usize) -> Result<(Lists, Vec<f64>)> {
    let lists = Lists::of(arguments, at)?;
    let count = lists.items.rows();
    let values = floats(std::slice::from_ref(&lists.items), 0, count)?;
    Ok((lists, values))
}

/// The days of a year by which days are turned into years.
fn year_days(call: &Call<'_>, at: usize) -> Result<f64> {
    match call.constant(at).and_then(Value::as_str) {
        None if at >= call.arguments.len() => Ok(365.0),
        Some("ACT_365F") => Ok(365.0),
        Some("ACT_365_25") => Ok(365.25),
        _ => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Daycount of function {} must be ACT_365F or ACT_365_25", call.name),
        )),
    }
}

/// Amounts, each so many periods after the first moment.
struct Flow<'a> {
    amounts: &'a [f64],
    times: Vec<f64>,
}

impl Flow<'_> {
    fn value(&self, rate: f64) -> f64 {
        self.amounts.iter().zip(&self.times).map(|(amount, time)| amount / (1.0 + rate).powf(*time)).sum()
    }

    fn slope(&self, rate: f64) -> f64 {
        self.amounts.iter().zip(&self.times).map(|(amount, time)| -time * amount / (1.0 + rate).powf(time + 1.0)).sum()
    }

    /// The rate at which the value is 0: Newton's steps from a guess, and halving where those leave the range; NaN where there is none.
    fn rate(&self, guess: f64) -> f64 {
        const STEPS_MAX: usize = 100;
        const NEAR: f64 = 1e-10;
        let mut rate = guess;
        for _ in 0..STEPS_MAX {
            let step = self.value(rate) / self.slope(rate);
            rate -= step;
            if !rate.is_finite() || rate <= -1.0 {
                break;
            }
            if step.abs() < NEAR {
                return rate;
            }
        }
        let (mut low, mut high) = (-0.999_999, 100.0);
        let at_low = self.value(low);
        if at_low.is_nan() || at_low.signum() == self.value(high).signum() {
            return f64::NAN;
        }
        for _ in 0..2 * STEPS_MAX {
            let middle = f64::midpoint(low, high);
            if self.value(middle).signum() == at_low.signum() { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    }
}

const GUESS: f64 = 0.1;

/// `financialInternalRateOfReturn(amounts[, guess])`.
pub(super) fn resolve_rate(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    cash_flow(call, 0)?;
    call.each([1], DataType::is_number)?;
    call.bind(DataType::Float64, |arguments, rows| {
        let (lists, amounts) = float_lists(arguments, 0)?;
        let guesses = if arguments.len() > 1 { floats(arguments, 1, rows)? } else { vec![GUESS; rows] };
        let rate = |row: usize| {
            let amounts = &amounts[lists.range(row)];
            checkpoint(20_000 + 100 * amounts.len())?;
            let times = (0..amounts.len()).map(|period| period as f64).collect();
            Ok(Flow { amounts, times }.rate(guesses[row]))
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, (0..rows).map(rate).collect::<Result<_>>()?))
    })
}

/// `financialNetPresentValue(rate, amounts[, the first counts from period 0])`.
pub(super) fn resolve_value(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    call.each([0], DataType::is_number)?;
    cash_flow(call, 1)?;
    call.bind(DataType::Float64, |arguments, rows| {
        let rates = floats(arguments, 0, rows)?;
        let (lists, amounts) = float_lists(arguments, 1)?;
        let from_zero = if arguments.len() > 2 { truth(argument(arguments, 2)?, rows)? } else { vec![1; rows] };
        let value = |row: usize| {
            let amounts = &amounts[lists.range(row)];
            checkpoint(16 * amounts.len())?;
            // The discount grows from period to period, as ClickHouse has it.
            let growth = 1.0 + rates[row];
            let mut discount = if from_zero[row] == 1 { 1.0 } else { growth };
            let mut value = 0.0;
            for amount in amounts {
                value += amount / discount;
                discount *= growth;
            }
            Ok(value)
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, (0..rows).map(value).collect::<Result<_>>()?))
    })
}

/// The flow of a row by its days.
fn dated<'a>(
    name: &str,
    (amounts, of_amounts): &'a (Lists, Vec<f64>),
    (dates, of_dates): &(Lists, Vec<f64>),
    row: usize,
    year: f64,
) -> Result<Flow<'a>> {
    let (amounts, days) = (&of_amounts[amounts.range(row)], &of_dates[dates.range(row)]);
    if amounts.len() != days.len() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Cashflow and dates of function {name} must be arrays of the same size"),
        ));
    }
    checkpoint(20_000 + 100 * amounts.len())?;
    let first = days.first().copied().unwrap_or(0.0);
    Ok(Flow { amounts, times: days.iter().map(|day| (day - first) / year).collect() })
}

/// `financialInternalRateOfReturnExtended(amounts, dates[, guess[, daycount]])`.
pub(super) fn resolve_dated_rate(call: &Call<'_>) -> Bound {
    call.arguments(2..=4)?;
    cash_flow(call, 0)?;
    dates(call, 1)?;
    call.each([2], DataType::is_number)?;
    let (year, name) = (year_days(call, 3)?, call.name);
    call.bind(DataType::Float64, move |arguments, rows| {
        let (amounts, days) = (float_lists(arguments, 0)?, float_lists(arguments, 1)?);
        let guesses = if arguments.len() > 2 { floats(arguments, 2, rows)? } else { vec![GUESS; rows] };
        let rate = |row: usize| Ok(dated(name, &amounts, &days, row, year)?.rate(guesses[row]));
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, (0..rows).map(rate).collect::<Result<_>>()?))
    })
}

/// `financialNetPresentValueExtended(rate, amounts, dates[, daycount])`.
pub(super) fn resolve_dated_value(call: &Call<'_>) -> Bound {
    call.arguments(3..=4)?;
    call.each([0], DataType::is_number)?;
    cash_flow(call, 1)?;
    dates(call, 2)?;
    let (year, name) = (year_days(call, 3)?, call.name);
    call.bind(DataType::Float64, move |arguments, rows| {
        let rates = floats(arguments, 0, rows)?;
        let (amounts, days) = (float_lists(arguments, 1)?, float_lists(arguments, 2)?);
        let value = |row: usize| Ok(dated(name, &amounts, &days, row, year)?.value(rates[row]));
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, (0..rows).map(value).collect::<Result<_>>()?))
    })
}
