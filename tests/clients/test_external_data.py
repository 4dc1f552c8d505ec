"""Data that come with a query and are tables of it alone: natively and in forms."""

import pathlib
import subprocess
import uuid

import clickhouse_connect
import pytest
from clickhouse_connect.driver.external import ExternalData
from clickhouse_driver import Client, errors
from server import USERS_XML, ServerError, installed


def form(parts, boundary="x-boundary"):
    """A body of multipart/form-data: (name, file name or None, content)."""
    body = b""
    for name, file, content in parts:
        file = f'; filename="{file}"' if file else ""
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode()
        body += (content if isinstance(content, bytes) else content.encode()) + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def post(server, sql, parts, **params):
    body, headers = form(parts)
    response = server.http(sql, body=body, headers=headers, **params)
    if response.status != 200:
        raise ServerError(response.status, response.text)
    return response.text


def test_a_form(server):
    people = ("people", "people.tsv", "1\tAnn\n2\tBob\n")
    assert post(server, "SELECT * FROM people ORDER BY id DESC", [people], people_structure="id UInt8, name String") == "2\tBob\n1\tAnn\n"
    assert post(server, "SELECT _2, _1 + 1 FROM people WHERE _1 = 2", [people], people_types="UInt8, String") == "Bob\t3\n"
    csv = ("t", "t.csv", 'a,b\n1,"x, y"\n')
    params = {"t_format": "CSVWithNames", "t_structure": "b String, a UInt8"}
    assert post(server, "SELECT a, b FROM t", [csv], **params) == "1\tx, y\n"
    assert post(server, "SELECT count() FROM t", [("t", "t", "")], t_types="UInt8") == "0\n"
    # Two of them, joined, and one after IN.
    ages = ("ages", "ages.csv", "1,30\n2,40\n")
    sql = "SELECT name, age FROM people JOIN ages ON people.id = ages.id WHERE id IN (SELECT id FROM ages) AND id IN ages2 ORDER BY id"
    ages2 = ("ages2", "x", "2\n")
    found = post(
        server,
        sql,
        [people, ages, ages2],
        people_structure="id UInt8, name String",
        ages_structure="id UInt8, age UInt8",
        ages_format="CSV",
        ages2_types="UInt8",
    )
    assert found == "Bob\t40\n"


def test_the_query_and_its_parameters_may_be_in_the_form(server):
    parts = [
        ("query", None, "SELECT n + {x:UInt8} FROM t"),
        ("param_x", None, "5"),
        ("t_structure", None, "n UInt8"),
        ("t", "t.tsv", "1\n"),
    ]
    assert post(server, None, parts) == "6\n"
    assert post(server, "SELECT {x:UInt8} * 2", [("param_x", None, "4")]) == "8\n"


def test_a_large_form(server):
    """Longer than what is read at once, and in ClickHouse's block sizes."""
    content = b"".join(b"%d\n" % number for number in range(500_000))
    assert post(server, "SELECT count(), sum(n), uniqExact(n) FROM t", [("t", "t", content)], t_structure="n UInt64") == f"500000\t{sum(range(500_000))}\t500000\n"


def test_a_table_is_of_its_query_alone(server, table):
    server.query(f"CREATE TABLE {table} (n UInt8) ENGINE = Memory")
    server.query(f"INSERT INTO {table} VALUES (1)")
    mine = (table, "t", "7\n8\n")
    params = {f"{table}_types": "UInt8", "session_id": uuid.uuid4().hex}
    for _ in range(2):
        # It hides the table of its name; the other has a database. The plan of the text is not kept for others.
        assert post(server, f"SELECT sum(_1) FROM {table}", [mine], **params) == "15\n"
        assert post(server, f"SELECT n FROM default.{table}", [mine], **params) == "1\n"
        assert server.value(f"SELECT sum(n) FROM {table}", session_id=params["session_id"]) == "1"
    with pytest.raises(ServerError) as caught:
        server.query("SELECT * FROM _temporary_and_external_tables.t")
    assert caught.value.code in (60, 81, 291)


def test_external_data_may_be_inserted(server, table):
    server.query(f"CREATE TABLE {table} (n UInt8) ENGINE = MergeTree ORDER BY n")
    assert post(server, f"INSERT INTO {table} SELECT _1 FROM data", [("data", "d", "3\n4\n")], data_types="UInt8") == ""
    assert server.query(f"SELECT n FROM {table}") == "3\n4\n"


@pytest.mark.parametrize(
    "parts, params, code",
    [
        ([("t", "t", "1\n")], {}, 36),
        ([("t", "t", "1\n")], {"t_structure": "n Nonsense"}, 36),
        ([("t", "t", "1\n")], {"t_types": "UInt8", "t_format": "Nonsense"}, 73),
        ([("t", "t", "x\n")], {"t_types": "UInt8"}, 6),
        ([("t", "t", "1\n"), ("t", "t", "1\n")], {"t_types": "UInt8"}, 57),
        ([("t", "t", "1\t2\n")], {"t_structure": "n UInt8, n UInt8"}, 15),
        ([("u", "u", "1\n")], {"u_types": "UInt8"}, 60),
        ([("param_x", None, b"\xff")], {}, 117),
    ],
)
def test_wrong_forms(server, parts, params, code):
    with pytest.raises(ServerError) as caught:
        post(server, "SELECT * FROM t", parts, **params)
    assert caught.value.code == code


