//! A table of files, of bytes, or of a stream: its columns, which are said or inferred, and the virtual ones that tell of a row's file.

use std::any::Any;
use std::fmt::Debug;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use squall_formats::{FormatOptions, InputBlock, ParquetFile, finds_columns_by_name, format_of_file, infer_schema};
use squall_planner::{ColumnDescription, TableMetadata};
use squall_storage::{ScanRequest, Table, TableScan};
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, Value};

use crate::compression::Compression;
use crate::file::fill;
use crate::holder::{Elsewhere, FileElsewhere, Holder};
use crate::part::Reading;
use crate::path::{Found, Reach};
use crate::scan::{FileScan, Output};
use crate::schema::of_files;

/// What a table of files is made with: the arguments of `file(path[, format[, structure[, compression]]])`.
#[derive(Clone, Debug, Default)]
pub struct FileTableOptions {
    /// The path or pattern.
    pub path: String,
    /// The format; that of the path's ending where it is empty or `auto`.
    pub format: String,
    /// The columns; inferred where nobody says them.
    pub declared: Option<DeclaredColumns>,
    /// The compression; that of each file's ending where it is empty or `auto`.
    pub compression: String,
}

/// Columns that whoever reads says.
#[derive(Clone, Debug)]
pub struct DeclaredColumns {
    /// The columns, also those that are not read.
    pub columns: Vec<ColumnDescription>,
    /// What they hold where files leave them out; without it the types' defaults.
    pub defaults: Option<Arc<dyn Defaults>>,
}

impl DeclaredColumns {
    /// Columns of names and types alone.
    pub fn plain(schema: &Schema) -> Self {
        Self { columns: described(schema), defaults: None }
    }

    /// The columns that are in files.
    pub fn read(&self) -> Schema {
        let read = self.columns.iter().filter(|column| column.is_stored());
        Schema::new(read.map(|column| (column.name.clone(), column.data_type.clone())))
    }
}

/// Where the bytes are.
#[derive(Clone)]
pub enum Data {
    /// In files.
    Files,
    /// Here.
    Bytes(Bytes),
    /// They come once.
    Stream(Arc<Stream>),
}

/// Bytes that come once, of which some may have been looked at.
pub struct Stream(Mutex<Option<Box<dyn Read + Send>>>);

impl Stream {
    /// Bytes that are read from `input`.
    pub fn new(input: Box<dyn Read + Send>) -> Self {
        Self(Mutex::new(Some(input)))
    }

    /// The format that the first bytes look like: one object after the other is JSON, and so on; TSV where nothing else fits.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn format(&self) -> Result<&'static str> {
        let mut first = vec![0; DETECTED_BYTES];
        let read = self.look(|input| fill(input, &mut first))?;
        first.truncate(read);
        Ok(detect_format(&first))
    }

    /// Takes the bytes.
    ///
    /// # Errors
    /// Where they were taken before.
    pub fn take(&self) -> Result<Box<dyn Read + Send>> {
        let message = "The table over standard input can be read only once";
        self.0.lock().take().ok_or_else(|| Error::new(ErrorCode::CANNOT_READ_ALL_DATA, message))
    }

    /// Looks at the first bytes, which come again afterwards.
    fn look<T>(&self, look: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<T> {
        let mut noted = Noted { input: self.take()?, seen: Vec::new() };
        let looked = look(&mut noted);
        let again = std::io::Cursor::new(noted.seen).chain(noted.input);
        *self.0.lock() = Some(Box::new(again));
        looked
    }
}

/// Bytes of data by which a format is told.
const DETECTED_BYTES: usize = 4096;

