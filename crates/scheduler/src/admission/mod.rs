//! Admission: which queries may run, which wait for their turn and in what order, and which are refused, and why. Pure: queries
//! arrive and leave, time is passed in, decisions come out; who waits how is the driver's business (`server::process`).

mod auto_limit;
mod overload;
mod queue;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub use auto_limit::{AutoLimit, LoadSample};
pub use overload::CpuOverload;
use queue::Queue;

/// The kinds of queries that have limits of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdmissionKind {
    /// `max_concurrent_select_queries`.
    Select,
    /// `max_concurrent_insert_queries`.
    Insert,
    /// Only the limits for all.
    Other,
}

/// The server's limits; 0 is unlimited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AdmissionLimits {
    /// `max_concurrent_queries`, as configured or as found by [`AutoLimit`].
    pub queries_max: usize,
    /// `max_concurrent_select_queries`.
    pub selects_max: usize,
    /// `max_concurrent_insert_queries`.
    pub inserts_max: usize,
    /// Queries that may wait at once.
    pub waiting_max: usize,
    /// Queries of operators that run beyond all of these limits, so that one can get in and look (ClickHouse's issue #6636).
    pub reserved_for_operators: usize,
}

/// A query that asks to run, and the limits of its own settings; 0 is unlimited.
#[derive(Clone, Debug)]
pub struct AdmissionRequest {
    /// Its kind.
    pub kind: AdmissionKind,
    /// Who asks.
    pub user: Arc<str>,
    /// What all queries of its form have in common.
    pub normalized_query_hash: u64,
    /// The setting `priority`: 1 goes first, 0 takes no part and counts as 1.
    pub priority: u64,
    /// `max_concurrent_queries_for_user`.
    pub user_max: usize,
    /// `max_concurrent_queries_for_all_users`.
    pub all_users_max: usize,
    /// `max_concurrent_queries_for_normalized_query_hash` (ClickHouse's issue #106408).
    pub hash_max: usize,
    /// `queue_max_wait_ms`; `None` leaves it to [`Admission`]: a burst is served to its end, a crowd that stays is not let grow.
    pub wait_max: Option<Duration>,
    /// `queue_max_wait_ms_for_normalized_query_hash`.
    pub hash_wait_max: Duration,
    /// The user is an operator.
    pub is_operator: bool,
}

/// A limit that a query has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdmissionLimit {
    /// `max_concurrent_queries`.
    Queries,
    /// `max_concurrent_select_queries`.
    Selects,
    /// `max_concurrent_insert_queries`.
    Inserts,
    /// `max_concurrent_queries_for_user`.
    User,
    /// `max_concurrent_queries_for_all_users`.
    AllUsers,
    /// `max_concurrent_queries_for_normalized_query_hash`.
    NormalizedQueryHash,
    /// Too many wait already.
    Waiting,
}

/// Why a query may not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The limit that it met.
    pub limit: AdmissionLimit,
    /// The limit's value.
    pub maximum: usize,
    /// When it may be worth to ask again, where that is known.
    pub retry_after: Option<Duration>,
}

/// A query that runs, given back with [`Admission::leave`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Admitted {
    kind: AdmissionKind,
    user: Arc<str>,
    normalized_query_hash: u64,
    is_reserved: bool,
    admitted_ns: u64,
}

/// A query that waits. Tickets sort in the order in which queries are let in: by priority, then by arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket {
    priority: u64,
    arrival: u64,
}

/// What becomes of a query that arrives.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It runs.
    Admitted(Admitted),
    /// It waits for at most so long; then [`Admission::give_up`] says why in vain.
    Waits(Ticket, Duration),
    /// It does not run.
    Refused(Refusal),
}

/// Departures are averaged over about so many.
const DEPARTURES_AVERAGED: f64 = 16.0;
/// A queue that forms after a calm is a burst for so long: whoever comes meanwhile may wait for [`BURST_WAIT`].
const BURST_NS: u64 = 1_000_000_000;
/// How long a query of a burst waits where `queue_max_wait_ms` says nothing.
const BURST_WAIT: Duration = Duration::from_secs(10);
/// A queue is forgotten when nobody has waited for so long.
const CALM_NS: u64 = 1_000_000_000;
/// In a queue that stays a query waits for so many times the time that queries run, so that waiting never makes a query many times
/// slower than the crowd alone does…
const WAIT_PER_RUN: f64 = 2.0;
/// … but for so long it is no burden: an error would be worse.
const WAIT_MIN: Duration = Duration::from_millis(100);

