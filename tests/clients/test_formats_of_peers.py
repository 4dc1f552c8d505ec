"""Formats with ClickHouse 26.9 (PyPI's chdb, where it is installed) at the other end: what one writes the other reads."""

import pytest

TYPES = [
    "UInt8", "Int64", "Float32", "Nullable(String)", "Array(Nullable(Int32))", "Map(String, UInt16)", "Tuple(UInt8, String)",
    "Decimal(18, 3)", "DateTime64(3, 'UTC')", "UUID", "LowCardinality(String)", "Date", "IPv6", "Enum8('a' = 1, 'b' = 2)",
]  # fmt: skip
STRUCTURE = ", ".join(f"c{number} {name}" for number, name in enumerate(TYPES))
TEMPLATE = ";".join(f"c{number}=${{c{number}:JSON}}" for number in range(len(TYPES)))

# What a format needs to be told.
SETTINGS = {
    "MsgPack": "",
    "CustomSeparated": " SETTINGS format_custom_escaping_rule = 'Quoted', format_custom_field_delimiter = '|'",
    "CustomSeparatedWithNamesAndTypes": " SETTINGS format_custom_escaping_rule = 'JSON', format_custom_field_delimiter = '|'",
    "JSONObjectEachRow": "",
    "RowBinaryWithNamesAndTypes": "",
    "BSONEachRow": "",
    "Avro": "",
}


@pytest.fixture
def clickhouse():
    # The folder chdb beside this file is a module without that.
    pytest.importorskip("chdb.session")
    import chdb

    return lambda sql, form="TSV": chdb.query(sql, form).bytes()


@pytest.mark.parametrize("form", SETTINGS)
def test_both_ways(server, clickhouse, form):
    quoted = STRUCTURE.replace("'", "\\'")
    settings = SETTINGS[form]
    written = clickhouse(f"SELECT * FROM generateRandom('{quoted}', 1, 10, 3) LIMIT 100{settings}", form)
    read = f"SELECT * FROM format({form}, '{quoted}', unhex('{written.hex()}')){settings}"
    expected = clickhouse(read)
    assert server.query(f"{read} FORMAT TSV").encode() == expected
    if form in ("MsgPack", "BSONEachRow"):
        # What comes back ClickHouse reads as it read its own.
        rows = f"SELECT * FROM format({form}, '{quoted}', unhex('{written.hex()}'))"
        assert server.http(body=f"{rows} FORMAT {form}".encode()).body == written
    if form == "Avro":
        back = server.http(body=f"{read} FORMAT Avro".encode()).body
        assert clickhouse(f"SELECT * FROM format(Avro, '{quoted}', unhex('{back.hex()}'))") == expected


@pytest.mark.parametrize(
    ("form", "settings"),
    [
        ("Template", f"format_template_row_format = '{TEMPLATE}'"),
        ("PrettyJSONEachRow", "output_format_json_quote_64bit_integers = 1"),
        ("ODBCDriver2", "bool_true_representation = 'yes'"),
        ("JSON", "extremes = 1, output_format_write_statistics = 0"),
        ("JSONCompact", "extremes = 1, output_format_write_statistics = 0"),
        ("XML", "extremes = 1, output_format_write_statistics = 0"),
        ("Vertical", "extremes = 1, output_format_pretty_max_rows = 4"),
        ("Markdown", "max_block_size = 10"),
        ("SQLInsert", "output_format_sql_insert_max_batch_size = 7"),
        ("CustomSeparated", "format_custom_escaping_rule = 'Quoted', format_custom_row_between_delimiter = ','"),
    ],
)
def test_written_alike(server, clickhouse, form, settings):
    quoted = STRUCTURE.replace("'", "\\'")
    rows = clickhouse(f"SELECT * FROM generateRandom('{quoted}', 1, 10, 3) LIMIT 100", "RowBinary").hex()
    query = f"SELECT * FROM format(RowBinary, '{quoted}', unhex('{rows}')) SETTINGS {settings}"
    assert server.http(body=f"{query} FORMAT {form}".encode()).body == clickhouse(query, form)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT number FROM numbers(300000)",
        "SELECT [[toInt16(number), 1], [2, 3]]::Array(Array(Int16)) FROM numbers(3)",
        "SELECT 'a' || toString(number * 10) FROM numbers(3)",
        "SELECT toFixedString('ab', 3)",
        "SELECT toFloat32(number) / 3 FROM numbers(5)",
    ],
)
def test_arrays_of_numpy(server, clickhouse, query):
    written = clickhouse(query, "Npy")
    assert server.http(query=f"{query} FORMAT Npy").body == written
    if len(written) < 10_000:
        read = f"SELECT *, toTypeName(*) FROM format(Npy, unhex('{written.hex()}'))"
        assert server.query(read).encode() == clickhouse(read)


ORC_TYPES = [
    "Bool", "UInt8", "Int64", "UInt64", "Int128", "Float32", "Nullable(String)", "Array(Nullable(Int32))", "Map(String, UInt16)",
    "Tuple(a UInt8, b String)", "Decimal(18, 3)", "Decimal(38, 5)", "Decimal(76, 5)", "DateTime('UTC')", "DateTime64(3, 'UTC')",
    "LowCardinality(Nullable(String))", "Date32", "IPv4", "IPv6", "Enum8('a' = 1, 'b' = 2)", "FixedString(5)",
    "Array(Tuple(x Map(Int8, Array(String)), y Nullable(Decimal(9, 2))))",
]  # fmt: skip


@pytest.fixture(scope="module")
def files(direct_server):
    """The folder of user files of the shared server."""
    folder = direct_server.data / "user_files"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("method", ["zstd", "lz4", "zlib", "snappy", "none"])
def test_orc_both_ways(server, clickhouse, files, method):
    structure = ", ".join(f"c{number} {name}" for number, name in enumerate(ORC_TYPES))
    quoted = structure.replace("'", "\\'")
    settings = f"output_format_orc_compression_method = '{method}'"
    path = files / f"{method}.orc"
    path.write_bytes(clickhouse(f"SELECT * FROM generateRandom('{quoted}', 1, 10, 3) LIMIT 3000 SETTINGS {settings}", "ORC"))
    expected = clickhouse(f"SELECT * FROM file('{path}', ORC, '{quoted}')")
    read = f"SELECT * FROM file('{path.name}', ORC, '{quoted}')"
    assert server.http(body=f"{read} FORMAT TSV".encode()).body == expected
    described = server.query(f"DESCRIBE file('{path.name}')")
    assert described.encode() == clickhouse(f"DESCRIBE file('{path}')")
    assert server.value(f"SELECT count() FROM file('{method}.or?')") == "3000"
    back = files / f"{method}.back.orc"
    back.write_bytes(server.http(body=f"{read} SETTINGS {settings} FORMAT ORC".encode()).body)
    assert clickhouse(f"SELECT * FROM file('{back}', ORC, '{quoted}')") == expected
    assert clickhouse(f"SELECT count() FROM file('{back}', ORC, '{quoted}') WHERE c1 > 100") == clickhouse(
        f"SELECT count() FROM file('{path}', ORC, '{quoted}') WHERE c1 > 100"
    )
