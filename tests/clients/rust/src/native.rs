//! The crate `klickhouse`: the native protocol.

use std::time::Duration;

use futures_util::StreamExt;
use klickhouse::{Client, ClientOptions, Date, DateTime, DateTime64, Ipv4, Ipv6, KlickhouseError, QueryBuilder, Row, Tz, Uuid};

use crate::{Outcome, holds, report, same};

#[derive(Row, Debug, PartialEq, Clone)]
struct Everything {
    int8: i8,
    uint64: u64,
    float64: f64,
    string: String,
    date: Date,
    datetime: DateTime,
    datetime64: DateTime64<3>,
    uuid: Uuid,
    ipv4: Ipv4,
    ipv6: Ipv6,
    array: Vec<Vec<String>>,
    tuple: (u8, String),
    nullable: Option<String>,
    dictionary: String,
    nulls: Vec<Option<u8>>,
}

const COLUMNS: &str = "int8 Int8, uint64 UInt64, float64 Float64, string String, date Date, datetime DateTime('UTC'), \
    datetime64 DateTime64(3, 'UTC'), uuid UUID, ipv4 IPv4, ipv6 IPv6, array Array(Array(String)), tuple Tuple(UInt8, String), \
    nullable Nullable(String), dictionary LowCardinality(String), nulls Array(Nullable(UInt8))";

fn everything() -> Everything {
    Everything {
        int8: -5,
        uint64: u64::MAX,
        float64: -2.25,
        string: "it's\t\\\n é".into(),
        date: Date(19_724),
        datetime: DateTime(Tz::UTC, 1_704_164_645),
        datetime64: DateTime64(Tz::UTC, 1_704_164_645_123),
        uuid: Uuid::parse_str("61f0c404-5cb3-11e7-907b-a6006ad3dba0").unwrap(),
        ipv4: Ipv4([1, 2, 3, 4].into()),
        ipv6: Ipv6("2001:db8::1".parse().unwrap()),
        array: vec![vec!["a".into()], vec![]],
        tuple: (1, "x".into()),
        nullable: None,
        dictionary: "lc".into(),
        nulls: vec![None, Some(3)],
    }
}

#[derive(Row, Debug, PartialEq, Clone)]
struct Numbered {
    a: u64,
    b: String,
}

#[derive(Row, Debug)]
struct Number {
    n: u64,
}

async fn connect(port: &str) -> Result<Client, KlickhouseError> {
    Client::connect(format!("127.0.0.1:{port}"), ClientOptions::default()).await
}

/// Tries everything.
pub async fn check(port: &str) {
    let client = match connect(port).await {
        Ok(client) => client,
        Err(error) => return report("klickhouse: connect", Err(error.into())),
    };
    report("klickhouse: types", types(&client).await);
    report("klickhouse: batches and streams", batches(&client).await);
    report("klickhouse: bound values", parameters(&client).await);
    report("klickhouse: errors, also in mid-stream", errors(&client).await);
    report("klickhouse: progress", progress(&client).await);
    report("klickhouse: temporary tables", temporary_tables(&client).await);
    report("klickhouse: cancel", cancel(port).await);
    report("klickhouse: many connections", together(port).await);
}

async fn types(client: &Client) -> Outcome {
    client.execute(format!("CREATE OR REPLACE TABLE klick_types ({COLUMNS}) ENGINE = Memory")).await?;
    for _ in 0..2 {
        client.insert_native_block("INSERT INTO klick_types FORMAT Native", vec![everything(); 2]).await?;
    }
    let found = client.query_collect::<Everything>("SELECT * FROM klick_types").await?;
    same(found, vec![everything(); 4])
}

async fn batches(client: &Client) -> Outcome {
    client.execute("CREATE OR REPLACE TABLE klick_batches (a UInt64, b String) ENGINE = MergeTree ORDER BY a").await?;
    let blocks = (0..10_u64).map(|block| (0..10_000).map(|row| Numbered { a: block * 10_000 + row, b: row.to_string() }).collect::<Vec<_>>());
    client.insert_native("INSERT INTO klick_batches FORMAT Native", futures_util::stream::iter(blocks.collect::<Vec<_>>())).await?;
    let mut rows = client.query::<Numbered, _>("SELECT * FROM klick_batches ORDER BY a").await?;
    let mut count = 0;
    while let Some(row) = rows.next().await {
        same(row?.a, count)?;
        count += 1;
    }
    same(count, 100_000)
}

async fn parameters(client: &Client) -> Outcome {
    let query = QueryBuilder::new("SELECT toUInt64($1) AS a, $2 AS b").arg(41_u64).arg("it's".to_owned());
    same(client.query_one::<Numbered>(query).await?, Numbered { a: 41, b: "it's".into() })
}

async fn errors(client: &Client) -> Outcome {
    match client.query_one::<Number>("SELECT nope").await {
        Err(KlickhouseError::ServerException { code: 47, .. }) => {}
        other => return Err(format!("{other:?}").into()),
    }
    let mut rows = client.query::<Number, _>("SELECT toUInt64(throwIf(number = 3000000)) AS n FROM numbers(4000000)").await?;
    let mut last = None;
    while let Some(row) = rows.next().await {
        last = row.err();
    }
    holds(last.map(|error| error.to_string()).unwrap_or_default(), "395")?;
    same(client.query_one::<Number>("SELECT toUInt64(1) AS n").await?.n, 1)
}

async fn progress(client: &Client) -> Outcome {
    let mut told = client.subscribe_progress();
    client.query_one::<Number>("SELECT sum(number) AS n FROM numbers(1000000)").await?;
    let mut rows = 0;
    // The last of it follows the rows.
    while rows < 1_000_000 {
        let (_, progress) = tokio::time::timeout(Duration::from_secs(20), told.recv()).await??;
        rows += progress.read_rows;
    }
    same(rows, 1_000_000)
}

async fn temporary_tables(client: &Client) -> Outcome {
    client.execute("CREATE TEMPORARY TABLE klick_temporary (a UInt64, b String)").await?;
    client.insert_native_block("INSERT INTO klick_temporary FORMAT Native", vec![Numbered { a: 3, b: "x".into() }]).await?;
    same(client.query_one::<Number>("SELECT sum(a) AS n FROM klick_temporary").await?.n, 3)
}

async fn cancel(port: &str) -> Outcome {
    let client = connect(port).await?;
    let running = client.query_one::<Number>("SELECT sum(sipHash64(number)) AS n FROM numbers(1000000000000)");
    if tokio::time::timeout(Duration::from_millis(200), running).await.is_ok() {
        return Err("it ended".into());
    }
    Ok(())
}

async fn together(port: &str) -> Outcome {
    let running: Vec<_> = (0..50_u64)
        .map(|number| {
            let port = port.to_owned();
            tokio::spawn(async move {
                let client = connect(&port).await?;
                client.query_one::<Number>(format!("SELECT toUInt64({number}) AS n")).await
            })
        })
        .collect();
    for (number, running) in running.into_iter().enumerate() {
        same(running.await??.n, number as u64)?;
    }
    Ok(())
}
