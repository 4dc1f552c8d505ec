"""Who may run when too many want to: limits, the queue, the operators' reserve, the automatic limit, and what refused clients hear."""

import threading
import time

import pytest
from server import USERS_XML, ServerError, wait_until

HEAVY = "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)"
USERS = USERS_XML.replace(
    "<profiles>", "<profiles><operator><use_operator_reserve>1</use_operator_reserve></operator>"
).replace(
    "<users>",
    "<users><operator><password></password><networks><ip>127.0.0.1</ip></networks><profile>operator</profile></operator>",
)


class Clients:
    """Clients that ask at once, each in a thread of its own, and what they got."""

    def __init__(self, server):
        self.server = server
        self.threads = []
        self.order = []

    def ask(self, name, sql, **params):
        def work():
            response = self.server.http(body=sql.encode(), query_id=name, **params)
            self.order.append((name, response.status))

        thread = threading.Thread(target=work)
        thread.start()
        self.threads.append(thread)

    def join(self):
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


def held(server, name, **params):
    """A query that runs until it is killed."""
    clients = Clients(server)
    clients.ask(name, HEAVY, **params)
    server.until_running(name)
    return clients


def kill(server, name):
    server.query(f"KILL QUERY WHERE query_id = '{name}' SYNC")


def waiting(server):
    return int(server.value("SELECT value FROM system.metrics WHERE metric = 'QueryPreempted' -- system.processes", user="operator"))


def test_those_who_wait_come_by_priority_then_by_arrival(start_server):
    server = start_server(settings={"max_concurrent_queries": 1}, users_xml=USERS)
    first = held(server, "first")
    clients = Clients(server)
    for number, (name, priority) in enumerate([("low", 9), ("one", 0), ("two", 1)]):
        clients.ask(name, "SELECT sum(sipHash64(number)) FROM numbers(3000000)", priority=priority, queue_max_wait_ms=60000)
        wait_until(lambda: waiting(server) == number + 1, f"{name} waits")
    kill(server, "first")
    clients.join()
    first.join()
    assert sorted(clients.order) == [("low", 200), ("one", 200), ("two", 200)]
    server.query("SYSTEM FLUSH LOGS")
    # One runs after the other, so the order in which they ended is the order in which they ran.
    ended = "SELECT query_id FROM system.query_log WHERE type = 'QueryFinish' AND query_id IN ('low', 'one', 'two') ORDER BY event_time_microseconds"
    assert server.rows(ended) == [["one"], ["two"], ["low"]]


def test_the_time_in_the_queue_is_bounded_and_the_refused_hear_when_to_come_back(start_server):
    server = start_server(settings={"max_concurrent_queries": 1})
    first = held(server, "first")
    begun = time.monotonic()
    response = server.http(body=b"SELECT 1", queue_max_wait_ms=300)
    assert time.monotonic() - begun > 0.25
    assert "Code: 202. DB::Exception: Too many simultaneous queries. Maximum: 1. (TOO_MANY_SIMULTANEOUS_QUERIES)" in response.text
    assert int(response.headers["Retry-After"]) >= 1
    # KILL and looks at the list are let in.
    kill(server, "first")
    first.join()
    assert server.value("SELECT 1") == "1"


def test_a_client_that_goes_away_leaves_the_queue(start_server):
    server = start_server(settings={"max_concurrent_queries": 1}, users_xml=USERS)
    first = held(server, "first")
    peer = server.http_peer()
    peer.send(b"GET /?query=SELECT+1&queue_max_wait_ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n")
    wait_until(lambda: waiting(server) == 1, "it waits")
    peer.close()
    wait_until(lambda: waiting(server) == 0, "it waits no longer")
    kill(server, "first")
    first.join()


def test_limits_of_users_and_kinds(start_server):
    server = start_server(settings={"max_concurrent_select_queries": 2})
    held_queries = [held(server, "a"), held(server, "b")]
    with pytest.raises(ServerError, match="Too many simultaneous select queries. Maximum: 2") as refused:
        server.query("SELECT 1")
    assert refused.value.code == 202
    with pytest.raises(ServerError, match="Too many simultaneous queries for user. Maximum: 2"):
        server.query("EXISTS t", max_concurrent_queries_for_user=2)
    with pytest.raises(ServerError, match="for all users. Maximum: 1"):
        server.query("EXISTS t", max_concurrent_queries_for_all_users=1)
    assert server.value("EXISTS t", max_concurrent_queries_for_user=3) == "0"
    for name in ("a", "b"):
        kill(server, name)
    for clients in held_queries:
        clients.join()


