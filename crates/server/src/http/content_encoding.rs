//! HTTP's compression of bodies, both ways and streaming: gzip, deflate, zstd, LZ4 frames and brotli. ClickHouse's own `compress=1` is in
//! `compression`.

use std::io::{self, Read, Write};

use bytes::Bytes;
use flate2::write::{GzEncoder, MultiGzDecoder, ZlibDecoder, ZlibEncoder};
use squall_types::{Error, ErrorCode, Result, grow};

/// A slice of compressed input is decoded at once; it is small so that what it may grow to is bounded.
const INPUT_SLICE_BYTES: usize = 1 << 10;
/// The most that one slice may grow to.
const SLICE_GROWTH_BYTES_MAX: usize = 32 << 20;
/// As soon as so many bytes are decoded they are to be taken first.
const OUT_BYTES: usize = 1 << 20;
/// Bytes of the buffers of brotli's writers.
const BROTLI_BUFFER_BYTES: usize = 16 << 10;
/// The window of brotli's encoder, as a power of two: of the largest each response would take 16 MiB.
const BROTLI_WINDOW: u32 = 19;
/// LZ4 frames are decoded when they are whole, and a request in this encoding may not be larger.
const LZ4_BODY_BYTES_MAX: usize = 256 << 20;

/// An encoding of bodies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ContentEncoding {
    Gzip,
    Deflate,
    Zstd,
    Lz4,
    Brotli,
}

impl ContentEncoding {
    /// The encoding of this name; `None` for `identity` and the empty name.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for a name that is not here.
    pub fn parse(name: &str) -> Result<Option<Self>> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(None),
            "gzip" | "x-gzip" => Ok(Some(Self::Gzip)),
            "deflate" => Ok(Some(Self::Deflate)),
            "zstd" => Ok(Some(Self::Zstd)),
            "lz4" => Ok(Some(Self::Lz4)),
            "br" => Ok(Some(Self::Brotli)),
            other => Err(Error::new(ErrorCode::NOT_IMPLEMENTED, format!("Unknown compression method: {other}"))),
        }
    }

    /// The first of our encodings that `Accept-Encoding` names. Unlike ClickHouse's, the order has brotli at its end: its encoder takes
    /// megabytes for a response of any size, and browsers, which name it beside gzip, take either.
    pub fn accepted(header: &str) -> Option<Self> {
        let offers = |wanted: &str| {
            header.split(',').any(|offer| {
                let (name, parameters) = offer.split_once(';').unwrap_or((offer, ""));
                let refused = parameters.trim().strip_prefix("q=").is_some_and(|q| q.trim().parse() == Ok(0.0_f32));
                name.trim().eq_ignore_ascii_case(wanted) && !refused
            })
        };
        let all = [Self::Gzip, Self::Deflate, Self::Zstd, Self::Lz4, Self::Brotli];
        all.into_iter().find(|encoding| offers(encoding.name()))
    }

    /// The name in `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Brotli => "br",
        }
    }
}

/// Compresses a response as it is made.
pub enum Encoder {
    /// `gzip`.
    Gzip(GzEncoder<Vec<u8>>),
    /// `deflate`.
    Deflate(ZlibEncoder<Vec<u8>>),
    /// `zstd`.
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
    /// `lz4`.
    Lz4(Box<lz4_flex::frame::FrameEncoder<Vec<u8>>>),
    /// `br`.
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
}

impl Encoder {
    /// An encoder at a level of `http_zlib_compression_level`.
    ///
    /// # Errors
    /// Where the compressor cannot be made.
    pub fn new(encoding: ContentEncoding, level: i64) -> Result<Self> {
        let zlib = flate2::Compression::new(level.clamp(0, 9) as u32);
        Ok(match encoding {
            ContentEncoding::Gzip => Self::Gzip(GzEncoder::new(Vec::new(), zlib)),
            ContentEncoding::Deflate => Self::Deflate(ZlibEncoder::new(Vec::new(), zlib)),
            ContentEncoding::Zstd => Self::Zstd(
                zstd::stream::write::Encoder::new(Vec::new(), level.clamp(1, 22) as i32).map_err(cannot_compress)?,
            ),
            ContentEncoding::Lz4 => Self::Lz4(Box::new(lz4_flex::frame::FrameEncoder::new(Vec::new()))),
            ContentEncoding::Brotli => {
                let level = level.clamp(0, 11) as u32;
                let writer = brotli::CompressorWriter::new(Vec::new(), BROTLI_BUFFER_BYTES, level, BROTLI_WINDOW);
                Self::Brotli(Box::new(writer))
            }
        })
    }

