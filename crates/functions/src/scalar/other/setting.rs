//! `getSetting` and `getSettingOrDefault`: what the query runs under; and `byteSize`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef};
use squall_types::settings::SettingType;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Settings, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn resolve(call: &Call<'_>) -> Bound {
    let or_default = call.name.ends_with("OrDefault");
    let count = if or_default { 2 } else { 1 };
    call.arguments(count..=count)?;
    let name = call.constant(0).and_then(Value::as_str).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("The argument of function {} should be a constant string with the name of a setting", call.name),
        )
    })?;
    let Some(text) = call.context.settings.get(name) else {
        if or_default {
            return call.bind(call.type_of(1).clone(), |arguments, _| Ok(argument(arguments, 1)?.clone()));
        }
        return Err(Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}'")));
    };
    let setting_type = Settings::description(name).map(|description| description.setting_type);
    let value = match setting_type {
        Some(SettingType::Bool) => Value::Bool(text == "1" || text == "true"),
        Some(SettingType::Seconds | SettingType::Milliseconds | SettingType::Float) => match text.parse() {
            Ok(number) => Value::Float64(number),
            Err(_) => Value::string(&text),
        },
        Some(SettingType::String | SettingType::TimeZone) => Value::string(&text),
        _ => match (text.parse::<u64>(), text.parse::<i64>()) {
            (Ok(number), _) => Value::UInt64(number),
            (_, Ok(number)) => Value::Int64(number),
            _ => Value::string(&text),
        },
    };
    let result = value.literal_type();
    call.bind(result.clone(), move |_, rows| Column::constant(result.clone(), &value, rows))
}

/// `byteSize(…)`: bytes that the values take in memory, uncompressed.
pub(super) fn resolve_byte_size(call: &Call<'_>) -> Bound {
    let widths = call.arguments.iter().map(|argument| width(&argument.data_type));
    if let Some(size) = widths.sum::<Option<u64>>().filter(|_| !call.arguments.is_empty()) {
        // The same for all values of these types.
        return call
            .bind(DataType::UInt64, move |_, rows| Column::constant(DataType::UInt64, &Value::UInt64(size), rows));
    }
    call.bind(DataType::UInt64, |arguments, rows| {
        let mut sizes = vec![0_u64; rows];
        for column in arguments {
            checkpoint(4 * rows)?;
            let plain = column.without_low_cardinality()?;
            let array = plain.array();
            for (row, size) in sizes.iter_mut().enumerate() {
                let at = if plain.is_constant() { 0 } else { row };
                *size += bytes(plain.data_type(), array, at);
            }
        }
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, sizes))
    })
}

/// The bytes of each value of a type whose values all have as many. A `BFloat16` has two, though its column has those of `Float32`.
fn width(data_type: &DataType) -> Option<u64> {
    if *data_type == DataType::BFloat16 { Some(2) } else { data_type.fixed_width_bytes().map(|width| width as u64) }
}

fn bytes(data_type: &DataType, array: &ArrayRef, row: usize) -> u64 {
    match data_type {
        DataType::Nothing => 0,
        DataType::Nullable(inner) => 1 + if **inner == DataType::Nothing { 0 } else { bytes(inner, array, row) },
        // Strings have their length before them, arrays where they end.
        DataType::String => array.as_binary_opt::<i32>().map_or(0, |strings| strings.value(row).len() as u64) + 8,
        DataType::Array(item) => array.as_list_opt::<i32>().map_or(8, |list| {
            let items = list.value(row);
            8 + (0..items.len()).map(|at| bytes(item, &items, at)).sum::<u64>()
        }),
        DataType::Map(..) => array.as_list_opt::<i32>().map_or(8, |list| {
            let entries = list.value(row);
            8 + (0..entries.len()).map(|at| bytes(&data_type.map_entry_type(), &entries, at)).sum::<u64>()
        }),
        DataType::Tuple(elements) => array.as_struct_opt().map_or(0, |tuple| {
            elements.iter().zip(tuple.columns()).map(|(element, column)| bytes(&element.data_type, column, row)).sum()
        }),
        other => width(other).unwrap_or(0),
    }
}
