-- Tables of FROM that are named by another one's alias, USING with two names, tuples as several arguments, lambdas as calls.
SELECT * FROM numbers(2) AS a, a AS b ORDER BY ALL;
SELECT * FROM (SELECT 1 AS x) AS t1, t1 AS t2, t2 AS t3;
SELECT * FROM t1 AS t2, (SELECT 1) AS t1;
SELECT count() FROM numbers(3) AS n JOIN n AS m USING (number);
SELECT k, kk, l.k, r.kk FROM (SELECT 1 AS k, 2 AS a) AS l LEFT JOIN (SELECT 4 AS kk, 3 AS b) AS r USING (k AS kk);
SELECT * FROM (SELECT 1 AS k, 2 AS a) AS l FULL JOIN (SELECT 400 AS kk, 3 AS b) AS r USING (k AS kk) ORDER BY ALL;
SELECT k, kk, toTypeName(k) FROM (SELECT 1 AS k) AS l INNER JOIN (SELECT 1::Int64 AS kk) AS r USING (k AS kk);
SELECT * FROM (SELECT 1 AS k) AS l JOIN (SELECT 1 AS k) AS r USING (k + 1);
SELECT number FROM numbers(untuple((1, 2)));
SELECT number FROM numbers(untuple(tuple(2)));
SELECT arrayMap(lambda(tuple(x), x + 1), [1, 2]), arrayMap(lambda((x, y), x + y), [1, 2], [3, 4]);
SELECT * APPLY lambda(tuple(x), x + 1) FROM numbers(3);
SELECT * APPLY lambda(x, 1) FROM numbers(3);
