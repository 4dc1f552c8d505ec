"""Large results are laid out by several workers: bytes, limits, ends and errors are those of one."""

import gzip
import hashlib
import io
import time

import clickhouse_driver
import pyarrow.ipc
import pyarrow.parquet
import pytest
from server import wait_until

ROWS = 300_000
FORMATS = [
    "TSV", "TSVRaw", "TSVWithNamesAndTypes", "TSKV", "CSV", "CSVWithNames", "Values", "JSON", "JSONCompact", "JSONStrings", "JSONEachRow",
    "JSONCompactEachRow", "JSONCompactEachRowWithNamesAndTypes", "CustomSeparated", "XML", "RowBinary", "RowBinaryWithNamesAndTypes", "MsgPack",
    "BSONEachRow", "Markdown", "SQLInsert", "JSONColumns",
]  # fmt: skip


@pytest.fixture
def table(server):
    server.query("CREATE OR REPLACE TABLE laid_out (n UInt64, s String, f Float64, a Array(UInt8)) ENGINE = MergeTree ORDER BY n")
    server.query(
        "INSERT INTO laid_out SELECT number, repeat('<a&\"\\'\\t\\n', number % 5) || toString(number), number / 7, range(number % 4)"
        f" FROM numbers({ROWS})"
    )
    yield "laid_out"
    server.query("DROP TABLE laid_out SYNC")


def sha(server, sql, **params):
    response = server.http(sql, output_format_write_statistics=0, max_block_size=65_409, **params)
    assert response.status == 200, response.text[:500]
    return len(response.body), hashlib.sha256(response.body).hexdigest()


@pytest.mark.parametrize("form", FORMATS)
def test_bytes_are_those_of_one_thread(server, table, form):
    for sql in (
        f"SELECT * FROM {table} ORDER BY n FORMAT {form}",
        f"SELECT * FROM {table} ORDER BY n LIMIT 100001, 150000 FORMAT {form}",
        f"SELECT n % 1000 AS k, n, s FROM {table} ORDER BY k, n FORMAT {form}",
        f"SELECT n, count() FROM {table} GROUP BY n WITH TOTALS ORDER BY n FORMAT {form}",
    ):
        one = sha(server, sql, max_threads=1, extremes=1)
        assert one[0] > 1_500_000, one
        for threads in 2, 8:
            assert sha(server, sql, max_threads=threads, extremes=1) == one, (sql, threads)


def test_streams_of_batches_hold_the_rows_of_one_thread(server, table):
    # Where batches are cut depends on the workers, so the bytes do too.
    for sql in f"SELECT * FROM {table} ORDER BY n", f"SELECT n % 1000 AS k, n, s FROM {table} ORDER BY k, n LIMIT 100001, 150000":
        tables = [
            pyarrow.ipc.open_stream(server.http(f"{sql} FORMAT ArrowStream", max_threads=threads).body).read_all()
            for threads in (1, 2, 8)
        ]
        assert tables[0].num_rows >= 150_000
        assert all(table.equals(tables[0]) for table in tables)


