//! `GROUP BY … LIMIT 10` without an order: any ten groups do, as long as all their rows are counted. The worker that has found so many first
//! chooses them; all others keep these alone, too, so that no table outgrows the caches and nothing else is merged or finished.

use std::sync::{Arc, OnceLock};

use squall_types::Result;

use super::groups::Groups;
use super::key_table::KeyTable;
use super::sink::Grouping;

/// More groups than these are not worth agreeing on.
const GROUPS_MAX: u64 = 4_096;

/// The groups of which the result is to be.
pub(crate) struct FewGroups {
    /// How many there are.
    pub(super) count: usize,
    /// Their keys, once a worker has found enough; `None` where a worker had put groups on disk before.
    chosen: OnceLock<Option<Box<dyn KeyTable>>>,
}

impl FewGroups {
    /// For an aggregation of which no more than `limit` groups are wanted; `None` where all are as soon made.
    pub(crate) fn new(limit: Option<u64>, grouping: &Grouping) -> Option<Arc<Self>> {
        let count = limit.filter(|limit| (1..=GROUPS_MAX).contains(limit) && !grouping.kind.is_small())? as usize;
        Some(Arc::new(Self { count, chosen: OnceLock::new() }))
    }

    /// Has no groups chosen any more, where none are yet: what goes to disk now could not be left out later.
    pub(super) fn give_up(&self) {
        let _ = self.chosen.set(None);
    }

    /// Makes a worker's groups begin with those that are chosen, its own where nobody has chosen before; whether any are.
    pub(super) fn put_first(&self, groups: &mut Groups, grouping: &Grouping) -> Result<bool> {
        if self.chosen.get().is_none() {
            if groups.len() < self.count {
                return Ok(false);
            }
            let own: Vec<u32> = (0..self.count as u32).collect();
            if self.chosen.set(Some(groups.table.part(&own)?)).is_ok() {
                return Ok(true);
            }
        }
        let Some(Some(chosen)) = self.chosen.get() else { return Ok(false) };
        let mut to = Vec::new();
        let mut sorted = Groups::new(grouping)?;
        sorted.table.merge(&**chosen, 0..self.count, &mut to)?;
        let mut before = std::mem::replace(groups, sorted);
        // A state for each of them, also of those of which no row has come here.
        for (states, others) in groups.accumulators.iter_mut().zip(&mut before.accumulators) {
            states.merge_range(&mut **others, 0, &[], self.count)?;
        }
        groups.add(before, &mut to)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt64Type;
    use squall_functions::GroupIds;
    use squall_types::{Column, DataType};

    use super::*;
    use crate::aggregate::bounds::Bounds;
    use crate::aggregate::key_table::KeyKind;

    fn grouping() -> Grouping {
        let key_types = vec![DataType::UInt64];
        let kind = KeyKind::of(&key_types, Bounds::default());
        Grouping {
            keys: Vec::new(),
            key_types,
            kind,
            calls: Vec::new(),
            existence: Some(0),
            with_totals: false,
            sets: None,
        }
    }

    /// Groups of these keys, each with a count.
    fn groups(keys: &[u64]) -> Groups {
        let mut groups = Groups::new(&grouping()).unwrap();
        let columns = [Column::from_primitive::<UInt64Type>(DataType::UInt64, keys.to_vec())];
        let mut scratch = Vec::new();
        let GroupIds::Each(ids) = groups.table.group_ids(&columns, keys.len(), &mut scratch).unwrap() else { panic!() };
        let count = groups.table.groups();
        groups.accumulators[0].update(GroupIds::Each(ids), count, &[], keys.len()).unwrap();
        groups
    }

    fn keys_and_counts(groups: Groups, most: usize) -> Vec<(u64, u64)> {
        let all = groups.len();
        let keys = groups.table.columns(0..all).unwrap().remove(0);
        let counts = groups.accumulators.into_iter().next().unwrap().finish(all).unwrap();
        let of = |column: &Column| column.as_primitive::<UInt64Type>().unwrap().values().to_vec();
        of(&keys).into_iter().zip(of(&counts)).take(most).collect()
    }

    #[test]
    fn all_workers_begin_with_the_groups_that_one_has_chosen() {
        let few = FewGroups::new(Some(3), &grouping()).unwrap();
        let (mut early, mut first, mut late, mut none) =
            (groups(&[9, 8]), groups(&[5, 6, 5, 7, 8]), groups(&[1, 7, 7, 2, 5]), groups(&[]));
        assert!(!few.put_first(&mut early, &grouping()).unwrap());
        for groups in [&mut first, &mut late, &mut early, &mut none] {
            assert!(few.put_first(groups, &grouping()).unwrap());
        }
        assert_eq!(keys_and_counts(first, 3), [(5, 2), (6, 1), (7, 1)]);
        assert_eq!(keys_and_counts(late, 3), [(5, 1), (6, 0), (7, 2)]);
        assert_eq!(keys_and_counts(early, 3), [(5, 0), (6, 0), (7, 0)]);
        assert_eq!(keys_and_counts(none, 3), [(5, 0), (6, 0), (7, 0)]);
        let given_up = FewGroups::new(Some(3), &grouping()).unwrap();
        given_up.give_up();
        assert!(!given_up.put_first(&mut groups(&[1, 2, 3, 4]), &grouping()).unwrap());
    }
}
