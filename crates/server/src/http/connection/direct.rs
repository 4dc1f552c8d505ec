//! Requests read and answered straight on the socket: those that are there whole, which nearly all short queries and all pings are.
//! A hundred thousand times a second the whole of HTTP is worth saving: hyper's reading and writing costs as much as a short query.
//! A request that is long, or asks for more of HTTP, hands its connection over to hyper for good.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Buf, Bytes};
use hyper::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use crate::http::connection::client_socket::ClientSocket;
use crate::http::connection::framing::{FIELDS_MAX, Framing};
use crate::http::connection::ping::{Ping, ping};
use crate::http::connection::response_future::ResponseFuture;
use crate::http::handler::{Answer, Connection};
use crate::http::request::head::{HEAD_BYTES_MAX, RequestFields, RequestHead};
use crate::http::request::input::RequestBody;
use crate::http::response::Response;
use crate::http::response::body::{Body, Stream};
use crate::http::response::date;
use crate::http::response::progress::STATUS_LINE;
use crate::http::trace::Pings;

/// What an idle connection keeps of the memory that its requests took.
const KEPT_BYTES_MAX: usize = 16 << 10;
/// Bytes of requests that a client may have sent ahead while one is answered.
const AHEAD_BYTES_MAX: usize = 64 << 10;
/// Room that a read has at least.
const READ_BYTES_MIN: usize = 512;
/// Longer bodies of responses are sent from where they are.
const COPIED_BYTES_MAX: usize = 16 << 10;
/// What a client gets that takes too long for a head.
const HEAD_TIMEOUT: &str = "Timeout exceeded while reading HTTP headers (http_headers_read_timeout)";
/// Responses to requests that came together are sent together, up to so many bytes.
const TOGETHER_BYTES_MAX: usize = 64 << 10;

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Timeouts {
    /// From one request to the next.
    pub(in crate::http) idle: Duration,
    /// From the first byte of a request's head to the last; `None` is unlimited.
    pub(in crate::http) head: Option<Duration>,
    /// For a request's body.
    pub(in crate::http) body: Duration,
}

/// What the bytes of a connection begin with.
enum Next {
    /// A whole request for `/ping` of so many bytes.
    Ping(usize),
    /// One, with nothing behind it, after which the client wants the connection closed.
    LastPing,
    /// Another whole request, with its body at these bytes.
    Request { answer: Answer, body: Range<usize>, is_last: bool },
    /// The start of a request; the rest of its head, or of a body of so many bytes, has not come.
    Incomplete { body_bytes: usize },
    /// Something for hyper.
    Other,
}

