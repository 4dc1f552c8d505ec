//! `round_robin`: a slot for every thread of a query. The first is given in any case; free ones go to the waiting queries in turn.

use std::collections::BTreeMap;

use crate::policy::slots::{Demand, QueryNumber, SlotPolicy};

/// Remembers whose turn it was.
#[derive(Debug, Default)]
pub struct RoundRobin {
    turn: Turn,
}

impl SlotPolicy for RoundRobin {
    fn demand(&self, threads: usize) -> Demand {
        Demand { non_competing: 0, guaranteed: 1, competing: threads - 1, waits: true }
    }

    fn next(&mut self, waiting: &BTreeMap<QueryNumber, usize>) -> Option<QueryNumber> {
        self.turn.next(waiting)
    }
}

/// Goes around the waiting queries in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Turn {
    last: Option<QueryNumber>,
}

impl Turn {
    pub(super) fn next(&mut self, waiting: &BTreeMap<QueryNumber, usize>) -> Option<QueryNumber> {
        let after = self.last.and_then(|QueryNumber(last)| waiting.range(QueryNumber(last + 1)..).next());
        let (query, _) = after.or_else(|| waiting.first_key_value())?;
        self.last = Some(*query);
        self.last
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::slots::{Grant, Slots};

    #[test]
    fn free_slots_go_around() {
        let mut slots = Slots::new(Box::<RoundRobin>::default(), Some(8));
        let long = slots.start(8, true);
        let (first, second) = (slots.start(4, true), slots.start(4, true));
        assert_eq!([long, first, second].map(|start| start.threads()), [8, 1, 1]);
        // Ten are held of eight: two that are given back only pay for the guaranteed ones.
        let grants = slots.end(long.query);
        let order = [first, second, first, second, first, second].map(|start| Grant(start.query));
        assert_eq!(grants, order);
        assert_eq!(slots.held(), 8);
    }

    #[test]
    fn queries_of_one_thread_can_take_every_slot() {
        // The unfairness that the documentation warns of: they hold slots, and never ask for a second.
        let mut slots = Slots::new(Box::<RoundRobin>::default(), Some(8));
        let narrow: Vec<_> = (0..16).map(|_| slots.start(1, true)).collect();
        let wide = slots.start(8, true);
        assert_eq!(wide.threads(), 1);
        let grants: usize = narrow[..8].iter().map(|narrow| slots.end(narrow.query).len()).sum();
        assert_eq!(grants, 0);
    }
}
