//! ClickHouse's compressed frames, of the native protocol and of HTTP's `compress=1`: a 16-byte CityHash128 (1.0.2) of all that follows,
//! one byte for the method, the size of method, sizes and data, the size of the plain bytes, the data.

use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_types::{Error, ErrorCode, Result, grow};

const METHOD_NONE: u8 = 0x02;
const METHOD_LZ4: u8 = 0x82;
const METHOD_ZSTD: u8 = 0x90;

/// Bytes of the checksum before a frame's header.
pub const CHECKSUM_BYTES: usize = 16;
/// Bytes of method and sizes.
pub const HEADER_BYTES: usize = 9;
/// The largest frame, compressed or plain, that is accepted; ClickHouse's own limit.
pub const FRAME_BYTES_MAX: usize = 1 << 30;
/// Plain bytes put into one frame; ClickHouse's buffer is as large.
pub const FRAME_BYTES: usize = 1 << 20;

/// How frames are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    /// Not at all; the checksum stays.
    None,
    /// LZ4.
    Lz4,
    /// ZSTD at a level.
    Zstd(i32),
}

impl Codec {
    /// The codec of the settings `network_compression_method` and `network_zstd_compression_level`.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a method that is not here.
    pub fn of_settings(method: &str, zstd_level: i64) -> Result<Self> {
        match method.to_ascii_uppercase().as_str() {
            "LZ4" | "LZ4HC" | "" => Ok(Self::Lz4),
            "ZSTD" => Ok(Self::Zstd(zstd_level.clamp(1, 22) as i32)),
            "NONE" => Ok(Self::None),
            other => Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown compression method: {other}"))),
        }
    }
}

/// Appends `plain` to `out` in frames of up to 1 MiB of plain bytes each. No bytes make no frame.
///
/// # Errors
/// `LOGICAL_ERROR` where a compressor fails although its output has room.
pub fn compress(codec: Codec, plain: &[u8], out: &mut Vec<u8>) -> Result<()> {
    for part in plain.chunks(FRAME_BYTES) {
        let frame = out.len();
        let body = frame + CHECKSUM_BYTES;
        let data = body + HEADER_BYTES;
        let (method, room) = match codec {
            Codec::None => (METHOD_NONE, part.len()),
            Codec::Lz4 => (METHOD_LZ4, lz4_flex::block::get_maximum_output_size(part.len())),
            Codec::Zstd(_) => (METHOD_ZSTD, zstd::zstd_safe::compress_bound(part.len())),
        };
        out.resize(data + room, 0);
        let Some(target) = out.get_mut(data..) else { return Err(Error::logical("a frame without room")) };
        let written = match codec {
            Codec::None => {
                target.copy_from_slice(part);
                part.len()
            }
            Codec::Lz4 => {
                lz4_flex::block::compress_into(part, target).map_err(|error| Error::logical(error.to_string()))?
            }
            Codec::Zstd(level) => zstd::bulk::compress_to_buffer(part, target, level)
                .map_err(|error| Error::logical(error.to_string()))?,
        };
        out.truncate(data + written);
        let mut header = [0; HEADER_BYTES];
        header[0] = method;
        header[1..5].copy_from_slice(&((HEADER_BYTES + written) as u32).to_le_bytes());
        header[5..9].copy_from_slice(&(part.len() as u32).to_le_bytes());
        if let Some(place) = out.get_mut(body..data) {
            place.copy_from_slice(&header);
        }
        let checksum = checksum(out.get(body..).unwrap_or_default());
        if let Some(place) = out.get_mut(frame..body) {
            place.copy_from_slice(&checksum);
        }
    }
    Ok(())
}

/// The length of the whole frame that begins with these bytes; `None` where they are too few to tell.
///
/// # Errors
/// `TOO_LARGE_SIZE_COMPRESSED`, `CORRUPTED_DATA` for sizes that cannot be.
pub fn frame_bytes(start: &[u8]) -> Result<Option<usize>> {
    let Some(header) = start.get(CHECKSUM_BYTES..CHECKSUM_BYTES + HEADER_BYTES) else { return Ok(None) };
    let (compressed, plain) = sizes(header);
    if compressed > FRAME_BYTES_MAX || plain > FRAME_BYTES_MAX {
        return Err(Error::new(
            ErrorCode::TOO_LARGE_SIZE_COMPRESSED,
            format!(
                "Too large size of compressed data: {compressed} bytes compressed, {plain} plain. Most likely corrupted data"
            ),
        ));
    }
    if compressed < HEADER_BYTES {
        return Err(Error::new(
            ErrorCode::CORRUPTED_DATA,
            format!(
                "Can't decompress data: the compressed data size ({compressed}) is less than the header size ({HEADER_BYTES})"
            ),
        ));
    }
    Ok(Some(CHECKSUM_BYTES + compressed))
}

/// Appends the plain bytes of one whole frame to `out`.
///
/// # Errors
/// `CHECKSUM_DOESNT_MATCH`, `CANNOT_DECOMPRESS`, `UNKNOWN_COMPRESSION_METHOD`'s text under `CANNOT_DECOMPRESS`, and those of
/// [`frame_bytes`].
pub fn decompress_frame(frame: &[u8], out: &mut Vec<u8>) -> Result<()> {
    if frame_bytes(frame)? != Some(frame.len()) {
        return Err(Error::new(ErrorCode::CANNOT_DECOMPRESS, "A compressed frame is incomplete"));
    }
    let before = out.len();
    decompress_whole_frame(frame, out)?;
    count(ProfileEvent::ReadCompressedBytes, frame.len() as u64);
    count(ProfileEvent::CompressedReadBufferBlocks, 1);
    count(ProfileEvent::CompressedReadBufferBytes, (out.len() - before) as u64);
    Ok(())
}

