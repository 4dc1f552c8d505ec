//! Arrow: the stream of messages that other programs take over as columns, and the file, which is the same stream between two marks.

mod input;
mod messages;
mod output;

pub(crate) use input::{ArrowInput, infer, known, known_field};
pub(crate) use output::{ArrowOutput, to_arrow};

use arrow_schema::ArrowError;
use squall_types::{Error, ErrorCode};

/// How the messages stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Container {
    /// `ArrowStream`.
    Stream,
    /// `Arrow`.
    File,
}

fn arrow_error(error: &ArrowError) -> Error {
    incorrect(error)
}

fn incorrect(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("Arrow: {what}"))
}
