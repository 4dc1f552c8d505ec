"""Peers that do not keep to the protocols, and queries that are too much: each gets a clear error or a closed connection, and the
server goes on. The `server` fixture checks after every test that it still answers."""

import os
import random
import select
import signal
import socket
import struct
import time

import pytest
from clickhouse_driver import Client, errors
from server import USERS_XML, hash128, wait_until


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    return varint(len(data)) + data


def hello(revision=54401, user="default", password="", database="default"):
    return varint(0) + text("ClickHouse test") + varint(18) + varint(16) + varint(revision) + text(database) + text(user) + text(password)


def query(sql, compression=0, settings=b""):
    """A query packet of revision 54401, without external tables."""
    client_info = bytes([1]) + text("") + text("") + text("0.0.0.0:0") + bytes([1]) + text("u") + text("h") + text("c")
    client_info += varint(18) + varint(16) + varint(54401) + text("") + varint(1)
    return varint(1) + text("") + client_info + settings + text("") + varint(2) + varint(compression) + text(sql)


EMPTY_BLOCK = bytes([1, 0, 2]) + struct.pack("<i", -1) + bytes([0]) + varint(0) + varint(0)


def data(block=EMPTY_BLOCK):
    return varint(2) + text("") + block


def greeted(server):
    peer = server.native_peer()
    peer.send(hello())
    assert peer.receive()[0] == 0
    return peer


# --- malformed HTTP ---

LONG = b"x" * 200_000


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: minus one\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nno colon here\r\n\r\n",
        b"GET /" + LONG + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-Long: " + LONG * 10 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % number for number in range(20_000)) + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    ],
    ids=["bytes", "no target", "version", "length", "chunk", "header", "long target", "long header", "many headers", "huge length"],
)
def test_malformed_http(server, request_bytes):
    with server.http_peer() as peer:
        try:
            peer.send(request_bytes)
        except OSError:
            return  # Closed already, which is an answer.
        answer = peer.receive()
        # A body that breaks off is noticed while the query is read, and is an exception then.
        assert answer == b"" or answer.split(b" ")[1][:1] == b"4" or b"x-clickhouse-exception-code" in answer.lower(), answer[:300]


