//! Keys that are arrays, maps and tuples as bytes that compare like the values: arrays item by item and then by their lengths, NULL and
//! NaN last.

use std::pin::Pin;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use squall_runtime::Pieces;
use squall_types::{Column, DataType, Error, ErrorCode, Result, grow};

use super::sorting::{KeyColumn, plain_array, without_nulls};

/// Rows that are written at once.
const ROWS_AT_ONCE: usize = 1 << 10;

/// What stands before each item of an array, and behind the last one.
const ITEM: u8 = 1;
const END: u8 = 0;

/// Whether a type's values have such bytes.
pub(crate) fn can_be_key(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => can_be_key(inner),
        DataType::Map(key, value) => can_be_key(key) && can_be_key(value),
        DataType::Tuple(elements) => elements.iter().all(|element| can_be_key(&element.data_type)),
        DataType::Named(named) => can_be_key(named.values()),
        DataType::SimpleAggregateFunction(simple) => can_be_key(simple.values()),
        DataType::Nothing | DataType::AggregateFunction(_) => false,
        other => !other.is_of_alternatives() && !matches!(other, DataType::Json(_)),
    }
}

/// The bytes of every row's value.
///
/// # Errors
/// `NOT_IMPLEMENTED` for types that are not compared here, `TOO_LARGE_ARRAY_SIZE`.
pub(in crate::merge_tree) async fn of_column(column: &Column, pieces: &mut Pieces) -> Result<BinaryArray> {
    let array = column.to_array()?;
    let rows = array.len();
    let values = Values::of(column.data_type().clone(), array, pieces).await?;
    let mut bytes = Vec::new();
    let mut ends: Vec<i32> = Vec::with_capacity(rows + 1);
    ends.push(0);
    for first in (0..rows).step_by(ROWS_AT_ONCE) {
        for row in first..rows.min(first + ROWS_AT_ONCE) {
            values.append(row, &mut bytes);
            ends.push(
                i32::try_from(bytes.len()).map_err(|_| {
                    Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "Values of a sorting key are too large")
                })?,
            );
        }
        grow(&mut bytes, 0)?;
        pieces.pause().await;
    }
    Ok(BinaryArray::try_new(OffsetBuffer::new(ScalarBuffer::from(ends)), bytes.into(), None)?)
}

/// The values of a type in a form that is written row by row.
enum Values {
    Flat(KeyColumn),
    Nullable(Option<NullBuffer>, Box<Self>),
    List(OffsetBuffer<i32>, Box<Self>),
    Struct(Vec<Self>),
}

/// What is being prepared.
type Prepared<'a> = Pin<Box<dyn Future<Output = Result<Values>> + Send + 'a>>;

impl Values {
    fn of(data_type: DataType, array: ArrayRef, pieces: &mut Pieces) -> Prepared<'_> {
        Box::pin(async move {
            Ok(match &data_type {
                DataType::Nullable(inner) => {
                    let nulls = array.logical_nulls();
                    Self::Nullable(nulls, Box::new(Self::of((**inner).clone(), array, pieces).await?))
                }
                DataType::Array(_) | DataType::Map(..) => {
                    let list = array.as_list::<i32>();
                    let items = Self::of(data_type.list_item(), list.values().clone(), pieces).await?;
                    Self::List(list.offsets().clone(), Box::new(items))
                }
                DataType::Tuple(elements) => {
                    let mut parts = Vec::with_capacity(elements.len());
                    for (element, column) in elements.iter().zip(array.as_struct().columns()) {
                        parts.push(Self::of(element.data_type.clone(), column.clone(), pieces).await?);
                    }
                    Self::Struct(parts)
                }
                DataType::LowCardinality(inner) => {
                    let plain = plain_array(&Column::new(data_type.clone(), array))?;
                    Self::of((**inner).clone(), plain, pieces).await?
                }
                DataType::Named(named) => Self::of(named.values().clone(), array, pieces).await?,
                _ => {
                    let array = without_nulls(&data_type, array)?;
                    Self::Flat(KeyColumn::new(&Column::new(data_type, array), pieces).await?)
                }
            })
        })
    }

    fn append(&self, row: usize, bytes: &mut Vec<u8>) {
        match self {
            Self::Flat(values) => values.append(row, bytes),
            Self::Nullable(nulls, values) => {
                let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                bytes.push(u8::from(is_null));
                if !is_null {
                    values.append(row, bytes);
                }
            }
            Self::List(ends, items) => {
                let (first, last) = (ends[row] as usize, ends[row + 1] as usize);
                for item in first..last {
                    bytes.push(ITEM);
                    items.append(item, bytes);
                }
                bytes.push(END);
            }
            Self::Struct(parts) => parts.iter().for_each(|part| part.append(row, bytes)),
        }
    }
}

/// Appends a string so that none is the beginning of another: what is a zero in it is told from its end.
pub(in crate::merge_tree) fn append_string(value: &[u8], bytes: &mut Vec<u8>) {
    for part in value.split_inclusive(|byte| *byte == 0) {
        bytes.extend_from_slice(part);
        if part.ends_with(&[0]) {
            bytes.push(0xFF);
        }
    }
    bytes.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_runtime::block_on;
    use squall_types::{ColumnBuilder, Value};

    #[test]
    fn bytes_have_the_order_of_the_values() {
        let data_type = DataType::parse("Array(Tuple(String, Nullable(Int32)))").unwrap();
        let item = |text: &str, number: Option<i64>| {
            Value::Tuple([Value::from(text), number.map_or(Value::Null, Value::Int64)].into())
        };
        let sorted = [
            vec![],
            vec![item("", Some(-1))],
            vec![item("", None)],
            vec![item("\0", Some(0))],
            vec![item("a", Some(-5))],
            vec![item("a", Some(7))],
            vec![item("a", Some(7)), item("", Some(0))],
            vec![item("a", None)],
            vec![item("a\0b", Some(1))],
            vec![item("ab", Some(1))],
        ];
        let mut builder = ColumnBuilder::new(data_type);
        sorted.iter().for_each(|items| builder.append(&Value::Array(items.clone().into())).unwrap());
        let column = builder.finish().unwrap();
        let bytes = block_on(of_column(&column, &mut Pieces::begin())).unwrap();
        let bytes: Vec<&[u8]> = bytes.iter().flatten().collect();
        assert!(bytes.is_sorted_by(|left, right| left < right), "{bytes:?}");
    }
}
