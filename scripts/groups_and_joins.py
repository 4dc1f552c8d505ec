#!/usr/bin/env python3
"""GROUP BY and joins like those of the db-benchmark of H2O (few and many groups, keys of numbers and of strings, build sides of any size), here, in
ClickHouse 26.9 (chdb, in process) and in DuckDB, one after the other on the same machine, two threads each: the best of some runs and the ratios to
the peers.

    python3 scripts/groups_and_joins.py target/release/squall [millions of rows] [runs]

The interpreter needs PyPI's `chdb` and `duckdb`. Ten million rows take some minutes.
"""

import sys

import duckdb

from side_by_side import SideBySide

THREADS = 2
# Numbers that look random, in arithmetic that both have.
RANDOM = "((n + {seed}) * 2654435761 + 12345) % 4294967291"
GROUPS = {
    "by a string, 100 groups": "SELECT id1, sum(v1) FROM g GROUP BY id1",
    "by two strings, 10,000 groups": "SELECT id1, id2, sum(v1) FROM g GROUP BY id1, id2",
    "by a string, many groups": "SELECT id3, sum(v1), avg(v3) FROM g GROUP BY id3",
    "by a number, many groups": "SELECT id6, sum(v1), sum(v2), sum(v3) FROM g GROUP BY id6",
    "by two strings and two numbers": "SELECT id1, id2, id4, id5, count(*) FROM g GROUP BY id1, id2, id4, id5",
    "by three strings, three numbers": "SELECT id1, id2, id3, id4, id5, id6, sum(v3), count(*) FROM g GROUP BY id1, id2, id3, id4, id5, id6",
    "median and deviation by numbers": "SELECT id4, id5, median(v3), stddev_samp(v3) FROM g GROUP BY id4, id5",
    "two best of each of many": "SELECT id6, v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS rn FROM g) AS t WHERE rn <= 2",
}
JOINS = {
    "a small table by a number": "SELECT count(*), sum(v1), sum(w) FROM g JOIN medium AS m ON g.id4 = m.id5",
    "the same by a string": "SELECT count(*), sum(v1), sum(w) FROM g JOIN medium AS m ON g.id2 = m.id2",
    "a large table by a number": "SELECT count(*), sum(v1), sum(w) FROM g JOIN big AS b ON g.row = b.row",
    "by a string": "SELECT count(*), sum(v1), sum(w) FROM g JOIN big AS b ON g.name = b.name",
    "by two numbers": "SELECT count(*), sum(v1), sum(w) FROM g JOIN big AS b ON g.row = b.row AND g.id4 = b.id4",
    "by three numbers, LEFT JOIN": "SELECT count(*), sum(v1), sum(w) FROM g LEFT JOIN big AS b ON g.row = b.row AND g.id4 = b.id4 AND g.id5 = b.id5",
    "names of many, GROUP BY": "SELECT b.name, sum(v1), count(*) FROM g JOIN big AS b ON g.id6 = b.row GROUP BY b.name",
}


def random(seed, values):
    return f"CAST({RANDOM.format(seed=seed)} % {values} AS INTEGER)"


def word(seed, values):
    return f"concat('id', lpad(CAST({random(seed, values)} AS VARCHAR), 10, '0'))"


def create(engines, table, columns, rows):
    """Makes a table of expressions over `n`."""
    chosen = f"SELECT {', '.join(f'{expression} AS {name}' for name, expression in columns.items())} FROM"
    here = chosen.replace("lpad", "leftPad").replace("VARCHAR", "String").replace("INTEGER", "Int32")
    engines.create(
        f"CREATE TABLE {table} ENGINE = MergeTree ORDER BY tuple() AS {here} (SELECT number AS n FROM numbers({rows}))",
        f"CREATE TABLE {table} AS {chosen} (SELECT range AS n FROM range({rows}))",
    )


def main():
    rows = int(float(sys.argv[2]) * 1_000_000) if len(sys.argv) > 2 else 10_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    half, many = rows // 2, rows // 100
    with SideBySide(sys.argv[1], THREADS) as engines:
        columns = {"id1": word(1, 100), "id2": word(2, 100), "id3": word(3, many), "id4": random(4, 100), "id5": random(5, 100), "id6": random(6, many)}
        columns |= {"v1": random(7, 5), "v2": random(8, 15), "v3": f"{RANDOM.format(seed=9)} / 42949672.0", "row": random(10, rows), "name": word(10, rows)}
        create(engines, "g", columns, rows)
        create(engines, "medium", {"id2": "concat('id', lpad(CAST(n AS VARCHAR), 10, '0'))", "id5": "CAST(n AS INTEGER)", "w": "n / 7"}, 100)
        big = {"row": "CAST(n AS INTEGER)", "name": "concat('id', lpad(CAST(n AS VARCHAR), 10, '0'))", "id4": random(4, 100), "id5": random(5, 100), "w": "n / 7"}
        create(engines, "big", big, half)
        engines.check("SELECT count(*), sum(id4), max(id3), sum(v1) FROM g")
        engines.check("SELECT count(*), sum(v1) FROM g JOIN big AS b ON g.name = b.name")
        print(f"{rows:,} rows, a large table of {half:,}, {THREADS} threads, DuckDB {duckdb.__version__}")
        for name, queries in (("GROUP BY", GROUPS), ("JOIN", JOINS)):
            print(name)
            engines.measure(queries, runs)


if __name__ == "__main__":
    main()
