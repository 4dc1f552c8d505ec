//! What responses look like: their headers, errors as ClickHouse words them, and the answers that need no query.

pub(super) mod body;
pub(super) mod cors;
pub(super) mod date;
pub(super) mod progress;
pub(super) mod query;
pub(super) mod result_writer;
pub(super) mod status;

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use squall_engine::QueryContext;
use squall_types::Error;

use crate::http::pages::metrics;
use crate::http::response::body::Body;
use crate::http::response::cors::OptionsResponse;
use crate::http::response::status::status_of;
use crate::server::Server;
use crate::version::VERSION_SUFFIX;

const TEXT_PLAIN: &str = "text/plain; charset=UTF-8";
const TEXT_HTML: &str = "text/html; charset=UTF-8";

/// A response: its headers as they go out, each a line, so that the many short ones cost a copy and no map.
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// `Name: value\r\n` for each header but those that HTTP itself needs.
    pub fields: Vec<u8>,
    /// The body.
    pub body: Body,
}

impl Response {
    fn new(status: StatusCode, content_type: &str, body: Body) -> Self {
        let mut response = Self { status, fields: Vec::with_capacity(FIELDS_BYTES), body };
        response.add("Content-Type", content_type.as_bytes());
        response
    }

    /// Adds a header; bytes that cannot stand in one are left out.
    fn add(&mut self, name: &str, value: &[u8]) {
        self.fields.extend_from_slice(name.as_bytes());
        self.fields.extend_from_slice(b": ");
        // One test for all bytes first: it is a vector's work, and nearly all values pass it.
        let stands = |byte: u8| byte >= b' ' && byte != 0x7f;
        if value.iter().fold(true, |all, byte| all & stands(*byte)) {
            self.fields.extend_from_slice(value);
        } else {
            self.fields.extend(value.iter().copied().filter(|byte| stands(*byte)));
        }
        self.fields.extend_from_slice(b"\r\n");
    }

    /// Adds a header, in the place of those of its name.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        let is_other = |line: &&[u8]| {
            let is_it = line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()));
            !(is_it && line.get(name.len()) == Some(&b':'))
        };
        self.fields = self.fields.split_inclusive(|byte| *byte == b'\n').filter(is_other).flatten().copied().collect();
        self.add(name, value.as_bytes());
    }

    /// The response as hyper sends it.
    pub fn into_hyper(self) -> hyper::Response<Body> {
        let mut response = hyper::Response::new(self.body);
        *response.status_mut() = self.status;
        for line in self.fields.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = line.split_at(colon);
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

/// Bytes that the headers of most responses fit into.
const FIELDS_BYTES: usize = 640;

/// Headers that are the same in every response of a server, and whole responses that are.
pub struct Headers {
    /// In every response.
    always: Vec<u8>,
    time_zone: Vec<u8>,
    default_response: String,
    options: OptionsResponse,
    ping: Vec<u8>,
    last_ping: Vec<u8>,
}

impl Headers {
    /// The headers of a server.
    pub fn new(server: &Server) -> Self {
        let config = server.config.load();
        let settings = &config.server;
        let keep_alive = format!("timeout={}", settings.keep_alive_timeout);
        let display_name = settings.display_name.replace(|letter: char| letter.is_control(), " ");
        let ping = |connection: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {TEXT_HTML}\r\nX-ClickHouse-Server-Display-Name: {display_name}\r\n\
                 {connection}\r\nContent-Length: 4\r\n\r\nOk.\n"
            )
            .into_bytes()
        };
        let (ping, last_ping) = (ping(&format!("Keep-Alive: {keep_alive}")), ping("Connection: close"));
        let mut always = Response { status: StatusCode::OK, fields: Vec::new(), body: Body::full("") };
        always.add("X-ClickHouse-Server-Display-Name", display_name.as_bytes());
        always.add("Keep-Alive", keep_alive.as_bytes());
        Self {
            always: always.fields,
            time_zone: server.time_zone.as_bytes().to_vec(),
            default_response: settings.http_server_default_response.clone(),
            options: config.options_response.clone(),
            ping,
            last_ping,
        }
    }

    /// The whole response to `/ping`.
    pub fn ping(&self) -> &[u8] {
        &self.ping
    }

    /// The same, after which the connection is closed.
    pub fn last_ping(&self) -> &[u8] {
        &self.last_ping
    }

    /// `Ok.` for `/ping` and `/replicas_status`.
    pub fn ok(&self) -> Response {
        self.page(StatusCode::OK, TEXT_HTML, "Ok.\n".to_owned())
    }

    /// The page for Prometheus.
    pub fn metrics(&self, text: String) -> Response {
        self.page(StatusCode::OK, metrics::CONTENT_TYPE, text)
    }

    /// `http_server_default_response` for `/`.
    pub fn default_page(&self) -> Response {
        self.page(StatusCode::OK, TEXT_HTML, self.default_response.clone())
    }

    /// What a path that means nothing gets.
    pub fn not_found(&self, path: &str) -> Response {
        let path: String = path.chars().take(200).collect();
        let text = format!(
            "There is no handle {path}\n\nUse / or /ping for health checks.\nOr /replicas_status for more sophisticated health checks.\n\n\
             Send queries from your program with POST method or GET /?query=...\n"
        );
        self.page(StatusCode::NOT_FOUND, TEXT_PLAIN, text)
    }

    /// What a request gets that is larger than it may be.
    pub fn bad_request(&self, why: &str) -> Response {
        self.page(StatusCode::BAD_REQUEST, TEXT_PLAIN, format!("{why}\n"))
    }

    /// What `OPTIONS` gets: browsers ask it before they send a query from another origin. The connection ends with it, as ClickHouse's does.
    pub fn options(&self) -> Response {
        let mut fields = self.options.of_options().as_bytes().to_vec();
        fields.extend_from_slice(b"Connection: close\r\n");
        Response { status: StatusCode::NO_CONTENT, fields, body: Body::full("") }
    }

    /// Adds what a query from a page of another origin gets.
    pub fn add_cross_origin(&self, response: &mut Response, adds_cors_header: bool) {
        response.fields.extend_from_slice(self.options.of_query(adds_cors_header).as_bytes());
    }

    /// An error that happened before the response began.
    pub fn error(&self, error: &Error, query_id: Option<&str>, context: Option<&QueryContext>) -> Response {
        let mut response = self.page(status_of(error.code), TEXT_PLAIN, exception_text(error));
        response.add("X-ClickHouse-Exception-Code", error.code.0.to_string().as_bytes());
        if let Some(seconds) = error.retry_after_s {
            response.add("Retry-After", seconds.to_string().as_bytes());
        }
        add_query(&mut response, query_id.unwrap_or_default(), None, &self.time_zone, context);
        response
    }

    /// The response to a query, with its headers.
    pub fn query(&self, query: &QueryHeaders<'_>, body: Body) -> Response {
        let mut response = Response::new(StatusCode::OK, query.content_type.unwrap_or(TEXT_PLAIN), body);
        if let Some(encoding) = query.content_encoding {
            response.add("Content-Encoding", encoding.as_bytes());
        }
        if let Some(tag) = query.exception_tag {
            response.add("X-ClickHouse-Exception-Tag", tag.as_bytes());
        }
        response.fields.extend_from_slice(&self.always);
        add_query(&mut response, query.query_id, query.format, query.time_zone, Some(query.context));
        response
    }

    /// A page.
    pub(super) fn page(&self, status: StatusCode, content_type: &str, text: impl Into<Bytes>) -> Response {
        let mut response = Response::new(status, content_type, Body::full(text));
        response.fields.extend_from_slice(&self.always);
        response
    }
}

