//! The values of a column, as its streams have them. A stream holds values for those rows alone that are not NULL, here and in what the
//! column is part of.

use std::sync::Arc;

use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, BinaryArray, FixedSizeBinaryArray, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use squall_types::alternatives::Alternatives;
use squall_types::calendar::{DATE32_MAX, DATE32_MIN, TimeZone};
use squall_types::integer::Integer;
use squall_types::match_integer;
use squall_types::{Column, DataType, Error, ErrorCode, Result, TupleElement, checkpoint, grow, reserve};

use super::chunks::Stream;
use super::messages::stream;
use super::runs::{BitRuns, ByteRuns, Runs};
use super::tail::Stripe;
use super::types::{Kind, OrcType};
use super::{EPOCH_SECONDS, NANOSECONDS, corrupted, ends_early};

/// Bytes of the longest number of a decimal.
const DECIMAL_BYTES_MAX: u32 = 19;

/// What bears on all columns.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub reader_zone: TimeZone,
    /// Whether NULL for what takes none is its default.
    pub null_as_default: bool,
    pub ignores_case: bool,
}

impl Reading {
    /// Whether a name in a file is the one that is wanted.
    pub fn is_name(&self, found: &str, wanted: &str) -> bool {
        found == wanted || (self.ignores_case && found.eq_ignore_ascii_case(wanted))
    }
}

/// Reads the rows of a column of a stripe, one batch after the other.
#[derive(Debug)]
pub(super) struct ColumnReader {
    present: Option<BitRuns>,
    /// Whether NULL is read as the default: for what is part of other values and takes no NULL.
    strips_nulls: bool,
    /// What is wanted, without wrappers; there may be no such wish.
    wanted: Option<DataType>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Bits(BitRuns),
    Bytes(ByteRuns),
    Numbers(Runs, Kind),
    Float(Stream),
    Double(Stream),
    Text { lengths: Runs, bytes: Stream, char_length: Option<usize> },
    Words { words: Words, places: Runs, char_length: Option<usize> },
    Timestamp { seconds: Runs, nanoseconds: Runs, clock: Clock },
    Decimal { numbers: Stream, scales: Runs, precision: u8, scale: u8 },
    List { lengths: Runs, items: Box<ColumnReader> },
    Map { lengths: Runs, entries: Box<[ColumnReader; 2]> },
    Struct(Vec<Field>),
    Union { tags: ByteRuns, parts: Vec<ColumnReader> },
}

/// A field of a structure, or an element of a tuple that the structure does not have.
#[derive(Debug)]
struct Field {
    name: Option<Arc<str>>,
    source: Result<ColumnReader, DataType>,
}

/// The strings of a dictionary.
#[derive(Debug)]
enum Words {
    Waiting { lengths: Runs, bytes: Stream, count: usize },
    Read(BinaryArray),
}

/// Values with their type; where there are NULLs, in that of a nullable one.
type Found = (DataType, ArrayRef);

/// Room for what is not NULL among so many rows: each value at its row.
fn spread<T: Copy + Default>(dense: Vec<T>, rows: usize, nulls: Option<&NullBuffer>) -> Result<Vec<T>> {
    let Some(nulls) = nulls else { return Ok(dense) };
    let mut values = Vec::new();
    grow(&mut values, rows)?;
    let mut dense = dense.into_iter();
    values.extend(nulls.iter().map(|is_valid| if is_valid { dense.next().unwrap_or_default() } else { T::default() }));
    Ok(values)
}

