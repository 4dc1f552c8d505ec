//! Columns made of many others: rows from many blocks as one block, in any order; rows of one column by their numbers; and columns one
//! after the other. All of it in pieces of about a millisecond, however long the columns are. What is done at once is in `kernels`.
//!
//! - [`concat`]: columns one after the other.
//! - [`codes`]: columns of strings one after the other, as codes.
//! - [`RowOrder`]: rows of columns that come one after the other, in another order.
//! - [`dictionary`]: columns whose values are places in dictionaries, of which there are many.

mod codes;
mod concat;
mod dictionary;
mod row_order;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use squall_runtime::Pieces;

use crate::{Block, Column, DataType, Error, Result, Schema, grow, kernels};

pub use codes::codes;
pub use concat::concat;
pub use row_order::{RowOrder, common_row};

/// Where a row is: the number of its block among those that are gathered from, and its row there.
pub type Position = (usize, usize);

/// Rows that are taken from all over a column between two looks at the clock.
pub const TAKEN_AT_ONCE: usize = 8_192;

/// The rows at these positions, in pieces of a column: no more than some thousand of them.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub async fn gather(
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
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub fn gather_now(schema: &Arc<Schema>, blocks: &[&Block], positions: &[Position]) -> Result<Block> {
    let types = schema.types().enumerate();
    let columns = types.map(|(at, data_type)| gather_column(at, data_type, blocks, positions));
    Ok(Block::new(schema.clone(), columns.collect::<Result<_>>()?, positions.len()))
}

fn gather_column(at: usize, data_type: &DataType, blocks: &[&Block], positions: &[Position]) -> Result<Column> {
    if positions.is_empty() {
        return Ok(Column::empty(data_type.clone()));
    }
    let arrays = blocks.iter().map(|block| block.column(at).to_array()).collect::<Result<Vec<_>>>()?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
    Ok(Column::new(data_type.clone(), interleave(&arrays, positions)?))
}

/// The rows of arrays at these positions. Dictionaries give what these rows have of them.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub fn interleave(arrays: &[&dyn Array], positions: &[Position]) -> Result<ArrayRef> {
    match dictionary::interleave(arrays, positions)? {
        Some(gathered) => Ok(gathered),
        None => kernels::interleave(arrays, positions),
    }
}

/// The rows of blocks, whose columns are those of a schema, one after the other.
///
/// # Errors
/// `TOO_LARGE_STRING_SIZE`, `MEMORY_LIMIT_EXCEEDED`.
pub async fn concat_blocks(schema: &Arc<Schema>, blocks: Vec<Block>, pieces: &mut Pieces) -> Result<Block> {
    if let [one] = &blocks[..] {
        return Ok(one.clone().with_schema(schema.clone()));
    }
    let rows = blocks.iter().map(Block::rows).sum();
    let mut columns = Vec::with_capacity(schema.len());
    for column in columns_of(schema, blocks) {
        columns.push(concat(column, pieces).await?);
    }
    Ok(Block::new(schema.clone(), columns, rows))
}

/// The columns of blocks: for each of the schema those of all blocks, which are let go of.
pub fn columns_of(schema: &Schema, blocks: Vec<Block>) -> Vec<Vec<Column>> {
    let mut columns: Vec<Vec<Column>> = (0..schema.len()).map(|_| Vec::with_capacity(blocks.len())).collect();
    for block in blocks {
        columns.iter_mut().zip(block.columns()).for_each(|(all, column)| all.push(column.clone()));
    }
    columns
}

/// The rows of a column at these positions, in pieces.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub async fn take(column: &Column, positions: &UInt32Array, pieces: &mut Pieces) -> Result<Column> {
    if column.is_constant()
        || column.coded().is_some()
        || positions.len() <= TAKEN_AT_ONCE
        || positions.null_count() > 0
    {
        return column.take(positions);
    }
    let array = &column.to_array()?;
    if let Some(width) = array.data_type().primitive_width() {
        return Ok(Column::new(column.data_type().clone(), take_fixed(array, width, positions, pieces).await?));
    }
    let mut taken = Vec::with_capacity(positions.len().div_ceil(TAKEN_AT_ONCE));
    for first in (0..positions.len()).step_by(TAKEN_AT_ONCE) {
        let some = positions.slice(first, TAKEN_AT_ONCE.min(positions.len() - first));
        taken.push(column.take(&some)?);
        pieces.pause().await;
    }
    concat(taken, pieces).await
}

