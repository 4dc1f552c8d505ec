//! Timers and the signals that they send. A thread has one pair of timers, which go on while the thread works for query after query:
//! the handler finds out for which. A timer that has found its thread without a query a few times is stopped, by the handler too, so
//! that idle threads are not woken.

use std::cell::Cell;
use std::io;
use std::sync::OnceLock;

use super::stack::{Registers, StackBounds, unwind};
use super::trace::{TraceKind, put};
use super::{Periods, THREAD, collect};
use crate::current_metrics::CurrentMetric;
use crate::profile_events::{GLOBAL, ProfileEvent};
use crate::thread_usage::thread_id;

/// Shorter periods would leave no time between samples.
const PERIOD_NS_MIN: u64 = 1_000_000;
/// Times that a timer may find its thread idle before it is stopped.
const IDLE_MAX: u8 = 3;

/// The signals: those that ClickHouse uses.
const REAL: libc::c_int = libc::SIGUSR1;
const CPU: libc::c_int = libc::SIGUSR2;

/// A thread's timers.
pub(super) struct Timers {
    real: Timer,
    cpu: Timer,
}

struct Timer {
    /// `None` before it is first needed.
    id: Cell<Option<libc::timer_t>>,
    /// 0 while it is stopped.
    period_ns: Cell<u64>,
    idle: Cell<u8>,
}

impl Timers {
    pub(super) const fn new() -> Self {
        Self { real: Timer::new(), cpu: Timer::new() }
    }

    /// Has the timers run with these periods. Mostly they do already, and this is two comparisons.
    pub(super) fn arm(&self, periods: Periods, stack: &Cell<StackBounds>) {
        if self.real.runs(periods.real_ns) && self.cpu.runs(periods.cpu_ns) {
            return;
        }
        if !stack.get().is_known() {
            stack.set(StackBounds::of_this_thread());
        }
        self.real.arm(periods.real_ns, libc::CLOCK_MONOTONIC, REAL);
        self.cpu.arm(periods.cpu_ns, libc::CLOCK_THREAD_CPUTIME_ID, CPU);
    }
}

impl Timer {
    const fn new() -> Self {
        Self { id: Cell::new(None), period_ns: Cell::new(0), idle: Cell::new(0) }
    }

    fn runs(&self, period_ns: u64) -> bool {
        self.period_ns.get() == period_ns
    }

    fn arm(&self, period_ns: u64, clock: libc::clockid_t, signal: libc::c_int) {
        if self.runs(period_ns) {
            return;
        }
        if self.id.get().is_none() {
            DELETE_TIMERS.with(|_| ());
            self.id.set(create_timer(clock, signal));
            CurrentMetric::CreatedTimersInQueryProfiler.add(i64::from(self.id.get().is_some()));
        }
        if self.id.get().is_none() {
            // The process has as many timers as it may: this thread goes without, and does not ask again.
            self.period_ns.set(period_ns);
            return;
        }
        self.idle.set(0);
        self.set(period_ns);
    }

    /// Starts or stops the timer. Async-signal-safe.
    fn set(&self, period_ns: u64) {
        let Some(id) = self.id.get() else { return };
        let time = |ns: u64| libc::timespec {
            tv_sec: libc::time_t::try_from(ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        let period = if period_ns == 0 { 0 } else { period_ns.max(PERIOD_NS_MIN) };
        // The first sample after a part of the period that differs between threads.
        let first = if period == 0 { 0 } else { period / 8 * (1 + thread_id() % 8) };
        let setting = libc::itimerspec { it_interval: time(period), it_value: time(first) };
        // SAFETY: the timer is this thread's, and the setting is read only.
        if unsafe { libc::timer_settime(id, 0, &raw const setting, std::ptr::null_mut()) } == 0 {
            let changed = i64::from(period_ns > 0) - i64::from(self.period_ns.get() > 0);
            CurrentMetric::ActiveTimersInQueryProfiler.add(changed);
            self.period_ns.set(period_ns);
        }
    }

    /// The timer has found its thread idle.
    fn found_idle(&self) {
        let idle = self.idle.get() + 1;
        self.idle.set(idle);
        if idle >= IDLE_MAX {
            self.set(0);
        }
    }
}

fn create_timer(clock: libc::clockid_t, signal: libc::c_int) -> Option<libc::timer_t> {
    // SAFETY: the event is initialised, and the kernel writes the id that it is given room for.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = thread_id() as libc::pid_t;
        let mut id: libc::timer_t = std::mem::zeroed();
        (libc::timer_create(clock, &raw mut event, &raw mut id) == 0).then_some(id)
    }
}

thread_local! {
    /// Apart from the thread's state, which must not have a destructor: handlers look at it on threads that never did.
    static DELETE_TIMERS: DeleteTimers = const { DeleteTimers };
}

/// Deletes the thread's timers when the thread ends.
struct DeleteTimers;

impl Drop for DeleteTimers {
    fn drop(&mut self) {
        let _ = THREAD.try_with(|thread| {
            for timer in [&thread.timers.real, &thread.timers.cpu] {
                if let Some(id) = timer.id.take() {
                    // SAFETY: the timer was created by this thread and is deleted once.
                    unsafe { libc::timer_delete(id) };
                    CurrentMetric::CreatedTimersInQueryProfiler.add(-1);
                    CurrentMetric::ActiveTimersInQueryProfiler.add(-i64::from(timer.period_ns.get() > 0));
                }
            }
        });
    }
}

/// Takes over the signals, once.
pub(super) fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let install = || {
        handle(REAL, on_timer)?;
        handle(CPU, on_timer)?;
        handle(collect::signal(), collect::on_signal)
    };
    let installed = INSTALLED.get_or_init(|| install().map_err(|error: io::Error| error.raw_os_error().unwrap_or(0)));
    installed.map_err(io::Error::from_raw_os_error)
}

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

fn handle(signal: libc::c_int, handler: Handler) -> io::Result<()> {
    // SAFETY: the action is initialised; the handlers are async-signal-safe.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A timer has run off. Everything here is async-signal-safe: cells of the thread, atomics, `clock_gettime`, `timer_settime`.
extern "C" fn on_timer(signal: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of the thread's own errno is always valid.
    let errno = unsafe { *libc::__errno_location() };
    let _ = THREAD.try_with(|thread| {
        let (timer, kind) = match signal {
            CPU => (&thread.timers.cpu, TraceKind::Cpu),
            _ => (&thread.timers.real, TraceKind::Real),
        };
        let bytes = thread.query_id_bytes.get();
        if bytes == 0 {
            timer.found_idle();
            return;
        }
        timer.idle.set(0);
        GLOBAL.add(ProfileEvent::QueryProfilerRuns, 1);
        if let Some(id) = timer.id.get() {
            // SAFETY: the timer is this thread's; `timer_getoverrun` is async-signal-safe.
            let missed = unsafe { libc::timer_getoverrun(id) };
            GLOBAL.add(ProfileEvent::QueryProfilerSignalOverruns, u64::try_from(missed).unwrap_or(0));
        }
        // SAFETY: `attach` keeps the id as long as the thread points to it, and this is the thread.
        let query_id = unsafe { std::slice::from_raw_parts(thread.query_id.get(), bytes) };
        let bounds = thread.stack.get();
        put(kind, now_ns(), (0, 0), query_id, |frames| {
            // SAFETY: the kernel gave the context, and the bounds are this thread's.
            unsafe { unwind(Registers::of_context(context.cast()), bounds, frames) }
        });
    });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Nanoseconds since the epoch.
pub(super) fn now_ns() -> u64 {
    // SAFETY: the kernel fills the timespec.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
