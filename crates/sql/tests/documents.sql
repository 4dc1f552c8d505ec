SELECT
    event_time,
    metric,
    value
FROM system.asynchronous_metric_log
WHERE event_time BETWEEN '2024-04-08 20:30:30' AND '2024-04-08 20:38:30'
AND metric ILIKE '%Load%1'
ORDER BY event_time ASC;

SELECT
    event_time,
    round((1 - value) * 100, 2) AS cpu_usage
FROM system.asynchronous_metric_log
WHERE event_time BETWEEN '2024-04-08 20:30:30' AND '2024-04-08 20:38:30'
AND metric = 'OSIdleTimeNormalized'
ORDER BY event_time ASC;

SELECT
    toStartOfInterval(event_time, toIntervalSecond(15)) AS t,
    sum(ProfileEvent_Query) AS queries_started,
    max(CurrentMetric_Query) AS queries_running
FROM system.metric_log
WHERE event_time BETWEEN '2024-04-08 20:30:30' AND '2024-04-08 20:38:30'
GROUP BY t
ORDER BY t ASC;

WITH
    query_id = 'b48de378-59b6-4ad2-af07-d9c1533b2569' AS first,
    query_id = '88c0e1c3-12db-4e18-b8c4-74aaf95780a3' AS second,
    arrayConcat(mapKeys(ProfileEvents), ['query_duration_ms', 'read_rows', 'read_bytes', 'written_rows', 'written_bytes', 'result_rows', 'result_bytes', 'memory_usage', 'normalized_query_hash', 'query_cache_usage']) AS metrics,
    arrayConcat(mapValues(ProfileEvents), [query_duration_ms, read_rows, read_bytes, written_rows, written_bytes, result_rows, result_bytes, memory_usage, normalized_query_hash, toUInt64(query_cache_usage)]) AS metrics_values
SELECT
    metrics[i] AS metric,
    anyIf(metrics_values[i], first) AS v1,
    anyIf(metrics_values[i], second) AS v2,
    formatReadableQuantity(v1 - v2) AS diff
FROM system.query_log
ARRAY JOIN arrayEnumerate(metrics) AS i
WHERE (first OR second) AND (type = 2) AND (event_time >= '2024-04-08 20:20:15') AND (event_time <= '2024-04-08 20:39:00')
GROUP BY metric
HAVING v1 != v2
ORDER BY
    (v2 - v1) / (v1 + v2) DESC,
    v2 DESC,
    metric ASC;

SELECT
    now(),
    metric,
    value,
    description
FROM system.metrics
WHERE metric LIKE 'GlobalThread%' OR metric = 'Query'
FORMAT Pretty;

SELECT
    arrayStringConcat(arrayMap(x -> demangle(addressToSymbol(x)), trace), '\n') AS trace_functions,
    count()
FROM system.trace_log
WHERE (event_time >= '2024-04-08 20:31:15') AND (event_time <= '2024-04-08 20:38:00')
GROUP BY trace_functions
ORDER BY count() DESC
SETTINGS allow_introspection_functions = 1;

WITH arrayStringConcat(arrayMap(x -> demangle(addressToSymbol(x)), trace), '\n') AS trace_functions
SELECT
    trace_functions,
    count()
FROM system.trace_log
WHERE ((event_time >= '2024-04-08 20:31:15') AND (event_time <= '2024-04-08 20:38:00')) AND (query_id IN (
    SELECT query_id
    FROM system.query_log
    WHERE ((event_time >= '2024-04-08 20:31:15') AND (event_time <= '2024-04-08 20:38:00')) AND (normalized_query_hash = 17791064728738142635)
))
GROUP BY trace_functions
ORDER BY count() DESC
LIMIT 300
SETTINGS allow_introspection_functions = 1
FORMAT Vertical;

SELECT
    sum(ProfileEvent_GlobalThreadPoolExpansions),
    sum(ProfileEvent_GlobalThreadPoolShrinks),
    sum(ProfileEvent_GlobalThreadPoolThreadCreationMicroseconds),
    sum(ProfileEvent_GlobalThreadPoolLockWaitMicroseconds),
    sum(ProfileEvent_GlobalThreadPoolJobs),
    sum(ProfileEvent_GlobalThreadPoolJobWaitTimeMicroseconds),
    sum(ProfileEvent_LocalThreadPoolExpansions),
    sum(ProfileEvent_LocalThreadPoolShrinks),
    sum(ProfileEvent_LocalThreadPoolThreadCreationMicroseconds),
    sum(ProfileEvent_LocalThreadPoolLockWaitMicroseconds),
    sum(ProfileEvent_LocalThreadPoolJobs),
    sum(ProfileEvent_LocalThreadPoolBusyMicroseconds),
    sum(ProfileEvent_LocalThreadPoolJobWaitTimeMicroseconds)
FROM system.metric_log
WHERE event_time >= now() - INTERVAL 10 MINUTE;

SELECT
    host,
    event_time,
    CurrentMetric_GlobalThread,
    CurrentMetric_GlobalThreadActive,
    PreviousEventTime,
    Prev_CurrentMetric_GlobalThread,
    Prev_CurrentMetric_GlobalThreadActive,
    (CurrentMetric_GlobalThread - CurrentMetric_GlobalThreadActive) AS Unused_Threads,
    (Prev_CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThreadActive) AS Prev_Unused_Threads,
    (CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThread) AS Thread_Increase
