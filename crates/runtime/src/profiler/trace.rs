//! Traces on their way from signal handlers to whoever writes them: a fixed number of slots, claimed without locks. When all are
//! taken a trace is dropped and counted.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::profile_events::{GLOBAL, ProfileEvent};
use crate::thread_usage::thread_id;

/// Frames of a trace; deeper ones are cut off.
pub const FRAMES_MAX: usize = 64;
/// Longer query ids are cut.
pub const QUERY_ID_BYTES_MAX: usize = 64;
/// Traces that may wait: several of each of a thousand threads would be taken in one second.
const SLOTS: usize = 2048;

/// Why a trace was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceKind {
    /// Some real time had passed.
    Real = 0,
    /// The thread had used some CPU time.
    Cpu = 1,
    /// Its query holds a step more of memory.
    Memory = 2,
    /// An allocation or a free was chosen at random.
    MemorySample = 3,
    /// Its query holds more memory than ever.
    MemoryPeak = 4,
}

/// Where a thread was.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// Why the trace was taken.
    pub kind: TraceKind,
    /// When, in nanoseconds since the epoch.
    pub time_ns: u64,
    /// The kernel's number of the thread.
    pub thread_id: u64,
    /// Bytes, where it was taken for memory: negative of a free.
    pub bytes: i64,
    /// The address of an allocation.
    pub pointer: u64,
    query_id: [u8; QUERY_ID_BYTES_MAX],
    query_id_bytes: usize,
    frames: [u64; FRAMES_MAX],
    frame_count: usize,
}

impl Trace {
    const EMPTY: Self = Self {
        kind: TraceKind::Real,
        time_ns: 0,
        thread_id: 0,
        bytes: 0,
        pointer: 0,
        query_id: [0; QUERY_ID_BYTES_MAX],
        query_id_bytes: 0,
        frames: [0; FRAMES_MAX],
        frame_count: 0,
    };

    /// The id of the query that the thread worked for.
    pub fn query_id(&self) -> String {
        String::from_utf8_lossy(self.query_id.get(..self.query_id_bytes).unwrap_or_default()).into_owned()
    }

    /// Addresses, innermost first.
    pub fn frames(&self) -> &[u64] {
        self.frames.get(..self.frame_count).unwrap_or_default()
    }
}

const FREE: u8 = 0;
const TAKEN: u8 = 1;
const FULL: u8 = 2;

struct Slot {
    state: AtomicU8,
    trace: UnsafeCell<Trace>,
}

/// The slots of the process.
struct Slots {
    slots: [Slot; SLOTS],
    next: AtomicUsize,
}

// SAFETY: a slot's trace is touched only by the one who moved its state from FREE or FULL to TAKEN.
unsafe impl Sync for Slots {}

static TRACES: Slots = Slots {
    slots: [const { Slot { state: AtomicU8::new(FREE), trace: UnsafeCell::new(Trace::EMPTY) } }; SLOTS],
    next: AtomicUsize::new(0),
};

/// Puts a trace. `fill` writes the frames and returns how many there are. Async-signal-safe.
pub(super) fn put(
    kind: TraceKind,
    time_ns: u64,
    (bytes, pointer): (i64, u64),
    query_id: &[u8],
    fill: impl FnOnce(&mut [u64; FRAMES_MAX]) -> usize,
) {
    // A few tries: a full buffer must not keep a thread in its handler.
    for _ in 0..4 {
        let at = TRACES.next.fetch_add(1, Ordering::Relaxed) % SLOTS;
        let Some(slot) = TRACES.slots.get(at) else { return };
        if slot.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            continue;
        }
        // SAFETY: the slot is this caller's until its state changes.
        let trace = unsafe { &mut *slot.trace.get() };
        trace.kind = kind;
        trace.time_ns = time_ns;
        trace.thread_id = thread_id();
        (trace.bytes, trace.pointer) = (bytes, pointer);
        trace.query_id_bytes = query_id.len().min(QUERY_ID_BYTES_MAX);
        trace.query_id.iter_mut().zip(query_id).for_each(|(to, from)| *to = *from);
        trace.frame_count = fill(&mut trace.frames);
        slot.state.store(FULL, Ordering::Release);
        return;
    }
    GLOBAL.add(ProfileEvent::QueryProfilerTracesDropped, 1);
    GLOBAL.add(ProfileEvent::CannotWriteToWriteBufferDiscard, 1);
}

/// Takes the traces that wait.
pub fn take_traces(mut each: impl FnMut(&Trace)) {
    for slot in &TRACES.slots {
        if slot.state.load(Ordering::Relaxed) == FULL
            && slot.state.compare_exchange(FULL, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
        {
            // SAFETY: the slot is this caller's until its state changes.
            each(unsafe { &*slot.trace.get() });
            slot.state.store(FREE, Ordering::Release);
        }
    }
}
