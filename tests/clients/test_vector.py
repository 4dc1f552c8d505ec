"""What Vector sends to ClickHouse, request by request. Vector itself is on none of the registries, so this replays by plain HTTP what its
sinks `clickhouse` and `http` (0.58) make of events, configuration and answers; it is not the program."""

import base64
import gzip
import json
import threading
import time
import urllib.parse
import zlib

import pyarrow
import pytest
import zstd
from server import wait_until

ENCODINGS = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstd.compress, None: bytes}
EVENTS = [
    {"host": "a", "message": "it's a line\n", "timestamp": "2024-03-15T10:00:00.123456789Z", "level": 3},
    {"host": "b", "message": "é", "timestamp": "2024-03-15T10:00:01.5Z", "level": 6},
]


def lines(events):
    """Newline-delimited JSON, as both sinks write events."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


class Sink:
    """A configured sink `clickhouse`."""

    def __init__(self, server, table, database="default", form="JSONEachRow", compression="gzip", auth=None, **settings):
        self.server = server
        self.compression = compression
        self.form = form
        self.headers = {"User-Agent": "Vector/0.58.0", "Accept-Encoding": "identity"}
        if auth:
            self.headers["Authorization"] = "Basic " + base64.b64encode(auth.encode()).decode()
        # The settings come first, then the statement, whose names are parameters.
        insert = "INSERT INTO {database:Identifier}.{table:Identifier} FORMAT " + form
        params = {"input_format_import_nested_json": 1, **settings}
        params |= {"query": insert, "param_database": database, "param_table": table}
        self.path = "/?" + urllib.parse.urlencode(params)

    def healthy(self):
        """Vector asks this at its start."""
        return self.server.http(path="/?query=SELECT%201", method="GET", headers=self.headers).status == 200

    def send(self, events):
        """One batch; events are bytes already for Arrow."""
        body = ENCODINGS[self.compression](events if isinstance(events, bytes) else lines(events))
        kind = "application/vnd.apache.arrow.stream" if self.form == "ArrowStream" else "application/x-ndjson"
        headers = self.headers | {"Content-Type": kind, "Content-Length": str(len(body))}
        if self.compression:
            headers["Content-Encoding"] = self.compression
        return self.server.http(path=self.path, body=body, headers=headers)

    def columns(self, database, table):
        """The columns that it writes in Arrow, by the question that it asks first."""
        question = (
            "SELECT name, type, default_kind FROM system.columns WHERE database = {db:String} AND table = {tbl:String}"
            " AND default_kind IN ('', 'DEFAULT') ORDER BY position FORMAT JSONEachRow"
        )
        params = {"query": question, "param_db": database, "param_tbl": table}
        response = self.server.http(path="/?" + urllib.parse.urlencode(params), method="GET", headers=self.headers)
        assert response.status == 200, response.text
        return [json.loads(line) for line in response.text.splitlines()]


def is_retried(response):
    """Vector sends a batch again where the server or the way to it is at fault, not the data."""
    if response.status == 500 and response.body.startswith((b"Code: 117", b"Code: 53")):
        return False
    return response.status in (408, 429) or (response.status >= 500 and response.status != 501)


def deliver(sink, events, seconds=20):
    """Sends a batch until it is taken or refused for good; the answers' statuses, 0 where there was none."""
    statuses = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            response = sink.send(events)
        except OSError:
            statuses.append(0)
        else:
            statuses.append(response.status)
            if not is_retried(response):
                break
        time.sleep(0.1)
    return statuses


@pytest.fixture
def logs(server, table):
    server.query(f"CREATE TABLE {table} (host String, message String, timestamp DateTime64(3, 'UTC'), level UInt8) ORDER BY host")
    return table


def stored(server, table):
    return server.rows(f"SELECT * FROM {table} ORDER BY ALL")


WRITTEN = [["a", "it\\'s a line\\n", "2024-03-15 10:00:00.123", "3"], ["b", "é", "2024-03-15 10:00:01.500", "6"]]


def test_health(server):
    assert Sink(server, "t").healthy()
    assert not Sink(server, "t", auth="reader:wrong").healthy()
    assert Sink(server, "t", auth="reader:secret").healthy()


@pytest.mark.parametrize("compression", ENCODINGS)
def test_events(server, logs, compression):
    sink = Sink(server, logs, compression=compression, date_time_input_format="best_effort")
    response = sink.send(EVENTS)
    assert (response.status, response.body) == (200, b"")
    assert stored(server, logs) == WRITTEN


def test_dates_need_best_effort(server, logs):
    """Vector's option is for servers that read dates in ClickHouse's own way alone, which is not the default any more."""
    response = Sink(server, logs, date_time_input_format="basic").send(EVENTS)
    assert response.status == 400 and "(CANNOT_PARSE_" in response.text, response.text
    assert not is_retried(response)
    assert stored(server, logs) == []


def test_times_as_numbers(server, table):
    server.query(f"CREATE TABLE {table} (timestamp DateTime('UTC')) ORDER BY timestamp")
    assert Sink(server, table).send([{"timestamp": 1710496800}]).status == 200
    assert stored(server, table) == [["2024-03-15 10:00:00"]]


