//! The frame of each row: which rows of its partition a function sees from it.

use std::ops::Range;
use std::sync::Arc;

use squall_planner::{FrameBound, FrameUnit, SortKey, Window, WindowFrame};
use squall_runtime::Pieces;
use squall_types::{Column, DataType, Result, Value};

use super::peers::{Peers, Run};
use super::reader::{Loaded, Reader};

/// A key of a RANGE frame with offsets, so that the window's order is ascending. NULL and NaN are apart from all values.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub(super) enum RangeKey {
    Integer(i128),
    Float(f64),
    Apart,
}

impl RangeKey {
    /// The keys of all rows.
    pub fn of_column(column: &Column, descending: bool) -> Vec<Self> {
        let key = |row: usize| match column.value(row) {
            Value::UInt64(value) => Self::Integer(value.into()),
            Value::Int64(value) => Self::Integer(value.into()),
            Value::Bool(value) => Self::Integer(value.into()),
            Value::Float64(value) if !value.is_nan() => Self::Float(value),
            _ => Self::Apart,
        };
        let negate = |key: Self| match key {
            Self::Integer(value) => Self::Integer(-value),
            Self::Float(value) => Self::Float(-value),
            Self::Apart => Self::Apart,
        };
        let keys = (0..column.rows()).map(key);
        if descending { keys.map(negate).collect() } else { keys.collect() }
    }

    fn plus(self, offset: i128) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(value + offset),
            Self::Float(value) => Self::Float(value + offset as f64),
            Self::Apart => Self::Apart,
        }
    }

    fn is_apart(self) -> bool {
        matches!(self, Self::Apart)
    }
}

/// Whether a frame needs the values of the window's only key.
fn needs_keys(frame: &WindowFrame) -> bool {
    let has_offset = |bound: FrameBound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
    frame.unit == FrameUnit::Range && (has_offset(frame.begin) || has_offset(frame.end))
}

/// Whether a frame is its row's partition.
pub(super) fn is_partition(frame: &WindowFrame) -> bool {
    frame.begin == FrameBound::UnboundedPreceding && frame.end == FrameBound::UnboundedFollowing
}

/// How far a frame of rows goes to either side of its row; `None` for others, and where that is to an end of the partition.
pub(super) fn reach(frame: &WindowFrame) -> Option<u64> {
    let of_bound = |bound| match bound {
        FrameBound::Preceding(count) | FrameBound::Following(count) => Some(count),
        FrameBound::CurrentRow => Some(0),
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => None,
    };
    let reach = of_bound(frame.begin)?.max(of_bound(frame.end)?);
    (frame.unit == FrameUnit::Rows).then_some(reach)
}

/// Finds the frames of rows, in their order.
pub(super) struct Frames<'a> {
    frame: WindowFrame,
    /// The key by whose values it goes.
    key: Option<&'a SortKey>,
    begin: Bound,
    end: Bound,
}

/// A bound of a frame by values, which only ever moves forward.
#[derive(Default)]
struct Bound {
    row: u64,
    loaded: Option<Arc<Loaded>>,
}

impl<'a> Frames<'a> {
    pub(super) fn new(window: &'a Window) -> Self {
        let key = window.order_by.first().filter(|_| needs_keys(&window.frame));
        Self { frame: window.frame, key, begin: Bound::default(), end: Bound::default() }
    }

    /// The frames of the rows of these runs.
    pub(super) async fn of(
        &mut self,
        runs: &[Run],
        peers: &mut Peers,
        reader: &mut Reader<'_>,
        pieces: &mut Pieces,
    ) -> Result<Vec<Range<u64>>> {
        let rows = runs.iter().map(|run| run.rows.end - run.rows.start).sum::<u64>();
        let mut frames = Vec::with_capacity(rows as usize);
        for run in runs {
            if self.frame.unit == FrameUnit::Rows {
                frames.extend(run.rows.clone().map(|row| self.by_rows(row, &run.partition)));
                continue;
            }
            let of_run = match (self.by_peers(run), self.key) {
                (Some(frame), _) => frame,
                (None, Some(key)) => self.by_key(run, key, reader, pieces).await?,
                (None, None) => self.by_groups(run, peers, reader, pieces).await?,
            };
            frames.extend((run.rows.start..run.rows.end).map(|_| of_run.clone()));
        }
        if let Some(last) = runs.last() {
            // Groups behind the one of the last row, as far back as a bound looks.
            let back = |bound| if let FrameBound::Preceding(count) = bound { count } else { 0 };
            peers.forget_before(last.group.saturating_sub(back(self.frame.begin).max(back(self.frame.end))));
        }
        Ok(frames)
    }

    fn by_rows(&self, row: u64, partition: &Range<u64>) -> Range<u64> {
        let within = |row: u64| row.clamp(partition.start, partition.end);
        let begin = match self.frame.begin {
            FrameBound::UnboundedPreceding => partition.start,
            FrameBound::Preceding(count) => within(row.saturating_sub(count)),
            FrameBound::CurrentRow => row,
            FrameBound::Following(count) => within(row.saturating_add(count)),
            FrameBound::UnboundedFollowing => partition.end,
        };
        let end = match self.frame.end {
            FrameBound::UnboundedPreceding => partition.start,
            FrameBound::Preceding(count) => within((row + 1).saturating_sub(count)),
            FrameBound::CurrentRow => row + 1,
            FrameBound::Following(count) => within((row + 1).saturating_add(count)),
            FrameBound::UnboundedFollowing => partition.end,
        };
        begin..end.max(begin)
    }

