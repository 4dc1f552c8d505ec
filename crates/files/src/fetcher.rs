//! The side of a part that waits for the disk: it fetches bytes on a thread that may wait, cut so that several workers can decode them.

use std::io::Read;
use std::sync::Arc;

use squall_formats::split::{Cutter, PIECE_BYTES, Piece, RowEnds};
use squall_formats::{ParquetFile, ParquetRowGroup, is_read_by_place};
use squall_types::Result;

use crate::compression::Compression;
use crate::file::fill;
use crate::part::Reading;
use crate::table::Data;

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
    Bytes(Piece),
    /// A row group's columns.
    Group(Box<ParquetRowGroup>),
    /// The file turns out to be made of these.
    Parts(Vec<Unread>),
}

/// Fetches a part.
pub(crate) enum Fetcher {
    Unopened(Unread),
    Stream(Box<dyn Read + Send>, Cutter),
    Over,
}

impl Fetcher {
    /// Cuts what it fetches from now on where rows seem to end.
    pub fn cut(&mut self, ends: RowEnds) {
        if let Self::Stream(_, cutter) = self {
            cutter.cut_at(ends);
        }
    }

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
                    *self = Self::Stream(stream, Cutter::new(None));
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
                *self = Self::Stream(reading.source.holder.open(found, compression)?, Cutter::new(None));
                self.next(reading)
            }
            Self::Stream(mut stream, mut cutter) => loop {
                let mut chunk = vec![0; PIECE_BYTES];
                let filled = fill(&mut *stream, &mut chunk)?;
                if filled == 0 {
                    return Ok(cutter.finish().map(Fetched::Bytes));
                }
                chunk.truncate(filled);
                if let Some(piece) = cutter.push(&chunk)? {
                    *self = Self::Stream(stream, cutter);
                    return Ok(Some(Fetched::Bytes(piece)));
                }
            },
        }
    }
}
