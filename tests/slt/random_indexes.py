#!/usr/bin/env python3
"""Random conditions on tables with random keys and skip indexes, and on the same rows in memory: both find the same rows, whatever was left
out. Needs no ClickHouse.

    python3 tests/slt/random_indexes.py http://127.0.0.1:8123/ [seed] [tables]
"""

import random
import sys
import urllib.error
import urllib.request

COLUMNS = (
    "u UInt32, i Int16, f Float64, s String, l LowCardinality(Nullable(String)), n Nullable(Int32), d Date, t DateTime('UTC'), "
    "m DateTime64(3, 'UTC'), x UUID, p IPv6, c Decimal(9, 2), e Enum8('a' = -1, 'b' = 0, 'c' = 1), a Array(String), k Map(String, String), b Bool"
)
ROWS = (
    "SELECT number * 7919 % 50, number * 31 % 41 - 20, if(number % 17 = 0, nan, number * 13 % 30 / 4), "
    "arrayElement(['ab cd', 'ab', 'x ab', 'cd ef', '', 'äb cd', 'aab'], number * 3 % 7 + 1), "
    "arrayElement([NULL, 'ab', 'cd', 'ab cd'], number * 5 % 4 + 1), if(number % 5 = 0, NULL, number % 13 - 4), "
    "toDate('2020-01-01') + number * 11 % 100, toDateTime('2020-01-01 00:00:00', 'UTC') + number * 7001 % 9000000, "
    "toDateTime64('2020-01-01 00:00:00', 3, 'UTC') + number * 7001 % 9000000 / 8, "
    "toUUID('00000000-0000-0000-0000-' || leftPad(toString(number * 17 % 60), 12, '0')), toIPv6('::' || toString(number % 9)), "
    "(number * 37 % 900 - 300) / 100, arrayElement(['a', 'b', 'c'], number % 3 + 1), "
    "arraySlice(['ab', 'cd ef', 'x', 'y'], 1 + number % 4, 1 + number % 2), map('k' || toString(number % 6), toString(number % 11)), number % 4 = 0"
)
KEYS = [
    "tuple()", "u", "(i, s)", "(t, u)", "m", "(x, u)", "p", "(c, i)", "(e, d)", "toDate(t)", "(toYYYYMM(d), intDiv(u, 7))", "-i",
    "(toStartOfHour(m), u)", "u % 11", "(b, u)", "(i * 3 + 1, s)", "lower(s)", "cityHash64(u) % 7",
]
PARTITIONS = ["tuple()", "toYYYYMM(d)", "e", "(u % 3, i % 2)", "toDate(t) > '2020-02-01'", "s"]
INDEXES = [
    ("u", "minmax"), ("(i, s)", "minmax"), ("f", "minmax"), ("m", "minmax"), ("x", "minmax"), ("c", "minmax"), ("l", "minmax"), ("a", "minmax"),
    ("(u, e)", "set(8)"), ("l", "set(0)"), ("n", "set(0)"), ("toYYYYMM(d)", "set(4)"), ("(s, b)", "set(0)"),
    ("s", "bloom_filter"), ("n", "bloom_filter(0.1)"), ("(l, u)", "bloom_filter"), ("a", "bloom_filter"), ("mapKeys(k)", "bloom_filter"),
    ("mapValues(k)", "bloom_filter"), ("x", "bloom_filter"), ("p", "bloom_filter"), ("e", "bloom_filter"), ("t", "bloom_filter"), ("f", "bloom_filter"),
    ("s", "tokenbf_v1(32, 2, 0)"), ("l", "tokenbf_v1(32, 2, 0)"), ("s", "ngrambf_v1(2, 64, 2, 0)"), ("a", "tokenbf_v1(32, 2, 0)"),
    ("s", "text(tokenizer = splitByNonAlpha)"), ("lower(s)", "text(tokenizer = ngrams(2))"), ("s", "text(tokenizer = 'array')"),
    ("a", "text(tokenizer = splitByNonAlpha)"), ("mapKeys(k)", "text(tokenizer = 'array')"),
]
COMPARE = ["=", "!=", "<", "<=", ">", ">="]
TEXT = ["ab", "ab cd", "cd", "", "x", "ef", "b c", "ä", "zz"]


