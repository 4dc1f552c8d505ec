"""The catalog and the parts: what happens where one of them is lost, old, damaged, or of another version; and parts by their names."""

import concurrent.futures
import pathlib
import shutil
import sqlite3
import tarfile
import time

import pytest
from server import ServerError, wait_until

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
QUIET = {"query_log": None}
CONTENT = "SELECT count(), sum(k), sum(cityHash64(k, s)) FROM t"


def fill(server):
    """A table of several parts, one of which a merge made."""
    server.query("CREATE DATABASE d COMMENT 'kept'")
    server.query("CREATE TABLE t (k UInt64, p UInt8, s LowCardinality(String)) ENGINE = MergeTree PARTITION BY p ORDER BY k")
    for number in range(3):
        server.query(f"INSERT INTO t SELECT number * 3 + {number}, number % 2, toString(number) FROM numbers(1000)")
    server.query("OPTIMIZE TABLE t FINAL")
    server.query("INSERT INTO t SELECT number, 7, 'late' FROM numbers(10)")
    server.query("CREATE TABLE d.old (x UInt32, y String DEFAULT concat('#', toString(x))) ENGINE = MergeTree ORDER BY x SETTINGS index_granularity = 64")
    server.query("INSERT INTO d.old (x) SELECT number FROM numbers(500)")
    server.query("RENAME TABLE d.old TO d.renamed")
    server.query("INSERT INTO d.renamed (x) VALUES (1000)")


def refuses_to_start(server, *words):
    server.spawn()
    assert server.process.wait(30) != 0
    for word in words:
        assert word in server.log, server.log_tail()


def lose_catalog(server):
    for name in ("catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"):
        (server.data / name).unlink(missing_ok=True)


def test_data_of_version_1_are_read(start_server):
    """Written on 2026-11-22 by the release binary of commit 42d808b."""
    server = start_server(wait=False, settings=QUIET)
    server.data.mkdir(parents=True)
    with tarfile.open(FIXTURES / "data_version_1.tar.gz") as archive:
        archive.extractall(server.data, filter="data")
    server.start()
    sums = (
        "SELECT count(), sum(id), sum(i64), sum(u64), sum(f), sum(length(s)), uniqExact(lc), count(n), sum(b), min(dt), max(d64), "
        "max(day), countIf(e = 'y'), any(u), any(ip), any(ip6), sum(length(a)), sum(m['k']), sum(t.k), sum(doubled), max(shown), "
        "uniqExact(fs), sum(i8) FROM shop.types"
    )
    expected = (
        "60\t1770\t-1770000012390\t1770000012390\t221.25\t410\t3\t30\t30\t2023-11-15 07:13:20\t2023-11-14 22:14:19.000\t"
        "2023-12-30\t30\t61f0c404-5cb3-11e7-907b-a6006ad3dba0\t10.0.0.1\t::1\t120\t1770\t1770\t3540\t#9\t1\t-1770"
    )
    assert server.value(sums) == expected
    assert server.value("SELECT e, s FROM shop.types WHERE id = 59") == "y\ttext 59"
    assert server.query("SELECT k, v FROM shop.merged ORDER BY k") == "1\tv1\n2\tv2\n3\tv3\n4\tv4\n"
    assert server.value("SELECT joinGet(shop.lookup, 'v', toUInt32(1))") == "one"
    assert server.value("SELECT k FROM shop.renamed") == "7"
    assert server.value("SELECT dictGet('shop.dict', 'v', toUInt64(2))") == "v2"
    assert server.query("SHOW TABLES FROM shop") == "dict\nlookup\nmemory\nmerged\nrenamed\ntypes\n"
    assert server.value("SELECT comment FROM system.databases WHERE name = 'shop'") == "of version 1"
    # It goes on: old and new parts together, parts of version 1 that leave and come back, and another start.
    server.query("INSERT INTO shop.merged VALUES (5, 'v5')")
    server.query("ALTER TABLE shop.types DETACH PARTITION 202311")
    assert server.value("SELECT count() FROM shop.types") == "30"
    server.query("ALTER TABLE shop.types ATTACH PARTITION 202311")
    assert server.value(sums) == expected
    assert {row[1] for row in server.rows("CHECK TABLE shop.types")} == {"1"}
    server.query("OPTIMIZE TABLE shop.merged FINAL")
    server.restart()
    assert server.value("SELECT sum(k) FROM shop.merged") == "15"
    assert server.value(sums) == expected
    assert server.rows("SELECT * FROM system.detached_parts") == []