    /// GROUPS and RANGE without offsets.
    fn by_peers(&self, run: &Run) -> Option<Range<u64>> {
        let begin = match self.frame.begin {
            FrameBound::UnboundedPreceding => run.partition.start,
            FrameBound::CurrentRow => run.peers.start,
            _ => return None,
        };
        let end = match self.frame.end {
            FrameBound::CurrentRow => run.peers.end,
            FrameBound::UnboundedFollowing => run.partition.end,
            _ => return None,
        };
        Some(begin..end)
    }

    /// GROUPS with offsets.
    async fn by_groups(
        &self,
        run: &Run,
        peers: &mut Peers,
        reader: &mut Reader<'_>,
        pieces: &mut Pieces,
    ) -> Result<Range<u64>> {
        let (partition, group) = (&run.partition, run.group);
        let ahead = |bound| if let FrameBound::Following(count) = bound { count } else { 0 };
        let last = group.saturating_add(ahead(self.frame.begin).max(ahead(self.frame.end))).saturating_add(1);
        peers.know_group(last, partition.end, reader, pieces).await?;
        let begin_of = |group: u64| {
            if group <= run.first_group {
                return partition.start;
            }
            peers.begin(group).map_or(partition.end, |begin| begin.min(partition.end))
        };
        let begin = match self.frame.begin {
            FrameBound::UnboundedPreceding => partition.start,
            FrameBound::Preceding(count) => begin_of(group.saturating_sub(count)),
            FrameBound::CurrentRow => run.peers.start,
            FrameBound::Following(count) => begin_of(group.saturating_add(count)),
            FrameBound::UnboundedFollowing => partition.end,
        };
        let end = match self.frame.end {
            FrameBound::UnboundedPreceding => partition.start,
            // The end of a group is the beginning of the next one.
            FrameBound::Preceding(count) => begin_of((group + 1).saturating_sub(count)),
            FrameBound::CurrentRow => run.peers.end,
            FrameBound::Following(count) => begin_of((group + 1).saturating_add(count)),
            FrameBound::UnboundedFollowing => partition.end,
        };
        Ok(begin..end.max(begin))
    }

    /// RANGE with offsets: rows whose key is so far away at most. Rows without a value see each other alone where an offset is.
    async fn by_key(
        &mut self,
        run: &Run,
        key: &SortKey,
        reader: &mut Reader<'_>,
        pieces: &mut Pieces,
    ) -> Result<Range<u64>> {
        let loaded = reader.block_of(run.rows.start).await?;
        let own = loaded.keys(key)?[(run.rows.start - loaded.first) as usize];
        let offset = |bound| match bound {
            FrameBound::Preceding(count) => Some(-i128::from(count)),
            FrameBound::Following(count) => Some(i128::from(count)),
            _ => None,
        };
        let begin = match offset(self.frame.begin) {
            Some(offset) if !own.is_apart() => {
                let bound = own.plus(offset);
                self.begin.move_on(run, key, |key| key < bound, reader, pieces).await?
            }
            None if self.frame.begin == FrameBound::UnboundedPreceding => run.partition.start,
            _ => run.peers.start,
        };
        let end = match offset(self.frame.end) {
            Some(offset) if !own.is_apart() => {
                let bound = own.plus(offset);
                self.end.move_on(run, key, |key| key <= bound, reader, pieces).await?
            }
            None if self.frame.end == FrameBound::UnboundedFollowing => run.partition.end,
            _ => run.peers.end,
        };
        Ok(begin..end.max(begin))
    }
}

impl Bound {
    /// The first row of the partition with a value that is not before the bound; the first without one behind them where there is none.
    async fn move_on(
        &mut self,
        run: &Run,
        key: &SortKey,
        is_before: impl Fn(RangeKey) -> bool,
        reader: &mut Reader<'_>,
        pieces: &mut Pieces,
    ) -> Result<u64> {
        self.row = self.row.max(run.partition.start);
        while self.row < run.partition.end {
            let loaded = match self.loaded.take().filter(|loaded| loaded.contains(self.row)) {
                Some(loaded) => loaded,
                None => reader.block_of(self.row).await?,
            };
            let keys = loaded.keys(key)?;
            let end = loaded.end().min(run.partition.end);
            let stays = |row: u64| match keys[(row - loaded.first) as usize] {
                // Rows without a value are before all values or behind them.
                RangeKey::Apart => row >= run.peers.start,
                key => !is_before(key),
            };
            self.row = (self.row..end).find(|row| stays(*row)).unwrap_or(end);
            let is_found = self.row < end;
            self.loaded = Some(loaded);
            if is_found {
                break;
            }
            pieces.pause().await;
        }
        Ok(self.row)
    }
}

/// The type inside which the values of a RANGE frame's key are read.
///
/// # Errors
/// Where the column cannot be written out.
pub(super) fn key_column(column: &Column) -> Result<Column> {
    let column = column.without_low_cardinality()?.materialize()?;
    debug_assert!(!matches!(column.data_type(), DataType::LowCardinality(_)));
    Ok(column)
}
