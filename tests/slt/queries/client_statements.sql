-- What clients and other servers write.
SELECT system.one.dummy, one.dummy, t.dummy FROM system.one AS t;
SELECT system.one.* FROM system.one AS t;
SELECT one.dummy + 1 FROM system.one AS t WHERE system.one.dummy = 0 ORDER BY one.dummy;
SELECT t.one.dummy FROM system.one AS t;
SELECT system.one.dummy FROM (SELECT * FROM system.one) AS t;
SELECT one.number FROM system.one AS t CROSS JOIN (SELECT 7 AS number) AS one;
CREATE TABLE client_tuple (a Int32, b Tuple(x UInt8, y String), c Array(UInt8), d Nullable(UInt8)) ENGINE = MergeTree ORDER BY (tuple());
INSERT INTO client_tuple VALUES (1, (2, 'z'), [1, 2], NULL);
SELECT `b.y`, `c.size0`, `d.null`, t.`b.x`, client_tuple.`b.y` FROM client_tuple AS t;
SELECT `b.no` FROM client_tuple;
SELECT sorting_key FROM system.tables WHERE name = 'client_tuple' AND database = currentDatabase();
DROP TABLE client_tuple;
CREATE TABLE client_key (a Int32, b Int32) ENGINE = MergeTree ORDER BY (tuple(a, b));
SELECT sorting_key FROM system.tables WHERE name = 'client_key' AND database = currentDatabase();
DROP TABLE client_key;
