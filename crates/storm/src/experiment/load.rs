//! Fills `datasets.hits_v1`: generates chunks and inserts them over several connections at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use squall_types::{Error, ErrorCode, Result, Value};
use tokio::task::JoinSet;

use crate::datagen::{Hits, create_table_sql, schema};
use crate::server::Server;
use squall_native::{Connection, Query};

const TABLE: &str = "datasets.hits_v1";
/// Inserts that run at once. With more, each part of the table would hold fewer rows.
const CONNECTIONS: usize = 2;

/// What inserting all rows took.
#[derive(Debug, Clone, Copy)]
pub struct Loaded {
    /// From the first insert to the last acknowledgement; the generator of the rows works on the same CPUs.
    pub elapsed: Duration,
    /// CPU time of the server alone.
    pub cpu: Duration,
}

/// Creates the database and the table and inserts all rows; returns what the inserts took.
///
/// # Errors
/// What the server says; fewer rows in the table than were inserted.
pub async fn load(server: &Server, hits: Hits, progress: &ProgressBar) -> Result<Loaded> {
    let mut connection = server.connect().await?;
    connection.ask("CREATE DATABASE IF NOT EXISTS datasets").await?;
    connection.ask(&create_table_sql(TABLE)).await?;
    // Merges would go on while queries are measured. A server without this statement has no merges to stop.
    drop(connection.ask("SYSTEM STOP MERGES").await);

    let (begun, cpu_before) = (Instant::now(), server.cpu_time());
    let rows = hits.rows();
    let work = Arc::new((hits, AtomicU64::new(0)));
    let mut inserts = JoinSet::new();
    for _ in 0..CONNECTIONS {
        inserts.spawn(insert(server.connect().await?, work.clone(), progress.clone()));
    }
    while let Some(insert) = inserts.join_next().await {
        insert.map_err(|error| Error::logical(error.to_string()))??;
    }
    let took = Loaded { elapsed: begun.elapsed(), cpu: server.cpu_time().saturating_sub(cpu_before) };

    let found = connection.ask(&format!("SELECT count() FROM {TABLE}")).await?;
    if found != Some(Value::UInt64(rows)) {
        let message = format!("{} has {found:?} rows in {TABLE} after {rows} were inserted", server.name());
        return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
    }
    Ok(took)
}

/// One insert: takes chunk after chunk until there are no more.
async fn insert(mut connection: Connection, work: Arc<(Hits, AtomicU64)>, progress: ProgressBar) -> Result<()> {
    let text = format!("INSERT INTO {TABLE} FORMAT Native");
    connection.begin_insert(&Query { text: &text, ..Query::default() }).await?;
    let revision = connection.revision();
    let next = |work: Arc<(Hits, AtomicU64)>| {
        tokio::task::spawn_blocking(move || {
            let (hits, taken) = &*work;
            let chunk = taken.fetch_add(1, Ordering::Relaxed);
            (chunk < hits.chunks()).then(|| Connection::encode(&hits.chunk(chunk).into_block(schema()), revision))
        })
    };
    // The next chunk is made while this one is sent.
    let mut making = next(work.clone());
    while let Some(packet) = making.await.map_err(|error| Error::logical(error.to_string()))? {
        making = next(work.clone());
        connection.send_encoded(&packet?).await?;
        progress.inc(1);
    }
    connection.finish_insert().await?;
    Ok(())
}

/// Checks that two servers hold the same data.
///
/// # Errors
/// `INCORRECT_DATA` where they do not.
pub async fn compare(left: &Server, right: &Server) -> Result<()> {
    let (mut at_left, mut at_right) = (left.connect().await?, right.connect().await?);
    for value in ["sum(ResolutionWidth)", "sum(UserID % 1000003)", "uniqExact(CounterID)", "sum(length(URL))"] {
        let query = format!("SELECT toString({value}) FROM {TABLE}");
        let (of_left, of_right) = (at_left.ask(&query).await?, at_right.ask(&query).await?);
        if of_left != of_right {
            let message = format!("{value} is {of_left:?} in {} and {of_right:?} in {}", left.name(), right.name());
            return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
        }
    }
    Ok(())
}
