//! Strings of which rows are taken again and again, as of the build side of a join. Rows are [codes](Coded) of them, and no string is copied.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, DictionaryArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::coded::{Coded, Lengths};
use crate::error::Result;
use crate::rows::Rows;

/// The strings.
#[derive(Debug)]
pub struct SharedStrings {
    values: ArrayRef,
    null_values: Option<Arc<NullBuffer>>,
    lengths: Lengths,
}

impl SharedStrings {
    /// More values are not looked at, as that would take long.
    const VALUES_MAX: usize = 1 << 20;

    /// The strings of an array; `None` where it has other values, or very many.
    pub fn of(array: &ArrayRef) -> Option<Self> {
        let strings = array.as_binary_opt::<i32>().filter(|strings| strings.len() <= Self::VALUES_MAX)?;
        let null_values = strings.nulls().filter(|nulls| nulls.null_count() > 0).map(|nulls| Arc::new(nulls.clone()));
        let values: ArrayRef = match &null_values {
            None => array.clone(),
            // A value is none of these NULLs.
            Some(_) => Arc::new(BinaryArray::try_new(strings.offsets().clone(), strings.values().clone(), None).ok()?),
        };
        Some(Self { values, null_values, lengths: Lengths::of(strings) })
    }

    /// The rows whose codes are the numbers of strings here, NULL where the codes are.
    ///
    /// # Errors
    /// As those of [`Coded::to_array`].
    pub fn rows(&self, codes: &UInt32Array) -> Result<Rows> {
        if codes.null_count() == 0 {
            return self.take(codes);
        }
        let codes = match &self.null_values {
            None => codes.clone(),
            Some(nulls) => codes.iter().map(|code| code.filter(|code| nulls.is_valid(*code as usize))).collect(),
        };
        Coded::of_shared(DictionaryArray::try_new(codes, self.values.clone())?, self.lengths, None)
    }

    /// The rows at these positions, none of which is NULL.
    ///
    /// # Errors
    /// As those of [`Coded::to_array`].
    pub fn take(&self, positions: &UInt32Array) -> Result<Rows> {
        let at = positions.values();
        let nulls = self.null_values.as_ref().map(|nulls| {
            NullBuffer::new(BooleanBuffer::collect_bool(at.len(), |row| nulls.is_valid(at[row] as usize)))
        });
        let codes = DictionaryArray::try_new(UInt32Array::try_new(at.clone(), nulls)?, self.values.clone())?;
        Coded::of_shared(codes, self.lengths, self.null_values.clone())
    }
}
