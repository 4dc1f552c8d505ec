//! Hashes of any number of arguments of any types. A function brings a hash of bytes, maybe one of integers, and a way to put two
//! hashes together; how columns are walked is the same for all: tuples element by element, arrays as their length followed by
//! their items.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, FixedSizeBinaryArray};
use arrow_buffer::{ArrowNativeType, ScalarBuffer, ToByteSlice};
use squall_types::binary::put_value;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, grow, match_primitive};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Numbers, Strings, primitive_column};
use crate::scalar::tuple::elements;

use super::{city, digest, integer, java, metro, murmur, sip, wy};

/// What the functions of no arguments give.
const OF_NOTHING: u64 = 0xE28D_BDE7_FE22_E41C;

/// What stands for a NULL inside arrays and tuples; shorter hashes have its lower bits.
const OF_NULL: u128 = 0x5715_F196_CBEA_7A40_C58A_D2DA_03D9_A871;

/// Numbers whose bits are gathered before they are hashed: they stay in the first cache.
const NUMBERS_AT_ONCE: usize = 1024;

/// Items of arrays that are hashed between two checkpoints.
const ITEMS_AT_ONCE: usize = 16 * NUMBERS_AT_ONCE;

/// Appends the hashes of the bytes of numbers: of their bits, and of how many bytes each has.
type HashNumbers<H> = fn(&[u64], usize, &mut Vec<H>);

/// The hash of bytes.
type OfBytes<H> = Box<dyn Fn(&[u8]) -> H + Send + Sync>;

/// Two hashes as one.
type Combine<H> = Box<dyn Fn(H, H) -> H + Send + Sync>;

/// How one function hashes.
struct Algorithm<H> {
    bytes: OfBytes<H>,
    /// The hash of numbers, where it is not that of their bytes.
    number: Option<fn(u64) -> H>,
    /// The hashes of many numbers at once, where that is faster than one after the other.
    numbers: Option<HashNumbers<H>>,
    /// The hash of an array's length.
    length: fn(u64) -> H,
    /// That of a NULL inside arrays and tuples.
    null: H,
    /// That of no values at all, as of an empty tuple that is first.
    nothing: H,
    combine: Combine<H>,
}

pub(super) fn resolve64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let by_bytes = |bytes: fn(&[u8]) -> u64, combine: fn(u64, u64) -> u64| Algorithm {
        bytes: Box::new(bytes),
        number: None,
        numbers: None,
        length: integer::hash64,
        null: OF_NULL as u64,
        nothing: OF_NOTHING,
        combine: Box::new(combine),
    };
    let mixed: fn(u64, u64) -> u64 = |left, right| integer::hash64(left) ^ right;
    let algorithm = match call.name {
        "cityHash64" => Algorithm {
            bytes: Box::new(city::hash64),
            number: Some(integer::hash64),
            numbers: None,
            length: integer::hash64,
            null: OF_NULL as u64,
            nothing: OF_NOTHING,
            combine: Box::new(city::combine),
        },
        "farmFingerprint64" => {
            Algorithm { number: Some(integer::hash64), ..by_bytes(farmhash::fingerprint64, farm_combine) }
        }
        "farmHash64" => Algorithm { number: Some(integer::hash64), ..by_bytes(farmhash::hash64, city::combine) },
        "metroHash64" => Algorithm { number: Some(integer::hash64), ..by_bytes(metro::hash64, city::combine) },
        "halfMD5" => by_bytes(digest::half_md5, |left, right| digest::half_md5(&pair(left, right))),
        "sipHash64" => Algorithm {
            numbers: Some(sip::hash_numbers),
            ..by_bytes(|bytes| sip::hash(bytes).0, |left, right| sip::hash(&pair(left, right)).0)
        },
        "wyHash64" => by_bytes(wy::hash, |left, right| wy::hash(&pair(left, right))),
        "xxHash64" => by_bytes(xx64, city::combine),
        "xxh3" => by_bytes(twox_hash::XxHash3_64::oneshot, city::combine),
        "murmurHash2_64" => by_bytes(|bytes| murmur::hash2_64(bytes, 0), mixed),
        "gccMurmurHash" => by_bytes(|bytes| murmur::hash2_64(bytes, murmur::GCC_SEED), mixed),
        _ => by_bytes(
            |bytes| {
                let (low, high) = murmur::hash3_128(bytes);
                low ^ high
            },
            mixed,
        ),
    };
    for at in 0..call.arguments.len() {
        check(call, call.type_of(at))?;
    }
    call.bind(DataType::UInt64, move |arguments, rows| {
        let hashes = hash_all(&algorithm, arguments, rows)?.unwrap_or_else(|| vec![OF_NOTHING; rows]);
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, hashes))
    })
}

