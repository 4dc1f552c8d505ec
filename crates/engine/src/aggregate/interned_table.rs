//! A hash table of keys of several columns of which some are strings with few values: each string is a number in a dictionary that all workers
//! share, and the table's keys are these numbers and the other columns. So strings are hashed and compared once a worker and value, keys are
//! short, and workers' groups are merged by numbers alone.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_array::types::UInt32Type;
use parking_lot::RwLock;
use squall_functions::GroupIds;
use squall_planner::{Aggregate, KeyEstimates};
use squall_types::{Column, DataType, Error, Physical, Result, grow};

use super::bounds::Bounds;
use super::coded_keys::CodedKeys;
use super::key_table::{KeyKind, KeyTable, downcast_table};

/// The dictionaries of keys' columns, and what the numbers are looked up by.
#[derive(Clone, Debug)]
pub(crate) struct Interning {
    /// By key, where its values are numbers in a dictionary.
    dictionaries: Arc<[Option<Dictionary>]>,
    /// The kind of table of the numbers and the other columns.
    numbers: Box<KeyKind>,
    number_types: Arc<[DataType]>,
}

/// The values of one key, each with a number.
#[derive(Debug)]
struct Dictionary {
    data_type: DataType,
    values: RwLock<Values>,
}

#[derive(Default)]
struct Values {
    /// Its groups are the numbers. `None` until the first value comes.
    table: Option<Box<dyn KeyTable>>,
    /// All of them, or those that there were when they were last asked for.
    column: Option<Column>,
}

impl std::fmt::Debug for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Values").field("values", &self.len()).finish()
    }
}

impl Values {
    fn len(&self) -> usize {
        self.table.as_ref().map_or(0, |table| table.groups())
    }
}

/// An empty table of a key's values, each of which is a group.
fn values_table(data_type: &DataType) -> Box<dyn KeyTable> {
    let types = [data_type.clone()];
    KeyKind::of(&types, Bounds::default()).table(&types)
}

impl Dictionary {
    /// The numbers of values, which get one where they have none.
    fn numbers(&self, values: &[Column], rows: usize, numbers: &mut Vec<u32>) -> Result<()> {
        let mut known = self.values.write();
        let table = known.table.get_or_insert_with(|| values_table(&self.data_type));
        let mut scratch = Vec::new();
        match table.group_ids(values, rows, &mut scratch)? {
            GroupIds::Each(ids) => numbers.extend_from_slice(ids),
            _ => return Err(Error::logical("strings that are not hashed")),
        }
        Ok(())
    }

    /// The values of numbers.
    fn column(&self, numbers: &UInt32Array) -> Result<Column> {
        let all = {
            let known = self.values.read();
            known.column.clone().filter(|column| column.rows() == known.len())
        };
        let all = match all {
            Some(all) => all,
            None => {
                let mut known = self.values.write();
                let values = known.len();
                let columns = known.table.as_ref().map_or(Ok(Vec::new()), |table| table.columns(0..values))?;
                let all = columns.into_iter().next().ok_or_else(|| Error::logical("numbers of no values"))?;
                known.column.insert(all).clone()
            }
        };
        all.take(numbers)
    }
}

/// Dictionaries of more values are no longer small beside the groups.
const VALUES_MAX: f64 = 65_536.0;
/// So many rows there must be for each value.
const ROWS_PER_VALUE_MIN: f64 = 4.0;
/// Fewer groups stay in the cache as they are.
const GROUPS_MIN: f64 = 4_096.0;

impl Interning {
    /// The form for the keys of an aggregation; `None` where that is not expected to pay.
    pub(crate) fn worth(aggregate: &Aggregate) -> Option<Self> {
        let types: Vec<DataType> = aggregate.keys.iter().map(|key| key.data_type().clone()).collect();
        let is_interned: Vec<bool> =
            types.iter().map(|of| of.remove_low_cardinality().physical() == Physical::Bytes).collect();
        if types.len() < 2 || !is_interned.contains(&true) {
            return None;
        }
        let KeyEstimates { rows, groups, values, combinations } = KeyEstimates::of(aggregate)?;
        if combinations.is_some_and(|combinations| CodedKeys::suit(combinations, rows)) {
            return None;
        }
        let most = VALUES_MAX.min(rows / ROWS_PER_VALUE_MIN);
        let are_few =
            |(values, is_interned): (&Option<f64>, &bool)| !is_interned || values.is_some_and(|values| values <= most);
        let is_worth = groups >= GROUPS_MIN && values.iter().zip(&is_interned).all(are_few);
        if is_worth { Self::of(&types, &is_interned) } else { None }
    }

