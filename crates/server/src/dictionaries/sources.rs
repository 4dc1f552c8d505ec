//! Rows of dictionaries from outside of this server's tables: files, answers to HTTP requests, what commands print; and which other servers
//! may be asked. All of it waits, so that it runs on threads that may.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use base64::Engine;
use squall_formats::{FormatOptions, Statistics, input_format, output_format};
use squall_planner::{ForeignPlace, OutsidePlace, OutsideSource, SourceServer};
use squall_remote::{Address, Peer, Reach, SECURE_PORT};
use squall_runtime::ThreadPool;
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use super::foreign::Asking;
use crate::config::Config;
use crate::server::Server;
use crate::system;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Reads a source's rows as blocks of `schema`; those of `keys` where they are given.
///
/// # Errors
/// `PATH_ACCESS_DENIED`, `FILE_DOESNT_EXIST`, `NETWORK_ERROR`, `RECEIVED_ERROR_FROM_REMOTE_IO_SERVER`, `CHILD_WAS_NOT_EXITED_NORMALLY`;
/// what is wrong with the rows.
pub(crate) fn read(
    source: &OutsideSource,
    schema: &Arc<Schema>,
    keys: Option<&Block>,
    config: &Config,
    options: &FormatOptions,
) -> Result<Vec<Block>> {
    if let OutsidePlace::Foreign(place) = &source.place {
        return asking(place, source.is_of_statement, config, options).rows(keys);
    }
    let sent = keys.map(|keys| formatted(keys, &source.format, options)).transpose()?;
    let mut input = Input::new(&source.format, schema, options)?;
    match &source.place {
        OutsidePlace::File(path) => {
            let path = checked_path(path, source.is_of_statement, &config.server.user_files_path)?;
            let file = std::fs::File::open(&path).map_err(|error| cannot_open(&path, &error))?;
            input.read_all(file)?;
        }
        OutsidePlace::Http { url, credentials, headers } => {
            let mut http = config.remote_hosts.http_options(&options.settings);
            // What the configuration itself names may be anywhere.
            if !source.is_of_statement {
                http.reach = Arc::new(|_| Ok(Reach::Anywhere));
            }
            http.headers.extend_from_slice(headers);
            if let Some((user, password)) = credentials {
                let basic = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
                http.headers.push(("Authorization".to_owned(), format!("Basic {basic}")));
            }
            input.read_all(match sent {
                Some(sent) => squall_remote::http::post(url, sent.into(), &http)?,
                None => squall_remote::http::get(url, &http)?,
            })?;
        }
        OutsidePlace::Command { command, .. } => run(command, sent, &mut input)?,
        OutsidePlace::Foreign(_) => return Err(Error::logical("rows of another server in a format")),
    }
    input.finish()
}

/// How the server of a dictionary's source is asked.
fn asking<'a>(
    place: &'a ForeignPlace,
    is_of_statement: bool,
    config: &'a Config,
    options: &'a FormatOptions,
) -> Asking<'a> {
    let remote_hosts = &config.remote_hosts;
    Asking { place, is_of_statement, remote_hosts, settings: &options.settings, zone: &options.time_zone }
}

/// Checks that the server of a statement's source may be asked, as far as its name tells.
///
/// # Errors
/// `UNACCEPTABLE_URL` for a host that the configuration does not allow.
pub(crate) fn check_foreign(place: &ForeignPlace, server: &Server) -> Result<()> {
    let options = FormatOptions::default();
    asking(place, true, &server.config.load(), &options).check()
}

/// The server that a query of a dictionary's source is for; `None` where that is this one.
///
/// # Errors
/// `UNACCEPTABLE_URL` for a host that the configuration does not allow.
pub(crate) fn peer(source: &SourceServer, server: &Server) -> Result<Option<Peer>> {
    let config = server.config.load();
    let default_port = if source.is_secure { SECURE_PORT } else { config.server.tcp_port as u16 };
    let address = Address { host: source.host.clone(), port: source.port.unwrap_or(default_port) };
    if system::is_own(server, &address) {
        return Ok(None);
    }
    // What the configuration itself names may be anywhere.
    let reach = match source.is_of_statement {
        true => config.remote_hosts.reach_of(&address)?,
        false => Reach::Anywhere,
    };
    let (user, password, database) = (source.user.clone(), source.password.clone(), source.database.clone());
    Ok(Some(Peer { address, reach, user, password, database, is_secure: source.is_secure }))
}

