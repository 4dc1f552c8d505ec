-- Arguments that are errors for some rows count only where they are asked for.
SELECT if(number = 0, 0, intDiv(10, number)) FROM numbers(3);
SELECT number FROM numbers(4) WHERE number != 0 AND intDiv(10, number) > 4 ORDER BY number;
SELECT number FROM numbers(4) WHERE number = 0 OR intDiv(10, number) > 4 ORDER BY number;
SELECT multiIf(number = 0, 0, number = 1, intDiv(10, number), intDiv(20, number)) FROM numbers(4);
SELECT ifNull(if(number % 2, NULL, number), toUInt64(throwIf(number % 2 = 0))) FROM numbers(4);
SELECT coalesce(if(number % 2, NULL, number), toUInt64(throwIf(number % 2 = 0)), 7) FROM numbers(4);
SELECT coalesce(toNullable(number), intDiv(1, 0)) FROM numbers(2);
SELECT ifNull(number, intDiv(1, number)) FROM numbers(2);
SELECT if(s = '', 0, toUInt8(s)) FROM (SELECT arrayJoin(['', '7', '']) AS s);
SELECT if(number > 100, repeat('x', number * 1000000000), 'y') FROM numbers(2);
SELECT arrayMap(x -> if(x = 0, 0, intDiv(10, x)), [0, 1, 2]), arrayFilter(x -> x != 0 AND 10 % x = 0, [0, 1, 3, 5]);
SELECT if(number = 0, [0], arrayMap(x -> intDiv(10, x), [number])) FROM numbers(2);
SELECT if(number = 0, toDateTime64('2020-01-01 00:00:00', 9, 'UTC'), addYears(toDateTime64('2020-01-01 00:00:00', 9, 'UTC'), number * 1000)) FROM numbers(1);
SELECT if(number < 2, number % 3, throwIf(number = 5)) FROM numbers(4);
SELECT intDiv(10, number) FROM numbers(3) WHERE number > 0;
CREATE TABLE days (d Date32, t DateTime64(3, 'UTC'), n UInt32) ENGINE = MergeTree ORDER BY d;
INSERT INTO days SELECT toDate32('1950-01-01') + number * 100, toDateTime64('1950-01-01 00:00:00', 3, 'UTC') + number * 8640000, number FROM numbers(1000);
SELECT count() FROM days WHERE toYear(d) = 2020;
SELECT count(), min(n), max(n) FROM days WHERE toYYYYMM(d) >= 202001;
SELECT count() FROM days WHERE toDate32(t) = '2020-01-09';
SELECT count() FROM days WHERE CAST(d AS Date32) > '2150-01-01';
SELECT toTypeName(materialize(1)), toTypeName((1, 'a')), toTypeName(NULL), toTypeName([number]) FROM numbers(1);

-- Keys, indexes, TTL and partitions compute lazily too.
DROP TABLE IF EXISTS lazy_keys;
CREATE TABLE lazy_keys (x UInt8, d Date, INDEX i if(x = 0, 0, intDiv(60, x)) TYPE minmax GRANULARITY 1) ENGINE = MergeTree
    PARTITION BY if(x = 0, 0, intDiv(2, x)) ORDER BY if(x = 0, 0, intDiv(100, x))
    TTL if(x = 0, d, d + INTERVAL intDiv(200, x) YEAR);
SYSTEM STOP MERGES lazy_keys;
INSERT INTO lazy_keys SELECT number, '2030-01-01' FROM numbers(4);
INSERT INTO lazy_keys SELECT number, '2020-01-01' FROM numbers(2);
SELECT x FROM lazy_keys ORDER BY x, d;
SELECT x FROM lazy_keys PREWHERE x != 0 AND intDiv(10, x) > 4 ORDER BY x;
SELECT x FROM lazy_keys WHERE x != 0 AND intDiv(60, x) = 30;
SYSTEM START MERGES lazy_keys;
OPTIMIZE TABLE lazy_keys FINAL;
SELECT x, d FROM lazy_keys ORDER BY x, d;
DROP TABLE lazy_keys;
