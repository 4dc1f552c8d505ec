#!/usr/bin/env python3
"""How long a heavy query goes on after it is told to stop: by KILL QUERY at a moment of chance, by a client that leaves, and by
max_execution_time, which it is told before.

    scripts/stop_delay.py --squall target/release/squall --rounds 20

A query is over when it is no longer in system.processes. Prints for each statement and kind the median and the largest delay."""

import argparse
import http.client
import pathlib
import random
import socket
import statistics
import sys
import tempfile
import threading
import time

from measured_server import MeasuredServer
from ports import free_port

HEAVY = {
    "JOIN of numbers": "SELECT count(), sum(r.user) FROM visits AS l JOIN visits AS r ON l.id = r.id",
    "JOIN of strings": "SELECT count(), max(r.id) FROM visits AS l JOIN visits AS r ON l.url = r.url AND l.id = r.id",
    "FULL JOIN": "SELECT l.id, l.url, r.url, r.tag FROM visits AS l FULL JOIN visits AS r ON l.id = r.user FORMAT Null",
    "ASOF JOIN": "SELECT l.id, r.user FROM visits AS l ASOF JOIN visits AS r ON l.day = r.day AND l.id >= r.id FORMAT Null",
    "ORDER BY": "SELECT * FROM visits ORDER BY url, user, id FORMAT Null",
    "ORDER BY LIMIT": "SELECT * FROM visits ORDER BY user DESC, id LIMIT 200000 FORMAT Null",
    "window": "SELECT sum(user) OVER (ORDER BY url ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM visits FORMAT Null",
    "window of all": "SELECT max(url) OVER (ORDER BY id) FROM visits FORMAT Null",
    "GROUP BY": "SELECT url, count(), uniqExact(user) FROM visits GROUP BY url FORMAT Null",
    "INSERT SELECT": "INSERT INTO copies SELECT * FROM visits",
}


def ask(port, sql, **parameters):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    connection.request("POST", f"/?{query}", sql.encode())
    answer = connection.getresponse()
    body = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, body


def is_running(port, query_id):
    status, body = ask(port, f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'")
    if status != 200:
        sys.exit(body)
    return body.strip() != "0"


def delay_after(port, query_id):
    """From now until the query is gone, in milliseconds."""
    begun = time.perf_counter()
    while is_running(port, query_id):
        time.sleep(0.001)
    return (time.perf_counter() - begun) * 1_000


def killed(port, sql, query_id, after):
    thread = threading.Thread(target=ask, args=(port, sql), kwargs={"query_id": query_id})
    thread.start()
    time.sleep(after)
    ask(port, f"KILL QUERY WHERE query_id = '{query_id}'")
    delay = delay_after(port, query_id)
    thread.join()
    return delay


def left(port, sql, query_id, after):
    client = socket.create_connection(("127.0.0.1", port))
    body = sql.encode()
    client.sendall(f"POST /?query_id={query_id} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    time.sleep(after)
    client.close()
    return delay_after(port, query_id)


def timed_out(port, sql, query_id, after):
    begun = time.perf_counter()
    ask(port, sql, query_id=query_id, max_execution_time=round(after, 3))
    return max(0.0, (time.perf_counter() - begun - after) * 1_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", required=True, help="the server's program")
    parser.add_argument("--rows", type=int, default=5_000_000, help="of the table")
    parser.add_argument("--rounds", type=int, default=20, help="of each statement and kind")
    parser.add_argument("--seed", type=int, default=20261123, help="of the moments")
    arguments = parser.parse_args()
    chance, worst = random.Random(arguments.seed), 0.0
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [arguments.squall, "server", "--http-port", str(port), "--tcp-port", str(free_port()), "--path", f"{folder}/data"]
        server = MeasuredServer(command, port, pathlib.Path(folder))
        columns = "id UInt64, user UInt64, day Date, url String, tag LowCardinality(String)"
        for table in ("visits", "copies"):
            ask(port, f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY {'id' if table == 'visits' else '(url, id)'}")
        status, body = ask(port, "INSERT INTO visits SELECT number, cityHash64(number) % 1000000, toDate(number % 1000), "
                                 "concat('https://example.com/page/', toString(cityHash64(number, 1) % 700000)), toString(number % 5000) "
                                 f"FROM numbers({arguments.rows})")
        if status != 200:
            sys.exit(body)
        for name, sql in HEAVY.items():
            begun = time.perf_counter()
            status, body = ask(port, sql)
            if status != 200:
                sys.exit(f"{name}: {body}")
            takes = time.perf_counter() - begun
            told = []
            for kind, stop in (("KILL", killed), ("client left", left), ("max_execution_time", timed_out)):
                if kind == "client left" and sql.startswith("INSERT"):
                    # What writes goes on without its client.
                    continue
                delays = []
                for number in range(arguments.rounds):
                    query_id = f"{kind.replace(' ', '-')}-{number}-{chance.random()}"
                    delays.append(stop(port, sql, query_id, chance.uniform(0.02, 0.9 * takes)))
                worst = max(worst, *delays)
                told.append(f"{kind} {statistics.median(delays):.0f} and {max(delays):.0f}")
            ask(port, "TRUNCATE TABLE copies")
            print(f"{name} ({takes:.1f} s): median and largest delay in ms: {', '.join(told)}", flush=True)
        server.stop()
    print(f"the largest delay of all: {worst:.0f} ms")


if __name__ == "__main__":
    main()
