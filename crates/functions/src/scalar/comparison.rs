//! `=`, `<>`, `<`, `>`, `<=`, `>=` over every pair of types that can be compared. Each side is brought to one type, a constant to
//! the other side's where it fits, and one loop compares.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use squall_types::cast::{CastMode, CastOptions, cast, cast_value};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, exact_value, least_supertype};

use super::beginnings::{self, BEGINNING_BYTES, are_equal, beginning};
use super::kernel::{bytes_column, map2};
use super::order::row_order;
use super::sides::is_wide;
use super::simple::{Call, Function, Numbers, Strings, argument};
use super::wide_comparison;
use crate::function::{Argument, BoundFunction, FunctionContext, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("equals", |call| resolve(call, Comparison::Equals)).never_throws().compares(),
    &Function::new("notEquals", |call| resolve(call, Comparison::NotEquals)).never_throws().compares(),
    &Function::new("less", |call| resolve(call, Comparison::Less)).never_throws().compares(),
    &Function::new("greater", |call| resolve(call, Comparison::Greater)).never_throws().compares(),
    &Function::new("lessOrEquals", |call| resolve(call, Comparison::LessOrEquals)).never_throws().compares(),
    &Function::new("greaterOrEquals", |call| resolve(call, Comparison::GreaterOrEquals)).never_throws().compares(),
    &Function::new("isNotDistinctFrom", |call| distinct(call, false)).with_nulls().never_throws(),
    &Function::new("isDistinctFrom", |call| distinct(call, true)).with_nulls().never_throws(),
];

/// Which of the six.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    Equals,
    NotEquals,
    Less,
    Greater,
    LessOrEquals,
    GreaterOrEquals,
}

impl Comparison {
    /// Whether two values in this order compare as true.
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equals => order.is_eq(),
            Self::NotEquals => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::Greater => order.is_gt(),
            Self::LessOrEquals => order.is_le(),
            Self::GreaterOrEquals => order.is_ge(),
        }
    }

    fn function(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "notEquals",
            Self::Less => "less",
            Self::Greater => "greater",
            Self::LessOrEquals => "lessOrEquals",
            Self::GreaterOrEquals => "greaterOrEquals",
        }
    }
}

/// How two columns are compared once their types are settled.
#[derive(Clone, Debug)]
enum Way {
    /// Both as this primitive, string or address type, by loops.
    As(DataType),
    /// Both as their bytes; a `FixedString` may be compared with a `String`.
    Bytes,
    /// Both as this type, whose bytes have another order than its values.
    Ranked(DataType),
    /// Integers or decimals of which one is wide or a decimal.
    Wide,
    /// A 64-bit integer with a number that no common type holds.
    Exact,
    /// Both as this nested type, row by row.
    Rows(DataType),
    /// With a text of a value that the other type does not have: it differs from all, and has no order.
    Never,
}

fn illegal(call: &Call<'_>) -> Error {
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "Illegal types of arguments (`{}`, `{}`) of function `{}`",
            call.type_of(0),
            call.type_of(1),
            call.name
        ),
    )
}

fn resolve(call: &Call<'_>, comparison: Comparison) -> Bound {
    call.arguments(2..=2)?;
    let (left, right) = (call.type_of(0), call.type_of(1));
    if matches!(left, DataType::AggregateFunction(_)) || matches!(right, DataType::AggregateFunction(_)) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Illegal types of arguments (`{left}`, `{right}`) of function `{}`: states are not comparable",
                call.name
            ),
        ));
    }
    if let (DataType::Tuple(l), DataType::Tuple(r)) = (left, right) {
        if l.len() != r.len() {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Cannot compare tuples of different sizes ({} and {})", l.len(), r.len()),
            ));
        }
        return tuples(call, comparison);
    }
    let way = way(call)?;
    let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (left, right) = (argument(arguments, 0)?, argument(arguments, 1)?);
        compare(&way, comparison, left, right, rows, &options).map(bytes_column)
    })
}

/// Whether values are compared as the numbers that they are stored as.
fn is_numeric(data_type: &DataType) -> bool {
    data_type.is_number()
        || matches!(
            data_type,
            DataType::Bool
                | DataType::Enum8(_)
                | DataType::Enum16(_)
                | DataType::DateTime(_)
                | DataType::DateTime64(..)
                | DataType::Time
                | DataType::IPv4
                | DataType::Interval(_)
        )
}

