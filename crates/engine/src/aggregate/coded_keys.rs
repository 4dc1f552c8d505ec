//! Keys that are codes of few values: the group of each combination of codes is looked up once, and rows find it by their codes alone.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, UInt32Array};
use squall_types::{Column, Result};

/// A combination that has not been looked up.
const UNKNOWN: u32 = u32::MAX - 1;
/// A combination that is about to be.
const WANTED: u32 = u32::MAX - 2;

/// More combinations of several keys' codes do not stay in the cache.
const COMBINATIONS_MAX: usize = 1 << 16;
/// Where the values are others than before, there may be so many combinations for each row.
const COMBINATIONS_PER_ROW_MAX: usize = 4;

/// Which group each combination of codes has, of the values that the last rows had.
#[derive(Default)]
pub(super) struct CodedKeys {
    /// The values of each key.
    values: Vec<ArrayRef>,
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
        if !self.begin(&codes) {
            return Ok(false);
        }
        combine(&codes, groups);
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
    fn begin(&mut self, codes: &[&DictionaryArray<UInt32Type>]) -> bool {
        let (Some(first), Some(combinations)) = (codes.first(), combinations(codes)) else { return false };
        if codes.len() > 1 && combinations > COMBINATIONS_MAX {
            return false;
        }
        let is_known = |(known, codes): (&ArrayRef, &&DictionaryArray<UInt32Type>)| Arc::ptr_eq(known, codes.values());
        if self.values.len() == codes.len() && self.values.iter().zip(codes).all(is_known) {
            return true;
        }
        if codes.len() > 1 && combinations > first.len().saturating_mul(COMBINATIONS_PER_ROW_MAX) {
            return false;
        }
        self.values = codes.iter().map(|codes| codes.values().clone()).collect();
        self.groups.clear();
        self.groups.resize(combinations, UNKNOWN);
        true
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<u32>()
    }
}

/// How many places a key's codes have: one for each value, and one for NULL.
fn places(codes: &DictionaryArray<UInt32Type>) -> usize {
    codes.values().len() + 1
}

fn combinations(codes: &[&DictionaryArray<UInt32Type>]) -> Option<usize> {
    let all = codes.iter().try_fold(1_usize, |all, codes| all.checked_mul(places(codes)))?;
    (all < WANTED as usize).then_some(all)
}

/// The number of each row's combination.
fn combine(codes: &[&DictionaryArray<UInt32Type>], combined: &mut Vec<u32>) {
    combined.clear();
    for (at, codes) in codes.iter().enumerate() {
        let (keys, places) = (codes.keys(), places(codes) as u32);
        if at == 0 {
            combined.extend_from_slice(keys.values());
        } else {
            // The code under a NULL may be none.
            let add = |(all, key): (&mut u32, &u32)| *all = all.wrapping_mul(places).wrapping_add(*key);
            combined.iter_mut().zip(keys.values()).for_each(add);
        }
        let Some(nulls) = keys.nulls().filter(|nulls| nulls.null_count() > 0) else { continue };
        for ((all, key), is_valid) in combined.iter_mut().zip(keys.values()).zip(nulls) {
            if !is_valid {
                *all = all.wrapping_sub(*key).wrapping_add(places - 1);
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
}
