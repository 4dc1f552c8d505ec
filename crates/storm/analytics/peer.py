"""Answers the queries of `squall storm analytics` with an engine in this process: chdb (ClickHouse as a library) or DuckDB.

python -c SOURCE chdb|duckdb FOLDER DATABASE

The first line out says what the engine is. Then each line in is {"sql": …, "threads": …}, and each line out {"ms": …, "rows": …} or {"error": …}.
Lines are JSON. The answer is fetched whole within the time."""
import json
import os
import sys
import time

# A folder `duckdb` where this runs is not the library.
sys.path = [folder for folder in sys.path if folder]
# What the engines print themselves goes to standard error: the answers keep standard output for themselves.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


class Chdb:
    def __init__(self, folder, database):
        from chdb import session

        self.session = session.Session(os.path.join(folder, "chdb"))
        self.title = "chdb, ClickHouse " + self.session.query("SELECT version()", "TabSeparated").bytes().decode().strip()
        self.session.query(f"CREATE DATABASE IF NOT EXISTS {database}")
        self.session.query(f"USE {database}")
        # Otherwise a query that runs again skips what it found not to match: not what is measured.
        self.session.query("SET use_query_condition_cache = 0")
        # As SQL has it, and DuckDB.
        self.session.query("SET join_use_nulls = 1")

    def set_threads(self, threads):
        self.session.query(f"SET max_threads = {threads}")

    def rows(self, sql):
        return self.session.query(sql, "TabSeparated").bytes().count(b"\n")


class Duckdb:
    def __init__(self, folder, database):
        import duckdb

        os.makedirs(os.path.join(folder, "duckdb"), exist_ok=True)
        self.connection = duckdb.connect(os.path.join(folder, "duckdb", database + ".db"))
        self.title = "DuckDB " + duckdb.__version__
        # Queries for ClickHouse write days and numbers with these.
        self.connection.execute("CREATE OR REPLACE TEMP MACRO toDate(x) AS CAST(x AS DATE)")
        self.connection.execute("CREATE OR REPLACE TEMP MACRO toFloat64(x) AS CAST(x AS DOUBLE)")
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("SET enable_progress_bar = false")

    def set_threads(self, threads):
        self.connection.execute(f"SET threads = {threads}")

    def rows(self, sql):
        return len(self.connection.execute(sql).fetchall())


def say(answer):
    answers.write(json.dumps(answer) + "\n")


def main(name, folder, database):
    try:
        engine = {"chdb": Chdb, "duckdb": Duckdb}[name](folder, database)
    except Exception as error:
        return say({"error": f"{type(error).__name__}: {error}"})
    say({"title": engine.title})
    threads = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["threads"] != threads:
                threads = request["threads"]
                engine.set_threads(threads)
            begun = time.perf_counter()
            rows = engine.rows(request["sql"])
            say({"ms": (time.perf_counter() - begun) * 1e3, "rows": rows})
        except Exception as error:
            say({"error": str(error)[:2000]})


main(*sys.argv[1:])
