"""packaging/monitoring in a real Prometheus (Debian's) that asks a real server: what it scrapes, each alert, each panel."""

import json
import re
import subprocess
import urllib.parse
import urllib.request

import pytest
from ports import free_port
from server import ROOT, installed, wait_until

MONITORING = ROOT / "packaging" / "monitoring"

pytestmark = pytest.mark.skipif(not installed("prometheus"), reason="prometheus is not installed")


class Prometheus:
    """A Prometheus with packaging/monitoring's files, which asks the server every second."""

    def __init__(self, folder, server):
        config = (MONITORING / "prometheus.yml").read_text()
        config = config.replace("scrape_interval: 15s", "scrape_interval: 1s\n  evaluation_interval: 1s")
        config = config.replace("127.0.0.1:8123", f"127.0.0.1:{server.http_port}")
        (folder / "prometheus.yml").write_text(config)
        (folder / "alerts.yml").write_text((MONITORING / "alerts.yml").read_text())
        self.port = free_port()
        self.log = folder / "prometheus.log"
        command = [
            "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def get(self, path, **params):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(params)}"
        with urllib.request.urlopen(url, timeout=10) as response:
            answer = json.load(response)
        assert answer["status"] == "success", answer
        return answer["data"]

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def has(self, expression):
        try:
            return bool(self.query(expression))
        except OSError:
            assert self.process.poll() is None, self.log.read_text()
            return False


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory, direct_server):
    running = Prometheus(tmp_path_factory.mktemp("prometheus"), direct_server)
    try:
        direct_server.query("CREATE TABLE told (n UInt64) ORDER BY n")
        scraped = 'ClickHouseHistogramMetrics_query_duration_microseconds_count{query_kind="%s"}'
        wait_until(lambda: running.has(scraped % "Select"), "Prometheus has asked the server")
        # Rates need two samples, before and after.
        for _ in range(3):
            direct_server.query("INSERT INTO told SELECT number FROM numbers(100000)")
            direct_server.query("SELECT sum(number) FROM numbers(3000000) GROUP BY number % 7")
        rate = f"increase({scraped % 'Insert'}[1m]) > 0"
        wait_until(lambda: running.has(rate), "Prometheus has seen the queries")
        yield running
    finally:
        running.process.terminate()
        running.process.wait(30)


def test_the_page_is_read_whole(prometheus, direct_server):
    (target,) = prometheus.get("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    (build,) = prometheus.query("squall_build_info")
    assert build["metric"]["version"] == direct_server.value("SELECT squallVersion()")
    assert build["metric"]["clickhouse_version"] == direct_server.value("SELECT version()")
    assert build["metric"]["revision"] == direct_server.value(
        "SELECT value FROM system.build_options WHERE name = 'GIT_HASH'"
    )
    assert re.fullmatch("[0-9a-f]{40}|", build["metric"]["revision"])
    types = {name: entries[0]["type"] for name, entries in prometheus.get("metadata").items()}
    assert types["ClickHouseHistogramMetrics_query_duration_microseconds"] == "histogram"
    assert types["ClickHouseProfileEvents_Query"] == "counter"


def test_a_quantile_can_be_taken_of_what_took_how_long(prometheus):
    name = "ClickHouseHistogramMetrics_query_duration_microseconds"
    (p99,) = prometheus.query(f'histogram_quantile(0.99, sum by (le) (rate({name}_bucket{{query_kind="Select"}}[1m])))')
    assert 0 < float(p99["value"][1]) < 60e6
    kinds = prometheus.query(f"sum by (query_kind) ({name}_count)")
    assert {kind["metric"]["query_kind"] for kind in kinds} == {"Select", "Insert", "Other"}


def test_no_alert_is_broken_and_none_fires_for_a_healthy_server(prometheus):
    checked = subprocess.run(
        ["promtool", "check", "rules", "--lint=all", "--lint-fatal", MONITORING / "alerts.yml"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    (group,) = prometheus.get("rules")["groups"]
    assert len(group["rules"]) >= 12
    for rule in group["rules"]:
        assert rule.get("lastError", "") == "", rule
        assert rule["annotations"]["summary"] and rule["annotations"]["description"], rule
    firing = [alert["labels"]["alertname"] for alert in prometheus.get("alerts")["alerts"] if alert["state"] == "firing"]
    # A machine that runs tests may be short of disk or memory.
    assert set(firing) <= {"SquallDiskFillsUp", "SquallMemoryHigh"}


def test_alerts_name_metrics_that_there_are(prometheus, direct_server):
    page = direct_server.http(path="/metrics", method="GET").text
    rules = (MONITORING / "alerts.yml").read_text()
    named = set(re.findall(r"ClickHouse\w+", rules))
    # Errors are told once they have happened.
    missing = [name for name in named if name not in page and not name.startswith("ClickHouseErrorMetric_")]
    assert missing == []
    for code in re.findall(r"ClickHouseErrorMetric_(\w+)", rules):
        assert direct_server.value(f"SELECT count() FROM numbers(1000) WHERE errorCodeToName(number) = '{code}'") == "1"


def test_a_fault_of_the_servers_own_is_found_out_at_once(prometheus, tmp_path):
    """A counter that appears with its first error has no rate yet."""
    rule = next(rule for rule in prometheus.get("rules")["groups"][0]["rules"] if rule["name"] == "SquallInternalError")
    (tmp_path / "alerts.yml").write_text((MONITORING / "alerts.yml").read_text())
    name = 'ClickHouseErrorMetric_LOGICAL_ERROR{job="squall", instance="a"}'
    (tmp_path / "test.yml").write_text(
        f"""
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: '{name}'
        values: '_x20 1x30'
    alert_rule_test:
      - {{eval_time: 15m, alertname: {rule['name']}}}
      - eval_time: 25m
        alertname: {rule['name']}
        exp_alerts:
          - exp_labels: {{severity: warning, job: squall, instance: a}}
            exp_annotations:
              summary: Squall on a has met a fault of its own
              description: "One query ended with LOGICAL_ERROR. Its text and where it happened are in the log: please report them."
      - {{eval_time: 45m, alertname: {rule['name']}}}
"""
    )
    tested = subprocess.run(["promtool", "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_panel_of_the_dashboard_can_be_drawn(prometheus):
    dashboard = json.loads((MONITORING / "grafana.json").read_text())
    # What has not happened on this server is told by no series.
    may_be_empty = re.compile("ErrorMetric_|admission_queue_wait")
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$job", "squall").replace("$instance", ".+")
            assert prometheus.has(expression) or may_be_empty.search(expression), (panel["title"], expression)
