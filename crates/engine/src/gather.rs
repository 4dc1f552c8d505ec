//! Rows from many blocks as one block, in any order, column by column.

use std::sync::Arc;

use arrow_array::Array;
use squall_runtime::Pieces;
use squall_types::memory::reserve;
use squall_types::{Block, Column, DataType, Result, Schema};

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
