//! Vectors of `QBit` as the native format has them: for each group of elements and each bit of theirs, the highest first, a column of
//! strings of these bits. The first element of a group is the lowest bit of the last byte.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int8Type};
use arrow_array::{Array, ArrayRef, ListArray, PrimitiveArray};
use arrow_buffer::OffsetBuffer;
use squall_types::{DataType, Error, QBit, Result, checkpoint, reserve};

use crate::wire::{Cursor, Stop};

/// Bytes of a group's bits.
fn width(qbit: &QBit) -> usize {
    qbit.stride.div_ceil(8)
}

/// The bits of all elements, in the lowest of 64.
fn words(qbit: &QBit, items: &dyn Array) -> Result<Vec<u64>> {
    let wrong = || Error::logical("a vector of other elements");
    Ok(match qbit.element {
        DataType::Int8 => {
            let items = items.as_primitive_opt::<Int8Type>().ok_or_else(wrong)?;
            items.values().iter().map(|value| u64::from(*value as u8)).collect()
        }
        DataType::Float64 => {
            let items = items.as_primitive_opt::<Float64Type>().ok_or_else(wrong)?;
            items.values().iter().map(|value| value.to_bits()).collect()
        }
        // Of a BFloat16 the upper half counts.
        _ => {
            let items = items.as_primitive_opt::<Float32Type>().ok_or_else(wrong)?;
            let unused = 32 - qbit.bits();
            items.values().iter().map(|value| u64::from(value.to_bits() >> unused)).collect()
        }
    })
}

/// Appends the vectors of an array of lists; an empty list is one of zeros.
pub(crate) fn write(qbit: &QBit, array: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    let lists = array.as_list_opt::<i32>().ok_or_else(|| Error::logical("vectors that are no lists"))?;
    let words = words(qbit, &**lists.values())?;
    let (bits, width) = (qbit.bits(), width(qbit));
    reserve(lists.len() * bits * width * (qbit.dimension / qbit.stride))?;
    for first in (0..qbit.dimension).step_by(qbit.stride) {
        for bit in (0..bits).rev() {
            checkpoint(2 * lists.len() * qbit.stride)?;
            for ends in lists.value_offsets().windows(2) {
                let vector = words.get(ends[0] as usize..ends[1] as usize).unwrap_or_default();
                let group = vector.get(first..first + qbit.stride).unwrap_or_default();
                let start = out.len();
                out.resize(start + width, 0);
                for (at, word) in group.iter().enumerate() {
                    out[start + width - 1 - at / 8] |= ((word >> bit & 1) as u8) << (at % 8);
                }
            }
        }
    }
    Ok(())
}

/// Reads so many vectors.
pub(crate) fn read(qbit: &QBit, rows: usize, input: &mut Cursor<'_>) -> Result<ArrayRef, Stop> {
    let (bits, width, dimension) = (qbit.bits(), width(qbit), qbit.dimension);
    let count = rows.checked_mul(dimension).ok_or_else(|| Error::logical("too many elements"))?;
    // What is there bounds what is allocated.
    let planes: Vec<&[u8]> =
        (0..dimension / qbit.stride * bits).map(|_| input.take(rows * width)).collect::<Result<_, Stop>>()?;
    reserve(8 * count)?;
    let mut words = vec![0_u64; count];
    for (group, planes) in planes.chunks(bits).enumerate() {
        for (plane, bytes) in planes.iter().enumerate() {
            checkpoint(2 * rows * qbit.stride)?;
            for (row, own) in bytes.chunks(width).enumerate() {
                for at in 0..qbit.stride {
                    let is_set = own[width - 1 - at / 8] >> (at % 8) & 1;
                    words[row * dimension + group * qbit.stride + at] |= u64::from(is_set) << (bits - 1 - plane);
                }
            }
        }
    }
    let items: ArrayRef = match qbit.element {
        DataType::Int8 => Arc::new(words.iter().map(|word| *word as u8 as i8).collect::<PrimitiveArray<Int8Type>>()),
        DataType::Float64 => Arc::new(words.into_iter().map(f64::from_bits).collect::<PrimitiveArray<Float64Type>>()),
        _ => {
            let float = |word: u64| f32::from_bits((word as u32) << (32 - bits));
            Arc::new(words.into_iter().map(float).collect::<PrimitiveArray<Float32Type>>())
        }
    };
    let ends = OffsetBuffer::from_repeated_length(dimension, rows);
    Ok(Arc::new(ListArray::try_new(qbit.element.arrow_list_item(), ends, items, None).map_err(Error::from)?))
}

#[cfg(test)]
mod tests {
    use squall_types::TypeName;

    use super::*;

    #[test]
    fn planes_come_back() {
        for element in ["Int8", "BFloat16", "Float32", "Float64"] {
            for arguments in ["9", "16, 8"] {
                let DataType::Named(named) = DataType::parse(&format!("QBit({element}, {arguments})")).unwrap() else {
                    panic!("a named type")
                };
                let TypeName::QBit(qbit) = &named.name else { panic!("a QBit") };
                let bytes: Vec<u8> = (0..qbit.dimension / qbit.stride * qbit.bits() * width(qbit) * 3)
                    .map(|at| if width(qbit) == 2 && at % 2 == 0 { (at / 2 % 2) as u8 } else { (at * 37 % 251) as u8 })
                    .collect();
                let array = read(qbit, 3, &mut Cursor::complete(&bytes)).unwrap_or_else(|_| panic!("vectors"));
                let mut back = Vec::new();
                write(qbit, &*array, &mut back).unwrap();
                // NaN has many forms, all of which are kept.
                assert_eq!(back, bytes, "{element} {arguments}");
            }
        }
    }
}
