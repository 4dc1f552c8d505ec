//! The threads that run a load, the tasks on them, and the one clock that tells all of them when it counts.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::arrivals::{Arrivals, Schedule, Timer};
use super::client::{Client, Prepared};
use super::cpu::{CpuTicks, Effort, ThreadTime};
use super::measurement::Measurement;
use super::patience::Patience;
use super::{Gaps, Load, Order, Outcome, Pace, prepare};
use crate::datagen::Random;
use squall_native::Summary;
use squall_native::{Failure, FailureKind};

/// Connections that all threads together open at once before the load begins. More would overflow the queue in which a server takes them, 64 long in
/// ClickHouse: what does not fit is sent again by TCP only after a second, then after two, four and so on.
const OPENING_MAX: usize = 48;
/// After a connection that failed its client waits this long, twice as long after each further one, up to the second.
const BACK_OFF: Duration = Duration::from_millis(1);
const BACK_OFF_MAX: Duration = Duration::from_millis(250);
/// After so many requests that are due at once the dispatcher lets the clients run.
const DUE_AT_ONCE: u32 = 64;
/// A connection that rested this long is looked at before it is used.
const REST: Duration = Duration::from_millis(100);
/// Descriptors for everything but the load's connections.
const OTHER_FILES: u64 = 64;

/// When what happens counts.
#[derive(Debug, Clone, Copy)]
struct Timeline {
    begin: Instant,
    counts_from: Instant,
    until: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Preparing,
    Running(Timeline),
    Aborted,
}

/// What the clients of a load share.
struct Shared {
    load: Load,
    classes: Vec<String>,
    /// By stream and statement, one for each endpoint.
    statements: Vec<Vec<Vec<Arc<Prepared>>>>,
    /// Requests that were begun and count.
    begun: AtomicU64,
    failures_in_a_row: AtomicU64,
    is_broken_off: AtomicBool,
    stop: AtomicBool,
    recorders: Vec<Mutex<Recorder>>,
    phase: watch::Sender<Phase>,
}

/// What one thread has measured, by class: in all, and since somebody last looked.
#[derive(Default)]
struct Recorder {
    total: Vec<Measurement>,
    interval: Option<Vec<Measurement>>,
    /// By class, answers that came while it counted, whenever their requests were sent.
    within: Vec<u64>,
    idle_open: usize,
}

/// A load under way. Dropped, it is broken off.
pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    ended: mpsc::UnboundedReceiver<(ThreadTime, Duration)>,
    times: Vec<(ThreadTime, Duration)>,
    ticks: CpuTicks,
    begun: Instant,
}

impl Load {
    /// Opens the connections and begins.
    ///
    /// # Errors
    /// More connections than the system allows; threads that cannot be made; with `failures_max` 1, a connection that fails.
    pub async fn start(self) -> Result<Running> {
        let bad = |what: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, what));
        if self.streams.iter().any(|stream| stream.statements.is_empty() || stream.endpoints.is_empty()) {
            return bad("A load without statements");
        }
        if self
            .streams
            .iter()
            .any(|stream| matches!(stream.pace, Pace::Open { rate, .. } if !(rate > 0.0 && rate < 1e9)))
        {
            return bad("A rate must be above zero");
        }
        let connections = self.streams.iter().map(super::Stream::connections_max).sum::<usize>();
        allow_files((connections + self.idle_connections) as u64 + OTHER_FILES)?;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let useful = connections.max(self.idle_connections / OPENING_MAX).max(1);
        let threads = self.threads.unwrap_or(cpus).clamp(1, useful);
        let classes = self.classes();
        let statements = self.streams.iter().map(|stream| prepare(&self, stream, &classes)).collect();
        let recorder = || {
            Mutex::new(Recorder {
                total: vec![Measurement::default(); classes.len()],
                within: vec![0; classes.len()],
                ..Recorder::default()
            })
        };
        let shared = Arc::new(Shared {
            recorders: (0..threads).map(|_| recorder()).collect(),
            statements,
            begun: AtomicU64::new(0),
            failures_in_a_row: AtomicU64::new(0),
            is_broken_off: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            phase: watch::Sender::new(Phase::Preparing),
            classes: classes.clone(),
            load: self,
        });
        let (ready, mut readiness) = mpsc::unbounded_channel();
        let (end, ended) = mpsc::unbounded_channel();
        let mut running = Running {
            shared: shared.clone(),
            threads: Vec::with_capacity(threads),
            ended,
            times: Vec::new(),
            ticks: CpuTicks::default(),
            begun: Instant::now(),
        };
        for number in 0..threads {
            let (shared, ready, end) = (shared.clone(), ready.clone(), end.clone());
            let thread = std::thread::Builder::new().name("LoadGenerator".to_owned()).spawn(move || {
                // What cannot be sent has nobody left who wants to know.
                if let Err(error) = run_thread(&shared, number, &ready, &end) {
                    let _ = ready.send(Err(error));
                }
            });
            running
                .threads
                .push(thread.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?);
        }
        drop(ready);
        for _ in 0..threads {
            readiness.recv().await.unwrap_or_else(|| Err(Error::logical("A load generator's thread has ended")))?;
        }
        let begin = Instant::now();
        let counts_from = begin + shared.load.warm_up;
        // A hundred years without a limit.
        let duration = shared.load.limit.duration.unwrap_or(Duration::from_secs(100 * 365 * 24 * 3600));
        running.begun = counts_from;
        running.ticks = CpuTicks::now();
        shared.phase.send_replace(Phase::Running(Timeline { begin, counts_from, until: counts_from + duration }));
        Ok(running)
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// As [`Load::start`]. Requests that fail are counted.
    pub async fn run(self) -> Result<Outcome> {
        let mut running = self.start().await?;
        running.wait().await;
        Ok(running.finish())
    }
}

