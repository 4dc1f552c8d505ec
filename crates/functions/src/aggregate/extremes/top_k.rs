//! `topK`, `topKWeighted`, `approx_top_k`, `approx_top_sum`: the most frequent values, about: Filtered Space-Saving (Homem, Carvalho,
//! *Finding top-k elements in data streams*, 2010). Exact while the distinct values fit the counters. Beyond, twice as many values as
//! there are counters are collected, then the less frequent half is given up; a bin remembers how often its values came, and a newcomer
//! of that bin begins with that count, all of it uncertain. What came for certain decides, so rare values do not push out frequent ones.

use std::marker::PhantomData;
use std::sync::Arc;

use hashbrown::HashTable;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::element::{Element, with_element};
use crate::aggregate::values::row_bytes::RowBytes;
use crate::aggregate::values::row_hash::{number_bits, row_hashes};
use crate::aggregate::values::slot_order::{hash_bytes, hash_number};
use crate::aggregate::values::state_bytes::{put_varint, take_count, take_varint};
use crate::aggregate::values::value_list::{ValueList, list_column};
use crate::partial_sort::{partial_sort, select};

/// ClickHouse's bound on the number of counters.
const COUNTERS_MAX: u64 = 0xFF_FFFF;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let (is_approx, is_weighted) = match call.name {
        "approx_top_k" => (true, false),
        "approx_top_sum" => (true, true),
        name => (false, name == "topKWeighted"),
    };
    let out_of_bound = |what: String| Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, what);
    let number = |value: &Value| {
        let number = value.as_u64().or_else(|| value.as_f64().map(|value| value as u64)).filter(|value| *value > 0);
        number
            .ok_or_else(|| out_of_bound(format!("Parameter {value} is illegal for aggregate function '{}'", call.name)))
    };
    let limit = call.parameters.first().map(number).transpose()?.unwrap_or(10);
    let counters = match (call.parameters.get(1), is_approx) {
        // The number of counters itself, or how many there are for each value that is asked for.
        (Some(counters), true) => number(counters)?.max(limit),
        (Some(factor), false) => limit.saturating_mul(number(factor)?),
        (None, _) => limit.saturating_mul(3),
    };
    let with_counts = match call.parameters.get(2) {
        None => is_approx,
        Some(option) if option.as_str() == Some("counts") && !is_approx => true,
        Some(option) => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Aggregate function '{}' doesn't support a parameter: {option}", call.name),
            ));
        }
    };
    if call.parameters.len() > 3 || is_approx && call.parameters.len() > 2 {
        return Err(call.wrong_parameters("fewer parameters"));
    }
    if counters > COUNTERS_MAX || limit > COUNTERS_MAX {
        return Err(out_of_bound(format!(
            "Too large parameter(s) for aggregate function '{}' (maximum is {COUNTERS_MAX})",
            call.name
        )));
    }
    let argument = if is_weighted { call.two_arguments()?.0 } else { call.argument()? };
    if let (true, [_, weight]) = (is_weighted, call.arguments)
        && !weight.is_integer()
    {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("The second argument for aggregate function '{}' must have integer type", call.name),
        ));
    }
    let item = argument.clone();
    let result = match with_counts {
        true => {
            DataType::named_tuple([("item", item.clone()), ("count", DataType::UInt64), ("error", DataType::UInt64)])
        }
        false => item.clone(),
    };
    let data_type = DataType::array(result);
    let (limit, counters) = (limit as usize, counters as usize);
    Ok(
        with_element!(argument, E => grouped::function(TopK::<E> { data_type, item, with_counts, limit, counters, element: PhantomData })),
    )
}

#[derive(Debug)]
struct TopK<E> {
    data_type: DataType,
    item: DataType,
    /// Whether counts and errors are given, too.
    with_counts: bool,
    limit: usize,
    counters: usize,
    element: PhantomData<E>,
}

/// Bins for values without a counter, for each counter; rounded up to a power of two.
const BINS_PER_COUNTER: usize = 6;

