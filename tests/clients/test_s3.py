"""Objects of S3 as tables: the functions `s3`, `gcs`, `oss` and `cosn` and the engine S3. The other end is moto's server, which knows the
protocol but looks at no signature; before it stands a gate that does, and that behaves as badly as a test wants."""

import datetime
import gzip
import hashlib
import hmac
import http.client
import http.server
import io
import threading
import time
import urllib.parse

import boto3
import pyarrow
import pyarrow.parquet
import pytest
from moto.server import ThreadedMotoServer
from server import USERS_XML, wait_until

BAD, COUNT, MISSING_FILE, READ_ONLY, KILLED, UNACCEPTABLE, DENIED, S3_ERROR, STRUCTURE = 36, 42, 107, 291, 394, 491, 497, 499, 636
NO_COLLECTION, CHANGED = 669, 1009
KEY, SECRET = "the_key_id", "the/secret+key"
BUCKET = "bkt"


def signature(method, path, query, headers, secret):
    """What AWS says that the signature of a presigned request is."""
    parts = dict(query)
    scope = parts["X-Amz-Credential"].split("/", 1)[1]
    names = parts["X-Amz-SignedHeaders"].split(";")
    quote = lambda text: urllib.parse.quote(text, safe="-_.~")
    canonical_query = "&".join(sorted(f"{quote(name)}={quote(value)}" for name, value in query if name != "X-Amz-Signature"))
    lines = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names)
    request = f"{method}\n{path}\n{canonical_query}\n{lines}\n{';'.join(names)}\nUNSIGNED-PAYLOAD"
    to_sign = f"AWS4-HMAC-SHA256\n{parts['X-Amz-Date']}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = b"AWS4" + secret.encode()
    for word in scope.split("/"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


class Gate(http.server.ThreadingHTTPServer):
    """Lets only signed requests through, notes them, and carries out `faults`: each is a condition and what is done instead."""

    daemon_threads = True

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), GateHandler)
        self.behind, self.asked, self.faults, self.region = behind, [], [], None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, key, bucket=BUCKET):
        return f"http://127.0.0.1:{self.server_port}/{bucket}/{key}"

    def methods(self):
        return [method for method, *_ in self.asked]


class GateHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def refuse(self, status, code, message, **headers):
        body = f"<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def check(self, path, query, headers):
        parts = dict(query)
        if "X-Amz-Signature" not in parts:
            return path.startswith("/public/") or self.refuse(403, "AccessDenied", "Access Denied")
        key, day, region, *_ = parts["X-Amz-Credential"].split("/")
        if key != KEY:
            return self.refuse(403, "InvalidAccessKeyId", "The key id is not in our records.")
        unsigned = [name for name in headers if name.startswith("x-amz-") and name not in parts["X-Amz-SignedHeaders"].split(";")]
        if unsigned or signature(self.command, path, query, headers, SECRET) != parts["X-Amz-Signature"]:
            return self.refuse(403, "SignatureDoesNotMatch", f"The signature does not match. {unsigned}")
        if self.server.region and region != self.server.region:
            return self.refuse(400, "AuthorizationHeaderMalformed", "another region", x_amz_bucket_region=self.server.region)
        return True

    def do_GET(self):
        path, _, text = self.path.partition("?")
        query = urllib.parse.parse_qsl(text, keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.command, path, dict(query), headers))
        body = self.rfile.read(int(headers.get("content-length", 0)))
        if not self.check(path, query, headers):
            return
        for fault in self.server.faults:
            condition, carry_out = fault
            if condition(self.command, path, dict(query)):
                answer = self.ask(headers, body)
                if carry_out(self, answer):
                    return
        self.give(*self.ask(headers, body))

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET

    def ask(self, headers, body):
        connection = http.client.HTTPConnection(*self.server.behind)
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()

    def give(self, status, headers, body, cut=None):
        """Gives the answer, or breaks off within it."""
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:cut])
        if cut is not None:
            self.close_connection = True
            self.wfile.flush()
            self.connection.close()


@pytest.fixture(scope="module")
def moto():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield server.get_host_and_port()
    server.stop()