/// The offsets of values of these lengths.
fn offsets(lengths: &[i64]) -> Result<OffsetBuffer<i32>> {
    let mut offsets = Vec::new();
    grow(&mut offsets, lengths.len() + 1)?;
    offsets.push(0);
    let mut end = 0i32;
    for length in lengths {
        let length = i32::try_from(*length).ok().filter(|length| *length >= 0);
        let sum = length.and_then(|length| end.checked_add(length));
        end = sum.ok_or_else(|| corrupted("values that are too many, or too long"))?;
        offsets.push(end);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn last(offsets: &OffsetBuffer<i32>) -> usize {
    offsets.inner().last().map_or(0, |end| *end as usize)
}

/// How seconds in a file become those of the reader's clock.
#[derive(Debug)]
struct Clock {
    base: i64,
    /// The writer's zone and the reader's, where times are those of a wall clock.
    zones: Option<(TimeZone, TimeZone)>,
}

impl Clock {
    fn seconds(&self, told: i64) -> i64 {
        let seconds = told.wrapping_add(self.base);
        let Some((writer, reader)) = &self.zones else { return seconds };
        let ahead = i64::from(writer.offset_at(seconds));
        let near = seconds.wrapping_add(ahead - i64::from(reader.offset_at(seconds)));
        seconds.wrapping_add(ahead - i64::from(reader.offset_at(near)))
    }
}

/// Nanoseconds without the zeros at their end, of which the lowest three bits tell.
fn nanoseconds(told: i64) -> i64 {
    let zeros = (told & 7) as u32;
    let digits = told >> 3;
    if zeros == 0 { digits } else { digits.wrapping_mul(10i64.pow(zeros + 1)) }
}

impl ColumnReader {
    /// A reader of a column of a stripe into a type that is wanted.
    pub fn new(
        stripe: &Stripe,
        of: &OrcType,
        wanted: Option<&DataType>,
        is_part: bool,
        reading: &Reading,
    ) -> Result<Self> {
        let column = of.column;
        let present = stripe.stream(column, stream::PRESENT).map(BitRuns::new);
        let takes_null = wanted.is_none_or(|wanted| wanted.is_nullable() || wanted.is_of_alternatives());
        let strips_nulls = is_part && reading.null_as_default && !takes_null;
        let wanted = wanted.map(|wanted| wanted.inner().clone());
        let data = || stripe.stream_or_none(column, stream::DATA);
        let encoding = stripe.encoding(column)?;
        let runs =
            |kind, is_signed| Runs::new(stripe.stream_or_none(column, kind), is_signed, encoding.is_second_version);
        let part = |part: usize, wanted: Option<&DataType>| {
            let of = of.parts.get(part).ok_or_else(|| corrupted("a type without its parts"))?;
            Self::new(stripe, of, wanted, true, reading)
        };
        let values = match &of.kind {
            Kind::Boolean => Values::Bits(BitRuns::new(data())),
            Kind::Byte => Values::Bytes(ByteRuns::new(data())),
            Kind::Short | Kind::Int | Kind::Long | Kind::Date => {
                Values::Numbers(runs(stream::DATA, true), of.kind.clone())
            }
            Kind::Float => Values::Float(data()),
            Kind::Double => Values::Double(data()),
            Kind::String | Kind::Binary | Kind::Varchar(_) | Kind::Char(_) => {
                let char_length = if let Kind::Char(length) = of.kind { Some(length as usize) } else { None };
                let lengths = runs(stream::LENGTH, false);
                match encoding.dictionary {
                    None => Values::Text { lengths, bytes: data(), char_length },
                    Some(count) => {
                        let bytes = stripe.stream_or_none(column, stream::DICTIONARY_DATA);
                        let words = Words::Waiting { lengths, bytes, count };
                        Values::Words { words, places: runs(stream::DATA, false), char_length }
                    }
                }
            }
            Kind::Timestamp | Kind::TimestampInstant => {
                let is_instant = of.kind == Kind::TimestampInstant;
                let (writer, reader) = (&stripe.writer_zone, &reading.reader_zone);
                let base = if is_instant { EPOCH_SECONDS } else { writer.to_utc(EPOCH_SECONDS) };
                let zones = (!is_instant && writer != reader).then(|| (writer.clone(), reader.clone()));
                let clock = Clock { base, zones };
                Values::Timestamp {
                    seconds: runs(stream::DATA, true),
                    nanoseconds: runs(stream::SECONDARY, false),
                    clock,
                }
            }
            Kind::Decimal(precision, scale) => Values::Decimal {
                numbers: data(),
                scales: runs(stream::SECONDARY, true),
                precision: *precision,
                scale: *scale,
            },
            Kind::List => {
                let item = if let Some(DataType::Array(item)) = &wanted { Some(&**item) } else { None };
                Values::List { lengths: runs(stream::LENGTH, false), items: Box::new(part(0, item)?) }
            }
            Kind::Map => {
                let (key, value) = match &wanted {
                    Some(DataType::Map(key, value)) => (Some(&**key), Some(&**value)),
                    _ => (None, None),
                };
                let entries = Box::new([part(0, key)?, part(1, value)?]);
                Values::Map { lengths: runs(stream::LENGTH, false), entries }
            }
            Kind::Struct(_) => Values::Struct(Self::fields(stripe, of, wanted.as_ref(), reading)?),
            Kind::Union => {
                let alternatives: &[DataType] = match &wanted {
                    Some(DataType::Variant(alternatives)) => alternatives,
                    _ => &[],
                };
                let parts = of.parts.iter().map(|of| {
                    let wanted = alternatives.iter().find(|alternative| of.is_of(alternative));
                    Self::new(stripe, of, wanted, true, reading)
                });
                Values::Union { tags: ByteRuns::new(data()), parts: parts.collect::<Result<_>>()? }
            }
        };
        Ok(Self { present, strips_nulls, wanted, values })
    }

    /// The fields of a structure that a tuple wants: by name where it has names, else by place.
    fn fields(stripe: &Stripe, of: &OrcType, wanted: Option<&DataType>, reading: &Reading) -> Result<Vec<Field>> {
        let reader = |of: &OrcType, wanted: Option<&DataType>| Self::new(stripe, of, wanted, true, reading);
        let named = |(name, of): (&str, &OrcType), wanted| {
            Ok(Field { name: Some(name.into()), source: Ok(reader(of, wanted)?) })
        };
        let Some(DataType::Tuple(elements)) = wanted else {
            return of.fields().map(|field| named(field, None)).collect();
        };
        if elements.iter().any(|element| element.name.is_none()) {
            let fields = of
                .fields()
                .zip(elements.iter())
                .map(|((_, of), element)| Ok(Field { name: None, source: Ok(reader(of, Some(&element.data_type))?) }));
            return fields.collect();
        }
        let fields = elements.iter().map(|element| {
            let name = element.name.as_deref().unwrap_or_default();
            let found = of.fields().find(|(found, _)| *found == name);
            let found = found.or_else(|| of.fields().find(|(found, _)| reading.is_name(found, name)));
            let source = match found {
                Some((_, of)) => Ok(reader(of, Some(&element.data_type))?),
                None => Err(element.data_type.clone()),
            };
            Ok(Field { name: element.name.clone(), source })
        });
        fields.collect()
    }

    /// The next rows, of which those are not told of that are NULL in what the column is part of.
    pub fn read(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<Found> {
        checkpoint(rows)?;
        let nulls = self.nulls(rows, parent)?;
        let nulls = nulls.as_ref();
        let count = rows - nulls.map_or(0, NullBuffer::null_count);
        let kept = nulls.filter(|_| !self.strips_nulls).cloned();
        let nullable = |data_type: DataType| if kept.is_some() { data_type.to_nullable() } else { data_type };
        let wanted = self.wanted.as_ref();
        match &mut self.values {
            Values::Bits(bits) => {
                let bytes = bits.read(count)?.into_iter().map(u8::from).collect();
                Ok((nullable(DataType::Bool), u8::array(spread(bytes, rows, nulls)?, kept.clone())?))
            }
            Values::Bytes(bytes) => {
                let numbers = bytes.read(count)?.into_iter().map(|byte| byte as i8).collect();
                Ok((nullable(DataType::Int8), i8::array(spread(numbers, rows, nulls)?, kept.clone())?))
            }
            Values::Numbers(runs, kind) => {
                let numbers = runs.read(count)?;
                let (data_type, array) = numbers_of(kind, wanted, numbers, rows, nulls, kept.clone())?;
                Ok((nullable(data_type), array))
            }
            Values::Float(stream) => {
                let mut bytes = Vec::new();
                stream.take(count * 4, &mut bytes)?;
                let (chunks, _) = bytes.as_chunks();
                let floats = chunks.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
                let floats = spread(floats, rows, nulls)?.into();
                let array = PrimitiveArray::<Float32Type>::try_new(floats, kept.clone())?;
                Ok((nullable(DataType::Float32), Arc::new(array)))
            }
            Values::Double(stream) => {
                let mut bytes = Vec::new();
                stream.take(count.saturating_mul(8), &mut bytes)?;
                let (chunks, _) = bytes.as_chunks();
                let floats = chunks.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
                let floats = spread(floats, rows, nulls)?.into();
                let array = PrimitiveArray::<Float64Type>::try_new(floats, kept.clone())?;
                Ok((nullable(DataType::Float64), Arc::new(array)))
            }
            Values::Text { lengths, bytes, char_length } => {
                let offsets = offsets(&spread(lengths.read(count)?, rows, nulls)?)?;
                let mut values = Vec::new();
                bytes.take(last(&offsets), &mut values)?;
                let text = BinaryArray::try_new(offsets, Buffer::from_vec(values), kept.clone())?;
                let (data_type, array) = text_of(wanted, *char_length, text, nulls)?;
                Ok((nullable(data_type), array))
            }
            Values::Words { words, places, char_length } => {
                let text = words.take(&spread(places.read(count)?, rows, nulls)?, nulls, kept.clone())?;
                let (data_type, array) = text_of(wanted, *char_length, text, nulls)?;
                Ok((nullable(data_type), array))
            }
            Values::Timestamp { seconds, nanoseconds: parts, clock } => {
                let moments = seconds.read(count)?.into_iter().zip(parts.read(count)?);
                let moments = moments.map(|(seconds, told)| {
                    let (seconds, nanoseconds) = (clock.seconds(seconds), nanoseconds(told));
                    // Java's writer cut the seconds of times before 1970 towards zero, and so do all others.
                    (seconds.wrapping_sub(i64::from(seconds < 0 && nanoseconds > 999_999)), nanoseconds)
                });
                let (data_type, digits) = match wanted {
                    Some(wanted @ DataType::DateTime64(digits, _)) => (wanted.clone(), *digits),
                    _ => (DataType::DateTime64(9, None), 9),
                };
                let unit = 10i64.pow(u32::from(digits.min(9)));
                let ticks = moments.map(|(seconds, nanoseconds)| {
                    let ticks = seconds.checked_mul(unit).and_then(|ticks| ticks.checked_add(nanoseconds / (NANOSECONDS / unit)));
                    ticks.ok_or_else(|| {
                        let message = format!(
                            "Timestamp value is out of range for DateTime64({digits}): seconds={seconds}, nanoseconds={nanoseconds}"
                        );
                        Error::new(ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, message)
                    })
                });
                let ticks = ticks.collect::<Result<Vec<i64>>>()?;
                Ok((nullable(data_type), i64::array(spread(ticks, rows, nulls)?, kept.clone())?))
            }
            Values::Decimal { numbers, scales, precision, scale } => {
                let mut values = Vec::new();
                for found in scales.read(count)? {
                    let number = numbers.wide_varint(DECIMAL_BYTES_MAX)?;
                    let number = (number >> 1) as i128 ^ -((number & 1) as i128);
                    grow(&mut values, 1)?;
                    values.push(rescaled(number, found, *scale)?);
                }
                let data_type = DataType::Decimal(*precision, *scale);
                let values = spread(values, rows, nulls)?;
                let array = match_integer!(data_type, T => {
                    T::array(values.into_iter().map(T::wrap).collect(), kept.clone())?
                }, _ => return Err(Error::logical("a decimal that is no number")));
                Ok((nullable(data_type), array))
            }
            Values::List { lengths, items } => {
                let offsets = offsets(&spread(lengths.read(count)?, rows, nulls)?)?;
                let (item, items) = items.read(last(&offsets), None)?;
                let list = ListArray::try_new(item.arrow_list_item(), offsets, items, None)?;
                Ok((DataType::array(item), Arc::new(list)))
            }
            Values::Map { lengths, entries } => {
                let offsets = offsets(&spread(lengths.read(count)?, rows, nulls)?)?;
                let [key, value] = &mut **entries;
                let (key, keys) = key.read(last(&offsets), None)?;
                let (value, values) = value.read(last(&offsets), None)?;
                let data_type = DataType::Map(Arc::new(key), Arc::new(value));
                let entry = data_type.map_entry_type();
                let entries = StructArray::try_new(entry.arrow_fields(), vec![keys, values], None)?;
                let list = ListArray::try_new(entry.arrow_list_item(), offsets, Arc::new(entries), None)?;
                Ok((data_type, Arc::new(list)))
            }
            Values::Struct(fields) => {
                let mut elements = Vec::with_capacity(fields.len());
                let mut columns = Vec::with_capacity(fields.len());
                for Field { name, source } in fields {
                    let (data_type, column) = match source {
                        Ok(reader) => reader.read(rows, nulls)?,
                        Err(missing) => {
                            let column = Column::default_values(missing.clone(), rows)?.materialize()?;
                            (missing.clone(), column.to_array()?)
                        }
                    };
                    elements.push(TupleElement { name: name.clone(), data_type });
                    columns.push(column);
                }
                let data_type = DataType::Tuple(elements.into());
                let tuple = StructArray::try_new_with_length(data_type.arrow_fields(), columns, kept.clone(), rows)?;
                Ok((nullable(data_type), Arc::new(tuple)))
            }
            Values::Union { tags, parts } => union(tags.read(count)?, parts, rows, nulls, wanted),
        }
    }

    /// Which rows are NULL, here or in what the column is part of; `None` where none is.
    fn nulls(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<Option<NullBuffer>> {
        let Some(present) = &mut self.present else { return Ok(parent.cloned()) };
        let count = rows - parent.map_or(0, NullBuffer::null_count);
        let bits = spread(present.read(count)?, rows, parent)?;
        let nulls = NullBuffer::from(bits);
        Ok((nulls.null_count() > 0).then_some(nulls))
    }
}

/// Whole numbers, and days.
fn numbers_of(
    kind: &Kind,
    wanted: Option<&DataType>,
    numbers: Vec<i64>,
    rows: usize,
    nulls: Option<&NullBuffer>,
    kept: Option<NullBuffer>,
) -> Result<Found> {
    fn array<T: Integer>(
        numbers: Vec<i64>,
        rows: usize,
        nulls: Option<&NullBuffer>,
        kept: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let numbers = numbers.into_iter().map(|number| T::wrap(number.into())).collect();
        T::array(spread(numbers, rows, nulls)?, kept)
    }
    let in_range = |name: &str, least: i64, most: i64| match numbers.iter().find(|day| !(least..=most).contains(*day)) {
        None => Ok(()),
        Some(day) => Err(Error::new(
            ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
            format!("Input value {day} exceeds the range of type {name}, which is [{least}, {most}]"),
        )),
    };
    Ok(match (kind, wanted) {
        (Kind::Short, _) => (DataType::Int16, array::<i16>(numbers, rows, nulls, kept)?),
        (Kind::Int, Some(DataType::IPv4)) => (DataType::IPv4, array::<u32>(numbers, rows, nulls, kept)?),
        (Kind::Int, _) => (DataType::Int32, array::<i32>(numbers, rows, nulls, kept)?),
        (Kind::Date, Some(DataType::Date)) => {
            in_range("Date", 0, u16::MAX.into())?;
            (DataType::Date, array::<u16>(numbers, rows, nulls, kept)?)
        }
        (Kind::Date, None | Some(DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..))) => {
            in_range("Date32", DATE32_MIN.into(), DATE32_MAX.into())?;
            (DataType::Date32, array::<i32>(numbers, rows, nulls, kept)?)
        }
        // As ClickHouse has it, a day is a number to all types that are not of time.
        (Kind::Date, Some(_)) => (DataType::Int32, array::<i32>(numbers, rows, nulls, kept)?),
        _ => (DataType::Int64, array::<i64>(numbers, rows, nulls, kept)?),
    })
}

/// A number with as many digits after the point as its type has.
fn rescaled(number: i128, found: i64, scale: u8) -> Result<i128> {
    let Some(more) = i64::from(scale).checked_sub(found) else { return Err(corrupted("a decimal of no scale")) };
    if more == 0 || number == 0 {
        return Ok(number);
    }
    let factor = u32::try_from(more.unsigned_abs()).ok().and_then(|digits| 10i128.checked_pow(digits));
    match factor {
        Some(factor) if more > 0 => Ok(number.wrapping_mul(factor)),
        Some(factor) => Ok(number / factor),
        None => Err(corrupted("a decimal of no scale")),
    }
}

/// Strings as what is wanted of them: numbers and addresses whose bytes they are.
fn text_of(
    wanted: Option<&DataType>,
    char_length: Option<usize>,
    text: BinaryArray,
    nulls: Option<&NullBuffer>,
) -> Result<Found> {
    fn numbers<T: Integer>(wanted: &DataType, text: &BinaryArray, nulls: Option<&NullBuffer>) -> Result<Found> {
        let mut numbers = Vec::new();
        grow(&mut numbers, text.len())?;
        for (row, bytes) in text.iter().enumerate() {
            let bytes = bytes.unwrap_or_default();
            if bytes.len() != T::BYTES && nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                return Err(corrupted(format!("{wanted} of {} bytes rather than {}", bytes.len(), T::BYTES)));
            }
            numbers.push(T::from_bytes(bytes));
        }
        Ok((wanted.clone(), T::array(numbers, text.nulls().cloned())?))
    }
    use arrow_array::Array as _;
    match wanted {
        Some(
            wanted @ (DataType::Int128
            | DataType::UInt128
            | DataType::Int256
            | DataType::UInt256
            | DataType::Decimal(39.., _)),
        ) => {
            return match_integer!(wanted, T => numbers::<T>(wanted, &text, nulls), _ => Err(Error::logical("a number that is none")));
        }
        Some(DataType::IPv6) => {
            let is_null = |row| nulls.is_some_and(|nulls| nulls.is_null(row));
            if text.iter().enumerate().all(|(row, bytes)| is_null(row) || bytes.is_some_and(|bytes| bytes.len() == 16))
            {
                return Ok((DataType::IPv6, fixed(&text, 16)?));
            }
        }
        _ => {}
    }
    match char_length {
        Some(length) => Ok((DataType::FixedString(length), fixed(&text, length)?)),
        None => Ok((DataType::String, Arc::new(text))),
    }
}

/// Strings of the same length, with zeros where they are shorter.
fn fixed(text: &BinaryArray, length: usize) -> Result<ArrayRef> {
    use arrow_array::Array as _;
    let width = i32::try_from(length).map_err(|_| corrupted("strings that are too long"))?;
    let mut bytes = Vec::new();
    grow(&mut bytes, text.len().saturating_mul(length))?;
    for value in text {
        let value = value.unwrap_or_default();
        let spare = length.checked_sub(value.len()).ok_or_else(|| {
            let message = format!("ORC: a string of {} bytes is longer than {length}", value.len());
            Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, message)
        })?;
        bytes.extend_from_slice(value);
        bytes.extend(std::iter::repeat_n(0, spare));
    }
    let array = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(bytes), text.nulls().cloned())?;
    Ok(Arc::new(array))
}

