//! `quantileTDigest`: centroids, which are dense where the quantiles are extreme (Dunning, *Computing Extremely Accurate Quantiles Using
//! t-Digests*, 2019). Means and weights are 32-bit floats.

use squall_types::{Error, ErrorCode, Result, checkpoint};

use super::sketched::Sketch;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

/// How much of all values a centroid in the middle may stand for.
const EPSILON: f64 = 0.01;

/// The most centroids after merging, and those that wait for it.
const CENTROIDS_MAX: usize = 2048;
const UNMERGED_MAX: usize = 2048;

#[derive(Debug)]
pub(in crate::aggregate) struct TDigest {
    pub numbers: Numbers,
}

/// Some values near one another.
#[derive(Clone, Copy)]
pub(in crate::aggregate) struct Centroid {
    mean: f32,
    count: f32,
}

/// The centroids, of which the last ones are not merged yet.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Digest {
    centroids: Vec<Centroid>,
    count: f32,
    unmerged: usize,
}

impl Digest {
    fn push(&mut self, centroid: Centroid) {
        self.centroids.push(centroid);
        self.unmerged += 1;
        self.count += centroid.count;
        if self.unmerged > UNMERGED_MAX {
            self.compress();
        }
    }

    fn compress(&mut self) {
        if self.unmerged > 0 || self.centroids.len() > CENTROIDS_MAX {
            self.merge_near();
        }
        // What is still too much is merged pair by pair, whatever the error.
        if self.centroids.len() > CENTROIDS_MAX {
            let many = self.centroids.len().div_ceil(CENTROIDS_MAX);
            let merge = |near: &[Centroid]| {
                let count: f32 = near.iter().map(|centroid| centroid.count).sum();
                let mean =
                    near.iter().map(|centroid| f64::from(centroid.mean) * f64::from(centroid.count)).sum::<f64>();
                Centroid { mean: (mean / f64::from(count)) as f32, count }
            };
            self.centroids = self.centroids.chunks(many).map(merge).collect();
        }
    }

    fn merge_near(&mut self) {
        self.unmerged = 0;
        self.centroids.sort_by(|left, right| left.mean.total_cmp(&right.mean));
        let Some(first) = self.centroids.first() else { return };
        let scale = f64::from(self.count) * EPSILON * 4.0;
        let all = f64::from(self.count);
        let (mut sum, mut mean, mut count) = (0.0_f64, f64::from(first.mean), f64::from(first.count));
        let mut last = 0;
        for at in 1..self.centroids.len() {
            let right = self.centroids[at];
            let right_count = f64::from(right.count);
            let left_level = (sum + count * 0.5) / all;
            let right_level = (sum + count + right_count * 0.5) / all;
            let error = (left_level * (1.0 - left_level)).min(right_level * (1.0 - right_level));
            let can_merge = mean == f64::from(right.mean) || !mean.is_infinite() && !right.mean.is_infinite();
            if count + right_count <= scale * error && can_merge {
                count += right_count;
                if f64::from(right.mean) != mean {
                    mean += right_count * (f64::from(right.mean) - mean) / count;
                }
                self.centroids[last] = Centroid { mean: mean as f32, count: count as f32 };
            } else {
                sum += f64::from(self.centroids[last].count);
                last += 1;
                self.centroids[last] = right;
                (mean, count) = (f64::from(right.mean), right_count);
            }
        }
        self.count = (sum + count) as f32;
        self.centroids.truncate(last + 1);
    }

    fn quantile(&self, level: f64) -> f64 {
        let Some(first) = self.centroids.first() else { return f64::NAN };
        if self.centroids.len() == 1 {
            return f64::from(first.mean);
        }
        let at = level * f64::from(self.count);
        let (mut before_at, mut sum, mut before) = (0.0_f64, 0.0_f32, *first);
        for centroid in &self.centroids {
            let middle = f64::from(sum) + f64::from(centroid.count) * 0.5;
            if middle >= at {
                // A value that stands alone is a point.
                let half = |centroid: &Centroid| if centroid.count == 1.0 { 0.5 } else { 0.0 };
                let (left, right) = (before_at + half(&before), middle - half(centroid));
                return if at <= left {
                    f64::from(before.mean)
                } else if at >= right {
                    f64::from(centroid.mean)
                } else {
                    let share = (at - left) / (right - left);
                    f64::from(((1.0 - share) * f64::from(before.mean) + share * f64::from(centroid.mean)) as f32)
                };
            }
            sum += centroid.count;
            before = *centroid;
            before_at = middle;
        }
        f64::from(before.mean)
    }
}

impl Sketch for TDigest {
    type State = Digest;

    fn state(&self) -> Digest {
        Digest::default()
    }

    fn add(&self, state: &mut Digest, value: u64, weight: u64) {
        if weight > 0 {
            state.push(Centroid { mean: self.numbers.to_f64(value) as f32, count: weight as f32 });
        }
    }

    fn merge(&self, into: &mut Digest, from: Digest) -> Result<()> {
        checkpoint(from.centroids.len() * 10)?;
        from.centroids.into_iter().for_each(|centroid| into.push(centroid));
        Ok(())
    }

    fn quantiles(&self, mut state: Digest, levels: &[f64], item: Numbers) -> Vec<u64> {
        state.compress();
        levels.iter().map(|level| item.rank_of(state.quantile(*level))).collect()
    }

    fn write(&self, state: &Digest, out: &mut Vec<u8>) -> Result<()> {
        let mut state = state.clone();
        state.compress();
        put_varint(state.centroids.len() as u64, out);
        for centroid in &state.centroids {
            centroid.mean.put(out);
            centroid.count.put(out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Digest> {
        let mut state = Digest::default();
        for _ in 0..take_count(bytes)? {
            let centroid = Centroid { mean: Raw::take(bytes)?, count: Raw::take(bytes)? };
            if centroid.count.is_nan() || centroid.count <= 0.0 || centroid.mean.is_nan() {
                return Err(Error::new(
                    ErrorCode::INCORRECT_DATA,
                    "A state of a t-digest with a centroid of no values",
                ));
            }
            state.count += centroid.count;
            state.centroids.push(centroid);
        }
        state.compress();
        Ok(state)
    }

    fn items(&self, state: &Digest) -> usize {
        state.centroids.len()
    }

    fn heap_bytes(&self, state: &Digest) -> usize {
        state.centroids.capacity() * size_of::<Centroid>()
    }
}
