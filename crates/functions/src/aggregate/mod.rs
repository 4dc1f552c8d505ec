//! Aggregate functions by name: which exist, and how a name with combinators (`sumIf`, `uniqOrNull`), parameters and argument types becomes
//! one [`AggregateFunction`]. Each family of functions has a file, in the folder of its kind; the rules that hold for all of them (NULLs
//! are skipped, constants and dictionaries are written out) are here and in `combinator`.

mod adapted;
mod arrays;
mod combinator;
pub(crate) mod distinct;
mod events;
mod extremes;
mod family;
mod flame_graph;
mod grouped;
mod json_patch;
mod nothing;
mod plain;
mod quantiles;
mod results;
mod series;
pub(crate) mod statistics;
mod sums;
mod throw;
pub(crate) mod values;

use std::sync::Arc;

use squall_types::{AggregateType, DataType, Error, ErrorCode, Result, SimpleAggregateType, Value};

use crate::accumulator::AggregateFunction;
use crate::registry::{own_name, unknown_function};
use combinator::Combinator;
use family::{Family, Nulls};

/// How many combinators a name may have.
const COMBINATORS_MAX: usize = 8;

/// Whether a name is an aggregate function's, with any combinators.
pub(crate) fn exists(name: &str) -> bool {
    // An alias may be of a function with a combinator.
    let mut name = own_name(name);
    for _ in 0..=COMBINATORS_MAX {
        if Family::of(name).is_some() {
            return true;
        }
        match Combinator::split(name) {
            Some((nested, _)) => name = nested,
            None => return false,
        }
    }
    false
}

/// The function's own name and its combinators, the innermost first; `None` where there is no such function.
pub(crate) fn name_parts(name: &str) -> Option<(&'static str, Vec<&'static str>)> {
    let mut name = own_name(name);
    let mut combinators = Vec::new();
    for _ in 0..=COMBINATORS_MAX {
        if let Some(family) = Family::of(name) {
            combinators.reverse();
            return Some((family.name, combinators));
        }
        let (nested, suffix) = Combinator::split_name(name)?;
        combinators.push(suffix);
        name = nested;
    }
    None
}

/// Whether a name is, with any combinators, that of a function which looks into the server itself.
pub(crate) fn is_introspection(name: &str) -> bool {
    name_parts(name).and_then(|(name, _)| Family::of(name)).is_some_and(|family| family.is_introspection)
}

/// The function that puts together the results of this one over parts of the rows, where there is one.
pub(crate) fn merged_by(name: &str) -> Option<&'static str> {
    let (name, combinators) = name_parts(name)?;
    // Which rows count does not change how results merge.
    Family::of(name)?.merged_by.filter(|_| combinators.iter().all(|combinator| *combinator == "If"))
}

/// Whether the result of a function of this name, with any combinators, depends on the order of rows in no way.
pub(crate) fn ignores_order(name: &str) -> bool {
    // Combinators choose rows, or items of a row, by their values.
    name_parts(name).and_then(|(name, _)| Family::of(name)).is_some_and(|family| family.ignores_order)
}

/// Whether the result of a function of this name depends on which values there are and not on how often each is there.
fn ignores_repeats(name: &str) -> bool {
    name_parts(name).and_then(|(name, _)| Family::of(name)).is_some_and(|family| family.ignores_repeats)
}

/// The names of all combinators, and whether each is internal.
pub(crate) fn combinator_names() -> Vec<(&'static str, bool)> {
    combinator::names().collect()
}

/// The names of all functions, without combinators and aliases.
pub(crate) const NAMES: &[&str] = &family::names();

/// The function of this name for these parameters (`quantile(0.9)`) and argument types.
///
/// # Errors
/// `UNKNOWN_FUNCTION`, `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `ILLEGAL_TYPE_OF_ARGUMENT`, `NOT_IMPLEMENTED` for `-State` and its
/// kin, and the function's own for its parameters.
pub(crate) fn resolve(name: &str, parameters: &[Value], arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    let plain: Vec<DataType> = arguments.iter().map(|argument| argument.remove_low_cardinality().computed()).collect();
    let function = settle(name, parameters, &plain, COMBINATORS_MAX)?;
    Ok(Arc::new(plain::Plain::new(function, ignores_order(name), ignores_repeats(name))))
}

