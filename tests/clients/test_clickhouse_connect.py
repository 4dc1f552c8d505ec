"""PyPI's clickhouse-connect: HTTP with the Native format."""

import datetime

import clickhouse_connect
import pytest
from clickhouse_connect.driver.exceptions import DatabaseError


@pytest.fixture(params=[False, "lz4", "zstd", "gzip"], ids=["plain", "lz4", "zstd", "gzip"])
def client(server, request):
    client = clickhouse_connect.get_client(host="127.0.0.1", port=server.http_port, compress=request.param)
    yield client
    client.close()


def test_query(client):
    result = client.query("SELECT number AS n, toString(number) AS s FROM numbers(3)")
    assert result.column_names == ("n", "s")
    assert result.result_rows == [(0, "0"), (1, "1"), (2, "2")]
    assert client.command("SELECT 42") == 42


def test_large_query(client):
    result = client.query("SELECT number, toString(number) FROM numbers(500000)")
    assert result.row_count == 500_000


def test_insert(client, table):
    client.command(f"CREATE TABLE {table} (n UInt32, s String, d Date, f Float64, o Nullable(Int64)) ENGINE = MergeTree ORDER BY n")
    rows = [[n, f"s{n}", datetime.date(2013, 7, 1), n / 2, None if n % 3 else n] for n in range(10_000)]
    client.insert(table, rows, column_names=["n", "s", "d", "f", "o"])
    assert client.query(f"SELECT count(), sum(n), sum(f), sum(o) FROM {table}").result_rows == [
        (10_000, 49_995_000, 24_997_500.0, sum(range(0, 10_000, 3)))
    ]
    assert client.query(f"SELECT * FROM {table} WHERE n = 3").result_rows == [(3, "s3", datetime.date(2013, 7, 1), 1.5, 3)]


def test_parameters(client):
    result = client.query("SELECT {n:UInt32} + 1, {s:String}, {d:Date}", parameters={"n": 41, "s": "it's", "d": datetime.date(2013, 7, 1)})
    assert result.result_rows == [(42, "it's", datetime.date(2013, 7, 1))]


def test_settings(client):
    assert client.query("SELECT value FROM system.settings WHERE name = 'max_block_size'", settings={"max_block_size": 777}).result_rows == [("777",)]


def test_data_frames(client, table):
    frame = client.query_df("SELECT number AS n, number * 2 AS m FROM numbers(1000)")
    assert frame["m"].sum() == 999_000
    client.command(f"CREATE TABLE {table} (n UInt64, m UInt64) ENGINE = Memory")
    client.insert_df(table, frame)
    assert client.command(f"SELECT sum(m) FROM {table}") == 999_000


def test_streaming(client):
    with client.query_row_block_stream("SELECT number FROM numbers(1000000)") as stream:
        assert sum(len(block) for block in stream) == 1_000_000


def test_errors(client):
    with pytest.raises(DatabaseError, match="UNKNOWN_TABLE|code: 60|Code: 60"):
        client.query("SELECT * FROM no_such_table")
    assert client.command("SELECT 1") == 1


def test_summary(client):
    summary = client.query("SELECT sum(number) FROM numbers(1000)").summary
    assert summary["read_rows"] == "1000"


def test_authentication(server):
    reader = clickhouse_connect.get_client(host="127.0.0.1", port=server.http_port, username="reader", password="secret")
    assert reader.command("SELECT currentUser()") == "reader"
    with pytest.raises(DatabaseError):
        clickhouse_connect.get_client(host="127.0.0.1", port=server.http_port, username="reader", password="wrong")
