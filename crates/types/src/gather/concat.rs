//! Columns one after the other, in pieces; each is let go of when it has been copied.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BinaryArray, DictionaryArray, ListArray, StructArray, make_array};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType as ArrowType;
use squall_runtime::Pieces;

use super::{dictionary, fixed_values};
use crate::{Column, Error, ErrorCode, Result, grow, kernels};

/// Bytes that are copied between two looks at the clock.
const BYTES_AT_ONCE: usize = 1 << 20;

/// The columns one after the other, as [`Column::concat`] has them.
///
/// # Errors
/// `TOO_LARGE_STRING_SIZE` for more than 2 GiB of strings, `MEMORY_LIMIT_EXCEEDED`.
pub async fn concat(columns: Vec<Column>, pieces: &mut Pieces) -> Result<Column> {
    let [first, rest @ ..] = &columns[..] else { return Err(Error::logical("no columns to put together")) };
    if rest.is_empty() {
        return first.materialize();
    }
    let data_type = first.data_type().clone();
    // A constant among them, as the row of defaults behind those of a join, is a column like the others.
    let arrays = columns.into_iter().map(|column| column.to_array()).collect::<Result<Vec<ArrayRef>>>()?;
    Ok(Column::new(data_type, concat_arrays(arrays, pieces).await?))
}

/// Arrays of one type, of which there is one at least, one after the other.
pub(super) fn concat_arrays(
    arrays: Vec<ArrayRef>,
    pieces: &mut Pieces,
) -> Pin<Box<dyn Future<Output = Result<ArrayRef>> + Send + '_>> {
    Box::pin(async move {
        let Some(first) = arrays.first() else { return Err(Error::logical("no arrays to put together")) };
        let data_type = first.data_type().clone();
        match &data_type {
            ArrowType::FixedSizeBinary(width) => {
                concat_fixed(arrays, usize::try_from(*width).unwrap_or(0), pieces).await
            }
            ArrowType::Binary => concat_strings(arrays, pieces).await,
            ArrowType::List(field) => {
                let valid = validity(&arrays, pieces).await;
                let all: Vec<&[i32]> = arrays.iter().map(|array| array.as_list::<i32>().value_offsets()).collect();
                let offsets = offsets(&all, pieces).await?;
                let items = arrays.iter().map(|array| {
                    let list = array.as_list::<i32>();
                    let own = list.value_offsets();
                    list.values().slice(own[0] as usize, (own[list.len()] - own[0]) as usize)
                });
                let items = items.collect();
                drop(arrays);
                let items = concat_arrays(items, pieces).await?;
                Ok(Arc::new(ListArray::try_new(field.clone(), offsets, items, valid)?) as ArrayRef)
            }
            ArrowType::Struct(fields) => {
                let valid = validity(&arrays, pieces).await;
                let mut columns = Vec::with_capacity(fields.len());
                for at in 0..fields.len() {
                    let own = arrays.iter().map(|array| array.as_struct().column(at).clone()).collect();
                    columns.push(concat_arrays(own, pieces).await?);
                }
                let rows = arrays.iter().map(Array::len).sum();
                let all = StructArray::try_new_with_length(fields.clone(), columns, valid, rows)?;
                Ok(Arc::new(all) as ArrayRef)
            }
            ArrowType::Dictionary(key, _) if **key == ArrowType::UInt32 => {
                let valid = validity(&arrays, pieces).await;
                let dictionary = first.as_dictionary::<UInt32Type>().values().clone();
                let has_same = |array: &ArrayRef| {
                    let own = array.as_dictionary::<UInt32Type>().values();
                    Arc::ptr_eq(own, &dictionary) || own.to_data().ptr_eq(&dictionary.to_data())
                };
                if !arrays.iter().all(has_same) {
                    return match dictionary::concat(&arrays, valid, pieces).await? {
                        Some(all) => Ok(all),
                        None => together(&arrays),
                    };
                }
                let keys = arrays.iter().map(|array| Arc::new(array.as_dictionary::<UInt32Type>().keys().clone()) as _);
                let keys = keys.collect();
                drop(arrays);
                let keys = concat_arrays(keys, pieces).await?;
                let keys = keys.as_primitive::<UInt32Type>().clone();
                // SAFETY: each key is one of an array of this dictionary, below its length unless it is NULL.
                let all = unsafe { DictionaryArray::new_unchecked(keys, dictionary) };
                Ok(Arc::new(all) as ArrayRef)
            }
            other => match other.primitive_width() {
                Some(width) => concat_fixed(arrays, width, pieces).await,
                None => together(&arrays),
            },
        }
    })
}

fn together(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
    kernels::concat(&arrays)
}