/// Like [`resolve`], for arguments that are neither constants nor dictionaries.
fn settle(
    name: &str,
    parameters: &[Value],
    arguments: &[DataType],
    combinators: usize,
) -> Result<Arc<dyn AggregateFunction>> {
    let name = own_name(name);
    if let Some(family) = Family::of(name) {
        return settle_family(family, parameters, arguments);
    }
    let (nested, combinator) =
        Combinator::split(name).filter(|_| combinators > 0).ok_or_else(|| unknown_function(name))?;
    if !exists(nested) {
        return Err(unknown_function(name));
    }
    refuse_repetition(name, nested, combinator)?;
    // A group whose rows the condition leaves out has no rows: `sumIfOrNull` is `sumOrNullIf`.
    if let (Combinator::OrNull | Combinator::OrDefault, Some(under_if)) = (combinator, nested.strip_suffix("If"))
        && exists(under_if)
        && own_name(under_if) != "count"
    {
        let suffix = name.strip_prefix(nested).unwrap_or_default();
        return settle(&format!("{under_if}{suffix}If"), parameters, arguments, combinators - 1);
    }
    let nested_parameters = combinator.nested_parameters(parameters)?;
    if combinator.skips_nulls() && arguments.iter().any(DataType::is_nullable) {
        if arguments.iter().any(|argument| *argument.inner() == DataType::Nothing) {
            return Ok(Arc::new(nothing::Nothing::new(false)));
        }
        let inner: Vec<DataType> = arguments.iter().map(DataType::remove_nullable).collect();
        let function = settle(name, parameters, &inner, combinators)?;
        return Ok(Arc::new(combinator::SkipNulls::new(function, Nulls::Skipped, arguments.len())));
    }
    if combinator == Combinator::Map && !matches!(arguments, [DataType::Map(..)]) {
        return settle_family(mapped_arrays(name, nested, arguments)?, parameters, arguments);
    }
    if let Some(function) = settle_states(combinator, nested, parameters, arguments, combinators)? {
        return Ok(function);
    }
    if combinator == Combinator::Tuple {
        let functions = combinator::element_arguments(arguments)?
            .iter()
            .map(|arguments| settle(nested, parameters, arguments, combinators - 1))
            .collect::<Result<_>>()?;
        return Ok(combinator::apply_tuple(functions, arguments));
    }
    let nested_arguments = combinator.nested_arguments(arguments)?;
    let function = settle(nested, nested_parameters, &nested_arguments, combinators - 1)?;
    combinator.apply(name, function, parameters, arguments)
}

/// Refuses a combinator right behind itself, but for those that may be.
fn refuse_repetition(name: &str, nested: &str, combinator: Combinator) -> Result<()> {
    if let Some(suffix) =
        name.strip_prefix(nested).filter(|suffix| nested.ends_with(suffix) && Family::of(nested).is_none())
        && !combinator.may_repeat()
    {
        return Err(Error::new(
            ErrorCode::ILLEGAL_AGGREGATION,
            format!("Nested identical combinator '{suffix}' is not supported"),
        ));
    }
    Ok(())
}

/// The function of a combinator that gives or takes states; none for the other combinators.
fn settle_states(
    combinator: Combinator,
    nested: &str,
    parameters: &[Value],
    arguments: &[DataType],
    combinators: usize,
) -> Result<Option<Arc<dyn AggregateFunction>>> {
    Ok(Some(match combinator {
        Combinator::State => {
            let function = settle(nested, parameters, arguments, combinators - 1)?;
            // The state of what merges states is one of the function itself.
            let data_type = match nested.strip_suffix("Merge").filter(|under| exists(under)) {
                Some(_) => arguments.first().cloned().unwrap_or(DataType::Nothing),
                None => combinator::state_type(&full_name(nested), parameters, arguments),
            };
            Arc::new(combinator::OfState::new(function, data_type))
        }
        Combinator::Merge => {
            let state = combinator::merged_type(&full_name(nested), arguments)?;
            let function = settle(nested, parameters, &state.arguments, combinators - 1)?;
            combinator::check_merged(nested, parameters, state)?;
            Arc::new(combinator::OverStates::new(function))
        }
        Combinator::SimpleState => {
            let function = settle(nested, parameters, arguments, combinators - 1)?;
            Arc::new(combinator::SimpleState::new(function, &full_name(nested), parameters)?)
        }
        _ => return Ok(None),
    }))
}

/// A function's name without aliases, with its combinators.
fn full_name(name: &str) -> String {
    match name_parts(name) {
        Some((own, combinators)) => own.to_owned() + &combinators.concat(),
        None => name.to_owned(),
    }
}

/// A function that gives the states of this one, and one that gives this one's results for such states.
pub(crate) fn state_and_merge(
    function: &Arc<dyn AggregateFunction>,
) -> (Arc<dyn AggregateFunction>, Arc<dyn AggregateFunction>) {
    // Nobody asks whose states these are: they do not leave the query.
    let data_type = combinator::state_type("", &[], &[]);
    (
        Arc::new(combinator::OfState::new(function.clone(), data_type)),
        Arc::new(combinator::OverStates::new(function.clone())),
    )
}

/// The function whose states a type has.
///
/// # Errors
/// As those of [`resolve`].
pub(crate) fn of_states(state: &AggregateType) -> Result<Arc<dyn AggregateFunction>> {
    resolve(&state.function, &values::literals::read(&state.parameters)?, &state.arguments)
}

