//! The smallest and the largest of some values: all that a scan must know of the keys of a join to pass over rows without a partner.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use squall_types::{Column, Value, match_primitive};

/// The ends of the values that are not NULL.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueEnds {
    /// The smallest and the largest; `None` where there are no values.
    pub ends: Option<(Value, Value)>,
}

impl ValueEnds {
    /// No values.
    pub const NOTHING: Self = Self { ends: None };

    /// The ends of a column whose values are held as integers of up to 64 bits, as dates and times are too; `None` of any other one.
    pub fn of(column: &Column) -> Option<Self> {
        let array = column.array();
        if !array.data_type().is_integer() {
            return None;
        }
        let rows = match_primitive!(array.data_type(), T => rows_of_ends::<T>(array.as_primitive()), _ => return None);
        Some(Self { ends: rows.map(|(low, high)| (column.value(low), column.value(high))) })
    }

    /// The ends of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let ends = match (self.ends, other.ends) {
            (Some((low, high)), Some((other_low, other_high))) => Some((
                if other_low.compare(&low) == Ordering::Less { other_low } else { low },
                if other_high.compare(&high) == Ordering::Greater { other_high } else { high },
            )),
            (ends, other) => ends.or(other),
        };
        Self { ends }
    }
}

/// The row of the smallest value and that of the largest one.
fn rows_of_ends<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Option<(usize, usize)> {
    let values = array.values();
    let mut ends: Option<(T::Native, T::Native)> = None;
    let mut add = |values: &[T::Native]| {
        let Some(first) = values.first() else { return };
        // Without a way out of the loop, so that it becomes vector instructions.
        ends = Some(values.iter().fold(ends.unwrap_or((*first, *first)), |(low, high), value| {
            (if *value < low { *value } else { low }, if *value > high { *value } else { high })
        }));
    };
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => add(values),
        Some(nulls) => nulls.valid_slices().for_each(|(from, to)| add(values.get(from..to).unwrap_or_default())),
    }
    let (low, high) = ends?;
    let row_of = |wanted| (0..values.len()).find(|row| values.get(*row) == Some(&wanted) && array.is_valid(*row));
    row_of(low).zip(row_of(high))
}
