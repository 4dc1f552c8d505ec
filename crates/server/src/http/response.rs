//! What responses look like: their headers, errors as ClickHouse words them, and the answers that need no query.

use std::sync::Arc;

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use squall_engine::QueryContext;
use squall_types::Error;

use super::body::Body;
use super::metrics;
use super::status::status_of;
use crate::server::Server;
use crate::version::VERSION_SUFFIX;

static X_QUERY_ID: HeaderName = HeaderName::from_static("x-clickhouse-query-id");
static X_SUMMARY: HeaderName = HeaderName::from_static("x-clickhouse-summary");
static X_FORMAT: HeaderName = HeaderName::from_static("x-clickhouse-format");
static X_TIME_ZONE: HeaderName = HeaderName::from_static("x-clickhouse-timezone");
static X_EXCEPTION_CODE: HeaderName = HeaderName::from_static("x-clickhouse-exception-code");
static X_EXCEPTION_TAG: HeaderName = HeaderName::from_static("x-clickhouse-exception-tag");
static X_SERVER_DISPLAY_NAME: HeaderName = HeaderName::from_static("x-clickhouse-server-display-name");
static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

const TEXT_PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=UTF-8");
const TEXT_HTML: HeaderValue = HeaderValue::from_static("text/html; charset=UTF-8");

/// Headers that are the same in every response of a server.
pub struct Headers {
    display_name: HeaderValue,
    keep_alive: HeaderValue,
    time_zone: HeaderValue,
    default_response: String,
    ping: Vec<u8>,
    last_ping: Vec<u8>,
}

