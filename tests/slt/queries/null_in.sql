CREATE TABLE n (x Nullable(Int32), y Nullable(String), z Int32) ENGINE = Memory;
INSERT INTO n VALUES (1, 'a', 1), (NULL, 'b', 2), (3, NULL, 3), (NULL, NULL, 4);
SELECT z FROM n WHERE x IN (1, NULL) ORDER BY z SETTINGS transform_null_in = 1;
SELECT z FROM n WHERE x IN (1, NULL) ORDER BY z;
SELECT z FROM n WHERE x NOT IN (1, NULL) ORDER BY z SETTINGS transform_null_in = 1;
SELECT z FROM n WHERE (x, y) IN ((1, 'a'), (NULL, NULL)) ORDER BY z SETTINGS transform_null_in = 1;
SELECT z FROM n WHERE (x, z) IN (SELECT NULL, 2 UNION ALL SELECT 3, 3) ORDER BY z SETTINGS transform_null_in = 1;
SELECT z FROM n WHERE x IN (SELECT x FROM n WHERE z > 1) ORDER BY z SETTINGS transform_null_in = 1;
SELECT z FROM n WHERE x IN NULL ORDER BY z SETTINGS transform_null_in = 1;
SELECT z FROM n WHERE x NOT IN (SELECT x FROM n WHERE z > 1) ORDER BY z SETTINGS transform_null_in = 1;
SELECT NULL IN (NULL), NULL IN (1), 1 IN (NULL), (1, NULL) IN ((1, NULL)) SETTINGS transform_null_in = 1;
SELECT nullIn(NULL, tuple(NULL)), nullIn(NULL, tuple(1)), nullIn(1, tuple(NULL)), notNullIn(NULL, tuple(1, NULL)), notNullIn(NULL, tuple(1));
SELECT z, nullIn(x, (1, NULL)), notNullIn(x, (3)) FROM n ORDER BY z;
SELECT z FROM n WHERE y IN ('a', NULL) ORDER BY z SETTINGS transform_null_in = 1;
SELECT toTypeName(x IN (1, NULL)), toTypeName(x IN (1)) FROM n LIMIT 1 SETTINGS transform_null_in = 1;
SELECT x IN (1, 2), y IN (SELECT 'a') FROM n ORDER BY z SETTINGS transform_null_in = 1;
SELECT count() FROM n WHERE toLowCardinality(y) IN ('a', NULL) SETTINGS transform_null_in = 1;
SELECT z IN (1, NULL) FROM n ORDER BY z SETTINGS transform_null_in = 1;
SELECT [] IN (SELECT [] WHERE 0), [1] IN (SELECT [1]), [1] IN (SELECT [1] WHERE 0), [1] IN ([1], [2]), [1] IN [[1]], [] IN ([], [1])
