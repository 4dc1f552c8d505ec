//! `/ping` in the bytes of a connection, found without parsing them.

use crate::http::request::head::HEAD_BYTES_MAX;

/// The request line of a ping.
const PING_LINE: &[u8] = b"GET /ping HTTP/1.1\r\n";

/// What bytes that may be a ping are.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) enum Ping {
    /// A whole request of so many bytes.
    Whole(usize),
    /// One, with nothing behind it, after which the client wants the connection closed.
    Last,
    /// The start of one; the rest has not come.
    Incomplete,
    /// Something else.
    Other,
}

/// Load balancers and storms ask nothing else of a connection, and no header has to be understood to say `Ok.`.
pub(in crate::http) fn ping(bytes: &[u8]) -> Ping {
    let line = bytes.len().min(PING_LINE.len());
    if bytes.get(..line) != PING_LINE.get(..line) {
        return Ping::Other;
    }
    let Some(headers) = bytes.get(PING_LINE.len()..) else { return Ping::Incomplete };
    // The end of the line before the headers counts, so that a request without headers is seen.
    let from = PING_LINE.len() - 2;
    let Some(end) = bytes.get(from..).and_then(|bytes| bytes.windows(4).position(|four| four == b"\r\n\r\n")) else {
        return if headers.len() > HEAD_BYTES_MAX { Ping::Other } else { Ping::Incomplete };
    };
    let length = from + end + 4;
    // A header that says anything of a body, or of the connection but that it ends, has to be understood.
    let mut ping = Ping::Whole(length);
    let mut blank_lines = 0;
    for line in headers.get(..length - PING_LINE.len()).unwrap_or_default().split(|byte| *byte == b'\n') {
        if !matches!(line.first(), Some(b'c' | b'C' | b'e' | b'E' | b't' | b'T')) {
            blank_lines += usize::from(matches!(line, b"" | b"\r"));
            continue;
        }
        let is_named = |name: &[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if line.eq_ignore_ascii_case(b"connection: close\r") && length == bytes.len() {
            ping = Ping::Last;
        } else if [&b"connection:"[..], b"content-length:", b"expect:", b"transfer-encoding:"].into_iter().any(is_named)
        {
            return Ping::Other;
        }
    }
    // The last line, and nothing after it. Others end the head for who takes a line feed alone for the end of a line.
    if blank_lines > 2 { Ping::Other } else { ping }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pings_are_told_apart() {
        let plain = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(ping(plain), Ping::Whole(plain.len()));
        assert_eq!(ping(b"GET /ping HTTP/1.1\r\n\r\nGET /"), Ping::Whole(22));
        for (bytes, expected) in [
            (&b""[..], Ping::Incomplete),
            (b"GET /pi", Ping::Incomplete),
            (b"GET /ping HTTP/1.1\r\nHost: x\r\n", Ping::Incomplete),
            (b"GET /?query=SELECT", Ping::Other),
            (b"GET /ping HTTP/1.0\r\n\r\n", Ping::Other),
            (b"POST /", Ping::Other),
            (b"GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n", Ping::Last),
            (b"GET /ping HTTP/1.1\r\nHost: x\r\nconnection: Close\r\nAccept: */*\r\n\r\n", Ping::Last),
            (b"GET /ping HTTP/1.1\r\nConnection: close\r\n\r\nGET /", Ping::Other),
            (b"GET /ping HTTP/1.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", Ping::Other),
            (b"GET /ping HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", Ping::Other),
            (b"GET /ping HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\n", Ping::Other),
            (b"GET /ping HTTP/1.1\r\nHost: x\n\nGET / HTTP/1.1\r\n\r\n", Ping::Other),
            (b"GET /ping HTTP/1.1\r\nHost: x\n\r\nGET / HTTP/1.1\r\n\r\n", Ping::Other),
            (b"GET /ping HTTP/1.1\r\n\nGET / HTTP/1.1\r\n\r\n", Ping::Other),
            (b"GET /ping HTTP/1.1\r\nHost: x\nAccept: */*\r\n\r\n", Ping::Whole(43)),
        ] {
            assert_eq!(ping(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
