//! Maps as sums: `mapAdd`, `mapSubtract`, keys filled up in a row by `mapPopulateSeries`, and `mapUpdate`. The first three take tuples of an
//! array of keys and one of values as well.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use squall_types::cast::{CastOptions, cast};
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result, checkpoint, default_value, match_integer};

use super::{Lists, from_parts};
use crate::function::BoundFunction;
use crate::scalar::order::ItemOrder;
use crate::scalar::set::item_numbers;
use crate::scalar::simple::{Call, argument, integers};
use crate::scalar::tuple::{elements, from_elements};

/// The digits of a decimal of 128 bits.
const DECIMAL128_DIGITS: u8 = 38;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Keys and values of a map, or of a tuple of two arrays.
fn parts(data_type: &DataType) -> Option<(DataType, DataType)> {
    match data_type {
        DataType::Map(key, value) => Some(((**key).clone(), (**value).clone())),
        DataType::Tuple(elements) => match &elements[..] {
            [keys, values] => match (&keys.data_type, &values.data_type) {
                (DataType::Array(key), DataType::Array(value)) => Some(((**key).clone(), (**value).clone())),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Keys and values of all rows, and which are whose.
struct Entries {
    keys: Column,
    values: Column,
    lists: Lists,
    value_lists: Option<Lists>,
}

impl Entries {
    fn of(column: &Column, name: &str, rows: usize) -> Result<Self> {
        if let DataType::Map(..) = column.data_type() {
            let lists = Lists::of_column(column)?;
            let mut parts = elements(&lists.items)?.into_iter();
            let (Some(keys), Some(values)) = (parts.next(), parts.next()) else {
                return Err(Error::logical("map without entries"));
            };
            return Ok(Self { keys, values, lists, value_lists: None });
        }
        let mut arrays = elements(column)?.into_iter();
        let (Some(keys), Some(values)) = (arrays.next(), arrays.next()) else {
            return Err(Error::logical("two arrays expected"));
        };
        let (lists, value_lists) = (Lists::of_column(&keys)?, Lists::of_column(&values)?);
        lists.check_lengths(&value_lists, rows, || {
            format!("Keys and values arrays of function {name} must have equal sizes")
        })?;
        Ok(Self { keys: lists.items.clone(), values: value_lists.items.clone(), lists, value_lists: Some(value_lists) })
    }

    /// The positions of a row's keys and of their values.
    fn row(&self, row: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let keys = self.lists.range(row);
        let values = self.value_lists.as_ref().map_or(keys.start, |lists| lists.range(row).start);
        let start = keys.start;
        keys.map(move |at| (at, values + at - start))
    }
}

/// The error of arrays of unequal lengths with the code that a function has for it.
fn unequal(error: Error, code: ErrorCode) -> Error {
    if error.code == ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH { Error::new(code, error.message) } else { error }
}

/// `mapAdd(map, map, …)`, `mapSubtract`: values of equal keys together, ascending by key.
pub(super) fn combine(call: &Call<'_>, subtracts: bool) -> Bound {
    let name = call.name;
    if call.arguments.len() < 2 {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("{name} accepts at least two maps or map tuples"),
        ));
    }
    let types = (0..call.arguments.len()).map(|at| {
        parts(call.type_of(at))
            .ok_or_else(|| Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("{name} only accepts maps")))
    });
    let types = types.collect::<Result<Vec<_>>>()?;
    let Some((key, _)) = types.first().cloned() else { return Err(call.illegal(0)) };
    let refused = |what: String| Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, what));
    if types.iter().any(|(other, _)| *other != key) {
        return refused(format!("Expected same {key} type for all keys in {name}"));
    }
    let values: Vec<&DataType> = types.iter().map(|(_, value)| value).collect();
    let value = sum_type(name, &values)?;
    let is_map = matches!(call.type_of(0), DataType::Map(..));
    let result = result_type(is_map, &key, &value);
    let text = call.text_options()?;
    call.bind(result.clone(), move |arguments, rows| {
        let entries = arguments.iter().map(|column| Entries::of(column, name, rows)).collect::<Result<Vec<_>>>();
        let entries = entries.map_err(|error| unequal(error, ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH))?;
        let all_keys = Column::concat(&entries.iter().map(|entries| entries.keys.clone()).collect::<Vec<_>>())?;
        let (numbers, _) = item_numbers(&all_keys, &text)?;
        let order = ItemOrder::new(&all_keys, false)?;
        let Merged { chosen, ends, sums } = merged(&entries, &numbers, &order, rows)?;
        let converted = entries.iter().map(|entries| cast(&entries.values, &value, &CastOptions::default()));
        let converted = converted.collect::<Result<Vec<_>>>()?;
        macro_rules! summed {
            ($arrow:ty, $zero:expr, $add:expr, $negate:expr) => {{
                let columns = converted.iter().map(Column::as_primitive::<$arrow>).collect::<Result<Vec<_>>>()?;
                let sum = |values: &Vec<(usize, usize)>| {
                    values.iter().fold($zero, |sum, (at, place)| {
                        let own = columns[*at].value(*place);
                        $add(sum, if subtracts && *at > 0 { $negate(own) } else { own })
                    })
                };
                Column::from_primitive::<$arrow>(value.clone(), sums.iter().map(sum).collect())
            }};
        }
        let values = match value {
            DataType::Float64 => summed!(Float64Type, 0.0, |a: f64, b: f64| a + b, |a: f64| -a),
            DataType::UInt64 => summed!(UInt64Type, 0, u64::wrapping_add, u64::wrapping_neg),
            DataType::Int64 => summed!(Int64Type, 0, i64::wrapping_add, i64::wrapping_neg),
            _ => summed_wide(&value, &converted, &sums, subtracts)?,
        };
        let keys = all_keys.take(&UInt32Array::from(chosen))?;
        finish(&result, keys, values, ends, rows)
    })
}

