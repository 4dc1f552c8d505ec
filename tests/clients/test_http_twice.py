"""HTTP is read in two ways, straight on the socket and by hyper: the same bytes get the same answer from both."""

import itertools
import random
import re
import socket

import pytest

TARGETS = ["/", "/ping", "/?query=SELECT+1", "/?query=SELECT+nothing", "/?query=SELEC", "/nowhere", "/?query=SELECT+1&param_x=%00"]
TARGETS += ["/?query=SELECT+getSetting('max_threads')&max_threads=3", "/?query=SELECT+1&user=nobody", "/play", "/replicas_status"]
TARGETS += ["/?query=SELECT+%C3%A4", "/?query=SELECT%201&default_format=JSONCompact&output_format_write_statistics=0", "/?database=none&query=SELECT+1", "/?query=%"]
METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "get", "G\x01T"]
FIELDS = ["Host: x", "User-Agent: a", "X-ClickHouse-User: default", "X-ClickHouse-Key: x", "X-ClickHouse-Format: TSV", "Accept: */*"]
FIELDS += ["Accept-Encoding: gzip", "Connection: close", "Connection: keep-alive", "Authorization: Basic ZGVmYXVsdDo=", "Bad"]
FIELDS += ["Authorization: Basic !", " folded", "Space : 1", "Empty:", "Expect: 100-continue", "Content-Encoding: gzip", "Origin: http://a"]
FRAMINGS = ["", "Content-Length: 8", "Content-Length: 08", "Content-Length: 7", "Content-Length: -1", "Transfer-Encoding: chunked"]
BODY = b"SELECT 1"
# After it the server closes the connection.
LAST = b"GET /ping?last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
CHUNKED = b"8\r\nSELECT 1\r\n0\r\n\r\n"


def requests():
    """Some hundred requests, the same ones each time."""
    simple = itertools.product(METHODS, TARGETS)
    for method, target in simple:
        yield f"{method} {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin1")
    for version, end in itertools.product(["HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/2", ""], ["\r\n", "\n"]):
        yield f"GET /?query=SELECT+1 {version}{end}Host: x{end}{end}".encode()
    chance = random.Random(11)
    for _ in range(400):
        method = chance.choice(["GET", "POST", "POST"])
        lines = [f"{method} {chance.choice(TARGETS)} HTTP/1.1"] + chance.sample(FIELDS, chance.randrange(4))
        framing = chance.choice(FRAMINGS)
        lines += [framing] if framing else []
        body = CHUNKED if "chunked" in framing else BODY if framing else b""
        request = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        if chance.random() < 0.3:
            request += b"GET /?query=SELECT+2 HTTP/1.1\r\nHost: x\r\n\r\n"
        yield request


def responses(text, is_head):
    """Statuses, headers without regard to the case and order of their names, and bodies without regard to chunks."""
    while text:
        head, _, text = text.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        fields = sorted((name.lower(), value) for name, _, value in (line.partition(b": ") for line in lines))
        # A ping that is answered straight on the socket says no time.
        fields = [field for field in fields if field[0] != b"date"]
        named = dict(fields)
        body = b""
        if b"chunked" in named.get(b"transfer-encoding", b"") and not is_head:
            size = -1
            while size != 0 and text:
                length, _, text = text.partition(b"\r\n")
                size = int(length, 16)
                body += text[:size]
                text = text[size + 2 :]
        elif not is_head:
            size = int(named.get(b"content-length", b"0"))
            body, text = text[:size], text[size:]
        is_head = False
        yield status, fields, body


def answer(server, request):
    """All that the server says to these bytes, without what differs from time to time."""
    with server.http_peer() as peer:
        peer.send(request + LAST)
        text = peer.receive_all()
    for pattern, instead in [
        (rb"(?i)(x-clickhouse-query-id|x-clickhouse-exception-tag): [^\r]*", rb"\1: -"),
        (rb'"(elapsed(?:_ns)?|memory_usage)":\s*"?[0-9.e-]+"?', rb'"\1":0'),
        (rb"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+\b", b"id"),
    ]:
        text = re.sub(pattern, instead, text)
    return list(responses(text, request.startswith(b"HEAD ")))


def test_both_readers_give_the_same_answers(direct_server, hyper_server):
    differences = []
    count = 0
    for request in requests():
        count += 1
        direct, hyper = answer(direct_server, request), answer(hyper_server, request)
        if direct != hyper:
            differences.append((request, direct, hyper))
    assert count > 400
    shown = "\n".join("\n".join(repr(part[:600]) for part in difference) for difference in differences[:5])
    assert not differences, f"{len(differences)} of {count}:\n{shown}"


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_pieces_change_nothing(direct_server, pieces):
    request = b"POST /?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n" + BODY
    whole = answer(direct_server, request)
    with direct_server.http_peer() as peer:
        peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(request), pieces):
            peer.send(request[at : at + pieces])
        head, body = peer.response()
    status, _, same = whole[0]
    assert (status, same) == (head.split(b"\r\n", 1)[0], body)
