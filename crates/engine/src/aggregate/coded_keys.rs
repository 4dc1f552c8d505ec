//! Keys that are codes of few values: the group of each combination of codes is looked up once, and rows find it by their codes alone.
//! Columns that a join takes from the same rows of its build side have the same codes, which count as one. Numbers that are close to each
//! other are codes, too, where they stand beside such keys.

use arrow_array::UInt32Array;
use arrow_buffer::NullBuffer;
use squall_types::{Column, Result, grow};

use super::key_codes::{KeyCodes, Meaning};

/// A combination that has not been looked up.
const UNKNOWN: u32 = u32::MAX - 1;
/// A combination that is about to be.
const WANTED: u32 = u32::MAX - 2;

/// More combinations of several keys' codes take too much memory.
const COMBINATIONS_MAX: usize = 1 << 22;
/// There may be so many combinations for each row that has come with the same values.
const COMBINATIONS_PER_ROW_MAX: usize = 8;
/// So often may numbers come that are outside of those before: each time all combinations are looked up again.
const NUMBERS_GROW_MAX: usize = 16;

/// Which group each combination of codes has, of the values that the last rows had.
#[derive(Default)]
pub(super) struct CodedKeys {
    /// What the codes of each key mean.
    meanings: Vec<Meaning>,
    /// What combinations mean.
    shape: Vec<Place>,
    /// Rows that have come with these.
    rows: usize,
    /// Empty until there are enough of them.
    groups: Vec<u32>,
    /// By key: the smallest and the largest number so far.
    spans: Vec<Option<(i64, i64)>>,
    /// How often these have grown.
    grown: usize,
}

