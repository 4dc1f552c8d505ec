//! Arrays as sets: unions and differences, likeness, and what is left without some items. NULL equals NULL here.

use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt32Type};
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, least_supertype};

use super::search::{common_arrays, shared_numbers};
use super::{Lists, Positions, item_type};
use crate::function::BoundFunction;
use crate::scalar::order::row_order;
use crate::scalar::simple::{Call, argument, floats};

type Bound = Result<Arc<dyn BoundFunction>>;

/// The items of several arrays with numbers that are equal for equal items.
struct Shared {
    lists: Vec<Lists>,
    numbers: Vec<Vec<u32>>,
    count: usize,
}

impl Shared {
    fn of(arguments: &[Column], common: &DataType, options: &CastOptions) -> Result<Self> {
        let lists = arguments.iter().map(|column| Lists::of_column(&cast(column, common, options)?));
        let lists = lists.collect::<Result<Vec<_>>>()?;
        let (numbers, count) = shared_numbers(&lists, &options.text)?;
        Ok(Self { lists, numbers, count })
    }

    /// The numbers of a row's items in one of the arrays.
    fn row(&self, array: usize, row: usize) -> Result<&[u32]> {
        let (Some(lists), Some(numbers)) = (self.lists.get(array), self.numbers.get(array)) else {
            return Err(Error::logical("an array is missing"));
        };
        let items = numbers.get(lists.range(row)).unwrap_or_default();
        checkpoint(4 * items.len())?;
        Ok(items)
    }

    /// All items one after the other, and where those of each array begin.
    fn all(&self) -> Result<(Column, Vec<usize>)> {
        let items: Vec<Column> = self.lists.iter().map(|lists| lists.items.clone()).collect();
        let mut starts = vec![0];
        for column in &items {
            starts.push(starts.last().copied().unwrap_or(0) + column.rows());
        }
        Ok((Column::concat(&items)?, starts))
    }
}

/// `arrayUnion(a, …)`: each item once; `arraySymmetricDifference(a, …)`: items that are not in all of them.
pub(super) fn union(call: &Call<'_>, leaves_shared_out: bool) -> Bound {
    call.arguments(1..=usize::MAX)?;
    let (common, options) = common_arrays(call)?;
    call.bind(common.clone(), move |arguments, rows| {
        let shared = Shared::of(arguments, &common, &options)?;
        let (items, starts) = shared.all()?;
        let mut positions = Positions::new(rows);
        // By number: the row that it was last met in, counted from 1, the arrays of that row that had it, and the last of those.
        let mut met = vec![(0usize, 0usize, 0usize); shared.count];
        for row in 0..rows {
            let from = positions.items.len();
            let mut first_numbers = Vec::new();
            for (array, lists) in shared.lists.iter().enumerate() {
                for (at, number) in lists.range(row).zip(shared.row(array, row)?) {
                    let Some(met) = met.get_mut(*number as usize) else { continue };
                    if met.0 != row + 1 {
                        *met = (row + 1, 1, array);
                        positions.extend(std::iter::once(starts[array] + at))?;
                        first_numbers.push(*number);
                    } else if met.2 != array {
                        met.1 += 1;
                        met.2 = array;
                    }
                }
            }
            if leaves_shared_out {
                let arrays = shared.lists.len();
                let own = positions.items.split_off(from);
                let kept = own.into_iter().zip(first_numbers).filter(|(_, number)| met[*number as usize].1 < arrays);
                positions.items.extend(kept.map(|(at, _)| at));
            }
            positions.end_row()?;
        }
        positions.take(&items)
    })
}

/// `arrayExcept(source, others)`.
pub(super) fn except(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let (left, right) = (item_type(call, 0)?, item_type(call, 1)?);
    if left.remove_nullable() != right.remove_nullable() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Function {} requires both arrays to have exactly the same element type. Got {} and {}",
                call.name,
                call.type_of(0),
                call.type_of(1)
            ),
        ));
    }
    if left.inner().is_nested() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Unsupported type {}. Consider arrayFilter(x -> NOT has(exclude, x), source)", call.type_of(0)),
        ));
    }
    let (common, options) = common_arrays(call)?;
    let result = call.type_of(0).clone();
    call.bind(result, move |arguments, rows| {
        let shared = Shared::of(arguments, &common, &options)?;
        let own = Lists::of(arguments, 0)?;
        let mut left_out = vec![0usize; shared.count];
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            for number in shared.row(1, row)? {
                left_out[*number as usize] = row + 1;
            }
            for (at, number) in own.range(row).zip(shared.row(0, row)?) {
                if left_out[*number as usize] != row + 1 {
                    positions.extend(std::iter::once(at))?;
                }
            }
            positions.end_row()?;
        }
        positions.take(&own.items)
    })
}

/// `arrayRemove(array, value)`.
pub(super) fn remove(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let item = item_type(call, 0)?.remove_low_cardinality().clone();
    let common = least_supertype(&[item, call.type_of(1).remove_low_cardinality().clone()])?;
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = cast(&lists.items, &common, &options)?;
        let value = cast(argument(arguments, 1)?, &common, &options)?;
        let order = row_order(&items, &value)?;
        let mut positions = Positions::new(rows);
        for row in 0..rows {
            let wanted = if value.is_constant() { 0 } else { row };
            for at in lists.range(row).filter(|at| order(*at, wanted).is_ne()) {
                positions.extend(std::iter::once(at))?;
            }
            positions.end_row()?;
        }
        positions.take(&lists.items)
    })
}

