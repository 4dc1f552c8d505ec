//! What a scan is cut into: a file that is read from its beginning, or a row group of a Parquet file. Each part has two sides. One fetches
//! bytes on a thread that may wait; the other decodes them on a worker.

use std::io::Read;
use std::sync::Arc;

use squall_formats::{
    FormatOptions, InputBlock, InputFormat, ParquetFile, ParquetRowGroup, input_format, is_read_by_place,
};
use squall_types::{Block, Result, Schema};

use crate::compression::Compression;
use crate::file::fill;
use crate::table::{Data, Defaults, Source};

/// Bytes that are decoded at once: about a millisecond's work.
const CHUNK_BYTES: usize = 256 << 10;

/// What parts are made of.
pub(crate) struct Reading {
    pub data: Data,
    pub source: Source,
    pub format: Arc<str>,
    /// The columns that formats are asked for.
    pub schema: Arc<Schema>,
    /// What fills in values that files leave out, where the type's default does not do.
    pub defaults: Option<Arc<dyn Defaults>>,
    pub options: FormatOptions,
}

/// A part that nobody has begun.
pub(crate) enum Unread {
    /// A file, by its place.
    File(usize),
    /// A row group.
    Group(usize, Arc<ParquetFile>, usize),
}

impl Unread {
    /// The place of its file.
    pub fn file(&self) -> usize {
        match self {
            Self::File(file) | Self::Group(file, ..) => *file,
        }
    }
}

/// What was fetched.
pub(crate) enum Fetched {
    /// Bytes of a file.
    Bytes(Vec<u8>),
    /// A row group's columns.
    Group(Box<ParquetRowGroup>),
    /// The file turns out to be made of these.
    Parts(Vec<Unread>),
}

/// The side that waits for the disk.
pub(crate) enum Fetcher {
    Unopened(Unread),
    Stream(Box<dyn Read + Send>),
    Over,
}

impl Fetcher {
    /// What comes next; `None` at the end.
    pub fn next(&mut self, reading: &Reading) -> Result<Option<Fetched>> {
        match std::mem::replace(self, Self::Over) {
            Self::Over => Ok(None),
            Self::Unopened(Unread::Group(at, file, group)) => {
                let Some(found) = reading.source.files.get(at) else { return Ok(None) };
                let source = reading.source.holder.placed(found)?;
                let group = file.fetch(group, &reading.schema, &*source, &reading.options)?;
                Ok(Some(Fetched::Group(Box::new(group))))
            }
            Self::Unopened(Unread::File(at)) => {
                let stream: Option<Box<dyn Read + Send>> = match &reading.data {
                    Data::Bytes(bytes) => Some(Box::new(std::io::Cursor::new(bytes.clone()))),
                    Data::Stream(stream) => Some(stream.take()?),
                    Data::Files => None,
                };
                if let Some(stream) = stream {
                    *self = Self::Stream(stream);
                    return self.next(reading);
                }
                let Some(found) = reading.source.files.get(at) else { return Ok(None) };
                // As in ClickHouse, an empty file has no rows, whatever its format says of that.
                if found.size == Some(0) {
                    return Ok(None);
                }
                let compression = reading.source.compression_of(found)?;
                if is_read_by_place(&reading.format) && compression == Compression::None && found.size.is_some() {
                    let file = match reading.source.opened.get(at) {
                        Some(Some(file)) => file.clone(),
                        _ => ParquetFile::open(&*reading.source.holder.placed(found)?)?,
                    };
                    let groups = file.row_groups();
                    let file = Arc::new(file);
                    let parts = (0..groups).map(|group| Unread::Group(at, file.clone(), group));
                    return Ok(Some(Fetched::Parts(parts.collect())));
                }
                *self = Self::Stream(reading.source.holder.open(found, compression)?);
                self.next(reading)
            }
            Self::Stream(mut stream) => {
                let mut chunk = vec![0; CHUNK_BYTES];
                let filled = fill(&mut *stream, &mut chunk)?;
                if filled == 0 {
                    return Ok(None);
                }
                chunk.truncate(filled);
                *self = Self::Stream(stream);
                Ok(Some(Fetched::Bytes(chunk)))
            }
        }
    }
}

/// The side that computes.
pub(crate) enum Decoder {
    /// Nothing has come yet.
    New,
    Rows(Box<dyn InputFormat>),
    /// All bytes are there, and some are not decoded.
    Rest(Box<dyn InputFormat>),
    Group(Box<ParquetRowGroup>),
    Over,
}

impl Decoder {
    /// Whether it goes on without anything being fetched.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Rest(_) | Self::Group(_))
    }

    /// Decodes what was fetched, or goes on with what it has; at the end of what is fetched it is given nothing.
    pub fn decode(&mut self, fetched: Option<Fetched>, reading: &Reading, blocks: &mut Vec<Block>) -> Result<()> {
        let mut read = Vec::new();
        match std::mem::replace(self, Self::Over) {
            Self::New => match fetched {
                Some(Fetched::Group(group)) => {
                    match group.counted() {
                        Some(block) => blocks.push(block),
                        None => *self = Self::Group(group),
                    }
                    return Ok(());
                }
                Some(Fetched::Bytes(bytes)) => {
                    let mut format = input_format(&reading.format, &reading.schema, &reading.options)?;
                    format.feed(&bytes, &mut read)?;
                    *self = Self::Rows(format);
                }
                Some(Fetched::Parts(_)) | None => {}
            },
            Self::Rows(mut format) => match fetched {
                Some(Fetched::Bytes(bytes)) => {
                    format.feed(&bytes, &mut read)?;
                    *self = Self::Rows(format);
                }
                _ => {
                    format.finish(&mut read)?;
                    if format.reads_at_end() {
                        *self = Self::Rest(format);
                    }
                }
            },
            Self::Rest(mut format) => {
                if let Some(block) = format.next_block()? {
                    read.push(block);
                    *self = Self::Rest(format);
                }
            }
            Self::Group(mut group) => {
                if let Some(block) = group.next_block()? {
                    read.push(block);
                    *self = Self::Group(group);
                }
            }
            Self::Over => {}
        }
        let filled = |read: InputBlock| match &reading.defaults {
            Some(defaults) => defaults.fill(read),
            None => Ok(read.block),
        };
        for read in read {
            blocks.push(filled(read)?);
        }
        Ok(())
    }
}
