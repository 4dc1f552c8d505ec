//! `quantileDeterministic`: a sample of the values whose second number hashes to so many zero bits: the same for the same rows.

use squall_types::{Error, ErrorCode, Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::row_hash::mix;
use crate::aggregate::values::state_bytes::{Raw, take_bytes};

/// The most values of a sample.
const SAMPLE_MAX: usize = 8192;

#[derive(Debug)]
pub(in crate::aggregate) struct Deterministic {
    pub numbers: Numbers,
}

/// Values with their hashes, all of which end in `degree` zero bits.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Sample {
    values: Vec<(u64, u32)>,
    total: u64,
    degree: u32,
}

impl Sample {
    fn fits(&self, hash: u32) -> bool {
        hash.trailing_zeros() >= self.degree
    }

    fn push(&mut self, value: u64, hash: u32) {
        while self.fits(hash) && self.values.len() >= SAMPLE_MAX && self.degree < u32::BITS {
            self.thin(self.degree + 1);
        }
        if self.fits(hash) && self.values.len() < SAMPLE_MAX {
            self.values.push((value, hash));
        }
    }

    fn thin(&mut self, degree: u32) {
        self.degree = self.degree.max(degree);
        let degree = self.degree;
        self.values.retain(|(_, hash)| hash.trailing_zeros() >= degree);
    }
}

impl Deterministic {
    /// Bytes between a value and its hash, and behind that: values lie as in memory.
    fn padding(&self) -> (usize, usize) {
        match self.numbers.width() {
            8 => (0, 4),
            width => (4 - width.min(4), 0),
        }
    }
}

impl Sketch for Deterministic {
    type State = Sample;

    fn state(&self) -> Sample {
        Sample::default()
    }

    fn add(&self, state: &mut Sample, value: u64, second: u64) {
        state.total += 1;
        state.push(value, mix(second) as u32);
    }

    fn merge(&self, into: &mut Sample, from: Sample) -> Result<()> {
        checkpoint(from.values.len() * 5)?;
        if from.degree > into.degree {
            into.thin(from.degree);
        }
        from.values.into_iter().for_each(|(value, hash)| into.push(value, hash));
        into.total += from.total;
        Ok(())
    }

    fn check(&self, state: &Sample) -> Result<()> {
        // No number has so many zero bits but 0: then most second numbers are equal, and the sample is none.
        if state.degree < u32::BITS {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "Skip degree in `quantileDeterministic` exceeds the maximum value of 31, which indicates an incorrect usage",
        ))
    }

    fn quantiles(&self, state: Sample, levels: &[f64], item: Numbers) -> Vec<u64> {
        let mut values: Vec<f64> = state.values.iter().map(|(value, _)| self.numbers.to_f64(*value)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let last = values.len().saturating_sub(1) as f64;
        levels.iter().map(|level| item.rank_of(super::quantile::between(&values, level * last))).collect()
    }

    fn write(&self, state: &Sample, out: &mut Vec<u8>) -> Result<()> {
        (state.values.len() as u64).put(out);
        state.total.put(out);
        let (before, behind) = self.padding();
        for (value, hash) in &state.values {
            self.numbers.put(*value, out);
            out.extend(std::iter::repeat_n(0, before));
            hash.put(out);
            out.extend(std::iter::repeat_n(0, behind));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Sample> {
        let (count, total) = (u64::take(bytes)?, Raw::take(bytes)?);
        if count > SAMPLE_MAX as u64 {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "A state of quantileDeterministic with too many values"));
        }
        let (before, behind) = self.padding();
        let mut values = Vec::new();
        for _ in 0..count {
            let value = self.numbers.take(bytes)?;
            take_bytes(bytes, before)?;
            let hash = u32::take(bytes)?;
            take_bytes(bytes, behind)?;
            values.push((value, hash));
        }
        // The degree is not written: it is what all hashes have in common where some values were left out.
        let degree =
            if count < total { values.iter().map(|(_, hash)| hash.trailing_zeros()).min().unwrap_or(0) } else { 0 };
        Ok(Sample { values, total, degree })
    }

    fn items(&self, state: &Sample) -> usize {
        state.values.len()
    }

    fn heap_bytes(&self, state: &Sample) -> usize {
        state.values.capacity() * size_of::<(u64, u32)>()
    }
}
