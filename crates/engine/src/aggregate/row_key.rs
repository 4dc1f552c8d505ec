//! Keys of several columns as bytes: equal rows have equal bytes, and the columns can be made of them again, so that nothing else need be
//! kept of a key. For numbers and other values of a fixed width but floats (0.0 and -0.0 are equal), and strings.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, make_array};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use squall_types::memory::reserve;
use squall_types::{Coded, Column, DataType, Error, ErrorCode, Physical, Result, Sparse};

use super::short_key::ShortKey;

/// Bytes of a length that is not short.
const LENGTH_BYTES: usize = 4;
/// The byte before such a length; a smaller one is itself the length.
const LONG: u8 = u8::MAX;

/// Bytes of a string behind its length.
#[inline]
fn string_bytes(string: &[u8]) -> usize {
    1 + string.len() + if string.len() < usize::from(LONG) { 0 } else { LENGTH_BYTES }
}

/// How the rows of some columns become bytes: one value after the other, each behind a byte that tells whether it is NULL, where it may be.
pub(crate) struct RowFormat {
    columns: Vec<ColumnFormat>,
    /// Bytes of a row without its strings.
    least_bytes: usize,
}

struct ColumnFormat {
    data_type: DataType,
    /// `None` for strings, which lie behind their lengths.
    width: Option<usize>,
}

/// Rows as bytes.
#[derive(Default)]
pub(crate) struct EncodedRows {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    /// Where the next value of each row belongs.
    places: Vec<usize>,
}

impl EncodedRows {
    /// The bytes of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + (self.ends.capacity() + self.places.capacity()) * size_of::<usize>()
    }
}

impl RowFormat {
    /// The format for columns of these types; `None` where one of them has none.
    pub(crate) fn of(types: &[DataType]) -> Option<Self> {
        let columns = types.iter().map(|data_type| {
            let width = match data_type.physical() {
                Physical::Bytes => None,
                Physical::Float32 | Physical::Float64 => return None,
                physical => Some(physical.fixed_width_bytes()?),
            };
            Some(ColumnFormat { data_type: data_type.clone(), width })
        });
        let columns = columns.collect::<Option<Vec<_>>>()?;
        let least = |column: &ColumnFormat| usize::from(column.data_type.is_nullable()) + column.width.unwrap_or(0);
        let least_bytes = columns.iter().map(least).sum();
        Some(Self { columns, least_bytes })
    }

    /// Makes bytes of rows `0..rows` of columns of these types, which are not constants.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(crate) fn encode(&self, keys: &[Column], rows: usize, encoded: &mut EncodedRows) -> Result<()> {
        let EncodedRows { bytes, ends, places } = encoded;
        ends.clear();
        ends.resize(rows, self.least_bytes);
        for key in keys {
            if let Some(strings) = key.array().as_binary_opt::<i32>() {
                ends.iter_mut().enumerate().for_each(|(row, end)| *end += string_bytes(string(strings, row)));
            }
        }
        places.clear();
        let mut total = 0;
        places.extend(ends.iter_mut().map(|end| {
            let start = total;
            total += *end;
            *end = total;
            start
        }));
        reserve(total)?;
        bytes.clear();
        bytes.resize(total, 0);
        for (key, format) in keys.iter().zip(&self.columns) {
            if format.data_type.is_nullable() {
                let nulls = key.array().nulls();
                for (row, place) in places.iter_mut().enumerate() {
                    bytes[*place] = u8::from(nulls.is_some_and(|nulls| nulls.is_null(row)));
                    *place += 1;
                }
            }
            match format.width {
                Some(width) => put_fixed(key.array(), width, places, bytes)?,
                None => put_strings(key.as_binary()?, places, bytes)?,
            }
        }
        Ok(())
    }

    /// The rows' bytes as short keys, and how many rows have longer ones. Of few small columns this takes a fraction of
    /// [`encode`](Self::encode).
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn short_keys(&self, keys: &[Column], rows: usize, short: &mut Vec<ShortKey>) -> Result<usize> {
        let strings = self.columns.iter().filter(|column| column.width.is_none()).count();
        if self.least_bytes + strings > ShortKey::BYTES_MAX {
            return Ok(rows);
        }
        reserve(rows * size_of::<ShortKey>())?;
        short.clear();
        short.resize(rows, ShortKey::default());
        for (key, format) in keys.iter().zip(&self.columns) {
            if format.data_type.is_nullable() {
                let nulls = key.nulls();
                let is_null = |row: usize| u128::from(nulls.is_some_and(|nulls| nulls.is_null(row)));
                short.iter_mut().enumerate().for_each(|(row, key)| key.append(is_null(row), 1));
            }
            match format.width {
                Some(width) => append_fixed(key.array(), width, short)?,
                None => match (key.coded().filter(|coded| coded.values().len() <= rows), key.sparse()) {
                    (Some(coded), _) => append_coded(coded, short),
                    (_, Some(sparse)) => append_sparse(sparse, short),
                    _ => append_strings(key.as_binary()?, short),
                },
            }
        }
        Ok(short.iter().filter(|key| key.is_long()).count())
    }

    /// The columns of which rows were made.
    ///
    /// # Errors
    /// `TOO_LARGE_STRING_SIZE` where a column would have more than 2 GiB, `LOGICAL_ERROR`, `MEMORY_LIMIT_EXCEEDED`.
    pub(crate) fn decode(&self, mut rows: Vec<&[u8]>) -> Result<Vec<Column>> {
        reserve(rows.iter().map(|row| row.len()).sum())?;
        let column = |format: &ColumnFormat| {
            let nulls = match format.data_type.is_nullable() {
                false => None,
                true => {
                    let valid = rows.iter_mut().map(|row| Ok(take(row, 1)?[0] == 0)).collect::<Result<Vec<bool>>>()?;
                    Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0)
                }
            };
            let array: ArrayRef = match format.width {
                None => Arc::new(take_strings(&mut rows, nulls)?),
                Some(width) => {
                    let values = Buffer::from_vec(take_fixed(&mut rows, width)?);
                    let data = ArrayData::builder(format.data_type.arrow_type()).len(rows.len()).add_buffer(values);
                    make_array(data.nulls(nulls).align_buffers(true).build()?)
                }
            };
            Ok(Column::new(format.data_type.clone(), array))
        };
        self.columns.iter().map(column).collect()
    }
}

