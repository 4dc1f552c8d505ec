//! Counters of what happened, under ClickHouse's names: for the whole process (`system.events`) and for each query
//! (`ProfileEvents` in `system.query_log`).

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::thread_pool::Owner;

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
    InitialQuery "Same as Query, but only counts initial queries (see is_initial_query).";
    InitialSelectQuery "Same as InitialQuery, but only for SELECT queries.";
    FailedInitialQuery "Number of failed initial queries.";
    FailedInitialSelectQuery "Same as FailedInitialQuery, but only for SELECT queries.";
    OtherQueryTimeMicroseconds "Total time of queries that are not SELECT or INSERT.";
    QueryParseMicroseconds "Total time spent parsing the query text into an AST.";
    QueryAnalysisMicroseconds "Total time spent building the query tree and running analyzer passes (resolves identifiers, types, expressions).";
    QueryPipelineBuildMicroseconds "Total time spent constructing the QueryPipeline from the optimized QueryPlan.";
    SelectedPartsTotal "Number of total data parts before selecting which ones to read from a MergeTree table.";
    SelectedMarksTotal "Number of total marks (index granules) before selecting which ones to read from a MergeTree table.";
    SelectedRanges "Number of (non-adjacent) ranges in all data parts selected to read from a MergeTree table.";
    SelectQueriesWithPrimaryKeyUsage "Count SELECT queries which use the primary key to evaluate the WHERE condition.";
    FilteringMarksWithPrimaryKeyMicroseconds "Time spent filtering parts by PK.";
    FilteringMarksWithSecondaryKeysMicroseconds "Time spent filtering parts by skip indexes.";
    IndexAnalysisRounds "Number of times index analysis was performed within the query.";
    LoadedDataParts "Number of data parts loaded by MergeTree tables during initialization.";
    LoadedDataPartsMicroseconds "Microseconds spent by MergeTree tables for loading data parts during initialization.";
    FilterTransformPassedRows "Number of rows that passed the filter in the query.";
    FilterTransformPassedBytes "Number of bytes that passed the filter in the query.";
    JoinBuildTableRowCount "Total number of rows in the build table for a JOIN operation.";
    JoinProbeTableRowCount "Total number of rows in the probe table for a JOIN operation.";
    JoinResultRowCount "Total number of rows in the result of a JOIN operation.";
    SleepFunctionCalls "Number of times a sleep function (sleep, sleepEachRow) has been called.";
    SleepFunctionMicroseconds "Time set to sleep in a sleep function (sleep, sleepEachRow).";
    SleepFunctionElapsedMicroseconds "Time spent sleeping in a sleep function (sleep, sleepEachRow).";
    OverflowBreak "Number of times, data processing was cancelled by query complexity limitation with setting '*_overflow_mode' = 'break' and the result is incomplete.";
    OverflowAny "Number of times, approximate GROUP BY was in effect: the aggregation went on with the groups that there were, as group_by_overflow_mode = 'any' says.";
    OverflowThrow "Number of times, data processing was cancelled by query complexity limitation with setting '*_overflow_mode' = 'throw' and exception was thrown.";
    Merge "Number of launched background merges.";
    MergeSourceParts "Number of source parts scheduled for merges.";
    AsyncInsertQuery "Same as InsertQuery, but only for asynchronous INSERT queries.";
    AsyncInsertBytes "Data size in bytes of asynchronous INSERT queries.";
    AsyncInsertRows "Number of rows inserted by asynchronous INSERT queries.";
    FailedAsyncInsertQuery "Number of asynchronous INSERT queries that failed after their data were collected.";
    DuplicatedInsertedBlocks "Number of times the INSERTed block to a table was deduplicated.";
    DelayedInserts "Number of INSERTs that waited as a table had too many parts.";
    DelayedInsertsMilliseconds "Milliseconds that INSERTs waited as tables had too many parts.";
    RejectedInserts "Number of INSERTs that were refused as a table had too many parts.";
    MergesTimeMilliseconds "Milliseconds that background merges took.";
    MergedRows "Rows read for background merges.";
    MergedUncompressedBytes "Uncompressed bytes (for columns as they stored in memory) that was read for background merges.";
    MergeWrittenRows "Number of rows written during the merge.";
    MergeTotalMilliseconds "Total time spent for background merges.";
    MergeCommitMilliseconds "Total time spent for committing merge results (part renaming, checksum verification, ZooKeeper updates).";
    MergeTreeDataWriterBlocks "Number of blocks INSERTed to MergeTree tables.";
    MergeTreeDataWriterBlocksAlreadySorted "Number of blocks INSERTed to MergeTree tables that appeared to be already sorted.";
    MergeTreeDataWriterRows "Number of rows INSERTed to MergeTree tables.";
    MergeTreeDataWriterUncompressedBytes "Uncompressed bytes (for columns as they stored in memory) INSERTed to MergeTree tables.";
    MergeTreeDataWriterCompressedBytes "Bytes written to filesystem for data INSERTed to MergeTree tables.";
    MergeTreeDataWriterSortingBlocksMicroseconds "Time spent sorting blocks.";
    FileOpen "Number of files opened.";
    CreatedReadBufferOrdinary "Number of times ordinary read buffer was created for reading data (while choosing among other read methods).";
    ReadBufferFromFileDescriptorRead "Number of reads (read/pread) from a file descriptor.";
    ReadBufferFromFileDescriptorReadBytes "Number of bytes read from file descriptors.";
    ReadBufferFromFileDescriptorReadFailed "Number of times the read (read/pread) from a file descriptor have failed.";
    WriteBufferFromFileDescriptorWrite "Number of writes (write/pwrite) to a file descriptor.";
    WriteBufferFromFileDescriptorWriteBytes "Number of bytes written to file descriptors.";
    WriteBufferFromFileDescriptorWriteFailed "Number of times the write (write/pwrite) to a file descriptor have failed.";
    FileSync "Number of times the F_FULLFSYNC/fsync/fdatasync function was called for files.";
    FileSyncElapsedMicroseconds "Total time spent waiting for F_FULLFSYNC/fsync/fdatasync syscall for files.";
    DirectorySync "Number of times the F_FULLFSYNC/fsync/fdatasync function was called for directories.";
    DirectorySyncElapsedMicroseconds "Total time spent waiting for F_FULLFSYNC/fsync/fdatasync syscall for directories.";
    DiskReadElapsedMicroseconds "Total time spent waiting for read syscall.";
    DiskWriteElapsedMicroseconds "Total time spent waiting for write syscall.";
    OSReadBytes "Number of bytes read from disks or block devices.";
    OSWriteBytes "Number of bytes written to disks or block devices.";
    OSReadChars "Number of bytes read from filesystem, including page cache, as well as network and other files.";
    OSWriteChars "Number of bytes written to filesystem, including page cache, as well as network and other files.";
    QueryConditionCacheHits "Number of parts that knew which of their granules hold no match of a scan's condition.";
    QueryConditionCacheMisses "Number of parts that knew nothing of a scan's condition.";
    UncompressedCacheHits "Number of times a column chunk has been found decoded in the column cache (and decompression was avoided).";
    UncompressedCacheMisses "Number of times a column chunk has not been found decoded in the column cache (and required decompression).";
    UncompressedCacheWeightLost "Number of bytes evicted from the column cache.";
    ContextLock "Number of times the lock of the list of queries was acquired or tried to acquire.";
    ContextLockWaitMicroseconds "Time spent waiting for the lock of the list of queries.";
    RWLockAcquiredWriteLocks "Number of times the lock of statements that change tables was acquired.";
    RWLockWritersWaitMilliseconds "Total time spent waiting for the lock of statements that change tables.";
    InterfaceHTTPReceiveBytes "Number of bytes received through HTTP interfaces.";
    InterfaceHTTPSendBytes "Number of bytes sent through HTTP interfaces.";
    InterfaceNativeReceiveBytes "Number of bytes received through native interfaces.";
    InterfaceNativeSendBytes "Number of bytes sent through native interfaces.";
    NativeProtocolSend "Number of non-empty native protocol output buffer flushes.";
    HTTPServerConnectionsCreated "Number of created server HTTP connections.";
    ReadCompressedBytes "Number of bytes (the number of bytes before decompression) read from compressed sources (files, network).";
    CompressedReadBufferBlocks "Number of compressed blocks (the blocks of data that are compressed independent of each other) read from compressed sources (files, network).";
    CompressedReadBufferBytes "Number of uncompressed bytes (the number of bytes after decompression) read from compressed sources (files, network).";
    ConcurrentQuerySlotsAcquired "Total number of query slots acquired.";
    ConcurrentQueryWaitMicroseconds "Total time a query was waiting for a query slots.";
    DictCacheKeysRequested "Number of keys requested from the data source for the dictionaries of 'cache' types.";
    DictCacheKeysRequestedFound "Number of keys requested from the data source for dictionaries of 'cache' types and found in the data source.";
    DictCacheKeysRequestedMiss "Number of keys requested from the data source for dictionaries of 'cache' types but not found in the data source.";
    DictCacheKeysHit "Number of keys looked up in the dictionaries of 'cache' types and found in the cache.";
    DictCacheKeysNotFound "Number of keys looked up in the dictionaries of 'cache' types and not found.";
    DictCacheRequests "Number of bulk requests to the external data sources for the dictionaries of 'cache' types.";
    DictCacheRequestTimeNs "Number of nanoseconds spend in querying the external data sources for the dictionaries of 'cache' types.";
    BackupsOpenedForRead "Number of backups opened for reading.";
    BackupsOpenedForWrite "Number of backups opened for writing.";
    MainConfigLoads "Number of times the main configuration was reloaded.";
    ServerStartupMilliseconds "Time elapsed from starting server to listening to sockets in milliseconds.";
    CannotWriteToWriteBufferDiscard "Number of stack traces dropped by query profiler or signal handler because pipe is full or cannot write to pipe.";
    QueryProfilerSignalOverruns "Number of times we drop processing of a query profiler signal due to overrun plus the number of signals that OS has not delivered due to overrun.";
    LogTrace "Number of log messages with level Trace.";
    LogDebug "Number of log messages with level Debug.";
    LogInfo "Number of log messages with level Info.";
    LogWarning "Number of log messages with level Warning.";
    LogError "Number of log messages with level Error.";
    LoggerElapsedNanoseconds "Cumulative time spend in logging.";
    AsyncLoggingFileLogTotalMessages "How many messages (accepted or dropped) have been sent to the async queue for the file log.";
    AsyncLoggingFileLogDroppedMessages "How many messages have been dropped from the file log due to the async log queue being full.";
    AsyncLoggingErrorFileLogTotalMessages "How many messages (accepted or dropped) have been sent to the async queue for the error file log.";
    AsyncLoggingErrorFileLogDroppedMessages "How many messages have been dropped from error file log due to the async log queue being full.";
    AsyncLoggingConsoleTotalMessages "How many messages (accepted or dropped) have been sent to the async queue for the console log.";
    AsyncLoggingConsoleDroppedMessages "How many messages have been dropped from the console log due to the async log queue being full.";
    AsyncLoggingTextLogTotalMessages "How many messages (accepted or dropped) have been sent to the async queue for the text_log.";
    AsyncLoggingTextLogDroppedMessages "How many messages have been dropped from text_log due to the async log queue being full.";
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