/// `hiveHash`: of one value that has bytes of its own.
pub(super) fn resolve_hive(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let data_type = call.type_of(0);
    check(call, data_type)?;
    if data_type.is_nested() {
        return Err(Error::not_implemented("Hive hash is not combineable for multiple arguments"));
    }
    let algorithm = Algorithm {
        bytes: Box::new(|bytes| (java::hash(bytes) & i32::MAX) as u32),
        number: None,
        numbers: None,
        length: integer::hash32,
        null: OF_NULL as u32,
        nothing: OF_NOTHING as u32,
        combine: Box::new(|_, right| right),
    };
    call.bind(DataType::Int32, move |arguments, rows| {
        let hashes = hash_all(&algorithm, arguments, rows)?.unwrap_or_else(|| vec![OF_NOTHING as u32; rows]);
        let hashes = hashes.into_iter().map(|hash| hash as i32).collect();
        Ok(Column::from_primitive::<Int32Type>(DataType::Int32, hashes))
    })
}

pub(super) fn resolve32(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let mixed: fn(u32, u32) -> u32 = |left, right| integer::hash32(left.into()) ^ right;
    let by_bytes = |bytes: fn(&[u8]) -> u32, combine: fn(u32, u32) -> u32| Algorithm {
        bytes: Box::new(bytes),
        number: None,
        numbers: None,
        length: integer::hash32,
        null: OF_NULL as u32,
        nothing: OF_NOTHING as u32,
        combine: Box::new(combine),
    };
    let algorithm = match call.name {
        "xxHash32" => by_bytes(xx32, mixed),
        "murmurHash2_32" => by_bytes(|bytes| murmur::hash2_32(bytes, 0), mixed),
        "kafkaMurmurHash" => by_bytes(|bytes| murmur::hash2_32(bytes, murmur::KAFKA_SEED) & 0x7FFF_FFFF, mixed),
        _ => by_bytes(murmur::hash3_32, mixed),
    };
    for at in 0..call.arguments.len() {
        check(call, call.type_of(at))?;
    }
    call.bind(DataType::UInt32, move |arguments, rows| {
        let hashes = hash_all(&algorithm, arguments, rows)?.unwrap_or_else(|| vec![OF_NOTHING as u32; rows]);
        Ok(Column::from_primitive::<UInt32Type>(DataType::UInt32, hashes))
    })
}

pub(super) fn resolve128(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    fn sip(bytes: &[u8]) -> Bytes {
        let (low, high) = sip::hash(bytes).1;
        pair(low, high)
    }
    fn sip_reference(bytes: &[u8]) -> Bytes {
        let (low, high) = sip::reference(bytes);
        pair(low, high)
    }
    fn murmur(bytes: &[u8]) -> Bytes {
        let (low, high) = murmur::hash3_128(bytes);
        pair(low, high)
    }
    type Both = fn(Bytes, Bytes) -> Bytes;
    let (bytes, combine): (fn(&[u8]) -> Bytes, Both) = match call.name {
        "sipHash128" => (sip, |left, right| sip(&both(left, right))),
        "sipHash128Reference" => (sip_reference, |left, right| sip_reference(&both(left, right))),
        _ => (murmur, |left, right| murmur(&both(left, right))),
    };
    let algorithm = Algorithm {
        bytes: Box::new(bytes),
        number: None,
        numbers: None,
        length: |length| pair(integer::hash32(length).into(), 0),
        null: OF_NULL.to_le_bytes(),
        nothing: pair(OF_NOTHING, 0),
        combine: Box::new(combine),
    };
    for at in 0..call.arguments.len() {
        check(call, call.type_of(at))?;
    }
    let return_type = DataType::FixedString(16);
    call.bind(return_type.clone(), move |arguments, rows| {
        let hashes = hash_all(&algorithm, arguments, rows)?.unwrap_or_else(|| vec![pair(OF_NOTHING, 0); rows]);
        let array = FixedSizeBinaryArray::try_new(16, hashes.concat().into(), None)?;
        Ok(Column::new(return_type.clone(), Arc::new(array)))
    })
}

