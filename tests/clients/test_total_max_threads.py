"""`total_max_threads` as its document has it: with the policy `fixed_at_start`, a new query gets min(what its plan recommends,
max_threads), then no more than total_max_threads minus the query threads that run already, and at least 1. Real servers are
started with each value; queries are held open by clients that stop reading."""

import os
import threading
import uuid

import pytest
from server import wait_until

ENDLESS = "SELECT sum(number) FROM numbers_mt(1000000000000)"
# Held queries wait for their clients for as long as a test takes.
PATIENT = "<clickhouse><profiles><default><http_send_timeout>3600</http_send_timeout></default></profiles></clickhouse>"
CORES = len(os.sched_getaffinity(0))


def settings(total_max_threads):
    chosen = {"concurrent_threads_scheduler": "fixed_at_start", "max_concurrent_queries": 1000}
    if total_max_threads is not None:
        chosen["total_max_threads"] = total_max_threads
    return chosen


class Held:
    """Queries of one thread each that stay open until they are let go."""

    def __init__(self, server):
        self.server = server
        self.peers = []

    def hold(self, count):
        for _ in range(count - len(self.peers)):
            peer = self.server.http_peer(receive_buffer=4096)
            name = f"held-{uuid.uuid4()}"
            path = f"/?query=SELECT+number+FROM+system.numbers&max_threads=1&query_id={name}"
            peer.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert peer.receive().startswith(b"HTTP/1.1 200")
            self.peers.append(peer)
        running = "SELECT count() FROM system.processes WHERE startsWith(query_id, 'held-')"
        assert self.server.value(running) == str(count)

    def let_go(self):
        for peer in self.peers:
            peer.reset()
        self.peers.clear()
        wait_until(lambda: self.server.value("SELECT count() FROM system.processes") == "1", "the held queries have ended")


@pytest.fixture
def held():
    holders = []

    def make(server):
        holders.append(Held(server))
        return holders[-1]

    yield make
    for holder in holders:
        for peer in holder.peers:
            peer.reset()


def logged_threads(server, name):
    """How many threads worked on a query at once, by system.query_log."""
    server.query("SYSTEM FLUSH LOGS")
    log = server.rows(
        "SELECT peak_threads_usage, length(thread_ids), length(mapKeys(ProfileEvents)) > 0 FROM system.query_log"
        f" WHERE query_id = '{name}' AND type != 'QueryStart'"
    )
    assert len(log) == 1
    peak, threads, has_events = log[0]
    assert has_events == "1"
    assert int(threads) >= 1
    return int(peak)


def runs_with(server, max_threads, expected):
    """Runs a query that has work without end until it has as many threads as expected; whether it had no more at its end. However busy
    the machine is, the last of them comes once it gets a CPU."""
    name = f"measured-{uuid.uuid4()}"
    running = threading.Thread(target=server.http, kwargs={"body": ENDLESS.encode(), "max_threads": max_threads, "query_id": name})
    running.start()
    now = f"SELECT max(peak_threads_usage) FROM system.processes WHERE query_id = '{name}'"
    try:
        wait_until(lambda: int(server.value(now)) >= expected, f"the query has {expected} threads")
    finally:
        server.query(f"KILL QUERY WHERE query_id = '{name}' SYNC")
        running.join()
    return logged_threads(server, name) == expected


def threads_of_a_query(server, max_threads, sql):
    """Runs a query to its end and reads how many threads worked on it."""
    name = f"measured-{uuid.uuid4()}"
    server.query(sql, max_threads=max_threads, query_id=name)
    return logged_threads(server, name)


@pytest.mark.parametrize(("configured", "shown"), [(None, 0), (0, 0), (200, 200), (-1, -1)])
def test_setting_is_shown(start_server, configured, shown):
    server = start_server(settings=settings(configured))
    row = server.rows("SELECT value, changed FROM system.server_settings WHERE name = 'total_max_threads'")
    assert row in ([[str(shown), "0" if configured is None else "1"]], [[str(2 * CORES), "1"]] if configured == -1 else None)
    scheduler = server.value("SELECT value FROM system.server_settings WHERE name = 'concurrent_threads_scheduler'")
    assert scheduler == "fixed_at_start"


@pytest.mark.parametrize("configured", [None, 0])
def test_unused(start_server, held, configured):
    server = start_server(settings=settings(configured), files={"users.d/patient.xml": PATIENT})
    assert runs_with(server, 16, 16)
    held(server).hold(190)
    assert runs_with(server, 16, 16)


def test_worked_example(start_server, held):
    """total_max_threads = 200, max_threads = 16, 190 running: 10."""
    server = start_server(settings=settings(200), files={"users.d/patient.xml": PATIENT})
    assert runs_with(server, 16, 16)
    holder = held(server)
    for running, expected in [(183, 16), (184, 16), (185, 15), (190, 10), (199, 1), (200, 1), (210, 1)]:
        holder.hold(running)
        assert runs_with(server, 16, expected), f"beside {running} query threads"
    assert runs_with(server, 4, 1)
    holder.let_go()
    assert runs_with(server, 16, 16)


@pytest.mark.parametrize("total", [1, 8, 24])
def test_values(start_server, held, total):
    server = start_server(settings=settings(total), files={"users.d/patient.xml": PATIENT})
    assert runs_with(server, 16, min(16, total))
    assert runs_with(server, 4, min(4, total))
    held(server).hold(3)
    assert runs_with(server, 16, max(1, min(16, total - 3)))


def test_minus_one_is_twice_the_cores(start_server, held):
    server = start_server(settings=settings(-1), files={"users.d/patient.xml": PATIENT})
    total = 2 * CORES
    assert runs_with(server, 1000, total)
    holder = held(server)
    holder.hold(1)
    assert runs_with(server, 1000, max(1, total - 1))
    holder.hold(total + 2)
    assert runs_with(server, 1000, 1)


def test_plan_recommends_fewer(start_server):
    """A query that cannot use more threads does not take them from others."""
    server = start_server(settings=settings(200))
    assert threads_of_a_query(server, 16, "SELECT 1") == 1
    assert threads_of_a_query(server, 16, "SELECT sum(number) FROM numbers(10)") == 1


def test_bad_values(start_server):
    for value in ("many", "-2", "1.5"):
        server = start_server(settings=settings(value), wait=False)
        server.spawn()
        assert server.process.wait(30) != 0
        assert "total_max_threads" in server.log


def test_stride_is_the_default(start_server):
    server = start_server()
    scheduler = server.value("SELECT value FROM system.server_settings WHERE name = 'concurrent_threads_scheduler'")
    assert scheduler == "stride"
    # No query gets more simultaneous workers than there are CPUs, whatever it asks for, nor more than it asks for.
    assert threads_of_a_query(server, 96, "SELECT sum(number) FROM numbers_mt(10000000)") <= CORES
    assert runs_with(server, 1, 1)
