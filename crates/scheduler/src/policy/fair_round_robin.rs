//! `fair_round_robin`: a query's first thread needs no slot, so that queries of one thread cannot take all slots; for the others it
//! takes what is free, and waits for its turn for the rest.

use std::collections::BTreeMap;

use crate::policy::round_robin::Turn;
use crate::policy::slots::{Demand, QueryNumber, SlotPolicy};

/// Remembers whose turn it was.
#[derive(Debug, Default)]
pub struct FairRoundRobin {
    turn: Turn,
}

impl SlotPolicy for FairRoundRobin {
    fn demand(&self, threads: usize) -> Demand {
        Demand { non_competing: 1, guaranteed: 0, competing: threads - 1, waits: true }
    }

    fn next(&mut self, waiting: &BTreeMap<QueryNumber, usize>) -> Option<QueryNumber> {
        self.turn.next(waiting)
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::slots::{Grant, Slots};

    #[test]
    fn queries_of_one_thread_take_no_slot() {
        let mut slots = Slots::new(Box::<FairRoundRobin>::default(), Some(8));
        (0..100).for_each(|_| assert_eq!(slots.start(1, true).threads(), 1));
        assert_eq!(slots.held(), 0);
        assert_eq!(slots.start(8, true).threads(), 8);
    }

    #[test]
    fn turns_go_on_where_they_stopped() {
        let mut slots = Slots::new(Box::<FairRoundRobin>::default(), Some(2));
        let holders = [slots.start(2, true), slots.start(2, true)];
        let waiting = [(); 3].map(|()| slots.start(3, true).query);
        assert_eq!(slots.end(holders[0].query), [Grant(waiting[0])]);
        assert_eq!(slots.end(holders[1].query), [Grant(waiting[1])]);
        assert_eq!(slots.end(waiting[0]), [Grant(waiting[2])]);
        assert_eq!(slots.end(waiting[2]), [Grant(waiting[1])]);
    }
}