/// The format that data look like by their first bytes.
fn detect_format(bytes: &[u8]) -> &'static str {
    let text = bytes.trim_ascii_start();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match text.first() {
        _ if bytes.starts_with(b"PAR1") => "Parquet",
        // No text has such bytes.
        _ if bytes.starts_with(b"ORC") && bytes.iter().any(|byte| *byte < b'\t') => "ORC",
        Some(b'{') if bytes.windows(6).any(|window| window == b"\"meta\"") => "JSON",
        Some(b'{') => "JSONEachRow",
        Some(b'[') if text.get(1..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{")) => "JSONEachRow",
        Some(b'[') => "JSONCompactEachRow",
        Some(b'(') => "Values",
        _ if line.contains(&b'\t') || !line.contains(&b',') => "TSV",
        _ => "CSV",
    }
}

/// Keeps what is read.
struct Noted {
    input: Box<dyn Read + Send>,
    seen: Vec<u8>,
}

impl Read for Noted {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.seen.extend_from_slice(bytes.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// The files of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub files: Vec<Found>,
    pub holder: Holder,
    compression: String,
    /// What is known of files that say what is in them.
    pub opened: Vec<Option<ParquetFile>>,
}

impl Source {
    /// How a file is compressed.
    pub fn compression_of(&self, file: &Found) -> Result<Compression> {
        Compression::named(&self.compression, &file.path.to_string_lossy())
    }
}

/// The columns that tell of a row's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Virtual {
    Path,
    File,
    Size,
    Time,
    Etag,
}

impl Virtual {
    const ALL: [Self; 5] = [Self::Path, Self::File, Self::Size, Self::Time, Self::Etag];

    fn name(self) -> &'static str {
        match self {
            Self::Path => "_path",
            Self::File => "_file",
            Self::Size => "_size",
            Self::Time => "_time",
            Self::Etag => "_etag",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Path | Self::File | Self::Etag => DataType::LowCardinality(Arc::new(DataType::String)),
            Self::Size => DataType::UInt64.to_nullable(),
            Self::Time => DataType::DateTime(None).to_nullable(),
        }
    }

    /// The value for the rows of a file.
    pub fn value(self, file: Option<&Found>) -> Value {
        let Some(file) = file else {
            let is_text = matches!(self, Self::Path | Self::File | Self::Etag);
            return if is_text { Value::string("") } else { Value::Null };
        };
        match self {
            Self::Path => Value::string(file.path.to_string_lossy().into_owned()),
            Self::File => Value::string(file.path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
            Self::Size => file.size.map_or(Value::Null, Value::UInt64),
            Self::Time => file.changed.map_or(Value::Null, |seconds| Value::UInt64(seconds.into())),
            Self::Etag => Value::string(file.etag.as_deref().unwrap_or_default()),
        }
    }
}

/// What a table's columns hold where files leave them out.
pub trait Defaults: Send + Sync + Debug {
    /// The block with every value that was omitted computed.
    ///
    /// # Errors
    /// Those of the expressions.
    fn fill(&self, read: InputBlock) -> Result<Block>;
}

/// A table of files.
pub struct FileTable {
    name: Arc<str>,
    columns: Vec<ColumnDescription>,
    virtual_columns: Vec<Virtual>,
    schema: Arc<Schema>,
    data: Data,
    format: Arc<str>,
    source: Source,
    defaults: Option<Arc<dyn Defaults>>,
    options: FormatOptions,
}

impl Debug for FileTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileTable").field("format", &self.format).field("source", &self.source).finish_non_exhaustive()
    }
}

impl FileTable {
    /// The table of the files that `table.path` means. Waits for the disk.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED` where they are outside of `reach`, `FILE_DOESNT_EXIST`, `CANNOT_EXTRACT_TABLE_STRUCTURE`, `UNKNOWN_FORMAT`; what is
    /// wrong with the files as far as they are looked at.
    pub fn of_files(table: &FileTableOptions, reach: &Reach, options: FormatOptions) -> Result<Self> {
        Self::of_found("file", table, reach.files(&table.path)?, Holder::Disk, options)
    }

