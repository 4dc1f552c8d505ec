"""The thread pool seen from outside: its metrics, in all and per query, its limits changed while the server runs, and the error where
it takes no more jobs. With the policy `fixed_at_start` each query has threads of its own, which come from the pool."""

import uuid

import pytest
from server import ServerError, wait_until

HEAVY = "SELECT sum(number) FROM numbers_mt(10000000)"
FIXED = {"concurrent_threads_scheduler": "fixed_at_start"}


def hold(server):
    """A query that holds a thread of the pool until its client is gone."""
    peer = server.http_peer(receive_buffer=4096)
    path = f"/?query=SELECT+number+FROM+system.numbers&max_threads=1&query_id=held-{uuid.uuid4()}"
    peer.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert peer.receive().startswith(b"HTTP/1.1 200")
    return peer


def metric(server, name):
    return int(server.value(f"SELECT value FROM system.metrics WHERE metric = '{name}'"))


def event(server, name):
    rows = server.rows(f"SELECT value FROM system.events WHERE event = '{name}'")
    return int(rows[0][0]) if rows else 0


def test_a_query_knows_what_the_pools_did_for_it(start_server):
    server = start_server(settings=FIXED)
    name = f"measured-{uuid.uuid4()}"
    server.query(HEAVY, max_threads=4, query_id=name)
    server.query("SYSTEM FLUSH LOGS")
    names = ["LocalThreadPoolJobs", "LocalThreadPoolExpansions", "GlobalThreadPoolJobs", "LocalThreadPoolBusyMicroseconds"]
    columns = ", ".join(f"ProfileEvents['{event}']" for event in names)
    rows = server.rows(f"SELECT {columns} FROM system.query_log WHERE query_id = '{name}' AND type = 'QueryFinish'")
    jobs, borrowed, global_jobs, busy_us = map(int, rows[0])
    assert jobs == 4
    assert 1 <= borrowed <= 4
    assert global_jobs == borrowed
    assert busy_us > 0


def test_threads_that_were_borrowed_go_back(start_server):
    server = start_server(settings=FIXED)
    for _ in range(20):
        server.query(HEAVY, max_threads=3)
    wait_until(lambda: metric(server, "LocalThread") == 0, "the queries' threads go back")
    wait_until(
        lambda: event(server, "LocalThreadPoolExpansions") == event(server, "LocalThreadPoolShrinks") > 0,
        "as many threads go back as were borrowed",
    )
    assert event(server, "GlobalThreadPoolJobs") >= event(server, "LocalThreadPoolExpansions")
    # The pool keeps them: the same threads run query after query, and few more are there than are needed.
    assert event(server, "GlobalThreadPoolExpansions") <= 30
    assert metric(server, "GlobalThread") == event(server, "GlobalThreadPoolExpansions")
    assert metric(server, "LocalThreadActive") == metric(server, "LocalThreadScheduled") == 0


def test_limits_change_while_the_server_runs(start_server):
    server = start_server(settings={**FIXED, "max_thread_pool_size": 2})
    peers = [hold(server), hold(server)]
    assert metric(server, "GlobalThread") == metric(server, "GlobalThreadActive") == 2
    # The next query's thread waits for one of theirs, until there may be more.
    waiting = server.http_peer()
    waiting.send(b"GET /?query=SELECT+sum(number)+FROM+numbers_mt(10000000)&max_threads=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: metric(server, "GlobalThreadScheduled") >= 3, "the third query's thread waits")
    assert metric(server, "GlobalThread") == 2
    server.settings["max_thread_pool_size"] = 100
    server.write_configuration()
    server.query("SYSTEM RELOAD CONFIG")
    assert waiting.receive().startswith(b"HTTP/1.1 200")
    assert server.value("SELECT value FROM system.server_settings WHERE name = 'max_thread_pool_size'") == "100"
    for peer in peers:
        peer.reset()


def test_a_full_queue_is_an_error_of_the_query(start_server):
    server = start_server(settings={**FIXED, "max_thread_pool_size": 1, "thread_pool_queue_size": 1})
    peer = hold(server)
    with pytest.raises(ServerError, match=r"no free thread \(threads=1, jobs=1\)") as refused:
        server.query(HEAVY, max_threads=1)
    assert refused.value.code == 439
    peer.reset()

    def is_answered():
        try:
            return server.value(HEAVY, max_threads=1) == "49999995000000"
        except ServerError as error:
            assert error.code == 439
            return False

    wait_until(is_answered, "the held query has ended, and its thread runs another")