/// Sixteen bytes in the order in which they are shown.
type Bytes = [u8; 16];

fn both(left: Bytes, right: Bytes) -> [u8; 32] {
    let mut both = [0; 32];
    both[..16].copy_from_slice(&left);
    both[16..].copy_from_slice(&right);
    both
}

/// Refuses a first argument that is no key of two numbers.
fn check_key(call: &Call<'_>) -> Result<()> {
    let wrong = |message: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    let DataType::Tuple(elements) = call.type_of(0) else {
        return wrong("The key must be of type Tuple(UInt64, UInt64)".into());
    };
    if elements.len() != 2 {
        return wrong("The key must be of type Tuple(UInt64, UInt64)".into());
    }
    match elements.iter().position(|element| element.data_type != DataType::UInt64) {
        Some(0) => wrong("The 1st element of the key tuple is not of type UInt64".into()),
        Some(_) => wrong("The 2nd element of the key tuple is not of type UInt64".into()),
        None => Ok(()),
    }
}

/// The hashes of all rows, each under its key: those of rows with one key together.
fn hash_keyed<H: Copy>(
    algorithm: impl Fn(sip::Key) -> Algorithm<H>,
    arguments: &[Column],
    rows: usize,
    of_nothing: H,
) -> Result<Vec<H>> {
    let Some((key, values)) = arguments.split_first() else { return Ok(vec![of_nothing; rows]) };
    let parts = elements(key)?;
    let (first, second) = (Numbers::<UInt64Type>::of(&parts, 0)?, Numbers::<UInt64Type>::of(&parts, 1)?);
    let key_of = |row: usize| (first.get(row), second.get(row));
    let mut hashes = Vec::with_capacity(rows);
    let mut from = 0;
    while from < rows {
        let key = key_of(from);
        let to = if parts.iter().all(Column::is_constant) {
            rows
        } else {
            from + (from..rows).take_while(|row| key_of(*row) == key).count()
        };
        checkpoint(64)?;
        let some: Vec<Column> = values.iter().map(|column| column.slice(from, to - from)).collect();
        let found = hash_all(&algorithm(key), &some, to - from)?;
        hashes.extend(found.unwrap_or_else(|| vec![of_nothing; to - from]));
        from = to;
    }
    Ok(hashes)
}

/// `sipHash64Keyed`.
pub(super) fn resolve_keyed64(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    if !call.arguments.is_empty() {
        check_key(call)?;
    }
    for at in 1..call.arguments.len() {
        check(call, call.type_of(at))?;
    }
    let algorithm = |key| Algorithm {
        bytes: Box::new(move |bytes: &[u8]| sip::hash_keyed(key, bytes).0),
        number: None,
        numbers: None,
        length: integer::hash64,
        null: OF_NULL as u64,
        nothing: OF_NOTHING,
        combine: Box::new(move |left, right| sip::hash_keyed(key, &pair(left, right)).0),
    };
    call.bind(DataType::UInt64, move |arguments, rows| {
        let hashes = hash_keyed(algorithm, arguments, rows, OF_NOTHING)?;
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, hashes))
    })
}

/// `sipHash128Keyed`, `sipHash128ReferenceKeyed`.
pub(super) fn resolve_keyed128(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    if !call.arguments.is_empty() {
        check_key(call)?;
    }
    for at in 1..call.arguments.len() {
        check(call, call.type_of(at))?;
    }
    let is_reference = call.name.contains("Reference");
    let hash = move |key, bytes: &[u8]| {
        let (low, high) = if is_reference { sip::reference_keyed(key, bytes) } else { sip::hash_keyed(key, bytes).1 };
        pair(low, high)
    };
    let algorithm = move |key| Algorithm {
        bytes: Box::new(move |bytes: &[u8]| hash(key, bytes)),
        number: None,
        numbers: None,
        length: |length| pair(integer::hash32(length).into(), 0),
        null: OF_NULL.to_le_bytes(),
        nothing: pair(OF_NOTHING, 0),
        combine: Box::new(move |left, right| hash(key, &both(left, right))),
    };
    let return_type = DataType::FixedString(16);
    call.bind(return_type.clone(), move |arguments, rows| {
        let hashes = hash_keyed(algorithm, arguments, rows, pair(OF_NOTHING, 0))?;
        let array = FixedSizeBinaryArray::try_new(16, hashes.concat().into(), None)?;
        Ok(Column::new(return_type.clone(), Arc::new(array)))
    })
}

