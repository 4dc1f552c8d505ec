//! PCG-64 (O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms*, 2014): what makes a seed mean the
//! same random rows as in ClickHouse.

/// A generator: a linear congruential one of 128 bits, of whose state 64 bits are shown, folded and rotated.
#[derive(Clone, Debug)]
pub(super) struct Pcg64 {
    state: u128,
}

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
const INCREMENT: u128 = 0x5851_F42D_4C95_7F2D_1405_7B7E_F767_814F;

impl Pcg64 {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        let mut generator = Self { state: u128::from(seed).wrapping_add(INCREMENT) };
        generator.step();
        generator
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
    }

    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }
}
