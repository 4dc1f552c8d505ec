-- Keys of all lengths in the blocks of one sort: of short ones alone, of long ones, of both.
SELECT s FROM (SELECT if(number < 8192, toString(number % 97 + 10), concat('1', toString(number), 'xxxxxxxxxxxx')) AS s FROM numbers_mt(100000)) ORDER BY s LIMIT 9100, 20;
SELECT count(), uniqExact(s), max(s) FROM (SELECT if(number < 8192, toString(number % 97 + 10), concat('1', toString(number), 'xxxxxxxxxxxx')) AS s FROM numbers_mt(400000) ORDER BY s LIMIT 3000);
SELECT count(), uniqExact(s), min(s) FROM (SELECT if(number < 40960, toString(number % 97 + 10), concat('9', toString(number), 'xxxxxxxxxxxx')) AS s FROM numbers_mt(400000) ORDER BY s DESC LIMIT 3000);
SELECT count(), uniqExact(s), max(s) FROM (SELECT if(number < 327680, toString(number % 97 + 10), concat('0', toString(number), 'xxxxxxxxxxxx')) AS s FROM numbers_mt(400000) ORDER BY s LIMIT 3000);
SELECT n, s FROM (SELECT if(number % 3 = 0, NULL, number % 5) AS n, if(number < 49152, concat('z', toString(number % 7)), concat('a long string ', toString(number % 1000))) AS s FROM numbers_mt(98304)) ORDER BY n NULLS FIRST, s LIMIT 16380, 8;
SELECT n, s FROM (SELECT if(number % 3 = 0, NULL, number / 4 % 5) AS n, if(number < 49152, concat('z', toString(number % 7)), concat('a long string ', toString(number % 1000))) AS s FROM numbers_mt(98304)) ORDER BY n DESC, s DESC LIMIT 81915, 8;
-- Many rows, each place of the order told by a number that the rows carry.
SELECT count(), countIf(n != before + 1) FROM (SELECT n, lagInFrame(n, 1, -1) OVER (ORDER BY x, n) AS before FROM (SELECT intDiv(number, 3) AS n, toFloat64(number) * 0.5 AS x FROM numbers(300000) WHERE number % 3 = 0));
SELECT sum(toUInt64(k < before)), count() FROM (SELECT k, lagInFrame(k) OVER (ORDER BY k, v DESC) AS before FROM (SELECT intHash32(number) % 5000 AS k, intHash64(number) AS v FROM numbers(300000)));
SELECT number FROM numbers(300000) ORDER BY bitReverse(toUInt32(number)) DESC, number LIMIT 150000, 5;
SELECT number, toString(number % 7) FROM numbers(300000) ORDER BY intHash32(number) % 3, toNullable(number) DESC LIMIT 100000, 5;
SELECT a, b, n FROM (SELECT if(number % 5 = 0, NULL, toInt64(number % 11)) AS a, if(number % 3 = 0, nan, number % 4 - 1.5) AS b, number AS n FROM numbers(300)) ORDER BY a DESC NULLS FIRST, b NULLS FIRST, n LIMIT 50;
SELECT a, b, n FROM (SELECT if(number % 5 = 0, NULL, number % 4 - 1.5) AS a, if(number % 3 = 0, -0.0, if(number % 3 = 1, 0.0, 1.0)) AS b, number AS n FROM numbers(60)) ORDER BY b DESC, a, n;
-- NULL and NaN within arrays, tuples and maps.
SELECT arrayJoin([[nan], [1.], [2.], []]) AS a ORDER BY a;
SELECT arrayJoin([[nan], [1.], [2.], []]) AS a ORDER BY a DESC;
SELECT arrayJoin([[nan], [1.], [2.]]) AS a ORDER BY a NULLS FIRST;
SELECT arrayJoin([[nan], [1.], [2.]]) AS a ORDER BY a DESC NULLS FIRST;
SELECT arrayJoin([[NULL], [1], [2]]) AS a ORDER BY a DESC;
SELECT arrayJoin([[NULL], [1], [2]]) AS a ORDER BY a NULLS FIRST;
SELECT arrayJoin([(NULL, 1), (1, 1), (2, 1)]) AS a ORDER BY a DESC;
SELECT arrayJoin([(nan, 1), (1., 1), (2., 1)]) AS a ORDER BY a NULLS FIRST;
SELECT arrayJoin([[(nan, 1)], [(1., 1)], [(2., 1)]]) AS a ORDER BY a DESC;
SELECT arrayJoin([([NULL], 1), ([1.], 1), ([2.], 1)]) AS a ORDER BY a DESC;
SELECT arrayJoin([map('a', nan), map('a', 1.), map('a', 2.)]) AS a ORDER BY a DESC;
SELECT arrayJoin([map('a', nan), map('a', 1.), map('a', 2.)]) AS a ORDER BY a NULLS FIRST;
SELECT arrayJoin([[1., nan], [1., 3.], [1., 2.], [1.]]) AS a ORDER BY a DESC LIMIT 3;
SELECT arraySort([[nan], [1.], [2.]]), arrayReverseSort([[nan], [1.], [2.]]), arrayReverseSort([(NULL, 1), (1, 2), (2, 3)]), arrayReverseSort(x -> x, [[NULL], [1], [2]]);
