//! Compressed files: by the name of the method, or by the end of the file's name.

use std::io::{self, BufReader, BufWriter, Read, Write};

use squall_types::{Error, ErrorCode, Result};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// `gzip`, `gz`.
    Gzip,
    /// `zstd`, `zst`.
    Zstd,
    /// `lz4`, in frames.
    Lz4,
    /// `br`, `brotli`.
    Brotli,
    /// `xz`, `lzma`.
    Xz,
    /// `bz2`.
    Bzip2,
}

/// Names in ClickHouse's words and the ends of file names; the first of a method is its own.
const NAMES: &[(&str, Compression)] = &[
    ("none", Compression::None),
    ("gzip", Compression::Gzip),
    ("gz", Compression::Gzip),
    ("zstd", Compression::Zstd),
    ("zst", Compression::Zstd),
    ("lz4", Compression::Lz4),
    ("br", Compression::Brotli),
    ("brotli", Compression::Brotli),
    ("xz", Compression::Xz),
    ("lzma", Compression::Xz),
    ("bz2", Compression::Bzip2),
];

impl Compression {
    /// The method of this name; `auto` is by the file's name.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` where there is none.
    pub fn named(method: Option<&str>, file: &str) -> Result<Self> {
        let Some(method) = method.filter(|method| !method.is_empty() && *method != "auto") else {
            let end = file.rsplit_once('.').map_or("", |(_, end)| end);
            return Ok(Self::find(end).unwrap_or(Self::None));
        };
        Self::find(method).ok_or_else(|| {
            let message = format!("There is no compression method '{method}': none, gzip, zstd, lz4, br, xz, bz2 are");
            Error::new(ErrorCode::NOT_IMPLEMENTED, message)
        })
    }

    fn find(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, method)| *method)
    }

    /// A file's name without the end that tells its compression.
    pub fn plain_name(file: &str) -> &str {
        match file.rsplit_once('.') {
            Some((name, end)) if Self::find(end).is_some() => name,
            _ => file,
        }
    }

    /// Reads what was compressed so.
    ///
    /// # Errors
    /// Where it does not begin as it should.
    pub fn reader<'a>(self, input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        let input = BufReader::with_capacity(1 << 16, input);
        Ok(match self {
            Self::None => Box::new(input),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(input)?),
            Self::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(input)),
            Self::Brotli => Box::new(brotli::Decompressor::new(input, 1 << 16)),
            Self::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(input)),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(input)),
        })
    }

    /// Compresses what is written to a file at this level, or at the method's usual one.
    ///
    /// # Errors
    /// Where the method has no such level.
    pub fn writer(self, output: impl Write + Send + 'static, level: Option<u32>) -> io::Result<Box<dyn Finish>> {
        let output = BufWriter::with_capacity(1 << 16, output);
        Ok(match self {
            Self::None => Box::new(output),
            Self::Gzip => {
                let level = level.map_or_else(flate2::Compression::default, flate2::Compression::new);
                Box::new(flate2::write::GzEncoder::new(output, level))
            }
            Self::Zstd => Box::new(zstd::Encoder::new(output, level.map_or(3, |level| level.min(22) as i32))?),
            Self::Lz4 => Box::new(lz4_flex::frame::FrameEncoder::new(output)),
            Self::Brotli => Box::new(brotli::CompressorWriter::new(output, 1 << 16, level.unwrap_or(3).min(11), 22)),
            Self::Xz => Box::new(liblzma::write::XzEncoder::new(output, level.unwrap_or(6).min(9))),
            Self::Bzip2 => {
                let level = bzip2::Compression::new(level.unwrap_or(6).clamp(1, 9));
                Box::new(bzip2::write::BzEncoder::new(output, level))
            }
        })
    }
}

/// Something written to that wants a last word.
pub trait Finish: Write + Send {
    /// Writes what is still held back.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl<W: Write + Send> Finish for BufWriter<W> {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()
    }
}

impl<W: Write + Send> Finish for flate2::write::GzEncoder<W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        flate2::write::GzEncoder::finish(*self)?.flush()
    }
}

impl<W: Write + Send> Finish for zstd::Encoder<'static, W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        zstd::Encoder::finish(*self)?.flush()
    }
}

impl<W: Write + Send> Finish for lz4_flex::frame::FrameEncoder<W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        lz4_flex::frame::FrameEncoder::finish(*self).map_err(io::Error::other)?.flush()
    }
}

impl<W: Write + Send> Finish for brotli::CompressorWriter<W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        // What brotli holds back it writes when it is taken apart.
        self.into_inner().flush()
    }
}

impl<W: Write + Send> Finish for liblzma::write::XzEncoder<W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        liblzma::write::XzEncoder::finish(*self)?.flush()
    }
}

impl<W: Write + Send> Finish for bzip2::write::BzEncoder<W> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        bzip2::write::BzEncoder::finish(*self)?.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_in_every_method() {
        let folder = tempfile::tempdir().unwrap();
        let text: Vec<u8> = (0..200_000u32).flat_map(|number| number.to_string().into_bytes()).collect();
        for (name, method) in NAMES {
            let path = folder.path().join(name);
            let mut writer = method.writer(std::fs::File::create(&path).unwrap(), None).unwrap();
            writer.write_all(&text).unwrap();
            writer.finish().unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().len() < text.len() as u64, *method != Compression::None);
            let mut back = Vec::new();
            method.reader(std::fs::File::open(&path).unwrap()).unwrap().read_to_end(&mut back).unwrap();
            assert!(back == text, "{name}");
        }
    }

    #[test]
    fn names_tell_methods() {
        assert_eq!(Compression::named(None, "a.csv.gz").unwrap(), Compression::Gzip);
        assert_eq!(Compression::named(Some("auto"), "a.csv").unwrap(), Compression::None);
        assert_eq!(Compression::named(Some("ZSTD"), "a.gz").unwrap(), Compression::Zstd);
        assert_eq!(Compression::named(Some("rar"), "a").unwrap_err().code, ErrorCode::NOT_IMPLEMENTED);
        assert_eq!(Compression::plain_name("a.csv.gz"), "a.csv");
        assert_eq!(Compression::plain_name("a.csv"), "a.csv");
    }
}
