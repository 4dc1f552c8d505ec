//! Large sets in parts: a set of hashed values is in one piece while it is small, and from a certain size on cut by the highest bits of
//! the hashes into many parts. Then no table that grows is large, and the sets of several workers are merged part by part, by any worker.

use squall_types::{Result, checkpoint};

use crate::accumulator::CUT_PARTS;

/// A set with more values is cut.
const WHOLE_MAX: usize = 1 << 17;

/// Values that are told apart by their hashes.
pub(in crate::aggregate) trait Part: Default + Clone {
    /// The number of values, copies among them where these are not told apart yet.
    fn len(&self) -> usize;

    /// Adds the values of another.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, and those of a checkpoint.
    fn merge(&mut self, other: Self) -> Result<()>;

    /// Bytes held.
    fn memory_bytes(&self) -> usize;
}

/// A set that can be cut.
pub(in crate::aggregate) trait Whole: Part {
    /// What it is cut into.
    type Cut: Part;

    /// Moves each value to the part of its hash, [`part_of`], of [`CUT_PARTS`].
    fn scatter(self, parts: &mut [Self::Cut]);
}

/// The one of [`CUT_PARTS`] that a hash belongs to.
#[inline]
pub(in crate::aggregate) fn part_of(hash: u64) -> usize {
    (hash >> (u64::BITS - CUT_PARTS.trailing_zeros())) as usize
}

/// A set that is cut where it is large.
#[derive(Clone, Debug)]
pub(in crate::aggregate) enum Parted<S: Whole> {
    /// One set of all values.
    Whole(S),
    /// As many as [`CUT_PARTS`]; or one of them alone, which is merged with its like.
    Parts(Vec<S::Cut>),
}

impl<S: Whole> Default for Parted<S> {
    fn default() -> Self {
        Self::Whole(S::default())
    }
}

impl<S: Whole> Parted<S> {
    /// The number of values, as the parts count them.
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(whole) => whole.len(),
            Self::Parts(parts) => parts.iter().map(S::Cut::len).sum(),
        }
    }

    /// Whether it is cut already.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Parts(_))
    }

    /// Cuts the set if it has become large.
    #[inline]
    pub fn cut_if_large(&mut self) {
        if let Self::Whole(whole) = self
            && whole.len() > WHOLE_MAX
        {
            self.cut();
        }
    }

    #[cold]
    fn cut(&mut self) {
        *self = Self::Parts(std::mem::take(self).into_parts());
    }

    /// The values as [`CUT_PARTS`] sets.
    pub fn into_parts(self) -> Vec<S::Cut> {
        match self {
            Self::Whole(whole) => {
                let mut parts = vec![S::Cut::default(); CUT_PARTS];
                if whole.len() > 0 {
                    whole.scatter(&mut parts);
                }
                parts
            }
            Self::Parts(parts) => parts,
        }
    }

    /// Adds the values of another set.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, and those of a checkpoint.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        match (&mut *self, other) {
            (Self::Whole(whole), Self::Whole(other)) => {
                whole.merge(other)?;
                self.cut_if_large();
            }
            (_, other) => {
                if !self.is_cut() {
                    self.cut();
                }
                if let Self::Parts(parts) = self {
                    for (part, other) in parts.iter_mut().zip(other.into_parts()) {
                        checkpoint(64)?;
                        part.merge(other)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes parts out, one after the other, until they have at least `values` values together or none is left.
    pub fn take_parts(&mut self, values: usize) -> Vec<S::Cut> {
        let mut taken = Vec::new();
        if let Self::Parts(parts) = self {
            let mut count = 0;
            while count < values
                && let Some(part) = parts.pop()
            {
                count += part.len();
                taken.push(part);
            }
        }
        taken
    }

    /// Whether nothing is left to be taken.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.len() == 0,
            Self::Parts(parts) => parts.is_empty(),
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Whole(whole) => whole.memory_bytes(),
            Self::Parts(parts) => {
                parts.capacity() * size_of::<S::Cut>() + parts.iter().map(S::Cut::memory_bytes).sum::<usize>()
            }
        }
    }
}
