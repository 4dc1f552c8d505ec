"""Protobuf with schemas in files of the server, against what ClickHouse 26.9 (PyPI's chdb, where it is installed) reads and writes."""

import pytest
from server import ServerError

EVENTS = """syntax = "proto3";
import "parts/place.proto";
message Event {
    uint64 id = 1;
    string name = 2;
    repeated sint32 numbers = 3;
    map<string, double> weights = 4;
    places.Place place = 5;
    enum Kind { NONE = 0; CLICK = 1; VIEW = 2; }
    Kind kind = 6;
    optional int32 maybe = 7;
}
"""
PLACE = 'syntax = "proto3"; package places; message Place { float x = 1; float y = 2; repeated string tags = 3; }'
COLUMNS = (
    "id UInt64, name String, numbers Array(Int32), weights Map(String, Float64), "
    "place Tuple(x Float32, y Float32, tags Array(String)), kind Enum8('none' = 0, 'click' = 1, 'view' = 2), maybe Nullable(Int32)"
)
ROWS = (
    "SELECT number AS id, repeat('x', number % 200) AS name, range(number % 5)::Array(Int32) AS numbers, "
    "map('a', number / 4) AS weights, (number, -1, ['t', toString(number)])::Tuple(x Float32, y Float32, tags Array(String)) AS place, "
    "CAST(number % 3, 'Enum8(\\'none\\' = 0, \\'click\\' = 1, \\'view\\' = 2)') AS kind, "
    "if(number % 2 = 0, NULL, toInt32(number))::Nullable(Int32) AS maybe FROM numbers(300)"
)


@pytest.fixture
def schemas(direct_server):
    """The folder of schemas of the shared server."""
    folder = direct_server.data / "format_schemas"
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    (folder / "events.proto").write_text(EVENTS)
    (folder / "parts/place.proto").write_text(PLACE)
    return folder


@pytest.fixture
def clickhouse(schemas, monkeypatch):
    pytest.importorskip("chdb.session")
    import chdb

    # It looks for schemas where it is.
    monkeypatch.chdir(schemas)
    return lambda sql, form="TSV": chdb.query(sql, form).bytes()


@pytest.mark.parametrize("form", ["Protobuf", "ProtobufList"])
def test_files_of_schemas(server, clickhouse, form):
    setting = "SETTINGS format_schema = 'events:Event'"
    written = server.http(body=f"{ROWS} {setting} FORMAT {form}".encode()).body
    assert written == clickhouse(f"{ROWS} {setting}", form)
    quoted = COLUMNS.replace("'", "\\'")
    read = f"SELECT * FROM format({form}, '{quoted}', unhex('{written.hex()}')) {setting}"
    assert server.query(read).encode() == clickhouse(read) == server.query(ROWS).encode()


def test_columns_are_those_of_the_schema(server, schemas, clickhouse):
    asked = "DESCRIBE format(Protobuf, '') SETTINGS format_schema = 'events.proto:Event'"
    expected = [line.split("\t")[:2] for line in clickhouse(asked).decode().splitlines()]
    found = server.query(asked)
    assert [line.split("\t")[:2] for line in found.splitlines()] == expected


def test_rows_are_inserted(server, schemas, table):
    server.query(f"CREATE TABLE {table} ({COLUMNS}, other UInt8 DEFAULT 7) ENGINE = MergeTree ORDER BY id")
    setting = "SETTINGS format_schema = 'events:Event'"
    written = server.http(body=f"{ROWS} {setting} FORMAT Protobuf".encode()).body
    server.http(body=f"INSERT INTO {table} {setting} FORMAT Protobuf\n".encode() + written)
    assert server.query(f"SELECT * EXCEPT other FROM {table} ORDER BY id") == server.query(ROWS)
    assert server.query(f"SELECT DISTINCT other FROM {table}") == "7\n"


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "link", "up/secret"])
def test_no_path_leads_out_of_the_folder(server, schemas, path):
    for name in ["secret", "secret.proto"]:
        (schemas.parent / name).write_text(EVENTS)
    links = {"link": schemas.parent / "secret", "link.proto": schemas.parent / "secret.proto", "up": schemas.parent}
    for name, target in links.items():
        if not (schemas / name).is_symlink():
            (schemas / name).symlink_to(target)
    for query in [
        f"SELECT 1 AS id SETTINGS format_schema = '{path}:Event' FORMAT Protobuf",
        f"SELECT 1 AS id SETTINGS format_template_row = '{path}' FORMAT Template",
    ]:
        with pytest.raises(ServerError) as refused:
            server.query(query)
        assert refused.value.code == 36, refused.value


def test_templates_are_files(server, schemas):
    (schemas / "row.txt").write_text("n=${number:CSV};")
    (schemas / "all.txt").write_text("<<${data}>>")
    asked = "SELECT number FROM numbers(2) SETTINGS format_template_row = 'row.txt', format_template_resultset = 'all.txt'"
    assert server.http(body=f"{asked} FORMAT Template".encode()).body == b"<<n=0;\nn=1;>>"
