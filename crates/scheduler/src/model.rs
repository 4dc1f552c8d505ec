//! The workers of `stride` under loom, which runs the very code of `workers`, `policy::stride` and `policy::lease` in every order
//! that the memory model allows. A wake-up that is lost leaves all threads parked: loom reports the deadlock, since parked workers
//! do not look again here.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p squall-scheduler --lib model`

use std::sync::Arc;
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use squall_runtime::thread_pool::ScheduleError;

use crate::policy::stride::{SHORT, WorkerKind};
use crate::sync::use_cpu;
use crate::task::{Step, Task};
use crate::workers::Workers;

/// Explores all interleavings with so many involuntary switches of thread.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A task of morsels that come when others bring them; whoever runs the last one stops the workers.
struct Brought {
    there: AtomicUsize,
    unfinished: AtomicUsize,
    /// Where it takes one worker at a time, a second is turned away.
    inside: Option<AtomicUsize>,
    /// CPU time that a morsel takes.
    cpu: Duration,
    workers: std::sync::Weak<Workers>,
}

impl Brought {
    fn claim(&self) -> bool {
        self.there.fetch_update(Ordering::AcqRel, Ordering::Acquire, |there| there.checked_sub(1)).is_ok()
    }

    fn finish_one(&self) -> Step {
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) > 1 {
            return Step::Worked;
        }
        if let Some(workers) = self.workers.upgrade() {
            workers.stop();
        }
        Step::Finished
    }
}

impl Task for Brought {
    fn run(&self, _: Duration) -> Step {
        if let Some(inside) = &self.inside
            && inside.swap(1, Ordering::AcqRel) == 1
        {
            return Step::Idle;
        }
        let claimed = self.claim();
        if let Some(inside) = &self.inside {
            // Not a store: loom lets those be seen out of the order that a swap between them implies.
            inside.swap(0, Ordering::AcqRel);
        }
        if !claimed {
            return Step::Idle;
        }
        use_cpu(self.cpu);
        self.finish_one()
    }

    fn refuse(&self, _: &ScheduleError) {
        unreachable!("only threads of a task's own are refused, and this one is run by the workers");
    }
}

/// Runs a task of `there` morsels and of as many more as `brought`, each brought by a thread of its own, on two workers.
fn run(there: usize, brought: usize, is_serial: bool, workers_max: usize) {
    let workers = Arc::new(Workers::new(0));
    let task = Arc::new(Brought {
        there: AtomicUsize::new(there),
        unfinished: AtomicUsize::new(there + brought),
        inside: is_serial.then(|| AtomicUsize::new(0)),
        cpu: Duration::ZERO,
        workers: Arc::downgrade(&workers),
    });
    let id = workers.add(task.clone(), 1.0, workers_max);
    let second = thread::spawn({
        let workers = workers.clone();
        move || workers.work(1, WorkerKind::Any)
    });
    let bringing: Vec<_> = (0..brought)
        .map(|_| {
            let (workers, task) = (workers.clone(), task.clone());
            thread::spawn(move || {
                task.there.fetch_add(1, Ordering::AcqRel);
                workers.wake(id, usize::MAX);
            })
        })
        .collect();
    if there > 0 {
        workers.wake(id, usize::MAX);
    }
    workers.work(0, WorkerKind::Any);
    second.join().unwrap();
    for thread in bringing {
        thread.join().unwrap();
    }
    assert_eq!(task.unfinished.load(Ordering::Acquire), 0);
}

#[test]
fn work_that_is_brought_while_workers_stay_or_park_is_done() {
    explore(1, || run(1, 1, false, 2));
}

#[test]
fn work_that_two_bring_is_done() {
    explore(1, || run(0, 2, false, 2));
}

#[test]
fn a_worker_that_is_turned_away_puts_no_work_to_sleep() {
    explore(3, || run(2, 0, true, 2));
    explore(1, || run(1, 1, true, 2));
}

#[test]
fn a_newcomer_is_run_beside_a_task_that_a_worker_stays_with() {
    // There is no other worker: the one that stays must come to the newcomer.
    explore(3, || {
        let workers = Arc::new(Workers::new(0));
        let task = |morsels| {
            Arc::new(Brought {
                there: AtomicUsize::new(morsels),
                unfinished: AtomicUsize::new(morsels),
                inside: None,
                cpu: Duration::ZERO,
                workers: std::sync::Weak::new(),
            })
        };
        let (first, second) = (task(2), task(1));
        let ids = [workers.add(first.clone(), 1.0, 1), workers.add(second.clone(), 1.0, 1)];
        workers.wake(ids[0], usize::MAX);
        let worker = thread::spawn({
            let workers = workers.clone();
            move || workers.work(0, WorkerKind::Any)
        });
        workers.wake(ids[1], usize::MAX);
        while first.unfinished.load(Ordering::Acquire) + second.unfinished.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        workers.stop();
        worker.join().unwrap();
    });
}

#[test]
fn a_short_task_beside_a_long_one_is_done_and_one_that_gets_long_is_not_forgotten() {
    for cpu in [Duration::ZERO, SHORT] {
        explore(1, move || {
            let workers = Arc::new(Workers::new(0));
            let task = |morsels, cpu| {
                Arc::new(Brought {
                    there: AtomicUsize::new(morsels),
                    unfinished: AtomicUsize::new(morsels),
                    inside: None,
                    cpu,
                    workers: std::sync::Weak::new(),
                })
            };
            let (long, short) = (task(2, SHORT), task(2, cpu));
            let ids = [workers.add(long.clone(), 1.0, 1), workers.add(short.clone(), 1.0, 2)];
            workers.wake(ids[0], usize::MAX);
            let threads = [WorkerKind::Any, WorkerKind::Short].map(|kind| {
                let workers = workers.clone();
                thread::spawn(move || workers.work(0, kind))
            });
            workers.wake(ids[1], usize::MAX);
            while long.unfinished.load(Ordering::Acquire) + short.unfinished.load(Ordering::Acquire) > 0 {
                thread::yield_now();
            }
            workers.stop();
            for thread in threads {
                thread.join().unwrap();
            }
        });
    }
}
