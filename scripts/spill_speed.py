#!/usr/bin/env python3
"""Queries over ten times the memory that they may use, here and in DuckDB, one after the other on the same machine, two threads each:
medians and their ratio. Both have their tables on disk and put what does not fit there too.

    python3 scripts/spill_speed.py target/release/squall [millions of rows] [limit in MB] [runs]

The interpreter needs PyPI's `duckdb`. Ten million rows are about 0.6 GB.
"""

import statistics
import sys
import tempfile
import time

import duckdb

from measured_server import MeasuredServer

THREADS = 2
# Numbers that look random, in arithmetic that both have.
KEY = "(n * 2654435761 + 12345) % 4294967291"
TABLES = {
    "left_side": f"SELECT {KEY} AS k, n AS v, concat('value ', {KEY}, ' of the table') AS s FROM rows",
    "right_side": f"SELECT {KEY} AS k, n + 1 AS w, concat('other ', {KEY}) AS t FROM rows",
}
QUERIES = {
    "ORDER BY a number": "SELECT * FROM left_side ORDER BY k LIMIT 10 OFFSET {last}",
    "ORDER BY a string": "SELECT * FROM left_side ORDER BY s LIMIT 10 OFFSET {last}",
    "GROUP BY a number": "SELECT count(*), sum(c), sum(m) FROM (SELECT k, count(*) AS c, max(v) AS m FROM left_side GROUP BY k) AS g",
    "GROUP BY a string": "SELECT count(*), sum(c), sum(m) FROM (SELECT s, count(*) AS c, max(v) AS m FROM left_side GROUP BY s) AS g",
    "DISTINCT": "SELECT count(*) FROM (SELECT DISTINCT k, s FROM left_side) AS d",
    "JOIN": "SELECT count(*), sum(v), sum(w), max(t) FROM left_side JOIN right_side ON left_side.k = right_side.k",
}


def main():
    rows = int(float(sys.argv[2]) * 1_000_000) if len(sys.argv) > 2 else 10_000_000
    limit_mb = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    with tempfile.TemporaryDirectory() as folder, MeasuredServer.of(sys.argv[1], folder) as server:
        database = duckdb.connect(f"{folder}/duck.db")
        database.execute(f"SET threads = {THREADS}")
        database.execute(f"SET temp_directory = '{folder}/duck'")
        for name, select in TABLES.items():
            numbers = f"(SELECT number AS n FROM numbers({rows}))"
            server.ask(f"CREATE TABLE {name} ENGINE = MergeTree ORDER BY tuple() AS {select.replace('FROM rows', 'FROM ' + numbers)}")
            numbers = f"(SELECT range AS n FROM range({rows}))"
            database.execute(f"CREATE TABLE {name} AS {select.replace('FROM rows', 'FROM ' + numbers)}")
        database.execute("CHECKPOINT")
        database.execute(f"SET memory_limit = '{limit_mb}MB'")
        limits = {"max_threads": THREADS, "max_memory_usage": limit_mb * 1_000_000}

        def squall(sql):
            return [line.split("\t") for line in server.ask(sql, **limits).splitlines()]

        def duck(sql):
            return [[str(value) for value in row] for row in database.execute(sql).fetchall()]

        print(f"{rows:,} rows, {limit_mb} MB, {THREADS} threads, DuckDB {duckdb.__version__}")
        print(f"{'':20} {'DuckDB':>10} {'Squall':>10} {'ratio':>7}")
        for name, query in QUERIES.items():
            sql = query.format(last=rows - 10)
            times, results = {duck: [], squall: []}, {duck: None, squall: None}
            for _ in range(runs):
                for engine, taken in times.items():
                    began = time.perf_counter()
                    try:
                        results[engine] = engine(sql)
                    except (RuntimeError, duckdb.Error) as error:
                        results[engine] = error
                    taken.append(time.perf_counter() - began)
            failed = {engine: result for engine, result in results.items() if isinstance(result, Exception)}
            assert failed or results[duck] == results[squall], f"{name}: the results differ: {results}"
            theirs, ours = (statistics.median(times[engine]) for engine in (duck, squall))
            cells = ["fails" if engine in failed else f"{taken:.2f} s" for engine, taken in ((duck, theirs), (squall, ours))]
            ratio = "" if failed else f"{theirs / ours:.2f}"
            print(f"{name:20} {cells[0]:>10} {cells[1]:>10} {ratio:>7}", flush=True)
            for engine, error in failed.items():
                print(f"    {engine.__name__}: {str(error).splitlines()[0][:120]}", flush=True)
        database.close()


if __name__ == "__main__":
    main()
