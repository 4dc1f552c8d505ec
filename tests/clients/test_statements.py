"""Statements whose effect lasts, or ends with the session: engines, views, functions, temporary tables."""

import pytest
from clickhouse_driver import Client
from clickhouse_driver.errors import ServerException
from server import ServerError


def test_definitions_outlive_kill_9(start_server):
    server = start_server()
    for engine in ("TinyLog", "Log", "StripeLog"):
        server.query(f"CREATE TABLE t_{engine} (n UInt32, s String DEFAULT 'x') ENGINE = {engine}")
        server.query(f"INSERT INTO t_{engine} (n) VALUES (1), (2)")
    server.query("CREATE TABLE members (n UInt32) ENGINE = Set")
    server.query("INSERT INTO members VALUES (2)")
    server.query("CREATE TABLE all_logs (n UInt32) ENGINE = Merge(default, '^t_')")
    server.query("CREATE TABLE buffer (n UInt32, s String) ENGINE = Buffer(default, t_Log, 1, 1, 1, 1, 1, 1, 1)")
    server.query("INSERT INTO buffer VALUES (3, 'buffered')")
    server.query("CREATE TABLE checked (n UInt8, CONSTRAINT small CHECK n < 5) ENGINE = MergeTree ORDER BY n")
    server.query("CREATE VIEW doubled AS SELECT n * 2 AS m FROM t_Log WHERE n > 1")
    server.query("CREATE VIEW above AS SELECT n FROM t_Log WHERE n > {least:UInt32}")
    server.query("CREATE FUNCTION plus_one AS x -> x + 1")
    server.query("CREATE DATABASE old")
    server.query("CREATE TABLE old.t (n UInt8) ENGINE = Log")
    server.query("INSERT INTO old.t VALUES (7)")
    server.query("RENAME DATABASE old TO new")
    shown = {name: server.query(f"SHOW CREATE TABLE {name}") for name in ("t_Log", "all_logs", "buffer", "checked", "above")}
    server.kill()
    server.start()
    assert server.rows("SELECT n, s FROM t_Log ORDER BY n") == [["1", "x"], ["2", "x"], ["3", "buffered"]]
    assert server.value("SELECT count() FROM all_logs") == "7"
    assert server.value("SELECT 2 IN members AND 1 NOT IN members") == "1"
    assert server.rows("SELECT m FROM doubled ORDER BY m") == [["4"], ["6"]]
    assert server.value("SELECT count() FROM above(least = 2)") == "1"
    assert server.value("SELECT plus_one(1)") == "2"
    assert server.value("SELECT n FROM new.t") == "7"
    assert server.value("EXISTS DATABASE old") == "0"
    assert {name: server.query(f"SHOW CREATE TABLE {name}") for name in shown} == shown
    with pytest.raises(ServerError, match="VIOLATED_CONSTRAINT"):
        server.query("INSERT INTO checked VALUES (4), (5)")
    assert server.value("SELECT count() FROM checked") == "0"


def test_temporary_tables_are_their_sessions(start_server):
    server = start_server()
    server.query("CREATE TABLE t (a UInt8) ENGINE = Memory")
    server.query("INSERT INTO t VALUES (1)")
    own, other = (Client("127.0.0.1", port=server.native_port) for _ in range(2))
    own.execute("CREATE TEMPORARY TABLE t (z String)")
    own.execute("INSERT INTO t VALUES", [("mine",), ("too",)])
    assert own.execute("SELECT z FROM t ORDER BY z") == [("mine",), ("too",)]
    assert own.execute("SELECT a FROM default.t") == [(1,)]
    assert other.execute("SELECT a FROM t") == [(1,)]
    assert own.execute("SELECT name, is_temporary FROM system.tables WHERE is_temporary") == [("t", 1)]
    assert own.execute("EXISTS TEMPORARY TABLE t") == [(1,)]
    assert other.execute("SELECT count() FROM system.tables WHERE is_temporary") == [(0,)]
    own.execute("CREATE TEMPORARY TABLE IF NOT EXISTS t (other UInt8)")
    own.execute("CREATE TEMPORARY TABLE copy AS SELECT z, length(z) AS n FROM t")
    assert own.execute("SELECT sum(n) FROM copy") == [(7,)]
    own.execute("DROP TEMPORARY TABLE t")
    assert own.execute("SELECT a FROM t") == [(1,)]
    own.disconnect()
    # The next query has a session of its own.
    with pytest.raises(ServerException, match="UNKNOWN_TABLE|Unknown table"):
        own.execute("SELECT * FROM copy")


def test_temporary_tables_over_http_sessions(start_server):
    server = start_server()
    server.query("CREATE TEMPORARY TABLE mine (a UInt8)", session_id="s1")
    server.query("INSERT INTO mine VALUES (5)", session_id="s1")
    assert server.value("SELECT a FROM mine", session_id="s1") == "5"
    with pytest.raises(ServerError, match="UNKNOWN_TABLE"):
        server.query("SELECT a FROM mine", session_id="s2")
    with pytest.raises(ServerError, match="UNKNOWN_TABLE"):
        server.query("SELECT a FROM mine")


def test_a_session_keeps_its_default_engine_and_its_parameters(server):
    session = {"session_id": "defaults"}
    server.query("SET default_table_engine = 'Memory'", **session)
    server.query("CREATE TABLE by_default (x UInt8)", **session)
    assert server.value("SELECT engine FROM system.tables WHERE name = 'by_default'") == "Memory"
    server.query("SET default_table_engine = 'None'", **session)
    assert server.error_code("CREATE TABLE without_engine (x UInt8)", **session) == 119
    server.query("SET param_place = somewhere", **session)
    assert server.value("SELECT {place:String}", **session) == "somewhere"
    server.query("DROP TABLE by_default")
