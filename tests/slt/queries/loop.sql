-- The table function loop: the rows of a table or of a function, again and again.
SELECT * FROM loop(numbers(3)) LIMIT 7;
SELECT count(), sum(number) FROM (SELECT number FROM loop(numbers(1000)) LIMIT 123456) SETTINGS max_threads = 1;
CREATE TABLE looped (a Int32, b String) ENGINE = MergeTree ORDER BY a;
INSERT INTO looped VALUES (1, 'x'), (2, 'y');
SELECT b, a FROM loop(looped) LIMIT 5;
SELECT a, count() FROM (SELECT a FROM loop(default, looped) LIMIT 8) GROUP BY a ORDER BY a;
SELECT count() FROM (SELECT a + 1 FROM loop(default.looped) WHERE a > 1 LIMIT 4);
SELECT t.b, n.number FROM (SELECT * FROM loop(looped) LIMIT 4) AS t JOIN numbers(2) AS n ON t.a = n.number + 1 ORDER BY ALL;
DESCRIBE TABLE loop(looped);
CREATE VIEW looped_view AS SELECT a * 10 AS c FROM looped;
SELECT c FROM loop(looped_view) LIMIT 3;
SELECT * FROM loop(loop(numbers(2))) LIMIT 3;
-- Without a row it gives up.
SELECT * FROM loop(numbers(0)) LIMIT 1;
SELECT * FROM loop(no_such_table) LIMIT 1;
SELECT * FROM loop() LIMIT 1;
SELECT * FROM loop(1, 2, 3) LIMIT 1;
SELECT * FROM loop('looped') LIMIT 1;
