"""Mutations that go on in the background: ALTER TABLE returns at once, and what it orders is carried out once, through kills, in its order,
on the rows that were there."""

import random
import threading
import time

import pytest
from server import ServerError, wait_until

ROWS = 1_000
PARTS = 4
SLOW = "sleep(0.2) = 0"


def fill(server):
    server.query("CREATE TABLE t (k UInt32, a UInt32, b String DEFAULT 'x') ENGINE = MergeTree ORDER BY k")
    for part in range(PARTS):
        server.query(f"INSERT INTO t (k, a) SELECT number + {part * ROWS}, 0 FROM numbers({ROWS})")


def count(server):
    return int(server.query("SELECT count() FROM system.mutations"))


def pending(server):
    return int(server.query("SELECT countIf(NOT is_done) FROM system.mutations"))


def mutations(server, columns):
    return server.query(f"SELECT {columns} FROM system.mutations ORDER BY create_time, mutation_id").strip()


def wait_for_all(server):
    wait_until(lambda: pending(server) == 0, "all mutations are done")


def test_a_mutation_goes_on_after_a_kill_and_leaves_later_rows_alone(start_server):
    server = start_server(settings={"query_log": None})
    fill(server)
    began = time.monotonic()
    server.query(f"ALTER TABLE t UPDATE a = a + 1 WHERE {SLOW}")
    assert time.monotonic() - began < PARTS * 0.2
    server.query(f"ALTER TABLE t DELETE WHERE k % 2 = 1 AND a = 1, UPDATE b = 'y' WHERE k % 4 = 0 SETTINGS mutations_sync = 0")
    server.query(f"INSERT INTO t (k, a) SELECT number + {PARTS * ROWS}, 0 FROM numbers({ROWS})")
    assert pending(server) == 3
    assert mutations(server, "is_done, parts_to_do, length(parts_to_do_names)").splitlines()[0] == f"0\t{PARTS}\t{PARTS}"
    server.query("OPTIMIZE TABLE t FINAL")
    server.kill()
    server.start()
    wait_for_all(server)
    expected = f"{PARTS * ROWS // 2}\t{PARTS * ROWS // 2}\t{PARTS * ROWS // 4}\n{ROWS}\t0\t0\n"
    state = f"SELECT count(), sum(a), countIf(b = 'y') FROM t GROUP BY k >= {PARTS * ROWS} ORDER BY k >= {PARTS * ROWS}"
    assert server.query(state) == expected
    assert mutations(server, "is_done, finish_time > 0, length(latest_fail_reason)").splitlines() == ["1\t1\t0"] * 3
    # Parts on both sides become one again.
    server.query("OPTIMIZE TABLE t FINAL")
    assert server.query("SELECT count() FROM system.parts WHERE table = 't' AND active").strip() == "1"
    server.restart()
    assert server.query(state) == expected and pending(server) == 0
    assert mutations(server, "mutation_id, command").splitlines()[0] == "mutation_5.txt\t(UPDATE a = a + 1 WHERE sleep(0.2) = 0)"


def test_each_mutation_is_carried_out_once_through_many_kills(start_server):
    server = start_server(settings={"query_log": None})
    fill(server)
    ordered, tried = [0], [0]
    for round in range(6):
        def order():
            while True:
                tried[0] += 1
                try:
                    server.query("ALTER TABLE t UPDATE a = a + 1 WHERE sleep(0.003) = 0, UPDATE a = a + 1000 WHERE 1")
                except Exception:
                    return
                ordered[0] += 1
                # Ordering one takes a small part of carrying it out.
                time.sleep(0.01)

        thread = threading.Thread(target=order)
        thread.start()
        time.sleep(random.Random(round).uniform(0.05, 0.4))
        server.kill()
        thread.join()
        server.start()
    wait_for_all(server)
    done = [int(value) for value in server.query("SELECT DISTINCT a FROM t").split()]
    assert len(done) == 1 and done[0] % 1001 == 0
    assert ordered[0] <= done[0] // 1001 <= tried[0]
    assert server.query("SELECT count(), uniqExact(k) FROM t").split() == [str(PARTS * ROWS)] * 2


def test_who_waits_learns_of_a_failure_and_others_wait_until_it_is_killed(start_server):
    server = start_server(settings={"query_log": None})
    fill(server)
    with pytest.raises(ServerError) as error:
        server.query("ALTER TABLE t UPDATE nosuch = 1 WHERE 1")
    assert error.value.code == 16 and pending(server) == 0
    with pytest.raises(ServerError) as error:
        server.query("ALTER TABLE t UPDATE a = 1 WHERE throwIf(k = 7) = 0 SETTINGS mutations_sync = 1")
    assert error.value.code == 341 and "Code: 395" in str(error.value) and "mutation_5.txt" in str(error.value)
    failed = mutations(server, "is_done, parts_to_do, latest_failed_part, latest_fail_error_code_name")
    assert failed == f"0\t{PARTS}\tall_1_1_0\tFUNCTION_THROW_IF_VALUE_IS_NON_ZERO"
    server.query("ALTER TABLE t DELETE WHERE k = 8")
    for later, code in [("ALTER TABLE t DELETE WHERE k = 9 SETTINGS mutations_sync = 2", 341), ("DELETE FROM t WHERE k = 10", 341), ("ALTER TABLE t DROP COLUMN a", 36)]:
        with pytest.raises(ServerError) as error:
            server.query(later)
        assert error.value.code == code, later
    server.kill()
    server.start()
    wait_until(lambda: "395" in mutations(server, "latest_fail_reason"), "it has failed again")
    killed = server.query("KILL MUTATION WHERE table = 't' AND latest_fail_reason != ''")
    assert killed.startswith("waiting\tdefault\tt\tmutation_5.txt\t(UPDATE a = 1")
    wait_for_all(server)
    assert server.query("SELECT count(), min(a), countIf(k IN (7, 8, 9, 10)) FROM t") == f"{PARTS * ROWS - 2}\t0\t2\n"
    server.query("DELETE FROM t WHERE k = 10")
    server.query("ALTER TABLE t DROP COLUMN a")
    assert server.query("SELECT count(), countIf(k = 7) FROM t") == f"{PARTS * ROWS - 3}\t1\n"


