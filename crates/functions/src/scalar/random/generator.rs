//! The generator: SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, 2014), a mix of a counter, so that
//! the numbers of a block do not wait for each other.

use std::cell::Cell;

const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sequence of random bits.
#[derive(Debug)]
pub(crate) struct Generator(u64);

impl Generator {
    /// A generator that goes on where this thread's last one would not come by.
    pub fn of_thread() -> Self {
        thread_local! {
            static SEED: Cell<u64> = Cell::new(rand::random());
        }
        SEED.with(|seed| {
            let next = mix(seed.get().wrapping_add(STEP));
            seed.set(next);
            Self(next)
        })
    }

    /// A generator whose numbers are always the same.
    pub fn from_number(number: u64) -> Self {
        Self(mix(number))
    }

    /// The generator of SplitMix64 as it is published, from this state on.
    pub fn from_state(state: u64) -> Self {
        Self(state)
    }

    /// A number below another that is not 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// The next 64 bits.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number from 0 to below 1.
    #[inline]
    pub fn canonical(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// So many numbers of 64 bits.
    pub fn numbers(&mut self, count: usize) -> Vec<u64> {
        let start = self.0;
        self.0 = start.wrapping_add(STEP.wrapping_mul(count as u64));
        (1..=count as u64).map(|at| mix(start.wrapping_add(STEP.wrapping_mul(at)))).collect()
    }

    /// So many numbers of 32 bits.
    pub fn halves(&mut self, count: usize) -> Vec<u32> {
        let mut halves = Vec::with_capacity(count + 1);
        let pairs = count.div_ceil(2);
        let start = self.0;
        self.0 = start.wrapping_add(STEP.wrapping_mul(pairs as u64));
        for at in 1..=pairs as u64 {
            let bits = mix(start.wrapping_add(STEP.wrapping_mul(at)));
            halves.extend([bits as u32, (bits >> 32) as u32]);
        }
        halves.truncate(count);
        halves
    }
}

#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
