//! How values are held and stored: the names of columns in memory, streams of columns on disk, sizes, dictionaries.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::aggregate::values::state_bytes::put_value;
use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// ClickHouse's name of the column that holds values of a type.
fn column_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Decimal(..=9, _) => "Decimal32".into(),
        DataType::Decimal(..=18, _) => "Decimal64".into(),
        DataType::Decimal(..=38, _) => "Decimal128".into(),
        DataType::Decimal(..) => "Decimal256".into(),
        DataType::Bool => "UInt8".into(),
        DataType::Date => "UInt16".into(),
        DataType::Date32 | DataType::Time => "Int32".into(),
        DataType::DateTime(_) => "UInt32".into(),
        DataType::DateTime64(..) | DataType::Time64(_) => "Decimal64".into(),
        DataType::Enum8(_) => "Int8".into(),
        DataType::Enum16(_) => "Int16".into(),
        DataType::Interval(_) => "Int64".into(),
        DataType::Nullable(inner) => format!("Nullable({})", column_name(inner)),
        DataType::LowCardinality(inner) => format!("LowCardinality({})", column_name(inner)),
        DataType::Array(item) => format!("Array({})", column_name(item)),
        DataType::Map(key, value) => format!("Map({}, {})", column_name(key), column_name(value)),
        DataType::Tuple(elements) => {
            let names: Vec<String> = elements.iter().map(|element| column_name(&element.data_type)).collect();
            format!("Tuple({})", names.join(", "))
        }
        other => other.to_string(),
    }
}

/// `toColumnTypeName`.
pub(super) fn resolve_column_name(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let name = column_name(call.type_of(0));
    let is_known = call.constant(0).is_some();
    call.bind(DataType::String, move |arguments, rows| {
        let is_constant = is_known || argument(arguments, 0)?.is_constant();
        let shown = if is_constant { format!("Const({name})") } else { name.clone() };
        Column::constant(DataType::String, &Value::string(shown), rows)
    })
}

/// How a column lies in memory: its parts, each with its number of values.
fn dump(data_type: &DataType, array: &dyn Array) -> String {
    let rows = array.len();
    match data_type {
        DataType::Nullable(inner) => {
            format!("Nullable(size = {rows}, {}, UInt8(size = {rows}))", dump(inner, array))
        }
        DataType::Array(item) => match array.as_list_opt::<i32>() {
            Some(list) => format!("Array(size = {rows}, UInt64(size = {rows}), {})", dump(item, &**list.values())),
            None => String::new(),
        },
        DataType::Map(..) => match array.as_list_opt::<i32>() {
            Some(list) => {
                let entries = dump(&data_type.map_entry_type(), &**list.values());
                format!("Map(size = {rows}, Array(size = {rows}, UInt64(size = {rows}), {entries}))")
            }
            None => String::new(),
        },
        DataType::Tuple(elements) => match array.as_struct_opt() {
            Some(tuple) => {
                let parts = elements.iter().zip(tuple.columns());
                let parts: Vec<String> = parts.map(|(element, column)| dump(&element.data_type, &**column)).collect();
                format!("Tuple(size = {rows}, {})", parts.join(", "))
            }
            None => String::new(),
        },
        DataType::LowCardinality(inner) => match array.as_any_dictionary_opt() {
            Some(dictionary) => {
                // ClickHouse's dictionaries begin with the default.
                let known = dictionary.values().len() + 1;
                let name = column_name(&inner.remove_nullable());
                format!(
                    "LowCardinality(size = {rows}, UInt8(size = {rows}), Unique(size = {known}, {name}(size = {known})))"
                )
            }
            None => String::new(),
        },
        DataType::FixedString(_) => format!("FixedString(size = {rows})"),
        other => format!("{}(size = {rows})", column_name(other)),
    }
}

/// `dumpColumnStructure`.
pub(super) fn resolve_dump(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let is_known = call.constant(0).is_some();
    call.bind(DataType::String, move |arguments, rows| {
        let column = argument(arguments, 0)?;
        let is_constant = is_known || column.is_constant();
        let array = if is_constant { column.slice(0, 1).to_array()? } else { column.to_array()? };
        let parts = dump(column.data_type(), &*array);
        let shown = if is_constant {
            format!("{}, Const(size = {rows}, {parts})", column.data_type())
        } else {
            format!("{}, {parts}", column.data_type())
        };
        Column::constant(DataType::String, &Value::string(shown), rows)
    })
}

/// `getSizeOfEnumType`: how many names an enum has; the width of other integers' names is none.
pub(super) fn resolve_enum_size(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let (result, count) = match call.type_of(0).remove_nullable() {
        DataType::Enum8(values) => (DataType::UInt8, values.iter().count()),
        DataType::Enum16(values) => (DataType::UInt16, values.iter().count()),
        _ => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("The argument for function {} must be Enum", call.name),
            ));
        }
    };
    call.bind(result.clone(), move |_, rows| Column::constant(result.clone(), &Value::UInt64(count as u64), rows))
}