fn decompress_whole_frame(frame: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let (expected, body) = frame.split_at(CHECKSUM_BYTES);
    let actual = checksum(body);
    if actual != expected {
        return Err(Error::new(
            ErrorCode::CHECKSUM_DOESNT_MATCH,
            format!(
                "Checksum doesn't match: corrupted data. Reference: {}. Actual: {}. Size of compressed block: {}",
                hex(expected),
                hex(&actual),
                body.len()
            ),
        ));
    }
    let (header, data) = body.split_at(HEADER_BYTES);
    let (_, plain) = sizes(header);
    let start = out.len();
    let fail = |why: String| Error::new(ErrorCode::CANNOT_DECOMPRESS, format!("Cannot decompress: {why}"));
    match header.first().copied() {
        Some(METHOD_NONE) if data.len() == plain => out.extend_from_slice(data),
        // No byte of LZ4 stands for more than 255: who claims more is not believed.
        Some(METHOD_LZ4) if plain / 255 > data.len() => return Err(fail(format!("{plain} bytes of {}", data.len()))),
        Some(METHOD_LZ4 | METHOD_ZSTD) => {
            grow(out, plain)?;
            out.resize(start + plain, 0);
            let target = out.get_mut(start..).unwrap_or_default();
            let written = if header.first() == Some(&METHOD_LZ4) {
                lzzzz::lz4::decompress(data, target).map_err(|error| fail(error.to_string()))?
            } else {
                zstd::bulk::decompress_to_buffer(data, target).map_err(|error| fail(error.to_string()))?
            };
            if written != plain {
                return Err(fail(format!("{written} bytes instead of {plain}")));
            }
        }
        Some(METHOD_NONE) => return Err(fail(format!("{} bytes instead of {plain}", data.len()))),
        other => return Err(fail(format!("Unknown codec family code: {}", other.unwrap_or_default()))),
    }
    Ok(())
}

/// Compressed size with the header, and plain size.
fn sizes(header: &[u8]) -> (usize, usize) {
    let size = |at: usize| {
        let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        u32::from_le_bytes(bytes) as usize
    };
    (size(1), size(5))
}

/// CityHash128 as it stands on the wire: the lower half first.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    cityhash_rs::cityhash_102_128(bytes).rotate_left(64).to_le_bytes()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As soon as so many bytes are decompressed they are to be taken first.
const OUT_BYTES: usize = 1 << 20;

/// Takes frames apart that arrive in pieces.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    pending: Vec<u8>,
}

impl FrameDecoder {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn push(&mut self, chunk: &[u8]) -> Result<()> {
        grow(&mut self.pending, chunk.len())?;
        self.pending.extend_from_slice(chunk);
        Ok(())
    }

    /// Appends what whole frames hold to `out`, frame by frame until that is much; nothing where no whole frame is left.
    ///
    /// # Errors
    /// Those of [`decompress_frame`].
    pub fn take(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let mut done = 0;
        while out.len() < OUT_BYTES
            && let Some(rest) = self.pending.get(done..)
            && let Some(bytes) = frame_bytes(rest)?
            && let Some(frame) = rest.get(..bytes)
        {
            decompress_frame(frame, out)?;
            done += bytes;
        }
        self.pending.drain(..done);
        Ok(())
    }

    /// The input is at its end.
    ///
    /// # Errors
    /// `CANNOT_READ_ALL_DATA` where it ends within a frame.
    pub fn finish(&self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let message = format!(
            "Cannot read all data: the compressed input ends within a frame, after {} bytes",
            self.pending.len()
        );
        Err(Error::new(ErrorCode::CANNOT_READ_ALL_DATA, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_whatever_the_pieces() {
        let plain: Vec<u8> = (0..3_000_000_u32).map(|i| (i / 7) as u8).collect();
        for codec in [Codec::None, Codec::Lz4, Codec::Zstd(1)] {
            let mut wire = Vec::new();
            compress(codec, &plain, &mut wire).unwrap();
            let mut decoder = FrameDecoder::default();
            let mut back = Vec::new();
            for piece in wire.chunks(70_001) {
                decoder.push(piece).unwrap();
                loop {
                    let mut out = Vec::new();
                    decoder.take(&mut out).unwrap();
                    if out.is_empty() {
                        break;
                    }
                    back.append(&mut out);
                }
            }
            decoder.finish().unwrap();
            assert!(back == plain, "{codec:?}");
        }
    }

    #[test]
    fn damage_is_told_apart() {
        let mut wire = Vec::new();
        compress(Codec::Lz4, b"hello hello hello hello hello", &mut wire).unwrap();
        let code = |bytes: &[u8]| {
            let mut decoder = FrameDecoder::default();
            decoder.push(bytes).unwrap();
            decoder.take(&mut Vec::new()).and_then(|()| decoder.finish()).unwrap_err().code
        };
        assert_eq!(code(&wire[..wire.len() - 1]), ErrorCode::CANNOT_READ_ALL_DATA);
        for at in [0, 20, wire.len() - 1] {
            let mut broken = wire.clone();
            broken[at] ^= 1;
            let code = code(&broken);
            assert!(
                [ErrorCode::CHECKSUM_DOESNT_MATCH, ErrorCode::CANNOT_READ_ALL_DATA].contains(&code),
                "{at}: {code:?}"
            );
        }
        let mut huge = wire.clone();
        huge[17..21].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(code(&huge), ErrorCode::TOO_LARGE_SIZE_COMPRESSED);
        let mut tiny = wire;
        tiny[17..21].copy_from_slice(&1_u32.to_le_bytes());
        assert_eq!(code(&tiny), ErrorCode::CORRUPTED_DATA);
    }
}