@pytest.fixture
def store(moto):
    """The buckets, as another client sees them; empty."""
    connection = http.client.HTTPConnection(*moto)
    connection.request("POST", "/moto-api/reset")
    connection.getresponse().read()
    host, port = moto
    client = boto3.client(
        "s3", endpoint_url=f"http://{host}:{port}", aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1"
    )
    for bucket in (BUCKET, "public"):
        client.create_bucket(Bucket=bucket)
    return client


@pytest.fixture
def gate(moto, store):
    server = Gate(moto)
    yield server
    server.shutdown()


USERS = USERS_XML.replace(
    "<access_management>1", "<named_collection_control>1</named_collection_control><access_management>1", 1
)


@pytest.fixture
def squall(start_server, gate):
    allowed = f"<host>127.0.0.1:{gate.server_port}</host><host>127.0.0.1:1</host>"
    return start_server(settings={"remote_url_allow_hosts": allowed}, users_xml=USERS)


@pytest.fixture
def s3(gate):
    """A call of the function `s3`."""

    def call(key, *arguments, function="s3", secret=SECRET):
        return f"{function}({', '.join([repr(gate.url(key)), repr(KEY), repr(secret), *map(repr, arguments)])})"

    return call


def put(store, **objects):
    for key, body in objects.items():
        store.put_object(Bucket=BUCKET, Key=key, Body=body)


def contents(store, key, bucket=BUCKET):
    return store.get_object(Bucket=bucket, Key=key)["Body"].read()


def keys(store):
    return [found["Key"] for found in store.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def test_objects_are_read_by_their_format(squall, store, s3):
    put(store, **{"a.csv": b"x,y\n1,one\n2,two\n", "d/a b+c.tsv.gz": gzip.compress(b"5\tfive\n"), "plain": b'{"n":7}\n', "empty.tsv": b""})
    assert squall.query(f"SELECT * FROM {s3('a.csv')} ORDER BY x") == "1\tone\n2\ttwo\n"
    assert squall.query(f"DESCRIBE {s3('a.csv')}").splitlines()[0].startswith("x\tNullable(Int64)")
    for function in ("gcs", "oss", "cosn"):
        assert squall.query(f"SELECT count() FROM {s3('a.csv', function=function)}") == "2\n"
    found = squall.rows(f"SELECT c1 + 1, _path, _file, _size, _time > now() - 3600, _etag FROM {s3('d/a%20b%2Bc.tsv.gz')}")
    head = store.head_object(Bucket=BUCKET, Key="d/a b+c.tsv.gz")
    assert found == [["6", "bkt/d/a b+c.tsv.gz", "a b+c.tsv.gz", str(head["ContentLength"]), "1", head["ETag"]]]
    assert squall.query(f"SELECT toTypeName(_etag), toTypeName(_size), toTypeName(_time) FROM {s3('plain', 'auto', 'n Int8')}") == (
        "LowCardinality(String)\tNullable(UInt64)\tNullable(DateTime)\n"
    )
    assert squall.query(f"SELECT * FROM {s3('plain')}") == "7\n"
    assert squall.query(f"SELECT count() FROM {s3('empty.tsv', 'TSV', 'n Int8')}") == "0\n"
    assert squall.error_code(f"SELECT * FROM {s3('empty.tsv')}") == STRUCTURE
    put(store, **{"empty.parquet": b""})
    empty = f"SELECT count(n), count() FROM {s3('empty.parquet', 'Parquet', 'n Int8')}"
    assert squall.query(empty) == "0\t0\n"
    assert squall.query(f"SELECT x FROM {s3('a.csv', 'a_token', 'CSVWithNames', 'x Int8, y String', 'none')} WHERE y = 'two'") == "2\n"


def test_patterns_are_listed(squall, store, s3, gate):
    put(store, **{f"d/{number}.tsv": f"{number}\n".encode() for number in range(1, 26)})
    put(store, **{"d/e/30.tsv": b"30\n", "0.tsv": b"0\n", "other.csv": b"x\n1\n"})

    def numbers(pattern, **settings):
        call = s3(pattern, "TSV", "n UInt8")
        return squall.query(f"SELECT groupArray(n) FROM (SELECT n FROM {call} ORDER BY n)", **settings).strip()

    assert numbers("d/*.tsv", s3_list_object_keys_size=10) == str(list(range(1, 26))).replace(" ", "")
    assert [query.get("max-keys") for method, _, query, _ in gate.asked if query.get("list-type")] == ["10"] * 3
    assert numbers("**/*.tsv").startswith("[0,1,2") and numbers("**/*.tsv").endswith("25,30]")
    assert numbers("d/**/30.tsv") == "[30]"
    assert numbers("d/{1..3}.tsv") == "[1,2,3]" and numbers("d/{24..40}.tsv") == "[24,25]"
    assert numbers("d/{1,20}.tsv") == "[1,20]" and numbers("d/{1,2?}.tsv") == "[1,20,21,22,23,24,25]"
    assert numbers("none/*") == "[]"
    assert squall.error_code(f"SELECT * FROM {s3('none/*', 'TSV', 'n Int8')}", s3_throw_on_zero_files_match=1) == MISSING_FILE
    assert squall.error_code(f"SELECT * FROM {s3('none/*.tsv')}") == STRUCTURE
    assert squall.error_code(f"SELECT * FROM {s3('{0..99999999}.tsv', 'TSV', 'n Int8')}") == BAD
    missing = s3("d/{1,77}.tsv", "TSV", "n UInt8")
    assert squall.error_code(f"SELECT * FROM {missing}") == S3_ERROR
    assert squall.query(f"SELECT * FROM {missing}", s3_ignore_file_doesnt_exist=1) == "1\n"


def test_parquet_is_read_by_place(squall, store, s3, gate):
    table = pyarrow.table({"n": list(range(100_000)), "s": ["x" * 100] * 100_000})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, row_group_size=10_000, compression=None, use_dictionary=False)
    put(store, **{"big.parquet": file.getvalue()})
    assert squall.query(f"SELECT sum(n), count() FROM {s3('big.parquet')}") == "4999950000\t100000\n"
    spans = [headers["range"].removeprefix("bytes=").split("-") for *_, headers in gate.asked if "range" in headers]
    assert spans and sum(int(last) - int(first) for first, last in spans) < len(file.getvalue()) / 2
    assert all("if-match" in headers for *_, headers in gate.asked if "range" in headers)


