"""The table function file(): what columns files have, what is read of them, and who may read which."""

import bz2
import gzip
import lzma

import pytest
from server import ServerError

# Each file with its columns as ClickHouse 26.9 tells them (chdb), and its rows.
TEXTS = {
    "header.csv": (
        "id,name,when\n1,x,2024-01-01\n2,y,2024-01-02\n",
        "id Nullable(Int64), name Nullable(String), when Nullable(Date)",
        "1\tx\t2024-01-01\n2\ty\t2024-01-02\n",
    ),
    "times.csv": (
        "1,x,2024-01-01 10:00:00\n2,,2024-01-01 10:00:00.5\n",
        "c1 Nullable(Int64), c2 Nullable(String), c3 Nullable(DateTime64(9))",
        "1\tx\t2024-01-01 10:00:00.000000000\n2\t\\N\t2024-01-01 10:00:00.500000000\n",
    ),
    "strings.csv": ("a,b\n\"x\",\"y\"\n", "c1 Nullable(String), c2 Nullable(String)", "a\tb\nx\ty\n"),
    "kinds.csv": (
        '"1","[1,2]",true,1e5,nan,+5,007,1900-01-01\n',
        "c1 Nullable(String), c2 Array(Nullable(Int64)), c3 Nullable(Bool), c4 Nullable(String), c5 Nullable(Float64), "
        "c6 Nullable(Int64), c7 Nullable(Int64), c8 Nullable(DateTime64(9))",
        "1\t[1,2]\ttrue\t1e5\tnan\t5\t7\t1900-01-01 00:00:00.000000000\n",
    ),
    "mixed.csv": ("1,\n2.5,\n", "c1 Nullable(Float64), c2 Nullable(String)", "1\t\\N\n2.5\t\\N\n"),
    "truths.csv": ("false,1\n0,true\n", "c1 Nullable(String), c2 Nullable(String)", "false\t1\n0\ttrue\n"),
    "header.tsv": (
        "id\tv\n1\t[1,2]\n2\t[]\n",
        "id Nullable(Int64), v Array(Nullable(Int64))",
        "1\t[1,2]\n2\t[]\n",
    ),
    "plain.tsv": ("1\t\n2\tx\n", "c1 Nullable(Int64), c2 Nullable(String)", "1\t\n2\tx\n"),
    "rows.jsonl": (
        '{"a":1,"b":"x","c":[1,2.5]}\n{"a":null,"b":"2024-01-01","c":[],"h":true}\n',
        "a Nullable(Int64), b Nullable(String), c Array(Nullable(Float64)), h Nullable(Bool)",
        "1\tx\t[1,2.5]\t\\N\n\\N\t2024-01-01\t[]\ttrue\n",
    ),
    "texts.jsonl": ('{"a":1}\n{"a":"x"}\n{"a":true}\n', "a Nullable(String)", "1\nx\ntrue\n"),
    "array.json": ('[{"a":1},{"a":2}]', "a Nullable(Int64)", "1\n2\n"),
    "lines.json": ('{"a":1}\n{"a":2}\n', "a Nullable(Int64)", "1\n2\n"),
    "document.json": ('{"meta":[{"name":"a","type":"UInt8"}],"data":[{"a":3}],"rows":1}', "a UInt8", "3\n"),
    "guessed.txt": ("a,b\n1,2\n", "a Nullable(Int64), b Nullable(Int64)", "1\t2\n"),
    "pairs.tskv": ("a=1\tb=x\n", "a Nullable(Int64), b Nullable(String)", "1\tx\n"),
}


@pytest.fixture(scope="module")
def files(direct_server):
    """The folder of user files of the shared server."""
    folder = direct_server.data / "user_files"
    folder.mkdir(exist_ok=True)
    return folder


def columns(server, function, **options):
    described = server.query(f"DESCRIBE TABLE {function}", **options).replace("\\'", "'")
    return ", ".join(" ".join(line.split("\t")[:2]) for line in described.splitlines())


@pytest.mark.parametrize("name", TEXTS)
def test_the_columns_and_rows_of_text(server, files, name):
    text, schema, rows = TEXTS[name]
    (files / name).write_text(text)
    assert columns(server, f"file('{name}')") == schema
    assert server.query(f"SELECT * FROM file('{name}')") == rows


