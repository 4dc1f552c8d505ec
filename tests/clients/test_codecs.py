"""Codecs of columns, settings of tables that change, and databases that are detached: kept, shown, and used."""

import pytest

COLUMNS = (
    "k UInt64 CODEC(Delta, ZSTD(3)), d DateTime CODEC(DoubleDelta, LZ4), f Float64 CODEC(Gorilla), s String CODEC(NONE), "
    "t Nullable(Int32) CODEC(T64, Default), a Array(UInt16) CODEC(Delta, LZ4), m Map(String, UInt8) CODEC(ZSTD(9)), "
    "l LowCardinality(String) CODEC(LZ4), plain UInt64"
)
ROWS = (
    "INSERT INTO t SELECT 18446744073709551615 - number * 1000, toDateTime(1700000000 + number), number / 3, toString(number), "
    "if(number % 7 = 0, NULL, -number), [number % 65536, 7], map('k', number % 256), toString(number % 9), number FROM numbers(50000)"
)
SUMS = (
    "SELECT count(), sum(cityHash64(k)), max(d), sum(cityHash64(f)), sum(length(s)), sum(t), countIf(isNull(t)), sum(arraySum(a)), sum(m['k']), "
    "uniqExact(l), sum(plain) FROM t"
)
CODECS = [
    ["k", "CODEC(Delta(8), ZSTD(3))"],
    ["d", "CODEC(DoubleDelta, LZ4)"],
    ["f", "CODEC(Gorilla(8))"],
    ["s", "CODEC(NONE)"],
    ["t", "CODEC(T64, Default)"],
    ["a", "CODEC(Delta(2), LZ4)"],
    ["m", "CODEC(ZSTD(9))"],
    ["l", "CODEC(LZ4)"],
    ["plain", ""],
]


def codecs(server):
    return [list(row) for row in server.rows("SELECT name, compression_codec FROM system.columns WHERE table = 't'")]


def part_file(server):
    """The one part of t, as PyArrow reads it."""
    parquet = pytest.importorskip("pyarrow.parquet")
    path = server.value("SELECT path FROM system.parts WHERE table = 't' AND active")
    (file,) = [file for file in server.data.rglob("*.parquet") if path.rstrip("/").endswith(file.name)]
    group = parquet.ParquetFile(file).metadata.row_group(0)
    columns = (group.column(at) for at in range(group.num_columns))
    return {column.path_in_schema.split(".")[0]: (column.compression, set(column.encodings)) for column in columns}


def test_codecs_are_kept_shown_and_used(start_server):
    server = start_server()
    server.query("CREATE TABLE plain_t (k UInt64) ENGINE = MergeTree ORDER BY k")
    server.query(f"CREATE TABLE t ({COLUMNS}) ENGINE = MergeTree ORDER BY d")
    server.query(ROWS, max_threads=1, max_insert_threads=1, min_insert_block_size_rows=100000)
    server.query("OPTIMIZE TABLE t FINAL")
    sums = server.query(SUMS)
    assert codecs(server) == CODECS
    file = part_file(server)
    assert file["k"][0] == "ZSTD" and "DELTA_BINARY_PACKED" in file["k"][1], file
    assert file["d"][0] == "LZ4" and "DELTA_BINARY_PACKED" in file["d"][1], file
    assert "BYTE_STREAM_SPLIT" in file["f"][1] and file["s"][0] == "UNCOMPRESSED", file
    assert "DELTA_BINARY_PACKED" in file["t"][1] and file["m"][0] == "ZSTD", file
    server.kill()
    server.start()
    assert server.query(SUMS) == sums
    assert codecs(server) == CODECS
    assert "`f` Float64 CODEC(Gorilla(8))" in server.query("SHOW CREATE TABLE t")
    assert "ZSTD(3)" in server.query("DESCRIBE TABLE t")
    server.query("ALTER TABLE t MODIFY COLUMN plain CODEC(Delta, LZ4), MODIFY COLUMN s String CODEC(ZSTD(1)), MODIFY COLUMN k REMOVE CODEC")
    changed = [["k", ""] if name == "k" else ["s", "CODEC(ZSTD(1))"] if name == "s" else
               ["plain", "CODEC(Delta(8), LZ4)"] if name == "plain" else [name, codec] for name, codec in CODECS]
    assert codecs(server) == changed
    assert server.query(SUMS) == sums, "parts that are there stay as they are"
    server.query("INSERT INTO t SELECT * FROM t LIMIT 1")
    server.query("OPTIMIZE TABLE t FINAL")
    file = part_file(server)
    assert "DELTA_BINARY_PACKED" in file["plain"][1] and file["s"][0] == "ZSTD", file
    # Numbers that ascend are differences if no codec is asked for, and these are not compressed.
    assert file["k"][0] == "UNCOMPRESSED" and "DELTA_BINARY_PACKED" in file["k"][1], file
    server.restart()
    assert codecs(server) == changed
    assert server.value("SELECT count() FROM t") == "50001"


