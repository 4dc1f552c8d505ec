#!/usr/bin/env python3
"""How much slower a short query gets beside eight endless heavy ones: its 50th and 99th percentile alone and beside each kind of them,
and the longest steps that held a worker meanwhile (system.histogram_metrics).

scripts/short_beside_heavy.py --squall target/release/squall [--rows 5000000] [--short-rows 30000] [--seconds 10] [--heavy 8]"""
import argparse
import http.client
import sys
import tempfile
import threading
import time

from measured_server import MeasuredServer

SHORT = "SELECT count(), max(user) FROM visits WHERE id BETWEEN 1000000 AND 1000000 + {rows}"
HEAVY = {
    "GROUP BY": "SELECT url, count() AS c, uniqExact(user) FROM visits GROUP BY url ORDER BY c DESC LIMIT 10",
    "ORDER BY": "SELECT * FROM visits ORDER BY url, user, id FORMAT Null",
    "groupArray": "SELECT length(groupArray(url)) FROM visits",
    "window": "SELECT sum(user) OVER (ORDER BY url ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM visits FORMAT Null",
    "JOIN": "SELECT count() FROM visits AS l JOIN visits AS r ON l.id = r.id WHERE l.url != r.url",
}


def ask(port, sql):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", "/", sql.encode())
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        sys.exit(body.decode(errors="replace"))
    return body.decode()


def short_latencies(port, short, seconds):
    connection, latencies = http.client.HTTPConnection("127.0.0.1", port, timeout=600), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.perf_counter()
        connection.request("POST", "/", short.encode())
        connection.getresponse().read()
        latencies.append((time.perf_counter() - begun) * 1_000)
    return sorted(latencies)


def percentile(latencies, share):
    return latencies[min(len(latencies) - 1, int(len(latencies) * share))]


def steps(port):
    """How many steps took at most so many microseconds, by bound."""
    sql = ("SELECT labels['le'], value FROM system.histogram_metrics "
           "WHERE metric = 'scheduler_step_microseconds_bucket' FORMAT TSV")
    return dict(line.split("\t") for line in ask(port, sql).splitlines())


def longer(before, after, bound):
    everything = int(after["+Inf"]) - int(before.get("+Inf", 0))
    return everything - (int(after[bound]) - int(before.get(bound, 0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", required=True, help="the server's program")
    parser.add_argument("--rows", type=int, default=5_000_000, help="of the table")
    parser.add_argument("--short-rows", type=int, default=30_000, help="that the short query reads")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--heavy", type=int, default=8, help="clients that ask heavy queries")
    arguments = parser.parse_args()
    short = SHORT.format(rows=arguments.short_rows)
    with tempfile.TemporaryDirectory() as folder:
        server = MeasuredServer.of(arguments.squall, folder)
        port = server.port
        ask(port, "CREATE TABLE visits (id UInt64, user UInt64, url String) ENGINE = MergeTree ORDER BY id")
        ask(port, "INSERT INTO visits SELECT number, cityHash64(number) % 1000000, "
                  f"concat('https://example.com/page/', toString(cityHash64(number, 1) % 700000)) FROM numbers({arguments.rows})")
        short_latencies(port, short, 1)
        alone = short_latencies(port, short, arguments.seconds)
        alone_p99 = percentile(alone, 0.99)
        print(f"alone: p50 {percentile(alone, 0.5):.2f} ms, p99 {alone_p99:.2f} ms, {len(alone)} queries", flush=True)
        for kind, sql in HEAVY.items():
            is_over, finished = threading.Event(), [0]

            def ask_for_ever(sql=sql, is_over=is_over, finished=finished):
                while not is_over.is_set():
                    ask(port, sql)
                    finished[0] += 1

            before = steps(port) if "histogram_metrics" in ask(port, "SHOW TABLES FROM system") else None
            threads = [threading.Thread(target=ask_for_ever) for _ in range(arguments.heavy)]
            [thread.start() for thread in threads]
            time.sleep(1)
            beside = short_latencies(port, short, arguments.seconds)
            is_over.set()
            after = steps(port) if before is not None else None
            [thread.join() for thread in threads]
            told = ""
            if after is not None:
                of_all = int(after["+Inf"]) - int(before["+Inf"])
                told = "; " + ", ".join(f"{longer(before, after, bound)} over {int(bound) // 1000} ms"
                                        for bound in ("2000", "5000", "20000", "100000")) + f" of {of_all} steps"
            p99 = percentile(beside, 0.99)
            print(f"beside {arguments.heavy} × {kind}: p50 {percentile(beside, 0.5):.2f} ms, p99 {p99:.2f} ms "
                  f"({p99 / alone_p99:.1f} × alone), {len(beside)} queries, {finished[0]} heavy ones{told}", flush=True)
        server.stop()


if __name__ == "__main__":
    main()
