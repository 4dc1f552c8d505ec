//! What a worker carries from morsel to morsel of one task: with it the worker charges the CPU time that it used and finds out,
//! without a lock, whether the policy would give it the same task again. All that needs the whole picture is `stride`'s.

use std::sync::Arc;

use crate::policy::stride::{SHORT, STAY, TaskId, WorkerKind};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::task::{MORSEL_TARGET, Step};
use crate::weight::Weight;

/// CPU time after which a task's priority falls by one factor of [`DECAY`].
pub const DECAY_QUANTUM_NS: u64 = 2_000_000;
/// The factor.
pub const DECAY: f64 = 0.9;
/// The lowest priority as a share of the first.
pub const PRIORITY_FLOOR: f64 = 0.01;

/// Never: nobody waits.
pub(crate) const NEVER: u64 = u64::MAX;

/// The priority of a task of weight 1 that has used so much CPU time, as a share of a new one's.
fn decay(consumed_ns: u64) -> f64 {
    /// `DECAY` to the power of 43 is above the floor, to the power of 44 below it.
    const STEPS: [f64; 44] = {
        let (mut steps, mut at) = ([1.0; 44], 1);
        while at < steps.len() {
            steps[at] = steps[at - 1] * DECAY;
            at += 1;
        }
        steps
    };
    let quanta = usize::try_from(consumed_ns / DECAY_QUANTUM_NS).unwrap_or(usize::MAX);
    STEPS.get(quanta).copied().unwrap_or(PRIORITY_FLOOR)
}

/// A task's numbers that its workers change without the lock. On cache lines of its own: the workers of one task share it, those of
/// others never touch it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Account {
    weight: Weight,
    /// Virtual time used, in microseconds: CPU time divided by the priority that the task had; and what morsels under way will use.
    pass_us: AtomicU64,
    consumed_ns: AtomicU64,
    /// Counts wake-ups and morsels that were run: a worker that found nothing to do believes it only if nothing has happened
    /// meanwhile.
    calls: AtomicU64,
    /// Written under the lock only.
    is_runnable: AtomicBool,
}

impl Account {
    pub(crate) fn new(weight: Weight, pass_us: u64) -> Self {
        Self {
            weight,
            pass_us: AtomicU64::new(pass_us),
            consumed_ns: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            is_runnable: AtomicBool::new(false),
        }
    }

    pub(crate) fn weight(&self) -> &Weight {
        &self.weight
    }

    pub(crate) fn pass_us(&self) -> u64 {
        self.pass_us.load(Ordering::Relaxed)
    }

    /// The pass with which the task was given to a worker last: a morsel less than now, while one is under way.
    pub(crate) fn picked_us(&self) -> u64 {
        self.pass_us().saturating_sub(self.target_us())
    }

    pub(crate) fn consumed_ns(&self) -> u64 {
        self.consumed_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn is_short(&self) -> bool {
        self.consumed_ns() < SHORT.as_nanos() as u64
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Acquire)
    }

    pub(crate) fn is_runnable(&self) -> bool {
        self.is_runnable.load(Ordering::Acquire)
    }

    /// Something happened that a worker who finds nothing must not overlook. Gives the new count.
    pub(crate) fn call(&self) -> u64 {
        // Release and acquire: who counts after a wake-up also sees the work that it announced.
        self.calls.fetch_add(1, Ordering::AcqRel) + 1
    }

    pub(crate) fn set_runnable(&self, is_runnable: bool) {
        let was_runnable = self.is_runnable.swap(is_runnable, Ordering::AcqRel);
        if let Some(share) = self.weight.share()
            && was_runnable != is_runnable
        {
            share.count(is_runnable);
        }
    }

    /// Moves the pass up to `pass_us` at least: waiting for something else than a worker earns no credit.
    pub(crate) fn catch_up(&self, pass_us: u64) {
        self.pass_us.fetch_max(pass_us, Ordering::Relaxed);
    }

    /// A worker begins a morsel: charges ahead what it should take. Gives what was charged.
    pub(crate) fn reserve(&self) -> u64 {
        let reserved_us = self.target_us();
        self.pass_us.fetch_add(reserved_us, Ordering::Relaxed);
        reserved_us
    }

    /// A morsel for which `reserved_us` was charged ahead has taken `cpu_ns`: charges that instead, and gives the pass after it.
    pub(crate) fn settle(&self, cpu_ns: u64, reserved_us: u64) -> u64 {
        let consumed_ns = self.consumed_ns.fetch_add(cpu_ns, Ordering::Relaxed);
        let change_us = self.virtual_us(cpu_ns, consumed_ns).wrapping_sub(reserved_us);
        self.pass_us.fetch_add(change_us, Ordering::Relaxed).wrapping_add(change_us)
    }

    /// When a worker of another task should come over: a worker's pass may be beyond the task's own by as much CPU time of the task as
    /// [`STAY`].
    pub(crate) fn due_us(&self) -> u64 {
        self.pass_us() + self.virtual_us(STAY.as_nanos() as u64, self.consumed_ns())
    }

