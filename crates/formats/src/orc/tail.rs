//! The end of a file: what it consists of, and where its stripes are; and what a stripe consists of.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message;
use squall_types::calendar::TimeZone;
use squall_types::{Error, ErrorCode, Result, reserve};

use super::chunks::{Compression, Stream};
use super::messages::{ColumnEncoding, Footer, PostScript, StripeFooter, StripeInformation, encoding};
use super::types::OrcType;
use super::{MAGIC, corrupted};

/// What reading a byte of messages takes: an empty one of two bytes becomes a structure.
const BYTES_OF_BYTE: usize = 80;
/// The most bytes of messages once they are decompressed.
const METADATA_BYTES_MAX: usize = 256 << 20;
/// The most rows of a stripe: those of an array are numbered by so much.
const STRIPE_ROWS_MAX: u64 = i32::MAX as u64;

/// A file that is whole, and what it says of itself.
#[derive(Debug)]
pub(super) struct OrcFile {
    bytes: Bytes,
    compression: Option<Compression>,
    pub root: OrcType,
    stripes: Vec<StripeInformation>,
}

/// A piece of the file.
fn slice(bytes: &Bytes, start: u64, length: u64) -> Result<Bytes> {
    let end = start.checked_add(length).and_then(|end| usize::try_from(end).ok());
    let end = end.filter(|end| *end <= bytes.len()).ok_or_else(|| corrupted("a part lies outside of the file"))?;
    Ok(bytes.slice(start as usize..end))
}

fn decode<M: Message + Default>(bytes: Bytes, compression: Option<Compression>) -> Result<M> {
    let bytes = Stream::new(bytes, compression).all(METADATA_BYTES_MAX)?;
    reserve(bytes.len().saturating_mul(BYTES_OF_BYTE))?;
    M::decode(&*bytes).map_err(|error| corrupted(format!("its metadata are broken: {error}")))
}

impl OrcFile {
    /// # Errors
    /// `INCORRECT_DATA` where it is no ORC file; those of its compression and its types.
    pub fn open(bytes: Bytes) -> Result<Self> {
        let not_orc = || corrupted("this is not an ORC file");
        let length = bytes.len();
        let script = usize::from(bytes.last().copied().ok_or_else(not_orc)?);
        let end = length.checked_sub(script + 1).ok_or_else(not_orc)?;
        let script: PostScript = decode(bytes.slice(end..length - 1), None).map_err(|_| not_orc())?;
        // Old files have the mark at their beginning alone.
        let is_marked = script.magic.as_deref().map_or_else(|| bytes.starts_with(MAGIC), |magic| magic == MAGIC);
        if !is_marked {
            return Err(not_orc());
        }
        let compression = Compression::of_number(script.compression.unwrap_or(0), script.compression_block_size)?;
        let footer_length = script.footer_length.unwrap_or(0);
        let start = (end as u64).checked_sub(footer_length).ok_or_else(|| corrupted("its footer is too long"))?;
        let footer: Footer = decode(slice(&bytes, start, footer_length)?, compression)?;
        let root = OrcType::root(&footer.types)?;
        if footer.stripes.iter().any(|stripe| stripe.number_of_rows() > STRIPE_ROWS_MAX) {
            return Err(corrupted(format!("a stripe of more than {STRIPE_ROWS_MAX} rows")));
        }
        let rows = footer.stripes.iter().fold(0u64, |rows, stripe| rows.saturating_add(stripe.number_of_rows()));
        if footer.number_of_rows.is_some_and(|all| all != rows) {
            return Err(corrupted("its stripes have another number of rows than the file"));
        }
        Ok(Self { bytes, compression, root, stripes: footer.stripes })
    }

    pub fn stripes(&self) -> usize {
        self.stripes.len()
    }

    /// A stripe, whose streams are not read yet; the rows of one that is not there are none.
    ///
    /// # Errors
    /// `INCORRECT_DATA`; `BAD_ARGUMENTS` for a time zone that is not there.
    pub fn stripe(&self, number: usize) -> Result<Stripe> {
        let info = self.stripes.get(number).copied().unwrap_or_default();
        let body = info.index_length().checked_add(info.data_length());
        let body = body.ok_or_else(|| corrupted("a stripe lies outside of the file"))?;
        let all = slice(&self.bytes, info.offset(), body)?;
        let footer = slice(&self.bytes, info.offset() + body, info.footer_length())?;
        let footer: StripeFooter = decode(footer, self.compression)?;
        let mut streams = HashMap::with_capacity(footer.streams.len());
        let mut at = 0u64;
        for stream in &footer.streams {
            let bytes = slice(&all, at, stream.length())?;
            at += bytes.len() as u64;
            streams.insert((stream.column(), stream.kind()), bytes);
        }
        let writer_zone = footer.writer_timezone.as_deref().filter(|zone| !zone.is_empty());
        let writer_zone = writer_zone.map_or_else(|| Ok(TimeZone::utc()), TimeZone::named)?;
        Ok(Stripe {
            rows: info.number_of_rows() as usize,
            compression: self.compression,
            streams,
            encodings: footer.columns,
            writer_zone,
        })
    }
}

/// Rows whose columns are streams.
#[derive(Debug)]
pub(super) struct Stripe {
    pub rows: usize,
    compression: Option<Compression>,
    streams: HashMap<(u32, i32), Bytes>,
    encodings: Vec<ColumnEncoding>,
    pub writer_zone: TimeZone,
}

/// How a column is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Encoding {
    /// The number of strings, where values are places among them.
    pub dictionary: Option<usize>,
    pub is_second_version: bool,
}

impl Stripe {
    /// A stream of a column, where there is one.
    pub fn stream(&self, column: u32, kind: i32) -> Option<Stream> {
        self.streams.get(&(column, kind)).map(|bytes| Stream::new(bytes.clone(), self.compression))
    }

    /// A stream of a column; one that is not there has no bytes.
    pub fn stream_or_none(&self, column: u32, kind: i32) -> Stream {
        self.stream(column, kind).unwrap_or_else(|| Stream::new(Bytes::new(), None))
    }

    pub fn encoding(&self, column: u32) -> Result<Encoding> {
        let found = usize::try_from(column).ok().and_then(|column| self.encodings.get(column));
        let found = found.ok_or_else(|| corrupted("a column without an encoding"))?;
        let size = found.dictionary_size.unwrap_or(0) as usize;
        let (dictionary, is_second_version) = match found.kind.unwrap_or(0) {
            encoding::DIRECT => (None, false),
            encoding::DICTIONARY => (Some(size), false),
            encoding::DIRECT_V2 => (None, true),
            encoding::DICTIONARY_V2 => (Some(size), true),
            other => {
                return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, format!("ORC encoding {other} is not read")));
            }
        };
        Ok(Encoding { dictionary, is_second_version })
    }
}
