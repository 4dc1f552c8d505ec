//! The codes of one key's rows, and what they stand for: values of a dictionary, strings of a join's build side, or numbers that are close to
//! each other.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use squall_types::Column;

/// Numbers that are farther apart are not codes.
const NUMBERS_MAX: i64 = 1 << 12;
/// Many values are too many where there are more of them for each row.
const VALUES_PER_ROW_MAX: usize = 64;

/// What the codes of a key stand for.
#[derive(Clone)]
pub(super) enum Meaning {
    /// Values by their places, and which of them stand for NULL.
    Values(ArrayRef, Option<NullBuffer>),
    /// Numbers from the first of these on.
    Numbers(i64, i64),
}

impl Meaning {
    /// Whether codes stand for the same. What is known is held, so that nothing else gets to its place in memory.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Values(known, nulls), Self::Values(other, other_nulls)) => {
                let bits =
                    |nulls: &Option<NullBuffer>| nulls.as_ref().map(|nulls| (nulls.buffer().as_ptr(), nulls.offset()));
                are_same(known, other) && bits(nulls) == bits(other_nulls)
            }
            (Self::Numbers(low, high), Self::Numbers(other_low, other_high)) => (low, high) == (other_low, other_high),
            _ => false,
        }
    }
}

/// Whether two arrays are one, or strings of the same bytes at the same places in memory.
fn are_same(known: &ArrayRef, other: &ArrayRef) -> bool {
    let strings = |array: &ArrayRef| {
        let strings = array.as_binary_opt::<i32>()?;
        Some((strings.len(), strings.value_offsets().as_ptr(), strings.values().as_ptr(), strings.null_count()))
    };
    Arc::ptr_eq(known, other) || strings(known).is_some_and(|known| strings(other) == Some(known))
}

/// The codes of a key's rows.
pub(super) struct KeyCodes<'a> {
    pub(super) codes: Cow<'a, [u32]>,
    /// How many there are.
    pub(super) values: usize,
    /// Which rows are NULL, where the codes do not tell.
    pub(super) nulls: Option<&'a NullBuffer>,
    pub(super) meaning: Meaning,
}

impl<'a> KeyCodes<'a> {
    /// Those of rows that are codes.
    pub(super) fn of_values(key: &'a Column) -> Option<Self> {
        let dictionary = key.dictionary()?;
        let coded = key.coded();
        // What is known of codes is a word for each value.
        if coded
            .is_some_and(|coded| coded.has_many_values() && coded.values().len() > VALUES_PER_ROW_MAX * coded.rows())
        {
            return None;
        }
        let null_values = coded.and_then(|coded| coded.null_values());
        let nulls = dictionary.keys().nulls().filter(|nulls| nulls.null_count() > 0 && null_values.is_none());
        Some(Self {
            codes: Cow::Borrowed(dictionary.keys().values()),
            values: dictionary.values().len(),
            nulls,
            meaning: Meaning::Values(dictionary.values().clone(), null_values.cloned()),
        })
    }

    /// Those of numbers; `span` becomes that of all so far. `None` where they are too far apart.
    pub(super) fn of_numbers(key: &Column, span: &mut Option<(i64, i64)>) -> Option<Self> {
        fn codes<T: ArrowPrimitiveType>(array: &ArrayRef, span: &mut Option<(i64, i64)>) -> Option<Vec<u32>>
        where
            T::Native: Into<i64> + Ord,
        {
            let numbers = array.as_primitive::<T>().values();
            let (low, high) = ((*numbers.iter().min()?).into(), (*numbers.iter().max()?).into());
            let (low, high) = span.map_or((low, high), |(least, most)| (least.min(low), most.max(high)));
            if high.checked_sub(low)? >= NUMBERS_MAX {
                return None;
            }
            *span = Some((low, high));
            Some(numbers.iter().map(|number| ((*number).into() - low) as u32).collect())
        }
        if key.nulls().is_some() {
            return None;
        }
        let array = key.array();
        let codes = match array.data_type() {
            ArrowType::UInt8 => codes::<UInt8Type>(array, span),
            ArrowType::UInt16 => codes::<UInt16Type>(array, span),
            ArrowType::UInt32 => codes::<UInt32Type>(array, span),
            ArrowType::Int8 => codes::<Int8Type>(array, span),
            ArrowType::Int16 => codes::<Int16Type>(array, span),
            ArrowType::Int32 => codes::<Int32Type>(array, span),
            ArrowType::Int64 => codes::<Int64Type>(array, span),
            _ => None,
        }?;
        let (low, high) = (*span)?;
        Some(Self {
            codes: Cow::Owned(codes),
            values: (high - low + 1) as usize,
            nulls: None,
            meaning: Meaning::Numbers(low, high),
        })
    }
}
