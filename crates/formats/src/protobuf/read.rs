//! Messages read into columns by a plan.
//!
//! A message's fields may come in any order and again and again. What comes last counts; items of arrays add up. So a row's values are
//! appended as they come, and what is missing once the message is at its end.

use squall_types::calendar::ZoneCursor;
use squall_types::{Error, ErrorCode, Result};

use crate::builder::{Builder, Values};
use crate::protobuf::leaf_reader::{LeafReader, other_column, put_number};
use crate::protobuf::payload::payload;
use crate::protobuf::plan::{Field, Message, Nested, Shape};
use crate::protobuf::wire::{Raw, corrupted, take_field, take_packed};

/// The columns that a message's fields are.
enum Columns<'a> {
    List(&'a mut [Builder]),
    /// The keys and values of a map.
    Entry(&'a mut Builder, &'a mut Builder),
}

impl Columns<'_> {
    /// A column, or as many arrays within arrays as `level` says, the items.
    fn get(&mut self, place: usize, level: usize) -> Result<&mut Builder> {
        let mut column = match (self, place) {
            (Self::List(columns), _) => columns.get_mut(place),
            (Self::Entry(keys, _), 0) => Some(&mut **keys),
            (Self::Entry(_, values), 1) => Some(&mut **values),
            (Self::Entry(..), _) => None,
        };
        for _ in 0..level {
            column = match column {
                Some(Builder { values: Values::Array { items, .. }, .. }) => Some(items),
                _ => None,
            };
        }
        column.ok_or_else(|| Error::logical("a column that the plan of a message has not"))
    }
}

/// Reads messages into columns.
#[derive(Debug)]
pub(super) struct MessageReader {
    leaves: LeafReader,
}

impl MessageReader {
    /// `zone` is that of moments whose types name none.
    pub fn new(zone: ZoneCursor) -> Self {
        Self { leaves: LeafReader::new(zone) }
    }

    /// Appends the row of a message.
    pub fn row(&mut self, message: &Message, columns: &mut [Builder], row: usize, mut input: &[u8]) -> Result<()> {
        // Of most messages each field is there once, and a single value. Those that were seen need not be looked at again.
        let (mut next, mut seen) = (0, 0u64);
        while !input.is_empty() {
            let (number, raw) = take_field(&mut input)?;
            let Some((at, field)) = message.find(number, &mut next) else { continue };
            let bit = if at < 64 { 1 << at } else { 0 };
            let leaf = field.plain_leaf().filter(|_| bit != 0);
            if let Some(leaf) = leaf
                && seen & bit == 0
                && let Some(payload) = payload(leaf, raw)?
            {
                let column = columns.get_mut(field.column()).ok_or_else(other_column)?;
                self.leaves.put(leaf, column, payload)?;
                seen |= bit;
                continue;
            }
            self.field(field, &mut Columns::List(columns), 0, row, raw)?;
            // Of values that are packed the last counts, where there is any.
            if leaf.is_some() && columns.get(field.column()).is_some_and(|column| column.rows() > row) {
                seen |= bit;
            }
        }
        if seen.count_ones() as usize == message.fields.len() {
            return Ok(());
        }
        self.end_but(message, &mut Columns::List(columns), 0, row, seen)
    }

