//! Two arguments of a function over integers of any width or decimals, brought to one Rust integer: what the primitive loops of
//! `kernel` are for numbers of up to 64 bits.

use std::borrow::Cow;

use arrow_array::types::Int64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result, match_integer, reserve};

use super::simple::{Numbers, argument};

/// The values of one argument: one for each row, or one for all.
#[derive(Debug)]
pub(crate) enum Side<T> {
    Varying(Vec<T>),
    Constant(T),
}

impl<T: Copy> Side<T> {
    /// An argument's values.
    pub fn new(values: Vec<T>, is_constant: bool) -> Self {
        match (is_constant, values.first()) {
            (true, Some(value)) => Self::Constant(*value),
            _ => Self::Varying(values),
        }
    }

    /// The values as they are kept: one of a constant.
    pub fn values(&self) -> &[T] {
        match self {
            Self::Varying(values) => values,
            Self::Constant(value) => std::slice::from_ref(value),
        }
    }
}

/// `operation` of every row's two values.
#[inline]
pub(crate) fn both<L: Copy, R: Copy, O: Clone>(
    left: &Side<L>,
    right: &Side<R>,
    rows: usize,
    operation: impl Fn(L, R) -> O,
) -> Vec<O> {
    match (left, right) {
        (Side::Varying(left), Side::Varying(right)) => {
            left.iter().zip(right).map(|(left, right)| operation(*left, *right)).collect()
        }
        (Side::Varying(left), Side::Constant(right)) => left.iter().map(|left| operation(*left, *right)).collect(),
        (Side::Constant(left), Side::Varying(right)) => right.iter().map(|right| operation(*left, *right)).collect(),
        (Side::Constant(left), Side::Constant(right)) => vec![operation(*left, *right); rows],
    }
}

/// The same for an operation that may have no result: then `error`.
pub(crate) fn try_both<L: Copy, R: Copy, O: Clone>(
    left: &Side<L>,
    right: &Side<R>,
    rows: usize,
    operation: impl Fn(L, R) -> Option<O>,
    error: impl Fn() -> Error,
) -> Result<Vec<O>> {
    let of = |left: L, right: R| operation(left, right).ok_or_else(&error);
    match (left, right) {
        (Side::Varying(left), Side::Varying(right)) => {
            left.iter().zip(right).map(|(left, right)| of(*left, *right)).collect()
        }
        (Side::Varying(left), Side::Constant(right)) => left.iter().map(|left| of(*left, *right)).collect(),
        (Side::Constant(left), Side::Varying(right)) => right.iter().map(|right| of(*left, *right)).collect(),
        (Side::Constant(left), Side::Constant(right)) => Ok(vec![of(*left, *right)?; rows]),
    }
}

/// The integers of an argument, the digits of a decimal, modulo the width of `T`.
pub(crate) fn wrapped<T: Integer>(arguments: &[Column], at: usize) -> Result<Side<T>> {
    let column = argument(arguments, at)?;
    reserve(column.array().len().saturating_mul(T::BYTES))?;
    let values = match_integer!(column.data_type(), S => {
        let values = S::values(&**column.array());
        if S::BYTES <= 8 {
            values.iter().map(|value| T::wrap(value.small().unwrap_or_default())).collect()
        } else {
            values.iter().map(|value| T::wrap_large(value.large())).collect()
        }
    }, _ => return Err(not_integer(column.data_type())));
    Ok(Side::new(values, column.is_constant()))
}

/// The integers of an argument, the digits of a decimal, times `factor`; none where that is past the width of `T`.
pub(crate) fn scaled<T: Integer>(arguments: &[Column], at: usize, factor: Option<T>) -> Result<Side<Option<T>>> {
    let column = argument(arguments, at)?;
    reserve(column.array().len().saturating_mul(2 * T::BYTES))?;
    let values = match_integer!(column.data_type(), S => {
        let values = S::values(&**column.array());
        let grown = |value: Option<T>| match (value, factor) {
            (Some(value), Some(factor)) if factor == T::ONE => Some(value),
            (Some(value), Some(factor)) => value.times(factor),
            (Some(value), None) => (value == T::default()).then_some(value),
            (None, _) => None,
        };
        if T::BYTES <= 16 {
            values.iter().map(|value| grown(value.small().and_then(T::fit))).collect()
        } else {
            values.iter().map(|value| grown(T::fit_large(value.large()))).collect()
        }
    }, _ => return Err(not_integer(column.data_type())));
    Ok(Side::new(values, column.is_constant()))
}

/// The integers of an argument that are all of 64 bits.
pub(crate) struct Narrow<'a> {
    values: Cow<'a, [i64]>,
    is_constant: bool,
}

impl Narrow<'_> {
    pub fn numbers(&self) -> Numbers<'_, Int64Type> {
        match self.values.first() {
            Some(value) if self.is_constant => Numbers::Constant(*value),
            _ => Numbers::Varying(&self.values),
        }
    }
}

/// The integers of a column, the digits of a decimal, times `factor`; `None` where its type is wider than 64 bits, or one is past these.
/// Processors have no wider arithmetic, and nearly all decimals fit: so this is tried before wider integers are.
pub(crate) fn narrow(column: &Column, factor: i64) -> Result<Option<Narrow<'_>>> {
    let (array, is_constant) = (&**column.array(), column.is_constant());
    let values = match_integer!(column.data_type(), S => {
        let values = S::values(array);
        if S::BYTES > 8 {
            return Ok(None);
        }
        if S::BYTES == 8 && S::IS_SIGNED && factor == 1 {
            i64::values(array)
        } else {
            reserve(values.len() * size_of::<i64>())?;
            let mut fits = true;
            let grown = values.iter().map(|value| {
                let value = value.small().and_then(i64::fit);
                let (grown, overflows) = value.unwrap_or_default().overflowing_mul(factor);
                fits &= value.is_some() && !overflows;
                grown
            });
            let grown = grown.collect();
            if !fits {
                return Ok(None);
            }
            Cow::Owned(grown)
        }
    }, _ => return Ok(None));
    Ok(Some(Narrow { values, is_constant }))
}

fn not_integer(data_type: &DataType) -> Error {
    Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("{data_type} is not held as integers"))
}

/// Whether a type is an integer past 64 bits or a decimal.
pub(crate) fn is_wide(data_type: &DataType) -> bool {
    data_type.is_wide_integer() || data_type.is_decimal()
}
