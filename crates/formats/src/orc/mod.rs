//! ORC, in and out. Stripes of rows stand one after the other, each the streams of its columns; what a file is made of stands at its end,
//! as Protobuf messages. Everything that a file says of itself is doubtful: depths, lengths and counts are checked, and memory is taken as
//! values come rather than by the number of them that is promised.

mod chunks;
mod column_reader;
mod column_writer;
mod input;
mod messages;
mod output;
mod run_writer;
mod runs;
mod tail;
mod types;

pub(crate) use input::{OrcInput, infer};
pub(crate) use output::OrcOutput;

use squall_types::{Error, ErrorCode};

/// What a file begins with, and what its last message says once more.
const MAGIC: &[u8] = b"ORC";
/// The second to which those of timestamps are told: 2015-01-01 00:00:00, of the writer's time zone.
const EPOCH_SECONDS: i64 = 1_420_070_400;
const NANOSECONDS: i64 = 1_000_000_000;

fn corrupted(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("ORC: {what}"))
}

fn ends_early() -> Error {
    corrupted("a stream ends before its values do")
}
