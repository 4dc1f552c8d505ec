//! Combinators: suffixes of a function's name that change which rows reach it (`-If`, `-Array`, `-Distinct`, `-ArgMin`), how many states a
//! group has (`-ForEach`, `-Map`, `-Resample`, `-Tuple`), whether it is the state that is given or read (`-State`, `-SimpleState`, `-Merge`), or what a group without rows gives (`-OrNull`, `-OrDefault`). Each wraps any
//! function, also one that has combinators already. Skipping NULLs is one too, without a name.

mod arg_extreme;
mod array;
mod by_element;
mod by_key;
mod distinct;
mod fanned;
mod for_each;
mod only_if;
mod or_null;
mod resample;
mod simple_state;
mod skip_nulls;
mod state;

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;

pub(super) use by_element::{apply as apply_tuple, element_arguments};
pub(super) use simple_state::SimpleState;
pub(super) use skip_nulls::SkipNulls;
pub(super) use state::{OfState, OverStates, check_merged, merged_type, state_type};

/// A suffix of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Combinator {
    If,
    Array,
    Distinct,
    OrNull,
    OrDefault,
    ForEach,
    Resample,
    ArgMin,
    ArgMax,
    Map,
    Tuple,
    SimpleState,
    State,
    Merge,
}

/// Longer suffixes first where one ends with another.
const SUFFIXES: &[(&str, Combinator)] = &[
    ("If", Combinator::If),
    ("Array", Combinator::Array),
    ("Distinct", Combinator::Distinct),
    ("OrNull", Combinator::OrNull),
    ("OrDefault", Combinator::OrDefault),
    ("ForEach", Combinator::ForEach),
    ("Resample", Combinator::Resample),
    ("ArgMin", Combinator::ArgMin),
    ("ArgMax", Combinator::ArgMax),
    ("Map", Combinator::Map),
    ("Tuple", Combinator::Tuple),
    ("SimpleState", Combinator::SimpleState),
    ("State", Combinator::State),
    ("Merge", Combinator::Merge),
];

/// The names of all combinators that are here, and whether each is one that names do not have.
pub(super) fn names() -> impl Iterator<Item = (&'static str, bool)> {
    SUFFIXES.iter().map(|(name, _)| (*name, false)).chain([("Null", true)])
}

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

    /// Whether it may stand twice in a row.
    pub fn may_repeat(self) -> bool {
        matches!(self, Self::Array | Self::OrNull | Self::OrDefault)
    }

    /// The parameters that reach the function under the combinator.
    pub fn nested_parameters(self, parameters: &[Value]) -> Result<&[Value]> {
        match self {
            Self::Resample => resample::parameters(parameters).map(|(nested, _)| nested),
            _ => Ok(parameters),
        }
    }

    /// Whether rows with a NULL among all arguments are skipped before the combinator sees them.
    pub fn skips_nulls(self) -> bool {
        matches!(self, Self::Resample | Self::ArgMin | Self::ArgMax)
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
            Self::ForEach => for_each::nested_arguments(arguments),
            Self::Resample => resample::nested_arguments(arguments),
            Self::ArgMin | Self::ArgMax => arg_extreme::nested_arguments(arguments),
            Self::Map => by_key::nested_arguments(arguments),
            _ => Ok(arguments.to_vec()),
        }
    }

    /// The function with the combinator, over `function` without it.
    pub fn apply(
        self,
        name: &str,
        function: Arc<dyn AggregateFunction>,
        parameters: &[Value],
        arguments: &[DataType],
    ) -> Result<Arc<dyn AggregateFunction>> {
        Ok(match self {
            Self::If => Arc::new(only_if::OnlyIf::new(function)),
            Self::Array => Arc::new(array::OverArrays::new(function)),
            Self::Distinct => Arc::new(distinct::Distinct::new(function, arguments)),
            Self::OrNull => Arc::new(or_null::OrNull::new(function)),
            Self::OrDefault => Arc::new(or_null::OrDefault::new(function)),
            Self::ForEach => for_each::apply(function),
            Self::Resample => resample::apply(name, function, parameters, arguments)?,
            Self::ArgMin | Self::ArgMax => arg_extreme::apply(function, arguments, self == Self::ArgMax)?,
            Self::Map => by_key::apply(function, arguments)?,
            // What needs more than the function is put together where names are read.
            Self::Tuple => by_element::apply(vec![function], arguments),
            Self::SimpleState | Self::State | Self::Merge => function,
        })
    }
}
