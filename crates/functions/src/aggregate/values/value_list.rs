//! A list of values that grows without moving them: chunks, of which the last is being filled. Two lists become one by handing chunks
//! over, and a long list becomes a column chunk by chunk. A short one is no more than a `Vec`.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::ListArray;
use arrow_buffer::OffsetBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result, grow};

use super::element::Element;
use super::state_bytes::{put_varint, take_count};

/// Values of a chunk that is full.
const CHUNK: usize = 1 << 14;

/// A list with fewer values is appended value by value.
const SHORT: usize = 1 << 10;

/// A list of values in their order.
pub(in crate::aggregate) struct ValueList<E: Element> {
    /// What comes before `last`, where there is much.
    before: Option<Box<Before<E>>>,
    last: Vec<E::Owned>,
}

/// The beginning of a long list.
struct Before<E: Element> {
    /// What is part of a column already; nothing comes before it.
    column: E::Items,
    chunks: VecDeque<Vec<E::Owned>>,
    /// Values in both.
    count: usize,
    /// Bytes that the values of the chunks hold outside of themselves.
    heap_bytes: usize,
}

impl<E: Element> Clone for Before<E> {
    fn clone(&self) -> Self {
        Self { column: self.column.clone(), chunks: self.chunks.clone(), ..*self }
    }
}

impl<E: Element> Clone for ValueList<E> {
    fn clone(&self) -> Self {
        Self { before: self.before.clone(), last: self.last.clone() }
    }
}

impl<E: Element> Default for ValueList<E> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<E: Element> From<Vec<E::Owned>> for ValueList<E> {
    fn from(last: Vec<E::Owned>) -> Self {
        Self { before: None, last }
    }
}

impl<E: Element> Before<E> {
    fn new() -> Box<Self> {
        Box::new(Self { column: E::Items::default(), chunks: VecDeque::new(), count: 0, heap_bytes: 0 })
    }

    fn push(&mut self, chunk: Vec<E::Owned>) {
        if !chunk.is_empty() {
            self.count += chunk.len();
            self.heap_bytes += heap_bytes::<E>(&chunk);
            self.chunks.push_back(chunk);
        }
    }
}

fn heap_bytes<E: Element>(chunk: &[E::Owned]) -> usize {
    chunk.iter().map(E::heap_bytes).sum()
}

