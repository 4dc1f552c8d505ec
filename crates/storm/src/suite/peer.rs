//! A server under test as the suite sees it: started by the suite, with a scenario's configuration and data, or already up somewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use squall_types::{Error, ErrorCode, Result};

use super::nginx::Nginx;
use super::plan::Stage;
use super::scenario::{Proxy, Scenario, Variant};
use super::values::{Values, fill};
use crate::load::{Endpoint, Wire, ask};
use crate::server::{Kind, Overlay, Server};

/// A server that can be asked for.
#[derive(Debug, Clone)]
pub enum Target {
    /// One that the suite starts.
    Start(&'static str, Kind),
    /// One that is up, under a name, by its URLs.
    Up(String, Vec<String>),
}

impl Target {
    /// Reads `squall`, `clickhouse` or `NAME=URL[,URL…]`.
    ///
    /// # Errors
    /// What is none of these; ClickHouse where it is not installed.
    pub fn parse(text: &str, squall: &Path) -> Result<Self> {
        let bad = |what: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("--server {text}: {what}"));
        match text {
            "squall" => Ok(Self::squall(squall)),
            "clickhouse" => match Kind::installed_clickhouse() {
                Some(kind) => Ok(Self::Start("ClickHouse", kind)),
                None => Err(bad("clickhouse-server is not installed")),
            },
            other => match other.split_once('=') {
                Some((name, urls)) if !name.is_empty() => {
                    Ok(Self::Up(name.to_owned(), urls.split(',').map(str::to_owned).collect()))
                }
                _ => Err(bad("expected squall, clickhouse or NAME=URL[,URL…]")),
            },
        }
    }

    /// Squall as this program has it.
    pub fn squall(program: &Path) -> Self {
        Self::Start("Squall", Kind::Squall { program: program.to_owned(), settings: Vec::new() })
    }

    /// What tables call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Start(name, _) => name,
            Self::Up(name, _) => name,
        }
    }
}

/// A server that is up, with a stage's data.
#[derive(Debug)]
pub struct Peer {
    /// What tables call it.
    pub name: String,
    /// What it says of itself.
    pub version: String,
    /// Its process, where the suite started it.
    pub server: Option<Server>,
    /// Values of the stage, and those that this server was asked for.
    pub values: Values,
    /// How long it took to make the stage's data.
    pub setup: Duration,
    /// CPU time of the server meanwhile, where the suite started it.
    pub setup_cpu: Option<Duration>,
    endpoints: Vec<(Wire, Endpoint)>,
    /// Before its HTTP interface, where the scenario wants it; or why not.
    nginx: Option<Result<(Nginx, Endpoint)>>,
    folder: Option<PathBuf>,
}

impl Peer {
    /// Starts the server and makes the stage's data. Its configuration and logs stay in `folder`.
    ///
    /// # Errors
    /// A server that does not start, or that does not understand a statement of the scenario's setup.
    pub async fn start(
        target: &Target,
        scenario: &Scenario,
        stage: &Stage,
        folder: &Path,
        tls: &(PathBuf, PathBuf),
    ) -> Result<Self> {
        let mut peer = Peer {
            name: target.name().to_owned(),
            version: String::new(),
            server: None,
            values: stage.values.clone(),
            setup: Duration::ZERO,
            setup_cpu: None,
            endpoints: Vec::new(),
            nginx: None,
            folder: None,
        };
        match target {
            Target::Up(_, urls) => {
                for url in urls {
                    let endpoint = Endpoint::parse(url, None, true)?;
                    peer.endpoints.push((endpoint.wire(), endpoint));
                }
            }
            Target::Start(_, kind) => peer.start_own(kind, scenario, folder, tls).await?,
        }
        peer.version = peer.ask("SELECT version()").await?;
        if let (Some(config), Some(direct)) = (&scenario.files.nginx, peer.of(Wire::Http)) {
            let started = Nginx::start(&fill(config, &stage.values), direct.address, &folder.join("nginx")).await;
            let before = |nginx: Nginx| {
                let endpoint = Endpoint { address: nginx.address(), ..direct.clone() };
                (nginx, endpoint)
            };
            peer.nginx = Some(started.map(before));
        }
        peer.set_up(scenario).await?;
        Ok(peer)
    }

