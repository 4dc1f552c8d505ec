//! Stride scheduling with decaying priorities: each task has a pass, the task with the smallest pass runs next, and running
//! advances its pass by the CPU time used divided by its priority. A task's priority falls as it uses CPU time, so short queries
//! pass long ones; it never falls below a floor, so nothing starves.
//!
//! Sources: Waldspurger, Weihl, *Stride Scheduling*, 1995; the decay is from Wagner, Kohn, Neumann, SIGMOD 2021, section 3.2.
//! Pure: time and CPU time are passed in.

use crate::task::Step;

/// CPU time after which a task's priority falls by one factor of [`DECAY`].
pub const DECAY_QUANTUM_NS: u64 = 2_000_000;
/// The factor.
pub const DECAY: f64 = 0.9;
/// The lowest priority as a share of the first.
pub const PRIORITY_FLOOR: f64 = 0.01;

/// How far behind the smallest pass a worker's last task may be for the worker to stay with it, and a task that no other worker has
/// to be preferred to one that is shared. Short queries are then run to their end by one worker each when there are many, with
/// their state in its cache, instead of all advancing in turns.
pub const STAY_NS: u64 = 5_000_000;

/// A task's number in the policy. Numbers are used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TaskId(pub usize);

#[derive(Debug)]
struct Entry {
    pass: f64,
    weight: f64,
    consumed_ns: u64,
    workers: usize,
    workers_max: usize,
    is_runnable: bool,
    /// Removed as soon as the last worker gives it back.
    is_finished: bool,
    /// Counts wake-ups and morsels that were run: a worker that found nothing to do believes it only if nothing has happened
    /// meanwhile.
    wake_ups: u64,
    /// Since when the task has been runnable without any worker; for the wait that is reported.
    waiting_since_ns: Option<u64>,
}

impl Entry {
    fn priority(&self) -> f64 {
        let quanta = (self.consumed_ns / DECAY_QUANTUM_NS).min(1_000) as i32;
        self.weight * DECAY.powi(quanta).max(PRIORITY_FLOOR)
    }

    fn can_take_worker(&self) -> bool {
        self.is_runnable && self.workers < self.workers_max
    }
}

/// What a worker is to do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pick {
    /// The task whose morsel it runs.
    pub task: TaskId,
    /// Given back with [`Stride::ran`].
    pub wake_ups: u64,
    /// How long the task had waited with no worker at all.
    pub waited_ns: u64,
}

/// The policy's state.
#[derive(Debug, Default)]
pub struct Stride {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// The pass of the task that was picked last: where newcomers start.
    pass: f64,
}

impl Stride {
    /// Adds a task that is not runnable yet.
    pub fn add(&mut self, weight: f64, workers_max: usize) -> TaskId {
        let entry = Entry {
            pass: self.pass,
            weight: weight.max(1e-6),
            consumed_ns: 0,
            workers: 0,
            workers_max: workers_max.max(1),
            is_runnable: false,
            is_finished: false,
            wake_ups: 0,
            waiting_since_ns: None,
        };
        match self.free.pop() {
            Some(at) => {
                self.entries[at] = Some(entry);
                TaskId(at)
            }
            None => {
                self.entries.push(Some(entry));
                TaskId(self.entries.len() - 1)
            }
        }
    }

    /// There may be a morsel of this task now. Gives how many more workers it could use.
    pub fn wake(&mut self, task: TaskId, now_ns: u64) -> usize {
        let pass = self.pass;
        let Some(entry) = self.entries.get_mut(task.0).and_then(Option::as_mut) else { return 0 };
        if entry.is_finished {
            return 0;
        }
        entry.wake_ups += 1;
        if !entry.is_runnable {
            entry.is_runnable = true;
            // Time spent waiting for a slow client earns no credit against those who kept working.
            entry.pass = entry.pass.max(pass);
        }
        if entry.workers == 0 && entry.waiting_since_ns.is_none() {
            entry.waiting_since_ns = Some(now_ns);
        }
        entry.workers_max - entry.workers
    }

