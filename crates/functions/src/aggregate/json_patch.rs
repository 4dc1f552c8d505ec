//! `mergedJSONPatch`: objects laid one over the other in the order of a key.

use std::sync::Arc;

use squall_types::cast::{CastOptions, cast};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::scalar::json::make::merged_objects;

use super::family::Call;
use super::grouped::{self, StateFunction};
use super::values::state_bytes::{put_string, put_value, put_varint, take_count, take_string, take_value};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let [json, key] = call.arguments else {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!(
                "Incorrect number of arguments for aggregate function {}. Expected 2 arguments (JSON value and sort key), \
                 got {} arguments",
                call.name,
                call.arguments.len()
            ),
        ));
    };
    if !matches!(json, DataType::Json(_)) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {json} of first argument for aggregate function {}. Expected type JSON", call.name),
        ));
    }
    Ok(grouped::function(MergedPatch { json: json.clone(), key: key.clone() }))
}

#[derive(Debug)]
struct MergedPatch {
    json: DataType,
    key: DataType,
}

impl StateFunction for MergedPatch {
    /// Keys and the texts of objects.
    type State = Vec<(Value, Vec<u8>)>;
    type Rows<'a> = Vec<(Value, Vec<u8>)>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &self.json
    }

    fn state(&self) -> Self::State {
        Vec::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [objects, keys] = arguments else { return Err(Error::logical("mergedJSONPatch takes two arguments")) };
        let mut writer = ValueWriter::new(objects, TextStyle::Json, &TextOptions::default())?;
        let row = |row: usize| {
            checkpoint(256)?;
            let mut text = Vec::new();
            writer.write(&mut text, row);
            Ok((keys.value(row), text))
        };
        (0..objects.rows()).map(row).collect()
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        state.push(rows[row].clone());
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(from.len())?;
        squall_types::grow(into, from.len())?;
        into.extend(from);
        Ok(())
    }

    fn items(&self, state: &Self::State) -> usize {
        state.len()
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.len() as u64, out);
        for (key, text) in state {
            put_value(key, &self.key, out)?;
            put_string(text, out);
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let count = take_count(bytes)?;
        (0..count).map(|_| Ok((take_value(bytes, &self.key)?, take_string(bytes)?.to_vec()))).collect()
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let mut texts = Vec::with_capacity(states.len());
        for mut rows in states {
            rows.sort_by(|(left, _), (right, _)| left.compare(right));
            let mut text = Vec::new();
            merged_objects(rows.iter().map(|(_, text)| text.as_slice()), &mut text)?;
            texts.push(text);
        }
        cast(&Column::from_strings(texts.iter().map(Vec::as_slice)), &self.json, &CastOptions::default())
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.iter().map(|(_, text)| text.capacity() + size_of::<(Value, Vec<u8>)>()).sum()
    }
}
