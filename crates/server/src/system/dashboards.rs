//! `system.dashboards`: the charts of `/dashboard`, each a query over the logs. The columns and the parameters are ClickHouse's, so that
//! its page and other tools can draw them, too: `from` and `to`, or where those are empty the last `seconds`, in steps of `rounding`
//! seconds. A chart gives a moment `t` and a column for each line; where the second column is a text, it names the line of each row.

use std::sync::Arc;

use squall_storage::Table;

use super::table::SystemTable;
use super::value::text;

struct Chart {
    dashboard: &'static str,
    title: &'static str,
    log: Log,
    /// What stands after `t`.
    lines: &'static str,
}

#[derive(Clone, Copy)]
enum Log {
    Metric,
    Asynchronous,
    Query,
    /// The query log, with a line for each user.
    QueryByUser,
}

const fn chart(dashboard: &'static str, title: &'static str, log: Log, lines: &'static str) -> Chart {
    Chart { dashboard, title, log, lines }
}

const OVERVIEW: &str = "Overview";
const WAITS: &str = "Waits";
const STORAGE: &str = "Storage";
const MACHINE: &str = "Machine";

const CHARTS: &[Chart] = &[
    chart(
        OVERVIEW,
        "Queries/second",
        Log::Metric,
        "avg(ProfileEvent_SelectQuery) AS select, avg(ProfileEvent_InsertQuery) AS insert, \
         avg(ProfileEvent_Query - ProfileEvent_SelectQuery - ProfileEvent_InsertQuery) AS other, \
         avg(ProfileEvent_FailedQuery) AS failed",
    ),
    chart(
        OVERVIEW,
        "Query time, p50 and p99 (seconds)",
        Log::Query,
        "quantile(0.5)(query_duration_ms) / 1000 AS p50, quantile(0.99)(query_duration_ms) / 1000 AS p99",
    ),
    chart(
        OVERVIEW,
        "Queries running and waiting",
        Log::Metric,
        "avg(CurrentMetric_Query) AS running, avg(CurrentMetric_ConcurrentQueryScheduled) AS waiting_for_admission, \
         max(CurrentMetric_AdmissionLimit) AS admission_limit",
    ),
    chart(
        OVERVIEW,
        "Workers",
        Log::Metric,
        "avg(CurrentMetric_SchedulerWorkersActive) AS at_work, max(CurrentMetric_SchedulerWorkers) AS all_workers",
    ),
    chart(
        OVERVIEW,
        "What queries wait for (seconds/second)",
        Log::Metric,
        "avg(ProfileEvent_AdmissionQueueWaitMicroseconds) / 1e6 AS admission, \
         avg(ProfileEvent_SchedulerQueueWaitMicroseconds) / 1e6 AS worker, \
         avg(ProfileEvent_OSCPUWaitMicroseconds) / 1e6 AS cpu, \
         avg(ProfileEvent_DiskReadElapsedMicroseconds + ProfileEvent_DiskWriteElapsedMicroseconds) / 1e6 AS disk, \
         avg(ProfileEvent_MemoryOvercommitWaitTimeMicroseconds) / 1e6 AS memory, \
         avg(ProfileEvent_NetworkSendElapsedMicroseconds) / 1e6 AS client",
    ),
    chart(
        OVERVIEW,
        "CPU (cores)",
        Log::Metric,
        "avg(ProfileEvent_UserTimeMicroseconds) / 1e6 AS user, avg(ProfileEvent_SystemTimeMicroseconds) / 1e6 AS system",
    ),
    chart(
        OVERVIEW,
        "Memory (bytes)",
        Log::Metric,
        "max(CurrentMetric_MemoryTracking) AS tracked, max(CurrentMetric_ColumnCacheBytes) AS column_cache",
    ),
    chart(OVERVIEW, "Largest query of a user (bytes)", Log::QueryByUser, "max(memory_usage) AS memory"),
    chart(
        OVERVIEW,
        "Rows/second",
        Log::Metric,
        "avg(ProfileEvent_SelectedRows) AS read, avg(ProfileEvent_InsertedRows) AS inserted",
    ),
    chart(
        OVERVIEW,
        "Network (bytes/second)",
        Log::Metric,
        "avg(ProfileEvent_NetworkReceiveBytes) AS received, avg(ProfileEvent_NetworkSendBytes) AS sent",
    ),
    chart(
        OVERVIEW,
        "Disk (bytes/second)",
        Log::Metric,
        "avg(ProfileEvent_OSReadBytes) AS read, avg(ProfileEvent_OSWriteBytes) AS written",
    ),
    chart(
        OVERVIEW,
        "Connections",
        Log::Metric,
        "max(CurrentMetric_HTTPConnection) AS http, max(CurrentMetric_TCPConnection) AS native",
    ),
    chart(
        WAITS,
        "Wait for a worker, of a query (seconds)",
        Log::Query,
        "quantile(0.5)(ProfileEvents['SchedulerQueueWaitMicroseconds']) / 1e6 AS p50, \
         quantile(0.99)(ProfileEvents['SchedulerQueueWaitMicroseconds']) / 1e6 AS p99",
    ),
    chart(
        WAITS,
        "Wait for admission, of a query (seconds)",
        Log::Query,
        "quantile(0.5)(ProfileEvents['AdmissionQueueWaitMicroseconds']) / 1e6 AS p50, \
         quantile(0.99)(ProfileEvents['AdmissionQueueWaitMicroseconds']) / 1e6 AS p99",
    ),
    chart(
        WAITS,
        "Morsels/second, and long steps",
        Log::Metric,
        "avg(ProfileEvent_SchedulerMorsels) AS morsels, avg(ProfileEvent_SchedulerLongSteps) AS long_steps, \
         avg(ProfileEvent_SchedulerWorkerWakeUps) AS wake_ups",
    ),
    chart(
        WAITS,
        "Threads of the pool",
        Log::Metric,
        "avg(CurrentMetric_GlobalThread) AS threads, avg(CurrentMetric_GlobalThreadActive) AS active, \
         avg(CurrentMetric_GlobalThreadScheduled) AS jobs",
    ),
    chart(
        WAITS,
        "Waits in the thread pool (seconds/second)",
        Log::Metric,
        "avg(ProfileEvent_GlobalThreadPoolLockWaitMicroseconds + ProfileEvent_LocalThreadPoolLockWaitMicroseconds) / 1e6 \
         AS lock, avg(ProfileEvent_GlobalThreadPoolJobWaitTimeMicroseconds) / 1e6 AS job, \
         avg(ProfileEvent_GlobalThreadPoolThreadCreationMicroseconds) / 1e6 AS creation",
    ),
    chart(
        WAITS,
        "Waits for locks (seconds/second)",
        Log::Metric,
        "avg(ProfileEvent_ContextLockWaitMicroseconds) / 1e6 AS list_of_queries, \
         avg(ProfileEvent_RWLockWritersWaitMilliseconds) / 1e3 AS changes_of_tables",
    ),
    chart(
        STORAGE,
        "Parts",
        Log::Asynchronous,
        "avgIf(value, metric = 'TotalPartsOfMergeTreeTables') AS parts, \
         maxIf(value, metric = 'MaxPartCountForPartition') AS most_in_a_partition",
    ),
    chart(
        STORAGE,
        "Merges",
        Log::Metric,
        "avg(CurrentMetric_Merge) AS running, avg(ProfileEvent_Merge) AS started_a_second",
    ),
    chart(
        STORAGE,
        "Merged and inserted rows/second",
        Log::Metric,
        "avg(ProfileEvent_MergedRows) AS merged, avg(ProfileEvent_InsertedRows) AS inserted",
    ),
    chart(
        STORAGE,
        "Size of the tables (bytes)",
        Log::Asynchronous,
        "avgIf(value, metric = 'TotalBytesOfMergeTreeTables') AS tables, \
         avgIf(value, metric = 'TotalBytesOfMergeTreeTablesSystem') AS of_system",
    ),
    chart(
        STORAGE,
        "Free space (bytes)",
        Log::Asynchronous,
        "minIf(value, metric = 'FilesystemMainPathAvailableBytes') AS free",
    ),
    chart(
        STORAGE,
        "Column cache, chunks/second",
        Log::Metric,
        "avg(ProfileEvent_ColumnCacheHits) AS found, avg(ProfileEvent_ColumnCacheMisses) AS missed",
    ),
    chart(
        STORAGE,
        "Written to disk by sorts, aggregations and joins (bytes/second)",
        Log::Metric,
        "avg(ProfileEvent_ExternalSortCompressedBytes) AS sort, \
         avg(ProfileEvent_ExternalAggregationCompressedBytes) AS aggregation, \
         avg(ProfileEvent_ExternalJoinCompressedBytes) AS join",
    ),
    chart(
        STORAGE,
        "Waits for the disk (seconds/second)",
        Log::Metric,
        "avg(ProfileEvent_DiskReadElapsedMicroseconds) / 1e6 AS read, \
         avg(ProfileEvent_DiskWriteElapsedMicroseconds) / 1e6 AS write, \
         avg(ProfileEvent_FileSyncElapsedMicroseconds) / 1e6 AS sync",
    ),
    chart(
        MACHINE,
        "CPU of the machine (share)",
        Log::Asynchronous,
        "avgIf(value, metric = 'OSUserTimeNormalized') AS user, avgIf(value, metric = 'OSSystemTimeNormalized') AS system, \
         avgIf(value, metric = 'OSIOWaitTimeNormalized') AS io_wait, avgIf(value, metric = 'OSStealTimeNormalized') AS steal",
    ),
    chart(
        MACHINE,
        "Load average",
        Log::Asynchronous,
        "avgIf(value, metric = 'LoadAverage1') AS minute, avgIf(value, metric = 'LoadAverage15') AS quarter_of_an_hour",
    ),
    chart(
        MACHINE,
        "Memory of the machine (bytes)",
        Log::Asynchronous,
        "avgIf(value, metric = 'OSMemoryTotal') AS total, avgIf(value, metric = 'OSMemoryAvailable') AS available, \
         avgIf(value, metric = 'MemoryResident') AS this_server",
    ),
    chart(
        MACHINE,
        "Threads",
        Log::Asynchronous,
        "avgIf(value, metric = 'ThreadsOfProcess') AS of_this_server, avgIf(value, metric = 'OSThreadsRunnable') AS runnable",
    ),
];

