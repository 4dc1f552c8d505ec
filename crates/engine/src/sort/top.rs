//! The first rows alone, where these are many but few of all: sorted pieces are cut behind the key that enough rows are up to. Sampled keys
//! are counted instead of rows being merged; what is left of a piece is copied where it is little, so that the rest is let go of.

use squall_runtime::Pieces;
use squall_types::Result;

use super::piece::Piece;
use super::row_keys::Key;

/// Rows between two samples of a piece's keys.
const SAMPLE_ROWS: usize = 512;

/// What is kept of pieces.
pub(super) struct First {
    pub(super) pieces: Vec<Piece>,
    /// No row of this key or beyond it is wanted any more; `None` where nothing could be cut.
    pub(super) bound: Option<Key>,
}

/// Cuts pieces so that about the first `top` rows stay. Of rows with the last key those of earlier pieces do.
pub(super) async fn first_rows(mut all: Vec<Piece>, top: usize) -> Result<First> {
    let mut pieces = Pieces::begin();
    let mut keys = Vec::new();
    for piece in &all {
        let places = (0..piece.rows()).skip(SAMPLE_ROWS / 2).step_by(SAMPLE_ROWS);
        keys.extend(places.filter_map(|place| piece.key_at(place)));
        pieces.pause().await;
    }
    keys.sort_unstable();
    keys.dedup();
    // The least sampled key that enough rows are up to.
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = low.midpoint(high);
        let mut rows = 0;
        for piece in &all {
            rows += piece.rows_up_to(&keys[middle]);
            pieces.pause().await;
        }
        if rows < top {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if low == keys.len() {
        return Ok(First { pieces: all, bound: None });
    }
    let bound = keys.swap_remove(low);
    let mut before = Vec::with_capacity(all.len());
    for piece in &all {
        before.push(piece.rows_before(&bound));
        pieces.pause().await;
    }
    let mut wanted_of_bound = top.saturating_sub(before.iter().sum());
    let mut kept = Vec::with_capacity(all.len());
    for (piece, before) in all.drain(..).zip(before) {
        let of_bound = (piece.rows_up_to(&bound) - before).min(wanted_of_bound);
        wanted_of_bound -= of_bound;
        if before + of_bound > 0 {
            kept.push(piece.first(before + of_bound)?);
        }
        pieces.pause().await;
    }
    Ok(First { pieces: kept, bound: Some(bound) })
}

impl Piece {
    /// The first `count` rows.
    fn first(self, count: usize) -> Result<Self> {
        if 2 * count > self.rows() { Ok(self.cut(count)) } else { self.take((0..count as u32).collect()) }
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// The kept rows, sorted.
    fn rows(pieces: &[Piece]) -> Vec<Vec<u8>> {
        let strings = pieces.iter().flat_map(|piece| {
            let strings = piece.block.column(0).as_binary().unwrap();
            (0..piece.rows()).map(|row| strings.value(row).to_vec())
        });
        let mut rows: Vec<Vec<u8>> = strings.collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn the_first_rows_stay() {
        let mut random = StdRng::seed_from_u64(11);
        // Many keys, and few that many rows have.
        for distinct in [1_000_000, 7, 1] {
            let values: Vec<Vec<String>> = (0..12)
                .map(|_| (0..5_000).map(|_| format!("a key of bytes {}", random.random_range(0..distinct))).collect())
                .collect();
            let all = rows(&values.iter().map(|values| Piece::of_strings(values)).collect::<Vec<_>>());
            for top in [1, 500, 20_000, 59_999] {
                let sources = values.iter().map(|values| Piece::of_strings(values)).collect();
                let First { pieces, bound } = squall_runtime::block_on(first_rows(sources, top)).unwrap();
                let kept = rows(&pieces);
                assert_eq!(kept[..top], all[..top]);
                // A sample is of some hundred rows of each piece.
                assert!(bound.is_none() || kept.len() <= top + 12 * SAMPLE_ROWS, "{} of {top}", kept.len());
                assert!(bound.is_some() || top > 50_000);
            }
        }
    }
}
