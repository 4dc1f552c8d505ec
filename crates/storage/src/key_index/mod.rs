//! Which rows of a block have a key: the hash table of joins, of tables of the engine `Join` and of dictionaries. It is built in
//! partitions of the keys' hashes, which any number of threads may fill at once, and then only read. It holds keys and numbers
//! of rows; the rows themselves are somebody else's.

mod bytes_table;
mod chains;
mod dense;
mod hash_filter;
mod keys;
mod number_table;
mod order;
mod presence;
mod table;
mod tag_slots;
mod tagged_table;

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_buffer::BooleanBuffer;
use squall_runtime::Pieces;
use squall_types::{Column, Result};

use chains::Chains;
use dense::DenseTable;
use hash_filter::HashFilter;
pub(crate) use keys::row_bytes;
pub use keys::{KeyForm, Keys, SmallKey};
use keys::{KeyValues, Packed, hash_bytes};
use number_table::{find_numbers, find_present};
pub use order::OrderKeys;
use presence::Presence;
use table::Table;
use tag_slots::find_tagged;

/// No row.
pub const NO_ROW: u32 = u32::MAX;
/// How many rows ahead a slot is prefetched.
const PREFETCH_AHEAD: usize = 16;
/// Keys that are hashed before the first of them is looked up.
const HASHES_AT_ONCE: usize = 256;
/// Partitions of large indexes.
const PARTITIONS: usize = 64;
/// Slots of a table that are made between two looks at the clock.
const SLOTS_AT_ONCE: usize = 32_768;
/// From so many rows on an index is partitioned.
const PARTITIONED_ROWS_MIN: usize = 20_000;

/// The keys of one block of the rows that an index is to hold, put in order of the partitions.
#[derive(Debug)]
pub struct KeyRun {
    /// Those of `rows`, in that order, or as they came.
    keys: Keys,
    are_in_order: bool,
    /// Rows that have keys, partition after partition, ascending within each.
    rows: Vec<u32>,
    /// Where each partition begins among `rows`, and the end.
    starts: Vec<u32>,
    /// The smallest and the largest key, where keys are packed in 8 bytes.
    range: Option<(u64, u64)>,
}

impl KeyRun {
    /// Sorts the rows of a block by partition.
    pub fn new(keys: Keys) -> Self {
        let partitions: Vec<u8> = (0..keys.len()).map(|row| partition_of(keys.hash(row), PARTITIONS) as u8).collect();
        let mut starts = vec![0u32; PARTITIONS + 1];
        for (row, partition) in partitions.iter().enumerate() {
            starts[*partition as usize + 1] += u32::from(keys.has_key(row));
        }
        for partition in 0..PARTITIONS {
            starts[partition + 1] += starts[partition];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; starts[PARTITIONS] as usize];
        for (row, partition) in partitions.iter().enumerate() {
            if keys.has_key(row) {
                let at = &mut next[*partition as usize];
                rows[*at as usize] = row as u32;
                *at += 1;
            }
        }
        let range = keys.range();
        // Partitions are filled one after the other: each reads its own keys, and no others beside them.
        let (keys, are_in_order) = match keys.take(&rows) {
            Some(keys) => (keys, true),
            None => (keys, false),
        };
        Self { keys, are_in_order, rows, starts, range }
    }

    /// The places among `rows` of a partition.
    fn places_of(&self, partition: usize, partitions: usize) -> Range<usize> {
        match partitions {
            1 => 0..self.rows.len(),
            _ => self.starts[partition] as usize..self.starts[partition + 1] as usize,
        }
    }

    /// Where the key of a place among `rows` is.
    #[inline]
    fn key_at(&self, place: usize) -> usize {
        if self.are_in_order { place } else { self.rows[place] as usize }
    }
}

