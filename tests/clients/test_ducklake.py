"""The tables as lakes: DuckLake's own reader, DuckDB's extension, on the catalog and the parts of a server, while it runs."""

import importlib
import pathlib
import tarfile

import duckdb
import pytest
from server import wait_until

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
QUIET = {"query_log": None}
TYPES = """
    id UInt32, i8 Int8, i16 Int16, i32 Int32, i64 Int64, u8 UInt8, u16 UInt16, u64 UInt64, f32 Float32, f Float64, s String,
    fs FixedString(3), lc LowCardinality(String), n Nullable(Int32), b Bool, dt DateTime('UTC'), d64 DateTime64(3, 'UTC'),
    micros DateTime64(6, 'UTC'), day Date, day32 Date32, e Enum8('x' = 1, 'y' = 2), u UUID, un Nullable(UUID),
    lu LowCardinality(UUID), us Array(UUID), ip IPv4, a Array(String), m Map(String, UInt8), t Tuple(k UInt8, v String),
    doubled UInt64 MATERIALIZED id * 2, shown String ALIAS toString(id)
"""
VALUES = """
    number, -number % 100, -number, number * 7, -number * 1000000007, number % 200, number % 60000, number * 1000000007, number / 8,
    number / 3, concat('text ', toString(number)), leftPad(toString(number % 1000), 3, '0'), toString(number % 5),
    number % 3 ? NULL : number, number % 2, toDateTime('2026-11-23 08:00:00', 'UTC') + number, toDateTime64('2026-11-23 08:00:00.125', 3, 'UTC') + number,
    toDateTime64('2026-11-23 08:00:00.000125', 6, 'UTC') + number, toDate('2026-11-01') + number % 28, toDate32('1950-01-01') + number,
    number % 2 ? 'x' : 'y', generateUUIDv4(), number % 4 ? generateUUIDv4() : NULL, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'),
    [generateUUIDv4(), generateUUIDv4()], toIPv4('10.0.0.1'), [toString(number), 'z'], map('k', number % 9), (number % 9, 'v')
"""


@pytest.fixture(scope="module")
def lake():
    """Attaches a server's folder to a DuckDB of its own."""
    connections = []

    def attach(server):
        connection = duckdb.connect()
        connections.append(connection)
        for name in ("sqlite_scanner", "ducklake"):
            folder = pathlib.Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent / "extensions"
            connection.execute(f"LOAD '{next(folder.rglob('*.duckdb_extension'))}'")
        connection.execute("SET TimeZone = 'UTC'")
        # A fixture's folder is not where it was written.
        options = f"READ_ONLY, OVERRIDE_DATA_PATH true, DATA_PATH '{server.data}/data/'"
        connection.execute(f"ATTACH 'ducklake:sqlite:{server.data}/catalog.sqlite' AS lake ({options})")
        return connection

    yield attach
    for connection in connections:
        connection.close()


def tables(connection):
    found = connection.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'lake' ORDER BY 1, 2")
    return [".".join(row) for row in found.fetchall()]


def test_rows_of_every_type_are_read(start_server, lake):
    server = start_server(settings=QUIET)
    server.query(f"CREATE TABLE t ({TYPES}) ENGINE = MergeTree PARTITION BY day ORDER BY (id, u)")
    for start in (0, 500):
        server.query(f"INSERT INTO t SELECT {VALUES} FROM numbers({start}, 500)")
    connection = lake(server)
    types = dict(row[:2] for row in connection.execute("DESCRIBE lake.default.t").fetchall())
    assert (types["u"], types["un"], types["lu"], types["us"]) == ("UUID", "UUID", "UUID", "UUID[]")
    assert (types["id"], types["s"], types["day"], types["dt"]) == ("UINTEGER", "VARCHAR", "DATE", "TIMESTAMP WITH TIME ZONE")
    assert "shown" not in types and types["doubled"] == "UBIGINT"
    # Everything as text, in words that both have.
    common = (
        "id, i8, i16, i32, i64, u8, u16, u64, f, s, lc, n, toUnixTimestamp(dt), toUnixTimestamp64Milli(d64), toUnixTimestamp64Micro(micros), "
        "toString(day), toString(day32), CAST(e, 'Int8'), toString(u), toString(un), toString(lu), toString(us[2]), toUInt32(ip), a[1], m['k'], t.k, t.v, doubled"
    )
    theirs = (
        "id, i8, i16, i32, i64, u8, u16, u64, f, s, lc, n, epoch(dt)::BIGINT, epoch_ms(d64), epoch_us(micros), "
        "day::VARCHAR, day32::VARCHAR, e, u::VARCHAR, un::VARCHAR, lu::VARCHAR, us[2]::VARCHAR, ip, a[1], m[1].values, t.k, t.v, doubled"
    )
    ours = server.rows(f"SELECT {common} FROM t ORDER BY id")
    rows = connection.execute(f"SELECT {theirs} FROM lake.default.t ORDER BY id").fetchall()
    assert len(rows) == len(ours) == 1000
    for own, read in zip(ours, rows):
        for position, (left, right) in enumerate(zip(own, read)):
            if position == 8:
                assert float(left) == right
            else:
                assert left == ("\\N" if right is None else str(right))
    # Conditions are answered from the statistics of files and row groups.
    uuids = [row[0] for row in server.rows("SELECT u FROM t ORDER BY id LIMIT 300, 40")]
    for uuid in uuids:
        assert connection.execute(f"SELECT count(*) FROM lake.default.t WHERE u = '{uuid}'").fetchall() == [(1,)]
    for condition in ("id BETWEEN 300 AND 400", "i64 < -900000000000", "s = 'text 77'", "day = '2026-11-05'", "f > 300", "b", "n > 900"):
        count = f"SELECT count(*) FROM {{}} WHERE {condition}"
        assert connection.execute(count.format("lake.default.t")).fetchone()[0] == int(server.value(count.format("t"))), condition
    # And whoever knows nothing of the catalog finds the types in the files.
    described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet('{server.data}/data/*/*.parquet')").fetchall()
    assert {row[0]: row[1] for row in described}["u"] == "UUID"


