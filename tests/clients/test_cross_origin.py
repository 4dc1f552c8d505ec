"""Requests of pages of other origins: what `OPTIONS` and queries say of who may read them."""

from server import USERS_XML

PAGE = {"Origin": "http://example.com"}
# Who shows a password; of a user without one a page of another origin gets nothing: see test_access.py.
WHO = {"user": "reader", "password": "secret"}
FREE_READER = USERS_XML.replace("<profile>readonly</profile>", "<profile>default</profile>")
OPTIONS_RESPONSE = """
    <header><name>Access-Control-Allow-Origin</name><value>http://example.com</value></header>
    <header><name>Access-Control-Max-Age</name><value>86400</value></header>
    <header><value>nothing</value></header>
"""


def origins(response):
    return response.headers.get_all("Access-Control-Allow-Origin")


def test_options_without_a_configuration(server):
    response = server.http(method="OPTIONS", headers=PAGE)
    assert (response.status, response.body) == (204, b"")
    assert origins(response) == ["*"]
    assert "POST" in response.headers["Access-Control-Allow-Methods"]


def test_add_http_cors_header(start_server):
    server = start_server(users_xml=FREE_READER)
    assert origins(server.http("SELECT 1", headers=PAGE, **WHO)) is None
    response = server.http("SELECT 1", headers=PAGE, add_http_cors_header=1, **WHO)
    assert (response.body, origins(response)) == (b"1\n", ["*"])
    assert origins(server.http("SELECT nothing", headers=PAGE, add_http_cors_header=1, **WHO)) == ["*"]
    assert origins(server.http("SELECT number FROM numbers(3000000)", headers=PAGE, add_http_cors_header=1, **WHO)) == ["*"]
    # Who is not let in has no settings, and without an origin there is nobody to tell.
    assert origins(server.http("SELECT 1", headers=PAGE, add_http_cors_header=1, user="nobody")) is None
    assert origins(server.http("SELECT 1", add_http_cors_header=1)) is None
    assert origins(server.http(path="/ping", method="GET", headers=PAGE)) is None


def test_add_http_cors_header_of_a_profile(start_server):
    profile = "<default><add_http_cors_header>1</add_http_cors_header></default>"
    server = start_server(users_xml=USERS_XML.replace("<default/>", profile))
    assert origins(server.http("SELECT 1", headers=PAGE)) == ["*"]
    assert origins(server.http("SELECT 1", headers=PAGE, add_http_cors_header=0)) is None


def test_http_options_response(start_server):
    server = start_server(settings={"http_options_response": OPTIONS_RESPONSE})
    server.until_logged("a header without a name")
    with server.http_peer() as peer:
        peer.send(b"OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: http://example.com\r\nAccess-Control-Request-Method: POST\r\n\r\n")
        head = peer.receive_all().lower().split(b"\r\n")
        assert head[0] == b"http/1.1 204 no content"
        assert b"access-control-allow-origin: http://example.com" in head and b"access-control-max-age: 86400" in head
        assert b"connection: close" in head
    for sql in ("SELECT 1", "SELECT nothing", "SELECT"):
        # The setting adds nothing to a configuration.
        response = server.http(sql, headers=PAGE, add_http_cors_header=1)
        assert origins(response) == ["http://example.com"]
        assert response.headers["Access-Control-Max-Age"] == "86400"
    assert origins(server.http("SELECT 1", headers=PAGE, user="nobody")) == ["http://example.com"]
    assert origins(server.http("SELECT 1")) is None


def test_a_header_that_is_none_is_an_error(start_server):
    broken = "<header><name>A b</name><value>c</value></header>"
    server = start_server(settings={"http_options_response": broken}, wait=False)
    server.spawn()
    assert server.process.wait(30) != 0
    assert "'A b: c' cannot be a header" in server.log
