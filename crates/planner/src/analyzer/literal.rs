//! Literals: the value and type that the parser's constants have, and the text that constants have in names of results.

use squall_sql::ast;
use squall_types::{CastOptions, DataType, Error, Result, Value};

use super::conversion;

/// The value and ClickHouse's type of a literal: the narrowest integer; arrays get the least supertype of their items, to
/// which the items are converted.
///
/// # Errors
/// `NO_COMMON_TYPE` for arrays of unlike items; `NOT_IMPLEMENTED` for maps.
pub fn typed_literal(literal: &ast::Literal) -> Result<(Value, DataType)> {
    let value = match literal {
        ast::Literal::Null => Value::Null,
        ast::Literal::Bool(value) => Value::Bool(*value),
        ast::Literal::UInt64(value) => Value::UInt64(*value),
        ast::Literal::Int64(value) => Value::Int64(*value),
        ast::Literal::Float64(value) => Value::Float64(value.0),
        ast::Literal::String(bytes) => Value::string(bytes),
        ast::Literal::Array(items) => return array(items),
        ast::Literal::Tuple(items) => {
            let (values, types): (Vec<_>, Vec<_>) =
                items.iter().map(typed_literal).collect::<Result<Vec<_>>>()?.into_iter().unzip();
            return Ok((Value::Tuple(values.into()), DataType::tuple(types)));
        }
        ast::Literal::Map(_) => return Err(Error::not_implemented("A map literal")),
    };
    let data_type = value.literal_type();
    Ok((value, data_type))
}

fn array(items: &[ast::Literal]) -> Result<(Value, DataType)> {
    let (values, types): (Vec<Value>, Vec<DataType>) =
        items.iter().map(typed_literal).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let Some(first) = types.first() else {
        return Ok((Value::Array([].into()), DataType::array(DataType::Nothing)));
    };
    if types.iter().all(|data_type| data_type == first) {
        let item = first.clone();
        return Ok((Value::Array(values.into()), DataType::array(item)));
    }
    let item = conversion::supertype(&types).or_else(|error| {
        let signed: Vec<DataType> =
            values.iter().zip(&types).map(|(value, data_type)| signed_where_it_fits(value, data_type)).collect();
        conversion::supertype(&signed).map_err(|_| error)
    })?;
    let converted = values
        .iter()
        .zip(&types)
        .map(|(value, data_type)| convert_item(value, data_type, &item))
        .collect::<Result<Vec<_>>>()?;
    Ok((Value::Array(converted.into()), DataType::array(item)))
}

/// The type of a literal beside one below zero: a number of 64 bits is signed where it fits.
fn signed_where_it_fits(value: &Value, data_type: &DataType) -> DataType {
    match (value, data_type) {
        (Value::UInt64(number), DataType::UInt64) if i64::try_from(*number).is_ok() => DataType::Int64,
        (Value::Array(items), DataType::Array(item)) => {
            let fits = items.iter().all(|value| signed_where_it_fits(value, item) != **item);
            if fits && !items.is_empty() {
                DataType::array(signed_where_it_fits(&items[0], item))
            } else {
                data_type.clone()
            }
        }
        (Value::Tuple(values), DataType::Tuple(elements)) => {
            let types =
                values.iter().zip(elements.iter()).map(|(value, own)| signed_where_it_fits(value, &own.data_type));
            DataType::tuple(types)
        }
        _ => data_type.clone(),
    }
}

/// The item of an array as one of the items' common type.
fn convert_item(value: &Value, from: &DataType, to: &DataType) -> Result<Value> {
    if from == to || value.is_null() {
        return Ok(value.clone());
    }
    squall_types::cast_value(value, from, to, &CastOptions::default())
}

/// Appends a constant as names of results show it: `1`, `1.`, `'a'`, `[1, 2]`, `(1, 'a')`.
pub(crate) fn append_constant(out: &mut String, value: &Value) {
    let list = |out: &mut String, items: &[Value]| {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            append_constant(out, item);
        }
    };
    match value {
        Value::Float64(number) => {
            let start = out.len();
            // Writing to a string does not fail.
            let _ = squall_types::text::write_float64(out, *number);
            let is_whole = out[start..].bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            if is_whole {
                out.push('.');
            }
        }
        Value::String(bytes) => append_quoted(out, &String::from_utf8_lossy(bytes)),
        Value::Array(items) => {
            out.push('[');
            list(out, items);
            out.push(']');
        }
        Value::Tuple(items) => {
            out.push('(');
            list(out, items);
            out.push(')');
        }
        other => out.push_str(&other.to_string()),
    }
}

fn append_quoted(out: &mut String, text: &str) {
    out.push('\'');
    for character in text.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
    out.push('\'');
}
