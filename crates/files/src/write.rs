//! Writing a file: rows are laid out in the order in which they come, their bytes go to a file beside the target on threads that may wait,
//! and the target has all of them or none: it is exchanged, or what was written is appended, when everything is there.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::future::Future;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use squall_formats::{FormatOptions, OutputFormat, Statistics, is_appendable, output_format};
use squall_planner::{ColumnDescription, TableMetadata, named_like};
use squall_runtime::ThreadPool;
use squall_runtime::file_io::CountedFile;
use squall_storage::{Claim, InsertWriter, Insertion, Morsel, PartWork, ScanRequest, Table, TableScan};
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::compression::{Compression, Finish};
use crate::holder::{Elsewhere, Upload};
use crate::path::Reach;
use crate::table::{DeclaredColumns, FileTableOptions, format_of_target};

/// Bytes that are written at once.
const CHUNK_BYTES: usize = 1 << 20;

/// A file that takes rows.
#[derive(Debug)]
pub struct TargetFile {
    rows: TargetRows,
    target: Target,
    format: String,
    compression: Compression,
    options: FormatOptions,
}

/// The rows that a table takes of which nothing is read.
#[derive(Debug)]
pub(crate) struct TargetRows {
    columns: Vec<ColumnDescription>,
    pub schema: Arc<Schema>,
}

impl TargetRows {
    pub fn new(declared: DeclaredColumns) -> Self {
        Self { schema: Arc::new(declared.read()), columns: declared.columns }
    }
}

impl TableMetadata for TargetRows {
    fn database(&self) -> &str {
        "_table_function"
    }
    fn name(&self) -> &str {
        "file"
    }
    fn engine(&self) -> &str {
        "File"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Where the bytes go.
#[derive(Clone, Debug)]
enum Target {
    /// To a file of the disk, which goes on or is exchanged.
    Disk { path: PathBuf, appends: bool },
    /// To somebody else.
    Elsewhere { location: String, holder: Arc<dyn Elsewhere> },
}

impl Target {
    fn appends(&self) -> bool {
        matches!(self, Self::Disk { appends: true, .. })
    }

    fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Disk { path, .. } => path.to_string_lossy(),
            Self::Elsewhere { location, .. } => location.into(),
        }
    }
}

impl TargetFile {
    /// The file that `table` means, for rows of these columns. Waits for the disk.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` where it is outside of `reach`; `BAD_ARGUMENTS` for a pattern; `CANNOT_DETECT_FORMAT`; `CANNOT_APPEND_TO_FILE` where it is
    /// there, its format does not go on, and `engine_file_truncate_on_insert` is off.
    pub fn new(
        table: &FileTableOptions,
        declared: DeclaredColumns,
        reach: &Reach,
        options: FormatOptions,
    ) -> Result<Self> {
        if !crate::glob::is_plain(&table.path) {
            let message = format!("Cannot write to the pattern {}: it may mean several files", table.path);
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        let path = reach.target(&table.path)?;
        let format = format_of_target(table)?;
        let compression = Compression::named(&table.compression, &table.path)?;
        let is_there = path.metadata().is_ok_and(|metadata| metadata.len() > 0);
        let appends = is_there && !options.settings.engine_file_truncate_on_insert;
        if appends && !is_appendable(&format) {
            let message = format!(
                "Cannot insert data in format {format} to file {}, because it exists and this format does not support appends. \
                 The setting engine_file_truncate_on_insert has it replaced",
                path.display()
            );
            return Err(Error::new(ErrorCode::CANNOT_APPEND_TO_FILE, message));
        }
        let target = Target::Disk { path, appends };
        Ok(Self { rows: TargetRows::new(declared), target, format, compression, options })
    }

    /// A file that somebody else takes; its path tells its format and compression where `table` does not say them.
    ///
    /// # Errors
    /// `CANNOT_DETECT_FORMAT`.
    pub fn elsewhere(
        table: &FileTableOptions,
        location: String,
        holder: Arc<dyn Elsewhere>,
        declared: DeclaredColumns,
        options: FormatOptions,
    ) -> Result<Self> {
        let (format, compression) = (format_of_target(table)?, Compression::named(&table.compression, &table.path)?);
        let target = Target::Elsewhere { location, holder };
        Ok(Self { rows: TargetRows::new(declared), target, format, compression, options })
    }
}

impl TableMetadata for TargetFile {
    named_like!(rows);

