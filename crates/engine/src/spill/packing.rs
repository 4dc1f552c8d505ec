//! How a column lies in a frame: numbers as differences from the least one, in as few bytes as the largest takes; strings as their lengths,
//! packed so, and their bytes; what is neither as Arrow's IPC has it. What is small need not be compressed, or takes less time.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, make_array, new_empty_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType as Arrow, Field, Schema as ArrowSchema};
use squall_types::memory::reserve;
use squall_types::{Error, Result};

/// Which form follows.
const IPC: u8 = 0;
const PACKED: u8 = 1;

/// A number of a fixed width, as bits.
trait Bits: Copy + Ord {
    const BYTES: usize;
    fn from_bytes(bytes: &[u8]) -> Self;
    fn to_u64(self) -> u64;
    fn from_u64(bits: u64) -> Self;
}

macro_rules! bits {
    ($($number:ty),*) => {
        $(impl Bits for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline]
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$number>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }

            #[inline]
            fn to_u64(self) -> u64 {
                self.into()
            }

            #[inline]
            fn from_u64(bits: u64) -> Self {
                bits as Self
            }
        })*
    };
}

bits!(u8, u16, u32, u64);

/// Appends numbers of `N`'s width.
fn put_numbers<N: Bits>(bytes: &[u8], out: &mut Vec<u8>) {
    let numbers = || bytes.chunks_exact(N::BYTES).map(|bytes| N::from_bytes(bytes).to_u64());
    let (least, most) = numbers().fold((u64::MAX, 0), |(least, most), number| (least.min(number), most.max(number)));
    let least = least.min(most);
    let width = match most - least {
        0 => 0,
        1..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    out.push(width);
    out.extend_from_slice(&least.to_le_bytes());
    match width {
        0 => {}
        1 => out.extend(numbers().map(|number| (number - least) as u8)),
        2 => put_differences::<2>(numbers(), least, out),
        4 => put_differences::<4>(numbers(), least, out),
        _ => put_differences::<8>(numbers(), least, out),
    }
}

fn put_differences<const N: usize>(numbers: impl ExactSizeIterator<Item = u64>, least: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + numbers.len() * N, 0);
    for (place, number) in out[start..].as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
        place.copy_from_slice(&(number - least).to_le_bytes()[..N]);
    }
}

/// Takes so many numbers from the front of `bytes`.
fn take_numbers<N: Bits>(bytes: &mut &[u8], count: usize) -> Result<Vec<N>> {
    let width = take(bytes, 1)?[0];
    let least = u64::from_bytes(take(bytes, 8)?);
    reserve(count.saturating_mul(N::BYTES))?;
    Ok(match width {
        0 => vec![N::from_u64(least); count],
        1 => take_differences::<N, u8>(bytes, count, least)?,
        2 => take_differences::<N, u16>(bytes, count, least)?,
        4 => take_differences::<N, u32>(bytes, count, least)?,
        _ => take_differences::<N, u64>(bytes, count, least)?,
    })
}

fn take_differences<N: Bits, D: Bits>(bytes: &mut &[u8], count: usize, least: u64) -> Result<Vec<N>> {
    let differences = take(bytes, count.saturating_mul(D::BYTES))?.chunks_exact(D::BYTES);
    Ok(differences.map(|bytes| N::from_u64(least.wrapping_add(D::from_bytes(bytes).to_u64()))).collect())
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (first, rest) = bytes.split_at_checked(count).ok_or_else(|| Error::logical("too short"))?;
    *bytes = rest;
    Ok(first)
}

/// Appends an array: nothing, where it has no rows.
///
/// # Errors
/// Arrow's, for what is written by it.
pub(super) fn put_array(array: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    let data = array.to_data();
    let (rows, offset) = (data.len(), data.offset());
    if rows == 0 {
        return Ok(());
    }
    let values = |width: usize| {
        let bytes = data.buffers().first().map_or(&[][..], Buffer::as_slice);
        bytes.get(offset * width..(offset + rows) * width)
    };
    let fixed = match data.data_type() {
        Arrow::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        other => other.primitive_width(),
    };
    if let Some(width) = fixed
        && let Some(bytes) = values(width)
    {
        out.push(PACKED);
        put_nulls(data.nulls(), out);
        match width {
            1 => put_numbers::<u8>(bytes, out),
            2 => put_numbers::<u16>(bytes, out),
            4 => put_numbers::<u32>(bytes, out),
            8 => put_numbers::<u64>(bytes, out),
            _ => out.extend_from_slice(bytes),
        }
        return Ok(());
    }
    if let (Arrow::Binary, [offsets, bytes]) = (data.data_type(), data.buffers()) {
        let offsets = &ScalarBuffer::<i32>::from(offsets.clone())[offset..=offset + rows];
        let lengths: Vec<u8> = offsets.windows(2).flat_map(|ends| (ends[1] - ends[0]).to_le_bytes()).collect();
        out.push(PACKED);
        put_nulls(data.nulls(), out);
        put_numbers::<u32>(&lengths, out);
        out.extend_from_slice(&bytes[offsets[0] as usize..offsets[rows] as usize]);
        return Ok(());
    }
    out.push(IPC);
    let schema = Arc::new(ArrowSchema::new(vec![Field::new("", array.data_type().clone(), true)]));
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    let mut writer = StreamWriter::try_new(&mut *out, &schema)?;
    writer.write(&RecordBatch::try_new(schema.clone(), vec![array.clone()])?)?;
    drop(writer);
    let length = (out.len() - start - 8) as u64;
    out[start..start + 8].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

fn put_nulls(nulls: Option<&NullBuffer>, out: &mut Vec<u8>) {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => out.push(0),
        Some(nulls) => {
            out.push(1);
            out.extend_from_slice(nulls.inner().sliced().as_slice());
        }
    }
}

