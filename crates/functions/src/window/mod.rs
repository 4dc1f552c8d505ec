//! Functions that only a window has: numbers and ranks of rows, neighbours, derivatives. Aggregates over windows are aggregates;
//! what a window is (its order, its frames) is the engine's business, which gives rows block by block.

mod derivative;
mod neighbour;
mod rank;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::Argument;
use crate::registry::own_name;

/// Where a row stands in its partition.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// The row's number, from 0.
    pub row: u64,
    /// Rows of the partition.
    pub rows: u64,
    /// The first of its peers, from 0; this and what follows is there where the function needs peers.
    pub first_peer: u64,
    /// The end of its peers.
    pub peers_end: u64,
    /// Groups of peers before its own.
    pub groups_before: u64,
}

/// Some rows of a window, one after the other, in its order. They may be of several partitions; the first of these may have begun
/// before, and the last may go on after them.
#[derive(Clone, Copy, Debug)]
pub struct WindowRows<'a> {
    /// The first row's number; the numbers of rows go on through all partitions.
    pub first: u64,
    /// By row: where it stands.
    pub places: &'a [Place],
    /// By row: the numbers of its frame's rows; nothing where the function needs no frames.
    pub frames: &'a [Range<u64>],
}

impl WindowRows<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.places.len()
    }
}

/// How the results of a function come about.
pub enum WindowWalk<'a> {
    /// From the rows' places and arguments, one block of rows after the other.
    Rows(Box<dyn RowWalk + 'a>),
    /// They are values of other rows.
    Others(&'a dyn OtherRows),
}

/// A function on its way over the rows of a window.
pub trait RowWalk: Send {
    /// The results of the rows that come next.
    ///
    /// # Errors
    /// The function's own.
    fn walk(&mut self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Column>;
}

/// A function whose results are values that its first argument has in other rows.
pub trait OtherRows: Send + Sync {
    /// By row: the number of the row whose value is the result. Arguments have a value for each row; any may be a constant.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for an offset that is none.
    fn positions(&self, rows: &WindowRows<'_>, arguments: &[Column]) -> Result<Vec<Option<u64>>>;

    /// By row: the result where there is no such row; `None` is the type's default.
    fn defaults<'a>(&self, _arguments: &'a [Column]) -> Option<&'a Column> {
        None
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

    /// Whether it asks where the peers of a row are.
    fn needs_peers(&self) -> bool {
        false
    }

    /// Whether it asks for frames.
    fn needs_frames(&self) -> bool {
        false
    }

    /// Whether it can begin at any row of a partition, and not at its first alone.
    fn begins_anywhere(&self) -> bool {
        !self.needs_peers()
    }

    /// Whether a row's value is greater than the number of rows before it and its peers, and depends on nothing but these rows.
    fn counts_rows_before(&self) -> bool {
        false
    }

    /// The function at the beginning of its way.
    fn walk(&self) -> WindowWalk<'_>;
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

    fn place(row: u64, rows: u64, peers: Range<u64>, groups_before: u64) -> Place {
        Place { row, rows, first_peer: peers.start, peers_end: peers.end, groups_before }
    }

    #[test]
    fn ranks_count_peers_and_begin_anew_in_each_partition() {
        let places = [place(0, 3, 0..2, 0), place(1, 3, 0..2, 0), place(2, 3, 2..3, 1), place(0, 1, 0..1, 0)];
        let rows = WindowRows { first: 7, places: &places, frames: &[] };
        let ranks = |name: &str| {
            let function = resolve_window(name, &[], false).unwrap();
            let WindowWalk::Rows(mut walk) = function.walk() else { panic!("{name}") };
            walk.walk(&rows, &[]).unwrap().as_primitive::<UInt64Type>().unwrap().values().to_vec()
        };
        assert_eq!(ranks("row_number"), [1, 2, 3, 1]);
        assert_eq!(ranks("rank"), [1, 1, 3, 1]);
        assert_eq!(ranks("denseRank"), [1, 1, 2, 1]);
    }

    #[test]
    fn neighbours_stay_in_their_frame() {
        let places = [0, 1, 2].map(|row| place(row, 3, 0..3, 0));
        let rows = WindowRows { first: 10, places: &places, frames: &[10..11, 10..12, 12..13] };
        let values = Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![5, 6, 7]);
        let lag = resolve_window("lagInFrame", &[Argument::of(DataType::UInt64)], false).unwrap();
        let WindowWalk::Others(lag) = lag.walk() else { panic!() };
        assert_eq!(lag.positions(&rows, &[values]).unwrap(), [None, Some(10), None]);
    }
}
