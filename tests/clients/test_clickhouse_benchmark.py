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
