//! Functions that only a window has: numbers and ranks of rows, neighbours, derivatives. Aggregates over windows are aggregates;
//! what a window is (its order, its frames) is the engine's business, which gives them as ranges of rows.

mod derivative;
mod neighbour;
mod rank;

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::Argument;
use crate::registry::own_name;

/// Rows `begin..end`.
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

/// The rows of a block as a window sees them: whole partitions, each in the window's order.
#[derive(Clone, Copy, Debug)]
pub struct WindowRows<'a> {
    /// The partitions, one after the other, which together are all rows.
    pub partitions: &'a [RowRange],
    /// The rows that are equal in the window's order, one group after the other, within partitions.
    pub peers: &'a [RowRange],
    /// The frame of each row.
    pub frames: &'a [RowRange],
}

impl WindowRows<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.frames.len()
    }
}

/// What a function says of the frame that is written in its window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameUse {
    /// It does what it does with any frame.
    Any,
    /// It sees whole partitions, and none may be written.
    NotWritten,
    /// It sees whole partitions: another frame than that may not be written.
    Partition,
    /// The same, and the window must have an order.
    OrderedPartition,
}

/// A function of a window with its types settled.
pub trait WindowFunction: Send + Sync + Debug {
    /// The type of the result.
    fn return_type(&self) -> &DataType;

    /// Which frames its window may have.
    fn frame_use(&self) -> FrameUse {
        FrameUse::Any
    }

    /// One result for each row. Arguments have a value for each row; any may be a constant.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for an offset that is none.
    fn execute(&self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Column>;
}

/// The names of all of them, without aliases.
pub(crate) const NAMES: &[&str] = &[
    "row_number",
    "rank",
    "denseRank",
    "percentRank",
    "cume_dist",
    "ntile",
    "nth_value",
    "lag",
    "lead",
    "lagInFrame",
    "leadInFrame",
    "nonNegativeDerivative",
];

/// Whether a name is that of a function which only windows have.
pub fn window_function_exists(name: &str) -> bool {
    NAMES.contains(&own_name(name))
}

/// The window function `name` for these arguments; `respects_nulls` for the forms of `any` and `anyLast` that take a NULL for a
/// value, which only windows have.
///
/// # Errors
/// `UNKNOWN_AGGREGATE_FUNCTION`, and whatever the function says of its arguments.
pub fn resolve_window(name: &str, arguments: &[Argument], respects_nulls: bool) -> Result<Arc<dyn WindowFunction>> {
    match (own_name(name), respects_nulls) {
        ("row_number", _) => Ok(rank::Rank::row_number()),
        ("rank", _) => Ok(rank::Rank::rank()),
        ("denseRank", _) => Ok(rank::Rank::dense_rank()),
        ("percentRank", _) => Ok(rank::Rank::percent_rank()),
        ("cume_dist", _) => Ok(rank::Rank::cume_dist()),
        ("ntile", _) => rank::ntile(arguments),
        ("nth_value", _) => neighbour::nth_value(arguments),
        ("lag", _) => neighbour::offset(name, arguments, neighbour::Direction::Before, false),
        ("lead", _) => neighbour::offset(name, arguments, neighbour::Direction::After, false),
        ("lagInFrame", _) => neighbour::offset(name, arguments, neighbour::Direction::Before, true),
        ("leadInFrame", _) => neighbour::offset(name, arguments, neighbour::Direction::After, true),
        ("any", true) => neighbour::end_of_frame(name, arguments, neighbour::Direction::Before),
        ("anyLast", true) => neighbour::end_of_frame(name, arguments, neighbour::Direction::After),
        ("nonNegativeDerivative", _) => derivative::non_negative_derivative(arguments),
        _ => Err(Error::new(
            ErrorCode::UNKNOWN_AGGREGATE_FUNCTION,
            format!("Aggregate function with name '{name}' does not exist"),
        )),
    }
}

fn bad_arguments(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

fn wrong_count(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::UInt64Type;

    fn range(begin: u32, end: u32) -> RowRange {
        RowRange { begin, end }
    }

    #[test]
    fn ranks_count_peers_and_begin_anew_in_each_partition() {
        let (partitions, peers) = ([range(0, 3), range(3, 4)], [range(0, 2), range(2, 3), range(3, 4)]);
        let frames = [range(0, 2), range(0, 2), range(0, 3), range(3, 4)];
        let rows = WindowRows { partitions: &partitions, peers: &peers, frames: &frames };
        let ranks = |name: &str| {
            let column = resolve_window(name, &[], false).unwrap().execute(&rows, &[]).unwrap();
            column.as_primitive::<UInt64Type>().unwrap().values().to_vec()
        };
        assert_eq!(ranks("row_number"), [1, 2, 3, 1]);
        assert_eq!(ranks("rank"), [1, 1, 3, 1]);
        assert_eq!(ranks("denseRank"), [1, 1, 2, 1]);
    }

    #[test]
    fn neighbours_stay_in_their_frame() {
        let (partitions, frames) = ([range(0, 3)], [range(0, 1), range(0, 2), range(1, 3)]);
        let rows = WindowRows { partitions: &partitions, peers: &partitions, frames: &frames };
        let values = Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![5, 6, 7]);
        let lag = resolve_window("lagInFrame", &[Argument::of(DataType::UInt64)], false).unwrap();
        let column = lag.execute(&rows, &[values]).unwrap();
        assert_eq!(column.as_primitive::<UInt64Type>().unwrap().values().to_vec(), [0, 5, 6]);
    }
}
