//! What Squall says that it is, where clients look for a ClickHouse: the version decides which features they use.

use std::sync::OnceLock;

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
/// The commit that was built, in hexadecimal; empty where the program that holds the server does not say.
static COMMIT: OnceLock<&'static str> = OnceLock::new();

/// Tells which commit was built. The first call counts.
pub fn set_commit(commit: &'static str) {
    COMMIT.get_or_init(|| commit);
}

/// See [`set_commit`].
pub fn commit() -> &'static str {
    COMMIT.get().copied().unwrap_or_default()
}

/// Squall's own version.
pub const SQUALL_VERSION: &str = env!("CARGO_PKG_VERSION");
