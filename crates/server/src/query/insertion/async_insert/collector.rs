//! When the collected data of INSERTs of one form are due to be written. It decides alone: time comes in as an argument.

use std::time::{Duration, Instant};

use squall_types::Settings;

/// The bounds of what is collected: the settings `async_insert_…`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Bounds {
    pub(super) bytes_max: usize,
    pub(super) inserts_max: usize,
    is_adaptive: bool,
    wait_min: Duration,
    wait_max: Duration,
    increase_rate: f64,
    decrease_rate: f64,
}

impl Bounds {
    pub(super) fn of(settings: &Settings) -> Self {
        let size = |setting: u64| usize::try_from(setting).unwrap_or(usize::MAX);
        let wait_max = settings.async_insert_busy_timeout_max_ms;
        let rate = |rate: f64| if rate.is_finite() { rate.clamp(0.0, 1000.0) } else { 0.0 };
        Self {
            bytes_max: size(settings.async_insert_max_data_size).max(1),
            inserts_max: size(settings.async_insert_max_query_number).max(1),
            is_adaptive: settings.async_insert_use_adaptive_busy_timeout,
            wait_min: settings.async_insert_busy_timeout_min_ms.min(wait_max),
            wait_max,
            increase_rate: rate(settings.async_insert_busy_timeout_increase_rate),
            decrease_rate: rate(settings.async_insert_busy_timeout_decrease_rate),
        }
    }
}

/// When to look again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// Now.
    Now,
    /// At this moment, if nothing comes before.
    At(Instant),
    /// There is nothing.
    Never,
}

/// What has been collected, in numbers, and what is known of how often INSERTs of the form come.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    bounds: Bounds,
    /// The first and the last INSERT of those that are collected.
    span: Option<(Instant, Instant)>,
    inserts: usize,
    /// Those of them whose clients wait.
    waiters: usize,
    /// The most that have waited in a batch before.
    waiters_before: usize,
    bytes: usize,
    /// How long data are collected now, where that adapts.
    wait: Duration,
    /// When the last two batches were taken.
    taken: [Option<Instant>; 2],
    /// Batches that are being written.
    writing: usize,
}

impl Collector {
    pub(super) fn new(bounds: Bounds) -> Self {
        let wait = if bounds.is_adaptive { bounds.wait_min } else { bounds.wait_max };
        let (span, inserts, waiters, waiters_before, bytes, taken, writing) = Default::default();
        Self { bounds, span, inserts, waiters, waiters_before, bytes, wait, taken, writing }
    }

