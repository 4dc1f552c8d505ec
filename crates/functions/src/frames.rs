//! Aggregates over the frames of a window. What a frame's rows come to is one state, which goes on from frame to frame where a frame is
//! the one before with more rows at its end; the rows come block by block, so that no frame need be in memory as a whole.

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;
use squall_types::{Column, Result};

use crate::accumulator::{Accumulator, AggregateFunction, GroupIds};

/// Rows `begin..end` of a block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RowRange {
    /// The first row.
    pub begin: u32,
    /// The end, exclusive.
    pub end: u32,
}

impl RowRange {
    /// The number of rows.
    pub fn rows(self) -> usize {
        (self.end - self.begin) as usize
    }

    /// The rows' numbers.
    pub fn range(self) -> std::ops::Range<usize> {
        self.begin as usize..self.end as usize
    }
}

/// A part of the way from frame to frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameStep {
    /// Whether the rows are the first of a frame; otherwise they come to those that are there.
    pub begins: bool,
    /// The rows that come, of the block that the arguments are of.
    pub rows: RowRange,
    /// Whether the frame is complete: then it has a result.
    pub gives: bool,
}

impl FrameStep {
    /// The same step over other rows.
    pub(crate) fn over(self, rows: RowRange) -> Self {
        Self { rows, ..self }
    }
}

/// An aggregate on its way over frames.
pub trait FrameWalk: Send {
    /// Takes these steps over the rows of a block; gives the results of frames that are complete, in order. Arguments have a value
    /// for each row of the block, and may be constants.
    ///
    /// # Errors
    /// The function's own, `MEMORY_LIMIT_EXCEEDED`.
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column>;
}

/// The walk of a function that has nothing better than its accumulator.
pub(crate) struct AccumulatorWalk<'a, F: ?Sized> {
    function: &'a F,
    accumulator: Box<dyn Accumulator>,
}

impl<'a, F: AggregateFunction + ?Sized> AccumulatorWalk<'a, F> {
    pub fn new(function: &'a F) -> Self {
        Self { function, accumulator: function.accumulator() }
    }

    /// A result, after which the state goes on: a copy of it is what gives the result.
    fn result(&mut self) -> Result<Column> {
        let mut bytes = Vec::new();
        self.accumulator.serialize(0, &mut bytes)?;
        let mut copy = self.function.accumulator();
        copy.merge_serialized(0, &mut &bytes[..])?;
        copy.finish(1)
    }
}

impl<F: AggregateFunction + ?Sized> FrameWalk for AccumulatorWalk<'_, F> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        let mut results = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            if step.begins {
                self.accumulator = self.function.accumulator();
            }
            let rows = step.rows.rows();
            if rows > 0 || step.begins {
                let slice = |argument: &Column| argument.slice(step.rows.begin as usize, rows);
                let arguments: Vec<Column> = arguments.iter().map(slice).collect();
                self.accumulator.update(GroupIds::Single, 1, &arguments, rows)?;
            }
            if step.gives {
                let is_over = steps.get(at + 1).is_some_and(|next| next.begins);
                results.push(if is_over {
                    std::mem::replace(&mut self.accumulator, self.function.accumulator()).finish(1)?
                } else {
                    self.result()?
                });
            }
        }
        if results.is_empty() {
            Ok(Column::empty(self.function.return_type().clone()))
        } else {
            Column::concat(&results)
        }
    }
}

/// Whether the frame that a walk is at has a row.
#[derive(Default)]
pub(crate) struct FrameSeen(bool);

impl FrameSeen {
    /// Whether there are rows in the frames that are complete after some of these steps.
    pub fn walk(&mut self, steps: &[FrameStep]) -> Vec<bool> {
        let given = steps.iter().filter_map(|step| {
            self.0 = self.0 && !step.begins || step.rows.rows() > 0;
            step.gives.then_some(self.0)
        });
        given.collect()
    }
}

/// Some of a block's rows: where each is among those that are left.
pub(crate) struct Left {
    /// By row, and at the end: how many rows before it are left.
    before: Vec<u32>,
}

impl Left {
    /// The rows whose bit is set.
    pub fn new(selected: &BooleanBuffer) -> Self {
        let mut before = Vec::with_capacity(selected.len() + 1);
        let mut count = 0;
        before.push(count);
        before.extend(selected.iter().map(|is_selected| {
            count += u32::from(is_selected);
            count
        }));
        Self { before }
    }

    /// The same steps over the rows that are left.
    pub fn steps(&self, steps: &[FrameStep]) -> Vec<FrameStep> {
        let place = |row: u32| self.before[row as usize];
        let rows = |rows: RowRange| RowRange { begin: place(rows.begin), end: place(rows.end) };
        steps.iter().map(|step| step.over(rows(step.rows))).collect()
    }
}

/// Steps over the rows whose bit is set; the results, and the steps over these rows alone.
pub(crate) fn walk_selected(
    nested: &mut dyn FrameWalk,
    selected: &BooleanBuffer,
    arguments: &[Column],
    steps: &[FrameStep],
) -> Result<(Column, Vec<FrameStep>)> {
    let steps = Left::new(selected).steps(steps);
    let count = selected.count_set_bits();
    if count == selected.len() {
        return Ok((nested.walk(arguments, &steps)?, steps));
    }
    let mask = BooleanArray::new(selected.clone(), None);
    let arguments = arguments.iter().map(|column| column.filter(&mask, count)).collect::<Result<Vec<_>>>()?;
    Ok((nested.walk(&arguments, &steps)?, steps))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt64Type;
    use squall_types::{DataType, Value};

    use super::*;
    use crate::registry::resolve_aggregate;

    fn step(begins: bool, begin: u32, end: u32, gives: bool) -> FrameStep {
        FrameStep { begins, rows: RowRange { begin, end }, gives }
    }

    /// Whatever a function is made of, a frame that comes in parts has the result of the frame at once.
    #[test]
    fn a_state_goes_on_from_block_to_block() {
        let numbers = Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![1, 2, 2, 4, 5]);
        for (name, expected) in [
            ("sum", [3u64, 9, 5, 0]),
            ("count", [2, 4, 1, 0]),
            ("sumDistinct", [3, 7, 5, 0]),
            ("uniqExact", [2, 3, 1, 0]),
            ("sumOrDefault", [3, 9, 5, 0]),
        ] {
            let function = resolve_aggregate(name, &[], &[DataType::UInt64]).unwrap();
            let mut walk = function.frame_walk();
            let first =
                walk.walk(std::slice::from_ref(&numbers), &[step(true, 0, 1, false), step(false, 1, 2, true)]).unwrap();
            let steps = [step(false, 2, 4, true), step(true, 4, 5, true), step(true, 1, 1, true)];
            let later = walk.walk(std::slice::from_ref(&numbers), &steps).unwrap();
            let found: Vec<Value> =
                [(&first, 0), (&later, 0), (&later, 1), (&later, 2)].map(|(c, row)| c.value(row)).into();
            assert_eq!(found, expected.map(Value::UInt64), "{name}");
        }
    }
}
