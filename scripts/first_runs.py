#!/usr/bin/env python3
"""The first run of each query after a start, the page cache cold and memory limited: Squall, ClickHouse 26.9 (chdb) and DuckDB in turns.

    sudo python3 scripts/first_runs.py --work DIR --data SERVER_PATH --squall PROGRAM [--memory 1073741824] [--only 0,20] [--runs 1]

DIR is that of `squall storm analytics` or like it: `queries/WORKLOAD.sql` (and `.duckdb.sql`), `chdb-WORKLOAD`, `duck-WORKLOAD.db`. SERVER_PATH
is the folder of a server whose database WORKLOAD is loaded; it must not run. Emptying the page cache needs root. The time is the query's alone:
starts are not counted. The interpreter needs PyPI's `chdb` and `duckdb`.
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from measured_server import MeasuredServer
from ports import free_port

# A process of its own runs one query: it says how long that took in ms, or why it failed.
CHDB = """
import sys, time
from chdb import session
folder, database, memory, threads, query = sys.argv[1:]
peer = session.Session(folder)
peer.query(f"USE {database}")
peer.query(f"SET max_threads = {threads}, max_memory_usage = {memory}")
begun = time.perf_counter()
peer.query(query, "TSV").bytes()
print((time.perf_counter() - begun) * 1e3)
"""
DUCKDB = """
import sys, time
import duckdb
file, _, memory, threads, query = sys.argv[1:]
peer = duckdb.connect(file, read_only=True)
peer.execute("SET enable_progress_bar = false")
peer.execute(f"SET threads = {threads}")
peer.execute(f"SET memory_limit = '{memory}B'")
begun = time.perf_counter()
peer.execute(query).fetchall()
print((time.perf_counter() - begun) * 1e3)
"""


def split(path):
    text = re.sub(r"(?m)^\s*--.*$", "", path.read_text())
    return [query.strip() for query in text.split(";") if query.strip()]


def empty_page_cache():
    subprocess.run(["sync"], check=True)
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


def peer(program, arguments, options, query):
    empty_page_cache()
    words = [sys.executable, "-c", program, *map(str, arguments), str(options.memory), str(options.threads), query]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "no answer")
    return float(done.stdout.split()[-1])


def squall(options, query):
    empty_page_cache()
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [options.squall, "server", "--path", options.data, "--http-port", port, "--tcp-port", 0]
        command += ["--", f"--max_server_memory_usage={options.memory}"]
        server = MeasuredServer([str(word) for word in command], port, pathlib.Path(folder))
        try:
            begun = time.perf_counter()
            server.ask(query, database=options.workload, max_threads=options.threads)
            return (time.perf_counter() - begun) * 1e3
        finally:
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", default="target/release/squall", help="the server's program")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="the folder of queries and of the peers' data")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder of a server that is not running")
    parser.add_argument("--workload", default="clickbench", help="the name of queries and of the database")
    parser.add_argument("--engines", default="squall,chdb,duckdb", help="which to time")
    parser.add_argument("--memory", type=int, default=1 << 30, help="bytes that each engine may take")
    parser.add_argument("--threads", type=int, default=2, help="that a query may use")
    parser.add_argument("--runs", type=int, default=1, help="of each query on each engine; the best counts")
    parser.add_argument("--only", help="numbers of queries, by commas")
    parser.add_argument("--json", type=pathlib.Path, help="where the times go, too")
    options = parser.parse_args()
    options.data = options.data.resolve()
    queries = split(options.work / "queries" / f"{options.workload}.sql")
    of_duckdb = options.work / "queries" / f"{options.workload}.duckdb.sql"
    duckdb_queries = split(of_duckdb) if of_duckdb.exists() else queries
    run = {
        "squall": lambda at: squall(options, queries[at]),
        "chdb": lambda at: peer(CHDB, [options.work / f"chdb-{options.workload}", options.workload], options, queries[at]),
        "duckdb": lambda at: peer(DUCKDB, [options.work / f"duck-{options.workload}.db", "-"], options, duckdb_queries[at]),
    }
    engines = options.engines.split(",")
    chosen = [int(at) for at in options.only.split(",")] if options.only else range(len(queries))
    times = {engine: {} for engine in engines}
    for at in chosen:
        line = f"q{at:<3d}"
        for engine in engines:
            try:
                best = min(run[engine](at) for _ in range(options.runs))
                times[engine][at] = best
                line += f"  {engine} {best:9.1f}"
            except RuntimeError as error:
                line += f"  {engine} failed: {error}"
        print(line, flush=True)
    for engine in engines:
        both = [at for at in chosen if at in times[engine] and at in times.get("squall", {})]
        if engine != "squall" and both:
            ratios = [math.log(times[engine][at] / times["squall"][at]) for at in both]
            mean = math.exp(sum(ratios) / len(ratios))
            slower = [f"q{at}" for at, ratio in zip(both, ratios) if ratio < 0]
            print(f"{engine} / squall: geometric mean {mean:.2f} over {len(both)} queries; slower than {engine}: {', '.join(slower) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps(times))


if __name__ == "__main__":
    main()