thread_local! {
    /// Whom the thread works for.
    static CURRENT: RefCell<Option<Owner>> = const { RefCell::new(None) };
}

/// What the calling thread [counts](count) is `owner`'s until the guard is dropped.
#[must_use]
pub fn attach(owner: Owner) -> AttachGuard {
    AttachGuard { before: CURRENT.with(|current| current.replace(Some(owner))), _not_send: PhantomData }
}

/// Whom the calling thread counts for, for threads that work on its behalf.
pub fn current() -> Option<Owner> {
    CURRENT.try_with(|current| current.try_borrow().ok()?.clone()).ok()?
}

/// Ends [`attach`] when dropped.
pub struct AttachGuard {
    before: Option<Owner>,
    /// It belongs to its thread.
    _not_send: PhantomData<*const ()>,
}

impl Drop for AttachGuard {
    fn drop(&mut self) {
        let before = self.before.take();
        // Dropped outside: a query's last holder frees all that it had.
        let _ended = CURRENT.try_with(|current| current.replace(before));
    }
}

/// Counts what happens on the calling thread: for the query that it works for, or for the process alone. For code that knows no queries.
pub fn count(event: ProfileEvent, amount: u64) {
    let counted = CURRENT.try_with(|current| match current.try_borrow().as_deref() {
        Ok(Some(owner)) => owner.counters().add(event, amount),
        _ => GLOBAL.add(event, amount),
    });
    if counted.is_err() {
        // The thread is at its end.
        GLOBAL.add(event, amount);
    }
}

/// Counts microseconds from its making to its end.
#[derive(Debug)]
pub struct Timed {
    event: ProfileEvent,
    began: Instant,
}

impl Timed {
    /// It begins now.
    #[must_use]
    pub fn new(event: ProfileEvent) -> Self {
        Self { event, began: Instant::now() }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        count(self.event, self.began.elapsed().as_micros() as u64);
    }
}

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
