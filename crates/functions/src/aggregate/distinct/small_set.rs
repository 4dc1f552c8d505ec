//! The state of functions that tell values apart, made for very many groups with few values each: some keys lie in the state itself, without
//! any memory of their own, and only more make what the function keeps of many.

use squall_types::Result;

use super::hash_set::SetKey;

/// What a function keeps of many keys.
pub(in crate::aggregate) trait ManyKeys<K>: Default {
    /// Adds a key.
    fn insert(&mut self, key: K);
}

/// Distinct keys, or what is kept of them.
#[derive(Clone, Debug)]
pub(in crate::aggregate) enum SmallSet<K: SetKey, M> {
    /// The first `count` of these.
    Few {
        keys: K::Few,
        count: u8,
    },
    Many(Box<M>),
}

impl<K: SetKey, M> Default for SmallSet<K, M> {
    fn default() -> Self {
        Self::Few { keys: K::Few::default(), count: 0 }
    }
}

impl<K: SetKey, M: ManyKeys<K>> SmallSet<K, M> {
    /// Adds a key.
    #[inline]
    pub fn insert(&mut self, key: K) {
        match self {
            Self::Few { keys, count } => {
                let keys = keys.as_mut();
                let known = usize::from(*count).min(keys.len());
                if keys[..known].contains(&key) {
                    return;
                }
                match keys.get_mut(known) {
                    Some(free) => {
                        *free = key;
                        *count += 1;
                    }
                    None => self.many().insert(key),
                }
            }
            Self::Many(many) => many.insert(key),
        }
    }

    /// The keys as many, whatever they were.
    #[cold]
    pub fn many(&mut self) -> &mut M {
        if let Self::Few { .. } = self {
            let mut many = Box::<M>::default();
            self.few().iter().for_each(|key| many.insert(*key));
            *self = Self::Many(many);
        }
        match self {
            Self::Many(many) => many,
            Self::Few { .. } => unreachable!("they have just been made many"),
        }
    }

    /// The keys, where they are few.
    pub fn few(&self) -> &[K] {
        match self {
            Self::Few { keys, count } => &keys.as_ref()[..usize::from(*count)],
            Self::Many(_) => &[],
        }
    }

    /// Adds what another has; `merge` does so where both have many.
    ///
    /// # Errors
    /// Those of `merge`.
    pub fn merge(&mut self, mut other: Self, merge: impl FnOnce(&mut M, M) -> Result<()>) -> Result<()> {
        if let (Self::Few { .. }, Self::Many(_)) = (&*self, &other) {
            std::mem::swap(self, &mut other);
        }
        match (&mut *self, other) {
            (Self::Many(many), Self::Many(other)) => merge(many, *other),
            (_, few) => {
                few.few().iter().for_each(|key| self.insert(*key));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    impl ManyKeys<u64> for BTreeSet<u64> {
        fn insert(&mut self, key: u64) {
            self.insert(key);
        }
    }

    #[test]
    fn few_become_many_and_sets_are_united() {
        let set = |keys: std::ops::Range<u64>| {
            let mut set = SmallSet::<u64, BTreeSet<u64>>::default();
            keys.clone().chain(keys).for_each(|key| set.insert(key));
            set
        };
        assert_eq!(size_of::<SmallSet<u64, BTreeSet<u64>>>(), 32);
        assert_eq!(set(0..3).few(), [0, 1, 2]);
        assert!(set(0..4).few().is_empty());
        for (left, right) in [(0..2, 1..3), (0..2, 5..9), (0..9, 7..8), (0..9, 3..20), (0..0, 0..1)] {
            let mut united = set(left.clone());
            let append = |many: &mut BTreeSet<u64>, mut other| {
                many.append(&mut other);
                Ok(())
            };
            united.merge(set(right.clone()), append).unwrap();
            assert_eq!(*united.many(), left.chain(right).collect());
        }
    }
}
