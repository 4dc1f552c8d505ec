#!/usr/bin/env python3
"""How long another client's SELECT 1 waits beside each of the hostile statements, and what they take.

    scripts/hostile_p99.py path/to/squall [--only TEXT] [--json FILE]

Starts a server with max_server_memory_usage = 1 GiB, runs the statements of tests/clients/hostile_statements.py one after the
other under max_memory_usage = 200 MB, each beside a client that asks SELECT 1 on a connection that it keeps. Prints a line for each:
how it ended, seconds, MiB beyond what the process holds at rest, and the median, 99th percentile and greatest latency in ms.
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "clients"))


class Prober(threading.Thread):
    """Asks SELECT 1 every few milliseconds."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.latencies = []
        self.is_over = threading.Event()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        while not self.is_over.is_set():
            begun = time.monotonic()
            try:
                connection.request("POST", "/", body=b"SELECT 1")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                return
            self.latencies.append(time.monotonic() - begun)
            time.sleep(0.002)


def resident(pid, field):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(rf"{field}:\s+(\d+) kB", status.read())[1]) << 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--only", default="", help="statements that hold this text")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--address-space", default="8G", help="prlimit --as for the server, so that it cannot take the machine")
    options = parser.parse_args()
    os.environ["SQUALL"] = options.binary
    import server as servers
    from hostile_statements import STATEMENTS, bodies

    servers.BINARY = options.binary
    limits = {"max_memory_usage": 200 << 20, "max_execution_time": 30, "max_threads": 2}
    figures = []
    every = []
    size = int(options.address_space.rstrip("G")) << 30
    with tempfile.TemporaryDirectory() as folder:
        # What the allocator keeps for the next statement is not what this one takes.
        settings = {"max_server_memory_usage": 1 << 30}
        make = lambda number: servers.Server(  # noqa: E731
            f"{folder}/{number}", settings=settings, wrapper=["prlimit", f"--as={size}"]
        )
        server, rest = None, 0
        for number, hostile in enumerate(STATEMENTS + bodies()):
            if options.only not in hostile.sql:
                continue
            # What the statement before left is given back by the allocator only with time and other work.
            if server is not None and server.alive() and resident(server.process.pid, "VmRSS") > rest + (16 << 20):
                server.kill()
            if server is None or not server.alive():
                server = make(number).start()
                server.query("CREATE TABLE hostile (s String) ENGINE = MergeTree ORDER BY tuple()")
                rest = resident(server.process.pid, "VmRSS")
            with open(f"/proc/{server.process.pid}/clear_refs", "w") as clear:
                clear.write("5")
            prober = Prober(server.http_port)
            prober.start()
            time.sleep(0.05)
            begun = time.monotonic()
            try:
                if hostile.body is None:
                    response = server.http(body=hostile.sql.encode(), timeout=120, **limits)
                else:
                    response = server.http(hostile.sql, body=hostile.body, headers=dict(hostile.headers), timeout=120, **limits)
                found = re.search(rb"Code: (\d+)\. DB::Exception", response.body)
                code = int(found[1]) if found else 0
                wrong = hostile.check(response.status, code, response.text)
                ended = str(code) if code else "ok"
            except (OSError, http.client.HTTPException) as error:
                ended, wrong = type(error).__name__, str(error)
            seconds = time.monotonic() - begun
            time.sleep(0.05)
            prober.is_over.set()
            prober.join(130)
            try:
                most = (resident(server.process.pid, "VmHWM") - rest) >> 20
            except (OSError, TypeError):
                most = -1
                ended += " (the server is gone)"
            latencies = sorted(prober.latencies) or [float("nan")]
            every += latencies
            at = lambda share: latencies[min(len(latencies) - 1, int(share * len(latencies)))] * 1e3  # noqa: E731
            row = {"sql": hostile.sql[:100], "ended": ended, "wrong": wrong, "seconds": round(seconds, 2), "mib": most,
                   "p50_ms": round(at(0.5), 2), "p99_ms": round(at(0.99), 2), "max_ms": round(latencies[-1] * 1e3, 2)}
            figures.append(row)
            print(f"{ended:>12} {seconds:7.2f} s {most:6} MiB {row['p50_ms']:8.2f} {row['p99_ms']:8.2f} {row['max_ms']:9.2f} ms  "
                  f"{'' if wrong is None else '!! '}{hostile.sql[:70]}", flush=True)
        if server is not None:
            server.kill()
    every.sort()
    print(f"\n{len(figures)} statements; past 264 MiB: {sum(row['mib'] > 264 or row['mib'] < 0 for row in figures)}; "
          f"wrong: {sum(row['wrong'] is not None for row in figures)}; "
          f"SELECT 1 over all: p99 {every[int(0.99 * len(every))] * 1e3:.2f} ms, max {every[-1] * 1e3:.2f} ms")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
