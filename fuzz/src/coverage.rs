//! Which branches an input took, where the program was built with counters at them (`instrument.sh`, on any stable compiler): inputs that take new
//! ones are worth changing further.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

/// The counters of each part of the program: where they begin, and how many there are.
static COUNTERS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// Called by instrumented code before `main`.
///
/// # Safety
/// The bytes between both are counters that live as long as the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sanitizer_cov_8bit_counters_init(start: *mut u8, stop: *mut u8) {
    if let Ok(mut counters) = COUNTERS.lock()
        && !counters.iter().any(|(known, _)| *known == start as usize)
    {
        counters.push((start as usize, stop as usize - start as usize));
    }
}

/// What was seen of the counters so far.
#[derive(Debug, Default)]
pub struct Coverage {
    seen: Vec<u8>,
    /// Branches that were taken.
    pub branches: usize,
}

impl Coverage {
    /// Whether the program counts anything.
    pub fn is_there() -> bool {
        COUNTERS.lock().is_ok_and(|counters| !counters.is_empty())
    }

    /// Takes what was counted since the last time; whether any of it is new.
    pub fn take(&mut self) -> bool {
        let Ok(counters) = COUNTERS.lock() else { return false };
        let mut first = 0;
        let mut is_new = false;
        for (start, length) in &*counters {
            if self.seen.len() < first + length {
                self.seen.resize(first + length, 0);
            }
            // SAFETY: what the instrumented code said when it began; other threads of it may count too, hence atomics.
            let counters = unsafe { std::slice::from_raw_parts(*start as *const AtomicU8, *length) };
            // Nearly all are zero, so eight are looked at at once.
            for (at, eight) in counters.chunks(8).enumerate() {
                if eight.iter().fold(0, |any, counter| any | counter.load(Ordering::Relaxed)) == 0 {
                    continue;
                }
                for (within, counter) in eight.iter().enumerate() {
                    let count = counter.swap(0, Ordering::Relaxed);
                    // Once, twice, some times, many times.
                    let class = match count {
                        0 => continue,
                        1 => 1,
                        2..=3 => 2,
                        4..=31 => 4,
                        _ => 8,
                    };
                    if let Some(seen) = self.seen.get_mut(first + at * 8 + within)
                        && *seen & class == 0
                    {
                        self.branches += usize::from(*seen == 0);
                        *seen |= class;
                        is_new = true;
                    }
                }
            }
            first += length;
        }
        is_new
    }
}