@pytest.mark.parametrize("url", ["/?query=SELECT%201%ZZ", "/?query=%FF%FE", "/?" + "&".join(f"s{i}=1" for i in range(3000))])
def test_malformed_url(server, url):
    with server.http_peer() as peer:
        peer.send(f"GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        status = int(peer.receive_all().split(b" ")[1])
        assert 400 <= status < 501


def test_body_shorter_than_its_length(server, table):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = MergeTree ORDER BY x")
    with server.http_peer() as peer:
        peer.send(f"POST /?query=INSERT+INTO+{table}+FORMAT+TSV HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n1\n2\n".encode())
        peer.socket.shutdown(socket.SHUT_WR)
        peer.receive_all()
    assert server.value(f"SELECT count() FROM {table}") == "0"


def test_http_spoken_to_the_native_port(server):
    with server.native_peer() as peer:
        peer.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"HTTP" in peer.receive_all()


def test_native_spoken_to_the_http_port(server):
    with server.http_peer() as peer:
        peer.send(hello())
        peer.socket.shutdown(socket.SHUT_WR)
        answer = peer.receive_all()
        assert answer == b"" or b" 400 " in answer


# --- malformed native packets ---


@pytest.mark.parametrize(
    "packets",
    [
        b"\xff" * 20,
        varint(0) + varint(2**40),
        varint(0) + text("x" * 5_000_000),
        hello(revision=1),
        hello() + varint(77),
        hello() + hello(),
        hello() + data(),
        hello() + query("SELECT 1")[:-4],
        hello() + varint(1) + text("") + bytes([9]),
        hello() + query("SELECT 1", settings=text("no_such_setting") + varint(1)) + data(),
        hello() + query("SELECT 1") + varint(2) + text("") + b"\xff" * 30,
        hello() + query("SELECT 1") + varint(2) + text("") + EMPTY_BLOCK[:8] + varint(2**50) + varint(2**50),
        hello() + query("SELECT 1", compression=1) + varint(2) + text("") + b"\x00" * 64,
    ],
    ids=["noise", "long name", "name", "old revision", "packet 77", "two hellos", "data first", "cut query", "query kind", "setting", "block info",
         "block size", "checksum"],
)  # fmt: skip
def test_malformed_native(server, packets):
    with server.native_peer() as peer:
        try:
            peer.send(packets)
            peer.socket.shutdown(socket.SHUT_WR)
        except OSError:
            return
        peer.receive_all()


def frame(payload, method=0x82, plain=100, checksum=None):
    body = struct.pack("<BII", method, 9 + len(payload), plain) + payload
    return (checksum or hash128(body)) + body


@pytest.mark.parametrize(
    "damaged",
    [
        frame(b"\xf0not lz4 at all"),
        frame(b"\x10", checksum=b"\x01" * 16),
        frame(b"\x10", plain=0x7FFFFFFF),
        frame(b"", method=0x33),
        frame(b"12345", method=0x02, plain=6),
        frame(b"\x28\xb5\x2f\xfd\xff\xff\xff", method=0x90),
    ],
    ids=["lz4", "checksum", "bomb", "method", "none", "zstd"],
)
def test_damaged_compressed_insert(server, table, damaged):
    """The answer is an exception with ClickHouse's code, and nothing was inserted."""
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = MergeTree ORDER BY x")
    with greeted(server) as peer:
        peer.send(query(f"INSERT INTO {table} VALUES", compression=1))
        peer.send(varint(2) + text("") + frame(b"\x80" + EMPTY_BLOCK, plain=len(EMPTY_BLOCK)))
        peer.send(varint(2) + text("") + damaged)
        peer.socket.shutdown(socket.SHUT_WR)
        assert b"DB::" in peer.receive_all()
    assert server.value(f"SELECT count() FROM {table}") == "0"


def test_truncated_compressed_insert(server, table):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = MergeTree ORDER BY x")
    whole = frame(b"\x80" + EMPTY_BLOCK, plain=len(EMPTY_BLOCK))
    for cut in (3, 16, 20, len(whole) - 1):
        with greeted(server) as peer:
            peer.send(query(f"INSERT INTO {table} VALUES", compression=1))
            peer.send(varint(2) + text("") + whole[:cut])
            peer.socket.shutdown(socket.SHUT_WR)
            peer.receive_all()
    assert server.value(f"SELECT count() FROM {table}") == "0"


def test_noise(server):
    """Random bytes after a valid beginning, the same in every run."""
    noise = random.Random(20261120)
    for _ in range(60):
        with server.native_peer() as peer:
            try:
                peer.send(hello()[: noise.randrange(40)] + noise.randbytes(noise.randrange(1, 300)))
                peer.socket.shutdown(socket.SHUT_WR)
                peer.receive_all()
            except OSError:
                pass
    for _ in range(60):
        packet = bytearray(hello() + query("SELECT number FROM numbers(10)") + data())
        for _ in range(noise.randrange(1, 6)):
            packet[noise.randrange(len(packet))] = noise.randrange(256)
        with server.native_peer(timeout=2) as peer:
            try:
                peer.send(bytes(packet))
                peer.socket.shutdown(socket.SHUT_WR)
                peer.receive_all()
            except OSError:
                pass


def test_silent_connections_are_no_burden(server):
    before = server.threads()
    peers = [server.native_peer() for _ in range(100)] + [server.http_peer() for _ in range(100)]
    assert server.value("SELECT 1") == "1"
    assert server.threads() - before < 20
    for peer in peers:
        peer.close()


# --- passwords ---


def test_wrong_password_natively(server):
    with server.native_peer() as peer:
        peer.send(hello(user="reader", password="wrong"))
        answer = peer.receive_all()
        assert answer[0] == 2 and b"Authentication failed" in answer
        assert struct.unpack_from("<i", answer, 1)[0] == 516


def test_query_before_hello(server):
    with server.native_peer() as peer:
        peer.send(query("SELECT 1") + data())
        peer.socket.shutdown(socket.SHUT_WR)
        assert b"\x011\n" not in peer.receive_all()


# --- queries that are too much ---


@pytest.mark.parametrize(
    ("sql", "codes"),
    [
        ("SELECT '" + "x" * 300_000 + "'", (62,)),
        ("SELECT " + "(" * 5000 + "1" + ")" * 5000, (62, 167, 306)),
        ("SELECT " + "-" * 1 + " -".join("1" for _ in range(60_000)), (62, 167, 168, 306)),
        ("SELECT " + "NOT " * 20_000 + "1", (62, 167, 168, 306)),
        ("SELECT " + "[" * 3000 + "]" * 3000, (62, 167, 306)),
        ("SELECT * FROM " + "(SELECT * FROM " * 500 + "numbers(1)" + ")" * 500, (62, 162, 167, 306)),
        ("SELECT 1 \x00", (62,)),
        ("SELECT 1; SELECT 2", (62,)),
    ],
    ids=["size", "parentheses", "operators", "not", "arrays", "subqueries", "zero byte", "two statements"],
)
def test_oversized_queries(server, sql, codes):
    response = server.http(body=sql.encode())
    assert int(response.headers["X-ClickHouse-Exception-Code"]) in codes, response.text[:500]
    with pytest.raises(errors.ServerException) as caught:
        Client("127.0.0.1", port=server.native_port).execute(sql)
    assert caught.value.code in codes


def test_error_messages_stay_short(server):
    response = server.http(body=b"SELECT " + b"f(" * 20_000)
    assert len(response.body) < 20_000


# --- clients that stop or leave ---


def resident_kib(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        return int(status.read().split("VmRSS:")[1].split()[0])


def test_client_that_stops_reading(server):
    """It is waited for without a worker: others go on, and memory does not grow."""
    before_kib = resident_kib(server)
    peers = []
    for number in range(8):
        peer = server.http_peer(receive_buffer=4096)
        peer.send(f"GET /?query=SELECT+number,toString(number)+FROM+system.numbers&query_id=stuck-{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        peers.append(peer)
    for number in range(8):
        server.until_running(f"stuck-{number}")
    for _ in range(20):
        assert server.value("SELECT sum(number) FROM numbers(1000000)") == "499999500000"

    def stand_still():
        rows_read = "SELECT sum(read_rows) FROM system.processes WHERE startsWith(query_id, 'stuck-')"
        before = server.value(rows_read)
        time.sleep(1)
        return server.value(rows_read) == before

    wait_until(stand_still, "their queries stand still")
    assert resident_kib(server) - before_kib < 200_000, "more than 200 MB for eight readers that stopped"
    for peer in peers:
        peer.reset()
    for number in range(8):
        server.until_gone(f"stuck-{number}")


def test_native_client_that_stops_reading(server):
    endless = "SELECT number FROM system.numbers WHERE number >= 0"
    running = f"SELECT count() FROM system.processes WHERE query = '{endless}'"
    with greeted(server) as peer:
        peer.send(query(endless) + data())
        wait_until(lambda: server.value(running) == "1", "the query runs")
        assert server.value("SELECT 1") == "1"
    wait_until(lambda: server.value(running) == "0", "the query has ended")


def test_client_that_leaves_mid_query(server):
    for number in range(5):
        peer = server.http_peer()
        peer.send(f"GET /?query=SELECT+number+FROM+system.numbers&query_id=left-{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        server.until_running(f"left-{number}")
        peer.reset() if number % 2 else peer.close()
    for number in range(5):
        server.until_gone(f"left-{number}")
    with greeted(server) as peer:
        peer.send(query("SELECT count() FROM system.numbers") + data())
        server_sees = "SELECT count() FROM system.processes WHERE query = 'SELECT count() FROM system.numbers'"
        wait_until(lambda: server.value(server_sees) == "1", "the query runs")
        peer.reset()
    wait_until(lambda: server.value(server_sees) == "0", "the query has ended")


def test_client_that_leaves_mid_insert(server, table):
    server.query(f"CREATE TABLE {table} (x UInt32) ENGINE = MergeTree ORDER BY x")
    for cut in range(5):
        peer = server.http_peer()
        head = f"POST /?query=INSERT+INTO+{table}+FORMAT+TSV HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        peer.send(head.encode() + b"4\r\n1\n2\n\r\n" * cut)
        peer.reset() if cut % 2 else peer.close()
    with greeted(server) as peer:
        peer.send(query(f"INSERT INTO {table} VALUES") + data())
    inserting = f"SELECT count() FROM system.processes WHERE startsWith(query, 'INSERT INTO {table}')"
    wait_until(lambda: server.value(inserting) == "0", "all have ended")
    assert server.value(f"SELECT count() FROM {table}") == "0"


def test_slow_writer_does_not_block_others(server):
    with server.http_peer() as peer:
        for byte in b"GET /?query=SELECT+1 HTTP/1.1\r\nHost: x\r\n\r\n":
            peer.send(bytes([byte]))
        assert peer.response()[1] == b"1\n"


def test_requests_that_trickle_in_are_answered(server):
    """Byte by byte in their heads and bodies: each is waited for, and nobody else is."""
    requests = [
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nSELECT 1",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nSELECT 1\r\n0\r\n\r\n",
        b"GET /?query=SELECT+1 HTTP/1.1\nHost: x\n\n",
    ]
    for request in requests:
        with server.http_peer() as peer:
            for byte in request:
                peer.send(bytes([byte]))
            assert peer.response()[1] == b"1\n"


@pytest.mark.one_reader("hyper takes no URL beyond 64 KiB: it answers 414")
def test_limits_of_heads(server, start_server):
    """ClickHouse's settings and their defaults; the default profile's count, as nobody has said yet who asks."""

    def status(target="/?query=SELECT+1", headers=b"", on=server):
        with on.http_peer() as peer:
            peer.send(b"GET " + target.encode() + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + b"\r\n")
            return int(peer.receive_all().split(b" ")[1])

    comment = "/?query=SELECT+1+--+"
    assert status(comment + "x" * 200_000) == 200
    with server.http_peer() as peer:
        # Longer than max_query_size, and still a query whose error says so.
        peer.send(b"GET /?query=SELECT+'" + b"x" * 900_000 + b"' HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"SYNTAX_ERROR" in peer.response()[1]
    assert status(comment + "x" * 1_100_000) == 400
    fields = lambda count: b"".join(b"X-%d: y\r\n" % number for number in range(count))
    assert status(headers=fields(50)) == status(headers=fields(900)) == 200
    assert status(headers=fields(1500)) in (400, 431)
    assert status(headers=b"X: " + b"y" * 130_000 + b"\r\n") == 200
    assert status(headers=b"X: " + b"y" * 140_000 + b"\r\n") == 400
    assert status(headers=b"X" * 5_000 + b": y\r\n") == 400
    profile = (
        "<default><http_max_uri_size>100</http_max_uri_size><http_max_fields>5</http_max_fields>"
        "<http_max_request_header_size>512</http_max_request_header_size></default>"
    )
    small = start_server(users_xml=USERS_XML.replace("<default/>", profile))
    assert status(on=small) == 200
    assert status(comment + "x" * 100, on=small) == 400
    assert status(headers=fields(6), on=small) == 400
    wide = lambda count: b"".join(b"X-%d: %s\r\n" % (number, b"y" * 200) for number in range(count))
    assert status(headers=wide(2), on=small) == 200
    assert status(headers=wide(3), on=small) == 400
    # What the request itself says does not count.
    assert status("/?query=SELECT+1&http_max_request_header_size=9999", headers=wide(3), on=small) == 400
    # A head that does not end is not waited for beyond what it may have.
    with small.http_peer() as peer:
        peer.send(b"GET / HTTP/1.1\r\nX: " + b"y" * 600_000)
        assert b"HTTP/1.1 4" in peer.receive()


@pytest.mark.one_reader("hyper ends the connection without an answer")
@pytest.mark.parametrize("earlier", ["none", "direct", "hyper"])
def test_heads_that_trickle_in_are_ended(start_server, earlier):
    """http_headers_read_timeout: a byte now and then keeps no connection, and a connection that waits costs no thread."""
    profile = "<default><http_headers_read_timeout>1</http_headers_read_timeout></default>"
    server = start_server(users_xml=USERS_XML.replace("<default/>", profile), settings={"keep_alive_timeout": 60})
    threads = server.threads()
    peers = [server.http_peer() for _ in range(50)]
    method = "HEAD" if earlier == "hyper" else "GET"
    if earlier != "none":
        for peer in peers:
            peer.send(f"{method} /?query=SELECT+1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            peer.response() if earlier == "direct" else peer._until(b"\r\n\r\n")
    # Being idle is another matter: keep_alive_timeout counts.
    time.sleep(1.5)
    begun = time.monotonic()
    for peer in peers:
        peer.send(b"GET /?query=SELECT+1 HTTP/1.1\r\nX-Slow: ")
    alive = peers
    while alive:
        assert time.monotonic() < begun + 20, "they are still there"
        assert server.threads() <= threads + 5
        time.sleep(0.1)
        for peer in alive:
            try:
                peer.send(b"a")
            except OSError:
                pass
        ended = select.select([peer.socket for peer in alive], [], [], 0)[0]
        alive = [peer for peer in alive if peer.socket not in ended]
    assert time.monotonic() > begun + 0.9
    answer = peers[0].receive()
    if earlier == "hyper":
        assert answer == b""
    else:
        assert answer.startswith(b"HTTP/1.1 400 ") and b"Timeout exceeded while reading HTTP headers" in answer
    for peer in peers:
        peer.close()
    # A body may take its time.
    with server.http_peer() as peer:
        peer.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nSELE")
        time.sleep(1.5)
        peer.send(b"CT 1\r\n0\r\n\r\n")
        assert peer.response()[1] == b"1\n"


def waiting_to_be_accepted(port):
    """The length of the accept queue of 127.0.0.1:port, as the kernel counts it. (A client cannot tell: one whose acknowledgement was
    dropped because the queue was full believes that it is connected.)"""
    with open("/proc/net/tcp") as lines:
        rows = [line.split() for line in lines]
    return next(int(row[4].split(":")[1], 16) for row in rows if row[1] == f"0100007F:{port:04X}" and row[3] == "0A")


def is_stopped(process):
    tasks = f"/proc/{process.pid}/task"
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/stat") as stat:
            if stat.read().rpartition(")")[2].split()[0] != "T":
                return False
    return True


def test_listen_backlog_is_the_systems(start_server):
    """While the server accepts nobody, as many clients wait as it says, and one more."""
    server = start_server(settings={"listen_backlog": 5})
    os.kill(server.process.pid, signal.SIGSTOP)
    clients = [socket.socket() for _ in range(20)]
    try:
        wait_until(lambda: is_stopped(server.process), "no thread of the server runs")
        for client in clients:
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", server.http_port))
        wait_until(lambda: waiting_to_be_accepted(server.http_port) >= 6, "six clients wait")
        time.sleep(0.3)
        assert waiting_to_be_accepted(server.http_port) == 6
    finally:
        for client in clients:
            client.close()
        os.kill(server.process.pid, signal.SIGCONT)


def test_too_many_connections(start_server):
    server = start_server(settings={"max_connections": 20})
    peers = []

    def is_full():
        # The connection that saw the server start may still be there.
        peer = server.http_peer()
        peer.send(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
        if peer.response()[1] == b"Ok.\n":
            peers.append(peer)
        else:
            peer.close()
        return len(peers) == 20

    wait_until(is_full, "all connections are taken")
    # Those above the limit are told so, in the protocol's own words; those below go on.
    with server.http_peer() as refused:
        refused.send(b"GET /?query=SELECT+1 HTTP/1.1\r\nHost: x\r\n\r\n")
        head, body = refused.response()
        assert head.startswith(b"HTTP/1.1 503 ") and b"\r\nRetry-After: " in head
        assert b"\r\nX-ClickHouse-Exception-Code: 203" in head
        assert b"Maximum: 20 (max_connections)" in body
    with pytest.raises(errors.ServerException) as caught:
        Client("127.0.0.1", server.native_port).execute("SELECT 1")
    assert caught.value.code == 203
    peers[0].send(b"GET /?query=SELECT+1 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert peers[0].response()[1] == b"1\n"
    # A crowd beyond the limit costs nothing that stays.
    crowd = [server.http_peer() for _ in range(600)]
    for peer in crowd + peers[1:]:
        peer.close()
    wait_until(lambda: server.http(path="/ping", method="GET").status == 200, "there is room again")
    assert int(server.value("SELECT value FROM system.errors WHERE code = 203")) >= 2
    peers[0].close()


def test_a_connection_ends_after_its_requests(start_server):
    server = start_server(settings={"max_keep_alive_requests": 3})
    with server.http_peer() as peer:
        for number in range(3):
            peer.send(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
            head, _ = peer.response()
            assert (b"connection: close" in head.lower()) == (number == 2)
        assert peer.receive() == b""


def test_stalled_clients_are_let_go(start_server):
    profile = (
        "<default><http_receive_timeout>1</http_receive_timeout><http_send_timeout>1</http_send_timeout>"
        "<http_headers_read_timeout>1</http_headers_read_timeout></default>"
    )
    users_xml = USERS_XML.replace("<default/>", profile)
    server = start_server(settings={"keep_alive_timeout": 1, "handshake_timeout_milliseconds": 500}, users_xml=users_xml)
    threads = server.threads()
    stalled = {
        "half a head": b"GET /?query=SELECT+1 HTTP/1.1\r\nHost:",
        "half a body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nSELECT",
        "a chunk that does not come": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nSELECT\r\n",
        "nothing": b"",
    }
    peers = []
    for sent in stalled.values():
        for _ in range(10):
            peer = server.http_peer()
            peer.send(sent)
            peers.append(peer)
    for _ in range(10):
        # Says nothing at all where a hello is due.
        peers.append(server.native_peer())
    reader = server.http_peer(receive_buffer=4096)
    reader.send(b"GET /?query=SELECT+number+FROM+system.numbers&query_id=unread HTTP/1.1\r\nHost: x\r\n\r\n")
    server.until_running("unread")
    assert server.value("SELECT 1") == "1"
    assert server.threads() <= threads + 4
    for peer in peers:
        peer.receive_all()
    server.until_gone("unread")
    reader.close()


def test_too_many_queries(start_server):
    server = start_server(settings={"max_concurrent_queries": 3})
    peers = []
    for number in range(3):
        peer = server.http_peer()
        peer.send(f"GET /?query=SELECT+number+FROM+system.numbers&query_id=held-{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert peer.receive()
        peers.append(peer)
    response = server.http("SELECT count() FROM numbers(1000000)", queue_max_wait_ms=100)
    assert response.headers["X-ClickHouse-Exception-Code"] == "202"
    assert response.status in (429, 500, 503)
    for peer in peers:
        peer.reset()


@pytest.mark.parametrize("url", ["/?query=SELECT+1<2", "/?query=SELECT+2>1", '/?query=SELECT+"x"', "/a<b", "/a`b"])
def test_letters_that_no_url_has_are_refused(server, url):
    with server.http_peer() as peer:
        peer.send(f"GET {url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert int(peer.receive_all().split(b" ")[1]) == 400
