//! Stride scheduling with decaying priorities: each task has a pass, the task with the smallest pass runs next, and running
//! advances its pass by the CPU time used divided by its priority. A task's priority falls as it uses CPU time, so short queries
//! pass long ones; it never falls below a floor, so nothing starves. A morsel under way is charged ahead, as if it took its target:
//! else all workers that choose within one morsel's time would choose the same task.
//!
//! A task that nobody works for comes before a further worker for another: with more queries than workers each runs on one worker,
//! with one state in one cache, and none pays for being parallel. The simulator's model of document 000 shows what this is worth: 153
//! queries a second instead of 123. Here is what needs the whole picture and
//! therefore a lock; what a worker decides between two morsels of one task is `lease`'s.
//!
//! Sources: Waldspurger, Weihl, *Stride Scheduling*, 1995; the decay is from Wagner, Kohn, Neumann, SIGMOD 2021, section 3.2.
//! Pure: time and CPU time are passed in.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub use crate::policy::lease::Lease;
use crate::policy::lease::{Account, Board, NEVER};
use crate::task::Step;
use crate::weight::Weight;

/// How much CPU time the worker of a task may be ahead of another that waits before it comes over. It is counted at the priority of
/// the one that waits: those who have run for long are left waiting longer, in virtual time, than newcomers. Long queries so take
/// turns that are worth filling a cache for.
pub const STAY: Duration = Duration::from_millis(5);

/// The CPU time in which a query is short. It is not left waiting for a worker that is in the middle of a step of a long one: other
/// workers, which the kernel prefers, are there for it.
pub const SHORT: Duration = Duration::from_millis(5);

/// Which tasks a worker takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerKind {
    /// Any.
    Any,
    /// Those that have used less than [`SHORT`].
    Short,
}

/// A task's number in the policy. Numbers are used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TaskId(pub usize);

#[derive(Debug)]
struct Entry {
    account: Arc<Account>,
    workers: usize,
    /// Of these, workers for short tasks. Others would only be in their way: the kernel prefers those.
    short_workers: usize,
    workers_max: usize,
    /// Removed as soon as the last worker gives it back.
    is_finished: bool,
    /// When it is due and its turn among those that are due with it, where it is in [`Stride::alone`].
    alone: Option<(u64, u64)>,
    /// Since when the task has been runnable without any worker; for the wait that is reported.
    waiting_since_ns: Option<u64>,
    waited_ns: u64,
}

impl Entry {
    fn can_take(&self, kind: WorkerKind) -> bool {
        let is_in_the_way = kind == WorkerKind::Any && self.short_workers > 0;
        self.workers < self.workers_max && self.account.is_runnable() && !is_in_the_way
    }

    fn is_in_share(&self) -> bool {
        self.account.weight().share().is_some()
    }
}

/// What is known of a task, for `system.scheduler`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TaskSnapshot {
    /// The task.
    pub task: TaskId,
    /// Virtual time that it has used, in microseconds: what the smallest of runs next.
    pub pass_us: u64,
    /// Its share relative to other tasks now, before it decays.
    pub weight: f64,
    /// CPU time that it has used.
    pub consumed_ns: u64,
    /// Workers that are at it.
    pub workers: usize,
    /// The most that it may have.
    pub workers_max: usize,
    /// Whether there may be a morsel of it to run.
    pub is_runnable: bool,
    /// Time that it was runnable without any worker, in all.
    pub waited_ns: u64,
    /// Of that, for how long it waits now.
    pub waiting_ns: u64,
}

/// The policy's state.
#[derive(Debug, Default)]
pub struct Stride {
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// Runnable tasks without any worker, by when they are due; that does not change while they wait.
    alone: BTreeSet<((u64, u64), usize)>,
    /// How many of them have a weight of their own.
    alone_plain: usize,
    /// Of those that are due at once, who came first goes first: else newcomers could go before another for ever.
    next_turn: u64,
    /// Tasks with a part of a share.
    in_shares: usize,
    /// Tasks that have workers: no more than there are workers.
    worked: Vec<usize>,
    board: Arc<Board>,
    /// The highest that [`Stride::pass_us`] was when a task was given to a worker.
    pass_us: u64,
    /// Workers that have a task.
    leased: usize,
    /// The most of them; `None` is no limit.
    limit: Option<usize>,
}

