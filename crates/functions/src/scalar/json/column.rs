//! Builds a column of any type from elements of documents. A builder mirrors the type; the readers of text are its leaves, so that what
//! a type reads from text it reads from JSON.

use std::sync::Arc;

use arrow_buffer::NullBuffer;
use simd_json::{Node, StaticNode};
use squall_types::text::{TextOptions, ValueReader, append_float64};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use super::extract::{float, integer};
use crate::scalar::array::list_column;
use crate::scalar::tuple::from_elements;
use squall_types::json::document::Element;

/// Builds a column of one type, element by element.
pub(super) struct Builder {
    data_type: DataType,
    shape: Shape,
    scratch: Vec<u8>,
}

enum Shape {
    /// Integers of 64 bits and fewer, with the least and the greatest.
    Integer(ValueReader, i128, i128),
    Float(ValueReader),
    Bool(ValueReader),
    String(ValueReader),
    /// Anything else that is written as one text.
    Text(ValueReader),
    Nullable(Box<Builder>, Vec<bool>),
    LowCardinality(Box<Builder>),
    Array(Box<Builder>, Vec<i32>),
    Map(Box<Builder>, Box<Builder>, Vec<i32>),
    Tuple(Vec<(Option<Arc<str>>, Builder)>, usize),
}

fn range_of(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

/// Appends a value of a type that is written as one text; `false` where the element is none, and then no row is there.
fn append_text(
    reader: &mut ValueReader,
    data_type: &DataType,
    element: Element<'_, '_>,
    scratch: &mut Vec<u8>,
) -> bool {
    let rows = reader.rows();
    let read = match element.node() {
        // An object of JSON's type is the element itself, and so is what a type of alternatives takes for no text.
        Node::Object { .. } if matches!(data_type, DataType::Json(_)) => {
            element.append(scratch);
            reader.read_json(scratch).map(drop)
        }
        _ if matches!(data_type, DataType::Json(_)) => return false,
        Node::Object { .. } | Node::Array { .. } | Node::Static(StaticNode::Bool(_))
            if data_type.is_of_alternatives() =>
        {
            element.append(scratch);
            reader.read_json(scratch).map(drop)
        }
        Node::String(text) => reader.read_whole(text.as_bytes()),
        // A number is seconds; what is past the range is its end.
        Node::Static(StaticNode::I64(_) | StaticNode::U64(_) | StaticNode::F64(_))
            if matches!(data_type, DataType::DateTime(_) | DataType::DateTime64(..)) =>
        {
            let Some(seconds) = integer(element).and_then(|seconds| i64::try_from(seconds).ok()) else { return false };
            let end = match data_type {
                DataType::DateTime(_) => Some(seconds.clamp(0, u32::MAX.into())).filter(|end| *end != seconds),
                _ => None,
            };
            match end {
                Some(end) => scratch.extend_from_slice(end.to_string().as_bytes()),
                None => element.append(scratch),
            }
            reader.read_json(scratch).map(drop)
        }
        // Of a float a wide integer has what is before the point; adding 0 makes -0 a 0.
        Node::Static(StaticNode::F64(number)) if data_type.is_wide_integer() => {
            reader.read_whole(format!("{:.0}", number.trunc() + 0.0).as_bytes())
        }
        Node::Static(StaticNode::I64(_) | StaticNode::U64(_) | StaticNode::F64(_)) => {
            element.append(scratch);
            reader.read_whole(scratch)
        }
        // Of what is no text a FixedString has the document's.
        _ if matches!(data_type, DataType::FixedString(_)) => {
            element.append(scratch);
            reader.read_whole(scratch)
        }
        _ => return false,
    };
    if read.is_err() {
        reader.truncate(rows);
    }
    read.is_ok()
}

/// Appends an array, with defaults for items that do not fit; `false` where the element is none, or no item fits.
fn append_array(items: &mut Builder, ends: &mut Vec<i32>, element: Element<'_, '_>) -> Result<bool> {
    let Node::Array { len, .. } = element.node() else { return Ok(false) };
    let before = items.rows();
    let mut fitting = 0;
    for item in element.items() {
        checkpoint(16)?;
        if items.append(item)? {
            fitting += 1;
        } else {
            items.append_default();
        }
    }
    // An array of which no item fits is none of the type.
    if fitting == 0 && len > 0 {
        items.truncate(before);
        return Ok(false);
    }
    ends.push(end(items.rows())?);
    Ok(true)
}

/// Appends a tuple, with defaults for what is missing or does not fit; `false` where nothing fits.
fn append_tuple(
    elements: &mut [(Option<Arc<str>>, Builder)],
    rows: &mut usize,
    element: Element<'_, '_>,
) -> Result<bool> {
    let node = element.node();
    let mut fitting = 0;
    let is_object = matches!(node, Node::Object { .. });
    if !is_object && !matches!(node, Node::Array { .. }) {
        return Ok(false);
    }
    let mut in_order = element.items().chain(element.members().map(|(_, value)| value));
    for (name, builder) in elements.iter_mut() {
        let value = match name {
            Some(name) if is_object => element.member(name.as_bytes(), false).map(|(_, value)| value),
            _ => in_order.next(),
        };
        if value.map_or(Ok(false), |value| builder.append(value))? {
            fitting += 1;
        } else {
            builder.append_default();
        }
    }
    if fitting == 0 {
        elements.iter_mut().for_each(|(_, builder)| builder.truncate(*rows));
        return Ok(false);
    }
    *rows += 1;
    Ok(true)
}

impl Builder {
    /// An empty builder.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_ARGUMENT` for types of which documents have no values; those of [`ValueReader::new`].
    pub fn new(data_type: &DataType, options: &TextOptions) -> Result<Self> {
        let refused = |why: &str| {
            let message = format!("JSONExtract doesn't support the return type schema: {data_type}{why}");
            Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        };
        let reader = || ValueReader::new(data_type, options);
        let shape = match data_type {
            DataType::Float32 | DataType::Float64 => Shape::Float(reader()?),
            DataType::Bool => Shape::Bool(reader()?),
            DataType::String => Shape::String(reader()?),
            DataType::Nullable(inner) => Shape::Nullable(Box::new(Self::new(inner, options)?), Vec::new()),
            DataType::LowCardinality(inner) => Shape::LowCardinality(Box::new(Self::new(inner, options)?)),
            DataType::Array(item) => Shape::Array(Box::new(Self::new(item, options)?), vec![0]),
            DataType::Interval(_) | DataType::BFloat16 | DataType::Nothing | DataType::AggregateFunction(_) => {
                return refused("");
            }
            DataType::Map(key, _) if *key.remove_low_cardinality() != DataType::String => {
                return refused(" with key type not String");
            }
            DataType::Map(key, value) => {
                Shape::Map(Box::new(Self::new(key, options)?), Box::new(Self::new(value, options)?), vec![0])
            }
            DataType::Tuple(elements) => {
                let elements = elements.iter().map(|element| {
                    Ok((element.name.as_deref().map(Arc::from), Self::new(&element.data_type, options)?))
                });
                Shape::Tuple(elements.collect::<Result<_>>()?, 0)
            }
            other => match range_of(other) {
                Some((least, most)) => Shape::Integer(reader()?, least, most),
                None => Shape::Text(reader()?),
            },
        };
        Ok(Self { data_type: data_type.clone(), shape, scratch: Vec::new() })
    }

    fn rows(&self) -> usize {
        match &self.shape {
            Shape::Integer(reader, ..)
            | Shape::Float(reader)
            | Shape::Bool(reader)
            | Shape::String(reader)
            | Shape::Text(reader) => reader.rows(),
            Shape::Nullable(_, valid) => valid.len(),
            Shape::LowCardinality(inner) => inner.rows(),
            Shape::Array(_, ends) | Shape::Map(_, _, ends) => ends.len() - 1,
            Shape::Tuple(_, rows) => *rows,
        }
    }

    /// Appends a row of an element; `false` where it is nothing of the type, and then no row is there.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub fn append(&mut self, element: Element<'_, '_>) -> Result<bool> {
        let Self { shape, scratch, data_type } = self;
        let node = element.node();
        match shape {
            Shape::Nullable(inner, valid) => {
                let is_null = element.is_null();
                if is_null {
                    inner.append_default();
                } else if !inner.append(element)? {
                    return Ok(false);
                }
                valid.push(!is_null);
                return Ok(true);
            }
            Shape::LowCardinality(inner) => return inner.append(element),
            _ if element.is_null() => return Ok(false),
            _ => {}
        }
        scratch.clear();
        match shape {
            Shape::Integer(reader, least, most) => {
                let number = match node {
                    Node::Static(StaticNode::Bool(is_true)) => Some(i128::from(is_true)),
                    _ => integer(element),
                };
                let Some(number) = number.filter(|number| (*least..=*most).contains(number)) else { return Ok(false) };
                scratch.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                Ok(reader.read_whole(scratch).is_ok())
            }
            Shape::Float(reader) => {
                let number = match node {
                    Node::Static(StaticNode::Bool(is_true)) => Some(f64::from(u8::from(is_true))),
                    _ => float(element),
                };
                let Some(number) = number else { return Ok(false) };
                append_float64(scratch, number);
                Ok(reader.read_whole(scratch).is_ok())
            }
            Shape::Bool(reader) => {
                let is_true = match node {
                    Node::Static(StaticNode::Bool(is_true)) => is_true,
                    Node::Static(StaticNode::I64(number)) => number != 0,
                    Node::Static(StaticNode::U64(number)) => number != 0,
                    Node::Static(StaticNode::F64(number)) => number != 0.0,
                    _ => return Ok(false),
                };
                Ok(reader.read_whole(if is_true { b"true" } else { b"false" }).is_ok())
            }
            Shape::String(reader) => {
                match node {
                    Node::String(text) => reader.read_whole(text.as_bytes())?,
                    _ => {
                        element.append(scratch);
                        reader.read_whole(scratch)?;
                    }
                }
                Ok(true)
            }
            Shape::Text(reader) => Ok(append_text(reader, data_type, element, scratch)),
            Shape::Array(items, ends) => append_array(items, ends, element),
            Shape::Map(keys, values, ends) => {
                let Node::Object { .. } = node else { return Ok(false) };
                for (key, value) in element.members() {
                    checkpoint(16)?;
                    if keys.append_key(key) && !values.append(value)? {
                        values.append_default();
                    }
                }
                ends.push(end(keys.rows())?);
                Ok(true)
            }
            Shape::Tuple(elements, rows) => append_tuple(elements, rows, element),
            Shape::Nullable(..) | Shape::LowCardinality(_) => Ok(false),
        }
    }

    /// Appends the key of a map; `false` where it is none of the type.
    fn append_key(&mut self, key: &str) -> bool {
        match &mut self.shape {
            Shape::LowCardinality(inner) => inner.append_key(key),
            Shape::Integer(reader, ..)
            | Shape::Float(reader)
            | Shape::Bool(reader)
            | Shape::String(reader)
            | Shape::Text(reader) => {
                let rows = reader.rows();
                let read = reader.read_whole(key.as_bytes()).is_ok();
                if !read {
                    reader.truncate(rows);
                }
                read
            }
            _ => false,
        }
    }

    /// Appends the type's default.
    pub fn append_default(&mut self) {
        match &mut self.shape {
            Shape::Integer(reader, ..)
            | Shape::Float(reader)
            | Shape::Bool(reader)
            | Shape::String(reader)
            | Shape::Text(reader) => reader.append_default(),
            Shape::Nullable(inner, valid) => {
                inner.append_default();
                valid.push(false);
            }
            Shape::LowCardinality(inner) => inner.append_default(),
            Shape::Array(_, ends) | Shape::Map(_, _, ends) => ends.push(ends.last().copied().unwrap_or(0)),
            Shape::Tuple(elements, rows) => {
                elements.iter_mut().for_each(|(_, builder)| builder.append_default());
                *rows += 1;
            }
        }
    }

    /// Leaves the first rows.
    fn truncate(&mut self, to: usize) {
        match &mut self.shape {
            Shape::Integer(reader, ..)
            | Shape::Float(reader)
            | Shape::Bool(reader)
            | Shape::String(reader)
            | Shape::Text(reader) => reader.truncate(to),
            Shape::Nullable(inner, valid) => {
                inner.truncate(to);
                valid.truncate(to);
            }
            Shape::LowCardinality(inner) => inner.truncate(to),
            Shape::Array(items, ends) => {
                ends.truncate(to + 1);
                items.truncate(ends.last().map_or(0, |end| *end as usize));
            }
            Shape::Map(keys, values, ends) => {
                ends.truncate(to + 1);
                let left = ends.last().map_or(0, |end| *end as usize);
                keys.truncate(left);
                values.truncate(left);
            }
            Shape::Tuple(elements, rows) => {
                elements.iter_mut().for_each(|(_, builder)| builder.truncate(to));
                *rows = to;
            }
        }
    }

    /// The column of all rows.
    ///
    /// # Errors
    /// Those of putting the parts together.
    pub fn finish(self) -> Result<Column> {
        let Self { data_type, shape, .. } = self;
        match shape {
            Shape::Integer(mut reader, ..)
            | Shape::Float(mut reader)
            | Shape::Bool(mut reader)
            | Shape::String(mut reader)
            | Shape::Text(mut reader) => reader.finish(),
            Shape::Nullable(inner, valid) => {
                let nulls = NullBuffer::from(valid);
                inner.finish()?.to_nullable((nulls.null_count() > 0).then_some(nulls))
            }
            Shape::LowCardinality(inner) => inner.finish()?.into_low_cardinality(),
            Shape::Array(items, ends) => {
                let items = items.finish()?;
                list_column(items.data_type(), ends, items.to_array()?)
            }
            Shape::Map(keys, values, ends) => {
                let rows = keys.rows();
                let entry = data_type.map_entry_type();
                let entries = from_elements(&entry, &[keys.finish()?, values.finish()?], rows)?;
                Ok(list_column(&entry, ends, entries.to_array()?)?.with_type(data_type))
            }
            Shape::Tuple(elements, rows) => {
                let columns = elements.into_iter().map(|(_, builder)| builder.finish()).collect::<Result<Vec<_>>>()?;
                from_elements(&data_type, &columns, rows)
            }
        }
    }
}

fn end(items: usize) -> Result<i32> {
    i32::try_from(items)
        .map_err(|_| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block"))
}
