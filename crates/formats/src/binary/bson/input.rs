//! What is read of BSON: the fields of documents into columns, and the columns that a first document tells of.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Schema, TupleElement, grow};

use super::{DEPTH_MAX, DOCUMENT_BYTES_MIN, GENERIC, UUID, kind};
use crate::binary::uuid::swap_halves;
use crate::builder::{Builder, Values};
use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::schema::{Feed, Nullability};
use crate::wire::{Cursor, Stop};

fn incorrect(what: impl std::fmt::Display) -> Stop {
    Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, format!("BSON: {what}")))
}

/// A value as it stands in a document.
#[derive(Clone, Debug)]
enum Found<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    /// One of 32 bits.
    Short(i32),
    Double(f64),
    /// Ticks since 1970: milliseconds in BSON's own words, and in ClickHouse's as long as the column has them.
    DateTime(i64),
    Text(&'a [u8]),
    Binary(u8, &'a [u8]),
    Document(Cursor<'a>),
    Array(Cursor<'a>),
    /// One that nothing is read from.
    Other(u8),
}

/// Bytes up to a zero.
fn zero_ended<'a>(input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let end = memchr::memchr(0, input.rest()).ok_or_else(|| incorrect("a name without an end"))?;
    let name = input.take(end)?;
    input.advance(1);
    Ok(name)
}

/// The fields of a document, whose length is read.
fn fields<'a>(input: &mut Cursor<'a>) -> Result<Cursor<'a>, Stop> {
    let length = i32::from_le_bytes(input.array()?);
    let inner = usize::try_from(length).ok().and_then(|length| length.checked_sub(DOCUMENT_BYTES_MIN - 1));
    let bytes = input.take(inner.filter(|inner| *inner > 0).ok_or_else(|| incorrect("a document of a bad length"))?)?;
    match bytes.split_last() {
        Some((0, fields)) => Ok(Cursor::complete(fields)),
        _ => Err(incorrect("a document without an end")),
    }
}

fn text<'a>(input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let length = i32::from_le_bytes(input.array()?);
    let length = usize::try_from(length).ok().filter(|length| *length > 0);
    let bytes = input.take(length.ok_or_else(|| incorrect("a string of a bad length"))?)?;
    match bytes.split_last() {
        Some((0, text)) => Ok(text),
        _ => Err(incorrect("a string without an end")),
    }
}

/// The next field of a document; `None` at its end.
fn next<'a>(input: &mut Cursor<'a>) -> Result<Option<(&'a [u8], Found<'a>)>, Stop> {
    if input.rest().is_empty() {
        return Ok(None);
    }
    let kind = input.byte()?;
    let name = zero_ended(input)?;
    let found = match kind {
        kind::NULL | kind::UNDEFINED => Found::Null,
        kind::BOOL => Found::Bool(input.byte()? != 0),
        kind::INT32 => Found::Short(i32::from_le_bytes(input.array()?)),
        kind::INT64 => Found::Integer(i64::from_le_bytes(input.array()?)),
        kind::DOUBLE => Found::Double(f64::from_le_bytes(input.array()?)),
        kind::DATE_TIME => Found::DateTime(i64::from_le_bytes(input.array()?)),
        kind::STRING | kind::SYMBOL | kind::JAVA_SCRIPT => Found::Text(text(input)?),
        kind::BINARY => {
            let length = u32::from_le_bytes(input.array()?) as usize;
            let subtype = input.byte()?;
            Found::Binary(subtype, input.take(length)?)
        }
        kind::OBJECT_ID => Found::Binary(GENERIC, input.take(12)?),
        kind::DOCUMENT => Found::Document(fields(input)?),
        kind::ARRAY => Found::Array(fields(input)?),
        kind::TIMESTAMP => {
            input.take(8)?;
            Found::Other(kind)
        }
        kind::DECIMAL128 => {
            input.take(16)?;
            Found::Other(kind)
        }
        kind::MIN_KEY | kind::MAX_KEY => Found::Other(kind),
        kind::REGEXP => {
            zero_ended(input)?;
            zero_ended(input)?;
            Found::Other(kind)
        }
        kind::DB_POINTER => {
            text(input)?;
            input.take(12)?;
            Found::Other(kind)
        }
        kind::JAVA_SCRIPT_WITH_SCOPE => {
            let length = u32::from_le_bytes(input.array()?) as usize;
            input.take(length.checked_sub(4).ok_or_else(|| incorrect("code of a bad length"))?)?;
            Found::Other(kind)
        }
        other => return Err(incorrect(format!("a value of the unknown type {other}"))),
    };
    Ok(Some((name, found)))
}

