//! The jobs that wait: higher priorities first, first in, first out within one. No threads, no locks.

use std::collections::VecDeque;

/// The order of jobs, as ClickHouse counts it: a smaller value starts earlier. Jobs of one priority start as they came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Priority(pub i64);

/// What a waiting job is known by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ticket {
    priority: Priority,
    number: u64,
}

/// A lane that has become empty is kept while there are no more than so many: its memory is wanted again at once.
const LANES_KEPT: usize = 4;

pub(crate) struct Queue<J> {
    /// One per priority in use, the first to start first.
    lanes: Vec<Lane<J>>,
    len: usize,
    next_number: u64,
}

struct Lane<J> {
    priority: Priority,
    /// In the order of their numbers.
    jobs: VecDeque<(u64, J)>,
}

impl<J> Queue<J> {
    /// With room for so many jobs of the usual priority.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let usual = Lane { priority: Priority::default(), jobs: VecDeque::with_capacity(capacity) };
        let mut lanes = Vec::with_capacity(LANES_KEPT);
        lanes.push(usual);
        Self { lanes, len: 0, next_number: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, priority: Priority, job: J) -> Ticket {
        let number = self.next_number;
        self.next_number += 1;
        self.len += 1;
        let at = match self.lanes.binary_search_by_key(&priority, |lane| lane.priority) {
            Ok(at) => at,
            Err(at) => {
                self.lanes.insert(at, Lane { priority, jobs: VecDeque::new() });
                at
            }
        };
        self.lanes[at].jobs.push_back((number, job));
        Ticket { priority, number }
    }

    /// The job that starts next.
    pub(crate) fn pop(&mut self) -> Option<J> {
        let at = self.lanes.iter().position(|lane| !lane.jobs.is_empty())?;
        let (_, job) = self.lanes[at].jobs.pop_front()?;
        self.took_from(at);
        Some(job)
    }

    /// Takes a job back out, `None` where it has started.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<J> {
        let at = self.lanes.binary_search_by_key(&ticket.priority, |lane| lane.priority).ok()?;
        let jobs = &mut self.lanes[at].jobs;
        let job = jobs.binary_search_by_key(&ticket.number, |(number, _)| *number).ok()?;
        let (_, job) = jobs.remove(job)?;
        self.took_from(at);
        Some(job)
    }

    fn took_from(&mut self, at: usize) {
        self.len -= 1;
        let lane = &self.lanes[at];
        if lane.jobs.is_empty() && lane.priority != Priority::default() && self.lanes.len() > LANES_KEPT {
            self.lanes.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any mixture of pushes, pops and removals gives what sorting by (priority, order of arrival) gives.
        #[test]
        fn jobs_leave_by_priority_then_by_arrival(steps in prop::collection::vec((0..4u8, -9..9i64), 0..200)) {
            let mut queue = Queue::with_capacity(4);
            let mut model: Vec<(i64, u64, Ticket)> = Vec::new();
            for (number, (step, priority)) in (0u64..).zip(steps) {
                match step {
                    0 | 1 => {
                        let ticket = queue.push(Priority(priority), number);
                        model.push((priority, number, ticket));
                        model.sort_by_key(|(priority, number, _)| (*priority, *number));
                    }
                    2 => {
                        let first = (!model.is_empty()).then(|| model.remove(0).1);
                        prop_assert_eq!(queue.pop(), first);
                    }
                    _ if !model.is_empty() => {
                        let (_, number, ticket) = model.remove(priority.unsigned_abs() as usize % model.len());
                        prop_assert_eq!(queue.remove(ticket), Some(number));
                        prop_assert_eq!(queue.remove(ticket), None);
                    }
                    _ => {}
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }
}
