//! `squall server`: the process around a [`Server`]: its log, its runtime, its sockets, its signals.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sd_notify::NotifyState;
use squall_runtime::memory::{Reclaim, start_reclaiming};
use squall_runtime::profile_events::GLOBAL;
use squall_runtime::thread_attributes::{ThreadKind, set_thread_kind};
use squall_runtime::{CurrentMetric, ProfileEvent};
use squall_types::{Error, ErrorCode, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::config::{Config, ConfigSource};
use crate::http::{self, Pages};
use crate::logger::Logger;
use crate::merges::merge_in_background;
use crate::native;
use crate::network::{Port, listen};
use crate::query::{mutate_in_background, refresh_in_background};
use crate::server::{Server, time_zone};
use crate::version::{REVISION, SQUALL_VERSION, VERSION, VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH};

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The configuration's sources.
    pub source: ConfigSource,
    /// A file to which the server writes its process id.
    pub pid_file: Option<PathBuf>,
    /// The process's allocator, which is told when to give freed memory back.
    pub allocator: Option<&'static dyn Reclaim>,
}

/// Runs a server until it is told to stop.
///
/// # Errors
/// Where it cannot be started.
pub fn run(options: &Options) -> Result<()> {
    let began = Instant::now();
    let config = Config::load(&options.source)?;
    let zone = Some(config.server.timezone.as_str()).filter(|zone| !zone.is_empty()).map(time_zone);
    set_umask(&config.server.umask);
    let logger = Logger::start(&config.logger, zone)?;
    log_panics();
    raise_open_files(config.server.max_open_files);
    let has_file = config.logger.log.is_some();
    let result = run_configured(config, options, began);
    // The caller says it on the console.
    if let Err(error) = &result
        && has_file
    {
        tracing::error!(target: "Application", "{error}");
    }
    logger.flush();
    result
}

/// Requests that are there go before a look for further ones, up to as many as one look brings. With Tokio's own interval of 61, what a look brings beyond the
/// 256 places of a worker's queue goes to the queue of all, and there it waits while ever new requests go first: at 2,048 clients one in ten waited ten times
/// as long as half of the others.
const EVENT_INTERVAL: u32 = 1024;

fn run_configured(config: Config, options: &Options, began: Instant) -> Result<()> {
    let cannot = |what: &str, error: std::io::Error| {
        Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Cannot {what}: {error}"))
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // Queries are planned here: as deep as max_ast_depth allows. Reserved, not used.
        .thread_stack_size(squall_runtime::thread_pool::STACK_BYTES)
        .worker_threads(squall_runtime::cpu::logical_cpus())
        .thread_name("IO")
        .on_thread_start(|| set_thread_kind(ThreadKind::Network))
        .event_interval(EVENT_INTERVAL)
        .enable_all()
        .build()
        .map_err(|error| cannot("start the I/O threads", error))?;
    if let Some(allocator) = options.allocator {
        start_reclaiming(allocator).map_err(|error| cannot("start the thread that gives memory back", error))?;
    }
    let server = Server::start(config, options.source.clone())?;
    write_status(&server, options)?;
    let result = runtime.block_on(serve(&server, began));
    // Connections that did not end by themselves are cut off.
    runtime.shutdown_timeout(Duration::from_secs(1));
    if let Some(pid_file) = &options.pid_file {
        let _ = std::fs::remove_file(pid_file);
    }
    let _ = std::fs::remove_file(server.config.load().path.join("status"));
    if let Err(error) = server.databases.checkpoint_catalog() {
        tracing::warn!(target: "Application", "The catalog keeps its write-ahead log: {error}");
    }
    tracing::info!(target: "Application", "Stopped");
    result
}

async fn serve(server: &Arc<Server>, began: Instant) -> Result<()> {
    let cannot = |error: std::io::Error| {
        Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Cannot watch for signals: {error}"))
    };
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(cannot)?;
    let config = server.config.load_full();
    let (listeners, urls) = listen_on_all(server, &config)?;
    let loading = server.clone();
    tokio::spawn(async move { crate::query::load_dictionaries_at_start(&loading).await });
    let housekeeping = [
        tokio::spawn(server.clone().housekeeping()),
        tokio::spawn(server.clone().watch_load()),
        tokio::spawn(server.clone().watch_configuration()),
        tokio::spawn(merge_in_background(server.clone())),
        tokio::spawn(mutate_in_background(server.clone())),
        tokio::spawn(refresh_in_background(server.clone())),
    ];
    note_ready(&config, began, &urls);
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {
                let reloading = server.clone();
                if let Ok(Err(error)) = tokio::task::spawn_blocking(move || reloading.reload()).await {
                    tracing::error!(target: "Config", "The configuration is not loaded again: {error}");
                }
            }
            () = server.stopping() => break,
        }
    }
    notify_service_manager(NotifyState::Stopping);
    tracing::info!(target: "Application", "Stopping: waiting for {} running queries", server.processes.len());
    server.shut_down();
    tokio::select! {
        () = server.drain() => {}
        _ = terminate.recv() => tracing::warn!(target: "Application", "Told to stop a second time: stopping at once"),
        _ = interrupt.recv() => tracing::warn!(target: "Application", "Told to stop a second time: stopping at once"),
    }
    let last = server.clone();
    let _ = tokio::task::spawn_blocking(move || last.system_logs.flush_last()).await;
    server.engine.scheduler().stop();
    housekeeping.iter().for_each(JoinHandle::abort);
    listeners.iter().for_each(JoinHandle::abort);
    Ok(())
}

