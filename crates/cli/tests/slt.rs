//! The SQL tests of `tests/slt`: each file is a test of its name, over HTTP against a real server of its own.
//!
//! ```sh
//! cargo test --package squall-cli --test slt joins
//! ```
//!
//! Files whose head says `# long` run with `--include-ignored` alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a failure is the test's failure"
)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};
use squall_storm::free_port;

/// A server in a folder of its own, ended with the value.
struct Server {
    process: Child,
    http_port: u16,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (http_port, tcp_port) = (free_port().unwrap(), free_port().unwrap());
        let process = Command::new(env!("CARGO_BIN_EXE_squall"))
            .arg("server")
            .arg("--")
            .arg(format!("--http_port={http_port}"))
            .arg(format!("--tcp_port={tcp_port}"))
            .arg(format!("--path={}", folder.path().display()))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { process, http_port, _folder: folder };
        let deadline = Instant::now() + Duration::from_secs(60);
        while server.request("/ping", b"").is_err() {
            assert!(Instant::now() < deadline, "the server does not answer");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    /// Posts a body; gives the status and the answer. HTTP/1.0, so that the answer ends with the connection.
    fn request(&self, path: &str, body: &[u8]) -> std::io::Result<(u16, Vec<u8>)> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.http_port))?;
        write!(socket, "POST {path} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len())?;
        socket.write_all(body)?;
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer)?;
        let end =
            answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let status = String::from_utf8_lossy(&answer[..end]);
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Ok((status, answer.split_off(end + 4)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Debug)]
struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

struct Client<'a>(&'a Server);

impl DB for Client<'_> {
    type Error = Refused;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Self::ColumnType>, Refused> {
        // There is no session: SET would be forgotten. What the next record sees must have ended.
        let (status, answer) = self.0.request("/?wait_end_of_query=1&mutations_sync=2", sql.as_bytes())?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        if status != 200 {
            return Err(Refused(answer));
        }
        let cell = |text: &str| if text.trim().is_empty() { "(empty)".to_owned() } else { text.to_owned() };
        let rows: Vec<Vec<String>> =
            answer.split_terminator('\n').map(|row| row.split('\t').map(cell).collect()).collect();
        let types = vec![DefaultColumnType::Text; rows.first().map_or(1, Vec::len)];
        Ok(DBOutput::Rows { types, rows })
    }

    fn engine_name(&self) -> &str {
        "squall"
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt")
}

/// Runs every record of a file, so that one report names all that fail.
fn run(file: &Path) -> Result<(), Failed> {
    let server = Server::start();
    let records = sqllogictest::parse_file::<DefaultColumnType>(file)?;
    let failed = records.into_iter().filter_map(|record| {
        let mut runner = Runner::new(|| async { Ok::<_, Refused>(Client(&server)) });
        runner.run(record).err().map(|error| error.to_string())
    });
    match failed.collect::<Vec<String>>() {
        none if none.is_empty() => Ok(()),
        failed => Err(format!("{} records fail:\n\n{}", failed.len(), failed.join("\n\n")).into()),
    }
}

/// Whether the comments at a file's head say that it takes long.
fn is_long(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().take_while(|line| line.starts_with('#')).any(|line| line == "# long")
}

fn main() {
    let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "slt")).collect();
    files.sort();
    assert!(!files.is_empty());
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let trials = files.into_iter().map(|file| {
        let is_long = is_long(&file);
        Trial::test(name(&file), move || run(&file)).with_ignored_flag(is_long)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}
