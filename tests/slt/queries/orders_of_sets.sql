SELECT groupUniqArray(number), groupUniqArray(toString(number)), groupUniqArray(toFloat64(number)) FROM numbers(20);
SELECT groupUniqArray([number]), groupUniqArray((number, 'a')), groupUniqArray(toDecimal64(number, 3)) FROM numbers(5);
SELECT cityHash64(groupUniqArray(number)), cityHash64(groupUniqArray('a string ' || toString(number))) FROM numbers(900) SETTINGS max_threads = 1;
SELECT groupUniqArray(toUInt8(number * 37)), groupUniqArray(-toInt64(number)), groupUniqArray(toInt128(number)) FROM numbers(9);
SELECT groupUniqArray(substring('aaaaaaaaaaaaaaaaaaaaaaaaaaaa', 1, number)) FROM numbers(20);
SELECT number % 3 AS k, groupUniqArray(2)(number), groupUniqArrayArray([number, number + 1]) FROM numbers(10) GROUP BY k ORDER BY k;
SELECT hex(uniqState(number)), hex(uniqState(toString(number))) FROM numbers(8);
SELECT topK(number % 13), topK(3)(number % 9) FROM numbers(30);
SELECT approx_top_k(10)(number % 7), topK(20)(number) FROM numbers(20);
