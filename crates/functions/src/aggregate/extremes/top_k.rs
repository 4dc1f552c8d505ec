//! `topK`, `topKWeighted`, `approx_top_k`, `approx_top_sum`: the most frequent values, about: Filtered Space-Saving (Homem, Carvalho,
//! *Finding top-k elements in data streams*, 2010). Exact while the distinct values fit the counters; beyond, a newcomer takes a counter
//! only when it, or values of its bin, came as often as the least frequent value that has one: rare values do not push out frequent ones.

use std::marker::PhantomData;
use std::sync::Arc;

use hashbrown::HashTable;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::element::{Element, with_element};
use crate::aggregate::values::row_hash::{number_bits, row_hashes};
use crate::aggregate::values::state_bytes::{put_varint, take_count, take_varint};
use crate::aggregate::values::value_list::{ValueList, list_column};
use crate::partial_sort::partial_sort;

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

/// Counters of the values that were most frequent so far.
#[derive(Clone)]
pub(in crate::aggregate) struct Counters<V> {
    counters: Vec<Counter<V>>,
    /// The places of the counters by the hashes of their values.
    by_hash: HashTable<u32>,
    /// The counters with the most frequent value first; of equal ones, that which came to its count first.
    order: Vec<u32>,
    /// How often, at most, values of a bin came that have no counter. Empty until all counters are taken.
    bins: Vec<u64>,
}

#[derive(Clone)]
struct Counter<V> {
    hash: u128,
    value: V,
    count: u64,
    /// By how much the count may be too high.
    error: u64,
    /// Its place in the order.
    place: u32,
}

impl<V> Counter<V> {
    fn precedes(&self, other: &Self) -> bool {
        self.count > other.count || self.count == other.count && self.error < other.error
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
        let mut bytes = 0;
        if wanted.min(counters_max) > self.counters.capacity() {
            // Each of the three grows to twice its size at least, beside what it held.
            let counters = wanted.min(counters_max).max(self.counters.capacity() * 2);
            bytes += counters * Self::COUNTER_BYTES;
        }
        if wanted > counters_max && self.bins.is_empty() {
            bytes += Self::bins_of(counters_max) * size_of::<u64>();
        }
        squall_types::reserve(bytes)
    }

    /// What a counter takes, with its place in the order and about two slots of the table.
    const COUNTER_BYTES: usize = size_of::<Counter<V>>() + size_of::<u32>() + 2 * (size_of::<u32>() + 1);

    fn add(&mut self, hash: u128, weight: u64, counters_max: usize, value: impl FnOnce() -> V) {
        if let Some(at) = self.find(hash) {
            let count = &mut self.counters[at as usize].count;
            *count = count.wrapping_add(weight);
            self.rise(at);
            return;
        }
        if self.counters.len() < counters_max {
            self.push(hash, value(), weight, 0);
            return;
        }
        if self.bins.is_empty() {
            self.bins = vec![0; Self::bins_of(counters_max)];
        }
        let Some(&last) = self.order.last() else { return };
        let (least, least_hash) = (self.counters[last as usize].count, self.counters[last as usize].hash);
        let mask = self.bins.len() - 1;
        let bin = self.bins[hash as usize & mask];
        let (count, error) = if weight > least {
            (weight, 0)
        } else if bin.wrapping_add(weight) < least {
            self.bins[hash as usize & mask] = bin.wrapping_add(weight);
            return;
        } else {
            self.bins[least_hash as usize & mask] = least;
            (bin.wrapping_add(weight), bin)
        };
        // The newcomer takes the place of the least frequent.
        if let Ok(found) = self.by_hash.find_entry(slot_hash(least_hash), |at| *at == last) {
            found.remove();
        }
        let place = self.counters[last as usize].place;
        self.counters[last as usize] = Counter { hash, value: value(), count, error, place };
        self.by_hash.insert_unique(slot_hash(hash), last, |at| slot_hash(self.counters[*at as usize].hash));
        self.rise(last);
    }

    /// Moves a counter before those that it precedes now.
    fn rise(&mut self, at: u32) {
        let mut place = self.counters[at as usize].place as usize;
        while let Some(before) = place.checked_sub(1)
            && self.counters[at as usize].precedes(&self.counters[self.order[before] as usize])
        {
            let other = self.order[before];
            self.order.swap(place, before);
            self.counters[other as usize].place = place as u32;
            place = before;
        }
        self.counters[at as usize].place = place as u32;
    }