    /// Compresses plain bytes and appends what is ready to `out`; all of it where `flush`.
    ///
    /// # Errors
    /// Where the compressor fails.
    pub fn encode(&mut self, plain: &[u8], flush: bool, out: &mut Vec<u8>) -> Result<()> {
        fn run(encoder: &mut impl Write, plain: &[u8], flush: bool) -> Result<()> {
            encoder.write_all(plain).map_err(cannot_compress)?;
            if flush { encoder.flush().map_err(cannot_compress) } else { Ok(()) }
        }
        match self {
            Self::Gzip(encoder) => run(encoder, plain, flush)?,
            Self::Deflate(encoder) => run(encoder, plain, flush)?,
            Self::Zstd(encoder) => run(encoder, plain, flush)?,
            Self::Lz4(encoder) => run(encoder, plain, flush)?,
            Self::Brotli(encoder) => run(encoder, plain, flush)?,
        }
        out.append(match self {
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Deflate(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
            Self::Lz4(encoder) => encoder.get_mut(),
            Self::Brotli(encoder) => encoder.get_mut(),
        });
        Ok(())
    }

    /// Appends the end of the compressed stream.
    ///
    /// # Errors
    /// Where the compressor fails.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<()> {
        let mut rest = match self {
            Self::Gzip(encoder) => encoder.finish().map_err(cannot_compress)?,
            Self::Deflate(encoder) => encoder.finish().map_err(cannot_compress)?,
            Self::Zstd(encoder) => encoder.finish().map_err(cannot_compress)?,
            Self::Lz4(encoder) => encoder.finish().map_err(cannot_compress)?,
            Self::Brotli(encoder) => encoder.into_inner(),
        };
        out.append(&mut rest);
        Ok(())
    }
}

fn cannot_compress(error: impl std::fmt::Display) -> Error {
    Error::logical(format!("Cannot compress the response: {error}"))
}

/// Decompresses a request as it arrives.
pub enum Decoder {
    /// `gzip`.
    Gzip(MultiGzDecoder<Bounded>),
    /// `deflate`.
    Deflate(ZlibDecoder<Bounded>),
    /// `zstd`.
    Zstd(Box<zstd::stream::write::Decoder<'static, Bounded>>),
    /// `lz4`, waiting to be whole.
    Lz4(Vec<u8>),
    /// `br`.
    Brotli(Box<brotli::DecompressorWriter<Bounded>>),
}

impl Decoder {
    /// A decoder.
    ///
    /// # Errors
    /// Where the decompressor cannot be made.
    pub fn new(encoding: ContentEncoding) -> Result<Self> {
        Ok(match encoding {
            ContentEncoding::Gzip => Self::Gzip(MultiGzDecoder::new(Bounded::default())),
            ContentEncoding::Deflate => Self::Deflate(ZlibDecoder::new(Bounded::default())),
            ContentEncoding::Zstd => {
                let decoder = zstd::stream::write::Decoder::new(Bounded::default());
                Self::Zstd(Box::new(decoder.map_err(|error| Error::logical(error.to_string()))?))
            }
            ContentEncoding::Lz4 => Self::Lz4(Vec::new()),
            ContentEncoding::Brotli => {
                Self::Brotli(Box::new(brotli::DecompressorWriter::new(Bounded::default(), BROTLI_BUFFER_BYTES)))
            }
        })
    }

    /// Decompresses the next bytes and appends them to `out`, until that is much: what was read of `chunk` is taken off it.
    ///
    /// # Errors
    /// `CANNOT_DECOMPRESS`, `ZLIB_INFLATE_FAILED`, `TOO_LARGE_SIZE_COMPRESSED`.
    pub fn feed(&mut self, chunk: &mut Bytes, out: &mut Vec<u8>) -> Result<()> {
        while !chunk.is_empty() && out.len() < OUT_BYTES {
            let slice = &*chunk.split_to(chunk.len().min(INPUT_SLICE_BYTES));
            match self {
                Self::Gzip(decoder) => {
                    decoder.write_all(slice).map_err(cannot_inflate)?;
                    out.append(&mut decoder.get_mut().0);
                }
                Self::Deflate(decoder) => {
                    decoder.write_all(slice).map_err(cannot_inflate)?;
                    out.append(&mut decoder.get_mut().0);
                }
                Self::Zstd(decoder) => {
                    decoder.write_all(slice).map_err(cannot_decompress)?;
                    decoder.flush().map_err(cannot_decompress)?;
                    out.append(&mut decoder.get_mut().0);
                }
                Self::Lz4(pending) => {
                    if pending.len() + slice.len() > LZ4_BODY_BYTES_MAX {
                        return Err(Error::new(
                            ErrorCode::TOO_LARGE_SIZE_COMPRESSED,
                            format!("A request in the encoding lz4 may have {LZ4_BODY_BYTES_MAX} bytes at most"),
                        ));
                    }
                    grow(pending, slice.len())?;
                    pending.extend_from_slice(slice);
                }
                Self::Brotli(decoder) => {
                    decoder.write_all(slice).map_err(cannot_decompress)?;
                    out.append(&mut decoder.get_mut().0);
                }
            }
        }
        Ok(())
    }

