//! Tests that ask for the order of values alone: the U test of Mann and Whitney (with the normal approximation and ties), the test of
//! Kolmogorov and Smirnov (exact by counting paths in the grid of both samples, or by the limit distribution), and Spearman's rank
//! correlation.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;

use super::distributions::normal_tail;
use super::samples::{self, OfSamples, Samples};
use crate::aggregate::family::Call;
use crate::aggregate::results::{float_tuple, float_values};

/// Which differences count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Alternative {
    TwoSided,
    Less,
    Greater,
}

fn alternative(call: &Call<'_>) -> Result<Alternative> {
    let Some(parameter) = call.parameters.first() else { return Ok(Alternative::TwoSided) };
    let Value::String(text) = parameter else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Aggregate function {} require first parameter to be a String.", call.name),
        ));
    };
    match &**text {
        b"two-sided" => Ok(Alternative::TwoSided),
        b"less" => Ok(Alternative::Less),
        b"greater" => Ok(Alternative::Greater),
        _ => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!(
                "Unknown parameter in aggregate function {}. It must be one of: 'two-sided', 'less', 'greater'.",
                call.name
            ),
        )),
    }
}

/// The ranks of values, from 1, equal values sharing theirs; and the sum over equal values of their number's cube less the number.
fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut ranks = vec![0.0; values.len()];
    let (mut start, mut ties) = (0, 0.0);
    while start < order.len() {
        let first = values[order[start]];
        let equal = order[start..].iter().take_while(|at| values[**at] == first).count().max(1);
        let rank = (start + 1 + start + equal) as f64 / 2.0;
        order[start..start + equal].iter().for_each(|at| ranks[*at] = rank);
        ties += (equal as f64).powi(3) - equal as f64;
        start += equal;
    }
    (ranks, ties)
}

pub(in crate::aggregate) fn resolve_mann_whitney(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    if call.parameters.len() > 2 {
        return Err(call.wrong_parameters("two parameter or less."));
    }
    let alternative = alternative(call)?;
    let continuity = match call.parameters.get(1) {
        None => true,
        Some(value) => match value.as_u64() {
            Some(flag) => flag != 0,
            None => {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!("Aggregate function {} require second parameter to be a UInt64.", call.name),
                ));
            }
        },
    };
    call.numbers(2)?;
    let return_type = float_tuple(&["u_statistic", "p_value"]);
    Ok(samples::function(MannWhitney { return_type, alternative, continuity }))
}

#[derive(Debug)]
struct MannWhitney {
    return_type: DataType,
    alternative: Alternative,
    /// Whether half a rank makes up for the steps of the statistic.
    continuity: bool,
}

impl OfSamples for MannWhitney {
    const INDEXED: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn result(&self, samples: Samples) -> Result<Value> {
        if samples.first.is_empty() || samples.second.is_empty() {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "Aggregate function mannWhitneyUTest require both samples to be non empty",
            ));
        }
        let (n1, n2) = (samples.first.len() as f64, samples.second.len() as f64);
        let both: Vec<f64> = samples.first.iter().chain(&samples.second).copied().collect();
        checkpoint(both.len() * 100)?;
        let (ranks, ties) = ranks(&both);
        let n = n1 + n2;
        let tie_correction = 1.0 - ties / (n.powi(3) - n);
        let of_first: f64 = ranks[..samples.first.len()].iter().sum();
        let u1 = n1 * n2 + n1 * (n1 + 1.0) / 2.0 - of_first;
        let u2 = n1 * n2 - u1;
        let mean = n1 * n2 / 2.0 + if self.continuity { 0.5 } else { 0.0 };
        let deviation = (tie_correction * n1 * n2 * (n + 1.0) / 12.0).sqrt();
        let u = match self.alternative {
            Alternative::Greater => u2,
            Alternative::Less => u1,
            Alternative::TwoSided => u1.max(u2),
        };
        let z = (u - mean) / deviation;
        if !z.is_finite() {
            return Ok(float_values(&[f64::NAN, f64::NAN]));
        }
        let p = match self.alternative {
            Alternative::TwoSided => 2.0 * normal_tail(z.abs()),
            _ => normal_tail(z),
        };
        Ok(float_values(&[u2, p]))
    }
}

pub(in crate::aggregate) fn resolve_kolmogorov_smirnov(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    if call.parameters.len() > 2 {
        return Err(call.wrong_parameters("two parameter or less."));
    }
    let alternative = alternative(call)?;
    let method = match call.parameters.get(1) {
        None => Method::Auto,
        Some(Value::String(text)) => match &**text {
            b"auto" => Method::Auto,
            b"exact" => Method::Exact,
            b"asymp" | b"asymptotic" => Method::Asymptotic,
            _ => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Unknown method in aggregate function {}. It must be one of: 'auto', 'exact', 'asymp' (or \
                         'asymptotic').",
                        call.name
                    ),
                ));
            }
        },
        Some(_) => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Aggregate function {} require second parameter to be a String", call.name),
            ));
        }
    };
    call.numbers(2)?;
    let return_type = float_tuple(&["d_statistic", "p_value"]);
    Ok(samples::function(KolmogorovSmirnov { return_type, alternative, method }))
}

/// How the probability is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Auto,
    Exact,
    Asymptotic,
}

#[derive(Debug)]
struct KolmogorovSmirnov {
    return_type: DataType,
    alternative: Alternative,
    method: Method,
}

/// Values this near are the same.
const TOLERANCE: f64 = 1e-12;

/// Samples up to this size are compared exactly if nothing else is asked for.
const EXACT_MAX: usize = 10_000;