@pytest.mark.parametrize(
    "column, code",
    [
        ("x UInt8 CODEC(NOPE)", 432),
        ("x String CODEC(Delta, LZ4)", 36),
        ("x UInt8 CODEC(LZ4, ZSTD)", 36),
        ("x UInt8 CODEC(ZSTD(99))", 433),
        ("x Float64 CODEC(FPC(29))", 433),
        ("x UInt64 CODEC(FPC)", 36),
        ("x UInt8 CODEC(AES_128_GCM_SIV)", 344),
        ("x UInt8 ALIAS 1 CODEC(ZSTD)", 36),
    ],
)
def test_codecs_that_mean_nothing_are_refused(server, column, code):
    assert server.error_code(f"CREATE TABLE refused ({column}, y UInt8) ENGINE = MergeTree ORDER BY y") == code


def test_large_parts_have_a_codec_of_their_own(start_server):
    server = start_server()
    codec = "SELECT DISTINCT default_compression_codec FROM system.parts WHERE table = 't' AND active"
    value = "SELECT count(), sum(v), sum(length(s)), uniqExact(s) FROM t"
    server.query("CREATE TABLE t (k UInt64, v UInt64, s String) ENGINE = MergeTree ORDER BY k")
    server.query("SYSTEM STOP MERGES t")
    for first in (0, 7_000_000):
        text = "concat('a string that repeats, and is long enough for it, ', toString(number % 90000))"
        server.query(f"INSERT INTO t SELECT number, cityHash64(number), {text} FROM numbers({first}, 7000000)")
    assert server.value(codec) == "LZ4"
    expected = server.query(value)
    server.query("SYSTEM START MERGES t")
    server.query("OPTIMIZE TABLE t FINAL")
    assert server.value(codec) == "ZSTD(1)"
    assert server.query(value) == expected
    server.restart()
    assert server.value(codec) == "ZSTD(1)"
    assert server.query(value) == expected
    server.query("ALTER TABLE t MODIFY SETTING default_compression_codec = 'LZ4'")
    server.query("OPTIMIZE TABLE t FINAL")
    assert server.value(codec) == "LZ4"


def test_settings_of_a_table_change(start_server):
    server = start_server()
    server.query("CREATE TABLE t (k UInt64) ENGINE = MergeTree ORDER BY k")
    server.query("ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 2, default_compression_codec = 'ZSTD(2)'")
    server.query("INSERT INTO t VALUES (1)")
    server.query("INSERT INTO t VALUES (2)")
    assert server.error_code("INSERT INTO t VALUES (3)") == 252
    server.restart()
    assert server.error_code("INSERT INTO t VALUES (3)") == 252
    assert "parts_to_throw_insert = 2" in server.query("SHOW CREATE TABLE t")
    server.query("ALTER TABLE t RESET SETTING parts_to_throw_insert")
    server.query("INSERT INTO t VALUES (3)")
    assert "parts_to_throw_insert" not in server.query("SHOW CREATE TABLE t")
    assert server.error_code("ALTER TABLE t MODIFY SETTING nosuch = 1") == 115
    assert server.error_code("ALTER TABLE t RESET SETTING nosuch") == 36
    assert server.error_code("ALTER TABLE t MODIFY SETTING index_granularity = 100") == 472
    server.query("CREATE USER u")
    assert server.error_code("ALTER TABLE t MODIFY SETTING parts_to_throw_insert = 9", user="u") == 497


def test_a_database_is_detached_until_it_is_attached(start_server):
    server = start_server()
    server.query("CREATE DATABASE d")
    server.query("CREATE TABLE d.t (k UInt64) ENGINE = MergeTree ORDER BY k")
    server.query("INSERT INTO d.t VALUES (1)")
    server.query("DETACH DATABASE d")
    assert server.error_code("SELECT * FROM d.t") == 81
    assert server.error_code("CREATE DATABASE d") == 82
    server.query("ATTACH DATABASE d")
    assert server.value("SELECT k FROM d.t") == "1"
    assert server.error_code("ATTACH DATABASE nosuch") == 81
    assert server.error_code("DETACH DATABASE system") == 36
    server.query("DETACH DATABASE d")
    server.restart()
    assert server.value("SELECT k FROM d.t") == "1"


def test_what_is_granted_can_be_asked_for(start_server):
    server = start_server()
    server.query("CREATE TABLE t (a UInt8, b UInt8) ENGINE = Memory")
    server.query("CREATE USER u")
    server.query("GRANT SELECT(a) ON default.t TO u")
    for asked, answer in (("SELECT(a) ON default.t", "1"), ("SELECT(a, b) ON default.t", "0"), ("SELECT ON default.t", "0")):
        assert server.value(f"CHECK GRANT {asked}", user="u") == answer
        assert server.value(f"CHECK GRANT {asked}") == "1"
