//! Admission carried out: `squall_scheduler::admission` decides who runs and who waits, this lets queries wait for it, for as long as
//! they may, and moves the limit that `max_concurrent_queries = auto` asks for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_runtime::current_metrics::MetricGuard;
use squall_runtime::histogram::ADMISSION_QUEUE_WAIT;
use squall_runtime::{CurrentMetric, ProfileEvent, profile_events};
use squall_scheduler::admission::{
    Admission, AdmissionLimit, AdmissionLimits, AdmissionRequest, Admitted, Arrival, AutoLimit, LoadSample, Refusal,
    Ticket,
};
use squall_types::{Error, ErrorCode, Result};
use tokio::sync::oneshot;

/// The longest that a refused client is told to stay away, in seconds.
const RETRY_AFTER_MAX_S: f64 = 60.0;

/// Who runs and who waits, with those that wait.
#[derive(Debug)]
pub struct AdmissionControl {
    state: Mutex<State>,
    epoch: Instant,
}

#[derive(Debug, Default)]
struct State {
    admission: Admission,
    waiters: HashMap<Ticket, oneshot::Sender<Admitted>>,
    auto: Option<Auto>,
}

impl State {
    /// A limit that nobody chose does not refuse at once only because nobody chose a time to wait either.
    fn complete(&self, request: &mut AdmissionRequest) {
        if self.auto.is_some() && request.wait_max.is_some_and(|wait_max| wait_max.is_zero()) {
            request.wait_max = None;
        }
    }
}

#[derive(Debug)]
struct Auto {
    limit: AutoLimit,
    sampled_ns: u64,
    ready_wait_us: u64,
    refusals: u64,
}

impl Default for AdmissionControl {
    fn default() -> Self {
        Self { state: Mutex::default(), epoch: Instant::now() }
    }
}

impl AdmissionControl {
    fn now_ns(&self) -> u64 {
        self.epoch.elapsed().as_nanos() as u64
    }

    /// Waits until a query may run, for at most the time of its own settings.
    ///
    /// # Errors
    /// `TOO_MANY_SIMULTANEOUS_QUERIES`.
    pub async fn admit(self: &Arc<Self>, mut request: AdmissionRequest) -> Result<Place> {
        let (waiter, wait_max) = {
            let mut state = self.state.lock();
            state.complete(&mut request);
            match state.admission.arrive(request, self.now_ns()) {
                Arrival::Admitted(admitted) => return Ok(self.place(admitted)),
                Arrival::Refused(refusal) => return Err(refused(Some(refusal))),
                Arrival::Waits(ticket, wait_max) => {
                    let (sender, receiver) = oneshot::channel();
                    state.waiters.insert(ticket, sender);
                    (Waiter { control: self.clone(), ticket, receiver, is_over: false }, wait_max)
                }
            }
        };
        // In a box: most queries need not wait, and whoever starts a query carries the room for it.
        Box::pin(self.wait(waiter, wait_max)).await
    }

    async fn wait(self: &Arc<Self>, mut waiter: Waiter, wait_max: Duration) -> Result<Place> {
        let _waiting =
            [CurrentMetric::QueryPreempted, CurrentMetric::ConcurrentQueryScheduled].map(|metric| metric.hold(1));
        let began = Instant::now();
        let answer = tokio::time::timeout(wait_max, &mut waiter.receiver).await;
        let waited = began.elapsed();
        ADMISSION_QUEUE_WAIT.observe(waited);
        let waited_us = waited.as_micros() as u64;
        profile_events::GLOBAL.add(ProfileEvent::AdmissionQueueWaitMicroseconds, waited_us);
        profile_events::GLOBAL.add(ProfileEvent::ConcurrentQueryWaitMicroseconds, waited_us);
        let admitted = match answer {
            Ok(Ok(admitted)) => {
                waiter.is_over = true;
                admitted
            }
            Ok(Err(_)) | Err(_) => waiter.give_up().map_err(refused)?,
        };
        Ok(self.place(admitted))
    }

    /// Refuses a query that would be refused if it asked to run, before anything else was done for it.
    ///
    /// # Errors
    /// `TOO_MANY_SIMULTANEOUS_QUERIES`.
    pub fn foresee(&self, mut request: AdmissionRequest) -> Result<()> {
        let mut state = self.state.lock();
        state.complete(&mut request);
        match state.admission.foresee(&request, self.now_ns()) {
            None => Ok(()),
            refusal => Err(refused(refusal)),
        }
    }

    fn place(self: &Arc<Self>, admitted: Admitted) -> Place {
        profile_events::GLOBAL.add(ProfileEvent::ConcurrentQuerySlotsAcquired, 1);
        Place {
            control: self.clone(),
            admitted: Some(admitted),
            _metric: CurrentMetric::ConcurrentQueryAcquired.hold(1),
        }
    }

    fn leave(&self, admitted: Admitted) {
        let mut state = self.state.lock();
        let let_in = state.admission.leave(admitted, self.now_ns());
        self.call_in(&mut state, let_in);
    }

