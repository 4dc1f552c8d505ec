//! The server's log: `tracing`'s events as ClickHouse's lines, in files and on the console. A thread that logs only formats the
//! message and hands it to a bounded queue; one thread of its own adds the rest and writes. When the queue is full lines are
//! dropped and counted, so that no query ever waits for the log.

mod file;
mod level;

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Local};
use chrono_tz::Tz;
use parking_lot::{Mutex, RwLock};
use squall_types::{Error, ErrorCode, Result};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::config::Element;
use file::LogFile;
pub use level::Level;

/// Lines that wait to be written; ClickHouse's `logger.async_queue_max_size`.
const QUEUE_LINES_MAX: usize = 65_536;
/// Lines that wait for one client that asked for the log of its query.
const CLIENT_LINES_MAX: usize = 1024;
/// Longer messages are cut.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// `logger` of config.xml.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggerConfig {
    /// The gravity from which lines are written.
    pub level: Level,
    /// The file of all lines.
    pub log: Option<PathBuf>,
    /// The file of warnings and errors.
    pub errorlog: Option<PathBuf>,
    /// A file of this many bytes is rotated; 0 is never.
    pub size_bytes: u64,
    /// Rotated files that are kept.
    pub count: usize,
    /// Whether lines go to standard error too; by default where there is no file or where it is a terminal.
    pub console: Option<bool>,
    /// The gravity of lines on the console; that of the files where it is not given.
    pub console_level: Option<Level>,
}

impl Default for LoggerConfig {
    fn default() -> Self {
        Self {
            level: Level::Information,
            log: None,
            errorlog: None,
            size_bytes: 100 << 20,
            count: 10,
            console: None,
            console_level: None,
        }
    }
}

impl LoggerConfig {
    /// Takes what the element says.
    ///
    /// # Errors
    /// `CANNOT_PARSE_TEXT` with file, line and element.
    pub(crate) fn read(&mut self, element: &Element, warnings: &mut Vec<String>) -> Result<()> {
        let level = |element: &Element| {
            Level::parse(element.trimmed()).ok_or_else(|| {
                let names = Level::ALL.map(|level| level.name().to_ascii_lowercase()).join(", ");
                element.bad_value(&format!("a level: {names}"))
            })
        };
        for child in &element.children {
            let file = || Some(PathBuf::from(child.trimmed())).filter(|path| !path.as_os_str().is_empty());
            match child.name.as_str() {
                "level" => self.level = level(child)?,
                "log" => self.log = file(),
                "errorlog" => self.errorlog = file(),
                "size" => self.size_bytes = child.bytes()?,
                "count" => self.count = child.value("a number of files")?,
                "console" => self.console = Some(child.boolean()?),
                "console_log_level" => self.console_level = Some(level(child)?),
                "rotation"
                | "stream_compress"
                | "formatting"
                | "use_syslog"
                | "syslog"
                | "syslog_level"
                | "async"
                | "levels"
                | "async_queue_max_size"
                | "async_queye_max_size"
                | "startup_level"
                | "shutdown_level"
                | "startup_console_log_level"
                | "shutdown_console_log_level"
                | "console_startup_level"
                | "console_shutdown_level" => {}
                name => warnings.push(format!("{}: unknown element <logger/{name}> is ignored", child.origin)),
            }
        }
        Ok(())
    }
}

/// One line of the log, before it is laid out.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// When.
    pub time: SystemTime,
    /// The operating system's number of the thread.
    pub thread_id: u64,
    /// How grave.
    pub level: Level,
    /// The query that it is about, or empty.
    pub query_id: String,
    /// Who says it: a component's name.
    pub component: &'static str,
    /// What is said.
    pub message: String,
}

