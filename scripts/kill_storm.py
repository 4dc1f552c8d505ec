#!/usr/bin/env python3
"""kill -9 again and again while clients write, merge and change tables; after every start, what was acknowledged is there and nothing is
half there.

    scripts/kill_storm.py --squall target/release/squall --kills 1000

Each client inserts batches of rows that fall into two partitions; others merge, detach and attach parts and make and drop tables. The
server is killed at a moment of chance, started again (at times killed while it starts), and asked for every batch.
"""

import argparse
import http.client
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from ports import free_port

ROWS = 200
CLIENTS = 4


class Server:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.port = binary, folder, free_port()
        (folder / "config.xml").write_text(
            f"""<clickhouse><http_port>{self.port}</http_port><listen_host>127.0.0.1</listen_host><path>{folder}/data/</path>
            <logger><level>warning</level><log>{folder}/server.log</log></logger>
            <users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
            <profiles><default/></profiles><quotas><default/></quotas></clickhouse>"""
        )

    def spawn(self):
        output = open(self.folder / "output.log", "ab")
        self.process = subprocess.Popen([self.binary, "server", "-C", str(self.folder / "config.xml")], stdout=output, stderr=output)
        output.close()

    def wait(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                self.query("SELECT 1")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"the server does not start:\n{(self.folder / 'output.log').read_text()[-3000:]}")
                time.sleep(0.02)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def query(self, sql, body=b""):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", "/", sql.encode() + b"\n" + body)
            response = connection.getresponse()
            text = response.read().decode()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
        if response.status != 200:
            raise RuntimeError(text)
        return text


class Storm:
    def __init__(self, server, seed):
        self.server, self.random = server, random.Random(seed)
        self.lock = threading.Lock()
        self.acknowledged, self.attempted = set(), 0

    def insert(self):
        with self.lock:
            batch, self.attempted = self.attempted, self.attempted + 1
        rows = "".join(f"{batch}\t{row % 2}\t{row}\n" for row in range(ROWS))
        self.server.query("INSERT INTO storm FORMAT TSV", rows.encode())
        with self.lock:
            self.acknowledged.add(batch)

    def client(self, stop):
        while not stop.is_set():
            try:
                self.insert()
            except (OSError, RuntimeError):
                if self.server.process.poll() is not None:
                    return

    def changes(self, stop):
        chance = random.Random(self.random.random())
        while not stop.is_set():
            statement = chance.choice(
                [
                    "OPTIMIZE TABLE storm FINAL",
                    "CREATE TABLE IF NOT EXISTS beside (x UInt8) ENGINE = MergeTree ORDER BY x",
                    "INSERT INTO beside VALUES (1)",
                    "TRUNCATE TABLE IF EXISTS beside",
                    "DROP TABLE IF EXISTS beside",
                    "DETACH TABLE IF EXISTS beside",
                    "ATTACH TABLE IF NOT EXISTS beside",
                ]
            )
            try:
                self.server.query(statement)
            except (OSError, RuntimeError):
                if self.server.process.poll() is not None:
                    return

    def round(self):
        stop = threading.Event()
        workers = [threading.Thread(target=self.client, args=(stop,)) for _ in range(CLIENTS)]
        workers.append(threading.Thread(target=self.changes, args=(stop,)))
        for worker in workers:
            worker.start()
        time.sleep(self.random.uniform(0, 0.4))
        self.server.kill()
        stop.set()
        for worker in workers:
            worker.join()
        self.server.spawn()
        if self.random.random() < 0.2:
            time.sleep(self.random.uniform(0, 0.1))
            self.server.kill()
            self.server.spawn()
        self.server.wait()
        self.check()

    def check(self):
        rows = self.server.query("SELECT batch, count(), sum(row) FROM storm GROUP BY batch FORMAT TSV")
        found = set()
        for line in rows.splitlines():
            batch, count, total = map(int, line.split("\t"))
            assert (count, total) == (ROWS, ROWS * (ROWS - 1) // 2), f"batch {batch} is half there: {count} rows"
            found.add(batch)
        lost = self.acknowledged - found
        assert not lost, f"acknowledged and lost: {sorted(lost)[:20]}"
        aside = self.server.query("SELECT database, table, name FROM system.detached_parts FORMAT TSV")
        assert not aside, f"parts were set aside:\n{aside}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--squall", default="target/release/squall", help="the server's binary")
    arguments.add_argument("--kills", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=20261122, help="of the moments")
    options = arguments.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="squall-kills-"))
    server = Server(options.squall, folder)
    storm = Storm(server, options.seed)
    began = time.monotonic()
    server.spawn()
    try:
        server.wait()
        server.query("CREATE TABLE storm (batch UInt32, part UInt8, row UInt32) ENGINE = MergeTree PARTITION BY part ORDER BY (batch, row)")
        for number in range(options.kills):
            storm.round()
            if (number + 1) % 20 == 0:
                print(f"{number + 1} kills, {len(storm.acknowledged)} batches acknowledged, {time.monotonic() - began:.0f} s", flush=True)
            # What is checked need not be checked for ever.
            if len(storm.acknowledged) > 5000:
                server.query("TRUNCATE TABLE storm")
                storm.acknowledged.clear()
    finally:
        server.kill()
    print(f"{options.kills} kills: nothing lost, nothing half there")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
