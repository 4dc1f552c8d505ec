"""ClickHouse's HTTP interface, spoken by hand."""

import base64
import gzip
import json
import re
import struct
import threading
import time
import urllib.parse
import uuid
import zlib

import lz4.block
import lz4.frame
import pyarrow
import pytest
import zstd
from server import hash128, wait_until


def test_ping_and_root(server):
    for method in ("GET", "HEAD"):
        response = server.http(path="/ping", method=method)
        assert response.status == 200
    assert server.http(path="/ping", method="GET").body == b"Ok.\n"
    assert server.http(path="/", method="GET").body == b"Ok.\n"
    assert server.http(path="/replicas_status", method="GET").body == b"Ok.\n"
    assert server.http(path="/no/such/page", method="GET").status == 404


def test_pages_for_browsers(server):
    for path in ("/play", "/dashboard", "/scheduler"):
        page = server.http(path=path, method="GET")
        assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=UTF-8")
        assert page.headers["Cache-Control"] == "no-cache" and page.text.startswith("<!doctype html>")
        # Nothing from elsewhere, nothing to elsewhere.
        policy = page.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none';") and "unsafe" not in policy and "http" not in policy
        files = re.findall(r'(?:href|src)="(/[^"]+)"', page.text)
        assert files and "http" not in re.sub(r"data:[^\"]*", "", page.text)
        for file in files:
            plain = server.http(path=file, method="GET")
            packed = server.http(path=file, method="GET", headers={"Accept-Encoding": "br, gzip"})
            assert plain.status == packed.status == 200
            assert plain.headers["Content-Encoding"] is None
            unpacked = gzip.decompress(packed.body) if packed.headers["Content-Encoding"] == "gzip" else packed.body
            assert unpacked == plain.body and len(plain.body) < 1_000_000
    assert server.http(path="/play", method="POST", body=b"SELECT 1").status == 404
    assert server.http(path="/pages/nothing.js", method="GET").status == 404
    assert server.http(path="/play", method="HEAD").body == b""


def test_query_in_url_in_body_and_in_both(server):
    assert server.http("SELECT 1", method="GET").body == b"1\n"
    assert server.http(body=b"SELECT 2").body == b"2\n"
    # The body goes on where the URL's query ends, on a new line.
    assert server.http("SELECT", body=b"3").body == b"3\n"


def test_get_is_readonly(server):
    response = server.http("CREATE TABLE no_get (x UInt8) ENGINE = Memory", method="GET")
    assert response.headers["X-ClickHouse-Exception-Code"] == "164"


def test_headers_of_a_result(server):
    response = server.http("SELECT 1 AS x FORMAT JSON", query_id="by-hand-1")
    assert response.status == 200
    assert response.headers["X-ClickHouse-Query-Id"] == "by-hand-1"
    assert response.headers["X-ClickHouse-Format"] == "JSON"
    assert response.headers["X-ClickHouse-Timezone"] == "UTC"
    assert response.headers["Content-Type"].startswith("application/json")
    summary = json.loads(response.headers["X-ClickHouse-Summary"])
    assert {"read_rows", "read_bytes", "written_rows", "written_bytes"} <= set(summary)
    assert json.loads(response.body)["data"] == [{"x": 1}]


def test_format_comes_from_query_then_url_then_header(server):
    header = {"X-ClickHouse-Format": "CSV"}
    assert server.http("SELECT 'a', 1", headers=header).body == b'"a",1\n'
    assert server.http("SELECT 'a', 1", default_format="TSVRaw").body == b"a\t1\n"
    assert server.http("SELECT 'a' AS s FORMAT JSONEachRow", default_format="CSV").body == b'{"s":"a"}\n'
    response = server.http("SELECT 1 FORMAT NoSuchFormat")
    assert response.headers["X-ClickHouse-Exception-Code"] == "73"


