//! New inputs of old ones: bits, bytes and numbers changed, pieces cut, repeated and taken from others, words put in.

/// A small generator of random numbers, the same on every run.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// One that begins with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below a limit; 0 where there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit.max(1) as u64) as usize
    }
}

/// Inputs grow no longer.
const BYTES_MAX: usize = 1 << 14;
/// Numbers at which something changes.
const NUMBERS: [u64; 12] =
    [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, i64::MAX as u64, u64::MAX];

/// An input made of one of `corpus`, with pieces of others.
pub fn mutate(random: &mut Random, corpus: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let pick = |random: &mut Random| corpus.get(random.below(corpus.len())).cloned().unwrap_or_default();
    let mut bytes = pick(random);
    for _ in 0..=random.below(5) {
        let at = random.below(bytes.len() + 1);
        let length = 1 + random.below(bytes.len().saturating_sub(at).min(64));
        let piece = at.min(bytes.len())..(at + length).min(bytes.len());
        match random.below(10) {
            0 => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << (random.number() % 8)),
            1 => bytes.get_mut(at).into_iter().for_each(|byte| *byte = random.number() as u8),
            2 => drop(bytes.drain(piece)),
            3 => {
                let copy = bytes.get(piece).unwrap_or_default().repeat(1 + random.below(8));
                bytes.splice(at..at, copy);
            }
            4 => {
                let number = NUMBERS[random.below(NUMBERS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
                for (byte, new) in bytes.iter_mut().skip(at).zip(&number[..width]) {
                    *byte = *new;
                }
            }
            5 => drop(bytes.splice(at..at, random.number().to_le_bytes().into_iter().take(1 + random.below(8)))),
            6 | 7 if !words.is_empty() => {
                let word = words[random.below(words.len())];
                drop(bytes.splice(at..at, word.bytes()));
            }
            8 => {
                let number = NUMBERS[random.below(NUMBERS.len())].wrapping_add(random.number() % 3).to_string();
                drop(bytes.splice(at..at, number.into_bytes()));
            }
            _ => {
                let other = pick(random);
                let from = random.below(other.len());
                let taken = random.below(other.len() - from + 1);
                bytes.splice(piece, other.get(from..from + taken).unwrap_or_default().iter().copied());
            }
        }
        bytes.truncate(BYTES_MAX);
    }
    bytes
}