def test_data_of_version_2_are_read(start_server):
    """Written on 2026-11-22 by the release binary of commit 825b5ad, which took no notice of codecs."""
    server = start_server(wait=False, settings=QUIET)
    server.data.mkdir(parents=True)
    with tarfile.open(FIXTURES / "data_version_2.tar.gz") as archive:
        archive.extractall(server.data, filter="data")
    server.start()
    assert server.value("SELECT count(), sum(k), max(s) FROM shop.t") == "60\t2670\t9"
    assert "CODEC" not in server.query("SHOW CREATE TABLE shop.t")
    assert server.value("SELECT sum(number) FROM shop.five") == "10"
    server.query("ALTER TABLE shop.t MODIFY COLUMN k CODEC(Delta, ZSTD(3))")
    server.query("ALTER TABLE shop.t ATTACH PARTITION 202612")
    server.query("ATTACH TABLE shop.gone")
    server.restart()
    assert server.value("SELECT count(), sum(k) FROM shop.t") == "100\t4950"
    assert server.value("SELECT sum(k) FROM shop.gone") == "45"
    assert "`k` UInt64 CODEC(Delta(8), ZSTD(3))" in server.query("SHOW CREATE TABLE shop.t")


def test_data_of_version_5_are_read(start_server):
    """Written on 2026-11-25 by the binary of commit 143520b, which took no TTL."""
    server = start_server(wait=False, settings=QUIET)
    server.data.mkdir(parents=True)
    with tarfile.open(FIXTURES / "data_version_5.tar.gz") as archive:
        archive.extractall(server.data, filter="data")
    server.start()
    assert server.value("SELECT count(), sum(k), sum(more = k % 7), max(s) FROM shop.t") == "60\t1770\t60\t9"
    server.query("ALTER TABLE shop.t ATTACH PARTITION 210002")
    assert server.value("SELECT count(), sum(more) FROM shop.t WHERE k >= 60") == "40\t360"
    # Old parts know nothing of a TTL: they learn of it.
    server.query("ALTER TABLE shop.t MODIFY TTL at + INTERVAL 1 DAY")
    server.query("ALTER TABLE shop.t MODIFY COLUMN s TTL at")
    server.restart()
    assert server.value("SELECT count(), min(k) FROM shop.t") == "40\t60"
    assert "TTL at + toIntervalDay(1)" in server.query("SHOW CREATE TABLE shop.t")


def test_data_of_version_9_are_read(start_server):
    """Written on 2026-11-28 by the binary of commit 483bfaf, whose parts had no statistics of columns."""
    server = start_server(wait=False, settings=QUIET)
    server.data.mkdir(parents=True)
    with tarfile.open(FIXTURES / "data_version_9.tar.gz") as archive:
        archive.extractall(server.data, filter="data")
    server.start()
    assert server.value("SELECT count(), sum(k), countIf(n IS NULL) FROM shop.t") == "2000\t1999000\t1200"
    assert server.value("SELECT groupArray((s, c)) FROM (SELECT s, sum(k) AS c FROM shop.t GROUP BY s ORDER BY s)") == "[('0',166833),('1',166167),('2',166500),('x',1499500)]"
    of_table = "FROM system.columns_statistics WHERE database = 'shop'"
    assert server.value(f"SELECT count() {of_table}") == "0"
    # Merges make them, and another start finds them.
    server.query("OPTIMIZE TABLE shop.t FINAL")
    for _ in range(2):
        rows = server.rows(f"SELECT column, rows, null_share, arraySort(common_values.1) {of_table} AND column IN ('at', 's') ORDER BY column")
        assert rows == [["at", "2000", "0", "['2026-11-28 00:00:00']"], ["s", "2000", "0", "['0','1','2','x']"]], rows
        assert server.value(f"SELECT distinct_values BETWEEN 7 AND 9, null_share {of_table} AND column = 'n'") == "1\t0.6"
        assert server.value(f"SELECT distinct_values BETWEEN 1700 AND 2300, common_values {of_table} AND column = 'k'") == "1\t[]"
        server.restart()


