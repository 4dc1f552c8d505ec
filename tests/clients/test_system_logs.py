"""What the logs say of queries and threads of a real server, and the picture that is made of its traces."""

import subprocess

import pytest
from server import BINARY, installed

LOGS = {"query_log": "", "query_thread_log": "", "trace_log": "", "metric_log": "", "asynchronous_metric_log": ""}
ALL_CPU = {"query_profiler_cpu_time_period_ns": 1_000_000, "query_profiler_real_time_period_ns": 1_000_000}


def flamegraph(server, *args):
    url = f"http://127.0.0.1:{server.http_port}"
    return subprocess.run([BINARY, "flamegraph", "--url", url, *args], capture_output=True, text=True, timeout=300, check=False)


def logged(server, query_id, columns, kind="QueryFinish"):
    server.query("SYSTEM FLUSH LOGS")
    return server.value(f"SELECT {columns} FROM system.query_log WHERE query_id = '{query_id}' AND type = '{kind}'")


def test_a_query_over_http_says_where_it_came_from(start_server):
    server = start_server(settings=LOGS)
    server.query("CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a")
    headers = {"User-Agent": "probe/1", "Referer": "http://here", "X-Forwarded-For": "10.0.0.1"}
    body = b"SELECT b, sumIf(a, a > 1) FROM t GROUP BY b FORMAT JSON"
    response = server.http(body=body, headers=headers, query_id="q", max_threads=3, log_comment="mine", quota_key="k")
    assert response.status == 200
    whence = "interface, http_method, http_user_agent, http_referer, forwarded_for, quota_key, log_comment, current_database"
    assert logged(server, "q", whence) == "HTTP\tPOST\tprobe/1\thttp://here\t10.0.0.1\tk\tmine\tdefault"
    what = "query_kind, tables, columns, used_aggregate_functions, used_aggregate_function_combinators, used_functions, used_formats"
    assert logged(server, "q", what) == (
        "Select\t['default.t']\t['default.t.a','default.t.b']\t['sum']\t['If']\t['greater']\t['JSON']"
    )
    assert logged(server, "q", "Settings['max_threads'], Settings['log_comment'], peak_threads_usage > 0") == "3\tmine\t1"


@pytest.mark.skipif(not installed("clickhouse-client"), reason="clickhouse-client is not installed")
def test_a_query_of_the_native_client_says_who_it_is(start_server):
    server = start_server(settings=LOGS)
    done = server.client("--query_id=n", "--query=SELECT count() FROM numbers(10)")
    assert done.returncode == 0, done.stderr
    whence = "interface, client_name, client_version_major > 0, client_revision > 0, client_hostname != ''"
    assert logged(server, "n", whence) == "TCP\tClickHouse client\t1\t1\t1"
    assert logged(server, "n", "used_table_functions, used_formats") == "['numbers']\t[]"


def test_threads_say_what_each_did(start_server):
    server = start_server(settings=LOGS)
    server.query("CREATE TABLE t (k UInt64, s String) ENGINE = MergeTree ORDER BY k")
    server.query("INSERT INTO t SELECT number, toString(number) FROM numbers(2000000)", query_id="w", log_query_threads=1)
    server.query("SELECT count() FROM (SELECT s FROM t GROUP BY s)", query_id="r", log_query_threads=1)
    server.query("SYSTEM FLUSH LOGS")
    of = "SELECT sum({}) FROM system.query_thread_log WHERE query_id = '{}'"
    assert server.value(of.format("written_rows", "w")) == "2000000"
    assert server.value(of.format("read_rows", "r")) == "2000000"
    assert server.value(of.format("read_bytes", "r")) == logged(server, "r", "read_bytes")
    rows = server.rows(
        "SELECT peak_memory_usage, memory_usage, thread_name, thread_id, ProfileEvents['OSCPUVirtualTimeMicroseconds'] "
        "FROM system.query_thread_log WHERE query_id = 'r' AND read_rows > 0"
    )
    assert rows
    for peak, usage, name, thread, cpu in rows:
        assert int(peak) >= int(usage) and name and int(thread) > 0 and int(cpu) >= 0
    # On a busy machine one thread may have done nearly all.
    assert max(int(row[0]) for row in rows) > 1 << 20 and sum(int(row[4]) for row in rows) > 0


def test_traces_become_a_picture(start_server):
    server = start_server(settings=LOGS)
    server.query("SELECT sum(sipHash64(number)) FROM numbers(50000000)", query_id="traced", **ALL_CPU)
    lines = flamegraph(server, "--query-id", "traced", "--collapsed")
    assert lines.returncode == 0, lines.stderr
    stacks = [line.rsplit(" ", 1) for line in lines.stdout.splitlines()]
    counted = sum(int(count) for _, count in stacks)
    traces = "SELECT count() FROM system.trace_log WHERE query_id = 'traced' AND trace_type = 'CPU' AND notEmpty(trace)"
    assert counted == int(server.value(traces)) > 10
    # From the outside in, by names that people read.
    assert any("squall_engine" in stack and ";" in stack and "_ZN" not in stack for stack, _ in stacks)
    picture = flamegraph(server, "--query-id", "traced", "--type", "real")
    assert picture.returncode == 0, picture.stderr
    assert picture.stdout.startswith("<?xml") and "squall_engine" in picture.stdout
    nothing = flamegraph(server, "--query-id", "nobody")
    assert nothing.returncode == 1 and "No traces." in nothing.stderr


def test_flame_graphs_are_for_those_who_may_look_inside(start_server):
    server = start_server(settings=LOGS)
    statement = b"SELECT flameGraph(['a', 'b'])"
    refused = server.http(body=statement)
    assert refused.headers["X-ClickHouse-Exception-Code"] == "446"
    assert server.http(body=statement, allow_introspection_functions=1).text == "['a;b 1']\n"