/// The integer type that holds a type's values as they are stored.
fn stored_as(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Bool => DataType::UInt8,
        DataType::Enum8(_) => DataType::Int8,
        DataType::Enum16(_) => DataType::Int16,
        DataType::Date => DataType::UInt16,
        DataType::Date32 | DataType::Time => DataType::Int32,
        DataType::DateTime(_) | DataType::IPv4 => DataType::UInt32,
        DataType::DateTime64(..) | DataType::Time64(_) | DataType::Interval(_) => DataType::Int64,
        other => other.clone(),
    }
}

fn way(call: &Call<'_>) -> Result<Way> {
    let (left, right) = (call.type_of(0), call.type_of(1));
    if left.is_string_or_fixed_string() && right.is_string_or_fixed_string() {
        return Ok(Way::Bytes);
    }
    // A constant string beside anything else is read as that; a column of strings only beside what has one text each.
    for (at, string, other) in [(0, left, right), (1, right, left)] {
        if string.is_string_or_fixed_string() {
            return beside_string(call, at, string, other);
        }
    }
    if left == right && !matches!(left, DataType::Map(..) | DataType::Array(_)) {
        return of_type(left);
    }
    // Dates reach further than DateTime does.
    if let (DataType::Date, DataType::DateTime(zone)) | (DataType::DateTime(zone), DataType::Date) = (left, right) {
        return of_type(&DataType::DateTime64(0, zone.clone()));
    }
    if is_wide(left) && (is_wide(right) || right.is_number() || *right == DataType::Bool)
        || is_wide(right) && (left.is_number() || *left == DataType::Bool)
    {
        return if left.is_float() || right.is_float() { of_type(&DataType::Float64) } else { Ok(Way::Wide) };
    }
    let is_clock = |data_type: &DataType| matches!(data_type, DataType::Time | DataType::Time64(_));
    if is_clock(left) && is_clock(right) {
        return of_type(&least_supertype(&[left.clone(), right.clone()])?);
    }
    if left.is_date_or_time() && right.is_date_or_time() {
        return of_type(&least_supertype(&[left.clone(), right.clone()])?);
    }
    if let (DataType::IPv4, DataType::IPv6) | (DataType::IPv6, DataType::IPv4) = (left, right) {
        return Ok(Way::As(DataType::IPv6));
    }
    if let (DataType::Interval(a), DataType::Interval(b)) = (left, right)
        && a != b
    {
        return Err(Error::new(ErrorCode::NO_COMMON_TYPE, format!("There is no supertype for types {left}, {right}")));
    }
    check_ipv4(left, right)?;
    if is_numeric(left) && is_numeric(right) {
        return of_numbers(call, left, right);
    }
    match (left, right) {
        (DataType::Array(_), DataType::Array(_)) | (DataType::Map(..), DataType::Map(..)) => {
            let common = least_supertype(&[left.clone(), right.clone()]).map_err(|_| illegal(call))?;
            Ok(Way::Rows(common))
        }
        _ => Err(illegal(call)),
    }
}

/// Refuses what a number is compared with, but not an IPv4.
fn check_ipv4(left: &DataType, right: &DataType) -> Result<()> {
    let ((DataType::IPv4, other) | (other, DataType::IPv4)) = (left, right) else { return Ok(()) };
    match other {
        _ if other.is_signed_integer()
            || other.is_float()
            || matches!(other, DataType::Enum8(_) | DataType::Enum16(_)) =>
        {
            Err(Error::not_implemented(format!("Comparison of IPv4 with {other}")))
        }
        DataType::DateTime(_) | DataType::Interval(_) => {
            Err(Error::new(ErrorCode::NO_COMMON_TYPE, format!("There is no supertype for types IPv4, {other}")))
        }
        _ => Ok(()),
    }
}

/// How values are compared that are stored as numbers.
fn of_numbers(call: &Call<'_>, left: &DataType, right: &DataType) -> Result<Way> {
    if let (time @ DataType::DateTime64(..), number) | (number, time @ DataType::DateTime64(..)) = (left, right) {
        let is_number = number.is_number() || *number == DataType::Bool;
        return if is_number { Ok(Way::As(time.clone())) } else { Err(illegal(call)) };
    }
    let (left, right) = (stored_as(left), stored_as(right));
    for (at, other, this) in [(0, &right, &left), (1, &left, &right)] {
        if let Some(value) = call.constant(at)
            && fits(value, this, other)
        {
            return of_type(other);
        }
    }
    if left.is_float() != right.is_float() {
        let integer = if left.is_float() { &right } else { &left };
        return Ok(if integer.fixed_width_bytes() == Some(8) { Way::Exact } else { Way::As(DataType::Float64) });
    }
    match least_supertype(&[left, right]) {
        Ok(common) => of_type(&common),
        Err(_) => Ok(Way::Exact),
    }
}

