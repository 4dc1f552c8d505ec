"""`http_handlers` of the configuration: rules that say which request is answered how."""

import pytest
from server import wait_until

RULES = r"""
    <rule>
        <url>/predefined_query</url>
        <methods>POST,GET</methods>
        <handler>
            <type>predefined_query_handler</type>
            <query>SELECT number, {shift:UInt8} FROM numbers({count:UInt64}) FORMAT CSV</query>
            <content_type>text/x-numbers</content_type>
            <http_response_headers><X-Rule>one</X-Rule></http_response_headers>
        </handler>
    </rule>
    <rule>
        <url><![CDATA[regex:/query_param_with_url/(?P<name_1>[^/]+)(/(?P<name_2>[^/]+))?]]></url>
        <methods>GET</methods>
        <headers>
            <XXX>TEST_HEADER_VALUE</XXX>
            <PARAMS_XXX><![CDATA[regex:(?P<name_3>[a-z]+)-(?P<name_4>[0-9]+)]]></PARAMS_XXX>
        </headers>
        <handler>
            <type>predefined_query_handler</type>
            <query>SELECT {name_1:String}, {name_2:Nullable(String)}, {name_3:String}, {name_4:UInt8}, getSetting('max_threads')</query>
        </handler>
    </rule>
    <rule>
        <url>/own</url>
        <headers><XXX>TEST_HEADER_VALUE_DYNAMIC</XXX></headers>
        <handler><type>dynamic_query_handler</type><query_param_name>query_param</query_param_name></handler>
    </rule>
    <rule>
        <url>/insert</url>
        <methods>POST</methods>
        <handler><type>predefined_query_handler</type><query>INSERT INTO t FORMAT CSV</query></handler>
    </rule>
    <rule>
        <url>/insert_body</url>
        <methods>POST</methods>
        <handler><type>predefined_query_handler</type><query>INSERT INTO t SELECT {_request_body:UInt64} * {by:UInt64}</query></handler>
    </rule>
    <rule>
        <url>/secret</url>
        <handler><type>predefined_query_handler</type><query>SELECT 'nothing else'</query></handler>
    </rule>
    <rule>
        <url>/external</url>
        <handler><type>predefined_query_handler</type><query>SELECT sum(n) FROM data</query></handler>
    </rule>
    <rule>
        <url>/teapot</url>
        <methods>GET,HEAD</methods>
        <handler>
            <type>static</type>
            <status>418</status>
            <content_type>text/html; charset=UTF-8</content_type>
            <http_response_headers><Content-Language>en</Content-Language><X-My-Custom-Header>43</X-My-Custom-Header></http_response_headers>
            <response_content><![CDATA[<b>Short & stout</b>]]></response_content>
        </handler>
    </rule>
    <rule>
        <url>/from_config</url>
        <handler><type>static</type><response_content>config://display_name</response_content></handler>
    </rule>
    <rule>
        <url>/from_file</url>
        <handler><type>static</type><response_content>file:///page.html</response_content></handler>
    </rule>
    <rule>
        <url>/outside</url>
        <handler><type>static</type><response_content>file:///../../config.xml</response_content></handler>
    </rule>
    <rule>
        <url>/missing</url>
        <handler><type>static</type><response_content>file:///none.html</response_content></handler>
    </rule>
    <rule>
        <url>/moved</url>
        <handler><type>redirect</type><location>/teapot</location></handler>
    </rule>
    <rule>
        <url>prefix:/alive</url>
        <handler><type>ping</type></handler>
    </rule>
    <rule>
        <url>/merges</url>
        <handler><type>merges</type></handler>
    </rule>
    <common_http_response_headers><X-Common>all</X-Common></common_http_response_headers>
"""


@pytest.fixture(name="ruled", scope="module")
def fixture_ruled(tmp_path_factory):
    from server import Server

    files = {"data/user_files/page.html": "<i>A page</i>\n"}
    settings = {"http_handlers": RULES + "<defaults/>", "display_name": "Ruled"}
    server = Server(tmp_path_factory.mktemp("ruled"), settings=settings, files=files).start()
    server.query("CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n")
    yield server
    assert server.stop() == 0
    assert "panicked" not in server.log


