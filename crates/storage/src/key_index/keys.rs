//! The keys of rows in a form that is hashed and compared fast: packed into one integer where their types are narrow, bytes
//! otherwise. A row whose key holds a NULL has no key.

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType as Arrow;
use smallvec::SmallVec;
use squall_types::packed_hash::{hash_packed, hash_packed_wide, hash_packed_words};
use squall_types::{Column, DataType, Error, Result, reserve};
use std::hash::{BuildHasher, Hasher};

/// How keys of some types are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyForm {
    /// No key columns: all rows have the same key.
    Nothing,
    /// Up to 8 bytes.
    Packed8,
    /// Up to 16 bytes.
    Packed16,
    /// Up to 32 bytes.
    Packed32,
    /// Anything else.
    Bytes,
}

impl KeyForm {
    /// The form of keys of these types; whether a type may be NULL does not matter.
    pub fn of<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Self {
        let width = |data_type: &DataType| match data_type {
            DataType::LowCardinality(_) => None,
            other => other.remove_nullable().fixed_width_bytes().filter(|width| *width <= 16),
        };
        match types.into_iter().map(width).sum::<Option<usize>>() {
            Some(0) => Self::Nothing,
            Some(1..=8) => Self::Packed8,
            Some(9..=16) => Self::Packed16,
            Some(17..=32) => Self::Packed32,
            _ => Self::Bytes,
        }
    }
}

/// Bytes of a string's length in a key.
const LENGTH_BYTES: usize = 8;

/// A key as bytes, most of them short.
pub type SmallKey = SmallVec<[u8; 16]>;

/// The keys of some rows.
#[derive(Clone, Debug)]
pub struct Keys {
    pub(super) values: KeyValues,
    /// The rows that have a key; all of them where this is missing.
    valid: Option<BooleanBuffer>,
}

#[derive(Clone, Debug)]
pub(super) enum KeyValues {
    Nothing(usize),
    Packed8(Vec<u64>),
    Packed16(Vec<u128>),
    Packed32(Vec<Words>),
    Bytes(BinaryArray),
}

impl Keys {
    /// The keys of `rows` rows. No column is a constant.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for types that cannot be keys.
    pub fn new(form: KeyForm, columns: &[Column], rows: usize) -> Result<Self> {
        let nulls = columns.iter().filter_map(|column| column.array().logical_nulls());
        let valid = nulls
            .fold(None, |all: Option<NullBuffer>, nulls| NullBuffer::union(all.as_ref(), Some(&nulls)))
            .filter(|nulls| nulls.null_count() > 0)
            .map(NullBuffer::into_inner);
        let values = match form {
            KeyForm::Nothing => KeyValues::Nothing(rows),
            KeyForm::Packed8 => KeyValues::Packed8(pack_numbers(columns, rows)?),
            KeyForm::Packed16 => KeyValues::Packed16(pack::<u128>(columns, rows)?),
            KeyForm::Packed32 => KeyValues::Packed32(pack::<Words>(columns, rows)?),
            KeyForm::Bytes => KeyValues::Bytes(bytes_of(columns, rows)?),
        };
        Ok(Self { values, valid })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            KeyValues::Nothing(rows) => *rows,
            KeyValues::Packed8(keys) => keys.len(),
            KeyValues::Packed16(keys) => keys.len(),
            KeyValues::Packed32(keys) => keys.len(),
            KeyValues::Bytes(keys) => keys.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a row has a key: no NULL in it.
    #[inline]
    pub fn has_key(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.value(row))
    }

    /// The rows that have a key for which something holds.
    pub(super) fn which(&self, holds: impl Fn(usize) -> bool) -> BooleanBuffer {
        let all = BooleanBuffer::collect_bool(self.len(), holds);
        match &self.valid {
            None => all,
            Some(valid) => &all & valid,
        }
    }

    /// Whether every row has a key.
    pub(super) fn have_all_keys(&self) -> bool {
        self.valid.is_none()
    }

