//! What a sort sorts by, and with a LIMIT the key that no row of the result can be beyond.

use std::cmp::Ordering;
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard};
use squall_planner::{Expression, SortKey};
use squall_types::{Column, Schema};

use super::key_words::{are_whole_keys, key_beginnings};
use super::row_keys::Key;

/// What is sorted by.
pub(crate) struct Order {
    pub(crate) keys: Vec<SortKey>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) limit: Option<u64>,
    /// A key that any worker has found: without the rows that equal it or are beyond it and have not come to the sort yet, there are as
    /// many as the limit wants.
    bound: RwLock<Option<Key>>,
}

impl Order {
    pub(crate) fn new(keys: Vec<SortKey>, schema: Arc<Schema>, limit: Option<u64>) -> Self {
        Self { keys, schema, limit, bound: RwLock::default() }
    }

    /// Of the rows that have not come to the sort yet none that equals this key or is beyond it is wanted.
    pub(super) fn tighten(&self, key: Key) {
        let mut bound = self.bound.write();
        if bound.as_ref().is_none_or(|known| key < *known) {
            *bound = Some(key);
        }
    }

    /// The key that rows which still come must be before, as far as one is known.
    pub(super) fn bound(&self) -> RwLockReadGuard<'_, Option<Key>> {
        self.bound.read()
    }

    /// The position of the first key, where that is a column.
    pub(crate) fn first_column(&self) -> Option<usize> {
        match self.keys.first()?.expression {
            Expression::Column { position, .. } => Some(position),
            _ => None,
        }
    }

    /// The same where that key is in descending order.
    pub(crate) fn first_descending_column(&self) -> Option<usize> {
        self.keys.first().filter(|key| key.descending)?;
        self.first_column()
    }

    /// Which rows the first key, whose values these are, leaves within the bound; `None` where it does not tell.
    pub(super) fn rows_within(&self, column: &Column) -> Option<Vec<u32>> {
        let bound = self.bound().as_ref().map(Key::beginning)?;
        let first = self.keys.first()?;
        Some(self.within(&key_beginnings(first, column)?, column, Some(bound)))
    }

    /// Which rows can be among the first, by the first key, whose values these are: no more than the limit says, where ties allow it. `None`
    /// where the key does not tell.
    pub(crate) fn first_rows(&self, column: &Column) -> Option<Vec<u32>> {
        let limit = usize::try_from(self.limit?).ok().filter(|limit| *limit > 0)?;
        let beginnings = key_beginnings(self.keys.first()?, column)?;
        let bound = self.bound().as_ref().map(Key::beginning);
        let mut wanted = self.within(&beginnings, column, bound);
        if wanted.len() <= limit {
            return Some(wanted);
        }
        let mut values: Vec<u64> = wanted.iter().map(|row| beginnings[*row as usize]).collect();
        let last = *values.select_nth_unstable(limit - 1).1;
        if !self.is_whole_key(column) {
            wanted.retain(|row| beginnings[*row as usize] <= last);
            return Some(wanted);
        }
        let mut ties = limit - values.iter().filter(|value| **value < last).count();
        wanted.retain(|row| match beginnings[*row as usize].cmp(&last) {
            Ordering::Less => true,
            Ordering::Equal if ties > 0 => {
                ties -= 1;
                true
            }
            Ordering::Equal | Ordering::Greater => false,
        });
        // The wanted rows that equal the last one have not come to the sort yet, which leaves out what equals the bound.
        if let Some(beyond) = last.checked_add(1) {
            self.tighten(Key::of_beginning(beyond));
        }
        Some(wanted)
    }

    fn within(&self, beginnings: &[u64], column: &Column, bound: Option<u64>) -> Vec<u32> {
        let rows = 0..beginnings.len() as u32;
        let Some(bound) = bound else { return rows.collect() };
        // Of rows that equal the bound there are enough.
        let last = if self.is_whole_key(column) { bound.checked_sub(1) } else { Some(bound) };
        let Some(last) = last else { return Vec::new() };
        rows.filter(|row| beginnings[*row as usize] <= last).collect()
    }

    /// Whether the beginnings of the first key's values are all that rows are sorted by.
    fn is_whole_key(&self, column: &Column) -> bool {
        self.keys.len() == 1 && are_whole_keys(column.data_type())
    }
}

#[cfg(test)]
mod tests {
    use squall_types::{Block, Value};

    use super::*;
    use crate::sort::keys::encode_keys;
    use crate::test_columns::column;

    /// Rows that stay are the first ones, in whatever blocks they come; of those that equal the last enough stay.
    #[test]
    fn the_first_rows_stay() {
        let numbers = (0..600u64).map(|number| number * 7919 % 23);
        let kinds: [(&str, Vec<Value>); 5] = [
            ("UInt64", numbers.clone().map(Value::UInt64).collect()),
            ("Int32", numbers.clone().map(|number| Value::Int64(number as i64 - 9)).collect()),
            (
                "Float64",
                numbers.clone().map(|n| Value::Float64(if n == 5 { f64::NAN } else { 3.5 - n as f64 })).collect(),
            ),
            (
                "Nullable(Int16)",
                numbers.clone().map(|n| if n == 3 { Value::Null } else { Value::Int64(n as i64 - 4) }).collect(),
            ),
            ("String", numbers.map(|number| Value::from(&*"ab".repeat(number as usize))).collect()),
        ];
        for (data_type, values) in kinds {
            for (descending, nulls_first, limit) in
                [(false, false, 10), (true, true, 1), (true, false, 70), (false, true, 599)]
            {
                let whole = column(data_type, &values);
                let expression = Expression::Column { position: 0, data_type: whole.data_type().clone() };
                let keys = vec![SortKey { expression, descending, nulls_first }];
                let schema = Block::from_columns([("x", whole.clone())]).unwrap().schema().clone();
                let order = Order::new(keys.clone(), schema, Some(limit));
                let encoded = |values: &[Value]| {
                    let block = Block::from_columns([("x", column(data_type, values))]).unwrap();
                    let rows = encode_keys(&keys, &block).unwrap();
                    (0..values.len()).map(|row| rows.key(row).to_vec()).collect::<Vec<_>>()
                };
                let mut kept = Vec::new();
                for part in values.chunks(150) {
                    let wanted = order.first_rows(&column(data_type, part)).unwrap();
                    kept.extend(wanted.iter().map(|row| part[*row as usize].clone()));
                }
                let (mut kept, mut all) = (encoded(&kept), encoded(&values));
                kept.sort();
                all.sort();
                let limit = limit as usize;
                assert_eq!(kept[..limit], all[..limit], "{data_type} {descending} {nulls_first} {limit}");
                assert!(limit > 100 || data_type == "String" || kept.len() < 600, "{data_type} {}", kept.len());
            }
        }
    }
}