def test_an_insert_writes_an_object_for_each_partition(squall, store, s3):
    place = s3("p/{_partition_id}.csv", "CSV", "n UInt64, s String")
    rows = "SELECT number AS n, ['a b', 'c/d', 'e%41+'][number % 3 + 1] AS s FROM numbers(200000)"
    squall.query(f"INSERT INTO FUNCTION {place} PARTITION BY s {rows}")
    assert keys(store) == ["p/a b.csv", "p/c/d.csv", "p/e%41+.csv"]
    assert contents(store, "p/c/d.csv").splitlines()[:2] == [b'1,"c/d"', b'4,"c/d"']
    assert sum(contents(store, key).count(b"\n") for key in keys(store)) == 200_000
    assert squall.error_code(f"INSERT INTO FUNCTION {place} PARTITION BY s {rows}") == BAD
    assert squall.error_code(f"INSERT INTO FUNCTION {s3('q.csv', 'CSV')} PARTITION BY s {rows}") == BAD
    assert squall.error_code(f"INSERT INTO FUNCTION {place} SELECT 1, 'a'") == READ_ONLY


def test_functions_over_a_cluster_read_all_here(squall, store, s3):
    put(store, **{"a.csv": b"x,y\n1,one\n2,two\n", "b.csv": b"x,y\n3,three\n"})
    call = s3("*.csv").replace("s3(", "s3Cluster('default', ", 1)
    assert squall.query(f"SELECT sum(x), count() FROM {call}") == "6\t3\n"
    assert squall.error_code(f"SELECT * FROM {call.replace('default', 'nowhere')}") == 701
    squall.query("SYSTEM FLUSH LOGS")
    logged = squall.query("SELECT query FROM system.query_log WHERE query LIKE '%s3Cluster%'")
    assert "default" in logged and SECRET not in logged


