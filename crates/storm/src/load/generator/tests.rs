//! Loads on scripted servers whose faults are known, so that every request must be found again in the outcome.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::{Endpoint, Expectation, Limit, Statement, Stream};
use super::*;

/// An HTTP server that answers each request, by its number on the connection, with what `answer` says: bytes, or nothing to hang up.
async fn server(answer: fn(u64) -> Option<&'static [u8]>) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (peer, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(peer, answer));
        }
    });
    Endpoint::http(port)
}

async fn serve(mut peer: TcpStream, answer: fn(u64) -> Option<&'static [u8]>) {
    let mut received = Vec::new();
    for request in 0.. {
        while !received.ends_with(b"\r\n\r\n") {
            if peer.read_buf(&mut received).await.unwrap_or(0) == 0 {
                return;
            }
        }
        received.clear();
        match answer(request) {
            Some(bytes) if peer.write_all(bytes).await.is_ok() => {}
            _ => return,
        }
    }
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1\n";
const OTHER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n2\n";
const REFUSED: &[u8] = b"HTTP/1.1 500 Error\r\nX-ClickHouse-Exception-Code: 202\r\nContent-Length: 9\r\n\r\nCode: 202";
const SILENCE: &[u8] = b"HTTP/1.1 200 OK\r\n";

fn counted(requests: u64, streams: Vec<Stream>) -> Load {
    let limit = Limit { duration: None, requests: Some(requests) };
    Load { limit, threads: Some(2), ..Load::new(streams, Duration::ZERO) }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_answered_and_counted() {
    let endpoint = server(|_| Some(OK)).await;
    let mut statement = Statement::query("all", "SELECT 1");
    statement.expectation = Expectation::Text(b"1".as_slice().into());
    for keep_alive in [true, false] {
        let endpoint = Endpoint { keep_alive, ..endpoint.clone() };
        let load = counted(500, vec![Stream::closed(endpoint, statement.clone(), 7)]);
        let total = load.run().await.unwrap().total();
        assert_eq!((total.answers(), total.failures(), total.summary.result_bytes), (500, 0, 1000));
        assert!(total.rate() > 0.0 && total.percentile_seconds(0.0) <= total.percentile_seconds(99.99));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_counted_by_their_kinds() {
    // Each connection: right, wrong, refused, right, then the server hangs up within a response.
    let endpoint = server(|request| match request {
        0 | 3 => Some(OK),
        1 => Some(OTHER),
        2 => Some(REFUSED),
        _ => None,
    })
    .await;
    let mut statement = Statement::query("all", "SELECT 1");
    statement.expectation = Expectation::Text(b"1".as_slice().into());
    let total = counted(50, vec![Stream::closed(endpoint, statement, 1)]).run().await.unwrap().total();
    assert_eq!(total.answers(), 20);
    for kind in [FailureKind::WrongAnswer, FailureKind::Exception(202), FailureKind::Read] {
        assert_eq!(total.failures_of(kind), 10, "{kind}");
    }
    assert_eq!(total.failures(), 30);
    assert_eq!(total.failed[&FailureKind::WrongAnswer].example, "Expected 1, got 2");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_are_silent_or_gone_cost_time_and_are_counted() {
    let endpoint = server(|_| Some(SILENCE)).await;
    let mut load = counted(4, vec![Stream::closed(endpoint, Statement::path("all", "/ping"), 2)]);
    load.timeout = Duration::from_millis(20);
    let total = load.run().await.unwrap().total();
    assert_eq!((total.answers(), total.failures_of(FailureKind::Timeout)), (0, 4));
    assert!(total.failure_percentile_seconds(FailureKind::Timeout, 0.0) >= 0.02);

    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let streams = vec![Stream::closed(Endpoint::http(port), Statement::path("all", "/ping"), 2)];
    let total = counted(4, streams.clone()).run().await.unwrap().total();
    assert_eq!(total.failures_of(FailureKind::Connect), 4);
    let strict = Load { failures_max: Some(1), ..counted(4, streams) };
    assert_eq!(strict.run().await.unwrap_err().code, ErrorCode::NETWORK_ERROR);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_loop_keeps_its_rate_and_counts_from_when_requests_were_due() {
    let endpoint = server(|_| Some(OK)).await;
    let open = |endpoint: &Endpoint, rate, connections_max| Stream {
        pace: Pace::Open { rate, gaps: Gaps::Constant, connections_max },
        endpoints: vec![endpoint.clone()],
        statements: vec![Statement::path("all", "/ping")],
        order: Order::Weighted,
    };
    let load = Load { threads: Some(1), ..Load::new(vec![open(&endpoint, 500.0, 100)], Duration::from_millis(400)) };
    let total = load.run().await.unwrap().total();
    // One every two milliseconds, the first after the first two, none at the end.
    assert_eq!((total.answers(), total.failures()), (199, 0));
    assert!(total.rate() <= 497.5, "{}", total.rate());

    // With a number of requests it ends after them, whatever its time.
    let load = Load { threads: Some(2), ..counted(50, vec![open(&endpoint, 1000.0, 4)]) };
    assert_eq!(load.run().await.unwrap().total().answers(), 50);

    // A server that never answers holds the only connection: each further request fails when its own time is over, not later.
    let silent = server(|_| Some(SILENCE)).await;
    let mut load = Load::new(vec![open(&silent, 1000.0, 1)], Duration::from_millis(100));
    (load.timeout, load.threads) = (Duration::from_millis(30), Some(1));
    let total = load.run().await.unwrap().total();
    assert_eq!((total.answers(), total.failures_of(FailureKind::Timeout)), (0, 99));
}

#[tokio::test(flavor = "multi_thread")]
async fn classes_and_weights_are_told_apart() {
    let endpoint = server(|_| Some(OK)).await;
    let weighted = |class: &str, weight: f64| {
        let mut statement = Statement::path(class, "/ping");
        statement.weight = weight;
        statement
    };
    let mut mixed = Stream::closed(endpoint.clone(), weighted("lookup", 95.0), 4);
    mixed.statements.push(weighted("report", 5.0));
    let outcome = counted(10_000, vec![mixed.clone()]).run().await.unwrap();
    let answers = |class: &str| outcome.class(class).unwrap().answers();
    assert_eq!(answers("lookup") + answers("report"), 10_000);
    // Six standard deviations.
    assert!((370..630).contains(&answers("report")), "{}", answers("report"));

    mixed.order = Order::InTurn;
    let outcome = counted(10, vec![mixed.clone()]).run().await.unwrap();
    assert_eq!(outcome.class("report").unwrap().answers(), 5);

    // Two servers are two classes.
    mixed.endpoints.push(server(|_| Some(OK)).await);
    let outcome = counted(1000, vec![mixed]).run().await.unwrap();
    assert_eq!(outcome.classes.len(), 2);
    assert!(outcome.classes.iter().all(|(_, measurement)| (400..600).contains(&measurement.answers())));
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_held_and_looked_at() {
    // The server hangs up on a connection's second request, of which idle connections have none.
    let endpoint = server(|_| Some(OK)).await;
    let mut load = counted(10, vec![Stream::closed(endpoint, Statement::path("all", "/ping"), 1)]);
    load.idle_connections = 25;
    let outcome = load.run().await.unwrap();
    assert_eq!((outcome.idle_open, outcome.idle_asked, outcome.total().answers()), (25, 25, 10));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_can_be_watched_stopped_and_dropped() {
    let endpoint = server(|_| Some(OK)).await;
    let stream = Stream::closed(endpoint, Statement::path("all", "/ping"), 3);
    let mut running = Load::new(vec![stream.clone()], Duration::from_secs(600)).start().await.unwrap();
    let mut seen = 0;
    while seen < 100 {
        tokio::task::yield_now().await;
        seen += running.take_interval()[0].1.answers();
    }
    running.stop();
    running.wait().await;
    seen += running.take_interval()[0].1.answers();
    assert_eq!(running.ended(), seen);
    assert_eq!(running.finish().total().answers(), seen);
    // Dropping one that nobody stopped ends it.
    drop(Load::new(vec![stream], Duration::from_secs(600)).start().await.unwrap());
}

#[tokio::test]
async fn loads_that_cannot_be_are_refused() {
    let stream = Stream::closed(Endpoint::http(1), Statement::path("all", "/"), 1);
    let none = Stream { statements: Vec::new(), ..stream.clone() };
    let standing = Stream { pace: Pace::Open { rate: 0.0, gaps: Gaps::Poisson, connections_max: 1 }, ..stream.clone() };
    let crowd = Stream { pace: Pace::Closed { clients: 1 << 40 }, ..stream };
    for (stream, code) in
        [(none, ErrorCode::BAD_ARGUMENTS), (standing, ErrorCode::BAD_ARGUMENTS), (crowd, ErrorCode::LIMIT_EXCEEDED)]
    {
        assert_eq!(Load::new(vec![stream], Duration::ZERO).run().await.unwrap_err().code, code);
    }
}