/// Something that changes when a file does, or the answer of another server.
pub(crate) fn version(source: &OutsideSource, config: &Config, options: &FormatOptions) -> Option<u64> {
    let path = match &source.place {
        OutsidePlace::File(path) => path,
        OutsidePlace::Foreign(place) => {
            return asking(place, source.is_of_statement, config, options).version();
        }
        _ => return None,
    };
    let path = checked_path(path, source.is_of_statement, &config.server.user_files_path).ok()?;
    let metadata = std::fs::metadata(path).ok()?;
    let changed_ns = (metadata.ctime() as u64).wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec() as u64);
    Some(changed_ns ^ metadata.ino().rotate_left(32) ^ metadata.size().rotate_left(48))
}

/// The path of a file; a statement's must be inside the folder of user files.
fn checked_path(path: &str, is_of_statement: bool, user_files: &str) -> Result<PathBuf> {
    let folder = Path::new(user_files);
    let path = folder.join(path);
    if !is_of_statement {
        return Ok(path);
    }
    let is_inside = match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        (Err(error), _) if path.starts_with(folder) && !path.components().any(|part| part.as_os_str() == "..") => {
            return Err(cannot_open(&path, &error));
        }
        _ => false,
    };
    if is_inside {
        return Ok(path);
    }
    Err(Error::new(ErrorCode::PATH_ACCESS_DENIED, format!("File path {} is not inside {user_files}", path.display())))
}

fn cannot_open(path: &Path, error: &std::io::Error) -> Error {
    let code = match error.kind() {
        std::io::ErrorKind::NotFound => ErrorCode::FILE_DOESNT_EXIST,
        _ => ErrorCode::CANNOT_OPEN_FILE,
    };
    Error::new(code, format!("Cannot open file {}: {error}", path.display()))
}

/// Blocks from bytes in a format.
struct Input {
    format: Box<dyn squall_formats::InputFormat>,
    read: Vec<squall_formats::InputBlock>,
}

impl Input {
    fn new(format: &str, schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        Ok(Self { format: input_format(format, schema, options)?, read: Vec::new() })
    }

    fn feed(&mut self, chunk: &[u8]) -> Result<()> {
        self.format.feed(chunk, &mut self.read)
    }

    fn read_all(&mut self, mut from: impl Read) -> Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let bytes = from.read(&mut chunk).map_err(|error| {
                match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
                    Some(error) => error.clone(),
                    None => Error::new(
                        ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR,
                        format!("Cannot read a dictionary's source: {error}"),
                    ),
                }
            })?;
            if bytes == 0 {
                return Ok(());
            }
            self.feed(&chunk[..bytes])?;
        }
    }

    fn finish(mut self) -> Result<Vec<Block>> {
        self.format.finish(&mut self.read)?;
        while let Some(block) = self.format.next_block()? {
            self.read.push(block);
        }
        Ok(self.read.into_iter().map(|input| input.block).collect())
    }
}

fn formatted(block: &Block, format: &str, options: &FormatOptions) -> Result<Vec<u8>> {
    let mut output = output_format(format, block.schema(), options)?;
    let mut bytes = Vec::new();
    output.begin(&mut bytes);
    output.block(block, &mut bytes)?;
    output.end(&Statistics::default(), &mut bytes)?;
    Ok(bytes)
}

/// What a command prints, fed while it runs; it is given `sent` meanwhile.
fn run(command: &str, sent: Option<Vec<u8>>, input: &mut Input) -> Result<()> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Cannot {what} '{command}': {error}"))
    };
    let stdin = if sent.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(stdin)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot("start", &error))?;
    if let (Some(mut stdin), Some(sent)) = (child.stdin.take(), sent) {
        // A command that reads nothing ends this thread by closing its end.
        let write = move || drop(stdin.write_all(&sent));
        ThreadPool::global().schedule(write).map_err(|error| cannot("write to", &error))?;
    }
    let read = match child.stdout.take() {
        Some(stdout) => input.read_all(stdout),
        None => Ok(()),
    };
    if read.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| cannot("wait for", &error))?;
    read?;
    if !status.success() {
        return Err(Error::new(
            ErrorCode::CHILD_WAS_NOT_EXITED_NORMALLY,
            format!("Child process '{command}' was exited with {status}"),
        ));
    }
    Ok(())
}
