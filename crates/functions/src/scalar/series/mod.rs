//! Series of numbers: outliers, a series taken apart into season, trend and rest, and series over grids of time.

mod grid;
mod tags;

use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use super::array::{Lists, list_column};
use super::simple::{Call, Function, floats, integers};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("seriesDecomposeSTL", decompose),
    &Function::new("seriesOutliersDetectTukey", outliers),
    &Function::new("timeSeriesFromGrid", grid::resolve_from_grid),
    &Function::new("timeSeriesRange", grid::resolve_range),
    &Function::new("timeSeriesCopyTag", tags::resolve_copy).random(),
    &Function::new("timeSeriesCopyTags", tags::resolve_copy).random(),
    &Function::new("timeSeriesExtractTag", tags::resolve_extract).random(),
    &Function::new("timeSeriesGroupToSamplingKey", tags::resolve_sampling_key).random(),
    &Function::new("timeSeriesGroupToTags", tags::resolve_to_tags).random(),
    &Function::new("timeSeriesIdToGroup", tags::resolve_of_id).random(),
    &Function::new("timeSeriesIdToTags", tags::resolve_of_id).random(),
    &Function::new("timeSeriesJoinTags", tags::resolve_join).random(),
    &Function::new("timeSeriesRemoveAllTagsExcept", tags::resolve_remove).random(),
    &Function::new("timeSeriesRemoveTag", tags::resolve_remove).random(),
    &Function::new("timeSeriesRemoveTags", tags::resolve_remove).random(),
    &Function::new("timeSeriesReplaceTag", tags::resolve_replace).random(),
    &Function::new("timeSeriesStoreTags", tags::resolve_store).with_nulls().random(),
    &Function::new("timeSeriesTagsToGroup", tags::resolve_to_group).with_nulls().random(),
    &Function::new("timeSeriesThrowDuplicateSeriesIf", tags::resolve_duplicate).random(),
    &Function::new("timeSeriesMetricTypeToSuffixes", tags::resolve_suffixes).never_throws(),
    &Function::new("timeSeriesPrometheusValueToString", tags::resolve_value_text).never_throws(),
    &Function::new("timeSeriesTagsToMap", tags::resolve_to_map).with_nulls(),
];

fn number_array(call: &Call<'_>, at: usize) -> Result<()> {
    match call.type_of(at) {
        DataType::Array(item) if item.is_number() => Ok(()),
        _ => Err(call.illegal(at)),
    }
}

/// The arrays of an argument and all of their items.
fn series(arguments: &[Column], at: usize) -> Result<(Lists, Vec<f64>)> {
    let lists = Lists::of(arguments, at)?;
    let items = floats(std::slice::from_ref(&lists.items), 0, lists.items.rows())?;
    Ok((lists, items))
}

/// `seriesOutliersDetectTukey(series[, low, high, K])`: how far each value lies outside of the fences, 0 between them.
fn outliers(call: &Call<'_>) -> Bound {
    if call.arguments.len() != 1 {
        call.arguments(4..=4)?;
    }
    number_array(call, 0)?;
    let parameter = |at: usize, otherwise: f64, least: f64, most: f64| match call.constant(at).and_then(Value::as_f64) {
        None if at >= call.arguments.len() => Ok(otherwise),
        Some(value) if (least..=most).contains(&value) => Ok(value),
        Some(_) => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Argument {} of function {} must be in the range [{least}, {most}]", at + 1, call.name),
        )),
        None => Err(call.illegal(at)),
    };
    let (low, high) = (parameter(1, 0.25, 0.02, 0.98)?, parameter(2, 0.75, 0.02, 0.98)?);
    let factor = parameter(3, 1.5, 0.0, f64::MAX)?;
    call.bind(DataType::array(DataType::Float64), move |arguments, rows| {
        let (lists, items) = series(arguments, 0)?;
        let (mut values, mut ends) = (Vec::with_capacity(items.len()), vec![0]);
        for row in 0..rows {
            let own = &items[lists.range(row)];
            if own.len() < 4 {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "At least four data points are needed for function seriesOutliersDetectTukey",
                ));
            }
            let mut sorted = own.to_vec();
            squall_types::sort_long(&mut sorted, f64::total_cmp)?;
            let (first, third) = (quantile(&sorted, low), quantile(&sorted, high));
            let reach = factor * (third - first);
            values.extend(own.iter().map(|value| match value {
                value if *value < first - reach => value - (first - reach),
                value if *value > third + reach => value - (third + reach),
                _ => 0.0,
            }));
            ends.push(values.len() as i32);
        }
        let values = Column::from_primitive::<Float64Type>(DataType::Float64, values);
        list_column(&DataType::Float64, ends, values.array().clone())
    })
}

/// The value at a share of a sorted series; between two values, their mean.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len() as f64;
    let at = (place as usize).min(sorted.len() - 1);
    if place.fract() == 0.0 && at > 0 { f64::midpoint(sorted[at - 1], sorted[at]) } else { sorted[at] }
}

/// `seriesDecomposeSTL(series, period)`: season, trend, rest, and the sum of the first two.
fn decompose(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    number_array(call, 0)?;
    call.integers([1])?;
    let part = DataType::array(DataType::Float32);
    call.bind(DataType::array(part.clone()), move |arguments, rows| {
        let (lists, items) = series(arguments, 0)?;
        let periods = integers(arguments, 1, rows)?;
        let (mut values, mut inner_ends, mut ends) = (Vec::new(), vec![0], vec![0]);
        for row in 0..rows {
            let own: Vec<f32> = items[lists.range(row)].iter().map(|value| *value as f32).collect();
            checkpoint(own.len().saturating_mul(2000))?;
            let period = usize::try_from(periods[row]).unwrap_or(0);
            let fitted = stlrs::params().fit(&own, period).map_err(|error| {
                Error::new(ErrorCode::BAD_ARGUMENTS, format!("{error} (function seriesDecomposeSTL)"))
            })?;
            let (season, trend) = (fitted.seasonal(), fitted.trend());
            for part in [season, trend, fitted.remainder()] {
                values.extend_from_slice(part);
                inner_ends.push(values.len() as i32);
            }
            values.extend(season.iter().zip(trend).map(|(season, trend)| season + trend));
            inner_ends.push(values.len() as i32);
            ends.push(inner_ends.len() as i32 - 1);
        }
        let values = Column::from_primitive::<Float32Type>(DataType::Float32, values);
        let parts = list_column(&DataType::Float32, inner_ends, values.array().clone())?;
        list_column(&part, ends, parts.array().clone())
    })
}
