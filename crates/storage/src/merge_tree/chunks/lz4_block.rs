//! Blocks of LZ4 that are made and read in pieces. No library does that: their streams are of several blocks, and Parquet's pages have one. A
//! block is a series of sequences, each some literals and a match, and ends with literals alone
//! (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md).

use lzzzz::lz4::{self, ACC_LEVEL_DEFAULT};
use lzzzz::lz4_hc;
use parquet::errors::ParquetError;

/// Literals or bytes of a match that a token's half cannot say are said by bytes behind it.
const NIBBLE_MAX: usize = 15;
/// Bytes of a match that need not be said.
const MATCH_BYTES_MIN: usize = 4;

/// Makes a block.
pub(in crate::merge_tree) struct BlockEncoder {
    compressor: Compressor,
    block: Vec<u8>,
    /// What the pieces so far end with: literals of the next sequence.
    literals: Vec<u8>,
    /// Memory for what a piece becomes.
    piece: Vec<u8>,
}

enum Compressor {
    Fast(Box<lz4::Compressor<'static>>),
    High(lz4_hc::Compressor<'static>),
}

impl BlockEncoder {
    /// An encoder; of a level of LZ4HC if there is one.
    ///
    /// # Errors
    /// Where there is no memory.
    pub(in crate::merge_tree) fn new(level: Option<i32>) -> Result<Self, ParquetError> {
        let compressor = match level {
            None => Compressor::Fast(Box::new(lz4::Compressor::new().map_err(failed)?)),
            Some(level) => {
                let mut compressor = lz4_hc::Compressor::new().map_err(failed)?;
                compressor.set_compression_level(level);
                Compressor::High(compressor)
            }
        };
        Ok(Self { compressor, block: Vec::new(), literals: Vec::new(), piece: Vec::new() })
    }

    /// Adds a piece, which may match what was before.
    ///
    /// # Errors
    /// Those of the compressor.
    pub(in crate::merge_tree) fn add(&mut self, plain: &[u8]) -> Result<(), ParquetError> {
        self.piece.resize(lz4::max_compressed_size(plain.len()), 0);
        let bytes = match &mut self.compressor {
            Compressor::Fast(compressor) => compressor.next(plain, &mut self.piece, ACC_LEVEL_DEFAULT),
            Compressor::High(compressor) => compressor.next(plain, &mut self.piece),
        };
        self.piece.truncate(bytes.map_err(failed)?);
        // A piece is a block. Its last sequence has no match, so what follows becomes part of that.
        let (mut at, mut first) = (0, None);
        loop {
            let sequence = Sequence::read(&self.piece, at).ok_or_else(too_short)?;
            let Some((_, end)) = sequence.matched else {
                let rest = self.piece.get(first.unwrap_or(0)..at).unwrap_or_default();
                self.block.extend_from_slice(rest);
                self.literals.extend_from_slice(self.piece.get(sequence.literals).unwrap_or_default());
                return Ok(());
            };
            if first.is_none() {
                let token = self.piece.get(at).copied().unwrap_or_default();
                self.literals.extend_from_slice(self.piece.get(sequence.literals.clone()).unwrap_or_default());
                put_literals(&mut self.block, token & 0x0f, &self.literals);
                self.block.extend_from_slice(self.piece.get(sequence.literals.end..end).unwrap_or_default());
                self.literals.clear();
                first = Some(end);
            }
            at = end;
        }
    }

    /// The block.
    pub(in crate::merge_tree) fn finish(mut self) -> Vec<u8> {
        put_literals(&mut self.block, 0, &self.literals);
        self.block
    }
}

/// Appends a token, whose lower half is given, and literals.
fn put_literals(block: &mut Vec<u8>, lower: u8, literals: &[u8]) {
    block.push((literals.len().min(NIBBLE_MAX) as u8) << 4 | lower);
    if let Some(rest) = literals.len().checked_sub(NIBBLE_MAX) {
        block.resize(block.len() + rest / 255, 255);
        block.push((rest % 255) as u8);
    }
    block.extend_from_slice(literals);
}

/// Where the parts of a sequence are in a block.
struct Sequence {
    literals: std::ops::Range<usize>,
    /// How far back the match begins and the bytes that it has, and where the sequence ends; nothing where the block ends.
    matched: Option<((usize, usize), usize)>,
}

impl Sequence {
    /// The sequence that begins at a byte; `None` where the block ends within it.
    #[inline]
    fn read(block: &[u8], at: usize) -> Option<Self> {
        let token = *block.get(at)?;
        let (literals, start) = length(block, usize::from(token >> 4), at + 1)?;
        let end = start.checked_add(literals).filter(|end| *end <= block.len())?;
        if end == block.len() {
            return Some(Self { literals: start..end, matched: None });
        }
        let back = usize::from(u16::from_le_bytes(*block.get(end..)?.first_chunk()?));
        let (bytes, next) = length(block, usize::from(token & 0x0f), end + 2)?;
        Some(Self { literals: start..end, matched: Some(((back, bytes + MATCH_BYTES_MIN), next)) })
    }
}

/// A length whose beginning is a token's half, and where its bytes end.
#[inline]
fn length(block: &[u8], half: usize, mut at: usize) -> Option<(usize, usize)> {
    let mut length = half;
    if half == NIBBLE_MAX {
        loop {
            let byte = *block.get(at)?;
            at += 1;
            length = length.checked_add(usize::from(byte))?;
            if byte != 255 {
                break;
            }
        }
    }
    Some((length, at))
}

/// Reads a block.
#[derive(Default)]
pub(in crate::merge_tree) struct BlockDecoder {
    /// Where the next sequence begins.
    at: usize,
}

impl BlockDecoder {
    /// Decodes on behind what it has put out before, until that has `wanted` bytes or a few more; it has at most `bytes_max`.
    ///
    /// # Errors
    /// Where the block is none, or has fewer or more bytes.
    pub(in crate::merge_tree) fn decode(
        &mut self,
        block: &[u8],
        plain: &mut Vec<u8>,
        wanted: usize,
        bytes_max: usize,
    ) -> Result<(), ParquetError> {
        while plain.len() < wanted {
            let sequence = Sequence::read(block, self.at).ok_or_else(too_short)?;
            let literals = block.get(sequence.literals).unwrap_or_default();
            let ((back, bytes), end) = sequence.matched.unwrap_or(((1, 0), block.len()));
            let room = bytes_max - plain.len();
            if literals.len() > room || bytes > room - literals.len() {
                return Err(ParquetError::General("a block of LZ4 is longer than its page says".to_owned()));
            }
            plain.extend_from_slice(literals);
            let start = plain.len().checked_sub(back).filter(|_| back > 0);
            let start = start.ok_or_else(|| ParquetError::General("a match before a block of LZ4".to_owned()))?;
            let mut left = bytes;
            // A match may go beyond what is there: then it repeats itself.
            while left > 0 {
                let copied = left.min(plain.len() - start);
                plain.extend_from_within(start..start + copied);
                left -= copied;
            }
            self.at = end;
        }
        Ok(())
    }
}

fn failed(error: lzzzz::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

fn too_short() -> ParquetError {
    ParquetError::General("a block of LZ4 is too short".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that repeat more and less.
    fn samples() -> Vec<Vec<u8>> {
        let noise = |bytes: u32| (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 21) as u8);
        let texts = (0..9_000_u32).flat_map(|at| format!("https://example.com/{}/page{}", at % 97, at).into_bytes());
        let mixed = noise(400).chain(std::iter::repeat_n(7, 70_000)).chain(noise(3)).chain(noise(300_000));
        vec![
            Vec::new(),
            vec![1],
            vec![0; 100_000],
            noise(100_000).collect(),
            texts.collect(),
            mixed.collect(),
            noise(12).collect(),
        ]
    }

    fn encoded(plain: &[u8], level: Option<i32>, piece: usize) -> Vec<u8> {
        let mut encoder = BlockEncoder::new(level).unwrap();
        plain.chunks(piece).for_each(|piece| encoder.add(piece).unwrap());
        encoder.finish()
    }

    fn decoded(block: &[u8], bytes: usize, piece: usize) -> Result<Vec<u8>, ParquetError> {
        let (mut decoder, mut plain) = (BlockDecoder::default(), Vec::new());
        while plain.len() < bytes {
            let wanted = bytes.min(plain.len() + piece);
            decoder.decode(block, &mut plain, wanted, bytes)?;
        }
        Ok(plain)
    }

    #[test]
    fn pieces_make_one_block_which_others_read() {
        for plain in samples() {
            for level in [None, Some(3), Some(9)] {
                for piece in [1, 13, 1_000, 65_537, 1 << 20] {
                    if piece == 1 && plain.len() > 1_000 {
                        continue;
                    }
                    let block = encoded(&plain, level, piece);
                    let mut others = vec![0; plain.len()];
                    assert_eq!(lz4::decompress(&block, &mut others).unwrap(), plain.len());
                    assert!(others == plain);
                    for piece in [1, 1_000, 1 << 20] {
                        assert!(decoded(&block, plain.len(), piece).unwrap() == plain);
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_take_about_as_much_as_a_whole() {
        let text = &samples()[4];
        let whole = encoded(text, Some(3), text.len()).len();
        let in_pieces = encoded(text, Some(3), 64 << 10).len();
        assert!(in_pieces * 100 < whole * 105, "{in_pieces} of {whole}");
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let plain = &samples()[5];
        let block = encoded(plain, Some(3), 10_000);
        for length in (0..block.len()).step_by(97) {
            assert!(decoded(&block[..length], plain.len(), 1_000).is_err());
        }
        assert!(decoded(&block, plain.len() - 1, 1 << 20).is_err());
        assert!(decoded(&block, plain.len() + 1, 1 << 20).is_err());
        // Whatever bytes there are: an error or some bytes, and no more than asked for.
        for seed in 0..2_000_u32 {
            let mut broken = block[..block.len().min(600)].to_vec();
            for at in 0..4 {
                let place = seed.wrapping_mul(40_503).wrapping_add(at * 131) as usize % broken.len();
                broken[place] = (seed >> at) as u8;
            }
            if let Ok(bytes) = decoded(&broken, 5_000, 700) {
                assert_eq!(bytes.len(), 5_000);
            }
        }
        // A match before the first byte, and one of nothing.
        assert!(decoded(&[0x10, 7, 2, 0, 0], 6, 6).is_err());
        assert!(decoded(&[0x10, 7, 0, 0, 0], 6, 6).is_err());
        assert_eq!(decoded(&[0x10, 7, 1, 0, 0x10, 8], 6, 6).unwrap(), [7, 7, 7, 7, 7, 8]);
    }
}
