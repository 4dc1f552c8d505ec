"""PyPI's clickhouse-driver: the native protocol at a modern revision."""

import datetime
import threading
import time
import uuid

import pytest
from clickhouse_driver import Client, errors


@pytest.fixture(params=[False, "lz4", "zstd"], ids=["plain", "lz4", "zstd"])
def driver(server, request):
    client = Client("127.0.0.1", port=server.native_port, compression=request.param)
    yield client
    client.disconnect()


@pytest.fixture
def client(server):
    client = Client("127.0.0.1", port=server.native_port)
    yield client
    client.disconnect()


def test_select(driver):
    assert driver.execute("SELECT 1, 'two', 3.5") == [(1, "two", 3.5)]
    rows, columns = driver.execute("SELECT number AS n, toString(number) AS s FROM numbers(3)", with_column_types=True)
    assert rows == [(0, "0"), (1, "1"), (2, "2")]
    assert columns == [("n", "UInt64"), ("s", "String")]


def test_large_select(driver):
    rows = driver.execute("SELECT number, toString(number) FROM numbers(300000)")
    assert len(rows) == 300_000
    assert sorted(rows)[-1] == (299_999, "299999")


def test_iterator(client):
    rows = client.execute_iter("SELECT number FROM system.numbers LIMIT 500000", settings={"max_block_size": 1000})
    assert sum(row[0] for row in rows) == 499_999 * 250_000


