//! A radix sort of entries, the highest bits first: they are spread over buckets by the highest bits in which they differ, and these again,
//! until a bucket has few. Where all prefixes of a bucket are alike, the next bytes of the keys take their place.

use std::ops::Range;

use squall_runtime::Pieces;
use squall_types::Result;
use squall_types::memory::reserve;

use super::entry::{Entry, PREFIX_BYTES, common_bytes};

/// Entries of a bucket that is sorted by comparisons.
const FEW: usize = 64;
/// Entries of a bucket that entries are spread over, about.
const BUCKET: usize = 16;
const BUCKETS_MAX: usize = 1 << 12;
/// Entries between two looks at the clock.
const AT_ONCE: usize = 16_384;

/// Sorts entries by their keys, of which `key` gives the whole; rows of equal keys stay in their order. The prefixes mean nothing afterwards.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub(super) async fn sort<'a>(
    entries: &mut [Entry],
    key: impl Fn(&Entry) -> &'a [u8],
    pieces: &mut Pieces,
) -> Result<()> {
    reserve(size_of_val(entries))?;
    let mut spare: Vec<Entry> = Vec::new();
    // Buckets to be sorted, and how many bytes of the keys are before the prefixes.
    let mut open: Vec<(Range<usize>, usize)> = vec![(0..entries.len(), 0)];
    let mut done = 0;
    while let Some((bucket, skip)) = open.pop() {
        let entries = &mut entries[bucket.clone()];
        done += entries.len();
        if entries.len() <= FEW {
            entries.sort_by(|left, right| left.compare(right, &key));
            if done >= AT_ONCE {
                done = 0;
                pieces.pause().await;
            }
            continue;
        }
        let mut seen = Seen::default();
        for some in entries.chunks(AT_ONCE) {
            some.iter().for_each(|entry| seen.add(entry));
            pieces.pause().await;
        }
        let Some(digit) = seen.digit(entries.len()) else {
            if seen.has_whole {
                // A whole key equals all that begin like it.
                continue;
            }
            let skip = skip + PREFIX_BYTES;
            let skip = skip + common_rest(entries, skip, &key, pieces).await;
            for some in entries.chunks_mut(AT_ONCE) {
                some.iter_mut().for_each(|entry| *entry = entry.without(skip, key(entry)));
                pieces.pause().await;
            }
            open.push((bucket, skip));
            continue;
        };
        let mut ends = vec![0_u32; digit.buckets()];
        for some in entries.chunks(AT_ONCE) {
            some.iter().for_each(|entry| ends[digit.of(entry)] += 1);
            pieces.pause().await;
        }
        begin_behind_each_other(&mut ends);
        // The first bucket that is spread is the largest. Where all keys are alike, none is.
        spare.reserve_exact(entries.len().saturating_sub(spare.len()));
        while spare.len() < entries.len() {
            let end = entries.len().min(spare.len() + AT_ONCE);
            spare.extend_from_slice(&entries[spare.len()..end]);
            pieces.pause().await;
        }
        let spread = &mut spare[..entries.len()];
        for some in entries.chunks(AT_ONCE) {
            for entry in some {
                let place = &mut ends[digit.of(entry)];
                spread[*place as usize] = *entry;
                *place += 1;
            }
            pieces.pause().await;
        }
        for (to, from) in entries.chunks_mut(AT_ONCE).zip(spread.chunks(AT_ONCE)) {
            to.copy_from_slice(from);
            pieces.pause().await;
        }
        open_buckets(&mut open, bucket.start, &ends, skip);
    }
    Ok(())
}

/// Gives each bucket, of which there is the number of its entries, the place where it begins.
fn begin_behind_each_other(counts: &mut [u32]) {
    let mut end = 0;
    for count in counts {
        let begin = end;
        end += *count;
        *count = begin;
    }
}

/// Adds the buckets to those that are to be sorted, as far as there is something to sort in them.
fn open_buckets(open: &mut Vec<(Range<usize>, usize)>, first: usize, ends: &[u32], skip: usize) {
    let mut begin = first;
    for end in ends {
        let end = first + *end as usize;
        if end - begin > 1 {
            open.push((begin..end, skip));
        }
        begin = end;
    }
}

/// How many bytes more all keys share behind `skip`.
async fn common_rest<'a>(
    entries: &[Entry],
    skip: usize,
    key: impl Fn(&Entry) -> &'a [u8],
    pieces: &mut Pieces,
) -> usize {
    let rest = |entry| key(entry).get(skip..).unwrap_or_default();
    let first = entries.first().map(rest).unwrap_or_default();
    let mut common = first.len();
    for some in entries.chunks(AT_ONCE) {
        common = some.iter().fold(common, |common, entry| common_bytes(first, rest(entry), common));
        pieces.pause().await;
    }
    common
}

/// What the prefixes of a bucket are.
struct Seen {
    least: u128,
    greatest: u128,
    /// One key at least ends with its prefix.
    has_whole: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self { least: u128::MAX, greatest: 0, has_whole: false }
    }
}

impl Seen {
    #[inline]
    fn add(&mut self, entry: &Entry) {
        self.least = self.least.min(entry.prefix());
        self.greatest = self.greatest.max(entry.prefix());
        self.has_whole |= entry.is_whole();
    }

    /// The highest bits in which so many entries differ, and as many as make buckets of few; `None` where all are alike.
    fn digit(&self, entries: usize) -> Option<Digit> {
        let bits = u128::BITS - (self.greatest - self.least).leading_zeros();
        let wanted = (entries / BUCKET).clamp(2, BUCKETS_MAX).ilog2();
        (bits > 0).then(|| {
            let shift = bits.saturating_sub(wanted);
            Digit { least: self.least, shift, last: ((self.greatest - self.least) >> shift) as usize }
        })
    }
}

/// Bits of a prefix that are the number of its bucket.
struct Digit {
    least: u128,
    shift: u32,
    last: usize,
}

impl Digit {
    #[inline]
    fn of(&self, entry: &Entry) -> usize {
        ((entry.prefix() - self.least) >> self.shift) as usize
    }

    fn buckets(&self) -> usize {
        self.last + 1
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Keys that differ late, early, seldom or never.
    #[test]
    fn entries_are_in_the_order_of_their_keys() {
        let mut random = StdRng::seed_from_u64(3);
        for (beginnings, numbers) in [(1, 1_000_000), (1, 3), (5, 40), (2, 1), (1, 1)] {
            let mut key = || {
                let beginning = "https://example.com/a/page/".repeat(random.random_range(0..beginnings));
                format!("{beginning}{}\0\0", random.random_range(0..numbers)).into_bytes()
            };
            let keys: Vec<Vec<u8>> = (0..50_000).map(|_| key()).collect();
            let mut entries: Vec<Entry> = keys.iter().zip(0..).map(|(key, row)| Entry::new(key, 0, 0, row)).collect();
            let mut pieces = Pieces::begin();
            let sorted = sort(&mut entries, |entry| &keys[entry.row as usize], &mut pieces);
            squall_runtime::block_on(sorted).unwrap();
            let mut wanted: Vec<usize> = (0..keys.len()).collect();
            wanted.sort_by_key(|row| &keys[*row]);
            assert_eq!(entries.iter().map(|entry| entry.row as usize).collect::<Vec<_>>(), wanted);
        }
    }
}
