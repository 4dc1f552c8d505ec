//! The one thread that writes the log to its files and the console.

use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};

use chrono_tz::Tz;
use squall_types::{Error, ErrorCode, Result};

use super::config::LoggerConfig;
use super::file::LogFile;
use super::layout::Layout;
use super::level::Level;
use super::line::LogLine;

/// Lines that wait to be written; ClickHouse's `logger.async_queue_max_size`.
pub(super) const QUEUE_LINES_MAX: usize = 65_536;

/// What the writing thread gets.
pub(super) enum Message {
    Line(LogLine),
    /// Everything before is to be in the files when this answers.
    Flush(SyncSender<()>),
}

/// What writes lines to their files.
pub(super) struct Writer {
    log: Option<LogFile>,
    errorlog: Option<LogFile>,
    level: Level,
    console_level: Level,
    time_zone: Option<Tz>,
    layout: Layout,
    dropped: Arc<AtomicU64>,
}

impl Writer {
    /// Opens the files.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE`.
    pub(super) fn open(config: &LoggerConfig, time_zone: Option<Tz>, dropped: Arc<AtomicU64>) -> Result<Self> {
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
        Ok(Self {
            log,
            errorlog,
            level: config.level,
            console_level,
            time_zone,
            layout: config.layout.clone(),
            dropped,
        })
    }

    /// The level from which some file or the console wants lines.
    pub(super) fn wanted(&self) -> Level {
        self.level.max(self.console_level)
    }

    /// Writes what comes until nobody can send any more.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
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
                let line = LogLine { message, ..LogLine::new(Level::Warning, "Logger", file!(), line!()) };
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
        self.layout.append(line, self.time_zone, text);
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
