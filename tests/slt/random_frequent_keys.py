#!/usr/bin/env python3
"""Random GROUP BY … ORDER BY count() DESC LIMIT n over tables of a million rows and more, with keys counted before and without: both give the
same. Needs no ClickHouse.

    python3 tests/slt/random_frequent_keys.py http://127.0.0.1:8123/ [seed] [tables]
"""

import random
import sys
import urllib.request

# How often each of so many keys occurs, from some that occur in every tenth row to all alike.
SPREADS = {
    "log": "toUInt32(exp2({bits} * (r % 1000000) / 1000000))",
    "square": "toUInt32(pow((r % 1000000) / 1000000, 3) * exp2({bits}))",
    "few": "if(r % {rare} = 0, 1000 + intHash32(r) % 7, toUInt32(r % toUInt64(exp2({bits}))))",
    "alike": "toUInt32(r % toUInt64(exp2({bits})))",
}
KEYS = ["k", "toString(k)", "n", "l", "s", "toDate(k % 60000)", "k * 3 + 1", "x", "b", "m % 3", "i", "toUInt8(k)", "toInt128(k) * -1", "f"]
CALLS = ["sum(m)", "uniqExact(m % 100)", "min(s)", "avg(i)", "countIf(m % 2 = 0)", "any(1)", "max(l)"]
FILTERS = ["m % 3 != 1", "s != ''", "k > 100", "n IS NOT NULL", "m < 700000", "b = 0", "l LIKE '%1%'"]


def main():
    url, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tables = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    pick = random.Random(seed)

    def run(sql):
        return urllib.request.urlopen(urllib.request.Request(url, sql.encode())).read().decode()

    failed = asked = 0
    for _ in range(tables):
        rows = pick.randrange(900_000, 2_500_000)
        spread = pick.choice(list(SPREADS))
        k = SPREADS[spread].format(bits=pick.randrange(10, 21), rare=pick.choice([5, 50, 500]))
        run("CREATE OR REPLACE TABLE frequent (m UInt32, k UInt32, s String, l LowCardinality(String), n Nullable(Int16), x FixedString(5), b UInt64,"
            f" i Int64, f Float64) ENGINE = MergeTree ORDER BY {pick.choice(['m', 'k', 'tuple()', 's'])}")
        run(f"INSERT INTO frequent WITH intHash64(number + {seed}) AS r, {k} AS k SELECT number, k, if(k % {pick.choice([2, 3, 100])} = 0, '', 'text ' || k), 'l' || k % 300,"
            f" if(k % 11 = 0, NULL, k), leftPad(toString(k % 100000), 5), if(k % 50 = 0, k, 0), k % 9 - r % 2, k / 3 FROM numbers({rows})")
        for _ in range(25):
            keys = pick.sample(KEYS, pick.choice([1, 1, 2, 3]))
            where = f" WHERE {' AND '.join(pick.sample(FILTERS, pick.choice([1, 2])))}" if pick.random() < 0.4 else ""
            calls = pick.sample(CALLS, pick.choice([0, 0, 1, 2]))
            order = ", ".join(["count() DESC", *pick.choice([keys, [f"{key} DESC" for key in keys]])])
            limit = f"{pick.choice([1, 3, 10, 100, 1000])}" + (f" OFFSET {pick.randrange(20)}" if pick.random() < 0.2 else "")
            sql = f"SELECT {', '.join([*keys, 'count()', *calls])} FROM frequent{where} GROUP BY {', '.join(keys)} ORDER BY {order} LIMIT {limit}"
            answers = [run(f"{sql} SETTINGS max_threads = {pick.choice([1, 2, 8])}, optimize_order_by_count_limit = {is_on}") for is_on in (1, 0)]
            asked += 1
            if answers[0] != answers[1]:
                failed += 1
                print(f"{sql}\n  counted before:\n{answers[0][:600]}\n  without:\n{answers[1][:600]}")
    run("DROP TABLE frequent")
    print(f"{asked} queries of {tables} tables, {failed} differ")
    sys.exit(failed > 0)


main()
