//! An engine under measurement: a server over HTTP, or a library (chdb, DuckDB) in a Python process that this one starts. Both run a statement on so many
//! threads and say how long it took and how many rows came.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use squall_types::{Error, ErrorCode, Result};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::http::Http;
use super::query::Query;
use super::workload::Table;

/// What the child runs.
const PEER: &str = include_str!("../../analytics/peer.py");

/// What a statement came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Answer {
    /// Milliseconds.
    pub ms: f64,
    /// Rows of the answer.
    pub rows: u64,
}

/// One of the engines.
#[derive(Debug)]
pub struct Engine {
    /// Its name in tables: `squall`, `clickhouse`, `chdb`, `duckdb`.
    pub name: &'static str,
    /// What it says that it is, with its version.
    pub title: String,
    access: Access,
}

#[derive(Debug)]
enum Access {
    Server(Http),
    Library(Box<Library>),
}

impl Engine {
    /// A server by its URL. Outer joins fill with NULL, as SQL has it and DuckDB. The cache that lets ClickHouse skip what a query found not to match when it ran before is off, where there is one.
    ///
    /// # Errors
    /// A server that cannot be reached.
    pub async fn server(name: &'static str, url: &str, patience: Duration) -> Result<Self> {
        let mut http = Http::new(url, patience)?;
        let version = http.text("SELECT version()").await?;
        http.set("join_use_nulls", "1");
        let caches = "SELECT name FROM system.settings WHERE name = 'use_query_condition_cache'";
        for cache in http.text(caches).await?.lines() {
            http.set(cache, "0");
        }
        let title = format!("{} {version}", if name == "squall" { "Squall" } else { "ClickHouse" });
        Ok(Engine { name, title, access: Access::Server(http) })
    }

    /// A library in a process of this Python, with its tables in `folder`.
    ///
    /// # Errors
    /// A Python that cannot be started or does not have the library.
    pub async fn library(
        name: &'static str,
        python: &Path,
        folder: &Path,
        database: &str,
        patience: Duration,
    ) -> Result<Self> {
        let mut library = Library {
            python: python.to_path_buf(),
            arguments: [name.to_owned(), folder.display().to_string(), database.to_owned()],
            patience,
            running: None,
        };
        let title = library.running().await?.title.clone();
        Ok(Engine { name, title, access: Access::Library(Box::new(library)) })
    }

    /// Runs a query, which may be several statements; the time is that of all, the rows those of the longest answer.
    ///
    /// # Errors
    /// As the engine says; `TIMEOUT_EXCEEDED`.
    pub async fn run(&mut self, query: &Query, threads: u32) -> Result<Answer> {
        let statements = if self.name == "duckdb" { &query.duckdb } else { &query.statements };
        let mut whole = Answer::default();
        for statement in statements {
            let answer = self.statement(statement, threads).await?;
            whole = Answer { ms: whole.ms + answer.ms, rows: whole.rows.max(answer.rows) };
        }
        Ok(whole)
    }

    async fn statement(&mut self, sql: &str, threads: u32) -> Result<Answer> {
        match &mut self.access {
            Access::Server(http) => {
                http.set("max_threads", &threads.to_string());
                http.run(sql).await
            }
            Access::Library(library) => library.run(sql, threads).await,
        }
    }

    /// What the query that runs next is called in a server's log.
    pub fn name_next_query(&mut self, id: &str) {
        if let Access::Server(http) = &mut self.access {
            http.set("query_id", id);
        }
    }

    /// The table from a Parquet file, if it is not there; returns whether it was loaded. It has its name only when it is whole.
    ///
    /// # Errors
    /// What the engine does not take.
    pub async fn load(&mut self, database: &str, table: &Table, file: &Path, threads: u32) -> Result<bool> {
        let name = &table.name;
        let quoted = file.display().to_string().replace('\'', "''");
        if self.name == "duckdb" {
            let found = format!("SELECT 1 FROM duckdb_tables() WHERE table_name = '{name}'");
            if self.statement(&found, threads).await?.rows > 0 {
                return Ok(false);
            }
            let create = format!("CREATE TABLE \"{name}\" AS SELECT {} FROM '{quoted}'", duckdb_columns(table));
            self.statement(&create, threads).await?;
            return Ok(true);
        }
        let found = format!("SELECT 1 FROM system.tables WHERE database = '{database}' AND name = '{name}'");
        if self.statement(&found, threads).await?.rows > 0 {
            return Ok(false);
        }
        let loading = format!("{database}.{name}_loading");
        for statement in [
            format!("CREATE DATABASE IF NOT EXISTS {database}"),
            format!("DROP TABLE IF EXISTS {loading}"),
            table.create_sql(&loading),
        ] {
            self.statement(&statement, threads).await?;
        }
        match &self.access {
            Access::Server(http) => http.insert(&format!("INSERT INTO {loading} FORMAT Parquet"), file).await?,
            Access::Library(_) => {
                let insert = format!("INSERT INTO {loading} SELECT * FROM file('{quoted}', Parquet)");
                self.statement(&insert, threads).await.map(drop)?;
            }
        }
        self.statement(&format!("RENAME TABLE {loading} TO {database}.{name}"), threads).await?;
        Ok(true)
    }

