//! `IN` and `NOT IN`: a set of values built once, asked for every row. The set comes from constants (`x IN (1, 2)`) or from the
//! column of a subquery ([`in_set`]).

use std::hash::Hash;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use hashbrown::HashSet;
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{
    Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value, checkpoint, convert_value, reserve,
};

use super::beginnings::{self, BEGINNING_BYTES, beginning};
use super::kernel::bytes_column;
use super::simple::{Call, Function, Strings, argument};
use crate::function::{Argument, BoundFunction, FunctionContext, ScalarFunction};
use crate::properties::Properties;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("in", |call| of_constant(call, false)).never_throws().bound_from(1),
    &Function::new("notIn", |call| of_constant(call, true)).never_throws().bound_from(1),
    &Function::new("globalIn", |call| of_constant(call, false)).never_throws().bound_from(1),
    &Function::new("globalNotIn", |call| of_constant(call, true)).never_throws().bound_from(1),
    &Function::new("globalNotNullIn", |call| of_constant(call, true)).never_throws().bound_from(1),
    &Function::new("globalNullIn", |call| of_constant(call, false)).never_throws().bound_from(1),
    &Function::new("notNullIn", |call| of_constant(call, true)).never_throws().bound_from(1),
    &Function::new("nullIn", |call| of_constant(call, false)).never_throws().bound_from(1),
    &Function::new("globalInIgnoreSet", ignore_set).with_nulls().never_throws(),
    &Function::new("globalNotInIgnoreSet", ignore_set).with_nulls().never_throws(),
    &Function::new("globalNotNullInIgnoreSet", ignore_set).with_nulls().never_throws(),
    &Function::new("globalNullInIgnoreSet", ignore_set).with_nulls().never_throws(),
    &Function::new("inIgnoreSet", ignore_set).with_nulls().never_throws(),
    &Function::new("notInIgnoreSet", ignore_set).with_nulls().never_throws(),
    &Function::new("notNullInIgnoreSet", ignore_set).with_nulls().never_throws(),
    &Function::new("nullInIgnoreSet", ignore_set).with_nulls().never_throws(),
];

/// `inIgnoreSet` and its kin, which look at the types alone: 0.
fn ignore_set(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.bind(DataType::UInt8, |_, rows| Column::constant(DataType::UInt8, &Value::UInt64(0), rows))
}

/// `argument IN values` (`NOT IN` where negated) as a function of one argument of `argument_type`. `values` is any column that
/// can be brought to that type: values that it does not have are in no row, and neither is NULL. For several columns on the left
/// both are tuples.
///
/// # Errors
/// `TYPE_MISMATCH` where the types have nothing in common.
pub fn in_set(
    argument_type: &DataType,
    values: &Column,
    is_negated: bool,
    context: &FunctionContext,
) -> Result<Arc<dyn BoundFunction>> {
    struct InSet {
        values: Column,
        is_negated: bool,
    }

    impl ScalarFunction for InSet {
        fn name(&self) -> &'static str {
            if self.is_negated { "notIn" } else { "in" }
        }

        fn resolve(&self, arguments: &[Argument], context: &FunctionContext) -> Bound {
            let properties = Properties { may_throw: false, ..Properties::UNKNOWN };
            let call = Call { name: self.name(), arguments, context, properties };
            call.arguments(1..=1)?;
            bind(&call, &self.values, self.is_negated)
        }
    }

    let function = InSet { values: values.clone(), is_negated };
    crate::defaults::bind(&function, &[Argument::of(argument_type.clone())], context)
}