def test_unknown_fields(server, logs):
    more = [{"host": "a", "level": 3, "unknown": {"deep": [1]}}]
    refused = Sink(server, logs, input_format_skip_unknown_fields=0).send(more)
    assert refused.status == 400 and refused.text.startswith("Code: 117"), refused.text
    assert not is_retried(refused)
    assert Sink(server, logs, input_format_skip_unknown_fields=1).send(more).status == 200
    assert stored(server, logs) == [["a", "", "1970-01-01 00:00:00.000", "3"]]


def test_data_of_a_wrong_type_is_refused_for_good(server, logs):
    assert deliver(Sink(server, logs), [{"host": "a", "level": "no number"}]) == [400]
    assert stored(server, logs) == []


def test_nested_fields(server, table):
    server.query(f"CREATE TABLE {table} (host String, http Nested(code UInt16, path String), labels Map(String, String)) ORDER BY host")
    event = {"host": "a", "http": {"code": [200, 404], "path": ["/", "/x"]}, "labels": {"k": "v"}}
    assert Sink(server, table).send([event]).status == 200
    assert stored(server, table) == [["a", "[200,404]", "['/','/x']", "{'k':'v'}"]]


def test_names_of_any_kind(server):
    database, table = 'of "vector"', "a `table`; --"
    quoted = "`of \"vector\"`.`a \\`table\\`; --`"
    server.query('CREATE DATABASE `of "vector"`')
    try:
        server.query(f"CREATE TABLE {quoted} (host String) ORDER BY host")
        assert Sink(server, table, database).send([{"host": "a"}]).status == 200
        assert server.value(f"SELECT host FROM {quoted}") == "a"
    finally:
        server.query('DROP DATABASE `of "vector"`')


@pytest.mark.parametrize(
    ("form", "column", "taken"),
    [
        ("JSONAsObject", "event JSON", "SELECT event.host::String, event.level::Int64 FROM {} ORDER BY ALL"),
        ("JSONAsString", "event String", "SELECT JSONExtractString(event, 'host'), JSONExtractInt(event, 'level') FROM {} ORDER BY ALL"),
    ],
)
def test_whole_events(server, table, form, column, taken):
    server.query(f"CREATE TABLE {table} ({column}) ORDER BY tuple()")
    response = Sink(server, table, form=form).send(EVENTS)
    assert response.status == 200, response.text
    assert server.rows(taken.format(table)) == [["a", "3"], ["b", "6"]]


@pytest.mark.parametrize("wait", [0, 1])
def test_asynchronous_inserts(server, logs, wait):
    sink = Sink(
        server,
        logs,
        date_time_input_format="best_effort",
        insert_distributed_one_random_shard=1,
        async_insert=1,
        wait_for_async_insert=wait,
        wait_for_async_insert_timeout=30,
        async_insert_deduplicate=0,
        async_insert_max_data_size=1000000,
        async_insert_max_query_number=100,
    )
    response = sink.send(EVENTS)
    assert response.status == 200, response.text
    if not wait:
        wait_until(lambda: stored(server, logs), "the rows are written")
    assert stored(server, logs) == WRITTEN


