//! Columns written as messages by a plan. For each block the plan is bound to the columns' arrays, so that their types are looked at once a
//! block rather than once a value.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use squall_types::calendar::TimeZone;
use squall_types::integer::{I256, U256};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Integer, Result};

use crate::display::cells::{Cells, items, string};
use crate::protobuf::leaf::{Leaf, LeafKind, bare};
use crate::protobuf::number::Number;
use crate::protobuf::plan::{Message, Nested, Shape};
use crate::protobuf::wire::{GROUP, GROUP_END, Key, LENGTH, Scalar, put_with_length, set_length};
use crate::wire::put_varint;

/// A column of a list.
#[derive(Clone, Copy)]
pub(super) struct Bound<'a> {
    pub data_type: &'a DataType,
    pub array: &'a ArrayRef,
}

type WriteValue<'a> = Box<dyn FnMut(usize, &mut Vec<u8>) -> Result<()> + 'a>;

/// Writes the values of one field.
enum Writer<'a> {
    Value(WriteValue<'a>),
    Nullable { nulls: Option<&'a NullBuffer>, inner: Box<Writer<'a>> },
    LowCardinality { keys: &'a [u32], nulls: Option<&'a NullBuffer>, values: Box<Writer<'a>> },
    Repeated { offsets: &'a [i32], items: Box<Writer<'a>> },
    InOrder(Vec<Writer<'a>>),
    Message(Box<NestedWriter<'a>>),
}

/// Writes the fields of a message.
pub(super) struct MessageWriter<'a> {
    fields: Vec<FieldWriter<'a>>,
}

struct FieldWriter<'a> {
    /// What stands before values that are written as one.
    pack: Option<Key>,
    writer: Writer<'a>,
}

/// Writes a message in a field.
struct NestedWriter<'a> {
    key: Key,
    /// What ends a group.
    group_end: Option<Key>,
    skips_empty: bool,
    /// Rows that have no message around their value.
    nulls: Option<&'a NullBuffer>,
    message: MessageWriter<'a>,
}

fn bad_array(data_type: &DataType) -> Error {
    Error::logical(format!("an array of another type than {data_type}"))
}

impl<'a> MessageWriter<'a> {
    /// Binds a plan to columns.
    pub fn new(message: &'a Message, columns: &[Bound<'a>], zone: &TimeZone) -> Result<Self> {
        let fields = message.fields.iter().map(|field| {
            let column = |place: usize| columns.get(place).copied().ok_or_else(|| Error::logical("a column less"));
            let writer = match &field.shape {
                Shape::Columns(nested) => {
                    let first = field.columns.first().map(|place| column(*place)).transpose()?;
                    Writer::Message(Box::new(NestedWriter::new(nested, columns, first, zone)?))
                }
                Shape::Items(nested) => {
                    let mut inner = columns.to_vec();
                    let mut offsets: Option<&'a [i32]> = None;
                    for place in &field.columns {
                        let bound = column(*place)?;
                        let (own, items) = array(bound)?;
                        if offsets.is_some_and(|offsets| !have_same_lengths(offsets, own)) {
                            return Err(Error::new(
                                ErrorCode::PROTOBUF_BAD_CAST,
                                format!(
                                    "Columns of the messages of field {} are supposed to have equal offsets",
                                    field.number
                                ),
                            ));
                        }
                        offsets = offsets.or(Some(own));
                        if let Some(slot) = inner.get_mut(*place) {
                            *slot = items;
                        }
                    }
                    let first = field.columns.first().and_then(|place| inner.get(*place)).copied();
                    let items = Box::new(Writer::Message(Box::new(NestedWriter::new(nested, &inner, first, zone)?)));
                    Writer::Repeated { offsets: offsets.unwrap_or_default(), items }
                }
                shape => Writer::new(shape, column(field.column())?, field.is_packed, zone)?,
            };
            Ok(FieldWriter { pack: field.is_packed.then(|| Key::new(field.number, LENGTH)), writer })
        });
        Ok(Self { fields: fields.collect::<Result<_>>()? })
    }

    /// Appends the fields of a row.
    #[inline]
    pub fn write(&mut self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        for field in &mut self.fields {
            let Some(key) = field.pack else {
                match &mut field.writer {
                    Writer::Value(write) => write(row, out)?,
                    writer => writer.write(row, out)?,
                }
                continue;
            };
            let start = out.len();
            key.put(out);
            let at = out.len();
            out.push(0);
            field.writer.write(row, out)?;
            if out.len() == at + 1 {
                out.truncate(start);
            } else {
                set_length(out, at);
            }
        }
        Ok(())
    }
}