/// The type of the sums of values of these types.
fn sum_type(name: &str, values: &[&DataType]) -> Result<DataType> {
    let refused = |what: &str| {
        Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, format!("All value types in {name} should be {what}")))
    };
    if values.iter().all(|value| value.is_float()) {
        return Ok(DataType::Float64);
    }
    if values.iter().all(|value| value.is_unsigned_integer()) {
        return Ok(DataType::UInt64);
    }
    if values.iter().all(|value| value.is_integer()) {
        return Ok(DataType::Int64);
    }
    if let Some(wide) =
        values.first().filter(|first| first.is_wide_integer() && values.iter().all(|value| value == *first))
    {
        return Ok((*wide).clone());
    }
    let Some(DataType::Decimal(..)) = values.first() else { return refused("either or float or integer") };
    let sum = |value: &DataType| match value {
        DataType::Decimal(precision, scale) => {
            Some(DataType::Decimal(if *precision > DECIMAL128_DIGITS { 76 } else { DECIMAL128_DIGITS }, *scale))
        }
        _ => None,
    };
    let sums = values.iter().map(|value| sum(value)).collect::<Vec<_>>();
    match &sums[..] {
        [Some(first), others @ ..] if others.iter().all(|other| other.as_ref() == Some(first)) => Ok(first.clone()),
        _ => refused("decimals of one scale"),
    }
}

/// The keys that the maps of each row have together.
struct Merged {
    /// Where each key is among those of all arguments.
    chosen: Vec<u32>,
    /// Where each row's keys end.
    ends: Vec<i32>,
    /// For each chosen key, where its values are and in which arguments.
    sums: Vec<Vec<(usize, usize)>>,
}

/// Merges the keys of each row, in their order; `numbers` tell which are equal.
fn merged(entries: &[Entries], numbers: &[u32], order: &ItemOrder, rows: usize) -> Result<Merged> {
    let starts: Vec<usize> =
        entries.iter().scan(0, |sum, entries| Some(std::mem::replace(sum, *sum + entries.keys.rows()))).collect();
    let (mut chosen, mut ends) = (Vec::new(), vec![0]);
    let mut sums: Vec<Vec<(usize, usize)>> = Vec::new();
    for row in 0..rows {
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut own: Vec<(u32, Vec<(usize, usize)>)> = Vec::new();
        for (at, entries) in entries.iter().enumerate() {
            for (key_at, value_at) in entries.row(row) {
                checkpoint(16)?;
                let position = starts[at] + key_at;
                let place = *places.entry(numbers[position]).or_insert_with(|| {
                    own.push((position as u32, Vec::new()));
                    own.len() - 1
                });
                own[place].1.push((at, value_at));
            }
        }
        own.sort_by(|left, right| order.compare(left.0 as usize, right.0 as usize));
        for (position, values) in own {
            chosen.push(position);
            sums.push(values);
        }
        ends.push(chosen.len() as i32);
    }
    Ok(Merged { chosen, ends, sums })
}