    fn columns(&self) -> &[ColumnDescription] {
        self.rows.columns()
    }
}

/// What is read of a file that is to be written.
pub(crate) struct Nothing;

impl TableScan for Nothing {
    fn rows_total(&self) -> Option<u64> {
        Some(0)
    }
    fn claim(&self, _: u64, _: &Waker) -> Claim {
        Claim::Finished
    }
    fn read(&self, _: Morsel, _: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        Ok(())
    }
}

impl Table for TargetFile {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Ok(Arc::new(Nothing))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        let mut format = output_format(&self.format, &self.rows.schema, &self.options)?;
        let mut bytes = Vec::new();
        if !self.target.appends() {
            format.begin(&mut bytes);
        }
        Ok(Arc::new(FileInsertion(Arc::new(Shared {
            target: self.target.clone(),
            compression: self.compression,
            schema: self.rows.schema.clone(),
            laid: Mutex::new(Laid { format, bytes, chunks: 0 }),
            written: Mutex::default(),
        }))))
    }
}

struct FileInsertion(Arc<Shared>);

struct Shared {
    target: Target,
    compression: Compression,
    schema: Arc<Schema>,
    laid: Mutex<Laid>,
    written: Mutex<Written>,
}

/// Rows as bytes.
struct Laid {
    format: Box<dyn OutputFormat>,
    bytes: Vec<u8>,
    /// Chunks of bytes that were handed over.
    chunks: u64,
}

/// What has come to the disk.
#[derive(Default)]
struct Written {
    /// What takes the bytes, once there is something.
    file: Option<(Unfinished, Box<dyn Finish>)>,
    /// The number of the chunk that comes next.
    next: u64,
    /// Chunks that came before their turn.
    waiting: BTreeMap<u64, Vec<u8>>,
}

/// What is written to before the target has anything.
enum Unfinished {
    /// A file beside the target.
    Beside(PathBuf),
    /// Bytes that somebody else has and does not take for a file yet.
    Elsewhere(SharedUpload),
}

/// An upload that is written to until it is committed.
#[derive(Clone)]
struct SharedUpload(Arc<Mutex<Option<Box<dyn Upload>>>>);

impl Write for SharedUpload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.lock() {
            Some(upload) => upload.write(bytes),
            None => Err(io::Error::other("the upload is over")),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().as_mut().map_or(Ok(()), |upload| upload.flush())
    }
}

/// A file whose writes are counted.
struct Counted(CountedFile);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(bytes).map(|()| bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}

