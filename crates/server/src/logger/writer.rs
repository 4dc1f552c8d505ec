//! The one thread that writes the log to its files and the console.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use chrono_tz::Tz;
use squall_types::{Error, ErrorCode, Result};

use super::config::LoggerConfig;
use super::file::{LogFile, Rotation};
use super::layout::{Layout, TimeText};
use super::level::Level;
use super::levels::{Levels, Reader};
use super::line::LogLine;
use super::queue::{Batch, Queue};

/// What writes lines to their files.
pub(super) struct Writer {
    log: Option<LogFile>,
    errorlog: Option<LogFile>,
    levels: Arc<Levels>,
    time: TimeText,
    layout: Layout,
}

impl Writer {
    /// Opens the files.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE`.
    pub(super) fn open(config: &LoggerConfig, time_zone: Option<Tz>) -> Result<Self> {
        let rotation = Rotation { bytes_max: config.size_bytes, count: config.count };
        let open = |path: &Option<PathBuf>| match path {
            Some(path) => LogFile::open(path, rotation, config.is_compressed).map(Some).map_err(|error| {
                let message = format!("Cannot open the log file {}: {error}", path.display());
                Error::new(ErrorCode::CANNOT_OPEN_FILE, message)
            }),
            None => Ok(None),
        };
        let (log, errorlog) = (open(&config.log)?, open(&config.errorlog)?);
        let levels = Arc::new(Levels::of(config));
        Ok(Self { log, errorlog, levels, time: TimeText::new(time_zone), layout: config.layout.clone() })
    }

    /// From which levels on it writes.
    pub(super) fn levels(&self) -> &Arc<Levels> {
        &self.levels
    }

    /// Writes what comes until the queue is closed.
    pub(super) fn run(mut self, queue: &Queue) {
        let (mut batch, mut text) = (Batch::default(), Vec::new());
        while queue.take(&mut batch) {
            for line in batch.lines() {
                self.write(&line, &mut text);
            }
            let dropped = queue.take_dropped();
            if dropped > 0 {
                let message = format!("{dropped} lines were dropped because the log's queue was full");
                let line = LogLine { message: &*message, ..LogLine::new(Level::Warning, "Logger", file!(), line!()) };
                self.write(&line, &mut text);
            }
            for file in [&mut self.log, &mut self.errorlog].into_iter().flatten() {
                // A full disk must not stop the server; the next line tries again.
                let _ = file.flush();
            }
        }
        for file in [&mut self.log, &mut self.errorlog].into_iter().flatten() {
            let _ = file.close();
        }
        queue.end();
    }

    fn write(&mut self, line: &LogLine<&str>, text: &mut Vec<u8>) {
        text.clear();
        self.layout.append(line, &mut self.time, text);
        if self.levels.gives(Reader::Console, line.level) {
            let _ = io::stderr().lock().write_all(text);
        }
        if self.levels.gives(Reader::File, line.level)
            && let Some(file) = &mut self.log
        {
            let _ = file.write(text);
        }
        if self.levels.gives(Reader::ErrorFile, line.level)
            && let Some(file) = &mut self.errorlog
        {
            let _ = file.write(text);
        }
    }
}
