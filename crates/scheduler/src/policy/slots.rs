//! CPU slots: how many threads queries hold of a common limit, and which query gets the next one that becomes free. The account is
//! the same for all policies that bind threads to queries; what differs between them is a [`SlotPolicy`]. Pure.
//!
//! Sources: ClickHouse's documentation of `concurrent_threads_scheduler`, `concurrent_threads_soft_limit_num` and
//! `use_concurrency_control`; document 000 for `fixed_at_start`.

use std::collections::BTreeMap;
use std::fmt;

use crate::policy::PolicyKind;
use crate::policy::fair_round_robin::FairRoundRobin;
use crate::policy::fixed_at_start::FixedAtStart;
use crate::policy::max_min_fair::MaxMinFair;
use crate::policy::round_robin::RoundRobin;

/// A query's number in the account: numbers grow with arrival and are not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QueryNumber(pub u64);

/// What a policy makes of the threads that a query asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Threads that need no slot.
    pub non_competing: usize,
    /// Slots that the query gets even beyond the limit.
    pub guaranteed: usize,
    /// Slots that it gets as far as there are any.
    pub competing: usize,
    /// Whether it waits for those that it did not get, to grow while it runs.
    pub waits: bool,
}

/// A way to divide slots among queries.
pub trait SlotPolicy: fmt::Debug + Send {
    /// What a query that could use so many threads, at least one, asks for.
    fn demand(&self, threads: usize) -> Demand;

    /// Of queries that wait, with the slots that each holds, the one that gets a slot that has become free.
    fn next(&mut self, waiting: &BTreeMap<QueryNumber, usize>) -> Option<QueryNumber>;
}

/// The policy of that kind; none for `stride`, which binds no threads.
pub fn slot_policy(kind: PolicyKind) -> Option<Box<dyn SlotPolicy>> {
    match kind {
        PolicyKind::Stride => None,
        PolicyKind::FixedAtStart => Some(Box::new(FixedAtStart)),
        PolicyKind::RoundRobin => Some(Box::<RoundRobin>::default()),
        PolicyKind::FairRoundRobin => Some(Box::<FairRoundRobin>::default()),
        PolicyKind::MaxMinFair => Some(Box::new(MaxMinFair)),
    }
}

/// Threads for a query that begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// The query.
    pub query: QueryNumber,
    /// Threads that need no slot.
    pub non_competing: usize,
    /// Slots given beyond the limit's account of what was free.
    pub guaranteed: usize,
    /// Slots given because they were free.
    pub granted: usize,
    /// Slots that the query waits for.
    pub delayed: usize,
}

impl Start {
    /// Threads that the query begins with.
    pub fn threads(&self) -> usize {
        self.non_competing + self.guaranteed + self.granted
    }
}

/// One more slot for a query that waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant(pub QueryNumber);

#[derive(Debug)]
struct Holding {
    slots: usize,
    wanted: usize,
}

/// The account.
#[derive(Debug)]
pub struct Slots {
    policy: Box<dyn SlotPolicy>,
    /// `total_max_threads` and its later names; `None` is no limit.
    limit: Option<usize>,
    held: usize,
    queries: BTreeMap<QueryNumber, Holding>,
    /// Those of the queries that would take more, with what each holds.
    waiting: BTreeMap<QueryNumber, usize>,
    next_number: u64,
}

impl Slots {
    /// An account that nobody holds anything of.
    pub fn new(policy: Box<dyn SlotPolicy>, limit: Option<usize>) -> Self {
        Self { policy, limit, held: 0, queries: BTreeMap::new(), waiting: BTreeMap::new(), next_number: 0 }
    }

    /// A query begins that could use so many threads. One that `is_controlled` not (`use_concurrency_control = 0`) gets them all, and
    /// they are not counted.
    pub fn start(&mut self, threads: usize, is_controlled: bool) -> Start {
        let query = QueryNumber(self.next_number);
        self.next_number += 1;
        let threads = threads.max(1);
        let demand = if is_controlled {
            self.policy.demand(threads)
        } else {
            Demand { non_competing: threads, guaranteed: 0, competing: 0, waits: false }
        };
        self.held += demand.guaranteed;
        let granted = demand.competing.min(self.free());
        self.held += granted;
        let slots = demand.guaranteed + granted;
        let delayed = if demand.waits { demand.competing - granted } else { 0 };
        self.queries.insert(query, Holding { slots, wanted: slots + delayed });
        if delayed > 0 {
            self.waiting.insert(query, slots);
        }
        Start { query, non_competing: demand.non_competing, guaranteed: demand.guaranteed, granted, delayed }
    }

    /// A query has ended: all that it holds is free. Gives who gets it.
    pub fn end(&mut self, query: QueryNumber) -> Vec<Grant> {
        self.waiting.remove(&query);
        let Some(holding) = self.queries.remove(&query) else { return Vec::new() };
        self.held -= holding.slots;
        self.grant()
    }

    /// Other slots from now on. Who holds too many keeps them; nobody gets more before enough are given back.
    pub fn set_limit(&mut self, limit: Option<usize>) -> Vec<Grant> {
        self.limit = limit;
        self.grant()
    }

