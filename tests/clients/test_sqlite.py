"""The table function sqlite() and the engine SQLite: what SQLite declares and holds, who may read it, and which files they reach."""

import os
import sqlite3
import time

import pytest
from server import ServerError, wait_until


def made(path):
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE t (a INTEGER NOT NULL, b BIGINT, r REAL, s TEXT, d BLOB, n NUMERIC, ti TINYINT, v VARCHAR(10))"
    )
    connection.execute("INSERT INTO t VALUES (5000000000, 2, 1.5, 'x', x'00ff', '12.5', 3, 'vv')")
    connection.execute("INSERT INTO t (a) VALUES (-1)")
    connection.execute('CREATE TABLE "odd "" name" ("a b" INT)')
    connection.execute('INSERT INTO "odd "" name" VALUES (7), (8)')
    connection.execute("CREATE VIEW doubled AS SELECT a * 2 AS a2 FROM t")
    connection.execute("CREATE TABLE many (n INTEGER NOT NULL, s TEXT NOT NULL)")
    connection.executemany("INSERT INTO many VALUES (?, ?)", ((n, f"text {n}") for n in range(50_000)))
    connection.execute(
        "CREATE VIEW endless AS WITH RECURSIVE e(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM e) SELECT n FROM e WHERE n < 0"
    )
    connection.commit()
    connection.close()


def test_columns_and_rows_are_sqlites(start_server):
    server = start_server()
    folder = server.data / "user_files"
    folder.mkdir(exist_ok=True)
    made(folder / "x.sqlite")
    described = server.query("DESCRIBE TABLE sqlite('x.sqlite', 't')")
    assert [tuple(line.split("\t")[:2]) for line in described.splitlines()] == [
        ("a", "Int64"),
        ("b", "Nullable(Int64)"),
        ("r", "Nullable(Float64)"),
        ("s", "Nullable(String)"),
        ("d", "Nullable(String)"),
        ("n", "Nullable(String)"),
        ("ti", "Nullable(Int64)"),
        ("v", "Nullable(String)"),
    ]
    rows = server.query("SELECT a, b, r, s, hex(d), n, ti, v FROM sqlite('x.sqlite', 't') ORDER BY a DESC")
    assert rows == "5000000000\t2\t1.5\tx\t00FF\t12.5\t3\tvv\n-1" + "\t\\N" * 7 + "\n"
    assert server.query("SELECT `a b` FROM sqlite('x.sqlite', 'odd \" name')") == "7\n8\n"
    assert server.value("SELECT sum(toInt64(a2)) FROM sqlite('x.sqlite', 'doubled')") == "9999999998"
    assert server.query("SELECT count(), sum(n), max(s) FROM sqlite('x.sqlite', 'many')") == "50000\t1249975000\ttext 9999\n"
    assert server.value("SELECT count() FROM sqlite('x.sqlite', 'many')") == "50000"
    # What others write is seen by the next query.
    with sqlite3.connect(folder / "x.sqlite") as connection:
        connection.execute("INSERT INTO t (a) VALUES (6)")
    assert server.value("SELECT count() FROM sqlite('x.sqlite', 't')") == "3"
    for sql, code in {
        "SELECT * FROM sqlite('x.sqlite', 'none')": 591,
        "SELECT * FROM sqlite('none.sqlite', 't')": 107,
        "SELECT * FROM sqlite('x.sqlite')": 42,
        "SELECT * FROM sqlite('../catalog.sqlite', 'ducklake_table')": 291,
        "CREATE TABLE e (a Int64) ENGINE = SQLite('x.sqlite')": 42,
    }.items():
        assert server.error_code(sql) == code, sql
    (folder / "text.sqlite").write_text("no database " * 1000)
    assert server.error_code("SELECT * FROM sqlite('text.sqlite', 't')") == 591
    os.symlink(server.data / "catalog.sqlite", folder / "link.sqlite")
    assert server.error_code("SELECT * FROM sqlite('link.sqlite', 'ducklake_table')") == 291


def test_a_table_of_the_engine_is_there_after_a_restart(start_server):
    server = start_server()
    folder = server.data / "user_files"
    folder.mkdir(exist_ok=True)
    made(folder / "x.sqlite")
    server.query("CREATE TABLE e ENGINE = SQLite('x.sqlite', 't')")
    server.query("CREATE TABLE narrow (a Int32, s String) ENGINE = SQLite('x.sqlite', 't')")
    for _ in range(2):
        assert server.value("SELECT toTypeName(a) FROM e LIMIT 1") == "Int64"
        assert server.query("SELECT a, s FROM e WHERE a > 0") == "5000000000\tx\n"
        assert server.query("SELECT toTypeName(a), s FROM narrow WHERE a = -1") == "Int32\t\n"
        assert server.value("SELECT engine_full FROM system.tables WHERE name = 'e'") == "SQLite(\\'x.sqlite\\', \\'t\\')"
        server.kill()
        server.start()
    (folder / "x.sqlite").unlink()
    assert server.error_code("SELECT * FROM e") == 107
    server.query("DROP TABLE e")


