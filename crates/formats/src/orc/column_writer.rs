//! The values of a column, written into its streams: those of rows alone that are not NULL, here and in what the column is part of.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use squall_types::alternatives::Alternatives;
use squall_types::integer::Integer;
use squall_types::match_integer;
use squall_types::{DataType, Error, Result, checkpoint, grow, kernels};

use super::NANOSECONDS;
use super::messages::{ColumnEncoding, encoding, stream};
use super::run_writer::{BitRunWriter, ByteRunWriter, RunWriter, put_varint};
use super::types::OrcType;

/// A stream of a column as it is before compression.
#[derive(Debug)]
pub(super) struct Written {
    pub column: u32,
    pub kind: i32,
    pub bytes: Vec<u8>,
}

/// Collects the values of a column for a stripe.
#[derive(Debug)]
pub(super) struct ColumnWriter {
    column: u32,
    present: BitRunWriter,
    has_nulls: bool,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Bits(BitRunWriter),
    Bytes(ByteRunWriter),
    Numbers(RunWriter),
    Floats(Vec<u8>),
    Text { lengths: RunWriter, bytes: Vec<u8> },
    Timestamp { base: i64, seconds: RunWriter, nanoseconds: RunWriter },
    Decimal { numbers: Vec<u8>, scales: RunWriter, scale: u8 },
    List { lengths: RunWriter, items: Box<ColumnWriter> },
    Map { lengths: RunWriter, entries: Box<[ColumnWriter; 2]> },
    Struct(Vec<ColumnWriter>),
    Union { tags: ByteRunWriter, parts: Vec<ColumnWriter> },
}

fn broken(data_type: &DataType) -> Error {
    Error::logical(format!("a column of {data_type} over another array"))
}

impl ColumnWriter {
    /// A writer of columns of a type as one of the file's. Times are told to a second of the writer's zone that is `base` of UTC.
    pub fn new(of: &OrcType, base: i64) -> Result<Self> {
        use super::types::Kind;
        let part = |at: usize| {
            let of = of.parts.get(at).ok_or_else(|| Error::logical("a type without its parts"))?;
            Self::new(of, base)
        };
        let all = || of.parts.iter().map(|of| Self::new(of, base)).collect::<Result<Vec<_>>>();
        let lengths = RunWriter::new(false);
        let values = match &of.kind {
            Kind::Boolean => Values::Bits(BitRunWriter::default()),
            Kind::Byte => Values::Bytes(ByteRunWriter::default()),
            Kind::Short | Kind::Int | Kind::Long | Kind::Date => Values::Numbers(RunWriter::new(true)),
            Kind::Float | Kind::Double => Values::Floats(Vec::new()),
            Kind::String | Kind::Binary | Kind::Varchar(_) | Kind::Char(_) => {
                Values::Text { lengths, bytes: Vec::new() }
            }
            Kind::Timestamp | Kind::TimestampInstant => {
                Values::Timestamp { base, seconds: RunWriter::new(true), nanoseconds: RunWriter::new(false) }
            }
            Kind::Decimal(_, scale) => {
                Values::Decimal { numbers: Vec::new(), scales: RunWriter::new(true), scale: *scale }
            }
            Kind::List => Values::List { lengths, items: Box::new(part(0)?) },
            Kind::Map => Values::Map { lengths, entries: Box::new([part(0)?, part(1)?]) },
            Kind::Struct(_) => Values::Struct(all()?),
            Kind::Union => Values::Union { tags: ByteRunWriter::default(), parts: all()? },
        };
        Ok(Self { column: of.column, present: BitRunWriter::default(), has_nulls: false, values })
    }

