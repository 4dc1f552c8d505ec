//! Sorts rows by integers: byte by byte from the lowest, so that the time grows with the rows and not with comparisons.

use squall_runtime::Pieces;

/// A key and its row.
pub(in crate::merge_tree) type Entry = (u64, u32);

/// Fewer rows are compared.
const ROWS_MIN: usize = 1 << 10;
/// Rows that are moved before others may run: below a millisecond.
const BATCH_ROWS: usize = 1 << 16;
const BUCKETS: usize = 1 << u8::BITS;

/// The entries by their keys, those of equal keys in the order in which they came, which is that of their rows.
pub(in crate::merge_tree) async fn sorted(mut entries: Vec<Entry>, pieces: &mut Pieces) -> Vec<Entry> {
    if entries.len() < ROWS_MIN {
        entries.sort_unstable();
        return entries;
    }
    let mut counts = vec![[0_u32; BUCKETS]; size_of::<u64>()];
    for batch in entries.chunks(BATCH_ROWS) {
        count(batch, &mut counts);
        pieces.pause().await;
    }
    let mut moved: Vec<Entry> = Vec::with_capacity(entries.len());
    while moved.len() < entries.len() {
        moved.resize((moved.len() + BATCH_ROWS).min(entries.len()), Entry::default());
        pieces.pause().await;
    }
    for (at, counts) in counts.into_iter().enumerate() {
        if counts.iter().any(|count| *count as usize == entries.len()) {
            continue;
        }
        // Where the next entry of each bucket goes.
        let mut places = counts;
        let mut place = 0;
        for (of_bucket, count) in places.iter_mut().zip(counts) {
            *of_bucket = place;
            place += count;
        }
        for batch in entries.chunks(BATCH_ROWS) {
            scatter(batch, at, &mut places, &mut moved);
            pieces.pause().await;
        }
        std::mem::swap(&mut entries, &mut moved);
    }
    entries
}

// The loops are functions of their own: inside a future their variables would lie in memory.

/// Counts the entries that have each byte at each place.
#[inline(never)]
fn count(batch: &[Entry], counts: &mut [[u32; BUCKETS]]) {
    for (key, _) in batch {
        for (counts, byte) in counts.iter_mut().zip(key.to_le_bytes()) {
            counts[usize::from(byte)] += 1;
        }
    }
}

/// Moves entries to the places of their buckets by the byte `at`.
#[inline(never)]
fn scatter(batch: &[Entry], at: usize, places: &mut [u32; BUCKETS], moved: &mut [Entry]) {
    for entry in batch {
        let place = &mut places[usize::from((entry.0 >> (8 * at)) as u8)];
        if let Some(to) = moved.get_mut(*place as usize) {
            *to = *entry;
        }
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use squall_runtime::block_on;

    proptest! {
        #[test]
        fn entries_come_in_order(
            keys in prop::collection::vec(prop_oneof![0..5_u64, any::<u64>(), (0..3_u64).prop_map(|key| key << 40)], 0..3000),
        ) {
            let entries: Vec<Entry> = keys.into_iter().zip(0..).collect();
            let mut expected = entries.clone();
            expected.sort_unstable();
            prop_assert_eq!(block_on(sorted(entries, &mut Pieces::begin())), expected);
        }
    }
}