fn beside_string(call: &Call<'_>, at: usize, string: &DataType, other: &DataType) -> Result<Way> {
    if let Some(value) = call.constant(at) {
        let options = CastOptions::new(CastMode::Plain, call.session_zone()?);
        return match exact_value(value, string, other, &options)? {
            Some(_) => of_type(other),
            None if call.name == "notEquals" && matches!(other, DataType::Enum8(_) | DataType::Enum16(_)) => {
                cast_value(value, string, other, &options).map(|_| Way::Never)
            }
            None => Ok(Way::Never),
        };
    }
    match other {
        DataType::Enum8(_) | DataType::Enum16(_) => Ok(Way::As(DataType::String)),
        DataType::DateTime64(..) => Err(illegal(call)),
        _ => Err(Error::new(ErrorCode::NO_COMMON_TYPE, format!("There is no supertype for types {string}, {other}"))),
    }
}

/// Whether a constant is exactly one of another type's values: then the column beside it need not be converted.
fn fits(value: &Value, from: &DataType, to: &DataType) -> bool {
    let options = CastOptions::new(CastMode::Accurate, squall_types::calendar::TimeZone::utc());
    cast_value(value, from, to, &options).is_ok()
}

fn of_type(data_type: &DataType) -> Result<Way> {
    Ok(match data_type {
        _ if data_type.physical().rank().is_some() => Way::Ranked(data_type.clone()),
        nested if nested.is_nested() => Way::Rows(data_type.clone()),
        _ => Way::As(data_type.clone()),
    })
}

/// The comparison of every row as 0 or 1.
fn compare(
    way: &Way,
    comparison: Comparison,
    left: &Column,
    right: &Column,
    rows: usize,
    options: &CastOptions,
) -> Result<Vec<u8>> {
    match way {
        Way::Bytes => {
            let columns = [left.clone(), right.clone()];
            Ok(strings(comparison, Strings::of(&columns, 0)?, Strings::of(&columns, 1)?, rows))
        }
        Way::As(common) => {
            let columns = [in_common(left, common, options)?, in_common(right, common, options)?];
            squall_types::match_primitive!(columns[0].array().data_type(), T => {
                Ok(numbers::<T>(comparison, Numbers::<T>::of(&columns, 0)?, Numbers::<T>::of(&columns, 1)?, rows))
            }, _ => Ok(strings(comparison, Strings::of(&columns, 0)?, Strings::of(&columns, 1)?, rows)))
        }
        Way::Wide => {
            if let Some((left, right)) = wide_comparison::in_64_bits(left, right)? {
                return Ok(numbers::<Int64Type>(comparison, left.numbers(), right.numbers(), rows));
            }
            let orders = wide_comparison::orders(left, right, rows)?;
            Ok(orders.into_iter().map(|order| u8::from(comparison.holds(order))).collect())
        }
        Way::Ranked(common) => {
            let columns = [in_common(left, common, options)?, in_common(right, common, options)?];
            let (left, right) = (Strings::of(&columns, 0)?, Strings::of(&columns, 1)?);
            if matches!(comparison, Comparison::Equals | Comparison::NotEquals) {
                return Ok(strings(comparison, left, right, rows));
            }
            let rank = common.physical().rank().ok_or_else(|| Error::logical("no ranks"))?;
            let order = |row| rank(left.get(row)).cmp(&rank(right.get(row)));
            Ok((0..rows).map(|row| u8::from(comparison.holds(order(row)))).collect())
        }
        Way::Never => Ok(vec![u8::from(comparison == Comparison::NotEquals); rows]),
        Way::Exact => exact(comparison, left, right, rows),
        Way::Rows(common) => {
            let (left, right) = (cast(left, common, options)?, cast(right, common, options)?);
            let order = row_order(&left, &right)?;
            let at = |column: &Column, row| if column.is_constant() { 0 } else { row };
            Ok((0..rows).map(|row| u8::from(comparison.holds(order(at(&left, row), at(&right, row))))).collect())
        }
    }
}

