//! Values at given places of the order among many, found in steps: passes over chunks of values, each of which keeps those between two
//! values of a sample that are a little below and a little above the place. A value is looked at about once for each place.

use std::cmp::Ordering;
use std::ops::Bound;

/// Values that are few enough to be looked through at once.
pub(in crate::aggregate) const FEW: usize = 1 << 14;
/// Values of a sample.
const SAMPLE: usize = 4096;
/// Places of the sample on each side within which the wanted one is: four standard deviations.
const MARGIN: usize = 128;

/// A search for values at some places.
#[derive(Clone)]
pub(in crate::aggregate) struct Ranks<N> {
    chunks: Vec<Vec<N>>,
    /// Places, from 0.
    wanted: Vec<usize>,
    found: Vec<N>,
    /// What has been found out about the place after those that were found.
    search: Option<Search<N>>,
}

/// The search for one value.
#[derive(Clone)]
struct Search<N> {
    /// The place among `among`.
    rank: usize,
    /// Values among which the one is: `None` is all.
    among: Option<Vec<Vec<N>>>,
    pass: Pass<N>,
}

/// A pass over chunks.
#[derive(Clone)]
struct Pass<N> {
    low: Bound<N>,
    high: Bound<N>,
    /// The chunk that comes next.
    next: usize,
    /// Values below `low`.
    below: usize,
    kept: Vec<Vec<N>>,
}

fn order<N: PartialOrd>(left: &N, right: &N) -> Ordering {
    left.partial_cmp(right).unwrap_or(Ordering::Equal)
}

fn count<N>(chunks: &[Vec<N>]) -> usize {
    chunks.iter().map(Vec::len).sum()
}

impl<N: Copy + PartialOrd> Pass<N> {
    fn new(low: Bound<N>, high: Bound<N>) -> Self {
        Self { low, high, next: 0, below: 0, kept: Vec::new() }
    }

    /// A pass that keeps few values beside the one at `rank`.
    fn about(rank: usize, chunks: &[Vec<N>]) -> Self {
        let sample = sample(chunks);
        let at = (rank as u128 * sample.len() as u128 / count(chunks).max(1) as u128) as usize;
        let low = at.checked_sub(MARGIN).and_then(|low| sample.get(low));
        let high = sample.get(at + MARGIN);
        let bound = |value: Option<&N>| value.map_or(Bound::Unbounded, |value| Bound::Included(*value));
        Self::new(bound(low), bound(high))
    }

    /// Looks at the values of a chunk.
    fn look(&mut self, chunk: &[N]) {
        let (low, high) = (self.low, self.high);
        let is_below = |value: &N| match low {
            Bound::Unbounded => false,
            Bound::Included(low) => *value < low,
            Bound::Excluded(low) => *value <= low,
        };
        let is_above = |value: &N| match high {
            Bound::Unbounded => false,
            Bound::Included(high) => *value > high,
            Bound::Excluded(high) => *value >= high,
        };
        self.below += chunk.iter().filter(|value| is_below(value)).count();
        let kept = chunk.iter().copied().filter(|value| !is_below(value) && !is_above(value));
        match self.kept.last_mut() {
            Some(last) if last.len() < FEW => last.extend(kept),
            _ => self.kept.push(kept.collect()),
        }
    }
}

/// Values at regular distances, sorted.
fn sample<N: Copy + PartialOrd>(chunks: &[Vec<N>]) -> Vec<N> {
    let distance = count(chunks) / SAMPLE + 1;
    let mut skip = distance / 2;
    let mut sample = Vec::with_capacity(SAMPLE);
    for chunk in chunks {
        sample.extend(chunk.iter().skip(skip).step_by(distance));
        // Where the next is, seen from the next chunk's begin.
        while skip < chunk.len() {
            skip += distance;
        }
        skip -= chunk.len();
    }
    sample.sort_unstable_by(order);
    sample
}

impl<N: Copy + PartialOrd> Ranks<N> {
    /// Looks for the values at the places `wanted`, each below the number of values in `chunks`.
    pub fn new(chunks: Vec<Vec<N>>, wanted: Vec<usize>) -> Self {
        Self { chunks, wanted, found: Vec::new(), search: None }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        count(&self.chunks)
    }

