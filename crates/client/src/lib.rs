//! The shell: `squall client`, and what `squall local` shares with it. A [`session::Session`] runs statements; [`run::Runner`] sends them
//! and shows what comes; the shell reads them from a terminal; the arguments say which of these. Engines and storage are not known here.

mod args;
mod connections;
mod external;
pub mod migrate;
pub mod run;
pub mod session;
mod shell;
mod style;

use std::process::ExitCode;

pub use args::{Args, RunArgs, rewritten};
pub use shell::{Shell, ShellOptions};
use squall_types::{Error, ErrorCode};

/// An error as a sentence: `Table default.x does not exist (UNKNOWN_TABLE, 60)`.
pub fn sentence(error: &Error) -> String {
    let message = error.message.trim_end();
    let message = message.strip_suffix('.').unwrap_or(message);
    match error.code.name() {
        "UNKNOWN_EXCEPTION" => format!("{message} ({})", error.code.0),
        name => format!("{message} ({name}, {})", error.code.0),
    }
}

/// What a client exits with after an error: its code modulo 256, as clickhouse-client does.
pub fn exit_code(error: &Error) -> ExitCode {
    match (error.code.0.rem_euclid(256)) as u8 {
        0 => ExitCode::from(255),
        code => ExitCode::from(code),
    }
}

/// What becomes of a program whose work ended so: a sentence on standard error, and the code of the exit.
pub fn finished(outcome: Result<(), Error>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if run::is_nobody_reading(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", style::error(&sentence(&error)));
            exit_code(&error)
        }
    }
}

/// `BAD_ARGUMENTS`.
fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sentences() {
        let error = Error::new(ErrorCode::UNKNOWN_TABLE, "Table default.x does not exist.");
        assert_eq!(sentence(&error), "Table default.x does not exist (UNKNOWN_TABLE, 60)");
        assert_eq!(format!("{:?}", exit_code(&Error::new(ErrorCode(394), ""))), format!("{:?}", ExitCode::from(138)));
        assert_eq!(format!("{:?}", exit_code(&Error::new(ErrorCode(512), ""))), format!("{:?}", ExitCode::from(255)));
    }
}
