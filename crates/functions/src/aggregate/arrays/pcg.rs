//! The random numbers of samples: PCG-32 over a multiplicative congruential generator, whose state is part of what clients see.
//! (O'Neill, *PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms*, 2014.)

use squall_types::{Error, ErrorCode, Result};

/// A generator.
#[derive(Clone, Copy, Debug)]
pub(in crate::aggregate) struct Pcg {
    state: u64,
}

const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

impl Pcg {
    /// The generator that begins with this number.
    pub fn new(begin: u64) -> Self {
        // The period is full for odd states; the second lowest bit is set by convention.
        Self { state: begin | 3 }
    }

    /// 32 random bits.
    fn next(&mut self) -> u32 {
        let before = self.state;
        self.state = before.wrapping_mul(MULTIPLIER);
        ((before ^ (before >> 22)) >> (22 + (before >> 61))) as u32
    }

    /// A random number below a limit: of 32 bits where they suffice, otherwise of 64.
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        match u32::try_from(limit) {
            Ok(limit) => u64::from(self.next() % limit),
            Err(_) => ((u64::from(self.next()) << 32) | u64::from(self.next())) % limit,
        }
    }

    /// The state as text: multiplier, increment and state.
    pub fn text(self) -> String {
        format!("{MULTIPLIER} 0 {}", self.state)
    }

    /// The state that [`text`](Self::text) wrote.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let wrong = || Error::new(ErrorCode::INCORRECT_DATA, "A state of random numbers that cannot be read");
        let text = std::str::from_utf8(text).map_err(|_| wrong())?;
        let mut numbers = text.split(' ').map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(MULTIPLIER)), Some(Ok(0)), Some(Ok(state)), None) => Ok(Self { state }),
            _ => Err(wrong()),
        }
    }
}