    /// Tells those who were let in. The places of those who have gone meanwhile are passed on.
    fn call_in(&self, state: &mut State, let_in: Vec<(Ticket, Admitted)>) {
        let mut let_in = VecDeque::from(let_in);
        while let Some((ticket, admitted)) = let_in.pop_front() {
            let back = match state.waiters.remove(&ticket) {
                Some(waiter) => waiter.send(admitted).err(),
                None => Some(admitted),
            };
            if let Some(admitted) = back {
                let_in.extend(state.admission.leave(admitted, self.now_ns()));
            }
        }
    }

    /// Puts limits in force; `None` for the number of queries is `auto`, for so many workers.
    pub fn configure(&self, queries_max: Option<usize>, limits: AdmissionLimits, workers: usize) {
        let mut state = self.state.lock();
        let queries_max = match queries_max {
            Some(queries_max) => {
                state.auto = None;
                queries_max
            }
            None => {
                let (sampled_ns, refusals) = (self.now_ns(), state.admission.refusals());
                let auto = state.auto.get_or_insert_with(|| Auto {
                    limit: AutoLimit::new(workers),
                    sampled_ns,
                    ready_wait_us: ready_wait_us(),
                    refusals,
                });
                auto.limit.limit()
            }
        };
        self.set(&mut state, AdmissionLimits { queries_max, ..limits });
    }

    /// Looks at how the server fares and moves the limit of `auto`; without `auto` does nothing.
    pub fn observe(&self) {
        let mut state = self.state.lock();
        let (now_ns, waits, refusals) = (self.now_ns(), state.admission.waiting() > 0, state.admission.refusals());
        let limits = state.admission.limits();
        let Some(auto) = &mut state.auto else { return };
        let ready_wait_us = ready_wait_us();
        let sample = LoadSample {
            elapsed_ns: now_ns - auto.sampled_ns,
            ready_wait_ns: (ready_wait_us - auto.ready_wait_us) * 1000,
            is_limiting: waits || refusals > auto.refusals,
        };
        let queries_max = auto.limit.observe(&sample);
        (auto.sampled_ns, auto.ready_wait_us, auto.refusals) = (now_ns, ready_wait_us, refusals);
        if queries_max != limits.queries_max {
            self.set(&mut state, AdmissionLimits { queries_max, ..limits });
        }
    }

    /// The limits in force.
    pub fn limits(&self) -> AdmissionLimits {
        self.state.lock().admission.limits()
    }

    fn set(&self, state: &mut State, limits: AdmissionLimits) {
        CurrentMetric::AdmissionLimit.set(limits.queries_max as i64);
        let let_in = state.admission.configure(limits, self.now_ns());
        self.call_in(state, let_in);
    }
}

/// The time that queries which could run have waited for a worker, since the server started.
fn ready_wait_us() -> u64 {
    profile_events::GLOBAL.get(ProfileEvent::SchedulerQueueWaitMicroseconds)
}

fn refused(refusal: Option<Refusal>) -> Error {
    let Some(Refusal { limit, maximum, retry_after }) = refusal else {
        return Error::logical("a query is neither admitted nor refused");
    };
    let message = match limit {
        AdmissionLimit::Queries => format!("Too many simultaneous queries. Maximum: {maximum}"),
        AdmissionLimit::Selects => format!("Too many simultaneous select queries. Maximum: {maximum}"),
        AdmissionLimit::Inserts => format!("Too many simultaneous insert queries. Maximum: {maximum}"),
        AdmissionLimit::User => format!("Too many simultaneous queries for user. Maximum: {maximum}"),
        AdmissionLimit::AllUsers => format!("Too many simultaneous queries for all users. Maximum: {maximum}"),
        AdmissionLimit::NormalizedQueryHash => format!(
            "Too many simultaneous queries with the same normalized query hash. Maximum: {maximum} \
             (max_concurrent_queries_for_normalized_query_hash)"
        ),
        AdmissionLimit::Waiting => format!("Too many waiting queries. Maximum: {maximum}"),
    };
    let error = Error::new(ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, message);
    let seconds = retry_after.map_or(1.0, |after| after.as_secs_f64().ceil());
    error.with_retry_after_s(seconds.clamp(1.0, RETRY_AFTER_MAX_S) as u32)
}

/// A query that waits. Dropped when its client goes away, it gives up.
struct Waiter {
    control: Arc<AdmissionControl>,
    ticket: Ticket,
    receiver: oneshot::Receiver<Admitted>,
    is_over: bool,
}

impl Waiter {
    /// Waits no longer. A place that was given at this very moment is taken all the same.
    fn give_up(&mut self) -> Result<Admitted, Option<Refusal>> {
        self.is_over = true;
        // Places are given under this lock: after it either none was given, or it is in the channel.
        let mut state = self.control.state.lock();
        state.waiters.remove(&self.ticket);
        match state.admission.give_up(self.ticket, self.control.now_ns()) {
            Some(refusal) => Err(Some(refusal)),
            None => self.receiver.try_recv().map_err(|_| None),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if !self.is_over
            && let Ok(admitted) = self.give_up()
        {
            self.control.leave(admitted);
        }
    }
}

/// A query's right to run; dropping it lets the next one in.
#[derive(Debug)]
pub struct Place {
    control: Arc<AdmissionControl>,
    admitted: Option<Admitted>,
    _metric: MetricGuard,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(admitted) = self.admitted.take() {
            self.control.leave(admitted);
        }
    }
}