impl Stride {
    /// The most workers that may be at tasks at once from now on, at least 1; `None` is no limit. Where more are, they come back
    /// after their morsels.
    pub fn set_limit(&mut self, limit: Option<usize>) {
        self.limit = limit.map(|limit| limit.max(1));
        self.publish();
    }

    /// Workers that may take a task now.
    fn free_workers(&self) -> usize {
        self.limit.map_or(usize::MAX, |limit| limit.saturating_sub(self.leased))
    }

    /// Adds a task that is not runnable yet.
    pub fn add(&mut self, weight: impl Into<Weight>, workers_max: usize) -> TaskId {
        let entry = Entry {
            account: Arc::new(Account::new(weight.into(), self.pass_us())),
            workers: 0,
            short_workers: 0,
            workers_max: workers_max.max(1),
            is_finished: false,
            alone: None,
            waiting_since_ns: None,
            waited_ns: 0,
        };
        self.in_shares += usize::from(entry.is_in_share());
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

    /// Where newcomers start: the least pass with which any worker is at a task, and never less than before. So every worker is at
    /// a task that a newcomer of full priority passes after the next morsel, and it waits for whichever ends first. If newcomers
    /// started at the greatest pass, then workers whose tasks are behind that would stay with them: old tasks' passes grow by a
    /// hundred times their CPU time.
    fn pass_us(&self) -> u64 {
        let of_worked = self.worked.iter().filter_map(|at| Some(self.entries[*at].as_ref()?.account.picked_us()));
        self.pass_us.max(of_worked.min().unwrap_or(0))
    }

    /// There may be a morsel of this task now. Gives how many more workers could come.
    pub fn wake(&mut self, task: TaskId, now_ns: u64) -> usize {
        let (pass_us, free_workers) = (self.pass_us(), self.free_workers());
        let Some(entry) = self.entries.get_mut(task.0).and_then(Option::as_mut) else { return 0 };
        if entry.is_finished {
            return 0;
        }
        entry.account.call();
        let wanted = (entry.workers_max - entry.workers).min(free_workers);
        if !entry.account.is_runnable() {
            // Time spent waiting for a slow client earns no credit against those who kept working.
            entry.account.catch_up(pass_us);
            entry.account.set_runnable(true);
            if entry.workers == 0 {
                entry.waiting_since_ns = Some(now_ns);
            }
            self.place(task.0);
            self.publish();
        }
        wanted
    }

    /// The task that a free worker runs next: of those that nobody works for, else of those that can take one more, the one that is
    /// due first; but the worker's `last` task as long as its pass is not beyond that. Tasks with a part of a share come when they are
    /// due, with workers or without: a share is kept to, however many tasks it is divided among.
    ///
    /// A worker for short tasks gets the same if that is a short one, else a short one that another worker is at.
    pub fn pick(&mut self, now_ns: u64, last: Option<TaskId>, kind: WorkerKind) -> Option<Lease> {
        let alone = self.alone.first().map(|((due_us, _), at)| (*due_us, *at));
        let next = match kind {
            WorkerKind::Any => alone.into_iter().chain(self.shared().0).min_by_key(|(due_us, _)| *due_us),
            WorkerKind::Short => alone.filter(|(_, at)| self.is_short(*at)).or_else(|| self.short_with_workers()),
        };
        let Some((due_us, first)) = next.filter(|_| self.free_workers() > 0) else {
            self.publish();
            return None;
        };
        let same = last.filter(|task| {
            let entry = self.entries.get(task.0).and_then(Option::as_ref);
            let is_its = kind == WorkerKind::Any || self.is_short(task.0);
            is_its && entry.is_some_and(|entry| entry.can_take(kind) && entry.account.pass_us() <= due_us)
        });
        let at = same.map_or(first, |task| task.0);
        let entry = self.entries.get_mut(at)?.as_mut()?;
        entry.workers += 1;
        entry.short_workers += usize::from(kind == WorkerKind::Short);
        self.leased += 1;
        if entry.workers == 1 {
            self.worked.push(at);
        }
        let reserved_us = entry.account.reserve();
        let waited_ns = entry.waiting_since_ns.take().map_or(0, |since| now_ns.saturating_sub(since));
        entry.waited_ns += waited_ns;
        let account = entry.account.clone();
        let calls = account.calls();
        self.pass_us = self.pass_us();
        self.place(at);
        self.publish();
        Some(Lease { task: TaskId(at), waited_ns, account, board: self.board.clone(), calls, reserved_us, kind })
    }

    /// Workers that are at tasks which are not short.
    pub fn workers_at_long(&self) -> usize {
        let long = self.worked.iter().filter(|at| !self.is_short(**at));
        long.filter_map(|at| self.entries[*at].as_ref()).map(|entry| entry.workers).sum()
    }

    /// Whether a task has used less than [`SHORT`].
    pub fn has_used_little(&self, task: TaskId) -> bool {
        self.is_short(task.0)
    }

    fn is_short(&self, at: usize) -> bool {
        self.entries.get(at).and_then(Option::as_ref).is_some_and(|entry| entry.account.is_short())
    }

    /// Of the short tasks that have workers and can take one more, the one that is due first, and when that is.
    fn short_with_workers(&self) -> Option<(u64, usize)> {
        let candidate = |at: &usize| {
            let entry = self.entries[*at].as_ref()?;
            (entry.can_take(WorkerKind::Short) && entry.account.is_short()).then(|| (entry.account.due_us(), *at))
        };
        self.worked.iter().filter_map(candidate).min()
    }

    /// A worker gives a task back, after [`Lease::ran`] told it to, with what came of its last morsel. True where the task is
    /// finished and no worker has it any more: then it is gone and its number is free. [`Stride::pick`] follows.
    pub fn give_back(&mut self, lease: Lease, step: Step, now_ns: u64) -> bool {
        let at = lease.task.0;
        let Some(entry) = self.entries.get_mut(at).and_then(Option::as_mut) else { return false };
        let account = &entry.account;
        account.settle(0, lease.reserved_us);
        entry.is_finished |= step == Step::Finished;
        match step {
            _ if entry.is_finished => account.set_runnable(false),
            Step::Worked => account.set_runnable(true),
            Step::Idle if account.calls() == lease.calls => account.set_runnable(false),
            Step::Idle | Step::Finished => {}
        }
        entry.workers -= 1;
        entry.short_workers -= usize::from(lease.kind == WorkerKind::Short);
        self.leased -= 1;
        if entry.workers == 0 {
            if account.is_runnable() {
                entry.waiting_since_ns = Some(now_ns);
            }
            self.worked.retain(|other| *other != at);
            if entry.is_finished {
                // What it used since it was picked is not in any other task's pass. Without its part in it, those who come and go
                // would all start at one pass, ahead of one of less weight that waits.
                self.in_shares -= usize::from(entry.is_in_share());
                let unseen_us = account.pass_us().saturating_sub(self.pass_us).min(account.target_us());
                self.pass_us += unseen_us.div_ceil((self.entries.len() - self.free.len()) as u64);
                self.entries[at] = None;
                self.free.push(at);
                return true;
            }
        }
        self.place(at);
        false
    }

    /// Makes every task runnable that nobody works for, so that each is looked at once more: what a worker that has found nothing
    /// to do for long does. A task that still has no morsel is put aside again after one look.
    pub fn look_again(&mut self) {
        for at in 0..self.entries.len() {
            let Some(entry) = &self.entries[at] else { continue };
            if entry.workers == 0 && entry.account.calls() > 0 {
                entry.account.set_runnable(true);
                self.place(at);
            }
        }
        self.publish();
    }

    /// Whether any task could take one more worker.
    pub fn has_work(&self) -> bool {
        self.free_workers() > 0 && (!self.alone.is_empty() || self.shared().0.is_some())
    }

    /// Tasks that are there, running or waiting.
    pub fn tasks(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Every task as it is now.
    pub fn snapshot(&self, now_ns: u64) -> impl Iterator<Item = TaskSnapshot> {
        self.entries.iter().enumerate().filter_map(move |(at, entry)| {
            let entry = entry.as_ref()?;
            let waiting_ns = entry.waiting_since_ns.map_or(0, |since| now_ns.saturating_sub(since));
            Some(TaskSnapshot {
                task: TaskId(at),
                pass_us: entry.account.pass_us(),
                weight: entry.account.weight().value(),
                consumed_ns: entry.account.consumed_ns(),
                workers: entry.workers,
                workers_max: entry.workers_max,
                is_runnable: entry.account.is_runnable(),
                waited_ns: entry.waited_ns + waiting_ns,
                waiting_ns,
            })
        })
    }

    /// Puts a task into [`Stride::alone`] or takes it out, as its state now says.
    fn place(&mut self, at: usize) {
        let Some(entry) = &mut self.entries[at] else { return };
        let due_us = (entry.workers == 0 && entry.account.is_runnable()).then(|| entry.account.due_us());
        if entry.alone.map(|(due_us, _)| due_us) == due_us {
            return;
        }
        let is_plain = !entry.is_in_share();
        if let Some(key) = entry.alone.take() {
            self.alone.remove(&(key, at));
            self.alone_plain -= usize::from(is_plain);
        }
        if let Some(due_us) = due_us {
            self.alone_plain += usize::from(is_plain);
            self.next_turn += 1;
            entry.alone = Some((due_us, self.next_turn));
            self.alone.insert(((due_us, self.next_turn), at));
        }
    }

    /// Of the tasks that have workers and can take one more before others have any, the one that is due first, and when the next
    /// is.
    fn shared(&self) -> (Option<(u64, usize)>, u64) {
        let (mut first, mut second_us) = (None, NEVER);
        if self.alone_plain > 0 && self.in_shares == 0 {
            return (first, second_us);
        }
        for at in &self.worked {
            let can_take =
                |entry: &&Entry| entry.can_take(WorkerKind::Any) && (self.alone_plain == 0 || entry.is_in_share());
            let Some(entry) = self.entries[*at].as_ref().filter(can_take) else { continue };
            let candidate = (entry.account.due_us(), *at);
            match first {
                Some(smallest) if smallest <= candidate => second_us = second_us.min(candidate.0),
                smallest => {
                    second_us = smallest.map_or(second_us, |(due_us, _)| due_us);
                    first = Some(candidate);
                }
            }
        }
        (first, second_us)
    }

    /// Shows staying workers who wants one.
    fn publish(&self) {
        let (first, second_us) = self.shared();
        let is_over = self.limit.is_some_and(|limit| self.leased > limit);
        // Where there are too many workers, something is always due: whoever has run a morsel comes back.
        let alone_us = if is_over { 0 } else { self.alone.first().map_or(NEVER, |((due_us, _), _)| *due_us) };
        self.board.publish(alone_us, first, second_us);
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::weight::CpuShare;

    const MORSEL_NS: u64 = 1_500_000;

    /// A worker has run a morsel: stays, or gives back. True where the task is gone.
    fn ran(stride: &mut Stride, mut lease: Lease, cpu_ns: u64, step: Step, now_ns: u64) -> bool {
        let _ = lease.ran(cpu_ns, step);
        stride.give_back(lease, step, now_ns)
    }

    /// Virtual workers run the given tasks' morsels (weight, count, most workers) to the end; gives each task's finishing time, and
    /// calls `watch` with the CPU time that each has used so far after each morsel.
    fn simulate_watched<W: Into<Weight> + Clone>(
        workers: usize,
        tasks: &[(W, u64, usize)],
        watch: &mut dyn FnMut(&[u64]),
    ) -> Vec<u64> {
        simulate_with(&mut Stride::default(), workers, tasks, watch)
    }

    fn simulate_with<W: Into<Weight> + Clone>(
        stride: &mut Stride,
        workers: usize,
        tasks: &[(W, u64, usize)],
        watch: &mut dyn FnMut(&[u64]),
    ) -> Vec<u64> {
        let add = |(weight, _, workers_max): &(W, u64, usize)| stride.add(weight.clone(), *workers_max);
        let ids: Vec<TaskId> = tasks.iter().map(add).collect();
        let mut unclaimed: Vec<u64> = tasks.iter().map(|(_, morsels, _)| *morsels).collect();
        let mut unfinished = unclaimed.clone();
        let (mut finished, mut used) = (vec![0; tasks.len()], vec![0; tasks.len()]);
        ids.iter().for_each(|id| {
            stride.wake(*id, 0);
        });
        let mut busy: Vec<Option<(u64, Lease)>> = (0..workers).map(|_| None).collect();
        let mut last: Vec<Option<TaskId>> = vec![None; workers];
        let mut now = 0;
        let number = |task| ids.iter().position(|id| *id == task).unwrap();
        while stride.tasks() > 0 {
            for (slot, last) in busy.iter_mut().zip(&mut last) {
                while slot.is_none()
                    && let Some(lease) = stride.pick(now, *last, WorkerKind::Any)
                {
                    *last = Some(lease.task);
                    let unclaimed = &mut unclaimed[number(lease.task)];
                    if *unclaimed == 0 {
                        ran(stride, lease, 0, Step::Idle, now);
                    } else {
                        *unclaimed -= 1;
                        *slot = Some((now + MORSEL_NS, lease));
                    }
                }
            }
            assert!(busy.iter().all(Option::is_some) || !stride.has_work(), "an idle worker beside runnable work");
            now = busy.iter().flatten().map(|(end, _)| *end).min().unwrap();
            for slot in &mut busy {
                let Some((_, mut lease)) = slot.take_if(|(end, _)| *end <= now) else { continue };
                let task = number(lease.task);
                unfinished[task] -= 1;
                used[task] += MORSEL_NS;
                let mut step = if unfinished[task] == 0 { Step::Finished } else { Step::Worked };
                if lease.ran(MORSEL_NS, step) {
                    if unclaimed[task] > 0 {
                        unclaimed[task] -= 1;
                        *slot = Some((now + MORSEL_NS, lease));
                        continue;
                    }
                    step = Step::Idle;
                    let _ = lease.ran(0, step);
                }
                if stride.give_back(lease, step, now) {
                    finished[task] = now;
                }
                watch(&used);
            }
        }
        finished
    }

    fn simulate(workers: usize, tasks: &[(f64, u64, usize)]) -> Vec<u64> {
        simulate_watched(workers, tasks, &mut |_| {})
    }

    #[test]
    fn every_worker_of_old_tasks_leaves_for_a_newcomer() {
        let mut stride = Stride::default();
        let old = [stride.add(1.0, 1), stride.add(1.0, 1)];
        old.iter().for_each(|task| {
            stride.wake(*task, 0);
        });
        let mut leases = old.map(|_| stride.pick(0, None, WorkerKind::Any).unwrap());
        // Both are old, and one is ahead by almost as much as it may be.
        for (lease, morsels) in leases.iter_mut().zip([200, 203]) {
            (0..morsels).for_each(|_| assert!(lease.ran(MORSEL_NS, Step::Worked)));
        }
        let newcomer = stride.add(1.0, 2);
        stride.wake(newcomer, 0);
        for mut lease in leases {
            assert!(!lease.ran(MORSEL_NS, Step::Worked), "the worker of {:?} stays", lease.task);
            stride.give_back(lease, Step::Worked, 0);
        }
        assert_eq!(stride.pick(0, None, WorkerKind::Any).unwrap().task, newcomer);
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
    fn equal_queries_share_equally_at_every_moment() {
        for (workers, queries) in [(1, 2), (2, 10), (4, 3), (16, 20), (64, 3)] {
            for workers_max in [1, 2, 64] {
                let tasks = vec![(1.0, 500, workers_max); queries];
                let mut fairness: f64 = 1.0;
                let finished = simulate_watched(workers, &tasks, &mut |used| {
                    let (sum, squares) = used.iter().fold((0.0, 0.0), |(sum, squares), used| {
                        (sum + *used as f64, squares + (*used as f64).powi(2))
                    });
                    // Fairness is of shares that are long beside a morsel, and of queries that are all still there.
                    let is_under_way = used.iter().all(|used| (50 * MORSEL_NS..400 * MORSEL_NS).contains(used));
                    if is_under_way && (workers_max > 1 || queries >= workers) {
                        fairness = fairness.min(sum * sum / (queries as f64 * squares));
                    }
                });
                assert!(fairness >= 0.98, "Jain index {fairness}: {queries} on {workers} workers, {workers_max} each");
                let (first, last) = (finished.iter().min().unwrap(), finished.iter().max().unwrap());
                assert!((last - first) as f64 / (*last as f64) < 0.06, "{first} {last}");
            }
        }
    }

    #[test]
    fn the_most_workers_a_query_may_have_changes_nothing_when_there_are_many() {
        let end = |workers_max| *simulate(4, &[(1.0, 40, workers_max); 20]).iter().max().unwrap();
        assert_eq!([1, 2, 4, 16, 96].map(end), [200 * MORSEL_NS; 5]);
    }

    #[test]
    fn weights_scale_the_share() {
        let finished = simulate(1, &[(4.0, 400, 1), (1.0, 400, 1)]);
        assert!(finished[0] < 550 * MORSEL_NS, "{finished:?}");
    }

    #[test]
    fn users_share_by_their_weights_however_many_queries_each_has() {
        for (workers, light, heavy) in
            [(1, 1, 1), (2, 1, 1), (2, 20, 1), (2, 1, 20), (8, 3, 5), (64, 100, 1), (64, 1, 7)]
        {
            let shares = [CpuShare::new(1.0), CpuShare::new(3.0)];
            let weight = |of: usize| Weight::within(shares[of].clone(), 1.0);
            // Both have so much to do that it lasts until they are compared, which is when priorities have long been at the floor.
            let morsels = |queries: usize| (workers * 8_000 / queries) as u64;
            let mut tasks = vec![(weight(0), morsels(light), 64); light];
            tasks.extend(vec![(weight(1), morsels(heavy), 64); heavy]);
            let (mut from, mut ratio) = ((0, 0), 0.0);
            simulate_watched(workers, &tasks, &mut |used| {
                let (light, heavy) = used.split_at(light);
                let (light, heavy) = (light.iter().sum::<u64>(), heavy.iter().sum::<u64>());
                let of_each = (light + heavy) / (MORSEL_NS * workers as u64);
                if of_each < 3_000 {
                    from = (light, heavy);
                } else if of_each < 8_000 {
                    ratio = (heavy - from.1) as f64 / (light - from.0).max(1) as f64;
                }
            });
            assert!((2.7..3.3).contains(&ratio), "{workers} workers, {light} and {heavy} queries: 1:{ratio}");
        }
    }

    #[test]
    fn no_more_workers_than_the_limit_are_at_tasks() {
        let mut stride = Stride::default();
        let tasks: Vec<TaskId> = (0..4).map(|_| stride.add(1.0, 8)).collect();
        stride.set_limit(Some(3));
        assert_eq!(tasks.iter().map(|task| stride.wake(*task, 0)).max(), Some(3));
        let mut leases: Vec<Lease> = std::iter::from_fn(|| stride.pick(0, None, WorkerKind::Any)).collect();
        assert_eq!((leases.len(), stride.has_work()), (3, false));
        // Fewer from now on: those who are too many come back, and get nothing.
        stride.set_limit(Some(1));
        for staying in [false, false, true] {
            let mut lease = leases.remove(0);
            assert_eq!(lease.ran(1_000, Step::Worked), staying);
            if staying {
                leases.push(lease);
            } else {
                stride.give_back(lease, Step::Worked, 0);
                assert!(stride.pick(0, None, WorkerKind::Any).is_none());
            }
        }
        stride.set_limit(None);
        assert!(stride.has_work());
        assert_eq!(std::iter::from_fn(|| stride.pick(0, None, WorkerKind::Any)).take(10).count(), 10);
    }

    #[test]
    fn a_budget_keeps_every_core_beyond_it_free() {
        let mut stride = Stride::default();
        stride.set_limit(Some(2));
        let finished = simulate_with(&mut stride, 8, &[(1.0, 100, 64); 4], &mut |_| {});
        assert_eq!(finished.into_iter().max(), Some(200 * MORSEL_NS));
    }

    #[test]
    fn the_background_hardly_delays_and_is_not_starved() {
        // Heavy queries and a merge fill the machine; short queries come one after the other.
        for workers in [1, 2, 16] {
            let background = CpuShare::new(0.1);
            let latencies = |merges: usize| {
                let mut stride = Stride::default();
                let (mut now, mut ends, mut busy) = (0, Vec::new(), Vec::new());
                let mut used = vec![0; 3 + merges];
                let mut ids: Vec<TaskId> = (0..3).map(|_| stride.add(1.0, 64)).collect();
                ids.extend((0..merges).map(|_| stride.add(Weight::within(background.clone(), 1.0), 1)));
                ids.iter().for_each(|id| {
                    stride.wake(*id, 0);
                });
                let mut short: Option<(TaskId, u64)> = None;
                while ends.len() < 200 {
                    if short.is_none() && now % (40 * MORSEL_NS) == 0 {
                        let id = stride.add(1.0, 1);
                        stride.wake(id, now);
                        short = Some((id, now));
                    }
                    while busy.len() < workers {
                        busy.push(stride.pick(now, None, WorkerKind::Any).unwrap());
                    }
                    now += MORSEL_NS;
                    for mut lease in std::mem::take(&mut busy) {
                        let is_short = short.is_some_and(|(id, _)| id == lease.task);
                        let step = if is_short { Step::Finished } else { Step::Worked };
                        if let Some(at) = ids.iter().position(|id| !is_short && *id == lease.task) {
                            used[at] += MORSEL_NS;
                        }
                        if lease.ran(MORSEL_NS, step) {
                            busy.push(lease);
                        } else if stride.give_back(lease, step, now) {
                            ends.extend(short.take().map(|(_, came)| now - came));
                        }
                    }
                }
                let merged: u64 = used[3..].iter().sum();
                (*ends.iter().max().unwrap(), merged as f64 / used.iter().sum::<u64>() as f64)
            };
            let ((alone, _), (beside, merged)) = (latencies(0), latencies(4));
            assert!(beside <= alone + 2 * MORSEL_NS, "{workers} workers: {beside} ns beside merges, {alone} without");
            assert!((0.01..0.1).contains(&merged), "{workers} workers: the merges had {merged} of the time");
        }
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
            let pick = stride.pick(round, None, WorkerKind::Any).unwrap();
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
            ran(&mut stride, pick, MORSEL_NS, step, round);
        }
        assert!(long_runs > 150, "the long query ran {long_runs} of 20000 morsels");
    }

    #[test]
    fn those_who_come_and_go_do_not_keep_one_waiting() {
        for weight in [1.0, 0.1] {
            let mut stride = Stride::default();
            // Numbers are used again: the newcomers' is below the waiting one's.
            let mut come = stride.add(1.0, 1);
            let waiting = stride.add(weight, 1);
            stride.wake(come, 0);
            stride.wake(waiting, 0);
            let mut rounds = 0;
            loop {
                let lease = stride.pick(0, None, WorkerKind::Any).unwrap();
                if lease.task == waiting {
                    break;
                }
                assert!(ran(&mut stride, lease, 100_000, Step::Finished, 0));
                come = stride.add(1.0, 1);
                stride.wake(come, 0);
                rounds += 1;
                assert!(rounds < 2_000, "weight {weight}");
            }
        }
    }

    #[test]
    fn a_worker_stays_while_its_pass_is_near_and_nobody_else_waits() {
        let mut stride = Stride::default();
        let first = stride.add(1.0, 1);
        stride.wake(first, 0);
        let mut lease = stride.pick(0, None, WorkerKind::Any).unwrap();
        for _ in 0..1_000 {
            assert!(lease.ran(MORSEL_NS, Step::Worked), "nobody else is there");
        }
        let second = stride.add(1.0, 1);
        assert!(lease.ran(0, Step::Worked), "not woken yet");
        stride.wake(second, 0);
        assert!(lease.ran(1_000, Step::Worked), "a newcomer starts where the last pick was");
        assert!(!lease.ran(MORSEL_NS, Step::Worked), "by now it is further behind than a worker stays");
        stride.give_back(lease, Step::Worked, 0);
        assert_eq!(stride.pick(0, Some(first), WorkerKind::Any).unwrap().task, second);
    }

    #[test]
    fn workers_of_a_query_that_is_far_ahead_come_over_to_a_shared_one() {
        let mut stride = Stride::default();
        let (long, other) = (stride.add(1.0, 8), stride.add(1.0, 8));
        stride.wake(long, 0);
        let mut leases: Vec<Lease> = (0..8).map(|_| stride.pick(0, None, WorkerKind::Any).unwrap()).collect();
        assert!(leases.iter_mut().all(|lease| lease.ran(100 * MORSEL_NS, Step::Worked)));
        stride.wake(other, 0);
        let mut lease = leases.pop().unwrap();
        assert!(!lease.ran(MORSEL_NS, Step::Worked));
        stride.give_back(lease, Step::Worked, 0);
        let newcomers = stride.pick(0, Some(long), WorkerKind::Any).unwrap();
        assert_eq!(newcomers.task, other);
        // The other has a worker now, but not yet its share.
        assert!(leases.iter_mut().all(|lease| !lease.ran(MORSEL_NS, Step::Worked)));
    }

    #[test]
    fn workers_for_short_tasks_take_no_others() {
        let mut stride = Stride::default();
        let (long, other) = (stride.add(1.0, 8), stride.add(1.0, 8));
        stride.wake(long, 0);
        stride.wake(other, 0);
        let mut leases = [(); 2].map(|()| stride.pick(0, None, WorkerKind::Any).unwrap());
        leases.iter_mut().for_each(|lease| assert!(!lease.ran(100 * MORSEL_NS, Step::Worked)));
        assert!(stride.pick(0, None, WorkerKind::Short).is_none());
        let short = stride.add(1.0, 8);
        assert_eq!([long, short].map(|task| stride.has_used_little(task)), [false, true]);
        assert_eq!(stride.workers_at_long(), 2);
        stride.wake(short, 0);
        let waits = stride.add(1.0, 8);
        let mut mine = stride.pick(0, None, WorkerKind::Short).unwrap();
        let its = stride.pick(0, None, WorkerKind::Short).unwrap();
        assert_eq!([mine.task, its.task], [short, short], "as many as it may have");
        assert!(mine.ran(MORSEL_NS, Step::Worked), "it is still short");
        stride.wake(waits, 0);
        assert!(!mine.ran(4 * MORSEL_NS, Step::Worked), "it is short no more");
        assert_eq!(stride.workers_at_long(), 4);
        stride.give_back(mine, Step::Worked, 0);
        stride.give_back(its, Step::Worked, 0);
        assert_eq!(stride.pick(0, Some(short), WorkerKind::Short).unwrap().task, waits);
        assert!(stride.has_work(), "another worker comes for what was short");
    }

    #[test]
    fn work_done_during_an_idle_step_is_not_lost() {
        let mut stride = Stride::default();
        let task = stride.add(1.0, 2);
        stride.wake(task, 0);
        // The second worker is turned away by a pipeline that takes one worker at a time, and is slow to say so.
        let (first, second) =
            (stride.pick(0, None, WorkerKind::Any).unwrap(), stride.pick(0, None, WorkerKind::Any).unwrap());
        ran(&mut stride, first, 0, Step::Worked, 1);
        ran(&mut stride, second, 0, Step::Idle, 2);
        assert!(stride.pick(3, None, WorkerKind::Any).is_some(), "the task still has work, and nobody else would call");
    }

    #[test]
    fn a_staying_worker_makes_its_task_runnable_again() {
        let mut stride = Stride::default();
        let task = stride.add(1.0, 2);
        stride.wake(task, 0);
        let (mut first, second) =
            (stride.pick(0, None, WorkerKind::Any).unwrap(), stride.pick(0, None, WorkerKind::Any).unwrap());
        ran(&mut stride, second, 0, Step::Idle, 1);
        assert!(stride.pick(2, None, WorkerKind::Any).is_none(), "put aside while the first is at it");
        assert!(!first.ran(0, Step::Worked), "there is work after all: others must come to know of it");
        stride.give_back(first, Step::Worked, 3);
        assert!(stride.pick(3, None, WorkerKind::Any).is_some() && stride.pick(3, None, WorkerKind::Any).is_some());
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
        assert!(stride.pick(0, None, WorkerKind::Any).is_none(), "a task is not run before it is first woken");
        stride.wake(task, 0);
        let pick = stride.pick(0, None, WorkerKind::Any).unwrap();
        ran(&mut stride, pick, 0, Step::Idle, 1);
        assert!(stride.pick(2, None, WorkerKind::Any).is_none());
        stride.look_again();
        assert!(stride.pick(3, None, WorkerKind::Any).is_some());
    }

    #[test]
    fn a_wake_up_during_an_idle_step_is_not_lost() {
        let mut stride = Stride::default();
        let task = stride.add(1.0, 2);
        stride.wake(task, 0);
        let pick = stride.pick(0, None, WorkerKind::Any).unwrap();
        stride.wake(task, 1);
        ran(&mut stride, pick, 0, Step::Idle, 2);
        let again = stride.pick(3, None, WorkerKind::Any).expect("woken meanwhile");
        ran(&mut stride, again, 0, Step::Idle, 4);
        assert!(stride.pick(5, None, WorkerKind::Any).is_none());
    }

    #[test]
    fn a_snapshot_tells_what_each_task_has_had() {
        let mut stride = Stride::default();
        let (first, second) = (stride.add(1.0, 4), stride.add(0.5, 2));
        stride.wake(first, 0);
        stride.wake(second, 0);
        let lease = stride.pick(100, None, WorkerKind::Any).unwrap();
        let tasks: Vec<TaskSnapshot> = stride.snapshot(300).collect();
        assert_eq!([tasks[0].task, tasks[1].task], [first, second]);
        assert_eq!([tasks[0].workers, tasks[1].workers], [1, 0]);
        assert_eq!([tasks[0].waited_ns, tasks[1].waited_ns], [100, 300]);
        ran(&mut stride, lease, 1_000_000, Step::Finished, 400);
        assert_eq!(stride.snapshot(400).map(|task| task.weight).collect::<Vec<_>>(), [0.5]);
    }
}