BINARY = ["Parquet", "Native", "RowBinaryWithNamesAndTypes", "JSONCompact", "CSVWithNamesAndTypes"]
SAMPLE = (
    "SELECT number AS n, toString(number) AS s, number % 3 = 0 ? NULL : number AS m, [number, 1] AS a, "
    "toDate32('2024-01-01') + number AS d FROM numbers(100000)"
)


@pytest.mark.parametrize("format_name", BINARY)
def test_formats_that_name_their_types(server, files, format_name):
    path = files / f"sample.{format_name}"
    path.write_bytes(server.http(f"{SAMPLE} FORMAT {format_name}").body)
    expected = "n UInt64, s String, m Nullable(UInt64), a Array(UInt64), d Date32"
    assert columns(server, f"file('{path.name}')") == expected
    ask = "SELECT count(), sum(n), max(s), sum(m), sum(a[1]), max(d) FROM "
    assert server.query(f"{ask}file('{path.name}')") == server.query(f"{ask}({SAMPLE})")
    assert server.value(f"SELECT max(s) FROM file('{path.name}') WHERE n < 10") == "9"
    assert server.value(f"SELECT count() FROM file('{path.name}')") == "100000"
    assert server.query(f"SELECT n FROM file('{path.name}') LIMIT 3") == "0\n1\n2\n"


def test_rows_keep_their_order(server, files):
    (files / "order.csv").write_bytes(server.http("SELECT number, repeat('x', 50) FROM numbers(300000) FORMAT CSV").body)
    ask = "SELECT groupArray(c1) = range(300000) FROM (SELECT c1 FROM file('order.csv')) SETTINGS max_threads = 1"
    assert server.value(ask) == "1"
    found = server.query("SELECT c1 FROM file('order.csv')").splitlines()
    assert found == [str(number) for number in range(300000)]


def test_patterns_and_virtual_columns(server, files):
    for at in range(1, 4):
        folder = files / f"folder{at}"
        folder.mkdir(exist_ok=True)
        (folder / "part.csv").write_text(f"{at}\n")
        (folder / "empty.csv").write_text("")
    for pattern, found in [
        ("folder*/part.csv", "6"),
        ("folder{1..2}/part.csv", "3"),
        ("folder{1,3}/part.csv", "4"),
        ("folder?/*.csv", "6"),
        ("folder1/**", "1"),
    ]:
        assert server.value(f"SELECT sum(c1) FROM file('{pattern}')") == found, pattern
    path = files / "folder2/part.csv"
    changed = str(int(path.stat().st_mtime))
    told = server.query(
        "SELECT _path, _file, _size, toUnixTimestamp(_time) = {at:UInt32} FROM file('folder2/part.csv')", param_at=changed
    )
    assert told == f"{path}\tpart.csv\t2\t1\n"
    assert server.query("SELECT c1 FROM file('folder*/part.csv') WHERE _path LIKE '%folder3%'") == "3\n"
    assert server.error_code("SELECT * FROM file('nothing*.csv')") == 636
    assert server.value("SELECT count() FROM file('nothing*.csv', 'CSV', 'a Int8')") == "0"
    assert server.error_code("SELECT * FROM file('nothing.csv')") == 107


def test_compressions(server, files):
    text = b"".join(b"%d,%d\n" % (number, number * number) for number in range(50_000))
    for ending, compress in [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]:
        (files / f"squares.csv.{ending}").write_bytes(compress(text))
        assert server.value(f"SELECT sum(c2) FROM file('squares.csv.{ending}')") == str(sum(n * n for n in range(50_000)))
    (files / "unnamed").write_bytes(gzip.compress(text))
    assert server.value("SELECT count() FROM file('unnamed', 'CSV', 'a Int64, b Int64', 'gzip')") == "50000"
    assert server.error_code("SELECT * FROM file('unnamed', 'CSV', 'a Int64', 'zip')") == 48


