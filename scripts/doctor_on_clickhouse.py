#!/usr/bin/env python3
"""`squall doctor` on ClickHouse's newest release: chdb (PyPI) behind a small HTTP server, with a metric_log and an asynchronous_metric_log of all
columns that a server of that release would have, once as of a healthy day and once with the incident of docs/idle_threads.md in it. Ends with an error
where the doctor says something else than it should.

    scripts/doctor_on_clickhouse.py target/release/squall
"""

import http.server
import json
import subprocess
import sys
import threading
import urllib.parse

from chdb.session import Session

LOCK = threading.Lock()
SESSION = Session()
MINUTES = 60


def ask(sql):
    with LOCK:
        return str(SESSION.query(sql, "TSV"))


class Handler(http.server.BaseHTTPRequestHandler):
    """ClickHouse's HTTP interface, as far as the doctor needs it."""

    def answer(self, sql):
        try:
            status, body = 200, ask(sql).encode()
        except Exception as error:  # noqa: BLE001: whatever it is, it is the answer.
            status, body = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query", ["SELECT 1"])[0])

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query", [""])[0]
        self.answer(query + body)

    def log_message(self, *_):
        pass


def make_logs(is_sick):
    """A row a second of an hour; in the sick one the pool goes up and down between 1,000 and 4,718 threads beside idle ones for ten minutes."""
    metrics = ask("SELECT metric FROM system.metrics").split()
    events = ask("SELECT event FROM system.events SETTINGS system_events_show_zero_values = 1").split()
    columns = [f"ProfileEvent_{event} UInt64" for event in events] + [f"CurrentMetric_{metric} Int64" for metric in metrics]
    ask("DROP TABLE IF EXISTS system.metric_log SYNC")
    ask("DROP TABLE IF EXISTS system.asynchronous_metric_log SYNC")
    ask(f"CREATE TABLE system.metric_log (event_date Date, event_time DateTime, {', '.join(columns)}) ENGINE = MergeTree ORDER BY event_time")
    ask(
        "CREATE TABLE system.asynchronous_metric_log (event_date Date, event_time DateTime, metric LowCardinality(String), value Float64)"
        " ENGINE = MergeTree ORDER BY event_time"
    )
    seconds = MINUTES * 60
    sick = f"({int(is_sick)} AND number BETWEEN 1200 AND 1800)"
    ask(
        "INSERT INTO system.metric_log (event_date, event_time, CurrentMetric_Query, CurrentMetric_GlobalThread, CurrentMetric_GlobalThreadActive,"
        " ProfileEvent_LocalThreadPoolBusyMicroseconds, ProfileEvent_LocalThreadPoolJobWaitTimeMicroseconds,"
        " ProfileEvent_GlobalThreadPoolLockWaitMicroseconds)"
        f" SELECT today(), now() - {seconds} + number AS t, {sick} ? 900 : 3, {sick} ? (number % 60 < 30 ? 4718 : 1000) : 800 + number % 3,"
        f" {sick} ? 700 : 500, 1000000, {sick} ? 950000 : 100, {sick} ? 9000000 : 10 FROM numbers({seconds})"
    )
    for metric, when_sick, else_ in (("LoadAverage1", 3272.61, 0.87), ("OSIdleTimeNormalized", 0.4, 0.7)):
        ask(
            "INSERT INTO system.asynchronous_metric_log"
            f" SELECT today(), now() - {seconds} + number, '{metric}', {sick} ? {when_sick} : {else_} FROM numbers({seconds})"
        )


def verdicts(squall, url):
    done = subprocess.run([squall, "doctor", "--url", url, "--seconds", "2", "--cpus", "64", "--json"], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    print(f"ClickHouse {report['evidence']['version']}")
    for finding in report["findings"]:
        print(f"  {finding['verdict']:>9}  {finding['symptom']}: {finding['evidence']}")
    return [finding["verdict"] for finding in report["findings"]], done.returncode


def main():
    squall = sys.argv[1] if len(sys.argv) > 1 else "target/release/squall"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    make_logs(is_sick=True)
    found, status = verdicts(squall, url)
    # How fast chdb answers SELECT 1 here is no part of the logs.
    assert found[:4] == ["found"] * 4 and status == 1, found
    make_logs(is_sick=False)
    found, _ = verdicts(squall, url)
    assert found[1:4] == ["not_found"] * 3, found


if __name__ == "__main__":
    main()