def test_objects_are_written(squall, store, s3):
    squall.query(f"INSERT INTO FUNCTION {s3('w.csv.gz', 'CSV')} SELECT number, 'x' FROM numbers(3)")
    assert gzip.decompress(contents(store, "w.csv.gz")) == b'0,"x"\n1,"x"\n2,"x"\n'
    squall.query(f"INSERT INTO FUNCTION {s3('d/w.csv', 'auto', 'a UInt8')} FORMAT TSV\n5\n6\n")
    assert contents(store, "d/w.csv") == b"5\n6\n"
    again = f"INSERT INTO FUNCTION {s3('d/w.csv')} SELECT 7 AS a"
    assert squall.error_code(again) == BAD
    assert contents(store, "d/w.csv") == b"5\n6\n"
    for _ in range(2):
        squall.query(again, s3_create_new_file_on_insert=1)
    assert keys(store) == ["d/w.1.csv", "d/w.2.csv", "d/w.csv", "w.csv.gz"]
    squall.query(again, s3_truncate_on_insert=1)
    assert contents(store, "d/w.csv") == contents(store, "d/w.2.csv") == b"7\n"
    assert squall.error_code(f"INSERT INTO FUNCTION {s3('d/*.csv')} SELECT 1") == READ_ONLY
    failing = "SELECT throwIf(number = 90000) + number AS n FROM numbers(100000)"
    assert squall.error_code(f"INSERT INTO FUNCTION {s3('broken.tsv')} {failing}") == 395
    assert "broken.tsv" not in keys(store)
    squall.query(f"INSERT INTO FUNCTION {s3('all.parquet')} SELECT number AS n, toString(number) AS s FROM numbers(1000)")
    assert squall.query(f"SELECT sum(n), uniq(s) FROM {s3('all.parquet')}") == "499500\t1000\n"


def test_large_objects_are_sent_in_parts(squall, store, s3, gate):
    rows = "SELECT number, repeat('y', 100) AS s FROM numbers(1000000)"
    squall.query(f"INSERT INTO FUNCTION {s3('large.tsv')} {rows}")
    head = store.head_object(Bucket=BUCKET, Key="large.tsv")
    assert head["ContentLength"] > 100_000_000 and head["ETag"].endswith('-7"'), head["ETag"]
    assert squall.query(f"SELECT count(), sum(c1) FROM {s3('large.tsv')}") == "1000000\t499999500000\n"
    settings = {"s3_min_upload_part_size": 5 << 20, "s3_max_single_part_upload_size": 0}
    failing = "SELECT throwIf(number = 900000) + number AS n, repeat('y', 100) AS s FROM numbers(1000000)"
    assert squall.error_code(f"INSERT INTO FUNCTION {s3('broken.tsv')} {failing}", **settings) == 395
    # What was begun is taken back.
    wait_until(lambda: not store.list_multipart_uploads(Bucket=BUCKET).get("Uploads"), "nothing is left of it")
    assert "DELETE" in gate.methods() and keys(store) == ["large.tsv"]
    refused = (lambda method, _, query: method == "PUT" and query.get("partNumber") == "2", lambda handler, _: handler.refuse(403, "AccessDenied", "No") or True)
    gate.faults.append(refused)
    assert squall.error_code(f"INSERT INTO FUNCTION {s3('refused.tsv')} {rows}", **settings) == S3_ERROR
    wait_until(lambda: not store.list_multipart_uploads(Bucket=BUCKET).get("Uploads"), "nothing is left of it")
    assert keys(store) == ["large.tsv"]