fn wrong() -> Error {
    Error::logical("a key that is not what it was made of")
}

/// A row's string; empty where it is NULL.
#[inline]
fn string(strings: &BinaryArray, row: usize) -> &[u8] {
    if strings.is_null(row) { &[] } else { strings.value(row) }
}

fn put_fixed(array: &dyn Array, width: usize, places: &mut [usize], bytes: &mut [u8]) -> Result<()> {
    fn put<const N: usize>(values: &[u8], places: &mut [usize], bytes: &mut [u8]) {
        for (value, place) in values.as_chunks::<N>().0.iter().zip(places) {
            bytes[*place..*place + N].copy_from_slice(value);
            *place += N;
        }
    }
    let data = array.to_data();
    let values = data.buffers().first().ok_or_else(wrong)?;
    let start = data.offset() * width;
    let values = values.get(start..start + places.len() * width).ok_or_else(wrong)?;
    match (width, data.nulls()) {
        (1, None) => put::<1>(values, places, bytes),
        (2, None) => put::<2>(values, places, bytes),
        (4, None) => put::<4>(values, places, bytes),
        (8, None) => put::<8>(values, places, bytes),
        (16, None) => put::<16>(values, places, bytes),
        (_, nulls) => {
            for (row, place) in places.iter_mut().enumerate() {
                // All NULLs are one key, whatever lies there.
                if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                    bytes[*place..*place + width].copy_from_slice(&values[row * width..(row + 1) * width]);
                }
                *place += width;
            }
        }
    }
    Ok(())
}

fn append_fixed(array: &dyn Array, width: usize, keys: &mut [ShortKey]) -> Result<()> {
    fn append<const N: usize>(values: &[u8], keys: &mut [ShortKey], bits: impl Fn(&[u8; N]) -> u128) {
        values.as_chunks::<N>().0.iter().zip(keys).for_each(|(value, key)| key.append(bits(value), N));
    }
    let data = array.to_data();
    let values = data.buffers().first().ok_or_else(wrong)?;
    let start = data.offset() * width;
    let values = values.get(start..start + keys.len() * width).ok_or_else(wrong)?;
    match (width, data.nulls()) {
        (1, None) => append::<1>(values, keys, |value| value[0].into()),
        (2, None) => append::<2>(values, keys, |value| u16::from_le_bytes(*value).into()),
        (4, None) => append::<4>(values, keys, |value| u32::from_le_bytes(*value).into()),
        (8, None) => append::<8>(values, keys, |value| u64::from_le_bytes(*value).into()),
        (_, nulls) => keys.iter_mut().enumerate().for_each(|(row, key)| {
            // All NULLs are one key, whatever lies there.
            let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
            let value = if is_valid { ShortKey::at(values, row * width, width) } else { ShortKey::default() };
            key.append(value.bits(), width);
        }),
    }
    Ok(())
}

fn append_strings(strings: &BinaryArray, keys: &mut [ShortKey]) {
    let (bytes, offsets, nulls) = (strings.value_data(), strings.value_offsets(), strings.nulls());
    for (row, (key, ends)) in keys.iter_mut().zip(offsets.windows(2)).enumerate() {
        let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        let length = if is_valid { (ends[1] - ends[0]) as usize } else { 0 };
        let string = ShortKey::at(bytes, ends[0] as usize, length);
        // What is too long for the key alone is so behind its length.
        key.append(string.bits() << 8 | length as u128, 1 + length);
    }
}

