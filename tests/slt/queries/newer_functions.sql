-- NULL among the items of an array, and in the column that is looked for
SELECT x, has([NULL], x), has([5, NULL], x), indexOf([NULL, 7], x), countEqual([NULL, NULL], x) FROM (SELECT arrayJoin([7, NULL]) AS x) ORDER BY x;

-- areas under curves of partitions
SELECT arrayROCAUC([0.2, 0.5, 0.4, 0.9], [0, 0, 1, 1], true, [0, 0, 0, 0]), arrayROCAUC([0.2, 0.5, 0.4, 0.9], [0, 0, 1, 1], true, [0, 0, 5, 8]), arrayROCAUC([0.2, 0.5, 0.4, 0.9], [0, 0, 1, 1], false, [1, 2, 0, 0]);
SELECT arrayAUCPR([0.2, 0.5, 0.4, 0.9], [0, 0, 1, 1], [0, 0, 0]), arrayAUCPR([0.2, 0.5, 0.4, 0.9], [0, 0, 1, 1], [2, 1, 6]);
SELECT arrayAUCPR([0.3, 0.4], [0, 0]);
SELECT arrayROCAUC([0.2, 0.5], [0, 1], true, [0, 0, 0, -2]);
SELECT arrayROCAUC([0.2, 0.5], [0, 1], true, [0., 0., 1., 1.]);
SELECT arrayROCAUC([0.2, 0.5], [0, 1], 'yes');
SELECT arrayAUCPR([0.2, 0.5], [0, 1], [0, 0]);

-- differences of arrays of arrays
SELECT arrayExcept([[1], [2]], [[2]]);
SELECT arrayExcept([1, 2, 3], [3, 1]);

-- words with a capital
SELECT initcapUTF8('straße nach süden, ßen'), initcapUTF8('ɐb ıx ǆ');

-- beginnings and ends by characters
SELECT startsWithUTF8('北京', '\xe5'), startsWithUTF8('北京', '北'), endsWithUTF8('北京', '\xac'), endsWithUTF8('北京', '京'), startsWithCaseInsensitiveUTF8('ÄRA', 'är'), endsWithCaseInsensitiveUTF8('北京', '\xac'), startsWithUTF8('\xc3', '\xc3'), endsWithUTF8('x\x80', '\x80');

-- entities
SELECT decodeHTMLComponent('a &ltb; &lt;c&gt; &copy &copy; &bogus; &#65;&#x42; &#1234567;'), decodeHTMLComponent('&lt&gt;'), hex(decodeHTMLComponent('&#xDC00;'));
SELECT decodeXMLComponent('&lt;x&gt; &copy; &#128;');

-- no token is empty
SELECT hasToken('one two', ''), hasTokenCaseInsensitive('one two', ''), hasTokenOrNull('', '');

-- one character parts strings
SELECT substringIndex('a.b.c', '.', 2), substringIndex('a.b.c', '.', -1);
SELECT substringIndex('a..b', '..', 1);

-- numbers whose digits are dates
SELECT YYYYMMDDToDate(21490606), YYYYMMDDToDate(21490607), YYYYMMDDToDate(19691231), YYYYMMDDToDate(20240229.6), YYYYMMDDToDate(20240131::Decimal(18, 2)), YYYYMMDDToDate32(18991231);
SELECT YYYYMMDDhhmmssToDateTime(20240131235958.7), YYYYMMDDhhmmssToDateTime64(23000101000000, 0, 'UTC');
SELECT YYYYMMDDToDate(inf);
SELECT YYYYMMDDhhmmssToDateTime64(nan);
SELECT fromDaysSinceYearZero(-1);
SELECT fromDaysSinceYearZero32(-1);
SELECT fromDaysSinceYearZero32(4000000000), fromDaysSinceYearZero32(738000);

-- seconds past 2106 as text
SELECT fromUnixTimestampInJodaSyntax(5000000000, 'YYYY-MM-dd HH:mm:ss', 'UTC'), fromUnixTimestamp(5000000000, '%F', 'UTC'), fromUnixTimestamp(toInt64(-86400), '%F', 'UTC'), fromUnixTimestampInJodaSyntax(toInt32(-1), 'YYYY', 'UTC');

