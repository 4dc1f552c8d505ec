//! A server process: its configuration, its start on free ports, the wait until it answers, and its end by the id it was started with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use squall_types::{Error, ErrorCode, Result};

use crate::file_error::file_error;
use crate::process::{end, end_with_us, find_program, free_port};
use squall_native::{Connection, Options};

/// How long a server may take to answer at first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Blocks sent to either server carry no per-column serialization kind, so that one encoding serves both.
const REVISION: u64 = 54_453;

/// Which server to start.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Squall, with elements of its configuration beyond the common ones.
    Squall { program: PathBuf, settings: Vec<(&'static str, String)> },
    /// The installed ClickHouse.
    ClickHouse { program: PathBuf },
}

impl Kind {
    /// The ClickHouse that is installed on this machine, if there is one.
    pub fn installed_clickhouse() -> Option<Self> {
        find_program("clickhouse-server").map(|program| Kind::ClickHouse { program })
    }
}

/// What a server's configuration has beyond the common one.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// Files of `config.d`, names and contents.
    pub config: Vec<(String, String)>,
    /// Files of `users.d`.
    pub users: Vec<(String, String)>,
    /// Files of `dictionaries.d`.
    pub dictionaries: Vec<(String, String)>,
    /// Certificate and private key, for ports under TLS beside the others.
    pub tls: Option<(PathBuf, PathBuf)>,
}

/// Memory and threads of a process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// VmRSS.
    pub resident_bytes: u64,
    /// Threads.
    pub threads: u64,
}

/// A running server. Dropped, it is stopped.
#[derive(Debug)]
pub struct Server {
    process: Child,
    /// The port of the native protocol.
    port: u16,
    http_port: u16,
    /// HTTPS and the native protocol under TLS.
    secure_ports: Option<(u16, u16)>,
    name: String,
    started_in: Duration,
    memory: Memory,
    folder: PathBuf,
}

impl Server {
    /// Starts a server with its data and files in `folder` and waits for its first answer.
    ///
    /// # Errors
    /// A program that cannot be started, ends at once, or does not answer in a minute; then with the end of its log.
    pub async fn start(kind: &Kind, folder: &Path) -> Result<Self> {
        Self::start_with(kind, folder, &Overlay::default()).await
    }

    /// The same with a configuration of its own.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_with(kind: &Kind, folder: &Path, overlay: &Overlay) -> Result<Self> {
        let (http, native, interserver) = (free_port()?, free_port()?, free_port()?);
        let config = folder.join("config.xml");
        write(&config, &config_xml(kind, folder, http, native, interserver))?;
        write(&folder.join("users.xml"), USERS_XML)?;
        let secure_ports = if overlay.tls.is_some() { Some((free_port()?, free_port()?)) } else { None };
        let mut files: Vec<(&str, &str, String)> = Vec::new();
        if let (Some((certificate, key)), Some((https, native))) = (&overlay.tls, secure_ports) {
            files.push(("config.d", "storm_tls.xml", tls_xml(certificate, key, https, native)));
        }
        files.extend(overlay.config.iter().map(|(name, text)| ("config.d", name.as_str(), text.clone())));
        files.extend(overlay.users.iter().map(|(name, text)| ("users.d", name.as_str(), text.clone())));
        // A dictionary's source names the server's own port.
        let with_port = |text: &str| text.replace("{tcp_port}", &native.to_string());
        let dictionaries = overlay.dictionaries.iter();
        files.extend(dictionaries.map(|(name, text)| ("dictionaries.d", name.as_str(), with_port(text))));
        for kind in ["config.d", "users.d", "dictionaries.d"] {
            let folder = folder.join(kind);
            // What an earlier start left.
            let _ = fs::remove_dir_all(&folder);
            create(&folder)?;
        }
        for (kind, name, text) in files {
            write(&folder.join(kind).join(name), &text)?;
        }
        let mut command = match kind {
            Kind::Squall { program, .. } => {
                let mut command = Command::new(program);
                command.arg("server").arg("--config-file").arg(&config);
                command
            }
            Kind::ClickHouse { program } => {
                let mut command = Command::new(program);
                command.arg(format!("--config-file={}", config.display()));
                command
            }
        };
        let console = |name: &str| fs::File::create(folder.join(name)).map(Stdio::from);
        let (out, err) = (console("stdout.log"), console("stderr.log"));
        let (Ok(out), Ok(err)) = (out, err) else {
            return Err(Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot write to {}", folder.display())));
        };
        // Relative paths in old servers mean the folder they run in.
        command.current_dir(folder).stdin(Stdio::null()).stdout(out).stderr(err);
        end_with_us(&mut command);
        let begun = Instant::now();
        let process = command
            .spawn()
            .map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot start {command:?}: {error}")))?;
        let mut server = Server {
            process,
            port: native,
            http_port: http,
            secure_ports,
            name: match kind {
                Kind::Squall { .. } => "Squall".to_owned(),
                Kind::ClickHouse { .. } => String::new(),
            },
            started_in: Duration::ZERO,
            memory: Memory::default(),
            folder: folder.to_path_buf(),
        };
        server.await_answer(begun).await?;
        Ok(server)
    }