/// Columns of one message need not begin at the same item.
fn have_same_lengths(left: &[i32], right: &[i32]) -> bool {
    // Those that do are written by the offsets of the first.
    left == right
}

/// The ends and the items of arrays.
fn array(bound: Bound<'_>) -> Result<(&[i32], Bound<'_>)> {
    let DataType::Array(item) = bare(bound.data_type) else { return Err(bad_array(bound.data_type)) };
    let list = bound.array.as_list_opt::<i32>().ok_or_else(|| bad_array(bound.data_type))?;
    Ok((list.value_offsets(), Bound { data_type: item, array: list.values() }))
}

impl<'a> NestedWriter<'a> {
    fn new(nested: &'a Nested, columns: &[Bound<'a>], first: Option<Bound<'a>>, zone: &TimeZone) -> Result<Self> {
        let wire = if nested.is_group { GROUP } else { LENGTH };
        let nulls = first.filter(|_| nested.is_wrapper).and_then(|bound| match bare(bound.data_type) {
            DataType::Nullable(_) => bound.array.nulls(),
            DataType::LowCardinality(_) => {
                bound.array.as_dictionary_opt::<UInt32Type>().and_then(|dictionary| dictionary.keys().nulls())
            }
            _ => None,
        });
        Ok(Self {
            key: Key::new(nested.number, wire),
            group_end: nested.is_group.then(|| Key::new(nested.number, GROUP_END)),
            skips_empty: nested.skips_empty,
            nulls,
            message: MessageWriter::new(&nested.message, columns, zone)?,
        })
    }

    fn write(&mut self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        self.key.put(out);
        let at = out.len();
        if self.group_end.is_none() {
            out.push(0);
        }
        let content = out.len();
        self.message.write(row, out)?;
        let is_null = self.nulls.is_some_and(|nulls| nulls.is_null(row));
        if out.len() == content && (self.skips_empty || is_null) {
            out.truncate(start);
            return Ok(());
        }
        match self.group_end {
            Some(end) => end.put(out),
            None => set_length(out, at),
        }
        Ok(())
    }
}

impl<'a> Writer<'a> {
    fn new(shape: &'a Shape, bound: Bound<'a>, is_packed: bool, zone: &TimeZone) -> Result<Self> {
        let data_type = bare(bound.data_type);
        let bad = || bad_array(data_type);
        let make = |shape: &'a Shape, data_type: &'a DataType, array: &'a ArrayRef| {
            Self::new(shape, Bound { data_type, array }, is_packed, zone).map(Box::new)
        };
        Ok(match (shape, data_type) {
            (Shape::Leaf(leaf), _) => Self::Value(value(leaf, bound, is_packed, zone)?),
            (Shape::Nullable(shape), DataType::Nullable(inner)) => {
                Self::Nullable { nulls: bound.array.nulls(), inner: make(shape, inner, bound.array)? }
            }
            (Shape::LowCardinality(shape), DataType::LowCardinality(inner)) => {
                let dictionary = bound.array.as_dictionary_opt::<UInt32Type>().ok_or_else(bad)?;
                let inner = match &**inner {
                    DataType::Nullable(inner) => inner,
                    inner => inner,
                };
                Self::LowCardinality {
                    keys: dictionary.keys().values(),
                    nulls: dictionary.keys().nulls(),
                    values: make(shape, inner, dictionary.values())?,
                }
            }
            (Shape::Repeated(shape), DataType::Array(_)) => {
                let (offsets, items) = array(bound)?;
                Self::Repeated { offsets, items: make(shape, items.data_type, items.array)? }
            }
            (Shape::Map(nested), DataType::Map(key, value)) => {
                let list = bound.array.as_list_opt::<i32>().ok_or_else(bad)?;
                let [keys, values] = list.values().as_struct_opt().ok_or_else(bad)?.columns() else {
                    return Err(bad());
                };
                let columns = [Bound { data_type: key, array: keys }, Bound { data_type: value, array: values }];
                let entries = NestedWriter::new(nested, &columns, None, zone)?;
                Self::Repeated { offsets: list.value_offsets(), items: Box::new(Self::Message(Box::new(entries))) }
            }
            (Shape::InOrder(shapes), DataType::Tuple(elements)) => {
                let columns = bound.array.as_struct_opt().ok_or_else(bad)?.columns();
                let elements = shapes.iter().zip(elements.iter()).zip(columns);
                let elements = elements.map(|((shape, element), array)| {
                    Self::new(shape, Bound { data_type: &element.data_type, array }, is_packed, zone)
                });
                Self::InOrder(elements.collect::<Result<_>>()?)
            }
            (Shape::Tuple(nested), DataType::Tuple(elements)) => {
                let columns = bound.array.as_struct_opt().ok_or_else(bad)?.columns();
                let columns: Vec<Bound<'a>> = elements
                    .iter()
                    .zip(columns)
                    .map(|(element, array)| Bound { data_type: &element.data_type, array })
                    .collect();
                let first = columns.first().copied();
                Self::Message(Box::new(NestedWriter::new(nested, &columns, first, zone)?))
            }
            (Shape::Inside(nested), _) => {
                Self::Message(Box::new(NestedWriter::new(nested, &[bound], Some(bound), zone)?))
            }
            _ => return Err(bad()),
        })
    }

    fn write(&mut self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Value(write) => write(row, out),
            Self::Nullable { nulls, inner } => {
                if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                    return Ok(());
                }
                inner.write(row, out)
            }
            Self::LowCardinality { keys, nulls, values } => {
                if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                    return Ok(());
                }
                values.write(keys.get(row).copied().unwrap_or(0) as usize, out)
            }
            Self::Repeated { offsets, items: writer } => {
                for item in items(offsets, row) {
                    writer.write(item, out)?;
                }
                Ok(())
            }
            Self::InOrder(elements) => elements.iter_mut().try_for_each(|element| element.write(row, out)),
            Self::Message(nested) => nested.write(row, out),
        }
    }
}

