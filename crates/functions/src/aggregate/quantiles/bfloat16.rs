//! `quantileBFloat16`: values rounded to the upper half of a 32-bit float, and how often each occurs.

use squall_types::{Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};
use crate::aggregate::values::tally::Tally;

#[derive(Debug)]
pub(in crate::aggregate) struct BFloat16 {
    pub numbers: Numbers,
}

/// The float of an upper half.
fn widened(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// The upper half with the order of floats.
fn rank(half: u16) -> u16 {
    if half >> 15 == 1 { !half } else { half | 1 << 15 }
}

/// The upper half that has this rank.
fn half(rank: u16) -> u16 {
    if rank >> 15 == 1 { rank & !(1 << 15) } else { !rank }
}

impl Sketch for BFloat16 {
    type State = Tally<u16, u64>;

    fn state(&self) -> Self::State {
        Tally::default()
    }

    fn add(&self, state: &mut Self::State, value: u64, weight: u64) {
        let float = self.numbers.to_f64(value) as f32;
        let sum = state.of(rank((float.to_bits() >> 16) as u16));
        *sum = sum.wrapping_add(weight);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(from.len() * 50)?;
        for (key, weight) in from.iter() {
            let sum = into.of(key);
            *sum = sum.wrapping_add(weight);
        }
        Ok(())
    }

    fn quantiles(&self, state: Self::State, levels: &[f64], item: Numbers) -> Vec<u64> {
        let state = state.sorted();
        let total = state.iter().fold(0_u64, |total, (_, weight)| total.saturating_add(*weight)) as f64;
        let value = |level: &f64| {
            let wanted = (total * level).ceil();
            let mut sum = 0_u64;
            let found = state.iter().find(|(_, weight)| {
                sum = sum.saturating_add(*weight);
                sum as f64 >= wanted
            });
            let found = found.or(state.last()).map(|(key, _)| widened(half(*key)));
            item.rank_of(found.map_or(f64::NAN, f64::from))
        };
        levels.iter().map(value).collect()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        for (key, weight) in state.sorted() {
            half(key).put(out);
            weight.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = Tally::default();
        for _ in 0..take_count(bytes)? {
            *state.of(rank(Raw::take(bytes)?)) = Raw::take(bytes)?;
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