/// Answers requests until one comes that is hyper's: then what was read of it is returned. `None` where the client is gone, idle
/// or slow for too long, or done: then the connection is to be closed.
///
/// # Errors
/// Where the socket fails.
pub(in crate::http) async fn serve(
    socket: &mut ClientSocket,
    connection: &Arc<Connection>,
    timeouts: Timeouts,
) -> io::Result<Option<Vec<u8>>> {
    connection.progress.open(true);
    let mut received: Vec<u8> = Vec::with_capacity(1024);
    let mut out = Vec::new();
    let mut pings = Pings::default();
    // One timer for the connection, moved only when it fires: moving it for every request would cost more than the answer.
    let timer = tokio::time::sleep(timeouts.idle);
    tokio::pin!(timer);
    let mut last = Instant::now();
    // When the head must be whole that has begun to come, where that is limited.
    let mut head_end: Option<Instant> = None;
    let mut body_bytes_missing = 0;
    // What is known of a request that has not come whole, so that one that trickles in is not parsed with every byte: how many bytes hold no
    // end of its head, or how many there are once its body is whole.
    let (mut headless_bytes, mut whole_bytes) = (0usize, 0usize);
    loop {
        if received.capacity() - received.len() < READ_BYTES_MIN.max(body_bytes_missing) {
            received.reserve(READ_BYTES_MIN.max(body_bytes_missing));
        }
        // A read that leaves room in the buffer has emptied the socket, and tokio's `poll_read` knows it: one system call a request,
        // where `try_read` would need a second one to be told that nothing is left.
        let length = tokio::select! {
            biased;
            length = socket.read_buf(&mut received) => length?,
            () = &mut timer => {
                let patience = if body_bytes_missing == 0 { timeouts.idle } else { timeouts.body };
                let end = head_end.unwrap_or(last + patience);
                if end > Instant::now() {
                    timer.as_mut().reset(end);
                    continue;
                }
                if head_end.is_some() {
                    let response = connection.headers.bad_request(HEAD_TIMEOUT);
                    respond(socket, response, false, true, &mut out, &mut received).await?;
                    send(socket, &mut out).await?;
                    socket.shutdown().await?;
                    return Ok(None);
                }
                // A client that keeps its request's body to itself is told so.
                return Ok((body_bytes_missing > 0).then_some(received));
            }
        };
        if length == 0 {
            return Ok(None);
        }
        if received.len() < whole_bytes {
            body_bytes_missing = whole_bytes - received.len();
            continue;
        }
        if headless_bytes > 0 && received.len() <= connection.limits.head_bytes_max {
            let unseen = received.get(headless_bytes.saturating_sub(2)..).unwrap_or_default();
            if !holds_end_of_head(unseen) {
                headless_bytes = received.len();
                continue;
            }
        }
        (headless_bytes, whole_bytes) = (0, 0);
        let mut done = 0;
        let mut busy = None;
        loop {
            let rest = received.get(done..).unwrap_or_default();
            match next(rest, connection) {
                Next::Ping(length) => {
                    pings.request(rest.get(..length).unwrap_or_default(), connection.address);
                    out.extend_from_slice(connection.headers.ping());
                    done += length;
                }
                Next::LastPing => {
                    pings.request(rest, connection.address);
                    out.extend_from_slice(connection.headers.last_ping());
                    socket.close_with(&out).await?;
                    return Ok(None);
                }
                Next::Request { answer, body, is_last } => {
                    let sent =
                        Bytes::copy_from_slice(received.get(done + body.start..done + body.end).unwrap_or_default());
                    done += body.end;
                    let mut is_begun = false;
                    let response = match answer {
                        Answer::Page(response) => response,
                        Answer::RulePage(page) => Box::pin(connection.read_page(&page)).await,
                        Answer::Query(http, client) => {
                            send(socket, &mut out).await?;
                            busy = Some(connection.keep_busy());
                            let making = connection.clone().run(http, client, RequestBody::Whole(sent));
                            let mut making = ResponseFuture::new(connection.clone(), making);
                            loop {
                                tokio::select! {
                                    biased;
                                    response = &mut making => break response,
                                    () = client_is_gone(socket, &mut received) => return Ok(None),
                                    () = connection.progress.changed() => {}
                                }
                                let lines = connection.progress.take();
                                if !lines.is_empty() {
                                    if !is_begun {
                                        out.extend_from_slice(STATUS_LINE);
                                        is_begun = true;
                                    }
                                    out.extend_from_slice(&lines);
                                    send(socket, &mut out).await?;
                                }
                            }
                        }
                    };
                    // What was said since is in the summary.
                    connection.progress.take();
                    respond(socket, response, is_begun, is_last, &mut out, &mut received).await?;
                    if is_last {
                        if received.len() == done {
                            socket.close_with(&out).await?;
                        } else {
                            send(socket, &mut out).await?;
                            socket.shutdown().await?;
                        }
                        return Ok(None);
                    }
                }
                Next::Incomplete { body_bytes } => {
                    socket.acknowledge();
                    body_bytes_missing = body_bytes;
                    let bytes = received.len() - done;
                    if body_bytes == 0 {
                        headless_bytes = bytes;
                        // It may have begun behind requests that were answered.
                        if done > 0 || head_end.is_none() {
                            head_end = timeouts.head.and_then(|timeout| Instant::now().checked_add(timeout));
                            if let Some(end) = head_end {
                                timer.as_mut().reset(end);
                            }
                        }
                    } else {
                        whole_bytes = bytes + body_bytes;
                        head_end = None;
                    }
                    break;
                }
                Next::Other => {
                    send(socket, &mut out).await?;
                    received.drain(..done);
                    return Ok(Some(received));
                }
            }
            if done == received.len() {
                body_bytes_missing = 0;
                head_end = None;
                break;
            }
            if out.len() > TOGETHER_BYTES_MAX {
                send(socket, &mut out).await?;
            }
        }
        send(socket, &mut out).await?;
        drop(busy);
        if done > 0 {
            received.drain(..done);
            received.shrink_to(KEPT_BYTES_MAX);
            last = Instant::now();
        }
    }
}

