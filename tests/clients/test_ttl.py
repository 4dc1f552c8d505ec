"""TTL: what expires goes in the background, whatever happens to the server meanwhile, and readers of the lake see the same rows."""

import time

from server import wait_until

DAY = 86_400


def test_rows_expire_in_the_background_and_stay_away_after_kill_9(start_server):
    server = start_server()
    server.query(
        "CREATE TABLE t (k UInt64, at DateTime, v String) ENGINE = MergeTree PARTITION BY k % 4 ORDER BY k "
        "TTL at + INTERVAL 3 SECOND SETTINGS merge_with_ttl_timeout = 0"
    )
    old, new = "now() - 100", "now() + 100000"
    # Whole parts that have expired, parts of which half has, and rows that expire later.
    server.query(f"INSERT INTO t SELECT number * 4, {old}, 'old' FROM numbers(1000)")
    server.query(f"INSERT INTO t SELECT number * 4 + 1, if(number % 2 = 0, {old}, {new}), 'half' FROM numbers(1000)")
    server.query("INSERT INTO t SELECT number * 4 + 2, now() + 1, 'soon' FROM numbers(1000)")
    server.query(f"INSERT INTO t SELECT number * 4 + 3, {new}, 'new' FROM numbers(1000)")
    wait_until(lambda: server.value("SELECT count() FROM t") == "1500", "what has expired is gone", 60)
    assert server.rows("SELECT v, count() FROM t GROUP BY v ORDER BY v") == [["half", "500"], ["new", "1000"]]
    server.kill()
    server.start()
    assert server.value("SELECT count() FROM t") == "1500"
    assert server.value("SELECT count() FROM t WHERE at < now()") == "0"


def test_kills_between_merges_lose_nothing(start_server):
    server = start_server()
    server.query(
        "CREATE TABLE t (k UInt64, at DateTime) ENGINE = MergeTree ORDER BY k TTL at SETTINGS merge_with_ttl_timeout = 0"
    )
    kept = 0
    for round in range(5):
        for batch in range(10):
            first = (round * 10 + batch) * 100
            server.query(
                f"INSERT INTO t SELECT number + {first}, if(number % 3 = 0, now() - 10, now() + 100000) FROM numbers(100)"
            )
            kept += 66
        time.sleep(0.2 * round)
        server.kill()
        server.start()
        assert server.value("SELECT count() FROM t WHERE at > now()") == str(kept)
    wait_until(lambda: server.value("SELECT count() FROM t") == str(kept), "what has expired is gone", 60)


def test_the_definition_outlasts_a_start_and_parts_know_their_moments(start_server):
    server = start_server()
    server.query(
        "CREATE TABLE t (k UInt64, d Date, v UInt8 DEFAULT 3 TTL d + INTERVAL 1 DAY) ENGINE = MergeTree ORDER BY k "
        "TTL d + INTERVAL 1 YEAR WHERE v = 1, d + INTERVAL 2 YEAR, d + INTERVAL 1 MONTH RECOMPRESS CODEC(ZSTD(9))"
    )
    server.query("INSERT INTO t VALUES (1, '2100-01-01', 1), (2, '2100-03-01', 2)")
    shown = server.value("SHOW CREATE TABLE t")
    known = server.rows("SELECT delete_ttl_info_min, delete_ttl_info_max, rows_where_ttl_info.max FROM system.parts WHERE table = 't'")
    assert known == [["2102-01-01 00:00:00", "2102-03-01 00:00:00", "['2101-01-01 00:00:00']"]]
    server.kill()
    server.start()
    assert server.value("SHOW CREATE TABLE t") == shown
    assert known == server.rows(
        "SELECT delete_ttl_info_min, delete_ttl_info_max, rows_where_ttl_info.max FROM system.parts WHERE table = 't'"
    )


def test_old_files_are_compressed_anew(start_server):
    server = start_server()
    server.query(
        "CREATE TABLE t (k UInt64, at DateTime, v String) ENGINE = MergeTree ORDER BY k "
        "TTL at + INTERVAL 1 DAY RECOMPRESS CODEC(ZSTD(9)) SETTINGS merge_with_recompression_ttl_timeout = 0"
    )
    server.query(f"INSERT INTO t SELECT number, now() - {2 * DAY}, toString(cityHash64(number)) FROM numbers(200000)")
    codec = "SELECT default_compression_codec FROM system.parts WHERE table = 't' AND active"
    wait_until(lambda: server.value(codec) == "ZSTD(9)", "the part is compressed anew", 60)
    assert server.value("SELECT count(), uniqExact(v) FROM t") == "200000\t200000"
    # It is done: no further merge.
    name = "SELECT name FROM system.parts WHERE table = 't' AND active"
    before = server.value(name)
    time.sleep(1)
    assert server.value(name) == before
