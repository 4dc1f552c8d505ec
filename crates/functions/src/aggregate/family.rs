//! The table of aggregate functions: names, how each treats NULL, and where it is resolved.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::registry::own_name;

use super::arrays::{
    group_array, group_array_insert_at, group_array_intersect, group_array_moving, group_array_pick, group_concat,
    group_uniq_array,
};
use super::distinct::{distinct_paths, group_bitmap, hyper_log_log, uniq, uniq_exact, uniq_up_to};
use super::events::{funnel, intervals, next_node, sequence};
use super::extremes::{any, any_heavy, arg_min_max, min_max, top_k};
use super::quantiles::{histogram, quantile, sketched};
use super::series::{
    delta_sum, largest_triangle, moving_average, series_masks, sparkbar, time_decayed, time_series, time_series_grid,
};
use super::statistics::{
    analysis_of_variance, contingency, covariance, entropy, gini, information_value, k_means, mean_tests,
    moment_matrix, numeric_vector, rank_tests, regression, shape, stochastic, variance, welford,
};
use super::sums::{as_floats, average, average_weighted, bits, count, kahan, mapped_arrays, sum, sum_count};
use super::{flame_graph, json_patch, nothing, throw};

/// A function asked for by name.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    /// The function's own name, aliases resolved.
    pub name: &'static str,
    pub parameters: &'a [Value],
    /// Without `Nullable`, unless the family handles NULLs itself; never `LowCardinality`.
    pub arguments: &'a [DataType],
}

impl<'a> Call<'a> {
    /// The type of the only argument.
    pub fn argument(&self) -> Result<&'a DataType> {
        match self.arguments {
            [one] => Ok(one),
            _ => Err(self.wrong_arguments("single argument")),
        }
    }

    /// The types of exactly two arguments.
    pub fn two_arguments(&self) -> Result<(&'a DataType, &'a DataType)> {
        match self.arguments {
            [first, second] => Ok((first, second)),
            _ => Err(self.wrong_arguments("two arguments")),
        }
    }

    /// The types of so many arguments, all numbers or Booleans.
    pub fn numbers(&self, count: usize) -> Result<()> {
        if self.arguments.len() != count {
            return Err(self.wrong_arguments(if count == 1 { "single argument" } else { "two arguments" }));
        }
        let illegal = self.arguments.iter().find(|argument| !argument.is_number() && **argument != DataType::Bool);
        illegal.map_or(Ok(()), |illegal| Err(self.illegal_type(illegal)))
    }

    /// A parameter as a number that it must be.
    pub fn float_parameter(&self, at: usize) -> Result<f64> {
        self.parameters.get(at).and_then(Value::as_f64).ok_or_else(|| {
            Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Aggregate function {} requires numeric parameters", self.name),
            )
        })
    }

    /// `BAD_ARGUMENTS`.
    pub fn bad_arguments(&self, what: impl std::fmt::Display) -> Error {
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("Aggregate function {}: {what}", self.name))
    }

    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH` for parameters.
    pub fn wrong_parameters(&self, wanted: &str) -> Error {
        Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Aggregate function {} requires {wanted}", self.name),
        )
    }

    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`.
    pub fn wrong_arguments(&self, wanted: &str) -> Error {
        Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Aggregate function {} requires {wanted}", self.name),
        )
    }

    /// `ILLEGAL_TYPE_OF_ARGUMENT`.
    pub fn illegal_type(&self, argument: &DataType) -> Error {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {argument} of argument for aggregate function {}", self.name),
        )
    }

    /// Refuses parameters.
    pub fn without_parameters(&self) -> Result<()> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::AGGREGATE_FUNCTION_DOESNT_ALLOW_PARAMETERS,
            format!("Aggregate function {} cannot have parameters", self.name),
        ))
    }

    /// The only parameter, a positive count, where there is one.
    pub fn limit(&self) -> Result<Option<usize>> {
        match self.parameters {
            [] => Ok(None),
            [limit] => match limit.as_u64().and_then(|limit| usize::try_from(limit).ok()) {
                Some(limit) if limit > 0 => Ok(Some(limit)),
                _ => Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Parameter for aggregate function {} should be positive number", self.name),
                )),
            },
            _ => Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Incorrect number of parameters for aggregate function {}, should be 0 or 1", self.name),
            )),
        }
    }
}

