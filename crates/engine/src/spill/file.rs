//! A temporary file: bytes are added at its end and read again, in frames; nothing in it is ever changed. Its bytes count against the
//! limits for temporary data of the query, the user and the server.

use std::fs::File;
use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use squall_runtime::current_metrics::MetricGuard;
use squall_runtime::file_io::CountedFile;
use squall_runtime::memory::SERVER;
use squall_runtime::{CurrentMetric, ProfileEvent};
use squall_types::memory::reserve;
use squall_types::{Error, ErrorCode, Result};

use super::frame::Codec;
use super::offload::offload;
use crate::query_context::QueryContext;

/// What a temporary file is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpillKind {
    /// Rows of a sort, or of a window.
    Sort,
    /// Groups.
    Aggregation,
    /// Rows of both sides of a join.
    Join,
    /// Bytes that a client sent, of a format that is read by place.
    Input,
}

impl SpillKind {
    fn metric(self) -> CurrentMetric {
        match self {
            Self::Sort => CurrentMetric::TemporaryFilesForSort,
            Self::Aggregation => CurrentMetric::TemporaryFilesForAggregation,
            Self::Join => CurrentMetric::TemporaryFilesForJoin,
            Self::Input => CurrentMetric::TemporaryFilesUnknown,
        }
    }

    /// The events for a part that is written, for the beginning of the merge, for compressed and for plain bytes. Input is not processed
    /// in its file: it has none.
    fn events(self) -> Option<[ProfileEvent; 4]> {
        use ProfileEvent as Event;
        Some(match self {
            Self::Sort => [
                Event::ExternalSortWritePart,
                Event::ExternalSortMerge,
                Event::ExternalSortCompressedBytes,
                Event::ExternalSortUncompressedBytes,
            ],
            Self::Aggregation => [
                Event::ExternalAggregationWritePart,
                Event::ExternalAggregationMerge,
                Event::ExternalAggregationCompressedBytes,
                Event::ExternalAggregationUncompressedBytes,
            ],
            Self::Join => [
                Event::ExternalJoinWritePart,
                Event::ExternalJoinMerge,
                Event::ExternalJoinCompressedBytes,
                Event::ExternalJoinUncompressedBytes,
            ],
            Self::Input => return None,
        })
    }
}

/// A block in a temporary file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    pub(super) offset: u64,
    pub(super) bytes: u32,
    pub(crate) rows: u32,
}

impl Frame {
    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes as usize
    }
}

/// A temporary file of a query; it is gone when nobody holds it.
pub struct SpillFile {
    context: Arc<QueryContext>,
    kind: SpillKind,
    pub(super) codec: Codec,
    /// There once the first bytes are written.
    file: OnceLock<CountedFile>,
    /// Where the next bytes go; also the bytes that are counted.
    end: AtomicU64,
    _metrics: [MetricGuard; 2],
}

impl SpillFile {
    /// A file, which is made when the first bytes are written.
    ///
    /// # Errors
    /// `UNKNOWN_CODEC` where `temporary_files_codec` is none.
    pub fn new(context: Arc<QueryContext>, kind: SpillKind) -> Result<Arc<Self>> {
        let codec = Codec::parse(&context.settings.temporary_files_codec)?;
        if kind.events().is_some() {
            context.counters.add(ProfileEvent::ExternalProcessingFilesTotal, 1);
        }
        let metrics = [kind.metric().hold(1), CurrentMetric::TotalTemporaryFiles.hold(1)];
        let file = Self { context, kind, codec, file: OnceLock::new(), end: AtomicU64::new(0), _metrics: metrics };
        Ok(Arc::new(file))
    }

    /// A part of what does not fit is about to be written.
    pub(crate) fn count_part(&self) {
        self.count(0, 1);
    }

    /// What was written is about to be put together.
    pub(crate) fn count_merge(&self) {
        self.count(1, 1);
    }

    pub(super) fn count_plain(&self, bytes: usize) {
        self.count(3, bytes as u64);
        self.context.counters.add(ProfileEvent::ExternalProcessingUncompressedBytesTotal, bytes as u64);
    }

    /// Counts one of the events of its kind.
    fn count(&self, event: usize, by: u64) {
        if let Some(event) = self.kind.events().and_then(|events| events.get(event).copied()) {
            self.context.counters.add(event, by);
        }
    }

