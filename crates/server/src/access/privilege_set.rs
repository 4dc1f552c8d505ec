//! Sets of privileges: what they hold, what two of them share, and how they are written.

use std::fmt;
use std::sync::LazyLock;

use super::privilege::{Level, Privilege};

/// 64 privileges a word.
const WORDS: usize = 4;

/// A set of privileges that are no groups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PrivilegeSet([u64; WORDS]);

impl PrivilegeSet {
    /// How many privileges there is room for.
    #[cfg(test)]
    pub(super) const CAPACITY: usize = 64 * WORDS;

    /// Every privilege.
    pub fn all() -> Self {
        Privilege::All.set()
    }

    /// Those that are at most about what `is` says.
    pub fn of_levels(is: impl Fn(Level) -> bool) -> Self {
        let mut set = Self::default();
        Self::all().iter().filter(|privilege| is(privilege.level())).for_each(|privilege| set.insert(privilege));
        set
    }

    /// Those that no more than so many names say what they are about.
    pub fn about_at_most(depth: usize) -> Self {
        static BY_DEPTH: LazyLock<[PrivilegeSet; 4]> =
            LazyLock::new(|| std::array::from_fn(|depth| PrivilegeSet::of_levels(|level| level.depth() <= depth)));
        BY_DEPTH.get(depth).copied().unwrap_or_else(Self::all)
    }

    /// Adds one.
    pub fn insert(&mut self, privilege: Privilege) {
        let number = privilege as usize;
        if let Some(word) = self.0.get_mut(number / 64) {
            *word |= 1 << (number % 64);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Whether all of `other` are in it.
    pub fn contains(&self, other: Self) -> bool {
        other.minus(*self).is_empty()
    }

    /// Whether one of `other` is in it.
    pub fn intersects(&self, other: Self) -> bool {
        !self.and(other).is_empty()
    }

    /// Those of either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] & other.0[at]))
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|at| self.0[at] & !other.0[at]))
    }

    /// The privileges, in ClickHouse's order.
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::EVERY.iter().copied().filter(move |privilege| {
            let number = *privilege as usize;
            self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
        })
    }

    /// The fewest names for them, groups where all of a group are there, in the order of the groups' tree.
    pub fn names(self) -> Vec<Privilege> {
        let mut names = Vec::new();
        self.add_names(Privilege::All, &mut names);
        names
    }

    fn add_names(self, within: Privilege, names: &mut Vec<Privilege>) {
        for child in Privilege::EVERY.iter().filter(|child| child.parent() == within && **child != within) {
            let set = child.set();
            if !set.is_empty() && self.contains(set) {
                names.push(*child);
            } else if self.intersects(set) {
                self.add_names(*child, names);
            }
        }
    }
}

impl FromIterator<Privilege> for PrivilegeSet {
    /// All that the privileges stand for.
    fn from_iter<I: IntoIterator<Item = Privilege>>(privileges: I) -> Self {
        privileges.into_iter().fold(Self::default(), |set, privilege| set.or(privilege.set()))
    }
}

impl fmt::Display for PrivilegeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names().into_iter().map(Privilege::name).collect();
        f.write_str(&names.join(", "))
    }
}

impl fmt::Debug for PrivilegeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