def test_predefined_query(ruled):
    for method in ("GET", "POST"):
        response = ruled.http(path="/predefined_query", method=method, count=2, shift=7)
        assert (response.status, response.text) == (200, "0,7\n1,7\n")
        assert response.headers.get_all("Content-Type") == ["text/x-numbers"]
        assert response.headers["X-Rule"] == "one" and response.headers["X-Common"] == "all"
    assert ruled.http(path="/predefined_query", method="GET", param_count=1, param_shift=1, max_threads=1).text == "0,1\n"
    # A setting that is none, and a method that the rule does not have.
    assert ruled.http(path="/predefined_query", method="GET", count=1, shift=1, nonsense=1).status == 404
    assert "UNKNOWN_SETTING" in ruled.http("SELECT 2", path="/predefined_query", method="GET", count=1, shift=1).text
    assert ruled.http(path="/predefined_query", method="PUT", count=1, shift=1).status == 404
    missing = ruled.http(path="/predefined_query", method="GET", count=1)
    assert missing.status != 200 and missing.headers["Content-Type"].startswith("text/plain") and missing.headers["X-Rule"] == "one"
    assert ruled.http(path="/predefined_query", method="GET", count=1, shift=1, user="nobody").status == 403
    many = ruled.http(path="/predefined_query", method="GET", count=300_000, shift=1)
    assert many.body.count(b"\n") == 300_000 and many.headers["Content-Type"] == "text/x-numbers"


def test_parameters_from_url_and_headers(ruled):
    headers = {"XXX": "TEST_HEADER_VALUE", "PARAMS_XXX": "abc-12"}
    ask = lambda path, headers: ruled.http(path=path, method="GET", headers=headers, max_threads=3)
    assert ask("/query_param_with_url/one/two", headers).text == "one\ttwo\tabc\t12\t3\n"
    assert "UNKNOWN_QUERY_PARAMETER" in ask("/query_param_with_url/one", headers).text
    for path, wrong in [
        ("/query_param_with_url/one/two/three", headers),
        ("/x/query_param_with_url/one", headers),
        ("/query_param_with_url/one", {**headers, "XXX": "other"}),
        ("/query_param_with_url/one", {"XXX": "TEST_HEADER_VALUE"}),
        ("/query_param_with_url/one", {**headers, "PARAMS_XXX": "abc-12-"}),
    ]:
        assert ask(path, wrong).status == 404
        assert "There is no handle" in ask(path, wrong).text


def test_dynamic_query(ruled):
    headers = {"XXX": "TEST_HEADER_VALUE_DYNAMIC"}
    ask = lambda **options: ruled.http(path="/own", headers=headers, **options)
    assert ask(method="GET", query_param="SELECT {x:UInt8}", param_x=4).text == "4\n"
    assert ask(body="SELECT 5", default_format="JSONCompactEachRow").text == "[5]\n"
    assert ask(body="+ 5", query_param="SELECT 5").text == "10\n"
    assert "UNKNOWN_SETTING" in ask(method="GET", query="SELECT 1", query_param="SELECT 1").text


def test_insert(ruled):
    assert ruled.http(path="/insert", body="1\n2\n").status == 200
    assert ruled.http(path="/insert", body=b"%d\n" * 50_000 % tuple(range(50_000))).status == 200
    assert ruled.value("SELECT count() FROM t") == "50002"
    assert ruled.http(path="/insert_body", body="70000", by=10).text == ""
    assert ruled.value("SELECT max(n) FROM t") == "700000"
    assert ruled.http(path="/insert_body", body="x" * 2000, by=10, http_max_request_param_data_size=1000).status != 200
    session = {"session_id": "rules"}
    assert ruled.http(path="/insert_body", body="1", by=2, **session).text == ""
    # The session keeps no parameter of the rule's.
    assert "UNKNOWN_QUERY_PARAMETER" in ruled.http("SELECT {by:UInt64}", **session).text


def test_a_predefined_query_cannot_be_added_to(ruled):
    for body in (b" UNION ALL SELECT 'secret'", b", 'secret'", b"x" * 100_000):
        response = ruled.http(path="/secret", body=body)
        assert response.text == "nothing else\n"


