//! `sumMappedArrays` (`sumMap` of arrays), `minMappedArrays`, `maxMappedArrays`, `sumMapWithOverflow`, `sumMapFiltered`: an array of keys and
//! arrays of values in each row, which are added up, or compared, key by key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::plain::plain;
use crate::aggregate::results::value_column;
use crate::aggregate::values::state_bytes::{put_value, put_varint, take_count, take_value};
use crate::aggregate::values::value_key::ValueKey;

/// What two values of a key become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Sum,
    Min,
    Max,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let (rule, wraps, is_filtered) = match call.name {
        "minMappedArrays" => (Rule::Min, true, false),
        "maxMappedArrays" => (Rule::Max, true, false),
        "sumMapWithOverflow" => (Rule::Sum, true, false),
        "sumMapFiltered" => (Rule::Sum, false, true),
        "sumMapFilteredWithOverflow" => (Rule::Sum, true, true),
        _ => (Rule::Sum, false, false),
    };
    let illegal = |what: String| Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, what);
    let lists: Vec<DataType> = match call.arguments {
        [DataType::Tuple(elements)] => elements.iter().map(|element| element.data_type.clone()).collect(),
        arguments => arguments.to_vec(),
    };
    if lists.len() < 2 {
        return Err(call.wrong_arguments("at least two arguments of Array type or one argument of tuple of two arrays"));
    }
    let items = lists.iter().enumerate().map(|(at, list)| match list {
        DataType::Array(item) => Ok(item.remove_low_cardinality().clone()),
        _ => Err(illegal(format!("Argument #{at} for function {} must be of type Array, not {list}", call.name))),
    });
    let items = items.collect::<Result<Vec<_>>>()?;
    let [key, values @ ..] = &items[..] else { return Err(Error::logical("there are two at least")) };
    if key.is_nullable() {
        return Err(illegal(format!("Keys of function {} can not be Nullable", call.name)));
    }
    let total = |value: &DataType| {
        let inner = value.remove_nullable();
        if inner == DataType::Nothing {
            return Err(illegal("Aggregation 'nothingNullMap' is not implemented for mapped arrays".to_owned()));
        }
        let fits = rule != Rule::Sum || inner.is_number();
        if !fits {
            return Err(illegal(format!("Values for {} cannot be summed, passed type {value}", call.name)));
        }
        Ok(match &inner {
            _ if wraps => inner,
            number if number.is_unsigned_integer() => DataType::UInt64,
            number if number.is_signed_integer() => DataType::Int64,
            _ => DataType::Float64,
        })
    };
    let totals = values.iter().map(total).collect::<Result<Vec<_>>>()?;
    let kept = match (is_filtered, call.parameters) {
        (true, [Value::Array(keys)]) => Some(
            keys.iter()
                .map(|key_of| squall_types::convert_value(key_of, key).map(ValueKey))
                .collect::<Result<BTreeSet<_>>>()?,
        ),
        (true, _) => return Err(call.bad_arguments("requires exactly one parameter of Array type")),
        (false, _) => {
            call.without_parameters()?;
            None
        }
    };
    let return_type = DataType::tuple([key].into_iter().chain(&totals).cloned().map(DataType::array));
    Ok(grouped::function(MappedArrays { rule, key: key.clone(), totals, return_type, kept }))
}

#[derive(Debug)]
struct MappedArrays {
    rule: Rule,
    key: DataType,
    /// The types of the values that are kept.
    totals: Vec<DataType>,
    return_type: DataType,
    /// The keys that count, where not all do.
    kept: Option<BTreeSet<ValueKey>>,
}

/// The arrays of a block.
pub(in crate::aggregate) struct Rows {
    /// Where each row's items begin, for each argument.
    offsets: Vec<Vec<i32>>,
    items: Vec<Column>,
}

/// The sum of two numbers of a type, which wraps.
fn sum(left: &Value, right: &Value, data_type: &DataType) -> Value {
    let bits = data_type.fixed_width_bytes().map_or(64, |bytes| 8 * bytes.min(8) as u32);
    match (left, right) {
        (Value::Float64(left), right) => {
            let sum = left + right.as_f64().unwrap_or(0.0);
            Value::Float64(if *data_type == DataType::Float32 { f64::from(sum as f32) } else { sum })
        }
        (Value::Int64(left), right) => {
            let sum = left.wrapping_add(right.as_i64().unwrap_or(0));
            Value::Int64(sum << (64 - bits) >> (64 - bits))
        }
        (left, right) => {
            let sum = left.as_u64().unwrap_or(0).wrapping_add(right.as_u64().unwrap_or(0));
            Value::UInt64(sum & (u64::MAX >> (64 - bits)))
        }
    }
}

