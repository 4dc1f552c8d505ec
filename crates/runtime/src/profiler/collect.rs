//! Where every thread of the process is right now, for `system.stack_trace`: one thread after the other gets a signal, and its handler
//! answers.

use std::cell::UnsafeCell;
use std::fs;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::stack::{Registers, StackBounds, unwind};
use super::trace::{FRAMES_MAX, QUERY_ID_BYTES_MAX};
use super::{THREAD, signal as signals};
use crate::thread_usage::thread_id;

/// Threads that are asked; there may be no more rows.
const THREADS_MAX: usize = 20_000;
/// How long a thread may take to answer: one that blocks signals never does.
const ANSWER_WAIT: Duration = Duration::from_millis(100);

/// A thread and where it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadTrace {
    /// The thread's name.
    pub name: String,
    /// The kernel's number of the thread.
    pub thread_id: u64,
    /// The query that it worked for, or empty.
    pub query_id: String,
    /// Addresses, innermost first; empty where the thread did not answer.
    pub frames: Vec<u64>,
}

/// The answer of the thread that was asked last.
struct Answer {
    /// What is asked: a new number each time, 0 when nothing is.
    asked: AtomicU64,
    /// The last question that was answered.
    answered: AtomicU64,
    /// The thread that is asked.
    thread_id: AtomicU64,
    /// The memory maps, sorted: stacks are among them.
    maps: AtomicPtr<Range<usize>>,
    map_count: AtomicUsize,
    frames: UnsafeCell<[u64; FRAMES_MAX]>,
    frame_count: AtomicUsize,
    query_id: UnsafeCell<[u8; QUERY_ID_BYTES_MAX]>,
    query_id_bytes: AtomicUsize,
}

// SAFETY: the cells are written by the one thread that is asked, before it says so, and read by the one who asks, after that.
unsafe impl Sync for Answer {}

static ANSWER: Answer = Answer {
    asked: AtomicU64::new(0),
    answered: AtomicU64::new(0),
    thread_id: AtomicU64::new(0),
    maps: AtomicPtr::new(std::ptr::null_mut()),
    map_count: AtomicUsize::new(0),
    frames: UnsafeCell::new([0; FRAMES_MAX]),
    frame_count: AtomicUsize::new(0),
    query_id: UnsafeCell::new([0; QUERY_ID_BYTES_MAX]),
    query_id_bytes: AtomicUsize::new(0),
};

/// The signal that asks.
pub(super) fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

/// The traces of all threads now. One caller at a time.
///
/// # Errors
/// Where the kernel lists no threads or lets no signals be handled.
pub fn stacks() -> io::Result<Vec<ThreadTrace>> {
    static ONE: Mutex<u64> = Mutex::new(0);
    signals::install()?;
    let mut question = ONE.lock();
    let mut traces = Vec::new();
    for task in fs::read_dir("/proc/self/task")?.flatten().take(THREADS_MAX) {
        let Some(thread_id) = task.file_name().to_str().and_then(|name| name.parse::<u64>().ok()) else { continue };
        let Ok(name) = fs::read_to_string(task.path().join("comm")) else { continue };
        *question += 1;
        let (frames, query_id) = ask(thread_id, *question);
        traces.push(ThreadTrace { name: name.trim_end().to_owned(), thread_id, query_id, frames });
    }
    Ok(traces)
}

fn ask(thread: u64, question: u64) -> (Vec<u64>, String) {
    // As of now: stacks of threads that ended are gone, new ones are there.
    let maps = writable_maps(&fs::read_to_string("/proc/self/maps").unwrap_or_default());
    ANSWER.map_count.store(maps.len(), Ordering::Relaxed);
    ANSWER.maps.store(maps.as_ptr().cast_mut(), Ordering::Relaxed);
    ANSWER.thread_id.store(thread, Ordering::Relaxed);
    ANSWER.asked.store(question, Ordering::Release);
    // SAFETY: signalling a thread of this process that may be gone is an error, no more.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread as libc::pid_t, signal()) } == 0;
    let deadline = Instant::now() + ANSWER_WAIT;
    while sent && ANSWER.answered.load(Ordering::Acquire) != question {
        if Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(20));
            continue;
        }
        // Too late: unless the handler is at it right now, it will find nothing asked.
        let withdrawn = ANSWER.asked.compare_exchange(question, 0, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if withdrawn {
            return (Vec::new(), String::new());
        }
    }
    if !sent {
        ANSWER.asked.store(0, Ordering::Release);
        return (Vec::new(), String::new());
    }
    let (count, bytes) = (ANSWER.frame_count.load(Ordering::Relaxed), ANSWER.query_id_bytes.load(Ordering::Relaxed));
    // SAFETY: the thread that was asked has answered, and nobody is asked now.
    let (frames, query_id) = unsafe { (&*ANSWER.frames.get(), &*ANSWER.query_id.get()) };
    let query_id = String::from_utf8_lossy(query_id.get(..bytes).unwrap_or_default()).into_owned();
    (frames.get(..count).unwrap_or_default().to_vec(), query_id)
}