impl Running {
    /// Waits until all requests have ended; broken off, it can be called again.
    pub async fn wait(&mut self) {
        while self.times.len() < self.threads.len() {
            match self.ended.recv().await {
                Some(time) => self.times.push(time),
                None => return,
            }
        }
    }

    /// Lets no further request begin.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// What was measured since the last call, by class; the time is the caller's business.
    pub fn take_interval(&self) -> Vec<(String, Measurement)> {
        let fresh = || vec![Measurement::default(); self.shared.classes.len()];
        let mut sum = fresh();
        for recorder in &self.shared.recorders {
            // The first call finds what there is from the beginning on.
            let mut recorder = recorder.lock();
            let total = recorder.total.clone();
            let interval = recorder.interval.replace(fresh()).unwrap_or(total);
            drop(recorder);
            sum.iter_mut().zip(&interval).for_each(|(sum, interval)| sum.merge(interval));
        }
        self.shared.classes.iter().cloned().zip(sum).collect()
    }

    /// Requests that have ended and count.
    pub fn ended(&self) -> u64 {
        let of_recorder = |recorder: &Mutex<Recorder>| -> u64 {
            recorder.lock().total.iter().map(|measurement| measurement.answers() + measurement.failures()).sum()
        };
        self.shared.recorders.iter().map(of_recorder).sum()
    }

    /// What became of the load, after [`Running::wait`].
    pub fn finish(self) -> Outcome {
        let elapsed = self.begun.elapsed();
        let machine = CpuTicks::now().since(self.ticks);
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let load = &self.shared.load;
        let mut classes: Vec<(String, Measurement)> =
            self.shared.classes.iter().map(|class| (class.clone(), Measurement::default())).collect();
        let mut idle_open = 0;
        for recorder in &self.shared.recorders {
            let recorder = recorder.lock();
            idle_open += recorder.idle_open;
            for ((_, sum), (total, within)) in classes.iter_mut().zip(recorder.total.iter().zip(&recorder.within)) {
                sum.merge(total);
                sum.within = Some(sum.within.unwrap_or(0) + within);
            }
        }
        let is_stopped = self.shared.stop.load(Ordering::Relaxed);
        for (_, measurement) in &mut classes {
            match load.limit.duration {
                // Requests so long that few end within the time are better counted to the end of the last one.
                Some(duration) if !is_stopped && measurement.within.unwrap_or(0) >= measurement.answers() / 2 => {
                    measurement.elapsed = duration;
                }
                _ => (measurement.elapsed, measurement.within) = (elapsed, None),
            }
        }
        let there = load.warm_up + elapsed;
        Outcome {
            effort: Effort::new(&self.times, machine, there, cpus),
            classes,
            elapsed,
            idle_open,
            idle_asked: load.idle_connections,
            is_broken_off: self.shared.is_broken_off.load(Ordering::Relaxed),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        self.shared.phase.send_replace(Phase::Aborted);
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Raises this process's limit of open files as far as it may.
fn allow_files(needed: u64) -> Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours and lives through the calls; so below.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 || limit.rlim_cur >= needed {
        return Ok(());
    }
    if limit.rlim_max < needed {
        let message = format!(
            "{needed} open files are needed and {} are allowed (ulimit -Hn): ask for fewer connections or allow more",
            limit.rlim_max
        );
        return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, message));
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
        let message = format!("The limit of open files cannot be raised: {}", std::io::Error::last_os_error());
        return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, message));
    }
    Ok(())
}

