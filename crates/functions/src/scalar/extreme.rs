//! `greatest` and `least` of several values of a row. NULL and NaN are passed over, also inside arrays and tuples; but of exactly two
//! numbers of which one is NaN ClickHouse takes the later.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_buffer::NullBuffer;
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, least_supertype};

use super::conditional::select;
use super::kernel::map2;
use super::order::row_order_with;
use super::simple::{Call, Function, Numbers};
use crate::function::{BoundFunction, ScalarFunction};

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("greatest", |call| resolve(call, true)).with_nulls().never_throws(),
    &Function::new("least", |call| resolve(call, false)).with_nulls().never_throws(),
];

fn resolve(call: &Call<'_>, is_greatest: bool) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=usize::MAX)?;
    let types: Vec<DataType> = call.arguments.iter().map(|argument| argument.data_type.clone()).collect();
    let result = match least_supertype(&types) {
        Ok(DataType::Bool) => DataType::UInt8,
        Ok(common) => common,
        Err(error) => match type_of_pair(&types) {
            Some(PairType::Common(common)) => common,
            Some(PairType::Ends) => return of_mixed_integers(call, is_greatest),
            None if is_pair_of_numbers(&types) => {
                let (left, right) = (call.type_of(0), call.type_of(1));
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!("Illegal types {left} and {right} of arguments of function {}", call.name),
                ));
            }
            None => return Err(error),
        },
    };
    if matches!(result.inner(), DataType::Interval(_))
        && types.iter().any(|data_type| data_type.inner() != result.inner())
    {
        return Err(Error::new(
            ErrorCode::NO_COMMON_TYPE,
            format!("There is no type in which {} compares intervals", call.name),
        ));
    }
    let is_pair = is_pair_of_numbers(&types) && result.is_number();
    let options = CastOptions::to_common(call.session_zone()?);
    // NULL was not passed over once: with one among the values, the result was NULL.
    let keeps_nulls = call.context.settings.least_greatest_legacy_null_behavior;
    let of_nothing = |data_type: &DataType| data_type.inner() == &DataType::Nothing;
    if keeps_nulls && types.iter().any(of_nothing) {
        let result = result.clone();
        return call.bind(result.clone(), move |_, rows| Column::default_values(result.clone(), rows));
    }
    call.bind(result.clone(), move |arguments, rows| {
        // A literal NULL is passed over for all rows at once.
        let is_there = |column: &&Column| column.data_type().inner() != &DataType::Nothing;
        let mut columns = arguments
            .iter()
            .filter(is_there)
            .map(|column| cast(column, &result, &options))
            .collect::<Result<Vec<_>>>()?
            .into_iter();
        let Some(mut best) = columns.next() else { return Column::default_values(result.clone(), rows) };
        for column in columns {
            best = match is_pair {
                true => later_of_nan(&best, &column, rows, is_greatest)?,
                false => better(&best, &column, rows, is_greatest)?,
            };
        }
        if keeps_nulls && arguments.iter().any(|column| column.nulls().is_some()) {
            let is_null = |column: &Column, row: usize| {
                column.nulls().is_some_and(|nulls| nulls.is_null(if column.is_constant() { 0 } else { row }))
            };
            let has_all = |row: usize| u8::from(!arguments.iter().any(|column| is_null(column, row)));
            let nulls = Column::default_values(result.clone(), rows)?;
            best = select(&(0..rows).map(has_all).collect::<Vec<u8>>(), &best, &nulls)?;
        }
        best.materialize()
    })
}

fn is_pair_of_numbers(types: &[DataType]) -> bool {
    types.len() == 2 && types.iter().all(DataType::is_number)
}

/// The type of the lesser and the greater of exactly two numbers that have no supertype.
enum PairType {
    Common(DataType),
    /// Of integers of 64 bits with a sign and without, the lesser fits into one type and the greater into the other.
    Ends,
}

fn type_of_pair(types: &[DataType]) -> Option<PairType> {
    let [left, right] = types else { return None };
    let is_decimal = |data_type: &DataType| matches!(data_type, DataType::Decimal(..));
    if left.is_float() && is_decimal(right) || is_decimal(left) && right.is_float() {
        return Some(PairType::Common(DataType::Float64));
    }
    let unsigned = [left, right].into_iter().find(|data_type| !data_type.is_signed_integer())?;
    let signed = [left, right].into_iter().find(|data_type| data_type.is_signed_integer())?;
    match (signed, unsigned) {
        (DataType::Int64, DataType::UInt64) => Some(PairType::Ends),
        (DataType::Int8 | DataType::Int16 | DataType::Int32, DataType::UInt64) => {
            Some(PairType::Common(DataType::Int128))
        }
        (DataType::Int8 | DataType::Int16 | DataType::Int32, DataType::UInt128) => {
            Some(PairType::Common(DataType::Int256))
        }
        _ => None,
    }
}