def test_data_of_version_10_are_read(start_server):
    """Written on 2026-11-29 by the binary of commit e898de6, whose parts did not know how many bytes their values are."""
    server = start_server(wait=False, settings={**QUIET, "part_log": ""})
    server.data.mkdir(parents=True)
    with tarfile.open(FIXTURES / "data_version_10.tar.gz") as archive:
        archive.extractall(server.data, filter="data")
    server.start()
    assert server.value("SELECT count(), sum(k), sum(length(s)), countIf(n IS NULL) FROM shop.t") == "1000\t499500\t2890\t334"
    columns = "SELECT name, data_uncompressed_bytes, data_compressed_bytes > 0 FROM system.columns WHERE database = 'shop' ORDER BY name"
    assert server.rows(columns) == [[name, "0", "1"] for name in "aklnst"]
    # Merges make them, and another start finds them. Bytes are as ClickHouse 26.9 counts them.
    server.query("OPTIMIZE TABLE shop.t FINAL")
    server.query("SYSTEM FLUSH LOGS")
    merged = server.value("SELECT sum(bytes_uncompressed) FROM system.part_log WHERE database = 'shop' AND event_type = 'MergeParts'")
    counted = {"a": 9998, "k": 8000, "l": 1000, "n": 5000, "s": 10890, "t": 12000}
    for _ in range(2):
        assert server.rows(columns) == [[name, str(size), "1"] for name, size in counted.items()]
        whole = str(sum(counted.values()))
        assert merged == whole
        assert server.value("SELECT total_bytes_uncompressed FROM system.tables WHERE database = 'shop'") == whole
        of_parts = "FROM system.parts WHERE database = 'shop'"
        assert server.value(f"SELECT sum(data_uncompressed_bytes), sum(data_compressed_bytes) < {whole} {of_parts}") == f"{whole}\t1"
        of_columns = "FROM system.parts_columns WHERE database = 'shop'"
        assert server.value(f"SELECT sum(column_data_uncompressed_bytes) {of_columns}") == whole
        projections = "FROM system.projection_parts WHERE database = 'shop'"
        assert server.value(f"SELECT sum(data_uncompressed_bytes) > 0, sum(parent_data_uncompressed_bytes) {projections}") == f"1\t{whole}"
        server.restart()


def test_a_later_version_is_refused(start_server):
    server = start_server(settings=QUIET)
    fill(server)
    server.stop()
    with sqlite3.connect(server.data / "catalog.sqlite") as catalog:
        own = catalog.execute("SELECT value FROM ducklake_metadata WHERE key = 'squall_version'").fetchone()
        catalog.execute("UPDATE ducklake_metadata SET value = '999' WHERE key = 'squall_version'")
    catalog.close()
    refuses_to_start(server, "version 999", "UNKNOWN_FORMAT_VERSION")
    with sqlite3.connect(server.data / "catalog.sqlite") as catalog:
        catalog.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'squall_version'", own)
    catalog.close()
    server.start()
    assert server.value("SELECT count() FROM t") == "3010"


