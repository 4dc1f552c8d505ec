//! A mutation as it is kept: what it does, in whose name, to which parts, and how far it is. It outlives the server that it was ordered
//! from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::merge_tree::PartName;

/// What a mutation does and in whose name, as text that lasts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MutationOrder {
    /// Its commands, each as ALTER TABLE has it.
    pub commands: Vec<String>,
    /// Whose rights it has; those of the server where it is nobody's.
    pub user: Option<String>,
    /// The current database.
    pub database: String,
    /// Settings that differ from what they are by default.
    pub settings: Vec<(String, String)>,
    /// The values of `{name:Type}`.
    pub parameters: Vec<(String, String)>,
    /// The ids of the partitions that it is about; all where there are none.
    pub partitions: Option<Vec<String>>,
}

/// Which parts a mutation is about: those of INSERTs that were there when it was ordered. Parts on different sides are not merged while it goes on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MutationFence {
    /// The first block that comes after it: its number, too.
    pub version: u64,
    /// Earlier blocks that were on their way then.
    pub excluded: Vec<u64>,
}

impl MutationFence {
    /// Whether a part is to be mutated.
    pub fn covers(&self, part: &str) -> bool {
        PartName::parse(part).is_some_and(|name| self.covers_name(&name))
    }

    pub(crate) fn covers_name(&self, name: &PartName) -> bool {
        let is_within = |block: &u64| (name.first_block..=name.last_block).contains(block);
        name.last_block < self.version && !self.excluded.iter().any(is_within)
    }
}

/// A mutation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredMutation {
    /// What it does.
    pub order: MutationOrder,
    /// To which parts.
    pub fence: Arc<MutationFence>,
    /// How many of its commands are done.
    pub commands_done: usize,
    /// When it was ordered, in seconds since 1970.
    pub created: u64,
    /// When it was done, if it is.
    pub finished: Option<u64>,
}

/// One more command of a mutation is done; recorded in the transaction of what the command has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MutationStep {
    /// The mutation.
    pub version: u64,
    /// When it was done, where this was its last command.
    pub finished: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutation_is_about_what_was_there() {
        let fence = MutationFence { version: 9, excluded: vec![5] };
        let covered = ["all_1_1_0", "all_1_4_3", "all_6_8_1", "all_5_5_0", "all_9_9_0", "all_10_12_2"];
        assert_eq!(covered.map(|name| fence.covers(name)), [true, true, true, false, false, false]);
    }
}
