-- Window functions: ranks, neighbours, frames, named windows, QUALIFY, aggregates over frames, errors.
SELECT number, row_number() OVER (ORDER BY number DESC) AS r, toTypeName(r) FROM numbers(3) ORDER BY number;
SELECT number, rank() OVER (ORDER BY number % 2) AS r, dense_rank() OVER (ORDER BY number % 2) AS d, toTypeName(r), toTypeName(d) FROM numbers(5) ORDER BY number;
SELECT number, percent_rank() OVER (ORDER BY number % 2) AS r, cume_dist() OVER (ORDER BY number % 2) AS d, toTypeName(r), toTypeName(d) FROM numbers(5) ORDER BY number;
SELECT number, ntile(2) OVER (ORDER BY number) AS r, toTypeName(r) FROM numbers(5) ORDER BY number;
SELECT number, ntile(3) OVER (PARTITION BY number % 2 ORDER BY number) AS r FROM numbers(9) ORDER BY number;
SELECT number, ntile(10) OVER (ORDER BY number) AS r FROM numbers(3) ORDER BY number;
SELECT number, ntile(0) OVER (ORDER BY number) AS r FROM numbers(3) ORDER BY number;
SELECT number, ntile(2) OVER () AS r FROM numbers(3) ORDER BY number;
SELECT number, ntile(number) OVER (ORDER BY number) AS r FROM numbers(3) ORDER BY number;
SELECT number, ntile('a') OVER (ORDER BY number) AS r FROM numbers(3) ORDER BY number;
SELECT number, ntile() OVER (ORDER BY number) AS r FROM numbers(3) ORDER BY number;
SELECT number, first_value(number) OVER (ORDER BY number DESC) AS f, last_value(number) OVER (ORDER BY number DESC) AS l, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, first_value(x) OVER (ORDER BY number) AS f, last_value(x) OVER (ORDER BY number) AS l, toTypeName(f) FROM (SELECT number, if(number = 0 OR number = 3, NULL, number) AS x FROM numbers(5)) ORDER BY number;
SELECT number, first_value(x) RESPECT NULLS OVER (ORDER BY number) AS f, last_value(x) RESPECT NULLS OVER (ORDER BY number) AS l, toTypeName(f) FROM (SELECT number, if(number = 0 OR number = 3, NULL, number) AS x FROM numbers(5)) ORDER BY number;
SELECT number, any(number) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS f FROM numbers(4) ORDER BY number;
SELECT number, nth_value(number, 2) OVER (ORDER BY number) AS f, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, nth_value(number, 2) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS f FROM numbers(4) ORDER BY number;
SELECT number, nth_value(toNullable(number), 3) OVER (ORDER BY number) AS f, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, nth_value(number, 0) OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, nth_value(number, -1) OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, nth_value(number) OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, nth_value('a', 1) OVER (ORDER BY number) AS f FROM numbers(2) ORDER BY number;
SELECT number, lag(number) OVER (ORDER BY number) AS f, lead(number) OVER (ORDER BY number) AS g, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, lag(number, 2) OVER (ORDER BY number) AS f, lead(number, 2, 100) OVER (ORDER BY number) AS g, toTypeName(g) FROM numbers(4) ORDER BY number;
SELECT number, lag(number, 2, 100::UInt64) OVER (ORDER BY number) AS f, lead(number, 2, 'a') OVER (ORDER BY number) AS g FROM numbers(4) ORDER BY number;
SELECT number, lag(toString(number), 1, 'none') OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag(number, 0) OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag(number, -1) OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag(number, number) OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag(number) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag(number) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag() OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag(number, 'a') OVER (ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, lag(toNullable(number)) OVER (ORDER BY number) AS f, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, lagInFrame(number) OVER (ORDER BY number) AS f, leadInFrame(number) OVER (ORDER BY number) AS g, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, lagInFrame(number, 1, 7) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS f, leadInFrame(number, 2, 9) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS g FROM numbers(4) ORDER BY number;
SELECT number, lagInFrame(number, 2) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS f FROM numbers(4) ORDER BY number;
SELECT number, lagInFrame(toDateTime(number, 'UTC')) OVER (PARTITION BY number % 2 ORDER BY number) AS f FROM numbers(4) ORDER BY number;
SELECT number, leadInFrame(number) OVER (ORDER BY number ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS f FROM numbers(4) ORDER BY number;
SELECT number, lagInFrame(number, 1, -5) OVER (ORDER BY number) AS f, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, lagInFrame(number, 1, 'x') OVER (ORDER BY number) AS f, toTypeName(f) FROM numbers(4) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number) AS s, toTypeName(s) FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER () AS s, count() OVER () AS c FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (PARTITION BY number % 2) AS s, count() OVER (PARTITION BY number % 2 ORDER BY number) AS c FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) AS s, min(number) OVER (ORDER BY number ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) AS m, count() OVER (ORDER BY number ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) AS c FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS s FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number ROWS 2 PRECEDING) AS s FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING) AS s FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN CURRENT ROW AND UNBOUNDED PRECEDING) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN CURRENT ROW AND 1 PRECEDING) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN -1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 1.5 PRECEDING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN number PRECEDING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 1 + 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number ROWS BETWEEN 'a' PRECEDING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5);
SELECT number, sum(number) OVER (ORDER BY number RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER (ORDER BY number DESC RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY number * 3 RANGE BETWEEN 4 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 RANGE BETWEEN CURRENT ROW AND CURRENT ROW) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 RANGE BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (ORDER BY number / 2 RANGE BETWEEN 0.5 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toDate(number) RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toDateTime(number * 10, 'UTC') RANGE BETWEEN 15 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toDateTime(number * 10, 'UTC') RANGE BETWEEN INTERVAL 15 SECOND PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toString(number) RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY number, number RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toNullable(number) RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toInt8(number) RANGE BETWEEN 300 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toUInt8(number) RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY toUInt8(number) RANGE BETWEEN -3 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, sum(number) OVER w AS s, avg(number) OVER w AS a FROM numbers(5) WINDOW w AS (ORDER BY number) ORDER BY number;
SELECT number, sum(number) OVER (w ORDER BY number) AS s FROM numbers(5) WINDOW w AS (PARTITION BY number % 2) ORDER BY number;
SELECT number, sum(number) OVER (w ROWS 1 PRECEDING) AS s FROM numbers(5) WINDOW w AS (PARTITION BY number % 2 ORDER BY number) ORDER BY number;
SELECT number, sum(number) OVER (w ORDER BY number) AS s FROM numbers(5) WINDOW w AS (ORDER BY number) ORDER BY number;
SELECT number, sum(number) OVER (w PARTITION BY number) AS s FROM numbers(5) WINDOW w AS (ORDER BY number) ORDER BY number;
SELECT number, sum(number) OVER nosuch AS s FROM numbers(5);
SELECT number, sum(number) OVER w FROM numbers(5) WINDOW w AS (ORDER BY number), w AS (ORDER BY number);
SELECT number, sum(number) OVER w2 AS s FROM numbers(5) WINDOW w AS (PARTITION BY number % 2), w2 AS (w ORDER BY number) ORDER BY number;
SELECT number % 2 AS k, sum(number) AS s, sum(sum(number)) OVER () AS t, rank() OVER (ORDER BY sum(number) DESC) AS r FROM numbers(5) GROUP BY k ORDER BY k;
SELECT number FROM numbers(5) WHERE row_number() OVER () > 2;
SELECT count(), number % 2 AS k FROM numbers(5) GROUP BY k HAVING row_number() OVER () > 2;
SELECT number FROM numbers(5) GROUP BY row_number() OVER ();
SELECT sum(row_number() OVER ()) FROM numbers(5);
SELECT sum(sum(number) OVER ()) OVER () FROM numbers(5);
SELECT number, row_number() OVER (ORDER BY number DESC) AS r FROM numbers(5) ORDER BY r;
SELECT number FROM numbers(5) ORDER BY row_number() OVER (ORDER BY number DESC);
SELECT number, row_number() OVER (ORDER BY number DESC) AS r FROM numbers(5) QUALIFY r <= 2 ORDER BY r;
SELECT number FROM numbers(5) QUALIFY row_number() OVER (ORDER BY number DESC) <= 2 ORDER BY number;
SELECT number % 2 AS k, count() AS c FROM numbers(5) GROUP BY k QUALIFY row_number() OVER (ORDER BY c) = 1;
SELECT number FROM numbers(5) QUALIFY number > 2;
SELECT number + row_number() OVER (ORDER BY number) * 2 AS x FROM numbers(3) ORDER BY x;
SELECT DISTINCT sum(number) OVER (PARTITION BY number % 2) AS s FROM numbers(5) ORDER BY s;
SELECT number, sum(number) OVER (ORDER BY number) AS s FROM numbers(5) ORDER BY number LIMIT 2;
SELECT number, count(x) OVER (ORDER BY number) AS c, sum(x) OVER (ORDER BY number) AS s, avg(x) OVER (ORDER BY number ROWS 1 PRECEDING) AS a, max(x) OVER (ORDER BY number) AS m FROM (SELECT number, if(number % 2 = 0, NULL, number) AS x FROM numbers(5)) ORDER BY number;
SELECT number, sumIf(number, number % 2 = 0) OVER (ORDER BY number) AS c, countIf(number > 2) OVER (ORDER BY number) AS d, sumOrNull(number) OVER (ORDER BY number ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING) AS e FROM numbers(5) ORDER BY number;
SELECT number, groupArray(number) OVER (ORDER BY number) AS c, uniq(number % 2) OVER (ORDER BY number) AS d, uniqExact(number % 3) OVER (ORDER BY number) AS e, quantileExact(0.5)(number) OVER (ORDER BY number) AS f, median(number) OVER (ORDER BY number) AS g FROM numbers(5) ORDER BY number;
SELECT number, argMin(number, -number) OVER (ORDER BY number) AS c, min(number) OVER (ORDER BY number DESC) AS d, stddevPop(number) OVER (ORDER BY number) AS e, topK(2)(number % 2) OVER (ORDER BY number) AS f, groupUniqArray(number % 2) OVER (ORDER BY number) AS g FROM numbers(5) ORDER BY number;
SELECT number, sumDistinct(number % 2) OVER (ORDER BY number) AS c, sumArray([number, 1]) OVER (ORDER BY number) AS d, anyLast(number) OVER (ORDER BY number) AS e, groupArrayDistinct(number % 2) OVER (ORDER BY number) AS f FROM numbers(5) ORDER BY number;
SELECT number, count(DISTINCT number % 2) OVER (ORDER BY number) AS c FROM numbers(5) ORDER BY number;
SELECT number, sum(1) OVER (PARTITION BY number % 2 ORDER BY number DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS c FROM numbers(6) ORDER BY number;
SELECT number, sum(number) FILTER (WHERE number > 1) OVER (ORDER BY number) AS c FROM numbers(4) ORDER BY number;
SELECT row_number(number) OVER () FROM numbers(3);
SELECT row_number() FROM numbers(3);
SELECT rank() FROM numbers(3);
SELECT lagInFrame(number) FROM numbers(3);
SELECT plus(1, 2) OVER () FROM numbers(3);
SELECT nosuch(1) OVER () FROM numbers(3);
SELECT number, nonNegativeDerivative(number * number, toDateTime(number, 'UTC')) OVER (ORDER BY number) AS c, toTypeName(c) FROM numbers(4) ORDER BY number;
SELECT number, nonNegativeDerivative(number * number, toDateTime(number * 2, 'UTC'), INTERVAL 10 SECOND) OVER (ORDER BY number) AS c FROM numbers(4) ORDER BY number;
SELECT number, nonNegativeDerivative(10 - number, toDateTime64(number, 3, 'UTC')) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS c FROM numbers(4) ORDER BY number;
SELECT sum(number) OVER (ORDER BY number) FROM numbers(0);
SELECT sum(number) OVER (PARTITION BY number ORDER BY number) AS s, lead(number) OVER (PARTITION BY number) FROM numbers(3) ORDER BY s;
SELECT name, sum(v) OVER (PARTITION BY name ORDER BY v) AS s FROM values('name String, v Int32', ('a', 1), ('b', 5), ('a', 2), ('b', -1), ('a', 2)) ORDER BY name, v, s;
SELECT name, v, rank() OVER (PARTITION BY name ORDER BY v) AS r, dense_rank() OVER (PARTITION BY name ORDER BY v) AS d, row_number() OVER (PARTITION BY name ORDER BY v) AS n, percent_rank() OVER (PARTITION BY name ORDER BY v) AS p, cume_dist() OVER (PARTITION BY name ORDER BY v) AS c FROM values('name String, v Int32', ('a', 1), ('b', 5), ('a', 2), ('b', -1), ('a', 2)) ORDER BY name, n;
SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY v NULLS FIRST) AS s FROM values('k Nullable(String), v Nullable(Int32)', (NULL, 1), ('b', NULL), (NULL, 2), ('b', 3)) ORDER BY k, v;
SELECT number, max(number) OVER (PARTITION BY intDiv(number, 3) ORDER BY number ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) - number AS d FROM numbers(7) ORDER BY number;
SELECT number, if(lagInFrame(number) OVER (ORDER BY number) = 0, 'first', 'later') AS x FROM numbers(3) ORDER BY number;
SELECT arrayMap(x -> x + row_number() OVER (ORDER BY number), [1, 2]) AS a FROM numbers(3) ORDER BY a;
SELECT denseRank() OVER (ORDER BY number), percentRank() OVER (ORDER BY number), rowNumber() OVER () FROM numbers(2);
SELECT ROW_NUMBER() OVER (ORDER BY number), DENSE_RANK() OVER (ORDER BY number), LAG(number) OVER (ORDER BY number), NTILE(1) OVER (ORDER BY number), FIRST_VALUE(number) OVER (ORDER BY number), SUM(number) OVER () FROM numbers(2);
SELECT row_number() OVER (ORDER BY rand()) = 0 FROM numbers(2);
SELECT sum(x) OVER (ORDER BY number), min(x) OVER (ORDER BY number ROWS 1 PRECEDING) FROM (SELECT number, toLowCardinality(number) AS x FROM numbers(3) SETTINGS allow_suspicious_low_cardinality_types = 1);
SELECT number AS n, (SELECT max(number) FROM numbers(3)) + sum(n) OVER (ORDER BY n) AS s FROM numbers(3) ORDER BY n;
SELECT sum(number) OVER (PARTITION BY 1 ORDER BY 1) AS s FROM numbers(3);
SELECT sum(number) OVER (PARTITION BY number % 2 AS p ORDER BY number) AS s, p FROM numbers(3) ORDER BY number;
SELECT number, sum(number) OVER (PARTITION BY k ORDER BY number) AS s, number % 2 AS k FROM numbers(4) ORDER BY number;
SELECT lag(toUInt8(1), 1, 1000) OVER () FROM numbers(1);
SELECT lag(toUInt16(1), 1, 1000) OVER () FROM numbers(1);
SELECT lag(number, 1, NULL) OVER (ORDER BY number) AS r, toTypeName(r) FROM numbers(2);
SELECT lag(1, 2, 3, 4) OVER () FROM numbers(1);
SELECT ntile(2) OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT ntile(2) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM numbers(3);
SELECT ntile(2) OVER (ORDER BY number RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT percent_rank() OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT percent_rank() OVER (ORDER BY number RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT percent_rank() OVER () FROM numbers(3);
SELECT cume_dist() OVER () FROM numbers(3);
SELECT cume_dist() OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT rank() OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT rank() OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT row_number() OVER (ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM numbers(3);
SELECT nonNegativeDerivative(number) OVER () FROM numbers(1);
SELECT nonNegativeDerivative(number, number) OVER () FROM numbers(1);
SELECT nonNegativeDerivative('a', now()) OVER () FROM numbers(1);
SELECT nonNegativeDerivative(number, toDateTime(number), 1) OVER () FROM numbers(1);
SELECT number, count() OVER (ORDER BY number / 2 RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM numbers(5) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (ORDER BY number % 3 GROUPS BETWEEN CURRENT ROW AND CURRENT ROW) AS s FROM numbers(7) ORDER BY number;
SELECT number, count() OVER (GROUPS BETWEEN CURRENT ROW AND CURRENT ROW) AS s FROM numbers(3) ORDER BY number;
SELECT number, count() OVER (ORDER BY number ROWS BETWEEN 10000000000 PRECEDING AND CURRENT ROW) AS s FROM numbers(3) ORDER BY number;
SELECT k, sum(c) OVER (ORDER BY k) AS s FROM (SELECT number % 3 AS k, count() AS c FROM numbers(10) GROUP BY k) ORDER BY k;
SELECT number % 3 AS k, count() AS c, sum(c) OVER (ORDER BY k) AS s, c / sum(c) OVER () AS share FROM numbers(10) GROUP BY k ORDER BY k;
SELECT number FROM numbers(3) GROUP BY number HAVING sum(number) OVER () > 1;
SELECT number, sum(number) OVER (ORDER BY number) AS s FROM numbers(3) WHERE s > 1;
SELECT count() FROM (SELECT row_number() OVER (PARTITION BY number % 10 ORDER BY number) AS r FROM numbers(1000)) WHERE r = 3;
SELECT max(s) FROM (SELECT sum(number) OVER (PARTITION BY number % 7 ORDER BY number ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS s FROM numbers(100000));
SELECT sum(r) FROM (SELECT lagInFrame(number, 1, 5) OVER (PARTITION BY number % 1000 ORDER BY number) AS r FROM numbers(200000));
SELECT sum(r), max(d) FROM (SELECT rank() OVER (PARTITION BY number % 10 ORDER BY intDiv(number, 100)) AS r, dense_rank() OVER (PARTITION BY number % 10 ORDER BY intDiv(number, 100)) AS d FROM numbers(100000));
SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY b DESC) AS r1, row_number() OVER (PARTITION BY b ORDER BY a) AS r2, count() OVER () AS c FROM values('a UInt8, b UInt8', (1, 1), (1, 2), (2, 1), (2, 2), (2, 3)) ORDER BY a, b;
SELECT arraySum(groupArray(number) OVER (ORDER BY number ROWS 2 PRECEDING)) AS s FROM numbers(6) ORDER BY s;
SELECT toStartOfInterval(t, INTERVAL 15 SECOND) AS i, max(v) AS m, m - lagInFrame(m) OVER (ORDER BY i) AS d FROM (SELECT toDateTime('2024-04-08 20:30:30', 'UTC') + number AS t, number * number AS v FROM numbers(60)) GROUP BY i ORDER BY i;
SELECT any(number) RESPECT NULLS OVER (ORDER BY number) FROM numbers(2);
SELECT sum(number) IGNORE NULLS OVER (ORDER BY number) FROM numbers(2);
SELECT first_value(x) IGNORE NULLS OVER (ORDER BY number) FROM (SELECT number, if(number = 0, NULL, number) AS x FROM numbers(3)) ORDER BY number;
-- A query for incidents of the thread pool, over a table of its columns.
CREATE TABLE metric_log (event_time DateTime('UTC'), CurrentMetric_GlobalThread Int64, CurrentMetric_GlobalThreadActive Int64) ENGINE = MergeTree ORDER BY event_time;
INSERT INTO metric_log SELECT toDateTime('2024-04-08 20:30:00', 'UTC') + number, 100 + 15 * number * (number % 3), 60 + number FROM numbers(12);
SELECT host, event_time, CurrentMetric_GlobalThread, CurrentMetric_GlobalThreadActive, PreviousEventTime, Prev_CurrentMetric_GlobalThread, Prev_CurrentMetric_GlobalThreadActive,
    (CurrentMetric_GlobalThread - CurrentMetric_GlobalThreadActive) AS Unused_Threads,
    (Prev_CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThreadActive) AS Prev_Unused_Threads,
    (CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThread) AS Thread_Increase
FROM (
    SELECT
        'one' AS host,
        event_time,
        CurrentMetric_GlobalThread,
        CurrentMetric_GlobalThreadActive,
        lagInFrame(event_time) OVER w AS PreviousEventTime,
        lagInFrame(CurrentMetric_GlobalThread) OVER w AS Prev_CurrentMetric_GlobalThread,
        lagInFrame(CurrentMetric_GlobalThreadActive) OVER w AS Prev_CurrentMetric_GlobalThreadActive
    FROM merge(default, '^metric_log')
    WHERE event_time > toDateTime('2024-01-01 00:00:00')
    WINDOW w AS (PARTITION BY host ORDER BY event_time)
)
WHERE
    Prev_CurrentMetric_GlobalThread > 0
    AND (Prev_CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThreadActive) > 10
    AND (CurrentMetric_GlobalThread - CurrentMetric_GlobalThreadActive) > 10
    AND (CurrentMetric_GlobalThread - Prev_CurrentMetric_GlobalThread) > 10
ORDER BY event_time;
