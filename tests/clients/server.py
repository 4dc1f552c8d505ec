"""A Squall server under test: the release binary with a configuration and a folder of its own, on free local ports."""

import fnmatch
import http.client
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.parse

from clickhouse_cityhash.cityhash import CityHash128
from ports import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = os.environ.get("SQUALL", str(TARGET / "release" / "squall"))
READY_SECONDS = 30
STOP_SECONDS = 30

USERS_XML = """<clickhouse>
    <profiles>
        <default/>
        <readonly><readonly>1</readonly></readonly>
    </profiles>
    <users>
        <default>
            <password></password>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <access_management>1</access_management>
        </default>
        <reader>
            <!-- The SHA-256 of "secret". -->
            <password_sha256_hex>2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b</password_sha256_hex>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>readonly</profile>
        </reader>
        <stranger>
            <password></password>
            <networks><ip>10.255.255.255</ip></networks>
            <profile>default</profile>
        </stranger>
    </users>
</clickhouse>
"""


class ServerError(Exception):
    """The server answered with an exception; `code` is ClickHouse's."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        found = re.search(r"Code: (\d+)", text)
        self.code = int(found.group(1)) if found else None


class Response:
    """An HTTP response, read to its end."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()


def hash128(data):
    """The checksum of a compressed frame, as it stands before it."""
    halves = CityHash128(data).to_bytes(16, "little")
    return halves[8:] + halves[:8]


