//! `uniqExact`: the number of distinct values, or of distinct combinations of several arguments. Values of up to four and eight
//! bytes are kept as they are, all others as 128-bit hashes.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::UInt64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::accumulator::AggregateFunction;

use super::hash_set::{HashSet, SetKey};
use super::parted::{Part, Parted};
use super::small_set::{ManyKeys, SmallSet};
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::number::with_number;
use crate::aggregate::values::row_hash::row_hashes;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    at_least_one_argument(call)?;
    Ok(match call.arguments {
        [one] => with_number!(one, T => grouped::function(UniqExact::<PrimitiveKeys<T>> { keys: PhantomData }),
            otherwise grouped::function(UniqExact::<HashKeys> { keys: PhantomData })),
        _ => grouped::function(UniqExact::<HashKeys> { keys: PhantomData }),
    })
}

/// Refuses a call without arguments.
pub(in crate::aggregate) fn at_least_one_argument(call: &Call<'_>) -> Result<()> {
    if call.arguments.is_empty() {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Incorrect number of arguments for aggregate function {}", call.name),
        ));
    }
    Ok(())
}

/// How a block's rows become keys of a set.
pub(in crate::aggregate) trait Keys: std::fmt::Debug + Send + Sync + 'static {
    type Key: SetKey + Send + 'static;

    /// The keys of a block's rows.
    fn keys(arguments: &[Column]) -> Result<Cow<'_, [Self::Key]>>;
    /// Appends a key, as wide as the argument's values are.
    fn put(key: Self::Key, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Result<Self::Key>;
}

/// A primitive type whose values are a key's bits.
pub(in crate::aggregate) trait KeyBits: ArrowPrimitiveType {
    type Key: SetKey + Send + 'static;

    /// The values of a column as keys; borrowed where they are the same bits.
    fn keys(column: &Column) -> Result<Cow<'_, [Self::Key]>>;
    fn put(key: Self::Key, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Result<Self::Key>;
}

macro_rules! key_bits {
    ($($kind:ident $key:ty, |$value:ident| $bits:expr, $narrow:ty);*) => {
        $(impl KeyBits for arrow_array::types::$kind {
            type Key = $key;

            fn keys(column: &Column) -> Result<Cow<'_, [$key]>> {
                let values = column.as_primitive::<Self>()?.values();
                Ok(Cow::Owned(values.iter().map(|&$value| $bits).collect()))
            }

            fn put(key: $key, out: &mut Vec<u8>) {
                (key as $narrow).put(out);
            }

            fn take(bytes: &mut &[u8]) -> Result<$key> {
                // Signed values are keys as wide as those that they are read from.
                <$narrow>::take(bytes).map(|key| key as $key)
            }
        })*
    };
}

key_bits!(
    UInt8Type u16, |value| value.into(), u8;
    Int8Type u16, |value| value as u16, i8
);

/// Types whose values have the bits of their keys.
macro_rules! key_is_value {
    ($($kind:ident $key:ty),*) => {
        $(impl KeyBits for arrow_array::types::$kind {
            type Key = $key;

            fn keys(column: &Column) -> Result<Cow<'_, [$key]>> {
                Ok(Cow::Borrowed(column.as_primitive::<Self>()?.values().inner().typed_data()))
            }

            fn put(key: $key, out: &mut Vec<u8>) {
                key.put(out);
            }

            fn take(bytes: &mut &[u8]) -> Result<$key> {
                Raw::take(bytes)
            }
        })*
    };
}

key_is_value!(
    UInt16Type u16, UInt32Type u32, UInt64Type u64, Int16Type u16, Int32Type u32, Int64Type u64, Float32Type u32,
    Float64Type u64
);

#[derive(Debug)]
pub(in crate::aggregate) struct PrimitiveKeys<T>(PhantomData<T>);

impl<T: KeyBits + std::fmt::Debug + Send + Sync> Keys for PrimitiveKeys<T> {
    type Key = T::Key;

    fn keys(arguments: &[Column]) -> Result<Cow<'_, [T::Key]>> {
        let [column] = arguments else { return Err(Error::logical("one argument was resolved")) };
        T::keys(column)
    }

    fn put(key: T::Key, out: &mut Vec<u8>) {
        T::put(key, out);
    }

    fn take(bytes: &mut &[u8]) -> Result<T::Key> {
        T::take(bytes)
    }
}

#[derive(Debug)]
pub(in crate::aggregate) struct HashKeys;

impl Keys for HashKeys {
    type Key = u128;

