//! A join's only key as codes of few strings: each string is looked up once for all rows of its dictionary, and rows find the first partner by
//! their codes.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use parking_lot::Mutex;
use squall_storage::key_index::NO_ROW;
use squall_types::{Coded, Column, DataType, Result};

/// Dictionaries that are remembered: as many chunks as workers may be at, about.
const DICTIONARIES_MAX: usize = 16;

/// So many strings may be looked up for each row of the first block that has them.
const VALUES_PER_ROW_MAX: usize = 4;

/// The first partners of the strings of some dictionaries.
#[derive(Default)]
pub(super) struct CodedProbe {
    known: Mutex<Vec<Known>>,
}

struct Known {
    /// Held, so that no other dictionary gets to its place in memory.
    values: ArrayRef,
    first: Arc<[u32]>,
}

impl CodedProbe {
    /// The first partner of each row of a key, [`NO_ROW`] where there is none; `None` where its strings are no codes. `look_up` finds those of a
    /// dictionary's strings.
    ///
    /// # Errors
    /// Those of `look_up`.
    pub(super) fn find(
        &self,
        key: &Column,
        look_up: impl FnOnce(&Column) -> Result<Vec<u32>>,
    ) -> Result<Option<Vec<u32>>> {
        let Some(coded) = key.coded() else { return Ok(None) };
        let Some(first) = self.first(coded, look_up)? else { return Ok(None) };
        let of_code = |code: &u32| first.get(*code as usize).copied().unwrap_or(NO_ROW);
        let mut found: Vec<u32> = coded.codes().values().iter().map(of_code).collect();
        if let Some(nulls) = coded.nulls().filter(|nulls| nulls.null_count() > 0) {
            found.iter_mut().zip(nulls).filter(|(_, is_valid)| !is_valid).for_each(|(row, _)| *row = NO_ROW);
        }
        Ok(Some(found))
    }

    /// The first partner of each string of a dictionary; `None` where there are few rows for so many strings.
    fn first(&self, coded: &Coded, look_up: impl FnOnce(&Column) -> Result<Vec<u32>>) -> Result<Option<Arc<[u32]>>> {
        let known = |all: &[Known]| {
            all.iter().find(|known| Arc::ptr_eq(&known.values, coded.values())).map(|known| known.first.clone())
        };
        if let Some(first) = known(&self.known.lock()) {
            return Ok(Some(first));
        }
        if coded.values().len() > coded.rows() * VALUES_PER_ROW_MAX {
            return Ok(None);
        }
        // Another worker may look the same strings up: that takes less than to wait for it.
        let strings = Column::new(DataType::String, coded.values().clone());
        let first: Arc<[u32]> = look_up(&strings)?.into();
        let mut all = self.known.lock();
        if all.len() >= DICTIONARIES_MAX {
            all.remove(0);
        }
        all.push(Known { values: coded.values().clone(), first: first.clone() });
        Ok(Some(first))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt32Type;
    use arrow_array::{BinaryArray, DictionaryArray, UInt32Array};
    use squall_types::Rows;

    use super::*;

    #[test]
    fn each_string_is_looked_up_once() {
        let values: ArrayRef = Arc::new(BinaryArray::from_iter_values(["a", "bb", "ccc"]));
        let codes = UInt32Array::from(vec![Some(2), Some(0), None, Some(1), Some(2), Some(2)]);
        let codes = DictionaryArray::<UInt32Type>::new(codes, values);
        let key =
            Column::of_rows(DataType::Nullable(Arc::new(DataType::String)), Rows::Coded(Coded::new(codes).unwrap()));
        let probe = CodedProbe::default();
        // Strings of two bytes have no partner.
        let look_up = |strings: &Column| {
            let strings = strings.array().as_binary::<i32>();
            let partner = |string: Option<&[u8]>| match string?.len() {
                2 => None,
                length => Some(length as u32 * 10),
            };
            Ok(strings.iter().map(|string| partner(string).unwrap_or(NO_ROW)).collect())
        };
        let expected = vec![30, 10, NO_ROW, NO_ROW, 30, 30];
        assert_eq!(probe.find(&key, look_up).unwrap(), Some(expected.clone()));
        assert_eq!(probe.find(&key, |_| panic!("looked up again")).unwrap(), Some(expected));
        let plain = Column::new(DataType::String, Arc::new(BinaryArray::from_iter_values(["a"])));
        assert_eq!(probe.find(&plain, |_| panic!("no codes")).unwrap(), None);
    }
}
