"""Statements that ask for far more memory or time than anybody may have, as data: for test_hostile_statements.py and
scripts/hostile_p99.py. Each is a statement with what may become of it: its answer, or codes of errors."""

from dataclasses import dataclass

MEMORY, TIMEOUT, TOO_LARGE_STRING, OUT_OF_BOUND, TOO_LARGE_ARRAY, TOO_DEEP = 241, 159, 131, 69, 128, 306


@dataclass(frozen=True)
class Hostile:
    sql: str
    # The answer, where it must come.
    answer: str | None = None
    # Codes of the errors that may come in its place; none where the answer must.
    codes: tuple = ()
    # A body that is not text.
    body: bytes | None = None
    headers: tuple = ()

    def check(self, status, code, text):
        """What is wrong with how it ended; None where nothing is."""
        if code in self.codes:
            return None
        if status != 200 or code:
            return f"ended with {status}, code {code}: {text[:300]}"
        if self.answer is not None and text.strip() != self.answer:
            return f"answered {text[:100]!r} where {self.answer!r} is right"
        return None


def answered(sql, answer):
    return Hostile(sql, None if answer is None else str(answer))


def refused(sql, *codes):
    return Hostile(sql, None, codes or (MEMORY,))


def either(sql, *codes, answer=None):
    return Hostile(sql, None if answer is None else str(answer), (MEMORY, TIMEOUT, *codes))


DIGITS = sum(len(str(number)) for number in range(65409))

