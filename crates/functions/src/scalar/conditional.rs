//! `if`, `multiIf` and `CASE x WHEN`. All branches come evaluated; evaluating a branch only where it is wanted is the engine's
//! business.

use std::sync::Arc;

use arrow_array::{Array, ArrowPrimitiveType, BooleanArray, Scalar};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, common_type, kernels, least_supertype};

use super::kernel::truth;
use super::simple::{Call, Function, Numbers, argument};
use crate::bits::bits_of;
use crate::function::{Argument, BoundFunction, ScalarFunction};
use crate::properties::Lazy;
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("if", if_then_else).with_nulls().without_dictionary().never_throws().lazy(Lazy::If).of_any_type(),
    &Function::new("multiIf", multi_if)
        .with_nulls()
        .without_dictionary()
        .never_throws()
        .lazy(Lazy::MultiIf)
        .of_any_type(),
    &Function::new("caseWithExpression", case_with_expression).with_nulls().never_throws().of_any_type(),
];

/// Which rows hold; NULL does not.
pub(super) fn condition(column: &Column, rows: usize) -> Result<Vec<u8>> {
    let mut holds = truth(column, rows)?;
    match column.nulls() {
        Some(_) if column.is_constant() => holds.fill(0),
        Some(nulls) => holds.iter_mut().zip(nulls).for_each(|(holds, is_valid)| *holds &= u8::from(is_valid)),
        None => {}
    }
    Ok(holds)
}

fn check_condition(call: &Call<'_>, at: usize) -> Result<()> {
    match call.type_of(at).inner() {
        DataType::UInt8 | DataType::Bool | DataType::Nothing => Ok(()),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal type {other} of argument (condition) of function {}. Must be UInt8 or Nullable(UInt8)",
                call.name
            ),
        )),
    }
}

/// Rows of `then` where `holds` is 1, of `otherwise` where it is 0; both are of one type.
pub(super) fn select(holds: &[u8], then: &Column, otherwise: &Column) -> Result<Column> {
    let data_type = then.data_type().clone();
    let rows = holds.len();
    if data_type.inner() == &DataType::Nothing {
        return Column::constant(data_type, &Value::Null, rows);
    }
    if let DataType::Nullable(_) = data_type {
        // `CASE WHEN x THEN y END`: only which rows are NULL is new.
        if is_constant_null(otherwise) && !then.is_constant() {
            return then.to_nullable(NullBuffer::union(then.nulls(), Some(&NullBuffer::new(bits_of(holds)))));
        }
        if is_constant_null(then) && !otherwise.is_constant() {
            return otherwise
                .to_nullable(NullBuffer::union(otherwise.nulls(), Some(&NullBuffer::new(!&bits_of(holds)))));
        }
    }
    let columns = [then.clone(), otherwise.clone()];
    let selected = squall_types::match_primitive!(then.array().data_type(), T => {
        let (then, otherwise) = (Numbers::<T>::of(&columns, 0)?, Numbers::<T>::of(&columns, 1)?);
        Some(select_numbers::<T>(&data_type, holds, then, otherwise))
    }, _ => None);
    if let Some(selected) = selected {
        return match select_nulls(holds, then, otherwise) {
            None => Ok(selected),
            nulls => selected.to_nullable(nulls),
        };
    }
    let mask = BooleanArray::new(bits_of(holds), None);
    let array = match (then.is_constant(), otherwise.is_constant()) {
        (false, false) => arrow_select::zip::zip(&mask, then.array(), otherwise.array()),
        (true, false) => arrow_select::zip::zip(&mask, &Scalar::new(then.array().clone()), otherwise.array()),
        (false, true) => arrow_select::zip::zip(&mask, then.array(), &Scalar::new(otherwise.array().clone())),
        (true, true) => {
            arrow_select::zip::zip(&mask, &Scalar::new(then.array().clone()), &Scalar::new(otherwise.array().clone()))
        }
    }?;
    Ok(Column::new(data_type, array))
}

fn is_constant_null(column: &Column) -> bool {
    column.is_constant() && column.nulls().is_some()
}

/// Which of the selected rows are NULL; `None` where none can be.
fn select_nulls(holds: &[u8], then: &Column, otherwise: &Column) -> Option<NullBuffer> {
    if then.nulls().is_none() && otherwise.nulls().is_none() {
        return None;
    }
    let holds = bits_of(holds);
    let valid_of = |column: &Column, chosen: &BooleanBuffer| match column.nulls() {
        None => chosen.clone(),
        Some(_) if column.is_constant() => BooleanBuffer::new_unset(chosen.len()),
        Some(nulls) => chosen & nulls.inner(),
    };
    Some(NullBuffer::new(&valid_of(then, &holds) | &valid_of(otherwise, &!&holds)))
}

