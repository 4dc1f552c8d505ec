//! Gauges of what is going on right now, under ClickHouse's names: `system.metrics`.

use std::sync::atomic::{AtomicI64, Ordering};

macro_rules! metrics {
    ($($name:ident $description:literal;)*) => {
        /// Something that has a number right now.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum CurrentMetric {
            $(#[doc = $description] $name,)*
        }

        impl CurrentMetric {
            /// Every metric, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// ClickHouse's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// What the number is of.
            pub fn description(self) -> &'static str {
                match self { $(Self::$name => $description),* }
            }
        }
    };
}

metrics! {
    Query "Number of executing queries";
    QueryPreempted "Number of queries that are stopped and waiting due to 'priority' setting.";
    TCPConnection "Number of connections to TCP server (clients with native interface).";
    HTTPConnection "Number of connections to HTTP server";
    MemoryTracking "Total amount of memory (bytes) allocated by the server.";
    GlobalThread "Number of threads in global thread pool.";
    GlobalThreadActive "Number of threads in global thread pool running a task.";
    GlobalThreadScheduled "Number of queued or active jobs in global thread pool.";
    LocalThread "Number of threads in local thread pools, which are taken from the global thread pool.";
    LocalThreadActive "Number of threads in local thread pools running a task.";
    LocalThreadScheduled "Number of queued or active jobs in local thread pools.";
    ConcurrencyControlAcquired "Total number of acquired CPU slots";
    ConcurrencyControlAcquiredNonCompeting "Total number of acquired CPU slots that are not considered competing (the first thread if fair_round_robin scheduler is in use)";
    ConcurrencyControlSoftLimit "Value of soft limit on number of CPU slots.";
    QueryThread "Number of query processing threads";
    TotalTemporaryFiles "Number of temporary files created";
    TemporaryFilesForSort "Number of temporary files created for external sorting";
    TemporaryFilesForAggregation "Number of temporary files created for external aggregation";
    TemporaryFilesForJoin "Number of temporary files created for JOIN";
    TemporaryFilesUnknown "Number of temporary files created for another purpose: the data of an INSERT that are read by place";
    QueryNonInternal "Number of executing non-internal queries (queries initiated by users, excluding internal queries from ClickHouse).";
    ConcurrentQueryAcquired "Total number of acquired query slots.";
    ConcurrentQueryScheduled "Total number of query slot requests are being scheduled currently.";
    Read "Number of read (read, pread, io_getevents, etc.) syscalls in fly.";
    Write "Number of write (write, pwrite, io_getevents, etc.) syscalls in fly.";
    OpenFileForRead "Number of files open for reading.";
    OpenFileForWrite "Number of files open for writing.";
    ContextLockWait "Number of threads waiting for the lock of the list of queries.";
    RWLockActiveWriters "Number of statements that change tables and hold their lock.";
    RWLockWaitingWriters "Number of statements that wait for the lock of those that change tables.";
    AsynchronousInsertQueueSize "Number of pending tasks in the AsynchronousInsert queue: forms of INSERTs whose data are collected.";
    AsynchronousInsertQueueBytes "Number of pending bytes in the AsynchronousInsert queue.";
    PendingAsyncInsert "Number of asynchronous inserts that are waiting for flush.";
    Merge "Number of executing background merges.";
    MergeParts "Number of source parts participating in current background merges.";
    PartsTemporary "The part is generating now, it is not in data_parts list.";
    PartsOutdated "Not active data part, but could be used by only current SELECTs, could be deleted after SELECTs finishes.";
    QueryConditionCacheBytes "Bytes that parts remember of which of their granules hold no match of a condition.";
    QueryConditionCacheEntries "Number of conditions that parts remember, each counted once a part.";
    UncompressedCacheBytes "Bytes of decoded column chunks in the column cache.";
    UncompressedCacheCells "Number of decoded column chunks in the column cache.";
    FilteringMarksWithPrimaryKey "Number of threads currently doing filtering of mark ranges by the primary key.";
    FilteringMarksWithSecondaryKeys "Number of threads currently doing filtering of mark ranges by skip indexes.";
    DictCacheRequests "Number of requests in fly to data sources of dictionaries of cache type.";
    CreatedTimersInQueryProfiler "Number of Created thread local timers in QueryProfiler.";
    ActiveTimersInQueryProfiler "Number of Active thread local timers in QueryProfiler.";
    AttachedDatabase "Active databases.";
    AttachedTable "Active tables.";
    AttachedDictionary "Active dictionaries.";
    IsServerShuttingDown "Indicates if the server is shutting down: 0 = no, 1 = yes.";
    Revision "Revision of the server.";
    VersionInteger "Version of the server in a single integer number in base-1000.";
    PartsActive "Active data part, used by current and upcoming SELECTs.";
    ColumnCacheBytes "Squall: bytes of decoded column chunks in the column cache.";
    ColumnCacheChunks "Squall: number of decoded column chunks in the column cache.";
    QueriesWaitingForMemory "Squall: number of queries that wait until a query that was stopped has freed memory.";
    SchedulerWorkers "Squall: number of scheduler workers.";
    AdmissionLimit "Squall: number of queries that may run at once, as configured or as found by max_concurrent_queries = auto; 0 is unlimited.";
    SchedulerWorkersActive "Squall: number of scheduler workers that run a morsel.";
}

static VALUES: [AtomicI64; CurrentMetric::ALL.len()] = [const { AtomicI64::new(0) }; CurrentMetric::ALL.len()];

impl CurrentMetric {
    /// The number now.
    pub fn get(self) -> i64 {
        VALUES[self as usize].load(Ordering::Relaxed)
    }

    /// Sets the number.
    pub fn set(self, value: i64) {
        VALUES[self as usize].store(value, Ordering::Relaxed);
    }

    /// Adds to the number until the guard is dropped.
    #[must_use]
    pub fn hold(self, amount: i64) -> MetricGuard {
        VALUES[self as usize].fetch_add(amount, Ordering::Relaxed);
        MetricGuard { metric: self, amount }
    }

    /// Adds to the number.
    pub fn add(self, amount: i64) {
        VALUES[self as usize].fetch_add(amount, Ordering::Relaxed);
    }
}

/// Takes back what [`CurrentMetric::hold`] added.
#[derive(Debug)]
pub struct MetricGuard {
    metric: CurrentMetric,
    amount: i64,
}

impl Drop for MetricGuard {
    fn drop(&mut self) {
        self.metric.add(-self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_take_back() {
        let before = CurrentMetric::QueryPreempted.get();
        let guard = CurrentMetric::QueryPreempted.hold(2);
        assert_eq!(CurrentMetric::QueryPreempted.get(), before + 2);
        drop(guard);
        assert_eq!(CurrentMetric::QueryPreempted.get(), before);
    }
}
