//! The queries that wait, in the order in which they are let in, and how many of them come before a query of some priority. Who arrives
//! in a crowd asks for that number, so it is kept and not counted.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::{AdmissionRequest, Ticket};

/// The queries that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    requests: BTreeMap<Ticket, AdmissionRequest>,
    /// How many wait of each priority that somebody waits with.
    by_priority: BTreeMap<u64, usize>,
}

impl Queue {
    pub(super) fn insert(&mut self, ticket: Ticket, request: AdmissionRequest) {
        if self.requests.insert(ticket, request).is_none() {
            *self.by_priority.entry(ticket.priority).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<AdmissionRequest> {
        let request = self.requests.remove(&ticket)?;
        if let Some(count) = self.by_priority.get_mut(&ticket.priority) {
            *count -= 1;
            if *count == 0 {
                self.by_priority.remove(&ticket.priority);
            }
        }
        Some(request)
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// How many come before a query of this priority that arrives now.
    pub(super) fn ahead_of(&self, priority: u64) -> usize {
        self.by_priority.range(..=priority).map(|(_, count)| count).sum()
    }

    /// Those behind a ticket, or all, in order.
    pub(super) fn after(&self, ticket: Option<Ticket>) -> impl Iterator<Item = (Ticket, &AdmissionRequest)> {
        let from = ticket.map_or(Bound::Unbounded, Bound::Excluded);
        self.requests.range((from, Bound::Unbounded)).map(|(ticket, request)| (*ticket, request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_ahead_are_known_by_priority() {
        let mut queue = Queue::default();
        let tickets = [(5, 0), (1, 1), (5, 2), (9, 3)].map(|(priority, arrival)| Ticket { priority, arrival });
        for ticket in tickets {
            queue.insert(ticket, super::super::tests::request());
        }
        assert_eq!([0, 1, 4, 5, 9, 10].map(|priority| queue.ahead_of(priority)), [0, 1, 1, 3, 4, 4]);
        assert_eq!(
            queue.after(Some(tickets[0])).map(|(ticket, _)| ticket).collect::<Vec<_>>(),
            [tickets[2], tickets[3]]
        );
        assert!(queue.remove(tickets[0]).is_some() && queue.remove(tickets[0]).is_none());
        assert!(queue.remove(tickets[1]).is_some());
        assert_eq!(([1, 5, 9].map(|priority| queue.ahead_of(priority)), queue.len()), ([0, 1, 2], 2));
    }
}
