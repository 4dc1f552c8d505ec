"""Fixtures: one server for all tests that only talk to it, and a way to start others with a configuration of their own."""

import itertools
import uuid

import pytest
from server import Server, installed


def pytest_report_header():
    missing = [name for name in ("clickhouse-client", "clickhouse-benchmark") if not installed(name)]
    return f"not installed, so their tests are skipped: {', '.join(missing)}" if missing else "all clients are installed"


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server")).start()
    yield server
    status = server.stop()
    assert status == 0, f"the server ended with {status}:\n{server.log_tail()}"
    assert "panicked" not in server.log


@pytest.fixture
def server(shared_server):
    """The shared server. A test that brings it down fails; it is started again for those after it."""
    yield shared_server
    if not shared_server.alive():
        ended = shared_server.process.returncode
        log = shared_server.log_tail()
        shared_server.start()
        raise AssertionError(f"the server ended with {ended}:\n{log}")
    assert shared_server.value("SELECT 1") == "1"


@pytest.fixture
def start_server(tmp_path):
    """Starts servers that are stopped when the test ends: start_server(settings={...}, …)."""
    started = []
    numbers = itertools.count()

    def start(*, folder=None, wait=True, **options):
        server = Server(folder or tmp_path / f"server{next(numbers)}", **options)
        started.append(server)
        if wait:
            server.start()
        return server

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def table(server):
    """The name of a table that does not exist yet and is dropped afterwards."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    yield name
    server.query(f"DROP TABLE IF EXISTS {name}")
