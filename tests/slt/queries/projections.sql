-- Projections: what they are, what they hold, and that answers are the same with and without them.

SET mutations_sync = 2;

SET alter_sync = 2;

CREATE TABLE events (
    day Date, user UInt32, page LowCardinality(String), ms UInt32, score Nullable(Float64),
    PROJECTION by_user (SELECT user, day, page, ms ORDER BY user),
    PROJECTION pages (SELECT page, day, count(), sum(ms), avg(ms), uniqExact(user), quantileExact(0.9)(ms), max(score) GROUP BY page, day)
) ENGINE = MergeTree ORDER BY day SETTINGS index_granularity = 64;

SELECT replaceOne(create_table_query, currentDatabase(), 'db') FROM system.tables WHERE name = 'events' AND database = currentDatabase();

SELECT name, type, sorting_key, query FROM system.projections WHERE table = 'events' AND database = currentDatabase();

INSERT INTO events SELECT toDate('2024-01-01') + number % 7, (number * 7919) % 1000, 'p' || toString(number % 5), number % 333, if(number % 11 = 0, NULL, number % 17 / 4) FROM numbers(5000);

INSERT INTO events SELECT toDate('2024-01-03') + number % 5, (number * 31) % 1000, 'p' || toString(number % 6), number % 77, number % 3 FROM numbers(3000);

SELECT name, sum(rows) FROM system.projection_parts WHERE table = 'events' AND database = currentDatabase() AND active GROUP BY name ORDER BY name;

-- An aggregating projection.
SELECT page, count(), sum(ms) FROM events GROUP BY page ORDER BY page SETTINGS force_optimize_projection = 1;

SELECT page, day, avg(ms), uniqExact(user), max(score) FROM events GROUP BY page, day ORDER BY page, day SETTINGS force_optimize_projection = 1;

SELECT day, quantileExact(0.9)(ms) FROM events WHERE page IN ('p1', 'p4') GROUP BY day ORDER BY day SETTINGS force_optimize_projection = 1;

SELECT count(), sum(ms) FROM events WHERE page = 'p2' AND day >= '2024-01-03' SETTINGS force_optimize_projection = 1, force_optimize_projection_name = 'pages';

SELECT toStartOfWeek(day) AS week, upper(page) AS name, sum(ms) / count() FROM events GROUP BY week, name HAVING count() > 10 ORDER BY week, name SETTINGS force_optimize_projection = 1;

SELECT page, sum(ms) FROM events GROUP BY page WITH TOTALS ORDER BY page SETTINGS force_optimize_projection = 1;

SELECT page FROM events GROUP BY page ORDER BY page SETTINGS force_optimize_projection = 1;

SELECT a.page, a.c, b.s FROM (SELECT page, count() AS c FROM events GROUP BY page) AS a JOIN (SELECT page, sum(ms) AS s FROM events GROUP BY page) AS b ON a.page = b.page ORDER BY a.page SETTINGS force_optimize_projection = 1;

SELECT count() FROM events WHERE page = 'nobody' SETTINGS force_optimize_projection = 1;

-- It has no such key, no such aggregate, no such level.
SELECT user, count() FROM events GROUP BY user ORDER BY user LIMIT 3;

SELECT page, sum(score) FROM events GROUP BY page SETTINGS force_optimize_projection = 1;

-- squall: the levels of quantiles that are asked for are those of the projection
SELECT page, quantileExact(0.5)(ms) FROM events GROUP BY page SETTINGS force_optimize_projection = 1;

SELECT page, count() FROM events GROUP BY page SETTINGS force_optimize_projection_name = 'by_user';

-- A normal one.
SELECT day, page, ms FROM events WHERE user = 77 ORDER BY page, day, ms SETTINGS force_optimize_projection = 1;

SELECT count(), sum(ms) FROM events WHERE user BETWEEN 100 AND 120 SETTINGS force_optimize_projection = 1;

SELECT count(), sum(score) FROM events WHERE user BETWEEN 100 AND 120;

SELECT page, sum(ms) FROM events WHERE user = 5 GROUP BY page ORDER BY page SETTINGS preferred_optimize_projection_name = 'by_user', force_optimize_projection = 1;

SELECT page, sum(ms) FROM events WHERE user = 5 GROUP BY page ORDER BY page SETTINGS optimize_use_projections = 0;

-- Parts of before a projection are read as they are.
ALTER TABLE events ADD PROJECTION users (SELECT user % 10, sum(ms), min(day) GROUP BY user % 10);

SELECT user % 10 AS u, sum(ms), min(day) FROM events GROUP BY u ORDER BY u;

INSERT INTO events SELECT '2024-02-01', number, 'new', 7, NULL FROM numbers(100);

SELECT user % 10 AS u, sum(ms), min(day) FROM events GROUP BY u ORDER BY u;