impl Chart {
    fn query(&self) -> String {
        let (log, more, group) = match self.log {
            Log::Metric => ("metric_log", "", ""),
            Log::Asynchronous => ("asynchronous_metric_log", "", ""),
            Log::Query => ("query_log", "\n    AND type != 'QueryStart'", ""),
            Log::QueryByUser => ("query_log", "\n    AND type != 'QueryStart'", ", user"),
        };
        let lines = self.lines;
        format!(
            "WITH\n    if({{from:String}} = '', now() - {{seconds:UInt32}}, toDateTimeOrZero({{from:String}})) AS begin,\n    \
             if({{to:String}} = '', now(), toDateTimeOrZero({{to:String}})) AS end\n\
             SELECT toUnixTimestamp(toStartOfInterval(event_time, INTERVAL {{rounding:UInt32}} SECOND)) AS t{group}, {lines}\n\
             FROM system.{log}\n\
             WHERE event_date BETWEEN toDate(begin) AND toDate(end) AND event_time BETWEEN begin AND end{more}\n\
             GROUP BY t{group}\nORDER BY t{group}"
        )
    }
}

pub(super) fn dashboards() -> Arc<dyn Table> {
    let table = SystemTable::new("dashboards", || Ok(CHARTS.iter().collect()))
        .column("dashboard", "String", |chart: &&Chart| text(chart.dashboard))
        .column("title", "String", |chart| text(chart.title))
        .column("query", "String", |chart| text(chart.query()));
    Arc::new(table)
}

#[cfg(test)]
mod tests {
    use squall_runtime::{CurrentMetric, ProfileEvent};

    use super::*;

    #[test]
    fn charts_are_of_metrics_that_there_are() {
        let events = ProfileEvent::ALL.iter().map(|event| format!("ProfileEvent_{}", event.name()));
        let metrics = CurrentMetric::ALL.iter().map(|metric| format!("CurrentMetric_{}", metric.name()));
        let known: Vec<String> = events.chain(metrics).collect();
        for chart in CHARTS {
            let words = chart.lines.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            for word in words.filter(|word| word.starts_with("ProfileEvent_") || word.starts_with("CurrentMetric_")) {
                assert!(known.iter().any(|name| name == word), "{}: {word}", chart.title);
            }
            let query = squall_sql::parse(&chart.query(), &squall_sql::ParserLimits::default());
            assert!(query.is_ok(), "{}: {query:?}", chart.title);
        }
    }
}