# A table with each type that Vector writes in Arrow: its type there, a value, and how the table shows it.
ARROW = [
    ("i", "Int64", pyarrow.int64(), -5, "-5"),
    ("u", "UInt8", pyarrow.uint8(), 200, "200"),
    ("f", "Float32", pyarrow.float32(), 1.5, "1.5"),
    ("b", "Bool", pyarrow.bool_(), True, "true"),
    ("s", "String", pyarrow.utf8(), "x", "x"),
    ("fixed", "FixedString(3)", pyarrow.utf8(), "abc", "abc"),
    ("lc", "LowCardinality(String)", pyarrow.utf8(), "x", "x"),
    ("id", "UUID", pyarrow.utf8(), "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    ("d", "Date", pyarrow.date32(), 19797, "2024-03-15"),
    ("d32", "Date32", pyarrow.date32(), 19797, "2024-03-15"),
    ("t", "DateTime('UTC')", pyarrow.timestamp("s"), 1710496800, "2024-03-15 10:00:00"),
    ("ms", "DateTime64(3, 'UTC')", pyarrow.timestamp("ms"), 1710496800123, "2024-03-15 10:00:00.123"),
    ("ns", "DateTime64(9, 'UTC')", pyarrow.timestamp("ns"), 1710496800123456789, "2024-03-15 10:00:00.123456789"),
    ("n", "Nullable(Int32)", pyarrow.int32(), None, "\\N"),
    ("de", "Decimal(9, 2)", pyarrow.decimal128(9, 2), "1.25", "1.25"),
    ("de256", "Decimal(76, 2)", pyarrow.decimal256(76, 2), "1.25", "1.25"),
    ("a", "Array(Nullable(Int32))", pyarrow.list_(pyarrow.int32()), [1, None], "[1,NULL]"),
    ("m", "Map(String, Int64)", pyarrow.map_(pyarrow.utf8(), pyarrow.int64()), [("k", 1)], "{'k':1}"),
    ("p", "Tuple(n Int64, s String)", pyarrow.struct({"n": pyarrow.int64(), "s": pyarrow.utf8()}), {"n": 1, "s": "x"}, "(1,'x')"),
    # Vector leaves fields out that have a default.
    ("preset", "String", pyarrow.utf8(), None, "set"),
]


def record_batch():
    """A stream of Arrow with one row."""

    def array(kind, value):
        if pyarrow.types.is_decimal(kind):
            return pyarrow.array([value]).cast(kind)
        if pyarrow.types.is_temporal(kind):
            return pyarrow.array([value]).cast(pyarrow.int32() if kind == pyarrow.date32() else pyarrow.int64()).cast(kind)
        return pyarrow.array([value], kind)

    batch = pyarrow.record_batch([array(kind, value) for _, _, kind, value, _ in ARROW], names=[column[0] for column in ARROW])
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("compression", ["gzip", None])
def test_arrow(server, table, compression):
    defaults = {"preset": " DEFAULT 'set'"}
    columns = ", ".join(f"{name} {kind}{defaults.get(name, '')}" for name, kind, *_ in ARROW)
    server.query(f"CREATE TABLE {table} ({columns}, made String MATERIALIZED s, other String ALIAS s) ORDER BY i")
    sink = Sink(server, table, form="ArrowStream", compression=compression)
    told = [(column["name"], column["type"], column["default_kind"]) for column in sink.columns("default", table)]
    assert told == [(name, kind, "DEFAULT" if name in defaults else "") for name, kind, *_ in ARROW]
    response = sink.send(record_batch())
    assert response.status == 200, response.text
    assert stored(server, table) == [[shown for *_, shown in ARROW]]


def test_arrow_of_a_table_that_is_not_there(server):
    assert Sink(server, "nothing").columns("default", "nothing") == []


def test_a_batch_is_sent_again_until_the_server_is_there(start_server):
    server = start_server()
    server.query("CREATE TABLE t (host String) ORDER BY host")
    server.stop()
    started = threading.Timer(1, server.start)
    started.start()
    statuses = deliver(Sink(server, "t"), [{"host": "a"}])
    started.join()
    assert statuses[0] == 0 and statuses[-1] == 200, statuses
    assert server.value("SELECT count() FROM t") == "1"


def test_a_server_with_too_much_to_do_is_asked_again(start_server):
    server = start_server(settings={"max_concurrent_insert_queries": 1})
    server.query("CREATE TABLE t (host String) ORDER BY host")
    slow = "INSERT INTO t SELECT toString(sleepEachRow(0.5)) FROM numbers(4) SETTINGS max_block_size = 1"
    busy = threading.Thread(target=server.query, args=(slow,), kwargs={"query_id": "slow"})
    busy.start()
    server.until_running("slow")
    statuses = deliver(Sink(server, "t"), [{"host": "a"}])
    busy.join()
    assert len(statuses) > 1 and statuses[-1] == 200, statuses
    assert server.value("SELECT count() FROM t WHERE host = 'a'") == "1"


def test_too_many_parts_are_worth_another_try(server, table):
    server.query(f"CREATE TABLE {table} (host String) ORDER BY host SETTINGS parts_to_throw_insert = 1, parts_to_delay_insert = 0")
    server.query(f"SYSTEM STOP MERGES {table}")
    sink = Sink(server, table)
    responses = [sink.send([{"host": "a"}]) for _ in range(3)]
    assert responses[-1].text.startswith("Code: 252"), responses[-1].text
    assert is_retried(responses[-1])


def test_a_table_that_is_not_there_is_an_error_for_good(server):
    assert deliver(Sink(server, "nothing"), EVENTS) == [404]


# --- the sink `http` ---


@pytest.mark.parametrize("compression", ENCODINGS)
@pytest.mark.parametrize("framing", ["newline_delimited", "array"])
def test_http_sink(server, logs, framing, compression):
    """Its address holds the whole statement. Events are lines, or by default one JSON array."""
    body, kind = {
        "newline_delimited": (lines(EVENTS), "application/x-ndjson"),
        "array": (json.dumps(EVENTS, separators=(",", ":")).encode(), "application/json"),
    }[framing]
    insert = urllib.parse.quote(f"INSERT INTO {logs} FORMAT JSONEachRow")
    headers = {"Content-Type": kind, "User-Agent": "Vector/0.58.0", "Accept-Encoding": "identity"}
    headers |= {"X-ClickHouse-User": "default", "X-ClickHouse-Key": ""}
    if compression:
        headers["Content-Encoding"] = compression
    path = f"/?query={insert}&date_time_input_format=best_effort"
    response = server.http(path=path, body=ENCODINGS[compression](body), headers=headers)
    assert (response.status, response.body) == (200, b""), response.text
    assert stored(server, logs) == WRITTEN


def test_http_sink_asks_for_health(server):
    """Where an address for it is configured."""
    for path in ("/ping", "/?query=SELECT%201"):
        response = server.http(path=path, method="HEAD")
        assert (response.status, response.body) == (200, b""), path