    /// Another way to divide from now on. Queries keep what they have and wait on.
    pub fn set_policy(&mut self, policy: Box<dyn SlotPolicy>) {
        self.policy = policy;
    }

    fn grant(&mut self) -> Vec<Grant> {
        let mut grants = Vec::new();
        while self.free() > 0
            && let Some(query) = self.policy.next(&self.waiting)
            && let Some(holding) = self.queries.get_mut(&query)
        {
            holding.slots += 1;
            self.held += 1;
            grants.push(Grant(query));
            if holding.slots < holding.wanted {
                self.waiting.insert(query, holding.slots);
            } else {
                self.waiting.remove(&query);
            }
        }
        grants
    }

    fn free(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| limit.saturating_sub(self.held))
    }

    /// Slots that queries hold together.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Slots that a query holds.
    pub fn held_by(&self, query: QueryNumber) -> usize {
        self.queries.get(&query).map_or(0, |holding| holding.slots)
    }

    /// Slots that a query would hold if there were enough.
    pub fn wanted_by(&self, query: QueryNumber) -> usize {
        self.queries.get(&query).map_or(0, |holding| holding.wanted)
    }

    /// Slots that may be held together, where that is limited.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// Queries that wait for slots.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    const SLOT_POLICIES: [PolicyKind; 4] =
        [PolicyKind::FixedAtStart, PolicyKind::RoundRobin, PolicyKind::FairRoundRobin, PolicyKind::MaxMinFair];

    fn slots(kind: PolicyKind, limit: usize) -> Slots {
        Slots::new(slot_policy(kind).unwrap(), Some(limit))
    }

    #[test]
    fn without_a_limit_everyone_gets_all() {
        for kind in SLOT_POLICIES {
            let mut slots = Slots::new(slot_policy(kind).unwrap(), None);
            for _ in 0..100 {
                assert_eq!(slots.start(16, true).threads(), 16, "{kind}");
            }
        }
    }

    #[test]
    fn everyone_runs_even_without_a_slot() {
        for kind in SLOT_POLICIES {
            let mut slots = slots(kind, 4);
            slots.start(16, true);
            assert_eq!(slots.start(16, true).threads(), 1, "{kind}");
        }
    }

    #[test]
    fn queries_outside_the_control_are_not_counted() {
        for kind in SLOT_POLICIES {
            let mut slots = slots(kind, 4);
            assert_eq!(slots.start(16, false).threads(), 16);
            assert_eq!(slots.held(), 0);
        }
    }

    #[test]
    fn a_changed_limit_and_policy_act_on_those_who_run() {
        let mut slots = slots(PolicyKind::RoundRobin, 2);
        let (first, second) = (slots.start(4, true), slots.start(4, true));
        assert_eq!([first.threads(), second.threads()], [2, 1]);
        slots.set_policy(slot_policy(PolicyKind::MaxMinFair).unwrap());
        assert_eq!(slots.set_limit(Some(5)), [Grant(second.query), Grant(first.query)]);
        assert!(slots.set_limit(Some(1)).is_empty());
        assert!(slots.end(first.query).is_empty(), "two are still held of one");
        assert_eq!(slots.set_limit(None).len(), 2);
        assert_eq!(slots.waiting(), 0);
    }

    /// Random histories: the account adds up, and no slot is free while somebody waits.
    #[test]
    fn invariants_hold_in_any_history() {
        for seed in 0..400u64 {
            let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut random = |below: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % below
            };
            let kind = SLOT_POLICIES[random(4) as usize];
            let mut limit = 1 + random(40) as usize;
            let mut slots = slots(kind, limit);
            let mut threads: BTreeMap<QueryNumber, (usize, usize)> = BTreeMap::new();
            let mut is_shrunk = false;
            for _ in 0..300 {
                let grants = match random(10) {
                    0..5 => {
                        let asked = 1 + random(20) as usize;
                        let start = slots.start(asked, random(8) > 0);
                        threads.insert(start.query, (start.threads(), asked));
                        Vec::new()
                    }
                    5..9 if !threads.is_empty() => {
                        let at = random(threads.len() as u64) as usize;
                        let query = *threads.keys().nth(at).unwrap();
                        threads.remove(&query);
                        slots.end(query)
                    }
                    _ => {
                        let before = limit;
                        limit = 1 + random(40) as usize;
                        is_shrunk |= limit < before;
                        slots.set_limit(Some(limit))
                    }
                };
                for Grant(query) in grants {
                    threads.get_mut(&query).unwrap().0 += 1;
                }
                assert!(threads.values().all(|(has, asked)| (1..=*asked).contains(has)), "seed {seed}");
                let sum: usize = threads.keys().map(|query| slots.held_by(*query)).sum();
                assert_eq!(slots.held(), sum, "seed {seed}");
                // Guaranteed slots may go beyond the limit, by one for each query.
                assert!(is_shrunk || slots.held() <= limit + threads.len(), "seed {seed}");
                assert!(
                    slots.waiting() == 0 || slots.held() >= limit,
                    "seed {seed}: a free slot beside a waiting query"
                );
            }
        }
    }
}
