#!/usr/bin/env python3
"""What the logs that are tables cost: `SELECT 1` over HTTP keep-alive on two servers in turns, one with all logs, one with none.

    scripts/log_cost.py --squall target/release/squall [--rounds 5] [--seconds 10] [--connections 64]

Needs `wrk`. Prints for each round queries a second and CPU time a query of both, from the kernel's accounting of the servers' threads, and
in the end the medians and their ratios. CPU time a query hardly depends on what else the machine does; queries a second want it quiet.
What is in the log afterwards is counted: every query is either there or among those that were dropped because too many waited.
"""

import argparse
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

LOGS = ["query_log", "query_thread_log", "metric_log", "asynchronous_metric_log", "trace_log", "text_log"]
# Below this level the text log gets lines of every query, which is asked for with --text-log-level.
TEXT_LOG_LEVEL = "information"
# Threads that write logs or collect what goes there; all others answer queries.
LOG_THREADS = {"SystemLogs", "Metrics"}
READY_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A server of its own, with or without logs."""

    def __init__(self, program, folder, logs, text_log_level=TEXT_LOG_LEVEL):
        self.port = free_port()
        folder.mkdir()
        config = folder / "config.xml"
        level = f"<level>{text_log_level}</level>"
        elements = "".join(f"<{name}>{level if name == 'text_log' else ''}</{name}>" for name in logs)
        config.write_text(
            f"<clickhouse><http_port>{self.port}</http_port><path>{folder}/data</path>"
            f"<logger><level>warning</level></logger>{elements}</clickhouse>"
        )
        output = (folder / "output.txt").open("w")
        self.process = subprocess.Popen(
            [program, "server", "--config-file", config], stdout=output, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                self.ask("SELECT 1")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"The server does not answer; see {folder}/output.txt")
                time.sleep(0.05)

    def ask(self, query):
        url = f"http://127.0.0.1:{self.port}/"
        with urllib.request.urlopen(url, data=query.encode(), timeout=600) as response:
            return response.read().decode().strip()

    def cpu_ns(self):
        """CPU time so far, of all threads and of those that log."""
        logging = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                if (task / "comm").read_text().strip() in LOG_THREADS:
                    logging += int((task / "schedstat").read_text().split()[0])
            except OSError:
                pass  # It has just ended, and is none of those, which stay.
        # The number of another process's CPU clock, as clock_getcpuclockid(3) makes it.
        return time.clock_gettime_ns(~self.process.pid << 3 | 2), logging

    def event(self, name):
        return int(self.ask(f"SELECT sum(value) FROM system.events WHERE event = '{name}'"))

    def storm(self, seconds, connections):
        """Queries a second, CPU microseconds a query of the threads that answer and of those that log."""
        url = f"http://127.0.0.1:{self.port}/?" + urllib.parse.urlencode({"query": "SELECT 1"})
        before = self.cpu_ns()
        begun = time.monotonic()
        command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", url]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        elapsed = time.monotonic() - begun
        total, logging = (after - before for after, before in zip(self.cpu_ns(), before))
        if "Non-2xx" in output:
            sys.exit(output)
        requests = int(re.search(r"(\d+) requests in", output).group(1))
        return requests / elapsed, (total - logging) / 1e3 / requests, logging / 1e3 / requests

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", default="target/release/squall", help="the server's program")
    parser.add_argument("--rounds", type=int, default=5, help="times that each server is measured")
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--connections", type=int, default=64, help="of wrk, over two threads")
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
            server.storm(2, args.connections)
        servers["on"].ask("SYSTEM FLUSH LOGS")
        print(f"{'':14} {'queries/s':>10} {'µs answering':>13} {'µs logging':>11}")
        for number in range(args.rounds):
            # Who comes first changes, as the machine may get faster or slower.
            for name in ["off", "on"] if number % 2 == 0 else ["on", "off"]:
                result = servers[name].storm(args.seconds, args.connections)
                results[name].append(result)
                print(f"round {number + 1} {name:>4}  {result[0]:>10.0f} {result[1]:>13.3f} {result[2]:>11.3f}", flush=True)
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