def test_a_lost_catalog_is_made_again_of_the_parts(start_server):
    server = start_server(settings=QUIET)
    fill(server)
    before = server.query(CONTENT)
    server.stop()
    files = sorted(path for path in server.data.rglob("*.parquet"))
    lose_catalog(server)
    refuses_to_start(server, "--restore-catalog", "is not made beside them")
    assert sorted(path for path in server.data.rglob("*.parquet")) == files, "nothing was touched"
    server.arguments.append("--restore-catalog")
    server.start()
    server.arguments.clear()
    assert server.query(CONTENT) == before
    assert server.value("SELECT count(), sum(x), argMin(y, x) FROM d.renamed") == "501\t125750\t#0"
    assert "DEFAULT concat(\\'#\\', toString(x))" in server.query("SHOW CREATE TABLE d.renamed")
    server.query("INSERT INTO t VALUES (1, 1, 'new')")
    server.restart()
    assert server.value("SELECT count() FROM t") == "3011"
    assert server.rows("SELECT * FROM system.detached_parts") == []


def test_a_damaged_catalog_is_set_aside(start_server):
    server = start_server(settings=QUIET)
    fill(server)
    before = server.query(CONTENT)
    server.stop()
    (server.data / "catalog.sqlite").write_bytes(b"garbage" * 1000)
    refuses_to_start(server, "CORRUPTED_DATA", "--restore-catalog")
    server.arguments.append("--restore-catalog")
    server.start()
    assert server.query(CONTENT) == before
    assert list(server.data.glob("catalog.sqlite.damaged-*"))


def test_parts_that_an_older_catalog_does_not_list(start_server):
    """Nothing is deleted: they are set aside, can be attached by name, and are restored with their catalog."""
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    server.query("INSERT INTO t VALUES (1, 'a')")
    server.stop()
    older = (server.data / "catalog.sqlite").read_bytes()
    server.start()
    server.query("INSERT INTO t VALUES (2, 'b')")
    server.query("INSERT INTO t VALUES (3, 'c')")
    server.query("CREATE TABLE u (x UInt8) ENGINE = MergeTree ORDER BY x")
    server.query("INSERT INTO u VALUES (9)")
    server.stop()
    lose_catalog(server)
    (server.data / "catalog.sqlite").write_bytes(older)
    server.start()
    assert server.query("SELECT k FROM t") == "1\n"
    deadline = time.monotonic() + 10
    while "ATTACH PART 'unexpected_all_2_2_0'" not in server.log:
        assert time.monotonic() < deadline, server.log_tail()
        time.sleep(0.02)
    found = server.rows("SELECT name, reason, partition_id, min_block_number FROM system.detached_parts ORDER BY name")
    assert found == [["unexpected_all_2_2_0", "unexpected", "all", "2"], ["unexpected_all_3_3_0", "unexpected", "all", "3"]]
    server.query("ALTER TABLE t ATTACH PART 'unexpected_all_2_2_0'")
    assert server.query("SELECT k FROM t ORDER BY k") == "1\n2\n"
    server.stop()
    server.arguments.append("--restore-catalog")
    server.start()
    assert server.query("SELECT k FROM t ORDER BY k") == "1\n2\n3\n"
    assert server.query("SELECT x FROM u") == "9\n"
    assert server.rows("SELECT name FROM system.detached_parts") == []


def test_a_lost_log_of_the_catalog(start_server):
    """`catalog.sqlite-wal` is lost: what was not in the file itself is set aside or refused, and restored."""
    server = start_server(settings=QUIET)
    fill(server)
    before = server.query(CONTENT)
    server.kill()
    (server.data / "catalog.sqlite-wal").unlink()
    (server.data / "catalog.sqlite-shm").unlink(missing_ok=True)
    parts = {path.name for path in server.data.rglob("*.parquet")}
    ready = "is ready for connections"
    starts = server.log.count(ready)
    server.spawn()
    # It refuses, or serves what the older catalog lists.
    wait_until(lambda: server.process.poll() is not None or server.log.count(ready) > starts, "it has refused or serves")
    server.kill()
    set_aside = {path.name.removeprefix("unexpected_").removeprefix("ignored_") for path in server.data.rglob("*.parquet")}
    assert set_aside == parts
    server.arguments.append("--restore-catalog")
    server.start()
    assert server.query(CONTENT) == before