/// What each of some strings is in a key, behind its length.
fn short_strings(strings: &BinaryArray) -> Vec<ShortKey> {
    let mut keys = vec![ShortKey::default(); strings.len()];
    append_strings(strings, &mut keys);
    keys
}

/// The same of strings that are codes.
fn append_coded(coded: &Coded, keys: &mut [ShortKey]) {
    let of_values = short_strings(coded.values().as_binary());
    let of_null = ShortKey::of(&[0]);
    let nulls = coded.nulls();
    for (row, (key, code)) in keys.iter_mut().zip(coded.codes().values()).enumerate() {
        let is_valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        key.append_key(if is_valid { of_values[*code as usize] } else { of_null });
    }
}

/// The same of strings most of which are empty.
fn append_sparse(sparse: &Sparse, keys: &mut [ShortKey]) {
    let of_empty = ShortKey::of(&[0]);
    let mut done = 0;
    for (row, of_value) in sparse.positions().zip(short_strings(sparse.values().as_binary())) {
        keys[done..row].iter_mut().for_each(|key| key.append_key(of_empty));
        keys[row].append_key(of_value);
        done = row + 1;
    }
    keys[done..].iter_mut().for_each(|key| key.append_key(of_empty));
}

fn put_strings(strings: &BinaryArray, places: &mut [usize], bytes: &mut [u8]) -> Result<()> {
    for (row, place) in places.iter_mut().enumerate() {
        let string = string(strings, row);
        let end = *place + string_bytes(string);
        let out = bytes.get_mut(*place..end).ok_or_else(wrong)?;
        *place = end;
        match out {
            [length, out @ ..] if out.len() == string.len() => {
                *length = string.len() as u8;
                copy(string, out);
            }
            [long, out @ ..] => {
                *long = LONG;
                let (length, out) = out.split_first_chunk_mut::<LENGTH_BYTES>().ok_or_else(wrong)?;
                *length = u32::try_from(string.len()).map_err(|_| wrong())?.to_le_bytes();
                out.copy_from_slice(string);
            }
            [] => {}
        }
    }
    Ok(())
}

/// Copies bytes into as many others; few without a call.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    /// The first and the last bytes, which overlap.
    fn ends<const N: usize>(from: &[u8], to: &mut [u8]) {
        if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
            to.first_chunk_mut::<N>().into_iter().for_each(|to| *to = *first);
            to.last_chunk_mut::<N>().into_iter().for_each(|to| *to = *last);
        }
    }
    match from.len() {
        0 => {}
        1 => ends::<1>(from, to),
        2..=3 => ends::<2>(from, to),
        4..=7 => ends::<4>(from, to),
        8..=16 => ends::<8>(from, to),
        _ => to.copy_from_slice(from),
    }
}

#[inline]
fn take<'a>(row: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (value, rest) = row.split_at_checked(count).ok_or_else(wrong)?;
    *row = rest;
    Ok(value)
}

fn take_fixed(rows: &mut [&[u8]], width: usize) -> Result<Vec<u8>> {
    fn of_width<const N: usize>(rows: &mut [&[u8]]) -> Result<Vec<u8>> {
        let mut values = Vec::with_capacity(rows.len() * N);
        for row in rows {
            let (value, rest) = row.split_first_chunk::<N>().ok_or_else(wrong)?;
            *row = rest;
            values.extend_from_slice(value);
        }
        Ok(values)
    }
    match width {
        4 => of_width::<4>(rows),
        8 => of_width::<8>(rows),
        16 => of_width::<16>(rows),
        _ => {
            let mut values = Vec::with_capacity(rows.len() * width);
            rows.iter_mut().try_for_each(|row| take(row, width).map(|value| values.extend_from_slice(value)))?;
            Ok(values)
        }
    }
}