    /// Bytes that are held, about.
    pub fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Bits(bits) => bits.bytes(),
            Values::Bytes(bytes) => bytes.bytes(),
            Values::Numbers(runs) => runs.bytes(),
            Values::Floats(bytes) => bytes.len(),
            Values::Text { lengths, bytes } => lengths.bytes() + bytes.len(),
            Values::Timestamp { seconds, nanoseconds, .. } => seconds.bytes() + nanoseconds.bytes(),
            Values::Decimal { numbers, scales, .. } => numbers.len() + scales.bytes(),
            Values::List { lengths, items } => lengths.bytes() + items.bytes(),
            Values::Map { lengths, entries } => lengths.bytes() + entries.iter().map(Self::bytes).sum::<usize>(),
            Values::Struct(parts) => parts.iter().map(Self::bytes).sum(),
            Values::Union { tags, parts } => tags.bytes() + parts.iter().map(Self::bytes).sum::<usize>(),
        };
        self.present.bytes() + values
    }

    /// Takes the values of an array, without those of rows that are NULL in what it is part of.
    pub fn write(&mut self, data_type: &DataType, array: &ArrayRef, parent: Option<&NullBuffer>) -> Result<()> {
        match data_type {
            DataType::Nullable(inner) => return self.write(inner, array, parent),
            DataType::SimpleAggregateFunction(simple) => return self.write(simple.values(), array, parent),
            DataType::Named(named) => return self.write(named.values(), array, parent),
            DataType::LowCardinality(inner) => {
                let dictionary = array.as_dictionary_opt::<UInt32Type>().ok_or_else(|| broken(data_type))?;
                return self.write(inner, &kernels::take(&**dictionary.values(), dictionary.keys())?, parent);
            }
            _ => {}
        }
        let array = match parent {
            Some(parent) if parent.null_count() > 0 => {
                &kernels::filter(&**array, &BooleanArray::new(parent.inner().clone(), None))?
            }
            _ => array,
        };
        if let Values::Union { tags, parts } = &mut self.values {
            return union(data_type, array, &mut self.present, &mut self.has_nulls, tags, parts);
        }
        checkpoint(8 * array.len())?;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        match nulls {
            Some(nulls) => {
                nulls.iter().for_each(|is_present| self.present.push(is_present));
                self.has_nulls = true;
            }
            None => (0..array.len()).for_each(|_| self.present.push(true)),
        }
        let is_valid = |row: &usize| nulls.is_none_or(|nulls| nulls.is_valid(*row));
        let rows = || (0..array.len()).filter(is_valid);
        // Numbers with a sign of the width that their type has in the file.
        let numbers = |put: &mut dyn FnMut(i64) -> Result<()>| {
            match_integer!(data_type, T => {
                let values = T::values(&**array);
                for row in rows() {
                    if let Some(value) = values.get(row) {
                        put(signed(*value))?;
                    }
                }
                Ok(())
            }, _ => Err(broken(data_type)))
        };
        match &mut self.values {
            Values::Bits(bits) => numbers(&mut |number| {
                bits.push(number != 0);
                Ok(())
            }),
            Values::Bytes(bytes) => numbers(&mut |number| {
                bytes.push(number as u8);
                Ok(())
            }),
            // Days of Date have no sign, and room for them all.
            Values::Numbers(runs) if *data_type == DataType::Date => numbers(&mut |days| runs.push(days & 0xffff)),
            Values::Numbers(runs) => numbers(&mut |number| runs.push(number)),
            Values::Floats(bytes) => {
                grow(bytes, 8 * array.len())?;
                if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
                    rows().for_each(|row| bytes.extend_from_slice(&floats.value(row).to_le_bytes()));
                } else {
                    let floats = array.as_primitive_opt::<Float64Type>().ok_or_else(|| broken(data_type))?;
                    rows().for_each(|row| bytes.extend_from_slice(&floats.value(row).to_le_bytes()));
                }
                Ok(())
            }
            Values::Text { lengths, bytes } => {
                let mut put = |value: &[u8]| {
                    lengths.push(value.len() as i64)?;
                    grow(bytes, value.len())?;
                    bytes.extend_from_slice(value);
                    Ok(())
                };
                if let Some(strings) = array.as_binary_opt::<i32>() {
                    rows().try_for_each(|row| put(strings.value(row)))
                } else {
                    let strings = array.as_fixed_size_binary_opt().ok_or_else(|| broken(data_type))?;
                    rows().try_for_each(|row| put(strings.value(row)))
                }
            }
            Values::Timestamp { base, seconds, nanoseconds } => {
                let digits = if let DataType::DateTime64(digits, _) = data_type { *digits } else { 0 };
                let unit = 10i64.pow(u32::from(digits.min(9)));
                numbers(&mut |ticks| {
                    // The numbers of DateTime have no sign.
                    let ticks = if let DataType::DateTime(_) = data_type { ticks & 0xffff_ffff } else { ticks };
                    let parts = moment(ticks, unit);
                    seconds.push(parts.0.wrapping_sub(*base))?;
                    nanoseconds.push(short_nanoseconds(parts.1))
                })
            }
            Values::Decimal { numbers, scales, scale } => match_integer!(data_type, T => {
                let values = T::values(&**array);
                grow(numbers, T::BYTES * array.len())?;
                for row in rows() {
                    let number = values.get(row).and_then(|number| number.small()).unwrap_or(0);
                    put_varint(((number << 1) ^ (number >> 127)) as u128, numbers);
                    scales.push(i64::from(*scale))?;
                }
                Ok(())
            }, _ => Err(broken(data_type))),
            Values::List { lengths, items } => {
                let list = array.as_list_opt::<i32>().ok_or_else(|| broken(data_type))?;
                rows().try_for_each(|row| lengths.push(i64::from(list.value_length(row))))?;
                items.write(&data_type.list_item(), &items_of(list), None)
            }
            Values::Map { lengths, entries } => {
                let DataType::Map(key, value) = data_type else { return Err(broken(data_type)) };
                let list = array.as_list_opt::<i32>().ok_or_else(|| broken(data_type))?;
                rows().try_for_each(|row| lengths.push(i64::from(list.value_length(row))))?;
                let items = items_of(list);
                let items = items.as_struct_opt().ok_or_else(|| broken(data_type))?;
                let parts = entries.iter_mut().zip([key, value]).zip(items.columns());
                parts.into_iter().try_for_each(|((writer, part), column)| writer.write(part, column, None))
            }
            Values::Struct(parts) => {
                let tuple = array.as_struct_opt().ok_or_else(|| broken(data_type))?;
                let types = data_type.struct_types();
                let parts = parts.iter_mut().zip(&types).zip(tuple.columns());
                parts.into_iter().try_for_each(|((writer, part), column)| writer.write(part, column, nulls))
            }
            Values::Union { .. } => Err(broken(data_type)),
        }
    }

    /// The streams of all that was written, in the order of columns; there is nothing afterwards.
    pub fn finish(&mut self, streams: &mut Vec<Written>, encodings: &mut Vec<ColumnEncoding>) -> Result<()> {
        let column = self.column;
        let mut add = |kind, bytes| streams.push(Written { column, kind, bytes });
        let present = self.present.finish()?;
        if std::mem::take(&mut self.has_nulls) {
            add(stream::PRESENT, present);
        }
        let kind = match &self.values {
            Values::Bits(_) | Values::Bytes(_) | Values::Floats(_) | Values::Struct(_) | Values::Union { .. } => {
                encoding::DIRECT
            }
            _ => encoding::DIRECT_V2,
        };
        encodings.push(ColumnEncoding { kind: Some(kind), dictionary_size: None });
        match &mut self.values {
            Values::Bits(bits) => add(stream::DATA, bits.finish()?),
            Values::Bytes(bytes) => add(stream::DATA, bytes.finish()?),
            Values::Numbers(runs) => add(stream::DATA, runs.finish()?),
            Values::Floats(bytes) => add(stream::DATA, std::mem::take(bytes)),
            Values::Text { lengths, bytes } => {
                add(stream::DATA, std::mem::take(bytes));
                add(stream::LENGTH, lengths.finish()?);
            }
            Values::Timestamp { seconds, nanoseconds, .. } => {
                add(stream::DATA, seconds.finish()?);
                add(stream::SECONDARY, nanoseconds.finish()?);
            }
            Values::Decimal { numbers, scales, .. } => {
                add(stream::DATA, std::mem::take(numbers));
                add(stream::SECONDARY, scales.finish()?);
            }
            Values::List { lengths, items } => {
                add(stream::LENGTH, lengths.finish()?);
                items.finish(streams, encodings)?;
            }
            Values::Map { lengths, entries } => {
                add(stream::LENGTH, lengths.finish()?);
                entries.iter_mut().try_for_each(|part| part.finish(streams, encodings))?;
            }
            Values::Struct(parts) => parts.iter_mut().try_for_each(|part| part.finish(streams, encodings))?,
            Values::Union { tags, parts } => {
                add(stream::DATA, tags.finish()?);
                parts.iter_mut().try_for_each(|part| part.finish(streams, encodings))?;
            }
        }
        Ok(())
    }
}

