//! HTTP/1.1 as a load generator needs it: requests as bytes that are made once, and a parser that reads of a response what tells its end,
//! its fate and its body. No allocation and no copy but the body's, because the generator takes its CPU time from the server beside it.

use squall_types::{Error, ErrorCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::endpoint::Endpoint;
use squall_native::Transport;
use squall_native::{Failure, FailureKind};

/// The largest head of a response.
const HEAD_BYTES_MAX: usize = 1 << 16;
/// Bytes of a body that are kept: enough to compare answers and to find an exception's code.
pub const KEPT_BYTES: usize = super::statement::COMPARED_BYTES;
const READ_BYTES: usize = 1 << 12;
/// From this size on a query is sent as a body, because servers limit the length of a URL.
const URL_BYTES_MAX: usize = 8 << 10;

/// Appends the request for a query.
pub fn put_query(endpoint: &Endpoint, query: &str, is_post: bool, out: &mut Vec<u8>) {
    let mut target = "/?".to_owned();
    if endpoint.database != "default" {
        target.push_str("database=");
        put_escaped(&endpoint.database, &mut target);
        target.push('&');
    }
    for (name, value) in &endpoint.settings {
        put_escaped(name, &mut target);
        target.push('=');
        put_escaped(value, &mut target);
        target.push('&');
    }
    if endpoint.compression {
        target.push_str("enable_http_compression=1&");
    }
    if is_post || query.len() > URL_BYTES_MAX {
        put_head(endpoint, "POST", target.trim_end_matches(['?', '&']), Some(query.len()), out);
        out.extend_from_slice(query.as_bytes());
    } else {
        target.push_str("query=");
        put_escaped(query, &mut target);
        put_head(endpoint, "GET", &target, None, out);
    }
}

/// Appends the request for a path.
pub fn put_path(endpoint: &Endpoint, path: &str, out: &mut Vec<u8>) {
    put_head(endpoint, "GET", path, None, out);
}

fn put_head(endpoint: &Endpoint, method: &str, target: &str, body_bytes: Option<usize>, out: &mut Vec<u8>) {
    let mut line = |text: &str| out.extend_from_slice(text.as_bytes());
    line(method);
    line(" ");
    line(target);
    line(" HTTP/1.1\r\nHost: ");
    line(&endpoint.host);
    line(":");
    line(itoa::Buffer::new().format(endpoint.address.port()));
    line("\r\n");
    if endpoint.user != "default" || !endpoint.password.is_empty() {
        for (name, value) in [("X-ClickHouse-User", &endpoint.user), ("X-ClickHouse-Key", &endpoint.password)] {
            line(name);
            line(": ");
            line(value);
            line("\r\n");
        }
    }
    if endpoint.compression {
        line("Accept-Encoding: gzip\r\n");
    }
    if !endpoint.keep_alive {
        line("Connection: close\r\n");
    }
    if let Some(body_bytes) = body_bytes {
        line("Content-Length: ");
        line(itoa::Buffer::new().format(body_bytes));
        line("\r\n");
    }
    line("\r\n");
}

fn put_escaped(text: &str, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// Where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// After so many more bytes.
    Length(u64),
    /// After the empty chunk.
    Chunked(Chunk),
    /// With the connection.
    ToEnd,
}

/// Where in a chunked body the reader stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    /// Before or within the line with its size; the digits so far.
    Size(u64),
    /// In that line's extension, which nobody needs.
    Extension(u64),
    /// Within its data.
    Data(u64),
    /// Before the line break after its data.
    Break,
    /// After the empty chunk: a trailer's line begins.
    Trailer,
    /// Within such a line.
    TrailerLine,
    Done,
}

/// What a response's head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    bytes: usize,
    status: u16,
    framing: Framing,
    keeps_alive: bool,
    exception: Option<i32>,
}

fn malformed(what: &str, received: &[u8]) -> Failure {
    let message = format!("{what} from the HTTP server: {}", super::excerpt(received));
    Failure::protocol(Error::new(ErrorCode::INCORRECT_DATA, message))
}