type Ready = mpsc::UnboundedSender<Result<()>>;
type End = mpsc::UnboundedSender<(ThreadTime, Duration)>;

/// One thread of the generator: its share of all clients, from their connections to their last answers.
fn run_thread(shared: &Arc<Shared>, number: usize, ready: &Ready, end: &End) -> Result<()> {
    let failed = |error: std::io::Error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let mut phase = shared.phase.subscribe();
    runtime.block_on(async {
        tokio::select! {
            outcome = drive(shared, number, ready, end) => outcome,
            _ = phase.wait_for(|phase| matches!(phase, Phase::Aborted)) => Ok(()),
        }
    })
}

async fn drive(shared: &Arc<Shared>, thread: usize, ready: &Ready, end: &End) -> Result<()> {
    let threads = shared.recorders.len();
    let own = |all: usize| all / threads + usize::from(thread < all % threads);
    let idle = open_idle(shared, own(shared.load.idle_connections)).await;
    let mut opened = Vec::new();
    for (number, stream) in shared.load.streams.iter().enumerate() {
        if let Pace::Closed { clients } = stream.pace {
            opened.push((number, open(shared, number, own(clients)).await?));
        }
    }
    let _ = ready.send(Ok(()));
    let timeline = loop {
        let mut phase = shared.phase.subscribe();
        let found = *phase.borrow_and_update();
        match found {
            Phase::Running(timeline) => break timeline,
            Phase::Aborted => return Ok(()),
            Phase::Preparing => drop(phase.changed().await),
        }
    };
    let before = ThreadTime::now();
    let mut tasks = JoinSet::new();
    let mut seed = thread as u64;
    let mut random = || {
        seed += threads as u64;
        Random::new(shared.load.seed, seed)
    };
    for (stream, clients) in opened {
        for sessions in clients {
            let user = User::new(shared.clone(), stream, thread, sessions, random());
            tasks.spawn(user.send_in_turn(timeline));
        }
    }
    for (number, stream) in shared.load.streams.iter().enumerate() {
        if let Pace::Open { rate, gaps, connections_max } = stream.pace {
            let plan = OpenPlan { rate: rate / threads as f64, gaps, clients_max: own(connections_max) };
            let (shared, random) = (shared.clone(), random());
            tasks.spawn(async move {
                if let Err(error) = dispatch(&shared, number, thread, plan, timeline, random).await {
                    eprintln!("The open loop has no timer: {error}");
                }
            });
        }
    }
    while tasks.join_next().await.is_some() {}
    shared.recorders[thread].lock().idle_open = idle.into_iter().filter(|client| !client.is_stale()).count();
    let _ = end.send((ThreadTime::now().since(before), timeline.begin.elapsed()));
    Ok(())
}

/// One thread's share of the connections that are opened at once.
fn opening_permits(shared: &Shared) -> Arc<Semaphore> {
    Arc::new(Semaphore::new((OPENING_MAX / shared.recorders.len()).max(1)))
}

/// Opens the connections of a stream's clients on this thread, a few at once, for as long as one request may take.
async fn open(shared: &Arc<Shared>, stream: usize, clients: usize) -> Result<Vec<Vec<Client>>> {
    let permits = opening_permits(shared);
    let mut opening = JoinSet::new();
    let deadline = Instant::now() + shared.load.timeout;
    for _ in 0..clients {
        let (shared, permits) = (shared.clone(), permits.clone());
        opening.spawn(async move {
            let _permit = permits.acquire().await;
            let mut sessions = Vec::new();
            for prepared in shared.statements[stream].first().into_iter().flatten() {
                let mut client = Client::default();
                if prepared.keeps_alive() {
                    match by(deadline, shared.load.timeout, client.connect(prepared)).await {
                        // Otherwise it is tried again, and counted, with the first request.
                        Err(failure) if shared.load.failures_max == Some(1) => return Err(failure.error),
                        _ => {}
                    }
                }
                sessions.push(client);
            }
            Ok(sessions)
        });
    }
    let mut opened = Vec::with_capacity(clients);
    while let Some(sessions) = opening.join_next().await {
        opened.push(sessions.map_err(|error| Error::logical(error.to_string()))??);
    }
    Ok(opened)
}