/// A number as one with a sign of the same width.
fn signed<T: Integer>(number: T) -> i64 {
    let number = number.small().unwrap_or(0);
    match T::BYTES {
        1 => i64::from(number as i8),
        2 => i64::from(number as i16),
        4 => i64::from(number as i32),
        _ => number as i64,
    }
}

/// The items of a list's rows alone.
fn items_of(list: &arrow_array::ListArray) -> ArrayRef {
    let offsets = list.value_offsets();
    let (start, end) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    list.values().slice(start as usize, (end - start) as usize)
}

/// The seconds and the nanoseconds of a time as files have them.
fn moment(ticks: i64, unit: i64) -> (i64, i64) {
    let nanoseconds = |rest: i64| rest * (NANOSECONDS / unit);
    let (seconds, rest) = (ticks.div_euclid(unit), nanoseconds(ticks.rem_euclid(unit)));
    // Readers take one second off times before 1970 whose nanoseconds are so many; of those in the last second they cannot know.
    match seconds {
        -1 if rest > 999_999 => (0, nanoseconds(ticks % unit)),
        ..0 if rest > 999_999 => (seconds + 1, rest),
        _ => (seconds, rest),
    }
}

/// Nanoseconds without the zeros at their end, of which the lowest three bits tell.
fn short_nanoseconds(nanoseconds: i64) -> i64 {
    if nanoseconds == 0 || nanoseconds % 100 != 0 {
        return nanoseconds << 3;
    }
    let (mut digits, mut zeros) = (nanoseconds / 100, 1);
    while digits % 10 == 0 && zeros < 7 {
        digits /= 10;
        zeros += 1;
    }
    digits << 3 | zeros
}