/// Reads a head once all of it has come.
fn parse_head(received: &[u8]) -> Result<Option<Head>, Failure> {
    let mut head = Head { bytes: 0, status: 0, framing: Framing::ToEnd, keeps_alive: true, exception: None };
    let mut rest = received;
    loop {
        let Some(end) = memchr::memchr(b'\n', rest) else {
            return if received.len() > HEAD_BYTES_MAX {
                Err(malformed("A head that is too large", received))
            } else if head.status == 0 && received.len() >= 5 && !received.starts_with(b"HTTP/") {
                Err(malformed("No response", received))
            } else {
                Ok(None)
            };
        };
        let (line, after) = (rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]), &rest[end + 1..]);
        rest = after;
        if head.status == 0 {
            let status = line.strip_prefix(b"HTTP/1.").and_then(|line| line.get(2..5));
            head.status = status
                .and_then(number)
                .filter(|status| (100..1000).contains(status))
                .ok_or_else(|| malformed("No status", received))? as u16;
            head.keeps_alive = line.get(7) == Some(&b'1');
            continue;
        }
        let Some(first) = line.first() else {
            head.bytes = received.len() - rest.len();
            if matches!(head.status, 100..200 | 204 | 304) {
                head.framing = Framing::Length(0);
            }
            return Ok(Some(head));
        };
        // Of all headers only these are looked at; most lines are told from them by their first letter.
        match first {
            b'C' | b'c' => {
                if let Some(value) = header(line, b"content-length") {
                    let length = number(value).ok_or_else(|| malformed("A malformed length", received))?;
                    if !matches!(head.framing, Framing::Chunked(_)) {
                        head.framing = Framing::Length(length);
                    }
                } else if let Some(value) = header(line, b"connection") {
                    head.keeps_alive = !value.eq_ignore_ascii_case(b"close");
                }
            }
            b'T' | b't'
                if header(line, b"transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case(b"chunked")) =>
            {
                head.framing = Framing::Chunked(Chunk::Size(0));
            }
            b'X' | b'x' => {
                if let Some(value) = header(line, b"x-clickhouse-exception-code") {
                    head.exception = number(value).and_then(|code| i32::try_from(code).ok());
                }
            }
            _ => {}
        }
    }
}

/// The value of a header line if it is of this name.
fn header<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    let value = rest.strip_prefix(b":")?;
    found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

impl Framing {
    /// Takes body bytes from what was received, as far as they have come; returns how many bytes it took.
    fn take(&mut self, received: &[u8], body: &mut Body) -> Result<usize, Failure> {
        match self {
            Self::ToEnd => {
                body.add(received);
                Ok(received.len())
            }
            Self::Length(left) => {
                let taken = received.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= taken as u64;
                body.add(&received[..taken]);
                Ok(taken)
            }
            Self::Chunked(chunk) => {
                let mut at = 0;
                while let (Some(&byte), true) = (received.get(at), *chunk != Chunk::Done) {
                    if let Chunk::Data(left) = *chunk {
                        let taken = (received.len() - at).min(usize::try_from(left).unwrap_or(usize::MAX));
                        body.add(&received[at..at + taken]);
                        at += taken;
                        let left = left - taken as u64;
                        *chunk = if left == 0 { Chunk::Break } else { Chunk::Data(left) };
                        continue;
                    }
                    at += 1;
                    *chunk = match (*chunk, byte) {
                        (Chunk::Size(size) | Chunk::Extension(size), b'\n') => {
                            if size == 0 {
                                Chunk::Trailer
                            } else {
                                Chunk::Data(size)
                            }
                        }
                        (Chunk::Size(size), b'\r' | b';' | b' ') => Chunk::Extension(size),
                        (Chunk::Size(size), byte) => match char::from(byte).to_digit(16) {
                            Some(digit) if size < 1 << 56 => Chunk::Size(size << 4 | u64::from(digit)),
                            _ => return Err(malformed("A malformed chunk", received)),
                        },
                        (Chunk::Break, b'\n') => Chunk::Size(0),
                        (Chunk::Break, b'\r') => Chunk::Break,
                        (Chunk::Break, _) => return Err(malformed("A malformed chunk", received)),
                        (Chunk::Trailer, b'\n') => Chunk::Done,
                        (Chunk::Trailer, b'\r') => Chunk::Trailer,
                        (Chunk::TrailerLine, b'\n') => Chunk::Trailer,
                        (Chunk::Trailer | Chunk::TrailerLine, _) => Chunk::TrailerLine,
                        (other, _) => other,
                    };
                }
                Ok(at)
            }
        }
    }

