"""Dictionaries of configuration files, and of sources outside of the server's tables."""

import base64
import http.server
import pathlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from server import ServerError

FILES = {"dictionaries_config": "dictionaries.d/*.xml"}
STATUS = "SELECT status, origin, type, `key.names`, `attribute.types` FROM system.dictionaries WHERE name = '{}'"


def dictionary(name, source, layout="<hashed/>", lifetime="0", structure=None, root="clickhouse"):
    structure = structure or "<id><name>id</name></id><attribute><name>v</name><type>String</type><null_value>none</null_value></attribute>"
    return (
        f"<{root}><dictionary><name>{name}</name><source>{source}</source><lifetime>{lifetime}</lifetime>"
        f"<layout>{layout}</layout><structure>{structure}</structure></dictionary></{root}>"
    )


def wait_for(value, expected, seconds=15):
    deadline = time.monotonic() + seconds
    while (got := value()) != expected:
        assert time.monotonic() < deadline, (got, expected)
        time.sleep(0.1)


def write(file, text):
    """Puts a file in its place at once: the server may look at any time."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.rename(file)


def own_table(server, table):
    return f"<clickhouse><host>localhost</host><port>{server.native_port}</port><user>default</user><password/><db>default</db><table>{table}</table></clickhouse>"


@pytest.fixture
def folder(start_server):
    """A server with a folder of dictionaries."""
    server = start_server(settings=FILES | {"config_reload_interval_ms": 100})
    path = pathlib.Path(server.folder) / "dictionaries.d"
    path.mkdir()
    return server, path


def test_dictionaries_of_files_come_change_and_go(folder):
    server, path = folder
    server.query("CREATE TABLE t (id UInt64, v String) ENGINE = MergeTree ORDER BY id")
    server.query("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    file = path / "one.xml"
    write(file, dictionary("default.d", own_table(server, "t"), root="yandex"))
    look = "SELECT dictGet('default.d', 'v', toUInt64({}))"
    wait_for(lambda: server.value("SELECT groupArray(name) FROM system.dictionaries"), "['default.d']")
    # Nothing is loaded until somebody asks.
    assert server.rows(STATUS.format("default.d")) == [["NOT_LOADED", str(file), "", "['id']", "['String']"]]
    assert server.rows(look.format(1)) == [["one"]]
    assert server.rows(STATUS.format("default.d")) == [["LOADED", str(file), "Hashed", "['id']", "['String']"]]
    assert server.rows("SELECT * FROM dictionary('default.d') ORDER BY id") == [["1", "one"], ["2", "two"]]
    # A plan that was kept with the text sees the new rows.
    server.query("INSERT INTO t VALUES (3, 'three')")
    assert server.rows(look.format(3)) == [["none"]]
    server.query("SYSTEM RELOAD DICTIONARY `default.d`")
    assert server.rows(look.format(3)) == [["three"]]
    # A file that changes is read again, and the dictionary loaded, since it was.
    write(file, dictionary("default.d", own_table(server, "t")).replace("none", "nobody"))
    wait_for(lambda: server.rows(look.format(9)), [["nobody"]])
    # One that is broken is told in the log; what it said stays.
    write(file, "<clickhouse><dictionary>")
    server.query("SYSTEM RELOAD DICTIONARIES")
    assert server.rows(look.format(9)) == [["nobody"]]
    file.unlink()
    wait_for(lambda: server.value("SELECT count() FROM system.dictionaries"), "0")
    with pytest.raises(ServerError, match="not found"):
        server.rows(look.format(9))


def test_dictionaries_may_be_loaded_at_the_start(start_server):
    server = start_server(settings=FILES | {"dictionaries_lazy_load": 0})
    path = pathlib.Path(server.folder) / "dictionaries.d"
    path.mkdir()
    (path / "x.xml").write_text(dictionary("x", "<null/>", structure="<id><name>id</name></id><attribute><name>v</name><type>UInt8</type><null_value>7</null_value></attribute>"))
    server.restart()
    wait_for(lambda: server.value("SELECT status FROM system.dictionaries"), "LOADED")
    assert server.value("SELECT dictGet('x', 'v', toUInt64(5))") == "7"


def test_another_server_that_does_not_answer(folder):
    server, path = folder
    source = own_table(server, "t").replace(str(server.native_port), "1")
    write(path / "d.xml", dictionary("d", source))
    server.query("SYSTEM RELOAD CONFIG")
    with pytest.raises(ServerError, match="ALL_CONNECTION_TRIES_FAILED"):
        server.query("SELECT dictGet('d', 'v', toUInt64(1))")
    assert "localhost:1" in server.value("SELECT last_exception FROM system.dictionaries WHERE name = 'd'")


def test_tables_of_another_server(start_server):
    there = start_server()
    there.query("CREATE DATABASE far")
    there.query("CREATE TABLE far.t (id UInt64, v LowCardinality(String), at DateTime) ENGINE = MergeTree ORDER BY id")
    there.query("INSERT INTO far.t SELECT number, 'v' || toString(number), '2020-01-01 00:00:00' FROM numbers(100000)")
    there.query("CREATE USER far_reader IDENTIFIED BY 'secret'")
    there.query("GRANT SELECT ON far.t TO far_reader")
    here = start_server(settings={"remote_url_allow_hosts": "<host>127.0.0.1</host>", **FILES})
    whole = f"HOST '127.0.0.1' PORT {there.native_port} USER 'far_reader' PASSWORD 'secret' DB 'far'"
    columns = "(id UInt64, v String DEFAULT 'none') PRIMARY KEY id SOURCE(CLICKHOUSE({} {})) LAYOUT({}()) LIFETIME({})"
    here.query("CREATE DICTIONARY h " + columns.format(whole, "TABLE 't' WHERE 'id < 50000' UPDATE_FIELD 'at' UPDATE_LAG 5", "HASHED", 0))
    here.query("CREATE DICTIONARY d " + columns.format(whole, "TABLE 't'", "DIRECT", 0).replace(" LIFETIME(0)", ""))
    here.query("CREATE DICTIONARY c " + columns.format(whole, "TABLE 't'", "CACHE", 1000).replace("CACHE()", "CACHE(SIZE_IN_CELLS 1000)"))
    query = "QUERY 'SELECT id + 1, v FROM t WHERE id < 10 OR id > 150000' INVALIDATE_QUERY 'SELECT count() FROM t'"
    here.query("CREATE DICTIONARY q " + columns.format(whole, query, "FLAT", 1))
    look = "SELECT dictGet('{}', 'v', toUInt64(7)), dictGet('{}', 'v', toUInt64(60000)), dictGet('{}', 'v', toUInt64(200000))"
    expected = {"h": ["v7", "none", "none"], "d": ["v7", "v60000", "none"], "c": ["v7", "v60000", "none"], "q": ["v6", "none", "none"]}
    for name, row in expected.items():
        assert here.rows(look.replace("{}", name)) == [row], name
    assert here.value("SELECT sum(length(dictGet('d', 'v', number))) FROM numbers(70000)") == there.value(
        "SELECT sum(length(v)) FROM far.t WHERE id < 70000"
    )
    there.query("INSERT INTO far.t SELECT 7, 'new', now()")
    here.query("SYSTEM RELOAD DICTIONARY h")
    assert here.value("SELECT dictGet('h', 'v', toUInt64(7))") == "new"
    # The query of its rows is asked again once the other one's answer has changed.
    there.query("INSERT INTO far.t SELECT 150001, 'late', now()")
    wait_for(lambda: here.value("SELECT dictGet('q', 'v', toUInt64(150002))"), "late")
    # Passwords are nobody's to read.
    assert "secret" not in here.query("SHOW CREATE DICTIONARY h")
    assert "secret" not in here.query("SELECT create_table_query, engine_full FROM system.tables WHERE name = 'h'")
    # The other server's errors are told.
    for changed, message in (("'secret'", "'wrong'"), "AUTHENTICATION_FAILED"), (("'t'", "'nothing'"), "UNKNOWN_TABLE"):
        here.query("CREATE OR REPLACE DICTIONARY e " + columns.format(whole, "TABLE 't'", "HASHED", 0).replace(*changed))
        with pytest.raises(ServerError, match=message):
            here.query("SELECT dictGet('e', 'v', toUInt64(1))")
    there.kill()
    with pytest.raises(ServerError, match="ALL_CONNECTION_TRIES_FAILED"):
        here.query("SELECT dictGet('d', 'v', toUInt64(1))")
    assert here.value("SELECT dictGet('h', 'v', toUInt64(7))") == "new", "what is loaded stays"


def test_who_may_reach_another_server(start_server):
    there = start_server()
    there.query("CREATE TABLE t (id UInt64, v String) ENGINE = MergeTree ORDER BY id")
    there.query("INSERT INTO t VALUES (1, 'there')")
    here = start_server(settings=FILES | {"config_reload_interval_ms": 100})
    statement = (
        "CREATE DICTIONARY {} (id UInt64, v String) PRIMARY KEY id"
        f" SOURCE(CLICKHOUSE(HOST '127.0.0.1' PORT {there.native_port} TABLE 't')) LAYOUT(FLAT()) LIFETIME(0)"
    )
    # A statement reaches no server of this machine that the configuration does not allow.
    here.query(statement.format("d"))
    with pytest.raises(ServerError, match="UNACCEPTABLE_URL"):
        here.query("SELECT dictGet('d', 'v', toUInt64(1))")
    # What the operator's own files name may be anywhere.
    path = pathlib.Path(here.folder) / "dictionaries.d"
    path.mkdir()
    write(path / "f.xml", dictionary("f", own_table(there, "t")))
    here.query("SYSTEM RELOAD CONFIG")
    assert here.value("SELECT dictGet('f', 'v', toUInt64(1))") == "there"
    # Who may not read from other servers makes no dictionary that does.
    here.query("CREATE USER maker")
    here.query("GRANT CREATE DICTIONARY ON *.* TO maker")
    assert here.error_code(statement.format("m"), user="maker") == 497
    here.query("GRANT REMOTE ON *.* TO maker")
    assert here.error_code(statement.format("m"), user="maker") == 0


def test_files_and_commands(folder):
    server, path = folder
    file = path / "rows.tsv"
    file.write_text("1\tone\n2\ttwo\n")
    write(path / "f.xml", dictionary("f", f"<file><path>{file}</path><format>TSV</format></file>", lifetime="1"))
    write(path / "e.xml", dictionary("e", "<executable><command>printf '1,a\\n2,b\\n'</command><format>CSV</format></executable>"))
    echo = "<executable><command>sed 's/.*/v&amp;/'</command><format>TSV</format><implicit_key>1</implicit_key></executable>"
    write(path / "c.xml", dictionary("c", echo, layout="<cache><size_in_cells>3</size_in_cells></cache>"))
    write(path / "bad.xml", dictionary("bad", "<executable><command>exit 3</command><format>CSV</format></executable>"))
    server.query("SYSTEM RELOAD CONFIG")
    assert server.rows("SELECT dictGet('f', 'v', number), dictGet('e', 'v', number) FROM numbers(1, 3)") == [["one", "a"], ["two", "b"], ["none", "none"]]
    assert server.rows("SELECT dictGet('c', 'v', number % 3) FROM numbers(6)") == [["v0"], ["v1"], ["v2"]] * 2
    with pytest.raises(ServerError, match="CHILD_WAS_NOT_EXITED_NORMALLY"):
        server.query("SELECT dictGet('bad', 'v', toUInt64(1))")
    # Its lifetime over, a file is read again where it has changed.
    write(file, "1\tanother\n")
    wait_for(lambda: server.value("SELECT dictGet('f', 'v', toUInt64(1))"), "another")
    # A statement may name files of users alone, and no commands.
    ddl = "CREATE OR REPLACE DICTIONARY s (id UInt64, v String) PRIMARY KEY id SOURCE({}) LAYOUT(HASHED()) LIFETIME(0)"
    for inside, expected in [("'/etc/passwd'", "PATH_ACCESS_DENIED"), ("'../../../etc/passwd'", "PATH_ACCESS_DENIED"), ("'none.tsv'", "FILE_DOESNT_EXIST")]:
        server.query(ddl.format(f"FILE(path {inside} format TSV)"))
        with pytest.raises(ServerError, match=expected):
            server.query("SELECT dictGet('s', 'v', toUInt64(1))")
    user_files = pathlib.Path(server.value("SELECT value FROM system.server_settings WHERE name = 'user_files_path'"))
    user_files.mkdir(exist_ok=True)
    (user_files / "own.tsv").write_text("1\tmine\n")
    server.query(ddl.format("FILE(path 'own.tsv' format TSV)"))
    assert server.value("SELECT dictGet('s', 'v', toUInt64(1))") == "mine"
    with pytest.raises(ServerError, match="DICTIONARY_ACCESS_DENIED"):
        server.query(ddl.format("EXECUTABLE(command 'id' format TSV)"))


def test_a_dictionary_that_is_replaced_is_there_at_every_moment(start_server):
    server = start_server()
    server.query("CREATE TABLE source (id UInt64, v String) ENGINE = MergeTree ORDER BY id")
    server.query("INSERT INTO source VALUES (1, 'one')")
    ddl = "CREATE OR REPLACE DICTIONARY d (id UInt64, v String DEFAULT '{}') PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 'source')) LAYOUT(HASHED()) LIFETIME(0)"
    server.query(ddl.format(0))
    over, answers = threading.Event(), set()

    def look_up():
        while not over.is_set():
            answers.add(server.http(body=b"SELECT dictGet('d', 'v', toUInt64(1))").text)

    reader = threading.Thread(target=look_up)
    reader.start()
    for number in range(1, 51):
        server.query(ddl.format(number))
    over.set()
    reader.join()
    assert answers == {"one\n"}
    assert server.value("SELECT dictGet('d', 'v', toUInt64(2))") == "50"
    assert server.value("SELECT groupArray(name) FROM system.tables WHERE database = 'default'") == "['d','source']"
    with pytest.raises(ServerError, match="is not a Dictionary"):
        server.query(ddl.format(0).replace("DICTIONARY d", "DICTIONARY source"))
    server.restart()
    assert server.value("SELECT dictGet('d', 'v', toUInt64(2))") == "50"


class Source(http.server.BaseHTTPRequestHandler):
    """Rows `id, v<id>` of the ids that are sent, or of 1 to 3."""

    asked = []

    def do_GET(self):
        self.answer(["1", "2", "3"])

    def do_POST(self):
        ids = self.rfile.read(int(self.headers["Content-Length"])).decode().split()
        self.answer([number for number in ids if int(number) < 100])

    def answer(self, ids):
        Source.asked.append((self.command, sorted(map(int, ids)), self.headers.get("Authorization"), self.headers.get("x-key")))
        if self.path == "/wrong":
            self.send_error(404, "nothing here")
            return
        body = "".join(f"{number}\tv{number}\n" for number in ids).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def test_http(start_server):
    server = start_server(settings={"remote_url_allow_hosts": "<host>127.0.0.1</host>"})
    source = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Source)
    threading.Thread(target=source.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{source.server_port}/rows"
    ddl = (
        "CREATE DICTIONARY {} (id UInt64, v String DEFAULT 'none') PRIMARY KEY id SOURCE(HTTP(url '{}' format TSV credentials(user 'u' password 'p') "
        "headers(header(name 'X-Key' value 'k')))) LAYOUT({}) LIFETIME(MIN 1000 MAX 2000)"
    )
    server.query(ddl.format("whole", url, "FLAT()"))
    assert server.rows("SELECT dictGet('whole', 'v', number) FROM numbers(2, 3)") == [["v2"], ["v3"], ["none"]]
    basic = "Basic " + base64.b64encode(b"u:p").decode()
    assert Source.asked == [("GET", [1, 2, 3], basic, "k")]
    Source.asked.clear()
    server.query(ddl.format("cached", url, "CACHE(SIZE_IN_CELLS 1000)"))
    count = "SELECT countIf(dictGet('cached', 'v', number % 200) = 'v' || toString(number % 200)) FROM numbers(1000)"
    assert server.value(count) == "500"
    # What is missing in a block is asked for at once, also what is not there; then it is known.
    requests = len(Source.asked)
    assert requests <= 4 and {number for _, ids, *_ in Source.asked for number in ids} == set(range(100))
    assert server.value(count) == "500"
    assert len(Source.asked) == requests
    state = "SELECT status, element_count, found_rate, hit_rate >= 0.5 FROM system.dictionaries WHERE name = 'cached'"
    assert server.rows(state) == [["LOADED", "200", "0.5", "1"]]
    server.query(ddl.format("wrong", url.replace("rows", "wrong"), "HASHED()"))
    with pytest.raises(ServerError, match="404"):
        server.query("SELECT dictGet('wrong', 'v', toUInt64(1))")
    source.shutdown()
    server.query(ddl.format("gone", "http://127.0.0.1:1/", "HASHED()"))
    with pytest.raises(ServerError, match="NETWORK_ERROR"):
        server.query("SELECT dictGet('gone', 'v', toUInt64(1))")


def test_cache_and_direct_ask_the_table(start_server):
    server = start_server()
    server.query("CREATE TABLE t (a String, b Date, v UInt64) ENGINE = MergeTree ORDER BY a")
    server.query("INSERT INTO t SELECT toString(number), toDate('2020-01-01') + number % 5, number FROM numbers(10000)")
    columns = "(a String, b Date, v UInt64 DEFAULT 7) PRIMARY KEY a, b SOURCE(CLICKHOUSE(TABLE 't'))"
    server.query(f"CREATE DICTIONARY c {columns} LAYOUT(COMPLEX_KEY_CACHE(SIZE_IN_CELLS 100)) LIFETIME(1)")
    server.query(f"CREATE DICTIONARY d {columns} LAYOUT(COMPLEX_KEY_DIRECT())")
    key = "(toString(number), toDate('2020-01-01') + number % 5)"
    for name in "cd":
        # More keys than there are cells, and than one request asks for.
        assert server.value(f"SELECT sum(dictGet('{name}', 'v', {key})) FROM numbers(12000)") == str(sum(range(10000)) + 7 * 2000)
        assert server.value(f"SELECT dictGet('{name}', 'v', {key}) FROM numbers(5000, 1)") == "5000"
    assert int(server.value("SELECT element_count FROM system.dictionaries WHERE name = 'c'")) <= 100
    server.query("INSERT INTO t VALUES ('new', '2020-01-01', 42)")
    new = "SELECT dictGet('{}', 'v', ('new', toDate('2020-01-01')))"
    assert server.value(new.format("d")) == "42"
    assert server.value(new.format("c")) == "42"
    server.query("TRUNCATE TABLE t")
    assert server.value(new.format("d")) == "7"
    # What a cache knows it knows for its lifetime.
    wait_for(lambda: server.value(new.format("c")), "7")
    # Many at once, on more threads than there are workers.
    server.query("INSERT INTO t SELECT toString(number), toDate('2020-01-01') + number % 5, number FROM numbers(10000)")
    with ThreadPoolExecutor(16) as pool:
        sums = pool.map(server.value, [f"SELECT sum(dictGet('d', 'v', {key})) FROM numbers(3000)"] * 16)
    assert set(sums) == {str(sum(range(3000)))}
    # A dictionary that asks itself ends in an error.
    server.query("CREATE DICTIONARY me (id UInt64, v UInt64) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY 'SELECT number AS id, dictGet(''me'', ''v'', number) AS v FROM numbers(10)')) LAYOUT(DIRECT())")
    with pytest.raises(ServerError, match="INFINITE_LOOP"):
        server.query("SELECT dictGet('me', 'v', toUInt64(1))")


def test_only_what_has_changed_is_loaded(start_server):
    server = start_server()
    server.query("CREATE TABLE t (id UInt64, v String, at DateTime) ENGINE = MergeTree ORDER BY id")
    server.query("CREATE TABLE version (n UInt64) ENGINE = MergeTree ORDER BY n")
    server.query("INSERT INTO t VALUES (1, 'old', '2020-01-01 00:00:00'), (2, 'old', '2020-01-01 00:00:00')")
    columns = "(id UInt64, v String DEFAULT '') PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 't' {})) LAYOUT(HASHED()) LIFETIME({})"
    server.query("CREATE DICTIONARY u " + columns.format("UPDATE_FIELD 'at' UPDATE_LAG 5", 0))
    server.query("CREATE DICTIONARY i " + columns.format("INVALIDATE_QUERY 'SELECT count() FROM version'", 1))
    look = "SELECT dictGet('{0}', 'v', toUInt64(1)), dictGet('{0}', 'v', toUInt64(2)), dictGet('{0}', 'v', toUInt64(3))"
    assert server.rows(look.format("u")) == [["old", "old", ""]]
    assert server.rows(look.format("i")) == [["old", "old", ""]]
    server.query("TRUNCATE TABLE t")
    server.query("INSERT INTO t VALUES (2, 'new', now()), (3, 'late', '2020-01-01 00:00:00')")
    server.query("SYSTEM RELOAD DICTIONARY u")
    assert server.rows(look.format("u")) == [["old", "new", ""]]
    # Its lifetime is over, but the answer of its query is the same.
    time.sleep(7)
    assert server.rows(look.format("i")) == [["old", "old", ""]]
    server.query("INSERT INTO version VALUES (1)")
    wait_for(lambda: server.rows(look.format("i")), [["", "new", "late"]])


def test_tables_with_the_engine_dictionary(start_server):
    server = start_server()
    server.query("CREATE TABLE t (id UInt64, v String) ENGINE = MergeTree ORDER BY id")
    server.query("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    server.query("CREATE DICTIONARY d (id UInt64, v String) PRIMARY KEY id SOURCE(CLICKHOUSE(TABLE 't')) LAYOUT(HASHED()) LIFETIME(0)")
    server.query("CREATE TABLE e (v String, id UInt64) ENGINE = Dictionary('d')")
    assert server.rows("SELECT * FROM e ORDER BY id") == [["one", "1"], ["two", "2"]]
    server.restart()
    assert server.rows("SELECT id FROM e WHERE v = 'two'") == [["2"]]
    with pytest.raises(ServerError, match="THERE_IS_NO_COLUMN"):
        server.query("CREATE TABLE x (w String) ENGINE = Dictionary('d')")
    with pytest.raises(ServerError, match="not found"):
        server.query("CREATE TABLE x (w String) ENGINE = Dictionary('none')")
    server.query("DROP DICTIONARY d")
    with pytest.raises(ServerError, match="not found"):
        server.query("SELECT * FROM e")
    server.query("DROP TABLE e")