def test_what_is_no_lake_is_not_listed(start_server, lake):
    server = start_server(settings=QUIET)
    server.query("CREATE DATABASE shop")
    server.query("CREATE TABLE shop.source (k UInt64, v String) ENGINE = MergeTree ORDER BY k AS SELECT number, toString(number) FROM numbers(10)")
    dictionary = "(k UInt64, v String) PRIMARY KEY k SOURCE(CLICKHOUSE(DB 'shop' TABLE 'source')) LIFETIME(0) LAYOUT(FLAT())"
    server.query(f"CREATE DICTIONARY shop.dictionary {dictionary}")
    server.query("CREATE TABLE shop.view (k UInt64, v String) ENGINE = Dictionary('shop.dictionary')")
    server.query("CREATE TABLE shop.memory (k UInt64) ENGINE = Memory")
    server.query("CREATE TABLE shop.nothing (k UInt64) ENGINE = Null")
    server.query("CREATE TABLE shop.function AS numbers(5)")
    server.query("CREATE TABLE shop.lookup (k UInt64, v String) ENGINE = Join(ANY, LEFT, k) AS SELECT * FROM shop.source")
    server.query("CREATE TABLE shop.passing (k UInt64) ENGINE = Join(ANY, LEFT, k) SETTINGS persistent = 0")
    connection = lake(server)
    assert tables(connection) == ["shop.lookup", "shop.source"]
    assert connection.execute("SELECT v FROM lake.shop.lookup WHERE k = 7").fetchall() == [("7",)]

    # They are there for the server, under their names, across a start, and go.
    server.query("RENAME TABLE shop.memory TO default.moved")
    server.query("DETACH TABLE shop.nothing PERMANENTLY")
    server.query("CREATE OR REPLACE DICTIONARY shop.dictionary " + dictionary)
    server.restart()
    assert server.value("SELECT dictGet('shop.dictionary', 'v', toUInt64(3))") == "3"
    assert server.query("SHOW TABLES FROM shop") == "dictionary\nfunction\nlookup\npassing\nsource\nview\n"
    assert server.query("EXISTS TABLE default.moved").strip() == "1"
    server.query("ATTACH TABLE shop.nothing")
    server.query("EXCHANGE TABLES default.moved AND shop.source")
    assert tables(lake(server)) == ["default.moved", "shop.lookup"]
    server.query("EXCHANGE TABLES default.moved AND shop.source")
    server.query("DROP DICTIONARY shop.dictionary")
    server.query("DROP TABLE default.moved")
    assert tables(lake(server)) == ["shop.lookup", "shop.source"]
    server.query("DROP DATABASE shop")
    assert tables(lake(server)) == []
    server.restart()
    assert server.query("SHOW TABLES FROM default") == ""