    /// The task that a free worker runs next: the smallest pass among those that can take a worker, but within [`STAY_NS`] of it
    /// first the worker's `last` task, then one that nobody works for.
    pub fn pick(&mut self, now_ns: u64, last: Option<TaskId>) -> Option<Pick> {
        let candidates = || {
            let entries = self.entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.as_ref()?)));
            entries.filter(|(_, entry)| entry.can_take_worker())
        };
        let smallest = |(_, left): &(usize, &Entry), (_, right): &(usize, &Entry)| left.pass.total_cmp(&right.pass);
        let (first, entry) = candidates().min_by(smallest)?;
        let bound = entry.pass + STAY_NS as f64;
        let near = || candidates().filter(|(_, entry)| entry.pass <= bound);
        let same = near().find(|(at, _)| last == Some(TaskId(*at)));
        let alone = || near().filter(|(_, entry)| entry.workers == 0).min_by(smallest);
        let at = same.or_else(alone).map_or(first, |(at, _)| at);
        let entry = self.entries.get_mut(at)?.as_mut()?;
        entry.workers += 1;
        self.pass = self.pass.max(entry.pass);
        let waited_ns = entry.waiting_since_ns.take().map_or(0, |since| now_ns.saturating_sub(since));
        Some(Pick { task: TaskId(at), wake_ups: entry.wake_ups, waited_ns })
    }

    /// A worker gives a picked task back after using `cpu_ns`. True where the task is finished and no worker has it any more: then
    /// it is gone and its number is free.
    pub fn ran(&mut self, pick: Pick, cpu_ns: u64, step: Step, now_ns: u64) -> bool {
        let at = pick.task.0;
        let Some(entry) = self.entries.get_mut(at).and_then(Option::as_mut) else { return false };
        entry.workers -= 1;
        entry.pass += cpu_ns as f64 / entry.priority();
        entry.consumed_ns += cpu_ns;
        match step {
            // Counts as a call too: another worker that found nothing while this one was at it, and gives the task back after it, must
            // not put the task to sleep, since this one may take another task next.
            Step::Worked => {
                entry.is_runnable = true;
                entry.wake_ups += 1;
            }
            Step::Idle => entry.is_runnable &= entry.wake_ups != pick.wake_ups,
            Step::Finished => entry.is_finished = true,
        }
        if entry.is_finished {
            entry.is_runnable = false;
            if entry.workers == 0 {
                self.entries[at] = None;
                self.free.push(at);
                return true;
            }
            return false;
        }
        if entry.is_runnable && entry.workers == 0 {
            entry.waiting_since_ns = Some(now_ns);
        }
        false
    }

    /// Makes every task runnable that nobody works for, so that each is looked at once more: what a worker that has found nothing
    /// to do for long does. A task that still has no morsel is put aside again after one look.
    pub fn look_again(&mut self) {
        for entry in self.entries.iter_mut().flatten() {
            entry.is_runnable |= entry.workers == 0 && entry.wake_ups > 0 && !entry.is_finished;
        }
    }

    /// Whether any task could take one more worker.
    pub fn has_work(&self) -> bool {
        self.entries.iter().flatten().any(Entry::can_take_worker)
    }

    /// Tasks that are there, running or waiting.
    pub fn tasks(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORSEL_NS: u64 = 1_500_000;

    /// Virtual workers run the given tasks' morsels (counts) to the end; gives each task's finishing time.
    fn simulate(workers: usize, tasks: &[(f64, u64, usize)]) -> Vec<u64> {
        let mut stride = Stride::default();
        let ids: Vec<TaskId> = tasks.iter().map(|(weight, _, workers_max)| stride.add(*weight, *workers_max)).collect();
        let mut left: Vec<u64> = tasks.iter().map(|(_, morsels, _)| *morsels).collect();
        let mut finished = vec![0; tasks.len()];
        ids.iter().for_each(|id| {
            stride.wake(*id, 0);
        });
        let mut busy: Vec<Option<(u64, Pick)>> = vec![None; workers];
        let mut last: Vec<Option<TaskId>> = vec![None; workers];
        let mut now = 0;
        while stride.tasks() > 0 {
            for (slot, last) in busy.iter_mut().zip(&mut last) {
                if slot.is_none() {
                    *slot = stride.pick(now, *last).map(|pick| (now + MORSEL_NS, pick));
                    *last = slot.map(|(_, pick)| pick.task);
                }
            }
            assert!(busy.iter().all(Option::is_some) || !stride.has_work(), "an idle worker beside runnable work");
            now = busy.iter().flatten().map(|(end, _)| *end).min().unwrap();
            for slot in &mut busy {
                let Some((end, pick)) = *slot else { continue };
                if end > now {
                    continue;
                }
                *slot = None;
                let task = ids.iter().position(|id| *id == pick.task).unwrap();
                left[task] = left[task].saturating_sub(1);
                let step = if left[task] == 0 { Step::Finished } else { Step::Worked };
                if stride.ran(pick, MORSEL_NS, step, now) {
                    finished[task] = now;
                }
            }
        }
        finished
    }

    #[test]
    fn one_query_gets_every_worker() {
        assert_eq!(simulate(4, &[(1.0, 400, 64)])[0], 100 * MORSEL_NS);
    }

    #[test]
    fn max_threads_caps_a_query() {
        assert_eq!(simulate(4, &[(1.0, 100, 1)])[0], 100 * MORSEL_NS);
    }

    #[test]
    fn a_short_query_passes_long_ones() {
        let mut tasks = vec![(1.0, 2_000, 64); 8];
        tasks.push((1.0, 4, 64));
        let finished = simulate(2, &tasks);
        // Alone it would take 2 morsels' time; beside eight heavy ones that start at the same moment at most a round more.
        assert!(finished[8] <= 20 * MORSEL_NS, "{} ns", finished[8]);
        assert!(finished[..8].iter().all(|end| *end > 100 * finished[8]));
    }

    #[test]
    fn equal_queries_share_equally() {
        let finished = simulate(2, &[(1.0, 500, 64); 10]);
        let (first, last) = (finished.iter().min().unwrap(), finished.iter().max().unwrap());
        assert!((last - first) as f64 / (*last as f64) < 0.02, "{first} {last}");
    }

    #[test]
    fn weights_scale_the_share() {
        let finished = simulate(1, &[(4.0, 400, 1), (1.0, 400, 1)]);
        assert!(finished[0] < 550 * MORSEL_NS, "{finished:?}");
    }

    #[test]
    fn nothing_starves() {
        // One long query against an endless stream of short ones, each new one with a fresh priority.
        let mut stride = Stride::default();
        let long = stride.add(1.0, 1);
        stride.wake(long, 0);
        let (mut long_runs, mut short) = (0, None);
        for round in 0..20_000u64 {
            if short.is_none() {
                let id = stride.add(1.0, 1);
                stride.wake(id, 0);
                short = Some((id, 3));
            }
            let pick = stride.pick(round, None).unwrap();
            let mut step = Step::Worked;
            if pick.task == long {
                long_runs += 1;
            } else if let Some((_, left)) = &mut short {
                *left -= 1;
                if *left == 0 {
                    step = Step::Finished;
                    short = None;
                }
            }
            stride.ran(pick, MORSEL_NS, step, round);
        }
        assert!(long_runs > 150, "the long query ran {long_runs} of 20000 morsels");
    }

    #[test]
    fn work_done_during_an_idle_step_is_not_lost() {
        let mut stride = Stride::default();
        let task = stride.add(1.0, 2);
        stride.wake(task, 0);
        // The second worker is turned away by a pipeline that takes one worker at a time, and is slow to say so.
        let (first, second) = (stride.pick(0, None).unwrap(), stride.pick(0, None).unwrap());
        stride.ran(first, 0, Step::Worked, 1);
        stride.ran(second, 0, Step::Idle, 2);
        assert!(stride.pick(3, None).is_some(), "the task still has work, and nobody else would call");
    }

    #[test]
    fn many_short_queries_run_one_after_the_other_each_on_one_worker() {
        // Twenty queries of four morsels on two workers: the first ones end long before the last.
        let finished = simulate(2, &[(1.0, 4, 64); 20]);
        let mean = finished.iter().sum::<u64>() as f64 / 20.0;
        let last = *finished.iter().max().unwrap();
        assert_eq!(last, 40 * MORSEL_NS);
        assert!(mean < 0.6 * last as f64, "mean {mean}, last {last}");
    }

    #[test]
    fn tasks_that_wait_can_be_looked_at_again() {
        let mut stride = Stride::default();
        let task = stride.add(1.0, 2);
        stride.look_again();
        assert_eq!(stride.pick(0, None), None, "a task is not run before it is first woken");
        stride.wake(task, 0);
        let pick = stride.pick(0, None).unwrap();
        stride.ran(pick, 0, Step::Idle, 1);
        assert_eq!(stride.pick(2, None), None);
        stride.look_again();
        assert!(stride.pick(3, None).is_some());
    }

    #[test]
    fn a_wake_up_during_an_idle_step_is_not_lost() {
        let mut stride = Stride::default();
        let task = stride.add(1.0, 2);
        stride.wake(task, 0);
        let pick = stride.pick(0, None).unwrap();
        stride.wake(task, 1);
        stride.ran(pick, 0, Step::Idle, 2);
        let again = stride.pick(3, None).expect("woken meanwhile");
        stride.ran(again, 0, Step::Idle, 4);
        assert_eq!(stride.pick(5, None), None);
    }
}
