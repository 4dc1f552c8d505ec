//! `quantileGK`: a summary whose error is bounded whatever the values (Greenwald, Khanna, *Space-Efficient Online Computation of Quantile
//! Summaries*, 2001).

use squall_types::{Error, ErrorCode, Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::Raw;

/// Values that wait before they are sorted into the summary.
const WAITING_MAX: usize = 50_000;
/// From so many samples on the summary is compressed after that.
const COMPRESS_FROM: usize = 10_000;

#[derive(Debug)]
pub(in crate::aggregate) struct Summary {
    pub numbers: Numbers,
    /// The error that ranks may have, as a share of all values.
    pub error: f64,
}

/// A value, how much higher its least rank is than that of the sample before, and how uncertain that is.
#[derive(Clone, Copy)]
pub(in crate::aggregate) struct Sample {
    value: u64,
    gap: i64,
    slack: i64,
}

/// Samples in the order of their values, and values that are not part of them yet.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Samples {
    samples: Vec<Sample>,
    waiting: Vec<u64>,
    count: u64,
    compressed: bool,
}

impl Summary {
    /// Sorts the waiting values in.
    fn insert(&self, state: &mut Samples) {
        let mut waiting = std::mem::take(&mut state.waiting);
        if waiting.is_empty() {
            return;
        }
        waiting.sort_unstable();
        let mut samples = Vec::with_capacity(state.samples.len() + waiting.len());
        let mut known = std::mem::take(&mut state.samples).into_iter().peekable();
        let last = waiting.len() - 1;
        for (at, value) in waiting.into_iter().enumerate() {
            while let Some(sample) = known.next_if(|sample| sample.value <= value) {
                samples.push(sample);
            }
            state.count += 1;
            let is_end = samples.is_empty() || at == last && known.peek().is_none();
            let slack = if is_end { 0 } else { (2.0 * self.error * state.count as f64).floor() as i64 };
            samples.push(Sample { value, gap: 1, slack });
        }
        samples.extend(known);
        state.samples = samples;
    }

    fn compress(&self, state: &mut Samples) {
        if state.compressed {
            return;
        }
        self.insert(state);
        state.compressed = true;
        self.shrink(state);
    }

    /// Merges samples as long as the error allows it, from the last on.
    fn shrink(&self, state: &mut Samples) {
        let limit = 2.0 * self.error * state.count as f64;
        let (Some(first), Some(mut head)) = (state.samples.first().copied(), state.samples.last().copied()) else {
            return;
        };
        let mut kept = Vec::new();
        let inner = state.samples.get(1..state.samples.len() - 1).unwrap_or_default();
        for sample in inner.iter().rev() {
            if ((sample.gap + head.gap + head.slack) as f64) < limit {
                head.gap += sample.gap;
            } else {
                kept.push(head);
                head = *sample;
            }
        }
        kept.push(head);
        if state.samples.len() > 1 && first.value <= head.value {
            kept.push(first);
        }
        kept.reverse();
        state.samples = kept;
    }

    fn quantile(&self, state: &Samples, level: f64) -> Option<u64> {
        let (first, last) = (state.samples.first()?, state.samples.last()?);
        if level <= self.error {
            return Some(first.value);
        }
        if level >= 1.0 - self.error {
            return Some(last.value);
        }
        let rank = (level * state.count as f64).ceil();
        let error = state.samples.iter().map(|sample| sample.slack + sample.gap).max().unwrap_or(0) as f64 / 2.0;
        let mut least = 0;
        for sample in &state.samples[..state.samples.len() - 1] {
            least += sample.gap;
            let greatest = least + sample.slack;
            if greatest as f64 - error <= rank && rank <= least as f64 + error {
                return Some(sample.value);
            }
        }
        Some(last.value)
    }
}

impl Sketch for Summary {
    type State = Samples;

    fn state(&self) -> Samples {
        Samples::default()
    }