TYPES = {
    "UInt8": [0, 255],
    "UInt16": [0, 65535],
    "UInt32": [0, 4294967295],
    "UInt64": [0, 18446744073709551615],
    "Int8": [-128, 127],
    "Int16": [-32768, 32767],
    "Int32": [-2147483648, 2147483647],
    "Int64": [-9223372036854775808, 9223372036854775807],
    "Float32": [-1.5, 3.25],
    "Float64": [1e300, -0.1],
    "String": ["", "any text, и кириллица \t\n\\'"],
    "FixedString(4)": ["abcd", "abc"],
    "Date": [datetime.date(1970, 1, 1), datetime.date(2149, 6, 6)],
    "DateTime('UTC')": [datetime.datetime(2013, 7, 1, 12, 30, 15), datetime.datetime(2038, 1, 19, 3, 14, 7)],
    "Nullable(Int32)": [None, -7],
    "Nullable(String)": [None, "x"],
    "LowCardinality(String)": ["red", "green"],
    "Array(UInt16)": [[], [1, 2, 3]],
    "Array(Array(String))": [[["a"], []], []],
    "Array(Nullable(UInt8))": [[None, 1], []],
    "Tuple(UInt8, String)": [(1, "a"), (2, "b")],
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_round_trip(driver, server, table, kind):
    driver.execute(f"CREATE TABLE {table} (id UInt32, v {kind}) ENGINE = Memory")
    values = TYPES[kind]
    assert driver.execute(f"INSERT INTO {table} VALUES", list(enumerate(values))) == len(values)
    got = [row[0] for row in driver.execute(f"SELECT v FROM {table} ORDER BY id")]
    utc = [value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value for value in got]
    assert utc == values
    assert driver.execute(f"SELECT toTypeName(v) FROM {table} LIMIT 1")[0][0].replace("\\'", "'") == kind


def test_columnar_insert(driver, table):
    driver.execute(f"CREATE TABLE {table} (n UInt64, s String, d Date) ENGINE = MergeTree ORDER BY n")
    count = 250_000
    columns = [list(range(count)), [f"s{n % 1000}" for n in range(count)], [datetime.date(2013, 7, 1)] * count]
    driver.execute(f"INSERT INTO {table} VALUES", columns, columnar=True)
    assert driver.execute(f"SELECT count(), sum(n), uniqExact(s) FROM {table}") == [(count, count * (count - 1) // 2, 1000)]


def test_insert_in_several_blocks(client, table):
    client.execute(f"CREATE TABLE {table} (n UInt64) ENGINE = MergeTree ORDER BY n")
    blocks = ((n,) for n in range(100_000))
    assert client.execute(f"INSERT INTO {table} VALUES", blocks, settings={"insert_block_size": 7000}) == 100_000
    assert client.execute(f"SELECT count(), max(n) FROM {table}") == [(100_000, 99_999)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT nothing", errors.ErrorCodes.UNKNOWN_IDENTIFIER),
        ("SELECT * FROM nowhere", errors.ErrorCodes.UNKNOWN_TABLE),
        ("SELECT 1 +", errors.ErrorCodes.SYNTAX_ERROR),
        ("SELECT no_such_function()", errors.ErrorCodes.UNKNOWN_FUNCTION),
        ("SELECT 'a' + 1", errors.ErrorCodes.ILLEGAL_TYPE_OF_ARGUMENT),
    ],
)
def test_errors_leave_the_connection_usable(driver, query, code):
    with pytest.raises(errors.ServerException) as caught:
        driver.execute(query)
    assert caught.value.code == code
    assert driver.execute("SELECT 1") == [(1,)]


def test_wrong_type_in_insert(client, table):
    client.execute(f"CREATE TABLE {table} (n UInt8) ENGINE = Memory")
    with pytest.raises(errors.Error):
        client.execute(f"INSERT INTO {table} VALUES", [("text",)], types_check=True)
    assert client.execute(f"SELECT count() FROM {table}") == [(0,)]


def test_authentication(server):
    reader = Client("127.0.0.1", port=server.native_port, user="reader", password="secret")
    assert reader.execute("SELECT currentUser()") == [("reader",)]
    for user, password in [("reader", "wrong"), ("nobody", "")]:
        with pytest.raises(errors.ServerException) as caught:
            Client("127.0.0.1", port=server.native_port, user=user, password=password).execute("SELECT 1")
        assert caught.value.code == 516


def test_progress(client):
    progress = client.execute_with_progress("SELECT sum(number) FROM numbers(200000000)")
    seen = [rows for rows, _ in progress]
    assert progress.get_result() == [(19999999900000000,)]
    assert client.last_query.progress.rows == 200_000_000
    assert seen == sorted(seen)


def test_profile_info(client):
    client.execute("SELECT number FROM numbers(100) LIMIT 10")
    info = client.last_query.profile_info
    assert info.rows == 10
    assert client.last_query.elapsed > 0


def test_totals_and_extremes(client):
    rows = client.execute("SELECT number % 2 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS ORDER BY k")
    assert rows == [(0, 5), (1, 5), (0, 10)]
    rows = client.execute("SELECT number FROM numbers(3)", settings={"extremes": 1})
    assert rows == [(0,), (1,), (2,), (0,), (2,)]


def test_settings_and_query_id(client):
    query_id = str(uuid.uuid4())
    settings = {"max_block_size": 555}
    assert client.execute("SELECT value FROM system.settings WHERE name = 'max_block_size'", settings=settings, query_id=query_id) == [("555",)]
    client.execute("SYSTEM FLUSH LOGS")
    logged = client.execute("SELECT type, Settings['max_block_size'] FROM system.query_log WHERE query_id = %(id)s ORDER BY type", {"id": query_id})
    assert [row[1] for row in logged] == ["555", "555"]


def test_server_side_parameters(server):
    client = Client("127.0.0.1", port=server.native_port, settings={"server_side_params": True})
    assert client.execute("SELECT {a:UInt8} + 1, {b:String}", {"a": 41, "b": "it's"}) == [(42, "it's")]


def test_cancel(server, client):
    query_id = str(uuid.uuid4())
    other = Client("127.0.0.1", port=server.native_port)

    def cancel_when_running():
        while not other.execute(f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'")[0][0]:
            time.sleep(0.02)
        # Only asks: the answer is read by the thread that waits for the result. Past the driver's buffer, which that thread may still be
        # emptying.
        client.connection.socket.sendall(b"\x03")

    canceller = threading.Thread(target=cancel_when_running)
    canceller.start()
    started = time.monotonic()
    try:
        client.execute("SELECT count() FROM system.numbers", query_id=query_id)
    except (errors.Error, EOFError, OSError):
        pass
    canceller.join(20)
    assert time.monotonic() - started < 20
    deadline = time.monotonic() + 20
    while other.execute(f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'")[0][0]:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_session_keeps_database(server, client):
    client.execute("CREATE DATABASE IF NOT EXISTS session_db")
    client.execute("USE session_db")
    assert client.execute("SELECT currentDatabase()") == [("session_db",)]
    client.execute("SET max_block_size = 99")
    assert client.execute("SELECT value FROM system.settings WHERE name = 'max_block_size'") == [("99",)]


def test_old_revisions(server):
    for revision in (54401, 54420, 54429, 54441, 54448, 54453, 54454, 54458, 54460, 54463):
        client = Client("127.0.0.1", port=server.native_port, client_revision=revision, compression="lz4")
        assert client.execute("SELECT number, 'x' FROM numbers(2)") == [(0, "x"), (1, "x")]
        with pytest.raises(errors.ServerException):
            client.execute("SELECT nothing")
        client.disconnect()


def test_many_connections(server):
    failures = []

    def work(number):
        try:
            client = Client("127.0.0.1", port=server.native_port)
            for _ in range(5):
                assert client.execute("SELECT sum(number + %(n)s) FROM numbers(10000)", {"n": number}) == [(49995000 + 10000 * number,)]
            client.disconnect()
        except Exception as failure:
            failures.append(failure)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(50)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_defaults_refer_to_given_columns(driver, table):
    driver.execute(f"CREATE TABLE {table} (n UInt8 DEFAULT 42, s String DEFAULT concat('test', toString(n)), t UInt8 DEFAULT n + 1) ENGINE = Memory")
    driver.execute(f"INSERT INTO {table} (n) VALUES", [(2,), (3,)])
    driver.execute(f"INSERT INTO {table} (s) VALUES", [("x",)])
    driver.execute(f"INSERT INTO {table} (t, n) VALUES", [(9, 8)])
    assert driver.execute(f"SELECT * FROM {table} ORDER BY n") == [
        (2, "test2", 3), (3, "test3", 4), (8, "test8", 9), (42, "x", 43),
    ]