def test_nothing_outside_of_the_folder_is_read(server, files, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("1\n")
    for link, target in [("door", tmp_path), ("link.csv", secret)]:
        path = files / link
        path.unlink(missing_ok=True)
        path.symlink_to(target)
    for path in [str(secret), "../data.csv", "/etc/passwd", "/etc/none", "door/secret.csv", "door/*.csv", "link.csv", "lin?.csv", "{..,x}/*.csv"]:
        assert server.error_code(f"SELECT * FROM file('{path}', 'CSV', 'a String')") == 291, path
        assert server.error_code(f"DESCRIBE TABLE file('{path}')") == 291, path
    for link in ("door", "link.csv"):
        (files / link).unlink()


def test_who_may_read_files(start_server):
    server = start_server()
    folder = server.data / "user_files"
    folder.mkdir(exist_ok=True)
    (folder / "a.csv").write_text("1\n2\n")
    server.query("CREATE TABLE t AS file('a.csv')")
    server.query("CREATE USER u")
    server.query("GRANT SELECT ON default.t TO u")
    for statement in ["SELECT * FROM file('a.csv')", "DESCRIBE TABLE file('a.csv')", "SELECT c1 FROM t"]:
        assert server.error_code(statement, user="u") == 497, statement
    server.query("GRANT READ ON FILE TO u")
    assert server.query("SELECT sum(c1) FROM file('a.csv')", user="u") == "3\n"
    assert server.query("SELECT sum(c1) FROM t", user="u") == "3\n"
    # A plan is not kept: files change.
    (folder / "a.csv").write_text("5\n")
    assert server.query("SELECT sum(c1) FROM file('a.csv')", user="u") == "5\n"


HOSTILE = {
    "magic.parquet": b"PAR1 nothing here",
    "short.parquet": b"PAR1",
    "claims.parquet": b"PAR1" + b"\xff" * 64 + (1 << 31).to_bytes(4, "little") + b"PAR1",
    "claims.native": b"\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f",
    "cut.jsonl": b'{"a":1}\n{"a":',
    "width.csv": b"a,b\n1,2\n3\n",
    "not.csv.gz": b"nothing that gzip has made",
    "not.csv.zst": b"nothing that zstd has made",
    "not.csv.xz": b"nothing that xz has made",
    "not.csv.bz2": b"nothing that bzip2 has made",
    "not.csv.lz4": b"nothing that lz4 has made",
    "cut.csv.gz": gzip.compress(b"1,2\n" * 100000)[:200],
    "quote.csv": b'1,"no end\n',
    "nest.csv": b'"' + b"[" * 100_000 + b'"\n',
    "empty.csv": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_with_a_reason(server, files, name):
    (files / name).write_bytes(HOSTILE[name])
    if name == "nest.csv":
        assert columns(server, f"file('{name}')") == "c1 Nullable(String)"
        return
    with pytest.raises(ServerError) as refused:
        server.query(f"SELECT * FROM file('{name}')")
    # Of the file that is cut off, enough can be read to tell its columns.
    assert refused.value.code == (354 if name == "cut.csv.gz" else 636), refused.value
    if name == "empty.csv":
        assert server.query(f"SELECT * FROM file('{name}', 'CSV', 'a Int8, b Int8')") == ""
        return
    with pytest.raises(ServerError) as refused:
        server.query(f"SELECT a FROM file('{name}', auto, 'a Int8, b Int8')")
    assert refused.value.code in {26, 27, 32, 33, 72, 117, 354, 554, 561, 594, 618}, refused.value


def test_limits_hold(server, files):
    (files / "many.csv").write_bytes(server.http("SELECT number, number FROM numbers(200000) FORMAT CSV").body)
    assert server.error_code("SELECT sum(c1) FROM file('many.csv') SETTINGS max_rows_to_read = 1000") == 158
    (files / "many.parquet").write_bytes(
        server.http("SELECT number AS n, repeat('x', 200) AS s FROM numbers(200000) FORMAT Parquet").body
    )
    # The answer must be that there is no memory, not a crash.
    limited = "SELECT groupArray(s) FROM file('many.parquet') SETTINGS max_memory_usage = 20000000"
    assert server.error_code(limited) == 241


def test_the_table_function_format(server):
    assert columns(server, "format(JSONEachRow, '{\"a\":1,\"b\":[1,2]}')") == "a Nullable(Int64), b Array(Nullable(Int64))"
    assert server.query("SELECT * FROM format(CSV, '1,x\n2,y')") == "1\tx\n2\ty\n"
    assert server.query("SELECT * FROM format(Values, 'a UInt8, b String', '(1, \\'x\\')')") == "1\tx\n"
    assert server.error_code("SELECT * FROM format(Values, '(1, NULL)')") == 636
    assert server.error_code("SELECT * FROM format('Pretty', '1')") == 85


def test_hints_and_settings_of_inference(server, files):
    (files / "hinted.csv").write_text("1,2024-01-01\n")
    hinted = "file('hinted.csv') SETTINGS schema_inference_hints = 'c1 UInt8', input_format_try_infer_dates = 0"
    assert columns(server, hinted) == "c1 UInt8, c2 Nullable(DateTime)"
    strings = f"{hinted}, input_format_try_infer_datetimes = 0"
    assert columns(server, strings) == "c1 UInt8, c2 Nullable(String)"
    plain = columns(server, "file('hinted.csv') SETTINGS schema_inference_make_columns_nullable = 0")
    assert plain == "c1 Int64, c2 Date"
    named = columns(server, "file('hinted.csv') SETTINGS column_names_for_schema_inference = 'x, y'")
    assert named == "x Nullable(Int64), y Nullable(Date)"


def test_files_are_written(server, files):
    for path in files.glob("made*"):
        path.unlink()
    server.query("INSERT INTO FUNCTION file('made.csv') SELECT number, 'x' FROM numbers(2)")
    server.query("INSERT INTO FUNCTION file('made.csv') SELECT 7, 'y'")
    assert (files / "made.csv").read_text() == '0,"x"\n1,"x"\n7,"y"\n'
    truncate = "SETTINGS engine_file_truncate_on_insert = 1"
    server.query(f"INSERT INTO FUNCTION file('made.csv') {truncate} SELECT 5")
    assert (files / "made.csv").read_text() == "5\n"
    server.query("INSERT INTO FUNCTION file('made.csv.gz') SELECT number FROM numbers(300000) ORDER BY number")
    assert gzip.decompress((files / "made.csv.gz").read_bytes()).decode() == "".join(f"{n}\n" for n in range(300000))
    server.query("INSERT INTO FUNCTION file('made.jsonl', auto, 'a UInt8, b String') FORMAT CSV 1,x")
    assert (files / "made.jsonl").read_text() == '{"a":1,"b":"x"}\n'
    server.query("INSERT INTO FUNCTION file('made.parquet') SELECT number AS n FROM numbers(10)")
    assert server.value("SELECT sum(n) FROM file('made.parquet')") == "45"
    for statement, code in [
        ("INSERT INTO FUNCTION file('made.parquet') SELECT 1", 641),
        ("INSERT INTO FUNCTION file('../made.csv') SELECT 1", 291),
        ("INSERT INTO FUNCTION file('/tmp/made.csv') SELECT 1", 291),
        ("INSERT INTO FUNCTION file('made*.csv') SELECT 1", 36),
        ("INSERT INTO FUNCTION file('made') SELECT 1", 715),
        ("INSERT INTO FUNCTION file('made2.csv') SELECT throwIf(number = 150000) FROM numbers(200000)", 395),
        ("INSERT INTO FUNCTION numbers(1) SELECT 1", 48),
    ]:
        assert server.error_code(statement) == code, statement
    assert not (files / "made2.csv").exists() and not list(files.glob(".made*")), "nothing of a failed INSERT stays"
    server.query("CREATE USER OR REPLACE writer")
    server.query("GRANT READ ON FILE TO writer")
    assert server.error_code("INSERT INTO FUNCTION file('made3.csv') SELECT 1", user="writer") == 497
    server.query("GRANT WRITE ON FILE TO writer")
    server.query("INSERT INTO FUNCTION file('made3.csv') SELECT 1", user="writer")
    server.query("DROP USER writer")


def test_decimals_of_parquet(server, files):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    import decimal

    values = pyarrow.array([decimal.Decimal("1.25"), None, decimal.Decimal("-7.50")], pyarrow.decimal128(12, 2))
    parquet.write_table(pyarrow.table({"d": values, "s": pyarrow.array(["a", "b", None])}), files / "decimal.parquet")
    assert columns(server, "file('decimal.parquet')") == "d Nullable(Decimal(12, 2)), s Nullable(String)"
    assert server.query("SELECT * FROM file('decimal.parquet')") == "1.25\ta\n\\N\tb\n-7.5\t\\N\n"


def test_tables_of_the_engine_file_outlive_a_kill(start_server):
    server = start_server()
    server.query("CREATE TABLE own (a UInt32, s String DEFAULT 'd') ENGINE = File(TSV)")
    server.query("CREATE TABLE shared (a UInt32) ENGINE = File(CSV, 'shared.csv')")
    server.query("INSERT INTO own (a) SELECT number FROM numbers(1000)")
    server.query("INSERT INTO shared VALUES (1), (2)")
    server.kill()
    server.start()
    assert server.query("SELECT sum(a), any(s) FROM own") == "499500\td\n"
    assert server.value("SELECT sum(a) FROM file('shared.csv', CSV, 'a UInt32')") == "3"
    server.query("CREATE USER u")
    server.query("GRANT CREATE TABLE ON *.* TO u")
    assert server.error_code("SELECT * FROM own", user="u") == 497
    assert server.error_code("INSERT INTO own (a) VALUES (1)", user="u") == 497
    assert server.error_code("CREATE TABLE t (a UInt8) ENGINE = File(CSV, 'shared.csv')", user="u") == 497
    assert server.error_code("CREATE TABLE t (a UInt8) ENGINE = File(CSV, '/etc/passwd')") == 0
    assert server.error_code("SELECT * FROM t") == 291
    assert len(list(server.data.glob("files/*/data.TSV"))) == 1
    server.query("DROP TABLE own")
    assert not list(server.data.glob("files/*"))
    server.query("DROP TABLE shared")
    assert server.value("SELECT sum(a) FROM file('shared.csv', CSV, 'a UInt32')") == "3", "a file of users stays"


def test_empty_files_are_passed_over(direct_server, files):
    direct_server.query("INSERT INTO FUNCTION file('empty_b.parquet') SELECT 7 AS n")
    (files / "empty_a.parquet").write_bytes(b"")
    for arguments in "", ", Parquet, 'n Int8'":
        read = f"SELECT n, _file FROM file('empty_{{a,b}}.parquet'{arguments})"
        assert direct_server.query(read) == "7\tempty_b.parquet\n"
    (files / "empty_too.csv").write_bytes(b"")
    with pytest.raises(ServerError) as refused:
        direct_server.query("SELECT * FROM file('empty_too.csv')")
    assert refused.value.code == 636


def test_an_insert_writes_a_file_for_each_partition(direct_server, files):
    rows = "SELECT number AS n, number % 3 = 2 ? NULL : toString(number % 3) AS k FROM numbers(100000)"
    function = "file('parts/{_partition_id}/rows.csv', CSV, 'n UInt64, k Nullable(String)')"
    for _ in range(2):
        direct_server.query(f"INSERT INTO FUNCTION {function} PARTITION BY k {rows}")
    written = {path.parent.name: path.read_text().splitlines() for path in (files / "parts").rglob("*.csv")}
    assert {name: len(lines) for name, lines in written.items()} == {"0": 66668, "1": 66666, "parts": 66666}
    assert written["1"][:2] == ['1,"1"', '4,"1"'] and written["parts"][:2] == ["2,\\N", "5,\\N"]
    values = "INSERT INTO FUNCTION file('v_{_partition_id}.tsv', TSV, 'd Date, n UInt8') PARTITION BY (toYear(d), n) FORMAT Values ('2024-01-01', 1), ('2025-01-01', 1)"
    direct_server.query(values)
    assert sorted(path.name for path in files.glob("v_*")) == ["v_(2024,1).tsv", "v_(2025,1).tsv"]
    for name in "../../x", "/etc/x", "a*", "{x}", "a\nb":
        with pytest.raises(ServerError) as refused:
            direct_server.query(f"INSERT INTO FUNCTION file('{{_partition_id}}.tsv', TSV, 's String') PARTITION BY s SELECT {name!r}")
        assert refused.value.code in (6, 291), (name, refused.value)
    for query, code in [
        ("INSERT INTO FUNCTION file('plain.tsv', TSV, 's String') PARTITION BY s SELECT 'x'", 36),
        ("INSERT INTO FUNCTION file('{_partition_id}.tsv', TSV, 's String') PARTITION BY nothing SELECT 'x'", 47),
        ("INSERT INTO FUNCTION null('s String') PARTITION BY s SELECT 'x'", 48),
    ]:
        with pytest.raises(ServerError) as refused:
            direct_server.query(query)
        assert refused.value.code == code, query
    read = "SELECT count(), sum(n) FROM fileCluster('default', 'parts/{0,1}/rows.csv', CSV, 'n UInt64, k String')"
    assert direct_server.query(read) == direct_server.query(read.replace("fileCluster('default', ", "file("))
