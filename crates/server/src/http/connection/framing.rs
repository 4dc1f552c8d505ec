//! How a request stands in its connection: what follows its head, and whether anything follows it.

use hyper::Method;

/// More headers are hyper's.
pub(in crate::http) const FIELDS_MAX: usize = 64;
/// A longer body is hyper's.
const BODY_BYTES_MAX: usize = 64 << 10;

/// How a request stands in its connection, where that is simple.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) struct Framing {
    pub(in crate::http) method: Method,
    pub(in crate::http) body_bytes: usize,
    /// The client wants the connection closed after it.
    pub(in crate::http) is_last: bool,
}

impl Framing {
    /// `None` where it is not simple.
    pub(in crate::http) fn of(request: &httparse::Request<'_, '_>) -> Option<Self> {
        let method = match (request.version?, request.method?) {
            (1, "GET") => Method::GET,
            (1, "POST") => Method::POST,
            _ => return None,
        };
        let (mut body_bytes, mut connection) = (None, None);
        for line in &*request.headers {
            let is_named = |name: &str| line.name.eq_ignore_ascii_case(name);
            if is_named("content-length") {
                let text = std::str::from_utf8(line.value).ok()?;
                let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
                let bytes = text.parse().ok().filter(|bytes| is_number && *bytes <= BODY_BYTES_MAX)?;
                if body_bytes.replace(bytes).is_some() {
                    return None;
                }
            } else if is_named("connection") {
                let is_last = line.value.eq_ignore_ascii_case(b"close");
                // Of two, that is hyper's to say which counts.
                if (!is_last && !line.value.eq_ignore_ascii_case(b"keep-alive"))
                    || connection.replace(is_last).is_some()
                {
                    return None;
                }
            } else if is_named("transfer-encoding") || is_named("expect") || is_named("upgrade") {
                return None;
            }
        }
        Some(Self { method, body_bytes: body_bytes.unwrap_or(0), is_last: connection.unwrap_or(false) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(text: &str) -> Option<Framing> {
        let mut lines = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut lines);
        assert!(request.parse(text.as_bytes()).unwrap().is_complete(), "{text}");
        Framing::of(&request)
    }

    #[test]
    fn requests_that_are_simple_are_told_from_others() {
        let simple = |method, body_bytes, is_last| Some(Framing { method, body_bytes, is_last });
        for (head, expected) in [
            ("GET / HTTP/1.1\r\n", simple(Method::GET, 0, false)),
            ("POST / HTTP/1.1\r\nContent-Length: 12\r\nConnection: Keep-Alive\r\n", simple(Method::POST, 12, false)),
            ("GET / HTTP/1.1\r\nconnection: CLOSE\r\n", simple(Method::GET, 0, true)),
            ("GET / HTTP/1.1\r\nConnection: close\r\nConnection: keep-alive\r\n", None),
            ("GET / HTTP/1.0\r\n", None),
            ("PUT / HTTP/1.1\r\n", None),
            ("HEAD / HTTP/1.1\r\n", None),
            ("POST / HTTP/1.1\r\nContent-Length: 12\r\nContent-Length: 12\r\n", None),
            ("POST / HTTP/1.1\r\nContent-Length: +12\r\n", None),
            ("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n", None),
            ("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n", None),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", None),
            ("POST / HTTP/1.1\r\nExpect: 100-continue\r\n", None),
            ("GET / HTTP/1.1\r\nConnection: Upgrade\r\n", None),
        ] {
            assert_eq!(framing(&format!("{head}\r\n")), expected, "{head}");
        }
    }
}