    /// The smallest and the largest key of rows that have one, as unsigned numbers, where keys are packed in 8 bytes.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        let KeyValues::Packed8(keys) = &self.values else { return None };
        let widen = |range: (u64, u64), key: &u64| (range.0.min(*key), range.1.max(*key));
        let nothing = (u64::MAX, 0);
        let range = match &self.valid {
            None => keys.iter().fold(nothing, widen),
            Some(valid) => valid.set_indices().map(|row| &keys[row]).fold(nothing, widen),
        };
        (range.0 <= range.1).then_some(range)
    }

    /// The keys of those rows alone that are valid; all of them without `valid`.
    #[must_use]
    pub fn of_valid(mut self, valid: Option<&NullBuffer>) -> Self {
        if let Some(valid) = valid {
            let known = self.valid.take().map(NullBuffer::new);
            self.valid = NullBuffer::union(known.as_ref(), Some(valid)).map(NullBuffer::into_inner);
        }
        self
    }

    /// The keys of some rows, which all have one; `None` where there is no memory to copy their strings.
    pub(super) fn take(&self, rows: &[u32]) -> Option<Self> {
        fn of<K: Packed>(keys: &[K], rows: &[u32]) -> Vec<K> {
            rows.iter().map(|row| keys[*row as usize]).collect()
        }
        let values = match &self.values {
            KeyValues::Nothing(_) => KeyValues::Nothing(rows.len()),
            KeyValues::Packed8(keys) => KeyValues::Packed8(of(keys, rows)),
            KeyValues::Packed16(keys) => KeyValues::Packed16(of(keys, rows)),
            KeyValues::Packed32(keys) => KeyValues::Packed32(of(keys, rows)),
            KeyValues::Bytes(keys) => KeyValues::Bytes(taken(keys, rows)?),
        };
        Some(Self { values, valid: None })
    }

    /// The key of a row as bytes: equal keys of one form are equal bytes.
    pub fn bytes(&self, row: usize) -> SmallKey {
        match &self.values {
            KeyValues::Nothing(_) => SmallKey::new(),
            KeyValues::Packed8(keys) => SmallKey::from_slice(&keys[row].to_le_bytes()),
            KeyValues::Packed16(keys) => SmallKey::from_slice(&keys[row].to_le_bytes()),
            KeyValues::Packed32(keys) => keys[row].iter().flat_map(|word| word.to_le_bytes()).collect(),
            KeyValues::Bytes(keys) => SmallKey::from_slice(keys.value(row)),
        }
    }

    /// The bucket of a row's key among a power of two of them, by bits of its hash that no partition and no small table is chosen by.
    pub fn bucket(&self, row: usize, buckets: usize) -> usize {
        debug_assert!(buckets.is_power_of_two());
        (self.hash(row) >> 40) as usize & (buckets - 1)
    }

    pub(super) fn hash(&self, row: usize) -> u64 {
        match &self.values {
            KeyValues::Nothing(_) => 0,
            KeyValues::Packed8(keys) => keys[row].hash(),
            KeyValues::Packed16(keys) => keys[row].hash(),
            KeyValues::Packed32(keys) => keys[row].hash(),
            KeyValues::Bytes(keys) => hash_bytes(keys.value(row)),
        }
    }
}

/// Some rows of strings, whose bytes are no more than those of all.
fn taken(strings: &BinaryArray, rows: &[u32]) -> Option<BinaryArray> {
    let bytes = rows.iter().map(|row| strings.value_length(*row as usize) as usize).sum();
    reserve(bytes).ok()?;
    let mut taken = BinaryBuilder::with_capacity(rows.len(), bytes);
    rows.iter().for_each(|row| taken.append_value(strings.value(*row as usize)));
    Some(taken.finish())
}

/// What holds a packed key: its bytes are those of the values, one after the other.
pub(super) trait Packed: bytemuck::Pod + Default + Eq {
    fn hash(self) -> u64;
}

impl Packed for u64 {
    #[inline]
    fn hash(self) -> u64 {
        hash_packed(self)
    }
}

