-- long
-- The groups with the most rows, of which there are few among many: keys that cannot be among them are left out before they make groups.
CREATE TABLE f (k UInt32, s String, l LowCardinality(String), n Nullable(Int16), d DateTime, v Int64, u UUID, x FixedString(3)) ENGINE = MergeTree ORDER BY v;
INSERT INTO f SELECT toUInt32(exp2(17 * (intHash64(number) % 1000000) / 1000000)) AS k, if(k % 3 = 0, '', concat('https://example.com/', toString(k))), concat('l', toString(k)), if(k % 5 = 0, NULL, k % 30000), toDateTime('2024-01-01 00:00:00', 'UTC') + k * 61, intDiv(number, 7), toUUID(concat('00000000-0000-0000-0000-', leftPad(toString(k), 12, '0'))), substring(hex(k), 1, 3) FROM numbers(1300000);
SELECT uniqExact(k) > 60000, count() FROM f;
SELECT k, count() AS c FROM f GROUP BY k ORDER BY c DESC, k LIMIT 10;
SELECT k, count() AS c FROM f GROUP BY k ORDER BY c DESC, k LIMIT 5 OFFSET 20;
SELECT s, count() AS c, sum(v), uniqExact(k), min(s), max(d) FROM f GROUP BY s ORDER BY c DESC, s LIMIT 12;
SELECT l, count() AS c FROM f GROUP BY l ORDER BY c DESC, l DESC LIMIT 7;
SELECT n, count() AS c, avg(v) > 0 FROM f GROUP BY n ORDER BY c DESC, n LIMIT 6;
SELECT u, x, count(v) AS c FROM f GROUP BY u, x ORDER BY c DESC, u LIMIT 6;
SELECT k, s, toHour(d, 'UTC') AS h, count() AS c FROM f WHERE s != '' AND v % 3 != 1 GROUP BY k, s, h ORDER BY c DESC, k LIMIT 9;
SELECT intDiv(k, 2) AS h, l, n, count(), countIf(v % 2 = 0) FROM f GROUP BY h, l, n ORDER BY count() DESC, l LIMIT 4;
SELECT c, count() FROM (SELECT k, count() AS c FROM f GROUP BY k ORDER BY c DESC LIMIT 900) GROUP BY c ORDER BY c DESC LIMIT 3;
SELECT count(), max(c), min(c) FROM (SELECT k, count() AS c FROM f GROUP BY k ORDER BY c DESC LIMIT 100000);
SELECT k, count() AS c FROM f GROUP BY k HAVING c < 1000 ORDER BY c DESC, k LIMIT 3;
SELECT k, count() AS c FROM f GROUP BY k WITH TOTALS ORDER BY c DESC, k LIMIT 2;
SELECT k, count() AS c FROM f GROUP BY k ORDER BY c DESC LIMIT 1 WITH TIES;
SELECT k, count() AS c FROM f GROUP BY k ORDER BY c, k LIMIT 3;
SELECT k, l, count() AS c FROM f GROUP BY ROLLUP(k, l) ORDER BY c DESC, k, l LIMIT 4;
SELECT k, c, t FROM (SELECT k, count() AS c FROM f GROUP BY k ORDER BY c DESC, k LIMIT 5) AS a JOIN (SELECT s, max(k) AS k, count() AS t FROM f GROUP BY s ORDER BY t DESC, s LIMIT 50) AS b USING k ORDER BY k;
SELECT v, count() AS c FROM f GROUP BY v ORDER BY c DESC, v LIMIT 3;
SELECT k, count() AS c FROM f WHERE v < 100000 GROUP BY k ORDER BY c DESC, k LIMIT 3;
SELECT k, count() AS c FROM f WHERE 0 GROUP BY k ORDER BY c DESC, k LIMIT 3;
SELECT f.k, count() AS c FROM f JOIN (SELECT k FROM f WHERE k % 7 = 3 GROUP BY k) AS o ON f.k = o.k GROUP BY f.k ORDER BY c DESC, f.k LIMIT 4;
DROP TABLE f;
-- What is grouped is no table, and is grouped again.
SELECT a, b, avg(n), count() AS c FROM (SELECT number % 7 AS a, number % 3 AS b, number AS n FROM numbers_mt(1500000)) GROUP BY ROLLUP(a, b) ORDER BY c DESC, a, b, 3 LIMIT 6;
SELECT k, count() AS c FROM (SELECT number % 300000 AS k, count() AS n FROM numbers_mt(1500000) GROUP BY number % 1200000 AS r, k) GROUP BY k ORDER BY c DESC, k LIMIT 4;
CREATE TABLE o (k UInt32) ENGINE = MergeTree ORDER BY k;
INSERT INTO o SELECT number % 1000 FROM numbers(2000);
SELECT k % 5 AS a, k % 2 AS b, avg(n) FROM (SELECT o.k AS k, t.number AS n FROM numbers(3000) AS t JOIN o ON o.k = t.number) GROUP BY ROLLUP(a, b) ORDER BY a, b, 3;
DROP TABLE o;