    /// The table of files that somebody else holds, as the function `name` has it.
    ///
    /// # Errors
    /// As [`of_files`](Self::of_files); those of the holder.
    pub fn of_elsewhere(
        name: &str,
        table: &FileTableOptions,
        files: Vec<FileElsewhere>,
        holder: Arc<dyn Elsewhere>,
        options: FormatOptions,
    ) -> Result<Self> {
        let found = |file: FileElsewhere| Found {
            path: file.path.into(),
            location: file.location,
            size: file.size,
            changed: file.changed,
            etag: file.etag,
        };
        Self::of_found(name, table, files.into_iter().map(found).collect(), Holder::Elsewhere(holder), options)
    }

    fn of_found(
        name: &str,
        table: &FileTableOptions,
        files: Vec<Found>,
        holder: Holder,
        options: FormatOptions,
    ) -> Result<Self> {
        let format = if is_auto(&table.format) { format_of(&holder, &files, table)? } else { &table.format };
        let (declared, opened) = match &table.declared {
            Some(declared) => (declared.clone(), vec![None; files.len()]),
            None => {
                let (schema, opened) = of_files(&holder, &files, format, table, &options)?;
                (DeclaredColumns::plain(&schema), opened)
            }
        };
        let source = Source { files, holder, compression: table.compression.clone(), opened };
        Ok(Self::new(name, Data::Files, format, declared, source, options))
    }

    /// The same with columns that are known. Waits for the disk.
    ///
    /// # Errors
    /// As [`of_files`](Self::of_files).
    pub fn with_columns(
        table: &FileTableOptions,
        schema: Schema,
        reach: &Reach,
        options: FormatOptions,
    ) -> Result<Self> {
        let files = reach.files(&table.path)?;
        let holder = Holder::Disk;
        let format = if is_auto(&table.format) { format_of(&holder, &files, table)? } else { &table.format };
        let opened = vec![None; files.len()];
        let source = Source { files, holder, compression: table.compression.clone(), opened };
        Ok(Self::new("file", Data::Files, format, DeclaredColumns::plain(&schema), source, options))
    }

    /// The table of bytes in a format, or of a stream of them.
    ///
    /// # Errors
    /// As [`of_files`](Self::of_files).
    pub fn of_data(
        name: &str,
        data: Data,
        format: &str,
        declared: Option<DeclaredColumns>,
        options: FormatOptions,
    ) -> Result<Self> {
        let inferred = |data: &Data| match data {
            Data::Bytes(bytes) => infer_schema(format, &mut bytes.as_ref(), &options),
            Data::Stream(stream) => stream.look(|input| infer_schema(format, input, &options)),
            Data::Files => Err(Error::logical("data that are in no files")),
        };
        let declared = match declared {
            Some(declared) => declared,
            None => DeclaredColumns::plain(&inferred(&data)?),
        };
        Ok(Self::new(name, data, format, declared, Source::default(), options))
    }

    fn new(
        name: &str,
        data: Data,
        format: &str,
        declared: DeclaredColumns,
        source: Source,
        options: FormatOptions,
    ) -> Self {
        let schema = declared.read();
        let virtual_columns: Vec<Virtual> = match data {
            Data::Files => Virtual::ALL
                .into_iter()
                .filter(|of| *of != Virtual::Etag || source.holder.has_etags())
                .filter(|of| schema.position(of.name()).is_none())
                .collect(),
            _ => Vec::new(),
        };
        let of_file = Schema::new(virtual_columns.iter().map(|of| (of.name(), of.data_type())));
        let mut columns = declared.columns;
        columns.extend(described(&of_file));
        Self {
            name: name.into(),
            columns,
            virtual_columns,
            schema: Arc::new(schema),
            data,
            format: format.into(),
            source,
            defaults: declared.defaults,
            options,
        }
    }

    /// The name of one of the columns.
    fn name_of(&self, column: usize) -> Option<&str> {
        self.columns.get(column).map(|column| &*column.name)
    }