/// What a function makes of NULL arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nulls {
    /// Rows with a NULL are skipped; the result is NULL where no row was left.
    Skipped,
    /// Rows with a NULL are skipped; a number of values that is 0 where no row was left.
    Counted,
    /// Rows with a NULL are skipped; what the function says of no rows is its result where no row was left.
    PassedOver,
    /// The function sees the NULLs itself.
    Handled,
}

/// One function.
pub(super) struct Family {
    pub name: &'static str,
    pub nulls: Nulls,
    /// Whether the result depends on the order of rows in no way.
    pub ignores_order: bool,
    /// Whether the result depends on which values there are and not on how often each is there.
    pub ignores_repeats: bool,
    /// Whether it looks into the server itself.
    pub is_introspection: bool,
    /// Whether it computes with floats, so that decimals and wide integers are taken as such.
    pub takes_floats: bool,
    /// Whether states do not depend on parameters, so that those of other parameters may be merged.
    pub has_common_states: bool,
    /// The function that puts together its results over parts of the rows: the sum of counts.
    pub merged_by: Option<&'static str>,
    pub resolve: fn(&Call<'_>) -> Result<Arc<dyn AggregateFunction>>,
}

impl Family {
    const fn ignores_order(mut self) -> Self {
        self.ignores_order = true;
        self
    }

    const fn ignores_repeats(mut self) -> Self {
        self.ignores_order = true;
        self.ignores_repeats = true;
        self
    }

    const fn merged_by(mut self, name: &'static str) -> Self {
        self.merged_by = Some(name);
        self
    }

    const fn takes_floats(mut self) -> Self {
        self.takes_floats = true;
        self
    }

    const fn with_common_states(mut self) -> Self {
        self.has_common_states = true;
        self
    }

    const fn looks_inside(mut self) -> Self {
        self.is_introspection = true;
        self
    }

    /// The function for these arguments, without `Nullable` where the family does not see NULLs. One that does not know truth values
    /// takes them as numbers.
    pub fn settle(&self, parameters: &[Value], arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
        let call = Call { name: self.name, parameters, arguments };
        if self.takes_floats
            && let Some(function) = as_floats::resolve(&call, self.resolve)?
        {
            return Ok(function);
        }
        (self.resolve)(&call).or_else(|error| match as_floats::resolve_truths(&call, self.resolve) {
            Ok(Some(function)) => Ok(function),
            _ => Err(error),
        })
    }

    /// The function of this name, of an alias of it, or of its name in another case where that is allowed.
    pub fn of(name: &str) -> Option<&'static Self> {
        let own = own_name(name);
        FAMILIES.iter().find(|family| family.name == own)
    }
}

