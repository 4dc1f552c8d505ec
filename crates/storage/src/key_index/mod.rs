//! Which rows of a block have a key: the hash table of joins, of tables of the engine `Join` and of dictionaries. It is built in
//! partitions of the keys' hashes, which any number of threads may fill at once, and then only read. It holds keys and numbers
//! of rows; the rows themselves are somebody else's.

mod chains;
mod dense;
mod hash_filter;
mod keys;
mod order;
mod presence;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_buffer::BooleanBuffer;
use squall_runtime::Pieces;
use squall_types::{Column, Result, prefetch};

use chains::Chains;
use dense::DenseTable;
use hash_filter::HashFilter;
pub(crate) use keys::row_bytes;
pub use keys::{KeyForm, Keys, SmallKey};
use keys::{KeyValues, Packed, Words, hash_bytes};
pub use order::OrderKeys;
use presence::Presence;

/// No row.
pub const NO_ROW: u32 = u32::MAX;
/// How many rows ahead a slot is prefetched.
const PREFETCH_AHEAD: usize = 16;
/// Keys that are hashed before the first of them is looked up.
const HASHES_AT_ONCE: usize = 256;
/// A table of so many bytes stays in the cache of a core.
const CACHED_BYTES_MAX: usize = 256 << 10;
/// Partitions of large indexes.
const PARTITIONS: usize = 64;
/// Slots of a table that are made between two looks at the clock.
const SLOTS_AT_ONCE: usize = 32_768;
/// From so many rows on an index is partitioned.
const PARTITIONED_ROWS_MIN: usize = 20_000;