impl Packed for u128 {
    #[inline]
    fn hash(self) -> u64 {
        hash_packed_wide(self)
    }
}

/// A key of up to 32 bytes.
pub(super) type Words = [u64; 4];

impl Packed for Words {
    #[inline]
    fn hash(self) -> u64 {
        hash_packed_words(&self)
    }
}

pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    // A fixed seed: keys of a table and keys that are looked up in it must agree.
    let mut hasher = foldhash::fast::FixedState::with_seed(0x4A4F_494E).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// The bytes of the values of a fixed-width array, one after the other, and the width.
fn fixed_bytes(array: &ArrayRef) -> Option<(Buffer, usize)> {
    let width = match array.data_type() {
        Arrow::FixedSizeBinary(width) => usize::try_from(*width).ok()?,
        other => other.primitive_width()?,
    };
    let data = array.to_data();
    let buffer = data.buffers().first()?;
    Some((buffer.slice_with_length(data.offset() * width, data.len() * width), width))
}

/// The rows of a column for whose numbers something holds, as they are packed into keys of 8 bytes; `None` where they cannot be.
pub(super) fn which_numbers(column: &Column, holds: impl Fn(u64) -> bool) -> Option<BooleanBuffer> {
    /// A word for 64 rows.
    fn words<const WIDTH: usize>(
        values: &[[u8; WIDTH]],
        number: impl Fn([u8; WIDTH]) -> u64,
        holds: impl Fn(u64) -> bool,
    ) -> Vec<u64> {
        let word = |values: &[[u8; WIDTH]]| {
            (0..).zip(values).fold(0, |word, (bit, value)| word | u64::from(holds(number(*value))) << bit)
        };
        values.chunks(64).map(word).collect()
    }
    let (bytes, width) = fixed_bytes(column.array())?;
    let words = match width {
        1 => words(bytes.as_chunks().0, |value: [u8; 1]| u8::from_le_bytes(value).into(), holds),
        2 => words(bytes.as_chunks().0, |value| u16::from_le_bytes(value).into(), holds),
        4 => words(bytes.as_chunks().0, |value| u32::from_le_bytes(value).into(), holds),
        8 => words(bytes.as_chunks().0, u64::from_le_bytes, holds),
        _ => return None,
    };
    Some(BooleanBuffer::new(Buffer::from_vec(words), 0, column.rows()))
}

/// The values of a column that is part of a packed key, one after the other, and the width of one.
fn packed_bytes(column: &Column) -> Result<(Buffer, usize)> {
    fixed_bytes(column.array()).ok_or_else(|| Error::logical(format!("{} cannot be packed", column.data_type())))
}

/// The keys of each row as one number, the first column lowest.
fn pack_numbers(columns: &[Column], rows: usize) -> Result<Vec<u64>> {
    let mut packed = vec![0; rows];
    let mut shift = 0;
    for column in columns {
        let (bytes, width) = packed_bytes(column)?;
        macro_rules! or_in {
            ($number:ty) => {
                for (packed, value) in packed.iter_mut().zip(bytes.as_chunks::<{ size_of::<$number>() }>().0) {
                    *packed |= u64::from(<$number>::from_le_bytes(*value)) << shift;
                }
            };
        }
        match width {
            0 => {}
            1 => or_in!(u8),
            2 => or_in!(u16),
            4 => or_in!(u32),
            8 => or_in!(u64),
            _ => {
                for (packed, value) in packed.iter_mut().zip(bytes.chunks_exact(width)) {
                    *packed |= (0..).zip(value).fold(0, |all, (at, byte)| all | u64::from(*byte) << (8 * at)) << shift;
                }
            }
        }
        shift += width as u32 * 8;
    }
    Ok(packed)
}

