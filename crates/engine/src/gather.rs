//! Rows from many blocks as one block, in any order, column by column; and columns one after the other, in pieces.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, make_array};
use arrow_buffer::BooleanBufferBuilder;
use arrow_data::ArrayData;
use squall_runtime::Pieces;
use squall_types::memory::reserve;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema};

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

/// The columns one after the other, as [`Column::concat`] has them, in pieces of about a millisecond where they are numbers or strings.
///
/// # Errors
/// `TOO_LARGE_STRING_SIZE` for more than 2 GiB of strings, `MEMORY_LIMIT_EXCEEDED`.
pub(crate) async fn concat(columns: &[Column], pieces: &mut Pieces) -> Result<Column> {
    let Some(first) = columns.first() else { return Column::concat(columns) };
    let arrow_type = first.array().data_type().clone();
    let width = arrow_type.primitive_width();
    if width.is_none() && arrow_type != arrow_schema::DataType::Binary || columns.iter().any(Column::is_constant) {
        return Column::concat(columns);
    }
    let rows: usize = columns.iter().map(Column::rows).sum();
    let mut bytes: Vec<u8> = Vec::new();
    let mut offsets: Vec<i32> = Vec::new();
    let has_nulls = columns.iter().any(|column| column.nulls().is_some());
    let mut valid = has_nulls.then(|| BooleanBufferBuilder::new(rows));
    let total: usize = columns.iter().map(Column::value_bytes).sum();
    reserve(total)?;
    match width {
        Some(width) => bytes.reserve_exact(rows * width),
        None => {
            bytes.reserve_exact(total);
            offsets.reserve_exact(rows + 1);
            offsets.push(0);
        }
    }
    for column in columns {
        let array = column.array();
        if let Some(valid) = &mut valid {
            match column.nulls() {
                Some(nulls) => valid.append_buffer(nulls.inner()),
                None => valid.append_n(array.len(), true),
            }
        }
        match (width, array.as_binary_opt::<i32>()) {
            (Some(width), _) => {
                let data = array.to_data();
                let values = data.buffers().first().map_or(&[][..], |values| values.as_slice());
                bytes.extend_from_slice(&values[data.offset() * width..][..data.len() * width]);
            }
            (None, Some(strings)) => {
                let own = strings.value_offsets();
                let (begin, base) = (own[0], bytes.len());
                bytes.extend_from_slice(&strings.value_data()[begin as usize..own[strings.len()] as usize]);
                let too_large =
                    || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block");
                i32::try_from(bytes.len()).map_err(|_| too_large())?;
                offsets.extend(own[1..].iter().map(|end| end - begin + base as i32));
            }
            (None, None) => return Err(Error::logical("columns of several types")),
        }
        pieces.pause().await;
    }
    let mut data = ArrayData::builder(arrow_type).len(rows);
    if width.is_none() {
        data = data.add_buffer(offsets.into());
    }
    let data = data.add_buffer(bytes.into()).null_bit_buffer(valid.map(|mut valid| valid.finish().into_inner()));
    Ok(Column::new(first.data_type().clone(), make_array(data.align_buffers(true).build()?)))
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
