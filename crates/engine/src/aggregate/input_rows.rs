//! Rows on their way into groups, which are kept until they are looked up: what their groups are found by, and the arguments of each function.

use squall_types::{Column, Result};

use super::row_places::RowPlaces;

/// Rows that no group has yet.
pub(super) struct InputRows {
    /// What the table of their groups keeps of their keys.
    pub(super) keys: Vec<Column>,
    pub(super) arguments: Vec<Column>,
    pub(super) rows: usize,
}

impl InputRows {
    /// Rows one after the other, in their places.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub(super) fn in_places(all: &[Self], places: &RowPlaces) -> Result<Self> {
        let in_places = |columns: fn(&Self) -> &[Column]| {
            let count = all.first().map_or(0, |first| columns(first).len());
            let column = |at: usize| -> Result<Column> {
                places.apply(&all.iter().map(|rows| columns(rows)[at].clone()).collect::<Vec<_>>())
            };
            (0..count).map(column).collect::<Result<Vec<_>>>()
        };
        let (keys, arguments) = (in_places(|rows| &rows.keys)?, in_places(|rows| &rows.arguments)?);
        Ok(Self { keys, arguments, rows: places.rows() })
    }

    /// Rows `offset..offset + rows`, without copying.
    pub(super) fn slice(&self, offset: usize, rows: usize) -> Self {
        let slices = |columns: &[Column]| columns.iter().map(|column| column.slice(offset, rows)).collect();
        Self { keys: slices(&self.keys), arguments: slices(&self.arguments), rows }
    }

    /// Bytes of the values.
    pub(super) fn value_bytes(&self) -> usize {
        self.keys.iter().chain(&self.arguments).map(Column::value_bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::UInt16Type;
    use squall_types::{DataType, Value};

    use super::*;

    #[test]
    fn rows_are_found_in_their_places() {
        let strings = |values: &[&str]| Column::from_strings(values);
        let numbers = |values: &[u16]| Column::from_primitive::<UInt16Type>(DataType::UInt16, values.to_vec());
        let constant = |rows| Column::constant(DataType::UInt16, &Value::UInt64(7), rows).unwrap();
        let rows = |keys: Column, number: Column| {
            let (rows, constant) = (keys.rows(), constant(keys.rows()));
            InputRows { keys: vec![keys], arguments: vec![number, constant], rows }
        };
        let first = rows(strings(&["a", "b", "c"]), numbers(&[1, 2, 3]));
        let second = rows(strings(&["d", "e"]), numbers(&[4, 5]));
        let all = InputRows::in_places(&[first, second], &RowPlaces::new(vec![4, 0, 2, 1, 3])).unwrap();
        let part = all.slice(1, 3);
        assert_eq!((all.rows, part.rows), (5, 3));
        let texts = |column: &Column| (0..column.rows()).map(|row| column.value(row).to_string()).collect::<Vec<_>>();
        assert_eq!(texts(&all.keys[0]), ["'b'", "'d'", "'c'", "'e'", "'a'"]);
        assert_eq!(texts(&part.keys[0]), ["'d'", "'c'", "'e'"]);
        assert_eq!(texts(&part.arguments[0]), ["4", "3", "5"]);
        assert_eq!(texts(&part.arguments[1]), ["7", "7", "7"]);
    }
}
