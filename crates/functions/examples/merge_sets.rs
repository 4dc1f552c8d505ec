//! What merging the workers' sets of one group costs, whole and cut: the question "what if all sets are single-level", for 2 to 64
//! workers on any machine. Each step is timed on one thread; what is done in parallel counts as the longest worker's time, so the
//! last columns are those of a machine with as many cores as workers.
//!
//! ```sh
//! cargo run --release -p squall-functions --example merge_sets
//! ```

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an experiment on the command line")]

use std::time::{Duration, Instant};

use arrow_array::types::UInt64Type;
use squall_functions::{Accumulator, CUT_PARTS, CUT_PIECES, GroupIds, resolve_aggregate};
use squall_types::{Column, DataType};

const PARTS: usize = CUT_PARTS / CUT_PIECES;

/// The sets of so many workers, of so many keys each, of which each worker shares half with the one before.
fn sets(workers: u64, keys: u64) -> Vec<Box<dyn Accumulator>> {
    let function = resolve_aggregate("uniqExact", &[], &[DataType::UInt64]).unwrap();
    let set = |worker: u64| {
        let first = worker * keys / 2;
        let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, (first..first + keys).collect());
        let mut accumulator = function.accumulator();
        accumulator.update(GroupIds::Single, 1, &[column], keys as usize).unwrap();
        accumulator
    };
    (0..workers).map(set).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    (work(), began.elapsed())
}

/// One worker merges all.
fn whole(sets: Vec<Box<dyn Accumulator>>) -> Duration {
    let mut sets = sets.into_iter();
    let mut merged = sets.next().unwrap();
    timed(|| {
        sets.for_each(|set| merged.merge(set, &[0], 1).unwrap());
        merged.finish(1).unwrap()
    })
    .1
}

/// Each worker cuts its own, and all merge the pieces: the longest cut, and a worker's share of the pieces.
fn cut(sets: Vec<Box<dyn Accumulator>>) -> (Duration, Duration) {
    let workers = sets.len();
    let (mut cuts, mut longest) = (Vec::new(), Duration::ZERO);
    for mut set in sets {
        let (cut, time) = timed(|| set.cut(0).unwrap());
        cuts.push(cut.into_iter());
        longest = longest.max(time);
    }
    let mut pieces = Vec::new();
    for _ in 0..CUT_PIECES {
        let mut states = cuts.iter_mut().map(|cut| cut.next().unwrap());
        let mut merged = states.next().unwrap();
        let ((), time) = timed(|| {
            for mut state in states {
                (0..PARTS).for_each(|part| merged.merge_range(&mut *state, part, &[part as u32], PARTS).unwrap());
            }
            while !merged.settle().unwrap() {}
        });
        pieces.push(time);
    }
    // The pieces are equally long, and go round.
    (longest, pieces.iter().sum::<Duration>() / CUT_PIECES as u32 * CUT_PIECES.div_ceil(workers) as u32)
}

fn main() {
    println!(
        "{:>8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>6}",
        "keys", "workers", "whole", "cut", "pieces", "together", "gain"
    );
    for keys in [1_000, 4_000, 16_000, 64_000, 128_000, 1_000_000] {
        for workers in [2, 4, 8, 16, 32, 64] {
            if keys * workers > 20_000_000 {
                continue;
            }
            let mut runs: Vec<_> = (0..5).map(|_| (whole(sets(workers, keys)), cut(sets(workers, keys)))).collect();
            runs.sort();
            let (whole, (cutting, pieces)) = runs[2];
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "{keys:>8} {workers:>8} {:>7.2} ms {:>7.2} ms {:>7.2} ms {:>7.2} ms {:>6.2}",
                milliseconds(whole),
                milliseconds(cutting),
                milliseconds(pieces),
                milliseconds(cutting + pieces),
                whole.as_secs_f64() / (cutting + pieces).as_secs_f64(),
            );
        }
    }
}
