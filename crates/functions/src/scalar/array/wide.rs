//! Sums and differences of items that are decimals or integers past 64 bits.

use std::sync::Arc;

use squall_types::{CastOptions, DataType, Error, Integer, Result, cast, match_integer};

use super::numeric::by_row;
use super::{Lists, list_column};
use crate::function::BoundFunction;
use crate::scalar::arithmetic::wide::column_of;
use crate::scalar::simple::Call;

type Bound = Result<Arc<dyn BoundFunction>>;

/// The type in which items are added up; `None` for items of other types.
pub(super) fn total_type(item: &DataType) -> Option<DataType> {
    match item {
        DataType::Decimal(..=38, scale) => Some(DataType::decimal_of_width(16, *scale)),
        DataType::Decimal(_, scale) => Some(DataType::decimal_of_width(32, *scale)),
        wide if wide.is_wide_integer() => Some(wide.clone()),
        _ => None,
    }
}

/// The sum of each array.
pub(super) fn sum(call: &Call<'_>, total: DataType) -> Bound {
    call.bind(total.clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = cast(&lists.items, &total, &CastOptions::default())?;
        match_integer!(total, T => {
            let values = T::values(&**items.array());
            let sum = |row: usize| {
                let values = values.get(lists.range(row)).unwrap_or_default();
                values.iter().fold(T::default(), |sum, value| sum.wrapping_plus(*value))
            };
            column_of((0..rows).map(sum).collect(), &total)
        }, _ => Err(Error::logical("items that are no integers")))
    })
}

/// The sums of each array from its first item on; `never_negative`: a sum below 0 becomes 0.
pub(super) fn running_sum(call: &Call<'_>, total: DataType, never_negative: bool) -> Bound {
    call.bind(DataType::array(total.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = cast(&lists.items, &total, &CastOptions::default())?;
        match_integer!(total, T => {
            let values = T::values(&**items.array());
            let (sums, ends) = by_row::<T>(&lists, rows, |row, out| {
                let mut sum = T::default();
                out.extend(values.get(lists.range(row)).unwrap_or_default().iter().map(|value| {
                    sum = sum.wrapping_plus(*value);
                    if never_negative {
                        sum = sum.max(T::default());
                    }
                    sum
                }));
            })?;
            list_column(&total, ends, column_of(sums, &total)?.array().clone())
        }, _ => Err(Error::logical("items that are no integers")))
    })
}

/// Differences of neighbours, 0 at first.
pub(super) fn difference(call: &Call<'_>, item: DataType) -> Bound {
    call.bind(DataType::array(item.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        match_integer!(item, T => {
            let values = T::values(&**lists.items.array());
            let (differences, ends) = by_row::<T>(&lists, rows, |row, out| {
                let values = values.get(lists.range(row)).unwrap_or_default();
                out.extend(values.first().map(|_| T::default()));
                out.extend(values.windows(2).map(|pair| pair[1].wrapping_minus(pair[0])));
            })?;
            list_column(&item, ends, column_of(differences, &item)?.array().clone())
        }, _ => Err(Error::logical("items that are no integers")))
    })
}
