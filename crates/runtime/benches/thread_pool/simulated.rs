//! The queue of a thread pool beyond the cores of this machine: one lock, a lock-free queue, and 16 locks, simulated step by step at 2 to 256
//! cores from what cache lines cost. Each core works for a while, puts a job in, takes one out, and works again; what is asked is which share of
//! its time it works. Deterministic; needs no machine but this one. How a lock-free queue fares depends on whether a core still has the line that
//! it has looked at when it tries to change it: once always, so that no try fails, and once never, so that of all who have looked one succeeds.
//! Machines lie in between. Left out are a queue's memory, and wake-ups, which all need alike.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What things cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Putting in and taking out, everything in the core's own cache: measured by `directions` on one thread.
    locked_ns: f64,
    lock_free_ns: f64,
    /// A cache line that another core wrote last, in the same socket and in another.
    near_ns: f64,
    far_ns: f64,
    /// Who waits longer for a lock than this goes to sleep.
    spin_ns: f64,
    /// What waking him costs who does it, and when he runs: measured by `directions`.
    wake_ns: f64,
    wake_up_ns: f64,
}

const COSTS: Costs = Costs {
    locked_ns: 21.0,
    lock_free_ns: 29.0,
    near_ns: 60.0,
    far_ns: 150.0,
    spin_ns: 2_000.0,
    wake_ns: 1_500.0,
    wake_up_ns: 5_000.0,
};
/// Cores of a socket.
const SOCKET: usize = 64;
/// Simulated time of a run.
const RUN_NS: f64 = 20_000_000.0;
const SHARDS: usize = 16;

/// The queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    /// So many locks, one of them chosen at random.
    Locks(usize),
    /// Whether a core loses the line between its look and its try.
    LockFree { loses_line: bool },
}

/// What a core does next.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Event {
    /// Its work is done: the operation begins.
    Arrive,
    /// It has what it waited for: the lock, or the line.
    Granted,
    /// It was woken and tries again.
    Awake,
}

/// A lock, or a cache line that one core has at a time.
#[derive(Debug, Default)]
struct Resource {
    holder: Option<usize>,
    last: usize,
    spinning: VecDeque<(usize, f64)>,
    sleeping: VecDeque<usize>,
    version: u64,
}

/// Where a core is in a lock-free operation: two compare-and-swaps, each a load and then a try.
#[derive(Clone, Copy, Debug, Default)]
struct Attempt {
    line: usize,
    seen: Option<u64>,
    failures: u32,
}

struct Simulation {
    costs: Costs,
    queue: Queue,
    work_ns: f64,
    events: BinaryHeap<Reverse<(u64, usize)>>,
    next: Vec<Event>,
    resources: Vec<Resource>,
    attempts: Vec<Attempt>,
    chosen: Vec<usize>,
    worked_ns: f64,
    random: u64,
}

impl Simulation {
    fn new(queue: Queue, cores: usize, work_ns: f64, costs: Costs) -> Self {
        let count = match queue {
            Queue::Locks(locks) => locks,
            // The queue's head and its tail.
            Queue::LockFree { .. } => 2,
        };
        let mut simulation = Self {
            costs,
            queue,
            work_ns,
            events: BinaryHeap::new(),
            next: vec![Event::Arrive; cores],
            resources: (0..count).map(|_| Resource::default()).collect(),
            attempts: vec![Attempt::default(); cores],
            chosen: vec![0; cores],
            worked_ns: 0.0,
            random: 1,
        };
        for core in 0..cores {
            simulation.work(core, 0.0);
        }
        simulation
    }

