"""PyPI's clickhouse-sqlalchemy over both protocols, and the dialect of clickhouse-connect: engines, models, and what they ask of tables."""

import datetime

import pytest
import sqlalchemy as sa
from clickhouse_sqlalchemy import Table, engines, get_declarative_base, make_session, types


@pytest.fixture(params=["clickhouse+native", "clickhouse+http", "clickhousedb+connect"], ids=["native", "http", "connect"])
def engine(server, request):
    port = server.native_port if "native" in request.param else server.http_port
    engine = sa.create_engine(f"{request.param}://default:@127.0.0.1:{port}/default")
    yield engine
    engine.dispose()


@pytest.fixture
def sqlalchemy_engine(engine):
    """Those of clickhouse-sqlalchemy, whose models have engines."""
    if engine.dialect.name != "clickhouse":
        pytest.skip("models with engines are clickhouse-sqlalchemy's")
    return engine


def test_queries(engine):
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1
        assert connection.execute(sa.text("SELECT :x AS x, :y AS y"), {"x": "it's", "y": 3}).one() == ("it's", 3)
        assert len(connection.execute(sa.text("SELECT number FROM numbers(100000)")).all()) == 100_000


def test_errors(engine):
    with engine.connect() as connection:
        with pytest.raises(Exception, match="UNKNOWN_IDENTIFIER|Unknown expression identifier"):
            connection.execute(sa.text("SELECT nope"))
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1


def test_metadata(engine, server, table):
    server.query(f"CREATE TABLE {table} (a UInt32, b Nullable(String), c Array(UInt8), d LowCardinality(String)) ENGINE = MergeTree ORDER BY a")
    inspector = sa.inspect(engine)
    assert table in inspector.get_table_names()
    assert {"default", "system"} <= set(inspector.get_schema_names())
    assert inspector.has_table(table)
    assert not inspector.has_table("no_such_table")
    assert [column["name"] for column in inspector.get_columns(table)] == ["a", "b", "c", "d"]
    inspector.get_pk_constraint(table)
    inspector.get_indexes(table)
    inspector.get_foreign_keys(table)
    inspector.get_view_names()
    metadata = sa.MetaData()
    metadata.reflect(engine, only=[table])
    assert [column.name for column in metadata.tables[table].columns] == ["a", "b", "c", "d"]


def test_models(sqlalchemy_engine, table):
    engine = sqlalchemy_engine
    metadata = sa.MetaData()

    class Rate(get_declarative_base(metadata=metadata)):
        __tablename__ = table
        day = sa.Column(types.Date, primary_key=True)
        value = sa.Column(types.Int32, comment="a comment")
        other = sa.Column(types.DateTime)
        text = sa.Column(types.Nullable(types.String))
        items = sa.Column(types.Array(types.UInt8))
        word = sa.Column(types.LowCardinality(types.String))
        __table_args__ = (engines.MergeTree(partition_by=sa.func.toYYYYMM(day), order_by=(day,), primary_key=(day,)),)

    metadata.create_all(engine)
    session = make_session(engine)
    first = datetime.date(2024, 1, 1)
    rows = [
        {
            "day": first + datetime.timedelta(day),
            "value": day,
            "other": datetime.datetime(2024, 1, 1, 2, 3, 4),
            "text": None if day % 2 else "it's",
            "items": [day],
            "word": "x",
        }
        for day in range(100)
    ]
    session.execute(sa.insert(Rate.__table__), rows)
    assert session.query(sa.func.count(Rate.day)).scalar() == 100
    last = session.query(Rate).filter(Rate.day > first).order_by(Rate.day.desc()).limit(1).one()
    # Over HTTP the dialect leaves arrays as their text.
    items = str([99]) if engine.dialect.driver == "http" else [99]
    assert (last.value, last.text, last.items, last.other) == (99, None, items, datetime.datetime(2024, 1, 1, 2, 3, 4))
    sums = session.query(sa.func.toStartOfMonth(Rate.day).label("month"), sa.func.sum(Rate.value)).group_by("month").order_by("month").all()
    assert sums[0] == (first, sum(range(31)))
    reflected = Table(table, sa.MetaData(), autoload_with=engine)
    assert reflected.engine.name == "MergeTree"
    metadata.drop_all(engine)
    assert not sa.inspect(engine).has_table(table)
