//! Streams in chunks: each has its length before it, and whether it is compressed.

use std::io::Read;

use bytes::{Buf, Bytes};
use squall_types::{Error, ErrorCode, Result, checkpoint, grow, reserve};

use super::{corrupted, ends_early};

/// The longest chunk: what the three bytes before it can say.
pub(super) const CHUNK_BYTES_MAX: usize = 1 << 23;
/// Chunks of files that do not say how long theirs are.
const CHUNK_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Codec {
    Zlib,
    Snappy,
    Lz4,
    Zstd,
}

/// How the streams of a file are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Compression {
    codec: Codec,
    /// The most bytes of a chunk before it is compressed.
    chunk_bytes: usize,
}

impl Compression {
    /// The compression of a number in a file; `None` is none.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for LZO, `INCORRECT_DATA` for what is unknown.
    pub fn of_number(kind: i32, chunk_bytes: Option<u64>) -> Result<Option<Self>> {
        let codec = match kind {
            0 => return Ok(None),
            1 => Codec::Zlib,
            2 => Codec::Snappy,
            3 => return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "ORC files compressed with LZO are not read")),
            4 => Codec::Lz4,
            5 => Codec::Zstd,
            _ => return Err(corrupted("unknown compression type")),
        };
        let chunk_bytes = chunk_bytes.map_or(CHUNK_BYTES, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if chunk_bytes > CHUNK_BYTES_MAX {
            return Err(corrupted(format!("chunks of more than {CHUNK_BYTES_MAX} bytes")));
        }
        Ok(Some(Self { codec, chunk_bytes }))
    }

    /// The compression of a name in settings; `None` is none.
    pub fn of_name(name: &str, chunk_bytes: u64) -> Option<Self> {
        let codec = match name {
            "zlib" => Codec::Zlib,
            "snappy" => Codec::Snappy,
            "lz4" => Codec::Lz4,
            "zstd" => Codec::Zstd,
            _ => return None,
        };
        let chunk_bytes = usize::try_from(chunk_bytes).unwrap_or(usize::MAX).clamp(1, CHUNK_BYTES_MAX - 1);
        Some(Self { codec, chunk_bytes })
    }

    pub fn number(self) -> i32 {
        match self.codec {
            Codec::Zlib => 1,
            Codec::Snappy => 2,
            Codec::Lz4 => 4,
            Codec::Zstd => 5,
        }
    }

    pub fn chunk_bytes(self) -> usize {
        self.chunk_bytes
    }

    fn decompress(self, bytes: &[u8]) -> Result<Bytes> {
        let broken = |error: &dyn std::fmt::Display| corrupted(format!("a chunk is not decompressed: {error}"));
        checkpoint(bytes.len() + 256)?;
        reserve(self.chunk_bytes)?;
        let mut plain = Vec::new();
        match self.codec {
            Codec::Zlib => {
                let decoder = flate2::read::DeflateDecoder::new(bytes);
                decoder.take(self.chunk_bytes as u64 + 1).read_to_end(&mut plain).map_err(|error| broken(&error))?;
                if plain.len() > self.chunk_bytes {
                    return Err(broken(&"it is longer than the file says"));
                }
            }
            Codec::Snappy => {
                let length = snap::raw::decompress_len(bytes).map_err(|error| broken(&error))?;
                if length > self.chunk_bytes {
                    return Err(broken(&"it is longer than the file says"));
                }
                plain.resize(length, 0);
                snap::raw::Decoder::new().decompress(bytes, &mut plain).map_err(|error| broken(&error))?;
            }
            Codec::Lz4 => {
                plain.resize(self.chunk_bytes, 0);
                let length = lz4_flex::block::decompress_into(bytes, &mut plain).map_err(|error| broken(&error))?;
                plain.truncate(length);
            }
            Codec::Zstd => {
                plain.reserve_exact(self.chunk_bytes);
                zstd::bulk::Decompressor::new()
                    .and_then(|mut zstd| zstd.decompress_to_buffer(bytes, &mut plain))
                    .map_err(|error| broken(&error))?;
            }
        }
        Ok(plain.into())
    }

    fn compress(self, bytes: &[u8]) -> Result<Vec<u8>> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(ErrorCode::LOGICAL_ERROR, format!("ORC: a chunk is not compressed: {error}"))
        };
        match self.codec {
            Codec::Zlib => {
                let mut encoder = flate2::read::DeflateEncoder::new(bytes, flate2::Compression::fast());
                let mut out = Vec::new();
                encoder.read_to_end(&mut out).map_err(|error| failed(&error))?;
                Ok(out)
            }
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(bytes).map_err(|error| failed(&error)),
            Codec::Lz4 => Ok(lz4_flex::block::compress(bytes)),
            Codec::Zstd => zstd::bulk::compress(bytes, 1).map_err(|error| failed(&error)),
        }
    }
}