/// The sums of integers past 64 bits, or of decimals that are held as such: of each, the columns and the rows of its terms.
fn summed_wide(value: &DataType, columns: &[Column], sums: &[Vec<(usize, usize)>], subtracts: bool) -> Result<Column> {
    let array = match_integer!(value, T => {
        let columns: Vec<_> = columns.iter().map(|column| T::values(&**column.array())).collect();
        let sum = |terms: &Vec<(usize, usize)>| {
            terms.iter().fold(T::default(), |sum, (at, place)| {
                let own = columns[*at][*place];
                if subtracts && *at > 0 { sum.wrapping_minus(own) } else { sum.wrapping_plus(own) }
            })
        };
        T::array(sums.iter().map(sum).collect(), None)?
    }, _ => return Err(Error::logical("integers were expected")));
    Ok(Column::new(value.clone(), array))
}

fn result_type(is_map: bool, key: &DataType, value: &DataType) -> DataType {
    if is_map {
        return DataType::Map(Arc::new(key.clone()), Arc::new(value.clone()));
    }
    DataType::tuple([DataType::array(key.clone()), DataType::array(value.clone())])
}

/// A map, or a tuple of two arrays, of keys and values of which each row has those up to its end.
fn finish(result: &DataType, keys: Column, values: Column, ends: Vec<i32>, rows: usize) -> Result<Column> {
    if let DataType::Map(..) = result {
        return from_parts(result, &keys, &values, ends);
    }
    let arrays = [&keys, &values]
        .map(|items| crate::scalar::array::list_column(items.data_type(), ends.clone(), items.to_array()?));
    let [keys, values] = arrays;
    from_elements(result, &[keys?, values?], rows)
}

/// Keys that one row may get.
const KEYS_MAX: i64 = 16_777_216;

/// What turns `UInt64` into numbers with a sign of the same order; nothing for others.
fn order_shift(key: &DataType) -> i64 {
    if *key == DataType::UInt64 { i64::MIN } else { 0 }
}

/// Integers as numbers with a sign, in the order of the keys.
fn ordered(column: &Column, key: &DataType, rows: usize) -> Result<Vec<i64>> {
    let own = cast(&cast(column, key, &CastOptions::default())?, &DataType::Int64, &CastOptions::default())?;
    let shift = order_shift(key);
    Ok(integers(&[own], 0, rows)?.into_iter().map(|number| number ^ shift).collect())
}