ALTER TABLE events MATERIALIZE PROJECTION users;

SELECT user % 10 AS u, sum(ms), min(day) FROM events GROUP BY u ORDER BY u SETTINGS force_optimize_projection = 1;

SELECT name, count() > 0 FROM system.projection_parts WHERE table = 'events' AND database = currentDatabase() AND active GROUP BY name ORDER BY name;

-- Merges and mutations keep them.
OPTIMIZE TABLE events FINAL;

SELECT user % 10 AS u, sum(ms), min(day) FROM events GROUP BY u ORDER BY u SETTINGS force_optimize_projection = 1;

SELECT page, count(), uniqExact(user), avg(ms) FROM events GROUP BY page ORDER BY page SETTINGS force_optimize_projection = 1;

SELECT name, rows FROM system.projection_parts WHERE table = 'events' AND database = currentDatabase() AND active ORDER BY name;

ALTER TABLE events UPDATE ms = ms + 1000 WHERE page = 'p3';

SELECT page, count(), sum(ms) FROM events GROUP BY page ORDER BY page SETTINGS force_optimize_projection = 1;

ALTER TABLE events DELETE WHERE user < 500;

SELECT page, count(), sum(ms) FROM events GROUP BY page ORDER BY page SETTINGS force_optimize_projection = 1;

SELECT count() FROM events WHERE user < 510 SETTINGS force_optimize_projection = 1;

ALTER TABLE events CLEAR PROJECTION users;

SELECT user % 10 AS u, sum(ms) FROM events GROUP BY u ORDER BY u;

SELECT user % 10 AS u, sum(ms) FROM events GROUP BY u ORDER BY u SETTINGS force_optimize_projection = 1;

ALTER TABLE events DROP PROJECTION users;

ALTER TABLE events DROP PROJECTION users;

ALTER TABLE events DROP PROJECTION IF EXISTS users;

ALTER TABLE events ADD PROJECTION pages (SELECT page ORDER BY page);

ALTER TABLE events ADD PROJECTION IF NOT EXISTS pages (SELECT page ORDER BY page);

ALTER TABLE events ADD PROJECTION first (SELECT score, day ORDER BY day, score) FIRST;

ALTER TABLE events ADD PROJECTION second (SELECT score, day ORDER BY day, score) AFTER first;

SELECT name FROM system.projections WHERE table = 'events' AND database = currentDatabase();

ALTER TABLE events DROP COLUMN ms;

ALTER TABLE events RENAME COLUMN page TO site;

DELETE FROM events WHERE user = 1;

CREATE TABLE alike AS events;

SELECT name, type, sorting_key, query FROM system.projections WHERE table = 'alike' AND database = currentDatabase();

DROP TABLE events;

DROP TABLE alike;

-- Partitions, and other forms of the query.
CREATE TABLE parted (
    p UInt8, a UInt32, b String, c Array(UInt8), d Decimal(10, 2), t DateTime('UTC'),
    PROJECTION sums (SELECT sum(d), count(), min(a), max(a), groupUniqArray(p)),
    PROJECTION hours (WITH toStartOfHour(t) AS hour SELECT hour, p, any(b), sumIf(d, a > 5), uniq(a) GROUP BY hour, p),
    PROJECTION odd (SELECT *, a * 2 AS double ORDER BY b, a * 2)
) ENGINE = MergeTree PARTITION BY p ORDER BY a SETTINGS index_granularity = 32;

SELECT name, type, sorting_key, query FROM system.projections WHERE table = 'parted' AND database = currentDatabase();

INSERT INTO parted SELECT number % 3, number, toString(number % 100), [number % 5], number / 4, toDateTime('2024-05-05 05:00:00', 'UTC') + number * 60 FROM numbers(2000);

INSERT INTO parted SELECT number % 2, number * 3, toString(number % 7), [], 1, toDateTime('2024-05-05 07:00:00', 'UTC') + number * 7 FROM numbers(500);

SELECT sum(d), count(), min(a), max(a), arraySort(groupUniqArray(p)) FROM parted SETTINGS force_optimize_projection = 1;

SELECT toStartOfHour(t) AS h, sumIf(d, a > 5), uniq(a) FROM parted GROUP BY h ORDER BY h SETTINGS force_optimize_projection = 1;

SELECT p, sumIf(d, a > 5) FROM parted WHERE toStartOfHour(t) = '2024-05-05 07:00:00' GROUP BY p ORDER BY p SETTINGS force_optimize_projection = 1;

SELECT p, a, b, c, d FROM parted WHERE b = '42' ORDER BY p, a LIMIT 20 SETTINGS force_optimize_projection = 1;

ALTER TABLE parted DROP PARTITION 1;

SELECT sum(d), count(), min(a), max(a), arraySort(groupUniqArray(p)) FROM parted SETTINGS force_optimize_projection = 1;

