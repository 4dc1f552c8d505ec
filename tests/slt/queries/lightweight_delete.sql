-- DELETE FROM of few rows and of many, of parts with and without keys, and what is done with the parts afterwards.

SET mutations_sync = 2;

SET alter_sync = 2;

CREATE TABLE deleting (a UInt32, b UInt32, c Nullable(String), p UInt8) ENGINE = MergeTree PARTITION BY p ORDER BY a SETTINGS index_granularity = 64;

INSERT INTO deleting SELECT number, number % 100, if(number % 7 = 0, NULL, toString(number)), number % 3 FROM numbers(6000);

INSERT INTO deleting SELECT number + 6000, number % 50, toString(number), number % 2 FROM numbers(2000);

DELETE FROM deleting WHERE a = 1234;

SELECT count(), sum(a), min(a), max(a) FROM deleting;

SELECT a FROM deleting WHERE a BETWEEN 1230 AND 1237 ORDER BY a;

DELETE FROM deleting WHERE a IN (0, 7999, 5000);

SELECT count(), sum(a), min(a), max(a) FROM deleting;

SELECT count() FROM deleting WHERE a < 10;

DELETE FROM deleting WHERE c = '77';

DELETE FROM deleting WHERE c IS NULL AND a < 100;

DELETE FROM deleting WHERE c > 'zzz';

SELECT count(), countIf(c IS NULL), sum(a) FROM deleting;

SELECT p, count(), sum(b) FROM deleting GROUP BY p ORDER BY p;

SELECT any(p), sum(has_lightweight_delete) > 0 FROM (SELECT 1 AS p, has_lightweight_delete FROM system.parts WHERE table = 'deleting' AND database = currentDatabase() AND active);

DELETE FROM deleting IN PARTITION 1 WHERE a > 7000;

SELECT p, count(), sum(b) FROM deleting GROUP BY p ORDER BY p;

ALTER TABLE deleting UPDATE b = 1000 WHERE a < 2000;

SELECT p, count(), sum(b) FROM deleting GROUP BY p ORDER BY p;

DELETE FROM deleting WHERE a = 2000 OR a = 2001 OR a = 3;

ALTER TABLE deleting DETACH PARTITION 2;

SELECT count() FROM deleting;

ALTER TABLE deleting ATTACH PARTITION 2;

SELECT p, count(), sum(b) FROM deleting GROUP BY p ORDER BY p;

DELETE FROM deleting WHERE a = 2003 OR a = 2006 OR a = 2009 OR a = 4000;

CREATE TABLE deleting_copy AS deleting;

ALTER TABLE deleting_copy ATTACH PARTITION 0 FROM deleting;

ALTER TABLE deleting_copy REPLACE PARTITION 1 FROM deleting;

SELECT p, count(), sum(b) FROM deleting_copy GROUP BY p ORDER BY p;

ALTER TABLE deleting MOVE PARTITION 2 TO TABLE deleting_copy;

SELECT p, count(), sum(b) FROM deleting_copy GROUP BY p ORDER BY p;

SELECT p, count(), sum(b) FROM deleting GROUP BY p ORDER BY p;

DELETE FROM deleting_copy WHERE a % 2 = 0;

SELECT p, count(), sum(b) FROM deleting_copy GROUP BY p ORDER BY p;

ALTER TABLE deleting_copy APPLY DELETED MASK;

SELECT p, count(), sum(b) FROM deleting_copy GROUP BY p ORDER BY p;

SELECT sum(has_lightweight_delete), sum(rows) FROM system.parts WHERE table = 'deleting_copy' AND database = currentDatabase() AND active;

DELETE FROM deleting WHERE a < 500;

OPTIMIZE TABLE deleting FINAL;

SELECT sum(has_lightweight_delete), sum(rows) FROM system.parts WHERE table = 'deleting' AND database = currentDatabase() AND active;

ALTER TABLE deleting ADD COLUMN d UInt32 DEFAULT a * 2, MODIFY COLUMN b UInt64;

DELETE FROM deleting WHERE d = 3000;

SELECT count(), sum(d) FROM deleting;

DELETE FROM deleting WHERE nosuch = 1;

DELETE FROM deleting WHERE 1;

SELECT count() FROM deleting;

DROP TABLE deleting;

DROP TABLE deleting_copy;

CREATE TABLE replaced (k UInt32, v UInt32, s String) ENGINE = ReplacingMergeTree(v) ORDER BY k;

INSERT INTO replaced SELECT number, 1, 'old' FROM numbers(1000);

INSERT INTO replaced SELECT number, 2, 'new' FROM numbers(500);

DELETE FROM replaced WHERE k = 77 AND v = 2;

SELECT k, v, s FROM replaced FINAL WHERE k IN (76, 77, 78) ORDER BY k;

DELETE FROM replaced WHERE s = 'old' AND k % 100 = 3;

SELECT count(), sum(v) FROM replaced FINAL;

OPTIMIZE TABLE replaced FINAL;

SELECT count(), sum(v) FROM replaced;

DROP TABLE replaced;

CREATE TABLE offsets (a UInt32, s String) ENGINE = MergeTree ORDER BY a;

INSERT INTO offsets SELECT number * 2, toString(number) FROM numbers(20);

SELECT a, _part_offset FROM offsets WHERE _part_offset > 15 ORDER BY a;

DELETE FROM offsets WHERE _part_offset = 17;

SELECT a, _part_offset, _row_exists FROM offsets WHERE a > 30 ORDER BY a;

ALTER TABLE offsets ADD COLUMN z UInt8 DEFAULT a % 5;

SELECT z, _part_offset FROM offsets WHERE a > 32 ORDER BY a;

DROP TABLE offsets;