/// `x IN (…)` with the list as a constant.
fn of_constant(call: &Call<'_>, is_negated: bool) -> Bound {
    call.arguments(2..=2)?;
    let Some(list) = call.constant(1) else {
        return Err(Error::new(
            ErrorCode::UNSUPPORTED_METHOD,
            format!("Function '{}' is supported only if second argument is constant or table expression", call.name),
        ));
    };
    let item_type = call.type_of(0);
    // What the planner has brought to the type is no text to be read, as the bytes of a UUID could be taken for.
    let is_of_type = matches!(call.type_of(1), DataType::Array(known) if known.inner() == item_type.inner());
    // A tuple is the list of its elements, unless it is itself what is looked for.
    let items: Vec<Value> = match (list, item_type) {
        (Value::Array(items), _) if is_of_type => items.to_vec(),
        (Value::Tuple(items), DataType::Tuple(elements)) => {
            let is_list = items.iter().all(|item| matches!(item, Value::Tuple(inner) if inner.len() == elements.len()));
            if is_list { items.to_vec() } else { vec![list.clone()] }
        }
        (Value::Tuple(items), _) => items.to_vec(),
        (Value::Array(items), DataType::Array(_)) if !matches!(items.first(), Some(Value::Array(_))) => {
            vec![list.clone()]
        }
        (Value::Array(items), _) => items.to_vec(),
        _ => vec![list.clone()],
    };
    let mut builder = ColumnBuilder::new(item_type.clone());
    for item in &items {
        if item.is_null() {
            continue;
        }
        match if is_of_type { Ok(item.clone()) } else { convert_value(item, item_type) } {
            Ok(value) => builder.append(&value)?,
            // A number that the type does not have is in no row.
            Err(error) if error.code == ErrorCode::CANNOT_CONVERT_TYPE && item.as_bytes().is_none() => {}
            Err(_) if item.as_bytes().is_some() => {
                return Err(Error::new(
                    ErrorCode::TYPE_MISMATCH,
                    format!("Cannot convert string {item} to type {item_type}"),
                ));
            }
            Err(error) => return Err(error),
        }
    }
    bind(call, &builder.finish()?, is_negated)
}

fn bind(call: &Call<'_>, values: &Column, is_negated: bool) -> Bound {
    let item_type = call.type_of(0).clone();
    let options = CastOptions::new(CastMode::OrNull, call.session_zone()?);
    let values = if *values.data_type() == item_type {
        values.clone()
    } else if item_type.can_be_inside_nullable() {
        cast(values, &item_type, &options)?
    } else {
        cast(values, &item_type, &CastOptions { mode: CastMode::Plain, ..options.clone() })?
    };
    let set = Set::new(&values.materialize()?, &options.text)?;
    let wanted = u8::from(!is_negated);
    call.bind(DataType::UInt8, move |arguments, rows| {
        let column = argument(arguments, 0)?;
        let mut found = set.contains(column, rows, wanted)?;
        if column.is_constant() {
            found.resize(rows, found.first().copied().unwrap_or(0));
        }
        Ok(bytes_column(found))
    })
}

/// The values of a set, in the form in which a column of their type is asked.
#[derive(Debug)]
enum Set {
    Empty,
    /// Numbers of up to 16 bits: a bit for each.
    Bits(Box<[u64; 1024]>),
    /// A few numbers, as the bits that they are stored as.
    Few(Vec<u64>),
    /// Many numbers.
    Numbers(HashSet<u64>),
    /// A few short strings.
    ShortStrings(ShortStrings),
    /// Strings of any kind.
    Strings(HashSet<Box<[u8]>>),
    /// Anything else, as its text.
    Texts(HashSet<Box<[u8]>>, TextOptions),
}

