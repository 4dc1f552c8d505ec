"""`remote` over two real servers: reading, writing, and what either says when something is wrong."""

import threading

import pytest
from server import ServerError, wait_until

ALLOWED = {"remote_url_allow_hosts": "<host>127.0.0.1</host><host>localhost</host>"}
TABLE = """CREATE TABLE t (a UInt64, s String DEFAULT concat('d', toString(a)), m UInt8 MATERIALIZED a % 7,
    upper String ALIAS upper(s), d Decimal(10, 2) DEFAULT 1.5, list Array(Nullable(String)))
    ENGINE = MergeTree ORDER BY a"""


@pytest.fixture
def two_servers(start_server):
    here = start_server(settings=ALLOWED)
    there = start_server()
    there.query(TABLE)
    there.query("INSERT INTO t (a) SELECT number FROM numbers(100000) SETTINGS max_threads = 1")  # One part.
    return here, there, f"remote('127.0.0.1:{there.native_port}', default.t)"


def test_a_table_of_another_server_is_read(two_servers):
    here, there, table = two_servers
    assert here.query(f"SELECT count(), sum(a), min(s), max(upper), sum(m) FROM {table}") == (
        "100000\t4999950000\td0\tD99999\t299995\n"
    )
    rows = here.query(f"SELECT * FROM {table} WHERE a > 99997 AND s LIKE 'd%' ORDER BY a")
    assert rows == "99998\td99998\t1.5\t[]\n99999\td99999\t1.5\t[]\n"
    assert here.value(f"SELECT count() FROM {table}") == "100000"
    assert here.query(f"SELECT a FROM {table} LIMIT 3") == "0\n1\n2\n"
    both = f"remote('127.0.0.1:{there.native_port},localhost:{there.native_port}', 'default', 't', 'default', '')"
    assert here.query(f"SELECT count(), uniqExact(a) FROM {both}") == "200000\t100000\n"
    function = f"remote('127.0.0.1:1|127.0.0.1:{there.native_port}', numbers(1000))"
    assert here.value(f"SELECT sum(number) FROM {function}") == "499500", "the second replica answers"
    here.query(f"CREATE TABLE copy ENGINE = MergeTree ORDER BY a AS SELECT * FROM {table}")
    assert here.value("SELECT count() FROM copy") == "100000"
    joined = f"SELECT count() FROM {table} AS t JOIN numbers(10) AS n ON t.a = n.number"
    assert here.value(joined) == "10"


def test_only_what_is_read_is_sent(two_servers):
    here, there, table = two_servers
    here.query(f"SELECT s FROM {table} WHERE a = 5 AND length(s) > 1")
    there.query("SYSTEM FLUSH LOGS")
    sent = there.value("SELECT query FROM system.query_log WHERE query LIKE 'SELECT `%' AND type = 'QueryFinish'")
    assert "WHERE equals(`a`" in sent
    assert "`list`" not in sent


def test_rows_are_inserted_there(two_servers):
    here, there, table = two_servers
    into = f"INSERT INTO FUNCTION {table}"
    here.query(f"{into} (a, s) SELECT number + 1000000, 'x' FROM numbers(500000)")
    assert there.query("SELECT count(), countIf(s = 'x'), sum(d) FROM t") == "600000\t500000\t900000\n"
    here.query(f"{into} FORMAT JSONEachRow\n" + '{"a": 5000000, "list": ["a", null]}')
    assert there.query("SELECT * FROM t WHERE a = 5000000") == "5000000\td5000000\t1.5\t['a',NULL]\n"
    assert here.error_code(f"{into} (a, missing) SELECT 1, 2") == 16
    assert here.error_code(f"{into} (a) SELECT throwIf(number = 400000) FROM numbers(500000)") == 395
    assert there.value("SELECT count() FROM t") == "600001", "nothing of the failed INSERT"
    # This server's own table, by its address.
    here.query("CREATE TABLE own (a UInt8) ENGINE = Memory")
    here.query(f"INSERT INTO FUNCTION remote('127.0.0.1:{here.native_port}', default.own) VALUES (7)")
    assert here.value("SELECT a FROM own") == "7"


def test_what_is_wrong_is_said(two_servers):
    here, there, table = two_servers
    assert here.error_code(f"SELECT * FROM remote('127.0.0.1:{there.native_port}', default.missing)") == 60
    assert here.error_code(f"SELECT throwIf(a = 50000) FROM {table}") == 395
    assert here.error_code("SELECT * FROM remote('127.0.0.1:1', default.t)") == 279
    assert here.error_code("SELECT * FROM remote('10.1.2.3', default.t)") == 491
    assert there.error_code(f"SELECT * FROM remote('127.0.0.1:{here.native_port}', system.one)") == 491
    with pytest.raises(ServerError, match="Authentication failed"):
        here.query(f"SELECT * FROM remote('127.0.0.1:{there.native_port}', default.t, 'nobody', 'x')")
    here.query("CREATE USER guest")
    assert here.error_code(f"SELECT * FROM {table}", user="guest") == 497