/// So many counters at least are filled before the least frequent ones are given up: else few counters would be sorted all the time.
const FILLED_MIN: usize = 64;

/// What a bin may say at most, so that sums of bins stay far from the bounds of a count.
const BIN_MAX: u64 = u32::MAX as u64;

/// Counters of the values that were most frequent so far.
#[derive(Clone)]
pub(in crate::aggregate) struct Counters<V> {
    /// In the order in which the values came, or in which a selection left them: nobody sorts before the result is wanted.
    counters: Vec<Counter<V>>,
    /// The places of the counters by the hashes of their values.
    by_hash: HashTable<u32>,
    /// How often values of a bin came that were given up. Empty until the first is.
    bins: Vec<u64>,
}

#[derive(Clone)]
struct Counter<V> {
    hash: u128,
    /// The hash that chooses the bin.
    bin_hash: u64,
    value: V,
    count: u64,
    /// By how much the count may be too high.
    error: u64,
}

impl<V> Counter<V> {
    /// How often the value came for certain.
    fn certain(&self) -> u64 {
        self.count.wrapping_sub(self.error)
    }

    fn precedes(&self, other: &Self) -> bool {
        (self.certain(), self.count) > (other.certain(), other.count)
    }
}

/// The bits of a hash by which its counter is found.
fn slot_hash(hash: u128) -> u64 {
    hash as u64
}

impl<V> Counters<V> {
    /// The counter of a value.
    fn find(&self, hash: u128) -> Option<u32> {
        self.by_hash.find(slot_hash(hash), |at| self.counters[*at as usize].hash == hash).copied()
    }

