-- LowCardinality inside arrays, tuples and maps: functions that do not ask for it see and return the values' own type.
SELECT toTypeName(arrayConcat(a, a)), toTypeName(arrayDistinct(a)), toTypeName(a[1]), toTypeName(arraySort(a)), toTypeName(arrayReverse(a)) FROM (SELECT CAST(['a', 'b'], 'Array(LowCardinality(String))') AS a);
SELECT toTypeName(arrayMap(x -> x, a)), toTypeName(arrayFilter(x -> x != '', a)), toTypeName(materialize(a)), toTypeName(tuple(a)) FROM (SELECT CAST(['a', 'b'], 'Array(LowCardinality(String))') AS a);
SELECT m['k'] AS x, toTypeName(x), toTypeName(mapKeys(m)), toTypeName(assumeNotNull(m)) FROM (SELECT CAST(map('k', 'v'), 'Map(LowCardinality(String), LowCardinality(String))') AS m);
SELECT t = t, t.1, toTypeName(t.1), cityHash64(t), t < ('b', 2) FROM (SELECT CAST(('a', 1), 'Tuple(LowCardinality(String), UInt8)') AS t);
SELECT cityHash64(a), sipHash64(a, 1), murmurHash3_64(m), hex(sipHash128(t)) FROM (SELECT CAST(['a', 'b'], 'Array(LowCardinality(String))') AS a, CAST(map('k', 'v'), 'Map(LowCardinality(String), String)') AS m, CAST(('a', 1), 'Tuple(LowCardinality(String), UInt8)') AS t);
SELECT number, arraySort(arrayConcat(a, ['z'])), arrayStringConcat(a, '-'), has(a, 'x1') FROM (SELECT number, CAST([concat('x', toString(number)), 'b'], 'Array(LowCardinality(String))') AS a FROM numbers(3)) ORDER BY number;
-- Hashes of NULLs inside of tuples and arrays, and of constants beside columns.
SELECT cityHash64((1, NULL)), cityHash64([NULL, 1]), hex(sipHash128(tuple(NULL))), xxHash32((NULL, 'a')), murmurHash2_64([NULL]), cityHash64((1::Nullable(UInt8), 2));
SELECT number, cityHash64((number, 1), (2, 'x')), halfMD5(number, [1, 2]), wyHash64((number, 2), map(1, 'a')) FROM numbers(3) ORDER BY number;
SELECT xxh3_128(1, 2), xxh3_128([1, 2]), xxh3_128(('a', 1)), xxh3_128(map(1, 2)), xxh3_128((1, 2)::Point);
-- Units of intervals into each other, and what else was found at random.
SELECT toIntervalDay(INTERVAL 1 WEEK), toIntervalMonth(INTERVAL 1 YEAR), toIntervalYear(INTERVAL 25 MONTH), toIntervalHour(INTERVAL 90 MINUTE), toIntervalDay(INTERVAL -36 HOUR), CAST(INTERVAL 5 DAY, 'IntervalWeek'), toIntervalSecond(INTERVAL 1 YEAR);
SELECT ifNotFinite(NULL, 1), ifNotFinite(1.5, NULL), ifNotFinite(NULL::Nullable(Float64), 1), ifNotFinite(inf, 2);
SELECT lgamma(-1), lgamma(0), lgamma(-inf), unbin('12'), hex(unbin('0000000a')), concat((1, 2)), concat([1]), concat('ab'::FixedString(4)), concat(map(1, 2));
SELECT netloc('{}'), netloc('http://a b/'), netloc('https://u:p@h.x:80?x'), netloc('h;x'), netloc('http://h;x/a'), netloc('//x:y@h:1/'), netloc('a,b'), netloc('http://u/x@h/p');
SELECT toRelativeDayNum(toDate32('2299-12-31')), toRelativeWeekNum(toDate32('2299-12-31')), toRelativeDayNum(toDate32('1925-01-01'));
