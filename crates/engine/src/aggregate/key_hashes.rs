//! Hashes of keys without a table: equal keys have equal hashes, however their columns are held.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, UInt64Array};
use arrow_buffer::ToByteSlice;
use arrow_schema::DataType as ArrowType;
use foldhash::fast::FixedState;
use squall_types::dictionary_results::{self, Maker};
use squall_types::packed_hash::hash_packed;
use squall_types::{Coded, Column, DataType, Error, Result, match_primitive};

/// What stands for NULL.
const NULL: u64 = 0x6E75_6C6C_6E75_6C6C;

/// Hashes keys. Each of these does it in another way, so that nobody can prepare keys whose hashes are equal.
pub(super) struct KeyHashes {
    seed: u64,
    strings: FixedState,
    /// Whose words of large dictionaries' values are.
    maker: Maker,
}

impl KeyHashes {
    /// By a seed that nobody knows before.
    pub(super) fn new() -> Self {
        Self::with_seed(RandomState::new().hash_one(()))
    }

    fn with_seed(seed: u64) -> Self {
        Self { seed, strings: FixedState::with_seed(seed), maker: Maker::new() }
    }

    /// Whether values of a type can be hashed: equal ones are equal bytes.
    pub(super) fn takes(data_type: &DataType) -> bool {
        let inner = data_type.inner();
        let is_plain = match inner.arrow_type() {
            ArrowType::Binary | ArrowType::FixedSizeBinary(_) => true,
            // Different bytes may be equal floats.
            ArrowType::Float32 | ArrowType::Float64 => false,
            other => match_primitive!(other, _T => true, _ => false),
        };
        is_plain && !matches!(inner, DataType::AggregateFunction(_))
    }

    /// Replaces `hashes` by those of the keys of so many rows.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for types that it does not [take](Self::takes).
    pub(super) fn of(&self, keys: &[Column], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
        hashes.clear();
        hashes.resize(rows, self.seed);
        keys.iter().try_for_each(|key| self.add(key, hashes))
    }

    /// Makes the hashes those of the keys with one column more.
    fn add(&self, key: &Column, hashes: &mut [u64]) -> Result<()> {
        let mix = |hash: &mut u64, word: u64| *hash = hash_packed(*hash ^ word);
        if key.is_constant() {
            // Other blocks may have the same key as one of many.
            let word = self.first_word(&**key.array())?;
            hashes.iter_mut().for_each(|hash| mix(hash, word));
            return Ok(());
        }
        if let Some(sparse) = key.sparse() {
            let (default, values) = (self.first_word(&**sparse.default_row())?, self.words(&**sparse.values())?);
            let others: Vec<u64> = sparse.positions().map(|row| hashes[row]).collect();
            hashes.iter_mut().for_each(|hash| mix(hash, default));
            for ((row, mut hash), word) in sparse.positions().zip(others).zip(values) {
                mix(&mut hash, word);
                hashes[row] = hash;
            }
            return Ok(());
        }
        let mut hashes = hashes.iter_mut();
        let array: &dyn Array = match key.coded() {
            Some(coded) if coded.has_many_values() => {
                return self.each_word_of_many(coded, |word| {
                    if let Some(hash) = hashes.next() {
                        mix(hash, word);
                    }
                });
            }
            Some(coded) => coded.dictionary(),
            None => &**key.array(),
        };
        self.each_word(array, |word| {
            if let Some(hash) = hashes.next() {
                mix(hash, word);
            }
        })
    }

    /// As [`each_word`](Self::each_word), of rows with more values than are worth it for each block.
    fn each_word_of_many(&self, coded: &Coded, mut take: impl FnMut(u64)) -> Result<()> {
        let compute =
            |values: &ArrayRef| -> Result<ArrayRef> { Ok(Arc::new(UInt64Array::from(self.words(&**values)?))) };
        if let Some(words) = dictionary_results::numbers_of_rows(self.maker, &[], coded, compute)? {
            words.as_primitive::<UInt64Type>().values().iter().for_each(|word| take(*word));
            return Ok(());
        }
        let strings = coded.values().as_binary::<i32>();
        coded.codes().iter().for_each(|code| take(code.map_or(NULL, |code| self.string(strings.value(code as usize)))));
        Ok(())
    }

    fn first_word(&self, array: &dyn Array) -> Result<u64> {
        self.words(array)?.first().copied().ok_or_else(unhashable)
    }

    fn words(&self, array: &dyn Array) -> Result<Vec<u64>> {
        let mut words = Vec::with_capacity(array.len());
        self.each_word(array, |word| words.push(word))?;
        Ok(words)
    }

