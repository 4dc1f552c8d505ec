"""Requests that are answered straight on the socket, and those that go on to the whole of HTTP: nobody may notice which is which."""

import re
import socket
import time

import pytest
from server import wait_until


@pytest.fixture(name="peer")
def fixture_peer(server):
    with server.http_peer() as peer:
        peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield peer


def request(query, *, method="GET", headers="", body=b""):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    target = "/?query=" + query.replace(" ", "+")
    return f"{method} {target} HTTP/1.1\r\nHost: x\r\n{length}{headers}\r\n".encode() + body


def bodies(peer, count):
    return [peer.response()[1] for _ in range(count)]


def test_requests_that_come_together_are_answered_in_order(peer):
    peer.send(
        request("SELECT 1")
        + b"GET /ping HTTP/1.1\r\n\r\n"
        + request("SELECT", method="POST", body=b"2")
        + request("SELECT count() FROM numbers(3000000)")
        + request("SELECT nothing")
        + request("SELECT 5")
    )
    found = [peer.response() for _ in range(6)]
    assert [head.split(b" ")[1] for head, _ in found] == [b"200", b"200", b"200", b"200", b"404", b"200"]
    assert [body for _, body in found[:4]] == [b"1\n", b"Ok.\n", b"2\n", b"3000000\n"]
    assert b"X-ClickHouse-Exception-Code: 47\r\n" in found[4][0] + b"\r\n"
    assert found[5][1] == b"5\n"


def test_a_request_in_pieces(peer):
    for byte in request("SELECT", method="POST", body=b"40 + 2"):
        peer.send(bytes([byte]))
        time.sleep(0.0005)
    assert bodies(peer, 1) == [b"42\n"]


def test_the_whole_of_http_takes_over_in_the_middle(peer):
    long = b"SELECT length('" + b"x" * 100_000 + b"')"
    peer.send(request("SELECT 1"))
    assert bodies(peer, 1) == [b"1\n"]
    peer.send(request("", method="POST", body=long) + request("SELECT 3"))
    assert bodies(peer, 2) == [b"100000\n", b"3\n"]
    chunked = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nSELECT 4\r\n0\r\n\r\n"
    peer.send(chunked + request("SELECT 5"))
    assert bodies(peer, 2) == [b"4\n", b"5\n"]


def test_a_long_result_comes_in_chunks_and_the_connection_goes_on(peer):
    peer.send(request("SELECT number FROM numbers(1000000)") + request("SELECT 2"))
    head, body = peer.response()
    assert b"Transfer-Encoding: chunked" in head
    assert body == b"".join(b"%d\n" % number for number in range(1_000_000))
    assert bodies(peer, 1) == [b"2\n"]


def test_connection_close_is_kept(peer):
    peer.send(request("SELECT 1", headers="Connection: close\r\n"))
    head, body = peer.response()
    assert body == b"1\n" and b"Connection: close" in head
    assert peer.receive() == b""


@pytest.mark.parametrize(
    "headers",
    [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: -5\r\n",
    ],
)
def test_bodies_whose_length_is_not_clear_are_not_guessed(peer, headers):
    behind = b"GET /?query=SELECT+2 HTTP/1.1\r\n\r\n"
    peer.send(b"POST /?query=SELECT+1 HTTP/1.1\r\n" + headers.encode() + b"\r\n" + b"0\r\n\r\n" + behind)
    peer.socket.shutdown(socket.SHUT_WR)
    answers = re.findall(rb"^HTTP/1.1 200", peer.receive_all(), re.MULTILINE)
    # What stands behind such a request never becomes a request of its own.
    assert len(answers) <= 1


def test_headers_cannot_be_forged_by_values(peer):
    peer.send(b"GET /?query=SELECT+1&query_id=a%0d%0aSet-Cookie:+b HTTP/1.1\r\n\r\n")
    head, _ = peer.response()
    assert b"\r\nX-ClickHouse-Query-Id: aSet-Cookie: b\r\n" in head


def test_the_query_of_a_client_that_has_gone_ends(server, peer):
    peer.send(request("SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(number)", headers="Referer: gone\r\n"))
    running = "SELECT count() FROM system.processes WHERE http_referer = 'gone'"
    wait_until(lambda: server.http(running).body == b"1\n", "the query runs")
    peer.close()
    wait_until(lambda: server.http(running).body == b"0\n", "the query has ended")


@pytest.mark.parametrize(
    "head, rest",
    [
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n", ["SELE", "CT 1"]),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", ["8\r\nSELECT 1\r\n", "0\r\n\r\n"]),
        ("GET /?query=SELECT+1 HTTP/1.1\r\n", ["Host: x\r\n", "\r\n"]),
    ],
)
def test_a_client_that_keeps_the_rest_until_it_hears_of_the_beginning(server, head, rest):
    """Nagle's algorithm is on, as it is without TCP_NODELAY: an acknowledgement that waited for the answer would come after 40 ms."""

    def is_answered_at_once():
        with server.http_peer() as peer:
            peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
            began = time.monotonic()
            for piece in [head, *rest]:
                peer.send(piece.encode())
            assert bodies(peer, 1) == [b"1\n"]
            return time.monotonic() - began < 0.03

    # A machine that is busy elsewhere may be late, but not every time.
    wait_until(is_answered_at_once, "an answer comes before an acknowledgement that waits")
