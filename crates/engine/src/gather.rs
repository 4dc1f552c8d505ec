//! Rows from many blocks as one block, in any order, column by column; and columns one after the other, in pieces.

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
use squall_types::memory::reserve;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, grow};

/// Where a row is: the number of its block among those that are gathered from, and its row there.
pub(crate) type Position = (usize, usize);

/// The rows at these positions, in pieces of a column.
pub(crate) async fn gather(
    schema: &Arc<Schema>,
    blocks: &[&Block],
    positions: &[Position],
    pieces: &mut Pieces,
) -> Result<Block> {
    let mut columns = Vec::with_capacity(schema.len());
    for (at, data_type) in schema.types().enumerate() {
        columns.push(gather_column(at, data_type, blocks, positions)?);
        pieces.pause().await;
    }
    Ok(Block::new(schema.clone(), columns, positions.len()))
}

/// The same at once, for few rows.
pub(crate) fn gather_now(schema: &Arc<Schema>, blocks: &[&Block], positions: &[Position]) -> Result<Block> {
    let types = schema.types().enumerate();
    let columns = types.map(|(at, data_type)| gather_column(at, data_type, blocks, positions));
    Ok(Block::new(schema.clone(), columns.collect::<Result<_>>()?, positions.len()))
}

fn gather_column(at: usize, data_type: &DataType, blocks: &[&Block], positions: &[Position]) -> Result<Column> {
    if positions.is_empty() {
        return Ok(Column::empty(data_type.clone()));
    }
    let arrays = blocks.iter().map(|block| block.column(at).to_array()).collect::<Result<Vec<_>>>()?;
    let bytes = match data_type.fixed_width_bytes() {
        Some(width) => width * positions.len(),
        None => {
            // An estimate: the rows are as long as those that they are among.
            let rows: usize = blocks.iter().map(|block| block.rows()).sum();
            let bytes: usize = blocks.iter().map(|block| block.column(at).value_bytes()).sum();
            bytes / rows.max(1) * positions.len()
        }
    };
    reserve(bytes)?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
    Ok(Column::new(data_type.clone(), arrow_select::interleave::interleave(&arrays, positions)?))
}

/// The columns one after the other, as [`Column::concat`] has them, in pieces of about a millisecond.
///
/// # Errors
/// `TOO_LARGE_STRING_SIZE` for more than 2 GiB of strings, `MEMORY_LIMIT_EXCEEDED`.
pub(crate) async fn concat(columns: &[Column], pieces: &mut Pieces) -> Result<Column> {
    let Some(first) = columns.first().filter(|_| !columns.iter().any(Column::is_constant)) else {
        return Column::concat(columns);
    };
    let arrays: Vec<ArrayRef> = columns.iter().map(|column| column.array().clone()).collect();
    Ok(Column::new(first.data_type().clone(), concat_arrays(&arrays, pieces).await?))
}

/// Arrays of one type, of which there is one at least, one after the other.
fn concat_arrays<'a>(
    arrays: &'a [ArrayRef],
    pieces: &'a mut Pieces,
) -> Pin<Box<dyn Future<Output = Result<ArrayRef>> + Send + 'a>> {
    Box::pin(async move {
        let Some(first) = arrays.first() else { return Err(Error::logical("no arrays to put together")) };
        match first.data_type() {
            ArrowType::FixedSizeBinary(width) => {
                concat_values(arrays, Some(usize::try_from(*width).unwrap_or(0)), pieces).await
            }
            ArrowType::Binary => concat_values(arrays, None, pieces).await,
            ArrowType::List(field) => {
                let lists: Vec<&ListArray> = arrays.iter().map(|array| array.as_list::<i32>()).collect();
                let offsets = offsets(lists.iter().map(|list| list.value_offsets()), pieces).await?;
                let items = lists.iter().map(|list| {
                    let own = list.value_offsets();
                    list.values().slice(own[0] as usize, (own[list.len()] - own[0]) as usize)
                });
                let items = concat_arrays(&items.collect::<Vec<_>>(), pieces).await?;
                let offsets = OffsetBuffer::new(offsets.into());
                Ok(Arc::new(ListArray::try_new(field.clone(), offsets, items, validity(arrays))?) as ArrayRef)
            }
            ArrowType::Struct(fields) => {
                let mut columns = Vec::with_capacity(fields.len());
                for at in 0..fields.len() {
                    let own: Vec<ArrayRef> = arrays.iter().map(|array| array.as_struct().column(at).clone()).collect();
                    columns.push(concat_arrays(&own, pieces).await?);
                }
                let rows = arrays.iter().map(Array::len).sum();
                let all = StructArray::try_new_with_length(fields.clone(), columns, validity(arrays), rows)?;
                Ok(Arc::new(all) as ArrayRef)
            }
            ArrowType::Dictionary(key, _) if **key == ArrowType::UInt32 => {
                let dictionary = first.as_dictionary::<UInt32Type>().values();
                let has_same = |array: &ArrayRef| {
                    let own = array.as_dictionary::<UInt32Type>().values();
                    Arc::ptr_eq(own, dictionary) || own.to_data().ptr_eq(&dictionary.to_data())
                };
                if !arrays.iter().all(has_same) {
                    // Dictionaries become one, which is of distinct values and so mostly small.
                    return together(arrays);
                }
                let keys = arrays.iter().map(|array| Arc::new(array.as_dictionary::<UInt32Type>().keys().clone()) as _);
                let keys = concat_arrays(&keys.collect::<Vec<_>>(), pieces).await?;
                let keys = keys.as_primitive::<UInt32Type>().clone();
                Ok(Arc::new(DictionaryArray::try_new(keys, dictionary.clone())?) as ArrayRef)
            }
            other => match other.primitive_width() {
                Some(width) => concat_values(arrays, Some(width), pieces).await,
                None => together(arrays),
            },
        }
    })
}

