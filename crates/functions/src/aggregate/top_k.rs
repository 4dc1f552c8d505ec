//! `topK`: the most frequent values, about: Filtered Space-Saving with three counters for every value asked for (Homem, Carvalho, *Finding
//! top-k elements in data streams*, 2010). Exact while the distinct values fit the counters; beyond, a newcomer takes a counter only when
//! it, or values of its bin, came as often as the least frequent value that has one: rare values do not push out frequent ones.

use std::collections::{BTreeSet, HashMap};
use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;

use super::element::{Element, with_element};
use super::family::Call;
use super::grouped::{self, StateFunction};
use super::row_hash::row_hashes;
use super::state_bytes::{Raw, put_varint, take_count, take_varint};
use super::value_list::{ValueList, list_column};

/// ClickHouse's bound on the number of counters.
const COUNTERS_MAX: u64 = 0xFF_FFFF;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let parameter = |at: usize, default: u64| match call.parameters.get(at) {
        None => Ok(default),
        Some(value) => {
            value.as_u64().or_else(|| value.as_f64().map(|value| value as u64)).filter(|value| *value > 0).ok_or_else(
                || {
                    Error::new(
                        ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        format!("Parameter {value} is illegal for aggregate function 'topK'"),
                    )
                },
            )
        }
    };
    if call.parameters.len() > 2 {
        return Err(Error::not_implemented("The third parameter of aggregate function topK"));
    }
    let (limit, load_factor) = (parameter(0, 10)?, parameter(1, 3)?);
    let counters = limit.saturating_mul(load_factor);
    if counters > COUNTERS_MAX {
        return Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Too large parameter(s) for aggregate function 'topK' (maximum is {COUNTERS_MAX})"),
        ));
    }
    let argument = call.argument()?;
    let data_type = DataType::array(argument.clone());
    let (limit, counters) = (limit as usize, counters as usize);
    Ok(with_element!(argument, E => grouped::function(TopK::<E> { data_type, limit, counters, element: PhantomData })))
}

#[derive(Debug)]
struct TopK<E> {
    data_type: DataType,
    limit: usize,
    counters: usize,
    element: PhantomData<E>,
}

/// Bins for values without a counter, for each counter; rounded up to a power of two.
const BINS_PER_COUNTER: usize = 6;

/// Counters of the values that were most frequent so far.
#[derive(Clone)]
pub(super) struct Counters<V> {
    counters: Vec<Counter<V>>,
    by_hash: HashMap<u128, u32>,
    /// Counts and positions, so that the least frequent value is found at once.
    by_count: BTreeSet<(u64, u32)>,
    /// How often, at most, values of a bin came that have no counter. Empty until all counters are taken.
    bins: Vec<u64>,
}

#[derive(Clone)]
struct Counter<V> {
    hash: u128,
    value: V,
    count: u64,
}

impl<V> Counters<V> {
    fn add(&mut self, hash: u128, counters_max: usize, value: impl FnOnce() -> V) {
        if let Some(&at) = self.by_hash.get(&hash) {
            let counter = &mut self.counters[at as usize];
            self.by_count.remove(&(counter.count, at));
            counter.count += 1;
            self.by_count.insert((counter.count, at));
            return;
        }
        if self.counters.len() < counters_max {
            self.push(Counter { hash, value: value(), count: 1 });
            return;
        }
        if self.bins.is_empty() {
            self.bins = vec![0; Self::bins_of(counters_max)];
        }
        let Some(&(least, at)) = self.by_count.first() else { return };
        let mask = self.bins.len() - 1;
        let bin = &mut self.bins[hash as usize & mask];
        let count = *bin + 1;
        if count < least {
            *bin = count;
            return;
        }
        // The newcomer takes the place of the least frequent.
        self.by_count.pop_first();
        let counter = &mut self.counters[at as usize];
        self.bins[counter.hash as usize & mask] = least;
        self.by_hash.remove(&counter.hash);
        *counter = Counter { hash, value: value(), count };
        self.by_hash.insert(hash, at);
        self.by_count.insert((count, at));
    }

    /// How many bins there are beside so many counters.
    fn bins_of(counters_max: usize) -> usize {
        (counters_max * BINS_PER_COUNTER).next_power_of_two()
    }

