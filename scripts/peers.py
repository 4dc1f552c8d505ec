"""Times one GROUP BY, one client, on Squall, on ClickHouse's engine in process (chdb) and on DuckDB: the same rows, in turns.

Squall answers over its native protocol, from another process; the peers are called in this one, which spares them that.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import chdb
import chdb.session
import clickhouse_driver
import duckdb

from measured_server import MeasuredServer

QUERY = (
    "select count(ClientIP) as total, ResolutionWidth from {table} "
    "group by ResolutionWidth order by total desc, ResolutionWidth limit 100"
)


class Squall:
    """A server of its own, with the two columns of `file` in a MergeTree table."""

    name = "Squall"

    def __init__(self, program, folder, file):
        self.server = MeasuredServer.of(program, folder)
        self.client = clickhouse_driver.Client("127.0.0.1", port=self.server.tcp_port)
        self.client.execute("CREATE TABLE hits (ClientIP UInt32, ResolutionWidth UInt16) ENGINE = MergeTree ORDER BY ()")
        self.server.get("/?query=INSERT+INTO+hits+FORMAT+Parquet", file.read_bytes())

    def rows(self):
        return [tuple(row) for row in self.client.execute(QUERY.format(table="hits"))]

    def stop(self):
        self.server.stop()


class Chdb:
    def __init__(self, folder, file):
        self.session = chdb.session.Session(str(folder / "chdb"))
        self.name = f"ClickHouse {self.session.query('SELECT version()', 'TSVRaw').data().strip()} (chdb)"
        self.session.query("CREATE DATABASE d")
        self.session.query("CREATE TABLE d.hits (ClientIP UInt32, ResolutionWidth UInt16) ENGINE = MergeTree ORDER BY ()")
        self.session.query(f"INSERT INTO d.hits SELECT * FROM file('{file}')")
        self.session.query("OPTIMIZE TABLE d.hits FINAL")

    def rows(self):
        text = self.session.query(QUERY.format(table="d.hits"), "TSVRaw").data()
        return [tuple(map(int, line.split("\t"))) for line in text.splitlines()]

    def stop(self):
        pass


class DuckDB:
    name = f"DuckDB {duckdb.__version__}"

    def __init__(self, file):
        self.connection = duckdb.connect()
        self.connection.execute(f"CREATE TABLE hits AS SELECT * FROM '{file}'")

    def rows(self):
        return self.connection.execute(QUERY.format(table="hits")).fetchall()

    def stop(self):
        pass


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--squall", default="target/release/squall", help="the program")
    arguments.add_argument("--rows", type=int, default=8_873_898)
    arguments.add_argument("--runs", type=int, default=101, help="how often each answers")
    options = arguments.parse_args()
    program = pathlib.Path(options.squall).resolve()
    with tempfile.TemporaryDirectory(prefix="squall-peers-") as folder:
        folder = pathlib.Path(folder)
        wide, file = folder / "wide.parquet", folder / "hits.parquet"
        print(f"Making {options.rows} rows", flush=True)
        subprocess.run(
            [program, "datagen", "hits", "--rows", str(options.rows), "--format", "parquet", "--output", wide], check=True
        )
        duckdb.execute(f"COPY (SELECT ClientIP, ResolutionWidth FROM '{wide}') TO '{file}'")
        wide.unlink()
        engines = [Squall(program, folder, file), Chdb(folder, file), DuckDB(file)]
        try:
            answers = [engine.rows() for engine in engines]
            if any(answer != answers[0] for answer in answers):
                raise SystemExit("the engines do not agree")
            times_ms = {engine.name: [] for engine in engines}
            for _ in range(options.runs):
                for engine in engines:
                    begun = time.perf_counter()
                    engine.rows()
                    times_ms[engine.name].append((time.perf_counter() - begun) * 1e3)
        finally:
            for engine in engines:
                engine.stop()
        ours = statistics.median(times_ms[engines[0].name])
        print(f"{options.rows} rows, {len(answers[0])} groups, {options.runs} runs in turns, one client")
        for name, times in times_ms.items():
            median = statistics.median(times)
            print(f"{name:32} median {median:7.2f} ms  least {min(times):7.2f} ms  {median / ours:5.1f} x Squall's median")


if __name__ == "__main__":
    main()
