//! Numbers of rows: `row_number`, `rank` and its kin, `ntile`.

use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt64Type};
use squall_types::{Column, DataType, Result, Value};

use super::{FrameUse, Place, RowWalk, WindowFunction, WindowRows, WindowWalk, bad_arguments, wrong_count};
use crate::function::Argument;

/// A function of a row's place.
#[derive(Debug)]
pub(super) enum Rank {
    /// The row's number, which is the same whatever the peers are.
    Row,
    /// One more than the rows before it and its peers.
    WithPeers,
    Number(fn(&Place) -> u64),
    Share(fn(&Place) -> f64),
}

impl Rank {
    pub fn row_number() -> Arc<dyn WindowFunction> {
        Arc::new(Self::Row)
    }

    pub fn rank() -> Arc<dyn WindowFunction> {
        Arc::new(Self::WithPeers)
    }

    pub fn dense_rank() -> Arc<dyn WindowFunction> {
        Arc::new(Self::Number(|place| place.groups_before + 1))
    }

    pub fn percent_rank() -> Arc<dyn WindowFunction> {
        Arc::new(Self::Share(|place| match place.rows {
            1 => 0.0,
            rows => place.first_peer as f64 / (rows - 1) as f64,
        }))
    }

    pub fn cume_dist() -> Arc<dyn WindowFunction> {
        Arc::new(Self::Share(|place| place.peers_end as f64 / place.rows as f64))
    }
}

impl WindowFunction for Rank {
    fn return_type(&self) -> &DataType {
        match self {
            Self::Row | Self::WithPeers | Self::Number(_) => &DataType::UInt64,
            Self::Share(_) => &DataType::Float64,
        }
    }

    fn frame_use(&self) -> FrameUse {
        match self {
            Self::Row | Self::WithPeers | Self::Number(_) => FrameUse::Any,
            Self::Share(_) => FrameUse::Partition,
        }
    }

    fn needs_peers(&self) -> bool {
        !matches!(self, Self::Row)
    }

    fn counts_rows_before(&self) -> bool {
        matches!(self, Self::Row | Self::WithPeers)
    }

    fn walk(&self) -> WindowWalk<'_> {
        WindowWalk::Rows(Box::new(RankWalk(self)))
    }
}

struct RankWalk<'a>(&'a Rank);

impl RowWalk for RankWalk<'_> {
    fn walk(&mut self, rows: &WindowRows<'_>, _: &[Column]) -> Result<Column> {
        let places = rows.places.iter();
        Ok(match self.0 {
            Rank::Row => numbers(places.map(|place| place.row + 1).collect()),
            Rank::WithPeers => numbers(places.map(|place| place.first_peer + 1).collect()),
            Rank::Number(number) => numbers(places.map(number).collect()),
            Rank::Share(share) => Column::from_primitive::<Float64Type>(DataType::Float64, places.map(share).collect()),
        })
    }
}

fn numbers(numbers: Vec<u64>) -> Column {
    Column::from_primitive::<UInt64Type>(DataType::UInt64, numbers)
}

/// `ntile(buckets)`: the partition in so many buckets, the first ones a row larger where they cannot be equal.
pub(super) fn ntile(arguments: &[Argument]) -> Result<Arc<dyn WindowFunction>> {
    let [buckets] = arguments else { return Err(wrong_count("Function ntile takes exactly one argument")) };
    if !buckets.data_type.is_unsigned_integer() {
        return Err(bad_arguments(format!(
            "'ntile' argument type must be an unsigned integer (not larger than 64-bit), got {}",
            buckets.data_type
        )));
    }
    match buckets.constant.as_ref().map(Value::as_u64) {
        None => Err(bad_arguments("Argument of 'ntile' function must be a constant")),
        Some(None | Some(0)) => Err(bad_arguments("Argument of 'ntile' function must be greater than zero")),
        Some(Some(buckets)) => Ok(Arc::new(Ntile(buckets))),
    }
}

#[derive(Debug)]
struct Ntile(u64);

impl Ntile {
    fn bucket(&self, place: &Place) -> u64 {
        let (size, larger) = (place.rows / self.0, place.rows % self.0);
        let in_larger = larger * (size + 1);
        if place.row < in_larger { place.row / (size + 1) + 1 } else { larger + (place.row - in_larger) / size + 1 }
    }
}

impl RowWalk for &Ntile {
    fn walk(&mut self, rows: &WindowRows<'_>, _: &[Column]) -> Result<Column> {
        Ok(numbers(rows.places.iter().map(|place| self.bucket(place)).collect()))
    }
}

impl WindowFunction for Ntile {
    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn frame_use(&self) -> FrameUse {
        FrameUse::OrderedPartition
    }

    fn walk(&self) -> WindowWalk<'_> {
        WindowWalk::Rows(Box::new(self))
    }
}
