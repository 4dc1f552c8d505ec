//! Rows of columns with dictionaries of their own, as one column with one dictionary: of each value that a row has, once. Arrow's kernels put
//! whole dictionaries one after the other, which for rows of some hundred blocks is far more than the rows.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, BinaryArray, DictionaryArray, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_data::ArrayData;
use arrow_schema::DataType as ArrowType;
use hashbrown::{DefaultHashBuilder, HashTable};
use squall_runtime::Pieces;

use super::concat::concat_arrays;
use super::{Position, TAKEN_AT_ONCE, fixed_values};
use crate::{Result, grow, kernels, reserve};

/// A key that has no place yet.
const NO_PLACE: u32 = u32::MAX;

/// Values of dictionaries, each once.
struct Merged<'a> {
    dictionaries: Vec<Dictionary<'a>>,
    /// Their numbers by where their values lie, and how many these are.
    numbers: HashMap<(Addresses, usize), usize>,
    hasher: DefaultHashBuilder,
    places_of: HashTable<u32>,
    /// The dictionary of each value, and its key there.
    values: Vec<Position>,
}

/// Where the offsets of strings lie, if values are such, and where the bytes.
type Addresses = (usize, usize);

/// One of the dictionaries.
struct Dictionary<'a> {
    array: &'a ArrayRef,
    values: Values<'a>,
}

/// A dictionary's values as bytes.
enum Values<'a> {
    Strings(&'a BinaryArray),
    Fixed { data: ArrayData, width: usize },
}

impl<'a> Dictionary<'a> {
    /// `None` for values that are not compared as bytes.
    fn new(array: &'a ArrayRef) -> Option<Self> {
        if array.null_count() > 0 {
            return None;
        }
        let values = match array.data_type() {
            ArrowType::Binary => Values::Strings(array.as_binary::<i32>()),
            ArrowType::FixedSizeBinary(width) => {
                Values::Fixed { data: array.to_data(), width: usize::try_from(*width).ok().filter(|width| *width > 0)? }
            }
            other => Values::Fixed { data: array.to_data(), width: other.primitive_width()? },
        };
        Some(Self { array, values })
    }

    fn value(&self, key: usize) -> &[u8] {
        match &self.values {
            Values::Strings(strings) => strings.value(key),
            Values::Fixed { data, width } => {
                fixed_values(data, *width).get(key * width..(key + 1) * width).unwrap_or_default()
            }
        }
    }
}

impl<'a> Merged<'a> {
    fn new() -> Self {
        Self {
            dictionaries: Vec::new(),
            numbers: HashMap::new(),
            hasher: DefaultHashBuilder::default(),
            places_of: HashTable::new(),
            values: Vec::new(),
        }
    }

    /// The number of a dictionary; `None` for values that are not compared as bytes.
    fn number(&mut self, array: &'a ArrayRef) -> Option<usize> {
        let addresses = match array.as_binary_opt::<i32>() {
            Some(strings) => (strings.value_offsets().as_ptr().addr(), strings.value_data().as_ptr().addr()),
            None => (0, array.to_data().buffers().first().map_or(0, |values| values.as_ptr().addr())),
        };
        if let Some(number) = self.numbers.get(&(addresses, array.len())) {
            return Some(*number);
        }
        self.dictionaries.push(Dictionary::new(array)?);
        let number = self.dictionaries.len() - 1;
        self.numbers.insert((addresses, array.len()), number);
        Some(number)
    }

    /// The place of a dictionary's value among all.
    fn place(&mut self, number: usize, key: usize) -> Result<u32> {
        let Self { dictionaries, hasher, places_of, values, .. } = self;
        let value_of = |place: u32| {
            let (number, key) = values[place as usize];
            dictionaries[number].value(key)
        };
        let value = dictionaries[number].value(key);
        let hash = hasher.hash_one(value);
        if let Some(place) = places_of.find(hash, |place| value_of(*place) == value) {
            return Ok(*place);
        }
        let place = values.len() as u32;
        if places_of.len() == places_of.capacity() {
            reserve(2 * places_of.capacity() * size_of::<u32>())?;
        }
        places_of.insert_unique(hash, place, |place| hasher.hash_one(value_of(*place)));
        grow(values, 1)?;
        values.push((number, key));
        Ok(place)
    }

