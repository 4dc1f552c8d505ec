//! `/ping` answered straight from the socket's bytes. Load balancers and storms ask nothing else of a connection, and the whole of
//! HTTP is not needed to say `Ok.`: as long as a connection sends these exact requests it never reaches hyper.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::response::Headers;
use super::trace::Pings;
use crate::network::Socket;

/// The request line that is answered here.
const REQUEST_LINE: &[u8] = b"GET /ping HTTP/1.1\r\n";
/// Headers longer than this are hyper's to refuse.
const HEADERS_BYTES_MAX: usize = 4096;

/// What is to be done with the bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// A whole request for `/ping` of so many bytes.
    Ping(usize),
    /// One, with nothing behind it, after which the client wants the connection closed.
    LastPing,
    /// The start of one; the rest has not come.
    Incomplete,
    /// Something else.
    Other,
}

fn next(bytes: &[u8]) -> Next {
    let line = bytes.len().min(REQUEST_LINE.len());
    if bytes.get(..line) != REQUEST_LINE.get(..line) {
        return Next::Other;
    }
    let Some(headers) = bytes.get(REQUEST_LINE.len()..) else { return Next::Incomplete };
    // The end of the line before the headers counts, so that a request without headers is seen.
    let from = REQUEST_LINE.len() - 2;
    let Some(end) = bytes.get(from..).and_then(|bytes| bytes.windows(4).position(|four| four == b"\r\n\r\n")) else {
        return if headers.len() > HEADERS_BYTES_MAX { Next::Other } else { Next::Incomplete };
    };
    let length = from + end + 4;
    // A header that says anything of a body, or of the connection but that it ends, needs the whole of HTTP.
    let mut next = Next::Ping(length);
    for line in headers.get(..length - REQUEST_LINE.len()).unwrap_or_default().split(|byte| *byte == b'\n') {
        if !matches!(line.first(), Some(b'c' | b'C' | b'e' | b'E' | b't' | b'T')) {
            continue;
        }
        let is_named = |name: &[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        if line.eq_ignore_ascii_case(b"connection: close\r") && length == bytes.len() {
            next = Next::LastPing;
        } else if [&b"connection:"[..], b"content-length:", b"expect:", b"transfer-encoding:"].into_iter().any(is_named)
        {
            return Next::Other;
        }
    }
    next
}

/// Answers requests for `/ping` until something else comes. Returns the bytes read beyond them, none where the client is gone, idle
/// for too long, or done: then the connection is to be closed.
///
/// # Errors
/// Where the socket fails.
pub async fn serve(
    stream: &mut Socket,
    address: SocketAddr,
    headers: &Headers,
    idle: std::time::Duration,
) -> io::Result<Option<Vec<u8>>> {
    let mut pings = Pings::default();
    let mut buffer: Vec<u8> = Vec::with_capacity(1024);
    let mut responses = Vec::new();
    // One timer for the connection, moved only when it fires: moving it for every request would cost more than the answer.
    let timer = tokio::time::sleep(idle);
    tokio::pin!(timer);
    let mut last = tokio::time::Instant::now();
    loop {
        // A read that leaves room in the buffer has emptied the socket, and tokio's `poll_read` knows it: one system call a request,
        // where `try_read` would need a second one to be told that nothing is left.
        let received = tokio::select! {
            biased;
            received = stream.read_buf(&mut buffer) => received?,
            () = &mut timer => {
                if last.elapsed() >= idle {
                    return Ok(None);
                }
                timer.as_mut().reset(last + idle);
                continue;
            }
        };
        if received == 0 {
            return Ok(None);
        }
        responses.clear();
        let mut done = 0;
        let mut is_last = false;
        let is_other = loop {
            let rest = buffer.get(done..).unwrap_or_default();
            match next(rest) {
                Next::Ping(length) => {
                    pings.request(rest.get(..length).unwrap_or_default(), address);
                    responses.extend_from_slice(headers.ping());
                    done += length;
                }
                Next::LastPing => {
                    pings.request(rest, address);
                    responses.extend_from_slice(headers.last_ping());
                    is_last = true;
                    break false;
                }
                Next::Incomplete => break false,
                Next::Other => break true,
            }
        };
        if !responses.is_empty() {
            stream.write_all(&responses).await?;
            stream.flush().await?;
        }
        if is_last {
            stream.shutdown_where_secure().await?;
            return Ok(None);
        }
        if done > 0 {
            buffer.drain(..done);
            last = tokio::time::Instant::now();
        }
        if is_other {
            return Ok(Some(buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let plain = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(next(plain), Next::Ping(plain.len()));
        assert_eq!(next(b"GET /ping HTTP/1.1\r\n\r\nGET /"), Next::Ping(22));
        for (bytes, expected) in [
            (&b""[..], Next::Incomplete),
            (b"GET /pi", Next::Incomplete),
            (b"GET /ping HTTP/1.1\r\nHost: x\r\n", Next::Incomplete),
            (b"GET /?query=SELECT", Next::Other),
            (b"GET /ping HTTP/1.0\r\n\r\n", Next::Other),
            (b"POST /", Next::Other),
            (b"GET /ping HTTP/1.1\r\nConnection: close\r\n\r\n", Next::LastPing),
            (b"GET /ping HTTP/1.1\r\nHost: x\r\nconnection: Close\r\nAccept: */*\r\n\r\n", Next::LastPing),
            (b"GET /ping HTTP/1.1\r\nConnection: close\r\n\r\nGET /", Next::Other),
            (b"GET /ping HTTP/1.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", Next::Other),
            (b"GET /ping HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", Next::Other),
            (b"GET /ping HTTP/1.1\r\nHost: x\r\ncontent-length: 5\r\n\r\n", Next::Other),
        ] {
            assert_eq!(next(bytes), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
