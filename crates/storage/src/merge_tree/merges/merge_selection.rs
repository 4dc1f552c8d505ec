//! Which parts are merged next. Pure: sizes and ages come in, a range goes out. Parts of like sizes that follow each other become one
//! when there are enough of them, so that a row is rewritten about as often as the logarithm of the table's size says; older parts, and
//! those of partitions with many, need fewer companions.

use std::ops::Range;
use std::time::Duration;

/// How many times as large as its largest part a merge's result is at least, while parts are young and few: ClickHouse's.
pub const BASE: f64 = 5.0;
/// The same where parts are old or many.
const BASE_MIN: f64 = 2.0;
/// What a part costs beside its bytes, in bytes. ClickHouse says 5 MiB: then small parts are rewritten twice as often as the logarithm says,
/// as the tests' simulator shows.
const PART_COST: f64 = (256 << 10) as f64;
/// Parts of a partition from which on, and up to which, their number lowers the base.
const CROWD: Range<f64> = 10.0..50.0;
/// Sizes between which the ages below are for the smallest and the largest merges.
const SIZES: Range<f64> = (1 << 20) as f64..(100_u64 << 30) as f64;
/// Ages in seconds from which on the base is lowered, and when it is lowest, for the smallest merges.
const AGES_SMALL: Range<f64> = 10.0..3600.0;
/// The same for the largest.
const AGES_LARGE: Range<f64> = 10.0..2_592_000.0;
/// In a partition with at most so many parts nothing is in a hurry: who reads it has nothing to gain.
const CALM_PARTS: usize = 8;
/// There parts wait for companions for so long.
const CALM_AGE: Duration = Duration::from_secs(20);

/// A part that may be merged with its neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// On disk.
    pub bytes: u64,
    /// Those of its largest row group.
    pub group_bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// For how long it is there.
    pub age: Duration,
}

/// What a merge may be at most.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MergeLimits {
    /// Bytes on disk of all its parts.
    pub bytes: u64,
    /// Those of the row groups that it reads at a time: one of each part.
    pub group_bytes: u64,
    /// Their rows.
    pub rows: u64,
    /// Their number.
    pub parts: usize,
    /// How many times as large as its largest part a merge's result is at least, while parts are young and few.
    pub base: f64,
}

/// The best merge of a partition's parts, which are in the order of their blocks. `partition_parts` counts all of the partition, also those
/// that may not be merged now. The smaller the score the better.
#[must_use]
pub fn select(parts: &[Candidate], partition_parts: usize, limits: &MergeLimits) -> Option<(Range<usize>, f64)> {
    let mut best: Option<(Range<usize>, f64)> = None;
    for first in 0..parts.len() {
        let (mut bytes, mut group_bytes, mut rows, mut largest) = (0_u64, 0_u64, 0_u64, 0_u64);
        let mut youngest = Duration::MAX;
        for (last, part) in parts.iter().enumerate().skip(first).take(limits.parts) {
            bytes = bytes.saturating_add(part.bytes);
            group_bytes = group_bytes.saturating_add(part.group_bytes);
            rows = rows.saturating_add(part.rows);
            if bytes > limits.bytes || group_bytes > limits.group_bytes || rows > limits.rows {
                break;
            }
            largest = largest.max(part.bytes);
            youngest = youngest.min(part.age);
            let count = last + 1 - first;
            if count < 2 || !is_worth_it((bytes, largest), youngest, count, partition_parts, limits.base) {
                continue;
            }
            let before = first.checked_sub(1).and_then(|at| parts.get(at));
            let score = score(bytes, count, before.map(|part| part.bytes));
            if best.as_ref().is_none_or(|(_, least)| score < *least) {
                best = Some((first..last + 1, score));
            }
        }
    }
    best
}

/// Where a value is between two others: 0 up to the first, 1 from the last on.
fn place(value: f64, between: &Range<f64>) -> f64 {
    ((value - between.start) / (between.end - between.start)).clamp(0.0, 1.0)
}

