#!/usr/bin/env python3
"""Whether an error is always an error: queries that must fail are asked again and again, by one client and by eight, over tables that are
in memory and over tables that are read from disk. An answer without the error's code is counted and shown.

scripts/failing_queries.py --squall target/release/squall [--queries 100000] [--clients 1,8]

Each of the fifty statements fails in some of its rows: in a filter, a projection, an aggregate's argument, a join, a sort, a window, an INSERT.
The formats are Null, which hides a partial result best, and RowBinary. Exit code 1 where any answered as if it had not failed."""
import argparse
import http.client
import random
import sys
import tempfile
import threading
import time
import urllib.parse

from measured_server import MeasuredServer

ROWS = 131_072
LAST = ROWS - 1

THROWS = f"throwIf(n = {LAST})"
PARSES = f"toUInt64(if(n = {LAST}, 'x', '1'))"
DIVIDES = f"intDiv(1, n - {LAST})"

# What fails, over a source `{t}` of rows with the columns n, k and s; the code that it fails with.
STATEMENTS = [
    (f"SELECT n FROM {{t}} WHERE {THROWS} = 0", 395),
    (f"SELECT {THROWS} FROM {{t}}", 395),
    (f"SELECT sum({PARSES}) FROM {{t}}", 6),
    (f"SELECT sum({DIVIDES}) FROM {{t}}", 153),
    (f"SELECT k, sum({PARSES}) FROM {{t}} GROUP BY k", 6),
    (f"SELECT s, count() FROM {{t}} WHERE {THROWS} = 0 GROUP BY s", 395),
    (f"SELECT {PARSES} AS p, count() FROM {{t}} GROUP BY p", 6),
    (f"SELECT DISTINCT {DIVIDES} FROM {{t}}", 153),
    (f"SELECT uniqExact({PARSES}) FROM {{t}}", 6),
    (f"SELECT max({THROWS}) FROM {{t}}", 395),
    (f"SELECT n FROM {{t}} ORDER BY {PARSES}, n", 6),
    (f"SELECT n FROM {{t}} ORDER BY {THROWS} DESC LIMIT 5", 395),
    (f"SELECT n, row_number() OVER (PARTITION BY k ORDER BY n) FROM {{t}} WHERE {THROWS} = 0", 395),
    (f"SELECT sum({DIVIDES}) OVER (PARTITION BY k) FROM {{t}}", 153),
    (f"INSERT INTO sink SELECT {PARSES} FROM {{t}}", 6),
    (f"SELECT l.n FROM {{t}} AS l JOIN (SELECT k, any(s) AS s FROM {{t}} WHERE {THROWS} = 0 GROUP BY k) AS r ON l.k = r.k", 395),
    (f"SELECT l.n FROM (SELECT n, k FROM {{t}} WHERE {THROWS} = 0) AS l LEFT JOIN numbers(100) AS r ON l.k = r.number", 395),
    (f"SELECT arrayJoin([n, {PARSES}]) FROM {{t}}", 6),
    (f"SELECT arrayMap(x -> intDiv(x, n - {LAST}), [1, 2]) FROM {{t}}", 153),
    (f"SELECT sum(x) FROM (SELECT {PARSES} AS x FROM {{t}} UNION ALL SELECT 1)", 6),
    (f"SELECT n FROM {{t}} WHERE {THROWS} = 0 UNION ALL SELECT number FROM numbers(10)", 395),
    (f"SELECT n FROM {{t}} WHERE {THROWS} = 0 LIMIT 1 BY n", 395),
    (f"SELECT quantileExact(0.5)({DIVIDES}) FROM {{t}}", 153),
    (f"SELECT groupArray({PARSES}) FROM {{t}}", 6),
    (f"SELECT count() FROM {{t}} WHERE n IN (SELECT {PARSES} FROM {{t}})", 6),
]
SOURCES = {"numbers": f"(SELECT number AS n, number % 1000 AS k, toString(number % 977) AS s FROM numbers_mt({ROWS}))", "table": "failing"}
FORMATS = ["Null", "RowBinary"]


def statements():
    """(text, code, whether it reads the table): fifty, the SELECTs in two formats each."""
    for text, code in STATEMENTS:
        for source, relation in SOURCES.items():
            sql = text.format(t=relation)
            texts = [sql] if sql.startswith("INSERT") else [f"{sql} FORMAT {form}" for form in FORMATS]
            yield from ((text, code, source == "table") for text in texts)


class Client:
    def __init__(self, port):
        self.port, self.connection = port, None

    def ask(self, sql, **parameters):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        query = urllib.parse.urlencode(parameters)
        try:
            self.connection.request("POST", f"/?{query}", sql.encode())
            answer = self.connection.getresponse()
            body = answer.read()
        except (http.client.HTTPException, ConnectionError):
            # An error after the first bytes ends the connection.
            self.connection = None
            return 0, "", b""
        return answer.status, answer.headers.get("X-ClickHouse-Exception-Code", ""), body


def told_of_error(answer, code):
    status, header, body = answer
    if status == 0:
        return True
    if status != 200:
        return header == str(code)
    # The body had begun: the exception stands at its end.
    return f"Code: {code}.".encode() in body[-4096:]


def run(port, clients, queries, is_cold, failures):
    work = list(statements())
    left, lock = [queries], threading.Lock()

    def ask_until_done(seed):
        client, order = Client(port), random.Random(seed)
        while True:
            with lock:
                if left[0] <= 0:
                    return
                left[0] -= 1
            sql, code, reads_table = order.choice(work)
            if is_cold and reads_table and order.random() < 0.2:
                client.ask("SYSTEM DROP UNCOMPRESSED CACHE")
            answer = client.ask(sql)
            if not told_of_error(answer, code):
                failures.append((sql, answer[0], answer[1], answer[2][-200:]))

    threads = [threading.Thread(target=ask_until_done, args=(seed,)) for seed in range(clients)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--squall", required=True, help="the binary")
    parser.add_argument("--queries", type=int, default=100_000, help="queries in all")
    parser.add_argument("--clients", default="1,8", help="numbers of clients, separated by commas")
    arguments = parser.parse_args()
    levels = [int(level) for level in arguments.clients.split(",")]
    failures, began = [], time.time()
    with tempfile.TemporaryDirectory() as folder:
        server = MeasuredServer.of(arguments.squall, folder)
        port = server.port
        setup = Client(port)
        setup.ask("CREATE TABLE failing (n UInt64, k UInt64, s String) ENGINE = MergeTree ORDER BY n")
        setup.ask("CREATE TABLE sink (n UInt64) ENGINE = MergeTree ORDER BY n")
        setup.ask(f"INSERT INTO failing SELECT number, number % 1000, toString(number % 977) FROM numbers({ROWS})")
        share = arguments.queries // (2 * len(levels))
        for clients in levels:
            for is_cold in (False, True):
                before = len(failures)
                run(port, clients, share, is_cold, failures)
                temperature = "cold" if is_cold else "hot"
                print(f"{clients} clients, {temperature}: {share} failing queries, "
                      f"{len(failures) - before} answered as if they had not failed ({time.time() - began:.0f} s)", flush=True)
        stored = Client(port).ask("SELECT count() FROM sink")[2].strip()
        if stored != b"0":
            failures.append(("rows of failed INSERTs", stored))
        server.stop()
    for failure in failures[:20]:
        print(failure)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