def test_who_may_read(start_server):
    server = start_server()
    folder = server.data / "user_files"
    folder.mkdir(exist_ok=True)
    made(folder / "x.sqlite")
    server.query("CREATE TABLE secret (a UInt8) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO secret VALUES (1)")
    server.query("CREATE USER u IDENTIFIED WITH no_password")
    server.query("GRANT CREATE TEMPORARY TABLE, CREATE TABLE ON *.* TO u")
    read = "SELECT count() FROM sqlite('x.sqlite', 't')"
    made_by_engine = "CREATE TABLE e (a Int64) ENGINE = SQLite('x.sqlite', 't')"
    assert server.error_code(read, user="u") == 497
    assert server.error_code(made_by_engine, user="u") == 497
    server.query("GRANT SQLITE ON *.* TO u")
    assert server.value(read, user="u") == "2"
    server.query(made_by_engine, user="u")
    # loop() hides nothing of whose rows it repeats.
    assert server.error_code("SELECT * FROM loop(secret) LIMIT 1", user="u") == 497
    assert server.error_code("SELECT count() FROM (SELECT * FROM loop(default.secret) LIMIT 1)", user="u") == 497
    server.query("GRANT SELECT ON secret TO u")
    assert server.value("SELECT * FROM loop(secret) LIMIT 1", user="u") == "1"


def test_what_never_ends_can_be_stopped(start_server):
    server = start_server()
    folder = server.data / "user_files"
    folder.mkdir(exist_ok=True)
    made(folder / "x.sqlite")
    for sql in ["SELECT * FROM sqlite('x.sqlite', 'endless')", "SELECT count() FROM loop(numbers(10))"]:
        began = time.monotonic()
        with pytest.raises(ServerError) as error:
            server.query(sql, max_execution_time=1)
        assert error.value.code == 159
        assert time.monotonic() - began < 20
    # What read for them has gone, too: nobody holds the file.
    wait_until(lambda: not opened(server, "x.sqlite"), "the reader of SQLite ends")


def opened(server, name):
    """Whether the server has a file of this name open."""
    for link in os.scandir(f"/proc/{server.process.pid}/fd"):
        try:
            if os.readlink(link.path).endswith(f"/{name}"):
                return True
        except FileNotFoundError:
            pass
    return False


def test_inserted_rows_are_sqlites(start_server):
    server = start_server()
    folder = server.data / "user_files"
    folder.mkdir(exist_ok=True)
    made(folder / "x.sqlite")
    server.query("INSERT INTO FUNCTION sqlite('x.sqlite', 't') (a, s) VALUES (7, 'seven'), (8, 'it''s')")
    server.query("CREATE TABLE e (a Int32, s String, d DateTime('UTC'), r Float64) ENGINE = SQLite('x.sqlite', 'typed')")
    with sqlite3.connect(folder / "x.sqlite") as connection:
        connection.execute("CREATE TABLE typed (a INTEGER UNIQUE, s TEXT, d TEXT, r REAL)")
    server.query("INSERT INTO e VALUES (1, 'x', '2026-01-02 03:04:05', 0.5), (2, unhex('FF'), 0, nan)")
    server.query("INSERT INTO e (a) SELECT number + 10 FROM numbers(30000)")
    assert server.query("SELECT * FROM e ORDER BY a LIMIT 1") == "1\tx\t2026-01-02 03:04:05\t0.5\n"
    assert server.query("SELECT count(), sum(a) FROM e") == f"30002\t{3 + sum(range(10, 30010))}\n"
    with sqlite3.connect(folder / "x.sqlite") as connection:
        assert connection.execute("SELECT a, s FROM t WHERE a IN (7, 8) ORDER BY a").fetchall() == [(7, "seven"), (8, "it's")]
        first = connection.execute("SELECT * FROM typed ORDER BY a").fetchmany(2)
        assert first == [(1, "x", "2026-01-02 03:04:05", 0.5), (2, b"\xff", "1970-01-01 00:00:00", None)]
    # All rows or none.
    assert server.error_code("INSERT INTO e (a) SELECT 100000 + if(number = 20000, 0, number) FROM numbers(20001)") == 591
    assert server.error_code("INSERT INTO e (a) SELECT 200000 + number + throwIf(number = 20000) FROM numbers(20001)") == 395
    assert server.value("SELECT max(a) FROM e") == "30009"
    server.query("CREATE USER w IDENTIFIED WITH no_password")
    server.query("GRANT INSERT ON e TO w")
    assert server.error_code("INSERT INTO e (a) VALUES (-1)", user="w") == 497
    server.query("GRANT WRITE ON SQLITE TO w")
    server.query("INSERT INTO e (a) VALUES (-1)", user="w")
    assert server.error_code("INSERT INTO FUNCTION sqlite('../catalog.sqlite', 'x') VALUES (1)") == 291
