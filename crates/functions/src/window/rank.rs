//! Numbers of rows: `row_number`, `rank` and its kin, `ntile`.

use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt64Type};
use squall_types::{Column, DataType, Result, Value};

use super::{FrameUse, RowRange, WindowFunction, WindowRows, bad_arguments, wrong_count};
use crate::function::Argument;

/// Where a row stands in its partition.
pub(super) struct Place {
    /// The row's number, from 0.
    row: u64,
    /// The first of its peers, from 0.
    first_peer: u64,
    /// The end of its peers.
    peers_end: u64,
    /// Groups of peers before its own.
    groups_before: u64,
    /// Rows of the partition.
    rows: u64,
}

/// A function of a row's place.
#[derive(Debug)]
pub(super) enum Rank {
    Number(fn(&Place) -> u64, FrameUse),
    Share(fn(&Place) -> f64),
}

impl Rank {
    pub fn row_number() -> Arc<dyn WindowFunction> {
        Arc::new(Self::Number(|place| place.row + 1, FrameUse::Any))
    }

    pub fn rank() -> Arc<dyn WindowFunction> {
        Arc::new(Self::Number(|place| place.first_peer + 1, FrameUse::Any))
    }

    pub fn dense_rank() -> Arc<dyn WindowFunction> {
        Arc::new(Self::Number(|place| place.groups_before + 1, FrameUse::Any))
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
            Self::Number(..) => &DataType::UInt64,
            Self::Share(_) => &DataType::Float64,
        }
    }

    fn frame_use(&self) -> FrameUse {
        match self {
            Self::Number(_, frame_use) => *frame_use,
            Self::Share(_) => FrameUse::Partition,
        }
    }

    fn execute(&self, rows: &WindowRows<'_>, _: &[Column]) -> Result<Column> {
        Ok(match self {
            Self::Number(number, _) => Column::from_primitive::<UInt64Type>(DataType::UInt64, of_places(rows, number)),
            Self::Share(share) => Column::from_primitive::<Float64Type>(DataType::Float64, of_places(rows, share)),
        })
    }
}

fn of_places<T>(rows: &WindowRows<'_>, value: impl Fn(&Place) -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(rows.rows());
    let mut peers = rows.peers.iter().peekable();
    for partition in rows.partitions {
        let from_first = |row: u32| u64::from(row - partition.begin);
        let mut groups_before = 0;
        while let Some(group) = peers.next_if(|group| group.begin < partition.end) {
            values.extend((group.begin..group.end).map(|row| {
                value(&Place {
                    row: from_first(row),
                    first_peer: from_first(group.begin),
                    peers_end: from_first(group.end),
                    groups_before,
                    rows: partition.rows() as u64,
                })
            }));
            groups_before += 1;
        }
    }
    values
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
    fn bucket(&self, partition: &RowRange, row: u32) -> u64 {
        let (rows, row) = (partition.rows() as u64, u64::from(row - partition.begin));
        let (size, larger) = (rows / self.0, rows % self.0);
        let in_larger = larger * (size + 1);
        if row < in_larger { row / (size + 1) + 1 } else { larger + (row - in_larger) / size + 1 }
    }
}

impl WindowFunction for Ntile {
    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn frame_use(&self) -> FrameUse {
        FrameUse::OrderedPartition
    }

    fn execute(&self, rows: &WindowRows<'_>, _: &[Column]) -> Result<Column> {
        let buckets = rows
            .partitions
            .iter()
            .flat_map(|partition| (partition.begin..partition.end).map(|row| self.bucket(partition, row)));
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, buckets.collect()))
    }
}