/// A thread is asked. Async-signal-safe.
pub(super) extern "C" fn on_signal(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address of the thread's own errno is always valid.
    let errno = unsafe { *libc::__errno_location() };
    let question = ANSWER.asked.load(Ordering::Acquire);
    let is_asked = question != 0 && ANSWER.thread_id.load(Ordering::Relaxed) == thread_id();
    // Taking the question tells the one who asks to wait for the answer.
    if is_asked && ANSWER.asked.compare_exchange(question, 0, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        // SAFETY: the kernel gave the context; who asks keeps the maps until the answer, and touches no cell before it.
        unsafe {
            let registers = Registers::of_context(context.cast());
            let maps = std::slice::from_raw_parts(
                ANSWER.maps.load(Ordering::Relaxed),
                ANSWER.map_count.load(Ordering::Relaxed),
            );
            let at = maps.partition_point(|map| map.end <= registers.stack);
            let bounds = match maps.get(at) {
                Some(map) if map.contains(&registers.stack) => StackBounds { low: map.start, high: map.end },
                _ => StackBounds::UNKNOWN,
            };
            let count = unwind(registers, bounds, &mut *ANSWER.frames.get());
            ANSWER.frame_count.store(count, Ordering::Relaxed);
            let mut bytes = 0;
            let _ = THREAD.try_with(|thread| {
                bytes = thread.query_id_bytes.get().min(QUERY_ID_BYTES_MAX);
                std::ptr::copy_nonoverlapping(thread.query_id.get(), ANSWER.query_id.get().cast(), bytes);
            });
            ANSWER.query_id_bytes.store(bytes, Ordering::Relaxed);
        }
        ANSWER.answered.store(question, Ordering::Release);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// The ranges of `/proc/self/maps` that may be read and written, in order.
fn writable_maps(text: &str) -> Vec<Range<usize>> {
    let range = |line: &str| {
        let (addresses, rest) = line.split_once(' ')?;
        let (start, end) = addresses.split_once('-')?;
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        rest.starts_with("rw").then(|| Some(address(start)?..address(end)?))?
    };
    text.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::profiler::{Periods, attach, enable};

    #[test]
    fn every_thread_says_where_it_is() {
        enable().unwrap();
        let is_done = Arc::new(AtomicBool::new(false));
        let (told, told_id) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("busy".to_owned()).spawn({
            let is_done = is_done.clone();
            move || {
                let _query = attach(&"a-query".into(), Periods::default());
                told.send(thread_id()).unwrap();
                while !is_done.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            }
        });
        let id = told_id.recv().unwrap();
        let traces = stacks().unwrap();
        is_done.store(true, Ordering::Relaxed);
        thread.unwrap().join().unwrap();
        let busy = traces.iter().find(|trace| trace.thread_id == id).unwrap();
        assert_eq!((busy.name.as_str(), busy.query_id.as_str()), ("busy", "a-query"));
        assert!(!busy.frames.is_empty());
        let this = traces.iter().find(|trace| trace.thread_id == thread_id()).unwrap();
        assert!(this.frames.len() > 3, "{:?}", this.frames);
    }

    #[test]
    fn maps_are_read() {
        let text = "55d0-55d8 r-xp 0 00:00 1 /x\n7f00-7f10 rw-p 0 00:00 0 [stack]\n";
        assert_eq!(writable_maps(text).first(), Some(&(0x7f00..0x7f10)));
        assert_eq!(writable_maps(text).len(), 1);
    }
}
