//! What is seen of a server: its metrics, once a second, and what its own logs remember. A server that has no such metric or log, as
//! ClickHouse 18.16 has not, leaves a gap; a gap is no evidence of health.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use squall_types::Result;

use super::PATIENCE;
use crate::http_client::{Failure, HttpClient};

/// One look at the server.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Look {
    /// How long `SELECT 1` took; none where no answer came in [`PATIENCE`].
    pub select_1_ms: Option<f64>,
    /// Queries that run: `Query`, without the doctor's own.
    pub queries: Option<f64>,
    /// `GlobalThread`.
    pub threads: Option<f64>,
    /// `GlobalThreadActive`.
    pub active_threads: Option<f64>,
    /// `LoadAverage1`.
    pub load_average: Option<f64>,
    /// `OSIdleTimeNormalized`: the share of the CPUs' time that nobody used.
    pub idle_share: Option<f64>,
    /// `OSProcessesRunning` and `OSProcessesBlocked`: the threads that the load average is the average of.
    pub crowd: Option<f64>,
}

/// What the server's `metric_log` and `asynchronous_metric_log` remember.
#[derive(Debug, Clone, Default, Serialize)]
pub struct History {
    /// How far back.
    pub hours: u64,
    /// Moments found by the document's query: the pool grew by more than ten threads while more than ten were free.
    pub incidents: u64,
    /// The first and the last of them.
    pub incidents_from_to: Option<(String, String)>,
    /// The most threads that were added in one of them.
    pub thread_increase_max: u64,
    /// Stretches of ten minutes in which the pool grew and shrank by more than ten threads and a quarter of its size.
    pub fluctuations: Option<u64>,
    /// The least and the most threads in the worst of them.
    pub fluctuation_from_to: Option<(f64, f64)>,
    /// When that began.
    pub fluctuation_at: Option<String>,
    /// The most queries that ran at once.
    pub queries_max: Option<f64>,
    /// The largest load average.
    pub load_average_max: Option<f64>,
    /// The idle share of the CPUs in the minute of that load.
    pub idle_share_then: Option<f64>,
    /// The threads that ran or were blocked in that minute, on average.
    pub crowd_then: Option<f64>,
    /// Time that jobs of local pools ran.
    pub busy_us: Option<f64>,
    /// Time that they waited for a thread.
    pub job_wait_us: Option<f64>,
    /// Time spent waiting for the locks of the pools.
    pub lock_wait_us: Option<f64>,
    /// Time spent creating threads.
    pub creation_us: Option<f64>,
}

/// What whoever asks knows of the server's machine.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Machine {
    /// The load average over the last minute.
    pub load_average: Option<f64>,
    /// The idle share of its CPUs.
    pub idle_share: Option<f64>,
}

/// Everything that was seen.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Evidence {
    /// `version()`.
    pub version: String,
    /// CPUs of the server, as far as it says.
    pub cpus: Option<f64>,
    /// What was said of its machine.
    pub machine: Machine,
    /// The looks, in order.
    pub looks: Vec<Look>,
    /// The past, where the server remembers it.
    pub history: Option<History>,
    /// Whether sampling profilers are on for queries.
    pub has_profilers: Option<bool>,
}

/// Document 002's query, for one server: moments at which the pool grew although it had free threads.
const INCIDENTS: &str =
    "SELECT event_time, CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThread AS Thread_Increase
FROM (
    SELECT
        event_time,
        CurrentMetric_GlobalThread,
        CurrentMetric_GlobalThreadActive,
        lagInFrame(CurrentMetric_GlobalThread) OVER w AS Prev_CurrentMetric_GlobalThread,
        lagInFrame(CurrentMetric_GlobalThreadActive) OVER w AS Prev_CurrentMetric_GlobalThreadActive
    FROM merge(system, '^metric_log')
    WHERE event_time > now() - INTERVAL {hours} HOUR
    WINDOW w AS (ORDER BY event_time)
)
WHERE Prev_CurrentMetric_GlobalThread > 0
    AND (Prev_CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThreadActive) > 10
    AND (CurrentMetric_GlobalThread - CurrentMetric_GlobalThreadActive) > 10
    AND (CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThread) > 10";

/// How far the pool's size went up and down, in stretches of ten minutes. A pool that only grows, as after a start, does not fluctuate.
const FLUCTUATIONS: &str =
    "SELECT countIf(moved > 10 AND moved > most / 4), argMax(least, moved), argMax(most, moved), argMax(stretch, moved)