    fn random(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ((self.random >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn at(&mut self, time: f64, core: usize, event: Event) {
        self.next[core] = event;
        self.events.push(Reverse(((time * 1_000.0) as u64, core)));
    }

    /// The core works for a time that differs from job to job.
    fn work(&mut self, core: usize, now: f64) {
        let time = -self.random().ln() * self.work_ns;
        self.worked_ns += time.min((RUN_NS - now).max(0.0));
        self.at(now + time, core, Event::Arrive);
    }

    /// How long the line of a resource is on its way to a core.
    fn transfer_ns(&self, resource: usize, core: usize) -> f64 {
        match self.resources[resource].last {
            last if last == core => 0.0,
            last if last / SOCKET == core / SOCKET => self.costs.near_ns,
            _ => self.costs.far_ns,
        }
    }

    /// Gives a resource to a core; it has it once its line has come.
    fn grant(&mut self, resource: usize, core: usize, now: f64) {
        let time = now + self.transfer_ns(resource, core);
        self.resources[resource].holder = Some(core);
        self.resources[resource].last = core;
        self.at(time, core, Event::Granted);
    }

    fn ask(&mut self, resource: usize, core: usize, now: f64) {
        self.chosen[core] = resource;
        match self.resources[resource].holder {
            None => self.grant(resource, core, now),
            Some(_) => self.resources[resource].spinning.push_back((core, now)),
        }
    }

    /// The holder lets go; the time that this takes it.
    fn release(&mut self, resource: usize, now: f64) -> f64 {
        self.resources[resource].holder = None;
        if let Queue::Locks(_) = self.queue {
            // Who has waited too long by now went to sleep long ago.
            while let Some((core, since)) = self.resources[resource].spinning.front().copied()
                && now - since > self.costs.spin_ns
            {
                self.resources[resource].spinning.pop_front();
                self.resources[resource].sleeping.push_back(core);
            }
        }
        if let Some((core, _)) = self.resources[resource].spinning.pop_front() {
            self.grant(resource, core, now);
        }
        match self.resources[resource].sleeping.pop_front() {
            Some(core) => {
                self.at(now + self.costs.wake_up_ns, core, Event::Awake);
                self.costs.wake_ns
            }
            None => 0.0,
        }
    }

    /// The share of the cores' time in which they worked.
    fn run(mut self) -> f64 {
        let cores = self.next.len();
        while let Some(Reverse((time, core))) = self.events.pop() {
            let now = time as f64 / 1_000.0;
            if now > RUN_NS {
                break;
            }
            match (self.queue, self.next[core]) {
                (Queue::Locks(locks), Event::Arrive) => {
                    let lock = (self.random() * locks as f64) as usize;
                    self.ask(lock, core, now);
                }
                (Queue::Locks(_), Event::Awake) => self.ask(self.chosen[core], core, now),
                (Queue::Locks(_), Event::Granted) => {
                    // The lock's line is here; the queue's own comes from the same core.
                    let held = self.costs.locked_ns + self.costs.near_ns * f64::from(u8::from(cores > 1));
                    let after = now + held;
                    let waking = self.release(self.chosen[core], after);
                    self.work(core, after + waking);
                }
                (Queue::LockFree { loses_line }, Event::Granted) => {
                    if !loses_line {
                        self.attempts[core].seen = Some(self.resources[self.attempts[core].line].version);
                    }
                    self.step(core, now);
                }
                (Queue::LockFree { .. }, _) => {
                    let line = self.attempts[core].line;
                    self.ask(line, core, now);
                }
            }
        }
        self.worked_ns / (RUN_NS * cores as f64)
    }

    /// A core has the line of the head or the tail: it looks, or tries what it has seen.
    fn step(&mut self, core: usize, now: f64) {
        let Attempt { line, seen, failures } = self.attempts[core];
        let done = now + self.costs.lock_free_ns / 4.0;
        let version = self.resources[line].version;
        match seen {
            None => {
                self.attempts[core].seen = Some(version);
                self.release(line, done);
                self.at(done, core, Event::Awake);
            }
            Some(before) if before == version => {
                self.resources[line].version += 1;
                self.release(line, done);
                match line {
                    0 => {
                        self.attempts[core] = Attempt { line: 1, ..Attempt::default() };
                        self.at(done, core, Event::Awake);
                    }
                    _ => {
                        self.attempts[core] = Attempt::default();
                        self.work(core, done);
                    }
                }
            }
            Some(_) => {
                self.release(line, done);
                // Longer after each failure, as crossbeam waits.
                let pause = f64::from(1_u32 << failures.min(6)) * 2.0;
                self.attempts[core] = Attempt { line, seen: None, failures: failures + 1 };
                self.at(done + pause, core, Event::Awake);
            }
        }
    }
}

/// The share of time worked by each queue, by cores and the length of jobs.
pub fn run() {
    println!("Queues, simulated: the share of time that cores work, in percent\n");
    println!("{COSTS:?}, sockets of {SOCKET}\n");
    for work_us in [1.0, 10.0, 100.0] {
        println!(
            "{:<42} {}",
            format!("jobs of {work_us} µs on so many cores:"),
            CORES.map(|cores| format!("{cores:>7}")).concat()
        );
        for (name, queue) in [
            ("one lock (ours)", Queue::Locks(1)),
            ("lock-free, no try fails", Queue::LockFree { loses_line: false }),
            ("lock-free, one of all tries succeeds", Queue::LockFree { loses_line: true }),
            ("16 shards, a lock each", Queue::Locks(SHARDS)),
        ] {
            let share = |cores| Simulation::new(queue, cores, work_us * 1e3, COSTS).run() * 100.0;
            println!("{name:<42} {}", CORES.map(|cores| format!("{:>7.1}", share(cores))).concat());
        }
        println!();
    }
}

const CORES: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
