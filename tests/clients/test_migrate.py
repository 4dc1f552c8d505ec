"""squall migrate: from one Squall to another, and from ClickHouse 18.16 where Debian's clickhouse-server is installed."""

import shutil
import subprocess

import pytest
from ports import free_port
from server import BINARY, wait_until


def migrate(source_port, target, folder, *args):
    command = [BINARY, "migrate", f"--from=clickhouse://127.0.0.1:{source_port}", f"--to=clickhouse://127.0.0.1:{target.native_port}"]
    return subprocess.run([*command, *args], cwd=folder, capture_output=True, timeout=100, check=False)


def test_from_squall_to_squall(start_server, tmp_path):
    source, target = start_server(), start_server()
    source.query("CREATE DATABASE shop")
    source.query(
        "CREATE TABLE shop.orders (d Date, id UInt64, s LowCardinality(String), a Array(Nullable(Int32)), twice UInt64 ALIAS id * 2)"
        " ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY id"
    )
    source.query("INSERT INTO shop.orders SELECT toDate('2024-01-01') + number % 90, number, toString(number % 7), [1, NULL] FROM numbers(100000)")
    source.query("CREATE TABLE shop.empty (x UInt8) ENGINE = Memory")
    source.query("CREATE TABLE default.kept_back (x UInt8) ENGINE = Memory")
    outcome = migrate(source.native_port, target, tmp_path, "--database=shop", "--jobs=3")
    said = outcome.stderr.decode()
    assert outcome.returncode == 0, said
    assert "shop.orders: 100.00 thousand rows" in said
    sums = "SELECT count(), sum(cityHash64(d, id, s)), sum(length(a)), sum(a[1]), sum(twice) FROM shop.orders"
    assert target.query(sums) == source.query(sums)
    assert target.value("EXISTS TABLE shop.empty") == "1"
    assert target.value("EXISTS TABLE default.kept_back") == "0"
    # A second run does nothing for what is there; without what the first has written down it copies again, and not twice.
    source.query("INSERT INTO shop.orders SELECT toDate('2024-01-01'), 1, '', []")
    again = migrate(source.native_port, target, tmp_path, "--database=shop")
    assert (again.returncode, "shop.orders: copied before" in again.stderr.decode()) == (0, True)
    assert target.value("SELECT count() FROM shop.orders") == "100000"
    (tmp_path / "squall-migrate.state").unlink()
    assert migrate(source.native_port, target, tmp_path, "--database=shop").returncode == 0
    assert target.query(sums) == source.query(sums)


def test_what_cannot_come_is_said(start_server, tmp_path):
    source, target = start_server(), start_server()
    source.query("CREATE TABLE t (x UInt8) ENGINE = MergeTree ORDER BY x")
    source.query("INSERT INTO t VALUES (1)")
    # Another table of this name is there already.
    target.query("CREATE TABLE t (y UInt8) ENGINE = MergeTree ORDER BY y")
    outcome = migrate(source.native_port, target, tmp_path)
    assert outcome.returncode == 1
    assert "default.t: " in outcome.stderr.decode()
    outcome = migrate(source.native_port, target, tmp_path, "--database=nowhere")
    assert "(UNKNOWN_DATABASE, 81)" in outcome.stderr.decode()


def test_users_come_with_their_rights(start_server, tmp_path):
    source, target = start_server(), start_server()
    for statement in (
        "CREATE TABLE orders (id UInt64, region String) ENGINE = MergeTree ORDER BY id",
        "INSERT INTO orders VALUES (1, 'north'), (2, 'south')",
        "CREATE FUNCTION twice AS x -> x * 2",
        "CREATE VIEW doubled AS SELECT twice(id) AS d FROM orders",
        "CREATE SETTINGS PROFILE small SETTINGS max_memory_usage = 100000000 MAX 200000000",
        "CREATE ROLE readers SETTINGS PROFILE 'small'",
        "CREATE USER alice IDENTIFIED WITH no_password HOST LOCAL DEFAULT DATABASE default",
        "CREATE USER bob IDENTIFIED WITH sha256_password BY 'secret' HOST LOCAL",
        "CREATE USER carol IDENTIFIED WITH no_password HOST LOCAL",
        "GRANT SELECT(id, region), INSERT ON default.orders TO readers",
        "GRANT readers TO alice, bob",
        "GRANT CREATE USER ON *.* TO carol",
        "CREATE ROW POLICY north ON orders USING region = 'north' TO readers",
        "CREATE QUOTA few FOR INTERVAL 1 hour MAX queries = 1000 TO readers",
    ):
        source.query(statement)
    target.query("CREATE USER carol IDENTIFIED WITH no_password HOST LOCAL")
    outcome = migrate(source.native_port, target, tmp_path)
    said = outcome.stderr.decode()
    assert "and they stay as they are: " in said, said
    assert "user carol" in said
    # A password stays where it is, so its user comes, and nobody gets in by that name.
    assert outcome.returncode == 1
    assert "user bob: Its password did not come" in said
    assert said.split("Did not come:")[1].count("\n") == 2, said
    for password in ("", "secret"):
        assert target.error_code("SELECT 1", user="bob", password=password) == 516
    assert target.query("SELECT region FROM orders", user="alice") == "north\n"
    assert target.query("SELECT getSetting('max_memory_usage')", user="alice") == "100000000\n"
    assert target.error_code("DROP TABLE orders", user="alice") == 497
    target.query("ALTER USER bob IDENTIFIED BY 'new'")
    assert target.query("SELECT region FROM orders", user="bob", password="new") == "north\n"
    # Nobody whom the target had before gets a right by a migration.
    assert target.query("SHOW GRANTS FOR carol") == ""
    assert target.query("SELECT sum(d) FROM doubled") == "6\n"
    for what in ("SHOW CREATE ROLE readers", "SHOW CREATE QUOTA few", "SHOW CREATE ROW POLICY north ON orders", "SHOW GRANTS FOR readers, alice"):
        assert target.query(what) == source.query(what)
    # Nothing is changed by a second run, and what the target's people changed meanwhile stays.
    again = migrate(source.native_port, target, tmp_path)
    assert again.returncode == 0, again.stderr
    assert target.query("SELECT region FROM orders", user="bob", password="new") == "north\n"
    other = start_server()
    assert migrate(source.native_port, other, tmp_path, "--no-users", "--state=other").returncode == 0
    assert other.value("SELECT count() FROM system.roles") == "0"