    /// Calls `take` with what goes into the hash for each value of an array, in their order.
    fn each_word(&self, array: &dyn Array, mut take: impl FnMut(u64)) -> Result<()> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let mut take_at = |row: usize, word: u64| match nulls {
            Some(nulls) if nulls.is_null(row) => take(NULL),
            _ => take(word),
        };
        if let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>() {
            let words = self.words(&**dictionary.values())?;
            // What stands at a NULL is any code.
            let word = |code: &u32| words.get(*code as usize).copied().unwrap_or(NULL);
            dictionary.keys().values().iter().enumerate().for_each(|(row, code)| take_at(row, word(code)));
            return Ok(());
        }
        match array.data_type() {
            ArrowType::Binary => {
                let strings = array.as_binary::<i32>();
                (0..strings.len()).for_each(|row| take_at(row, self.string(strings.value(row))));
            }
            ArrowType::FixedSizeBinary(_) => {
                let strings = array.as_fixed_size_binary();
                (0..strings.len()).for_each(|row| take_at(row, self.string(strings.value(row))));
            }
            other => match_primitive!(other, T => {
                let values = array.as_primitive::<T>().values();
                values.iter().enumerate().for_each(|(row, value)| take_at(row, word_of::<T>(*value)));
            }, _ => return Err(unhashable())),
        }
        Ok(())
    }

    #[inline]
    fn string(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.strings.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }
}

#[inline]
fn word_of<T: ArrowPrimitiveType>(value: T::Native) -> u64 {
    let mut word = [0; 8];
    let bytes = std::slice::from_ref(&value).to_byte_slice();
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn unhashable() -> Error {
    Error::logical("keys of a type that has no hash here")
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use squall_types::{Sparse, Value, cast};

    use super::*;

    fn hashes(keys: &[Column]) -> Vec<u64> {
        let mut hashes = vec![7];
        KeyHashes::with_seed(42).of(keys, keys[0].rows(), &mut hashes).unwrap();
        hashes
    }

    #[test]
    fn equal_keys_have_equal_hashes_however_they_are_held() {
        let texts: Vec<String> =
            (0..100).map(|row| if row % 9 == 4 { format!("{row}") } else { String::new() }).collect();
        let numbers = Column::from_primitive::<Int32Type>(DataType::Int32, (0..100).map(|row| row % 7 - 3).collect());
        let whole = Column::from_strings(&texts);
        let sparse = Sparse::of_mostly_zeros(whole.array(), 0.5).unwrap().unwrap();
        let sparse = Column::of_rows(DataType::String, squall_types::Rows::Sparse(sparse));
        assert!(sparse.sparse().is_some());
        let low_cardinality = DataType::LowCardinality(Arc::new(DataType::String));
        let low_cardinality = cast(&whole, &low_cardinality, &squall_types::CastOptions::default()).unwrap();
        let nullable = whole.to_nullable(None).unwrap();
        let expected = hashes(&[numbers.clone(), whole.clone()]);
        for other in [sparse, low_cardinality, nullable] {
            assert_eq!(hashes(&[numbers.clone(), other.clone()]), expected, "{other:?}");
            assert_eq!(
                hashes(&[other.slice(10, 40), numbers.slice(10, 40)]),
                hashes(&[whole.slice(10, 40), numbers.slice(10, 40)])
            );
        }
        let mut keys: Vec<_> =
            (0..100).map(|row| (numbers.value(row).to_string(), &texts[row], expected[row])).collect();
        keys.sort();
        keys.dedup();
        for pair in keys.windows(2) {
            assert_ne!((&pair[0].0, pair[0].1), (&pair[1].0, pair[1].1), "one key has two hashes");
        }
        for data_type in ["String", "Nullable(String)", "LowCardinality(String)", "LowCardinality(Nullable(String))"] {
            let constant = Column::constant(DataType::parse(data_type).unwrap(), &Value::from("x"), 100).unwrap();
            assert!(constant.is_constant());
            let written_out = Column::from_strings(vec!["x"; 100]);
            assert_eq!(hashes(&[constant, numbers.clone()]), hashes(&[written_out, numbers.clone()]), "{data_type}");
        }
    }

    #[test]
    fn null_is_a_key_of_its_own() {
        let data_type = DataType::Nullable(Arc::new(DataType::UInt8));
        let mut column = squall_types::ColumnBuilder::new(data_type);
        for value in [Value::Null, Value::UInt64(0), Value::Null, Value::UInt64(1)] {
            column.append(&value).unwrap();
        }
        let hashes = hashes(&[column.finish().unwrap()]);
        assert_eq!(hashes[0], hashes[2]);
        assert!(hashes[0] != hashes[1] && hashes[1] != hashes[3]);
    }

    #[test]
    fn floats_and_containers_are_not_hashed() {
        for (name, is_taken) in [
            ("UInt8", true),
            ("Nullable(DateTime64(3))", true),
            ("LowCardinality(Nullable(String))", true),
            ("Decimal(30, 3)", true),
            ("UUID", true),
            ("Float64", false),
            ("BFloat16", false),
            ("Array(UInt8)", false),
            ("Tuple(UInt8, String)", false),
            ("Map(String, String)", false),
            ("AggregateFunction(count)", false),
        ] {
            assert_eq!(KeyHashes::takes(&DataType::parse(name).unwrap()), is_taken, "{name}");
        }
    }
}
