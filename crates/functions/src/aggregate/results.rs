//! Columns of results: one value a state, tuples of floats.

use squall_types::{Column, ColumnBuilder, DataType, Result, Value, checkpoint};

/// A column of one value a state.
pub(super) fn value_column(data_type: &DataType, values: impl IntoIterator<Item = Value>) -> Result<Column> {
    let mut builder = ColumnBuilder::new(data_type.clone());
    for value in values {
        checkpoint(64)?;
        builder.append(&value)?;
    }
    builder.finish()
}

/// A named tuple of floats.
pub(super) fn float_tuple(names: &[&str]) -> DataType {
    DataType::named_tuple(names.iter().map(|name| (*name, DataType::Float64)))
}

/// A value of a [`float_tuple`].
pub(super) fn float_values(floats: &[f64]) -> Value {
    Value::Tuple(floats.iter().map(|float| Value::Float64(*float)).collect())
}

/// An array of floats as a value.
pub(super) fn float_array(floats: impl IntoIterator<Item = f64>) -> Value {
    Value::Array(floats.into_iter().map(Value::Float64).collect())
}
