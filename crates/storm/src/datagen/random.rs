//! The random numbers behind the generated data: a generator whose stream never changes, weighted choice, and heavy tails.
//! Nothing here depends on a library's version or on the platform's mathematics (only IEEE multiplication, division and
//! square root are used), so one seed gives the same bytes everywhere and for ever.

/// The 64-bit finalizer of SplitMix64 (Steele, Lea, Flood: *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014).
/// A bijection that turns related inputs into unrelated outputs.
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// [`mix`] of two values: the attribute of thing `value` in the universe `key`.
#[inline]
pub fn mix2(key: u64, value: u64) -> u64 {
    mix(key ^ mix(value))
}

/// A 64-bit hash of bytes, eight at a time; its length counts too. The same bytes have the same hash on every platform.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = mix(bytes.len() as u64);
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    mix(hash ^ u64::from_le_bytes(last))
}

/// xoshiro256++ 1.0 (Blackman and Vigna, *Scrambled Linear Pseudorandom Number Generators*, 2019), seeded through SplitMix64 as
/// its authors advise.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream number `stream` of the seed `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let key = mix2(seed, stream);
        Random { state: [mix(key), mix(key ^ 1), mix(key ^ 2), mix(key ^ 3)] }
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c1, d1) = (c ^ a, d ^ b);
        self.state = [a ^ d1, b ^ c1, c1 ^ (b << 17), d1.rotate_left(45)];
        out
    }

    /// A number in `0..bound` (0 if `bound` is 0). The bias, under `bound / 2^64`, does not matter here.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in `low..=high`.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }

    /// A number in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True `per_million` times in a million.
    #[inline]
    pub fn chance(&mut self, per_million: u64) -> bool {
        self.below(1_000_000) < per_million
    }

    /// A value at least `floor`, with median `floor + scale` and a tail that falls with the square (the ratio of two uniform
    /// chances), cut at `ceiling`: waiting times, lengths of visits.
    #[inline]
    pub fn long_tail(&mut self, floor: f64, scale: f64, ceiling: f64) -> f64 {
        let x = self.unit();
        (floor + scale * x / (1.0 - x)).min(ceiling)
    }
}

/// Draws one of a few values with given integer weights in constant time (Vose's alias method).
#[derive(Debug, Clone)]
pub struct Weighted<T> {
    /// For each slot: its own value, the alias, and the chance (of 2^32) that its own is taken.
    slots: Box<[(T, T, u64)]>,
}

impl<T: Copy> Weighted<T> {
    /// `choices` are (value, weight); at least one weight must be above zero.
    pub fn new(choices: &[(T, u64)]) -> Self {
        let total: u64 = choices.iter().map(|choice| choice.1).sum();
        let count = choices.len() as u64;
        // Weights scaled so that the average slot holds exactly `total`.
        let mut left: Vec<u64> = choices.iter().map(|choice| choice.1 * count).collect();
        let mut slots: Vec<(T, T, u64)> = choices.iter().map(|&(value, _)| (value, value, 1 << 32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..choices.len()).partition(|&i| left[i] < total);
        while let (Some(under), Some(&over)) = (small.pop(), large.last()) {
            slots[under].1 = choices[over].0;
            slots[under].2 = ((u128::from(left[under]) << 32) / u128::from(total)) as u64;
            left[over] -= total - left[under];
            if left[over] < total {
                large.pop();
                small.push(over);
            }
        }
        Weighted { slots: slots.into() }
    }

    /// Draws a value.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> T {
        let bits = random.bits();
        let slot = ((bits >> 32) * self.slots.len() as u64) >> 32;
        let (own, alias, chance) = self.slots[slot as usize];
        if (bits & 0xFFFF_FFFF) < chance { own } else { alias }
    }
}

/// Draws ranks `0..count` of things whose popularity falls as `(rank + head)^-1.25`: a few are everywhere, most are seen once.
/// The larger `head`, the flatter the beginning.
#[derive(Debug, Clone)]
pub struct HeavyTail {
    head: f64,
    count: u64,
    /// The distribution function at `count`, which makes the tail end there.
    mass: f64,
}

impl HeavyTail {
    /// `count` things; the first ones' popularity is levelled over about `head` ranks.
    pub fn new(count: u64, head: f64) -> Self {
        let ratio = 1.0 + count as f64 / head;
        HeavyTail { head, count, mass: 1.0 - 1.0 / ratio.sqrt().sqrt() }
    }

    /// Draws a rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let root = 1.0 / (1.0 - random.unit() * self.mass);
        let square = root * root;
        let rank = self.head * (square * square - 1.0);
        (rank as u64).min(self.count.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_is_fixed() {
        // Any change here changes everybody's data.
        let mut random = Random::new(42, 7);
        let drawn: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(drawn, [729_264_506_657_626_706, 10_058_597_363_636_752_554, 9_083_669_452_944_684_282]);
    }

    #[test]
    fn weighted_follows_its_weights() {
        let choice = Weighted::new(&[('a', 70), ('b', 20), ('c', 10), ('d', 0)]);
        let mut random = Random::new(1, 1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..100_000 {
            *seen.entry(choice.draw(&mut random)).or_insert(0u32) += 1;
        }
        assert!((69_000..71_000).contains(&seen[&'a']));
        assert!((19_000..21_000).contains(&seen[&'b']));
        assert!((9_000..11_000).contains(&seen[&'c']));
        assert!(!seen.contains_key(&'d'));
    }

    #[test]
    fn heavy_tail_stays_in_range_and_favours_low_ranks() {
        let tail = HeavyTail::new(1_000, 2.0);
        let mut random = Random::new(1, 2);
        let mut seen = vec![0u32; 1_000];
        for _ in 0..100_000 {
            seen[tail.draw(&mut random) as usize] += 1;
        }
        assert!(seen[0] > 5_000 && seen[0] > 10 * seen[100] && seen.iter().skip(900).sum::<u32>() > 0);
    }
}