def test_a_form_cannot_add_to_a_predefined_query(ruled):
    part = '--b\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    body = part.format("query", " UNION ALL SELECT 'secret'") + part.format("param_count", "9") + "--b--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    assert ruled.http(path="/secret", body=body, headers=headers).text == "nothing else\n"
    assert ruled.http(path="/predefined_query", body=body, headers=headers, count=1, shift=3).text == "0,3\n"


def test_external_data_of_a_predefined_query(ruled):
    body = b'--b\r\nContent-Disposition: form-data; name="data"; filename="d"\r\n\r\n1\n2\n\r\n--b--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    assert ruled.http(path="/external", body=body, headers=headers, data_structure="n UInt8").text == "3\n"


def test_pages(ruled):
    response = ruled.http(path="/teapot", method="GET")
    assert (response.status, response.text) == (418, "<b>Short & stout</b>")
    assert response.headers.get_all("Content-Type") == ["text/html; charset=UTF-8"]
    assert response.headers["Content-Language"] == "en" and response.headers["X-My-Custom-Header"] == "43"
    assert ruled.http(path="/teapot", method="HEAD").status == 418
    assert ruled.http(path="/teapot", method="POST", body="").status == 404
    assert ruled.http(path="/from_config", method="GET").text == "Ruled"
    assert ruled.http(path="/from_file", method="GET").text == "<i>A page</i>\n"
    for path in ("/outside", "/missing"):
        response = ruled.http(path=path, method="GET")
        assert response.status >= 400 and "INCORRECT_FILE_NAME" in response.text and "clickhouse>" not in response.text
    moved = ruled.http(path="/moved", method="GET")
    assert (moved.status, moved.headers["Location"]) == (302, "/teapot")
    assert ruled.http(path="/alive/and/well", method="GET").text == "Ok.\n"
    ruled.until_logged("this server has no such page")
    assert ruled.http(path="/merges", method="GET").status == 404


def test_defaults_stay(ruled):
    assert ruled.http(path="/dashboard", method="GET").status == 200
    assert ruled.http(path="/ping", method="GET").body == b"Ok.\n"
    assert ruled.value("SELECT 1") == "1"
    assert ruled.http(path="/", method="GET").body == b"Ok.\n"
    with ruled.http_peer() as peer:
        ask = lambda path: f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        peer.send(ask("/ping") + ask("/teapot") + ask("/?query=SELECT+1") + ask("/from_file") + ask("/ping"))
        assert [peer.response()[1] for _ in range(5)] == [b"Ok.\n", b"<b>Short & stout</b>", b"1\n", b"<i>A page</i>\n", b"Ok.\n"]


def test_without_defaults(start_server):
    """Only the rules: not even `/ping`, unless they say so."""
    page = "<handler><type>static</type><response_content>pong</response_content></handler>"
    server = start_server(settings={"http_handlers": f"<rule><url>/ping</url>{page}</rule>"}, wait=False)
    server.spawn()

    def answers():
        try:
            return server.http(path="/ping", method="GET").body == b"pong"
        except OSError:
            return False

    wait_until(answers, "the server answers")
    assert server.http("SELECT 1").status == 404
    assert server.http(path="/", method="GET").status == 404


@pytest.mark.parametrize(
    "rules, message",
    [
        ("<wrong/>", "must be 'rule' or 'defaults'"),
        ("<rule><url>/a</url></rule>", "Handler type in config is not specified"),
        ("<rule><handler><type>nothing</type></handler></rule>", "Unknown handler type 'nothing'"),
        ("<rule><url>regex:(</url><handler><type>static</type></handler></rule>", "Cannot compile re2"),
        ("<rule><handler><type>predefined_query_handler</type><query>SELEC 1</query></handler></rule>", "Syntax error"),
    ],
)
def test_wrong_rules_are_errors(start_server, rules, message):
    server = start_server(settings={"http_handlers": rules}, wait=False)
    server.spawn()
    assert server.process.wait(30) != 0
    assert message in server.log and "config.xml:" in server.log
