"""DELETE FROM of few rows: it names them beside their parts, and that holds through kills, merges, backups and a lost catalog."""

import threading

ROWS = 50_000
STATE = "SELECT count(), sum(a), sum(cityHash64(s)), min(a), max(a) FROM t"


def fill(server, parts=2):
    server.query("CREATE TABLE t (a UInt32, s String) ENGINE = MergeTree ORDER BY a")
    for part in range(parts):
        server.query(f"INSERT INTO t SELECT number + {part * ROWS}, toString(number) FROM numbers({ROWS})")


def masked(server):
    return int(server.query("SELECT countIf(has_lightweight_delete) FROM system.parts WHERE table = 't'"))


def files(server):
    return sorted(path.name for path in server.files_named("*.parquet"))


def test_deleted_rows_stay_deleted_through_kills_and_leave_with_a_merge(start_server):
    server = start_server(settings={"query_log": None})
    fill(server)
    server.query("SYSTEM STOP MERGES t")
    for row in (7, ROWS + 7, 2 * ROWS - 1):
        server.query(f"DELETE FROM t WHERE a = {row}")
        before = server.query(STATE)
        server.kill()
        server.start()
        assert server.query(STATE) == before
    assert masked(server) == 2 and len([name for name in files(server) if name.startswith("delete-")]) == 2
    assert before.split()[0] == str(2 * ROWS - 3)
    server.query("OPTIMIZE TABLE t FINAL")
    assert server.query(STATE) == before and masked(server) == 0
    server.restart()
    assert server.query(STATE) == before
    assert not [name for name in files(server) if "delete-" in name]


def test_acknowledged_deletes_are_there_after_kills_and_nothing_else_is_gone(start_server):
    server = start_server(settings={"query_log": None})
    fill(server)
    deleted, next_row = set(), [0]
    for _ in range(4):
        acknowledged, tried = set(), set()

        def work():
            while True:
                row = next_row[0] = next_row[0] + 13
                tried.add(row)
                try:
                    server.query(f"DELETE FROM t WHERE a = {row}")
                except Exception:
                    return
                acknowledged.add(row)

        threads = [threading.Thread(target=work) for _ in range(2)]
        [thread.start() for thread in threads]
        while len(acknowledged) < 8:
            pass
        server.kill()
        [thread.join() for thread in threads]
        server.start()
        gone = {int(row) for row in server.query(f"SELECT number FROM numbers({2 * ROWS}) WHERE number NOT IN (SELECT a FROM t)").split()}
        assert deleted | acknowledged <= gone <= deleted | tried
        deleted = gone
    assert server.query("SELECT count() FROM t").strip() == str(2 * ROWS - len(deleted))


def test_backups_frozen_parts_and_a_lost_catalog_know_what_is_deleted(start_server, tmp_path):
    server = start_server(settings={"query_log": None, "backups": f"<allowed_path>{tmp_path}/backups/</allowed_path>"})
    fill(server)
    server.query("SYSTEM STOP MERGES t")
    server.query("DELETE FROM t WHERE a IN (5, 500, 50005)")
    before = server.query(STATE)
    server.query(f"BACKUP TABLE t TO File('{tmp_path}/backups/t')")
    server.query(f"RESTORE TABLE t AS restored FROM File('{tmp_path}/backups/t')")
    assert server.query(STATE.replace("FROM t", "FROM restored")) == before
    assert not [name for name in files(server) if name.startswith("tmp_")]
    server.stop()
    for file in server.data.glob("catalog.sqlite*"):
        file.unlink()
    server.arguments.append("--restore-catalog")
    server.start()
    server.arguments.clear()
    assert server.query(STATE) == before
    server.query("DELETE FROM t WHERE a = 6")
    server.restart()
    assert server.query("SELECT a FROM t WHERE a < 8 ORDER BY a").split() == ["0", "1", "2", "3", "4", "7"]
    server.query("TRUNCATE TABLE t")
    server.query("DROP TABLE t SYNC")
    server.restart()
    assert not [name for name in files(server) if "delete-" in name]


def test_deletes_of_many_rows_write_the_part_anew(start_server):
    server = start_server(settings={"query_log": None})
    fill(server, parts=1)
    server.query("DELETE FROM t WHERE a % 3 = 0")
    assert masked(server) == 0 and server.query("SELECT count() FROM t").strip() == str(ROWS - (ROWS + 2) // 3)
    server.query("DELETE FROM t WHERE a BETWEEN 1000 AND 2000")
    assert masked(server) == 1
    before = server.query(STATE)
    server.query("ALTER TABLE t APPLY DELETED MASK SETTINGS mutations_sync = 2")
    assert masked(server) == 0 and server.query(STATE) == before
    server.query("DELETE FROM t WHERE a = 2003 OR a = 2005")
    assert masked(server) == 1
    before = server.query(STATE)
    server.query("OPTIMIZE TABLE t FINAL")
    assert masked(server) == 0 and server.query(STATE) == before
    server.query("DELETE FROM t WHERE a > 10")
    assert masked(server) == 0 and server.query("SELECT count() FROM t").strip() == "7"
