#!/usr/bin/env python3
"""What logging at `trace` costs: /ping, and `SELECT 1` over HTTP keep-alive, on two servers in turns, one that logs at `trace` into a
file, one that logs nothing.

    scripts/trace_cost.py --squall target/release/squall [--rounds 5] [--seconds 10] [--connections 64]

Needs `wrk`. Prints for each round requests a second and CPU time a request of both, from the kernel's accounting of the server, and in
the end the medians and their ratios. CPU time a request hardly depends on what else the machine does; requests a second want it quiet.
With --clickhouse PROGRAM the same is done with a ClickHouse server. Lines that were lost because the writer did not keep up are counted.
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

PAGES = {"/ping": "/ping", "SELECT 1": "/?" + urllib.parse.urlencode({"query": "SELECT 1"})}
READY_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A server of its own that logs at a level."""

    def __init__(self, program, is_clickhouse, folder, level):
        self.port = free_port()
        folder.mkdir()
        self.log = folder / "server.log"
        config = folder / "config.xml"
        root = "yandex" if is_clickhouse else "clickhouse"
        of_clickhouse = (
            f"<tcp_port>{free_port()}</tcp_port><listen_host>127.0.0.1</listen_host><tmp_path>{folder}/tmp/</tmp_path>"
            "<users_config>users.xml</users_config><default_profile>default</default_profile>"
            "<default_database>default</default_database><mark_cache_size>1000000000</mark_cache_size>"
        )
        config.write_text(
            f"<{root}><http_port>{self.port}</http_port><path>{folder}/data/</path>{of_clickhouse if is_clickhouse else ''}"
            f"<logger><level>{level}</level><log>{self.log}</log><errorlog>{folder}/errors.log</errorlog>"
            f"<size>1000M</size><count>1</count></logger></{root}>"
        )
        if is_clickhouse:
            (folder / "users.xml").write_text(
                "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>"
                "<networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>"
            )
        arguments = [f"--config-file={config}"] if is_clickhouse else ["server", f"--config-file={config}"]
        output = (folder / "output.txt").open("w")
        self.process = subprocess.Popen([program, *arguments], stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + READY_SECONDS
        while True:
            try:
                self.get("/ping")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"The server does not answer; see {folder}/output.txt")
                time.sleep(0.05)

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as response:
            return response.read().decode().strip()

    def cpu_ns(self):
        # The number of another process's CPU clock, as clock_getcpuclockid(3) makes it.
        return time.clock_gettime_ns(~self.process.pid << 3 | 2)

    def storm(self, path, seconds, connections):
        """Requests a second, and CPU microseconds a request."""
        before, begun = self.cpu_ns(), time.monotonic()
        command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", f"http://127.0.0.1:{self.port}{path}"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        elapsed, cpu = time.monotonic() - begun, self.cpu_ns() - before
        if "Non-2xx" in output:
            sys.exit(output)
        requests = int(re.search(r"(\d+) requests in", output).group(1))
        return requests / elapsed, cpu / 1e3 / requests

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", default="target/release/squall", help="the server's program")
    parser.add_argument("--clickhouse", help="measure this clickhouse-server instead")
    parser.add_argument("--rounds", type=int, default=5, help="times that each server is measured")
    parser.add_argument("--seconds", type=int, default=10, help="of each measurement")
    parser.add_argument("--connections", type=int, default=64, help="of wrk, over two threads")
    args = parser.parse_args()

    program, is_clickhouse = args.clickhouse or args.squall, bool(args.clickhouse)
    with tempfile.TemporaryDirectory(prefix="squall-trace-cost-") as folder:
        folder = pathlib.Path(folder)
        servers = {level: Server(program, is_clickhouse, folder / level, level) for level in ["none", "trace"]}
        for page, path in PAGES.items():
            results = {level: [] for level in servers}
            for server in servers.values():
                server.storm(path, 2, args.connections)
            print(f"{page:16} {'requests/s':>11} {'µs CPU':>8}")
            for number in range(args.rounds):
                # Who comes first changes, as the machine may get faster or slower.
                for level in list(servers) if number % 2 == 0 else reversed(servers):
                    result = servers[level].storm(path, args.seconds, args.connections)
                    results[level].append(result)
                    print(f"round {number + 1} {level:>8}  {result[0]:>10.0f} {result[1]:>8.3f}", flush=True)
            (rate_off, cpu_off), (rate_on, cpu_on) = (
                [statistics.median(column) for column in zip(*results[level])] for level in ["none", "trace"]
            )
            rates = [on[0] / off[0] for on, off in zip(results["trace"], results["none"])]
            print(f"{page}: trace costs {100 * (1 - rate_on / rate_off):.2f} % of requests a second", end=" ")
            print(f"(rounds {100 * (1 - max(rates)):.1f} to {100 * (1 - min(rates)):.1f} %),", end=" ")
            print(f"{100 * (cpu_on / cpu_off - 1):.2f} % more CPU time a request in the server")
        dropped = 0
        for server in servers.values():
            server.stop()
        for log in servers["trace"].log.parent.glob("server.log*"):
            with log.open(errors="replace") as lines:
                dropped += sum(int(line.split(" Logger: ")[1].split()[0]) for line in lines if "lines were dropped" in line)
        if not is_clickhouse:
            print(f"{dropped} lines were dropped")


if __name__ == "__main__":
    main()
