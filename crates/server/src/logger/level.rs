//! ClickHouse's ten log levels and how `tracing`'s five stand for them.

use tracing::level_filters::LevelFilter;

/// A level of logging; a smaller one is graver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Level {
    None = 0,
    Fatal = 1,
    Critical = 2,
    Error = 3,
    Warning = 4,
    Notice = 5,
    Information = 6,
    Debug = 7,
    Trace = 8,
    Test = 9,
}

impl Level {
    /// Every level, gravest first.
    pub const ALL: [Self; 10] = [
        Self::None,
        Self::Fatal,
        Self::Critical,
        Self::Error,
        Self::Warning,
        Self::Notice,
        Self::Information,
        Self::Debug,
        Self::Trace,
        Self::Test,
    ];

    /// The level of a name in any case, as `logger/level` and `send_logs_level` have it.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// The name, as it stands between the angle brackets of a line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Fatal => "Fatal",
            Self::Critical => "Critical",
            Self::Error => "Error",
            Self::Warning => "Warning",
            Self::Notice => "Notice",
            Self::Information => "Information",
            Self::Debug => "Debug",
            Self::Trace => "Trace",
            Self::Test => "Test",
        }
    }

    /// The number in the native protocol's log packets and in `system.text_log`.
    pub fn priority(self) -> i8 {
        self as i8
    }

    pub(super) fn of_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Test)
    }

    pub(super) fn filter(self) -> LevelFilter {
        match self {
            Self::None => LevelFilter::OFF,
            Self::Fatal | Self::Critical | Self::Error => LevelFilter::ERROR,
            Self::Warning => LevelFilter::WARN,
            Self::Notice | Self::Information => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace | Self::Test => LevelFilter::TRACE,
        }
    }
}

impl From<&tracing::Level> for Level {
    fn from(level: &tracing::Level) -> Self {
        match *level {
            tracing::Level::ERROR => Self::Error,
            tracing::Level::WARN => Self::Warning,
            tracing::Level::INFO => Self::Information,
            tracing::Level::DEBUG => Self::Debug,
            tracing::Level::TRACE => Self::Trace,
        }
    }
}