/// The streams in which a column of a type is stored.
fn streams(data_type: &DataType, prefix: &str, out: &mut Vec<Value>) {
    let mut put = |stream: &str| {
        let between = if prefix.is_empty() { "" } else { ", " };
        out.push(Value::string(format!("{{{prefix}{between}{stream}}}")));
    };
    let under = |part: &str| if prefix.is_empty() { part.to_owned() } else { format!("{prefix}, {part}") };
    match data_type {
        DataType::Nullable(inner) => {
            put("NullMap");
            streams(inner, &under("NullableElements"), out);
        }
        DataType::Array(item) => {
            put("ArraySizes");
            streams(item, &under("ArrayElements"), out);
        }
        DataType::Map(key, value) => {
            put("ArraySizes");
            let entries = under("ArrayElements");
            streams(key, &format!("{entries}, TupleElement(keys)"), out);
            streams(value, &format!("{entries}, TupleElement(values)"), out);
        }
        DataType::Tuple(elements) => {
            for (at, element) in elements.iter().enumerate() {
                let name = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
                streams(&element.data_type, &under(&format!("TupleElement({name})")), out);
            }
        }
        DataType::LowCardinality(_) => {
            put("DictionaryKeys");
            put("DictionaryIndexes");
        }
        DataType::String => {
            put("InlinedStringSizes()");
            put("Regular");
        }
        _ => put("Regular"),
    }
}

/// `getTypeSerializationStreams(value or name of a type)`.
pub(super) fn resolve_streams(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let named = call.constant(0).and_then(Value::as_str).and_then(|name| DataType::parse(name).ok());
    let mut found = Vec::new();
    streams(named.as_ref().unwrap_or(call.type_of(0)), "", &mut found);
    let found = Value::Array(found.into());
    let result = DataType::array(DataType::String);
    call.bind(result.clone(), move |_, rows| Column::constant(result.clone(), &found, rows))
}

/// `blockSerializedSize(…)`: bytes of the values as they are written.
pub(super) fn resolve_serialized_size(call: &Call<'_>) -> Bound {
    call.bind(DataType::UInt64, |arguments, rows| {
        let mut size = 0;
        let mut bytes = Vec::new();
        for column in arguments {
            let plain = column.without_low_cardinality()?;
            for row in 0..rows {
                bytes.clear();
                let value = plain.value(row);
                match (plain.data_type(), &value) {
                    (DataType::AggregateFunction(_), value) => size += value.as_bytes().map_or(0, <[u8]>::len),
                    (data_type, value) => {
                        put_value(value, data_type, &mut bytes)?;
                        size += bytes.len() + 7 * arrays(value);
                        if value.is_null() {
                            size += data_type.remove_nullable().fixed_width_bytes().unwrap_or(1);
                        }
                    }
                }
            }
        }
        Column::constant(DataType::UInt64, &Value::UInt64(size as u64), rows)
    })
}

/// How many lengths of arrays a value has; each is a number of eight bytes.
fn arrays(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(arrays).sum::<usize>(),
        Value::Tuple(items) => items.iter().map(arrays).sum(),
        Value::Map(entries) => 1 + entries.iter().map(|(key, value)| arrays(key) + arrays(value)).sum::<usize>(),
        _ => 0,
    }
}

/// `lowCardinalityKeys`: the dictionary's values; `lowCardinalityIndices`: the place of each row's value in it, from 1 on.
pub(super) fn resolve_dictionary(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let DataType::LowCardinality(inner) = call.type_of(0) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "First first argument of function {} must be ColumnLowCardinality, but got {}",
                call.name,
                call.type_of(0)
            ),
        ));
    };
    let is_keys = call.name == "lowCardinalityKeys";
    let value_type = inner.remove_nullable();
    let result = if is_keys { (**inner).clone() } else { DataType::UInt64 };
    call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?.materialize()?;
        let wrong = || Error::logical("a column without a dictionary");
        let array = column.array();
        let dictionary = array.as_dictionary_opt::<UInt32Type>().ok_or_else(wrong)?;
        let values = Column::new(value_type.clone(), dictionary.values().clone());
        value_column(&result, rows, |row| {
            if !is_keys {
                let key = dictionary.keys().value(row);
                return Ok(Value::UInt64(if array.is_null(row) { 0 } else { u64::from(key) + 1 }));
            }
            // The first is the default, which every dictionary has.
            let known = row.checked_sub(1).filter(|at| *at < dictionary.values().len());
            Ok(match known {
                Some(at) => values.value(at),
                None => squall_types::default_value(&result),
            })
        })
    })
}
