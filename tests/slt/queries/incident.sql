-- Statements that look for the fault of an incident, over ordinary tables of the same columns.
CREATE TABLE asynchronous_metric_log (event_time DateTime('UTC'), metric LowCardinality(String), value Float64) ENGINE = MergeTree ORDER BY event_time;
INSERT INTO asynchronous_metric_log VALUES ('2024-04-08 20:30:37', 'LoadAverage1', 0.87), ('2024-04-08 20:31:22', 'LoadAverage1', 78.32), ('2024-04-08 20:31:22', 'OSIdleTimeNormalized', 0.379), ('2024-04-08 20:31:22', 'LoadAverage5', 3), ('2024-04-08 20:39:22', 'LoadAverage1', 9);
SELECT
    event_time,
    metric,
    value
FROM asynchronous_metric_log
WHERE event_time BETWEEN '2024-04-08 20:30:30' AND '2024-04-08 20:38:30'
AND metric ILIKE '%Load%1'
ORDER BY event_time ASC;
SELECT
    event_time,
    round((1 - value) * 100, 2) AS cpu_usage
FROM asynchronous_metric_log
WHERE event_time BETWEEN '2024-04-08 20:30:30' AND '2024-04-08 20:38:30'
AND metric = 'OSIdleTimeNormalized'
ORDER BY event_time ASC;
CREATE TABLE metric_log (event_time DateTime('UTC'), ProfileEvent_Query UInt64, CurrentMetric_Query Int64) ENGINE = MergeTree ORDER BY event_time;
INSERT INTO metric_log SELECT toDateTime('2024-04-08 20:30:30', 'UTC') + number, number, number * 3 FROM numbers(100);
SELECT
    toStartOfInterval(event_time, toIntervalSecond(15)) AS t,
    sum(ProfileEvent_Query) AS queries_started,
    max(CurrentMetric_Query) AS queries_running
FROM metric_log
WHERE event_time BETWEEN '2024-04-08 20:30:30' AND '2024-04-08 20:38:30'
GROUP BY t
ORDER BY t ASC;
CREATE TABLE query_log (type Enum8('QueryStart' = 1, 'QueryFinish' = 2, 'ExceptionBeforeStart' = 3, 'ExceptionWhileProcessing' = 4), event_time DateTime('UTC'), query_duration_ms UInt64, read_rows UInt64, read_bytes UInt64, written_rows UInt64, written_bytes UInt64, result_rows UInt64, result_bytes UInt64, memory_usage UInt64, normalized_query_hash UInt64, query_cache_usage Enum8('Unknown' = 0, 'None' = 1, 'Write' = 2, 'Read' = 3), query_id String, ProfileEvents Map(LowCardinality(String), UInt64)) ENGINE = MergeTree ORDER BY event_time;
INSERT INTO query_log VALUES (2, '2024-04-08 20:31:15', 24007, 34, 10923, 0, 0, 3, 1712, 0, 17791064728738142635, 1, 'b48de378-59b6-4ad2-af07-d9c1533b2569', {'SelectedRows': 34, 'ContextLock': 17}), (2, '2024-04-08 20:31:16', 1, 2, 636, 0, 0, 2, 17408, 0, 17791064728738142635, 1, '88c0e1c3-12db-4e18-b8c4-74aaf95780a3', {'SelectedRows': 2, 'ContextLock': 18, 'SoftPageFaults': 7}), (1, '2024-04-08 20:31:16', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, '88c0e1c3-12db-4e18-b8c4-74aaf95780a3', {});
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
FROM query_log
ARRAY JOIN arrayEnumerate(metrics) AS i
WHERE (first OR second) AND (type = 2) AND (event_time >= '2024-04-08 20:20:15') AND (event_time <= '2024-04-08 20:39:00')
GROUP BY metric
HAVING v1 != v2
ORDER BY
    (v2 - v1) / (v1 + v2) DESC,
    v2 DESC,
    metric ASC;
SELECT type, count() FROM query_log WHERE type = 'QueryFinish' GROUP BY type;
SELECT count() FROM query_log WHERE type IN ('QueryStart', 'QueryFinish') AND type != 1;
CREATE TABLE trace_log (event_time DateTime('UTC'), query_id String, trace Array(UInt64)) ENGINE = MergeTree ORDER BY event_time;
INSERT INTO trace_log VALUES ('2024-04-08 20:31:15', 'b48de378-59b6-4ad2-af07-d9c1533b2569', [1, 2, 3]), ('2024-04-08 20:31:16', 'x', [1, 2]), ('2024-04-08 20:31:17', 'y', [1, 2]);
SELECT
    arrayStringConcat(arrayMap(x -> upper(hex(x)), trace), '\n') AS trace_functions,
    count()
FROM trace_log
WHERE (event_time >= '2024-04-08 20:31:15') AND (event_time <= '2024-04-08 20:38:00')
GROUP BY trace_functions
ORDER BY count() DESC;
WITH arrayStringConcat(arrayMap(x -> upper(hex(x)), trace), '\n') AS trace_functions
SELECT
    trace_functions,
    count()
FROM trace_log
WHERE ((event_time >= '2024-04-08 20:31:15') AND (event_time <= '2024-04-08 20:38:00')) AND (query_id IN (
    SELECT query_id
    FROM query_log
    WHERE ((event_time >= '2024-04-08 20:31:15') AND (event_time <= '2024-04-08 20:38:00')) AND (normalized_query_hash = 17791064728738142635)
))
GROUP BY trace_functions
ORDER BY count() DESC
LIMIT 300;
SELECT sum(ProfileEvent_Query) FROM metric_log WHERE event_time >= now() - INTERVAL 10 MINUTE;