impl<E: Element> ValueList<E> {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.before.as_ref().map_or(0, |before| before.count) + self.last.len()
    }

    /// Reserves the memory of so many values more.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    pub fn make_room(&mut self, values: usize) -> Result<()> {
        squall_types::reserve(values.saturating_mul(size_of::<E::Owned>()))?;
        match CHUNK.checked_sub(self.last.len()) {
            Some(room) => grow(&mut self.last, values.min(room)),
            None => Ok(()),
        }
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: E::Owned) {
        if self.last.len() >= CHUNK {
            self.begin_chunk();
        }
        self.last.push(value);
    }

    #[cold]
    fn begin_chunk(&mut self) {
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(CHUNK));
        self.before.get_or_insert_with(Before::new).push(full);
    }

    /// Appends another list.
    pub fn append(&mut self, mut other: Self) {
        if self.len() == 0 {
            *self = other;
            return;
        }
        if other.len() < SHORT && other.before.is_none() {
            other.last.into_iter().for_each(|value| self.push(value));
            return;
        }
        let before = self.before.get_or_insert_with(Before::new);
        before.push(std::mem::replace(&mut self.last, other.last));
        if let Some(mut others) = other.before.take() {
            before.count += others.count;
            before.heap_bytes += others.heap_bytes;
            before.chunks.append(&mut others.chunks);
        }
    }

    /// Leaves away all but the first so many values.
    pub fn truncate(&mut self, count: usize) {
        while let Some(before) = &mut self.before
            && before.count > count
            && let Some(chunk) = before.chunks.pop_back()
        {
            before.count -= chunk.len();
            before.heap_bytes -= heap_bytes::<E>(&chunk);
            self.last = chunk;
        }
        let before = self.before.as_ref().map_or(0, |before| before.count);
        self.last.truncate(count.saturating_sub(before));
    }

    /// Every value in its order; of a list that is no column yet.
    pub fn iter(&self) -> impl Iterator<Item = &E::Owned> {
        self.before.iter().flat_map(|before| &before.chunks).flatten().chain(&self.last)
    }

    /// The values in chunks, in their order; of a list that is no column yet.
    pub fn into_chunks(self) -> Vec<Vec<E::Owned>> {
        let mut chunks = self.before.map_or_else(Vec::new, |before| before.chunks.into());
        chunks.push(self.last);
        chunks
    }

    /// Turns about so many values of a long list into a column's, which become fewer; whether all are or the list is a short one.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub fn settle(&mut self, items: &mut usize) -> Result<bool> {
        let Some(before) = &mut self.before else {
            *items = items.saturating_sub(self.last.len());
            return Ok(true);
        };
        before.push(std::mem::take(&mut self.last));
        E::make_room(&mut before.column, before.count, before.heap_bytes)?;
        while let Some(chunk) = before.chunks.pop_front() {
            *items = items.saturating_sub(chunk.len());
            before.heap_bytes -= heap_bytes::<E>(&chunk);
            E::append(&mut before.column, chunk)?;
            if *items == 0 {
                break;
            }
        }
        Ok(before.chunks.is_empty())
    }

    /// Appends the values to a column's.
    ///
    /// # Errors
    /// As those of [`settle`](Self::settle).
    pub fn give(self, column: &mut E::Items, is_first: bool) -> Result<()> {
        if let Some(before) = self.before {
            match is_first {
                true => *column = before.column,
                false => E::extend(column, before.column)?,
            }
            before.chunks.into_iter().try_for_each(|chunk| E::append(column, chunk))?;
        }
        E::append(column, self.last)
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        let before = self
            .before
            .as_ref()
            .map_or(0, |before| size_of::<Before<E>>() + before.count * size_of::<E::Owned>() + before.heap_bytes);
        before + self.last.capacity() * size_of::<E::Owned>() + heap_bytes::<E>(&self.last)
    }
}

/// Appends a list of so many values: their number, then each.
pub(in crate::aggregate) fn write_list<'a, E: Element>(
    list_type: &DataType,
    count: usize,
    mut values: impl Iterator<Item = &'a E::Owned>,
    out: &mut Vec<u8>,
) -> Result<()> {
    put_varint(count as u64, out);
    let item = item_type(list_type)?;
    values.try_for_each(|value| E::write(item, value, out))
}

/// Takes what [`write_list`] wrote.
pub(in crate::aggregate) fn read_list<E: Element>(list_type: &DataType, bytes: &mut &[u8]) -> Result<Vec<E::Owned>> {
    let (count, item) = (take_count(bytes)?, item_type(list_type)?);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(E::read(item, bytes)?);
    }
    Ok(values)
}

/// The type of a list's values.
pub(in crate::aggregate) fn item_type(list_type: &DataType) -> Result<&DataType> {
    match list_type {
        DataType::Array(item) => Ok(item),
        _ => Err(Error::logical("a list of values is not of type Array")),
    }
}

/// A list of values per group as an `Array` column.
pub(in crate::aggregate) fn list_column<E: Element>(
    data_type: &DataType,
    lists: impl ExactSizeIterator<Item = ValueList<E>>,
) -> Result<Column> {
    let item = item_type(data_type)?;
    let mut offsets: Vec<i32> = Vec::with_capacity(lists.len() + 1);
    offsets.push(0);
    let (mut total, mut items) = (0, E::Items::default());
    for list in lists {
        let is_first = total == 0;
        total += list.len();
        offsets.push(i32::try_from(total).map_err(|_| {
            Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items in one aggregate's results")
        })?);
        list.give(&mut items, is_first)?;
    }
    let items = E::build(item, items)?;
    let offsets = OffsetBuffer::new(offsets.into());
    let array = ListArray::try_new(item.arrow_list_item(), offsets, items.array().clone(), None)?;
    Ok(Column::new(data_type.clone(), Arc::new(array)))
}