def test_what_is_refused_is_told(squall, store, s3, gate):
    put(store, **{"a.tsv": b"1\n"})
    for call in (
        s3("a.tsv", "TSV", "n UInt8", secret="wrong"),
        s3("a.tsv", secret="wrong"),
        s3("*.tsv", "TSV", "n UInt8", secret="wrong"),
        f"s3('{gate.url('a.tsv')}', 'nobody', 'x', 'TSV', 'n UInt8')",
        f"s3('{gate.url('a.tsv')}', NOSIGN, 'TSV', 'n UInt8')",
        s3("none.tsv", "TSV", "n UInt8"),
        f"s3('{gate.url('*.tsv', 'nobucket')}', '{KEY}', '{SECRET}', 'TSV', 'n UInt8')",
        f"s3('http://127.0.0.1:1/bkt/a.tsv', '{KEY}', '{SECRET}', 'TSV', 'n UInt8')",
    ):
        with pytest.raises(Exception) as error:
            squall.query(f"SELECT * FROM {call}")
        assert error.value.code == S3_ERROR, str(error.value)
        assert SECRET not in str(error.value) and "X-Amz" not in str(error.value), str(error.value)
        if "wrong" in call or "nobody" in call:
            assert "403" in str(error.value) and "check your AWS credentials" in str(error.value)
    assert squall.error_code(f"INSERT INTO FUNCTION {s3('b.tsv', secret='wrong')} SELECT 1") == S3_ERROR
    with pytest.raises(Exception, match="SignatureDoesNotMatch"):
        squall.query(f"SELECT * FROM {s3('*.tsv', 'TSV', 'n UInt8', secret='wrong')}")
    # Neither the server's environment nor nothing at all is taken for keys.
    assert squall.error_code(f"SELECT * FROM s3('{gate.url('a.tsv')}', 'TSV', 'n UInt8')") == DENIED
    store.put_object(Bucket="public", Key="p.tsv", Body=b"9\n", ACL="public-read")
    public = gate.url("p.tsv", "public")
    assert squall.query(f"SELECT * FROM s3('{public}', NOSIGN)") == "9\n"
    assert squall.query(f"SELECT * FROM s3('{public}', 'NOSIGN', 'TSV', 'n UInt8')") == "9\n"
    for bad in ("s3('a.tsv', NOSIGN)", "s3('ftp://x/bkt/a', NOSIGN)", "s3('http://u:p@x/bkt/a', NOSIGN)", f"s3('{public}', 1)"):
        assert squall.error_code(f"SELECT * FROM {bad}") == BAD, bad
    assert squall.error_code("SELECT * FROM s3()") == COUNT


def test_who_may(squall, store, s3, gate, start_server):
    put(store, **{"a.tsv": b"1\n"})
    for address in ("127.0.0.1:2", "localhost", "169.254.169.254", "10.0.0.1"):
        for key in ("a.tsv", "*.tsv"):
            assert squall.error_code(f"SELECT * FROM s3('http://{address}/bkt/{key}', NOSIGN, TSV, 'n UInt8')") == UNACCEPTABLE
        assert squall.error_code(f"INSERT INTO FUNCTION s3('http://{address}/bkt/a', NOSIGN, TSV, 'n UInt8') SELECT 1") == UNACCEPTABLE
    open_server = start_server()
    assert open_server.error_code(f"SELECT * FROM {s3('a.tsv', 'TSV', 'n UInt8')}") == UNACCEPTABLE
    # A server that sends elsewhere is not followed to where nobody may go.
    away = (lambda *_: True, lambda handler, _: handler.refuse(307, "TemporaryRedirect", "there", Location="http://127.0.0.1:2/bkt/a.tsv") or True)
    gate.faults.append(away)
    assert squall.error_code(f"SELECT * FROM {s3('a.tsv', 'TSV', 'n UInt8')}") == UNACCEPTABLE
    gate.faults.clear()
    squall.query("CREATE USER nobody")
    read = f"SELECT * FROM {s3('a.tsv', 'TSV', 'n UInt8')}"
    write = f"INSERT INTO FUNCTION {s3('b.tsv', 'TSV', 'n UInt8')} VALUES (1)"
    assert squall.error_code(read, user="nobody") == squall.error_code(write, user="nobody") == DENIED
    squall.query("GRANT READ ON S3 TO nobody")
    assert squall.query(read, user="nobody") == "1\n"
    assert squall.error_code(write, user="nobody") == DENIED
    squall.query("GRANT WRITE ON S3 TO nobody")
    squall.query(write, user="nobody")
    assert contents(store, "b.tsv") == b"1\n"