impl LogLine {
    /// Appends `2026.11.20 12:00:00.000000 [ 17 ] {query} <Information> component: message`.
    pub fn append(&self, out: &mut String, time_zone: Option<Tz>) {
        const LAYOUT: &str = "%Y.%m.%d %H:%M:%S%.6f";
        let written = match time_zone {
            Some(time_zone) => {
                write!(out, "{}", DateTime::<chrono::Utc>::from(self.time).with_timezone(&time_zone).format(LAYOUT))
            }
            None => write!(out, "{}", DateTime::<Local>::from(self.time).format(LAYOUT)),
        };
        // Writing to a String does not fail.
        let _ = written;
        let _ = writeln!(
            out,
            " [ {} ] {{{}}} <{}> {}: {}",
            self.thread_id,
            self.query_id,
            self.level.name(),
            self.component,
            self.message
        );
    }
}

/// Lines for a client that asked for the log of its query (`send_logs_level`); dropping it ends the asking.
#[derive(Debug)]
pub struct LogSubscription {
    query_id: String,
    lines: Receiver<LogLine>,
}

impl LogSubscription {
    /// The next line, if one waits.
    pub fn try_next(&self) -> Option<LogLine> {
        self.lines.try_recv().ok()
    }
}

impl Drop for LogSubscription {
    fn drop(&mut self) {
        CLIENTS.lines.write().remove(&self.query_id);
        CLIENTS.update();
    }
}

/// Asks for the lines about a query from `level` on.
pub fn subscribe(query_id: &str, level: Level) -> LogSubscription {
    let (sender, lines) = sync_channel(CLIENT_LINES_MAX);
    CLIENTS.lines.write().insert(query_id.to_owned(), (level, sender));
    CLIENTS.update();
    LogSubscription { query_id: query_id.to_owned(), lines }
}

/// The clients that asked for lines about their queries.
struct Clients {
    lines: RwLock<HashMap<String, (Level, SyncSender<LogLine>)>>,
    count: AtomicUsize,
    level: AtomicU8,
}

static CLIENTS: LazyLock<Clients> =
    LazyLock::new(|| Clients { lines: RwLock::default(), count: AtomicUsize::new(0), level: AtomicU8::new(0) });

impl Clients {
    /// Recomputes what is wanted after a change.
    fn update(&self) {
        let lines = self.lines.read();
        let level = lines.values().map(|(level, _)| *level as u8).max().unwrap_or(0);
        self.count.store(lines.len(), Ordering::Relaxed);
        if self.level.swap(level, Ordering::Relaxed) != level {
            drop(lines);
            tracing::callsite::rebuild_interest_cache();
        }
    }
}

/// A line for `system.text_log`, with what only that table tells.
#[derive(Clone, Debug)]
pub struct TextLine {
    /// The line.
    pub line: LogLine,
    /// The thread's name.
    pub thread_name: String,
    /// Where in the source it is logged.
    pub source_file: &'static str,
    /// Likewise.
    pub source_line: u32,
}

/// Lines that wait for `system.text_log`.
struct TextLines {
    lines: Mutex<Vec<TextLine>>,
    level: AtomicU8,
}

static TEXT_LINES: TextLines = TextLines { lines: Mutex::new(Vec::new()), level: AtomicU8::new(0) };

/// Keeps lines from `level` on for [`take_text_lines`].
pub fn keep_text_lines(level: Level) {
    TEXT_LINES.level.store(level as u8, Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
}

/// Takes the lines that were kept.
pub fn take_text_lines() -> Vec<TextLine> {
    std::mem::take(&mut *TEXT_LINES.lines.lock())
}

/// What the writing thread gets.
enum Message {
    Line(LogLine),
    /// Everything before is to be in the files when this answers.
    Flush(SyncSender<()>),
}

/// The running log. It is the process's until its end; dropping this writes what is left.
pub struct Logger {
    queue: SyncSender<Message>,
}

impl Logger {
    /// Opens the files, starts the writing thread and takes over the process's `tracing` events.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE` where a file cannot be opened.
    pub fn start(config: &LoggerConfig, time_zone: Option<Tz>) -> Result<Self> {
        let open = |path: &Option<PathBuf>| match path {
            Some(path) => LogFile::open(path, config.size_bytes, config.count).map(Some).map_err(|error| {
                let message = format!("Cannot open the log file {}: {error}", path.display());
                Error::new(ErrorCode::CANNOT_OPEN_FILE, message)
            }),
            None => Ok(None),
        };
        let (log, errorlog) = (open(&config.log)?, open(&config.errorlog)?);
        let console = config.console.unwrap_or_else(|| log.is_none() || io::stderr().is_terminal());
        let console_level = if console { config.console_level.unwrap_or(config.level) } else { Level::None };
        let (queue, lines) = sync_channel(QUEUE_LINES_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer { log, errorlog, console_level, level: config.level, time_zone, dropped: dropped.clone() };
        std::thread::Builder::new().name("Logger".to_owned()).spawn(move || writer.run(&lines)).map_err(|error| {
            Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Cannot start the log's thread: {error}"))
        })?;
        let level = config.level.max(console_level);
        let layer = LogLayer { level, queue: queue.clone(), dropped };
        // A second server in one process (tests) keeps the first one's log.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
        Ok(Self { queue })
    }

    /// Waits, not forever, until what was logged so far is written.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.queue.try_send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(Duration::from_secs(1));
        }
    }
}

