//! Compressed frames. The first byte says whether the checksum of the first is made right: a random change of a frame would otherwise never get
//! past it.

use squall_server::compression::{CHECKSUM_BYTES, Codec, compress, decompress_frame, frame_bytes};

pub fn run(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if first & 1 == 0 {
        mend(&mut bytes);
    }
    let (mut rest, mut out) = (&*bytes, Vec::new());
    while let Ok(Some(length)) = frame_bytes(rest)
        && let Some((frame, after)) = rest.split_at_checked(length)
        && decompress_frame(frame, &mut out).is_ok()
    {
        rest = after;
    }
}

/// Makes the checksum of the first frame right.
pub fn mend(frame: &mut [u8]) {
    const SIZE: std::ops::Range<usize> = CHECKSUM_BYTES + 1..CHECKSUM_BYTES + 5;
    let Some(Ok(size)) = frame.get(SIZE).map(<[u8; 4]>::try_from) else { return };
    let size = u32::from_le_bytes(size) as usize;
    let end = CHECKSUM_BYTES.saturating_add(size).min(frame.len());
    let Some((checksum, rest)) = frame.split_first_chunk_mut::<CHECKSUM_BYTES>() else { return };
    let hash = cityhash_rs::cityhash_102_128(rest.get(..end - CHECKSUM_BYTES).unwrap_or_default());
    // The high half stands first.
    let (high, low) = ((hash >> 64) as u64, hash as u64);
    let (first, second) = checksum.split_at_mut(8);
    first.copy_from_slice(&high.to_le_bytes());
    second.copy_from_slice(&low.to_le_bytes());
}

pub fn seeds() -> Vec<Vec<u8>> {
    let plain: Vec<u8> = b"forty-two ".repeat(20);
    let mut seeds = Vec::new();
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd(1)] {
        let mut seed = vec![0];
        if compress(codec, &plain, &mut seed).is_ok() {
            seeds.push(seed);
        }
    }
    seeds
}
