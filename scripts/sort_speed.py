#!/usr/bin/env python3
"""ORDER BY of all rows, windows and the first rows of each partition, here, in ClickHouse 26.9 (chdb, in process) and in DuckDB, one
after the other on the same machine, two threads each: the best of some runs and the ratios to the peers. Answers stay where they are
made: FORMAT Null here and in ClickHouse, a temporary table in DuckDB.

    python3 scripts/sort_speed.py target/release/squall [millions of rows] [runs]

The interpreter needs PyPI's `chdb` and `duckdb`. Ten million rows take a few minutes.
"""

import sys

import duckdb

from side_by_side import SideBySide

THREADS = 2
# Numbers that look random, in arithmetic that both have.
RANDOM = "(n * 2654435761 + 12345) % 4294967291"
TABLE = (
    f"SELECT CAST({RANDOM} % 100000 AS INTEGER) AS k, CAST({RANDOM} % 100 AS INTEGER) AS few, {RANDOM} / 1000.0 AS x,"
    f" concat('id', lpad(CAST({RANDOM} % 1000000 AS VARCHAR), 10, '0')) AS s, n AS v FROM rows"
)
QUERIES = {
    "by a float": "SELECT x FROM t ORDER BY x",
    "by an integer": "SELECT k FROM t ORDER BY k",
    "by a string": "SELECT s FROM t ORDER BY s",
    "by an integer and a float": "SELECT k, x FROM t ORDER BY k, x DESC",
    "all columns": "SELECT * FROM t ORDER BY k, x",
    "row_number of 100,000 partitions": "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM t) AS w",
    "sum of 100 partitions": "SELECT max(r) FROM (SELECT sum(v) OVER (PARTITION BY few) AS r FROM t) AS w",
    "first 2 of 100,000 partitions": (
        "SELECT k, x FROM (SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM t) AS w WHERE r <= 2"
    ),
    "first 5 of 100 partitions": (
        "SELECT few, x FROM (SELECT few, x, row_number() OVER (PARTITION BY few ORDER BY x DESC) AS r FROM t) AS w WHERE r <= 5"
    ),
}


def main():
    rows = int(float(sys.argv[2]) * 1_000_000) if len(sys.argv) > 2 else 10_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with SideBySide(sys.argv[1], THREADS) as engines:
        numbers = f"(SELECT number AS n FROM numbers({rows}))"
        create = f"CREATE TABLE t ENGINE = MergeTree ORDER BY tuple() AS {TABLE.replace('FROM rows', 'FROM ' + numbers)}"
        create = create.replace("lpad", "leftPad").replace("VARCHAR", "String").replace("INTEGER", "Int32")
        engines.create(create, f"CREATE TABLE t AS {TABLE.replace('FROM rows', f'FROM (SELECT range AS n FROM range({rows}))')}")
        for query in ("SELECT count(*), sum(k), max(s) FROM t", "SELECT count(*), min(k), max(k), sum(v) FROM t WHERE x > 2000000 AND few = 7"):
            engines.check(query)
        print(f"{rows:,} rows, {THREADS} threads, DuckDB {duckdb.__version__}")
        engines.measure(QUERIES, runs)


if __name__ == "__main__":
    main()
