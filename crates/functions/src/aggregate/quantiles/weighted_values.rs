//! `quantileExactWeighted`, `quantileExactWeightedInterpolated`, `quantileInterpolatedWeighted`: every distinct value with its weight.

use squall_types::{Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};
use crate::aggregate::values::tally::Tally;

/// How a level becomes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::aggregate) enum Rule {
    /// The first value up to which the weights are the level's share.
    Exact,
    /// Each value stands in the middle of its weight; between two of them in proportion.
    Middles,
    /// As if each value was there as often as its weight says; between two of them in proportion.
    Positions,
}

#[derive(Debug)]
pub(in crate::aggregate) struct Weighted {
    pub numbers: Numbers,
    pub rule: Rule,
}

/// Values with their weights, in order.
pub(in crate::aggregate) struct Sorted<V>(Vec<(V, u64)>);

impl<V: Copy + Ord> Sorted<V> {
    /// Each value as often as it is there.
    pub fn all(mut values: Vec<(V, u64)>) -> Self {
        values.sort_unstable();
        Self(values)
    }

    /// Each value once, with the sum of its weights.
    pub fn distinct(values: Vec<(V, u64)>) -> Self {
        let Self(mut values) = Self::all(values);
        values.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.wrapping_add(next.1);
            }
            is_same
        });
        Self(values)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (V, u64)> {
        self.0.iter().copied()
    }

    /// The value at a place, of which there must be one.
    pub fn value(&self, at: usize) -> V {
        self.0[at].0
    }

    fn total(&self) -> f64 {
        self.0.iter().fold(0_u64, |total, (_, weight)| total.saturating_add(*weight)) as f64
    }

    /// [`Rule::Exact`] of at least one value.
    pub fn exact(&self, level: f64) -> V {
        let wanted = (self.total() * level).ceil();
        let mut sum = 0_u64;
        let found = self.0.iter().position(|(_, weight)| {
            sum = sum.saturating_add(*weight);
            sum as f64 >= wanted
        });
        self.value(found.unwrap_or(self.len() - 1))
    }

    /// [`Rule::Middles`] of at least one value.
    pub fn middles(&self, level: f64, to_f64: impl Fn(V) -> f64) -> f64 {
        let total = self.total();
        let mut sum = 0.0;
        let mut middle = |weight: u64| {
            sum += weight as f64;
            (sum - 0.5 * weight as f64) / total
        };
        let places: Vec<f64> = self.0.iter().map(|(_, weight)| middle(*weight)).collect();
        let last = self.len() - 1;
        // The last place at or before the level, but that there is one behind it.
        let left = places.partition_point(|place| *place <= level).saturating_sub(1).min(last.saturating_sub(1));
        let right = (left + 1).min(last);
        let (x_left, x_right) = (places[left], places[right]);
        let (mut y_left, mut y_right) = (to_f64(self.value(left)), to_f64(self.value(right)));
        if level < x_left {
            y_right = y_left;
        }
        if level > x_right {
            y_left = y_right;
        }
        let (dx, dy) = (x_right - x_left, y_right - y_left);
        y_left + dy / if dx == 0.0 { 1.0 } else { dx } * (level - x_left)
    }

    /// [`Rule::Positions`] of at least one value.
    pub fn positions(&self, level: f64, to_f64: impl Fn(V) -> f64) -> f64 {
        let position = (self.total() - 1.0) * level;
        let (lower, higher) = (position.floor(), position.ceil());
        let at = |position: f64| {
            let mut sum = 0.0;
            let found = self.0.iter().position(|(_, weight)| {
                sum += *weight as f64;
                sum >= position + 1.0
            });
            to_f64(self.value(found.unwrap_or(self.len() - 1)))
        };
        let (low, high) = (at(lower), at(higher));
        if lower == higher || low == high { low } else { (higher - position) * low + (position - lower) * high }
    }
}

impl Sketch for Weighted {
    type State = Tally<u64, u64>;

    fn state(&self) -> Self::State {
        Tally::default()
    }

    fn add(&self, state: &mut Self::State, value: u64, weight: u64) {
        let sum = state.of(value);
        *sum = sum.wrapping_add(weight);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(from.len() * 50)?;
        from.iter().for_each(|(value, weight)| self.add(into, value, weight));
        Ok(())
    }

    fn quantiles(&self, state: Self::State, levels: &[f64], item: Numbers) -> Vec<u64> {
        if state.len() == 0 {
            return vec![item.none(); levels.len()];
        }
        let sorted = Sorted::all(state.iter().collect());
        let value = |level: &f64| match self.rule {
            Rule::Exact => sorted.exact(*level),
            Rule::Middles => item.rank_of(sorted.middles(*level, |value| self.numbers.to_f64(value))),
            Rule::Positions => item.rank_of(sorted.positions(*level, |value| self.numbers.to_f64(value))),
        };
        levels.iter().map(value).collect()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        for (value, weight) in state.sorted() {
            self.numbers.put(value, out);
            weight.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = Tally::default();
        for _ in 0..take_count(bytes)? {
            *state.of(self.numbers.take(bytes)?) = Raw::take(bytes)?;
        }
        Ok(state)
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.heap_bytes()
    }
}