/// Rows by key. Rows of one key are a chain in ascending order.
#[derive(Debug)]
pub struct KeyIndex {
    partitions: Vec<OnceLock<Table>>,
    /// Holds the keys of all partitions where they lie close together; then the partitions' own tables are empty.
    dense: Option<DenseTable>,
    /// Which keys are there at all, where that is worth asking first.
    presence: Option<Presence>,
    /// The same of keys that are no numbers close together.
    filter: Option<HashFilter>,
    chains: Chains,
    /// Whether any key has several rows.
    has_chains: AtomicBool,
    keeps_last: bool,
}

impl KeyIndex {
    /// An index of `rows` rows, still empty. `keeps_last`: a key has only its last row.
    pub fn new(rows: usize, keeps_last: bool) -> Self {
        let partitions = if rows < PARTITIONED_ROWS_MIN { 1 } else { PARTITIONS };
        Self {
            partitions: (0..partitions).map(|_| OnceLock::new()).collect(),
            dense: None,
            presence: None,
            filter: None,
            chains: Chains::new(rows),
            has_chains: AtomicBool::new(false),
            keeps_last,
        }
    }

    /// An index of the rows of runs, still empty, in the form that suits their keys. It cannot be [`extended`](Self::extended), and its
    /// [`first_rows`](Self::first_rows) are not known.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn of_runs(rows: usize, keeps_last: bool, runs: &[(u32, KeyRun)]) -> Result<Self> {
        let mut index = Self::new(rows, keeps_last);
        let rows_with_keys = runs.iter().map(|(_, run)| run.rows.len()).sum();
        let ranges = runs.iter().filter(|(_, run)| !run.rows.is_empty()).map(|(_, run)| run.range);
        let range = ranges.reduce(|all, own| all.zip(own).map(|(all, own)| (all.0.min(own.0), all.1.max(own.1))));
        if let Some((least, most)) = range.flatten() {
            index.dense = DenseTable::between(least, most, rows_with_keys)?;
            if index.dense.is_none() {
                index.presence = Presence::between(least, most, rows_with_keys)?;
            }
        }
        if index.dense.is_none() && index.presence.is_none() {
            index.filter = HashFilter::of_rows(rows_with_keys)?;
        }
        Ok(index)
    }

    /// An index of the rows of one block.
    pub fn of(keys: Keys, keeps_last: bool) -> Self {
        let index = Self::new(keys.len(), keeps_last);
        let runs = [(0, KeyRun::new(keys))];
        (0..index.partitions()).for_each(|partition| index.fill(partition, &runs));
        index
    }

    /// An index of these rows and, after them, of the rows of another block: what is here is copied, not made again. `None` where it must
    /// be made anew: it is no longer small enough for one partition, or a key's last row would take the place of another.
    ///
    /// # Errors
    /// Where this index is not filled.
    pub fn extended(&self, keys: &Keys) -> Result<Option<Self>> {
        let (rows, first_new) = (self.chains.rows() + keys.len(), self.chains.rows() as u32);
        if self.dense.is_some() || self.partitions.len() == 1 && rows >= PARTITIONED_ROWS_MIN {
            return Ok(None);
        }
        let known = self.find(keys)?;
        if self.keeps_last && known.iter().any(|row| *row != NO_ROW) {
            return Ok(None);
        }
        let fresh = Self::of(keys.clone(), self.keeps_last);
        let mut firsts: Vec<u32> = (0..fresh.partitions.len()).flat_map(|at| fresh.first_rows(at)).collect();
        firsts.sort_unstable();
        let mut more = vec![0; self.partitions.len()];
        for row in firsts.iter().filter(|row| known[**row as usize] == NO_ROW) {
            more[partition_of(keys.hash(*row as usize), self.partitions.len())] += 1;
        }
        let filled = || squall_types::Error::logical("a key index that is not filled");
        let tables = self.partitions.iter().zip(more);
        let tables = tables.map(|(table, more)| Ok(table.get().ok_or_else(filled)?.with_room(more)));
        let mut tables = tables.collect::<Result<Vec<Table>>>()?;
        let copied = (0..first_new).map(|row| self.next(row));
        let of_fresh = (0..keys.len() as u32).map(|row| match fresh.next(row) {
            NO_ROW => NO_ROW,
            next => first_new + next,
        });
        let chains = Chains::of(rows, copied.chain(of_fresh));
        let mut has_chains = self.has_chains() || fresh.has_chains();
        for row in firsts {
            let mut last = known[row as usize];
            if last == NO_ROW {
                let partition = partition_of(keys.hash(row as usize), tables.len());
                tables[partition].insert(keys, row as usize, first_new + row, false);
                continue;
            }
            // Once for each key: the new rows hang together already.
            while chains.next(last) != NO_ROW {
                last = chains.next(last);
            }
            chains.set(last, first_new + row);
            has_chains = true;
        }
        Ok(Some(Self {
            partitions: tables.into_iter().map(OnceLock::from).collect(),
            dense: None,
            presence: None,
            filter: None,
            chains,
            has_chains: AtomicBool::new(has_chains),
            keeps_last: self.keeps_last,
        }))
    }

    /// How many partitions there are to [`fill`](Self::fill).
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Fills a partition with the keys of all runs, each with the number of its first row, ascending.
    pub fn fill(&self, partition: usize, runs: &[(u32, KeyRun)]) {
        let mut table = self.table(partition, runs);
        // Backwards, so that chains, which grow at their heads, ascend.
        runs.iter().rev().for_each(|(offset, run)| self.add(&mut table, partition, *offset, run));
        let _ = self.partitions[partition].set(table);
    }

    /// The same in pieces of about a millisecond.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub async fn fill_in_pieces(&self, partition: usize, runs: &[(u32, KeyRun)], pieces: &mut Pieces) -> Result<()> {
        if let Some(dense) = &self.dense {
            for (offset, run) in runs.iter().rev() {
                self.add_dense(dense, partition, *offset, run);
                pieces.pause().await;
            }
            let _ = self.partitions[partition].set(Table::Nothing(NO_ROW));
            return Ok(());
        }
        let rows: usize = runs.iter().map(|(_, run)| run.places_of(partition, self.partitions.len()).len()).sum();
        let mut table = match runs.first() {
            Some((_, first)) => {
                squall_types::memory::reserve(Table::bytes_of(&first.keys.values, rows))?;
                Table::with_capacity(&first.keys.values, rows)
            }
            None => Table::Nothing(NO_ROW),
        };
        while table.add_slots(SLOTS_AT_ONCE) {
            pieces.pause().await;
        }
        for (offset, run) in runs.iter().rev() {
            self.add(&mut table, partition, *offset, run);
            pieces.pause().await;
        }
        let _ = self.partitions[partition].set(table);
        Ok(())
    }

    /// An empty table for a partition of the keys of runs.
    fn table(&self, partition: usize, runs: &[(u32, KeyRun)]) -> Table {
        let rows = runs.iter().map(|(_, run)| run.places_of(partition, self.partitions.len()).len()).sum();
        runs.first().map_or(Table::Nothing(NO_ROW), |(_, first)| Table::new(&first.keys.values, rows))
    }

    /// Adds the keys of a run, whose first row is `offset`, before those that are there.
    fn add(&self, table: &mut Table, partition: usize, offset: u32, run: &KeyRun) {
        let places = run.places_of(partition, self.partitions.len());
        if let (Some(presence), KeyValues::Packed8(keys)) = (&self.presence, &run.keys.values) {
            places.clone().for_each(|place| presence.add(keys[run.key_at(place)]));
        }
        if let Some(filter) = &self.filter {
            places.clone().for_each(|place| filter.add(run.keys.hash(run.key_at(place))));
        }
        for place in places.rev() {
            let row = run.rows[place] + offset;
            self.chain(row, table.insert(&run.keys, run.key_at(place), row, self.keeps_last));
        }
    }

    fn add_dense(&self, table: &DenseTable, partition: usize, offset: u32, run: &KeyRun) {
        let KeyValues::Packed8(keys) = &run.keys.values else { return };
        for place in run.places_of(partition, self.partitions.len()).rev() {
            let row = run.rows[place] + offset;
            self.chain(row, table.insert(keys[run.key_at(place)], row, self.keeps_last));
        }
    }

    /// Notes that the row that was the first of a key comes after `row`.
    #[inline]
    fn chain(&self, row: u32, before: u32) {
        if before != NO_ROW && !self.keeps_last {
            self.chains.set(row, before);
            self.has_chains.store(true, Ordering::Relaxed);
        }
    }

    /// The first row of each key of a partition that is filled, in no order.
    pub fn first_rows(&self, partition: usize) -> Vec<u32> {
        self.partitions.get(partition).and_then(OnceLock::get).map(Table::rows).unwrap_or_default()
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let tables = self.partitions.iter().filter_map(OnceLock::get).map(Table::memory_bytes);
        let dense = self.dense.as_ref().map_or(0, DenseTable::memory_bytes);
        let presence = self.presence.as_ref().map_or(0, Presence::memory_bytes);
        let filter = self.filter.as_ref().map_or(0, HashFilter::memory_bytes);
        tables.sum::<usize>() + dense + presence + filter + self.chains.memory_bytes()
    }

    /// Whether a key may have several rows.
    pub fn has_chains(&self) -> bool {
        self.has_chains.load(Ordering::Relaxed)
    }

    /// The next row of the same key; [`NO_ROW`] after the last.
    #[inline]
    pub fn next(&self, row: u32) -> u32 {
        self.chains.next(row)
    }

    /// The tables of all partitions.
    fn tables(&self) -> Result<Vec<&Table>> {
        let tables: Option<Vec<&Table>> = self.partitions.iter().map(OnceLock::get).collect();
        tables.ok_or_else(|| squall_types::Error::logical("a key index that is not filled"))
    }

    /// Which keys are there. The keys must have the form of those inside.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where a partition was not filled.
    pub fn contains(&self, keys: &Keys) -> Result<BooleanBuffer> {
        self.tables()?;
        if let (Some(dense), KeyValues::Packed8(values)) = (&self.dense, &keys.values) {
            return Ok(keys.which(|row| dense.has(values[row])));
        }
        // Of these keys, too, nothing but a bit is read.
        if let (Some(presence), KeyValues::Packed8(values)) = (&self.presence, &keys.values) {
            return Ok(keys.which(|row| presence.has(values[row])));
        }
        let first = self.find(keys)?;
        Ok(BooleanBuffer::collect_bool(first.len(), |row| first[row] != NO_ROW))
    }

    /// The same of the rows of key columns, where they need not be put together for it: of one column of numbers without NULLs, of which the index
    /// has a bit or a place for each. `None` for others.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where a partition was not filled.
    pub fn contains_numbers(&self, columns: &[Column]) -> Result<Option<BooleanBuffer>> {
        self.tables()?;
        let [column] = columns else { return Ok(None) };
        if column.nulls().is_some() {
            return Ok(None);
        }
        Ok(match (&self.dense, &self.presence) {
            (Some(dense), _) => keys::which_numbers(column, |key| dense.has(key)),
            (_, Some(presence)) => keys::which_numbers(column, |key| presence.has(key)),
            (None, None) => None,
        })
    }

    /// The first row of each key, [`NO_ROW`] where there is none. The keys must have the form of those inside.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where a partition was not filled.
    pub fn find(&self, keys: &Keys) -> Result<Vec<u32>> {
        let tables = self.tables()?;
        let nothing = || vec![NO_ROW; keys.len()];
        if let (Some(dense), KeyValues::Packed8(values)) = (&self.dense, &keys.values) {
            return Ok(find_dense(dense, keys, values));
        }
        if let (Some(presence), KeyValues::Packed8(values)) = (&self.presence, &keys.values) {
            let tables = of_kind(&tables, Table::packed8);
            return Ok(tables.map_or_else(nothing, |tables| find_present(&tables, presence, keys, values)));
        }
        let filter = self.filter.as_ref();
        Ok(match &keys.values {
            KeyValues::Nothing(rows) => vec![tables.first().map_or(NO_ROW, |table| table.only_row()); *rows],
            KeyValues::Packed8(values) => of_kind(&tables, Table::packed8)
                .map_or_else(nothing, |tables| find_numbers(&tables, filter, keys, values)),
            KeyValues::Packed16(values) => of_kind(&tables, Table::packed16)
                .map_or_else(nothing, |tables| find_tagged(&tables, filter, keys, |row| values[row], |key| key.hash())),
            KeyValues::Packed32(values) => of_kind(&tables, Table::packed32)
                .map_or_else(nothing, |tables| find_tagged(&tables, filter, keys, |row| values[row], |key| key.hash())),
            KeyValues::Bytes(values) => of_kind(&tables, Table::bytes)
                .map_or_else(nothing, |tables| find_tagged(&tables, filter, keys, |row| values.value(row), hash_bytes)),
        })
    }
}

