//! How much there is of each key.

use hashbrown::HashMap;

/// So few keys are a list that is looked through: of very many groups with few keys each, each costs one allocation that is not much larger than the
/// keys.
const FEW: usize = 32;

/// Keys with a number each.
#[derive(Clone)]
pub(in crate::aggregate) enum Tally<K, N> {
    Few(Vec<(K, N)>),
    Many(HashMap<K, N>),
}

impl<K, N> Default for Tally<K, N> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<K: Copy + std::hash::Hash + Ord, N: Copy + Default> Tally<K, N> {
    /// The number of a key, which is 0 at first.
    #[inline]
    pub fn of(&mut self, key: K) -> &mut N {
        if let Self::Few(list) = self
            && list.len() == FEW
            && list.iter().all(|(known, _)| *known != key)
        {
            *self = Self::Many(list.drain(..).collect());
        }
        match self {
            Self::Few(list) => {
                let at = list.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                    list.push((key, N::default()));
                    list.len() - 1
                });
                &mut list[at].1
            }
            Self::Many(map) => map.entry(key).or_default(),
        }
    }

    /// The number of a key that there is.
    pub fn get(&self, key: &K) -> Option<N> {
        match self {
            Self::Few(list) => list.iter().find(|(known, _)| known == key).map(|(_, number)| *number),
            Self::Many(map) => map.get(key).copied(),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Few(list) => list.len(),
            Self::Many(map) => map.len(),
        }
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (K, N)> {
        let (list, map) = match self {
            Self::Few(list) => (Some(list.iter().copied()), None),
            Self::Many(map) => (None, Some(map.iter().map(|(key, number)| (*key, *number)))),
        };
        list.into_iter().flatten().chain(map.into_iter().flatten())
    }

    /// All of them, in the order of keys: sums of floats come out alike, and so do the bytes of states.
    pub fn sorted(&self) -> Vec<(K, N)> {
        let mut pairs: Vec<_> = self.iter().collect();
        pairs.sort_unstable_by_key(|(key, _)| *key);
        pairs
    }

    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Few(list) => list.capacity() * size_of::<(K, N)>(),
            // Tables are full to seven eighths, and have a byte more for each place.
            Self::Many(map) => (map.capacity() + map.capacity() / 7) * (size_of::<(K, N)>() + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_become_many() {
        for keys in [1, FEW, FEW + 1, 10 * FEW] {
            let mut tally = Tally::<u64, u64>::default();
            (0..3 * keys as u64).for_each(|number| *tally.of(number % keys as u64) += number);
            assert_eq!(matches!(tally, Tally::Few(_)), keys <= FEW);
            let expected: Vec<(u64, u64)> = (0..keys as u64).map(|key| (key, 3 * key + 3 * keys as u64)).collect();
            assert_eq!((tally.sorted(), tally.len(), tally.get(&0)), (expected, keys, Some(3 * keys as u64)));
            assert_eq!(tally.get(&(keys as u64)), None);
        }
    }
}