FROM (
    SELECT
        toStartOfInterval(event_time, INTERVAL 10 MINUTE) AS stretch,
        min(threads) AS least,
        max(threads) AS most,
        least(sum(greatest(change, 0)), sum(greatest(-change, 0))) AS both_ways,
        if(both_ways * 2 >= most - least, most - least, 0) AS moved
    FROM (
        SELECT
            event_time,
            toInt64(CurrentMetric_GlobalThread) AS threads,
            lagInFrame(threads, 1, threads) OVER (ORDER BY event_time ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS before,
            threads - before AS change
        FROM merge(system, '^metric_log')
        WHERE event_time > now() - INTERVAL {hours} HOUR
    )
    GROUP BY stretch
) FORMAT TabSeparated";

/// The metrics of a look, with a type that all servers can unite.
const METRICS: &str = "SELECT metric, toFloat64(value) FROM system.metrics \
    WHERE metric IN ('Query', 'GlobalThread', 'GlobalThreadActive') \
    UNION ALL SELECT metric, toFloat64(value) FROM system.asynchronous_metrics \
    WHERE metric IN ('LoadAverage1', 'OSIdleTimeNormalized', 'OSProcessesRunning', 'OSProcessesBlocked') FORMAT TabSeparated";

impl Evidence {
    /// Looks at a server for some seconds, calling `tick` after each.
    ///
    /// # Errors
    /// A server that cannot be reached, or lets this user not in. One that is only slow is evidence.
    pub async fn gather(client: &HttpClient, seconds: u64, hours: u64, tick: impl Fn()) -> Result<Self> {
        let mut evidence = Self::default();
        match client.query("SELECT version()", PATIENCE).await {
            Ok(version) => evidence.version = version.trim().to_owned(),
            Err(Failure::Timeout) => evidence.version = "unknown (no answer)".to_owned(),
            Err(Failure::Error(error)) => return Err(error),
        }
        for _ in 0..seconds {
            let begun = Instant::now();
            evidence.looks.push(Look::take(client).await);
            tick();
            tokio::time::sleep(Duration::from_secs(1).saturating_sub(begun.elapsed())).await;
        }
        evidence.cpus = cpus(client).await;
        let settings = "SELECT name, value FROM system.settings WHERE name IN \
            ('query_profiler_real_time_period_ns', 'query_profiler_cpu_time_period_ns') FORMAT TabSeparated";
        if let Some(settings) = words(client, settings).await {
            let profilers = settings.iter().filter(|(name, _)| name.starts_with("query_profiler"));
            let is_on: Vec<bool> = profilers.map(|(_, value)| value != "0").collect();
            evidence.has_profilers = (!is_on.is_empty()).then(|| is_on.contains(&true));
        }
        evidence.history = History::read(client, hours).await;
        Ok(evidence)
    }
}

/// How many CPUs the server's machine has: as many as it measures one by one, or else what `max_threads` is where nobody has set it.
async fn cpus(client: &HttpClient) -> Option<f64> {
    let measured = "SELECT 'measured', count() FROM system.asynchronous_metrics WHERE match(metric, '^OSUserTimeCPU[0-9]+$') FORMAT TabSeparated";
    let measured =
        numbers(client, measured).await.and_then(|row| row.get("measured").copied()).filter(|cpus| *cpus > 0.0);
    if measured.is_some() {
        return measured;
    }
    let unset =
        "SELECT name, value FROM system.settings WHERE name = 'max_threads' AND changed = 0 FORMAT TabSeparated";
    // `16` or `auto(16)`.
    let digits = |text: &String| text.chars().filter(char::is_ascii_digit).collect::<String>();
    words(client, unset).await?.get("max_threads").and_then(|value| digits(value).parse().ok())
}

impl Look {
    async fn take(client: &HttpClient) -> Self {
        let begun = Instant::now();
        let answer = client.query("SELECT 1", PATIENCE).await;
        let select_1_ms = answer.is_ok().then(|| begun.elapsed().as_secs_f64() * 1e3);
        let metrics = numbers(client, METRICS).await.unwrap_or_default();
        let metric = |name: &str| metrics.get(name).copied();
        Self {
            select_1_ms,
            queries: metric("Query").map(|queries| (queries - 1.0).max(0.0)),
            threads: metric("GlobalThread"),
            active_threads: metric("GlobalThreadActive"),
            load_average: metric("LoadAverage1"),
            idle_share: metric("OSIdleTimeNormalized"),
            crowd: crowd(&metrics),
        }
    }
}

impl History {
    async fn read(client: &HttpClient, hours: u64) -> Option<Self> {
        let since = format!("event_time > now() - INTERVAL {hours} HOUR");
        let mut history = Self { hours, ..Self::default() };
        let incidents = INCIDENTS.replace("{hours}", &hours.to_string());
        let incidents = format!(
            "SELECT count(), max(Thread_Increase), min(event_time), max(event_time) FROM ({incidents}) FORMAT TabSeparated"
        );
        let answer = client.query(&incidents, PATIENCE).await.ok()?;
        let fields: Vec<&str> = answer.trim_end().split('\t').collect();
        let [count, increase, from, to] = fields[..] else { return None };
        history.incidents = count.parse().ok()?;
        history.thread_increase_max = increase.parse().unwrap_or(0);
        history.incidents_from_to = (history.incidents > 0).then(|| (from.to_owned(), to.to_owned()));
        history.read_fluctuations(client).await;
        let sums = format!(
            "SELECT max(CurrentMetric_Query), sum(ProfileEvent_LocalThreadPoolBusyMicroseconds), \
             sum(ProfileEvent_LocalThreadPoolJobWaitTimeMicroseconds), \
             sum(ProfileEvent_GlobalThreadPoolLockWaitMicroseconds + ProfileEvent_LocalThreadPoolLockWaitMicroseconds), \
             sum(ProfileEvent_GlobalThreadPoolThreadCreationMicroseconds + ProfileEvent_LocalThreadPoolThreadCreationMicroseconds) \
             FROM merge(system, '^metric_log') WHERE {since} FORMAT TabSeparated"
        );
        // Servers before 24.9 count only queries.
        let only_queries = format!(
            "SELECT max(CurrentMetric_Query) FROM merge(system, '^metric_log') WHERE {since} FORMAT TabSeparated"
        );
        let answer = match client.query(&sums, PATIENCE).await {
            Ok(answer) => answer,
            Err(_) => client.query(&only_queries, PATIENCE).await.unwrap_or_default(),
        };
        let mut sums = answer.trim_end().split('\t').map(|field| field.parse().ok());
        let mut next = || sums.next().flatten();
        (history.queries_max, history.busy_us, history.job_wait_us) = (next(), next(), next());
        (history.lock_wait_us, history.creation_us) = (next(), next());
        let load = format!(
            "SELECT value, event_time FROM system.asynchronous_metric_log WHERE {since} AND metric = 'LoadAverage1' \
             ORDER BY value DESC LIMIT 1 FORMAT TabSeparated"
        );
        let load = client.query(&load, PATIENCE).await.unwrap_or_default();
        if let Some((value, time)) = load.trim_end().split_once('\t') {
            history.load_average_max = value.parse().ok();
            let then = format!(
                "SELECT metric, avg(value) FROM system.asynchronous_metric_log \
                 WHERE metric IN ('OSIdleTimeNormalized', 'OSProcessesRunning', 'OSProcessesBlocked') \
                 AND event_time BETWEEN toDateTime('{time}') - 60 AND toDateTime('{time}') GROUP BY metric FORMAT TabSeparated"
            );
            let then = numbers(client, &then).await.unwrap_or_default();
            history.idle_share_then = then.get("OSIdleTimeNormalized").copied();
            history.crowd_then = crowd(&then);
        }
        Some(history)
    }

    async fn read_fluctuations(&mut self, client: &HttpClient) {
        let sql = FLUCTUATIONS.replace("{hours}", &self.hours.to_string());
        let Ok(answer) = client.query(&sql, PATIENCE).await else { return };
        let fields: Vec<&str> = answer.trim_end().split('\t').collect();
        let [count, least, most, at] = fields[..] else { return };
        self.fluctuations = count.parse().ok();
        if self.fluctuations.is_some_and(|count| count > 0) {
            self.fluctuation_from_to = least.parse().ok().zip(most.parse().ok());
            self.fluctuation_at = Some(at.to_owned());
        }
    }
}

/// The threads that ran or were blocked.
fn crowd(metrics: &HashMap<String, f64>) -> Option<f64> {
    Some(metrics.get("OSProcessesRunning")? + metrics.get("OSProcessesBlocked")?)
}

/// The rows of a query of two columns.
async fn words(client: &HttpClient, sql: &str) -> Option<HashMap<String, String>> {
    let answer = client.query(sql, PATIENCE).await.ok()?;
    let rows = answer.lines().filter_map(|line| line.split_once('\t'));
    Some(rows.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

async fn numbers(client: &HttpClient, sql: &str) -> Option<HashMap<String, f64>> {
    let words = words(client, sql).await?;
    Some(words.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect())
}
