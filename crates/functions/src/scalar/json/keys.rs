//! What documents are and hold: whether they are valid or have a path, lengths, keys and types, and members and items as raw JSON.

use std::sync::Arc;

use arrow_array::types::{Int8Type, UInt64Type};
use arrow_buffer::NullBuffer;
use simd_json::{Node, StaticNode};
use squall_types::{Column, DataType, EnumValues, Error, ErrorCode, Result};

use super::column::Builder;
use super::extract::constant_type;
use super::steps::{self, Found};
use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::kernel::{bytes_column, nullable_column};
use crate::scalar::simple::{Call, Strings, StringsBuilder};
use crate::scalar::tuple::from_elements;
use squall_types::json::document::{Element, Parser};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn resolve_is_valid(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    steps::check(call, 0)?;
    resolve_flag(call)
}

pub(super) fn resolve_has(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    resolve_flag(call)
}

fn resolve_flag(call: &Call<'_>) -> Bound {
    let name = call.name;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let mut values = Vec::with_capacity(rows);
        steps::for_each(name, arguments, 0, rows, |found| {
            values.push(u8::from(found.is_some()));
            Ok(())
        })?;
        Ok(bytes_column(values))
    })
}

pub(super) fn resolve_length(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let mut values = Vec::with_capacity(rows);
        steps::for_each(name, arguments, 0, rows, |found| {
            values.push(found.map_or(0, |found| found.element.len() as u64));
            Ok(())
        })?;
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, values))
    })
}

/// `JSONArrayLength(text)`: NULL where it is no array.
pub(super) fn resolve_array_length(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let result = DataType::UInt64.to_nullable();
    call.bind(result.clone(), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let mut parser = Parser::default();
        let (mut values, mut valid) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let tape = parser.parse(strings.get(row))?;
            let length = tape.as_ref().and_then(Element::root).and_then(|root| match root.node() {
                Node::Array { len, .. } => Some(len as u64),
                _ => None,
            });
            values.push(length.unwrap_or(0));
            valid.push(length.is_some());
        }
        nullable_column::<UInt64Type>(result.clone(), values, Some(NullBuffer::from(valid)))
    })
}

pub(super) fn resolve_key(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::String, move |arguments, rows| {
        let mut keys = StringsBuilder::new(rows, 0)?;
        steps::for_each(name, arguments, 0, rows, |found| {
            keys.push(found.and_then(|found| found.key).unwrap_or_default())
        })?;
        keys.finish()
    })
}

/// The types of elements with the numbers that ClickHouse gives them.
const TYPES: [(&str, i16); 8] = [
    ("Null", 0),
    ("String", 34),
    ("Array", 91),
    ("Bool", 98),
    ("Double", 100),
    ("Int64", 105),
    ("UInt64", 117),
    ("Object", 123),
];

pub(super) fn resolve_type(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    let values = TYPES.iter().map(|(name, number)| ((*name).into(), *number)).collect();
    let result = DataType::Enum8(Arc::new(EnumValues::new(values)?));
    call.bind(result.clone(), move |arguments, rows| {
        let mut types = Vec::with_capacity(rows);
        steps::for_each(name, arguments, 0, rows, |found| {
            types.push(match found.map(|found| found.element.node()) {
                None | Some(Node::Static(StaticNode::Null)) => 0,
                Some(Node::String(_)) => 34,
                Some(Node::Array { .. }) => 91,
                Some(Node::Static(StaticNode::Bool(_))) => 98,
                Some(Node::Static(StaticNode::F64(_))) => 100,
                Some(Node::Static(StaticNode::I64(_))) => 105,
                // Only what no signed number holds is unsigned.
                Some(Node::Static(StaticNode::U64(number))) => {
                    if i64::try_from(number).is_ok() {
                        105
                    } else {
                        117
                    }
                }
                Some(Node::Object { .. }) => 123,
            });
            Ok(())
        })?;
        Ok(Column::from_primitive::<Int8Type>(result.clone(), types))
    })
}

/// Arrays under way: where each ends.
struct Ends(Vec<i32>);

impl Ends {
    fn new(rows: usize) -> Self {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        Self(ends)
    }

    fn push(&mut self, items: usize) -> Result<()> {
        self.0.push(
            i32::try_from(items).map_err(|_| {
                Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block")
            })?,
        );
        Ok(())
    }

    fn column(self, items: &Column) -> Result<Column> {
        list_column(items.data_type(), self.0, items.to_array()?)
    }
}

/// Arrays of strings, appended for each row's element.
fn string_arrays(
    name: &str,
    arguments: &[Column],
    rows: usize,
    append: impl Fn(Found<'_, '_, '_>, &mut StringsBuilder) -> Result<usize>,
) -> Result<Column> {
    let (mut strings, mut ends, mut count) = (StringsBuilder::new(rows, 0)?, Ends::new(rows), 0);
    steps::for_each(name, arguments, 0, rows, |found| {
        count += found.map_or(Ok(0), |found| append(found, &mut strings))?;
        ends.push(count)
    })?;
    ends.column(&strings.finish()?)
}

pub(super) fn resolve_keys(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        string_arrays(name, arguments, rows, |found, keys| {
            found.element.members().try_for_each(|(key, _)| keys.push(key.as_bytes()))?;
            Ok(found.element.members().count())
        })
    })
}

pub(super) fn resolve_array_raw(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        string_arrays(name, arguments, rows, |found, out| {
            for item in found.element.items() {
                item.append(&mut out.bytes);
                out.end_row()?;
            }
            Ok(found.element.items().count())
        })
    })
}

pub(super) fn resolve_keys_and_values_raw(call: &Call<'_>) -> Bound {
    steps::check(call, 0)?;
    let name = call.name;
    let pair = DataType::tuple([DataType::String, DataType::String]);
    call.bind(DataType::array(pair.clone()), move |arguments, rows| {
        let (mut keys, mut values) = (StringsBuilder::new(rows, 0)?, StringsBuilder::new(rows, 0)?);
        let (mut ends, mut count) = (Ends::new(rows), 0);
        steps::for_each(name, arguments, 0, rows, |found| {
            for (key, value) in found.iter().flat_map(|found| found.element.members()) {
                keys.push(key.as_bytes())?;
                value.append(&mut values.bytes);
                values.end_row()?;
                count += 1;
            }
            ends.push(count)
        })?;
        ends.column(&from_elements(&pair, &[keys.finish()?, values.finish()?], count)?)
    })
}

pub(super) fn resolve_keys_and_values(call: &Call<'_>) -> Bound {
    let (name, value_type) = (call.name, constant_type(call)?);
    steps::check(call, 1)?;
    let pair = DataType::tuple([DataType::String, value_type.clone()]);
    let options = call.text_options()?;
    let plain = value_type.without_names();
    // What cannot be built is refused before there are rows.
    Builder::new(&plain, &options)?;
    call.bind(DataType::array(pair.clone()), move |arguments, rows| {
        let (mut keys, mut values) = (StringsBuilder::new(rows, 0)?, Builder::new(&plain, &options)?);
        let (mut ends, mut count) = (Ends::new(rows), 0);
        steps::for_each(name, arguments, 1, rows, |found| {
            for (key, value) in found.iter().flat_map(|found| found.element.members()) {
                // A value of another type leaves its key out too.
                if values.append(value)? {
                    keys.push(key.as_bytes())?;
                    count += 1;
                }
            }
            ends.push(count)
        })?;
        ends.column(&from_elements(&pair, &[keys.finish()?, values.finish()?.with_type(value_type.clone())], count)?)
    })
}
