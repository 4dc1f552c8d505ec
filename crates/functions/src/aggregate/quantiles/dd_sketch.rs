//! `quantileDD`: buckets that grow by a factor, so that each value is known up to a share of itself (Masson, Rim, Lee, *DDSketch*, 2019).

use std::collections::BTreeMap;

use squall_types::{Error, ErrorCode, Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count, take_varint};

/// Marks of the parts of a state.
const MAPPING: u8 = 2;
const POSITIVE: u8 = 1;
const NEGATIVE: u8 = 3;
const SPARSE: u8 = 4;
const DENSE: u8 = 12;

/// Buckets of each sign: where there were more, those of the least values become one.
const BUCKETS_MAX: i64 = 2048;

#[derive(Debug)]
pub(in crate::aggregate) struct DdSketch {
    numbers: Numbers,
    /// By what a bucket's bound is higher than that of the one before.
    factor: f64,
}

/// How many values each bucket has.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Store {
    counts: BTreeMap<i32, f64>,
}

impl Store {
    fn add(&mut self, bucket: i32, count: f64) {
        *self.counts.entry(bucket).or_default() += count;
        self.bound();
    }

    fn bound(&mut self) {
        while let (Some((least, _)), Some((greatest, _))) =
            (self.counts.first_key_value(), self.counts.last_key_value())
            && i64::from(*greatest) - i64::from(*least) >= BUCKETS_MAX
            && let Some((_, count)) = self.counts.pop_first()
        {
            if let Some(mut next) = self.counts.first_entry() {
                *next.get_mut() += count;
            }
        }
    }

    fn total(&self) -> f64 {
        self.counts.values().sum()
    }

    /// The bucket in which the value of this rank, from 0, is; `falling` counts from the greatest on.
    fn find(&self, rank: f64, falling: bool) -> i32 {
        let mut sum = 0.0;
        let mut reaches = |count: &f64| {
            sum += count;
            sum > rank
        };
        let found = match falling {
            false => self.counts.iter().find(|(_, count)| reaches(count)).or(self.counts.last_key_value()),
            true => self.counts.iter().rev().find(|(_, count)| reaches(count)).or(self.counts.first_key_value()),
        };
        found.map_or(0, |(bucket, _)| *bucket)
    }

    /// Every bucket from the first to the last, or those that have values: whichever is shorter.
    fn write(&self, out: &mut Vec<u8>) {
        let (first, last) = match (self.counts.first_key_value(), self.counts.last_key_value()) {
            (Some((first, _)), Some((last, _))) => (*first, *last),
            _ => {
                out.push(DENSE);
                put_varint(0, out);
                put_varint(zigzag(i32::MAX.into()), out);
                put_varint(zigzag(1), out);
                return;
            }
        };
        let buckets = (i64::from(last) - i64::from(first) + 1) as usize;
        if buckets * 8 <= self.counts.len() * 9 {
            out.push(DENSE);
            put_varint(buckets as u64, out);
            put_varint(zigzag(first.into()), out);
            put_varint(zigzag(1), out);
            (first..=last).for_each(|bucket| self.counts.get(&bucket).copied().unwrap_or(0.0).put(out));
            return;
        }
        out.push(SPARSE);
        put_varint(self.counts.len() as u64, out);
        let mut before = 0;
        for (bucket, count) in &self.counts {
            put_varint(zigzag(i64::from(*bucket) - before), out);
            count.put(out);
            before = (*bucket).into();
        }
    }

    fn read(bytes: &mut &[u8]) -> Result<Self> {
        let mut store = Self::default();
        let wrong = || Error::new(ErrorCode::INCORRECT_DATA, "A state of quantileDD with buckets of no kind");
        let kind = u8::take(bytes)?;
        let count = take_count(bytes)?;
        let number = |bytes: &mut &[u8]| take_varint(bytes).map(|bits| (bits >> 1) as i64 ^ -((bits & 1) as i64));
        let mut bucket: i64 = 0;
        let mut step = 0;
        match kind {
            DENSE => {
                bucket = number(bytes)?;
                step = number(bytes)?;
                bucket = bucket.saturating_sub(step);
            }
            SPARSE => {}
            _ => return Err(wrong()),
        }
        for _ in 0..count {
            checkpoint(16)?;
            let distance = if kind == SPARSE { number(bytes)? } else { step };
            bucket = bucket.checked_add(distance).ok_or_else(wrong)?;
            let count = f64::take(bytes)?;
            if count > 0.0 {
                store.add(i32::try_from(bucket).map_err(|_| wrong())?, count);
            }
        }
        Ok(store)
    }
}