/// The keys of one block of the rows that an index is to hold, put in order of the partitions.
#[derive(Debug)]
pub struct KeyRun {
    keys: Keys,
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
        Self { keys, rows, starts, range }
    }

    fn rows_of(&self, partition: usize, partitions: usize) -> &[u32] {
        match partitions {
            1 => &self.rows,
            _ => &self.rows[self.starts[partition] as usize..self.starts[partition + 1] as usize],
        }
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
        let rows: usize = runs.iter().map(|(_, run)| run.rows_of(partition, self.partitions.len()).len()).sum();
        // As wide as the widest packed key and its row, in a table that is half full.
        squall_types::memory::reserve(2 * rows.next_power_of_two() * size_of::<(u128, u32)>())?;
        let mut table =
            runs.first().map_or(Table::Nothing(NO_ROW), |(_, first)| Table::with_capacity(&first.keys.values, rows));
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
        let rows = runs.iter().map(|(_, run)| run.rows_of(partition, self.partitions.len()).len()).sum();
        runs.first().map_or(Table::Nothing(NO_ROW), |(_, first)| Table::new(&first.keys.values, rows))
    }

    /// Adds the keys of a run, whose first row is `offset`, before those that are there.
    fn add(&self, table: &mut Table, partition: usize, offset: u32, run: &KeyRun) {
        if let (Some(presence), KeyValues::Packed8(keys)) = (&self.presence, &run.keys.values) {
            run.rows_of(partition, self.partitions.len()).iter().for_each(|row| presence.add(keys[*row as usize]));
        }
        if let Some(filter) = &self.filter {
            run.rows_of(partition, self.partitions.len())
                .iter()
                .for_each(|row| filter.add(run.keys.hash(*row as usize)));
        }
        for local in run.rows_of(partition, self.partitions.len()).iter().rev() {
            let row = local + offset;
            self.chain(row, table.insert(&run.keys, *local as usize, row, self.keeps_last));
        }
    }

    fn add_dense(&self, table: &DenseTable, partition: usize, offset: u32, run: &KeyRun) {
        let KeyValues::Packed8(keys) = &run.keys.values else { return };
        for local in run.rows_of(partition, self.partitions.len()).iter().rev() {
            let row = local + offset;
            self.chain(row, table.insert(keys[*local as usize], row, self.keeps_last));
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
        fn of<K>(slots: &[Slot<K>]) -> Vec<u32> {
            slots.iter().filter(|slot| slot.row > 0).map(|slot| slot.row - 1).collect()
        }
        match self.partitions.get(partition).and_then(OnceLock::get) {
            None | Some(Table::Nothing(NO_ROW)) => Vec::new(),
            Some(Table::Nothing(row)) => vec![*row],
            Some(Table::Packed8(slots)) => of(slots),
            Some(Table::Packed16(slots)) => of(slots),
            Some(Table::Packed32(slots)) => of(slots),
            Some(Table::Bytes(table)) => {
                table.slots.iter().filter(|slot| slot.row > 0).map(|slot| slot.row - 1).collect()
            }
        }
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        let tables = self.partitions.iter().filter_map(OnceLock::get).map(|table| match table {
            Table::Nothing(_) => 0,
            Table::Packed8(slots) => size_of_val(&slots[..]),
            Table::Packed16(slots) => size_of_val(&slots[..]),
            Table::Packed32(slots) => size_of_val(&slots[..]),
            Table::Bytes(table) => size_of_val(&table.slots[..]) + table.arena.len(),
        });
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
        if let (Some(dense), KeyValues::Packed8(values)) = (&self.dense, &keys.values) {
            return Ok(find_dense(dense, keys, values));
        }
        if let (Some(presence), KeyValues::Packed8(values)) = (&self.presence, &keys.values) {
            return Ok(find_present(&tables, presence, keys, values));
        }
        let filter = self.filter.as_ref();
        Ok(match &keys.values {
            KeyValues::Nothing(rows) => vec![tables.first().map_or(NO_ROW, |table| table.only_row()); *rows],
            KeyValues::Packed8(values) => find_packed(&tables, filter, keys, values, Table::packed8),
            KeyValues::Packed16(values) => find_packed(&tables, filter, keys, values, Table::packed16),
            KeyValues::Packed32(values) => find_packed(&tables, filter, keys, values, Table::packed32),
            KeyValues::Bytes(values) => {
                let find = |row: usize| {
                    if !keys.has_key(row) {
                        return NO_ROW;
                    }
                    let bytes = values.value(row);
                    let hash = hash_bytes(bytes);
                    if filter.is_some_and(|filter| !filter.has(hash)) {
                        return NO_ROW;
                    }
                    match tables[partition_of(hash, tables.len())] {
                        Table::Bytes(table) => table.find(bytes, hash),
                        _ => NO_ROW,
                    }
                };
                (0..keys.len()).map(find).collect()
            }
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

fn find_packed<K: Packed>(
    tables: &[&Table],
    filter: Option<&HashFilter>,
    keys: &Keys,
    values: &[K],
    of: fn(&Table) -> &[Slot<K>],
) -> Vec<u32> {
    let slots: Vec<&[Slot<K>]> = tables.iter().map(|table| of(table)).collect();
    let slots_of = |hash: u64| slots[partition_of(hash, slots.len())];
    let is_cached = slots.len() == 1 && size_of_val(slots_of(0)) <= CACHED_BYTES_MAX;
    let mut found = vec![NO_ROW; values.len()];
    let (mut hashes, mut rows) = ([0; HASHES_AT_ONCE], [0; HASHES_AT_ONCE]);
    let chunks = values.chunks(HASHES_AT_ONCE).zip(found.chunks_mut(HASHES_AT_ONCE)).enumerate();
    for (chunk, (values, found)) in chunks {
        let first = chunk * HASHES_AT_ONCE;
        // The rows that may be found, each with its hash.
        let mut count = 0;
        for (row, key) in values.iter().enumerate() {
            let hash = key.hash();
            hashes[count] = hash;
            rows[count] = row;
            count += usize::from(keys.has_key(first + row) && filter.is_none_or(|filter| filter.has(hash)));
        }
        for at in 0..count {
            if !is_cached && at + PREFETCH_AHEAD < count {
                let hash = hashes[at + PREFETCH_AHEAD];
                let slots = slots_of(hash);
                prefetch(slots, hash as usize & slots.len().wrapping_sub(1));
            }
            found[rows[at]] = find_slot(slots_of(hashes[at]), values[rows[at]], hashes[at]);
        }
    }
    found
}

/// Looks up only the keys that are there.
fn find_present(tables: &[&Table], presence: &Presence, keys: &Keys, values: &[u64]) -> Vec<u32> {
    let slots: Vec<&[Slot<u64>]> = tables.iter().map(|table| table.packed8()).collect();
    let rows = presence.rows(keys, values);
    let mut found = vec![NO_ROW; values.len()];
    let place = |row: u32| {
        let key = values[row as usize];
        let hash = key.hash();
        (slots[partition_of(hash, slots.len())], key, hash)
    };
    for (at, row) in rows.iter().enumerate() {
        if let Some(ahead) = rows.get(at + PREFETCH_AHEAD) {
            let (slots, _, hash) = place(*ahead);
            prefetch(slots, hash as usize & slots.len().wrapping_sub(1));
        }
        let (slots, key, hash) = place(*row);
        found[*row as usize] = find_slot(slots, key, hash);
    }
    found
}

#[inline]
fn find_slot<K: Packed>(slots: &[Slot<K>], key: K, hash: u64) -> u32 {
    let mask = slots.len().wrapping_sub(1);
    let mut at = hash as usize & mask;
    // At most half of the slots are taken, so that an empty one ends the search.
    while let Some(slot) = slots.get(at) {
        if slot.row == 0 || slot.key == key {
            return slot.row.wrapping_sub(1);
        }
        at = (at + 1) & mask;
    }
    NO_ROW
}

/// The partition of a hash among a power of two of them: its high bits, since tables index by the low ones.
#[inline]
fn partition_of(hash: u64, partitions: usize) -> usize {
    if partitions == 1 { 0 } else { (hash >> (64 - partitions.trailing_zeros())) as usize }
}

/// One partition.
#[derive(Debug)]
enum Table {
    /// The first row of all.
    Nothing(u32),
    Packed8(Vec<Slot<u64>>),
    Packed16(Vec<Slot<u128>>),
    Packed32(Vec<Slot<Words>>),
    Bytes(BytesTable),
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot<K> {
    key: K,
    /// The row plus one; 0 is an empty slot.
    row: u32,
}

impl Table {
    fn new(values: &KeyValues, rows: usize) -> Self {
        let mut table = Self::with_capacity(values, rows);
        table.add_slots(usize::MAX);
        table
    }

    /// Memory for a table of so many rows; its slots are to be added before it is used.
    fn with_capacity(values: &KeyValues, rows: usize) -> Self {
        let slots = if rows == 0 { 0 } else { (rows * 2).next_power_of_two() };
        match values {
            KeyValues::Nothing(_) => Self::Nothing(NO_ROW),
            KeyValues::Packed8(_) => Self::Packed8(Vec::with_capacity(slots)),
            KeyValues::Packed16(_) => Self::Packed16(Vec::with_capacity(slots)),
            KeyValues::Packed32(_) => Self::Packed32(Vec::with_capacity(slots)),
            KeyValues::Bytes(_) => Self::Bytes(BytesTable { slots: Vec::with_capacity(slots), arena: Vec::new() }),
        }
    }

    /// Adds some of the slots that there is memory for; whether any are still to be added.
    fn add_slots(&mut self, most: usize) -> bool {
        fn add<S: Clone + Default>(slots: &mut Vec<S>, most: usize) -> bool {
            // Slots are a power of two, and a vector may have got room for more.
            let all = match slots.capacity() {
                0 => 0,
                capacity => 1 << capacity.ilog2(),
            };
            slots.resize(slots.len().saturating_add(most).min(all), S::default());
            slots.len() < all
        }
        match self {
            Self::Nothing(_) => false,
            Self::Packed8(slots) => add(slots, most),
            Self::Packed16(slots) => add(slots, most),
            Self::Packed32(slots) => add(slots, most),
            Self::Bytes(table) => add(&mut table.slots, most),
        }
    }

    /// A copy with room for more keys.
    fn with_room(&self, more: usize) -> Self {
        match self {
            Self::Nothing(first) => Self::Nothing(*first),
            Self::Packed8(slots) => Self::Packed8(with_room(slots, more)),
            Self::Packed16(slots) => Self::Packed16(with_room(slots, more)),
            Self::Packed32(slots) => Self::Packed32(with_room(slots, more)),
            Self::Bytes(table) => Self::Bytes(table.with_room(more)),
        }
    }

    /// Makes `row` the first of its key; the row that was first before. With `keeps_first` the one that was there stays.
    fn insert(&mut self, keys: &Keys, local: usize, row: u32, keeps_first: bool) -> u32 {
        match (self, &keys.values) {
            (Self::Nothing(first), _) => std::mem::replace(first, row),
            (Self::Packed8(slots), KeyValues::Packed8(values)) => insert(slots, values[local], row, keeps_first),
            (Self::Packed16(slots), KeyValues::Packed16(values)) => insert(slots, values[local], row, keeps_first),
            (Self::Packed32(slots), KeyValues::Packed32(values)) => insert(slots, values[local], row, keeps_first),
            (Self::Bytes(table), KeyValues::Bytes(values)) => table.insert(values.value(local), row, keeps_first),
            _ => NO_ROW,
        }
    }

    fn only_row(&self) -> u32 {
        match self {
            Self::Nothing(first) => *first,
            _ => NO_ROW,
        }
    }

    fn packed8(&self) -> &[Slot<u64>] {
        match self {
            Self::Packed8(slots) => slots,
            _ => &[],
        }
    }

    fn packed16(&self) -> &[Slot<u128>] {
        match self {
            Self::Packed16(slots) => slots,
            _ => &[],
        }
    }

    fn packed32(&self) -> &[Slot<Words>] {
        match self {
            Self::Packed32(slots) => slots,
            _ => &[],
        }
    }
}

/// A copy of slots with room for more keys: the same ones where they are enough.
fn with_room<K: Packed>(slots: &[Slot<K>], more: usize) -> Vec<Slot<K>> {
    let keys = slots.iter().filter(|slot| slot.row > 0).count() + more;
    if keys * 2 <= slots.len() {
        return slots.to_vec();
    }
    let mut larger = vec![Slot::default(); (keys * 2).next_power_of_two()];
    for slot in slots.iter().filter(|slot| slot.row > 0) {
        insert(&mut larger, slot.key, slot.row - 1, false);
    }
    larger
}

fn insert<K: Packed>(slots: &mut [Slot<K>], key: K, row: u32, keeps_first: bool) -> u32 {
    let mask = slots.len() - 1;
    let mut at = key.hash() as usize & mask;
    loop {
        let slot = &mut slots[at];
        if slot.row == 0 {
            *slot = Slot { key, row: row + 1 };
            return NO_ROW;
        }
        if slot.key == key {
            let before = slot.row - 1;
            if !keeps_first {
                slot.row = row + 1;
            }
            return before;
        }
        at = (at + 1) & mask;
    }
}

/// Keys as bytes in an arena; a slot holds a part of the hash, so that most probes that miss never touch the arena.
#[derive(Debug)]
struct BytesTable {
    slots: Vec<BytesSlot>,
    arena: Vec<u8>,
}

#[derive(Clone, Copy, Default, Debug)]
struct BytesSlot {
    /// Where the key begins in the arena.
    at: u64,
    length: u32,
    /// The hash's middle bits: the low ones are the slot's place, the high ones the partition.
    tag: u32,
    /// The row plus one; 0 is an empty slot.
    row: u32,
}

impl BytesTable {
    /// A copy with room for more keys.
    fn with_room(&self, more: usize) -> Self {
        let keys = self.slots.iter().filter(|slot| slot.row > 0).count() + more;
        if keys * 2 <= self.slots.len() {
            return Self { slots: self.slots.clone(), arena: self.arena.clone() };
        }
        let mut slots = vec![BytesSlot::default(); (keys * 2).next_power_of_two()];
        let mask = slots.len() - 1;
        for slot in self.slots.iter().filter(|slot| slot.row > 0) {
            let mut at = hash_bytes(self.key(slot)) as usize & mask;
            while slots[at].row > 0 {
                at = (at + 1) & mask;
            }
            slots[at] = *slot;
        }
        Self { slots, arena: self.arena.clone() }
    }

    fn key(&self, slot: &BytesSlot) -> &[u8] {
        &self.arena[slot.at as usize..slot.at as usize + slot.length as usize]
    }

    /// The slot of a key: where it is, or where it would be.
    fn slot(&self, key: &[u8], hash: u64) -> Option<usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots.get(at)?;
            if slot.row == 0 || slot.tag == (hash >> 24) as u32 && self.key(slot) == key {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn find(&self, key: &[u8], hash: u64) -> u32 {
        self.slot(key, hash).map_or(NO_ROW, |at| self.slots[at].row.wrapping_sub(1))
    }

    fn insert(&mut self, key: &[u8], row: u32, keeps_first: bool) -> u32 {
        let hash = hash_bytes(key);
        let Some(at) = self.slot(key, hash) else { return NO_ROW };
        let before = self.slots[at].row.wrapping_sub(1);
        if before == NO_ROW {
            let place = self.arena.len() as u64;
            self.arena.extend_from_slice(key);
            self.slots[at] = BytesSlot { at: place, length: key.len() as u32, tag: (hash >> 24) as u32, row: row + 1 };
        } else if !keeps_first {
            self.slots[at].row = row + 1;
        }
        before
    }
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