fn mismatch(found: &Found<'_>, data_type: &DataType) -> Stop {
    let what = match found {
        Found::Null => "Null".to_owned(),
        Found::Bool(_) => "Bool".to_owned(),
        Found::Integer(_) => "Int64".to_owned(),
        Found::Short(_) => "Int32".to_owned(),
        Found::Double(_) => "Double".to_owned(),
        Found::DateTime(_) => "Datetime".to_owned(),
        Found::Text(_) => "String".to_owned(),
        Found::Binary(..) => "Binary".to_owned(),
        Found::Document(_) => "Document".to_owned(),
        Found::Array(_) => "Array".to_owned(),
        Found::Other(kind) => format!("0x{kind:02X}"),
    };
    let message = format!("Cannot insert BSON {what} into column with type {data_type}");
    Stop::Bad(Error::new(ErrorCode::ILLEGAL_COLUMN, message))
}

/// Appends a value.
fn read(builder: &mut Builder, found: Found<'_>, depth: usize) -> Result<(), Stop> {
    if depth > DEPTH_MAX {
        return Err(Stop::Bad(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting in BSON")));
    }
    let found = match read_wrapped(builder, found, depth)? {
        Some(found) => found,
        None => return Ok(()),
    };
    let Builder { data_type, values } = builder;
    let refused = mismatch(&found, data_type);
    let integer = integer_of(&found, data_type);
    let float = float_of(&found);
    macro_rules! number {
        ($values:expr, $number:ty) => {
            $values.push(integer.ok_or(refused)? as $number)
        };
    }
    match values {
        Values::Nothing(rows) if matches!(found, Found::Null) => *rows += 1,
        Values::Bool(values) => values.push(u8::from(integer.ok_or(refused)? != 0)),
        Values::UInt8(values) => number!(values, u8),
        Values::UInt16(values) => number!(values, u16),
        Values::UInt32(values) => number!(values, u32),
        Values::UInt64(values) => number!(values, u64),
        Values::Int8(values) => number!(values, i8),
        Values::Int16(values) => number!(values, i16),
        Values::Int32(values) => number!(values, i32),
        Values::Int64(values) => number!(values, i64),
        Values::Enum8(values, known) => {
            let number = integer.and_then(|number| i8::try_from(number).ok());
            values.push(number.filter(|number| known.name(i16::from(*number)).is_some()).ok_or(refused)?);
        }
        Values::Enum16(values, known) => {
            let number = integer.and_then(|number| i16::try_from(number).ok());
            values.push(number.filter(|number| known.name(*number).is_some()).ok_or(refused)?);
        }
        Values::BFloat16(values) | Values::Float32(values) => values.push(float.ok_or(refused)? as f32),
        Values::Float64(values) => values.push(float.ok_or(refused)?),
        Values::String(strings) => match found {
            Found::Text(bytes) | Found::Binary(_, bytes) => {
                grow(&mut strings.bytes, bytes.len())?;
                strings.bytes.extend_from_slice(bytes);
                strings.end_row()?;
            }
            _ => return Err(refused),
        },
        Values::FixedString { bytes, width } => {
            let end = bytes.len() + *width;
            match found {
                Found::Text(value) | Found::Binary(_, value) if value.len() <= *width => bytes.extend_from_slice(value),
                // Decimals whose digits are few.
                _ if matches!(data_type, DataType::Decimal(..)) => {
                    let number = integer.ok_or(refused)?;
                    let fill = if number < 0 { 0xFF } else { 0 };
                    bytes.extend(number.to_le_bytes().into_iter().take(*width));
                    bytes.resize(end, fill);
                }
                _ => return Err(refused),
            }
            bytes.resize(end, 0);
        }
        Values::Uuid(values) => match found {
            Found::Binary(UUID, bytes) => {
                let bytes: [u8; 16] = bytes.try_into().map_err(|_| refused)?;
                values.push(swap_halves(bytes));
            }
            _ => return Err(refused),
        },
        Values::Array { .. } | Values::Map { .. } | Values::Tuple { .. } => {
            read_nested(values, found, data_type, refused, depth)?;
        }
        Values::Nothing(_) | Values::Mixed(_) | Values::Nullable { .. } | Values::LowCardinality(_) => {
            return Err(refused);
        }
    }
    Ok(())
}

/// Reads into a column that may be NULL or has a dictionary; gives the value back for other columns.
fn read_wrapped<'a>(builder: &mut Builder, found: Found<'a>, depth: usize) -> Result<Option<Found<'a>>, Stop> {
    match &mut builder.values {
        Values::Nullable { valid, inner } => {
            if matches!(found, Found::Null) {
                inner.append_default()?;
                valid.push(false);
            } else {
                read(inner, found, depth + 1)?;
                valid.push(true);
            }
        }
        Values::LowCardinality(dictionary) => {
            if matches!(found, Found::Null) && builder.data_type.is_nullable() {
                dictionary.append_null();
            } else {
                dictionary.append_with(|values| read(values, found, depth + 1))?;
            }
        }
        _ => return Ok(Some(found)),
    }
    Ok(None)
}

