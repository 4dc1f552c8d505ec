//! Reading and writing files, counted: how often, how many bytes, for how long, and how much of it is going on. What a query's threads do
//! here is the query's too.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use crate::current_metrics::{CurrentMetric, MetricGuard};
use crate::profile_events::{ProfileEvent, count};

/// An open file.
#[derive(Debug)]
pub struct CountedFile {
    file: File,
    _open: MetricGuard,
}

impl CountedFile {
    /// Opens a file to read it.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        count(ProfileEvent::FileOpen, 1);
        let file = File::open(path)?;
        count(ProfileEvent::CreatedReadBufferOrdinary, 1);
        Ok(Self { file, _open: CurrentMetric::OpenFileForRead.hold(1) })
    }

    /// Makes a new file.
    ///
    /// # Errors
    /// The system's; `AlreadyExists`.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        count(ProfileEvent::FileOpen, 1);
        File::create_new(path).map(Self::of_writer)
    }

    /// A file that is written.
    pub fn of_writer(file: File) -> Self {
        Self { file, _open: CurrentMetric::OpenFileForWrite.hold(1) }
    }

    /// The file itself, for what is not reading or writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Fills `bytes` with what is at `offset`.
    ///
    /// # Errors
    /// The system's; `UnexpectedEof` at the end of the file.
    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let length = bytes.len() as u64;
        let _reading = CurrentMetric::Read.hold(1);
        let began = Instant::now();
        let read = self.file.read_exact_at(bytes, offset);
        count(ProfileEvent::DiskReadElapsedMicroseconds, began.elapsed().as_micros() as u64);
        count(ProfileEvent::ReadBufferFromFileDescriptorRead, 1);
        match &read {
            Ok(()) => count(ProfileEvent::ReadBufferFromFileDescriptorReadBytes, length),
            Err(_) => count(ProfileEvent::ReadBufferFromFileDescriptorReadFailed, 1),
        }
        read
    }

    /// Reads on where the file stands; 0 bytes at its end.
    ///
    /// # Errors
    /// The system's.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let _reading = CurrentMetric::Read.hold(1);
        let began = Instant::now();
        let read = io::Read::read(&mut &self.file, bytes);
        count(ProfileEvent::DiskReadElapsedMicroseconds, began.elapsed().as_micros() as u64);
        count(ProfileEvent::ReadBufferFromFileDescriptorRead, 1);
        match &read {
            Ok(length) => count(ProfileEvent::ReadBufferFromFileDescriptorReadBytes, *length as u64),
            Err(_) => count(ProfileEvent::ReadBufferFromFileDescriptorReadFailed, 1),
        }
        read
    }

    /// Writes all of `bytes` where the file stands.
    ///
    /// # Errors
    /// The system's.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        counted_write(bytes, |bytes| (&self.file).write_all(bytes))
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// The system's.
    pub fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        counted_write(bytes, |bytes| self.file.write_all_at(bytes, offset))
    }

    /// Makes what was written durable.
    ///
    /// # Errors
    /// The system's.
    pub fn sync_all(&self) -> io::Result<()> {
        let began = Instant::now();
        let synced = self.file.sync_all();
        count(ProfileEvent::FileSync, 1);
        count(ProfileEvent::FileSyncElapsedMicroseconds, began.elapsed().as_micros() as u64);
        synced
    }
}

fn counted_write(bytes: &[u8], write: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let _writing = CurrentMetric::Write.hold(1);
    let began = Instant::now();
    let written = write(bytes);
    count(ProfileEvent::DiskWriteElapsedMicroseconds, began.elapsed().as_micros() as u64);
    count(ProfileEvent::WriteBufferFromFileDescriptorWrite, 1);
    match &written {
        Ok(()) => count(ProfileEvent::WriteBufferFromFileDescriptorWriteBytes, bytes.len() as u64),
        Err(_) => count(ProfileEvent::WriteBufferFromFileDescriptorWriteFailed, 1),
    }
    written
}

/// Makes the names in a folder durable.
///
/// # Errors
/// The system's.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    let began = Instant::now();
    let synced = File::open(path)?.sync_all();
    count(ProfileEvent::DirectorySync, 1);
    count(ProfileEvent::DirectorySyncElapsedMicroseconds, began.elapsed().as_micros() as u64);
    synced
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::profile_events::{Counters, attach};
    use crate::thread_pool::CountFor;

    #[derive(Default)]
    struct Query(Counters);

    impl CountFor for Query {
        fn counters(&self) -> &Counters {
            &self.0
        }
    }

    #[test]
    fn what_a_querys_thread_does_is_the_querys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let query = Arc::new(Query::default());
        {
            let _attached = attach(query.clone());
            let mut file = CountedFile::create_new(&path).unwrap();
            file.write_all(b"four").unwrap();
            file.sync_all().unwrap();
            sync_folder(folder.path()).unwrap();
            let file = CountedFile::open(&path).unwrap();
            file.read_exact_at(&mut [0; 2], 1).unwrap();
            assert!(file.read_exact_at(&mut [0; 9], 0).is_err());
        }
        // Of nobody.
        CountedFile::open(&path).unwrap().read_exact_at(&mut [0; 1], 0).unwrap();
        for (event, value) in [
            (ProfileEvent::FileOpen, 2),
            (ProfileEvent::WriteBufferFromFileDescriptorWrite, 1),
            (ProfileEvent::WriteBufferFromFileDescriptorWriteBytes, 4),
            (ProfileEvent::ReadBufferFromFileDescriptorRead, 2),
            (ProfileEvent::ReadBufferFromFileDescriptorReadBytes, 2),
            (ProfileEvent::ReadBufferFromFileDescriptorReadFailed, 1),
            (ProfileEvent::FileSync, 1),
            (ProfileEvent::DirectorySync, 1),
        ] {
            assert_eq!(query.0.get(event), value, "{}", event.name());
        }
    }
}