impl CodedKeys {
    /// Whether keys of so many combinations are few enough for so many rows, should they be codes.
    pub(super) fn suit(combinations: f64, rows: f64) -> bool {
        combinations <= COMBINATIONS_MAX as f64 && combinations <= rows * COMBINATIONS_PER_ROW_MAX as f64
    }

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
        let Some(codes) = self.codes(keys) else { return Ok(false) };
        let number = Number::new(&codes);
        if !self.begin(&codes, &number)? {
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

    /// The codes of all keys, of which one at least has values of its own.
    fn codes<'a>(&mut self, keys: &'a [Column]) -> Option<Vec<KeyCodes<'a>>> {
        if !keys.iter().any(|key| key.dictionary().is_some()) || self.grown > NUMBERS_GROW_MAX {
            return None;
        }
        self.spans.resize(keys.len(), None);
        let mut codes = Vec::with_capacity(keys.len());
        for (key, span) in keys.iter().zip(&mut self.spans) {
            let before = *span;
            codes.push(KeyCodes::of_values(key).or_else(|| KeyCodes::of_numbers(key, span))?);
            self.grown += usize::from(before.is_some() && before != *span);
        }
        Some(codes)
    }

    /// Makes ready for rows of these codes; whether their combinations are few enough.
    fn begin(&mut self, codes: &[KeyCodes<'_>], number: &Number<'_>) -> Result<bool> {
        let (Some(first), Some(combinations)) = (codes.first(), number.combinations()) else { return Ok(false) };
        // The codes of one key are never too many.
        let has_several = codes.len() > 1;
        if has_several && combinations > COMBINATIONS_MAX {
            return Ok(false);
        }
        let is_known = self.meanings.len() == codes.len()
            && self.meanings.iter().zip(codes).all(|(known, codes)| known.is(&codes.meaning))
            && self.shape == number.shape;
        if !is_known {
            self.meanings = codes.iter().map(|codes| codes.meaning.clone()).collect();
            self.shape.clone_from(&number.shape);
            self.rows = 0;
            self.groups.clear();
        }
        if self.groups.is_empty() {
            self.rows += first.codes.len();
            if has_several && combinations > self.rows.saturating_mul(COMBINATIONS_PER_ROW_MAX) {
                return Ok(false);
            }
            grow(&mut self.groups, combinations)?;
            self.groups.resize(combinations, UNKNOWN);
        }
        Ok(true)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<u32>()
    }
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
    fn new(keys: &'a [KeyCodes<'a>]) -> Self {
        let (mut digits, mut shape) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for key in keys {
            let own: &[u32] = &key.codes;
            let is_it = |digit: &Digit<'_>| match digit {
                Digit::Codes(known, values) => std::ptr::eq(*known, own) && *values == key.values,
                Digit::IsNull(_) => false,
            };
            let codes = digits.iter().position(is_it).unwrap_or_else(|| {
                digits.push(Digit::Codes(own, key.values));
                digits.len() - 1
            });
            shape.push(Place { codes, may_be_null: key.nulls.is_some() });
            digits.extend(key.nulls.map(Digit::IsNull));
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
    use std::sync::Arc;

    use arrow_array::types::UInt16Type;
    use arrow_array::{ArrayRef, BinaryArray, DictionaryArray};
    use squall_types::{Coded, DataType, Rows, SharedStrings};

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

    /// Groups of the first row that looked like each one.
    fn grouped(coded: &mut CodedKeys, keys: &[Column]) -> Option<Vec<Vec<squall_types::Value>>> {
        let (mut groups, mut found) = (Vec::new(), Vec::new());
        let row = |keys: &[Column], row: usize| keys.iter().map(|key| key.value(row)).collect::<Vec<_>>();
        let is_found = coded.find(keys, &mut groups, |keys, rows| {
            found.extend((0..rows).map(|at| row(keys, at)));
            Ok((0..rows as u32).collect())
        });
        is_found.unwrap().then(|| {
            (0..groups.len()).for_each(|at| assert_eq!(found[groups[at] as usize], row(keys, at)));
            found
        })
    }

    #[test]
    fn numbers_are_digits_beside_codes() {
        let letters: ArrayRef = Arc::new(BinaryArray::from_iter_values(["a", "b", "c"]));
        let letter = key(&(0..60).map(|row| Some(row * 7 % 3)).collect::<Vec<_>>(), &letters);
        let years = |first: u16, step: u16| {
            let years = (0..60).map(|row| first + row / 20 * step).collect();
            Column::from_primitive::<UInt16Type>(DataType::UInt16, years)
        };
        let mut coded = CodedKeys::default();
        assert_eq!(grouped(&mut coded, &[years(1998, 1), letter.clone()]).unwrap().len(), 9);
        // Others than before begin anew, and some are too far from each other.
        assert_eq!(grouped(&mut coded, &[years(2001, 2), letter.clone()]).unwrap().len(), 9);
        assert_eq!(coded.spans[0], Some((1998, 2005)));
        assert!(grouped(&mut coded, &[years(2001, 2_000), letter.clone()]).is_none());
        assert!(grouped(&mut CodedKeys::default(), &[years(1998, 1), years(1998, 1)]).is_none());
        for first in (0..4_000).step_by(100) {
            grouped(&mut coded, &[years(first, 1), letter.clone()]);
        }
        assert!(grouped(&mut coded, &[years(1998, 1), letter]).is_none(), "they grow for ever");
    }

    #[test]
    fn many_combinations_wait_for_enough_rows() {
        let letters: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..40).map(|value| value.to_string())));
        let columns = |rows: u32| {
            [1, 7, 11].map(|step| key(&(0..rows).map(|row| Some(row * step % 40)).collect::<Vec<_>>(), &letters))
        };
        let mut coded = CodedKeys::default();
        for _ in 0..7 {
            assert!(grouped(&mut coded, &columns(1_000)).is_none());
        }
        assert!(grouped(&mut coded, &columns(1_000)).is_some());
    }

    #[test]
    fn what_tells_the_value_tells_whether_it_is_null() {
        let words: ArrayRef = Arc::new(BinaryArray::from_iter(vec![Some("one"), None, Some("two"), Some("")]));
        let nullable = DataType::Nullable(Arc::new(DataType::String));
        let positions = UInt32Array::from((0..8).map(|row| row * 3 % 4).collect::<Vec<u32>>());
        let taken = Column::of_rows(nullable, SharedStrings::of(&words).unwrap().take(&positions).unwrap());
        let mut coded = CodedKeys::default();
        assert_eq!(grouped(&mut coded, &[taken.clone(), taken.clone()]).unwrap().len(), 4);
        assert_eq!(coded.groups.len(), 4);
        // Rows that are NULL for another reason are not told by their values.
        let some = UInt32Array::from(vec![Some(0), Some(1), None, Some(3), None, Some(5), Some(6), None]);
        let fewer = taken.take(&some).unwrap();
        assert!(grouped(&mut coded, &[fewer.clone(), fewer]).unwrap().len() >= 4);
        assert_eq!(coded.groups.len(), 16);
    }
}
