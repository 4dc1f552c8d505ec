//! The protocol's compressed frames: a 16-byte CityHash128 (1.0.2) of all that follows, one byte for the method, the two sizes, the data.
//! LZ4 is written; LZ4, ZSTD and uncompressed frames are read.

use squall_formats::wire::{Cursor, Stop};
use squall_types::{Error, ErrorCode};

/// The method bytes: LZ4, ZSTD, no compression.
const LZ4: u8 = 0x82;
const ZSTD: u8 = 0x90;
const NONE: u8 = 0x02;
const CHECKSUM_BYTES: usize = 16;
const HEADER_BYTES: usize = 9;
/// The largest frame that is accepted; ClickHouse's own limit is the same.
const FRAME_BYTES_MAX: u32 = 1 << 30;
/// Plain bytes put into one frame.
const FRAME_BYTES: usize = 1 << 20;

/// Appends `plain` to `out` as LZ4 frames of up to 1 MiB of plain bytes each.
pub fn compress(plain: &[u8], out: &mut Vec<u8>) {
    for part in plain.chunks(FRAME_BYTES) {
        let frame = out.len();
        let body = frame + CHECKSUM_BYTES;
        let data = body + HEADER_BYTES;
        out.resize(data + lz4_flex::block::get_maximum_output_size(part.len()), 0);
        // The buffer is as large as LZ4 can need, so this cannot fail.
        let compressed = lz4_flex::block::compress_into(part, &mut out[data..]).unwrap_or(0);
        out.truncate(data + compressed);
        out[body] = LZ4;
        out[body + 1..body + 5].copy_from_slice(&((HEADER_BYTES + compressed) as u32).to_le_bytes());
        out[body + 5..body + 9].copy_from_slice(&(part.len() as u32).to_le_bytes());
        let checksum = checksum(&out[body..]);
        out[frame..body].copy_from_slice(&checksum);
    }
}

/// CityHash128 as it stands on the wire: the lower half first.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    cityhash_rs::cityhash_102_128(bytes).rotate_left(64).to_le_bytes()
}

/// Reads one frame and appends its plain bytes to `plain`.
pub fn decompress_frame(input: &mut Cursor<'_>, plain: &mut Vec<u8>) -> Result<(), Stop> {
    let expected = input.array::<CHECKSUM_BYTES>()?;
    // The header is part of what is hashed, so it is looked at before all that follows the checksum is taken.
    let mut header = Cursor::new(input.rest());
    let (method, compressed_bytes) = (header.byte()?, u32::from_le_bytes(header.array()?));
    let plain_bytes = u32::from_le_bytes(header.array()?);
    if compressed_bytes > FRAME_BYTES_MAX || plain_bytes > FRAME_BYTES_MAX || (compressed_bytes as usize) < HEADER_BYTES
    {
        return Err(Error::new(
            ErrorCode::TOO_LARGE_SIZE_COMPRESSED,
            "A compressed frame from the server has an impossible size",
        )
        .into());
    }
    let hashed = input.take(compressed_bytes as usize)?;
    if checksum(hashed) != expected {
        return Err(Error::new(
            ErrorCode::CHECKSUM_DOESNT_MATCH,
            "A compressed frame from the server has a wrong checksum",
        )
        .into());
    }
    let data = &hashed[HEADER_BYTES..];
    match method {
        NONE => plain.extend_from_slice(data),
        LZ4 => {
            let start = plain.len();
            plain.resize(start + plain_bytes as usize, 0);
            match lz4_flex::block::decompress_into(data, &mut plain[start..]) {
                Ok(written) if written == plain_bytes as usize => {}
                _ => return Err(Error::new(ErrorCode::CANNOT_DECOMPRESS, "A frame from the server is not LZ4").into()),
            }
        }
        ZSTD => match zstd::bulk::decompress(data, plain_bytes as usize) {
            Ok(bytes) if bytes.len() == plain_bytes as usize => plain.extend_from_slice(&bytes),
            _ => return Err(Error::new(ErrorCode::CANNOT_DECOMPRESS, "A frame from the server is not ZSTD").into()),
        },
        other => {
            let message = format!("The server compresses with method 0x{other:02x}, which this client does not read");
            return Err(Error::new(ErrorCode::CANNOT_DECOMPRESS, message).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_damage_is_seen() {
        let plain: Vec<u8> = (0..3_000_000u32).map(|i| (i / 7) as u8).collect();
        let mut wire = Vec::new();
        compress(&plain, &mut wire);
        let mut input = Cursor::new(&wire);
        let mut back = Vec::new();
        while input.position() < wire.len() {
            decompress_frame(&mut input, &mut back).unwrap();
        }
        assert!(back == plain);

        assert!(matches!(
            decompress_frame(&mut Cursor::new(&wire[..wire.len() / 4]), &mut back),
            Err(Stop::Incomplete)
        ));
        wire[100] ^= 1;
        let damaged = decompress_frame(&mut Cursor::new(&wire), &mut back);
        assert!(matches!(damaged, Err(Stop::Bad(error)) if error.code == ErrorCode::CHECKSUM_DOESNT_MATCH));
    }
}