FROM (
    SELECT
        hostName() AS host,
        event_time,
        CurrentMetric_GlobalThread,
        CurrentMetric_GlobalThreadActive,
        lagInFrame(event_time) OVER w AS PreviousEventTime,
        lagInFrame(CurrentMetric_GlobalThread) OVER w AS Prev_CurrentMetric_GlobalThread,
        lagInFrame(CurrentMetric_GlobalThreadActive) OVER w AS Prev_CurrentMetric_GlobalThreadActive
    FROM clusterAllReplicas('{cluster}', merge(system, '^metric_log'))
    WHERE event_time > now() - INTERVAL 30 DAY
    WINDOW w AS (PARTITION BY host ORDER BY event_time)
)
WHERE
    Prev_CurrentMetric_GlobalThread > 0
    AND (Prev_CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThreadActive) > 10
    AND (CurrentMetric_GlobalThread - CurrentMetric_GlobalThreadActive) > 10
    AND (CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThread) > 10
FORMAT Vertical;

select count(ClientIP) as total, ResolutionWidth from datasets.hits_v1 

group by ResolutionWidth order by total desc limit 100;

SELECT 1;

SELECT COUNT(DISTINCT Title) FROM hits_v1;

SELECT COUNT(DISTINCT SearchPhrase) FROM hits;

SELECT DATE_TRUNC('minute', EventTime) AS M, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND IsRefresh = 0 AND DontCountHits = 0 GROUP BY DATE_TRUNC('minute', EventTime) ORDER BY DATE_TRUNC('minute', EventTime) LIMIT 10 OFFSET 1000;

SELECT SUM(ResolutionWidth), SUM(ResolutionWidth + 1), SUM(ResolutionWidth + 2), SUM(ResolutionWidth + 3), SUM(ResolutionWidth + 4), SUM(ResolutionWidth + 5), SUM(ResolutionWidth + 6), SUM(ResolutionWidth + 7), SUM(ResolutionWidth + 8), SUM(ResolutionWidth + 9), SUM(ResolutionWidth + 10), SUM(ResolutionWidth + 11), SUM(ResolutionWidth + 12), SUM(ResolutionWidth + 13), SUM(ResolutionWidth + 14), SUM(ResolutionWidth + 15), SUM(ResolutionWidth + 16), SUM(ResolutionWidth + 17), SUM(ResolutionWidth + 18), SUM(ResolutionWidth + 19), SUM(ResolutionWidth + 20), SUM(ResolutionWidth + 21), SUM(ResolutionWidth + 22), SUM(ResolutionWidth + 23), SUM(ResolutionWidth + 24), SUM(ResolutionWidth + 25), SUM(ResolutionWidth + 26), SUM(ResolutionWidth + 27), SUM(ResolutionWidth + 28), SUM(ResolutionWidth + 29), SUM(ResolutionWidth + 30), SUM(ResolutionWidth + 31), SUM(ResolutionWidth + 32), SUM(ResolutionWidth + 33), SUM(ResolutionWidth + 34), SUM(ResolutionWidth + 35), SUM(ResolutionWidth + 36), SUM(ResolutionWidth + 37), SUM(ResolutionWidth + 38), SUM(ResolutionWidth + 39), SUM(ResolutionWidth + 40), SUM(ResolutionWidth + 41), SUM(ResolutionWidth + 42), SUM(ResolutionWidth + 43), SUM(ResolutionWidth + 44), SUM(ResolutionWidth + 45), SUM(ResolutionWidth + 46), SUM(ResolutionWidth + 47), SUM(ResolutionWidth + 48), SUM(ResolutionWidth + 49), SUM(ResolutionWidth + 50), SUM(ResolutionWidth + 51), SUM(ResolutionWidth + 52), SUM(ResolutionWidth + 53), SUM(ResolutionWidth + 54), SUM(ResolutionWidth + 55), SUM(ResolutionWidth + 56), SUM(ResolutionWidth + 57), SUM(ResolutionWidth + 58), SUM(ResolutionWidth + 59), SUM(ResolutionWidth + 60), SUM(ResolutionWidth + 61), SUM(ResolutionWidth + 62), SUM(ResolutionWidth + 63), SUM(ResolutionWidth + 64), SUM(ResolutionWidth + 65), SUM(ResolutionWidth + 66), SUM(ResolutionWidth + 67), SUM(ResolutionWidth + 68), SUM(ResolutionWidth + 69), SUM(ResolutionWidth + 70), SUM(ResolutionWidth + 71), SUM(ResolutionWidth + 72), SUM(ResolutionWidth + 73), SUM(ResolutionWidth + 74), SUM(ResolutionWidth + 75), SUM(ResolutionWidth + 76), SUM(ResolutionWidth + 77), SUM(ResolutionWidth + 78), SUM(ResolutionWidth + 79), SUM(ResolutionWidth + 80), SUM(ResolutionWidth + 81), SUM(ResolutionWidth + 82), SUM(ResolutionWidth + 83), SUM(ResolutionWidth + 84), SUM(ResolutionWidth + 85), SUM(ResolutionWidth + 86), SUM(ResolutionWidth + 87), SUM(ResolutionWidth + 88), SUM(ResolutionWidth + 89) FROM hits;

SELECT max(rand()) FROM numbers(100000) SETTINGS max_threads = 1;