-- zones without a name, and zones that differ
SELECT toStartOfDay(toDateTime('2024-05-05 10:00:00', 'UTC'), '');
SELECT toHour(toDateTime('2024-05-05 10:00:00', 'UTC'), '');
SELECT toUnixTimestamp('2024-05-05 10:00:00', '');
SELECT snowflakeIDToDateTime(7204436857747984384, 0, materialize('Asia/Tokyo'));
SELECT toTypeName(snowflakeIDToDateTime64(7204436857747984384, 0, materialize('Asia/Tokyo'))) SETTINGS allow_nonconst_timezone_arguments = 1;

-- intervals and dates, also in text
SELECT toDate32('2024-02-28') + INTERVAL 90 MINUTE AS t, toTypeName(t), addDate(toDate32('2024-02-28'), INTERVAL 1 HOUR), toDate('2024-02-28') + INTERVAL 1 SECOND;
SELECT toDate32('2024-02-28') + INTERVAL 1 MILLISECOND;
SELECT '2024-02-28' + INTERVAL 2 DAY AS t, toTypeName(t), INTERVAL 1 MONTH + '2024-01-31 10:00:00', '2024-02-28' - INTERVAL 1 MICROSECOND, addDate('2024-02-28', INTERVAL 1 WEEK), subDate('2024-02-28', INTERVAL 1 YEAR);
SELECT 'nonsense' + INTERVAL 1 DAY;
SELECT addTupleOfIntervals('2024-02-28', (INTERVAL 1 DAY, INTERVAL 1 HOUR));
SELECT toDateTime('2024-02-28 00:00:00', 'UTC') + toInterval('90', 'minute'), toInterval(-2, 'Week');
SELECT toInterval(1, 'days');
SELECT toInterval('soon', 'day');

-- the rest of floats
SELECT 5.5 % inf, -7.5 % 2, 1.1 % 0.1, 1e300 % 7, 7.5 % 0., positiveModulo(-7.5, 2);

-- tuples by numbers
SELECT intDivOrZero((9, 7), 2), intDivOrZero((9, 7), 0);
SELECT intDivOrNull((9, 7), 2);

-- means of decimals
SELECT midpoint(1.5::Decimal(9, 3), 4::Decimal(18, 1)) AS m, toTypeName(m), midpoint(-3::Decimal(9, 0), 2::Decimal(9, 0)), midpoint(1::UInt128, 4::UInt128), avg2(2::Decimal(9, 2), 5);

-- bits of addresses and of floats
SELECT bitAnd(toIPv6('2001:db8::ff'), toIPv6('::f0')) AS b, toTypeName(b), bitOr(toIPv6('::1'), 6), bitShiftLeft(toIPv6('::1'), 3), toTypeName(bitXor(toIPv6('::1'), -1));
SELECT bitAnd(toIPv6('::1'), toIPv4('0.0.0.1'));
SELECT bitNot(inf), bitNot(nan), bitNot(6.9), bitNot(toFloat32(-inf)), bitNot(1e19);

-- hashes of empty tuples and of values of several types
SELECT sipHash64((), 7), sipHash64(7, ()) = sipHash64(7), sipHash64(()), sipHash64([()]), cityHash64((), 'x');
SELECT sipHash64(5::Variant(String, UInt64)), sipHash64('five'::Variant(String, UInt64)), cityHash64(NULL::Variant(String, UInt64)), sipHash64(number, [1, 2]::Variant(Array(UInt8), UInt64)) FROM numbers(2);
SELECT icebergHash(toDateTime64('2024-02-28 12:00:00', 9, 'UTC')) = icebergHash(toDateTime64('2024-02-28 12:00:00', 6, 'UTC'));
SELECT icebergHash(toDateTime64('2024-02-28 12:00:00', 3, 'UTC'));

-- sizes and widths
SELECT byteSize(2::BFloat16), byteSize([2::BFloat16, 3::BFloat16]);
SELECT visibleWidth('x') SETTINGS function_visible_width_behavior = 3;

-- order of coordinates
SELECT round(h3ToGeo(644325524701193974).1, 6), round(h3ToGeo(644325524701193974).2, 6) SETTINGS h3togeo_lon_lat_result_order = 1;
SELECT geoToH3(37.79506683, 55.71290588, 15) = 644325524701193974 SETTINGS geotoh3_argument_order = 'lon_lat';
SELECT greatCircleAngle(1::Decimal(9, 2), 2, 3, 4) = greatCircleAngle(1, 2, 3, 4), greatCircleDistance(toUInt256(1), 2, 3, 4) = greatCircleDistance(1, 2, 3, 4);
SELECT wkt(readWKTLineString('LINESTRING (0 0, 1 2, 3 0, 0 0)')), wkt(readWKTMultiLineString('MULTILINESTRING ((0 0, 1 2), (5 5, 6 6))')), wkt([]::LineString), wkt(readWKT('LINESTRING (0 0, 1 2)')), wkt([(0., 0.), (1., 2.)]);

