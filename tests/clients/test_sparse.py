"""Columns of mostly defaults: the same answers as with whole columns, less memory, and the sparse form of the Native format, from HTTP and
with ClickHouse 26.9 (PyPI's chdb, where it is installed) as a client of the native protocol."""

import random
import struct

import pytest

# The first revision with sparse columns.
SPARSE = 54_465
END = 1 << 62


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def text(value):
    return varint(len(value)) + value.encode()


def sparse_column(name, data_type, rows, positions, values):
    """A block of one sparse column; the bytes of its values come as they are."""
    offsets, after = b"", 0
    for row in positions:
        offsets += varint(row - after)
        after = row + 1
    offsets += varint(rows - after | END)
    return varint(1) + varint(rows) + text(name) + text(data_type) + b"\1\1" + offsets + values


# (SQL of the value, type): mostly defaults, and one column that is not.
COLUMNS = {
    "u8": ("UInt8", "if({rare}, number % 251, 0)"),
    "i64": ("Int64", "if({rare}, toInt64(number) - 5000, 0)"),
    "f": ("Float64", "if({rare}, number / 4, 0)"),
    "s": ("String", "if({rare}, concat('text ', toString(number % 13)), '')"),
    "fs": ("FixedString(4)", "if({rare}, toFixedString(toString(number % 1000), 4), toFixedString('', 4))"),
    "d": ("Date", "if({rare}, toDate('2024-01-01') + number % 400, toDate(0))"),
    "id": ("UInt64", "number"),
    "k": ("UInt16", "number % 300"),
}

CONDITIONS = ["u8 <> 0", "u8 = 0", "i64 > 0", "f >= 1000", "s = ''", "s LIKE '%1%'", "d > '2024-06-01'", "k < 20", "fs <> ''", "NOT u8"]
VALUES = ["u8", "i64", "f", "s", "d", "u8 + 1", "length(s)", "-i64", "toYear(d)", "if(u8 = 0, i64, 7)", "fs", "k", "upper(s)", "u8 * k"]
KEYS = ["u8", "s", "d", "k", "u8 % 3", "i64 % 10", "s, u8", "k % 7, d", "fs", "empty(s)"]
CALLS = ["count()", "min({})", "max({})", "uniqExact({})", "countIf({})", "any({}) = any({})", "groupArray({})", "argMax(id, ({}, id))", "quantileExact(0.9)(cityHash64({}))"]
NUMBERS = ["sum({})", "avg({})", "sumIf({}, u8 > 3)", "groupBitOr(toUInt64({}))"]


def random_query(choose, table):
    condition = " AND ".join(choose.sample(CONDITIONS, choose.randint(1, 2)))
    where = f"WHERE {condition}" if choose.random() < 0.7 else ""
    if choose.random() < 0.25:
        columns = ", ".join(choose.sample(VALUES, 4))
        return f"SELECT id, {columns} FROM {table} {where} ORDER BY id LIMIT {choose.randint(1, 200)} OFFSET {choose.randint(0, 500)}"
    calls = []
    for _ in range(3):
        call, value = choose.choice(CALLS), choose.choice(VALUES)
        if call == "countIf({})":
            value = choose.choice(CONDITIONS)
        if call == "groupArray({})":
            value = f"toString({value})"
            call = "cityHash64(arraySort(groupArray({})))"
        calls.append(call.replace("{}", value))
    calls.append(choose.choice(NUMBERS).format(choose.choice(["u8", "i64", "k", "u8 + 1", "length(s)"])))
    if choose.random() < 0.5:
        return f"SELECT {', '.join(calls)} FROM {table} {where}"
    key = choose.choice(KEYS)
    return f"SELECT {key}, {', '.join(calls)} FROM {table} {where} GROUP BY {key} ORDER BY {key} LIMIT 50"


def fill(server, table, rows, ratio):
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    server.query(
        f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY id SETTINGS ratio_of_defaults_for_sparse_serialization = {ratio}"
    )
    for part in range(2):
        of = [sql.format(rare=f"number % {23 + at} = {at} OR intDiv(number, 700) = {29 + at}") for at, (_, sql) in enumerate(COLUMNS.values())]
        server.query(f"INSERT INTO {table} SELECT {', '.join(of)} FROM numbers({part * rows}, {rows})")


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_of_whole_columns(start_server, seed):
    server = start_server()
    for table, ratio in (("sparse", 0.5), ("whole", 1)):
        fill(server, table, 40_000, ratio)
    choose = random.Random(seed)
    queries = [random_query(choose, "{table}") for _ in range(150)]

    def compare():
        for query in queries:
            answers = []
            for table in ("sparse", "whole"):
                sql = query.replace("{table}", table)
                answers.append(server.http(body=sql.encode(), max_threads=choose.choice([1, 2])))
            assert answers[0].status == answers[1].status, f"{query}: {[answer.text for answer in answers]}"
            if answers[0].status == 200:
                assert answers[0].body == answers[1].body, query

    compare()
    # As they were written, then as they are decoded from files.
    server.restart()
    compare()


