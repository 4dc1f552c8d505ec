"""TLS on both interfaces, with certificates of an authority made for the test: real drivers, resumption, clients' certificates, reload."""

import http.client
import pathlib
import socket
import ssl

import clickhouse_connect
import clickhouse_driver
import pytest
import trustme
from ports import free_port
from server import ServerError


class Secure:
    """A server with ports for TLS, and the authority that signed its certificate."""

    def __init__(self, start_server, tmp_path, elements="", name="localhost", **options):
        self.folder = tmp_path / "secure"
        self.folder.mkdir()
        self.authority = trustme.CA()
        self.ca_file = str(self.folder / "ca.crt")
        self.authority.cert_pem.write_to_path(self.ca_file)
        self.issue(name)
        self.https_port, self.native_port = free_port(), free_port()
        tls = (
            "<server><certificateFile>server.crt</certificateFile><privateKeyFile>server.key</privateKeyFile>"
            f"<caConfig>ca.crt</caConfig>{elements}</server>"
        )
        settings = {"https_port": self.https_port, "tcp_port_secure": self.native_port, "openSSL": tls}
        self.server = start_server(folder=self.folder, settings=settings, **options)

    def issue(self, name):
        """A new certificate for the server, in its files."""
        issued = self.authority.issue_cert(name)
        issued.private_key_pem.write_to_path(self.folder / "server.key")
        (self.folder / "server.crt").write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))

    def context(self, client=None):
        context = ssl.create_default_context(cafile=self.ca_file)
        if client is not None:
            client.configure_cert(context)
        return context

    def https(self, context=None):
        return http.client.HTTPSConnection("localhost", self.https_port, timeout=20, context=context or self.context())

    def value(self, sql, context=None):
        connection = self.https(context)
        connection.request("POST", "/", sql)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        if response.status != 200:
            raise ServerError(response.status, text)
        return text.strip()


@pytest.fixture
def secure(start_server, tmp_path):
    return Secure(start_server, tmp_path)


def test_https_serves_pages_and_long_results(secure):
    connection = secure.https()
    for _ in range(3):
        connection.request("GET", "/ping")
        assert connection.getresponse().read() == b"Ok.\n"
    connection.request("POST", "/", "SELECT number FROM numbers(2000000)")
    body = connection.getresponse().read()
    assert body.count(b"\n") == 2_000_000 and body.endswith(b"1999999\n")
    rows = "\n".join(str(number) for number in range(300_000))
    assert secure.value("CREATE TABLE sent (number UInt64) ENGINE = MergeTree ORDER BY number") == ""
    connection.request("POST", "/?query=INSERT+INTO+sent+FORMAT+TSV", rows)
    assert connection.getresponse().read() == b""
    assert secure.value("SELECT count(), sum(number) FROM sent") == "300000\t44999850000"


def test_drivers_come_in(secure):
    client = clickhouse_connect.get_client(
        host="localhost", port=secure.https_port, interface="https", ca_cert=secure.ca_file
    )
    assert client.query("SELECT 1").result_rows == [(1,)]
    client.close()
    client = clickhouse_driver.Client("localhost", secure.native_port, secure=True, ca_certs=secure.ca_file)
    assert client.execute("SELECT sum(number) FROM numbers(1000000)") == [(499999500000,)]
    rows = [(number, str(number)) for number in range(100_000)]
    client.execute("CREATE TABLE native (number UInt64, text String) ENGINE = MergeTree ORDER BY number")
    assert client.execute("INSERT INTO native VALUES", rows) == 100_000
    assert client.execute("SELECT * FROM native ORDER BY number") == rows
    client.disconnect()