/// Tasks that serve the configured ports, and the URLs at which clients find them.
fn listen_on_all(server: &Arc<Server>, config: &Config) -> Result<(Vec<JoinHandle<()>>, Vec<String>)> {
    let settings = &config.server;
    let connections = Arc::new(Semaphore::new(
        usize::try_from(settings.max_connections).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS),
    ));
    // All ports are listened on before any is served: who gets an answer on one finds the others.
    let on = |ports: [(u64, bool); 2]| -> Result<Vec<Port>> {
        let listened = ports.map(|(port, is_secure)| listen(config, port, is_secure));
        Ok(listened.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    };
    let http = on([(settings.http_port, false), (settings.https_port, true)])?;
    let native = on([(settings.tcp_port, false), (settings.tcp_port_secure, true)])?;
    let metrics = listen(config, config.prometheus.port.unwrap_or(0).into(), false)?;
    let urls: Vec<String> =
        http.iter().map(|port| port.url("http")).chain(native.iter().map(|port| port.url("tcp"))).collect();
    if urls.is_empty() {
        return Err(Error::new(
            ErrorCode::NO_ELEMENTS_IN_CONFIG,
            "No servers started (add valid listen_host and 'tcp_port' or 'http_port' to configuration file)",
        ));
    }
    let mut listeners = Vec::new();
    for (ports, pages) in [(http, Pages::All), (metrics, Pages::Metrics)] {
        for port in ports {
            listeners.push(tokio::spawn(http::serve(server.clone(), port, connections.clone(), pages)));
        }
    }
    for port in native {
        listeners.push(tokio::spawn(native::serve(server.clone(), port, connections.clone())));
    }
    Ok((listeners, urls))
}

/// Says to counters, to the log and to the service manager that the server takes connections.
fn note_ready(config: &Config, began: Instant, urls: &[String]) {
    let started_ms = began.elapsed().as_millis() as u64;
    GLOBAL.add(ProfileEvent::ServerStartupMilliseconds, started_ms);
    CurrentMetric::Revision.set(i64::from(REVISION));
    CurrentMetric::VersionInteger.set((VERSION_MAJOR * 1_000_000 + VERSION_MINOR * 1_000 + VERSION_PATCH) as i64);
    tracing::info!(
        target: "Application",
        "Squall {SQUALL_VERSION} (ClickHouse {VERSION}) is ready for connections after {started_ms} ms, data in {}: {}",
        config.path.display(),
        urls.join(", "),
    );
    notify_service_manager(NotifyState::Ready);
}

/// Tells systemd, where it has started this process and waits for word.
fn notify_service_manager(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(target: "Application", "Cannot tell the service manager: {error}");
    }
}

/// Writes the process's number where operators look for it.
fn write_status(server: &Server, options: &Options) -> Result<()> {
    let pid = std::process::id();
    let path = server.config.load().path.join("status");
    let status = format!("PID: {pid}\nSquall {SQUALL_VERSION}, ClickHouse {VERSION}\n");
    // A full disk is no reason not to start: what is to be removed from it, the server can remove.
    if let Err(error) = std::fs::write(&path, status) {
        tracing::warn!(target: "Application", "Cannot write {}: {error}", path.display());
    }
    let Some(pid_file) = &options.pid_file else { return Ok(()) };
    std::fs::write(pid_file, format!("{pid}\n")).map_err(|error| {
        Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("Cannot write {}: {error}", pid_file.display()))
    })
}

/// Sets the permissions that files are made without, in octal digits, where there are some.
fn set_umask(digits: &str) {
    if let Ok(mask) = u32::from_str_radix(digits.trim(), 8) {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask));
    }
}

/// Raises the limit of open files: to the configured number, or as far as the system lets.
fn raise_open_files(wanted: u64) {
    // SAFETY: both calls only read or write the struct that they are given.
    let raised = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return;
        }
        limit.rlim_cur = if wanted == 0 { limit.rlim_max } else { wanted.min(limit.rlim_max) };
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0
    };
    if !raised {
        tracing::warn!(target: "Application", "Cannot raise the limit of open files: {}", std::io::Error::last_os_error());
    }
}

/// A panic is a fault of Squall's: it ends one query or connection, and the log says where it was.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(target: "Application", "A panic: {panic}\n{}", std::backtrace::Backtrace::force_capture());
    }));
}