/// A column as the common type: what is stored alike is not converted.
fn in_common(column: &Column, common: &DataType, options: &CastOptions) -> Result<Column> {
    let from = column.data_type();
    if from == common || stored_as(from) == *common {
        return Ok(column.clone());
    }
    // Enums and the like beside numbers are their numbers.
    if !from.is_string_or_fixed_string() && common.is_number() && is_numeric(from) {
        return cast(&column.clone().with_type(stored_as(from)), common, options);
    }
    if is_numeric(from) && from.is_integer() && stored_as(common) != *common && !common.is_date_or_time() {
        return cast(column, &stored_as(common), options);
    }
    cast(column, common, options)
}

fn numbers<T: ArrowPrimitiveType>(
    comparison: Comparison,
    left: Numbers<'_, T>,
    right: Numbers<'_, T>,
    rows: usize,
) -> Vec<u8> {
    match comparison {
        Comparison::Equals => map2(left, right, rows, |l: T::Native, r: T::Native| u8::from(l == r)),
        Comparison::NotEquals => map2(left, right, rows, |l: T::Native, r: T::Native| u8::from(l != r)),
        Comparison::Less => map2(left, right, rows, |l: T::Native, r: T::Native| u8::from(l < r)),
        Comparison::LessOrEquals => map2(left, right, rows, |l: T::Native, r: T::Native| u8::from(l <= r)),
        Comparison::Greater => map2(right, left, rows, |l: T::Native, r: T::Native| u8::from(l < r)),
        Comparison::GreaterOrEquals => map2(right, left, rows, |l: T::Native, r: T::Native| u8::from(l <= r)),
    }
}

fn strings(comparison: Comparison, left: Strings<'_>, right: Strings<'_>, rows: usize) -> Vec<u8> {
    let is_padded = matches!(left, Strings::Fixed(_)) || matches!(right, Strings::Fixed(_));
    match (comparison, left, right) {
        (Comparison::Equals | Comparison::NotEquals, Strings::Varying(column), Strings::Constant(constant))
        | (Comparison::Equals | Comparison::NotEquals, Strings::Constant(constant), Strings::Varying(column))
            if constant.last() != Some(&0) =>
        {
            let wanted = u8::from(comparison == Comparison::Equals);
            if constant.is_empty() {
                let offsets = column.value_offsets();
                return offsets.windows(2).map(|pair| u8::from(pair[0] == pair[1]) ^ wanted ^ 1).collect();
            }
            let (data, word) = (column.value_data(), beginning(constant));
            let rest = constant.get(BEGINNING_BYTES..).unwrap_or_default();
            beginnings::of_each(column, |found| {
                // Most strings that differ do so here, which takes no branch for each of the two.
                let is_alike = (found.length == constant.len()) & (found.word == word);
                let rest_start = found.start + constant.len() - rest.len();
                let is_equal =
                    is_alike && data.get(rest_start..rest_start + rest.len()).is_some_and(|part| are_equal(part, rest));
                u8::from(is_equal) ^ wanted ^ 1
            })
        }
        (Comparison::Equals, ..) if !is_padded => {
            (0..rows).map(|row| u8::from(left.get(row) == right.get(row))).collect()
        }
        (Comparison::NotEquals, ..) if !is_padded => {
            (0..rows).map(|row| u8::from(left.get(row) != right.get(row))).collect()
        }
        _ => (0..rows).map(|row| u8::from(comparison.holds(padded_order(left.get(row), right.get(row))))).collect(),
    }
}

/// The order of two strings as if the shorter were filled up with zeros.
fn padded_order(left: &[u8], right: &[u8]) -> Ordering {
    let common = left.len().min(right.len());
    let (left_start, left_rest) = left.split_at(common);
    let (right_start, right_rest) = right.split_at(common);
    left_start.cmp(right_start).then_with(|| {
        let any = |rest: &[u8]| rest.iter().any(|byte| *byte != 0);
        any(left_rest).cmp(&any(right_rest))
    })
}

/// A number as widely as needed to compare exactly.
#[derive(Clone, Copy)]
enum Wide {
    Integer(i128),
    Float(f64),
}

impl Wide {
    /// The order; `None` beside NaN.
    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(&right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            (Self::Integer(left), Self::Float(right)) => integer_with_float(left, right),
            (Self::Float(left), Self::Integer(right)) => integer_with_float(right, left).map(Ordering::reverse),
        }
    }
}

