//! `max_min_fair`: as `fair_round_robin`, but a slot that becomes free goes to the query that holds the fewest, so that those who have
//! waited long and gathered many are no longer ahead of those who just came.

use std::collections::BTreeMap;

use crate::policy::slots::{Demand, QueryNumber, SlotPolicy};

/// Needs no memory: what queries hold says it all.
#[derive(Debug)]
pub struct MaxMinFair;

impl SlotPolicy for MaxMinFair {
    fn demand(&self, threads: usize) -> Demand {
        Demand { non_competing: 1, guaranteed: 0, competing: threads - 1, waits: true }
    }

    fn next(&mut self, waiting: &BTreeMap<QueryNumber, usize>) -> Option<QueryNumber> {
        // Of equals, the one that came first.
        waiting.iter().min_by_key(|(_, slots)| **slots).map(|(query, _)| *query)
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::slots::{Grant, Slots};

    #[test]
    fn free_slots_go_to_who_has_fewest() {
        let mut slots = Slots::new(Box::new(MaxMinFair), Some(6));
        let ends = slots.start(4, true);
        let grown = slots.start(8, true);
        assert_eq!([ends.threads(), grown.threads()], [4, 4]);
        let newcomers = [slots.start(8, true), slots.start(8, true)].map(|start| start.query);
        let grants = slots.end(ends.query);
        assert_eq!(grants, [Grant(newcomers[0]), Grant(newcomers[1]), Grant(newcomers[0])]);
        assert_eq!(slots.held_by(grown.query), 3);
    }
}
