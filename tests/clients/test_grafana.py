"""What Grafana's data source plugin for ClickHouse does, over both protocols: health, queries with its macros, results as data frames, and
statements as its query builder makes for dashboards, logs and traces. Grafana's own code is in it, but not the plugin's, which no registry
has: grafana/main.go says what stands for it."""

from program import build, run_checks
from server import wait_until


def test_grafana(server):
    folder = build("grafana", "go")
    run_checks([folder / "program", server.native_port, server.http_port], least=208)


# What the plugin's monitoring dashboard draws, each by a query of its own; but for what Squall does not count: reads and disks on S3, waits
# for I/O, a cache of files, MySQL's protocol.
PROFILE_EVENTS = "Query SelectedRows SelectedBytes InsertedRows OSCPUVirtualTimeMicroseconds OSCPUWaitMicroseconds OSReadBytes OSReadChars".split()
METRICS = "Query Merge MemoryTracking TCPConnection HTTPConnection".split()
ASYNCHRONOUS = """OSUserTimeNormalized OSSystemTimeNormalized LoadAverage15 TotalPartsOfMergeTreeTables MaxPartCountForPartition
    NetworkReceiveBytes_lo NetworkSendBytes_lo""".split()


def test_the_monitoring_dashboard_finds_its_metrics(start_server):
    collect = "<collect_interval_milliseconds>100</collect_interval_milliseconds>"
    server = start_server(settings={"metric_log": collect, "asynchronous_metric_log": "", "asynchronous_metrics_update_period_s": 1})

    def drawn(log, value, where="1"):
        """Whether a chart has a point: of this server, and of all replicas of a cluster that it is alone in."""
        of_time = f"{where} AND event_date >= today() - 1 AND event_time >= now() - 3600 AND event_time <= now()"
        merged = f"merge('system', '^{log}')"
        for source in (merged, f"clusterAllReplicas(default, {merged})"):
            points = server.rows(
                f"SELECT toStartOfInterval(event_time, INTERVAL 10 SECOND) AS t, avg(value) FROM (SELECT event_time, {value} AS value"
                f" FROM {source} WHERE {of_time} GROUP BY event_time) GROUP BY t ORDER BY t WITH FILL STEP 10"
                " SETTINGS skip_unavailable_shards = 1"
            )
            if not points:
                return False
        return True

    def logged():
        server.query("SYSTEM FLUSH LOGS")
        return all(server.value(f"EXISTS system.{log}") == "1" for log in ("metric_log", "asynchronous_metric_log"))

    wait_until(logged, "the logs of metrics are there")
    for column in [f"ProfileEvent_{name}" for name in PROFILE_EVENTS] + [f"CurrentMetric_{name}" for name in METRICS]:
        assert drawn("metric_log", f"sum({column})"), column
    for name in ASYNCHRONOUS:
        assert drawn("asynchronous_metric_log", "sum(value)", f"metric = '{name}'"), name