    /// The same, whose columns have defaults over all of its columns.
    #[must_use]
    pub fn with_defaults(self, defaults: Arc<dyn Defaults>) -> Self {
        Self { defaults: Some(defaults), ..self }
    }
}

/// Columns without defaults.
pub(crate) fn described(schema: &Schema) -> Vec<ColumnDescription> {
    let column = |(name, data_type): &(Arc<str>, DataType)| ColumnDescription::new(name.clone(), data_type.clone());
    schema.fields.iter().map(column).collect()
}

/// The format of a file that is to be written.
pub(crate) fn format_of_target(table: &FileTableOptions) -> Result<String> {
    if !is_auto(&table.format) {
        return Ok(table.format.clone());
    }
    format_of_file(&table.path).map(str::to_owned).ok_or_else(|| {
        let message = format!("The name {} does not tell the format. You can specify it manually", table.path);
        Error::new(ErrorCode::CANNOT_DETECT_FORMAT, message)
    })
}

/// The format of files that are in one of which nobody has said it: by their endings, or by how the first of them begins.
fn format_of(holder: &Holder, files: &[Found], table: &FileTableOptions) -> Result<&'static str> {
    let of_file = |file: &Found| format_of_file(&file.path.to_string_lossy());
    match files.iter().find_map(of_file).or_else(|| format_of_file(&table.path)) {
        // Files of this ending hold a document, or rows one after the other.
        Some("JSON") | None => {}
        Some(format) => return Ok(format),
    }
    let Some(file) = files.iter().find(|file| file.size != Some(0)) else {
        let message = format!(
            "The format of {} cannot be detected, because there is no file with contents. You can specify the format manually",
            table.path
        );
        return Err(Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, message));
    };
    let mut first = vec![0; DETECTED_BYTES];
    let compression = Compression::named(&table.compression, &file.path.to_string_lossy())?;
    let read = fill(&mut *holder.open(file, compression)?, &mut first)?;
    first.truncate(read);
    Ok(detect_format(&first))
}

fn is_auto(text: &str) -> bool {
    text.is_empty() || text.eq_ignore_ascii_case("auto")
}

impl TableMetadata for FileTable {
    fn database(&self) -> &str {
        "_table_function"
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn engine(&self) -> &str {
        "File"
    }
    fn supports_prewhere(&self) -> bool {
        true
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn virtual_columns(&self) -> usize {
        self.virtual_columns.len()
    }
    fn rows(&self) -> Option<u64> {
        if self.source.files.is_empty() {
            return None;
        }
        self.source.opened.iter().map(|opened| opened.as_ref().map(ParquetFile::rows)).sum()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for FileTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let own = self.columns.len() - self.virtual_columns.len();
        // A default may be of any column.
        let by_name = finds_columns_by_name(&self.format)
            && self.options.settings.input_format_skip_unknown_fields
            && self.defaults.is_none();
        let schema = if by_name {
            let wanted: Vec<&str> = request.columns.iter().filter_map(|at| self.name_of(*at)).collect();
            let fields = self.schema.fields.iter().filter(|(name, _)| wanted.contains(&&**name));
            Arc::new(Schema { fields: fields.cloned().collect() })
        } else {
            self.schema.clone()
        };
        let outputs = request.columns.iter().map(|column| match self.virtual_columns.get(column.wrapping_sub(own)) {
            Some(of) if *column >= own => Ok(Output::Virtual(*of)),
            _ => {
                let position = self.name_of(*column).and_then(|name| schema.position(name));
                position.map(Output::Column).ok_or_else(|| Error::logical("a column that no file has"))
            }
        });
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        let reading = Reading {
            data: self.data.clone(),
            source: self.source.clone(),
            format: self.format.clone(),
            schema,
            defaults: self.defaults.clone(),
            options: self.options.clone(),
        };
        Ok(Arc::new(FileScan::new(reading, outputs, request)))
    }
}