impl Drop for Logger {
    fn drop(&mut self) {
        self.flush();
    }
}

struct Writer {
    log: Option<LogFile>,
    errorlog: Option<LogFile>,
    level: Level,
    console_level: Level,
    time_zone: Option<Tz>,
    dropped: Arc<AtomicU64>,
}

impl Writer {
    fn run(mut self, messages: &Receiver<Message>) {
        let mut text = String::new();
        while let Ok(mut message) = messages.recv() {
            let mut done = None;
            loop {
                match message {
                    Message::Line(line) => self.write(&line, &mut text),
                    Message::Flush(sender) => done = Some(sender),
                }
                message = match messages.try_recv() {
                    Ok(message) => message,
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                };
            }
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                let message = format!("{dropped} lines were dropped because the log's queue was full");
                let line = LogLine {
                    time: SystemTime::now(),
                    thread_id: thread_id(),
                    level: Level::Warning,
                    query_id: String::new(),
                    component: "Logger",
                    message,
                };
                self.write(&line, &mut text);
            }
            for file in [&mut self.log, &mut self.errorlog].into_iter().flatten() {
                // A full disk must not stop the server; the next line tries again.
                let _ = file.flush();
            }
            if let Some(done) = done {
                let _ = done.send(());
            }
        }
    }

    fn write(&mut self, line: &LogLine, text: &mut String) {
        text.clear();
        line.append(text, self.time_zone);
        if line.level <= self.console_level {
            let _ = io::stderr().lock().write_all(text.as_bytes());
        }
        if line.level <= self.level
            && let Some(file) = &mut self.log
        {
            let _ = file.write(text.as_bytes());
        }
        if line.level <= Level::Notice
            && line.level <= self.level
            && let Some(file) = &mut self.errorlog
        {
            let _ = file.write(text.as_bytes());
        }
    }
}

