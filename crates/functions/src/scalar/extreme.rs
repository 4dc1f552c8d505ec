//! `greatest` and `least` of several values of a row.

use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Result, least_supertype};

use super::conditional::select;
use super::kernel::map2;
use super::order::row_order;
use super::simple::{Call, Function, Numbers};
use crate::function::{BoundFunction, ScalarFunction};

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] =
    &[&Function::new("greatest", |call| resolve(call, true)), &Function::new("least", |call| resolve(call, false))];

fn resolve(call: &Call<'_>, is_greatest: bool) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=usize::MAX)?;
    let types: Vec<DataType> = call.arguments.iter().map(|argument| argument.data_type.clone()).collect();
    let result = least_supertype(&types)?;
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(result.clone(), move |arguments, rows| {
        let mut columns = arguments.iter().map(|column| cast(column, &result, &options)).collect::<Result<Vec<_>>>()?.into_iter();
        let Some(mut best) = columns.next() else { return Column::default_values(result.clone(), rows) };
        for column in columns {
            best = better(&best, &column, rows, is_greatest)?;
        }
        best.materialize()
    })
}

/// Of every row the greater or the lesser of two values; the first where they cannot be compared.
fn better(best: &Column, other: &Column, rows: usize, is_greatest: bool) -> Result<Column> {
    let pair = [best.clone(), other.clone()];
    fn numbers<T: ArrowPrimitiveType>(pair: &[Column], rows: usize, is_greatest: bool) -> Result<Column> {
        let (best, other) = (Numbers::<T>::of(pair, 0)?, Numbers::<T>::of(pair, 1)?);
        let values = if is_greatest {
            map2(best, other, rows, |best: T::Native, other: T::Native| if other > best { other } else { best })
        } else {
            map2(best, other, rows, |best: T::Native, other: T::Native| if other < best { other } else { best })
        };
        Ok(Column::from_primitive::<T>(pair[0].data_type().clone(), values))
    }
    squall_types::match_primitive!(best.array().data_type(), T => numbers::<T>(&pair, rows, is_greatest), _ => {
        let order = row_order(other.array(), best.array())?;
        let at = |column: &Column, row: usize| if column.is_constant() { 0 } else { row };
        let takes_other = |row: usize| {
            let order = order(at(other, row), at(best, row));
            u8::from(if is_greatest { order.is_gt() } else { order.is_lt() })
        };
        select(&(0..rows).map(takes_other).collect::<Vec<u8>>(), other, best)
    })
}