/// Writes single values.
fn value<'a>(leaf: &'a Leaf, bound: Bound<'a>, is_packed: bool, zone: &TimeZone) -> Result<WriteValue<'a>> {
    let data_type = bare(bound.data_type);
    let key = if is_packed { Key::NONE } else { Key::new(leaf.number, leaf.scalar.wire()) };
    let cells = Cells::new(data_type, &**bound.array)?;
    let skips = leaf.skips_default;
    Ok(match (&leaf.kind, cells) {
        (LeafKind::String, Cells::String { offsets, bytes }) => text(leaf, key, move |row| string(offsets, bytes, row)),
        (LeafKind::FixedString(_) | LeafKind::IPv6, Cells::Fixed { bytes, width }) => {
            text(leaf, key, move |row| bytes.get(row * width..(row + 1) * width).unwrap_or_default())
        }
        (LeafKind::State, Cells::States { states, fresh }) => Box::new(move |row, out| {
            let state = match states.value(row) {
                [] => &fresh,
                state => state,
            };
            put_bytes(key, skips, state, out);
            Ok(())
        }),
        (LeafKind::Enum, Cells::Int8(values)) => enumeration(leaf, key, data_type, move |row| values[row].into()),
        (LeafKind::Enum, Cells::Int16(values)) => enumeration(leaf, key, data_type, move |row| values[row]),
        (_, cells) if leaf.scalar.is_bytes() => {
            // What has a text of its own; a Bool is a number here, and moments are in the zone of the query.
            let shown = match data_type {
                DataType::Bool => DataType::UInt8,
                DataType::DateTime64(digits, _) => DataType::DateTime64(*digits, None),
                DataType::Interval(_) => DataType::Int64,
                other => other.clone(),
            };
            drop(cells);
            let column = Column::new(shown, bound.array.clone());
            let mut writer = ValueWriter::new(&column, TextStyle::Plain, &TextOptions::in_zone(zone.clone()))?;
            let mut scratch = Vec::new();
            Box::new(move |row, out| {
                scratch.clear();
                writer.write(&mut scratch, row);
                put_bytes(key, skips, &scratch, out);
                Ok(())
            })
        }
        (LeafKind::Decimal { scale, .. } | LeafKind::DateTime64 { digits: scale }, cells) => {
            let scale = *scale;
            match cells {
                Cells::Int32(values) => decimal(leaf, key, scale, move |row| values[row])?,
                Cells::Int64(values) => decimal(leaf, key, scale, move |row| values[row])?,
                Cells::Fixed { bytes, width: 16 } => decimal(leaf, key, scale, move |row| at::<i128>(bytes, 16, row))?,
                Cells::Fixed { bytes, width } => decimal(leaf, key, scale, move |row| at::<I256>(bytes, width, row))?,
                _ => return Err(bad_array(data_type)),
            }
        }
        (_, Cells::UInt8(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::UInt16(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::UInt32(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::UInt64(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::Int8(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::Int16(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::Int32(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::Int64(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::Float32(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::Float64(values)) => number(leaf, key, move |row| values[row]),
        (_, Cells::Fixed { bytes, width }) => match data_type {
            DataType::Int128 => number(leaf, key, move |row| at::<i128>(bytes, width, row)),
            DataType::UInt128 => number(leaf, key, move |row| at::<u128>(bytes, width, row)),
            DataType::Int256 => number(leaf, key, move |row| at::<I256>(bytes, width, row)),
            DataType::UInt256 => number(leaf, key, move |row| at::<U256>(bytes, width, row)),
            _ => return Err(bad_array(data_type)),
        },
        _ => return Err(bad_array(data_type)),
    })
}

/// An integer of a wide column.
fn at<T: Integer>(bytes: &[u8], width: usize, row: usize) -> T {
    T::from_bytes(bytes.get(row * width..(row + 1) * width).unwrap_or_default())
}

#[inline]
fn put_bytes(key: Key, skips: bool, bytes: &[u8], out: &mut Vec<u8>) {
    if skips && bytes.is_empty() {
        return;
    }
    key.put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Writes numbers: `take` makes of each what the field holds, where that is possible, and `put` writes it behind the field's key.
fn made<'a, T: Shown + 'a, M: Copy + PartialEq + Default>(
    leaf: &'a Leaf,
    key: Key,
    at: impl Fn(usize) -> T + 'a,
    take: impl Fn(T) -> Option<M> + 'a,
    to: &'static str,
    put: impl Fn(Key, M, &mut Vec<u8>) + 'a,
) -> WriteValue<'a> {
    let skips = leaf.skips_default;
    Box::new(move |row, out| {
        let value = at(row);
        let Some(made) = take(value) else { return Err(refused(leaf, value, to)) };
        if !(skips && made == M::default()) {
            put(key, made, out);
        }
        Ok(())
    })
}

#[cold]
fn refused<T: Shown>(leaf: &Leaf, value: T, to: &str) -> Error {
    leaf.bad_cast(value.shown(), &leaf.type_name, to, true)
}

/// What errors show of a number.
trait Shown: Copy {
    fn shown(self) -> String;
}

macro_rules! shown {
    ($($number:ident),*) => {$(
        impl Shown for $number {
            fn shown(self) -> String {
                self.to_string()
            }
        }
    )*};
}

shown!(u8, u16, u32, u64, i8, i16, i32, i64, i128, u128, I256, U256);

impl Shown for f32 {
    fn shown(self) -> String {
        let mut text = Vec::new();
        squall_types::text::append_float32(&mut text, self);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Shown for f64 {
    fn shown(self) -> String {
        let mut text = Vec::new();
        squall_types::text::append_float64(&mut text, self);
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn number<'a, T: Number + Shown + 'a>(leaf: &'a Leaf, key: Key, at: impl Fn(usize) -> T + 'a) -> WriteValue<'a> {
    let zigzag = |value: i64| (value << 1 ^ value >> 63) as u64;
    match leaf.scalar {
        Scalar::Int32 | Scalar::Int64 => {
            made(leaf, key, at, T::int, "Int64", |key, value, out| key.put_varint(value as u64, out))
        }
        Scalar::SInt32 | Scalar::SInt64 => {
            made(leaf, key, at, T::int, "Int64", move |key, value, out| key.put_varint(zigzag(value), out))
        }
        Scalar::UInt32 | Scalar::UInt64 => made(leaf, key, at, T::uint, "UInt64", Key::put_varint),
        Scalar::Fixed32 => {
            made(leaf, key, at, T::uint32, "UInt32", |key, value, out| key.put_four(value.to_le_bytes(), out))
        }
        Scalar::SFixed32 => {
            made(leaf, key, at, T::int32, "Int32", |key, value, out| key.put_four(value.to_le_bytes(), out))
        }
        Scalar::Fixed64 => {
            made(leaf, key, at, T::uint, "UInt64", |key, value, out| key.put_eight(value.to_le_bytes(), out))
        }
        Scalar::SFixed64 => {
            made(leaf, key, at, T::int, "Int64", |key, value, out| key.put_eight(value.to_le_bytes(), out))
        }
        Scalar::Float => {
            made(leaf, key, at, T::float, "Float32", |key, value, out| key.put_four(value.to_le_bytes(), out))
        }
        Scalar::Double => {
            let double = |value: T| Some(value.double());
            made(leaf, key, at, double, "Float64", |key, value, out| key.put_eight(value.to_le_bytes(), out))
        }
        Scalar::Bool => made(leaf, key, at, T::boolean, "bool", |key, value, out| key.put_varint(value.into(), out)),
        // A number of the field's enum.
        Scalar::Enum | Scalar::String | Scalar::Bytes => {
            let known = |value: T| value.int32().filter(|number| leaf.enumeration.names.contains_key(number));
            made(leaf, key, at, known, "enum", |key, value, out| key.put_varint(i64::from(value) as u64, out))
        }
    }
}

fn decimal<'a, T: Integer>(
    leaf: &'a Leaf,
    key: Key,
    scale: u8,
    at: impl Fn(usize) -> T + 'a,
) -> Result<WriteValue<'a>> {
    let overflow = || Error::new(ErrorCode::DECIMAL_OVERFLOW, "Convert overflow");
    let factor = <I256 as Integer>::power_of_ten(scale.into()).ok_or_else(overflow)?;
    let whole = move |row: usize| at(row).large();
    let skips = leaf.skips_default;
    let scalar = leaf.scalar;
    Ok(match scalar {
        Scalar::Float | Scalar::Double => Box::new(move |row, out| {
            let value = whole(row);
            if skips && value == I256::ZERO {
                return Ok(());
            }
            key.put(out);
            if scalar == Scalar::Double {
                out.extend_from_slice(&(value.as_float() / factor.as_float()).to_le_bytes());
            } else {
                out.extend_from_slice(&(value.as_float() as f32 / factor.as_float() as f32).to_le_bytes());
            }
            Ok(())
        }),
        Scalar::Bool => Box::new(move |row, out| {
            let value = whole(row);
            if value != I256::ZERO && value != factor {
                let mut text = Vec::new();
                squall_types::text::append_decimal(&mut text, value, scale, false);
                let text = String::from_utf8_lossy(&text).into_owned();
                return Err(leaf.bad_cast(text, &leaf.type_name, "bool", true));
            }
            if !(skips && value == I256::ZERO) {
                key.put(out);
                out.push(u8::from(value != I256::ZERO));
            }
            Ok(())
        }),
        _ => Box::new(move |row, out| {
            let value = whole(row) / factor;
            let fits = match scalar {
                Scalar::Int32 | Scalar::SInt32 | Scalar::SFixed32 => i32::fit_large(value).is_some(),
                Scalar::UInt32 | Scalar::Fixed32 => u32::fit_large(value).is_some(),
                Scalar::UInt64 | Scalar::Fixed64 => u64::fit_large(value).is_some(),
                _ => i64::fit_large(value).is_some(),
            };
            if !fits {
                return Err(overflow());
            }
            let bits = <i64 as Integer>::wrap_large(value);
            if skips && bits == 0 {
                return Ok(());
            }
            key.put(out);
            match scalar {
                Scalar::SInt32 | Scalar::SInt64 => put_varint(out, (bits << 1 ^ bits >> 63) as u64),
                Scalar::Fixed32 | Scalar::SFixed32 => out.extend_from_slice(&(bits as u32).to_le_bytes()),
                Scalar::Fixed64 | Scalar::SFixed64 => out.extend_from_slice(&bits.to_le_bytes()),
                _ => put_varint(out, bits as u64),
            }
            Ok(())
        }),
    })
}

fn enumeration<'a>(
    leaf: &'a Leaf,
    key: Key,
    data_type: &'a DataType,
    at: impl Fn(usize) -> i16 + 'a,
) -> WriteValue<'a> {
    let (DataType::Enum8(values) | DataType::Enum16(values)) = data_type else {
        return Box::new(move |_, _| Err(bad_array(data_type)));
    };
    match leaf.scalar {
        Scalar::String | Scalar::Bytes => {
            let skips = leaf.skips_default;
            Box::new(move |row, out| {
                put_bytes(key, skips, values.name(at(row)).unwrap_or_default().as_bytes(), out);
                Ok(())
            })
        }
        Scalar::Enum => {
            let skips = leaf.skips_default;
            Box::new(move |row, out| {
                let value = at(row);
                let Some(number) = leaf.enumeration.to_field.get(&value).copied() else {
                    return Err(leaf.bad_cast(value, &leaf.type_name, "enum", true));
                };
                if !(skips && number == 0) {
                    key.put(out);
                    put_varint(out, i64::from(number) as u64);
                }
                Ok(())
            })
        }
        _ => number(leaf, key, at),
    }
}

/// Writes text into a field of any type.
fn text<'a>(leaf: &'a Leaf, key: Key, at: impl Fn(usize) -> &'a [u8] + 'a) -> WriteValue<'a> {
    let skips = leaf.skips_default;
    let refuse = move |text: &[u8], to: &str| {
        leaf.bad_cast(String::from_utf8_lossy(text.get(..100).unwrap_or(text)), &leaf.type_name, to, true)
    };
    macro_rules! parsed {
        ($number:ident, $name:literal) => {{
            Box::new(move |row, out: &mut Vec<u8>| {
                let text = at(row);
                let value = <$number as Number>::of_text(text).ok_or_else(|| refuse(text, $name))?;
                put_number(leaf.scalar, key, skips, value, out);
                Ok(())
            })
        }};
    }
    match leaf.scalar {
        Scalar::String | Scalar::Bytes => Box::new(move |row, out| {
            put_bytes(key, skips, at(row), out);
            Ok(())
        }),
        Scalar::Int32 | Scalar::SInt32 | Scalar::SFixed32 => parsed!(i32, "Int32"),
        Scalar::Int64 | Scalar::SInt64 | Scalar::SFixed64 => parsed!(i64, "Int64"),
        Scalar::UInt32 | Scalar::Fixed32 => parsed!(u32, "UInt32"),
        Scalar::UInt64 | Scalar::Fixed64 => parsed!(u64, "UInt64"),
        Scalar::Float => parsed!(f32, "Float32"),
        Scalar::Double => parsed!(f64, "Float64"),
        Scalar::Bool => Box::new(move |row, out| {
            let value = match at(row) {
                b"true" => true,
                b"false" => false,
                other => return Err(refuse(other, "bool")),
            };
            put_number(Scalar::Bool, key, skips, u8::from(value), out);
            Ok(())
        }),
        Scalar::Enum => Box::new(move |row, out| {
            let name = at(row);
            let number = str::from_utf8(name).ok().and_then(|name| leaf.enumeration.numbers.get(name)).copied();
            put_number(Scalar::Int32, key, skips, number.ok_or_else(|| refuse(name, "enum"))?, out);
            Ok(())
        }),
    }
}

/// Puts a number that its field has a place for.
fn put_number<T: Number>(scalar: Scalar, key: Key, skips: bool, value: T, out: &mut Vec<u8>) {
    if skips && value.double() == 0.0 {
        return;
    }
    key.put(out);
    let int = value.int().unwrap_or_default();
    match scalar {
        Scalar::SInt32 | Scalar::SInt64 => put_varint(out, (int << 1 ^ int >> 63) as u64),
        Scalar::UInt32 | Scalar::UInt64 => put_varint(out, value.uint().unwrap_or_default()),
        Scalar::Fixed32 => out.extend_from_slice(&value.uint32().unwrap_or_default().to_le_bytes()),
        Scalar::SFixed32 => out.extend_from_slice(&value.int32().unwrap_or_default().to_le_bytes()),
        Scalar::Fixed64 => out.extend_from_slice(&value.uint().unwrap_or_default().to_le_bytes()),
        Scalar::SFixed64 => out.extend_from_slice(&int.to_le_bytes()),
        Scalar::Float => out.extend_from_slice(&value.float().unwrap_or_default().to_le_bytes()),
        Scalar::Double => out.extend_from_slice(&value.double().to_le_bytes()),
        Scalar::Int32 | Scalar::Int64 | Scalar::Bool | Scalar::Enum | Scalar::String | Scalar::Bytes => {
            put_varint(out, int as u64);
        }
    }
}

/// Appends a message behind its length, and what stands before that.
pub(super) fn put_message(
    before: Option<Key>,
    message: &mut MessageWriter<'_>,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if let Some(key) = before {
        key.put(out);
    }
    put_with_length(out, |out| message.write(row, out))
}