impl KolmogorovSmirnov {
    /// The largest and the least difference of the two distributions.
    fn extremes(first: &[f64], second: &[f64]) -> (f64, f64) {
        let (share1, share2) = (1.0 / first.len() as f64, 1.0 / second.len() as f64);
        let (mut at1, mut at2) = (0, 0);
        let (mut difference, mut greatest, mut least) = (0.0_f64, 0.0_f64, 0.0_f64);
        let same = |sorted: &[f64], at: usize| {
            sorted[at..].iter().take_while(|value| (**value - sorted[at]).abs() <= TOLERANCE).count().max(1)
        };
        while at1 < first.len() && at2 < second.len() {
            let (left, right) = (first[at1], second[at2]);
            if (left - right).abs() < TOLERANCE {
                let (of_first, of_second) = (same(first, at1), same(second, at2));
                difference += share1 * of_first as f64;
                difference -= share2 * of_second as f64;
                at1 += of_first;
                at2 += of_second;
            } else if left < right {
                difference += share1;
                at1 += 1;
            } else {
                difference -= share2;
                at2 += 1;
            }
            greatest = greatest.max(difference);
            least = least.min(difference);
        }
        (greatest, least)
    }

    /// The share of paths through the grid of both samples that reach a difference of `d`.
    fn exact(&self, d: f64, n1: usize, n2: usize) -> Result<f64> {
        let (share1, share2) = (1.0 / n1 as f64, 1.0 / n2 as f64);
        let reaches = |i: usize, j: usize| {
            let difference = i as f64 * share1 - j as f64 * share2;
            let difference = if self.alternative == Alternative::TwoSided { difference.abs() } else { difference };
            difference - d >= -TOLERANCE
        };
        let mut shares: Vec<f64> = Vec::new();
        squall_types::grow(&mut shares, n2 + 1)?;
        shares.push(0.0);
        for j in 1..=n2 {
            let before = shares[j - 1];
            shares.push(if reaches(0, j) { 1.0 } else { before });
        }
        for i in 1..=n1 {
            checkpoint(n2 * 4)?;
            if reaches(i, 0) {
                shares[0] = 1.0;
            }
            for j in 1..=n2 {
                shares[j] = if reaches(i, j) {
                    1.0
                } else {
                    let v = i as f64 / (i + j) as f64;
                    v * shares[j] + (1.0 - v) * shares[j - 1]
                };
            }
        }
        Ok(shares[n2])
    }

    /// The limit for large samples.
    fn asymptotic(&self, d: f64, n1: usize, n2: usize) -> f64 {
        let (n, m) = (n1.min(n2) as f64, n1.max(n2) as f64);
        let p = m * n / (m + n);
        if self.alternative != Alternative::TwoSided {
            let z = p.sqrt() * d;
            return (-2.0 * z * z - 2.0 * z * (m + 2.0 * n) / (m * n * (m + n)).sqrt() / 3.0).exp();
        }
        let x = d * p.sqrt();
        if x <= 0.0 {
            return 1.0;
        }
        if x < 1.0 {
            let terms =
                (1..).step_by(2).map(|k| (-(f64::from(k) * std::f64::consts::PI).powi(2) / (8.0 * x * x)).exp());
            return 1.0 - terms.take(50).sum::<f64>() * (2.0 * std::f64::consts::PI).sqrt() / x;
        }
        let term = |k: i32| {
            let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
            sign * (-2.0 * f64::from(k * k) * x * x).exp()
        };
        (1..50).map(term).sum()
    }
}

impl OfSamples for KolmogorovSmirnov {
    const INDEXED: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn result(&self, mut samples: Samples) -> Result<Value> {
        if samples.first.is_empty() || samples.second.is_empty() {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "Aggregate function kolmogorovSmirnovTest require both samples to be non empty",
            ));
        }
        let (n1, n2) = (samples.first.len(), samples.second.len());
        checkpoint((n1 + n2) * 100)?;
        samples.first.sort_unstable_by(f64::total_cmp);
        samples.second.sort_unstable_by(f64::total_cmp);
        let (greatest, least) = Self::extremes(&samples.first, &samples.second);
        let d = match self.alternative {
            Alternative::TwoSided => greatest.abs().max(least.abs()),
            Alternative::Less => -least,
            Alternative::Greater => greatest,
        };
        let is_exact = match self.method {
            Method::Auto => n1.max(n2) <= EXACT_MAX,
            method => method == Method::Exact,
        };
        let p = if is_exact {
            // A difference is a whole number of steps of the grid.
            let cells = n1 as f64 * n2 as f64;
            self.exact((0.5 + (d * cells - 1e-7).floor()) / cells, n1, n2)?
        } else {
            self.asymptotic(d, n1, n2)
        };
        Ok(float_values(&[d, p]))
    }
}

pub(in crate::aggregate) fn resolve_correlation(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.numbers(2)?;
    Ok(samples::function(RankCorrelation))
}

/// `rankCorr`.
#[derive(Debug)]
struct RankCorrelation;

impl OfSamples for RankCorrelation {
    const INDEXED: bool = false;

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn result(&self, samples: Samples) -> Result<Value> {
        checkpoint(samples.first.len() * 200)?;
        if samples.first.iter().chain(&samples.second).any(|value| value.is_nan()) {
            return Ok(Value::Float64(f64::NAN));
        }
        let ((lefts, _), (rights, _)) = (ranks(&samples.first), ranks(&samples.second));
        let distances: f64 = lefts.iter().zip(&rights).map(|(left, right)| (left - right).powi(2)).sum();
        let n = lefts.len() as f64;
        Ok(Value::Float64(1.0 - 6.0 * distances / (n * (n * n - 1.0))))
    }
}