def test_broken_forms(server):
    body, headers = form([("t", "t", "1\n")])
    for broken, kind in [
        (body[:-10], headers),
        (b"nonsense", headers),
        (b"", headers),
        (body, {"Content-Type": "multipart/form-data"}),
    ]:
        response = server.http("SELECT * FROM t", body=broken, headers=kind, t_types="UInt8")
        assert response.status in (400, 404), response.text
        assert "Code: " in response.text
    # The connection of one that breaks off is no trouble.
    with server.http_peer() as peer:
        peer.send(b"POST /?query=SELECT+1&t_types=UInt8 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n")
        peer.send(b"Content-Type: multipart/form-data; boundary=x-boundary\r\n\r\n" + body[:-10])


def test_limits_of_forms(start_server):
    profile = (
        "<default><http_max_multipart_form_data_size>1000</http_max_multipart_form_data_size>"
        "<max_memory_usage>1000000000</max_memory_usage></default>"
    )
    server = start_server(users_xml=USERS_XML.replace("<default/>", profile))
    sql = "SELECT count() FROM t"
    assert post(server, sql, [("t", "t", "1\n" * 500)], t_types="UInt8") == "500\n"
    for params in ({}, {"http_max_multipart_form_data_size": 10_000}):
        with pytest.raises(ServerError) as caught:
            post(server, sql, [("t", "t", "1\n" * 501)], t_types="UInt8", **params)
        assert caught.value.code == 290 and "http_max_multipart_form_data_size" in str(caught.value)


def test_memory_of_external_tables(server):
    content = "1\n" * 200_000
    with pytest.raises(ServerError) as caught:
        post(server, "SELECT count() FROM t", [("t", "t", content)], t_types="UInt64", max_memory_usage=1_000_000)
    assert caught.value.code == 241
    client = Client("127.0.0.1", server.native_port, settings={"max_memory_usage": 1_000_000})
    client.execute("SET max_memory_usage = 1000000")
    tables = [{"name": "t", "structure": [("n", "UInt64")], "data": [{"n": n} for n in range(200_000)]}]
    with pytest.raises(errors.ServerException) as caught:
        client.execute("SELECT count() FROM t", external_tables=tables)
    assert caught.value.code == 241
    assert client.execute("SELECT 1") == [(1,)]


@pytest.mark.parametrize("compression", [False, "lz4"])
def test_clickhouse_driver(server, compression):
    client = Client("127.0.0.1", server.native_port, compression=compression)
    people = {"name": "people", "structure": [("id", "UInt8"), ("name", "String")], "data": [{"id": n, "name": f"n{n}"} for n in range(100)]}
    empty = {"name": "empty", "structure": [("id", "UInt8")], "data": []}
    sql = "SELECT id, name FROM people WHERE id > 97 AND id NOT IN (SELECT id FROM empty) ORDER BY id"
    for _ in range(2):
        assert client.execute(sql, external_tables=[people, empty]) == [(98, "n98"), (99, "n99")]
    with pytest.raises(errors.ServerException) as caught:
        client.execute("SELECT * FROM people")
    assert caught.value.code == 60
    assert client.execute("SELECT count() FROM people", external_tables=[people]) == [(100,)]
    client.disconnect()


def test_clickhouse_connect(server):
    client = clickhouse_connect.get_client(host="127.0.0.1", port=server.http_port)
    data = ExternalData(file_name="movies.csv", data=b"1,Alien\n2,Brazil\n", fmt="CSV", structure=["id UInt16", "title String"])
    found = client.query("SELECT title FROM movies WHERE id = {id:UInt16}", parameters={"id": 2}, external_data=data)
    assert found.result_rows == [("Brazil",)]
    client.close()


@pytest.mark.skipif(not installed("clickhouse-client"), reason="clickhouse-client is not installed")
def test_clickhouse_client(server, tmp_path):
    (tmp_path / "people.csv").write_text("1,Ann\n2,Bob\n")
    (tmp_path / "ids.tsv").write_text("2\n3\n")
    done = server.client(
        "--query=SELECT name FROM people WHERE id IN ids",
        "--external",
        f"--file={tmp_path}/people.csv",
        "--name=people",
        "--structure=id UInt8, name String",
        "--format=CSV",
        "--external",
        f"--file={tmp_path}/ids.tsv",
        "--name=ids",
        "--types=UInt8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"Bob\n"
    # From its standard input, under the name that it gives itself.
    done = server.client("--query=SELECT sum(_1) FROM _data", "--external", "--file=-", "--types=UInt64", stdin="1\n2\n3\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"6\n"


@pytest.mark.skipif(not installed("curl"), reason="curl is not installed")
def test_curl(server, tmp_path):
    """As ClickHouse's documentation has it."""
    passwd = pathlib.Path(tmp_path / "passwd.tsv")
    passwd.write_text("/bin/sh\t/home/a\n/bin/false\t/\n/bin/sh\t/home/b\n")
    sql = "SELECT+shell,+count()+AS+c+FROM+passwd+GROUP+BY+shell+ORDER+BY+c+DESC"
    url = f"http://127.0.0.1:{server.http_port}/?query={sql}&passwd_structure=shell+String,+home+String"
    done = subprocess.run(["curl", "--silent", "-F", f"passwd=@{passwd};", url], capture_output=True, timeout=30, check=True)
    assert done.stdout == b"/bin/sh\t2\n/bin/false\t1\n"
