"""Debian's clickhouse-client 18.16, unchanged."""

import os
import pty
import re
import select
import subprocess

import pytest
from server import installed

pytestmark = pytest.mark.skipif(not installed("clickhouse-client"), reason="clickhouse-client is not installed")


def ok(outcome):
    assert outcome.returncode == 0, outcome.stderr.decode()
    return outcome.stdout.decode()


def test_query(server):
    assert ok(server.client("-q", "SELECT 1 + 1, 'two'")) == "2\ttwo\n"


def test_query_id(server):
    ok(server.client("--query_id=from-the-client", "-q", "SELECT 'by id'"))
    server.query("SYSTEM FLUSH LOGS")
    logged = server.value("SELECT query FROM system.query_log WHERE query_id = 'from-the-client' AND type = 'QueryFinish'")
    assert logged == "SELECT \\'by id\\'"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("TabSeparated", "1\ta\n2\tb\n"),
        ("TabSeparatedWithNames", "n\ts\n1\ta\n2\tb\n"),
        ("CSV", '1,"a"\n2,"b"\n'),
        ("JSONEachRow", '{"n":1,"s":"a"}\n{"n":2,"s":"b"}\n'),
        ("Values", "(1,'a'),(2,'b')"),
        ("Vertical", "Row 1:\n──────\nn: 1\ns: a\n\nRow 2:\n──────\nn: 2\ns: b\n"),
        ("PrettyCompact", "┌─n─┬─s─┐\n│ 1 │ a │\n│ 2 │ b │\n└───┴───┘\n"),
    ],
)
def test_formats(server, form, expected):
    # The client formats what it gets in blocks; for Pretty it also colours.
    query = f"SELECT toUInt8(number + 1) AS n, ['a', 'b'][number + 1] AS s FROM numbers(2) FORMAT {form}"
    assert re.sub("\x1b\\[[0-9;]*m", "", ok(server.client("-q", query))) == expected


def test_types_arrive(server):
    query = (
        "SELECT toUInt8(255), toInt8(-128), toUInt64(18446744073709551615), toInt64(-9223372036854775808), toFloat32(1.5),"
        " toFloat64(-0.1), 'text', toFixedString('abc', 4), toDate('2013-07-15'), toDateTime('2013-07-15 10:20:30', 'UTC'),"
        " [1, 2], ('x', 3), toNullable(7), NULL, emptyArrayString()"
    )
    expected = (
        "255\t-128\t18446744073709551615\t-9223372036854775808\t1.5\t-0.1\ttext\tabc\\0\t2013-07-15\t2013-07-15 10:20:30"
        "\t[1,2]\t('x',3)\t7\t\\N\t[]\n"
    )
    assert ok(server.client("-q", query)) == expected


def test_insert_from_a_pipe(server, table):
    ok(server.client("-q", f"CREATE TABLE {table} (x UInt32, s String) ENGINE = MergeTree ORDER BY x"))
    lines = "".join(f"{number}\tvalue {number}\n" for number in range(100_000))
    ok(server.client("-q", f"INSERT INTO {table} FORMAT TabSeparated", stdin=lines))
    ok(server.client("-q", f"INSERT INTO {table} FORMAT CSV", stdin='100000,"a ""quoted"" one"\n'))
    assert ok(server.client("-q", f"SELECT count(), sum(x), max(s) FROM {table}")) == "100001\t5000050000\tvalue 99999\n"


def test_insert_values(server, table):
    ok(server.client("-q", f"CREATE TABLE {table} (x UInt32, s String) ENGINE = Memory"))
    ok(server.client("-q", f"INSERT INTO {table} VALUES (1, 'one'), (1 + 1, 'two')"))
    assert ok(server.client("-q", f"SELECT * FROM {table} ORDER BY x")) == "1\tone\n2\ttwo\n"


def test_native_pipe_between_servers(server, table):
    ok(server.client("-q", f"CREATE TABLE {table} (n UInt64, s String) ENGINE = MergeTree ORDER BY n"))
    native = server.client("-q", "SELECT number AS n, toString(number) AS s FROM numbers(200000) FORMAT Native")
    assert native.returncode == 0
    ok(server.client("-q", f"INSERT INTO {table} FORMAT Native", stdin=native.stdout))
    assert ok(server.client("-q", f"SELECT count(), sum(n) FROM {table}")) == "200000\t19999900000\n"


