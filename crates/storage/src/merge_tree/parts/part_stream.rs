//! A part's file on its way to disk while the part is made: what a merge has encoded does not stay in memory until the merge ends.

use std::any::Any;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};

use super::part_bytes::{PartBytes, SEGMENT_BYTES};
use super::part_name::PartName;
use super::part_writer::write_error;
use super::table_directory::TableDirectory;
use super::written::Written;
use crate::column_cache::ColumnCache;
use crate::disk::NewFile;
use crate::merge_tree::MergeTree;

/// Bytes that go to disk together. Shorter files are written in one go at their end.
const STREAMED_BYTES: usize = if cfg!(test) { SEGMENT_BYTES } else { 16 * SEGMENT_BYTES };

/// A file that is written as it grows. Dropped before its end, nothing is left of it.
pub(in crate::merge_tree) struct PartStream {
    file: Arc<GrowingFile>,
    /// The last bytes that an I/O thread was given.
    writing: Option<Arc<Written>>,
}

struct GrowingFile {
    cache: Arc<ColumnCache>,
    directory: Arc<TableDirectory>,
    path: PathBuf,
    state: Mutex<GrowingState>,
    /// What keeps others from writing a file of this name, until this one is complete or gone.
    lock: Option<Arc<dyn Any + Send + Sync>>,
}

#[derive(Default)]
struct GrowingState {
    /// There once bytes have been written.
    file: Option<Box<dyn NewFile>>,
    /// The file is a part's, which removes it where it is not committed.
    is_complete: bool,
}

impl PartStream {
    /// Of a part that is still to be made. `lock` keeps others from making one of this name; none is needed of a name that nobody else has.
    pub(in crate::merge_tree) fn new(
        table: &MergeTree,
        name: &PartName,
        lock: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Self {
        Self::of_path(table, table.directory.path().join(format!("{name}.parquet")), lock)
    }

    /// The same by the path of the part's file.
    pub(in crate::merge_tree) fn of_path(
        table: &MergeTree,
        path: PathBuf,
        lock: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Self {
        let (directory, cache) = (table.directory.clone(), table.cache.clone());
        Self { file: Arc::new(GrowingFile { cache, directory, path, state: Mutex::default(), lock }), writing: None }
    }

    /// Where the part's file will be.
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Has an I/O thread write the beginning of what is in memory, if that is much, and waits while it writes what it was given before: no
    /// more is in memory than twice what one row group adds.
    ///
    /// # Errors
    /// `NOT_ENOUGH_SPACE` and other failures to write what it was given before; `CANNOT_SCHEDULE_TASK`.
    pub(super) async fn take(&mut self, bytes: &mut PartBytes) -> Result<()> {
        let segments = bytes.take_full(STREAMED_BYTES);
        if segments.is_empty() {
            return Ok(());
        }
        self.settle().await?;
        let written = Arc::new(Written::default());
        let (file, result) = (self.file.clone(), written.clone());
        if !self.file.cache.on_io_thread(move || result.set(file.append(&segments))) {
            return Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, "No thread to write a part with"));
        }
        self.writing = Some(written);
        Ok(())
    }

    /// Waits until what was given is written.
    ///
    /// # Errors
    /// `NOT_ENOUGH_SPACE` and other failures to write.
    pub(in crate::merge_tree) async fn settle(&mut self) -> Result<()> {
        match self.writing.take() {
            Some(writing) => poll_fn(|context| writing.poll(context)).await,
            None => Ok(()),
        }
    }

    /// Writes the rest; on return the file is on disk under its temporary name, or it is not there. Waits for the disk, after
    /// [`settle`](Self::settle).
    ///
    /// # Errors
    /// `NOT_ENOUGH_SPACE` and other failures to write.
    pub(in crate::merge_tree) fn finish(self, rest: &PartBytes) -> Result<()> {
        self.file.finish(rest)
    }
}

impl GrowingFile {
    fn append(&self, segments: &[Vec<u8>]) -> Result<()> {
        let mut state = self.state.lock();
        let file = match &mut state.file {
            Some(file) => file,
            none => none.insert(
                self.directory
                    .disk()
                    .begin(&self.directory.temporary(&self.path))
                    .map_err(|error| write_error(&self.path, &error))?,
            ),
        };
        segments.iter().try_for_each(|segment| file.append(segment)).map_err(|error| write_error(&self.path, &error))
    }

    fn finish(&self, rest: &PartBytes) -> Result<()> {
        let mut state = self.state.lock();
        match &mut state.file {
            None => self.directory.write(&self.path, rest.segments())?,
            Some(file) => {
                let mut segments = rest.segments();
                segments
                    .try_for_each(|segment| file.append(segment))
                    .and_then(|()| file.sync())
                    .and_then(|()| self.directory.disk().sync_folder(self.directory.path()))
                    .map_err(|error| write_error(&self.path, &error))?;
            }
        }
        state.is_complete = true;
        Ok(())
    }
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if let Some(file) = state.file.take().filter(|_| !state.is_complete) {
            let (directory, path, lock) = (self.directory.clone(), self.path.clone(), self.lock.take());
            // A worker may be who drops it. Where no thread is left the next start removes the file.
            let _ = self.cache.on_io_thread(move || {
                drop(file);
                directory.remove_uncommitted(&path);
                drop(lock);
            });
        }
    }
}