struct LogLayer {
    level: Level,
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl LogLayer {
    fn wanted(&self) -> Level {
        let of = |level: &AtomicU8| Level::of_number(level.load(Ordering::Relaxed));
        self.level.max(of(&CLIENTS.level)).max(of(&TEXT_LINES.level))
    }
}

impl LogLayer {
    fn keep_text_line(&self, line: &LogLine, metadata: &'static Metadata<'static>) {
        let mut lines = TEXT_LINES.lines.lock();
        if lines.len() >= QUEUE_LINES_MAX {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        lines.push(TextLine {
            line: line.clone(),
            thread_name: std::thread::current().name().unwrap_or_default().to_owned(),
            source_file: metadata.file().unwrap_or_default(),
            source_line: metadata.line().unwrap_or(0),
        });
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> tracing::subscriber::Interest {
        // Asked again whenever a client's wish changes what is wanted.
        if metadata.is_event() && *metadata.level() <= self.wanted().filter() {
            tracing::subscriber::Interest::always()
        } else {
            tracing::subscriber::Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.wanted().filter())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = Level::from(event.metadata().level());
        let mut line = LogLine {
            time: SystemTime::now(),
            thread_id: thread_id(),
            level,
            query_id: String::new(),
            component: component(event.metadata().target()),
            message: String::new(),
        };
        event.record(&mut LineVisitor(&mut line));
        if line.message.len() > MESSAGE_BYTES_MAX {
            line.message.truncate(line.message.floor_char_boundary(MESSAGE_BYTES_MAX));
        }
        if CLIENTS.count.load(Ordering::Relaxed) > 0
            && let Some((wanted, client)) = CLIENTS.lines.read().get(&line.query_id)
            && level <= *wanted
        {
            // A client that does not keep up loses lines, no more.
            let _ = client.try_send(line.clone());
        }
        if level as u8 <= TEXT_LINES.level.load(Ordering::Relaxed) {
            self.keep_text_line(&line, event.metadata());
        }
        if level <= self.level
            && let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Line(line))
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Our own modules are known by their last name; everything else says its target.
fn component(target: &'static str) -> &'static str {
    match target.strip_prefix("squall_") {
        Some(path) => path.rsplit("::").next().unwrap_or(path),
        None => target,
    }
}

fn thread_id() -> u64 {
    thread_local! {
        // SAFETY: gettid has no preconditions.
        static ID: u64 = unsafe { libc::gettid() }.unsigned_abs().into();
    }
    ID.try_with(|id| *id).unwrap_or(0)
}

struct LineVisitor<'a>(&'a mut LogLine);

impl Visit for LineVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "query_id" => value.clone_into(&mut self.0.query_id),
            "message" => self.0.message.insert_str(0, value),
            name => {
                let _ = write!(self.0.message, " {name}={value}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "query_id" => self.0.query_id = format!("{value:?}"),
            "message" if self.0.message.is_empty() => {
                let _ = write!(self.0.message, "{value:?}");
            }
            "message" => self.0.message.insert_str(0, &format!("{value:?}")),
            name => {
                let _ = write!(self.0.message, " {name}={value:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_clickhouses_layout() {
        let line = LogLine {
            time: SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_176_000_123_456),
            thread_id: 17,
            level: Level::Information,
            query_id: "abc".to_owned(),
            component: "executeQuery",
            message: "hello".to_owned(),
        };
        let mut out = String::new();
        line.append(&mut out, Some(chrono_tz::UTC));
        assert_eq!(out, "2026.11.20 12:00:00.123456 [ 17 ] {abc} <Information> executeQuery: hello\n");
    }

    #[test]
    fn components_are_short() {
        assert_eq!(component("squall_server::http::connection"), "connection");
        assert_eq!(component("executeQuery"), "executeQuery");
    }

    #[test]
    fn levels_have_names() {
        assert_eq!(Level::parse("Information"), Some(Level::Information));
        assert_eq!(Level::parse("loud"), None);
        assert!(Level::Error < Level::Warning);
    }

    #[test]
    fn a_log_is_written_to_its_files() {
        let folder = std::env::temp_dir().join(format!("squall-logger-{}", std::process::id()));
        let config = LoggerConfig {
            level: Level::Debug,
            log: Some(folder.join("a.log")),
            errorlog: Some(folder.join("e.log")),
            console: Some(false),
            ..LoggerConfig::default()
        };
        let logger = Logger::start(&config, Some(chrono_tz::UTC)).unwrap();
        tracing::info!(target: "executeQuery", query_id = "q1", "one");
        tracing::error!("two {}", 2);
        tracing::trace!("too fine");
        let subscription = subscribe("q1", Level::Trace);
        tracing::trace!(query_id = "q1", "for the client");
        assert_eq!(subscription.try_next().unwrap().message, "for the client");
        drop(subscription);
        logger.flush();
        let log = std::fs::read_to_string(folder.join("a.log")).unwrap();
        assert!(log.contains("{q1} <Information> executeQuery: one\n"), "{log}");
        assert!(log.contains("<Error> tests: two 2\n"), "{log}");
        assert!(!log.contains("fine") && !log.contains("client"), "{log}");
        let errors = std::fs::read_to_string(folder.join("e.log")).unwrap();
        assert_eq!(errors.lines().count(), 1, "{errors}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
