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
-- generateRandom without a structure has the columns that the INSERT writes
CREATE TABLE made (n UInt8, s String, l Array(UInt8)) ENGINE = Memory;
INSERT INTO made SELECT * FROM generateRandom(11) LIMIT 2;
INSERT INTO made SELECT * FROM generateRandom(11, 3, 2) LIMIT 2;
INSERT INTO made (s) SELECT * FROM generateRandom(11) LIMIT 1;
INSERT INTO made (s, n) SELECT q, r FROM generateRandom(11) LIMIT 1;
INSERT INTO made SELECT *, [] FROM generateRandom(11) LIMIT 1;
SELECT * FROM made ORDER BY s, n, l;
INSERT INTO made SELECT q + 1, r FROM generateRandom(11) LIMIT 1;
INSERT INTO made SELECT * FROM generateRandom(11) LIMIT 1 SETTINGS use_structure_from_insertion_table_in_table_functions = 0;
SELECT count() FROM (DESCRIBE TABLE generateRandom(17));
SELECT * FROM generateRandom('a UInt8', 1, 2, 3, 4);
SELECT * FROM generateRandom(1, 2, 3, 4);
DESCRIBE TABLE generateRandom('a UInt8', 'seed');
DESCRIBE TABLE generateRandom('a UInt8', NULL);
DESCRIBE TABLE generateRandom('a UInt8', 1, NULL);
DESCRIBE TABLE null();
DESCRIBE TABLE null('auto');
SELECT * FROM null();
INSERT INTO made SELECT * FROM null();
SELECT * FROM null('a UInt8', 2);
SELECT * FROM numbers(3, SETTINGS max_threads = 1);
DROP TABLE made;
-- limit and offset of a subquery's settings are the subquery's
SELECT count(), (SELECT count() FROM (SELECT 1 FROM numbers(7) SETTINGS limit = 3)) FROM numbers(5);
SELECT number FROM (SELECT number FROM numbers(9) SETTINGS limit = 2, offset = 5) ORDER BY number;
SELECT number FROM numbers(9) WHERE number IN (SELECT number FROM numbers(9) SETTINGS limit = 2) ORDER BY number;
SELECT number FROM (SELECT number FROM numbers(9) SETTINGS limit = 4) ORDER BY number SETTINGS limit = 1, offset = 2;
SELECT sum(number) FROM (SELECT number FROM numbers(5) SETTINGS limit = 2 UNION ALL SELECT number FROM numbers(3));
SELECT count() FROM (SELECT number FROM numbers(5) UNION ALL SELECT number FROM numbers(3) SETTINGS limit = 6);
SELECT count() FROM (SELECT number FROM numbers(5)) SETTINGS limit = 1;
WITH few AS (SELECT number FROM numbers(9) SETTINGS limit = 3) SELECT count() FROM few;
-- Results that the query cache would not take
SELECT count(now()) SETTINGS use_query_cache = 1;
SELECT count(now()) SETTINGS use_query_cache = 1, query_cache_nondeterministic_function_handling = 'ignore';
SELECT count(now()) SETTINGS use_query_cache = 1, enable_writes_to_query_cache = 0;
SELECT 1 FROM system.one SETTINGS use_query_cache = 1;
SELECT 1 FROM system.one SETTINGS use_query_cache = 1, query_cache_system_table_handling = 'save';
SELECT count() FROM (SELECT randConstant()) SETTINGS use_query_cache = 1;
SELECT arrayJoin([1, 2]) SETTINGS use_query_cache = 1;
SELECT 1 + 1 SETTINGS use_query_cache = 1;
SELECT upper(nosuch), now() SETTINGS use_query_cache = 1;
SELECT 1 SETTINGS use_query_cache = 1, query_cache_system_table_handling = 'perhaps';
-- Values of settings that are none of their types
SET compatibility = NULL;
SET compatibility = 27;
SELECT 5 SETTINGS compatibility = 'soon';
SELECT 5 SETTINGS compatibility = '26.9';
SET join_algorithm = 2;
SET max_threads = NULL;
SET log_comment = NULL;
SET additional_table_filters = 3;
SET enable_analyzer = 0;
SELECT 1 SETTINGS allow_experimental_analyzer = 0;
SELECT count() FROM numbers(2) SETTINGS max_bytes_ratio_before_external_group_by = 1.5;
SELECT 1 SETTINGS max_bytes_ratio_before_external_group_by = 1.5;
SELECT number FROM numbers(2) ORDER BY -number SETTINGS max_bytes_ratio_before_external_sort = -1;
-- Statements without rows take output clauses as well
CREATE TABLE told (a UInt8, b UInt8) ENGINE = MergeTree ORDER BY a FORMAT Null;
CREATE TABLE told2 ENGINE = Memory AS SELECT 1 AS a FORMAT Null;
CREATE VIEW told3 AS SELECT 1 AS a FORMAT Null;
RENAME TABLE told2 TO told4 FORMAT Null;
CREATE FUNCTION told5 AS x -> x FORMAT Null;
SELECT formatQuerySingleLine('create table t (a Int8) engine = Memory format Null');
SELECT formatQuerySingleLine('rename table a to b format Null');
-- Indexes as other databases make them
CREATE UNIQUE INDEX one ON told (b) TYPE minmax;
CREATE INDEX two ON told (b);
CREATE INDEX three ON told (a DESC, b ASC) TYPE minmax GRANULARITY 2;
CREATE INDEX four ON told (a + b) TYPE minmax;
SELECT name, expr, granularity FROM system.data_skipping_indices WHERE table = 'told' AND database = currentDatabase() ORDER BY name;
-- Names in other quotes
SELECT create_table_query LIKE '%`told`%' FROM system.tables WHERE name = 'told' AND database = currentDatabase();
CREATE TABLE quoted (a UInt8, `b c` Array(String) DEFAULT [toString(a)]) ENGINE = Memory;
SHOW CREATE TABLE quoted;
SHOW CREATE TABLE quoted SETTINGS show_create_query_identifier_quoting_rule = 'always';
SHOW CREATE TABLE quoted SETTINGS show_create_query_identifier_quoting_style = 'DoubleQuotes';
SHOW CREATE TABLE quoted SETTINGS show_create_query_identifier_quoting_rule = 'always', show_create_query_identifier_quoting_style = 'DoubleQuotes';
SHOW CREATE TABLE quoted SETTINGS show_create_query_identifier_quoting_style = 'Brackets';
DROP TABLE quoted;
-- Several statements at once
CREATE TABLE left_one (a UInt8) ENGINE = Memory PARALLEL WITH CREATE TABLE right_one (a UInt8) ENGINE = Memory;
INSERT INTO left_one SELECT 4 PARALLEL WITH INSERT INTO right_one SELECT 5;
SELECT l.a, r.a FROM left_one AS l, right_one AS r;
SELECT 1 PARALLEL WITH SELECT 2;
DROP TABLE left_one PARALLEL WITH DROP TABLE right_one;
EXISTS right_one;
-- Dictionaries change their names
CREATE TABLE words (k UInt64, w String) ENGINE = Memory;
INSERT INTO words VALUES (1, 'one'), (2, 'two');
CREATE DICTIONARY up (k UInt64, w String,) PRIMARY KEY k SOURCE(CLICKHOUSE(TABLE 'words')) LAYOUT(FLAT()) LIFETIME(0);
CREATE DICTIONARY down (k UInt64, w String DEFAULT 'none') PRIMARY KEY k SOURCE(NULL()) LAYOUT(HASHED()) LIFETIME(0);
EXCHANGE DICTIONARIES up AND down;
SELECT dictGet('up', 'w', toUInt64(2)), dictGet('down', 'w', toUInt64(2));
EXCHANGE DICTIONARIES up AND nowhere;
-- What others depend on stays
DROP TABLE words;
RENAME TABLE words TO phrases;
DROP DICTIONARY down;
CREATE DICTIONARY asking (k UInt64, w String) PRIMARY KEY k SOURCE(CLICKHOUSE(QUERY 'SELECT k, w FROM words')) LAYOUT(FLAT()) LIFETIME(0);
DROP TABLE words;
DROP DICTIONARY asking;
CREATE VIEW reads AS SELECT k FROM words;
DROP TABLE words SETTINGS check_referential_table_dependencies = 1;
DROP VIEW reads;
CREATE MATERIALIZED VIEW writes TO words AS SELECT a AS k, 'x' AS w FROM told;
DROP TABLE words SETTINGS check_referential_table_dependencies = 1;
DROP TABLE told SETTINGS check_referential_table_dependencies = 1;
DROP TABLE writes;
DROP TABLE words SETTINGS check_referential_table_dependencies = 1;
DROP DICTIONARY up;
-- Tables that nothing can be put into
CREATE TABLE closed (a UInt8 MATERIALIZED 1) ENGINE = Memory;
CREATE TABLE closed (a UInt8 MATERIALIZED 1, b UInt8 ALIAS a) ENGINE = MergeTree ORDER BY a;
CREATE TABLE open (a UInt8 MATERIALIZED 1, b UInt8 EPHEMERAL) ENGINE = Memory;
CREATE TABLE logged (d Array(JSON)) ENGINE = Log;
CREATE TABLE logged (d Variant(UInt8, String)) ENGINE = TinyLog;
ATTACH TEMPORARY TABLE nothing;
-- Projections would keep rows that are taken away
CREATE TABLE kept (a UInt8, PROJECTION p (SELECT a ORDER BY a)) ENGINE = MergeTree ORDER BY a;
OPTIMIZE TABLE kept DEDUPLICATE;
ALTER TABLE kept MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
OPTIMIZE TABLE kept FINAL DEDUPLICATE;
-- Parts that move at once
CREATE TABLE from_here (a UInt8) ENGINE = MergeTree ORDER BY a;
CREATE TABLE to_there (a UInt8) ENGINE = MergeTree ORDER BY a;
SYSTEM STOP MERGES from_here;
INSERT INTO from_here VALUES (1);
INSERT INTO from_here VALUES (2);
ALTER TABLE from_here MOVE PARTITION tuple() TO TABLE to_there SETTINGS max_parts_to_move = 1;
ALTER TABLE from_here MOVE PARTITION tuple() TO TABLE to_there SETTINGS max_parts_to_move = 2;
SELECT count() FROM to_there;
-- Tables that are not there have no columns
SHOW COLUMNS FROM nowhere;
SHOW COLUMNS FROM nowhere FROM no_database;
SHOW INDEX FROM nowhere;
-- WITH RECURSIVE may name values
WITH RECURSIVE 3 AS most, steps AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM steps WHERE a < most) SELECT a FROM steps;
SELECT * FROM (EXPLAIN AST CREATE TABLE t (a UInt8) ENGINE = Memory);
CREATE USER nobody_here GRANTEES {others:Identifier};
-- Columns of system tables
CREATE VIEW asked AS SELECT {least:UInt8} AS a, {names:Array(String)} AS b;
SELECT parameterized_view_parameters FROM system.tables WHERE name = 'asked' AND database = currentDatabase();
CREATE MATERIALIZED VIEW filled TO from_here AS SELECT a FROM to_there;
SELECT target_table, unique_key, definer FROM system.tables WHERE name = 'filled' AND database = currentDatabase();
CREATE MATERIALIZED VIEW keyed (a UInt8, b UInt8) ENGINE = MergeTree PRIMARY KEY a ORDER BY (a, b) AS SELECT a, a + 1 AS b FROM to_there;
CREATE MATERIALIZED VIEW ordered (a UInt8) ENGINE = MergeTree ORDER BY a AS SELECT a FROM to_there;
SELECT name, primary_key, sorting_key FROM system.tables WHERE name IN ('keyed', 'ordered') AND database = currentDatabase() ORDER BY name;
SELECT skipping_indices_types, active_on_fly_data_mutations FROM system.tables WHERE name = 'told' AND database = currentDatabase();
SELECT name, is_tty_friendly, content_type, supports_random_access, has_schema_inference, has_external_schema, supports_append, supports_subsets_of_columns FROM system.formats WHERE name IN ('CSV', 'CSVWithNames', 'JSON', 'JSONEachRow', 'JSONCompactEachRow', 'LineAsString', 'Native', 'Parquet', 'Pretty', 'RowBinary', 'TSKV', 'TSV', 'XML') ORDER BY name;
CREATE TABLE nested (a UInt8, n Nullable(UInt8), m Map(String, UInt8), t Tuple(x UInt8, y Array(UInt8)), PROJECTION p (SELECT a ORDER BY n)) ENGINE = MergeTree ORDER BY a SETTINGS allow_nullable_key = 1;
INSERT INTO nested (a) VALUES (1);
SELECT column, subcolumns.names, subcolumns.types FROM system.parts_columns WHERE table = 'nested' AND database = currentDatabase() ORDER BY column;
SELECT projections, creation_tid, removal_tid, creation_csn, removal_csn FROM system.parts WHERE table = 'nested' AND database = currentDatabase();