def test_a_server_that_dies_ends_the_query(two_servers):
    here, there, _ = two_servers
    table = f"remote('127.0.0.1:{there.native_port}', system.numbers)"
    threading.Timer(1, there.kill).start()
    with pytest.raises(ServerError):
        here.query(f"SELECT max(number) FROM {table}")
    assert here.value("SELECT 1") == "1"


def test_a_query_that_is_stopped_stops_there(two_servers):
    here, there, _ = two_servers
    table = f"remote('127.0.0.1:{there.native_port}', system.numbers)"
    assert here.error_code(f"SELECT max(number) FROM {table} SETTINGS max_execution_time = 1") == 159
    running = "SELECT count() FROM system.processes WHERE query LIKE 'SELECT `number`%'"
    wait_until(lambda: there.value(running) == "0", "the other server has stopped")


def cluster(*shards):
    """The configuration of a cluster of these ports."""
    replica = "<replica><host>127.0.0.1</host><port>{}</port></replica>".format
    return "".join(f"<shard>{''.join(replica(port) for port in ports)}</shard>" for ports in shards)


def test_a_cluster_of_servers_is_read_and_written(start_server):
    first, second = start_server(), start_server()
    one, both, replicated = (
        cluster([second.native_port]),
        cluster([first.native_port], [second.native_port]),
        cluster([1, first.native_port, second.native_port]),
    )
    servers = f"<one>{one}</one><both>{both}</both><replicated>{replicated}</replicated>"
    here = start_server(settings={"remote_servers": servers, "remote_url_allow_hosts": "<host>example.com</host>"})
    for number, server in enumerate((first, second)):
        server.query("CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a")
        server.query(f"INSERT INTO t SELECT number, 'server {number}' FROM numbers(1000)")
    assert here.query("SELECT count(), sum(a) FROM cluster('both', default.t)") == "2000\t999000\n"
    assert here.query("SELECT s, count() FROM cluster(both, default, t) GROUP BY s ORDER BY s") == (
        "server 0\t1000\nserver 1\t1000\n"
    )
    assert here.query("SELECT DISTINCT s FROM cluster('replicated', default.t)") == "server 0\n", "the first that answers"
    assert here.error_code("SELECT * FROM clusterAllReplicas('replicated', default.t)") == 279
    assert here.value("SELECT count() FROM cluster('one', numbers(7))") == "7"
    here.query("INSERT INTO FUNCTION cluster('one', default.t) SELECT 5000, 'sent'")
    assert second.value("SELECT count() FROM t WHERE s = 'sent'") == "1"
    assert here.error_code("INSERT INTO FUNCTION cluster('both', default.t) SELECT 1, ''") == 55
    assert here.error_code("SELECT * FROM cluster('none', default.t)") == 701
    here.query("CREATE USER asker")
    here.query("GRANT CLUSTER ON *.* TO asker")
    assert here.error_code("SELECT * FROM cluster('one', default.t)", user="asker") == 497
    here.query("GRANT READ ON REMOTE TO asker")
    assert here.value("SELECT count() FROM cluster('one', default.t)", user="asker") == "1001"


def test_own_shards_are_read_here(start_server):
    there = start_server()
    here = start_server(wait=False)
    shards = cluster([here.native_port], [there.native_port], [here.native_port])
    here.settings = {"remote_servers": f"<mixed>{shards}</mixed>"}
    here.start()
    here.query("CREATE TABLE t (a UInt8, s LowCardinality(String)) ENGINE = MergeTree ORDER BY a")
    here.query("INSERT INTO t VALUES (1, 'here')")
    there.query("CREATE TABLE t (s String, a UInt64) ENGINE = MergeTree ORDER BY a")
    there.query("INSERT INTO t VALUES ('there', 2)")
    rows = here.query("SELECT a, s, toTypeName(s) FROM cluster('mixed', default.t) ORDER BY a")
    assert rows == "1\there\tLowCardinality(String)\n1\there\tLowCardinality(String)\n2\tthere\tLowCardinality(String)\n"
    here.query("CREATE USER asker")
    here.query("GRANT CLUSTER ON *.* TO asker")
    here.query("GRANT READ ON REMOTE TO asker")
    assert here.error_code("SELECT count() FROM cluster('mixed', default.t)", user="asker") == 497, "own rows need own rights"