/// Who runs and who waits.
#[derive(Debug, Default)]
pub struct Admission {
    limits: AdmissionLimits,
    queries: usize,
    selects: usize,
    inserts: usize,
    reserved: usize,
    by_user: Counts<Arc<str>>,
    by_hash: Counts<u64>,
    waiting: Queue,
    arrivals: u64,
    refusals: u64,
    /// The average time between departures while somebody waits; none before the second one.
    departure_interval_ns: Option<f64>,
    last_departure_ns: Option<u64>,
    /// The average time that queries ran.
    run_ns: f64,
    /// When the queue formed that is there now, or was there last.
    queue_began_ns: u64,
    /// When somebody was last seen waiting.
    queue_seen_ns: Option<u64>,
}

impl Admission {
    /// A query arrives.
    pub fn arrive(&mut self, request: AdmissionRequest, now_ns: u64) -> Arrival {
        let Some((limit, maximum)) = self.limit_met(&request) else {
            return Arrival::Admitted(self.let_in(&request, now_ns));
        };
        if request.is_operator && self.reserved < self.limits.reserved_for_operators {
            self.reserved += 1;
            return Arrival::Admitted(Admitted {
                kind: request.kind,
                user: request.user,
                normalized_query_hash: request.normalized_query_hash,
                is_reserved: true,
                admitted_ns: now_ns,
            });
        }
        let wait_max = match self.wait_max(&request, limit, maximum, now_ns) {
            Ok(wait_max) => wait_max,
            Err(refusal) => {
                self.refusals += 1;
                return Arrival::Refused(refusal);
            }
        };
        let ticket = Ticket { priority: request.priority.max(1), arrival: self.arrivals };
        if self.queue_seen_ns.is_none_or(|seen| now_ns - seen > CALM_NS) {
            self.queue_began_ns = now_ns;
        }
        self.queue_seen_ns = Some(now_ns);
        self.arrivals += 1;
        self.waiting.insert(ticket, request);
        Arrival::Waits(ticket, wait_max)
    }

    /// Whether a query would be refused if it arrived now; then it counts as refused, and need not arrive.
    pub fn foresee(&mut self, request: &AdmissionRequest, now_ns: u64) -> Option<Refusal> {
        let (limit, maximum) = self.limit_met(request)?;
        if request.is_operator && self.reserved < self.limits.reserved_for_operators {
            return None;
        }
        let refusal = self.wait_max(request, limit, maximum, now_ns).err()?;
        self.refusals += 1;
        Some(refusal)
    }

    /// How long a query may wait that has met a limit; an error where it is refused at once.
    fn wait_max(
        &self,
        request: &AdmissionRequest,
        limit: AdmissionLimit,
        maximum: usize,
        now_ns: u64,
    ) -> Result<Duration, Refusal> {
        let wait_max = match limit {
            AdmissionLimit::NormalizedQueryHash => request.hash_wait_max,
            _ => request.wait_max.unwrap_or_else(|| self.patience(now_ns)),
        };
        let is_of_all = limit == AdmissionLimit::Queries;
        let retry_after = if is_of_all { self.expected_wait(request.priority.max(1), now_ns) } else { None };
        // Who cannot be served in time is told at once, and costs nobody else anything.
        if wait_max.is_zero() || retry_after.is_some_and(|expected| expected > wait_max) {
            return Err(Refusal { limit, maximum, retry_after });
        }
        if self.limits.waiting_max > 0 && self.waiting.len() >= self.limits.waiting_max {
            return Err(Refusal { limit: AdmissionLimit::Waiting, maximum: self.limits.waiting_max, retry_after });
        }
        Ok(wait_max)
    }

