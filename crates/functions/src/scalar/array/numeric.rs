//! Sums, extremes and the like of arrays of numbers. Their forms with a lambda are in `higher_order`, and use these.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::{Lists, item_type, list_column, take_or_default};
use crate::function::BoundFunction;
use crate::scalar::kernel::{bytes_column, truth};
use crate::scalar::order::ItemOrder;
use crate::scalar::simple::{Call, Numbers};

type Bound = Result<Arc<dyn BoundFunction>>;

/// What all items of an array are put together to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    Sum,
    Average,
    Product,
}

fn number_items(call: &Call<'_>) -> Result<DataType> {
    let item = item_type(call, 0)?.clone();
    if item.is_number() || item == DataType::Bool {
        return Ok(item);
    }
    Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("{} cannot add values of type {item}", call.name)))
}

/// The type in which numbers of a type are added up.
fn sum_type(item: &DataType) -> DataType {
    match item {
        DataType::Float32 | DataType::Float64 => DataType::Float64,
        _ if item.is_signed_integer() => DataType::Int64,
        _ => DataType::UInt64,
    }
}

pub(super) fn fold(call: &Call<'_>, fold: Fold) -> Bound {
    call.arguments(1..=1)?;
    let item = item_type(call, 0)?.clone();
    if let (Fold::Sum, Some(total)) = (fold, super::wide::total_type(&item)) {
        return super::wide::sum(call, total);
    }
    if let (Fold::Average, Some(total)) = (fold, super::wide::total_type(&item)) {
        return average_of_wide(call, super::wide::sum(call, total)?);
    }
    if !item.is_any_number() && item != DataType::Bool {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("array aggregation function cannot be performed on type {item}"),
        ));
    }
    let result = if fold == Fold::Sum { sum_type(&item) } else { DataType::Float64 };
    call.bind(result.clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = [cast(&lists.items, &result, &CastOptions::default())?];
        Ok(match result {
            DataType::UInt64 | DataType::Int64 => {
                let bits = [cast(&items[0], &DataType::UInt64, &CastOptions::default())?];
                let values = values_of::<UInt64Type>(&bits)?;
                let sum = |row: usize| {
                    values
                        .get(lists.range(row))
                        .unwrap_or_default()
                        .iter()
                        .fold(0u64, |sum, value| sum.wrapping_add(*value))
                };
                let sums = Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(sum).collect());
                crate::scalar::arithmetic::as_result(&sums, &result)?
            }
            _ => {
                let values = values_of::<Float64Type>(&items)?;
                let put_together = |row: usize| {
                    let values = values.get(lists.range(row)).unwrap_or_default();
                    match fold {
                        // ClickHouse gives 0 for these two as well.
                        _ if values.is_empty() => 0.0,
                        Fold::Sum => values.iter().sum(),
                        Fold::Average => values.iter().sum::<f64>() / values.len() as f64,
                        Fold::Product => values.iter().product(),
                    }
                };
                Column::from_primitive::<Float64Type>(DataType::Float64, (0..rows).map(put_together).collect())
            }
        })
    })
}

/// The averages of decimals and integers past 64 bits: their exact sums divided as floating-point numbers.
fn average_of_wide(call: &Call<'_>, sum: Arc<dyn BoundFunction>) -> Bound {
    call.bind(DataType::Float64, move |arguments, rows| {
        let sums = sum.execute(arguments, rows)?.materialize()?;
        let sums = [cast(&sums, &DataType::Float64, &CastOptions::default())?];
        let (sums, lists) = (values_of::<Float64Type>(&sums)?, Lists::of(arguments, 0)?);
        let average = |row: usize| match lists.range(row).len() {
            0 => 0.0,
            items => sums[row] / items as f64,
        };
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, (0..rows).map(average).collect()))
    })
}

fn values_of<T: arrow_array::ArrowPrimitiveType>(items: &[Column]) -> Result<&[T::Native]> {
    match Numbers::<T>::of(items, 0)? {
        Numbers::Varying(values) => Ok(values),
        Numbers::Constant(_) => Err(Error::logical("items are no constant")),
    }
}

/// The least or the greatest item, NaN only where there is nothing else; the default of an empty array.
pub(super) fn extreme(call: &Call<'_>, is_greatest: bool) -> Bound {
    call.arguments(1..=1)?;
    let item = item_type(call, 0)?.clone();
    call.bind(item, move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let array = lists.items.array();
        let order = ItemOrder::new(&lists.items, is_greatest)?;
        let positions: Vec<Option<u32>> = (0..rows)
            .map(|row| {
                let better = |best: usize, at: usize| if order.compare(at, best).is_lt() { at } else { best };
                lists.range(row).filter(|at| array.is_valid(*at)).reduce(better).map(|at| at as u32)
            })
            .collect();
        take_or_default(&lists.items, &positions)
    })
}

