//! What is wrong with a file or a folder that a tool reads or writes.

use std::path::Path;

use squall_types::{Error, ErrorCode};

/// `CANNOT_OPEN_FILE`, with the path.
pub fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", path.display()))
}
