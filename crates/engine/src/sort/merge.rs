//! The rows of a range of keys in their order, from all pieces: their entries are merged pairwise, then the rows are gathered.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::memory::reserve;
use squall_types::{Block, Result, Schema};

use super::piece::{Entry, Key, LongEntry, Piece, common_bytes};
use squall_types::gather::{self, Position};

/// Entries that are merged between two looks at the clock.
const MERGED_AT_ONCE: usize = 8_192;

/// Which keys are wanted: from the first, and before the second.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub(super) from: Option<Key>,
    pub(super) before: Option<Key>,
}

impl Bounds {
    fn of(&self, piece: &Piece) -> Range<usize> {
        let begin = self.from.as_ref().map_or(0, |key| piece.rows_before(key));
        begin..self.before.as_ref().map_or(piece.rows(), |key| piece.rows_before(key))
    }
}

/// The entries of all rows within `bounds`, in order; rows of equal keys in the order of pieces. Their prefixes mean nothing.
pub(super) async fn merge<P: AsRef<Piece> + Sync>(
    sources: &[P],
    bounds: &Bounds,
    pieces: &mut Pieces,
) -> Result<Vec<Entry>> {
    let mut slices = Vec::with_capacity(sources.len());
    for source in sources {
        slices.push(bounds.of(source.as_ref()));
        pieces.pause().await;
    }
    let rows: usize = slices.iter().map(Range::len).sum();
    reserve(2 * rows * size_of::<Entry>())?;
    let (mut entries, mut ends) = (Vec::with_capacity(rows), Vec::with_capacity(slices.len()));
    for (at, (source, slice)) in sources.iter().zip(slices).enumerate() {
        if slice.is_empty() {
            continue;
        }
        let own = &source.as_ref().entries[slice];
        entries.extend(own.iter().map(|entry| Entry { piece: at as u32, ..*entry }));
        ends.push(entries.len());
    }
    pieces.pause().await;
    if !sources.iter().any(|source| source.as_ref().has_long_keys()) {
        return Ok(merge_slices(entries, ends, |left, right| left.prefix <= right.prefix, pieces).await);
    }
    let key = |piece: u32, row: u32| sources[piece as usize].as_ref().long_key(row);
    if sources.iter().all(|source| source.as_ref().has_long_keys()) {
        return merge_long(&entries, ends, key, pieces).await;
    }
    // Where one of two has no long key, equal prefixes are equal keys.
    let is_in_order = |left: &Entry, right: &Entry| match left.prefix.cmp(&right.prefix) {
        Ordering::Equal => match (key(left.piece, left.row), key(right.piece, right.row)) {
            ([], _) | (_, []) => true,
            (left, right) => left <= right,
        },
        order => order == Ordering::Less,
    };
    Ok(merge_slices(entries, ends, is_in_order, pieces).await)
}

/// Merges slices of rows whose keys are long.
async fn merge_long<'a>(
    entries: &[Entry],
    ends: Vec<usize>,
    key: impl Fn(u32, u32) -> &'a [u8],
    pieces: &mut Pieces,
) -> Result<Vec<Entry>> {
    let key_at = |at: usize| entries.get(at).map(|entry| key(entry.piece, entry.row));
    let least = std::iter::once(0).chain(ends.iter().copied()).filter_map(key_at).min();
    let greatest = ends.iter().filter_map(|end| key_at(end - 1)).max();
    let skip = least.zip(greatest).map_or(0, |(least, greatest)| common_bytes(least, greatest, usize::MAX));
    reserve(2 * entries.len() * size_of::<LongEntry>())?;
    let mut long = Vec::with_capacity(entries.len());
    for some in entries.chunks(MERGED_AT_ONCE) {
        long.extend(some.iter().map(|entry| LongEntry::new(entry, key(entry.piece, entry.row), skip)));
        pieces.pause().await;
    }
    let is_in_order =
        |left: &LongEntry, right: &LongEntry| left.compare(right, |entry| key(entry.piece(), entry.row)).is_le();
    let merged = merge_slices(long, ends, is_in_order, pieces).await;
    Ok(merged.iter().map(|entry| Entry { prefix: 0, piece: entry.piece(), row: entry.row }).collect())
}