impl Headers {
    /// The headers of a server.
    pub fn new(server: &Server) -> Self {
        let settings = &server.config.load().server;
        let keep_alive = format!("timeout={}", settings.keep_alive_timeout);
        let display_name = settings.display_name.replace(|letter: char| letter.is_control(), " ");
        let ping = |connection: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\nX-ClickHouse-Server-Display-Name: {display_name}\r\n\
                 {connection}\r\nContent-Length: 4\r\n\r\nOk.\n"
            )
            .into_bytes()
        };
        let (ping, last_ping) = (ping(&format!("Keep-Alive: {keep_alive}")), ping("Connection: close"));
        Self {
            display_name: value(&display_name),
            keep_alive: value(&keep_alive),
            time_zone: value(&server.time_zone),
            default_response: settings.http_server_default_response.clone(),
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
    pub fn ok(&self) -> Response<Body> {
        self.page(StatusCode::OK, TEXT_HTML, "Ok.\n".to_owned())
    }

    /// The page for Prometheus.
    pub fn metrics(&self, text: String) -> Response<Body> {
        self.page(StatusCode::OK, metrics::CONTENT_TYPE, text)
    }

    /// `http_server_default_response` for `/`.
    pub fn default_page(&self) -> Response<Body> {
        self.page(StatusCode::OK, TEXT_HTML, self.default_response.clone())
    }

    /// What a path that means nothing gets.
    pub fn not_found(&self, path: &str) -> Response<Body> {
        let path: String = path.chars().take(200).collect();
        let text = format!(
            "There is no handle {path}\n\nUse / or /ping for health checks.\nOr /replicas_status for more sophisticated health checks.\n\n\
             Send queries from your program with POST method or GET /?query=...\n"
        );
        self.page(StatusCode::NOT_FOUND, TEXT_PLAIN, text)
    }

    /// What `OPTIONS` gets: browsers ask it before they send a query from another origin.
    pub fn options(&self) -> Response<Body> {
        let mut response = self.page(StatusCode::NO_CONTENT, TEXT_PLAIN, String::new());
        let headers = response.headers_mut();
        headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
        headers.insert("access-control-allow-headers", HeaderValue::from_static("origin, x-requested-with, x-clickhouse-format, x-clickhouse-user, x-clickhouse-key, x-clickhouse-database, Authorization, Content-Type"));
        headers.insert("access-control-allow-methods", HeaderValue::from_static("POST, GET, OPTIONS"));
        headers.insert("access-control-max-age", HeaderValue::from_static("86400"));
        response
    }

    /// An error that happened before the response began.
    pub fn error(&self, error: &Error, query_id: Option<&str>, context: Option<&QueryContext>) -> Response<Body> {
        let mut response = self.page(status_of(error.code), TEXT_PLAIN, exception_text(error));
        let headers = response.headers_mut();
        headers.insert(X_EXCEPTION_CODE.clone(), HeaderValue::from(error.code.0));
        if let Some(seconds) = error.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        self.add_query(headers, query_id.unwrap_or_default(), None, context);
        response
    }

    /// The response to a query, with its headers.
    pub fn query(&self, query: &QueryHeaders<'_>, body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.reserve(10);
        headers.insert(CONTENT_TYPE, query.content_type.map_or(TEXT_PLAIN, HeaderValue::from_static));
        if let Some(encoding) = query.content_encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        if let Some(tag) = query.exception_tag {
            headers.insert(X_EXCEPTION_TAG.clone(), value(tag));
        }
        self.add_query(headers, query.query_id, query.format, Some(query.context));
        if *query.time_zone != *self.time_zone.as_bytes() {
            headers.insert(X_TIME_ZONE.clone(), bytes_value(query.time_zone));
        }
        self.add_always(headers);
        response
    }

    fn page(&self, status: StatusCode, content_type: HeaderValue, text: String) -> Response<Body> {
        let mut response = Response::new(Body::full(text));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, content_type);
        self.add_always(response.headers_mut());
        response
    }

    fn add_always(&self, headers: &mut HeaderMap) {
        headers.insert(X_SERVER_DISPLAY_NAME.clone(), self.display_name.clone());
        headers.insert(KEEP_ALIVE.clone(), self.keep_alive.clone());
    }

    fn add_query(&self, headers: &mut HeaderMap, query_id: &str, format: Option<&str>, context: Option<&QueryContext>) {
        headers.insert(X_QUERY_ID.clone(), value(query_id));
        headers.insert(X_TIME_ZONE.clone(), self.time_zone.clone());
        if let Some(format) = format {
            headers.insert(X_FORMAT.clone(), value(format));
        }
        if let Some(context) = context {
            headers.insert(X_SUMMARY.clone(), value(&summary(context)));
        }
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

/// `X-ClickHouse-Summary`.
fn summary(context: &QueryContext) -> String {
    use std::fmt::Write;
    use std::sync::atomic::Ordering::Relaxed;
    let progress = &context.progress;
    let mut text = String::with_capacity(256);
    for (name, counter) in [
        ("{\"read_rows\":\"", &progress.read_rows),
        ("\",\"read_bytes\":\"", &progress.read_bytes),
        ("\",\"written_rows\":\"", &progress.written_rows),
        ("\",\"written_bytes\":\"", &progress.written_bytes),
        ("\",\"total_rows_to_read\":\"", &progress.total_rows_to_read),
        ("\",\"result_rows\":\"", &progress.result_rows),
        ("\",\"result_bytes\":\"", &progress.result_bytes),
    ] {
        text.push_str(name);
        let _ = write!(text, "{}", counter.load(Relaxed));
    }
    let _ = write!(
        text,
        "\",\"elapsed_ns\":\"{}\",\"memory_usage\":\"{}\"}}",
        context.started.elapsed().as_nanos(),
        context.memory.peak_bytes().max(0)
    );
    text
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
    format!("{error} {VERSION_SUFFIX}\n")
}

fn value(text: &str) -> HeaderValue {
    bytes_value(text.as_bytes())
}

/// A header's value; bytes that cannot stand in one are left out.
fn bytes_value(bytes: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(bytes).unwrap_or_else(|_| {
        let clean: Vec<u8> = bytes.iter().copied().filter(|byte| (b' '..0x7f).contains(byte)).collect();
        HeaderValue::from_bytes(&clean).unwrap_or_else(|_| HeaderValue::from_static(""))
    })
}
