//! Values of any type as functions like `min`, `any` and `groupArray` see them: read from a column's row, kept, compared, written
//! back as a column. One implementation for each kind of Arrow array; `with_element!` picks it.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrowPrimitiveType, BinaryArray, FixedSizeBinaryArray};
use squall_types::{
    Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value, checkpoint, default_value, grow, uuid_rank,
    vectorized,
};

use super::state_bytes::{Raw, put_string, put_value, take_bytes, take_string, take_value, turn_fixed};

/// One kind of values.
pub(in crate::aggregate) trait Element: Debug + Send + Sync + 'static {
    /// A column's values.
    type Rows<'a>: Copy;
    /// A value still in its column.
    type Ref<'a>: Copy;
    /// A value kept.
    type Owned: Send + Clone + 'static;
    /// Values of a column that grows.
    type Items: Default + Clone + Send + 'static;

    /// Whether values that are kept hold memory outside themselves.
    const HAS_HEAP: bool = true;

    fn rows(column: &Column) -> Result<Self::Rows<'_>>;
    fn get<'a>(rows: &Self::Rows<'a>, row: usize) -> Self::Ref<'a>;
    fn own(value: Self::Ref<'_>) -> Self::Owned;
    fn as_ref(value: &Self::Owned) -> Self::Ref<'_>;
    /// Whether a value is greater (or less) than the best so far. Neither NULL nor NaN ever is; anything else is better than these.
    fn replaces(value: Self::Ref<'_>, best: Self::Ref<'_>, greatest: bool) -> bool;
    /// The least (or greatest) of rows `0..count` that is not NaN, where that can be found faster than by comparing one by one.
    fn extreme<'a>(_rows: &Self::Rows<'a>, _count: usize, _greatest: bool) -> Option<Self::Ref<'a>> {
        None
    }
    /// The value of a group without rows.
    fn default(data_type: &DataType) -> Self::Owned;
    fn column(data_type: &DataType, values: impl ExactSizeIterator<Item = Self::Owned>) -> Result<Column>;
    /// Makes room in a column that grows for as many values in all, and bytes that they hold outside of themselves.
    fn make_room(items: &mut Self::Items, values: usize, heap_bytes: usize) -> Result<()>;
    /// Appends values to a column that grows.
    fn append(items: &mut Self::Items, values: Vec<Self::Owned>) -> Result<()>;
    /// Appends another column that grows.
    fn extend(items: &mut Self::Items, more: Self::Items) -> Result<()>;
    /// The column that has grown.
    fn build(data_type: &DataType, items: Self::Items) -> Result<Column>;
    /// Appends a value of this type as `RowBinary` has it.
    fn write(data_type: &DataType, value: &Self::Owned, out: &mut Vec<u8>) -> Result<()>;
    /// Takes a value from the front of `bytes`.
    fn read(data_type: &DataType, bytes: &mut &[u8]) -> Result<Self::Owned>;
    /// Appends the state of functions that keep one value or none: whether there is one, and the value.
    fn write_one(data_type: &DataType, value: Option<&Self::Owned>, out: &mut Vec<u8>) -> Result<()> {
        out.push(u8::from(value.is_some()));
        value.map_or(Ok(()), |value| Self::write(data_type, value, out))
    }
    /// Takes what [`write_one`](Self::write_one) wrote.
    fn read_one(data_type: &DataType, bytes: &mut &[u8]) -> Result<Option<Self::Owned>> {
        match u8::take(bytes)? {
            0 => Ok(None),
            _ => Self::read(data_type, bytes).map(Some),
        }
    }
    /// Bytes outside the value itself.
    fn heap_bytes(_value: &Self::Owned) -> usize {
        0
    }
}

/// The best of values, or the bound where none is better; NaN is never better.
#[inline]
fn best_of<N: Copy>(values: &[N], bound: N, is_better: impl Fn(N, N) -> bool + Copy) -> N {
    // Selects without branches are minimum and maximum instructions. Those of floats may not change their order, so there are several chains.
    const CHAINS: usize = 16;
    let better = |best: N, value: N| if is_better(value, best) { value } else { best };
    vectorized(|| {
        let (together, rest) = values.as_chunks::<CHAINS>();
        let mut best = [bound; CHAINS];
        for values in together {
            for (best, value) in best.iter_mut().zip(values) {
                *best = better(*best, *value);
            }
        }
        best.iter().chain(rest).fold(bound, |best, value| better(best, *value))
    })
}