    fn push(&mut self, counter: Counter<V>) {
        let at = self.counters.len() as u32;
        self.by_hash.insert(counter.hash, at);
        self.by_count.insert((counter.count, at));
        self.counters.push(counter);
    }

    /// What values without a counter have come at most.
    fn unknown(&self, counters_max: usize) -> u64 {
        if self.counters.len() < counters_max { 0 } else { self.by_count.first().map_or(0, |(count, _)| *count) }
    }

    /// The counters of both (Cafaro, Pulimeno, Tempesta, *A parallel space saving algorithm*, 2016): a value that only one side knows
    /// has come on the other at most as often as its least frequent one.
    fn merge(&mut self, from: Self, counters_max: usize) {
        let (unknown_here, unknown_there) = (self.unknown(counters_max), from.unknown(counters_max));
        let mut counters = std::mem::take(&mut self.counters);
        counters.iter_mut().for_each(|counter| counter.count += unknown_there);
        for mut counter in from.counters {
            match self.by_hash.get(&counter.hash).and_then(|at| counters.get_mut(*at as usize)) {
                Some(known) => known.count += counter.count - unknown_there,
                None => {
                    counter.count += unknown_here;
                    counters.push(counter);
                }
            }
        }
        counters.sort_by_key(|counter| std::cmp::Reverse(counter.count));
        counters.truncate(counters_max);
        self.by_hash.clear();
        self.by_count.clear();
        counters.into_iter().for_each(|counter| self.push(counter));
        if self.bins.is_empty() {
            self.bins = from.bins;
        } else {
            self.bins.iter_mut().zip(from.bins).for_each(|(bin, other)| *bin += other);
        }
    }
}

impl<E: Element> TopK<E> {
    fn item(&self) -> Result<&DataType> {
        match &self.data_type {
            DataType::Array(item) => Ok(item),
            _ => Err(Error::logical("topK gives no array")),
        }
    }
}

impl<E: Element> StateFunction for TopK<E> {
    type State = Counters<E::Owned>;
    type Rows<'a> = (Vec<u128>, E::Rows<'a>);

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        Counters { counters: Vec::new(), by_hash: HashMap::new(), by_count: BTreeSet::new(), bins: Vec::new() }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("topK takes one argument")) };
        Ok((row_hashes(arguments, column.rows()), E::rows(column)?))
    }

    fn add(&self, state: &mut Self::State, (hashes, rows): &Self::Rows<'_>, row: usize) {
        state.add(hashes[row], self.counters, || E::own(E::get(rows, row)));
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.merge(from, self.counters);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let item = self.item()?;
        put_varint(state.counters.len() as u64, out);
        for counter in &state.counters {
            counter.hash.put(out);
            put_varint(counter.count, out);
            E::write(item, &counter.value, out)?;
        }
        put_varint(state.bins.len() as u64, out);
        state.bins.iter().for_each(|bin| put_varint(*bin, out));
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let item = self.item()?;
        let mut state = self.state();
        for _ in 0..take_count(bytes)? {
            let (hash, count) = (Raw::take(bytes)?, take_varint(bytes)?);
            let value = E::read(item, bytes)?;
            if state.counters.len() == self.counters || state.by_hash.contains_key(&hash) {
                return Err(Error::new(ErrorCode::INCORRECT_DATA, "A state of topK has a counter too many"));
            }
            state.push(Counter { hash, value, count });
        }
        let bins = take_count(bytes)?;
        if bins != 0 && bins != Counters::<E::Owned>::bins_of(self.counters) {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "A state of topK of other parameters"));
        }
        state.bins = (0..bins).map(|_| take_varint(bytes)).collect::<Result<_>>()?;
        Ok(state)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let most_frequent = |mut state: Self::State| {
            state.counters.sort_by_key(|counter| std::cmp::Reverse(counter.count));
            state.counters.truncate(self.limit);
            ValueList::from(state.counters.into_iter().map(|counter| counter.value).collect::<Vec<_>>())
        };
        list_column::<E>(&self.data_type, states.into_iter().map(most_frequent))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        let of_values: usize = state.counters.iter().map(|counter| E::heap_bytes(&counter.value)).sum();
        of_values
            + state.bins.len() * size_of::<u64>()
            + state.counters.len() * (size_of::<Counter<E::Owned>>() + 2 * size_of::<(u128, u32)>())
    }
}
