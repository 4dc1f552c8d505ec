"""What does not fit into memory goes to disk: the answers are the same, limits hold, and nothing stays behind."""

import io

import numpy
import pyarrow
import pyarrow.parquet
import pytest
from server import Server, ServerError, wait_until

# Some six times less than the rows take. At a tenth of them ORDER BY and DISTINCT are refused at times.
LIMIT = 100_000_000
ROWS = 6_000_000
TABLE = f"SELECT cityHash64(number) AS k, number AS v, concat('value ', toString(k), ' of the table') AS s FROM numbers({ROWS})"

QUERIES = {
    "sort": (f"SELECT v FROM t ORDER BY s LIMIT 5 OFFSET {ROWS - 5}", "ExternalSortWritePart"),
    "group by": ("SELECT count(), sum(c), sum(m) FROM (SELECT s, count() AS c, max(v) AS m FROM t GROUP BY s)", "ExternalAggregationWritePart"),
    "distinct": ("SELECT count() FROM (SELECT DISTINCT k, s FROM t)", "ExternalAggregationWritePart"),
    "window": (
        "SELECT count(), sum(r), sum(c), sum(length(p)), max(m) FROM (SELECT row_number() OVER w AS r, sum(v) OVER w AS c,"
        " lagInFrame(s) OVER w AS p, max(v) OVER (ORDER BY s) AS m FROM t"
        " WINDOW w AS (ORDER BY s ROWS BETWEEN 10 PRECEDING AND CURRENT ROW))",
        "ExternalSortWritePart",
    ),
    "window of partitions": (
        "SELECT sum(c), sum(r), sum(l) FROM (SELECT sum(v) OVER (PARTITION BY k % 300 ORDER BY s) AS c,"
        " rank() OVER (PARTITION BY k % 300 ORDER BY s) AS r, lead(v, 9) OVER (PARTITION BY k % 300 ORDER BY s) AS l FROM t)",
        "ExternalSortWritePart",
    ),
    "window of everything": (
        "SELECT sum(n), sum(m) = any(m) * count(), sum(length(s)) FROM (SELECT s, count() OVER () AS n, sum(v) OVER () AS m"
        " FROM (SELECT concat(s, ' with more') AS s, v FROM t))",
        "ExternalSortWritePart",
    ),
    "join": ("SELECT count(), sum(a.v), sum(b.v) FROM t AS a JOIN t AS b ON a.k = b.k", "ExternalJoinWritePart"),
}