    /// Reserves the memory that so many values more may need.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    fn make_room(&self, values: usize, counters_max: usize) -> Result<()> {
        let wanted = self.counters.len().saturating_add(values);
        let filled_max = Self::filled_max(counters_max);
        let mut bytes = 0;
        if wanted.min(filled_max) > self.counters.capacity() {
            // Each of the two grows to twice its size at least, beside what it held.
            let counters = wanted.min(filled_max).max(self.counters.capacity() * 2);
            bytes += counters * Self::COUNTER_BYTES;
        }
        if wanted >= filled_max && self.bins.is_empty() {
            bytes += Self::bins_of(counters_max) * size_of::<u64>();
        }
        squall_types::reserve(bytes)
    }

    /// What a counter takes, with about two slots of the table.
    const COUNTER_BYTES: usize = size_of::<Counter<V>>() + 2 * (size_of::<u32>() + 1);

    /// How many counters are filled when the least frequent ones are given up.
    fn filled_max(counters_max: usize) -> usize {
        counters_max.saturating_mul(2).max(FILLED_MIN)
    }

    /// How many bins there are beside so many counters.
    fn bins_of(counters_max: usize) -> usize {
        counters_max.saturating_mul(BINS_PER_COUNTER).next_power_of_two()
    }

    fn add(&mut self, hash: u128, weight: u64, counters_max: usize, value: impl FnOnce() -> (V, u64)) {
        if let Some(at) = self.find(hash) {
            let count = &mut self.counters[at as usize].count;
            *count = count.wrapping_add(weight);
            return;
        }
        let (value, bin_hash) = value();
        let error = match self.bins.is_empty() || self.counters.len() < counters_max {
            true => 0,
            false => self.bins[bin_hash as usize & (self.bins.len() - 1)],
        };
        self.push(Counter { hash, bin_hash, value, count: error.wrapping_add(weight), error });
        self.give_up(counters_max);
    }

    fn push(&mut self, counter: Counter<V>) {
        let (hash, at) = (counter.hash, self.counters.len() as u32);
        self.by_hash.insert_unique(slot_hash(hash), at, |at| slot_hash(self.counters[*at as usize].hash));
        self.counters.push(counter);
    }

    /// Where too many counters are filled, gives up the least frequent values: their bins remember how often they came.
    fn give_up(&mut self, counters_max: usize) {
        if self.counters.len() < Self::filled_max(counters_max) {
            return;
        }
        if self.bins.is_empty() {
            self.bins = vec![0; Self::bins_of(counters_max)];
        }
        select(&mut self.counters, counters_max, &Counter::precedes);
        let mask = self.bins.len() - 1;
        for counter in self.counters.drain(counters_max..) {
            let bin = &mut self.bins[counter.bin_hash as usize & mask];
            *bin = bin.saturating_add(counter.certain()).min(BIN_MAX);
        }
        self.by_hash.clear();
        for (at, counter) in self.counters.iter().enumerate() {
            let hash = |at: &u32| slot_hash(self.counters[*at as usize].hash);
            self.by_hash.insert_unique(slot_hash(counter.hash), at as u32, hash);
        }
    }

    /// How often a value without a counter has come at most.
    fn unknown(&self, counters_max: usize) -> u64 {
        match self.counters.len() >= counters_max {
            true => self.bins.iter().copied().max().unwrap_or(0),
            false => 0,
        }
    }

    /// The values that came most often, up to a number of them.
    fn into_first(self, count: usize) -> Vec<Counter<V>> {
        let mut counters = self.counters;
        partial_sort(&mut counters, count, &Counter::precedes);
        counters.truncate(count);
        counters
    }

    /// The counters of both (Cafaro, Pulimeno, Tempesta, *A parallel space saving algorithm*, 2016): a value that only one side knows
    /// has come on the other at most as often as its fullest bin says.
    fn merge(&mut self, from: Self, counters_max: usize) {
        if self.counters.is_empty() {
            *self = from;
            return;
        }
        if from.counters.is_empty() {
            return;
        }
        let (unknown_here, unknown_there) = (self.unknown(counters_max), from.unknown(counters_max));
        self.counters.iter_mut().for_each(|counter| {
            counter.count = counter.count.wrapping_add(unknown_there);
            counter.error = counter.error.wrapping_add(unknown_there);
        });
        for mut counter in from.counters {
            if let Some(at) = self.find(counter.hash) {
                let known = &mut self.counters[at as usize];
                known.count = known.count.wrapping_add(counter.count).wrapping_sub(unknown_there);
                known.error = known.error.wrapping_add(counter.error).wrapping_sub(unknown_there);
            } else {
                counter.count = counter.count.wrapping_add(unknown_here);
                counter.error = counter.error.wrapping_add(unknown_here);
                self.push(counter);
            }
        }
        if self.bins.is_empty() {
            self.bins = from.bins;
        } else {
            let sums = self.bins.iter_mut().zip(from.bins);
            sums.for_each(|(bin, other)| *bin = bin.saturating_add(other).min(BIN_MAX));
        }
        self.give_up(counters_max);
    }

    fn new() -> Self {
        Self { counters: Vec::new(), by_hash: HashTable::new(), bins: Vec::new() }
    }
}

/// What chooses a value's bin: a hash of a number, or of the bytes of anything else.
struct BinHashes {
    bytes: RowBytes,
    is_number: bool,
}

impl BinHashes {
    fn new(column: &Column) -> Result<Self> {
        use DataType as T;
        let is_number = match column.data_type() {
            T::Bool | T::Float32 | T::Float64 | T::Date | T::DateTime(_) | T::Enum8(_) | T::Enum16(_) | T::IPv4 => true,
            other => other.is_integer(),
        };
        Ok(Self { bytes: RowBytes::new(column.data_type(), column.array())?, is_number })
    }

    fn of(&self, row: usize) -> u64 {
        let mut bytes = Vec::new();
        self.bytes.append_alone(row, &mut bytes);
        if self.is_number { hash_number(&bytes) } else { hash_bytes(&bytes) }
    }
}

/// The arguments of a block.
pub(in crate::aggregate) struct Rows<'a, E: Element> {
    hashes: Vec<u128>,
    bins: BinHashes,
    values: E::Rows<'a>,
    weights: Option<Vec<u64>>,
}

