"""PyPI's aiochclient: HTTP under asyncio, rows as TabSeparated."""

import asyncio
import contextlib

import aiohttp
import pytest
from aiochclient import ChClient, ChClientError
from native_values import VALUES


@contextlib.asynccontextmanager
async def connected(server, **options):
    async with aiohttp.ClientSession() as session:
        yield ChClient(session, url=f"http://127.0.0.1:{server.http_port}/", **options)


@pytest.mark.parametrize("is_compressed", [False, True], ids=["plain", "compressed"])
def test_queries(server, is_compressed):
    async def run():
        async with connected(server, compress_response=is_compressed) as client:
            assert await client.is_alive()
            assert await client.fetchval("SELECT 1") == 1
            assert (await client.fetchrow("SELECT {x} AS v, {y} AS w", params={"x": "it's", "y": 3}))["v"] == "it's"
            assert sum([row[0] async for row in client.iterate("SELECT number FROM numbers(100000)")]) == 4_999_950_000
            assert await client.fetch("SELECT 1 AS a FORMAT JSONEachRow") == [{"a": 1}]

    asyncio.run(run())


def test_inserts(server, table):
    async def run():
        async with connected(server) as client:
            await client.execute(f"CREATE TABLE {table} (a UInt32, b Nullable(String)) ENGINE = Memory")
            for _ in range(3):
                await client.execute(f"INSERT INTO {table} VALUES", *[(a, "it's\t") for a in range(1000)])
            await client.execute(f"INSERT INTO {table} FORMAT JSONEachRow", {"a": 1, "b": None}, {"a": 2, "b": "x"})
            assert (await client.fetchrow(f"SELECT count(), countIf(b = 'it\\'s\\t') FROM {table}"))[:] == (3002, 3000)

    asyncio.run(run())


# The client has no parser for Date32.
@pytest.mark.parametrize("data_type", [data_type for data_type in VALUES if data_type != "Date32"])
def test_types(server, table, data_type):
    value = VALUES[data_type]

    async def run():
        async with connected(server) as client:
            await client.execute(f"CREATE TABLE {table} (a {data_type}) ENGINE = Memory")
            await client.execute(f"INSERT INTO {table} VALUES", (value,), (value,))
            assert [row[0] for row in await client.fetch(f"SELECT a FROM {table}")] == [value, value]

    asyncio.run(run())


def test_errors(server):
    async def run():
        async with connected(server) as client:
            with pytest.raises(ChClientError, match="UNKNOWN_IDENTIFIER"):
                await client.execute("SELECT nope")
            with pytest.raises(aiohttp.ClientPayloadError):
                async for _ in client.iterate("SELECT throwIf(number = 3000000) FROM numbers(4000000)"):
                    pass
            assert await client.fetchval("SELECT 1") == 1

    asyncio.run(run())


def test_many_at_once(server):
    async def run():
        async with connected(server) as client:
            found = await asyncio.gather(*[client.fetchval(f"SELECT {number}") for number in range(200)])
            assert found == list(range(200))

    asyncio.run(run())
