//! Functions that choose, count or order the items of the first array by what the lambda says of them.

use std::ops::Range;

use arrow_array::types::UInt32Type;
use arrow_array::{Array, BooleanArray, UInt32Array};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use super::flat::arrays_of;
use super::{Applied, Call, Finish};
use crate::bits::bits_of;
use crate::scalar::array::{list_column, take_or_default};
use crate::scalar::kernel::{bytes_column, truth};
use crate::scalar::order::{ItemOrder, row_order};

type Settled = Result<Finish>;

impl Applied<'_> {
    /// For each item 1 where the lambda gave neither 0 nor NULL, otherwise 0.
    fn holds(&self) -> Result<Vec<u8>> {
        let mut holds = truth(&self.results, self.arrays.items())?;
        if let Some(nulls) = self.results.nulls() {
            if self.results.is_constant() {
                holds.fill(0);
            } else {
                holds.iter_mut().zip(nulls.iter()).for_each(|(holds, is_valid)| *holds &= u8::from(is_valid));
            }
        }
        Ok(holds)
    }
}

/// The end of the array from which a search begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

impl End {
    fn find(self, holds: &[u8], mut range: Range<usize>) -> Option<usize> {
        let is_wanted = |at: &usize| holds[*at] != 0;
        match self {
            Self::First => range.find(is_wanted),
            Self::Last => range.rfind(is_wanted),
        }
    }
}

/// `arrayFilter`: the items for which the lambda holds.
pub(super) fn filter(call: &Call<'_>) -> Settled {
    call.condition()?;
    let item = call.item.clone();
    Finish::new(DataType::array(item.clone()), move |applied| {
        let holds = applied.holds()?;
        let mut ends = Vec::with_capacity(applied.arrays.rows() + 1);
        ends.push(0);
        let mut end = 0;
        for range in applied.arrays.ranges() {
            end += holds[range].iter().map(|holds| i32::from(*holds)).sum::<i32>();
            ends.push(end);
        }
        let mask = BooleanArray::new(bits_of(&holds), None);
        list_column(&item, ends, squall_types::kernels::filter(&**applied.items.array(), &mask)?)
    })
}

/// What is asked of the items for which the lambda holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holding {
    Count,
    Any,
    All,
}

/// `arrayCount`, `arrayExists`, `arrayAll`.
pub(super) fn holding(call: &Call<'_>, holding: Holding) -> Settled {
    call.condition()?;
    let result = if holding == Holding::Count { DataType::UInt32 } else { DataType::UInt8 };
    Finish::new(result, move |applied| {
        let holds = applied.holds()?;
        let ranges = applied.arrays.ranges();
        Ok(match holding {
            Holding::Count => {
                let count = |range: Range<usize>| holds[range].iter().map(|holds| u32::from(*holds)).sum();
                Column::from_primitive::<UInt32Type>(DataType::UInt32, ranges.map(count).collect())
            }
            Holding::Any => bytes_column(ranges.map(|range| u8::from(holds[range].contains(&1))).collect()),
            Holding::All => bytes_column(ranges.map(|range| u8::from(!holds[range].contains(&0))).collect()),
        })
    })
}

/// `arrayFirst`, `arrayLast`: the item, or the type's default, or NULL.
pub(super) fn one(call: &Call<'_>, end: End, or_null: bool) -> Settled {
    call.condition()?;
    let item = call.item;
    if or_null && !item.to_nullable().is_nullable() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Nested type {item} cannot be inside Nullable type"),
        ));
    }
    let result = if or_null { item.to_nullable() } else { item.clone() };
    Finish::new(result.clone(), move |applied| {
        let holds = applied.holds()?;
        let positions: Vec<Option<u32>> =
            applied.arrays.ranges().map(|range| end.find(&holds, range).map(|at| at as u32)).collect();
        let items = match applied.items.data_type() == &result {
            true => applied.items.clone(),
            false => cast(applied.items, &result, &CastOptions::default())?,
        };
        take_or_default(&items, &positions)
    })
}

/// `arrayFirstIndex`, `arrayLastIndex`: from 1; 0 where there is none.
pub(super) fn index(call: &Call<'_>, end: End) -> Settled {
    call.condition()?;
    Finish::new(DataType::UInt32, move |applied| {
        let holds = applied.holds()?;
        let of_row = |range: Range<usize>| {
            let start = range.start;
            end.find(&holds, range).map_or(0, |at| (at - start + 1) as u32)
        };
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, applied.arrays.ranges().map(of_row).collect()))
    })
}

