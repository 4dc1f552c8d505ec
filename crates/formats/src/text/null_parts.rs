//! NULLs inside of values whose type has no place for them: `[1, NULL]` for `Array(UInt8)`. With `input_format_null_as_default` each stands
//! for the default of its type, as it does where it is the whole value.

use squall_types::{DataType, TupleElement, Value, default_value};

/// The type with NULLs allowed in the parts of its values, and in the value itself where it has no parts.
pub(super) fn with_nulls(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Array(item) => DataType::array(with_nulls(item)),
        DataType::Map(key, value) => DataType::Map(key.clone(), with_nulls(value).into()),
        DataType::Tuple(elements) => {
            let element = |element: &TupleElement| TupleElement {
                name: element.name.clone(),
                data_type: with_nulls(&element.data_type),
            };
            DataType::Tuple(elements.iter().map(element).collect())
        }
        other => other.to_nullable(),
    }
}

/// A value of [`with_nulls`] as one of the type itself.
pub(super) fn nulls_as_defaults(value: &Value, data_type: &DataType) -> Value {
    match (value, data_type) {
        (Value::Null, data_type) if !data_type.is_nullable() => default_value(data_type),
        (Value::Array(items), DataType::Array(item)) => {
            Value::Array(items.iter().map(|value| nulls_as_defaults(value, item)).collect())
        }
        (Value::Map(entries), DataType::Map(_, item)) => {
            let entry = |(key, value): &(Value, Value)| (key.clone(), nulls_as_defaults(value, item));
            Value::Map(entries.iter().map(entry).collect())
        }
        (Value::Tuple(values), DataType::Tuple(elements)) => {
            let parts = values.iter().zip(elements.iter());
            Value::Tuple(parts.map(|(value, element)| nulls_as_defaults(value, &element.data_type)).collect())
        }
        (value, _) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_inside_become_defaults() {
        let data_type = DataType::parse("Tuple(a Array(UInt8), b Map(String, Nullable(String)))").unwrap();
        let nullable = with_nulls(&data_type);
        assert_eq!(
            nullable,
            DataType::parse("Tuple(a Array(Nullable(UInt8)), b Map(String, Nullable(String)))").unwrap()
        );
        let map = |value: Value| Value::Map([(Value::string("k"), value)].into());
        let array = |items: &[Value]| Value::Array(items.iter().cloned().collect());
        let value = Value::Tuple([array(&[Value::UInt64(1), Value::Null]), map(Value::Null)].into());
        let expected = Value::Tuple([array(&[Value::UInt64(1), Value::UInt64(0)]), map(Value::Null)].into());
        assert_eq!(nulls_as_defaults(&value, &data_type), expected);
    }
}
