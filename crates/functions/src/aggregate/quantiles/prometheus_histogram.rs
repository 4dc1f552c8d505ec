//! `quantilePrometheusHistogram`: quantiles of a classic Prometheus histogram: upper bounds of buckets, each with the number of values
//! up to it.

use std::collections::BTreeMap;

use squall_types::{Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

#[derive(Debug)]
pub(in crate::aggregate) struct Buckets {
    pub numbers: Numbers,
}

impl Buckets {
    fn quantile(buckets: &[(f64, f64)], level: f64) -> f64 {
        let [before @ .., (highest, total)] = buckets else { return f64::NAN };
        if *highest != f64::INFINITY || before.is_empty() || *total == 0.0 {
            return f64::NAN;
        }
        let mut rank = level * total;
        let Some(at) = before.iter().position(|(_, count)| *count >= rank) else {
            return before.last().map_or(f64::NAN, |(bound, _)| *bound);
        };
        let (end, mut count) = before[at];
        let mut start = 0.0;
        match at.checked_sub(1).map(|lower| before[lower]) {
            None if end <= 0.0 => return end,
            None => {}
            Some((bound, lower)) => {
                start = bound;
                count -= lower;
                rank -= lower;
            }
        }
        start + (end - start) * (rank / count)
    }
}

impl Sketch for Buckets {
    /// The bounds, and the bits of their counts.
    type State = BTreeMap<u64, f64>;

    fn state(&self) -> Self::State {
        BTreeMap::new()
    }

    fn add(&self, state: &mut Self::State, value: u64, second: u64) {
        *state.entry(value).or_default() += f64::from_bits(second);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(from.len() * 50)?;
        from.into_iter().for_each(|(bound, count)| *into.entry(bound).or_default() += count);
        Ok(())
    }

    fn quantiles(&self, state: Self::State, levels: &[f64], item: Numbers) -> Vec<u64> {
        let mut highest = 0.0_f64;
        let bucket = |(bound, count): (u64, f64)| {
            // Counts do not fall from bound to bound.
            highest = highest.max(count);
            (self.numbers.to_f64(bound), highest)
        };
        let buckets: Vec<(f64, f64)> = state.into_iter().map(bucket).collect();
        levels.iter().map(|level| item.rank_of(Self::quantile(&buckets, *level))).collect()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        for (bound, count) in state {
            self.numbers.put(*bound, out);
            count.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        (0..take_count(bytes)?).map(|_| Ok((self.numbers.take(bytes)?, Raw::take(bytes)?))).collect()
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.len() * 24
    }
}
