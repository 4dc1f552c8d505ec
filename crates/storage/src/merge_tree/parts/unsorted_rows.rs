//! Rows that become a part, as they came: in blocks, in any order, and maybe not all of them. What puts them into partitions and in order
//! looks at keys alone. Then each column is copied once, from where its values came to where they belong.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_planner::KeyExpression;
use squall_runtime::Pieces;
use squall_types::gather::{self, RowOrder, common_row, take};
use squall_types::{Block, Column, Error, Result, Rows, Schema};

use crate::evaluate::evaluate;
use crate::merge_tree::order::sorting::sorted_positions;

/// The rows of some blocks, or those at some positions among them.
#[derive(Clone)]
pub(in crate::merge_tree) struct UnsortedRows {
    schema: Arc<Schema>,
    blocks: Vec<Block>,
    positions: Option<UInt32Array>,
}

impl UnsortedRows {
    /// All rows of blocks whose columns are those of a schema.
    pub(in crate::merge_tree) fn new(schema: &Arc<Schema>, blocks: Vec<Block>) -> Self {
        Self { schema: schema.clone(), blocks, positions: None }
    }

    /// Those at these positions, of all.
    pub(in crate::merge_tree) fn only(&self, positions: UInt32Array) -> Self {
        Self { positions: Some(positions), ..self.clone() }
    }

    /// How many there are.
    pub(in crate::merge_tree) fn rows(&self) -> usize {
        match &self.positions {
            Some(positions) => positions.len(),
            None => self.blocks.iter().map(Block::rows).sum(),
        }
    }

    /// The values of keys, whose expressions find the blocks' columns through `stored`.
    ///
    /// # Errors
    /// Those of the expressions.
    pub(in crate::merge_tree) async fn keys(
        &self,
        keys: &[KeyExpression],
        stored: &[Option<usize>],
        pieces: &mut Pieces,
    ) -> Result<Vec<Column>> {
        let mut columns = Vec::with_capacity(keys.len());
        for key in keys {
            let mut of_blocks = Vec::with_capacity(self.blocks.len());
            for block in &self.blocks {
                of_blocks.push(evaluate(&key.expression, block, stored)?);
                pieces.pause().await;
            }
            columns.push(self.selected(of_blocks, pieces).await?);
        }
        Ok(columns)
    }

    /// One of the columns.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where there is none at this place.
    pub(in crate::merge_tree) async fn column(&self, at: usize, pieces: &mut Pieces) -> Result<Column> {
        let of_block = |block: &Block| block.columns().get(at).cloned();
        let of_blocks = self.blocks.iter().map(of_block).collect::<Option<Vec<Column>>>();
        let of_blocks = of_blocks.ok_or_else(|| Error::logical("a block without the table's columns"))?;
        self.selected(of_blocks, pieces).await
    }

    async fn selected(&self, of_blocks: Vec<Column>, pieces: &mut Pieces) -> Result<Column> {
        let all = gather::concat(of_blocks, pieces).await?;
        match &self.positions {
            Some(positions) => take(&all, positions, pieces).await,
            None => Ok(all),
        }
    }

    /// The rows as one block, in the order of their keys; and whether they came in it.
    ///
    /// # Errors
    /// Those of [`sorted_positions`], `MEMORY_LIMIT_EXCEEDED`.
    pub(in crate::merge_tree) async fn sorted(self, keys: Vec<Column>, pieces: &mut Pieces) -> Result<(Block, bool)> {
        let order = sorted_positions(&keys, self.rows(), pieces).await?;
        drop(keys);
        let is_sorted = order.is_none();
        let positions = match (&self.positions, order) {
            (Some(positions), Some(order)) => {
                let mut chosen: Vec<u32> = Vec::with_capacity(order.len());
                for some in order.values().chunks(gather::TAKEN_AT_ONCE) {
                    chosen.extend(some.iter().filter_map(|at| positions.values().get(*at as usize)));
                    pieces.pause().await;
                }
                Some(chosen.into())
            }
            (Some(positions), None) => Some(positions.clone()),
            (None, order) => order,
        };
        let Self { schema, mut blocks, .. } = self;
        if positions.is_none()
            && blocks.len() == 1
            && let Some(one) = blocks.pop()
        {
            return Ok((one.with_schema(schema), is_sorted));
        }
        let rows_of_blocks: Vec<usize> = blocks.iter().map(Block::rows).collect();
        let order = match positions {
            Some(positions) => Some(RowOrder::new(positions, &rows_of_blocks, pieces).await?),
            None => None,
        };
        let rows = order.as_ref().map_or_else(|| rows_of_blocks.iter().sum(), RowOrder::rows);
        let mut columns = Vec::with_capacity(schema.len());
        for (column, data_type) in gather::columns_of(&schema, blocks).into_iter().zip(schema.types()) {
            columns.push(match (&order, common_row(&column)) {
                (Some(order), _) => order.apply(column, pieces).await?,
                (None, Some(one)) => Column::of_rows(data_type.clone(), Rows::Constant(one, rows)),
                (None, None) => gather::concat(column, pieces).await?,
            });
            pieces.pause().await;
        }
        Ok((Block::new(schema, columns, rows), is_sorted))
    }
}
