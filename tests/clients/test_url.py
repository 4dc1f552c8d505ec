"""The table function `url` with a web server at the other end: what is asked, what is sent, and who may."""

import gzip
import http.server
import io
import threading

import pyarrow
import pyarrow.parquet
import pytest

DENIED, UNACCEPTABLE, REMOTE, REDIRECTS, BAD = 497, 491, 86, 483, 36


class WebServer(http.server.ThreadingHTTPServer):
    """Has files by path, keeps what is sent to it, and notes what it was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.taken, self.asked = {}, {}, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.server.asked.append((self.command, self.path, {name.title(): value for name, value in self.headers.items()}))
        path = self.path.split("?")[0]
        if path == "/moved":
            return self.answer(302, Location="/a.csv")
        body = self.server.files.get(path)
        if body is None:
            return self.answer(404, b"nothing here")
        if span := self.headers.get("Range"):
            first, last = map(int, span.removeprefix("bytes=").split("-"))
            return self.answer(206, body[first : last + 1])
        self.answer(200, body, Accept_Ranges="bytes")

    do_HEAD = do_GET

    def do_POST(self):
        self.server.asked.append((self.command, self.path, {name.title(): value for name, value in self.headers.items()}))
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/full":
            return self.answer(507, b"no room")
        self.server.taken[self.path] = body
        self.answer(200)


@pytest.fixture
def web():
    server = WebServer()
    yield server
    server.shutdown()


@pytest.fixture
def squall(start_server, web):
    return start_server(settings={"remote_url_allow_hosts": f"<host>127.0.0.1:{web.server_port}</host>"})


def test_files_are_read_by_their_format(squall, web):
    web.files["/a.csv"] = b"x,y\n1,one\n2,two\n"
    web.files["/a.tsv.gz"] = gzip.compress(b"5\tfive\n")
    assert squall.query(f"SELECT * FROM url('{web.url('/a.csv')}') ORDER BY x") == "1\tone\n2\ttwo\n"
    assert squall.query(f"SELECT c1 + 1, c2, _path, _file FROM url('{web.url('/a.tsv.gz')}')") == "6\tfive\t/a.tsv.gz\ta.tsv.gz\n"
    of_structure = f"url('{web.url('/a.csv?v=1')}', CSVWithNames, 'x UInt8, y String', headers('X-Key' = 'secret', 'Accept' = '*/*'))"
    assert squall.query(f"SELECT sum(x) FROM {of_structure}") == "3\n"
    method, path, headers = web.asked[-1]
    assert (method, path, headers["X-Key"], headers["Accept"]) == ("GET", "/a.csv?v=1", "secret", "*/*")
    assert headers["Host"] == f"127.0.0.1:{web.server_port}" and headers["User-Agent"].startswith("Squall/")


def test_parquet_is_read_by_place(squall, web):
    table = pyarrow.table({"n": list(range(100_000)), "s": ["x" * 100] * 100_000})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, row_group_size=10_000, compression=None, use_dictionary=False)
    web.files["/big.parquet"] = file.getvalue()
    assert squall.query(f"SELECT sum(n), count() FROM url('{web.url('/big.parquet')}')") == "4999950000\t100000\n"
    asked = [headers["Range"] for _, _, headers in web.asked if "Range" in headers]
    spans = [tuple(map(int, span.removeprefix("bytes=").split("-"))) for span in asked]
    assert asked and sum(last - first for first, last in spans) < len(web.files["/big.parquet"]) / 2


def test_patterns_and_what_is_missing(squall, web):
    for number in (1, 3):
        web.files[f"/{number}.tsv"] = f"{number}\n".encode()
    many = f"url('{web.url('/{1..4}.tsv')}', TSV, 'n UInt8')"
    assert squall.query(f"SELECT groupArray(n) FROM (SELECT n FROM {many} ORDER BY n)") == "[1,3]\n"
    assert squall.error_code(f"SELECT * FROM {many}", http_skip_not_found_url_for_globs=0) == REMOTE
    assert squall.error_code(f"SELECT * FROM url('{web.url('/none.tsv')}', TSV, 'n UInt8')") == REMOTE
    moved = f"SELECT count() FROM url('{web.url('/moved')}', CSVWithNames, 'x UInt8, y String')"
    web.files["/a.csv"] = b"x,y\n1,one\n"
    assert squall.error_code(moved) == REDIRECTS
    assert squall.query(moved, max_http_get_redirects=1) == "1\n"


def test_rows_are_sent(squall, web):
    squall.query(f"INSERT INTO FUNCTION url('{web.url('/in.csv.gz')}', CSV, 'n UInt64, s String') SELECT number, 'x' FROM numbers(3)")
    assert gzip.decompress(web.taken["/in.csv.gz"]) == b'0,"x"\n1,"x"\n2,"x"\n'
    insert = f"INSERT INTO FUNCTION url('{web.url('/in.json')}', JSONEachRow, 'a UInt8', headers('X-Key' = 'k')) FORMAT TSV\n5\n6\n"
    squall.query(insert)
    assert web.taken["/in.json"] == b'{"a":5}\n{"a":6}\n'
    assert web.asked[-1][2]["X-Key"] == "k"
    many = "SELECT number, repeat('y', 100) FROM numbers(100000)"
    squall.query(f"INSERT INTO FUNCTION url('{web.url('/large')}', TSV, 'n UInt64, s String') {many}")
    assert web.taken["/large"].count(b"\n") == 100_000
    assert squall.error_code(f"INSERT INTO FUNCTION url('{web.url('/full')}', TSV, 'n UInt64') SELECT 1") == REMOTE
    failing = "SELECT throwIf(number = 90000) + number, repeat('y', 100) FROM numbers(100000)"
    assert squall.error_code(f"INSERT INTO FUNCTION url('{web.url('/broken')}', TSV, 'n UInt64, s String') {failing}") == 395
    assert "/broken" not in web.taken, "a server is not told that it has everything"


def test_who_may(squall, web):
    for address in ("http://127.0.0.1:1/x", "http://localhost/x", "http://169.254.169.254/latest"):
        assert squall.error_code(f"SELECT * FROM url('{address}', TSV, 'n UInt8')") == UNACCEPTABLE
    assert squall.error_code("SELECT * FROM url('ftp://x/y', TSV, 'n UInt8')") == BAD
    squall.query("CREATE USER nobody")
    assert squall.error_code(f"SELECT * FROM url('{web.url('/a')}', TSV, 'n UInt8')", user="nobody") == DENIED
    assert squall.error_code(f"INSERT INTO FUNCTION url('{web.url('/a')}', TSV, 'n UInt8') VALUES (1)", user="nobody") == DENIED
    squall.query("GRANT READ ON URL TO nobody")
    web.files["/a"] = b"7\n"
    assert squall.query(f"SELECT * FROM url('{web.url('/a')}', TSV, 'n UInt8')", user="nobody") == "7\n"