/// Numbers, dates and whatever else is stored as one.
#[derive(Debug)]
pub(in crate::aggregate) struct Primitive<T>(PhantomData<T>);

impl<T: ArrowPrimitiveType + Debug + Send + Sync> Element for Primitive<T>
where
    T::Native: PartialOrd + Bounded,
{
    type Rows<'a> = &'a [T::Native];
    type Ref<'a> = T::Native;
    type Owned = T::Native;
    type Items = Vec<T::Native>;

    const HAS_HEAP: bool = false;

    fn rows(column: &Column) -> Result<Self::Rows<'_>> {
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn get<'a>(rows: &Self::Rows<'a>, row: usize) -> Self::Ref<'a> {
        rows[row]
    }

    #[inline]
    fn own(value: Self::Ref<'_>) -> Self::Owned {
        value
    }

    #[inline]
    fn as_ref(value: &Self::Owned) -> Self::Ref<'_> {
        *value
    }

    #[inline]
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    fn replaces(value: Self::Ref<'_>, best: Self::Ref<'_>, greatest: bool) -> bool {
        let is_better = if greatest { value > best } else { value < best };
        // NaN compares as false, so that it never replaces and is asked about only when it is in place.
        is_better || best != best && value == value
    }

    fn extreme<'a>(rows: &Self::Rows<'a>, count: usize, greatest: bool) -> Option<Self::Ref<'a>> {
        let rows = rows.get(..count)?;
        let (bound, found) = match greatest {
            true => (T::Native::LEAST, best_of(rows, T::Native::LEAST, |value, best| value > best)),
            false => (T::Native::GREATEST, best_of(rows, T::Native::GREATEST, |value, best| value < best)),
        };
        // The bound itself may be a value, or mean that there was none but NaN.
        (found != bound).then_some(found)
    }

    fn default(data_type: &DataType) -> Self::Owned {
        match default_value(data_type).as_i64() {
            Some(number) => T::Native::from_small(number),
            None => T::Native::from_small(0),
        }
    }

    fn write(_: &DataType, value: &Self::Owned, out: &mut Vec<u8>) -> Result<()> {
        value.put(out);
        Ok(())
    }

    fn read(_: &DataType, bytes: &mut &[u8]) -> Result<Self::Owned> {
        Raw::take(bytes)
    }

    fn column(data_type: &DataType, values: impl ExactSizeIterator<Item = Self::Owned>) -> Result<Column> {
        Ok(Column::from_primitive::<T>(data_type.clone(), values.collect()))
    }

    fn make_room(items: &mut Self::Items, values: usize, _: usize) -> Result<()> {
        let more = values.saturating_sub(items.len());
        grow(items, more)
    }

    fn append(items: &mut Self::Items, values: Vec<Self::Owned>) -> Result<()> {
        checkpoint(values.len())?;
        grow(items, values.len())?;
        items.extend(values);
        Ok(())
    }

    fn extend(items: &mut Self::Items, more: Self::Items) -> Result<()> {
        Self::append(items, more)
    }

    fn build(data_type: &DataType, items: Self::Items) -> Result<Column> {
        Ok(Column::from_primitive::<T>(data_type.clone(), items))
    }
}

/// The ends of a number's range, and defaults in it.
pub(in crate::aggregate) trait Bounded: Raw {
    const LEAST: Self;
    const GREATEST: Self;
    /// A default value: 0, or the first number of an enum, which always fits.
    fn from_small(number: i64) -> Self;
}

macro_rules! bounded {
    ($($integer:ty),*; $($float:ty),*) => {
        $(impl Bounded for $integer {
            const LEAST: Self = <$integer>::MIN;
            const GREATEST: Self = <$integer>::MAX;
            fn from_small(number: i64) -> Self {
                number as Self
            }
        })*
        $(impl Bounded for $float {
            const LEAST: Self = <$float>::NEG_INFINITY;
            const GREATEST: Self = <$float>::INFINITY;
            fn from_small(number: i64) -> Self {
                number as Self
            }
        })*
    };
}

bounded!(u8, u16, u32, u64, i8, i16, i32, i64; f32, f64);

/// Strings one behind the other.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Strings {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Strings {
    fn push(&mut self, string: &[u8]) -> Result<()> {
        checkpoint(16 + string.len())?;
        grow(&mut self.bytes, string.len())?;
        self.bytes.extend_from_slice(string);
        self.ends.push(i32::try_from(self.bytes.len()).map_err(|_| {
            Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one aggregate's results")
        })?);
        Ok(())
    }
}

/// `String`.
#[derive(Debug)]
pub(in crate::aggregate) struct Bytes;