/// Opens connections that stay idle, for as long as one request may take: each was used once, so that the server knows whose it is.
async fn open_idle(shared: &Arc<Shared>, count: usize) -> Vec<Client> {
    let permits = opening_permits(shared);
    let mut opening = JoinSet::new();
    let deadline = Instant::now() + shared.load.timeout;
    for number in 0..count {
        let (shared, permits) = (shared.clone(), permits.clone());
        opening.spawn(async move {
            let _permit = permits.acquire().await;
            let mut client = Client::default();
            if let Some(prepared) = shared.statements.first().and_then(|of_stream| of_stream.first()?.first()) {
                let mut random = Random::new(shared.load.seed, number as u64);
                if by(deadline, shared.load.timeout, client.perform(prepared, &mut random)).await.is_err() {
                    client.disconnect();
                }
            }
            client
        });
    }
    let mut idle = Vec::with_capacity(count);
    while let Some(client) = opening.join_next().await {
        idle.extend(client.ok().filter(Client::is_connected));
    }
    idle
}

fn timed_out(timeout: Duration) -> Failure {
    Failure::new(FailureKind::Timeout, Error::new(ErrorCode::SOCKET_TIMEOUT, format!("No answer in {timeout:?}")))
}

/// What the future gives until the deadline, which is `timeout` after the beginning.
async fn by<T>(
    deadline: Instant,
    timeout: Duration,
    future: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout_at(deadline.into(), future).await.unwrap_or_else(|_| Err(timed_out(timeout)))
}

/// One who sends requests of a stream, one at a time.
struct User {
    shared: Arc<Shared>,
    stream: usize,
    thread: usize,
    /// One for each endpoint.
    sessions: Vec<Client>,
    random: Random,
    /// The weights of the statements so far, of which the last is all.
    weights: Vec<f64>,
    back_off: Duration,
    last_used: Instant,
}

impl User {
    fn new(shared: Arc<Shared>, stream: usize, thread: usize, sessions: Vec<Client>, random: Random) -> Self {
        let mut sum = 0.0;
        let weigh = |statement: &super::Statement| {
            sum += statement.weight;
            sum
        };
        let weights = shared.load.streams[stream].statements.iter().map(weigh).collect();
        User { shared, stream, thread, sessions, random, weights, back_off: BACK_OFF, last_used: Instant::now() }
    }

    /// The closed loop: the next request when the last one has ended.
    async fn send_in_turn(mut self, timeline: Timeline) {
        let timeout = self.shared.load.timeout;
        let mut now = Instant::now();
        let mut patience = Patience::new(now + timeout);
        while now < timeline.until {
            let counts = now >= timeline.counts_from;
            let Some(sequence) = self.shared.begin(counts) else { break };
            let begun = now;
            let (class, outcome) = self.send(sequence, begun + timeout, &mut patience).await;
            now = Instant::now();
            self.shared.record(self.thread, class, (begun, now), timeline, &outcome);
            if matches!(&outcome, Err(failure) if failure.kind == FailureKind::Connect) {
                tokio::time::sleep(self.back_off).await;
                self.back_off = (self.back_off * 2).min(BACK_OFF_MAX);
                now = Instant::now();
            } else {
                self.back_off = BACK_OFF;
            }
        }
    }

    /// The open loop: the next request that is due.
    async fn send_as_due(mut self, arrivals: Arc<Arrivals>, timeline: Timeline) {
        let timeout = self.shared.load.timeout;
        let mut patience = Patience::new(Instant::now() + timeout);
        while let Some(due) = arrivals.next().await {
            let counts = due >= timeline.counts_from;
            let Some(sequence) = self.shared.begin(counts) else { break };
            if self.last_used.elapsed() > REST {
                self.sessions.iter_mut().for_each(Client::disconnect_if_stale);
            }
            let (class, outcome) = self.send(sequence, due + timeout, &mut patience).await;
            self.last_used = Instant::now();
            self.shared.record(self.thread, class, (due, self.last_used), timeline, &outcome);
        }
    }

    /// Sends one request and waits for its end; returns its class.
    async fn send(
        &mut self,
        sequence: u64,
        deadline: Instant,
        patience: &mut Patience,
    ) -> (usize, Result<Summary, Failure>) {
        let statements = &self.shared.statements[self.stream];
        let statement = match self.shared.load.streams[self.stream].order {
            _ if statements.len() == 1 => 0,
            Order::InTurn => (sequence % statements.len() as u64) as usize,
            Order::Weighted => {
                let all = self.weights.last().copied().unwrap_or(0.0);
                let drawn = self.random.unit() * all;
                self.weights.partition_point(|&weight| weight <= drawn).min(statements.len() - 1)
            }
        };
        let endpoints = &statements[statement];
        let endpoint = if endpoints.len() == 1 { 0 } else { self.random.below(endpoints.len() as u64) as usize };
        let (prepared, session) = (&endpoints[endpoint], &mut self.sessions[endpoint]);
        let outcome = match patience.within(deadline, session.perform(prepared, &mut self.random)).await {
            Some(outcome) => outcome,
            None => {
                session.disconnect();
                Err(timed_out(self.shared.load.timeout))
            }
        };
        (prepared.class, outcome)
    }
}

