"""INSERT … SELECT … FROM input('…'): the query reads what the client sends, over both protocols, all of it or nothing."""

import http.client
import time

import pytest
from server import ServerError


@pytest.fixture
def table(server):
    server.query("DROP TABLE IF EXISTS taken SYNC")
    server.query("CREATE TABLE taken (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    yield server
    server.query("DROP TABLE taken SYNC")


def rows(server):
    return server.query("SELECT * FROM taken ORDER BY ALL")


def test_the_rows_of_a_request_go_through_the_query(table):
    server = table
    server.query("INSERT INTO taken SELECT a * 10, upper(b) FROM input('a UInt8, b String') WHERE a != 2 FORMAT CSV\n1,x\n2,y\n3,z\n")
    assert rows(server) == "10\tX\n30\tZ\n"
    # Without columns of its own it has those that are written, and its data may come apart from the statement.
    numbers = b"".join(number.to_bytes(8, "little") for number in range(100_000))
    for statement, body in [
        ("INSERT INTO taken (s) SELECT s || '!' FROM input() FORMAT TSV", b"w\n"),
        ("INSERT INTO taken SELECT sum(a), 'sum' FROM input('a UInt64') FORMAT RowBinary", numbers),
        ("INSERT INTO taken SELECT a, 'first' FROM input('a UInt64') LIMIT 1 FORMAT TSV", b"7\n" * 200_000),
    ]:
        response = server.http(statement, body=body)
        assert response.status == 200, response.text
    assert rows(server) == "0\tw!\n7\tfirst\n10\tX\n30\tZ\n4999950000\tsum\n"
    for statement, code in [
        ("SELECT * FROM input('a UInt8')", 477),
        ("INSERT INTO taken SELECT a, '' FROM input('a UInt8')", 477),
        ("INSERT INTO taken SELECT a, '' FROM input('a UInt8') AS x JOIN input('a UInt8') AS y USING a FORMAT CSV\n1", 477),
        ("INSERT INTO taken SELECT * FROM input('a UInt8', 'b') FORMAT CSV\n1", 42),
        ("INSERT INTO taken SELECT throwIf(a = 1), '' FROM input('a UInt8') FORMAT CSV\n1\n", 395),
        ("INSERT INTO taken SELECT a, '' FROM input('a UInt8') FORMAT CSV\n1\nx\n", 6),
    ]:
        assert server.error_code(statement) == code, statement
    assert server.query("SELECT count() FROM taken") == "5\n"


def test_a_request_that_breaks_off_leaves_nothing(table):
    server = table
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port)
    connection.putrequest("POST", "/?query=INSERT%20INTO%20taken%20SELECT%20a,%20''%20FROM%20input('a%20UInt64')%20FORMAT%20TSV")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    piece = b"1\n" * 100_000
    connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    time.sleep(0.3)
    connection.close()
    time.sleep(0.5)
    assert rows(server) == ""


def test_native_clients_send_blocks(table):
    clickhouse_driver = pytest.importorskip("clickhouse_driver")
    server = table
    client = clickhouse_driver.Client("127.0.0.1", port=server.native_port)
    # The driver sends rows where a statement ends like this.
    client.execute("INSERT INTO taken SELECT a + 1, b FROM input('a UInt8, b String') FORMAT VALUES", [(1, "x"), (2, "y")])
    assert rows(server) == "2\tx\n3\ty\n"
    with pytest.raises(ServerError):
        server.query("SELECT * FROM input('a UInt8')")