def test_what_changes_is_seen(start_server, lake):
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree PARTITION BY k % 2 ORDER BY k")
    server.query("CREATE TABLE other (k UInt64) ENGINE = MergeTree ORDER BY k AS SELECT number FROM numbers(7)")
    connection = lake(server)

    def content(table="t"):
        return connection.execute(f"SELECT count(*), sum(k)::BIGINT FROM lake.default.{table}").fetchone()

    for part in range(4):
        server.query(f"INSERT INTO t SELECT number * 4 + {part}, 's' FROM numbers(1000)")
    assert content() == (4000, 7998000)
    server.query("OPTIMIZE TABLE t FINAL")
    wait_until(lambda: server.value("SELECT count() FROM system.parts WHERE table = 't' AND active") == "2", "the parts are merged")
    assert content() == (4000, 7998000)
    server.query("ALTER TABLE t DROP PARTITION 1")
    assert content() == (2000, 3998000)
    server.query("EXCHANGE TABLES t AND other")
    assert content("t") == (7, 21) and content("other") == (2000, 3998000)
    server.query("TRUNCATE TABLE other")
    assert content("other") == (0, None)
    server.query("INSERT INTO other SELECT number, '' FROM numbers(3)")
    assert content("other") == (3, 3)


@pytest.mark.parametrize("version", [1, 2])
def test_data_of_earlier_versions_become_such(start_server, lake, version):
    server = start_server(wait=False, settings=QUIET)
    server.data.mkdir(parents=True)
    with tarfile.open(FIXTURES / f"data_version_{version}.tar.gz") as archive:
        archive.extractall(server.data, filter="data")
    server.start()
    connection = lake(server)
    expected = {1: ["shop.lookup", "shop.merged", "shop.renamed", "shop.types"], 2: ["shop.five", "shop.gone", "shop.t"]}
    listed = tables(connection)
    assert listed == [name for name in expected[version] if name != "shop.five"]
    for name in listed:
        if name != "shop.gone":
            assert connection.execute(f"SELECT count(*) FROM lake.{name}").fetchone()[0] == int(server.value(f"SELECT count() FROM {name}"))
    if version == 1:
        uuid = connection.execute("SELECT DISTINCT u::VARCHAR FROM lake.shop.types").fetchall()
        assert uuid == [("61f0c404-5cb3-11e7-907b-a6006ad3dba0",)]
        found = "SELECT count(*) FROM lake.shop.types WHERE u = '61f0c404-5cb3-11e7-907b-a6006ad3dba0'"
        assert connection.execute(found).fetchone()[0] == 60


def test_what_has_expired_is_gone(start_server, lake):
    server = start_server()
    server.query("CREATE TABLE t (k UInt64, at DateTime, v Int32 TTL at) ENGINE = MergeTree ORDER BY k TTL at + INTERVAL 1 DAY")
    server.query("INSERT INTO t SELECT number, now() - (number % 3) * 86400, number FROM numbers(9)")
    server.query("OPTIMIZE TABLE t FINAL")
    own = server.rows("SELECT k, v FROM t ORDER BY k")
    assert own == [["0", "0"], ["3", "0"], ["6", "0"]]
    rows = lake(server).execute("SELECT k, v FROM lake.default.t ORDER BY k").fetchall()
    assert [[str(value) for value in row] for row in rows] == own


def test_partitions_that_move_are_seen(start_server, lake):
    server = start_server()
    for table in ["a", "b"]:
        server.query(f"CREATE TABLE {table} (k UInt64, p UInt8) ENGINE = MergeTree PARTITION BY p ORDER BY k")
    server.query("INSERT INTO a SELECT number, number % 2 FROM numbers(100)")
    server.query("INSERT INTO b VALUES (1000, 0), (1001, 1)")
    server.query("ALTER TABLE a MOVE PARTITION 1 TO TABLE b")
    server.query("ALTER TABLE b REPLACE PARTITION 0 FROM a")
    for _ in range(2):
        connection = lake(server)
        for table, expected in [("a", (50, 2450)), ("b", (101, 4950 + 1001))]:
            assert connection.execute(f"SELECT count(*), sum(k)::BIGINT FROM lake.default.{table}").fetchone() == expected
        connection.close()
        # Also of the parts that were left, after kill -9.
        server.kill()
        server.start()
    server.query("DROP TABLE a")
    assert server.value("SELECT count(), sum(k) FROM b") == "101\t5951"


def test_deleted_rows_are_not_read(start_server, lake):
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (a UInt32, s String) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO t SELECT number, toString(number) FROM numbers(10000)")
    server.query("DELETE FROM t WHERE a % 1000 = 7 OR a BETWEEN 50 AND 60")
    server.query("DELETE FROM t WHERE a = 9999")
    assert server.query("SELECT has_lightweight_delete FROM system.parts WHERE table = 't'").strip() == "1"
    sql = "SELECT count(*), sum(a), min(a), max(a) FROM {}"
    expected = tuple(int(number) for number in server.query(sql.format("t")).split())
    assert lake(server).execute(sql.format("lake.default.t")).fetchone() == expected
    server.query("OPTIMIZE TABLE t FINAL")
    assert lake(server).execute(sql.format("lake.default.t")).fetchone() == expected