/// Sums from the first item on; `never_negative`: a sum below 0 becomes 0.
pub(super) fn running_sum(call: &Call<'_>, never_negative: bool) -> Bound {
    call.arguments(1..=1)?;
    if let Some(total) = super::wide::total_type(item_type(call, 0)?) {
        return super::wide::running_sum(call, total, never_negative);
    }
    let item = number_items(call)?;
    let floor = (never_negative && item.is_signed_integer()).then_some(0);
    let result = sum_type(&item);
    call.bind(DataType::array(result.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = [cast(&lists.items, &result, &CastOptions::default())?];
        if result == DataType::Float64 {
            let values = values_of::<Float64Type>(&items)?;
            let sums = by_row::<f64>(&lists, rows, |row, out| {
                let mut sum = 0.0;
                out.extend(values.get(lists.range(row)).unwrap_or_default().iter().map(|value| {
                    sum += value;
                    if never_negative && sum < 0.0 {
                        sum = 0.0;
                    }
                    sum
                }));
            })?;
            return list_column(
                &result,
                sums.1,
                Column::from_primitive::<Float64Type>(DataType::Float64, sums.0).array().clone(),
            );
        }
        let bits = [cast(&items[0], &DataType::Int64, &CastOptions::default())?];
        let values = values_of::<Int64Type>(&bits)?;
        let sums = by_row::<i64>(&lists, rows, |row, out| {
            let mut sum = 0i64;
            out.extend(values.get(lists.range(row)).unwrap_or_default().iter().map(|value| {
                sum = sum.wrapping_add(*value);
                sum = floor.map_or(sum, |floor| sum.max(floor));
                sum
            }));
        })?;
        let sums_column = Column::from_primitive::<Int64Type>(DataType::Int64, sums.0);
        list_column(&result, sums.1, cast(&sums_column, &result, &CastOptions::default())?.array().clone())
    })
}

/// Values appended row by row, and where each row ends.
pub(super) fn by_row<V>(
    lists: &Lists,
    rows: usize,
    mut append: impl FnMut(usize, &mut Vec<V>),
) -> Result<(Vec<V>, Vec<i32>)> {
    let mut values = Vec::with_capacity(lists.items.rows());
    let mut ends = Vec::with_capacity(rows + 1);
    ends.push(0);
    for row in 0..rows {
        append(row, &mut values);
        ends.push(
            i32::try_from(values.len()).map_err(|_| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Too many items"))?,
        );
    }
    Ok((values, ends))
}

/// Differences of neighbours, 0 at first.
pub(super) fn difference(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let item = item_type(call, 0)?.clone();
    if super::wide::total_type(&item).is_some() {
        return super::wide::difference(call, item);
    }
    // Dates and times count as their numbers of days and seconds.
    let is_time = matches!(item, DataType::Date | DataType::Date32 | DataType::DateTime(_));
    if !is_time && !item.is_number() && item != DataType::Bool {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("{} cannot process values of type {item}", call.name),
        ));
    }
    let result = match item {
        DataType::Date => DataType::Int32,
        DataType::UInt8 | DataType::Int8 | DataType::Bool => DataType::Int16,
        DataType::UInt16 | DataType::Int16 => DataType::Int32,
        DataType::Float32 | DataType::Float64 => DataType::Float64,
        _ => DataType::Int64,
    };
    call.bind(DataType::array(result.clone()), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        if result == DataType::Float64 {
            let items = [cast(&lists.items, &DataType::Float64, &CastOptions::default())?];
            let values = values_of::<Float64Type>(&items)?;
            let (differences, ends) = by_row::<f64>(&lists, rows, |row, out| {
                let values = values.get(lists.range(row)).unwrap_or_default();
                out.extend(values.first().map(|_| 0.0));
                out.extend(values.windows(2).map(|pair| pair[1] - pair[0]));
            })?;
            return list_column(
                &result,
                ends,
                Column::from_primitive::<Float64Type>(DataType::Float64, differences).array().clone(),
            );
        }
        let items = [cast(&lists.items, &DataType::Int64, &CastOptions::default())?];
        let values = values_of::<Int64Type>(&items)?;
        let (differences, ends) = by_row::<i64>(&lists, rows, |row, out| {
            let values = values.get(lists.range(row)).unwrap_or_default();
            out.extend(values.first().map(|_| 0));
            out.extend(values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])));
        })?;
        let differences =
            cast(&Column::from_primitive::<Int64Type>(DataType::Int64, differences), &result, &CastOptions::default())?;
        list_column(&result, ends, differences.array().clone())
    })
}

/// What is asked of the items that are not zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    Count,
    Any,
    All,
}

pub(super) fn holding(call: &Call<'_>, holding: Holding) -> Bound {
    call.arguments(1..=1)?;
    if !matches!(item_type(call, 0)?, DataType::UInt8 | DataType::Bool) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "The only argument for function {} must be array of UInt8. Found {} instead",
                call.name,
                call.type_of(0)
            ),
        ));
    }
    let result = if holding == Holding::Count { DataType::UInt32 } else { DataType::UInt8 };
    call.bind(result, move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let holds = truth(&lists.items, lists.items.rows())?;
        let of_row = |row: usize| holds.get(lists.range(row)).unwrap_or_default();
        Ok(match holding {
            Holding::Count => {
                let count = |row: usize| of_row(row).iter().map(|holds| u32::from(*holds)).sum();
                Column::from_primitive::<UInt32Type>(DataType::UInt32, (0..rows).map(count).collect())
            }
            Holding::Any => bytes_column((0..rows).map(|row| u8::from(of_row(row).contains(&1))).collect()),
            Holding::All => bytes_column((0..rows).map(|row| u8::from(!of_row(row).contains(&0))).collect()),
        })
    })
}
