//! Columns of random values, made as ClickHouse makes them: a column after the other, each from the numbers that the generator gives next.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, ListArray, StructArray, make_array};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use ethnum::I256;
use squall_types::{
    CastOptions, Column, DataType, EnumValues, Error, ErrorCode, Physical, Result, cast, checkpoint, grow, reserve,
};

use super::pcg64::Pcg64;

/// How long strings and arrays are at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    pub string: u64,
    pub array: u64,
}

impl Lengths {
    /// Those of what is inside of an array.
    fn inside(self) -> Self {
        Self { array: self.array / 2, ..self }
    }
}

/// A value is about so many nanoseconds' work.
const VALUE_WORK: usize = 5;
/// The days that `Date32` shows: so many from the first of 1900 on, which is so many before 1970.
const DATE32_DAYS: u64 = 146_097;
const DAYS_BEFORE_1970: i32 = 25_567;

fn not_implemented(data_type: &DataType) -> Error {
    Error::not_implemented(format!("Random values of type {data_type}"))
}

/// Bytes that a value is estimated to take, by which ClickHouse chooses how many rows it makes at once.
///
/// # Errors
/// `NOT_IMPLEMENTED` for types of which there are no random values.
pub(super) fn estimated_bytes(data_type: &DataType, lengths: Lengths) -> Result<u64> {
    let of = |data_type: &DataType, lengths| estimated_bytes(data_type, lengths);
    Ok(match data_type {
        DataType::String => lengths.string.saturating_add(9),
        DataType::FixedString(width) => *width as u64,
        DataType::Array(item) => of(item, lengths.inside())?.saturating_add(8),
        DataType::Map(..) => of(&DataType::array(data_type.map_entry_type()), lengths.inside())?.saturating_add(8),
        DataType::Tuple(elements) => {
            let sizes = elements.iter().map(|element| of(&element.data_type, lengths));
            sizes.sum::<Result<u64>>()?
        }
        DataType::Nullable(inner) => of(inner, lengths)?.saturating_add(1),
        DataType::LowCardinality(inner) => of(&inner.remove_nullable(), lengths)?.saturating_add(8),
        DataType::SimpleAggregateFunction(_) | DataType::Named(_) => of(&data_type.without_names(), lengths)?,
        DataType::BFloat16
        | DataType::Time
        | DataType::Time64(_)
        | DataType::Interval(_)
        | DataType::Nothing
        | DataType::Variant(_)
        | DataType::Dynamic(_)
        | DataType::Json(_)
        | DataType::AggregateFunction(_) => return Err(not_implemented(data_type)),
        fixed => fixed.fixed_width_bytes().ok_or_else(|| not_implemented(fixed))? as u64,
    })
}

/// A column of random values.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`; `NOT_IMPLEMENTED` for types of which there are none.
pub(super) fn column(data_type: &DataType, rows: usize, lengths: Lengths, random: &mut Pcg64) -> Result<Column> {
    Ok(Column::new(data_type.clone(), array(data_type, rows, lengths, random)?))
}

fn array(data_type: &DataType, rows: usize, lengths: Lengths, random: &mut Pcg64) -> Result<ArrayRef> {
    checkpoint(VALUE_WORK * rows)?;
    Ok(match data_type {
        DataType::String => strings(rows, lengths, random)?,
        DataType::Bool => fixed(data_type, rows, &(0..rows).map(|_| (random.next() % 2) as u8).collect::<Vec<_>>())?,
        DataType::Enum8(values) => {
            let chosen = (0..rows).map(|_| number(values, random) as u8);
            fixed(data_type, rows, &chosen.collect::<Vec<u8>>())?
        }
        DataType::Enum16(values) => {
            let chosen = (0..rows).flat_map(|_| number(values, random).to_le_bytes());
            fixed(data_type, rows, &chosen.collect::<Vec<u8>>())?
        }
        DataType::Date32 => {
            let day = |_| ((random.next() % DATE32_DAYS) as i32 - DAYS_BEFORE_1970).to_le_bytes();
            fixed(data_type, rows, &(0..rows).flat_map(day).collect::<Vec<u8>>())?
        }
        DataType::DateTime64(digits, _) => {
            let moments = (1_u64 << 32).wrapping_mul(10_u64.pow(u32::from(*digits)));
            let moment = |_| (random.next() % moments).to_le_bytes();
            fixed(data_type, rows, &(0..rows).flat_map(moment).collect::<Vec<u8>>())?
        }
        DataType::Decimal(digits, _) => fixed(data_type, rows, &decimals(*digits, rows, random)?)?,
        DataType::Array(item) => lists(item, rows, lengths, random)?,
        DataType::Map(..) => lists(&data_type.map_entry_type(), rows, lengths.inside(), random)?,
        DataType::Tuple(elements) => {
            let columns = elements.iter().map(|element| array(&element.data_type, rows, lengths, random));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new_with_length(data_type.arrow_fields(), columns, None, rows)?)
        }
        DataType::Nullable(inner) => {
            let values = column(inner, rows, lengths, random)?;
            let valid = (0..rows).map(|_| !random.next().is_multiple_of(16)).collect::<Vec<bool>>();
            values.to_nullable(Some(NullBuffer::from(valid)))?.array().clone()
        }
        DataType::LowCardinality(inner) => {
            let values = column(&inner.remove_nullable(), rows, lengths, random)?;
            cast(&values, data_type, &CastOptions::default())?.array().clone()
        }
        DataType::SimpleAggregateFunction(_) | DataType::Named(_) => {
            array(&data_type.without_names(), rows, lengths, random)?
        }
        other => {
            let width = estimated_bytes(other, lengths)? as usize;
            fixed(other, rows, &raw(rows.saturating_mul(width), random)?)?
        }
    })
}

