//! The chunk of a subcolumn, made of the chunk that it is within, in pieces of about a millisecond.

use std::sync::Arc;
use std::time::Instant;

use squall_planner::Expression;
use squall_types::{Block, Column, DataType, Error, Result, Rows, Schema};

use crate::column_cache::{ChunkOrigin, DecodeChunk};
use crate::evaluate::evaluate;
use crate::merge_tree::parts::part::{Part, SubcolumnChunk};
use crate::merge_tree::scans::chunk_decoder::{Growing, PIECE, growing};

/// Rows between two looks at the clock.
const BATCH_ROWS: usize = 4096;

/// A chunk that is being made.
pub(super) struct SubcolumnDecoder {
    part: Arc<Part>,
    chunk: SubcolumnChunk,
    /// The rows that it is within, and their type.
    rows: Rows,
    data_type: DataType,
    /// Over one column.
    expression: Expression,
    done: usize,
    growing: Option<Box<dyn Growing>>,
}

impl SubcolumnDecoder {
    /// Of rows of this type, by an expression over them.
    pub(super) fn new(
        part: &Arc<Part>,
        chunk: &SubcolumnChunk,
        rows: &Rows,
        data_type: &DataType,
        expression: &Expression,
    ) -> Self {
        Self {
            part: part.clone(),
            chunk: chunk.clone(),
            rows: rows.clone(),
            data_type: data_type.clone(),
            expression: expression.clone(),
            done: 0,
            growing: None,
        }
    }

    fn finish(&mut self) -> Result<Rows> {
        let growing = self.growing.take().ok_or_else(|| Error::logical("a chunk without rows"))?;
        let rows = growing.finish(self.part.schema.layout.ratio_of_defaults(self.chunk.column))?;
        self.part.remember_subcolumn(&self.chunk, &rows, ChunkOrigin::Read);
        Ok(rows)
    }
}

impl DecodeChunk for SubcolumnDecoder {
    fn decode(&mut self) -> Result<Option<Rows>> {
        let end = Instant::now() + PIECE;
        while self.done < self.rows.len() {
            let rows = BATCH_ROWS.min(self.rows.len() - self.done);
            let values = subcolumn(&self.rows.slice(self.done, rows), &self.data_type, &self.expression)?.to_array()?;
            self.done += rows;
            let growing = match &mut self.growing {
                Some(growing) => growing,
                none => none.insert(growing(&values, self.rows.len())?),
            };
            growing.append(&values)?;
            if Instant::now() >= end {
                return Ok(None);
            }
        }
        self.finish().map(Some)
    }
}

/// What an expression over one column gives of these rows of it.
pub(super) fn subcolumn(rows: &Rows, data_type: &DataType, expression: &Expression) -> Result<Column> {
    let column = Column::of_rows(data_type.clone(), rows.clone());
    let unnamed: Arc<str> = "".into();
    let block = Block::new(Arc::new(Schema::new([(unnamed, data_type.clone())])), vec![column], rows.len());
    evaluate(&expression.map_columns(&|_| 0), &block, &[Some(0)])
}
