//! Functions by name. Every module under `scalar` contributes a list; names, aliases and hints for misspelt names are settled
//! here, and so is the default handling of NULLs, dictionaries and constants around each function.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use squall_types::{AggregateType, DataType, Error, ErrorCode, Result, SimpleAggregateType, Value};

use crate::accumulator::AggregateFunction;
use crate::function::{Argument, BoundFunction, FunctionContext, ScalarFunction};
use crate::higher_order::HigherOrderFunction;
use crate::properties::Properties;
use crate::{aggregate, defaults, names, scalar, window};

/// The scalar function `name` for these arguments, with ClickHouse's default handling of `Nullable`, `LowCardinality` and
/// constants around it.
///
/// # Errors
/// `UNKNOWN_FUNCTION` with hints, and whatever the function says of its arguments.
pub fn resolve_scalar(name: &str, arguments: &[Argument], context: &FunctionContext) -> Result<Arc<dyn BoundFunction>> {
    let function = scalar(name).ok_or_else(|| unknown_function(name))?;
    defaults::bind(function, arguments, context)
}

/// The function of a lambda of this name.
///
/// # Errors
/// `ILLEGAL_TYPE_OF_ARGUMENT` where the function takes no lambda, `UNKNOWN_FUNCTION`.
pub fn higher_order(name: &str) -> Result<&'static dyn HigherOrderFunction> {
    let functions = &registry().higher_order;
    match functions.get(name).or_else(|| functions.get(own_name(name))) {
        Some(function) => Ok(*function),
        None if scalar_exists(name) || aggregate_exists(name) => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Function {name} can't have lambda-expressions as arguments"),
        )),
        None => Err(unknown_function(name)),
    }
}

/// Whether there is a scalar function of this name, an alias, or a name in another case where ClickHouse ignores case.
pub fn scalar_exists(name: &str) -> bool {
    scalar(name).is_some()
}

/// Whether a scalar function finds rows by key in what its first argument names: `dictGet` and its kin.
pub fn looks_up(name: &str) -> bool {
    scalar(name).is_some_and(|function| function.looks_up())
}

/// Whether a scalar function shows the names of its arguments, which come beside its first one: `formatRow`.
pub fn shows_names(name: &str) -> bool {
    scalar(name).is_some_and(|function| function.shows_names())
}

/// Whether a scalar function of two arguments takes the tokenizer of a text index as its third: `hasAnyTokens`.
pub fn searches_words(name: &str) -> bool {
    scalar(name).is_some_and(|function| function.searches_words())
}

/// Whether a name alone is a call of the function of this name, where nothing else has it: `CURRENT_DATE`.
pub fn stands_alone(name: &str) -> bool {
    scalar(name).is_some_and(|function| function.stands_alone())
}

/// The aggregate function `name`, with combinators, for these parameters and arguments.
///
/// # Errors
/// `UNKNOWN_AGGREGATE_FUNCTION`, and whatever the function says of its parameters and arguments.
pub fn resolve_aggregate(
    name: &str,
    parameters: &[Value],
    arguments: &[DataType],
) -> Result<Arc<dyn AggregateFunction>> {
    aggregate::resolve(name, parameters, arguments)
}

/// Refuses an aggregate function that looks into the server itself where the query may call none.
///
/// # Errors
/// `FUNCTION_NOT_ALLOWED`.
pub fn check_aggregate_allowed(name: &str, context: &FunctionContext) -> Result<()> {
    if aggregate::is_introspection(name) { check_introspection_allowed(context) } else { Ok(()) }
}

/// Whether functions that look into the server itself may be called.
///
/// # Errors
/// `FUNCTION_NOT_ALLOWED`.
pub(crate) fn check_introspection_allowed(context: &FunctionContext) -> Result<()> {
    if context.allow_introspection_functions {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::FUNCTION_NOT_ALLOWED,
        "Introspection functions are disabled, because setting 'allow_introspection_functions' is set to 0",
    ))
}

/// The aggregate function's own name and its combinators, the innermost first; `None` where there is no such function.
pub fn aggregate_name_parts(name: &str) -> Option<(&'static str, Vec<&'static str>)> {
    aggregate::name_parts(name)
}

/// The function whose states a type has.
///
/// # Errors
/// As those of [`resolve_aggregate`].
pub fn aggregate_of_states(state: &AggregateType) -> Result<Arc<dyn AggregateFunction>> {
    aggregate::of_states(state)
}

