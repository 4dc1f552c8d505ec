"""The queries of TPC-DS (99) and TPC-H (22), in the words of DuckDB's extensions, which also make the data: the answers are DuckDB's."""

import importlib
import json
import math
import pathlib

import duckdb
import pytest

SCALE = {"tpcds": 0.1, "tpch": 0.05}
GENERATE = {"tpcds": "dsdgen", "tpch": "dbgen"}
# What makes ClickHouse's SQL the standard's.
STANDARD = {
    "join_use_nulls": 1,
    "group_by_use_nulls": 1,
    "aggregate_functions_null_for_empty": 1,
    "cast_keep_nullable": 1,
    "union_default_mode": "DISTINCT",
    "intersect_default_mode": "DISTINCT",
    "except_default_mode": "DISTINCT",
}
# A Decimal divided by a Decimal is one in ClickHouse and no longer exact, so prices are Float64 in both.
TYPES = {"INTEGER": "Int32", "BIGINT": "Int64", "VARCHAR": "String", "DATE": "Date32"}
# Columns of three joined tables that all have them: such a one is called `v1.d_year`, not `d_year`.
OF_THREE = [(f"v1.{name},", f"v1.{name} AS {name},") for name in ("d_year", "d_moy", "avg_monthly_sales", "sum_sales")]
# Other words for what ClickHouse 26.9 refuses, with the same errors as Squall, or means otherwise.
IN_OTHER_WORDS = {
    # A Decimal and a Float64 in one column.
    ("tpcds", 5): [("cast(0 AS decimal(7,2))", "0.")],
    ("tpcds", 47): OF_THREE,
    ("tpcds", 57): OF_THREE,
    # Names have a case, and a ratio of Decimals has the scale of the first.
    ("tpcds", 49): [("in_cat) CATALOG", "in_cat) catalog"), ("AS decimal(15,4)", "AS double")],
    ("tpcds", 61): [("AS decimal(15,4)", "AS double")],
    # A sum of Float64 is compared with itself, and each of the two adds in an order of its own.
    ("tpch", 15): [("total_revenue = (", "round(total_revenue, 2) = ("), ("max(total_revenue)", "round(max(total_revenue), 2)")],
}
# `sum(x) AS x` beside another aggregate of x, where a name means an alias first.
COLUMNS_FIRST = {("tpcds", 36), ("tpcds", 66)}
# Rounded to two digits after sums that every order of adding makes another.
ROUNDED = {("tpcds", 18), ("tpcds", 78)}


@pytest.fixture(scope="module")
def peer_of(direct_server, tmp_path_factory):
    """Gives DuckDB with a benchmark's tables, which are then in the server's database of the same name too."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = fill(direct_server, name, tmp_path_factory.mktemp(name))
        return made[name]

    yield of
    for name in made:
        direct_server.query(f"DROP DATABASE {name}")


def fill(server, name, folder):
    peer = duckdb.connect()
    extension = pathlib.Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent / "extensions"
    peer.execute(f"LOAD '{next(extension.rglob('*.duckdb_extension'))}'")
    peer.execute(f"CALL {GENERATE[name]}(sf = {SCALE[name]})")
    server.query(f"CREATE DATABASE {name}")
    for (table,) in peer.execute("SELECT table_name FROM duckdb_tables()").fetchall():
        described = peer.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table})").fetchall()
        is_price = {column: kind.startswith("DECIMAL") for column, kind in described}
        shown = ", ".join(f"{column}::DOUBLE AS {column}" if is_price[column] else column for column, _ in described)
        peer.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT {shown} FROM {table}")
        columns = ", ".join(f"{column} Nullable({'Float64' if is_price[column] else TYPES[kind]})" for column, kind in described)
        server.query(f"CREATE TABLE {name}.{table} ({columns}) ENGINE = MergeTree ORDER BY tuple()")
        file = folder / f"{table}.parquet"
        peer.execute(f"COPY {table} TO '{file}'")
        loaded = server.http(f"INSERT INTO {name}.{table} FORMAT Parquet", body=file.read_bytes())
        assert loaded.status == 200, loaded.text
    return peer


def plain(value):
    """A value as both can give it: numbers as floats, other things as text."""
    if value is None or isinstance(value, float) and math.isnan(value):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


def in_order(row):
    return [(value is None, isinstance(value, str), round(value, 1) if isinstance(value, float) else value or "") for value in row]


def is_same(left, right, digit):
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-6, abs_tol=max(digit, 1e-6))
    return left == right


@pytest.mark.parametrize(
    "name, number", [*(("tpcds", number) for number in range(1, 100)), *(("tpch", number) for number in range(1, 23))]
)
def test_answers_are_duckdbs(direct_server, peer_of, name, number):
    peer = peer_of(name)
    ((text,),) = peer.execute(f"SELECT query FROM {name}_queries() WHERE query_nr = {number}").fetchall()
    theirs = [[plain(value) for value in row] for row in peer.execute(text).fetchall()]
    for old, new in IN_OTHER_WORDS.get((name, number), []):
        assert old in text, "the words that ClickHouse refuses"
        text = text.replace(old, new)
    settings = STANDARD | {"prefer_column_name_to_alias": int((name, number) in COLUMNS_FIRST)}
    answer = json.loads(direct_server.query(text.strip().rstrip(";"), database=name, default_format="JSONCompact", **settings))
    ours = [[plain(value) for value in row] for row in answer["data"]]
    assert len(ours) == len(theirs)
    # Rows that ORDER BY does not tell apart come in any order.
    digit = 0.0101 if (name, number) in ROUNDED else 0
    for own, other in zip(sorted(ours, key=in_order), sorted(theirs, key=in_order)):
        assert all(is_same(left, right, digit) for left, right in zip(own, other, strict=True)), (own, other)