fn take_strings(rows: &mut [&[u8]], nulls: Option<NullBuffer>) -> Result<BinaryArray> {
    let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of keys in one block");
    let mut offsets = Vec::with_capacity(rows.len() + 1);
    offsets.push(0);
    let mut bytes = Vec::new();
    for row in rows {
        let length = match take(row, 1)?[0] {
            LONG => {
                let (length, rest) = row.split_first_chunk::<LENGTH_BYTES>().ok_or_else(wrong)?;
                *row = rest;
                u32::from_le_bytes(*length) as usize
            }
            short => short.into(),
        };
        bytes.extend_from_slice(take(row, length)?);
        offsets.push(i32::try_from(bytes.len()).map_err(|_| too_large())?);
    }
    Ok(BinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls)?)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt32Type;
    use arrow_array::{DictionaryArray, UInt32Array};
    use squall_types::{Rows, Value};

    use super::*;
    use crate::test_columns::column;

    #[test]
    fn short_keys_are_the_same_however_strings_are_held() {
        let values: ArrayRef = Arc::new(BinaryArray::from_iter_values(["", "a", "bcd", "longer than a short key"]));
        let codes = |row: u32| if row % 9 == 4 { row / 9 % 4 } else { 0 };
        let of = |codes: UInt32Array| DictionaryArray::<UInt32Type>::try_new(codes, values.clone()).unwrap();
        let strings = DataType::String;
        let nullable = DataType::Nullable(Arc::new(DataType::String));
        let plain = Coded::new(of((0..200).map(codes).collect())).unwrap();
        let null =
            Coded::new(of((0..200_u32).map(|row| (!row.is_multiple_of(5)).then(|| codes(row))).collect())).unwrap();
        let whole = plain.to_array().unwrap();
        let sparse = Rows::of(whole.clone(), 0.5).unwrap();
        assert!(matches!(sparse, Rows::Sparse(_)));
        let held = [
            (Column::of_rows(strings.clone(), Rows::Coded(plain.clone())), whole.clone()),
            (Column::of_rows(strings.clone(), sparse), whole),
            (Column::of_rows(nullable.clone(), Rows::Coded(null.clone())), null.to_array().unwrap()),
        ];
        let number = column("UInt16", &(0..200).map(|row| Value::UInt64(row % 7)).collect::<Vec<_>>());
        for (held, whole) in held {
            let whole = Column::new(held.data_type().clone(), whole);
            let format = RowFormat::of(&[held.data_type().clone(), DataType::UInt16]).unwrap();
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            let long = format.short_keys(&[held, number.clone()], 200, &mut found).unwrap();
            assert_eq!(long, format.short_keys(&[whole, number.clone()], 200, &mut expected).unwrap());
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn columns_come_back_as_they_were() {
        let string = |text: &str| Value::from(text);
        let keys = [
            column("String", &["a", "", &"ab".repeat(200), "a"].map(string)),
            column("String", &["abcdefg", &"a".repeat(254), &"a".repeat(255), "abcdefg"].map(string)),
            column("Nullable(UInt16)", &[Value::UInt64(1), Value::Null, Value::UInt64(0), Value::UInt64(1)]),
            column("Nullable(String)", &[string(""), Value::Null, string("b"), string("")]),
            column("Int64", &[-5, 0, 7, -5].map(Value::Int64)),
            column("FixedString(3)", &["abc", "x", "abc", "abc"].map(string)),
        ];
        let types: Vec<DataType> = keys.iter().map(|key| key.data_type().clone()).collect();
        let format = RowFormat::of(&types).unwrap();
        for rows in [0..4, 1..3, 0..0] {
            let keys: Vec<Column> = keys.iter().map(|key| key.slice(rows.start, rows.len())).collect();
            let mut encoded = EncodedRows::default();
            format.encode(&keys, rows.len(), &mut encoded).unwrap();
            let back = format.decode((0..rows.len()).map(|row| encoded.row(row)).collect()).unwrap();
            for (column, other) in back.iter().zip(&keys) {
                assert_eq!(column.data_type(), other.data_type());
                (0..rows.len()).for_each(|row| assert_eq!(column.value(row), other.value(row)));
            }
            let mut short = Vec::new();
            assert_eq!(format.short_keys(&keys, rows.len(), &mut short).unwrap(), rows.len());
            for few in [&keys[2..3], &keys[4..5], &keys[5..6], &keys[2..4], &keys[3..4], &keys[0..1], &keys[0..3]] {
                let types: Vec<DataType> = few.iter().map(|key| key.data_type().clone()).collect();
                let format = RowFormat::of(&types).unwrap();
                format.encode(few, rows.len(), &mut encoded).unwrap();
                let long = format.short_keys(few, rows.len(), &mut short).unwrap();
                assert_eq!(long, short.iter().filter(|key| key.is_long()).count());
                (0..rows.len()).for_each(|row| assert_eq!(short[row], ShortKey::of(encoded.row(row))));
            }
            format.encode(&keys, rows.len(), &mut encoded).unwrap();
            if rows.len() == 4 {
                assert_eq!(encoded.row(0), encoded.row(3));
                assert_ne!(encoded.row(0), encoded.row(1));
                assert!(format.decode(vec![&encoded.row(0)[1..]]).is_err());
            }
        }
        for other in ["Float64", "Array(UInt8)", "LowCardinality(String)", "Nullable(Float32)"] {
            assert!(RowFormat::of(&[DataType::parse(other).unwrap()]).is_none(), "{other}");
        }
    }
}