fn integer_with_float(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // 64-bit integers lie far within ±1e20, so that the whole part is exact as an integer.
    let whole = float.trunc().clamp(-1e20, 1e20) as i128;
    Some(integer.cmp(&whole).then_with(|| 0.0f64.partial_cmp(&(float - float.trunc())).unwrap_or(Ordering::Equal)))
}

/// 64-bit integers of the other sign, and 64-bit integers with floats.
fn exact(comparison: Comparison, left: &Column, right: &Column, rows: usize) -> Result<Vec<u8>> {
    let widened = |column: &Column| -> Result<Vec<Wide>> {
        let columns = [match column.data_type().is_float() {
            true => cast(column, &DataType::Float64, &CastOptions::default())?,
            false if column.array().data_type() == &arrow_schema::DataType::UInt64 => column.clone(),
            false => {
                let stored = column.clone().with_type(stored_as(column.data_type()));
                cast(&stored, &DataType::Int64, &CastOptions::default())?
            }
        }];
        fn all<T: ArrowPrimitiveType>(
            columns: &[Column],
            rows: usize,
            wide: impl Fn(T::Native) -> Wide,
        ) -> Result<Vec<Wide>> {
            Ok(match Numbers::<T>::of(columns, 0)? {
                Numbers::Varying(values) => values.iter().map(|value| wide(*value)).collect(),
                Numbers::Constant(value) => vec![wide(value); rows],
            })
        }
        match columns[0].array().data_type() {
            arrow_schema::DataType::Float64 => all::<Float64Type>(&columns, rows, Wide::Float),
            arrow_schema::DataType::UInt64 => all::<UInt64Type>(&columns, rows, |value| Wide::Integer(value.into())),
            _ => all::<Int64Type>(&columns, rows, |value| Wide::Integer(value.into())),
        }
    };
    let (left, right) = (widened(left)?, widened(right)?);
    let holds = |order: Option<Ordering>| match order {
        Some(order) => comparison.holds(order),
        None => comparison == Comparison::NotEquals,
    };
    Ok(left.iter().zip(&right).map(|(left, right)| u8::from(holds(left.order(*right)))).collect())
}

/// Tuples: element by element with the functions for elements, so that NULLs inside count as they do outside.
fn tuples(call: &Call<'_>, comparison: Comparison) -> Bound {
    let (DataType::Tuple(left), DataType::Tuple(right)) = (call.type_of(0), call.type_of(1)) else {
        return Err(illegal(call));
    };
    let resolve_element = |name: &str, at: usize| -> Bound {
        let element = |side: usize, tuple: &Arc<[squall_types::TupleElement]>| {
            let element = tuple.get(at).ok_or_else(|| Error::logical("tuple element"))?;
            let constant = match call.constant(side) {
                Some(Value::Tuple(items)) => items.get(at).cloned(),
                _ => None,
            };
            Ok::<_, Error>(Argument { data_type: element.data_type.clone(), constant })
        };
        resolve_scalar(name, &[element(0, left)?, element(1, right)?], call.context)
    };
    let count = left.len();
    let (strict, last) = match comparison {
        Comparison::Less | Comparison::LessOrEquals => (Some("less"), comparison.function()),
        Comparison::Greater | Comparison::GreaterOrEquals => (Some("greater"), comparison.function()),
        _ => (None, comparison.function()),
    };
    let mut steps = Vec::with_capacity(count);
    for at in 0..count {
        let is_last = at + 1 == count;
        steps.push(match strict {
            None => (resolve_element(last, at)?, None),
            Some(_) if is_last => (resolve_element(last, at)?, None),
            Some(strict) => (resolve_element(strict, at)?, Some(resolve_element("equals", at)?)),
        });
    }
    let is_unknown = |function: &Arc<dyn BoundFunction>| *function.return_type().inner() == DataType::Nothing;
    if steps.iter().any(|(step, _)| is_unknown(step)) {
        // Beside a literal NULL nothing is known, whatever the other elements are.
        return call.bind(DataType::UInt8.to_nullable(), |_, rows| {
            Column::constant(DataType::UInt8.to_nullable(), &Value::Null, rows)
        });
    }
    let joined = Joined::new(steps.iter().any(|(step, _)| step.return_type().is_nullable()), call.context)?;
    let return_type = joined.return_type.clone();
    call.bind(return_type, move |arguments, rows| {
        let (left, right) = (elements(argument(arguments, 0)?)?, elements(argument(arguments, 1)?)?);
        let mut result: Option<Column> = None;
        for (at, (step, equals)) in steps.iter().enumerate().rev() {
            let (Some(left), Some(right)) = (left.get(at), right.get(at)) else {
                return Err(Error::logical("tuple element"));
            };
            let pair = [left.clone(), right.clone()];
            let holds = step.execute(&pair, rows)?;
            result = Some(match (result, equals) {
                (None, _) => holds,
                (Some(rest), None) => joined.execute(comparison, holds, rest, rows)?,
                // Less in this element, or equal in it and less in the rest.
                (Some(rest), Some(equals)) => {
                    let rest = joined.and.execute(&[equals.execute(&pair, rows)?, rest], rows)?;
                    joined.or.execute(&[holds, rest], rows)?
                }
            });
        }
        let constant =
            u8::from(matches!(comparison, Comparison::Equals | Comparison::LessOrEquals | Comparison::GreaterOrEquals));
        let result = result.unwrap_or_else(|| bytes_column(vec![constant; rows]));
        cast(&result, &joined.return_type, &CastOptions::default())
    })
}

