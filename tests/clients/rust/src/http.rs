//! The crate `clickhouse`: HTTP with RowBinary.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use clickhouse::error::Error;
use clickhouse::{Client, Compression, Row};
use serde::{Deserialize, Serialize};
use time::{Date, OffsetDateTime};
use uuid::Uuid;

use crate::{Outcome, holds, report, same};

#[derive(Row, Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Everything {
    int8: i8,
    uint64: u64,
    float64: f64,
    boolean: bool,
    string: String,
    fixed: [u8; 3],
    #[serde(with = "clickhouse::serde::time::date")]
    date: Date,
    #[serde(with = "clickhouse::serde::time::datetime")]
    datetime: OffsetDateTime,
    #[serde(with = "clickhouse::serde::time::datetime64::millis")]
    datetime64: OffsetDateTime,
    #[serde(with = "clickhouse::serde::uuid")]
    uuid: Uuid,
    #[serde(with = "clickhouse::serde::ipv4")]
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
    enumeration: i8,
    array: Vec<Vec<String>>,
    tuple: (u8, String),
    map: HashMap<String, u8>,
    nullable: Option<String>,
    dictionary: String,
    nulls: Vec<Option<u8>>,
}

const COLUMNS: &str = "int8 Int8, uint64 UInt64, float64 Float64, boolean Bool, string String, fixed FixedString(3), date Date, \
    datetime DateTime('UTC'), datetime64 DateTime64(3, 'UTC'), uuid UUID, ipv4 IPv4, ipv6 IPv6, enumeration Enum8('a' = 1, 'b' = 2), \
    array Array(Array(String)), tuple Tuple(UInt8, String), map Map(String, UInt8), nullable Nullable(String), \
    dictionary LowCardinality(String), nulls Array(Nullable(UInt8))";

fn everything() -> Everything {
    let instant = OffsetDateTime::from_unix_timestamp_nanos(1_704_164_645_123_000_000).unwrap();
    Everything {
        int8: -5,
        uint64: u64::MAX,
        float64: -2.25,
        boolean: true,
        string: "it's\t\\\n é".into(),
        fixed: *b"abc",
        date: Date::from_ordinal_date(2024, 2).unwrap(),
        datetime: instant.replace_nanosecond(0).unwrap(),
        datetime64: instant,
        uuid: Uuid::parse_str("61f0c404-5cb3-11e7-907b-a6006ad3dba0").unwrap(),
        ipv4: Ipv4Addr::new(1, 2, 3, 4),
        ipv6: "2001:db8::1".parse().unwrap(),
        enumeration: 2,
        array: vec![vec!["a".into()], vec![]],
        tuple: (1, "x".into()),
        map: HashMap::from([("k".into(), 1)]),
        nullable: None,
        dictionary: "lc".into(),
        nulls: vec![None, Some(3)],
    }
}

#[derive(Row, Serialize, Deserialize, Debug, PartialEq, Clone)]
struct Numbered {
    a: u64,
    b: String,
}

#[derive(Row, Deserialize, Debug, PartialEq)]
struct Totals {
    count: u64,
    sum: u64,
}

#[derive(Row, Deserialize, Debug, PartialEq)]
struct Bound {
    s: String,
    a: Vec<String>,
    n: u8,
}

#[derive(Row, Deserialize, Debug, PartialEq)]
struct Parameters {
    n: u8,
    s: String,
    a: Vec<String>,
    t: (u8, String),
}

/// Tries everything.
pub async fn check(port: &str) {
    let plain = Client::default().with_url(format!("http://127.0.0.1:{port}")).with_user("default").with_database("default");
    for (name, compression) in [("plain", Compression::None), ("lz4", Compression::Lz4)] {
        let client = plain.clone().with_compression(compression);
        let named = |what: &str| format!("clickhouse, {name}: {what}");
        report(named("types"), types(&client).await);
        report(named("types without validation"), types(&client.clone().with_validation(false)).await);
        report(named("batches"), batches(&client).await);
        report(named("a stream of rows"), stream(&client).await);
        report(named("an error in mid-stream"), mid_stream(&client).await);
        report(named("errors"), errors(&client).await);
    }
    report("clickhouse: bound values and parameters", parameters(&plain).await);
    report("clickhouse: settings, query id, session", settings(&plain).await);
    report("clickhouse: other formats", formats(&plain).await);
    report("clickhouse: cancel", cancel(&plain).await);
    report("clickhouse: many at once", together(&plain).await);
    report("clickhouse: temporary tables", temporary_tables(&plain).await);
}

async fn create(client: &Client, table: &str, columns: &str) -> Outcome {
    let create = format!("CREATE OR REPLACE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY tuple()");
    Ok(client.query(&create).execute().await?)
}

async fn types(client: &Client) -> Outcome {
    create(client, "rust_types", COLUMNS).await?;
    let mut insert = client.insert::<Everything>("rust_types").await?;
    for _ in 0..2 {
        insert.write(&everything()).await?;
    }
    insert.end().await?;
    let found = client.query("SELECT ?fields FROM rust_types").fetch_all::<Everything>().await?;
    same(found, vec![everything(), everything()])
}