    /// Unqualified names mean tables of this database. A library was started with its own.
    pub fn use_database(&mut self, database: &str) {
        if let Access::Server(http) = &mut self.access {
            http.set_database(database);
        }
    }

    /// The server, where it is one.
    pub fn http(&self) -> Option<&Http> {
        match &self.access {
            Access::Server(http) => Some(http),
            Access::Library(_) => None,
        }
    }
}

/// The columns of a table for DuckDB. Parquet's times are instants to it, which it would turn into days by time zone in every query.
fn duckdb_columns(table: &Table) -> String {
    let column = |(name, data_type): &(String, String)| match data_type.as_str() {
        "DateTime" => format!("CAST(\"{name}\" AS TIMESTAMP) AS \"{name}\""),
        _ => format!("\"{name}\""),
    };
    table.columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// A library in a process of its own, which is started again after one that did not answer in time.
#[derive(Debug)]
struct Library {
    python: PathBuf,
    arguments: [String; 3],
    patience: Duration,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    /// Killed when it is dropped.
    _process: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
    title: String,
}

#[derive(Serialize)]
struct Request<'a> {
    sql: &'a str,
    threads: u32,
}

/// A line of the child.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Failure { error: String },
    Title { title: String },
    Answer { ms: f64, rows: u64 },
}

impl Library {
    async fn run(&mut self, sql: &str, threads: u32) -> Result<Answer> {
        let patience = self.patience;
        let running = self.running().await?;
        match tokio::time::timeout(patience, running.ask(sql, threads)).await {
            Ok(Ok(Line::Answer { ms, rows })) => Ok(Answer { ms, rows }),
            Ok(Ok(Line::Failure { error })) => Err(Error::new(ErrorCode::INCORRECT_DATA, error)),
            Ok(Ok(Line::Title { title })) => Err(Error::new(ErrorCode::INCORRECT_DATA, title)),
            Ok(Err(error)) => {
                self.running = None;
                Err(error)
            }
            Err(_) => {
                self.running = None;
                Err(Error::new(ErrorCode::TIMEOUT_EXCEEDED, format!("No answer in {patience:?}")))
            }
        }
    }

    async fn running(&mut self) -> Result<&mut Running> {
        let running = match self.running.take() {
            Some(running) => running,
            None => Running::start(&self.python, &self.arguments).await?,
        };
        Ok(self.running.insert(running))
    }
}

impl Running {
    async fn start(python: &Path, arguments: &[String; 3]) -> Result<Self> {
        let cannot = |why: &dyn std::fmt::Display| {
            let [library, ..] = arguments;
            Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{} has no {library} to ask: {why}", python.display()))
        };
        let mut command = Command::new(python);
        command.args(["-c", PEER]).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().map_err(|error| cannot(&error))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(cannot(&"no pipes"));
        };
        let mut running =
            Running { _process: process, requests, answers: BufReader::new(answers).lines(), title: String::new() };
        match running.answer().await? {
            Line::Title { title } => running.title = title,
            Line::Failure { error } => return Err(cannot(&error)),
            Line::Answer { .. } => return Err(cannot(&"an answer before the first question")),
        }
        Ok(running)
    }

    async fn ask(&mut self, sql: &str, threads: u32) -> Result<Line> {
        let mut request =
            serde_json::to_string(&Request { sql, threads }).map_err(|error| Error::logical(error.to_string()))?;
        request.push('\n');
        let sent = self.requests.write_all(request.as_bytes()).await;
        sent.map_err(|error| Error::new(ErrorCode::NETWORK_ERROR, error.to_string()))?;
        self.answer().await
    }

    async fn answer(&mut self) -> Result<Line> {
        let network = |why: String| Error::new(ErrorCode::NETWORK_ERROR, why);
        let line = self.answers.next_line().await.map_err(|error| network(error.to_string()))?;
        let line = line.ok_or_else(|| network("The process ended".to_owned()))?;
        serde_json::from_str(&line).map_err(|error| network(format!("{error} in {line}")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::workload::Workload;
    use super::*;

    #[test]
    fn lines_of_the_child_are_told_apart() {
        let line = |text: &str| serde_json::from_str::<Line>(text).unwrap();
        assert!(matches!(line("{\"title\": \"DuckDB 2.0.0\"}"), Line::Title { title } if title == "DuckDB 2.0.0"));
        assert!(matches!(line("{\"ms\": 1.5, \"rows\": 3}"), Line::Answer { ms: 1.5, rows: 3 }));
        assert!(matches!(line("{\"error\": \"no\"}"), Line::Failure { error } if error == "no"));
    }

    #[test]
    fn times_are_no_instants_to_duckdb() {
        let tables = Workload::Clickbench.tables().unwrap();
        let columns = duckdb_columns(&tables[0]);
        assert!(columns.starts_with("\"WatchID\", \"JavaEnable\", \"Title\","), "{columns}");
        assert!(columns.contains("CAST(\"EventTime\" AS TIMESTAMP) AS \"EventTime\", \"EventDate\""), "{columns}");
    }

    #[tokio::test]
    async fn what_is_no_python_is_said() {
        let library = Engine::library("duckdb", Path::new("/no/python"), Path::new("/"), "d", Duration::from_secs(1));
        let error = library.await.unwrap_err();
        assert!(error.to_string().contains("/no/python has no duckdb to ask"), "{error}");
    }
}