def test_secrets_are_hidden(squall, store, s3, gate):
    put(store, **{"a.tsv": b"1\n"})
    squall.query(f"CREATE TABLE t (n UInt8) ENGINE = S3('{gate.url('a.tsv')}', '{KEY}', '{SECRET}', TSV)")
    squall.query(f"CREATE TABLE f AS {s3('a.tsv', 'TSV', 'n UInt8')}")
    squall.query(f"SELECT * FROM {s3('a.tsv', 'the_token', 'TSV', 'n UInt8')}")
    with pytest.raises(Exception) as error:
        squall.query(f"SELECT nothing FROM {s3('a.tsv', 'TSV', 'n UInt8')}")
    assert SECRET not in str(error.value)
    engine = f"S3(\\'{gate.url('a.tsv')}\\', \\'{KEY}\\', \\'[HIDDEN]\\', \\'TSV\\')"
    assert engine in squall.query("SHOW CREATE TABLE t")
    assert "[HIDDEN]" in squall.query("SHOW CREATE TABLE f")
    assert squall.query("SELECT engine, engine_full FROM system.tables WHERE name = 't'") == f"S3\t{engine}\n"
    squall.query("SYSTEM FLUSH LOGS")
    logged = squall.query("SELECT query, formatted_query, exception FROM system.query_log", log_formatted_queries=1)
    shown = logged + squall.query("SELECT * FROM system.tables WHERE database = 'default' FORMAT JSON") + squall.log
    assert "[HIDDEN]" in logged and SECRET not in shown and "the_token" not in shown and "X-Amz-Signature" not in shown


def test_tables_of_the_engine(squall, store, gate):
    put(store, **{"d/1.csv": b"1,one\n", "d/2.csv": b"2,\n", "h.csv": b"x,y\n1,one\n"})
    keys_of = f"'{KEY}', '{SECRET}'"
    squall.query(f"CREATE TABLE many (n UInt8, s String DEFAULT 'none') ENGINE = S3('{gate.url('d/*.csv')}', {keys_of}, 'CSV')")
    assert squall.query("SELECT n, s, _file FROM many ORDER BY n") == "1\tone\t1.csv\n2\tnone\t2.csv\n"
    assert squall.error_code("INSERT INTO many VALUES (3, 'x')") == READ_ONLY
    assert squall.error_code("TRUNCATE TABLE many") == READ_ONLY
    squall.query(f"CREATE TABLE inferred ENGINE = S3('{gate.url('h.csv')}', {keys_of})")
    assert squall.query("SELECT x + 1, y FROM inferred") == "2\tone\n"
    squall.query(f"CREATE TABLE one (n UInt8, s String) ENGINE = S3('{gate.url('new.jsonl.gz')}', {keys_of}, 'JSONEachRow')")
    assert squall.error_code("SELECT * FROM one") == S3_ERROR
    squall.query("INSERT INTO one VALUES (1, 'a')")
    assert gzip.decompress(contents(store, "new.jsonl.gz")) == b'{"n":1,"s":"a"}\n'
    assert squall.error_code("INSERT INTO one VALUES (2, 'b')") == BAD
    squall.query("INSERT INTO one VALUES (2, 'b')", s3_truncate_on_insert=1)
    squall.restart()
    assert squall.query("SELECT * FROM one") == "2\tb\n"
    # Who may read the table need not know where it is.
    squall.query("CREATE USER looker")
    squall.query("GRANT SELECT ON default.one TO looker")
    assert squall.query("SELECT * FROM one", user="looker") == "2\tb\n"
    squall.query("GRANT CREATE TABLE ON default.* TO looker")
    made = f"CREATE TABLE mine (n UInt8) ENGINE = S3('{gate.url('x.csv')}', NOSIGN, 'CSV')"
    assert squall.error_code(made, user="looker") == DENIED
    squall.query("CREATE TABLE source (n UInt8) ENGINE = Memory")
    squall.query(f"CREATE TABLE sink (n UInt8) ENGINE = S3('{gate.url('view.csv')}', {keys_of})")
    squall.query("CREATE MATERIALIZED VIEW mv TO sink AS SELECT n + 1 AS n FROM source")
    squall.query("INSERT INTO source VALUES (4)")
    assert contents(store, "view.csv") == b"5\n"
    squall.query("TRUNCATE TABLE one")
    assert "new.jsonl.gz" not in keys(store)
    squall.query("DROP TABLE sink")
    assert "view.csv" in keys(store)
    squall.query(f"CREATE TABLE shown AS s3('{gate.url('shown.csv')}', {keys_of}, 'CSV', 'n UInt8')")
    squall.query("INSERT INTO shown VALUES (8)")
    assert squall.query("SELECT * FROM shown") == "8\n"


