"""PyPI's asynch: the native protocol under asyncio."""

import asyncio
import contextlib
import uuid

import pytest
from asynch.connection import Connection
from asynch.cursors import DictCursor
from asynch.errors import ServerException
from asynch.pool import Pool
from native_values import VALUES


@contextlib.asynccontextmanager
async def connected(server, options="", cursor=None):
    """A cursor of a connection of its own."""
    dsn = f"clickhouse://default:@127.0.0.1:{server.native_port}/default{options}"
    async with Connection(dsn=dsn) as connection, connection.cursor(cursor=cursor) as cursor:
        yield cursor


async def rows(cursor, sql, *arguments):
    await cursor.execute(sql, *arguments)
    return await cursor.fetchall()


def test_queries(server):
    async def run():
        async with connected(server) as cursor:
            await cursor._connection.ping()
            assert await rows(cursor, "SELECT number, toString(number) FROM numbers(3)") == [(0, "0"), (1, "1"), (2, "2")]
            assert await rows(cursor, "SELECT %(a)s, %(b)s", {"a": "it's", "b": 3}) == [("it's", 3)]
            assert [name for name, *_ in cursor.description] == ["'it\\'s'", "3"]
        async with connected(server, cursor=DictCursor) as cursor:
            await cursor.execute("SELECT 1 AS a, 'x' AS b")
            assert await cursor.fetchone() == {"a": 1, "b": "x"}

    asyncio.run(run())


def test_inserts_follow_each_other(server, table):
    async def run():
        async with connected(server) as cursor:
            await cursor.execute(f"CREATE TABLE {table} (a UInt32, b String) ENGINE = MergeTree ORDER BY a")
            for batch in range(5):
                await cursor.execute(f"INSERT INTO {table} (a, b) VALUES", [(batch * 1000 + a, "x") for a in range(1000)])
            assert await rows(cursor, f"SELECT count(), sum(a) FROM {table}") == [(5000, sum(range(5000)))]

    asyncio.run(run())


@pytest.mark.parametrize("data_type", VALUES)
def test_types(server, table, data_type):
    value = VALUES[data_type]

    async def run():
        async with connected(server) as cursor:
            await cursor.execute(f"CREATE TABLE {table} (a {data_type}) ENGINE = Memory")
            await cursor.execute(f"INSERT INTO {table} (a) VALUES", [(value,), (value,)])
            assert await rows(cursor, f"SELECT a FROM {table}") == [(value,), (value,)]

    asyncio.run(run())


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_compression(server, table, compression):
    async def run():
        async with connected(server, f"?compression={compression}") as cursor:
            await cursor.execute(f"CREATE TABLE {table} (a UInt32, b String) ENGINE = Memory")
            await cursor.execute(f"INSERT INTO {table} (a, b) VALUES", [(a, "text " * 10) for a in range(10_000)])
            assert await rows(cursor, f"SELECT count(), min(b) FROM {table}") == [(10_000, "text " * 10)]
            assert len(await rows(cursor, "SELECT number FROM numbers(300000)")) == 300_000

    asyncio.run(run())


def test_a_stream_of_rows(server):
    async def run():
        async with connected(server) as cursor:
            cursor.set_stream_results(True, 1000)
            cursor.set_settings({"max_block_size": 1000})
            cursor.set_query_id(str(uuid.uuid4()))
            await cursor.execute("SELECT number FROM numbers(100000)")
            assert sum([row[0] async for row in cursor]) == 4_999_950_000

    asyncio.run(run())


def test_errors(server):
    async def run():
        for sql, code in [
            ("SELECT nope", 47),
            ("SELECT * FROM no_such_table", 60),
            ("SELECT throwIf(number = 3000000) FROM numbers(4000000)", 395),
        ]:
            async with connected(server) as cursor:
                with pytest.raises(ServerException) as error:
                    await rows(cursor, sql)
                assert error.value.code == code
                assert await rows(cursor, "SELECT 1") == [(1,)]

    asyncio.run(run())


def test_a_pool(server):
    async def run():
        async with Pool(minsize=1, maxsize=10, dsn=f"clickhouse://default:@127.0.0.1:{server.native_port}/default") as pool:

            async def one(number):
                async with pool.connection() as connection, connection.cursor() as cursor:
                    return await rows(cursor, f"SELECT {number}")

            assert await asyncio.gather(*[one(number) for number in range(100)]) == [[(number,)] for number in range(100)]

    asyncio.run(run())