/// The values of a `Variant` as those of a union.
fn union(
    data_type: &DataType,
    array: &ArrayRef,
    present: &mut BitRunWriter,
    has_nulls: &mut bool,
    tags: &mut ByteRunWriter,
    parts: &mut [ColumnWriter],
) -> Result<()> {
    let found = Alternatives::of_array(data_type, array)?;
    for row in &found.rows {
        present.push(row.is_some());
        *has_nulls |= row.is_none();
        if let Some((tag, _)) = row {
            tags.push(*tag as u8);
        }
    }
    // They stand in the order of their rows.
    let parts = parts.iter_mut().zip(&found.columns);
    parts.into_iter().try_for_each(|(writer, column)| writer.write(column.data_type(), &column.to_array()?, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_readers_take_them() {
        for (ticks, unit) in [
            (0, 1000),
            (1, 1000),
            (-1, 1000),
            (-999, 1000),
            (-1000, 1000),
            (-1001, 1000),
            (-1_500_000_000, NANOSECONDS),
        ] {
            let (seconds, nanoseconds) = moment(ticks, unit);
            let seconds = seconds - i64::from(seconds < 0 && nanoseconds > 999_999);
            assert_eq!(seconds * NANOSECONDS + nanoseconds, ticks * (NANOSECONDS / unit), "{ticks}");
        }
        assert_eq!(short_nanoseconds(1000), 1 << 3 | 2);
        assert_eq!(short_nanoseconds(100_000), 1 << 3 | 4);
        assert_eq!(short_nanoseconds(123), 123 << 3);
    }
}