impl MappedArrays {
    fn combine(&self, into: &mut Value, value: &Value, data_type: &DataType) {
        if value.is_null() {
            return;
        }
        let takes = match self.rule {
            _ if into.is_null() => true,
            Rule::Sum => {
                *into = sum(into, value, data_type);
                false
            }
            Rule::Min => value.compare(into).is_lt(),
            Rule::Max => value.compare(into).is_gt(),
        };
        if takes {
            into.clone_from(value);
        }
    }

    /// Whether a key is left out: of sums, one whose every total is 0.
    fn is_nothing(&self, totals: &[Value]) -> bool {
        self.rule == Rule::Sum && totals.iter().all(|total| total.is_null() || total.as_f64() == Some(0.0))
    }
}

impl StateFunction for MappedArrays {
    /// A value that never came is NULL.
    type State = BTreeMap<ValueKey, Box<[Value]>>;
    type Rows<'a> = Rows;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        BTreeMap::new()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Rows> {
        let wrong = || Error::logical("arrays of keys and values were expected");
        let mut columns = Vec::new();
        match arguments {
            [tuple] => {
                let DataType::Tuple(elements) = tuple.data_type() else { return Err(wrong()) };
                let arrays = tuple.array().as_struct_opt().ok_or_else(wrong)?;
                let pairs = elements.iter().zip(arrays.columns());
                columns.extend(pairs.map(|(element, array)| Column::new(element.data_type.clone(), array.clone())));
            }
            arguments => columns.extend(arguments.iter().cloned()),
        }
        let mut rows = Rows { offsets: Vec::new(), items: Vec::new() };
        for column in &columns {
            let DataType::Array(item) = column.data_type() else { return Err(wrong()) };
            let list = column.array().as_list_opt::<i32>().ok_or_else(wrong)?;
            rows.offsets.push(list.value_offsets().to_vec());
            rows.items.push(plain(&Column::new((**item).clone(), list.values().clone()))?);
        }
        let lengths = |offsets: &[i32]| offsets.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
        let of_keys = rows.offsets.first().map(|offsets| lengths(offsets)).unwrap_or_default();
        if rows.offsets.iter().any(|offsets| lengths(offsets) != of_keys) {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Sizes of keys and values arrays do not match"));
        }
        Ok(rows)
    }

    fn add(&self, state: &mut Self::State, rows: &Rows, row: usize) {
        let ([keys, values @ ..], [key_offsets, offsets @ ..]) = (&rows.items[..], &rows.offsets[..]) else { return };
        let (start, end) = (key_offsets[row] as usize, key_offsets[row + 1] as usize);
        for at in start..end {
            let key = ValueKey(keys.value(at));
            if self.kept.as_ref().is_some_and(|kept| !kept.contains(&key)) {
                continue;
            }
            let totals = state.entry(key).or_insert_with(|| vec![Value::Null; self.totals.len()].into());
            for (((total, data_type), values), offsets) in totals.iter_mut().zip(&self.totals).zip(values).zip(offsets)
            {
                self.combine(total, &values.value(offsets[row] as usize + at - start), data_type);
            }
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        for (key, totals) in from {
            checkpoint(100)?;
            match into.entry(key) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(totals);
                }
                std::collections::btree_map::Entry::Occupied(mut place) => {
                    for ((into, value), data_type) in place.get_mut().iter_mut().zip(&totals).zip(&self.totals) {
                        self.combine(into, value, data_type);
                    }
                }
            }
        }
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        for (key, totals) in state {
            put_value(&key.0, &self.key, out)?;
            for (total, data_type) in totals.iter().zip(&self.totals) {
                let default = squall_types::default_value(data_type);
                put_value(if total.is_null() { &default } else { total }, data_type, out)?;
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let entry = |bytes: &mut &[u8]| {
            let key = ValueKey(take_value(bytes, &self.key)?);
            let totals = self.totals.iter().map(|data_type| take_value(bytes, data_type)).collect::<Result<_>>()?;
            Ok((key, totals))
        };
        (0..take_count(bytes)?).map(|_| entry(bytes)).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let defaults: Vec<Value> = self.totals.iter().map(squall_types::default_value).collect();
        let lists = |state: Self::State| {
            let mut lists = vec![Vec::with_capacity(state.len()); self.totals.len() + 1];
            for (key, totals) in state {
                if self.is_nothing(&totals) {
                    continue;
                }
                let totals = totals.into_iter().zip(&defaults);
                let totals = totals.map(|(total, default)| if total.is_null() { default.clone() } else { total });
                lists.iter_mut().zip([key.0].into_iter().chain(totals)).for_each(|(list, value)| list.push(value));
            }
            Value::Tuple(lists.into_iter().map(|list| Value::Array(list.into())).collect())
        };
        value_column(&self.return_type, states.into_iter().map(lists))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.len() * (2 + self.totals.len()) * 2 * size_of::<Value>()
    }
}
