#!/usr/bin/env python3
"""Files of rows here, in ClickHouse 26.9 (chdb, in process) and in DuckDB, one after the other on the same machine, two threads each: the
largest value of every column of a file, and loading it into a table that is sorted by one of them (in DuckDB: into a table). Best of some
runs, and the ratios to the peers. Squall gets what it loads over HTTP, as clients send it; the peers read the file.

    python3 scripts/load_speed.py target/release/squall [thousands of rows] [runs]

The interpreter needs PyPI's `chdb` and `duckdb`. Two million rows, 0.3 GB to 0.7 GB a file, take some minutes.
"""

import contextlib
import http.client
import pathlib
import sys
import tempfile
import urllib.parse
import urllib.request

import chdb.session
import duckdb

from measured_server import MeasuredServer, best

THREADS = 2
# Each column with its type here, in DuckDB, and its values.
COLUMNS = {
    "id": ("UInt64", "UBIGINT", "cityHash64(number)"),
    "kind": ("UInt8", "UTINYINT", "number % 200"),
    "amount": ("Decimal(15, 2)", "DECIMAL(15, 2)", "toDecimal64(cityHash64(number, 1) % 10000000 / 100, 2)"),
    "share": ("Float64", "DOUBLE", "(cityHash64(number, 2) % 1000000) / 7"),
    "optional": ("Nullable(Int32)", "INTEGER", "if(number % 4 = 0, NULL, toInt32(cityHash64(number, 3) % 100000))"),
    "name": ("String", "VARCHAR", "concat('item ', toString(cityHash64(number, 4) % 50000))"),
    "url": (
        "String",
        "VARCHAR",
        "concat('https://site', toString(cityHash64(number, 5) % 500), '.example/path/', toString(cityHash64(number, 6)), '?user=', toString(number % 1000))",
    ),
    "day": ("Date", "DATE", "toDate('2020-01-01') + cityHash64(number, 7) % 2000"),
    "moment": ("DateTime('UTC')", "TIMESTAMP", "toDateTime('2020-01-01 00:00:00', 'UTC') + cityHash64(number, 8) % 170000000"),
}
FORMATS = ["TSV", "CSV", "JSONEachRow"]


def main():
    count = int(float(sys.argv[2]) * 1000) if len(sys.argv) > 2 else 2_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    structure = ", ".join(f"{name} {types[0]}" for name, types in COLUMNS.items())
    largest = ", ".join(f"max({name})" for name in COLUMNS)
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as oracle_folder,
        MeasuredServer.of(sys.argv[1], folder) as server,
    ):
        session = chdb.session.Session(oracle_folder)
        session.query("CREATE DATABASE d")
        session.query("USE d")
        database = duckdb.connect(f"{folder}/duck.db")
        database.execute(f"SET threads = {THREADS}; SET enable_progress_bar = false; SET TimeZone = 'UTC'")
        files = pathlib.Path(folder, "data", "user_files")
        files.mkdir(exist_ok=True)

        def clickhouse(sql):
            return session.query(f"{sql} SETTINGS max_threads = {THREADS}", "TSV").data().strip()

        def squall(sql):
            return server.ask(sql, max_threads=THREADS)

        def duck_source(name, path):
            types = ", ".join(f"'{name}': '{types[1]}'" for name, types in COLUMNS.items())
            if name == "JSONEachRow":
                return f"read_json('{path}', format = 'newline_delimited', columns = {{{types}}})"
            separator = "\\t" if name == "TSV" else ","
            return f"read_csv('{path}', delim = '{separator}', header = false, nullstr = '\\N', columns = {{{types}}})"

        def table(engine, structure=structure):
            engine("DROP TABLE IF EXISTS t SYNC")
            engine(f"CREATE TABLE t ({structure}) ENGINE = MergeTree ORDER BY id")

        print(f"{count:,} rows, {THREADS} threads, DuckDB {duckdb.__version__}")
        print(f"{'':22} {'ClickHouse':>13} {'DuckDB':>11} {'Squall':>11} {'ratios':>13}")

        def show(name, ours, theirs, ducks):
            print(f"{name:22} {theirs:10.0f} ms {ducks:8.0f} ms {ours:8.0f} ms {theirs / ours:6.2f} {ducks / ours:6.2f}", flush=True)

        for name in FORMATS:
            path = files / name
            values = ", ".join(f"{types[2]} AS {name}" for name, types in COLUMNS.items())
            query = urllib.parse.urlencode({"query": f"SELECT {values} FROM numbers({count}) FORMAT {name}"})
            urllib.request.urlretrieve(f"http://127.0.0.1:{server.port}/?{query}", path)
            source = f"file('{{}}', '{name}', $${structure}$$)"
            reads = [f"SELECT {largest} FROM {source.format(where)}" for where in (name, path)]
            assert squall(reads[0]) == clickhouse(reads[1]), name
            duck_read = f"SELECT {largest} FROM {duck_source(name, path)}"
            show(
                f"{name}, {path.stat().st_size / 1e9:.2f} GB: read",
                best(squall, reads[0], runs),
                best(clickhouse, reads[1], runs),
                best(lambda sql: database.execute(sql).fetchall(), duck_read, runs),
            )
            insert = urllib.parse.urlencode({"query": f"INSERT INTO t FORMAT {name}", "max_threads": THREADS})

            def load(_, path=path, insert=insert):
                table(server.ask)
                connection = http.client.HTTPConnection("127.0.0.1", server.port, blocksize=1 << 20)
                with path.open("rb") as body, contextlib.closing(connection):
                    length = {"Content-Length": str(path.stat().st_size)}
                    connection.request("POST", f"/?{insert}", body, length)
                    response = connection.getresponse()
                    assert response.status == 200, response.read()
                    response.read()

            def load_clickhouse(path, source=source):
                table(session.query)
                session.query(f"INSERT INTO t SELECT * FROM {source.format(path)} SETTINGS max_threads = {THREADS}")

            def load_duck(path, name=name):
                database.execute("DROP TABLE IF EXISTS t")
                database.execute(f"CREATE TABLE t AS SELECT * FROM {duck_source(name, path)}")
                database.execute("CHECKPOINT")

            show(f"{name}: load", *(best(engine, path, runs) for engine in (load, load_clickhouse, load_duck)))
            total = "SELECT count(), sum(cityHash64(id, share, url)) FROM t"
            assert squall(total) == clickhouse(total), name
            path.unlink()
        session.close()


if __name__ == "__main__":
    main()