/// Sends what is laid out.
async fn send(socket: &mut ClientSocket, out: &mut Vec<u8>) -> io::Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    socket.write_all(out).await?;
    socket.flush().await?;
    out.clear();
    // An idle connection keeps no more than it needs for the next short answer.
    out.shrink_to(COPIED_BYTES_MAX);
    Ok(())
}

/// Lays a response out, and sends it where it is long. Where it is begun its status was sent.
async fn respond(
    socket: &mut ClientSocket,
    response: Response,
    is_begun: bool,
    is_last: bool,
    out: &mut Vec<u8>,
    received: &mut Vec<u8>,
) -> io::Result<()> {
    if is_begun {
        out.extend_from_slice(b"Date: ");
    } else if response.status == StatusCode::OK {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\nDate: ");
    } else {
        let reason = response.status.canonical_reason().unwrap_or_default();
        out.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\nDate: ", response.status.as_str()).as_bytes());
    }
    date::append(SystemTime::now(), out);
    let connection: &[u8] = if is_last { b"\r\nConnection: close\r\n" } else { b"\r\n" };
    out.extend_from_slice(connection);
    out.extend_from_slice(&response.fields);
    match response.body {
        Body::Full(bytes) => {
            out.extend_from_slice(b"Content-Length: ");
            out.extend_from_slice(itoa::Buffer::new().format(bytes.len()).as_bytes());
            out.extend_from_slice(b"\r\n\r\n");
            if bytes.len() <= COPIED_BYTES_MAX {
                out.extend_from_slice(&bytes);
                return Ok(());
            }
            socket.write_all_buf(&mut Buf::chain(&out[..], bytes)).await?;
            out.clear();
            socket.flush().await
        }
        Body::Stream(stream) => {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
            send_chunks(socket, stream, out, received).await
        }
    }
}

/// Sends a body piece by piece as it is made.
async fn send_chunks(
    socket: &mut ClientSocket,
    mut stream: Stream,
    out: &mut Vec<u8>,
    received: &mut Vec<u8>,
) -> io::Result<()> {
    loop {
        let piece = tokio::select! {
            biased;
            piece = poll_fn(|task| stream.poll(task)) => piece,
            () = client_is_gone(socket, received) => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        let Some(piece) = piece else {
            out.extend_from_slice(b"\r\n0\r\n\r\n");
            return Ok(());
        };
        let piece = piece.map_err(io::Error::other)?;
        // The line's end before a chunk's length ends the chunk before it, or the headers.
        out.extend_from_slice(format!("\r\n{:x}\r\n", piece.len()).as_bytes());
        socket.write_all_buf(&mut Buf::chain(&out[..], piece)).await?;
        out.clear();
        socket.flush().await?;
    }
}

/// Returns when the client has closed the connection. What it sends meanwhile is kept, up to a limit: beyond it nothing is read.
async fn client_is_gone(socket: &mut ClientSocket, received: &mut Vec<u8>) {
    while received.len() < AHEAD_BYTES_MAX {
        received.reserve(READ_BYTES_MIN);
        if !matches!(socket.read_buf(received).await, Ok(1..)) {
            return;
        }
    }
    std::future::pending().await
}

/// What bytes begin with; a request that is whole is answered, or read as a query.
fn next(bytes: &[u8], connection: &Connection) -> Next {
    let ping = if connection.answers_pings() { ping(bytes) } else { Ping::Other };
    match ping {
        Ping::Whole(length) => return Next::Ping(length),
        Ping::Last => return Next::LastPing,
        Ping::Incomplete => return Next::Incomplete { body_bytes: 0 },
        Ping::Other => {}
    }
    let mut lines = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    match parse(bytes, &mut lines, connection.limits.head_bytes_max) {
        Parsed::Request { framing, path, url_query, fields, body } => {
            let fields = RequestFields::Lines(fields);
            let answer = connection.answer(&RequestHead { method: &framing.method, path, url_query, fields });
            Next::Request { answer, body, is_last: framing.is_last }
        }
        Parsed::Incomplete { body_bytes } => Next::Incomplete { body_bytes },
        Parsed::Other => Next::Other,
    }
}

/// What bytes begin with, before anybody answers.
enum Parsed<'a> {
    Request {
        framing: Framing,
        path: &'a str,
        url_query: Option<&'a str>,
        fields: &'a [httparse::Header<'a>],
        body: Range<usize>,
    },
    Incomplete {
        body_bytes: usize,
    },
    Other,
}