/// Appends bytes as a stream has them.
pub(super) fn append_chunks(compression: Option<Compression>, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let Some(compression) = compression else {
        grow(out, bytes.len())?;
        out.extend_from_slice(bytes);
        return Ok(());
    };
    for chunk in bytes.chunks(compression.chunk_bytes) {
        checkpoint(8 * chunk.len())?;
        reserve(2 * chunk.len())?;
        let compressed = compression.compress(chunk)?;
        let (chunk, is_original) = if compressed.len() < chunk.len() { (&*compressed, 0) } else { (chunk, 1) };
        let [a, b, c, _] = ((chunk.len() as u32) << 1 | is_original).to_le_bytes();
        grow(out, chunk.len() + 3)?;
        out.extend_from_slice(&[a, b, c]);
        out.extend_from_slice(chunk);
    }
    Ok(())
}

/// The bytes of a stream, decompressed chunk by chunk.
#[derive(Debug)]
pub(super) struct Stream {
    rest: Bytes,
    compression: Option<Compression>,
    /// What is left of the present chunk.
    chunk: Bytes,
}

impl Stream {
    pub fn new(bytes: Bytes, compression: Option<Compression>) -> Self {
        match compression {
            Some(_) => Self { rest: bytes, compression, chunk: Bytes::new() },
            None => Self { rest: Bytes::new(), compression, chunk: bytes },
        }
    }

    /// Goes to the next chunk that has bytes, where the present one is read; `false` at the end.
    fn reach(&mut self) -> Result<bool> {
        while self.chunk.is_empty() {
            let Some(compression) = self.compression else { return Ok(false) };
            if self.rest.is_empty() {
                return Ok(false);
            }
            let [a, b, c] = *self.rest.first_chunk::<3>().ok_or_else(ends_early)?;
            let header = u32::from_le_bytes([a, b, c, 0]);
            let end = 3 + (header >> 1) as usize;
            if end > self.rest.len() {
                return Err(ends_early());
            }
            let chunk = self.rest.slice(3..end);
            self.rest = self.rest.slice(end..);
            self.chunk = if header & 1 == 1 { chunk } else { compression.decompress(&chunk)? };
        }
        Ok(true)
    }

    pub fn byte(&mut self) -> Result<u8> {
        if !self.reach()? {
            return Err(ends_early());
        }
        let byte = self.chunk.first().copied().unwrap_or(0);
        self.chunk.advance(1);
        Ok(byte)
    }

    /// Appends so many bytes.
    pub fn take(&mut self, mut bytes: usize, out: &mut Vec<u8>) -> Result<()> {
        while bytes > 0 {
            if !self.reach()? {
                return Err(ends_early());
            }
            let here = bytes.min(self.chunk.len());
            grow(out, here)?;
            out.extend_from_slice(self.chunk.get(..here).unwrap_or_default());
            self.chunk.advance(here);
            bytes -= here;
        }
        Ok(())
    }

    /// All bytes, of which there may be so many.
    pub fn all(mut self, bytes_max: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while self.reach()? {
            let here = self.chunk.len();
            if all.len() + here > bytes_max {
                return Err(corrupted("its metadata are too long"));
            }
            self.take(here, &mut all)?;
        }
        Ok(all)
    }

    /// An unsigned number of variable length; bits beyond 64 are dropped.
    pub fn varint(&mut self) -> Result<u64> {
        self.wide_varint(10).map(|number| number as u64)
    }

    /// The same of up to 128 bits, in so many bytes at most.
    pub fn wide_varint(&mut self, bytes_max: u32) -> Result<u128> {
        let mut number = 0u128;
        for at in 0..bytes_max {
            let byte = self.byte()?;
            number |= u128::from(byte & 0x7f).checked_shl(7 * at).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(corrupted("a number is too long"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_back_under_every_compression() {
        let bytes: Vec<u8> = (0..1000u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        for name in ["none", "zlib", "snappy", "lz4", "zstd"] {
            let compression = Compression::of_name(name, 300);
            let mut out = Vec::new();
            append_chunks(compression, &bytes, &mut out).unwrap();
            assert_eq!(Stream::new(out.clone().into(), compression).all(bytes.len()).unwrap(), bytes, "{name}");
            assert!(Stream::new(out.clone().into(), compression).all(bytes.len() - 1).is_err(), "{name}");
            out.pop();
            let cut = Stream::new(out.into(), compression).all(bytes.len());
            assert!(compression.is_none() || cut.is_err(), "{name}");
        }
    }

    #[test]
    fn chunks_are_no_longer_than_the_file_says() {
        for name in ["zlib", "snappy", "lz4", "zstd"] {
            let mut out = Vec::new();
            append_chunks(Compression::of_name(name, 10_000), &[0; 10_000], &mut out).unwrap();
            let less = Compression::of_name(name, 9_999);
            assert!(Stream::new(out.into(), less).all(usize::MAX).is_err(), "{name}");
        }
    }
}
