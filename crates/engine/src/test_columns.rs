//! Columns for tests.

use squall_types::{Column, ColumnBuilder, DataType, Value};

/// A column of a type by its name.
pub(crate) fn column(data_type: &str, values: &[Value]) -> Column {
    let mut builder = ColumnBuilder::new(DataType::parse(data_type).unwrap());
    values.iter().for_each(|value| builder.append(value).unwrap());
    builder.finish().unwrap()
}
