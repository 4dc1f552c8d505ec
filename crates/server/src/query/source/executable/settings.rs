//! The settings of a program that is run, by ClickHouse's names.

use std::sync::Arc;
use std::time::Duration;

use squall_types::{Error, ErrorCode, Result};

/// How a program is run.
#[derive(Clone, Debug)]
pub(super) struct RunSettings {
    /// Whether the number of rows comes before each block that the program is given.
    pub(super) send_chunk_header: bool,
    /// How long a program that has printed everything may take to end.
    pub(super) termination: Duration,
    /// How long it may be silent.
    pub(super) read: Duration,
    /// How long it may take nothing of what it is given.
    pub(super) write: Duration,
    pub(super) stderr: StderrReaction,
    /// Whether an exit code that is not 0 fails the query.
    pub(super) check_exit_code: bool,
}

/// What becomes of a program's complaints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StderrReaction {
    None,
    /// The first bytes are logged.
    LogFirst,
    /// The last bytes are logged.
    LogLast,
    /// Any fails the query.
    Throw,
}

impl RunSettings {
    /// ClickHouse's defaults, but for these.
    ///
    /// # Errors
    /// `UNKNOWN_SETTING`, and `BAD_ARGUMENTS` for a value that is none of the setting's.
    pub(super) fn new(given: &[(Arc<str>, Arc<str>)]) -> Result<Self> {
        let mut settings = Self {
            send_chunk_header: false,
            termination: Duration::from_secs(10),
            read: Duration::from_secs(10),
            write: Duration::from_secs(10),
            stderr: StderrReaction::None,
            check_exit_code: false,
        };
        for (name, value) in given {
            let bad = || Error::new(ErrorCode::BAD_ARGUMENTS, format!("Setting {name} cannot be {value}"));
            let number = || value.parse::<u64>().map_err(|_| bad());
            let flag = || match &**value {
                "0" | "false" => Ok(false),
                "1" | "true" => Ok(true),
                _ => Err(bad()),
            };
            match &**name {
                "send_chunk_header" => settings.send_chunk_header = flag()?,
                "command_termination_timeout" => settings.termination = Duration::from_secs(number()?),
                "command_read_timeout" => settings.read = Duration::from_millis(number()?),
                "command_write_timeout" => settings.write = Duration::from_millis(number()?),
                "check_exit_code" => settings.check_exit_code = flag()?,
                "stderr_reaction" => {
                    settings.stderr = match &**value {
                        "none" => StderrReaction::None,
                        "log" | "log_last" => StderrReaction::LogLast,
                        "log_first" => StderrReaction::LogFirst,
                        "throw" => StderrReaction::Throw,
                        _ => return Err(bad()),
                    };
                }
                // Of pools, which a program that runs once is in none of.
                "pool_size" | "max_command_execution_time" => {
                    number()?;
                    tracing::warn!(target: "Executable", "setting {name} has no effect: there are no pools of programs");
                }
                _ => {
                    let message = format!("Unknown setting '{name}' of a program");
                    return Err(Error::new(ErrorCode::UNKNOWN_SETTING, message));
                }
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_by_name_and_value() {
        let new = |name: &str, value: &str| RunSettings::new(&[(name.into(), value.into())]);
        assert_eq!(new("command_read_timeout", "1500").unwrap().read, Duration::from_millis(1500));
        assert_eq!(new("stderr_reaction", "throw").unwrap().stderr, StderrReaction::Throw);
        assert!(new("check_exit_code", "1").unwrap().check_exit_code);
        assert_eq!(new("no_such", "1").unwrap_err().code, ErrorCode::UNKNOWN_SETTING);
        assert_eq!(new("check_exit_code", "7").unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }
}