/// A number with its sign as one without: 0, -1, 1, -2, …
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The values of both signs, and zeros.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Stores {
    positive: Store,
    negative: Store,
    zeros: f64,
}

impl DdSketch {
    /// For values that are known up to this share of themselves.
    pub fn new(numbers: Numbers, accuracy: f64) -> Self {
        Self { numbers, factor: (1.0 + accuracy) / (1.0 - accuracy) }
    }

    fn bucket(&self, value: f64) -> i32 {
        (value.ln() / self.factor.ln()).floor() as i32
    }

    /// The value that stands for a bucket: its lower bound, and half of what the bucket is wide relative to its middle.
    fn value(&self, bucket: i32) -> f64 {
        let accuracy = 1.0 - 2.0 / (1.0 + self.factor);
        (f64::from(bucket) * self.factor.ln()).exp() * (1.0 + accuracy)
    }

    /// The least value that is not taken for 0.
    fn least(&self) -> f64 {
        f64::MIN_POSITIVE * self.factor
    }

    fn quantile(&self, state: &Stores, level: f64) -> f64 {
        let negatives = state.negative.total();
        let total = negatives + state.zeros + state.positive.total();
        if total == 0.0 {
            return f64::NAN;
        }
        let rank = level * (total - 1.0);
        if rank < negatives {
            -self.value(state.negative.find(rank, true))
        } else if rank < negatives + state.zeros {
            0.0
        } else {
            self.value(state.positive.find(rank - negatives - state.zeros, false))
        }
    }
}

impl Sketch for DdSketch {
    type State = Stores;

    fn state(&self) -> Stores {
        Stores::default()
    }

    fn add(&self, state: &mut Stores, value: u64, _: u64) {
        let value = self.numbers.to_f64(value);
        if value > self.least() {
            state.positive.add(self.bucket(value), 1.0);
        } else if value < -self.least() {
            state.negative.add(self.bucket(-value), 1.0);
        } else {
            state.zeros += 1.0;
        }
    }

    fn merge(&self, into: &mut Stores, from: Stores) -> Result<()> {
        checkpoint((from.positive.counts.len() + from.negative.counts.len()) * 50)?;
        from.positive.counts.into_iter().for_each(|(bucket, count)| into.positive.add(bucket, count));
        from.negative.counts.into_iter().for_each(|(bucket, count)| into.negative.add(bucket, count));
        into.zeros += from.zeros;
        Ok(())
    }

    fn quantiles(&self, state: Stores, levels: &[f64], item: Numbers) -> Vec<u64> {
        levels.iter().map(|level| item.rank_of(self.quantile(&state, *level))).collect()
    }

    fn write(&self, state: &Stores, out: &mut Vec<u8>) -> Result<()> {
        out.push(MAPPING);
        self.factor.put(out);
        // The offset of the first bucket.
        0.0_f64.put(out);
        out.push(POSITIVE);
        state.positive.write(out);
        out.push(NEGATIVE);
        state.negative.write(out);
        out.push(SPARSE);
        state.zeros.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Stores> {
        let wrong = || Error::new(ErrorCode::INCORRECT_DATA, "A state of quantileDD of other parameters");
        let mark = |bytes: &mut &[u8], wanted: u8| if u8::take(bytes)? == wanted { Ok(()) } else { Err(wrong()) };
        mark(bytes, MAPPING)?;
        let (factor, _) = (f64::take(bytes)?, f64::take(bytes)?);
        if (factor - self.factor).abs() > 1e-9 {
            return Err(wrong());
        }
        mark(bytes, POSITIVE)?;
        let positive = Store::read(bytes)?;
        mark(bytes, NEGATIVE)?;
        let negative = Store::read(bytes)?;
        mark(bytes, SPARSE)?;
        Ok(Stores { positive, negative, zeros: Raw::take(bytes)? })
    }

    fn items(&self, state: &Stores) -> usize {
        state.positive.counts.len() + state.negative.counts.len()
    }

    fn heap_bytes(&self, state: &Stores) -> usize {
        self.items(state) * 24
    }
}
