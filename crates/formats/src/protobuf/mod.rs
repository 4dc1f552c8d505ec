//! Protobuf: rows as messages of a schema. In `Protobuf` each stands behind its length, in `ProtobufSingle` there is one, and in
//! `ProtobufList` all are fields of one message around them, which is behind its length.
//!
//! The schema's compiler gives descriptions of messages and fields. By those a plan is made once for the columns, which then says which
//! bytes are which column's: no message is ever made of values.

mod field;
mod infer;
mod input;
mod leaf;
mod leaf_reader;
mod number;
mod output;
mod payload;
mod plan;
mod read;
mod schema;
mod wire;
mod write;

pub(crate) use infer::infer;
pub(crate) use input::ProtobufReader;
pub(crate) use output::ProtobufOutput;
pub(crate) use schema::load;

/// How messages follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// Each behind its length.
    Lengths,
    /// There is one.
    Single,
    /// All within one.
    List,
}