/// `arrayJaccardIndex(a, b)`: how much of the union is in both.
pub(super) fn jaccard(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let (common, options) = common_arrays(call)?;
    call.bind(DataType::Float64, move |arguments, rows| {
        let shared = Shared::of(arguments, &common, &options)?;
        let mut met = vec![(0usize, 0usize); shared.count];
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (mut union, mut both) = (0u64, 0u64);
            for array in 0..2 {
                for number in shared.row(array, row)? {
                    let met = &mut met[*number as usize];
                    if met.0 != row + 1 {
                        *met = (row + 1, array);
                        union += 1;
                    } else if met.1 != array && array == 1 {
                        met.1 = 1;
                        both += 1;
                    }
                }
            }
            if union == 0 {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    "array aggregate functions cannot be performed on two empty arrays",
                ));
            }
            values.push(both as f64 / union as f64);
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
    })
}

/// `arrayLevenshteinDistance(from, to)`: the fewest items to insert, delete or replace.
pub(super) fn levenshtein(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    item_type(call, 0)?;
    item_type(call, 1)?;
    // Items of types that have nothing in common are all different.
    let Ok((common, options)) = common_arrays(call) else {
        return call.bind(DataType::UInt32, |arguments, rows| {
            let (left, right) = (Lists::of(arguments, 0)?, Lists::of(arguments, 1)?);
            let most = |row: usize| left.range(row).len().max(right.range(row).len()) as u32;
            Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, (0..rows).map(most).collect()))
        });
    };
    call.bind(DataType::UInt32, move |arguments, rows| {
        let shared = Shared::of(arguments, &common, &options)?;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (left, right) = (shared.row(0, row)?, shared.row(1, row)?);
            values.push(distance(left, right)?);
        }
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, values))
    })
}

/// The fewest items to insert, delete or replace.
fn distance(left: &[u32], right: &[u32]) -> Result<u32> {
    let mut row: Vec<u32> = (0..=right.len() as u32).collect();
    for (at, from) in left.iter().enumerate() {
        checkpoint(2 * right.len())?;
        let (mut diagonal, mut before) = (at as u32, at as u32 + 1);
        for (other, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + u32::from(from != other);
            diagonal = *cell;
            before = replaced.min(diagonal + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = at as u32 + 1;
        }
    }
    Ok(row.last().copied().unwrap_or(0))
}

/// `arrayLevenshteinDistanceWeighted(from, to, weights, weights)`, and `arraySimilarity`: how much of all weight needs no change.
pub(super) fn weighted(call: &Call<'_>, is_similarity: bool) -> Bound {
    call.arguments(4..=4)?;
    for at in 0..4 {
        let item = item_type(call, at)?;
        if at > 1 && !item.is_number() {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Argument {} of function {} must be a numeric array. Found {item} instead", at + 1, call.name),
            ));
        }
    }
    let pair = Call { arguments: call.arguments.get(..2).unwrap_or_default(), ..*call };
    let (common, options) = common_arrays(&pair)?;
    let name = call.name;
    call.bind(DataType::Float64, move |arguments, rows| {
        let shared = Shared::of(arguments.get(..2).unwrap_or_default(), &common, &options)?;
        let weights = [2, 3].map(|at| -> Result<(Lists, Vec<f64>)> {
            let lists = Lists::of(arguments, at)?;
            let count = lists.items.rows();
            let values = floats(std::slice::from_ref(&lists.items), 0, count)?;
            Ok((lists, values))
        });
        let [left_weights, right_weights] = weights;
        let (left_weights, right_weights) = (left_weights?, right_weights?);
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (left, right) = (shared.row(0, row)?, shared.row(1, row)?);
            let of_left = &left_weights.1[left_weights.0.range(row)];
            let of_right = &right_weights.1[right_weights.0.range(row)];
            for (first, items, own) in [(1, left.len(), of_left.len()), (2, right.len(), of_right.len())] {
                if items != own {
                    return Err(Error::new(
                        ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH,
                        format!(
                            "Arguments {first} (size {items}) and {} (size {own}) of function {name} must be arrays \
                             of the same size",
                            first + 2
                        ),
                    ));
                }
            }
            let total: f64 = of_left.iter().sum::<f64>() + of_right.iter().sum::<f64>();
            let changed = weighted_distance(left, right, of_left, of_right)?;
            values.push(match (is_similarity, total == 0.0) {
                (false, _) => changed,
                (true, true) => 1.0,
                (true, false) => 1.0 - changed / total,
            });
        }
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
    })
}

/// The least weight of items deleted and inserted to come from one array to the other; a replaced item is both.
fn weighted_distance(left: &[u32], right: &[u32], left_weights: &[f64], right_weights: &[f64]) -> Result<f64> {
    let mut row: Vec<f64> = vec![0.0; right.len() + 1];
    for (to, weight) in right_weights.iter().enumerate() {
        row[to + 1] = row[to] + weight;
    }
    for (at, from) in left.iter().enumerate() {
        checkpoint(2 * right.len())?;
        let mut diagonal = row[0];
        row[0] += left_weights[at];
        for (to, other) in right.iter().enumerate() {
            let kept = if from == other { diagonal } else { diagonal + left_weights[at] + right_weights[to] };
            diagonal = row[to + 1];
            row[to + 1] = kept.min(diagonal + left_weights[at]).min(row[to] + right_weights[to]);
        }
    }
    Ok(row.last().copied().unwrap_or(0.0))
}