fn between(from: f64, to: f64, place: f64) -> f64 {
    from + (to - from) * place
}

fn is_worth_it(
    (bytes, largest): (u64, u64),
    youngest: Duration,
    count: usize,
    partition_parts: usize,
    base: f64,
) -> bool {
    if partition_parts <= CALM_PARTS && youngest < CALM_AGE {
        return false;
    }
    let (bytes, largest) = (bytes as f64, largest as f64);
    let size = place(bytes.ln_1p(), &(SIZES.start.ln_1p()..SIZES.end.ln_1p()));
    let ages = between(AGES_SMALL.start, AGES_LARGE.start, size)..between(AGES_SMALL.end, AGES_LARGE.end, size);
    let lowered = place(youngest.as_secs_f64(), &ages) + place(partition_parts as f64, &CROWD);
    let base = between(base, BASE_MIN, lowered.min(1.0));
    (bytes + count as f64 * PART_COST) / (largest + PART_COST) >= base
}

/// The work for each part that goes. Parts that come to lie beside one of like size are soon merged with it.
fn score(bytes: u64, count: usize, before: Option<u64>) -> f64 {
    let bytes = bytes as f64;
    let score = (bytes + PART_COST * count as f64) / (count as f64 - 1.9);
    match before {
        Some(before) if before as f64 > bytes * 0.9 => {
            let apart = (bytes / before as f64).log2().abs();
            if apart < 0.5 { score * between(0.75, 1.0, apart / 0.5) } else { score }
        }
        _ => score,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
    }

    /// A part: its bytes, and when it was made, in milliseconds.
    type Part = (u64, u64);

    /// A table on which a few merges run at a time, each as fast as a disk.
    struct Table {
        partitions: Vec<Vec<Part>>,
        /// Merges that run: when they end, their partition, first part, number of parts.
        running: Vec<(u64, usize, usize, usize)>,
        inserted: u64,
        written: u64,
        parts_max: usize,
    }

    /// Bytes that a merge reads and writes in a millisecond.
    const SPEED: u64 = 100_000;
    const SLOTS: u32 = 4;

    impl Table {
        fn new(partitions: usize) -> Self {
            let partitions = vec![Vec::new(); partitions];
            Self { partitions, running: Vec::new(), inserted: 0, written: 0, parts_max: 0 }
        }

        fn finish(&mut self, now: u64) {
            while let Some(at) = self.running.iter().position(|(end, ..)| *end <= now) {
                let (end, partition, first, count) = self.running.swap_remove(at);
                let parts = &mut self.partitions[partition];
                let bytes: u64 = parts[first..first + count].iter().map(|part| part.0).sum();
                parts.splice(first..first + count, [(bytes, end)]);
                self.written += bytes;
                for (_, other, from, _) in &mut self.running {
                    if *other == partition && *from > first {
                        *from -= count - 1;
                    }
                }
            }
        }

        fn begin(&mut self, partition: usize, now: u64) {
            let slot = self.running.len() as u32;
            if slot >= SLOTS {
                return;
            }
            let parts = &self.partitions[partition];
            let limits = MergeLimits {
                bytes: (150 << 30) >> (3 * slot),
                group_bytes: u64::MAX,
                rows: u64::MAX,
                parts: 100,
                base: BASE,
            };
            // What runs cuts the parts into runs.
            let mut cuts: Vec<(usize, usize)> =
                self.running.iter().filter(|merge| merge.1 == partition).map(|merge| (merge.2, merge.3)).collect();
            cuts.sort_unstable();
            cuts.push((parts.len(), 0));
            let (mut from, mut best): (usize, Option<(Range<usize>, f64)>) = (0, None);
            for (cut, count) in cuts {
                let candidates: Vec<Candidate> = parts[from..cut]
                    .iter()
                    .map(|(bytes, made)| Candidate {
                        bytes: *bytes,
                        group_bytes: 0,
                        rows: 1,
                        age: Duration::from_millis(now - made),
                    })
                    .collect();
                if let Some((range, score)) = select(&candidates, parts.len(), &limits)
                    && best.as_ref().is_none_or(|(_, least)| score < *least)
                {
                    best = Some((range.start + from..range.end + from, score));
                }
                from = cut + count;
            }
            if let Some((range, _)) = best {
                let bytes: u64 = parts[range.clone()].iter().map(|part| part.0).sum();
                self.running.push((now + 5 + bytes / SPEED, partition, range.start, range.len()));
            }
        }

        fn insert(&mut self, partition: usize, bytes: u64, now: u64) {
            self.finish(now);
            self.partitions[partition].push((bytes, now));
            self.inserted += bytes;
            // The server looks every now and then, not after each insert.
            if self.partitions[partition].len().is_multiple_of(4) {
                self.begin(partition, now);
            }
            self.parts_max = self.parts_max.max(self.partitions[partition].len());
        }

        fn amplification(&self) -> f64 {
            (self.inserted + self.written) as f64 / self.inserted as f64
        }
    }

    /// At most so many parts in a partition, and rows written about as often as a logarithm of the inserts by the base says.
    fn check(what: &str, table: &Table, inserts: f64, parts_max: usize) {
        let bound = 2.0 + inserts.log(BASE);
        let found = table.amplification();
        println!("{what}: at most {} parts, written {found:.2} times, bound {bound:.2}", table.parts_max);
        assert!(table.parts_max <= parts_max, "{what}: {} parts", table.parts_max);
        assert!(found <= bound, "{what}: written {found:.2} times, expected at most {bound:.2}");
    }

    const INSERTS: u64 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

    #[test]
    fn equal_inserts_stay_few_parts() {
        let mut table = Table::new(1);
        for at in 0..INSERTS {
            table.insert(0, 10_000, at * 10);
        }
        check("equal", &table, INSERTS as f64, 150);
    }

    #[test]
    fn mixed_inserts_stay_few_parts() {
        let (mut table, mut random) = (Table::new(1), Random(7));
        for at in 0..INSERTS {
            let bytes = 1000 << random.below(10);
            table.insert(0, bytes, at * 10);
        }
        check("mixed", &table, INSERTS as f64, 150);
    }

    #[test]
    fn bursts_stay_few_parts() {
        let (mut table, mut random, mut now) = (Table::new(1), Random(9), 0);
        for at in 0..INSERTS {
            // A hundred in half a second, then nothing for ten.
            now += if at % 100 == 0 { 10_000 } else { 5 };
            table.insert(0, 5000 + random.below(10_000), now);
        }
        check("bursts", &table, INSERTS as f64, 150);
    }

    #[test]
    fn many_partitions_stay_few_parts() {
        let (mut table, mut random) = (Table::new(100), Random(3));
        for at in 0..INSERTS {
            table.insert(random.below(100) as usize, 20_000, at * 3);
        }
        check("partitions", &table, INSERTS as f64 / 100.0, 60);
    }

    #[test]
    fn limits_hold() {
        let part = |bytes| Candidate { bytes, group_bytes: 10, rows: 10, age: Duration::from_secs(60) };
        let parts = [part(100), part(100), part(1000), part(100), part(100), part(100), part(100), part(100)];
        let limits = MergeLimits { bytes: 700, group_bytes: 700, rows: 1000, parts: 4, base: BASE };
        let (range, _) = select(&parts, 60, &limits).unwrap();
        assert!(range.len() <= 4 && !range.contains(&2), "{range:?}");
        assert_eq!(select(&parts, 60, &MergeLimits { rows: 15, ..limits }), None);
        assert_eq!(select(&parts, 60, &MergeLimits { group_bytes: 15, ..limits }), None);
        // A few young parts wait.
        let young: Vec<Candidate> = (0..6).map(|_| Candidate { age: Duration::from_secs(1), ..part(100) }).collect();
        assert_eq!(select(&young, 6, &limits), None);
        assert!(select(&young, 100, &limits).is_some());
    }
}