/// `xxh3_128`: a number of 128 bits.
pub(super) fn resolve_xxh3_128(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    fn xxh3(bytes: &[u8]) -> Bytes {
        twox_hash::XxHash3_128::oneshot(bytes).to_le_bytes()
    }
    for at in 0..call.arguments.len() {
        check(call, call.type_of(at))?;
    }
    let algorithm = Algorithm {
        bytes: Box::new(xxh3),
        number: None,
        numbers: None,
        length: |length| pair(integer::hash32(length).into(), 0),
        null: OF_NULL.to_le_bytes(),
        nothing: pair(OF_NOTHING, 0),
        combine: Box::new(|left, right| xxh3(&both(left, right))),
    };
    call.bind(DataType::UInt128, move |arguments, rows| {
        let hashes = hash_all(&algorithm, arguments, rows)?.unwrap_or_else(|| vec![pair(OF_NOTHING, 0); rows]);
        let array = FixedSizeBinaryArray::try_new(16, hashes.concat().into(), None)?;
        Ok(Column::new(DataType::UInt128, Arc::new(array)))
    })
}

/// `xxHash64Spark`: under Spark's seed, as a signed number.
pub(super) fn resolve_spark(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    const SEED: u64 = 42;
    call.arguments(1..=1)?;
    if *call.type_of(0) != DataType::String {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Illegal type {} of argument of function {}. Must be String or NULL", call.type_of(0), call.name),
        ));
    }
    call.bind(DataType::Int64, |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        Ok(primitive_column::<Int64Type>(DataType::Int64, rows, |row| {
            twox_hash::XxHash64::oneshot(SEED, texts.get(row)) as i64
        }))
    })
}

/// The bytes of two numbers.
fn pair(left: u64, right: u64) -> [u8; 16] {
    (u128::from(right) << 64 | u128::from(left)).to_le_bytes()
}

/// Two fingerprints as one.
fn farm_combine(left: u64, right: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9DDF_EA08_EB38_2D69;
    let mut first = (left ^ right).wrapping_mul(MULTIPLIER);
    first ^= first >> 47;
    let mut second = (right ^ first).wrapping_mul(MULTIPLIER);
    second ^= second >> 44;
    second = second.wrapping_mul(MULTIPLIER);
    second ^= second >> 41;
    second.wrapping_mul(MULTIPLIER)
}

fn xx64(bytes: &[u8]) -> u64 {
    twox_hash::XxHash64::oneshot(0, bytes)
}

fn xx32(bytes: &[u8]) -> u32 {
    twox_hash::XxHash32::oneshot(0, bytes)
}

/// Refuses types that are not hashed.
fn check(call: &Call<'_>, data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Map(key, value) => check(call, key).and_then(|()| check(call, value)),
        DataType::Array(item) => check(call, item),
        DataType::Tuple(elements) => elements.iter().try_for_each(|element| check(call, &element.data_type)),
        DataType::Nullable(inner) => check(call, inner),
        DataType::Variant(alternatives) => alternatives.iter().try_for_each(|alternative| check(call, alternative)),
        DataType::Json(_) | DataType::Dynamic(_) => {
            Err(Error::not_implemented(format!("Function {} of {data_type}", call.name)))
        }
        _ => Ok(()),
    }
}

/// The hashes of all rows; `None` without arguments.
fn hash_all<H: Copy>(algorithm: &Algorithm<H>, arguments: &[Column], rows: usize) -> Result<Option<Vec<H>>> {
    let mut hashes = None;
    for argument in arguments {
        let plain = argument.without_low_cardinality()?;
        // The elements of tuples and the items of arrays are put one by one to the hash that is there.
        let is_one = hashes.is_none()
            || !matches!(plain.data_type(), DataType::Tuple(_) | DataType::Array(_) | DataType::Map(..));
        if plain.is_constant() && is_one {
            let mut one = None;
            hash_column(algorithm, &plain.slice(0, 1).materialize()?, &mut one)?;
            if let Some(one) = one.and_then(|one: Vec<H>| one.first().copied()) {
                add(algorithm, &mut hashes, std::iter::repeat_n(one, rows));
            }
        } else {
            hash_column(algorithm, &plain.materialize()?, &mut hashes)?;
        }
    }
    Ok(hashes)
}

