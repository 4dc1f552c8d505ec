//! `GROUP BY … LIMIT 10` without an order: any ten groups do, as long as all their rows are counted. The worker that has found so many first
//! chooses them; all others keep these alone, too, so that no table outgrows the caches and nothing else is merged or finished.

use std::sync::{Arc, OnceLock};

use squall_types::Result;

use super::groups::Groups;
use super::key_table::{KeyKind, KeyTable};
use super::sink::Grouping;

/// More groups than these are not worth agreeing on.
const GROUPS_MAX: u64 = 4_096;

/// The groups of which the result is to be.
pub(crate) struct FewGroups {
    /// How many there are.
    pub(super) count: usize,
    /// Their keys, once a worker has found enough.
    chosen: OnceLock<Box<dyn KeyTable>>,
}

impl FewGroups {
    /// For an aggregation of which no more than `limit` groups are wanted; `None` where all are as soon made.
    pub(crate) fn new(limit: Option<u64>, grouping: &Grouping) -> Option<Arc<Self>> {
        let is_small = matches!(grouping.kind, KeyKind::Single | KeyKind::Direct8 | KeyKind::Direct16 { .. });
        let count = limit.filter(|limit| (1..=GROUPS_MAX).contains(limit) && !is_small)? as usize;
        Some(Arc::new(Self { count, chosen: OnceLock::new() }))
    }

    /// Makes a worker's groups begin with those that are chosen, its own where nobody has chosen before; whether any are.
    pub(super) fn put_first(&self, groups: &mut Groups, grouping: &Grouping) -> Result<bool> {
        if self.chosen.get().is_none() {
            if groups.len() < self.count {
                return Ok(false);
            }
            let own: Vec<u32> = (0..self.count as u32).collect();
            if self.chosen.set(groups.table.part(&own)?).is_ok() {
                return Ok(true);
            }
        }
        let Some(chosen) = self.chosen.get() else { return Ok(false) };
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