/// Appends an array, a map or a tuple; `refused` is the error of a value that is none.
fn read_nested(
    values: &mut Values,
    found: Found<'_>,
    data_type: &DataType,
    refused: Stop,
    depth: usize,
) -> Result<(), Stop> {
    match (values, found) {
        (Values::Array { ends, items }, Found::Array(mut input)) => {
            while let Some((_, item)) = next(&mut input)? {
                read(items, item, depth + 1)?;
            }
            Ok(ends.end_row(items.rows())?)
        }
        (Values::Map { ends, keys, values }, Found::Document(mut input)) => {
            while let Some((name, value)) = next(&mut input)? {
                read(keys, Found::Text(name), depth + 1)?;
                read(values, value, depth + 1)?;
            }
            Ok(ends.end_row(keys.rows())?)
        }
        (Values::Tuple { elements, rows }, Found::Document(mut input)) => {
            read_elements(elements, &mut input, true, data_type, depth)?;
            *rows += 1;
            Ok(())
        }
        (Values::Tuple { elements, rows }, Found::Array(mut input)) => {
            read_elements(elements, &mut input, false, data_type, depth)?;
            *rows += 1;
            Ok(())
        }
        _ => Err(refused),
    }
}

/// What an integer column takes of a value; none where it takes nothing.
fn integer_of(found: &Found<'_>, data_type: &DataType) -> Option<i64> {
    match found {
        Found::Integer(number) => Some(*number),
        Found::Short(number) => Some(i64::from(*number)),
        Found::Bool(truth) => Some(i64::from(*truth)),
        Found::DateTime(ticks)
            if matches!(data_type, DataType::DateTime64(..) | DataType::Int64 | DataType::UInt64) =>
        {
            Some(*ticks)
        }
        _ => None,
    }
}

/// What a column of floats takes of a value; none where it takes nothing.
fn float_of(found: &Found<'_>) -> Option<f64> {
    match found {
        Found::Double(number) => Some(*number),
        Found::Integer(number) => Some(*number as f64),
        Found::Short(number) => Some(f64::from(*number)),
        _ => None,
    }
}

/// Appends the elements of one tuple: by their names, or in their order.
fn read_elements(
    elements: &mut [Builder],
    input: &mut Cursor<'_>,
    is_named: bool,
    data_type: &DataType,
    depth: usize,
) -> Result<(), Stop> {
    let names: Vec<Option<Arc<str>>> = match data_type {
        DataType::Tuple(elements) => elements.iter().map(|element| element.name.clone()).collect(),
        _ => Vec::new(),
    };
    let mut given = vec![false; elements.len()];
    let mut at = 0;
    while let Some((name, value)) = next(input)? {
        let of_name = || names.iter().position(|known| known.as_ref().is_some_and(|known| known.as_bytes() == name));
        let place = if is_named { of_name() } else { Some(at) };
        at += 1;
        let place = place.filter(|place| given.get(*place) == Some(&false));
        let place = place.ok_or_else(|| incorrect(format!("a tuple of type {data_type} with other elements")))?;
        read(&mut elements[place], value, depth + 1)?;
        given[place] = true;
    }
    if given.contains(&false) {
        return Err(incorrect(format!("a tuple of type {data_type} with fewer elements")));
    }
    Ok(())
}

/// Reads BSONEachRow.
#[derive(Debug)]
pub(crate) struct BsonReader;

