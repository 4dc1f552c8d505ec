//! The compressions of files, by name and by ending, and their readers and writers.

use std::io::{self, Read, Write};

use squall_types::{Error, ErrorCode, Result};

/// The most memory that the decoder of an xz file may take, which the file itself says.
const XZ_MEMORY_MAX: u64 = 256 << 20;
/// Bytes of the buffers of brotli's reader and writer.
const BROTLI_BUFFER_BYTES: usize = 64 << 10;
const BROTLI_WINDOW: u32 = 22;

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Compression {
    None,
    Gzip,
    Deflate,
    Zstd,
    Lz4,
    Brotli,
    Xz,
    Bzip2,
}

/// Each with its names; the first is that of ClickHouse's settings, the second the ending of files.
const NAMES: &[(Compression, &[&str])] = &[
    (Compression::None, &["none"]),
    (Compression::Gzip, &["gzip", "gz"]),
    (Compression::Deflate, &["deflate"]),
    (Compression::Zstd, &["zstd", "zst"]),
    (Compression::Lz4, &["lz4"]),
    (Compression::Brotli, &["brotli", "br"]),
    (Compression::Xz, &["xz", "lzma"]),
    (Compression::Bzip2, &["bz2"]),
];

impl Compression {
    /// The compression of a name; that of `path` for `auto` and no name.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for an unknown name, as in ClickHouse.
    pub fn named(name: &str, path: &str) -> Result<Self> {
        if name.is_empty() || name.eq_ignore_ascii_case("auto") {
            return Ok(Self::of_path(path));
        }
        let known = NAMES.iter().find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)));
        known.map(|(compression, _)| *compression).ok_or_else(|| {
            Error::new(ErrorCode::NOT_IMPLEMENTED, format!("Unknown compression method '{name}'. Only 'auto', 'none', 'gzip', 'deflate', 'br', 'xz', 'zstd', 'lz4', 'bz2' are supported as compression methods"))
        })
    }

    /// The compression that a path's ending tells of.
    pub fn of_path(path: &str) -> Self {
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
        let known =
            NAMES.iter().skip(1).find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(ending)));
        known.map_or(Self::None, |(compression, _)| *compression)
    }

    /// The plain bytes of compressed ones.
    ///
    /// # Errors
    /// Where the decoder cannot be made.
    pub fn reader(self, compressed: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
        let failed = |error: io::Error| self.failed(&error);
        let plain: Box<dyn Read + Send> = match self {
            Self::None => return Ok(compressed),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(compressed)),
            Self::Deflate => Box::new(flate2::read::ZlibDecoder::new(compressed)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(compressed).map_err(failed)?),
            Self::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(compressed)),
            Self::Brotli => Box::new(brotli::Decompressor::new(compressed, BROTLI_BUFFER_BYTES)),
            Self::Xz => {
                let stream = liblzma::stream::Stream::new_auto_decoder(XZ_MEMORY_MAX, liblzma::stream::CONCATENATED);
                let stream = stream.map_err(|error| self.failed(&error.into()))?;
                Box::new(liblzma::read::XzDecoder::new_stream(compressed, stream))
            }
            Self::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(compressed)),
        };
        Ok(Box::new(Named { compression: self, plain }))
    }

    /// What compresses bytes into `file`. To be ended by [`Finish::finish`].
    ///
    /// # Errors
    /// Where the encoder cannot be made.
    pub fn writer<W: Write + Send + 'static>(self, file: W, level: Option<u32>) -> Result<Box<dyn Finish>> {
        let failed = |error: io::Error| self.failed(&error);
        let of = |default: u32| flate2::Compression::new(level.unwrap_or(default).min(9));
        Ok(match self {
            Self::None => Box::new(Plain(file)),
            Self::Gzip => Box::new(flate2::write::GzEncoder::new(file, of(3))),
            Self::Deflate => Box::new(flate2::write::ZlibEncoder::new(file, of(3))),
            Self::Zstd => {
                let level = i32::try_from(level.unwrap_or(3)).unwrap_or(3).clamp(1, 22);
                Box::new(zstd::stream::write::Encoder::new(file, level).map_err(failed)?)
            }
            Self::Lz4 => Box::new(lz4_flex::frame::FrameEncoder::new(file)),
            Self::Brotli => {
                let level = level.unwrap_or(3).min(11);
                Box::new(brotli::CompressorWriter::new(file, BROTLI_BUFFER_BYTES, level, BROTLI_WINDOW))
            }
            Self::Xz => Box::new(liblzma::write::XzEncoder::new(file, level.unwrap_or(3).min(9))),
            Self::Bzip2 => {
                let level = bzip2::Compression::new(level.unwrap_or(3).clamp(1, 9));
                Box::new(bzip2::write::BzEncoder::new(file, level))
            }
        })
    }

    /// The error of a decoder, with ClickHouse's code.
    fn failed(self, error: &io::Error) -> Error {
        let code = match self {
            Self::None => ErrorCode::CANNOT_READ_ALL_DATA,
            Self::Gzip | Self::Deflate => ErrorCode::ZLIB_INFLATE_FAILED,
            Self::Zstd => ErrorCode::ZSTD_DECODER_FAILED,
            Self::Lz4 => ErrorCode::LZ4_DECODER_FAILED,
            Self::Brotli => ErrorCode::BROTLI_READ_FAILED,
            Self::Xz => ErrorCode::LZMA_STREAM_DECODER_FAILED,
            Self::Bzip2 => ErrorCode::BZIP2_STREAM_DECODER_FAILED,
        };
        let name = NAMES.iter().find(|(known, _)| *known == self).and_then(|(_, names)| names.first()).unwrap_or(&"");
        Error::new(code, format!("The data are not as {name} compresses them: {error}"))
    }
}

