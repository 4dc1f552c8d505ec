//! Bloom filters: bits that tell of a term whether it may have been added, by its hash.

use twox_hash::XxHash3_64;

/// The bits of a filter.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    bits: Vec<u8>,
    hashes: usize,
}

impl Filter {
    /// An empty one of so many bytes.
    pub(super) fn new(bytes: usize, hashes: usize) -> Self {
        Self { bits: vec![0; bytes.max(1)], hashes }
    }

    /// One of some terms that wrongly holds this share of others for added.
    pub(super) fn of(terms: &[u64], false_positives: f64) -> Self {
        let bits_per_term = -false_positives.ln() / std::f64::consts::LN_2.powi(2);
        let hashes = (bits_per_term * std::f64::consts::LN_2).round().clamp(1.0, 32.0) as usize;
        let bytes = (terms.len().max(1) as f64 * bits_per_term / 8.0).ceil() as usize;
        let mut filter = Self::new(bytes, hashes);
        terms.iter().for_each(|term| filter.add(*term));
        filter
    }

    pub(super) fn add(&mut self, term: u64) {
        for place in places(term, self.hashes, self.bits.len()) {
            if let Some(byte) = self.bits.get_mut(place / 8) {
                *byte |= 1 << (place % 8);
            }
        }
    }

    /// The filter's bytes: the number of hashes, then the bits.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        out.push(self.hashes as u8);
        out.extend_from_slice(&self.bits);
    }
}

/// Whether a term may have been added to the filter of these bytes.
pub(super) fn may_hold(filter: &[u8], term: u64) -> bool {
    let Some((hashes, bits)) = filter.split_first() else { return true };
    let has = |place: usize| bits.get(place / 8).is_none_or(|byte| byte & 1 << (place % 8) != 0);
    bits.is_empty() || places(term, usize::from(*hashes), bits.len()).all(has)
}

/// The bits of a term: as many as there are hashes, by two independent ones (Kirsch and Mitzenmacher, 2006).
fn places(term: u64, hashes: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let bits = (bytes * 8) as u64;
    let step = term.rotate_left(32).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..hashes as u64).map(move |number| (term.wrapping_add(number.wrapping_mul(step)) % bits) as usize)
}

/// The hash of a word.
pub(super) fn hash_of_word(word: &[u8], seed: u64) -> u64 {
    XxHash3_64::oneshot_with_seed(seed, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_hold_what_was_added_and_little_else() {
        let terms: Vec<u64> = (0..8192_u64).map(|term| XxHash3_64::oneshot(&term.to_le_bytes())).collect();
        let mut bytes = Vec::new();
        Filter::of(&terms, 0.025).append_to(&mut bytes);
        assert!(terms.iter().all(|term| may_hold(&bytes, *term)));
        let others = (10_000..110_000_u64).filter(|term| may_hold(&bytes, XxHash3_64::oneshot(&term.to_le_bytes())));
        assert!((1_500..4_000).contains(&others.count()));
        assert!(bytes.len() < 8192);
    }
}