    /// The values in the order of their places, those from `from` on and so many at most.
    fn some_values(&self, from: usize, most: usize) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = self.dictionaries.iter().map(|dictionary| &**dictionary.array).collect();
        kernels::interleave(&arrays, &self.values[from..self.values.len().min(from.saturating_add(most))])
    }

    /// All values, in pieces.
    async fn all_values(&self, pieces: &mut Pieces) -> Result<ArrayRef> {
        let mut parts = Vec::new();
        for from in (0..self.values.len().max(1)).step_by(TAKEN_AT_ONCE) {
            parts.push(self.some_values(from, TAKEN_AT_ONCE)?);
            pieces.pause().await;
        }
        concat_arrays(parts, pieces).await
    }
}

/// The rows of keys of dictionaries at these positions; `None` where the arrays are no such, or values are not compared as bytes.
pub(super) fn interleave(arrays: &[&dyn Array], positions: &[Position]) -> Result<Option<ArrayRef>> {
    let keyed = arrays.iter().map(|array| array.as_any().downcast_ref::<DictionaryArray<UInt32Type>>());
    let Some(keyed) = keyed.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let mut merged = Merged::new();
    let numbers = keyed.iter().map(|array| merged.number(array.values())).collect::<Option<Vec<usize>>>();
    let Some(numbers) = numbers else { return Ok(None) };
    if let ([_], Some(first)) = (&merged.dictionaries[..], keyed.first()) {
        let keys: Vec<&dyn Array> = keyed.iter().map(|array| array.keys() as &dyn Array).collect();
        let keys = kernels::interleave(&keys, positions)?.as_primitive::<UInt32Type>().clone();
        return Ok(Some(Arc::new(DictionaryArray::try_new(keys, first.values().clone())?)));
    }
    reserve(positions.len() * 4 * size_of::<u32>())?;
    // Of the many keys that there are, those of these rows.
    let mut known: hashbrown::HashMap<(usize, u32), u32> =
        hashbrown::HashMap::with_capacity(positions.len().min(1 << 12));
    let mut keys = Vec::with_capacity(positions.len());
    let has_null = keyed.iter().any(|array| array.null_count() > 0);
    let mut valid = has_null.then(|| Vec::with_capacity(positions.len()));
    for (at, row) in positions {
        let array = keyed[*at];
        if let Some(valid) = &mut valid {
            valid.push(array.is_valid(*row));
        }
        if array.is_null(*row) {
            keys.push(0);
            continue;
        }
        let id = (numbers[*at], array.keys().value(*row));
        let place = match known.get(&id) {
            Some(place) => *place,
            None => {
                let place = merged.place(id.0, id.1 as usize)?;
                known.insert(id, place);
                place
            }
        };
        keys.push(place);
    }
    let values = merged.some_values(0, usize::MAX)?;
    let keys = UInt32Array::new(keys.into(), valid.map(NullBuffer::from));
    Ok(Some(Arc::new(DictionaryArray::try_new(keys, values)?)))
}

/// Arrays of keys of dictionaries one after the other, in pieces; `None` where values are not compared as bytes.
pub(super) async fn concat(
    arrays: &[ArrayRef],
    valid: Option<NullBuffer>,
    pieces: &mut Pieces,
) -> Result<Option<ArrayRef>> {
    let mut merged = Merged::new();
    let mut places: Vec<Vec<u32>> = Vec::new();
    let mut keys: Vec<u32> = Vec::new();
    grow(&mut keys, arrays.iter().map(Array::len).sum())?;
    for array in arrays {
        let array = array.as_dictionary::<UInt32Type>();
        let Some(number) = merged.number(array.values()) else { return Ok(None) };
        if number == places.len() {
            let mut none = Vec::new();
            grow(&mut none, array.values().len())?;
            none.resize(array.values().len(), NO_PLACE);
            places.push(none);
        }
        for first in (0..array.len()).step_by(TAKEN_AT_ONCE) {
            for row in first..array.len().min(first + TAKEN_AT_ONCE) {
                if array.is_null(row) {
                    keys.push(0);
                    continue;
                }
                let key = array.keys().value(row) as usize;
                let known = &mut places[number][key];
                if *known == NO_PLACE {
                    *known = merged.place(number, key)?;
                }
                keys.push(*known);
            }
            pieces.pause().await;
        }
    }
    let values = merged.all_values(pieces).await?;
    let keys = UInt32Array::new(keys.into(), valid);
    // SAFETY: a key is the place of one of the values, unless it is NULL. A check would look at all of them at once.
    Ok(Some(Arc::new(unsafe { DictionaryArray::new_unchecked(keys, values) })))
}
