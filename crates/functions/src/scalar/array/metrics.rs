//! How well scores tell labels apart: areas under curves, Gini's coefficient; and the autocorrelation of a series.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use super::{Lists, item_type, list_column};
use crate::function::BoundFunction;
use crate::scalar::kernel::truth;
use crate::scalar::simple::{Call, argument, floats, integers};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// The arrays of an argument and all of their items as floats.
pub(super) fn float_lists(arguments: &[Column], at: usize) -> Result<(Lists, Vec<f64>)> {
    let lists = Lists::of(arguments, at)?;
    let count = lists.items.rows();
    checkpoint(count)?;
    let values = floats(std::slice::from_ref(&lists.items), 0, count)?;
    Ok((lists, values))
}

fn number_items(call: &Call<'_>, at: usize) -> Result<()> {
    let item = item_type(call, at)?;
    if item.is_number() || matches!(item, DataType::Enum8(_) | DataType::Enum16(_) | DataType::Bool) {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!("Function {} cannot process values of type {item}", call.name),
    ))
}

fn sizes_differ(name: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Array argument sizes of function {name} must be equal"))
}

/// `arrayROCAUC(scores, labels[, scale[, offsets]])` and `arrayAUCPR(scores, labels[, offsets])`.
pub(super) fn area(call: &Call<'_>, is_roc: bool) -> Bound {
    call.arguments(2..=if is_roc { 4 } else { 3 })?;
    number_items(call, 0)?;
    number_items(call, 1)?;
    let offsets_at = if is_roc { 3 } else { 2 };
    if is_roc && call.arguments.len() > 2 && (call.type_of(2) != &DataType::Bool || call.constant(2).is_none()) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Third argument (scale) for function {} must be of type const Bool", call.name),
        ));
    }
    if call.arguments.len() > offsets_at && !item_type(call, offsets_at)?.is_integer() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("The offsets of a partition for function {} must be integers", call.name),
        ));
    }
    let name = call.name;
    call.bind(DataType::Float64, move |arguments, rows| {
        let ((scores, of_scores), (labels, of_labels)) = (float_lists(arguments, 0)?, float_lists(arguments, 1)?);
        let scales = if is_roc && arguments.len() > 2 { truth(argument(arguments, 2)?, rows)? } else { vec![1; rows] };
        let offsets = if arguments.len() > offsets_at { Some(float_lists(arguments, offsets_at)?) } else { None };
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (scores, labels) = (&of_scores[scores.range(row)], &of_labels[labels.range(row)]);
            if scores.len() != labels.len() {
                return Err(sizes_differ(name));
            }
            let offsets = match &offsets {
                Some((lists, items)) => {
                    let (own, wanted) = (&items[lists.range(row)], if is_roc { 4 } else { 3 });
                    if own.len() != wanted || own.iter().any(|offset| *offset < 0.0) {
                        return Err(Error::new(
                            ErrorCode::BAD_ARGUMENTS,
                            format!("Offsets of a partition for function {name} must be {wanted}, and not negative"),
                        ));
                    }
                    Some(own)
                }
                None => None,
            };
            let mut ranked: Vec<(f64, bool)> =
                scores.iter().zip(labels).map(|(score, label)| (*score, *label > 0.0)).collect();
            squall_types::sort_long(&mut ranked, |left, right| right.0.total_cmp(&left.0))?;
            values.push(match is_roc {
                true => roc(&ranked, scales[row] != 0, offsets),
                false => precision_recall(&ranked, offsets),
            });
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
    })
}

fn roc(ranked: &[(f64, bool)], is_scaled: bool, offsets: Option<&[f64]>) -> f64 {
    let (mut hits, mut misses) = match offsets {
        Some([hits, misses, ..]) => (*hits, *misses),
        _ => (0.0, 0.0),
    };
    let (mut last_hits, mut last_misses, mut area, mut score) = (hits, misses, 0.0, f64::NAN);
    for (own, is_hit) in ranked {
        if *own != score {
            area += (misses - last_misses) * (hits + last_hits) / 2.0;
            (last_hits, last_misses, score) = (hits, misses, *own);
        }
        if *is_hit {
            hits += 1.0;
        } else {
            misses += 1.0;
        }
    }
    area += (misses - last_misses) * (hits + last_hits) / 2.0;
    if !is_scaled {
        return area;
    }
    let (positives, negatives) = match offsets {
        Some([_, _, positives, negatives]) => (total(*positives, hits), total(*negatives, misses)),
        _ => (hits, misses),
    };
    if positives == 0.0 || negatives == 0.0 { f64::NAN } else { area / positives / negatives }
}

