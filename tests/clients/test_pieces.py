"""Large data in formats of rows are cut into pieces that several workers read: rows, their order and errors are those of the whole."""

import json
import re

import pytest

ROWS = 40_000
# Strings that look like the ends of rows in every format.
STRINGS = ["plain", "a\nb", '","', "}\n{", "]\n[", "\\", '"', "\n\n", "tab\t", ""]


def text_of(row):
    return f"{STRINGS[row % len(STRINGS)]}{row}{'.' * (row % 50)}"


def tsv(row):
    text = text_of(row).replace("\\", "\\\\").replace("\n", "\\\n").replace("\t", "\\t")
    return f"{row}\t{text}\n"


def csv(row):
    text = text_of(row).replace('"', '""')
    return f'{row},"{text}"\n'


def json_row(row):
    return json.dumps({"n": row, "s": text_of(row)})


def with_names(row):
    return ("s,n\n" if row == 0 else "") + f'"{text_of(row).replace(chr(34), chr(34) * 2)}",{row}\r\n'


def item(row):
    """Of an array that is printed over several lines."""
    return ("[\n" if row == 0 else ",\n") + json.dumps({"n": row, "s": text_of(row)}, indent=2) + ("\n]\n" if row == ROWS - 1 else "")


FORMATS = {
    "TSV": tsv,
    "CSV": csv,
    "CSVWithNames": with_names,
    "JSONEachRow": lambda row: json_row(row) + "\n",
    "JSONCompactEachRow": lambda row: json.dumps([row, text_of(row)]) + "\n",
    "TSKV": lambda row: "n={}\ts={}".format(*tsv(row).split("\t", 1)),
    "array": item,
    # Without line ends.
    "Values": lambda row: f"({row}, '{json.dumps(text_of(row))[1:-1]}'),",
    "one line": json_row,
}
NAMES = {"array": "JSONEachRow", "one line": "JSONEachRow"}
WHOLE = "SELECT count(), sum(n), sum(cityHash64(n, s)) FROM {}"


@pytest.fixture
def expected(server):
    server.query("CREATE TABLE cut_whole (n UInt64, s String) ENGINE = Memory")
    body = "".join(json_row(row) for row in range(ROWS))
    assert server.http("INSERT INTO cut_whole FORMAT JSONEachRow", body=body.encode(), input_format_parallel_parsing=0).status == 200
    yield server.query(WHOLE.format("cut_whole"))
    server.query("DROP TABLE cut_whole SYNC")


@pytest.mark.parametrize("name", FORMATS)
def test_rows_and_their_order(server, expected, name):
    body = "".join(map(FORMATS[name], range(ROWS))).encode()
    assert len(body) > 1_500_000
    form = NAMES.get(name, name)
    for engine in "MergeTree ORDER BY n", "Memory", "Log":
        server.query(f"CREATE OR REPLACE TABLE cut_rows (n UInt64, s String) ENGINE = {engine}")
        response = server.http(f"INSERT INTO cut_rows FORMAT {form}", body=body)
        assert response.status == 200, response.text
        assert server.query(WHOLE.format("cut_rows")) == expected, engine
    # Log keeps rows as they come.
    assert server.query("SELECT count() FROM (SELECT n, rowNumberInAllBlocks() AS row FROM cut_rows) WHERE n != row", max_threads=1) == "0\n"
    files = server.data / "user_files"
    files.mkdir(exist_ok=True)
    (files / "pieces").write_bytes(body)
    assert server.query(WHOLE.format(f"file('pieces', '{form}', 'n UInt64, s String')")) == expected
    assert server.query(f"SELECT n FROM file('pieces', '{form}', 'n UInt64, s String') LIMIT 1 OFFSET 30000") == "30000\n"
    server.query("DROP TABLE cut_rows SYNC")


@pytest.mark.parametrize("name", ["TSV", "CSV", "JSONEachRow", "array"])
def test_an_error_names_its_row(server, name):
    """The last of three rows that cannot be read: two are passed over."""
    rows = list(map(FORMATS[name], range(ROWS)))
    bad = (20_000, 21_000, 35_000)
    for row in bad:
        rows[row] = re.sub(str(row), "x" if name in ("TSV", "CSV") else '"x"', rows[row], count=1)
    server.query("CREATE OR REPLACE TABLE cut_rows (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
    insert = f"INSERT INTO cut_rows FORMAT {NAMES.get(name, name)}"
    for errors, at in (0, bad[0] + 1), (2, bad[2] - 1):
        response = server.http(insert, body="".join(rows).encode(), input_format_allow_errors_num=errors)
        assert response.status == 400 and f"at row {at}," in response.text, response.text
        assert server.query("SELECT count() FROM cut_rows") == "0\n"
    response = server.http(insert, body="".join(rows).encode(), input_format_allow_errors_num=3)
    assert response.status == 200, response.text
    assert server.query("SELECT count(), sum(n) FROM cut_rows") == f"{ROWS - 3}\t{ROWS * (ROWS - 1) // 2 - sum(bad)}\n"
    server.query("DROP TABLE cut_rows SYNC")


def test_defaults_views_and_a_body_that_breaks_off(server):
    server.query("CREATE OR REPLACE TABLE cut_rows (n UInt64, s String DEFAULT 'row ' || toString(n), m UInt64 MATERIALIZED n + 1) ENGINE = MergeTree ORDER BY n")
    server.query("CREATE OR REPLACE TABLE cut_seen (n UInt64) ENGINE = MergeTree ORDER BY n")
    server.query("CREATE MATERIALIZED VIEW cut_view TO cut_seen AS SELECT n FROM cut_rows WHERE n % 2 = 0")
    body = "".join(f'{{"n":{row}}}\n' if row % 3 else f'{{"n":{row},"s":"given"}}\n' for row in range(4 * ROWS)).encode()
    assert server.http("INSERT INTO cut_rows FORMAT JSONEachRow", body=body).status == 200
    assert server.query("SELECT count(), sum(n), countIf(s = 'given'), countIf(s = 'row ' || toString(n)), sum(m - n) FROM cut_rows") == "\t".join(
        map(str, (4 * ROWS, 2 * ROWS * (4 * ROWS - 1), 53_334, 4 * ROWS - 53_334, 4 * ROWS))
    ) + "\n"
    assert server.query("SELECT count() FROM cut_seen") == f"{2 * ROWS}\n"
    # A body that breaks off, or whose last row is no row, leaves nothing.
    assert server.http("INSERT INTO cut_rows FORMAT JSONEachRow", body=body[:-3]).status != 200
    assert server.query("SELECT count() FROM cut_rows") == f"{4 * ROWS}\n"
    for name in "cut_view", "cut_seen", "cut_rows":
        server.query(f"DROP TABLE {name} SYNC")