CONFIG = """<yandex>
    <logger><level>error</level><log>{folder}/server.log</log><errorlog>{folder}/error.log</errorlog></logger>
    <http_port>{http}</http_port><tcp_port>{native}</tcp_port><interserver_http_port>{interserver}</interserver_http_port>
    <listen_host>127.0.0.1</listen_host><mark_cache_size>536870912</mark_cache_size>
    <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config>
    <default_profile>default</default_profile><default_database>default</default_database><timezone>UTC</timezone>
</yandex>"""
USERS = """<yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></yandex>"""


@pytest.fixture
def clickhouse(tmp_path):
    """The native port of a ClickHouse 18.16, and squall client on it."""
    if shutil.which("clickhouse-server") is None:
        pytest.skip("NOT TESTED: clickhouse-server is not installed")
    folder = tmp_path / "clickhouse"
    (folder / "tmp").mkdir(parents=True)
    native = free_port()
    (folder / "config.xml").write_text(CONFIG.format(folder=folder, http=free_port(), native=native, interserver=free_port()))
    (folder / "users.xml").write_text(USERS)
    process = subprocess.Popen(
        ["clickhouse-server", f"--config-file={folder}/config.xml"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def client(*args):
        return subprocess.run([BINARY, "client", f"--port={native}", *args], capture_output=True, timeout=60, check=False)

    try:
        wait_until(lambda: client("-q", "SELECT 1").returncode == 0, "ClickHouse answers")
        yield native, client
    finally:
        process.kill()
        process.wait()


def test_from_clickhouse(clickhouse, start_server, tmp_path):
    native, client = clickhouse
    target = start_server()

    def run(query):
        outcome = client("--setting=allow_experimental_low_cardinality_type=1", "-q", query)
        assert outcome.returncode == 0, outcome.stderr
        return outcome.stdout.decode()

    run("CREATE DATABASE shop")
    run(
        "CREATE TABLE shop.orders (d Date, id UInt64, s String, t DateTime DEFAULT now(), n Nullable(Float64),"
        " l LowCardinality(String), e Enum8('a' = 1, 'b' = 2)) ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY id"
    )
    run(
        "INSERT INTO shop.orders SELECT toDate('2024-01-01') + number % 90, number, toString(number),"
        " toDateTime('2024-01-01 00:00:00') + number, if(number % 3 = 0, NULL, number / 7), toString(number % 10),"
        " if(number % 2, 'a', 'b') FROM numbers(100000)"
    )
    # As it was written before there was ORDER BY.
    run("CREATE TABLE shop.old (d Date, x UInt32) ENGINE = MergeTree(d, (x, d), 8192)")
    run("INSERT INTO shop.old SELECT toDate('2024-01-01'), number FROM numbers(1000)")
    run("CREATE TABLE shop.log (x UInt8) ENGINE = Log; INSERT INTO shop.log VALUES (1), (1 + 1)")
    outcome = migrate(native, target, tmp_path)
    said = outcome.stderr.decode()
    assert "shop.orders: 100.00 thousand rows" in said, said
    sums = "SELECT count(), sum(id), sum(toUInt32(t)), sum(toUnixTimestamp(t)), count(n), uniqExact(l, e), min(d), max(s) FROM shop.orders"
    assert target.query(sums) == run(sums)
    assert target.value("SELECT sum(x) FROM shop.old") == "499500"
    # What Squall has no engine for is named, and the exit code tells that something is missing.
    if "Did not come:" in said:
        assert outcome.returncode == 1
        assert "shop.log: " in said
    else:
        assert target.value("SELECT sum(x) FROM shop.log") == "3"