fn take_nulls(bytes: &mut &[u8], rows: usize) -> Result<Option<NullBuffer>> {
    if take(bytes, 1)?[0] == 0 {
        return Ok(None);
    }
    let bits = take(bytes, rows.div_ceil(8))?;
    Ok(Some(NullBuffer::new(BooleanBuffer::new(Buffer::from(bits), 0, rows))))
}

/// Takes the array that [`put_array`] wrote from the front of `bytes`: so many rows of this type.
///
/// # Errors
/// `LOGICAL_ERROR`, or Arrow's, where the bytes are not what was written; `MEMORY_LIMIT_EXCEEDED`.
pub(super) fn take_array(bytes: &mut &[u8], data_type: &Arrow, rows: usize) -> Result<ArrayRef> {
    if rows == 0 {
        return Ok(new_empty_array(data_type));
    }
    if take(bytes, 1)?[0] == IPC {
        let length = usize::try_from(u64::from_bytes(take(bytes, 8)?)).unwrap_or(usize::MAX);
        // Not the decoder of buffers, which waits for more where a batch has no bytes besides its description.
        let batch = StreamReader::try_new(take(bytes, length)?, None)?.next().transpose()?;
        let array = batch.and_then(|batch| batch.columns().first().cloned());
        return array.filter(|array| array.len() == rows).ok_or_else(|| Error::logical("other rows"));
    }
    let nulls = take_nulls(bytes, rows)?;
    let mut data = ArrayData::builder(data_type.clone()).len(rows).nulls(nulls);
    let width = match data_type {
        Arrow::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        other => other.primitive_width(),
    };
    data = match width {
        Some(1) => data.add_buffer(Buffer::from_vec(take_numbers::<u8>(bytes, rows)?)),
        Some(2) => data.add_buffer(Buffer::from_vec(take_numbers::<u16>(bytes, rows)?)),
        Some(4) => data.add_buffer(Buffer::from_vec(take_numbers::<u32>(bytes, rows)?)),
        Some(8) => data.add_buffer(Buffer::from_vec(take_numbers::<u64>(bytes, rows)?)),
        Some(width) => {
            let bytes = take(bytes, rows.saturating_mul(width))?;
            reserve(bytes.len())?;
            data.add_buffer(Buffer::from(bytes))
        }
        None => {
            let mut offsets = Vec::with_capacity(rows + 1);
            offsets.push(0_i32);
            let mut end = 0_i32;
            for length in take_numbers::<u32>(bytes, rows)? {
                let length = i32::try_from(length).ok();
                end = length.and_then(|length| end.checked_add(length)).ok_or_else(|| Error::logical("too long"))?;
                offsets.push(end);
            }
            let bytes = take(bytes, end as usize)?;
            reserve(bytes.len())?;
            data.add_buffer(Buffer::from_vec(offsets)).add_buffer(Buffer::from(bytes))
        }
    };
    Ok(make_array(data.align_buffers(true).build()?))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::{Int16Type, UInt64Type};
    use arrow_array::{BinaryArray, BooleanArray, FixedSizeBinaryArray, NullArray, PrimitiveArray};

    use super::*;

    #[test]
    fn arrays_come_back_as_they_were() {
        let numbers = |most: u64| -> ArrayRef {
            let numbers = (0..1000).map(|n| u64::MAX - most + n * (most / 999));
            Arc::new(PrimitiveArray::<UInt64Type>::from_iter_values(numbers))
        };
        let mut arrays: Vec<ArrayRef> =
            [0, 0xFF, 0x100, 0xFFFF, 0x1_0000, 0xFFFF_FFFF, 1 << 32, u64::MAX].map(numbers).into();
        let of_row = |row: i16| (row % 3 > 0).then_some(row - 500);
        arrays.push(Arc::new((0..1000).map(of_row).collect::<PrimitiveArray<Int16Type>>()));
        arrays.push(Arc::new(
            (0..1000).map(of_row).map(|row| row.map(|row| vec![7; row as usize % 300])).collect::<BinaryArray>(),
        ));
        arrays.push(Arc::new(
            FixedSizeBinaryArray::try_from_iter((0..1000_u128).map(|row| (row << 70).to_le_bytes())).unwrap(),
        ));
        arrays.push(Arc::new((0..1000).map(|row| Some(row % 2 == 0)).collect::<BooleanArray>()));
        arrays.push(Arc::new(NullArray::new(1000)));
        for array in arrays {
            for array in [array.slice(0, 1000), array.slice(3, 900), array.slice(9, 1), array.slice(5, 0)] {
                let mut bytes = Vec::new();
                put_array(&array, &mut bytes).unwrap();
                bytes.push(1);
                let mut left = &bytes[..];
                assert_eq!(&take_array(&mut left, array.data_type(), array.len()).unwrap(), &array);
                assert_eq!(left, [1]);
                for end in (0..bytes.len() - 1).step_by(97) {
                    assert!(take_array(&mut &bytes[..end], array.data_type(), array.len()).is_err());
                }
            }
        }
    }

    #[test]
    fn numbers_take_as_few_bytes_as_they_need() {
        let array: ArrayRef = Arc::new(PrimitiveArray::<UInt64Type>::from_iter_values((0..200).map(|n| n + (1 << 40))));
        let mut bytes = Vec::new();
        put_array(&array, &mut bytes).unwrap();
        assert_eq!(bytes.len(), 2 + 9 + 200);
    }
}