impl RowReader for BsonReader {
    type Column = Builder;

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Builder>) -> Result<bool, Stop> {
        let mut document = fields(input)?;
        while let Some((name, found)) = next(&mut document)? {
            let position = match std::str::from_utf8(name) {
                Ok(name) => rows.table.position(name)?,
                Err(_) => return Err(incorrect("a name that is no text")),
            };
            let Some(position) = position else { continue };
            if rows.is_filled(position) {
                return Err(incorrect(format!("duplicate field found: {}", String::from_utf8_lossy(name))));
            }
            let builder = rows.column(position)?;
            if matches!(found, Found::Null) && !builder.data_type.is_nullable() && rows.table.null_as_default {
                rows.omit(position)?;
            } else {
                read(rows.column(position)?, found, 0)?;
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, _: &mut Cursor<'_>) -> Result<(), Stop> {
        Err(incorrect("a document that cannot be read"))
    }
}

/// The type that a value tells of; `None` for one that nothing is read from.
fn type_of(found: Found<'_>, depth: usize) -> Result<Option<DataType>, Stop> {
    if depth > DEPTH_MAX {
        return Err(Stop::Bad(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting in BSON")));
    }
    let of_all = |mut input: Cursor<'_>| {
        let mut all = Vec::new();
        while let Some((name, found)) = next(&mut input)? {
            all.push((String::from_utf8_lossy(name).into_owned(), type_of(found, depth + 1)?));
        }
        Ok::<_, Stop>(all)
    };
    Ok(match found {
        Found::Null | Found::Other(_) => None,
        Found::Bool(_) => Some(DataType::Bool.to_nullable()),
        Found::Integer(_) => Some(DataType::Int64.to_nullable()),
        Found::Short(_) => Some(DataType::Int32.to_nullable()),
        Found::Double(_) => Some(DataType::Float64.to_nullable()),
        Found::DateTime(_) => Some(DataType::DateTime64(6, Some("UTC".into())).to_nullable()),
        Found::Binary(UUID, _) => Some(DataType::UUID.to_nullable()),
        Found::Text(_) | Found::Binary(..) => Some(DataType::String.to_nullable()),
        Found::Array(input) => {
            let items = of_all(input)?;
            let types: Option<Vec<DataType>> = items.into_iter().map(|(_, item)| item).collect();
            match types {
                Some(types) => match types.first() {
                    Some(first) if types.iter().all(|item| item == first) => {
                        Some(DataType::Array(Arc::new(first.clone())))
                    }
                    Some(_) => Some(DataType::Tuple(
                        types.into_iter().map(|data_type| TupleElement { name: None, data_type }).collect(),
                    )),
                    None => None,
                },
                None => None,
            }
        }
        Found::Document(input) => {
            let mut elements = Vec::new();
            for (name, data_type) in of_all(input)? {
                let Some(data_type) = data_type else { return Ok(None) };
                elements.push(TupleElement { name: Some(name.into()), data_type });
            }
            match elements.first().map(|first| first.data_type.clone()) {
                None => None,
                Some(first) if elements.iter().all(|element| element.data_type == first) => {
                    Some(DataType::Map(Arc::new(DataType::String), Arc::new(first)))
                }
                Some(_) => Some(DataType::Tuple(elements.into())),
            }
        }
    })
}

/// The columns of the first document.
///
/// # Errors
/// What is wrong with it; `ONLY_NULLS_WHILE_READING_SCHEMA` where a field tells of no type.
pub(crate) fn infer(input: &mut dyn std::io::Read, options: &FormatOptions) -> Result<Schema> {
    let read = |input: &mut Cursor<'_>| {
        let mut document = fields(input)?;
        let mut columns = Vec::new();
        while let Some((name, found)) = next(&mut document)? {
            let name = String::from_utf8_lossy(name).into_owned();
            let data_type = type_of(found, 0)?;
            let nothing = || {
                let message =
                    format!("Cannot determine type for column '{name}' by the first document: its value tells of none");
                Stop::Bad(Error::new(ErrorCode::ONLY_NULLS_WHILE_READING_SCHEMA, message))
            };
            columns.push((name.clone(), data_type.ok_or_else(nothing)?));
        }
        Ok(columns)
    };
    let columns = Feed::new(input, options.pending_bytes_max).read(read)?;
    let nullability = Nullability::of_setting(&options.settings.schema_inference_make_columns_nullable);
    let settled = |data_type: DataType| match nullability {
        Nullability::Never | Nullability::WhereNulls => without_null(&data_type),
        Nullability::Always | Nullability::AsFormatSays => data_type,
    };
    Ok(Schema::new(columns.into_iter().map(|(name, data_type)| (name, settled(data_type)))))
}

/// The type without NULL, also inside.
fn without_null(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Nullable(inner) => without_null(inner),
        DataType::Array(item) => DataType::array(without_null(item)),
        DataType::Map(key, value) => DataType::Map(key.clone(), Arc::new(without_null(value))),
        DataType::Tuple(elements) => {
            let without = |element: &TupleElement| TupleElement {
                name: element.name.clone(),
                data_type: without_null(&element.data_type),
            };
            DataType::Tuple(elements.iter().map(without).collect())
        }
        other => other.clone(),
    }
}