    /// The values that were found, in the order of `wanted`.
    pub fn found(&self) -> &[N] {
        &self.found
    }

    /// Looks at about as many values, which become fewer; whether all places are found.
    pub fn step(&mut self, items: &mut usize) -> bool {
        while let Some(&rank) = self.wanted.get(self.found.len()) {
            let chunks = &self.chunks;
            let search =
                self.search.get_or_insert_with(|| Search { rank, among: None, pass: Pass::about(rank, chunks) });
            let among = search.among.as_ref().unwrap_or(chunks);
            while let Some(chunk) = among.get(search.pass.next) {
                if *items == 0 {
                    return false;
                }
                search.pass.look(chunk);
                search.pass.next += 1;
                *items = items.saturating_sub(chunk.len());
            }
            if let Some(found) = search.end_pass(chunks) {
                self.found.push(found);
                self.search = None;
            }
        }
        true
    }
}

impl<N: Copy + PartialOrd> Search<N> {
    /// Begins the next pass, or knows the value.
    fn end_pass(&mut self, all: &[Vec<N>]) -> Option<N> {
        let among = self.among.as_deref().unwrap_or(all);
        let (values, kept) = (count(among), count(&self.pass.kept));
        let is_within = (self.pass.below..self.pass.below + kept).contains(&self.rank);
        if let (Bound::Included(low), Bound::Included(high)) = (self.pass.low, self.pass.high)
            && low == high
        {
            // Either this value it is, or none that is kept: on each side there are fewer.
            if is_within {
                return Some(low);
            }
            self.pass = match self.rank < self.pass.below {
                true => Pass::new(Bound::Unbounded, Bound::Excluded(low)),
                false => Pass::new(Bound::Excluded(low), Bound::Unbounded),
            };
            return None;
        }
        if !is_within || kept == values && kept > FEW {
            // The sample was not one of these values, or there are few different ones: the middle decides on which side to look.
            let sample = sample(among);
            let at = (self.rank as u128 * sample.len() as u128 / values.max(1) as u128) as usize;
            let pivot = sample.get(at).or(sample.last()).copied()?;
            self.pass = Pass::new(Bound::Included(pivot), Bound::Included(pivot));
            return None;
        }
        self.rank -= self.pass.below;
        let mut kept_chunks = std::mem::take(&mut self.pass.kept);
        if kept <= FEW {
            let mut few = kept_chunks.concat();
            return few.get(self.rank).is_some().then(|| *few.select_nth_unstable_by(self.rank, order).1);
        }
        kept_chunks.retain(|chunk| !chunk.is_empty());
        self.pass = Pass::about(self.rank, &kept_chunks);
        self.among = Some(kept_chunks);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[u64], chunk: usize) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let wanted: Vec<usize> = (0..=10).map(|tenth| (values.len() * tenth / 10).min(values.len() - 1)).collect();
        let mut ranks = Ranks::new(values.chunks(chunk).map(<[u64]>::to_vec).collect(), wanted.clone());
        let mut steps = 0;
        while !ranks.step(&mut 20_000) {
            steps += 1;
            assert!(steps < 100 + values.len() * 4 / 20_000 * wanted.len(), "no end");
        }
        let expected: Vec<u64> = wanted.iter().map(|at| sorted[*at]).collect();
        assert_eq!(ranks.found(), expected, "{} values in chunks of {chunk}", values.len());
    }

    #[test]
    #[ignore = "long"]
    fn values_are_those_of_a_sort() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        for count in [1, 2, 100, 16_384, 16_385, 300_000] {
            for chunk in [1_000, 16_384, 1 << 20] {
                check(&(0..count).map(|_| random()).collect::<Vec<_>>(), chunk);
                check(&(0..count).collect::<Vec<_>>(), chunk);
                check(&(0..count).rev().collect::<Vec<_>>(), chunk);
                for distinct in [1, 2, 3, 100] {
                    check(&(0..count).map(|_| random() % distinct).collect::<Vec<_>>(), chunk);
                }
                // What a sample at regular distances does not see.
                check(&(0..count).map(|at| if at % 73 == 36 { 1 } else { random() }).collect::<Vec<_>>(), chunk);
            }
        }
    }
}
