//! Compressed frames, fed in two pieces. The first byte says where the cut is, and whether the checksum is made right: a random change of a frame
//! would otherwise never get past it.

use squall_server::compression::{CHECKSUM_BYTES, Codec, FrameDecoder, compress};

pub fn run(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let mut bytes = bytes.to_vec();
    if first & 1 == 0 {
        mend(&mut bytes);
    }
    let cut = usize::from(*first >> 1).min(bytes.len());
    let (before, after) = bytes.split_at(cut);
    let (mut decoder, mut out) = (FrameDecoder::default(), Vec::new());
    let mut read = Ok(());
    for piece in [before, after] {
        read = read.and_then(|()| decoder.push(piece));
        // As much as is taken at once, until nothing is left.
        loop {
            out.clear();
            read = read.and_then(|()| decoder.take(&mut out));
            if out.is_empty() {
                break;
            }
        }
    }
    if read.is_ok() {
        let _ = decoder.finish();
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