def test_named_collections(squall, store, gate):
    put(store, **{"a.csv": b"1,one\n", "b.tsv": b"7\n"})
    squall.query(f"CREATE NAMED COLLECTION c AS url = '{gate.url('')}', access_key_id = '{KEY}', secret_access_key = '{SECRET}', format = 'CSV'")
    assert squall.query("SELECT * FROM s3(c, filename = 'a.csv')") == "1\tone\n"
    assert squall.query("SELECT n FROM s3(c, filename = 'a.csv', structure = 'n UInt8, s String')") == "1\n"
    assert squall.query(f"SELECT * FROM s3(c, url = '{gate.url('b.tsv')}', format = 'TSV')") == "7\n"
    squall.query("INSERT INTO FUNCTION s3(c, filename = 'new.csv') SELECT 1 AS n")
    squall.query("CREATE TABLE t (n UInt8) ENGINE = S3(c, filename = 'new.csv')")
    assert squall.query("SELECT * FROM t") == "1\n"
    assert "S3(c, filename = \\'new.csv\\')" in squall.query("SHOW CREATE TABLE t")
    assert squall.error_code("SELECT * FROM s3(c, filename = 'a.csv', nonsense = 1)") == BAD
    assert squall.error_code("SELECT * FROM s3(nothing, filename = 'a.csv')") == NO_COLLECTION
    squall.query("CREATE USER nobody")
    squall.query("GRANT READ ON S3 TO nobody")
    assert squall.error_code("SELECT * FROM s3(c, filename = 'a.csv')", user="nobody") == DENIED
    squall.query("GRANT NAMED COLLECTION ON c TO nobody")
    assert squall.query("SELECT * FROM s3(c, filename = 'a.csv')", user="nobody") == "1\tone\n"


def test_keys_of_the_configuration_and_of_the_environment(start_server, store, gate):
    put(store, **{"a.tsv": b"1\n"})
    allowed = f"<host>127.0.0.1:{gate.server_port}</host>"
    endpoint = f"<gate><endpoint>{gate.url('')}</endpoint><access_key_id>{KEY}</access_key_id><secret_access_key>{SECRET}</secret_access_key>"
    endpoint += "<region>eu-north-1</region><header>x-amz-request-payer: requester</header></gate>"
    server = start_server(settings={"remote_url_allow_hosts": allowed, "s3": endpoint})
    gate.region = "eu-north-1"
    read = f"SELECT * FROM s3('{gate.url('a.tsv')}')"
    assert server.query(read) == "1\n"
    assert all(headers["x-amz-request-payer"] == "requester" for *_, headers in gate.asked)
    # A server that wants another region says so.
    gate.region = "us-west-2"
    assert server.query(read) == "1\n"
    environment = ["env", f"AWS_ACCESS_KEY_ID={KEY}", f"AWS_SECRET_ACCESS_KEY={SECRET}"]
    server = start_server(settings={"remote_url_allow_hosts": allowed}, wrapper=environment)
    assert server.error_code(read) == DENIED
    assert server.query(read, s3_allow_server_credentials_in_user_queries=1) == "1\n"
    server = start_server(settings={"remote_url_allow_hosts": allowed, "s3": "<use_environment_credentials>0</use_environment_credentials>"})
    assert server.error_code(read) == S3_ERROR
    headers = f"s3('{gate.url('a.tsv')}', '{KEY}', '{SECRET}', headers('x-amz-meta-q' = 'a b', 'X-Other' = 'c'))"
    assert server.query(f"SELECT * FROM {headers}") == "1\n"
    assert gate.asked[-1][3]["x-amz-meta-q"] == "a b" and gate.asked[-1][3]["x-other"] == "c"


