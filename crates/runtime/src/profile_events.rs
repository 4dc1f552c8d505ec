//! Counters of what happened, under ClickHouse's names: for the whole process (`system.events`) and for each query
//! (`ProfileEvents` in `system.query_log`).

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! events {
    ($($name:ident $description:literal;)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ProfileEvent {
            $(#[doc = $description] $name,)*
        }

        impl ProfileEvent {
            /// Every event, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// ClickHouse's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// What is counted.
            pub fn description(self) -> &'static str {
                match self { $(Self::$name => $description),* }
            }
        }
    };
}

events! {
    Query "Number of queries to be interpreted and potentially executed.";
    SelectQuery "Same as Query, but only for SELECT queries.";
    InsertQuery "Same as Query, but only for INSERT queries.";
    FailedQuery "Number of failed queries.";
    FailedSelectQuery "Same as FailedQuery, but only for SELECT queries.";
    FailedInsertQuery "Same as FailedQuery, but only for INSERT queries.";
    QueryMaskingRulesMatch "Number of times query masking rules was successfully matched.";
    QueryTimeMicroseconds "Total time of all queries.";
    SelectQueryTimeMicroseconds "Total time of SELECT queries.";
    InsertQueryTimeMicroseconds "Total time of INSERT queries.";
    SelectedRows "Number of rows SELECTed from all tables.";
    SelectedBytes "Number of bytes (uncompressed; for columns as they are stored in memory) SELECTed from all tables.";
    SelectedParts "Number of data parts selected to read from a MergeTree table.";
    SelectedMarks "Number of marks (index granules) selected to read from a MergeTree table.";
    InsertedRows "Number of rows INSERTed to all tables.";
    InsertedBytes "Number of bytes (uncompressed; for columns as they are stored in memory) INSERTed to all tables.";
    ExternalSortWritePart "Number of times a temporary file was written to disk for sorting in external memory.";
    ExternalSortMerge "Number of times temporary files were merged for sorting in external memory.";
    ExternalSortCompressedBytes "Number of compressed bytes written to disk for sorting in external memory.";
    ExternalSortUncompressedBytes "Amount of data (uncompressed, before compression) written to disk for sorting in external memory.";
    ExternalAggregationWritePart "Number of times a temporary file was written to disk for aggregation in external memory.";
    ExternalAggregationMerge "Number of times temporary files were merged for aggregation in external memory.";
    ExternalAggregationCompressedBytes "Number of compressed bytes written to disk for aggregation in external memory.";
    ExternalAggregationUncompressedBytes "Amount of data (uncompressed, before compression) written to disk for aggregation in external memory.";
    ExternalJoinWritePart "Number of times a temporary file was written to disk for JOIN in external memory.";
    ExternalJoinMerge "Number of times temporary files were merged for JOIN in external memory.";
    ExternalJoinCompressedBytes "Number of compressed bytes written to disk for JOIN in external memory.";
    ExternalJoinUncompressedBytes "Amount of data (uncompressed, before compression) written to disk for JOIN in external memory.";
    ExternalProcessingFilesTotal "Number of files used by external processing (sorting/aggregating/joining)";
    ExternalProcessingCompressedBytesTotal "Number of compressed bytes written by external processing (sorting/aggregating/joining)";
    ExternalProcessingUncompressedBytesTotal "Amount of data (uncompressed, before compression) written by external processing (sorting/aggregating/joining)";
    RealTimeMicroseconds "Total (wall clock) time spent in processing threads.";
    UserTimeMicroseconds "Total time spent in processing threads executing CPU instructions in user mode.";
    SystemTimeMicroseconds "Total time spent in processing threads executing CPU instructions in the kernel.";
    OSCPUVirtualTimeMicroseconds "CPU time spent seen by the operating system.";
    OSCPUWaitMicroseconds "Total time a thread was ready for execution but waiting to be scheduled by the operating system.";
    SoftPageFaults "The number of soft page faults in query execution threads.";
    HardPageFaults "The number of hard page faults in query execution threads.";
    NetworkSendBytes "Total number of bytes sent to network.";
    NetworkReceiveBytes "Total number of bytes received from network.";
    NetworkSendElapsedMicroseconds "Total time spent waiting for data to send to network or sending data to network.";
    NetworkReceiveElapsedMicroseconds "Total time spent waiting for data to receive or receiving data from network.";
    GlobalThreadPoolExpansions "Counts the total number of times new threads have been added to the global thread pool.";
    GlobalThreadPoolShrinks "Counts the total number of times the global thread pool has shrunk by removing threads.";
    GlobalThreadPoolThreadCreationMicroseconds "Total time spent waiting for new threads to start.";
    GlobalThreadPoolLockWaitMicroseconds "Total time threads have spent waiting for locks in the global thread pool.";
    GlobalThreadPoolJobs "Counts the number of jobs that have been pushed to the global thread pool.";
    GlobalThreadPoolJobWaitTimeMicroseconds "Elapsed time from when a job is scheduled in the thread pool to when it is picked up for execution by a worker thread.";
    LocalThreadPoolExpansions "Counts the total number of times threads have been borrowed from the global thread pool to expand local thread pools.";
    LocalThreadPoolShrinks "Counts the total number of times threads have been returned to the global thread pool from local thread pools.";
    LocalThreadPoolThreadCreationMicroseconds "Total time local thread pools have spent waiting to borrow a thread from the global pool.";
    LocalThreadPoolLockWaitMicroseconds "Total time threads have spent waiting for locks in the local thread pools.";
    LocalThreadPoolJobs "Counts the number of jobs that have been pushed to the local thread pools.";
    LocalThreadPoolBusyMicroseconds "Total time threads of local thread pools have spent executing the actual work.";
    LocalThreadPoolJobWaitTimeMicroseconds "Elapsed time from when a job is scheduled in a local thread pool to when it is picked up for execution.";
    ConcurrencyControlSlotsGranted "Number of CPU slot granted according to guarantee of 1 thread per query and for queries with setting 'use_concurrency_control' = 0";
    ConcurrencyControlSlotsDelayed "Number of CPU slots not granted at allocation time due to capacity pressure.";
    ConcurrencyControlSlotsAcquired "Total number of CPU slots acquired";
    ConcurrencyControlSlotsAcquiredNonCompeting "Total number of noncompeting CPU slot acquired";
    ConcurrencyControlQueriesDelayed "Number of queries delayed by CPU slot capacity pressure.";
    ConcurrencyControlUpscales "Total number of CPU upscaling events";
    MemoryOvercommitWaitTimeMicroseconds "Total time spent in waiting for memory to be freed in OvercommitTracker.";
    MemoryAllocatorPurge "Total number of times memory allocator purge was requested.";
    MemoryAllocatorPurgeTimeMicroseconds "Total time spent for memory allocator purge.";
    QueryMemoryLimitExceeded "Number of times when memory limit exceeded for query.";
    SchedulerMorsels "Squall: number of morsels that workers ran.";
    SchedulerLongSteps "Squall: number of steps that held a worker for longer than scheduler_long_step_us, time without a CPU aside.";
    SchedulerWorkerWakeUps "Squall: number of times an idle worker was woken.";
    SchedulerQueueWaitMicroseconds "Squall: time that runnable queries waited for a worker.";
    AdmissionQueueWaitMicroseconds "Squall: time that queries waited to be admitted.";
    ServerOverloadedRejections "Squall: number of queries refused because threads waited too long for a CPU.";
    InlineQueries "Squall: number of queries that ran on the thread that received them.";
    ColumnCacheHits "Squall: number of column chunks found decoded in the column cache.";
    ColumnCacheMisses "Squall: number of column chunks that had to be read and decoded.";
    ColumnCacheEvictedBytes "Squall: bytes evicted from the column cache.";
    PlanCacheHits "Squall: number of queries whose plan was found in the plan cache.";
    PlanCacheMisses "Squall: number of queries that had to be planned.";
    QueryProfilerRuns "Number of times QueryProfiler had been run.";
    QueryProfilerTracesDropped "Squall: number of traces that were dropped because too many waited to be written.";
    SystemLogErrorOnFlush "Number of times any of the system logs have failed to flush to the corresponding system table.";
    SystemLogEntriesDropped "Squall: number of entries of system logs that were dropped because too many waited to be written.";
    LogLinesDropped "Squall: number of log lines dropped because the logger could not keep up.";
}

