//! `system.scheduler_log`: what each worker did for each query, a row for each second of it; so that it can be told later who had the
//! workers while another query waited. Made of the steps that workers note anyway. Squall's own.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use squall_scheduler::{Scheduler, WorkerStep};

use super::log::LogEntry;
use super::table::LogTable;
use super::{LogContext, seconds};
use crate::system::value::text;

/// Queries of a worker that have rows of their own, of each look; those that used the least are one row together. So the log grows by the
/// second and not by the query.
const QUERIES_MAX: usize = 100;

/// What one worker did for one query within a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchedulerEntry {
    /// The second.
    second: u64,
    worker: usize,
    /// Empty for several queries.
    query_id: Arc<str>,
    steps: u64,
    busy: Duration,
    cpu: Duration,
    waited: Duration,
    longest: Duration,
}

impl SchedulerEntry {
    fn new(second: u64, worker: usize, query_id: Arc<str>) -> Self {
        let none = Duration::ZERO;
        Self { second, worker, query_id, steps: 0, busy: none, cpu: none, waited: none, longest: none }
    }

    fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.busy += other.busy;
        self.cpu += other.cpu;
        self.waited += other.waited;
        self.longest = self.longest.max(other.longest);
    }

    fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.second)
    }
}

impl LogEntry for SchedulerEntry {
    type Row = Self;
    const ROWS_MAX: usize = 1;

    fn rows(entries: &mut Vec<Self>, rows: &mut Vec<Self>) {
        rows.append(entries);
    }

    fn second(row: &Self) -> u64 {
        row.second
    }
}

/// Remembers which steps were logged.
#[derive(Debug, Default)]
pub(super) struct SchedulerCollector {
    /// The next of each worker.
    next: Vec<u64>,
}

impl SchedulerCollector {
    /// What the workers did since the last time.
    pub(super) fn collect(&mut self, scheduler: &Scheduler) -> Vec<SchedulerEntry> {
        self.next.resize(scheduler.workers(), 0);
        let steps = scheduler.steps(&self.next);
        for step in &steps {
            if let Some(next) = self.next.get_mut(step.worker) {
                *next = step.number + 1;
            }
        }
        entries(&steps)
    }
}

fn entries(steps: &[WorkerStep]) -> Vec<SchedulerEntry> {
    let mut all: HashMap<(u64, usize, &str), SchedulerEntry> = HashMap::new();
    for step in steps {
        let second = seconds(step.began);
        let of_step = SchedulerEntry {
            steps: 1,
            busy: step.took,
            cpu: step.cpu,
            waited: step.waited,
            longest: step.took,
            ..SchedulerEntry::new(second, step.worker, step.query_id.clone())
        };
        all.entry((second, step.worker, &*step.query_id)).and_modify(|entry| entry.add(&of_step)).or_insert(of_step);
    }
    let mut sorted: Vec<_> = all.into_values().collect();
    sorted.sort_by(|a, b| (a.second, a.worker, b.busy, &a.query_id).cmp(&(b.second, b.worker, a.busy, &b.query_id)));
    let mut kept: Vec<SchedulerEntry> = Vec::new();
    let mut queries = 0;
    for entry in sorted {
        queries = match kept.last() {
            Some(last) if (last.second, last.worker) == (entry.second, entry.worker) => queries + 1,
            _ => 1,
        };
        match kept.last_mut() {
            Some(last) if queries > QUERIES_MAX => {
                last.query_id = Arc::default();
                last.add(&entry);
            }
            _ => kept.push(entry),
        }
    }
    kept
}

/// The columns.
pub(super) fn table(context: &LogContext) -> LogTable<SchedulerEntry> {
    let days = context.days.clone();
    let microseconds = |duration: Duration| duration.as_micros() as u64;
    LogTable::new()
        .constant("hostname", "LowCardinality(String)", text(&context.host_name))
        .number("event_date", "Date", move |entry: &SchedulerEntry| days.day(entry.time()))
        .number("event_time", "DateTime", |entry| entry.second)
        .number("worker", "UInt32", |entry| entry.worker as u64)
        .text("query_id", "String", |entry| &entry.query_id)
        .number("steps", "UInt64", |entry| entry.steps)
        .number("busy_us", "UInt64", move |entry| microseconds(entry.busy))
        .number("cpu_us", "UInt64", move |entry| microseconds(entry.cpu))
        .number("waited_us", "UInt64", move |entry| microseconds(entry.waited))
        .number("longest_us", "UInt64", move |entry| microseconds(entry.longest))
}

#[cfg(test)]
mod tests {
    use squall_scheduler::Outcome;

    use super::*;

    fn step(worker: usize, query: u64, began_ms: u64, took_ms: u64) -> WorkerStep {
        WorkerStep {
            worker,
            number: 0,
            query_id: query.to_string().into(),
            began: UNIX_EPOCH + Duration::from_millis(began_ms),
            took: Duration::from_millis(took_ms),
            cpu: Duration::from_millis(took_ms / 2),
            waited: Duration::from_millis(3),
            pass_us: 0,
            outcome: Outcome::Stays,
        }
    }

    #[test]
    fn steps_are_summed_by_second_worker_and_query() {
        let found = entries(&[
            step(0, 1, 10, 4),
            step(0, 2, 900, 6),
            step(0, 1, 20, 8),
            step(1, 1, 30, 2),
            step(0, 1, 1000, 2),
        ]);
        let told: Vec<_> =
            found.iter().map(|entry| (entry.second, entry.worker, &*entry.query_id, entry.steps)).collect();
        assert_eq!(told, [(0, 0, "1", 2), (0, 0, "2", 1), (0, 1, "1", 1), (1, 0, "1", 1)]);
        let first = &found[0];
        let milliseconds = [first.busy, first.cpu, first.waited, first.longest].map(|time| time.as_millis());
        assert_eq!(milliseconds, [12, 6, 6, 8]);
    }

    #[test]
    fn many_queries_are_bounded_and_nothing_of_them_is_lost() {
        let steps: Vec<_> = (0..5_000).map(|query| step(0, query, 1, query % 50)).collect();
        let found = entries(&steps);
        assert_eq!(found.len(), QUERIES_MAX);
        assert_eq!(found.iter().map(|entry| entry.steps).sum::<u64>(), 5_000);
        let busy: Duration = steps.iter().map(|step| step.took).sum();
        assert_eq!(found.iter().map(|entry| entry.busy).sum::<Duration>(), busy);
        assert_eq!(&*found[QUERIES_MAX - 1].query_id, "");
        assert!(
            found[..QUERIES_MAX - 1].iter().all(|entry| entry.busy.as_millis() == 49 && !entry.query_id.is_empty())
        );
    }
}