impl Shared {
    /// Whether a request may begin; then the number of requests before it.
    fn begin(&self, counts: bool) -> Option<u64> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        if !counts {
            return Some(0);
        }
        let in_turn = self.load.streams.iter().any(|stream| stream.order == Order::InTurn);
        if self.load.limit.requests.is_none() && !in_turn {
            return Some(0);
        }
        let sequence = self.begun.fetch_add(1, Ordering::Relaxed);
        self.load.limit.requests.is_none_or(|limit| sequence < limit).then_some(sequence)
    }

    /// Whether as many requests have begun as there may be.
    fn all_have_begun(&self) -> bool {
        self.load.limit.requests.is_some_and(|limit| self.begun.load(Ordering::Relaxed) >= limit)
    }

    /// A request that began, or was due, at the first moment has ended at the second.
    fn record(
        &self,
        thread: usize,
        class: usize,
        (begun, ended): (Instant, Instant),
        timeline: Timeline,
        outcome: &Result<Summary, Failure>,
    ) {
        // An answer that the generator itself came to see too late is late all the same.
        let timeout = self.load.timeout;
        let late = (outcome.is_ok() && ended - begun > timeout).then(|| Err(timed_out(timeout)));
        let outcome = late.as_ref().unwrap_or(outcome);
        let mut recorder = self.recorders[thread].lock();
        if outcome.is_ok() && (timeline.counts_from..timeline.until).contains(&ended) {
            recorder.within[class] += 1;
        }
        if begun >= timeline.counts_from {
            recorder.total[class].record(ended - begun, outcome);
            if let Some(interval) = &mut recorder.interval {
                interval[class].record(ended - begun, outcome);
            }
        }
        drop(recorder);
        if let Some(most) = self.load.failures_max {
            let in_a_row = match outcome {
                Ok(_) => {
                    self.failures_in_a_row.store(0, Ordering::Relaxed);
                    0
                }
                Err(_) => self.failures_in_a_row.fetch_add(1, Ordering::Relaxed) + 1,
            };
            if in_a_row >= most.max(1) {
                self.is_broken_off.store(true, Ordering::Relaxed);
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// One thread's share of an open loop.
#[derive(Debug, Clone, Copy)]
struct OpenPlan {
    rate: f64,
    gaps: Gaps,
    clients_max: usize,
}

/// Lets requests come when they are due, with a further client wherever none is free.
async fn dispatch(
    shared: &Arc<Shared>,
    stream: usize,
    thread: usize,
    plan: OpenPlan,
    timeline: Timeline,
    mut random: Random,
) -> std::io::Result<()> {
    let arrivals = Arc::new(Arrivals::default());
    let timer = Timer::new()?;
    let mut schedule = Schedule::new(timeline.begin, plan.rate, plan.gaps, Random::new(random.bits(), stream as u64));
    let mut clients = JoinSet::new();
    let timeout = shared.load.timeout;
    // The class of requests that find no client in time: that of the first statement.
    let class = shared.statements[stream].first().and_then(|of| of.first()).map_or(0, |prepared| prepared.class);
    let give_up = |now: Instant| {
        for due in now.checked_sub(timeout).map(|moment| arrivals.expire(moment)).unwrap_or_default() {
            shared.record(thread, class, (due, now), timeline, &Err(timed_out(timeout)));
        }
    };
    let mut at_once = 0;
    loop {
        let due = schedule.next_due();
        if due >= timeline.until || shared.stop.load(Ordering::Relaxed) || shared.all_have_begun() {
            break;
        }
        let now = Instant::now();
        if due > now {
            timer.until(due).await?;
            at_once = 0;
        } else {
            at_once += 1;
            if at_once % DUE_AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
        }
        give_up(now);
        if !arrivals.push(due) && clients.len() < plan.clients_max.max(1) {
            let sessions = shared.load.streams[stream].endpoints.iter().map(|_| Client::default()).collect();
            let random = Random::new(random.bits(), clients.len() as u64);
            let user = User::new(shared.clone(), stream, thread, sessions, random);
            clients.spawn(user.send_as_due(arrivals.clone(), timeline));
        }
    }
    arrivals.close();
    while clients.join_next().await.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests;