    /// A query has ended. Those that may run now come out, in order.
    pub fn leave(&mut self, admitted: Admitted, now_ns: u64) -> Vec<(Ticket, Admitted)> {
        if admitted.is_reserved {
            self.reserved -= 1;
            return Vec::new();
        }
        self.queries -= 1;
        self.run_ns += (now_ns.saturating_sub(admitted.admitted_ns) as f64 - self.run_ns) / DEPARTURES_AVERAGED;
        match admitted.kind {
            AdmissionKind::Select => self.selects -= 1,
            AdmissionKind::Insert => self.inserts -= 1,
            AdmissionKind::Other => {}
        }
        count_out(&mut self.by_user, &admitted.user);
        count_out(&mut self.by_hash, &admitted.normalized_query_hash);
        if self.waiting.is_empty() {
            // Between departures in a calm there is no telling how fast the server could be.
            self.last_departure_ns = None;
            return Vec::new();
        }
        self.queue_seen_ns = Some(now_ns);
        if let Some(last) = self.last_departure_ns.replace(now_ns) {
            let interval = now_ns.saturating_sub(last) as f64;
            let average = self.departure_interval_ns.unwrap_or(interval);
            self.departure_interval_ns = Some(average + (interval - average) / DEPARTURES_AVERAGED);
        }
        self.let_in_waiting(now_ns)
    }

    /// A query no longer waits: its time is over, or its client went away. Says what it waited for; `None` where it was let in
    /// meanwhile.
    pub fn give_up(&mut self, ticket: Ticket, now_ns: u64) -> Option<Refusal> {
        let request = self.waiting.remove(ticket)?;
        self.refusals += 1;
        let (limit, maximum) = self.limit_met(&request).unwrap_or((AdmissionLimit::Queries, self.limits.queries_max));
        Some(Refusal { limit, maximum, retry_after: self.expected_wait(ticket.priority, now_ns) })
    }

    /// Puts limits in force. Queries that run go on; those that may run now come out, in order.
    pub fn configure(&mut self, limits: AdmissionLimits, now_ns: u64) -> Vec<(Ticket, Admitted)> {
        self.limits = limits;
        self.let_in_waiting(now_ns)
    }

    /// The limits in force.
    pub fn limits(&self) -> AdmissionLimits {
        self.limits
    }

    /// Queries that run, those of the reserve among them.
    pub fn running(&self) -> usize {
        self.queries + self.reserved
    }

    /// Queries that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Queries that were refused so far.
    pub fn refusals(&self) -> u64 {
        self.refusals
    }

    /// How long a query waits that leaves it to us.
    fn patience(&self, now_ns: u64) -> Duration {
        let stays =
            self.queue_seen_ns.is_some_and(|seen| now_ns - seen <= CALM_NS) && now_ns - self.queue_began_ns > BURST_NS;
        Duration::from_nanos((self.run_ns * WAIT_PER_RUN) as u64).max(if stays { WAIT_MIN } else { BURST_WAIT })
    }

    /// How long a query of this priority that arrives now will have waited when it is let in, by the speed at which queries leave now.
    fn expected_wait(&self, priority: u64, now_ns: u64) -> Option<Duration> {
        let ahead = self.waiting.ahead_of(priority) + 1;
        let interval_ns = self.departure_interval_ns?;
        // While nothing leaves, the average grows old: the time since the last departure is a bound from below.
        let since_ns = self.last_departure_ns.map_or(0, |last| now_ns.saturating_sub(last)) as f64;
        Some(Duration::from_nanos((interval_ns * ahead as f64).max(since_ns) as u64))
    }

    /// The first limit that keeps a query from running now, and its value.
    fn limit_met(&self, request: &AdmissionRequest) -> Option<(AdmissionLimit, usize)> {
        let limits = &self.limits;
        let (of_kind, kind_limit, kind_max) = match request.kind {
            AdmissionKind::Select => (self.selects, AdmissionLimit::Selects, limits.selects_max),
            AdmissionKind::Insert => (self.inserts, AdmissionLimit::Inserts, limits.inserts_max),
            AdmissionKind::Other => (0, AdmissionLimit::Queries, 0),
        };
        // Looked up only where there is a limit: every query of a storm comes by.
        let of_user = if request.user_max > 0 { self.by_user.get(&request.user).copied() } else { None };
        let of_hash =
            if request.hash_max > 0 { self.by_hash.get(&request.normalized_query_hash).copied() } else { None };
        // The narrowest first: a query that meets several is told of the one that is its own.
        [
            (AdmissionLimit::NormalizedQueryHash, of_hash.unwrap_or(0), request.hash_max),
            (AdmissionLimit::User, of_user.unwrap_or(0), request.user_max),
            (AdmissionLimit::AllUsers, self.queries, request.all_users_max),
            (kind_limit, of_kind, kind_max),
            (AdmissionLimit::Queries, self.queries, limits.queries_max),
        ]
        .into_iter()
        .find(|(_, count, maximum)| *maximum > 0 && count >= maximum)
        .map(|(limit, _, maximum)| (limit, maximum))
    }