ALTER TABLE parted DETACH PARTITION 0;

SELECT count(), sum(d) FROM parted SETTINGS force_optimize_projection = 1;

ALTER TABLE parted ATTACH PARTITION 0;

SELECT count(), sum(d) FROM parted SETTINGS force_optimize_projection = 1;

CREATE TABLE other AS parted;

ALTER TABLE other ATTACH PARTITION 2 FROM parted;

SELECT count(), sum(d), max(a) FROM other SETTINGS force_optimize_projection = 1;

SELECT count(), sum(d) FROM parted WHERE b = '5' SETTINGS force_optimize_projection = 1;

DROP TABLE parted;

DROP TABLE other;

-- What they cannot be.
CREATE TABLE bad (a UInt32, b UInt32, PROJECTION p (SELECT a, sum(b) GROUP BY a ORDER BY a)) ENGINE = MergeTree ORDER BY a;

CREATE TABLE bad (a UInt32, b UInt32, PROJECTION p (SELECT a, b)) ENGINE = MergeTree ORDER BY a;

CREATE TABLE bad (a UInt32, b UInt32, PROJECTION p (SELECT a ORDER BY b), PROJECTION p (SELECT b ORDER BY b)) ENGINE = MergeTree ORDER BY a;

CREATE TABLE bad (a UInt32, b UInt32, PROJECTION p (SELECT c ORDER BY b)) ENGINE = MergeTree ORDER BY a;

CREATE TABLE bad (a UInt32, b UInt32, PROJECTION p (SELECT a, b ORDER BY b)) ENGINE = Memory;

CREATE TABLE bad (a UInt32, b UInt32, PROJECTION p (SELECT a, b ORDER BY b)) ENGINE = ReplacingMergeTree ORDER BY a;

-- Other kinds of MergeTree make them anew where rows change, or drop them.
CREATE TABLE replacing (a UInt32, b UInt32, v UInt32, PROJECTION p (SELECT b, count(), sum(v) GROUP BY b)) ENGINE = ReplacingMergeTree(v) ORDER BY a SETTINGS deduplicate_merge_projection_mode = 'rebuild';

INSERT INTO replacing SELECT number, number % 3, 1 FROM numbers(100);

INSERT INTO replacing SELECT number, number % 4, 2 FROM numbers(50);

SELECT b, count(), sum(v) FROM replacing GROUP BY b ORDER BY b;

SELECT b, count(), sum(v) FROM replacing FINAL GROUP BY b ORDER BY b;

OPTIMIZE TABLE replacing FINAL;

SELECT b, count(), sum(v) FROM replacing GROUP BY b ORDER BY b SETTINGS force_optimize_projection = 1;

DROP TABLE replacing;

CREATE TABLE summing (a UInt32, v UInt32, PROJECTION p (SELECT v, a ORDER BY v)) ENGINE = SummingMergeTree ORDER BY a SETTINGS deduplicate_merge_projection_mode = 'drop';

INSERT INTO summing SELECT number % 10, number FROM numbers(100);

INSERT INTO summing SELECT number % 10, number FROM numbers(100);

OPTIMIZE TABLE summing FINAL;

SELECT count() FROM system.projection_parts WHERE table = 'summing' AND database = currentDatabase() AND active;

SELECT a, v FROM summing WHERE v = 900 ORDER BY a;

DROP TABLE summing;

CREATE TABLE deleted (a UInt32, b UInt32, PROJECTION p (SELECT b, count() GROUP BY b)) ENGINE = MergeTree ORDER BY a SETTINGS lightweight_mutation_projection_mode = 'rebuild';

INSERT INTO deleted SELECT number, number % 4 FROM numbers(1000);

DELETE FROM deleted WHERE a < 100;

SELECT b, count() FROM deleted GROUP BY b ORDER BY b;

DROP TABLE deleted;

-- Rows that have expired are gone from them.
CREATE TABLE expiring (t DateTime('UTC'), a UInt32, PROJECTION p (SELECT a % 5, count() GROUP BY a % 5)) ENGINE = MergeTree ORDER BY a TTL t + INTERVAL 1 DAY;

SYSTEM STOP TTL MERGES expiring;

INSERT INTO expiring SELECT if(number < 100, toDateTime('2020-01-01 00:00:00', 'UTC'), toDateTime('2105-01-01 00:00:00', 'UTC')), number FROM numbers(200);

INSERT INTO expiring SELECT toDateTime('2105-01-01 00:00:00', 'UTC'), number FROM numbers(10);

SYSTEM START TTL MERGES expiring;

OPTIMIZE TABLE expiring FINAL;

SELECT a % 5 AS k, count() FROM expiring GROUP BY k ORDER BY k SETTINGS force_optimize_projection = 1;

DROP TABLE expiring;
