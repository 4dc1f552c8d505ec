//! The memory profiler of a query: as it holds more and more memory, and of allocations chosen at random, it is noted where its threads are.
//! Asked by the allocator when a thread's allocations are charged, so that it costs nothing in between.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

use super::tracker::MemoryTracker;
use crate::profiler::{TraceKind, trace_here};

/// What is wanted of the profiler, under the names of ClickHouse's settings.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MemoryProfile {
    /// `memory_profiler_step`: a trace whenever the query holds so many bytes more than before; 0 is never.
    pub step_bytes: u64,
    /// `memory_profiler_sample_probability`: that an allocation or a free, when it is charged, is noted.
    pub sample_probability: f64,
    /// `memory_profiler_sample_min_allocation_size`: smaller ones are not; 0 is no bound.
    pub sample_min_bytes: u64,
    /// `memory_profiler_sample_max_allocation_size`: nor larger ones; 0 is no bound.
    pub sample_max_bytes: u64,
}

/// A query's profiler.
#[derive(Debug, Default)]
pub(super) struct MemoryProfiler {
    profile: MemoryProfile,
    /// What must be held for the next trace.
    next_bytes: AtomicI64,
}

/// One charge of a thread's allocations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    /// All that was charged.
    pub(super) bytes: i64,
    /// The allocation with which it came to be charged; negative for a free.
    pub(super) allocation_bytes: i64,
    /// Its address.
    pub(super) pointer: u64,
}

impl MemoryProfiler {
    pub(super) fn new(profile: MemoryProfile) -> Self {
        let next_bytes = AtomicI64::new(i64::try_from(profile.step_bytes).unwrap_or(i64::MAX));
        Self { profile, next_bytes }
    }

    fn is_on(&self) -> bool {
        self.profile.step_bytes > 0 || self.profile.sample_probability > 0.0
    }

    /// Notes where the calling thread is, where that is wanted.
    #[inline]
    pub(super) fn note(&self, tracker: &MemoryTracker, charge: Charge) {
        if self.is_on() {
            self.note_wanted(tracker, charge);
        }
    }

    fn note_wanted(&self, tracker: &MemoryTracker, charge: Charge) {
        let held = tracker.bytes();
        let mut is_traced = false;
        if charge.bytes > 0 && self.passes_step(held) {
            trace_here(TraceKind::Memory, charge.bytes, 0);
            is_traced = true;
        }
        if self.is_sampled(charge.allocation_bytes.unsigned_abs()) {
            trace_here(TraceKind::MemorySample, charge.allocation_bytes, charge.pointer);
            is_traced = true;
        }
        if is_traced && charge.bytes > 0 && held >= tracker.peak_bytes() {
            trace_here(TraceKind::MemoryPeak, held, 0);
        }
    }

    /// Whether what is held has passed the next step; one thread is told so.
    fn passes_step(&self, held: i64) -> bool {
        let Some(step) = i64::try_from(self.profile.step_bytes).ok().filter(|step| *step > 0) else { return false };
        let next = self.next_bytes.load(Ordering::Relaxed);
        if held <= next {
            return false;
        }
        let further = (held / step + 1).saturating_mul(step);
        self.next_bytes.compare_exchange(next, further, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn is_sampled(&self, bytes: u64) -> bool {
        let MemoryProfile { sample_probability, sample_min_bytes, sample_max_bytes, .. } = self.profile;
        sample_probability > 0.0
            && (sample_min_bytes == 0 || bytes >= sample_min_bytes)
            && (sample_max_bytes == 0 || bytes <= sample_max_bytes)
            && random() < sample_probability
    }
}

/// A number of this thread from 0 to 1, without memory: the allocator runs while others are made.
fn random() -> f64 {
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    let next = STATE.try_with(|state| {
        let seeded = match state.get() {
            0 => crate::thread_usage::thread_id().wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            running => running,
        };
        // xorshift64
        let mut next = seeded ^ seeded << 13;
        next ^= next >> 7;
        next ^= next << 17;
        state.set(next);
        next
    });
    next.map_or(1.0, |next| (next >> 11) as f64 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_is_noted_once() {
        let profiler = MemoryProfiler::new(MemoryProfile { step_bytes: 100, ..MemoryProfile::default() });
        let passed: Vec<bool> =
            [50, 101, 150, 199, 201, 90, 180, 1000, 1001, 1101].map(|held| profiler.passes_step(held)).into();
        assert_eq!(passed, [false, true, false, false, true, false, false, true, false, true]);
        assert!(!MemoryProfiler::new(MemoryProfile::default()).passes_step(1 << 40));
    }

    #[test]
    fn samples_are_of_the_sizes_that_are_asked_for() {
        let profile = MemoryProfile {
            sample_probability: 1.0,
            sample_min_bytes: 10,
            sample_max_bytes: 20,
            ..MemoryProfile::default()
        };
        let profiler = MemoryProfiler::new(profile);
        assert_eq!([9, 10, 20, 21].map(|bytes| profiler.is_sampled(bytes)), [false, true, true, false]);
        let never = MemoryProfiler::new(MemoryProfile::default());
        assert!((0..1000).all(|_| !never.is_sampled(1)));
        let half = MemoryProfiler::new(MemoryProfile { sample_probability: 0.5, ..MemoryProfile::default() });
        let sampled = (0..10_000).filter(|_| half.is_sampled(1)).count();
        assert!((4_000..6_000).contains(&sampled), "{sampled}");
    }
}