def is_read(method, path, _):
    return method == "GET" and path.endswith("big.tsv")


def test_a_server_that_breaks_off(squall, store, s3, gate):
    put(store, **{"big.tsv": b"".join(b"%d\n" % number for number in range(500_000))})
    query = f"SELECT count(), sum(n) FROM {s3('big.tsv', 'TSV', 'n UInt64')}"
    breaks = lambda handler, answer: handler.give(*answer, cut=len(answer[2]) // 2) or True
    gate.faults.append((lambda *asked: is_read(*asked) and "range" not in gate.asked[-1][3], breaks))
    assert squall.query(query) == "500000\t124999750000\n"
    assert any(headers.get("range", "").endswith("-") for *_, headers in gate.asked)
    gate.faults[:] = [(is_read, breaks)]
    assert squall.error_code(query) == S3_ERROR
    assert squall.error_code(query, s3_max_single_read_retries=0) == S3_ERROR
    # It is busy, for a while or for good.
    busy = lambda handler, _: handler.refuse(503, "SlowDown", "Please reduce your request rate.") or True
    left = [2]

    def is_busy(*asked):
        left[0] -= 1
        return left[0] >= 0

    gate.faults[:] = [(is_busy, busy)]
    assert squall.query(query) == "500000\t124999750000\n"
    gate.faults[:] = [(lambda *_: True, busy)]
    assert squall.error_code(query) == S3_ERROR
    # It is silent.
    silent = lambda *_: time.sleep(5)
    gate.faults[:] = [(is_read, silent)]
    assert squall.error_code(query, s3_request_timeout_ms=300) == S3_ERROR
    # What it says is nonsense.
    for body in (b"", b"<x>", b"\xff\x00", b"<ListBucketResult>" * 1000):
        gate.faults[:] = [(lambda _, __, query: "list-type" in query, lambda handler, _: handler.give(200, [], body) or True)]
        assert squall.error_code(f"SELECT * FROM {s3('*.tsv', 'TSV', 'n UInt64')}") == S3_ERROR
    endless = b"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>"
    gate.faults[:] = [(lambda _, __, query: "list-type" in query, lambda handler, _: handler.give(200, [], endless) or True)]
    assert squall.error_code(f"SELECT * FROM {s3('*.tsv', 'TSV', 'n UInt64')}") == S3_ERROR


def test_an_object_that_changes(squall, store, s3, gate):
    put(store, **{"big.tsv": b"1\n"})

    def change(*_):
        put(store, **{"big.tsv": b"2\n"})

    gate.faults.append((lambda method, *_: method == "GET", change))
    # It changes after the gate has asked for it, and before it asks again.
    assert squall.error_code(f"SELECT * FROM {s3('big.tsv', 'TSV', 'n UInt64')}") == CHANGED
    put(store, **{"big.tsv": b"1\n"})
    assert squall.query(f"SELECT * FROM {s3('big.tsv', 'TSV', 'n UInt64')}", s3_validate_etag_on_read=0) == "2\n"


def test_kill_while_reading(squall, store, s3, gate):
    put(store, **{"big.tsv": b"1\n" * 5_000_000})
    begun = threading.Event()

    def drip(handler, answer):
        begun.set()
        status, headers, body = answer
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        try:
            for at in range(0, len(body), 1000):
                handler.wfile.write(body[at : at + 1000])
                time.sleep(0.05)
        except OSError:
            pass
        return True

    gate.faults.append((is_read, drip))
    codes = []
    query = f"SELECT sum(n) FROM {s3('big.tsv', 'TSV', 'n UInt64')}"
    reader = threading.Thread(target=lambda: codes.append(squall.error_code(query, query_id="reading")))
    reader.start()
    assert begun.wait(30)
    before = time.monotonic()
    squall.query("KILL QUERY WHERE query_id = 'reading' SYNC")
    reader.join(30)
    assert codes == [KILLED] and time.monotonic() - before < 10
    squall.until_gone("reading")
