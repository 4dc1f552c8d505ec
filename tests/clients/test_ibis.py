"""PyPI's ibis-framework: expressions in Python, which become SQL, with tables and data frames that come and go as Arrow."""

import ibis
import pandas
import pytest
from program import needs


@pytest.fixture
def connection(server):
    connection = ibis.clickhouse.connect(host="127.0.0.1", port=server.http_port, user="default", password="", database="default")
    yield connection
    connection.disconnect()


@pytest.fixture
def people(connection, table):
    frame = pandas.DataFrame({"a": [1, 2, 3], "s": ["x", "y", "x"], "d": pandas.to_datetime(["2024-01-15"] * 3)})
    return connection.create_table(table, frame)


def test_tables(connection, people, table):
    assert connection.version.startswith("26.")
    assert table in connection.list_tables()
    assert {"default", "system"} <= set(connection.list_databases())
    assert people.schema().names == ("a", "s", "d")
    connection.insert(table, pandas.DataFrame({"a": [9], "s": ["q"], "d": pandas.to_datetime(["2024-02-01"])}))
    assert people.count().execute() == 4
    connection.truncate_table(table)
    assert people.count().execute() == 0
    connection.drop_table(table)
    assert table not in connection.list_tables()
    connection.create_database(f"{table}_database")
    connection.drop_database(f"{table}_database")


def test_expressions(people):
    grouped = people.group_by("s").agg(n=people.count(), m=people.a.mean()).order_by("s").execute()
    assert grouped.to_dict("list") == {"s": ["x", "y"], "n": [2, 1], "m": [2.0, 2.0]}
    assert people.filter(people.a > 1).order_by("a").select(y=people.d.year(), u=people.s.upper()).execute().u.tolist() == ["Y", "X"]
    assert people.mutate(r=ibis.row_number().over(order_by=people.a)).order_by("a").execute().r.tolist() == [0, 1, 2]
    assert people.join(people.view(), "a").count().execute() == 3
    assert people.s.nunique().execute() == 2
    assert people.a.quantile(0.5).execute() == 2
    assert people.a.std().execute() == 1
    assert people.s.value_counts().count().execute() == 2
    assert people.d.truncate("month").nunique().execute() == 1
    assert people.filter(people.s.like("x%") & people.s.contains("x")).count().execute() == 2
    assert people.a.cast("string").execute().tolist() == ["1", "2", "3"]
    assert people.s.fill_null("z").nunique().execute() == 2
    assert people.union(people).count().execute() == 6
    assert people.distinct().count().execute() == 3
    assert ibis.cases((people.a > 1, "many"), else_="one").nunique().execute() == 2
    assert people.limit(1).to_pyarrow().num_rows == 1
    assert people.to_polars()["a"].sum() == 6


def test_set_operations(people):
    assert people.intersect(people).count().execute() == 3
    assert people.difference(people).count().execute() == 0


def test_tables_of_this_program(connection, people):
    mine = ibis.memtable({"a": [1, 5]})
    assert len(connection.execute(mine.join(people, "a"))) == 1


def test_batches(connection, people):
    assert sum(batch.num_rows for batch in connection.to_pyarrow_batches(people)) == 3


def test_sql(connection):
    # Its columns are asked for through a view.
    assert connection.sql("SELECT number AS n FROM numbers(3)").n.sum().execute() == 3


def test_views(connection, people, table):
    connection.create_view(f"{table}_view", people.filter(people.a > 1))
    assert connection.table(f"{table}_view").count().execute() == 2
    connection.drop_view(f"{table}_view")


def test_temporary_tables(connection, table):
    # It makes them MergeTree tables.
    with needs("Table engine MergeTree"):
        connection.create_table(f"{table}_temporary", schema=ibis.schema({"a": "int64"}), temp=True)
        assert connection.table(f"{table}_temporary").count().execute() == 0