# Strings that grow: a row fits, a block does not.
STRINGS = [
    answered("SELECT sum(length(repeat(toString(number), 100000))) FROM numbers(65409)", DIGITS * 100000),
    answered("SELECT max(length(repeat(toString(number), 100000))) FROM numbers(65409) WHERE number > 65000", 500000),
    answered("SELECT sum(length(leftPad(toString(number), 100000, 'x'))) FROM numbers(10000)", 10000 * 100000),
    answered("SELECT sum(length(rightPadUTF8(toString(number), 10000, 'ж'))) FROM numbers(6540)", None),
    answered("SELECT sum(length(space(number))) FROM numbers(65409)", 65409 * 65408 // 2),
    answered("SELECT sum(length(hex(repeat('x', number)))) FROM numbers(10000)", 10000 * 9999),
    answered("SELECT sum(length(bin(repeat('x', number)))) FROM numbers(5000)", 8 * 5000 * 4999 // 2),
    answered("SELECT sum(length(base64Encode(repeat('xyz', number)))) FROM numbers(10000)", 4 * 10000 * 9999 // 2),
    answered("SELECT sum(length(concat(repeat('a', number), repeat('b', number)))) FROM numbers(20000)", 20000 * 19999),
    answered("SELECT sum(length(format('{}{}', repeat('a', number), repeat('b', number)))) FROM numbers(20000)", 20000 * 19999),
    answered("SELECT sum(length(replaceAll(repeat('a', number), 'a', 'bbbbb'))) FROM numbers(4000)", 5 * 4000 * 3999 // 2),
    answered("SELECT sum(length(replaceRegexpAll(repeat('a', number), 'a', 'bbb'))) FROM numbers(3000)", 3 * 3000 * 2999 // 2),
    answered("SELECT count() FROM numbers(20000) WHERE length(repeat('x', number * 10)) >= 0", 20000),
    answered("SELECT length(repeat('x', 1000000))", 1000000),
    answered("SELECT sum(length(x)) FROM (SELECT repeat(toString(number), 100000) AS x FROM numbers(2000))", None),
    refused("SELECT repeat(repeat('x', 1000000), 1000)", MEMORY, TOO_LARGE_STRING),
    refused("SELECT length(repeat(repeat('x', 1000000), 500))", MEMORY, TOO_LARGE_STRING),
    refused("SELECT replaceAll(repeat('x', 1000000), 'x', repeat('y', 1000))", MEMORY, TOO_LARGE_STRING),
    refused("SELECT replaceRegexpAll(repeat('x', 1000000), 'x', repeat('y', 1000))", MEMORY, TOO_LARGE_STRING),
    refused("SELECT length(replaceRegexpAll(materialize(repeat('x', 1000000)), '(x)', '\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1\\\\1')) = 10000000 AND length(repeat(repeat('x', 1000000), 900)) > 0", MEMORY, TOO_LARGE_STRING),
    refused("SELECT concat(repeat(repeat('a', 1000000), 150), repeat(repeat('b', 1000000), 150))", MEMORY, TOO_LARGE_STRING),
    either("SELECT toFixedString(toString(number), 16000000) FROM numbers(1000) FORMAT Null"),
    either("SELECT sum(length(toFixedString(toString(number), 16000000))) FROM numbers(65409)", answer=65409 * 16000000),
    either("SELECT count() FROM (SELECT DISTINCT toFixedString(toString(number), 1000000) FROM numbers(1000))"),
    either("SELECT sum(length(randomString(10000000))) FROM numbers(100)", TOO_LARGE_STRING),
    either("SELECT length(arrayStringConcat(arrayMap(x -> repeat('x', 1000), range(1000000))))", TOO_LARGE_STRING),
    either("SELECT sum(length(arrayStringConcat(splitByChar(',', repeat('a,', number)), 'bbbb'))) FROM numbers(3000)"),
    either("SELECT max(length(upper(repeat('straße', number * 10)))) FROM numbers(20000)", answer=19999 * 10 * 7),
]

# Regular expressions and cutting of strings.
PARTS = [
    either("SELECT count() FROM (SELECT repeat('abcdefghijklmnopqrstuvwxyz', number * 100) AS h, "
           "extractAllGroupsHorizontal(h, '(\\\\w)') AS g FROM numbers(1023)) WHERE NOT ignore(g)", TOO_LARGE_ARRAY),
    either("SELECT sum(length(g[1])) FROM (SELECT extractAllGroupsHorizontal(repeat('ab', number * 100), '(a)') AS g FROM numbers(1023)) "
           "SETTINGS regexp_max_matches_per_row = 1000000000", answer=100 * 1023 * 1022 // 2),
    either("SELECT sum(length(extractAllGroupsVertical(repeat('ab', number * 100), '(a)(b)'))) FROM numbers(1000)",
           answer=100 * 1000 * 999 // 2),
    either("SELECT sum(length(extractAll(repeat('ab', number * 100), 'a'))) FROM numbers(2000)", answer=100 * 2000 * 1999 // 2),
    either("SELECT sum(length(splitByChar(',', repeat(',', number * 10)))) FROM numbers(5000)"),
    either("SELECT sum(length(splitByString('', repeat('x', number * 10)))) FROM numbers(5000)"),
    either("SELECT sum(length(splitByRegexp('', repeat('x', number * 10)))) FROM numbers(3000)"),
    either("SELECT sum(length(ngrams(repeat('x', 1000000), 3))) FROM numbers(10)"),
    either("SELECT sum(length(tokens(repeat('a ', number * 10)))) FROM numbers(5000)"),
    either("SELECT count() FROM numbers(65409) WHERE position(repeat('x', 1000000), toString(number)) > 0", answer=0),
    either("SELECT sum(countSubstrings(repeat('ab', 500000), concat('a', char(98 + number % 2)))) FROM numbers(10000)"),
    either("SELECT sum(editDistance(repeat('a', 65000), repeat('b', 60000 + number))) FROM numbers(100)"),
    either("SELECT sum(match(repeat('a', 1000000), concat('(a|b)*c', toString(number)))) FROM numbers(1000)"),
]

# Arrays.
ARRAYS = [
    refused("SELECT range(500000000)", MEMORY, OUT_OF_BOUND),
    refused("SELECT length(range(500000000))", MEMORY, OUT_OF_BOUND),
    refused("SELECT length(range(400000000)) FROM numbers(3)", MEMORY, OUT_OF_BOUND),
    refused("SELECT arrayJoin(range(400000000))", MEMORY, OUT_OF_BOUND),
    refused("SELECT sum(arrayJoin(range(materialize(400000000))))", MEMORY, OUT_OF_BOUND),
    answered("SELECT count() FROM (SELECT arrayJoin(range(number)) FROM numbers(5000))", 5000 * 4999 // 2),
    answered("SELECT max(length(x)) FROM (SELECT arrayJoin(groupArray(toString(number))) AS x FROM numbers(200000))", 6),
    answered("SELECT sum(length(range(number))) FROM numbers(20000)", 20000 * 19999 // 2),
    answered("SELECT sum(length(arrayWithConstant(number, 'some longer text'))) FROM numbers(5000)", 5000 * 4999 // 2),
    refused("SELECT arrayWithConstant(100000000, 'x')", MEMORY, OUT_OF_BOUND, TOO_LARGE_ARRAY),
    refused("SELECT arrayWithConstant(100000, repeat('x', 100000))", MEMORY, TOO_LARGE_STRING),
    refused("SELECT arrayResize([1], 400000000)", MEMORY, OUT_OF_BOUND),
    refused("SELECT arrayResize([repeat('x', 10000)], 1000000, repeat('y', 10000))", MEMORY, TOO_LARGE_STRING),
    answered("SELECT sum(length(arrayResize([number], number))) FROM numbers(5000)", 5000 * 4999 // 2),
    refused("SELECT arrayConcat(range(30000000), range(30000000), range(30000000))"),
    refused("SELECT arrayFlatten(arrayMap(x -> range(10000), range(10000)))", MEMORY, OUT_OF_BOUND),
    refused("SELECT arrayReverse(range(100000000))"),
    refused("SELECT arraySort(x -> -x, range(60000000))"),
    refused("SELECT arrayDistinct(range(60000000))"),
    refused("SELECT arrayEnumerateUniq(range(60000000))"),
    refused("SELECT arrayMap(x -> toString(x), range(30000000))"),
    refused("SELECT arrayZip(range(30000000), range(30000000))"),
    either("SELECT length(arrayMap(x -> sipHash64(toString(x)), range(30000000)))", answer=30000000),
    either("SELECT length(arrayMap(x -> repeat('x', 100000), range(100000)))", TOO_LARGE_STRING),
    either("SELECT arraySum(arrayMap(x -> length(repeat(toString(x), 10000)), range(65536)))",
           answer=10000 * sum(len(str(x)) for x in range(65536))),
    either("SELECT arrayFold((acc, x) -> acc + x, range(10000000), toUInt64(0))"),
    either("SELECT length(arrayFold((acc, x) -> arrayPushBack(acc, x), range(100000), emptyArrayUInt64()))", answer=100000),
    either("SELECT count() FROM numbers(65409) WHERE has(range(1000000), number + 2000000)", answer=0),
    either("SELECT sum(length(arrayIntersect(range(100000), [number]))) FROM numbers(65409)", answer=65409),
    either("SELECT sum(length(arraySlice(range(100000), 1, 100000 - number))) FROM numbers(65409)"),
    either("SELECT sum(hasSubstr(range(100000), [number, number + 1])) FROM numbers(65409)"),
    either("SELECT length(groupArray(x)) FROM (SELECT arrayJoin(range(1000)) AS x FROM numbers(100000))"),
    either("SELECT count() FROM numbers(100000) ARRAY JOIN range(10000) AS x", answer=1000000000),
    either("SELECT max(length(mapFromArrays(range(number), range(number)))) FROM numbers(3000)", answer=2999),
]

# Aggregates whose states grow.
AGGREGATES = [
    refused("SELECT length(groupArray(number)) FROM numbers(100000000)"),
    refused("SELECT length(groupArray(toString(number))) FROM numbers(30000000)"),
    refused("SELECT uniqExact(number) FROM numbers(100000000)"),
    refused("SELECT uniqExact(toString(number)) FROM numbers(50000000)"),
    refused("SELECT length(groupUniqArray(number)) FROM numbers(50000000)"),
    refused("SELECT quantileExact(number) FROM numbers(100000000)"),
    refused("SELECT length(groupConcat(toString(number))) FROM numbers(100000000)"),
    either("SELECT length(topK(1000000)(number)) FROM numbers(10000000)", 69),
    refused("SELECT length(groupArray(range(1000))) FROM numbers(1000000)"),
    refused("SELECT number % 10, length(groupArray(number)) FROM numbers(100000000) GROUP BY 1"),
    refused("SELECT length(groupArrayArray(range(1000))) FROM numbers(1000000)"),
    either("SELECT max(length(max)) FROM (SELECT max(repeat(toString(number), 1000000)) AS max FROM numbers(1000))"),
]

# Planning.
PLANNING = [
    Hostile("SELECT count() FROM numbers(1)" + " CROSS JOIN numbers(1)" * 2000, "1",
            (MEMORY, TIMEOUT, TOO_DEEP)),
    answered("SELECT count() FROM numbers(1)" + " CROSS JOIN numbers(1)" * 500, 1),
    either("SELECT count() FROM numbers(10) WHERE number IN (SELECT number FROM numbers(50000000))", 191),
    either("SELECT length((SELECT groupArray(number) FROM numbers(100000000)))"),
    either("SELECT " + " + ".join(["length(range(1000000))"] * 50)),
    either("WITH (SELECT groupArray(number) FROM numbers(2000000)) AS a SELECT count() FROM numbers(1000) WHERE has(a, number + 5000000)"),
    either("SELECT [" + ",".join(["repeat('x', 1000000)"] * 300) + "]", TOO_LARGE_STRING),
    either("SELECT tuple(" + ",".join(["range(1000000)"] * 100) + ")"),
    either("SELECT sleep(3)", answer=0),
]


def inserted(sql, body, *codes, headers=()):
    return Hostile(sql, None, (MEMORY, TIMEOUT, *codes), body, tuple(headers))


def bodies():
    """Bodies that grow: made when they are asked for, as they are large themselves."""
    import gzip

    zeros = b"\0" * (1 << 20)
    large = gzip.compress(b"x" * (600 << 20), 9)
    return [
        inserted("INSERT INTO hostile FORMAT TSV", large, 131, headers=[("Content-Encoding", "gzip")]),
        inserted("INSERT INTO hostile FORMAT RowBinary", gzip.compress(zeros * 600, 9), headers=[("Content-Encoding", "gzip")]),
        inserted("INSERT INTO hostile FORMAT RowBinary", b"\xff\xff\xff\xff\x07" + b"x" * 1000, 131, 33),
        inserted("INSERT INTO hostile FORMAT Native", b"\x01\xff\xff\xff\xff\x07\x01s\x06String" + b"\xff\xff\xff\xff\x07", 131, 33, 117, 128),
        inserted("INSERT INTO hostile FORMAT JSONEachRow", b'{"s": ' + b"[" * 1_000_000, 117, 131, 27, 26, 33, 25, 306, 130),
        inserted("INSERT INTO hostile FORMAT Values", b"(repeat('x', 1000000)),(repeat(repeat('x', 1000000), 1000))", 131, 48),
        inserted("INSERT INTO hostile FORMAT Values", b"(length(range(500000000)))", 131, 69),
        inserted("INSERT INTO hostile FORMAT CSV", b'"' + b"x" * (50 << 20), 131, 33, 27, 26, 117),
    ]


STATEMENTS = STRINGS + PARTS + ARRAYS + AGGREGATES + PLANNING