def test_a_query_is_cancelled_under_tls(secure):
    client = clickhouse_driver.Client("localhost", secure.native_port, secure=True, ca_certs=secure.ca_file)
    progress = client.execute_with_progress("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)", query_id="endless")
    next(iter(progress))
    client.disconnect()
    secure.server.until_gone("endless")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed(secure, version):
    context = secure.context()
    context.minimum_version = context.maximum_version = version

    def visit(session):
        with socket.create_connection(("localhost", secure.https_port)) as plain:
            with context.wrap_socket(plain, server_hostname="localhost", session=session) as stream:
                stream.sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                while stream.recv(4096):
                    pass
                return stream.session, stream.session_reused

    session, is_resumed = visit(None)
    assert not is_resumed
    assert visit(session)[1]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_protocols_and_strangers_are_refused(secure):
    context = secure.context()
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secure.value("SELECT 1", context)
    # Plain HTTP, and nothing at all, on a port for TLS.
    for bytes_sent in (b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n", b"", b"\x16\x03\x01\xff\xff" + b"x" * 70_000):
        with socket.create_connection(("localhost", secure.https_port), timeout=20) as peer:
            try:
                peer.sendall(bytes_sent)
                if bytes_sent:
                    answer = peer.recv(4096)
                    assert not answer.startswith(b"HTTP")
            except ConnectionError:
                pass
    assert secure.value("SELECT 1") == "1"


def test_clients_show_certificates(start_server, tmp_path):
    secure = Secure(start_server, tmp_path, "<verificationMode>strict</verificationMode>")
    friend = secure.authority.issue_cert("friend")
    assert secure.value("SELECT 1", secure.context(friend)) == "1"
    for stranger in (None, trustme.CA().issue_cert("stranger")):
        with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            secure.value("SELECT 1", secure.context(stranger))


def test_a_relaxed_server_asks_and_does_not_insist(start_server, tmp_path):
    secure = Secure(start_server, tmp_path, "<verificationMode>relaxed</verificationMode>")
    assert secure.value("SELECT 1") == "1"
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
        secure.value("SELECT 1", secure.context(trustme.CA().issue_cert("stranger")))


def test_users_are_known_by_their_certificates(start_server, tmp_path):
    """Over HTTPS with a header, natively in place of a password; by common name, or by an alternative name with a wildcard."""
    by_name = "<ssl_certificates><common_name>robot.example</common_name><common_name>other.example</common_name></ssl_certificates>"
    alternative = "".join(f"<subject_alt_name>{name}</subject_alt_name>" for name in ("DNS:service.example", "URI:spiffe://x/*/report"))
    others = f"<robot>{by_name}</robot><service><ssl_certificates>{alternative}</ssl_certificates></service>"
    files = {"users.d/certificates.xml": f"<clickhouse><users>{others}</users></clickhouse>"}
    secure = Secure(start_server, tmp_path, "<verificationMode>relaxed</verificationMode>", files=files)
    robot = secure.context(secure.authority.issue_cert("somewhere.example", common_name="robot.example"))
    service = secure.context(secure.authority.issue_cert("service.example"))
    other = secure.context(secure.authority.issue_cert("elsewhere.example", common_name="stranger.example"))
    on = {"X-ClickHouse-SSL-Certificate-Auth": "on"}

    def ask(context, user, headers, path="/"):
        connection = secure.https(context)
        connection.request("POST", path, "SELECT currentUser()", {"X-ClickHouse-User": user, **headers})
        response = connection.getresponse()
        text = response.read().decode().strip()
        connection.close()
        return text if response.status == 200 else int(response.headers["X-ClickHouse-Exception-Code"])

    assert ask(robot, "robot", on) == "robot"
    assert ask(service, "service", on) == "service"
    for refused in [
        ask(other, "robot", on),
        ask(robot, "service", on),
        ask(secure.context(), "robot", on),
        ask(robot, "robot", {}),
        ask(robot, "robot", {**on, "X-ClickHouse-Key": "secret"}),
        ask(robot, "default", on),
        ask(robot, "nobody", on),
    ]:
        assert refused == 516
    assert ask(robot, "default", {}) == "default"
    # Without TLS the header proves nothing.
    plain = secure.server.http(body=b"SELECT 1", headers={"X-ClickHouse-User": "robot", **on})
    assert plain.headers["X-ClickHouse-Exception-Code"] == "516"

    def natively(issued, user, password=""):
        files = {}
        if issued is not None:
            files = {"certfile": str(tmp_path / "native.pem"), "keyfile": str(tmp_path / "native.key")}
            issued.private_key_pem.write_to_path(files["keyfile"])
            pathlib.Path(files["certfile"]).write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        client = clickhouse_driver.Client(
            "localhost", secure.native_port, user=user, password=password, secure=True, ca_certs=secure.ca_file, **files
        )
        try:
            return client.execute("SELECT currentUser()")[0][0]
        except clickhouse_driver.errors.ServerException as error:
            return error.code
        finally:
            client.disconnect()

    issued = secure.authority.issue_cert("somewhere.example", common_name="robot.example")
    assert natively(issued, "robot") == "robot"
    assert natively(issued, "service") == 516
    assert natively(None, "robot") == 516
    # A certificate that proves nothing is no obstacle to a password.
    assert natively(issued, "reader", "secret") == "reader"
    secure.server.query("SYSTEM FLUSH LOGS")
    logged = "SELECT DISTINCT user, is_secure FROM system.query_log WHERE user = 'robot' AND type = 'QueryFinish'"
    assert secure.server.query(logged) == "robot\t1\n"
    shown = "SELECT auth_type, auth_params FROM system.users WHERE name = 'robot'"
    assert secure.server.rows(shown) == [["['ssl_certificate']", '[\'{"common_names":["other.example","robot.example"]}\']']]


def test_a_new_certificate_is_taken_without_a_restart(start_server, tmp_path):
    secure = Secure(start_server, tmp_path, name="old.example")

    def names():
        context = secure.context()
        context.check_hostname = False
        with socket.create_connection(("localhost", secure.https_port)) as plain:
            with context.wrap_socket(plain) as stream:
                return [value for kind, value in stream.getpeercert()["subjectAltName"]]

    assert names() == ["old.example"]
    secure.issue("new.example")
    secure.server.query("SYSTEM RELOAD CONFIG")
    assert names() == ["new.example"]
    # One that does not fit changes nothing.
    (secure.folder / "server.key").write_text("not a key")
    with pytest.raises(ServerError) as caught:
        secure.server.query("SYSTEM RELOAD CONFIG")
    assert caught.value.code == 454
    assert names() == ["new.example"]


def test_a_port_for_tls_needs_a_certificate(start_server):
    server = start_server(settings={"https_port": free_port()}, wait=False)
    server.spawn()
    assert server.process.wait(30) != 0
    assert "--generate-certificate" in server.log


def test_the_server_makes_its_own_certificate(start_server):
    https_port, native_port = free_port(), free_port()
    server = start_server(settings={"https_port": https_port, "tcp_port_secure": native_port}, arguments=["--generate-certificate"])
    certificate = server.data / "certificates" / "server.crt"
    assert (server.data / "certificates" / "server.key").stat().st_mode & 0o777 == 0o600
    before = certificate.read_bytes()
    for _ in range(2):
        context = ssl.create_default_context(cafile=certificate)
        connection = http.client.HTTPSConnection("localhost", https_port, timeout=20, context=context)
        connection.request("POST", "/", "SELECT 1")
        assert connection.getresponse().read() == b"1\n"
        client = clickhouse_driver.Client("localhost", native_port, secure=True, ca_certs=str(certificate))
        assert client.execute("SELECT 1") == [(1,)]
        client.disconnect()
        server.restart()
    # A restart keeps it: clients trust it.
    assert certificate.read_bytes() == before