fn parse<'a>(bytes: &'a [u8], lines: &'a mut [MaybeUninit<httparse::Header<'a>>], head_bytes_max: usize) -> Parsed<'a> {
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, lines) {
        Ok(httparse::Status::Complete(length)) if length <= HEAD_BYTES_MAX => length,
        Ok(httparse::Status::Partial) if bytes.len() <= head_bytes_max => return Parsed::Incomplete { body_bytes: 0 },
        // What is wrong with a request hyper says.
        _ => return Parsed::Other,
    };
    let (Some(framing), Some(target)) = (Framing::of(&request), request.path) else { return Parsed::Other };
    if !target.starts_with('/') || target.contains('#') {
        return Parsed::Other;
    }
    let missing = (length + framing.body_bytes).saturating_sub(bytes.len());
    if missing > 0 {
        return Parsed::Incomplete { body_bytes: missing };
    }
    let (path, url_query) = match target.split_once('?') {
        Some((path, url_query)) => (path, Some(url_query)),
        None => (target, None),
    };
    // Letters that hyper takes for a URL that is none: it says so.
    if path.contains(['<', '>', '`']) || url_query.is_some_and(|query| query.contains(['<', '>', '"'])) {
        return Parsed::Other;
    }
    let body = length..length + framing.body_bytes;
    Parsed::Request { framing, path, url_query, fields: request.headers, body }
}

/// A request as this reader understands it, for comparing it with what hyper understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectRequest {
    /// `GET` or `POST`.
    pub method: hyper::Method,
    /// What stands before `?`.
    pub path: String,
    /// What stands behind it.
    pub url_query: Option<String>,
    /// The headers; `None` of a ping, whose headers are not looked at.
    pub fields: Option<Vec<(String, Vec<u8>)>>,
    /// Where its body is, which ends where the next request begins.
    pub body: Range<usize>,
    /// Whether the connection ends with it.
    pub is_last: bool,
}

impl DirectRequest {
    /// The request that bytes begin with, where this reader would answer it.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let ping_of = |length: usize, is_last: bool| {
            let path = "/ping".to_owned();
            Some(Self {
                method: hyper::Method::GET,
                path,
                url_query: None,
                fields: None,
                body: length..length,
                is_last,
            })
        };
        match ping(bytes) {
            Ping::Whole(length) => return ping_of(length, false),
            Ping::Last => return ping_of(bytes.len(), true),
            Ping::Incomplete => return None,
            Ping::Other => {}
        }
        let mut lines = [const { MaybeUninit::uninit() }; FIELDS_MAX];
        let Parsed::Request { framing, path, url_query, fields, body } = parse(bytes, &mut lines, HEAD_BYTES_MAX)
        else {
            return None;
        };
        let fields = fields.iter().map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec())).collect();
        Some(Self {
            method: framing.method,
            path: path.to_owned(),
            url_query: url_query.map(str::to_owned),
            fields: Some(fields),
            body,
            is_last: framing.is_last,
        })
    }
}

/// Whether an empty line is in it, by the loosest rules of HTTP.
fn holds_end_of_head(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|end| {
        let rest = bytes.get(end + 1..).unwrap_or_default();
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}
