//! `fixed_at_start`, the algorithm of document 000: when a query starts it gets as many threads as it could use, at most what the
//! budget leaves beside the threads of running queries, and at least one; it keeps that number until it ends.

use std::collections::BTreeMap;

use crate::policy::slots::{Demand, QueryNumber, SlotPolicy};

/// Needs no memory: nobody waits.
#[derive(Debug)]
pub struct FixedAtStart;

impl SlotPolicy for FixedAtStart {
    fn demand(&self, threads: usize) -> Demand {
        Demand { non_competing: 0, guaranteed: 1, competing: threads - 1, waits: false }
    }

    fn next(&mut self, waiting: &BTreeMap<QueryNumber, usize>) -> Option<QueryNumber> {
        // Only after a change of policy: those who waited under the one before take what is free in the order in which they came.
        waiting.first_key_value().map(|(query, _)| *query)
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::slots::Slots;

    #[test]
    fn the_seeds_worked_example() {
        let mut slots = Slots::new(Box::new(FixedAtStart), Some(200));
        let running: Vec<_> = (0..19).map(|_| slots.start(10, true)).collect();
        assert_eq!(slots.held(), 190);
        // The plan could use 32, max_threads allows 16, the budget leaves 10.
        assert_eq!(slots.start(16, true).threads(), 10);
        assert_eq!(slots.start(16, true).threads(), 1, "at least one");
        assert!(running.iter().all(|start| slots.end(start.query).is_empty()), "nobody grows while it runs");
        assert_eq!(slots.start(16, true).threads(), 16);
    }
}
