"""Projections: what is read of them, and that they hold through kills, merges, backups and a lost catalog."""

import json
import threading

ROWS = 20_000
CREATE = (
    "CREATE TABLE t (k UInt32, u UInt32, v UInt32, PROJECTION by_user (SELECT u, k, v ORDER BY u), "
    "PROJECTION sums (SELECT u % 10, sum(v), count(), uniqExact(k) GROUP BY u % 10)) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 128"
)
BY_USER = "SELECT k, v FROM t WHERE u = 77 ORDER BY k, v"
SUMS = "SELECT u % 10 AS g, sum(v), count(), uniqExact(k) FROM t GROUP BY g ORDER BY g"


def insert(server, first=0):
    server.query(f"INSERT INTO t SELECT number, number * 7919 % 1000, number % 13 FROM numbers({first}, {ROWS})")


def read_rows(server, sql, **settings):
    """The result's rows and how many rows were read for it."""
    options = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
    answer = json.loads(server.query(f"{sql} FORMAT JSON" + (f" SETTINGS {options}" if options else "")))
    return answer["data"], answer["statistics"]["rows_read"]


def check(server, rows):
    """Projections answer as the table does, and from fewer rows."""
    for sql in BY_USER, SUMS:
        expected, everything = read_rows(server, sql, optimize_use_projections=0)
        found, read = read_rows(server, sql, force_optimize_projection=1)
        assert found == expected and everything == rows and read <= rows // 10, (sql, read)


def test_projections_hold_through_kills_and_merges(start_server):
    server = start_server()
    server.query(CREATE)
    for first in 0, ROWS, 2 * ROWS:
        insert(server, first)
        check(server, first + ROWS)
        server.kill()
        server.start()
        check(server, first + ROWS)
    server.query("OPTIMIZE TABLE t FINAL")
    check(server, 3 * ROWS)
    server.kill()
    server.start()
    check(server, 3 * ROWS)
    assert server.query("CHECK TABLE t").split() == ["all_1_3_1", "1"]


def test_an_acknowledged_insert_keeps_its_projections_when_the_server_is_killed(start_server):
    server = start_server()
    server.query(CREATE)
    for _ in range(4):
        acknowledged = []

        def work():
            while True:
                try:
                    server.query("INSERT INTO t SELECT number, number * 7919 % 1000, 1 FROM numbers(500)")
                except Exception:
                    return
                acknowledged.append(1)

        before = int(server.query("SELECT count() FROM t"))
        threads = [threading.Thread(target=work) for _ in range(3)]
        [thread.start() for thread in threads]
        while len(acknowledged) < 20:
            pass
        server.kill()
        [thread.join() for thread in threads]
        server.start()
        rows = int(server.query("SELECT count() FROM t"))
        # An INSERT that was not acknowledged may be there.
        assert rows - before >= 500 * len(acknowledged) and (rows - before) % 500 == 0
        expected = server.query(SUMS + " SETTINGS optimize_use_projections = 0")
        assert server.query(SUMS + " SETTINGS force_optimize_projection = 1") == expected
        assert int(server.query("SELECT sum(rows) FROM system.projection_parts WHERE name = 'by_user'")) == rows


def test_explain_and_the_log_name_them(start_server):
    server = start_server()
    server.query(CREATE)
    insert(server)
    assert "ReadFromMergeTree (by_user)" in server.query(f"EXPLAIN {BY_USER}")
    assert "ReadFromMergeTree (sums)" in server.query(f"EXPLAIN indexes = 1, projections = 1 {SUMS}")
    assert "ReadFromMergeTree (default.t)" in server.query(f"EXPLAIN {SUMS} SETTINGS optimize_use_projections = 0")
    server.query(SUMS, query_id="of-sums")
    server.query("SYSTEM FLUSH LOGS")
    logged = server.query("SELECT projections FROM system.query_log WHERE query_id = 'of-sums' AND type = 'QueryFinish'")
    assert logged.strip() == "['default.t.sums']"
    # A kept plan follows the parts.
    for _ in range(3):
        insert(server)
        assert server.query(SUMS) == server.query(SUMS + " SETTINGS optimize_use_projections = 0")


def test_projections_go_where_parts_go(start_server, tmp_path):
    server = start_server(settings={"backups": f"<allowed_path>{tmp_path}/backups/</allowed_path>"})
    server.query(CREATE)
    insert(server)
    server.query(f"BACKUP TABLE t TO File('{tmp_path}/backups/t')")
    server.query("DROP TABLE t SYNC")
    server.query(f"RESTORE TABLE t FROM File('{tmp_path}/backups/t')")
    check(server, ROWS)
    server.query("CREATE TABLE other AS t")
    server.query("ALTER TABLE other ATTACH PARTITION tuple() FROM t")
    server.query("DROP TABLE t SYNC")
    server.query("RENAME TABLE other TO t")
    check(server, ROWS)
    server.query("ALTER TABLE t DETACH PARTITION tuple()")
    server.query("ALTER TABLE t ATTACH PARTITION tuple()")
    check(server, ROWS)


def test_a_catalog_that_is_made_again_knows_them(start_server):
    server = start_server()
    server.query(CREATE)
    insert(server)
    server.stop()
    for file in server.data.glob("catalog.sqlite*"):
        file.unlink()
    server.arguments.append("--restore-catalog")
    server.start()
    check(server, ROWS)
