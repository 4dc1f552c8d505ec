#!/usr/bin/env python3
"""What clients that ask for much and read nothing cost the others: memory for each of them, and the latency of SELECT 1 and of a query
over a million rows beside them, next to the same alone.

scripts/stalled_readers.py --squall target/release/squall [--readers 300] [--seconds 10]"""
import argparse
import http.client
import pathlib
import re
import socket
import sys
import tempfile
import time

from measured_server import MeasuredServer
from ports import free_port

PROBES = {"SELECT 1": "SELECT 1", "a million rows": "SELECT count(), max(cityHash64(number)) FROM numbers(1000000)"}
ANSWERS = ["SELECT number, toString(number) FROM numbers(100000000)", "SELECT * FROM wide", "SELECT * FROM wide WHERE n < 200000 ORDER BY s"]


def latencies(port, sql, seconds):
    connection, found = http.client.HTTPConnection("127.0.0.1", port, timeout=120), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.perf_counter()
        connection.request("POST", "/", sql.encode())
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            sys.exit(f"{sql}: {answer.status}")
        found.append((time.perf_counter() - begun) * 1e3)
    found.sort()
    return [found[int(len(found) * share)] for share in (0.5, 0.99)] + [found[-1]]


def show(port, seconds):
    for name, sql in PROBES.items():
        middle, late, longest = latencies(port, sql, seconds)
        print(f"  {name:15} p50 {middle:7.2f} ms  p99 {late:7.2f} ms  longest {longest:7.2f} ms", flush=True)


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) / 1024


def await_rest(server, seconds=120):
    """Until the server computes nothing: whatever the clients asked for is ready and waits for them."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = server.cpu_ns()
        time.sleep(0.5)
        if server.cpu_ns() - before < 50_000_000:
            return
    print(f"  (the server still computes after {seconds} s)")


def stall(port, sql):
    """A client that sends a query and reads nothing of the answer."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 10)
    client.connect(("127.0.0.1", port))
    body = sql.encode()
    client.sendall(b"POST /?max_threads=2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    return client


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--squall", default="target/release/squall", help="the server's program")
    parser.add_argument("--readers", type=int, default=300, help="clients that read nothing")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [options.squall, "server", "--http-port", str(port), "--tcp-port", str(free_port()), "--path", f"{folder}/data"]
        server = MeasuredServer(command, port, pathlib.Path(folder))
        try:
            server.get("/", b"CREATE TABLE wide (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
            server.get("/", b"INSERT INTO wide SELECT number, repeat(toString(cityHash64(number)), 4) FROM numbers(2000000)")
            print("alone")
            show(port, options.seconds)
            for sql in ANSWERS:
                before = resident_mib(server.process.pid)
                clients = [stall(port, sql) for _ in range(options.readers)]
                print(f"beside {options.readers} clients that do not read {sql}", flush=True)
                begun = time.monotonic()
                await_rest(server)
                print(f"  at rest after {time.monotonic() - begun:.1f} s", flush=True)
                show(port, options.seconds)
                each = (resident_mib(server.process.pid) - before) / options.readers
                charged = server.get("/", b"SELECT sum(memory_usage) FROM system.processes WHERE query NOT LIKE '%processes%'")
                print(f"  {each:.2f} MiB each; charged {int(charged) / options.readers / 2**20:.2f} MiB each", flush=True)
                for client in clients:
                    client.close()
                end = time.monotonic() + 60
                while server.get("/", b"SELECT count() FROM system.processes") != "1" and time.monotonic() < end:
                    time.sleep(0.05)
                print(f"  gone {60 - (end - time.monotonic()):.2f} s after their clients", flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
