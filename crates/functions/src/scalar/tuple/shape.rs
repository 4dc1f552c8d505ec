//! Tuples taken apart and put together: `tupleConcat`, `flattenTuple`, `tupleToNameValuePairs`, `tupleHammingDistance`.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, TupleElement, least_supertype};

use super::arithmetic::elements_of;
use super::{elements, from_elements};
use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, argument};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn concat(call: &Call<'_>) -> Bound {
    if call.arguments.is_empty() {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Number of arguments for function {} doesn't match: passed 0, should be at least 1.", call.name),
        ));
    }
    let mut types = Vec::new();
    for at in 0..call.arguments.len() {
        types.extend(elements_of(call, at)?.iter().map(|element| element.data_type.clone()));
    }
    let result = DataType::tuple(types);
    call.bind(result.clone(), move |arguments, rows| {
        let parts = arguments.iter().map(elements).collect::<Result<Vec<_>>>()?;
        from_elements(&result, &parts.concat(), rows)
    })
}

/// `flattenTuple(tuple)`: elements of elements with their names joined by dots.
pub(super) fn flatten(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    fn collect(elements: &[TupleElement], prefix: &str, out: &mut Vec<TupleElement>) {
        for (at, element) in elements.iter().enumerate() {
            let own = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
            let name = if prefix.is_empty() { own } else { format!("{prefix}.{own}") };
            match &element.data_type {
                DataType::Tuple(inner) if !inner.is_empty() => collect(inner, &name, out),
                other => out.push(TupleElement { name: Some(name.into()), data_type: other.clone() }),
            }
        }
    }
    let own = elements_of(call, 0)?;
    if own.iter().any(|element| element.name.is_none()) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Tuple argument for function 'flattenTuple' must be named. Got '{}'", call.type_of(0)),
        ));
    }
    let mut flat = Vec::new();
    collect(own, "", &mut flat);
    let result = DataType::Tuple(flat.into());
    call.bind(result.clone(), move |arguments, rows| {
        fn collect(column: &Column, out: &mut Vec<Column>) -> Result<()> {
            match column.data_type() {
                DataType::Tuple(inner) if !inner.is_empty() => {
                    elements(column)?.iter().try_for_each(|element| collect(element, out))
                }
                _ => {
                    out.push(column.clone());
                    Ok(())
                }
            }
        }
        let mut columns = Vec::new();
        collect(argument(arguments, 0)?, &mut columns)?;
        from_elements(&result, &columns, rows)
    })
}

/// `tupleToNameValuePairs(tuple)`: an array of the names and the values.
pub(super) fn name_value_pairs(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let own = elements_of(call, 0)?;
    let types: Vec<DataType> = own.iter().map(|element| element.data_type.clone()).collect();
    let Some(first) = types.first() else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("The argument tuple for function {} must not be empty.", call.name),
        ));
    };
    if types.iter().any(|other| other != first) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("The argument of function {} should be a tuple with all elements of the same type", call.name),
        ));
    }
    let pair = DataType::tuple([DataType::String, least_supertype(&types)?]);
    let names: Vec<String> = own
        .iter()
        .enumerate()
        .map(|(at, element)| element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned))
        .collect();
    let value = first.clone();
    call.bind(DataType::array(pair.clone()), move |arguments, rows| {
        let count = names.len();
        let values = elements(argument(arguments, 0)?)?;
        let values = values.iter().map(Column::materialize).collect::<Result<Vec<_>>>()?;
        // All of the first elements, then all of the second: taken row by row.
        let by_row = (0..rows).flat_map(|row| (0..count).map(move |at| (at * rows + row) as u32));
        let values = cast(
            &Column::concat(&values)?.take(&UInt32Array::from_iter_values(by_row))?,
            &value,
            &CastOptions::default(),
        )?;
        let names = Column::from_strings((0..rows).flat_map(|_| names.iter()));
        let ends = (0..=rows).map(|row| (row * count) as i32).collect();
        let items = from_elements(&pair, &[names, values], rows * count)?;
        list_column(&pair, ends, items.to_array()?)
    })
}

/// `tupleHammingDistance(tuple, tuple)`: how many elements differ.
pub(super) fn hamming_distance(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let (left, right) = (elements_of(call, 0)?, elements_of(call, 1)?);
    if left.len() != right.len() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Expected tuples of the same size as arguments of function {}, got {} and {}",
                call.name,
                call.type_of(0),
                call.type_of(1)
            ),
        ));
    }
    let differ = left.iter().zip(right).map(|(left, right)| {
        let sides = [Argument::of(left.data_type.clone()), Argument::of(right.data_type.clone())];
        resolve_scalar("notEquals", &sides, call.context)
    });
    let differ = differ.collect::<Result<Vec<_>>>()?;
    let mut result = differ.first().map_or(DataType::UInt8, |function| function.return_type().clone());
    let mut sums = Vec::new();
    for function in differ.iter().skip(1) {
        let sides = [Argument::of(result.clone()), Argument::of(function.return_type().clone())];
        let sum = resolve_scalar("plus", &sides, call.context)?;
        result = sum.return_type().clone();
        sums.push(sum);
    }
    call.bind(result, move |arguments, rows| {
        let (left, right) = (elements(argument(arguments, 0)?)?, elements(argument(arguments, 1)?)?);
        let mut unlike = Vec::with_capacity(differ.len());
        for (differ, (left, right)) in differ.iter().zip(left.into_iter().zip(right)) {
            unlike.push(differ.execute(&[left, right], rows)?);
        }
        let mut unlike = unlike.into_iter();
        let mut total = unlike.next().map_or_else(|| Column::default_values(DataType::UInt8, rows), Ok)?;
        for (sum, next) in sums.iter().zip(unlike) {
            total = sum.execute(&[total, next], rows)?;
        }
        Ok(total)
    })
}