/// The keys of each row as bytes of a fixed length, the first column first.
fn pack<K: Packed>(columns: &[Column], rows: usize) -> Result<Vec<K>> {
    /// Copies the values to their places. The width is known where it is compiled, so that a copy is a store.
    fn put<const WIDTH: usize>(to: &mut [u8], stride: usize, at: usize, values: &[u8]) {
        for (key, value) in to.chunks_exact_mut(stride).zip(values.as_chunks::<WIDTH>().0) {
            if let Some(place) = key.get_mut(at..at + WIDTH) {
                place.copy_from_slice(value);
            }
        }
    }
    let mut packed = vec![K::zeroed(); rows];
    let to: &mut [u8] = bytemuck::cast_slice_mut(&mut packed);
    let stride = size_of::<K>();
    let mut at = 0;
    for column in columns {
        let (values, width) = packed_bytes(column)?;
        match width {
            0 => {}
            1 => put::<1>(to, stride, at, &values),
            2 => put::<2>(to, stride, at, &values),
            4 => put::<4>(to, stride, at, &values),
            8 => put::<8>(to, stride, at, &values),
            16 => put::<16>(to, stride, at, &values),
            _ => {
                for (key, value) in to.chunks_exact_mut(stride).zip(values.chunks_exact(width)) {
                    if let Some(place) = key.get_mut(at..at + width) {
                        place.copy_from_slice(value);
                    }
                }
            }
        }
        at += width;
    }
    Ok(packed)
}

/// The keys as bytes: a single string as it stands, otherwise every column's value, strings after their lengths.
fn bytes_of(columns: &[Column], rows: usize) -> Result<BinaryArray> {
    if let [column] = columns
        && *column.array().data_type() == Arrow::Binary
    {
        return Ok(column.array().as_binary::<i32>().clone());
    }
    row_bytes(columns.iter().map(Column::array), rows)
}

/// The rows as bytes that differ where their values do: every column's value, strings after their lengths.
pub(crate) fn row_bytes<'a>(columns: impl Iterator<Item = &'a ArrayRef>, rows: usize) -> Result<BinaryArray> {
    let parts = columns.map(|column| Part::of(column, rows)).collect::<Result<Vec<_>>>()?;
    let mut lengths = vec![0usize; rows];
    parts.iter().for_each(|part| part.add_lengths(&mut lengths));
    let offsets = offsets_of(&lengths)?;
    let mut places: Vec<usize> = offsets.iter().map(|offset| *offset as usize).collect();
    let total = places.last().copied().unwrap_or(0);
    reserve(total)?;
    let mut bytes = vec![0; total];
    parts.iter().for_each(|part| part.put(&mut bytes, &mut places));
    Ok(BinaryArray::try_new(offsets, bytes.into(), None)?)
}

/// A column on its way into keys: of each row a byte that says whether it is NULL, then the value.
enum Part {
    /// Values of one width.
    Fixed { values: Buffer, width: usize, nulls: Option<NullBuffer> },
    /// Strings: after their length.
    Strings(BinaryArray),
    /// Anything else, with its byte.
    Whole(BinaryArray),
}

impl Part {
    fn of(array: &ArrayRef, rows: usize) -> Result<Self> {
        if let Some(strings) = array.as_binary_opt::<i32>() {
            return Ok(Self::Strings(strings.clone()));
        }
        if let Some((values, width)) = fixed_bytes(array).filter(|(_, width)| *width > 0) {
            return Ok(Self::Fixed { values, width, nulls: array.nulls().cloned() });
        }
        let mut bytes = Vec::new();
        let mut lengths = Vec::with_capacity(rows);
        for row in 0..rows {
            let before = bytes.len();
            append_value(&mut bytes, &**array, row)?;
            lengths.push(bytes.len() - before);
        }
        Ok(Self::Whole(BinaryArray::try_new(offsets_of(&lengths)?, bytes.into(), None)?))
    }