/// A decoder whose errors say of which compression they are.
struct Named {
    compression: Compression,
    plain: Box<dyn Read + Send>,
}

impl Read for Named {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.plain.read(bytes).map_err(|error| match error.get_ref() {
            Some(inner) if inner.is::<Error>() => error,
            _ => io::Error::other(self.compression.failed(&error)),
        })
    }
}

/// Takes bytes, and then the end.
pub trait Finish: Write + Send {
    /// Writes what is still held back.
    ///
    /// # Errors
    /// The file's.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Bytes as they are.
struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write + Send> Finish for Plain<W> {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

macro_rules! finish {
    ($($encoder:ty),*) => {
        $(impl<W: Write + Send> Finish for $encoder {
            fn finish(self: Box<Self>) -> io::Result<()> {
                (*self).finish()?.flush()
            }
        })*
    };
}

finish!(
    flate2::write::GzEncoder<W>,
    flate2::write::ZlibEncoder<W>,
    liblzma::write::XzEncoder<W>,
    bzip2::write::BzEncoder<W>
);

impl<W: Write + Send> Finish for zstd::stream::write::Encoder<'static, W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        (*self).finish()?.flush()
    }
}

impl<W: Write + Send> Finish for lz4_flex::frame::FrameEncoder<W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        (*self).finish().map_err(io::Error::other)?.flush()
    }
}

impl<W: Write + Send> Finish for brotli::CompressorWriter<W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        (*self).into_inner().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_compressed_comes_back_and_what_is_not_is_refused() {
        let plain: Vec<u8> = (0..200_000u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
        for (compression, names) in NAMES {
            let file = Shared::default();
            let mut writer = compression.writer(file.clone(), None).unwrap();
            writer.write_all(&plain).unwrap();
            writer.finish().unwrap();
            let compressed = file.0.lock().unwrap().clone();
            let mut back = Vec::new();
            let reader = || compression.reader(Box::new(io::Cursor::new(compressed.clone()))).unwrap();
            reader().read_to_end(&mut back).unwrap();
            assert!(back == plain, "{names:?}");
            if *compression == Compression::None {
                continue;
            }
            assert!(compressed.len() < plain.len() / 2, "{names:?}");
            for broken in [compressed[..compressed.len() / 2].to_vec(), b"this is no compressed file".to_vec()] {
                let mut reader = compression.reader(Box::new(io::Cursor::new(broken))).unwrap();
                let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
                assert!(error.get_ref().unwrap().is::<Error>(), "{names:?}");
            }
        }
    }

    #[test]
    fn names_and_endings_tell_the_compression() {
        for (path, compression) in [
            ("a.csv.gz", Compression::Gzip),
            ("a.csv.zst", Compression::Zstd),
            ("a.csv.ZST", Compression::Zstd),
            ("a.csv", Compression::None),
            ("none", Compression::None),
        ] {
            assert_eq!(Compression::of_path(path), compression, "{path}");
            assert_eq!(Compression::named("auto", path).unwrap(), compression, "{path}");
        }
        assert_eq!(Compression::named("br", "a.gz").unwrap(), Compression::Brotli);
        assert_eq!(Compression::named("zip", "a").unwrap_err().code, ErrorCode::NOT_IMPLEMENTED);
    }
}