impl Words {
    /// The strings at these places; of rows that are NULL the empty one.
    fn take(&mut self, places: &[i64], nulls: Option<&NullBuffer>, kept: Option<NullBuffer>) -> Result<BinaryArray> {
        if let Self::Waiting { lengths, bytes, count } = self {
            let offsets = offsets(&lengths.read(*count)?)?;
            let mut values = Vec::new();
            bytes.take(last(&offsets), &mut values)?;
            *self = Self::Read(BinaryArray::try_new(offsets, Buffer::from_vec(values), None)?);
        }
        let Self::Read(words) = self else { return Err(Error::logical("words that were not read")) };
        let mut lengths = Vec::new();
        let mut values = Vec::new();
        grow(&mut lengths, places.len())?;
        for (row, place) in places.iter().enumerate() {
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            let word: &[u8] = if is_null {
                &[]
            } else {
                let place = usize::try_from(*place).ok().filter(|place| *place < words.value_offsets().len() - 1);
                words.value(place.ok_or_else(|| corrupted("a string that is not in the dictionary"))?)
            };
            lengths.push(word.len() as i64);
            grow(&mut values, word.len())?;
            values.extend_from_slice(word);
        }
        Ok(BinaryArray::try_new(offsets(&lengths)?, Buffer::from_vec(values), kept)?)
    }
}

