//! The rows of a range of keys in their order, from all pieces: their entries are merged pairwise, then the rows are gathered.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::memory::reserve;
use squall_types::{Block, Result, Schema};

use super::piece::{Entry, Key, Piece};
use crate::gather::{self, Position};

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

/// The entries of all rows within `bounds`, in order; rows of equal keys in the order of pieces.
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
    let has_long_keys = sources.iter().any(|source| source.as_ref().has_long_keys());
    if !has_long_keys {
        return Ok(merge_slices(entries, ends, |left, right| left.prefix <= right.prefix, pieces).await);
    }
    let is_in_order = |left: &Entry, right: &Entry| match left.prefix.cmp(&right.prefix) {
        Ordering::Equal => {
            let key = |entry: &Entry| sources[entry.piece as usize].as_ref();
            let (left, left_row, right, right_row) = (key(left), left.row, key(right), right.row);
            // Where one of them has no long keys, equal prefixes are equal keys.
            !left.has_long_keys() || !right.has_long_keys() || left.long_key(left_row) <= right.long_key(right_row)
        }
        order => order == Ordering::Less,
    };
    Ok(merge_slices(entries, ends, is_in_order, pieces).await)
}

/// Merges sorted slices, which end at `ends`, pair by pair until one is left.
async fn merge_slices(
    mut entries: Vec<Entry>,
    mut ends: Vec<usize>,
    is_in_order: impl Fn(&Entry, &Entry) -> bool,
    pieces: &mut Pieces,
) -> Vec<Entry> {
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