def test_multiquery(server, table):
    script = (
        f"CREATE TABLE {table} (x UInt8) ENGINE = Memory; INSERT INTO {table} SELECT number FROM numbers(3);"
        f" SELECT sum(x) FROM {table}; SELECT 'end'"
    )
    assert ok(server.client("--multiquery", stdin=script)) == "3\nend\n"
    assert ok(server.client("--multiquery", "-q", "SELECT 1; SELECT 2")) == "1\n2\n"


def test_settings_are_sent(server):
    # Old clients send settings in binary.
    assert ok(server.client("--max_block_size=777", "-q", "SELECT value FROM system.settings WHERE name = 'max_block_size'")) == "777\n"
    assert ok(server.client("--max_block_size=10", "-q", "SELECT max(blockSize()) FROM numbers(100)")) == "10\n"


def test_progress(server):
    outcome = server.client("--progress", "-q", "SELECT count() FROM numbers(300000000)")
    assert ok(outcome) == "300000000\n"


def test_time(server):
    outcome = server.client("--time", "-q", "SELECT 1")
    assert ok(outcome) == "1\n"
    assert float(outcome.stderr) >= 0


def test_totals_and_extremes(server):
    query = "SELECT number % 3 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS ORDER BY k"
    assert ok(server.client("-q", query)) == "0\t4\n1\t3\n2\t3\n\n0\t10\n"
    assert ok(server.client("--extremes=1", "-q", "SELECT number FROM numbers(3)")) == "0\n1\n2\n\n0\n2\n"


@pytest.mark.parametrize(
    ("query", "code"), [("SELECT unknown", 47), ("SELECT 1 FROM no_such_table", 60), ("SELECT no_such_function()", 46)]
)
def test_exceptions(server, query, code):
    outcome = server.client("-q", query)
    assert outcome.returncode != 0
    assert f"Code: {code}" in outcome.stderr.decode()


def test_exception_in_the_middle_of_an_insert(server, table):
    ok(server.client("-q", f"CREATE TABLE {table} (x UInt32) ENGINE = MergeTree ORDER BY x"))
    assert server.client("-q", f"INSERT INTO {table} FORMAT TSV", stdin="1\n2\nthree\n").returncode != 0
    assert ok(server.client("-q", f"SELECT count() FROM {table}")) == "0\n"


def test_wrong_password(server):
    outcome = server.client("--user=reader", "--password=wrong", "-q", "SELECT 1")
    assert outcome.returncode != 0
    assert "Code: 516" in outcome.stderr.decode()
    assert ok(server.client("--user=reader", "--password=secret", "-q", "SELECT currentUser()")) == "reader\n"


def test_without_compression(server):
    assert ok(server.client("--compression=0", "-q", "SELECT sum(number) FROM numbers(1000)")) == "499500\n"


def test_large_result(server):
    outcome = server.client("-q", "SELECT number, toString(number) FROM numbers(1000000)")
    assert ok(outcome).count("\n") == 1_000_000


def test_interactive(server):
    """The client with a terminal before it: several queries on one connection, an error among them."""
    ours, theirs = pty.openpty()
    command = ["clickhouse-client", "--host=127.0.0.1", f"--port={server.native_port}"]
    client = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"})
    os.close(theirs)

    def until_prompt():
        seen = ""
        while ":) " not in seen:
            assert select.select([ours], [], [], 20)[0], f"no prompt after {seen!r}"
            seen += os.read(ours, 65536).decode(errors="replace")
        return seen

    until_prompt()
    for query, expected in [
        ("SELECT 40 + 2 AS answer", "42"),
        ("SELECT nonsense", "Code: 47"),
        ("SHOW DATABASES", "default"),
        ("SELECT 'still' || ' here'", "still here"),
    ]:
        os.write(ours, query.encode() + b"\n")
        seen = until_prompt()
        # The prompt is drawn again while the line is typed; the answer comes before the next one.
        while expected not in seen:
            seen += until_prompt()
    os.write(ours, b"exit\n")
    assert client.wait(20) == 0
    os.close(ours)