def test_the_cache_is_charged_less(start_server):
    server = start_server()

    def held(ratio):
        server.query(
            f"CREATE TABLE t (z UInt64, s String) ENGINE = MergeTree ORDER BY tuple() SETTINGS ratio_of_defaults_for_sparse_serialization = {ratio}"
        )
        server.query("INSERT INTO t SELECT if(number % 100 = 0, number, 0), if(number % 50 = 0, 'text', '') FROM numbers(1000000)")
        server.restart()
        assert server.value("SELECT sum(z), max(s), uniqExact(s) FROM t") == "4999500000\ttext\t2"
        bytes_held = int(server.value("SELECT value FROM system.metrics WHERE metric = 'ColumnCacheBytes'"))
        server.query("DROP TABLE t SYNC")
        return bytes_held

    sparse, whole = held(0.9375), held(1)
    assert whole > 12_000_000
    assert sparse < whole / 15, (sparse, whole)


# What a block begins with from revision 51903 on: no overflow, no bucket.
BLOCK_INFO = b"\1\0\2\xff\xff\xff\xff\0"


def test_native_out(server, table):
    server.query(
        f"CREATE TABLE {table} (z UInt16, s String) ENGINE = MergeTree ORDER BY tuple() SETTINGS ratio_of_defaults_for_sparse_serialization = 0.5"
    )
    server.query(f"INSERT INTO {table} SELECT if(number IN (3, 4, 99), number + 256, 0), if(number = 0, 'first', '') FROM numbers(100)")
    ask = {"client_protocol_version": SPARSE, "max_threads": 1}
    numbers = struct.pack("<3H", 259, 260, 355)
    z = server.http(f"SELECT z FROM {table} FORMAT Native", **ask).body
    assert z == BLOCK_INFO + sparse_column("z", "UInt16", 100, [3, 4, 99], numbers)
    s = server.http(f"SELECT s FROM {table} FORMAT Native", **ask).body
    assert s == BLOCK_INFO + sparse_column("s", "String", 100, [0], text("first"))
    # Zeros that a function made of other values are not listed.
    seen = server.http(f"SELECT toUInt16(z = 260) AS z FROM {table} FORMAT Native", **ask).body
    assert seen == BLOCK_INFO + sparse_column("z", "UInt16", 100, [4], struct.pack("<H", 1))
    whole = struct.pack("<100H", *[number + 256 if number in (3, 4, 99) else 0 for number in range(100)])
    for revision in (0, SPARSE - 1):
        custom = b"" if revision == 0 else b"\0"
        found = server.http(f"SELECT z FROM {table} FORMAT Native", client_protocol_version=revision).body
        info = b"" if revision == 0 else BLOCK_INFO
        assert found == info + varint(1) + varint(100) + text("z") + text("UInt16") + custom + whole
    # Types that have no sparse form in this revision come whole: NULL is their default.
    found = server.http(f"SELECT toNullable(z) AS z FROM {table} FORMAT Native", **ask).body
    assert found == BLOCK_INFO + varint(1) + varint(100) + text("z") + text("Nullable(UInt16)") + b"\0" + bytes(100) + whole


def test_clickhouse_reads_and_writes(server, table, tmp_path):
    chdb = pytest.importorskip("chdb.session")
    fill(server, table, 30_000, 0.5)
    session = chdb.Session(str(tmp_path))
    try:

        def ask(sql):
            return session.query(sql, "TabSeparated").bytes().decode()

        # The native protocol; the name in full, since chdb's own database is the default one.
        remote = f"remote('127.0.0.1:{server.native_port}', 'default', '{table}', 'default', '')"
        names = ", ".join(COLUMNS)
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
        ask(f"CREATE TABLE copied ({columns}) ENGINE = MergeTree ORDER BY id SETTINGS ratio_of_defaults_for_sparse_serialization = 0.5")
        ask(f"INSERT INTO copied SELECT {names} FROM {remote}")
        rows = "SELECT count(), " + ", ".join(f"sum(cityHash64({name}, id))" for name in COLUMNS)
        expected = server.query(f"{rows} FROM {table}")
        assert ask(f"{rows} FROM copied") == expected
        kinds = ask("SELECT DISTINCT column, serialization_kind FROM system.parts_columns WHERE table = 'copied' AND active ORDER BY 1")
        assert "u8\tSparse" in kinds and "s\tSparse" in kinds
        server.query(f"TRUNCATE TABLE {table}")
        ask(f"INSERT INTO FUNCTION {remote} SELECT {names} FROM copied")
        assert server.query(f"{rows} FROM {table}") == expected
        ask(f"INSERT INTO FUNCTION {remote} SELECT {names} FROM copied WHERE u8 = 0 ORDER BY id LIMIT 1000")
        assert server.value(f"SELECT count() FROM {table}") == "61000"
        # Sparse elements of a tuple.
        ask("CREATE TABLE tuples (t Tuple(a UInt32, s String), id UInt32) ENGINE = MergeTree ORDER BY id SETTINGS ratio_of_defaults_for_sparse_serialization = 0.5")
        ask("INSERT INTO tuples SELECT (if(number % 50 = 1, number, 0), if(number % 40 = 2, 'x', '')), number FROM numbers(1000)")
        server.query(f"CREATE TABLE {table}_tuples (t Tuple(a UInt32, s String), id UInt32) ENGINE = MergeTree ORDER BY id")
        of_tuples = f"remote('127.0.0.1:{server.native_port}', 'default', '{table}_tuples', 'default', '')"
        ask(f"INSERT INTO FUNCTION {of_tuples} SELECT t, id FROM tuples")
        check = "SELECT count(), sum(t.1), countIf(t.2 = 'x'), sum(t.1 * id)"
        assert server.query(f"{check} FROM {table}_tuples") == ask(f"{check} FROM tuples")
    finally:
        session.close()
