//! The table of aggregate functions: names, how each treats NULL, and where it is resolved.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::registry::own_name;

use super::{
    any, arg_min_max, average, average_weighted, bits, count, covariance, flame_graph, group_array, group_concat,
    group_uniq_array, hyper_log_log, min_max, quantile, shape, sum, top_k, uniq, uniq_exact, variance,
};

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
    /// The function sees the NULLs itself.
    Handled,
}

/// One function.
pub(super) struct Family {
    pub name: &'static str,
    pub nulls: Nulls,
    /// Whether the result depends on the order of rows in no way.
    pub ignores_order: bool,
    /// Whether it looks into the server itself.
    pub is_introspection: bool,
    pub resolve: fn(&Call<'_>) -> Result<Arc<dyn AggregateFunction>>,
}

impl Family {
    const fn ignores_order(mut self) -> Self {
        self.ignores_order = true;
        self
    }

    const fn looks_inside(mut self) -> Self {
        self.is_introspection = true;
        self
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
    Family { name, nulls, resolve, ignores_order: false, is_introspection: false }
}

/// Every function.
pub(super) const FAMILIES: &[Family] = &[
    family("any", Nulls::Skipped, any::resolve),
    family("anyLast", Nulls::Skipped, any::resolve),
    family("anyLast_respect_nulls", Nulls::Handled, any::resolve),
    family("any_respect_nulls", Nulls::Handled, any::resolve),
    family("argMax", Nulls::Skipped, arg_min_max::resolve),
    family("argMin", Nulls::Skipped, arg_min_max::resolve),
    family("avg", Nulls::Skipped, average::resolve).ignores_order(),
    family("avgWeighted", Nulls::Skipped, average_weighted::resolve),
    family("corr", Nulls::Skipped, covariance::resolve),
    family("count", Nulls::Handled, count::resolve).ignores_order(),
    family("covarPop", Nulls::Skipped, covariance::resolve),
    family("covarSamp", Nulls::Skipped, covariance::resolve),
    family("flameGraph", Nulls::Skipped, flame_graph::resolve).looks_inside(),
    family("groupArray", Nulls::Skipped, group_array::resolve),
    family("groupBitAnd", Nulls::Skipped, bits::resolve).ignores_order(),
    family("groupBitOr", Nulls::Skipped, bits::resolve).ignores_order(),
    family("groupBitXor", Nulls::Skipped, bits::resolve).ignores_order(),
    family("groupConcat", Nulls::Skipped, group_concat::resolve),
    family("groupUniqArray", Nulls::Skipped, group_uniq_array::resolve),
    family("kurtPop", Nulls::Skipped, shape::resolve),
    family("kurtSamp", Nulls::Skipped, shape::resolve),
    family("max", Nulls::Skipped, min_max::resolve).ignores_order(),
    family("min", Nulls::Skipped, min_max::resolve).ignores_order(),
    family("quantile", Nulls::Skipped, quantile::resolve),
    family("quantileExact", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantileExactExclusive", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantileExactHigh", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantileExactInclusive", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantileExactLow", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantiles", Nulls::Skipped, quantile::resolve),
    family("quantilesExact", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantilesExactExclusive", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantilesExactHigh", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantilesExactInclusive", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("quantilesExactLow", Nulls::Skipped, quantile::resolve).ignores_order(),
    family("skewPop", Nulls::Skipped, shape::resolve),
    family("skewSamp", Nulls::Skipped, shape::resolve),
    family("stddevPop", Nulls::Skipped, variance::resolve),
    family("stddevSamp", Nulls::Skipped, variance::resolve),
    family("sum", Nulls::Skipped, sum::resolve).ignores_order(),
    family("topK", Nulls::Skipped, top_k::resolve),
    family("uniq", Nulls::Counted, uniq::resolve).ignores_order(),
    family("uniqCombined", Nulls::Skipped, hyper_log_log::resolve).ignores_order(),
    family("uniqCombined64", Nulls::Skipped, hyper_log_log::resolve).ignores_order(),
    family("uniqExact", Nulls::Counted, uniq_exact::resolve).ignores_order(),
    family("uniqHLL12", Nulls::Counted, hyper_log_log::resolve).ignores_order(),
    family("varPop", Nulls::Skipped, variance::resolve),
    family("varSamp", Nulls::Skipped, variance::resolve),
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
