//! Casts of arrays, maps and tuples: their parts are cast.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StructArray};
use arrow_buffer::OffsetBuffer;

use super::{CastMode, CastOptions, cast_array, no_conversion};
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};

/// Converts between arrays, maps and tuples.
pub(super) fn convert(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    use DataType as T;
    match (from, to) {
        (T::Array(item), T::Array(to_item)) => {
            let (offsets, items) = list_parts(array);
            let items = cast_array(item, &items, to_item, &strictly(options))?;
            list(offsets, items)
        }
        (T::Map(..), T::Map(..)) => {
            let (offsets, entries) = list_parts(array);
            let entries = cast_array(&from.map_entry_type(), &entries, &to.map_entry_type(), &strictly(options))?;
            list(offsets, entries)
        }
        (T::Map(..), T::Array(item)) => {
            let (offsets, entries) = list_parts(array);
            // By position: the names of a map's entries are not the tuple's.
            let entry_type = match from.map_entry_type() {
                T::Tuple(elements) => T::tuple(elements.iter().map(|element| element.data_type.clone())),
                other => other,
            };
            list(offsets, cast_array(&entry_type, &entries, item, &strictly(options))?)
        }
        (T::Array(item), T::Map(..)) if matches!(&**item, T::Tuple(elements) if elements.len() == 2) => {
            let (offsets, items) = list_parts(array);
            let entry_type = match to.map_entry_type() {
                T::Tuple(elements) => T::tuple(elements.iter().map(|element| element.data_type.clone())),
                other => other,
            };
            list(offsets, cast_array(item, &items, &entry_type, &strictly(options))?)
        }
        (T::Tuple(elements), T::Map(key, value)) => match &**elements {
            [keys, values] => map_of_arrays(array, (&keys.data_type, key), (&values.data_type, value), options),
            _ => Err(no_conversion(from, to)),
        },
        (T::Tuple(elements), T::Tuple(to_elements)) => {
            if elements.len() != to_elements.len() {
                return Err(Error::new(
                    ErrorCode::TYPE_MISMATCH,
                    format!(
                        "CAST AS Tuple can be performed only between tuples with the same number of elements. Left type: {from}, right type: {to}"
                    ),
                ));
            }
            let tuple = array.as_struct();
            let by_name = elements.iter().chain(to_elements.iter()).all(|element| element.name.is_some())
                && to_elements.iter().all(|to| elements.iter().any(|from| from.name == to.name));
            let columns = to_elements
                .iter()
                .enumerate()
                .map(|(at, to)| {
                    let at =
                        if by_name { elements.iter().position(|from| from.name == to.name).unwrap_or(at) } else { at };
                    let (Some(from), Some(column)) = (elements.get(at), tuple.columns().get(at)) else {
                        return Err(Error::logical("tuple without an element"));
                    };
                    cast_array(&from.data_type, column, &to.data_type, &strictly(options))
                })
                .collect::<Result<Vec<_>>>()?;
            let fields = to
                .arrow_fields()
                .iter()
                .zip(&columns)
                .map(|(field, column)| arrow_schema::Field::new(field.name(), column.data_type().clone(), true))
                .collect();
            Ok(Arc::new(StructArray::try_new_with_length(fields, columns, array.nulls().cloned(), array.len())?))
        }
        _ => Err(no_conversion(from, to)),
    }
}

/// Inside arrays, maps and tuples a loss cannot become NULL.
fn strictly(options: &CastOptions) -> CastOptions {
    let mode = if options.mode == CastMode::OrNull { CastMode::Accurate } else { options.mode };
    CastOptions { mode, ..options.clone() }
}

/// Offsets from 0 and the items that they cover: a sliced list drops what lies outside.
pub(crate) fn list_parts(array: &ArrayRef) -> (OffsetBuffer<i32>, ArrayRef) {
    let list = array.as_list::<i32>();
    let offsets = list.offsets();
    let (first, last) = (offsets.first(), offsets.last());
    if first == 0 && last as usize == list.values().len() {
        return (offsets.clone(), list.values().clone());
    }
    let rebased: Vec<i32> = offsets.iter().map(|offset| offset - first).collect();
    (OffsetBuffer::new(rebased.into()), list.values().slice(first as usize, (last - first) as usize))
}

fn list(offsets: OffsetBuffer<i32>, items: ArrayRef) -> Result<ArrayRef> {
    let field = Arc::new(arrow_schema::Field::new("item", items.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, offsets, items, None)?))
}

/// `(keys, values)` of arrays as a map; each pair is the type that is there and the type that is wanted.
fn map_of_arrays(
    array: &ArrayRef,
    keys: (&DataType, &Arc<DataType>),
    values: (&DataType, &Arc<DataType>),
    options: &CastOptions,
) -> Result<ArrayRef> {
    let tuple = array.as_struct();
    let part = |at: usize, (from, to): (&DataType, &Arc<DataType>)| -> Result<(OffsetBuffer<i32>, ArrayRef)> {
        let to = DataType::Array(to.clone());
        let Some(column) = tuple.columns().get(at).filter(|_| matches!(from, DataType::Array(_))) else {
            return Err(Error::new(ErrorCode::TYPE_MISMATCH, "CAST AS Map from tuple needs two arrays"));
        };
        Ok(list_parts(&cast_array(from, column, &to, &strictly(options))?))
    };
    let (offsets, keys) = part(0, keys)?;
    let (value_offsets, values) = part(1, values)?;
    if offsets != value_offsets {
        return Err(Error::new(
            ErrorCode::TYPE_MISMATCH,
            "CAST AS Map from tuple: arrays of keys and of values must have equal lengths",
        ));
    }
    let fields = [("keys", &keys), ("values", &values)]
        .into_iter()
        .map(|(name, column)| arrow_schema::Field::new(name, column.data_type().clone(), true))
        .collect();
    list(offsets, Arc::new(StructArray::try_new(fields, vec![keys, values], None)?))
}
