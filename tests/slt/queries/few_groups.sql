-- long
-- GROUP BY with a LIMIT and no order: any groups do, each of all its rows.
CREATE TABLE f (k UInt32, s String, l LowCardinality(String), n Nullable(Int64), v Int32, d Decimal(9, 2)) ENGINE = MergeTree ORDER BY tuple();
INSERT INTO f SELECT number * 7919 % 20011, concat('a longer key ', toString(number * 7919 % 20011)), toString(number % 3001), if(number * 7919 % 20011 = 5, NULL, number * 7919 % 20011), number % 1009 - 500, number % 97 FROM numbers(300000);
SELECT count(), countIf(a.c = b.c AND a.t = b.t AND a.least = b.least AND a.most = b.most AND a.u = b.u AND a.q = b.q AND a.m = b.m AND a.w = b.w AND a.g = b.g) FROM (SELECT k, count() AS c, sum(v) AS t, min(v) AS least, max(d) AS most, uniqExact(v) AS u, quantileExact(v) AS q, argMax(d, v) AS m, avg(d) AS w, arraySort(groupArray(v)) AS g FROM f GROUP BY k LIMIT 10) AS a INNER JOIN (SELECT k, count() AS c, sum(v) AS t, min(v) AS least, max(d) AS most, uniqExact(v) AS u, quantileExact(v) AS q, argMax(d, v) AS m, avg(d) AS w, arraySort(groupArray(v)) AS g FROM f GROUP BY k) AS b USING (k);
SELECT count(), countIf(a.c = b.c AND a.x = b.x AND a.y = b.y) FROM (SELECT s, count() AS c, any(k) AS x, anyLast(s) AS y FROM f GROUP BY s LIMIT 1000 OFFSET 7) AS a INNER JOIN (SELECT s, count() AS c, any(k) AS x, anyLast(s) AS y FROM f GROUP BY s) AS b USING (s);
SELECT count(), countIf(a.c = b.c AND a.t = b.t) FROM (SELECT k, s, count() AS c, sum(v) AS t FROM f GROUP BY k, s LIMIT 4000) AS a INNER JOIN (SELECT k, s, count() AS c, sum(v) AS t FROM f GROUP BY k, s) AS b USING (k, s);
SELECT count(), countIf(a.c = b.c AND a.t = b.t) FROM (SELECT l, count() AS c, sum(v) AS t FROM f GROUP BY l LIMIT 50) AS a INNER JOIN (SELECT l, count() AS c, sum(v) AS t FROM f GROUP BY l) AS b USING (l);
SELECT count(), countIf(a.c = b.c) FROM (SELECT coalesce(n, -1) AS z, n, count() AS c FROM f GROUP BY n LIMIT 4000) AS a INNER JOIN (SELECT coalesce(n, -1) AS z, count() AS c FROM f GROUP BY n) AS b USING (z);
SELECT count() FROM (SELECT k, v FROM f GROUP BY k, v LIMIT 3000);
SELECT count() FROM (SELECT k FROM f WHERE k < 5 GROUP BY k LIMIT 100);
SELECT count() FROM (SELECT v % 7 AS r, count() FROM f GROUP BY r LIMIT 3);
SELECT count(), sum(c) FROM (SELECT k, count() AS c FROM f GROUP BY k LIMIT 100000);
SELECT count() FROM (SELECT k, count() AS c FROM f GROUP BY k HAVING c >= 15 LIMIT 10);
SELECT count() FROM (SELECT k, count() FROM f GROUP BY ROLLUP(k) LIMIT 12);
SELECT count() FROM (SELECT k, count() FROM f GROUP BY k LIMIT 0);
SELECT count(), sum(x) FROM (SELECT k, arrayJoin([1, 2]) AS x FROM f GROUP BY k LIMIT 9);
SELECT count() FROM (SELECT k, sum(v) FROM f GROUP BY k LIMIT 10 SETTINGS max_bytes_before_external_group_by = 1, max_bytes_ratio_before_external_group_by = 0);
SELECT count(), countIf(a.c = b.c) FROM (SELECT number % 50000 AS k, count() AS c FROM numbers_mt(1000000) GROUP BY k LIMIT 10) AS a INNER JOIN (SELECT number % 50000 AS k, count() AS c FROM numbers(1000000) GROUP BY k) AS b USING (k);
DROP TABLE f;
