//! The order of rows by a sorting key. Leading key columns are packed into 128 bits that compare like the values. Rows are sorted by the 64
//! of them that begin with the first in which rows differ; only ties look at the others, and at what did not fit.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, UInt32Array};
use arrow_schema::DataType as ArrowType;
use squall_types::{Column, DataType, Error, ErrorCode, Result, kernels};

use super::key_bytes;
use super::radix::{self, Entry};
use squall_runtime::Pieces;
use squall_types::gather::take;

/// Rows that are sorted at once, in about a millisecond.
const RUN_ROWS: usize = 1 << 13;
/// Rows that are copied at once, in less.
const BATCH_ROWS: usize = 1 << 16;
/// Bytes of the packed prefix.
const PREFIX_BYTES: usize = 16;

/// A key column in a form that compares.
pub(in crate::merge_tree) enum KeyColumn {
    /// Numbers as integers of the same order, and how many of their low bytes matter.
    Fixed {
        ranks: Vec<u64>,
        width: usize,
    },
    Bytes(BinaryArray),
    FixedBytes(FixedSizeBinaryArray),
}

/// Whether a type can be in a key, and how long its packed form is.
pub(crate) fn is_sortable(data_type: &DataType) -> bool {
    key_bytes::can_be_key(data_type)
}

/// A key column's values without dictionary.
pub(crate) fn plain_array(column: &Column) -> Result<ArrayRef> {
    let array = column.to_array()?;
    match array.as_dictionary_opt::<UInt32Type>() {
        Some(dictionary) => Ok(arrow_select::take::take(dictionary.values(), dictionary.keys(), None)?),
        None => Ok(array),
    }
}

/// Keys of rows that are in their order, to be compared with those of other rows.
pub(in crate::merge_tree) struct SortedKeys {
    columns: Vec<KeyColumn>,
    rows: usize,
}

impl SortedKeys {
    /// # Errors
    /// As [`sorted_positions`].
    pub(in crate::merge_tree) async fn new(keys: &[Column], rows: usize, pieces: &mut Pieces) -> Result<Self> {
        let columns = KeyColumn::all(keys, pieces).await?;
        Ok(Self { columns, rows })
    }

    /// A row's key and that of a row of others.
    pub(in crate::merge_tree) fn compare(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        let columns = self.columns.iter().zip(&other.columns);
        columns
            .map(|(own, other)| own.compare_with(row, other, other_row))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Whether they are in order.
    pub(in crate::merge_tree) async fn are_in_order(&self, pieces: &mut Pieces) -> bool {
        for first in (1..self.rows).step_by(RUN_ROWS) {
            let last = self.rows.min(first + RUN_ROWS);
            if (first..last).any(|row| self.compare(row - 1, self, row).is_gt()) {
                return false;
            }
            pieces.pause().await;
        }
        true
    }

    /// How many rows, of those from `first` on, come before a row of others; `with_equal` counts those of its key, too.
    pub(in crate::merge_tree) fn count_before(
        &self,
        first: usize,
        other: &Self,
        other_row: usize,
        with_equal: bool,
    ) -> usize {
        let (mut low, mut high) = (first, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare(middle, other, other_row) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal if with_equal => low = middle + 1,
                Ordering::Equal | Ordering::Greater => high = middle,
            }
        }
        low - first
    }
}

/// Where runs of rows with equal keys begin, in rows that are in the order of the keys. Without keys all are equal.
///
/// # Errors
/// As [`sorted_positions`].
pub(crate) async fn equal_runs(keys: &[Column], rows: usize, pieces: &mut Pieces) -> Result<Vec<u32>> {
    let columns = KeyColumn::all(keys, pieces).await?;
    let (prefixes, rest) = pack(&columns, rows, pieces).await;
    let is_equal = |left: usize, right: usize| {
        prefixes.get(left) == prefixes.get(right) && rest.iter().all(|key| key.compare(left, right).is_eq())
    };
    let mut starts = vec![0];
    for first in (1..rows).step_by(RUN_ROWS) {
        let last = rows.min(first + RUN_ROWS);
        starts.extend((first..last).filter(|row| !is_equal(row - 1, *row)).map(|row| row as u32));
        pieces.pause().await;
    }
    Ok(starts)
}

