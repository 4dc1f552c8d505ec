#!/usr/bin/env python3
"""What remedies for machines of many cores are worth here, each beside the same query without it, in turns on one server: sum(x + c) by
itself and added up row by row, keys of 16 bits with known and with unknown bounds, small work on the workers that it is worth and on a
fixed number. Milliseconds, the median of the rounds.

    python3 scripts/remedies.py target/release/squall [--rounds 15]
"""

import argparse
import http.client
import statistics
import tempfile
import threading
import time

from measured_server import MeasuredServer

ROWS = 10_000_000
TABLE = (
    "CREATE TABLE t (d Date, i Int16, w UInt16, n UInt32) ENGINE = MergeTree ORDER BY tuple()",
    f"INSERT INTO t SELECT toDate('2013-07-01') + number % 31, number % 300 - 150, number % 1920, number FROM numbers_mt({ROWS})",
    "CREATE TABLE small AS t",
    "INSERT INTO small SELECT * FROM t WHERE n < 200000",
)
NINETY_SUMS = ", ".join(f"sum(w + {number})" for number in range(90))
# materialize() hides where a column comes from, and so its bounds.
PAIRS = {
    "90 sums of one column (#57853)": (
        (f"SELECT {NINETY_SUMS} FROM t", {}),
        (f"SELECT {NINETY_SUMS} FROM t", {"optimize_arithmetic_operations_in_aggregate_functions": 0}),
    ),
    "GROUP BY Date, 31 of them (#62746)": (
        ("SELECT d, count(), uniqExact(w) FROM small GROUP BY d", {}),
        ("SELECT materialize(d) AS k, count(), uniqExact(w) FROM small GROUP BY k", {}),
    ),
    "GROUP BY Int16 between -5 and 5 (#62746)": (
        ("SELECT i, count(), max(n) FROM small WHERE i BETWEEN -5 AND 5 GROUP BY i", {}),
        ("SELECT materialize(i) AS k, count(), max(n) FROM small WHERE i BETWEEN -5 AND 5 GROUP BY k", {}),
    ),
    "20,000 cheap rows (#53867)": (
        ("SELECT count(), max(cityHash64(number)) FROM numbers(20000)", {}),
        ("SELECT count(), max(cityHash64(number)) FROM numbers(20000)", {"max_threads": 1}),
    ),
    "3,000 expensive rows (#53867)": (
        ("SELECT sum(arraySum(arrayMap(x -> sipHash64(toString(x + number)), range(1000)))) FROM numbers(3000)", {}),
        ("SELECT sum(arraySum(arrayMap(x -> sipHash64(toString(x + number)), range(1000)))) FROM numbers(3000)", {"max_threads": 1}),
    ),
}


def timed(server, sql, settings):
    begun = time.perf_counter()
    answer = server.ask(sql, **settings)
    return (time.perf_counter() - begun) * 1000, sorted(answer.splitlines())


class Pings(threading.Thread):
    """Asks /ping again and again on a connection that stays open."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.latencies_ms, self.is_over = port, [], threading.Event()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.is_over.is_set():
            begun = time.perf_counter()
            connection.request("GET", "/ping")
            connection.getresponse().read()
            self.latencies_ms.append((time.perf_counter() - begun) * 1000)
            time.sleep(0.001)


def beside_expensive_queries(server, rounds):
    """The latency of /ping beside four clients that ask for expensive rows."""
    sql, _ = PAIRS["3,000 expensive rows (#53867)"][0]
    pings = Pings(server.port)
    clients = [threading.Thread(target=lambda: [server.ask(sql) for _ in range(rounds)]) for _ in range(4)]
    pings.start()
    [client.start() for client in clients]
    [client.join() for client in clients]
    pings.is_over.set()
    pings.join()
    ordered = sorted(pings.latencies_ms)
    p99 = ordered[len(ordered) * 99 // 100]
    print(f"/ping beside four clients of it: p50 {statistics.median(ordered):.2f} ms, p99 {p99:.2f}, longest {ordered[-1]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, MeasuredServer.of(options.binary, folder) as server:
        for statement in TABLE:
            server.ask(statement)
        print(f"| {'':40} | with | without | ratio |\n| --- | --- | --- | --- |")
        for name, pair in PAIRS.items():
            times = ([], [])
            for number in range(options.rounds + 1):
                answers = []
                for at in (0, 1) if number % 2 else (1, 0):
                    ms, answer = timed(server, *pair[at])
                    answers.append(answer)
                    if number > 0:
                        times[at].append(ms)
                assert answers[0] == answers[1], f"{name}: the answers differ"
            kept, left = (statistics.median(values) for values in times)
            print(f"| {name:40} | {kept:.2f} | {left:.2f} | {left / kept:.2f} |", flush=True)
        beside_expensive_queries(server, options.rounds)


if __name__ == "__main__":
    main()
