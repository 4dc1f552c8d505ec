//! The rows of a range of keys in their order, from all pieces: their entries are sorted, then the rows are gathered.

use std::ops::Range;
use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::memory::reserve;
use squall_types::{Block, Result, Schema};

use super::entry::Entry;
use super::piece::Piece;
use super::radix;
use super::row_keys::Key;
use squall_types::gather::{self, Position};

/// Which keys are wanted: from the first, and before the second.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub(super) from: Option<Key>,
    pub(super) before: Option<Key>,
}

impl Bounds {
    fn of(&self, piece: &Piece) -> Range<usize> {
        let begin = self.from.as_ref().map_or(0, |key| piece.rows_before(key));
        begin..self.before.as_ref().map_or(piece.rows(), |key| piece.rows_before_from(begin, key))
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
    reserve(rows * size_of::<Entry>())?;
    let mut entries = Vec::with_capacity(rows);
    for (at, (source, slice)) in sources.iter().zip(slices).enumerate() {
        entries.extend(slice.map(|row| source.as_ref().entry(row, at as u32)));
        pieces.pause().await;
    }
    let key = |entry: &Entry| sources[entry.piece() as usize].as_ref().long_key(entry.row);
    radix::sort(&mut entries, key, pieces).await?;
    Ok(entries)
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
        let number = &mut number_of[entry.piece() as usize];
        if *number == u32::MAX {
            *number = used.len() as u32;
            used.push(&sources[entry.piece() as usize].as_ref().block);
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
                    // In order, as pieces have them.
                    let mut values: Vec<String> = (0..200).map(|_| value()).collect();
                    values.sort_unstable();
                    values
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
                    let value = &*values[entry.piece() as usize][entry.row as usize];
                    (value, entry.piece(), entry.row)
                }));
                from = bounds.before;
            }
            assert_eq!(found, wanted);
        }
    }
}
