//! Aggregate functions by name: which exist, and how a name with combinators (`sumIf`, `uniqOrNull`), parameters and argument
//! types becomes one [`AggregateFunction`]. Each family of functions has a file; the rules that hold for all of them (NULLs are
//! skipped, constants and dictionaries are written out) are here and in `combinator`.

mod adapted;
mod any;
mod arg_min_max;
mod as_floats;
mod average;
mod average_weighted;
mod bits;
mod combinator;
mod count;
mod covariance;
mod element;
mod family;
mod flame_graph;
mod group_array;
mod group_concat;
mod group_uniq_array;
mod grouped;
mod hash_set;
mod hyper_log_log;
mod min_max;
mod nothing;
mod number;
mod parted;
mod plain;
mod quantile;
mod ranks;
mod row_hash;
mod selection;
mod shape;
mod small_set;
mod state_bytes;
mod sum;
mod top_k;
mod uniq;
mod uniq_exact;
mod value_list;
mod variance;
mod wide;

use std::sync::Arc;

use squall_types::{DataType, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::registry::{own_name, unknown_function};
use combinator::Combinator;
use family::{Call, Family, Nulls};

/// How many combinators a name may have.
const COMBINATORS_MAX: usize = 8;

/// Whether a name is an aggregate function's, with any combinators.
pub(crate) fn exists(name: &str) -> bool {
    let mut name = name;
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
    let mut name = name;
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

/// Whether the result of a function of this name, with any combinators, depends on the order of rows in no way.
pub(crate) fn ignores_order(name: &str) -> bool {
    // Combinators choose rows, or items of a row, by their values.
    name_parts(name).and_then(|(name, _)| Family::of(name)).is_some_and(|family| family.ignores_order)
}

/// The names of all functions, without combinators and aliases.
pub(crate) const NAMES: &[&str] = &family::names();

/// The function of this name for these parameters (`quantile(0.9)`) and argument types.
///
/// # Errors
/// `UNKNOWN_FUNCTION`, `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `ILLEGAL_TYPE_OF_ARGUMENT`, `NOT_IMPLEMENTED` for `-State` and its
/// kin, and the function's own for its parameters.
pub(crate) fn resolve(name: &str, parameters: &[Value], arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    let plain: Vec<DataType> = arguments.iter().map(|argument| argument.remove_low_cardinality().clone()).collect();
    let function = settle(name, parameters, &plain, COMBINATORS_MAX)?;
    Ok(Arc::new(plain::Plain::new(function, ignores_order(name))))
}

/// Like [`resolve`], for arguments that are neither constants nor dictionaries.
fn settle(
    name: &str,
    parameters: &[Value],
    arguments: &[DataType],
    combinators: usize,
) -> Result<Arc<dyn AggregateFunction>> {
    if let Some(family) = Family::of(name) {
        return settle_family(family, parameters, arguments);
    }
    let (nested, combinator) =
        Combinator::split(name).filter(|_| combinators > 0).ok_or_else(|| unknown_function(name))?;
    if !exists(nested) {
        return Err(unknown_function(name));
    }
    // A group whose rows the condition leaves out has no rows: `sumIfOrNull` is `sumOrNullIf`.
    if let (Combinator::OrNull | Combinator::OrDefault, Some(under_if)) = (combinator, nested.strip_suffix("If"))
        && exists(under_if)
        && own_name(under_if) != "count"
    {
        let suffix = name.strip_prefix(nested).unwrap_or_default();
        return settle(&format!("{under_if}{suffix}If"), parameters, arguments, combinators - 1);
    }
    let nested_arguments = combinator.nested_arguments(arguments)?;
    let function = settle(nested, parameters, &nested_arguments, combinators - 1)?;
    combinator.apply(function, arguments)
}

fn settle_family(family: &Family, parameters: &[Value], arguments: &[DataType]) -> Result<Arc<dyn AggregateFunction>> {
    if family.nulls == Nulls::Handled || !arguments.iter().any(DataType::is_nullable) {
        return (family.resolve)(&Call { name: family.name, parameters, arguments });
    }
    if arguments.iter().any(|argument| *argument.inner() == DataType::Nothing) {
        return Ok(Arc::new(nothing::Nothing::new(family.nulls == Nulls::Counted)));
    }
    let inner: Vec<DataType> = arguments.iter().map(DataType::remove_nullable).collect();
    let function = (family.resolve)(&Call { name: family.name, parameters, arguments: &inner })?;
    Ok(Arc::new(combinator::SkipNulls::new(function, family.nulls == Nulls::Skipped)))
}