/// Adds what a query's response says of the query.
fn add_query(
    response: &mut Response,
    query_id: &str,
    format: Option<&str>,
    time_zone: &[u8],
    context: Option<&QueryContext>,
) {
    response.add("X-ClickHouse-Query-Id", query_id.as_bytes());
    if let Some(format) = format {
        response.add("X-ClickHouse-Format", format.as_bytes());
    }
    response.add("X-ClickHouse-Timezone", time_zone);
    if let Some(context) = context {
        add_summary(&mut response.fields, context);
    }
}

/// What the headers of a query's response say.
pub struct QueryHeaders<'a> {
    /// The query's id.
    pub query_id: &'a str,
    /// The format, if there is a result.
    pub format: Option<&'a str>,
    /// The format's MIME type.
    pub content_type: Option<&'static str>,
    /// How the body is encoded.
    pub content_encoding: Option<&'static str>,
    /// What marks an exception within the body, if it is streamed.
    pub exception_tag: Option<&'a str>,
    /// The session's time zone.
    pub time_zone: &'a [u8],
    /// The query's progress.
    pub context: &'a Arc<QueryContext>,
}

/// Adds `X-ClickHouse-Progress`.
pub(super) fn add_progress(fields: &mut Vec<u8>, context: &QueryContext) {
    add_counters(fields, "X-ClickHouse-Progress: {\"", context);
}

/// Adds `X-ClickHouse-Summary`.
fn add_summary(fields: &mut Vec<u8>, context: &QueryContext) {
    add_counters(fields, "X-ClickHouse-Summary: {\"", context);
}

/// Adds a header that says how far a query is.
fn add_counters(fields: &mut Vec<u8>, mut opening: &str, context: &QueryContext) {
    use std::sync::atomic::Ordering::Relaxed;
    let progress = &context.progress;
    let mut digits = itoa::Buffer::new();
    for (name, number) in [
        ("read_rows", progress.read_rows.load(Relaxed)),
        ("read_bytes", progress.read_bytes.load(Relaxed)),
        ("written_rows", progress.written_rows.load(Relaxed)),
        ("written_bytes", progress.written_bytes.load(Relaxed)),
        ("total_rows_to_read", progress.total_rows_to_read.load(Relaxed)),
        ("result_rows", progress.result_rows.load(Relaxed)),
        ("result_bytes", progress.result_bytes.load(Relaxed)),
        ("elapsed_ns", context.started.elapsed().as_nanos() as u64),
        ("memory_usage", context.memory.peak_bytes().max(0).unsigned_abs()),
    ] {
        for piece in [opening, name, "\":\"", digits.format(number)] {
            fields.extend_from_slice(piece.as_bytes());
        }
        opening = "\",\"";
    }
    fields.extend_from_slice(b"\"}\r\n");
}

/// The whole response for a client that there is no room for.
pub fn refusal(error: &Error) -> Vec<u8> {
    let text = exception_text(error);
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=UTF-8\r\nX-ClickHouse-Exception-Code: {}\r\n\
         Retry-After: 1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
        error.code.0,
        text.len()
    )
    .into_bytes()
}

/// An error as clients read it, with the server's version.
pub fn exception_text(error: &Error) -> String {
    let mut text = error.text();
    text.push(' ');
    text.push_str(VERSION_SUFFIX);
    text.push('\n');
    text
}
