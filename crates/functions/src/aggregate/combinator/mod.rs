//! Combinators: suffixes of a function's name that change which rows reach it (`-If`, `-Array`, `-Distinct`) or what a group without
//! rows gives (`-OrNull`, `-OrDefault`). Skipping NULLs is one too, without a name.

mod array;
mod distinct;
mod only_if;
mod or_null;
mod skip_nulls;

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;

pub(super) use skip_nulls::SkipNulls;

/// A suffix of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Combinator {
    If,
    Array,
    Distinct,
    OrNull,
    OrDefault,
    /// One of ClickHouse's that is not here.
    Unsupported(&'static str),
}

/// Longer suffixes first where one ends with another.
const SUFFIXES: &[(&str, Combinator)] = &[
    ("If", Combinator::If),
    ("Array", Combinator::Array),
    ("Distinct", Combinator::Distinct),
    ("OrNull", Combinator::OrNull),
    ("OrDefault", Combinator::OrDefault),
    ("SimpleState", Combinator::Unsupported("SimpleState")),
    ("MergeState", Combinator::Unsupported("MergeState")),
    ("State", Combinator::Unsupported("State")),
    ("Merge", Combinator::Unsupported("Merge")),
    ("ForEach", Combinator::Unsupported("ForEach")),
    ("Resample", Combinator::Unsupported("Resample")),
    ("ArgMin", Combinator::Unsupported("ArgMin")),
    ("ArgMax", Combinator::Unsupported("ArgMax")),
    ("Map", Combinator::Unsupported("Map")),
];

impl Combinator {
    /// The name without its last combinator, and that combinator.
    pub fn split(name: &str) -> Option<(&str, Self)> {
        SUFFIXES.iter().find_map(|(suffix, combinator)| match name.strip_suffix(suffix) {
            Some(nested) if !nested.is_empty() => Some((nested, *combinator)),
            _ => None,
        })
    }

    /// The name without its last combinator, and that combinator's name.
    pub fn split_name(name: &str) -> Option<(&str, &'static str)> {
        SUFFIXES.iter().find_map(|(suffix, _)| match name.strip_suffix(suffix) {
            Some(nested) if !nested.is_empty() => Some((nested, *suffix)),
            _ => None,
        })
    }

    /// The types of the arguments that reach the function under the combinator.
    pub fn nested_arguments(self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        match self {
            Self::If => only_if::nested_arguments(arguments),
            Self::Array => array::nested_arguments(arguments),
            Self::Distinct if arguments.is_empty() => Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Incorrect number of arguments for aggregate function with Distinct suffix",
            )),
            Self::Distinct | Self::OrNull | Self::OrDefault => Ok(arguments.to_vec()),
            Self::Unsupported(name) => Err(Error::not_implemented(format!("Aggregate function combinator -{name}"))),
        }
    }

    /// The function with the combinator, over `function` without it.
    pub fn apply(
        self,
        function: Arc<dyn AggregateFunction>,
        arguments: &[DataType],
    ) -> Result<Arc<dyn AggregateFunction>> {
        Ok(match self {
            Self::If => Arc::new(only_if::OnlyIf::new(function)),
            Self::Array => Arc::new(array::OverArrays::new(function)),
            Self::Distinct => Arc::new(distinct::Distinct::new(function, arguments)),
            Self::OrNull => Arc::new(or_null::OrNull::new(function)),
            Self::OrDefault => Arc::new(or_null::OrDefault::new(function)),
            Self::Unsupported(name) => {
                return Err(Error::not_implemented(format!("Aggregate function combinator -{name}")));
            }
        })
    }
}
