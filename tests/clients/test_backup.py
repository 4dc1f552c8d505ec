"""BACKUP and RESTORE: whole, in part, incremental, packed, while others write, and where something is wrong."""

import threading

import pytest
from server import wait_until

CONTENT = "SELECT count(), sum(k), sum(cityHash64(k, s)) FROM {}"


@pytest.fixture
def backed(start_server, tmp_path):
    (tmp_path / "backups").mkdir()
    (tmp_path / "disk").mkdir()
    return start_server(
        settings={
            "query_log": None,
            "backups": f"<allowed_path>{tmp_path}/backups/</allowed_path><allowed_disk>backups</allowed_disk>",
            "storage_configuration": f"<disks><backups><type>local</type><path>{tmp_path}/disk/</path></backups></disks>",
        }
    )


def fill(server):
    server.query("CREATE DATABASE d COMMENT 'why'")
    server.query("CREATE TABLE d.t (k UInt64, p UInt8, s LowCardinality(String)) ENGINE = MergeTree PARTITION BY p ORDER BY k")
    server.query("INSERT INTO d.t SELECT number, number % 3, toString(number % 10) FROM numbers(10000)")
    server.query("INSERT INTO d.t SELECT number + 20000, 1, 'late' FROM numbers(100)")
    server.query("CREATE TABLE d.memory (k UInt64, s String) ENGINE = Memory")
    server.query("INSERT INTO d.memory SELECT number, toString(number) FROM numbers(100)")
    server.query("CREATE TABLE d.lookup (k UInt64, s String) ENGINE = Join(ANY, LEFT, k)")
    server.query("INSERT INTO d.lookup VALUES (1, 'one'), (2, 'two')")
    server.query("CREATE TABLE d.empty (x Array(Tuple(a UInt8, b String))) ENGINE = MergeTree ORDER BY tuple()")


def contents(server, database="d"):
    return [server.query(CONTENT.format(f"{database}.{table}")) for table in ("t", "memory", "lookup")]


@pytest.mark.parametrize("place", ["File('b')", "File('b.tar')", "File('b.tar.gz')", "File('b.tar.zst')", "File('b.zip')", "Disk('backups', 'x/b')", "Disk('backups', 'x/b.zip')"])
def test_a_database_comes_back(backed, tmp_path, place):
    fill(backed)
    (tmp_path / "disk" / "x").mkdir()
    before = contents(backed)
    # Rows in memory are one file a table.
    files = int(backed.value("SELECT count() FROM system.parts WHERE table = 't' AND active")) + 2
    (answer,) = backed.rows(f"BACKUP DATABASE d TO {place}")
    assert answer[1] == "BACKUP_CREATED" and len(answer[0]) == 36
    row = backed.rows("SELECT id, status, error, num_files, total_size > 0, end_time >= start_time FROM system.backups")
    assert row == [[answer[0], "BACKUP_CREATED", "", str(files), "1", "1"]]
    assert backed.error_code(f"BACKUP DATABASE d TO {place}") == 598
    backed.query("DROP DATABASE d")
    backed.restart()
    assert backed.rows(f"RESTORE DATABASE d FROM {place}")[0][1] == "RESTORED"
    assert contents(backed) == before
    assert backed.value("SELECT joinGet(d.lookup, 's', toUInt64(2))") == "two"
    assert backed.value("SELECT comment FROM system.databases WHERE name = 'd'") == "why"
    assert "Array(Tuple(" in backed.query("SHOW CREATE TABLE d.empty")
    backed.kill()
    backed.start()
    assert backed.query(CONTENT.format("d.t")) == before[0]
    assert not list((tmp_path / "backups").glob(".*")), "nothing is left beside the backup"
    assert not any((backed.folder / "tmp").iterdir())
    assert backed.files_named("tmp_*") == []