/// `and` and `or` for the types that comparing elements gives.
struct Joined {
    and: Arc<dyn BoundFunction>,
    or: Arc<dyn BoundFunction>,
    return_type: DataType,
}

impl Joined {
    fn new(is_nullable: bool, context: &FunctionContext) -> Result<Self> {
        let return_type = if is_nullable { DataType::UInt8.to_nullable() } else { DataType::UInt8 };
        let arguments = [Argument::of(return_type.clone()), Argument::of(return_type.clone())];
        Ok(Self {
            and: resolve_scalar("and", &arguments, context)?,
            or: resolve_scalar("or", &arguments, context)?,
            return_type,
        })
    }

    fn execute(&self, comparison: Comparison, left: Column, right: Column, rows: usize) -> Result<Column> {
        let function = if comparison == Comparison::NotEquals { &self.or } else { &self.and };
        function.execute(&[left, right], rows)
    }
}

/// The elements of a tuple column as columns.
fn elements(tuple: &Column) -> Result<Vec<Column>> {
    super::tuple::elements(tuple)
}

/// `isNotDistinctFrom`: equality for which NULL equals NULL.
fn distinct(call: &Call<'_>, is_negated: bool) -> Bound {
    call.arguments(2..=2)?;
    if let (DataType::Tuple(left), DataType::Tuple(right)) = (call.type_of(0), call.type_of(1))
        && left.len() == right.len()
    {
        return distinct_tuples(call, is_negated);
    }
    let equals = resolve_scalar("equals", call.arguments, call.context)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (left, right) = (argument(arguments, 0)?.materialize()?, argument(arguments, 1)?.materialize()?);
        let is_null = |column: &Column, row: usize| {
            column.array().is_null(row) || column.data_type().inner() == &DataType::Nothing
        };
        let equal = equals.execute(&[left.clone(), right.clone()], rows)?.without_low_cardinality()?.materialize()?;
        let rows = (0..rows).map(|row| {
            let same = match (is_null(&left, row), is_null(&right, row)) {
                (false, false) => equal.value(row).as_u64() == Some(1),
                (left, right) => left && right,
            };
            u8::from(same != is_negated)
        });
        Ok(bytes_column(rows.collect()))
    })
}

/// Tuples are the same where all their elements are.
fn distinct_tuples(call: &Call<'_>, is_negated: bool) -> Bound {
    let (DataType::Tuple(left), DataType::Tuple(right)) = (call.type_of(0), call.type_of(1)) else {
        return Err(illegal(call));
    };
    let same = left.iter().zip(right.iter()).map(|(left, right)| {
        let pair = [Argument::of(left.data_type.clone()), Argument::of(right.data_type.clone())];
        resolve_scalar("isNotDistinctFrom", &pair, call.context)
    });
    let same = same.collect::<Result<Vec<_>>>()?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (left, right) = (elements(argument(arguments, 0)?)?, elements(argument(arguments, 1)?)?);
        let mut all = vec![1; rows];
        for ((same, left), right) in same.iter().zip(left).zip(right) {
            let same = same.execute(&[left, right], rows)?.without_low_cardinality()?.materialize()?;
            all.iter_mut().enumerate().for_each(|(row, all)| *all &= u8::from(same.value(row).as_u64() == Some(1)));
        }
        all.iter_mut().for_each(|all| *all ^= u8::from(is_negated));
        Ok(bytes_column(all))
    })
}
