#!/usr/bin/env python3
"""Merging of large aggregate states: on one thread and on two, here and in ClickHouse 26.9 (chdb, in process), one after the other on the
same machine: medians, and what the second thread gains. First, how long KILL QUERY takes while states are merged, and what is computed after it.

    python3 scripts/merge_speed.py target/release/squall [runs]

The interpreter needs PyPI's `chdb`.
"""

import statistics
import sys
import tempfile
import threading
import time

import chdb.session

from measured_server import MeasuredServer

# What a server that answers nobody may compute in 200 ms.
REST_NS = 10_000_000

QUERIES = {
    "uniqExact, one large set": "SELECT uniqExact(number) FROM numbers_mt(60000000)",
    "uniqExact, strings": "SELECT uniqExact(toString(number)) FROM numbers_mt(6000000)",
    "uniqExact, 10 groups": "SELECT k, uniqExact(number) FROM numbers_mt(30000000) GROUP BY number % 10 AS k ORDER BY k",
    "uniqExact, one of many groups is large": (
        "SELECT max(u), count() FROM (SELECT uniqExact(number) AS u FROM numbers_mt(20000000) GROUP BY if(number % 2 = 0, 0, number % 100003))"
    ),
    "uniqExact, 1000 groups of 20k": "SELECT sum(u) FROM (SELECT uniqExact(number) AS u FROM numbers_mt(20000000) GROUP BY number % 1000)",
    "uniqExact, single-level sets": "SELECT uniqExact(number % 60000) FROM numbers_mt(60000000)",
    "uniqExact, 100 single-level sets": "SELECT sum(u) FROM (SELECT uniqExact(intHash64(number)) AS u FROM numbers_mt(6000000) GROUP BY number % 100)",
    "groupUniqArray": "SELECT length(groupUniqArray(number)) FROM numbers_mt(10000000)",
    "groupArray": "SELECT length(groupArray(number)) FROM numbers_mt(40000000)",
    "sum, for comparison": "SELECT sum(number) FROM numbers_mt(200000000)",
    "count by key, for comparison": "SELECT count() FROM (SELECT count() FROM numbers_mt(60000000) GROUP BY number % 10000)",
}


def table(squall, clickhouse, runs):
    print(f"{'':40} {'ClickHouse: 1':>14} {'2 threads':>10} {'gain':>5} {'Squall: 1':>10} {'2 threads':>10} {'gain':>5}")
    for name, query in QUERIES.items():
        times, results = {}, set()
        for _ in range(runs):
            for server in (squall, clickhouse):
                for threads in (1, 2):
                    began = time.perf_counter()
                    results.add(server(f"{query} SETTINGS max_threads = {threads}"))
                    times.setdefault((server, threads), []).append(time.perf_counter() - began)
        assert len(results) == 1, f"{name}: the results differ: {results}"
        columns = []
        for server in (clickhouse, squall):
            one, two = (statistics.median(times[server, threads]) * 1000 for threads in (1, 2))
            columns.append(f"{one:7.0f} ms {two:7.0f} ms {one / two:5.2f}")
        print(f"{name:40} {'     '.join(columns)}", flush=True)


def killed(server, name, query, rows):
    """How long a query that is killed when all its rows have come takes to answer, and what the server still computes afterwards."""

    def run():
        try:
            server.ask(query, query_id="heavy")
            ended["error"] = False
        except RuntimeError as error:
            ended["error"] = "QUERY_WAS_CANCELLED" in str(error)
        ended["at"] = time.perf_counter()

    ended = {}
    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        seen = server.ask("SELECT read_rows FROM system.processes WHERE query_id = 'heavy'")
        if seen and int(seen) >= rows:
            break
        time.sleep(0.002)
    began, before = time.perf_counter(), server.cpu_ns()
    server.ask("KILL QUERY WHERE query_id = 'heavy' ASYNC")
    thread.join()
    used, last = server.cpu_ns(), 0
    while used - last > REST_NS:
        time.sleep(0.2)
        used, last = server.cpu_ns(), used
    if ended["error"]:
        answer = (ended["at"] - began) * 1000
        print(f"KILL while states merge: {name:28} answer {answer:6.1f} ms, CPU {(used - before) / 1e6:5.0f} ms", flush=True)
    else:
        print(f"KILL while states merge: {name:28} too late, the query was over", flush=True)


def main():
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as oracle_folder,
        MeasuredServer.of(sys.argv[1], folder) as server,
    ):
        for _ in range(3):
            for name in ("uniqExact, one large set", "uniqExact, 10 groups", "groupUniqArray"):
                rows = {"uniqExact, one large set": 60_000_000, "uniqExact, 10 groups": 30_000_000, "groupUniqArray": 10_000_000}
                killed(server, name, f"{QUERIES[name]} SETTINGS max_threads = 2", rows[name])
        session = chdb.session.Session(oracle_folder)
        table(server.ask, lambda sql: session.query(sql, "TSV").data().strip(), runs)
        session.close()


if __name__ == "__main__":
    main()
