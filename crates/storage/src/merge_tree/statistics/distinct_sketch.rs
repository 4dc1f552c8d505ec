//! How many different values there are: a HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, 2007) of 256 registers, which is off by some 6 %.
//! Sketches of parts unite to the one of all their rows.

use squall_types::binary::put_varint;

use crate::merge_tree::parts::part_description::Decoder;

/// Bits of a hash that choose the register.
const BITS: u32 = 8;
const REGISTERS: usize = 1 << BITS;
/// The largest rank: all bits of a hash that do not choose the register are zero.
const RANK_MAX: u8 = (64 - BITS + 1) as u8;
/// Bytes of a sketch whose registers lie one after the other, 6 bits each.
const PACKED_BYTES: usize = REGISTERS * 6 / 8;

/// A sketch of hashes, which must be spread well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::merge_tree) struct DistinctSketch([u8; REGISTERS]);

impl Default for DistinctSketch {
    fn default() -> Self {
        Self([0; REGISTERS])
    }
}

impl DistinctSketch {
    /// Adds a value by its hash.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        let register = &mut self.0[(hash >> (64 - BITS)) as usize];
        // A bit behind those that count ends the zeros.
        let rank = (hash << BITS | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        *register = rank.max(*register);
    }

    /// Adds the values of another one.
    pub fn unite(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(register, other)| *register = other.max(*register));
    }

    /// About how many different values were added (Ertl, 2017, "New cardinality estimation algorithms for HyperLogLog sketches": the same formula from one
    /// value to very many).
    pub fn estimate(&self) -> f64 {
        let mut counts = [0_u32; RANK_MAX as usize + 1];
        self.0.iter().for_each(|rank| counts[usize::from((*rank).min(RANK_MAX))] += 1);
        let all = REGISTERS as f64;
        let [empty, ranks @ .., full] = &counts;
        let mut sum = all * tau(1.0 - f64::from(*full) / all);
        for count in ranks.iter().rev() {
            sum = 0.5 * (sum + f64::from(*count));
        }
        sum += all * sigma(f64::from(*empty) / all);
        all * all / (2.0 * std::f64::consts::LN_2) / sum
    }

    /// Appends the sketch: the registers that are not empty, where they are few.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let used = self.0.iter().filter(|rank| **rank > 0).count();
        put_varint(used as u64, out);
        if used * 2 < PACKED_BYTES {
            let pairs = self.0.iter().enumerate().filter(|(_, rank)| **rank > 0);
            pairs.for_each(|(register, rank)| out.extend([register as u8, *rank]));
            return;
        }
        for four in self.0.as_chunks::<4>().0 {
            let bits = four.iter().rev().fold(0_u32, |bits, rank| bits << 6 | u32::from(*rank));
            out.extend_from_slice(&bits.to_le_bytes()[..3]);
        }
    }

    /// Reads what [`encode`](Self::encode) has written; `None` where it is something else.
    pub fn decode(input: &mut Decoder<'_>) -> Option<Self> {
        let used = usize::try_from(input.number()?).ok().filter(|used| *used <= REGISTERS)?;
        let mut sketch = Self::default();
        if used * 2 < PACKED_BYTES {
            for _ in 0..used {
                let register = usize::from(input.byte()?);
                sketch.0[register] = input.byte().filter(|rank| *rank <= RANK_MAX)?;
            }
            return Some(sketch);
        }
        let packed = input.bytes(PACKED_BYTES)?.as_chunks::<3>().0;
        for (four, bytes) in sketch.0.as_chunks_mut::<4>().0.iter_mut().zip(packed) {
            let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
            for (at, rank) in four.iter_mut().enumerate() {
                *rank = ((bits >> (6 * at)) as u8 & 63).min(RANK_MAX);
            }
        }
        Some(sketch)
    }
}

fn sigma(mut x: f64) -> f64 {
    if x >= 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z <= before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x).powi(2) * y;
        if z >= before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash3_64;

    use super::*;

    fn of(values: std::ops::Range<u64>) -> DistinctSketch {
        let mut sketch = DistinctSketch::default();
        values.for_each(|value| sketch.add(XxHash3_64::oneshot(&value.to_le_bytes())));
        sketch
    }

    #[test]
    fn estimates_are_near() {
        assert_eq!(of(0..0).estimate(), 0.0);
        for count in [1, 10, 100, 300, 600, 1_000, 2_000, 10_000, 1_000_000] {
            let estimate = of(0..count).estimate();
            let error = estimate / count as f64;
            assert!((0.8..1.25).contains(&error), "{estimate} for {count}");
        }
    }

    #[test]
    fn parts_unite_and_come_back() {
        for (left, right) in [(0..0, 0..3), (0..50, 25..80), (0..5_000, 4_000..9_000), (0..100, 0..100_000)] {
            let mut united = of(left.clone());
            united.unite(&of(right.clone()));
            assert_eq!(united, of(0..right.end));
            let mut bytes = Vec::new();
            united.encode(&mut bytes);
            assert!(bytes.len() <= PACKED_BYTES + 2);
            assert_eq!(DistinctSketch::decode(&mut Decoder::new(&bytes)), Some(united));
            let is_refused = |end: usize| DistinctSketch::decode(&mut Decoder::new(&bytes[..end])).is_none();
            assert!((0..bytes.len()).all(is_refused));
        }
    }
}