async fn batches(client: &Client) -> Outcome {
    create(client, "rust_batches", "a UInt64, b String").await?;
    let mut inserter = client.inserter::<Numbered>("rust_batches").with_max_rows(10_000).with_period(Some(Duration::from_secs(10)));
    for a in 0..35_000 {
        inserter.write(&Numbered { a, b: a.to_string() }).await?;
        inserter.commit().await?;
    }
    same(inserter.end().await?.rows, 5000)?;
    let client = client.clone().with_setting("async_insert", "1").with_setting("wait_for_async_insert", "1");
    let mut insert = client.insert::<Numbered>("rust_batches").await?;
    insert.write(&Numbered { a: 0, b: "async".into() }).await?;
    insert.end().await?;
    // One that is given up leaves nothing.
    let mut insert = client.insert::<Numbered>("rust_batches").await?;
    insert.write(&Numbered { a: 1, b: "given up".into() }).await?;
    drop(insert);
    same(client.query("SELECT count() AS count, sum(a) AS sum FROM rust_batches WHERE b != 'given up'").fetch_one::<Totals>().await?, Totals { count: 35_001, sum: 612_482_500 })
}

async fn stream(client: &Client) -> Outcome {
    let mut cursor = client.query("SELECT number AS a, toString(number) AS b FROM numbers(300000)").fetch::<Numbered>()?;
    let mut count = 0;
    while let Some(row) = cursor.next().await? {
        same(row.b, row.a.to_string())?;
        count += 1;
    }
    same(count, 300_000)
}

async fn mid_stream(client: &Client) -> Outcome {
    let mut cursor = client.query("SELECT throwIf(number = 3000000) FROM numbers(4000000)").fetch::<u8>()?;
    loop {
        match cursor.next().await {
            Ok(Some(_)) => {}
            Ok(None) => return Err("no error".into()),
            Err(error) => return holds(error, "395"),
        }
    }
}

async fn errors(client: &Client) -> Outcome {
    match client.query("SELECT nope").fetch_one::<u8>().await {
        Err(Error::BadResponse(text)) => holds(text, "UNKNOWN_IDENTIFIER")?,
        other => return Err(format!("{other:?}").into()),
    }
    match client.insert::<Numbered>("no_such_table").await {
        Ok(mut insert) => {
            insert.write(&Numbered { a: 1, b: String::new() }).await?;
            holds(insert.end().await.unwrap_err(), "UNKNOWN_TABLE")?;
        }
        Err(error) => holds(error, "UNKNOWN_TABLE")?,
    }
    same(client.query("SELECT 1::UInt8").fetch_one::<u8>().await?, 1)
}

async fn parameters(client: &Client) -> Outcome {
    let query = client.query("SELECT ? AS s, ? AS a, toUInt8(?) AS n FROM ?").bind("it's").bind(&["x", "y"][..]).bind(41);
    let found = query.bind(clickhouse::sql::Identifier("rust_types")).fetch::<Bound>()?.next().await?;
    same(found, Some(Bound { s: "it's".into(), a: vec!["x".into(), "y".into()], n: 41 }))?;
    let found = client
        .query("SELECT {n:UInt8} AS n, {s:String} AS s, {a:Array(String)} AS a, {t:Tuple(UInt8, String)} AS t")
        .param("n", 42)
        .param("s", "it's\ta tab")
        .param("a", vec!["x", "y'"])
        .param("t", (1, "q"))
        .fetch_one::<Parameters>()
        .await?;
    let a = vec!["x".into(), "y'".into()];
    same(found, Parameters { n: 42, s: "it's\ta tab".into(), a, t: (1, "q".into()) })
}

async fn settings(client: &Client) -> Outcome {
    let id = Uuid::new_v4().to_string();
    let own = client.clone().with_setting("max_block_size", "777").with_setting("session_id", Uuid::new_v4().to_string());
    let value = own.query("SELECT value FROM system.settings WHERE name = 'max_block_size'").fetch_one::<String>().await?;
    same(value, "777".into())?;
    own.query("SET max_threads = 3").execute().await?;
    let value = own.query("SELECT value FROM system.settings WHERE name = 'max_threads'").fetch_one::<String>().await?;
    same(value, "3".into())?;
    let found = own.query("SELECT queryID()").with_setting("query_id", &id).fetch_one::<String>().await?;
    same(found, id)
}

async fn formats(client: &Client) -> Outcome {
    let mut lines = client.query("SELECT number FROM numbers(3)").fetch_bytes("JSONEachRow")?;
    let text = String::from_utf8(lines.collect().await?.to_vec())?;
    same(text.lines().count(), 3)?;
    create(client, "rust_formats", "a UInt64").await?;
    let mut insert = client.insert_formatted_with("INSERT INTO rust_formats FORMAT CSV");
    insert.send("1\n2\n".into()).await?;
    insert.end().await?;
    same(client.query("SELECT sum(a) FROM rust_formats").fetch_one::<u64>().await?, 3)
}

async fn cancel(client: &Client) -> Outcome {
    let running = client.query("SELECT sum(sipHash64(number)) FROM numbers(1000000000000)").fetch_one::<u64>();
    if tokio::time::timeout(Duration::from_millis(200), running).await.is_ok() {
        return Err("it ended".into());
    }
    same(client.query("SELECT 1::UInt8").fetch_one::<u8>().await?, 1)
}

async fn together(client: &Client) -> Outcome {
    let running: Vec<_> = (0..200_u64)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.query("SELECT toUInt64(?)").bind(number).fetch_one::<u64>().await })
        })
        .collect();
    for (number, running) in running.into_iter().enumerate() {
        same(running.await??, number as u64)?;
    }
    Ok(())
}

async fn temporary_tables(client: &Client) -> Outcome {
    let own = client.clone().with_setting("session_id", Uuid::new_v4().to_string());
    own.query("CREATE TEMPORARY TABLE rust_temporary (a UInt64, b String)").execute().await?;
    let mut insert = own.insert::<Numbered>("rust_temporary").await?;
    insert.write(&Numbered { a: 3, b: "x".into() }).await?;
    insert.end().await?;
    same(own.query("SELECT sum(a) FROM rust_temporary").fetch_one::<u64>().await?, 3)
}
