//! Loops over slices that the numeric functions share: one for columns on both sides, one for a constant on either. A function
//! brings its operands to one type first and then runs one tight loop.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, Result, vectorized};

use super::simple::{Numbers, argument};

/// `operation` of every row's two values.
#[inline]
pub(crate) fn map2<A: ArrowPrimitiveType, B: ArrowPrimitiveType, R: Clone>(
    left: Numbers<'_, A>,
    right: Numbers<'_, B>,
    rows: usize,
    mut operation: impl FnMut(A::Native, B::Native) -> R,
) -> Vec<R> {
    // Each loop by itself: what is small is inlined, and so compiled for the processor.
    match (left, right) {
        (Numbers::Varying(left), Numbers::Varying(right)) => {
            vectorized(|| left.iter().zip(right).map(|(left, right)| operation(*left, *right)).collect())
        }
        (Numbers::Varying(left), Numbers::Constant(right)) => {
            vectorized(|| left.iter().map(|left| operation(*left, right)).collect())
        }
        (Numbers::Constant(left), Numbers::Varying(right)) => {
            vectorized(|| right.iter().map(|right| operation(left, *right)).collect())
        }
        (Numbers::Constant(left), Numbers::Constant(right)) => vec![operation(left, right); rows],
    }
}

/// [`map2`] over two arguments as a column of `data_type`, whose Arrow type is `R`.
#[inline]
pub(crate) fn binary<A: ArrowPrimitiveType, B: ArrowPrimitiveType, R: ArrowPrimitiveType>(
    data_type: &DataType,
    arguments: &[Column],
    rows: usize,
    operation: impl Fn(A::Native, B::Native) -> R::Native,
) -> Result<Column> {
    let values = map2(Numbers::<A>::of(arguments, 0)?, Numbers::<B>::of(arguments, 1)?, rows, operation);
    Ok(Column::from_primitive::<R>(data_type.clone(), values))
}

/// `operation` of every row's value as a column of `data_type`, whose Arrow type is `R`.
#[inline]
pub(crate) fn unary<A: ArrowPrimitiveType, R: ArrowPrimitiveType>(
    data_type: &DataType,
    arguments: &[Column],
    rows: usize,
    operation: impl Fn(A::Native) -> R::Native,
) -> Result<Column> {
    let values = match Numbers::<A>::of(arguments, 0)? {
        Numbers::Varying(values) => values.iter().map(|value| operation(*value)).collect(),
        Numbers::Constant(value) => vec![operation(value); rows],
    };
    Ok(Column::from_primitive::<R>(data_type.clone(), values))
}

/// The arguments as `data_type`, numbers wrapping; those that have it already are not copied.
pub(crate) fn as_type(arguments: &[Column], data_type: &DataType) -> Result<Vec<Column>> {
    let options = CastOptions::default();
    arguments
        .iter()
        .map(|column| match column.data_type() {
            // An address counts as its number.
            DataType::IPv4 => cast(&column.clone().with_type(DataType::UInt32), data_type, &options),
            _ => cast(column, data_type, &options),
        })
        .collect()
}

/// One argument as `data_type`, numbers wrapping.
pub(crate) fn argument_as(arguments: &[Column], at: usize, data_type: &DataType) -> Result<Column> {
    cast(
        argument(arguments, at)?,
        data_type,
        &CastOptions::new(CastMode::Plain, squall_types::calendar::TimeZone::utc()),
    )
}

/// Whether each row's number is not zero; all rows, also of a constant. What lies under a NULL counts as it is.
pub(crate) fn truth(column: &Column, rows: usize) -> Result<Vec<u8>> {
    let array = column.array();
    let values: Vec<u8> = squall_types::match_primitive!(array.data_type(), T => {
        let zero = <T as ArrowPrimitiveType>::Native::default();
        array.as_primitive::<T>().values().iter().map(|value| u8::from(*value != zero)).collect()
    }, _ => {
        if array.data_type().is_null() {
            vec![0; array.len()]
        } else {
            return Err(Error::logical(format!("{} is no condition", column.data_type())));
        }
    });
    match (column.is_constant(), values.first()) {
        (true, Some(value)) => Ok(vec![*value; rows]),
        _ => Ok(values),
    }
}

/// A `UInt8` column.
pub(crate) fn bytes_column(values: Vec<u8>) -> Column {
    Column::from_primitive::<arrow_array::types::UInt8Type>(DataType::UInt8, values)
}

/// A column of a primitive type and validity.
pub(crate) fn nullable_column<T: ArrowPrimitiveType>(
    data_type: DataType,
    values: Vec<T::Native>,
    nulls: Option<arrow_buffer::NullBuffer>,
) -> Result<Column> {
    Ok(Column::new(data_type, Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?)))
}
