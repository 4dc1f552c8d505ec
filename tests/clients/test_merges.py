"""Background merges: parts stay few, and no row is lost or there twice, whatever runs beside them."""

import concurrent.futures
import random
import threading
import time

import pytest
from server import ServerError, wait_until

PARTS = "SELECT count() FROM system.parts WHERE table = '{}' AND active"


class Writers:
    """Threads that insert ten rows at a time, each batch under a number of its own, until they are told to stop."""

    def __init__(self, server, table, threads, batches=10**9, first=0):
        self.server, self.table, self.left = server, table, batches
        self.next, self.acknowledged, self.lock = first, set(), threading.Lock()
        self.threads = [threading.Thread(target=self.run) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while True:
            with self.lock:
                if self.left <= 0:
                    return
                self.left -= 1
                batch = self.next
                self.next += 1
            try:
                self.server.query(f"INSERT INTO {self.table} SELECT {batch}, number, cityHash64(number, {batch}) FROM numbers(10)")
            except (ServerError, OSError):
                return
            self.acknowledged.add(batch)

    def stop(self):
        with self.lock:
            self.left = 0
        self.join()

    def join(self):
        for thread in self.threads:
            thread.join()


def create(server, engine="MergeTree"):
    server.query(f"CREATE TABLE t (batch UInt32, n UInt32, h UInt64) ENGINE = {engine} ORDER BY (n, batch)")


def batches(server, final=""):
    """The batches in the table, each of which must be whole."""
    rows = server.rows(f"SELECT batch, count(), sum(n) FROM t {final} GROUP BY batch")
    for batch, count, total in rows:
        assert (count, total) == ("10", "45"), f"batch {batch} is not whole"
    return {int(row[0]) for row in rows}


def test_many_small_parts_and_kill_9(start_server):
    server = start_server()
    create(server)
    writers = Writers(server, "t", 6, batches=1500)
    most = 0
    while any(thread.is_alive() for thread in writers.threads):
        before = set(writers.acknowledged)
        assert before <= batches(server)
        most = max(most, int(server.value(PARTS.format("t"))))
        time.sleep(0.1)
    assert len(writers.acknowledged) == 1500 and most < 300
    assert int(server.value("SELECT sum(value) FROM system.events WHERE event = 'Merge'")) > 0
    acknowledged = set(writers.acknowledged)
    moments = random.Random(7)
    for _ in range(3):
        writers = Writers(server, "t", 4, first=max(acknowledged) + 1)
        time.sleep(0.5 + moments.random())
        server.kill()
        writers.join()
        server.start()
        found = batches(server)
        assert acknowledged | writers.acknowledged <= found
        acknowledged = found
    assert server.files_named("tmp_*") == []


@pytest.mark.parametrize("engine", ["MergeTree", "ReplacingMergeTree"])
def test_statements_beside_merges(start_server, engine):
    """OPTIMIZE, mutations, FINAL, ALTER and partitions that go, while parts come and are merged."""
    server = start_server()
    server.query(f"CREATE TABLE t (batch UInt32, n UInt32, h UInt64) ENGINE = {engine} PARTITION BY batch % 3 ORDER BY (n, batch)")
    writers = Writers(server, "t", 3)
    is_over, failures = threading.Event(), []

    def repeat(statement):
        number = 0
        while not is_over.is_set():
            number += 1
            try:
                server.query(statement(number))
            except ServerError as error:
                failures.append(str(error))
            time.sleep(0.05)

    statements = [
        lambda _: "OPTIMIZE TABLE t FINAL",
        lambda _: "ALTER TABLE t DELETE WHERE batch % 3 = 1 AND n = 1000000",
        lambda _: "ALTER TABLE t UPDATE h = h WHERE batch % 5 = 0",
        lambda number: "ALTER TABLE t ADD COLUMN IF NOT EXISTS more String" if number % 2 else "ALTER TABLE t DROP COLUMN IF EXISTS more",
        lambda _: "ALTER TABLE t DROP PARTITION 2",
    ]
    threads = [threading.Thread(target=repeat, args=(statement,)) for statement in statements]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 12
    while time.monotonic() < end:
        before = {batch for batch in set(writers.acknowledged) if batch % 3 != 2}
        assert before <= batches(server, "FINAL" if engine != "MergeTree" else "")
        time.sleep(0.1)
    writers.stop()
    is_over.set()
    for thread in threads:
        thread.join()
    # OPTIMIZE and mutations may find that DROP PARTITION has taken a part away.
    expected = ("altered by another query", "in committed state")
    unexpected = [failure for failure in failures if not any(words in failure for words in expected)]
    assert unexpected == []
    wanted = {batch for batch in writers.acknowledged if batch % 3 != 2}
    assert {batch for batch in batches(server) if batch % 3 != 2} == wanted
    server.restart()
    assert {batch for batch in batches(server) if batch % 3 != 2} == wanted


def test_merges_are_stopped(start_server):
    server = start_server()
    create(server)
    server.query("SYSTEM STOP MERGES t")
    for batch in range(30):
        server.query(f"INSERT INTO t SELECT {batch}, number, 0 FROM numbers(10)")
    with pytest.raises(ServerError, match="Cancelled merging parts"):
        server.query("OPTIMIZE TABLE t FINAL")
    time.sleep(1)
    assert server.value(PARTS.format("t")) == "30"
    server.query("SYSTEM START MERGES t")
    wait_until(lambda: int(server.value(PARTS.format("t"))) < 20, "parts are merged")
    assert len(batches(server)) == 30
    assert server.value("SELECT count() FROM system.merges WHERE table = 't'") == "0"


@pytest.mark.parametrize("engine", ["Log", "MergeTree ORDER BY tuple()"])
def test_rows_keep_their_order(start_server, engine):
    server = start_server()
    server.query(f"CREATE TABLE l (n UInt32) ENGINE = {engine}")
    for number in range(60):
        server.query(f"INSERT INTO l SELECT {number} * 3 + number FROM numbers(3)")
    wait_until(lambda: int(server.value("SELECT value FROM system.events WHERE event = 'MergedRows'") or 0) > 0, "rows are merged")
    assert [int(row[0]) for row in server.rows("SELECT n FROM l")] == list(range(180))


def test_parts_are_logged(start_server):
    server = start_server(settings={"part_log": ""})
    create(server)
    for batch in range(30):
        server.query(f"INSERT INTO t SELECT {batch}, number, 0 FROM numbers(10)")
    # Some rows only: a part without rows is removed and not rewritten.
    server.query("ALTER TABLE t DELETE WHERE batch = 3 AND n < 5 SETTINGS mutations_sync = 2")
    server.query("OPTIMIZE TABLE t FINAL")
    server.query("SYSTEM FLUSH LOGS")
    logged = "SELECT count(), sum(rows) FROM system.part_log WHERE table = 't' AND event_type = '{}'"
    assert server.query(logged.format("NewPart")) == "30\t300\n"
    last = "SELECT part_name, rows, length(merged_from) > 1, merge_reason FROM system.part_log WHERE table = 't' AND event_type = 'MergeParts' ORDER BY event_time_microseconds DESC LIMIT 1"
    name, *rest = server.rows(last)[0]
    assert name == server.value("SELECT name FROM system.parts WHERE table = 't'") and rest == ["295", "1", "RegularMerge"]
    come = "SELECT countIf(event_type != 'RemovePart') - countIf(event_type = 'RemovePart') FROM system.part_log WHERE table = 't'"
    assert server.value(come) == "1"
    assert int(server.value("SELECT count() FROM system.part_log WHERE table = 't' AND event_type = 'MutatePart'")) > 0


def test_inserts_wait_and_are_refused(start_server):
    server = start_server()
    server.query("CREATE TABLE t (n UInt32) ENGINE = MergeTree ORDER BY n SETTINGS parts_to_delay_insert = 3, parts_to_throw_insert = 6, min_delay_to_insert_ms = 100")
    server.query("SYSTEM STOP MERGES t")
    times = []
    for number in range(6):
        began = time.monotonic()
        server.query(f"INSERT INTO t SELECT {number}")
        times.append(time.monotonic() - began)
    assert min(times[3:]) >= 0.3 and times[5] >= 0.99
    with pytest.raises(ServerError, match="Too many parts"):
        server.query("INSERT INTO t SELECT 7")
    events = dict(server.rows("SELECT event, value FROM system.events WHERE event IN ('DelayedInserts', 'RejectedInserts')"))
    assert events == {"DelayedInserts": "3", "RejectedInserts": "1"}
    server.query("SYSTEM START MERGES t")
    server.query("OPTIMIZE TABLE t FINAL")
    server.query("INSERT INTO t SELECT 7")
    assert server.value("SELECT sum(n) FROM t") == "22"


def large_parts(server):
    """Three parts that go to disk while the merge of them is under way: of rows that no codec makes smaller, several row groups."""
    server.query("CREATE TABLE large (k UInt64, v UInt64, s String) ENGINE = MergeTree ORDER BY k")
    server.query("SYSTEM STOP MERGES large")
    for number in range(3):
        values = f"number * 3 + {number}, cityHash64(number, {number}), toString(cityHash64(number, {number}, 1))"
        server.query(f"INSERT INTO large SELECT {values} FROM numbers(1200000)")
    server.query("SYSTEM START MERGES large")
    return server.value(CONTENT)


CONTENT = "SELECT count(), sum(k), sum(v), sum(cityHash64(k, v, s)) FROM large"


def temporary_files(server):
    """The sizes of files of parts that are not committed."""
    sizes = []
    for path in server.files_named("tmp_insert_*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            pass
    return sizes


def grows(server, statement):
    """Runs a statement, during which the file of the part that it makes is seen to grow."""
    sizes = set()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        running = pool.submit(server.query, statement)
        while not running.done():
            sizes.update(temporary_files(server))
            time.sleep(0.001)
        running.result()
    assert len(sizes) > 1, sizes


def test_large_parts_go_to_disk_while_they_are_merged(start_server):
    server = start_server(settings={"query_log": None})
    before = large_parts(server)
    grows(server, "OPTIMIZE TABLE large FINAL")
    assert server.value(CONTENT) == before
    assert server.value(PARTS.format("large")) == "1"
    assert server.value("SELECT count() FROM (SELECT k, lagInFrame(k) OVER () AS p FROM large) WHERE k < p") == "0"
    server.restart()
    assert server.value(CONTENT) == before
    assert server.value("CHECK TABLE large SETTINGS check_query_single_value_result = 1") == "1"
    # A mutation of such a part writes it step by step, too.
    grows(server, "ALTER TABLE large UPDATE v = v + 1 WHERE 1 SETTINGS mutations_sync = 2")
    server.query("ALTER TABLE large DELETE WHERE k % 2 = 0 SETTINGS mutations_sync = 2")
    expected = server.value("SELECT 1800000, sum(k), sum(v + 1) FROM (SELECT number * 3 + n AS k, cityHash64(number, n) AS v FROM numbers(1200000) ARRAY JOIN [0, 1, 2] AS n) WHERE k % 2 = 1")
    assert server.value("SELECT count(), sum(k), sum(v) FROM large") == expected
    server.restart()
    assert server.value("SELECT count(), sum(k), sum(v) FROM large") == expected
    assert not temporary_files(server)


def test_a_killed_merge_of_large_parts_loses_nothing(start_server):
    server = start_server(settings={"query_log": None})
    before = large_parts(server)
    for _ in range(3):
        threading.Thread(target=lambda: pytest.raises((ServerError, OSError), server.query, "OPTIMIZE TABLE large FINAL")).start()
        wait_until(lambda: any(temporary_files(server)), "a part is on its way to disk", 60)
        server.kill()
        server.start()
        assert server.value(CONTENT) == before
        assert not temporary_files(server)
    # Also one that is only cancelled leaves no file, and does not keep the next one from its name.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        merging = pool.submit(server.error_code, "OPTIMIZE TABLE large FINAL", query_id="merging")
        wait_until(lambda: any(temporary_files(server)), "a part is on its way to disk", 60)
        server.query("KILL QUERY WHERE query_id = 'merging' SYNC")
        assert merging.result() == 394
    wait_until(lambda: not temporary_files(server), "its file is gone")
    server.query("OPTIMIZE TABLE large FINAL")
    assert server.value(CONTENT) == before
    assert server.value(PARTS.format("large")) == "1"
