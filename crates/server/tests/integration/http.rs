//! The HTTP interface over real sockets: a server in this process, and a client that writes the bytes of HTTP by hand.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_server::Server;
use squall_server::config::ConfigSource;

use crate::running::Running;

/// A server that lives as long as the test.
struct TestServer {
    address: SocketAddr,
    server: Arc<Server>,
    _runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl TestServer {
    fn start(overrides: &[(&str, &str)]) -> Self {
        Self::start_with(overrides, None)
    }

    fn start_with(overrides: &[(&str, &str)], users_xml: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut source = ConfigSource::default();
        if let Some(users_xml) = users_xml {
            let config = "<clickhouse><http_port>1</http_port><users_config>users.xml</users_config></clickhouse>";
            std::fs::write(folder.path().join("config.xml"), config).unwrap();
            std::fs::write(folder.path().join("users.xml"), users_xml).unwrap();
            source.config_file = Some(folder.path().join("config.xml"));
        }
        source.overrides.push(("path".to_owned(), folder.path().join("data").display().to_string()));
        source.overrides.extend(overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let Running { address, server, runtime } = Running::http(source);
        Self { address, server, _runtime: runtime, _folder: folder }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream, read: Vec::new() }
    }

    fn get(&self, target: &str) -> Response {
        self.connect().get(target)
    }

    fn post(&self, target: &str, body: &[u8]) -> Response {
        self.connect().request("POST", target, &[], body)
    }

    /// Runs a statement by POST and gives its text; it must succeed.
    fn run(&self, sql: &str) -> String {
        let response = self.post("/", sql.as_bytes());
        assert_eq!(response.status, 200, "{sql}: {}", response.text());
        response.text()
    }

    fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "waited too long for: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

#[derive(Debug)]
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Whether the body came to its proper end.
    is_whole: bool,
}

impl Response {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    fn code(&self) -> Option<i32> {
        self.header("X-ClickHouse-Exception-Code")?.parse().ok()
    }
}

impl Client {
    fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) {
        let mut request = format!("{method} {target} HTTP/1.1\r\nHost: test\r\n");
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if method != "GET" {
            request += &format!("Content-Length: {}\r\n", body.len());
        }
        request += "\r\n";
        self.stream.write_all(request.as_bytes()).unwrap();
        self.stream.write_all(body).unwrap();
    }

    fn get(&mut self, target: &str) -> Response {
        self.request("GET", target, &[], b"")
    }

    fn request(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.send(method, target, headers, body);
        if method == "HEAD" { self.head() } else { self.response() }
    }

    /// Reads more; false at the end of the connection.
    fn more(&mut self) -> bool {
        let mut buffer = [0; 64 << 10];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(bytes) => {
                self.read.extend_from_slice(&buffer[..bytes]);
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("cannot read: {error}"),
        }
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8(self.read[..end].to_vec()).unwrap();
                self.read.drain(..end + 2);
                return Some(line);
            }
            if !self.more() {
                return None;
            }
        }
    }

    fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        while self.read.len() < bytes {
            if !self.more() {
                return None;
            }
        }
        Some(self.read.drain(..bytes).collect())
    }

    /// A response without its body.
    fn head(&mut self) -> Response {
        let status = self.line().expect("a response").split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        while let Some(line) = self.line().filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap();
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Response { status, headers, body: Vec::new(), is_whole: false }
    }

    fn response(&mut self) -> Response {
        let mut response = self.head();
        if let Some(length) = response.header("content-length").map(|length| length.parse().unwrap()) {
            response.body = self.take(length).unwrap();
            response.is_whole = true;
        } else if response.header("transfer-encoding").is_some() {
            while let Some(length) = self.line() {
                let length = usize::from_str_radix(&length, 16).unwrap();
                let Some(chunk) = self.take(length) else { break };
                self.line();
                if length == 0 {
                    response.is_whole = true;
                    break;
                }
                response.body.extend(chunk);
            }
        } else {
            response.is_whole = true;
        }
        response
    }
}

