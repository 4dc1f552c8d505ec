//! Functions of bitmaps: the states of `groupBitmap`, sets of integers.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::{AggregateType, Column, DataType, Error, ErrorCode, Result, checkpoint};

use super::array::{Lists, item_type, list_column};
use super::simple::{Call, Function, Strings, StringsBuilder};
use crate::aggregate::distinct::group_bitmap::{Form, Integers, Rule};
use crate::aggregate::values::row_hash::number_bits;
use crate::function::{BoundFunction, ScalarFunction};
use crate::partial_sort;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Every function of this module.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("bitmapAnd", |call| combine(call, Rule::And)),
    &Function::new("bitmapAndCardinality", |call| count(call, |left, right, shared| shared.min(left).min(right))),
    &Function::new("bitmapAndnot", |call| combine(call, Rule::AndNot)),
    &Function::new("bitmapAndnotCardinality", |call| count(call, |left, _, shared| left - shared)),
    &Function::new("bitmapBuild", build),
    &Function::new("bitmapCardinality", cardinality),
    &Function::new("bitmapContains", contains),
    &Function::new("bitmapHasAll", has_all),
    &Function::new("bitmapHasAny", has_any),
    &Function::new("bitmapMax", |call| extreme(call, true)),
    &Function::new("bitmapMin", |call| extreme(call, false)),
    &Function::new("bitmapOr", |call| combine(call, Rule::Or)),
    &Function::new("bitmapOrCardinality", |call| count(call, |left, right, shared| left + right - shared)),
    &Function::new("bitmapSubsetInRange", |call| part(call, in_range)),
    &Function::new("bitmapSubsetLimit", |call| part(call, from_on)),
    &Function::new("bitmapToArray", to_array),
    &Function::new("bitmapTransform", transform),
    &Function::new("bitmapXor", |call| combine(call, Rule::Xor)),
    &Function::new("bitmapXorCardinality", |call| count(call, |left, right, shared| left + right - 2 * shared)),
    &Function::new("subBitmap", |call| part(call, between)),
];

/// The type of bitmaps of these integers.
fn bitmap_type(integer: &DataType) -> DataType {
    DataType::AggregateFunction(Arc::new(AggregateType {
        version: None,
        function: "groupBitmap".into(),
        parameters: "".into(),
        arguments: [integer.clone()].into(),
    }))
}

/// The integers' type of an argument that must be a bitmap.
fn integer_of<'a>(call: &Call<'a>, at: usize) -> Result<(&'a DataType, Form)> {
    let place = if at == 0 { "First" } else { "Second" };
    let bitmap = match call.type_of(at) {
        // A bitmap of bitmaps has the same states.
        DataType::AggregateFunction(of)
            if matches!(&*of.function, "groupBitmapAnd" | "groupBitmapOr" | "groupBitmapXor") =>
        {
            of.arguments.first().ok_or_else(|| call.illegal(at))?
        }
        other => other,
    };
    match bitmap {
        DataType::AggregateFunction(state) if &*state.function == "groupBitmap" => {
            let integer = state.arguments.first().ok_or_else(|| call.illegal(at))?;
            let form = Form::of(integer).ok_or_else(|| {
                Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!("Unexpected type {} of argument of function {}", call.type_of(at), call.name),
                )
            })?;
            Ok((integer, form))
        }
        _ => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "{place} argument for function {} must be a bitmap but it has type {}",
                call.name,
                call.type_of(at)
            ),
        )),
    }
}

/// Two bitmaps of one type.
fn two(call: &Call<'_>) -> Result<Form> {
    call.arguments(2..=2)?;
    let ((left, form), (right, _)) = (integer_of(call, 0)?, integer_of(call, 1)?);
    if left == right {
        return Ok(form);
    }
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!("The nested type in bitmaps must be the same, but one is {left}, and the other is {right}"),
    ))
}

/// The bitmaps of an argument; a constant's is read once.
struct Bitmaps<'a> {
    states: Strings<'a>,
    form: Form,
    constant: Option<Integers>,
}

