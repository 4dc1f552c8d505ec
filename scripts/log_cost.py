#!/usr/bin/env python3
"""What the logs that are tables cost: `SELECT 1` over HTTP keep-alive on two servers in turns, one with all logs, one with none.

    scripts/log_cost.py --squall target/release/squall [--rounds 5] [--seconds 10] [--connections 64]

Prints for each round queries a second and CPU time a query of both, from the kernel's accounting of the servers' threads, and
in the end the medians and their ratios. CPU time a query hardly depends on what else the machine does; queries a second want it quiet.
What is in the log afterwards is counted: every query is either there or among those that were dropped because too many waited.
"""

import argparse
import pathlib
import statistics
import tempfile
import urllib.parse

from measured_server import MeasuredServer, add_arguments, turns
from ports import free_port

QUERY = "/?" + urllib.parse.urlencode({"query": "SELECT 1"})
LOGS = ["query_log", "query_thread_log", "metric_log", "asynchronous_metric_log", "trace_log", "text_log"]
# Below this level the text log gets lines of every query, which is asked for with --text-log-level.
TEXT_LOG_LEVEL = "information"
# Threads that write logs or collect what goes there; all others answer queries.
LOG_THREADS = {"SystemLogs", "Metrics"}


class Server(MeasuredServer):
    """One with or without logs."""

    def __init__(self, program, folder, logs, text_log_level=TEXT_LOG_LEVEL):
        port = free_port()
        folder.mkdir()
        config = folder / "config.xml"
        level = f"<level>{text_log_level}</level>"
        elements = "".join(f"<{name}>{level if name == 'text_log' else ''}</{name}>" for name in logs)
        config.write_text(
            f"<clickhouse><http_port>{port}</http_port><path>{folder}/data</path>"
            f"<logger><level>warning</level></logger>{elements}</clickhouse>"
        )
        super().__init__([program, "server", "--config-file", config], port, folder)

    def logging_ns(self):
        """CPU time so far of the threads that log."""
        logging = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                if (task / "comm").read_text().strip() in LOG_THREADS:
                    logging += int((task / "schedstat").read_text().split()[0])
            except OSError:
                pass  # It has just ended, and is none of those, which stay.
        return logging

    def event(self, name):
        return int(self.ask(f"SELECT sum(value) FROM system.events WHERE event = '{name}'"))

    def measure(self, seconds, connections):
        """Queries a second, CPU microseconds a query of the threads that answer and of those that log."""
        before = self.cpu_ns(), self.logging_ns()
        requests, elapsed = self.storm(QUERY, seconds, connections)
        total, logging = self.cpu_ns() - before[0], self.logging_ns() - before[1]
        return requests / elapsed, (total - logging) / 1e3 / requests, logging / 1e3 / requests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--logs", default=",".join(LOGS), help="the logs to have on, comma-separated")
    parser.add_argument("--text-log-level", default=TEXT_LOG_LEVEL, help="of text_log")
    args = parser.parse_args()

    results = {"off": [], "on": []}
    with tempfile.TemporaryDirectory(prefix="squall-log-cost-") as folder:
        folder = pathlib.Path(folder)
        servers = {
            "off": Server(args.squall, folder / "off", []),
            "on": Server(args.squall, folder / "on", args.logs.split(","), args.text_log_level),
        }
        for server in servers.values():
            server.storm(QUERY, 2, args.connections)
        servers["on"].ask("SYSTEM FLUSH LOGS")
        print(f"{'':14} {'queries/s':>10} {'µs answering':>13} {'µs logging':>11}")
        for number, name in turns(servers, args.rounds):
            result = servers[name].measure(args.seconds, args.connections)
            results[name].append(result)
            print(f"round {number} {name:>4}  {result[0]:>10.0f} {result[1]:>13.3f} {result[2]:>11.3f}", flush=True)
            if name == "on":
                # What waits is written before the other is measured.
                servers[name].ask("SYSTEM FLUSH LOGS")
        median = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in results.items()}
        for name, (qps, answering, logging) in median.items():
            print(f"median {name:>6}  {qps:>10.0f} {answering:>13.3f} {logging:>11.3f}")
        (qps_off, *cpu_off), (qps_on, *cpu_on) = median["off"], median["on"]
        print(f"Logs cost {100 * (1 - qps_on / qps_off):.2f} % of queries a second")
        print(f"          {100 * (sum(cpu_on) / sum(cpu_off) - 1):.2f} % more CPU time a query", end=" ")
        print(f"({100 * (cpu_on[0] / sum(cpu_off) - 1):.2f} % in threads that answer)")
        if "query_log" in args.logs:
            on = servers["on"]
            queries, dropped = on.event("Query"), on.event("SystemLogEntriesDropped")
            on.ask("SYSTEM FLUSH LOGS")
            written = int(on.ask("SELECT count() FROM system.query_log WHERE type != 'QueryStart'"))
            print(f"Of {queries} queries {written} are in system.query_log; {dropped} entries were dropped")
        for server in servers.values():
            server.stop()


if __name__ == "__main__":
    main()