/// How many there are in all partitions: a total of 0 means that no later partition adds to those counted.
fn total(given: f64, counted: f64) -> f64 {
    if given == 0.0 { counted } else { given }
}

fn precision_recall(ranked: &[(f64, bool)], offsets: Option<&[f64]>) -> f64 {
    let (mut hits, mut misses) = match offsets {
        Some([hits, misses, ..]) => (*hits, *misses),
        _ => (0.0, 0.0),
    };
    let (mut last_hits, mut area, mut score) = (hits, 0.0, f64::NAN);
    let part = |hits: f64, last: f64, misses: f64| match hits + misses {
        0.0 => 0.0,
        all => (hits - last) * (hits / all),
    };
    for (own, is_hit) in ranked {
        if *own != score {
            area += part(hits, last_hits, misses);
            (last_hits, score) = (hits, *own);
        }
        if *is_hit {
            hits += 1.0;
        } else {
            misses += 1.0;
        }
    }
    area += part(hits, last_hits, misses);
    let positives = offsets.and_then(|offsets| offsets.get(2)).map_or(hits, |positives| total(*positives, hits));
    if positives == 0.0 { 0.0 } else { area / positives }
}

/// `arrayNormalizedGini(predicted, labels)`.
pub(super) fn gini(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    number_items(call, 0)?;
    number_items(call, 1)?;
    let result = DataType::tuple([DataType::Float64, DataType::Float64, DataType::Float64]);
    call.bind(result.clone(), move |arguments, rows| {
        let ((predicted, of_predicted), (labels, of_labels)) = (float_lists(arguments, 0)?, float_lists(arguments, 1)?);
        let mut parts = [Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows)];
        for row in 0..rows {
            let (predicted, labels) = (&of_predicted[predicted.range(row)], &of_labels[labels.range(row)]);
            if predicted.len() != labels.len() {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_COLUMN,
                    "Prediction and label arrays in function arrayNormalizedGini should have same size for each row",
                ));
            }
            let total: f64 = labels.iter().sum();
            let count = labels.len() as f64;
            let coefficient = |mut ranked: Vec<(f64, f64)>| -> Result<f64> {
                squall_types::sort_long(&mut ranked, |left, right| right.0.total_cmp(&left.0))?;
                let (mut running, mut sum) = (0.0, 0.0);
                for (_, label) in ranked {
                    running += label / total;
                    sum += running;
                }
                Ok(sum / count - (count + 1.0) / (2.0 * count))
            };
            let own = coefficient(predicted.iter().copied().zip(labels.iter().copied()).collect())?;
            let best = coefficient(labels.iter().map(|label| (*label, *label)).collect())?;
            for (part, value) in parts.iter_mut().zip([own, best, own / best]) {
                part.push(value);
            }
        }
        let columns = parts.map(|values| Column::from_primitive::<Float64Type>(DataType::Float64, values));
        from_elements(&result, &columns, rows)
    })
}

/// `arrayAutocorrelation(series[, lags])`.
pub(super) fn autocorrelation(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    number_items(call, 0)?;
    call.integers([1])?;
    call.bind(DataType::array(DataType::Float64), |arguments, rows| {
        let (lists, items) = float_lists(arguments, 0)?;
        let lags = if arguments.len() > 1 { Some(integers(arguments, 1, rows)?) } else { None };
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for row in 0..rows {
            let series = &items[lists.range(row)];
            let count = lags.as_ref().map_or(series.len(), |lags| usize::try_from(lags[row]).unwrap_or(0));
            let mean = series.iter().sum::<f64>() / series.len() as f64;
            let variance: f64 = series.iter().map(|value| (value - mean) * (value - mean)).sum();
            for lag in 0..count.min(series.len()) {
                checkpoint(series.len())?;
                let pairs = series.iter().zip(&series[lag..]);
                let sum: f64 = pairs.map(|(early, late)| (early - mean) * (late - mean)).sum();
                values.push(sum / variance);
            }
            ends.push(values.len() as i32);
        }
        let values = Column::from_primitive::<Float64Type>(DataType::Float64, values);
        list_column(&DataType::Float64, ends, values.array().clone())
    })
}
