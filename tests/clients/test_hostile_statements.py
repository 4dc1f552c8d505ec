"""No statement takes the process far past its limit, and each ends: with its answer, or with an error that says why not."""

import re
import threading

import pytest
from hostile_statements import STATEMENTS, bodies
from server import Server, wait_until

QUERY_BYTES = 200 << 20
SERVER_BYTES = 1 << 30
# What a step may take beyond the query's limit. The goal is 64 MiB, which scripts/hostile_p99.py measures: on 2026-11-23 one
# statement, uniqExact of strings, took 68, all others at most 64. The allocator's own share of the resident memory wavers from run to run.
BEYOND_BYTES = 128 << 20
LIMITS = {"max_memory_usage": QUERY_BYTES, "max_execution_time": 60, "max_threads": 2}


def resident(process, field):
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1]) << 10


class Limited:
    """A server with a limit, and what it takes at its most."""

    def __init__(self, server):
        self.server = server
        server.query("CREATE TABLE hostile (s String) ENGINE = MergeTree ORDER BY tuple()")
        self.at_rest = resident(server.process, "VmRSS")

    def run(self, hostile):
        """What is wrong with how a statement ended, and the most bytes that the process held beyond what it holds at rest."""
        # What the statement before left is given back by the allocator only with time and other work.
        if resident(self.server.process, "VmRSS") > self.at_rest + (16 << 20):
            self.server.restart()
        with open(f"/proc/{self.server.process.pid}/clear_refs", "w") as clear:
            clear.write("5")
        if hostile.body is None:
            response = self.server.http(body=hostile.sql.encode(), timeout=300, **LIMITS)
        else:
            headers = dict(hostile.headers)
            response = self.server.http(hostile.sql, body=hostile.body, headers=headers, timeout=300, **LIMITS)
        code = response.headers.get("X-ClickHouse-Exception-Code")
        found = re.search(rb"Code: (\d+)\. DB::Exception", response.body)
        code = int(code or (found[1] if found else 0))
        wrong = hostile.check(response.status, code, response.text)
        return wrong, resident(self.server.process, "VmHWM") - self.at_rest


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    settings = {"max_server_memory_usage": SERVER_BYTES}
    server = Server(tmp_path_factory.mktemp("hostile"), settings=settings)
    server.start()
    yield Limited(server)
    assert server.stop() == 0
    assert "panicked" not in server.log


def shown(hostile):
    return f"{hostile.sql[:60]}"


@pytest.mark.parametrize("hostile", STATEMENTS, ids=shown)
def test_a_statement_holds_its_limit(limited, hostile):
    wrong, most = limited.run(hostile)
    assert wrong is None, wrong
    assert most < QUERY_BYTES + BEYOND_BYTES, f"{most >> 20} MiB"
    assert limited.server.value("SELECT 1") == "1"


@pytest.mark.parametrize("hostile", bodies(), ids=shown)
def test_a_body_holds_its_limit(limited, hostile):
    wrong, most = limited.run(hostile)
    assert wrong is None, wrong
    assert most < QUERY_BYTES + BEYOND_BYTES, f"{most >> 20} MiB"
    assert limited.server.value("SELECT 1") == "1"


def test_what_a_storm_held_is_given_back(limited):
    """Whoever frees what a query was charged for, its user's account is at zero afterwards, and admits the next query."""
    limits = {"max_memory_usage_for_user": 300 << 20, "max_block_size": 65409}
    sorting = "SELECT number, toString(number) FROM numbers(2000000) ORDER BY number DESC FORMAT Null"
    streaming = "SELECT repeat(toString(number), 100) FROM numbers(1000000)"
    answers = []

    def run(sql):
        response = limited.server.http(body=sql.encode(), timeout=300, **limits)
        answers.append(response.status)

    threads = [threading.Thread(target=run, args=(sql,)) for sql in [sorting] * 6 + [streaming] * 2]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(answers) == 8

    def held():
        """What the user's account holds; the query that asks is the only one."""
        return int(limited.server.value("SELECT memory_usage FROM system.user_processes WHERE user = 'default'"))

    wait_until(lambda: held() < 8 << 20, "what was held is given back")
    assert limited.server.value("SELECT count() FROM (SELECT number FROM numbers(1000000) ORDER BY number DESC)", **limits) == "1000000"


def test_a_long_stream_takes_no_more_than_its_blocks(limited):
    """Blocks that connections free are given back to the query that made them: 1.2 GB go through it."""
    response = limited.server.http(
        body=b"SELECT repeat(toString(number), 1000) FROM numbers(200000)", timeout=300, max_memory_usage=80 << 20
    )
    assert response.status == 200
    assert response.body.count(b"\n") == 200000, response.body[-300:]


# One row, whose lambda makes tens of thousands of millions of items.
LONG = "SELECT arraySum(arrayMap(x -> arraySum(range(x % 10000)), range(5000000)))"


def test_time_is_over_within_a_block(limited):
    response = limited.server.http(body=LONG.encode(), timeout=300, max_execution_time=1)
    assert b"TIMEOUT_EXCEEDED" in response.body


def test_kill_acts_within_a_block(limited):
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(limited.server.http(body=LONG.encode(), timeout=300, query_id="long_block"))
    )
    thread.start()
    limited.server.until_running("long_block")
    limited.server.query("KILL QUERY WHERE query_id = 'long_block' SYNC")
    thread.join(300)
    assert b"QUERY_WAS_CANCELLED" in answers[0].body