fn select_numbers<T: ArrowPrimitiveType>(
    data_type: &DataType,
    holds: &[u8],
    then: Numbers<'_, T>,
    otherwise: Numbers<'_, T>,
) -> Column {
    let choose = |holds: &u8, then: T::Native, otherwise: T::Native| if *holds != 0 { then } else { otherwise };
    let values = match (then, otherwise) {
        (Numbers::Varying(then), Numbers::Varying(otherwise)) => holds
            .iter()
            .zip(then)
            .zip(otherwise)
            .map(|((holds, then), otherwise)| choose(holds, *then, *otherwise))
            .collect(),
        (Numbers::Constant(then), Numbers::Varying(otherwise)) => {
            holds.iter().zip(otherwise).map(|(holds, otherwise)| choose(holds, then, *otherwise)).collect()
        }
        (Numbers::Varying(then), Numbers::Constant(otherwise)) => {
            holds.iter().zip(then).map(|(holds, then)| choose(holds, *then, otherwise)).collect()
        }
        (Numbers::Constant(then), Numbers::Constant(otherwise)) => {
            holds.iter().map(|holds| choose(holds, then, otherwise)).collect()
        }
    };
    Column::from_primitive::<T>(data_type.clone(), values)
}

fn if_then_else(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    branches(call)
}

fn multi_if(call: &Call<'_>) -> Bound {
    let count = call.arguments.len();
    if count < 3 || count.is_multiple_of(2) {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!(
                "Invalid number of arguments for function {}: an odd number of 3 or more is wanted, not {count}",
                call.name
            ),
        ));
    }
    branches(call)
}

/// `condition, value, condition, value, …, otherwise`.
fn branches(call: &Call<'_>) -> Bound {
    let last = call.arguments.len() - 1;
    for at in (0..last).step_by(2) {
        check_condition(call, at)?;
    }
    let values: Vec<DataType> =
        (0..last).filter(|at| at % 2 == 1).chain([last]).map(|at| call.type_of(at).clone()).collect();
    let result = common_type(&values, call.context.settings.use_variant_as_common_type)?;
    let options = CastOptions { keeps_padding: call.name == "if", ..CastOptions::to_common(call.session_zone()?) };
    call.bind(result.clone(), move |arguments, rows| {
        let value = |at: usize| match argument(arguments, at)? {
            // Nothing is the default of whatever it stands beside: `[][1]`.
            nothing if *nothing.data_type() == DataType::Nothing => Column::default_values(result.clone(), rows),
            column => cast(column, &result, &options),
        };
        if last == 2 {
            let condition_column = argument(arguments, 0)?;
            let holds = condition(condition_column, rows)?;
            // One branch for all rows is not copied.
            if condition_column.is_constant() {
                let at = if holds.first() == Some(&1) { 1 } else { 2 };
                return value(at);
            }
            return select(&holds, &value(1)?, &value(2)?);
        }
        if result.arrow_type().is_primitive() {
            // Of numbers going over all rows again costs less than a place for each.
            let mut selected = value(last)?;
            for at in (0..last).step_by(2).rev() {
                selected = select(&condition(argument(arguments, at)?, rows)?, &value(at + 1)?, &selected)?;
            }
            return Ok(selected);
        }
        let mut chosen = vec![last; rows];
        for at in (0..last).step_by(2).rev() {
            let holds = condition(argument(arguments, at)?, rows)?;
            chosen.iter_mut().zip(&holds).filter(|(_, holds)| **holds != 0).for_each(|(chosen, _)| *chosen = at + 1);
        }
        interleave(&chosen, last, &result, value)
    })
}

/// Each row from the argument that it chose.
fn interleave(
    chosen: &[usize],
    last: usize,
    result: &DataType,
    value: impl Fn(usize) -> Result<Column>,
) -> Result<Column> {
    if result.inner() == &DataType::Nothing {
        return Column::constant(result.clone(), &Value::Null, chosen.len());
    }
    let positions: Vec<usize> = (0..last).filter(|at| at % 2 == 1).chain([last]).collect();
    let columns = positions.iter().map(|at| value(*at)).collect::<Result<Vec<_>>>()?;
    let arrays: Vec<&dyn Array> = columns.iter().map(|column| &**column.array()).collect();
    // The values are at 1, 3, 5, … and at `last`.
    let place = |at: usize| if at == last { positions.len() - 1 } else { at / 2 };
    let indices: Vec<(usize, usize)> = chosen
        .iter()
        .enumerate()
        .map(|(row, at)| {
            let place = place(*at);
            (place, if columns.get(place).is_some_and(Column::is_constant) { 0 } else { row })
        })
        .collect();
    let array = kernels::interleave(&arrays, &indices)?;
    Ok(Column::new(result.clone(), array))
}

