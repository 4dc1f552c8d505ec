//! Statements over HTTP: answers that may be large are counted or written to a file as they come, and tables are sent from files. Each statement has a connection
//! of its own, made before its time begins.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::{Response, StatusCode};
use squall_types::{Error, ErrorCode, Result};

use super::data::Part;
use super::engine::Answer;
use crate::file_error::file_error;
use crate::http_client::HttpClient;

/// Bytes of a file that are sent at once.
const PIECE_BYTES: usize = 1 << 18;
/// The end of an answer, where an exception stands that came after its first rows.
const TAIL_BYTES: usize = 4096;

/// A server and who asks it.
#[derive(Debug)]
pub struct Http {
    client: HttpClient,
    database: String,
    /// How long a statement may take.
    patience: Duration,
    /// Settings of every statement.
    settings: Vec<(String, String)>,
}

impl Http {
    /// For a URL like `http://user:password@host:8123`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where it is none, or is of another scheme.
    pub fn new(url: &str, patience: Duration) -> Result<Self> {
        let authority = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
        let (user, password) =
            authority.rsplit_once('@').map_or(("default", ""), |(who, _)| who.split_once(':').unwrap_or((who, "")));
        let client = HttpClient::new(url, user, password)?;
        Ok(Http { client, database: String::new(), patience, settings: Vec::new() })
    }

    /// Unqualified names mean tables of this database from now on.
    pub fn set_database(&mut self, database: &str) {
        database.clone_into(&mut self.database);
    }

    /// A setting of all statements from now on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.settings.retain(|(set, _)| set != name);
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// The time from the request to the last byte of the answer, and its rows.
    ///
    /// # Errors
    /// As the server says; `TIMEOUT_EXCEEDED`.
    pub async fn run(&self, sql: &str) -> Result<Answer> {
        self.ask(sql, None, &mut |_| Ok(())).await
    }

    /// The answer as text.
    ///
    /// # Errors
    /// As [`Http::run`].
    pub async fn text(&self, sql: &str) -> Result<String> {
        let mut bytes = Vec::new();
        let mut keep = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.ask(sql, None, &mut keep).await?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// The answer into a file.
    ///
    /// # Errors
    /// As [`Http::run`]; a file that cannot be written.
    pub async fn save(&self, sql: &str, part: &mut Part) -> Result<()> {
        self.ask(sql, None, &mut |piece| part.write(piece)).await.map(drop)
    }

    /// Sends a file for an `INSERT … FORMAT …`, whose names are of letters, digits, `_`, `.` and `` ` ``.
    ///
    /// # Errors
    /// As [`Http::run`]; a file that cannot be read.
    pub async fn insert(&self, sql: &str, file: &Path) -> Result<()> {
        self.ask(sql, Some(file), &mut |_| Ok(())).await.map(drop)
    }

    async fn ask(&self, sql: &str, file: Option<&Path>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<Answer> {
        match tokio::time::timeout(self.patience, self.converse(sql, file, take)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::new(ErrorCode::TIMEOUT_EXCEEDED, format!("No answer in {:?}", self.patience))),
        }
    }

    async fn converse(
        &self,
        sql: &str,
        file: Option<&Path>,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<Answer> {
        let mut connection = self.client.connect().await?;
        let request = self.client.post(&self.target(sql, file.is_some()), body(sql, file)?)?;
        let network = |error: &dyn std::fmt::Display| self.client.network_error(error);
        let begun = Instant::now();
        let response = connection.send_request(request).await.map_err(|error| network(&error))?;
        let rows = read(response, take, &network).await?;
        Ok(Answer { ms: begun.elapsed().as_secs_f64() * 1e3, rows })
    }

    /// The path with the settings, and the statement where the body is a file.
    fn target(&self, sql: &str, has_file: bool) -> String {
        let mut target = "/?default_format=TabSeparated".to_owned();
        let database = Some(("database", self.database.as_str())).filter(|(_, database)| !database.is_empty());
        let settings = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let statement = has_file.then_some(("query", sql));
        for (name, value) in database.into_iter().chain(settings).chain(statement) {
            target.push_str(&format!("&{name}={}", value.replace(' ', "+")));
        }
        target
    }
}

/// Reads an answer to its end and counts its rows.
async fn read(
    response: Response<Incoming>,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
    network: &dyn Fn(&dyn std::fmt::Display) -> Error,
) -> Result<u64> {
    let status = response.status();
    let mut body = response.into_body();
    let (mut rows, mut tail) = (0, Vec::new());
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|error| network(&error))?.into_data() else { continue };
        rows += memchr::memchr_iter(b'\n', &piece).count() as u64;
        tail.extend_from_slice(&piece[piece.len().saturating_sub(TAIL_BYTES)..]);
        tail.drain(..tail.len().saturating_sub(TAIL_BYTES));
        if status == StatusCode::OK {
            take(&piece)?;
        }
    }
    let tail = String::from_utf8_lossy(&tail);
    match tail.rfind("DB::Exception") {
        None if status == StatusCode::OK => Ok(rows),
        at => Err(Error::new(ErrorCode::INCORRECT_DATA, tail[at.unwrap_or(0)..].trim().to_owned())),
    }
}

fn body(sql: &str, file: Option<&Path>) -> Result<BoxBody<Bytes, std::io::Error>> {
    let Some(path) = file else {
        return Ok(Full::new(Bytes::from(sql.to_owned())).map_err(|never| match never {}).boxed());
    };
    let open = || {
        let file = File::open(path)?;
        let left = file.metadata()?.len();
        Ok(FileBody { file, left }.boxed())
    };
    open().map_err(|error| file_error(path, &error))
}

/// A file as the body of a request. Reading it waits for the disk, which only the request waits for.
struct FileBody {
    file: File,
    left: u64,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(self.left).unwrap_or(PIECE_BYTES))];
        if piece.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(self.file.read_exact(&mut piece).map(|()| {
            self.left -= piece.len() as u64;
            Frame::data(Bytes::from(piece))
        })))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_server_and_user() {
        let client = |url: &str| Http::new(url, Duration::ZERO).unwrap().client;
        let asked = |url: &str, user: &str, password: &str| HttpClient::new(url, user, password).unwrap();
        assert_eq!(client("http://127.0.0.1:19301"), asked("http://127.0.0.1:19301", "default", ""));
        assert_eq!(client("http://me:it@db"), asked("http://db:8123", "me", "it"));
        assert!(Http::new("https://db", Duration::ZERO).is_err() && Http::new("db", Duration::ZERO).is_err());
    }

    #[test]
    fn settings_and_inserts_go_into_the_path() {
        let mut http = Http::new("http://db", Duration::ZERO).unwrap();
        assert_eq!(http.target("SELECT 1", false), "/?default_format=TabSeparated");
        http.set_database("d");
        http.set("max_threads", "1");
        http.set("max_threads", "2");
        assert_eq!(
            http.target("INSERT INTO t FORMAT Parquet", true),
            "/?default_format=TabSeparated&database=d&max_threads=2&query=INSERT+INTO+t+FORMAT+Parquet"
        );
    }
}