/// A function that gives the states of this one, and one that gives this one's results for such states: what `-State` and `-Merge` make.
pub fn state_and_merge(
    function: &Arc<dyn AggregateFunction>,
) -> (Arc<dyn AggregateFunction>, Arc<dyn AggregateFunction>) {
    aggregate::state_and_merge(function)
}

/// The function that merges states of a type into one of that type.
///
/// # Errors
/// As those of [`resolve_aggregate`].
pub fn merge_of_states(state: &AggregateType) -> Result<Arc<dyn AggregateFunction>> {
    aggregate::merge_of_states(state)
}

/// The function of a `SimpleAggregateFunction`, over values of the type that computes.
///
/// # Errors
/// As those of [`resolve_aggregate`].
pub fn resolve_simple(simple: &SimpleAggregateType, computed: &DataType) -> Result<Arc<dyn AggregateFunction>> {
    aggregate::of_simple(simple, computed)
}

/// Refuses a type that names an aggregate function which does not exist, or which does not take or give what the type says.
///
/// # Errors
/// `UNKNOWN_AGGREGATE_FUNCTION`, `BAD_ARGUMENTS`, and as those of [`resolve_aggregate`].
pub fn check_type(data_type: &DataType) -> Result<()> {
    aggregate::check_type(data_type)
}

/// The names of all combinators of aggregate functions, and whether each is one that no name is written with.
pub fn aggregate_combinators() -> Vec<(&'static str, bool)> {
    aggregate::combinator_names()
}

/// The aggregate function that puts together the results of this one over parts of the rows: `sum` for `count`; `None` where none does.
pub fn aggregate_merged_by(name: &str) -> Option<&'static str> {
    aggregate::merged_by(name)
}

/// Whether the result of an aggregate function of this name, with combinators, depends on the order of rows in no way.
pub fn ignores_order(name: &str) -> bool {
    aggregate::ignores_order(name)
}

/// Whether there is an aggregate function of this name, with combinators and aliases.
pub fn aggregate_exists(name: &str) -> bool {
    aggregate::exists(name)
}

/// ClickHouse's own name of a function that may be written as an alias or in another case; `None` for a name that is not a
/// function's own, nor an alias of one that exists.
pub fn canonical_name(name: &str) -> Option<&'static str> {
    registry().scalars.get(own_name(name)).map(|function| function.name()).or_else(|| {
        let own = own_name(name);
        aggregate::NAMES.iter().chain(window::NAMES).copied().find(|known| *known == own)
    })
}

/// One row of `system.functions`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionDescription {
    /// The name, own or alias.
    pub name: &'static str,
    /// Whether it aggregates.
    pub is_aggregate: bool,
    /// Whether the name is read in any case.
    pub case_insensitive: bool,
    /// The own name where `name` is an alias, otherwise empty.
    pub alias_to: &'static str,
    /// Whether equal arguments make equal results in every query; unknown of aggregates.
    pub deterministic: Option<bool>,
    /// Whether it takes a lambda; unknown of aggregates.
    pub higher_order: Option<bool>,
}

/// Every function and alias, ascending by name.
pub fn all_functions() -> Vec<FunctionDescription> {
    let Registry { scalars, higher_order, .. } = registry();
    let own = |name: &'static str, is_aggregate: bool| FunctionDescription {
        name,
        is_aggregate,
        case_insensitive: names::CASE_INSENSITIVE.contains(&name),
        alias_to: "",
        deterministic: (!is_aggregate).then(|| {
            let properties = scalars.get(name).map_or(Properties::UNKNOWN, |function| function.properties());
            properties.is_deterministic && !properties.is_of_moment
        }),
        higher_order: (!is_aggregate).then(|| higher_order.contains_key(name)),
    };
    let mut all: Vec<FunctionDescription> = scalars.keys().map(|name| own(name, false)).collect();
    all.extend(higher_order.keys().filter(|name| !scalars.contains_key(*name)).map(|name| own(name, false)));
    // Functions of windows count as aggregates, as they do in ClickHouse.
    all.extend(aggregate::NAMES.iter().chain(window::NAMES).map(|name| own(name, true)));
    let of_existing: Vec<FunctionDescription> = names::ALIASES
        .iter()
        .filter_map(|(alias, of, case_insensitive)| {
            let known = all.iter().find(|known| known.name == *of)?;
            Some(FunctionDescription { name: alias, case_insensitive: *case_insensitive, alias_to: of, ..*known })
        })
        .collect();
    all.extend(of_existing);
    all.sort_unstable_by_key(|function| function.name);
    all
}

