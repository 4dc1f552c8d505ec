"""`squall storm`: loads by every protocol on a real server, the suite with a scenario of a user's own, and the report of its results."""

import csv
import json
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from ports import free_port
from server import BINARY, Server
from test_tls import Secure


def storm(*arguments, check=True, **options):
    command = [BINARY, "storm", *map(str, arguments)]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert not check or outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome


def run(*arguments):
    return json.loads(storm("run", *arguments, "--format", "json").stdout)


@pytest.fixture(scope="module")
def shared_secure(tmp_path_factory):
    servers = []

    def start(folder, settings):
        servers.append(Server(folder, settings=settings).start())
        return servers[-1]

    yield Secure(start, tmp_path_factory.mktemp("storm"))
    for server in servers:
        server.kill()


@pytest.fixture(params=["http", "https", "tcp", "tcps"])
def url(request, shared_secure):
    ports = {
        "http": shared_secure.server.http_port,
        "https": shared_secure.https_port,
        "tcp": shared_secure.server.native_port,
        "tcps": shared_secure.native_port,
    }
    return f"{request.param}://localhost:{ports[request.param]}"


@pytest.mark.parametrize("extra", [[], ["--reconnect"], ["--compression", "off"]], ids=["kept", "reconnect", "plain"])
def test_every_protocol_answers_rightly(url, shared_secure, extra):
    query = "SELECT number, toString(number) FROM numbers(3)"
    outcome = run(url, "-q", query, "-c", 5, "-n", 200, "--ca", shared_secure.ca_file, "--expect", "0\t0\n1\t1\n2\t2", *extra)
    assert (outcome["total"]["answers"], outcome["total"]["errors"]) == (200, 0)
    assert list(outcome["total"]["latency_seconds"]) == sorted(outcome["total"]["latency_seconds"], key=float)


def test_wrong_answers_and_exceptions_are_errors(url):
    wrong = run(url, "--insecure", "-c", 2, "-n", 20, "-q", "SELECT 1", "-q", "failing=SELECT throwIf(1)", "-q", "SELECT rand64()", "--seed", 1)
    classes = wrong["classes"]
    assert classes["failing"]["answers"] == 0
    assert set(classes["failing"]["errors_by_kind"]) <= {"exception 395 FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"}
    assert set(classes["all"]["errors_by_kind"]) == {"wrong answer"}
    assert classes["all"]["answers"] + classes["all"]["errors"] + classes["failing"]["errors"] == 20


def test_an_unknown_authority_is_refused(shared_secure):
    outcome = storm("run", f"https://localhost:{shared_secure.https_port}/ping", "-n", 1, check=False)
    assert outcome.returncode != 0 and "connect:" in outcome.stdout and "UnknownIssuer" in outcome.stdout


def test_parameters_weights_and_the_open_loop(server):
    url = f"tcp://127.0.0.1:{server.native_port}"
    outcome = run(
        url, "-q", "lookup@9=SELECT {id} = {id}, {id} BETWEEN 5 AND 7", "-q", "report=SELECT count() FROM numbers(10)",
        "-p", "id=range(5, 7)", "--expect", "1\t1", "--rate", 200, "-n", 200, "-c", 20, "--seed", 1,
    )  # fmt: skip
    lookup, report = outcome["classes"]["lookup"], outcome["classes"]["report"]
    assert lookup["errors"] == 0 and lookup["answers"] > 3 * report["errors"] > 0
    assert set(report["errors_by_kind"]) == {"wrong answer"}


def test_a_thousand_connections_in_one_process(server):
    for url in (f"http://127.0.0.1:{server.http_port}", f"tcp://127.0.0.1:{server.native_port}"):
        total = run(url, "-q", "SELECT 1", "-c", 1000, "-n", 5000, "--idle", 200)
        assert (total["total"]["answers"], total["total"]["errors"]) == (5000, 0)
        assert total["idle_connections_open"] == 200


def test_a_server_that_is_gone_is_an_error():
    outcome = storm("run", f"http://127.0.0.1:{free_port()}/ping", "-n", 3, check=False)
    assert outcome.returncode != 0 and "refused" in outcome.stdout + outcome.stderr


SCENARIO = """
description = "a lookup"
name = "lookup_{granularity}"
concurrency = [1, 2, 3]
seconds = 0.3
[matrix]
granularity = [16, 64]
[scaled]
rows = 1000
[ask]
key = "SELECT max(id) FROM numbered"
[[variant]]
protocol = "http"
[[variant]]
protocol = "tcps"
[[query]]
subtype = ["hit"]
sql = "SELECT value FROM numbered WHERE id = {key}"
expect = "k499"
[[query]]
subtype = ["no such function"]
sql = "SELECT no_such_function()"
"""
SETUP = """
CREATE TABLE numbered (id UInt64, value String) ENGINE = MergeTree ORDER BY id SETTINGS index_granularity = {granularity};
INSERT INTO numbered SELECT number, concat('k', toString(number)) FROM numbers({rows});
"""