def temporary(server):
    return int(server.value("SELECT value FROM system.metrics WHERE metric = 'TotalTemporaryFiles'"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("spill"))
    server.start()
    server.query(f"CREATE TABLE t ENGINE = MergeTree ORDER BY tuple() AS {TABLE}", timeout=300)
    yield server
    server.kill()


@pytest.mark.parametrize("name", QUERIES)
def test_several_times_the_limit(filled, name):
    query, event = QUERIES[name]
    before = filled.value(f"SELECT sum(value) FROM system.events WHERE event = '{event}'")
    expected = filled.rows(query, timeout=300)
    assert filled.value(f"SELECT sum(value) FROM system.events WHERE event = '{event}'") == before
    assert filled.rows(query, max_memory_usage=LIMIT, timeout=300) == expected
    assert int(filled.value(f"SELECT sum(value) FROM system.events WHERE event = '{event}'")) > int(before)
    wait_until(lambda: temporary(filled) == 0, "temporary files are gone")


def test_a_full_disk_fails_the_query_alone(start_server, small_disk):
    disk = small_disk(4)
    server = start_server(settings={"tmp_path": f"{disk.folder}/"})
    with pytest.raises(ServerError) as failure:
        server.query(
            "SELECT * FROM numbers(5000000) ORDER BY cityHash64(number) FORMAT Null"
            " SETTINGS max_bytes_before_external_sort = 10000000"
        )
    assert failure.value.code == 243
    wait_until(lambda: temporary(server) == 0, "temporary files are gone")
    assert list(disk.folder.iterdir()) == []
    assert server.value("SELECT 1") == "1"


# More than an INSERT holds in memory.
PARQUET_ROWS = 8_000_000


@pytest.fixture(scope="module")
def parquet():
    numbers = numpy.random.default_rng(7).integers(0, 1 << 62, PARQUET_ROWS)
    file = io.BytesIO()
    columns = {"n": numbers, "unknown": numpy.arange(PARQUET_ROWS)}
    pyarrow.parquet.write_table(pyarrow.table(columns), file, row_group_size=1_000_000, use_dictionary=False)
    assert len(file.getvalue()) > 80_000_000
    return file.getvalue(), int(numbers.astype("uint64").sum())


def chunked(body):
    """A request's body whose length is not told before."""
    return (body[at : at + 1_000_003] for at in range(0, len(body), 1_000_003))


def test_data_that_are_read_by_place(start_server, parquet):
    server = start_server()
    server.query("CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
    body, expected = parquet
    insert = "INSERT INTO t FORMAT Parquet"
    for data in body, chunked(body):
        answer = server.http(insert, body=data, max_memory_usage=400_000_000, timeout=120)
        assert answer.status == 200, answer.text
        assert server.rows("SELECT count(), sum(n) FROM t") == [[str(PARQUET_ROWS), str(expected)]]
        wait_until(lambda: temporary(server) == 0, "temporary files are gone")
        server.query("TRUNCATE TABLE t")
    for part in body[:70_000_000], body[:70_000_000] + bytes(1_000), bytes(70_000_000):
        answer = server.http(insert, body=part, timeout=120)
        assert answer.status == 400 and answer.headers["X-ClickHouse-Exception-Code"] == "117", answer.text
    refused = {"max_temporary_data_on_disk_size_for_query": 40_000_000}, {"input_format_skip_unknown_fields": 0}
    for settings, code in zip(refused, ("396", "117"), strict=True):
        answer = server.http(insert, body=body, timeout=120, **settings)
        assert answer.headers["X-ClickHouse-Exception-Code"] == code, answer.text
    wait_until(lambda: temporary(server) == 0, "temporary files are gone")
    assert server.rows("SELECT count() FROM t") == [["0"]]
    assert list((server.folder / "tmp").iterdir()) == []


def test_a_disk_that_data_read_by_place_fill(start_server, small_disk, parquet):
    disk = small_disk(48)
    server = start_server(settings={"tmp_path": f"{disk.folder}/"})
    server.query("CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
    answer = server.http("INSERT INTO t FORMAT Parquet", body=parquet[0], timeout=120)
    assert answer.headers["X-ClickHouse-Exception-Code"] == "243", answer.text
    wait_until(lambda: temporary(server) == 0, "temporary files are gone")
    assert server.rows("SELECT count() FROM t") == [["0"]]


def test_leftovers_are_removed_at_the_start(start_server):
    server = start_server(wait=False)
    folder = server.folder / "tmp"
    folder.mkdir(parents=True)
    (folder / "squall-temporary-1-1").write_bytes(b"left")
    (folder / "somebody's").write_bytes(b"else")
    server.start()
    assert [path.name for path in folder.iterdir()] == ["somebody's"]


def test_limits_for_temporary_data(start_server):
    server = start_server(settings={"max_temporary_data_on_disk_size": "1000000"})
    sort = "SELECT * FROM numbers(5000000) ORDER BY cityHash64(number) FORMAT Null SETTINGS max_bytes_before_external_sort = 10000000"
    assert server.error_code(sort) == 396
    wait_until(lambda: temporary(server) == 0, "temporary files are gone")


def test_room_that_temporary_data_leave_free(start_server):
    server = start_server()
    sort = "SELECT * FROM numbers(3000000) ORDER BY cityHash64(number) FORMAT Null SETTINGS max_bytes_before_external_sort = 10000000"
    server.query(f"{sort}, min_free_disk_space_for_temporary_data = 1")
    with pytest.raises(ServerError) as failure:
        server.query(f"{sort}, min_free_disk_space_for_temporary_data = 1000000000000000000")
    assert failure.value.code == 243 and "min_free_disk_space_for_temporary_data" in str(failure.value)
    wait_until(lambda: temporary(server) == 0, "temporary files are gone")