    fn add(&self, state: &mut Samples, value: u64, _: u64) {
        state.waiting.push(value);
        state.compressed = false;
        if state.waiting.len() >= WAITING_MAX {
            self.insert(state);
            if state.samples.len() >= COMPRESS_FROM {
                self.compress(state);
            }
        }
    }

    fn merge(&self, into: &mut Samples, mut from: Samples) -> Result<()> {
        checkpoint((into.samples.len() + into.waiting.len() + from.samples.len() + from.waiting.len()) * 20)?;
        self.compress(into);
        self.compress(&mut from);
        if from.count == 0 {
            return Ok(());
        }
        if into.count == 0 {
            *into = from;
            return Ok(());
        }
        let uncertain = |count: u64| (2.0 * self.error * count as f64).floor() as i64;
        let (my_slack, other_slack) = (uncertain(from.count), uncertain(into.count));
        let mut merged = Vec::with_capacity(into.samples.len() + from.samples.len());
        let (mut mine, mut others) = (into.samples.iter().copied().peekable(), from.samples.iter().copied().peekable());
        let (mut mine_before, mut others_before) = (false, false);
        while let (Some(my_next), Some(other_next)) = (mine.peek(), others.peek()) {
            if my_next.value < other_next.value {
                let slack = my_next.slack + if others_before { my_slack } else { 0 };
                merged.extend(mine.next().map(|sample| Sample { slack, ..sample }));
                mine_before = true;
            } else {
                let slack = other_next.slack + if mine_before { other_slack } else { 0 };
                merged.extend(others.next().map(|sample| Sample { slack, ..sample }));
                others_before = true;
            }
        }
        merged.extend(mine);
        merged.extend(others);
        into.samples = merged;
        into.count += from.count;
        self.shrink(into);
        Ok(())
    }

    fn quantiles(&self, mut state: Samples, levels: &[f64], item: Numbers) -> Vec<u64> {
        self.compress(&mut state);
        levels.iter().map(|level| self.quantile(&state, *level).unwrap_or_else(|| item.none())).collect()
    }

    fn write(&self, state: &Samples, out: &mut Vec<u8>) -> Result<()> {
        let mut state = state.clone();
        self.compress(&mut state);
        (COMPRESS_FROM as u64).put(out);
        self.error.put(out);
        state.count.put(out);
        (state.samples.len() as u64).put(out);
        for sample in &state.samples {
            self.numbers.put(sample.value, out);
            sample.gap.put(out);
            sample.slack.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Samples> {
        let wrong = || Error::new(ErrorCode::INCORRECT_DATA, "A state of quantileGK of other parameters");
        let (_, error) = (u64::take(bytes)?, f64::take(bytes)?);
        if error != self.error {
            return Err(wrong());
        }
        let (count, samples) = (u64::take(bytes)?, u64::take(bytes)?);
        if samples > bytes.len() as u64 || samples > count {
            return Err(wrong());
        }
        let sample = |bytes: &mut &[u8]| -> Result<Sample> {
            Ok(Sample { value: self.numbers.take(bytes)?, gap: Raw::take(bytes)?, slack: Raw::take(bytes)? })
        };
        let samples = (0..samples).map(|_| sample(bytes)).collect::<Result<Vec<_>>>()?;
        let fits = |sample: &Sample| {
            sample.gap > 0 && sample.slack >= 0 && sample.gap <= count as i64 && sample.slack <= count as i64
        };
        if count > i64::MAX as u64 / 4 || !samples.iter().all(fits) {
            return Err(wrong());
        }
        Ok(Samples { samples, waiting: Vec::new(), count, compressed: true })
    }

    fn items(&self, state: &Samples) -> usize {
        state.samples.len() + state.waiting.len()
    }

    fn heap_bytes(&self, state: &Samples) -> usize {
        state.samples.capacity() * size_of::<Sample>() + state.waiting.capacity() * 8
    }
}