/// The positions of the rows in order, rows of equal keys as they came; `None` where they already are in order.
///
/// # Errors
/// `NOT_IMPLEMENTED` for types that are not compared here.
pub(crate) async fn sorted_positions(keys: &[Column], rows: usize, pieces: &mut Pieces) -> Result<Option<UInt32Array>> {
    if keys.is_empty() || rows < 2 {
        return Ok(None);
    }
    let columns = KeyColumn::all(keys, pieces).await?;
    let (prefixes, rest) = pack(&columns, rows, pieces).await;
    let prefix = |row: u32| prefixes.get(row as usize);
    let compare = |left: u32, right: u32| {
        prefix(left).cmp(&prefix(right)).then_with(|| {
            rest.iter()
                .map(|key| key.compare(left as usize, right as usize))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    };
    let mut is_in_order = true;
    for first in (1..rows as u32).step_by(RUN_ROWS) {
        let last = (rows as u32).min(first + RUN_ROWS as u32);
        is_in_order = (first..last).all(|row| compare(row - 1, row).is_le());
        if !is_in_order {
            break;
        }
        pieces.pause().await;
    }
    if is_in_order {
        return Ok(None);
    }
    let first = prefixes.first().copied().unwrap_or(0);
    let mut differing = 0;
    for some in prefixes.chunks(BATCH_ROWS) {
        differing = some.iter().fold(differing, |differing, prefix| differing | (prefix ^ first));
        pieces.pause().await;
    }
    let common_bits = differing.leading_zeros();
    let number = |prefix: &u128| (prefix.checked_shl(common_bits).unwrap_or(0) >> 64) as u64;
    let is_whole = rest.is_empty() && differing.checked_shl(common_bits).unwrap_or(0) as u64 == 0;
    let mut entries: Vec<Entry> = Vec::with_capacity(rows);
    for some in prefixes.chunks(BATCH_ROWS) {
        let rows = entries.len() as u32..;
        entries.extend(some.iter().map(number).zip(rows));
        pieces.pause().await;
    }
    let mut order = radix::sorted(entries, pieces).await;
    if !is_whole {
        let compare = |left: u32, right: u32| compare(left, right).then(left.cmp(&right));
        let mut rows = 0;
        for ties in order.chunk_by_mut(|left, right| left.0 == right.0) {
            rows += ties.len();
            match ties.len() {
                1 => {}
                ..=RUN_ROWS => ties.sort_unstable_by(|left, right| compare(left.1, right.1)),
                _ => sort_many(ties, compare, pieces).await,
            }
            if rows >= RUN_ROWS {
                rows = 0;
                pieces.pause().await;
            }
        }
    }
    let mut positions: Vec<u32> = Vec::with_capacity(rows);
    for some in order.chunks(BATCH_ROWS) {
        positions.extend(some.iter().map(|(_, row)| *row));
        pieces.pause().await;
    }
    Ok(Some(positions.into()))
}

/// Sorts entries by their rows: in runs, which are merged two by two, as often as it takes until there is one.
async fn sort_many(entries: &mut [Entry], compare: impl Fn(u32, u32) -> Ordering, pieces: &mut Pieces) {
    for run in entries.chunks_mut(RUN_ROWS) {
        run.sort_unstable_by(|left, right| compare(left.1, right.1));
        pieces.pause().await;
    }
    let mut order = entries.to_vec();
    let mut merged = Vec::with_capacity(order.len());
    let mut length = RUN_ROWS;
    while length < order.len() {
        for pair in order.chunks(2 * length) {
            let (mut left, mut right) = pair.split_at(length.min(pair.len()));
            while let (Some(of_left), Some(of_right)) = (left.first(), right.first()) {
                let from = if compare(of_left.1, of_right.1).is_le() { &mut left } else { &mut right };
                merged.extend(from.split_off_first());
                if merged.len().is_multiple_of(RUN_ROWS) {
                    pieces.pause().await;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
            pieces.pause().await;
        }
        std::mem::swap(&mut order, &mut merged);
        merged.clear();
        length *= 2;
    }
    entries.copy_from_slice(&order);
}

/// The first bytes of each row's key, and the key columns that these do not cover entirely.
async fn pack<'a>(keys: &'a [KeyColumn], rows: usize, pieces: &mut Pieces) -> (Vec<u128>, &'a [KeyColumn]) {
    let mut prefixes: Vec<u128> = Vec::with_capacity(rows);
    let mut rest = None;
    while prefixes.len() < rows {
        let first = prefixes.len();
        prefixes.resize(rows.min(first + RUN_ROWS), 0);
        rest = pack_some(keys, first, &mut prefixes[first..]);
        pieces.pause().await;
    }
    (prefixes, rest.and_then(|at| keys.get(at..)).unwrap_or_default())
}

/// The same for some rows from `first` on; of the columns the first that is not covered entirely.
fn pack_some(keys: &[KeyColumn], first: usize, prefixes: &mut [u128]) -> Option<usize> {
    let mut used = 0;
    for (at, key) in keys.iter().enumerate() {
        let room = PREFIX_BYTES - used;
        match key {
            KeyColumn::Fixed { ranks, width } if *width <= room => {
                for (prefix, rank) in prefixes.iter_mut().zip(ranks.get(first..).unwrap_or_default()) {
                    *prefix = (*prefix << (8 * width)) | u128::from(*rank);
                }
                used += width;
            }
            KeyColumn::FixedBytes(values) if values.value_length() as usize <= room => {
                let width = values.value_length() as usize;
                for (row, prefix) in (first..).zip(prefixes.iter_mut()) {
                    *prefix = shifted(*prefix, width) | head(values.value(row), width);
                }
                used += width;
            }
            // Its first bytes order most rows; ties are settled from this column on.
            KeyColumn::Bytes(values) if room > 0 => {
                for (row, prefix) in (first..).zip(prefixes.iter_mut()) {
                    *prefix = shifted(*prefix, room) | head(values.value(row), room);
                }
                return Some(at);
            }
            _ => return Some(at),
        }
    }
    None
}

fn shifted(prefix: u128, bytes: usize) -> u128 {
    prefix.checked_shl(8 * bytes as u32).unwrap_or(0)
}

/// The first `width` bytes as a big-endian number, short values padded with zeros.
fn head(bytes: &[u8], width: usize) -> u128 {
    let mut padded = [0; PREFIX_BYTES];
    for (to, from) in padded.iter_mut().zip(bytes.iter().take(width)) {
        *to = *from;
    }
    u128::from_be_bytes(padded) >> (8 * (PREFIX_BYTES - width))
}

impl KeyColumn {
    /// The columns of a key. One that may be NULL is two: whether it is, and its values. So NULL comes last.
    async fn all(keys: &[Column], pieces: &mut Pieces) -> Result<Vec<Self>> {
        let mut columns = Vec::with_capacity(keys.len());
        for key in keys {
            if !key.data_type().is_nullable() {
                columns.push(Self::new(key, pieces).await?);
                pieces.pause().await;
                continue;
            }
            let values = plain_array(key)?;
            let is_null = |row: usize| u64::from(values.is_null(row));
            columns.push(Self::Fixed { ranks: (0..values.len()).map(is_null).collect(), width: 1 });
            pieces.pause().await;
            let data_type = key.data_type().inner().clone();
            let of_values = Column::new(data_type.clone(), without_nulls(&data_type, values)?);
            columns.push(Self::new(&of_values, pieces).await?);
            pieces.pause().await;
        }
        Ok(columns)
    }

    pub(in crate::merge_tree) async fn new(column: &Column, pieces: &mut Pieces) -> Result<Self> {
        let array = column.to_array()?;
        let array = match array.as_dictionary_opt::<UInt32Type>() {
            Some(dictionary) => {
                let values =
                    Column::new(column.data_type().remove_low_cardinality().clone(), dictionary.values().clone());
                take(&values, dictionary.keys(), pieces).await?.to_array()?
            }
            None => array,
        };
        let unsigned = |width, ranks: Vec<u64>| Ok(Self::Fixed { ranks, width });
        match array.data_type() {
            ArrowType::UInt8 => {
                unsigned(1, array.as_primitive::<UInt8Type>().values().iter().map(|v| u64::from(*v)).collect())
            }
            ArrowType::UInt16 => {
                unsigned(2, array.as_primitive::<UInt16Type>().values().iter().map(|v| u64::from(*v)).collect())
            }
            ArrowType::UInt32 => {
                unsigned(4, array.as_primitive::<UInt32Type>().values().iter().map(|v| u64::from(*v)).collect())
            }
            ArrowType::UInt64 => unsigned(8, array.as_primitive::<UInt64Type>().values().to_vec()),
            ArrowType::Int8 => unsigned(
                1,
                array.as_primitive::<Int8Type>().values().iter().map(|v| u64::from(*v as u8 ^ (1 << 7))).collect(),
            ),
            ArrowType::Int16 => unsigned(
                2,
                array.as_primitive::<Int16Type>().values().iter().map(|v| u64::from(*v as u16 ^ (1 << 15))).collect(),
            ),
            ArrowType::Int32 => unsigned(
                4,
                array.as_primitive::<Int32Type>().values().iter().map(|v| u64::from(*v as u32 ^ (1 << 31))).collect(),
            ),
            ArrowType::Int64 => {
                unsigned(8, array.as_primitive::<Int64Type>().values().iter().map(|v| *v as u64 ^ (1 << 63)).collect())
            }
            ArrowType::Float32 => unsigned(
                8,
                array.as_primitive::<Float32Type>().values().iter().map(|v| float_rank(f64::from(*v))).collect(),
            ),
            ArrowType::Float64 => {
                unsigned(8, array.as_primitive::<Float64Type>().values().iter().map(|v| float_rank(*v)).collect())
            }
            ArrowType::Binary => Ok(Self::Bytes(array.as_binary().clone())),
            ArrowType::FixedSizeBinary(width) => {
                let values = array.as_fixed_size_binary();
                let Some(rank) = column.data_type().inner().physical().rank() else {
                    return Ok(Self::FixedBytes(values.clone()));
                };
                let width = usize::try_from(*width).unwrap_or(0);
                let mut ranks = Vec::with_capacity(values.len() * width);
                for value in values {
                    let [high, low] = rank(value.unwrap_or_default());
                    if width > 16 {
                        ranks.extend_from_slice(&high.to_be_bytes());
                    }
                    ranks.extend_from_slice(&low.to_be_bytes());
                }
                let width = i32::try_from(width).unwrap_or(i32::MAX);
                Ok(Self::FixedBytes(FixedSizeBinaryArray::try_new(width, ranks.into(), None)?))
            }
            ArrowType::List(_) | ArrowType::Struct(_) => Ok(Self::Bytes(key_bytes::of_column(column, pieces).await?)),
            _ => Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                format!("Sorting key of type {} is not implemented", column.data_type()),
            )),
        }
    }

    /// Appends the bytes of a value, which compare like it.
    pub(in crate::merge_tree) fn append(&self, row: usize, bytes: &mut Vec<u8>) {
        match self {
            Self::Fixed { ranks, width } => {
                let rank = ranks.get(row).copied().unwrap_or_default().to_be_bytes();
                bytes.extend_from_slice(&rank[rank.len() - width..]);
            }
            Self::Bytes(values) => key_bytes::append_string(values.value(row), bytes),
            Self::FixedBytes(values) => bytes.extend_from_slice(values.value(row)),
        }
    }

    fn compare(&self, left: usize, right: usize) -> Ordering {
        self.compare_with(left, self, right)
    }

    /// A value and one of the same column of other rows.
    fn compare_with(&self, row: usize, other: &Self, other_row: usize) -> Ordering {
        match (self, other) {
            (Self::Fixed { ranks, .. }, Self::Fixed { ranks: others, .. }) => {
                ranks.get(row).cmp(&others.get(other_row))
            }
            (Self::Bytes(values), Self::Bytes(others)) => values.value(row).cmp(others.value(other_row)),
            (Self::FixedBytes(values), Self::FixedBytes(others)) => values.value(row).cmp(others.value(other_row)),
            // The same type has the same form.
            (Self::Fixed { .. } | Self::Bytes(_) | Self::FixedBytes(_), _) => Ordering::Equal,
        }
    }
}

/// The values of a type, with its default in place of NULL.
pub(in crate::merge_tree) fn without_nulls(data_type: &DataType, values: ArrayRef) -> Result<ArrayRef> {
    if values.null_count() == 0 {
        return Ok(values);
    }
    let default = Column::default_values(data_type.clone(), 1)?;
    let place = |row: usize| if values.is_null(row) { (1, 0) } else { (0, row) };
    let places: Vec<(usize, usize)> = (0..values.len()).map(place).collect();
    kernels::interleave(&[&*values, &**default.array()], &places)
}

/// An integer that orders floats: negative ones turned over, both zeros equal, NaN last.
fn float_rank(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use squall_runtime::block_on;
    use squall_types::{ColumnBuilder, Value};

    fn column(name: &str, values: impl IntoIterator<Item = Value>) -> Column {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        values.into_iter().for_each(|value| builder.append(&value).unwrap());
        builder.finish().unwrap()
    }

    proptest! {
        #[test]
        fn rows_come_in_the_order_of_their_values(
            rows in prop::collection::vec((any::<i8>(), "[ab]{0,20}", 0..4_u64, any::<f32>()), 0..200),
        ) {
            let keys = [
                column("Int8", rows.iter().map(|row| Value::Int64((row.0 / 64).into()))),
                column("LowCardinality(String)", rows.iter().map(|row| Value::from(row.1.as_str()))),
                column("UInt64", rows.iter().map(|row| Value::UInt64(row.2))),
                column("Nullable(Int8)", rows.iter().map(|row| match row.0 % 3 {
                    0 => Value::Null,
                    rest => Value::Int64(rest.into()),
                })),
                column("Float32", rows.iter().map(|row| Value::Float64(f64::from(row.3)))),
            ];
            let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
            expected.sort_by(|left, right| {
                keys.iter()
                    .map(|key| key.value(*left as usize).compare(&key.value(*right as usize)))
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            });
            let found = block_on(sorted_positions(&keys, rows.len(), &mut Pieces::begin())).unwrap();
            let found = found.map_or_else(|| (0..rows.len() as u32).collect(), |found| found.values().to_vec());
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn many_rows_that_begin_alike_are_sorted() {
        let value = |row: u64| format!("https://example.com/{:05}", row * 7919 % 30_011);
        for rows in [2, 1500, 30_000] {
            let strings: Vec<String> = (0..rows).map(value).collect();
            let keys = [
                column("UInt8", strings.iter().map(|_| Value::UInt64(1))),
                column("String", strings.iter().map(|string| Value::from(string.as_str()))),
            ];
            let mut expected: Vec<u32> = (0..rows as u32).collect();
            expected.sort_by_key(|row| &strings[*row as usize]);
            let found = block_on(sorted_positions(&keys, strings.len(), &mut Pieces::begin())).unwrap();
            let found = found.map_or_else(|| (0..rows as u32).collect(), |found| found.values().to_vec());
            assert_eq!(found, expected);
        }
    }
}