-- lambdas over arrays of tuples
SELECT arrayMap((a, b) -> a * b, [(2, 3), (4, 5)]), arrayFilter((a, b) -> a < b, [(2, 3), (5, 4)]), arrayExists((a, b) -> a = b, [(1, 1)]), arraySort((a, b) -> -b, [(1, 2), (3, 4)]), arrayMap(t -> t.1, [(2, 3)]), arrayCount((a, b) -> a > b, [(5, 4), (1, 2)]);
SELECT arrayMap((a, b, c) -> a, [(2, 3)]);

-- a mask that differs by row
SELECT mortonEncode((number + 1, 2), 5, 6), hilbertEncode((number, 1), 5, 6) FROM numbers(3);
SELECT mortonEncode((number, 2), 5, 6) FROM numbers(3);

-- what transform takes
SELECT transform(number, [1], [NULL]) FROM numbers(2);
SELECT transform(number, [1, NULL], [1, 2], 3) FROM numbers(2);
SELECT transform(number, [], []) FROM numbers(2);
SELECT transform([number], [[1]], [[2]]) FROM numbers(2);
SELECT transform(number, [1], ['x'], 5) FROM numbers(2);

-- keys without NULL
SELECT mapFromArrays([toNullable(4), 5], ['a', 'b']) AS m, toTypeName(m);
SELECT mapFromArrays([4, NULL], ['a', 'b']);

-- grids of times
SELECT timeSeriesRange(100::UInt32, 130::UInt32, 10) AS r, toTypeName(r);
SELECT timeSeriesRange('2024-02-28 00:00:00'::DateTime('UTC'), '2024-02-28 00:00:02'::DateTime('UTC'), '0.5'::Decimal(9, 1)) AS r, toTypeName(r);
SELECT timeSeriesFromGrid(100::UInt32, 120::UInt32, 10, ['a', 'b', 'c']), timeSeriesFromGrid(100::UInt32, 120::UInt32, 10, [1, NULL, 3]);
SELECT timeSeriesRange(100::UInt32, 130::UInt32, 1.5);

-- functions over the rows of a block
SELECT runningDifference(number) FROM numbers(3);
SELECT runningDifference(number) FROM numbers(3) SETTINGS allow_deprecated_error_prone_window_functions = 1;
SELECT runningAccumulate(s) FROM (SELECT sumState(number) AS s FROM numbers(3));

-- arguments of the wrong type, or too many
SELECT toDecimalString(1.5, 'two');
SELECT toDecimalString(1.5, materialize(2));
SELECT UUIDStringToNum('00112233-4455-6677-8899-aabbccddeeff', materialize(2));
SELECT toTime64('12:34:56.789', 3, 'UTC');
SELECT now64('3') > 0;
SELECT nowInBlock64(materialize(3)) > 0;
SELECT length(randomString(4.9)), length(randomPrintableASCII(3.2));

-- expensive expressions
SELECT multiMatchAny('text', ['x{51}']);
SELECT multiMatchAny('text', ['x{1,60}']);
SELECT multiMatchAny('text', ['x{1,50}']), multiMatchAny('text', ['x{51}']) SETTINGS reject_expensive_hyperscan_regexps = 0;

-- truths
SELECT NOT d AS r, toTypeName(r) FROM (SELECT materialize(0)::Dynamic AS d);
SELECT '{"a":42}'::JSON(a Bool), '{"a":0}'::JSON(a Bool);

-- empty objects
SELECT empty('{}'::JSON), notEmpty('{"a":1}'::JSON), empty('{}'::JSON(a UInt8)), empty('{"a":null}'::JSON);

