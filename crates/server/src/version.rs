//! What Squall says that it is, where clients look for a ClickHouse: the version decides which features they use.

/// The version in `version()`, in the handshake and in errors: the ClickHouse whose SQL, types and texts Squall follows.
pub const VERSION: &str = "26.9.2.1";
/// The parts of [`VERSION`].
pub const VERSION_MAJOR: u64 = 26;
/// The parts of [`VERSION`].
pub const VERSION_MINOR: u64 = 9;
/// The parts of [`VERSION`].
pub const VERSION_PATCH: u64 = 2;
/// `revision()`.
pub const REVISION: u32 = 54_515;
/// What stands after errors' names.
pub const VERSION_SUFFIX: &str = "(version 26.9.2.1 (Squall))";
/// Squall's own version.
pub const SQUALL_VERSION: &str = env!("CARGO_PKG_VERSION");