/// The values of a union as those of a `Variant`.
fn union(
    tags: Vec<u8>,
    parts: &mut [ColumnReader],
    rows: usize,
    nulls: Option<&NullBuffer>,
    wanted: Option<&DataType>,
) -> Result<Found> {
    let mut counts = vec![0u32; parts.len()];
    let mut places = Vec::new();
    grow(&mut places, rows)?;
    let mut tags = tags.into_iter();
    for row in 0..rows {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            places.push(None);
            continue;
        }
        let tag = tags.next().ok_or_else(ends_early)?;
        let count = counts.get_mut(usize::from(tag)).ok_or_else(|| corrupted("a value of no type of its union"))?;
        places.push(Some((u32::from(tag), *count)));
        *count += 1;
    }
    reserve(rows.saturating_mul(parts.len()))?;
    let mut columns = Vec::with_capacity(parts.len());
    for (at, (part, count)) in parts.iter_mut().zip(counts).enumerate() {
        let (data_type, array) = part.read(count as usize, None)?;
        let column = Column::new(data_type, array);
        if let Some(nulls) = column.nulls() {
            for place in &mut places {
                if place.is_some_and(|(tag, row)| tag as usize == at && nulls.is_null(row as usize)) {
                    *place = None;
                }
            }
        }
        let column = column.without_nulls()?;
        let column = match wanted {
            Some(DataType::Variant(_)) => part.wished(column)?,
            _ => column,
        };
        columns.push(column);
    }
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let alternatives = match wanted {
        Some(DataType::Variant(wanted)) if types.iter().all(|found| wanted.contains(found)) => wanted.clone(),
        _ => match DataType::variant(types)? {
            DataType::Variant(alternatives) => alternatives,
            _ => return Err(Error::logical("a union that is no variant")),
        },
    };
    let array = Alternatives { columns, rows: places }.to_variant(&alternatives)?;
    Ok((DataType::Variant(alternatives), array))
}

impl ColumnReader {
    /// The values in the type that is wanted of them, where there is one.
    fn wished(&self, column: Column) -> Result<Column> {
        match &self.wanted {
            Some(wanted) if wanted != column.data_type() => {
                squall_types::cast(&column, wanted, &squall_types::CastOptions::default())?.materialize()
            }
            _ => Ok(column),
        }
    }
}