/// Puts hashes behind those that are there already.
fn add<H: Copy>(algorithm: &Algorithm<H>, hashes: &mut Option<Vec<H>>, new: impl Iterator<Item = H>) {
    match hashes {
        Some(hashes) => hashes.iter_mut().zip(new).for_each(|(hash, new)| *hash = (algorithm.combine)(*hash, new)),
        None => *hashes = Some(new.collect()),
    }
}

/// The hashes of the items of arrays, of which there may be many more than rows.
fn hash_items<H: Copy>(algorithm: &Algorithm<H>, items: &Column) -> Result<Vec<H>> {
    let mut hashes = Vec::new();
    let rows = items.array().len();
    grow(&mut hashes, rows)?;
    for from in (0..rows).step_by(ITEMS_AT_ONCE) {
        let count = ITEMS_AT_ONCE.min(rows - from);
        checkpoint(8 * count)?;
        let mut some = None;
        hash_column(algorithm, &items.slice(from, count), &mut some)?;
        hashes.extend(some.unwrap_or_default());
    }
    Ok(hashes)
}

fn hash_column<H: Copy>(algorithm: &Algorithm<H>, column: &Column, hashes: &mut Option<Vec<H>>) -> Result<()> {
    let array = &**column.array();
    match column.data_type() {
        DataType::Nullable(inner) => {
            let mut values = None;
            hash_column(algorithm, &Column::new((**inner).clone(), column.array().clone()), &mut values)?;
            let mut values = values.unwrap_or_else(|| vec![algorithm.null; array.len()]);
            if let Some(nulls) = array.logical_nulls() {
                let hidden = values.iter_mut().zip(nulls.iter()).filter(|(_, is_valid)| !is_valid);
                hidden.for_each(|(value, _)| *value = algorithm.null);
            }
            add(algorithm, hashes, values.into_iter());
        }
        DataType::Tuple(elements) if elements.is_empty() => {
            if hashes.is_none() {
                *hashes = Some(vec![algorithm.nothing; array.len()]);
            }
        }
        DataType::Tuple(elements) => {
            for (element, values) in elements.iter().zip(array.as_struct().columns()) {
                hash_column(algorithm, &Column::new(element.data_type.clone(), values.clone()), hashes)?;
            }
        }
        DataType::Array(_) | DataType::Map(..) => hash_lists(algorithm, column, hashes)?,
        DataType::String => {
            let strings = array.as_binary::<i32>();
            add(algorithm, hashes, (0..strings.len()).map(|row| (algorithm.bytes)(strings.value(row))));
        }
        DataType::UUID => {
            // In memory a UUID is two numbers, so each half lies there with its bytes reversed.
            let values = array.as_fixed_size_binary();
            let reversed = |row| {
                let mut bytes = values.value(row).to_vec();
                bytes.chunks_mut(8).for_each(<[u8]>::reverse);
                bytes
            };
            add(algorithm, hashes, (0..values.len()).map(|row| (algorithm.bytes)(&reversed(row))));
        }
        DataType::FixedString(_)
        | DataType::IPv6
        | DataType::UInt128
        | DataType::UInt256
        | DataType::Int128
        | DataType::Int256 => {
            let values = array.as_fixed_size_binary();
            add(algorithm, hashes, (0..values.len()).map(|row| (algorithm.bytes)(values.value(row))));
        }
        DataType::Decimal(..) => match array.as_fixed_size_binary_opt() {
            Some(values) => add(algorithm, hashes, (0..values.len()).map(|row| (algorithm.bytes)(values.value(row)))),
            None => match_primitive!(array.data_type(), T => {
                let values = array.as_primitive::<T>().values();
                add(algorithm, hashes, values.iter().map(|value| (algorithm.bytes)(value.to_byte_slice())));
            }, _ => return Err(Error::logical("a decimal that is no number"))),
        },
        // The upper half of a Float32.
        DataType::BFloat16 => {
            let values = array.as_primitive::<Float32Type>().values();
            let halves = values.iter().map(|value| (value.to_bits() >> 16) as u16);
            match algorithm.number {
                Some(number) => add(algorithm, hashes, halves.map(|half| number(half.into()))),
                None => add(algorithm, hashes, halves.map(|half| (algorithm.bytes)(&half.to_le_bytes()))),
            }
        }
        // ClickHouse hashes decimals, of which this is one, by their bytes.
        DataType::Time => {
            let values = array.as_primitive::<Int32Type>().values();
            add(algorithm, hashes, values.iter().map(|value| (algorithm.bytes)(value.to_byte_slice())));
        }
        DataType::DateTime64(..) | DataType::Time64(_) => {
            let values = array.as_primitive::<Int64Type>().values();
            add(algorithm, hashes, values.iter().map(|value| (algorithm.bytes)(value.to_byte_slice())));
        }
        // The number of the type, and then the value, as in RowBinary.
        DataType::Variant(_) => {
            let mut bytes = Vec::new();
            let mut new = Vec::with_capacity(array.len());
            for row in 0..array.len() {
                bytes.clear();
                put_value(&column.value(row), column.data_type(), &mut bytes)?;
                new.push((algorithm.bytes)(&bytes));
            }
            add(algorithm, hashes, new.into_iter());
        }
        DataType::Nothing => {}
        _ => match_primitive!(array.data_type(), T => {
            hash_numbers(algorithm, array.as_primitive::<T>().values(), hashes);
        }, _ => return Err(Error::logical(format!("a column of {} is not hashed", column.data_type())))),
    }
    Ok(())
}

