//! `quantileTiming`: made for times of pages in milliseconds. Up to 5,672 values are kept as they are, cut at 30,000; more are counted,
//! those below 1,024 one by one and those above in steps of 16.

use squall_types::{Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::Raw;
use crate::scalar::hash::integer::unsalted32;

/// Values below are counted one by one.
const SMALL: u64 = 1024;
/// Values above are this.
const BIG: u64 = 30_000;
/// The step between.
const STEP: u64 = 16;
const BIG_COUNTS: usize = ((BIG - SMALL) / STEP) as usize;
/// Values that are written as the smallest kind of list, and those that are kept at all.
const TINY_MAX: usize = 31;
const LIST_MAX: usize = (1 + SMALL as usize + BIG_COUNTS) * 2;

#[derive(Debug)]
pub(in crate::aggregate) struct Timing {
    pub numbers: Numbers,
}

/// Values, or how many of each there are.
#[derive(Clone)]
pub(in crate::aggregate) enum Times {
    List(Vec<u16>),
    Counts(Box<Counts>),
}

/// How many values each place of the scale has: the small ones, then the steps.
#[derive(Clone)]
pub(in crate::aggregate) struct Counts {
    /// Weights wrap, as ClickHouse's do.
    total: u64,
    places: Vec<u64>,
}

impl Counts {
    fn place(value: u64) -> usize {
        if value < SMALL {
            value as usize
        } else {
            (SMALL as usize + ((value.min(BIG) - SMALL) / STEP) as usize).min(SMALL as usize + BIG_COUNTS - 1)
        }
    }

    fn add(&mut self, value: u64, weight: u64) {
        self.total = self.total.wrapping_add(weight);
        let place = &mut self.places[Self::place(value)];
        *place = place.wrapping_add(if value < BIG { weight } else { 0 });
    }

    fn quantile(&self, level: f64) -> u64 {
        let wanted = ((self.total as f64 * level).ceil() as u64).min(self.total);
        let mut seen = 0_u64;
        for (place, count) in self.places.iter().enumerate() {
            seen = seen.wrapping_add(*count);
            if *count > 0 && seen >= wanted {
                let Some(step) = (place as u64).checked_sub(SMALL) else { return place as u64 };
                // Somewhere in the step: always the same place, but not always its begin.
                return (step * STEP + SMALL + u64::from(unsalted32(step)) % STEP).saturating_sub(STEP / 2);
            }
        }
        BIG
    }
}

impl Times {
    fn counts(&mut self) -> &mut Counts {
        if let Self::List(values) = self {
            let mut counts = Counts { total: 0, places: vec![0; SMALL as usize + BIG_COUNTS] };
            values.iter().for_each(|value| counts.add(u64::from(*value), 1));
            *self = Self::Counts(Box::new(counts));
        }
        match self {
            Self::Counts(counts) => counts,
            Self::List(_) => unreachable!("it has just been counted"),
        }
    }

    fn add(&mut self, value: u64, weight: u64) {
        match self {
            Self::List(values) if values.len() as u64 + weight.min(LIST_MAX as u64 + 1) <= LIST_MAX as u64 => {
                values.extend(std::iter::repeat_n(value.min(BIG) as u16, weight as usize));
            }
            other => other.counts().add(value, weight),
        }
    }
}

impl Sketch for Timing {
    type State = Times;

    fn state(&self) -> Times {
        Times::List(Vec::new())
    }

    fn add(&self, state: &mut Times, value: u64, weight: u64) {
        let value = self.numbers.to_f64(value);
        // What is less than nothing took no time.
        if value >= 0.0 {
            state.add(value.min(BIG as f64) as u64, weight);
        } else if let Numbers::Signed(_) = self.numbers {
            state.add(0, 0);
        }
    }

    fn merge(&self, into: &mut Times, from: Times) -> Result<()> {
        checkpoint(self.items(&from))?;
        match (&mut *into, from) {
            (_, Times::List(values)) => values.iter().for_each(|value| into.add(u64::from(*value), 1)),
            (_, Times::Counts(from)) => {
                let counts = into.counts();
                counts.total = counts.total.wrapping_add(from.total);
                let places = counts.places.iter_mut().zip(from.places);
                places.for_each(|(count, other)| *count = count.wrapping_add(other));
            }
        }
        Ok(())
    }

    fn quantiles(&self, state: Times, levels: &[f64], item: Numbers) -> Vec<u64> {
        let values = match state {
            Times::Counts(counts) => levels.iter().map(|level| counts.quantile(*level) as f64).collect(),
            Times::List(values) if values.is_empty() => vec![f64::NAN; levels.len()],
            Times::List(mut values) => {
                values.sort_unstable();
                let last = values.len() - 1;
                let place =
                    |level: f64| if level < 1.0 { ((level * values.len() as f64) as usize).min(last) } else { last };
                levels.iter().map(|level| f64::from(values[place(*level)])).collect::<Vec<_>>()
            }
        };
        values.into_iter().map(|value| item.rank_of(value)).collect()
    }

    fn write(&self, state: &Times, out: &mut Vec<u8>) -> Result<()> {
        match state {
            Times::List(values) => {
                if values.len() <= TINY_MAX {
                    out.push(1);
                    (values.len() as u16).put(out);
                } else {
                    out.push(2);
                    (values.len() as u64).put(out);
                }
                values.iter().for_each(|value| value.put(out));
            }
            Times::Counts(counts) => {
                out.push(3);
                counts.total.put(out);
                let is_full = counts.total.saturating_mul(2) > counts.places.len() as u64;
                let (small, big) = counts.places.split_at(SMALL as usize);
                if is_full {
                    counts.places.iter().for_each(|count| count.put(out));
                } else {
                    for (places, first, step) in [(small, 0, 1), (big, SMALL, STEP)] {
                        for (at, count) in places.iter().enumerate().filter(|(_, count)| **count > 0) {
                            ((first + at as u64 * step) as u16).put(out);
                            count.put(out);
                        }
                        // No value is this high: the end.
                        (BIG as u16).put(out);
                    }
                }
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Times> {
        let wrong = || {
            squall_types::Error::new(squall_types::ErrorCode::INCORRECT_DATA, "A state of quantileTiming of no kind")
        };
        let mut times = self.state();
        match u8::take(bytes)? {
            0 => {}
            kind @ (1 | 2) => {
                let count = if kind == 1 { u64::from(u16::take(bytes)?) } else { Raw::take(bytes)? };
                if count > bytes.len() as u64 {
                    return Err(wrong());
                }
                for _ in 0..count {
                    times.add(u64::from(u16::take(bytes)?), 1);
                }
            }
            3 => {
                let total = u64::take(bytes)?;
                let counts = times.counts();
                counts.total = total;
                if total.saturating_mul(2) > counts.places.len() as u64 {
                    for count in &mut counts.places {
                        *count = Raw::take(bytes)?;
                    }
                } else {
                    for _ in 0..2 {
                        loop {
                            let value = u64::from(u16::take(bytes)?);
                            if value >= BIG {
                                break;
                            }
                            counts.places[Counts::place(value)] = Raw::take(bytes)?;
                        }
                    }
                }
            }
            _ => return Err(wrong()),
        }
        Ok(times)
    }

    fn items(&self, state: &Times) -> usize {
        match state {
            Times::List(values) => values.len(),
            Times::Counts(counts) => counts.places.len(),
        }
    }

    fn heap_bytes(&self, state: &Times) -> usize {
        match state {
            Times::List(values) => values.capacity() * 2,
            Times::Counts(counts) => counts.places.len() * 8,
        }
    }
}