const fn family(
    name: &'static str,
    nulls: Nulls,
    resolve: fn(&Call<'_>) -> Result<Arc<dyn AggregateFunction>>,
) -> Family {
    Family {
        name,
        nulls,
        resolve,
        ignores_order: false,
        ignores_repeats: false,
        is_introspection: false,
        takes_floats: false,
        has_common_states: false,
        merged_by: None,
    }
}

/// Every function.
pub(super) const FAMILIES: &[Family] = &[
    family("aggThrow", Nulls::Skipped, throw::resolve),
    family("analysisOfVariance", Nulls::Skipped, analysis_of_variance::resolve),
    family("any", Nulls::Skipped, any::resolve),
    family("anyHeavy", Nulls::Skipped, any_heavy::resolve),
    family("anyLast", Nulls::Skipped, any::resolve),
    family("anyLast_respect_nulls", Nulls::Handled, any::resolve),
    family("any_respect_nulls", Nulls::Handled, any::resolve),
    family("approx_top_k", Nulls::Skipped, top_k::resolve),
    family("approx_top_sum", Nulls::Skipped, top_k::resolve),
    family("argAndMax", Nulls::Skipped, arg_min_max::resolve),
    family("argAndMin", Nulls::Skipped, arg_min_max::resolve),
    family("argMax", Nulls::Skipped, arg_min_max::resolve),
    family("argMin", Nulls::Skipped, arg_min_max::resolve),
    family("avg", Nulls::Skipped, average::resolve).ignores_order(),
    family("avgWeighted", Nulls::Skipped, average_weighted::resolve).takes_floats(),
    family("boundingRatio", Nulls::Skipped, delta_sum::resolve_bounding_ratio).takes_floats(),
    family("categoricalInformationValue", Nulls::Skipped, information_value::resolve).ignores_order(),
    family("contingency", Nulls::Skipped, contingency::resolve),
    family("corr", Nulls::Skipped, covariance::resolve),
    family("corrMatrix", Nulls::Skipped, moment_matrix::resolve),
    family("corrStable", Nulls::Skipped, welford::resolve_pair).takes_floats(),
    family("count", Nulls::Handled, count::resolve).ignores_order().merged_by("sum"),
    family("covarPop", Nulls::Skipped, covariance::resolve),
    family("covarPopMatrix", Nulls::Skipped, moment_matrix::resolve),
    family("covarPopStable", Nulls::Skipped, welford::resolve_pair).takes_floats(),
    family("covarSamp", Nulls::Skipped, covariance::resolve),
    family("covarSampMatrix", Nulls::Skipped, moment_matrix::resolve),
    family("covarSampStable", Nulls::Skipped, welford::resolve_pair).takes_floats(),
    family("cramersV", Nulls::Skipped, contingency::resolve),
    family("cramersVBiasCorrected", Nulls::Skipped, contingency::resolve),
    family("deltaSum", Nulls::Skipped, delta_sum::resolve),
    family("deltaSumTimestamp", Nulls::Skipped, delta_sum::resolve_timestamp),
    family("distinctDynamicTypes", Nulls::Handled, distinct_paths::resolve).ignores_order(),
    family("distinctJSONPaths", Nulls::Handled, distinct_paths::resolve).ignores_order(),
    family("distinctJSONPathsAndTypes", Nulls::Handled, distinct_paths::resolve).ignores_order(),
    family("entropy", Nulls::Skipped, entropy::resolve),
    family("exponentialMovingAverage", Nulls::Skipped, moving_average::resolve).takes_floats(),
    family("exponentialTimeDecayedAvg", Nulls::Skipped, time_decayed::resolve),
    family("exponentialTimeDecayedCount", Nulls::Skipped, time_decayed::resolve),
    family("exponentialTimeDecayedMax", Nulls::Skipped, time_decayed::resolve),
    family("exponentialTimeDecayedSum", Nulls::Skipped, time_decayed::resolve),
    family("flameGraph", Nulls::Skipped, flame_graph::resolve).looks_inside(),
    family("gini", Nulls::Skipped, gini::resolve).takes_floats(),
    family("groupArray", Nulls::Skipped, group_array::resolve),
    family("groupArrayInsertAt", Nulls::Skipped, group_array_insert_at::resolve),
    family("groupArrayIntersect", Nulls::Skipped, group_array_intersect::resolve),
    family("groupArrayLast", Nulls::Skipped, group_array_pick::resolve),
    family("groupArrayMovingAvg", Nulls::Skipped, group_array_moving::resolve).with_common_states(),
    family("groupArrayMovingSum", Nulls::Skipped, group_array_moving::resolve).with_common_states(),
    family("groupArraySample", Nulls::Skipped, group_array_pick::resolve),
    family("groupArraySorted", Nulls::Skipped, group_array_pick::resolve).ignores_order(),
    family("groupBitAnd", Nulls::Skipped, bits::resolve).ignores_order().merged_by("groupBitAnd"),
    family("groupBitOr", Nulls::Skipped, bits::resolve).ignores_order().merged_by("groupBitOr"),
    family("groupBitXor", Nulls::Skipped, bits::resolve).ignores_order().merged_by("groupBitXor"),
    family("groupBitmap", Nulls::Skipped, group_bitmap::resolve).ignores_order(),
    family("groupBitmapAnd", Nulls::Skipped, group_bitmap::resolve_of_states).ignores_order(),
    family("groupBitmapOr", Nulls::Skipped, group_bitmap::resolve_of_states).ignores_order(),
    family("groupBitmapXor", Nulls::Skipped, group_bitmap::resolve_of_states).ignores_order(),
    family("groupNumericIndexedVector", Nulls::Skipped, numeric_vector::resolve).ignores_order(),
    family("groupConcat", Nulls::Skipped, group_concat::resolve),
    family("groupUniqArray", Nulls::Skipped, group_uniq_array::resolve),
    family("hierarchicalKMeans", Nulls::Skipped, k_means::resolve),
    family("histogram", Nulls::Skipped, histogram::resolve).takes_floats(),
    family("intervalLengthSum", Nulls::Skipped, intervals::resolve_length).ignores_order(),
    family("kolmogorovSmirnovTest", Nulls::Skipped, rank_tests::resolve_kolmogorov_smirnov),
    family("kurtPop", Nulls::Skipped, shape::resolve),
    family("kurtSamp", Nulls::Skipped, shape::resolve),
    family("largestTriangleThreeBuckets", Nulls::Skipped, largest_triangle::resolve).takes_floats(),
    family("mannWhitneyUTest", Nulls::Skipped, rank_tests::resolve_mann_whitney),
    family("max", Nulls::Skipped, min_max::resolve).ignores_repeats().merged_by("max"),
    family("maxIntersections", Nulls::Skipped, intervals::resolve_most),
    family("maxIntersectionsPosition", Nulls::Skipped, intervals::resolve_most),
    family("maxMappedArrays", Nulls::Skipped, mapped_arrays::resolve),
    family("meanZTest", Nulls::Skipped, mean_tests::resolve_z).takes_floats(),
    family("mergedJSONPatch", Nulls::Skipped, json_patch::resolve),
    family("min", Nulls::Skipped, min_max::resolve).ignores_repeats().merged_by("min"),
    family("minMappedArrays", Nulls::Skipped, mapped_arrays::resolve),
    family("nothing", Nulls::Handled, nothing::resolve),
    family("nothingNull", Nulls::Handled, nothing::resolve),
    family("nothingUInt64", Nulls::Handled, nothing::resolve),
    family("quantile", Nulls::Skipped, quantile::resolve).with_common_states(),
    family("quantileBFloat16", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantileBFloat16Weighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantileDD", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantileDeterministic", Nulls::Skipped, sketched::resolve).takes_floats().with_common_states(),
    family("quantileExact", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantileExactExclusive", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantileExactHigh", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantileExactInclusive", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantileExactLow", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantileExactWeighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantileExactWeightedInterpolated", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantileGK", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantileInterpolatedWeighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantilePrometheusHistogram", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantileTDigest", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantileTDigestWeighted", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantileTiming", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantileTimingWeighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantiles", Nulls::Skipped, quantile::resolve).with_common_states(),
    family("quantilesBFloat16", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantilesBFloat16Weighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantilesDD", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantilesDeterministic", Nulls::Skipped, sketched::resolve).takes_floats().with_common_states(),
    family("quantilesExact", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantilesExactExclusive", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantilesExactHigh", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantilesExactInclusive", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantilesExactLow", Nulls::Skipped, quantile::resolve).ignores_order().with_common_states(),
    family("quantilesExactWeighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantilesExactWeightedInterpolated", Nulls::Skipped, sketched::resolve)
        .ignores_order()
        .with_common_states(),
    family("quantilesGK", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantilesInterpolatedWeighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantilesPrometheusHistogram", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantilesTDigest", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantilesTDigestWeighted", Nulls::Skipped, sketched::resolve).with_common_states(),
    family("quantilesTiming", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("quantilesTimingWeighted", Nulls::Skipped, sketched::resolve).ignores_order().with_common_states(),
    family("rankCorr", Nulls::Skipped, rank_tests::resolve_correlation).takes_floats(),
    family("regr_avgx", Nulls::Skipped, regression::resolve),
    family("regr_avgy", Nulls::Skipped, regression::resolve),
    family("regr_count", Nulls::Counted, regression::resolve),
    family("regr_intercept", Nulls::Skipped, regression::resolve),
    family("regr_r2", Nulls::Skipped, regression::resolve),
    family("regr_slope", Nulls::Skipped, regression::resolve),
    family("regr_sxx", Nulls::Skipped, regression::resolve),
    family("regr_sxy", Nulls::Skipped, regression::resolve),
    family("regr_syy", Nulls::Skipped, regression::resolve),
    family("retention", Nulls::Skipped, funnel::resolve_retention).ignores_order(),
    family("sequenceCount", Nulls::Skipped, sequence::resolve).with_common_states(),
    family("sequenceMatch", Nulls::Skipped, sequence::resolve).with_common_states(),
    family("sequenceMatchEvents", Nulls::Skipped, sequence::resolve).with_common_states(),
    family("sequenceNextNode", Nulls::Handled, next_node::resolve).with_common_states(),
    family("simpleLinearRegression", Nulls::Skipped, regression::resolve_simple).takes_floats(),
    family("singleValueOrNull", Nulls::Skipped, any_heavy::resolve_single).ignores_order(),
    family("skewPop", Nulls::Skipped, shape::resolve),
    family("skewSamp", Nulls::Skipped, shape::resolve),
    family("sparkbar", Nulls::Skipped, sparkbar::resolve),
    family("stddevPop", Nulls::Skipped, variance::resolve),
    family("stddevPopStable", Nulls::Skipped, welford::resolve).takes_floats(),
    family("stddevSamp", Nulls::Skipped, variance::resolve),
    family("stddevSampStable", Nulls::Skipped, welford::resolve).takes_floats(),
    family("stochasticLinearRegression", Nulls::Skipped, stochastic::resolve),
    family("stochasticLogisticRegression", Nulls::Skipped, stochastic::resolve),
    family("studentTTest", Nulls::Skipped, mean_tests::resolve_t).takes_floats(),
    family("studentTTestOneSample", Nulls::Skipped, mean_tests::resolve_t),
    family("sum", Nulls::Skipped, sum::resolve).ignores_order().merged_by("sum"),
    family("sumCount", Nulls::PassedOver, sum_count::resolve_count).ignores_order(),
    family("sumKahan", Nulls::Skipped, kahan::resolve),
    family("sumMapFiltered", Nulls::Skipped, mapped_arrays::resolve),
    family("sumMapFilteredWithOverflow", Nulls::Skipped, mapped_arrays::resolve),
    family("sumMapWithOverflow", Nulls::Skipped, mapped_arrays::resolve),
    family("sumMappedArrays", Nulls::Skipped, mapped_arrays::resolve),
    family("sumWithOverflow", Nulls::Skipped, sum_count::resolve_with_overflow)
        .ignores_order()
        .merged_by("sumWithOverflow"),
    family("theilsU", Nulls::Skipped, contingency::resolve),
    family("timeSeriesAvgToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesBottomKMasks", Nulls::Skipped, series_masks::resolve).ignores_order(),
    family("timeSeriesChangesToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesCountToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesDeltaToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesDerivToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesGroupArray", Nulls::Skipped, time_series::resolve),
    family("timeSeriesIncreaseToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesInstantDeltaToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesInstantRateToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesLastTwoSamples", Nulls::Skipped, time_series::resolve),
    family("timeSeriesLimitKMasks", Nulls::Skipped, series_masks::resolve).ignores_order(),
    family("timeSeriesMaxToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesMinToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesPredictLinearToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesRateToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesResampleToGridWithStaleness", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesResetsToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesSumToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesTimestampOfMaxToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesTimestampOfMinToGrid", Nulls::Skipped, time_series_grid::resolve),
    family("timeSeriesTopKMasks", Nulls::Skipped, series_masks::resolve).ignores_order(),
    family("topK", Nulls::Skipped, top_k::resolve),
    family("topKWeighted", Nulls::Skipped, top_k::resolve),
    family("uniq", Nulls::Counted, uniq::resolve).ignores_repeats(),
    family("uniqCombined", Nulls::Skipped, hyper_log_log::resolve).ignores_repeats(),
    family("uniqCombined64", Nulls::Skipped, hyper_log_log::resolve).ignores_repeats(),
    family("uniqExact", Nulls::Counted, uniq_exact::resolve).ignores_repeats(),
    family("uniqHLL12", Nulls::Counted, hyper_log_log::resolve).ignores_repeats(),
    family("uniqUpTo", Nulls::Counted, uniq_up_to::resolve).ignores_order(),
    family("varPop", Nulls::Skipped, variance::resolve),
    family("varPopStable", Nulls::Skipped, welford::resolve).takes_floats(),
    family("varSamp", Nulls::Skipped, variance::resolve),
    family("varSampStable", Nulls::Skipped, welford::resolve).takes_floats(),
    family("welchTTest", Nulls::Skipped, mean_tests::resolve_t).takes_floats(),
    family("windowFunnel", Nulls::Skipped, funnel::resolve),
];

/// The names of all functions.
pub(super) const fn names() -> [&'static str; FAMILIES.len()] {
    let mut names = [""; FAMILIES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = FAMILIES[at].name;
        at += 1;
    }
    names
}