def basic(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def test_authentication(server):
    ask = "SELECT currentUser()"
    keys = {"X-ClickHouse-User": "reader", "X-ClickHouse-Key": "secret"}
    assert server.http(ask, user="reader", password="secret").body == b"reader\n"
    assert server.http(ask, headers=basic("reader", "secret")).body == b"reader\n"
    assert server.http(ask, headers=keys).body == b"reader\n"
    for response in [
        server.http(ask, user="reader", password="wrong"),
        server.http(ask, user="reader"),
        server.http(ask, headers=basic("nobody", "")),
        server.http(ask, headers={**keys, "X-ClickHouse-Key": "wrong"}),
        server.http(ask, user="stranger"),
    ]:
        assert response.status in (401, 403)
        assert response.headers["X-ClickHouse-Exception-Code"] in ("516", "194", "195")
        assert "reader" not in response.text or "secret" not in response.text
    assert server.http(ask, headers={"Authorization": "Basic !!!"}).status in (400, 401, 403)


def test_readonly_user(server):
    response = server.http(body=b"CREATE TABLE no_reader (x UInt8) ENGINE = Memory", user="reader", password="secret")
    assert response.headers["X-ClickHouse-Exception-Code"] in ("164", "497")


def test_database(server):
    server.query("CREATE DATABASE IF NOT EXISTS elsewhere")
    ask = "SELECT currentDatabase()"
    assert server.http(ask, database="elsewhere").body == b"elsewhere\n"
    assert server.http(ask, headers={"X-ClickHouse-Database": "elsewhere"}).body == b"elsewhere\n"
    response = server.http(ask, database="no_such_database")
    assert response.status == 404
    assert response.headers["X-ClickHouse-Exception-Code"] == "81"


def test_settings_in_url(server):
    assert server.http("SELECT value FROM system.settings WHERE name = 'max_block_size'", max_block_size=1234).body == b"1234\n"
    response = server.http("SELECT 1", no_such_setting=1)
    assert response.headers["X-ClickHouse-Exception-Code"] == "115"
    response = server.http("SELECT 1", max_threads="many")
    assert response.status == 400


def test_parameters(server):
    query = "SELECT {n:UInt32} + 1, {s:String}"
    assert server.http(query, param_n=41, param_s="it's").body == b"42\tit\\'s\n"
    assert server.http(query, param_n=41).headers["X-ClickHouse-Exception-Code"] == "456"
    assert server.http(query, param_n="x", param_s="").headers["X-ClickHouse-Exception-Code"] == "457"


@pytest.mark.parametrize(
    ("query", "status", "code", "name"),
    [
        ("SELECT nothing_known", 404, "47", "UNKNOWN_IDENTIFIER"),
        ("SELECT * FROM no_such_table", 404, "60", "UNKNOWN_TABLE"),
        ("SELECT no_such_function()", 404, "46", "UNKNOWN_FUNCTION"),
        ("SELECT * FROM no_such_database.t", 404, "81", "UNKNOWN_DATABASE"),
        ("SELEKT 1", 400, "62", "SYNTAX_ERROR"),
        ("SELECT 'open", 400, "62", "SYNTAX_ERROR"),
        ("SELECT count(", 400, "62", "SYNTAX_ERROR"),
    ],
)
def test_errors(server, query, status, code, name):
    response = server.http(body=query.encode())
    assert response.status == status, response.text
    assert response.headers["X-ClickHouse-Exception-Code"] == code
    assert response.text.startswith(f"Code: {code}. DB::Exception: ")
    assert f"({name})" in response.text


def test_empty_query(server):
    response = server.http(body=b"")
    assert response.status == 400
    assert response.headers["X-ClickHouse-Exception-Code"] == "62"


def test_keep_alive(server):
    with server.http_peer() as peer:
        for number in range(3):
            peer.send(f"GET /?query=SELECT+{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert peer.response()[1] == f"{number}\n".encode()


def test_pipelined_requests_are_answered_in_order(server):
    with server.http_peer() as peer:
        peer.send(b"GET /?query=SELECT+1 HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        assert [peer.response()[1] for _ in range(3)] == [b"1\n"] * 3


def test_keep_alive_ends_after_its_timeout(start_server):
    server = start_server(settings={"keep_alive_timeout": 1})
    with server.http_peer() as peer:
        peer.send(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
        assert peer.response()[1] == b"Ok.\n"
        assert peer.receive() == b""


def test_expect_100_continue(server):
    with server.http_peer() as peer:
        peer.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n")
        assert peer.receive().startswith(b"HTTP/1.1 100")
        peer.send(b"SELECT 7")
        assert peer.response()[1] == b"7\n"


REFUSED = b"POST /?query=INSERT+INTO+no_such_table+FORMAT+TSV HTTP/1.1\r\nHost: x\r\n"


def test_a_refused_insert_in_a_pool(server):
    """The body is read to its end, where that is not far, so that the next request is answered on the same connection."""
    with server.http_peer() as peer:
        for body_bytes in [10, 100_000, 3_000_000]:
            peer.send(REFUSED + b"Content-Length: %d\r\n\r\n" % body_bytes + b"1\n" * (body_bytes // 2))
            head, body = peer.response()
            assert b"UNKNOWN_TABLE" in body and b"connection: close" not in head.lower()
            peer.send(b"GET /?query=SELECT+7 HTTP/1.1\r\nHost: x\r\n\r\n")
            assert peer.response()[1] == b"7\n"
        peer.send(REFUSED + b"Transfer-Encoding: chunked\r\n\r\n" + b"6\r\n1\n2\n3\n\r\n" * 10_000 + b"0\r\n\r\n")
        assert b"UNKNOWN_TABLE" in peer.response()[1]
        peer.send(b"GET /?query=SELECT+7 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert peer.response()[1] == b"7\n"


def test_a_refused_insert_that_goes_on(server):
    """A client whose body has no end in sight is told that the connection ends."""
    with server.http_peer() as peer:
        # As much as a statement may have is waited for; the query begins then.
        peer.send(REFUSED + b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + b"1\n" * 0x8000 + b"\r\n")
        for _ in range(5):
            peer.send(b"10000\r\n" + b"1\n" * 0x8000 + b"\r\n")
        head, body = peer.response()
        assert b"UNKNOWN_TABLE" in body and b"connection: close" in head.lower()
        assert peer.receive() == b""


def test_a_refused_insert_that_asks_first(server):
    """A client that waits to be asked for its body is not asked, and does not know whether it may send another request."""
    with server.http_peer() as peer:
        # A password that is wrong is refused before the body is looked at.
        request = REFUSED.replace(b"?query", b"?user=nobody&password=x&query")
        peer.send(request + b"Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n")
        head, body = peer.response()
        assert b"100 Continue" not in head and b"AUTHENTICATION_FAILED" in body and b"connection: close" in head.lower()
        assert peer.receive() == b""


def test_map_parameters(server):
    found = server.query("SELECT {m:Map(String, Array(UInt8))}, {t:Tuple(a Date, b Map(UInt8, String))}", param_m="{'a':[1,2]}", param_t="('2024-01-02',{1:'x'})")
    assert found == "{'a':[1,2]}\t('2024-01-02',{1:'x'})\n"
    assert server.error_code("SELECT {m:Map(String, UInt8)}", param_m="{'a':1") == 457


def test_native_blocks_of_a_protocol_version(server):
    """From 51903 on a BlockInfo stands before each block of an answer; input is as in files."""
    query = "SELECT 1::UInt8 AS a FORMAT Native"
    plain = server.http(query).body
    assert plain == b"\x01\x01\x01a\x05UInt8\x01"
    assert server.http(query, client_protocol_version=51902).body == plain
    assert server.http(query, client_protocol_version=51903).body == b"\x01\x00\x02\xff\xff\xff\xff\x00" + plain


def test_chunked_request(server, table):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = Memory")

    def lines():
        for start in range(0, 10_000, 100):
            yield "".join(f"{number}\n" for number in range(start, start + 100)).encode()

    response = server.http(f"INSERT INTO {table} FORMAT TSV", body=lines())
    assert response.status == 200, response.text
    assert server.value(f"SELECT count(), sum(x) FROM {table}") == "10000\t49995000"


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ("TabSeparated", b"1\tone\n2\ttwo\n"),
        ("TabSeparatedWithNames", b"x\ts\n1\tone\n2\ttwo\n"),
        ("TabSeparatedWithNamesAndTypes", b"x\ts\nUInt32\tString\n1\tone\n2\ttwo\n"),
        ("CSV", b'1,"one"\n2,two\n'),
        ("CSVWithNames", b's,x\n"one",1\n"two",2\n'),
        ("JSONEachRow", b'{"x":1,"s":"one"}\n{"s":"two","x":"2"}\n'),
        ("Values", b"(1, 'one'), (2, 'two')"),
        ("RowBinary", struct.pack("<IB3sIB3s", 1, 3, b"one", 2, 3, b"two")),
    ],
)
def test_insert_formats(server, table, form, body):
    server.query(f"CREATE TABLE {table} (x UInt32, s String) ENGINE = Memory")
    response = server.http(f"INSERT INTO {table} FORMAT {form}", body=body)
    assert response.status == 200, response.text
    assert json.loads(response.headers["X-ClickHouse-Summary"])["written_rows"] == "2"
    assert server.rows(f"SELECT x, s FROM {table} ORDER BY x") == [["1", "one"], ["2", "two"]]


@pytest.mark.parametrize(
    "form", ["Native", "RowBinary", "RowBinaryWithNamesAndTypes", "Parquet", "JSON", "JSONCompact", "TSVWithNamesAndTypes"]
)
def test_output_goes_in_again(server, table, form):
    server.query(
        f"CREATE TABLE {table} (n UInt64, i Int8, f Float64, s String, d Date, t DateTime, a Array(UInt8), o Nullable(Int32))"
        " ENGINE = Memory"
    )
    source = (
        "SELECT number AS n, toInt8(number % 100 - 50) AS i, number / 3 AS f, toString(number) AS s,"
        " toDate('2013-07-01') + number % 31 AS d, toDateTime('2013-07-01 00:00:00') + number AS t,"
        " [toUInt8(number % 7), 1] AS a, if(number % 3 = 0, NULL, toInt32(number)) AS o FROM numbers(3000)"
    )
    out = server.http(f"{source} FORMAT {form}")
    assert out.status == 200, out.text
    if form not in ("JSON", "JSONCompact"):
        response = server.http(f"INSERT INTO {table} FORMAT {form}", body=out.body)
        assert response.status == 200, response.text
        checksum = "SELECT count(), sum(cityHash64(n, i, f, s, d, t, a, toString(o))) FROM"
        assert server.value(f"{checksum} {table}") == server.value(f"{checksum} ({source})")
    else:
        assert len(json.loads(out.body)["data"]) == 3000


def test_insert_of_bad_data_inserts_nothing(server, table):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = MergeTree ORDER BY x")
    response = server.http(f"INSERT INTO {table} FORMAT TSV", body=b"1\n2\nthree\n")
    assert response.status == 400
    assert response.headers["X-ClickHouse-Exception-Code"] in ("27", "26", "6", "72")
    assert server.value(f"SELECT count() FROM {table}") == "0"


BODY = b"".join(b"%d\n" % number for number in range(5000))


def brotli_compress(data):
    return pyarrow.compress(data, codec="brotli", asbytes=True)


def brotli_decompress(data):
    return pyarrow.decompress(data, decompressed_size=len(BODY), codec="brotli", asbytes=True)


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstd.compress),
        ("lz4", lz4.frame.compress),
        ("br", brotli_compress),
    ],
)
def test_compressed_requests(server, table, encoding, compress):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = Memory")
    headers = {"Content-Encoding": encoding}
    response = server.http(f"INSERT INTO {table} FORMAT TSV", body=compress(BODY), headers=headers)
    assert response.status == 200, response.text
    assert server.value(f"SELECT sum(x) FROM {table}") == str(sum(range(5000)))


@pytest.mark.parametrize(
    ("encoding", "decompress"),
    [("gzip", gzip.decompress), ("zstd", zstd.decompress), ("lz4", lz4.frame.decompress), ("br", brotli_decompress)],
)
def test_compressed_responses(server, encoding, decompress):
    response = server.http("SELECT number FROM numbers(5000)", headers={"Accept-Encoding": encoding}, enable_http_compression=1)
    assert response.headers["Content-Encoding"] == encoding
    assert len(response.body) < len(BODY)
    if encoding == "zstd":
        # The binding wants the whole size in the frame's header, which a stream cannot know.
        from backports import zstd as streaming

        decompress = streaming.decompress
    assert decompress(response.body) == BODY


def frame(plain):
    """ClickHouse's own compressed frame: CityHash128, method, sizes, LZ4."""
    data = lz4.block.compress(plain, store_size=False)
    body = struct.pack("<BII", 0x82, 9 + len(data), len(plain)) + data
    return hash128(body) + body


def unframe(data):
    plain = b""
    while data:
        method, compressed, size = struct.unpack_from("<BII", data, 16)
        assert data[:16] == hash128(data[16 : 16 + compressed])
        content = data[25 : 16 + compressed]
        assert method in (0x82, 0x02)
        plain += lz4.block.decompress(content, uncompressed_size=size) if method == 0x82 else content
        data = data[16 + compressed :]
    return plain


def test_compress_and_decompress_parameters(server, table):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = Memory")
    response = server.http(f"INSERT INTO {table} FORMAT TSV", body=frame(BODY[:2000]) + frame(BODY[2000:]), decompress=1)
    assert response.status == 200, response.text
    assert unframe(server.http(f"SELECT x FROM {table} ORDER BY x", compress=1).body) == BODY


@pytest.mark.parametrize("damage", ["checksum", "truncated", "size", "method"])
def test_damaged_frames(server, table, damage):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = Memory")
    body = bytearray(frame(BODY))
    if damage == "checksum":
        body[100] ^= 0xFF
    elif damage == "truncated":
        body = body[:-10]
    elif damage == "size":
        body[17:21] = struct.pack("<I", 0x7FFFFFFF)
    else:
        body[16] = 0x55
        body[:16] = hash128(bytes(body[16:]))
    response = server.http(f"INSERT INTO {table} FORMAT TSV", body=bytes(body), decompress=1)
    assert response.status in (400, 500)
    assert int(response.headers["X-ClickHouse-Exception-Code"]) in (3, 33, 39, 40, 89, 271, 432)
    assert server.value(f"SELECT count() FROM {table}") == "0"


def test_result_is_streamed(server):
    """The first rows of an endless query arrive, and leaving ends it."""
    with server.http_peer() as peer:
        peer.send(b"GET /?query=SELECT+number+FROM+system.numbers&query_id=endless HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while b"\n1000\n" not in received:
            received += peer.receive()
    server.until_gone("endless")


def test_limits_end_a_query(server):
    started = time.monotonic()
    response = server.http("SELECT count() FROM system.numbers", max_execution_time=1)
    assert response.headers["X-ClickHouse-Exception-Code"] == "159"
    assert time.monotonic() - started < 15
    response = server.http("SELECT groupArray(number) FROM numbers(100000000)", max_memory_usage=10_000_000)
    assert response.headers["X-ClickHouse-Exception-Code"] == "241"


def test_kill_query(server):
    answers = []
    query = threading.Thread(
        target=lambda: answers.append(server.http("SELECT count() FROM system.numbers", query_id="to-be-killed"))
    )
    query.start()
    server.until_running("to-be-killed")
    server.query("KILL QUERY WHERE query_id = 'to-be-killed' SYNC")
    query.join(20)
    assert answers and answers[0].headers["X-ClickHouse-Exception-Code"] == "394"


def test_same_query_id_twice(server):
    with server.http_peer() as peer:
        peer.send(b"GET /?query=SELECT+number+FROM+system.numbers&query_id=twin HTTP/1.1\r\nHost: x\r\n\r\n")
        peer.receive()
        assert server.http("SELECT 1", query_id="twin").headers["X-ClickHouse-Exception-Code"] == "216"
    server.until_gone("twin")


def test_many_idle_connections_cost_no_threads(server):
    before = server.threads()
    peers = [server.http_peer() for _ in range(200)]
    for peer in peers:
        peer.send(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
    for peer in peers:
        assert peer.response()[1] == b"Ok.\n"
    assert server.threads() - before < 20
    for peer in peers:
        peer.close()


def test_rows_before_limit_are_told(server):
    def told(sql):
        return json.loads(server.query(sql + " FORMAT JSONCompact")).get("rows_before_limit_at_least")

    assert told("SELECT number FROM numbers(100) ORDER BY number DESC LIMIT 3, 2") == 100
    assert told("SELECT toString(number % 7) AS k, count() FROM numbers(100) GROUP BY k ORDER BY k LIMIT 3") == 7
    assert told("SELECT number % 5 AS n FROM numbers(100) ORDER BY n LIMIT 3 WITH TIES") == 100
    assert told("SELECT number FROM numbers(100)") is None


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("cancels", [0, 1])
def test_a_client_that_goes_away(server, method, cancels):
    """With cancel_http_readonly_queries_on_client_close a query ends with its client; without, it goes on to its end."""
    query_id = f"left-{uuid.uuid4().hex}"
    endless = "SELECT max(sipHash64(number)) FROM numbers_mt(1000000000000)"
    setting = f"query_id={query_id}&cancel_http_readonly_queries_on_client_close={cancels}"
    with server.http_peer() as client:
        if method == "GET":
            client.send(f"GET /?{setting}&query={urllib.parse.quote(endless)} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        else:
            head = f"POST /?{setting} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(endless)}\r\n\r\n"
            client.send(f"{head}{endless}".encode())
        server.until_running(query_id)
    if cancels:
        server.until_gone(query_id)
        return
    read_rows = f"SELECT read_rows FROM system.processes WHERE query_id = '{query_id}'"
    # Long after the server has seen that the client is gone.
    time.sleep(0.5)
    before = int(server.value(read_rows))
    wait_until(lambda: int(server.value(read_rows)) > before, "the query goes on")
    server.query(f"KILL QUERY WHERE query_id = '{query_id}' SYNC")
    assert not server.running(query_id)


def test_an_insert_goes_on_without_its_client(server, table):
    """Only queries that read are cancelled."""
    server.query(f"CREATE TABLE {table} (n UInt64) ENGINE = MergeTree ORDER BY n")
    query_id = f"left-{uuid.uuid4().hex}"
    rows = 3_000_000
    text = f"INSERT INTO {table} SELECT sipHash64(number) FROM numbers({rows})"
    setting = f"query_id={query_id}&cancel_http_readonly_queries_on_client_close=1"
    with server.http_peer() as client:
        client.send(f"POST /?{setting} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        server.until_running(query_id)
    server.until_gone(query_id)
    assert server.value(f"SELECT count() FROM {table}") == str(rows)
