//! Keys that are codes of few values: the group of each combination of codes is looked up once, and rows find it by their codes alone.
//! Columns that a join takes from the same rows of its build side have the same codes, which count as one.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, UInt32Array};
use arrow_buffer::NullBuffer;
use squall_types::{Column, Result};

/// A combination that has not been looked up.
const UNKNOWN: u32 = u32::MAX - 1;
/// A combination that is about to be.
const WANTED: u32 = u32::MAX - 2;

/// More combinations of several keys' codes do not stay in the cache.
const COMBINATIONS_MAX: usize = 1 << 19;
/// Where the values are others than before, there may be so many combinations for each row.
const COMBINATIONS_PER_ROW_MAX: usize = 8;

/// Which group each combination of codes has, of the values that the last rows had.
#[derive(Default)]
pub(super) struct CodedKeys {
    /// The values of each key.
    values: Vec<ArrayRef>,
    /// What combinations mean.
    shape: Vec<Place>,
    groups: Vec<u32>,
}

impl CodedKeys {
    /// The groups of rows by their codes; `look_up` finds those of the first row of each new combination. Whether it was worth it: where not
    /// all keys are codes, or combinations are many, nothing has happened.
    ///
    /// # Errors
    /// Those of `look_up`, `MEMORY_LIMIT_EXCEEDED`.
    pub(super) fn find(
        &mut self,
        keys: &[Column],
        groups: &mut Vec<u32>,
        look_up: impl FnOnce(&[Column], usize) -> Result<Vec<u32>>,
    ) -> Result<bool> {
        let Some(codes) = keys.iter().map(Column::dictionary).collect::<Option<Vec<_>>>() else { return Ok(false) };
        let number = Number::new(&codes);
        if !self.begin(&codes, &number) {
            return Ok(false);
        }
        number.of_rows(groups);
        let mut new_rows: Vec<u32> = Vec::new();
        for (row, combination) in groups.iter().enumerate() {
            let group = &mut self.groups[*combination as usize];
            if *group == UNKNOWN {
                *group = WANTED;
                new_rows.push(row as u32);
            }
        }
        if !new_rows.is_empty() {
            let positions = UInt32Array::from(new_rows);
            let new_keys = keys.iter().map(|key| key.take(&positions)).collect::<Result<Vec<_>>>()?;
            let found = look_up(&new_keys, positions.len())?;
            for (row, group) in positions.values().iter().zip(found) {
                self.groups[groups[*row as usize] as usize] = group;
            }
        }
        groups.iter_mut().for_each(|group| *group = self.groups[*group as usize]);
        Ok(true)
    }

    /// Makes ready for rows of these values; whether their combinations are few enough.
    fn begin(&mut self, codes: &[&DictionaryArray<UInt32Type>], number: &Number<'_>) -> bool {
        let (Some(first), Some(combinations)) = (codes.first(), number.combinations()) else { return false };
        // The codes of one key are never too many.
        let has_several = codes.len() > 1;
        if has_several && combinations > COMBINATIONS_MAX {
            return false;
        }
        let is_known = |(known, codes): (&ArrayRef, &&DictionaryArray<UInt32Type>)| are_same(known, codes.values());
        if self.values.len() == codes.len() && self.values.iter().zip(codes).all(is_known) && self.shape == number.shape
        {
            return true;
        }
        if has_several && combinations > first.len().saturating_mul(COMBINATIONS_PER_ROW_MAX) {
            return false;
        }
        self.values = codes.iter().map(|codes| codes.values().clone()).collect();
        self.shape.clone_from(&number.shape);
        self.groups.clear();
        self.groups.resize(combinations, UNKNOWN);
        true
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<u32>()
    }
}

/// Whether two arrays are one, or strings of the same bytes at the same places in memory. The first is held, so that nothing else gets there.
fn are_same(known: &ArrayRef, other: &ArrayRef) -> bool {
    let strings = |array: &ArrayRef| {
        let strings = array.as_binary_opt::<i32>()?;
        Some((strings.len(), strings.value_offsets().as_ptr(), strings.values().as_ptr(), strings.null_count()))
    };
    Arc::ptr_eq(known, other) || strings(known).is_some_and(|known| strings(other) == Some(known))
}

/// Where the number of a combination has a key: columns with the same codes have one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    /// The digit of the codes.
    codes: usize,
    /// Whether a digit follows that says where the key is NULL.
    may_be_null: bool,
}

/// One digit.
enum Digit<'a> {
    /// The codes of one column or several, of so many values.
    Codes(&'a [u32], usize),
    /// Where a column is NULL.
    IsNull(&'a NullBuffer),
}

impl Digit<'_> {
    /// How many values it has, at least one.
    fn values(&self) -> usize {
        match self {
            Self::Codes(_, values) => (*values).max(1),
            Self::IsNull(_) => 2,
        }
    }
}

/// What tells the rows' combinations apart, as the digits of a number. The code under a NULL is a digit like others, so more combinations
/// may be told apart than there are; not fewer.
struct Number<'a> {
    digits: Vec<Digit<'a>>,
    /// By key.
    shape: Vec<Place>,
}

