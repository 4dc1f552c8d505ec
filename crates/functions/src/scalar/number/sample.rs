//! How large samples must be, and whether two proportions differ.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, floats, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// The share of a standard normal distribution below a value.
fn below(value: f64) -> f64 {
    libm::erfc(-value / std::f64::consts::SQRT_2) / 2.0
}

/// The value below which this share of a standard normal distribution is: found by halving, then by Newton's steps. In the upper half
/// the share above it is what counts: it is small, so that more of its digits are known.
fn quantile(share: f64) -> f64 {
    if !(share > 0.0 && share < 1.0) {
        return f64::NAN;
    }
    if share > 0.5 {
        return -quantile(1.0 - share);
    }
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if below(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    let mut value: f64 = (low + high) / 2.0;
    for _ in 0..3 {
        let density = (-value * value / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if density > 0.0 {
            value -= (below(value) - share) / density;
        }
    }
    value
}

/// `minSampleSizeContinuous(baseline, sigma, mde, power, alpha)`, `minSampleSizeConversion(baseline, mde, power, alpha)`.
pub(super) fn resolve_size(call: &Call<'_>) -> Bound {
    let is_conversion = call.name == "minSampleSizeConversion";
    let count = if is_conversion { 4 } else { 5 };
    call.arguments(count..=count)?;
    call.each(0..count, DataType::is_number)?;
    let result = DataType::named_tuple([
        ("minimum_sample_size", DataType::Float64),
        ("detect_range_lower", DataType::Float64),
        ("detect_range_upper", DataType::Float64),
    ]);
    call.bind(result.clone(), move |arguments, rows| {
        let columns = (0..count).map(|at| floats(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        value_column(&result, rows, |row| {
            let values: Vec<f64> = columns.iter().map(|column| column[row]).collect();
            let [baseline, .., power, alpha] = values[..] else { return Err(Error::logical("arguments are missing")) };
            let (of_alpha, of_power) = (quantile(1.0 - alpha / 2.0), quantile(power));
            let mde = values[count - 3];
            let (size, lower, upper) = if is_conversion {
                let other = baseline + mde;
                let (own_rest, other_rest) = (1.0 - baseline, 1.0 - other);
                let mean = (baseline + other) / 2.0;
                let spread = of_alpha * (2.0 * mean * (1.0 - mean)).sqrt()
                    + of_power * (baseline * own_rest + other * other_rest).sqrt();
                (spread * spread / (mde * mde), baseline - mde, baseline + mde)
            } else {
                let (sigma, difference) = (values[1], baseline * mde);
                let size = 2.0 * (of_alpha + of_power).powi(2) * sigma * sigma / (difference * difference);
                (size, baseline * (1.0 - mde), baseline * (1.0 + mde))
            };
            Ok(Value::Tuple([size, lower, upper].map(Value::Float64).into()))
        })
    })
}

/// `proportionsZTest(successes_x, successes_y, trials_x, trials_y, confidence, pool)`.
pub(super) fn resolve_proportions(call: &Call<'_>) -> Bound {
    call.arguments(6..=6)?;
    call.each(0..4, |data_type| data_type.is_unsigned_integer())?;
    call.each([4], DataType::is_float)?;
    let pools = match call.constant(5).and_then(Value::as_str) {
        Some("pooled") => true,
        Some("unpooled") => false,
        _ => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("The sixth argument of function {} must be 'pooled' or 'unpooled'", call.name),
            ));
        }
    };
    let result = DataType::named_tuple([
        ("z_statistic", DataType::Float64),
        ("p_value", DataType::Float64),
        ("confidence_interval_low", DataType::Float64),
        ("confidence_interval_high", DataType::Float64),
    ]);
    call.bind(result.clone(), move |arguments, rows| {
        let confidences = argument(arguments, 4)?;
        let columns = (0..4).map(|at| floats(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        value_column(&result, rows, |row| {
            let [x, y, trials_x, trials_y] = [0, 1, 2, 3].map(|at: usize| columns[at][row]);
            let (share_x, share_y) = (x / trials_x, y / trials_y);
            let difference = share_x - share_y;
            let apart = share_x * (1.0 - share_x) / trials_x + share_y * (1.0 - share_y) / trials_y;
            let pooled = (x + y) / (trials_x + trials_y);
            let spread = if pools { pooled * (1.0 - pooled) * (1.0 / trials_x + 1.0 / trials_y) } else { apart };
            let z = difference / spread.sqrt();
            let p = 2.0 * below(-z.abs());
            let confidence = confidences.value(row).as_f64().unwrap_or(f64::NAN);
            let half = quantile((1.0 + confidence) / 2.0) * apart.sqrt();
            Ok(Value::Tuple([z, p, difference - half, difference + half].map(Value::Float64).into()))
        })
    })
}
