//! Threads, memory and measures of the process: the thread pool, the memory tracker, profile events and current metrics, CPU
//! topology. Knows nothing of queries.

mod block_on;
pub mod counted_lock;
pub mod cpu;
pub mod cpu_times;
pub mod current_metrics;
pub mod file_io;
pub mod histogram;
pub mod long_steps;
pub mod memory;
mod pieces;
pub mod profile_events;
pub mod profiler;
pub mod symbols;
pub mod thread_attributes;
mod thread_io;
pub mod thread_pool;
pub mod thread_usage;

pub use block_on::block_on;
pub use current_metrics::CurrentMetric;
pub use memory::{MemoryTracker, TrackingAllocator};
pub use pieces::Pieces;
pub use profile_events::{Counters, ProfileEvent};
pub use thread_pool::{LocalThreadPool, ThreadPool, ThreadPoolLimits};
