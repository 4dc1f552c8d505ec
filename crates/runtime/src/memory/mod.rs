//! Memory: who holds how much, counted by the global allocator, and who must let go when there is too little. `tracker` counts and
//! knows limits, `allocator` charges every allocation to the tracker that its thread works for, `overcommit` chooses.

mod allocator;
mod overcommit;
mod tracker;

pub use allocator::{
    AttachGuard, ThreadBytes, TrackingAllocator, UNTRACKED_MAX_BYTES, attach, detach, flush, reserve, take_thread_bytes,
};
pub use overcommit::{Candidate, choose_victim};
pub use tracker::{MemoryLevel, MemoryLimitExceeded, MemoryTracker, SERVER, machine_memory_bytes};
