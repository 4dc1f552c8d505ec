"""PyPI's clickhouse-connect with Arrow, pandas and Polars: tables and data frames in both directions."""

import datetime
import decimal

import clickhouse_connect
import pandas
import polars
import pyarrow
import pytest
from clickhouse_connect.driver.external import ExternalData

TABLE = pyarrow.table(
    {
        "i": pyarrow.array([1, 2, 3], pyarrow.int64()),
        "u": pyarrow.array([1, 2, 255], pyarrow.uint8()),
        "f": pyarrow.array([1.5, None, -2.25], pyarrow.float64()),
        "b": pyarrow.array([True, False, True]),
        "s": pyarrow.array(["it's", "", "é"]),
        "n": pyarrow.array(["x", None, None]),
        "w": pyarrow.array(["a", "b", "a"]).dictionary_encode(),
        "d": pyarrow.array([datetime.date(2024, 1, 2)] * 3),
        "t": pyarrow.array([datetime.datetime(2024, 1, 2, 3, 4, 5, 123000, datetime.UTC)] * 3, pyarrow.timestamp("ms", "UTC")),
        "l": pyarrow.array([[1, 2], [], [3]], pyarrow.list_(pyarrow.int32())),
        "m": pyarrow.array([[("k", 1)], [], [("q", 2)]], pyarrow.map_(pyarrow.string(), pyarrow.uint8())),
        "p": pyarrow.array([{"x": 1, "y": "z"}] * 3, pyarrow.struct([("x", pyarrow.uint8()), ("y", pyarrow.string())])),
        "c": pyarrow.array([decimal.Decimal("1.25"), decimal.Decimal("-3.50"), decimal.Decimal("0.01")], pyarrow.decimal128(18, 2)),
        "large": pyarrow.array(["x", "y", "z"], pyarrow.large_string()),
    }
)
COLUMNS = """i Int64, u UInt8, f Nullable(Float64), b Bool, s String, n Nullable(String), w LowCardinality(String), d Date,
    t DateTime64(3, 'UTC'), l Array(Int32), m Map(String, UInt8), p Tuple(x UInt8, y String), c Decimal(18, 2), large String"""


@pytest.fixture
def client(server):
    client = clickhouse_connect.get_client(host="127.0.0.1", port=server.http_port)
    yield client
    client.close()


def test_arrow_comes_back(client, table):
    client.command(f"CREATE TABLE {table} ({COLUMNS}) ENGINE = MergeTree ORDER BY i")
    client.insert_arrow(table, TABLE)
    found = client.query_arrow(f"SELECT * FROM {table} ORDER BY i")
    assert found.to_pylist() == TABLE.to_pylist()


def test_types_of_arrow(client):
    """The types that ClickHouse 26.9 gives."""
    expressions = {
        "1::UInt8": pyarrow.uint8(),
        "true": pyarrow.bool_(),
        "'x'": pyarrow.string(),
        "toFixedString('abc', 3)": pyarrow.binary(3),
        "toDate('2024-01-02')": pyarrow.date32(),
        "toDateTime('2024-01-02 03:04:05', 'UTC')": pyarrow.uint32(),
        "toDateTime64('2024-01-02 03:04:05', 0, 'UTC')": pyarrow.timestamp("s", "UTC"),
        "toDateTime64('2024-01-02 03:04:05.1', 1, 'UTC')": pyarrow.timestamp("ms", "UTC"),
        "toDateTime64('2024-01-02 03:04:05.123456', 6, 'Asia/Tokyo')": pyarrow.timestamp("us", "Asia/Tokyo"),
        "toDateTime64('2024-01-02 03:04:05.123456789', 9, 'UTC')": pyarrow.timestamp("ns", "UTC"),
        "toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')": pyarrow.uuid(),
        "toIPv4('1.2.3.4')": pyarrow.uint32(),
        "toIPv6('::1')": pyarrow.binary(16),
        "CAST('a', 'Enum8(\\'a\\' = 1)')": pyarrow.int8(),
        "toIntervalDay(1)": pyarrow.int64(),
        "CAST(1, 'Decimal(9, 2)')": pyarrow.decimal128(9, 2),
        "CAST(1, 'Decimal(38, 2)')": pyarrow.decimal128(38, 2),
        "CAST(1, 'Decimal(76, 2)')": pyarrow.decimal256(76, 2),
        "CAST(1, 'Int128')": pyarrow.binary(16),
        "NULL": pyarrow.null(),
        "toLowCardinality('x')": pyarrow.string(),
        "[1, 2]": pyarrow.list_(pyarrow.field("item", pyarrow.uint8(), nullable=False)),
        "[1, NULL]": pyarrow.list_(pyarrow.uint8()),
        "map('a', 1)": pyarrow.map_(pyarrow.string(), pyarrow.field("value", pyarrow.uint8(), nullable=False)),
        "(1, 'x')": pyarrow.struct([pyarrow.field("1", pyarrow.uint8(), nullable=False), pyarrow.field("2", pyarrow.string(), nullable=False)]),
    }
    for expression, arrow_type in expressions.items():
        found = client.query_arrow(f"SELECT {expression} AS c")
        assert found.schema.field(0).type == arrow_type, expression
    decimals = client.query_arrow("SELECT CAST('-1.25', 'Decimal(9, 2)') AS a, CAST('1.25', 'Decimal(30, 2)') AS b, CAST('-5.5', 'Decimal(76, 1)') AS c").to_pylist()
    assert list(decimals[0].values()) == [decimal.Decimal("-1.25"), decimal.Decimal("1.25"), decimal.Decimal("-5.5")]
    values = client.query_arrow("SELECT toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u, NULL AS n, map('a', [1]) AS m").to_pylist()
    assert str(values[0]["u"]) == "61f0c404-5cb3-11e7-907b-a6006ad3dba0"
    assert (values[0]["n"], values[0]["m"]) == (None, [("a", [1])])


