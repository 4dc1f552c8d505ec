//! The name of a part: its partition, the first and the last block in it, and how often its rows were merged.

use std::fmt;
use std::sync::Arc;

/// `202611_1_16_1`: as ClickHouse names parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PartName {
    pub(crate) partition_id: Arc<str>,
    pub(crate) first_block: u64,
    pub(crate) last_block: u64,
    pub(crate) level: u32,
}

impl PartName {
    /// The name of a part that an INSERT makes.
    pub(crate) fn of_insert(partition_id: &Arc<str>, block: u64) -> Self {
        Self { partition_id: partition_id.clone(), first_block: block, last_block: block, level: 0 }
    }

    /// Reads a name; `None` where the text is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.rsplitn(4, '_');
        let level = words.next()?.parse().ok()?;
        let last_block = words.next()?.parse().ok()?;
        let first_block = words.next()?.parse().ok()?;
        Some(Self { partition_id: words.next()?.into(), first_block, last_block, level })
    }

    /// Whether it is of a part that no merge made.
    pub(crate) fn is_of_insert(&self) -> bool {
        self.level == 0
    }

    /// Whether a part of this name was made of one of the other name, among others.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.partition_id == other.partition_id
            && self.first_block <= other.first_block
            && self.last_block >= other.last_block
            && self.level > other.level
    }

    /// Whether parts of these names have blocks in common, as far as the names tell.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.partition_id == other.partition_id
            && self.first_block <= other.last_block
            && other.first_block <= self.last_block
    }

    /// The name of the part that merging parts of these names makes; `None` where they are not of one partition.
    pub(crate) fn merged(names: &[Self]) -> Option<Self> {
        let first = names.first()?;
        names.iter().all(|name| name.partition_id == first.partition_id).then(|| Self {
            partition_id: first.partition_id.clone(),
            first_block: names.iter().map(|name| name.first_block).min().unwrap_or(first.first_block),
            last_block: names.iter().map(|name| name.last_block).max().unwrap_or(first.last_block),
            level: names.iter().map(|name| name.level).max().unwrap_or(0) + 1,
        })
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}_{}", self.partition_id, self.first_block, self.last_block, self.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_merged() {
        let names: Vec<PartName> =
            ["a_b_3_3_0", "a_b_1_2_4"].iter().map(|name| PartName::parse(name).unwrap()).collect();
        assert_eq!(names[0], PartName::of_insert(&"a_b".into(), 3));
        assert_eq!(PartName::merged(&names).unwrap().to_string(), "a_b_1_3_5");
        let other = PartName::of_insert(&"c".into(), 4);
        assert_eq!(PartName::merged(&[names[0].clone(), other]), None);
        assert_eq!(PartName::parse("all_1_1"), None);
        let merged = PartName::merged(&names).unwrap();
        assert!(names.iter().all(|name| merged.covers(name) && !name.covers(&merged)) && !merged.covers(&merged));
    }
}