def test_columns_of_parquet_by_several_workers(server, table):
    sql = f"SELECT *, (n, [s]) AS nested, toLowCardinality(s) AS low FROM {table} ORDER BY n FORMAT Parquet"
    files = [pyarrow.parquet.ParquetFile(io.BytesIO(server.http(sql, max_threads=threads).body)) for threads in (1, 2, 8)]
    one = files[0].read()
    assert one.num_rows == ROWS and one.column("n").to_pylist() == list(range(ROWS))
    assert all(file.read().equals(one) for file in files)
    for limit, value, rows in (("", 100_000, 100_000), ("", 70_001, 70_001), ("_bytes", 8 << 20, None)):
        settings = {f"output_format_parquet_row_group_size{limit}": value}
        for threads in 1, 8:
            file = pyarrow.parquet.ParquetFile(io.BytesIO(server.http(sql, max_threads=threads, **settings).body))
            groups = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            assert sum(groups) == ROWS and file.read().equals(one)
            if rows:
                assert groups[:-1] == [rows] * (ROWS // rows - (ROWS % rows == 0)) and groups[-1] <= rows, groups
            else:
                assert 3 < len(groups) < 12 and groups[0] > 10_000, groups


def test_packets_of_the_native_protocol(server, table):
    sql = f"SELECT n, s, f, a FROM {table} ORDER BY n"
    expected = None
    for compression in False, "lz4", "zstd":
        for threads in 1, 2, 8:
            client = clickhouse_driver.Client("127.0.0.1", port=server.native_port, compression=compression)
            settings = {"max_threads": threads, "extremes": 1}
            rows = client.execute(sql, settings=settings)
            expected = expected or rows
            assert [row[0] for row in rows[:ROWS]] == list(range(ROWS))
            assert rows == expected
            totals = client.execute(f"SELECT n, count() FROM {table} GROUP BY n WITH TOTALS ORDER BY n", settings={"max_threads": threads})
            assert totals[ROWS] == (0, ROWS)
            info = client.last_query.profile_info
            assert (info.rows, info.blocks > 3) == (ROWS, True)
            with pytest.raises(clickhouse_driver.errors.ServerException, match="FUNCTION_THROW_IF|Value passed to 'throwIf'"):
                client.execute(f"SELECT n, s, throwIf(n = {ROWS - 5}) FROM {table}", settings={"max_threads": threads, "max_block_size": 1000})
            # Given up in the middle, after which the connection takes the next query.
            taken = client.execute_iter(sql, settings={"max_threads": threads, "max_block_size": 1000})
            assert next(taken) == rows[0]
            client.cancel()
            assert client.execute("SELECT 1") == [(1,)]
            client.disconnect()


def test_a_native_client_that_stops_reading_holds_little(server, table):
    client = clickhouse_driver.Client("127.0.0.1", port=server.native_port, compression="lz4")
    rows = client.execute_iter(f"SELECT s, repeat(s, 100) FROM {table}", query_id="native_stalled", settings={"max_threads": 4})
    next(rows)
    time.sleep(0.5)
    memory = int(server.value("SELECT memory_usage FROM system.processes WHERE query_id = 'native_stalled'"))
    assert memory < 60 << 20, memory
    client.disconnect()
    server.until_gone("native_stalled")


def test_rows_of_many_blocks_come_in_order(server, table):
    text = server.http(f"SELECT n FROM {table} WHERE n % 3 != 1 ORDER BY n", max_threads=8).text
    assert text == "".join(f"{n}\n" for n in range(ROWS) if n % 3 != 1)


def test_compressed_bodies(server, table):
    plain = server.http(f"SELECT * FROM {table} ORDER BY n FORMAT CSV", max_threads=8).body
    packed = server.http(f"SELECT * FROM {table} ORDER BY n FORMAT CSV", max_threads=8, enable_http_compression=1, headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.body) == plain


def raw(server, sql, settings):
    """All that the server sends before it closes the connection."""
    with server.http_peer(timeout=60) as peer:
        head = f"POST /?{settings} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(sql)}\r\n\r\n"
        peer.send((head + sql).encode())
        return peer.receive_all()


def test_an_error_in_the_middle_is_told(server, table):
    sql = f"SELECT number, repeat('x', number % 100), throwIf(number = {ROWS - 5}) FROM numbers({ROWS})"
    for _ in range(5):
        answer = raw(server, sql, "max_threads=2&max_block_size=1000")
        assert len(answer) > 2_000_000
        assert b"FUNCTION_THROW_IF_VALUE_IS_NON_ZERO" in answer[-2000:], answer[-300:]


def test_limits_hold_while_workers_lay_out(server, table):
    sql = f"SELECT s, s || s FROM {table} FORMAT JSONEachRow"
    for settings in "max_result_rows=200000", "max_result_bytes=6000000":
        assert b"TOO_MANY_ROWS_OR_BYTES" in raw(server, sql, f"max_threads=4&{settings}")[-2000:], settings


def test_a_client_that_stops_reading_is_left_alone_and_can_be_killed(server, table):
    sql = f"SELECT s, repeat(s, 100) FROM {table} FORMAT JSONEachRow"
    with server.http_peer(timeout=60, receive_buffer=4096) as client:
        request = f"POST /?query_id=stalled&max_threads=4 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sql)}\r\n\r\n{sql}"
        client.send(request.encode())
        server.until_running("stalled")
        # What waits for it is bounded.
        time.sleep(0.5)
        memory = int(server.value("SELECT memory_usage FROM system.processes WHERE query_id = 'stalled'"))
        assert memory < 60 << 20, memory
        assert server.query("SELECT 1") == "1\n"
        server.query("KILL QUERY WHERE query_id = 'stalled'")
    server.until_gone("stalled")
    with server.http_peer(timeout=60, receive_buffer=4096) as client:
        client.send(request.replace("stalled", "gone").encode())
        server.until_running("gone")
    server.until_gone("gone")


def test_the_log_knows_all_of_it(server, table):
    server.http(f"SELECT * FROM {table} ORDER BY n FORMAT JSONEachRow", query_id="laid_out_logged", max_threads=4)
    server.query("SYSTEM FLUSH LOGS")
    of_log = "SELECT type, result_rows, exception_code, memory_usage > 0 FROM system.query_log WHERE query_id = 'laid_out_logged' AND type != 'QueryStart'"
    wait_until(lambda: server.query(of_log), "the query is logged")
    assert server.query(of_log) == f"QueryFinish\t{ROWS}\t0\t1\n"


def test_kill_ends_a_result_that_nobody_takes(server, table):
    """At once, over HTTP by either reader, and over the native protocol; who still reads is told."""
    sql = f"SELECT s, repeat(s, 1000) FROM {table}"
    request = f"POST /?query_id=killed HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(sql)}\r\n"
    for extra in "", "Expect: 100-continue\r\n":
        with server.http_peer(timeout=60, receive_buffer=4096) as client:
            client.send((request + extra + "\r\n" + sql).encode())
            server.until_running("killed")
            time.sleep(0.5)
            started = time.monotonic()
            server.query("KILL QUERY WHERE query_id = 'killed' SYNC")
            assert time.monotonic() - started < 5
    client = clickhouse_driver.Client("127.0.0.1", port=server.native_port)
    assert next(client.execute_iter(sql, query_id="killed"))
    time.sleep(0.5)
    started = time.monotonic()
    server.query("KILL QUERY WHERE query_id = 'killed' SYNC")
    assert time.monotonic() - started < 5
    client.disconnect()
    # A client that takes its result hears what became of it.
    with server.http_peer(timeout=60) as client:
        client.send((request.replace("Host", "Connection: close\r\nHost") + "\r\n" + sql).encode())
        client.receive()
        server.query("KILL QUERY WHERE query_id = 'killed'")
        last = b""
        while more := client.receive():
            last = (last + more)[-4000:]
        assert b"QUERY_WAS_CANCELLED" in last, last[-300:]