impl Element for Bytes {
    type Rows<'a> = &'a BinaryArray;
    type Ref<'a> = &'a [u8];
    type Owned = Box<[u8]>;
    type Items = Strings;

    fn rows(column: &Column) -> Result<Self::Rows<'_>> {
        column.as_binary()
    }

    #[inline]
    fn get<'a>(rows: &Self::Rows<'a>, row: usize) -> Self::Ref<'a> {
        rows.value(row)
    }

    fn own(value: Self::Ref<'_>) -> Self::Owned {
        value.into()
    }

    #[inline]
    fn as_ref(value: &Self::Owned) -> Self::Ref<'_> {
        value
    }

    #[inline]
    fn replaces(value: Self::Ref<'_>, best: Self::Ref<'_>, greatest: bool) -> bool {
        if greatest { value > best } else { value < best }
    }

    fn default(_data_type: &DataType) -> Self::Owned {
        Box::default()
    }

    fn write(_: &DataType, value: &Self::Owned, out: &mut Vec<u8>) -> Result<()> {
        put_string(value, out);
        Ok(())
    }

    fn read(_: &DataType, bytes: &mut &[u8]) -> Result<Self::Owned> {
        take_string(bytes).map(Into::into)
    }

    /// The length with a zero byte behind the string, in 32 bits; -1 for none.
    fn write_one(_: &DataType, value: Option<&Self::Owned>, out: &mut Vec<u8>) -> Result<()> {
        let Some(value) = value else {
            (-1_i32).put(out);
            return Ok(());
        };
        let length = value.len().checked_add(1).and_then(|length| i32::try_from(length).ok());
        let too_long = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "A state of more than 2 GiB");
        length.ok_or_else(too_long)?.put(out);
        out.extend_from_slice(value);
        out.push(0);
        Ok(())
    }

    fn read_one(_: &DataType, bytes: &mut &[u8]) -> Result<Option<Self::Owned>> {
        match usize::try_from(i32::take(bytes)?) {
            Err(_) => Ok(None),
            Ok(length) => {
                let with_zero = take_bytes(bytes, length)?;
                Ok(Some(with_zero.split_last().map_or(&[][..], |(_, string)| string).into()))
            }
        }
    }

    fn column(data_type: &DataType, values: impl ExactSizeIterator<Item = Self::Owned>) -> Result<Column> {
        let mut strings = Strings { ends: Vec::with_capacity(values.len()), bytes: Vec::new() };
        for value in values {
            strings.push(&value)?;
        }
        Self::build(data_type, strings)
    }

    fn make_room(items: &mut Self::Items, values: usize, heap_bytes: usize) -> Result<()> {
        let more = values.saturating_sub(items.ends.len());
        grow(&mut items.ends, more)?;
        grow(&mut items.bytes, heap_bytes)
    }

    fn append(items: &mut Self::Items, values: Vec<Self::Owned>) -> Result<()> {
        values.into_iter().try_for_each(|value| items.push(&value))
    }

    fn extend(items: &mut Self::Items, more: Self::Items) -> Result<()> {
        let mut start = 0;
        more.ends
            .iter()
            .try_for_each(|&end| items.push(&more.bytes[std::mem::replace(&mut start, end as usize)..end as usize]))
    }

    fn build(data_type: &DataType, items: Self::Items) -> Result<Column> {
        let mut offsets: Vec<i32> = Vec::new();
        grow(&mut offsets, items.ends.len() + 1)?;
        offsets.push(0);
        offsets.extend(items.ends);
        let offsets = arrow_buffer::OffsetBuffer::new(offsets.into());
        Ok(Column::new(data_type.clone(), Arc::new(BinaryArray::try_new(offsets, items.bytes.into(), None)?)))
    }

    fn heap_bytes(value: &Self::Owned) -> usize {
        value.len()
    }
}

/// `FixedString`, `IPv6` and, in its own order, `UUID`.
#[derive(Debug)]
pub(in crate::aggregate) struct FixedBytes<const ORDER: u8>;

/// Orders of values of a fixed size: of their bytes, of UUIDs, of integers past 64 bits.
pub(in crate::aggregate) const BYTES: u8 = 0;
pub(in crate::aggregate) const UUIDS: u8 = 1;
pub(in crate::aggregate) const UNSIGNED: u8 = 2;
pub(in crate::aggregate) const SIGNED: u8 = 3;