    /// The form for keys of these types, those of which `is_interned` tells as numbers; `None` where they do not fit into a number.
    fn of(types: &[DataType], is_interned: &[bool]) -> Option<Self> {
        let number_types: Vec<DataType> = types
            .iter()
            .zip(is_interned)
            .map(|(data_type, is_interned)| if *is_interned { DataType::UInt32 } else { data_type.clone() })
            .collect();
        let numbers = KeyKind::of(&number_types, Bounds::default());
        if !numbers.is_hashed_number() {
            return None;
        }
        let dictionary = |(data_type, is_interned): (&DataType, &bool)| {
            is_interned.then(|| Dictionary { data_type: data_type.clone(), values: RwLock::default() })
        };
        Some(Self {
            dictionaries: types.iter().zip(is_interned).map(dictionary).collect(),
            numbers: Box::new(numbers),
            number_types: number_types.into(),
        })
    }

    pub(super) fn table(&self) -> InternedTable {
        InternedTable { interning: self.clone(), known: Vec::new(), table: self.numbers.table(&self.number_types) }
    }
}

/// The values of a key that a worker has met, and their numbers in the dictionary.
struct Known {
    table: Box<dyn KeyTable>,
    numbers: Vec<u32>,
    groups: Vec<u32>,
}

impl Known {
    fn new(data_type: &DataType) -> Self {
        Self { table: values_table(data_type), numbers: Vec::new(), groups: Vec::new() }
    }

    /// The numbers of a key's rows.
    fn numbers(&mut self, dictionary: &Dictionary, key: &Column, rows: usize) -> Result<Column> {
        let GroupIds::Each(groups) = self.table.group_ids(std::slice::from_ref(key), rows, &mut self.groups)? else {
            return Err(Error::logical("strings that are not hashed"));
        };
        let (before, all) = (self.numbers.len(), self.table.groups());
        if before < all {
            grow(&mut self.numbers, all - before)?;
            dictionary.numbers(&self.table.columns(before..all)?, all - before, &mut self.numbers)?;
        }
        let numbers = groups.iter().map(|group| self.numbers[*group as usize]).collect();
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, numbers))
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() + (self.numbers.capacity() + self.groups.capacity()) * size_of::<u32>()
    }
}

/// Groups by numbers of strings and by other columns.
pub(crate) struct InternedTable {
    interning: Interning,
    /// By key, once the first rows have come.
    known: Vec<Option<Known>>,
    /// Of the numbers.
    table: Box<dyn KeyTable>,
}

impl InternedTable {
    /// The numbers of rows' strings, and their other columns.
    fn numbers(&mut self, keys: &[Column], rows: usize) -> Result<Vec<Column>> {
        let dictionaries = &self.interning.dictionaries;
        if self.known.is_empty() {
            let known = |dictionary: &Option<Dictionary>| dictionary.as_ref().map(|of| Known::new(&of.data_type));
            self.known = dictionaries.iter().map(known).collect();
        }
        let both = dictionaries.iter().zip(&mut self.known).zip(keys);
        let columns = both.map(|((dictionary, known), key)| match (dictionary, known) {
            (Some(dictionary), Some(known)) => known.numbers(dictionary, key, rows),
            _ => Ok(key.clone()),
        });
        columns.collect()
    }
}

impl KeyTable for InternedTable {
    fn group_ids<'a>(&mut self, keys: &'a [Column], rows: usize, scratch: &'a mut Vec<u32>) -> Result<GroupIds<'a>> {
        let numbers = self.numbers(keys, rows)?;
        match self.table.group_ids(&numbers, rows, scratch)? {
            GroupIds::Each(_) => {}
            _ => return Err(Error::logical("numbers that are not hashed")),
        }
        Ok(GroupIds::Each(scratch))
    }

    fn groups(&self) -> usize {
        self.table.groups()
    }

    fn stop_lookups(&mut self) -> bool {
        self.table.stop_lookups()
    }

    fn close(&mut self) -> bool {
        self.table.close()
    }

    fn has_hashes(&self) -> bool {
        self.table.has_hashes()
    }

    fn keep(&mut self, keys: &[Column], rows: usize, hashes: &mut Vec<u64>) -> Result<Vec<Column>> {
        let numbers = self.numbers(keys, rows)?;
        self.table.keep(&numbers, rows, hashes)
    }

    fn kept_hashes(&mut self, kept: &[Column], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
        self.table.kept_hashes(kept, rows, hashes)
    }