    /// Starts the server that the suite has to start itself, with the scenario's configuration.
    async fn start_own(
        &mut self,
        kind: &Kind,
        scenario: &Scenario,
        folder: &Path,
        tls: &(PathBuf, PathBuf),
    ) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::new(ErrorCode::CANNOT_CREATE_DIRECTORY, format!("{}: {error}", folder.display()))
        })?;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let files = &scenario.files;
        let filled = |files: &BTreeMap<String, String>| -> Vec<(String, String)> {
            files.iter().map(|(name, text)| (name.clone(), fill(text, &self.values))).collect()
        };
        let own = files.config_of.get(&self.name).map(filled).unwrap_or_default();
        let needs_tls = scenario.variant.iter().any(|variant| variant.protocol.is_secure());
        let overlay = Overlay {
            config: [filled(&files.config), own].concat(),
            users: filled(&files.users),
            dictionaries: filled(&files.dictionaries),
            tls: needs_tls.then(|| tls.clone()),
        };
        let server = Server::start_with(kind, &folder, &overlay).await?;
        self.endpoints.push((Wire::Http, Endpoint::http(server.http_port())));
        self.endpoints.push((Wire::Tcp, Endpoint::native(server.port())));
        if let Some((https, native)) = server.secure_ports() {
            for (wire, url) in [
                (Wire::Https, format!("https://127.0.0.1:{https}")),
                (Wire::Tcps, format!("tcps://127.0.0.1:{native}")),
            ] {
                self.endpoints.push((wire, Endpoint::parse(&url, None, true)?));
            }
        }
        self.server = Some(server);
        self.folder = Some(folder);
        Ok(())
    }

    /// Makes the stage's data, and asks for the values that the scenario wants to know of this server.
    async fn set_up(&mut self, scenario: &Scenario) -> Result<()> {
        let cpu = |peer: &Peer| peer.server.as_ref().map(Server::cpu_time);
        let (begun, cpu_before) = (Instant::now(), cpu(self));
        for Statement { text, is_optional } in statements(&scenario.files.setup) {
            let text = fill(&text, &self.values);
            match self.ask(&text).await {
                // Whether it was needed is seen by the queries.
                Err(error) if !is_optional => return Err(error.context(format_args!("{}", excerpt(&text)))),
                _ => {}
            }
        }
        self.setup = begun.elapsed();
        self.setup_cpu = cpu(self).zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
        for (name, question) in &scenario.ask {
            let answer = self.ask(&fill(question, &self.values)).await?;
            self.values.insert(name.clone(), answer);
        }
        Ok(())
    }

    /// How to reach it in this way.
    ///
    /// # Errors
    /// Where it does not speak the protocol, or the proxy is not there.
    pub fn endpoint(&self, variant: &Variant) -> Result<&Endpoint> {
        let lacks = || {
            let message = format!("{} has no {} port", self.name, variant.protocol.name());
            Error::new(ErrorCode::NOT_IMPLEMENTED, message)
        };
        match (variant.proxy, &self.nginx) {
            (None, _) => self.of(variant.protocol).ok_or_else(lacks),
            (Some(Proxy::Nginx), Some(Ok((_, endpoint)))) => Ok(endpoint),
            (Some(Proxy::Nginx), Some(Err(error))) => Err(error.clone()),
            (Some(Proxy::Nginx), None) => Err(lacks()),
        }
    }

    fn of(&self, wire: Wire) -> Option<&Endpoint> {
        self.endpoints.iter().find_map(|(other, endpoint)| (*other == wire).then_some(endpoint))
    }

    /// The answer to a query as text.
    async fn ask(&self, query: &str) -> Result<String> {
        let endpoint = self.of(Wire::Tcp).or_else(|| self.endpoints.first().map(|(_, endpoint)| endpoint));
        let endpoint = endpoint.ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, "A server without a URL"))?;
        ask(endpoint, query).await
    }

    /// Ends the server, if the suite has started it, and removes its data; configuration and logs stay.
    ///
    /// # Errors
    /// A server that crashed or had to be killed.
    pub fn stop(self) -> Result<()> {
        drop(self.nginx);
        let stopped = self.server.map_or(Ok(()), Server::stop);
        if let Some(folder) = self.folder {
            for name in ["data", "tmp", "user_files"] {
                // What is not there need not be removed; what stays is seen in the results' folder.
                let _ = std::fs::remove_dir_all(folder.join(name));
            }
        }
        stopped
    }
}

/// A statement of a setup.
#[derive(Debug, PartialEq)]
struct Statement {
    text: String,
    /// Whether a server may refuse it.
    is_optional: bool,
}

/// The statements of a script: each ends with a semicolon at the end of a line. One below a comment that begins with `optional` may fail.
fn statements(script: &str) -> Vec<Statement> {
    let statement = |lines: &str| {
        let is_comment = |line: &&str| line.trim_start().starts_with("--");
        let is_optional =
            lines.lines().filter(is_comment).any(|line| line.trim_start_matches([' ', '-']).starts_with("optional"));
        let text: Vec<&str> = lines.lines().filter(|line| !is_comment(line)).collect();
        Statement { text: text.join("\n").trim().trim_end_matches(';').to_owned(), is_optional }
    };
    script.split(";\n").map(statement).filter(|statement| !statement.text.is_empty()).collect()
}

fn excerpt(statement: &str) -> String {
    statement.chars().take(80).collect::<String>().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_cut_into_statements() {
        let script = "-- What it is; really.\nCREATE TABLE t\n  (x UInt8);\n\n-- optional: newer ones\nINSERT INTO t SELECT ';';\n";
        let statement = |text: &str, is_optional| Statement { text: text.to_owned(), is_optional };
        let expected = [statement("CREATE TABLE t\n  (x UInt8)", false), statement("INSERT INTO t SELECT ';'", true)];
        assert_eq!(statements(script), expected);
        assert!(statements("").is_empty());
    }

    #[test]
    fn targets_are_read() {
        let squall = Path::new("/bin/squall");
        assert_eq!(Target::parse("squall", squall).unwrap().name(), "Squall");
        let up = Target::parse("new=http://127.0.0.1:1,tcp://127.0.0.1:2", squall).unwrap();
        assert!(matches!(up, Target::Up(name, urls) if name == "new" && urls.len() == 2));
        assert!(Target::parse("http://127.0.0.1:1", squall).is_err());
    }
}