/// `CASE x WHEN a THEN b … ELSE c END`: `transform(x, [a, …], [b, …], c)` where these are constants, otherwise
/// `multiIf(x <=> a, b, …, c)`. NULL is found where it is looked for.
fn case_with_expression(call: &Call<'_>) -> Bound {
    let count = call.arguments.len();
    if count < 4 || !count.is_multiple_of(2) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Function {} expects an even number of arguments: (expr, when1, then1, ..., else)", call.name),
        ));
    }
    if let Some(transform) = case_of_constants(call)? {
        return Ok(transform);
    }
    // No Variant stands for what has no common type here.
    let values = call.arguments.iter().enumerate().skip(2).filter(|(at, _)| at % 2 == 0 || at + 1 == count);
    least_supertype(&values.map(|(_, value)| value.data_type.clone()).collect::<Vec<_>>())?;
    let mut equals = Vec::new();
    let mut arguments = Vec::new();
    for (at, argument) in call.arguments.iter().enumerate().skip(1) {
        if at % 2 == 1 && at + 1 < count {
            let pair: Vec<Argument> = call.arguments.first().into_iter().chain([argument]).cloned().collect();
            let bound = resolve_scalar("isNotDistinctFrom", &pair, call.context)?;
            arguments.push(Argument::of(bound.return_type().remove_low_cardinality().clone()));
            equals.push(bound);
        } else {
            arguments.push(argument.clone());
        }
    }
    let choice = resolve_scalar("multiIf", &arguments, call.context)?;
    call.bind(choice.return_type().clone(), move |columns, rows| {
        let subject = argument(columns, 0)?;
        let mut equals = equals.iter();
        let arguments = columns
            .iter()
            .enumerate()
            .skip(1)
            .map(|(at, column)| {
                if at % 2 == 1
                    && at + 1 < count
                    && let Some(equals) = equals.next()
                {
                    return equals.execute(&[subject.clone(), column.clone()], rows)?.without_low_cardinality();
                }
                Ok(column.clone())
            })
            .collect::<Result<Vec<_>>>()?;
        choice.execute(&arguments, rows)
    })
}

/// The same where all that is looked for and all that is put in its place are constants of a kind; `None` otherwise.
fn case_of_constants(call: &Call<'_>) -> Result<Option<Arc<dyn BoundFunction>>> {
    let (Some((subject, rest)), Some(otherwise)) = (call.arguments.split_first(), call.arguments.last()) else {
        return Ok(None);
    };
    let pairs = &rest[..rest.len() - 1];
    let is_nested = matches!(subject.data_type.inner(), DataType::Tuple(_) | DataType::Array(_) | DataType::Map(..));
    if is_nested || pairs.iter().any(|argument| argument.constant.is_none()) {
        return Ok(None);
    }
    let (whens, thens): (Vec<&Argument>, Vec<&Argument>) = pairs.chunks(2).map(|pair| (&pair[0], &pair[1])).unzip();
    let (Ok(whens), Ok(thens)) = (array_of(&whens, call), array_of(&thens, call)) else { return Ok(None) };
    let arguments = [subject.clone(), whens.clone(), thens.clone(), otherwise.clone()];
    let Ok(transform) = resolve_scalar("transform", &arguments, call.context) else { return Ok(None) };
    let result = transform.return_type().clone();
    let constant = |argument: &Argument| {
        Column::constant(argument.data_type.clone(), argument.constant.as_ref().unwrap_or(&Value::Null), 1)
    };
    let (whens, thens) = (constant(&whens)?, constant(&thens)?);
    let bound = call.bind(result, move |columns, rows| {
        let (subject, otherwise) = (argument(columns, 0)?, argument(columns, columns.len() - 1)?);
        let lists = [&whens, &thens].map(|list| Column::repeat(list, rows));
        let [whens, thens] = lists;
        transform.execute(&[subject.clone(), whens, thens, otherwise.clone()], rows)
    })?;
    Ok(Some(bound))
}

/// Constants as one array of their common type.
fn array_of(items: &[&Argument], call: &Call<'_>) -> Result<Argument> {
    let types: Vec<DataType> = items.iter().map(|item| item.data_type.clone()).collect();
    let common = least_supertype(&types)?;
    let options = CastOptions::to_common(call.session_zone()?);
    let values = items.iter().map(|item| match &item.constant {
        Some(value) if item.data_type != common && !value.is_null() => {
            squall_types::cast_value(value, &item.data_type, &common, &options)
        }
        value => Ok(value.clone().unwrap_or(Value::Null)),
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok(Argument { data_type: DataType::Array(Arc::new(common)), constant: Some(Value::Array(values.into())) })
}
