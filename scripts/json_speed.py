#!/usr/bin/env python3
"""Queries over JSON documents here, in ClickHouse 26.9 (chdb, in process) and in DuckDB, one after the other on the same machine, two
threads each: loading, then the best of some runs and the ratios to the peers. ClickHouse's query condition cache is off.

    python3 scripts/json_speed.py target/release/squall [thousands of documents] [runs]

The interpreter needs PyPI's `chdb` and `duckdb`. A million documents, 0.4 GB, take a few minutes.
"""

import json
import pathlib
import random
import sys
import tempfile
import time

import chdb.session
import duckdb

from measured_server import MeasuredServer, best

THREADS = 2
SETTINGS = {"max_threads": THREADS, "allow_suspicious_types_in_group_by": 1, "use_query_condition_cache": 0}
KINDS = {"like": 45, "follow": 28, "post": 12, "repost": 8, "block": 3, "profile": 2}
# What is asked, in ClickHouse's words and in DuckDB's: `{a.b}` stands for a path as text.
QUERIES = {
    "count by kind": "SELECT {event.kind} AS k, count(*) AS c FROM t GROUP BY k ORDER BY c DESC",
    "users by kind": (
        "SELECT {event.kind} AS k, count(*) AS c, count(DISTINCT {user}) AS u FROM t"
        " WHERE {type} = 'commit' AND {event.operation} = 'create' GROUP BY k ORDER BY c DESC"
    ),
    "times of three kinds": (
        "SELECT {event.kind} AS k, CAST({time} AS BIGINT) % 24 AS h, count(*) AS c FROM t"
        " WHERE {type} = 'commit' AND {event.operation} = 'create' AND {event.kind} IN ('post', 'repost', 'like') GROUP BY k, h ORDER BY c DESC, h LIMIT 9"
    ),
    "first posts": (
        "SELECT {user} AS u, min(CAST({time} AS BIGINT)) AS first FROM t"
        " WHERE {type} = 'commit' AND {event.operation} = 'create' AND {event.kind} = 'post' GROUP BY u ORDER BY first LIMIT 3"
    ),
    "longest activity": (
        "SELECT {user} AS u, max(CAST({time} AS BIGINT)) - min(CAST({time} AS BIGINT)) AS span FROM t"
        " WHERE {type} = 'commit' AND {event.kind} = 'post' GROUP BY u ORDER BY span DESC LIMIT 3"
    ),
    "texts with a word": "SELECT count(*) FROM t WHERE {event.record.text} LIKE '%storm%'",
}


def documents(count, path):
    """Writes documents like those of a social network, a line each."""
    chance = random.Random(7)
    users = [f"did:{chance.getrandbits(96):024x}" for _ in range(max(count // 6, 100))]
    words = [f"{chance.getrandbits(24):x}" for _ in range(5000)] + ["storm"]
    with open(path, "w", encoding="utf8") as file:
        for number in range(count):
            kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
            user = users[min(int(chance.expovariate(3 / len(users))), len(users) - 1)]
            document = {"user": user, "time": 1732206349000000 + number * 4000, "type": "commit"}
            if chance.random() < 0.01:
                document |= {"type": "account", "account": {"active": True, "sequence": number}}
            else:
                operation = chance.choices(["create", "delete", "update"], [93, 6, 1])[0]
                event = {"kind": kind, "operation": operation, "key": f"{chance.getrandbits(64):x}"}
                if operation != "delete":
                    record = {"createdAt": f"2024-11-21T16:{number % 60:02}:{number % 59:02}.000Z"}
                    if kind == "post":
                        record |= {"text": " ".join(chance.choices(words, k=chance.randint(1, 40))), "langs": ["en"]}
                    else:
                        record["subject"] = {"id": f"{chance.getrandbits(128):x}", "uri": f"at://{chance.choice(users)}/{kind}"}
                    event["record"] = record
                document["event"] = event
            file.write(json.dumps(document) + "\n")


def written(sql, path):
    """A query with paths written by `path`."""
    begin = sql.find("{")
    if begin < 0:
        return sql
    end = sql.index("}", begin)
    return sql[:begin] + path(sql[begin + 1 : end]) + written(sql[end + 1 :], path)


def main():
    count = int(float(sys.argv[2]) * 1000) if len(sys.argv) > 2 else 1_000_000
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as oracle_folder,
        MeasuredServer.of(sys.argv[1], folder) as server,
    ):
        lines = pathlib.Path(folder, "documents.jsonl")
        documents(count, lines)
        session = chdb.session.Session(oracle_folder)
        session.query("CREATE DATABASE d")
        session.query("USE d")
        database = duckdb.connect(f"{folder}/duck.db")
        database.execute(f"SET threads = {THREADS}; SET enable_progress_bar = false")
        create = "CREATE TABLE t (data JSON) ENGINE = MergeTree ORDER BY tuple()"
        server.ask(create)
        session.query(create)

        def squall(sql):
            return server.ask(written(sql, lambda path: f"data.{path}::String").replace("BIGINT", "Int64"), **SETTINGS)

        def clickhouse(sql):
            sql = written(sql, lambda path: f"data.{path}::String").replace("BIGINT", "Int64")
            settings = ", ".join(f"{name} = {value}" for name, value in SETTINGS.items())
            return session.query(f"{sql} SETTINGS {settings}", "TSV").data().strip()

        def duck(sql):
            return database.execute(written(sql, lambda path: f"json_extract_string(data, '$.{path}')")).fetchall()

        print(f"{count:,} documents, {lines.stat().st_size / 1e9:.2f} GB, {THREADS} threads, DuckDB {duckdb.__version__}")
        print(f"{'':22} {'ClickHouse':>13} {'DuckDB':>11} {'Squall':>11} {'ratios':>13}")

        def show(name, ours, theirs, ducks):
            print(f"{name:22} {theirs:10.0f} ms {ducks:8.0f} ms {ours:8.0f} ms {theirs / ours:6.2f} {ducks / ours:6.2f}", flush=True)

        began = time.perf_counter()
        server.ask(f"INSERT INTO t FORMAT JSONAsObject\n{lines.read_text()}")
        ours, began = time.perf_counter() - began, time.perf_counter()
        session.query(f"INSERT INTO t SELECT * FROM file('{lines}', 'JSONAsObject') SETTINGS max_threads = {THREADS}")
        theirs, began = time.perf_counter() - began, time.perf_counter()
        database.execute(f"CREATE TABLE t AS SELECT json AS data FROM read_json_objects('{lines}')")
        show("load", *(seconds * 1000 for seconds in (ours, theirs, time.perf_counter() - began)))
        for name, sql in QUERIES.items():
            ours = squall(sql)
            assert ours == clickhouse(sql), (name, ours, clickhouse(sql))
            rows = [[str(value) for value in row] for row in duck(sql)]
            assert len(rows) == len(ours.splitlines()), name
            show(name, *(best(engine, sql, runs) for engine in (squall, clickhouse, duck)))
        session.close()


if __name__ == "__main__":
    main()