impl<E: Element> StateFunction for TopK<E> {
    type State = Counters<E::Owned>;
    type Rows<'a> = Rows<'a, E>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        Counters::new()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column, weights @ ..] = arguments else { return Err(Error::logical("topK takes an argument")) };
        let hashes = row_hashes(std::slice::from_ref(column), column.rows())?;
        let weights =
            weights.first().map(|weights| number_bits(weights).ok_or_else(|| Error::logical("weights are numbers")));
        Ok(Rows { hashes, bins: BinHashes::new(column)?, values: E::rows(column)?, weights: weights.transpose()? })
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        state.make_room(rows, self.counters)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let weight = rows.weights.as_ref().map_or(1, |weights| weights[row]);
        let value = || (E::own(E::get(&rows.values, row)), rows.bins.of(row));
        state.add(rows.hashes[row], weight, self.counters, value);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.make_room(from.counters.len(), usize::MAX)?;
        into.merge(from, self.counters);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let mut order: Vec<&Counter<E::Owned>> = state.counters.iter().collect();
        partial_sort(&mut order, self.counters, &|left: &&Counter<_>, right: &&Counter<_>| left.precedes(right));
        order.truncate(self.counters);
        put_varint(order.len() as u64, out);
        for counter in order {
            E::write(&self.item, &counter.value, out)?;
            put_varint(counter.count, out);
            put_varint(counter.error, out);
        }
        let bins = Counters::<E::Owned>::bins_of(self.counters);
        put_varint(bins as u64, out);
        (0..bins).for_each(|at| put_varint(state.bins.get(at).copied().unwrap_or(0), out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let wrong = |what: &str| Error::new(ErrorCode::INCORRECT_DATA, format!("A state of topK {what}"));
        let mut read = Vec::new();
        for _ in 0..take_count(bytes)? {
            read.push((E::read(&self.item, bytes)?, take_varint(bytes)?, take_varint(bytes)?));
        }
        if read.len() > self.counters {
            return Err(wrong("has a counter too many"));
        }
        let column =
            E::column(&self.item, read.iter().map(|(value, ..)| value.clone()).collect::<Vec<_>>().into_iter())?;
        let hashes = row_hashes(std::slice::from_ref(&column), read.len())?;
        let bin_hashes = BinHashes::new(&column)?;
        let mut state = self.state();
        for (row, ((value, count, error), hash)) in read.into_iter().zip(hashes).enumerate() {
            if state.find(hash).is_some() {
                return Err(wrong("has a value twice"));
            }
            state.push(Counter { hash, bin_hash: bin_hashes.of(row), value, count, error });
        }
        let bins = take_count(bytes)?;
        if bins != 0 && bins != Counters::<E::Owned>::bins_of(self.counters) {
            return Err(wrong("of other parameters"));
        }
        state.bins = (0..bins).map(|_| take_varint(bytes)).collect::<Result<_>>()?;
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        if !self.with_counts {
            let list = |state: Self::State| {
                ValueList::from(
                    state.into_first(self.limit).into_iter().map(|counter| counter.value).collect::<Vec<_>>(),
                )
            };
            return list_column::<E>(&self.data_type, states.into_iter().map(list));
        }
        let mut lists = Vec::with_capacity(states.len());
        for state in states {
            let counters = state.into_first(self.limit);
            let values: Vec<E::Owned> = counters.iter().map(|counter| counter.value.clone()).collect();
            let values = E::column(&self.item, values.into_iter())?;
            let item = |(row, counter): (usize, &Counter<E::Owned>)| {
                Value::Tuple([values.value(row), Value::UInt64(counter.count), Value::UInt64(counter.error)].into())
            };
            lists.push(Value::Array(counters.iter().enumerate().map(item).collect()));
        }
        value_column(&self.data_type, lists)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        let of_values: usize = state.counters.iter().map(|counter| E::heap_bytes(&counter.value)).sum();
        of_values + state.bins.len() * size_of::<u64>() + state.counters.len() * Counters::<E::Owned>::COUNTER_BYTES
    }
}