    fn kept_group_ids<'a>(
        &mut self,
        kept: &'a [Column],
        rows: usize,
        scratch: &'a mut Vec<u32>,
    ) -> Result<GroupIds<'a>> {
        self.table.kept_group_ids(kept, rows, scratch)
    }

    fn room(&self) -> usize {
        self.table.room()
    }

    fn partition(&self, groups: Range<usize>, lists: &mut [Vec<u32>]) {
        self.table.partition(groups, lists);
    }

    fn part(&self, groups: &[u32]) -> Result<Box<dyn KeyTable>> {
        let table = self.table.part(groups)?;
        Ok(Box::new(Self { interning: self.interning.clone(), known: Vec::new(), table }))
    }

    fn merge(&mut self, other: &dyn KeyTable, groups: Range<usize>, to: &mut Vec<u32>) -> Result<()> {
        self.table.merge(&*downcast_table::<Self>(other)?.table, groups, to)
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        self.table.reserve_groups(groups)
    }

    fn rest(&mut self) {
        self.known = Vec::new();
        self.table.rest();
    }

    fn columns(&self, groups: Range<usize>) -> Result<Vec<Column>> {
        let columns = self.table.columns(groups)?;
        let both = self.interning.dictionaries.iter().zip(columns);
        let columns = both.map(|(dictionary, column)| match dictionary {
            Some(dictionary) => dictionary.column(column.as_primitive::<UInt32Type>()?),
            None => Ok(column),
        });
        columns.collect()
    }

    // Without the dictionaries, which all workers and partitions share.
    fn memory_bytes(&self) -> usize {
        let known: usize = self.known.iter().flatten().map(Known::memory_bytes).sum();
        self.table.memory_bytes() + known
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use squall_types::Value;

    use super::*;
    use crate::test_columns::column;

    const TYPES: [&str; 4] = ["String", "Nullable(Int32)", "Nullable(String)", "LowCardinality(String)"];

    fn row(number: u64) -> Vec<Value> {
        let word = |value: u64| match value {
            0 => Value::Null,
            value => Value::from(&*format!("a longer word {value}")),
        };
        let place = number * 7919 % 1_000;
        vec![
            Value::from(&*format!("w{}", place % 50)),
            if place.is_multiple_of(7) { Value::Null } else { Value::Int64(place as i64 % 9 - 4) },
            word(place % 3),
            Value::from(&*format!("{}", place % 4)),
        ]
    }

    fn columns(rows: Range<u64>) -> Vec<Column> {
        let of =
            |key: usize| column(TYPES[key], &rows.clone().map(|number| row(number)[key].clone()).collect::<Vec<_>>());
        (0..TYPES.len()).map(of).collect()
    }

    fn keys(table: &dyn KeyTable) -> Vec<String> {
        let columns = table.columns(0..table.groups()).unwrap();
        let of_row = |row: usize| columns.iter().map(|column| format!("{},", column.value(row))).collect();
        (0..table.groups()).map(of_row).collect()
    }

    /// Two workers meet values in different orders, and their groups are merged by numbers, whole and in partitions.
    #[test]
    fn groups_of_workers_are_merged() {
        let types = TYPES.map(|name| DataType::parse(name).unwrap());
        let interning = Interning::of(&types, &[true, false, true, true]).unwrap();
        let mut workers = [interning.table(), interning.table()];
        let mut all = BTreeSet::new();
        for (worker, blocks) in [(0, [0..300, 300..700]), (1, [650..900, 880..1_000])] {
            for rows in blocks {
                let (expected, keys_of_rows) = (rows.clone().map(row), columns(rows.clone()));
                let mut groups = Vec::new();
                let count = keys_of_rows[0].rows();
                workers[worker].group_ids(&keys_of_rows, count, &mut groups).unwrap();
                let keys = keys(&workers[worker]);
                for (group, values) in groups.iter().zip(expected) {
                    let text: String = values.iter().map(|value| format!("{value},")).collect();
                    assert_eq!(keys[*group as usize], text);
                    all.insert(text);
                }
                // What is kept of rows finds the same groups.
                let mut hashes = Vec::new();
                let kept = workers[worker].keep(&keys_of_rows, count, &mut hashes).unwrap();
                let mut again = Vec::new();
                workers[worker].kept_group_ids(&kept, count, &mut again).unwrap();
                assert_eq!(again, groups);
            }
        }
        let mut found = Vec::new();
        let lists = workers.each_ref().map(|worker| {
            let mut lists = vec![Vec::new(); 4];
            worker.partition(0..worker.groups(), &mut lists);
            lists
        });
        for (one, other) in lists[0].iter().zip(&lists[1]) {
            let mut merged = workers[0].part(one).unwrap();
            let other = workers[1].part(other).unwrap();
            merged.merge(&*other, 0..other.groups(), &mut Vec::new()).unwrap();
            found.extend(keys(&*merged));
        }
        assert_eq!(found.len(), all.len());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), all);
    }

    #[test]
    fn keys_that_do_not_fit_are_not_interned() {
        let wide = ["String", "UUID", "UUID", "UUID"].map(|name| DataType::parse(name).unwrap());
        assert!(Interning::of(&wide, &[true, false, false, false]).is_none());
        let floats = ["String", "Float64"].map(|name| DataType::parse(name).unwrap());
        assert!(Interning::of(&floats, &[true, false]).is_none());
    }
}
