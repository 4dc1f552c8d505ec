//! The levels of the running log, which a reload of the configuration changes.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU8, Ordering};

use super::config::LoggerConfig;
use super::level::Level;

/// From which level on files and console get lines. Read with every line, without a lock.
#[derive(Debug)]
pub(super) struct Levels {
    files: AtomicU8,
    console: AtomicU8,
    has_console: bool,
}

impl Levels {
    pub(super) fn of(config: &LoggerConfig) -> Self {
        let has_console = config.console.unwrap_or_else(|| config.log.is_none() || io::stderr().is_terminal());
        let levels = Self { files: AtomicU8::new(0), console: AtomicU8::new(0), has_console };
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

    /// The level from which some file or the console wants lines.
    pub(super) fn wanted(&self) -> Level {
        self.files().max(self.console())
    }
}