def test_two_servers_without_a_lock_file(start_server):
    first = start_server(settings=QUIET)
    fill(first)
    (first.data / "squall.lock").unlink()
    second = start_server(folder=first.folder.parent / "second", settings={**QUIET, "path": f"{first.data}/"}, wait=False)
    refuses_to_start(second, "another server uses this folder")
    assert first.value("SELECT count() FROM t") == "3010"


def test_an_unreadable_type_stops_its_table_alone(start_server):
    server = start_server(settings=QUIET)
    fill(server)
    server.stop()
    catalog = sqlite3.connect(server.data / "catalog.sqlite")
    catalog.execute("UPDATE squall_column SET data_type = 'Unheard(Of)' WHERE column_name = 'y'")
    catalog.commit()
    catalog.close()
    server.start()
    assert server.value("SELECT count() FROM t") == "3010"
    with pytest.raises(ServerError, match="d.renamed cannot be opened.*Unheard"):
        server.query("SELECT count() FROM d.renamed")
    with pytest.raises(ServerError, match="cannot be opened"):
        server.query("INSERT INTO d.renamed VALUES (1)")
    with pytest.raises(ServerError, match="already exists"):
        server.query("CREATE TABLE d.renamed (x UInt8) ENGINE = Memory")
    assert server.query("SHOW TABLES FROM d") == "renamed\n"
    server.query("DROP TABLE d.renamed")
    server.query("CREATE TABLE d.renamed (x UInt8) ENGINE = Memory")
    server.restart()
    assert server.value("SELECT count() FROM d.renamed") == "0"


def test_detached_tables(start_server):
    server = start_server(settings=QUIET)
    fill(server)
    before = server.query(CONTENT)
    uuid = server.value("SELECT uuid FROM system.tables WHERE name = 't'")
    server.query("DETACH TABLE t")
    assert server.error_code("SELECT 1 FROM t") == 60
    with pytest.raises(ServerError, match=r"`default`.`t` already exists \(detached\)") as exists:
        server.query("CREATE TABLE t (a UInt8) ENGINE = Memory")
    assert exists.value.code == 57
    with pytest.raises(ServerError, match=r"already exists \(detached\)"):
        server.query("RENAME TABLE d.renamed TO default.t")
    assert server.rows("SELECT database, table, uuid, is_permanently FROM system.detached_tables") == [["default", "t", uuid, "0"]]
    server.query("ATTACH TABLE t")
    assert server.query(CONTENT) == before
    assert server.error_code("ATTACH TABLE t") == 57
    server.query("ATTACH TABLE IF NOT EXISTS t")
    assert server.error_code("ATTACH TABLE nothing") == 390
    # Until the next start, and permanently.
    server.query("DETACH TABLE t")
    server.query("DETACH TABLE d.renamed PERMANENTLY")
    server.restart()
    assert server.query(CONTENT) == before
    assert server.query("SELECT table, is_permanently FROM system.detached_tables") == "renamed\t1\n"
    server.kill()
    server.start()
    server.query("ATTACH TABLE d.renamed")
    assert server.value("SELECT count() FROM d.renamed") == "501"
    server.query("DETACH TABLE d.renamed PERMANENTLY")
    server.query("DROP DATABASE d")
    server.restart()
    assert server.query(CONTENT) == before
    assert server.rows("SELECT * FROM system.detached_tables") == []


