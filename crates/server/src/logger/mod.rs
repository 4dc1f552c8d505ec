//! The server's log: `tracing`'s events as ClickHouse's lines, in files and on the console. A thread that logs only formats the
//! message and hands it to a bounded queue; one thread of its own adds the rest and writes. When the queue is full lines are
//! dropped and counted, so that no query ever waits for the log.

mod config;
mod file;
mod layout;
mod level;
mod line;
mod subscription;
mod text_lines;
mod writer;

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use chrono_tz::Tz;
use squall_types::{Error, ErrorCode, Result};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

pub use config::LoggerConfig;
pub use layout::Layout;
pub use level::Level;
pub use line::LogLine;
pub use subscription::{LogSubscription, subscribe};
pub use text_lines::{keep_text_lines, take_text_lines};
use writer::{Message, QUEUE_LINES_MAX, Writer};

/// Longer messages are cut.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

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
        let (queue, lines) = sync_channel(QUEUE_LINES_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let writer = Writer::open(config, time_zone, dropped.clone())?;
        let level = writer.wanted();
        std::thread::Builder::new().name("Logger".to_owned()).spawn(move || writer.run(&lines)).map_err(|error| {
            Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Cannot start the log's thread: {error}"))
        })?;
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

struct LogLayer {
    level: Level,
    queue: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl LogLayer {
    fn wanted(&self) -> Level {
        self.level.max(subscription::wanted()).max(text_lines::wanted())
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
        let metadata = event.metadata();
        let level = Level::from(metadata.level());
        let (file, at) = (metadata.file().unwrap_or_default(), metadata.line().unwrap_or(0));
        let mut line = LogLine::new(level, component(metadata.target()), file, at);
        event.record(&mut LineVisitor(&mut line));
        if line.message.len() > MESSAGE_BYTES_MAX {
            line.message.truncate(line.message.floor_char_boundary(MESSAGE_BYTES_MAX));
        }
        subscription::offer(&line);
        if !text_lines::offer(&line) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
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