impl<'a> Bitmaps<'a> {
    fn of(arguments: &'a [Column], at: usize, form: Form) -> Result<Self> {
        let states = Strings::of(arguments, at)?;
        let constant = match states {
            Strings::Constant(state) => Some(read(form, state)?),
            _ => None,
        };
        Ok(Self { states, form, constant })
    }

    fn get(&self, row: usize) -> Result<Integers> {
        match &self.constant {
            Some(integers) => Ok(integers.clone()),
            None => read(self.form, self.states.get(row)),
        }
    }
}

fn read(form: Form, mut state: &[u8]) -> Result<Integers> {
    checkpoint(64 + 2 * state.len())?;
    // No bytes are a state without rows.
    if state.is_empty() { Ok(Integers::default()) } else { Integers::read(form, &mut state) }
}

/// A column of bitmaps.
fn bitmaps(
    bitmap: &DataType,
    form: Form,
    rows: usize,
    mut make: impl FnMut(usize) -> Result<Integers>,
) -> Result<Column> {
    let mut states = StringsBuilder::new(rows, 32 * rows)?;
    for row in 0..rows {
        make(row)?.write(form, &mut states.bytes)?;
        states.end_row()?;
    }
    Ok(Column::new(bitmap.clone(), Arc::new(states.finish_array()?)))
}

/// A column of numbers made of each row.
fn numbers(rows: usize, make: impl FnMut(usize) -> Result<u64>) -> Result<Column> {
    Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(make).collect::<Result<Vec<_>>>()?))
}

/// A column of answers made of each row.
fn answers(rows: usize, mut make: impl FnMut(usize) -> Result<bool>) -> Result<Column> {
    let answers = (0..rows).map(|row| make(row).map(u8::from)).collect::<Result<Vec<_>>>()?;
    Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, answers))
}

fn build(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let item = item_type(call, 0)?;
    // An array without items is one of bytes.
    let item = if *item == DataType::Nothing { &DataType::UInt8 } else { item };
    let form = Form::of(item).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Unexpected type {} of argument of function {}", call.type_of(0), call.name),
        )
    })?;
    let result = bitmap_type(item);
    call.bind(result.clone(), move |arguments, rows| {
        let lists = Lists::of(arguments, 0)?;
        let items = number_bits(&lists.items).unwrap_or_default();
        bitmaps(&result, form, rows, |row| {
            let items = items.get(lists.range(row)).unwrap_or_default();
            checkpoint(8 + 8 * items.len())?;
            let mut integers = Integers::default();
            items.iter().for_each(|integer| integers.insert(form.in_bitmaps(*integer)));
            Ok(integers)
        })
    })
}

fn to_array(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let (integer, form) = integer_of(call, 0)?;
    let integer = integer.clone();
    call.bind(DataType::array(integer.clone()), move |arguments, rows| {
        let bitmaps = Bitmaps::of(arguments, 0, form)?;
        let mut items: Vec<u64> = Vec::new();
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        for row in 0..rows {
            let integers = bitmaps.get(row)?;
            let count = integers.count() as usize;
            squall_types::grow(&mut items, count)?;
            checkpoint(4 * count)?;
            items.extend(integers.iter());
            ends.push(i32::try_from(items.len()).map_err(|_| {
                Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block")
            })?);
        }
        let array = squall_types::match_primitive!(Column::empty(integer.clone()).array().data_type(), T => {
            use arrow_array::ArrowPrimitiveType;
            use num_of::FromBits;
            Column::from_primitive::<T>(
                integer.clone(),
                items.iter().map(|bits| <T as ArrowPrimitiveType>::Native::of_bits(*bits)).collect(),
            )
        }, _ => return Err(Error::logical("bitmaps are of integers")));
        list_column(&integer, ends, array.array().clone())
    })
}

/// Numbers from the bits that bitmaps keep.
mod num_of {
    pub(super) trait FromBits {
        fn of_bits(bits: u64) -> Self;
    }

