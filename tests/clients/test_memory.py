"""Memory: limits of queries, of users and of the server, and who has to go when several share one that is reached."""

import threading

import pytest
from server import USERS_XML, ServerError

# What does not fit goes to disk, unless it may not.
IN_MEMORY = {"max_bytes_ratio_before_external_group_by": 0}
GROUPS = "SELECT count() FROM (SELECT number AS k, count() FROM numbers_mt({rows}) GROUP BY k)"


def test_a_query_ends_at_its_limit(start_server):
    server = start_server()
    with pytest.raises(ServerError, match=r"Query memory limit exceeded: would use [\d.]+ MiB, maximum: 50.00 MiB") as failed:
        server.query(GROUPS.format(rows=20_000_000), max_memory_usage=50 << 20, **IN_MEMORY)
    assert failed.value.code == 241
    assert server.value(GROUPS.format(rows=2_000_000), max_memory_usage=50 << 20) == "2000000"
    assert server.value("SELECT 1") == "1"


def test_the_limit_of_the_server_stops_one_and_spares_the_others(start_server):
    server = start_server(settings={"max_server_memory_usage": 400 << 20})
    results = {}

    def ask(name, rows, **params):
        try:
            results[name] = server.value(GROUPS.format(rows=rows), query_id=name, **params)
        except ServerError as error:
            results[name] = error

    # The greedy one has a small guarantee; the modest one would fit well alone.
    greedy = threading.Thread(target=ask, args=("greedy", 60_000_000), kwargs={"memory_overcommit_ratio_denominator": 1 << 20, **IN_MEMORY})
    modest = threading.Thread(target=ask, args=("modest", 400_000))
    greedy.start()
    modest.start()
    greedy.join(120)
    modest.join(120)
    assert results["modest"] == "400000"
    assert results["greedy"].code == 241
    # It is stopped between morsels, or asks for a large piece of memory that is not there.
    ended = str(results["greedy"])
    assert "selected to stop by OvercommitTracker" in ended or "(total) memory limit exceeded" in ended
    assert server.value(GROUPS.format(rows=100_000)) == "100000"
    assert server.value("SELECT value FROM system.metrics WHERE metric = 'QueriesWaitingForMemory'") == "0"


def test_the_limit_of_a_user_is_his_own(start_server):
    users = USERS_XML.replace(
        "<profiles>", "<profiles><small><max_memory_usage_for_user>60000000</max_memory_usage_for_user></small>"
    ).replace(
        "<users>", "<users><small><password></password><networks><ip>127.0.0.1</ip></networks><profile>small</profile></small>"
    )
    server = start_server(users_xml=users)
    impatient = {"memory_usage_overcommit_max_wait_microseconds": 0, **IN_MEMORY}
    with pytest.raises(ServerError, match="User memory limit exceeded") as failed:
        server.query(GROUPS.format(rows=20_000_000), user="small", **impatient)
    assert failed.value.code == 241
    # The one that failed may still be freeing its memory: the next waits for it.
    assert server.value(GROUPS.format(rows=2_000_000), user="small") == "2000000"
    assert server.value(GROUPS.format(rows=3_000_000)) == "3000000"