impl Shared {
    fn cannot_write(&self, error: &io::Error) -> Error {
        let code = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::NOT_ENOUGH_SPACE,
            _ => ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR,
        };
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => error.clone(),
            None => Error::new(code, format!("Cannot write to {}: {error}", self.target.name())),
        }
    }

    /// Takes a chunk, and writes those whose turn it is.
    fn write(&self, number: u64, bytes: Vec<u8>) -> Result<()> {
        let mut written = self.written.lock();
        written.waiting.insert(number, bytes);
        loop {
            let next = written.next;
            let Some(bytes) = written.waiting.remove(&next) else { return Ok(()) };
            written.next += 1;
            if written.file.is_none() {
                written.file = Some(self.create()?);
            }
            if let Some((_, file)) = &mut written.file {
                file.write_all(&bytes).map_err(|error| self.cannot_write(&error))?;
            }
        }
    }

    /// Makes the file beside the target, or begins the upload.
    fn create(&self) -> Result<(Unfinished, Box<dyn Finish>)> {
        let path = match &self.target {
            Target::Disk { path, .. } => path,
            Target::Elsewhere { location, holder } => {
                let upload = SharedUpload(Arc::new(Mutex::new(Some(holder.create(location)?))));
                let writer = self.compression.writer(upload.clone(), None)?;
                return Ok((Unfinished::Elsewhere(upload), writer));
            }
        };
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        if !folder.as_os_str().is_empty() {
            std::fs::create_dir_all(&folder).map_err(|error| self.cannot_write(&error))?;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for attempt in 0..1000 {
            let path = folder.join(format!(".{name}.{}-{attempt}.tmp", std::process::id()));
            match File::create_new(&path) {
                Ok(file) => {
                    let writer = self.compression.writer(Counted(CountedFile::of_writer(file)), None)?;
                    return Ok((Unfinished::Beside(path), writer));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.cannot_write(&error)),
            }
        }
        Err(self.cannot_write(&io::Error::from(io::ErrorKind::AlreadyExists)))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // What was not committed.
        if let Some((Unfinished::Beside(path), _)) = self.written.get_mut().file.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Insertion for FileInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(FileWriter(self.0.clone())))
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn commit(&self) -> Result<()> {
        let shared = &self.0;
        let (number, bytes) = {
            let mut laid = shared.laid.lock();
            let Laid { format, bytes, chunks } = &mut *laid;
            format.end(&Statistics::default(), bytes)?;
            (*chunks, std::mem::take(bytes))
        };
        shared.write(number, bytes)?;
        let Some((unfinished, file)) = shared.written.lock().file.take() else { return Ok(()) };
        let (path, target, appends) = match (unfinished, &shared.target) {
            (Unfinished::Beside(path), Target::Disk { path: target, appends }) => (path, target, *appends),
            (Unfinished::Elsewhere(upload), _) => {
                file.finish().map_err(|error| shared.cannot_write(&error))?;
                let upload = upload.0.lock().take();
                return upload.map_or(Ok(()), Upload::commit);
            }
            (Unfinished::Beside(_), Target::Elsewhere { .. }) => {
                return Err(Error::logical("a file beside what is not on the disk"));
            }
        };
        let failed = |error: io::Error| {
            let _ = std::fs::remove_file(&path);
            shared.cannot_write(&error)
        };
        file.finish().map_err(failed)?;
        if appends {
            let append = || {
                let mut target = File::options().append(true).open(target)?;
                io::copy(&mut File::open(&path)?, &mut target)?;
                target.sync_all()?;
                std::fs::remove_file(&path)
            };
            return append().map_err(failed);
        }
        std::fs::rename(&path, target).map_err(failed)
    }
}

struct FileWriter(Arc<Shared>);

impl InsertWriter for FileWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        let mut laid = self.0.laid.lock();
        let Laid { format, bytes, chunks } = &mut *laid;
        format.block(&block.with_schema(self.0.schema.clone()), bytes)?;
        if bytes.len() < CHUNK_BYTES {
            return Ok(None);
        }
        let (number, bytes) = (*chunks, std::mem::take(bytes));
        *chunks += 1;
        Ok(Some(Box::pin(Writing { shared: self.0.clone(), chunk: Some((number, bytes)), outcome: Arc::default() })))
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        Ok(None)
    }
}

/// A chunk on its way to the disk.
struct Writing {
    shared: Arc<Shared>,
    /// Until a thread has it.
    chunk: Option<(u64, Vec<u8>)>,
    outcome: Arc<Mutex<Outcome>>,
}

#[derive(Default)]
struct Outcome {
    result: Option<Result<()>>,
    waker: Option<Waker>,
}

impl Future for Writing {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some((number, bytes)) = self.chunk.take() {
            let (shared, outcome) = (self.shared.clone(), self.outcome.clone());
            self.outcome.lock().waker = Some(task.waker().clone());
            let job = move || {
                let result = shared.write(number, bytes);
                let waker = {
                    let mut outcome = outcome.lock();
                    outcome.result = Some(result);
                    outcome.waker.take()
                };
                if let Some(waker) = waker {
                    waker.wake();
                }
            };
            if let Err(error) = ThreadPool::global().schedule(job) {
                return Poll::Ready(Err(Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string())));
            }
            return Poll::Pending;
        }
        let mut outcome = self.outcome.lock();
        match outcome.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                outcome.waker = Some(task.waker().clone());
                Poll::Pending
            }
        }
    }
}
