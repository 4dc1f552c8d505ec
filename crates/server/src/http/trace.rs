//! What the log says of HTTP requests, most of it at `trace`, in ClickHouse's words. Storms ask for `/ping` with the trace on too, so a request that
//! says what the one before it said is logged in the same words, without being read again.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::net::SocketAddr;

use hyper::header::HeaderName;
use squall_types::Error;

use crate::http::request::head::RequestHead;

/// Who logs requests; in ClickHouse this makes their handlers.
const FACTORY: &str = "HTTPHandler-factory";
/// Who logs what queries come with.
const QUERY_HANDLER: &str = "DynamicQueryHandler";

/// Whether requests are logged.
fn is_wanted() -> bool {
    tracing::enabled!(target: FACTORY, tracing::Level::TRACE)
}

/// Logs that a request has come.
pub(super) fn request(head: &RequestHead<'_>, address: SocketAddr) {
    if is_wanted() {
        let header = |name: &'static str| head.fields.get(&HeaderName::from_static(name));
        tracing::trace!(target: FACTORY, "{}", message(head.method.as_str(), address, header));
    }
}

/// Logs where a query is asked for, without the password that stands there.
pub(super) fn uri(head: &RequestHead<'_>) {
    if tracing::enabled!(target: QUERY_HANDLER, tracing::Level::TRACE) {
        let query = head.url_query.map(|query| format!("?{}", without_password(query))).unwrap_or_default();
        tracing::trace!(target: QUERY_HANDLER, "Request URI: {}{query}", head.path);
    }
}

/// Logs that a client is not let in.
pub(super) fn refusal(error: &Error, address: SocketAddr) {
    tracing::error!(target: QUERY_HANDLER, "{error} (from {address})");
}

/// Requests of one connection for `/ping`, which are the same again and again.
#[derive(Debug, Default)]
pub(super) struct Pings {
    last: Vec<u8>,
    message: String,
}

impl Pings {
    /// Logs one that is written in these bytes.
    pub(super) fn request(&mut self, bytes: &[u8], address: SocketAddr) {
        if !is_wanted() {
            return;
        }
        if self.last != bytes {
            self.last.clear();
            self.last.extend_from_slice(bytes);
            self.message = message("GET", address, |name| raw_header(bytes, name));
        }
        tracing::trace!(target: FACTORY, "{}", self.message);
    }
}

fn message<'a>(method: &str, address: SocketAddr, header: impl Fn(&'static str) -> Option<&'a [u8]>) -> String {
    let text = |name: &'static str, default: &'static str| header(name).map_or(default.into(), String::from_utf8_lossy);
    let mut message = String::with_capacity(256);
    // Writing to a String does not fail.
    let _ = write!(
        message,
        "HTTP Request for {FACTORY}. Method: {method}, Address: {address}, User-Agent: {}",
        text("user-agent", "(none)")
    );
    if let Some(length) = header("content-length") {
        let _ = write!(message, ", Length: {}", String::from_utf8_lossy(length));
    }
    let _ = write!(
        message,
        ", Content Type: {}, Transfer Encoding: {}, X-Forwarded-For: {}",
        text("content-type", ""),
        text("transfer-encoding", "identity"),
        text("x-forwarded-for", "(none)")
    );
    message
}

/// The value of a header in the bytes of a whole request.
fn raw_header<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    bytes.split(|byte| *byte == b'\n').skip(1).find_map(|line| {
        let (start, rest) = line.split_at_checked(name.len())?;
        let is_it = start.eq_ignore_ascii_case(name.as_bytes());
        rest.strip_prefix(b":").filter(|_| is_it).map(<[u8]>::trim_ascii)
    })
}

/// A URL's parameters with the value of `password` hidden.
fn without_password(query: &str) -> Cow<'_, str> {
    let is_password = |pair: &str| pair.starts_with("password=");
    if !query.split('&').any(is_password) {
        return query.into();
    }
    let pairs: Vec<&str> =
        query.split('&').map(|pair| if is_password(pair) { "password=[HIDDEN]" } else { pair }).collect();
    pairs.join("&").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_described_as_clickhouse_does() {
        let bytes = b"GET /ping HTTP/1.1\r\nHost: x\r\nuser-agent: wrk/4.2 \r\nX-Forwarded-For: 10.0.0.1\r\n\r\n";
        assert_eq!(
            message("GET", "127.0.0.1:5000".parse().unwrap(), |name| raw_header(bytes, name)),
            "HTTP Request for HTTPHandler-factory. Method: GET, Address: 127.0.0.1:5000, User-Agent: wrk/4.2, \
             Content Type: , Transfer Encoding: identity, X-Forwarded-For: 10.0.0.1"
        );
        assert_eq!(
            message("POST", "[::1]:5000".parse().unwrap(), |name| (name == "content-length").then_some(b"8")),
            "HTTP Request for HTTPHandler-factory. Method: POST, Address: [::1]:5000, User-Agent: (none), Length: 8, \
             Content Type: , Transfer Encoding: identity, X-Forwarded-For: (none)"
        );
    }

    #[test]
    fn passwords_are_hidden() {
        assert_eq!(without_password("query=SELECT+1&password"), "query=SELECT+1&password");
        assert_eq!(without_password("user=u&password=secret&query=1"), "user=u&password=[HIDDEN]&query=1");
        assert_eq!(without_password("password=a&password=b"), "password=[HIDDEN]&password=[HIDDEN]");
    }
}
