//! `groupArrayIntersect`: the items that every array of a group has.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use squall_types::{Column, DataType, Error, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::plain::plain;
use crate::aggregate::results::value_column;
use crate::aggregate::values::ordered::Numbers;
use crate::aggregate::values::row_bytes::RowBytes;
use crate::aggregate::values::state_bytes::{put_string, put_varint, take_bytes, take_count, take_string, take_varint};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    let DataType::Array(item) = argument else { return Err(call.bad_arguments("accepts only array type argument.")) };
    let width = match item.is_nullable() {
        true => None,
        false => Numbers::of(item).map(Numbers::width),
    };
    Ok(grouped::function(Intersection { return_type: argument.clone(), item: (**item).clone(), width }))
}

#[derive(Debug)]
struct Intersection {
    return_type: DataType,
    item: DataType,
    /// Bytes of an item where it is a number.
    width: Option<usize>,
}

/// The items in common so far, as bytes and as values, and how many arrays there were.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Common {
    arrays: u64,
    items: Vec<(Box<[u8]>, Value)>,
}

/// The arrays of a block.
pub(in crate::aggregate) struct Rows {
    offsets: Vec<i32>,
    items: Column,
    bytes: RowBytes,
}

impl StateFunction for Intersection {
    type State = Common;
    type Rows<'a> = Rows;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Common {
        Common::default()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Rows> {
        let wrong = || Error::logical("groupArrayIntersect takes one array");
        let [column] = arguments else { return Err(wrong()) };
        let list = column.array().as_list_opt::<i32>().ok_or_else(wrong)?;
        let items = plain(&Column::new(self.item.clone(), list.values().clone()))?;
        let bytes = RowBytes::new(items.data_type(), items.array())?;
        Ok(Rows { offsets: list.value_offsets().to_vec(), items, bytes })
    }

    fn add(&self, state: &mut Common, rows: &Rows, row: usize) {
        let range = rows.offsets[row] as usize..rows.offsets[row + 1] as usize;
        let bytes = |at: usize| {
            let mut bytes = Vec::new();
            rows.bytes.append(at, &mut bytes);
            bytes.into_boxed_slice()
        };
        state.arrays += 1;
        let mut seen = HashSet::new();
        if state.arrays == 1 {
            for at in range {
                let bytes = bytes(at);
                if seen.insert(bytes.clone()) {
                    state.items.push((bytes, rows.items.value(at)));
                }
            }
        } else if !state.items.is_empty() {
            seen.extend(range.map(bytes));
            state.items.retain(|(bytes, _)| seen.contains(bytes));
        }
    }

    fn merge(&self, into: &mut Common, from: Common) -> Result<()> {
        checkpoint((into.items.len() + from.items.len()) * 50)?;
        if from.arrays == 0 {
            return Ok(());
        }
        if into.arrays == 0 {
            *into = from;
            return Ok(());
        }
        into.arrays += from.arrays;
        let others: HashSet<Box<[u8]>> = from.items.into_iter().map(|(bytes, _)| bytes).collect();
        into.items.retain(|(bytes, _)| others.contains(bytes));
        Ok(())
    }

    fn items(&self, state: &Common) -> usize {
        state.items.len()
    }

    fn write(&self, state: &Common, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.arrays, out);
        put_varint(state.items.len() as u64, out);
        for (bytes, _) in &state.items {
            match self.width {
                Some(_) => out.extend_from_slice(bytes),
                None => put_string(bytes, out),
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Common> {
        let mut state = Common { arrays: take_varint(bytes)?, items: Vec::new() };
        for _ in 0..take_count(bytes)? {
            let own = match self.width {
                Some(width) => take_bytes(bytes, width)?,
                None => take_string(bytes)?,
            };
            state.items.push((own.into(), crate::aggregate::values::row_bytes::value_of(own, &self.item)?));
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Common>) -> Result<Column> {
        let list = |state: Common| Value::Array(state.items.into_iter().map(|(_, value)| value).collect());
        value_column(&self.return_type, states.into_iter().map(list))
    }

    fn heap_bytes(&self, state: &Common) -> usize {
        state.items.iter().map(|(bytes, _)| bytes.len() + 64).sum()
    }
}
