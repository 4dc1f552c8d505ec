"""Fixtures: one server for all tests that only talk to it, and a way to start others with a configuration of their own.

HTTP is read in two ways: what is simple straight on the socket, anything else by hyper, which reads all where
max_keep_alive_requests is set. The tests of BOTH_READERS run with either."""

import itertools
import subprocess
import uuid

import pytest
from server import Server, installed


BOTH_READERS = {
    "test_bad_input",
    "test_cross_origin",
    "test_external_data",
    "test_http",
    "test_http_handlers",
    "test_http_progress",
}
HYPER_ALONE = {"max_keep_alive_requests": 1_000_000}


def pytest_generate_tests(metafunc):
    is_of_one = metafunc.definition.get_closest_marker("one_reader") is not None
    if metafunc.module.__name__ in BOTH_READERS and "http_reader" in metafunc.fixturenames and not is_of_one:
        metafunc.parametrize("http_reader", ["direct", "hyper"], indirect=True)


@pytest.fixture
def http_reader(request):
    """How the servers of a test read HTTP."""
    return getattr(request, "param", "direct")


def pytest_report_header():
    missing = [name for name in ("clickhouse-client", "clickhouse-benchmark", "prometheus", "syslog-ng") if not installed(name)]
    return f"not installed, so their tests are skipped: {', '.join(missing)}" if missing else "all clients are installed"


def run_shared(tmp_path_factory, settings):
    server = Server(tmp_path_factory.mktemp("server"), settings=settings).start()
    yield server
    status = server.stop()
    assert status == 0, f"the server ended with {status}:\n{server.log_tail()}"
    assert "panicked" not in server.log


@pytest.fixture(scope="session")
def direct_server(tmp_path_factory):
    yield from run_shared(tmp_path_factory, {})


@pytest.fixture(scope="session")
def hyper_server(tmp_path_factory):
    yield from run_shared(tmp_path_factory, HYPER_ALONE)


@pytest.fixture
def server(request, http_reader):
    """The shared server. A test that brings it down fails; it is started again for those after it."""
    shared_server = request.getfixturevalue(f"{http_reader}_server")
    yield shared_server
    if not shared_server.alive():
        ended = shared_server.process.returncode
        log = shared_server.log_tail()
        shared_server.start()
        raise AssertionError(f"the server ended with {ended}:\n{log}")
    assert shared_server.value("SELECT 1") == "1"


@pytest.fixture
def start_server(tmp_path, http_reader):
    """Starts servers that are stopped when the test ends: start_server(settings={...}, …)."""
    started = []
    numbers = itertools.count()

    def start(*, folder=None, wait=True, settings=None, **options):
        if http_reader == "hyper":
            settings = HYPER_ALONE | (settings or {})
        server = Server(folder or tmp_path / f"server{next(numbers)}", settings=settings, **options)
        started.append(server)
        if wait:
            server.start()
        return server

    yield start
    for server in started:
        server.kill()


class SmallDisk:
    """A file system of so many MiB."""

    def __init__(self, folder, size_mib):
        self.folder = folder
        folder.mkdir(parents=True)
        options = f"size={size_mib}m"
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
        if made.returncode != 0:
            pytest.skip(f"cannot mount a tmpfs, which only root can: {made.stderr.decode().strip()}")

    def fill(self, but_bytes=0):
        """Leaves so many bytes free."""
        with pytest.raises(OSError, match="No space left"), open(self.ballast, "ab", buffering=0) as ballast:
            while True:
                ballast.write(bytes(1 << 16))
        with open(self.ballast, "ab") as ballast:
            ballast.truncate(self.ballast.stat().st_size - but_bytes)

    def make_room(self):
        """Takes away what filled it."""
        self.ballast.unlink()

    @property
    def ballast(self):
        return self.folder / "ballast"


@pytest.fixture
def small_disk(tmp_path):
    """Makes file systems of so many MiB: small_disk(48)."""
    disks = []

    def make(size_mib, folder=tmp_path / "disk"):
        disks.append(SmallDisk(folder, size_mib))
        return disks[-1]

    yield make
    for disk in disks:
        subprocess.run(["umount", "--lazy", disk.folder], check=True)


@pytest.fixture
def table(server):
    """The name of a table that does not exist yet and is dropped afterwards."""
    name = f"t_{uuid.uuid4().hex[:12]}"
    yield name
    server.query(f"DROP TABLE IF EXISTS {name}")