/// One number per event. Adding is one relaxed atomic addition.
#[derive(Debug)]
pub struct Counters {
    values: [AtomicU64; ProfileEvent::ALL.len()],
    /// A bit for each event that was ever added to: most queries meet few, and whoever reads all looks only at those.
    met: [AtomicU64; ProfileEvent::ALL.len().div_ceil(64)],
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl Counters {
    /// All zero.
    pub const fn new() -> Self {
        Self {
            values: [const { AtomicU64::new(0) }; ProfileEvent::ALL.len()],
            met: [const { AtomicU64::new(0) }; ProfileEvent::ALL.len().div_ceil(64)],
        }
    }

    /// Adds to an event.
    pub fn add(&self, event: ProfileEvent, amount: u64) {
        let (word, bit) = (&self.met[event as usize / 64], 1 << (event as usize % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
        self.values[event as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// The event's number.
    pub fn get(&self, event: ProfileEvent) -> u64 {
        self.values[event as usize].load(Ordering::Relaxed)
    }

    /// Calls `visit` with every event that is not zero. A plain loop, because every query of a storm comes through here.
    #[inline]
    pub fn for_each(&self, mut visit: impl FnMut(ProfileEvent, u64)) {
        for (word, bits) in self.met.iter().enumerate() {
            let mut left = bits.load(Ordering::Relaxed);
            while left != 0 {
                let event = ProfileEvent::ALL[word * 64 + left.trailing_zeros() as usize];
                left &= left - 1;
                let value = self.get(event);
                if value > 0 {
                    visit(event, value);
                }
            }
        }
    }

    /// The events that are not zero.
    pub fn non_zero(&self) -> Vec<(ProfileEvent, u64)> {
        let mut events = Vec::new();
        self.for_each(|event, value| events.push((event, value)));
        events
    }

    /// Adds every number of `other`: a query's counters go into the process's when the query ends.
    pub fn add_all(&self, other: &Self) {
        other.for_each(|event, value| self.add(event, value));
    }
}

/// The process's counters, `system.events`.
pub static GLOBAL: Counters = Counters::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_add_up() {
        let (query, process) = (Counters::new(), Counters::new());
        query.add(ProfileEvent::SelectedRows, 3);
        query.add(ProfileEvent::SelectedRows, 4);
        process.add_all(&query);
        process.add_all(&query);
        assert_eq!(process.get(ProfileEvent::SelectedRows), 14);
        process.add(ProfileEvent::LogLinesDropped, 1);
        process.add(ProfileEvent::Query, 0);
        let found = process.non_zero();
        assert_eq!(found, [(ProfileEvent::SelectedRows, 14), (ProfileEvent::LogLinesDropped, 1)]);
        ProfileEvent::ALL.iter().for_each(|event| query.add(*event, 1));
        assert!(query.non_zero().into_iter().map(|(event, _)| event).eq(ProfileEvent::ALL.iter().copied()));
        assert_eq!(ProfileEvent::SelectedRows.name(), "SelectedRows");
    }
}