#[test]
fn pages_need_no_query() {
    let server = TestServer::start(&[]);
    let mut client = server.connect();
    for target in ["/ping", "/", "/replicas_status", "/ping", "/ping"] {
        let response = client.get(target);
        assert_eq!((response.status, response.text().as_str()), (200, "Ok.\n"), "{target}");
    }
    assert_eq!(client.request("HEAD", "/ping", &[("Connection", "close")], b"").status, 200);
    let missing = server.get("/nowhere");
    assert_eq!(missing.status, 404);
    assert!(missing.text().starts_with("There is no handle /nowhere"));
    // Several requests in one piece are answered in order.
    let mut client = server.connect();
    client.stream.write_all(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\nGET /ping HTTP/1.1\r\nHost: x\r\n\r\nGET /?query=SELECT+7 HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let texts = [client.response().text(), client.response().text(), client.response().text()];
    assert_eq!(texts, ["Ok.\n", "Ok.\n", "7\n"]);
}

#[test]
fn queries_come_from_the_url_the_body_or_both() {
    let server = TestServer::start(&[]);
    let response = server.get("/?query=SELECT%201&query_id=my-id");
    assert_eq!((response.status, response.text().as_str()), (200, "1\n"));
    assert_eq!(response.header("X-ClickHouse-Query-Id"), Some("my-id"));
    assert_eq!(response.header("X-ClickHouse-Format"), Some("TabSeparated"));
    assert_eq!(response.header("Content-Type"), Some("text/tab-separated-values; charset=UTF-8"));
    assert!(response.header("X-ClickHouse-Summary").unwrap().contains("\"result_rows\":\"1\""));
    assert!(response.header("X-ClickHouse-Timezone").is_some() && response.header("Keep-Alive").is_some());
    assert_eq!(server.post("/", b"SELECT 2").text(), "2\n");
    assert_eq!(server.post("/?query=SELECT", b"3").text(), "3\n");
    assert_eq!(server.get("/?query=SELECT+4+AS+x&default_format=JSONEachRow").text(), "{\"x\":4}\n");
    assert_eq!(server.get("/?query=SELECT+5+FORMAT+CSV&default_format=JSON").text(), "5\n");
    let with_header = server.connect().request("POST", "/", &[("X-ClickHouse-Format", "csv")], b"SELECT 'a'");
    assert_eq!((with_header.text().as_str(), with_header.header("X-ClickHouse-Format")), ("\"a\"\n", Some("CSV")));
    assert_eq!(server.get("/?query=SELECT+%7Bx:UInt8%7D%2B1&param_x=41").text(), "42\n");
    assert_eq!(
        server.get("/?query=SELECT+value+FROM+system.settings+WHERE+name='max_block_size'&max_block_size=77").text(),
        "77\n"
    );
    assert_eq!(server.get("/?query=SELECT+count()+FROM+tables&database=system").status, 200);
    // A body in chunks, as clients that stream send it.
    let mut client = server.connect();
    client
        .stream
        .write_all(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nSELECT \r\n1\r\n8\r\n0\r\n\r\n",
        )
        .unwrap();
    assert_eq!(client.response().text(), "8\n");
}

#[test]
fn errors_have_codes_and_statuses() {
    let server = TestServer::start(&[]);
    for (target, status, code) in [
        ("/?query=SELEC", 400, 62),
        ("/?query=SELECT+x", 404, 47),
        ("/?query=SELECT+1+FROM+nope", 404, 60),
        ("/?query=SELECT+1&database=nope", 404, 81),
        ("/?query=SELECT+no_such_function(1)", 404, 46),
        ("/?query=SELECT+1+FORMAT+Nope", 404, 73),
        ("/?query=SELECT+1&no_such_setting=1", 404, 115),
        ("/?query=SELECT+1&max_threads=x", 400, 27),
        ("/?query=SELECT+1&user=nobody", 403, 516),
        ("/?query=SELECT+1&session_id=s&session_timeout=99999999", 500, 374),
        ("/?query=SELECT+1&session_id=s&session_check=1", 500, 372),
        ("/?query=CREATE+TABLE+t+(a+UInt8)+ENGINE=Memory", 500, 164),
        ("/?query=SELECT+%7Bx:UInt8%7D", 500, 456),
        ("/?query=%zz", 400, 36),
        ("/?query=ALTER+TABLE+t+DELETE+WHERE+1", 500, 164),
        ("/?query=SELECT+1&query=;SELECT+2", 400, 62),
        ("/?query=+", 400, 62),
    ] {
        let response = server.get(target);
        assert_eq!((response.status, response.code()), (status, Some(code)), "{target}: {}", response.text());
        assert!(response.text().starts_with(&format!("Code: {code}. DB::Exception: ")), "{}", response.text());
        assert!(response.text().contains(" (version 26.9.2.1"), "{}", response.text());
    }
    assert_eq!(server.post("/", b"ALTER TABLE t DELETE WHERE 1").code(), Some(60));
    assert_eq!(server.post("/", b"CREATE LIVE VIEW v AS SELECT 1").status, 501);
    // The answer arrives although much of the request was not read.
    assert_eq!(server.post("/?user=nobody", &vec![b'x'; 8 << 20]).code(), Some(516));
    let long = format!("SELECT '{}'", "x".repeat(300_000));
    assert_eq!(server.post("/", long.as_bytes()).code(), Some(62));
    assert_eq!(server.post("/?max_query_size=1000000", long.as_bytes()).status, 200);
}

#[test]
fn users_are_checked() {
    let users = "<clickhouse><profiles><default/><reader><readonly>1</readonly></reader></profiles><users>
        <default><no_password/></default>
        <alice><password>secret</password></alice>
        <far><no_password/><networks><ip>10.0.0.1</ip></networks></far>
        <reader><no_password/><profile>reader</profile></reader></users></clickhouse>";
    let server = TestServer::start_with(&[], Some(users));
    assert_eq!(server.get("/?query=SELECT+1&user=alice&password=secret").status, 200);
    let basic = [("Authorization", "Basic YWxpY2U6c2VjcmV0")];
    assert_eq!(server.connect().request("GET", "/?query=SELECT+1", &basic, b"").status, 200);
    let headers = [("X-ClickHouse-User", "alice"), ("X-ClickHouse-Key", "secret")];
    assert_eq!(server.connect().request("GET", "/?query=SELECT+1", &headers, b"").status, 200);
    for target in
        ["/?query=SELECT+1&user=alice", "/?query=SELECT+1&user=alice&password=no", "/?query=SELECT+1&user=far"]
    {
        let response = server.get(target);
        assert_eq!((response.status, response.code()), (403, Some(516)), "{target}");
        assert!(
            response
                .text()
                .contains("Authentication failed: password is incorrect, or there is no user with such name")
        );
    }
    let refused = server.post("/?user=reader", b"CREATE TABLE t (a UInt8) ENGINE = Memory");
    assert_eq!(refused.code(), Some(164), "{}", refused.text());
    assert_eq!(server.post("/?user=reader&max_threads=1", b"SELECT 1").code(), Some(164));
    assert_eq!(server.post("/?user=reader", b"SELECT 1").text(), "1\n");
    let defined = server.post("/?allow_ddl=0", b"CREATE TABLE t (a UInt8) ENGINE = Memory");
    assert_eq!(defined.code(), Some(392), "{}", defined.text());
    assert_eq!(server.post("/?allow_ddl=0", b"SELECT 1").text(), "1\n");
    assert_eq!(server.post("/?allow_ddl=0", b"SELECT 1 SETTINGS allow_ddl = 1").code(), Some(392));
}

#[test]
fn sessions_are_kept_by_their_id() {
    let server = TestServer::start(&[]);
    server.run("CREATE DATABASE d");
    assert_eq!(server.post("/?session_id=a", b"SET max_block_size = 123").status, 200);
    assert_eq!(server.post("/?session_id=a", b"USE d").status, 200);
    let ask = b"SELECT value, currentDatabase() FROM system.settings WHERE name = 'max_block_size'";
    assert_eq!(server.post("/?session_id=a", ask).text(), "123\td\n");
    assert_eq!(server.post("/?session_id=b", ask).text(), "65409\tdefault\n");
    assert_eq!(server.post("/", ask).text(), "65409\tdefault\n");
    // A setting in the URL is for that request alone.
    assert_eq!(server.post("/?session_id=a&max_block_size=7", ask).text(), "7\td\n");
    assert_eq!(server.post("/?session_id=a", ask).text(), "123\td\n");
    // One request at a time.
    let mut slow = server.connect();
    slow.send("POST", "/?session_id=a&query_id=slow", &[], b"SELECT sum(number) FROM system.numbers");
    server.wait_until("the slow query", || server.server.processes.find("slow").is_some());
    assert_eq!(server.post("/?session_id=a", b"SELECT 1").code(), Some(373));
    server.server.processes.cancel_all();
    assert_eq!(slow.response().code(), Some(394));
}

#[test]
fn inserts_take_their_data_from_the_body() {
    let server = TestServer::start(&[]);
    server.run("CREATE TABLE t (a UInt32, s String DEFAULT concat('d', toString(a))) ENGINE = MergeTree ORDER BY a");
    server.run("INSERT INTO t VALUES (1, 'one'), (1 + 1, 'two')");
    assert_eq!(server.post("/?query=INSERT+INTO+t+FORMAT+TabSeparated", b"3\tthree\n4\tfour\n").status, 200);
    assert_eq!(server.post("/", b"INSERT INTO t (a) FORMAT CSV\n5\n6\n").status, 200);
    assert_eq!(
        server.post("/?query=INSERT+INTO+t+FORMAT+JSONEachRow", b"{\"a\":7}\n{\"a\":8,\"s\":\"eight\"}\n").status,
        200
    );
    let summary = server.post("/", b"INSERT INTO t SELECT number + 100, 'n' FROM numbers(10)");
    assert!(summary.header("X-ClickHouse-Summary").unwrap().contains("\"written_rows\":\"10\""));
    assert_eq!(
        server.run("SELECT * FROM t WHERE a < 100 ORDER BY a"),
        "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\td5\n6\td6\n7\td7\n8\teight\n"
    );
    // Larger than what is read before the statement is parsed.
    let rows: String = (0..200_000).map(|number| format!("{number}\tx\n")).collect();
    assert_eq!(server.post("/?query=INSERT+INTO+t+FORMAT+TSV", rows.as_bytes()).status, 200);
    assert_eq!(server.run("SELECT count() FROM t"), "200018\n");
    for (target, body, code) in [
        ("/?query=INSERT+INTO+t+FORMAT+TSV", "x\ty\n", 6),
        ("/?query=INSERT+INTO+t+FORMAT+Pretty", "", 85),
        ("/?query=INSERT+INTO+nope+FORMAT+TSV", "", 60),
        ("/?query=INSERT+INTO+t+(nope)+FORMAT+TSV", "", 16),
    ] {
        let response = server.post(target, body.as_bytes());
        assert!(response.status >= 400, "{target}");
        assert_eq!(response.code(), Some(code), "{target}: {}", response.text());
    }
    assert_eq!(server.run("SELECT count() FROM t"), "200018\n");
}

#[test]
fn bodies_are_compressed_both_ways() {
    let server = TestServer::start(&[]);
    server.run("CREATE TABLE t (a UInt32) ENGINE = Memory");
    let rows = b"1\n2\n3\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(rows).unwrap();
    let insert = "/?query=INSERT+INTO+t+FORMAT+TSV";
    let gzipped = gzip.finish().unwrap();
    assert_eq!(server.connect().request("POST", insert, &[("Content-Encoding", "gzip")], &gzipped).status, 200);
    let zstd = zstd::bulk::compress(rows, 1).unwrap();
    assert_eq!(server.connect().request("POST", insert, &[("Content-Encoding", "zstd")], &zstd).status, 200);
    let mut frames = Vec::new();
    squall_server::compression::compress(squall_server::compression::Codec::Lz4, rows, &mut frames).unwrap();
    assert_eq!(server.post(&format!("{insert}&decompress=1"), &frames).status, 200);
    assert_eq!(server.run("SELECT sum(a) FROM t"), "18\n");

    // Cut off or damaged, nothing is inserted and the server goes on.
    frames.pop();
    assert_eq!(server.post(&format!("{insert}&decompress=1"), &frames).code(), Some(33));
    frames.push(0xff);
    assert_eq!(server.post(&format!("{insert}&decompress=1"), &frames).code(), Some(40));
    let cut = &gzipped[..gzipped.len() - 4];
    assert!(server.connect().request("POST", insert, &[("Content-Encoding", "gzip")], cut).status >= 400);
    assert_eq!(server.connect().request("POST", insert, &[("Content-Encoding", "rot13")], rows).status, 501);
    assert_eq!(server.run("SELECT sum(a) FROM t"), "18\n");

    let target = "/?query=SELECT+number+FROM+numbers(1000)";
    let plain = server.get(target).body;
    let gzipped = server.connect().request("GET", target, &[("Accept-Encoding", "gzip, deflate")], b"");
    assert_eq!(gzipped.header("Content-Encoding"), Some("gzip"));
    let mut back = Vec::new();
    flate2::read::GzDecoder::new(&gzipped.body[..]).read_to_end(&mut back).unwrap();
    assert_eq!(back, plain);
    let framed = server.get(&format!("{target}&compress=1"));
    let mut decoder = squall_server::compression::FrameDecoder::default();
    let mut back = Vec::new();
    decoder.push(&framed.body).unwrap();
    decoder.take(&mut back).unwrap();
    decoder.finish().unwrap();
    assert_eq!(back, plain);
}

#[test]
fn large_results_are_streamed() {
    let server = TestServer::start(&[]);
    let response = server.get("/?query=SELECT+number+FROM+numbers(1000000)");
    assert!(response.is_whole && response.header("Transfer-Encoding").is_some());
    assert_eq!(response.text().lines().count(), 1_000_000);
    assert!(response.text().ends_with("999999\n"));
    let held_back = server.get("/?query=SELECT+number+FROM+numbers(1000000)&wait_end_of_query=1");
    assert!(held_back.is_whole && held_back.header("Content-Length").is_some());
    assert_eq!(held_back.body, response.body);
}

#[test]
fn an_exception_within_a_result_is_marked_and_cuts_the_connection() {
    let server = TestServer::start(&[]);
    let target = "/?query=SELECT+intDiv(1,toInt64(number)-3000000)+FROM+numbers(4000000)&max_threads=1";
    let mut client = server.connect();
    let response = client.get(target);
    assert_eq!(response.status, 200);
    assert!(!response.is_whole);
    let tag = response.header("X-ClickHouse-Exception-Tag").unwrap();
    let text = response.text();
    let end = text.rsplit_once("\r\n__exception__\r\n").unwrap().0;
    let (_, marked) = end.split_once(&format!("\r\n__exception__\r\n{tag}\r\n")).unwrap();
    assert!(marked.starts_with("Code: 153. DB::Exception: "), "{marked}");
    let message = marked.strip_suffix(&format!(" {tag}")).unwrap();
    let (message, length) = message.rsplit_once('\n').unwrap();
    assert_eq!(length.parse::<usize>().unwrap(), message.len() + 1);
    // Held back, the same error has a status of its own.
    let response = server.get(&format!("{target}&wait_end_of_query=1"));
    assert_eq!((response.status, response.code()), (500, Some(153)));
}

#[test]
fn a_client_that_leaves_ends_its_query() {
    let server = TestServer::start(&[]);
    let leave = |cancels: u8| {
        let mut client = server.connect();
        let target = format!("/?query_id=left&cancel_http_readonly_queries_on_client_close={cancels}");
        client.send("POST", &target, &[], b"SELECT sum(number) FROM system.numbers");
        server.wait_until("the query", || server.server.processes.find("left").is_some());
    };
    leave(1);
    server.wait_until("its end", || server.server.processes.is_empty());
    leave(0);
    std::thread::sleep(Duration::from_millis(200));
    server.server.processes.find("left").unwrap().cancel();
    server.wait_until("the end of the one that went on", || server.server.processes.is_empty());
    // One that stops reading keeps nobody else waiting.
    let mut idle = server.connect();
    idle.send("POST", "/?query_id=idle", &[], b"SELECT number FROM system.numbers");
    assert!(idle.more());
    for _ in 0..20 {
        assert_eq!(server.get("/?query=SELECT+count()+FROM+numbers(1000000)").text(), "1000000\n");
    }
    assert!(server.server.processes.find("idle").is_some());
    drop(idle);
    server.wait_until("the end of the idle one", || server.server.processes.is_empty());
}

#[test]
fn queries_are_seen_killed_and_logged() {
    let server = TestServer::start(&[]);
    let mut client = server.connect();
    client.send("POST", "/?query_id=victim", &[("User-Agent", "me")], b"SELECT sum(number) FROM system.numbers");
    server.wait_until("the victim", || server.server.processes.find("victim").is_some());
    let seen =
        server.run("SELECT user, query, query_kind, http_user_agent FROM system.processes WHERE query_id = 'victim'");
    assert_eq!(seen, "default\tSELECT sum(number) FROM system.numbers\tSelect\tme\n");
    assert_eq!(server.post("/?query_id=victim", b"SELECT 1").code(), Some(216));
    let killed = server.run("KILL QUERY WHERE query_id = 'victim' SYNC");
    assert_eq!(killed, "finished\tvictim\tdefault\tSELECT sum(number) FROM system.numbers\n");
    assert_eq!(client.response().code(), Some(394));
    server.run("SELECT 1 AS logged");
    server.get("/?query=SELECT+nope&query_id=failed");
    server.run("SYSTEM FLUSH LOGS");
    let log = |condition: &str| {
        server.run(&format!(
            "SELECT type, exception_code, query_kind FROM system.query_log WHERE {condition} ORDER BY type"
        ))
    };
    assert_eq!(
        log("query_id = 'victim' AND exception_code != 216"),
        "QueryStart\t0\tSelect\nExceptionWhileProcessing\t394\tSelect\n"
    );
    assert_eq!(log("query_id = 'failed'").lines().last(), Some("ExceptionWhileProcessing\t47\tSelect"));
    assert_eq!(log("query = 'SELECT 1 AS logged'"), "QueryStart\t0\tSelect\nQueryFinish\t0\tSelect\n");
}

#[test]
fn the_number_of_queries_is_limited() {
    let server = TestServer::start(&[("max_concurrent_queries", "1")]);
    let mut client = server.connect();
    client.send("POST", "/?query_id=only", &[], b"SELECT sum(number) FROM system.numbers");
    server.wait_until("the only query", || server.server.processes.find("only").is_some());
    let refused = server.post("/", b"SELECT 1");
    assert_eq!(refused.code(), Some(202));
    assert!(refused.text().contains("Too many simultaneous queries. Maximum: 1"), "{}", refused.text());
    assert_eq!(server.post("/?queue_max_wait_ms=10", b"SELECT 1").code(), Some(202));
    assert_eq!(server.post("/", b"KILL QUERY WHERE query_id = 'only' SYNC").status, 200);
    assert_eq!(client.response().code(), Some(394));
    assert_eq!(server.run("SELECT 1"), "1\n");
}

#[test]
fn broken_requests_do_not_harm_others() {
    let server = TestServer::start(&[]);
    for bytes in [
        &b"GARBAGE\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET /?query=SELECT HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /pin",
    ] {
        let mut client = server.connect();
        client.stream.write_all(bytes).unwrap();
        client.stream.shutdown(std::net::Shutdown::Write).unwrap();
        while client.more() {}
    }
    let mut client = server.connect();
    let many = format!("GET /?query=SELECT+1 HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(2000));
    client.stream.write_all(many.as_bytes()).unwrap();
    // A response, or a closed connection where its bytes met the rest of the request.
    while client.more() {}
    assert!(client.read.is_empty() || client.read.starts_with(b"HTTP/1.1 431"));
    assert_eq!(server.run("SELECT 1"), "1\n");
}

#[test]
fn a_stopping_server_finishes_what_runs() {
    let server = TestServer::start(&[]);
    let mut client = server.connect();
    client.send("POST", "/?query_id=last", &[], b"SELECT sleepEachRow(0.01) FROM numbers(250) FORMAT Null");
    server.wait_until("the query", || server.server.processes.find("last").is_some());
    server.server.shut_down();
    let response = client.response();
    assert_eq!(response.status, 200, "{}", response.text());
}

#[test]
fn clients_find_what_they_ask_for_when_they_connect() {
    let server = TestServer::start(&[]);
    for sql in [
        "SELECT name, value, readonly FROM system.settings LIMIT 10000",
        "SELECT name, engine FROM system.databases",
        "SELECT database, name, engine, create_table_query, total_rows FROM system.tables",
        "SELECT * FROM system.columns WHERE database = 'system' AND table = 'one'",
        "SELECT * FROM system.processes",
        "SELECT * FROM system.query_log",
        "SELECT * FROM system.metrics",
        "SELECT * FROM system.events",
        "SELECT * FROM system.asynchronous_metrics",
        "SELECT * FROM system.server_settings",
        "SELECT * FROM system.functions",
        "SELECT * FROM system.users",
        "SELECT * FROM system.errors",
        "SELECT * FROM system.clusters",
        "SELECT * FROM system.build_options",
        "SELECT DISTINCT arrayJoin(extractAll(name, '[\\\\w_]{2,}')) AS res FROM (SELECT name FROM system.functions)",
        "SHOW DATABASES",
        "SHOW TABLES FROM system LIKE 'q%'",
        "SHOW FULL TABLES FROM system",
        "SHOW COLUMNS FROM one FROM system",
        "SHOW SETTINGS LIKE 'max_thread%'",
        "SHOW FUNCTIONS LIKE 'count%'",
        "SHOW PROCESSLIST",
        "SHOW CREATE DATABASE default",
        "SHOW CLUSTERS",
        "SHOW ENGINES",
        "SHOW GRANTS",
        "DESCRIBE TABLE system.one",
        "DESCRIBE (SELECT 1 AS x)",
        "DESCRIBE TABLE numbers(3)",
        "EXISTS TABLE system.one",
        "EXPLAIN SELECT 1",
        "EXPLAIN AST SELECT 1",
        "EXPLAIN SYNTAX SELECT 1",
        "EXPLAIN PIPELINE SELECT sum(number) FROM numbers(10)",
    ] {
        let response = server.post("/", sql.as_bytes());
        // Functions may still be missing; tables and statements may not.
        assert!(response.status == 200 || response.code() == Some(46), "{sql}: {}", response.text());
    }
}