class Conditions:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self):
        r, pick = self.random, self.random.choice
        number, text, op = r.randrange(-8, 50), pick(TEXT), pick(COMPARE)
        day, hour = f"2020-0{r.randrange(1, 5)}-{r.randrange(1, 29):02}", f"{r.randrange(24):02}:{r.randrange(60):02}:00"
        uuid = f"00000000-0000-0000-0000-{r.randrange(70):012}"
        return pick([
            f"u {op} {number}", f"{number} {op} u", f"u {op} {number}.5", f"i {op} {number}", f"-i {op} {number}", f"i * 3 + 1 {op} {number}",
            f"50 - u {op} {number}", f"intDiv(u, 7) {op} {number}", f"u % 11 {op} {number}", f"f {op} {number} / 4", f"n {op} {number}",
            f"c {op} {number}.25", f"c {op} toDecimal32('{number}.5', 1)", f"s {op} '{text}'", f"l {op} '{text}'", f"e {op} '{pick('abc')}'", f"b {op} {r.randrange(2)}",
            f"d {op} '{day}'", f"d {op} toDate('{day}')", f"d {op} toDateTime('{day} {hour}', 'UTC')", f"t {op} '{day} {hour}'", f"t {op} toDate('{day}')",
            f"t {op} toDateTime64('{day} {hour}.5', 1, 'UTC')", f"m {op} '{day} {hour}.125'", f"m {op} toDateTime('{day} {hour}', 'UTC')", f"m {op} toDate('{day}')",
            f"toDate(t) {op} '{day}'", f"toYYYYMM(d) {op} 20200{r.randrange(1, 5)}", f"toStartOfHour(m) {op} '{day} {hour}'", f"toStartOfWeek(d) {op} '{day}'",
            f"toStartOfInterval(t, INTERVAL {r.randrange(1, 50)} MINUTE) {op} '{day} {hour}'", f"toTimeZone(t, 'Asia/Tokyo') {op} '{day} {hour}'",
            f"t - INTERVAL {number} DAY {op} '{day} {hour}'", f"x {op} '{uuid}'", f"x IN ('{uuid}', '00000000-0000-0000-0000-000000000017')", f"p {op} '::{r.randrange(10)}'",
            f"u IN ({number}, 3, 17)", f"i NOT IN ({number}, -3)", f"s IN ('{text}', 'ab')", f"n IN ({number}, NULL)", f"has([{number}, 4], u)",
            f"(u, s) IN (({r.randrange(50)}, 'ab'), (3, '{text}'))", f"(i, u) {op} ({number}, 5)", f"(i, u) NOT IN (({number}, 5), (3, 3))",
            f"s LIKE '{text}%'", f"s LIKE '%{text}%'", f"s LIKE '%{text}'", f"s NOT LIKE '{text}%'", f"l LIKE '%{text}%'", f"startsWith(s, '{text}')",
            f"endsWith(s, '{text}')", f"match(s, '^{text}')", f"hasToken(s, '{pick(['ab', 'cd', 'zz'])}')", f"lower(s) LIKE '%{text}%'",
            f"hasAllTokens(s, ['{pick(['ab', 'cd', 'zz'])}', 'cd'])", f"hasAnyTokens(s, '{text} ef')", f"multiSearchAny(s, ['{pick(['ab', 'zz'])}', 'e'])",
            f"has(a, '{text}')", f"hasAny(a, ['{text}', 'x'])", f"hasAll(a, ['{text}', 'ab'])", f"a = ['ab', '{text}']", f"mapContains(k, 'k{r.randrange(8)}')",
            f"k['k{r.randrange(8)}'] = '{pick(['', '3', '7', '77'])}'", "n IS NULL", "n IS NOT NULL", "u", "NOT b", "i % 2", "if(1, u > 20, 0)",
            f"u BETWEEN {number} AND {number + 9}", f"hasTokenCaseInsensitive(s, '{pick(['AB', 'cd'])}')", f"cityHash64(u) % 7 = {r.randrange(7)}",
        ])

    def condition(self, depth=0):
        roll = self.random.random()
        if depth > 2 or roll < 0.45:
            return self.one()
        if roll < 0.55:
            return f"NOT ({self.condition(depth + 1)})"
        return f"({self.condition(depth + 1)} {self.random.choice(['AND', 'OR'])} {self.condition(depth + 1)})"


def main():
    url, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tables = int(sys.argv[3]) if len(sys.argv) > 3 else 50

    def run(sql):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, sql.encode())).read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode().split(" (version")[0]

    conditions, failed, asked, refused = Conditions(seed), 0, 0, 0
    pick = conditions.random.choice
    run("CREATE DATABASE IF NOT EXISTS ri")
    run("DROP TABLE IF EXISTS ri.all")
    run(f"CREATE TABLE ri.all ({COLUMNS}) ENGINE = Memory")
    run(f"INSERT INTO ri.all {ROWS} FROM numbers(3000)")
    for _ in range(tables):
        indexes = conditions.random.sample(INDEXES, conditions.random.randrange(5))
        declared = "".join(f", INDEX i{at} {sql} TYPE {kind} GRANULARITY {pick([1, 1, 2, 3])}" for at, (sql, kind) in enumerate(indexes))
        create = f"CREATE TABLE ri.t ({COLUMNS}{declared}) ENGINE = MergeTree PARTITION BY {pick(PARTITIONS)} ORDER BY {pick(KEYS)} SETTINGS index_granularity = {pick([8, 32, 100])}"
        run("DROP TABLE IF EXISTS ri.t SYNC")
        answers = [run(create)] + [run(f"INSERT INTO ri.t {ROWS} FROM numbers({first}, 1000)") for first in (0, 1000, 2000)]
        if any(answers):
            sys.exit(f"{create}\n{answers}")
        for _ in range(30):
            condition = conditions.condition()
            found = "SELECT count(), sum(cityHash64(u, i, s, t)) FROM ri."
            expected, got = run(f"{found}all WHERE {condition}"), run(f"{found}t WHERE {condition}")
            asked += 1
            if "Code:" in expected and "Code:" in got:
                refused += 1
            elif expected != got:
                failed += 1
                print(f"{create}\n{condition}\n  all {expected.strip()}\n  t   {got.strip()}", flush=True)
    print(f"{asked} conditions, {refused} refused, {failed} differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