/// Which rows are no NULL; `None` where all are none.
async fn validity(arrays: &[ArrayRef], pieces: &mut Pieces) -> Option<NullBuffer> {
    if arrays.iter().all(|array| array.nulls().is_none()) {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(arrays.iter().map(Array::len).sum());
    for array in arrays {
        match array.nulls() {
            Some(nulls) => valid.append_buffer(nulls.inner()),
            None => valid.append_n(array.len(), true),
        }
        pieces.pause().await;
    }
    Some(NullBuffer::new(valid.finish()))
}

/// The offsets of arrays with these, one after the other.
async fn offsets(all: &[&[i32]], pieces: &mut Pieces) -> Result<OffsetBuffer<i32>> {
    let mut offsets: Vec<i32> = Vec::new();
    grow(&mut offsets, 1 + all.iter().map(|own| own.len() - 1).sum::<usize>())?;
    offsets.push(0);
    let mut base = 0i32;
    for own in all {
        let begin = own[0];
        let last = own.last().copied().unwrap_or(begin) - begin;
        let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block");
        let end = base.checked_add(last).ok_or_else(too_large)?;
        offsets.extend(own[1..].iter().map(|end| end - begin + base));
        base = end;
        pieces.pause().await;
    }
    // SAFETY: it begins with 0, and what is added of each array ascends, as that one's offsets do, from the end of the one before; the
    // last of them does not overflow. A check would look at all of them at once.
    Ok(unsafe { OffsetBuffer::new_unchecked(offsets.into()) })
}

/// Numbers or fixed strings of this width, one after the other.
async fn concat_fixed(arrays: Vec<ArrayRef>, width: usize, pieces: &mut Pieces) -> Result<ArrayRef> {
    let data_type = arrays.first().map_or(ArrowType::Null, |first| first.data_type().clone());
    let rows: usize = arrays.iter().map(Array::len).sum();
    let valid = validity(&arrays, pieces).await;
    let mut bytes: Vec<u8> = Vec::new();
    grow(&mut bytes, rows * width)?;
    for array in arrays {
        bytes.extend_from_slice(fixed_values(&array.to_data(), width));
        drop(array);
        pieces.pause().await;
    }
    let data = ArrayData::builder(data_type).len(rows).nulls(valid).add_buffer(bytes.into());
    Ok(make_array(data.align_buffers(true).build()?))
}

/// Strings, one after the other.
async fn concat_strings(arrays: Vec<ArrayRef>, pieces: &mut Pieces) -> Result<ArrayRef> {
    let valid = validity(&arrays, pieces).await;
    let all: Vec<&[i32]> = arrays.iter().map(|array| array.as_binary::<i32>().value_offsets()).collect();
    let offsets = offsets(&all, pieces).await?;
    let mut bytes: Vec<u8> = Vec::new();
    grow(&mut bytes, offsets.last() as usize)?;
    for array in arrays {
        let strings = array.as_binary::<i32>();
        let own = strings.value_offsets();
        let own = &strings.value_data()[own[0] as usize..own[strings.len()] as usize];
        for some in own.chunks(BYTES_AT_ONCE) {
            bytes.extend_from_slice(some);
            pieces.pause().await;
        }
    }
    // SAFETY: the last offset is the number of bytes, and any bytes are a string.
    Ok(Arc::new(unsafe { BinaryArray::new_unchecked(offsets, bytes.into(), valid) }))
}

#[cfg(test)]
mod tests {
    use crate::{ColumnBuilder, DataType, Value};

    use super::*;

    #[test]
    fn columns_in_pieces_are_those_at_once() {
        for (name, values) in [
            ("UInt16", vec![Value::UInt64(1), Value::UInt64(2), Value::UInt64(3)]),
            ("Nullable(Float64)", vec![Value::Float64(0.5), Value::Null, Value::Float64(-1.0)]),
            ("String", vec![Value::from("a"), Value::from(""), Value::from("long enough")]),
            ("Nullable(String)", vec![Value::Null, Value::from("b"), Value::Null]),
            ("Array(UInt8)", vec![Value::Array([Value::UInt64(7)].into()); 3]),
            (
                "Array(Nullable(String))",
                vec![
                    Value::Array([Value::from("a"), Value::Null].into()),
                    Value::Array([].into()),
                    Value::Array([Value::from("b")].into()),
                ],
            ),
            ("LowCardinality(String)", vec![Value::from("x"), Value::from("y"), Value::from("x")]),
            ("LowCardinality(Nullable(String))", vec![Value::from("x"), Value::Null, Value::from("x")]),
            ("FixedString(2)", vec![Value::from("ab"), Value::from("cd"), Value::from("ef")]),
            ("Tuple(Int8, String)", (0..3).map(|n| Value::Tuple([Value::Int64(n), Value::from("t")].into())).collect()),
        ] {
            let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
            values.iter().for_each(|value| builder.append(value).unwrap());
            let column = builder.finish().unwrap();
            // Slices too, a column without NULL among others, and a constant one.
            let constant = Column::constant(column.data_type().clone(), &values[0], 2).unwrap();
            let columns = [
                column.clone(),
                column.slice(1, 2),
                column.slice(0, 1),
                column.slice(1, 0),
                column.slice(2, 1),
                constant,
            ];
            let expected = Column::concat(&columns).unwrap();
            let found = squall_runtime::block_on(concat(columns.to_vec(), &mut Pieces::begin())).unwrap();
            assert_eq!((found.data_type(), found.rows()), (expected.data_type(), expected.rows()));
            (0..expected.rows()).for_each(|row| assert_eq!(found.value(row), expected.value(row), "{name} {row}"));
        }
    }
}