    /// Bytes that have been collected.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether another INSERT is to wait until what has been collected is taken.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.bounds.bytes_max || self.inserts >= self.bounds.inserts_max
    }

    /// Whether nothing is collected and nothing is being written.
    pub(super) fn is_idle(&self) -> bool {
        self.inserts == 0 && self.writing == 0
    }

    /// An INSERT has come.
    pub(super) fn add(&mut self, bytes: usize, waits: bool, now: Instant) {
        if self.bounds.is_adaptive {
            self.adapt(now);
        }
        self.span = Some((self.span.map_or(now, |(first, _)| first), now));
        self.inserts += 1;
        self.waiters += usize::from(waits);
        self.bytes += bytes;
    }

    /// ClickHouse's rule: data that come while others are collected are collected for longer, data that come long after the last ones for
    /// less long.
    fn adapt(&mut self, now: Instant) {
        let Bounds { wait_min, wait_max, increase_rate, decrease_rate, .. } = self.bounds;
        let shorter = self.wait.div_f64(1.0 + decrease_rate);
        let since = |then: Option<Instant>| then.map_or(Duration::MAX, |then| now.saturating_duration_since(then));
        let between = match self.taken {
            [Some(last), Some(before)] => last.saturating_duration_since(before),
            _ => Duration::MAX,
        };
        let last = self.span.map(|(_, last)| last).or(self.taken[0]);
        if since(last) <= self.wait {
            self.wait = self.wait.mul_f64(1.0 + increase_rate);
        } else if since(self.taken[0]) > shorter && between > shorter {
            self.wait = shorter;
        }
        self.wait = self.wait.clamp(wait_min, wait_max);
    }

    /// When what has been collected is to be written.
    pub(super) fn due(&self, now: Instant) -> Due {
        let Some((first, _)) = self.span else { return Due::Never };
        if self.is_full() {
            return Due::Now;
        }
        let mut at = first + self.wait;
        // Who waits is helped by nothing but the end of the wait. Once everybody is back who waited before, nobody else is to be expected, and
        // those who wait have waited together for what one of them would have to wait alone.
        let everybody_waits = self.waiters == self.inserts && self.waiters >= self.waiters_before;
        if self.bounds.is_adaptive && everybody_waits && self.writing == 0 {
            at = at.min(first + self.bounds.wait_min / u32::try_from(self.waiters).unwrap_or(u32::MAX).max(1));
        }
        if at <= now { Due::Now } else { Due::At(at) }
    }

    /// What has been collected is taken to be written.
    pub(super) fn take(&mut self, now: Instant) {
        // Clients that went away are forgotten little by little.
        self.waiters_before = self.waiters.max(self.waiters_before / 2);
        (self.span, self.inserts, self.waiters, self.bytes) = Default::default();
        self.taken = [Some(now), self.taken[0]];
        self.writing += 1;
    }

    /// It was written, or could not be.
    pub(super) fn written(&mut self) {
        self.writing = self.writing.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn collector(changes: &[(&str, &str)]) -> Collector {
        let mut settings = Settings::default();
        changes.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
        Collector::new(Bounds::of(&settings))
    }

    #[test]
    fn a_fixed_wait_runs_from_the_first_insert() {
        let mut collector = collector(&[("async_insert_use_adaptive_busy_timeout", "0")]);
        let start = Instant::now();
        assert_eq!(collector.due(start), Due::Never);
        collector.add(1, true, start);
        collector.add(1, true, start + 150 * MS);
        assert_eq!(collector.due(start + 199 * MS), Due::At(start + 200 * MS));
        assert_eq!(collector.due(start + 200 * MS), Due::Now);
        collector.take(start + 200 * MS);
        assert_eq!(collector.due(start + 200 * MS), Due::Never);
        assert!(!collector.is_idle());
        collector.written();
        assert!(collector.is_idle());
    }

    #[test]
    fn bytes_and_inserts_are_bounded() {
        let start = Instant::now();
        let mut by_bytes = collector(&[("async_insert_max_data_size", "10")]);
        by_bytes.add(9, false, start);
        assert_ne!(by_bytes.due(start), Due::Now);
        by_bytes.add(1, false, start);
        assert_eq!(by_bytes.due(start), Due::Now);
        let mut by_number = collector(&[("async_insert_max_query_number", "2")]);
        by_number.add(1, false, start);
        by_number.add(1, false, start);
        assert_eq!(by_number.due(start), Due::Now);
    }

    #[test]
    fn who_waits_is_written_once_all_are_back() {
        let start = Instant::now();
        let mut collector = collector(&[]);
        collector.add(1, true, start);
        assert_eq!(collector.due(start), Due::At(start + 50 * MS), "alone it waits as long as the shortest wait");
        (1..50).for_each(|_| collector.add(1, true, start));
        assert_eq!(collector.due(start), Due::At(start + MS), "many wait together");
        collector.take(start + MS);
        (0..50).for_each(|_| collector.add(1, true, start + 2 * MS));
        assert!(matches!(collector.due(start + 4 * MS), Due::At(_)), "not while others are being written");
        collector.written();
        assert_eq!(collector.due(start + 4 * MS), Due::Now);
        collector.take(start + 4 * MS);
        collector.written();
        (0..49).for_each(|_| collector.add(1, true, start + 5 * MS));
        assert!(matches!(collector.due(start + 8 * MS), Due::At(_)), "one is missing");
        collector.add(1, false, start + 8 * MS);
        assert!(matches!(collector.due(start + 9 * MS), Due::At(_)), "who does not wait says nothing");
    }

    #[test]
    fn the_wait_follows_how_often_data_come() {
        let start = Instant::now();
        let mut collector = collector(&[]);
        let mut now = start;
        for _ in 0..100 {
            collector.add(1, false, now);
            if collector.due(now) == Due::Now {
                collector.take(now);
                collector.written();
            }
            now += 5 * MS;
        }
        assert_eq!(collector.wait, 200 * MS, "often: up to the longest wait");
        for _ in 0..20 {
            now += Duration::from_secs(10);
            collector.add(1, false, now);
            collector.take(now);
            collector.written();
        }
        assert_eq!(collector.wait, 50 * MS, "seldom: down to the shortest");
    }
}