/// One of an enum's numbers.
fn number(values: &EnumValues, random: &mut Pcg64) -> i16 {
    let at = random.next() % values.iter().count().max(1) as u64;
    values.iter().nth(at as usize).map_or(0, |(_, number)| number)
}

/// So many random bytes.
fn raw(count: usize, random: &mut Pcg64) -> Result<Vec<u8>> {
    reserve(count)?;
    let mut bytes = Vec::with_capacity(count.next_multiple_of(8));
    while bytes.len() < count {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(count);
    Ok(bytes)
}

/// Values of a width from their bytes as they lie in ClickHouse's memory.
fn fixed(data_type: &DataType, rows: usize, bytes: &[u8]) -> Result<ArrayRef> {
    let mut bytes = bytes.to_vec();
    if data_type.physical() == Physical::Uuid {
        bytes.chunks_mut(8).for_each(<[u8]>::reverse);
    }
    let data = ArrayData::builder(data_type.arrow_type()).len(rows).add_buffer(Buffer::from_vec(bytes));
    Ok(make_array(data.align_buffers(true).build()?))
}

/// Decimals of up to so many digits.
fn decimals(digits: u8, rows: usize, random: &mut Pcg64) -> Result<Vec<u8>> {
    Ok(match digits {
        0..=9 => {
            let bound = 10_i32.pow(u32::from(digits));
            (0..rows).flat_map(|_| (random.next() as i32 % bound).to_le_bytes()).collect()
        }
        10..=18 => {
            let bound = 10_i64.pow(u32::from(digits));
            (0..rows).flat_map(|_| (random.next() as i64 % bound).to_le_bytes()).collect()
        }
        19..=38 => {
            let bound = 10_i128.pow(u32::from(digits));
            let decimal = |_| {
                let (low, high) = (random.next(), random.next());
                ((u128::from(high) << 64 | u128::from(low)).cast_signed() % bound).to_le_bytes()
            };
            (0..rows).flat_map(decimal).collect()
        }
        _ => {
            let bound = I256::new(10).pow(u32::from(digits));
            let mut bytes = Vec::with_capacity(rows * 32);
            for _ in 0..rows {
                let mut words = [0; 32];
                words.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()));
                bytes.extend_from_slice(&(I256::from_le_bytes(words) % bound).to_le_bytes());
            }
            bytes
        }
    })
}

/// Strings of printable ASCII.
fn strings(rows: usize, lengths: Lengths, random: &mut Pcg64) -> Result<ArrayRef> {
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    let mut bytes: Vec<u8> = Vec::new();
    offsets.push(0);
    for _ in 0..rows {
        let length = (random.next() % (lengths.string + 1)) as usize;
        checkpoint(length)?;
        grow(&mut bytes, length + 4)?;
        let end = bytes.len() + length;
        while bytes.len() < end {
            let bits = random.next();
            let character = |at: u32| 32 + ((u32::from((bits >> (16 * at)) as u16) * 95) >> 16) as u8;
            bytes.extend_from_slice(&[0, 1, 2, 3].map(character));
        }
        bytes.truncate(end);
        offsets.push(ends_at(end)?);
    }
    Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), None)?))
}

/// The columns of a nested structure: arrays, of which those of a row are of one length.
///
/// # Errors
/// Those of [`column`].
pub(super) fn nested_columns(
    types: &[&DataType],
    rows: usize,
    lengths: Lengths,
    random: &mut Pcg64,
) -> Result<Vec<Column>> {
    let offsets = list_ends(rows, lengths, random)?;
    let column = |data_type: &&DataType| {
        let DataType::Array(item) = data_type else { return Err(Error::logical("a nested column that is no array")) };
        let array = list_array(item, offsets.clone(), lengths, random)?;
        Ok(Column::new((*data_type).clone(), array))
    };
    types.iter().map(column).collect()
}

fn lists(item: &DataType, rows: usize, lengths: Lengths, random: &mut Pcg64) -> Result<ArrayRef> {
    let offsets = list_ends(rows, lengths, random)?;
    list_array(item, offsets, lengths, random)
}

fn list_ends(rows: usize, lengths: Lengths, random: &mut Pcg64) -> Result<OffsetBuffer<i32>> {
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    offsets.push(0);
    let mut end = 0_usize;
    for _ in 0..rows {
        end += (random.next() % (lengths.array + 1)) as usize;
        offsets.push(ends_at(end)?);
    }
    Ok(OffsetBuffer::new(offsets.into()))
}

fn list_array(item: &DataType, offsets: OffsetBuffer<i32>, lengths: Lengths, random: &mut Pcg64) -> Result<ArrayRef> {
    let count = offsets.last() as usize;
    let items = array(item, count, lengths.inside(), random)?;
    Ok(Arc::new(ListArray::try_new(item.arrow_list_item(), offsets, items, None)?))
}

fn ends_at(end: usize) -> Result<i32> {
    let too_many = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of random values in one block");
    i32::try_from(end).map_err(|_| too_many())
}
