"""dbt with its adapter for ClickHouse: a small project with tables, a view, incremental models and tests of data. It is in dbt/."""

import os
import subprocess
import uuid

import pytest
from program import environment, source


@pytest.fixture(scope="module")
def programs():
    return environment("dbt")


@pytest.fixture
def dbt(server, programs, tmp_path):
    """Runs dbt in a database of its own; the rows of a query then tell what it did."""
    database = f"dbt_{uuid.uuid4().hex[:8]}"
    variables = {
        "SQUALL_HTTP_PORT": str(server.http_port),
        "SQUALL_NATIVE_PORT": str(server.native_port),
        "SQUALL_SCHEMA": database,
        "DBT_TARGET_PATH": str(tmp_path / "target"),
        "DBT_LOG_PATH": str(tmp_path / "log"),
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DO_NOT_TRACK": "1",
    }

    def run(*arguments, target="http"):
        command = [programs / "dbt", *arguments, "--profiles-dir", ".", "--target", target]
        ended = subprocess.run(
            command, cwd=source("dbt"), env=os.environ | variables, capture_output=True, text=True, timeout=300, check=False
        )
        assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-1000:]
        return ended.stdout

    run.database = database
    yield run
    server.query(f"DROP DATABASE IF EXISTS {database}")


def test_tables_and_tests(server, dbt):
    dbt("build", "--select", "cities", "numbered")
    assert server.query(f"SELECT id, name, letters FROM {dbt.database}.numbered ORDER BY id") == "1\tVienna\t6\n2\tGraz\t4\n3\tLinz\t4\n"
    assert server.value(f"SELECT engine FROM system.tables WHERE database = '{dbt.database}' AND name = 'numbered'") == "MergeTree"
    # Once more, which puts another table in its place.
    dbt("run", "--select", "numbered")
    assert server.value(f"SELECT count() FROM {dbt.database}.numbered") == "3"


def test_incremental_models(server, dbt):
    dbt("build", "--select", "cities", "numbered", "events")
    dbt("run", "--select", "events", "--vars", "start: 2")
    assert server.query(f"SELECT event FROM {dbt.database}.events ORDER BY event") == "1\n2\n3\n4\n5\n"


def test_views(server, dbt):
    dbt("build", "--select", "cities", "numbered", "short")
    assert server.query(f"SELECT name FROM {dbt.database}.short ORDER BY id") == "Graz\nLinz\n"


def test_rows_that_take_the_place_of_others(server, dbt):
    dbt("build", "--select", "cities", "numbered", "replaced")
    dbt("run", "--select", "replaced", "--vars", "suffix: '!'")
    assert server.query(f"SELECT name FROM {dbt.database}.replaced ORDER BY id") == "Vienna\nGraz!\nLinz!\n"


def test_native_protocol(server, dbt):
    dbt("build", "--select", "cities", "numbered", target="native")
    assert server.value(f"SELECT count() FROM {dbt.database}.numbered") == "3"