-- aggregates
SELECT array_concat_agg(a), ARRAY_CONCAT_AGG(a) FROM (SELECT [number, number + 10] AS a FROM numbers(2));
SELECT largestTriangleThreeBuckets(4)(number, if(number = 3, nan, number::Float64)), largestTriangleThreeBuckets(0)(number, number) FROM numbers(7);
SELECT uniqExact(x) FROM (SELECT number % 7 AS k, groupArraySample(5)(intDiv(number, 7)) AS x FROM numbers(70000) GROUP BY k);
SELECT groupArraySample(3, 42)(number) FROM numbers(100);
SELECT topKMerge(3)(s) FROM (SELECT topKState(4)(number) AS s FROM numbers(10));
SELECT groupArrayMerge(3)(s) FROM (SELECT groupArrayState(5)(number) AS s FROM numbers(10));
SELECT quantileMerge(0.9)(s), quantilesMerge(0.1, 0.9)(s) FROM (SELECT quantileState(0.5)(number) AS s FROM numbers(11));
SELECT quantileMerge(s) FROM (SELECT quantileState(0.9)(number) AS s FROM numbers(11));
SELECT groupArrayMerge(s) FROM (SELECT groupArrayState(5)(number) AS s FROM numbers(10));
SELECT argMin(number, number::Dynamic) FROM numbers(3);
SELECT max([number::Variant(UInt64, String)]) FROM numbers(3);
SELECT min(s) FROM (SELECT sumState(number) AS s FROM numbers(3));
SELECT sumArgMax(number, number::Dynamic) FROM numbers(3);
SELECT quantileDeterministic(number, 0) FROM numbers(10000);
SELECT finalizeAggregation(uniqState((1, 2)::Tuple(a UInt8, b UInt8))::AggregateFunction(uniq, Tuple(UInt8, UInt8)));

-- numbers as times in documents
SELECT JSONExtract('{"t":1700000000123}', 't', 'DateTime64(3, \'UTC\')'), JSONExtract('{"t":-1.5}', 't', 'DateTime64(1, \'UTC\')'), JSONExtract('{"t":99999999999}', 't', 'DateTime(\'UTC\')'), JSONExtract('{"t":1700000000.25}', 't', 'DateTime64(2, \'UTC\')');
SELECT * FROM format(JSONEachRow, 't DateTime64(0, \'UTC\')', '{"t":999999999999}{"t":-999999999999}');

-- halves of pairs in escapes
SELECT hex(s) FROM format(JSONEachRow, 's String', '{"s":"\\ude00"}{"s":"\\ud83d\\ude00"}');
SELECT * FROM format(JSONEachRow, 's String', '{"s":"\\ud83d"}');
SELECT * FROM format(JSONEachRow, 's String', '{"s":"\\ud83d\\u0041"}');

-- text as one of several types
SELECT CAST('Null', 'Variant(String, UInt64)') AS v, variantType(v), CAST('nullable', 'Variant(String, UInt64)') AS w, variantType(w);
SELECT variantType(CAST('t', 'Variant(String, Bool)')), variantType(CAST('true', 'Variant(String, Bool)')), variantType(CAST('TRUE', 'Variant(String, Bool)'));
SELECT v, variantType(v) FROM format(JSONEachRow, 'v Variant(String, Bool)', '{"v":true}{"v":"true"}{"v":"t"}');
SELECT v, variantType(v) FROM format(TSV, 'v Variant(String, Bool)', 'true\nno\n');
SELECT v, variantType(v) FROM format(Values, 'v Variant(String, Bool)', '(true), (\'false\'), (\'f\')');
SELECT accurateCastOrNull('then', 'Variant(Date)') AS v, variantType(v), accurateCastOrNull('2024-02-28', 'Variant(Date)') AS w, variantType(w);

-- types that are easily taken for each other
SELECT CAST(1, 'Variant(Int8, UInt64, Bool)');
SELECT CAST(1, 'Variant(UInt8, UInt64)');
SELECT CAST(1, 'Variant(Date, DateTime, UInt8)');

-- dictionaries as one of any types
SELECT toLowCardinality('abc')::Dynamic AS d, dynamicType(d), d.String, d.`LowCardinality(String)`, dynamicType(toLowCardinality(toNullable('x'))::Dynamic), dynamicType(CAST(NULL, 'LowCardinality(Nullable(String))')::Dynamic);
SELECT upper(d), d = 'abc', length(d) FROM (SELECT materialize(toLowCardinality('abc'))::Dynamic AS d);

-- keys that are empty
SELECT '{"":{"":1}}'::JSON AS j, JSONAllPaths(j), '{"a":{"":{"b":2}}}'::JSON AS k, JSONAllPaths(k), '{"":3}'::JSON;