/// `mapPopulateSeries(map[, last])`, `mapPopulateSeries(keys, values[, last])`: all integers from the least key on, 0 for what is new.
pub(super) fn populate(call: &Call<'_>) -> Bound {
    call.arguments(1..=3)?;
    let is_map = matches!(call.type_of(0), DataType::Map(..));
    let types = match is_map {
        true => parts(call.type_of(0)),
        false => parts(&DataType::tuple([call.type_of(0).clone(), call.type_of(1).clone()])),
    };
    let (key, value) = types.ok_or_else(|| call.illegal(0))?;
    if !key.is_integer() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Function {} key argument should be of signed or unsigned integer type. Actual type {key}",
                call.name
            ),
        ));
    }
    let last_at = if is_map { 1 } else { 2 };
    call.integers([last_at])?;
    let result = result_type(is_map, &key, &value);
    let name = call.name;
    call.bind(result.clone(), move |arguments, rows| {
        let entries = match is_map {
            true => Entries::of(argument(arguments, 0)?, name, rows)?,
            false => {
                let pair = [argument(arguments, 0)?.clone(), argument(arguments, 1)?.clone()];
                let pair_type = DataType::tuple(pair.iter().map(|column| column.data_type().clone()));
                Entries::of(&from_elements(&pair_type, &pair, rows)?, name, rows)
                    .map_err(|error| unequal(error, ErrorCode::BAD_ARGUMENTS))?
            }
        };
        let last =
            if arguments.len() > last_at { Some(ordered(argument(arguments, last_at)?, &key, rows)?) } else { None };
        let count = entries.keys.rows();
        let numbers = ordered(&entries.keys, &key, count)?;
        let none = Column::constant(value.clone(), &default_value(&value), 1)?.materialize()?;
        let all_values = Column::concat(&[entries.values.clone(), none])?;
        let missing = entries.values.rows() as u32;
        let (mut keys, mut positions, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        for row in 0..rows {
            let mut own: HashMap<i64, usize> = HashMap::new();
            for (key, value) in entries.row(row) {
                // Of a key that is there twice the first value counts.
                own.entry(numbers[key]).or_insert(value);
            }
            if let (Some(first), Some(greatest)) = (own.keys().min(), own.keys().max()) {
                let end = last.as_ref().map_or(*greatest, |last| last[row]);
                if end.saturating_sub(*first) >= KEYS_MAX {
                    return Err(Error::new(
                        ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        format!("Too large series of function {name}"),
                    ));
                }
                for number in *first..=end {
                    checkpoint(16)?;
                    keys.push(number);
                    positions.push(own.get(&number).map_or(missing, |at| *at as u32));
                }
            }
            ends.push(keys.len() as i32);
        }
        let shift = order_shift(&key);
        let keys = keys.into_iter().map(|key| key ^ shift).collect();
        let keys = Column::from_primitive::<Int64Type>(DataType::Int64, keys);
        let keys = cast(&keys, &key, &CastOptions::default())?;
        let values = all_values.take(&UInt32Array::from(positions))?;
        finish(&result, keys, values, ends, rows)
    })
}

/// `mapUpdate(map, newer)`: keys that only the first has, then all of the second.
pub(super) fn update(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let (DataType::Map(..), DataType::Map(..)) = (call.type_of(0), call.type_of(1)) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Function {} only supports maps", call.name),
        ));
    };
    let result = squall_types::least_supertype(&[call.type_of(0).clone(), call.type_of(1).clone()])?;
    let text = call.text_options()?;
    let name = call.name;
    call.bind(result.clone(), move |arguments, rows| {
        let columns = arguments.iter().map(|column| cast(column, &result, &CastOptions::default()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let entries = columns.iter().map(|column| Entries::of(column, name, rows)).collect::<Result<Vec<_>>>()?;
        let [old, new] = &entries[..] else { return Err(Error::logical("two maps expected")) };
        let keys = Column::concat(&[old.keys.clone(), new.keys.clone()])?;
        let values = Column::concat(&[old.values.clone(), new.values.clone()])?;
        let (numbers, count) = item_numbers(&keys, &text)?;
        let start = old.keys.rows();
        let mut is_new = vec![0usize; count];
        let (mut positions, mut ends) = (Vec::new(), vec![0]);
        for row in 0..rows {
            new.row(row).for_each(|(at, _)| is_new[numbers[start + at] as usize] = row + 1);
            positions.extend(
                old.row(row).filter(|(at, _)| is_new[numbers[*at] as usize] != row + 1).map(|(at, _)| at as u32),
            );
            positions.extend(new.row(row).map(|(at, _)| (start + at) as u32));
            checkpoint(16 + positions.len() / (row + 1))?;
            ends.push(positions.len() as i32);
        }
        let positions = UInt32Array::from(positions);
        from_parts(&result, &keys.take(&positions)?, &values.take(&positions)?, ends)
    })
}

#[cfg(test)]
mod tests {
    use super::parts;
    use squall_types::DataType;

    #[test]
    fn parts_are_those_of_maps_and_of_pairs_of_arrays() {
        let map = DataType::parse("Map(String, UInt8)").unwrap();
        assert_eq!(parts(&map), Some((DataType::String, DataType::UInt8)));
        let pair = DataType::parse("Tuple(Array(String), Array(UInt8))").unwrap();
        assert_eq!(parts(&pair), Some((DataType::String, DataType::UInt8)));
        assert_eq!(parts(&DataType::String), None);
    }
}
