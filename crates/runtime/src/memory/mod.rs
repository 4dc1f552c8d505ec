//! Memory: who holds how much, counted by the global allocator, and who must let go when there is too little. `tracker` counts and
//! knows limits, `allocator` charges every allocation to the tracker that its thread works for, `overcommit` chooses,
//! `reclaim` gives freed memory back to the system, `cached` has caches give way.

mod allocator;
mod cached;
mod overcommit;
mod profiler;
mod reclaim;
mod tracker;

pub use allocator::{
    AttachGuard, ThreadBytes, TrackingAllocator, UNTRACKED_MAX_BYTES, attach, current, detach, flush, reserve,
    take_thread_bytes,
};
pub use cached::{Cache, add_cache, add_cached};
pub use overcommit::{Candidate, choose_victim};
pub use profiler::MemoryProfile;
pub use reclaim::{Reclaim, set_kept_ratio_max, start_reclaiming};
pub use tracker::{MemoryLevel, MemoryLimitExceeded, MemoryTracker, SERVER, machine_memory_bytes};