/// Values of this width, straight to their places.
async fn take_fixed(array: &ArrayRef, width: usize, positions: &UInt32Array, pieces: &mut Pieces) -> Result<ArrayRef> {
    let mut bytes: Vec<u8> = Vec::new();
    grow(&mut bytes, positions.len() * width)?;
    let data = array.to_data();
    let values = fixed_values(&data, width);
    let mut valid = array.nulls().map(|_| Vec::new());
    for some in positions.values().chunks(TAKEN_AT_ONCE) {
        match width {
            1 => take_some::<1>(values, some, &mut bytes)?,
            2 => take_some::<2>(values, some, &mut bytes)?,
            4 => take_some::<4>(values, some, &mut bytes)?,
            8 => take_some::<8>(values, some, &mut bytes)?,
            16 => take_some::<16>(values, some, &mut bytes)?,
            32 => take_some::<32>(values, some, &mut bytes)?,
            _ => return Err(Error::logical("values of an unknown width")),
        }
        if let (Some(valid), Some(nulls)) = (&mut valid, array.nulls()) {
            valid.extend(some.iter().map(|row| nulls.is_valid(*row as usize)));
        }
        pieces.pause().await;
    }
    let taken = ArrayData::builder(array.data_type().clone()).len(positions.len()).nulls(valid.map(NullBuffer::from));
    Ok(make_array(taken.add_buffer(bytes.into()).align_buffers(true).build()?))
}

/// Appends the values of these rows.
fn take_some<const WIDTH: usize>(values: &[u8], rows: &[u32], bytes: &mut Vec<u8>) -> Result<()> {
    let values = values.as_chunks::<WIDTH>().0;
    let start = bytes.len();
    bytes.resize(start + rows.len() * WIDTH, 0);
    for (to, row) in bytes[start..].as_chunks_mut::<WIDTH>().0.iter_mut().zip(rows) {
        *to = *values.get(*row as usize).ok_or_else(|| Error::logical("a row that is taken is not there"))?;
    }
    Ok(())
}

/// The bytes of an array's values of this width.
fn fixed_values(data: &ArrayData, width: usize) -> &[u8] {
    let values = data.buffers().first().map_or(&[][..], |values| values.as_slice());
    values.get(data.offset() * width..(data.offset() + data.len()) * width).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::{ColumnBuilder, Value};

    fn column(name: &str, values: impl IntoIterator<Item = Value>) -> Column {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        values.into_iter().for_each(|value| builder.append(&value).unwrap());
        builder.finish().unwrap()
    }

    fn text(row: usize) -> Value {
        if row.is_multiple_of(5) { Value::Null } else { Value::from(format!("value {}", row * 7 % 13).as_str()) }
    }

    fn not_null(row: usize) -> Value {
        Value::from(format!("value {}", row * 7 % 13).as_str())
    }

    #[test]
    fn rows_of_many_dictionaries_have_one_of_the_values_that_they_have() {
        for (name, value) in
            [("LowCardinality(String)", not_null as fn(usize) -> Value), ("LowCardinality(Nullable(String))", text)]
        {
            let columns: Vec<Column> =
                (0..4).map(|block| column(name, (0..20).map(|row| value(3 * row + block)))).collect();
            let blocks: Vec<Block> =
                columns.iter().map(|column| Block::from_columns([("x", column.clone())]).unwrap()).collect();
            let positions: Vec<Position> = (0..50).map(|at| (at * 3 % 4, at * 11 % 20)).collect();
            for positions in [&positions[..], &positions[..1], &[(2, 1), (2, 5), (2, 1)]] {
                let blocks: Vec<&Block> = blocks.iter().collect();
                let gathered = gather_now(blocks[0].schema(), &blocks, positions).unwrap();
                for (row, (block, at)) in positions.iter().enumerate() {
                    assert_eq!(gathered.column(0).value(row), columns[*block].value(*at));
                }
            }
            // Slices have the dictionary of what they are cut from, which is taken once.
            let parts: Vec<Column> =
                columns.iter().flat_map(|column| [column.slice(3, 9), column.slice(0, 2)]).collect();
            let together = squall_runtime::block_on(concat(parts.clone(), &mut Pieces::begin())).unwrap();
            let values = parts.iter().flat_map(|part| (0..part.rows()).map(|row| part.value(row)));
            values.enumerate().for_each(|(row, value)| assert_eq!(together.value(row), value));
            let dictionary = together.array().as_any_dictionary().values().len();
            assert!(dictionary <= 13, "{dictionary}");
        }
    }

    #[test]
    fn rows_are_taken_in_pieces() {
        let rows = 3 * TAKEN_AT_ONCE + 5;
        let positions: UInt32Array = (0..rows).map(|at| (at * 7919 % 1000) as u32).collect::<Vec<u32>>().into();
        for (name, value) in [
            ("UInt64", (|row| Value::UInt64(row as u64)) as fn(usize) -> Value),
            ("Nullable(Int16)", |row| if row % 3 == 0 { Value::Null } else { Value::Int64(row as i64) }),
            ("String", not_null),
            ("LowCardinality(Nullable(String))", text),
            ("FixedString(3)", |row| Value::from(format!("{row:03}").as_str())),
        ] {
            let column = column(name, (0..1000).map(value));
            let taken = squall_runtime::block_on(take(&column, &positions, &mut Pieces::begin())).unwrap();
            let wanted = column.take(&positions).unwrap();
            assert_eq!(taken.rows(), rows);
            (0..rows).for_each(|row| assert_eq!(taken.value(row), wanted.value(row), "{name} {row}"));
        }
    }
}
