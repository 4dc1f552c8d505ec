//! Parquet's `DELTA_BINARY_PACKED`: integers as differences from the one before, in so few bits as they need. Numbers that ascend, and moments
//! that are close to each other, take less so than compressed, and are read without that.

use squall_types::binary::put_varint;

/// Differences of a block, which has the least of them once.
const BLOCK: usize = 128;
/// Differences that have the same number of bits.
const MINI_BLOCK: usize = 32;

/// A signed number, whose sign stands in the last bit.
fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint((number << 1 ^ number >> 63) as u64, out);
}

/// Appends numbers whose differences are numbers of the same type, too.
pub(super) fn put_deltas(out: &mut Vec<u8>, numbers: &[i64]) {
    put_varint(BLOCK as u64, out);
    put_varint((BLOCK / MINI_BLOCK) as u64, out);
    put_varint(numbers.len() as u64, out);
    put_signed(out, numbers.first().copied().unwrap_or(0));
    let mut before = numbers;
    while before.len() > 1 {
        let mut deltas = [0; BLOCK];
        let count = (before.len() - 1).min(BLOCK);
        let next = before.get(1..).unwrap_or_default();
        for ((delta, before), next) in deltas.iter_mut().zip(before).zip(next) {
            *delta = next.wrapping_sub(*before);
        }
        put_block(out, &mut deltas, count);
        before = before.get(count..).unwrap_or_default();
    }
}

/// Appends a block of so many differences.
fn put_block(out: &mut Vec<u8>, deltas: &mut [i64; BLOCK], count: usize) {
    let (used, unused) = deltas.split_at_mut(count);
    let least = used.iter().copied().min().unwrap_or(0);
    // What is above the least; nothing where there is no difference.
    used.iter_mut().for_each(|delta| *delta = delta.wrapping_sub(least));
    unused.fill(0);
    put_signed(out, least);
    let (mini_blocks, _) = deltas.as_chunks::<MINI_BLOCK>();
    let width = |above: &[i64; MINI_BLOCK]| {
        u64::BITS - above.iter().fold(0, |bits, delta| bits | *delta as u64).leading_zeros()
    };
    out.extend(mini_blocks.iter().map(|above| width(above) as u8));
    // Those that have no difference at all are not there.
    for above in mini_blocks.iter().take(count.div_ceil(MINI_BLOCK)) {
        put_packed(out, above, width(above));
    }
}

/// Appends numbers of so many bits each.
fn put_packed(out: &mut Vec<u8>, numbers: &[i64; MINI_BLOCK], width: u32) {
    let (mut buffer, mut filled) = (0_u128, 0);
    for number in numbers {
        buffer |= u128::from(*number as u64) << filled;
        filled += width;
        if filled >= u64::BITS {
            out.extend_from_slice(&(buffer as u64).to_le_bytes());
            buffer >>= u64::BITS;
            filled -= u64::BITS;
        }
    }
    out.extend_from_slice((buffer as u64).to_le_bytes().get(..filled.div_ceil(8) as usize).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::basic::Encoding;
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;
    use crate::merge_tree::chunks::column_chunk::ColumnChunk;
    use crate::merge_tree::chunks::packing::PageCodec;

    /// What the `parquet` crate reads of such a page.
    fn read_back(numbers: &[i64]) -> Vec<i64> {
        let schema = Arc::new(parse_message_type("message table { required int64 number; }").unwrap());
        let mut file = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(WriterProperties::default())).unwrap();
        let leaf = writer.schema_descr().column(0);
        let mut chunk = ColumnChunk::new(&leaf, PageCodec::None);
        chunk.set_encoding(Encoding::DELTA_BINARY_PACKED);
        let mut page = Vec::new();
        put_deltas(&mut page, numbers);
        squall_runtime::block_on(chunk.add_page(&page, numbers.len(), &mut squall_runtime::Pieces::begin())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        chunk.append(&mut group, numbers.len(), None).unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(file)).unwrap();
        let mut batches = reader.with_batch_size(numbers.len()).build().unwrap();
        batches.next().unwrap().unwrap().column(0).as_primitive::<Int64Type>().values().to_vec()
    }

    #[test]
    fn numbers_come_back() {
        let mut random = 1_u64;
        let mut next = |bits: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> (u64::BITS - bits)) as i64
        };
        for rows in [1, 2, 31, 32, 33, 34, 128, 129, 130, 161, 257, 1000] {
            for bits in [1, 7, 20, 33, 62] {
                let mut numbers: Vec<i64> = (0..rows).map(|_| next(bits) - (1 << (bits - 1))).collect();
                assert_eq!(read_back(&numbers), numbers);
                numbers.sort_unstable();
                assert_eq!(read_back(&numbers), numbers);
            }
        }
        for numbers in [vec![7; 300], vec![i64::MIN, 0, -1, i64::MIN / 2], vec![0, i64::MAX, 0, 1]] {
            assert_eq!(read_back(&numbers), numbers);
        }
    }

    #[test]
    fn what_ascends_takes_little() {
        let numbers: Vec<i64> = (0..1280).map(|row| 1_700_000_000_000 + row * 1000).collect();
        let mut page = Vec::new();
        put_deltas(&mut page, &numbers);
        // The least difference of each block, and no bits for any other.
        assert!(page.len() < 100, "{}", page.len());
    }
}
