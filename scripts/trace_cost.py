#!/usr/bin/env python3
"""What logging at `trace` costs: /ping, and `SELECT 1` over HTTP keep-alive, on two servers in turns, one that logs at `trace` into a
file, one that logs nothing.

    scripts/trace_cost.py --squall target/release/squall [--rounds 5] [--seconds 10] [--connections 64]

Prints for each round requests a second and CPU time a request of both, from the kernel's accounting of the server, and in
the end the medians and their ratios. CPU time a request hardly depends on what else the machine does; requests a second want it quiet.
With --clickhouse PROGRAM the same is done with a ClickHouse server. Lines that were lost because the writer did not keep up are counted.
"""

import argparse
import pathlib
import statistics
import tempfile
import urllib.parse

from measured_server import MeasuredServer, add_arguments, turns
from ports import free_port

PAGES = {"/ping": "/ping", "SELECT 1": "/?" + urllib.parse.urlencode({"query": "SELECT 1"})}


class Server(MeasuredServer):
    """One that logs at a level."""

    def __init__(self, program, squall, folder, level):
        is_clickhouse = program != squall
        port = free_port()
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
            f"<{root}><http_port>{port}</http_port><path>{folder}/data/</path>{of_clickhouse if is_clickhouse else ''}"
            f"<logger><level>{level}</level><log>{self.log}</log><errorlog>{folder}/errors.log</errorlog>"
            f"<size>1000M</size><count>1</count></logger></{root}>"
        )
        if is_clickhouse:
            (folder / "users.xml").write_text(
                "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>"
                "<networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>"
            )
        arguments = [f"--config-file={config}"] if is_clickhouse else ["server", f"--config-file={config}"]
        super().__init__([program, *arguments], port, folder)
        self.generator = squall

    def measure(self, path, seconds, connections):
        """Requests a second, and CPU microseconds a request."""
        before = self.cpu_ns()
        requests, elapsed = self.storm(path, seconds, connections)
        return requests / elapsed, (self.cpu_ns() - before) / 1e3 / requests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--clickhouse", help="measure this clickhouse-server instead")
    args = parser.parse_args()

    program, is_clickhouse = args.clickhouse or args.squall, bool(args.clickhouse)
    with tempfile.TemporaryDirectory(prefix="squall-trace-cost-") as folder:
        folder = pathlib.Path(folder)
        servers = {level: Server(program, args.squall, folder / level, level) for level in ["none", "trace"]}
        for page, path in PAGES.items():
            results = {level: [] for level in servers}
            for server in servers.values():
                server.storm(path, 2, args.connections)
            print(f"{page:16} {'requests/s':>11} {'µs CPU':>8}")
            for number, level in turns(servers, args.rounds):
                result = servers[level].measure(path, args.seconds, args.connections)
                results[level].append(result)
                print(f"round {number} {level:>8}  {result[0]:>10.0f} {result[1]:>8.3f}", flush=True)
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