def test_a_dashboard_refreshed_a_thousand_times_leaves_room(start_server):
    server = start_server()
    limits = {"max_concurrent_queries_for_normalized_query_hash": 2}
    held_queries = [held(server, "a", **limits), held(server, "b", **limits)]
    with pytest.raises(ServerError, match="normalized query hash") as refused:
        server.query("SELECT sum(sipHash64(number)) FROM numbers(17)", **limits)
    assert refused.value.code == 202
    assert server.value("SELECT 1", **limits) == "1"
    waits = Clients(server)
    waits.ask("c", "SELECT sum(sipHash64(number)) FROM numbers(5)", queue_max_wait_ms_for_normalized_query_hash=60000, **limits)
    kill(server, "a")
    waits.join()
    assert waits.order == [("c", 200)]
    kill(server, "b")
    for clients in held_queries:
        clients.join()


def test_a_full_server_refuses_without_parsing(start_server):
    """What has to be known to be let in is still looked at: settings of the statement, and looks at who fills the server."""
    server = start_server(settings={"max_concurrent_queries": 1}, users_xml=USERS)
    first = held(server, "first")
    for number in range(3):
        assert server.error_code(f"SELECT {number} AS one FROM nowhere") == 202
    assert server.error_code("SELEC 1") == 62
    assert server.value("SELECT count() FROM system.processes WHERE query_id = 'first'") == "1"
    assert server.value("SELECT 4 AS four", user="operator") == "4"
    waiter = Clients(server)
    waiter.ask("waiter", "SELECT 5 SETTINGS queue_max_wait_ms = 60000")
    wait_until(lambda: waiting(server) == 1, "the statement's own setting lets it wait")
    kill(server, "first")
    waiter.join()
    first.join()
    assert waiter.order == [("waiter", 200)]
    server.query("SYSTEM FLUSH LOGS")
    logged = "SELECT count(), any(query_kind), uniq(normalized_query_hash), min(normalized_query_hash) > 0 FROM system.query_log WHERE exception_code = 202"
    assert server.rows(logged) == [["3", "Select", "1", "1"]]


def test_an_operator_always_gets_in(start_server):
    server = start_server(settings={"max_concurrent_queries": 1}, users_xml=USERS)
    first = held(server, "first")
    assert server.value("SELECT count() FROM system.metrics WHERE metric = 'Query'", user="operator") == "1"
    # Nobody makes himself an operator.
    with pytest.raises(ServerError, match="Too many simultaneous queries"):
        server.query("SELECT 2", use_operator_reserve=1)
    kill(server, "first")
    first.join()


def test_limits_change_while_the_server_runs(start_server):
    server = start_server(settings={"max_concurrent_queries": 1})
    first = held(server, "first")
    clients = Clients(server)
    clients.ask("waits", "SELECT 1", queue_max_wait_ms=60000)
    server.settings["max_concurrent_queries"] = 5
    server.write_configuration()
    server.query("SYSTEM RELOAD CONFIG -- system.processes")
    clients.join()
    assert clients.order == [("waits", 200)]
    assert server.value("SELECT value FROM system.server_settings WHERE name = 'max_concurrent_queries'") == "5"
    kill(server, "first")
    first.join()


def test_the_automatic_limit_finds_its_place(start_server):
    server = start_server(settings={"max_concurrent_queries": "auto"}, users_xml=USERS)

    def limit():
        return int(server.value("SELECT value FROM system.metrics WHERE metric = 'AdmissionLimit'", user="operator"))

    begin = limit()
    assert begin >= 3
    assert server.value("SELECT value FROM system.server_settings WHERE name = 'max_concurrent_queries'") == "auto"
    # More heavy queries than places: all are served, in turns.
    clients = Clients(server)
    for number in range(3 * begin):
        clients.ask(f"q{number}", "SELECT sum(sipHash64(number)) FROM numbers(3000000)", queue_max_wait_ms=60000)
    clients.join()
    assert [status for _, status in clients.order] == [200] * (3 * begin)
    # It has learnt from them, and stays near what two CPUs serve: neither starved nor open to everybody.
    assert 2 <= limit() <= 4 * begin


def test_an_overloaded_server_refuses_by_chance(start_server):
    server = start_server(settings={"os_cpu_busy_time_threshold": 1})
    heavy = held(server, "heavy", max_threads=2)
    # The ratio of waiting to working is above a millionth whenever threads share a machine with others.
    thresholds = {"min_os_cpu_wait_time_ratio_to_throw": 0, "max_os_cpu_wait_time_ratio_to_throw": 0.000001}

    def is_refused():
        try:
            server.query("SELECT 1", **thresholds)
        except ServerError as error:
            assert error.code == 745
            return True
        return False

    wait_until(is_refused, "the server says that it is overloaded")
    assert server.value("SELECT 1") == "1"
    kill(server, "heavy")
    heavy.join()
