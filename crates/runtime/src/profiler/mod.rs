//! The sampling query profiler: every so often of real and of CPU time, a thread that works for a query notes where it is. Attaching a
//! thread to a query is a few stores: its pair of timers is made once, when it is first needed, and stays (document 004, #48778).

mod collect;
mod signal;
mod stack;
mod trace;

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};

use stack::{Registers, StackBounds, unwind};

pub use collect::{ThreadTrace, stacks};
pub use trace::{FRAMES_MAX, QUERY_ID_BYTES_MAX, Trace, TraceKind, take_traces};

/// How often samples are taken, in nanoseconds; 0 is never.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Periods {
    /// `query_profiler_real_time_period_ns`.
    pub real_ns: u64,
    /// `query_profiler_cpu_time_period_ns`.
    pub cpu_ns: u64,
}

/// Whether anybody wants traces.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// Says that traces are taken from now on: somebody calls [`take_traces`] now and then.
///
/// # Errors
/// Where the kernel does not let signals be handled.
pub fn enable() -> std::io::Result<()> {
    signal::install()?;
    IS_WANTED.store(true, Ordering::Release);
    Ok(())
}

/// What the signal handler may know of its thread. All in cells without destructors: a handler may look at any moment of the thread's
/// life.
struct ThreadState {
    /// The id of the query that the thread works for; a length of 0 is none.
    query_id: Cell<*const u8>,
    query_id_bytes: Cell<usize>,
    stack: Cell<StackBounds>,
    timers: signal::Timers,
}

thread_local! {
    static THREAD: ThreadState = const {
        ThreadState {
            query_id: Cell::new(std::ptr::null()),
            query_id_bytes: Cell::new(0),
            stack: Cell::new(StackBounds::UNKNOWN),
            timers: signal::Timers::new(),
        }
    };
}

/// The calling thread works for a query until the guard is dropped.
#[must_use]
pub fn attach(query_id: &Arc<str>, periods: Periods) -> AttachGuard {
    let is_wanted = IS_WANTED.load(Ordering::Relaxed);
    let before = THREAD.with(|thread| {
        let before = (thread.query_id.get(), thread.query_id_bytes.get());
        if is_wanted {
            thread.set_query(query_id.as_ptr(), query_id.len());
            thread.timers.arm(periods, &thread.stack);
        }
        before
    });
    AttachGuard { before, _query_id: is_wanted.then(|| query_id.clone()) }
}

/// Notes where the calling thread is, where it works for a query and somebody wants traces: for the memory profiler, inside the allocator,
/// so it allocates nothing.
#[inline(never)]
pub(crate) fn trace_here(kind: TraceKind, bytes: i64, pointer: u64) {
    let _ = THREAD.try_with(|thread| {
        let length = thread.query_id_bytes.get();
        if length == 0 {
            return;
        }
        if !thread.stack.get().is_known() {
            thread.stack.set(StackBounds::of_this_thread());
        }
        // SAFETY: `attach` keeps the id as long as the thread points to it, and this is the thread.
        let query_id = unsafe { std::slice::from_raw_parts(thread.query_id.get(), length) };
        let (registers, bounds) = (Registers::here(), thread.stack.get());
        trace::put(kind, signal::now_ns(), (bytes, pointer), query_id, |frames| {
            // SAFETY: the registers and the bounds are this thread's, and the frames are those of its callers.
            unsafe { unwind(registers, bounds, frames) }
        });
    });
}

impl ThreadState {
    /// The handler sees either no query or a whole one.
    fn set_query(&self, id: *const u8, bytes: usize) {
        self.query_id_bytes.set(0);
        compiler_fence(Ordering::SeqCst);
        self.query_id.set(id);
        compiler_fence(Ordering::SeqCst);
        self.query_id_bytes.set(bytes);
    }
}

/// Ends [`attach`] when dropped. Not `Send`: it belongs to its thread.
#[derive(Debug)]
pub struct AttachGuard {
    before: (*const u8, usize),
    /// Keeps the id while the thread points to it.
    _query_id: Option<Arc<str>>,
}

impl Drop for AttachGuard {
    fn drop(&mut self) {
        let (id, bytes) = self.before;
        let _ = THREAD.try_with(|thread| thread.set_query(id, bytes));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::thread_usage::{thread_cpu_ns, thread_id};

    /// Whoever takes traces takes everybody's.
    static ONE_TAKES: parking_lot::Mutex<()> = parking_lot::Mutex::new(());

    /// Works for a query until it has used some CPU time, and takes its traces.
    fn traces_of(query_id: &str, periods: Periods) -> Vec<Trace> {
        let _one = ONE_TAKES.lock();
        enable().unwrap();
        let work = || {
            let _guard = attach(&query_id.into(), periods);
            let before = thread_cpu_ns();
            while thread_cpu_ns() < before + 100_000_000 {
                std::hint::black_box(());
            }
            thread_id()
        };
        let id = std::thread::scope(|scope| scope.spawn(work).join().unwrap());
        let mut traces = Vec::new();
        take_traces(|trace| {
            if trace.thread_id == id {
                traces.push(*trace);
            }
        });
        traces
    }

    #[test]
    fn samples_are_taken_of_real_and_of_cpu_time() {
        let mut traces = Vec::new();
        // The kernel looks at timers of CPU time when its clock ticks; a thread that shares its CPU with many seldom runs just then.
        let is_enough = |traces: &[Trace]| traces.iter().filter(|trace| trace.kind == TraceKind::Cpu).count() >= 5;
        for _ in 0..100 {
            traces.extend(traces_of("sampled", Periods { real_ns: 5_000_000, cpu_ns: 5_000_000 }));
            if is_enough(&traces) {
                break;
            }
        }
        for kind in [TraceKind::Real, TraceKind::Cpu] {
            let of_kind: Vec<&Trace> = traces.iter().filter(|trace| trace.kind == kind).collect();
            assert!(of_kind.len() >= 5, "{kind:?}: {}", of_kind.len());
            assert!(of_kind.iter().all(|trace| trace.query_id() == "sampled" && !trace.frames().is_empty()));
            assert!(of_kind.iter().any(|trace| trace.frames().len() > 3), "no stack was followed");
        }
    }

    #[test]
    fn a_period_of_zero_takes_none() {
        assert!(traces_of("unsampled", Periods::default()).is_empty());
    }

    #[test]
    fn threads_without_a_query_are_left_alone() {
        let _one = ONE_TAKES.lock();
        enable().unwrap();
        drop(attach(&"over".into(), Periods { real_ns: 1_000_000, cpu_ns: 0 }));
        let id = thread_id();
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        take_traces(|trace| assert!(trace.thread_id != id || trace.query_id() != "over"));
    }
}
