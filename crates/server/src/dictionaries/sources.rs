//! Rows of dictionaries from outside of this server's tables: files, answers to HTTP requests, what commands print. All of it waits, so
//! that it runs on threads that may. A request is sent from a thread of its own, whose runtime is nobody else's.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use base64::Engine;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Uri, header};
use hyper_util::rt::TokioIo;
use squall_formats::{FormatOptions, Statistics, input_format, output_format};
use squall_planner::{OutsidePlace, OutsideSource};
use squall_remote::Reach;
use squall_runtime::ThreadPool;
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::access::RemoteHosts;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks of an answer that may wait to be parsed.
const CHUNKS_WAITING_MAX: usize = 4;
/// Bytes of a refusal that an error shows.
const REFUSAL_BYTES_MAX: usize = 1000;

/// Reads a source's rows as blocks of `schema`; those of `keys` where they are given.
///
/// # Errors
/// `PATH_ACCESS_DENIED`, `FILE_DOESNT_EXIST`, `NETWORK_ERROR`, `RECEIVED_ERROR_FROM_REMOTE_IO_SERVER`, `CHILD_WAS_NOT_EXITED_NORMALLY`, `NOT_IMPLEMENTED` for HTTPS;
/// what is wrong with the rows.
pub(crate) fn read(
    source: &OutsideSource,
    schema: &Arc<Schema>,
    keys: Option<&Block>,
    user_files: &str,
    remote_hosts: &RemoteHosts,
    options: &FormatOptions,
) -> Result<Vec<Block>> {
    let sent = keys.map(|keys| formatted(keys, &source.format, options)).transpose()?;
    let mut input = Input::new(&source.format, schema, options)?;
    match &source.place {
        OutsidePlace::File(path) => {
            let path = checked_path(path, source.is_of_statement, user_files)?;
            let file = std::fs::File::open(&path).map_err(|error| cannot_open(&path, &error))?;
            input.read_all(file)?;
        }
        OutsidePlace::Http { url, credentials, headers } => {
            let wait = options.settings.http_receive_timeout.max(Duration::from_secs(1));
            let mut request = http_request(url, credentials.as_ref(), headers, sent)?;
            // A host's name may have come to mean another address since the dictionary was made.
            if source.is_of_statement {
                remote_hosts.check_url(url)?;
                request.reach = remote_hosts.reach(&request.host, Some(request.port)).unwrap_or(Reach::Public);
            }
            for chunk in send(request, wait)? {
                input.feed(&chunk?)?;
            }
        }
        OutsidePlace::Command { command, .. } => run(command, sent, &mut input)?,
    }
    input.finish()
}

/// Something that changes when a file does.
pub(crate) fn version(source: &OutsideSource, user_files: &str) -> Option<u64> {
    let OutsidePlace::File(path) = &source.place else { return None };
    let path = checked_path(path, source.is_of_statement, user_files).ok()?;
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
                Error::new(
                    ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR,
                    format!("Cannot read a dictionary's source: {error}"),
                )
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

/// Where a request goes, and what it is.
struct HttpRequest {
    host: String,
    port: u16,
    /// Which of the host's addresses may be asked.
    reach: Reach,
    request: Request<Full<Bytes>>,
}

fn http_request(
    url: &str,
    credentials: Option<&(String, String)>,
    headers: &[(String, String)],
    sent: Option<Vec<u8>>,
) -> Result<HttpRequest> {
    let bad = |why: &dyn std::fmt::Display| Error::new(ErrorCode::BAD_ARGUMENTS, format!("URL '{url}': {why}"));
    let uri: Uri = url.parse().map_err(|error| bad(&error))?;
    if uri.scheme_str() != Some("http") {
        return Err(Error::not_implemented(format!("A dictionary's source by another scheme than http, {url},")));
    }
    let host = uri.host().ok_or_else(|| bad(&"there is no host"))?.trim_matches(['[', ']']).to_owned();
    let authority =
        uri.authority().map_or(host.as_str(), |authority| authority.as_str().rsplit('@').next().unwrap_or_default());
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder()
        .method(if sent.is_some() { "POST" } else { "GET" })
        .uri(path)
        .header(header::HOST, authority)
        .header(header::CONNECTION, "close");
    if let Some((user, password)) = credentials {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        request = request.header(header::AUTHORIZATION, format!("Basic {basic}"));
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(sent.unwrap_or_default()));
    let port = uri.port_u16().unwrap_or(80);
    Ok(HttpRequest { host, port, reach: Reach::Anywhere, request: request.body(body).map_err(|error| bad(&error))? })
}

/// Sends a request from a thread of its own; gives the answer's chunks as they come.
fn send(request: HttpRequest, wait: Duration) -> Result<Receiver<Result<Bytes>>> {
    let (chunks, received) = sync_channel(CHUNKS_WAITING_MAX);
    let job = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let result = match runtime {
            Ok(runtime) => runtime.block_on(exchange(request, wait, &chunks)),
            Err(error) => Err(network_error(&error)),
        };
        if let Err(error) = result {
            // Who has gone does not want to know.
            let _ = chunks.send(Err(error));
        }
    };
    ThreadPool::global()
        .schedule(job)
        .map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    Ok(received)
}

fn network_error(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorCode::NETWORK_ERROR, format!("A dictionary's source cannot be reached: {error}"))
}

async fn exchange(request: HttpRequest, wait: Duration, chunks: &SyncSender<Result<Bytes>>) -> Result<()> {
    let late =
        |_| Error::new(ErrorCode::SOCKET_TIMEOUT, format!("A dictionary's source is silent for {} s", wait.as_secs()));
    let address = (request.host.as_str(), request.port);
    let found = tokio::time::timeout(wait, tokio::net::lookup_host(address));
    let found = found.await.map_err(late)?.map_err(|error| network_error(&error))?;
    let admitted: Vec<_> = found.filter(|address| request.reach.admits(address.ip())).collect();
    if admitted.is_empty() {
        return Err(Error::new(
            ErrorCode::UNACCEPTABLE_URL,
            format!("Host {} is not allowed in configuration file, see <remote_url_allow_hosts>", request.host),
        ));
    }
    let connecting = tokio::time::timeout(wait, tokio::net::TcpStream::connect(&admitted[..]));
    let socket = connecting.await.map_err(late)?.map_err(|error| network_error(&error))?;
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await;
    let (mut sender, connection) = handshake.map_err(|error| network_error(&error))?;
    let driver = tokio::spawn(connection);
    let answer = tokio::time::timeout(wait, sender.send_request(request.request)).await;
    let answer = answer.map_err(late)?.map_err(|error| network_error(&error))?;
    let status = answer.status();
    let mut body = answer.into_body();
    let mut refusal = Vec::new();
    while let Some(frame) = tokio::time::timeout(wait, body.frame()).await.map_err(late)? {
        let Ok(data) = frame.map_err(|error| network_error(&error))?.into_data() else { continue };
        if !status.is_success() {
            refusal.extend_from_slice(&data);
            if refusal.len() > REFUSAL_BYTES_MAX {
                break;
            }
        } else if chunks.send(Ok(data)).is_err() {
            break;
        }
    }
    driver.abort();
    if status.is_success() {
        return Ok(());
    }
    refusal.truncate(REFUSAL_BYTES_MAX);
    Err(Error::new(
        ErrorCode::RECEIVED_ERROR_FROM_REMOTE_IO_SERVER,
        format!(
            "Received error from remote server. HTTP status code: {status}, body: {}",
            String::from_utf8_lossy(&refusal).trim()
        ),
    ))
}
