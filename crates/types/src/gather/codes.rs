//! Columns of strings one after the other, as codes of those that differ.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use squall_runtime::Pieces;

use super::TAKEN_AT_ONCE;
use crate::coder::CodesElsewhere;
use crate::{Coded, Coder, Column, Result};

/// What codes are made from.
enum Source<'a> {
    Codes(CodesElsewhere<'a>),
    Strings(ArrayRef),
}

/// The rows of columns that come one after the other as codes of strings that some row has, each once. `None` where they are no strings, or too
/// many of them differ, or there is no memory for codes.
///
/// # Errors
/// Where a column cannot be had as an array.
pub async fn codes(columns: &[Column], pieces: &mut Pieces) -> Result<Option<Coded>> {
    if columns.iter().any(|column| column.data_type().arrow_type() != ArrowType::Binary) {
        return Ok(None);
    }
    let Ok(Some(mut coder)) = Coder::new(columns.iter().map(Column::rows).sum()) else { return Ok(None) };
    for column in columns {
        let mut source = match column.coded() {
            Some(coded) => Source::Codes(CodesElsewhere::of(coded)),
            None => Source::Strings(column.to_array()?),
        };
        for first in (0..column.rows()).step_by(TAKEN_AT_ONCE) {
            let rows = TAKEN_AT_ONCE.min(column.rows() - first);
            let added = match &mut source {
                Source::Codes(codes) => coder.append_codes(codes, first, rows),
                Source::Strings(strings) => coder.append(strings.slice(first, rows).as_binary::<i32>()),
            };
            if !matches!(added, Ok(true)) {
                return Ok(None);
            }
            pieces.pause().await;
        }
    }
    coder.finish_in_pieces(pieces).await.map(Some)
}

#[cfg(test)]
mod tests {
    use squall_runtime::block_on;

    use super::*;
    use crate::{ColumnBuilder, DataType, Rows, Value};

    fn column(values: impl Iterator<Item = Value>) -> Column {
        let mut builder = ColumnBuilder::new(DataType::String.to_nullable());
        values.for_each(|value| builder.append(&value).unwrap());
        builder.finish().unwrap()
    }

    fn codes_of(columns: &[Column]) -> Option<Column> {
        let coded = block_on(codes(columns, &mut Pieces::begin())).unwrap()?;
        Some(Column::of_rows(columns[0].data_type().clone(), Rows::Coded(coded)))
    }

    #[test]
    fn codes_of_several_columns_are_codes_of_one() {
        let value = |row: usize| match row % 9 {
            4 => Value::Null,
            other => Value::from(format!("{other}").as_str()),
        };
        let whole = column((0..30_000).map(value));
        let coded = codes_of(&[whole.slice(0, 20_000)]).unwrap();
        let constant = Column::constant(whole.data_type().clone(), &Value::from("7"), 9).unwrap();
        // The dictionary of the part in the middle has strings that none of its rows has.
        let columns = [coded.slice(0, 11), coded.slice(9 * 900, 1), constant, whole.slice(20_000, 10_000)];
        let all = codes_of(&columns).unwrap();
        let together = Column::concat(&columns).unwrap();
        assert_eq!(all.rows(), 11 + 1 + 9 + 10_000);
        (0..all.rows()).for_each(|row| assert_eq!(all.value(row), together.value(row), "{row}"));
        let few = codes_of(&[coded.slice(9 * 900, 1), coded.slice(0, 2), coded.slice(9 * 900, 9_001)]).unwrap();
        assert_eq!(few.coded().unwrap().values().len(), 9);
    }

    #[test]
    fn strings_that_all_differ_have_none() {
        assert!(codes_of(&[column((0..30_000).map(|row| Value::from(format!("{row}").as_str())))]).is_none());
        let number = Column::constant(DataType::UInt8, &Value::UInt64(1), 30_000).unwrap();
        assert!(block_on(codes(&[number], &mut Pieces::begin())).unwrap().is_none());
    }
}
