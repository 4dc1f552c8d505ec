"""Debian's syslog-ng ships lines of logs into a table over HTTP, as its users do: batches of JSON, several workers, and a server that goes
away meanwhile. (rsyslog's module for ClickHouse is not in this Debian.)"""

import socket
import subprocess

import pytest
from ports import free_port
from server import installed, wait_until

pytestmark = pytest.mark.skipif(not installed("syslog-ng"), reason="syslog-ng is not installed")

CONFIGURATION = r"""
@version: 3.35
options { time-reopen(1); keep-hostname(yes); keep-timestamp(yes); stats-freq(0); frac-digits(3); };
source lines { network(ip("127.0.0.1") port(%(port)s) transport("tcp") flags(syslog-protocol) log-iw-size(20000)); };
destination squall {
    http(
        url("http://127.0.0.1:%(http_port)s/?query=INSERT%%20INTO%%20logs%%20FORMAT%%20JSONEachRow&date_time_input_format=best_effort")
        method("POST") user("default") password("")
        headers("Content-Type: application/x-ndjson", "X-ClickHouse-Database: default")
        body("$(format-json --scope none time=$ISODATE host=$HOST program=$PROGRAM pid=int($PID) level=$LEVEL facility=$FACILITY
            message=$MESSAGE)")
        delimiter("\n") batch-lines(500) batch-timeout(100) workers(2) retries(100) log-fifo-size(100000)
    );
};
log { source(lines); destination(squall); flags(flow-control); };
"""


class SyslogNg:
    """A syslog-ng with a folder of its own, which ships to a server's table `logs`."""

    def __init__(self, folder, server):
        server.query(
            "CREATE TABLE logs (time DateTime64(3, 'UTC'), host LowCardinality(String), program LowCardinality(String), pid UInt32,"
            " level Enum8('emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'), facility LowCardinality(String),"
            " message String) ORDER BY time"
        )
        self.port = free_port()
        (folder / "syslog-ng.conf").write_text(CONFIGURATION % {"port": self.port, "http_port": server.http_port})
        self.log = folder / "syslog-ng.log"
        files = {"cfgfile": "syslog-ng.conf", "persist-file": "persist", "pidfile": "pid", "control": "control"}
        command = ["syslog-ng", "--foreground", "--stderr", "--no-caps", *(f"--{flag}={folder}/{name}" for flag, name in files.items())]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until(self.listens, "syslog-ng listens")

    def listens(self):
        assert self.process.poll() is None, self.log.read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except ConnectionRefusedError:
            return False
        return True

    def write(self, messages, level=6):
        """Lines as programs write them: facility local0, with a time of its own zone."""
        lines = "".join(f"<{16 * 8 + level}>1 2024-03-15T12:00:00.123+02:00 web-1 shop 42 - - {message}\n" for message in messages)
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(lines.encode())

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def shipped(start_server, tmp_path):
    """A server and the syslog-ng that ships to it."""
    server = start_server()
    program = SyslogNg(tmp_path, server)
    yield server, program
    program.stop()


def until_there(server, count):
    wait_until(lambda: server.value("SELECT count() FROM logs") == str(count), f"{count} lines are in the table")


def test_a_line(shipped):
    server, program = shipped
    program.write(['it\'s "quoted" \\ and é\tended'], level=3)
    until_there(server, 1)
    (row,) = server.rows("SELECT * FROM logs")
    assert row == ["2024-03-15 10:00:00.123", "web-1", "shop", "42", "err", "local0", 'it\\\'s "quoted" \\\\ and é\\tended']


def test_many_lines_come_in_batches(shipped):
    server, program = shipped
    program.write(f"line {number}" for number in range(20000))
    until_there(server, 20000)
    assert server.value("SELECT uniqExact(message), min(level), max(level) FROM logs") == "20000\tinfo\tinfo"
    server.query("SYSTEM FLUSH LOGS")
    inserts = "FROM system.query_log WHERE type = 'QueryFinish' AND query_kind = 'Insert' AND http_user_agent LIKE 'syslog-ng%'"
    assert 40 <= int(server.value(f"SELECT count() {inserts}")) < 5000
    assert server.value(f"SELECT sum(written_rows) {inserts}") == "20000"


def test_lines_wait_for_the_server(shipped):
    server, program = shipped
    program.write(["before"])
    until_there(server, 1)
    server.stop()
    program.write(f"meanwhile {number}" for number in range(1000))
    server.start()
    program.write(["after"])
    until_there(server, 1002)
    assert server.value("SELECT uniqExact(message) FROM logs") == "1002"


def test_lines_wait_for_their_table(shipped):
    """Where the server refuses a batch, syslog-ng sends it again."""
    server, program = shipped
    server.query("RENAME TABLE logs TO away")
    program.write(["early"])
    refused = "SELECT count() FROM system.query_log WHERE exception_code = 60 AND http_user_agent LIKE 'syslog-ng%'"
    wait_until(lambda: server.query("SYSTEM FLUSH LOGS") == "" and server.value(refused) != "0", "a batch is refused")
    server.query("RENAME TABLE away TO logs")
    until_there(server, 1)
