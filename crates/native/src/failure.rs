//! Why a request has no answer, by the kinds that a load generator counts apart, and the conversion to the error that users see.

use std::fmt;

use squall_types::{Error, ErrorCode};

/// At which step a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// No connection, or no greeting on it.
    Connect,
    /// The connection broke while the request was sent.
    Write,
    /// The connection broke or ended before the whole answer was there, or what came is not of the protocol.
    Read,
    /// An HTTP status other than 200, without ClickHouse's exception.
    Status(u16),
    /// ClickHouse's exception with this code.
    Exception(i32),
    /// No answer in time.
    Timeout,
    /// An answer other than the expected one.
    WrongAnswer,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => f.write_str("connect"),
            Self::Write => f.write_str("write"),
            Self::Read => f.write_str("read"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Exception(code) => write!(f, "exception {code} {}", ErrorCode(*code).name()),
            Self::Timeout => f.write_str("timeout"),
            Self::WrongAnswer => f.write_str("wrong answer"),
        }
    }
}

/// A request that failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// At which step.
    pub kind: FailureKind,
    /// What there is to say about it.
    pub error: Error,
}

impl Failure {
    /// A failure at this step.
    pub fn new(kind: FailureKind, error: Error) -> Self {
        Failure { kind, error }
    }

    /// What the network did at this step.
    pub fn network(kind: FailureKind, error: impl fmt::Display) -> Self {
        Self::new(kind, Error::new(ErrorCode::NETWORK_ERROR, error.to_string()))
    }

    /// The server's exception.
    pub fn exception(error: Error) -> Self {
        Self::new(FailureKind::Exception(error.code.0), error)
    }

    /// Bytes that are not of the protocol.
    pub fn protocol(error: Error) -> Self {
        Self::new(FailureKind::Read, error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}
