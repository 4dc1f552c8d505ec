//! Which steps of queries are long enough to be written to the log, and how many of them: the bound is a server setting, and few lines a
//! second are enough to find a fault. What is written is the engine's business; how long all steps took is in `histogram`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lines a second at most.
const LINES_MAX: u64 = 20;

/// Decides which long steps are told of.
#[derive(Debug)]
pub struct LongSteps {
    /// Microseconds; a step is long if it held a worker for more. 0: none is.
    bound_us: AtomicU64,
    /// The second that lines are counted in, by the caller's clock, and how many steps it has had.
    second: AtomicU64,
    steps: AtomicU64,
}

/// Those of the server.
pub static LONG_STEPS: LongSteps = LongSteps::new();

impl LongSteps {
    const fn new() -> Self {
        Self { bound_us: AtomicU64::new(0), second: AtomicU64::new(0), steps: AtomicU64::new(0) }
    }

    /// Steps that take longer are long from now on; 0: none is.
    pub fn set_bound_us(&self, bound_us: u64) {
        self.bound_us.store(bound_us, Ordering::Relaxed);
    }

    /// Whether a step is long.
    pub fn is_long(&self, held: Duration) -> bool {
        let bound_us = self.bound_us.load(Ordering::Relaxed);
        bound_us > 0 && held.as_micros() as u64 > bound_us
    }

    /// Whether to tell of a long step now; if so, how many have not been told of before it.
    pub fn tell(&self) -> Option<u64> {
        static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        self.tell_in(BEGAN.get_or_init(Instant::now).elapsed().as_secs())
    }

    /// The same in a second of the caller's. A line too many or too few where two threads begin a second together does no harm.
    fn tell_in(&self, second: u64) -> Option<u64> {
        let mut untold = 0;
        if self.second.swap(second, Ordering::Relaxed) != second {
            untold = self.steps.swap(0, Ordering::Relaxed).saturating_sub(LINES_MAX);
        }
        (self.steps.fetch_add(1, Ordering::Relaxed) < LINES_MAX).then_some(untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_lines_are_written_a_second() {
        let steps = LongSteps::new();
        assert!(!steps.is_long(Duration::from_secs(9)));
        steps.set_bound_us(2_000);
        assert!(!steps.is_long(Duration::from_micros(2_000)));
        assert!(steps.is_long(Duration::from_micros(2_001)));
        let told = (0..LINES_MAX + 5).filter_map(|_| steps.tell_in(1)).count();
        assert_eq!(told as u64, LINES_MAX);
        assert_eq!([steps.tell_in(2), steps.tell_in(2), steps.tell_in(3)], [Some(5), Some(0), Some(0)]);
    }
}
