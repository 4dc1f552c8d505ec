"""Queries here, in ClickHouse 26.9 (chdb, in process) and in DuckDB, one after the other on the same machine: the best of some runs and the ratios
to the peers. Answers stay where they are made: FORMAT Null here and in ClickHouse, a temporary table in DuckDB."""

import contextlib
import statistics
import tempfile
import time

import chdb.session
import duckdb

from measured_server import MeasuredServer, best


class SideBySide:
    """Three engines with so many threads each, empty. As a context they end with the block."""

    def __init__(self, program, threads):
        self.program, self.threads = program, threads
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        folder, oracle_folder = (self.stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2))
        self.server = self.stack.enter_context(MeasuredServer.of(self.program, folder))
        self.session = chdb.session.Session(oracle_folder)
        self.stack.callback(self.session.close)
        self.session.query("CREATE DATABASE d")
        self.session.query("USE d")
        self.database = duckdb.connect(f"{folder}/duck.db")
        self.database.execute(f"SET threads = {self.threads}")
        return self

    def __exit__(self, *_):
        self.stack.close()

    def create(self, statement, of_duckdb):
        """Creates a table by a statement of ClickHouse's SQL and one of DuckDB's."""
        self.server.ask(statement)
        self.session.query(statement)
        self.database.execute(of_duckdb)

    def check(self, query):
        """Ends the script where the three answers to a query of one row differ."""
        ours = self.server.ask(query).split("\t")
        assert ours == [str(value) for value in self.database.execute(query).fetchone()], query
        assert ours == self.session.query(query, "TSV").data().strip().split("\t"), query

    def measure(self, queries, runs):
        """Prints a line for each query, by name."""

        def squall(sql):
            self.server.ask(sql + " FORMAT Null", max_threads=self.threads)

        def clickhouse(sql):
            self.session.query(f"{sql} SETTINGS max_threads = {self.threads}", "Null")

        def duck(sql):
            self.database.execute("CREATE OR REPLACE TEMP TABLE answer AS " + sql)

        print(f"{'':34} {'ClickHouse':>13} {'DuckDB':>11} {'Squall':>11} {'ratios':>13}")
        for name, sql in queries.items():
            ours, theirs, ducks = (best(engine, sql, runs) for engine in (squall, clickhouse, duck))
            ratios = f"{theirs / ours:6.2f} {ducks / ours:6.2f}"
            print(f"{name:34} {theirs:10.0f} ms {ducks:8.0f} ms {ours:8.0f} ms {ratios}", flush=True)


def beside_clickhouse(program, statements, queries, runs, thread_counts):
    """Prints a line for each query, by name, and each number of threads (0: all): the medians of some runs in turns, and their ratio. Ends the
    script where the answers differ."""
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as oracle_folder,
        MeasuredServer.of(program, folder) as server,
        contextlib.closing(chdb.session.Session(oracle_folder)) as session,
    ):

        def squall(sql):
            return server.ask(sql)

        def clickhouse(sql):
            return session.query(sql, "TSV").data().strip()

        for statement in statements:
            squall(statement)
            clickhouse(statement)
        print(f"{'':34} {'threads':>8} {'ClickHouse':>12} {'Squall':>12} {'ratio':>7}")
        for threads in thread_counts:
            settings = f" SETTINGS max_threads = {threads}" if threads else ""
            for name, query in queries.items():
                times = {squall: [], clickhouse: []}
                results = set()
                for _ in range(runs):
                    for engine, taken in times.items():
                        began = time.perf_counter()
                        results.add(engine(query + settings))
                        taken.append(time.perf_counter() - began)
                assert len(results) == 1, f"{name}: the results differ: {results}"
                ours, theirs = (statistics.median(times[engine]) * 1000 for engine in (squall, clickhouse))
                print(f"{name:34} {threads or 'all':>8} {theirs:9.1f} ms {ours:9.1f} ms {theirs / ours:7.2f}", flush=True)