    /// Appends the fields of a message to a row. [`end`](Self::end) is still to come.
    fn fields(
        &mut self,
        message: &Message,
        columns: &mut Columns<'_>,
        level: usize,
        row: usize,
        mut input: &[u8],
    ) -> Result<()> {
        let mut next = 0;
        while !input.is_empty() {
            let (number, raw) = take_field(&mut input)?;
            if let Some((_, field)) = message.find(number, &mut next) {
                self.field(field, columns, level, row, raw)?;
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &Field,
        columns: &mut Columns<'_>,
        level: usize,
        row: usize,
        raw: Raw<'_>,
    ) -> Result<()> {
        if let Some(presence) = field.presence {
            note_presence(columns.get(presence, level)?, field.number, row)?;
        }
        match &field.shape {
            Shape::Columns(nested) => {
                self.fields(&nested.message, columns, level, row, message_bytes(raw)?)?;
                unwrap_empty(nested, columns, level, row)
            }
            Shape::Items(nested) => {
                let row = columns.get(field.column(), level + 1)?.rows();
                self.fields(&nested.message, columns, level + 1, row, message_bytes(raw)?)?;
                unwrap_empty(nested, columns, level + 1, row)?;
                self.end(&nested.message, columns, level + 1, row)
            }
            shape => {
                let column = columns.get(field.column(), level)?;
                match (raw, field.scalar) {
                    (Raw::Bytes(mut packed), Some(scalar)) if !scalar.is_bytes() => {
                        while !packed.is_empty() {
                            self.value(shape, column, row, take_packed(&mut packed, scalar)?)?;
                        }
                        Ok(())
                    }
                    _ => self.value(shape, column, row, raw),
                }
            }
        }
    }

    /// A value of a field for a row of a column.
    fn value(&mut self, shape: &Shape, column: &mut Builder, row: usize, raw: Raw<'_>) -> Result<()> {
        match (shape, &mut column.values) {
            (Shape::Leaf(leaf), _) => {
                if column.rows() > row {
                    column.truncate(row);
                }
                let payload = payload(leaf, raw)?.ok_or_else(corrupted)?;
                self.leaves.put(leaf, column, payload)
            }
            (Shape::Nullable(shape), Values::Nullable { valid, inner }) => {
                if valid.len() == row {
                    valid.push(true);
                }
                self.value(shape, inner, row, raw)
            }
            (Shape::LowCardinality(shape), _) => {
                if column.rows() > row {
                    column.truncate(row);
                }
                let Values::LowCardinality(dictionary) = &mut column.values else { return Err(other_column()) };
                dictionary.append_with(|values| {
                    let row = values.rows();
                    self.value(shape, values, row, raw)
                })
            }
            (Shape::Repeated(shape), Values::Array { items, .. }) => {
                let row = items.rows();
                self.value(shape, items, row, raw)?;
                self.absent(shape, items, row)
            }
            (Shape::Map(nested), Values::Map { keys, values, .. }) => {
                let row = keys.rows();
                let mut entry = Columns::Entry(keys, values);
                self.fields(&nested.message, &mut entry, 0, row, message_bytes(raw)?)?;
                self.end(&nested.message, &mut entry, 0, row)
            }
            (Shape::InOrder(shapes), Values::Tuple { elements, .. }) => {
                let next = shapes.iter().zip(elements).find(|(_, element)| element.rows() <= row);
                let Some((shape, element)) = next else {
                    return Err(Error::new(
                        ErrorCode::PROTOBUF_BAD_CAST,
                        format!("More than {} elements were read to fit in {}", shapes.len(), column.data_type),
                    ));
                };
                self.value(shape, element, row, raw)
            }
            (Shape::Tuple(nested), Values::Tuple { elements, .. }) => {
                let mut elements = Columns::List(elements);
                self.fields(&nested.message, &mut elements, 0, row, message_bytes(raw)?)?;
                unwrap_empty(nested, &mut elements, 0, row)
            }
            (Shape::Inside(nested), _) => {
                let mut columns = Columns::List(std::slice::from_mut(column));
                self.fields(&nested.message, &mut columns, 0, row, message_bytes(raw)?)
            }
            _ => Err(other_column()),
        }
    }

    /// Appends what a row lacks once its message is at its end.
    fn end(&mut self, message: &Message, columns: &mut Columns<'_>, level: usize, row: usize) -> Result<()> {
        self.end_but(message, columns, level, row, 0)
    }

    /// The same, but for fields that are single values and there: their bits are set.
    fn end_but(
        &mut self,
        message: &Message,
        columns: &mut Columns<'_>,
        level: usize,
        row: usize,
        seen: u64,
    ) -> Result<()> {
        for (at, field) in message.fields.iter().enumerate() {
            if at < 64 && seen & 1 << at != 0 {
                continue;
            }
            match &field.shape {
                Shape::Columns(nested) => self.end(&nested.message, columns, level, row)?,
                Shape::Items(_) => {
                    for column in &field.columns {
                        end_items(columns.get(*column, level)?, row)?;
                    }
                }
                shape => self.absent(shape, columns.get(field.column(), level)?, row)?,
            }
        }
        for presence in &message.presences {
            let column = columns.get(*presence, level)?;
            if column.rows() == row {
                put_number(column, 0)?;
            }
        }
        Ok(())
    }

    /// Appends what a row of a column lacks.
    fn absent(&mut self, shape: &Shape, column: &mut Builder, row: usize) -> Result<()> {
        match (shape, &mut column.values) {
            (Shape::Leaf(leaf), _) => {
                if column.rows() > row {
                    return Ok(());
                }
                self.leaves.put_absent(leaf, column)
            }
            (Shape::Nullable(shape), Values::Nullable { valid, inner }) => {
                if valid.len() > row {
                    return self.absent(shape, inner, row);
                }
                inner.append_default()?;
                valid.push(false);
                Ok(())
            }
            (Shape::LowCardinality(shape), _) => {
                if column.rows() > row {
                    return Ok(());
                }
                let is_nullable = column.data_type.is_nullable();
                let Values::LowCardinality(dictionary) = &mut column.values else { return Err(other_column()) };
                if is_nullable {
                    dictionary.append_null();
                    return Ok(());
                }
                dictionary.append_with(|values| {
                    let row = values.rows();
                    self.absent(shape, values, row)
                })
            }
            (Shape::Repeated(_) | Shape::Map(_), _) => end_items(column, row),
            (Shape::InOrder(shapes), Values::Tuple { elements, rows }) => {
                for (shape, element) in shapes.iter().zip(elements) {
                    self.absent(shape, element, row)?;
                }
                *rows = row + 1;
                Ok(())
            }
            (Shape::Tuple(nested), Values::Tuple { elements, rows }) => {
                let mut columns = Columns::List(elements);
                self.end(&nested.message, &mut columns, 0, row)?;
                for missing in &nested.message.missing {
                    let column = columns.get(*missing, 0)?;
                    if column.rows() == row {
                        column.append_default()?;
                    }
                }
                *rows = row + 1;
                Ok(())
            }
            (Shape::Inside(nested), _) => {
                self.end(&nested.message, &mut Columns::List(std::slice::from_mut(column)), 0, row)
            }
            _ => Err(other_column()),
        }
    }
}

/// The bytes of a message.
fn message_bytes(raw: Raw<'_>) -> Result<&[u8]> {
    match raw {
        Raw::Bytes(bytes) | Raw::Group(bytes) => Ok(bytes),
        Raw::Varint(_) | Raw::Fixed32(_) | Raw::Fixed64(_) => Err(corrupted()),
    }
}

/// Notes which field of a oneof there is.
fn note_presence(column: &mut Builder, number: u32, row: usize) -> Result<()> {
    let last = match &column.values {
        Values::UInt8(values) => values.get(row).map(|value| i64::from(*value)),
        Values::UInt16(values) => values.get(row).map(|value| i64::from(*value)),
        Values::UInt32(values) => values.get(row).map(|value| i64::from(*value)),
        Values::UInt64(values) => values.get(row).map(|value| *value as i64),
        Values::Int8(values) | Values::Enum8(values, _) => values.get(row).map(|value| i64::from(*value)),
        Values::Int16(values) | Values::Enum16(values, _) => values.get(row).map(|value| i64::from(*value)),
        Values::Int32(values) => values.get(row).map(|value| i64::from(*value)),
        Values::Int64(values) => values.get(row).copied(),
        _ => return Err(other_column()),
    };
    match last {
        None => put_number(column, number.into()),
        Some(last) if last == i64::from(number) => Ok(()),
        Some(_) => {
            Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Invalid protobuf data: OneOf has more than one value to track"))
        }
    }
}

/// One of Google's messages around a value without one: that is the type's default, and not NULL.
fn unwrap_empty(nested: &Nested, columns: &mut Columns<'_>, level: usize, row: usize) -> Result<()> {
    if !nested.is_wrapper {
        return Ok(());
    }
    for field in &nested.message.fields {
        let column = columns.get(field.column(), level)?;
        if let Values::Nullable { valid, inner } = &mut column.values
            && valid.len() == row
        {
            inner.append_default()?;
            valid.push(true);
        }
    }
    Ok(())
}

/// Ends the items of a row of an array or a map.
fn end_items(column: &mut Builder, row: usize) -> Result<()> {
    let rows = column.rows();
    match &mut column.values {
        _ if rows > row => Ok(()),
        Values::Array { ends, items } => ends.end_row(items.rows()),
        Values::Map { ends, keys, .. } => ends.end_row(keys.rows()),
        _ => Err(other_column()),
    }
}
