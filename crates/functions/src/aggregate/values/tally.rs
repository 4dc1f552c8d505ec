//! How much there is of each key.

use hashbrown::HashMap;

/// Keys with a number each.
#[derive(Clone)]
pub(in crate::aggregate) struct Tally<K, N>(HashMap<K, N>);

impl<K, N> Default for Tally<K, N> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Copy + std::hash::Hash + Ord, N: Copy + Default> Tally<K, N> {
    /// The number of a key, which is 0 at first.
    #[inline]
    pub fn of(&mut self, key: K) -> &mut N {
        self.0.entry(key).or_default()
    }

    /// The number of a key that there is.
    pub fn get(&self, key: &K) -> Option<N> {
        self.0.get(key).copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (K, N)> {
        self.0.iter().map(|(key, number)| (*key, *number))
    }

    /// All of them, in the order of keys: sums of floats come out alike, and so do the bytes of states.
    pub fn sorted(&self) -> Vec<(K, N)> {
        let mut pairs: Vec<_> = self.iter().collect();
        pairs.sort_unstable_by_key(|(key, _)| *key);
        pairs
    }

    pub fn heap_bytes(&self) -> usize {
        // Tables are full to seven eighths, and have a byte more for each place.
        (self.0.capacity() + self.0.capacity() / 7) * (size_of::<(K, N)>() + 1)
    }
}
