"""`X-ClickHouse-Progress`: headers that come while a query runs."""

import json
import time

import pytest
from server import USERS_XML

TELLS = "send_progress_in_http_headers=1&http_headers_progress_interval_ms=20"
# A second or so of blocks, each of which waits a little.
ROWS = 9_000
SLOW = f"SELECT count() FROM numbers({ROWS}) WHERE NOT ignore(sleep(0.02)) SETTINGS max_threads = 1"


def progress(head):
    lines = [line.split(b": ", 1) for line in head.split(b"\r\n")]
    return [json.loads(line[1]) for line in lines if line[0] == b"X-ClickHouse-Progress"]


def request(sql, params=TELLS, method="POST", chunked=False, headers=""):
    if chunked:
        body = f"Transfer-Encoding: chunked\r\n{headers}\r\n{len(sql):x}\r\n{sql}\r\n0\r\n\r\n"
    else:
        body = f"Content-Length: {len(sql)}\r\n{headers}\r\n{sql}"
    return f"{method} /?{params} HTTP/1.1\r\nHost: x\r\n{body}".encode()


def check(told):
    assert len(told) >= 2
    rows = [int(each["read_rows"]) for each in told]
    assert rows == sorted(set(rows)) and 0 < rows[0] < ROWS
    assert {"read_bytes", "written_rows", "total_rows_to_read", "elapsed_ns", "memory_usage"} <= set(told[0])


@pytest.mark.parametrize("chunked", [False, True])
def test_progress_comes_before_the_result(server, chunked):
    """Both of the ways in which requests are served; the connection goes on, and says nothing where nobody asks."""
    with server.http_peer() as peer:
        for _ in range(2):
            peer.send(request(SLOW, chunked=chunked))
            head, body = peer.response()
            assert head.startswith(b"HTTP/1.1 200 OK\r\n") and body == b"%d\n" % ROWS
            check(progress(head))
            assert head.count(b"HTTP/1.1") == 1
            assert head.lower().count(b"x-clickhouse-summary: ") == head.lower().count(b"content-type: ") == 1
        peer.send(request(SLOW, params="", chunked=chunked))
        head, body = peer.response()
        assert body == b"%d\n" % ROWS and not progress(head)


@pytest.mark.parametrize("chunked", [False, True])
def test_progress_comes_while_the_query_runs(server, chunked):
    query_id = f"endless-{chunked}"
    with server.http_peer() as peer:
        peer.send(request("SELECT count() FROM system.numbers", f"{TELLS}&query_id={query_id}", chunked=chunked))
        head = b""
        while len(told := progress(head.rpartition(b"\r\n")[0])) < 3:
            head += peer.receive()
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        rows = [int(each["read_rows"]) for each in told]
        assert rows == sorted(rows) and rows[-1] > 0
        server.query(f"KILL QUERY WHERE query_id = '{query_id}' SYNC")
        peer.received = head
        head, _ = peer.response()
        assert b"x-clickhouse-exception-code: 394" in head.lower()


def test_wait_end_of_query(server):
    """All of a long result is held back, and progress says meanwhile that the server lives."""
    sql = SLOW.replace("count()", "number % 10, sleep(0)")
    with server.http_peer() as peer:
        peer.send(request(sql, TELLS + "&wait_end_of_query=1"))
        head, body = peer.response()
        assert b"content-length: " in head.lower()
        assert body.count(b"\n") == ROWS
        check(progress(head))


def test_an_error_after_progress(server):
    """The status has gone out, so a header says it."""
    sql = SLOW.replace("count()", f"sum(throwIf(number = {ROWS - 10}))")
    for chunked in (False, True):
        with server.http_peer() as peer:
            peer.send(request(sql, chunked=chunked) + request("SELECT 1"))
            head, body = peer.response()
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"x-clickhouse-exception-code: 395" in head.lower()
            assert b"FUNCTION_THROW_IF_VALUE_IS_NON_ZERO" in body
            assert peer.response()[1] == b"1\n"


def test_an_insert_tells_its_progress(server, table):
    server.query(f"CREATE TABLE {table} (n UInt64, s UInt8) ENGINE = MergeTree ORDER BY n")
    sql = f"INSERT INTO {table} " + SLOW.replace("count()", "number, 1")
    with server.http_peer() as peer:
        peer.send(request(sql))
        head, body = peer.response()
        assert body == b""
        check(progress(head))
    assert server.value(f"SELECT count() FROM {table}") == str(ROWS)


def test_requests_that_can_have_none(server):
    with server.http_peer() as peer:
        peer.send(request(SLOW, method="HEAD"))
        head = peer._until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n") and not progress(head)
    with server.http_peer() as peer:
        peer.send(request(SLOW).replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert peer.receive_all().endswith(b"\r\n\r\n%d\n" % ROWS)


def test_a_client_that_leaves_while_it_is_told(server):
    for chunked in (False, True):
        query_id = f"left-{chunked}"
        with server.http_peer() as peer:
            peer.send(request(SLOW.replace(str(ROWS), str(ROWS * 100)), TELLS + f"&query_id={query_id}", chunked=chunked))
            assert peer.receive()
            server.until_running(query_id)
            peer.reset()
        server.until_gone(query_id)


def test_it_may_be_a_setting_of_the_profile(start_server):
    profile = "<default><send_progress_in_http_headers>1</send_progress_in_http_headers></default>"
    server = start_server(users_xml=USERS_XML.replace("<default/>", profile))
    began = time.monotonic()
    response = server.http(SLOW)
    told = response.headers.get_all("X-ClickHouse-Progress")
    # Every 100 ms at most.
    assert 2 <= len(told) <= (time.monotonic() - began) / 0.1 + 1
    assert server.http("SELECT 1").headers.get_all("X-ClickHouse-Progress") is None