    /// Begins to write bytes, which have their place in the file at once. The future gives the buffer back, empty, for the next ones.
    ///
    /// # Errors
    /// `TOO_MANY_ROWS_OR_BYTES` where a limit for temporary data is passed; the future's are the disk's.
    pub fn write(
        self: &Arc<Self>,
        mut bytes: Vec<u8>,
    ) -> Result<(u64, impl Future<Output = Result<Vec<u8>>> + Send + 'static)> {
        let length = bytes.len() as u64;
        let offset = self.end.fetch_add(length, Ordering::SeqCst);
        self.context.memory.add_temporary(length as i64);
        self.check_limits()?;
        if self.kind.events().is_some() {
            self.count(2, length);
            self.context.counters.add(ProfileEvent::ExternalProcessingCompressedBytesTotal, length);
        }
        let this = self.clone();
        let job = move || {
            let file = this.open()?;
            this.check_free_space(file.file(), length)?;
            file.write_all_at(&bytes, offset).map_err(|error| this.write_error(&error))?;
            bytes.clear();
            Ok(bytes)
        };
        Ok((offset, offload(&self.context, job)))
    }

    /// Reads frames, each into a buffer of its own.
    pub(crate) fn read(
        self: &Arc<Self>,
        frames: &[Frame],
    ) -> Result<impl Future<Output = Result<Vec<Vec<u8>>>> + Send + 'static> {
        reserve(frames.iter().map(|frame| frame.bytes as usize).sum())?;
        // On this thread's account, which is the query's; the pool's thread has none.
        let buffers = frames.iter().map(|frame| (frame.offset, vec![0; frame.bytes as usize]));
        let mut buffers: Vec<(u64, Vec<u8>)> = buffers.collect();
        let this = self.clone();
        Ok(offload(&self.context, move || {
            let file = this.open()?;
            for (offset, buffer) in &mut buffers {
                file.read_exact_at(buffer, *offset).map_err(|error| this.read_error(&error))?;
            }
            Ok(buffers.into_iter().map(|(_, buffer)| buffer).collect())
        }))
    }

    /// Bytes that were written.
    pub fn length(&self) -> u64 {
        self.end.load(Ordering::SeqCst)
    }

    /// Reads bytes on this thread, which may wait for the disk.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `CANNOT_READ_ALL_DATA`.
    pub fn read_here(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        reserve(length)?;
        let mut bytes = vec![0; length];
        self.open()?.read_exact_at(&mut bytes, offset).map_err(|error| self.read_error(&error))?;
        Ok(bytes)
    }

    fn open(&self) -> Result<&CountedFile> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = self.context.temporary().folder.create().map_err(|error| self.write_error(&error))?;
        // Two may come first at once; the file of one of them is gone again.
        Ok(self.file.get_or_init(|| CountedFile::of_writer(file)))
    }

    fn check_limits(&self) -> Result<()> {
        let (settings, memory) = (&self.context.settings, &self.context.memory);
        let limits = [
            (settings.max_temporary_data_on_disk_size_for_query, memory.temporary_bytes()),
            (
                settings.max_temporary_data_on_disk_size_for_user,
                memory.parent().map_or(0, |user| user.temporary_bytes()),
            ),
            (self.context.temporary().folder.bytes_max(), SERVER.temporary_bytes()),
        ];
        for (limit, bytes) in limits {
            if limit > 0 && bytes > limit {
                let message =
                    format!("Limit for temporary files size exceeded (would consume {bytes} / {limit} bytes)");
                return Err(Error::new(ErrorCode::TOO_MANY_ROWS_OR_BYTES, message));
            }
        }
        Ok(())
    }

    /// `NOT_ENOUGH_SPACE` where so many bytes more would leave the disk less than `min_free_disk_space_for_temporary_data`.
    fn check_free_space(&self, file: &File, length: u64) -> Result<()> {
        let least = self.context.settings.min_free_disk_space_for_temporary_data;
        if least == 0 {
            return Ok(());
        }
        let disk = rustix::fs::fstatvfs(file).map_err(|error| self.write_error(&error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free >= least.saturating_add(length) {
            return Ok(());
        }
        let folder = self.context.temporary().folder.path().display();
        Err(Error::new(
            ErrorCode::NOT_ENOUGH_SPACE,
            format!(
                "Not enough space for temporary data in {folder}: {free} bytes are free, of which \
                 min_free_disk_space_for_temporary_data leaves {least}"
            ),
        ))
    }

    fn write_error(&self, error: &io::Error) -> Error {
        let code = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::NOT_ENOUGH_SPACE,
            _ => ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR,
        };
        self.error(code, "write", error)
    }

    fn read_error(&self, error: &io::Error) -> Error {
        self.error(ErrorCode::CANNOT_READ_ALL_DATA, "read", error)
    }

    fn error(&self, code: ErrorCode, what: &str, error: &io::Error) -> Error {
        let folder = self.context.temporary().folder.path().display();
        Error::new(code, format!("Cannot {what} temporary data in {folder}: {error}"))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.context.memory.add_temporary(-(self.length() as i64));
    }
}