    fn let_in(&mut self, request: &AdmissionRequest, now_ns: u64) -> Admitted {
        self.queries += 1;
        match request.kind {
            AdmissionKind::Select => self.selects += 1,
            AdmissionKind::Insert => self.inserts += 1,
            AdmissionKind::Other => {}
        }
        *self.by_user.entry(request.user.clone()).or_default() += 1;
        *self.by_hash.entry(request.normalized_query_hash).or_default() += 1;
        Admitted {
            kind: request.kind,
            user: request.user.clone(),
            normalized_query_hash: request.normalized_query_hash,
            is_reserved: false,
            admitted_ns: now_ns,
        }
    }

    /// Lets in whoever may run now. One that waits for a limit of its own does not hold up those behind it.
    fn let_in_waiting(&mut self, now_ns: u64) -> Vec<(Ticket, Admitted)> {
        let mut let_in = Vec::new();
        let mut after = None;
        loop {
            let is_full = self.limits.queries_max > 0 && self.queries >= self.limits.queries_max;
            let mut rest = self.waiting.after(after);
            let next = if is_full { None } else { rest.find(|(_, request)| self.limit_met(request).is_none()) };
            let Some((ticket, _)) = next else { return let_in };
            drop(rest);
            after = Some(ticket);
            if let Some(request) = self.waiting.remove(ticket) {
                let_in.push((ticket, self.let_in(&request, now_ns)));
            }
        }
    }
}

/// Queries that run, by something that they have in common.
type Counts<K> = HashMap<K, usize, foldhash::fast::RandomState>;