impl Set {
    fn new(values: &Column, options: &TextOptions) -> Result<Self> {
        let array = values.array();
        let rows = array.len() - array.null_count();
        if rows == 0 {
            return Ok(Self::Empty);
        }
        if let Some(numbers) = number_bits(array) {
            let numbers: Vec<u64> =
                numbers.into_iter().enumerate().filter(|(row, _)| array.is_valid(*row)).map(|(_, bits)| bits).collect();
            const FEW: usize = 8;
            if numbers.len() <= FEW {
                return Ok(Self::Few(numbers));
            }
            if array.data_type().primitive_width().is_some_and(|width| width <= 2) {
                let mut bits = Box::new([0u64; 1024]);
                for number in numbers {
                    if let Some(word) = bits.get_mut((number / 64) as usize) {
                        *word |= 1 << (number % 64);
                    }
                }
                return Ok(Self::Bits(bits));
            }
            return Ok(Self::Numbers(numbers.into_iter().collect()));
        }
        if is_string(array) {
            let columns = [Column::new(values.data_type().clone(), array.clone())];
            let strings = Strings::of(&columns, 0)?;
            let found: HashSet<Box<[u8]>> =
                (0..array.len()).filter(|row| array.is_valid(*row)).map(|row| strings.get(row).into()).collect();
            return Ok(match ShortStrings::of(&found) {
                Some(short) => Self::ShortStrings(short),
                None => Self::Strings(found),
            });
        }
        let mut texts = HashSet::new();
        let mut writer = ValueWriter::new(values, TextStyle::Quoted, options)?;
        let mut text = Vec::new();
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            text.clear();
            writer.write(&mut text, row);
            texts.insert(text.as_slice().into());
        }
        Ok(Self::Texts(texts, options.clone()))
    }

    /// For each row `wanted` where it is in the set, the other of 0 and 1 where it is not; one row for a constant.
    fn contains(&self, column: &Column, rows: usize, wanted: u8) -> Result<Vec<u8>> {
        let array = column.array();
        let other = wanted ^ 1;
        match self {
            Self::Empty => Ok(vec![other; rows]),
            Self::Few(numbers) => squall_types::match_primitive!(array.data_type(), T => {
                let values = array.as_primitive::<T>().values();
                let mut found = vec![0u8; values.len()];
                for number in numbers {
                    found.iter_mut().zip(values.iter()).for_each(|(found, value)| *found |= u8::from(value.bits() == *number));
                }
                found.iter_mut().for_each(|found| *found ^= other);
                Ok(found)
            }, _ => Err(differ())),
            Self::Bits(bits) => ask_numbers(
                array,
                |number| bits.get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 == 1),
                other,
            ),
            Self::Numbers(numbers) => ask_numbers(array, |number| numbers.contains(&number), other),
            Self::ShortStrings(strings) => {
                if let Some(array) = array.as_binary_opt::<i32>() {
                    return Ok(beginnings::of_each(array, |found| {
                        u8::from(strings.has(found.length, found.word)) ^ other
                    }));
                }
                let columns = [Column::new(column.data_type().clone(), array.clone())];
                let values = Strings::of(&columns, 0)?;
                Ok((0..array.len()).map(|row| u8::from(strings.contains(values.get(row))) ^ other).collect())
            }
            Self::Strings(strings) => {
                let columns = [Column::new(column.data_type().clone(), array.clone())];
                let values = Strings::of(&columns, 0)?;
                Ok((0..array.len()).map(|row| u8::from(strings.contains(values.get(row))) ^ other).collect())
            }
            Self::Texts(texts, options) => {
                let column = Column::new(column.data_type().clone(), array.clone());
                let mut writer = ValueWriter::new(&column, TextStyle::Quoted, options)?;
                let mut text = Vec::new();
                Ok((0..array.len())
                    .map(|row| {
                        text.clear();
                        writer.write(&mut text, row);
                        u8::from(texts.contains(text.as_slice())) ^ other
                    })
                    .collect())
            }
        }
    }
}

/// A few strings of up to 8 bytes, each as a number: comparing these takes less than hashing.
#[derive(Debug)]
struct ShortStrings {
    /// The length of each string, and its beginning, which is all of it.
    words: Vec<(usize, u64)>,
}

impl ShortStrings {
    const COUNT_MAX: usize = 8;

    fn of(strings: &HashSet<Box<[u8]>>) -> Option<Self> {
        let is_short = strings.iter().all(|string| string.len() <= BEGINNING_BYTES);
        if !is_short || strings.len() > Self::COUNT_MAX {
            return None;
        }
        Some(Self { words: strings.iter().map(|string| (string.len(), beginning(string))).collect() })
    }