/// The own name behind an alias or another case; the name itself where there is none. Knows scalar and aggregate functions, and
/// does not ask whether the function exists here.
pub(crate) fn own_name(name: &str) -> &str {
    let registry = registry();
    if let Some(own) = registry.aliases.get(name) {
        return own;
    }
    let lower = name.to_ascii_lowercase();
    match registry.in_any_case.get(&*lower) {
        Some(own) => own,
        None => name,
    }
}

struct Registry {
    scalars: HashMap<&'static str, &'static dyn ScalarFunction>,
    /// Functions of a lambda; some have a form without, which is among the scalars.
    higher_order: HashMap<&'static str, &'static dyn HigherOrderFunction>,
    aliases: HashMap<&'static str, &'static str>,
    /// Names that are read in any case, in lower case, with the own name.
    in_any_case: HashMap<String, &'static str>,
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let functions = scalar::MODULES.iter().copied().flatten();
        let scalars: HashMap<_, _> = functions.map(|function| (function.name(), *function)).collect();
        let higher_order =
            scalar::higher_order::FUNCTIONS.iter().map(|function| (function.name(), *function)).collect();
        let aliases = names::ALIASES.iter().map(|(alias, own, _)| (*alias, *own)).collect();
        let any_case = names::ALIASES.iter().filter(|(.., any_case)| *any_case).map(|(alias, own, _)| (*alias, *own));
        let in_any_case = names::CASE_INSENSITIVE
            .iter()
            .map(|name| (*name, *name))
            .chain(any_case)
            .map(|(name, own)| (name.to_ascii_lowercase(), own))
            .collect();
        Registry { scalars, higher_order, aliases, in_any_case }
    })
}

fn scalar(name: &str) -> Option<&'static dyn ScalarFunction> {
    let scalars = &registry().scalars;
    scalars.get(name).or_else(|| scalars.get(own_name(name))).copied()
}

/// `UNKNOWN_FUNCTION` for a name, with up to two similar names. The planner adds the scope.
pub fn unknown_function(name: &str) -> Error {
    // Longer names are not misspelt ones, and the distance is quadratic.
    const NAME_BYTES_MAX: usize = 100;
    let mut message = format!("Function with name `{name}` does not exist");
    let mistakes_max = name.len().div_ceil(3).max(1);
    let lower = name.to_ascii_lowercase();
    if name.len() <= NAME_BYTES_MAX {
        let mut near: Vec<(usize, &str)> = all_functions()
            .iter()
            .filter(|known| known.name.len().abs_diff(name.len()) <= mistakes_max)
            .map(|known| (edit_distance(lower.as_bytes(), known.name.to_ascii_lowercase().as_bytes()), known.name))
            .filter(|(distance, _)| *distance < mistakes_max)
            .collect();
        near.sort_unstable();
        near.truncate(2);
        if !near.is_empty() {
            let hints: Vec<String> = near.iter().map(|(_, known)| format!("'{known}'")).collect();
            message += &format!(". Maybe you meant: [{}]", hints.join(","));
        }
    }
    Error::new(ErrorCode::UNKNOWN_FUNCTION, message)
}

/// Levenshtein's distance in bytes: for hints at names that are misspelt.
pub fn edit_distance(left: &[u8], right: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, from) in left.iter().enumerate() {
        let mut diagonal = at;
        let mut before = at + 1;
        for (to, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(from != to);
            diagonal = *cell;
            before = replaced.min(diagonal + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(edit_distance(b"lengthh", b"length"), 1);
        assert_eq!(edit_distance(b"kitten", b"sitting"), 3);
        assert_eq!(edit_distance(b"", b"abc"), 3);
    }

    #[test]
    fn names_are_unique() {
        let count = scalar::MODULES.iter().copied().flatten().count();
        assert_eq!(registry().scalars.len(), count);
    }

    #[test]
    fn unknown_names_get_hints() {
        let error = unknown_function("foo");
        assert_eq!(error.code, ErrorCode::UNKNOWN_FUNCTION);
        assert!(error.message.starts_with("Function with name `foo` does not exist"));
    }
}
