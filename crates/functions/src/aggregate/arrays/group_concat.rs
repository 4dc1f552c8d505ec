//! `groupConcat`: the texts of values, joined by a separator, of the first so many values.

use std::sync::Arc;

use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::element::{Bytes, Element};
use crate::aggregate::values::state_bytes::{put_string, put_varint, take_count, take_string, take_varint};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let bad =
        |message: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("{message} of aggregate function {}", call.name));
    let (separator, limit) = match call.parameters {
        [] => (&b""[..], None),
        [separator] => (separator.as_bytes().ok_or_else(|| bad("The separator must be a string"))?, None),
        [separator, limit] => (
            separator.as_bytes().ok_or_else(|| bad("The separator must be a string"))?,
            Some(limit.as_u64().filter(|limit| *limit > 0).ok_or_else(|| bad("The limit must be a positive number"))?),
        ),
        _ => {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Incorrect number of parameters for aggregate function {}, should be 0, 1 or 2", call.name),
            ));
        }
    };
    call.argument()?;
    Ok(grouped::function(GroupConcat { separator: separator.into(), limit: limit.unwrap_or(u64::MAX) }))
}

#[derive(Debug)]
struct GroupConcat {
    separator: Box<[u8]>,
    limit: u64,
}

/// Texts joined so far.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Joined {
    text: Vec<u8>,
    /// Where each value's text ends, kept only to cut another state's values off at the limit.
    ends: Vec<usize>,
    count: u64,
}

/// The texts of a block's values.
pub(in crate::aggregate) struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[row]]
    }
}

impl GroupConcat {
    fn push(&self, state: &mut Joined, text: &[u8]) {
        if state.count == self.limit {
            return;
        }
        if state.count > 0 {
            state.text.extend_from_slice(&self.separator);
        }
        state.text.extend_from_slice(text);
        state.count += 1;
        if self.limit < u64::MAX {
            state.ends.push(state.text.len());
        }
    }
}

impl StateFunction for GroupConcat {
    type State = Joined;
    type Rows<'a> = Texts;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::String
    }

    fn state(&self) -> Self::State {
        Joined::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("groupConcat takes one argument")) };
        let mut writer = ValueWriter::new(column, TextStyle::Plain, &TextOptions::default())?;
        let mut texts = Texts { bytes: Vec::new(), ends: Vec::with_capacity(column.rows()) };
        for row in 0..column.rows() {
            if texts.bytes.capacity() - texts.bytes.len() < texts.bytes.len() / 8 {
                let more = texts.bytes.len() / 2;
                squall_types::checkpoint(more)?;
                squall_types::grow(&mut texts.bytes, more)?;
            }
            writer.write(&mut texts.bytes, row);
            texts.ends.push(texts.bytes.len());
        }
        Ok(texts)
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        // As much again, where it is much.
        let left = state.text.capacity() - state.text.len();
        if left < state.text.len() / 4 {
            let more = state.text.len() / 2 + rows;
            squall_types::grow(&mut state.text, more)?;
        }
        Ok(())
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        self.push(state, rows.get(row));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        if into.count == 0 {
            *into = from;
            return Ok(());
        }
        if from.count == 0 {
            return Ok(());
        }
        if from.count <= self.limit - into.count {
            let (start, count) = (into.text.len() + self.separator.len(), into.count + from.count);
            self.push(into, &from.text);
            into.count = count;
            if self.limit < u64::MAX {
                into.ends.pop();
                into.ends.extend(from.ends.iter().map(|end| start + end));
            }
            return Ok(());
        }
        let mut start = 0;
        for end in from.ends {
            self.push(into, &from.text[start..end]);
            start = end + self.separator.len();
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_string(&state.text, out);
        put_varint(state.count, out);
        put_varint(state.ends.len() as u64, out);
        state.ends.iter().for_each(|end| put_varint(*end as u64, out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let (text, count) = (take_string(bytes)?.to_vec(), take_varint(bytes)?);
        let ends = (0..take_count(bytes)?).map(|_| take_varint(bytes).map(|end| (end as usize).min(text.len())));
        let ends = ends.collect::<Result<Vec<_>>>()?;
        Ok(Joined { text, ends, count })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        Bytes::column(&DataType::String, states.into_iter().map(|state| state.text.into()))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.text.capacity() + state.ends.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use squall_types::Value;

    use super::*;

    #[test]
    fn separators_are_strings() {
        let resolve = |parameters: &[Value]| {
            resolve(&Call { name: "groupConcat", parameters, arguments: &[DataType::UInt8] }).map(|_| ())
        };
        assert!(resolve(&[Value::from(","), Value::UInt64(3)]).is_ok());
        assert_eq!(resolve(&[Value::UInt64(3)]).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
        assert_eq!(resolve(&[Value::from(","), Value::UInt64(0)]).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }
}