/// `arrayFill`, `arrayReverseFill`: an item for which the lambda does not hold becomes its neighbour.
pub(super) fn fill(call: &Call<'_>, is_reversed: bool) -> Settled {
    call.condition()?;
    let item = call.item.clone();
    Finish::new(DataType::array(item.clone()), move |applied| {
        let holds = applied.holds()?;
        let mut positions: Vec<u32> = (0..holds.len() as u32).collect();
        for range in applied.arrays.ranges() {
            if is_reversed {
                for at in range.rev().skip(1).filter(|at| holds[*at] == 0) {
                    positions[at] = positions[at + 1];
                }
            } else {
                for at in range.skip(1).filter(|at| holds[*at] == 0) {
                    positions[at] = positions[at - 1];
                }
            }
        }
        applied.arrays.arrays(&item, &applied.items.take(&UInt32Array::from(positions))?)
    })
}

/// `arraySplit`, `arrayReverseSplit`: the array is cut before, or after, the items for which the lambda holds.
pub(super) fn split(call: &Call<'_>, is_reversed: bool) -> Settled {
    call.condition()?;
    let item = call.item.clone();
    Finish::new(DataType::array(DataType::array(item.clone())), move |applied| {
        let holds = applied.holds()?;
        let (mut inner_ends, mut ends) = (vec![0i32], vec![0i32]);
        for range in applied.arrays.ranges() {
            let last = range.end;
            for at in range {
                // Where a piece ends: after this item.
                let is_cut = if is_reversed { holds[at] != 0 } else { at + 1 < last && holds[at + 1] != 0 };
                if is_cut || at + 1 == last {
                    inner_ends.push((at + 1) as i32);
                }
            }
            ends.push((inner_ends.len() - 1) as i32);
        }
        let pieces = list_column(&item, inner_ends, applied.items.array().clone())?;
        list_column(pieces.data_type(), ends, pieces.array().clone())
    })
}

/// `arrayCompact`: without items whose result equals the one before.
pub(super) fn compact(call: &Call<'_>) -> Settled {
    let result = DataType::array(call.item.clone());
    Finish::new(result, |applied| {
        let results = applied.results.materialize()?;
        let order = row_order(&results, &results)?;
        let (mut positions, mut ends) = (Vec::new(), vec![0i32]);
        for range in applied.arrays.ranges() {
            let start = range.start;
            positions.extend(range.filter(|at| *at == start || order(*at, at - 1).is_ne()).map(|at| at as u32));
            ends.push(positions.len() as i32);
        }
        arrays_of(applied.items, positions, ends)
    })
}

/// `arraySort` and its kin: items in the order of their results.
pub(super) fn sort(call: &Call<'_>, is_reversed: bool) -> Settled {
    let item = call.item.clone();
    Finish::new(DataType::array(item.clone()), move |applied| {
        if applied.results.is_constant() {
            return applied.arrays.arrays(&item, applied.items);
        }
        let order = ItemOrder::new(&applied.results, is_reversed)?;
        let mut positions: Vec<u32> = (0..applied.results.array().len() as u32).collect();
        for (row, range) in applied.arrays.ranges().enumerate() {
            match applied.limit(row) {
                0 => order.sort(&mut positions[range])?,
                limit => order.sort_first(&mut positions[range], limit)?,
            }
        }
        applied.arrays.arrays(&item, &applied.items.take(&UInt32Array::from(positions))?)
    })
}

/// `arrayTopK`, `arrayBottomK`: the items with the greatest or the least results, in their order; those with NULL are left out.
pub(super) fn extremes(call: &Call<'_>, are_greatest: bool) -> Settled {
    let item = call.item.clone();
    Finish::new(DataType::array(item.clone()), move |applied| {
        let results = applied.results.materialize()?;
        let order = ItemOrder::new(&results, are_greatest)?;
        let nulls = results.nulls().cloned();
        let (mut positions, mut ends) = (Vec::new(), vec![0i32]);
        for (row, range) in applied.arrays.ranges().enumerate() {
            let mut own: Vec<u32> = range.map(|at| at as u32).collect();
            own.retain(|at| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at as usize)));
            order.sort(&mut own)?;
            own.truncate(applied.limit(row));
            positions.extend(own);
            ends.push(positions.len() as i32);
        }
        arrays_of(applied.items, positions, ends)
    })
}