/// Of integers of which some have no sign and up to 64 bits: compared as wider ones.
fn of_mixed_integers(call: &Call<'_>, is_greatest: bool) -> Result<Arc<dyn BoundFunction>> {
    let is_nullable = call.arguments.iter().all(|argument| argument.data_type.is_nullable());
    let plain = if is_greatest { DataType::UInt64 } else { DataType::Int64 };
    let result = if is_nullable { plain.to_nullable() } else { plain };
    let options = CastOptions::to_common(call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let wide = |column: &Column| {
            let is_nullable = column.data_type().is_nullable();
            cast(column, &if is_nullable { DataType::Int128.to_nullable() } else { DataType::Int128 }, &options)
        };
        let mut columns = arguments.iter().map(wide);
        let mut best = columns.next().ok_or_else(|| Error::logical("no values to compare"))??;
        for column in columns {
            best = better(&best, &column?, rows, is_greatest)?;
        }
        let best = if is_nullable { best } else { best.without_nulls()? };
        cast(&best, &result, &options)?.materialize()
    })
}

/// Of every row the greater or the lesser of two numbers; the later where they cannot be compared.
fn later_of_nan(best: &Column, other: &Column, rows: usize, is_greatest: bool) -> Result<Column> {
    numbers(best, other, rows, is_greatest, false)
}

/// Of every row the greater or the lesser of two values that are not NULL; NaN is neither.
fn better(best: &Column, other: &Column, rows: usize, is_greatest: bool) -> Result<Column> {
    if best.nulls().is_some() || other.nulls().is_some() {
        return better_of_nullable(best, other, rows, is_greatest);
    }
    if best.array().data_type().is_primitive() {
        return numbers(best, other, rows, is_greatest, true);
    }
    let unknown = if is_greatest { Ordering::Less } else { Ordering::Greater };
    let order = row_order_with(other, best, unknown)?;
    let at = |column: &Column, row: usize| if column.is_constant() { 0 } else { row };
    let takes_other = |row: usize| {
        let order = order(at(other, row), at(best, row));
        u8::from(if is_greatest { order.is_gt() } else { order.is_lt() })
    };
    select(&(0..rows).map(takes_other).collect::<Vec<u8>>(), other, best)
}

fn numbers(best: &Column, other: &Column, rows: usize, is_greatest: bool, passes_nan: bool) -> Result<Column> {
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    fn of<T: ArrowPrimitiveType<Native: PartialOrd>>(
        pair: &[Column],
        rows: usize,
        is_greatest: bool,
        passes_nan: bool,
    ) -> Result<Vec<T::Native>> {
        let (best, other) = (Numbers::<T>::of(pair, 0)?, Numbers::<T>::of(pair, 1)?);
        // Where neither is less, greater, or equal, one is NaN.
        let keeps_best = |best: T::Native, other: T::Native| passes_nan && other != other && best == best;
        Ok(if is_greatest {
            map2(
                best,
                other,
                rows,
                |best: T::Native, other: T::Native| {
                    if best > other || keeps_best(best, other) { best } else { other }
                },
            )
        } else {
            map2(
                best,
                other,
                rows,
                |best: T::Native, other: T::Native| {
                    if best < other || keeps_best(best, other) { best } else { other }
                },
            )
        })
    }
    let pair = [best.clone(), other.clone()];
    squall_types::match_primitive!(best.array().data_type(), T => {
        Ok(Column::from_primitive::<T>(best.data_type().clone(), of::<T>(&pair, rows, is_greatest, passes_nan)?))
    }, _ => Err(Error::logical("numbers are compared that are none")))
}

/// The same where some values are NULL, which any other value is better than.
fn better_of_nullable(best: &Column, other: &Column, rows: usize, is_greatest: bool) -> Result<Column> {
    let is_there = |column: &Column| -> Vec<u8> {
        match column.nulls() {
            None => vec![1; rows],
            Some(_) if column.is_constant() => vec![0; rows],
            Some(nulls) => nulls.iter().map(u8::from).collect(),
        }
    };
    let (best_is_there, other_is_there) = (is_there(best), is_there(other));
    let (plain_best, plain_other) = (best.without_nulls()?, other.without_nulls()?);
    let of_both = better(&plain_best, &plain_other, rows, is_greatest)?;
    let with_other = select(&other_is_there, &of_both, &plain_best)?;
    let value = select(&best_is_there, &with_other, &plain_other)?;
    let valid: Vec<bool> = best_is_there.iter().zip(&other_is_there).map(|(best, other)| best | other == 1).collect();
    value.to_nullable(Some(NullBuffer::from(valid)))
}
