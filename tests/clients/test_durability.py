"""What was acknowledged is there after every kind of end; what was not is there whole or not at all."""

import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet
import pytest
from server import ServerError, wait_until

ROWS = 500


def create(server):
    server.query("CREATE TABLE d (batch UInt32, n UInt32, s String) ENGINE = MergeTree ORDER BY (batch, n)")


def insert(server, batch):
    lines = "".join(f"{batch}\t{n}\tvalue {n}\n" for n in range(ROWS))
    response = server.http("INSERT INTO d FORMAT TSV", body=lines.encode(), timeout=30)
    if response.status != 200:
        raise ServerError(response.status, response.text)


def batches(server):
    """The batches in the table, each of which must be whole."""
    rows = server.rows("SELECT batch, count(), sum(n), uniqExact(s) FROM d GROUP BY batch ORDER BY batch")
    for row in rows:
        assert row[1:] == [str(ROWS), str(ROWS * (ROWS - 1) // 2), str(ROWS)], f"batch {row[0]} is not whole"
    return {int(row[0]) for row in rows}


def test_restart(start_server):
    server = start_server()
    create(server)
    for batch in range(5):
        insert(server, batch)
    server.query("CREATE DATABASE other")
    server.query("CREATE TABLE other.t (x UInt8) ENGINE = MergeTree ORDER BY x")
    assert server.stop() == 0
    server.start()
    assert batches(server) == set(range(5))
    assert server.value("EXISTS TABLE other.t") == "1"
    server.query("DROP DATABASE other")
    server.restart()
    assert server.rows("SHOW DATABASES LIKE 'other'") == []


def test_kill_9_during_inserts(start_server):
    """Several rounds of inserts from several clients, each ended by kill -9 at a moment of its own."""
    server = start_server()
    create(server)
    moments = random.Random(20261120)
    acknowledged, attempted = set(), 0
    for _ in range(6):
        lock = threading.Lock()
        stop = threading.Event()

        def work():
            nonlocal attempted
            while not stop.is_set():
                with lock:
                    batch, attempted = attempted, attempted + 1
                try:
                    insert(server, batch)
                except Exception:
                    if stop.is_set() or not server.alive():
                        return
                    raise
                with lock:
                    acknowledged.add(batch)

        workers = [threading.Thread(target=work) for _ in range(4)]
        before = len(acknowledged)
        for worker in workers:
            worker.start()
        wait_until(lambda: len(acknowledged) > before, "one is acknowledged")
        time.sleep(moments.uniform(0, 0.6))
        stop.set()
        server.kill()
        for worker in workers:
            worker.join()
        server.start()
        found = batches(server)
        assert acknowledged <= found, f"acknowledged and lost: {sorted(acknowledged - found)}"
        assert found <= set(range(attempted))
    # No half part is left behind: after a clean restart every data file belongs to the table.
    server.restart()
    assert acknowledged <= batches(server)
    leftovers = [path for path in server.folder.rglob("*") if "tmp" in path.name and path.is_file()]
    assert leftovers == []


def test_views_follow_after_kill_9(start_server):
    """An INSERT and what materialized views make of it are there together, or not at all."""
    server = start_server()
    create(server)
    for table in ("v", "t"):
        server.query(f"CREATE TABLE {table} (batch UInt32, n UInt64) ENGINE = MergeTree ORDER BY batch")
    server.query("CREATE MATERIALIZED VIEW first TO v AS SELECT batch, count() AS n FROM d GROUP BY batch")
    server.query("CREATE MATERIALIZED VIEW chained TO t AS SELECT batch, sum(n) AS n FROM v GROUP BY batch")
    acknowledged, number = set(), 0
    for _ in range(3):
        stop = threading.Event()

        def write(first, until=stop):
            for batch in range(first, first + 10_000, 2):
                if until.is_set():
                    return
                try:
                    insert(server, batch)
                except Exception:
                    return
                acknowledged.add(batch)

        writers = [threading.Thread(target=write, args=(number + half,)) for half in range(2)]
        for writer in writers:
            writer.start()
        time.sleep(0.7)
        server.kill()
        stop.set()
        for writer in writers:
            writer.join()
        number += 10_000
        server.start()
        there = batches(server)
        assert acknowledged <= there
        for table in ("v", "t"):
            rows = server.rows(f"SELECT batch, n FROM {table} ORDER BY batch")
            assert {int(batch) for batch, _ in rows} == there and len(rows) == len(there)
            assert {n for _, n in rows} <= {str(ROWS)}, table


def test_kill_9_while_starting(start_server):
    server = start_server()
    create(server)
    insert(server, 0)
    for pause in (0, 0.01, 0.03, 0.1):
        server.kill()
        server.spawn()
        time.sleep(pause)
    server.kill()
    server.start()
    assert batches(server) == {0}


def test_sigterm_lets_queries_finish(start_server):
    server = start_server()
    rows = 3_000_000
    with server.http_peer(receive_buffer=4096) as peer:
        # Nobody reads its result, so that it runs when the server is asked to end.
        peer.send(f"GET /?query=SELECT+number+FROM+numbers({rows})&query_id=last HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        server.until_running("last")
        server.process.send_signal(signal.SIGTERM)

        def is_refused():
            try:
                server.http_peer().close()
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:
                # It waited to be accepted when the listener closed.
                pass
            return False

        wait_until(is_refused, "the server takes no more clients")
        _, body = peer.response()
    assert body.count(b"\n") == rows and body.endswith(b"\n%d\n" % (rows - 1))
    assert server.process.wait(30) == 0


def test_one_server_a_folder(start_server):
    first = start_server()
    second = start_server(folder=first.folder.parent / "second", settings={"path": f"{first.data}/"}, wait=False)
    second.spawn()
    assert second.process.wait(30) != 0
    assert first.value("SELECT 1") == "1"


@pytest.mark.parametrize("end", [None, "kill", "stop"])
def test_full_disk(start_server, small_disk, end):
    """On a disk without a free byte nothing whole is lost, the server starts, and DROP makes room."""
    disk = small_disk(48)
    server = start_server(settings={"path": f"{disk.folder}/data/", "tmp_path": f"{disk.folder}/tmp/"})
    server.query("CREATE TABLE d (batch UInt32, s String) ENGINE = MergeTree ORDER BY batch")
    server.query("CREATE TABLE e (x UInt32) ENGINE = MergeTree ORDER BY x")
    # What a table that is gone leaves in the catalog is for the next start to forget.
    server.query("CREATE TABLE gone (x UInt32) ENGINE = MergeTree ORDER BY x")
    server.query("INSERT INTO gone VALUES (1)")
    server.query("DROP TABLE gone")
    whole = 0
    noise = random.Random(1)
    failure = None
    for batch in range(200):
        # Hexadecimal noise, which compresses to half at best.
        lines = "".join(f"{batch}\t{noise.randbytes(512).hex()}\n" for _ in range(1000))
        response = server.http("INSERT INTO d FORMAT TSV", body=lines.encode())
        if response.status != 200:
            failure = response
            break
        whole += 1
    assert failure is not None, "48 MiB never became full"
    assert failure.headers["X-ClickHouse-Exception-Code"] == "243"
    disk.fill()
    if end is not None:
        getattr(server, end)()
        disk.fill()
        server.start()
    assert server.value("SELECT count(), uniqExact(batch) FROM d") == f"{whole * 1000}\t{whole}"
    server.query("DROP TABLE d")
    # Room again: inserts go on, and a restart finds all.
    wait_until(lambda: server.http("INSERT INTO e VALUES (1)").status == 200, "there is room again")
    server.restart()
    assert server.value("SELECT sum(x) FROM e") == "1"
    # What was needed to make room is kept for the next time.
    disk.fill()
    server.query("TRUNCATE TABLE e")
    assert server.value("SELECT count() FROM e") == "0"
    server.query("DROP TABLE e")


def test_files_may_not_grow(start_server):
    """Without root: a limit on the size of files stands in for a full disk."""
    # 4 MiB. Writing beyond is then an error; without the trap it would be the end of the process.
    limit = ["sh", "-c", 'trap "" XFSZ; ulimit -f 8192; exec "$@"', "sh"]
    server = start_server(wrapper=limit, settings={"logger": "<level>none</level>"})
    create(server)
    insert(server, 0)
    noise = random.Random(2)
    body = b"".join(b"1\t%d\t%s\n" % (n, noise.randbytes(2048).hex().encode()) for n in range(8000))
    response = server.http("INSERT INTO d FORMAT TSV", body=body)
    assert response.status != 200
    assert "DB::Exception" in response.text
    assert batches(server) == {0}


def parts(server):
    """The files of the tests' own tables: there must be no log beside them."""
    assert "query_log" in server.settings and server.settings["query_log"] is None
    return sorted((path for path in server.folder.rglob("*.parquet")), key=lambda path: path.stat().st_mtime)


@pytest.mark.parametrize("damage", ["bytes", "truncated", "empty", "missing"])
def test_corrupted_part(start_server, damage):
    server = start_server(settings={"query_log": None})
    create(server)
    server.query("CREATE TABLE sound (x UInt32) ENGINE = MergeTree ORDER BY x")
    insert(server, 0)
    server.stop()
    part = parts(server)[-1]
    content = part.read_bytes()
    if damage == "bytes":
        middle = len(content) // 3
        part.write_bytes(content[:middle] + bytes(255 - byte for byte in content[middle : middle + 64]) + content[middle + 64 :])
    elif damage == "truncated":
        part.write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        part.write_bytes(b"")
    else:
        part.unlink()
    server.start()
    response = server.http("SELECT batch, n, s FROM d ORDER BY n FORMAT Null")
    assert response.status != 200, "a damaged part was read as if it were sound"
    assert int(response.headers["X-ClickHouse-Exception-Code"]) in (40, 76, 107, 117, 246, 271, 33, 3)
    # Other tables, and writing to this one, are not concerned.
    server.query("INSERT INTO sound VALUES (7)")
    assert server.value("SELECT sum(x) FROM sound") == "7"


def test_data_are_readable_by_others(start_server):
    """The tables are DuckLake: any reader of Parquet can read the parts."""
    server = start_server(settings={"query_log": None})
    create(server)
    insert(server, 3)
    found = [pyarrow.parquet.read_table(path) for path in parts(server)]
    assert sum(table.num_rows for table in found) == ROWS
    catalogs = [path for path in server.data.rglob("*") if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3"]
    assert catalogs, f"no catalog among {os.listdir(server.data)}"


def test_optimize_makes_one_part_a_partition(start_server):
    server = start_server()
    server.query("CREATE TABLE t (k UInt64, p UInt8, s String) ENGINE = MergeTree PARTITION BY p ORDER BY k")
    for number in range(6):
        server.query(f"INSERT INTO t SELECT number * 6 + {number}, number % 2, toString(number) FROM numbers(1000)")
    parts = "SELECT partition_id, count(), sum(rows) FROM system.parts WHERE table = 't' AND active GROUP BY 1 ORDER BY 1"
    content = "SELECT count(), sum(k), sum(cityHash64(k, p, s)) FROM t"
    assert server.query(parts) == "0\t6\t3000\n1\t6\t3000\n"
    before = server.query(content)
    # Two at once: what one has merged the other need not.
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(server.query, ["OPTIMIZE TABLE t", "OPTIMIZE TABLE t FINAL"]))
    assert server.query(parts) == "0\t1\t3000\n1\t1\t3000\n"
    assert server.query(content) == before
    assert server.query("SELECT s FROM t WHERE k IN (0, 1, 5999) ORDER BY k") == "0\n0\n999\n"
    server.kill()
    server.start()
    assert server.query(parts) == "0\t1\t3000\n1\t1\t3000\n"
    assert server.query(content) == before
