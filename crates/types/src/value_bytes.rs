//! How many bytes values are in ClickHouse's accounting (`read_bytes`, `data_uncompressed_bytes`): fixed widths by row, strings by content and
//! a length of 8 bytes, lists likewise, a byte a row for whether it is NULL.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use crate::data_type::DataType;
use crate::physical::Physical;
use crate::rows::Rows;

/// A string's length, and where a list ends.
const LENGTH_BYTES: usize = 8;

/// Bytes of the values, however the rows are held.
pub(crate) fn of_rows(data_type: &DataType, rows: &Rows) -> usize {
    match rows {
        Rows::Whole(array) => of_array(data_type, array),
        Rows::Constant(one, rows) => of_array(data_type, one) * rows,
        Rows::Sparse(sparse) => {
            of_array(data_type, sparse.values()) + of_array(data_type, sparse.default_row()) * sparse.defaults()
        }
        Rows::Coded(coded) => coded.string_bytes() + (LENGTH_BYTES + usize::from(data_type.is_nullable())) * rows.len(),
    }
}

fn of_array(data_type: &DataType, array: &ArrayRef) -> usize {
    let rows = array.len();
    if let DataType::Nullable(inner) = data_type {
        return rows + of_array(inner, array);
    }
    if let Some(width) = data_type.fixed_width_bytes() {
        return width * rows;
    }
    match data_type.physical() {
        Physical::Bytes => array.as_binary_opt::<i32>().map_or(0, |strings| {
            let offsets = strings.value_offsets();
            let bytes = offsets.last().unwrap_or(&0) - offsets.first().unwrap_or(&0);
            bytes as usize + LENGTH_BYTES * rows
        }),
        Physical::List => array.as_list_opt::<i32>().map_or(0, |list| {
            let offsets = list.value_offsets();
            let (from, end) = (*offsets.first().unwrap_or(&0) as usize, *offsets.last().unwrap_or(&0) as usize);
            LENGTH_BYTES * rows + of_array(&data_type.list_item(), &list.values().slice(from, end - from))
        }),
        Physical::Struct => array.as_struct_opt().map_or(0, |parts| {
            let columns = data_type.struct_parts().into_iter().zip(parts.columns());
            columns.map(|((_, part), column)| of_array(&part, column)).sum()
        }),
        // Rows have numbers of as few bytes as tell the values of the dictionary apart; the values themselves are few.
        Physical::Dictionary => {
            rows * number_bytes(array.as_any_dictionary_opt().map_or(0, |dictionary| dictionary.values().len()))
        }
        _ => 0,
    }
}

/// The bytes of a number below `count`.
fn number_bytes(count: usize) -> usize {
    match count {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnBuilder, Value};

    #[test]
    fn values_have_the_bytes_that_clickhouse_counts() {
        let text = |value: &str| Value::from(value);
        let list = |values: &[Value]| Value::Array(values.iter().cloned().collect());
        let counted = |data_type: &str, values: &[Value]| {
            let mut builder = ColumnBuilder::new(DataType::parse(data_type).unwrap());
            values.iter().for_each(|value| builder.append(value).unwrap());
            builder.finish().unwrap().value_bytes()
        };
        assert_eq!(counted("UInt16", &[Value::UInt64(7), Value::UInt64(8)]), 4);
        assert_eq!(counted("String", &[text("abc"), text("")]), 3 + 2 * 8);
        assert_eq!(counted("Nullable(String)", &[text("abc"), Value::Null]), 3 + 2 * 9);
        assert_eq!(counted("Nullable(Int32)", &[Value::Null, Value::Int64(1)]), 10);
        assert_eq!(counted("Array(String)", &[list(&[text("ab"), text("c")]), list(&[])]), 2 * 8 + 2 * 8 + 3);
        assert_eq!(counted("Array(Nullable(UInt8))", &[list(&[Value::Null])]), 8 + 2);
        assert_eq!(counted("Tuple(UInt8, String)", &[Value::Tuple([Value::UInt64(1), text("abc")].into())]), 1 + 8 + 3);
        assert_eq!(counted("LowCardinality(String)", &[text("abc"), text("d"), text("abc")]), 3);
    }
}
