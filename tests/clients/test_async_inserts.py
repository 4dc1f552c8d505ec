"""Asynchronous INSERTs: those of many clients become one part; who waits is told once the rows are durable, and of its own errors alone."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from clickhouse_driver import Client
from server import ServerError, wait_until

CANNOT_PARSE, UNKNOWN_TABLE, TIMEOUT, CANCELLED, VIOLATED, DENIED = 6, 60, 159, 394, 469, 497
ASYNC = {"async_insert": 1}
# Nothing is written until something asks for it.
HELD = {**ASYNC, "async_insert_use_adaptive_busy_timeout": 0, "async_insert_busy_timeout_max_ms": 600_000}


@pytest.fixture
def filled(start_server):
    server = start_server()
    server.query("CREATE TABLE t (k UInt64, s String DEFAULT 'none') ENGINE = MergeTree ORDER BY k")
    return server


def insert(server, key, **settings):
    return server.query(f"INSERT INTO t (k) FORMAT TSV\n{key}", **{**ASYNC, **settings})


def queued(server):
    return int(server.value("SELECT sum(length(entries.query_id)) FROM system.asynchronous_inserts"))


def in_background(pool, server, keys, **settings):
    return [pool.submit(insert, server, key, **settings) for key in keys]


def test_the_rows_of_many_clients_are_one_part(filled):
    with ThreadPoolExecutor(256) as pool:
        inserts = in_background(pool, filled, range(256), **HELD)
        wait_until(lambda: queued(filled) == 256, "all have come")
        query, database, table, form, total = filled.rows(
            "SELECT query, database, table, format, total_bytes FROM system.asynchronous_inserts"
        )[0]
        assert (query, database, table, form, total) == ("INSERT INTO t (k) FORMAT TSV", "default", "t", "TSV", "2048")
        assert filled.value("SELECT count() FROM t") == "0"
        filled.query("SYSTEM FLUSH ASYNC INSERT QUEUE")
        assert [insert.result() for insert in inserts] == [""] * 256
    assert filled.rows("SELECT count(), sum(k), any(s) FROM t") == [["256", "32640", "none"]]
    assert filled.value("SELECT count() FROM system.parts WHERE table = 't' AND active") == "1"
    counted = filled.rows("SELECT event, value FROM system.events WHERE event LIKE 'AsyncInsert%' ORDER BY event")
    assert counted == [["AsyncInsertBytes", "2048"], ["AsyncInsertQuery", "256"], ["AsyncInsertRows", "256"]]


def test_many_clients_need_not_wait_long(filled):
    """They are written as soon as all are back: 40 rounds would take 8 s with the longest wait."""
    began = time.monotonic()
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda client: [insert(filled, client * 100 + n) for n in range(40)], range(32)))
    assert filled.value("SELECT uniqExact(k) FROM t") == str(32 * 40)
    assert time.monotonic() - began < 60


def test_the_native_protocol_collects_too(filled):
    def run(key):
        client = Client("127.0.0.1", port=filled.native_port, settings=HELD)
        client.execute("INSERT INTO t (k) VALUES", [(key,), (key + 1000,)])
        client.disconnect()

    with ThreadPoolExecutor(8) as pool:
        inserts = [pool.submit(run, key) for key in range(8)]
        wait_until(lambda: queued(filled) == 8, "all have come")
        filled.query("SYSTEM FLUSH ASYNC INSERT QUEUE default.t")
        [insert.result() for insert in inserts]
    assert filled.rows("SELECT count(), uniqExact(_part) FROM t") == [["16", "1"]]


def test_errors_find_their_client(filled):
    filled.query("CREATE TABLE c (k UInt64, CONSTRAINT small CHECK k < 100) ENGINE = MergeTree ORDER BY k")
    filled.query("CREATE TABLE v (k UInt64) ENGINE = MergeTree ORDER BY k")
    filled.query("CREATE MATERIALIZED VIEW m TO v AS SELECT throwIf(k = 7, 'seven') + k AS k FROM c")

    def run(key):
        return filled.error_code(f"INSERT INTO c FORMAT TSV\n{key}", **HELD)

    keys = [*range(30), 500, *range(30, 40), 600]
    with ThreadPoolExecutor(len(keys) + 1) as pool:
        broken = pool.submit(run, "no number")
        assert broken.result() == CANNOT_PARSE, "what cannot be read is told at once"
        codes = [pool.submit(run, key) for key in keys]
        wait_until(lambda: queued(filled) == len(keys), "all have come")
        filled.query("SYSTEM FLUSH ASYNC INSERT QUEUE")
        codes = {key: code.result() for key, code in zip(keys, codes)}
    assert {key: code for key, code in codes.items() if code} == {7: 395, 500: VIOLATED, 600: VIOLATED}
    whole = ["39", str(sum(range(40)) - 7)]
    assert filled.rows("SELECT count(), sum(k) FROM c") == filled.rows("SELECT count(), sum(k) FROM v") == [whole]


def test_a_table_that_changes_meanwhile(filled):
    with ThreadPoolExecutor(2) as pool:
        added = pool.submit(filled.query, "INSERT INTO t FORMAT TSV\n1\tx", **HELD)
        wait_until(lambda: queued(filled) == 1, "it has come")
        filled.query("ALTER TABLE t ADD COLUMN d UInt8 DEFAULT 5, DROP COLUMN s")
        filled.query("SYSTEM FLUSH ASYNC INSERT QUEUE")
        added.result()
        assert filled.rows("SELECT * FROM t") == [["1", "5"]]
        gone = pool.submit(filled.error_code, "INSERT INTO t (k) FORMAT TSV\n2", **HELD)
        wait_until(lambda: queued(filled) == 1, "it has come")
        filled.query("DROP TABLE t")
        filled.query("SYSTEM FLUSH ASYNC INSERT QUEUE")
        assert gone.result() == UNKNOWN_TABLE


def test_users_and_settings_are_kept_apart(filled):
    filled.query("CREATE USER writer")
    filled.query("GRANT INSERT ON t TO writer")
    with ThreadPoolExecutor(4) as pool:
        others = [{}, {"user": "writer"}, {"max_threads": 1}, {"log_comment": "as the first"}]
        inserts = [pool.submit(insert, filled, key, **HELD, **other) for key, other in enumerate(others)]
        wait_until(lambda: queued(filled) == 4, "all have come")
        assert filled.value("SELECT count() FROM system.asynchronous_inserts") == "3"
        assert filled.error_code("INSERT INTO t (s) VALUES ('x')", user="nobody_known") != 0
        filled.query("REVOKE INSERT ON t FROM writer")
        filled.query("SYSTEM FLUSH ASYNC INSERT QUEUE")
        for key, one in enumerate(inserts):
            if key == 1:
                with pytest.raises(ServerError) as refused:
                    one.result()
                assert refused.value.code == DENIED
            else:
                one.result()
    assert filled.value("SELECT groupArray(k) FROM (SELECT k FROM t ORDER BY k)") == "[0,2,3]"


def test_what_is_large_or_its_own_is_written_at_once(filled):
    lines = "\n".join(map(str, range(1000)))
    filled.query(f"INSERT INTO t (k) FORMAT TSV\n{lines}", **{**HELD, "async_insert_max_data_size": 100})
    assert filled.value("SELECT count() FROM t") == "1000"
    filled.query("CREATE TABLE once (k UInt64) ENGINE = MergeTree ORDER BY k SETTINGS non_replicated_deduplication_window = 10")
    for _ in range(2):
        filled.query("INSERT INTO once VALUES (1)", **HELD)
    assert filled.value("SELECT count() FROM once") == "1"


def test_a_killed_insert_is_told_so(filled):
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(filled.error_code, "INSERT INTO t (k) FORMAT TSV\n1", query_id="killed", **HELD)
        wait_until(lambda: queued(filled) == 1, "it has come")
        filled.query("KILL QUERY WHERE query_id = 'killed'")
        assert waiting.result() == CANCELLED
    timeout = filled.error_code("INSERT INTO t (k) FORMAT TSV\n1", wait_for_async_insert_timeout=0.2, **HELD)
    assert timeout == TIMEOUT


def test_a_stopping_server_writes_what_it_has(filled):
    for key in range(10):
        insert(filled, key, wait_for_async_insert=0, **HELD)
    with ThreadPoolExecutor(5) as pool:
        waiting = in_background(pool, filled, range(10, 15), **HELD)
        wait_until(lambda: queued(filled) == 15, "all have come")
        assert filled.stop() == 0
        assert [one.result() for one in waiting] == [""] * 5
    filled.start()
    assert filled.rows("SELECT count(), sum(k) FROM t") == [["15", "105"]]


def test_kill_9_loses_nothing_that_was_acknowledged(filled):
    acknowledged, lock = set(), threading.Lock()

    def work(client):
        for number in range(100_000):
            key = client * 1_000_000 + number
            try:
                insert(filled, key)
            except (OSError, ServerError):
                return
            with lock:
                acknowledged.add(key)

    for moment in (0.7, 1.3):
        before = len(acknowledged)
        with ThreadPoolExecutor(64) as pool:
            workers = [pool.submit(work, client) for client in range(before, before + 64)]
            wait_until(lambda: len(acknowledged) > before + 200, "some were acknowledged")
            time.sleep(moment)
            os.kill(filled.process.pid, signal.SIGKILL)
            filled.process.wait()
            [worker.result() for worker in workers]
        filled.start()
        found = {int(row[0]) for row in filled.rows("SELECT k FROM t")}
        assert acknowledged <= found
        assert filled.value("SELECT count() = uniqExact(k) FROM t") == "1"


def test_an_insert_that_comes_again_after_a_restart(filled):
    """The ids of INSERTs are in the commit of their rows."""
    filled.query(
        "CREATE TABLE once (p UInt8, k UInt64) ENGINE = MergeTree PARTITION BY p ORDER BY k "
        "SETTINGS non_replicated_deduplication_window = 100"
    )
    rows = "INSERT INTO once VALUES (1, 1), (2, 2)"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: filled.query(rows), range(16)))
    assert filled.value("SELECT count() FROM once") == "2"
    filled.query("INSERT INTO once VALUES (1, 7)", insert_deduplication_token="token")
    filled.kill()
    filled.start()
    filled.query(rows)
    filled.query("INSERT INTO once VALUES (1, 8), (2, 9)", insert_deduplication_token="token")
    assert filled.value("SELECT groupArray(k) FROM (SELECT k FROM once ORDER BY k)") == "[1,2,7,9]"
    assert filled.value("SELECT value FROM system.events WHERE event = 'DuplicatedInsertedBlocks'") == "3"
    assert len(filled.files_named("tmp_insert_*")) == 0
