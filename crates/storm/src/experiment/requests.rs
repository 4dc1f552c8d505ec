//! Small requests over HTTP, which cost a server next to nothing: how many it answers in a second. `wrk` sends them where it is
//! installed, since it takes the least of a machine that generator and server share; else this program does.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use squall_types::{Error, ErrorCode, Result};

use crate::load::{Endpoint, Load, Statement, Stream};
use crate::process::find_program;
use crate::server::Server;

/// What the requests are called, and what is asked for.
pub const REQUESTS: [(&str, &str); 2] = [("/ping", "/ping"), ("SELECT 1", "/?query=SELECT%201")];
/// The connections they are sent on, which stay open.
pub const HTTP_CONNECTIONS: usize = 64;

/// What sends the requests.
#[derive(Debug, Clone)]
pub enum RequestTool {
    /// Debian's program.
    Wrk(PathBuf),
    /// This program.
    Own,
}

impl RequestTool {
    /// `wrk` where it is installed.
    pub fn installed() -> Self {
        find_program("wrk").map_or(Self::Own, Self::Wrk)
    }

    /// What to call it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Wrk(_) => "wrk",
            Self::Own => "squall",
        }
    }

    /// Sends requests for about `seconds`; returns the number of responses and the seconds they took.
    ///
    /// # Errors
    /// A response other than 200; a connection that the server does not keep.
    pub async fn measure(&self, server: &Server, target: &str, seconds: f64) -> Result<(u64, f64)> {
        let program = match self {
            Self::Wrk(program) => program,
            Self::Own => {
                let endpoint = Endpoint::http(server.http_port());
                let stream = Stream::closed(endpoint, Statement::path("all", target), HTTP_CONNECTIONS);
                let outcome = Load::new(vec![stream], Duration::from_secs_f64(seconds)).run().await?;
                let total = outcome.total();
                if let Some(failed) = total.failed.values().next() {
                    return Err(Error::new(ErrorCode::INCORRECT_DATA, failed.example.clone()));
                }
                return Ok((total.answers(), total.elapsed.as_secs_f64()));
            }
        };
        let failed = |what: String| Error::new(ErrorCode::CANNOT_READ_FROM_ISTREAM, format!("wrk: {what}"));
        // It counts in whole seconds.
        let output = tokio::process::Command::new(program)
            // With one thread it is the generator that is measured.
            .arg(format!(
                "--threads={}",
                std::thread::available_parallelism().map_or(1, usize::from).min(HTTP_CONNECTIONS)
            ))
            .arg(format!("--connections={HTTP_CONNECTIONS}"))
            .arg(format!("--duration={}s", seconds.ceil().max(1.0)))
            .arg(format!("http://127.0.0.1:{}{target}", server.http_port()))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|error| failed(error.to_string()))?;
        let report = String::from_utf8_lossy(&output.stdout);
        parse(&report).ok_or_else(|| failed(format!("{report}{}", String::from_utf8_lossy(&output.stderr))))
    }
}

/// The number of responses and the seconds in wrk's report; none where any response was bad.
fn parse(report: &str) -> Option<(u64, f64)> {
    if report.contains("Non-2xx") || report.contains("Socket errors") {
        return None;
    }
    let value = |name: &str| report.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().parse::<f64>().ok());
    let responses: u64 = report.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok())?;
    Some((responses, responses as f64 / value("Requests/sec:")?.max(1e-9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_wrk_are_read() {
        let report = "  1 threads and 64 connections\n  415332 requests in 3.01s, 91.89MB read\n\
            Requests/sec: 138444.00\nTransfer/sec:     30.53MB\n";
        assert_eq!(parse(report), Some((415_332, 3.0)));
        assert_eq!(parse(&format!("{report}  Non-2xx or 3xx responses: 12\n")), None);
        assert_eq!(parse("unable to connect to 127.0.0.1:1 Connection refused"), None);
    }
}
