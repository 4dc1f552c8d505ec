//! Files that are open: read from the beginning, decompressed, or by place. What is read is counted, for the query too.

use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use squall_formats::ReadAt;
use squall_runtime::file_io::CountedFile;
use squall_types::{Error, ErrorCode, Result};

use crate::compression::Compression;
use crate::path::{Found, cannot_open};

/// A file that is read by place.
pub(crate) struct Placed {
    file: CountedFile,
    length: u64,
}

impl Placed {
    pub fn open(found: &Found) -> Result<Self> {
        let file = CountedFile::open(&found.path).map_err(|error| cannot_open(&found.path, &error))?;
        let length = file.file().metadata().map_err(|error| cannot_open(&found.path, &error))?.len();
        Ok(Self { file, length })
    }
}

impl ReadAt for Placed {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, length: usize) -> Result<Bytes> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).map_err(|error| {
            Error::new(ErrorCode::CANNOT_READ_ALL_DATA, format!("Cannot read {length} bytes at {offset}: {error}"))
        })?;
        Ok(bytes.into())
    }
}

/// A file that is read from its beginning.
struct Streamed(CountedFile);

impl Read for Streamed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

/// The plain bytes of a file of this path.
///
/// # Errors
/// `FILE_DOESNT_EXIST`, `CANNOT_OPEN_FILE`.
pub fn open_plain(path: &Path, compression: Compression) -> Result<Box<dyn Read + Send>> {
    let file = CountedFile::open(path).map_err(|error| cannot_open(path, &error))?;
    compression.reader(Box::new(Streamed(file)))
}

/// Fills `bytes` as far as there is something to read.
pub(crate) fn fill(input: &mut dyn Read, bytes: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_error(&error)),
        }
    }
    Ok(filled)
}

fn read_error(error: &io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(error) => error.clone(),
        None => Error::new(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, format!("Cannot read: {error}")),
    }
}