    macro_rules! from_bits {
        ($($number:ty),*) => {
            $(impl FromBits for $number {
                fn of_bits(bits: u64) -> Self {
                    bits as $number
                }
            })*
        };
    }

    from_bits!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);
}

fn cardinality(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let (_, form) = integer_of(call, 0)?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let bitmaps = Bitmaps::of(arguments, 0, form)?;
        numbers(rows, |row| Ok(bitmaps.get(row)?.count()))
    })
}

fn extreme(call: &Call<'_>, is_max: bool) -> Bound {
    call.arguments(1..=1)?;
    let (_, form) = integer_of(call, 0)?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let bitmaps = Bitmaps::of(arguments, 0, form)?;
        numbers(rows, |row| {
            let integers = bitmaps.get(row)?;
            let own = |integer: u64| match &integers {
                Integers::List(_) => form.own(integer),
                Integers::Bitmap(_) => integer,
            };
            let values = integers.iter().map(own);
            Ok(if is_max { values.max().unwrap_or(0) } else { values.min().unwrap_or(form.in_bitmaps(u64::MAX)) })
        })
    })
}

fn contains(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let (_, form) = integer_of(call, 0)?;
    call.integers([1])?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let bitmaps = Bitmaps::of(arguments, 0, form)?;
        let wanted = wanted(arguments, 1, rows)?;
        answers(rows, |row| {
            let integers = bitmaps.get(row)?;
            let wanted = wanted[row];
            Ok(match integers {
                Integers::List(_) => {
                    wanted == form.own(wanted) && integers.contains(form.in_bitmaps(form.extend(wanted)))
                }
                Integers::Bitmap(_) => integers.contains(wanted),
            })
        })
    })
}

/// The bits of integer arguments, one for each row.
fn wanted(arguments: &[Column], at: usize, rows: usize) -> Result<Vec<u64>> {
    let column = super::simple::argument(arguments, at)?;
    let bits = number_bits(column).ok_or_else(|| Error::logical("an integer argument is no number"))?;
    match (column.is_constant(), bits.first()) {
        (true, Some(&bits)) => Ok(vec![bits; rows]),
        _ => Ok(bits),
    }
}

fn combine(call: &Call<'_>, rule: Rule) -> Bound {
    let form = two(call)?;
    let result = call.type_of(0).clone();
    call.bind(result.clone(), move |arguments, rows| {
        let (left, right) = (Bitmaps::of(arguments, 0, form)?, Bitmaps::of(arguments, 1, form)?);
        bitmaps(&result, form, rows, |row| {
            let mut integers = left.get(row)?;
            integers.combine(right.get(row)?, rule);
            Ok(integers)
        })
    })
}

/// A number made of how many integers the left has, the right, and both.
fn count(call: &Call<'_>, make: fn(u64, u64, u64) -> u64) -> Bound {
    let form = two(call)?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let (left, right) = (Bitmaps::of(arguments, 0, form)?, Bitmaps::of(arguments, 1, form)?);
        numbers(rows, |row| {
            let (left, right) = (left.get(row)?, right.get(row)?);
            Ok(make(left.count(), right.count(), left.shared(&right)))
        })
    })
}

fn has_any(call: &Call<'_>) -> Bound {
    let form = two(call)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (left, right) = (Bitmaps::of(arguments, 0, form)?, Bitmaps::of(arguments, 1, form)?);
        answers(rows, |row| Ok(left.get(row)?.shared(&right.get(row)?) > 0))
    })
}

fn has_all(call: &Call<'_>) -> Bound {
    let form = two(call)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (left, right) = (Bitmaps::of(arguments, 0, form)?, Bitmaps::of(arguments, 1, form)?);
        answers(rows, |row| {
            let right = right.get(row)?;
            Ok(left.get(row)?.shared(&right) == right.count())
        })
    })
}

/// Chooses integers of a bitmap by two numbers.
type Choose = fn(&Integers, u64, u64, Form) -> Vec<u64>;

