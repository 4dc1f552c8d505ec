//! On whose account a thread of the pool works: the query whose scan it reads for.

use std::sync::Arc;

use squall_runtime::memory::{self, MemoryTracker};
use squall_runtime::profile_events;
use squall_runtime::thread_pool::{JobOptions, Owner, ThreadPool};
use squall_types::checkpoint::{self, Supervisor};
use squall_types::{Error, ErrorCode, Result};

/// Whom a thread worked for when it was asked.
#[derive(Clone, Default)]
pub struct Account {
    memory: Option<Arc<MemoryTracker>>,
    owner: Option<Owner>,
    supervisor: Option<Arc<dyn Supervisor>>,
}

impl Account {
    /// That of the calling thread.
    pub fn of_this_thread() -> Self {
        Self { memory: memory::current(), owner: profile_events::current(), supervisor: checkpoint::supervisor() }
    }

    /// For the pool's own counts.
    pub fn owner(&self) -> Option<Owner> {
        self.owner.clone()
    }

    /// Has a thread of the pool work on this account, until the end of the work, which tells of its failure itself.
    ///
    /// # Errors
    /// `CANNOT_SCHEDULE_TASK`.
    pub fn on_thread(self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let options = JobOptions { owner: self.owner(), ..JobOptions::default() };
        let job = move || self.charge(work);
        let scheduled = ThreadPool::global().schedule_with(options, job);
        scheduled.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))
    }

    /// Works on this account.
    pub fn charge<T>(&self, work: impl FnOnce() -> T) -> T {
        let _memory = self.memory.clone().map(memory::attach);
        let _events = self.owner.clone().map(profile_events::attach);
        let _supervised = self.supervisor.clone().map(checkpoint::supervise);
        work()
    }
}