def test_a_suite_of_ones_own_goes_on_reports_and_compares(tmp_path):
    folder = tmp_path / "scenarios" / "lookup"
    (folder / "config.d").mkdir(parents=True)
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "setup.sql").write_text(SETUP)
    (folder / "config.d" / "log.xml").write_text("<yandex><logger><level replace='replace'>trace</level></logger></yandex>")
    output = tmp_path / "results"
    arguments = ["suite", "--scenarios", folder.parent, "--server", "squall", "--output", output, "--scale", 0.5, "--rounds", 2]
    first = storm(*arguments)
    results = output / "results.csv"
    rows = list(csv.DictReader(results.open()))
    # Two granularities, two variants, three numbers of clients, two rounds.
    assert len(rows) == 24 and len(rows[0]) == 42
    assert {row["errors"] for row in rows} == {"0"} and all(float(row["QPS"]) > 0 for row in rows)
    assert {row["test_name"] for row in rows} == {"lookup_16", "lookup_64"}
    assert "Left out" in first.stdout and "no_such_function" in first.stdout
    logs = output / "servers" / "lookup_16" / "Squall"
    assert "<Debug>" in (logs / "server.log").read_text() and not (logs / "data").exists()

    # It was interrupted within its 5th row.
    lines = results.read_text().splitlines(keepends=True)
    results.write_text("".join(lines[:5]) + lines[5][:20])
    storm(*arguments)
    again = list(csv.DictReader(results.open()))
    assert len(again) == 24 and again[:4] == rows[:4]

    page = tmp_path / "report.html"
    storm("report", results, "--output", page, "--charts", tmp_path / "charts")
    html = page.read_text()
    assert "Squall answered every request" in html and html.count("<svg ") == 6 and "http://" not in html.replace("http://www.w3.org/", "")
    charts = sorted((tmp_path / "charts").iterdir())
    assert [chart.name for chart in charts if chart.suffix == ".png"] == [f"lookup_{g}_{n}.png" for g in (16, 64) for n in (1, 2, 3)]
    assert len(charts) == 12 and all(chart.read_bytes().startswith(b"\x89PNG") for chart in charts if chart.suffix == ".png")
    few = tmp_path / "few.csv"
    with few.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row for row in rows if row["test_name"] != "lookup_64" or row["concurrency"] == "1")
    said = storm("report", few, "--output", tmp_path / "few.html", "--charts", tmp_path / "few").stdout
    assert "No charts of tests" in said and "lookup_64 (1)" in said and "lookup_16" not in said, said
    assert "lookup_{granularity}, config.d/log.xml: &lt;yandex&gt;" in html
    compared = storm("compare", results, results, "--all").stdout
    assert "of 12 steps in both, 0 worse, 0 better, 12 the same within noise" in compared, compared


NGINX = Path(__file__).parents[2] / "crates/storm/scenarios/018_select_1_http_behind_nginx"


@pytest.mark.skipif(not Path("/usr/sbin/nginx").exists(), reason="nginx is not installed")
def test_a_scenario_that_extends_another_goes_through_nginx(tmp_path):
    shutil.copytree(NGINX, tmp_path / "scenarios" / "nginx")
    own = tmp_path / "scenarios" / "own"
    own.mkdir()
    (own / "scenario.toml").write_text("extends = 'nginx'\ndescription = 'x'\nseconds = 0.1\n[[query]]\nsql = 'SELECT 7'\nexpect = '7'")
    output = tmp_path / "results"
    arguments = ["suite", "--scenarios", own.parent, "--only", "own", "--server", "squall", "--output", output, "--concurrency", "1,8"]
    outcome = storm(*arguments)
    rows = list(csv.DictReader((output / "results.csv").open()))
    assert [row["proxy"] for row in rows] == ["nginx"] * 4 + [""] * 2, outcome.stdout
    assert {(row["errors"], row["test_name"]) for row in rows} == {("0", "own")} and all(float(row["QPS"]) > 0 for row in rows)
    assert "behind nginx, a new connection each" in outcome.stdout
    kept = output / "servers" / "own" / "Squall" / "nginx"
    listen = re.search(r"listen 127\.0\.0\.1:(\d+)", (kept / "nginx.conf").read_text())[1]
    with socket.socket() as gone:
        assert gone.connect_ex(("127.0.0.1", int(listen))) != 0
    assert not (kept / "temp").exists()


@pytest.mark.parametrize("text,what", [("description = 'x'", "at least one"), ("rows = 1", "unknown field")])
def test_scenarios_with_mistakes_are_refused(tmp_path, text, what):
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "scenario.toml").write_text(text)
    outcome = storm("suite", "--scenarios", tmp_path, "--output", tmp_path / "results", check=False)
    assert outcome.returncode != 0 and "scenario.toml" in outcome.stderr and what in outcome.stderr, outcome.stderr
