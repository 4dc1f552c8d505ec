-- Settings and formats of statements that remove or empty tables
CREATE TABLE first_table (b Int8, a String, C Int8) ENGINE = Memory;
CREATE TABLE second_table (b Int8) ENGINE = Memory;
INSERT INTO first_table VALUES (1, 'x', 2);
TRUNCATE TABLE first_table SETTINGS max_threads = 1;
SELECT count() FROM first_table;
TRUNCATE TABLE first_table, second_table;
DETACH TABLE first_table, second_table;
-- Columns are shown by name
SHOW COLUMNS FROM first_table;
SHOW FULL COLUMNS FROM first_table LIKE 'b';
DROP TABLE first_table, second_table SETTINGS max_threads = 1;
EXISTS TABLE second_table;
SELECT formatQuerySingleLine('drop table a settings max_threads = 1');
-- Only views that keep rows have a table to put them into
CREATE VIEW v TO somewhere AS SELECT 1;
CREATE OR REPLACE VIEW v TO somewhere AS SELECT 1;
-- PASTE JOIN has no strictness
SELECT * FROM (SELECT 1 AS x) AS l PASTE JOIN (SELECT 2 AS y) AS r;
SELECT * FROM (SELECT 1 AS x) AS l ANY PASTE JOIN (SELECT 2 AS y) AS r;
SELECT * FROM (SELECT 1 AS x) AS l PASTE ALL JOIN (SELECT 2 AS y) AS r;
SELECT * FROM (SELECT 1 AS x) AS l PASTE SEMI JOIN (SELECT 2 AS y) AS r;
-- Commands about caches that need no work
SYSTEM SYNC FILE CACHE;
SYSTEM UNLOAD PRIMARY KEY;