impl<const ORDER: u8> Element for FixedBytes<ORDER> {
    type Rows<'a> = &'a FixedSizeBinaryArray;
    type Ref<'a> = &'a [u8];
    type Owned = Box<[u8]>;
    type Items = Vec<u8>;

    fn rows(column: &Column) -> Result<Self::Rows<'_>> {
        column.array().as_fixed_size_binary_opt().ok_or_else(|| Error::logical("not an array of fixed-size values"))
    }

    #[inline]
    fn get<'a>(rows: &Self::Rows<'a>, row: usize) -> Self::Ref<'a> {
        rows.value(row)
    }

    fn own(value: Self::Ref<'_>) -> Self::Owned {
        value.into()
    }

    #[inline]
    fn as_ref(value: &Self::Owned) -> Self::Ref<'_> {
        value
    }

    #[inline]
    fn replaces(value: Self::Ref<'_>, best: Self::Ref<'_>, greatest: bool) -> bool {
        let order = match ORDER {
            UUIDS => uuid_rank(value).cmp(&uuid_rank(best)),
            // From the most significant byte, which is the last one; the first bit of that is the sign.
            UNSIGNED => value.iter().rev().cmp(best.iter().rev()),
            SIGNED => {
                let sign = |bytes: &[u8]| bytes.last().is_some_and(|byte| *byte >> 7 == 1);
                sign(best).cmp(&sign(value)).then_with(|| value.iter().rev().cmp(best.iter().rev()))
            }
            _ => value.cmp(best),
        };
        if greatest { order.is_gt() } else { order.is_lt() }
    }

    fn default(data_type: &DataType) -> Self::Owned {
        vec![0; data_type.fixed_width_bytes().unwrap_or(0)].into()
    }

    fn write(data_type: &DataType, value: &Self::Owned, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.extend_from_slice(value);
        turn_fixed(data_type, &mut out[start..]);
        Ok(())
    }

    fn read(data_type: &DataType, bytes: &mut &[u8]) -> Result<Self::Owned> {
        let mut value: Box<[u8]> = take_bytes(bytes, data_type.fixed_width_bytes().unwrap_or(0))?.into();
        turn_fixed(data_type, &mut value);
        Ok(value)
    }

    fn column(data_type: &DataType, values: impl ExactSizeIterator<Item = Self::Owned>) -> Result<Column> {
        let mut bytes = Vec::new();
        grow(&mut bytes, values.len().saturating_mul(data_type.fixed_width_bytes().unwrap_or(0)))?;
        values.for_each(|value| bytes.extend_from_slice(&value));
        Self::build(data_type, bytes)
    }

    fn make_room(items: &mut Self::Items, _: usize, heap_bytes: usize) -> Result<()> {
        grow(items, heap_bytes)
    }

    fn append(items: &mut Self::Items, values: Vec<Self::Owned>) -> Result<()> {
        for value in values {
            checkpoint(16 + value.len())?;
            grow(items, value.len())?;
            items.extend_from_slice(&value);
        }
        Ok(())
    }

    fn extend(items: &mut Self::Items, more: Self::Items) -> Result<()> {
        grow(items, more.len())?;
        items.extend_from_slice(&more);
        Ok(())
    }

    fn build(data_type: &DataType, items: Self::Items) -> Result<Column> {
        let width = data_type.fixed_width_bytes().unwrap_or(0);
        let width = i32::try_from(width).unwrap_or(i32::MAX);
        Ok(Column::new(data_type.clone(), Arc::new(FixedSizeBinaryArray::try_new(width, items.into(), None)?)))
    }

    fn heap_bytes(value: &Self::Owned) -> usize {
        value.len()
    }
}

/// Arrays, tuples, maps and nullable values: slow, but complete.
#[derive(Debug)]
pub(in crate::aggregate) struct AnyValue;

/// A row of a column, or a value kept.
#[derive(Clone, Copy)]
pub(in crate::aggregate) enum AnyRef<'a> {
    Row(&'a Column, usize),
    Kept(&'a Value),
}

impl AnyRef<'_> {
    fn value(self) -> Value {
        match self {
            Self::Row(column, row) => column.value(row),
            Self::Kept(value) => value.clone(),
        }
    }
}

impl Element for AnyValue {
    type Rows<'a> = &'a Column;
    type Ref<'a> = AnyRef<'a>;
    type Owned = Value;
    type Items = Vec<Value>;

