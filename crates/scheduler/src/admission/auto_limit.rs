//! `max_concurrent_queries = auto`: a limit found by feedback. The right number of running queries is the smallest that leaves no
//! worker without work: more of them add no throughput and only wait for each other. What is measured is the work that
//! gets done, by whether queries that could run had to wait for a worker, and how long.
//!
//! Source: the throughput-latency product of Little's law, as ClickHouse's issue #84983 asks for it; the additive and multiplicative
//! steps are those of congestion control (Chiu, Jain, 1989), so that the limit settles from both sides. Pure.

/// Ready queries per worker at which a further one could add nothing.
const READY_MAX: f64 = 2.0;
/// Ready queries per worker below which a worker may soon find none.
const READY_MIN: f64 = 1.0;
/// The share by which the limit falls in one step.
const FALL: f64 = 0.1;
/// The share by which the limit rises in one step, at least by one.
const RISE: f64 = 0.1;

/// What happened since the last sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadSample {
    /// The time that was sampled.
    pub elapsed_ns: u64,
    /// Summed over all queries: how long each could have run and no worker was free for it.
    pub ready_wait_ns: u64,
    /// The limit kept somebody waiting, or had somebody refused.
    pub is_limiting: bool,
}

/// The limit and how it moves.
#[derive(Clone, Copy, Debug)]
pub struct AutoLimit {
    workers: f64,
    limit: f64,
}

impl AutoLimit {
    /// The limit to begin with, for so many workers.
    pub fn new(workers: usize) -> Self {
        let workers = workers.max(1) as f64;
        Self { workers, limit: workers * (1.0 + READY_MAX) }
    }

    /// The limit now: queries that may run at once.
    pub fn limit(&self) -> usize {
        self.limit as usize
    }

    /// Takes note of a sample; gives the limit from now on.
    pub fn observe(&mut self, sample: &LoadSample) -> usize {
        // A limit that nobody meets says nothing about itself.
        if sample.is_limiting && sample.elapsed_ns > 0 {
            let ready = sample.ready_wait_ns as f64 / sample.elapsed_ns as f64;
            if ready > self.workers * READY_MAX {
                self.limit -= (self.limit * FALL).min(ready - self.workers * READY_MAX);
            } else if ready < self.workers * READY_MIN {
                self.limit += (self.limit * RISE).max(1.0);
            }
            self.limit = self.limit.clamp(self.workers + 1.0, 1e6);
        }
        self.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server of `workers` under more queries than it can carry: each works for `work_ms`, then holds its place for `idle_ms` (a
    /// client that takes its time). Gives the limit that is found and the share of the workers' time that was worked.
    fn settle(workers: usize, work_ms: f64, idle_ms: f64, begin: usize) -> (usize, f64) {
        let mut limit = AutoLimit { limit: begin as f64, ..AutoLimit::new(workers) };
        let mut worked = 0.0;
        for step in 0..400 {
            // In equilibrium either the workers are busy and the rest is ready, or the places are all held by idle ones.
            let running = limit.limit() as f64;
            let busy = (running * work_ms / (work_ms + idle_ms)).min(workers as f64);
            let idle = busy * idle_ms / work_ms;
            let ready = (running - busy - idle).max(0.0);
            if step >= 200 {
                worked += busy / workers as f64 / 200.0;
            }
            let sample = LoadSample { elapsed_ns: 1_000_000, ready_wait_ns: (ready * 1e6) as u64, is_limiting: true };
            let _ = limit.observe(&sample);
        }
        (limit.limit(), worked)
    }

    #[test]
    fn the_limit_keeps_every_worker_busy_and_no_more() {
        for workers in [1, 2, 16, 128] {
            for idle_ms in [0.0, 1.0, 50.0] {
                for begin in [1, 1000, 100_000] {
                    let (limit, worked) = settle(workers, 5.0, idle_ms, begin);
                    assert!(worked > 0.95, "{workers} workers, {idle_ms} ms: {worked} of their time");
                    let needed = workers as f64 * (1.0 + idle_ms / 5.0);
                    let most = (needed + workers as f64 * (READY_MAX + READY_MIN)) * 1.2 + 2.0;
                    assert!((limit as f64) <= most, "{workers} workers, {idle_ms} ms, from {begin}: {limit} > {most}");
                }
            }
        }
    }

    #[test]
    fn a_limit_that_nobody_meets_stays() {
        let mut limit = AutoLimit::new(4);
        let before = limit.limit();
        assert_eq!(limit.observe(&LoadSample { elapsed_ns: 1, ..LoadSample::default() }), before);
    }
}
