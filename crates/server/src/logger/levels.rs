//! The levels of the running log, which a reload of the configuration changes.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU8, Ordering};

use squall_runtime::ProfileEvent;

use super::config::LoggerConfig;
use super::level::Level;

/// Who reads lines: a file or the console.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reader {
    File,
    ErrorFile,
    Console,
}

impl Reader {
    /// The lines that it was to get.
    pub(super) fn total(self) -> ProfileEvent {
        match self {
            Self::File => ProfileEvent::AsyncLoggingFileLogTotalMessages,
            Self::ErrorFile => ProfileEvent::AsyncLoggingErrorFileLogTotalMessages,
            Self::Console => ProfileEvent::AsyncLoggingConsoleTotalMessages,
        }
    }

    /// Those that were lost for want of room.
    pub(super) fn dropped(self) -> ProfileEvent {
        match self {
            Self::File => ProfileEvent::AsyncLoggingFileLogDroppedMessages,
            Self::ErrorFile => ProfileEvent::AsyncLoggingErrorFileLogDroppedMessages,
            Self::Console => ProfileEvent::AsyncLoggingConsoleDroppedMessages,
        }
    }
}

/// From which level on files and console get lines. Read with every line, without a lock.
#[derive(Debug)]
pub(super) struct Levels {
    files: AtomicU8,
    console: AtomicU8,
    has_file: bool,
    has_error_file: bool,
    has_console: bool,
}

impl Levels {
    pub(super) fn of(config: &LoggerConfig) -> Self {
        let has_console = config.console.unwrap_or_else(|| config.log.is_none() || io::stderr().is_terminal());
        let levels = Self {
            files: AtomicU8::new(0),
            console: AtomicU8::new(0),
            has_file: config.log.is_some(),
            has_error_file: config.errorlog.is_some(),
            has_console,
        };
        levels.set(config);
        levels
    }

    /// Takes the levels that the configuration says now.
    pub(super) fn set(&self, config: &LoggerConfig) {
        let console = if self.has_console { config.console_level.unwrap_or(config.level) } else { Level::None };
        self.files.store(config.level as u8, Ordering::Relaxed);
        self.console.store(console as u8, Ordering::Relaxed);
    }

    pub(super) fn files(&self) -> Level {
        Level::of_number(self.files.load(Ordering::Relaxed))
    }

    pub(super) fn console(&self) -> Level {
        Level::of_number(self.console.load(Ordering::Relaxed))
    }

    /// Whether a reader gets lines of a level.
    pub(super) fn gives(&self, reader: Reader, level: Level) -> bool {
        match reader {
            Reader::File => self.has_file && level <= self.files(),
            Reader::ErrorFile => self.has_error_file && level <= Level::Notice && level <= self.files(),
            Reader::Console => level <= self.console(),
        }
    }

    /// Those who get lines of a level.
    pub(super) fn for_each_reader(&self, level: Level, mut visit: impl FnMut(Reader)) {
        for reader in [Reader::File, Reader::ErrorFile, Reader::Console] {
            if self.gives(reader, level) {
                visit(reader);
            }
        }
    }

    /// The level from which some file or the console wants lines.
    pub(super) fn wanted(&self) -> Level {
        self.files().max(self.console())
    }
}