def test_parts_by_their_names(start_server):
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (a UInt8, b String) ENGINE = MergeTree PARTITION BY a ORDER BY b")
    server.query("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    server.query("ALTER TABLE t DETACH PARTITION 1")
    assert server.query("SELECT b FROM t") == "y\n"
    found = "SELECT database, table, partition_id, name, disk, reason, min_block_number, max_block_number, level FROM system.detached_parts"
    assert server.query(found) == "default\tt\t1\t1_1_1_0\tdefault\t\t1\t1\t0\n"
    server.query("ALTER TABLE t ATTACH PART '1_1_1_0'")
    assert server.query("SELECT name, rows FROM system.parts WHERE table = 't' ORDER BY name") == "1_3_3_0\t1\n2_2_2_0\t1\n"
    assert server.rows("SELECT * FROM system.detached_parts") == []
    for sql, code in [
        ("ALTER TABLE t DETACH PART 'zzz'", 233),
        ("ALTER TABLE t ATTACH PART '1_1_1_0'", 233),
        ("ALTER TABLE t ATTACH PART 'bad'", 233),
        ("ALTER TABLE t DROP PART '9_1_1_0'", 232),
        ("ALTER TABLE t DROP DETACHED PART '1_7_7_0'", 344),
        ("ALTER TABLE t DROP PARTITION (1, 2)", 248),
        ("CHECK TABLE t PART 'xx'", 233),
    ]:
        with pytest.raises(ServerError) as refused:
            server.query(sql)
        assert refused.value.code == code, sql
    server.query("ALTER TABLE t ATTACH PARTITION 7")
    server.query("ALTER TABLE t DROP PARTITION 9")
    server.query("ALTER TABLE t DETACH PARTITION ID '2', DROP PART '1_3_3_0'")
    assert server.value("SELECT count() FROM t") == "0"
    assert server.error_code("ALTER TABLE t DROP DETACHED PART '1_7_7_0'", allow_drop_detached=1) == 233
    server.query("ALTER TABLE t DROP DETACHED PARTITION ALL", allow_drop_detached=1)
    assert server.rows("SELECT * FROM system.detached_parts") == []
    server.query("INSERT INTO t VALUES (3, 'z')")
    server.query("ALTER TABLE t DETACH PARTITION ALL")
    server.restart()
    server.query("ALTER TABLE t ATTACH PARTITION ALL")
    assert server.query("SELECT b FROM t") == "z\n"
    # A part of another table fits only where columns and keys are the same.
    server.query("CREATE TABLE other (a UInt8, c String) ENGINE = MergeTree PARTITION BY a ORDER BY c")
    server.query("ALTER TABLE t DETACH PARTITION 3")
    part = next(server.data.rglob("detached/*.parquet"))
    uuid = server.value("SELECT uuid FROM system.tables WHERE name = 'other'")
    (server.data / "data" / uuid / "detached").mkdir()
    shutil.copy(part, server.data / "data" / uuid / "detached" / part.name)
    assert server.error_code(f"ALTER TABLE other ATTACH PART '{part.stem}'") == 122


def test_dates_and_tuples_name_partitions(start_server):
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (d Date, k UInt8) ENGINE = MergeTree PARTITION BY (toYYYYMM(d), k) ORDER BY k")
    server.query("INSERT INTO t VALUES ('2026-11-22', 1), ('2026-12-01', 2)")
    server.query("ALTER TABLE t DROP PARTITION (202611, 1)")
    assert server.query("SELECT d FROM t") == "2026-12-01\n"
    server.query("CREATE TABLE days (d Date) ENGINE = MergeTree PARTITION BY d ORDER BY d")
    server.query("INSERT INTO days VALUES ('2026-11-22'), ('2026-12-01')")
    server.query("ALTER TABLE days DROP PARTITION '2026-11-22'")
    assert server.query("SELECT d FROM days") == "2026-12-01\n"


@pytest.mark.parametrize("damage", ["bytes", "missing"])
def test_check_finds_damage(start_server, damage):
    server = start_server(settings=QUIET)
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    for first in (0, 1000):
        server.query(f"INSERT INTO t SELECT number + {first}, toString(cityHash64(number)) FROM numbers(1000)")
    assert server.query("CHECK TABLE t") == "all_1_1_0\t1\t\nall_2_2_0\t1\t\n"
    assert server.query("CHECK TABLE t SETTINGS check_query_single_value_result = 1") == "1\n"
    server.stop()
    part = next(path for path in server.data.rglob("all_2_2_0.parquet"))
    content = bytearray(part.read_bytes())
    if damage == "bytes":
        content[len(content) // 3] ^= 1
        part.write_bytes(content)
    else:
        part.unlink()
    server.start()
    rows = server.rows("CHECK TABLE t")
    assert [row[:2] for row in rows] == [["all_1_1_0", "1"], ["all_2_2_0", "0"]]
    assert ("Checksum doesn" if damage == "bytes" else "Cannot read part file") in rows[1][2]
    assert server.query("CHECK TABLE t SETTINGS check_query_single_value_result = 1") == "0\n"
    assert server.query("CHECK TABLE t PART 'all_1_1_0'") == "all_1_1_0\t1\t\n"
    with pytest.raises(ServerError):
        server.query("SELECT sum(cityHash64(s)) FROM t")
    # Set aside, it is out of the way, and an attempt to bring it back is refused.
    server.query("ALTER TABLE t DETACH PART 'all_2_2_0'")
    assert server.value("SELECT count(), max(k) FROM t") == "1000\t999"
    detached = server.rows("SELECT name FROM system.detached_parts")
    if damage == "missing":
        assert detached == []
    else:
        name = detached[0][0]
        with pytest.raises(ServerError) as refused:
            server.query(f"ALTER TABLE t ATTACH PART '{name}'")
        assert refused.value.code in (40, 246)
        assert server.rows("SELECT name FROM system.detached_parts") == [[name]]


def test_what_is_not_attached(start_server):
    server = start_server()
    server.query("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
    definition = "(a UInt8) ENGINE = MergeTree ORDER BY a"
    for sql, code, named in [
        (f"ATTACH TABLE new {definition}", 80, "ATTACH TABLE new"),
        (f"ATTACH TABLE new UUID '00000000-0000-0000-0000-000000000001' {definition}", 48, "UUID"),
        (f"ATTACH TABLE new FROM '/somewhere' {definition}", 48, "FROM 'path'"),
        ("ATTACH TABLE new FROM '/somewhere'", 48, "FROM 'path'"),
        ("ATTACH TABLE t AS REPLICATED", 48, "REPLICATED"),
    ]:
        with pytest.raises(ServerError) as refused:
            server.query(sql)
        assert refused.value.code == code and named in str(refused.value), sql
    assert server.query("SHOW TABLES") == "t\n"


def test_a_merge_is_killed(start_server):
    """KILL QUERY ends a merge; the parts are those of before, and the next merge does what this one did not."""
    server = start_server(settings={"query_log": None})
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    content = "SELECT count(), sum(k), sum(cityHash64(s)) FROM t"
    parts = "SELECT groupArray(name) FROM (SELECT name FROM system.parts WHERE table = 't' AND active ORDER BY name)"
    killed = False
    with concurrent.futures.ThreadPoolExecutor() as pool:
        # A merge that was done before somebody asked for its end is followed by a longer one.
        for attempt in range(10):
            for part in range(2):
                server.query(f"INSERT INTO t SELECT cityHash64(number, {part}), repeat(toString(number), 5) FROM numbers({200000 << attempt})")
            before, names = server.query(content), server.query(parts)
            merge = pool.submit(server.http, "OPTIMIZE TABLE t FINAL", query_id="merge")
            wait_until(lambda: server.running("merge") or merge.done(), "the merge has begun")
            server.query("KILL QUERY WHERE query_id = 'merge' SYNC")
            killed = merge.result().status != 200
            assert not server.running("merge")
            assert server.query(content) == before
            if killed:
                break
    assert killed and server.query(parts) == names
    assert server.files_named("tmp_*") == []
    # The parts may be held for a moment still by what was killed: then there is nothing to merge.
    wait_until(lambda: not server.query("OPTIMIZE TABLE t FINAL") and server.query(parts) != names, "parts are merged")
    assert server.query(content) == before