def test_a_mutation_that_runs_is_killed_and_a_table_that_goes_takes_its_own_along(start_server):
    server = start_server(settings={"query_log": None})
    fill(server)
    server.query(f"ALTER TABLE t UPDATE a = 5 WHERE {SLOW}")
    wait_until(lambda: mutations(server, "length(parts_in_progress_names)") == "1", "it runs")
    server.query("KILL MUTATION WHERE table = 't'")
    assert count(server) == 0
    time.sleep(2 * PARTS * 0.2)
    assert server.query("SELECT max(a) FROM t").strip() == "0"
    server.query(f"ALTER TABLE t UPDATE a = 6 WHERE {SLOW}")
    server.query("RENAME TABLE t TO renamed")
    assert mutations(server, "table") == "renamed"
    wait_for_all(server)
    assert server.query("SELECT min(a) FROM renamed").strip() == "6"
    server.query(f"ALTER TABLE renamed UPDATE a = 7 WHERE {SLOW}")
    server.query("DROP TABLE renamed SYNC")
    assert count(server) == 0
    server.restart()
    assert count(server) == 0
    assert "panicked" not in server.log


def test_a_mutation_has_the_rights_and_settings_of_whoever_ordered_it(start_server):
    server = start_server(settings={"query_log": None})
    fill(server)
    server.query("CREATE TABLE secret (k UInt32) ENGINE = MergeTree ORDER BY k AS SELECT 1")
    server.query("CREATE USER changer; GRANT ALTER UPDATE, SELECT ON default.t TO changer".split(";")[0])
    server.query("GRANT ALTER UPDATE, SELECT ON default.t TO changer")
    with pytest.raises(ServerError) as error:
        server.query("ALTER TABLE t UPDATE a = 9 WHERE k IN (SELECT k FROM secret)", user="changer")
    assert error.value.code == 497 and pending(server) == 0
    server.query(
        "ALTER TABLE t UPDATE b = toString(toDateTime(0)) WHERE k = {k:UInt32}",
        user="changer", param_k=3, session_timezone="Asia/Tokyo",
    )
    wait_for_all(server)
    assert server.query("SELECT b FROM t WHERE k = 3").strip() == "1970-01-01 09:00:00"


def test_parts_go_elsewhere_as_ordered_mutations_leave_them(start_server):
    server = start_server(settings={"query_log": None})
    server.query("CREATE TABLE t (p UInt8, k UInt32, a UInt32) ENGINE = MergeTree PARTITION BY p ORDER BY k")
    server.query("CREATE TABLE other AS t")
    server.query("INSERT INTO t SELECT number % 4, number, 0 FROM numbers(40)")

    def order(partition):
        server.query(f"ALTER TABLE t UPDATE a = a + 1 IN PARTITION {partition} WHERE {SLOW}")
        assert pending(server) == 1

    order(0)
    server.query("ALTER TABLE t DETACH PARTITION 0")
    assert pending(server) == 0
    order(1)
    server.query("ALTER TABLE other REPLACE PARTITION 1 FROM t")
    order(2)
    # It is about another partition.
    server.query("ALTER TABLE t FREEZE PARTITION 3")
    assert pending(server) == 1
    server.query("ALTER TABLE t MOVE PARTITION 2 TO TABLE other")
    order(3)
    server.query("DETACH TABLE t")
    time.sleep(0.5)
    server.query("ATTACH TABLE t")
    server.query("ALTER TABLE t ATTACH PARTITION 0")
    wait_for_all(server)
    expected = [f"{partition}\t10\t10" for partition in range(4)]
    state = "SELECT p, count(), sum(a) FROM {} GROUP BY p ORDER BY p"
    assert server.query(state.format("t")).splitlines() == [expected[at] for at in (0, 1, 3)]
    assert server.query(state.format("other")).splitlines() == expected[1:3]


def test_a_backup_has_what_was_ordered_before_and_a_detached_database_comes_back_with_it(start_server, tmp_path):
    server = start_server(settings={"query_log": None, "backups": f"<allowed_path>{tmp_path}/backups/</allowed_path>"})
    server.query("CREATE DATABASE d")
    server.query("CREATE TABLE d.t (k UInt32, a UInt32) ENGINE = MergeTree ORDER BY k")
    server.query("INSERT INTO d.t SELECT number, 0 FROM numbers(10)")
    server.query(f"ALTER TABLE d.t UPDATE a = 1 WHERE {SLOW}")
    server.query("BACKUP TABLE d.t TO File('b')")
    server.query("RESTORE TABLE d.t AS d.restored FROM File('b')")
    assert server.query("SELECT count(), sum(a) FROM d.restored") == "10\t10\n"
    server.query(f"ALTER TABLE d.t UPDATE a = 2 WHERE {SLOW}")
    server.query("DETACH DATABASE d")
    time.sleep(0.5)
    server.query("ATTACH DATABASE d")
    wait_for_all(server)
    assert server.query("SELECT count(), sum(a) FROM d.t") == "10\t20\n"