/// Merges sorted slices, which end at `ends`, pair by pair until one is left.
async fn merge_slices<E: Copy>(
    mut entries: Vec<E>,
    mut ends: Vec<usize>,
    is_in_order: impl Fn(&E, &E) -> bool,
    pieces: &mut Pieces,
) -> Vec<E> {
    let mut merged = Vec::with_capacity(entries.len());
    while ends.len() > 1 {
        merged.clear();
        let mut next_ends = Vec::with_capacity(ends.len().div_ceil(2));
        let mut begin = 0;
        for pair in ends.chunks(2) {
            let (mut left, left_end) = (begin, pair[0]);
            let (mut right, right_end) = (left_end, pair.last().copied().unwrap_or(left_end));
            while left < left_end && right < right_end {
                let until =
                    (merged.len() + MERGED_AT_ONCE).min(merged.len() + (left_end - left).min(right_end - right));
                while merged.len() < until {
                    let takes_left = is_in_order(&entries[left], &entries[right]);
                    merged.push(entries[if takes_left { left } else { right }]);
                    left += usize::from(takes_left);
                    right += usize::from(!takes_left);
                }
                pieces.pause().await;
            }
            merged.extend_from_slice(&entries[left..left_end]);
            merged.extend_from_slice(&entries[right..right_end]);
            begin = right_end;
            next_ends.push(merged.len());
        }
        std::mem::swap(&mut entries, &mut merged);
        ends = next_ends;
        pieces.pause().await;
    }
    entries
}

/// The rows of these entries, in their order, as one block.
pub(super) async fn gather<P: AsRef<Piece> + Sync>(
    schema: &Arc<Schema>,
    sources: &[P],
    entries: &[Entry],
    pieces: &mut Pieces,
) -> Result<Block> {
    let (blocks, positions) = positions(sources, entries);
    gather::gather(schema, &blocks, &positions, pieces).await
}

/// The same at once, for few rows.
pub(super) fn gather_now<P: AsRef<Piece>>(schema: &Arc<Schema>, sources: &[P], entries: &[Entry]) -> Result<Block> {
    let (blocks, positions) = positions(sources, entries);
    gather::gather_now(schema, &blocks, &positions)
}

/// The blocks that rows come from, under a numbering of their own, and where each row is among them.
fn positions<'a, P: AsRef<Piece>>(sources: &'a [P], entries: &[Entry]) -> (Vec<&'a Block>, Vec<Position>) {
    let mut number_of: Vec<u32> = vec![u32::MAX; sources.len()];
    let mut used: Vec<&Block> = Vec::new();
    let positions = entries.iter().map(|entry| {
        let number = &mut number_of[entry.piece as usize];
        if *number == u32::MAX {
            *number = used.len() as u32;
            used.push(&sources[entry.piece as usize].as_ref().block);
        }
        (*number as usize, entry.row as usize)
    });
    let positions = positions.collect();
    (used, positions)
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::super::run::splitters;
    use super::*;

    /// Strings that begin alike for longer than prefixes are, ones that do not, and short ones; in all or in some of the pieces.
    #[test]
    fn ranges_of_keys_of_any_length_are_in_order() {
        let mut random = StdRng::seed_from_u64(7);
        for beginnings in [&["https://example.com/page/"][..], &["", "https://example.com/", "ftp://"], &[""]] {
            let values: Vec<Vec<String>> = (0..9)
                .map(|at| {
                    let mut value = || {
                        let beginning = beginnings[random.random_range(0..beginnings.len())];
                        match at % 3 {
                            0 => format!("{beginning}{}", random.random_range(0..40)),
                            1 => format!(
                                "{beginning}{}/{}",
                                random.random_range(0..4),
                                "x".repeat(random.random_range(0..20))
                            ),
                            _ if beginnings.len() > 1 => random.random_range(0..9).to_string(),
                            _ => beginning.to_owned(),
                        }
                    };
                    (0..200).map(|_| value()).collect()
                })
                .collect();
            let sources: Vec<Arc<Piece>> = values.iter().map(|values| Arc::new(Piece::of_strings(values))).collect();
            let mut wanted: Vec<(&str, u32, u32)> = Vec::new();
            for (at, values) in values.iter().enumerate() {
                wanted.extend(values.iter().enumerate().map(|(row, value)| (&**value, at as u32, row as u32)));
            }
            wanted.sort_unstable();
            let samples = sources.iter().filter_map(|piece| piece.key_at(100)).collect();
            let mut found = Vec::new();
            let mut from = None;
            for before in splitters(samples, 200, 200).into_iter().map(Some).chain([None]) {
                let bounds = Bounds { from, before };
                let entries = squall_runtime::block_on(merge(&sources, &bounds, &mut Pieces::begin())).unwrap();
                found.extend(entries.iter().map(|entry| {
                    let value = &*values[entry.piece as usize][entry.row as usize];
                    (value, entry.piece, entry.row)
                }));
                from = bounds.before;
            }
            assert_eq!(found, wanted);
        }
    }
}