def wait_until(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain until {what}"
        time.sleep(0.02)


class Peer:
    """A bare connection, for clients that behave in their own way."""

    def __init__(self, port, timeout=20, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(("127.0.0.1", port))
        self.received = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes the connection as a crashed machine would: with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        """What has come or comes next; empty where the server has closed the connection."""
        if self.received:
            received, self.received = self.received, b""
            return received
        try:
            return self.socket.recv(65536)
        except ConnectionResetError:
            return b""

    def receive_all(self):
        """Everything until the server closes the connection."""
        everything = b""
        while more := self.receive():
            everything += more
        return everything

    def _more(self):
        more = self.socket.recv(65536)
        assert more, f"the connection ended within {self.received[:1000]!r}"
        self.received += more

    def _until(self, mark):
        while mark not in self.received:
            self._more()
        before, self.received = self.received.split(mark, 1)
        return before

    def _exactly(self, size):
        while len(self.received) < size:
            self._more()
        data, self.received = self.received[:size], self.received[size:]
        return data

    def response(self):
        """One HTTP response with a length or in chunks: its head and its body."""
        head = self._until(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if b"content-length" in fields:
            return head, self._exactly(int(fields[b"content-length"]))
        body = b""
        while size := int(self._until(b"\r\n"), 16):
            body += self._exactly(size)
            self._exactly(2)
        self._exactly(2)
        return head, body


class Server:
    """`settings` are elements of config.xml by name; `files` are further files by path under the folder,
    `wrapper` is what runs the program and `arguments` are more of its own."""

    def __init__(self, folder, settings=None, users_xml=USERS_XML, files=None, wrapper=(), arguments=()):
        self.folder = pathlib.Path(folder)
        self.settings = settings or {}
        self.users_xml = users_xml
        self.files = files or {}
        self.wrapper = list(wrapper)
        self.arguments = list(arguments)
        self.http_port = free_port()
        self.native_port = free_port()
        self.process = None

    @property
    def data(self):
        return self.folder / "data"

    @property
    def log(self):
        """All that the server has written about itself; of one that runs, the last lines may still be on their way."""
        parts = [self.folder / name for name in ("server.log", "error.log", "stdout.log", "stderr.log")]
        return "\n".join(part.read_text(errors="replace") for part in parts if part.exists())

    def until_logged(self, text):
        wait_until(lambda: text in self.log, f"the log says {text!r}")

    def log_tail(self):
        """The end of it, for a failure's message."""
        return "\n".join(line[:300] for line in self.log.splitlines()[-30:])

    def write_configuration(self):
        elements = {
            "logger": f"<level>debug</level><log>{self.folder}/server.log</log>"
            f"<errorlog>{self.folder}/error.log</errorlog>",
            "http_port": self.http_port,
            "tcp_port": self.native_port,
            "listen_host": "127.0.0.1",
            "path": f"{self.data}/",
            "tmp_path": f"{self.folder}/tmp/",
            "users_config": "users.xml",
            "timezone": "UTC",
            "query_log": "",
            **self.settings,
        }
        lines = [f"    <{name}>{value}</{name}>" for name, value in elements.items() if value is not None]
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "config.xml").write_text("<clickhouse>\n" + "\n".join(lines) + "\n</clickhouse>\n")
        (self.folder / "users.xml").write_text(self.users_xml)
        for path, text in self.files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)

    def spawn(self):
        """Starts the process and does not wait for it."""
        self.write_configuration()
        command = [*self.wrapper, BINARY, "server", "--config-file", str(self.folder / "config.xml"), *self.arguments]
        with open(self.folder / "stdout.log", "ab") as out, open(self.folder / "stderr.log", "ab") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder)

    def start(self):
        self.spawn()
        deadline = time.monotonic() + READY_SECONDS
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log_tail()}")
            try:
                if self.http(path="/ping", method="GET").body == b"Ok.\n":
                    return self
            except OSError:
                pass
            if time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"the server did not answer in {READY_SECONDS} s:\n{self.log_tail()}")
            time.sleep(0.01)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Asks the server to end and returns its exit status."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"the server did not end in {STOP_SECONDS} s after SIGTERM") from None
        return self.process.returncode

    def kill(self):
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def files_named(self, pattern):
        """Files and folders in the data folder whose names match; the server may remove some meanwhile, which `rglob` does not bear."""
        walk = os.walk(self.data)
        return [pathlib.Path(folder, name) for folder, *names in walk for name in fnmatch.filter(sum(names, []), pattern)]

    def restart(self):
        self.stop()
        return self.start()

    # --- HTTP ---

    def http(self, query=None, *, path="/", method="POST", body=None, headers=None, timeout=60, **params):
        """One request on a connection of its own; `params` go into the URL, `query` into its `query`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=timeout)
        try:
            if query is not None:
                params["query"] = query
            url = path + ("?" + urllib.parse.urlencode(params) if params else "")
            connection.request(method, url, body=body, headers=headers or {})
            return Response(connection.getresponse())
        finally:
            connection.close()

    def query(self, sql, **params):
        """The result of a query as text (TabSeparated unless it has a FORMAT)."""
        response = self.http(body=sql.encode(), **params)
        if response.status != 200:
            raise ServerError(response.status, response.text)
        return response.text

    def error_code(self, sql, **params):
        """ClickHouse's code of the error that a statement ends with; 0 where it ends well."""
        try:
            self.query(sql, **params)
        except ServerError as error:
            return error.code
        return 0

    def rows(self, sql, **params):
        """The result as a list of lists of strings."""
        return [line.split("\t") for line in self.query(sql, **params).splitlines()]

    def value(self, sql, **params):
        """The only value of a result, as text."""
        return self.query(sql, **params).rstrip("\n")

    # --- what goes on inside ---

    def running(self, query_id):
        return self.value(f"SELECT count() FROM system.processes WHERE query_id = '{query_id}'") != "0"

    def until_running(self, query_id):
        wait_until(lambda: self.running(query_id), f"query {query_id} runs")

    def until_gone(self, query_id):
        wait_until(lambda: not self.running(query_id), f"query {query_id} has ended")

    def threads(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"Threads:\s+(\d+)", status).group(1))

    # --- sockets ---

    def native_peer(self, **options):
        return Peer(self.native_port, **options)

    def http_peer(self, **options):
        return Peer(self.http_port, **options)

    # --- programs ---

    def program(self, name, *args, stdin=None, timeout=120):
        """Runs clickhouse-client or clickhouse-benchmark against the server."""
        command = [name, "--host=127.0.0.1", f"--port={self.native_port}", *args]
        data = stdin.encode() if isinstance(stdin, str) else stdin
        empty = subprocess.DEVNULL if data is None else None
        return subprocess.run(command, input=data, stdin=empty, capture_output=True, timeout=timeout, check=False)

    def client(self, *args, stdin=None, timeout=120):
        return self.program("clickhouse-client", *args, stdin=stdin, timeout=timeout)


def installed(program):
    return shutil.which(program) is not None