fn find_dense(table: &DenseTable, keys: &Keys, values: &[u64]) -> Vec<u32> {
    if keys.have_all_keys() {
        return values.iter().map(|key| table.find(*key)).collect();
    }
    let find = |(row, key): (usize, &u64)| if keys.has_key(row) { table.find(*key) } else { NO_ROW };
    values.iter().enumerate().map(find).collect()
}

/// The tables of all partitions as those of one kind; `None` where there are none, since no rows came.
fn of_kind<'a, T>(tables: &[&'a Table], kind: fn(&Table) -> Option<&T>) -> Option<Vec<&'a T>> {
    tables.iter().map(|table| kind(table)).collect()
}

/// The partition of a hash among a power of two of them: its high bits, since tables index by the low ones.
#[inline]
fn partition_of(hash: u64, partitions: usize) -> usize {
    if partitions == 1 { 0 } else { (hash >> (64 - partitions.trailing_zeros())) as usize }
}

#[cfg(test)]
mod tests {
    use squall_runtime::block_on;
    use squall_types::DataType;

    use super::*;

    fn rows_of(index: &KeyIndex, mut row: u32) -> Vec<u32> {
        let mut rows = Vec::new();
        while row != NO_ROW {
            rows.push(row);
            row = index.next(row);
        }
        rows
    }