    async fn await_answer(&mut self, begun: Instant) -> Result<()> {
        loop {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(self.failure(&format!("The server ended with {status} before it answered")));
            }
            let attempt = async {
                let mut connection = self.connect().await?;
                connection.ask("SELECT 1").await?;
                Ok::<_, Error>(format!("{} {}", connection.server_name(), connection.server_version()))
            };
            match attempt.await {
                Ok(version) => {
                    self.started_in = begun.elapsed();
                    self.memory = memory(self.process.id());
                    if self.name.is_empty() {
                        self.name = version;
                    }
                    return Ok(());
                }
                Err(error) if begun.elapsed() > PATIENCE => {
                    return Err(self.failure(&format!("The server did not answer in {PATIENCE:?}: {error}")));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
            }
        }
    }

    /// A new connection as the default user.
    ///
    /// # Errors
    /// As [`Connection::connect`].
    pub async fn connect(&self) -> Result<Connection> {
        Connection::connect(&self.options()).await
    }

    /// How to connect.
    pub fn options(&self) -> Options {
        Options { revision_max: REVISION, ..Options::local(self.port) }
    }

    /// The port of the native protocol.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port of the HTTP interface.
    pub fn http_port(&self) -> u16 {
        self.http_port
    }

    /// The ports of HTTPS and of the native protocol under TLS, where there are some.
    pub fn secure_ports(&self) -> Option<(u16, u16)> {
        self.secure_ports
    }

    /// CPU time that it has used so far.
    pub fn cpu_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        // After the program's name in parentheses: the 12th and 13th fields are user and system time in ticks of 10 ms.
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let ticks = fields.split_ascii_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
        Duration::from_millis(10 * ticks.sum::<u64>())
    }

    /// Its memory and threads now.
    pub fn memory_now(&self) -> Memory {
        memory(self.process.id())
    }

    /// What to call the server: Squall, or what the peer calls itself, with its version.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time from the start of the process to its first answer.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// Memory and threads right after the first answer.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// Ends the server and waits until it has.
    ///
    /// # Errors
    /// Where it crashed before or did not end by itself: a finding in a server under test.
    pub fn stop(mut self) -> Result<()> {
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(self.failure(&format!("The server had ended with {status} before it was asked to")));
        }
        if end(&mut self.process) {
            Ok(())
        } else {
            Err(self.failure("The server did not end when it was asked to, and was killed"))
        }
    }

    /// An error with the end of what the server wrote.
    fn failure(&self, what: &str) -> Error {
        let mut message = what.to_owned();
        for log in ["stdout.log", "stderr.log", "error.log"] {
            let text = fs::read_to_string(self.folder.join(log)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for line in lines.iter().skip(lines.len().saturating_sub(10)) {
                message.push_str("\n  ");
                message.push_str(line);
            }
        }
        Error::new(ErrorCode::NETWORK_ERROR, message)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| Error::new(ErrorCode::CANNOT_CREATE_DIRECTORY, format!("{}: {error}", folder.display())))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| file_error(path, &error))
}

/// Reads a process's memory and threads as Linux shows them; zeros where it does not.
fn memory(process: u32) -> Memory {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    Memory { resident_bytes: field("VmRSS:") * 1024, threads: field("Threads:") }
}

/// Everyone is the default user without a password, from this machine only.
const USERS_XML: &str = "<yandex>
    <profiles><default><max_memory_usage>10000000000</max_memory_usage></default></profiles>
    <users>
        <default>
            <password></password>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
        </default>
    </users>
    <quotas><default></default></quotas>
</yandex>
";

/// Ports under TLS, as both servers understand them.
fn tls_xml(certificate: &Path, key: &Path, https: u16, native: u16) -> String {
    format!(
        "<yandex>
    <https_port>{https}</https_port>
    <tcp_port_secure>{native}</tcp_port_secure>
    <openSSL>
        <server>
            <certificateFile>{}</certificateFile>
            <privateKeyFile>{}</privateKeyFile>
            <verificationMode>none</verificationMode>
            <cacheSessions>true</cacheSessions>
        </server>
    </openSSL>
</yandex>
",
        certificate.display(),
        key.display()
    )
}

fn config_xml(kind: &Kind, folder: &Path, http: u16, native: u16, interserver: u16) -> String {
    let folder = folder.display();
    let special = match kind {
        Kind::Squall { settings, .. } => {
            settings.iter().map(|(name, value)| format!("<{name}>{value}</{name}>\n    ")).collect()
        }
        Kind::ClickHouse { .. } => {
            format!(
                "<interserver_http_port>{interserver}</interserver_http_port>\n    <mark_cache_size>5368709120</mark_cache_size>\n    \
                 <max_concurrent_queries>1000</max_concurrent_queries>"
            )
        }
    };
    format!(
        "<yandex>
    <logger><level>error</level><log>{folder}/server.log</log><errorlog>{folder}/error.log</errorlog></logger>
    <http_port>{http}</http_port>
    <tcp_port>{native}</tcp_port>
    <listen_host>127.0.0.1</listen_host>
    <max_connections>20000</max_connections>
    <keep_alive_timeout>60</keep_alive_timeout>
    <path>{folder}/data/</path>
    <tmp_path>{folder}/tmp/</tmp_path>
    <user_files_path>{folder}/user_files/</user_files_path>
    <users_config>users.xml</users_config>
    <default_profile>default</default_profile>
    <default_database>default</default_database>
    <timezone>UTC</timezone>
    {special}
</yandex>
"
    )
}