    /// How many bins there are beside so many counters.
    fn bins_of(counters_max: usize) -> usize {
        (counters_max * BINS_PER_COUNTER).next_power_of_two()
    }

    fn push(&mut self, hash: u128, value: V, count: u64, error: u64) {
        let at = self.counters.len() as u32;
        self.by_hash.insert_unique(slot_hash(hash), at, |at| slot_hash(self.counters[*at as usize].hash));
        self.order.push(at);
        self.counters.push(Counter { hash, value, count, error, place: at });
        self.rise(at);
    }

    /// What values without a counter have come at most.
    fn unknown(&self, counters_max: usize) -> u64 {
        match self.order.last() {
            Some(last) if self.counters.len() >= counters_max => self.counters[*last as usize].count,
            _ => 0,
        }
    }

    /// The values in their order.
    fn into_sorted(self) -> impl Iterator<Item = Counter<V>> {
        let mut counters: Vec<Option<Counter<V>>> = self.counters.into_iter().map(Some).collect();
        self.order.into_iter().filter_map(move |at| counters.get_mut(at as usize).and_then(Option::take))
    }

    /// The values that came most often, up to a number of them.
    fn into_first(self, count: usize) -> Vec<Counter<V>> {
        let mut counters: Vec<Counter<V>> = self.into_sorted().collect();
        partial_sort(&mut counters, count, &Counter::precedes);
        counters.truncate(count);
        counters
    }

    /// The counters of both (Cafaro, Pulimeno, Tempesta, *A parallel space saving algorithm*, 2016): a value that only one side knows
    /// has come on the other at most as often as its least frequent one.
    fn merge(&mut self, mut from: Self, counters_max: usize) {
        let (unknown_here, unknown_there) = (self.unknown(counters_max), from.unknown(counters_max));
        let bins = std::mem::take(&mut from.bins);
        self.counters.iter_mut().for_each(|counter| {
            counter.count = counter.count.wrapping_add(unknown_there);
            counter.error = counter.error.wrapping_add(unknown_there);
        });
        for counter in from.into_sorted() {
            match self.find(counter.hash) {
                Some(at) => {
                    let known = &mut self.counters[at as usize];
                    known.count = known.count.wrapping_add(counter.count).saturating_sub(unknown_there);
                    known.error = known.error.wrapping_add(counter.error).saturating_sub(unknown_there);
                    self.rise(at);
                }
                None => {
                    self.push(
                        counter.hash,
                        counter.value,
                        counter.count.wrapping_add(unknown_here),
                        counter.error.wrapping_add(unknown_here),
                    );
                }
            }
        }
        if self.counters.len() > counters_max {
            let whole = std::mem::replace(self, Self::new());
            self.bins = whole.bins.clone();
            let kept = whole.into_sorted().take(counters_max);
            kept.for_each(|counter| self.push(counter.hash, counter.value, counter.count, counter.error));
        }
        if self.bins.is_empty() {
            self.bins = bins;
        } else {
            self.bins.iter_mut().zip(bins).for_each(|(bin, other)| *bin = bin.wrapping_add(other));
        }
    }

    fn new() -> Self {
        Self { counters: Vec::new(), by_hash: HashTable::new(), order: Vec::new(), bins: Vec::new() }
    }
}

/// The arguments of a block.
pub(in crate::aggregate) struct Rows<'a, E: Element> {
    hashes: Vec<u128>,
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
        Ok(Rows { hashes, values: E::rows(column)?, weights: weights.transpose()? })
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        state.make_room(rows, self.counters)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let weight = rows.weights.as_ref().map_or(1, |weights| weights[row]);
        state.add(rows.hashes[row], weight, self.counters, || E::own(E::get(&rows.values, row)));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.make_room(from.counters.len(), usize::MAX)?;
        into.merge(from, self.counters);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        put_varint(state.counters.len() as u64, out);
        for counter in state.order.iter().filter_map(|at| state.counters.get(*at as usize)) {
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
        let mut state = self.state();
        for ((value, count, error), hash) in read.into_iter().zip(hashes) {
            if state.find(hash).is_some() {
                return Err(wrong("has a value twice"));
            }
            state.push(hash, value, count, error);
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