fn count_out<K: std::hash::Hash + Eq>(counts: &mut Counts<K>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    pub(super) fn request() -> AdmissionRequest {
        AdmissionRequest {
            kind: AdmissionKind::Select,
            user: "default".into(),
            normalized_query_hash: 1,
            priority: 0,
            user_max: 0,
            all_users_max: 0,
            hash_max: 0,
            wait_max: Some(Duration::from_secs(1)),
            hash_wait_max: Duration::ZERO,
            is_operator: false,
        }
    }

    fn admitted(arrival: Arrival) -> Admitted {
        match arrival {
            Arrival::Admitted(admitted) => admitted,
            other => panic!("{other:?}"),
        }
    }

    fn ticket(arrival: Arrival) -> Ticket {
        match arrival {
            Arrival::Waits(ticket, _) => ticket,
            other => panic!("{other:?}"),
        }
    }

    fn refusal(arrival: Arrival) -> Refusal {
        match arrival {
            Arrival::Refused(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    fn limited(queries_max: usize) -> Admission {
        let mut admission = Admission::default();
        let _ = admission.configure(AdmissionLimits { queries_max, ..AdmissionLimits::default() }, 0);
        admission
    }

    #[test]
    fn queries_wait_in_order_of_priority_then_arrival() {
        let mut admission = limited(1);
        let mut running = admitted(admission.arrive(request(), 0));
        let low = ticket(admission.arrive(AdmissionRequest { priority: 5, ..request() }, 0));
        let first = ticket(admission.arrive(request(), 0));
        let second = ticket(admission.arrive(AdmissionRequest { priority: 1, ..request() }, 0));
        for expected in [first, second, low] {
            let mut let_in = admission.leave(running, 0);
            assert_eq!(let_in.len(), 1);
            let (ticket, next) = let_in.remove(0);
            assert_eq!(ticket, expected);
            running = next;
        }
        assert!(admission.leave(running, 0).is_empty());
        assert_eq!((admission.running(), admission.waiting()), (0, 0));
    }

    #[test]
    fn each_limit_is_named() {
        let mut admission = Admission::default();
        let limits = AdmissionLimits { queries_max: 9, selects_max: 3, inserts_max: 1, ..AdmissionLimits::default() };
        let _ = admission.configure(limits, 0);
        let no_wait = |change: &dyn Fn(&mut AdmissionRequest)| {
            let mut request = AdmissionRequest { wait_max: Some(Duration::ZERO), ..request() };
            change(&mut request);
            request
        };
        let _running: Vec<_> = (0..2).map(|_| admitted(admission.arrive(request(), 0))).collect();
        let met = |admission: &mut Admission, request| {
            let refusal = refusal(admission.arrive(request, 0));
            (refusal.limit, refusal.maximum)
        };
        use AdmissionLimit as L;
        assert_eq!(met(&mut admission, no_wait(&|r| r.user_max = 2)), (L::User, 2));
        assert_eq!(met(&mut admission, no_wait(&|r| r.all_users_max = 1)), (L::AllUsers, 1));
        assert_eq!(met(&mut admission, no_wait(&|r| r.hash_max = 2)), (L::NormalizedQueryHash, 2));
        let _third = admitted(admission.arrive(request(), 0));
        assert_eq!(met(&mut admission, no_wait(&|_| ())), (L::Selects, 3));
        let insert = no_wait(&|r| r.kind = AdmissionKind::Insert);
        let _insert = admitted(admission.arrive(insert.clone(), 0));
        assert_eq!(met(&mut admission, insert), (L::Inserts, 1));
        let _ = admission.configure(AdmissionLimits { queries_max: 4, ..AdmissionLimits::default() }, 0);
        assert_eq!(met(&mut admission, no_wait(&|_| ())), (L::Queries, 4));
        assert_eq!(admission.refusals(), 6);
    }

    #[test]
    fn a_dashboard_leaves_room_for_others() {
        let mut admission = limited(4);
        let dashboard = || AdmissionRequest { hash_max: 2, hash_wait_max: Duration::from_secs(9), ..request() };
        let first = admitted(admission.arrive(dashboard(), 0));
        let _second = admitted(admission.arrive(dashboard(), 0));
        let waiting = ticket(admission.arrive(dashboard(), 0));
        let other = AdmissionRequest { normalized_query_hash: 2, ..request() };
        let other = admitted(admission.arrive(other, 0));
        // The other's end is no room for the dashboard, its own is.
        assert!(admission.leave(other, 0).is_empty());
        assert_eq!(admission.leave(first, 0)[0].0, waiting);
    }

    #[test]
    fn operators_get_in() {
        let mut admission = Admission::default();
        let limits = AdmissionLimits { queries_max: 1, reserved_for_operators: 1, ..AdmissionLimits::default() };
        let _ = admission.configure(limits, 0);
        let _running = admitted(admission.arrive(request(), 0));
        let operator = || AdmissionRequest { is_operator: true, wait_max: Some(Duration::ZERO), ..request() };
        let looking = admitted(admission.arrive(operator(), 0));
        assert_eq!(refusal(admission.arrive(operator(), 0)).limit, AdmissionLimit::Queries);
        assert!(admission.leave(looking, 0).is_empty());
        let _again = admitted(admission.arrive(operator(), 0));
    }

    #[test]
    fn who_cannot_be_served_in_time_is_told_at_once() {
        let mut admission = limited(1);
        let mut running = admitted(admission.arrive(request(), 0));
        // One query leaves every 100 ms, and another waits behind it.
        let mut now = 0;
        for _ in 0..20 {
            let _ = ticket(admission.arrive(request(), now));
            now += 100 * MS;
            running = admission.leave(running, now).remove(0).1;
        }
        for _ in 0..10 {
            assert!(matches!(admission.arrive(request(), now), Arrival::Waits(..)));
        }
        let refusals = admission.refusals();
        let foreseen = admission.foresee(&request(), now).unwrap();
        let refused = refusal(admission.arrive(request(), now));
        assert_eq!((foreseen, refused.limit), (refused, AdmissionLimit::Queries));
        assert_eq!(admission.refusals(), refusals + 2);
        assert!(
            admission.foresee(&AdmissionRequest { wait_max: Some(Duration::from_secs(2)), ..request() }, now).is_none()
        );
        assert_eq!(refused.retry_after.unwrap().as_millis(), 1_100);
        // Whoever goes before the others is served in time.
        assert!(matches!(
            admission.arrive(AdmissionRequest { wait_max: Some(Duration::from_secs(60)), ..request() }, now),
            Arrival::Waits(..)
        ));
        drop(running);
    }

    #[test]
    fn a_burst_is_served_and_a_crowd_does_not_grow() {
        let mut admission = limited(1);
        let patient = || AdmissionRequest { wait_max: None, ..request() };
        let mut running = admitted(admission.arrive(patient(), 0));
        // Two queries come for each that leaves after 5 ms.
        let (mut refused, mut longest) = (0, 0);
        for step in 1..2_000u64 {
            let now = step * 5 * MS;
            for _ in 0..2 {
                match admission.arrive(patient(), now) {
                    Arrival::Refused(refusal) => {
                        assert!(now > BURST_NS, "a burst is not refused");
                        assert!(refusal.retry_after.is_some());
                        refused += 1;
                    }
                    arrival => drop(ticket(arrival)),
                }
            }
            if now > 5 * BURST_NS {
                longest = longest.max(admission.waiting());
            }
            running = admission.leave(running, now).remove(0).1;
        }
        drop(running);
        assert!(refused > 1_500, "{refused}");
        // Those who still wait do so for about 100 ms: twenty queries' time.
        assert!((10..=24).contains(&longest), "{longest} wait");
    }

    #[test]
    fn limits_can_be_raised_and_tickets_given_up() {
        let mut admission = limited(1);
        let _running = admitted(admission.arrive(request(), 0));
        let tickets: Vec<_> = (0..3).map(|_| ticket(admission.arrive(request(), 0))).collect();
        assert_eq!(admission.give_up(tickets[0], 0).unwrap().limit, AdmissionLimit::Queries);
        assert_eq!(admission.give_up(tickets[0], 0), None);
        let let_in = admission.configure(AdmissionLimits::default(), 0);
        assert_eq!(let_in.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>(), tickets[1..]);
        assert_eq!(admission.give_up(tickets[1], 0), None);
    }

    #[test]
    fn counts_never_exceed_limits_whatever_happens() {
        // A storm of arrivals, departures and give-ups from a small generator, checked at every step.
        for seed in 1..200u64 {
            let mut state = seed;
            let mut random = |below: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % below
            };
            let mut admission = limited(1 + random(4) as usize);
            let (mut running, mut tickets) = (Vec::new(), Vec::new());
            for step in 0..300 {
                match random(3) {
                    0 | 1 => {
                        let request = AdmissionRequest {
                            normalized_query_hash: random(3),
                            priority: random(3),
                            hash_max: random(3) as usize,
                            hash_wait_max: Duration::from_secs(1000),
                            wait_max: Some(Duration::from_secs(1000)),
                            ..request()
                        };
                        match admission.arrive(request, step * MS) {
                            Arrival::Admitted(admitted) => running.push(admitted),
                            Arrival::Waits(ticket, _) => tickets.push(ticket),
                            Arrival::Refused(_) => {}
                        }
                    }
                    _ if !running.is_empty() => {
                        let at = random(running.len() as u64) as usize;
                        let let_in = admission.leave(running.swap_remove(at), step * MS);
                        tickets.retain(|ticket| let_in.iter().all(|(other, _)| other != ticket));
                        running.extend(let_in.into_iter().map(|(_, admitted)| admitted));
                    }
                    _ => {}
                }
                assert!(admission.running() <= admission.limits().queries_max, "seed {seed}");
                assert_eq!((admission.running(), admission.waiting()), (running.len(), tickets.len()), "seed {seed}");
                let waits_in_vain =
                    admission.waiting.after(None).any(|(_, request)| admission.limit_met(request).is_none());
                assert!(!waits_in_vain, "seed {seed}, step {step}: room, and somebody waits");
            }
        }
    }
}