/// Hashes numbers in the way that the algorithm has for them: as numbers, many at once, or by their bytes.
fn hash_numbers<H: Copy, N: ArrowNativeType>(
    algorithm: &Algorithm<H>,
    values: &ScalarBuffer<N>,
    hashes: &mut Option<Vec<H>>,
) {
    match (algorithm.number, algorithm.numbers) {
        (Some(number), _) => add(algorithm, hashes, values.iter().map(|value| number(bits(value.to_byte_slice())))),
        (None, Some(numbers)) if values.inner().len() <= 8 * values.len() => {
            let width = values.inner().len() / values.len().max(1);
            let (mut words, mut new) = (Vec::with_capacity(NUMBERS_AT_ONCE), Vec::with_capacity(values.len()));
            for some in values.chunks(NUMBERS_AT_ONCE) {
                words.clear();
                words.extend(some.iter().map(|value| bits(value.to_byte_slice())));
                numbers(&words, width, &mut new);
            }
            add(algorithm, hashes, new.into_iter());
        }
        (None, _) => add(algorithm, hashes, values.iter().map(|value| (algorithm.bytes)(value.to_byte_slice()))),
    }
}

/// Hashes arrays or maps: the length of each, and then its items in their order.
fn hash_lists<H: Copy>(algorithm: &Algorithm<H>, column: &Column, hashes: &mut Option<Vec<H>>) -> Result<()> {
    let item = column.data_type().list_item();
    let lists = column.array().as_list::<i32>();
    // A slice of a column has the items of all of it.
    let bounds = lists.value_offsets();
    let (first, last) = (bounds[0] as usize, bounds[lists.len()] as usize);
    let items = lists.values().slice(first, last - first);
    let items = hash_items(algorithm, &Column::new(item, items))?;
    add(algorithm, hashes, lists.offsets().lengths().map(|length| (algorithm.length)(length as u64)));
    let Some(hashes) = hashes else { return Ok(()) };
    for (hash, ends) in hashes.iter_mut().zip(bounds.windows(2)) {
        let items = items.get(ends[0] as usize - first..ends[1] as usize - first).unwrap_or_default();
        for some in items.chunks(ITEMS_AT_ONCE) {
            checkpoint(4 * some.len())?;
            *hash = some.iter().fold(*hash, |hash, item| (algorithm.combine)(hash, *item));
        }
    }
    Ok(())
}

/// The bits of a number of up to eight bytes, zeros above.
#[inline]
fn bits(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
