//! Requests, as the reader that answers straight on the socket understands them and as hyper does: where the first takes a request at all, both see the
//! same one, and the next one begins where both say.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use squall_server::http::DirectRequest;
use tokio::io::AsyncWriteExt;

pub const WORDS: &[&str] = &[
    "GET ",
    "POST ",
    "HEAD ",
    "/ping",
    "/?query=SELECT+1",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    "\r\n",
    "\r\n\r\n",
    "\n\n",
    "Host: x",
    "Content-Length: ",
    "Content-Length: 5",
    "Transfer-Encoding: chunked",
    "Connection: close",
    "Connection: keep-alive",
    "Expect: 100-continue",
    "Upgrade: h2c",
    ": ",
    "\t",
    " ",
    "5\r\nhello\r\n0\r\n\r\n",
    "%00",
    "#",
    "?",
    "X-ClickHouse-User: a",
];

/// What hyper saw of one request.
#[derive(Debug)]
struct Seen {
    request: Request<()>,
    body: Option<Bytes>,
}

pub fn run(bytes: &[u8]) {
    let Some(direct) = DirectRequest::read(bytes) else { return };
    // Hyper refuses some bytes that people write into URLs, as in `SELECT 1<2`; neither reads anything else out of them.
    let target =
        direct.url_query.as_ref().map_or_else(|| direct.path.clone(), |query| format!("{}?{query}", direct.path));
    if target.parse::<hyper::http::uri::PathAndQuery>().is_err() {
        return;
    }
    // Alone first: it has to be whole, and the same.
    let length = direct.body.end;
    let first = ask_hyper(bytes.get(..length).unwrap_or_default());
    // A ping's headers are not looked at: what hyper refuses is one nevertheless, and ends where it ends.
    if direct.fields.is_none() && first.is_empty() {
        return;
    }
    assert_eq!(first.len(), 1, "requests that hyper sees in what is one: {direct:?}");
    let Some(seen) = first.first() else { return };
    assert_eq!(*seen.request.method(), direct.method);
    assert_eq!(seen.request.uri().path(), direct.path);
    assert_eq!(seen.request.uri().query(), direct.url_query.as_deref());
    assert_eq!(seen.body.as_deref(), bytes.get(direct.body.clone()), "the body");
    if let Some(fields) = &direct.fields {
        let mut theirs: Vec<_> = seen
            .request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        let mut ours = fields.clone();
        // Hyper keeps those of one name together; among themselves they stay in order.
        theirs.sort_by(|left, right| left.0.cmp(&right.0));
        ours.sort_by(|left, right| left.0.cmp(&right.0));
        assert_eq!(theirs, ours);
    }
    // With another behind it: hyper sees that one exactly where the connection goes on.
    const NEXT: &[u8] = b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n";
    let both = [bytes.get(..length).unwrap_or_default(), NEXT].concat();
    let paths: Vec<String> = ask_hyper(&both).iter().map(|seen| seen.request.uri().path().to_owned()).collect();
    let has_next = paths.len() == 2 && paths.last().is_some_and(|path| path == "/next");
    // A ping that is the last one is only one where nothing follows.
    if direct.fields.is_some() || !direct.is_last {
        assert_eq!(has_next, !direct.is_last, "{paths:?} after {direct:?}");
    }
}

/// The requests that hyper reads.
fn ask_hyper(bytes: &[u8]) -> Vec<Seen> {
    thread_local! {
        static RUNTIME: Option<tokio::runtime::Runtime> =
            tokio::runtime::Builder::new_current_thread().build().ok();
    }
    let seen: Rc<RefCell<Vec<Seen>>> = Rc::default();
    let noted = seen.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let noted = noted.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.ok().map(|body| body.to_bytes());
            noted.borrow_mut().push(Seen { request: Request::from_parts(parts, ()), body });
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        }
    });
    RUNTIME.with(|runtime| {
        let Some(runtime) = runtime else { return };
        runtime.block_on(async {
            let (mut client, server) = tokio::io::duplex(bytes.len() + (64 << 10));
            if client.write_all(bytes).await.is_err() || client.shutdown().await.is_err() {
                return;
            }
            let _ = http1::Builder::new()
                .half_close(true)
                .max_headers(10_000)
                .serve_connection(TokioIo::new(server), service)
                .await;
        });
    });
    seen.take()
}