    fn is_done(self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Done))
    }
}

/// The beginning of a body, and its length.
#[derive(Debug, Default)]
struct Body {
    kept: Vec<u8>,
    bytes: u64,
}

impl Body {
    fn add(&mut self, bytes: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.bytes += bytes.len() as u64;
    }
}

/// A connection over which requests are answered.
#[derive(Debug)]
pub struct HttpConnection {
    stream: Transport,
    received: Vec<u8>,
    body: Body,
    keeps_alive: bool,
    /// Bytes of the first request that went with the connection.
    sent: usize,
}

/// A response of status 200.
#[derive(Debug)]
pub struct Answer<'a> {
    /// The beginning of its body.
    pub body: &'a [u8],
    /// The whole body's length.
    pub body_bytes: u64,
}

impl HttpConnection {
    /// Connects, to send `request` first: where the connection is for it alone, its beginning goes at once.
    ///
    /// # Errors
    /// [`FailureKind::Connect`].
    pub async fn connect(endpoint: &Endpoint, request: &[u8]) -> Result<Self, Failure> {
        let connected = match &endpoint.tls {
            None if !endpoint.keep_alive => Transport::connect_and_send(endpoint.address, request).await,
            tls => Transport::connect(endpoint.address, tls.as_ref()).await.map(|stream| (stream, 0)),
        };
        let (stream, sent) = connected.map_err(|error| Failure::network(FailureKind::Connect, error))?;
        let received = Vec::with_capacity(READ_BYTES);
        Ok(HttpConnection { stream, received, body: Body::default(), keeps_alive: true, sent })
    }

    /// Whether the server has closed it since the last answer.
    pub fn is_stale(&self) -> bool {
        self.stream.is_stale()
    }

    /// Whether the last exchange went to its end, and the server keeps the connection.
    pub fn keeps_alive(&self) -> bool {
        self.keeps_alive
    }

    /// Sends a request and reads its response.
    ///
    /// # Errors
    /// A broken connection; a status other than 200, as ClickHouse's exception where it is one.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Answer<'_>, Failure> {
        self.keeps_alive = false;
        let rest = request.get(std::mem::take(&mut self.sent)..).unwrap_or_default();
        let written = async {
            if !rest.is_empty() {
                self.stream.write_all(rest).await?;
                self.stream.flush().await?;
            }
            Ok(())
        };
        written.await.map_err(|error: std::io::Error| Failure::network(FailureKind::Write, error))?;
        self.received.clear();
        self.body.kept.clear();
        self.body.bytes = 0;
        let head = loop {
            self.receive().await?;
            if let Some(head) = parse_head(&self.received)? {
                break head;
            }
        };
        let mut framing = head.framing;
        let mut taken = framing.take(&self.received[head.bytes..], &mut self.body)?;
        taken += head.bytes;
        while !framing.is_done() {
            self.received.drain(..taken);
            let ended = self.receive().await;
            if framing == Framing::ToEnd && ended.is_err() {
                break;
            }
            ended?;
            taken = framing.take(&self.received, &mut self.body)?;
        }
        self.keeps_alive = head.keeps_alive && framing != Framing::ToEnd;
        if head.status != 200 || head.exception.is_some() {
            return Err(refusal(&head, &self.body.kept));
        }
        Ok(Answer { body: &self.body.kept, body_bytes: self.body.bytes })
    }

    async fn receive(&mut self) -> Result<(), Failure> {
        self.received.reserve(READ_BYTES.min(self.received.len() + 1));
        match self.stream.read_buf(&mut self.received).await {
            Ok(0) => Err(Failure::network(FailureKind::Read, "The server closed the connection within a response")),
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::network(FailureKind::Read, error)),
        }
    }
}

