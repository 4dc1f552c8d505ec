//! `uniq`: an estimate of the number of distinct values by adaptive sampling, in bounded memory.
//!
//! The state is a set of 32-bit hashes. Once it has more than 65,536 of them, only hashes that end in one zero bit are kept, then
//! in two, and so on; the estimate is the set's size times the share that is kept, and somewhat more for values whose hashes met. It
//! errs by about 0.4 %. (Bar-Yossef et al., *Counting Distinct Elements in a Data Stream*, 2002.)

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::{Column, DataType, Result};

use crate::accumulator::AggregateFunction;
use crate::scalar::hash::checksum::crc32c;

use super::hash_set::HashSet;
use super::small_set::{ManyKeys, SmallSet};
use super::uniq_exact::at_least_one_argument;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::{Keys, keys, mix};
use crate::aggregate::values::slot_order::Table;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

/// The most hashes in a state.
const SAMPLES_MAX: usize = 65_536;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    at_least_one_argument(call)?;
    Ok(grouped::function(Uniq))
}

#[derive(Debug)]
struct Uniq;

/// The hashes that end in `degree` zero bits.
#[derive(Clone, Debug, Default)]
pub(in crate::aggregate) struct Sample {
    hashes: HashSet<u32>,
    degree: u32,
}

impl ManyKeys<u32> for Sample {
    #[inline]
    fn insert(&mut self, hash: u32) {
        if hash.trailing_zeros() >= self.degree && self.hashes.insert(hash) && self.hashes.len() > SAMPLES_MAX {
            self.thin(self.degree + 1);
        }
    }
}

impl Sample {
    /// Keeps the hashes that end in `degree` zero bits; in one more where that is not enough.
    #[cold]
    fn thin(&mut self, degree: u32) {
        self.degree = degree;
        let mut kept = HashSet::default();
        self.hashes.iter().filter(|hash| hash.trailing_zeros() >= degree).for_each(|hash| {
            kept.insert(hash);
        });
        self.hashes = kept;
        if self.hashes.len() > SAMPLES_MAX {
            self.thin(degree + 1);
        }
    }

    fn merge(&mut self, mut other: Self) {
        if (other.degree, other.hashes.len()) > (self.degree, self.hashes.len()) {
            std::mem::swap(self, &mut other);
        }
        other.hashes.iter().for_each(|hash| self.insert(hash));
    }

    fn estimate(&self) -> u64 {
        let count = self.hashes.len() as u64;
        if self.degree == 0 {
            return count;
        }
        // What is left away is somewhere between two multiples of a power of two.
        let scaled = (count << self.degree) + (u64::from(crc32c(u32::MAX, count)) & ((1 << self.degree) - 1));
        // As many values fill so many of all 32-bit hashes.
        let all = 4_294_967_296.0_f64;
        (all * (all.ln() - (all - scaled as f64).ln())).round() as u64
    }
}

/// Hashes, with their number before them, by their slots in a table of at most 2 × [`SAMPLES_MAX`]: their highest bits say which.
fn put_hashes(hashes: impl Iterator<Item = u32>, count: usize, out: &mut Vec<u8>) {
    const TABLE: Table = Table { first: 4, growth: 1 };
    put_varint(count as u64, out);
    let hashes: Vec<u32> = hashes.collect();
    let slots: Vec<Option<u64>> = hashes.iter().map(|hash| (*hash != 0).then_some(u64::from(*hash >> 15))).collect();
    TABLE.order(&slots).into_iter().for_each(|at| hashes[at as usize].put(out));
}

impl StateFunction for Uniq {
    type State = SmallSet<u32, Sample>;
    type Rows<'a> = Vec<u32>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn state(&self) -> Self::State {
        SmallSet::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        Ok(match keys(arguments, arguments.first().map_or(0, Column::rows))? {
            Keys::Numbers(keys) | Keys::Values(keys) => keys.into_iter().map(|key| mix(key) as u32).collect(),
            Keys::Rows(hashes) => hashes.into_iter().map(|hash| hash as u32).collect(),
        })
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        state.insert(rows[row]);
    }

    fn add_times(&self, state: &mut Self::State, rows: &Self::Rows<'_>, _: usize) -> bool {
        self.add(state, rows, 0);
        true
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.merge(from, |sample, other| {
            sample.merge(other);
            Ok(())
        })
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        match state {
            SmallSet::Few { .. } => {
                out.push(0);
                put_hashes(state.few().iter().copied(), state.few().len(), out);
            }
            SmallSet::Many(sample) => {
                out.push(sample.degree as u8);
                put_hashes(sample.hashes.iter(), sample.hashes.len(), out);
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = self.state();
        match u8::take(bytes)? {
            0 => {}
            degree => state.many().degree = degree.into(),
        }
        for _ in 0..take_count(bytes)? {
            state.insert(Raw::take(bytes)?);
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let estimate = |state: &Self::State| match state {
            SmallSet::Few { count, .. } => u64::from(*count),
            SmallSet::Many(sample) => sample.estimate(),
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, states.iter().map(estimate).collect()))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        match state {
            SmallSet::Few { .. } => 0,
            SmallSet::Many(sample) => size_of::<Sample>() + sample.hashes.memory_bytes(),
        }
    }
}