/// The regression whose models a type has; `None` where it has states of another function.
///
/// # Errors
/// As those of [`resolve`].
pub(crate) fn regression_of(state: &AggregateType) -> Result<Option<statistics::stochastic::Regression>> {
    match statistics::stochastic::Model::of(&state.function) {
        None => Ok(None),
        Some(_) => statistics::stochastic::Regression::new(
            &state.function,
            &values::literals::read(&state.parameters)?,
            &state.arguments,
        )
        .map(Some),
    }
}

/// The function that merges states into one of the same type.
///
/// # Errors
/// As those of [`resolve`].
pub(crate) fn merge_of_states(state: &AggregateType) -> Result<Arc<dyn AggregateFunction>> {
    let name = format!("{}MergeState", state.function);
    resolve(&name, &values::literals::read(&state.parameters)?, &[DataType::AggregateFunction(Arc::new(state.clone()))])
}

/// The function of a `SimpleAggregateFunction`, over values of the type that computes.
///
/// # Errors
/// As those of [`resolve`].
pub(crate) fn of_simple(simple: &SimpleAggregateType, computed: &DataType) -> Result<Arc<dyn AggregateFunction>> {
    resolve(&simple.function, &values::literals::read(&simple.parameters)?, std::slice::from_ref(computed))
}

/// Refuses a type that names an aggregate function which does not exist, or which does not take or give what the type says.
///
/// # Errors
/// `UNKNOWN_AGGREGATE_FUNCTION`, `BAD_ARGUMENTS`, and as those of [`resolve`].
pub(crate) fn check_type(data_type: &DataType) -> Result<()> {
    let known = |function: &str| match exists(function) {
        true => Ok(()),
        false => {
            let message = format!("Unknown aggregate function {function}");
            Err(Error::new(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, message))
        }
    };
    match data_type {
        DataType::AggregateFunction(state) => {
            known(&state.function)?;
            of_states(state).map(drop)
        }
        DataType::SimpleAggregateFunction(simple) => {
            known(&simple.function)?;
            let name = full_name(&simple.function);
            if !SimpleAggregateType::is_possible(&name) {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, SimpleAggregateType::unsupported(&name)));
            }
            let function = of_simple(simple, &simple.argument.computed())?;
            let (given, kept) = (function.return_type(), simple.argument.remove_low_cardinality().computed());
            if *given != kept {
                let message = format!(
                    "Incompatible data types between aggregate function '{name}' which returns {given} and column storage \
                     type {}",
                    simple.argument
                );
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
            Ok(())
        }
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => check_type(inner),
        DataType::Map(key, value) => {
            check_type(key)?;
            check_type(value)
        }
        DataType::Tuple(elements) => elements.iter().try_for_each(|element| check_type(&element.data_type)),
        _ => Ok(()),
    }
}

/// A function as a text names it, with parameters: `quantile(0.9)`.
///
/// # Errors
/// As those of [`resolve`], `UNKNOWN_AGGREGATE_FUNCTION`, `BAD_ARGUMENTS` where the text is no such name.
pub(crate) fn of_text(text: &str, arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    let text = text.trim();
    let (name, parameters) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((name, rest)) => {
            let inside = rest.trim_end().strip_suffix(')').ok_or_else(|| {
                Error::new(ErrorCode::BAD_ARGUMENTS, format!("Missing parenthesis in aggregate function's name {text}"))
            })?;
            (name.trim_end(), values::literals::read(inside)?)
        }
    };
    if !exists(name) {
        return Err(Error::new(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, format!("Unknown aggregate function {name}")));
    }
    resolve(name, &parameters, arguments)
}

/// `sumMap`, `minMap` and `maxMap` of arrays of keys and values.
fn mapped_arrays(name: &str, nested: &str, arguments: &[DataType]) -> Result<&'static Family> {
    let own = match own_name(nested) {
        "sum" => "sumMappedArrays",
        "min" => "minMappedArrays",
        "max" => "maxMappedArrays",
        _ => "",
    };
    let is_arrays = matches!(arguments, [DataType::Tuple(_)] | [DataType::Array(_), ..]);
    Family::of(own).filter(|_| is_arrays).ok_or_else(|| {
        let message = match is_arrays {
            true => format!("Aggregation '{name}' is not implemented for mapped arrays."),
            false => "Aggregate function Map requires map as argument".to_owned(),
        };
        Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
    })
}

fn settle_family(family: &Family, parameters: &[Value], arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    if family.nulls == Nulls::Handled || !arguments.iter().any(DataType::is_nullable) {
        return family.settle(parameters, arguments);
    }
    if arguments.iter().any(|argument| *argument.inner() == DataType::Nothing) {
        return Ok(Arc::new(nothing::Nothing::new(family.nulls == Nulls::Counted)));
    }
    let inner: Vec<DataType> = arguments.iter().map(DataType::remove_nullable).collect();
    let function = family.settle(parameters, &inner)?;
    Ok(Arc::new(combinator::SkipNulls::new(function, family.nulls, arguments.len())))
}
