//! PCG with 128 bits of state (O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms*, 2014): its numbers
//! are what users see of a seed.

/// A generator.
pub(super) struct Pcg64(u128);

const MULTIPLIER: u128 = 2_549_297_995_355_413_924 << 64 | 4_865_540_595_714_422_341;
const INCREMENT: u128 = 6_364_136_223_846_793_005 << 64 | 1_442_695_040_888_963_407;

impl Pcg64 {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        let mut generator = Self(u128::from(seed).wrapping_add(INCREMENT));
        generator.step();
        generator
    }

    fn step(&mut self) {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.step();
        ((self.0 >> 64) as u64 ^ self.0 as u64).rotate_right((self.0 >> 122) as u32)
    }

    /// The rest of the next number after a division.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Puts values into another order, as the C++ library of LLVM does.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in 0..values.len().saturating_sub(1) {
            let left = (values.len() - at) as u64;
            // Bits until the number is one of those that are left.
            let mask = left.next_power_of_two() - 1;
            let chosen = std::iter::repeat_with(|| self.next() & mask).find(|number| *number < left);
            values.swap(at, at + chosen.unwrap_or(0) as usize);
        }
    }
}