@pytest.mark.parametrize("name", ["Arrow", "ArrowStream"])
@pytest.mark.parametrize("compression", ["none", "lz4_frame", "zstd"])
def test_containers(client, table, name, compression):
    settings = {"output_format_arrow_compression_method": compression}
    data = client.raw_query("SELECT number, toString(number) AS s FROM numbers(200000)", fmt=name, settings=settings)
    opened = pyarrow.ipc.open_file(data) if name == "Arrow" else pyarrow.ipc.open_stream(data)
    assert pyarrow.compute.sum(opened.read_all()["number"]).as_py() == 19_999_900_000
    client.command(f"CREATE TABLE {table} (number UInt64, s String) ENGINE = Memory")
    client.raw_insert(table, insert_block=data, fmt=name)
    assert client.query(f"SELECT count(), sum(number), max(s) FROM {table}").result_rows == [(200_000, 19_999_900_000, "99999")]


def test_a_stream_of_batches(client):
    with client.query_arrow_stream("SELECT number FROM numbers(300000)") as stream:
        assert sum(batch.num_rows for batch in stream) == 300_000
    with client.query_df_stream("SELECT number FROM numbers(300000)") as stream:
        assert sum(len(frame) for frame in stream) == 300_000


def test_no_rows(client, table):
    found = client.query_arrow("SELECT number, toString(number) AS s FROM numbers(0)")
    assert (found.num_rows, found.schema.names) == (0, ["number", "s"])
    client.command(f"CREATE TABLE {table} (number UInt64, s String) ENGINE = Memory")
    client.insert_arrow(table, found)
    assert client.command(f"SELECT count() FROM {table}") == 0


def test_broken_data_are_refused(server, table):
    server.query(f"CREATE TABLE {table} (a UInt64) ENGINE = Memory")
    data = server.http("SELECT number AS a FROM numbers(1000) FORMAT ArrowStream").body
    for broken in [data[:-300], b"\xff\xff\xff\xff" + data[8:], data[:40] + b"\x7f" * 40 + data[80:], b"rubbish" * 100, data[:300] + b"\xff" * 8 + data[308:]]:
        response = server.http(f"INSERT INTO {table} FORMAT ArrowStream", body=broken)
        assert response.status in (200, 400, 500) and server.alive()
    assert server.http(f"INSERT INTO {table} FORMAT Arrow", body=data).headers["X-ClickHouse-Exception-Code"] == "117"


def test_pandas(client, table):
    client.command(f"CREATE TABLE {table} (n UInt64, s String, t DateTime('UTC'), x Nullable(Int32)) ENGINE = Memory")
    query = "SELECT number AS n, toString(number) AS s, toDateTime('2024-01-01 00:00:00', 'UTC') AS t, if(number % 2, NULL, number)::Nullable(Int32) AS x FROM numbers(1000)"
    frame = client.query_df(query)
    client.insert_df(table, frame)
    found = client.query_df(f"SELECT * FROM {table} ORDER BY n")
    pandas.testing.assert_frame_equal(found, frame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_by_arrow(client, table, library):
    client.command(f"CREATE TABLE {table} (n UInt64, s String, d Date32) ENGINE = Memory")
    frame = client.query_df_arrow("SELECT number AS n, toString(number) AS s, toDate32('2024-01-02') AS d FROM numbers(1000)", dataframe_library=library)
    assert isinstance(frame, {"pandas": pandas, "polars": polars}[library].DataFrame)
    assert frame["n"].sum() == 499_500
    client.insert_df_arrow(table, frame)
    assert client.query(f"SELECT count(), sum(n), any(d) FROM {table}").result_rows == [(1000, 499_500, datetime.date(2024, 1, 2))]


def test_external_data(client):
    data = ExternalData(file_name="m.csv", fmt="CSV", structure=["a UInt8", "b String"], data=b"1,x\n2,y\n")
    assert client.query("SELECT sum(a) FROM m", external_data=data).result_rows == [(3,)]
