"""Materialized views in a server that many use: whose rights they need, and that an INSERT which fails in a view leaves nothing behind."""

import threading

import pytest
from server import ServerError

DENIED, MEMORY, CANCELLED = 497, 241, 394


@pytest.fixture
def viewed(start_server):
    """A server with a table, a view of it `TO` another table, and users who may do one thing each."""
    server = start_server()
    server.query("CREATE TABLE source (k UInt64, v UInt64) ENGINE = MergeTree ORDER BY k")
    server.query("CREATE TABLE target (k UInt64, total UInt64) ENGINE = SummingMergeTree ORDER BY k")
    server.query("CREATE MATERIALIZED VIEW totals TO target AS SELECT k % 10 AS k, sum(v) AS total FROM source GROUP BY k")
    for name, right in (("writer", "INSERT ON source"), ("viewer", "SELECT ON totals"), ("nobody", "SELECT ON target")):
        server.query(f"CREATE USER {name}")
        server.query(f"GRANT {right} TO {name}")
    return server


def counts(server):
    return server.query("SELECT (SELECT count() FROM source), (SELECT sum(total) FROM target)")


def test_a_view_runs_with_the_rights_of_its_definer(viewed):
    viewed.query("INSERT INTO source SELECT number, 1 FROM numbers(100)", user="writer")
    assert counts(viewed) == "100\t100\n"
    assert viewed.query("SELECT k, total FROM totals ORDER BY k LIMIT 1", user="viewer") == "0\t10\n"
    for name, statement in (
        ("writer", "SELECT * FROM totals"),
        ("writer", "SELECT * FROM source"),
        ("writer", "INSERT INTO totals VALUES (1, 1)"),
        ("viewer", "SELECT * FROM target"),
        ("viewer", "INSERT INTO source VALUES (1, 1)"),
        ("nobody", "SELECT * FROM totals"),
    ):
        assert viewed.error_code(statement, user=name) == DENIED, (name, statement)
    assert counts(viewed) == "100\t100\n"


def test_a_definer_without_rights_fails_the_whole_insert(viewed):
    viewed.query("CREATE USER definer")
    viewed.query("GRANT SELECT ON source TO definer")
    viewed.query(
        "CREATE MATERIALIZED VIEW denied TO target DEFINER = definer SQL SECURITY DEFINER AS SELECT k, v AS total FROM source"
    )
    assert viewed.error_code("INSERT INTO source VALUES (1, 1)") == DENIED
    assert counts(viewed) == "0\t0\n"
    viewed.query("GRANT INSERT ON target TO definer")
    viewed.query("INSERT INTO source VALUES (1, 1)")
    assert counts(viewed) == "1\t2\n"


def test_a_view_that_needs_too_much_memory_leaves_nothing(viewed):
    viewed.query("CREATE MATERIALIZED VIEW large TO target AS SELECT length(groupArray(repeat('x', 1000))) AS total FROM source")
    insert = "INSERT INTO source SELECT number, 1 FROM numbers(200000)"
    assert viewed.error_code(insert, max_memory_usage=50_000_000) == MEMORY
    assert counts(viewed) == "0\t0\n"
    viewed.query("DROP VIEW large")
    viewed.query(insert)
    assert counts(viewed) == "200000\t200000\n"


def test_an_insert_is_killed_in_its_view(viewed):
    viewed.query("CREATE MATERIALIZED VIEW slow TO target AS SELECT k, sleepEachRow(0.05) AS total FROM source")
    ended = []

    def insert():
        try:
            viewed.query("INSERT INTO source SELECT number, 1 FROM numbers(2000)", query_id="slow-insert", max_block_size=10)
        except ServerError as error:
            ended.append(error.code)

    thread = threading.Thread(target=insert)
    thread.start()
    viewed.until_running("slow-insert")
    viewed.query("KILL QUERY WHERE query_id = 'slow-insert' SYNC")
    thread.join(timeout=30)
    assert ended == [CANCELLED]
    assert counts(viewed) == "0\t0\n"


def test_views_are_there_after_a_restart(viewed):
    viewed.query("CREATE MATERIALIZED VIEW own ENGINE = MergeTree ORDER BY k AS SELECT k FROM source")
    viewed.restart()
    viewed.query("INSERT INTO source VALUES (7, 3)")
    assert viewed.query("SELECT (SELECT k FROM own), (SELECT total FROM totals)") == "7\t3\n"