def test_names_and_choices(backed):
    fill(backed)
    backed.query("CREATE TABLE alone (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    backed.query("INSERT INTO alone VALUES (1, 'a')")
    backed.query("BACKUP TABLE alone, DATABASE d EXCEPT TABLES memory TO File('some')")
    backed.query("RESTORE TABLE alone AS d.other, DATABASE d AS e FROM File('some')")
    assert backed.query("SELECT * FROM d.other") == "1\ta\n"
    assert backed.query("SHOW TABLES FROM e") == "empty\nlookup\nt\n"
    assert backed.query(CONTENT.format("e.t")) == backed.query(CONTENT.format("d.t"))
    assert backed.error_code("RESTORE TABLE nothing FROM File('some')") == 605
    assert backed.error_code("RESTORE DATABASE nothing FROM File('some')") == 605
    assert backed.error_code("RESTORE ALL FROM File('none')") == 599
    assert backed.error_code("BACKUP TABLE nothing TO File('x')") == 60
    assert backed.error_code("BACKUP DATABASE nothing TO File('x')") == 81
    assert backed.error_code("BACKUP TABLE system.one TO File('x')") == 647
    # A table with rows, one with another definition, and what overcomes the first.
    assert backed.error_code("RESTORE TABLE alone FROM File('some')") == 608
    backed.query("RESTORE TABLE alone FROM File('some') SETTINGS structure_only = 1")
    assert backed.value("SELECT count() FROM alone") == "1"
    backed.query("RESTORE TABLE alone FROM File('some') SETTINGS allow_non_empty_tables = true")
    assert backed.value("SELECT count() FROM alone") == "2"
    backed.query("DROP TABLE alone")
    backed.query("CREATE TABLE alone (k UInt32, s String) ENGINE = MergeTree ORDER BY k")
    assert backed.error_code("RESTORE TABLE alone FROM File('some')") == 608
    # Everything, but for something; only the structure; only some partitions.
    backed.query("BACKUP ALL EXCEPT DATABASES e TO File('all')")
    backed.query("DROP DATABASE d")
    backed.query("RESTORE ALL EXCEPT TABLES default.alone, d.memory FROM File('all')")
    assert backed.query("SHOW TABLES FROM d") == "empty\nlookup\nother\nt\n"
    backed.query("RESTORE TABLE d.t AS d.one PARTITIONS '1' FROM File('all')")
    assert backed.query("SELECT DISTINCT p FROM d.one") == "1\n"
    backed.query("BACKUP TABLE d.t TO File('structure') SETTINGS structure_only = true")
    backed.query("RESTORE TABLE d.t AS d.bare FROM File('structure')")
    assert backed.value("SELECT count() FROM d.bare") == "0"
    failed = backed.rows("SELECT status, count() FROM system.backups GROUP BY status ORDER BY status")
    assert dict(failed)["BACKUP_FAILED"] == "3" and dict(failed)["RESTORE_FAILED"] == "5"


def test_places_that_are_not_allowed(backed, start_server):
    backed.query("CREATE TABLE t (x UInt8) ENGINE = MergeTree ORDER BY x")
    assert backed.error_code("BACKUP TABLE t TO File('/etc/b')") == 36
    assert backed.error_code("BACKUP TABLE t TO File('../b')") == 36
    assert backed.error_code("BACKUP TABLE t TO Disk('default', 'b')") == 36
    assert backed.error_code("BACKUP TABLE t TO File('b.tar.xz')") == 48
    assert backed.error_code("BACKUP TABLE t TO File('b') SETTINGS nonsense = 1") == 115
    plain = start_server(settings={"query_log": None})
    plain.query("CREATE TABLE t (x UInt8) ENGINE = MergeTree ORDER BY x")
    assert plain.error_code("BACKUP TABLE t TO File('b')") == 318
    assert plain.error_code("BACKUP TABLE t TO Disk('backups', 'b')") == 318


def test_incremental(backed, tmp_path):
    backed.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    backed.query("INSERT INTO t SELECT number, toString(number) FROM numbers(100000)")
    backed.query("OPTIMIZE TABLE t FINAL")
    backed.query("BACKUP TABLE t TO File('full')")
    backed.query("INSERT INTO t VALUES (200000, 'second')")
    backed.query("BACKUP TABLE t TO File('second') SETTINGS base_backup = File('full')")
    backed.query("INSERT INTO t VALUES (300000, 'third')")
    backed.query("BACKUP TABLE t TO File('third.tar.gz') SETTINGS base_backup = File('second')")
    rows = backed.rows("SELECT base_backup_name, num_files, num_entries FROM system.backups ORDER BY start_time")
    assert rows == [["", "1", "1"], ["File(\\'full\\')", "2", "1"], ["File(\\'second\\')", "3", "1"]]
    assert len(list((tmp_path / "backups" / "second").rglob("*.parquet"))) == 1
    before = backed.query(CONTENT.format("t"))
    backed.query("DROP TABLE t")
    backed.query("RESTORE TABLE t FROM File('third.tar.gz')")
    assert backed.query(CONTENT.format("t")) == before
    # A base that is gone, and another one in its place.
    (tmp_path / "backups" / "full").rename(tmp_path / "backups" / "moved")
    assert backed.error_code("RESTORE TABLE t AS u FROM File('second')") == 599
    backed.query("BACKUP TABLE t TO File('full')")
    assert backed.error_code("RESTORE TABLE t AS u FROM File('second')") == 603
    assert backed.value("EXISTS TABLE u") == "0"


def test_damage_is_found(backed, tmp_path):
    backed.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    backed.query("INSERT INTO t SELECT number, toString(number) FROM numbers(1000)")
    backed.query("BACKUP TABLE t TO File('b')")
    part = next((tmp_path / "backups" / "b").rglob("*.parquet"))
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    assert backed.error_code("RESTORE TABLE t AS u FROM File('b')") == 601
    part.unlink()
    assert backed.error_code("RESTORE TABLE t AS u FROM File('b')") == 601
    (tmp_path / "backups" / "b" / ".backup").write_text("{}")
    assert backed.error_code("RESTORE TABLE t AS u FROM File('b')") == 601
    (tmp_path / "backups" / "c.tar.gz").write_bytes(b"no archive")
    assert backed.error_code("RESTORE TABLE t AS u FROM File('c.tar.gz')") == 601


def test_asynchronously(backed):
    fill(backed)
    (answer,) = backed.rows("BACKUP DATABASE d TO File('b') SETTINGS id = 'mine' ASYNC")
    assert answer == ["mine", "CREATING_BACKUP"]
    status = "SELECT status FROM system.backups WHERE id = '{}'"
    wait_until(lambda: backed.value(status.format("mine")) == "BACKUP_CREATED", "the backup is made")
    (answer,) = backed.rows("RESTORE DATABASE d AS e FROM File('b') ASYNC")
    assert answer[1] == "RESTORING"
    wait_until(lambda: backed.value(status.format(answer[0])) == "RESTORED", "it is restored")
    assert contents(backed, "e") == contents(backed)


def test_a_backup_is_of_one_moment(backed):
    """While clients write into two tables by turns, a backup has of the second at most what it has of the first."""
    for table in ("first", "second"):
        backed.query(f"CREATE TABLE {table} (n UInt64) ENGINE = MergeTree ORDER BY n")
    stop = threading.Event()
    written = []

    def work():
        while not stop.is_set() and len(written) < 1000:
            number = len(written)
            for table in ("first", "second"):
                backed.query(f"INSERT INTO {table} VALUES ({number})")
            written.append(number)

    writer = threading.Thread(target=work)
    writer.start()
    counts = []
    for number in range(5):
        wait_until(lambda: len(written) > number * 5 or not writer.is_alive(), "something is written")
        backed.query(f"BACKUP TABLE first, TABLE second TO File('b{number}')")
    stop.set()
    writer.join()
    for number in range(5):
        backed.query(f"RESTORE TABLE first AS f{number}, TABLE second AS s{number} FROM File('b{number}')")
        first, second = (int(backed.value(f"SELECT count() FROM {table}{number}")) for table in "fs")
        assert second <= first <= second + 1
        counts.append(first)
    assert counts == sorted(counts) and counts[-1] > counts[0]


def test_archives_with_passwords(backed, tmp_path):
    fill(backed)
    before = contents(backed)
    backed.query("BACKUP DATABASE d TO File('b.zip') SETTINGS password = 'Geheimnis'")
    backed.query("INSERT INTO d.t VALUES (1000000, 7, 'more')")
    backed.query("BACKUP DATABASE d TO File('c.zip') SETTINGS password = 'Geheimnis', base_backup = File('b.zip'), use_same_password_for_base_backup = 1")
    packed = (tmp_path / "backups" / "b.zip").read_bytes()
    assert b"CREATE TABLE" not in packed and b"PAR1" not in packed and b"Geheimnis" not in packed
    for wrong in ("", " SETTINGS password = 'wrong'"):
        assert backed.error_code(f"RESTORE DATABASE d AS e FROM File('b.zip'){wrong}") == 601
    assert backed.error_code("RESTORE DATABASE d AS e FROM File('c.zip') SETTINGS password = 'Geheimnis'") == 601
    assert backed.value("SELECT count() FROM system.databases WHERE name = 'e'") == "0"
    backed.query("RESTORE DATABASE d AS e FROM File('b.zip') SETTINGS password = 'Geheimnis'")
    assert contents(backed, "e") == before
    backed.query("RESTORE DATABASE d AS f FROM File('c.zip') SETTINGS password = 'Geheimnis', use_same_password_for_base_backup = 1")
    assert contents(backed, "f") == contents(backed)
    for place in ("File('d')", "File('d.tar')"):
        assert backed.error_code(f"BACKUP DATABASE d TO {place} SETTINGS password = 'x'") == 36
    assert "Geheimnis" not in backed.log


def tables_of(server, database):
    return server.query(f"SELECT name FROM system.tables WHERE database = '{database}' ORDER BY name")


def test_all_or_nothing(backed, tmp_path):
    """A RESTORE of several tables that fails at one of them makes none, nor a database."""
    fill(backed)
    backed.query("CREATE TABLE alone (k UInt64) ENGINE = MergeTree ORDER BY k")
    backed.query("INSERT INTO alone VALUES (1)")
    backed.query("BACKUP ALL TO File('b')")
    alone = backed.query("SELECT * FROM alone")
    # The last table's file is damaged, or gone.
    part = next((tmp_path / "backups" / "b" / "data" / "d" / "t").glob("*.parquet"))
    whole = part.read_bytes()
    for damage in (lambda: part.write_bytes(whole[:-100] + bytes(100)), lambda: part.write_bytes(whole[:100]), part.unlink):
        damage()
        assert backed.error_code("RESTORE DATABASE d AS e FROM File('b')") == 601
        assert backed.error_code("RESTORE TABLE d.lookup AS x, TABLE d.memory AS y, TABLE d.t AS z FROM File('b')") == 601
        assert backed.error_code("RESTORE TABLE default.alone, TABLE d.t AS z FROM File('b') SETTINGS allow_non_empty_tables = 1") == 601
    part.write_bytes(whole)
    # A table that is there already, with rows or with another definition, and a name that two would get.
    backed.query("CREATE DATABASE taken")
    backed.query("CREATE TABLE taken.t (k UInt8) ENGINE = Memory")
    assert backed.error_code("RESTORE DATABASE d AS taken FROM File('b')") == 608
    assert tables_of(backed, "taken") == "t\n"
    assert backed.error_code("RESTORE TABLE d.t AS z, TABLE d.memory AS z FROM File('b')") == 608
    assert backed.error_code("RESTORE TABLE d.lookup AS x, TABLE d.t AS nowhere.t FROM File('b')") == 81
    assert backed.value("SELECT count() FROM system.databases WHERE name IN ('e', 'nowhere')") == "0"
    assert tables_of(backed, "default") == "alone\n"
    for restart in (False, True):
        if restart:
            backed.kill()
            backed.start()
        assert backed.query("SELECT * FROM alone") == alone
        assert tables_of(backed, "default") == "alone\n"
        assert backed.files_named("tmp_*") == []
    folders = {path.name for path in (backed.data / "data").iterdir() if path.is_dir()}
    known = set(backed.query("SELECT toString(uuid) FROM system.tables WHERE engine IN ('MergeTree', 'Join')").split())
    assert folders <= known, "no folder of a table that is not there"
    # Then it works, and beside rows that are there.
    backed.query("RESTORE TABLE d.lookup AS x, TABLE d.t AS z, TABLE default.alone FROM File('b') SETTINGS allow_non_empty_tables = 1")
    assert backed.value("SELECT count() FROM alone") == "2"
    assert backed.query(CONTENT.format("z")) == backed.query(CONTENT.format("d.t"))


def test_a_crash_leaves_all_or_nothing(backed):
    """kill -9 in the middle of a RESTORE of many tables, at whatever moment it comes."""
    backed.query("CREATE DATABASE d")
    for number in range(20):
        backed.query(f"CREATE TABLE d.t{number:02} (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
        backed.query(f"INSERT INTO d.t{number:02} SELECT number, toString(cityHash64(number)) FROM numbers(20000)")
    backed.query("BACKUP DATABASE d TO File('b')")
    outcomes = set()
    for attempt in range(12):
        backed.query("RESTORE DATABASE d AS e FROM File('b') ASYNC")
        # Another number of copies each time; the last attempts wait for its end.
        wanted = attempt * 3
        wait_until(
            lambda: len(backed.files_named("tmp_insert_*")) >= wanted
            or backed.value("SELECT count() FROM system.databases WHERE name = 'e'") == "1",
            "it is that far",
        )
        backed.kill()
        backed.start()
        tables = backed.value("SELECT count() FROM system.tables WHERE database = 'e'")
        assert tables in ("0", "20")
        assert backed.value("SELECT count() FROM system.databases WHERE name = 'e'") == ("1" if tables == "20" else "0")
        assert backed.files_named("tmp_*") == []
        if tables == "20":
            for number in range(20):
                assert backed.value(f"SELECT count() FROM e.t{number:02}") == "20000"
            backed.query("DROP DATABASE e")
        outcomes.add(tables)
    assert "0" in outcomes
    assert backed.query("RESTORE DATABASE d AS e FROM File('b')")
    assert backed.value("SELECT count() FROM system.tables WHERE database = 'e'") == "20"


def test_a_full_disk_leaves_nothing(start_server, small_disk, tmp_path):
    """A RESTORE for which there is no room fails with the disk's error, keeps nothing, and works once there is room."""
    folder = tmp_path / "server"
    disk = small_disk(64, folder / "data")
    backups = f"<allowed_path>{tmp_path}/backups/</allowed_path>"
    server = start_server(folder=folder, settings={"backups": backups, "query_log": None})
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    for batch in range(8):
        server.query(f"INSERT INTO t SELECT number, randomPrintableASCII(100) FROM numbers({batch} * 10000, 10000)")
    content = server.query(CONTENT.format("t"))
    server.query("BACKUP TABLE t TO File('b')")
    files = server.files_named("*.parquet")
    disk.fill(but_bytes=4 << 20)
    for _ in range(2):
        assert server.error_code("RESTORE TABLE t AS u FROM File('b')") == 243
        assert server.error_code("RESTORE TABLE t FROM File('b') SETTINGS allow_non_empty_tables = 1") == 243
    assert server.query(CONTENT.format("t")) == content
    server.kill()
    server.start()
    assert tables_of(server, "default") == "t\n"
    assert server.query(CONTENT.format("t")) == content
    assert (server.files_named("tmp_*"), server.files_named("*.parquet")) == ([], files)
    disk.make_room()
    server.query("RESTORE TABLE t AS u FROM File('b')")
    assert server.query(CONTENT.format("u")) == content