fn part(call: &Call<'_>, choose: Choose) -> Bound {
    call.arguments(3..=3)?;
    let (_, form) = integer_of(call, 0)?;
    if let Some(wrong) = [1, 2].map(|at| call.type_of(at)).into_iter().find(|found| !found.is_unsigned_integer()) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "The second and third arguments for function {} must be one of [UInt8, UInt16, UInt32, UInt64] but one of them has type {wrong}",
                call.name
            ),
        ));
    }
    let result = call.type_of(0).clone();
    call.bind(result.clone(), move |arguments, rows| {
        let source = Bitmaps::of(arguments, 0, form)?;
        let (first, second) = (wanted(arguments, 1, rows)?, wanted(arguments, 2, rows)?);
        bitmaps(&result, form, rows, |row| {
            let integers = source.get(row)?;
            checkpoint(4 * integers.count() as usize)?;
            let mut chosen = Integers::default();
            choose(&integers, first[row], second[row], form).into_iter().for_each(|integer| chosen.insert(integer));
            Ok(chosen)
        })
    })
}

/// What is compared of an integer: of one in a list its low 32 bits.
fn rank(integers: &Integers, integer: u64) -> u64 {
    match integers {
        Integers::List(_) => integer & u64::from(u32::MAX),
        Integers::Bitmap(_) => integer,
    }
}

fn in_range(integers: &Integers, start: u64, end: u64, _: Form) -> Vec<u64> {
    integers.iter().filter(|integer| (start..end).contains(&rank(integers, *integer))).collect()
}

fn from_on(integers: &Integers, start: u64, limit: u64, form: Form) -> Vec<u64> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let chosen = integers.iter().filter(|integer| rank(integers, *integer) >= start);
    match integers {
        Integers::Bitmap(_) => chosen.take(limit).collect(),
        Integers::List(_) => {
            let mut chosen: Vec<u64> = chosen.collect();
            if limit < chosen.len() {
                // Lists keep integers as signed ones where their type is.
                let signed = |integer: u64| form.extend(form.own(integer)) as i64;
                // As the selection leaves them: that is the order in which a list of integers goes on.
                partial_sort::select(&mut chosen, limit, &|left, right| {
                    if form.is_signed { signed(*left) < signed(*right) } else { left < right }
                });
                chosen.truncate(limit);
            }
            chosen
        }
    }
}

fn between(integers: &Integers, offset: u64, limit: u64, _: Form) -> Vec<u64> {
    let [offset, limit] = [offset, limit].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let mut sorted: Vec<u64> = match integers {
        Integers::List(list) => list.clone(),
        Integers::Bitmap(_) => return integers.iter().skip(offset).take(limit).collect(),
    };
    sorted.sort_unstable();
    sorted.into_iter().skip(offset).take(limit).collect()
}

fn transform(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    let (_, form) = integer_of(call, 0)?;
    for at in [1, 2] {
        let item = item_type(call, at)?;
        if !item.is_unsigned_integer() && *item != DataType::Nothing {
            return Err(call.illegal(at));
        }
    }
    let result = call.type_of(0).clone();
    call.bind(result.clone(), move |arguments, rows| {
        let source = Bitmaps::of(arguments, 0, form)?;
        let (from, to) = (Lists::of(arguments, 1)?, Lists::of(arguments, 2)?);
        let bits = |lists: &Lists| number_bits(&lists.items).unwrap_or_default();
        let (from_bits, to_bits) = (bits(&from), bits(&to));
        bitmaps(&result, form, rows, |row| {
            let from = from_bits.get(from.range(row)).unwrap_or_default();
            let to = to_bits.get(to.range(row)).unwrap_or_default();
            if from.len() != to.len() {
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "From array size and to array size mismatch"));
            }
            checkpoint(16 * from.len())?;
            let mut integers = source.get(row)?;
            let in_bitmaps = |bits: &u64| form.in_bitmaps(*bits);
            integers.replace(from.iter().map(in_bitmaps).zip(to.iter().map(in_bitmaps)));
            Ok(integers)
        })
    })
}