    /// What a morsel should take.
    pub(crate) fn target_us(&self) -> u64 {
        self.virtual_us(MORSEL_TARGET.as_nanos() as u64, self.consumed_ns())
    }

    /// CPU time as virtual time, rounded up: a morsel that is shorter than the clock's step still counts.
    fn virtual_us(&self, cpu_ns: u64, consumed_ns: u64) -> u64 {
        (cpu_ns as f64 / (self.weight.value() * decay(consumed_ns)) / 1_000.0).ceil() as u64
    }
}

/// What a worker compares its task's pass with: when those who want a worker are due, as the policy last published it under its lock.
/// What is read here may be a morsel old, never more: the next look sees it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Board {
    /// When the first of the runnable tasks that nobody works for is due.
    alone_us: AtomicU64,
    /// Of the tasks that have workers and could take one more, the one that is due first, when that is, and when the next is.
    shared_task: AtomicU64,
    shared_us: AtomicU64,
    second_us: AtomicU64,
}

impl Default for Board {
    fn default() -> Self {
        let none = || AtomicU64::new(NEVER);
        Self { alone_us: none(), shared_task: none(), shared_us: none(), second_us: none() }
    }
}

impl Board {
    /// `alone_us`: when the first of the tasks without workers is due. Of the tasks with workers that could take one more: the
    /// `first` that is due, with when that is, and when the `second` is.
    pub(crate) fn publish(&self, alone_us: u64, first: Option<(u64, usize)>, second_us: u64) {
        let (shared_us, task) = first.unwrap_or((NEVER, usize::MAX));
        self.alone_us.store(alone_us, Ordering::Release);
        self.shared_task.store(task as u64, Ordering::Release);
        self.shared_us.store(shared_us, Ordering::Release);
        self.second_us.store(second_us, Ordering::Release);
    }

    /// When the first of the other tasks that want a worker is due.
    fn due_of_others(&self, task: TaskId) -> u64 {
        let of_task = self.shared_task.load(Ordering::Acquire) == task.0 as u64;
        let shared = if of_task { &self.second_us } else { &self.shared_us };
        self.alone_us.load(Ordering::Acquire).min(shared.load(Ordering::Acquire))
    }
}

/// A worker's right to run a task. It ends with [`crate::policy::stride::Stride::give_back`].
#[derive(Debug)]
pub struct Lease {
    /// The task whose morsel the worker runs.
    pub task: TaskId,
    /// How long the task had waited with no worker at all.
    pub waited_ns: u64,
    pub(crate) account: Arc<Account>,
    pub(crate) board: Arc<Board>,
    /// The count of calls that the worker knew of when its morsel began.
    pub(crate) calls: u64,
    /// What was charged ahead for the morsel.
    pub(crate) reserved_us: u64,
    /// The worker's.
    pub(crate) kind: WorkerKind,
}

impl Lease {
    /// The worker has run a morsel. Charges `cpu_ns` to the task and says whether the worker goes on with the next morsel of the same
    /// task; if not, it must give the lease back. Takes no lock.
    #[must_use]
    pub fn ran(&mut self, cpu_ns: u64, step: Step) -> bool {
        let pass_us = self.account.settle(cpu_ns, std::mem::take(&mut self.reserved_us));
        if step != Step::Worked {
            return false;
        }
        // Counts as a call: another worker that found nothing while this one was at it, and says so after it, must not put the task to
        // sleep, since this one may take another task next.
        self.calls = self.account.call();
        let stays = self.account.is_runnable()
            && pass_us <= self.board.due_of_others(self.task)
            && (self.kind == WorkerKind::Any || self.account.is_short());
        if stays {
            self.reserved_us = self.account.reserve();
        }
        stays
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_falls_to_the_floor_and_no_further() {
        assert_eq!(decay(0), 1.0);
        assert_eq!(decay(DECAY_QUANTUM_NS), DECAY);
        assert!((decay(20 * DECAY_QUANTUM_NS) - DECAY.powi(20)).abs() < 1e-12);
        assert!(decay(43 * DECAY_QUANTUM_NS) > PRIORITY_FLOOR);
        assert_eq!(decay(44 * DECAY_QUANTUM_NS), PRIORITY_FLOOR);
        assert_eq!(decay(u64::MAX), PRIORITY_FLOOR);
    }

    #[test]
    fn any_weight_and_any_time_can_be_charged() {
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1.0] {
            let account = Account::new(weight.into(), 0);
            assert_eq!(account.settle(0, 0), 0);
            assert!(account.settle(1, account.reserve()) >= 1);
            let year_ns = 365 * 24 * 3_600_000_000_000;
            assert!(account.settle(year_ns, 0) < u64::MAX / 50, "{weight}");
            assert!(account.settle(year_ns, 0) < u64::MAX / 20, "{weight}");
        }
    }
}
