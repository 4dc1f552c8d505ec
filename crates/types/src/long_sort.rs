//! A stable sort of one long slice that asks now and then whether to go on: runs are sorted one by one, then merged two by two.

use std::cmp::Ordering;

use crate::checkpoint::checkpoint;
use crate::{Result, grow};

/// Items of a run. A slice that is no longer is sorted at once, in about a millisecond where comparing is cheap.
const RUN_ITEMS: usize = 1 << 14;

/// Merged items between two checkpoints.
const MERGED_ITEMS: usize = 1 << 12;

/// Work of putting one item into a run, and of merging it, in nanoseconds.
const RUN_WORK: usize = 64;
const MERGE_WORK: usize = 8;

/// Sorts; equal items keep their order.
///
/// # Errors
/// Those of [`checkpoint`] and, for the items' copies, `MEMORY_LIMIT_EXCEEDED`; the items are in some order then.
pub fn sort_long<T: Copy>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) -> Result<()> {
    for run in items.chunks_mut(RUN_ITEMS) {
        checkpoint(RUN_WORK * run.len())?;
        run.sort_by(&mut compare);
    }
    if items.len() <= RUN_ITEMS {
        return Ok(());
    }
    let mut merged = Vec::new();
    grow(&mut merged, items.len())?;
    let mut length = RUN_ITEMS;
    while length < items.len() {
        merged.clear();
        for pair in items.chunks(2 * length) {
            let (left, right) = pair.split_at(length.min(pair.len()));
            merge(left, right, &mut merged, &mut compare)?;
        }
        items.copy_from_slice(&merged);
        length *= 2;
    }
    Ok(())
}

fn merge<T: Copy>(
    left: &[T],
    right: &[T],
    merged: &mut Vec<T>,
    compare: &mut impl FnMut(&T, &T) -> Ordering,
) -> Result<()> {
    let (mut left, mut right) = (left, right);
    loop {
        checkpoint(MERGE_WORK * MERGED_ITEMS)?;
        for _ in 0..MERGED_ITEMS {
            let (Some(from_left), Some(from_right)) = (left.first(), right.first()) else {
                merged.extend_from_slice(left);
                merged.extend_from_slice(right);
                return Ok(());
            };
            if compare(from_left, from_right).is_le() {
                merged.push(*from_left);
                left = &left[1..];
            } else {
                merged.push(*from_right);
                right = &right[1..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sorts_as_the_standard_library_does() {
        for length in [0, 1, RUN_ITEMS, RUN_ITEMS + 1, 2 * RUN_ITEMS, 5 * RUN_ITEMS + 77] {
            let mut state = 1u64;
            let mut items: Vec<(u16, usize)> = (0..length)
                .map(|at| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 54) as u16, at)
                })
                .collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            sort_long(&mut items, |left, right| left.0.cmp(&right.0)).unwrap();
            assert!(items == expected, "{length}");
        }
    }
}