/// The failure that a response means: an exception by its header, or by the text as older servers have it.
fn refusal(head: &Head, body: &[u8]) -> Failure {
    let text = super::excerpt(body);
    let in_text = || {
        let digits: String = text.strip_prefix("Code: ")?.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    match head.exception.or_else(in_text) {
        Some(code) => Failure::exception(Error::new(ErrorCode(code), text)),
        None => {
            let message = format!("HTTP status {}: {text}", head.status);
            Failure::new(FailureKind::Status(head.status), Error::new(ErrorCode::INCORRECT_DATA, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a response that comes in pieces of `piece` bytes; the rest of the last piece is left.
    fn read(response: &[u8], piece: usize) -> Result<Option<(Head, Vec<u8>)>, Failure> {
        let mut received = Vec::new();
        let mut pieces = response.chunks(piece);
        let head = loop {
            if let Some(head) = parse_head(&received)? {
                break head;
            }
            match pieces.next() {
                Some(piece) => received.extend_from_slice(piece),
                None => return Ok(None),
            }
        };
        let (mut framing, mut body) = (head.framing, Body::default());
        let mut rest = received.split_off(head.bytes);
        loop {
            let taken = framing.take(&rest, &mut body)?;
            rest.drain(..taken);
            if framing.is_done() {
                return Ok(Some((head, body.kept)));
            }
            match pieces.next() {
                Some(piece) => rest.extend_from_slice(piece),
                None => return Ok(None),
            }
        }
    }

    #[test]
    fn ends_of_responses_are_found_however_they_come() {
        let whole: [(&[u8], &[u8]); 4] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nOk.\n", b"Ok.\n"),
            (b"HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", b""),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n1\n\r\n0\r\n\r\n", b"1\n"),
            (b"HTTP/1.1 200 OK\nTransfer-Encoding: Chunked\n\nC;x=1\r\n0\r\n\r\n0\r\n\r\n12\r\n1\r\n3\r\n0\r\nX: y\r\n\r\n", b"0\r\n\r\n0\r\n\r\n123"),
        ];
        for (response, body) in whole {
            for piece in 1..=response.len() {
                let (head, read) = read(response, piece).unwrap().unwrap();
                assert_eq!((head.status, head.keeps_alive, read.as_slice()), (200, true, body));
            }
            for cut in 0..response.len() {
                assert!(read(&response[..cut], response.len()).unwrap().is_none(), "{cut}");
            }
        }
    }

    #[test]
    fn heads_say_what_counts() {
        let head = |text: &str| parse_head(text.as_bytes());
        let close = head("HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n").unwrap().unwrap();
        assert_eq!((close.keeps_alive, close.framing), (false, Framing::ToEnd));
        assert!(!head("HTTP/1.0 200 OK\r\n\r\n").unwrap().unwrap().keeps_alive);
        let bad =
            head("HTTP/1.1 500 Oh\r\nX-ClickHouse-Exception-Code: 60\r\nContent-Length: 0\r\n\r\n").unwrap().unwrap();
        assert_eq!(refusal(&bad, b"").kind, FailureKind::Exception(60));
        let old = head("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n").unwrap().unwrap();
        assert_eq!(refusal(&old, b"Code: 202, e.displayText() = Too many").kind, FailureKind::Exception(202));
        assert_eq!(refusal(&old, b"nginx").kind, FailureKind::Status(500));
        for bad in
            ["SSH-2.0\r\n\r\n", "SSH-2.0", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
        {
            assert_eq!(head(bad).unwrap_err().kind, FailureKind::Read, "{bad}");
        }
    }

    #[test]
    fn requests_are_escaped_and_say_who_asks() {
        let mut endpoint = Endpoint::http(8123);
        let mut out = Vec::new();
        put_query(&endpoint, "SELECT 'a&b'", false, &mut out);
        assert_eq!(out, b"GET /?query=SELECT%20%27a%26b%27 HTTP/1.1\r\nHost: 127.0.0.1:8123\r\n\r\n");
        endpoint.keep_alive = false;
        endpoint.user = "me".to_owned();
        endpoint.settings = vec![("max_threads".to_owned(), "1".to_owned())];
        out.clear();
        put_query(&endpoint, "INSERT", true, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "POST /?max_threads=1 HTTP/1.1\r\nHost: 127.0.0.1:8123\r\nX-ClickHouse-User: me\r\nX-ClickHouse-Key: \r\n\
             Connection: close\r\nContent-Length: 6\r\n\r\nINSERT"
        );
    }
}
