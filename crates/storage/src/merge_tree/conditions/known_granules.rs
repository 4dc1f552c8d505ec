//! What a part knows of a condition: which of its granules hold no row that meets it.

use std::sync::atomic::AtomicBool;

/// What a part knows of a condition.
#[derive(Debug, Default)]
pub(super) struct KnownGranules {
    /// A bit is set where no row of the granule meets it.
    without: Vec<u64>,
    granules: usize,
    /// Whether so many granules hold a match that nobody need find out more.
    pub is_useless: bool,
    /// Whether somebody asked since it was last passed over.
    pub was_used: AtomicBool,
}

impl KnownGranules {
    /// What a scan has found: granules for which `is_without` holds have no match.
    pub(super) fn new(granules: usize, is_without: impl Fn(usize) -> bool, is_useless: bool) -> Self {
        let mut without = vec![0; granules.div_ceil(64)];
        for granule in (0..granules).filter(|granule| is_without(*granule)) {
            without[granule / 64] |= 1 << (granule % 64);
        }
        Self { without, granules, is_useless, was_used: AtomicBool::new(false) }
    }

    /// What both know.
    pub(super) fn and(&self, other: &Self) -> Self {
        let is_useless = self.is_useless && other.is_useless;
        Self::new(self.granules, |granule| self.is_without(granule) || other.is_without(granule), is_useless)
    }

    /// Whether no row of a granule meets the condition.
    pub(super) fn is_without(&self, granule: usize) -> bool {
        self.without.get(granule / 64).is_some_and(|bits| bits >> (granule % 64) & 1 == 1)
    }

    /// Whether there is such a granule.
    pub(super) fn has_any(&self) -> bool {
        self.without.iter().any(|bits| *bits != 0)
    }

    /// A `1` for each granule that may hold a match, and a `0` for each that does not.
    pub(super) fn marks(&self) -> String {
        (0..self.granules).map(|granule| if self.is_without(granule) { '0' } else { '1' }).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.without.capacity() * size_of::<u64>()
    }
}