    fn rows(column: &Column) -> Result<Self::Rows<'_>> {
        Ok(column)
    }

    fn get<'a>(rows: &Self::Rows<'a>, row: usize) -> Self::Ref<'a> {
        AnyRef::Row(rows, row)
    }

    fn own(value: Self::Ref<'_>) -> Self::Owned {
        value.value()
    }

    fn as_ref(value: &Self::Owned) -> Self::Ref<'_> {
        AnyRef::Kept(value)
    }

    fn replaces(value: Self::Ref<'_>, best: Self::Ref<'_>, greatest: bool) -> bool {
        let (value, best) = (value.value(), best.value());
        if greatest {
            value.compare_with(&best, Ordering::Less).is_gt()
        } else {
            value.compare_with(&best, Ordering::Greater).is_lt()
        }
    }

    fn default(data_type: &DataType) -> Self::Owned {
        default_value(data_type)
    }

    fn write(data_type: &DataType, value: &Self::Owned, out: &mut Vec<u8>) -> Result<()> {
        put_value(value, data_type, out)
    }

    fn read(data_type: &DataType, bytes: &mut &[u8]) -> Result<Self::Owned> {
        take_value(bytes, data_type)
    }

    fn column(data_type: &DataType, values: impl ExactSizeIterator<Item = Self::Owned>) -> Result<Column> {
        let mut builder = ColumnBuilder::new(data_type.clone());
        for value in values {
            checkpoint(64 + Self::heap_bytes(&value))?;
            builder.append(&value)?;
        }
        builder.finish()
    }

    fn make_room(items: &mut Self::Items, values: usize, _: usize) -> Result<()> {
        let more = values.saturating_sub(items.len());
        grow(items, more)
    }

    fn append(items: &mut Self::Items, values: Vec<Self::Owned>) -> Result<()> {
        checkpoint(values.len() * 8)?;
        grow(items, values.len())?;
        items.extend(values);
        Ok(())
    }

    fn extend(items: &mut Self::Items, more: Self::Items) -> Result<()> {
        Self::append(items, more)
    }

    fn build(data_type: &DataType, items: Self::Items) -> Result<Column> {
        Self::column(data_type, items.into_iter())
    }

    fn heap_bytes(value: &Self::Owned) -> usize {
        match value {
            Value::String(bytes) => bytes.len(),
            Value::Array(items) | Value::Tuple(items) => {
                items.iter().map(|item| size_of::<Value>() + Self::heap_bytes(item)).sum()
            }
            Value::Map(entries) => entries.len() * 2 * size_of::<Value>(),
            _ => 0,
        }
    }
}

/// Evaluates an expression with `$element` as the [`Element`] of a data type's values.
macro_rules! with_element {
    ($data_type:expr, $element:ident => $result:expr) => {{
        use arrow_array::types as arrow_types;
        use arrow_schema::DataType as ArrowType;
        use squall_types::Physical;
        use $crate::aggregate::values::element::{self, AnyValue, Bytes, FixedBytes, Primitive};
        let data_type: &squall_types::DataType = $data_type;
        macro_rules! go {
            ($kind:ty) => {{
                type $element = $kind;
                $result
            }};
        }
        match data_type.arrow_type() {
            _ if data_type.is_nullable() => go!(AnyValue),
            ArrowType::UInt8 => go!(Primitive<arrow_types::UInt8Type>),
            ArrowType::UInt16 => go!(Primitive<arrow_types::UInt16Type>),
            ArrowType::UInt32 => go!(Primitive<arrow_types::UInt32Type>),
            ArrowType::UInt64 => go!(Primitive<arrow_types::UInt64Type>),
            ArrowType::Int8 => go!(Primitive<arrow_types::Int8Type>),
            ArrowType::Int16 => go!(Primitive<arrow_types::Int16Type>),
            ArrowType::Int32 => go!(Primitive<arrow_types::Int32Type>),
            ArrowType::Int64 => go!(Primitive<arrow_types::Int64Type>),
            ArrowType::Float32 => go!(Primitive<arrow_types::Float32Type>),
            ArrowType::Float64 => go!(Primitive<arrow_types::Float64Type>),
            ArrowType::Binary => go!(Bytes),
            ArrowType::FixedSizeBinary(_) => match data_type.physical() {
                Physical::Uuid => go!(FixedBytes<{ element::UUIDS }>),
                Physical::UInt128 | Physical::UInt256 => go!(FixedBytes<{ element::UNSIGNED }>),
                Physical::Int128 | Physical::Int256 => go!(FixedBytes<{ element::SIGNED }>),
                _ => go!(FixedBytes<{ element::BYTES }>),
            },
            _ => go!(AnyValue),
        }
    }};
}
pub(in crate::aggregate) use with_element;
