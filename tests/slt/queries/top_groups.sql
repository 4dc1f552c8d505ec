-- The first few groups by what a function gives for them.
CREATE TABLE g (k UInt32, s String, v Int32, f Float64, n Nullable(Int16)) ENGINE = MergeTree ORDER BY k;
INSERT INTO g SELECT number % 20011, concat('key ', toString(number % 20011)), number * 7 % 1009 - 500, number % 353 / 3, if(number % 17 = 0, NULL, number % 300 - 100) FROM numbers(100000);
SELECT k, count() AS c, sum(v) AS t FROM g GROUP BY k ORDER BY t DESC, k LIMIT 5;
SELECT k, sum(v) AS t FROM g GROUP BY k ORDER BY t, k LIMIT 3 OFFSET 100;
SELECT s, count() AS c, max(v) FROM g WHERE k < 15000 AND v > 0 GROUP BY s ORDER BY c DESC, s LIMIT 4;
SELECT s, k, avg(f) AS a, uniqExact(v) FROM g GROUP BY s, k ORDER BY a DESC, k LIMIT 6;
SELECT k, max(n) AS m FROM g WHERE k % 3 = 0 GROUP BY k ORDER BY m DESC NULLS FIRST, k LIMIT 4;
SELECT k, min(n) AS m FROM g WHERE n IS NULL OR n < -90 GROUP BY k ORDER BY m NULLS FIRST, k LIMIT 4;
SELECT k, any(s) AS a, count() FROM g GROUP BY k ORDER BY a DESC, k LIMIT 3;
SELECT count() AS c, sum(c) OVER () FROM (SELECT k FROM g GROUP BY k ORDER BY count() DESC LIMIT 7);
SELECT max(c), min(c), count() FROM (SELECT count() AS c FROM g GROUP BY s ORDER BY c LIMIT 19000);
SELECT c, count() FROM (SELECT k, count() AS c FROM g GROUP BY k ORDER BY c DESC LIMIT 12345) GROUP BY c ORDER BY c;
SELECT k, arraySort(groupArray(v)) AS vs, length(vs) FROM g GROUP BY k ORDER BY sum(v) DESC, k LIMIT 2;
SELECT k, sum(v) AS t FROM g GROUP BY k WITH TOTALS ORDER BY t DESC, k LIMIT 2;
SELECT k, sum(v) AS t FROM g GROUP BY k ORDER BY t DESC, k LIMIT 1 WITH TIES;
SELECT k, sum(v) AS t FROM g GROUP BY k HAVING t < 100 ORDER BY t DESC, k LIMIT 2;
SELECT v % 10 AS z, count() AS c FROM g GROUP BY z ORDER BY c DESC, z LIMIT 3;
SELECT k, sum(v) AS t FROM g GROUP BY ROLLUP(k) ORDER BY t DESC, k LIMIT 3;
DROP TABLE g;
-- Many groups in each partition, and many of them with the same results.
SELECT count(), min(c), max(c) FROM (SELECT number, count() AS c FROM numbers_mt(300000) GROUP BY number ORDER BY c DESC LIMIT 10);
SELECT count(), min(c), max(c) FROM (SELECT number, count() AS c FROM numbers_mt(300000) GROUP BY number ORDER BY c LIMIT 1000);
SELECT count(), min(c), max(c) FROM (SELECT number, count() AS c FROM numbers_mt(300000) GROUP BY number ORDER BY c DESC LIMIT 30000);
SELECT count(), sum(c) FROM (SELECT number % 100000 AS k, count() AS c FROM numbers_mt(250000) GROUP BY k ORDER BY c DESC LIMIT 50010);
SELECT count(), sum(c) FROM (SELECT toString(number % 100000) AS k, toUInt8(count()) AS c FROM numbers_mt(250000) GROUP BY k ORDER BY c LIMIT 20);
SELECT k, s FROM (SELECT number % 100000 AS k, sum(number) AS s FROM numbers_mt(200000) GROUP BY k ORDER BY s DESC LIMIT 5) ORDER BY s;
SELECT count(), sum(m) FROM (SELECT number % 100000 AS k, max(number % 7) AS m FROM numbers_mt(200000) GROUP BY k ORDER BY m DESC LIMIT 15 OFFSET 5);
SELECT count(), countIf(isNull(m)) FROM (SELECT number % 100000 AS k, max(if(number % 100000 < 20, NULL, number % 3)) AS m FROM numbers_mt(200000) GROUP BY k ORDER BY m NULLS FIRST LIMIT 30);