    /// The input is at its end: appends what is left; what is decoded only now can be read.
    ///
    /// # Errors
    /// As [`feed`](Self::feed), and where the compressed stream is cut off.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<Option<Rest>> {
        match self {
            Self::Gzip(decoder) => out.append(&mut decoder.finish().map_err(cannot_inflate)?.0),
            Self::Deflate(decoder) => out.append(&mut decoder.finish().map_err(cannot_inflate)?.0),
            Self::Zstd(mut decoder) => {
                decoder.flush().map_err(cannot_decompress)?;
                out.append(&mut decoder.get_mut().0);
            }
            Self::Brotli(mut decoder) => {
                decoder.close().map_err(cannot_decompress)?;
                out.append(&mut decoder.get_mut().0);
            }
            Self::Lz4(pending) => {
                return Ok(Some(Rest(Box::new(lz4_flex::frame::FrameDecoder::new(io::Cursor::new(pending))))));
            }
        }
        Ok(None)
    }
}

/// A body that was waited for as a whole, to be decoded piece by piece.
pub struct Rest(Box<lz4_flex::frame::FrameDecoder<io::Cursor<Vec<u8>>>>);

impl Rest {
    /// The next piece; empty at the end.
    ///
    /// # Errors
    /// `CANNOT_DECOMPRESS`.
    pub fn next(&mut self) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.0.by_ref().take(OUT_BYTES as u64).read_to_end(&mut out).map_err(cannot_decompress)?;
        Ok(out)
    }
}

fn cannot_inflate(error: io::Error) -> Error {
    Error::new(ErrorCode::ZLIB_INFLATE_FAILED, format!("Cannot inflate the request's body: {error}"))
}

fn cannot_decompress(error: io::Error) -> Error {
    Error::new(ErrorCode::CANNOT_DECOMPRESS, format!("Cannot decompress the request's body: {error}"))
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "it grows too large")
}

/// Holds what was decompressed, up to a limit.
#[derive(Debug, Default)]
pub struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > SLICE_GROWTH_BYTES_MAX {
            return Err(too_large());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ContentEncoding; 5] = [
        ContentEncoding::Gzip,
        ContentEncoding::Deflate,
        ContentEncoding::Zstd,
        ContentEncoding::Lz4,
        ContentEncoding::Brotli,
    ];

    #[test]
    fn bodies_come_back_in_every_encoding() {
        let plain: Vec<u8> = (0..200_000_u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
        for encoding in ALL {
            let mut encoder = Encoder::new(encoding, 3).unwrap();
            let mut wire = Vec::new();
            for chunk in plain.chunks(30_000) {
                encoder.encode(chunk, chunk.len() % 2 == 0, &mut wire).unwrap();
            }
            encoder.finish(&mut wire).unwrap();
            assert!(wire.len() < plain.len(), "{encoding:?}");
            let mut decoder = Decoder::new(encoding).unwrap();
            let mut back = Vec::new();
            for chunk in wire.chunks(1000) {
                let mut chunk = Bytes::copy_from_slice(chunk);
                while !chunk.is_empty() {
                    let mut out = Vec::new();
                    decoder.feed(&mut chunk, &mut out).unwrap();
                    back.append(&mut out);
                }
            }
            let mut rest = decoder.finish(&mut back).unwrap();
            while let Some(mut piece) = rest.as_mut().map(|rest| rest.next().unwrap()).filter(|piece| !piece.is_empty())
            {
                back.append(&mut piece);
            }
            assert!(back == plain, "{encoding:?}");
        }
    }

    #[test]
    fn rubbish_is_an_error() {
        for encoding in ALL {
            let mut decoder = Decoder::new(encoding).unwrap();
            let mut out = Vec::new();
            let result = decoder
                .feed(&mut Bytes::from_static(b"this is not compressed at all"), &mut out)
                .and_then(|()| decoder.finish(&mut out))
                .and_then(|rest| rest.map_or(Ok(Vec::new()), |mut rest| rest.next()));
            assert!(result.is_err(), "{encoding:?}");
        }
    }

    #[test]
    fn what_is_accepted_is_found() {
        for (header, expected) in [
            ("gzip, deflate, br", Some(ContentEncoding::Gzip)),
            ("zstd", Some(ContentEncoding::Zstd)),
            ("gzip;q=0, lz4", Some(ContentEncoding::Lz4)),
            ("br", Some(ContentEncoding::Brotli)),
            ("br, zstd", Some(ContentEncoding::Zstd)),
            ("compress", None),
            ("", None),
        ] {
            assert_eq!(ContentEncoding::accepted(header), expected, "{header}");
        }
        assert!(ContentEncoding::parse("rot13").is_err());
        assert_eq!(ContentEncoding::parse("identity").unwrap(), None);
    }
}