    /// Adds the length of each row's bytes.
    fn add_lengths(&self, lengths: &mut [usize]) {
        match self {
            Self::Fixed { width, nulls, .. } => lengths.iter_mut().enumerate().for_each(|(row, length)| {
                *length += 1 + if is_null(nulls.as_ref(), row) { 0 } else { *width };
            }),
            Self::Strings(strings) => lengths.iter_mut().enumerate().for_each(|(row, length)| {
                *length += 1 + if strings.is_null(row) { 0 } else { LENGTH_BYTES + strings.value(row).len() };
            }),
            Self::Whole(whole) => {
                lengths.iter_mut().enumerate().for_each(|(row, length)| *length += whole.value(row).len());
            }
        }
    }

    /// Writes each row's bytes at its place, which moves behind them.
    fn put(&self, bytes: &mut [u8], places: &mut [usize]) {
        let mut write = |place: &mut usize, part: &[u8]| {
            if let Some(to) = bytes.get_mut(*place..*place + part.len()) {
                to.copy_from_slice(part);
            }
            *place += part.len();
        };
        match self {
            Self::Fixed { values, width, nulls } => {
                for (row, (value, place)) in values.chunks_exact(*width).zip(places).enumerate() {
                    let is_null = is_null(nulls.as_ref(), row);
                    write(place, &[u8::from(is_null)]);
                    if !is_null {
                        write(place, value);
                    }
                }
            }
            Self::Strings(strings) => {
                for (row, place) in places.iter_mut().enumerate().take(strings.len()) {
                    let is_null = strings.is_null(row);
                    write(place, &[u8::from(is_null)]);
                    if !is_null {
                        let value = strings.value(row);
                        write(place, &(value.len() as u64).to_le_bytes());
                        write(place, value);
                    }
                }
            }
            Self::Whole(whole) => {
                for (row, place) in places.iter_mut().enumerate().take(whole.len()) {
                    write(place, whole.value(row));
                }
            }
        }
    }
}

fn offsets_of(lengths: &[usize]) -> Result<OffsetBuffer<i32>> {
    let mut end = 0usize;
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    offsets.push(0);
    for length in lengths {
        end += length;
        offsets.push(i32::try_from(end).map_err(|_| Error::logical("more than 2 GiB of keys in one block"))?);
    }
    Ok(OffsetBuffer::new(offsets.into()))
}

fn is_null(nulls: Option<&NullBuffer>, row: usize) -> bool {
    nulls.is_some_and(|nulls| nulls.is_null(row))
}

fn append_value(bytes: &mut Vec<u8>, array: &dyn Array, row: usize) -> Result<()> {
    if array.is_null(row) {
        bytes.push(1);
        return Ok(());
    }
    bytes.push(0);
    match array.data_type() {
        Arrow::Binary => {
            let value = array.as_binary::<i32>().value(row);
            bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
            bytes.extend_from_slice(value);
        }
        Arrow::FixedSizeBinary(_) => bytes.extend_from_slice(array.as_fixed_size_binary().value(row)),
        Arrow::Struct(_) => {
            let fields = array.as_struct();
            fields.columns().iter().try_for_each(|field| append_value(bytes, &**field, row))?;
        }
        Arrow::Dictionary(..) => {
            let dictionary = array.as_dictionary_opt::<UInt32Type>();
            let dictionary = dictionary.ok_or_else(|| Error::logical("a dictionary with other keys"))?;
            append_value(bytes, &**dictionary.values(), dictionary.keys().value(row) as usize)?;
        }
        Arrow::List(_) => {
            let items = array.as_list::<i32>().value(row);
            bytes.extend_from_slice(&(items.len() as u64).to_le_bytes());
            (0..items.len()).try_for_each(|item| append_value(bytes, &*items, item))?;
        }
        other => {
            let Some(width) = other.primitive_width() else {
                return Err(Error::not_implemented(format!("A key whose values are of Arrow's type {other}")));
            };
            let data = array.to_data();
            let at = (data.offset() + row) * width;
            let value = data.buffers().first().and_then(|buffer| buffer.get(at..at + width));
            bytes.extend_from_slice(value.ok_or_else(|| Error::logical("a value outside its array"))?);
        }
    }
    Ok(())
}