    /// Whether a string of this length that begins so is there.
    #[inline]
    fn has(&self, length: usize, word: u64) -> bool {
        // Without a branch for each, which nobody could predict.
        self.words.iter().fold(false, |found, (known, text)| found | (*known == length) & (*text == word))
    }

    fn contains(&self, string: &[u8]) -> bool {
        self.has(string.len(), beginning(string))
    }
}

fn differ() -> Error {
    Error::logical("a set of another type is asked")
}

fn is_string(array: &ArrayRef) -> bool {
    matches!(array.data_type(), arrow_schema::DataType::Binary | arrow_schema::DataType::FixedSizeBinary(_))
}

/// Numbers by their bits, so that equal values have equal bits.
pub(super) trait Bits: Copy {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($t:ty as $through:ty),*) => {
        $(impl Bits for $t {
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self as $through)
            }
        })*
    };
}

bits!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, i8 as u8, i16 as u16, i32 as u32, i64 as u64);

impl Bits for f32 {
    #[inline(always)]
    fn bits(self) -> u64 {
        // Adding zero turns -0 into 0.
        u64::from((self + 0.0).to_bits())
    }
}

impl Bits for f64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        (self + 0.0).to_bits()
    }
}

/// The bits of every row of a primitive array.
pub(super) fn number_bits(array: &ArrayRef) -> Option<Vec<u64>> {
    fn collect<T: ArrowPrimitiveType<Native: Bits>>(array: &ArrayRef) -> Vec<u64> {
        array.as_primitive::<T>().values().iter().map(|value| value.bits()).collect()
    }
    squall_types::match_primitive!(array.data_type(), T => Some(collect::<T>(array)), _ => None)
}

fn ask_numbers(array: &ArrayRef, contains: impl Fn(u64) -> bool, other: u8) -> Result<Vec<u8>> {
    squall_types::match_primitive!(array.data_type(), T => {
        Ok(array.as_primitive::<T>().values().iter().map(|value| u8::from(contains(value.bits())) ^ other).collect())
    }, _ => Err(differ()))
}

/// Numbers that stand for items: equal items have equal numbers, from 0 by first appearance; NULL is an item of its own. Gives the
/// number of each row and how many there are.
pub(super) fn item_numbers(items: &Column, options: &TextOptions) -> Result<(Vec<u32>, usize)> {
    let array = items.array();
    reserve(12 * array.len())?;
    if let Some(bits) = number_bits(array) {
        return number_items(bits.into_iter().enumerate().map(|(row, bits)| array.is_valid(row).then_some(bits)));
    }
    if is_string(array) {
        let columns = [Column::new(items.data_type().clone(), array.clone())];
        let strings = Strings::of(&columns, 0)?;
        return number_items((0..array.len()).map(|row| array.is_valid(row).then(|| strings.get(row))));
    }
    let column = Column::new(items.data_type().clone(), array.clone());
    let mut writer = ValueWriter::new(&column, TextStyle::Quoted, options)?;
    reserve(size_of::<Vec<u8>>() * array.len())?;
    let text_of = |row: usize| -> Result<Vec<u8>> {
        let mut text = Vec::new();
        writer.write(&mut text, row);
        checkpoint(64 + text.len())?;
        Ok(text)
    };
    let texts = (0..array.len()).map(text_of).collect::<Result<Vec<_>>>()?;
    number_items(texts.iter().map(Some))
}

fn number_items<K: Hash + Eq>(items: impl ExactSizeIterator<Item = Option<K>>) -> Result<(Vec<u32>, usize)> {
    let mut numbers: hashbrown::HashMap<Option<K>, u32> = hashbrown::HashMap::new();
    let mut of_rows = Vec::with_capacity(items.len());
    for item in items {
        if numbers.len() == numbers.capacity() {
            reserve(3 * numbers.len() * size_of::<(Option<K>, u32)>())?;
        }
        checkpoint(16)?;
        let next = numbers.len() as u32;
        of_rows.push(*numbers.entry(item).or_insert(next));
    }
    Ok((of_rows, numbers.len()))
}
