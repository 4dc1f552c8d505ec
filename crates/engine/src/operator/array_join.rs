//! One row per item of arrays that advance together.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ListArray, UInt32Array};
use arrow_buffer::NullBuffer;
use squall_planner::{Expression, evaluate};
use squall_types::{Block, Column, DataType, Error, ErrorCode, PieceRows, Result, Schema};

use super::Operator;

/// Rows of an output block at most.
const ROWS_MAX: usize = 65_409;

/// `ARRAY JOIN`: the input's columns repeated, then one column per array. Columns that nothing after it reads, as the array itself may be
/// one, are not repeated but replaced by a constant.
pub struct ArrayJoin {
    arrays: Vec<Expression>,
    is_left: bool,
    /// By position among the input's columns: whether a later step reads the column.
    is_needed: Vec<bool>,
    schema: Arc<Schema>,
    /// Rows whose arrays are computed at a time.
    input_rows: PieceRows,
    /// Rows that are put out at a time.
    output_rows: PieceRows,
}

impl ArrayJoin {
    /// A join of `arrays` to `schema`, of whose columns those of the input at `is_needed` matter.
    pub fn new(arrays: Vec<Expression>, is_left: bool, is_needed: Vec<bool>, schema: Arc<Schema>) -> Self {
        Self { arrays, is_left, is_needed, schema, input_rows: PieceRows::default(), output_rows: PieceRows::default() }
    }

    fn arrays_of(&self, block: &Block) -> Result<Vec<Column>> {
        self.arrays.iter().map(|array| evaluate(array, block)?.materialize()).collect()
    }

    /// Puts out the rows of a block whose arrays are computed.
    fn join(
        &self,
        block: &Block,
        columns: &[Column],
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let lists = columns.iter().map(as_list).collect::<Result<Vec<_>>>()?;
        let Some(first) = lists.first() else { return emit(block.clone()) };
        let mut rows = Rows { repeated: Vec::new(), items: vec![Vec::new(); lists.len()] };
        for row in 0..block.rows() {
            let length = first.value_length(row);
            if lists.iter().any(|list| list.value_length(row) != length) {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                    "Sizes of ARRAY-JOIN-ed arrays do not match",
                ));
            }
            if length == 0 && self.is_left {
                rows.repeated.push(row as u32);
                rows.items.iter_mut().for_each(|items| items.push(None));
            }
            let mut begin = 0;
            while begin < length as u32 {
                let end = (length as u32).min(begin + (ROWS_MAX - rows.repeated.len()) as u32);
                for (list, items) in lists.iter().zip(&mut rows.items) {
                    let start = list.value_offsets()[row] as u32;
                    items.extend((start + begin..start + end).map(Some));
                }
                rows.repeated.extend(std::iter::repeat_n(row as u32, (end - begin) as usize));
                begin = end;
                if rows.repeated.len() == ROWS_MAX && self.put(block, &lists, &mut rows, emit)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if rows.repeated.len() >= ROWS_MAX && self.put(block, &lists, &mut rows, emit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if rows.repeated.is_empty() { Ok(ControlFlow::Continue(())) } else { self.put(block, &lists, &mut rows, emit) }
    }

    /// Puts out rows that were collected.
    fn put(
        &self,
        block: &Block,
        lists: &[&ListArray],
        rows: &mut Rows,
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        let output = |piece: Range<usize>| {
            let repeated = UInt32Array::from(rows.repeated[piece.clone()].to_vec());
            let repeat = |(column, is_needed): (&Column, &bool)| match is_needed {
                true => column.take(&repeated),
                false => Column::default_values(column.data_type().clone(), repeated.len()),
            };
            let mut output = block.columns().iter().zip(&self.is_needed).map(repeat).collect::<Result<Vec<_>>>()?;
            for (at, (list, items)) in lists.iter().zip(&rows.items).enumerate() {
                let data_type = self.schema.fields[block.columns().len() + at].1.clone();
                let values = Column::new(data_type, list.values().clone());
                let items = &items[piece.clone()];
                output.push(match run(items) {
                    Some(start) => values.slice(start, items.len()),
                    None => take_or_default(&values, &UInt32Array::from(items.to_vec()))?,
                });
            }
            Ok(Block::new(self.schema.clone(), output, piece.len()))
        };
        let flow = self.output_rows.each(rows.repeated.len(), output, |_, output| emit(output))?;
        rows.repeated.clear();
        rows.items.iter_mut().for_each(Vec::clear);
        Ok(flow)
    }
}

/// Rows of the output by where their values are.
struct Rows {
    repeated: Vec<u32>,
    /// Positions of items within each list's values; a row that LEFT keeps without items has none.
    items: Vec<Vec<Option<u32>>>,
}

impl Operator for ArrayJoin {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let mut outputs = Vec::new();
        let _ = self.execute_each(block, &mut |output| {
            outputs.push(output);
            Ok(ControlFlow::Continue(()))
        })?;
        match outputs.is_empty() {
            true => Ok(None),
            false => Block::concat(self.schema.clone(), &outputs).map(Some),
        }
    }

    fn execute_each(
        &self,
        block: Block,
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        if !self.arrays.iter().all(Expression::is_deterministic) {
            return self.join(&block, &self.arrays_of(&block)?, emit);
        }
        self.input_rows.each(
            block.rows(),
            |piece| self.arrays_of(&block.slice(piece.start, piece.len())),
            |piece, columns| self.join(&block.slice(piece.start, piece.len()), &columns, emit),
        )
    }

    fn expands(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "ArrayJoinTransform"
    }
}

fn as_list(column: &Column) -> Result<&ListArray> {
    match column.data_type().inner() {
        DataType::Array(_) | DataType::Map(..) => Ok(column.array().as_list::<i32>()),
        other => Err(Error::new(ErrorCode::TYPE_MISMATCH, format!("ARRAY JOIN requires array argument, not {other}"))),
    }
}

/// Where positions begin that follow each other without a gap, as those of whole arrays do.
fn run(positions: &[Option<u32>]) -> Option<usize> {
    let first = (*positions.first()?)?;
    let follow = (first..).zip(positions).all(|(expected, position)| *position == Some(expected));
    follow.then_some(first as usize)
}

/// The values at positions, the type's default where there is no position.
fn take_or_default(values: &Column, positions: &UInt32Array) -> Result<Column> {
    let Some(missing) = positions.nulls().filter(|nulls| nulls.null_count() > 0) else { return values.take(positions) };
    let default = Column::default_values(values.data_type().clone(), 1)?;
    let all = Column::concat(&[values.clone(), default])?;
    let default_at = values.rows() as u32;
    let filled = positions.values().iter().enumerate();
    let filled: Vec<u32> =
        filled.map(|(row, position)| if is_valid(missing, row) { *position } else { default_at }).collect();
    all.take(&UInt32Array::from(filled))
}

fn is_valid(nulls: &NullBuffer, row: usize) -> bool {
    nulls.is_valid(row)
}
