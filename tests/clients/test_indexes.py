"""Skip indexes and the primary key: what EXPLAIN says of them, and that they hold through restarts, merges and changes."""

import json

ROWS = 20_000
INDEXES = [
    ("v TYPE minmax", "v = 777"),
    ("v TYPE set(16)", "v + 1 = 778"),
    ("s TYPE bloom_filter(0.001)", "s = 'word777 shared'"),
    ("s TYPE tokenbf_v1(1024, 3, 0)", "hasToken(s, 'word777')"),
    ("s TYPE ngrambf_v1(5, 2048, 3, 0)", "s LIKE '%word777 sh%'"),
    ("s TYPE text(tokenizer = splitByNonAlpha)", "hasAllTokens(s, 'word777 shared')"),
]


def create(server, index=""):
    server.query("DROP TABLE IF EXISTS t SYNC")
    server.query(f"CREATE TABLE t (k UInt32, v UInt32, s String{index}) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 128")
    server.query(f"INSERT INTO t SELECT number, intDiv(number, 8), concat('word', toString(intDiv(number, 8)), ' shared') FROM numbers({ROWS})")


def read_rows(server, sql, **settings):
    """The result's rows and how many rows were read for it."""
    options = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
    answer = json.loads(server.query(f"{sql} FORMAT JSON" + (f" SETTINGS {options}" if options else "")))
    return answer["data"], answer["statistics"]["rows_read"]


def test_every_index_leaves_out_granules_before_and_after_a_restart(start_server):
    server = start_server()
    for index, condition in INDEXES:
        sql = f"SELECT k FROM t WHERE {condition} ORDER BY k"
        create(server, f", INDEX i {index} GRANULARITY 1")
        everything, read = read_rows(server, sql, use_skip_indexes=0)
        # The zones of a chunk in memory, 8,192 rows each, serve without an index.
        assert len(everything) == 8 and read in (ROWS, 8192)
        for _ in range(2):
            found, read = read_rows(server, sql, force_data_skipping_indices="i")
            assert found == everything and read <= ROWS // 20, (index, read)
            server.kill()
            server.start()
        # A merge makes the index anew.
        server.query("INSERT INTO t SELECT 1000000, 0, 'more'")
        server.query("OPTIMIZE TABLE t FINAL")
        found, read = read_rows(server, sql, force_data_skipping_indices="i")
        assert found == everything and read <= ROWS // 20, (index, read)


def test_an_index_of_older_parts_is_made_and_cleared(start_server):
    server = start_server()
    create(server)
    sql = "SELECT k FROM t WHERE s = 'word777 shared' ORDER BY k"
    everything, read = read_rows(server, sql)
    assert read == ROWS
    server.query("ALTER TABLE t ADD INDEX i s TYPE bloom_filter(0.001)")
    assert read_rows(server, sql, force_data_skipping_indices="i") == (everything, ROWS)
    server.query("ALTER TABLE t MATERIALIZE INDEX i SETTINGS mutations_sync = 2")
    found, read = read_rows(server, sql)
    assert found == everything and read < ROWS // 20
    # It is the column's, whatever that is called.
    server.query("ALTER TABLE t RENAME COLUMN s TO text")
    sql = sql.replace("s =", "text =")
    found, read = read_rows(server, sql)
    assert found == everything and read < ROWS // 20
    assert int(server.value("SELECT data_compressed_bytes FROM system.data_skipping_indices WHERE name = 'i'")) > 0
    server.query("ALTER TABLE t CLEAR INDEX i SETTINGS mutations_sync = 2")
    assert read_rows(server, sql) == (everything, ROWS)
    assert int(server.value("SELECT data_compressed_bytes FROM system.data_skipping_indices WHERE name = 'i'")) == 0
    server.query("CHECK TABLE t")


def test_explain_tells_what_each_index_leaves(server):
    server.query("CREATE TABLE explained (d Date, k UInt32, v UInt32, INDEX i v TYPE minmax GRANULARITY 2) ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY k SETTINGS index_granularity = 100")
    server.query("INSERT INTO explained SELECT toDate('2020-01-01') + intDiv(number, 200), number, number % 1000 FROM numbers(10000)")

    def explain(condition):
        lines = server.query(f"EXPLAIN indexes = 1 SELECT count() FROM explained WHERE {condition}").splitlines()
        lines = [line.strip(" │└─├") for line in lines]
        return lines[lines.index("Indexes:") + 1 :]

    assert explain("d >= '2020-02-01' AND k = 7000") == [
        "Min-Max", "Keys:", "d", "Condition: (d in [18293, +Inf))", "Parts: 1/2", "Granules: 38/100",
        "Partition", "Keys:", "toYYYYMM(d)", "Condition: (toYYYYMM(d) in [202002, +Inf))", "Parts: 1/1", "Granules: 38/38",
        "PrimaryKey", "Keys:", "k", "Condition: (k in [7000, 7000])", "Parts: 1/1", "Granules: 1/38", "Search Algorithm: binary search",
        "Ranges: 1",
    ]
    lines = explain("v = 700")
    assert lines[lines.index("Skip") :] == [
        "Skip", "Name: i", "Description: minmax GRANULARITY 2", "Condition: (v in [700, 700])", "Parts: 2/2", "Granules: 20/100", "Ranges: 10",
    ]
    assert "Condition: (k in 2-element set)" in explain("k IN (5, 77)")
    server.query("DROP TABLE explained")
