//! ASOF: the rows of each key in the order of the values that are compared, so that the nearest one is found by halving.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_buffer::NullBuffer;
use squall_planner::{Expression, Inequality, Nearest, evaluate};
use squall_runtime::Pieces;
use squall_storage::key_index::{KeyIndex, NO_ROW, OrderKeys};
use squall_types::{Block, Error, ErrorCode, Rank, Result, grow};

/// Bits of a place that say where a key's rows begin in their partition, and how many they are.
const PLACE_BITS: u32 = 29;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Rows between two looks at the clock.
const ROWS_AT_ONCE: usize = 4_096;

/// The values of a side that are compared, as numbers of their order.
pub(super) enum NearValues {
    Narrow(OrderKeys),
    /// Of numbers of 128 and 256 bits.
    Wide(OrderKeys<Rank>),
}

impl NearValues {
    /// # Errors
    /// Those of the expression; `BAD_TYPE_OF_FIELD` for types without order.
    pub fn new(expression: &Expression, block: &Block) -> Result<Self> {
        let column = evaluate(expression, block)?.materialize()?.without_low_cardinality()?;
        let wide = || OrderKeys::wide(&column).map(Self::Wide);
        OrderKeys::of(&column).map(Self::Narrow).or_else(wide).ok_or_else(|| {
            let message = format!("ASOF join not supported for type: {}", column.data_type());
            Error::new(ErrorCode::BAD_TYPE_OF_FIELD, message)
        })
    }

    /// The rows that have a value; all of them where this is missing.
    pub fn valid(&self) -> Option<&NullBuffer> {
        match self {
            Self::Narrow(keys) => keys.valid.as_ref(),
            Self::Wide(keys) => keys.valid.as_ref(),
        }
    }
}

/// The rows of the right side by key and value, whichever values are compared.
pub(super) enum Nearby {
    Narrow(NearestRows<u64>),
    Wide(NearestRows<Rank>),
}

impl Nearby {
    /// Nothing is sorted yet. `values` are those of each block.
    ///
    /// # Errors
    /// `SET_SIZE_LIMIT_EXCEEDED` for more rows than can be numbered.
    pub fn new(nearest: &Nearest, values: Vec<NearValues>, partitions: usize) -> Result<Self> {
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        for block in values {
            match block {
                NearValues::Narrow(keys) => narrow.push(keys.values),
                NearValues::Wide(keys) => wide.push(keys.values),
            }
        }
        Ok(match wide.is_empty() {
            true => Self::Narrow(NearestRows::new(nearest, narrow, partitions)?),
            false => Self::Wide(NearestRows::new(nearest, wide, partitions)?),
        })
    }

    /// Sorts the rows of a partition that is filled, in pieces.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub async fn fill(&self, partition: usize, index: &KeyIndex, pieces: &mut Pieces) -> Result<()> {
        match self {
            Self::Narrow(rows) => rows.fill(partition, index, pieces).await,
            Self::Wide(rows) => rows.fill(partition, index, pieces).await,
        }
    }

    /// Exchanges the first row of each left row's key for the one that is nearest to the left row's value.
    pub fn find(&self, values: &NearValues, first: &mut [u32]) {
        match (self, values) {
            (Self::Narrow(rows), NearValues::Narrow(keys)) => rows.find_all(keys, first),
            (Self::Wide(rows), NearValues::Wide(keys)) => rows.find_all(keys, first),
            // Both sides are of one type, so that only a right side without rows says nothing of it.
            _ => first.fill(NO_ROW),
        }
    }
}

/// The rows of the right side by key and one kind of values.
pub(super) struct NearestRows<V> {
    inequality: Inequality,
    values: RowValues<V>,
    partitions: Vec<OnceLock<Vec<(V, u32)>>>,
    /// For the first row of each key its partition, where its rows begin in it, and how many they are.
    places: Vec<OnceLock<Box<[AtomicU64]>>>,
}

/// Rows of a block of places.
const PLACES_AT_ONCE: usize = 1 << 14;

/// The value of each row: block by block, as they were collected.
struct RowValues<V> {
    blocks: Vec<Vec<V>>,
    /// The first row of each block, and the end.
    firsts: Vec<usize>,
}

impl<V: Copy> RowValues<V> {
    fn new(blocks: Vec<Vec<V>>) -> Self {
        let mut end = 0;
        let ends = blocks.iter().map(|block| {
            end += block.len();
            end
        });
        let firsts = std::iter::once(0).chain(ends).collect();
        Self { blocks, firsts }
    }

    fn rows(&self) -> usize {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// The value of a row. `block` is where another row's was, often this one's too.
    #[inline]
    fn value(&self, row: usize, block: &mut usize) -> V {
        if !(self.firsts[*block]..self.firsts[*block + 1]).contains(&row) {
            *block = self.firsts.partition_point(|first| *first <= row) - 1;
        }
        self.blocks[*block][row - self.firsts[*block]]
    }
}

impl<V: Copy + Ord> NearestRows<V> {
    fn new(nearest: &Nearest, values: Vec<Vec<V>>, partitions: usize) -> Result<Self> {
        let values = RowValues::new(values);
        if values.rows() as u64 > PLACE_MASK {
            let message = format!("More than {PLACE_MASK} rows on the right of an ASOF JOIN");
            return Err(Error::new(ErrorCode::SET_SIZE_LIMIT_EXCEEDED, message));
        }
        Ok(Self {
            inequality: nearest.inequality,
            partitions: (0..partitions).map(|_| OnceLock::new()).collect(),
            places: std::iter::repeat_with(OnceLock::new).take(values.rows().div_ceil(PLACES_AT_ONCE)).collect(),
            values,
        })
    }