impl<'a> Number<'a> {
    fn new(keys: &[&'a DictionaryArray<UInt32Type>]) -> Self {
        let (mut digits, mut shape) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for key in keys {
            let own: &[u32] = key.keys().values();
            let values = key.values().len();
            let is_it = |digit: &Digit<'_>| match digit {
                Digit::Codes(known, of_known) => std::ptr::eq(*known, own) && *of_known == values,
                Digit::IsNull(_) => false,
            };
            let codes = digits.iter().position(is_it).unwrap_or_else(|| {
                digits.push(Digit::Codes(own, values));
                digits.len() - 1
            });
            let nulls = key.keys().nulls().filter(|nulls| nulls.null_count() > 0);
            shape.push(Place { codes, may_be_null: nulls.is_some() });
            digits.extend(nulls.map(Digit::IsNull));
        }
        Self { digits, shape }
    }

    fn combinations(&self) -> Option<usize> {
        let all = self.digits.iter().try_fold(1_usize, |all, digit| all.checked_mul(digit.values()))?;
        (all < WANTED as usize).then_some(all)
    }

    /// The number of each row's combination.
    fn of_rows(&self, combined: &mut Vec<u32>) {
        combined.clear();
        for (at, digit) in self.digits.iter().enumerate() {
            let values = digit.values() as u32;
            match digit {
                // The code under a NULL may be that of no value.
                Digit::Codes(codes, _) if at == 0 => combined.extend(codes.iter().map(|code| (*code).min(values - 1))),
                Digit::Codes(codes, _) => combined
                    .iter_mut()
                    .zip(*codes)
                    .for_each(|(all, code)| *all = *all * values + (*code).min(values - 1)),
                Digit::IsNull(nulls) => combined
                    .iter_mut()
                    .zip(nulls.inner())
                    .for_each(|(all, is_valid)| *all = *all * values + u32::from(!is_valid)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::BinaryArray;
    use squall_types::{Coded, DataType, Rows};

    use super::*;

    fn key(codes: &[Option<u32>], values: &ArrayRef) -> Column {
        let codes = UInt32Array::from(codes.to_vec());
        let coded = Coded::new(DictionaryArray::try_new(codes, values.clone()).unwrap()).unwrap();
        Column::of_rows(DataType::Nullable(Arc::new(DataType::String)), Rows::Coded(coded))
    }

    #[test]
    fn each_combination_is_looked_up_once() {
        let letters: ArrayRef = Arc::new(BinaryArray::from_iter_values(["a", "b", "c"]));
        let words: ArrayRef = Arc::new(BinaryArray::from_iter_values(["one", "two"]));
        let mut known: Vec<(squall_types::Value, squall_types::Value)> = Vec::new();
        let mut coded = CodedKeys::default();
        let blocks = [
            (vec![Some(0), Some(2), None, Some(0), Some(2)], vec![Some(1), None, None, Some(1), Some(0)]),
            (vec![Some(1), None, Some(0), Some(1), Some(2)], vec![Some(1), None, Some(1), Some(1), None]),
        ];
        for (times, (left, right)) in blocks.into_iter().enumerate() {
            let keys = [key(&left, &letters), key(&right, &words)];
            let mut groups = Vec::new();
            let mut looked_up = 0;
            let is_found = coded.find(&keys, &mut groups, |keys, rows| {
                looked_up = rows;
                let row = |row: usize| (keys[0].value(row), keys[1].value(row));
                let mut ids = Vec::new();
                for row in (0..rows).map(row) {
                    assert!(!known.contains(&row));
                    ids.push(known.len() as u32);
                    known.push(row);
                }
                Ok(ids)
            });
            assert!(is_found.unwrap());
            assert_eq!(looked_up, [4, 1][times]);
            for (row, group) in groups.iter().enumerate() {
                assert_eq!(known[*group as usize], (keys[0].value(row), keys[1].value(row)));
            }
        }
        let plain = Column::from_strings(["a"]);
        assert!(!coded.find(&[plain], &mut Vec::new(), |_, _| Ok(Vec::new())).unwrap());
    }

    #[test]
    fn columns_taken_from_the_same_rows_have_one_digit() {
        let (letters, words): (ArrayRef, ArrayRef) = (
            Arc::new(BinaryArray::from_iter_values(["a", "b", "c"])),
            Arc::new(BinaryArray::from_iter(vec![Some("one"), None, Some("one")])),
        );
        let positions = UInt32Array::from((0..30).map(|row| row * 7 % 3).collect::<Vec<u32>>());
        let nullable = DataType::Nullable(Arc::new(DataType::String));
        let taken = |values: &ArrayRef| Column::new(nullable.clone(), values.clone()).take(&positions).unwrap();
        let keys = [taken(&letters), taken(&words), taken(&letters)];
        let mut groups = Vec::new();
        let mut rows_seen = 0;
        let find = |keys: &[Column], rows: usize| {
            rows_seen += rows;
            Ok((0..rows).map(|row| keys[0].value(row).as_bytes().unwrap()[0].into()).collect())
        };
        let mut coded = CodedKeys::default();
        assert!(coded.find(&keys, &mut groups, find).unwrap());
        assert_eq!(rows_seen, 3);
        assert!((0..30).all(|row| groups[row] == u32::from(keys[0].value(row).as_bytes().unwrap()[0])));
        // The same values in other company are other combinations.
        let other = UInt32Array::from((0..30).map(|row| row / 2 % 3).collect::<Vec<u32>>());
        let apart = Column::new(nullable.clone(), words.clone()).take(&other).unwrap();
        let keys = [taken(&letters), apart, taken(&letters)];
        let mut rows_seen = 0;
        let count = |_: &[Column], rows: usize| {
            rows_seen = rows;
            Ok(vec![0; rows])
        };
        assert!(coded.find(&keys, &mut groups, count).unwrap());
        assert_eq!(rows_seen, 6);
    }
}
