"""Debian's clickhouse-benchmark 18.16 and `squall benchmark`, which has the same flags."""

import json
import subprocess

import pytest
from server import BINARY, installed

needs_debian = pytest.mark.skipif(not installed("clickhouse-benchmark"), reason="clickhouse-benchmark is not installed")
PROGRAMS = [pytest.param(["clickhouse-benchmark"], marks=needs_debian, id="debian"), pytest.param([BINARY, "benchmark"], id="own")]


def run(server, program, *args, queries):
    command = [*program, "--host=127.0.0.1", f"--port={server.native_port}", *args]
    return subprocess.run(command, input=queries.encode(), capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_iterations_and_json(server, program, tmp_path):
    report = tmp_path / "report.json"
    outcome = run(
        server, program, "-c", "4", "-i", "200", "-d", "0", "--json", str(report), "--max_threads=2",
        queries="SELECT count() FROM numbers(1000)\nSELECT 1\n",
    )  # fmt: skip
    text = outcome.stderr.decode()
    assert outcome.returncode == 0, text
    assert "Queries executed: 200" in text and "QPS: " in text and "99.990%" in text
    statistics = json.loads(report.read_text())["statistics"]
    assert statistics["num_queries"] == 200
    assert statistics["QPS"] > 0


@pytest.mark.parametrize("program", PROGRAMS)
def test_time_limit(server, program):
    outcome = run(server, program, "-c", "20", "-t", "1", "-d", "0", "--max_threads=96", queries="SELECT sum(number) FROM numbers(100000)\n")
    assert outcome.returncode == 0, outcome.stderr.decode()
    assert "time limit is exhausted" in outcome.stdout.decode()


@pytest.mark.parametrize("program", PROGRAMS)
def test_error_stops_the_run(server, program):
    outcome = run(server, program, "-c", "2", "-i", "100", queries="SELECT no_such_column\n")
    assert outcome.returncode != 0
    text = outcome.stdout.decode() + outcome.stderr.decode()
    assert "An error occurred while processing query:" in text and "no_such_column" in text


@pytest.mark.parametrize("program", PROGRAMS)
def test_rows_read_are_counted(server, program, tmp_path):
    report = tmp_path / "report.json"
    outcome = run(server, program, "-i", "10", "-d", "0", "--json", str(report), queries="SELECT sum(number) FROM numbers(1000000)\n")
    assert outcome.returncode == 0, outcome.stderr.decode()
    statistics = json.loads(report.read_text())["statistics"]
    # Every query reads a million rows and answers with one.
    assert statistics["RPS"] / statistics["RPS_result"] == pytest.approx(1_000_000, rel=0.01)


OWN = [BINARY, "benchmark"]


def test_scripts_query_ids_and_new_connections(server):
    script = "-- a comment;\nSELECT ';', query_id(),\n 1; SELECT 2;"
    outcome = run(
        server, OWN, "-i", "40", "-d", "0", "-c", "4", "--queries-format", "script", "--query_id_prefix", "bench", "--reconnect", "3", "--log_queries=1",
        queries=script,
    )  # fmt: skip
    assert outcome.returncode == 0 and "Loaded 2 queries" in outcome.stderr.decode(), outcome.stderr.decode()
    outcome = run(server, OWN, "-i", "5", "-d", "0", "--query_id", "fixed", queries="SELECT throwIf(query_id() != 'fixed', 'a\\\\tb')\n")
    assert outcome.returncode == 0, outcome.stderr.decode()


def test_concurrency_grows_with_a_report_of_each(server):
    outcome = run(server, OWN, "-c", "2", "-C", "4", "-d", "0.2", queries="SELECT 1\n")
    text = outcome.stderr.decode()
    assert outcome.returncode == 0, text
    assert [line for line in text.splitlines() if line.startswith("Concurrency: ")] == ["Concurrency: 2", "Concurrency: 3", "Concurrency: 4"]


def test_failures_in_a_row_stop_the_run(server):
    failing = "SELECT throwIf(1)\nSELECT throwIf(1)\nSELECT 1\n"
    # Never three in a row.
    outcome = run(server, OWN, "-i", "30", "-d", "0", "--max-consecutive-errors", "3", queries=failing)
    assert outcome.returncode == 0 and "errors 20" in outcome.stderr.decode(), outcome.stderr.decode()
    outcome = run(server, OWN, "-i", "30", "-d", "0", "--max-consecutive-errors", "2", queries=failing)
    assert outcome.returncode != 0 and "throwIf" in outcome.stderr.decode()


def test_servers_as_one(server):
    outcome = run(server, OWN, "--host=127.0.0.1", f"--port={server.native_port}", "--roundrobin", "-i", "20", "-d", "0", queries="SELECT 1\n")
    text = outcome.stderr.decode()
    assert outcome.returncode == 0 and "queries 20, " in text and "Difference" not in text, text


def test_quota_keys_arrive(server):
    query = "SELECT throwIf(max(quota_key = 'share') = 0) FROM system.processes\n"
    outcome = run(server, OWN, "-i", "3", "-d", "0", "--quota_key", "share", "--proto_caps", "chunked_optional", "--verbose", queries=query)
    assert outcome.returncode == 0, outcome.stderr.decode()
    outcome = run(server, OWN, "-i", "3", "-d", "0", "--proto_caps", "chunked", queries=query)
    assert outcome.returncode != 0 and "chunked_optional" in outcome.stderr.decode()
