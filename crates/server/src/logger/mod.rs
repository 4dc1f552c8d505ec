//! The server's log: `tracing`'s events as ClickHouse's lines, in files and on the console. A thread that logs only formats the
//! message and copies it into a bounded queue; one thread of its own adds the rest and writes, many lines at once. When the queue is
//! full lines are dropped and counted, so that no query ever waits for the log.

mod config;
mod file;
mod layout;
mod level;
mod levels;
mod line;
mod queue;
mod readable;
mod subscription;
mod text_lines;
mod writer;

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use chrono_tz::Tz;
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::GLOBAL;
use squall_types::{Error, ErrorCode, Result};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

pub use config::LoggerConfig;
pub use layout::Layout;
pub use level::Level;
use levels::Levels;
pub use line::LogLine;
use queue::Queue;
pub use readable::{OneLine, ReadableSize};
pub use subscription::{LogSubscription, subscribe};
pub use text_lines::{keep_text_lines, take_text_lines};
use writer::Writer;

use crate::masking::mask;

/// Longer messages are cut.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// How long what was logged may take to reach its files when the server ends.
const FLUSH_PATIENCE: Duration = Duration::from_secs(1);

/// The running log. It is the process's until its end; dropping this writes what is left.
pub struct Logger {
    queue: Arc<Queue>,
}

impl Logger {
    /// Opens the files, starts the writing thread and takes over the process's `tracing` events.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE` where a file cannot be opened.
    pub fn start(config: &LoggerConfig, time_zone: Option<Tz>) -> Result<Self> {
        let queue = Arc::new(Queue::new(config.queue_lines_max));
        let writer = Writer::open(config, time_zone)?;
        let levels = writer.levels().clone();
        let lines = queue.clone();
        std::thread::Builder::new().name("Logger".to_owned()).spawn(move || writer.run(&lines)).map_err(|error| {
            Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, format!("Cannot start the log's thread: {error}"))
        })?;
        let layer = LogLayer { levels: levels.clone(), queue: queue.clone() };
        // A second server in one process (tests) keeps the first one's log.
        if tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).is_ok() {
            let _ = RUNNING.set(levels);
        }
        Ok(Self { queue })
    }

    /// Waits, not forever, until what was logged so far is written.
    pub fn flush(&self) {
        self.queue.flush(FLUSH_PATIENCE);
    }
}

impl Drop for Logger {
    fn drop(&mut self) {
        self.queue.close(FLUSH_PATIENCE);
    }
}

/// The levels of the process's log.
static RUNNING: OnceLock<Arc<Levels>> = OnceLock::new();

/// Has the running log write from the levels on that the configuration says now.
pub fn change_levels(config: &LoggerConfig) {
    if let Some(levels) = RUNNING.get() {
        levels.set(config);
        // Places in the code that log remember whether they are wanted.
        tracing::callsite::rebuild_interest_cache();
    }
}

struct LogLayer {
    levels: Arc<Levels>,
    queue: Arc<Queue>,
}

impl LogLayer {
    fn wanted(&self) -> Level {
        self.levels.wanted().max(subscription::wanted()).max(text_lines::wanted())
    }

    fn log(&self, event: &Event<'_>, texts: &mut Texts) {
        let began = Instant::now();
        let metadata = event.metadata();
        let level = Level::from(metadata.level());
        GLOBAL.add(lines_of(metadata.level()), 1);
        let (file, at) = (metadata.file().unwrap_or_default(), metadata.line().unwrap_or(0));
        texts.clear();
        event.record(texts);
        let message = mask(&texts.message);
        let message = message.get(..message.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default();
        let line = LogLine {
            query_id: &*texts.query_id,
            message,
            ..LogLine::new(level, component(metadata.target()), file, at)
        };
        subscription::offer(&line);
        if level <= text_lines::wanted() {
            GLOBAL.add(ProfileEvent::AsyncLoggingTextLogTotalMessages, 1);
        }
        if !text_lines::offer(&line) {
            GLOBAL.add(ProfileEvent::AsyncLoggingTextLogDroppedMessages, 1);
            self.queue.count_dropped();
        }
        if level <= self.levels.wanted() {
            self.levels.for_each_reader(level, |reader| GLOBAL.add(reader.total(), 1));
            if !self.queue.push(&line) {
                self.levels.for_each_reader(level, |reader| GLOBAL.add(reader.dropped(), 1));
            }
        }
        GLOBAL.add(ProfileEvent::LoggerElapsedNanoseconds, began.elapsed().as_nanos() as u64);
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> tracing::subscriber::Interest {
        // Asked again whenever a client's wish changes what is wanted.
        if !metadata.is_span() && *metadata.level() <= self.wanted().filter() {
            tracing::subscriber::Interest::always()
        } else {
            tracing::subscriber::Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.wanted().filter())
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        thread_local! {
            /// Kept from line to line, so that a line needs no memory of its own.
            static TEXTS: RefCell<Texts> = const { RefCell::new(Texts { query_id: String::new(), message: String::new() }) };
        }
        let logged = TEXTS.try_with(|texts| match texts.try_borrow_mut() {
            Ok(mut texts) => self.log(event, &mut texts),
            // What is being logged logs something itself.
            Err(_) => self.log(event, &mut Texts::default()),
        });
        if logged.is_err() {
            // The thread is at its end.
            self.log(event, &mut Texts::default());
        }
    }
}

/// The lines of a level.
fn lines_of(level: &tracing::Level) -> ProfileEvent {
    match *level {
        tracing::Level::ERROR => ProfileEvent::LogError,
        tracing::Level::WARN => ProfileEvent::LogWarning,
        tracing::Level::INFO => ProfileEvent::LogInfo,
        tracing::Level::DEBUG => ProfileEvent::LogDebug,
        tracing::Level::TRACE => ProfileEvent::LogTrace,
    }
}

/// Our own modules are known by their last name; everything else says its target.
fn component(target: &'static str) -> &'static str {
    match target.strip_prefix("squall_") {
        Some(path) => path.rsplit("::").next().unwrap_or(path),
        None => target,
    }
}

/// What an event says: the query that it is about, and the message with its other fields after it.
#[derive(Default)]
struct Texts {
    query_id: String,
    message: String,
}

impl Texts {
    fn clear(&mut self) {
        self.query_id.clear();
        self.message.clear();
        // What one long line needed is not kept for a thread's life.
        self.message.shrink_to(MESSAGE_BYTES_MAX);
    }
}

impl Visit for Texts {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "query_id" => value.clone_into(&mut self.query_id),
            "message" => self.message.insert_str(0, value),
            name => {
                let _ = write!(self.message, " {name}={value}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "query_id" => self.query_id = format!("{value:?}"),
            "message" if self.message.is_empty() => {
                let _ = write!(self.message, "{value:?}");
            }
            "message" => self.message.insert_str(0, &format!("{value:?}")),
            name => {
                let _ = write!(self.message, " {name}={value:?}");
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
        change_levels(&LoggerConfig { level: Level::Trace, ..config });
        tracing::trace!("as fine as this");
        // The level counts when a line is written.
        logger.flush();
        change_levels(&LoggerConfig { level: Level::Warning, ..LoggerConfig::default() });
        tracing::info!("not any more");
        logger.flush();
        let log = std::fs::read_to_string(folder.join("a.log")).unwrap();
        assert!(log.contains("<Trace> tests: as fine as this") && !log.contains("not any more"), "{log}");
        let errors = std::fs::read_to_string(folder.join("e.log")).unwrap();
        assert_eq!(errors.lines().count(), 1, "{errors}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