    fn keys(columns: &[Column]) -> Keys {
        let form = KeyForm::of(columns.iter().map(Column::data_type));
        Keys::new(form, columns, columns[0].rows()).unwrap()
    }

    #[test]
    fn an_index_that_grows_is_the_one_of_all_rows() {
        let mut random = 7u64;
        for width in [50u64, 3_000, 60_000] {
            for is_text in [false, true] {
                let mut values: Vec<u64> = Vec::new();
                let column = |values: &[u64]| match is_text {
                    true => Column::from_strings(values.iter().map(|value| format!("key {value}"))),
                    false => {
                        Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values.to_vec())
                    }
                };
                let mut grown = KeyIndex::of(keys(&[column(&values)]), false);
                for added in [0usize, 1, 10, 500, 30_000, 3, 20_000] {
                    let new: Vec<u64> = (0..added)
                        .map(|_| {
                            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            (random >> 33) % width
                        })
                        .collect();
                    values.extend(&new);
                    let all = keys(&[column(&values)]);
                    grown = match grown.extended(&keys(&[column(&new)])).unwrap() {
                        Some(grown) => grown,
                        None => KeyIndex::of(all.clone(), false),
                    };
                    let expected = KeyIndex::of(all.clone(), false);
                    assert_eq!(grown.has_chains(), expected.has_chains());
                    let asked = keys(&[column(&(0..width + 5).collect::<Vec<u64>>())]);
                    let (found, wanted) = (grown.find(&asked).unwrap(), expected.find(&asked).unwrap());
                    for (found, wanted) in found.into_iter().zip(wanted) {
                        assert_eq!(rows_of(&grown, found), rows_of(&expected, wanted));
                    }
                }
            }
        }
    }

    #[test]
    fn every_row_is_found_by_its_key_in_order() {
        // Three widths of packed keys and bytes, small and partitioned.
        for rows in [100u64, 50_000] {
            let numbers = |count: u64, by: u64| (0..count).map(move |row| row % by);
            let number =
                |values: Vec<u64>| Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values);
            let text = |values: Vec<u64>| Column::from_strings(values.iter().map(|value| format!("key {value}")));
            let by = rows / 2 - 7;
            let build: Vec<u64> = numbers(rows, by).collect();
            let probe: Vec<u64> = (0..rows).collect();
            type Form = dyn Fn(Vec<u64>) -> Vec<Column>;
            let forms: [Box<Form>; 6] = [
                Box::new(move |values| vec![number(values)]),
                Box::new(move |values| vec![number(values.clone()), number(values)]),
                Box::new(move |values| vec![number(values.clone()), number(values.clone()), number(values)]),
                Box::new(move |values| (0..5).map(|_| number(values.clone())).collect()),
                Box::new(move |values| vec![text(values)]),
                Box::new(move |values| vec![text(values.clone()), number(values)]),
            ];
            for form in forms {
                let runs = [(0, KeyRun::new(keys(&form(build.clone()))))];
                let of_runs = KeyIndex::of_runs(rows as usize, false, &runs).unwrap();
                for partition in 0..of_runs.partitions() {
                    block_on(of_runs.fill_in_pieces(partition, &runs, &mut Pieces::begin())).unwrap();
                }
                for index in [KeyIndex::of(keys(&form(build.clone())), false), of_runs] {
                    assert!(index.has_chains());
                    let asked = form(probe.clone());
                    let (found, bits) = (index.find(&keys(&asked)).unwrap(), index.contains(&keys(&asked)).unwrap());
                    assert!(found.iter().map(|row| *row != NO_ROW).eq(&bits));
                    // Numbers that lie close together have a bit or a place each.
                    let of_numbers = index.contains_numbers(&asked).unwrap();
                    assert!(of_numbers.is_none_or(|of_numbers| of_numbers == bits));
                    for (value, first) in probe.iter().zip(found) {
                        let first_row = if *value < by { *value } else { rows };
                        let expected: Vec<u32> = (first_row..rows).step_by(by as usize).map(|row| row as u32).collect();
                        assert_eq!(rows_of(&index, first), expected);
                    }
                }
                let last = KeyIndex::of(keys(&form(build.clone())), true);
                let found = last.find(&keys(&form(vec![0, by]))).unwrap();
                assert_eq!(found, [((rows - 1) / by * by) as u32, NO_ROW]);
            }
        }
    }

    #[test]
    fn rows_with_null_have_no_key_and_no_keys_are_all_equal() {
        let mut builder = squall_types::ColumnBuilder::new(DataType::Nullable(std::sync::Arc::new(DataType::UInt8)));
        for value in [squall_types::Value::Null, squall_types::Value::UInt64(0)] {
            builder.append(&value).unwrap();
        }
        let column = builder.finish().unwrap();
        let index = KeyIndex::of(keys(std::slice::from_ref(&column)), false);
        assert_eq!(index.find(&keys(&[column])).unwrap(), [NO_ROW, 1]);
        let nothing = |rows| Keys::new(KeyForm::Nothing, &[], rows).unwrap();
        let index = KeyIndex::of(nothing(3), false);
        let found = index.find(&nothing(2)).unwrap();
        assert_eq!(found, [0, 0]);
        assert_eq!(rows_of(&index, found[0]), [0, 1, 2]);
        assert_eq!(KeyIndex::new(0, false).partitions(), 1);
    }
}