def writer(server):
    """DuckDB with the server's folder as a lake that it may write to."""
    connection = duckdb.connect()
    for name in ("sqlite_scanner", "ducklake"):
        folder = pathlib.Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent / "extensions"
        connection.execute(f"LOAD '{next(folder.rglob('*.duckdb_extension'))}'")
    connection.execute(f"ATTACH 'ducklake:sqlite:{server.data}/catalog.sqlite' AS lake (OVERRIDE_DATA_PATH true, DATA_PATH '{server.data}/data/')")
    return connection


def test_rows_that_duckdb_deletes_are_gone_within_a_second_and_for_good(start_server):
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (a UInt32, s String) ENGINE = MergeTree ORDER BY a")
    server.query("SYSTEM STOP MERGES t")
    for first in (0, 1000):
        server.query(f"INSERT INTO t SELECT number + {first}, toString(number) FROM numbers(1000)")
    count = lambda: server.query("SELECT count(), sum(a) FROM t").split()
    with writer(server) as duck:
        # Few rows are named in the catalog, more in a file.
        duck.execute("DELETE FROM lake.default.t WHERE a IN (7, 1500)")
        wait_until(lambda: count() == ["1998", str(1999000 - 1507)], "two rows are gone")
        duck.execute("DELETE FROM lake.default.t WHERE a BETWEEN 100 AND 199")
        wait_until(lambda: count()[0] == "1898", "a hundred more are gone")
        server.query("DELETE FROM t WHERE a = 8 OR a = 1501")
        before = count()
        assert before[0] == "1896"
        assert duck.execute("SELECT count(*), sum(a) FROM lake.default.t").fetchone() == tuple(int(number) for number in before)
    server.restart()
    assert count() == before
    server.query("SYSTEM START MERGES t")
    server.query("OPTIMIZE TABLE t FINAL")
    assert count() == before
    server.restart()
    assert count() == before


def test_what_duckdb_adds_changes_and_merges_is_seen_within_a_second_and_stays(start_server):
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (k UInt32, s String, n Nullable(Int64)) ENGINE = MergeTree ORDER BY k")
    server.query("SYSTEM STOP MERGES t")
    for first in (0, 100):
        server.query(f"INSERT INTO t SELECT number + {first}, toString(number), number FROM numbers(10)")
    state = "SELECT count(), sum(k), countIf(n = 77) FROM t"

    def seen(expected):
        wait_until(lambda: server.query(state).split() == expected.split(), f"the table has {expected}")

    seen("20 1090 0")
    with writer(server) as duck:
        count = lambda: duck.execute("SELECT count(*), sum(k), count(*) FILTER (n = 77) FROM lake.default.t").fetchone()
        # Few rows, many rows.
        duck.execute("INSERT INTO lake.default.t VALUES (1000, 'duck'::BLOB, 5)")
        seen("21 2090 0")
        duck.execute("INSERT INTO lake.default.t SELECT i, ('d' || i)::BLOB, NULL FROM range(2000, 12000) r(i)")
        seen("10021 69997090 0")
        assert server.query("SELECT s, n FROM t WHERE k = 2007") == "d2007\t\\N\n"
        # Readers see the row before or after, never without.
        duck.execute("UPDATE lake.default.t SET n = 77 WHERE k IN (3, 2500)")
        while server.query(state) != "10021\t69997090\t2\n":
            assert server.query("SELECT count() FROM t") == "10021\n"
        duck.execute("CALL ducklake_merge_adjacent_files('lake')")
        duck.execute("DELETE FROM lake.default.t WHERE k >= 2000 AND k % 2 = 0")
        seen("5021 35002090 1")
        server.query("INSERT INTO t VALUES (5, 'own', 77)")
        assert count() == (5022, 35002095, 2)
        server.restart()
        assert server.query(state) == "5022\t35002095\t2\n" and count() == (5022, 35002095, 2)
        duck.execute("DELETE FROM lake.default.t")
        seen("0 0 0")
    # What DuckDB has written stays in its place, as earlier snapshots have it.
    server.query("SYSTEM START MERGES t")
    server.query("INSERT INTO t SELECT number, '', 0 FROM numbers(10)")
    server.query("OPTIMIZE TABLE t FINAL")
    server.restart()
    assert server.query(state) == "10\t45\t0\n"
    assert server.files_named("ducklake-*.parquet") and not server.files_named("unexpected_*")
    with writer(server) as duck:
        duck.execute("INSERT INTO lake.default.t VALUES (1, ''::BLOB, 1)")
        seen("11 46 0")