    async fn fill(&self, partition: usize, index: &KeyIndex, pieces: &mut Pieces) -> Result<()> {
        let mut sorted: Vec<(V, u32)> = Vec::new();
        let mut block = 0;
        for first in index.first_rows(partition) {
            let begin = sorted.len();
            let mut row = first;
            // Rows mostly come in order already.
            let mut is_sorted = true;
            while row != NO_ROW {
                let next = (self.values.value(row as usize, &mut block), row);
                is_sorted &= sorted.len() == begin || sorted.last().is_some_and(|last| *last <= next);
                grow(&mut sorted, 1)?;
                sorted.push(next);
                row = index.next(row);
                if sorted.len().is_multiple_of(ROWS_AT_ONCE) {
                    pieces.pause().await;
                }
            }
            let of_key = &mut sorted[begin..];
            if !is_sorted {
                sort_in_pieces(of_key, pieces).await?;
            }
            let place = (partition as u64) << (2 * PLACE_BITS) | (begin as u64) << PLACE_BITS | of_key.len() as u64;
            let places = self.places[first as usize / PLACES_AT_ONCE]
                .get_or_init(|| std::iter::repeat_with(AtomicU64::default).take(PLACES_AT_ONCE).collect());
            places[first as usize % PLACES_AT_ONCE].store(place, Ordering::Relaxed);
        }
        let _ = self.partitions[partition].set(sorted);
        Ok(())
    }

    /// As [`Nearby::find`].
    fn find_all(&self, keys: &OrderKeys<V>, first: &mut [u32]) {
        for (row, first) in first.iter_mut().enumerate().filter(|(_, first)| **first != NO_ROW) {
            *first = keys.get(row).map_or(NO_ROW, |value| self.find(*first, value));
        }
    }

    /// The row of a key that is nearest to a value, or [`NO_ROW`]; `first` is the key's first row.
    #[inline]
    fn find(&self, first: u32, value: V) -> u32 {
        let places = self.places.get(first as usize / PLACES_AT_ONCE).and_then(OnceLock::get);
        let Some(place) = places.and_then(|places| places.get(first as usize % PLACES_AT_ONCE)) else { return NO_ROW };
        let place = place.load(Ordering::Relaxed);
        let (begin, rows) = ((place >> PLACE_BITS & PLACE_MASK) as usize, (place & PLACE_MASK) as usize);
        let Some(sorted) = self.partitions.get((place >> (2 * PLACE_BITS)) as usize).and_then(OnceLock::get) else {
            return NO_ROW;
        };
        let sorted = &sorted[begin..begin + rows];
        let at = match self.inequality {
            Inequality::GreaterOrEquals => sorted.partition_point(|(right, _)| *right <= value).checked_sub(1),
            Inequality::Greater => sorted.partition_point(|(right, _)| *right < value).checked_sub(1),
            Inequality::LessOrEquals => Some(sorted.partition_point(|(right, _)| *right < value)),
            Inequality::Less => Some(sorted.partition_point(|(right, _)| *right <= value)),
        };
        at.and_then(|at| sorted.get(at)).map_or(NO_ROW, |(_, row)| *row)
    }
}

/// Sorts values with their rows: runs of some thousands, which are merged pair by pair.
async fn sort_in_pieces<V: Copy + Ord>(rows: &mut [(V, u32)], pieces: &mut Pieces) -> Result<()> {
    for run in rows.chunks_mut(ROWS_AT_ONCE) {
        run.sort_unstable();
        pieces.pause().await;
    }
    let mut width = ROWS_AT_ONCE;
    let mut merged: Vec<(V, u32)> = Vec::new();
    if width < rows.len() {
        grow(&mut merged, rows.len())?;
    }
    while width < rows.len() {
        merged.clear();
        for pair in rows.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while !(left.is_empty() && right.is_empty()) {
                let from_left = match (left.first(), right.first()) {
                    (Some(left), Some(right)) => left <= right,
                    (left, _) => left.is_some(),
                };
                let side = if from_left { &mut left } else { &mut right };
                if let Some((next, rest)) = side.split_first() {
                    merged.push(*next);
                    *side = rest;
                }
                if merged.len().is_multiple_of(ROWS_AT_ONCE) {
                    pieces.pause().await;
                }
            }
        }
        for (rows, merged) in rows.chunks_mut(ROWS_AT_ONCE).zip(merged.chunks(ROWS_AT_ONCE)) {
            rows.copy_from_slice(merged);
            pieces.pause().await;
        }
        width *= 2;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_key_are_sorted_in_pieces() {
        for count in [0, 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 5 * ROWS_AT_ONCE + 7] {
            let row = |row: usize| ((row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50, row as u32);
            let mut rows: Vec<(u64, u32)> = (0..count).map(row).collect();
            let mut expected = rows.clone();
            expected.sort_unstable();
            squall_runtime::block_on(sort_in_pieces(&mut rows, &mut Pieces::begin())).unwrap();
            assert_eq!(rows, expected);
        }
    }
}
