-- long
SELECT count(), sum(c), sum(s), max(a) FROM (SELECT number % 300001 AS k, toString(number % 7) AS t, count() AS c, sum(number) AS s, max(number) AS a FROM numbers_mt(500000) GROUP BY k, t);
SELECT count(), sum(c), sum(cityHash64(k, c)) FROM (SELECT number * 7919 % 400009 AS k, count() AS c FROM numbers_mt(700000) GROUP BY k);
SELECT count(), sum(c), sum(cityHash64(k, c)) FROM (SELECT concat('https://example.com/', toString(number * 7919 % 300007)) AS k, count() AS c FROM numbers_mt(400000) GROUP BY k);
SELECT count(), sum(c), sum(cityHash64(k, u, c)) FROM (SELECT if(number % 3 = 0, NULL, repeat('x', number % 19)) AS k, toNullable(number % 200003) AS u, count() AS c FROM numbers_mt(400000) GROUP BY k, u);
SELECT count(), sum(c), sum(cityHash64(k, u, c)) FROM (SELECT if(number % 3 = 0, NULL, repeat('x', number % 19)) AS k, toNullable(number % 200003) AS u, count() AS c FROM numbers_mt(400000) GROUP BY k, u) SETTINGS max_bytes_before_external_group_by = 4000000;
SELECT count(), sum(c), sum(cityHash64(k, c)) FROM (SELECT number * 7919 % 400009 AS k, count() AS c FROM numbers_mt(700000) GROUP BY k) SETTINGS max_bytes_before_external_group_by = 4000000;
SELECT count(), sum(c) FROM (SELECT number / 3 AS k, count() AS c FROM numbers_mt(300000) GROUP BY k) SETTINGS max_bytes_before_external_group_by = 4000000;
SELECT count(), sum(c) FROM (SELECT [number % 150001] AS k, count() AS c FROM numbers_mt(300000) GROUP BY k) SETTINGS max_bytes_before_external_group_by = 4000000;
SELECT count(), sum(a) FROM (SELECT number % 200003 AS k, any(number) AS a FROM numbers(500000) GROUP BY k) SETTINGS max_threads = 1;
SELECT count() FROM (SELECT DISTINCT number * 31 % 250007 AS k, toString(number % 3) FROM numbers_mt(600000));
SELECT k, c FROM (SELECT number AS k, count() AS c FROM numbers_mt(200000) GROUP BY k WITH TOTALS) ORDER BY k LIMIT 2;
SELECT count(), sum(u) FROM (SELECT number % 100003 AS k, uniqExact(number % 1000) AS u FROM numbers_mt(300000) GROUP BY k);
SELECT count(), sum(length(m)) FROM (SELECT number AS k, min(toString(number)) AS m FROM numbers_mt(200000) GROUP BY k);
SELECT count(), sum(c) FROM (SELECT number % 100003 AS k, number % 3 AS t, count() AS c FROM numbers_mt(400000) GROUP BY k, t WITH ROLLUP);
SELECT count() FROM (SELECT number % 199999 AS k, count() AS c FROM numbers_mt(400000) GROUP BY k HAVING c > 2);
SELECT count(), sum(c) FROM (SELECT intDiv(number, 70000) * 100000 + if(number < 140000, number, number % 5) AS k, count() AS c FROM numbers_mt(700000) GROUP BY k);
SELECT groupArray(k) FROM (SELECT toString(number * 7919 % 100003) AS k FROM numbers_mt(300000) ORDER BY k DESC LIMIT 7);
SELECT groupArray(k), groupArray(j) FROM (SELECT (number * 7919 % 100003)::Int32 - 50000 AS k, number AS j FROM numbers_mt(300000) ORDER BY k, j LIMIT 7);
SELECT groupArray(hex(k)), groupArray(number) FROM (SELECT if(number % 5 = 0, '', char(number % 3, number % 100)) AS k, number FROM numbers_mt(200000) ORDER BY k DESC, number LIMIT 9);
SELECT groupArray(k), groupArray(number) FROM (SELECT toDateTime('2024-01-01 00:00:00', 'UTC') + number % 1000 AS k, number FROM numbers_mt(200000) ORDER BY k DESC, number LIMIT 20000, 3);
SELECT countIf(has([1, 5, 199999], number)), countIf(has(range(0, 100000, 7), number)), countIf(NOT has(['1', '22', '333'], toString(number))) FROM numbers(200000);
SELECT count() FROM numbers(200000) WHERE has([3, 4, 5, 4], number);
SELECT count() FROM numbers(200000) WHERE has([3, 4, 5], number) SETTINGS optimize_rewrite_has_to_in = 0;
-- Keys of several columns of which some rows have few bytes and others many, in one block.
SELECT count(), sum(c), sum(cityHash64(s, k, n, c)), max(s) FROM (SELECT if(number % 10 = 0, concat('a rather long key ', toString(number % 700)), if(number % 3 = 0, '', toString(number % 5))) AS s, toUInt16(number % 300) AS k, if(number % 7 = 0, NULL, toUInt8(number % 11)) AS n, count() AS c FROM numbers_mt(300000) GROUP BY s, k, n);
SELECT s, k, count() AS c FROM (SELECT if(number % 1000 = 0, repeat('x', number % 20), toString(number % 4)) AS s, number % 3 AS k FROM numbers(200000)) GROUP BY s, k ORDER BY c DESC, s, k LIMIT 20;
SELECT s, t, count() AS c FROM (SELECT if(number % 2 = 0, repeat('y', number % 17), '') AS s, repeat('z', number % 5) AS t FROM numbers(100000)) GROUP BY s, t ORDER BY s, t;
-- Rows that are put aside before their groups are looked up, with keys of 1 to 5 words, strings, and what is neither.
SELECT count(), sum(c), sum(cityHash64(k, c, s)) FROM (SELECT toUInt32(number * 7919 % 900001) AS k, count() AS c, sum(number) AS s FROM numbers_mt(1500000) GROUP BY k);
SELECT count(), sum(c), sum(cityHash64(k, c, s, m)) FROM (SELECT (number * 7919 % 900001)::Int64 - 450000 AS k, count() AS c, sum(number) AS s, avg(number % 100) AS m FROM numbers_mt(1500000) GROUP BY k);
SELECT count(), sum(c), sum(cityHash64(k, i, c, s)) FROM (SELECT number * 7919 % 900001 AS k, -toInt32(number % 2) AS i, count() AS c, sum(toInt16(number % 50)) AS s FROM numbers_mt(1500000) GROUP BY k, i);
SELECT count(), sum(c), sum(cityHash64(k, u, c)), max(u) FROM (SELECT number * 7919 % 900001 AS k, toUUID(concat('00000000-0000-0000-0000-', leftPad(hex(k), 12, '0'))) AS u, count() AS c FROM numbers_mt(1000000) GROUP BY k, u);
SELECT count(), sum(c), sum(cityHash64(n, i, c)) FROM (SELECT if(number % 9 = 0, NULL, number * 7919 % 900001) AS n, toNullable(toInt32(number % 3)) AS i, count() AS c FROM numbers_mt(1000000) GROUP BY n, i);
SELECT count(), sum(c), sum(cityHash64(k, c, a, b)) FROM (SELECT if(number % 3 = 0, toString(number % 500009), concat('https://example.com/', toString(number % 500009))) AS k, count() AS c, min(number) AS a, max(if(number % 5 = 0, '', toString(number))) AS b FROM numbers_mt(1000000) GROUP BY k);
SELECT count(), sum(c), sum(cityHash64(k, t, m, c, u)) FROM (SELECT number % 500009 AS k, if(number % 4 = 0, concat('a long phrase ', toString(number % 500009)), '') AS t, toMinute(toDateTime(number % 500009, 'UTC')) AS m, count() AS c, uniqExact(number % 2) AS u FROM numbers_mt(1000000) GROUP BY k, t, m);
SELECT count(), sum(c), sum(cityHash64(f, c)) FROM (SELECT (number % 500009) / 4 AS f, count() AS c FROM numbers_mt(1000000) GROUP BY f);
SELECT count(), sum(c), sum(cityHash64(a, c)) FROM (SELECT [number % 300007, 1] AS a, count() AS c FROM numbers_mt(600000) GROUP BY a);
SELECT sum(k), sum(c), count() FROM (SELECT number % 500009 AS k, count() AS c FROM numbers_mt(1000000) GROUP BY k WITH TOTALS);
SELECT count(), sum(c) FROM (SELECT number % 300007 AS k, number % 2 AS t, countIf(number % 3 = 0) AS c FROM numbers_mt(600000) GROUP BY GROUPING SETS ((k, t), (t), ()));
SELECT count(), sum(c), sum(cityHash64(k, c)) FROM (SELECT number * 7919 % 900001 AS k, count() AS c FROM numbers_mt(1500000) GROUP BY k) SETTINGS max_bytes_before_external_group_by = 8000000;
SELECT count(), sum(c), sum(cityHash64(k, c)) FROM (SELECT concat('https://example.com/', toString(number * 7919 % 400009)) AS k, count() AS c FROM numbers_mt(800000) GROUP BY k) SETTINGS max_bytes_before_external_group_by = 16000000;
-- Many rows of few groups, once the first ones are past.
SELECT count(), sum(c) FROM (SELECT if(number < 70000, number, number % 1000) AS k, count() AS c FROM numbers_mt(2000000) GROUP BY k);
SELECT k, any(number), count() FROM (SELECT number, intHash64(number % 200000) AS k FROM numbers(900000)) GROUP BY k ORDER BY k LIMIT 5 SETTINGS max_threads = 1;