    fn keys(arguments: &[Column]) -> Result<Cow<'_, [u128]>> {
        row_hashes(arguments, arguments.first().map_or(0, Column::rows)).map(Cow::Owned)
    }

    fn put(key: u128, out: &mut Vec<u8>) {
        key.put(out);
    }

    fn take(bytes: &mut &[u8]) -> Result<u128> {
        Raw::take(bytes)
    }
}

#[derive(Debug)]
struct UniqExact<K> {
    keys: PhantomData<K>,
}

/// Many distinct keys. Those that are counted already are no longer there.
#[derive(Clone, Debug)]
pub(in crate::aggregate) struct Distinct<K: SetKey> {
    set: Parted<HashSet<K>>,
    counted: u64,
}

impl<K: SetKey> Distinct<K> {
    fn new(set: Parted<HashSet<K>>) -> Self {
        Self { set, counted: 0 }
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        // Counted are only parts of sets, which have no key in common.
        self.counted += other.counted;
        self.set.merge(other.set)
    }
}

impl<K: SetKey> Default for Distinct<K> {
    fn default() -> Self {
        Self::new(Parted::default())
    }
}

impl<K: SetKey> ManyKeys<K> for Distinct<K> {
    #[inline]
    fn insert(&mut self, key: K) {
        self.set.insert(key);
    }
}

impl<K: Keys> StateFunction for UniqExact<K> {
    type State = SmallSet<K::Key, Distinct<K::Key>>;
    type Rows<'a> = Cow<'a, [K::Key]>;

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn state(&self) -> Self::State {
        SmallSet::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        K::keys(arguments)
    }

    fn make_room(&self, state: &mut Self::State, rows: usize) -> Result<()> {
        state.many().set.make_room(rows)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        state.insert(rows[row]);
    }

    const BRINGS_NEAR: bool = true;

    #[inline]
    fn bring_near(&self, state: &Self::State, rows: &Self::Rows<'_>, row: usize) {
        if let SmallSet::Many(many) = state {
            many.set.bring_near(rows[row]);
        }
    }

    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        state.many().set.extend(&rows[..count]);
    }

    fn add_times(&self, state: &mut Self::State, rows: &Self::Rows<'_>, _: usize) -> bool {
        self.add(state, rows, 0);
        true
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.merge(from, Distinct::merge)
    }

    /// What is new in the one is counted only: no table has to grow.
    fn merge_last(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        into.merge(from, |many, other| {
            let (Parted::Whole(set), Parted::Whole(more)) = (&many.set, &other.set) else { return many.merge(other) };
            many.counted += set.union_len(more)? as u64 + other.counted;
            many.set = Parted::default();
            Ok(())
        })
    }

    /// Where keys are not told apart yet, copies count.
    fn items(&self, state: &Self::State) -> usize {
        match state {
            SmallSet::Few { count, .. } => usize::from(*count),
            SmallSet::Many(many) => many.set.len(),
        }
    }

    fn can_cut(&self) -> bool {
        true
    }

    fn cut(&self, mut state: Self::State) -> Result<Vec<Self::State>> {
        let sets = std::mem::take(&mut state.many().set).into_parts().into_iter();
        Ok(sets.map(|part| SmallSet::Many(Box::new(Distinct::new(Parted::Parts(vec![part]))))).collect())
    }

    fn settle(&self, state: &mut Self::State, items: &mut usize) -> Result<bool> {
        let SmallSet::Many(many) = state else { return Ok(true) };
        let (mut keys, mut count) = (0, 0);
        if let Parted::Whole(set) = &mut many.set {
            count = std::mem::take(set).len();
            keys = count;
        }
        for part in many.set.take_parts(*items) {
            checkpoint(8 * part.len())?;
            keys += part.len();
            count += part.into_table().len();
        }
        many.counted += count as u64;
        *items = items.saturating_sub(keys);
        let is_settled = many.set.is_taken();
        if is_settled {
            many.set = Parted::default();
        }
        Ok(is_settled)
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        match state {
            SmallSet::Few { count, .. } => {
                put_varint((*count).into(), out);
                state.few().iter().for_each(|key| K::put(*key, out));
            }
            SmallSet::Many(many) => {
                put_varint(many.set.count() as u64, out);
                many.set.for_each(|key| K::put(key, out));
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let count = take_count(bytes)?;
        let mut set = SmallSet::default();
        for _ in 0..count {
            set.insert(K::take(bytes)?);
        }
        Ok(set)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let count = |state: &Self::State| match state {
            SmallSet::Few { count, .. } => u64::from(*count),
            SmallSet::Many(many) => many.counted + many.set.count() as u64,
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, states.iter().map(count).collect()))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        match state {
            SmallSet::Few { .. } => 0,
            SmallSet::Many(many) => size_of::<Distinct<K::Key>>() + many.set.memory_bytes(),
        }
    }
}
