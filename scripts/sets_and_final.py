#!/usr/bin/env python3
"""IN of large subqueries, and FINAL, here and in ClickHouse 26.9 (chdb, in process), in turns on the same machine: medians and their ratio.

    python3 scripts/sets_and_final.py target/release/squall [million rows an INSERT] [runs]

The interpreter needs PyPI's `chdb` and `duckdb`.
"""

import sys

from side_by_side import beside_clickhouse


def statements(rows):
    """Five INSERTs whose keys overlap, and a table that is one part and a few newer rows."""
    changed = "ENGINE = ReplacingMergeTree(v) ORDER BY k"
    columns = "k UInt64, v UInt32, s String, d Date, x Float64"
    values = "number % 7 + {}, toString(number % 1000), toDate('2020-01-01') + number % 1000, number / 4"
    # One block an INSERT: its part is the same on both sides.
    settings = f"SETTINGS max_insert_threads = 1, max_block_size = {rows}, min_insert_block_size_rows = {rows}, min_insert_block_size_bytes = 0"
    parts = (
        f"INSERT INTO changed SELECT cityHash64(number + {part * rows // 2}) % {rows * 4} AS k, {values.format(part)} FROM numbers({rows}) {settings}"
        for part in range(5)
    )
    return [
        f"CREATE TABLE changed ({columns}) {changed}",
        "SYSTEM STOP MERGES changed",
        *parts,
        f"CREATE TABLE merged ({columns}) {changed}",
        f"INSERT INTO merged SELECT number AS k, {values.format(0)} FROM numbers({rows * 4})",
        "OPTIMIZE TABLE merged FINAL",
        f"INSERT INTO merged SELECT number + {rows * 4 - 1000} AS k, {values.format(9)} FROM numbers(2000)",
        "CREATE TABLE facts (k UInt64, n UInt32, s String) ENGINE = MergeTree ORDER BY k",
        "INSERT INTO facts SELECT number, intHash32(number), toString(number) FROM numbers(10000000)",
    ]


QUERIES = {
    "FINAL: count": "SELECT count() FROM changed FINAL",
    "FINAL: three columns": "SELECT sum(v), sum(x), uniqExact(s) FROM changed FINAL",
    "FINAL: groups": "SELECT s, count(), sum(x) FROM changed FINAL WHERE d > '2020-06-01' GROUP BY s ORDER BY s LIMIT 5",
    "FINAL: range of the key": "SELECT count() FROM changed FINAL WHERE k BETWEEN 1000 AND 100000",
    "FINAL: one key": "SELECT count() FROM changed FINAL WHERE k = 12345",
    "FINAL: newest rows of a large part": "SELECT count(), sum(v), sum(x) FROM merged FINAL",
    "IN 1 M numbers": "SELECT count() FROM facts WHERE n IN (SELECT intHash32(number * 3) FROM numbers(1000000))",
    "IN 4 M numbers": "SELECT count() FROM facts WHERE n IN (SELECT intHash32(number * 3) FROM numbers(4000000))",
    "IN 4 M keys": "SELECT count() FROM facts WHERE k IN (SELECT number * 3 FROM numbers(4000000))",
    "NOT IN 1 M numbers": "SELECT count() FROM facts WHERE n NOT IN (SELECT intHash32(number * 3) FROM numbers(1000000))",
    "IN 1 M strings": "SELECT count() FROM facts WHERE s IN (SELECT toString(number * 3) FROM numbers(1000000))",
    "IN 1 M pairs": "SELECT count() FROM facts WHERE (k, n) IN (SELECT number * 3, intHash32(number * 3) FROM numbers(1000000))",
    "IN 20,000 numbers": "SELECT count() FROM facts WHERE n IN (SELECT intHash32(number * 3) FROM numbers(20000))",
}


def main():
    rows = int(float(sys.argv[2]) * 1_000_000) if len(sys.argv) > 2 else 1_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    beside_clickhouse(sys.argv[1], statements(rows), QUERIES, runs, (1, 2))


if __name__ == "__main__":
    main()