fn together(arrays: &[ArrayRef]) -> Result<ArrayRef> {
    reserve(arrays.iter().map(|array| array.get_array_memory_size()).sum())?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
    Ok(arrow_select::concat::concat(&arrays)?)
}

/// Which rows are no NULL; `None` where all are none.
fn validity(arrays: &[ArrayRef]) -> Option<NullBuffer> {
    arrays.iter().any(|array| array.nulls().is_some()).then(|| {
        let mut valid = BooleanBufferBuilder::new(arrays.iter().map(Array::len).sum());
        for array in arrays {
            match array.nulls() {
                Some(nulls) => valid.append_buffer(nulls.inner()),
                None => valid.append_n(array.len(), true),
            }
        }
        NullBuffer::new(valid.finish())
    })
}

/// The offsets of arrays with these, one after the other.
async fn offsets<'a>(all: impl Iterator<Item = &'a [i32]> + Clone + Send, pieces: &mut Pieces) -> Result<Vec<i32>> {
    let mut offsets: Vec<i32> = Vec::new();
    grow(&mut offsets, 1 + all.clone().map(|own| own.len() - 1).sum::<usize>())?;
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
    Ok(offsets)
}

/// Numbers or fixed strings of this width, or strings, one after the other.
async fn concat_values(arrays: &[ArrayRef], width: Option<usize>, pieces: &mut Pieces) -> Result<ArrayRef> {
    let Some(first) = arrays.first() else { return Err(Error::logical("no arrays to put together")) };
    let rows: usize = arrays.iter().map(Array::len).sum();
    let mut data = ArrayData::builder(first.data_type().clone()).len(rows).nulls(validity(arrays));
    let mut bytes: Vec<u8> = Vec::new();
    match width {
        Some(width) => {
            grow(&mut bytes, rows * width)?;
            for array in arrays {
                let own = array.to_data();
                let values = own.buffers().first().map_or(&[][..], |values| values.as_slice());
                bytes.extend_from_slice(&values[own.offset() * width..][..own.len() * width]);
                pieces.pause().await;
            }
        }
        None => {
            let strings: Vec<&BinaryArray> = arrays.iter().map(|array| array.as_binary::<i32>()).collect();
            let offsets = offsets(strings.iter().map(|strings| strings.value_offsets()), pieces).await?;
            grow(&mut bytes, offsets.last().map_or(0, |end| *end as usize))?;
            for strings in strings {
                let own = strings.value_offsets();
                bytes.extend_from_slice(&strings.value_data()[own[0] as usize..own[strings.len()] as usize]);
                pieces.pause().await;
            }
            data = data.add_buffer(offsets.into());
        }
    }
    Ok(make_array(data.add_buffer(bytes.into()).align_buffers(true).build()?))
}

#[cfg(test)]
mod tests {
    use squall_types::{ColumnBuilder, Value};

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
            // Slices too, and a column without NULL among others.
            let columns =
                [column.clone(), column.slice(1, 2), column.slice(0, 1), column.slice(1, 0), column.slice(2, 1)];
            let expected = Column::concat(&columns).unwrap();
            let found = squall_runtime::block_on(concat(&columns, &mut Pieces::begin())).unwrap();
            assert_eq!((found.data_type(), found.rows()), (expected.data_type(), expected.rows()));
            (0..expected.rows()).for_each(|row| assert_eq!(found.value(row), expected.value(row), "{name} {row}"));
        }
    }
}
